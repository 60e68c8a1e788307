//! One version of a file: its bytes, its text, and the mapping between their offsets.

use std::collections::{BTreeSet, HashSet};
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::encoding::{Decoded, decode, decode_as, decode_lossy, stateful_encoding};
use super::{ContentHash, Encoding, LineEnding, LineIndex, LineSpan, NotText, Unencodable, lines};

/// An immutable version of a file. Cloning is cheap.
///
/// ```
/// use restitch::internals::text::Snapshot;
///
/// let file = Snapshot::decode(b"caf\xE9 au lait\r\n".to_vec()).expect("text");
/// assert_eq!(file.text(), "café au lait\r\n");
/// assert_eq!(file.byte_range(0..5), 0..4);
/// ```
#[derive(Clone)]
pub struct Snapshot(Arc<Inner>);

struct Inner {
    /// The bytes of the file, if they are not exactly the bytes of `text`.
    bytes: Option<Vec<u8>>,
    text: String,
    encoding: Encoding,
    encoding_source: EncodingSource,
    /// (text offset, byte offset) after each invalid byte.
    jumps: Vec<(usize, usize)>,
    lines: OnceLock<LineIndex>,
    hash: OnceLock<ContentHash>,
    /// The byte offset of each line start, for encodings in which characters have other lengths than
    /// in UTF-8.
    line_bytes: OnceLock<Vec<usize>>,
}

/// Where the encoding is known from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EncodingSource {
    /// It was detected from the bytes.
    Detected,
    /// The caller has named it.
    Declared,
}

impl Snapshot {
    /// Decodes bytes in the encoding that they are detected to be in.
    pub fn decode(bytes: Vec<u8>) -> Result<Self, NotText> {
        decode(bytes).map(|decoded| Self::of(decoded, EncodingSource::Detected))
    }

    /// Decodes bytes in the encoding that the caller names.
    pub fn decode_as(bytes: Vec<u8>, encoding: Encoding) -> Result<Self, NotText> {
        decode_as(bytes, encoding).map(|decoded| Self::of(decoded, EncodingSource::Declared))
    }

    /// Decodes another version of this file, in the encoding that the caller named for it, if any.
    pub fn decode_alike(&self, bytes: Vec<u8>) -> Result<Self, NotText> {
        match self.0.encoding_source {
            EncodingSource::Detected => Self::decode(bytes),
            EncodingSource::Declared => Self::decode_as(bytes, self.0.encoding),
        }
    }

    /// Decodes any bytes, text or not, so that other bytes can replace them.
    pub fn decode_lossy(bytes: Vec<u8>) -> Self {
        Self::of(decode_lossy(bytes), EncodingSource::Detected)
    }

    /// The snapshot of decoded bytes.
    fn of(decoded: Decoded, encoding_source: EncodingSource) -> Self {
        let (bytes, text, encoding, jumps) = match decoded {
            Decoded::Utf8(text) => (None, text, Encoding::Utf8 { bom: false }, Vec::new()),
            Decoded::Converted { bytes, text, encoding } => {
                (Some(bytes), text, encoding, Vec::new())
            }
            Decoded::Damaged { bytes, text, bom, jumps } => {
                (Some(bytes), text, Encoding::Utf8 { bom }, jumps)
            }
        };
        Self(Arc::new(Inner {
            bytes,
            text,
            encoding,
            encoding_source,
            jumps,
            lines: OnceLock::new(),
            hash: OnceLock::new(),
            line_bytes: OnceLock::new(),
        }))
    }

    /// The snapshot of text in UTF-8.
    pub fn from_text(text: impl Into<String>) -> Self {
        Self::of(Decoded::Utf8(text.into()), EncodingSource::Declared)
    }

    /// The decoded text with its line endings, without a byte order mark.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// The file's bytes.
    pub fn bytes(&self) -> &[u8] {
        self.0.bytes.as_deref().unwrap_or(self.0.text.as_bytes())
    }

