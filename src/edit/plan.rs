//! An edit as data: sorted, disjoint replacements in one version of a file.

use std::ops::Range;

use super::{EditCode, Refusal};
use crate::text::Snapshot;

/// One replacement. The range is in text offsets of the snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Splice {
    /// What is replaced; empty for an insertion.
    pub range: Range<usize>,
    /// The new text.
    pub text: String,
}

/// Sorted, disjoint splices and the version of the file that they are for. They cannot be applied to
/// another version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditPlan {
    snapshot: Snapshot,
    splices: Vec<Splice>,
}

impl EditPlan {
    /// A plan with these splices. Refuses ranges that are not in this text, and two splices that
    /// replace the same text or insert at the same place.
    pub fn new(snapshot: &Snapshot, mut splices: Vec<Splice>) -> Result<Self, Refusal> {
        let text = snapshot.text();
        let fits = |range: &Range<usize>| {
            range.start <= range.end
                && text.is_char_boundary(range.start)
                && text.is_char_boundary(range.end)
        };
        if let Some(splice) = splices.iter().find(|splice| !fits(&splice.range)) {
            let (start, end) = (splice.range.start, splice.range.end);
            return Err(Refusal::invalid(
                format!("{start}..{end} is not a range in this text of {} bytes", text.len()),
                "Give offsets of the decoded text, on character boundaries.",
            ));
        }
        splices.sort_by_key(|splice| (splice.range.start, splice.range.end));
        for pair in splices.windows(2) {
            let (a, b) = (&pair[0], &pair[1]);
            if a.range.end > b.range.start || a.range == b.range {
                return Err(Refusal::new(
                    EditCode::Overlap,
                    format!(
                        "two edits of this call touch the same text: one at {}, one at {}",
                        snapshot.lines_of(&a.range),
                        snapshot.lines_of(&b.range)
                    ),
                )
                .hint("Merge them into one edit, or send them in two calls."));
            }
        }
        Ok(Self { snapshot: snapshot.clone(), splices })
    }

    /// The plan that turns the snapshot's whole text into `after`, touching only
    /// the lines between the first and the last that differ.
    pub(crate) fn whole_file(snapshot: &Snapshot, after: &str) -> Self {
        let before = snapshot.text();
        let head = equal_len(before.split_inclusive('\n'), after.split_inclusive('\n'));
        let (old, new) = (&before[head..], &after[head..]);
        let tail = equal_len(old.split_inclusive('\n').rev(), new.split_inclusive('\n').rev());
        let mut splices = Vec::new();
        if before != after {
            let text = new[..new.len() - tail].to_owned();
            splices.push(Splice { range: head..before.len() - tail, text });
        }
        Self { snapshot: snapshot.clone(), splices }
    }

    /// The version that the plan is for.
    pub(crate) fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// The splices, in the order of the file.
    pub fn splices(&self) -> &[Splice] {
        &self.splices
    }

    /// The text after the splices.
    pub fn text_after(&self) -> String {
        apply_splices(self.snapshot.text(), &self.splices)
    }

    /// The bytes after the splices; everything outside them is copied as it is.
    pub fn bytes_after(&self) -> Result<Vec<u8>, Refusal> {
        let snapshot = &self.snapshot;
        if snapshot.is_plain() {
            return Ok(self.text_after().into_bytes());
        }
        let bytes = snapshot.bytes();
        let inserted: usize = self.splices.iter().map(|s| s.text.len()).sum();
        let mut out = Vec::with_capacity(bytes.len() + inserted);
        let mut at = 0;
        for splice in &self.splices {
            let range = snapshot.byte_range(splice.range.clone());
            out.extend_from_slice(&bytes[at..range.start]);
            let encoded = encode_keeping_invalid(snapshot, splice)?;
            out.extend_from_slice(&encoded);
            at = range.end;
        }
        out.extend_from_slice(&bytes[at..]);
        Ok(out)
    }
}

