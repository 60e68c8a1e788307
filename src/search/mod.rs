//! Search for models, on ripgrep's libraries. It shows as many hits as a model can read, each with
//! its line number and anchor; the totals count all hits.
//!
//! A first pass (`scan`) finds and counts the hits in the raw files. The best files are then
//! decoded, and their hits are shown from the decoded text. So a line has the same number here,
//! in a read and in an edit, and a hit's anchor can be used in an edit at once.
//!
//! Limits: nothing is found in UTF-16 without a byte order mark, and only ASCII terms are found
//! in legacy encodings.

mod hits;
mod ignore_rules;
mod near;
mod query;
mod rank;
mod scan;
mod walk;

use schemars::JsonSchema;
use serde::Serialize;

use crate::names::is_default;
use crate::text::{pluralize, quote_name};

pub(crate) use hits::{hits_in, path_hit};
pub(crate) use ignore_rules::{IgnoreRules, MAX_RULES_BYTES};
pub(crate) use near::near_paths;
pub(crate) use query::{Case, Query};
pub(crate) use rank::rank;
pub(crate) use scan::{Scanned, scan};
pub(crate) use walk::Scope;
pub(crate) use walk::{first_paths, list};

/// The most files with hits that an answer shows.
pub(crate) const MAX_FILES: usize = 50;
/// The most hits that an answer shows of one file.
pub(crate) const MAX_MATCHES: usize = 20;
/// The most hits that an answer shows of all files together.
pub(crate) const MAX_SHOWN: usize = 300;
/// The most characters that an answer shows of a line.
pub(crate) const MAX_LINE_CHARS: usize = 200;
/// The most lines of context above and below a hit.
pub(crate) const MAX_CONTEXT: usize = 20;
/// The most files that a list shows.
pub(crate) const MAX_LISTED: usize = 2000;

/// What a search found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SearchReport {
    /// The files, best first; those that are found by their path alone come last.
    pub files: Vec<FileHits>,
    /// Whether there is more than is shown.
    pub truncated: bool,
    /// Files with hits, shown or not.
    pub total_files: usize,
    /// Lines with hits, shown or not.
    pub total_matches: usize,
    /// Files whose path holds the keyword.
    pub paths: Vec<String>,
    /// How many there are, shown or not.
    pub total_paths: usize,
    /// How many files were searched.
    pub searched: usize,
    /// Files that were left out.
    pub skipped: Skipped,
}

/// Files that a walk left out. What `.gitignore` excludes is never looked at and not counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct Skipped {
    /// Binary files.
    pub binary: usize,
    /// Symbolic links, which are not followed.
    pub links: usize,
    /// Files that cannot be read, are too large, or have a name that is not UTF-8.
    pub unreadable: usize,
    /// Files of an object storage that were not fetched: too large, or too many in all.
    #[serde(default, skip_serializing_if = "is_default")]
    pub unfetched: usize,
}

/// The hits of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FileHits {
    /// A short name of the file, the same in every search.
    pub id: String,
    /// The file.
    pub path: String,
    /// Lines with hits, shown or not.
    pub match_count: usize,
    /// The first of them.
    pub matches: Vec<Match>,
    /// The version that the anchors are of; hashline_edit takes it.
    pub snapshot: String,
    /// Lines in the file.
    pub total_lines: usize,
}

/// One line with a hit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Match {
    /// The line, from 1.
    pub line: usize,
    /// The line without outer blanks; of a long one the part around the hit, between `…`, and its columns.
    pub content: String,
    /// The blanks before it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub indent: String,
    /// The anchor, as LINE#ID.
    pub anchor: String,
    /// The lines around, as LINE#ID|text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<Context>,
}

/// Lines around a hit.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct Context {
    /// Above.
    pub before: Vec<String>,
    /// Below.
    pub after: Vec<String>,
}

/// Files below a folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ListReport {
    /// The files, by path.
    pub files: Vec<ListedFile>,
    /// How many there are, shown or not.
    pub total: usize,
    /// Whether there is more than is shown.
    pub truncated: bool,
    /// Files that were left out.
    pub skipped: Skipped,
}

