//! What no weight can buy: each predicate names what an explanation must not do, with an example in its
//! tests and a case where it must not fire.

use super::call::{Call, Fate};
use super::costs::Difference;
use super::diff::LineOp;
use super::fold::is_word_char;
use super::indent::{IndentRule, LevelWidths, TAB_WIDTH, columns, fit};
use super::indent_of;
use super::placeholder::is_placeholder;
use super::places::Link;
use super::places::{LinkKind, Place};
use super::reading::parse_line_number;
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
    /// A placeholder is dropped or moved, and what it stands for would go or move unseen.
    UnseenLinesGo,
}

/// A text of several lines may begin or end inside a line only if the call keeps that line: a change to
/// a part of a line might have to continue in the rest of it.
pub(super) fn edge(file: &SourceFile<'_>, call: &Call<'_>, place: &Place) -> Option<Forbidden> {
    let (begins_inside, ends_inside) = place.partial_edges(file);
    let bytes = place.bytes();
    // A blank at the end of the quote, which the file lacks, ends a word: nothing goes on there.
    let goes_on =
        |c: Option<char>| c.is_some_and(|c| matches!(c, '-' | '+' | '.' | '*' | '&' | '!'));
    let lacks_blank = |line: Option<&&str>, blanks: fn(&str) -> &str| {
        line.is_some_and(|line| blanks(line).len() < line.len())
    };
    if begins_inside
        && lacks_blank(call.old.first(), str::trim_start)
        && goes_on(file.text[..bytes.start].chars().next_back())
        || ends_inside
            && lacks_blank(call.old.last(), str::trim_end)
            && goes_on(file.text[bytes.end..].chars().next())
    {
        return Some(Forbidden::PartOfChangedLine);
    }
    if call.old.len() < 2 {
        return None;
    }
    let keeps_first = call.old.first() == call.new.first();
    // A bracket at the end may be another one than that of the file if lines are added above it.
    let is_bracket = call.old.last().is_some_and(|line| !line.contains(is_word_char));
    let is_token = file.text[place.bytes().end..].starts_with([' ', '\t']);
    let adds_above = is_token && matches!(call.ops.iter().rev().nth(1), Some(LineOp::Insert(_)));
    let keeps_last = call.old.last() == call.new.last() && !(is_bracket && adds_above);
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

/// What the call adds beside a comment that it misquotes stands above or below all of the file's comment:
/// not inside it. `at` is the link of the comment, at the edge of the place.
pub(super) fn cuts_comment(
    file: &SourceFile<'_>,
    call: &Call<'_>,
    place: &Place,
    at: usize,
) -> bool {
    let lines = place.lines();
    let is_paired = |link: &Link| !link.lines.is_empty() && !link.old.is_empty();
    let is_edge = |links: &[Link]| !links.iter().any(is_paired);
    let is_comment = |line: usize| line < file.lines().len() && file.is_comment(line);
    let (above, below) = call.adds_beside(place.links[at].old.start);
    let goes_on_above = || lines.start > 0 && is_comment(lines.start - 1);
    above && is_edge(&place.links[..at]) && goes_on_above()
        || below && is_edge(&place.links[at + 1..]) && is_comment(lines.end)
}

/// A line above all that stands at the place stands elsewhere in the file, and not as the head of the block
/// there: the call shows another one.
pub(super) fn other_head(
    file: &SourceFile<'_>,
    call: &Call<'_>,
    place: &Place,
    old: usize,
) -> bool {
    let start = place.lines().start;
    let column = |line: usize| columns(indent_of(file.body(line)), TAB_WIDTH);
    let key = line_key(call.old[old]);
    let first = place.links.iter().find(|link| !link.lines.is_empty() && !link.old.is_empty());
    let width = |old: usize| columns(indent_of(call.old[old]), TAB_WIDTH);
    if !call.old[old].contains(is_word_char)
        || first.is_some_and(|first| width(old) > width(first.old.start))
    {
        return false;
    }
    let mut heads = file.lines_with_key(key).iter().map(|&line| line as usize).peekable();
    let is_around = |head: usize| {
        (head + 1..=start).filter(|&at| !file.is_blank(at)).all(|at| column(at) > column(head))
    };
    heads.peek().is_some() && !heads.any(|head| head < start && is_around(head))
}

/// A bracket alone on a line that the call deletes is another one: what explains the indentation of the
/// lines with words does not explain its own, or it has another mark behind it.
pub(super) fn other_bracket(file: &SourceFile<'_>, call: &Call<'_>, place: &Place) -> bool {
    let pairs = place.links.iter().filter(|link| link.is_pair() && link.starts_line(file));
    let pairs = pairs.filter(|link| !call.old[link.old.start].trim().is_empty());
    let (words, brackets): (Vec<&Link>, Vec<&Link>) =
        pairs.partition(|link| call.old[link.old.start].contains(is_word_char));
    let mut deleted = brackets
        .into_iter()
        .filter(|link| call.fate(link.old.start) == Fate::Deleted)
        .map(|link| (call.old[link.old.start], file.body(link.lines.start)))
        .peekable();
    if deleted.peek().is_none() || words.is_empty() {
        return false;
    }
    let indents: Vec<(&str, &str)> = words
        .iter()
        .map(|link| (call.old[link.old.start], file.body(link.lines.start)))
        .map(|(old, there)| (indent_of(old), indent_of(there)))
        .collect();
    let levels = LevelWidths::new(file, &call.old, &call.new);
    let (rules, _) = fit(&indents, levels, levels);
    let mark = |line: &str| line.trim_end().chars().next_back().filter(|c| ",;".contains(*c));
    deleted.any(|(old, there)| {
        let fits = |rule: &IndentRule| {
            rule.apply(indent_of(old)).is_some_and(|indent| indent == indent_of(there))
        };
        !rules.is_empty() && !rules.iter().any(fits)
            || mark(old).zip(mark(there)).is_some_and(|(a, b)| a != b)
    })
}

/// The evidence of lines that nobody adds a second time.
pub(super) const TELLING: f64 = 10.0;

/// What the call adds above or below all that it quotes does not stand there already.
pub(super) fn beside(file: &SourceFile<'_>, call: &Call<'_>, place: &Place) -> Option<Forbidden> {
    let added = |ops: &mut dyn Iterator<Item = &LineOp>| -> Vec<u64> {
        let has_words = |op: &&LineOp| match **op {
            LineOp::Insert(new) | LineOp::Keep(_, new) => call.new[new].contains(is_word_char),
            LineOp::Change(old, _) | LineOp::Delete(old) => call.old[old].contains(is_word_char),
        };
        let inserts = ops.filter(has_words).map_while(|op| match *op {
            LineOp::Insert(new) => Some(call.new[new]),
            _ => None,
        });
        let lines: Vec<&str> = inserts.collect();
        // A second `</div>` or `end` may be what was missing.
        match lines.iter().map(|line| file.bits(line)).sum::<f64>() < TELLING {
            true => Vec::new(),
            false => lines.into_iter().map(line_key).collect(),
        }
    };
    let lines = place.lines();
    let is_there = |added: Vec<u64>, there: &mut dyn Iterator<Item = usize>| {
        let mut there = there.filter(|&at| file.body(at).contains(is_word_char));
        !added.is_empty()
            && added.iter().all(|key| there.next().map(|at| file.keys()[at]) == Some(*key))
    };
    let reversed = |keys: Vec<u64>| keys.into_iter().rev().collect();
    let head = reversed(added(&mut call.ops.iter()));
    let tail = reversed(added(&mut call.ops.iter().rev()));
    let above = is_there(head, &mut (0..lines.start).rev());
    let below = is_there(tail, &mut (lines.end..file.lines().len()));
    (above || below).then_some(Forbidden::AddedTwice)
}

/// The call has quotes of another kind than the file, `other`, where those are no quotes of a string, and
/// it writes lines that have them.
pub(super) fn quotes(file: &SourceFile<'_>, call: &Call<'_>, other: &[char]) -> bool {
    // There, single quotes make a character or nothing.
    let is_strict = |l: &Language| {
        matches!(
            l.name,
            "json"
                | "rust"
                | "go"
                | "c"
                | "c++"
                | "objective-c"
                | "java"
                | "c#"
                | "kotlin"
                | "swift"
                | "scala"
                | "zig"
        )
    };
    if other.is_empty() || !file.language.is_some_and(is_strict) {
        return false;
    }
    let count = |line: &str| line.matches(other).count();
    call.ops.iter().any(|op| match *op {
        LineOp::Insert(new) => count(call.new[new]) > 0,
        LineOp::Change(old, new) => count(call.new[new]) > count(call.old[old]),
        LineOp::Keep(..) | LineOp::Delete(_) => false,
    })
}

/// Lines that only `new_str` has do not begin with the marks of a diff at the margin, where the text
/// around them is deeper.
pub(super) fn marks(file: &SourceFile<'_>, call: &Call<'_>) -> Option<Forbidden> {
    let is_code = file.language.is_some_and(Language::is_code);
    let has_items = file.language.is_some_and(|language| language.name == "yaml");
    let is_marked = |line: &str| {
        line.strip_prefix('+')
            .is_some_and(|rest| rest.starts_with(|c: char| " \t".contains(c) || is_word_char(c)))
            || !has_items
                && line.strip_prefix('-').is_some_and(|rest| rest.starts_with([' ', '\t']))
    };
    let is_added = |op: &LineOp| match *op {
        LineOp::Insert(new) | LineOp::Change(_, new) => is_marked(call.new[new]),
        _ => false,
    };
    let is_deep = |line: &&str| line.starts_with([' ', '\t']);
    // A line number that is left on some line of both strings.
    let is_numbered = |line: &str| parse_line_number(line).is_some() && file.language.is_some();
    let writes_number = call.ops.iter().any(|op| match *op {
        LineOp::Insert(new) | LineOp::Change(_, new) => is_numbered(call.new[new]),
        _ => false,
    });
    let is_quoted = |line: &&&str| is_numbered(line) && !file.keys().contains(&line_key(line));
    if writes_number && call.old.iter().any(|line| is_quoted(&line)) {
        return Some(Forbidden::Marks);
    }
    (is_code
        && call.ops.iter().any(is_added)
        && (call.old.iter().any(is_deep) || call.old.len() > 1)
        && !call.old.iter().any(|line| is_marked(line)))
    .then_some(Forbidden::Marks)
}

/// Whether an escape that was undone in a new line may be the text's own: in TeX `\nu` is a command, in a
/// call with `App\Models` or `C:\dir` `\new` goes on with a path, and in markup `&amp;` is a sign.
pub(super) fn may_be_own(file: &SourceFile<'_>, call: &Call<'_>, mistakes: &[Difference]) -> bool {
    let is_small = |text: &str| text.starts_with(|c: char| c.is_ascii_lowercase());
    let is_word = |text: &str| text.ends_with(is_word_char);
    let language = file.language.map_or("", |language| language.name);
    let (is_tex, is_markup) = (language == "tex", language == "html");
    let has_paths = call.old.iter().any(|line| {
        line.split('\\').skip(1).any(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()))
    });
    let may_be_command =
        |before: &str, after: &str| is_small(after) && (is_tex || has_paths && is_word(before));
    let is_added = |new: &usize| call.partner(*new).is_none_or(|old| !call.keeps(old));
    let escapes = mistakes.contains(&Difference::Unescape);
    let entities = mistakes.contains(&Difference::HtmlEntities) && is_markup;
    let has_sign =
        |line: &str| line.replace("&&", "").split('&').skip(1).any(|rest| !rest.contains(';'));
    (0..call.new.len()).filter(is_added).any(|new| {
        let line = call.new[new];
        let above = new.checked_sub(1).map(|above| call.new[above]);
        let breaks = || line.match_indices(['\t', '\r']);
        escapes
            && (above.is_some_and(|above| may_be_command(above, line))
                || breaks().any(|(at, _)| may_be_command(&line[..at], &line[at + 1..])))
            || entities && has_sign(line) && !call.old.iter().any(|line| has_sign(line))
    })
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
    // What it stands for does not move with the lines around it.
    let is_moved = |old: usize| old < call.old.len() && call.fate(old) == Fate::Moved;
    let moves = place.links.iter().filter(is_marked).any(|link| {
        !link.lines.is_empty()
            && (link.old.start > 0 && is_moved(link.old.start - 1) || is_moved(link.old.end))
    });
    // Nor does a line move over it to the other side.
    let crosses = place.links.iter().filter(is_marked).any(|link| {
        let new = (0..call.new.len()).find(|&new| call.partner(new) == Some(link.old.start));
        let Some(new) = new else { return false };
        call.ops.iter().any(|op| {
            let (LineOp::Delete(old) | LineOp::Change(old, _)) = *op else { return false };
            let (above, below) = call.new.split_at(new);
            let other_side = if old < link.old.start { below } else { above };
            let line = call.old[old].trim();
            line.contains(is_word_char) && other_side.iter().any(|other| other.trim() == line)
        })
    });
    (loses || moves || crosses).then_some(Forbidden::UnseenLinesGo)
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
