//! Reads opencode's database. Its tables are `session`, `message` and `part`; the last two have
//! JSON in `data`.
//!
//! A private copy is read, with the log or the journal of unfinished writes, so that nothing is
//! locked, and nothing written beside the file. Columns that are missing are looked for in the JSON;
//! rows that cannot be read are counted.
//!
//! Limits: a value of more than 64 MiB is left out. Messages that opencode has deleted are gone.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, OpenFlags, Row};
use serde_json::Value;
use tempfile::TempDir;

use super::{Client, Findings, Transcript, crush, opencode, string_field};

/// The suffixes of the files that make up a database.
const FILE_SUFFIXES: &[&str] = &["", "-wal", "-journal"];
const MAX_VALUE_BYTES: usize = 64 << 20;
/// How often at most to copy a database that changes while it is copied.
const ATTEMPTS: usize = 3;

/// Reads the sessions of a database into `found`. The error says what to do; what could be read
/// before it is in `found` anyway.
pub fn read(file: &Path, found: &mut Findings) -> Result<(), String> {
    let name = file.file_stem().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let database = open_copy(file).map_err(|why| why.to_string())?;
    let kept_by = if name.contains("opencode") { Client::Opencode } else { Client::Crush };
    let result = match columns(&database.connection, "messages") {
        Ok(columns) if columns.iter().any(|column| column == "parts") => {
            crush::read(&database.connection, kept_by)
                .map(|transcripts| found.transcripts.extend(transcripts))
                .map_err(DatabaseError::from)
        }
        _ => {
            let mut tables = Tables::default();
            let filled = tables.fill(&database.connection);
            found.transcripts.extend(tables.transcripts(&name));
            filled
        }
    };
    result.map_err(|why| why.to_string())
}

#[derive(Debug, thiserror::Error)]
enum DatabaseError {
    #[error("{}", explain(.0))]
    Database(#[from] rusqlite::Error),
    #[error("cannot read {path}: {error}", path = .0.display(), error = .1)]
    File(PathBuf, std::io::Error),
    #[error("is not a database of opencode or crush: it has no table `part` or `messages`")]
    Foreign,
    #[error("changed while it was being read, {ATTEMPTS} times; close opencode and mine again")]
    Changing,
}

/// Returns what is wrong with the database.
fn explain(error: &rusqlite::Error) -> String {
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
            format!("is damaged ({error}); the rows before the damage were read")
        }
        _ => format!("cannot be read as opencode's database: {error}"),
    }
}

/// A connection, and the folder of the copy that it reads.
struct OpenDatabase {
    connection: Connection,
    _copy: TempDir,
}

/// Opens a copy, in which SQLite may apply a log or roll back a journal.
fn open_copy(file: &Path) -> Result<OpenDatabase, DatabaseError> {
    for _ in 0..ATTEMPTS {
        let folder =
            tempfile::tempdir().map_err(|e| DatabaseError::File(std::env::temp_dir(), e))?;
        let copy = folder.path().join("copy.db");
        let before = file_state(file);
        for (suffix, state) in FILE_SUFFIXES.iter().zip(&before) {
            if state.is_some() {
                let source = sibling(file, suffix);
                // Without the rights of the file, which may not be written.
                fs::File::open(&source)
                    .and_then(|mut from| {
                        io::copy(&mut from, &mut fs::File::create(sibling(&copy, suffix))?)
                    })
                    .map_err(|error| DatabaseError::File(source, error))?;
            }
        }
        if before == file_state(file) {
            return Ok(OpenDatabase { connection: connect(&copy)?, _copy: folder });
        }
    }
    Err(DatabaseError::Changing)
}

/// Connects to a database, for queries only.
fn connect(file: &Path) -> Result<Connection, DatabaseError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(file, flags)?;
    // Views and triggers of the file must not run code.
    connection.set_db_config(rusqlite::config::DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_db_config(rusqlite::config::DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.pragma_update(None, "query_only", true)?;
    // Opening reads nothing yet. This query does, so that errors show here.
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0))?;
    Ok(connection)
}

/// Returns the size and the modification time of each file that makes up the database; `None` for
/// one that does not exist.
fn file_state(file: &Path) -> Vec<Option<(u64, SystemTime)>> {
    let state = |suffix: &&str| {
        let meta = fs::metadata(sibling(file, suffix)).ok()?;
        Some((meta.len(), meta.modified().ok()?))
    };
    FILE_SUFFIXES.iter().map(state).collect()
}

