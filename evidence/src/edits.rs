//! Real edits: the changes between two versions of a package.
//!
//! A hunk becomes an edit with one to four lines of context on each side. A hunk is used only if
//! its lines are unique in the file *even without whitespace, quotes, commas and semicolons*. So a
//! mutation that changes any of these cannot make the edit fit in another place.

use std::sync::Arc;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use crate::rng::Rng;
use restitch::internals::language::Language;

/// One line of an edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DiffLine {
    /// The edit keeps the line.
    Context(String),
    /// The edit removes the line.
    Removed(String),
    /// The edit adds the line.
    Added(String),
}

/// One hunk between two versions of a file.
#[derive(Debug, Clone)]
pub(crate) struct RealEdit {
    /// The package, the path and the line number; the same in every run.
    pub id: String,
    /// The path in the package.
    pub path: String,
    /// The file's language.
    pub language: &'static Language,
    /// The file before, with LF endings only.
    pub file: Arc<str>,
    /// The byte at which the edit's first line starts.
    pub start: usize,
    /// The byte at which the edit's last line ends, without its line break.
    pub end: usize,
    /// The lines of the edit.
    pub lines: Vec<DiffLine>,
}

/// The most bytes of a file.
const MAX_FILE: usize = 120_000;
/// The most bytes of a line.
const MAX_LINE: usize = 300;
/// The most lines that an edit removes or adds.
const MAX_CHANGED: usize = 24;
/// The fewest bytes of an edit's [`folded`] text; a shorter one may be in a file by chance.
const MIN_FOLDED: usize = 14;

/// Both versions of one file.
#[derive(Debug, Clone)]
pub(crate) struct FileChange {
    /// The package that the file is from.
    pub package: String,
    /// The path in the package.
    pub path: String,
    /// The older text.
    pub before: String,
    /// The newer text.
    pub after: String,
}

/// Returns the usable edits between the two versions of a file. The seed decides how many lines of
/// context each has.
pub(crate) fn edits_in(change: &FileChange, seed: u64) -> Vec<RealEdit> {
    let Some(language) = Language::from_path(&change.path) else { return Vec::new() };
    let is_usable = |text: &str| {
        text.len() <= MAX_FILE
            && text.ends_with('\n')
            && !text.contains(['\r', '\0', '\u{feff}', char::REPLACEMENT_CHARACTER])
            && text.lines().all(|line| line.len() <= MAX_LINE)
    };
    if !is_usable(&change.before) || !is_usable(&change.after) || change.before == change.after {
        return Vec::new();
    }
    let old: Vec<&str> = change.before.lines().collect();
    let new: Vec<&str> = change.after.lines().collect();
    let ops = capture_diff_slices(Algorithm::Patience, &old, &new);
    let file: Arc<str> = change.before.as_str().into();
    let folded_file = folded(&file);
    let mut line_starts = vec![0];
    line_starts.extend(file.match_indices('\n').map(|(offset, _)| offset + 1));
    let mut rng = Rng::new(seed, &format!("{}/{}", change.package, change.path));
    ops.iter()
        .enumerate()
        .filter(|(_, op)| !matches!(op, DiffOp::Equal { .. }))
        .filter_map(|(index, op)| {
            let (removed, added) = (op.old_range(), op.new_range());
            if removed.len() > MAX_CHANGED || added.len() > MAX_CHANGED {
                return None;
            }
            let equal_above =
                equal_lines(index.checked_sub(1).and_then(|previous| ops.get(previous)));
            let equal_below = equal_lines(ops.get(index + 1));
            let context_above = equal_above.min(1 + rng.below(4));
            let context_below = equal_below.min(1 + rng.below(4));
            let first_line = removed.start - context_above;
            let end_line = removed.end + context_below;
            if context_above == 0 && context_below == 0 || end_line == first_line {
                return None;
            }
            let owned = |line: &&str| (*line).to_owned();
            let mut lines: Vec<DiffLine> = Vec::new();
            lines.extend(old[first_line..removed.start].iter().map(owned).map(DiffLine::Context));
            lines.extend(old[removed.clone()].iter().map(owned).map(DiffLine::Removed));
            lines.extend(new[added].iter().map(owned).map(DiffLine::Added));
            lines.extend(old[removed.end..end_line].iter().map(owned).map(DiffLine::Context));
            let edit = RealEdit {
                id: format!("{}/{}:{}", change.package, change.path, first_line + 1),
                path: change.path.clone(),
                language,
                file: Arc::clone(&file),
                start: line_starts[first_line],
                end: line_starts[end_line] - 1,
                lines,
            };
            edit.is_usable(&folded_file).then_some(edit)
        })
        .collect()
}

