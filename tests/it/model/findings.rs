//! What once was written wrongly, or refused though it was right, each in two languages: a right
//! answer, which is written as given, and wrong ones, which are not.

use super::*;
use restitch::port::Location;

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
