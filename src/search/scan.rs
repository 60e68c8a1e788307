//! The first pass of a search: reads the raw bytes of every file of a scope in parallel, and finds
//! the files and lines that match.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Mutex;
use std::sync::PoisonError;

use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkFinish, SinkMatch};

use super::Skipped;
use super::query::Query;
use super::walk::{Scope, each_file};
use crate::edit::WorkPath;
use crate::store::Overlay;

/// A larger file is not searched, as it is not read or edited.
const MAX_FILE_BYTES: u64 = 256 << 20;
/// The memory for the lines of one file. A file with a longer line is not searched.
const MAX_LINE_BYTES: usize = 64 << 20;

/// How many matching lines of a file are kept for ranking.
const MAX_RANKED_LINES: usize = 5000;

/// A file with hits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ScannedFile {
    pub(crate) path: WorkPath,
    /// The number of lines with hits.
    pub(crate) count: usize,
    /// The numbers of the first [`MAX_RANKED_LINES`] of these lines, each with the terms on it, one
    /// bit for each term.
    pub(crate) lines: Vec<(u64, u64)>,
}

/// The result of the first pass.
#[derive(Debug, Default)]
pub(crate) struct Scanned {
    pub(crate) found: Vec<ScannedFile>,
    /// Files whose path matches the query.
    pub(crate) paths: Vec<String>,
    /// The number of files that were searched.
    pub(crate) searched: usize,
    pub(crate) skipped: Skipped,
}

impl Scanned {
    /// Adds the results of a scan of other files.
    pub(crate) fn merge(&mut self, more: Self) {
        self.found.extend(more.found);
        self.paths.extend(more.paths);
        self.searched += more.searched;
        self.skipped.binary += more.skipped.binary;
        self.skipped.unreadable += more.skipped.unreadable;
    }
}

/// Searches every file of the scope. A file that the overlay has is searched in the overlay's
/// version.
pub(crate) fn scan(scope: &Scope, query: &Query, overlay: &Overlay) -> Scanned {
    let all_scanned = Mutex::new(Scanned::default());
    let lock = || all_scanned.lock().unwrap_or_else(PoisonError::into_inner);
    let open = opener(scope.root());
    // Each thread gets a visitor of its own, since a searcher cannot be shared.
    let visitor = || {
        let mut searcher = SearcherBuilder::new()
            .line_number(true)
            .binary_detection(BinaryDetection::quit(0))
            .heap_limit(Some(MAX_LINE_BYTES))
            .build();
        move |path: &WorkPath, content: Content<'_>| {
            let mut sink = MatchSink { query, count: 0, lines: Vec::new(), is_binary: false };
            let result = match content {
                Content::File(file) => {
                    file.and_then(|file| searcher.search_file(query.lines(), &file, &mut sink))
                }
                Content::Bytes(bytes) => searcher.search_slice(query.lines(), bytes, &mut sink),
            };
            let mut results = lock();
            results.searched += 1;
            if query.find(path.as_str().as_bytes()).is_some() {
                results.paths.push(path.as_str().to_owned());
            }
            match result {
                Err(_) => results.skipped.unreadable += 1,
                Ok(()) if sink.is_binary => results.skipped.binary += 1,
                Ok(()) if sink.count > 0 => {
                    let (count, lines) = (sink.count, sink.lines);
                    results.found.push(ScannedFile { path: path.clone(), count, lines });
                }
                Ok(()) => {}
            }
        }
    };
    let skipped = each_file(scope, || {
        let (mut visit, open) = (visitor(), &open);
        move |path: &WorkPath, _: &Path| {
            if !overlay.contains_key(path) {
                visit(path, Content::File(open(path).and_then(within_limit)));
            }
        }
    });
    let mut visit = visitor();
    for (path, bytes) in overlay {
        // The overlay has no bytes for a file that is deleted in it.
        if let Some(bytes) = bytes.as_deref()
            && scope.contains(path)
        {
            visit(path, Content::Bytes(bytes));
        }
    }
    let mut scanned = all_scanned.into_inner().unwrap_or_else(PoisonError::into_inner);
    scanned.skipped.links += skipped.links;
    scanned.skipped.unreadable += skipped.unreadable;
    scanned.paths.sort();
    scanned
}

/// Opens files below a root.
#[cfg(unix)]
fn opener(root: &Path) -> impl Fn(&WorkPath) -> io::Result<File> + Sync {
    // An error of the root itself is that of each file.
    let reader = crate::store::Reader::open(root);
    move |path| match &reader {
        Ok(reader) => reader.file(path.as_path()),
        Err(error) => Err(io::Error::new(error.kind(), error.to_string())),
    }
}

#[cfg(not(unix))]
fn opener(root: &Path) -> impl Fn(&WorkPath) -> io::Result<File> + Sync {
    let root = root.to_owned();
    move |path| File::open(root.join(path.as_path()))
}

/// The file, unless it is too large to be searched.
fn within_limit(file: File) -> io::Result<File> {
    match file.metadata()?.len() > MAX_FILE_BYTES {
        true => Err(io::Error::other("it is too large")),
        false => Ok(file),
    }
}

/// What to search: a file on the disk, or bytes in memory.
enum Content<'a> {
    File(io::Result<File>),
    Bytes(&'a [u8]),
}

/// Collects the lines that ripgrep's searcher finds in one file.
struct MatchSink<'q> {
    query: &'q Query,
    count: usize,
    lines: Vec<(u64, u64)>,
    is_binary: bool,
}

impl Sink for MatchSink<'_> {
    type Error = std::io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, Self::Error> {
        if let Some(hit) = self.query.find(found.bytes()) {
            self.count += 1;
            if self.lines.len() < MAX_RANKED_LINES {
                self.lines.push((found.line_number().unwrap_or_default(), hit.mask));
            }
        }
        Ok(true)
    }

    fn finish(&mut self, _: &Searcher, finish: &SinkFinish) -> Result<(), Self::Error> {
        self.is_binary = finish.binary_byte_offset().is_some();
        Ok(())
    }
}