/// The text with the splices applied. They may be in any order, but must not overlap.
pub(crate) fn apply_splices(text: &str, splices: &[Splice]) -> String {
    let mut sorted: Vec<&Splice> = splices.iter().collect();
    sorted.sort_by_key(|splice| splice.range.start);
    let inserted: usize = splices.iter().map(|splice| splice.text.len()).sum();
    let mut out = String::with_capacity(text.len() + inserted);
    let mut at = 0;
    for splice in sorted {
        out.push_str(&text[at..splice.range.start]);
        out.push_str(&splice.text);
        at = splice.range.end;
    }
    out.push_str(&text[at..]);
    out
}

/// The bytes of a splice's text. The text has U+FFFD for each invalid byte of the file. Where the
/// replaced and the new text begin or end alike, the file's bytes are copied, invalid ones included.
/// Another U+FFFD in the new text is refused, because it would be written in place of an invalid byte.
fn encode_keeping_invalid(snapshot: &Snapshot, splice: &Splice) -> Result<Vec<u8>, Refusal> {
    let unencodable = |message: String| {
        Refusal::new(EditCode::Unencodable, message)
            .hint("Write the new text with characters that the file's encoding has, or convert the file first.")
    };
    if !snapshot.has_invalid_bytes() {
        return snapshot.encode(&splice.text).map_err(|e| unencodable(e.to_string()));
    }
    let old = &snapshot.text()[splice.range.clone()];
    let head = common_len(old.chars(), splice.text.chars());
    let tail = common_len(old[head..].chars().rev(), splice.text[head..].chars().rev());
    let middle = &splice.text[head..splice.text.len() - tail];
    if middle.contains(char::REPLACEMENT_CHARACTER) && old.contains(char::REPLACEMENT_CHARACTER) {
        return Err(unencodable(
            "the edit rewrites text around bytes that are not valid UTF-8".into(),
        ));
    }
    let at = splice.range.start;
    let first = snapshot.byte_range(at..at + head);
    let last = snapshot.byte_range(splice.range.end - tail..splice.range.end);
    Ok([&snapshot.bytes()[first], middle.as_bytes(), &snapshot.bytes()[last]].concat())
}

/// The length in bytes of the lines with which both sequences begin.
fn equal_len<'a>(a: impl Iterator<Item = &'a str>, b: impl Iterator<Item = &'a str>) -> usize {
    a.zip(b).take_while(|(a, b)| a == b).map(|(a, _)| a.len()).sum()
}

/// The length in bytes of the characters with which both sequences begin.
fn common_len(a: impl Iterator<Item = char>, b: impl Iterator<Item = char>) -> usize {
    a.zip(b).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(snapshot: &Snapshot, splices: &[(Range<usize>, &str)]) -> Result<EditPlan, Refusal> {
        let splices = splices
            .iter()
            .map(|(range, text)| Splice { range: range.clone(), text: (*text).into() });
        EditPlan::new(snapshot, splices.collect())
    }

    #[test]
    fn a_range_outside_the_text_is_refused() {
        let snapshot = Snapshot::from_text("é\n");
        #[expect(clippy::reversed_empty_ranges, reason = "an invalid range")]
        let bad = [0..9, 1..2, 2..1];
        for range in bad {
            let refused = plan(&snapshot, &[(range.clone(), "x")]).expect_err("no range");
            assert_eq!(refused.code, EditCode::InvalidArguments, "{range:?}");
        }
    }

    #[test]
    fn invalid_bytes_that_are_kept_survive() {
        let snapshot = Snapshot::decode(b"\xC3\xA9\xC3\xA8 a \xFF b\n".to_vec()).expect("text");
        let text = snapshot.text().to_owned();
        let to = text.replace(" b", " c");
        let all = plan(&snapshot, &[(0..text.len(), &to)]).expect("plan");
        assert_eq!(all.bytes_after().expect("kept"), b"\xC3\xA9\xC3\xA8 a \xFF c\n");
        let bad = plan(&snapshot, &[(0..text.len(), "x \u{FFFD} y\u{FFFD} z")]).expect("plan");
        assert_eq!(bad.bytes_after().expect_err("refused").code, EditCode::Unencodable);
    }
}
