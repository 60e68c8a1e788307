//! What once was written wrongly, or refused though it was right, each in two languages: a right
//! answer, which is written as given, and wrong ones, which are not.

use super::*;
use restitch::port::Location;

#[derive(Clone, Copy)]
struct Finding {
    path: &'static str,
    file: &'static str,
    old: &'static str,
    new: &'static str,
    /// The lines that the answer names.
    lines: (usize, usize),
    right: &'static str,
    wrong: &'static [&'static str],
}

impl Finding {
    /// The file after an answer that gives this text for the lines.
    fn written(&self, text: &str) -> Option<String> {
        let (start_line, end_line) = self.lines;
        let place = Some(Location { window: 1, start_line, end_line });
        let request = EditRequest::new(self.old, self.new);
        let (step, asked) = play(start_in(self.path, &request, self.file), |ask| match ask {
            Ask::CorrectOld { .. } => {
                Reply::WithNew { text: String::new(), place, new: text.into() }
            }
            _ => Reply::Text(text.into()),
        });
        assert!(!asked.is_empty() && asked.len() <= 2, "{}: {asked:?} {step:?}", self.path);
        result(&step, self.file)
    }

    /// The file with this text in the place of the lines.
    fn with(&self, text: &str) -> String {
        let lines: Vec<&str> = self.file.split_inclusive('\n').collect();
        let (first, last) = (self.lines.0 - 1, self.lines.1);
        let ending = if text.is_empty() { "" } else { "\n" };
        let text = format!("{text}{ending}");
        let text = if self.file.contains('\r') { text.replace('\n', "\r\n") } else { text };
        format!("{}{text}{}", lines[..first].concat(), lines[last..].concat())
    }
}

fn check(findings: &[Finding]) {
    for finding in findings {
        let path = finding.path;
        assert_eq!(finding.written(finding.right), Some(finding.with(finding.right)), "{path}");
        for wrong in finding.wrong {
            assert_eq!(finding.written(wrong), None, "{path}: {wrong}");
        }
    }
}

#[test]
fn a_stale_name_in_a_new_line() {
    check(&[
        Finding {
            path: "a.rs",
            file: "fn f(xs: &[u32]) -> u32 {\n    let total = add(xs);\n    total\n}\n",
            old: "    let sum = add(xs);\n    sum\n",
            new: "    let sum = add(xs);\n    log(sum);\n    sum\n",
            lines: (2, 3),
            right: "    let total = add(xs);\n    log(total);\n    total",
            wrong: &[
                "    let total = add(xs);\n    log(sum);\n    total",
                "    let sum = add(xs);\n    log(sum);\n    sum",
            ],
        },
        Finding {
            path: "a.py",
            file: "def f(rows):\n    people = load(rows)\n    return people\n",
            old: "    users = load(rows)\n    return users\n",
            new: "    users = load(rows)\n    check(users)\n    return users\n",
            lines: (2, 3),
            right: "    people = load(rows)\n    check(people)\n    return people",
            wrong: &["    people = load(rows)\n    check(users)\n    return people"],
        },
    ]);
}

#[test]
fn a_stale_name_that_a_method_a_label_or_a_comment_has_too() {
    check(&[
        Finding {
            path: "a.rs",
            file: "fn f(xs: &[u32]) -> u32 {\n    // The sum of all.\n    let total = xs.iter().sum();\n    keep(S { sum: total });\n    total\n}\n",
            old: "    let sum = xs.iter().sum();\n    keep(S { sum });\n    sum\n",
            new: "    let sum = xs.iter().sum();\n    log(sum);\n    keep(S { sum });\n    sum\n",
            lines: (3, 5),
            right: "    let total = xs.iter().sum();\n    log(total);\n    keep(S { sum: total });\n    total",
            wrong: &[
                "    let total = xs.iter().sum();\n    log(sum);\n    keep(S { sum: total });\n    total",
            ],
        },
        Finding {
            path: "a.py",
            file: "def f(rows):\n    people = rows.users(1)\n    keep(users=people)\n    return people\n",
            old: "    users = rows.users(1)\n    keep(users=users)\n    return users\n",
            new: "    users = rows.users(1)\n    check(users)\n    keep(users=users)\n    return users\n",
            lines: (2, 4),
            right: "    people = rows.users(1)\n    check(people)\n    keep(users=people)\n    return people",
            wrong: &[
                "    people = rows.users(1)\n    check(users)\n    keep(users=people)\n    return people",
            ],
        },
    ]);
}

