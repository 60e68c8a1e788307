//! What the call does not show is a guess, and refused; beside each guess, a call that shows it.

use super::forbidden::{Row, check};

#[test]
fn white_space_that_both_sides_change_is_a_guess() {
    check(&[
        Row(
            "e.py",
            "q = f(t)  # (B, N, 32)\n",
            "q = f(t)  # (B, N,32)",
            "q = f(t)  # (B,N,32)",
            None,
        ),
        Row("a.js", "return f(a, b, c);\n", "return f(a, b,c);", "return f(a,b,c);", None),
        Row("a.js", "return a + b;\n", "return a+b;", "return `${a}+b`;", None),
        Row("a.py", "x = a + b\n", "x = a+b", "x = \"a+b\"", None),
        Row(
            "a.js",
            "return f(a, b, c);\n",
            "return f(a, b,c);",
            "return f(a, b,d);",
            Some("return f(a, b, d);\n"),
        ),
        // A closing mark of the file is not put behind a comment.
        Row(
            "a.ts",
            "f();\nconst a = g(x);\n",
            "f()\nconst a = g(x)",
            "f()\nconst a = g(x) // note",
            None,
        ),
        Row("a.js", "const r = /a b/;\n", "const r = /a  b/;", "const r = /ab/;", None),
    ]);
}

#[test]
fn a_line_does_not_move_over_a_placeholder() {
    let file = "def f(n):\n    # all at once\n    with open(n) as h:\n        d = h.read()\n    log(d)\n    return d\n";
    check(&[
        Row(
            "a.py",
            file,
            "    # all at once\n    # ... existing code ...\n    return d",
            "    # ... existing code ...\n    # all at once\n    return d",
            None,
        ),
        Row(
            "a.js",
            "function f(n) {\n  start(n);\n  const a = 1;\n  log(a);\n  return n;\n}\n",
            "  start(n);\n  // ... existing code ...\n  return n;",
            "  // ... existing code ...\n  start(n);\n  return n;",
            None,
        ),
        Row(
            "a.js",
            "a() {\n  one();\n  two();\n}\n\nb() {\n  three();\n  four();\n}\n",
            "a() {\n// ... existing code ...\n}\n\nb() {\n// ... existing code ...\n}",
            "b() {\n// ... existing code ...\n}\n\na() {\n// ... existing code ...\n}",
            None,
        ),
        Row(
            "a.py",
            file,
            "    # all at once\n    # ... existing code ...\n    return d",
            "    # in one go\n    # ... existing code ...\n    return d",
            Some(
                "def f(n):\n    # in one go\n    with open(n) as h:\n        d = h.read()\n    log(d)\n    return d\n",
            ),
        ),
    ]);
}

