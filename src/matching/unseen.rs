//! What a line that only the file has must not be, if the call is to be applied around it: the call does
//! not show it, so nothing says that it may stay as it is.

use std::ops::Range;

use super::call::Call;
use super::fold::plain_key;
use super::indent::depth;
use super::places::{Link, Place, begins_section};
use super::source_file::SourceFile;
use crate::text::words;

/// Whether the lines of link `at`, which only the file has, forbid to apply the call around them.
pub(super) fn forbids(file: &SourceFile<'_>, call: &Call<'_>, place: &Place, at: usize) -> bool {
    other_block(file, call, place, at) || uses_old_name(file, call, &place.links[at].lines)
}

/// The run of such lines neither ends the block of the line below it nor begins its section, comment or
/// literal: that would be another one than the call shows.
fn other_block(file: &SourceFile<'_>, call: &Call<'_>, place: &Place, at: usize) -> bool {
    let is_full = |line: &&str| !line.trim().is_empty();
    let is_pair =
        |link: &&Link| !link.lines.is_empty() && call.old[link.old.clone()].iter().any(is_full);
    let (above, below) = place.links.split_at(at);
    let Some(there) = below.iter().find(is_pair).map(|link| link.lines.start) else { return false };
    let start = above.iter().rev().find(is_pair).map_or(0, |link| link.lines.end);
    let column = |line: usize| depth(file.body(line));
    let begins = |line: usize| {
        begins_section(file, line) && !begins_section(file, there) || column(line) < column(there)
    };
    let mut lines = (start..there).filter(|&line| !file.is_blank(line) && !file.is_comment(line));
    let text = &file.text[file.byte_range(&(start..there))];
    file.language.is_some_and(|language| !language.lex(text).is_well_formed()) || lines.any(begins)
}

/// Whether a line of code among these uses a name that the call renames or removes: it would have to
/// change, too.
fn uses_old_name(file: &SourceFile<'_>, call: &Call<'_>, lines: &Range<usize>) -> bool {
    let is_gone = |word: &str| call.gone_names().contains(&plain_key(word));
    let mut code = lines.clone().filter(|&line| !file.is_comment(line));
    file.language.is_some_and(|language| language.is_code())
        && code.any(|line| words(file.body(line)).any(is_gone))
}
