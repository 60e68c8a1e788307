//! Reads aider's history: one Markdown file for all sessions of a folder,
//! `.aider.chat.history.md`. Lines of the user begin with `#### `, lines of aider with `> `, and all
//! others are the model's answers.
//!
//! Edits are SEARCH/REPLACE blocks. A block counts only if aider reports that it was applied or
//! that it failed; a block in a question or in an interrupted answer does not. The only times in
//! the history are the starts of sessions. They are in local time, but are read as UTC.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use super::{Client, EditAttempt, FileAction, Replacement, Transcript};

/// The usual name of aider's history file. A file whose name only ends with it is read, too.
pub const NAME: &str = ".aider.chat.history.md";
/// The start of the first line of a session; its time follows.
pub const START: &str = "# aider chat started at ";

const FAILED: &str =
    "> ## SearchReplaceNoExactMatch: This SEARCH block failed to exactly match lines in ";
const SIMILAR: &str = "> Did you mean to match some of these actual lines from ";
const APPLIED: &str = "> Applied edit to ";
const OTHERS_APPLIED: &str = "> # The other ";

/// Reads all sessions of a history that is in `folder`.
pub fn read(text: &str, session: &str, folder: Option<&Path>) -> Vec<Transcript> {
    let mut found: Vec<Reader> = Vec::new();
    for line in text.lines() {
        if let Some(time) = line.strip_prefix(START) {
            let mut reader = Reader::new(&format!("{session}/{}", found.len() + 1));
            reader.out.folder = folder.map(Path::to_owned);
            reader.out.set_time(&Value::from(time.trim()));
            found.push(reader);
        } else if let Some(reader) = found.last_mut() {
            reader.read_line(line);
        }
    }
    found.into_iter().map(Reader::finish).collect()
}

/// A block that the model wrote.
#[derive(Debug)]
struct Block {
    path: String,
    old: Vec<String>,
    new: Vec<String>,
}

/// A block that failed, as aider quotes it in the error.
#[derive(Debug, Default)]
struct FailedBlock {
    path: String,
    old: Vec<String>,
    new: Vec<String>,
    /// The similar lines of the file that the error shows.
    shown: Vec<String>,
}

/// The part of a block that a line belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum BlockPart {
    #[default]
    Outside,
    Old,
    New,
    /// Between the announcement of similar lines of the file and the fence around them.
    BeforeShown,
    /// In the fence around the similar lines.
    Shown,
}

/// Reads one session, line by line.
struct Reader {
    out: Transcript,
    turn: usize,
    /// Whether the current line is in the model's answer.
    in_answer: bool,
    /// Whether the current line is in a notice of aider. A notice may have `> ` on its first line
    /// only, and ends at an empty line.
    in_notice: bool,
    part: BlockPart,
    /// The lines of the answer since the last block, which may name the file of the next one.
    lines_above: Vec<String>,
    /// The blocks of the model's answer.
    blocks: Vec<Block>,
    /// The blocks that aider reports as failed.
    failed: Vec<FailedBlock>,
    /// The files that aider reports as changed.
    applied: BTreeSet<String>,
    /// Whether aider reports that the blocks which did not fail were applied.
    others_applied: bool,
    /// The files that the last edit changed, which `/undo` restores.
    last_changed: BTreeSet<String>,
}

impl Reader {
    fn new(session: &str) -> Self {
        Self {
            out: Transcript::new(Client::Aider, session),
            turn: 0,
            in_answer: false,
            in_notice: false,
            part: BlockPart::Outside,
            lines_above: Vec::new(),
            blocks: Vec::new(),
            failed: Vec::new(),
            applied: BTreeSet::new(),
            others_applied: false,
            last_changed: BTreeSet::new(),
        }
    }

    /// Reads one line of the session.
    fn read_line(&mut self, line: &str) {
        // A line of Markdown in a block may look like one of aider.
        let in_block = self.in_answer && matches!(self.part, BlockPart::Old | BlockPart::New);
        if in_block && !ends_answer(line) {
            self.read_answer(line);
        } else if line.starts_with("> ") || line == ">" {
            self.in_notice = true;
            self.read_notice(line);
        } else if line.starts_with("#### ") {
            self.finish_answer();
        } else if line.trim().is_empty() && !self.in_answer {
            self.in_notice = false;
        } else if !self.in_notice {
            if !self.in_answer {
                self.finish_answer();
                self.turn += 1;
                self.in_answer = true;
            }
            self.read_answer(line);
        }
    }

    /// Reads a line of the model's answer.
    fn read_answer(&mut self, line: &str) {
        let text = line.trim_end();
        match self.part {
            BlockPart::Old if is_mark(text, '=', "") => self.part = BlockPart::New,
            BlockPart::New if is_mark(text, '>', " REPLACE") => self.part = BlockPart::Outside,
            BlockPart::Old | BlockPart::New => {
                if let Some(block) = self.blocks.last_mut() {
                    let lines =
                        if self.part == BlockPart::Old { &mut block.old } else { &mut block.new };
                    lines.push(line.to_owned());
                }
            }
            _ if is_mark(text, '<', " SEARCH") => {
                let last_path = self.blocks.last().map(|block| block.path.clone());
                let named_path =
                    self.lines_above.iter().rev().take(3).find_map(|line| file_name(line));
                let path = named_path.or(last_path).unwrap_or_default();
                self.lines_above.clear();
                self.blocks.push(Block { path, old: Vec::new(), new: Vec::new() });
                self.part = BlockPart::Old;
            }
            _ => self.lines_above.push(text.to_owned()),
        }
    }

