//! What a line that only the file has must not be, if the call is to be applied around it: the call does
//! not show it, so nothing says that it may stay as it is.

use std::ops::Range;

use super::call::Call;
use super::fold::plain_key;
use super::indent::depth;
use super::places::{Link, Place, begins_section};
use super::reading::is_fence;
use super::shape::{ends_in_block_word, is_among, is_branch, leaves};
use super::source_file::SourceFile;
use crate::language::TokenKind;
use crate::text::words;

/// Whether the lines of link `at`, which only the file has, forbid to apply the call around them.
pub(super) fn forbids(file: &SourceFile<'_>, call: &Call<'_>, place: &Place, at: usize) -> bool {
    other_block(file, call, place, at) || uses_old_name(file, call, &place.links[at].lines)
}

/// A run of such lines neither ends the block of the line below it nor begins its section, branch, comment
/// or literal: that would be another one than the call shows. `at` is the link of its first line.
fn other_block(file: &SourceFile<'_>, call: &Call<'_>, place: &Place, at: usize) -> bool {
    let is_full = |line: &&str| !line.trim().is_empty();
    let is_pair =
        |link: &&Link| !link.lines.is_empty() && call.old[link.old.clone()].iter().any(is_full);
    let (above, below) = place.links.split_at(at);
    let is_unseen = |link: &Link| link.lines.clone().any(|line| !file.is_blank(line));
    let is_first = !above.iter().rev().take_while(|link| !is_pair(link)).any(is_unseen);
    let Some(below) = below.iter().find(is_pair).filter(|_| is_first) else { return false };
    let from = above.iter().rev().find(is_pair).map_or(0, |link| link.old.end);
    // The head of the block may have other words in the call.
    let first = depth(call.old[below.old.start]);
    let mut head = call.old[from..below.old.start].iter();
    let shows_head = head.any(|line| is_full(line) && depth(line) < first);
    let (run, there) = (place.links[at].lines.start..below.lines.start, below.lines.start);
    let column = |line: usize| depth(file.body(line));
    let is_code = file.language.is_some_and(|language| language.is_code());
    let fences = run.clone().filter(|&line| is_fence(file.body(line))).count();
    let mut lines = run.clone().filter(|&line| !file.is_blank(line) && !file.is_comment(line));
    let begins_branch = |line: usize| {
        let text = file.body(line).trim();
        let leaves = || column(line) == column(there) && leaves(text);
        is_code && (is_branch(text) || ends_in_block_word(text) || leaves())
    };
    let begins = |line: usize| {
        begins_section(file, line) && !begins_section(file, there) || column(line) < column(there)
    };
    file.kind_across(run.start) != file.kind_across(there)
        || fences % 2 == 1
        || lines.clone().any(begins_branch)
        || !shows_head
            && (with_slides(file, &run).all(|run| is_unbalanced(file, &run)) || lines.any(begins))
}

/// A run of lines, and the same one line lower or higher where the line that it takes in is equal to the
/// one that it leaves: which of equal lines the call quotes says nothing.
fn with_slides(file: &SourceFile<'_>, run: &Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let are_equal = |a: usize, b: usize| file.keys().get(a) == file.keys().get(b);
    let lower = are_equal(run.start, run.end).then(|| run.start + 1..run.end + 1);
    let higher = (run.start > 0 && are_equal(run.start - 1, run.end - 1))
        .then(|| run.start - 1..run.end - 1);
    [Some(run.clone()), lower, higher].into_iter().flatten()
}

/// Whether lines close a bracket or an element that they do not open, or leave one open.
fn is_unbalanced(file: &SourceFile<'_>, run: &Range<usize>) -> bool {
    const MARKUP: &str = "html xml vue svelte";
    let is_markup = file.language.is_some_and(|language| is_among(MARKUP, language.name));
    let bytes = file.byte_range(run);
    let text = &file.text[bytes.clone()];
    let is_in_code = |at: usize| {
        file.lexed().is_none_or(|lexed| lexed.kind_at(bytes.start + at) == TokenKind::Code)
    };
    let mut depth = 0_i32;
    for (at, c) in text.char_indices() {
        let rest = &text[at + c.len_utf8()..];
        depth += match c {
            '<' if is_markup && rest.starts_with('/') => -1,
            '<' if is_markup && rest.starts_with(char::is_alphabetic) => 1,
            '/' if is_markup && rest.starts_with('>') => -1,
            '(' | '[' | '{' if !is_markup && is_in_code(at) => 1,
            ')' | ']' | '}' if !is_markup && is_in_code(at) => -1,
            _ => 0,
        };
        if depth < 0 {
            return true;
        }
    }
    depth != 0
}

/// Whether a line of code among these uses a name that the call renames or removes: it would have to
/// change, too.
fn uses_old_name(file: &SourceFile<'_>, call: &Call<'_>, lines: &Range<usize>) -> bool {
    let is_gone = |word: &str| call.gone_names().contains(&plain_key(word));
    let mut code = lines.clone().filter(|&line| !file.is_comment(line));
    file.language.is_some_and(|language| language.is_code())
        && code.any(|line| words(file.body(line)).any(is_gone))
}
