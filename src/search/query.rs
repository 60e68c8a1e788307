//! What is looked for: one keyword, or several terms. ripgrep's matcher finds the lines;
//! which of several terms a line has is found in one pass of an Aho-Corasick automaton.

use aho_corasick::{AhoCorasick, AhoCorasickBuilder};
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
    /// Finds the keyword, or a piece of each term: every line that can have a hit.
    lines: RegexMatcher,
    /// Which terms a line has; `None` for a keyword, where the matcher has said it all.
    terms: Option<Terms>,
}

/// Where a line has a hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hit {
    /// One bit for each term.
    pub(crate) mask: u64,
    /// Bytes of the first hit in the line.
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// The automaton over the pieces of all terms: a term `get*name` has two.
#[derive(Debug, Clone)]
struct Terms {
    automaton: AhoCorasick,
    /// For each pattern, its term and which piece of it.
    owner: Vec<(usize, usize)>,
    /// How many pieces each term has.
    pieces: Vec<usize>,
}

const MAX_TERMS: usize = 64;

/// Longer keywords and terms are refused: no search needs so much of a line, and an automaton
/// of many long terms takes long to build.
const MAX_TERM_BYTES: usize = 1_000;

fn invalid(message: impl Into<String>) -> Refusal {
    Refusal::new(EditCode::InvalidArguments, message)
        .hint("Give a word or a phrase that stands within one line, such as a function's name.")
}

fn too_long(what: &str, term: &str) -> Refusal {
    Refusal::new(
        EditCode::TooLarge,
        format!("{what} has {} bytes; at most {MAX_TERM_BYTES} are allowed", term.len()),
    )
    .hint("Give a distinctive part of it: a name, or one line.")
}

impl Query {
    /// One keyword, taken literally.
    pub fn keyword(keyword: &str, case: Case) -> Result<Self, Refusal> {
        if keyword.trim().is_empty() {
            return Err(invalid("the keyword is empty"));
        }
        if keyword.len() > MAX_TERM_BYTES {
            return Err(too_long("the keyword", keyword));
        }
        if keyword.contains(['\n', '\r']) {
            return Err(invalid(
                "the keyword has a line break in it, but each line is searched on its own",
            ));
        }
        Ok(Self { lines: literal_matcher(&[keyword], case)?, terms: None })
    }

    /// Several terms; `*` in a term stands for anything within the line.
    pub fn terms(terms: &[String], case: Case) -> Result<Self, Refusal> {
        if terms.is_empty() {
            return Err(invalid("there are no terms"));
        }
        if terms.len() > MAX_TERMS {
            return Err(invalid(format!("{} terms are more than {MAX_TERMS}", terms.len())));
        }
        let (mut patterns, mut owner, mut pieces) = (Vec::new(), Vec::new(), Vec::new());
        let mut longest_pieces = Vec::new();
        for (at, term) in terms.iter().enumerate() {
            if term.len() > MAX_TERM_BYTES {
                return Err(too_long(&format!("term {}", at + 1), term));
            }
            if term.contains(['\n', '\r']) {
                return Err(invalid(format!(
                    "term {} has a line break in it, but each line is searched on its own",
                    at + 1
                )));
            }
            let parts: Vec<&str> = term.trim().split('*').filter(|part| !part.is_empty()).collect();
            if parts.is_empty() {
                return Err(invalid(format!("term {} has nothing to look for", at + 1)));
            }
            for (piece, part) in parts.iter().enumerate() {
                for form in case_forms(part, case) {
                    patterns.push(form);
                    owner.push((at, piece));
                }
            }
            // The longest piece is on the fewest lines.
            longest_pieces.extend(
                parts.iter().max_by_key(|part| part.len()).map(|part| case_forms(part, case)),
            );
            pieces.push(parts.len());
        }
        let automaton = AhoCorasickBuilder::new()
            .ascii_case_insensitive(case == Case::Insensitive)
            .build(&patterns)
            .map_err(|error| invalid(format!("the terms cannot be searched: {error}")))?;
        let longest_pieces: Vec<String> = longest_pieces.into_iter().flatten().collect();
        let lines = literal_matcher(&longest_pieces, case)?;
        Ok(Self { lines, terms: Some(Terms { automaton, owner, pieces }) })
    }

