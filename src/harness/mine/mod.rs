//! Mining: finds the failed edits in transcripts of agents and replays them.
//!
//! Each client has a reader that turns its files into a [`Transcript`]: what the agent read,
//! edited and wrote, in order. No client promises its format, so readers skip and count the
//! records that they do not understand. [`files`] tracks the contents of each file, to piece
//! together the file before a failed edit. A transcript that cannot be read is reported and left
//! out. Nothing leaves the machine, and [`redact`] removes secrets from what is saved.

pub mod aider;
pub mod class;
pub mod claude;
pub mod cline;
pub mod codex;
pub mod compression;
#[cfg(feature = "mine")]
pub mod crush;
#[cfg(feature = "mine")]
pub mod database;
#[cfg(not(feature = "mine"))]
#[path = "no_database.rs"]
pub mod database;
pub mod failures;
pub mod files;
pub mod gemini;
pub mod git;
pub mod opencode;
pub mod pi;
pub mod redact;
pub(crate) mod summary;

/// Why a build without the feature `mine` leaves out databases and compressed files.
#[cfg(not(feature = "mine"))]
const LEAN_BUILD: &str = "this restitch was built without the feature `mine`, which reads it: cargo install restitch --features mine";
#[cfg(feature = "mine")]
const LEAN_BUILD: &str = "";

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read, Seek as _};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::patch::Hunk;

/// An agent whose transcripts can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Client {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// opencode.
    Opencode,
    /// crush.
    Crush,
    /// pi, and OpenClaw, which is made of it.
    Pi,
    /// aider.
    Aider,
    /// Cline.
    Cline,
}

impl Client {
    /// Every client.
    pub const ALL: &[Self] = &[
        Self::Claude,
        Self::Codex,
        Self::Gemini,
        Self::Opencode,
        Self::Crush,
        Self::Pi,
        Self::Aider,
        Self::Cline,
    ];

    /// Returns the client's name on the command line and in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Opencode => "opencode",
            Self::Crush => "crush",
            Self::Pi => "pi",
            Self::Aider => "aider",
            Self::Cline => "cline",
        }
    }

    /// Returns the paths where the client keeps its transcripts. Most are folders; opencode may
    /// also have a database elsewhere, and aider and crush keep theirs in the current folder.
    /// `variable` looks up an environment variable.
    pub fn homes(self, variable: impl Fn(&str) -> Option<String>) -> Vec<PathBuf> {
        let home = || variable("HOME").or_else(|| variable("USERPROFILE")).map(PathBuf::from);
        let folder_of = |name: &str, below_home: &str| {
            variable(name).map(PathBuf::from).or_else(|| Some(home()?.join(below_home)))
        };
        let folder = match self {
            Self::Claude => {
                folder_of("CLAUDE_CONFIG_DIR", ".claude").map(|dir| dir.join("projects"))
            }
            Self::Codex => folder_of("CODEX_HOME", ".codex").map(|dir| dir.join("sessions")),
            Self::Gemini => home().map(|dir| dir.join(".gemini/tmp")),
            Self::Opencode => {
                folder_of("XDG_DATA_HOME", ".local/share").map(|dir| dir.join("opencode"))
            }
            Self::Crush => Some(PathBuf::from(".crush")),
            Self::Pi => {
                folder_of("PI_CODING_AGENT_DIR", ".pi/agent").map(|dir| dir.join("sessions"))
            }
            Self::Cline => {
                let config = folder_of("XDG_CONFIG_HOME", ".config");
                config.map(|dir| dir.join("Code").join(cline::TASKS))
            }
            Self::Aider => {
                let named = variable("AIDER_CHAT_HISTORY_FILE").map(PathBuf::from);
                Some(named.unwrap_or_else(|| PathBuf::from(aider::NAME)))
            }
        };
        let mut homes = Vec::from_iter(folder);
        match self {
            Self::Opencode => homes.push(PathBuf::from(".opencode")),
            Self::Pi => homes.extend(home().map(|dir| dir.join(".openclaw/agents"))),
            Self::Cline => {
                // On macOS, and on Windows.
                let mac = home().map(|dir| dir.join("Library/Application Support"));
                let windows = variable("APPDATA").map(PathBuf::from);
                let places = mac.into_iter().chain(windows);
                homes.extend(places.map(|dir| dir.join("Code").join(cline::TASKS)));
            }
            _ => {}
        }
        if self == Self::Opencode
            && let Some(database) = variable("OPENCODE_DB").filter(|path| path != ":memory:")
        {
            // As in opencode, a relative path is below its folder.
            let file =
                homes.first().map_or_else(|| PathBuf::from(&database), |dir| dir.join(&database));
            if homes.iter().all(|dir| !file.starts_with(dir)) {
                homes.push(file);
            }
        }
        homes
    }
}

