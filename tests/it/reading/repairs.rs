//! Seed 003's list of corrections, for both line tools: repaired where it is proven and
//! reported, as sent with a warning where it is not.
//!
//! R1 merged lines, R2 indentation, R3 byte order mark and line endings, R4 prefixes and
//! diff markers, R5 echoes of the lines around.

use serde_json::{Value, json};

use super::{Session, anchor, warnings};

/// The same replacement by both tools; both must come to the same text.
async fn replaced(
    path: &str,
    before: &str,
    (start, end): (usize, usize),
    lines: &[&str],
) -> (String, Value) {
    let by_number = Session::new(&[(path, before)]);
    let call = json!({ "path": path, "start_line": start, "end_line": end, "new_content": lines });
    let numbered = by_number.ok("edit_lines", call).await;
    let by_anchor = Session::new(&[(path, before)]);
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

/// A file by its path and text; the lines that are replaced or, where the second number is the
/// smaller one, before which is inserted; the new lines as they are sent, and as they are written;
/// a rewrite or a piece of a warning that says what was done, or nothing where nothing is said.
type Row = (
    (&'static str, &'static str),
    (usize, usize),
    &'static [&'static str],
    &'static [&'static str],
    &'static str,
);

async fn check(rows: &[Row]) {
    for &((path, before), (start, end), sent, written, says) in rows {
        let (text, report) = replaced(path, before, (start, end), sent).await;
        let old: Vec<&str> = before.split_inclusive('\n').collect();
        let new = written.iter().flat_map(|line| [*line, "\n"]);
        let above = old[..start - 1].iter().copied();
        let after: String = above.chain(new).chain(old[end..].iter().copied()).collect();
        assert_eq!(text, after, "{sent:?} {report}");
        let said = format!("{}{}", report["rewrites"], report["warnings"]);
        assert!(said.contains(says), "{sent:?}: {said}");
        if says.is_empty() {
            assert_eq!(said, "[][]", "{sent:?}");
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

#[tokio::test]
async fn seed_003_r1_merged_lines() {
    let merged = "what were 2 lines";
    check(&[
        // Escapes that the language has no place for: the core's proof.
        (
            PY,
            (2, 3),
            &["    a = 3\\n    b = 4"],
            &["    a = 3", "    b = 4"],
            "expand-merged-lines",
        ),
        (
            RS,
            (2, 3),
            &["    let a = 3;\\n    let b = 4;"],
            &["    let a = 3;", "    let b = 4;"],
            "expand-merged-lines",
        ),
        (GO, (2, 3), &["\ta := 3\\n\tb := 4"], &["\ta := 3", "\tb := 4"], "expand-merged-lines"),
        (GO, (2, 3), &["\\ta := 3\\n\\tb := 4"], &["\ta := 3", "\tb := 4"], "expand-merged-lines"),
        // As many lines as were replaced, one of them as it was.
        (YAML, (4, 5), &["    - x\\n    - z"], &["    - x", "    - z"], "expand-merged-lines"),
        (
            ("f", "x = 1;\ny = 2;\nz = 3;\n"),
            (1, 3),
            &["x = 1;\\ny = 5;\\nz = 3;"],
            &["x = 1;", "y = 5;", "z = 3;"],
            "expand-merged-lines",
        ),
        // Nothing proves where a line that is none by its escapes is to be cut.
        (("a.js", "a();\nb();\nc();\n"), (1, 2), &["a(); b();"], &["a(); b();"], merged),
        (("a.js", "x();\ny();\nc();\n"), (1, 2), &["a(); b();"], &["a(); b();"], merged),
        (RS, (2, 3), &["    let a = 1; let b = 2;"], &["    let a = 1; let b = 2;"], merged),
        // One line in the place of two, and escapes that are text.
        (
            ("a.js", "a();\nb();\n"),
            (1, 2),
            &["for (let i = 0; i < n; i++) c();"],
            &["for (let i = 0; i < n; i++) c();"],
            "",
        ),
        (("a.py", "a = 1\nb = 2\n"), (1, 2), &["a = \"x\\ny\""], &["a = \"x\\ny\""], ""),
        (
            RS,
            (2, 3),
            &["    let (a, b) = (\"x;\\ny\", 2);"],
            &["    let (a, b) = (\"x;\\ny\", 2);"],
            "",
        ),
    ])
    .await;
}

#[tokio::test]
async fn seed_003_r2_indentation_is_restored_where_the_file_needs_it() {
    let block = ("f", "def f():\n    a = 1\n    if a:\n        b = 2\n    return b\n\nx = 1\n");
    check(&[
        // At column 0 the next line would be an indentation error.
        (PY, (2, 2), &["a = 2"], &["    a = 2"], "restore-indent"),
        (
            PY,
            (2, 2),
            &["if g():", "    a = 2"],
            &["    if g():", "        a = 2"],
            "restore-indent",
        ),
        (PY, (3, 2), &["c = 7"], &["    c = 7"], "restore-indent"),
        (PY, (2, 2), &["        a = 2"], &["    a = 2"], "restore-indent"),
        // The first line alone has lost it.
        (PY, (2, 3), &["a = 5", "    b = 6"], &["    a = 5", "    b = 6"], "restore-indent"),
        (GO, (2, 3), &["a := 3", "\tb := 4"], &["\ta := 3", "\tb := 4"], "restore-indent"),
        // Between braces white space means nothing.
        (JS, (2, 2), &["console.log(\"b\");"], &["  console.log(\"b\");"], "restore-indent"),
        (RS, (2, 2), &["let a = 3;"], &["    let a = 3;"], "restore-indent"),
        (
            RS,
            (2, 3),
            &["if c {", "    d();", "}"],
            &["    if c {", "        d();", "    }"],
            "restore-indent",
        ),
        (GO, (2, 2), &["a := 3"], &["\ta := 3"], "restore-indent"),
        // Copied lines show the indentation that the others have lost with them.
        (
            YAML,
            (4, 5),
            &["- x", "- z", "- y"],
            &["    - x", "    - z", "    - y"],
            "restore-indent",
        ),
        (
            block,
            (2, 4),
            &["a = 1", "if a:", "    b = 3"],
            &["    a = 1", "    if a:", "        b = 3"],
            "restore-indent",
        ),
        // Where nothing is copied, another depth may be another meaning: as sent, and said.
        (PY, (4, 4), &["print(1)"], &["print(1)"], "column 0"),
        (YAML, (2, 2), &["b: 3"], &["b: 3"], "column 0"),
        (RS, (2, 2), &["#[cfg(x)]", "let a = 3;"], &["#[cfg(x)]", "let a = 3;"], "column 0"),
        (
            ("a.js", "function f() {\n  const t = `\n  a\n  b\n`;\n}\n"),
            (3, 3),
            &["c"],
            &["c"],
            "column 0",
        ),
        // Nothing is known of the language.
        (("a.xyz", "a {\n  b\n  c\n}\n"), (2, 2), &["d"], &["d"], "column 0"),
        (JS, (2, 2), &["  console.log(\"b\");"], &["  console.log(\"b\");"], ""),
    ])
    .await;
}

#[tokio::test]
async fn seed_003_r3_byte_order_mark_and_line_endings_stay() {
    let before = "\u{feff}one\r\ntwo\r\nthree\r\n";
    let session = Session::new(&[("f", before)]);
    let call = json!({ "path": "f", "start_line": 1, "end_line": 2, "new_content": "eins\r\nzwei\r\nmehr" });
    session.ok("edit_lines", call).await;
    assert_eq!(session.text("f"), "\u{feff}eins\r\nzwei\r\nmehr\r\nthree\r\n");
}

#[tokio::test]
async fn seed_003_r4_prefixes_and_diff_markers_are_taken_off() {
    check(&[
        (JS, (2, 2), &["+  console.log(\"x\");"], &["  console.log(\"x\");"], "strip-diff-markers"),
        (
            JS,
            (2, 3),
            &["-  console.log(\"a\");", "+  console.log(\"x\");", "   done();"],
            &["  console.log(\"x\");", "  done();"],
            "strip-diff-markers",
        ),
        (
            RS,
            (2, 3),
            &["+    let a = 3;", "+    let b = 2;"],
            &["    let a = 3;", "    let b = 2;"],
            "strip-diff-markers",
        ),
        (GO, (2, 2), &["+\ta := 3"], &["\ta := 3"], "strip-diff-markers"),
        (
            GO,
            (2, 3),
            &["-\ta := 1", "+\ta := 3", " \tb := 2"],
            &["\ta := 3", "\tb := 2"],
            "strip-diff-markers",
        ),
        (
            ("f", "let a = 1;\nlet b = 2;\nend\n"),
            (1, 2),
            &["-let a = 1;", "+let a = 3;", " let b = 2;"],
            &["let a = 3;", "let b = 2;"],
            "strip-diff-markers",
        ),
        // In YAML `- ` is a list: only a whole diff proves its marks.
        (
            YAML,
            (4, 5),
            &["     - x", "-    - y", "+    - z"],
            &["    - x", "    - z"],
            "strip-diff-markers",
        ),
        (("a.yaml", "- a\n- b\n"), (1, 2), &["- c", "- b"], &["- c", "- b"], ""),
        (PY, (2, 2), &["2#ZZ|    a = 2"], &["    a = 2"], "strip-line-prefixes"),
        (PY, (2, 2), &["<<2>>    a = 2"], &["    a = 2"], "strip-line-prefixes"),
        (
            PY,
            (2, 3),
            &["    2→    a = 2", "    3→    b = 2"],
            &["    a = 2", "    b = 2"],
            "strip-line-prefixes",
        ),
        (
            RS,
            (2, 3),
            &["<<2>>    let a = 3;", "<<3>>    let b = 4;"],
            &["    let a = 3;", "    let b = 4;"],
            "strip-line-prefixes",
        ),
        (
            GO,
            (2, 3),
            &["     2\t\ta := 1", "     3\t\tb := 4"],
            &["\ta := 1", "\tb := 4"],
            "strip-line-prefixes",
        ),
        (YAML, (2, 2), &["2#ZZ|  b: 3"], &["  b: 3"], "strip-line-prefixes"),
        // Not numbers of this place, or not all lines: text.
        (("a.txt", "a\nb\n"), (1, 1), &["7: seven"], &["7: seven"], ""),
        (("a.md", "- a\n- b\n"), (1, 1), &["+ a"], &["+ a"], "diff marker"),
        (("a.txt", "a\nb\nc\n"), (2, 3), &["<<2>>B", "C"], &["<<2>>B", "C"], "written as given"),
    ])
    .await;
}

#[tokio::test]
async fn seed_003_r5_echoes_of_the_lines_around() {
    check(&[
        // A block without a body: `def f():` cannot be meant twice.
        (PY, (2, 2), &["def f():", "    a = 2"], &["    a = 2"], "strip-boundary-echo"),
        (JS, (2, 3), &["  done(1);", "}"], &["  done(1);"], "strip-boundary-echo"),
        (JS, (2, 3), &["function f() {", "  done(1);"], &["  done(1);"], "strip-boundary-echo"),
        (
            JS,
            (2, 3),
            &["function f() {", "  done(1);", "}"],
            &["  done(1);"],
            "strip-boundary-echo",
        ),
        (RS, (2, 4), &["    3", "}"], &["    3"], "strip-boundary-echo"),
        (RS, (2, 4), &["fn f() -> u32 {", "    3", "}"], &["    3"], "strip-boundary-echo"),
        (GO, (2, 4), &["func f() int {", "\treturn 3"], &["\treturn 3"], "strip-boundary-echo"),
        (GO, (3, 3), &["\tb := 3", "\treturn a + b"], &["\tb := 3"], "strip-boundary-echo"),
        // A plain statement may well stand twice, and so may a key: as sent, and said.
        (
            JS,
            (2, 2),
            &["  console.log(\"b\");", "  done();"],
            &["  console.log(\"b\");", "  done();"],
            "both are there now",
        ),
        (
            ("a.xyz", "a {\n  b\n}\n"),
            (2, 2),
            &["a {", "  c"],
            &["a {", "  c"],
            "both are there now",
        ),
        (YAML, (2, 2), &["a:", "  b: 3"], &["a:", "  b: 3"], "both are there now"),
    ])
    .await;
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
