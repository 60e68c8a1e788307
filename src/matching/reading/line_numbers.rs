//! Line numbers copied from a view of the file.
//!
//! Evidence: transcripts (`12→`, `12|`); Roo Code strips such numbers; three of the forms are those of
//! restitch's own views.

use std::collections::HashSet;
use std::ops::Range;

use super::{Form, Mistake, UndoNew};
use crate::matching::costs::Difference;

/// Consecutive line numbers in one style, in front of every line. Blank lines between two numbers
/// may have none.
pub(super) enum LineNumbers {
    /// The space after every number belongs to the view.
    Padded,
    /// A space after the number belongs to the line.
    Bare,
}

impl Mistake for LineNumbers {
    fn difference(&self) -> Difference {
        Difference::LineNumbers
    }

    fn surcharge(&self) -> f64 {
        match self {
            Self::Padded => 0.0,
            // Where a space follows every number, it is the view's.
            Self::Bare => 1.0,
        }
    }

    fn undo(&self, old: &str, _new: &str) -> Option<(String, UndoNew)> {
        let body = old.strip_suffix('\n').unwrap_or(old);
        let (style, first, _) = parse_line_number(body.split('\n').next()?)?;
        let parse = |(at, line)| match parse_line_number(line) {
            None if line.trim().is_empty() => Some((style, first + at, line)),
            numbered => numbered,
        };
        let numbered: Vec<(NumberStyle, usize, &str)> =
            body.split('\n').enumerate().map(parse).collect::<Option<_>>()?;
        // Only a blank line between two numbers may have none, so the last line must have one.
        parse_line_number(body.split('\n').next_back()?)?;
        let is_consecutive = |(at, line): (usize, &(NumberStyle, usize, &str))| {
            let (line_style, number, _) = line;
            *line_style == style && *number == first + at
        };
        if !numbered.iter().enumerate().all(is_consecutive) {
            return None;
        }
        let padding = match self {
            Self::Padded => {
                let is_padded =
                    matches!(style, NumberStyle::Colon | NumberStyle::Letter | NumberStyle::Bar)
                        && numbered
                            .iter()
                            .all(|(.., rest)| rest.is_empty() || rest.starts_with(' '));
                is_padded.then_some(" ")?
            }
            Self::Bare => "",
        };
        // If numbers are removed from old_str, they are removed from new_str too, whatever their
        // values. If every line of old_str has a second number, that one belongs to the text, and so
        // does the only number of a line of new_str.
        let has_own_numbers = numbered
            .iter()
            .all(|(.., rest)| rest.trim().is_empty() || parse_line_number(rest).is_some());
        let strip = move |text: &str| -> String {
            let strip_line = |line: &str| match parse_line_number(line) {
                Some((line_style, _, rest))
                    if line_style == style
                        && (!has_own_numbers || parse_line_number(rest).is_some()) =>
                {
                    rest.strip_prefix(padding).unwrap_or(rest).to_owned()
                }
                _ => line.to_owned(),
            };
            text.split('\n').map(strip_line).collect::<Vec<_>>().join("\n")
        };
        let text = strip(old);
        let sent: HashSet<String> = old.split('\n').map(str::to_owned).collect();
        let columns: Vec<Range<usize>> = body.split('\n').filter_map(number_columns).collect();
        let has_own_bars = text.lines().any(|line| line.trim_start().starts_with(['|', '│']));
        // As deep as a line of old_str is the line behind a gutter of blanks, not the line as sent.
        let depth = |line: &str| line.len() - line.trim_start_matches(' ').len();
        let depths: HashSet<usize> =
            text.lines().filter(|line| !line.trim().is_empty()).map(depth).collect();
        let gutter = body
            .split('\n')
            .zip(text.split('\n'))
            .next()
            .map_or(0, |(line, rest)| line.chars().count() - rest.chars().count());
        let strip_blanks = move |line: &str| {
            let deep = depth(line);
            (parse_line_number(line).is_none()
                && !line.trim().is_empty()
                && !depths.contains(&deep)
                && deep.checked_sub(gutter).is_some_and(|behind| depths.contains(&behind)))
            .then(|| line[gutter..].to_owned())
        };
        // A new line may have the gutter without a number.
        let strip_bar = move |line: &str| {
            let bar = line.trim_start_matches(' ').strip_prefix(['|', '│'])?;
            (style == NumberStyle::Bar
                && line.starts_with(' ')
                && parse_line_number(line).is_none())
            .then(|| bar.strip_prefix(padding).unwrap_or(bar).to_owned())
        };
        let undo = move |new: &str| {
            let stripped = strip(new);
            let (mut all, mut sure, mut above) = (Vec::new(), Vec::new(), None);
            for (line, stripped) in new.split('\n').zip(stripped.split('\n')) {
                let bare = strip_bar(line);
                let number = parse_line_number(line).map(|(_, number, _)| number);
                let is_next = number.zip(above).is_none_or(|(here, above)| here == above + 1);
                let is_aligned = number_columns(line).is_none_or(|here| {
                    columns.iter().all(|there| there.start == here.start)
                        || columns.iter().all(|there| there.end == here.end)
                });
                // A blank line counts, too.
                above = number.or(above.map(|above| above + usize::from(line.trim().is_empty())));
                // What the text has elsewhere, or where no number would be, may belong to it.
                let is_own = !sent.contains(line)
                    && (bare.is_some() && has_own_bars || !(is_next && is_aligned));
                let undone =
                    bare.or_else(|| strip_blanks(line)).unwrap_or_else(|| stripped.to_owned());
                sure.push(if is_own { line.to_owned() } else { undone.clone() });
                all.push(undone);
            }
            // Where the text does not begin with a number, others may belong to it.
            let first = new.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
            let as_sent = parse_line_number(first).is_none().then(|| Form::as_sent(new));
            [all, sure]
                .map(|lines| Form::usual(lines.join("\n")))
                .into_iter()
                .chain(as_sent)
                .collect()
        };
        Some((text, Box::new(undo)))
    }
}

