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
mod scanners;
mod yaml;

use std::cell::OnceCell;
use std::collections::VecDeque;
use std::ops::{ControlFlow, Range};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tree_sitter::{InputEdit, Node, ParseOptions, Parser, Point, Tree};
use xxhash_rust::xxh3::xxh3_128;

use crate::edit::{Splice, SyntaxCheck, SyntaxError, Unchecked};
use crate::language::{Language, begins_item};
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

/// The texts of all trees that are kept have at most this many bytes together. They are kept because
/// the text after one edit is the text before the next.
const MAX_KEPT_BYTES: usize = 512 << 10;
/// The most texts about which something is kept.
const MAX_KEPT: usize = 64;

/// A stretch of items up to this size is parsed again for each edit. For a longer one, the whole text
/// is parsed at the second edit, so that its tree is there for the third.
const MAX_STRETCH: usize = 8 << 10;

/// Checks syntax and lists definitions with tree-sitter.
#[derive(Debug, Default)]
pub struct TreeSitter {
    kept: Mutex<VecDeque<Kept>>,
}

/// What is kept about a text.
#[derive(Debug, Clone)]
struct Kept {
    grammar: &'static str,
    text_hash: u128,
    text_len: usize,
    /// Whether an edit of it that has errors has brought them in, as far as is known.
    is_sound: bool,
    /// Its tree, if it was parsed as a whole.
    tree: Option<Tree>,
}

impl TreeSitter {
    /// A parser for every grammar that is built in.
    pub fn new() -> Self {
        Self::default()
    }

    /// The tree of a text, and whether the text is sound.
    fn tree(&self, grammar: &Grammar, text: &str, hash: u128) -> Result<(Tree, bool), Unchecked> {
        if let Some(Kept { tree: Some(tree), is_sound, .. }) = self.kept(grammar, hash) {
            return Ok((tree, is_sound));
        }
        let tree = parse(grammar, text, None)?;
        let is_sound = is_error_free(&tree, text);
        self.keep(grammar, hash, text.len(), is_sound, Some(&tree));
        Ok((tree, is_sound))
    }

    /// Whether something is kept about a text of this length.
    fn may_be_kept(&self, text: &str) -> bool {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().any(|kept| kept.text_len == text.len())
    }

    /// What is kept about the text with this hash.
    fn kept(&self, grammar: &Grammar, text_hash: u128) -> Option<Kept> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter()
            .find(|kept| kept.grammar == grammar.name && kept.text_hash == text_hash)
            .cloned()
    }

    /// Keeps what was found out about a text. A tree is not kept if its text is large.
    fn keep(
        &self,
        grammar: &Grammar,
        text_hash: u128,
        text_len: usize,
        is_sound: bool,
        tree: Option<&Tree>,
    ) {
        let tree = tree.filter(|_| text_len <= MAX_KEPT_BYTES).cloned();
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|kept| kept.grammar != grammar.name || kept.text_hash != text_hash);
        kept.push_front(Kept { grammar: grammar.name, text_hash, text_len, is_sound, tree });
        kept.truncate(MAX_KEPT);
        let mut bytes = 0;
        for kept in kept.iter_mut().filter(|kept| kept.tree.is_some()) {
            bytes += kept.text_len;
            if bytes > MAX_KEPT_BYTES {
                kept.tree = None;
            }
        }
    }

    /// The first grammar that parses the text without an error, and the tree; `BrokenBefore` if no
    /// grammar does.
    fn parse_without_errors(
        &self,
        grammars: &'static [Grammar],
        text: &str,
    ) -> Result<(&'static Grammar, Tree), Unchecked> {
        let hash = xxh3_128(text.as_bytes());
        for grammar in grammars {
            let (tree, is_sound) = self.tree(grammar, text, hash)?;
            if is_sound {
                return Ok((grammar, tree));
            }
        }
        Err(Unchecked::BrokenBefore)
    }

    /// The errors that an edit has brought in: those of `after`, if `before` had none. The text before
    /// is parsed only if the text after has an error.
    fn new_errors(
        &self,
        path: &str,
        before: &str,
        after: &str,
        splices: &[Splice],
    ) -> Result<Vec<SyntaxError>, Unchecked> {
        if yaml::covers(path) {
            let Some(error) = yaml::error(after)? else { return Ok(Vec::new()) };
            return match yaml::error(before)? {
                Some(_) => Err(Unchecked::BrokenBefore),
                None => Ok(vec![error]),
            };
        }
        let grammars = grammars_for(path)?;
        if before.len().max(after.len()) > MAX_BYTES {
            return Err(Unchecked::TooLarge);
        }
        if before.is_empty() {
            return self.errors(path, after);
        }
        let texts = Texts { path, before, after, splices, hash_after: OnceCell::new() };
        if self.is_sound_after(grammars, &texts) {
            return Ok(Vec::new());
        }
        let (grammar, tree_before) = self.parse_without_errors(grammars, before)?;
        let (tree_after, is_sound) = self.tree(grammar, after, texts.hash_after())?;
        if is_sound {
            return Ok(Vec::new());
        }
        Ok(errors::new_errors(
            path,
            &errors::ParsedText { text: before, tree: &tree_before },
            &errors::ParsedText { text: after, tree: &tree_after },
        ))
    }

    /// Whether an edit brings in no error, as far as can be told without parsing the text before it:
    /// by what changes in its tree, if that is kept; by the items around the edit, if they are few; or
    /// by the whole text after. Where several grammars come into question, each must say so.
    fn is_sound_after(&self, grammars: &'static [Grammar], texts: &Texts<'_>) -> bool {
        let hash_before = self.may_be_kept(texts.before).then(|| xxh3_128(texts.before.as_bytes()));
        let may_be_kept = self.may_be_kept(texts.after);
        let mut stretch = None;
        grammars.iter().all(|grammar| {
            let is_known = may_be_kept
                && self.kept(grammar, texts.hash_after()).is_some_and(|kept| kept.is_sound);
            if is_known {
                return true;
            }
            let kept_before = hash_before.and_then(|hash| self.kept(grammar, hash));
            let kept_before = kept_before.filter(|kept| kept.is_sound);
            let (tree, is_sound) = match kept_before.as_ref().and_then(|kept| kept.tree.as_ref()) {
                Some(tree) if !texts.splices.is_empty() => {
                    let Some(tree) = parse_again(grammar, texts, tree) else { return false };
                    (Some(tree), true)
                }
                _ => {
                    let items = stretch.get_or_insert_with(|| texts.stretch()).clone();
                    let is_few = items.as_ref().is_some_and(|items| {
                        items.len() <= MAX_STRETCH
                            || kept_before.is_none() && items.len() <= texts.after.len() / 2
                    });
                    match items.filter(|_| is_few).map(|items| &texts.after[items]) {
                        // What is found out about so short a text is kept under its own hash: that of
                        // the whole would take longer.
                        Some(items) if items.len() <= MAX_STRETCH => {
                            let hash = xxh3_128(items.as_bytes());
                            return items.trim().is_empty()
                                || self.tree(grammar, items, hash).is_ok_and(|(_, sound)| sound);
                        }
                        Some(items) => {
                            let parsed = parse(grammar, items, None);
                            (None, parsed.is_ok_and(|tree| is_error_free(&tree, items)))
                        }
                        None if grammars.len() > 1 => return false,
                        None => {
                            let parsed = self.tree(grammar, texts.after, texts.hash_after());
                            return parsed.is_ok_and(|(_, is_sound)| is_sound);
                        }
                    }
                }
            };
            if is_sound {
                self.keep(grammar, texts.hash_after(), texts.after.len(), true, tree.as_ref());
            }
            is_sound
        })
    }
}

