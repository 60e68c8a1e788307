//! Lines, as the whole crate counts them: they are numbered from 1, a line feed (with or without a
//! carriage return before it) ends a line and opens none, and a lone carriage return, form feed or
//! U+2028 is content.

use std::fmt;
use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How one line ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LineEnding {
    /// `\n`
    Lf,
    /// `\r\n`
    CrLf,
    /// The last line of a file without a final newline.
    None,
}

impl LineEnding {
    /// The characters of the ending.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Lf => "\n",
            Self::CrLf => "\r\n",
            Self::None => "",
        }
    }
}

/// An inclusive range of 1-based line numbers; an `end` of `start - 1` means the empty span before
/// `start`.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub struct LineSpan {
    /// First line.
    pub start: usize,
    /// Last line.
    pub end: usize,
}

impl fmt::Display for LineSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.end {
            end if end > self.start => write!(f, "lines {}-{end}", self.start),
            end if end == self.start => write!(f, "line {end}"),
            _ => write!(f, "the place before line {}", self.start),
        }
    }
}

impl LineSpan {
    /// Whether it has this line.
    pub(crate) fn contains(self, line: usize) -> bool {
        (self.start..=self.end).contains(&line)
    }

    /// Whether it is a place between two lines.
    pub(crate) fn is_empty(self) -> bool {
        self.end < self.start
    }

    /// How many lines it has.
    pub(crate) fn len(self) -> usize {
        (self.end + 1).saturating_sub(self.start)
    }
}

/// Sorts ranges and joins those that overlap or touch.
pub(crate) fn merge_ranges(mut ranges: Vec<LineSpan>) -> Vec<LineSpan> {
    ranges.retain(|range| !range.is_empty());
    ranges.sort_unstable();
    let mut merged: Vec<LineSpan> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end + 1 => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

/// The lines within `span` that none of the merged ranges has.
pub(crate) fn gaps(ranges: &[LineSpan], span: LineSpan) -> Vec<LineSpan> {
    let mut gaps = Vec::new();
    let mut next = span.start;
    let overlaps = |range: &&LineSpan| range.end >= span.start && range.start <= span.end;
    for range in ranges.iter().filter(overlaps) {
        if range.start > next {
            gaps.push(LineSpan { start: next, end: range.start - 1 });
        }
        next = range.end + 1;
    }
    if next <= span.end {
        gaps.push(LineSpan { start: next, end: span.end });
    }
    gaps
}

/// The ranges as `read_file` accepts them, such as `12-20, 45-61`.
pub(crate) fn format_ranges<'a>(ranges: impl IntoIterator<Item = &'a LineSpan>) -> String {
    let words = ranges.into_iter().map(|range| format!("{}-{}", range.start, range.end));
    words.collect::<Vec<_>>().join(", ")
}

/// The first few line numbers, for a sentence.
pub(crate) fn list_lines(lines: &[usize]) -> String {
    let list = lines.iter().take(10).map(ToString::to_string).collect::<Vec<_>>().join(", ");
    if lines.len() > 10 { list + ", …" } else { list }
}

/// A count with its noun: `1 line`, `3 lines`.
pub(crate) fn pluralize(count: usize, noun: &str) -> String {
    let ending = match (count, noun.ends_with("ch")) {
        (1, _) => "",
        (_, true) => "es",
        (_, false) => "s",
    };
    format!("{count} {noun}{ending}")
}

/// The text, cut after `max` characters with `…` at the end.
pub(crate) fn clip(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// What follows a line of which only these columns are shown, lest they be taken for the whole.
pub(crate) fn cut_note(line: &str, first: usize, last: usize) -> String {
    format!(" [columns {first}-{last} of {}]", line.chars().count())
}

/// Whether a character can be part of a word.
pub(crate) fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The words of a text.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> + Clone {
    let is_ascii = text.is_ascii();
    let mut rest = text;
    std::iter::from_fn(move || {
        let word = &rest[run_len(rest, false, is_ascii)..];
        let (word, after) = word.split_at(run_len(word, true, is_ascii));
        rest = after;
        (!word.is_empty()).then_some(word)
    })
}

/// Whether each byte of ASCII can be part of a word.
static WORD_BYTES: [bool; 128] = {
    let mut is_part = [false; 128];
    let mut byte = 0_u8;
    while byte < 128 {
        is_part[byte as usize] = byte.is_ascii_alphanumeric() || byte == b'_';
        byte += 1;
    }
    is_part
};

/// The length of the word with which a text begins, or of what is before its first word.
fn run_len(text: &str, is_word: bool, is_ascii: bool) -> usize {
    if is_ascii {
        let is_part = |byte: &u8| WORD_BYTES[usize::from(byte & 0x7f)] == is_word;
        return text.as_bytes().iter().take_while(|byte| is_part(byte)).count();
    }
    let mut at = 0;
    while let Some(&byte) = text.as_bytes().get(at) {
        let (is_part, len) = match byte.is_ascii() {
            true => (WORD_BYTES[usize::from(byte)], 1),
            false => {
                let c = text[at..].chars().next();
                (c.is_some_and(is_word_char), c.map_or(1, char::len_utf8))
            }
        };
        if is_part != is_word {
            break;
        }
        at += len;
    }
    at
}

/// One line of a text: where its content is, and how it ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The offsets of the content, without the ending.
    pub body: Range<usize>,
    /// The ending.
    pub ending: LineEnding,
}

