//! Placeholders for code that was left out: "... existing code ...".

use std::cell::OnceCell;
use std::collections::HashSet;

use super::canon::is_word;
use super::code::{is_comment, without_comment};
use super::events::{Event, events};
use super::merge::Shape;
use super::tokens::literals;
use super::window::split;
use crate::edit::EditRequest;

/// Whether a line stands for code that is not there.
///
/// A bare `...` is Python; a placeholder says what it leaves out, or is a comment of
/// dots.
pub(super) fn is_placeholder(line: &str) -> bool {
    let line = line.trim();
    if line.len() > 120 {
        return false;
    }
    let comment = comment(line);
    if comment.is_none() && !line.contains("...") && !line.contains('…') {
        return false;
    }
    let inner = bare_words(comment.unwrap_or(line));
    let dots = starts_with_dots(inner) || ends_with_dots(inner);
    let words =
        inner.trim_matches(|c: char| c == '.' || c == '…' || c.is_whitespace()).to_lowercase();
    if words.is_empty() {
        return dots && (comment.is_some() || inner.len() <= 4);
    }
    let says = [
        "existing ",
        "rest of",
        "remaining",
        "unchanged",
        "other code",
        "other methods",
        "other functions",
        "same as before",
        "omitted",
        "previous code",
        "code here",
        "snip",
        "keep the rest",
        "as before",
        "more code",
        "unmodified",
        "not shown",
        "elided",
        "truncated",
    ];
    let named = says.iter().any(|phrase| words.contains(phrase));
    named && (dots || comment.is_some() && words.len() <= 60 && is_only_that(&words))
}

/// What stands behind the mark of a comment that the line consists of.
fn comment(line: &str) -> Option<&str> {
    let marks = ["//", "#", "/*", "--", "<!--", "{/*", "(*", ";", "%", "*"];
    let quote = || line.strip_prefix("' ").filter(|rest| !rest.contains('\''));
    marks.iter().find_map(|mark| line.strip_prefix(mark)).or_else(quote)
}

/// The words of a comment without its end and the brackets around them.
fn bare_words(comment: &str) -> &str {
    comment
        .trim_end_matches("*/}")
        .trim_end_matches("*/")
        .trim_end_matches("*)")
        .trim_end_matches("-->")
        .trim()
        .trim_matches(|c| matches!(c, '(' | ')' | '[' | ']' | '<' | '>' | '{' | '}'))
        .trim()
}

/// `... x` or `…x`, but not `...x`, which spreads a value.
fn starts_with_dots(text: &str) -> bool {
    text.starts_with('…')
        || text
            .strip_prefix("...")
            .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '.', '(']))
}

/// Whether dots come before the words, if there are any.
fn leads_with_dots(line: &str) -> bool {
    let line = line.trim();
    starts_with_dots(bare_words(comment(line).unwrap_or(line)))
}

fn ends_with_dots(text: &str) -> bool {
    text.ends_with('…') || text.ends_with("...")
}

/// A comment without dots is a placeholder only when it is nothing else.
fn is_only_that(words: &str) -> bool {
    [
        "rest of",
        "existing code",
        "remaining",
        "unchanged",
        "same as before",
        "other methods",
        "code unchanged",
    ]
    .iter()
    .any(|phrase| {
        words.starts_with(phrase) || words.ends_with("unchanged") || words.ends_with("omitted")
    }) && words.split_whitespace().count() <= 6
        && !words.split_whitespace().any(|word| matches!(word, "is" | "are" | "was"))
}

/// Dots alone, as an item too, which Python and TypeScript also write.
fn is_bare(line: &str) -> bool {
    matches!(line.trim().trim_end_matches(','), "..." | "…")
}

fn dotted(line: &str) -> bool {
    line.contains("...") || line.contains('…')
}

