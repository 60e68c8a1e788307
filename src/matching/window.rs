//! Windows: every place in the file where a text could stand, with what the two
//! differ in.
//!
//! A window pairs each non-blank line of the text with one non-blank line of the
//! file, in order and without gaps. Blank lines are paired where both sides have
//! them. The first and the last line may cover a part of their file line only.

use std::ops::Range;

use super::bounded::Bounded;
use super::canon::{self, Fold};
use super::indent;
use super::slack::Slack;
use super::source::{BLANK, FileLine, NO_WORD, Skeleton, Source, skeleton};
use crate::text::Ending;

/// The file's side of a pair: a line, or the part of it that the text covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) line: usize,
    pub(super) start: usize,
    pub(super) end: usize,
    /// Whether the piece starts where its line starts.
    pub(super) from_start: bool,
    /// Whether it ends where its line ends; then the ending belongs to it.
    pub(super) to_end: bool,
}

impl Piece {
    pub(super) fn whole(line: usize, file: &FileLine) -> Self {
        Self { line, start: file.start, end: file.end, from_start: true, to_end: true }
    }
}

/// One step through the text and the file side by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Both have the line.
    Pair(usize, Piece),
    /// Only the text has it.
    OldOnly(usize),
    /// Only the file has it.
    FileOnly(Piece),
}

/// A place where the text could stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) steps: Vec<Step>,
    pub(super) slack: Slack,
}

impl Window {
    pub(super) fn pieces(&self) -> impl DoubleEndedIterator<Item = Piece> + '_ {
        self.steps.iter().filter_map(|step| match step {
            Step::Pair(_, piece) | Step::FileOnly(piece) => Some(*piece),
            Step::OldOnly(_) => None,
        })
    }

    pub(super) fn first(&self) -> Option<Piece> {
        self.pieces().next()
    }

    pub(super) fn last(&self) -> Option<Piece> {
        self.pieces().next_back()
    }

    /// The text offsets it covers, without the last ending.
    pub(super) fn range(&self) -> Range<usize> {
        self.first().map_or(0, |p| p.start)..self.last().map_or(0, |p| p.end)
    }

    /// Pairs of indentation, of lines that are whole on both sides.
    pub(super) fn indents(&self, old: &[&str], source: &Source<'_>) -> Vec<(String, String)> {
        let pairs = self.steps.iter().filter_map(|step| match step {
            Step::Pair(at, piece) if piece.from_start => {
                let file = &source.text[piece.start..piece.end];
                let blank = old[*at].trim().is_empty() || file.trim().is_empty();
                (!blank).then(|| (indent::of(old[*at]).to_owned(), indent::of(file).to_owned()))
            }
            _ => None,
        });
        pairs.collect()
    }
}

/// The lines of a text. A closing line break ends the last line.
pub(super) fn split(text: &str) -> Vec<&str> {
    let text = text.strip_suffix('\n').unwrap_or(text);
    text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)).collect()
}

/// Parts of a longer line are found by their exact text only.
const LONG_LINE: usize = 200_000;

/// At most so many places are looked at for one text.
const MOST: usize = 20_000;

/// Every window of a text.
pub(super) fn windows(source: &Source<'_>, text: &str, whole_lines: bool) -> Bounded<Window> {
    let closed = text.ends_with('\n');
    find(source, &split(text), Ends { whole: whole_lines, closed }, text.contains("\r\n"))
}

/// What is known of the ends of a text.
#[derive(Debug, Clone, Copy)]
struct Ends {
    /// It consists of whole lines.
    whole: bool,
    /// A line break follows its last line.
    closed: bool,
}

/// Every window of some lines; `crlf` tells how they ended.
pub(super) fn windows_of(
    source: &Source<'_>,
    old: &[&str],
    whole_lines: bool,
    crlf: bool,
) -> Bounded<Window> {
    find(source, old, Ends { whole: whole_lines, closed: false }, crlf)
}