#[test]
fn a_text_one_line_too_low_that_begins_with_a_blank_line() {
    check(&[
        Finding {
            path: "a.md",
            file: "# Title\n\nOne line, new.\nTwo.\nThree.\n\nEnd.\n",
            old: "\nOne line, old.\nTwo.\nThree.\n",
            new: "\nOne line, old.\nTwo.\nThree, mine.\n",
            lines: (3, 6),
            right: "One line, new.\nTwo.\nThree, mine.\n",
            wrong: &["\nOne line, new.\nTwo.\nThree, mine."],
        },
        Finding {
            path: "a.py",
            file: "import os\n\ndef f(a):\n    g(a, 2)\n    return a\n\nx = 1\n",
            old: "\ndef f(a):\n    g(a, 1)\n    return a\n",
            new: "\ndef f(a):\n    g(a, 1)\n    return a + 1\n",
            lines: (3, 6),
            right: "def f(a):\n    g(a, 2)\n    return a + 1\n",
            wrong: &["\ndef f(a):\n    g(a, 2)\n    return a + 1"],
        },
    ]);
}

#[test]
fn comments_in_another_language_beside_the_place() {
    let shell = Finding {
        path: "a.sh",
        file: "# 4. Baue\nmake all\n\n# 5. Kopiere die Dateien\necho \"Kopiere ...\"\ncp -r out/site dist/site\n\n# 6. Lade hoch\nupload dist/site\n",
        old: "# 5. Copy the files\necho \"Copying ...\"\ncp -r out/site dist/site\n\n# 6. Upload\n",
        new: "# 5. Copy the files\necho \"Copying ...\"\ncp -r out/site dist/site\n\n# 5b. Without maps\nrm dist/site/main.map\n\n# 6. Upload\n",
        lines: (6, 6),
        right: "cp -r out/site dist/site\n\n# 5b. Without maps\nrm dist/site/main.map",
        wrong: &["cp -r out/site dist/site\n\n# 5b. Without maps\nrm dist/site/other.map"],
    };
    let python = Finding {
        path: "a.py",
        file: "import loss\n\n# Lade die Daten\nrows = load_rows(\"a.csv\", header=True)\n\n# Rechne\ntotal = add(rows)\n\n# Ende\nexit(total)\n",
        old: "# Load the data\nrows = load_rows(\"a.csv\", header=True)\n\n# Compute\n",
        new: "# Load the data\nrows = load_rows(\"a.csv\", header=True)\ncheck(rows)\n\n# Compute\n",
        lines: (4, 4),
        right: "rows = load_rows(\"a.csv\", header=True)\ncheck(rows)",
        wrong: &["check(rows)\nrows = load_rows(\"a.csv\", header=True)", "check(rows)"],
    };
    // The same lines beside a line near the place.
    for (lines, text) in [
        ((7, 7), "total = add(rows)\ncheck(rows)"),
        ((10, 10), "exit(total)\ncheck(rows)"),
        ((1, 1), "import loss\ncheck(rows)"),
    ] {
        let elsewhere = Finding { lines, ..python };
        assert_eq!(elsewhere.written(text), None, "{text}");
    }
    check(&[shell, python]);
}

