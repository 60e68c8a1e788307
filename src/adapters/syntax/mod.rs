//! Syntax checks with tree-sitter, which no other module uses; YAML has a parser of its own.
//!
//! A grammar's scanner in C ends the process if its state outgrows the parser's buffer, so a text
//! that could bring it there is not given to it (`scanners`).
//!
//! The work is bounded by the size of a text, by the parser's own count of its steps, and as a last
//! resort by a clock. A file beyond any of these bounds is reported as not checked.

mod definitions;
mod errors;
mod grammars;
mod python_indentation;
mod scanners;
mod yaml;

use std::collections::VecDeque;
use std::fmt;
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tree_sitter::{InputEdit, ParseOptions, Parser, Point, Tree};
use xxhash_rust::xxh3::xxh3_128;

use crate::edit::{Splice, SyntaxCheck, SyntaxError, Unchecked};
use crate::port::{Definition, Syntax};
use grammars::Grammar;

/// The size of the largest text that is parsed.
const MAX_BYTES: usize = 1 << 20;

/// The parser reports its progress every hundred steps. Valid code takes about one report for
/// every sixty bytes; recovery from errors takes more.
const MAX_REPORTS_PER_BYTE: usize = 1;
const MAX_REPORTS: usize = 2_000;

/// The longest time of one parse, for slow machines.
const MAX_TIME: Duration = Duration::from_millis(500);

/// The trees of the last few texts up to this size are kept, because the text after one edit is the
/// text before the next.
const MAX_CACHED_BYTES: usize = 256 << 10;
const MAX_CACHED_TREES: usize = 4;

/// Checks syntax and lists definitions with tree-sitter.
#[derive(Default)]
pub struct TreeSitter {
    cache: Mutex<VecDeque<CachedTree>>,
}

struct CachedTree {
    grammar: &'static str,
    text_hash: u128,
    tree: Tree,
}

impl fmt::Debug for TreeSitter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TreeSitter").finish_non_exhaustive()
    }
}

impl TreeSitter {
    /// A parser for every grammar that is built in.
    pub fn new() -> Self {
        Self::default()
    }

    /// The tree of a text, from the cache if it is there.
    fn tree(&self, grammar: &Grammar, text: &str) -> Result<Tree, Unchecked> {
        let text_hash = xxh3_128(text.as_bytes());
        if let Some(tree) = self.cached(grammar, text_hash) {
            return Ok(tree);
        }
        let tree = parse(grammar, text, None)?;
        self.add_to_cache(grammar, text_hash, text.len(), &tree);
        Ok(tree)
    }

    /// The tree of the text with this hash, if the cache has it.
    fn cached(&self, grammar: &Grammar, text_hash: u128) -> Option<Tree> {
        let cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let is_wanted =
            |cached: &&CachedTree| cached.grammar == grammar.name && cached.text_hash == text_hash;
        cache.iter().find(is_wanted).map(|cached| cached.tree.clone())
    }

    /// Puts the tree of a text into the cache, unless the text is large.
    fn add_to_cache(&self, grammar: &Grammar, text_hash: u128, text_len: usize, tree: &Tree) {
        if text_len > MAX_CACHED_BYTES {
            return;
        }
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        cache.push_front(CachedTree { grammar: grammar.name, text_hash, tree: tree.clone() });
        cache.truncate(MAX_CACHED_TREES);
    }

    /// The first grammar that parses the text without an error, and the tree; `BrokenBefore` if no
    /// grammar does.
    fn parse_without_errors(
        &self,
        grammars: &'static [Grammar],
        text: &str,
    ) -> Result<(&'static Grammar, Tree), Unchecked> {
        for grammar in grammars {
            let tree = self.tree(grammar, text)?;
            if is_error_free(&tree, text) {
                return Ok((grammar, tree));
            }
        }
        Err(Unchecked::BrokenBefore)
    }

    /// The errors that an edit has brought in: those of `after`, if `before` had none.
    fn new_errors(
        &self,
        path: &str,
        before: &str,
        after: &str,
        splices: &[Splice],
    ) -> Result<Vec<SyntaxError>, Unchecked> {
        if yaml::covers(path) {
            return match yaml::error(before)? {
                Some(_) => Err(Unchecked::BrokenBefore),
                None => Ok(yaml::error(after)?.into_iter().collect()),
            };
        }
        let grammars = grammars_for(path)?;
        if before.len().max(after.len()) > MAX_BYTES {
            return Err(Unchecked::TooLarge);
        }
        if before.is_empty() {
            return self.errors(path, after);
        }
        let (grammar, tree_before) = self.parse_without_errors(grammars, before)?;
        let hash_after = xxh3_128(after.as_bytes());
        let tree_after = match self.cached(grammar, hash_after) {
            Some(tree) => tree,
            None if splices.is_empty() => parse(grammar, after, None)?,
            None => {
                let mut edited = tree_before.clone();
                apply_splices(&mut edited, before, splices);
                let tree = parse(grammar, after, Some(&edited))?;
                match tree.root_node().has_error() {
                    // Report an error only if a parse of the whole text has it too.
                    true => parse(grammar, after, None)?,
                    false => tree,
                }
            }
        };
        self.add_to_cache(grammar, hash_after, after.len(), &tree_after);
        if is_error_free(&tree_after, after) {
            return Ok(Vec::new());
        }
        Ok(errors::new_errors(
            path,
            &errors::ParsedText { text: before, tree: &tree_before },
            &errors::ParsedText { text: after, tree: &tree_after },
        ))
    }
}

