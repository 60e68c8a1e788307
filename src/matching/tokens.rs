//! Merging inside a line: what the call kept of `old` is taken from the file, what it
//! changed is taken from `new`.

use std::collections::HashMap;
use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices};
use unicode_normalization::char::is_combining_mark;

use super::canon::{Canonical, Fold, LiteralEnds, canonical, is_prefix, is_word, parts};
use super::code::{Slashes, code_of, ends_statement, heads_a_block, is_comment, without_comment};
use super::style::{DOUBLE, EditMap, SINGLE};

/// Cuts a text into words, runs of white space and single other characters.
pub(super) fn tokens(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut start = 0;
    let mut last: Option<char> = None;
    for (at, c) in text.char_indices() {
        if let Some(before) = last {
            let joined = is_combining_mark(c)
                || is_word(before) && is_word(c)
                || before.is_whitespace() && c.is_whitespace();
            if !joined {
                out.push(&text[start..at]);
                start = at;
            }
        }
        last = Some(c);
    }
    if start < text.len() {
        out.push(&text[start..]);
    }
    out
}

/// Where a changed line stands in the new text.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Place {
    /// It is no end of a statement.
    pub(super) goes_on: bool,
    /// What holds it is something else than what held the old line.
    pub(super) moved: bool,
    /// What two slashes are.
    pub(super) slashes: Slashes,
}

/// The file's line with the change from `old` to `new` made in it. `None` when the
/// lines are not the same under any fold, so that the change cannot be placed, or when
/// nothing tells how the file would write what is new.
pub(super) fn merge(
    old: &str,
    file: &str,
    new: &str,
    map: &EditMap,
    place: Place,
) -> Option<String> {
    if old == file && *map == EditMap::default() {
        return Some(new.to_owned());
    }
    // Both strings in the file's style first, so that a literal is turned as a whole.
    let (sent, old, new) = (old, &map.apply(old), &map.apply(new));
    let (core_old, core_new, core_file) = (old.trim_end(), new.trim_end(), file.trim_end());
    // A line that is only commented out keeps its end.
    if let Some(mark) = core_new.strip_suffix(core_old).map(str::trim)
        && ["//", "#", "--", "%", ";"].contains(&mark)
    {
        let head = &core_new[..core_new.len() - core_old.len()];
        return Some(format!("{head}{core_file}") + tail_of(old, file, &new[core_new.len()..]));
    }
    let folds = [Fold::LookAlike, Fold::Spacing, Fold::Punctuation];
    let (fold, a, b) = folds.into_iter().find_map(|fold| {
        let (a, b) = (canonical(core_old, fold), canonical(core_file, fold));
        let same = a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| a.c == b.c);
        same.then_some((fold, a, b))
    })?;
    if core_old == core_new {
        return Some(core_file.to_owned() + tail_of(old, file, &new[core_new.len()..]));
    }
    if is_torn(core_old, core_file, core_new, &a, &b) || map.leaves_literals(sent, core_new) {
        return None;
    }
    // The `,` or `;` at the end belongs to the line, whatever stands before it.
    let mark = |text: &str| {
        let mark = text.chars().next_back().filter(|c| matches!(c, ',' | ';'));
        mark.filter(|_| fold == Fold::Punctuation)
    };
    let (was, is) = (mark(core_old), mark(core_file));
    let apart = was != is;
    let body = |text: &'_ str| match mark(text) {
        Some(_) if apart => text[..text.len() - 1].trim_end().len(),
        _ => text.len(),
    };
    let (body_old, body_new) = (&core_old[..body(core_old)], &core_new[..body(core_new)]);
    let units = units(body_old, &core_file[..body(core_file)], &a, &b);
    let merged =
        Line { old: body_old, file: core_file, new: body_new, units }.merge(map.has_letters())?;
    let mut out = merged;
    if apart {
        let own = mark(core_new);
        // A comment is text, whose lines end as they did.
        let comment = is_comment(core_file) && is_comment(core_new);
        let meant = is == Some(';') && (place.goes_on || map.ends_statements() && !comment)
            || is == Some(',') && place.moved;
        let code = match is_comment(&out) {
            true => out.len(),
            false => code_of(&out, place.slashes).trim_end().len(),
        };
        let fits = comment || fits(&out[..code], is, core_file);
        // What closes brackets and closes others now may end a statement, or no longer.
        let closer = |text: &str| text.chars().all(|c| matches!(c, ')' | ']' | '}' | ';'));
        if is == Some(';') && own == was && !fits && closer(core_file) && closer(&out) {
            return None;
        }
        let placed = own == was && !meant && fits;
        match if placed { is } else { own } {
            // With the blanks that the file has before it.
            Some(_) if placed => out.insert_str(code, &core_file[body(core_file)..]),
            mark => out.extend(mark),
        }
    }
    // A typographic quote needs no escape; it went with the plain one.
    for quote in DOUBLE.chars().chain(SINGLE.chars()) {
        let escaped = format!("\\{quote}");
        if out.contains(&escaped) && !file.contains(&escaped) && !new.contains(&escaped) {
            out = out.replace(&escaped, &quote.to_string());
        }
    }
    Some(out + tail_of(old, file, &new[core_new.len()..]))
}

