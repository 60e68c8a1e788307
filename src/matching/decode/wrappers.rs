//! What a text was wrapped in: diff markers, a code fence.

use super::{Decoding, UndoNew, has_line_of};

/// `-`, `+` and blank in front of each line, from a diff.
pub(super) struct DiffMarkers;

impl Decoding for DiffMarkers {
    fn id(&self) -> &'static str {
        "diff_markers"
    }

    fn rung(&self) -> &'static str {
        "diff_markers"
    }

    fn whole_lines(&self) -> bool {
        true
    }

    fn suits_call(&self, _old: &str, _new: &str) -> bool {
        // Context alone is no diff, if nothing was added.
        false
    }

    fn undo(&self, old: &str) -> Option<(String, UndoNew)> {
        let lines: Vec<&str> = old.strip_suffix('\n').unwrap_or(old).split('\n').collect();
        let marked = lines.iter().any(|line| line.starts_with(['-', '+']));
        let all = lines.iter().all(|line| line.is_empty() || line.starts_with(['-', '+', ' ']));
        let hunk = lines.iter().any(|line| line.starts_with("@@"));
        // Context alone may be a diff's, if new_str turns out to be one.
        let context = all && !marked;
        if !(all || hunk) {
            return None;
        }
        let strip_old = |line: &&str| match line.chars().next() {
            // The side that is gone does not belong to the text to be found, unless
            // the call marks all of it so.
            Some('-' | ' ' | '+') => line[1..].to_owned(),
            _ => (*line).to_owned(),
        };
        let both =
            lines.iter().any(|l| l.starts_with('-')) && lines.iter().any(|l| l.starts_with('+'));
        let wanted = |line: &&&str| !(line.starts_with("@@") || both && line.starts_with('+'));
        let mut text = lines.iter().filter(wanted).map(strip_old).collect::<Vec<_>>().join("\n");
        if old.ends_with('\n') {
            text.push('\n');
        }
        // Lines of context that both strings have show that new_str is a diff, too.
        let kept: Vec<String> =
            lines.iter().filter(|line| line.starts_with(' ')).map(|l| (*l).to_owned()).collect();
        let contents: Vec<String> = text.lines().map(str::to_owned).collect();
        let undo = move |new: &str| {
            // Lines of the text itself, which may be a list of items, came without marks.
            if new
                .lines()
                .any(|line| line.starts_with(['-', '+']) && contents.iter().any(|c| c == line))
            {
                return Some(new.to_owned());
            }
            let shared = new.split('\n').any(|line| kept.iter().any(|kept| kept == line));
            let added = new.split('\n').any(|line| line.starts_with('+'));
            if context && !(shared && added) {
                return None;
            }
            Some(undo_markers(new, shared))
        };
        Some((text, Box::new(undo)))
    }
}

fn undo_markers(new: &str, shared: bool) -> String {
    let all = |marks: &[char]| {
        new.split('\n')
            .all(|line| line.is_empty() || line.starts_with("@@") || line.starts_with(marks))
    };
    let some = new.split('\n').any(|line| line.starts_with(['+', '-']));
    let has_plus = new.split('\n').any(|line| line.starts_with('+'));
    if !(some || shared) || !all(&['+', '-', ' ']) {
        return new.to_owned();
    }
    let kept = new
        .split('\n')
        .filter(|line| !(line.starts_with("@@") || has_plus && line.starts_with('-')));
    let strip = |line: &str| line.strip_prefix(['+', '-', ' ']).unwrap_or(line).to_owned();
    kept.map(strip).collect::<Vec<_>>().join("\n")
}

/// A code fence around the text.
pub(super) struct CodeFence;

