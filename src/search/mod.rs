//! Search on ripgrep's libraries, for a model: numbered hits with anchors, few
//! enough to read, with totals that count everything.
//!
//! A first pass over the raw files finds and counts (`scan`); the best files are then
//! decoded and their hits shown from that version, so that a number here is the same
//! number in a read and an edit, and a hit's anchor can be edited at once.
//!
//! Limits: in UTF-16 without a byte order mark nothing is found, and in legacy
//! encodings only ASCII terms are.

mod hits;
mod ignore_rules;
mod query;
mod rank;
mod scan;
mod walk;

use schemars::JsonSchema;
use serde::Serialize;

use crate::text::{pluralize, quote_name};

pub(crate) use hits::{hits_in, path_hit};
pub(crate) use ignore_rules::{IgnoreRules, MAX_RULES_BYTES, ignored_paths};
pub(crate) use query::{Case, Query};
pub(crate) use rank::rank;
pub(crate) use scan::{Scanned, scan};
pub(crate) use walk::Scope;
pub(crate) use walk::list;

/// The most files with hits that an answer shows.
pub(crate) const MAX_FILES: usize = 50;
/// The most hits of one file.
pub(crate) const MAX_MATCHES: usize = 20;
/// The most hits of all files together.
pub(crate) const MAX_SHOWN: usize = 300;
/// The most characters of a line.
pub(crate) const MAX_LINE_CHARS: usize = 200;
/// The most lines of context on either side.
pub(crate) const MAX_CONTEXT: usize = 20;
/// The most files of a list.
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
    /// Files that cannot be read, or whose name is not UTF-8.
    pub unreadable: usize,
    /// Files of an object storage that were not fetched: too large, or too many in all.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unfetched: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
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
    /// How many of the terms are in the file.
    pub terms: usize,
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
    /// The line without outer blanks, or the part of it around the hit.
    pub content: String,
    /// The blanks before it, for showing the line as it is.
    #[serde(skip)]
    pub indent: String,
    /// The anchor, as LINE#ID.
    pub anchor: String,
    /// Which part of a long line is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub columns: Option<Columns>,
    /// The lines around, as LINE#ID|text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<Context>,
}

/// Columns in characters, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Columns {
    /// The first one shown.
    pub start: usize,
    /// The last one shown.
    pub end: usize,
    /// Where the hit is.
    pub hit: usize,
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
    fn summary(self) -> String {
        let mut parts = Vec::new();
        for (count, what) in [
            (self.binary, "binary"),
            (self.links, "symbolic links"),
            (self.unreadable, "unreadable"),
            (self.unfetched, "not fetched, too large or too many: narrow it with path or glob"),
        ] {
            if count > 0 {
                parts.push(format!("{count} {what}"));
            }
        }
        let parts = if parts.is_empty() {
            String::new()
        } else {
            format!("; skipped: {}", parts.join(", "))
        };
        format!("files excluded by .gitignore are not looked at{parts}")
    }
}

impl SearchReport {
    /// The text for a model.
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
            for hit in &file.matches {
                let context = hit.context.iter();
                for line in context.clone().flat_map(|c| &c.before) {
                    out.push_str(&format!("\n  {line}"));
                }
                out.push_str(&format!("\n{}|{}{}", hit.anchor, hit.indent, hit.content));
                if let Some(columns) = hit.columns {
                    out.push_str(&format!(" [columns {}-{}]", columns.start, columns.end));
                }
                for line in context.flat_map(|c| &c.after) {
                    out.push_str(&format!("\n  {line}"));
                }
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
                "\n\n… {} more files; narrow it with path or a longer term",
                self.total_files - shown
            ));
        }
        if self.total_matches > 0 {
            out.push_str("\n\nThese anchors (LINE#ID) and line numbers can be used in an edit at once; read the lines around first when they matter.");
        }
        out
    }
}

impl ListReport {
    /// The text for a model.
    pub fn message(&self) -> String {
        let mut out = format!("{} files ({})", self.total, self.skipped.summary());
        for file in &self.files {
            out.push('\n');
            out.push_str(&quote_name(&file.path));
        }
        if self.truncated {
            out.push_str(&format!(
                "\n… {} more; narrow it with path or glob",
                self.total - self.files.len()
            ));
        }
        out
    }
}
