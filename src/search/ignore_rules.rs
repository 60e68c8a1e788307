//! The rules of `.ignore`, `.gitignore` and `.git/info/exclude`, as git and ripgrep read them.
//!
//! These files come with the folder and are not trusted. Only regular files below the root are
//! read: never through a link, never one that would block, and never one over
//! [`MAX_RULES_BYTES`] bytes. Rules above the root do not count.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::walk::is_too_nested;

/// The most bytes of an ignore file; a larger one is not read.
pub(crate) const MAX_RULES_BYTES: u64 = 1 << 20;

/// The most bytes of a rule; a longer one is dropped, since it matches no real path and takes
/// seconds to parse.
const MAX_RULE_LENGTH: usize = 4_096;

/// The rules of all folders below one root. Those of each folder are read once.
#[derive(Debug)]
pub(crate) struct IgnoreRules {
    root: PathBuf,
    folders: RwLock<HashMap<PathBuf, Arc<FolderRules>>>,
    /// The ignore files by full path; `None` to read them from the disk.
    texts: Option<HashMap<PathBuf, String>>,
}

/// The rules of one folder, with a link to those of its parent folder.
#[derive(Debug)]
struct FolderRules {
    parent: Option<Arc<FolderRules>>,
    /// `.ignore`.
    ignore: Option<Gitignore>,
    /// `.gitignore`.
    gitignore: Option<Gitignore>,
    /// `.git/info/exclude`.
    info_exclude: Option<Gitignore>,
    /// Whether the folder is a git repository. Git's rules from the folders above do not apply in
    /// it.
    is_repository: bool,
}

impl IgnoreRules {
    /// Rules that are read from the disk, below this root.
    pub(super) fn for_root(root: &Path) -> Self {
        Self { root: root.to_owned(), folders: RwLock::default(), texts: None }
    }

    /// Rules from the texts of these ignore files, by full path. The files need not be on this machine.
    pub(crate) fn from_texts(root: &Path, files: HashMap<PathBuf, String>) -> Self {
        Self { texts: Some(files), ..Self::for_root(root) }
    }

    /// Whether the rules ignore this path. The caller has checked that they ignore none of its
    /// parent folders.
    pub(super) fn is_ignored(&self, path: &Path, kind: PathKind) -> bool {
        let Some(parent) = path.parent().filter(|parent| parent.starts_with(&self.root)) else {
            return false;
        };
        self.folder(parent).is_ignored(path, kind)
    }

    /// Returns the rules of a folder, and reads them first if that has not been done yet.
    fn folder(&self, path: &Path) -> Arc<FolderRules> {
        let cached = self.folders.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(folder) = cached.get(path) {
            return folder.clone();
        }
        drop(cached);
        let parent = match path.parent() {
            Some(parent) if path != self.root && parent.starts_with(&self.root) => {
                Some(self.folder(parent))
            }
            _ => None,
        };
        let folder = Arc::new(match &self.texts {
            None => FolderRules::read(path, parent),
            Some(files) => FolderRules::from_texts(path, parent, files),
        });
        let mut cached = self.folders.write().unwrap_or_else(PoisonError::into_inner);
        cached.entry(path.to_owned()).or_insert(folder).clone()
    }
}

/// Whether a path is a file or a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathKind {
    File,
    Folder,
}

impl FolderRules {
    /// Takes the rules of the folder `path` from these ignore files.
    fn from_texts(
        path: &Path,
        parent: Option<Arc<FolderRules>>,
        files: &HashMap<PathBuf, String>,
    ) -> Self {
        let rules = |name: &str| {
            let file = path.join(name);
            files.get(&file).and_then(|text| parse_rules(path, &file, text))
        };
        let (ignore, gitignore) = (rules(".ignore"), rules(".gitignore"));
        Self { parent, ignore, gitignore, info_exclude: None, is_repository: false }
    }

    /// Reads the rules of the folder `path` from the disk.
    fn read(path: &Path, parent: Option<Arc<FolderRules>>) -> Self {
        // Links are not followed, and `.git` is a file in a worktree.
        let is_folder = |path: &Path| path.symlink_metadata().is_ok_and(|meta| meta.is_dir());
        let git_folder = path.join(".git");
        let info = git_folder.join("info");
        let info_exclude = if is_folder(&git_folder) && is_folder(&info) {
            read_rules(path, &info.join("exclude"))
        } else {
            None
        };
        Self {
            parent,
            ignore: read_rules(path, &path.join(".ignore")),
            gitignore: read_rules(path, &path.join(".gitignore")),
            info_exclude,
            is_repository: git_folder.symlink_metadata().is_ok(),
        }
    }

    /// Whether the rules of this folder and of those above it ignore the path. `.ignore` takes
    /// precedence over `.gitignore`, `.gitignore` over `.git/info/exclude`, and each folder over its
    /// parent.
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
        // Git's own rules apply up to the folder that is the repository; those of `.ignore` files apply
        // beyond it.
        let mut git_rules_apply = true;
        let mut next_folder = Some(self);
        while let Some(folder) = next_folder {
            ignore = ignore.or_else(|| verdict(&folder.ignore));
            if git_rules_apply {
                gitignore = gitignore.or_else(|| verdict(&folder.gitignore));
                info_exclude = info_exclude.or_else(|| verdict(&folder.info_exclude));
            }
            git_rules_apply &= !folder.is_repository;
            next_folder = folder.parent.as_deref();
        }
        ignore.or(gitignore).or(info_exclude).unwrap_or(false)
    }
}

/// Reads the rules of one ignore file in `folder`; `None` if there is no such file, if it cannot
/// be read, or if it has no rules.
fn read_rules(folder: &Path, file: &Path) -> Option<Gitignore> {
    let text = match read_text(file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => {
            tracing::warn!(file = %file.display(), %error, "the ignore file is skipped");
            return None;
        }
    };
    parse_rules(folder, file, &text)
}

/// Returns the paths that `rules`, the text of an ignore file, ignores. The paths are relative to the
/// folder of that file.
pub(crate) fn ignored_paths<'a>(rules: &str, paths: &[&'a str]) -> Vec<&'a str> {
    let folder = Path::new("/");
    let Some(rules) = parse_rules(folder, &folder.join(".gitignore"), rules) else {
        return Vec::new();
    };
    let is_ignored = |path: &&&str| rules.matched(folder.join(path), false).is_ignore();
    paths.iter().filter(is_ignored).copied().collect()
}

/// Parses the text of an ignore file in `folder`; `None` if it has no rules.
fn parse_rules(folder: &Path, file: &Path, text: &str) -> Option<Gitignore> {
    let mut builder = GitignoreBuilder::new(folder);
    let is_bounded = |line: &&str| line.len() <= MAX_RULE_LENGTH && !is_too_nested(line);
    for line in text.lines().filter(is_bounded) {
        // A malformed rule ignores nothing, as in git.
        let _ = builder.add_line(Some(file.to_owned()), line);
    }
    builder.build().ok().filter(|rules| !rules.is_empty())
}

/// Reads a regular file of at most [`MAX_RULES_BYTES`] bytes, without its byte order mark.
fn read_text(path: &Path) -> io::Result<String> {
    // The check comes before `open`, since opening a device or a pipe can have effects.
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
    Ok(text.trim_start_matches('\u{feff}').to_owned())
}

/// Opens a file without following a link and without waiting for a pipe's other end.
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
