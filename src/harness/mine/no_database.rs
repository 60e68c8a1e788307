//! Recognizes opencode's database in a build without SQLite, which cannot read it.

use std::path::Path;

use super::Findings;

/// Whether a file is a database, by its first bytes.
pub fn is_database(start: &[u8]) -> bool {
    start.starts_with(b"SQLite format 3\0")
}

/// Returns an error that says which build can read the database.
pub fn read(_: &Path, _: &mut Findings) -> Result<(), String> {
    Err(format!("is a database; {}", super::LEAN_BUILD))
}
