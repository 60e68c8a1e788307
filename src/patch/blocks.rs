//! Parses search/replace blocks, in the form that aider made common.

use super::{Change, FilePatch, Hunk, HunkLine, malformed};
use crate::edit::Refusal;

/// The word after the five to nine `mark` characters of a marker line; `None` for another line.
fn parse_marker(line: &str, mark: u8) -> Option<&str> {
    let line = line.trim_end();
    let marks = line.bytes().take_while(|b| *b == mark).count();
    (5..=9).contains(&marks).then(|| line[marks..].trim_matches([' ', '>']))
}

/// Whether a line opens a block: `<<<<<<< SEARCH`, or `------- SEARCH` as some models write it.
pub(super) fn is_search(line: &str) -> bool {
    matches!(parse_marker(line, b'<'), Some("SEARCH" | "ORIGINAL" | ""))
        || matches!(parse_marker(line, b'-'), Some("SEARCH"))
}

/// Whether a line separates the two halves of a block: `=======`.
fn is_divider(line: &str) -> bool {
    let line = line.trim_end();
    (5..=9).contains(&line.len()) && line.bytes().all(|b| b == b'=')
}

/// Whether a line closes a block: `>>>>>>> REPLACE` or `+++++++ REPLACE`.
fn is_replace(line: &str) -> bool {
    matches!(parse_marker(line, b'>'), Some("REPLACE" | "UPDATED" | ""))
        || matches!(parse_marker(line, b'+'), Some("REPLACE"))
}

/// A line of a block without the backslash before what looks like a marker.
fn unescape(line: &str) -> &str {
    match line.strip_prefix('\\') {
        Some(text) if is_divider(text) || is_dash_line(text) || looks_like_marker(text) => text,
        _ => line,
    }
}

/// Whether a line could be taken for a marker of a block or for a line number.
fn looks_like_marker(line: &str) -> bool {
    let word = line.trim_start_matches(['<', '>', '-', '+']);
    let has_mark = (5..=9).contains(&(line.len() - word.len()));
    has_mark && (word.trim().is_empty() || word.starts_with(' '))
        || parse_line_marker(line).is_some()
}

/// Parses `:start_line:3` or `:end_line:9`: which of the two, and the number if there is one.
fn parse_line_marker(line: &str) -> Option<(&str, Option<usize>)> {
    let line = line.trim();
    ["start", "end"].into_iter().find_map(|edge| {
        let number = line.strip_prefix(':')?.strip_prefix(edge)?.strip_prefix("_line:")?;
        Some((edge, number.trim().trim_matches(['[', ']']).trim().parse().ok()))
    })
}

/// One half of a block.
#[derive(Default)]
struct Half<'a> {
    start_line: Option<usize>,
    /// Whether the half began with line numbers and no line of dashes has ended them yet.
    awaits_dashes: bool,
    lines: Vec<&'a str>,
}

impl<'a> Half<'a> {
    /// Adds a line, which may be a line number or the line of dashes after it.
    fn push(&mut self, line: &'a str) {
        match parse_line_marker(line).filter(|_| self.lines.is_empty()) {
            Some((edge, number)) => {
                self.awaits_dashes = true;
                if edge == "start" {
                    self.start_line = number;
                }
            }
            None if self.awaits_dashes && self.lines.is_empty() && is_dash_line(line) => {
                self.awaits_dashes = false;
            }
            None => self.lines.push(unescape(line)),
        }
    }
}

/// Whether a line is all dashes, as the one between a line number and the text.
fn is_dash_line(line: &str) -> bool {
    let line = line.trim();
    line.len() >= 5 && line.bytes().all(|b| b == b'-')
}

/// Parses the blocks of a text. `path` names the file of blocks that have no file name above them.
pub(super) fn parse(text: &str, path: Option<&str>) -> Result<Vec<FilePatch>, Refusal> {
    let mut files = Vec::new();
    let mut current: Option<String> = path.map(str::to_owned);
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if !is_search(line) {
            if let Some(name) = file_name(line) {
                current = Some(name);
            }
            continue;
        }
        let mut search = Half::default();
        let cut_off = || {
            malformed("a search/replace block is not closed")
                .hint("A block is <<<<<<< SEARCH, the old lines, =======, the new lines, >>>>>>> REPLACE.")
        };
        loop {
            let line = lines.next().ok_or_else(cut_off)?;
            if is_divider(line) {
                break;
            }
            search.push(line);
        }
        let mut replace = Half::default();
        loop {
            let line = lines.next().ok_or_else(cut_off)?;
            if is_replace(line) {
                break;
            }
            if is_search(line) || is_divider(line) {
                return Err(cut_off());
            }
            replace.push(line);
        }
        let path = current.clone().ok_or_else(|| {
            malformed("a search/replace block has no file")
                .hint("Put the file's path on the line above the block, or give it as `path`.")
        })?;
        files.push(FilePatch {
            path,
            change: to_change(&search.lines, &replace.lines, search.start_line),
        });
    }
    Ok(files)
}

