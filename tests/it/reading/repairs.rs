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

struct Case {
    path: &'static str,
    before: &'static str,
    lines: (usize, usize),
    new: &'static [&'static str],
    after: &'static str,
    /// A rewrite, or a piece of a warning.
    says: &'static str,
}

async fn check(cases: &[Case]) {
    for case in cases {
        let (text, report) = replaced(case.path, case.before, case.lines, case.new).await;
        assert_eq!(text, case.after, "{:?} {report}", case.new);
        let said = format!("{}{}", report["rewrites"], report["warnings"]);
        assert!(said.contains(case.says), "{:?}: {said}", case.new);
        if case.says.is_empty() {
            assert_eq!(said, "[][]", "{:?}", case.new);
        }
    }
}

const PY: &str = "def f():\n    a = 1\n    b = 2\n    return a + b\n\n\nx = f()\n";
const JS: &str = "function f() {\n  console.log(\"a\");\n  done();\n}\n";

#[tokio::test]
async fn seed_003_r1_merged_lines() {
    check(&[
        // Escapes that the language has no place for: the core's proof.
        Case {
            path: "a.py",
            before: PY,
            lines: (2, 3),
            new: &["    a = 3\\n    b = 4"],
            after: "def f():\n    a = 3\n    b = 4\n    return a + b\n\n\nx = f()\n",
            says: "expand-merged-lines",
        },
        Case {
            path: "a.js",
            before: "a();\nb();\nc();\n",
            lines: (1, 2),
            new: &["a(); b();"],
            after: "a(); b();\nc();\n",
            says: "what were 2 lines",
        },
        Case {
            path: "a.js",
            before: "x();\ny();\nc();\n",
            lines: (1, 2),
            new: &["a(); b();"],
            after: "a(); b();\nc();\n",
            says: "what were 2 lines",
        },
        Case {
            path: "a.js",
            before: "a();\nb();\n",
            lines: (1, 2),
            new: &["for (let i = 0; i < n; i++) c();"],
            after: "for (let i = 0; i < n; i++) c();\n",
            says: "",
        },
        Case {
            path: "a.py",
            before: "a = 1\nb = 2\n",
            lines: (1, 2),
            new: &["a = \"x\\ny\""],
            after: "a = \"x\\ny\"\n",
            says: "",
        },
    ])
    .await;
}

