use super::*;

/// A call at a place of a file, in some language.
#[derive(Clone, Copy)]
struct Call {
    language: &'static str,
    old: &'static str,
    new: &'static str,
    found: &'static str,
}

impl Call {
    fn judge(self, text: &str) -> Result<(), String> {
        let case = Case {
            old: self.old,
            new: self.new,
            found: self.found,
            definition: self.found,
            language: Language::from_name(self.language),
        };
        judge(&case, text)
    }

    fn accepts(self, texts: &[&str]) {
        for text in texts {
            assert_eq!(self.judge(text), Ok(()), "{}: {text}", self.language);
        }
    }

    /// Each text is rejected, and the reason has these words.
    fn rejects(self, texts: &[(&str, &str)]) {
        for (text, why) in texts {
            let error = self.judge(text).expect_err(text);
            assert!(error.contains(why), "{}: {text}: {error}", self.language);
        }
    }
}

#[test]
fn a_text_has_what_both_sides_added() {
    let rust = Call {
        language: "rust",
        old: "pub fn total(items: &[Item]) -> f64 {",
        new: "pub fn total(items: &[Item], cut: f64) -> f64 {",
        found: "pub fn price(items: &[Item], tax: f64) -> f64 {",
    };
    rust.accepts(&["pub fn price(items: &[Item], tax: f64, cut: f64) -> f64 {"]);
    rust.rejects(&[
        ("pub fn price(items: &[Item], cut: f64) -> f64 {", "lacks `tax`"),
        ("pub fn price(items: &[Item], tax: f64, evil: f64) -> f64 {", "lacks `cut`"),
        ("pub fn price(items: &[Item], tax: f64, cut: f64, evil: f64) -> f64 {", "has `evil`"),
        ("pub fn total(items: &[Item], tax: f64, cut: f64) -> f64 {", "`price` in the place of"),
        ("pub fn price(tax: f64, items: &[Item], cut: f64) -> f64 {", ""),
        ("pub fn price(items: &[Item], tax: f64) -> f64 {", "leaves the lines as they are"),
        ("", ""),
    ]);
    let python = Call {
        language: "python",
        old: "def load(path):",
        new: "def load(path, strict=False):",
        found: "def read(path, encoding=None):",
    };
    python.accepts(&["def read(path, encoding=None, strict=False):"]);
    python.rejects(&[
        ("def load(path, encoding=None, strict=False):", "`read` in the place of"),
        ("def read(path, strict=False):", "lacks"),
        ("def read(path, encoding=None, strict=True):", "lacks `False`"),
    ]);
}

#[test]
fn a_name_that_the_definition_still_has_is_not_stale() {
    let case = Case {
        old: "a = f(x)",
        new: "a = f(x)\ng(x)",
        found: "a = f(y)",
        definition: "def h(x, y):\n    a = f(y)\n",
        language: Language::from_name("python"),
    };
    assert_eq!(judge(&case, "a = f(y)\ng(x)"), Ok(()));
}

#[test]
fn a_piece_that_begins_in_a_literal_is_compared_by_words() {
    let call = Call {
        language: "typescript",
        old: "  );\n\n  expect(rows[0].name).toBe('job');\n",
        new: "  );\n\n  expect(rows[0]!.name).toBe('job');\n",
        found: "  `);\n\n  expect(rows[0].name).toBe('job');\n",
    };
    call.accepts(&["  `);\n\n  expect(rows[0]!.name).toBe('job');\n"]);
    call.rejects(&[("  );\n\n  expect(rows[0]!.name).toBe('job');\n", "lacks ``")]);
}

#[test]
fn lines_of_the_file_do_not_go() {
    let go = Call {
        language: "go",
        old: "a := open()\nb := read(a)\nclose(a)",
        new: "a := open()\nb := readAll(a)\nclose(a)",
        found: "a := open()\ndefer unlock()\nb := read(a)\ncheck(b)\nclose(a)",
    };
    go.accepts(&["a := open()\ndefer unlock()\nb := readAll(a)\ncheck(b)\nclose(a)"]);
    go.rejects(&[
        ("a := open()\nb := readAll(a)\ncheck(b)\nclose(a)", "drops the line `defer unlock"),
        ("a := open()\ndefer unlock()\nb := readAll(a)\nclose(a)", "drops the line `check"),
    ]);
    // A deleted function takes no line along that the call has not seen.
    let ruby = Call {
        language: "ruby",
        old: "def old(a)\n  b(a)\nend",
        new: "",
        found: "def old(a)\n  audit(a)\n  b(a)\nend",
    };
    ruby.rejects(&[("", "drops the line `audit"), ("def old(a)\nend", "")]);
    let deleted = Call {
        language: "rust",
        old: "fn gone() {\n    work(1);\n}",
        new: "",
        found: "fn gone() {\n    work(2);\n}",
    };
    deleted.accepts(&[""]);
    deleted.rejects(&[("fn gone() {}", "")]);
}

#[test]
fn a_revert_or_another_version_is_rejected() {
    for (language, old, new, found) in [
        ("javascript", "timeout: 3000,", "timeout: 8000,", "timeout: 4500,"),
        ("yaml", "replicas: 3", "replicas: 8", "replicas: 5"),
    ] {
        let call = Call { language, old, new, found };
        call.accepts(&[new]);
        call.rejects(&[(old, ""), (found, "leaves the lines"), ("timeout: 9000, evil: 1", "")]);
    }
}

