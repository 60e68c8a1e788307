//! Tables of cases in files beside their tests: one line of JSON a case.

use serde::de::DeserializeOwned;

/// The rows of such a table.
pub(crate) fn rows<T: DeserializeOwned>(table: &str) -> Vec<T> {
    let row = |line: &str| serde_json::from_str(line).unwrap_or_else(|why| panic!("{why}: {line}"));
    table.lines().map(row).collect()
}