#[test]
fn a_line_that_is_quoted_in_two_forms() {
    check(&[
        Finding {
            path: "a.py",
            file: "def f(rows):\n    size = len(rows)\n    wanted = stack(rows, 1).reshape(size)\n    print(wanted)\n",
            old: "    wanted = stack(rows, -1)\n    size = len(rows)\n    wanted = stack(rows, 1).reshape(size)\n    print(wanted)\n",
            new: "    wanted = stack(rows, 1)  # both\n    print(wanted)\n",
            lines: (2, 3),
            right: "    wanted = stack(rows, 1)  # both",
            wrong: &["    size = len(rows)\n    wanted = stack(rows, 1)  # both"],
        },
        Finding {
            path: "a.go",
            file: "func f(a int) int {\n\tb := a * 2\n\tc := add(b, a, 1)\n\treturn c\n}\n",
            old: "\tc := add(b, a)\n\tb := a * 2\n\tc := add(b, a, 1)\n\treturn c\n",
            new: "\tc := add(a, 1)\n\treturn c\n",
            lines: (2, 3),
            right: "\tc := add(a, 1)",
            wrong: &["\tb := a * 2\n\tc := add(a, 1)"],
        },
    ]);
    // A line that the file no longer has does not come back.
    for (path, file, old, new, text) in [
        (
            "a.js",
            "a();\nb();\n",
            "a();\nx = 1;\nb();\n",
            "a();\nx = 2;\nb();\n",
            "a();\nx = 2;\nb();",
        ),
        ("a.py", "a()\nb()\n", "a()\nx = 1\nb()\n", "a()\nx = 2\nb()\n", "a()\nx = 2\nb()"),
    ] {
        let finding = Finding { path, file, old, new, lines: (1, 2), right: "", wrong: &[] };
        assert_eq!(finding.written(text), None, "{path}");
    }
}

#[test]
fn lines_that_stand_behind_marks() {
    check(&[
        Finding {
            path: "a.md",
            file: "+------------+\n| - the first |\n| - the other |\n| - the last  |\n+------------+\n",
            old: " - the first |\n - the other |\n - the last  |\n",
            new: " - the first |\n - the other |\n - the last  |\n - one more  |\n",
            lines: (4, 4),
            right: "| - the last  |\n| - one more  |",
            wrong: &["| - the last  |\n - one more  |", "| - the last  |\n|| - one more  |"],
        },
        Finding {
            path: "a.py",
            file: "def f(a):\n    # b = a + 1\n    # c = b * 2\n    return a\n",
            old: "b = a + 1\nc = b * 2\nd = 3\n",
            new: "b = a + 1\nlog(b)\nc = b * 2\nd = 3\n",
            lines: (2, 3),
            right: "    # b = a + 1\n    # log(b)\n    # c = b * 2",
            wrong: &["    # b = a + 1\n    log(b)\n    # c = b * 2"],
        },
    ]);
}

#[test]
fn white_space_in_literals() {
    check(&[
        Finding {
            path: "a.js",
            file: "const flags = g(\"-a\", y);\nconst gap = /a  b/;\n",
            old: "const flags = g(\"-a\", x);\nconst gap = /a  b/;\n",
            new: "const flags = g(\"-a\", x, 1);\nconst gap = /a  b/;\n",
            lines: (1, 2),
            right: "const flags = g(\"-a\", y, 1);\nconst gap = /a  b/;",
            wrong: &[
                "const flags = g(\"- a\", y, 1);\nconst gap = /a  b/;",
                "const flags = g(\"-a\", y, 1);\nconst gap = /a b/;",
            ],
        },
        Finding {
            path: "a.py",
            file: "run(\"a  b\", y)\nrun('-x', y)\n",
            old: "run(\"a  b\", x)\nrun('-x', x)\n",
            new: "run(\"a  b\", x, 1)\nrun('-x', x, 1)\n",
            lines: (1, 2),
            right: "run(\"a  b\", y, 1)\nrun('-x', y, 1)",
            wrong: &[
                "run(\"a b\", y, 1)\nrun('-x', y, 1)",
                "run(\"a  b\", y, 1)\nrun('- x', y, 1)",
            ],
        },
    ]);
}

#[test]
fn an_overruled_answer() {
    check(&[
        Finding {
            path: "a.ts",
            file: "function f(a, b) {\n  const total = a + b;\n  return total;\n}\n",
            old: "  const sum = a + b;\n  return sum;\n",
            new: "  const sum = a + b + 1;\n  return sum;\n",
            lines: (2, 3),
            right: "  const total = a + b + 1;\n  return total;",
            wrong: &["  const total = a + b + 1;\n  return sum;"],
        },
        Finding {
            path: "a.go",
            file: "func f(a, b int) int {\n\ttotal := a + b\n\treturn total\n}\n",
            old: "\tsum := a + b\n\treturn sum\n",
            new: "\tsum := a + b + 1\n\treturn sum\n",
            lines: (2, 3),
            right: "\ttotal := a + b + 1\n\treturn total",
            wrong: &["\ttotal := a + b + 1\n\treturn sum"],
        },
    ]);
}

