//! Reverts one change of a file that has changed since. Works on bytes, without the disk.
//!
//! The change's own lines are followed through every later version. While they are
//! untouched, the old lines can be put back where they are now; the first version that
//! changed them is a conflict.

use std::ops::Range;

use memchr::{memchr, memchr_iter, memrchr};
use similar::{Algorithm, DiffOp, capture_diff_slices};

use crate::edit::{EditCode, Refusal, WorkPath};

/// What made a version of a file: a revision, or a program that is not restitch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum VersionSource {
    /// A revision.
    Revision(u64),
    /// Another program.
    External,
}

impl VersionSource {
    /// The refusal to undo a revision, because a later version changed the same lines or `removed` the
    /// file.
    pub(super) fn conflict(self, revision: u64, path: &WorkPath, removed: bool) -> Refusal {
        let (why, hint) = match self {
            Self::External if removed => (
                "another program has removed the file since".to_owned(),
                "If the file is to be there again, create it with an edit.".to_owned(),
            ),
            Self::Revision(later) => (
                format!("revision {later} has changed the same lines since"),
                format!("Undo revision {later} first, or take the change back with an edit."),
            ),
            Self::External => (
                "another program has changed the same lines since".to_owned(),
                "Read the file, and take the change back with an edit.".to_owned(),
            ),
        };
        Refusal::new(
            EditCode::Conflict,
            format!("revision {revision} of `{path}` cannot be undone: {why}"),
        )
        .at(path.as_str())
        .hint(hint)
    }
}

/// A version of a file after the change, and what made it.
#[derive(Debug)]
pub(super) struct LaterVersion<S> {
    /// The file.
    pub(super) bytes: Vec<u8>,
    /// What made it.
    pub(super) source: S,
}

/// The current file without the change from `before` to `after`. The error is the source of the
/// first later version that changed the same lines.
///
/// `later` has all versions since `after`, oldest first; the last one is the current file.
pub(super) fn revert_change<S: Clone>(
    before: &[u8],
    after: &[u8],
    later: &[LaterVersion<S>],
) -> Result<Vec<u8>, S> {
    let old_lines = lines(before);
    let mut current_lines = lines(after);
    // Each hunk: the range of the old lines, and the range of the lines that replaced them.
    let mut hunks = changed_ranges(&old_lines, &current_lines);
    for version in later {
        let next_lines = lines(&version.bytes);
        let changes = changed_ranges(&current_lines, &next_lines);
        for (_, replacement) in &mut hunks {
            *replacement = shifted(replacement, &changes).ok_or_else(|| version.source.clone())?;
        }
        current_lines = next_lines;
    }
    let mut reverted = Vec::new();
    let mut copied_to = 0;
    for (old, replacement) in hunks {
        reverted.extend(current_lines[copied_to..replacement.start].concat());
        reverted.extend(old_lines[old].concat());
        copied_to = replacement.end;
    }
    reverted.extend(current_lines[copied_to..].concat());
    Ok(reverted)
}

/// The range of the same lines after the changes; `None` if a change touches them.
fn shifted(lines: &Range<usize>, changes: &[(Range<usize>, Range<usize>)]) -> Option<Range<usize>> {
    let mut shift = 0_isize;
    for (old, new) in changes {
        // Two insertions at the same line: their order is not known.
        let is_same_gap = old.is_empty() && lines.is_empty() && old.start == lines.start;
        let change_is_above = old.end <= lines.start && !is_same_gap;
        let change_is_below = old.start >= lines.end && old.start != lines.start;
        if change_is_above {
            shift += new.len().cast_signed() - old.len().cast_signed();
        } else if !change_is_below {
            return None;
        }
    }
    Some(lines.start.checked_add_signed(shift)?..lines.end.checked_add_signed(shift)?)
}

/// The lines of a file, with their endings.
fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n').collect()
}

/// For each difference, its range of lines in `old` and in `new`.
fn changed_ranges(old: &[&[u8]], new: &[&[u8]]) -> Vec<(Range<usize>, Range<usize>)> {
    capture_diff_slices(Algorithm::Myers, old, new)
        .iter()
        .filter(|op| !matches!(op, DiffOp::Equal { .. }))
        .map(|op| (op.old_range(), op.new_range()))
        .collect()
}

/// In blocks first: byte by byte takes as long as hashing the file.
const BLOCK: usize = 64;

