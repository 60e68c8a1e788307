//! Decides whether the encoding of a file without a byte order mark is certain enough to write
//! characters that the file does not have yet.
//!
//! Detection gives the likeliest encoding, but the bytes of most files are valid in several. If an
//! `é` is written in one of them and the file is read in another, the text is damaged. So a character
//! that is new to the file is written only if all plausible encodings have the same bytes for it.
//!
//! An encoding is implausible if the file decodes to improbable text: a capital after a small letter,
//! two scripts in one word, a drawing character inside a word, rare ideographs. One such anomaly
//! proves nothing; several do.

use std::collections::{BTreeSet, HashSet};

use encoding_rs::Encoding as LegacyEncoding;

use super::code_pages::CODE_PAGES;
use super::encoding::{Encoding, encode_legacy_strict};

/// The most bytes of a file that are examined. More would not change the result.
const MAX_SAMPLE: usize = 256 << 10;

/// The encodings that the file may be in, if they have different bytes for the characters of `new`
/// that are not in the file; empty if the encoding is certain enough for them.
pub(super) fn ambiguous_encodings(
    bytes: &[u8],
    text: &str,
    chosen: Option<Encoding>,
    new: &str,
) -> Vec<&'static str> {
    let known: HashSet<char> = text.chars().filter(|c| !c.is_ascii()).collect();
    let is_unknown = |c: &char| !c.is_ascii() && !known.contains(c);
    let unknown: BTreeSet<char> = new.chars().filter(is_unknown).collect();
    let unknown: String = unknown.into_iter().collect();
    if unknown.is_empty() {
        return Vec::new();
    }
    if let Some(name) = stateful_encoding(bytes) {
        return vec![name, "utf-8"];
    }
    let mut encoded_forms: Vec<Vec<u8>> = Vec::new();
    let mut names = Vec::new();
    for encoding in plausible_encodings(bytes, chosen) {
        let Ok(encoded) = encoding.encode(&unknown) else { continue };
        names.push(encoding.name());
        if !encoded_forms.contains(&encoded) {
            encoded_forms.push(encoded);
        }
    }
    // If no encoding was chosen, every way to write the characters is a guess.
    if encoded_forms.len() > 1 || chosen.is_none() {
        return names;
    }
    Vec::new()
}

/// The stateful encoding whose escape sequences the bytes have. Such an encoding switches between
/// character sets and uses only seven bits, so its bytes also look like ASCII.
pub(super) fn stateful_encoding(bytes: &[u8]) -> Option<&'static str> {
    let has = |needle: &[u8]| memchr::memmem::find(bytes, needle).is_some();
    let escapes = memchr::memchr(0x1b, bytes).is_some();
    if escapes && (has(b"\x1b$B") || has(b"\x1b$@") || has(b"\x1b(J") || has(b"\x1b(I")) {
        return Some("ISO-2022-JP");
    }
    if escapes && has(b"\x1b$)C") {
        return Some("ISO-2022-KR");
    }
    let hz = memchr::memmem::find_iter(bytes, b"~{").any(|at| {
        let inside = &bytes[at + 2..];
        let end = memchr::memmem::find(inside, b"~}").unwrap_or(0);
        end > 0 && end.is_multiple_of(2) && inside[..end].iter().all(|b| (0x21..0x7f).contains(b))
    });
    hz.then_some("HZ-GB-2312")
}

/// The encodings in which the bytes are plausible text, the chosen one first.
fn plausible_encodings(bytes: &[u8], chosen: Option<Encoding>) -> Vec<Encoding> {
    // The sample ends at a line break, so that it does not cut a multi-byte character.
    let sample = match bytes.get(..MAX_SAMPLE) {
        Some(head) => &head[..memchr::memrchr(b'\n', head).unwrap_or(head.len())],
        None => bytes,
    };
    let legacy = LEGACY_ENCODINGS.iter().copied().map(Encoding::Legacy);
    let code_pages = CODE_PAGES.iter().map(Encoding::CodePage);
    let others = legacy.chain(code_pages).filter(|other| Some(*other) != chosen);
    chosen.into_iter().chain(others.filter(|other| is_plausible(*other, sample))).collect()
}

