//! aider: one Markdown file for all sessions of a folder, `.aider.chat.history.md`. What the
//! user said begins with `#### `, what aider said with `> `, and the rest is the model's.
//!
//! Edits are SEARCH/REPLACE blocks. A block counts when aider said that it was applied or that
//! it failed; one that was not confirmed, in a question or an interrupted answer, does not. The
//! history has the time of a session's start alone, in local time, which is taken for UTC.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use super::{Client, EditAttempt, FileAction, Replacement, Transcript};

/// What aider calls the file, and how such names end.
pub const NAME: &str = ".aider.chat.history.md";
/// The line that a session begins with, before its time.
pub const START: &str = "# aider chat started at ";

const FAILED: &str =
    "> ## SearchReplaceNoExactMatch: This SEARCH block failed to exactly match lines in ";
const SIMILAR: &str = "> Did you mean to match some of these actual lines from ";
const APPLIED: &str = "> Applied edit to ";
const OTHERS_APPLIED: &str = "> # The other ";

/// Reads all sessions of a history that lies in `folder`.
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

/// A block as aider quotes it, with what it shows of the file.
#[derive(Debug, Default)]
struct FailedBlock {
    path: String,
    old: Vec<String>,
    new: Vec<String>,
    shown: Vec<String>,
}

/// In which part of a block a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum BlockPart {
    #[default]
    Outside,
    Old,
    New,
    /// Lines of the file that aider shows: before the fence, and in it.
    Similar,
    Shown,
}

struct Reader {
    out: Transcript,
    turn: usize,
    /// In the model's answer.
    answering: bool,
    /// In what aider says. Only the first of its lines may be marked: an empty one ends it.
    in_notice: bool,
    part: BlockPart,
    /// The last lines of the answer, in which the file of the next block is named.
    above: Vec<String>,
    blocks: Vec<Block>,
    quoted: Vec<FailedBlock>,
    applied: BTreeSet<String>,
    others_applied: bool,
    /// The files that the last edit changed, which `/undo` brings back.
    last: BTreeSet<String>,
}

impl Reader {
    fn new(session: &str) -> Self {
        Self {
            out: Transcript::new(Client::Aider, session),
            turn: 0,
            answering: false,
            in_notice: false,
            part: BlockPart::Outside,
            above: Vec::new(),
            blocks: Vec::new(),
            quoted: Vec::new(),
            applied: BTreeSet::new(),
            others_applied: false,
            last: BTreeSet::new(),
        }
    }

    fn read_line(&mut self, line: &str) {
        // A line of Markdown in a block may look like aider's own.
        let in_block = self.answering && matches!(self.part, BlockPart::Old | BlockPart::New);
        if in_block && !ends_answer(line) {
            self.read_answer(line);
        } else if line.starts_with("> ") || line == ">" {
            self.in_notice = true;
            self.read_notice(line);
        } else if line.starts_with("#### ") {
            self.finish_answer();
        } else if line.trim().is_empty() && !self.answering {
            self.in_notice = false;
        } else if !self.in_notice {
            if !self.answering {
                self.finish_answer();
                self.turn += 1;
                self.answering = true;
            }
            self.read_answer(line);
        }
    }