#[test]
fn new_str_alone_may_have_lost_its_indentation() {
    check(&[
        // The first line only.
        Row(
            "a.css",
            "p {\n  top: 1px;\n  left: 2px;\n\n}\n",
            "  top: 1px;\n  left: 2px;\n}",
            "top: 1px;\n  left: 2px;\n  right: 3px;\n}",
            None,
        ),
        Row(
            "a.rs",
            "fn f() {\n    a( 1);\n    b(2);\n}\n",
            "    a(1);\n    b(2);",
            "a(1);\n    b(2);\n    c(3);",
            None,
        ),
        // All lines, and none of them is in old_str.
        Row(
            "a.py",
            "while x:\n    items = f(p)\n    if not items :\n        break\n",
            "    if not items:\n        break",
            "if items:\n    save(items)",
            None,
        ),
        Row(
            "t.ts",
            "class T {\n    now(): number {\n        const n = f();\n        return n;\n    }\n}\n",
            "\tnow(): number {\n\t\tconst n = f();\n\t\treturn n;\n\t}",
            "now(): number {\nconst n = g();\nreturn n;\n}",
            None,
        ),
        Row(
            "a.go",
            "func a() {\n\tx()\n\tif y {\n\t\tz()\n\t}\n}\n",
            "    x()\n    if y {\n        z()\n    }",
            "x()\nif y {\nw()\n}",
            None,
        ),
        Row(
            "a.go",
            "func a() {\n\tx()\n\tif y {\n\t\tz()\n\t}\n}\n",
            "x()\nif y {\n    z()\n}",
            "x()\nif y {\n    w()\n}",
            Some("func a() {\n\tx()\n\tif y {\n\t\tw()\n\t}\n}\n"),
        ),
        // One line of old_str without its indentation, below which new_str has all of it.
        Row(
            "a.py",
            "class A:\n    def f(self):\n        x = g('a', 1)\n        return x\n",
            "x = g('a',1)",
            "if z:\n            x = g('a', 2)\n        y = h(x)",
            None,
        ),
        Row(
            "a.py",
            "class A:\n    def f(self):\n        x = g('a', 1)\n        return x\n",
            "x = g('a',1)",
            "if z:\n    x = g('a', 2)\ny = h(x)",
            Some(
                "class A:\n    def f(self):\n        if z:\n            x = g('a', 2)\n        y = h(x)\n        return x\n",
            ),
        ),
        // Nothing but the depth differs, and the file has it already.
        Row(
            "a.rs",
            "fn t() {\n        let p = new(1);\n\n        is(p.id, 1);\n}\n",
            "let p = new(1);\n\nis(p.id, 1);\n",
            "        let p = new(1);\n\n        is(p.id, 1);\n",
            None,
        ),
    ]);
}

#[test]
fn levels_of_another_width_in_new_str_alone_are_a_guess() {
    let java = "class A {\n    void f() {\n        g(1);\n        h(2);\n    }\n}\n";
    check(&[
        Row(
            "w.py",
            "def f():\n    for x in y:\n        if x:\n            a()\n        b()\n",
            "    if x:\n        a()\n    b()\n",
            "  if x:\n    a()\n    c()\n  b()\n",
            None,
        ),
        Row(
            "A.java",
            java,
            "2\t    void f() {\n3\t        g(1);\n4\t        h(2);\n5\t    }",
            "  void f() {\n    g(1);\n    k(3);\n    h(2);\n  }",
            None,
        ),
        Row(
            "a.py",
            "def f(xs):\n    for x in xs:\n        if x:\n            b(x)\n",
            "  for x in xs:\n    if x:\n      b(x)",
            "\tfor x in xs:\n\t\tif x:\n\t\t\td(x)",
            None,
        ),
        // A level of one space is one, too.
        Row(
            "a.yaml",
            "a:\n  b:\n    c: 1\n    d:\n      e: 2\n",
            " b:\n  c: 1\n  d:\n   e: 2",
            " b:\n  c: 1\n  d:\n   e: 2\n   f:\n    g: 3",
            Some("a:\n  b:\n    c: 1\n    d:\n      e: 2\n      f:\n        g: 3\n"),
        ),
    ]);
}

#[test]
fn what_the_call_moves_has_the_form_of_the_file() {
    check(&[
        Row(
            "a.ts",
            "open();\nsetUrl(null);\nsetId(null);\nclose();\n",
            "open();\nsetUrl( null);\nsetId(null);\nclose();",
            "open();\nsetId(null);\nlog();\nsetUrl( null);\nclose();",
            Some("open();\nsetId(null);\nlog();\nsetUrl(null);\nclose();\n"),
        ),
        Row(
            "a.toml",
            "[d]\nb = { v = \"1\", f = [\"x\"] }\na = \"1\"\nz = \"2\"\n",
            "b = { v = \"1\", f = [\"x\"]}\na = \"1\"\nz = \"2\"",
            "a = \"1\"\nc = \"3\"\nb = { v = \"1\", f = [\"x\"]}\nz = \"2\"",
            Some("[d]\na = \"1\"\nc = \"3\"\nb = { v = \"1\", f = [\"x\"] }\nz = \"2\"\n"),
        ),
    ]);
}