#[tokio::test]
async fn seed_003_r2_indentation_is_restored_where_the_file_needs_it() {
    check(&[
        // At column 0 the next line would be an indentation error.
        Case { path: "a.py", before: PY, lines: (2, 2), new: &["a = 2"], after: "def f():\n    a = 2\n    b = 2\n    return a + b\n\n\nx = f()\n", says: "restore-indent" },
        Case { path: "a.py", before: PY, lines: (2, 2), new: &["if g():", "    a = 2"], after: "def f():\n    if g():\n        a = 2\n    b = 2\n    return a + b\n\n\nx = f()\n", says: "restore-indent" },
        // The first line alone has lost it.
        Case { path: "a.py", before: PY, lines: (2, 3), new: &["a = 5", "    b = 6"], after: "def f():\n    a = 5\n    b = 6\n    return a + b\n\n\nx = f()\n", says: "restore-indent" },
        Case { path: "a.py", before: PY, lines: (3, 2), new: &["c = 7"], after: "def f():\n    a = 1\n    c = 7\n    b = 2\n    return a + b\n\n\nx = f()\n", says: "restore-indent" },
        Case { path: "a.py", before: PY, lines: (2, 2), new: &["        a = 2"], after: "def f():\n    a = 2\n    b = 2\n    return a + b\n\n\nx = f()\n", says: "restore-indent" },
        // The last line of a block may be meant to stand at the margin: as sent, and said.
        Case { path: "a.py", before: PY, lines: (4, 4), new: &["print(1)"], after: "def f():\n    a = 1\n    b = 2\nprint(1)\n\n\nx = f()\n", says: "column 0" },
        // Between braces white space means nothing.
        Case { path: "a.js", before: JS, lines: (2, 2), new: &["console.log(\"b\");"], after: "function f() {\n  console.log(\"b\");\n  done();\n}\n", says: "restore-indent" },
        Case { path: "a.js", before: JS, lines: (2, 2), new: &["  console.log(\"b\");"], after: "function f() {\n  console.log(\"b\");\n  done();\n}\n", says: "" },
        Case { path: "a.js", before: "function f() {\n  const t = `\n  a\n  b\n`;\n}\n", lines: (3, 3), new: &["c"], after: "function f() {\n  const t = `\nc\n  b\n`;\n}\n", says: "column 0" },
        // Nothing is known of the language.
        Case { path: "a.xyz", before: "a {\n  b\n  c\n}\n", lines: (2, 2), new: &["d"], after: "a {\nd\n  c\n}\n", says: "column 0" },
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
        Case {
            path: "a.js",
            before: JS,
            lines: (2, 2),
            new: &["+  console.log(\"x\");"],
            after: "function f() {\n  console.log(\"x\");\n  done();\n}\n",
            says: "strip-diff-markers",
        },
        Case {
            path: "a.js",
            before: JS,
            lines: (2, 3),
            new: &["-  console.log(\"a\");", "+  console.log(\"x\");", "   done();"],
            after: "function f() {\n  console.log(\"x\");\n  done();\n}\n",
            says: "strip-diff-markers",
        },
        Case {
            path: "a.py",
            before: PY,
            lines: (2, 2),
            new: &["2#ZZ|    a = 2"],
            after: "def f():\n    a = 2\n    b = 2\n    return a + b\n\n\nx = f()\n",
            says: "strip-line-prefixes",
        },
        Case {
            path: "a.py",
            before: PY,
            lines: (2, 2),
            new: &["<<2>>    a = 2"],
            after: "def f():\n    a = 2\n    b = 2\n    return a + b\n\n\nx = f()\n",
            says: "strip-line-prefixes",
        },
        Case {
            path: "a.py",
            before: PY,
            lines: (2, 3),
            new: &["    2→    a = 2", "    3→    b = 2"],
            after: "def f():\n    a = 2\n    b = 2\n    return a + b\n\n\nx = f()\n",
            says: "strip-line-prefixes",
        },
        // Not numbers of this place, or not all lines: text.
        Case {
            path: "a.txt",
            before: "a\nb\n",
            lines: (1, 1),
            new: &["7: seven"],
            after: "7: seven\nb\n",
            says: "",
        },
        Case {
            path: "a.txt",
            before: "a\nb\n",
            lines: (1, 1),
            new: &["+1 555 0100"],
            after: "+1 555 0100\nb\n",
            says: "diff marker",
        },
        Case {
            path: "a.md",
            before: "- a\n- b\n",
            lines: (1, 1),
            new: &["+ a"],
            after: "+ a\n- b\n",
            says: "diff marker",
        },
        Case {
            path: "a.txt",
            before: "a\nb\nc\n",
            lines: (2, 3),
            new: &["<<2>>B", "C"],
            after: "a\n<<2>>B\nC\n",
            says: "written as given",
        },
    ])
    .await;
}

#[tokio::test]
async fn seed_003_r5_echoes_of_the_lines_around() {
    check(&[
        // A block without a body: `def f():` cannot be meant twice.
        Case {
            path: "a.py",
            before: PY,
            lines: (2, 2),
            new: &["def f():", "    a = 2"],
            after: "def f():\n    a = 2\n    b = 2\n    return a + b\n\n\nx = f()\n",
            says: "strip-boundary-echo",
        },
        Case {
            path: "a.js",
            before: JS,
            lines: (2, 3),
            new: &["  done(1);", "}"],
            after: "function f() {\n  done(1);\n}\n",
            says: "strip-boundary-echo",
        },
        Case {
            path: "a.js",
            before: JS,
            lines: (2, 3),
            new: &["function f() {", "  done(1);"],
            after: "function f() {\n  done(1);\n}\n",
            says: "strip-boundary-echo",
        },
        Case {
            path: "a.js",
            before: JS,
            lines: (2, 3),
            new: &["function f() {", "  done(1);", "}"],
            after: "function f() {\n  done(1);\n}\n",
            says: "strip-boundary-echo",
        },
        // A plain statement may well stand twice.
        Case {
            path: "a.js",
            before: JS,
            lines: (2, 2),
            new: &["  console.log(\"b\");", "  done();"],
            after: "function f() {\n  console.log(\"b\");\n  done();\n  done();\n}\n",
            says: "both are there now",
        },
        Case {
            path: "a.xyz",
            before: "a {\n  b\n}\n",
            lines: (2, 2),
            new: &["a {", "  c"],
            after: "a {\na {\n  c\n}\n",
            says: "both are there now",
        },
    ])
    .await;
}

const RS: &str = "fn f() -> u32 {\n    let a = 1;\n    let b = 2;\n    a + b\n}\n\nfn g() {}\n";
const GO: &str = "func f() int {\n\ta := 1\n\tb := 2\n\treturn a + b\n}\n\nfunc g() {}\n";
const YAML: &str = "a:\n  b: 1\n  c:\n    - x\n    - y\nd: 2\n";