/// The encodings of `encoding_rs` that are not in `CODE_PAGES`.
static LEGACY_ENCODINGS: &[&LegacyEncoding] = &[
    encoding_rs::WINDOWS_1252,
    encoding_rs::WINDOWS_1250,
    encoding_rs::WINDOWS_1251,
    encoding_rs::WINDOWS_1253,
    encoding_rs::WINDOWS_1254,
    encoding_rs::WINDOWS_1255,
    encoding_rs::WINDOWS_1256,
    encoding_rs::WINDOWS_1257,
    encoding_rs::WINDOWS_1258,
    encoding_rs::WINDOWS_874,
    encoding_rs::ISO_8859_2,
    encoding_rs::ISO_8859_3,
    encoding_rs::ISO_8859_4,
    encoding_rs::ISO_8859_5,
    encoding_rs::ISO_8859_6,
    encoding_rs::ISO_8859_7,
    encoding_rs::ISO_8859_8,
    encoding_rs::ISO_8859_10,
    encoding_rs::ISO_8859_13,
    encoding_rs::ISO_8859_14,
    encoding_rs::ISO_8859_15,
    encoding_rs::ISO_8859_16,
    encoding_rs::KOI8_R,
    encoding_rs::KOI8_U,
    encoding_rs::IBM866,
    encoding_rs::MACINTOSH,
    encoding_rs::X_MAC_CYRILLIC,
    encoding_rs::SHIFT_JIS,
    encoding_rs::EUC_JP,
    encoding_rs::GBK,
    encoding_rs::GB18030,
    encoding_rs::BIG5,
    encoding_rs::EUC_KR,
];

/// Whether the bytes are plausible text in an encoding.
fn is_plausible(encoding: Encoding, bytes: &[u8]) -> bool {
    let Some(text) = encoding.decode_strict(bytes) else { return false };
    if let Encoding::Legacy(legacy) = encoding
        && encode_legacy_strict(legacy, &text).as_deref() != Some(bytes)
    {
        return false;
    }
    let non_ascii = text.chars().filter(|c| !c.is_ascii()).count();
    if text.chars().any(|c| ('\u{80}'..'\u{a0}').contains(&c)) {
        return false;
    }
    let anomalies = count_anomalies(&text) + count_rare_ideographs(encoding, &text);
    anomalies < 2 || anomalies * 20 < non_ascii
}

/// A writing system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Script {
    Latin,
    Greek,
    Cyrillic,
    Hebrew,
    Arabic,
    Thai,
    Ideographs,
    Kana,
    HalfKana,
    Hangul,
    Other,
}

/// The script of a letter; `None` for a character that belongs to none.
fn script(c: char) -> Option<Script> {
    Some(match c {
        'a'..='z' | 'A'..='Z' => Script::Latin,
        'ª' | 'º' | 'µ' => return None,
        '\u{c0}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}' if c.is_alphabetic() => Script::Latin,
        '\u{300}'..='\u{36f}' => Script::Latin,
        '\u{370}'..='\u{3ff}' if c.is_alphabetic() => Script::Greek,
        '\u{400}'..='\u{52f}' if c.is_alphabetic() => Script::Cyrillic,
        '\u{590}'..='\u{5ff}' => Script::Hebrew,
        '\u{600}'..='\u{6ff}' if c.is_alphabetic() => Script::Arabic,
        '\u{e00}'..='\u{e7f}' => Script::Thai,
        '\u{3040}'..='\u{30ff}' => Script::Kana,
        '\u{ff61}'..='\u{ff9f}' => Script::HalfKana,
        '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' => Script::Ideographs,
        '\u{ac00}'..='\u{d7a3}' => Script::Hangul,
        _ if c.is_alphabetic() => Script::Other,
        _ => return None,
    })
}

