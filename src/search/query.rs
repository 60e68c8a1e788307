//! Queries: one keyword, or several terms. ripgrep's matcher finds the lines that can match; a
//! matcher for each term then finds which of the terms such a line has.

use grep_matcher::Matcher as _;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};

use crate::edit::{EditCode, Refusal};

/// Whether a search is case-sensitive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Case {
    /// `Foo` finds `foo`.
    #[default]
    Insensitive,
    /// `Foo` finds `Foo` only.
    Sensitive,
}

/// A compiled query.
#[derive(Debug, Clone)]
pub struct Query {
    /// Finds the keyword, or the longest piece of each term: every line that can have a hit.
    lines: RegexMatcher,
    /// One matcher for each term; `None` for a keyword, for which `lines` suffices.
    terms: Option<Vec<RegexMatcher>>,
}

/// Where a line has a hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hit {
    /// The terms that the line has, one bit for each.
    pub(crate) mask: u64,
    /// The byte in the line at which the first hit starts.
    pub(crate) start: usize,
    /// The byte after that hit.
    pub(crate) end: usize,
}

const MAX_TERMS: usize = 64;

/// The most bytes of a keyword or term; longer ones are refused. No search needs so much of a
/// line, and many long terms take long to compile.
const MAX_TERM_BYTES: usize = 1_000;

fn invalid(message: impl Into<crate::edit::Message>) -> Refusal {
    Refusal::new(EditCode::InvalidArguments, message)
        .hint("Give a word or a phrase from one line, such as a function's name.")
}

fn too_long(subject: &str, term: &str) -> Refusal {
    Refusal::new(
        EditCode::TooLarge,
        format!("{subject} has {} bytes; at most {MAX_TERM_BYTES} are allowed", term.len()),
    )
    .hint("Give a distinctive part of it: a name, or one line.")
}

impl Query {
    /// Compiles a query for one keyword, taken literally.
    pub fn keyword(keyword: &str, case: Case) -> Result<Self, Refusal> {
        if keyword.trim().is_empty() {
            return Err(invalid("the term is empty"));
        }
        if keyword.len() > MAX_TERM_BYTES {
            return Err(too_long("the term", keyword));
        }
        if keyword.contains(['\n', '\r']) {
            return Err(invalid(
                "the term has a line break in it, but each line is searched on its own",
            ));
        }
        Ok(Self { lines: literal_matcher(&[keyword], case)?, terms: None })
    }

    /// Compiles a query for several terms; `*` in a term stands for any text within the line.
    pub fn terms(terms: &[String], case: Case) -> Result<Self, Refusal> {
        if terms.is_empty() {
            return Err(invalid("there are no terms"));
        }
        if terms.len() > MAX_TERMS {
            return Err(invalid(format!(
                "there are {} terms; at most {MAX_TERMS} are allowed",
                terms.len()
            )));
        }
        let mut longest_pieces: Vec<&str> = Vec::new();
        let mut matchers = Vec::new();
        for (term_index, term) in terms.iter().enumerate() {
            let number = term_index + 1;
            if term.len() > MAX_TERM_BYTES {
                return Err(too_long(&format!("term {number}"), term));
            }
            if term.contains(['\n', '\r']) {
                return Err(invalid(format!(
                    "term {number} has a line break in it, but each line is searched on its own"
                )));
            }
            let pieces: Vec<&str> =
                term.trim().split('*').filter(|piece| !piece.is_empty()).collect();
            let Some(longest) = pieces.iter().max_by_key(|piece| piece.len()) else {
                return Err(invalid(format!("term {number} has no text apart from `*`")));
            };
            // The matcher looks for the longest piece, because that is on the fewest lines.
            longest_pieces.push(*longest);
            matchers.push(term_matcher(&pieces, case)?);
        }
        let lines = literal_matcher(&longest_pieces, case)?;
        Ok(Self { lines, terms: Some(matchers) })
    }

    /// Returns the number of terms; a keyword counts as one.
    pub fn count(&self) -> usize {
        self.terms.as_ref().map_or(1, Vec::len)
    }

    /// Returns the matcher that finds every line that can have a hit.
    pub(super) fn lines(&self) -> &RegexMatcher {
        &self.lines
    }