/// One file of a list.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct ListedFile {
    /// The file.
    pub path: String,
    /// Its size.
    pub bytes: u64,
}

impl Skipped {
    /// Returns the note in a message on the files that were left out, without brackets.
    fn summary(self) -> String {
        let counts = [
            (self.binary, "binary"),
            (self.links, "symbolic links"),
            (self.unreadable, "unreadable, too large or with a name that is not UTF-8"),
            (self.unfetched, "not fetched (too large or too many; narrow with path or glob)"),
        ];
        let skipped: Vec<String> = counts
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, reason)| format!("{count} {reason}"))
            .collect();
        let mut summary = "without files that .gitignore excludes".to_owned();
        if !skipped.is_empty() {
            summary.push_str(&format!("; skipped: {}", skipped.join(", ")));
        }
        summary
    }
}

impl SearchReport {
    /// Returns the text for a model: the totals, the files by path, and the hits by file.
    pub fn message(&self) -> String {
        let mut out = format!(
            "{} in {} of {} searched ({}).",
            pluralize(self.total_matches, "line"),
            pluralize(self.total_files, "file"),
            self.searched,
            self.skipped.summary()
        );
        if !self.paths.is_empty() {
            out.push_str(&format!(
                "\nPaths that match: {}",
                self.paths.iter().map(|path| quote_name(path)).collect::<Vec<_>>().join(", ")
            ));
            if self.total_paths > self.paths.len() {
                out.push_str(&format!(" and {} more", self.total_paths - self.paths.len()));
            }
        }
        let with_hits = self.files.iter().filter(|file| file.match_count > 0);
        for file in with_hits.clone() {
            out.push_str(&format!(
                "\n\n{} ({}, {}, snapshot {})",
                quote_name(&file.path),
                pluralize(file.match_count, "match"),
                pluralize(file.total_lines, "line"),
                file.snapshot
            ));
            let mut last = 0;
            for (at, hit) in file.matches.iter().enumerate() {
                let next = file.matches.get(at + 1).map_or(usize::MAX, |next| next.line);
                hit.push_lines(&mut out, &mut last, next);
            }
            if file.match_count > file.matches.len() {
                out.push_str(&format!(
                    "\n… {} more in this file",
                    file.match_count - file.matches.len()
                ));
            }
        }
        let shown = with_hits.count();
        if self.total_files > shown {
            out.push_str(&format!(
                "\n\n… {} more files; narrow the search with path or a longer term",
                self.total_files - shown
            ));
        }
        out
    }
}

impl Match {
    /// Appends the line with the hit, and the lines around it, each on a line of its own: those above it
    /// that come after `last`, the last one shown, which is set anew, and those below it that come
    /// before `next`, the next hit.
    fn push_lines(&self, out: &mut String, last: &mut usize, next: usize) {
        let (before, after) = match &self.context {
            Some(context) => (context.before.as_slice(), context.after.as_slice()),
            None => (&[][..], &[][..]),
        };
        let above = self.line - before.len()..;
        for (_, line) in above.zip(before).filter(|(number, _)| *number > *last) {
            out.push_str(&format!("\n  {line}"));
        }
        *last = (self.line + after.len()).min(next - 1);
        out.push_str(&format!("\n{}|{}{}", self.anchor, self.indent, self.content));
        for line in after.iter().take(*last - self.line) {
            out.push_str(&format!("\n  {line}"));
        }
    }
}

impl ListReport {
    /// Returns the text for a model: the number of files and their paths.
    pub fn message(&self) -> String {
        let mut out = format!("{} ({})", pluralize(self.total, "file"), self.skipped.summary());
        for file in &self.files {
            out.push('\n');
            out.push_str(&quote_name(&file.path));
        }
        if self.truncated {
            out.push_str(&format!(
                "\n… {} more; narrow the list with path or glob",
                self.total - self.files.len()
            ));
        }
        out
    }
}
