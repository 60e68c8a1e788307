//! Line numbers copied from a view of the file: consecutive and in one style, in front of every line.
//! Blank lines between two numbers may have none.
//!
//! Evidence: transcripts (`12→`, `12|`); Roo Code strips such numbers; three of the forms are those of
//! restitch's own views.

use std::collections::HashSet;
use std::ops::Range;

use super::wrappers::strip_context_markers;
use super::{Form, Undone, depth};

/// What a view puts in front of each line.
struct Gutter {
    style: NumberStyle,
    padding: &'static str,
    /// Whether every line of `old_str` has a second number. That one belongs to the text, and so does the
    /// only number of a line of `new_str`.
    has_own_numbers: bool,
}

impl Gutter {
    /// The line without the gutter. If numbers are removed from `old_str`, they are removed from
    /// `new_str` too, whatever their values.
    fn strip<'l>(&self, line: &'l str) -> &'l str {
        match parse_line_number(line) {
            Some((style, _, rest))
                if style == self.style
                    && (!self.has_own_numbers || parse_line_number(rest).is_some()) =>
            {
                self.strip_padding(rest)
            }
            _ => line,
        }
    }

    fn strip_padding<'l>(&self, rest: &'l str) -> &'l str {
        rest.strip_prefix(self.padding).unwrap_or(rest)
    }

    /// The text of a new line that has the gutter without a number.
    fn strip_bar<'l>(&self, line: &'l str) -> Option<&'l str> {
        let bar = line.trim_start_matches(' ').strip_prefix(['|', '│'])?;
        (self.style == NumberStyle::Bar && line.starts_with(' ')).then(|| self.strip_padding(bar))
    }
}

/// Removes the numbers, and a space after every one if it belongs to the view (`is_padded`).
pub(super) fn undo<'o>(old: &'o str, is_padded: bool) -> Option<Undone<'o>> {
    let lines: Vec<&str> = old.strip_suffix('\n').unwrap_or(old).split('\n').collect();
    let (style, first, _) = parse_line_number(lines[0])?;
    // Only a blank line between two numbers may have none, so the last line must have one.
    parse_line_number(lines[lines.len() - 1])?;
    // Or its number alone, where the blank behind it was cut.
    let is_bare = |at: usize, line: &str| {
        lone_number(line).is_some() && lone_number(line) == first.checked_add(at)
    };
    let rest = |(at, &line): (usize, &&'o str)| match parse_line_number(line) {
        Some((line_style, number, rest)) => {
            (line_style == style && Some(number) == first.checked_add(at)).then_some(rest)
        }
        None if is_bare(at, line) => Some(""),
        None => line.trim().is_empty().then_some(line),
    };
    let rests = lines.iter().enumerate().map(rest).collect::<Option<Vec<&str>>>()?;
    let may_be_padded =
        matches!(style, NumberStyle::Colon | NumberStyle::Letter | NumberStyle::Bar)
            && rests.iter().all(|rest| rest.is_empty() || rest.starts_with(' '));
    if is_padded && !may_be_padded {
        return None;
    }
    let is_like = |rest: &str| parse_line_number(rest).is_some_and(|(own, ..)| own == style);
    let is_numbered = |rest: &&str| rest.trim().is_empty() || is_like(rest);
    let has_own_numbers = rests.iter().all(is_numbered);
    let has_bare = lines.iter().enumerate().any(|(at, line)| is_bare(at, line));
    let padding = if is_padded { " " } else { "" };
    let gutter = Gutter { style, padding, has_own_numbers };
    let strip = |(at, line): (usize, &'o str)| match is_bare(at, line) {
        true => "",
        false => gutter.strip(line),
    };
    let text: Vec<&str> = old.split('\n').enumerate().map(strip).collect();
    let sent: HashSet<&str> = old.split('\n').collect();
    let columns: Vec<Range<usize>> = lines.iter().filter_map(|line| number_columns(line)).collect();
    let is_in_column = move |here: Range<usize>| {
        columns.iter().all(|there| there.start == here.start)
            || columns.iter().all(|there| there.end == here.end)
    };
    let has_own_bars = text.iter().any(|line| line.trim_start().starts_with(['|', '│']));
    // As deep as a line of old_str are lines behind a gutter of blanks, and none is as sent.
    let full = text.iter().filter(|line| !line.trim().is_empty());
    let depths: HashSet<usize> = full.map(|line| depth(line)).collect();
    let width = lines[0].chars().count() - text[0].chars().count();
    let text = text.join("\n");
    let kept = text.clone();
    let undo_new = move |new: &str| {
        // All of its lines may have numbers of another style, if they begin with the same one.
        let number = |line: &str| parse_line_number(line).map(|(style, number, _)| (style, number));
        if !has_own_numbers
            && !new.split('\n').any(|line| number(line).is_some_and(|(other, _)| other == style))
            && new.lines().next().and_then(number).is_some_and(|(_, number)| number == first)
            && let Some(undone) = undo(new, false)
        {
            let text = as_deep_as(&kept, undone.text);
            return vec![Form::usual(text), Form::usual(new.to_owned())];
        }
        let (mut all, mut sure, mut above, mut is_unclear) = (Vec::new(), Vec::new(), None, false);
        let has_number = |line: &str| parse_line_number(line).is_some() || line.trim().is_empty();
        let bare_depths = || new.split('\n').filter(|line| !has_number(line)).map(depth);
        let is_free = |depth: usize| depth >= width && !depths.contains(&depth);
        let has_gutter = bare_depths().all(is_free)
            && bare_depths().min().is_some_and(|least| depths.contains(&(least - width)));
        for line in new.split('\n') {
            let number = parse_line_number(line).map(|(_, number, _)| number);
            // A number alone is that of a blank line if it is the next one; else it may be text.
            let lone = lone_number(line).filter(|_| has_bare);
            let is_blank =
                lone.is_some() && lone.and_then(|lone: usize| lone.checked_sub(1)) == above;
            is_unclear |= lone.is_some() && !is_blank;
            let number = number.or(lone.filter(|_| is_blank));
            let bare = gutter.strip_bar(line).filter(|_| number.is_none());
            let is_next =
                number.zip(above).is_none_or(|(here, above)| here.checked_sub(1) == Some(above));
            let is_aligned = number_columns(line).is_none_or(&is_in_column);
            // A blank line counts, too.
            above = number
                .or(above.map(|above| above.saturating_add(usize::from(line.trim().is_empty()))));
            // What the text has elsewhere, or where no number would be, may belong to it.
            let is_own = !sent.contains(line)
                && (bare.is_some() && has_own_bars || !(is_next && is_aligned));
            let undone = match bare {
                Some(bare) => bare,
                None if has_gutter && !has_number(line) => &line[width..],
                None if is_blank => "",
                None => gutter.strip(line),
            };
            all.push(undone);
            sure.push(if is_own { line } else { undone });
        }
        let [all, sure] = [all, sure].map(|lines| as_deep_as(&kept, lines.join("\n")));
        // Below the numbers of the view are others, which the text does not have.
        is_unclear |= !has_own_numbers && all != new && undo(&all, false).is_some();
        let mut forms = vec![Form::usual(all), Form::usual(sure)];
        // Where the text does not begin with a number, others may belong to it.
        let first = new.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        forms.extend(parse_line_number(first).is_none().then(|| Form::as_sent(new)));
        forms.iter_mut().for_each(|form| form.is_guess |= is_unclear);
        forms
    };
    Some(Undone { text, undo_new: Box::new(undo_new) })
}