/// How many bytes two versions share at their starts.
pub(super) fn shared_start(before: &[u8], after: &[u8]) -> usize {
    let blocks = before.as_chunks::<BLOCK>().0.iter().zip(after.as_chunks::<BLOCK>().0);
    let shared = BLOCK * blocks.take_while(|(left, right)| left == right).count();
    let bytes = before[shared..].iter().zip(&after[shared..]);
    shared + bytes.take_while(|(left, right)| left == right).count()
}

/// How many bytes two versions share at their ends.
pub(super) fn shared_end(before: &[u8], after: &[u8]) -> usize {
    let blocks = before.as_rchunks::<BLOCK>().1.iter().rev();
    let blocks = blocks.zip(after.as_rchunks::<BLOCK>().1.iter().rev());
    let shared = BLOCK * blocks.take_while(|(left, right)| left == right).count();
    let bytes = before[..before.len() - shared].iter().rev();
    let bytes = bytes.zip(after[..after.len() - shared].iter().rev());
    shared + bytes.take_while(|(left, right)| left == right).count()
}

/// The first and the last line of `after` that `before` does not have; where lines were only removed,
/// the last is the one before the first.
pub fn changed_lines(before: &[u8], after: &[u8]) -> (usize, usize) {
    let start = shared_start(before, after);
    let start = memrchr(b'\n', &after[..start]).map_or(0, |end| end + 1);
    let (old, new) = (&before[start..], &after[start..]);
    let shared = shared_end(old, new);
    let begins_line = |text: &[u8]| text.len() == shared || text[text.len() - shared - 1] == b'\n';
    let mut end = new.len() - shared;
    if !(begins_line(old) && begins_line(new)) {
        end += memchr(b'\n', &new[end..]).map_or(shared, |end| end + 1);
    }
    let above = memchr_iter(b'\n', &after[..start]).count();
    (above + 1, above + lines(&new[..end]).len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_lines_are_numbered_as_they_are_afterwards() {
        for (before, after, lines) in [
            ("", "a\nb\n", (1, 2)),
            ("a\nb\nc\n", "a\nB\nc\n", (2, 2)),
            ("a\nb\nc\n", "a\nx\ny\nc\n", (2, 3)),
            ("a\nb\nc\n", "a\nc\n", (2, 1)),
            ("a\nb\nc\n", "a\nb\nb\nc\n", (3, 3)),
            ("foo(a)\nz\n", "foo(ab)\nz\n", (1, 1)),
            ("a\nb", "a\nbc", (2, 2)),
            ("a\nb\n", "a\n", (2, 1)),
            ("a\n", "", (1, 0)),
            ("xa\nb\n", "a\nb\n", (1, 1)),
        ] {
            assert_eq!(changed_lines(before.as_bytes(), after.as_bytes()), lines, "{before:?}");
        }
    }

    /// `later` has the versions since then, each after a `|`; the error is the first that is in the way.
    fn revert(before: &str, after: &str, later: &str) -> Result<String, usize> {
        let later: Vec<_> = later
            .split('|')
            .skip(1)
            .enumerate()
            .map(|(n, text)| LaterVersion { bytes: text.as_bytes().to_vec(), source: n })
            .collect();
        let bytes = revert_change(before.as_bytes(), after.as_bytes(), &later)?;
        Ok(String::from_utf8(bytes).expect("text"))
    }

    #[test]
    fn a_change_is_reverted_unless_a_later_one_touched_it() {
        let (before, after) = ("a\nb\nc\nd\n", "a\nB\nc\nd\n");
        for (before, after, later, wanted) in [
            (before, after, "", Ok(before)),
            (before, after, "|x\na\nB\nc\nd\n", Ok("x\na\nb\nc\nd\n")),
            (before, after, "|a\nB\nc\nD\n", Ok("a\nb\nc\nD\n")),
            (before, after, "|0\na\nB\nc\nd\n|0\na\nB\nd\n", Ok("0\na\nb\nd\n")),
            ("a\nb\nc\n", "a\nB\nc\n", "|a\nB\nC\n|a\nX\nC\n|a\nX\nY\n", Err(1)),
            // Inserted where the change has removed a line.
            ("a\nb\nc\n", "a\nc\n", "|a\nnew\nc\n", Err(0)),
            ("a\nc\n", "a\nb\nc\n", "|c\n", Err(0)),
            ("a\nc", "a\nb\nc", "|a\nb\nc!", Ok("a\nc!")),
            ("", "a\n", "|a\n", Ok("")),
            ("a\r\nb", "a\r\nB\n", "|x\na\r\nB\n", Ok("x\na\r\nb")),
        ] {
            assert_eq!(revert(before, after, later), wanted.map(str::to_owned), "{later:?}");
        }
    }
}
