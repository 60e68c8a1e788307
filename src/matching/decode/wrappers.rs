//! What a text was wrapped in: diff markers, a code fence.

use super::{Decoding, UndoNew};

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

    fn undo(&self, old: &str) -> Option<(String, UndoNew)> {
        let text = unfenced(old)?;
        let whole = text.ends_with('\n');
        let undo = move |new: &str| {
            unfenced(new).or_else(|| {
                let lacks = whole && !new.is_empty() && !new.ends_with('\n');
                Some(if lacks { format!("{new}\n") } else { new.to_owned() })
            })
        };
        Some((text, Box::new(undo)))
    }
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
    let line = |line: &str, sign: &str| line.starts_with(&sign.repeat(5));
    let (mut rest, mut marked) = (text, false);
    if let Some((first, behind)) = rest.split_once('\n')
        && (line(first, "<") || line(first, "="))
    {
        (rest, marked) = (behind, true);
    }
    if let Some((before, last)) = rest.rsplit_once('\n')
        && (line(last, "=") || line(last, ">"))
    {
        (rest, marked) = (before, true);
    }
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