#[test]
fn crlf() {
    check(&[
        Finding {
            path: "a.css",
            file: ".a {\r\n  color: blue;\r\n  margin: 0;\r\n}\r\n",
            old: "  color: red;\n  margin: 0;\n",
            new: "  color: red;\n  padding: 1px;\n  margin: 0;\n",
            lines: (2, 3),
            right: "  color: blue;\n  padding: 1px;\n  margin: 0;",
            wrong: &["  color: red;\n  padding: 1px;\n  margin: 0;"],
        },
        Finding {
            path: "a.py",
            file: "a = load(1)\r\nb = 2\r\nc = 3\r\n",
            old: "a = read(1)\nb = 2\n",
            new: "a = read(1)\nnew = 5\nb = 2\n",
            lines: (1, 2),
            right: "a = load(1)\nnew = 5\nb = 2",
            wrong: &["a = load(1)\nnew = 5"],
        },
    ]);
}

#[test]
fn deletion_of_a_line_and_of_a_function() {
    check(&[
        Finding {
            path: "a.java",
            file: "void f() {\n    open(2);\n    log(\"b\");\n    close();\n}\n",
            old: "    open(1);\n    log(\"b\");\n    close();\n",
            new: "    open(1);\n    close();\n",
            lines: (2, 4),
            right: "    open(2);\n    close();",
            wrong: &["    open(1);\n    close();", "    close();", ""],
        },
        Finding {
            path: "a.rb",
            file: "def old(a)\n  work(a, 2)\n  done(a)\nend\n\ndef kept\n  1\nend\n",
            old: "def old(a)\n  work(a, 1)\n  done(a)\nend\n",
            new: "",
            lines: (1, 4),
            right: "",
            wrong: &["def old(a)\nend"],
        },
        Finding {
            path: "a.go",
            file: "func old() {\n\twork(2)\n\tdone()\n}\n\nfunc kept() {}\n",
            old: "func old() {\n\twork(1)\n\tdone()\n}\n",
            new: "",
            lines: (1, 4),
            right: "",
            wrong: &["func old() {}"],
        },
    ]);
}

#[test]
fn versions_and_dates_are_replaced_whole() {
    check(&[
        Finding {
            path: "Cargo.toml",
            file: "[package]\nname = \"a\"\nversion = \"1.4.2\"\nedition = \"2024\"\n",
            old: "name = \"a\"\nversion = \"1.4.0\"\n",
            new: "name = \"a\"\nversion = \"1.5.0\"\n",
            lines: (3, 3),
            right: "version = \"1.5.0\"",
            wrong: &["version = \"1.5.2\"", "version = \"1.4.0\""],
        },
        Finding {
            path: "NOTES.md",
            file: "# Notes\n\nLast read on 2026-11-25, all of it.\n",
            old: "# Notes\n\nLast read on 2026-11-20, all of it.\n",
            new: "# Notes\n\nLast read on 2026-12-01, all of it.\n",
            lines: (3, 3),
            right: "Last read on 2026-12-01, all of it.",
            wrong: &["Last read on 2026-12-25, all of it.", "Last read on 2026-11-20, all of it."],
        },
    ]);
}