/// A placeholder in `new_str` that neither `old_str` nor the file has.
pub(super) fn introduced(request: &EditRequest, file: &str) -> Option<String> {
    // Every call comes here, and few have such lines.
    let suspect = |line: &str| dotted(line) || comment(line.trim()).is_some();
    if !request.new.lines().any(suspect) {
        return None;
    }
    // One that the file has is text, and no pattern for the new one.
    let has_own = request.old.lines().any(|old| is_placeholder(old) && !file.contains(old.trim()));
    if has_own {
        return None;
    }
    let foreign = |text: &str| !request.old.contains(text) && !file.contains(text);
    let new = split(&request.new);
    let loss = OnceCell::new();
    let loss = || loss.get_or_init(|| Loss::of(&split(&request.old), &new));
    let clear = |at: &usize| {
        let line = new[*at];
        is_placeholder(line)
            && !is_bare(line)
            && foreign(line.trim())
            && !is_sample(&new, *at)
            // Words alone may tell of the code below them, and a sentence may trail off.
            && (leads_with_dots(line) || loss().gone > 0)
    };
    if let Some(at) = (0..new.len()).find(clear) {
        return Some(new[at].trim().to_owned());
    }
    let own_line = |line: &str| file.lines().chain(request.old.lines()).any(|l| l.trim() == line);
    let shape = OnceCell::new();
    let shape = || shape.get_or_init(|| Shape::of(&new));
    (0..new.len()).find_map(|at| {
        let line = new[at].trim();
        let elided = if is_bare(line) {
            // What it stands for is left out beside what is changed.
            let beside = new.iter().any(|line| line.contains(is_word));
            beside
                && !own_line(line)
                && !is_code(&new, at)
                && !shape().in_raw_literal(at)
                && loss().runs[at].gone > 0
        } else if let Some(said) = comment(line).and_then(Said::of) {
            foreign(line) && loss().runs[at].is_covered_by(said)
        } else if let Some((head, body)) = elided_body(new[at]) {
            // Where the old text has dots as well, they are a part of it.
            let own = |old: &str| elided_body(old).is_some_and(|(h, _)| h.trim() == head.trim());
            let known = request.old.contains(head.trim()) && !request.old.lines().any(own);
            foreign(body) && known && loss().gone > 0
        } else {
            false
        };
        elided.then(|| line.to_owned())
    })
}

/// What a comment says about code that is not shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Said {
    /// That it is as it was.
    Same,
    /// That something is kept, which may also be what the code beside it does.
    Kept,
}

impl Said {
    fn of(comment: &str) -> Option<Self> {
        let words = bare_words(comment).to_lowercase();
        let words = words.trim_start_matches("todo").trim_start_matches(':').trim();
        let words = words.strip_prefix("the ").unwrap_or(words);
        let (first, last) = (words.split(' ').next()?, words.rsplit(' ').next()?);
        let count = words.split_whitespace().count();
        let has = |phrases: &[&str]| phrases.iter().any(|phrase| words.contains(phrase));
        let as_it_was = || has(&["same", "unchanged", "as before", "as is", "as it was"]);
        match first {
            _ if !(2..=8).contains(&count) => None,
            "rest" if as_it_was() || last == "here" => Some(Self::Same),
            "original" | "existing" | "previous" | "same" | "unchanged"
                if matches!(last, "here" | "before" | "unchanged") =>
            {
                Some(Self::Same)
            }
            "keep" | "keeps" | "leave" | "preserve" | "retain"
                if as_it_was() || has(&["existing", "original", " rest"]) =>
            {
                Some(Self::Kept)
            }
            _ if as_it_was() && has(&["unchanged", "as before", "as it was", "stays the same"]) => {
                Some(Self::Kept)
            }
            _ => None,
        }
    }
}

/// The lines of code that go from `old_str`.
#[derive(Debug, Default)]
struct Loss {
    gone: usize,
    /// For each line of `new_str`, what happens in the run of changes that it is in.
    runs: Vec<Run>,
}

/// Lines of code that go and come between two that are kept.
#[derive(Debug, Clone, Copy, Default)]
struct Run {
    gone: usize,
    come: usize,
}

impl Run {
    fn is_covered_by(self, said: Said) -> bool {
        match said {
            Said::Same => self.gone > 0,
            Said::Kept => self.gone > self.come,
        }
    }
}

