//! The page of limits: each number is the one in the code.

use super::text_of;

/// A row by the beginning of its first cell, a number that it names, and where the code has it:
/// a file of `src`, and what it says, without the constant's name.
struct Bound(&'static str, &'static str, &'static str, &'static str);

const BOUNDS: &[Bound] = &[
    Bound("a file that is read", "256 MiB", "store/options.rs", "max_bytes: 256 << 20"),
    Bound("a path", "4,096", "edit/path.rs", "raw.len() > 4096"),
    Bound("edits or operations", "1,000", "engine/limits.rs", ": usize = 1_000;"),
    Bound("work to match", "1.5 billion", "matching/budget.rs", ": u64 = 1_500_000_000;"),
    Bound("placeholders", "32", "matching/places/elided.rs", ": usize = 32;"),
    Bound("places that one", "100,000", "engine/limits.rs", ": usize = 100_000;"),
    Bound("a text in a reply", "1 MiB", "tools/reply.rs", ": usize = 1 << 20;"),
    Bound("a file that is parsed", "1 MiB", "syntax/mod.rs", ": usize = 1 << 20;"),
    Bound(
        "a file that is parsed",
        "500 ms",
        "syntax/mod.rs",
        ": Duration = Duration::from_millis(500);",
    ),
    Bound("the files of one call", "512 MiB", "engine/limits.rs", ": usize = 512 << 20;"),
    Bound("files in one `check`", "1,000", "tools/check.rs", ": usize = 1_000;"),
    Bound("text of one `read_file`", "256 KiB", "views/mod.rs", "text: 256 << 10"),
    Bound("text of one `read_file`", "2,000", "views/mod.rs", "line: 2000"),
    Bound("text of an edit's answer", "1,500", "edit/report.rs", ": usize = 1_500;"),
    Bound("results of a search", "50 files", "search/mod.rs", ": usize = 50;"),
    Bound("results of a search", "20 hits", "search/mod.rs", ": usize = 20;"),
    Bound("results of a search", "300 hits", "search/mod.rs", ": usize = 300;"),
    Bound("results of a search", "200 characters", "search/mod.rs", ": usize = 200;"),
    Bound("results of a search", "20 lines", "search/mod.rs", ": usize = 20;"),
    Bound("a file that is searched", "256 MiB", "search/scan.rs", ": u64 = 256 << 20;"),
    Bound("a file that is searched", "64 MiB", "search/scan.rs", ": usize = 64 << 20;"),
    Bound("a list of files", "2,000", "search/mod.rs", ": usize = 2000;"),
    Bound("a file in object", "64 MiB", "../object-store/src/lib.rs", "max_bytes: 64 << 20"),
    Bound("a line of `batch`", "16 MiB", "cli/batch.rs", ": usize = 16 << 20;"),
    Bound("a line of `batch`", "16 MiB", "adapters/mcp.rs", ": usize = 16 * 1024 * 1024;"),
    Bound("HTTP connections", "512", "adapters/mcp/connections.rs", ": usize = 512;"),
    Bound("HTTP sessions", "64", "adapters/mcp/http.rs", ": usize = 64;"),
    Bound("history and", "512 MiB", "store/options.rs", "bytes: 512 << 20"),
    Bound("commits of one root", "10,000", "store/prune.rs", ": usize = 10_000;"),
    Bound("age of a commit", "30 calendar days", "store/prune.rs", "MAX_AGE_DAYS: u64 = 30;"),
    Bound("waiting for another", "30 s", "store/options.rs", "lock_wait: Duration::from_secs(30)"),
    Bound("a question to a model", "8 KiB", "resolve/candidates.rs", ": 8 KiB with it"),
    Bound("a question to a model", "32 MiB", "resolve/candidates.rs", ": usize = 32 << 20;"),
    Bound(
        "a correction by",
        "40 s, 4 requests",
        "engine/mod.rs",
        "time: Duration::from_secs(40), requests: 4",
    ),
    Bound("a correction by", "1 MiB", "adapters/openai/wire.rs", "body_bytes: 1 << 20"),
];

#[test]
fn each_limit_is_the_one_in_the_code() {
    let page = text_of("docs/limits.md");
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("- ")).collect();
    assert!(rows.len() > 15, "{}", rows.len());
    let is_of = |bound: &Bound, row: &str| row[2..].starts_with(bound.0);
    for Bound(start, number, file, code) in BOUNDS {
        let mut named = rows.iter().filter(|row| row[2..].starts_with(start));
        let row = named.next().unwrap_or_else(|| panic!("docs/limits.md has no row `{start}`"));
        assert!(named.next().is_none(), "docs/limits.md has two rows `{start}`");
        assert!(row.contains(number), "docs/limits.md has another number than {number}: {row}");
        assert!(text_of(&format!("src/{file}")).contains(code), "src/{file} has no `{code}`");
    }
    let without: Vec<&&str> =
        rows.iter().filter(|row| !BOUNDS.iter().any(|bound| is_of(bound, row))).collect();
    assert!(without.is_empty(), "no place in the code is named for {without:#?}");
}