/// Blanks at the end of a line: those that the call has behind both strings are the call's
/// habit, and not the file's.
fn tail_of<'a>(old: &str, file: &'a str, tail: &'a str) -> &'a str {
    let habit = !tail.is_empty() && *tail == old[old.trim_end().len()..];
    if habit { &file[file.trim_end().len()..] } else { tail }
}

/// Whether a text can end in the mark that the file's line ends in, or in none as that one.
fn fits(text: &str, mark: Option<char>, file: &str) -> bool {
    let end = |text: &str| text.trim_end_matches([',', ';']).trim_end().chars().next_back();
    match mark {
        // The mark that is the body of a loop stays one.
        Some(';') if heads_a_block(text) => heads_a_block(file.trim_end_matches(';')),
        Some(';') if text.trim_start().starts_with(['<', '#']) => false,
        Some(';') => {
            let a_type = text.ends_with('>') && !text.ends_with("=>");
            end(text) == end(file) || ends_statement(text, None) || closes_all(text) || a_type
        }
        Some(_) => !text.ends_with(['{', '(', '[']),
        // A statement that is empty but for its `;`, as the body of a loop.
        None => !heads_a_block(text),
    }
}

/// Whether a text ends in a bracket, and none is open then.
fn closes_all(text: &str) -> bool {
    let count = |brackets: [char; 3]| text.matches(brackets).count();
    text.ends_with([')', ']', '}']) && count(['(', '[', '{']) == count([')', ']', '}'])
}

/// Whether the file has some plain quotes of the call as typographic ones and others as
/// they are, and the change brings more of them: nothing tells what those are.
fn is_torn(old: &str, file: &str, new: &str, a: &[Canonical], b: &[Canonical]) -> bool {
    ['"', '\''].into_iter().any(|quote| {
        let as_file = |(a, b): (&Canonical, &Canonical)| {
            old[a.range()].starts_with(quote).then(|| file[b.range()].starts_with(quote))
        };
        let pairs: Vec<bool> = a.iter().zip(b).filter_map(as_file).collect();
        pairs.contains(&true)
            && pairs.contains(&false)
            && new.matches(quote).count() > old.matches(quote).count()
    })
}

/// A token of the old line, or several that are one character of the file's, with where
/// it stands in both.
struct Unit {
    old: Range<usize>,
    file: Range<usize>,
}

