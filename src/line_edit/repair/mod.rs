//! Repairs of the new lines, shared by both line tools. A repair is made only if it is proven, and is
//! always reported; what only looks like a mistake is written as sent, with a warning.
//!
//! | repair | proof |
//! | --- | --- |
//! | line prefixes | every line has one, and they number the lines of this place; or an anchor that is that of the line with its number |
//! | diff markers | the old side is the replaced lines; or every line has a marker, and the file is code without such lines |
//! | escapes | the language does not allow them there, and the text without them lexes clean |
//! | merged lines | literal `\n` that splits into as many lines as were replaced, with their indentation; or old lines that stand in it, which the parser takes only as lines |
//! | lost indentation | lines copied from the range show it; or the structure of the file |
//! | boundary echo | an exact copy of the surviving neighbours: lines that the file has once; or the structure of the file |
//!
//! The structure proves by elimination: the file was well formed (brackets, literals, and
//! indentation where that is syntax), with the lines as sent it is not, and only one way to undo
//! the mistake leaves it well formed.

mod echo;
mod indentation;
mod marks;
mod merged;
mod structure;

use std::collections::HashSet;

use crate::edit::Rewrite;
use crate::language::Language;
use crate::matching::indent_of;
use crate::text::{Snapshot, pluralize};

use super::{AddsErrors, LocatedEdit};
use marks::{strip_carriage_returns, strip_diff_markers, strip_line_prefixes};
use merged::{split_merged_lines, unescape_lines};
use structure::Structure;

/// The repairs that were made, and warnings for the caller.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct RepairLog {
    pub(super) rewrites: Vec<Rewrite>,
    pub(super) warnings: Vec<String>,
}

impl RepairLog {
    /// Records a repair and its message.
    fn record(&mut self, rewrite: Rewrite, what: String) {
        if !self.rewrites.contains(&rewrite) {
            self.rewrites.push(rewrite);
        }
        self.warnings.push(what);
    }
}

impl LocatedEdit {
    /// The lines of the file that the edit replaces.
    fn replaced_lines<'a>(&self, file: &'a Snapshot) -> Vec<&'a str> {
        (self.span.start..=self.span.end).filter_map(|number| file.line(number)).collect()
    }
}

/// The edits of one call while they are repaired.
struct Repair<'a> {
    edits: &'a mut [LocatedEdit],
    file: &'a Snapshot,
    structure: Structure<'a>,
    log: RepairLog,
}

/// Repairs the edits of one call, and returns what was repaired and what looks odd.
pub(super) fn repair(
    edits: &mut [LocatedEdit],
    file: &Snapshot,
    language: Option<&'static Language>,
    adds_errors: AddsErrors<'_>,
) -> RepairLog {
    let mut log = RepairLog::default();
    for edit in edits.iter_mut() {
        strip_carriage_returns(edit, &mut log);
        strip_line_prefixes(edit, file, &mut log);
        strip_diff_markers(edit, file, language, &mut log);
        unescape_lines(edit, file, language, &mut log);
        split_merged_lines(edit, file, language, adds_errors, &mut log);
    }
    let structure = Structure::of(file, language, edits);
    let mut repair = Repair { edits, file, structure, log };
    for at in 0..repair.edits.len() {
        repair.restore_copied_indentation(at);
        repair.drop_enclosing_copies(at);
        repair.drop_telling_copies(at);
    }
    repair.repair_by_structure();
    for at in 0..repair.edits.len() {
        repair.restore_free_indentation(at);
        repair.warn_about_oddities(at);
    }
    repair.log
}

impl Repair<'_> {
    /// Warns about what looks odd and was written as sent.
    fn warn_about_oddities(&mut self, at: usize) {
        let edit = &self.edits[at];
        let number = edit.number;
        let replaced = edit.replaced_lines(self.file);
        let old_lines = || replaced.iter().filter(|line| !is_blank(line));
        let new_lines: Vec<&String> = edit.lines.iter().filter(|line| !is_blank(line)).collect();
        let old_indent = old_lines().map(|line| indent_of(line)).min_by_key(|indent| indent.len());
        let old_texts = texts_of(&replaced);
        let are_copies = new_lines.iter().all(|line| old_texts.contains(line.trim()));
        let are_closing = new_lines.iter().all(|line| line.starts_with(['}', ')', ']']));
        let is_at_margin = |line: &&String| indent_of(line).is_empty();
        if let Some(old_indent) = old_indent.filter(|indent| !indent.is_empty())
            && new_lines.first().is_some_and(is_at_margin)
            && (new_lines.iter().all(is_at_margin) || !new_lines[0].starts_with('#'))
            && !are_copies
            && !are_closing
        {
            self.log.warnings.push(format!(
                "edit {number}: its lines start at column 0, but those they replace were indented by {}; written as given",
                pluralize(old_indent.chars().count(), "character")
            ));
        }
        let (head, tail) = (self.echo_at_head(at), self.echo_at_tail(at));
        let (before, after) = (edit.span.start.saturating_sub(1), edit.span.end + 1);
        let has_text = |lines: &[String]| lines.iter().any(|line| !is_blank(line));
        if tail > 0 && has_text(&edit.lines[edit.lines.len() - tail..]) {
            self.log.warnings.push(format!(
                "edit {number}: its last line equals line {after}, which stays; both are there now"
            ));
        }
        if head > 0 && has_text(&edit.lines[..head]) {
            self.log.warnings.push(format!(
                "edit {number}: its first line equals line {before}, which stays; both are there now"
            ));
        }
    }

    /// The nearest line above or below `from` that is not blank and that no edit of the call replaces.
    fn nearest_surviving_line(&self, from: usize, direction: Direction) -> Option<&str> {
        let nonblank = |number: usize| self.file.line(number).filter(|line| !is_blank(line));
        match direction {
            Direction::Up => {
                (1..from).rev().filter(|n| self.is_kept(*n)).take(50).find_map(nonblank)
            }
            Direction::Down => (from + 1..=self.file.lines().total())
                .filter(|n| self.is_kept(*n))
                .take(50)
                .find_map(nonblank),
        }
    }

    /// Whether no edit replaces the line of this number.
    fn is_kept(&self, number: usize) -> bool {
        !self.edits.iter().any(|edit| edit.span.contains(number))
    }
}

#[derive(Clone, Copy)]
enum Direction {
    Up,
    Down,
}

/// The texts of lines, without their blanks, to look one up: a call may have as many lines as a file.
fn texts_of<'a>(lines: &[&'a str]) -> HashSet<&'a str> {
    lines.iter().map(|line| line.trim()).collect()
}

fn is_blank(line: &str) -> bool {
    line.trim().is_empty()
}