/// A file or another place that may hold transcripts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Source {
    place: Place,
    /// Its size.
    pub bytes: u64,
}

/// The place of a [`Source`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    /// A transcript or a database.
    File(PathBuf),
    /// A folder of opencode's, with a file for each record.
    Tree(PathBuf),
    /// A transcript on a branch of checkpoints.
    Checkpoint {
        /// The repository.
        repository: PathBuf,
        /// The path on the branch.
        path: String,
        /// The object.
        object: String,
    },
}

/// The transcripts of a source.
#[derive(Debug, Clone, Default)]
pub struct Findings {
    /// The sessions.
    pub transcripts: Vec<Transcript>,
    /// Files that could not be read, or only in part, each with the reason.
    pub unread: Vec<(PathBuf, String)>,
}

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
    fn new(client: Client, session: &str) -> Self {
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

    /// Adds an action on a file, with the time and the model of the current record.
    fn push(&mut self, turn: usize, path: &str, action: FileAction) {
        let (time, model) = (self.time, self.model.clone());
        let path = path.replace('\\', "/");
        // The same file may be named in full and from the folder.
        let folder = self.folder.as_ref().map(|dir| dir.to_string_lossy().replace('\\', "/"));
        let below = folder.and_then(|folder| path.strip_prefix(&folder)?.strip_prefix('/'));
        let file = below.unwrap_or(&path);
        let file = file.strip_prefix("./").unwrap_or(file).to_owned();
        self.steps.push(TranscriptStep { turn, time, model, path, file, action });
    }

    /// Sets the time of the next steps, in any client's format. A record without a time keeps that
    /// of the record before it.
    fn set_time(&mut self, time: &Value) {
        self.time = unix_seconds(time).or(self.time);
    }

    /// Sets the model of the next steps. A record without a model keeps that of the record before
    /// it.
    fn set_model(&mut self, model: &Value) {
        if let Some(model) = model.as_str() {
            self.model = Some(model.to_owned());
        }
    }

    /// Sets the session's folder, unless an earlier record has set it.
    fn set_folder(&mut self, folder: &Value) {
        if self.folder.is_none() {
            self.folder = folder.as_str().map(PathBuf::from);
        }
    }

    /// Adds output tokens to a turn.
    fn add_tokens(&mut self, turn: usize, tokens: u64) {
        if self.tokens.len() <= turn {
            self.tokens.resize(turn + 1, 0);
        }
        self.tokens[turn] += tokens;
    }
}

/// Returns the transcripts below a folder, or the one at a path, and those that a repository keeps
/// on branches of checkpoints.
pub fn sources(path: &Path) -> io::Result<Vec<Source>> {
    let mut found = Vec::new();
    if path.is_dir() {
        collect_sources(path, &mut found)?;
        let checkpoints = git::Repository::at(path).map(|repository| repository.checkpoints());
        for (name, object, bytes) in checkpoints.unwrap_or_default() {
            let repository = path.to_owned();
            found.push(Source {
                place: Place::Checkpoint { repository, path: name, object },
                bytes,
            });
        }
    } else {
        let bytes = fs::metadata(path)?.len();
        found.push(Source { place: Place::File(path.to_owned()), bytes });
    }
    found.sort();
    Ok(found)
}

impl Source {
    /// Reads the source. Without a `client`, the content shows which client wrote it.
    pub fn read(&self, client: Option<Client>) -> Findings {
        let mut found = Findings::default();
        match &self.place {
            Place::File(file) => {
                if let Err(why) = read_file(file, client, &mut found) {
                    found.unread.push((file.clone(), why));
                }
            }
            Place::Tree(folder) => match opencode::read_storage(folder) {
                Ok(transcripts) if client.is_none_or(|client| client == Client::Opencode) => {
                    found.transcripts = transcripts;
                }
                Ok(_) => {}
                Err(error) => {
                    found.unread.push((folder.clone(), format!("cannot be read: {error}")))
                }
            },
            Place::Checkpoint { repository, path, object } => {
                let bytes =
                    git::Repository::at(repository).and_then(|repository| repository.bytes(object));
                match bytes {
                    Some(bytes) => {
                        let text = String::from_utf8_lossy(&bytes);
                        let name = path.rsplit('/').next().unwrap_or(path);
                        read_text(&text, stem(name), repository, client, &mut found);
                    }
                    None => found.unread.push((path.into(), "is not in the repository".into())),
                }
            }
        }
        found
    }
}

