//! Syntax by tree-sitter: the one module that names it.
//!
//! Work is bounded by the size of a text, by the parser's own count of its steps, and as a
//! last resort by a clock. Beyond any of them nothing is said of the file.

mod depth;
mod errors;
mod grammars;
mod names;

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
const MOST_BYTES: usize = 1 << 20;

/// The parser tells of its progress every hundred steps. Sound code takes about one report in
/// sixty bytes; recovery from errors takes more.
const MOST_REPORTS_A_BYTE: usize = 1;
const MOST_REPORTS: usize = 2_000;

/// However slow the machine, a parse ends by then.
const MOST_TIME: Duration = Duration::from_millis(500);

/// Trees are kept of the last few texts up to this size: what an edit leaves is what the next
/// one begins with.
const MOST_KEPT_BYTES: usize = 256 << 10;
const MOST_KEPT: usize = 4;

/// Syntax by tree-sitter.
#[derive(Default)]
pub struct TreeSitter {
    kept: Mutex<VecDeque<Kept>>,
}

struct Kept {
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
        if let Some(tree) = self.recall(grammar, of) {
            return Ok(tree);
        }
        let tree = parse(grammar, text, None)?;
        self.keep(grammar, of, text.len(), &tree);
        Ok(tree)
    }

    fn recall(&self, grammar: &Grammar, text: u128) -> Option<Tree> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let found = kept.iter().find(|kept| kept.grammar == grammar.name && kept.text == text);
        found.map(|kept| kept.tree.clone())
    }

    fn keep(&self, grammar: &Grammar, text: u128, bytes: usize, tree: &Tree) {
        if bytes > MOST_KEPT_BYTES {
            return;
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push_front(Kept { grammar: grammar.name, text, tree: tree.clone() });
        kept.truncate(MOST_KEPT);
    }

    /// The first grammar that reads the text without an error.
    fn sound(
        &self,
        grammars: &'static [Grammar],
        text: &str,
    ) -> Result<(&'static Grammar, Tree), Unchecked> {
        for grammar in grammars {
            let tree = self.tree(grammar, text)?;
            if is_sound(&tree, text) {
                return Ok((grammar, tree));
            }
        }
        Err(Unchecked::BrokenBefore)
    }

    fn compared(
        &self,
        path: &str,
        before: &str,
        after: &str,
        splices: &[Splice],
    ) -> Result<Vec<SyntaxError>, Unchecked> {
        let grammars = grammars_of(path)?;
        if before.len().max(after.len()) > MOST_BYTES {
            return Err(Unchecked::TooLarge);
        }
        if before.is_empty() {
            return self.errors(path, after);
        }
        let (grammar, mut old) = self.sound(grammars, before)?;
        let of = xxh3_128(after.as_bytes());
        let known = self.recall(grammar, of);
        let tree = match known {
            Some(tree) => tree,
            None if splices.is_empty() => parse(grammar, after, None)?,
            None => {
                let old_tree = old.clone();
                edited(&mut old, before, splices);
                let tree = parse(grammar, after, Some(&old))?;
                old = old_tree;
                match tree.root_node().has_error() {
                    // An error is told only where the whole text has it, read afresh.
                    true => parse(grammar, after, None)?,
                    false => tree,
                }
            }
        };
        self.keep(grammar, of, after.len(), &tree);
        if is_sound(&tree, after) {
            return Ok(Vec::new());
        }
        Ok(errors::new_ones(
            path,
            &errors::Side { text: before, tree: &old },
            &errors::Side { text: after, tree: &tree },
        ))
    }
}

/// Whether a text has no error.
fn is_sound(tree: &Tree, text: &str) -> bool {
    !tree.root_node().has_error() && depth::misplaced(tree, text).is_empty()
}

impl Syntax for TreeSitter {
    fn errors(&self, path: &str, text: &str) -> Result<Vec<SyntaxError>, Unchecked> {
        let grammars = grammars_of(path)?;
        if text.len() > MOST_BYTES {
            return Err(Unchecked::TooLarge);
        }
        match self.sound(grammars, text) {
            Ok(_) => Ok(Vec::new()),
            Err(Unchecked::BrokenBefore) => {
                let tree = self.tree(&grammars[0], text)?;
                Ok(errors::all(&errors::Side { text, tree: &tree }))
            }
            Err(why) => Err(why),
        }
    }

    fn compare(&self, path: &str, before: &str, after: &str, splices: &[Splice]) -> SyntaxCheck {
        SyntaxCheck::of(self.compared(path, before, after, splices))
    }

    fn definitions(&self, path: &str, text: &str) -> Result<Vec<Definition>, Unchecked> {
        let grammars = grammars_of(path)?;
        if text.len() > MOST_BYTES {
            return Err(Unchecked::TooLarge);
        }
        let (_, tree) = self.sound(grammars, text)?;
        Ok(names::definitions(tree.root_node(), text))
    }
}

fn grammars_of(path: &str) -> Result<&'static [Grammar], Unchecked> {
    match grammars::of_path(path) {
        [] => Err(Unchecked::UnknownLanguage),
        grammars => Ok(grammars),
    }
}

/// Parses a text within the bounds.
fn parse(grammar: &Grammar, text: &str, old: Option<&Tree>) -> Result<Tree, Unchecked> {
    let mut parser = Parser::new();
    if parser.set_language(&grammar.language.into()).is_err() {
        return Err(Unchecked::UnknownLanguage);
    }
    let most = MOST_REPORTS + text.len() * MOST_REPORTS_A_BYTE;
    let end = Instant::now() + MOST_TIME;
    let mut reports = 0;
    let mut watch = |_: &tree_sitter::ParseState| {
        reports += 1;
        match reports > most || reports % 16 == 0 && Instant::now() > end {
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
fn edited(tree: &mut Tree, before: &str, splices: &[Splice]) {
    for splice in splices.iter().rev() {
        let start = point(before, splice.range.start);
        let feeds = splice.text.matches('\n').count();
        let end = match splice.text.rfind('\n') {
            Some(feed) => Point::new(start.row + feeds, splice.text.len() - feed - 1),
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
    Point::new(row, at - memchr::memrchr(b'\n', head).map_or(0, |feed| feed + 1))
}
