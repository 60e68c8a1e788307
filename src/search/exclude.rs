//! What `.ignore`, `.gitignore` and `.git/info/exclude` leave out, as git and ripgrep read
//! them. They came with the folder and may be anything: only regular files below the root
//! are read, never through a link, never waiting, and no more than [`MOST_RULES`] bytes of
//! each. Rules above the root do not count.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// A longer file of rules is not read.
pub(crate) const MOST_RULES: u64 = 1 << 20;

/// A longer rule leaves nothing out: no path is as long, and it takes seconds to read.
const LONGEST_RULE: usize = 4_096;

/// The rules below one root, each folder's read once.
#[derive(Debug)]
pub(crate) struct Excluded {
    root: PathBuf,
    folders: RwLock<HashMap<PathBuf, Arc<Folder>>>,
    /// The files of rules by their full names, where they are not read from the disk.
    given: Option<HashMap<PathBuf, String>>,
}

/// The rules of one folder, and those above it.
#[derive(Debug)]
struct Folder {
    above: Option<Arc<Folder>>,
    /// `.ignore`.
    own: Option<Gitignore>,
    /// `.gitignore`.
    git: Option<Gitignore>,
    /// `.git/info/exclude`.
    private: Option<Gitignore>,
    /// A repository of its own: the rules of git above it do not reach into it.
    is_repository: bool,
}

impl Excluded {
    pub(super) fn below(root: &Path) -> Self {
        Self { root: root.to_owned(), folders: RwLock::default(), given: None }
    }

    /// The rules of these files, which need not be on this machine.
    pub(crate) fn given(root: &Path, files: HashMap<PathBuf, String>) -> Self {
        Self { given: Some(files), ..Self::below(root) }
    }

    /// Whether the rules leave this path out, of which no folder above is left out.
    pub(super) fn leaves_out(&self, path: &Path, kind: PathKind) -> bool {
        let Some(parent) = path.parent().filter(|parent| parent.starts_with(&self.root)) else {
            return false;
        };
        self.folder(parent).leaves_out(path, kind)
    }

    fn folder(&self, path: &Path) -> Arc<Folder> {
        let known = self.folders.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(folder) = known.get(path) {
            return folder.clone();
        }
        drop(known);
        let above = match path.parent() {
            Some(parent) if path != self.root && parent.starts_with(&self.root) => {
                Some(self.folder(parent))
            }
            _ => None,
        };
        let folder = Arc::new(match &self.given {
            None => Folder::read(path, above),
            Some(files) => Folder::of(path, above, files),
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

impl Folder {
    fn of(path: &Path, above: Option<Arc<Folder>>, files: &HashMap<PathBuf, String>) -> Self {
        let rules = |name: &str| {
            let file = path.join(name);
            files.get(&file).and_then(|text| rules_of(path, &file, text))
        };
        let (own, git) = (rules(".ignore"), rules(".gitignore"));
        Self { above, own, git, private: None, is_repository: false }
    }

    fn read(path: &Path, above: Option<Arc<Folder>>) -> Self {
        let git = path.join(".git");
        let is_repository = git.symlink_metadata().is_ok();
        let is_folder = git.symlink_metadata().is_ok_and(|meta| meta.is_dir());
        let info = git.join("info");
        let is_plain = || info.symlink_metadata().is_ok_and(|meta| meta.is_dir());
        Self {
            above,
            own: rules(path, &path.join(".ignore")),
            git: rules(path, &path.join(".gitignore")),
            private: if is_folder && is_plain() {
                rules(path, &info.join("exclude"))
            } else {
                None
            },
            is_repository,
        }
    }

    fn leaves_out(&self, path: &Path, kind: PathKind) -> bool {
        let verdict = |rules: &Option<Gitignore>| match rules {
            Some(rules) => match rules.matched(path, kind == PathKind::Folder) {
                Match::None => None,
                Match::Ignore(_) => Some(true),
                Match::Whitelist(_) => Some(false),
            },
            None => None,
        };
        let mut own = None;
        let mut git = None;
        let mut private = None;
        let mut in_repository = true;
        let mut here = Some(self);
        while let Some(folder) = here {
            own = own.or_else(|| verdict(&folder.own));
            if in_repository {
                git = git.or_else(|| verdict(&folder.git));
                private = private.or_else(|| verdict(&folder.private));
            }
            in_repository &= !folder.is_repository;
            here = folder.above.as_deref();
        }
        own.or(git).or(private).unwrap_or(false)
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
    rules_of(folder, file, &text)
}

/// Which of these paths the rules, in the folder above, leave out.
pub(crate) fn left_out<'a>(rules: &str, paths: &[&'a str]) -> Vec<&'a str> {
    let folder = Path::new("/");
    let Some(rules) = rules_of(folder, &folder.join(".gitignore"), rules) else {
        return Vec::new();
    };
    let is_left_out = |path: &&&str| rules.matched(folder.join(path), false).is_ignore();
    paths.iter().filter(is_left_out).copied().collect()
}

/// The rules of a text.
fn rules_of(folder: &Path, file: &Path, text: &str) -> Option<Gitignore> {
    let mut builder = GitignoreBuilder::new(folder);
    for line in text.lines().filter(|line| line.len() <= LONGEST_RULE) {
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
    if meta.len() > MOST_RULES {
        return Err(io::Error::other(format!("it has more than {MOST_RULES} bytes")));
    }
    let mut bytes = Vec::new();
    file.take(MOST_RULES).read_to_end(&mut bytes)?;
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