#[test]
fn half_encoded_texts_are_read_as_the_call_shows() {
    check(&[
        Row(
            "a.tsx",
            "<p>{a && b}</p>\n",
            "&lt;p&gt;{a &amp;&amp; b}&lt;/p&gt;",
            "&lt;p&gt;{a &amp;&amp; b} &copy;&lt;/p&gt;",
            Some("<p>{a && b} &copy;</p>\n"),
        ),
        Row("a.tsx", "<p>{a && b}</p>\n", "<p>{a &amp;&amp; b}</p>", "<p>{a && b} &lt;3</p>", None),
        Row(
            "U.js",
            "function U() {\n  const s = use<D>('x');\n}\n",
            "  const s = use&lt;D&gt;('x');",
            "  const t = ctx(S);\\n  const s = use&lt;D&gt;('x');",
            Some("function U() {\n  const t = ctx(S);\n  const s = use<D>('x');\n}\n"),
        ),
        // Fewer backslashes than old_str ever has: new_str is right as it is.
        Row(
            "c.php",
            "<?php\nreturn ltrim($class, '\\\\');\n",
            "return ltrim($class, '\\\\\\\\');",
            "return ltrim($raw, '\\\\');",
            Some("<?php\nreturn ltrim($raw, '\\\\');\n"),
        ),
        Row(
            "w.h",
            "#define SEP L'\\\\'\n#define ALT L'/'\n",
            "#define SEP L'\\\\\\\\'\n#define ALT L'/'",
            "#  define SEP L'\\\\'\n#  define ALT L'/'",
            Some("#  define SEP L'\\\\'\n#  define ALT L'/'\n"),
        ),
        // One line of old_str that was escaped shows how two of new_str are.
        Row(
            "f.c",
            "int f(void) {\n    printf(\"a\\n\");\n}\n",
            r#"    printf(\"a\\n\");"#,
            r#"    printf(\"a\\n\");\n    printf(\"c\\n\");"#,
            Some("int f(void) {\n    printf(\"a\\n\");\n    printf(\"c\\n\");\n}\n"),
        ),
        // Bare quotes, where old_str has only escaped ones: new_str is right as it is.
        Row(
            "f.c",
            "int f(void) {\n    printf(\"%d\\t%s\\n\", n, s);\n}\n",
            r#"    printf(\"%d\\t%s\\n\", n, s);\n"#,
            "    printf(\"%d\\t%s\\t%s\\n\", n, s, t);\n",
            Some("int f(void) {\n    printf(\"%d\\t%s\\t%s\\n\", n, s, t);\n}\n"),
        ),
        // In TeX, `\n` may begin a command.
        Row(
            "p.tex",
            "% eq\nIt is $x$.\nEnd.\n",
            "% eq\\nIt is $x$.",
            "% eq\\nIt is $x$ with $\\nu$.",
            None,
        ),
        Row(
            "p.tex",
            "% eq\nIt is $x$.\nEnd.\n",
            "% eq\\nIt is $x$.",
            "% eq\\nIt is $y$.",
            Some("% eq\nIt is $y$.\nEnd.\n"),
        ),
        // A gutter may lack its number.
        Row(
            "a.py",
            "def f():\n    a = 1\n    return a\n",
            " 2 |     a = 1\n 3 |     return a",
            " 2 |     a = 1\n   |     b = 2\n 3 |     return a",
            Some("def f():\n    a = 1\n    b = 2\n    return a\n"),
        ),
        // A number that is left on the first line of both strings.
        Row(
            "b.sh",
            "run() {\n  a\n}\nbuild() {\n  a\n  b\n}\n",
            "   4→build() {\n  a\n  b",
            "   4→# Build\nbuild() {\n  a\n  b",
            None,
        ),
        // One mark of a diff among lines without any.
        Row(
            "a.py",
            "class A:\n    a = 1\n    b = 2\n",
            "a = 1\nb = 2",
            "a = 1\n+c = 3\nb = 2",
            None,
        ),
    ]);
}

