//! Line numbers copied from a view of the file, when uniform and consecutive.

use std::ops::Range;

use super::{Decoding, UndoNew, has_line_of};

/// Line numbers copied from a view of the file.
pub(super) struct LineNumbers {
    /// Whether a blank that every line has behind the number is the view's.
    pub(super) spaced: bool,
}

impl Decoding for LineNumbers {
    fn id(&self) -> &'static str {
        "line_numbers"
    }

    fn rung(&self) -> &'static str {
        "line_numbers"
    }

    fn whole_lines(&self) -> bool {
        true
    }

    fn is_of_the_file(&self, old: &str, file: &str) -> bool {
        has_line_of(file, old)
    }

    fn undo(&self, old: &str) -> Option<(String, UndoNew)> {
        let body = old.strip_suffix('\n').unwrap_or(old);
        let view = View::of(body, self.spaced)?;
        let mut text = view.without(body);
        if old.ends_with('\n') {
            text.push('\n');
        }
        let lines: Vec<String> =
            text.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect();
        // Where the text itself looks numbered, only what is numbered twice came from a view.
        let own = lines.iter().any(|line| view.numbers_itself(line));
        let quoted: Vec<String> = body.split('\n').map(str::to_owned).collect();
        let undo = move |new: &str| {
            let solid = || new.split('\n').filter(|line| !line.trim().is_empty());
            // A line as `old` has it, number and all, was copied with it.
            let copied = solid().any(|line| quoted.iter().any(|known| known == line));
            let clean = solid().any(|line| lines.iter().any(|known| known.trim() == line.trim()));
            let twice = |rest: &str| !own || view.numbers_itself(rest);
            let whole = match view.numbers(new, twice) {
                Some(steady) if steady && (copied || !clean) => true,
                Some(_) if copied => return None,
                _ => false,
            };
            if let Some(decided) = view.undo_unnumbered(new, whole, &lines) {
                return decided;
            }
            if whole {
                // A blank line with a blank behind its number in one text, and without in the other.
                let blanks = |text: &str| -> [bool; 2] {
                    let rests = || text.split('\n').filter_map(|line| view.gutter(line));
                    ["", " "].map(|blank| rests().any(|gutter| gutter.rest == blank))
                };
                let old = blanks(&quoted.join("\n"));
                let torn =
                    view.may_be_spaced && old[0] != old[1] && blanks(new) == [old[1], old[0]];
                return (!torn).then(|| view.without(new));
            }
            // Numbers that go on with those of old_str, of a kind that is not known.
            let leading = |line: &str| {
                let line = line.trim_start();
                let digits =
                    line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
                line[..digits].parse::<usize>().ok()
            };
            let counted = solid().count() > 1
                && solid().zip(view.lines.start..).all(|(line, n)| leading(line) == Some(n));
            (!counted).then(|| new.to_owned())
        };
        Some((text, Box::new(undo)))
    }
}

/// How a view numbers its lines.
struct View {
    style: Style,
    /// The numbers of the lines of `old`.
    lines: Range<usize>,
    /// Whether a blank behind the gutter is the view's.
    spaced: bool,
    /// Whether every line of `old` has one there, so that on a blank line nothing else is left.
    may_be_spaced: bool,
    /// The gutters of `old` with blanks for the numbers.
    blank: Vec<String>,
}

