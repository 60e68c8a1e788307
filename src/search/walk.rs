//! Which files there are: below the root, no links followed, `.git` and what the rules of
//! the folders exclude left out.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use globset::{GlobBuilder, GlobMatcher};
use ignore::{WalkBuilder, WalkState};

use super::ignore_rules::{IgnoreRules, PathKind};
use super::{ListReport, ListedFile, MAX_LISTED, Skipped};
use crate::edit::{EditCode, Refusal, WorkPath};
use crate::port::Overlay;

/// Where to look.
#[derive(Debug, Clone)]
pub(crate) struct Scope {
    root: PathBuf,
    start: PathBuf,
    glob: Option<GlobMatcher>,
    /// Whether the root is a folder of this machine.
    is_folder: bool,
}

impl Scope {
    /// Below `path`, which may be a file; the whole root when it is left out.
    pub(crate) fn new(
        root: &Path,
        path: Option<&str>,
        glob: Option<&str>,
        overlay: &Overlay,
    ) -> Result<Self, Refusal> {
        let unreadable = |what: &str, error: std::io::Error| {
            Refusal::new(EditCode::FileNotFound, format!("cannot search {what}: {error}"))
                .hint("Check the path, or leave it out to search the whole root.")
        };
        let root = root.canonicalize().map_err(|error| unreadable("the root", error))?;
        let start = match path.map(str::trim) {
            None | Some("" | "." | "./" | "/") => root.clone(),
            Some(raw) if Path::new(raw) == root => root.clone(),
            Some(raw) => {
                let path = WorkPath::parse(raw, &root)?;
                let at = |refusal: Refusal| refusal.at(path.as_str());
                let plain = root.join(path.as_path());
                let staged =
                    || overlay.keys().any(|known| known.as_path().starts_with(path.as_path()));
                let full = match plain.canonicalize() {
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound && staged() => plain,
                    other => other.map_err(|error| at(unreadable(&format!("`{path}`"), error)))?,
                };
                if !full.starts_with(&root) {
                    return Err(at(Refusal::new(
                        EditCode::InvalidPath,
                        format!("`{path}` leads outside the root"),
                    )
                    .hint("Give a path below the root; links that leave it are not followed.")));
                }
                full
            }
        };
        Ok(Self { root, start, glob: matcher(glob)?, is_folder: true })
    }

    /// The same in a store that lists its files, where `path` may be any name.
    pub(crate) fn of_listing(
        root: &Path,
        path: Option<&str>,
        glob: Option<&str>,
    ) -> Result<Self, Refusal> {
        let start = match path.map(str::trim) {
            None | Some("" | "." | "./" | "/") => root.to_path_buf(),
            Some(raw) if Path::new(raw) == root => root.to_path_buf(),
            Some(raw) => root.join(WorkPath::parse(raw, root)?.as_path()),
        };
        Ok(Self { root: root.to_path_buf(), start, glob: matcher(glob)?, is_folder: false })
    }

    /// Where it starts, below the root; empty for the whole of it.
    pub(crate) fn start(&self) -> &Path {
        self.start.strip_prefix(&self.root).unwrap_or(Path::new(""))
    }

    /// Whether the rules ignore this file or one of the folders on the way to it. The path that the
    /// caller named is never ignored.
    pub(crate) fn is_ignored(&self, rules: &IgnoreRules, path: &WorkPath) -> bool {
        let full = self.root.join(path.as_path());
        let Ok(below) = full.strip_prefix(&self.start) else { return false };
        let parts: Vec<_> = below.components().collect();
        let mut at = self.start.clone();
        parts.iter().enumerate().any(|(number, part)| {
            at.push(part);
            let kind = if number + 1 == parts.len() { PathKind::File } else { PathKind::Folder };
            part.as_os_str().eq_ignore_ascii_case(".git") || rules.is_ignored(&at, kind)
        })
    }

    /// The path below the root, if the glob takes it.
    fn accept(&self, path: &Path) -> Option<Option<WorkPath>> {
        let below = path.strip_prefix(&self.root).ok()?;
        let from_start = path.strip_prefix(&self.start).ok()?;
        if let Some(glob) = &self.glob
            && !glob.is_match(below)
            && !glob.is_match(from_start)
        {
            return None;
        }
        Some(below.to_str().and_then(|text| WorkPath::parse(text, &self.root).ok()))
    }