/// The change that a block makes: a new file if the search half is blank, otherwise one hunk.
fn to_change(search: &[&str], replace: &[&str], near_line: Option<usize>) -> Change {
    if search.iter().all(|line| line.trim().is_empty()) {
        return Change::Add(replace.iter().map(|line| format!("{line}\n")).collect());
    }
    // Lines with which both halves begin or end are context.
    let head = search.iter().zip(replace).take_while(|(a, b)| a == b).count();
    let tail = search[head..].iter().rev().zip(replace[head..].iter().rev());
    let tail = tail.take_while(|(a, b)| a == b).count();
    let keep = |lines: &[&str]| {
        lines.iter().map(|line| HunkLine::Keep((*line).to_owned())).collect::<Vec<_>>()
    };
    let mut lines = keep(&search[..head]);
    let (old, new) = (&search[head..search.len() - tail], &replace[head..replace.len() - tail]);
    lines.extend(old.iter().map(|line| HunkLine::Remove((*line).to_owned())));
    lines.extend(new.iter().map(|line| HunkLine::Add((*line).to_owned())));
    lines.extend(keep(&search[search.len() - tail..]));
    Change::Update { move_to: None, hunks: vec![Hunk { lines, near_line, ..Hunk::default() }] }
}

/// The file name on a line that consists of nothing else, apart from Markdown around it.
fn file_name(line: &str) -> Option<String> {
    let name = line.trim().trim_start_matches(['#', '*', '>']).trim();
    let name = name.trim_matches(['`', '*', '"', '\'', ':']).trim();
    let is_fence = line.trim().starts_with("```");
    let is_one_word = !name.is_empty() && !name.contains(char::is_whitespace);
    let is_url = name.contains("://");
    // `...` between two blocks is an ellipsis, not a name.
    let looks_like_path = name.contains(char::is_alphanumeric) && name.contains(['.', '/']);
    (is_one_word && looks_like_path && !is_url && !is_fence).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_numbers_dashes_and_pluses_mark_a_block_and_a_backslash_escapes_a_line() {
        let cline = "------- SEARCH\na\n=======\nb\n+++++++ REPLACE\n";
        let roo = "<<<<<<< SEARCH\n:start_line:3\n:end_line:5\n-------\na\n\\=======\n\\>>>>>>> REPLACE\n=======\nb\n\\=======\n\\<<<<<<< SEARCH\n>>>>>>> REPLACE\n";
        let both = "<<<<<<< SEARCH\n:start_line:[3]\n-------\na\n\\:start_line:9\n=======\n:start_line:3\n-------\nb\n\\<<<<<<< HEAD\n>>>>>>> REPLACE\n";
        for (text, old, new, near) in [
            (cline, &["a"][..], &["b"][..], None),
            (both, &["a", ":start_line:9"], &["b", "<<<<<<< HEAD"], Some(3)),
            (
                roo,
                &["a", "=======", ">>>>>>> REPLACE"],
                &["b", "=======", "<<<<<<< SEARCH"],
                Some(3),
            ),
        ] {
            let files = parse(text, Some("x")).expect(text);
            let Change::Update { hunks, .. } = &files[0].change else { panic!("update") };
            assert_eq!(hunks[0].old_lines(), old, "{text}");
            assert_eq!(hunks[0].new_lines(), new, "{text}");
            assert_eq!(hunks[0].near_line, near, "{text}");
        }
    }

    #[test]
    fn blocks_name_their_files_in_several_ways() {
        let block = "<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n";
        for head in ["src/a.rs\n", "### `src/a.rs`:\n```rust\n", "**src/a.rs**\n\n```\n"] {
            let files = parse(&format!("{head}{block}"), None).expect(head);
            assert_eq!(files[0].path, "src/a.rs", "{head}");
        }
        assert!(parse(block, None).is_err());
        assert_eq!(parse(block, Some("x")).expect("path")[0].path, "x");
        let both = format!("src/a.rs\n{block}...\n{block}");
        let files = parse(&both, None).expect("blocks");
        assert_eq!(files[1].path, "src/a.rs", "an ellipsis names no file");
        assert!(parse("a.rs\n<<<<<<< SEARCH\na\n=======\nb\n", None).is_err());
    }
}