/// The tokens of the old line and what they are in the file's. What has no part in the
/// canonical form, such as white space, lies between them.
fn units(old: &str, file: &str, a: &[Canonical], b: &[Canonical]) -> Vec<Unit> {
    let mut units: Vec<Unit> = Vec::new();
    let mut at = 0;
    let mut open: Option<usize> = None;
    for token in tokens(old) {
        let range = at..at + token.len();
        at = range.end;
        if token.trim().is_empty() {
            open = None;
            continue;
        }
        let count = |offset: usize| a.partition_point(|c| c.end <= offset);
        let (from, to) = (count(range.start), count(range.end));
        let start = open.unwrap_or(range.start);
        if from == to {
            // The start of what the file has as one sign; what cannot be seen is no token.
            let begun = a.get(from).is_some_and(|sign| sign.start <= start);
            open = begun.then_some(start);
            continue;
        }
        open = None;
        let place = b[from].start.min(file.len())..b[to - 1].end.min(file.len());
        match units.last_mut() {
            Some(last) if last.file.end > place.start => {
                last.old.end = range.end;
                last.file.end = place.end.max(last.file.end);
            }
            _ => units.push(Unit { old: start..range.end, file: place }),
        }
    }
    units
}

/// One line in three versions.
struct Line<'a> {
    old: &'a str,
    file: &'a str,
    new: &'a str,
    units: Vec<Unit>,
}

impl Line<'_> {
    fn merge(&self, letters: bool) -> Option<String> {
        let olds: Vec<&str> = self.units.iter().map(|unit| &self.old[unit.old.clone()]).collect();
        let news = self.new_tokens(&olds);
        let texts: Vec<&str> = news.iter().map(|range| &self.new[range.clone()]).collect();
        let ops = capture_diff_slices(Algorithm::Myers, &olds, &texts);
        // For each new token the old one that it is, and for what is new what it replaces.
        let mut kept: Vec<Option<usize>> = vec![None; news.len()];
        let mut replaced: Vec<Range<usize>> = vec![0..0; news.len()];
        for op in ops {
            let (old, new) = (op.old_range(), op.new_range());
            match op {
                DiffOp::Equal { .. } => new.zip(old).for_each(|(n, o)| kept[n] = Some(o)),
                _ => new.for_each(|n| replaced[n] = old.clone()),
            }
        }
        let spacing = Spacing {
            line: self,
            news: &news,
            kept: &kept,
            literals: literals(self.new),
            patterns: patterns(self.new),
            code: if is_comment(self.new) { 0 } else { without_comment(self.new).len() },
        };
        let habits = spacing.habits();
        let mut out = String::new();
        for (n, range) in news.iter().enumerate() {
            if n > 0 {
                let gap = spacing.gap(n, &replaced, &habits)?;
                let joined = gap.is_empty() && !spacing.own(n).is_empty();
                let first = self.text(&kept, n, range).chars().next();
                let parts = out.chars().next_back().zip(first).is_some_and(|(a, b)| parts(a, b));
                out.push_str(if joined && parts { spacing.own(n) } else { gap });
            }
            out.push_str(self.text(&kept, n, range));
        }
        self.keeps_quotes(&kept, &news, letters).then_some(out)
    }

    /// A token of the result: the file's where the call keeps it.
    fn text(&self, kept: &[Option<usize>], n: usize, range: &Range<usize>) -> &str {
        match kept[n] {
            Some(o) => &self.file[self.units[o].file.clone()],
            None => &self.new[range.clone()],
        }
    }

    /// The tokens of the new line, with those together that are one unit of the old one.
    fn new_tokens(&self, olds: &[&str]) -> Vec<Range<usize>> {
        let wide: Vec<Vec<&str>> =
            olds.iter().map(|old| tokens(old)).filter(|parts| parts.len() > 1).collect();
        let all = tokens(self.new);
        let mut out = Vec::new();
        let (mut at, mut n) = (0, 0);
        while n < all.len() {
            let many = wide.iter().find(|parts| all[n..].starts_with(parts)).map_or(1, Vec::len);
            let text: usize = all[n..n + many].iter().map(|token| token.len()).sum();
            if !all[n].trim().is_empty() {
                out.push(at..at + text);
            }
            at += text;
            n += many;
        }
        out
    }

    /// Whether each literal of the result still means what the new line has there, although
    /// its quotes are the file's.
    fn keeps_quotes(&self, kept: &[Option<usize>], news: &[Range<usize>], letters: bool) -> bool {
        literals(self.new).iter().all(|literal| {
            let ends = [literal.start, literal.end - 1];
            let turned: Vec<bool> = ends
                .iter()
                .map(|end| {
                    let at = news.iter().position(|range| range.start == *end);
                    at.is_some_and(|n| {
                        let file = self.text(kept, n, &news[n]);
                        file != &self.new[news[n].clone()] && file.len() == 1
                    })
                })
                .collect();
            let inside = &self.new[literal.start + 1..literal.end - 1];
            let plain = !inside.contains(['\\', '$', '"', '\'', '`']) && !inside.contains("#{");
            !turned.contains(&true) || turned[0] == turned[1] && plain && !letters
        })
    }
}