/// Returns the path with a suffix after the file's name.
fn sibling(file: &Path, suffix: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// The rows of the tables, in order: sessions with their messages, and messages with their parts.
#[derive(Default)]
struct Tables {
    sessions: BTreeMap<String, Session>,
    /// The folder of each session.
    folders: HashMap<String, PathBuf>,
    /// The number of unreadable rows whose session is not known either.
    lost: usize,
}

#[derive(Default)]
struct Session {
    messages: BTreeMap<String, Message>,
    /// The number of rows that could not be read.
    skipped: usize,
}

#[derive(Default)]
struct Message {
    info: Value,
    /// The calls of tools, by the id of the part and the number of its row.
    parts: BTreeMap<(String, usize), Value>,
}

impl Tables {
    /// Reads all rows of the three tables.
    fn fill(&mut self, database: &Connection) -> Result<(), DatabaseError> {
        if columns(database, "part")?.is_empty() {
            return Err(DatabaseError::Foreign);
        }
        let tables = self;
        each_row(database, "session", &["id", "directory"], "", |row| {
            if let (Some(id), Some(folder)) = (text_at(row, 0), text_at(row, 1)) {
                tables.folders.insert(id, folder.into());
            }
        })?;
        each_row(database, "message", &["id", "session_id", "data"], "", |row| {
            let json = json_at(row, 2);
            let session = text_at(row, 1).or_else(|| string_field(json.as_ref()?, &["sessionID"]));
            let id = text_at(row, 0).or_else(|| string_field(json.as_ref()?, &["id"]));
            match (session, id, json) {
                (Some(session), Some(id), Some(info)) => {
                    let session = tables.sessions.entry(session).or_default();
                    session.messages.entry(id).or_default().info = info;
                }
                (session, ..) => tables.skip(session),
            }
        })?;
        let mut row_number = 0;
        each_row(database, "part", &["id", "message_id", "session_id", "data"], "", |row| {
            row_number += 1;
            let json = json_at(row, 3);
            let field = |column, name: &str| {
                text_at(row, column).or_else(|| string_field(json.as_ref()?, &[name]))
            };
            let (id, message, session) =
                (field(0, "id"), field(1, "messageID"), field(2, "sessionID"));
            match (session, message, json) {
                (Some(session), Some(message), Some(part)) => {
                    // Most parts are text; only calls of tools can be actions on files.
                    if part["type"] == "tool" {
                        let messages = &mut tables.sessions.entry(session).or_default().messages;
                        let parts = &mut messages.entry(message).or_default().parts;
                        parts.insert((id.unwrap_or_default(), row_number), part);
                    }
                }
                (session, ..) => tables.skip(session),
            }
        })?;
        Ok(())
    }

    /// Counts a row that cannot be read.
    fn skip(&mut self, session: Option<String>) {
        match session {
            Some(session) => self.sessions.entry(session).or_default().skipped += 1,
            None => self.lost += 1,
        }
    }

    /// Returns the sessions as transcripts. Unreadable rows without a known session are counted in
    /// the last transcript or, if there is none, in an empty one with the name `file`.
    fn transcripts(self, file: &str) -> Vec<Transcript> {
        let mut all: Vec<Transcript> = Vec::new();
        for (id, session) in self.sessions {
            let mut out = Transcript::new(Client::Opencode, &id);
            out.folder = self.folders.get(&id).cloned();
            out.skipped = session.skipped;
            for (turn, message) in session.messages.values().enumerate() {
                opencode::record_message(&mut out, turn, &message.info);
                message.parts.values().for_each(|part| opencode::record_part(&mut out, turn, part));
            }
            all.push(out);
        }
        if self.lost > 0 {
            match all.last_mut() {
                Some(last) => last.skipped += self.lost,
                None => {
                    let mut out = Transcript::new(Client::Opencode, file);
                    out.skipped = self.lost;
                    all.push(out);
                }
            }
        }
        all
    }
}

/// Calls `take` with every row of a table, in an order. A column that the table does not have is
/// NULL; a missing table has no rows.
pub(super) fn each_row(
    database: &Connection,
    table: &str,
    wanted: &[&str],
    order: &str,
    mut take: impl FnMut(&Row<'_>),
) -> rusqlite::Result<()> {
    let existing = columns(database, table)?;
    if existing.is_empty() {
        return Ok(());
    }
    let exists = |name: &str| existing.iter().any(|column| column == name);
    let selected: Vec<&str> =
        wanted.iter().map(|column| if exists(column) { *column } else { "NULL" }).collect();
    let mut query =
        database.prepare(&format!("SELECT {} FROM {table} {order}", selected.join(", ")))?;
    let mut rows = query.query([])?;
    while let Some(row) = rows.next()? {
        take(row);
    }
    Ok(())
}

/// Returns the columns of a table; none if the database has no such table.
fn columns(database: &Connection, name: &str) -> rusqlite::Result<Vec<String>> {
    let mut query = database.prepare(
        "SELECT c.name FROM sqlite_schema AS s, pragma_table_info(s.name) AS c WHERE s.type = 'table' AND s.name = ?1",
    )?;
    query.query_map([name], |row| row.get(0))?.collect()
}

/// Returns the bytes of a value, unless it is too large or not a text or blob.
fn bytes_at<'a>(row: &'a Row<'_>, column: usize) -> Option<&'a [u8]> {
    match row.get_ref(column) {
        Ok(ValueRef::Text(bytes) | ValueRef::Blob(bytes)) if bytes.len() <= MAX_VALUE_BYTES => {
            Some(bytes)
        }
        _ => None,
    }
}

/// Returns a value that is a text and not empty.
pub(super) fn text_at(row: &Row<'_>, column: usize) -> Option<String> {
    let text = std::str::from_utf8(bytes_at(row, column)?).ok()?;
    (!text.is_empty()).then(|| text.to_owned())
}

/// Returns a value that is a JSON object.
fn json_at(row: &Row<'_>, column: usize) -> Option<Value> {
    serde_json::from_slice(bytes_at(row, column)?).ok().filter(Value::is_object)
}