impl View {
    /// The view that a text was copied from. Lines count whether they have a number or are
    /// blank without one.
    fn of(body: &str, spaced: bool) -> Option<Self> {
        let lines = || body.split('\n').enumerate().filter(|(_, line)| !line.trim().is_empty());
        let shown: Vec<(usize, Gutter<'_>)> =
            lines().map(|(at, line)| Some((at, gutter(line)?))).collect::<Option<_>>()?;
        let style = shown.iter().map(|(_, gutter)| gutter.style).max()?;
        let (at, top) = shown.first()?;
        let first = top.number.checked_sub(*at)?;
        let uniform = shown
            .iter()
            .all(|(at, gutter)| style.shows(gutter.style) && gutter.number == first + at);
        // `12: x` or `12|x` alone is often real text; then the match itself must prove it,
        // which whole lines do. What is more often text than not must go on.
        if !uniform || style == Style::Bare || style.is_weak() && shown.len() < 2 {
            return None;
        }
        // A blank that every line has there belongs to the view or to the text.
        let may_be_spaced = style.can_be_spaced()
            && shown.iter().all(|(_, g)| g.rest.is_empty() || g.rest.starts_with(' '));
        if spaced && !may_be_spaced {
            return None;
        }
        let mut blank: Vec<String> =
            lines().filter_map(|(_, line)| style.unnumbered(line)).collect();
        blank.dedup();
        Some(Self {
            style,
            lines: first..first + body.split('\n').count(),
            spaced,
            may_be_spaced,
            blank,
        })
    }

    fn gutter<'a>(&self, line: &'a str) -> Option<Gutter<'a>> {
        gutter(line).filter(|gutter| self.style.shows(gutter.style))
    }

    /// Whether the text of a line begins as if it were numbered.
    fn numbers_itself(&self, rest: &str) -> bool {
        self.gutter(rest.trim()).is_some_and(|gutter| gutter.style != Style::Bare)
    }

    fn without(&self, text: &str) -> String {
        text.split('\n').map(|line| self.strip(line)).collect::<Vec<_>>().join("\n")
    }

    fn strip<'a>(&self, line: &'a str) -> &'a str {
        let known = self.lines.start.saturating_sub(1)..=self.lines.end + 1000;
        match self.gutter(line).filter(|gutter| known.contains(&gutter.number)) {
            Some(gutter) => self.behind(gutter.rest),
            None => line,
        }
    }

    fn behind<'a>(&self, rest: &'a str) -> &'a str {
        match rest {
            " " if self.may_be_spaced => "",
            _ if self.spaced => rest.strip_prefix(' ').unwrap_or(rest),
            _ => rest,
        }
    }

    /// Whether the numbers of a new text go on steadily; `None` if they are not the view's.
    fn numbers(&self, new: &str, twice: impl Fn(&str) -> bool) -> Option<bool> {
        let lines = new.split('\n').enumerate();
        let gutters = lines.filter_map(|(at, line)| Some((at, self.gutter(line)?)));
        let all: Vec<(usize, Gutter<'_>)> = gutters.collect();
        let (mut place, top) = all.first().map(|(place, gutter)| (*place, *gutter))?;
        let proven = all.iter().any(|(_, gutter)| gutter.style != Style::Bare);
        let near = self.lines.start.saturating_sub(1)..self.lines.end + 1;
        if !proven || !twice(top.rest) || !near.contains(&top.number) {
            return None;
        }
        let mut above = top.number;
        Some(all[1..].iter().all(|(at, gutter)| {
            let more = at - place + self.lines.len();
            let steady = (above..=above + more).contains(&gutter.number);
            (place, above) = (*at, gutter.number);
            steady
        }))
    }

    /// What a new text means of which lines have a gutter without a number, as added ones do.
    /// `whole` is whether the others are numbered; `lines` are those of the text in `old`.
    /// `None` if it has no such lines.
    fn undo_unnumbered(&self, new: &str, whole: bool, lines: &[String]) -> Option<Option<String>> {
        let solid = || new.split('\n').filter(|line| !line.trim().is_empty());
        let numbered = |line: &&str| whole && self.gutter(line).is_some();
        let mut blank = self.blank.clone();
        blank.extend(solid().filter(numbered).filter_map(|line| self.style.unnumbered(line)));
        let gutter = |line: &str| blank.iter().find(|blank| line.starts_with(blank.as_str()));
        let left = |line: &&str| !numbered(line) && gutter(line).is_some();
        let all = solid().all(|line| numbered(&line) || left(&line));
        if !solid().any(|line| left(&line)) {
            // Not with that sign in that column, but with what looks like it.
            let sign = self.style.sign();
            let torn = |line: &&str| {
                let mark = |c: char| c.is_ascii_digit() || " +-*~>?".contains(c);
                let line = line.trim_start_matches(|c| Some(c) != sign && mark(c));
                sign.is_some_and(|sign| line.starts_with(sign))
            };
            let own = lines.iter().any(|line| torn(&line.as_str()));
            let torn = !own && solid().filter(|line| !numbered(line)).any(|line| torn(&line));
            // And blanks alone are as good as an indentation.
            return (whole && (torn || self.style == Style::Blanks && !all)).then_some(None);
        }
        if lines.iter().any(|line| gutter(line).is_some()) {
            return (whole || all).then_some(None);
        }
        // Signs alone are no proof where code begins with them.
        if !all || !whole && self.style.sign().is_none() {
            return Some(None);
        }
        let strip = |line| match gutter(line).filter(|_| left(&line)) {
            Some(gutter) => self.behind(&line[gutter.len()..]),
            None => self.strip(line),
        };
        Some(Some(new.split('\n').map(strip).collect::<Vec<_>>().join("\n")))
    }
}