/// Reads one file into `found`. The error says what is wrong with the file; what could be read
/// before it is in `found` anyway.
fn read_file(file: &Path, client: Option<Client>, found: &mut Findings) -> Result<(), String> {
    let message = |error: io::Error| format!("cannot be read: {error}");
    let mut opened = File::open(file).map_err(message)?;
    let mut start = Vec::new();
    Read::by_ref(&mut opened).take(16).read_to_end(&mut start).map_err(message)?;
    if database::is_database(&start) {
        return match client {
            None | Some(Client::Opencode | Client::Crush) => database::read(file, found),
            Some(_) => Ok(()),
        };
    }
    opened.rewind().map_err(message)?;
    let content = compression::decompress(opened, compression::MAX_BYTES).map_err(message)?;
    // A transcript may have invalid bytes; its other lines are still good.
    let text = String::from_utf8_lossy(&content.bytes);
    let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let has_nothing = text.is_empty() && content.broken.is_some();
    if !has_nothing {
        read_text(&text, stem(decompressed_name(&name)), file, client, found);
    }
    content.broken.map_or(Ok(()), Err)
}

/// Reads the text of a transcript. `file` is where it lies.
fn read_text(text: &str, session: &str, file: &Path, client: Option<Client>, found: &mut Findings) {
    let client = client.or_else(|| detect_client(text));
    if client == Some(Client::Aider) {
        let folder = std::path::absolute(file).ok();
        let folder = folder.as_deref().and_then(Path::parent);
        found.transcripts.extend(aider::read(text, session, folder));
    }
    found.transcripts.extend(match client {
        Some(Client::Claude) => Some(claude::read(text, session)),
        Some(Client::Codex) => Some(codex::read(text, session)),
        Some(Client::Gemini) => Some(gemini::read(text, session)),
        Some(Client::Opencode) => opencode::read_export(text, session),
        Some(Client::Pi) => Some(pi::read(text, session)),
        Some(Client::Cline) => {
            // Each task has a folder of its own.
            let task = file.parent().and_then(Path::file_name);
            cline::read(text, &task.map_or(session.into(), |task| task.to_string_lossy()))
        }
        Some(Client::Aider | Client::Crush) | None => None,
    });
}

/// Returns a file's name without the suffix of a compressed file.
fn decompressed_name(name: &str) -> &str {
    compression::SUFFIXES.iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(name)
}

fn stem(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

/// Folders that hold no transcripts, and often very many files.
const SKIPPED: [&str; 4] = [".git", "node_modules", "target", ".venv"];

/// Adds all files below a folder that may be transcripts to `found`.
fn collect_sources(folder: &Path, found: &mut Vec<Source>) -> io::Result<()> {
    // opencode's tree of single records is read as a whole.
    if folder.join("message").is_dir() && folder.join("part").is_dir() {
        found.push(Source { place: Place::Tree(folder.to_owned()), bytes: 0 });
        return Ok(());
    }
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        if path.is_dir() {
            if !SKIPPED.contains(&name) {
                collect_sources(&path, found)?;
            }
            continue;
        }
        let plain_name = decompressed_name(name);
        // OpenClaw renames a session that it deletes or starts anew.
        let is_kept = [".jsonl.deleted.", ".jsonl.reset."].iter().any(|mark| name.contains(mark));
        let is_transcript =
            [".jsonl", ".json", aider::NAME].iter().any(|end| plain_name.ends_with(end))
                || is_kept
                || (name.ends_with(".db") && is_database_file(&path));
        // While Codex compresses a rollout, the file is there in both forms.
        let is_copy = plain_name != name && path.with_file_name(plain_name).is_file();
        if is_transcript && !is_copy {
            let bytes = fs::metadata(&path).map_or(0, |meta| meta.len());
            found.push(Source { place: Place::File(path), bytes });
        }
    }
    Ok(())
}

/// Whether a file is a SQLite database, by its first bytes.
fn is_database_file(path: &Path) -> bool {
    let mut start = Vec::new();
    let read = File::open(path).and_then(|file| file.take(16).read_to_end(&mut start));
    read.is_ok() && database::is_database(&start)
}

/// Returns the client whose transcript this is, by the fields of its records.
fn detect_client(text: &str) -> Option<Client> {
    if let Ok(Value::Object(whole)) = serde_json::from_str::<Value>(text) {
        let has = |name: &str| whole.get(name).is_some();
        if has("messages") && has("info") {
            return Some(Client::Opencode);
        }
        if has("messages") && (has("sessionId") || has("projectHash")) {
            return Some(Client::Gemini);
        }
    }
    if cline::is_conversation(text) {
        return Some(Client::Cline);
    }
    if text.lines().take(1000).any(|line| line.starts_with(aider::START)) {
        return Some(Client::Aider);
    }
    text.lines().take(50).find_map(|line| {
        let record: Value = serde_json::from_str(line).ok()?;
        let has = |name: &str| record.get(name).is_some();
        if has("payload") && has("type") {
            Some(Client::Codex)
        } else if pi::is_record(&record) {
            Some(Client::Pi)
        } else if has("projectHash") || has("toolCalls") {
            Some(Client::Gemini)
        } else if has("sessionId") && (has("message") || has("parentUuid")) {
            Some(Client::Claude)
        } else {
            None
        }
    })
}

