//! Queries: one keyword, or several terms. ripgrep's matcher finds the lines that can match; one
//! pass of an Aho-Corasick automaton then finds which of the terms such a line has.

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
    /// Finds which terms a line has; `None` for a keyword, for which `lines` suffices.
    terms: Option<Terms>,
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

/// The automaton over the pieces of all terms: a term `get*name` has two.
#[derive(Debug, Clone)]
struct Terms {
    automaton: AhoCorasick,
    /// For each pattern of the automaton, the piece that it finds.
    pattern_pieces: Vec<TermPiece>,
    /// How many pieces each term has.
    piece_counts: Vec<usize>,
}

/// A piece of a term, by its position among the term's pieces.
#[derive(Debug, Clone, Copy)]
struct TermPiece {
    term: usize,
    position: usize,
}

/// How much of a term has been found so far in a line.
#[derive(Debug, Clone, Copy, Default)]
struct TermProgress {
    pieces_found: usize,
    /// Where the first piece starts, once it is found.
    start: usize,
    /// Where the last piece ends.
    end: usize,
}

const MAX_TERMS: usize = 64;

/// The most bytes of a keyword or term; longer ones are refused. No search needs so much of a
/// line, and an automaton of many long terms takes long to build.
const MAX_TERM_BYTES: usize = 1_000;

fn invalid(message: impl Into<String>) -> Refusal {
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
        let (mut patterns, mut pattern_pieces) = (Vec::new(), Vec::new());
        let mut piece_counts = Vec::new();
        let mut longest_pieces: Vec<String> = Vec::new();
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
            for (position, piece) in pieces.iter().enumerate() {
                for form in case_forms(piece, case) {
                    patterns.push(form);
                    pattern_pieces.push(TermPiece { term: term_index, position });
                }
            }
            // The matcher looks for the longest piece, because that is on the fewest lines.
            longest_pieces.extend(case_forms(longest, case));
            piece_counts.push(pieces.len());
        }
        let automaton = AhoCorasickBuilder::new()
            .ascii_case_insensitive(case == Case::Insensitive)
            .build(&patterns)
            .map_err(|error| invalid(format!("the terms cannot be searched: {error}")))?;
        let lines = literal_matcher(&longest_pieces, case)?;
        Ok(Self { lines, terms: Some(Terms { automaton, pattern_pieces, piece_counts }) })
    }

    /// Returns the number of terms; a keyword counts as one.
    pub fn count(&self) -> usize {
        self.terms.as_ref().map_or(1, |terms| terms.piece_counts.len())
    }

    /// Returns the matcher that finds every line that can have a hit.
    pub(super) fn lines(&self) -> &RegexMatcher {
        &self.lines
    }

    /// Returns the terms that a line has, one bit for each. The line must be one that
    /// [`Self::lines`] finds.
    pub(super) fn term_mask(&self, line: &[u8]) -> u64 {
        match &self.terms {
            Some(terms) => terms.find(line).map_or(0, |hit| hit.mask),
            None => 1,
        }
    }

    /// Returns the hit in a line, if there is one. The line comes without its line break.
    pub(crate) fn find(&self, line: &[u8]) -> Option<Hit> {
        let found = self.lines.find(line).ok().flatten()?;
        match &self.terms {
            Some(terms) => terms.find(line),
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

/// Returns the spellings of a piece to search for. The automaton ignores case in ASCII only, so a
/// piece with other letters is also searched in lower case, in upper case and capitalized.
fn case_forms(piece: &str, case: Case) -> Vec<String> {
    let mut forms = vec![piece.to_owned()];
    if case == Case::Insensitive && !piece.is_ascii() {
        forms.push(piece.to_lowercase());
        forms.push(piece.to_uppercase());
        let mut chars = piece.chars();
        if let Some(first) = chars.next() {
            forms.push(first.to_uppercase().chain(chars.as_str().to_lowercase().chars()).collect());
        }
        forms.sort();
        forms.dedup();
    }
    forms
}

impl Terms {
    /// Returns the terms of which the line has all pieces in order, and where the first such term
    /// is.
    fn find(&self, line: &[u8]) -> Option<Hit> {
        let mut progress = vec![TermProgress::default(); self.piece_counts.len()];
        let mut first: Option<(usize, usize)> = None;
        let mut mask = 0_u64;
        for found in self.automaton.find_overlapping_iter(line) {
            let TermPiece { term, position } = self.pattern_pieces[found.pattern().as_usize()];
            let progress = &mut progress[term];
            if position != progress.pieces_found || found.start() < progress.end {
                continue;
            }
            if progress.pieces_found == 0 {
                progress.start = found.start();
            }
            progress.pieces_found += 1;
            progress.end = found.end();
            if progress.pieces_found == self.piece_counts[term] {
                mask |= 1 << term;
                if first.is_none_or(|(start, _)| progress.start < start) {
                    first = Some((progress.start, progress.end));
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
            .map_or(0, |hit| hit.mask)
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