    /// The text, without a copy if there is no other snapshot of this version.
    pub(crate) fn into_text(self) -> String {
        match Arc::try_unwrap(self.0) {
            Ok(inner) => inner.text,
            Err(shared) => shared.text.clone(),
        }
    }

    /// The file's bytes, without a copy if there is no other snapshot of this version.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        match Arc::try_unwrap(self.0) {
            Ok(inner) => inner.bytes.unwrap_or_else(|| inner.text.into_bytes()),
            Err(shared) => Self(shared).bytes().to_vec(),
        }
    }

    /// The encoding.
    pub fn encoding(&self) -> Encoding {
        self.0.encoding
    }

    /// SHA-256 of the bytes, computed on first use.
    pub fn hash(&self) -> ContentHash {
        *self.0.hash.get_or_init(|| ContentHash::of(self.bytes()))
    }

    /// Takes over what is computed of another snapshot, if it has the same bytes and encoding: they are
    /// compared in less time than they are hashed.
    pub(crate) fn learn_from(&self, known: &Self) {
        if self.0.encoding != known.0.encoding || self.bytes() != known.bytes() {
            return;
        }
        if let Some(hash) = known.0.hash.get() {
            self.0.hash.get_or_init(|| *hash);
        }
        if let Some(lines) = known.0.lines.get() {
            self.0.lines.get_or_init(|| lines.clone());
        }
    }

    /// Whether another snapshot is of the same version.
    pub(crate) fn is_version(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.hash() == other.hash()
    }

    /// Whether the bytes of the file are exactly those of the text.
    pub(crate) fn is_plain(&self) -> bool {
        self.0.bytes.is_none()
    }

    /// The line index, built on first use.
    pub fn lines(&self) -> &LineIndex {
        self.0.lines.get_or_init(|| LineIndex::new(&self.0.text))
    }

    /// The content of line `number` (1-based), without its ending.
    pub fn line(&self, number: usize) -> Option<&str> {
        self.lines().line(self.text(), number).map(|line| &self.text()[line.body])
    }

    /// The lines that a range of the text touches.
    pub(crate) fn lines_of(&self, range: &Range<usize>) -> LineSpan {
        let line = |offset: usize| self.lines().number_at(offset);
        LineSpan {
            start: line(range.start),
            end: line(range.end.saturating_sub(1).max(range.start)),
        }
    }

    /// Whether some bytes are invalid; they are U+FFFD in the text.
    pub fn has_invalid_bytes(&self) -> bool {
        !self.0.jumps.is_empty()
    }

    /// The kind of the line endings: `lf`, `crlf`, `mixed`, or `none` for a text without line breaks.
    pub fn line_ending(&self) -> &'static str {
        let (mut lf, mut crlf) = (0_usize, 0_usize);
        for line in lines::lines(self.text()) {
            match line.ending {
                LineEnding::Lf => lf += 1,
                LineEnding::CrLf => crlf += 1,
                LineEnding::None => {}
            }
        }
        match (lf, crlf) {
            (0, 0) => "none",
            (_, 0) => "lf",
            (0, _) => "crlf",
            _ => "mixed",
        }
    }

    /// The line ending that text inserted at `offset` should have: that of the line it goes into, or
    /// of the line before if that has none, or LF.
    pub fn ending_near(&self, offset: usize) -> LineEnding {
        let text = self.text();
        let offset = offset.min(text.len());
        let after = memchr::memchr(b'\n', &text.as_bytes()[offset..]).map(|feed| offset + feed);
        let feed = after.or_else(|| memchr::memrchr(b'\n', &text.as_bytes()[..offset]));
        match feed {
            Some(0) | None => LineEnding::Lf,
            Some(feed) if text.as_bytes()[feed - 1] == b'\r' => LineEnding::CrLf,
            Some(_) => LineEnding::Lf,
        }
    }

    /// The byte range of a range of the text, whose offsets must be on character boundaries.
    pub fn byte_range(&self, range: Range<usize>) -> Range<usize> {
        self.byte_at(range.start)..self.byte_at(range.end)
    }

    /// The byte offset of an offset in the text.
    fn byte_at(&self, offset: usize) -> usize {
        let inner = &*self.0;
        let bom_len = inner.encoding.bom_len();
        if inner.bytes.is_none() {
            return offset;
        }
        if let Encoding::Utf8 { .. } = inner.encoding {
            let before = inner.jumps.partition_point(|&(text, _)| text <= offset);
            let (text_start, byte_start) =
                before.checked_sub(1).map_or((0, bom_len), |last| inner.jumps[last]);
            return byte_start + (offset - text_start);
        }
        let index = self.lines();
        let starts = inner.line_bytes.get_or_init(|| {
            let mut next = bom_len;
            (1..=index.total())
                .map(|number| {
                    let start = next;
                    let line = &inner.text[index.start(number)..index.start(number + 1)];
                    next += inner.encoding.encoded_len(line);
                    start
                })
                .collect()
        });
        let number = index.number_at(offset).clamp(1, index.total().max(1));
        let text_start = index.start(number);
        let byte_start = starts.get(number - 1).copied().unwrap_or(bom_len);
        byte_start + inner.encoding.encoded_len(&inner.text[text_start..offset])
    }

    /// The characters of `new` that the file does not have, if its bytes do not show its encoding for
    /// certain, and the likeliest encoding. Most texts are valid in several encodings, and a character
    /// that is written in one and read in another is damaged.
    pub fn uncertain_characters(&self, new: &str) -> Option<(String, Option<&'static str>)> {
        // All encodings write ASCII alike.
        if new.is_ascii() {
            return None;
        }
        let inner = &*self.0;
        let likeliest = match (inner.encoding_source, inner.encoding) {
            (EncodingSource::Declared, _) => return None,
            (_, Encoding::Legacy(encoding)) => Some(encoding.name()),
            (_, Encoding::Utf8 { bom: false }) if self.has_invalid_bytes() => {
                let invalid = inner.jumps.len();
                let valid = inner.text.chars().filter(|c| !c.is_ascii()).count() - invalid;
                // UTF-8 with a few invalid bytes is still UTF-8.
                if valid > invalid {
                    return None;
                }
                None
            }
            (_, Encoding::Utf8 { bom: false }) if inner.text.is_ascii() => {
                Some(stateful_encoding(self.bytes())?)
            }
            _ => return None,
        };
        let known: HashSet<char> = inner.text.chars().filter(|c| !c.is_ascii()).collect();
        let is_new = |c: &char| !c.is_ascii() && !known.contains(c);
        let characters: BTreeSet<char> = new.chars().filter(is_new).collect();
        (!characters.is_empty()).then(|| (characters.into_iter().collect(), likeliest))
    }

    /// Encodes text for insertion into this file.
    pub fn encode(&self, text: &str) -> Result<Vec<u8>, Unencodable> {
        self.0.encoding.encode(text)
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot")
            .field("encoding", &self.encoding())
            .field("bytes", &self.bytes().len())
            .finish_non_exhaustive()
    }
}

impl PartialEq for Snapshot {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.bytes() == other.bytes()
    }
}

impl Eq for Snapshot {}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(bytes: &[u8]) -> Snapshot {
        Snapshot::decode(bytes.to_vec()).expect("text")
    }

    #[test]
    fn binary_is_refused_and_unmappable_text_too() {
        assert_eq!(Snapshot::decode(b"ab\0c".to_vec()), Err(NotText::Nul { offset: 2 }));
        assert_eq!(Snapshot::decode(b"\xFF\xFEa".to_vec()), Err(NotText::MalformedUtf16));
        let latin = snapshot(b"caf\xE9 cr\xE8me\n");
        assert_eq!(latin.encode("é").as_deref(), Ok(&b"\xE9"[..]));
        assert_eq!(latin.encode("a😀").map_err(|e| e.character), Err('😀'));
    }
}
