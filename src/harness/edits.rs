//! Real edits: what changed between two versions of a package.
//!
//! A hunk becomes an edit with one to four lines of context on each side. Only
//! hunks whose lines are unique in the file *even without whitespace, quotes,
//! commas and semicolons* are taken, so that no mutation that folds any of these
//! can make another place as good as the right one.

use std::sync::Arc;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::rng::Rng;
use crate::language::Language;

/// What an edit does with a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DiffLine {
    /// The line stays.
    Context(String),
    /// The line goes.
    Removed(String),
    /// The line is new.
    Added(String),
}

/// One hunk between two versions of a file.
#[derive(Debug, Clone)]
pub(crate) struct RealEdit {
    /// Package, path and place: the same in every run.
    pub id: String,
    /// The path in the package.
    pub path: String,
    /// What kind of file.
    pub language: &'static Language,
    /// The file before, with LF endings only.
    pub file: Arc<str>,
    /// Where the edit's first line starts.
    pub start: usize,
    /// Where its last line ends, without the line break.
    pub end: usize,
    /// Its lines.
    pub lines: Vec<DiffLine>,
}

const MAX_FILE: usize = 120_000;
const MAX_LINE: usize = 300;
const MAX_CHANGED: usize = 24;
/// A shorter text is found by chance.
const MIN_FOLDED: usize = 14;

/// Both versions of one file.
#[derive(Debug, Clone)]
pub(crate) struct FileChange {
    /// The package it is from.
    pub package: String,
    /// The path in the package.
    pub path: String,
    /// The older text.
    pub before: String,
    /// The newer text.
    pub after: String,
}

/// The edits that make the newer version of the older one.
pub(crate) fn edits_in(change: &FileChange, seed: u64) -> Vec<RealEdit> {
    let Some(language) = Language::from_path(&change.path) else { return Vec::new() };
    let usable = |text: &str| {
        text.len() <= MAX_FILE
            && text.ends_with('\n')
            && !text.contains(['\r', '\0', '\u{feff}', char::REPLACEMENT_CHARACTER])
            && text.lines().all(|line| line.len() <= MAX_LINE)
    };
    if !usable(&change.before) || !usable(&change.after) || change.before == change.after {
        return Vec::new();
    }
    let old: Vec<&str> = change.before.lines().collect();
    let new: Vec<&str> = change.after.lines().collect();
    let ops = capture_diff_slices(Algorithm::Patience, &old, &new);
    let file: Arc<str> = change.before.as_str().into();
    let folded_file = folded(&file);
    let mut starts = vec![0];
    starts.extend(file.match_indices('\n').map(|(at, _)| at + 1));
    let mut rng = Rng::new(seed, &format!("{}/{}", change.package, change.path));
    ops.iter()
        .enumerate()
        .filter(|(_, op)| !matches!(op, DiffOp::Equal { .. }))
        .filter_map(|(at, op)| {
            let (removed, added) = (op.old_range(), op.new_range());
            if removed.len() > MAX_CHANGED || added.len() > MAX_CHANGED {
                return None;
            }
            let above = equal_lines(at.checked_sub(1).and_then(|at| ops.get(at)));
            let below = equal_lines(ops.get(at + 1));
            let above = above.min(1 + rng.below(4));
            let below = below.min(1 + rng.below(4));
            let first = removed.start - above;
            let last = removed.end + below;
            if above == 0 && below == 0 || last == first {
                return None;
            }
            let mut lines: Vec<DiffLine> = Vec::new();
            lines.extend(
                old[first..removed.start].iter().map(|l| DiffLine::Context((*l).to_owned())),
            );
            lines.extend(old[removed.clone()].iter().map(|l| DiffLine::Removed((*l).to_owned())));
            lines.extend(new[added].iter().map(|l| DiffLine::Added((*l).to_owned())));
            lines.extend(old[removed.end..last].iter().map(|l| DiffLine::Context((*l).to_owned())));
            let edit = RealEdit {
                id: format!("{}/{}:{}", change.package, change.path, first + 1),
                path: change.path.clone(),
                language,
                file: Arc::clone(&file),
                start: starts[first],
                end: starts[last] - 1,
                lines,
            };
            edit.is_sound(&folded_file).then_some(edit)
        })
        .collect()
}