/// Returns the text of a tool result: a string, an object with text, or a list of these.
fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(text_of).collect::<Vec<_>>().join("\n"),
        Value::Object(map) => ["text", "output", "content", "error", "message"]
            .iter()
            .find_map(|name| map.get(*name))
            .map(text_of)
            .unwrap_or_default(),
        _ => String::new(),
    }
}

/// Returns the first of the named fields that is a string.
fn string_field(value: &Value, names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| value.get(name)?.as_str().map(str::to_owned))
}

/// Returns the replacements of an edit call, whatever names the client has for its fields.
fn replacements(input: &Value) -> Vec<Replacement> {
    let replacement = |value: &Value| {
        let old = string_field(value, &["old_string", "oldString", "old_str", "oldText"])?;
        let new = string_field(value, &["new_string", "newString", "new_str", "newText"])
            .unwrap_or_default();
        let flag = |name: &str| value.get(name).and_then(Value::as_bool).unwrap_or(false);
        let several = value
            .get("expected_replacements")
            .and_then(Value::as_u64)
            .is_some_and(|count| count > 1);
        let all = flag("replace_all") || flag("replaceAll") || flag("allow_multiple") || several;
        Some(Replacement { old, new, all })
    };
    match input.get("edits").and_then(Value::as_array) {
        Some(edits) => edits.iter().filter_map(replacement).collect(),
        None => replacement(input).into_iter().collect(),
    }
}

/// Removes the line numbers from a view such as `   12→text`, `12\ttext` or `00012| text`. Returns
/// the first number and the text; `None` if no line has a number.
fn strip_line_numbers(text: &str) -> Option<(usize, String)> {
    let mut first = None;
    let mut next_number = 0;
    let mut out = String::new();
    for line in text.lines() {
        let body = line.trim_start();
        let digit_count = body.len() - body.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let number: Option<usize> = body[..digit_count].parse().ok();
        let rest = body[digit_count..]
            .strip_prefix('→')
            .or_else(|| body[digit_count..].strip_prefix('\t'))
            .or_else(|| body[digit_count..].strip_prefix("| "))
            .or_else(|| body[digit_count..].strip_prefix('|'));
        match (number, rest) {
            (Some(number), Some(rest)) if first.is_none() || number == next_number => {
                first.get_or_insert(number);
                next_number = number + 1;
                out.push_str(rest);
                out.push('\n');
            }
            _ if first.is_some() => break,
            _ => {}
        }
    }
    first.map(|first| (first, out))
}

/// Returns the seconds since 1970 of a time such as `2026-09-01T10:00:00.5Z`, or of a number of
/// milliseconds.
fn unix_seconds(time: &Value) -> Option<i64> {
    let Some(text) = time.as_str() else { return Some(time.as_i64()? / 1000) };
    let number = |from: usize, to: usize| text.get(from..to)?.parse::<i64>().ok();
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let zone = text.get(19..)?.trim_start_matches(|c: char| c == '.' || c.is_ascii_digit());
    let utc_offset = match zone.split_at_checked(1) {
        Some((sign @ ("+" | "-"), offset)) => {
            let (hours, minutes) = offset.split_once(':').unwrap_or((offset, "0"));
            let seconds = hours.parse::<i64>().ok()? * 3600 + minutes.parse::<i64>().ok()? * 60;
            if sign == "-" { -seconds } else { seconds }
        }
        _ => 0,
    };
    // The year is counted from March, so that a leap day is its last day.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = year / 4 - year / 100 + year / 400;
    let days_before_month = (month * 153 + 2) / 5;
    let days = year * 365 + leap_days + days_before_month + day - 1;
    const DAYS_TO_1970: i64 = 719_468;
    Some((days - DAYS_TO_1970) * 86_400 + hour * 3600 + minute * 60 + second - utc_offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_a_view_are_taken_off() {
        let view =
            "     3→fn main() {\n     4→\tx\n     5→}\n\n<system-reminder>x</system-reminder>";
        assert_eq!(strip_line_numbers(view), Some((3, "fn main() {\n\tx\n}\n".into())));
        assert_eq!(
            strip_line_numbers("<file>\n00001| a\n00002| b\n\n(End of file)"),
            Some((1, "a\nb\n".into()))
        );
        assert_eq!(strip_line_numbers("plain\ntext"), None);
    }

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
