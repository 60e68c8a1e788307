//! What no weight can buy: each predicate names what an explanation must not do, with an example in its
//! tests and a case where it must not fire.

use std::ops::Range;

use super::call::{Call, Fate};
use super::costs::Difference;
use super::diff::LineOp;
use super::difference::DAMAGED;
use super::escapes::QUOTES;
use super::fold::is_word_char;
use super::indent::{IndentRule, LevelWidths, depth, fit, indent_of};
use super::made::Made;
use super::placeholder::is_placeholder;
use super::places::{Link, LinkKind, Place};
use super::reading::parse_line_number;
use super::shape::is_among;
use super::source_file::{SourceFile, line_key};
use crate::language::{Language, TokenKind};

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
    /// New lines have the marks of a diff.
    Marks,
    /// A placeholder is dropped or moved, or new lines are beyond it, and what it stands for would go or move
    /// unseen.
    UnseenLinesGo,
}

/// A text of several lines may begin or end inside a line only if the call keeps that line: a change to
/// a part of a line might have to continue in the rest of it.
pub(super) fn edge(file: &SourceFile<'_>, call: &Call<'_>, place: &Place) -> bool {
    const GOES_ON: [char; 6] = ['-', '+', '.', '*', '&', '!'];
    let (begins_inside, ends_inside) = place.partial_edges(file);
    let Range { start, end } = place.bytes();
    let (first, last) = (call.old[0], call.old[call.old.len() - 1]);
    // A blank at the end of the quote, which the file lacks, ends a word: nothing goes on there.
    let lacks_blank =
        begins_inside && first.trim_start() != first && file.text[..start].ends_with(GOES_ON)
            || ends_inside && last.trim_end() != last && file.text[end..].starts_with(GOES_ON);
    // A bracket at the end may be another one than that of the file if lines are added above it.
    let is_other_bracket = !last.contains(is_word_char)
        && file.text[end..].starts_with([' ', '\t'])
        && matches!(call.ops.iter().rev().nth(1), Some(LineOp::Insert(_)));
    let keeps_first = call.new.first() == Some(&first);
    let keeps_last = call.new.last() == Some(&last) && !is_other_bracket;
    lacks_blank
        || call.old.len() > 1 && (begins_inside && !keeps_first || ends_inside && !keeps_last)
}

/// What only the file has at the place is not what the call adds: then the edit, or a part of it, was made.
/// A part that is known as made is not added again.
pub(super) fn twice(file: &SourceFile<'_>, call: &Call<'_>, place: &Place, made: &[Made]) -> bool {
    let is_made = |at: usize| made.iter().any(|made| made.links.contains(&at));
    let links = place.links.iter().enumerate().filter(|(at, _)| !is_made(*at));
    let extra = links.map(|(_, link)| link).filter(|link| link.old.is_empty());
    let extra: Vec<&u64> = extra.flat_map(|link| &file.keys()[link.lines.clone()]).collect();
    !extra.is_empty()
        && call.written().any(|l| l.contains(is_word_char) && extra.contains(&&line_key(l)))
}

/// What the call adds beside a comment that it misquotes stands above or below all of the file's comment:
/// not inside it. `at` is the link of the comment, at the edge of the place.
pub(super) fn cuts_comment(
    file: &SourceFile<'_>,
    call: &Call<'_>,
    place: &Place,
    at: usize,
) -> bool {
    let lines = place.lines();
    let is_edge = |links: &[Link]| !links.iter().any(Link::is_paired);
    let is_comment = |line: usize| line < file.lines().len() && file.is_comment(line);
    let (above, below) = call.adds_beside(place.links[at].old.start);
    above && is_edge(&place.links[..at]) && lines.start.checked_sub(1).is_some_and(is_comment)
        || below && is_edge(&place.links[at + 1..]) && is_comment(lines.end)
}