    /// Returns the terms that a line has, one bit for each. The line must be one that
    /// [`Self::lines`] finds.
    pub(super) fn term_mask(&self, line: &[u8]) -> u64 {
        match &self.terms {
            Some(terms) => find_terms(terms, line).map_or(0, |hit| hit.mask),
            None => 1,
        }
    }

    /// Returns the hit in a line, if there is one. The line comes without its line break.
    pub(crate) fn find(&self, line: &[u8]) -> Option<Hit> {
        let found = self.lines.find(line).ok().flatten()?;
        match &self.terms {
            Some(terms) => find_terms(terms, line),
            None => Some(Hit { mask: 1, start: found.start(), end: found.end() }),
        }
    }
}

/// Returns a matcher that finds any of these texts.
fn literal_matcher(texts: &[impl AsRef<str>], case: Case) -> Result<RegexMatcher, Refusal> {
    RegexMatcherBuilder::new()
        .case_insensitive(case == Case::Insensitive)
        .fixed_strings(true)
        .line_terminator(Some(b'\n'))
        .build_many(texts)
        .map_err(|error| invalid(format!("this cannot be searched: {error}")))
}

/// Returns a matcher that finds these pieces in order, with any text in between. Its time grows with
/// the line alone, however many pieces there are.
fn term_matcher(pieces: &[&str], case: Case) -> Result<RegexMatcher, Refusal> {
    let escaped: Vec<String> = pieces.iter().map(|piece| regex::escape(piece)).collect();
    RegexMatcherBuilder::new()
        .case_insensitive(case == Case::Insensitive)
        .line_terminator(Some(b'\n'))
        .build(&escaped.join("(?-u:.)*?"))
        .map_err(|error| invalid(format!("this cannot be searched: {error}")))
}

/// Returns the terms that a line has, and where the first of them is.
fn find_terms(terms: &[RegexMatcher], line: &[u8]) -> Option<Hit> {
    let mut first: Option<(usize, usize)> = None;
    let mut mask = 0_u64;
    for (index, term) in terms.iter().enumerate() {
        let Some(found) = term.find(line).ok().flatten() else { continue };
        mask |= 1 << index;
        if first.is_none_or(|(start, _)| found.start() < start) {
            first = Some((found.start(), found.end()));
        }
    }
    first.map(|(start, end)| Hit { mask, start, end })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mask(terms: &[&str], line: &str) -> u64 {
        let terms: Vec<String> = terms.iter().map(|&term| term.to_owned()).collect();
        Query::terms(&terms, Case::Insensitive)
            .expect("query")
            .find(line.as_bytes())
            .map_or(0, |hit| hit.mask)
    }

    #[test]
    fn terms_are_found_in_one_pass_with_wildcards_in_order() {
        assert_eq!(mask(&["foo", "bar"], "a FOO and a Bar"), 0b11);
        assert_eq!(mask(&["foo", "bar"], "a bar"), 0b10);
        assert_eq!(mask(&["get*name"], "getUserName()"), 1);
        assert_eq!(mask(&["get*name"], "name then get"), 0);
        assert_eq!(mask(&["straße", "ÉCOLE"], "STRAßE école"), 0b11);
        assert_eq!(mask(&["ab", "abc"], "xabcx"), 0b11);
        assert_eq!(mask(&["a.b*[c]{2}", "-#& ~"], "A.Bx[C]{2}-#& ~"), 0b11);
    }

    #[test]
    fn a_keyword_is_literal_and_ignores_case() {
        let query = Query::keyword("A.b*", Case::Insensitive).expect("query");
        assert_eq!(query.find(b"x a.B* y"), Some(Hit { mask: 1, start: 2, end: 6 }));
        assert_eq!(query.find(b"axb"), None);
        assert!(Query::keyword("A", Case::Sensitive).expect("query").find(b"a").is_none());
        assert!(
            Query::keyword("naïve", Case::Insensitive)
                .expect("query")
                .find("NAÏVE".as_bytes())
                .is_some()
        );
        for bad in ["", "  ", "a\nb"] {
            assert!(Query::keyword(bad, Case::Insensitive).is_err());
        }
        assert!(Query::terms(&["*".into()], Case::Insensitive).is_err());
    }
}
