//! Line numbers copied from a view of the file, when uniform and consecutive.

use super::{Decoding, UndoNew};

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

    fn undo(&self, old: &str) -> Option<(String, UndoNew)> {
        let body = old.strip_suffix('\n').unwrap_or(old);
        let styles: Vec<(Style, usize, &str)> =
            body.split('\n').map(number).collect::<Option<_>>()?;
        let (style, first, _) = *styles.first()?;
        let uniform =
            styles.iter().enumerate().all(|(at, (s, n, _))| *s == style && *n == first + at);
        // `12: x` or `12|x` alone is often real text; then the match itself must prove it,
        // which whole lines do.
        if !uniform {
            return None;
        }
        let last = first + styles.len();
        // Behind a colon or a bar a blank that every line has belongs to the view or to the text.
        let can_be_spaced = matches!(style, Style::Colon | Style::Letter | Style::Bar)
            && styles.iter().all(|(.., rest)| rest.is_empty() || rest.starts_with(' '));
        let spaced = self.spaced;
        if spaced && !can_be_spaced {
            return None;
        }
        let strip = move |line: &str| match number(line) {
            Some((s, n, rest)) if s == style && n + 1 >= first && n <= last + 1000 => {
                if rest == " " {
                    String::new()
                } else if spaced {
                    rest.strip_prefix(' ').unwrap_or(rest).to_owned()
                } else {
                    rest.to_owned()
                }
            }
            _ => line.to_owned(),
        };
        let mut text = body.split('\n').map(strip).collect::<Vec<_>>().join("\n");
        if old.ends_with('\n') {
            text.push('\n');
        }
        let contents: Vec<String> = text
            .lines()
            .map(|line| line.trim().to_owned())
            .filter(|line| !line.is_empty())
            .collect();
        // Where the text itself looks numbered, only what is numbered twice came from a view.
        let own = contents.iter().any(|line| number(line).is_some_and(|(s, ..)| s == style));
        let quoted: Vec<String> = body.split('\n').map(str::to_owned).collect();
        let numbering = move |new: &str| {
            let lines = || new.split('\n').enumerate().filter(|(_, line)| !line.trim().is_empty());
            let numbered = || {
                let all = lines().filter_map(|(at, line)| Some((at, number(line)?)));
                all.filter(|(_, (s, ..))| *s == style)
            };
            // A line as `old` has it, number and all, was copied with it.
            let copied = || lines().any(|(_, line)| quoted.iter().any(|known| known == line));
            let clean = || lines().any(|(_, line)| contents.iter().any(|k| k == line.trim()));
            let mut numbers = numbered();
            let Some((place, (_, start, rest))) = numbers.next() else { return Numbering::None };
            let mut above = (place, start);
            let steady = numbers.all(|(place, (_, n, _))| {
                let more = place - above.0 + last - first;
                let near = n >= above.1 && n - above.1 <= more;
                above = (place, n);
                near
            });
            let twice = !own || number(rest.trim_start()).is_some_and(|(s, ..)| s == style);
            let starts = (first.saturating_sub(1)..last + 1).contains(&start);
            match twice && starts {
                true if steady && (copied() || !clean()) => Numbering::Whole,
                true if copied() => Numbering::Unclear,
                _ => Numbering::None,
            }
        };
        let undo = move |new: &str| {
            match numbering(new) {
                Numbering::Whole => {
                    return Some(new.split('\n').map(strip).collect::<Vec<_>>().join("\n"));
                }
                Numbering::Unclear => return None,
                Numbering::None => {}
            }
            // Numbers that go on with those of old_str, of a kind that is not known.
            let solid = || new.split('\n').filter(|line| !line.trim().is_empty());
            let leading = |line: &str| {
                let line = line.trim_start();
                let digits =
                    line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
                line[..digits].parse::<usize>().ok()
            };
            let counted = solid().count() > 1
                && solid().zip(first..).all(|(line, n)| leading(line) == Some(n));
            (!counted).then(|| new.to_owned())
        };
        Some((text, Box::new(undo)))
    }
}

/// Whether the numbers in a new text are those of a view.
enum Numbering {
    None,
    Whole,
    Unclear,
}

/// What stands between a line number and the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    Bar,
    Arrow,
    Colon,
    Tab,
    Angles,
    Hash,
    Letter,
    Dot,
}

/// The number in front of a line, its style, and the rest.
fn number(line: &str) -> Option<(Style, usize, &str)> {
    let line = line.strip_suffix('\r').unwrap_or(line);
    let start = line.trim_start_matches(' ');
    if let Some(inside) = start.strip_prefix("<<") {
        let (digits, rest) = inside.split_once(">>")?;
        return Some((Style::Angles, digits.parse().ok()?, rest));
    }
    let (lettered, start) = match start.strip_prefix('L') {
        Some(rest) => (true, rest),
        None => (false, start),
    };
    let digits = start.len() - start.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let number = start[..digits].parse().ok()?;
    let rest = &start[digits..];
    if lettered {
        return Some((Style::Letter, number, rest.strip_prefix(':')?));
    }
    if let Some(tagged) = rest.strip_prefix('#') {
        let (tag, rest) = tagged.split_once('|').or_else(|| tagged.split_once(':'))?;
        let is_tag = (2..=8).contains(&tag.len()) && tag.bytes().all(|b| b.is_ascii_alphanumeric());
        return is_tag.then_some((Style::Hash, number, rest));
    }
    if let Some(rest) = rest.trim_start_matches(' ').strip_prefix('|') {
        return Some((Style::Bar, number, rest));
    }
    let styles = [
        ("│", Style::Bar),
        ("→", Style::Arrow),
        (":", Style::Colon),
        ("\t", Style::Tab),
        (". ", Style::Dot),
    ];
    styles.into_iter().find_map(|(mark, style)| Some((style, number, rest.strip_prefix(mark)?)))
}