/// The columns of the number in front of a line.
fn number_columns(line: &str) -> Option<Range<usize>> {
    parse_line_number(line)?;
    let start = line.len() - line.trim_start_matches(' ').len();
    let width = line[start..].bytes().take_while(u8::is_ascii_digit).count();
    Some(start..start + width)
}

/// The number at the start of a one-line text, in a style that ordinary text can also have, such as
/// `200: ok` or `3-4`. Only consecutive numbers on two lines certainly come from a view.
pub(in crate::matching) fn lone_line_number(text: &str) -> Option<usize> {
    let line = text.strip_suffix('\n').unwrap_or(text);
    let (style, number, _) = parse_line_number(line).filter(|_| !line.contains('\n'))?;
    matches!(
        style,
        NumberStyle::Colon | NumberStyle::Dash | NumberStyle::Tab | NumberStyle::Brackets
    )
    .then_some(number)
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
    for (open, close, style) in
        [("<<", ">>", NumberStyle::Angles), ("[", "]", NumberStyle::Brackets)]
    {
        if let Some(inside) = start.strip_prefix(open) {
            let (number, rest) = digits(inside)?;
            return Some((style, number, rest.strip_prefix(close)?));
        }
    }
    if let Some(lettered) = start.strip_prefix('L') {
        let (number, rest) = digits(lettered)?;
        return Some((NumberStyle::Letter, number, rest.strip_prefix(':')?));
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
    let styles = [
        ("→", NumberStyle::Arrow),
        (":", NumberStyle::Colon),
        ("-", NumberStyle::Dash),
        ("\t", NumberStyle::Tab),
    ];
    styles.into_iter().find_map(|(mark, style)| Some((style, number, rest.strip_prefix(mark)?)))
}

/// The number that a text begins with, and the rest.
fn digits(text: &str) -> Option<(usize, &str)> {
    let end = text.bytes().take_while(u8::is_ascii_digit).count();
    Some((text[..end].parse().ok()?, &text[end..]))
}