fn find(source: &Source<'_>, old: &[&str], ends: Ends, crlf: bool) -> Bounded<Window> {
    let solid: Vec<usize> = (0..old.len()).filter(|&at| !old[at].trim().is_empty()).collect();
    let skeletons: Vec<Skeleton> = solid.iter().map(|&at| skeleton(old[at])).collect();
    if solid.is_empty() || skeletons.contains(&BLANK) {
        return Bounded::default();
    }
    let wordless = skeletons.iter().all(|&skeleton| skeleton == NO_WORD);
    let whole_lines = ends.whole;
    let text = Text { old, solid, skeletons, crlf, closed: ends.closed };
    // Brackets and dots alone do not tell where they stand.
    let strict = Slack::ENDING | Slack::TRAILING;
    let starts = text.starts(source, whole_lines);
    let windows = starts.found.into_iter().flat_map(|start| text.at(source, start, whole_lines));
    let windows = windows.filter(|window| !wordless || strict.contains(window.slack));
    let mut out = Bounded::at_most(MOST, windows);
    out.complete &= starts.complete;
    out
}

struct Text<'a> {
    old: &'a [&'a str],
    solid: Vec<usize>,
    skeletons: Vec<Skeleton>,
    crlf: bool,
    /// Whether a line break follows the last line.
    closed: bool,
}

