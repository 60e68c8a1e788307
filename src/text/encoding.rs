//! Detects the encoding of a file, and decodes and encodes strictly.
//!
//! Order of detection: a byte order mark, UTF-8 (a few invalid bytes are kept as they are), then the
//! likeliest legacy encoding, which counts only if encoding the decoded text gives the same bytes again.

use serde::{Serialize, Serializer};

/// The encoding of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Encoding {
    /// UTF-8, with or without a byte order mark.
    Utf8 {
        /// Whether the file starts with EF BB BF.
        bom: bool,
    },
    /// UTF-16, least significant byte first.
    Utf16Le {
        /// Whether the file starts with FF FE.
        bom: bool,
    },
    /// UTF-16, most significant byte first.
    Utf16Be {
        /// Whether the file starts with FE FF.
        bom: bool,
    },
    /// A legacy encoding of the Encoding Standard, such as windows-1252.
    Legacy(&'static encoding_rs::Encoding),
    /// ISO-8859-1, which a caller has named: the Encoding Standard has only windows-1252 in its place, with
    /// other characters for some bytes.
    Latin1,
}

impl Encoding {
    /// The encoding with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        let name = name.trim();
        let plain = name.to_ascii_lowercase().replace(['_', ' '], "-");
        Some(match plain.as_str() {
            "utf-8" | "utf8" => Self::Utf8 { bom: false },
            "utf-8-bom" | "utf-8-sig" => Self::Utf8 { bom: true },
            "utf-16le" | "utf-16-le" => Self::Utf16Le { bom: false },
            "utf-16be" | "utf-16-be" => Self::Utf16Be { bom: false },
            "iso-8859-1" | "iso8859-1" => Self::Latin1,
            _ => {
                let by_label = |label: &str| encoding_rs::Encoding::for_label(label.as_bytes());
                let legacy = by_label(&plain).or_else(|| by_label(&plain.replace('-', "")))?;
                // Some encodings of the standard can be decoded but not encoded. A file in one of
                // them could not be written.
                let can_encode = legacy.output_encoding() == legacy;
                // The standard takes some names of ISO for encodings of Windows that have more
                // characters, which no program would read in a file of the named encoding.
                let is_other = plain.starts_with("iso") && legacy.name().starts_with("windows");
                (can_encode && !is_other).then_some(Self::Legacy(legacy))?
            }
        })
    }

    /// The length of the byte order mark.
    pub(crate) fn bom_len(self) -> usize {
        match self {
            Self::Utf8 { bom: true } => 3,
            Self::Utf16Le { bom: true } | Self::Utf16Be { bom: true } => 2,
            _ => 0,
        }
    }

    /// The name, as it appears in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Utf8 { bom: false } => "utf-8",
            Self::Utf8 { bom: true } => "utf-8-bom",
            Self::Utf16Le { .. } => "utf-16le",
            Self::Utf16Be { .. } => "utf-16be",
            Self::Legacy(encoding) => encoding.name(),
            Self::Latin1 => "ISO-8859-1",
        }
    }

    /// The bytes of text in a file of this encoding, without a byte order mark.
    pub fn encode(self, text: &str) -> Result<Vec<u8>, Unencodable> {
        match self {
            Self::Utf8 { .. } => Ok(text.as_bytes().to_vec()),
            Self::Utf16Le { .. } => Ok(text.encode_utf16().flat_map(u16::to_le_bytes).collect()),
            Self::Utf16Be { .. } => Ok(text.encode_utf16().flat_map(u16::to_be_bytes).collect()),
            Self::Legacy(encoding) => encode_legacy_strict(encoding, text).ok_or_else(|| {
                let is_missing =
                    |c: &char| encode_legacy_strict(encoding, c.encode_utf8(&mut [0; 4])).is_none();
                let first_missing = text.chars().find(is_missing);
                Unencodable {
                    character: first_missing.unwrap_or(char::REPLACEMENT_CHARACTER),
                    encoding: encoding.name(),
                }
            }),
            Self::Latin1 => {
                let byte = |character| {
                    let missing = |_| Unencodable { character, encoding: self.name() };
                    u8::try_from(character).map_err(missing)
                };
                text.chars().map(byte).collect()
            }
        }
    }

    /// Decodes bytes in this encoding; `None` if any of them is invalid.
    pub(crate) fn decode_strict(self, bytes: &[u8]) -> Option<String> {
        let body = bytes.get(self.bom_len()..)?;
        let decode_utf16 = |unit: fn([u8; 2]) -> u16| {
            let units: Vec<u16> =
                body.chunks_exact(2).map(|pair| unit([pair[0], pair[1]])).collect();
            String::from_utf16(&units).ok()
        };
        match self {
            Self::Utf8 { .. } => std::str::from_utf8(body).ok().map(str::to_owned),
            Self::Utf16Le { .. } => decode_utf16(u16::from_le_bytes),
            Self::Utf16Be { .. } => decode_utf16(u16::from_be_bytes),
            Self::Legacy(encoding) => encoding
                .decode_without_bom_handling_and_without_replacement(body)
                .map(std::borrow::Cow::into_owned),
            Self::Latin1 => Some(body.iter().copied().map(char::from).collect()),
        }
    }

    /// How many bytes `text` takes in a file of this encoding.
    pub(crate) fn encoded_len(self, text: &str) -> usize {
        match self {
            Self::Utf8 { .. } => text.len(),
            Self::Utf16Le { .. } | Self::Utf16Be { .. } => text.encode_utf16().count() * 2,
            Self::Legacy(encoding) => encoding.encode(text).0.len(),
            Self::Latin1 => text.chars().count(),
        }
    }
}