/// Whether a text has neither syntax errors nor misindented Python statements.
fn is_error_free(tree: &Tree, text: &str) -> bool {
    !tree.root_node().has_error() && python_indentation::misindented(tree, text).is_empty()
}

impl Syntax for TreeSitter {
    fn errors(&self, path: &str, text: &str) -> Result<Vec<SyntaxError>, Unchecked> {
        if yaml::covers(path) {
            return Ok(yaml::error(text)?.into_iter().collect());
        }
        let grammars = grammars_for(path)?;
        if text.len() > MAX_BYTES {
            return Err(Unchecked::TooLarge);
        }
        match self.parse_without_errors(grammars, text) {
            Ok(_) => Ok(Vec::new()),
            // Every grammar finds errors: report those of the first one.
            Err(Unchecked::BrokenBefore) => {
                let tree = self.tree(&grammars[0], text)?;
                Ok(errors::all_errors(&errors::ParsedText { text, tree: &tree }))
            }
            Err(why) => Err(why),
        }
    }

    fn compare(&self, path: &str, before: &str, after: &str, splices: &[Splice]) -> SyntaxCheck {
        SyntaxCheck::of(self.new_errors(path, before, after, splices))
    }

    fn definitions(&self, path: &str, text: &str) -> Result<Vec<Definition>, Unchecked> {
        let grammars = grammars_for(path)?;
        if text.len() > MAX_BYTES {
            return Err(Unchecked::TooLarge);
        }
        let (_, tree) = self.parse_without_errors(grammars, text)?;
        Ok(definitions::definitions(tree.root_node(), text))
    }
}

/// The grammars for a path, or `UnknownLanguage` if there is none.
fn grammars_for(path: &str) -> Result<&'static [Grammar], Unchecked> {
    match grammars::for_path(path) {
        [] => Err(Unchecked::UnknownLanguage),
        grammars => Ok(grammars),
    }
}

/// Parses a text within the limits of reports and time. `old` is the tree of an earlier version, of
/// which unchanged parts are reused.
fn parse(grammar: &Grammar, text: &str, old: Option<&Tree>) -> Result<Tree, Unchecked> {
    if scanners::would_abort(grammar.name, text) {
        return Err(Unchecked::TooMuchWork);
    }
    let mut parser = Parser::new();
    if parser.set_language(&grammar.language.into()).is_err() {
        return Err(Unchecked::UnknownLanguage);
    }
    let max_reports = MAX_REPORTS + text.len() * MAX_REPORTS_PER_BYTE;
    let deadline = Instant::now() + MAX_TIME;
    let mut reports = 0;
    let mut on_progress = |_: &tree_sitter::ParseState| {
        reports += 1;
        let is_late = reports % 16 == 0 && Instant::now() > deadline;
        match reports > max_reports || is_late {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    };
    let options = ParseOptions::new().progress_callback(&mut on_progress);
    let mut read = |at: usize, _: Point| text.as_bytes().get(at..).unwrap_or_default();
    parser.parse_with_options(&mut read, old, Some(options)).ok_or(Unchecked::TooMuchWork)
}

/// Marks the edited ranges in a tree. The splices are sorted and disjoint; they are applied from
/// last to first, so that the offsets of the remaining ones stay valid.
fn apply_splices(tree: &mut Tree, before: &str, splices: &[Splice]) {
    for splice in splices.iter().rev() {
        let start = point(before, splice.range.start);
        let newlines = splice.text.matches('\n').count();
        let end = match splice.text.rfind('\n') {
            Some(at) => Point::new(start.row + newlines, splice.text.len() - at - 1),
            None => Point::new(start.row, start.column + splice.text.len()),
        };
        tree.edit(&InputEdit {
            start_byte: splice.range.start,
            old_end_byte: splice.range.end,
            new_end_byte: splice.range.start + splice.text.len(),
            start_position: start,
            old_end_position: point(before, splice.range.end),
            new_end_position: end,
        });
    }
}

/// The row and column of a byte offset.
fn point(text: &str, at: usize) -> Point {
    let head = &text.as_bytes()[..at];
    let row = memchr::memchr_iter(b'\n', head).count();
    let line_start = memchr::memrchr(b'\n', head).map_or(0, |newline| newline + 1);
    Point::new(row, at - line_start)
}
