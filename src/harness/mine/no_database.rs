//! opencode's database, in a build that leaves SQLite out: told by its first bytes, and said.

use std::path::Path;

use super::Findings;

/// Whether a file is a database, by its first bytes.
pub fn is_database(start: &[u8]) -> bool {
    start.starts_with(b"SQLite format 3\0")
}

/// Says what it takes to read it.
pub fn read(_: &Path, _: &mut Findings) -> Result<(), String> {
    Err(format!("is a database; {}", super::LEAN_BUILD))
}
