//! Refusals: why an edit was not made, as a stable code and in words, and what the caller needs so
//! that the next call succeeds.

use schemars::JsonSchema;
use serde::Serialize;

use super::Message;
use super::message::{LANGUAGE, THEN, Words, said};
use crate::names::is_default;
use crate::text::LineSpan;

named! {
    /// The code of a refusal, by which callers decide what to do. Its wire string never changes.
    #[non_exhaustive]
    pub enum EditCode {
        /// `old_str` is not in the file, even if every mistake that restitch forgives is undone.
        NoOccurrence = "EDIT_NO_OCCURRENCE_FOUND",
        /// `old_str` occurs more or fewer times than expected.
        OccurrenceMismatch = "EDIT_EXPECTED_OCCURRENCE_MISMATCH",
        /// `old_str` and `new_str` are the same, or the edit changes nothing.
        NoChange = "EDIT_NO_CHANGE",
        /// The file already has `new_str` where `old_str` was.
        AlreadyApplied = "EDIT_ALREADY_APPLIED",
        /// The path is malformed or leads outside the root.
        InvalidPath = "EDIT_INVALID_PATH",
        /// There is no such file.
        FileNotFound = "EDIT_FILE_NOT_FOUND",
        /// The file cannot be read.
        ReadError = "EDIT_FILE_READ_ERROR",
        /// The file cannot be written.
        WriteError = "EDIT_FILE_WRITE_ERROR",
        /// An empty `old_str` would overwrite a file that exists.
        CreateExisting = "ATTEMPT_TO_CREATE_EXISTING_FILE",
        /// The lines to edit changed after the file was read.
        Conflict = "EDIT_CONFLICT",
        /// The place is known, but the call could mean several results there.
        Ambiguous = "EDIT_AMBIGUOUS",
        /// A `LINE#ID` anchor does not match the file.
        StaleAnchor = "EDIT_STALE_ANCHOR",
        /// The file is not text.
        NotText = "EDIT_NOT_TEXT",
        /// The file or an argument is over a size limit.
        TooLarge = "EDIT_TOO_LARGE",
        /// Two edits of one call touch the same text.
        Overlap = "EDIT_OVERLAP",
        /// `new_str` has a placeholder such as `// ... existing code ...` instead of code.
        Omission = "EDIT_OMISSION",
        /// The file has no syntax error, but the result of the edit would have one.
        Syntax = "EDIT_SYNTAX",
        /// The path is protected, or the session's guard (`--guard`) does not allow the call.
        Blocked = "EDIT_BLOCKED",
        /// The file's encoding cannot hold the new text.
        Unencodable = "EDIT_UNENCODABLE",
        /// The call's arguments are malformed.
        InvalidArguments = "EDIT_INVALID_ARGUMENTS",
    }
}

impl EditCode {
    /// Whether the cause is a failure of disk or network, which another call cannot repair.
    pub(crate) fn is_fault(self) -> bool {
        matches!(self, Self::ReadError | Self::WriteError)
    }
}

/// A region of the file that is similar to `old_str`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct Near {
    /// First line.
    pub start_line: usize,
    /// Last line.
    pub end_line: usize,
    /// How similar it is, from 0 to 1.
    pub score: f64,
    /// The first line that differs.
    pub first_difference: Option<Difference>,
}

impl Near {
    /// The lines of the region.
    pub fn span(&self) -> LineSpan {
        LineSpan { start: self.start_line, end: self.end_line }
    }

    /// How similar it is, in percent; less than 100 if anything differs.
    pub(crate) fn percent(&self) -> f64 {
        let most = if self.first_difference.is_some() { 99.0 } else { 100.0 };
        (self.score * 100.0).round().min(most)
    }
}

/// A line of `old_str` and the line of the file that differs from it, with visible whitespace
/// (`→` for a tab, `·` for a space at either end, `␍` for a carriage return).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct Difference {
    /// The line's number in the file.
    pub line: usize,
    /// The line's number in `old_str`.
    pub old_line: usize,
    /// What `old_str` has.
    pub expected: String,
    /// What the file has.
    pub found: String,
}

/// Lines that the call rewrites and that differ in the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct Conflict {
    /// First line in the file.
    pub start_line: usize,
    /// Last line; `start_line - 1` if the file has no such lines.
    pub end_line: usize,
    /// What the call expected there.
    pub believed: String,
    /// What is there.
    pub found: String,
    /// What was written there, if the conflict was resolved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub written: Option<String>,
}

/// A line that the call keeps but quotes with other words; it stays as the file has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Kept {
    /// The line in the file.
    pub line: usize,
    /// What the call expected there.
    pub believed: String,
    /// What is there.
    pub found: String,
}

/// One of several possible results of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct OutcomeDiff {
    /// How this result reads the call.
    pub how: String,
    /// What the edit would change in this case.
    pub diff: String,
}