#[tokio::test]
async fn seed_003_r1_merged_lines_in_other_languages() {
    check(&[
        Case {
            path: "a.rs",
            before: RS,
            lines: (2, 3),
            new: &["    let a = 3;\\n    let b = 4;"],
            after: "fn f() -> u32 {\n    let a = 3;\n    let b = 4;\n    a + b\n}\n\nfn g() {}\n",
            says: "expand-merged-lines",
        },
        Case {
            path: "a.rs",
            before: RS,
            lines: (2, 3),
            new: &["    let a = 1; let b = 2;"],
            after: "fn f() -> u32 {\n    let a = 1; let b = 2;\n    a + b\n}\n\nfn g() {}\n",
            says: "what were 2 lines",
        },
        Case {
            path: "a.rs",
            before: RS,
            lines: (2, 3),
            new: &["    let (a, b) = (\"x;\\ny\", 2);"],
            after: "fn f() -> u32 {\n    let (a, b) = (\"x;\\ny\", 2);\n    a + b\n}\n\nfn g() {}\n",
            says: "",
        },
        Case {
            path: "a.go",
            before: GO,
            lines: (2, 3),
            new: &["\ta := 3\\n\tb := 4"],
            after: "func f() int {\n\ta := 3\n\tb := 4\n\treturn a + b\n}\n\nfunc g() {}\n",
            says: "expand-merged-lines",
        },
        Case {
            path: "a.go",
            before: GO,
            lines: (2, 3),
            new: &["\\ta := 3\\n\\tb := 4"],
            after: "func f() int {\n\ta := 3\n\tb := 4\n\treturn a + b\n}\n\nfunc g() {}\n",
            says: "expand-merged-lines",
        },
        // As many lines as were replaced, one of them as it was.
        Case {
            path: "a.yaml",
            before: YAML,
            lines: (4, 5),
            new: &["    - x\\n    - z"],
            after: "a:\n  b: 1\n  c:\n    - x\n    - z\nd: 2\n",
            says: "expand-merged-lines",
        },
    ])
    .await;
}

#[tokio::test]
async fn seed_003_r2_indentation_in_other_languages() {
    check(&[
        Case {
            path: "a.rs",
            before: RS,
            lines: (2, 2),
            new: &["let a = 3;"],
            after: "fn f() -> u32 {\n    let a = 3;\n    let b = 2;\n    a + b\n}\n\nfn g() {}\n",
            says: "restore-indent",
        },
        Case {
            path: "a.rs",
            before: RS,
            lines: (2, 3),
            new: &["if c {", "    d();", "}"],
            after: "fn f() -> u32 {\n    if c {\n        d();\n    }\n    a + b\n}\n\nfn g() {}\n",
            says: "restore-indent",
        },
        // The first line alone has lost it.
        Case {
            path: "a.go",
            before: GO,
            lines: (2, 3),
            new: &["a := 3", "\tb := 4"],
            after: "func f() int {\n\ta := 3\n\tb := 4\n\treturn a + b\n}\n\nfunc g() {}\n",
            says: "restore-indent",
        },
        Case {
            path: "a.go",
            before: GO,
            lines: (2, 2),
            new: &["a := 3"],
            after: "func f() int {\n\ta := 3\n\tb := 2\n\treturn a + b\n}\n\nfunc g() {}\n",
            says: "restore-indent",
        },
        // Copied lines show the indentation that the others have lost with them.
        Case {
            path: "a.yaml",
            before: YAML,
            lines: (4, 5),
            new: &["- x", "- z", "- y"],
            after: "a:\n  b: 1\n  c:\n    - x\n    - z\n    - y\nd: 2\n",
            says: "restore-indent",
        },
        // Where nothing is copied, another depth is another meaning: as sent, and said.
        Case {
            path: "a.yaml",
            before: YAML,
            lines: (2, 2),
            new: &["b: 3"],
            after: "a:\nb: 3\n  c:\n    - x\n    - y\nd: 2\n",
            says: "column 0",
        },
        Case {
            path: "a.rs",
            before: RS,
            lines: (2, 2),
            new: &["#[cfg(x)]", "let a = 3;"],
            after: "fn f() -> u32 {\n#[cfg(x)]\nlet a = 3;\n    let b = 2;\n    a + b\n}\n\nfn g() {}\n",
            says: "column 0",
        },
    ])
    .await;
}

