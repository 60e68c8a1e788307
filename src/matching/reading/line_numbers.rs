//! Line numbers copied from a view of the file.
//!
//! Evidence: transcripts (`12→`, `12|`); Roo Code strips such numbers; three of the forms are those of
//! restitch's own views.

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
        // A new line may have the gutter without a number.
        let strip_bar = move |line: &str| {
            let bar = line.trim_start_matches(' ').strip_prefix(['|', '│'])?;
            (line.starts_with(' ') && parse_line_number(line).is_none())
                .then(|| bar.strip_prefix(padding).unwrap_or(bar).to_owned())
        };
        let undo = move |new: &str| {
            let stripped = strip(new);
            let lines = new.split('\n').zip(stripped.split('\n'));
            let lines =
                lines.map(|(sent, line)| strip_bar(sent).unwrap_or_else(|| line.to_owned()));
            let without_bars = lines.collect::<Vec<_>>().join("\n");
            let text = if style == NumberStyle::Bar { without_bars } else { stripped };
            // Where the text does not begin with a number, others may belong to it.
            let first = new.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
            let as_sent = parse_line_number(first).is_none().then(|| Form::as_sent(new));
            std::iter::once(Form::usual(text)).chain(as_sent).collect()
        };
        Some((text, Box::new(undo)))
    }
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