impl Loss {
    fn of(old: &[&str], new: &[&str]) -> Self {
        let is_code = |line: &str| {
            let letters = line.chars().filter(|c| is_word(*c)).take(2).count();
            letters == 2 && !is_comment(line) && !is_placeholder(line) && line.trim() != "pass"
        };
        let stays: HashSet<&str> = new.iter().map(|line| line.trim()).collect();
        let lost = |o: usize| is_code(old[o]) && !stays.contains(old[o].trim());
        let mut loss = Self { gone: 0, runs: vec![Run::default(); new.len()] };
        for run in events(old, new).split(|event| matches!(event, Event::Keep(..))) {
            let mut sum = Run::default();
            for event in run {
                match *event {
                    Event::Delete(o) if lost(o) => sum.gone += 1,
                    // A line that became a placeholder is gone.
                    Event::Change(o, n) if lost(o) && !is_code(new[n]) => sum.gone += 1,
                    Event::Change(o, _) if lost(o) => loss.gone += 1,
                    Event::Insert(n) if is_code(new[n]) => sum.come += 1,
                    _ => {}
                }
            }
            loss.gone += sum.gone;
            for event in run {
                if let Event::Insert(n) | Event::Change(_, n) = *event {
                    loss.runs[n] = sum;
                }
            }
        }
        loss
    }
}

/// Whether a line with dots is one of a sample: of a session in a text, or in a comment that
/// begins above it.
fn is_sample(lines: &[&str], at: usize) -> bool {
    let above = lines[..at].iter().map(|line| line.trim());
    let goes_on = || above.clone().next_back().is_some_and(|line| line.starts_with("... "));
    let session = || goes_on() || above.clone().any(|line| line.starts_with(">>> "));
    let opener = || above.clone().rposition(|line| line.starts_with("/*"));
    let open = |from: usize| !lines[from..at].iter().any(|line| line.contains("*/"));
    match lines[at].trim() {
        line if line.starts_with("...") => session(),
        line if line.starts_with('*') => opener().is_some_and(open),
        _ => false,
    }
}

/// Whether dots alone on a line are code: the body of a block, an argument, or what an
/// example in a text prints.
fn is_code(lines: &[&str], at: usize) -> bool {
    let depth = |line: &str| line.len() - line.trim_start().len();
    if lines[at].trim().starts_with('…') {
        return false;
    }
    if is_sample(lines, at) {
        return true;
    }
    let solid = |line: &&&str| !line.trim().is_empty();
    let outer = |line: &&&str| solid(line) && depth(line) < depth(lines[at]);
    let above = lines[..at].iter().rposition(|line| outer(&line));
    let Some(head) = above else { return false };
    let beside = lines[head + 1..at].iter().filter(solid).map(|line| line.trim());
    let quotes = ["\"\"\"", "\'\'\'"];
    let documents = |text: &str| quotes.iter().any(|quote| text.contains(quote));
    let (first, last) = (beside.clone().next(), beside.clone().next_back());
    let alone = first.is_none_or(documents)
        && last.is_none_or(documents)
        && lines[at + 1..].iter().find(solid).is_none_or(|next| depth(next) < depth(lines[at]));
    let head = without_comment(lines[head]).trim_end();
    head.ends_with(':') && alone
        || head.ends_with('(')
        || head.strip_suffix('[').is_some_and(|name| name.ends_with(is_word))
}