    /// A line of the model's.
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
                let before = self.blocks.last().map(|block| block.path.clone());
                let path = self.above.iter().rev().take(3).find_map(|line| file_name(line));
                let path = path.or(before).unwrap_or_default();
                self.above.clear();
                self.blocks.push(Block { path, old: Vec::new(), new: Vec::new() });
                self.part = BlockPart::Old;
            }
            _ => self.above.push(text.to_owned()),
        }
    }

    /// A line of aider's.
    fn read_notice(&mut self, line: &str) {
        if self.answering {
            self.answering = false;
            if matches!(self.part, BlockPart::Old | BlockPart::New) {
                self.blocks.pop();
            }
            self.part = BlockPart::Outside;
            self.above.clear();
        }
        let body = line.strip_prefix("> ").unwrap_or_default();
        // Two blanks are put at the end of each line.
        let body = body.strip_suffix("  ").unwrap_or(body);
        if let Some(path) = line.strip_prefix(FAILED) {
            self.quoted
                .push(FailedBlock { path: path.trim().to_owned(), ..FailedBlock::default() });
            self.part = BlockPart::Outside;
        } else if line.starts_with(SIMILAR) {
            self.part = BlockPart::Similar;
        } else if let Some(path) = line.strip_prefix(APPLIED) {
            self.applied.insert(path.trim().to_owned());
        } else if line.starts_with(OTHERS_APPLIED) {
            self.others_applied = true;
        } else if !self.quoted.is_empty() {
            self.read_quote(body);
        } else if let Some(model) = model_name(body) {
            self.out.model = Some(model.to_owned());
        } else if let Some(tokens) = received_tokens(body) {
            self.out.add_tokens(self.turn, tokens);
        } else if body.starts_with("Removed: ") {
            for path in std::mem::take(&mut self.last) {
                self.out.push(self.turn, &path, FileAction::ChangedUnseen);
            }
        }
    }

    /// A line of a block that failed, as aider repeats it.
    fn read_quote(&mut self, body: &str) {
        let Some(quoted) = self.quoted.last_mut() else { return };
        let text = body.trim_end();
        match self.part {
            BlockPart::Outside if is_mark(text, '<', " SEARCH") => self.part = BlockPart::Old,
            BlockPart::Old if is_mark(text, '=', "") => self.part = BlockPart::New,
            BlockPart::New if is_mark(text, '>', " REPLACE") => self.part = BlockPart::Outside,
            BlockPart::Old => quoted.old.push(body.to_owned()),
            BlockPart::New => quoted.new.push(body.to_owned()),
            BlockPart::Similar if text.starts_with("```") || is_tag(text) => {
                self.part = BlockPart::Shown
            }
            BlockPart::Shown if text.starts_with("```") || is_tag(text) => {
                self.part = BlockPart::Outside
            }
            BlockPart::Shown => quoted.shown.push(body.to_owned()),
            _ => {}
        }
    }

    /// What became of the blocks of the last answer.
    fn finish_answer(&mut self) {
        let failed_any = !self.quoted.is_empty();
        let mut changed = std::mem::take(&mut self.applied);
        let mut recorded: BTreeSet<String> = BTreeSet::new();
        let mut blocks = std::mem::take(&mut self.blocks);
        // With `--apply` the blocks come from a file, and only those that failed are here.
        for quoted in &self.quoted {
            if !blocks.iter().any(|block| same_lines(&block.old, &quoted.old)) {
                let (path, old, new) =
                    (quoted.path.clone(), quoted.old.clone(), quoted.new.clone());
                blocks.push(Block { path, old, new });
            }
        }
        for (at, block) in blocks.into_iter().enumerate() {
            let same = |quoted: &FailedBlock| same_lines(&quoted.old, &block.old);
            let failed = self.quoted.iter().position(same).map(|at| self.quoted.remove(at));
            let path = failed.as_ref().map_or(&block.path, |quoted| &quoted.path).clone();
            let applied = failed.is_none() && (changed.contains(&path) || self.others_applied);
            if path.is_empty() || !(applied || failed.is_some()) {
                continue;
            }
            recorded.insert(path.clone());
            if applied && failed_any {
                changed.insert(path.clone());
            }
            let new = joined(&block.new);
            let action = if applied && block.old.iter().all(|line| line.trim().is_empty()) {
                // A new file, or text at the end of one that is there.
                FileAction::ChangedUnseen
            } else {
                let error = failed.as_ref().map(|_| "SEARCH block not found".to_owned());
                let shown = failed.map(|q| joined(&q.shown)).filter(|text| !text.trim().is_empty());
                FileAction::Edited(EditAttempt {
                    id: format!("{}.{}", self.turn, at + 1),
                    edits: vec![Replacement { old: joined(&block.old), new, all: false }],
                    before: None,
                    shown,
                    error,
                })
            };
            self.out.push(self.turn, &path, action);
        }
        // Whole files and diffs are applied, too, but their text is not looked for here.
        for path in changed.iter().filter(|path| !recorded.contains(*path)) {
            self.out.push(self.turn, path, FileAction::ChangedUnseen);
        }
        if !changed.is_empty() {
            self.last = changed;
        }
        self.quoted.clear();
        self.others_applied = false;
        self.answering = false;
        self.part = BlockPart::Outside;
        self.above.clear();
    }

    fn finish(mut self) -> Transcript {
        self.finish_answer();
        self.out
    }
}

fn joined(lines: &[String]) -> String {
    lines.iter().flat_map(|line| [line, "\n"]).collect()
}

/// Aider drops the blanks at the end of a line when it repeats a block.
fn same_lines(a: &[String], b: &[String]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.trim_end() == b.trim_end())
}

/// `<<<<<<< SEARCH` and the like: five to nine of the character.
fn is_mark(line: &str, mark: char, word: &str) -> bool {
    let rest = line.trim_start_matches(mark);
    (5..=9).contains(&(line.len() - rest.len())) && rest == word
}

/// Other fences that aider has: `<source>` and `</source>`.
fn is_tag(line: &str) -> bool {
    line.starts_with('<') && line.ends_with('>') && !line.contains(' ')
}

/// What cannot be in a block: the model was interrupted.
fn ends_answer(line: &str) -> bool {
    received_tokens(line.strip_prefix("> ").unwrap_or_default()).is_some()
        || line.starts_with("> ^C")
        // A heading in a block does not end with the two blanks of the user's lines.
        || (line.starts_with("#### ") && line.ends_with("  "))
        || line.starts_with("> The LLM did not conform")
}

/// The file that a line above a block names, without decoration.
fn file_name(line: &str) -> Option<String> {
    let name = line.trim_matches(|c: char| c.is_whitespace() || "#*`:".contains(c));
    let fence = line.trim_start().starts_with("```") || is_tag(line.trim());
    (!fence && !name.is_empty() && name != "..." && !name.contains(' ')).then(|| name.to_owned())
}

/// `Models: NAME with diff edit format`, in the spellings of several versions.
fn model_name(said: &str) -> Option<&str> {
    let rest = ["Models: ", "Main model: ", "Model: "].iter().find_map(|s| said.strip_prefix(s))?;
    let (name, _) = rest.split_once(" with ")?;
    name.split_whitespace().next().map(|name| name.trim_end_matches('⚡'))
}

/// `Tokens: 6.6k sent, 342 received.`: those that the model wrote.
fn received_tokens(said: &str) -> Option<u64> {
    let (before, _) = said.strip_prefix("Tokens: ")?.split_once(" received")?;
    let number = before.rsplit(' ').next()?.replace(',', "");
    let (digits, thousand) = number.strip_suffix('k').map_or((&*number, 1.0), |d| (d, 1000.0));
    let value: f64 = digits.parse().ok()?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked")]
    (value.is_finite() && (0.0..1e9).contains(&value)).then(|| (value * thousand).round() as u64)
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