#[test]
fn lines_of_a_new_literal_are_not_indented_in_any_language() {
    check(&[
        Row(
            "a.php",
            "<?php\n    function f()\n    {\n        $x = 1;\n        return $x;\n    }\n",
            "function f()\n{\n    $x = 1;\n    return $x;\n}",
            "function f()\n{\n    $x = <<<EOT\nhi\nEOT;\n    return $x;\n}",
            Some(
                "<?php\n    function f()\n    {\n        $x = <<<EOT\nhi\nEOT;\n        return $x;\n    }\n",
            ),
        ),
        Row(
            "a.lua",
            "function A.f()\n  if x then\n    g(1)\n    h()\n  end\nend\n",
            "if x then\n  g(1)\n  h()\nend",
            "if x then\n  g([[\nhi\n there\n]])\n  h()\nend",
            Some("function A.f()\n  if x then\n    g([[\nhi\n there\n]])\n    h()\n  end\nend\n"),
        ),
        Row(
            "a.cs",
            "class A\n{\n    void F()\n    {\n        G(1);\n        H();\n    }\n}\n",
            "void F()\n{\n    G(1);\n    H();\n}",
            "void F()\n{\n    G(@\"\nhi\n there\n\");\n    H();\n}",
            Some(
                "class A\n{\n    void F()\n    {\n        G(@\"\nhi\n there\n\");\n        H();\n    }\n}\n",
            ),
        ),
    ]);
}

#[test]
fn an_addition_that_stands_there_is_seen_over_brackets() {
    let file = "module {\n    single<Base> {\n        BaseImpl()\n    }\n\n    single<Store> {\n        MemoryStore(get())\n    }\n\n    single<Catches> {\n        CatchesImpl(get())\n    }\n}\n";
    check(&[
        Row(
            "M.kt",
            file,
            "}\n\nsingle<Catches> {\n    CatchesImpl(get())\n}",
            "}\n\nsingle<Store> {\n    MemoryStore(get())\n}\n\nsingle<Catches> {\n    CatchesImpl(get(), get())\n}",
            None,
        ),
        // What goes on behind the quoted end stays with its line.
        Row(
            "u.h",
            "template <typename T>\nint f(T a) {\n}\n} // namespace A\n",
            "template &lt;typename T&gt;\nint f(T a) {\n}\n}",
            "template &lt;typename T&gt;\nint f(T a) {\n}\n}\n\nnamespace B {\n}",
            None,
        ),
    ]);
}

#[test]
fn a_changed_line_that_is_said_to_be_whole_is_whole() {
    check(&[
        Row(
            "e.py",
            "import q\nfrom a import B, C, D\nx = 1\n",
            "import q\n\nfrom a import B, C\n",
            "import q\n\nfrom a import B, E\n",
            None,
        ),
        // The statement goes on below.
        Row("e.js", "const a = b\n  .c();\n", "const a = b;\n", "const a = d;\n", None),
        Row("e.rs", "fn f() {\n    a.b()\n        .c();\n}\n", "a.b();\n", "a.x();\n", None),
        Row(
            "e.js",
            "const a = b\nf();\n",
            "const a = b;\n",
            "const a = d;\n",
            Some("const a = d\nf();\n"),
        ),
        Row("p.toml", "v = \"1.2.3-rc1\"\n", "v  = \"1.2.3", "v  = \"1.2.4", None),
        Row("o.yaml", "l:\n  - a\n  - b\n", "- a\n- b", "- a\n+ c", None),
    ]);
}

#[test]
fn dots_beside_a_statement_stand_for_code() {
    let file = "def r(job):\n    text = dumps({\"id\": job})\n    print(text)\n    return text\n";
    check(&[
        Row(
            "j.py",
            file,
            "    text = dumps({'id': job})\n    print(text)",
            "    ...\n    print(text, 1)",
            None,
        ),
        // As the body of a block they are code.
        Row(
            "j.py",
            file,
            "def r(job):\n    text = dumps({'id': job})\n    print(text)\n    return text",
            "def r(job):\n    ...",
            Some("def r(job):\n    ...\n"),
        ),
    ]);
}