impl Text<'_> {
    /// Candidates for the first line, as indices among the file's solid lines.
    fn starts(&self, source: &Source<'_>, whole_lines: bool) -> Bounded<usize> {
        let file = source.solid();
        let last = self.skeletons.len() - 1;
        // A line inside the text is whole for sure; one at the ends only perhaps.
        let sure = |at: usize| whole_lines || (at > 0 && at < last);
        let anchor = (0..=last)
            .filter(|&at| sure(at) && self.skeletons[at] != NO_WORD)
            .min_by_key(|&at| file.places(self.skeletons[at]).len());
        if let Some(at) = anchor {
            let places = file.places(self.skeletons[at]).iter();
            let starts = places.filter_map(|&place| (place as usize).checked_sub(at));
            return Bounded { found: starts.collect(), complete: true };
        }
        let mut starts = Vec::new();
        let mut complete = true;
        // Punctuation alone inside: compare everywhere, which is cheap for so few lines.
        if let Some(at) = (0..=last).find(|&at| sure(at)) {
            let places =
                (0..file.lines.len()).filter(|&place| file.skeletons[place] == self.skeletons[at]);
            starts.extend(places.filter_map(|place| place.checked_sub(at)));
        } else {
            for at in [0, last] {
                let whole = file.places(self.skeletons[at]).iter();
                starts.extend(whole.filter_map(|&place| (place as usize).checked_sub(at)));
                let with_word = self.by_word(source, at);
                complete &= with_word.complete;
                starts.extend(with_word.found.iter().filter_map(|place| place.checked_sub(at)));
            }
        }
        starts.sort_unstable();
        starts.dedup();
        let starts = Bounded::at_most(MOST, starts.into_iter());
        Bounded { complete: complete && starts.complete, ..starts }
    }

    /// File lines that hold the longest word of a line of the text.
    fn by_word(&self, source: &Source<'_>, at: usize) -> Bounded<usize> {
        let line = self.old[self.solid[at]];
        let word = line
            .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
            .max_by_key(|word| word.len())
            .unwrap_or_default();
        let file = source.solid();
        if word.is_empty() {
            // No word to look for: the line is short punctuation, or not ASCII.
            return Bounded::at_most(MOST, 0..file.lines.len());
        }
        let mut last = None;
        let lines = memchr::memmem::find_iter(source.text.as_bytes(), word.as_bytes())
            .map(|offset| source.line_at(offset))
            .filter(|line| last.replace(*line) != Some(*line))
            .filter_map(|line| file.lines.binary_search(&line).ok());
        Bounded::at_most(MOST, lines)
    }

    /// Whether the text shows that its first words begin a line.
    fn starts_line(&self) -> bool {
        self.solid[0] > 0
    }

    /// Whether the text shows that its last words end a line.
    fn ends_line(&self) -> bool {
        self.closed || self.solid[self.solid.len() - 1] + 1 < self.old.len()
    }

    /// The windows that start at a solid line of the file.
    fn at(&self, source: &Source<'_>, start: usize, whole_lines: bool) -> Vec<Window> {
        let file = source.solid();
        let count = self.solid.len();
        let Some(lines) = file.lines.get(start..start + count) else { return Vec::new() };
        let inner = 1..count.saturating_sub(1).max(1);
        if inner.clone().any(|at| file.skeletons[start + at] != self.skeletons[at]) {
            return Vec::new();
        }
        let mut slack = Slack::NONE;
        for at in inner {
            match differences(self.old[self.solid[at]], source.body(lines[at])) {
                Some(difference) => slack |= difference,
                None => return Vec::new(),
            }
        }
        let (first, last) = (self.old[self.solid[0]], self.old[self.solid[count - 1]]);
        if count == 1 {
            let (starts, ends) = (self.starts_line(), self.ends_line());
            return self
                .single(source, first, lines[0], whole_lines)
                .into_iter()
                .filter(|(piece, _)| (piece.from_start || !starts) && (piece.to_end || !ends))
                .map(|(piece, difference)| self.window(source, lines, &[piece], slack | difference))
                .collect();
        }
        // A first line that lost its indentation starts in mid-line; but when others did
        // too, all are too shallow.
        let tail = differences(last, source.body(lines[count - 1])).unwrap_or_default();
        let (from, to) = (whole_lines || self.starts_line(), whole_lines || self.ends_line());
        let heads = ends(source, first, lines[0], from, slack | tail, Side::Suffix);
        let tails = ends(source, last, lines[count - 1], to, Slack::INDENT, Side::Prefix);
        match (heads, tails) {
            (Some((head, a)), Some((tail, b))) => {
                let window = self.window(source, lines, &[head, tail], slack | a | b);
                // A text that starts behind other code is that text or none: nothing
                // else may be off, and it must say something.
                let before = &source.text[source.lines[head.line].start..head.start];
                let loose = Slack::INDENT | Slack::BLANK | Slack::SPACING | Slack::PUNCTUATION;
                let inside = !before.trim().is_empty();
                let says = source.text[head.start..head.end].contains(canon::is_word);
                if inside && (window.slack.meets(loose) || !says) {
                    return Vec::new();
                }
                vec![window]
            }
            _ => Vec::new(),
        }
    }

    /// The places of a one-line text inside one file line.
    fn single(
        &self,
        source: &Source<'_>,
        old: &str,
        line: usize,
        whole_lines: bool,
    ) -> Vec<(Piece, Slack)> {
        let file = &source.lines[line];
        if let Some(difference) = differences(old, source.body(line)) {
            return vec![(Piece::whole(line, file), difference)];
        }
        // Text that came as part of a line has no line break of its own around it.
        if whole_lines || self.old.len() > 1 {
            return Vec::new();
        }
        let inside = |fold: Fold, slack: Slack| -> Vec<(Piece, Slack)> {
            inner_places(old, source.body(line), fold)
                .into_iter()
                .map(|range| (part(source, line, range), slack))
                .collect()
        };
        let steps = [
            (Fold::LookAlike, Slack::LOOK_ALIKE),
            (Fold::Spacing, Slack::SPACING),
            (Fold::Punctuation, Slack::PUNCTUATION),
        ];
        steps
            .into_iter()
            .map(|(fold, slack)| inside(fold, slack))
            .find(|found| !found.is_empty())
            .unwrap_or_default()
    }

    /// Puts a window together: the solid pairs and the blank lines between them.
    fn window(&self, source: &Source<'_>, lines: &[usize], ends: &[Piece], slack: Slack) -> Window {
        let count = self.solid.len();
        let mut window = Window { steps: Vec::new(), slack };
        let head_blanks = self.solid[0];
        let above = lines[0] - preceding_blanks(source, lines[0], head_blanks);
        self.blanks(source, &mut window, 0..head_blanks, above..lines[0]);
        for at in 0..count {
            let piece = match at {
                0 => ends[0],
                at if at == count - 1 => ends[ends.len() - 1],
                at => Piece::whole(lines[at], &source.lines[lines[at]]),
            };
            window.steps.push(Step::Pair(self.solid[at], piece));
            if at + 1 < count {
                let old = self.solid[at] + 1..self.solid[at + 1];
                self.blanks(source, &mut window, old, lines[at] + 1..lines[at + 1]);
            }
        }
        let tail = self.solid[count - 1] + 1..self.old.len();
        let below = lines[count - 1] + 1;
        let available = source.lines[below.min(source.lines.len())..]
            .iter()
            .take(tail.len())
            .take_while(|line| source.text[line.body()].trim().is_empty())
            .count();
        self.blanks(source, &mut window, tail, below..below + available);
        let mut inner: Vec<Ending> =
            window.pieces().map(|piece| source.lines[piece.line].ending).collect();
        inner.pop();
        let other = if self.crlf { Ending::Lf } else { Ending::CrLf };
        if inner.contains(&other) {
            window.slack |= Slack::ENDING;
        }
        window
    }

    fn blanks(
        &self,
        source: &Source<'_>,
        window: &mut Window,
        old: Range<usize>,
        file: Range<usize>,
    ) {
        let both = old.len().min(file.len());
        if old.len() != file.len() {
            window.slack |= Slack::BLANK;
        }
        for at in 0..both {
            let (old, file) = (old.start + at, file.start + at);
            if self.old[old] != source.body(file) {
                window.slack |= Slack::TRAILING;
            }
            window.steps.push(Step::Pair(old, Piece::whole(file, &source.lines[file])));
        }
        window.steps.extend(old.skip(both).map(Step::OldOnly));
        let rest =
            file.skip(both).map(|line| Step::FileOnly(Piece::whole(line, &source.lines[line])));
        window.steps.extend(rest);
    }
}