/// A bracket alone on a line that the call deletes is another one: what explains the indentation of the
/// lines with words does not explain its own, or it has another mark behind it.
pub(super) fn other_bracket(file: &SourceFile<'_>, call: &Call<'_>, place: &Place) -> bool {
    let pairs = place.links.iter().filter(|link| link.is_pair() && link.starts_line(file));
    let lines =
        pairs.map(|l| (call.fate(l.old.start), call.old[l.old.start], file.body(l.lines.start)));
    let (words, others): (Vec<_>, Vec<_>) = lines
        .filter(|(_, old, _)| !old.trim().is_empty())
        .partition(|(_, old, _)| old.contains(is_word_char));
    let mut deleted = others.into_iter().filter(|other| other.0 == Fate::Deleted).peekable();
    if deleted.peek().is_none() || words.is_empty() {
        return false;
    }
    let indents: Vec<(&str, &str)> =
        words.iter().map(|(_, old, there)| (indent_of(old), indent_of(there))).collect();
    let levels = LevelWidths::new(file, &call.old, &call.new);
    let (rules, _) = fit(&indents, levels, levels);
    let mark = |line: &str| line.trim_end().chars().next_back().filter(|c| ",;".contains(*c));
    deleted.any(|(_, old, there)| {
        let fits =
            |rule: &IndentRule| rule.apply(indent_of(old)).as_deref() == Some(indent_of(there));
        !rules.is_empty() && !rules.iter().any(fits)
            || mark(old).zip(mark(there)).is_some_and(|(a, b)| a != b)
    })
}

/// A bracket that ends the quote is the one that stands where it was quoted, below the one that was found
/// for it: the call leaves out a line. Only a text that is not shifted as the bracket is shows that.
pub(super) fn other_closer(file: &SourceFile<'_>, call: &Call<'_>, place: &Place) -> bool {
    let pairs = place.links.iter().filter(|link| link.is_pair());
    let Some(last) = pairs.clone().next_back() else { return false };
    let (quoted, there) = (call.old[last.old.start].trim_end(), last.text(file).trim_end());
    let is_bracket = !quoted.trim().is_empty() && !quoted.contains(is_word_char);
    if !is_bracket || last.old.end < call.old.len() || quoted == there {
        return false;
    }
    let closers = (0..=last.old.start).rev();
    let mut closers = closers.take_while(|&old| !call.old[old].contains(is_word_char));
    let is_edited = closers.any(|old| {
        let (above, below) = call.cuts_beside(old);
        // What is added above several of them is above them all.
        let is_above_all = old < last.old.start && call.adds_beside(old).0;
        !call.keeps(old) || below || above && !is_above_all
    });
    let mut below = (last.lines.end..file.lines().len()).filter(|&line| !file.is_blank(line));
    let words = pairs.map(|link| (call.old[link.old.start], file.body(link.lines.start)));
    let words = words.filter(|(old, _)| old.contains(is_word_char));
    let mut indents = words.map(|(old, there)| [old, there].map(indent_of));
    is_edited
        && below.next().is_some_and(|line| file.body(line).trim_end() == quoted)
        && indents.clone().any(|[old, there]| old == there)
        && !indents.any(|pair| pair == [quoted, there].map(indent_of))
}

/// The evidence of lines that nobody adds a second time.
pub(super) const TELLING: f64 = 10.0;

/// What the call adds above or below all that it quotes does not stand there already.
pub(super) fn beside(file: &SourceFile<'_>, call: &Call<'_>, lines: &Range<usize>) -> bool {
    // The operations go from an edge of the call inwards, the lines of the file from the place outwards.
    let is_there = |ops: &mut dyn Iterator<Item = &LineOp>,
                    there: &mut dyn Iterator<Item = usize>| {
        let with_words = ops.filter(|op| call.line(op).contains(is_word_char));
        let added = with_words.take_while(|op| matches!(op, LineOp::Insert(_)));
        let added: Vec<&str> = added.map(|op| call.line(op)).collect();
        let mut there = there.filter(|&at| file.body(at).contains(is_word_char));
        let mut is_next =
            |line: &str| there.next().is_some_and(|at| file.keys()[at] == line_key(line));
        // A second `</div>` or `end` may be what was missing.
        added.iter().rev().all(|line| is_next(line))
            && added.iter().map(|line| file.bits(line)).sum::<f64>() >= TELLING
    };
    let Range { start, end } = *lines;
    is_there(&mut call.ops.iter(), &mut (0..start).rev())
        || is_there(&mut call.ops.iter().rev(), &mut (end..file.lines().len()))
}