/// How often characters stand side by side that real text hardly ever has side by side.
fn count_anomalies(text: &str) -> usize {
    use Script::{HalfKana, Hangul, Ideographs, Kana};
    let mut anomalies = 0;
    let mut before: Option<char> = None;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let after = chars.peek().copied();
        let pair = before.map(|before| (before, c));
        if let Some((a, b)) = pair.filter(|(a, b)| !a.is_ascii() || !b.is_ascii()) {
            match (script(a), script(b)) {
                (Some(x), Some(y)) if x == y => {
                    // Half-width kana are rare in real text, so each pair of them counts.
                    anomalies += usize::from(a.is_lowercase() && b.is_uppercase() || x == HalfKana);
                }
                (Some(Ideographs), Some(Kana | Hangul))
                | (Some(Kana | Hangul), Some(Ideographs)) => {}
                (Some(_), Some(_)) => anomalies += 1,
                _ => {}
            }
        }
        let is_letter = |c: Option<char>| c.is_some_and(|c| script(c).is_some());
        if !c.is_ascii() && script(c).is_none() {
            let word_joiners = "’‘'‐‑–—·…«»“”„‚\u{a0}、。，：；！？（）「」『』・ー〜";
            let splits_word = is_letter(before) && is_letter(after) && !word_joiners.contains(c);
            let is_symbol = matches!(c, '\u{2200}'..='\u{22ff}' | '\u{2500}'..='\u{25ff}' | '\u{2300}'..='\u{23ff}' | 'ƒ' | '¬' | '¦' | '¤' | '¨' | '¸' | '¯' | '´' | '˛' | '˙' | '˝');
            let touches_word = (is_letter(before) || is_letter(after)) && is_symbol;
            anomalies += usize::from(splits_word || touches_word);
        }
        before = Some(c);
    }
    anomalies
}

/// About how many ideographs of a text are rare in real text of this encoding; 0 if they are too few
/// to prove anything.
fn count_rare_ideographs(encoding: Encoding, text: &str) -> usize {
    let Encoding::Legacy(legacy) = encoding else { return 0 };
    let count = |wanted: Script| text.chars().filter(|c| script(*c) == Some(wanted)).count();
    let ideographs = count(Script::Ideographs);
    if legacy == encoding_rs::EUC_KR {
        // Korean is written with few ideographs.
        return if ideographs * 4 > count(Script::Hangul) { ideographs } else { 0 };
    }
    if legacy == encoding_rs::EUC_JP || legacy == encoding_rs::SHIFT_JIS {
        // Japanese is not written without kana.
        return if ideographs > 4 * count(Script::Kana) { ideographs / 2 } else { 0 };
    }
    // The lead bytes of common ideographs.
    let (first, last) = if legacy == encoding_rs::GBK || legacy == encoding_rs::GB18030 {
        (0xb0, 0xd7)
    } else if legacy == encoding_rs::BIG5 {
        (0xa4, 0xc6)
    } else {
        return 0;
    };
    let rare = text
        .chars()
        .filter(|c| script(*c) == Some(Script::Ideographs))
        .filter(|c| {
            let mut character = [0; 4];
            let (bytes, _, _) = legacy.encode(c.encode_utf8(&mut character));
            let lead = bytes.first().copied().unwrap_or(0);
            let trail_is_common =
                legacy != encoding_rs::GBK || bytes.get(1).is_some_and(|b| *b >= 0xa1);
            !(first..=last).contains(&lead) || !trail_is_common
        })
        .count();
    if rare * 4 > ideographs { rare } else { 0 }
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

    #[test]
    fn text_is_told_from_mojibake() {
        let french = "déjà vu à côté du café crème";
        assert_eq!(count_anomalies(french), 0);
        let bytes = encoding_rs::WINDOWS_1252.encode(french).0.into_owned();
        let as_mac = encoding_rs::MACINTOSH.decode(&bytes).0.into_owned();
        assert!(count_anomalies(&as_mac) >= 2, "{as_mac}");
    }
}