impl Decoding for CodeFence {
    fn id(&self) -> &'static str {
        "code_fence"
    }

    fn rung(&self) -> &'static str {
        "code_fence"
    }

    fn whole_lines(&self) -> bool {
        true
    }

    /// What the text is wrapped in, the file has around it as well, or has marks of that kind.
    fn is_of_the_file(&self, old: &str, file: &str) -> bool {
        let marks = ["```", "~~~", "<<<"];
        let Some(mark) = marks.into_iter().find(|mark| old.trim_start().starts_with(mark)) else {
            return false;
        };
        let inner = unfenced(old).unwrap_or_default();
        let first = inner.lines().map(str::trim).find(|line| !line.is_empty());
        let mut above = "";
        file.lines().map(str::trim).any(|line| {
            let wrapped = above.starts_with(mark) && Some(line) == first;
            above = line;
            wrapped
        })
    }

    fn undo(&self, old: &str) -> Option<(String, UndoNew)> {
        let text = unfenced(old)?;
        let breaks = |text: &str| text.len() - text.trim_end_matches('\n').len();
        let ends = breaks(&text);
        let opening = old.trim().lines().next().unwrap_or_default().to_owned();
        let opening = opening.split_inclusive('>').next().unwrap_or_default().to_owned();
        let undo = move |new: &str| {
            let half = || new.lines().any(|line| line.starts_with(&opening));
            unfenced(new).or_else(|| match ends.saturating_sub(breaks(new)) {
                _ if half() => None,
                0 => Some(new.to_owned()),
                _ if new.is_empty() => Some(String::new()),
                // The last line break belongs to the fence, which new_str does not have.
                1 => Some(format!("{new}\n")),
                _ => None,
            })
        };
        Some((text, Box::new(undo)))
    }
}

/// Quotes or back-ticks around both strings.
pub(super) struct Enclosed;

impl Decoding for Enclosed {
    fn id(&self) -> &'static str {
        "enclosing_quotes"
    }

    fn rung(&self) -> &'static str {
        "code_fence"
    }

    fn whole_lines(&self) -> bool {
        true
    }

    fn suits_call(&self, _old: &str, _new: &str) -> bool {
        // Around one of them they are its own.
        false
    }

    fn is_of_the_file(&self, old: &str, file: &str) -> bool {
        // Quotes of another kind.
        enclosed(old).is_some_and(|(_, text)| {
            ["\"", "'", "`", "“", "‘"].iter().any(|quote| file.contains(&format!("{quote}{text}")))
        })
    }

    fn undo(&self, old: &str) -> Option<(String, UndoNew)> {
        let (quote, text) = enclosed(old)?;
        let text = text.to_owned();
        let undo = move |new: &str| {
            let (own, text) = enclosed(new)?;
            (own == quote).then(|| text.to_owned())
        };
        Some((text, Box::new(undo)))
    }
}

fn enclosed(text: &str) -> Option<(char, &str)> {
    let text = text.trim();
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '`'))?;
    let inner = text[1..].strip_suffix(quote)?;
    // More than one is a fence or an empty literal, and the last one is not escaped.
    let fence = inner.starts_with(quote) || inner.ends_with(quote) && !inner.ends_with("\\\"");
    (!fence && !inner.ends_with('\\')).then_some((quote, inner))
}

/// `> ` before each line, from a quotation.
pub(super) struct Quotation;

impl Decoding for Quotation {
    fn id(&self) -> &'static str {
        "quotation_marks"
    }

    fn rung(&self) -> &'static str {
        "diff_markers"
    }

    fn whole_lines(&self) -> bool {
        true
    }

    fn is_of_the_file(&self, old: &str, file: &str) -> bool {
        let solid: Vec<&str> = old.lines().filter(|line| line.trim_end() != ">").collect();
        has_line_of(file, &solid.join("\n"))
    }

    fn undo(&self, old: &str) -> Option<(String, UndoNew)> {
        let text = unquoted_lines(old)?;
        let undo = |new: &str| match new.trim().is_empty() {
            true => Some(new.to_owned()),
            false => unquoted_lines(new),
        };
        Some((text, Box::new(undo)))
    }
}

fn unquoted_lines(text: &str) -> Option<String> {
    let body = text.strip_suffix('\n').unwrap_or(text);
    let mut lines = Vec::new();
    for line in body.split('\n') {
        let blank = line.trim_end() == ">";
        lines.push(if blank { "" } else { line.strip_prefix("> ")? });
    }
    if text.ends_with('\n') {
        lines.push("");
    }
    Some(lines.join("\n"))
}

