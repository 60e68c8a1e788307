//! Reads aider's history: one Markdown file for all sessions of a folder,
//! `.aider.chat.history.md`. Lines of the user begin with `#### `, lines of aider with `> `, and all
//! others are the model's answers.
//!
//! Edits are SEARCH/REPLACE blocks. A block counts only if aider reports that it was applied or
//! that it failed; a block in a question or in an interrupted answer does not. The only times in
//! the history are the starts of sessions. They are in local time, but are read as UTC.

use std::collections::BTreeSet;
use std::mem;
use std::path::Path;
use std::str::Lines;

use serde_json::Value;

use super::{Client, EditAttempt, FileAction, Replacement, Transcript};

/// The start of the first line of a session; its time follows.
pub const START: &str = "# aider chat started at ";

/// Words of aider's lines. They have a `> ` before them, and two spaces at the end.
const FAILED: &str =
    "## SearchReplaceNoExactMatch: This SEARCH block failed to exactly match lines in ";
const SIMILAR: &str = "Did you mean to match some of these actual lines from ";
const APPLIED: &str = "Applied edit to ";
const OTHERS_APPLIED: &str = "# The other ";

/// Reads all sessions of a history that is in `folder`.
pub fn read(text: &str, session: &str, folder: Option<&Path>) -> Vec<Transcript> {
    let mut found: Vec<Reader> = Vec::new();
    for line in text.lines() {
        if let Some(time) = line.strip_prefix(START) {
            let mut out = Transcript::new(Client::Aider, &format!("{session}/{}", found.len() + 1));
            out.folder = folder.map(Path::to_owned);
            out.set_time(&Value::from(time.trim()));
            found.push(Reader::new(out));
        } else if let Some(reader) = found.last_mut() {
            reader.read_line(line);
        }
    }
    let finished = found.into_iter().map(|mut reader| {
        reader.finish_answer();
        reader.out
    });
    finished.collect()
}

/// A block of an answer, or one that aider quotes in an error.
#[derive(Debug, Clone)]
struct Block {
    path: String,
    old: String,
    new: String,
}

/// What the current line belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// The model's answer.
    Answer,
    /// A block in it.
    Block,
    /// A notice of aider. It may have `> ` on its first line only, and ends at an empty line.
    Notice,
    /// None of these.
    Other,
}

/// Reads one session, line by line.
struct Reader {
    out: Transcript,
    turn: usize,
    part: Part,
    /// The model's last answer.
    answer: String,
    /// What aider wrote after it.
    notices: String,
    /// The files that the last edit changed, which `/undo` restores.
    last_changed: BTreeSet<String>,
}

impl Reader {
    fn new(out: Transcript) -> Self {
        let (answer, notices) = (String::new(), String::new());
        Self { out, turn: 0, part: Part::Other, answer, notices, last_changed: BTreeSet::new() }
    }

    /// Reads one line of the session.
    fn read_line(&mut self, line: &str) {
        // A line of Markdown in a block may look like one of aider.
        if self.part == Part::Block && !ends_answer(line) {
            if is_mark(line, '>', " REPLACE") {
                self.part = Part::Answer;
            }
            self.answer.extend([line, "\n"]);
        } else if line.starts_with("> ") || line == ">" {
            self.part = Part::Notice;
            let body = line.strip_prefix("> ").unwrap_or_default();
            self.notices.extend([body.strip_suffix("  ").unwrap_or(body), "\n"]);
        } else if line.starts_with("#### ") {
            self.finish_answer();
        } else if line.trim().is_empty() && self.part != Part::Answer {
            self.part = Part::Other;
        } else if self.part != Part::Notice {
            if self.part == Part::Other {
                self.finish_answer();
                self.turn += 1;
            }
            self.part = if is_mark(line, '<', " SEARCH") { Part::Block } else { Part::Answer };
            self.answer.extend([line, "\n"]);
        }
    }

