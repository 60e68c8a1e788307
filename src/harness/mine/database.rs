//! opencode's database: `session`, `message` and `part`, whose `data` is JSON.
//!
//! Nothing is written, not even beside the file. A database that is not in use is read in
//! place, that of a running opencode through its index without touching it, and one with an
//! unfinished write from a private copy. Missing columns are looked for in the JSON; rows
//! that cannot be read are counted.
//! Limits: a row of more than 64 MiB is left out, and so is what opencode has pruned itself.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, OpenFlags, Row};
use serde_json::Value;
use tempfile::TempDir;

use super::{Client, Findings, Transcript, opencode, string};

const MAGIC: &[u8; 16] = b"SQLite format 3\0";
/// Where the header says how changes are kept: 2 is a log beside the file.
const WRITE_VERSION: usize = 18;
const HEADER: usize = 20;
/// The file and what may lie beside it.
const FILE_SUFFIXES: &[&str] = &["", "-wal", "-journal"];
const MAX_ROW_BYTES: usize = 64 << 20;
/// How long a lock is waited for.
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);
const ATTEMPTS: usize = 3;

/// Whether a file is a database, by its first bytes.
pub fn is_database(start: &[u8]) -> bool {
    start.starts_with(MAGIC)
}

/// Reads the sessions of a database. What comes before an error is found; the error says
/// what to do.
pub fn read(file: &Path, found: &mut Findings) -> Result<(), String> {
    let name = file.file_stem().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    for _ in 0..ATTEMPTS {
        let before = file_state(file);
        let opened = open(file).map_err(|why| why.to_string())?;
        let mut tables = Tables::default();
        let result = tables.fill(&opened.connection);
        // It was read without a lock and has changed since: what was read may be torn.
        if opened.unlocked && before != file_state(file) {
            continue;
        }
        found.transcripts.extend(tables.transcripts(&name));
        return result.map_err(|why| why.to_string());
    }
    Err(DatabaseError::Changing.to_string())
}

#[derive(Debug, thiserror::Error)]
enum DatabaseError {
    #[error("{}", explain(.0))]
    Database(#[from] rusqlite::Error),
    #[error("cannot read {path}: {error}", path = .0.display(), error = .1)]
    File(PathBuf, std::io::Error),
    #[error("is not a database of opencode: it has no table `part`")]
    Foreign,
    #[error("was written to while it was read, {ATTEMPTS} times; close opencode and mine again")]
    Changing,
}

impl DatabaseError {
    /// Whether a copy may do better: a lock is no reason, since a copy would be torn.
    fn can_retry_on_copy(&self) -> bool {
        match self {
            Self::Database(rusqlite::Error::SqliteFailure(error, _)) => {
                matches!(error.code, ErrorCode::CannotOpen | ErrorCode::ReadOnly)
            }
            _ => false,
        }
    }
}

fn explain(error: &rusqlite::Error) -> String {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            "is locked by another program: close opencode and mine again, or mine a copy of the file and its -wal file".into()
        }
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
            format!("is damaged ({error}); what could be read was")
        }
        _ => format!("cannot be read as opencode's database: {error}"),
    }
}

/// A connection, and the copy it reads, if any.
struct OpenDatabase {
    connection: Connection,
    /// It is read without a lock.
    unlocked: bool,
    _copy: Option<TempDir>,
}

fn open(file: &Path) -> Result<OpenDatabase, DatabaseError> {
    let mut header = [0; HEADER];
    let read = fs::File::open(file).and_then(|mut open| open.read_exact(&mut header));
    read.map_err(|error| DatabaseError::File(file.to_owned(), error))?;
    let logged = header[WRITE_VERSION] == 2;
    let pending = fs::metadata(sibling(file, "-wal")).is_ok_and(|log| log.len() > 0);
    // A log's index would be made if it were not there. Without a log there is nothing in it.
    let unlocked = logged && !pending;
    let mode = if unlocked { "immutable=1" } else { "readonly_shm=1" };
    match connect(&format!("file:{}?mode=ro&{mode}", uri_encode(file))) {
        Ok(connection) => Ok(OpenDatabase { connection, unlocked, _copy: None }),
        Err(why) if why.can_retry_on_copy() => open_copy(file),
        Err(why) => Err(why),
    }
}