/// `new` without a blank before each of its lines, if they are those of `old` only then: the view of the
/// one has a blank behind the numbers, and that of the other has none.
fn as_deep_as(old: &str, new: String) -> String {
    let old: HashSet<&str> = old.split('\n').filter(|line| !line.trim().is_empty()).collect();
    let shared = |text: &str| text.split('\n').filter(|line| old.contains(line)).count();
    let unpadded = strip_context_markers(&new).filter(|text| shared(text) > shared(&new));
    unpadded.unwrap_or(new)
}

/// The number that is all of a line, without the mark of a view.
fn lone_number(line: &str) -> Option<usize> {
    let lone = digits(line.trim()).filter(|(_, rest)| rest.is_empty())?;
    parse_line_number(line).is_none().then_some(lone.0)
}

/// The columns of the number in front of a line.
fn number_columns(line: &str) -> Option<Range<usize>> {
    parse_line_number(line)?;
    let start = depth(line);
    let width = line[start..].bytes().take_while(u8::is_ascii_digit).count();
    Some(start..start + width)
}

/// The number at the start of a one-line text, in a style that ordinary text can also have, such as
/// `200: ok` or `3-4`. Only consecutive numbers on two lines certainly come from a view.
pub(super) fn lone_line_number(text: &str) -> Option<usize> {
    use NumberStyle as S;
    let line = text.strip_suffix('\n').unwrap_or(text);
    let (style, number, _) = parse_line_number(line).filter(|_| !line.contains('\n'))?;
    matches!(style, S::Colon | S::Dash | S::Tab | S::Brackets).then_some(number)
}

/// How a view separates a line number from its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NumberStyle {
    Bar,
    Arrow,
    Colon,
    Dash,
    Tab,
    Angles,
    Brackets,
    Anchor,
    Letter,
}

/// The style of the number in front of a line, the number, and the rest of the line.
pub(crate) fn parse_line_number(line: &str) -> Option<(NumberStyle, usize, &str)> {
    let line = line.strip_suffix('\r').unwrap_or(line);
    let start = line.trim_start_matches(' ');
    let around = [
        ("<<", ">>", NumberStyle::Angles),
        ("[", "]", NumberStyle::Brackets),
        ("L", ":", NumberStyle::Letter),
    ];
    for (open, close, style) in around {
        if let Some(inside) = start.strip_prefix(open) {
            let (number, rest) = digits(inside)?;
            return Some((style, number, rest.strip_prefix(close)?));
        }
    }
    let (number, rest) = digits(start)?;
    if let Some(tagged) = rest.strip_prefix('#') {
        let (tag, rest) = tagged.split_once(['|', ':'])?;
        let is_tag = (2..=8).contains(&tag.len()) && tag.bytes().all(|b| b.is_ascii_alphanumeric());
        return is_tag.then_some((NumberStyle::Anchor, number, rest));
    }
    if let Some(rest) = rest.trim_start_matches(' ').strip_prefix(['|', '│']) {
        return Some((NumberStyle::Bar, number, rest));
    }
    let behind = [
        ("→", NumberStyle::Arrow),
        (":", NumberStyle::Colon),
        ("-", NumberStyle::Dash),
        ("\t", NumberStyle::Tab),
    ];
    behind.into_iter().find_map(|(mark, style)| Some((style, number, rest.strip_prefix(mark)?)))
}

/// The number that a text begins with, and the rest.
fn digits(text: &str) -> Option<(usize, &str)> {
    let end = text.bytes().take_while(u8::is_ascii_digit).count();
    Some((text[..end].parse().ok()?, &text[end..]))
}
