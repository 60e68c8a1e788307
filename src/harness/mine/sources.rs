//! Finds the files and branches that hold transcripts, and reads each with the reader of its client.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::client::AIDER_HISTORY;
use super::{Client, Transcript, aider, claude, cline, codex, gemini, git, opencode, pi};
#[cfg(feature = "mine")]
use super::{crush, database};

/// A file or another place that may hold transcripts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// A transcript or a database.
    File(PathBuf),
    /// A folder of opencode's, with a file for each record.
    Tree(PathBuf),
    /// A transcript on a branch of checkpoints.
    Checkpoint {
        /// The repository.
        repository: PathBuf,
        /// The path on the branch.
        path: PathBuf,
        /// The object.
        object: String,
        /// Its size.
        bytes: u64,
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

/// Returns the transcripts below a folder, or the one at a path, and those that a repository keeps
/// on branches of checkpoints.
pub fn sources(path: &Path) -> io::Result<Vec<Source>> {
    let mut found = Vec::new();
    if path.is_dir() {
        collect_sources(path, &mut found)?;
        let checkpoints = git::Repository::at(path).map(|repository| repository.checkpoints());
        for (name, object, bytes) in checkpoints.unwrap_or_default() {
            let repository = path.to_owned();
            found.push(Source::Checkpoint { repository, path: name.into(), object, bytes });
        }
    } else {
        fs::metadata(path)?;
        found.push(Source::File(path.to_owned()));
    }
    found.sort();
    Ok(found)
}

impl Source {
    /// How much there is to read; 0 if that shows only when it is read.
    pub fn bytes(&self) -> u64 {
        match self {
            Self::File(file) => fs::metadata(file).map_or(0, |file| file.len()),
            Self::Tree(_) => 0,
            Self::Checkpoint { bytes, .. } => *bytes,
        }
    }

    /// Reads the source. Without a `client`, the content shows which client wrote it.
    pub fn read(&self, client: Option<Client>) -> Findings {
        let mut found = Findings::default();
        let (place, read) = match self {
            Self::File(file) => (file, read_file(file, client, &mut found)),
            Self::Tree(_) if client.is_some_and(|client| client != Client::Opencode) => {
                return found;
            }
            Self::Tree(folder) => {
                let read = opencode::read_storage(folder);
                let read = read.map(|transcripts| found.transcripts = transcripts);
                (folder, read.map_err(|error| format!("cannot be read: {error}")))
            }
            Self::Checkpoint { repository, path, object, .. } => {
                let bytes = git::Repository::at(repository)
                    .and_then(|repository| repository.bytes(object))
                    .ok_or_else(|| "is not in the repository".to_owned());
                let read = bytes.map(|bytes| {
                    let text = String::from_utf8_lossy(&bytes);
                    let name = path.file_name().unwrap_or_default().to_string_lossy();
                    read_text(&text, stem(&name), repository, client, &mut found);
                });
                (path, read)
            }
        };
        if let Err(why) = read {
            found.unread.push((place.clone(), why));
        }
        found
    }
}

/// Reads one file into `found`. The error says what is wrong with the file.
fn read_file(file: &Path, client: Option<Client>, found: &mut Findings) -> Result<(), String> {
    if is_database(file) {
        return match client {
            None | Some(Client::Opencode | Client::Crush) => read_database(file, found),
            Some(_) => Ok(()),
        };
    }
    let bytes = fs::read(file).map_err(|error| format!("cannot be read: {error}"))?;
    // A transcript may have invalid bytes; its other lines are still good.
    let text = String::from_utf8_lossy(&bytes);
    let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    read_text(&text, stem(&name), file, client, found);
    Ok(())
}

/// Reads the sessions of a database into `found`. The error says what is wrong with the file.
#[cfg(feature = "mine")]
fn read_database(file: &Path, found: &mut Findings) -> Result<(), String> {
    let name = file.file_stem().unwrap_or_default().to_string_lossy();
    // The folder of the copy goes after the connection is closed.
    let (_folder, copy) = database::open_copy(file)?;
    let is_of_crush = database::columns(&copy, "messages")
        .map_err(|error| database::explain(&error))?
        .iter()
        .any(|column| column == "parts");
    let read = match is_of_crush {
        true if name.contains("opencode") => {
            crush::read(&copy, Client::Opencode, &mut found.transcripts)
        }
        true => crush::read(&copy, Client::Crush, &mut found.transcripts),
        false => opencode::read_database(&copy, &mut found.transcripts),
    };
    read.map_err(|error| database::explain(&error))
}

#[cfg(not(feature = "mine"))]
fn read_database(_: &Path, _: &mut Findings) -> Result<(), String> {
    Err("is a database; this restitch was built without the feature `mine`, which reads it: cargo install restitch --features mine".to_owned())
}

/// Reads the text of a transcript. `file` is where it lies.
fn read_text(text: &str, session: &str, file: &Path, client: Option<Client>, found: &mut Findings) {
    let client = client.or_else(|| detect_client(text));
    let read = match client {
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
        Some(Client::Aider) => {
            let file = std::path::absolute(file).ok();
            let folder = file.as_deref().and_then(Path::parent);
            return found.transcripts.extend(aider::read(text, session, folder));
        }
        Some(Client::Crush) | None => None,
    };
    found.transcripts.extend(read);
}

fn stem(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

/// Folders that hold no transcripts, and often very many files.
const SKIPPED: [&str; 4] = [".git", "node_modules", "target", ".venv"];

/// Adds all files below a folder that may be transcripts to `found`.
fn collect_sources(folder: &Path, found: &mut Vec<Source>) -> io::Result<()> {
    // opencode has a file for each record.
    if folder.join("message").is_dir() && folder.join("part").is_dir() {
        found.push(Source::Tree(folder.to_owned()));
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
        // OpenClaw renames a session that it deletes or starts anew.
        let is_kept = [".jsonl.deleted.", ".jsonl.reset."].iter().any(|mark| name.contains(mark));
        let is_transcript =
            [".jsonl", ".json", AIDER_HISTORY].iter().any(|end| name.ends_with(end))
                || is_kept
                || (name.ends_with(".db") && is_database(&path));
        if is_transcript {
            found.push(Source::File(path));
        }
    }
    Ok(())
}

/// Whether a file is a SQLite database, by its first bytes.
fn is_database(path: &Path) -> bool {
    let mut start = Vec::new();
    let read = File::open(path).and_then(|file| file.take(16).read_to_end(&mut start));
    read.is_ok() && start == b"SQLite format 3\0"
}

/// Returns the client whose transcript this is, by the fields of its records.
fn detect_client(text: &str) -> Option<Client> {
    let whole = serde_json::from_str::<Value>(text);
    if let Ok(Value::Array(messages)) = &whole
        && cline::is_conversation(messages)
    {
        return Some(Client::Cline);
    }
    if let Ok(Value::Object(whole)) = whole {
        let has = |name: &str| whole.get(name).is_some();
        if has("messages") && has("info") {
            return Some(Client::Opencode);
        }
        if has("messages") && (has("sessionId") || has("projectHash")) {
            return Some(Client::Gemini);
        }
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