fn preceding_blanks(source: &Source<'_>, line: usize, most: usize) -> usize {
    let above = source.lines[..line].iter().rev().take(most);
    above.take_while(|line| source.text[line.body()].trim().is_empty()).count()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    /// The text's first line may be the end of a file line.
    Suffix,
    /// The text's last line may be the start of a file line.
    Prefix,
}

/// The first or the last line of a text of several lines.
fn ends(
    source: &Source<'_>,
    old: &str,
    line: usize,
    whole_lines: bool,
    others: Slack,
    side: Side,
) -> Option<(Piece, Slack)> {
    let file = source.body(line);
    let whole =
        differences(old, file).map(|slack| (Piece::whole(line, &source.lines[line]), slack));
    if let Some((_, slack)) = &whole
        && (whole_lines || !slack.contains(Slack::INDENT) || others.contains(Slack::INDENT))
    {
        return whole;
    }
    if whole_lines || file.len() > LONG_LINE {
        return whole;
    }
    let part = [
        (Fold::LookAlike, Slack::LOOK_ALIKE),
        (Fold::Spacing, Slack::SPACING),
        (Fold::Punctuation, Slack::PUNCTUATION),
    ]
    .into_iter()
    .find_map(|(fold, slack)| {
        let (a, b) = (canon::canonical(old, fold), canon::canonical(file, fold));
        if a.is_empty() || a.len() > b.len() {
            return None;
        }
        let found = match side {
            Side::Suffix => b.len() - a.len()..b.len(),
            Side::Prefix => 0..a.len(),
        };
        let equal = a.iter().zip(&b[found.clone()]).all(|(a, b)| a.c == b.c)
            && (fold < Fold::Spacing
                || joins_selectors(old)
                    == joins_selectors(&file[b[found.start].start..b[found.end - 1].end]));
        if !equal || splits_word(&b, &found) {
            return None;
        }
        // Blanks that the fold leaves out at the line's own end belong to the piece.
        let range = match side {
            Side::Suffix => b[found.start].start..file.len(),
            Side::Prefix => 0..b[found.end - 1].end,
        };
        if cuts_statement(old, file, range.end) {
            return None;
        }
        let exact = file[range.clone()] == *old;
        // Amid the indentation no text begins: that is the whole line, not deep enough.
        if range.start > 0 && range.start < super::indent::of(file).len() && whole.is_some() {
            return None;
        }
        Some((self::part(source, line, range), if exact { Slack::NONE } else { slack }))
    });
    // A piece of the line that explains more strictly wins over the whole line.
    match (whole, part) {
        (Some(whole), Some(part)) if part.1 != Slack::NONE => Some(whole),
        (whole, part) => part.or(whole),
    }
}

/// Whether a text that ends a statement or an item would end amid one of the file.
fn cuts_statement(old: &str, file: &str, end: usize) -> bool {
    let mark = old.trim_end().chars().next_back().filter(|c| matches!(c, ',' | ';'));
    let rest = file[end..].trim();
    mark.is_some_and(|mark| {
        !rest.is_empty() && !rest.starts_with(mark) && !file[..end].ends_with(mark)
    })
}

/// Whether a part of a line begins or ends amid a word, or amid a row of the same sign.
fn splits_word(chars: &[canon::Canonical], range: &Range<usize>) -> bool {
    const ROWS: &str = "-=*_#~.+/\\";
    let joined = |at: usize| {
        let (Some(before), Some(behind)) = (at.checked_sub(1).map(|at| &chars[at]), chars.get(at))
        else {
            return false;
        };
        let row = before.c == behind.c && before.end == behind.start && ROWS.contains(before.c);
        canon::is_word(before.c) && canon::is_word(behind.c) || row
    };
    joined(range.start) || joined(range.end)
}