fn connect(uri: &str) -> Result<Connection, DatabaseError> {
    let flags = OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let access = if uri.contains("?mode=ro") {
        OpenFlags::SQLITE_OPEN_READ_ONLY
    } else {
        OpenFlags::SQLITE_OPEN_READ_WRITE
    };
    let connection = Connection::open_with_flags(uri, flags | access)?;
    connection.busy_timeout(LOCK_TIMEOUT)?;
    // The file's own views and triggers must not run.
    connection.set_db_config(rusqlite::config::DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_db_config(rusqlite::config::DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.pragma_update(None, "query_only", true)?;
    // Opening reads nothing yet; this does, so that trouble shows here.
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0))?;
    Ok(connection)
}

/// Opens a private copy, in which SQLite may finish what was left in the log or journal.
fn open_copy(file: &Path) -> Result<OpenDatabase, DatabaseError> {
    for _ in 0..ATTEMPTS {
        let folder =
            tempfile::tempdir().map_err(|e| DatabaseError::File(std::env::temp_dir(), e))?;
        let copy = folder.path().join("copy.db");
        let before = file_state(file);
        for (end, seen) in FILE_SUFFIXES.iter().zip(&before) {
            if seen.is_some() {
                let from = sibling(file, end);
                fs::copy(&from, sibling(&copy, end))
                    .map_err(|error| DatabaseError::File(from, error))?;
            }
        }
        if before == file_state(file) {
            let connection = connect(&format!("file:{}?mode=rw", uri_encode(&copy)))?;
            return Ok(OpenDatabase { connection, unlocked: false, _copy: Some(folder) });
        }
    }
    Err(DatabaseError::Changing)
}

/// Size and time of everything that makes up the database.
fn file_state(file: &Path) -> Vec<Option<(u64, SystemTime)>> {
    let of = |end: &&str| {
        let data = fs::metadata(sibling(file, end)).ok()?;
        Some((data.len(), data.modified().ok()?))
    };
    FILE_SUFFIXES.iter().map(of).collect()
}

fn sibling(file: &Path, end: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(end);
    name.into()
}

/// A path as a URI has it: `?` and `#` in it are no parameters.
fn uri_encode(file: &Path) -> String {
    let absolute = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    let mut out = String::new();
    for byte in absolute.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' => {
                out.push(char::from(*byte));
            }
            b'\\' if cfg!(windows) => out.push('/'),
            b':' if cfg!(windows) => out.push(':'),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    // A drive letter follows an empty host.
    if out.starts_with('/') { out } else { format!("/{out}") }
}

/// What the tables say, put in order: sessions, their messages, their parts.
#[derive(Default)]
struct Tables {
    sessions: BTreeMap<String, Session>,
    folders: HashMap<String, PathBuf>,
    /// Rows of which not even the session is known.
    lost: usize,
}

#[derive(Default)]
struct Session {
    messages: BTreeMap<String, Message>,
    skipped: usize,
}

#[derive(Default)]
struct Message {
    info: Value,
    parts: BTreeMap<(String, usize), Value>,
}

