//! Syntax by tree-sitter: the one module that names it.
//!
//! Work is bounded by the size of a text, by the parser's own count of its steps, and as a
//! last resort by a clock. Beyond any of them nothing is said of the file.

mod definitions;
mod errors;
mod grammars;
mod python_indentation;

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

/// Larger texts are not parsed.
const MAX_BYTES: usize = 1 << 20;

/// The parser reports its progress every hundred steps. Valid code takes about one report for
/// every sixty bytes; recovery from errors takes more.
const MAX_REPORTS_PER_BYTE: usize = 1;
const MAX_REPORTS: usize = 2_000;

/// However slow the machine, a parse ends by then.
const MAX_TIME: Duration = Duration::from_millis(500);

/// Trees are kept of the last few texts up to this size: what an edit leaves is what the next
/// one begins with.
const MAX_CACHED_BYTES: usize = 256 << 10;
const MAX_CACHED_TREES: usize = 4;

/// Syntax by tree-sitter.
#[derive(Default)]
pub struct TreeSitter {
    cache: Mutex<VecDeque<CachedTree>>,
}

struct CachedTree {
    grammar: &'static str,
    text: u128,
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

    /// The tree of a text, from the few that are kept where it is among them.
    fn tree(&self, grammar: &Grammar, text: &str) -> Result<Tree, Unchecked> {
        let of = xxh3_128(text.as_bytes());
        if let Some(tree) = self.cached(grammar, of) {
            return Ok(tree);
        }
        let tree = parse(grammar, text, None)?;
        self.cache(grammar, of, text.len(), &tree);
        Ok(tree)
    }

    fn cached(&self, grammar: &Grammar, text: u128) -> Option<Tree> {
        let cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let found =
            cache.iter().find(|cached| cached.grammar == grammar.name && cached.text == text);
        found.map(|cached| cached.tree.clone())
    }

    fn cache(&self, grammar: &Grammar, text: u128, bytes: usize, tree: &Tree) {
        if bytes > MAX_CACHED_BYTES {
            return;
        }
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        cache.push_front(CachedTree { grammar: grammar.name, text, tree: tree.clone() });
        cache.truncate(MAX_CACHED_TREES);
    }

    /// The first grammar that reads the text without an error.
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

    fn new_errors(
        &self,
        path: &str,
        before: &str,
        after: &str,
        splices: &[Splice],
    ) -> Result<Vec<SyntaxError>, Unchecked> {
        let grammars = grammars_for(path)?;
        if before.len().max(after.len()) > MAX_BYTES {
            return Err(Unchecked::TooLarge);
        }
        if before.is_empty() {
            return self.errors(path, after);
        }
        let (grammar, mut old) = self.parse_without_errors(grammars, before)?;
        let of = xxh3_128(after.as_bytes());
        let known = self.cached(grammar, of);
        let tree = match known {
            Some(tree) => tree,
            None if splices.is_empty() => parse(grammar, after, None)?,
            None => {
                let old_tree = old.clone();
                apply_splices(&mut old, before, splices);
                let tree = parse(grammar, after, Some(&old))?;
                old = old_tree;
                match tree.root_node().has_error() {
                    // An error is told only where the whole text has it, read afresh.
                    true => parse(grammar, after, None)?,
                    false => tree,
                }
            }
        };
        self.cache(grammar, of, after.len(), &tree);
        if is_error_free(&tree, after) {
            return Ok(Vec::new());
        }
        Ok(errors::new_errors(
            path,
            &errors::ParsedText { text: before, tree: &old },
            &errors::ParsedText { text: after, tree: &tree },
        ))
    }
}

/// Whether a text has no error.
fn is_error_free(tree: &Tree, text: &str) -> bool {
    !tree.root_node().has_error() && python_indentation::misindented(tree, text).is_empty()
}

impl Syntax for TreeSitter {
    fn errors(&self, path: &str, text: &str) -> Result<Vec<SyntaxError>, Unchecked> {
        let grammars = grammars_for(path)?;
        if text.len() > MAX_BYTES {
            return Err(Unchecked::TooLarge);
        }
        match self.parse_without_errors(grammars, text) {
            Ok(_) => Ok(Vec::new()),
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

fn grammars_for(path: &str) -> Result<&'static [Grammar], Unchecked> {
    match grammars::for_path(path) {
        [] => Err(Unchecked::UnknownLanguage),
        grammars => Ok(grammars),
    }
}

/// Parses a text within the limits of reports and time.
fn parse(grammar: &Grammar, text: &str, old: Option<&Tree>) -> Result<Tree, Unchecked> {
    let mut parser = Parser::new();
    if parser.set_language(&grammar.language.into()).is_err() {
        return Err(Unchecked::UnknownLanguage);
    }
    let max_reports = MAX_REPORTS + text.len() * MAX_REPORTS_PER_BYTE;
    let end = Instant::now() + MAX_TIME;
    let mut reports = 0;
    let mut watch = |_: &tree_sitter::ParseState| {
        reports += 1;
        match reports > max_reports || reports % 16 == 0 && Instant::now() > end {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    };
    let options = ParseOptions::new().progress_callback(&mut watch);
    let mut read = |at: usize, _: Point| text.as_bytes().get(at..).unwrap_or_default();
    parser.parse_with_options(&mut read, old, Some(options)).ok_or(Unchecked::TooMuchWork)
}

/// Tells a tree what was edited. The splices are sorted and disjoint, so those behind do not
/// move when they are told first.
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

fn point(text: &str, at: usize) -> Point {
    let head = &text.as_bytes()[..at];
    let row = memchr::memchr_iter(b'\n', head).count();
    Point::new(row, at - memchr::memrchr(b'\n', head).map_or(0, |at| at + 1))
}
