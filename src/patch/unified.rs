//! Parses unified diffs as models and git write them. Their line counts are often wrong and are
//! ignored; their line numbers are only hints.
//!
//! What git says of a file besides its lines is applied or refused by name, and never dropped:
//! renames, new and deleted files are applied; modes, copies, links and binary parts are refused.

use super::{Change, FilePatch, malformed, v4a};
use crate::edit::Refusal;

/// What git says of a file, above its hunks.
#[derive(Debug, Default)]
struct GitHeader {
    /// The old and the new name on the `diff --git` line, if they can be told apart.
    names: Option<(String, String)>,
    /// Whether these names have prefixes such as `a/` and `b/`.
    has_prefixes: bool,
    rename: (Option<String>, Option<String>),
    is_new: bool,
    is_deleted: bool,
}

/// Parses the hunks of a diff. `path` names the file if the diff has no file header.
pub(super) fn parse(text: &str, path: Option<&str>) -> Result<Vec<FilePatch>, Refusal> {
    let lines: Vec<&str> = text.lines().collect();
    let mut files = Vec::new();
    let mut at = 0;
    let mut name = path.map(str::to_owned);
    let mut old_name = None;
    let mut git: Option<GitHeader> = None;
    while at < lines.len() {
        let line = lines[at];
        if line.starts_with("diff --git ") {
            files.extend(git.take().and_then(without_hunks));
            let (header, next) = git_header(&lines, at)?;
            (git, at) = (Some(header), next);
            (name, old_name) = (path.map(str::to_owned), None);
            continue;
        }
        if is_file_header(&lines, at) {
            let has_prefixes = git.as_ref().is_none_or(|header| header.has_prefixes);
            old_name = Some(strip_prefix_and_date(&line[4..], has_prefixes)?);
            name = Some(strip_prefix_and_date(&lines[at + 1][4..], has_prefixes)?);
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
        let header = git.take();
        let (from, to) = match header.map(|header| header.rename) {
            Some((Some(from), Some(to))) => (from, to),
            _ => (old_name.clone().unwrap_or_default(), name.clone().unwrap_or_default()),
        };
        let (path, change) = match (from.as_str(), to.as_str()) {
            (_, "") => {
                return Err(malformed("the diff names no file")
                    .hint("Begin it with --- a/PATH and +++ b/PATH."));
            }
            ("/dev/null", to) => {
                let added = hunks.iter().flat_map(|hunk| hunk.new_lines());
                let mut content: String = added.map(|line| format!("{line}\n")).collect();
                if hunks.last().is_some_and(|hunk| hunk.final_newline == Some(false)) {
                    content.pop();
                }
                (to, Change::Add(content))
            }
            (from, "/dev/null") => (from, Change::Delete),
            (from, to) if from.is_empty() || from == to => {
                (to, Change::Update { move_to: None, hunks })
            }
            (from, to) => (from, Change::Update { move_to: Some(to.to_owned()), hunks }),
        };
        files.push(FilePatch { path: path.to_owned(), change });
    }
    files.extend(git.take().and_then(without_hunks));
    Ok(files)
}

/// The change of a file of which git shows no lines: a rename, or an empty file that is created or
/// deleted.
fn without_hunks(header: GitHeader) -> Option<FilePatch> {
    if let (Some(path), Some(to)) = header.rename {
        let change = Change::Update { move_to: Some(to), hunks: Vec::new() };
        return Some(FilePatch { path, change });
    }
    let (old, new) = header.names?;
    match (header.is_new, header.is_deleted) {
        (true, _) => Some(FilePatch { path: new, change: Change::Add(String::new()) }),
        (_, true) => Some(FilePatch { path: old, change: Change::Delete }),
        _ => None,
    }
}

/// Reads a `diff --git` line and the lines below it that belong to it; returns also where the next
/// part begins. Refuses what cannot be applied.
fn git_header(lines: &[&str], start: usize) -> Result<(GitHeader, usize), Refusal> {
    let mut header = GitHeader::default();
    let line = lines[start]["diff --git ".len()..].trim_end();
    if let Some((old, new)) = split_names(line) {
        let bare = |name: &str| name.get(2..).map(str::to_owned).unwrap_or_default();
        // Git's prefixes are a letter for each side; without them, both names are the same.
        let has_prefix = |name: &str| name.as_bytes().get(1) == Some(&b'/');
        header.has_prefixes =
            has_prefix(&old) && has_prefix(&new) && old.as_bytes()[0] != new.as_bytes()[0];
        header.names = Some(match header.has_prefixes {
            true => (bare(&old), bare(&new)),
            false => (old, new),
        });
    } else {
        header.has_prefixes = true;
    }
    let subject = header.names.as_ref().map_or(line, |(_, new)| new).to_owned();
    let refuse = |what: &str| {
        let subject = crate::text::quote_name(&subject).into_owned();
        Err(malformed(format!("the patch {what} `{subject}`, which cannot be applied here"))
            .at(subject)
            .hint("Nothing was written. Take this part out of the patch and do it with git, then send the rest."))
    };
    let mut at = start + 1;
    while at < lines.len() {
        let line = lines[at];
        if line.starts_with("diff --git ") || line.starts_with("@@") || is_file_header(lines, at) {
            break;
        }
        let file_mode = line.strip_prefix("new file mode ").map(str::trim);
        let index_mode = line.strip_prefix("index ").and_then(|rest| rest.split(' ').nth(1));
        if let Some(name) = line.strip_prefix("rename from ") {
            header.rename.0 = Some(unquoted(name)?);
        } else if let Some(name) = line.strip_prefix("rename to ") {
            header.rename.1 = Some(unquoted(name)?);
        } else if line.starts_with("copy from ") || line.starts_with("copy to ") {
            return refuse("copies a file to");
        } else if line.starts_with("old mode ") || line.starts_with("new mode ") {
            return refuse("changes the mode of");
        } else if matches!(file_mode.or(index_mode), Some("120000" | "160000"))
            || matches!(line.trim_end(), "deleted file mode 120000" | "deleted file mode 160000")
        {
            return refuse("changes a symbolic link or a submodule,");
        } else if file_mode.is_some_and(|mode| mode != "100644") {
            return refuse("creates an executable file,");
        } else if line.starts_with("GIT binary patch")
            || line.starts_with("Binary files ") && line.trim_end().ends_with(" differ")
        {
            return refuse("has a binary change of");
        }
        header.is_new |= file_mode.is_some();
        header.is_deleted |= line.starts_with("deleted file mode ");
        at += 1;
    }
    Ok((header, at))
}

/// The two names of a `diff --git` line. Names with blanks are told apart only if both are the same
/// but for their prefix; a rename has lines of its own for its names.
fn split_names(line: &str) -> Option<(String, String)> {
    if line.starts_with('"') || line.ends_with('"') {
        let end = match line.strip_prefix('"') {
            Some(rest) => 2 + closing_quote(rest)?,
            None => line.find(" \"")?,
        };
        let (old, new) = (line.get(..end)?, line.get(end + 1..)?);
        return Some((unquoted(old).ok()?, unquoted(new).ok()?));
    }
    if let Some((old, new)) = line.split_once(' ')
        && !new.contains(' ')
    {
        return Some((old.to_owned(), new.to_owned()));
    }
    let middle = line.len() / 2;
    let (old, new) = (line.get(..middle)?, line.get(middle + 1..)?);
    let is_same = old == new || old.get(2..).is_some_and(|rest| new.get(2..) == Some(rest));
    (line.as_bytes().get(middle) == Some(&b' ') && is_same)
        .then(|| (old.to_owned(), new.to_owned()))
}

/// Where a quoted name ends that has begun.
fn closing_quote(rest: &str) -> Option<usize> {
    let mut is_escaped = false;
    rest.bytes().position(|byte| {
        let closes = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        closes
    })
}

/// A name without the quotes and escapes that git gives names with unusual characters.
fn unquoted(name: &str) -> Result<String, Refusal> {
    let name = name.trim_end_matches('\r');
    let Some(quoted) = name.strip_prefix('"').and_then(|name| name.strip_suffix('"')) else {
        return Ok(name.to_owned());
    };
    let mut bytes = Vec::new();
    let mut rest = quoted.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        bytes.push(match rest.next() {
            Some(b'n') => b'\n',
            Some(b't') => b'\t',
            Some(b'r') => b'\r',
            Some(b'a') => 7,
            Some(b'b') => 8,
            Some(b'v') => 11,
            Some(b'f') => 12,
            Some(first @ b'0'..=b'3') => {
                let mut digit = || rest.next().filter(u8::is_ascii_digit).unwrap_or(b'0') - b'0';
                ((first - b'0') << 6) | (digit() << 3) | digit()
            }
            Some(other) => other,
            None => b'\\',
        });
    }
    String::from_utf8(bytes).map_err(|_| {
        malformed(format!("the patch names {name}, which is not UTF-8"))
            .hint("Take this file out of the patch.")
    })
}

/// Whether a file header begins at a line: `--- a/PATH` followed by `+++ b/PATH`.
fn is_file_header(lines: &[&str], at: usize) -> bool {
    lines[at].starts_with("--- ") && lines.get(at + 1).is_some_and(|next| next.starts_with("+++ "))
}

/// The path in a file header: `src/x.rs` for `a/src/x.rs\t2026-01-01`.
fn strip_prefix_and_date(raw: &str, has_prefix: bool) -> Result<String, Refusal> {
    let name = unquoted(raw.split('\t').next().unwrap_or(raw).trim())?;
    let is_prefixed = has_prefix && name.as_bytes().get(1) == Some(&b'/');
    let stripped = match name.as_bytes().first() {
        Some(b'a' | b'b' | b'c' | b'i' | b'o' | b'w') if is_prefixed => name[2..].to_owned(),
        _ => name,
    };
    Ok(stripped)
}