#[test]
fn what_new_str_has_as_the_file_is_right() {
    check(&[
        // Its indentation.
        Row(
            "dc.yaml",
            "s:\n  db:\n    image: pg\n    volumes:\n      - data\n",
            "    volumes:\n    - data",
            "    ports:\n      - 5432\n    volumes:\n      - data",
            Some(
                "s:\n  db:\n    image: pg\n    ports:\n      - 5432\n    volumes:\n      - data\n",
            ),
        ),
        Row(
            "a.py",
            "if x:\n    a()\nb()\n",
            "if x:\n      a()\nb()",
            "if x:\n    a()\n    c()\nb()",
            Some("if x:\n    a()\n    c()\nb()\n"),
        ),
        // Its quotes, so that those of the changed line may be meant.
        Row(
            "de.po",
            "msgid \"Cancel\"\nmsgstr \"Ab\"\n",
            "msgid “Cancel”\nmsgstr “Ab”",
            "msgid \"Cancel\"\nmsgstr \"„Ab“\"",
            None,
        ),
        // Its characters, where old_str has entities.
        Row(
            "d.sh",
            "a && b\nc\n",
            "a &amp;&amp; b",
            "a && b; echo \"&lt;\"",
            Some("a && b; echo \"&lt;\"\nc\n"),
        ),
    ]);
}

#[test]
fn where_one_of_two_lines_is_right_new_ones_have_no_depth() {
    check(&[
        // `else` would go to the loop instead of the `try`.
        Row(
            "w.py",
            "while x:\n    try:\n        run()\n    except E:\n        log()\n\n    # next\n    sleep(1)\n",
            "        log()\n\n        # next",
            "        log()\n    else:\n        done()\n\n        # next",
            None,
        ),
        Row("a.ini", "[a]\nreq =\n    a\n    b\n", "    a\n      b", "    a\n    c\n      b", None),
        // A third line shows it.
        Row(
            "w.py",
            "while x:\n    try:\n        run()\n    except E:\n        log()\n        stop()\n",
            "    except E:\n            log()\n            stop()",
            "    except E:\n            log()\n            more()\n            stop()",
            Some(
                "while x:\n    try:\n        run()\n    except E:\n        log()\n        more()\n        stop()\n",
            ),
        ),
    ]);
}

#[test]
fn a_result_at_an_odd_depth_is_not_likelier_than_one_that_is_not() {
    let main = "if __name__ == \"__main__\":\n    main()\n";
    check(&[
        Row(
            "w.py",
            main,
            "if __name__ == \"__main__\":\n   main()",
            "if __name__ == \"__main__\":\n    try:\n        main()\n    except E:\n        pass",
            Some(
                "if __name__ == \"__main__\":\n    try:\n        main()\n    except E:\n        pass\n",
            ),
        ),
        Row(
            "a.ts",
            "function r() {\n    c = 0;\n}\n",
            "function r() {\n  c = 0;\n}",
            "function r() {\n    if (q) {\n        c = 0;\n    }\n}",
            Some("function r() {\n    if (q) {\n        c = 0;\n    }\n}\n"),
        ),
        // Only the first line of new_str has lost its indentation.
        Row(
            "a.go",
            "func f() error {\n\ta()\n\tb()\n\treturn nil\n}\n",
            "a()\nb()\nreturn nil",
            "x()\n\ta()\n\tb()\n\treturn nil",
            None,
        ),
        Row(
            "a.go",
            "func f() error {\n\ta()\n\tb()\n\treturn nil\n}\n",
            "a()\nb()\nreturn nil",
            "a()\nif x {\n\tb()\n}\nreturn nil",
            Some("func f() error {\n\ta()\n\tif x {\n\t\tb()\n\t}\n\treturn nil\n}\n"),
        ),
    ]);
}

