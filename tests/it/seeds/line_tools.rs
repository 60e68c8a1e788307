//! Seed 003: what the line tools put right by themselves, beyond the cases in `reading/repairs.rs`.

use restitch::adapters::syntax::TreeSitter;
use restitch::engine::{Engine, SyntaxMode};
use restitch::store::DiskStore;
use restitch::tools::Toolbox;
use serde_json::{Value, json};

use crate::reading::{Session, anchor, warnings};

/// A session whose edits are parsed.
fn parsed(path: &str, text: &str) -> Session {
    let session = Session::new(&[(path, text)]);
    let store = DiskStore::open(session.dir.path()).expect("store");
    let engine = Engine::builder(store).syntax(TreeSitter::new(), SyntaxMode::Veto).build();
    Session { tools: Toolbox::new(engine), ..session }
}

/// The file after one replacement by line numbers, and the report.
async fn replaced(
    path: &str,
    text: &str,
    (start, end): (usize, usize),
    lines: &[&str],
) -> (String, Value) {
    let session = parsed(path, text);
    let call = json!({ "path": path, "start_line": start, "end_line": end, "new_content": lines });
    let report = session.ok("edit_lines", call).await;
    (session.text(path), report)
}

/// The file after one `append` after a line, and the report.
async fn appended(path: &str, text: &str, line: usize, lines: &[&str]) -> (String, Value) {
    let session = parsed(path, text);
    let edit = json!({ "op": "append", "pos": anchor(text, line), "lines": lines });
    let report = session.hashline(path, json!([edit])).await;
    (session.text(path), report)
}

fn did(report: &Value, rewrite: &str) -> bool {
    report["rewrites"].as_array().is_some_and(|all| all.iter().any(|one| one == rewrite))
}

const TEXT: &str = "first line\nsecond line\nthird line\nfourth line\nfifth line\n";
const PY: &str = "def f():\n    a = 1\n    b = 2\n    return a + b\n\n\nx = f()\n";

#[tokio::test]
async fn seed_003_echo_lines_that_stand_right_below_are_dropped() {
    let new = ["SECOND", "third line", "fourth line"];
    let (text, report) = replaced("a.txt", TEXT, (2, 2), &new).await;
    assert_eq!(text, TEXT.replace("second line", "SECOND"));
    assert!(did(&report, "strip-boundary-echo"), "{report}");
    assert!(warnings(&report).contains("dropped its last 2 line(s)"), "{report}");
    // Above it, and one line that the file has once.
    let (text, report) = replaced("a.txt", TEXT, (3, 3), &["second line", "THIRD"]).await;
    assert_eq!(text, TEXT.replace("third line", "THIRD"));
    assert!(did(&report, "strip-boundary-echo"), "{report}");
}

#[tokio::test]
async fn seed_003_echo_of_the_anchor_of_an_append_is_dropped() {
    let (text, report) =
        appended("a.py", PY, 3, &["    b = 2", "    c = 3", "    return a + b"]).await;
    assert_eq!(text, PY.replace("    b = 2\n", "    b = 2\n    c = 3\n"));
    assert!(did(&report, "strip-boundary-echo"), "{report}");
    let (text, report) = appended("a.txt", TEXT, 2, &["second line", "new"]).await;
    assert_eq!(text, TEXT.replace("second line\n", "second line\nnew\n"));
    assert!(did(&report, "strip-boundary-echo"), "{report}");
}

#[tokio::test]
async fn seed_003_echo_of_one_common_line_stays_and_is_told() {
    let text = "start\n  done();\n  run();\n  done();\nend\n";
    let (after, report) = replaced("a.txt", text, (3, 3), &["  walk();", "  done();"]).await;
    assert_eq!(after, "start\n  done();\n  walk();\n  done();\n  done();\nend\n");
    assert!(warnings(&report).contains("both are there now"), "{report}");
    // An edit that is nothing but a copy is meant: it moves lines.
    let (after, _) = replaced("a.txt", TEXT, (2, 2), &["third line"]).await;
    assert_eq!(after, TEXT.replace("second line", "third line"));
    let (after, _) = appended("a.txt", TEXT, 2, &["second line"]).await;
    assert_eq!(after, TEXT.replace("second line\n", "second line\nsecond line\n"));
}