fn part(source: &Source<'_>, line: usize, range: Range<usize>) -> Piece {
    let file = &source.lines[line];
    let body = &source.text[file.body()];
    Piece {
        line,
        start: file.start + range.start,
        end: file.start + range.end,
        from_start: range.start == 0,
        to_end: body[range.end..].is_empty(),
    }
}

/// Where a text stands inside a line, under a fold, at word boundaries.
fn inner_places(old: &str, file: &str, fold: Fold) -> Vec<Range<usize>> {
    if file.len() > LONG_LINE {
        return Vec::new();
    }
    let (a, b) = (canon::canonical(old.trim(), fold), canon::canonical(file, fold));
    if a.is_empty() {
        return Vec::new();
    }
    // What begins with blanks begins its line, unless it is the one blank that parts words.
    let lead = indent::of(old);
    let begins = |start: usize| {
        let before = &file[..start];
        let blanks = &before[before.trim_end().len()..];
        lead.is_empty()
            || before.trim().is_empty()
            || lead.chars().count() == 1 && blanks.chars().count() == 1 && lead != "\t"
    };
    let mut out = Vec::new();
    let mut at = 0;
    while at + a.len() <= b.len() {
        let found = at..at + a.len();
        let text = &file[b[at].start..b[found.end - 1].end];
        if a.iter().zip(&b[found.clone()]).all(|(a, b)| a.c == b.c)
            && begins(b[at].start)
            && (fold < Fold::Spacing || joins_selectors(old) == joins_selectors(text))
            && !splits_word(&b, &found)
            && !cuts_statement(old, file, b[found.end - 1].end)
        {
            out.push(b[at].start..b[found.end - 1].end);
            at = found.end;
        } else {
            at += 1;
        }
    }
    out
}

/// What two lines differ in; `None` when no fold makes them the same.
pub(super) fn differences(old: &str, file: &str) -> Option<Slack> {
    if old == file {
        return Some(Slack::NONE);
    }
    let (a, b) = (old.trim(), file.trim());
    let mut slack = Slack::NONE;
    if indent::of(old) != indent::of(file) {
        slack |= Slack::INDENT;
    }
    if trailing(old) != trailing(file) {
        slack |= Slack::TRAILING;
    }
    if a == b {
        return Some(slack);
    }
    if skeleton(a) != skeleton(b) {
        return None;
    }
    let alike = |fold: Fold| canon::same(a, b, fold);
    if alike(Fold::LookAlike) {
        return Some(slack | Slack::LOOK_ALIKE);
    }
    let bent = if a.is_ascii() && b.is_ascii() { Slack::NONE } else { Slack::LOOK_ALIKE };
    if joins_selectors(a) != joins_selectors(b) {
        return None;
    }
    if alike(Fold::Spacing) {
        return Some(slack | bent | Slack::SPACING);
    }
    let spaced = if only_punctuation(a, b) { Slack::NONE } else { Slack::SPACING };
    alike(Fold::Punctuation).then_some(slack | bent | spaced | Slack::PUNCTUATION)
}

/// How often a name follows another with a blank and a dot, as one class below another in a
/// style sheet does: without the blank it is something else.
fn joins_selectors(line: &str) -> usize {
    let bytes = line.as_bytes();
    let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    let begins = |at: usize| bytes.get(at).is_some_and(|b| word(*b));
    let dots = (2..bytes.len()).filter(|&at| {
        matches!(bytes[at], b'.' | b':' | b'#') && bytes[at - 1] == b' ' && begins(at + 1)
    });
    let behind = |at: usize| bytes[..at].iter().rfind(|b| **b != b' ').copied();
    let selects = |b: u8| word(b) || matches!(b, b')' | b']' | b'&' | b'*');
    dots.filter(|&at| behind(at).is_some_and(selects)).count()
}

/// Whether two lines differ in quotes and closing punctuation, not in spacing.
fn only_punctuation(a: &str, b: &str) -> bool {
    let blanks = |line: &str| {
        line.trim_end_matches([',', ';']).chars().filter(|c| c.is_whitespace()).count()
    };
    blanks(a) == blanks(b)
}

fn trailing(line: &str) -> &str {
    &line[line.trim_end().len()..]
}