named! {
    /// The kinds of question to a model.
    pub enum AskKind {
        /// For the place that `old_str` means, and its new text.
        CorrectOld = "correct_old",
        /// For the new text of a place that is known.
        AdjustNew = "adjust_new",
        /// For a text without surplus escapes.
        RepairEscapes = "repair_escapes",
        /// For one of several outcomes.
        Choose = "choose",
    }
}

named! {
    /// What came of a question to a model.
    pub enum AttemptOutcome {
        /// The answer passed the checks.
        Accepted = "accepted",
        /// The model had no answer.
        Declined = "declined",
        /// The answer did not pass the checks.
        Rejected = "rejected",
        /// The model could not be reached.
        Failed = "failed",
        /// Nothing was asked.
        Skipped = "skipped",
    }
}

/// One attempt to correct a call, by a model or from its cache.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct Attempt {
    /// What was asked.
    pub ask: AskKind,
    /// The result.
    pub outcome: AttemptOutcome,
    /// The reason, in words.
    pub detail: String,
}

/// What correction by a model cost.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct ModelUse {
    /// Requests sent.
    pub calls: u32,
    /// Answers taken from the cache.
    pub cached: u32,
    /// Bytes of all prompts.
    pub prompt_bytes: u64,
    /// Prompt tokens, by the server's count.
    pub prompt_tokens: u64,
    /// Completion tokens, by the server's count.
    pub completion_tokens: u64,
    /// Milliseconds spent waiting for the model.
    pub millis: u64,
}

impl ModelUse {
    /// Adds another edit's cost.
    pub fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.cached += other.cached;
        self.prompt_bytes += other.prompt_bytes;
        self.prompt_tokens += other.prompt_tokens;
        self.completion_tokens += other.completion_tokens;
        self.millis += other.millis;
    }
}

/// The answer to an edit that is not made. Nothing was written.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema, thiserror::Error)]
#[error("{code}: {message}")]
#[non_exhaustive]
pub struct Refusal {
    /// The stable code.
    pub code: EditCode,
    /// What happened and where, in one sentence.
    pub message: Message,
    /// The file, as the caller named it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The regions most similar to `old_str`, best first.
    pub nearest: Vec<Near>,
    /// How many of them are equally near, if it is more than one.
    #[serde(skip)]
    pub(crate) equally_near: usize,
    /// Whether the call would fit if the language were known.
    #[serde(skip)]
    pub(crate) unknown_language: bool,
    /// Lines where `old_str` was found, if not as often as expected.
    pub occurrences: Vec<usize>,
    /// If the place is known: the lines that the call changes but misquotes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<Conflict>,
    /// The possible results of the call, if there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outcomes: Vec<OutcomeDiff>,
    /// The attempts to correct the call with a model.
    pub attempts: Vec<Attempt>,
    /// What the model cost, if it was asked.
    #[serde(skip_serializing_if = "is_default")]
    pub model: ModelUse,
    /// What to do next.
    pub hint: Option<Message>,
    /// Ranges of lines whose anchors are stale: the only lines that the caller has to read again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub affected_ranges: Vec<LineSpan>,
    /// Fresh `LINE#ID|text` lines, stale ones marked `>>>`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub anchors: Vec<String>,
}

/// The most outcomes that the text for a model shows.
const MAX_OUTCOMES_SHOWN: usize = 4;

impl Refusal {
    /// A refusal of the call's arguments, with what to send instead.
    pub(crate) fn invalid(message: impl Into<Message>, hint: impl Into<Message>) -> Self {
        Self::new(EditCode::InvalidArguments, message).hint(hint)
    }

    /// A refusal with a code and a message of one sentence.
    pub fn new(code: EditCode, message: impl Into<Message>) -> Self {
        Self {
            code,
            message: message.into(),
            path: None,
            nearest: Vec::new(),
            equally_near: 0,
            unknown_language: false,
            occurrences: Vec::new(),
            conflicts: Vec::new(),
            outcomes: Vec::new(),
            attempts: Vec::new(),
            model: ModelUse::default(),
            hint: None,
            affected_ranges: Vec::new(),
            anchors: Vec::new(),
        }
    }

    /// Sets what to do next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<Message>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds to the hint how the caller can name the language, if the call would fit in a known one.
    #[must_use]
    pub(crate) fn hint_at_language(mut self) -> Self {
        if let Some(hint) = self.hint.as_mut().filter(|_| self.unknown_language) {
            hint.push(format_args!("{THEN}Name it with {LANGUAGE}."));
        }
        self
    }

    /// Sets the file's path, unless it is set.
    #[must_use]
    pub fn at(mut self, path: impl Into<String>) -> Self {
        self.path.get_or_insert_with(|| path.into());
        self
    }

    /// Adds the files that a failed commit has written and cannot restore. Such a refusal must not
    /// say that nothing was written.
    #[must_use]
    pub fn with_unrestored(mut self, files: &[String]) -> Self {
        if files.is_empty() {
            return self;
        }
        self.code = EditCode::WriteError;
        let files = files.join(", ");
        self.message
            .push(format_args!("; files that were written and could not be restored: {files}"));
        self.hint("Read these files before you send the call again.")
    }

