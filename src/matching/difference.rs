//! How a line of the call differs from the line of the file that it is linked with.

use std::collections::HashSet;
use std::ops::Range;

use rapidfuzz::distance::indel;

use super::call::Call;
use super::costs::{ALIKE, Difference};
use super::diff::LineOp;
use super::fold::{self, is_word_char};
use super::forbidden;
use super::indent_of;
use super::places::{Link, LinkKind, Place};
use super::shape::goes_on;
use super::source_file::{SourceFile, line_key};
use crate::language::Language;
use crate::text::words;

/// How the lines of a link differ, apart from their indentation; `None` if they do not.
pub(super) fn difference(
    file: &SourceFile<'_>,
    call: &Call<'_>,
    link: &Link,
) -> Option<Difference> {
    if !link.is_paired() || link.kind == LinkKind::Elided {
        return None;
    }
    let found = link.text(file);
    if link.kind == LinkKind::Reflowed {
        let sent = call.old[link.old.clone()].join("\n");
        let join = |text: &str| text.lines().map(str::trim).collect::<Vec<_>>().join(" ");
        let is_meant = |language: &Language| forbidden::reflow(language, [&sent, found]);
        let is_reflowed = !file.language.is_some_and(is_meant)
            && fold::is_equal(&join(&sent), &join(found), Difference::Reflow);
        return Some(if is_reflowed { Difference::Reflow } else { Difference::Words });
    }
    let sent = call.old[link.old.start];
    let [believed, there] = [sent, found].map(|line| &line[indent_of(line).len()..]);
    if believed == there {
        let is_padded = !link.starts_line(file) && found.len() < sent.len();
        return is_padded.then_some(Difference::TrailingBlanks);
    }
    let line = link.lines.start;
    let classes =
        [Difference::LookAlikes, Difference::Spacing, Difference::Punctuation, Difference::Reflow];
    Some(if believed.trim_end() == there.trim_end() {
        Difference::TrailingBlanks
    } else if believed.trim().is_empty() || there.trim().is_empty() {
        Difference::Words
    } else if is_damaged(there, believed)
        || call.keeps(link.old.start) && is_damaged(believed, there)
    {
        Difference::LookAlikes
    } else if let Some(class) = classes.into_iter().find(|d| fold::is_equal(believed, there, *d)) {
        let in_literal = class > Difference::LookAlikes && file.begins_in_literal(line);
        // A statement that goes on below does not end where the call ends it.
        let goes_on = class == Difference::Punctuation
            && !call.keeps(link.old.start)
            && believed.trim_end().ends_with(';')
            && file.lines().len() > link.lines.end
            && goes_on(file.body(link.lines.end));
        let is_code = file.language.is_some_and(|language| language.is_code());
        let swaps = is_code && !file.is_comment(line) && fold::swaps_hyphens(believed, there);
        if in_literal || goes_on || swaps { Difference::Words } else { class }
    } else if is_misquoted_comment(file, believed, line, there) {
        Difference::Comment
    } else {
        Difference::Words
    })
}

/// How many characters of two lines are compared, and how many are looked for behind a damaged one.
const MAX_COMPARED: usize = 200;

/// Whether a line that the call changes reads in the file as `new_str` has it, and not as `old_str` does.
pub(super) fn is_made(file: &SourceFile<'_>, call: &Call<'_>, place: &Place, link: &Link) -> bool {
    if !link.is_pair() || call.keeps(link.old.start) {
        return false;
    }
    let there = link.text(file).trim();
    let new = call.successor(link.old.start).map(|new| call.new[new].trim());
    there != call.old[link.old.start].trim()
        && new == Some(there)
        && there.contains(is_word_char)
        && !adds_at_edge(file, call, place, link)
}

/// Whether the call adds lines at the edge of the place, beside a line that it changes, and what it replaces
/// or adds may stand beyond in another form: the call does not show that.
fn adds_at_edge(file: &SourceFile<'_>, call: &Call<'_>, place: &Place, link: &Link) -> bool {
    let old = link.old.start;
    let Some(at) = call.ops.iter().position(|op| op.old_at() == Some(old)) else { return false };
    let (believed, there) = (call.old[old].trim(), link.text(file).trim());
    // A line that the file has split lacks words, which stand beyond.
    let [before, now] = [believed, there].map(|line| words(line).collect::<HashSet<_>>());
    let lost = &before - &now;
    let may_be_split =
        now.is_subset(&before) && !is_misquoted_comment(file, believed, link.lines.start, there);
    let has_rest = |&line: &usize| words(file.body(line)).any(|word| lost.contains(word));
    let meets = |ops: &[LineOp], beyond: &[usize]| {
        let is_next = |line: &str| beyond.first().is_some_and(|&at| are_alike(line, file.body(at)));
        let lines = ops.iter().map(|op| call.line(op));
        let mut added = lines.filter(|line| line.contains(is_word_char)).peekable();
        added.peek().is_some()
            && ops.iter().all(|op| matches!(op, LineOp::Insert(_)))
            && (is_next(there) || added.any(is_next) || may_be_split && beyond.iter().any(has_rest))
    };
    let [above, below] = beyond(file, place);
    meets(&call.ops[..at], &above) || meets(&call.ops[at + 1..], &below)
}

