//! Opens the databases of opencode and crush, and reads their values.
//!
//! A private copy is read, with the log or the journal of unfinished writes, so that nothing is
//! locked, and nothing written beside the file.
//! A value of more than 64 MiB is left out.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, OpenFlags, Row, RowIndex};
use serde_json::Value;
use tempfile::TempDir;

/// The suffixes of the files that make up a database.
const FILE_SUFFIXES: &[&str] = &["", "-wal", "-journal"];
const MAX_VALUE_BYTES: usize = 64 << 20;
/// How often at most to copy a database that changes while it is copied.
const ATTEMPTS: usize = 3;

/// Returns what is wrong with the database.
pub(super) fn explain(error: &rusqlite::Error) -> String {
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
            format!("is damaged and was left out: {error}")
        }
        _ => format!("cannot be read as a database of opencode or crush: {error}"),
    }
}

/// Opens a copy, in which SQLite may apply a log or roll back a journal. Returns its folder, too.
pub(super) fn open_copy(file: &Path) -> Result<(TempDir, Connection), String> {
    for _ in 0..ATTEMPTS {
        let folder = tempfile::tempdir()
            .map_err(|error| format!("cannot be copied to a temporary folder: {error}"))?;
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
                    .map_err(|error| format!("cannot be copied: {}: {error}", source.display()))?;
            }
        }
        if before == file_state(file) {
            return connect(&copy)
                .map(|database| (folder, database))
                .map_err(|error| explain(&error));
        }
    }
    Err(format!(
        "changed while it was being read, {ATTEMPTS} times; close its program and mine again"
    ))
}

/// Connects to a database, for queries only.
fn connect(file: &Path) -> rusqlite::Result<Connection> {
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

/// Returns the columns of a table; none if the database has no such table.
pub(super) fn columns(database: &Connection, name: &str) -> rusqlite::Result<Vec<String>> {
    let mut query = database.prepare(
        "SELECT c.name FROM sqlite_schema AS s, pragma_table_info(s.name) AS c WHERE s.type = 'table' AND s.name = ?1",
    )?;
    query.query_map([name], |row| row.get(0))?.collect()
}

/// Returns a value that is a text and neither empty nor too large.
pub(super) fn text_at(row: &Row<'_>, column: impl RowIndex) -> Option<String> {
    let (ValueRef::Text(bytes) | ValueRef::Blob(bytes)) = row.get_ref(column).ok()? else {
        return None;
    };
    let is_usable = (1..=MAX_VALUE_BYTES).contains(&bytes.len());
    std::str::from_utf8(bytes).ok().filter(|_| is_usable).map(str::to_owned)
}

/// Returns a value that is a JSON object.
pub(super) fn json_at(row: &Row<'_>, column: usize) -> Option<Value> {
    serde_json::from_str(&text_at(row, column)?).ok().filter(Value::is_object)
}