fn equal_lines(op: Option<&DiffOp>) -> usize {
    match op {
        Some(DiffOp::Equal { len, .. }) => *len,
        _ => 0,
    }
}

impl RealEdit {
    fn is_sound(&self, folded_file: &str) -> bool {
        let region = folded(&self.file[self.start..self.end]);
        let first = self.lines.iter().find(|r| !matches!(r, DiffLine::Added(_)));
        let blank = |line: Option<&DiffLine>| match line {
            Some(DiffLine::Context(line) | DiffLine::Removed(line) | DiffLine::Added(line)) => {
                line.trim().is_empty()
            }
            None => true,
        };
        let changes = self.lines.iter().any(|line| match line {
            DiffLine::Removed(line) | DiffLine::Added(line) => !line.trim().is_empty(),
            DiffLine::Context(_) => false,
        });
        // Both strings start and end with words, as a model's do, and the change is one of words.
        changes
            && !blank(first)
            && !blank(self.lines.first())
            && !blank(self.lines.last())
            && self.changes_words()
            && region.len() >= MIN_FOLDED
            && memchr::memmem::find_iter(folded_file.as_bytes(), region.as_bytes()).count() == 1
    }

    fn changes_words(&self) -> bool {
        let side = |removed: bool| -> String {
            self.lines
                .iter()
                .filter_map(|line| match line {
                    DiffLine::Removed(line) if removed => Some(folded(line)),
                    DiffLine::Added(line) if !removed => Some(folded(line)),
                    _ => None,
                })
                .collect()
        };
        side(true) != side(false)
    }

    /// The same edit in a shorter file: so many lines above and below.
    #[must_use]
    pub(crate) fn excerpt(&self, around: usize) -> Self {
        let line_starts =
            |text: &str| text.match_indices('\n').map(|(at, _)| at + 1).collect::<Vec<_>>();
        let above = line_starts(self.head());
        let from =
            above.len().checked_sub(around + 1).and_then(|at| above.get(at)).copied().unwrap_or(0);
        let below = line_starts(self.tail());
        let to = self.end + below.get(around).copied().unwrap_or(self.file.len() - self.end);
        Self {
            file: self.file[from..to].into(),
            start: self.start - from,
            end: self.end - from,
            ..self.clone()
        }
    }

    /// The file's lines above the edit, as text.
    pub(crate) fn head(&self) -> &str {
        &self.file[..self.start]
    }

    /// The rest of the file after the edit's last line, its line break included.
    pub(crate) fn tail(&self) -> &str {
        &self.file[self.end..]
    }
}

/// A text without anything that a reading may fold: whitespace, quotes, commas,
/// semicolons, and everything outside ASCII.
pub(crate) fn folded(text: &str) -> String {
    text.chars().filter(|c| c.is_ascii() && !c.is_whitespace() && !"\"'`,;".contains(*c)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(before: &str, after: &str) -> FileChange {
        FileChange {
            package: "p".into(),
            path: "a.go".into(),
            before: before.into(),
            after: after.into(),
        }
    }

    #[test]
    fn a_hunk_becomes_an_edit_with_context() {
        let before = "package main\n\nfunc alpha() {\n\tfirst()\n\tsecond()\n\tthird()\n}\n";
        let after = before.replace("second()", "zweite(1)");
        let edits = edits_in(&change(before, &after), 1);
        assert_eq!(edits.len(), 1);
        let edit = &edits[0];
        assert!(edit.lines.contains(&DiffLine::Removed("\tsecond()".into())));
        assert!(edit.lines.contains(&DiffLine::Added("\tzweite(1)".into())));
        assert_eq!(edit.file[edit.start..edit.end].matches("second()").count(), 1);
    }

    #[test]
    fn a_hunk_that_could_be_elsewhere_is_left_out() {
        let before = "x := call(one)\ny := call(two)\n}\nx := call(one)\ny  :=  call(two);\n}\n";
        let after = before.replacen("(two)", "(three)", 1);
        assert!(edits_in(&change(before, &after), 1).iter().all(|e| e.lines.len() > 4));
    }
}
