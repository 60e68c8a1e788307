//! The rules of `.ignore`, `.gitignore` and `.git/info/exclude`, as git and ripgrep read them. They came with the folder and may be anything: only regular files below the root
//! are read, never through a link, never waiting, and no more than [`MAX_RULES_BYTES`] bytes of
//! each. Rules above the root do not count.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// A longer ignore file is not read.
pub(crate) const MAX_RULES_BYTES: u64 = 1 << 20;

/// A longer rule ignores nothing: no path is as long, and it takes seconds to parse.
const MAX_RULE_LENGTH: usize = 4_096;

/// The rules below one root, each folder's read once.
#[derive(Debug)]
pub(crate) struct IgnoreRules {
    root: PathBuf,
    folders: RwLock<HashMap<PathBuf, Arc<FolderRules>>>,
    /// The files of rules by their full names, where they are not read from the disk.
    texts: Option<HashMap<PathBuf, String>>,
}

/// The rules of one folder, and those above it.
#[derive(Debug)]
struct FolderRules {
    parent: Option<Arc<FolderRules>>,
    /// `.ignore`.
    ignore: Option<Gitignore>,
    /// `.gitignore`.
    gitignore: Option<Gitignore>,
    /// `.git/info/exclude`.
    info_exclude: Option<Gitignore>,
    /// A repository of its own: the rules of git above it do not reach into it.
    is_repository: bool,
}

impl IgnoreRules {
    pub(super) fn for_root(root: &Path) -> Self {
        Self { root: root.to_owned(), folders: RwLock::default(), texts: None }
    }

    /// The rules of these files, which need not be on this machine.
    pub(crate) fn from_texts(root: &Path, files: HashMap<PathBuf, String>) -> Self {
        Self { texts: Some(files), ..Self::for_root(root) }
    }

    /// Whether the rules ignore this path, of which no parent folder is ignored.
    pub(super) fn is_ignored(&self, path: &Path, kind: PathKind) -> bool {
        let Some(parent) = path.parent().filter(|parent| parent.starts_with(&self.root)) else {
            return false;
        };
        self.folder(parent).is_ignored(path, kind)
    }

    fn folder(&self, path: &Path) -> Arc<FolderRules> {
        let known = self.folders.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(folder) = known.get(path) {
            return folder.clone();
        }
        drop(known);
        let parent = match path.parent() {
            Some(parent) if path != self.root && parent.starts_with(&self.root) => {
                Some(self.folder(parent))
            }
            _ => None,
        };
        let folder = Arc::new(match &self.texts {
            None => FolderRules::read(path, parent),
            Some(files) => FolderRules::of(path, parent, files),
        });
        let mut known = self.folders.write().unwrap_or_else(PoisonError::into_inner);
        known.entry(path.to_owned()).or_insert(folder).clone()
    }
}

/// What a path is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathKind {
    File,
    Folder,
}

impl FolderRules {
    fn of(path: &Path, parent: Option<Arc<FolderRules>>, files: &HashMap<PathBuf, String>) -> Self {
        let rules = |name: &str| {
            let file = path.join(name);
            files.get(&file).and_then(|text| parse_rules(path, &file, text))
        };
        let (ignore, gitignore) = (rules(".ignore"), rules(".gitignore"));
        Self { parent, ignore, gitignore, info_exclude: None, is_repository: false }
    }

    fn read(path: &Path, parent: Option<Arc<FolderRules>>) -> Self {
        let git_folder = path.join(".git");
        let is_repository = git_folder.symlink_metadata().is_ok();
        let is_folder = git_folder.symlink_metadata().is_ok_and(|meta| meta.is_dir());
        let info = git_folder.join("info");
        let is_plain = || info.symlink_metadata().is_ok_and(|meta| meta.is_dir());
        Self {
            parent,
            ignore: rules(path, &path.join(".ignore")),
            gitignore: rules(path, &path.join(".gitignore")),
            info_exclude: if is_folder && is_plain() {
                rules(path, &info.join("exclude"))
            } else {
                None
            },
            is_repository,
        }
    }

    fn is_ignored(&self, path: &Path, kind: PathKind) -> bool {
        let verdict = |rules: &Option<Gitignore>| match rules {
            Some(rules) => match rules.matched(path, kind == PathKind::Folder) {
                Match::None => None,
                Match::Ignore(_) => Some(true),
                Match::Whitelist(_) => Some(false),
            },
            None => None,
        };
        let mut ignore = None;
        let mut gitignore = None;
        let mut info_exclude = None;
        let mut in_repository = true;
        let mut here = Some(self);
        while let Some(folder) = here {
            ignore = ignore.or_else(|| verdict(&folder.ignore));
            if in_repository {
                gitignore = gitignore.or_else(|| verdict(&folder.gitignore));
                info_exclude = info_exclude.or_else(|| verdict(&folder.info_exclude));
            }
            in_repository &= !folder.is_repository;
            here = folder.parent.as_deref();
        }
        ignore.or(gitignore).or(info_exclude).unwrap_or(false)
    }
}

/// The rules of one file; `None` where there are none to be read.
fn rules(folder: &Path, file: &Path) -> Option<Gitignore> {
    let text = match read_rules(file) {
        Ok(text) => text?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => {
            tracing::warn!(file = %file.display(), %error, "the rules are not read");
            return None;
        }
    };
    parse_rules(folder, file, &text)
}

/// Those of the paths that these rules, in the folder that they start from, ignore.
pub(crate) fn ignored_paths<'a>(rules: &str, paths: &[&'a str]) -> Vec<&'a str> {
    let folder = Path::new("/");
    let Some(rules) = parse_rules(folder, &folder.join(".gitignore"), rules) else {
        return Vec::new();
    };
    let is_left_out = |path: &&&str| rules.matched(folder.join(path), false).is_ignore();
    paths.iter().filter(is_left_out).copied().collect()
}

/// The rules of a text.
fn parse_rules(folder: &Path, file: &Path, text: &str) -> Option<Gitignore> {
    let mut builder = GitignoreBuilder::new(folder);
    for line in text.lines().filter(|line| line.len() <= MAX_RULE_LENGTH) {
        // A rule that is malformed leaves nothing out, as in git.
        let _ = builder.add_line(Some(file.to_owned()), line);
    }
    builder.build().ok().filter(|rules| !rules.is_empty())
}

fn read_rules(path: &Path) -> io::Result<Option<String>> {
    // Looked at before it is opened, since opening a device or a pipe can have effects.
    if !path.symlink_metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let file = open(path)?;
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    if meta.len() > MAX_RULES_BYTES {
        return Err(io::Error::other(format!("it has more than {MAX_RULES_BYTES} bytes")));
    }
    let mut bytes = Vec::new();
    file.take(MAX_RULES_BYTES).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    Ok(Some(text.trim_start_matches('\u{feff}').to_owned()))
}

#[cfg(unix)]
fn open(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;

    use rustix::fs::OFlags;
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let flags = i32::try_from(flags.bits()).unwrap_or_default();
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

#[cfg(not(unix))]
fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).open(path)
}