    /// Reads a line of aider.
    fn read_notice(&mut self, line: &str) {
        if self.in_answer {
            self.in_answer = false;
            // A block without an end was interrupted.
            if matches!(self.part, BlockPart::Old | BlockPart::New) {
                self.blocks.pop();
            }
            self.part = BlockPart::Outside;
            self.lines_above.clear();
        }
        let body = line.strip_prefix("> ").unwrap_or_default();
        // aider adds two spaces at the end of each line.
        let body = body.strip_suffix("  ").unwrap_or(body);
        if let Some(path) = line.strip_prefix(FAILED) {
            self.failed
                .push(FailedBlock { path: path.trim().to_owned(), ..FailedBlock::default() });
            self.part = BlockPart::Outside;
        } else if line.starts_with(SIMILAR) {
            self.part = BlockPart::BeforeShown;
        } else if let Some(path) = line.strip_prefix(APPLIED) {
            self.applied.insert(path.trim().to_owned());
        } else if line.starts_with(OTHERS_APPLIED) {
            self.others_applied = true;
        } else if !self.failed.is_empty() {
            self.read_quote(body);
        } else if let Some(model) = model_name(body) {
            self.out.set_model(&model.into());
        } else if let Some(tokens) = received_tokens(body) {
            self.out.add_tokens(self.turn, tokens);
        } else if body.starts_with("Removed: ") {
            // The answer to `/undo`.
            for path in std::mem::take(&mut self.last_changed) {
                self.out.push(self.turn, &path, FileAction::ChangedUnseen);
            }
        }
    }

    /// Reads a line of an error, in which aider quotes the failed block and shows similar lines of
    /// the file.
    fn read_quote(&mut self, body: &str) {
        let Some(failed) = self.failed.last_mut() else { return };
        let text = body.trim_end();
        match self.part {
            BlockPart::Outside if is_mark(text, '<', " SEARCH") => self.part = BlockPart::Old,
            BlockPart::Old if is_mark(text, '=', "") => self.part = BlockPart::New,
            BlockPart::New if is_mark(text, '>', " REPLACE") => self.part = BlockPart::Outside,
            BlockPart::Old => failed.old.push(body.to_owned()),
            BlockPart::New => failed.new.push(body.to_owned()),
            BlockPart::BeforeShown if text.starts_with("```") || is_tag(text) => {
                self.part = BlockPart::Shown
            }
            BlockPart::Shown if text.starts_with("```") || is_tag(text) => {
                self.part = BlockPart::Outside
            }
            BlockPart::Shown => failed.shown.push(body.to_owned()),
            _ => {}
        }
    }

    /// Records the blocks of the last answer that were applied or that failed.
    fn finish_answer(&mut self) {
        let any_failed = !self.failed.is_empty();
        let mut changed = std::mem::take(&mut self.applied);
        let mut recorded: BTreeSet<String> = BTreeSet::new();
        let mut blocks = std::mem::take(&mut self.blocks);
        // With `--apply`, aider takes the blocks from a file, so the history has only failed ones.
        for failed in &self.failed {
            if !blocks.iter().any(|block| same_lines(&block.old, &failed.old)) {
                let (path, old, new) =
                    (failed.path.clone(), failed.old.clone(), failed.new.clone());
                blocks.push(Block { path, old, new });
            }
        }
        for (number, block) in (1..).zip(blocks) {
            let same = |failed: &FailedBlock| same_lines(&failed.old, &block.old);
            let failed = self.failed.iter().position(same).map(|index| self.failed.remove(index));
            let path = failed.as_ref().map_or(&block.path, |failed| &failed.path).clone();
            let applied = failed.is_none() && (changed.contains(&path) || self.others_applied);
            let is_unconfirmed = !applied && failed.is_none();
            if path.is_empty() || is_unconfirmed {
                continue;
            }
            recorded.insert(path.clone());
            if applied && any_failed {
                changed.insert(path.clone());
            }
            let new = joined(&block.new);
            let action = if applied && block.old.iter().all(|line| line.trim().is_empty()) {
                // An empty SEARCH creates a file, or adds to the end of an existing one.
                FileAction::ChangedUnseen
            } else {
                let error = failed.as_ref().map(|_| "SEARCH block not found".to_owned());
                let shown = failed
                    .map(|failed| joined(&failed.shown))
                    .filter(|text| !text.trim().is_empty());
                FileAction::Edited(EditAttempt {
                    id: format!("{}.{number}", self.turn),
                    edits: vec![Replacement { old: joined(&block.old), new, all: false }],
                    shown,
                    error,
                    ..EditAttempt::default()
                })
            };
            self.out.push(self.turn, &path, action);
        }
        // aider also applies whole files and diffs, whose text this reader does not look for.
        for path in changed.iter().filter(|path| !recorded.contains(*path)) {
            self.out.push(self.turn, path, FileAction::ChangedUnseen);
        }
        if !changed.is_empty() {
            self.last_changed = changed;
        }
        self.failed.clear();
        self.others_applied = false;
        self.in_answer = false;
        self.part = BlockPart::Outside;
        self.lines_above.clear();
    }

    /// Returns the transcript of the session.
    fn finish(mut self) -> Transcript {
        self.finish_answer();
        self.out
    }
}

/// Returns the lines as a text, with a line break after each.
fn joined(lines: &[String]) -> String {
    lines.iter().flat_map(|line| [line, "\n"]).collect()
}

/// Whether two blocks have the same lines, without whitespace at their ends, which aider drops when
/// it quotes a block.
fn same_lines(a: &[String], b: &[String]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.trim_end() == b.trim_end())
}

/// Whether a line is a marker such as `<<<<<<< SEARCH`: five to nine times `mark`, then `word`.
fn is_mark(line: &str, mark: char, word: &str) -> bool {
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
