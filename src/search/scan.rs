//! The first pass: every file of a scope, raw, in parallel.

use std::path::Path;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};

use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkFinish, SinkMatch};

use super::Skipped;
use super::query::Query;
use super::walk::{Scope, each_file};
use crate::edit::WorkPath;
use crate::port::Overlay;

/// The most lines of a file that closeness is judged by.
const MAX_RANKED_LINES: usize = 5000;

/// A file with hits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ScannedFile {
    pub(crate) path: WorkPath,
    /// Lines with hits.
    pub(crate) count: usize,
    /// The lines and their terms.
    pub(crate) lines: Vec<(u64, u64)>,
}

/// What the first pass found.
#[derive(Debug, Default)]
pub(crate) struct Scanned {
    pub(crate) found: Vec<ScannedFile>,
    /// Files whose path matches the query.
    pub(crate) paths: Vec<String>,
    pub(crate) searched: usize,
    pub(crate) skipped: Skipped,
}

impl Scanned {
    /// Takes up what was found in further files.
    pub(crate) fn merge(&mut self, more: Self) {
        self.found.extend(more.found);
        self.paths.extend(more.paths);
        self.searched += more.searched;
        self.skipped.binary += more.skipped.binary;
        self.skipped.unreadable += more.skipped.unreadable;
    }
}

/// Searches every file of the scope, those of the overlay in its version.
pub(crate) fn scan(scope: &Scope, query: &Query, overlay: &Overlay) -> Scanned {
    let state = (Mutex::new(Scanned::default()), AtomicUsize::new(0));
    let (scanned, binary) = (&state.0, &state.1);
    let lock = || scanned.lock().unwrap_or_else(PoisonError::into_inner);
    let visitor = || {
        let mut searcher = SearcherBuilder::new()
            .line_number(true)
            .binary_detection(BinaryDetection::quit(0))
            .build();
        move |path: &WorkPath, source: Content<'_>| {
            let mut sink = MatchSink { query, count: 0, lines: Vec::new(), binary: false };
            let result = match source {
                Content::File(path) => searcher.search_path(query.lines(), path, &mut sink),
                Content::Bytes(bytes) => searcher.search_slice(query.lines(), bytes, &mut sink),
            };
            let mut scanned = lock();
            scanned.searched += 1;
            if query.find(path.as_str().as_bytes()).is_some() {
                scanned.paths.push(path.as_str().to_owned());
            }
            match result {
                Err(_) => scanned.skipped.unreadable += 1,
                Ok(()) if sink.binary => {
                    binary.fetch_add(1, Ordering::Relaxed);
                }
                Ok(()) if sink.count > 0 => {
                    let (count, lines) = (sink.count, sink.lines);
                    scanned.found.push(ScannedFile { path: path.clone(), count, lines });
                }
                Ok(()) => {}
            }
        }
    };
    let skipped = each_file(scope, || {
        let mut visit = visitor();
        move |path: &WorkPath, full: &Path| {
            if !overlay.contains_key(path) {
                visit(path, Content::File(full));
            }
        }
    });
    let mut visit = visitor();
    for (path, bytes) in overlay {
        if let Some(bytes) = bytes.as_deref().filter(|_| scope.contains(path)) {
            visit(path, Content::Bytes(bytes));
        }
    }
    let mut scanned = state.0.into_inner().unwrap_or_else(PoisonError::into_inner);
    scanned.skipped.links += skipped.links;
    scanned.skipped.unreadable += skipped.unreadable;
    scanned.skipped.binary += state.1.into_inner();
    scanned.paths.sort();
    scanned
}

/// Where the text is.
enum Content<'a> {
    File(&'a Path),
    Bytes(&'a [u8]),
}

struct MatchSink<'q> {
    query: &'q Query,
    count: usize,
    lines: Vec<(u64, u64)>,
    binary: bool,
}

impl Sink for MatchSink<'_> {
    type Error = std::io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, Self::Error> {
        let mask = self.query.term_mask(found.bytes());
        if mask != 0 {
            self.count += 1;
            if self.lines.len() < MAX_RANKED_LINES {
                self.lines.push((found.line_number().unwrap_or_default(), mask));
            }
        }
        Ok(true)
    }

    fn finish(&mut self, _: &Searcher, finish: &SinkFinish) -> Result<(), Self::Error> {
        self.binary = finish.binary_byte_offset().is_some();
        Ok(())
    }
}
