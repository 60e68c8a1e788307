//! The page of limits: each number is the one in the code.

use serde::Deserialize;

use super::text_of;
use crate::rows::rows;

#[derive(Deserialize)]
struct Bound {
    /// How the first cell of its row on the page begins.
    row: String,
    /// The number that the page names.
    number: String,
    /// The file of `src` that has it.
    file: String,
    /// What that file says, without the constant's name.
    code: String,
}

#[test]
fn each_limit_is_the_one_in_the_code() {
    let bounds: Vec<Bound> = rows(include_str!("limits.jsonl"));
    let page = text_of("docs/limits.md");
    let listed: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("- ")).collect();
    assert!(listed.len() > 15, "{}", listed.len());
    for Bound { row: start, number, file, code } in &bounds {
        let named: Vec<_> = listed.iter().filter(|row| row.starts_with(start)).collect();
        assert_eq!(named.len(), 1, "rows of docs/limits.md that begin with `{start}`");
        let row = named[0];
        assert!(row.contains(number), "docs/limits.md has another number than {number}: {row}");
        assert!(text_of(&format!("src/{file}")).contains(code), "src/{file} has no `{code}`");
    }
    let is_known = |row: &&&str| bounds.iter().any(|bound| row.starts_with(&bound.row));
    let without: Vec<_> = listed.iter().filter(|row| !is_known(row)).collect();
    assert!(without.is_empty(), "no place in the code is named for {without:#?}");
}