/// The string literals of a line, quotes included.
pub(super) fn literals(line: &str) -> Vec<Range<usize>> {
    let patterns = if line.contains('/') { patterns(line) } else { Vec::new() };
    let mut patterns = patterns.into_iter().peekable();
    let chars: Vec<(usize, char)> = line.char_indices().collect();
    let mut ends = LiteralEnds::default();
    let mut out = Vec::new();
    let mut at = 0;
    while at < chars.len() {
        let (start, c) = chars[at];
        while patterns.next_if(|pattern| pattern.end <= start).is_some() {}
        if patterns.peek().is_some_and(|pattern| pattern.contains(&start)) {
            at += 1;
            continue;
        }
        let apostrophe = c == '\''
            && at > 0
            && is_word(chars[at - 1].1)
            && !is_prefix(line[..start].chars().rev());
        if matches!(c, '"' | '\'' | '`')
            && !apostrophe
            && let Some(end) = ends.of(&chars, |(_, c)| *c, at)
        {
            out.push(start..chars[end].0 + 1);
            at = end;
        }
        at += 1;
    }
    out
}

/// The patterns between two slashes, as JavaScript and others write regular expressions:
/// where an operand can stand.
pub(super) fn patterns(line: &str) -> Vec<Range<usize>> {
    const MOST: usize = 1_000;
    let mut out: Vec<Range<usize>> = Vec::new();
    let mut at = 0;
    while let Some(open) = line[at..].find('/').map(|found| at + found) {
        at = open + 1;
        let before = line[..open].trim_end();
        let operand = before.is_empty()
            || before.ends_with(['(', ',', '=', ':', '[', '!', '&', '|', '?', '{', '}', ';', '~']);
        if !operand || line[at..].starts_with(['/', '*', ' ']) {
            at += usize::from(line[at..].starts_with('/'));
            continue;
        }
        let (mut escaped, mut class) = (false, false);
        // So long is no pattern, and no line is read over and over.
        let end = line[at..].char_indices().take(MOST).find(|(_, c)| {
            let end = *c == '/' && !escaped && !class;
            class = !escaped && (*c == '[' || class && *c != ']') || class && escaped;
            escaped = *c == '\\' && !escaped;
            end
        });
        if let Some((length, _)) = end {
            out.push(open..at + length + 1);
            at += length + 1;
        }
    }
    out
}

/// The white space between the tokens of a line.
struct Spacing<'a> {
    line: &'a Line<'a>,
    news: &'a [Range<usize>],
    kept: &'a [Option<usize>],
    /// The literals of the new line, its patterns, and where its comment begins.
    literals: Vec<Range<usize>>,
    patterns: Vec<Range<usize>>,
    code: usize,
}