/// The name of the file above both strings, as a comment or alone.
pub(super) struct NameAbove;

impl Decoding for NameAbove {
    fn id(&self) -> &'static str {
        "file_name_above"
    }

    fn rung(&self) -> &'static str {
        "code_fence"
    }

    fn whole_lines(&self) -> bool {
        true
    }

    fn suits_call(&self, _old: &str, _new: &str) -> bool {
        // What only one of them names is a line of the edit.
        false
    }

    fn is_of_the_file(&self, old: &str, file: &str) -> bool {
        old.split_once('\n').is_some_and(|(name, _)| has_line_of(file, name))
    }

    fn undo(&self, old: &str) -> Option<(String, UndoNew)> {
        let (name, text) = old.split_once('\n').filter(|(name, _)| names_a_file(name))?;
        // One of several names is a line of a list.
        if text.lines().any(names_a_file) {
            return None;
        }
        let name = name.to_owned();
        let undo = move |new: &str| {
            let (_, text) = new.split_once('\n').filter(|(above, _)| *above == name)?;
            Some(text.to_owned())
        };
        Some((text.to_owned(), Box::new(undo)))
    }
}

/// Whether a line is a path, be it in a comment.
fn names_a_file(line: &str) -> bool {
    let signs = |c: char| c.is_whitespace() || "#/;%-*<>!()".contains(c);
    let Some((path, kind)) = line.trim_matches(signs).rsplit_once('.') else { return false };
    let is_path = |c: char| c.is_alphanumeric() || "/\\_-.@+[]()".contains(c);
    let is_kind = (1..=8).contains(&kind.len()) && kind.bytes().all(|b| b.is_ascii_alphanumeric());
    // `a.b` alone is code as well.
    let comment = ["# ", "// ", "/* ", "(* ", "-- ", "<!-- ", "; ", "% "];
    let marked = path.contains('/') || comment.iter().any(|sign| line.starts_with(sign));
    is_kind && marked && !path.is_empty() && path.chars().all(is_path)
}

/// What tools and protocols put around a text.
fn unwrapped(text: &str) -> Option<String> {
    const NAMES: [&str; 10] = [
        "old_str",
        "new_str",
        "old_string",
        "new_string",
        "oldText",
        "newText",
        "search",
        "replace",
        "old_code",
        "new_code",
    ];
    let text = text.trim();
    let whole = |inner: &str| inner.strip_prefix('\n').unwrap_or(inner).to_owned();
    if let Some(inner) = text.strip_prefix("<![CDATA[") {
        return inner.strip_suffix("]]>").map(whole);
    }
    if let Some((name, rest)) = text.strip_prefix('<').and_then(|rest| rest.split_once('>'))
        && NAMES.contains(&name)
    {
        return rest.strip_suffix(&format!("</{name}>")).map(whole);
    }
    // The marks of a conflict around one of its sides.
    let line = |line: &str, sign: &str| line.starts_with(&sign.repeat(7));
    let (mut rest, mut marked, mut parted) = (text, false, false);
    if let Some((first, behind)) = rest.split_once('\n')
        && (line(first, "<") || line(first, "="))
    {
        (rest, marked, parted) = (behind, line(first, "<"), line(first, "="));
    }
    if let Some((before, last)) = rest.rsplit_once('\n')
        && (line(last, ">") || line(last, "=") && !parted)
    {
        (rest, marked) = (before, marked || line(last, ">"));
    }
    // The line in the middle alone underlines a title.
    marked.then(|| format!("{rest}\n"))
}

fn unfenced(text: &str) -> Option<String> {
    if let Some(inner) = unwrapped(text) {
        return Some(inner);
    }
    let trimmed = text.trim();
    let (opening, rest) = trimmed.split_once('\n')?;
    let fence = ["```", "~~~"].into_iter().find(|fence| opening.starts_with(fence))?;
    if opening[3..].contains(char::is_whitespace) && opening.len() > 24 {
        return None;
    }
    if rest.trim_end() == fence {
        return Some(String::new());
    }
    let body = rest.strip_suffix(fence)?;
    body.ends_with('\n').then(|| body.to_owned())
}