/// A line's text to a bracket, and the brackets, where those hold dots or such a comment for
/// what is in them.
fn elided_body(line: &str) -> Option<(&str, &str)> {
    if !line.contains("...") && !line.contains('…') {
        return None;
    }
    let literals = literals(line);
    let code = without_comment(line);
    code.match_indices(['{', '[']).find_map(|(at, open)| {
        let before = line[..at].chars().next_back();
        let (close, index) = match open {
            // A pattern of arguments, in languages that have it, stands before a colon.
            "{" => ('}', before.is_some_and(|c| matches!(c, '@' | '$'))),
            _ => (']', before.is_some_and(|c| is_word(c) || matches!(c, ')' | ']'))),
        };
        if index || literals.iter().any(|literal| literal.contains(&at)) {
            return None;
        }
        let inner = &code[at + 1..];
        let end = inner.find(close).unwrap_or(inner.len());
        let (body, behind) = (&inner[..end], inner[end..].trim_start_matches(close));
        if close == '}' && behind.trim_start().starts_with([':', '@']) {
            return None;
        }
        let mut items = body.split(',');
        let (first, last) = (items.next()?, items.next_back());
        let whole = end < inner.len() && (is_bare(body) || is_placeholder(body));
        let item = last.is_some_and(|last| is_bare(first) || close == ']' && is_bare(last));
        let end = code.len() - behind.len();
        (whole || item).then(|| (&code[..=at], &code[at..end]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_told_from_code() {
        for line in [
            "// ... existing code ...",
            "# … rest of the function …",
            "/* ... */",
            "...",
            "    // rest of the code unchanged",
            "<!-- ... existing markup ... -->",
            "{/* ... rest of component ... */}",
            "[... rest of code ...]",
            "# ... (unchanged)",
        ] {
            assert!(is_placeholder(line), "{line}");
        }
        for line in [
            "f(...args)",
            "// wait...",
            "// keep existing users on the old plan",
            "let rest = [...existing];",
            "x = 1",
            "",
            "// remove the existing index before it is built again",
        ] {
            assert!(!is_placeholder(line), "{line}");
        }
    }

    fn finds(old: &str, new: &str) -> bool {
        introduced(&EditRequest::new(old, new), old).is_some()
    }

    #[test]
    fn what_stands_for_lines_that_go_is_found() {
        let body = "run(a) {\n  this.push(a);\n  this.next();\n}\n";
        for new in [
            "run(a) { ... }\n\nstop() {}\n",
            "run(a) { /* ... */ }\n\nstop() {}\n",
            "run(a) {\n  …\n}\n\nstop() {\n  this.jobs = [];\n}\n",
            "run(a) {\n  (* ... existing code ... *)\n}\n",
            "run(a) {\n  // rest stays the same\n}\n",
            "run(a) {\n  ' keep the existing calls\n}\n",
            "run(a) {\n  <!-- the original calls here -->\n}\n",
            "run(a) {\n  log();\n  % TODO: keep original code\n}\n",
        ] {
            assert!(finds(body, new), "{new}");
        }
        let list = "A = [\n    one,\n    two,\n    three,\n]\n";
        for new in ["A = [\n    ...,\n    three,\n    four,\n]\n", "A = [..., three, four]\n"] {
            assert!(finds(list, new), "{new}");
        }
        assert!(finds("d = {\"a\": 1, \"b\": 2}\n", "d = {...}\ne = 2\n"));
        assert!(finds("lock()\ntry:\n    go()\n", "lock()\nseen.add(1)\n...\n"));
    }

    #[test]
    fn dots_and_comments_of_the_language_are_no_placeholders() {
        for (old, new) in [
            // No line goes for it.
            ("a.move()\n", "// keep existing users on the old plan\na.move()\n"),
            ("a.clear()\n", "// keep existing users on the old plan\na.retain(is_old)\n"),
            ("pass", "..."),
            ("f(a)\n", "f(...args)\n"),
            ("x: Tuple[int, int]\ny: int\n", "x: Tuple[int, ...]\n"),
            ("const { a, b } = c;\nuse(b);\n", "const { a, ...rest } = c;\n"),
            ("x = a[0, 1, 2]\ny = 1\n", "x = a[..., 2]\n"),
            ("def f():\n    return 1\n", "def f(): ...\n"),
            ("def f():\n    return 1\n", "def f():\n    \"\"\"One.\"\"\"\n    ...\n"),
            ("f(r#\"\na\nb\n\"#);\n", "f(r#\"\na\n...\n\"#);\n"),
            ("void f(\n    int a,\n    int b\n);\n", "void f(\n    int a,\n    ...\n);\n"),
            (">>> f()\n1\n2\n3\n", ">>> f()\n1\n...\n3\n"),
            ("... a\n... b == 1\n... c\n", "... a\n... b in [\n...     1,\n... ]\n... c\n"),
            ("{ pkgs, lib }:\nlib.x\n", "{ pkgs, ... }:\npkgs.x\n"),
            ("Wait for it.\nIt comes.\n", "Wait for it...\n"),
            ("print('run [a] [b]')\nprint('x')\n", "print('run [...]')\n"),
            ("a()\nb()\n", "// the order is that of the rest client\nc()\n"),
        ] {
            assert!(!finds(old, new), "{new}");
        }
    }
}