    /// Whether a file that need not be on the disk belongs to the scope.
    pub(crate) fn contains(&self, path: &WorkPath) -> bool {
        self.accept(&self.root.join(path.as_path())).is_some()
    }

    fn builder(&self) -> WalkBuilder {
        let excluded = IgnoreRules::for_root(&self.root);
        let start = self.start.clone();
        let mut builder = WalkBuilder::new(&self.start);
        builder
            // The rules are read by us, with more care than the library takes.
            .standard_filters(false)
            .follow_links(false)
            .filter_entry(move |entry| {
                // The path that the caller named is searched, whatever the rules say.
                entry.path() == start
                    || !entry.file_name().eq_ignore_ascii_case(".git")
                        && !excluded.is_ignored(entry.path(), kind(entry))
            });
        builder
    }
}

fn matcher(glob: Option<&str>) -> Result<Option<GlobMatcher>, Refusal> {
    let glob = glob.map(|glob| {
        // A pattern without a folder applies to file names.
        let pattern = if glob.contains('/') { glob.to_owned() } else { format!("**/{glob}") };
        GlobBuilder::new(pattern.trim_start_matches("./"))
            .literal_separator(true)
            .build()
            .map(|glob| glob.compile_matcher())
            .map_err(|error| {
                Refusal::new(
                    EditCode::InvalidArguments,
                    format!(
                        "the glob `{}` is malformed: {}",
                        crate::text::quote_name(&pattern),
                        error.kind()
                    ),
                )
                .hint("Give a pattern such as *.rs or src/**/*.ts.")
            })
    });
    glob.transpose()
}

fn kind(entry: &ignore::DirEntry) -> PathKind {
    match entry.file_type().is_some_and(|kind| kind.is_dir()) {
        true => PathKind::Folder,
        false => PathKind::File,
    }
}

/// Calls `visit` for each file, from several threads; `make` makes one visitor a thread.
/// Answers with what was left out.
pub(super) fn each_file<V>(scope: &Scope, make: impl Fn() -> V + Sync) -> Skipped
where
    V: FnMut(&WorkPath, &Path) + Send,
{
    let (links, unreadable) = (AtomicUsize::new(0), AtomicUsize::new(0));
    // A path that only an overlay has.
    if !scope.is_folder || !scope.start.exists() {
        return Skipped::default();
    }
    scope.builder().build_parallel().run(|| {
        let mut visit = make();
        let (links, unreadable) = (&links, &unreadable);
        Box::new(move |entry| {
            let Ok(entry) = entry else {
                unreadable.fetch_add(1, Ordering::Relaxed);
                return WalkState::Continue;
            };
            let Some(kind) = entry.file_type() else { return WalkState::Continue };
            if kind.is_symlink() {
                links.fetch_add(1, Ordering::Relaxed);
            } else if kind.is_file() {
                match scope.accept(entry.path()) {
                    Some(Some(path)) => visit(&path, entry.path()),
                    Some(None) => {
                        unreadable.fetch_add(1, Ordering::Relaxed);
                    }
                    None => {}
                }
            }
            WalkState::Continue
        })
    });
    Skipped { links: links.into_inner(), unreadable: unreadable.into_inner(), ..Skipped::default() }
}

/// The files of a scope, those of the overlay in its version.
pub(crate) fn list(scope: &Scope, overlay: &Overlay) -> ListReport {
    let files = Mutex::new(Vec::new());
    let skipped = each_file(scope, || {
        |path: &WorkPath, full: &Path| {
            if overlay.contains_key(path) {
                return;
            }
            let bytes = full.metadata().map_or(0, |meta| meta.len());
            let file = ListedFile { path: path.as_str().to_owned(), bytes };
            files.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(file);
        }
    });
    let mut files = files.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    files.extend(overlay.iter().filter(|(path, _)| scope.contains(path)).filter_map(
        |(path, bytes)| {
            let bytes = bytes.as_ref()?.len() as u64;
            Some(ListedFile { path: path.as_str().to_owned(), bytes })
        },
    ));
    files.sort();
    let total = files.len();
    files.truncate(MAX_LISTED);
    ListReport { truncated: total > files.len(), files, total, skipped }
}