impl Tables {
    fn fill(&mut self, database: &Connection) -> Result<(), DatabaseError> {
        if columns(database, "part")?.is_empty() {
            return Err(DatabaseError::Foreign);
        }
        self.each(database, "session", &["id", "directory"], |tables, row| {
            if let (Some(id), Some(folder)) = (text(row, 0), text(row, 1)) {
                tables.folders.insert(id, folder.into());
            }
        })?;
        self.each(database, "message", &["id", "session_id", "data"], |tables, row| {
            let json = json(row, 2);
            let session = text(row, 1).or_else(|| string(json.as_ref()?, &["sessionID"]));
            let id = text(row, 0).or_else(|| string(json.as_ref()?, &["id"]));
            match (session, id, json) {
                (Some(session), Some(id), Some(info)) => {
                    let session = tables.sessions.entry(session).or_default();
                    session.messages.entry(id).or_default().info = info;
                }
                (session, ..) => tables.skip(session),
            }
        })?;
        let mut number = 0;
        self.each(database, "part", &["id", "message_id", "session_id", "data"], |tables, row| {
            number += 1;
            let json = json(row, 3);
            let field =
                |column, name: &str| text(row, column).or_else(|| string(json.as_ref()?, &[name]));
            let (id, message, session) =
                (field(0, "id"), field(1, "messageID"), field(2, "sessionID"));
            match (session, message, json) {
                (Some(session), Some(message), Some(part)) => {
                    // Most of a database is talk, and only calls of tools are steps.
                    if part["type"] == "tool" {
                        let messages = &mut tables.sessions.entry(session).or_default().messages;
                        let parts = &mut messages.entry(message).or_default().parts;
                        parts.insert((id.unwrap_or_default(), number), part);
                    }
                }
                (session, ..) => tables.skip(session),
            }
        })?;
        Ok(())
    }

    fn skip(&mut self, session: Option<String>) {
        match session {
            Some(session) => self.sessions.entry(session).or_default().skipped += 1,
            None => self.lost += 1,
        }
    }

    /// Every row of a table, with NULL for columns it does not have; a table that is not there
    /// has no rows.
    fn each(
        &mut self,
        database: &Connection,
        name: &str,
        wanted: &[&str],
        mut take: impl FnMut(&mut Self, &Row<'_>),
    ) -> rusqlite::Result<()> {
        let there = columns(database, name)?;
        if there.is_empty() {
            return Ok(());
        }
        let is_there = |wanted: &str| there.iter().any(|column| column == wanted);
        let columns: Vec<&str> =
            wanted.iter().map(|name| if is_there(name) { *name } else { "NULL" }).collect();
        let mut query = database.prepare(&format!("SELECT {} FROM {name}", columns.join(", ")))?;
        let mut rows = query.query([])?;
        while let Some(row) = rows.next()? {
            take(self, row);
        }
        Ok(())
    }

    fn transcripts(self, file: &str) -> Vec<Transcript> {
        let mut all: Vec<Transcript> = Vec::new();
        for (id, session) in self.sessions {
            let mut out = Transcript::new(Client::Opencode, &id);
            out.folder = self.folders.get(&id).cloned();
            out.skipped = session.skipped;
            for (turn, message) in session.messages.values().enumerate() {
                opencode::message(&mut out, turn, &message.info);
                message.parts.values().for_each(|part| opencode::step(&mut out, turn, part));
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

/// The columns of a table; none when it is no table of this database.
fn columns(database: &Connection, name: &str) -> rusqlite::Result<Vec<String>> {
    let mut query = database.prepare(
        "SELECT c.name FROM sqlite_schema AS s, pragma_table_info(s.name) AS c WHERE s.type = 'table' AND s.name = ?1",
    )?;
    query.query_map([name], |row| row.get(0))?.collect()
}

fn bytes<'a>(row: &'a Row<'_>, column: usize) -> Option<&'a [u8]> {
    match row.get_ref(column) {
        Ok(ValueRef::Text(bytes) | ValueRef::Blob(bytes)) if bytes.len() <= MAX_ROW_BYTES => {
            Some(bytes)
        }
        _ => None,
    }
}

fn text(row: &Row<'_>, column: usize) -> Option<String> {
    let text = std::str::from_utf8(bytes(row, column)?).ok()?;
    (!text.is_empty()).then(|| text.to_owned())
}

fn json(row: &Row<'_>, column: usize) -> Option<Value> {
    serde_json::from_slice(bytes(row, column)?).ok().filter(Value::is_object)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_no_query() {
        // Windows puts a drive before it.
        let root = uri_encode(Path::new("/"));
        let path = uri_encode(Path::new("/a b/c?d#e%/ü.db"));
        assert_eq!(path, format!("{root}a%20b/c%3Fd%23e%25/%C3%BC.db"));
    }
}