/// A text before and after an edit.
struct Texts<'a> {
    path: &'a str,
    before: &'a str,
    after: &'a str,
    /// The edit; empty if the whole text may have changed.
    splices: &'a [Splice],
    hash_after: OnceCell<u128>,
}

impl Texts<'_> {
    fn hash_after(&self) -> u128 {
        *self.hash_after.get_or_init(|| xxh3_128(self.after.as_bytes()))
    }

    /// The top-level items around the edit, in the text after it. `None` if they cannot be told
    /// without parsing, or the edit makes their ends doubtful.
    fn stretch(&self) -> Option<Range<usize>> {
        let (first, last) = (self.splices.first()?, self.splices.last()?);
        let edited = first.range.start..last.range.end;
        let items = Language::from_path(self.path)?.items_around(self.before, &edited)?;
        let end = self.after.len() - (self.before.len() - items.end);
        let is_whole = items.start == 0
            || self.after[items.start..end].trim().is_empty()
            || begins_item(self.after, items.start);
        is_whole.then_some(items.start..end)
    }
}

/// The tree of the text after an edit, of which only what changes is parsed, if that is sound. The
/// text before must be sound.
fn parse_again(grammar: &Grammar, texts: &Texts<'_>, tree_before: &Tree) -> Option<Tree> {
    let mut edited = tree_before.clone();
    apply_splices(&mut edited, texts.before, texts.splices);
    let tree = parse(grammar, texts.after, Some(&edited)).ok()?;
    is_error_free(&tree, texts.after).then_some(tree)
}

/// Whether a text has neither syntax errors nor misindented Python statements.
fn is_error_free(tree: &Tree, text: &str) -> bool {
    !tree.root_node().has_error() && misindented(tree, text).is_empty()
}

/// The misindented lines of a Python text, and what is wrong with each: the grammar accepts
/// statements at any indentation, which Python does not.
fn misindented(tree: &Tree, text: &str) -> Vec<(usize, &'static str)> {
    let language = tree.language().name().and_then(Language::from_name);
    language.map(|language| language.misindented(text)).unwrap_or_default()
}

impl Syntax for TreeSitter {
    fn compare(&self, path: &str, before: &str, after: &str, splices: &[Splice]) -> SyntaxCheck {
        SyntaxCheck::of(self.new_errors(path, before, after, splices))
    }

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
                let (tree, _) = self.tree(&grammars[0], text, xxh3_128(text.as_bytes()))?;
                Ok(errors::collect_errors(&errors::ParsedText { text, tree: &tree }, &(0..0)))
            }
            Err(why) => Err(why),
        }
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

/// The nodes of a tree in the order of the text, each before the nodes in it. Nodes in one for which
/// `is_entered` does not hold are left out.
fn nodes<'t>(
    root: Node<'t>,
    is_entered: impl Fn(Node<'t>) -> bool,
) -> impl Iterator<Item = Node<'t>> {
    let mut cursor = root.walk();
    let mut next = Some(root);
    std::iter::from_fn(move || {
        let node = next?;
        let mut is_at_next = is_entered(node) && cursor.goto_first_child();
        while !is_at_next {
            is_at_next = cursor.goto_next_sibling();
            if !is_at_next && !cursor.goto_parent() {
                break;
            }
        }
        next = is_at_next.then(|| cursor.node());
        Some(node)
    })
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