#[test]
fn words_stay_on_their_lines() {
    let c = Call {
        language: "c",
        old: "int f(int a);",
        new: "int f(int a, int b);",
        found: "long f(int a);",
    };
    c.accepts(&["long f(int a, int b);"]);
    c.rejects(&[
        ("long\nf(int a,\nint b);", "a line break between"),
        ("longf(int a, int b);", ""),
        ("long f(int a, int b) ;", "other blanks between"),
        ("long f(int a,  int b);", "other blanks between"),
        ("\tlong f(int a, int b);", "indentation of its own"),
        ("long f(int a, int b); ", "ends with blanks"),
    ]);
    // A text that copies what is around the place has too many words.
    let twice = "long f(int a, int b);\nlong f(int a, int b);";
    c.rejects(&[(twice, ""), ("12|long f(int a, int b);", "")]);
}

#[test]
fn blank_lines_around_a_text_stay() {
    let check = |old, new, found, around, text| {
        let case = Case { old, new, found, definition: found, language: None };
        check_blank_lines(&case, around, text)
    };
    let around = ("a\n\n", "\n\nz\n");
    assert_eq!(check("b\n", "c\n", "b", around, "c"), Ok(()));
    for text in ["\nc", "c\n", "\nc\n"] {
        assert!(check("b\n", "c\n", "b", around, text).is_err(), "{text:?}");
    }
    // A blank line that the place has.
    assert_eq!(check("b\n", "c\n", "b\n", ("a\n", "\nz\n"), "c\n"), Ok(()));
    assert!(check("b\n", "c\n", "b\n", ("a\n", "\nz\n"), "c").is_err());
    assert_eq!(check("b\n\n", "c\n", "b\n", ("a\n", "\nz\n"), "c"), Ok(()));
    // One that the call adds before or after its line.
    assert_eq!(check("a\nb\n", "a\n\nc\n", "b", ("a\n", "\nz\n"), "\nc"), Ok(()));
    assert_eq!(check("b\nz\n", "c\n\nz\n", "b", ("a\n", "\nz\n"), "c\n"), Ok(()));
    assert!(check("a\nb\n", "a\n\nc\n", "b", ("a\n\n", "\nz\n"), "\nc").is_err());
    let crlf = ("a\r\n\r\n", "\r\nz\r\n");
    assert!(check("b\n", "c\n", "b", crlf, "\r\nc").is_err());
    assert_eq!(check("b\n", "c\n", "b", crlf, "c"), Ok(()));
}

#[test]
fn where_indentation_is_syntax_it_is_kept() {
    let python = Call {
        language: "python",
        old: "if a:\n    f(1)\nreturn b",
        new: "if a:\n    f(1)\n    g()\nreturn b",
        found: "if a:\n    f(2)\nreturn b",
    };
    python.accepts(&["if a:\n    f(2)\n    g()\nreturn b"]);
    python.rejects(&[
        ("if a:\n    f(2)\ng()\nreturn b", "indented"),
        ("if a:\n    f(2)\n    g()\n    return b", "indented"),
    ]);
    let yaml = Call {
        language: "yaml",
        old: "a:\n  b: 1\nc: 2",
        new: "a:\n  b: 1\n  d: 3\nc: 2",
        found: "a:\n  b: 7\nc: 2",
    };
    yaml.accepts(&["a:\n  b: 7\n  d: 3\nc: 2"]);
    yaml.rejects(&[("a:\n  b: 7\nd: 3\nc: 2", "indented")]);
}

#[test]
fn kept_lines_are_written_with_the_bytes_of_the_file() {
    let case = |old, new, found| Case {
        old,
        new,
        found,
        definition: found,
        language: Language::from_name("go"),
    };
    let kept = case("a()\nb()\n", "a()\nc()\nb()\n", "\ta( )\n\tx()\n\tb()\n");
    assert_eq!(
        as_written(&kept, "a( )\n\tx()\n\tc()\n b()\n", "\n"),
        "\ta( )\n\tx()\n\tc()\n\tb()\n"
    );
    // Where the call moves lines sideways, the answer's depth counts.
    let moved = case("a()\n", "if x {\n\ta()\n}\n", "a()\n");
    assert_eq!(as_written(&moved, "if x {\n\ta()\n}\n", "\n"), "if x {\n\ta()\n}\n");
    let crlf = case("a(1)\nb()", "a(2)\nb()", "a(3)\r\nb()");
    assert_eq!(as_written(&crlf, "a(2)\nb()", "\r\n"), "a(2)\r\nb()");
    assert_eq!(as_written(&crlf, "a(2)\r\nnew()\r\nb()", "\r\n"), "a(2)\r\nnew()\r\nb()");
    let mixed = case("a(1)\nb()\nc()", "a(2)\nb()\nc()", "a(3)\r\nb()\nc()");
    assert_eq!(as_written(&mixed, "a(2)\nb()\nc()", "\r\n"), "a(2)\r\nb()\nc()");
}

#[test]
fn differing_lines_are_reported_with_what_is_there_now() {
    let call = Call {
        language: "javascript",
        old: "a();\ntimeout: 3000,\nb();",
        new: "a();\ntimeout: 8000,\nb();",
        found: "a();\ntimeout: 4500,\nb();",
    };
    let case = Case {
        old: call.old,
        new: call.new,
        found: call.found,
        definition: call.found,
        language: Language::from_name("javascript"),
    };
    let conflicts = conflicts(&case, call.new, 40);
    assert_eq!(conflicts.len(), 1);
    let only = &conflicts[0];
    assert_eq!((only.start_line, only.end_line), (41, 41));
    assert_eq!(
        (only.believed.as_str(), only.found.as_str(), only.written.as_deref()),
        ("timeout: 3000,", "timeout: 4500,", Some("timeout: 8000,"))
    );
}