/// The call has quotes of another kind than the file where those are no quotes of a string, and it writes
/// lines that have them.
pub(super) fn quotes(
    file: &SourceFile<'_>,
    call: &Call<'_>,
    place: &Place,
    differences: &[Option<Difference>],
) -> bool {
    // There, single quotes make a character or nothing.
    const STRICT: &str = "json rust go c c++ objective-c java c# kotlin swift scala zig";
    fn quotes_of(text: &str) -> impl Iterator<Item = char> {
        text.chars().filter(|c| QUOTES.contains(c))
    }
    if !file.language.is_some_and(|language| is_among(STRICT, language.name)) {
        return false;
    }
    let mut other = Vec::new();
    let links = place.links.iter().zip(differences);
    for (link, _) in links.filter(|(_, d)| **d == Some(Difference::Punctuation)) {
        let pairs = quotes_of(call.old[link.old.start]).zip(quotes_of(link.text(file)));
        other.extend(pairs.filter(|(sent, there)| sent != there).map(|(sent, _)| sent));
    }
    let count = |line: &str| line.matches(&other[..]).count();
    (0..call.new.len()).any(|new| {
        let before = call.partner(new).map_or(0, |old| count(call.old[old]));
        count(call.new[new]) > before
    })
}

/// Lines that only `new_str` has do not begin with the marks of a diff at the margin, where the text
/// around them is deeper, nor with a line number that is left on some line of both strings.
pub(super) fn marks(file: &SourceFile<'_>, call: &Call<'_>) -> bool {
    let has_items = file.language.is_some_and(|language| language.name == "yaml");
    let is_marked = |line: &str| {
        let is_blank = |rest: &str| rest.starts_with([' ', '\t']);
        line.strip_prefix('+').is_some_and(|rest| is_blank(rest) || rest.starts_with(is_word_char))
            || !has_items && line.strip_prefix('-').is_some_and(is_blank)
    };
    // Outside of code, it is a mark only before what is as deep as a line around it.
    let is_before_text = |line: &str| {
        let Some(rest) = line.strip_prefix('+') else { return false };
        let is_text = depth(rest) > 0 || rest.starts_with(char::is_alphabetic);
        is_text && call.old.iter().any(|old| !old.trim().is_empty() && depth(old) == depth(rest))
    };
    let has_marks = match file.language {
        Some(language) if language.is_code() => call.written().any(is_marked),
        Some(language) if matches!(language.name, "markdown" | "diff") => false,
        _ => call.written().any(is_before_text),
    };
    let is_numbered = |line: &str| file.language.is_some() && parse_line_number(line).is_some();
    let is_quoted =
        |line: &&str| is_numbered(line) && file.lines_with_key(line_key(line)).is_empty();
    call.written().any(is_numbered) && call.old.iter().any(is_quoted)
        || has_marks
            && (call.old.len() > 1 || call.old[0].starts_with([' ', '\t']))
            && !call.old.iter().any(|line| is_marked(line))
}

/// The call writes damaged characters, and a line that it quotes with them is whole in the file: they would
/// damage it.
pub(super) fn damage(file: &SourceFile<'_>, call: &Call<'_>, place: &Place) -> bool {
    let is_damaged = |line: &str| line.contains(DAMAGED);
    let mut pairs = place.links.iter().filter(|link| link.is_pair());
    call.written().any(is_damaged)
        && pairs.any(|l| is_damaged(call.old[l.old.start]) && !is_damaged(l.text(file)))
}

/// Whether an escape that was undone in a new line may be the text's own: in TeX `\nu` is a command, in a
/// call with `App\Models` or `C:\dir` `\new` goes on with a path, and in markup `&amp;` is a sign.
pub(super) fn may_be_own(file: &SourceFile<'_>, call: &Call<'_>, mistakes: &[Difference]) -> bool {
    let language = file.language.map_or("", |language| language.name);
    let has_escapes = mistakes.contains(&Difference::Unescape);
    let has_entities = mistakes.contains(&Difference::HtmlEntities) && language == "html";
    let has_paths = call.old.iter().any(|line| {
        line.split('\\').skip(1).any(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()))
    });
    let may_be_command = |before: &str, after: &str| {
        after.starts_with(|c: char| c.is_ascii_lowercase())
            && (language == "tex" || has_paths && before.ends_with(is_word_char))
    };
    let has_sign =
        |line: &str| line.replace("&&", "").split('&').skip(1).any(|rest| !rest.contains(';'));
    let is_added = |new: &usize| call.partner(*new).is_none_or(|old| !call.keeps(old));
    (0..call.new.len()).filter(is_added).any(|new| {
        let line = call.new[new];
        let mut breaks = line.match_indices(['\t', '\r']);
        has_escapes
            && (new > 0 && may_be_command(call.new[new - 1], line)
                || breaks.any(|(at, _)| may_be_command(&line[..at], &line[at + 1..])))
            || has_entities && has_sign(line) && !call.old.iter().any(|line| has_sign(line))
    })
}