    /// Records the blocks of the last answer that were applied or that failed.
    fn finish_answer(&mut self) {
        self.part = Part::Other;
        let (answer, notices) = (mem::take(&mut self.answer), mem::take(&mut self.notices));
        for notice in notices.lines() {
            if let Some(model) = model_name(notice) {
                self.out.set_model(&model.into());
            } else if let Some(tokens) = received_tokens(notice) {
                self.out.add_tokens(self.turn, tokens);
            } else if notice.starts_with("Removed: ") {
                // The answer to `/undo`.
                for path in mem::take(&mut self.last_changed) {
                    self.out.push(self.turn, &path, FileAction::ChangedUnseen);
                }
            }
        }
        let mut failed: Vec<_> = notices.split(FAILED).skip(1).filter_map(failed_block).collect();
        let applied = notices.lines().filter_map(|notice| notice.strip_prefix(APPLIED));
        let mut changed: BTreeSet<String> = applied.map(|path| path.trim().to_owned()).collect();
        let others_applied = notices.lines().any(|notice| notice.starts_with(OTHERS_APPLIED));
        let mut all = blocks(&answer, "");
        // With `--apply`, aider takes the blocks from a file, so the history has only failed ones.
        for (block, _) in &failed {
            if !all.iter().any(|other| same_lines(&other.old, &block.old)) {
                all.push(block.clone());
            }
        }
        let mut recorded: BTreeSet<String> = BTreeSet::new();
        for (number, block) in (1..).zip(all) {
            let index = failed.iter().position(|(other, _)| same_lines(&other.old, &block.old));
            let failure = index.map(|index| failed.remove(index));
            let path = failure.as_ref().map_or(&block.path, |(other, _)| &other.path).clone();
            let is_applied = failure.is_none() && (others_applied || changed.contains(&path));
            if path.is_empty() || !is_applied && failure.is_none() {
                continue;
            }
            recorded.insert(path.clone());
            if is_applied {
                changed.insert(path.clone());
            }
            let action = if is_applied && block.old.trim().is_empty() {
                // An empty SEARCH creates a file, or adds to the end of an existing one.
                FileAction::ChangedUnseen
            } else {
                FileAction::Edited(EditAttempt {
                    id: format!("{}.{number}", self.turn),
                    edits: vec![Replacement { old: block.old, new: block.new, all: false }],
                    error: failure.as_ref().map(|_| "SEARCH block not found".to_owned()),
                    shown: failure.and_then(|(_, shown)| shown),
                    ..EditAttempt::default()
                })
            };
            self.out.push(self.turn, &path, action);
        }
        // aider also applies whole files and diffs, whose text this reader does not look for.
        for path in changed.difference(&recorded) {
            self.out.push(self.turn, path, FileAction::ChangedUnseen);
        }
        if !changed.is_empty() {
            self.last_changed = changed;
        }
    }
}

/// Returns the blocks of a text. `path` names the file of blocks that have no file name above them.
fn blocks(text: &str, path: &str) -> Vec<Block> {
    let (mut found, mut path) = (Vec::new(), path.to_owned());
    let mut above: Vec<&str> = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if !is_mark(line, '<', " SEARCH") {
            above.push(line);
            continue;
        }
        path = above.iter().rev().take(3).find_map(|line| file_name(line)).unwrap_or(path);
        above.clear();
        let (old, new) = (until(&mut lines, '=', ""), until(&mut lines, '>', " REPLACE"));
        // A block without an end was interrupted.
        if let (Some(old), Some(new)) = (old, new) {
            found.push(Block { path: path.clone(), old, new });
        }
    }
    found
}

/// Returns the lines up to a marker, which is taken, too; `None` if there is no such marker.
fn until(lines: &mut Lines<'_>, mark: char, word: &str) -> Option<String> {
    let mut text = String::new();
    for line in lines {
        if is_mark(line, mark, word) {
            return Some(text);
        }
        text.extend([line, "\n"]);
    }
    None
}

/// Returns the block that an error quotes, and the similar lines of the file that it shows.
fn failed_block(error: &str) -> Option<(Block, Option<String>)> {
    let (path, rest) = error.split_once('\n')?;
    let block = blocks(rest, path.trim()).into_iter().next()?;
    let is_fence = |line: &&str| line.starts_with("```") || is_tag(line.trim_end());
    let shown = rest.split_once(SIMILAR).map(|(_, text)| {
        let lines = text.lines().skip(1).skip_while(|line| !is_fence(line)).skip(1);
        lines.take_while(|line| !is_fence(line)).flat_map(|line| [line, "\n"]).collect::<String>()
    });
    Some((block, shown.filter(|text| !text.trim().is_empty())))
}

