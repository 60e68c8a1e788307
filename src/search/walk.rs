//! Finds the files below the root. Links are not followed; `.git` and everything that ignore
//! files exclude is left out.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use globset::{GlobBuilder, GlobMatcher};
use ignore::{WalkBuilder, WalkState};

use super::ignore_rules::{IgnoreRules, MAX_GLOB_BRACES, PathKind, is_too_nested};
use super::{ListReport, ListedFile, MAX_LISTED, Skipped};
use crate::edit::message::{GLOB, PATH};
use crate::edit::{EditCode, Refusal, WorkPath, said};
use crate::store::Overlay;
use crate::text::quote_name;

/// The files that a search or a list covers.
#[derive(Debug, Clone)]
pub(crate) struct Scope {
    root: PathBuf,
    /// The file or folder to start at: the root, or a path below it.
    start: PathBuf,
    glob: Option<GlobMatcher>,
    /// Whether the root is a folder on this machine, not in a remote store.
    is_local: bool,
}

impl Scope {
    /// Returns the scope of everything at or below `path`, or of the whole root without a `path`.
    /// Refuses a path that exists neither on the disk nor in the overlay, and a path that leads
    /// outside the root.
    pub(crate) fn new(
        root: &Path,
        path: Option<&str>,
        glob: Option<&str>,
        overlay: &Overlay,
    ) -> Result<Self, Refusal> {
        let unreadable = |subject: &str, error: std::io::Error| {
            Refusal::new(EditCode::FileNotFound, format!("cannot search {subject}: {error}"))
                .hint(said!("Check {PATH}, or leave it out to search the whole root."))
        };
        // The store refuses a root in whose place a link has come; so does a search.
        if root.is_symlink() {
            let error = std::io::Error::other("it now leads elsewhere");
            return Err(unreadable("the root", error));
        }
        let root = root.canonicalize().map_err(|error| unreadable("the root", error))?;
        let mut scope = Self { is_local: true, ..Self::of_listing(&root, path, glob)? };
        let named = scope.relative_start().to_string_lossy().into_owned();
        scope.start = match scope.start.canonicalize() {
            Ok(canonical) if canonical.starts_with(&root) => canonical,
            Ok(_) => {
                let message = format!("`{}` leads outside the root", quote_name(&named));
                return Err(Refusal::new(EditCode::InvalidPath, message)
                    .hint("Give a path below the root; links that leave it are not followed.")
                    .at(named));
            }
            // Files that are only in the overlay are not on the disk yet.
            Err(error)
                if error.kind() == std::io::ErrorKind::NotFound
                    && overlay.keys().any(|known| known.as_path().starts_with(&named)) =>
            {
                scope.start
            }
            Err(error) => {
                return Err(unreadable(&format!("`{}`", quote_name(&named)), error).at(named));
            }
        };
        Ok(scope)
    }

    /// Returns the scope in a remote store that can list its files. Whether `path` exists there is
    /// not checked.
    pub(crate) fn of_listing(
        root: &Path,
        path: Option<&str>,
        glob: Option<&str>,
    ) -> Result<Self, Refusal> {
        let start = match path.map(str::trim) {
            None | Some("" | "." | "./" | "/") => root.to_path_buf(),
            Some(raw) if Path::new(raw) == root => root.to_path_buf(),
            Some(raw) => root.join(WorkPath::of_caller(raw, root)?.as_path()),
        };
        Ok(Self { root: root.to_path_buf(), start, glob: glob_matcher(glob)?, is_local: false })
    }

    /// The root, without links.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the path, relative to the root, at which the scope starts; empty for the whole
    /// root.
    pub(crate) fn relative_start(&self) -> &Path {
        self.start.strip_prefix(&self.root).unwrap_or(Path::new(""))
    }

    /// Whether the rules ignore this file or one of its parent folders below the start. The path
    /// that the caller named is never ignored.
    pub(crate) fn is_ignored(&self, rules: &IgnoreRules, path: &WorkPath) -> bool {
        let full = self.root.join(path.as_path());
        let Ok(below) = full.strip_prefix(&self.start) else { return false };
        let names: Vec<_> = below.components().collect();
        let mut ancestor = self.start.clone();
        names.iter().enumerate().any(|(index, name)| {
            ancestor.push(name);
            let kind = if index + 1 == names.len() { PathKind::File } else { PathKind::Folder };
            name.as_os_str().eq_ignore_ascii_case(".git") || rules.is_ignored(&ancestor, kind)
        })
    }

    /// Whether this full path is at or below the start and matches the glob, if there is one.
    fn contains_full_path(&self, path: &Path) -> bool {
        let (Ok(from_root), Ok(from_start)) =
            (path.strip_prefix(&self.root), path.strip_prefix(&self.start))
        else {
            return false;
        };
        self.glob.as_ref().is_none_or(|glob| glob.is_match(from_root) || glob.is_match(from_start))
    }

    /// Returns the path relative to the root; `None` if its name is not UTF-8.
    fn work_path(&self, path: &Path) -> Option<WorkPath> {
        let from_root = path.strip_prefix(&self.root).ok()?;
        WorkPath::parse(from_root.to_str()?, &self.root).ok()
    }

    /// Whether the scope covers a file, which need not be on the disk.
    pub(crate) fn contains(&self, path: &WorkPath) -> bool {
        self.contains_full_path(&self.root.join(path.as_path()))
    }