    /// Adds to the message which of a call's `count` edits is refused; `at` counts from 0.
    #[must_use]
    pub(crate) fn with_edit_number(mut self, at: usize, count: usize) -> Self {
        if count > 1 {
            let number = at + 1;
            self.message = said!("edit {number} of {count}: {}", self.message);
            // "Go on" would leave the other edits unmade.
            if matches!(self.code, EditCode::AlreadyApplied | EditCode::NoChange) {
                return self.hint(format!(
                    "Nothing was written, the other edits of the call included. If edit {number} is done, send the call again without it."
                ));
            }
            let advice = self.hint.take().map(|hint| said!("{hint}{THEN}")).unwrap_or_default();
            return self.hint(said!("{advice}No edit of the call was made."));
        }
        self
    }

    /// The same refusal for a caller that names lines by number: the shown lines have no ids.
    #[must_use]
    pub(crate) fn with_numbered_lines(mut self) -> Self {
        for line in &mut self.anchors {
            if let Some((anchor, text)) = line.split_once('|')
                && let Some((number, _)) = anchor.split_once('#')
            {
                *line = format!("{number}|{text}");
            }
        }
        self
    }

    /// The same refusal in the words of a caller.
    pub(crate) fn in_words(mut self, words: &Words) -> Self {
        self.message = self.message.in_words(words);
        self.hint = self.hint.and_then(|hint| hint.advice_in_words(words));
        self
    }

    /// The text for a model: the cause, the places that matter, and the next step.
    pub fn text(&self) -> String {
        self.text_with(&self.to_string(), "old_str")
    }

    /// The text under this first line, where `label` stands before the line of the call.
    pub(crate) fn text_with(&self, first_line: &str, label: &str) -> String {
        let mut out = first_line.to_owned();
        let (call, file) = (format!("{label}:"), "file:");
        let width = call.len().max(8);
        for (number, near) in self.nearest.iter().take(self.equally_near.max(1)).enumerate() {
            let Some(difference) = &near.first_difference else { continue };
            let span = near.span();
            let percent = near.percent();
            // Models copy what they are shown, so the marks are explained.
            let has_mark =
                |mark| difference.expected.contains(mark) || difference.found.contains(mark);
            let explained_marks = match (has_mark('→'), has_mark('·')) {
                (true, true) => " (→ is a tab, · a space)",
                (true, false) => " (→ is a tab)",
                (false, true) => " (· is a space)",
                (false, false) => "",
            };
            let title = if number == 0 { "Nearest" } else { "As near" };
            // Nothing alike but in another letter case is near for another reason.
            let similar = match percent {
                1.0.. => format!(" ({percent:.0} % similar)"),
                _ => String::new(),
            };
            out.push_str(&format!(
                "\n{title}: {span}{similar}. First difference at line {}{explained_marks}:\n  {call:<width$} {}\n  {file:<width$} {}",
                difference.line, difference.expected, difference.found
            ));
        }
        let shown = &self.outcomes[..self.outcomes.len().min(MAX_OUTCOMES_SHOWN)];
        for (number, outcome) in shown.iter().enumerate() {
            let words: Vec<&str> = outcome.diff.split_whitespace().collect();
            let looks_alike =
                |other: &OutcomeDiff| other.diff.split_whitespace().eq(words.iter().copied());
            let (marks, diff) = match shown.iter().filter(|other| looks_alike(other)).count() {
                0 | 1 => ("", outcome.diff.clone()),
                _ => (" (→ is a tab, · a space)", with_visible_blanks(&outcome.diff)),
            };
            out.push_str(&format!(
                "\n{}. {}{marks}:\n{}",
                number + 1,
                outcome.how,
                diff.trim_end_matches('\n')
            ));
        }
        if !self.anchors.is_empty() {
            out.push('\n');
            out.push_str(&self.anchors.join("\n"));
        }
        for attempt in &self.attempts {
            out.push_str(&format!(
                "\nTried {}: {} ({})",
                attempt.ask, attempt.outcome, attempt.detail
            ));
        }
        if let Some(hint) = &self.hint {
            out.push_str("\nNext: ");
            out.push_str(hint);
        }
        out
    }
}

/// A diff in whose changed lines the blanks can be told apart.
fn with_visible_blanks(diff: &str) -> String {
    let mut out = String::with_capacity(diff.len());
    for line in diff.split_inclusive('\n') {
        let (sign, text) = line.split_at(line.chars().next().map_or(0, char::len_utf8));
        out.push_str(sign);
        match sign {
            "+" | "-" => {
                out.push_str(&text.replace('\t', "→").replace(' ', "·").replace('\r', "␍"))
            }
            _ => out.push_str(text),
        }
    }
    out
}