/// The two nearest lines with text above a place, and those below.
fn beyond(file: &SourceFile<'_>, place: &Place) -> [Vec<usize>; 2] {
    let Range { start, end } = place.lines();
    let is_full = |line: &usize| !file.is_blank(*line);
    let above = (0..start).rev().filter(is_full).take(2).collect();
    [above, (end..file.lines().len()).filter(is_full).take(2).collect()]
}

/// Whether two lines are alike by letters.
fn are_alike(a: &str, b: &str) -> bool {
    let start_of = |line: &str| line.trim().chars().take(MAX_COMPARED).collect::<Vec<_>>();
    indel::normalized_similarity(start_of(a), start_of(b)) > ALIKE
}

/// The most lines that the call adds at an edge and that are compared with those beyond.
const MAX_ADDED: usize = 16;

/// Whether a line that the call adds above or below all that it quotes is like one of the next in the file.
pub(super) fn is_alike_beyond(file: &SourceFile<'_>, call: &Call<'_>, place: &Place) -> bool {
    let meets = |ops: &mut dyn Iterator<Item = &LineOp>, beyond: &[usize]| {
        let added = ops.take_while(|op| matches!(op, LineOp::Insert(_))).map(|op| call.line(op));
        let mut added = added.filter(|line| line.contains(is_word_char)).take(MAX_ADDED);
        added.any(|line| beyond.iter().any(|&at| are_alike(line, file.body(at))))
    };
    let [above, below] = beyond(file, place);
    meets(&mut call.ops.iter(), &above) || meets(&mut call.ops.iter().rev(), &below)
}

/// U+FFFD, which stands for a character that was lost on the way.
pub(super) const DAMAGED: char = char::REPLACEMENT_CHARACTER;

/// Whether a line is another one but for damaged characters: each run of U+FFFD stands for characters that
/// are not ASCII, at most as many.
pub(super) fn is_damaged(line: &str, whole: &str) -> bool {
    let (line, mut rest) = (line.trim_end(), whole.trim_end());
    let mut lost = 0;
    let mut parts = line.split(DAMAGED).peekable();
    while let Some(part) = parts.next() {
        let is_last = parts.peek().is_none();
        if !part.is_empty() || is_last {
            let gap = rest.chars().take_while(|c| !c.is_ascii()).take(lost.min(MAX_COMPARED));
            let ends = gap.scan(0, |end, c| {
                *end += c.len_utf8();
                Some(*end)
            });
            let begin = Some(0).filter(|_| lost == 0);
            let mut after = begin.into_iter().chain(ends).map(|end| &rest[end..]);
            let is_part =
                |rest: &&str| if is_last { *rest == part } else { rest.starts_with(part) };
            let Some(found) = after.find(is_part) else { return false };
            (rest, lost) = (&found[part.len()..], 0);
        }
        lost += 1;
    }
    line.contains(DAMAGED) && line.contains(|c: char| c != DAMAGED && !c.is_whitespace())
}

/// Whether two lines are comments, or the same code with another comment behind it. A line that is a
/// comment for a tool counts as code, and so does one that stands elsewhere in the file.
pub(super) fn is_misquoted_comment(
    file: &SourceFile<'_>,
    believed: &str,
    line: usize,
    there: &str,
) -> bool {
    let Some(language) = file.language.filter(|language| language.is_code()) else { return false };
    if !file.lines_with_key(line_key(believed)).is_empty() {
        return false;
    }
    match (file.is_comment(line), language.is_comment(believed)) {
        (true, true) => !is_directive(believed) && !is_directive(there),
        (false, false) => {
            let [a, b] = [believed, there].map(|text| language.strip_trailing_comment(text).trim());
            a == b && a.contains(is_word_char)
        }
        _ => false,
    }
}

/// Whether a line of the call is a comment that stands nowhere in the file.
pub(super) fn is_unknown_comment(file: &SourceFile<'_>, line: &str) -> bool {
    file.language.is_some_and(|language| language.is_code() && language.is_comment(line))
        && !line.trim_start().starts_with('*')
        && !is_directive(line)
        && file.lines_with_key(line_key(line)).is_empty()
}

/// Whether a comment is an instruction to a tool, such as `//go:build`, `#!/bin/sh` or `# noqa`.
fn is_directive(comment: &str) -> bool {
    let text = comment.trim().trim_start_matches(['/', '#', '*', '-', ';', '%']);
    text.starts_with(['!', '['])
        || !text.starts_with(char::is_whitespace)
            && text.split_whitespace().next().is_some_and(|word| word.contains(':'))
}

/// Whether a line is another one with something put in.
pub(super) fn has_grown(line: &str, grown: &str) -> bool {
    if line.len() >= grown.len() {
        return false;
    }
    let is_same = |(a, b): &(u8, u8)| a == b;
    let head = line.bytes().zip(grown.bytes()).take_while(is_same).count();
    let rest = line.bytes().rev().zip(grown.bytes().rev());
    rest.take(line.len() - head).all(|pair| is_same(&pair))
}