#[tokio::test]
async fn seed_003_diff_marks_on_every_line_of_an_append_are_dropped() {
    let text = "import os\n\nz = 3\n";
    let (after, report) = appended("a.py", text, 2, &["+x = 1", "+y = 2"]).await;
    assert_eq!(after, "import os\n\nx = 1\ny = 2\nz = 3\n");
    assert!(did(&report, "strip-diff-markers"), "{report}");
    let (after, report) = appended("a.py", PY, 3, &["+    x = 1", "+    y = 2"]).await;
    assert_eq!(after, PY.replace("    b = 2\n", "    b = 2\n    x = 1\n    y = 2\n"));
    assert!(warnings(&report).contains("dropped the diff markers"), "{report}");
    assert_eq!(report["syntax"]["new_errors"], json!([]), "{report}");
    let rust = "fn f() {\n    a();\n}\n";
    let (after, report) = appended("a.rs", rust, 2, &["+    b();", "+", "+    c();"]).await;
    assert_eq!(after, "fn f() {\n    a();\n    b();\n\n    c();\n}\n");
    assert!(did(&report, "strip-diff-markers"), "{report}");
}

#[tokio::test]
async fn seed_003_diff_marks_that_may_be_text_stay() {
    // An operator at the start of a line; a file with such lines; an increment.
    let js = "let a = b\nlet c = 1\n";
    let (after, _) = appended("a.js", js, 1, &["+ d"]).await;
    assert_eq!(after, "let a = b\n+ d\nlet c = 1\n");
    let (after, _) = appended("a.js", js, 2, &["++c"]).await;
    assert_eq!(after, "let a = b\nlet c = 1\n++c\n");
    let sums = "let a = b\n  +c\nlet d = 1\n";
    let (after, _) = appended("a.js", sums, 2, &["+e"]).await;
    assert_eq!(after, "let a = b\n  +c\n+e\nlet d = 1\n");
}

#[tokio::test]
async fn seed_003_prefixes_a_lines_own_anchor_is_never_content() {
    let own = format!("{}|    a = 5", anchor(PY, 2));
    let (text, report) = replaced("a.py", PY, (2, 3), &[&own, "    b = 6"]).await;
    assert_eq!(text, PY.replace("a = 1", "a = 5").replace("b = 2", "b = 6"));
    assert!(did(&report, "strip-line-prefixes"), "{report}");
    let (text, report) = replaced("a.py", PY, (2, 3), &["    a = 5", "2#ZZ|    b = 6"]).await;
    assert!(text.contains("2#ZZ|    b = 6"), "an id of no line is text: {text}");
    assert!(warnings(&report).contains("written as given"), "{report}");
}

#[tokio::test]
async fn seed_003_merged_lines_are_split_around_the_old_lines_in_them() {
    let (text, report) = replaced("a.py", PY, (2, 3), &["    a = 1 b = 3"]).await;
    assert_eq!(text, PY.replace("b = 2", "b = 3"));
    assert!(did(&report, "expand-merged-lines"), "{report}");
    let (text, report) = replaced("a.py", PY, (2, 4), &["    a = 1 b = 7 return a + b"]).await;
    assert_eq!(text, PY.replace("b = 2", "b = 7"));
    assert!(did(&report, "expand-merged-lines"), "{report}");
    let go = "package p\n\nfunc f() {\n\ta := 1\n\tb := 2\n}\n";
    let (text, report) = replaced("a.go", go, (4, 5), &["\ta := 9 b := 2"]).await;
    assert_eq!(text, go.replace("a := 1", "a := 9"));
    assert!(did(&report, "expand-merged-lines"), "{report}");
}

#[tokio::test]
async fn seed_003_merged_lines_that_the_parser_takes_stay_and_are_told() {
    let js = "a();\nb();\nc();\n";
    let (text, report) = replaced("a.js", js, (1, 2), &["a(); d();"]).await;
    assert_eq!(text, "a(); d();\nc();\n");
    assert!(warnings(&report).contains("2 lines"), "{report}");
    // No parser knows this file.
    let (text, report) = replaced("a.txt", TEXT, (2, 3), &["second line THIRD"]).await;
    assert_eq!(text, "first line\nsecond line THIRD\nfourth line\nfifth line\n");
    assert!(warnings(&report).contains("2 lines"), "{report}");
}

#[tokio::test]
async fn seed_003_indentation_that_all_lines_lack_is_that_of_the_old_lines() {
    let text =
        "def f(x):\n    a = 1\n    b = 2\n    c = 3\n    return a + b + c\n\n\nprint(f(1))\n";
    let new = ["total = x", "for part in (1, 2):", "    total += part", "return total"];
    let (after, report) = replaced("a.py", text, (2, 5), &new).await;
    let expected = "def f(x):\n    total = x\n    for part in (1, 2):\n        total += part\n    return total\n\n\nprint(f(1))\n";
    assert_eq!(after, expected);
    assert!(did(&report, "restore-indent"), "{report}");
    let (after, _) =
        replaced("a.py", text, (2, 5), &["k = 1", "l = 2", "m = 3", "return k + l + m"]).await;
    assert_eq!(
        after,
        "def f(x):\n    k = 1\n    l = 2\n    m = 3\n    return k + l + m\n\n\nprint(f(1))\n"
    );
}