/// Between which tokens the call leaves other white space than the file: `None` where
/// it does now so, now otherwise.
type Habits<'a> = HashMap<Between, Option<(&'a str, &'a str)>>;

/// What two tokens are to each other, as far as the space between them goes: the last and
/// the first character, or the one of them that stands for itself.
type Between = (Option<char>, Option<char>);

impl<'a> Spacing<'a> {
    /// What the new line has before a token.
    fn own(&self, n: usize) -> &'a str {
        &self.line.new[self.news[n - 1].end..self.news[n].start]
    }

    /// What the old line and the file's have behind a unit, if there is another one.
    fn between(&self, o: usize) -> Option<(&'a str, &'a str)> {
        let Line { old, file, ref units, .. } = *self.line;
        let (unit, next) = (&units[o], units.get(o + 1)?);
        Some((&old[unit.old.end..next.old.start], &file[unit.file.end..next.file.start]))
    }

    fn keys(&self, n: usize) -> Vec<Between> {
        let text = |n: usize| &self.line.new[self.news[n].clone()];
        keys(text(n - 1), text(n))
    }

    /// Whether a new token is of the kind of the old one: a word, a bracket, a mark or an
    /// operator.
    fn is_like(&self, n: usize, o: usize) -> bool {
        let Line { old, new, ref units, .. } = *self.line;
        let kind = |text: &str| match text.chars().next() {
            Some(c) if is_word(c) || matches!(c, '"' | '\'' | '`') => 'w',
            Some(c @ ('(' | '[' | '{' | ')' | ']' | '}')) => c,
            Some(',' | ';') => ',',
            _ => '=',
        };
        units
            .get(o)
            .is_some_and(|unit| kind(&new[self.news[n].clone()]) == kind(&old[unit.old.clone()]))
    }

    fn in_literal(&self, n: usize) -> bool {
        let at = self.news[n].start;
        self.literals.iter().any(|literal| literal.start < at && at < literal.end)
    }

    fn habits(&self) -> Habits<'a> {
        let Line { old, ref units, .. } = *self.line;
        let old_literals = literals(old);
        let mut habits: Habits<'a> = HashMap::new();
        for o in 0..units.len().saturating_sub(1) {
            let (here, next) = (&units[o].old, &units[o + 1].old);
            let inside =
                |literal: &Range<usize>| literal.start < next.start && next.start < literal.end;
            let Some(gap) = self.between(o) else { continue };
            // Where lines break is no matter of spacing.
            if !old_literals.iter().any(inside) && !gap.0.contains('\n') && !gap.1.contains('\n') {
                for key in keys(&old[here.clone()], &old[next.clone()]) {
                    let known = habits.entry(key).or_insert(Some(gap));
                    *known = known.filter(|known| *known == gap);
                }
            }
        }
        // A new line that has the file's way anywhere does not have the call's habit.
        for n in 1..self.news.len() {
            for key in self.keys(n).into_iter().filter(|_| !self.in_literal(n)) {
                if let Some(habit) = habits.get_mut(&key) {
                    *habit = habit.filter(|(old, file)| old == file || self.own(n) == *old);
                }
            }
        }
        habits
    }

    /// What stands before a new token in the result. `None` where the file's habit may hold
    /// or not.
    fn gap(&self, n: usize, replaced: &[Range<usize>], habits: &Habits<'a>) -> Option<&'a str> {
        let own = self.own(n);
        let text = |n: usize| &self.line.new[self.news[n].clone()];
        // Two signs side by side are one operator, unless the second is a prefix.
        let sign = |n: usize, of: fn(&str) -> Option<char>| {
            of(text(n)).filter(|c| "=<>:+-*/%&|^!~?".contains(*c))
        };
        let (left, right) =
            (sign(n - 1, |text| text.chars().next_back()), sign(n, |text| text.chars().next()));
        let operator = own.is_empty()
            && left
                .zip(right)
                .is_some_and(|(left, right)| left != '=' || !"-+!&*~".contains(right))
            || own.is_empty() && text(n - 1).ends_with('.') && text(n).starts_with('=');
        if operator {
            return Some(own);
        }
        // What the call keeps is the file's, in spite of the old line's.
        let three_way = |between: Option<(&'a str, &'a str)>| {
            between.and_then(|(old, file)| (own == old).then_some(file))
        };
        let inside = self.in_literal(n);
        let same = match (self.kept[n - 1], self.kept[n]) {
            (Some(left), Some(right)) if left + 1 == right => {
                let between = self.between(left);
                let literal = inside && between.is_some_and(|(old, _)| old.is_empty());
                three_way(between.filter(|_| !literal))
            }
            // Something between them is gone.
            (Some(left), Some(right)) => three_way(self.between(left))
                .or_else(|| right.checked_sub(1).and_then(|o| three_way(self.between(o)))),
            (Some(left), None)
                if replaced[n].start == left + 1
                    && !replaced[n].is_empty()
                    && self.is_like(n, replaced[n].start)
                    || is_bracket(&self.line.old[self.line.units[left].old.clone()], "([{") =>
            {
                three_way(self.between(left))
            }
            (None, Some(right))
                if replaced[n - 1].end == right
                    && !replaced[n - 1].is_empty()
                    && self.is_like(n - 1, right - 1)
                    || is_bracket(&self.line.old[self.line.units[right].old.clone()], ")]}") =>
            {
                right.checked_sub(1).and_then(|o| three_way(self.between(o)))
            }
            _ => None,
        };
        let habit = || {
            let known = self.keys(n).into_iter().find_map(|key| habits.get(&key));
            let (old, file) = (*known?)?;
            (own == old && !inside).then_some(file)
        };
        match same {
            Some(same) => Some(same),
            None => match habit().filter(|habit| *habit != own) {
                Some(_) if self.news[n].start >= self.code => Some(own),
                Some(habit) => self.is_code(n).then_some(habit),
                None => Some(own),
            },
        }
    }

    /// Whether white space before a token is a matter of style for sure, and not a part of a
    /// path, an option, a pattern, a value without quotes or a comment.
    fn is_code(&self, n: usize) -> bool {
        let new = self.line.new;
        let (left, right) = (&self.news[n - 1], &self.news[n]);
        let within = |range: &Range<usize>| range.start < right.start && left.end < range.end;
        if new[left.clone()] == *"\\" || self.patterns.iter().any(within) {
            return false;
        }
        let sign = |text: &str| text.chars().next().filter(|c| !is_word(*c));
        let signs = [sign(&new[left.clone()]), sign(&new[right.clone()])];
        let bracket = |c: &char| "()[]{}\"'`".contains(*c);
        // The run of characters without a blank that the place is in.
        let before = new[..left.end].rsplit(char::is_whitespace).next().unwrap_or_default();
        let start = left.end - before.len();
        let end = new[right.start..].find(char::is_whitespace);
        let run = &new[start..end.map_or(new.len(), |at| right.start + at)];
        if run.starts_with('-') || run.contains("://") || run.contains("](") {
            return false;
        }
        let Some(sign) = signs.into_iter().flatten().find(|c| !bracket(c)) else {
            // A brace amid a word is a count.
            let count = new[right.clone()] == *"{" && new[right.end..].starts_with(is_word);
            return !count || new[..left.end].ends_with([' ', '(', '[', '{']);
        };
        if matches!(sign, ',' | ';') {
            return true;
        }
        let at = if new[right.clone()].starts_with(sign) { right.start } else { left.start };
        // The second of two such signs in one item is part of a value.
        let item = new[..at].rfind([',', ';', '(', ')', '{', '}', '[', ']']).map_or(0, |at| at + 1);
        let again = matches!(sign, ':' | '=') && new[item..at].contains(sign);
        let named = sign == '-' && {
            let letter = |range: &Range<usize>| new[range.clone()].starts_with(char::is_alphabetic);
            letter(left) || letter(right)
        };
        let typed = matches!(sign, '<' | '>') && self.own(n).is_empty();
        !again && !named && !typed && !run.contains(['/', '\\', '?', '%', '@', '~', '$', '#', '^'])
    }
}