impl Serialize for Encoding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// The bytes of a text in a legacy encoding; `None` if they do not decode to the same text.
fn encode_legacy_strict(encoding: &'static encoding_rs::Encoding, text: &str) -> Option<Vec<u8>> {
    let (bytes, _, unmappable) = encoding.encode(text);
    let back = encoding.decode_without_bom_handling_and_without_replacement(&bytes);
    (!unmappable && back.as_deref() == Some(text)).then(|| bytes.into_owned())
}

/// Why a file's bytes are not text that can be edited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotText {
    /// A NUL byte, and no byte order mark of UTF-16.
    #[error("byte {offset} is NUL, as in binary files and unmarked UTF-16")]
    Nul {
        /// The offset of the byte.
        offset: usize,
    },
    /// UTF-16 with half a surrogate pair or an odd number of bytes.
    #[error("the file looks like UTF-16 but is malformed")]
    MalformedUtf16,
    /// The bytes are not in the encoding that the caller named.
    #[error("the bytes are not valid {0}")]
    WrongEncoding(&'static str),
}

/// Text that the file's encoding cannot represent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("`{character}` (U+{:04X}) does not exist in {encoding}", u32::from(*character))]
pub struct Unencodable {
    /// The first character that the encoding does not have.
    pub character: char,
    /// The encoding.
    pub encoding: &'static str,
}

/// A file's bytes as text, before the offset map is made.
pub(crate) enum Decoded {
    /// Valid UTF-8 without a byte order mark: the bytes are the text.
    Utf8(String),
    /// Anything else that converts without loss.
    Converted { bytes: Vec<u8>, text: String, encoding: Encoding },
    /// UTF-8 with invalid bytes. Each of them is U+FFFD in the text, and `jumps` has the (text offset,
    /// byte offset) after each.
    Damaged { bytes: Vec<u8>, text: String, bom: bool, jumps: Vec<(usize, usize)> },
}

/// Decodes bytes in the encoding that is detected.
pub(crate) fn decode(bytes: Vec<u8>) -> Result<Decoded, NotText> {
    let utf16 = match bytes.as_slice() {
        [0xFF, 0xFE, ..] => Some(Encoding::Utf16Le { bom: true }),
        [0xFE, 0xFF, ..] => Some(Encoding::Utf16Be { bom: true }),
        _ => None,
    };
    if let Some(encoding) = utf16 {
        return decode_as(bytes, encoding).map_err(|why| match why {
            NotText::WrongEncoding(_) => NotText::MalformedUtf16,
            other => other,
        });
    }
    if let Some(offset) = memchr::memchr(0, &bytes) {
        return Err(NotText::Nul { offset });
    }
    let bom = bytes.starts_with(&[0xEF, 0xBB, 0xBF]);
    if bom {
        return Ok(match std::str::from_utf8(&bytes[3..]) {
            Ok(text) => {
                let text = text.to_owned();
                Decoded::Converted { bytes, text, encoding: Encoding::Utf8 { bom } }
            }
            Err(_) => decode_damaged(bytes, bom),
        });
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Decoded::Utf8(text)),
        Err(error) => Ok(decode_legacy(error.into_bytes())),
    }
}

