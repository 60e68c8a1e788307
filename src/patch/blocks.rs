//! Search/replace blocks, in the shape that aider made common.

use super::{Change, FilePatch, Hunk, HunkLine, malformed};
use crate::edit::Refusal;

/// Whether a line opens a block.
pub(super) fn is_search(line: &str) -> bool {
    let line = line.trim_end();
    let marks = line.bytes().take_while(|b| *b == b'<').count();
    (5..=9).contains(&marks) && matches!(line[marks..].trim(), "SEARCH" | "ORIGINAL" | "")
}

fn is_divider(line: &str) -> bool {
    let line = line.trim_end();
    (5..=9).contains(&line.len()) && line.bytes().all(|b| b == b'=')
}

fn is_replace(line: &str) -> bool {
    let line = line.trim_end();
    let marks = line.bytes().take_while(|b| *b == b'>').count();
    (5..=9).contains(&marks) && matches!(line[marks..].trim(), "REPLACE" | "UPDATED" | "")
}

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
        let mut near_line = None;
        let mut search = Vec::new();
        let cut_off = || {
            malformed("a search/replace block is not closed")
                .hint("A block is <<<<<<< SEARCH, the old lines, =======, the new lines, >>>>>>> REPLACE.")
        };
        loop {
            let line = lines.next().ok_or_else(cut_off)?;
            if is_divider(line) {
                break;
            }
            match line.trim().strip_prefix(":start_line:") {
                Some(number) if search.is_empty() => near_line = number.trim().parse().ok(),
                _ if search.is_empty() && near_line.is_some() && line.trim() == "-------" => {}
                _ => search.push(line),
            }
        }
        let mut replace = Vec::new();
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
        files.push(FilePatch { path, change: change(&search, &replace, near_line) });
    }
    Ok(files)
}

fn change(search: &[&str], replace: &[&str], near_line: Option<usize>) -> Change {
    if search.iter().all(|line| line.trim().is_empty()) {
        return Change::Add(replace.iter().map(|line| format!("{line}\n")).collect());
    }
    // Lines that both sides begin and end with are context.
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

/// A line that can be nothing but a file's name.
fn file_name(line: &str) -> Option<String> {
    let name = line.trim().trim_start_matches(['#', '*', '>']).trim();
    let name = name.trim_matches(['`', '*', '"', '\'', ':']).trim();
    let fence = line.trim().starts_with("```");
    let plain = !name.is_empty() && !name.contains(char::is_whitespace) && !name.contains("://");
    (plain && !fence && (name.contains('.') || name.contains('/'))).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_name_their_files_in_several_ways() {
        let block = "<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n";
        for head in ["src/a.rs\n", "### `src/a.rs`:\n```rust\n", "**src/a.rs**\n\n```\n"] {
            let files = parse(&format!("{head}{block}"), None).expect(head);
            assert_eq!(files[0].path, "src/a.rs", "{head}");
        }
        assert!(parse(block, None).is_err());
        assert_eq!(parse(block, Some("x")).expect("path")[0].path, "x");
        assert!(parse("a.rs\n<<<<<<< SEARCH\na\n=======\nb\n", None).is_err());
    }
}