fn is_bracket(token: &str, of: &str) -> bool {
    token.len() == 1 && of.contains(token)
}

/// The kinds of places between two tokens that one is, the narrowest first.
fn keys(left: &str, right: &str) -> Vec<Between> {
    let class = |c: char| if is_word(c) || matches!(c, '"' | '\'' | '`') { 'w' } else { c };
    let (left, right) = (left.chars().next_back().map(class), right.chars().next().map(class));
    let operator = |c: &char| !matches!(c, 'w' | '(' | ')' | '[' | ']' | '{' | '}' | '.');
    let mut keys = vec![(left, right)];
    // Between two signs the space is that of the first, if the second is a prefix.
    if left.as_ref().is_some_and(operator) && right.as_ref().is_some_and(operator) {
        keys.extend(left.filter(|left| "=:,".contains(*left)).map(|left| (Some(left), None)));
        return keys;
    }
    keys.extend(left.filter(operator).map(|left| (Some(left), None)));
    keys.extend(right.filter(operator).map(|right| (None, Some(right))));
    keys
}

/// How many words two lines share, from 0 to 1. White space and order aside.
pub(super) fn likeness(a: &str, b: &str) -> f64 {
    let words = |words: &mut Vec<&str>| {
        words.retain(|token| !token.trim().is_empty());
        words.sort_unstable();
    };
    let (mut a, mut b) = (tokens(a), tokens(b));
    words(&mut a);
    words(&mut b);
    if a.is_empty() && b.is_empty() {
        return 1.0;
    }
    let (mut i, mut j, mut shared) = (0, 0, 0_usize);
    while i < a.len() && j < b.len() {
        match a[i].cmp(b[j]) {
            std::cmp::Ordering::Equal => {
                shared += 1;
                i += 1;
                j += 1;
            }
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "token counts of a line are small")]
    let ratio = 2.0 * shared as f64 / (a.len() + b.len()) as f64;
    ratio
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(old: &str, file: &str, new: &str) -> Option<String> {
        merge(old, file, new, &EditMap::learn(&[(old, file)]), Place::default())
    }

    #[test]
    fn kept_tokens_are_the_files() {
        for (old, file, new, result) in [
            ("f( a, b )", "f(a,b)", "f( a, c )", "f(a,c)"),
            ("f(a,b)", "f(a, b)", "f(a,c)", "f(a, c)"),
            ("f(a,b)", "f(a, b)", "f(c,b)", "f(c, b)"),
            ("say \"hi\"", "say “hi”", "say \"ho\"", "say “ho”"),
            ("x = 'old';", "x = \"old\"", "x = 'new';", "x = \"new\""),
            ("x = 'old'", "x = \"old\";", "x = 'new'", "x = \"new\";"),
            ("f('a')", "f(\"a\")", "f('a', 'b')", "f(\"a\", 'b')".replace('\'', "\"").as_str()),
            ("a: 1", "a: 1,", "a: 1,", "a: 1,"),
            ("a: 1", "a: 1,", "a: 2,", "a: 2,"),
            ("a: 1,", "a: 1", "a: 2,", "a: 2"),
            ("x = 1", "x = 1  ", "x = 2", "x = 2"),
            ("a - b", "a – b", "a - c", "a – c"),
            ("wait...", "wait…", "wait... now", "wait… now"),
        ] {
            assert_eq!(merged(old, file, new).as_deref(), Some(result), "{old:?} {file:?} {new:?}");
        }
        assert_eq!(merged("f(a)", "g(a)", "f(b)"), None);
    }
}