/// What stands between a line number and the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Style {
    /// Nothing: a blank line, without the blanks at its end.
    Bare,
    Colon,
    /// `12-`, and `12:` for the lines that were searched.
    Dash,
    Blanks,
    Brackets,
    Bar,
    Box,
    Arrow,
    Tab,
    Angles,
    Hash,
    Letter,
    Dot,
}

impl Style {
    /// Whether lines of a view in this style may have a gutter in the other.
    fn shows(self, line: Self) -> bool {
        match line {
            Self::Bare => matches!(self, Self::Tab | Self::Blanks),
            Self::Colon => matches!(self, Self::Colon | Self::Dash),
            _ => self == line,
        }
    }

    /// Whether text often begins so.
    fn is_weak(self) -> bool {
        matches!(self, Self::Dash | Self::Blanks | Self::Brackets)
    }

    fn can_be_spaced(self) -> bool {
        matches!(self, Self::Colon | Self::Letter | Self::Bar | Self::Box | Self::Brackets)
    }

    /// The sign behind the number that hardly any line of code begins with.
    fn sign(self) -> Option<char> {
        match self {
            Self::Dash => Some('-'),
            Self::Bar => Some('|'),
            Self::Box => Some('│'),
            Self::Arrow => Some('→'),
            _ => None,
        }
    }

    /// The gutter of a line with blanks for the number, if that can be told from indentation and
    /// from the items of a list.
    fn unnumbered(self, line: &str) -> Option<String> {
        let told = !matches!(self, Self::Dash | Self::Blanks);
        let shown = gutter(line).filter(|shown| shown.style == self && told)?;
        let line = line.strip_suffix('\r').unwrap_or(line);
        let gutter = &line[..line.len() - shown.rest.len()];
        Some(gutter.replace(|c: char| c.is_ascii_alphanumeric(), " "))
    }
}

/// The number in front of a line, its style, and the rest.
#[derive(Debug, Clone, Copy)]
struct Gutter<'a> {
    style: Style,
    number: usize,
    rest: &'a str,
}

fn gutter(line: &str) -> Option<Gutter<'_>> {
    let line = line.strip_suffix('\r').unwrap_or(line);
    let start = line.trim_start_matches(' ');
    let of = |style, number, rest| Some(Gutter { style, number, rest });
    if let Some(inside) = start.strip_prefix("<<") {
        let (digits, rest) = inside.split_once(">>")?;
        return of(Style::Angles, digits.parse().ok()?, rest);
    }
    if let Some(inside) = start.strip_prefix('[') {
        let (digits, rest) = inside.split_once(']')?;
        return of(Style::Brackets, digits.trim_start().parse().ok()?, rest);
    }
    let (lettered, start) = match start.strip_prefix('L') {
        Some(rest) => (true, rest),
        None => (false, start),
    };
    let digits = start.len() - start.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let number = start[..digits].parse().ok()?;
    let rest = &start[digits..];
    if lettered {
        return of(Style::Letter, number, rest.strip_prefix(':')?);
    }
    if let Some(tagged) = rest.strip_prefix('#') {
        let (tag, rest) = tagged.split_once('|').or_else(|| tagged.split_once(':'))?;
        let is_tag = (2..=8).contains(&tag.len()) && tag.bytes().all(|b| b.is_ascii_alphanumeric());
        return of(Style::Hash, number, rest).filter(|_| is_tag);
    }
    for (sign, style) in [("|", Style::Bar), ("│", Style::Box)] {
        if let Some(rest) = rest.trim_start_matches(' ').strip_prefix(sign) {
            return of(style, number, rest);
        }
    }
    let styles = [
        ("→", Style::Arrow),
        (":", Style::Colon),
        ("\t", Style::Tab),
        (". ", Style::Dot),
        ("-", Style::Dash),
        ("  ", Style::Blanks),
    ];
    let known =
        styles.into_iter().find_map(|(mark, style)| Some((style, rest.strip_prefix(mark)?)));
    match known {
        Some((style, rest)) => of(style, number, rest),
        None => of(Style::Bare, number, "").filter(|_| rest.trim().is_empty()),
    }
}
