//! Parses unified diffs as models write them. Their line counts are often wrong and are ignored; their
//! line numbers are only hints.

use super::{Change, FilePatch, v4a};
use crate::edit::Refusal;

/// Parses the hunks of a diff. `path` names the file if the diff has no file header.
pub(super) fn parse(text: &str, path: Option<&str>) -> Result<Vec<FilePatch>, Refusal> {
    let lines: Vec<&str> = text.lines().collect();
    let mut files = Vec::new();
    let mut at = 0;
    let mut name = path.map(str::to_owned);
    let mut old_name = None;
    while at < lines.len() {
        let line = lines[at];
        if is_file_header(&lines, at) {
            old_name = Some(strip_prefix_and_date(&line[4..]));
            name = Some(strip_prefix_and_date(&lines[at + 1][4..]));
            at += 2;
            continue;
        }
        if !line.starts_with("@@") {
            at += 1;
            continue;
        }
        let start = at;
        while at < lines.len()
            && !is_file_header(&lines, at)
            && !lines[at].starts_with("diff --git ")
        {
            at += 1;
        }
        let hunks = v4a::parse_hunks(&lines[start..at]);
        let (from, to) = (old_name.clone().unwrap_or_default(), name.clone().unwrap_or_default());
        let new_content = || -> String {
            let lines = hunks.iter().flat_map(|hunk| hunk.new_lines());
            lines.map(|line| format!("{line}\n")).collect()
        };
        let (path, change) = match (from.as_str(), to.as_str()) {
            (_, "") => {
                return Err(super::malformed("the diff names no file")
                    .hint("Begin it with --- a/PATH and +++ b/PATH."));
            }
            ("/dev/null", to) => (to, Change::Add(new_content())),
            (from, "/dev/null") => (from, Change::Delete),
            (from, to) if from.is_empty() || from == to => {
                (to, Change::Update { move_to: None, hunks: hunks.clone() })
            }
            (from, to) => {
                (from, Change::Update { move_to: Some(to.to_owned()), hunks: hunks.clone() })
            }
        };
        files.push(FilePatch { path: path.to_owned(), change });
    }
    Ok(files)
}

/// Whether a file header begins at a line: `--- a/PATH` followed by `+++ b/PATH`.
fn is_file_header(lines: &[&str], at: usize) -> bool {
    lines[at].starts_with("--- ") && lines.get(at + 1).is_some_and(|next| next.starts_with("+++ "))
}

/// The path in a file header: `src/x.rs` for `a/src/x.rs\t2026-01-01`.
fn strip_prefix_and_date(raw: &str) -> String {
    let name = raw.split('\t').next().unwrap_or(raw).trim().trim_matches('"');
    let name = name.strip_prefix("a/").or_else(|| name.strip_prefix("b/")).unwrap_or(name);
    name.to_owned()
}
