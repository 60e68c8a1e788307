//! What every reader makes of a session: what the agent read, edited and wrote, in order.

use std::collections::BTreeSet;
use std::path::PathBuf;

use chrono::DateTime;
use serde_json::Value;

use super::Client;
use crate::patch::Hunk;

/// One session of an agent.
#[derive(Debug, Clone)]
pub struct Transcript {
    /// The agent.
    pub client: Client,
    /// The session's name, which ids of failures start with.
    pub session: String,
    /// The folder that the client worked in, if the transcript has it.
    pub folder: Option<PathBuf>,
    /// The commit at which the session began, if the transcript names it.
    pub commit: Option<String>,
    /// The actions of the agent on files, in order.
    pub steps: Vec<TranscriptStep>,
    /// The output tokens of each turn, if the client counts them.
    pub tokens: Vec<u64>,
    /// The turns whose tokens are estimated from their length, since the client has no final
    /// count of them.
    pub estimated: BTreeSet<usize>,
    /// The number of lines and records that were not understood.
    pub skipped: usize,
    /// The time of the record that is being read.
    time: Option<i64>,
    /// The model of the record that is being read.
    model: Option<String>,
}

/// One action of an agent on a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscriptStep {
    /// The turn of the model.
    pub turn: usize,
    /// The time in seconds since 1970, if the transcript has it.
    pub time: Option<i64>,
    /// The model, if the transcript names it.
    pub model: Option<String>,
    /// The file, as the agent named it.
    pub path: String,
    /// The file, from the session's folder if it is below that.
    pub file: String,
    /// The action.
    pub action: FileAction,
}

/// An action of an agent on a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileAction {
    /// The agent read lines.
    Viewed {
        /// The first line of the text.
        from: usize,
        /// The text.
        text: String,
        /// Whether that is the whole file.
        whole: bool,
    },
    /// The agent wrote the whole file.
    Written(String),
    /// The agent called an edit tool, which may have failed.
    Edited(EditAttempt),
    /// The file was changed in a way that the transcript does not show.
    ChangedUnseen,
}

/// One call of an edit tool.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EditAttempt {
    /// The call's id.
    pub id: String,
    /// The replacements, of which the tool applies all or none.
    pub edits: Vec<Replacement>,
    /// The hunks, if the call was a patch. The replacements are the same as text.
    pub hunks: Vec<Hunk>,
    /// The file before, if the record of the call has it.
    pub before: Option<String>,
    /// The newest version of the file that the client had stored before.
    pub stored: Option<String>,
    /// The lines of the file that the error shows.
    pub shown: Option<String>,
    /// The error, if the call failed.
    pub error: Option<String>,
}

/// One replacement of a call.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Replacement {
    /// The text to find.
    pub old: String,
    /// The text to put in its place.
    pub new: String,
    /// Whether to replace all occurrences.
    pub all: bool,
}

impl Transcript {
    pub(super) fn new(client: Client, session: &str) -> Self {
        Self {
            client,
            session: session.to_owned(),
            folder: None,
            commit: None,
            steps: Vec::new(),
            tokens: Vec::new(),
            estimated: BTreeSet::new(),
            skipped: 0,
            time: None,
            model: None,
        }
    }

    /// Reads a transcript with a JSON object on each line. Lines that hold none are counted.
    pub(super) fn of_lines(
        client: Client,
        session: &str,
        text: &str,
        mut read: impl FnMut(&mut Self, &Value),
    ) -> Self {
        let mut out = Self::new(client, session);
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let Ok(record) = serde_json::from_str::<Value>(line) else {
                out.skipped += 1;
                continue;
            };
            out.set_time(&record["timestamp"]);
            out.set_folder(&record["cwd"]);
            read(&mut out, &record);
        }
        out
    }

    /// Adds an action on a file, with the time and the model of the current record.
    pub(super) fn push(&mut self, turn: usize, path: &str, action: FileAction) {
        let (time, model) = (self.time, self.model.clone());
        let path = path.replace('\\', "/");
        // The same file may be named in full and from the folder.
        let folder = self.folder.as_ref().map(|dir| dir.to_string_lossy().replace('\\', "/"));
        let below = folder.and_then(|folder| path.strip_prefix(&folder)?.strip_prefix('/'));
        let file = below.unwrap_or(&path);
        let file = file.strip_prefix("./").unwrap_or(file).to_owned();
        self.steps.push(TranscriptStep { turn, time, model, path, file, action });
    }

    /// Adds that the agent wrote a file, if the call has its content.
    pub(super) fn written(&mut self, turn: usize, path: &str, content: &Value) {
        if let Some(content) = content.as_str() {
            self.push(turn, path, FileAction::Written(content.to_owned()));
        }
    }

    /// Sets the time of the next steps, in any client's format. A record without a time keeps that
    /// of the record before it.
    pub(super) fn set_time(&mut self, time: &Value) {
        self.time = unix_seconds(time).or(self.time);
    }

    /// Sets the model of the next steps. A record without a model keeps that of the record before
    /// it.
    pub(super) fn set_model(&mut self, model: &Value) {
        if let Some(model) = model.as_str() {
            self.model = Some(model.to_owned());
        }
    }

    /// Sets the session's folder, unless an earlier record has set it.
    pub(super) fn set_folder(&mut self, folder: &Value) {
        if self.folder.is_none() {
            self.folder = folder.as_str().map(PathBuf::from);
        }
    }

    /// Adds output tokens to a turn.
    pub(super) fn add_tokens(&mut self, turn: usize, tokens: u64) {
        if self.tokens.len() <= turn {
            self.tokens.resize(turn + 1, 0);
        }
        self.tokens[turn] += tokens;
    }
}

/// Returns the seconds since 1970 of a time such as `2026-09-01T10:00:00.5Z`, or of a number of
/// milliseconds. A time without a zone is read as UTC.
fn unix_seconds(time: &Value) -> Option<i64> {
    let Some(text) = time.as_str() else { return Some(time.as_i64()? / 1000) };
    let text = text.replacen(' ', "T", 1);
    let utc = || DateTime::parse_from_rfc3339(&format!("{text}Z"));
    DateTime::parse_from_rfc3339(&text).or_else(|_| utc()).ok().map(|time| time.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_clients_times_are_seconds() {
        let of = |time: &str| unix_seconds(&Value::from(time));
        assert_eq!(of("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(of("2026-11-21T14:30:55.123Z"), Some(1_795_271_455));
        assert_eq!(of("2024-02-29T23:59:59+01:00"), Some(1_709_247_599));
        assert_eq!(unix_seconds(&Value::from(1_709_247_599_123_i64)), Some(1_709_247_599));
        for broken in ["", "yesterday", "2026-13-01T00:00:00Z", "2026-11-2é"] {
            assert_eq!(of(broken), None, "{broken}");
        }
    }
}