#[test]
fn dead_code_seams_and_tabs_tell_maps_of_indentation_apart() {
    let class =
        "class A:\n    def f(self):\n        return 1\n\n    def g(self):\n        return 2\n";
    check(&[
        // The new method is right as sent, or one level too shallow like the rest.
        Row(
            "a.py",
            class,
            "def f(self):\n    return 1\n",
            "def f(self):\n    return 1\n\n    def h(self):\n        return 3\n",
            None,
        ),
        Row(
            "a.py",
            class,
            "def f(self):\n    return 1\n",
            "def f(self):\n    return 1\n\ndef h(self):\n    return 3\n",
            Some(
                "class A:\n    def f(self):\n        return 1\n\n    def h(self):\n        return 3\n\n    def g(self):\n        return 2\n",
            ),
        ),
        // `else` as deep as the lines inside has no `if`.
        Row(
            "a.py",
            "def f(x):\n    if x:\n        a()\n        b()\n    return x\n",
            "    a()\n    b()\n",
            "    a()\n    b()\n    else:\n        c()\n",
            None,
        ),
        // Kept lines are right, and new ones wrong like those of old_str.
        Row(
            "a.c",
            "int f(void)\n{\n    if (n) {\n        log(n);\n        return 1;\n    }\n    return 0;\n}\n",
            "            log(n);\n            return 1;\n",
            "        log(n);\n            log(m);\n            return 2;\n",
            Some(
                "int f(void)\n{\n    if (n) {\n        log(n);\n        log(m);\n        return 2;\n    }\n    return 0;\n}\n",
            ),
        ),
        Row(
            "a.py",
            class,
            "\tdef f(self):\n\t\treturn 1\n",
            "    def f(self):\n        return 1\n\n\tdef h(self):\n\t\treturn 3\n",
            Some(
                "class A:\n    def f(self):\n        return 1\n\n    def h(self):\n        return 3\n\n    def g(self):\n        return 2\n",
            ),
        ),
        // Kept lines are right as sent, and `else` may be as wrong as `old_str`, or that of the loop.
        Row(
            "a.py",
            "def f(rows):\n    for row in rows:\n        if row:\n            a()\n    return rows\n",
            "    if row:\n        a()\n",
            "        if row:\n            a()\n    else:\n        b()\n",
            None,
        ),
    ]);
}

/// A quote of one line behind its indentation does not show where further new lines are.
#[test]
fn lines_below_a_quote_behind_its_indentation_are_not_at_the_margin() {
    let file = "function f() {\n    x(\"a\");\n}\n";
    check(&[
        Row(
            "a.js",
            file,
            "x(\\\"a\\\");",
            "x(\\\"a\\\");\nz(\\\"b\\\");",
            Some("function f() {\n    x(\"a\");\n    z(\"b\");\n}\n"),
        ),
        Row(
            "a.py",
            "def f(app):\n    one(app)\n    audit(app)\n    two(app)\n    three(app)\n",
            "  one(app)\n  two(app)\n  three(app)\n",
            "  one(app)\n  audit(app)\n  two(app)\n  three(app)\n",
            None,
        ),
    ]);
}

/// A quote without any indentation does not show how deep new lines are.
#[test]
fn a_flat_quote_shows_no_levels() {
    let file = "function f() {\n  a();\n  if (x) {\n    b(1);\n    c(2);\n  }\n  d();\n}\n";
    check(&[
        Row("a.js", file, "if (x) {\nb(1);\nc(2);\n}", "b(1);\nc(2);", None),
        Row(
            "a.js",
            file,
            "if (x) {\nb(1);\nc(2);\n}",
            "if (x) {\nb(1);\nc(3);\n}",
            Some("function f() {\n  a();\n  if (x) {\n    b(1);\n    c(3);\n  }\n  d();\n}\n"),
        ),
    ]);
}