#[tokio::test]
async fn seed_003_r4_prefixes_and_diff_markers_in_other_languages() {
    check(&[
        Case {
            path: "a.rs",
            before: RS,
            lines: (2, 3),
            new: &["+    let a = 3;", "+    let b = 2;"],
            after: "fn f() -> u32 {\n    let a = 3;\n    let b = 2;\n    a + b\n}\n\nfn g() {}\n",
            says: "strip-diff-markers",
        },
        Case {
            path: "a.rs",
            before: RS,
            lines: (2, 3),
            new: &["<<2>>    let a = 3;", "<<3>>    let b = 4;"],
            after: "fn f() -> u32 {\n    let a = 3;\n    let b = 4;\n    a + b\n}\n\nfn g() {}\n",
            says: "strip-line-prefixes",
        },
        Case {
            path: "a.go",
            before: GO,
            lines: (2, 2),
            new: &["+\ta := 3"],
            after: "func f() int {\n\ta := 3\n\tb := 2\n\treturn a + b\n}\n\nfunc g() {}\n",
            says: "strip-diff-markers",
        },
        Case {
            path: "a.go",
            before: GO,
            lines: (2, 3),
            new: &["-\ta := 1", "+\ta := 3", " \tb := 2"],
            after: "func f() int {\n\ta := 3\n\tb := 2\n\treturn a + b\n}\n\nfunc g() {}\n",
            says: "strip-diff-markers",
        },
        Case {
            path: "a.go",
            before: GO,
            lines: (2, 3),
            new: &["     2\t\ta := 1", "     3\t\tb := 4"],
            after: "func f() int {\n\ta := 1\n\tb := 4\n\treturn a + b\n}\n\nfunc g() {}\n",
            says: "strip-line-prefixes",
        },
        Case {
            path: "a.yaml",
            before: YAML,
            lines: (2, 2),
            new: &["2#ZZ|  b: 3"],
            after: "a:\n  b: 3\n  c:\n    - x\n    - y\nd: 2\n",
            says: "strip-line-prefixes",
        },
        // In YAML `- ` is a list: only a whole diff proves its marks.
        Case {
            path: "a.yaml",
            before: YAML,
            lines: (4, 5),
            new: &["     - x", "-    - y", "+    - z"],
            after: "a:\n  b: 1\n  c:\n    - x\n    - z\nd: 2\n",
            says: "strip-diff-markers",
        },
        Case {
            path: "a.yaml",
            before: "- a\n- b\n",
            lines: (1, 2),
            new: &["- c", "- b"],
            after: "- c\n- b\n",
            says: "",
        },
    ])
    .await;
}

#[tokio::test]
async fn seed_003_r5_echoes_in_other_languages() {
    check(&[
        Case {
            path: "a.rs",
            before: RS,
            lines: (2, 4),
            new: &["    3", "}"],
            after: "fn f() -> u32 {\n    3\n}\n\nfn g() {}\n",
            says: "strip-boundary-echo",
        },
        Case {
            path: "a.rs",
            before: RS,
            lines: (2, 4),
            new: &["fn f() -> u32 {", "    3", "}"],
            after: "fn f() -> u32 {\n    3\n}\n\nfn g() {}\n",
            says: "strip-boundary-echo",
        },
        Case {
            path: "a.go",
            before: GO,
            lines: (2, 4),
            new: &["func f() int {", "\treturn 3"],
            after: "func f() int {\n\treturn 3\n}\n\nfunc g() {}\n",
            says: "strip-boundary-echo",
        },
        Case {
            path: "a.go",
            before: GO,
            lines: (3, 3),
            new: &["\tb := 3", "\treturn a + b"],
            after: "func f() int {\n\ta := 1\n\tb := 3\n\treturn a + b\n}\n\nfunc g() {}\n",
            says: "strip-boundary-echo",
        },
        // Nothing proves that a key is not meant twice: as sent, and said.
        Case {
            path: "a.yaml",
            before: YAML,
            lines: (2, 2),
            new: &["a:", "  b: 3"],
            after: "a:\na:\n  b: 3\n  c:\n    - x\n    - y\nd: 2\n",
            says: "both are there now",
        },
    ])
    .await;
}

#[tokio::test]
async fn a_file_that_comes_apart_is_said_and_never_half_mended() {
    let session = Session::new(&[("a.py", PY)]);
    let call =
        json!({ "path": "a.py", "start_line": 2, "end_line": 2, "new_content": "    a = (1" });
    let report = session.ok("edit_lines", call).await;
    assert!(warnings(&report).contains("broke the structure of the file"), "{report}");
    assert!(session.text("a.py").contains("    a = (1\n"));
    // Two edits that are only right together are left alone.
    let session = Session::new(&[("a.js", JS)]);
    let edits = json!([
        { "start_line": 2, "end_line": 2, "new_content": "  if (x) {" },
        { "start_line": 3, "end_line": 3, "new_content": "  }" },
    ]);
    let report = session.ok("edit_lines", json!({ "path": "a.js", "edits": edits })).await;
    assert_eq!(session.text("a.js"), "function f() {\n  if (x) {\n  }\n}\n");
    assert_eq!(report["rewrites"], json!([]));
}