/// Decodes bytes in the encoding that a caller names, if they survive a strict round trip.
pub(crate) fn decode_as(bytes: Vec<u8>, encoding: Encoding) -> Result<Decoded, NotText> {
    // The caller names the encoding, and the file shows whether it has a byte order mark.
    let encoding = match encoding {
        Encoding::Utf8 { .. } => Encoding::Utf8 { bom: bytes.starts_with(b"\xEF\xBB\xBF") },
        Encoding::Utf16Le { .. } => Encoding::Utf16Le { bom: bytes.starts_with(b"\xFF\xFE") },
        Encoding::Utf16Be { .. } => Encoding::Utf16Be { bom: bytes.starts_with(b"\xFE\xFF") },
        other => other,
    };
    let wrong_encoding = NotText::WrongEncoding(encoding.name());
    let text = encoding.decode_strict(&bytes).ok_or(wrong_encoding)?;
    let back = encoding.encode(&text).ok();
    if back.as_deref() != bytes.get(encoding.bom_len()..) {
        return Err(wrong_encoding);
    }
    match memchr::memchr(0, text.as_bytes()) {
        Some(offset) => Err(NotText::Nul { offset }),
        None => Ok(Decoded::Converted { bytes, text, encoding }),
    }
}

/// Decodes any bytes; those that are not text are read as UTF-8 with invalid bytes.
pub(crate) fn decode_lossy(bytes: Vec<u8>) -> Decoded {
    match decode(bytes.clone()) {
        Ok(decoded) => decoded,
        Err(_) => decode_damaged(bytes, false),
    }
}

/// The stateful encoding whose escape sequences the bytes have. Such an encoding switches between
/// character sets and uses only seven bits, so its bytes also look like ASCII.
pub(super) fn stateful_encoding(bytes: &[u8]) -> Option<&'static str> {
    let has = |needle: &&[u8]| memchr::memmem::find(bytes, needle).is_some();
    if [&b"\x1b$B"[..], b"\x1b$@", b"\x1b(J", b"\x1b(I"].iter().any(has) {
        return Some("ISO-2022-JP");
    }
    if has(&&b"\x1b$)C"[..]) {
        return Some("ISO-2022-KR");
    }
    let hz = memchr::memmem::find_iter(bytes, b"~{").any(|at| {
        let inside = &bytes[at + 2..];
        let end = memchr::memmem::find(inside, b"~}").unwrap_or(0);
        end > 0 && end.is_multiple_of(2) && inside[..end].iter().all(|b| (0x21..0x7f).contains(b))
    });
    hz.then_some("HZ-GB-2312")
}

/// Decodes bytes that are not valid UTF-8: in a legacy encoding if one fits, otherwise as UTF-8 with
/// invalid bytes.
fn decode_legacy(bytes: Vec<u8>) -> Decoded {
    if !is_mostly_utf8(&bytes) {
        let mut detector = chardetng::EncodingDetector::new(chardetng::Iso2022JpDetection::Deny);
        detector.feed(&bytes, true);
        let encoding = detector.guess(None, chardetng::Utf8Detection::Deny);
        let text = encoding.decode_without_bom_handling_and_without_replacement(&bytes);
        if let Some(text) = text
            && !text.chars().any(|c| ('\u{80}'..'\u{a0}').contains(&c))
            && *encoding.encode(&text).0 == *bytes
        {
            let text = text.into_owned();
            return Decoded::Converted { bytes, text, encoding: Encoding::Legacy(encoding) };
        }
    }
    decode_damaged(bytes, false)
}

/// Whether bytes are more likely UTF-8 with a few invalid bytes than a legacy encoding.
fn is_mostly_utf8(bytes: &[u8]) -> bool {
    let (mut good, mut bad) = (0_usize, 0_usize);
    for chunk in bytes.utf8_chunks() {
        good += chunk.valid().chars().filter(|c| !c.is_ascii()).count();
        bad += chunk.invalid().len();
    }
    good > bad
}

/// Decodes UTF-8 with invalid bytes.
fn decode_damaged(bytes: Vec<u8>, bom: bool) -> Decoded {
    let start = if bom { 3 } else { 0 };
    let mut text = String::with_capacity(bytes.len());
    let mut jumps = Vec::new();
    let mut at = start;
    for chunk in bytes[start..].utf8_chunks() {
        text.push_str(chunk.valid());
        at += chunk.valid().len();
        for _ in chunk.invalid() {
            text.push(char::REPLACEMENT_CHARACTER);
            at += 1;
            jumps.push((text.len(), at));
        }
    }
    Decoded::Damaged { bytes, text, bom, jumps }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stateful_encodings_are_detected() {
        assert_eq!(stateful_encoding(b"a \x1b$B$3$l\x1b(B b"), Some("ISO-2022-JP"));
        assert_eq!(stateful_encoding(b"text ~{<:Ky2;R*~} text"), Some("HZ-GB-2312"));
        for plain in [&b"~{x} and ~} "[..], b"\x1b[31mred\x1b[0m", b"plain", b"~{abc~}"] {
            assert_eq!(stateful_encoding(plain), None, "{plain:?}");
        }
    }
}