/// What a placeholder stands for is kept only if `new_str` has the same placeholder in its place.
pub(super) fn elision(call: &Call<'_>, place: &Place) -> bool {
    let is_moved = |old: usize| old < call.old.len() && call.fate(old) == Fate::Moved;
    place.links.iter().filter(|link| link.kind == LinkKind::Elided).any(|link| {
        let Range { start, end } = link.old;
        let is_lost = |old: usize| is_placeholder(call.old[old]) && !call.keeps(old);
        // What it stands for does not move with the lines around it.
        let moves =
            !link.lines.is_empty() && (start.checked_sub(1).is_some_and(is_moved) || is_moved(end));
        // Nor does a line move over it to the other side.
        let crosses = |new: usize| {
            let (above, below) = call.new.split_at(new);
            (0..call.old.len()).filter(|&old| call.fate(old) != Fate::Kept).any(|old| {
                let other_side = if old < start { below } else { above };
                let line = call.old[old].trim();
                line.contains(is_word_char) && other_side.iter().any(|other| other.trim() == line)
            })
        };
        // What is added beyond one that ends or begins the quote stands where the unseen lines do.
        let is_beyond = end == call.old.len() && call.adds_beside(end - 1).1
            || start == 0 && call.adds_beside(0).0;
        link.old.clone().any(is_lost)
            || moves
            || is_beyond
            || call.successor(start).is_some_and(crosses)
    })
}

/// A line break that only one side has must mean nothing: it is no part of a comment, and where a
/// statement may end at it, the lines are inside brackets or the statement plainly goes on.
pub(super) fn reflow(language: &Language, texts: [&str; 2]) -> bool {
    let has_comment =
        |text: &str| language.lex(text).tokens.iter().any(|token| token.kind == TokenKind::Comment);
    texts.into_iter().any(|text| has_comment(text) || !breaks_freely(language, text))
}

/// Whether no line break of a statement can end it.
pub(super) fn breaks_freely(language: &Language, text: &str) -> bool {
    const ENDS_BY_SEMICOLON: &str = "rust c c++ java c# php dart objective-c json protobuf zig sql";
    let (is_python, is_go) = (language.name == "python", language.name == "go");
    let lines: Vec<&str> = text.lines().collect();
    let (mut opened, mut closed) = (0, 0);
    is_among(ENDS_BY_SEMICOLON, language.name)
        || lines.windows(2).all(|pair| {
            let (above, below) = (pair[0].trim_end(), pair[1].trim_start());
            opened += above.matches(['(', '[', '{']).count();
            closed += above.matches([')', ']', '}']).count();
            // Go ends a statement at every line that may end one, Python at every line.
            let ends_open = above.ends_with(|c: char| !is_word_char(c) && !")]}\"'`;".contains(c));
            let begins_open = below.starts_with(['.', '?', ':', '&', '|', '+', '*', '=']);
            let goes_on = !is_python && (ends_open || begins_open && !is_go);
            // Where a block begins, and goes on after a closed one, braces may stand on lines of their own.
            let returns = ["return", "throw", "yield"].iter().any(|word| above.ends_with(word));
            let opens = below.starts_with('{') && !is_go && !returns;
            let follows_block = above.ends_with('}')
                && ["else", "catch", "finally"].iter().any(|word| below.starts_with(word));
            let in_code_block =
                !is_python && (above.ends_with(['{', ';']) || below.starts_with('}'));
            let in_brackets = opened > closed || below.starts_with([')', ']', '}']);
            let is_open = in_brackets && !in_code_block || above.ends_with('\\');
            is_open || goes_on || opens || follows_block
        })
}
