//! Queries: one keyword, or several terms. One matcher finds the lines; one for each term then finds
//! which of the terms a line has.

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
    /// Finds every line that has one of the terms.
    lines: RegexMatcher,
    /// One matcher for each term.
    terms: Vec<RegexMatcher>,
}

/// Where a line has a hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hit {
    /// The terms that the line has, one bit for each.
    pub(crate) mask: u64,
    /// The byte in the line at which the first hit starts.
    pub(crate) start: usize,
}

const MAX_TERMS: usize = 64;

/// The most bytes of a keyword or term; longer ones are refused. No search needs so much of a
/// line, and many long terms take long to compile.
const MAX_TERM_BYTES: usize = 1_000;

fn invalid(message: String) -> Refusal {
    Refusal::invalid(message, "Give a word or a phrase from one line, such as a function's name.")
}

impl Query {
    /// Compiles a query for one keyword, taken literally.
    pub fn keyword(keyword: &str, case: Case) -> Result<Self, Refusal> {
        check_term("the term", keyword)?;
        if keyword.trim().is_empty() {
            return Err(invalid("the term is empty".to_owned()));
        }
        Self::compile(&[regex::escape(keyword)], case)
    }

    /// Compiles a query for several terms; `*` in a term stands for any text within the line.
    pub fn terms(terms: &[String], case: Case) -> Result<Self, Refusal> {
        if terms.is_empty() || terms.len() > MAX_TERMS {
            let count = terms.len();
            return Err(invalid(format!("there are {count} terms; give 1 to {MAX_TERMS}")));
        }
        let mut patterns = Vec::new();
        for (number, term) in (1..).zip(terms) {
            let name = format!("term {number}");
            check_term(&name, term)?;
            let pieces = term.trim().split('*').filter(|piece| !piece.is_empty());
            let pieces: Vec<String> = pieces.map(regex::escape).collect();
            if pieces.is_empty() {
                return Err(invalid(format!("{name} has no text apart from `*`")));
            }
            patterns.push(pieces.join("(?-u:.)*?"));
        }
        Self::compile(&patterns, case)
    }

    /// Compiles one pattern for each term. The time to match them grows with the line alone, however
    /// many wildcards they have.
    fn compile(patterns: &[String], case: Case) -> Result<Self, Refusal> {
        let mut builder = RegexMatcherBuilder::new();
        builder.case_insensitive(case == Case::Insensitive).line_terminator(Some(b'\n'));
        let compiled = || -> Result<Self, grep_regex::Error> {
            let terms = patterns.iter().map(|pattern| builder.build(pattern));
            Ok(Self {
                lines: builder.build_many(patterns)?,
                terms: terms.collect::<Result<_, _>>()?,
            })
        };
        compiled().map_err(|error| invalid(format!("this cannot be searched: {error}")))
    }

    /// Returns the matcher that finds every line with a hit.
    pub(super) fn lines(&self) -> &RegexMatcher {
        &self.lines
    }

    /// Returns the terms that a line has, and where the first of them is; `None` if it has none. The
    /// line comes without its line break.
    pub(crate) fn find(&self, line: &[u8]) -> Option<Hit> {
        self.lines.find(line).ok().flatten()?;
        let mut first: Option<usize> = None;
        let mut mask = 0_u64;
        for (index, term) in self.terms.iter().enumerate() {
            let Some(found) = term.find(line).ok().flatten() else { continue };
            mask |= 1 << index;
            first = Some(first.map_or(found.start(), |start| start.min(found.start())));
        }
        first.map(|start| Hit { mask, start })
    }
}

/// Refuses a term that is too long, or that no line can have.
fn check_term(name: &str, term: &str) -> Result<(), Refusal> {
    if term.len() > MAX_TERM_BYTES {
        let bytes = term.len();
        return Err(Refusal::new(
            EditCode::TooLarge,
            format!("{name} has {bytes} bytes; at most {MAX_TERM_BYTES} are allowed"),
        )
        .hint("Give a distinctive part of it: a name, or one line."));
    }
    if term.contains(['\n', '\r']) {
        return Err(invalid(format!(
            "{name} has a line break in it, but each line is searched on its own"
        )));
    }
    Ok(())
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
        assert_eq!(query.find(b"x a.B* y"), Some(Hit { mask: 1, start: 2 }));
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