#[test]
fn a_moved_function() {
    check(&[
        Finding {
            path: "a.rs",
            file: "fn first() {\n    one();\n}\n\nfn area_of(w: u32, h: u32) -> u32 {\n    check(w);\n    check(h);\n    w * h\n}\n",
            old: "fn area(w: u32, h: u32) -> u32 {\n    check(w);\n    check(h);\n    w * h\n}\n\nfn first() {\n",
            new: "fn area(w: u32, h: u32) -> u32 {\n    check(w);\n    check(h);\n    w * h + 1\n}\n\nfn first() {\n",
            lines: (5, 9),
            right: "fn area_of(w: u32, h: u32) -> u32 {\n    check(w);\n    check(h);\n    w * h + 1\n}",
            wrong: &[
                "fn area(w: u32, h: u32) -> u32 {\n    check(w);\n    check(h);\n    w * h + 1\n}",
            ],
        },
        Finding {
            path: "a.py",
            file: "def first():\n    one()\n\n\ndef area_of(w, h):\n    check(w)\n    check(h)\n    return w * h\n",
            old: "def area(w, h):\n    check(w)\n    check(h)\n    return w * h\n",
            new: "def area(w, h):\n    check(w)\n    check(h)\n    return w * h + 1\n",
            lines: (5, 8),
            right: "def area_of(w, h):\n    check(w)\n    check(h)\n    return w * h + 1",
            wrong: &["def area_of(w, h):\n    check(h)\n    return w * h + 1"],
        },
    ]);
}

#[test]
fn a_sibling_of_a_deleted_target_is_not_the_place() {
    let sibling = |path, file: &'static str, old: &'static str, new: &'static str, text| {
        let lines = (1, file.lines().count());
        let finding = Finding { path, file, old, new, lines, right: "", wrong: &[] };
        assert_eq!(finding.written(text), None, "{path}: {text}");
    };
    sibling(
        "a.go",
        "func writeLimit() int {\n\treturn get(\"write\")\n}\n",
        "func readLimit() int {\n\treturn get(\"read\")\n}\n",
        "func readLimit() int {\n\treturn get(\"read\") + 1\n}\n",
        "func writeLimit() int {\n\treturn get(\"write\") + 1\n}",
    );
    sibling(
        "a.js",
        "function stop(job) {\n  log('end');\n  return halt(job);\n}\n",
        "function begin(job) {\n  log('start');\n  return run(job);\n}\n",
        "function begin(job) {\n  log('start');\n  return run(job, 1);\n}\n",
        "function stop(job) {\n  log('end');\n  return halt(job, 1);\n}",
    );
}

#[test]
fn an_insertion_beside_unmatched_lines() {
    check(&[
        Finding {
            path: "a.c",
            file: "int f(int a)\n{\n    int b = a * 2;\n    trace(b);\n    return b;\n}\n",
            old: "    int b = a + 1;\n    return b;\n",
            new: "    int b = a + 1;\n    check(b);\n    return b;\n",
            lines: (3, 5),
            right: "    int b = a * 2;\n    trace(b);\n    check(b);\n    return b;",
            wrong: &[
                "    int b = a * 2;\n    check(b);\n    return b;",
                "    int b = a + 1;\n    trace(b);\n    check(b);\n    return b;",
            ],
        },
        Finding {
            path: "a.rb",
            file: "def f(a)\n  b = a * 2\n  trace(b)\n  b\nend\n",
            old: "  b = a + 1\n  b\n",
            new: "  b = a + 1\n  check(b)\n  b\n",
            lines: (2, 4),
            right: "  b = a * 2\n  trace(b)\n  check(b)\n  b",
            wrong: &["  b = a * 2\n  check(b)\n  b"],
        },
    ]);
}

#[test]
fn a_break_that_stays_escaped_after_a_correction() {
    check(&[
        Finding {
            path: "a.rs",
            file: "fn f() {\n    let a = load(2);\n    g(a);\n}\n",
            old: "    let a = load(1);\n    g(a);\n",
            new: "    let a = load(1);\\n    h(a);\n    g(a);\n",
            lines: (2, 3),
            right: "    let a = load(2);\n    h(a);\n    g(a);",
            wrong: &["    let a = load(2);\\n    h(a);\n    g(a);"],
        },
        Finding {
            path: "a.go",
            file: "func f() {\n\ta := load(2)\n\tg(a)\n}\n",
            old: "\ta := load(1)\n\tg(a)\n",
            new: "\ta := load(1)\\n\\th(a)\n\tg(a)\n",
            lines: (2, 3),
            right: "\ta := load(2)\n\th(a)\n\tg(a)",
            wrong: &["\ta := load(2)\\n\\th(a)\n\tg(a)"],
        },
    ]);
}