/// Whether two texts have the same lines, without whitespace at their ends, which aider drops when it
/// quotes a block.
fn same_lines(a: &str, b: &str) -> bool {
    a.lines().map(str::trim_end).eq(b.lines().map(str::trim_end))
}

/// Whether a line is a marker such as `<<<<<<< SEARCH`: five to nine times `mark`, then `word`.
fn is_mark(line: &str, mark: char, word: &str) -> bool {
    let line = line.trim_end();
    let rest = line.trim_start_matches(mark);
    (5..=9).contains(&(line.len() - rest.len())) && rest == word
}

/// Whether a line is one of the tags that aider may use in place of a code fence, such as
/// `<source>` and `</source>`.
fn is_tag(line: &str) -> bool {
    line.starts_with('<') && line.ends_with('>') && !line.contains(' ')
}

/// Whether a line shows that the answer has ended, even inside a block, as after an interruption.
fn ends_answer(line: &str) -> bool {
    received_tokens(line.strip_prefix("> ").unwrap_or_default()).is_some()
        || line.starts_with("> ^C")
        // The user's lines end with two spaces; a heading in a block does not.
        || (line.starts_with("#### ") && line.ends_with("  "))
        || line.starts_with("> The LLM did not conform")
}

/// Returns the file that a line above a block names, without Markdown around it.
fn file_name(line: &str) -> Option<String> {
    let name = line.trim_matches(|c: char| c.is_whitespace() || "#*`:".contains(c));
    let is_fence = line.trim_start().starts_with("```") || is_tag(line.trim());
    let is_name = !name.is_empty() && name != "..." && !name.contains(' ');
    (is_name && !is_fence).then(|| name.to_owned())
}

/// Returns the name from a notice such as `Models: NAME with diff edit format`, which begins
/// differently in several versions.
fn model_name(notice: &str) -> Option<&str> {
    let rest = ["Models: ", "Main model: ", "Model: "]
        .iter()
        .find_map(|start| notice.strip_prefix(start))?;
    let (name, _) = rest.split_once(" with ")?;
    name.split_whitespace().next().map(|name| name.trim_end_matches('⚡'))
}

/// Returns the number of tokens that the model wrote, from a notice such as
/// `Tokens: 6.6k sent, 342 received.`
fn received_tokens(notice: &str) -> Option<u64> {
    let (before, _) = notice.strip_prefix("Tokens: ")?.split_once(" received")?;
    let number = before.rsplit(' ').next()?.replace(',', "");
    let (digits, factor) = match number.strip_suffix('k') {
        Some(thousands) => (thousands, 1000.0),
        None => (number.as_str(), 1.0),
    };
    let value: f64 = digits.parse().ok()?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked")]
    (value.is_finite() && (0.0..1e9).contains(&value)).then(|| (value * factor).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_several_versions_are_understood() {
        assert_eq!(model_name("Models: a/b⚡ with ♾️ diff edit format, weak model c"), Some("a/b"));
        assert_eq!(model_name("Main model: x with diff edit format"), Some("x"));
        assert_eq!(model_name("Models which match \"x\":"), None);
        assert_eq!(
            received_tokens("Tokens: 5,244 sent, 604 received. Cost: $0.02 request"),
            Some(604)
        );
        assert_eq!(received_tokens("Tokens: 7.3k sent, 1.0k received."), Some(1000));
        assert_eq!(received_tokens("Tokens: none"), None);
        assert_eq!(file_name("**`a/b.py`:**").as_deref(), Some("a/b.py"));
        for none in ["```python", "", "Here are the changes:", "<source>"] {
            assert_eq!(file_name(none), None, "{none}");
        }
        assert!(is_mark("<<<<<<< SEARCH", '<', " SEARCH") && !is_mark("====", '=', ""));
    }
}
