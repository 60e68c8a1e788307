//! Seed 003's list of corrections, for both line tools: repaired where it is proven and
//! reported, as sent with a warning where it is not.
//!
//! R1 merged lines, R2 indentation, R3 byte order mark and line endings, R4 prefixes and
//! diff markers, R5 echoes of the lines around.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Session, anchor, line_edit, warnings, with_anchors};
use crate::rows::rows;

/// The same replacement by both tools; both must come to the same text.
async fn replaced(path: &str, before: &str, row: &Row) -> (String, Value) {
    let (start, end) = row.lines;
    let session = || match row.of {
        Point::Parsed => Session::parsed(path, before),
        _ => Session::new(&[(path, before)]),
    };
    let by_anchor = session();
    let lines = with_anchors(before, &json!(row.sent));
    if row.appended {
        let edit = json!({ "op": "append", "pos": anchor(before, end), "lines": lines });
        let report = by_anchor.hashline(path, json!([edit])).await;
        return (by_anchor.text(path), report);
    }
    let by_number = session();
    let call = json!({ "path": path, "start_line": start, "end_line": end, "new_content": lines });
    let numbered = by_number.ok("edit_lines", call).await;
    let edit = if end < start {
        json!({ "op": "prepend", "pos": anchor(before, start), "lines": lines })
    } else {
        json!({ "op": "replace", "pos": anchor(before, start), "end": anchor(before, end), "lines": lines })
    };
    let anchored = by_anchor.hashline(path, json!([edit])).await;
    assert_eq!(by_number.text(path), by_anchor.text(path), "the tools differ");
    assert_eq!(numbered["rewrites"], anchored["rewrites"]);
    assert_eq!(numbered["warnings"], anchored["warnings"]);
    (by_number.text(path), numbered)
}

/// The point of the seed that a row belongs to.
#[derive(Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Point {
    R1,
    R2,
    R4,
    R5,
    /// What a parser proves besides.
    Parsed,
}

/// An edit by both line tools.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    of: Point,
    #[serde(default)]
    why: String,
    file: File,
    /// The lines that are replaced or, where the second number is the smaller one, before which is
    /// inserted.
    lines: (usize, usize),
    sent: Vec<String>,
    written: Vec<String>,
    /// A rewrite or a piece of a warning; empty where nothing is said.
    says: String,
    /// Whether it is an `append` behind the second line, which only one of the tools has.
    #[serde(default)]
    appended: bool,
}

/// One of the files below by its name, or another by its path and text.
#[derive(Deserialize)]
#[serde(untagged)]
enum File {
    Named(String),
    Own(String, String),
}

async fn check(of: Point) {
    let table: Vec<Row> = rows(include_str!("repairs.jsonl"));
    let table: Vec<&Row> = table.iter().filter(|row| row.of == of).collect();
    assert!(!table.is_empty(), "no row of this point");
    for row in table {
        let (path, before) = match &row.file {
            File::Named(name) => {
                *NAMED.iter().find(|(own, _)| own == name).map(|(_, file)| file).expect("a file")
            }
            File::Own(path, before) => (path.as_str(), before.as_str()),
        };
        let (start, end) = row.lines;
        let (text, report) = replaced(path, before, row).await;
        let old: Vec<&str> = before.split_inclusive('\n').collect();
        let new = row.written.iter().flat_map(|line| [line.as_str(), "\n"]);
        let above = old[..start - 1].iter().copied();
        let after: String = above.chain(new).chain(old[end..].iter().copied()).collect();
        let at = format!("{} {:?}", row.why, row.sent);
        assert_eq!(text, after, "{at} {report}");
        let said = format!("{}{}", report["rewrites"], report["warnings"]);
        assert!(said.contains(&row.says), "{at}: {said}");
        if row.says.is_empty() {
            assert_eq!(said, "[][]", "{at}");
        }
    }
}

const PY: (&str, &str) =
    ("a.py", "def f():\n    a = 1\n    b = 2\n    return a + b\n\n\nx = f()\n");
const JS: (&str, &str) = ("a.js", "function f() {\n  console.log(\"a\");\n  done();\n}\n");
const RS: (&str, &str) =
    ("a.rs", "fn f() -> u32 {\n    let a = 1;\n    let b = 2;\n    a + b\n}\n\nfn g() {}\n");
const GO: (&str, &str) =
    ("a.go", "func f() int {\n\ta := 1\n\tb := 2\n\treturn a + b\n}\n\nfunc g() {}\n");
const YAML: (&str, &str) = ("a.yaml", "a:\n  b: 1\n  c:\n    - x\n    - y\nd: 2\n");
const NAMED: [(&str, (&str, &str)); 5] =
    [("PY", PY), ("JS", JS), ("RS", RS), ("GO", GO), ("YAML", YAML)];

#[tokio::test]
async fn seed_003_r1_merged_lines() {
    check(Point::R1).await;
}

#[tokio::test]
async fn seed_003_r2_indentation_is_restored_where_the_file_needs_it() {
    check(Point::R2).await;
}

#[tokio::test]
async fn seed_003_r3_byte_order_mark_and_line_endings_stay() {
    let before = "\u{feff}one\r\ntwo\r\nthree\r\n";
    let session = Session::new(&[("f", before)]);
    session.ok("edit_lines", line_edit(1, 2, "eins\r\nzwei\r\nmehr")).await;
    assert_eq!(session.text("f"), "\u{feff}eins\r\nzwei\r\nmehr\r\nthree\r\n");
}

#[tokio::test]
async fn seed_003_r4_prefixes_and_diff_markers_are_taken_off() {
    check(Point::R4).await;
}

#[tokio::test]
async fn seed_003_r5_echoes_of_the_lines_around() {
    check(Point::R5).await;
}

#[tokio::test]
async fn seed_003_corrections_where_edits_are_parsed() {
    check(Point::Parsed).await;
}

#[tokio::test]
async fn a_file_that_comes_apart_is_said_and_never_half_mended() {
    let session = Session::new(&[PY]);
    let call =
        json!({ "path": "a.py", "start_line": 2, "end_line": 2, "new_content": "    a = (1" });
    let report = session.ok("edit_lines", call).await;
    assert!(warnings(&report).contains("broke the structure of the file"), "{report}");
    assert!(session.text("a.py").contains("    a = (1\n"));
    // Two edits that are only right together are left alone.
    let session = Session::new(&[JS]);
    let edits = json!([
        { "start_line": 2, "end_line": 2, "new_content": "  if (x) {" },
        { "start_line": 3, "end_line": 3, "new_content": "  }" },
    ]);
    let report = session.ok("edit_lines", json!({ "path": "a.js", "edits": edits })).await;
    assert_eq!(session.text("a.js"), "function f() {\n  if (x) {\n  }\n}\n");
    assert_eq!(report["rewrites"], json!([]));
}
