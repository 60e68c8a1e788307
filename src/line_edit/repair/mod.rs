//! Repairs of the new lines, each only where it is proven, each reported; what only
//! looks like a mistake is written as given, with a warning. Both line tools share them,
//! on the readings, the lexer and the indentation of the core.
//!
//! | repair | proof |
//! | --- | --- |
//! | line prefixes | every line has one, and they number the lines of this place |
//! | diff markers | the old side is the replaced lines, or every line has a mark and one of them, or its indentation, is a replaced line's |
//! | escapes | the language has no place for them, and the text without them lexes clean |
//! | merged lines | literal `\n` that splits into as many lines as were replaced, with their indentation |
//! | lost indentation | lines copied from the range show it; or the structure of the file |
//! | boundary echo | an exact copy of the surviving neighbour; and the structure of the file |
//!
//! The structure proves by veto: the file was whole (brackets, literals, and indentation
//! where that is syntax), with the lines as sent it is not, and only one way to undo the
//! mistake leaves it whole.

mod echo;
mod indentation;
mod marks;
mod merged;
mod structure;

use crate::edit::Rewrite;
use crate::language::Language;
use crate::matching::indent_of;
use crate::text::{Snapshot, pluralize};

use super::Draft;
use echo::{echo_at_head, echo_at_tail, enclosed_body};
use indentation::{copied_indentation, free_indentation};
use marks::{carriage_returns, diff_markers, prefixes};
use merged::{escapes, merged_lines};
use structure::{Structure, by_structure};

/// What was done and what the caller should look at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Notes {
    pub(super) rewrites: Vec<Rewrite>,
    pub(super) warnings: Vec<String>,
}

impl Notes {
    fn did(&mut self, rewrite: Rewrite, what: String) {
        if !self.rewrites.contains(&rewrite) {
            self.rewrites.push(rewrite);
        }
        self.warnings.push(what);
    }
}

impl Draft {
    fn old<'a>(&self, file: &'a Snapshot) -> Vec<&'a str> {
        (self.span.start..=self.span.end).filter_map(|number| file.line(number)).collect()
    }
}

/// Repairs the drafts of one call.
pub(super) fn repair(
    drafts: &mut [Draft],
    file: &Snapshot,
    language: Option<&'static Language>,
) -> Notes {
    let mut notes = Notes::default();
    for draft in drafts.iter_mut() {
        carriage_returns(draft, &mut notes);
        prefixes(draft, file, &mut notes);
        diff_markers(draft, file, language, &mut notes);
        escapes(draft, file, language, &mut notes);
        merged_lines(draft, file, language, &mut notes);
    }
    let mut structure = Structure::of(file, language, drafts);
    for at in 0..drafts.len() {
        copied_indentation(drafts, at, file, &mut structure, &mut notes);
        enclosed_body(drafts, at, file, &structure, &mut notes);
    }
    by_structure(drafts, file, &mut structure, &mut notes);
    for at in 0..drafts.len() {
        free_indentation(drafts, at, file, &structure, &mut notes);
        point_out(drafts, at, file, &mut notes);
    }
    notes
}

/// Says what looks odd and was written as sent.
fn point_out(drafts: &[Draft], at: usize, file: &Snapshot, notes: &mut Notes) {
    let draft = &drafts[at];
    let number = draft.number;
    let old = draft.old(file);
    let full: Vec<&String> = draft.lines.iter().filter(|line| !is_blank(line)).collect();
    let solid = || old.iter().filter(|line| !is_blank(line));
    let lost = solid().map(|line| indent_of(line)).min_by_key(|indent| indent.len());
    let copies = full.iter().all(|line| solid().any(|old| old.trim() == line.trim()));
    let closes = full.iter().all(|line| line.starts_with(['}', ')', ']']));
    let at_margin = |line: &&String| indent_of(line).is_empty();
    if let Some(lost) = lost.filter(|lost| !lost.is_empty())
        && full.first().is_some_and(at_margin)
        && (full.iter().all(at_margin) || !full[0].starts_with('#'))
        && !copies
        && !closes
    {
        notes.warnings.push(format!(
            "edit {number}: its lines start at column 0, and those they replace were indented by {}; written as given",
            pluralize(lost.chars().count(), "character")
        ));
    }
    let (head, tail) = (echo_at_head(drafts, at, file), echo_at_tail(drafts, at, file));
    let (before, after) = (draft.span.start.saturating_sub(1), draft.span.end + 1);
    let worded = |lines: &[String]| lines.iter().any(|line| !is_blank(line));
    if tail > 0 && worded(&draft.lines[draft.lines.len() - tail..]) {
        notes.warnings.push(format!(
            "edit {number}: its last line equals line {after}, which stays; both are there now"
        ));
    }
    if head > 0 && worded(&draft.lines[..head]) {
        notes.warnings.push(format!(
            "edit {number}: its first line equals line {before}, which stays; both are there now"
        ));
    }
}

#[derive(Clone, Copy)]
enum Way {
    Up,
    Down,
}

/// The nearest line above or below that no edit of the call replaces and that is not blank.
fn survivor<'a>(drafts: &[Draft], file: &'a Snapshot, from: usize, way: Way) -> Option<&'a str> {
    let solid = |number: usize| file.line(number).filter(|line| !is_blank(line));
    match way {
        Way::Up => (1..from).rev().filter(|n| stays(drafts, *n)).take(50).find_map(solid),
        Way::Down => {
            (from + 1..=file.lines().total()).filter(|n| stays(drafts, *n)).take(50).find_map(solid)
        }
    }
}

fn stays(drafts: &[Draft], number: usize) -> bool {
    !drafts.iter().any(|draft| (draft.span.start..=draft.span.end).contains(&number))
}

fn is_blank(line: &str) -> bool {
    line.trim().is_empty()
}
