//! What no weight can buy: each predicate names what an explanation must not do, with an example in its
//! tests and a case where it must not fire.

use super::call::{Call, Fate};
use super::costs::Difference;
use super::diff::LineOp;
use super::fold::is_word_char;
use super::placeholder::is_placeholder;
use super::places::Link;
use super::places::{LinkKind, Place};
use super::source_file::{SourceFile, line_key};
use crate::language::TokenKind;

/// Why an explanation is forbidden.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Forbidden {
    /// The place begins or ends inside a line whose rest the change may have to go on in.
    PartOfChangedLine,
    /// A line that the call adds stands at the place already.
    AddedTwice,
    /// White space, quotes or line breaks differ where they may mean something.
    Meaningful(Difference),
    /// Code that the call keeps has other words beside a change, or in a short quote.
    OtherWords,
    /// A placeholder is dropped or moved, and what it stands for would go or move unseen.
    UnseenLinesGo,
}

/// A text of several lines may begin or end inside a line only if the call keeps that line: a change to
/// a part of a line might have to continue in the rest of it.
pub(super) fn edge(file: &SourceFile<'_>, call: &Call<'_>, place: &Place) -> Option<Forbidden> {
    if call.old.len() < 2 {
        return None;
    }
    let (begins_inside, ends_inside) = place.partial_edges(file);
    let keeps_first = call.old.first() == call.new.first();
    let keeps_last = call.old.last() == call.new.last();
    let is_fine = (!begins_inside || keeps_first) && (!ends_inside || keeps_last);
    (!is_fine).then_some(Forbidden::PartOfChangedLine)
}

/// What only the file has at the place is not what the call adds: then the edit, or a part of it, was made.
pub(super) fn twice(file: &SourceFile<'_>, call: &Call<'_>, place: &Place) -> Option<Forbidden> {
    let extra = place.links.iter().filter(|link| link.old.is_empty());
    let extra: Vec<u64> =
        extra.flat_map(|link| link.lines.clone()).map(|line| file.keys()[line]).collect();
    let is_added = |op: &LineOp| match *op {
        LineOp::Insert(new) | LineOp::Change(_, new) => {
            call.new[new].contains(is_word_char) && extra.contains(&line_key(call.new[new]))
        }
        _ => false,
    };
    call.ops.iter().any(is_added).then_some(Forbidden::AddedTwice)
}

/// What a placeholder stands for is kept only if `new_str` has the same placeholder in its place.
pub(super) fn elision(call: &Call<'_>, place: &Place) -> Option<Forbidden> {
    let elides = place.links.iter().any(|link| link.kind == LinkKind::Elided);
    if !elides {
        return None;
    }
    let is_marked = |link: &&super::places::Link| link.kind == LinkKind::Elided;
    let loses = place.links.iter().filter(is_marked).any(|link| {
        link.old.clone().any(|old| {
            is_placeholder(call.old[old]) && !matches!(call.fate(old), Fate::Kept | Fate::Moved)
        })
    });
    // A placeholder that only new_str has stands for nothing.
    let adds = call.ops.iter().any(|op| match *op {
        LineOp::Insert(new) => is_placeholder(call.new[new]),
        LineOp::Change(old, new) => is_placeholder(call.new[new]) && !is_placeholder(call.old[old]),
        _ => false,
    });
    (loses || adds).then_some(Forbidden::UnseenLinesGo)
}

/// A line break that only one side has must mean nothing: it is no part of a comment, and where a
/// statement may end at it, the lines are inside brackets or the statement plainly goes on.
pub(super) fn reflow(file: &SourceFile<'_>, call: &Call<'_>, link: &Link) -> bool {
    let Some(language) = file.language else { return false };
    let old = &call.old[link.old.clone()];
    let has_comment =
        |text: &str| language.lex(text).tokens.iter().any(|token| token.kind == TokenKind::Comment);
    let found = &file.text[link.bytes.clone()];
    if has_comment(&old.join("\n")) || has_comment(found) {
        return true;
    }
    let ends_by_semicolon = matches!(
        language.name,
        "rust"
            | "c"
            | "c++"
            | "java"
            | "c#"
            | "php"
            | "dart"
            | "objective-c"
            | "json"
            | "protobuf"
            | "zig"
            | "sql"
    );
    let breaks_freely = |lines: &[&str]| {
        let mut depth = 0_i32;
        lines.windows(2).all(|pair| {
            for c in pair[0].chars() {
                depth += i32::from("([{".contains(c)) - i32::from(")]}".contains(c));
            }
            let (above, below) = (pair[0].trim_end(), pair[1].trim_start());
            // Go ends a statement at every line that may end one, Python at every line.
            let goes_on = language.name != "python"
                && above.ends_with(|c: char| !is_word_char(c) && !")]}\"'`;".contains(c))
                || !matches!(language.name, "python" | "go")
                    && below.starts_with(['.', '?', ':', '&', '|', '+', '*', '=']);
            // Where a block begins, and goes on after a closed one, braces may stand on lines of their own.
            let returns = ["return", "throw", "yield"].iter().any(|word| above.ends_with(word));
            let opens = below.starts_with('{') && language.name != "go" && !returns;
            let follows_block = above.ends_with('}')
                && ["else", "catch", "finally"].iter().any(|word| below.starts_with(word));
            let in_code_block = above.ends_with(['{', ';']) || below.starts_with('}');
            let in_brackets = depth > 0 || below.starts_with([')', ']']);
            in_brackets && !in_code_block
                || goes_on
                || opens
                || follows_block
                || above.ends_with('\\')
        })
    };
    !(ends_by_semicolon || breaks_freely(old) && breaks_freely(&found.lines().collect::<Vec<_>>()))
}
