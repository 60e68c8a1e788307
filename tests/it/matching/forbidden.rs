//! What no price allows: for each prohibition a call that it refuses, and one beside it that it must
//! not touch.

use restitch::edit::EditRequest;

use super::apply;

/// A call, and the file after it; `None` if nothing may be written.
pub(super) struct Row<'a>(
    pub(super) &'a str,
    pub(super) &'a str,
    pub(super) &'a str,
    pub(super) &'a str,
    pub(super) Option<&'a str>,
);

pub(super) const REFUSED: Option<&str> = None;

/// Checks calls, one a line: the path, the file, old and new, and the file after the call or `REFUSED`.
macro_rules! calls {
    ($($path:literal: $file:expr, $old:expr, $new:expr => $after:expr;)*) => {
        $crate::matching::forbidden::check(&[
            $($crate::matching::forbidden::Row($path, $file, $old, $new, Option::from($after))),*
        ]);
    };
}
pub(super) use calls;

pub(super) fn check(rows: &[Row<'_>]) {
    let mut wrong = Vec::new();
    for Row(path, file, old, new, meant) in rows {
        let got = apply(file, &EditRequest::new(*old, *new).for_path(path));
        if got.as_ref().ok().map(|(after, _)| after.as_str()) != *meant {
            wrong.push(format!("{path} {old:?} → {new:?}:\n  {got:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

#[test]
fn a_changed_line_is_quoted_to_its_end() {
    calls! {
        // The rest of the last line could have to change, too.
        "a.py": "x = 1\nfrom a import B, C, D\n", "x  = 1\nfrom a import B, C", "x  = 2\nfrom a import B, E" => REFUSED;
        // A kept line may be quoted in part.
        "a.py": "x = 1\nfrom a import B, C, D\n", "x = 1 \nfrom a import B", "x = 2 \nfrom a import B" => "x = 2\nfrom a import B, C, D\n";
        // An edge is never inside a number.
        "a.c": "a = 1.5;\nb = 1;\n", "a  = 1", "a  = 2" => REFUSED;
        "a.c": "a = 1;\nb = 1;\n", "a  = 1;", "a  = 2;" => "a = 2;\nb = 1;\n";
    }
}

#[test]
fn what_is_added_stands_there_once() {
    let file = "class A {\n    void f() {\n        open();\n        check(first);\n    }\n}\n";
    calls! {
        "A.java": file, "open(); \n", "open(); \ncheck(first);\n" => REFUSED;
        "A.java": file, "open(); \n", "open(); \ncheck(second);\n" => "class A {\n    void f() {\n        open();\n        check(second);\n        check(first);\n    }\n}\n";
        // A bracket may be what is missing.
        "a.html": "<div>\n<div>\n<p>a</p>\n</div>\n", "<p>a</p> \n</div>\n", "<p>a</p> \n</div>\n</div>\n" => "<div>\n<div>\n<p>a</p>\n</div>\n</div>\n";
    }
}

#[test]
fn white_space_and_quotes_that_mean_something_are_words() {
    calls! {
        "a.sh": "echo a  b\nrun x\n", "echo a b\nrun x", "echo a b\nrun y" => REFUSED;
        "a.js": "say(a,  b)\nrun(x)\n", "say(a, b)\nrun(x)", "say(a, b)\nrun(y)" => "say(a,  b)\nrun(y)\n";
        "a.json": "{\n  \"a\": 1,\n  \"b\": 2\n}\n", "  'a': 1,\n", "  'a': 1,\n  'c': 3,\n" => REFUSED;
        "a.json": "{\n  \"a\": 1,\n  \"b\": 2\n}\n", "  'a': 1,\n", "  'a': 5,\n" => "{\n  \"a\": 5,\n  \"b\": 2\n}\n";
    }
}

/// A long quote, of which line 2 has other words.
const LONG: &str = "fn long() {\n    let a = one(1);\n    let b = two(2);\n    let c = three(3);\n    let d = four(4);\n    let e = five(5);\n    let f = six(6);\n    let g = seven(7);\n    let h = eight(8);\n    let i = nine(9);\n    done(a, b, c);\n}\n";

#[test]
fn kept_code_has_other_words_only_far_from_a_change_in_a_long_quote() {
    let quoted = LONG.replace("one(1)", "once(1)");
    let leak = |text: String| -> &'static str { Box::leak(text.into_boxed_str()) };
    let far = quoted.replace("nine(9)", "nine(10)");
    let beside = quoted.replace("two(2)", "two(20)");
    calls! {
        "a.rs": LONG, leak(quoted.clone()), leak(far) => leak(LONG.replace("nine(9)", "nine(10)"));
        "a.rs": LONG, leak(quoted), leak(beside) => REFUSED;
        "a.rs": "fn f() {\n    open(1);\n    read(2);\n    close(3);\n}\n", "open(9);\nread(2);\nclose(3);", "open(9);\nread(2);\nclose(4);" => REFUSED;
    }
}

/// A blank line between does not make it another part of the file.
#[test]
fn what_only_the_file_has_is_not_beside_a_change() {
    let file = LONG.replace("    let g = ", "    extra(1);\n\n    let g = ");
    let beside = (LONG.replace("six(6)", "six(60)"), LONG);
    let far = (LONG.replace("nine(9)", "nine(90)"), file.replace("nine(9)", "nine(90)"));
    let apply = |new: &str| apply(&file, &EditRequest::new(LONG, new).for_path("a.rs"));
    assert!(apply(&beside.0).is_err(), "beside {}", beside.1);
    assert_eq!(apply(&far.0).expect("far from it").0, far.1);
}

#[test]
fn blanks_around_a_part_of_a_line_are_the_quote_s() {
    calls! {
        "a.py": "x = \"Name\"\n", "Name ", "Title " => "x = \"Title\"\n";
        "a.json": "{\"a\": 1}\n", "a ", "b " => "{\"b\": 1}\n";
        "a.txt": "hello you\n", "  hello  ", "  good_bye  " => "good_bye you\n";
        "a.py": "print(name)\n", " name", " label" => "print(label)\n";
        "a.py": "x = \"Name \"\n", "Name ", "Title " => "x = \"Title \"\n";
        // The word goes on.
        "a.sh": "run --verbose-mode=3\n", " --verbose ", " --quiet " => REFUSED;
        "a.js": "f(-5, 7);\n", " 5, 7 ", " 8, 9 " => REFUSED;
        // The blank may have held it apart.
        "a.py": "x = first-second\n", "first- ", "not " => REFUSED;
        "a.sh": "run_it>out.log\n", " >out.log", " --quiet" => REFUSED;
    }
    let rung = |old: &str| apply("print(name)\n", &EditRequest::new(old, "f")).unwrap().1;
    assert_eq!([rung(" name"), rung("name")], ["trailing_blanks", "exact"]);
}

#[test]
fn a_short_quote_may_lack_a_line_away_from_the_change() {
    let file = "fn run() {\n    let query = parse(text);\n    log(query);\n    let rows = query.rows();\n    for row in rows {\n        send(row);\n    }\n}\n";
    let old = file.replace("    log(query);\n", "");
    let new = old.replace("send(row)", "keep(row)");
    check(&[Row("a.rs", file, &old, &new, Some(&file.replace("send(row)", "keep(row)")))]);
    // Beside the change the line may have to change, too; a comment stays.
    let old = file.replace("    log(query);\n", "    // The rows.\n");
    let quote = file.replace("    log(query);\n", "");
    let new = quote.replace("query.rows()", "query.all()");
    calls! {
        "a.rs": file, &quote, &new => REFUSED;
        "a.rs": &old, &quote, &new => old.replace("query.rows()", "query.all()").as_str();
    }
}

#[test]
fn what_is_made_already_is_paired_however_it_was_quoted() {
    let file = "def gain(x):\n    low = x.min()\n    raw = x * scale + bias\n    top = x.max()\n    return top - low\n";
    let old = file.replace("x * scale + bias", "self.head(x)");
    let new = file.replace("return top - low", "return (top - low) / raw");
    calls! {
        "a.py": file, &old, &new => new.as_str();
        // The file has another line than the call writes: it was changed since.
        "a.py": &file.replace("scale", "other"), &old, &new => REFUSED;
    }
}

#[test]
fn a_comment_that_the_call_misquotes_is_not_cut() {
    let code = "    for i in rows {\n        send(i);\n    }\n}\n";
    let two = format!("fn a() {{\n    // What is left goes to\n    // the other side.\n{code}");
    let one = two.replace("    // What is left goes to\n", "");
    let old = format!("    // Send all.\n{code}");
    let above = format!("    check();\n\n{old}");
    let line = "    // the other side.\n";
    let want = one.replace(line, &format!("    check();\n\n{line}"));
    calls! {
        "a.rs": &two, &old, &above => REFUSED;
        "a.rs": &one, &old, &above => want.as_str();
        // What is not beside the comment does not cut it.
        "a.rs": &two, &old, &old.replace("send(i)", "keep(i)") => two.replace("send(i)", "keep(i)").as_str();
    }
}

#[test]
fn a_quote_may_lack_the_comment_behind_a_line() {
    let file = "fn a() {\n    b(1);\n    while c() {\n        d(2);\n    }\n    e(3); // The last one, which is the longest\n}\n";
    let old = file.replace(" // The last one, which is the longest", "");
    let (new, want) = (old.replace("b(1)", "b(9)"), file.replace("b(1)", "b(9)"));
    check(&[Row("a.rs", file, &old, &new, Some(&want))]);
}

#[test]
fn rows_of_a_table_are_padded_as_they_like() {
    let file = "| foo  | bar   |\n| a    | b     |\n";
    let want = "| foo  | bar   |\n| a    | c     |\n";
    calls! {
        "a.md": file, "| foo | bar |\n| a | b |", "| foo | bar |\n| a | c |" => want;
        "a.md": "-one\n- two\n", "- one\n- two", "- one\n- 2" => REFUSED;
    }
}

#[test]
fn what_only_the_file_has_ends_no_block_and_begins_none() {
    let steps: String = (0..9).map(|n| format!("    step_{n}(ctx)\n")).collect();
    let keys: String = (0..9).map(|n| format!("key_{n} = {n}\n")).collect();
    let pairs: String = (0..9).map(|n| format!("    \"key_{n}\": {n},\n")).collect();
    let rows = [
        // The file, the line above, what the file has below it, the lines below and whether they are its.
        ("a.py", "def a(ctx):\n", "    return\ndef b(ctx):\n", &steps, "step_4(ctx)", false),
        ("a.py", "def a(ctx):\n", "    check(ctx)\n", &steps, "step_4(ctx)", true),
        ("a.rs", "fn a(ctx) {\n", "    todo()\n}\n\nfn b(ctx) {\n", &steps, "step_4(ctx)", false),
        ("a.rs", "fn a(ctx) {\n", "    todo();\n", &steps, "step_4(ctx)", true),
        ("a.ini", "[a]\n", "x = 1\n[b]\n", &keys, "key_4 = 4", false),
        ("a.ini", "[a]\n", "x = 1\n", &keys, "key_4 = 4", true),
        (
            "a.json",
            "  \"a\": {\n",
            "    \"x\": 1\n  },\n  \"b\": {\n",
            &pairs,
            "\"key_4\": 4",
            false,
        ),
        ("a.json", "  \"a\": {\n", "    \"x\": 1,\n", &pairs, "\"key_4\": 4", true),
    ];
    for (path, above, extra, below, line, is_its) in rows {
        let old = format!("{above}{below}");
        let (new, file) = (old.replace(line, "other(4)"), format!("{above}{extra}{below}"));
        let meant = is_its.then(|| file.replace(line, "other(4)"));
        check(&[Row(path, &file, &old, &new, meant.as_deref())]);
    }
}

#[test]
fn what_only_the_file_has_begins_no_comment_and_no_branch_and_uses_no_old_name() {
    let file = |unseen: &str| {
        format!(
            "setup();\nconst first = load(config);\n{unseen}const second = open(config);\nconst third = send(first);\n"
        )
    };
    let (old, new) = (file(""), file("").replace("send(first)", "keep(first)"));
    let row = |unseen: &str| {
        let meant = file(unseen).replace("send(first)", "keep(first)");
        (file(unseen), meant)
    };
    let (comment, meant) = row("// Not used any more.\n");
    check(&[Row("a.js", &comment, &old, &new, Some(&meant))]);
    for unseen in ["/*\n", "`\n", "} else {\n", "case 1:\n", "check(send);\n"] {
        check(&[Row("a.js", &row(unseen).0, &old, &new, None)]);
    }
    let (call, meant) = row("check(first);\n");
    check(&[Row("a.js", &call, &old, &new, Some(&meant))]);
}

#[test]
fn unseen_comments_and_whole_statements_may_have_any_words() {
    let file = |unseen: &str| {
        format!(
            "function run(ctx) {{\n  setup(ctx);\n{unseen}  load(config);\n  parse(rows);\n  clean(rows);\n  merge(rows);\n  sort(rows);\n  check(rows);\n  archive(path);\n  finish(ctx);\n}}\n"
        )
    };
    let (old, new) = (file(""), file("").replace("path", "path, 1"));
    let of_comments = ["  // 1) when it ends :(\n", "  /**\n   * The rows.\n   */\n"];
    let of_code = ["  if (ctx.debug) {\n    log(\"(\");\n  }\n", "  log(\n    ctx);\n"];
    for unseen in of_comments.into_iter().chain(of_code) {
        let meant = file(unseen).replace("path", "path, 1");
        check(&[Row("a.js", &file(unseen), &old, &new, Some(&meant))]);
    }
    for unseen in ["  }\n  other() {\n", "  return;\n", "  #ifdef A\n"] {
        check(&[Row("a.js", &file(unseen), &old, &new, None)]);
    }
    let list =
        "<ul>\n<li>alpha</li>\n</ul>\n<ol>\n<li>gamma first</li>\n<li>delta first</li>\n</ol>\n";
    let old = "<li>alpha</li>\n<li>gamma first</li>\n<li>delta first</li>";
    check(&[Row("a.html", list, old, &old.replace("delta", "beta"), None)]);
    let fence = "alpha one two\n```sh\nbravo four five\ndelta seven eight\n```\n";
    let old = "alpha one two\nbravo four five\ndelta seven eight";
    check(&[Row("a.md", fence, old, &old.replace("eight", "nine"), None)]);
}

#[test]
fn a_place_with_a_line_more_is_none_while_another_has_changed() {
    let rule = |name: &str, lines: &str| format!(".{name}_name {{\n    flex: 1;\n{lines}}}\n\n");
    let kept = "    text-overflow: ellipsis;\n    white-space: nowrap;\n";
    let twin = rule("second", &format!("    overflow: hidden;\n{kept}    font-size: 0.8rem;\n"));
    let changed = rule("first", &format!("    overflow: clip;\n{kept}"));
    let old = format!("    overflow: hidden;\n{kept}}}\n");
    let new = old.replace("nowrap", "pre");
    let new = new.replace("overflow: hidden", "overflow: auto");
    check(&[Row("a.css", &format!("{changed}{twin}"), &old, &new, None)]);
}

#[test]
fn what_only_the_file_has_is_told() {
    let above = LONG.replacen("let a", "let x = 0;\n    let a", 1);
    let request = EditRequest::new(LONG, LONG.replace("eight(8)", "eight(9)")).for_path("a.rs");
    assert_eq!(apply(&above, &request).unwrap().1, "aligned");
}

#[test]
fn a_line_that_is_kept_is_no_head_of_another_block() {
    let keys: String = (0..9).map(|n| format!("    \"key_{n}\": {n},\n")).collect();
    let old = format!("  \"a\": {{\n{keys}  }}");
    let new = old.replace("key_4\": 4", "key_4\": 5");
    let file = format!("{{\n  \"a\": {{\n    \"x\": 1\n  }},\n  \"b\": {{\n{keys}  }}\n}}\n");
    check(&[Row("a.json", &file, &old, &new, None)]);
}

#[test]
fn a_function_of_go_is_inside_no_other() {
    let file = "func a() {\n\tx := X{\n\t\tf: func() {\n\t\t\tb()\n\t\t},\n\t}\n\tc()\n}\n";
    let old = "\tf: func() {\n\t\tb()\n\t},\n}";
    calls! {
        "a.go": file, old, &format!("{old}\n\nfunc d() {{\n\te()\n}}") => REFUSED;
        "a.go": file, old, &format!("{old}\nx.g()") => "func a() {\n\tx := X{\n\t\tf: func() {\n\t\t\tb()\n\t\t},\n\t}\n\tx.g()\n\tc()\n}\n";
    }
}

/// No language says that `\n` in an added line is a break, so it is written; but it is told.
#[test]
fn a_line_break_that_is_written_as_an_escape_is_told() {
    let told = |path: &str, new: &str| {
        let file = restitch::internals::text::Snapshot::from_text("first\nsecond\n");
        let call = EditRequest::new("second\n", new).for_path(path);
        let explained = restitch::internals::matching::explain(&call, &file).expect("exact");
        !explained.explanation.warnings.is_empty()
    };
    for path in
        ["a.html", "a.css", "a.yaml", "a.rb", "a.lua", "a.sh", "a.sql", "a.md", "a.txt", "Makefile"]
    {
        assert!(told(path, "second\\n  third\n"), "{path}");
        assert!(!told(path, "second\n  third\n"), "{path}");
    }
    assert!(told("a.yaml", "second: 1\\nthird: 2\n"), "behind a number");
    assert!(!told("a.txt", "second C:\\new\n"), "a path");
    assert!(!told("a.tex", "second \\nu\n"), "a command");
    assert!(!told("a.sh", "printf 'second\\n'\n"), "a literal");
}

#[test]
fn what_a_placeholder_stands_for_stays_where_it_is() {
    let file = "def f(x):\n    a = 1\n    b = 2\n    c = 3\n    return a\n";
    let old = "    a = 1\n    # ... existing code ...\n    return a\n";
    calls! {
        "a.py": file, old, "    a = 5\n    # ... existing code ...\n    return a\n" => "def f(x):\n    a = 5\n    b = 2\n    c = 3\n    return a\n";
        "a.py": file, old, "    a = 5\n    return a\n" => REFUSED;
        // The lines around it move, and what it stands for would not.
        "a.py": file, old, "    if x:\n        a = 1\n        # ... existing code ...\n        return a\n" => REFUSED;
        // How much it stands for is not known at the end of the quote, and so not where a line below it goes.
        "a.toml": "[a]\nx = 1\ny = 2\n\n[b]\nz = 3\n", "[a]\n# ... existing code ...", "[a]\n# ... existing code ...\nw = 4" => REFUSED;
        "a.toml": "[a]\nx = 1\ny = 2\n\n[b]\nz = 3\n", "[a]\nx = 1\n# ... existing code ...", "[a]\nx = 5\n# ... existing code ..." => "[a]\nx = 5\ny = 2\n\n[b]\nz = 3\n";
    }
}

#[test]
fn marks_of_a_diff_are_no_code() {
    let file = "class A:\n    def f(self):\n        a = 1\n        b = 2\n";
    calls! {
        "a.py": file, "\ta = 1\n\tb = 2\n", "\ta = 1\n+\tc = 3\n\tb = 2\n" => REFUSED;
        "a.py": file, "    a = 1\n    b = 2\n", "    a = 1\n+    c = 3\n    b = 2\n" => "class A:\n    def f(self):\n        a = 1\n        c = 3\n        b = 2\n";
        "a.md": "* a\n* b\n", "* a \n", "* a \n- c\n" => "* a\n- c\n* b\n";
    }
}

#[test]
fn a_bracket_that_goes_is_the_one_that_was_quoted() {
    let file = "fn f() {\n    if a {\n        b();\n    }\n}\n";
    calls! {
        // The last bracket of the quote is less deep in the file than the others are.
        "a.rs": file, "    b();\n}\n}", "    b();\n}" => REFUSED;
        "a.rs": file, "if a {\n    b();\n}", "if a {\n    b();\n    c();\n}" => "fn f() {\n    if a {\n        b();\n        c();\n    }\n}\n";
    }
}

#[test]
fn kept_lines_are_never_moved() {
    let file = "class A:\n    def f(self):\n        one()\n        two()\n\n\n    def g(self):\n        pass\n";
    calls! {
        // Only a line break differs between the two strings.
        "a.py": file, "def g(self):\n    pass\n", "def g(self):\n    pass" => REFUSED;
        "a.py": file, "def g(self):\n    pass\n", "def g(self):\n    return 1\n" => "class A:\n    def f(self):\n        one()\n        two()\n\n\n    def g(self):\n        return 1\n";
        // Both strings begin at another depth than the file, and not at the same.
        "A.java": "class A {\n    void f() {\n        a();\n        b();\n    }\n}\n", "a();\nb();\n", "            a();\n            b();\n            c();\n" => REFUSED;
    }
}

#[test]
fn lines_of_a_new_literal_are_not_shifted_by_guess() {
    let file = "class A {\n  f() {\n    const q = 1;\n    return q;\n  }\n}\n";
    calls! {
        "a.js": file, "const q = 1;\nreturn q;\n", "const q = `\nSELECT 1\n`;\nreturn q;\n" => REFUSED;
        "a.js": file, "const q = 1;\nreturn q;\n", "const q = `SELECT 1`;\nreturn q;\n" => "class A {\n  f() {\n    const q = `SELECT 1`;\n    return q;\n  }\n}\n";
    }
}

#[test]
fn a_twin_elsewhere_is_not_the_place_that_changed() {
    let file = "func a() {\n\tx := 1\n\topen(x, 1)\n\tcheck(x)\n\tclose(x)\n\tdone(x)\n}\n\nfunc b() {\n    x := 1\n    open(x)\n    check(x)\n    close(x)\n    done(x)\n}\n";
    calls! {
        "a.go": file, "\tx := 1\n\topen(x)\n\tcheck(x)\n\tclose(x)\n\tdone(x)\n", "\tx := 1\n\topen(x)\n\tcheck(x)\n\tclose(x, 2)\n\tdone(x)\n" => REFUSED;
        // Little else is quoted than the line that has changed.
        "a.js": "f(() => {\n  volumeOf(track, 0.5, level);\n});\ng(() => {   \n  volumeOf(track, level);   \n});   \n", "  volumeOf(track, level);\n});", "  volumeOf(track, 1);\n});" => REFUSED;
        // Nothing else of the quote is rare.
        "a.js": &("if (c) {\n  send(letter, now);\n}\n".to_owned() + &"if (a) {\n  b();\n}\n".repeat(50) + "if (f) {\n    send(letter);\n  }\n"), "  send(letter);\n}", "  send(letter, later);\n}" => REFUSED;
        "a.go": file, "func b() {\n\tx := 1\n\topen(x)\n\tcheck(x)\n", "func b() {\n\tx := 1\n\topen(x)\n\tcheck(x, 2)\n" => "func a() {\n\tx := 1\n\topen(x, 1)\n\tcheck(x)\n\tclose(x)\n\tdone(x)\n}\n\nfunc b() {\n    x := 1\n    open(x)\n    check(x, 2)\n    close(x)\n    done(x)\n}\n";
    }
}

#[test]
fn new_str_alone_may_be_spoiled() {
    calls! {
        // Line breaks that are escaped in new_str only.
        "a.py": "def f():\n    a()\n    b()\n", "a()\nb()\n", "a()\\nc()\\nb()" => "def f():\n    a()\n    c()\n    b()\n";
        "a.py": "def f():\n    a()\n    b()\n", "a()\nb()", "2|a()\n3|c()" => REFUSED;
    }
}

#[test]
fn placeholders_that_new_str_adds_are_distinguished_from_code() {
    let file = "a();\nb();\nc();\n";
    let placeholders = [
        "// ... existing code ...",
        "# … rest of the function …",
        "/* ... */",
        "    // rest of the code unchanged",
        "<!-- ... existing markup ... -->",
        "{/* ... rest of component ... */}",
        "[... rest of code ...]",
        "# ... (unchanged)",
        "// all the other methods are unchanged",
    ];
    let code = [
        "f(...args)",
        "// wait...",
        "// keep existing users on the old plan",
        "let rest = [...existing];",
        "/// type that can have a reply; the reply should be omitted.",
        "// remove the existing index before it is built again",
    ];
    for (line, is_code) in
        placeholders.map(|l| (l, false)).into_iter().chain(code.map(|l| (l, true)))
    {
        let new = format!("a(1);\n{line}\n");
        check(&[Row("a.js", file, file, &new, is_code.then_some(new.as_str()))]);
    }
}