/// The blank line that the file has at a change is that of the call.
#[test]
fn a_blank_line_at_a_change_is_neither_lost_nor_doubled() {
    check(&[
        Row(
            "a.css",
            "a {\n  color: red;\n\nb {\n",
            "a {\n  color: red;\n\n\nb {\n",
            "a {\n  color: red;\n}\n\nb {\n",
            Some("a {\n  color: red;\n}\n\nb {\n"),
        ),
        Row(
            "a.kt",
            "import a.Dp\nimport b.Sp\n\n@Composable\nfun f() {}\n",
            "import a.Dp\nimport b.Sp\n@Composable\nfun f() {}\n",
            "import a.Dp\nimport b.Sp\n\n@Composable2\nfun f() {}\n",
            Some("import a.Dp\nimport b.Sp\n\n@Composable2\nfun f() {}\n"),
        ),
        Row(
            "a.md",
            "aaa\n\nbbb\n",
            "aaa\n\n\n\nbbb\n",
            "ccc(5)\n\nddd(6)\n",
            Some("ccc(5)\n\nddd(6)\n"),
        ),
    ]);
}

#[test]
fn what_the_call_itself_has_at_odd_depths_says_nothing_against_a_map() {
    check(&[
        Row(
            "a.py",
            "def main():\n    p.add(\"--a\",\n          help=\"x\")\n    run(p)\n",
            "p.add(\"--a\",\n      help=\"x\")\n",
            "p.add(\"--a\",\n      help=\"x\")\np.add(\"--b\",\n      help=\"y\")\n",
            Some(
                "def main():\n    p.add(\"--a\",\n          help=\"x\")\n    p.add(\"--b\",\n          help=\"y\")\n    run(p)\n",
            ),
        ),
        // Keys without a value, and names that are words of other languages.
        Row(
            "c.yml",
            "a:\n  volumes:\n    data:\n    cache:\n",
            "  data:\n  cache:\n",
            "  data:\n  cache:\n  logs:\n",
            Some("a:\n  volumes:\n    data:\n    cache:\n    logs:\n"),
        ),
        Row(
            "a.py",
            "def f(a):\n    start = a\n    end = a\n    return end\n",
            "start = a\nend = a\n",
            "start = a\nend = a + 1\ndone = a\nend += 1\n",
            Some(
                "def f(a):\n    start = a\n    end = a + 1\n    done = a\n    end += 1\n    return end\n",
            ),
        ),
    ]);
}

#[test]
fn what_looks_like_a_line_number_may_be_the_lines_own() {
    let cases = "let f = function\n  | A -> 1\n  | B -> 2\n";
    let names = "M = {\n    200: ok,\n    404: no,\n}\n";
    check(&[
        Row("a.ml", cases, "2 |   | A -> 1", "2 |   | A -> 1\n  | C -> 3", None),
        // A gutter of blanks, where a line behind it is as deep as others.
        Row(
            "a.py",
            "def f():\n    a = 1\n    return a\n",
            "2:     a = 1\n3:     return a",
            "2:     a = 1\n       b = 2\n3:     return a",
            Some("def f():\n    a = 1\n    b = 2\n    return a\n"),
        ),
        Row(
            "a.ml",
            cases,
            "2 |   | A -> 1",
            "2 |   | A -> 1\n3 |   | C -> 3",
            Some("let f = function\n  | A -> 1\n  | C -> 3\n  | B -> 2\n"),
        ),
        Row(
            "m.py",
            names,
            "1: M = {\n2:     200: ok,",
            "1: M = {\n2:     200: ok,\n    301: moved,",
            None,
        ),
        Row(
            "m.py",
            names,
            "1: M = {\n2:     200: ok,",
            "1: M = {\n2:     200: ok,\n3:     301: moved,",
            Some("M = {\n    200: ok,\n    301: moved,\n    404: no,\n}\n"),
        ),
    ]);
}

