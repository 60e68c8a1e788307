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

/// The most bytes of an ignore file; a larger one is not read.
pub(crate) const MAX_RULES_BYTES: u64 = 1 << 20;

/// The most bytes of a rule; a longer one is dropped, since it matches no real path and takes
/// seconds to parse.
const MAX_RULE_LENGTH: usize = 4_096;

/// How deep braces may be nested in a glob or a rule of an ignore file, which are compiled by
/// recursion.
pub(super) const MAX_GLOB_BRACES: usize = 8;

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
    /// Those of `.ignore`, of `.gitignore` and of `.git/info/exclude`.
    rules: [Option<Gitignore>; 3],
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
        let folder = Arc::new(FolderRules::of(path, parent, self.texts.as_ref()));
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
    /// The rules of the folder `path`: from these ignore files, or from the disk.
    fn of(
        path: &Path,
        parent: Option<Arc<FolderRules>>,
        files: Option<&HashMap<PathBuf, String>>,
    ) -> Self {
        let rules = |name: &str| {
            let file = path.join(name);
            let text = match files {
                Some(files) => files.get(&file).cloned(),
                None => read_text(&file),
            };
            parse_rules(path, &file, &text?)
        };
        // Links are not followed, and `.git` is a file in a worktree.
        let is_folder = |name: &str| path.join(name).symlink_metadata().is_ok_and(|m| m.is_dir());
        let has_info = files.is_none() && is_folder(".git") && is_folder(".git/info");
        Self {
            parent,
            rules: [
                rules(".ignore"),
                rules(".gitignore"),
                if has_info { rules(".git/info/exclude") } else { None },
            ],
            is_repository: files.is_none() && path.join(".git").symlink_metadata().is_ok(),
        }
    }

    /// Whether the rules of this folder and of those above it ignore the path. `.ignore` takes
    /// precedence over `.gitignore`, `.gitignore` over `.git/info/exclude`, and each folder over its
    /// parent.
    fn is_ignored(&self, path: &Path, kind: PathKind) -> bool {
        let verdict = |rules: &Gitignore| match rules.matched(path, kind == PathKind::Folder) {
            Match::None => None,
            Match::Ignore(_) => Some(true),
            Match::Whitelist(_) => Some(false),
        };
        let mut verdicts = [None; 3];
        // Git's own rules apply up to the folder that is the repository; those of `.ignore` files apply
        // beyond it.
        let mut kinds_that_apply = verdicts.len();
        let mut next_folder = Some(self);
        while let Some(folder) = next_folder {
            for (found, rules) in verdicts.iter_mut().zip(&folder.rules).take(kinds_that_apply) {
                *found = found.or_else(|| verdict(rules.as_ref()?));
            }
            if folder.is_repository {
                kinds_that_apply = 1;
            }
            next_folder = folder.parent.as_deref();
        }
        verdicts.into_iter().flatten().next().unwrap_or(false)
    }
}

/// Whether braces are nested deeper in this glob than [`MAX_GLOB_BRACES`]. Escaped ones and those in
/// a class count, too, so the count is an upper bound.
pub(super) fn is_too_nested(glob: &str) -> bool {
    let mut depth = 0_usize;
    glob.bytes().any(|byte| {
        match byte {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth > MAX_GLOB_BRACES
    })
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

/// Reads an ignore file; `None` if there is none, or it cannot be read.
fn read_text(path: &Path) -> Option<String> {
    match read_regular_file(path) {
        Ok(bytes) => {
            Some(String::from_utf8_lossy(&bytes).trim_start_matches('\u{feff}').to_owned())
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => {
            tracing::warn!(file = %path.display(), %error, "the ignore file is skipped");
            None
        }
    }
}

/// Reads a regular file of at most [`MAX_RULES_BYTES`] bytes.
fn read_regular_file(path: &Path) -> io::Result<Vec<u8>> {
    let is_regular = |meta: std::fs::Metadata| match (meta.is_file(), meta.len()) {
        (false, _) => Err(io::Error::other("it is not a regular file")),
        (true, ..=MAX_RULES_BYTES) => Ok(()),
        _ => Err(io::Error::other(format!("it has more than {MAX_RULES_BYTES} bytes"))),
    };
    // The check comes before `open`, since opening a device or a pipe can have effects.
    is_regular(path.symlink_metadata()?)?;
    let file = open(path)?;
    is_regular(file.metadata()?)?;
    let mut bytes = Vec::new();
    file.take(MAX_RULES_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
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