    /// How many terms there are.
    pub fn count(&self) -> usize {
        self.terms.as_ref().map_or(1, |terms| terms.pieces.len())
    }

    /// What finds every line that can have a hit.
    pub(super) fn lines(&self) -> &RegexMatcher {
        &self.lines
    }

    /// The terms on a line that the matcher found, a bit each.
    pub(super) fn term_mask(&self, line: &[u8]) -> u64 {
        match &self.terms {
            Some(terms) => terms.find(line).map_or(0, |hit| hit.mask),
            None => 1,
        }
    }

    /// The hit of a line, given without its ending.
    pub(crate) fn find(&self, line: &[u8]) -> Option<Hit> {
        let found = self.lines.find(line).ok().flatten()?;
        match &self.terms {
            Some(terms) => terms.find(line),
            None => Some(Hit { mask: 1, start: found.start(), end: found.end() }),
        }
    }
}

/// A matcher of any of these texts.
fn literal_matcher(texts: &[impl AsRef<str>], case: Case) -> Result<RegexMatcher, Refusal> {
    RegexMatcherBuilder::new()
        .case_insensitive(case == Case::Insensitive)
        .fixed_strings(true)
        .line_terminator(Some(b'\n'))
        .build_many(texts)
        .map_err(|error| invalid(format!("this cannot be searched: {error}")))
}

/// The automaton folds ASCII case only; other letters are given in their usual forms.
fn case_forms(part: &str, case: Case) -> Vec<String> {
    let mut forms = vec![part.to_owned()];
    if case == Case::Insensitive && !part.is_ascii() {
        forms.push(part.to_lowercase());
        forms.push(part.to_uppercase());
        let mut chars = part.chars();
        if let Some(first) = chars.next() {
            forms.push(first.to_uppercase().chain(chars.as_str().to_lowercase().chars()).collect());
        }
        forms.sort();
        forms.dedup();
    }
    forms
}

impl Terms {
    fn find(&self, line: &[u8]) -> Option<Hit> {
        // How far each term has come, and where its last piece ended.
        let mut progress = vec![(0_usize, 0_usize); self.pieces.len()];
        let mut first: Option<(usize, usize)> = None;
        let mut starts = vec![None; self.pieces.len()];
        let mut mask = 0_u64;
        for found in self.automaton.find_overlapping_iter(line) {
            let (term, piece) = self.owner[found.pattern().as_usize()];
            let (done, end) = progress[term];
            if piece != done || found.start() < end {
                continue;
            }
            progress[term] = (done + 1, found.end());
            let start = *starts[term].get_or_insert(found.start());
            if done + 1 == self.pieces[term] {
                mask |= 1 << term;
                if first.is_none_or(|(at, _)| start < at) {
                    first = Some((start, found.end()));
                }
            }
        }
        first.map(|(start, end)| Hit { mask, start, end })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mask(terms: &[&str], line: &str) -> u64 {
        let terms: Vec<String> = terms.iter().map(|&term| term.to_owned()).collect();
        Query::terms(&terms, Case::Insensitive)
            .expect("query")
            .find(line.as_bytes())
            .map_or(0, |h| h.mask)
    }

    #[test]
    fn terms_are_found_in_one_pass_with_wildcards_in_order() {
        assert_eq!(mask(&["foo", "bar"], "a FOO and a Bar"), 0b11);
        assert_eq!(mask(&["foo", "bar"], "a bar"), 0b10);
        assert_eq!(mask(&["get*name"], "getUserName()"), 1);
        assert_eq!(mask(&["get*name"], "name then get"), 0);
        assert_eq!(mask(&["straße", "ÉCOLE"], "STRASSE école"), 0b11);
        assert_eq!(mask(&["ab", "abc"], "xabcx"), 0b11);
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