    /// Returns the walk over the scope, which leaves out `.git` and what the rules ignore.
    fn walk(&self) -> WalkBuilder {
        let rules = IgnoreRules::for_root(&self.root);
        let start = self.start.clone();
        let mut walk = WalkBuilder::new(&self.start);
        // The library's own filters are off: they would read ignore files through links.
        walk.standard_filters(false).follow_links(false).filter_entry(move |entry| {
            // The path that the caller named is searched, whatever the rules say.
            if entry.path() == start {
                return true;
            }
            let is_git = entry.file_name().eq_ignore_ascii_case(".git");
            let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
            let kind = if is_folder { PathKind::Folder } else { PathKind::File };
            !is_git && !rules.is_ignored(entry.path(), kind)
        });
        walk
    }
}

/// The most bytes of a glob. Longer ones can be too large to compile, which the library does not
/// report but panics at.
const MAX_GLOB_BYTES: usize = 1_000;

/// Compiles a glob; one without a `/` applies to file names in any folder.
fn glob_matcher(glob: Option<&str>) -> Result<Option<GlobMatcher>, Refusal> {
    let glob = glob.map(|glob| {
        let over_limit = if glob.len() > MAX_GLOB_BYTES {
            let bytes = glob.len();
            Some(said!("{GLOB} has {bytes} bytes; at most {MAX_GLOB_BYTES} are allowed"))
        } else if is_too_nested(glob) {
            Some(said!("{GLOB} has more than {MAX_GLOB_BRACES} braces inside each other"))
        } else {
            None
        };
        if let Some(message) = over_limit {
            return Err(Refusal::new(EditCode::TooLarge, message)
                .hint("Give a shorter pattern, such as *.rs or src/**/*.ts."));
        }
        let pattern = if glob.contains('/') { glob.to_owned() } else { format!("**/{glob}") };
        GlobBuilder::new(pattern.trim_start_matches("./"))
            .literal_separator(true)
            .build()
            .map(|glob| glob.compile_matcher())
            .map_err(|error| {
                Refusal::invalid(
                    said!("{GLOB} `{}` is malformed: {}", quote_name(&pattern), error.kind()),
                    "Give a pattern such as *.rs or src/**/*.ts.",
                )
            })
    });
    glob.transpose()
}

/// Calls a visitor with each file of the scope: its path below the root and its full path. The
/// walk has several threads, and `make_visitor` makes a visitor for each. Returns the counts of
/// the files that were left out.
pub(super) fn each_file<V>(scope: &Scope, make_visitor: impl Fn() -> V + Sync) -> Skipped
where
    V: FnMut(&WorkPath, &Path) + Send,
{
    let (links, unreadable) = (AtomicUsize::new(0), AtomicUsize::new(0));
    // A path that is only in the overlay does not exist on the disk.
    if !scope.is_local || !scope.start.exists() {
        return Skipped::default();
    }
    scope.walk().build_parallel().run(|| {
        let mut visit = make_visitor();
        let (links, unreadable) = (&links, &unreadable);
        Box::new(move |entry| {
            let Ok(entry) = entry else {
                unreadable.fetch_add(1, Ordering::Relaxed);
                return WalkState::Continue;
            };
            let Some(file_type) = entry.file_type() else { return WalkState::Continue };
            if file_type.is_symlink() {
                links.fetch_add(1, Ordering::Relaxed);
            } else if file_type.is_file() && scope.contains_full_path(entry.path()) {
                match scope.work_path(entry.path()) {
                    Some(path) => visit(&path, entry.path()),
                    None => {
                        unreadable.fetch_add(1, Ordering::Relaxed);
                    }
                }
            }
            WalkState::Continue
        })
    });
    Skipped { links: links.into_inner(), unreadable: unreadable.into_inner(), ..Skipped::default() }
}

/// Lists the files of a scope. A file that the overlay has is listed as it is there.
pub(crate) fn list(scope: &Scope, overlay: &Overlay) -> ListReport {
    let files = Mutex::new(Vec::new());
    let skipped = each_file(scope, || {
        |path: &WorkPath, full_path: &Path| {
            if overlay.contains_key(path) {
                return;
            }
            let bytes = full_path.metadata().map_or(0, |meta| meta.len());
            let file = ListedFile { path: path.as_str().to_owned(), bytes };
            files.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(file);
        }
    });
    let mut files = files.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    for (path, content) in overlay {
        // The overlay has no content for a file that is deleted in it.
        if let Some(content) = content
            && scope.contains(path)
        {
            files.push(ListedFile { path: path.as_str().to_owned(), bytes: content.len() as u64 });
        }
    }
    files.sort();
    let total = files.len();
    files.truncate(MAX_LISTED);
    ListReport { truncated: total > files.len(), files, total, skipped }
}

/// The paths of files in a scope. Of those on the disk, the walk stops after `max` files and folders.
pub(crate) fn first_paths(scope: &Scope, overlay: &Overlay, max: usize) -> Vec<WorkPath> {
    let walk = scope.walk().build().take(max).flatten();
    let files = walk.filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
    let on_disk = files.filter_map(|entry| scope.work_path(entry.path()));
    let mut paths: Vec<WorkPath> = on_disk.filter(|path| !overlay.contains_key(path)).collect();
    let staged = overlay.iter().filter(|(path, bytes)| bytes.is_some() && scope.contains(path));
    paths.extend(staged.map(|(path, _)| path.clone()));
    paths
}