/// Returns how many lines a step of a diff keeps; 0 if it changes lines.
fn equal_lines(op: Option<&DiffOp>) -> usize {
    match op {
        Some(DiffOp::Equal { len, .. }) => *len,
        _ => 0,
    }
}

impl RealEdit {
    /// Whether the edit looks like one of a model and fits in one place of the file only: it
    /// changes more than whitespace and quotes, and neither `old_str` nor `new_str` would start or
    /// end with a blank line.
    fn is_usable(&self, folded_file: &str) -> bool {
        let folded_region = folded(&self.file[self.start..self.end]);
        let first_old = self.lines.iter().find(|line| !matches!(line, DiffLine::Added(_)));
        let is_blank = |line: Option<&DiffLine>| match line {
            Some(DiffLine::Context(line) | DiffLine::Removed(line) | DiffLine::Added(line)) => {
                line.trim().is_empty()
            }
            None => true,
        };
        let has_change = self.lines.iter().any(|line| match line {
            DiffLine::Removed(line) | DiffLine::Added(line) => !line.trim().is_empty(),
            DiffLine::Context(_) => false,
        });
        has_change
            && !is_blank(first_old)
            && !is_blank(self.lines.first())
            && !is_blank(self.lines.last())
            && self.changes_words()
            && folded_region.len() >= MIN_FOLDED
            && memchr::memmem::find_iter(folded_file.as_bytes(), folded_region.as_bytes()).count()
                == 1
    }

    /// Whether the removed and the added lines differ in more than what [`folded`] drops.
    fn changes_words(&self) -> bool {
        let (mut removed, mut added) = (String::new(), String::new());
        for line in &self.lines {
            match line {
                DiffLine::Removed(line) => removed.push_str(&folded(line)),
                DiffLine::Added(line) => added.push_str(&folded(line)),
                DiffLine::Context(_) => {}
            }
        }
        removed != added
    }

    /// Returns the same edit in a shorter file that has only `around` lines above and below it.
    #[must_use]
    pub(crate) fn excerpt(&self, around: usize) -> Self {
        let line_starts =
            |text: &str| text.match_indices('\n').map(|(offset, _)| offset + 1).collect::<Vec<_>>();
        let starts_above = line_starts(self.head());
        let first_kept = starts_above.len().checked_sub(around + 1);
        let start = first_kept.and_then(|index| starts_above.get(index)).copied().unwrap_or(0);
        // The first of these is the start of the line after the edit.
        let starts_below = line_starts(self.tail());
        let end =
            self.end + starts_below.get(around).copied().unwrap_or(self.file.len() - self.end);
        Self {
            file: self.file[start..end].into(),
            start: self.start - start,
            end: self.end - start,
            ..self.clone()
        }
    }

    /// Returns the text of the file above the edit.
    pub(crate) fn head(&self) -> &str {
        &self.file[..self.start]
    }

    /// Returns the text of the file after the edit's last line, from that line's break on.
    pub(crate) fn tail(&self) -> &str {
        &self.file[self.end..]
    }
}

/// Returns a text without everything that a reading may ignore: whitespace, quotes, commas,
/// semicolons, and all characters outside ASCII.
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
