//! Finding a text character for character. A call comes with one text for one file, so that
//! getting ready to search may cost as much as the search: what is searched for is a short
//! part of the text, and the rest is compared where the part stands.

use std::cell::OnceCell;

use memchr::memmem::Finder;

/// A text to look for.
pub(super) struct Seek<'n> {
    text: &'n [u8],
    /// A part of the text, and where it begins in it.
    part: Finder<'n>,
    offset: usize,
    /// For files in which the part stands again and again: takes time in proportion to the
    /// file whatever is in it.
    whole: OnceCell<Finder<'n>>,
}

impl<'n> Seek<'n> {
    pub(super) fn new(text: &'n str) -> Self {
        /// As long as one look at the vector registers can tell.
        const PART: usize = 32;
        let text = text.as_bytes();
        let blanks = text.iter().take_while(|b| b.is_ascii_whitespace()).count();
        let offset = blanks.min(text.len().saturating_sub(PART));
        let part = Finder::new(&text[offset..text.len().min(offset + PART)]);
        Self { text, part, offset, whole: OnceCell::new() }
    }

    /// The first place at or behind `from`.
    pub(super) fn find(&self, file: &[u8], from: usize) -> Option<usize> {
        /// Places where only the part stands, before the whole text is searched for.
        const MOST: usize = 16;
        let mut at = from + self.offset;
        for _ in 0..MOST {
            let place = at + self.part.find(file.get(at..)?)?;
            let start = place - self.offset;
            if file[start..].starts_with(self.text) {
                return Some(start);
            }
            at = place + 1;
        }
        let (whole, from) = (self.whole.get_or_init(|| Finder::new(self.text)), at - self.offset);
        whole.find(file.get(from..)?).map(|place| from + place)
    }

    /// All places that do not overlap.
    pub(super) fn all(&self, file: &[u8]) -> Vec<usize> {
        let next = |at: usize| self.find(file, at);
        std::iter::successors(next(0), |at| next(at + self.text.len().max(1))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_a_plain_search_finds() {
        let words = ["", " ", "ab", "\n", "é", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"];
        let texts: Vec<String> = (0..words.len().pow(3))
            .map(|n| [n, n / words.len(), n / words.len().pow(2)].map(|n| words[n % words.len()]))
            .map(|parts| parts.concat())
            .collect();
        for file in texts.iter().map(|text| text.repeat(20)) {
            for text in texts.iter().filter(|text| !text.is_empty()) {
                let plain: Vec<usize> =
                    file.match_indices(text.as_str()).map(|(at, _)| at).collect();
                assert_eq!(Seek::new(text).all(file.as_bytes()), plain, "{text:?} in {file:?}");
            }
        }
    }
}