#[test]
fn an_escape_that_may_be_the_texts_own_is_a_guess() {
    let uses = "<?php\nuse App\\Models\\User;\n\nclass A {}\n";
    let list = "<ul>\n  <li>One</li>\n</ul>\n";
    check(&[
        Row(
            "a.php",
            uses,
            "use App\\Models\\User;\\n",
            "use App\\Models\\User;\\nuse App\\Traits\\tags;\\n",
            None,
        ),
        Row(
            "a.php",
            uses,
            "use App\\Models\\User;\\n",
            "use App\\Models\\User;\\nuse App\\Traits\\Tags;\\n",
            Some("<?php\nuse App\\Models\\User;\nuse App\\Traits\\Tags;\n\nclass A {}\n"),
        ),
        Row(
            "i.html",
            list,
            "  &lt;li&gt;One&lt;/li&gt;",
            "  &lt;li&gt;One &amp; a half&lt;/li&gt;",
            None,
        ),
        Row(
            "i.html",
            list,
            "  &lt;li&gt;One&lt;/li&gt;",
            "  &lt;li&gt;Two&lt;/li&gt;",
            Some("<ul>\n  <li>Two</li>\n</ul>\n"),
        ),
        // `\"` in the file shows that backslashes are not doubled.
        Row(
            "p.json",
            "{\n  \"a\": \"x\",\n  \"b\": \"y \\\"z\\\"\"\n}\n",
            "  \"a\": \"x\",\\n  \"b\": \"y \\\"z\\\"\"",
            "  \"a\": \"x\",\\n  \"b\": \"y \\\"z\\\"\",\\n  \"c\": \"a\\\\nb\"",
            Some("{\n  \"a\": \"x\",\n  \"b\": \"y \\\"z\\\"\",\n  \"c\": \"a\\\\nb\"\n}\n"),
        ),
    ]);
}

#[test]
fn escapes_that_look_odd_are_only_written_where_the_call_is_exact() {
    let file = "class S:\n    def f(self):\n        self.a = 1\n        self.b = 2\n";
    check(&[
        // Where all of a line is escaped behind its indentation, it is undone as a whole.
        Row(
            "a.go",
            "package m\n\nfunc f() {\n\ta := 1\n}\n",
            "\ta := 1\n",
            "\ta := 1\n\tb := \\\"x\\\\n\\\"\n",
            Some("package m\n\nfunc f() {\n\ta := 1\n\tb := \"x\\n\"\n}\n"),
        ),
        // The line that comes out of the escape has the depth of the call.
        Row(
            "s.py",
            file,
            "    self.a = 1\n    self.b = 2\n",
            "    self.a = 1\\n    self.c = 3\n    self.b = 2\n",
            None,
        ),
        Row(
            "s.lua",
            "local M = {}\nfunction M.f()\n  x = 1\nend\n",
            "    x = 1",
            "    x = 1\\n    y = 2",
            None,
        ),
        Row(
            "s.py",
            file,
            "    self.a = 1\n    self.b = 2\n",
            "    self.a = 1\n    self.c = 3\n    self.b = 2\n",
            Some(
                "class S:\n    def f(self):\n        self.a = 1\n        self.c = 3\n        self.b = 2\n",
            ),
        ),
        Row(
            "s.lua",
            "local M = {}\nfunction M.f()\n  x = 1\nend\n",
            "    x = 1",
            "    x = 1\n    y = [[a\\n]]",
            Some("local M = {}\nfunction M.f()\n  x = 1\n  y = [[a\\n]]\nend\n"),
        ),
    ]);
}

#[test]
fn a_character_that_new_str_has_both_encoded_and_bare_is_unclear() {
    check(&[
        Row(
            "a.c",
            "if (a && b) {\n  run(a);\n}\n",
            "if (a &amp;&amp; b) {\n",
            "if (a &amp;&amp; b &amp;&amp; c & 3) {\n",
            None,
        ),
        Row(
            "a.js",
            "if (a < b) {\n  run(a);\n}\n",
            "if (a &lt; b) {\n",
            "if (a &lt; b) {\n  s = s.replace(/</g, \"&lt;\");\n",
            None,
        ),
        Row(
            "a.c",
            "if (a && b) {\n  run(a);\n}\n",
            "if (a &amp;&amp; b) {\n",
            "if (a &amp;&amp; b &amp;&amp; c) {\n",
            Some("if (a && b && c) {\n  run(a);\n}\n"),
        ),
    ]);
}