impl Line {
    /// The offsets of content and ending together.
    pub fn full(&self) -> Range<usize> {
        self.body.start..self.body.end + self.ending.as_str().len()
    }
}

/// Where each line of a text starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineIndex {
    starts: Vec<usize>,
    len: usize,
    ends_with_newline: bool,
}

impl LineIndex {
    /// Indexes `text`.
    pub fn new(text: &str) -> Self {
        // Most lines of code are longer than that.
        let mut starts = Vec::with_capacity(text.len() / 32);
        let mut next = 0;
        for feed in memchr::memchr_iter(b'\n', text.as_bytes()) {
            starts.push(next);
            next = feed + 1;
        }
        if next < text.len() {
            starts.push(next);
        }
        Self { starts, len: text.len(), ends_with_newline: text.ends_with('\n') }
    }

    /// The number of lines; 0 for an empty text.
    pub fn total(&self) -> usize {
        self.starts.len()
    }

    /// The offset at which line `number` (1-based) starts; for `total() + 1` the end of the text.
    pub fn start(&self, number: usize) -> usize {
        self.starts.get(number - 1).copied().unwrap_or(self.len)
    }

    /// Line `number` (1-based) of the text this index was built from.
    pub fn line(&self, text: &str, number: usize) -> Option<Line> {
        let start = *self.starts.get(number.checked_sub(1)?)?;
        let end = self.start(number + 1);
        Some(split_ending(text, start..end))
    }

    /// The 1-based number of the line that contains `offset`. The end of a text that ends with a
    /// newline is in line `total() + 1`.
    pub fn number_at(&self, offset: usize) -> usize {
        if offset >= self.len && self.ends_with_newline {
            return self.total() + 1;
        }
        self.starts.partition_point(|&start| start <= offset).max(1)
    }
}

/// The line in the range `full`, split into content and ending.
fn split_ending(text: &str, full: Range<usize>) -> Line {
    let bytes = &text.as_bytes()[full.clone()];
    let ending = match bytes {
        [.., b'\r', b'\n'] => LineEnding::CrLf,
        [.., b'\n'] => LineEnding::Lf,
        _ => LineEnding::None,
    };
    Line { body: full.start..full.end - ending.as_str().len(), ending }
}

/// The lines of `text`, without building an index.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = Line> + '_ {
    let mut next = 0;
    std::iter::from_fn(move || {
        let rest = text.as_bytes().get(next..).filter(|rest| !rest.is_empty())?;
        let end = memchr::memchr(b'\n', rest).map_or(text.len(), |feed| next + feed + 1);
        let line = split_ending(text, next..end);
        next = end;
        Some(line)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_and_numbers_agree() {
        let text = "one\r\ntwo\n\nlast";
        let index = LineIndex::new(text);
        let bodies: Vec<_> =
            (1..=4).map(|n| index.line(text, n).map(|l| text[l.body].to_owned())).collect();
        assert_eq!(
            bodies,
            [Some("one".into()), Some("two".into()), Some(String::new()), Some("last".into())]
        );
        assert_eq!(index.line(text, 1).map(|l| l.ending), Some(LineEnding::CrLf));
        assert_eq!(index.number_at(0), 1);
        assert_eq!(index.number_at(4), 1);
        assert_eq!(index.number_at(5), 2);
        assert_eq!(index.number_at(text.len()), 4);
        assert_eq!(LineIndex::new("a\n").number_at(2), 2);
        assert_eq!(LineIndex::new("").number_at(0), 1);
        assert!(index.line(text, 5).is_none());
        assert!(index.line(text, 0).is_none());
    }
}
