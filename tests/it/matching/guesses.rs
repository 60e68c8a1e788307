//! What the call does not show is a guess, and refused; beside each guess, a call that shows it.

use restitch::EditRequest;
use restitch::edit::Expected;

use super::apply;
use super::forbidden::{REFUSED, calls};

#[test]
fn white_space_that_both_sides_change_is_a_guess() {
    calls! {
        "e.py": "q = f(t)  # (B, N, 32)\n", "q = f(t)  # (B, N,32)", "q = f(t)  # (B,N,32)" => REFUSED;
        "a.js": "return f(a, b, c);\n", "return f(a, b,c);", "return f(a,b,c);" => REFUSED;
        "a.js": "return a + b;\n", "return a+b;", "return `${a}+b`;" => REFUSED;
        "a.py": "x = a + b\n", "x = a+b", "x = \"a+b\"" => REFUSED;
        "a.js": "return f(a, b, c);\n", "return f(a, b,c);", "return f(a, b,d);" => "return f(a, b, d);\n";
        // The closing mark that only the file has may stay, or not.
        "a.js": "let total = a+b;\nnext();\n", "let total = a + b", "let total = a+b" => REFUSED;
        "a.go": "x := T{\n\tA: f(1,2),\n}\n", "A: f(1, 2)", "A: f(1,2)" => REFUSED;
        "a.js": "let total = a + b;\nnext();\n", "let total = a + b", "let total = a+b" => "let total = a+b;\nnext();\n";
        // A closing mark of the file is not put behind a comment.
        "a.ts": "f();\nconst a = g(x);\n", "f()\nconst a = g(x)", "f()\nconst a = g(x) // note"
            => "f();\nconst a = g(x); // note\n";
        "a.js": "const r = /a b/;\n", "const r = /a  b/;", "const r = /ab/;" => REFUSED;
    }
}

#[test]
fn a_line_does_not_move_over_a_placeholder() {
    let file = "def f(n):\n    # all at once\n    with open(n) as h:\n        d = h.read()\n    log(d)\n    return d\n";
    calls! {
        "a.py": file, "    # all at once\n    # ... existing code ...\n    return d", "    # ... existing code ...\n    # all at once\n    return d" => REFUSED;
        "a.js": "function f(n) {\n  start(n);\n  const a = 1;\n  log(a);\n  return n;\n}\n", "  start(n);\n  // ... existing code ...\n  return n;", "  // ... existing code ...\n  start(n);\n  return n;" => REFUSED;
        "a.js": "a() {\n  one();\n  two();\n}\n\nb() {\n  three();\n  four();\n}\n", "a() {\n// ... existing code ...\n}\n\nb() {\n// ... existing code ...\n}", "b() {\n// ... existing code ...\n}\n\na() {\n// ... existing code ...\n}" => REFUSED;
        "a.py": file, "    # all at once\n    # ... existing code ...\n    return d", "    # in one go\n    # ... existing code ...\n    return d" => "def f(n):\n    # in one go\n    with open(n) as h:\n        d = h.read()\n    log(d)\n    return d\n";
    }
}

#[test]
fn new_str_alone_may_have_lost_its_indentation() {
    calls! {
        // The first line only.
        "a.css": "p {\n  top: 1px;\n  left: 2px;\n\n}\n", "  top: 1px;\n  left: 2px;\n}", "top: 1px;\n  left: 2px;\n  right: 3px;\n}" => REFUSED;
        "a.rs": "fn f() {\n    a( 1);\n    b(2);\n}\n", "    a(1);\n    b(2);", "a(1);\n    b(2);\n    c(3);" => REFUSED;
        // All lines, and none of them is in old_str.
        "a.py": "while x:\n    items = f(p)\n    if not items :\n        break\n", "    if not items:\n        break", "if items:\n    save(items)" => REFUSED;
        "t.ts": "class T {\n    now(): number {\n        const n = f();\n        return n;\n    }\n}\n", "\tnow(): number {\n\t\tconst n = f();\n\t\treturn n;\n\t}", "now(): number {\nconst n = g();\nreturn n;\n}" => REFUSED;
        "a.go": "func a() {\n\tx()\n\tif y {\n\t\tz()\n\t}\n}\n", "    x()\n    if y {\n        z()\n    }", "x()\nif y {\nw()\n}" => REFUSED;
        "a.go": "func a() {\n\tx()\n\tif y {\n\t\tz()\n\t}\n}\n", "x()\nif y {\n    z()\n}", "x()\nif y {\n    w()\n}" => "func a() {\n\tx()\n\tif y {\n\t\tw()\n\t}\n}\n";
        // One line of old_str without its indentation, below which new_str has all of it.
        "a.py": "class A:\n    def f(self):\n        x = g('a', 1)\n        return x\n", "x = g('a',1)", "if z:\n            x = g('a', 2)\n        y = h(x)" => REFUSED;
        "a.py": "class A:\n    def f(self):\n        x = g('a', 1)\n        return x\n", "x = g('a',1)", "if z:\n    x = g('a', 2)\ny = h(x)" => "class A:\n    def f(self):\n        if z:\n            x = g('a', 2)\n        y = h(x)\n        return x\n";
        // Nothing but the depth differs, and the file has it already.
        "a.rs": "fn t() {\n        let p = new(1);\n\n        is(p.id, 1);\n}\n", "let p = new(1);\n\nis(p.id, 1);\n", "        let p = new(1);\n\n        is(p.id, 1);\n" => REFUSED;
    }
}

#[test]
fn levels_of_another_width_in_new_str_alone_are_a_guess() {
    let java = "class A {\n    void f() {\n        g(1);\n        h(2);\n    }\n}\n";
    calls! {
        "w.py": "def f():\n    for x in y:\n        if x:\n            a()\n        b()\n", "    if x:\n        a()\n    b()\n", "  if x:\n    a()\n    c()\n  b()\n" => REFUSED;
        "A.java": java, "2\t    void f() {\n3\t        g(1);\n4\t        h(2);\n5\t    }", "  void f() {\n    g(1);\n    k(3);\n    h(2);\n  }" => REFUSED;
        "a.py": "def f(xs):\n    for x in xs:\n        if x:\n            b(x)\n", "  for x in xs:\n    if x:\n      b(x)", "\tfor x in xs:\n\t\tif x:\n\t\t\td(x)" => REFUSED;
        // A level of one space is one, too.
        "a.yaml": "a:\n  b:\n    c: 1\n    d:\n      e: 2\n", " b:\n  c: 1\n  d:\n   e: 2", " b:\n  c: 1\n  d:\n   e: 2\n   f:\n    g: 3" => "a:\n  b:\n    c: 1\n    d:\n      e: 2\n      f:\n        g: 3\n";
    }
}

#[test]
fn what_the_call_moves_has_the_form_of_the_file() {
    calls! {
        "a.ts": "open();\nsetUrl(null);\nsetId(null);\nclose();\n", "open();\nsetUrl( null);\nsetId(null);\nclose();", "open();\nsetId(null);\nlog();\nsetUrl( null);\nclose();" => "open();\nsetId(null);\nlog();\nsetUrl(null);\nclose();\n";
        "a.toml": "[d]\nb = { v = \"1\", f = [\"x\"] }\na = \"1\"\nz = \"2\"\n", "b = { v = \"1\", f = [\"x\"]}\na = \"1\"\nz = \"2\"", "a = \"1\"\nc = \"3\"\nb = { v = \"1\", f = [\"x\"]}\nz = \"2\"" => "[d]\na = \"1\"\nc = \"3\"\nb = { v = \"1\", f = [\"x\"] }\nz = \"2\"\n";
    }
}

#[test]
fn half_encoded_texts_are_read_as_the_call_shows() {
    calls! {
        "a.tsx": "<p>{a && b}</p>\n", "&lt;p&gt;{a &amp;&amp; b}&lt;/p&gt;", "&lt;p&gt;{a &amp;&amp; b} &copy;&lt;/p&gt;" => "<p>{a && b} &copy;</p>\n";
        "a.tsx": "<p>{a && b}</p>\n", "<p>{a &amp;&amp; b}</p>", "<p>{a && b} &lt;3</p>" => REFUSED;
        "U.js": "function U() {\n  const s = use<D>('x');\n}\n", "  const s = use&lt;D&gt;('x');", "  const t = ctx(S);\\n  const s = use&lt;D&gt;('x');" => "function U() {\n  const t = ctx(S);\n  const s = use<D>('x');\n}\n";
        // Fewer backslashes than old_str ever has: new_str is right as it is.
        "c.php": "<?php\nreturn ltrim($class, '\\\\');\n", "return ltrim($class, '\\\\\\\\');", "return ltrim($raw, '\\\\');" => "<?php\nreturn ltrim($raw, '\\\\');\n";
        "w.h": "#define SEP L'\\\\'\n#define ALT L'/'\n", "#define SEP L'\\\\\\\\'\n#define ALT L'/'", "#  define SEP L'\\\\'\n#  define ALT L'/'" => "#  define SEP L'\\\\'\n#  define ALT L'/'\n";
        // One line of old_str that was escaped shows how two of new_str are.
        "f.c": "int f(void) {\n    printf(\"a\\n\");\n}\n", r#"    printf(\"a\\n\");"#, r#"    printf(\"a\\n\");\n    printf(\"c\\n\");"# => "int f(void) {\n    printf(\"a\\n\");\n    printf(\"c\\n\");\n}\n";
        // Bare quotes, where old_str has only escaped ones: new_str is right as it is.
        "f.c": "int f(void) {\n    printf(\"%d\\t%s\\n\", n, s);\n}\n", r#"    printf(\"%d\\t%s\\n\", n, s);\n"#, "    printf(\"%d\\t%s\\t%s\\n\", n, s, t);\n" => "int f(void) {\n    printf(\"%d\\t%s\\t%s\\n\", n, s, t);\n}\n";
        // In TeX, `\n` may begin a command.
        "p.tex": "% eq\nIt is $x$.\nEnd.\n", "% eq\\nIt is $x$.", "% eq\\nIt is $x$ with $\\nu$." => REFUSED;
        "p.tex": "% eq\nIt is $x$.\nEnd.\n", "% eq\\nIt is $x$.", "% eq\\nIt is $y$." => "% eq\nIt is $y$.\nEnd.\n";
        // A gutter may lack its number.
        "a.py": "def f():\n    a = 1\n    return a\n", " 2 |     a = 1\n 3 |     return a", " 2 |     a = 1\n   |     b = 2\n 3 |     return a" => "def f():\n    a = 1\n    b = 2\n    return a\n";
        // A number that is left on the first line of both strings.
        "b.sh": "run() {\n  a\n}\nbuild() {\n  a\n  b\n}\n", "   4→build() {\n  a\n  b", "   4→# Build\nbuild() {\n  a\n  b" => REFUSED;
        // One mark of a diff among lines without any.
        "a.py": "class A:\n    a = 1\n    b = 2\n", "a = 1\nb = 2", "a = 1\n+c = 3\nb = 2" => REFUSED;
    }
}

#[test]
fn what_may_be_the_texts_own_is_not_undone() {
    calls! {
        // The quotes of new_str are right, but its breaks are escaped.
        "a.py": "x = a.join(\"\\t\")\ny = 1\n", r#"x = a.join(\"\\t\")\ny = 1\n"#, r#"x = a.join("\t").replace("\\n", "")\ny = 1\n"# => REFUSED;
        "a.rs": "let x = \"a\\n\";\nlet y = 1;\n", r#"let x = \"a\\n\";\nlet y = 1;\n"#, r#"let x = "a\n".to_owned() + "\\";\nlet y = 1;\n"# => REFUSED;
        // The breaks are right, and backslashes doubled.
        "w.py": "s = \"\\t\".join(r)\nout(s)\n", "s = \"\\\\t\".join(r)\\nout(s)\n", "s = \"\\\\t\".join(r)\nlog(\"\\\\d\")\nout(s)\n" => REFUSED;
        // All as a serialiser writes it.
        "c.toml": "a = [\"b\"]\nd = \"One.\\n\"\nh = 1\n", r#"a = [\"b\"]\nd = \"One.\\n\""#, r#"a = [\"b\"]\nd = \"\"\"\nOne.\n\"\"\""# => "a = [\"b\"]\nd = \"\"\"\nOne.\n\"\"\"\nh = 1\n";
        // A line that goes on behind a backslash.
        "m.py": "def f():\n    x = a\n    return x\n", r"    x = a\n    return x", r"    x = a + \\n        b\n    return x" => REFUSED;
        "m.sh": "one two\nthree four\n", r"one two\nthree four\n", r"one \\n  two\nthree four\n" => REFUSED;
        "core.c": "#ifdef D\n\tputs(\"debug\");\n#endif\n", "\tputs(\\\"debug\\\");\\n#endif\n", "\tputs(\\\"debug\\\");\\n\tputs(\\\"more\\\\n\\\");\\n#endif\n" => "#ifdef D\n\tputs(\"debug\");\n\tputs(\"more\\n\");\n#endif\n";
        // A comment that goes on behind what looks like a break.
        "c.ts": "let a = 1;\nlet b = 2;\n", "let a = 1;\n", "let a = 1;\\n// keep \\n here\nlet c = 3;\n" => "let a = 1;\\n// keep \\n here\nlet c = 3;\nlet b = 2;\n";
    }
}

#[test]
fn a_mark_that_the_call_lacks_may_be_due_in_a_new_line() {
    let file = "function f(a) {\n    if (!a) {\n        throw new Error('empty');\n    }\n    let b = a[0];\n}\n";
    calls! {
        "a.js": file, "    if (!a) {\n        throw new Error('empty')\n    }\n    let b = a[0]", "    if (!a) {\n        return null\n    }\n    let b = a[0]" => REFUSED;
        "a.rs": "fn f() {\n    one();\n    two(a);\n    three(b);\n}\n", "    two(a)\n", "    return\n" => REFUSED;
        // It is due where the statement ends.
        "a.rs": "fn f() {\n    one();\n    two(a);\n    three(b);\n    four();\n}\n", "two(a)\nthree(b)\nfour()", "let q = vec![\n    1,\n    2,\n]\nfour()" => REFUSED;
        // What is like the old line is a change of it.
        "a.php": "<?php\n$x = 1;\nsend($x);\nend($x);\n", "$x = 1\nsend($x)\nend($x)", "$x = 1\nlog('b')\nend($x)" => "<?php\n$x = 1;\nlog('b');\nend($x);\n";
        // A new line that opens something takes none.
        "a.js": file, "    if (!a) {\n        throw new Error('empty')\n    }\n    let b = a[0]", "    if (!a) {\n        while (wait())\n            tick();\n    }\n    let b = a[0]" => "function f(a) {\n    if (!a) {\n        while (wait())\n            tick();\n    }\n    let b = a[0];\n}\n";
    }
}

#[test]
fn a_place_whose_word_has_changed_is_not_passed_over_for_a_twin() {
    calls! {
        // The text of the call ends inside a word of the first place.
        "c.yml": "- with:\n    name: build\n    args: -f one_more\n- deep:\n    with:\n        name: build\n        args: -f one\n", "    name: build\n    args: -f one", "    name: test\n    args: -f two" => REFUSED;
        "a.rs": "enum A {\n    /// 13\n    ThirteenMore,\n    /// 14\n    Fourteen,\n}\nmod b {\n    enum A {\n        /// 13\n        Thirteen,\n        /// 14\n    }\n}\n", "    /// 13\n    Thirteen,\n    /// 14", "    /// 13\n    Thirteen = 12,\n    /// 14" => REFUSED;
        "s.py": "setup(\n    x=[\n    ],\n    suite='testsNew',\n)\nsetup(\n    x=[\n    ], \n    suite='tests', \n) \n", "    ],\n    suite='tests',\n)", "    ],\n    suite='all',\n)" => REFUSED;
        // Without a twin it is exact.
        "a.yml": "a:\n  name: build\n  args: one_more\n", "  name: build\n  args: one", "  name: test\n  args: two" => "a:\n  name: test\n  args: two_more\n";
    }
}

#[test]
fn a_changed_line_as_deep_as_in_the_file_may_be_right() {
    calls! {
        "m.py": "def f():\n\t\"\"\"Doc.\n\t>>> g(1)\n\t{'w': 0}\n\t>>> g(2)\n\t{'w': 1}\n\t\"\"\"\n", ">>> g(1)\n{'w': 0}\n>>> g(2)\n{'w': 1}", ">>> g(1)\n\t{'w': 0.0}\n>>> g(2)\n{'w': 1}" => REFUSED;
        // Nothing shows how wide a tab is.
        "l.rs": "fn main() {\n    let a = open(\"any\").unwrap();\n    let b = 1;\n}\n", "\tlet a = open(\"any\").unwrap();\n\tlet b = 1;", "\tlet a = open(\"any\")\n\t\t.unwrap();\n\tlet b = 1;" => "fn main() {\n    let a = open(\"any\")\n        .unwrap();\n    let b = 1;\n}\n";
        // The only line that stays in its place closes another block.
        "c.js": "function f() {\n        for (;;) {\n          check();\n        }\n        algorithms.compress = list;\n      }\n", "    }\n    algorithms.compress = list;\n  }\n", "  }\n  verify = (key) => {\n    if (hasher) {\n      key = digest('hex');\n    }\n    const ret = hash(key);\n  };\n}\n" => REFUSED;
    }
}

#[test]
fn a_quote_of_two_places_is_refused() {
    let file = "fn head() {\n    start();\n}\n\nfn a() {\n    one();\n    two();\n    three();\n    four();\n    five();\n    six();\n    seven();\n    eight();\n    nine();\n    ten();\n}\n";
    calls! {
        "a.rs": file, "fn head() {\n  one();\n  two();\n  three();\n  four();\n  five();\n  six();\n  seven();\n  eight();\n  nine();\n  ten();\n}", "fn head() {\n  one();\n  two();\n  three();\n  four();\n  fünf();\n  six();\n  seven();\n  eight();\n  nine();\n  ten();\n}" => REFUSED;
    }
}

#[test]
fn lines_of_a_new_literal_are_not_indented_in_any_language() {
    calls! {
        "a.php": "<?php\n    function f()\n    {\n        $x = 1;\n        return $x;\n    }\n", "function f()\n{\n    $x = 1;\n    return $x;\n}", "function f()\n{\n    $x = <<<EOT\nhi\nEOT;\n    return $x;\n}" => "<?php\n    function f()\n    {\n        $x = <<<EOT\nhi\nEOT;\n        return $x;\n    }\n";
        "a.lua": "function A.f()\n  if x then\n    g(1)\n    h()\n  end\nend\n", "if x then\n  g(1)\n  h()\nend", "if x then\n  g([[\nhi\n there\n]])\n  h()\nend" => "function A.f()\n  if x then\n    g([[\nhi\n there\n]])\n    h()\n  end\nend\n";
        "a.cs": "class A\n{\n    void F()\n    {\n        G(1);\n        H();\n    }\n}\n", "void F()\n{\n    G(1);\n    H();\n}", "void F()\n{\n    G(@\"\nhi\n there\n\");\n    H();\n}" => "class A\n{\n    void F()\n    {\n        G(@\"\nhi\n there\n\");\n        H();\n    }\n}\n";
    }
}

#[test]
fn an_addition_that_stands_there_is_seen_over_brackets() {
    let file = "module {\n    single<Base> {\n        BaseImpl()\n    }\n\n    single<Store> {\n        MemoryStore(get())\n    }\n\n    single<Catches> {\n        CatchesImpl(get())\n    }\n}\n";
    calls! {
        "M.kt": file, "}\n\nsingle<Catches> {\n    CatchesImpl(get())\n}", "}\n\nsingle<Store> {\n    MemoryStore(get())\n}\n\nsingle<Catches> {\n    CatchesImpl(get(), get())\n}" => REFUSED;
        // What goes on behind the quoted end stays with its line.
        "u.h": "template <typename T>\nint f(T a) {\n}\n} // namespace A\n", "template &lt;typename T&gt;\nint f(T a) {\n}\n}", "template &lt;typename T&gt;\nint f(T a) {\n}\n}\n\nnamespace B {\n}" => REFUSED;
    }
}

#[test]
fn a_changed_line_that_is_said_to_be_whole_is_whole() {
    calls! {
        "e.py": "import q\nfrom a import B, C, D\nx = 1\n", "import q\n\nfrom a import B, C\n", "import q\n\nfrom a import B, E\n" => REFUSED;
        // The statement goes on below.
        "e.js": "const a = b\n  .c();\n", "const a = b;\n", "const a = d;\n" => REFUSED;
        "e.rs": "fn f() {\n    a.b()\n        .c();\n}\n", "a.b();\n", "a.x();\n" => REFUSED;
        "e.js": "const a = b\nf();\n", "const a = b;\n", "const a = d;\n" => "const a = d\nf();\n";
        "p.toml": "v = \"1.2.3-rc1\"\n", "v  = \"1.2.3", "v  = \"1.2.4" => REFUSED;
        "o.yaml": "l:\n  - a\n  - b\n", "- a\n- b", "- a\n+ c" => REFUSED;
    }
}

#[test]
fn a_comment_that_says_nothing_of_the_code_stands_for_some() {
    let go = "func f() {\n\ta := g()\n\tif a {\n\t\th()\n\t}\n\tk(a)\n}\n";
    for left_out in ["// snip", "// code omitted for brevity", "// -- snip --", "// . . .", "..."] {
        let new = format!("func f() {{\n  {left_out}\n  k(b)\n}}");
        let call = EditRequest::new(go.replace('\t', "  "), new).for_path("a.go");
        assert!(apply(go, &call).is_err(), "{left_out}");
    }
    calls! {
        // Budgets and sums are of the code.
        "a.py": "def f(x):\n    a = x\n    b = a\n    return b\n", "  a = x\n  b = a\n", "  # The remaining budget stays in cents.\n  b = x\n" => "def f(x):\n    # The remaining budget stays in cents.\n    b = x\n    return b\n";
    }
}

#[test]
fn dots_beside_a_statement_stand_for_code() {
    let file = "def r(job):\n    text = dumps({\"id\": job})\n    print(text)\n    return text\n";
    calls! {
        "j.py": file, "    text = dumps({'id': job})\n    print(text)", "    ...\n    print(text, 1)" => REFUSED;
        // As the body of a block they are code.
        "j.py": file, "def r(job):\n    text = dumps({'id': job})\n    print(text)\n    return text", "def r(job):\n    ..." => "def r(job):\n    ...\n";
    }
}

#[test]
fn what_new_str_has_as_the_file_is_right() {
    calls! {
        // Its indentation.
        "dc.yaml": "s:\n  db:\n    image: pg\n    volumes:\n      - data\n", "    volumes:\n    - data", "    ports:\n      - 5432\n    volumes:\n      - data" => "s:\n  db:\n    image: pg\n    ports:\n      - 5432\n    volumes:\n      - data\n";
        "a.py": "if x:\n    a()\nb()\n", "if x:\n      a()\nb()", "if x:\n    a()\n    c()\nb()" => "if x:\n    a()\n    c()\nb()\n";
        // Its quotes, so that those of the changed line may be meant.
        "de.po": "msgid \"Cancel\"\nmsgstr \"Ab\"\n", "msgid “Cancel”\nmsgstr “Ab”", "msgid \"Cancel\"\nmsgstr \"„Ab“\"" => REFUSED;
        // Its characters, where old_str has entities.
        "d.sh": "a && b\nc\n", "a &amp;&amp; b", "a && b; echo \"&lt;\"" => "a && b; echo \"&lt;\"\nc\n";
    }
}

#[test]
fn where_one_of_two_lines_is_right_new_ones_have_no_depth() {
    calls! {
        // `else` would go to the loop instead of the `try`.
        "w.py": "while x:\n    try:\n        run()\n    except E:\n        log()\n\n    # next\n    sleep(1)\n", "        log()\n\n        # next", "        log()\n    else:\n        done()\n\n        # next" => REFUSED;
        "a.ini": "[a]\nreq =\n    a\n    b\n", "    a\n      b", "    a\n    c\n      b" => REFUSED;
        // A third line shows it.
        "w.py": "while x:\n    try:\n        run()\n    except E:\n        log()\n        stop()\n", "    except E:\n            log()\n            stop()", "    except E:\n            log()\n            more()\n            stop()" => "while x:\n    try:\n        run()\n    except E:\n        log()\n        more()\n        stop()\n";
    }
}

#[test]
fn a_result_at_an_odd_depth_is_not_likelier_than_one_that_is_not() {
    let main = "if __name__ == \"__main__\":\n    main()\n";
    calls! {
        "w.py": main, "if __name__ == \"__main__\":\n   main()", "if __name__ == \"__main__\":\n    try:\n        main()\n    except E:\n        pass" => "if __name__ == \"__main__\":\n    try:\n        main()\n    except E:\n        pass\n";
        "a.ts": "function r() {\n    c = 0;\n}\n", "function r() {\n  c = 0;\n}", "function r() {\n    if (q) {\n        c = 0;\n    }\n}" => "function r() {\n    if (q) {\n        c = 0;\n    }\n}\n";
        // Only the first line of new_str has lost its indentation.
        "a.go": "func f() error {\n\ta()\n\tb()\n\treturn nil\n}\n", "a()\nb()\nreturn nil", "x()\n\ta()\n\tb()\n\treturn nil" => REFUSED;
        "a.go": "func f() error {\n\ta()\n\tb()\n\treturn nil\n}\n", "a()\nb()\nreturn nil", "a()\nif x {\n\tb()\n}\nreturn nil" => "func f() error {\n\ta()\n\tif x {\n\t\tb()\n\t}\n\treturn nil\n}\n";
    }
}

#[test]
fn dead_code_seams_and_tabs_tell_maps_of_indentation_apart() {
    let class =
        "class A:\n    def f(self):\n        return 1\n\n    def g(self):\n        return 2\n";
    calls! {
        // The new method is right as sent, or one level too shallow like the rest.
        "a.py": class, "def f(self):\n    return 1\n", "def f(self):\n    return 1\n\n    def h(self):\n        return 3\n" => REFUSED;
        "a.py": class, "def f(self):\n    return 1\n", "def f(self):\n    return 1\n\ndef h(self):\n    return 3\n" => "class A:\n    def f(self):\n        return 1\n\n    def h(self):\n        return 3\n\n    def g(self):\n        return 2\n";
        // `else` as deep as the lines inside has no `if`.
        "a.py": "def f(x):\n    if x:\n        a()\n        b()\n    return x\n", "    a()\n    b()\n", "    a()\n    b()\n    else:\n        c()\n" => REFUSED;
        // Kept lines are right, and new ones wrong like those of old_str.
        "a.c": "int f(void)\n{\n    if (n) {\n        log(n);\n        return 1;\n    }\n    return 0;\n}\n", "            log(n);\n            return 1;\n", "        log(n);\n            log(m);\n            return 2;\n" => "int f(void)\n{\n    if (n) {\n        log(n);\n        log(m);\n        return 2;\n    }\n    return 0;\n}\n";
        "a.py": class, "\tdef f(self):\n\t\treturn 1\n", "    def f(self):\n        return 1\n\n\tdef h(self):\n\t\treturn 3\n" => "class A:\n    def f(self):\n        return 1\n\n    def h(self):\n        return 3\n\n    def g(self):\n        return 2\n";
        // Kept lines are right as sent, and `else` may be as wrong as `old_str`, or that of the loop.
        "a.py": "def f(rows):\n    for row in rows:\n        if row:\n            a()\n    return rows\n", "    if row:\n        a()\n", "        if row:\n            a()\n    else:\n        b()\n" => REFUSED;
    }
}

/// A quote of one line behind its indentation does not show where further new lines are.
#[test]
fn lines_below_a_quote_behind_its_indentation_are_not_at_the_margin() {
    let file = "function f() {\n    x(\"a\");\n}\n";
    calls! {
        "a.js": file, "x(\\\"a\\\");", "x(\\\"a\\\");\nz(\\\"b\\\");" => "function f() {\n    x(\"a\");\n    z(\"b\");\n}\n";
        "a.py": "def f(app):\n    one(app)\n    audit(app)\n    two(app)\n    three(app)\n", "  one(app)\n  two(app)\n  three(app)\n", "  one(app)\n  audit(app)\n  two(app)\n  three(app)\n" => REFUSED;
    }
}

/// A quote without any indentation does not show how deep new lines are.
#[test]
fn a_flat_quote_shows_no_levels() {
    let file = "function f() {\n  a();\n  if (x) {\n    b(1);\n    c(2);\n  }\n  d();\n}\n";
    calls! {
        "a.js": file, "if (x) {\nb(1);\nc(2);\n}", "b(1);\nc(2);" => REFUSED;
        "a.js": file, "if (x) {\nb(1);\nc(2);\n}", "if (x) {\nb(1);\nc(3);\n}" => "function f() {\n  a();\n  if (x) {\n    b(1);\n    c(3);\n  }\n  d();\n}\n";
    }
}

/// The blank line that the file has at a change is that of the call.
#[test]
fn a_blank_line_at_a_change_is_neither_lost_nor_doubled() {
    calls! {
        "a.css": "a {\n  color: red;\n\nb {\n", "a {\n  color: red;\n\n\nb {\n", "a {\n  color: red;\n}\n\nb {\n" => "a {\n  color: red;\n}\n\nb {\n";
        "a.kt": "import a.Dp\nimport b.Sp\n\n@Composable\nfun f() {}\n", "import a.Dp\nimport b.Sp\n@Composable\nfun f() {}\n", "import a.Dp\nimport b.Sp\n\n@Composable2\nfun f() {}\n" => "import a.Dp\nimport b.Sp\n\n@Composable2\nfun f() {}\n";
        "a.md": "aaa\n\nbbb\n", "aaa\n\n\n\nbbb\n", "ccc(5)\n\nddd(6)\n" => "ccc(5)\n\nddd(6)\n";
    }
}

#[test]
fn what_the_call_itself_has_at_odd_depths_says_nothing_against_a_map() {
    calls! {
        "a.py": "def main():\n    p.add(\"--a\",\n          help=\"x\")\n    run(p)\n", "p.add(\"--a\",\n      help=\"x\")\n", "p.add(\"--a\",\n      help=\"x\")\np.add(\"--b\",\n      help=\"y\")\n" => "def main():\n    p.add(\"--a\",\n          help=\"x\")\n    p.add(\"--b\",\n          help=\"y\")\n    run(p)\n";
        // Keys without a value, and names that are words of other languages.
        "c.yml": "a:\n  volumes:\n    data:\n    cache:\n", "  data:\n  cache:\n", "  data:\n  cache:\n  logs:\n" => "a:\n  volumes:\n    data:\n    cache:\n    logs:\n";
        "a.py": "def f(a):\n    start = a\n    end = a\n    return end\n", "start = a\nend = a\n", "start = a\nend = a + 1\ndone = a\nend += 1\n" => "def f(a):\n    start = a\n    end = a + 1\n    done = a\n    end += 1\n    return end\n";
    }
}

#[test]
fn what_looks_like_a_line_number_may_be_the_lines_own() {
    let cases = "let f = function\n  | A -> 1\n  | B -> 2\n";
    let names = "M = {\n    200: ok,\n    404: no,\n}\n";
    calls! {
        "a.ml": cases, "2 |   | A -> 1", "2 |   | A -> 1\n  | C -> 3" => REFUSED;
        // A gutter of blanks, where a line behind it is as deep as others.
        "a.py": "def f():\n    a = 1\n    return a\n", "2:     a = 1\n3:     return a", "2:     a = 1\n       b = 2\n3:     return a" => "def f():\n    a = 1\n    b = 2\n    return a\n";
        "a.ml": cases, "2 |   | A -> 1", "2 |   | A -> 1\n3 |   | C -> 3" => "let f = function\n  | A -> 1\n  | C -> 3\n  | B -> 2\n";
        // Lines with numbers of another kind are behind the gutter, and so are others.
        "m.py": names, "9→    200: ok,\n10→    404: no,", "9→    200: ok,\n10→    # more\n11→    404: no," => "M = {\n    200: ok,\n    # more\n    404: no,\n}\n";
        // A view with a blank behind the number, and one without.
        "m.py": names, "1:M = {\n2:    200: ok,", "1: M = {\n2:     201: made," => "M = {\n    201: made,\n    404: no,\n}\n";
        "f.py": "def f():\n    a = 1\n    return a\n", "2\t    a = 1\n3\t    return a", "2 |     a = 2\n3 |     return a" => "def f():\n    a = 2\n    return a\n";
        "f.py": "def f():\n    a = 1\n    return a\n", "2\t    a = 1\n3\t    return a", "2\t2\t    a = 2\n3\t3\t    return a" => REFUSED;
        "m.py": names, "1: M = {\n2:     200: ok,", "1: M = {\n2:     200: ok,\n    301: moved," => REFUSED;
        "m.py": names, "1: M = {\n2:     200: ok,", "1: M = {\n2:     200: ok,\n3:     301: moved," => "M = {\n    200: ok,\n    301: moved,\n    404: no,\n}\n";
    }
}

#[test]
fn an_escape_that_may_be_the_texts_own_is_a_guess() {
    let uses = "<?php\nuse App\\Models\\User;\n\nclass A {}\n";
    let list = "<ul>\n  <li>One</li>\n</ul>\n";
    calls! {
        "a.php": uses, "use App\\Models\\User;\\n", "use App\\Models\\User;\\nuse App\\Traits\\tags;\\n" => REFUSED;
        "a.php": uses, "use App\\Models\\User;\\n", "use App\\Models\\User;\\nuse App\\Traits\\Tags;\\n" => "<?php\nuse App\\Models\\User;\nuse App\\Traits\\Tags;\n\nclass A {}\n";
        "i.html": list, "  &lt;li&gt;One&lt;/li&gt;", "  &lt;li&gt;One &amp; a half&lt;/li&gt;" => REFUSED;
        "i.html": list, "  &lt;li&gt;One&lt;/li&gt;", "  &lt;li&gt;Two&lt;/li&gt;" => "<ul>\n  <li>Two</li>\n</ul>\n";
        // `\"` in the file shows that backslashes are not doubled.
        "p.json": "{\n  \"a\": \"x\",\n  \"b\": \"y \\\"z\\\"\"\n}\n", "  \"a\": \"x\",\\n  \"b\": \"y \\\"z\\\"\"", "  \"a\": \"x\",\\n  \"b\": \"y \\\"z\\\"\",\\n  \"c\": \"a\\\\nb\"" => "{\n  \"a\": \"x\",\n  \"b\": \"y \\\"z\\\"\",\n  \"c\": \"a\\\\nb\"\n}\n";
    }
}

#[test]
fn escapes_that_look_odd_are_only_written_where_the_call_is_exact() {
    let file = "class S:\n    def f(self):\n        self.a = 1\n        self.b = 2\n";
    calls! {
        // Where all of a line is escaped behind its indentation, it is undone as a whole.
        "a.go": "package m\n\nfunc f() {\n\ta := 1\n}\n", "\ta := 1\n", "\ta := 1\n\tb := \\\"x\\\\n\\\"\n" => "package m\n\nfunc f() {\n\ta := 1\n\tb := \"x\\n\"\n}\n";
        // Where new_str then has a line of old_str, the escape is a mistake, and not a part of that line.
        "s.py": file, "    self.a = 1\n    self.b = 2\n", "    self.a = 1\\n    self.c = 3\n    self.b = 2\n" => "class S:\n    def f(self):\n        self.a = 1\n        self.c = 3\n        self.b = 2\n";
        "s.lua": "local M = {}\nfunction M.f()\n  x = 1\nend\n", "    x = 1", "    x = 1\\n    y = 2" => REFUSED;
        "s.py": file, "    self.a = 1\n    self.b = 2\n", "    self.a = 1\n    self.c = 3\n    self.b = 2\n" => "class S:\n    def f(self):\n        self.a = 1\n        self.c = 3\n        self.b = 2\n";
        "s.lua": "local M = {}\nfunction M.f()\n  x = 1\nend\n", "    x = 1", "    x = 1\n    y = [[a\\n]]" => "local M = {}\nfunction M.f()\n  x = 1\n  y = [[a\\n]]\nend\n";
    }
}

#[test]
fn breaks_that_new_str_alone_has_escaped_are_undone_in_code_only() {
    calls! {
        "a.js": "a('x');\nb(\"y\");\n", "a('x');\nb(\"y\");", "a('x');\\nb(\\\"z\\\");" => "a('x');\nb(\"z\");\n";
        // They may be meant: in a comment, a literal, a command, a path, or a pattern.
        "a.py": "# use\nx = 1\n", "# use\nx = 1", "# use\\n as separator" => "# use\\n as separator\n";
        "a.py": "print(\"hello\nworld\")\n", "hello\nworld", "hello\\nworld" => "print(\"hello\\nworld\")\n";
        "a.tex": "one\ntwo\n", "one\ntwo", "two\\newpage" => "two\\newpage\n";
        "a.hs": "q = f (\n  \\n -> n)\n", "q = f (\n  \\n -> n)", "q = f (\\n -> n)" => "q = f (\\n -> n)\n";
        "a.php": "namespace app\n{\n}\n", "namespace app\n{", "namespace app\\notes {" => "namespace app\\notes {\n}\n";
        "a.sh": "a=1\nprintf 'x\\n'\n", "a=1\nprintf 'x\\n'", "a=1; printf 'x\\nb\\n'" => "a=1; printf 'x\\nb\\n'\n";
    }
    // Behind a comment, the caller is told.
    let call = EditRequest::new("// note\nf();\nh();", "// note\\nf(1);\\nh();").for_path("a.js");
    let applied = restitch::apply("// note\nf();\nh();\n", &call).expect("it is exact");
    assert_eq!(applied.text, "// note\\nf(1);\\nh();\n");
    assert_eq!(applied.warnings.len(), 1, "{:?}", applied.warnings);
}

#[test]
fn a_character_that_new_str_has_both_encoded_and_bare_is_unclear() {
    calls! {
        "a.c": "if (a && b) {\n  run(a);\n}\n", "if (a &amp;&amp; b) {\n", "if (a &amp;&amp; b &amp;&amp; c & 3) {\n" => REFUSED;
        "a.js": "if (a < b) {\n  run(a);\n}\n", "if (a &lt; b) {\n", "if (a &lt; b) {\n  s = s.replace(/</g, \"&lt;\");\n" => REFUSED;
        "a.c": "if (a && b) {\n  run(a);\n}\n", "if (a &amp;&amp; b) {\n", "if (a &amp;&amp; b &amp;&amp; c) {\n" => "if (a && b && c) {\n  run(a);\n}\n";
    }
}

#[test]
fn a_new_line_that_would_leave_its_block_is_a_guess() {
    let file = "def f():\n    zero(0)\n    a = one(1)\n    if b:\n        two(2)\n";
    calls! {
        "a.py": file, "a = one(1)\n    if b:\n    two(2)", "if p:\n    a = one(1)\n    if b:\n        two(2)" => REFUSED;
        "a.py": file, "  a = one(1)\n  if b:\n  two(2)", "if p:\n    a = one(1)\n    if b:\n        two(2)" => REFUSED;
        "a.py": file, "a = one(1)\nif b:\n    two(2)", "if p:\n    a = one(1)\n    if b:\n        two(2)" => "def f():\n    zero(0)\n    if p:\n        a = one(1)\n        if b:\n            two(2)\n";
    }
}

#[test]
fn what_the_call_keeps_stays_as_the_file_has_it() {
    calls! {
        "a.js": "f( a,b )\n", "f(a, b)", "f(a, c)" => "f( a,c )\n";
        "a.js": "x = \"a\"\n", "x = 'a';", "x = 'b';" => "x = \"b\"\n";
        "a.js": "a = {\n  type: \"x\",\n}\n", "  type: 'x'", "  type: 'y'," => "a = {\n  type: \"y\",\n}\n";
        "a.txt": "say “hi” – it’s\n", "say \"hi\" - it's", "say \"ho\" - it's" => "say “ho” – it’s\n";
        "a.txt": "a\u{a0}b\n", "a b", "a c" => "a\u{a0}c\n";
        // A pair of quotes is not split.
        "a.txt": "say “yes”\n", "say \"yes\"", "say \"no\" and \"maybe\"" => REFUSED;
        // A closing mark is not put behind what opens a block, nor behind a comment.
        "a.js": "f( 1);\ng(2);\n", "f(1)\ng(2)", "f(1)\nif (x) {" => REFUSED;
        "a.js": "f( 1);\nx = 1;\n", "f(1)\nx = 1", "f(1)\nx = 1 // one" => "f( 1);\nx = 1; // one\n";
        "a.js": "f( 1);\ng(2);\n", "f(1)\ng(2)", "f(1)\ng(3)" => "f( 1);\ng(3);\n";
    }
}

#[test]
fn what_only_new_str_has_lost_is_a_guess() {
    calls! {
        // Where old_str is as deep as the file, too.
        "f.yaml": "a:\n  b:\n    - n: 1\n      m: 2\n", "    - n: 1 \n      m: 2", "- n: 1\n  m: 4" => REFUSED;
        "f.py": "class A:\n    def f(self):\n        return 1\n", "    def f(self): \n        return 1", "    def f(self): \n        return 3" => "class A:\n    def f(self):\n        return 3\n";
        "a.py": "class A:\n    def f(self):\n        for x in y:\n            a(x)\n            b(x)\n        return 1\n", "3\t        for x in y:\n4\t            a(x)\n5\t            b(x)", "for x in y:\n    a(x, 1)\n    b(x)" => REFUSED;
        "a.proto": "message N {\n  string b = 1;\n  string p = 2;\n}\n", "string b = 1;\\n  string p = 2;\\n", "string b = 1;\nstring p = 2 [x];\nbool on = 4;\n" => REFUSED;
        // A line may go out of its block, and a guard may end one.
        "a.py": "def f(v):\n    n = 0\n    for i in v:\n        n += i\n        return n\n", "4\t        n += i\n5\t        return n", "4\t        n += i\n5\t    return n" => "def f(v):\n    n = 0\n    for i in v:\n        n += i\n    return n\n";
        "a.py": "def f(x):\n    if x is None:\n        log(x)\n        use(x)\n    return 1\n", "if x is None:\n    log(x)\n    use(x)\nreturn 1", "if x is None:\n    return\nlog(x)\nuse(x)\nreturn 1" => "def f(x):\n    if x is None:\n        return\n    log(x)\n    use(x)\n    return 1\n";
        // The first line below a head that stays is inside no more.
        "g.yaml": "a:\n  b:\n    c:\n      d: 1\n      e: 2\n", "b:\n  c:\n    d: 1\n    e: 2", "b:\nc:\nd: 1\ne: 3" => REFUSED;
        "Makefile": "x: y\n\ta\n\tb\n", "x: y \n\ta\n\tb", "x: y\na\nc" => REFUSED;
        "a.js": "f {\n  if (a) {\n    b();\n    c();\n  }\n}\n", "if (a) {\n  b();\n  c();\n}", "if (a) {\n  b();\n}\nc();" => "f {\n  if (a) {\n    b();\n  }\n  c();\n}\n";
    }
}

#[test]
fn a_map_is_one_that_all_quoted_lines_show() {
    calls! {
        // The steps of a literal that moved with the code are no levels.
        "a.py": "def f(c):\n    x = c.q(\"\"\"\n        A\n        B\n    \"\"\")\n    return x\n", "x = c.q(\"\"\"\n    A\n    B\n\"\"\")\nreturn x", "x = c.q(\"\"\"\n    A\n    B\n      C\n\"\"\")\nreturn x" => "def f(c):\n    x = c.q(\"\"\"\n        A\n        B\n          C\n    \"\"\")\n    return x\n";
        "a.js": "function f() {\n    const s = `\n        A\n        B\n    `;\n    return s;\n}\n", "const s = `\n    A\n    B\n`;\nreturn s;", "const s = `\n    A\n    B\n      C\n`;\nreturn s;" => "function f() {\n    const s = `\n        A\n        B\n          C\n    `;\n    return s;\n}\n";
        // old_str alone is too deep, and the call keeps lines as the file has them.
        "b.md": "- a\n  - b\n    - c\n    - d\n- e\n", "    - b\n      - c\n      - d", "  - b\n    - c\n      - y\n    - d" => REFUSED;
        // Both strings are shifted, each by itself.
        "x.ts": "function f() {\n  const a = b\n    .c()\n    .d();\n}\n", "    const a = b\n      .c()\n      .d();", "const a = b\n  .c()\n  .e();" => REFUSED;
        // The first line of new_str is another one than that which old_str has right.
        "c.js": "function f(a) {\n  g();\n  if (a) {\n    one();\n    two();\n  }\n  return 3;\n}\n", "  if (a) {\n  one();\n  two();\n}", "  one();\ntwo();" => REFUSED;
        // New lines are as deep in the call as one that it has wrongly.
        "Makefile": "a: b\n\tx\n\ty\n\tw\n", "\t\tx\n\t\ty\n\t\tw", "\t\tx\n\tifdef Z\n\t\ty\n\telse\n\t\tz\n\tendif\n\t\tw" => REFUSED;
        // A line of a literal at the margin is not the outermost line of new_str.
        "a.py": "class A:\n    def f(self):\n        a()\n        return b\n", "a()\nreturn b", "\t\ta()\n\t\ts = \"\"\"\none\n\"\"\"\n\t\treturn s" => REFUSED;
        // A call without indentation does not say what is inside a new block.
        "a.yaml": "jobs:\n  t:\n    on: a\n    os: b\n", "on: a\nos: b", "on: a\nenv:\nX: 1\nos: b" => REFUSED;
        "a.yaml": "jobs:\n  t:\n    on: a\n    os: b\n", "on: a\nos: b", "on: a\nX: 1\nos: b" => "jobs:\n  t:\n    on: a\n    X: 1\n    os: b\n";
    }
}

#[test]
fn a_placeholder_stands_for_one_run_of_lines_of_one_block() {
    calls! {
        "a.js": "function f(a) {\n  if (a) {\n    one(a);\n    two(a);\n  }\n  three();\n  return a;\n}\n", "  if (a) {\n    one(a);\n    // ...\n}", "    one(a);\n    // ..." => REFUSED;
        "a.js": "function f(a) {\n  if (a) {\n    one(a);\n    two(a);\n  }\n  three();\n  return a;\n}\n", "  if (a) {\n    one(a);\n    // ...\n  }", "  if (a) {\n    zero(a);\n    // ...\n  }" => "function f(a) {\n  if (a) {\n    zero(a);\n    two(a);\n  }\n  three();\n  return a;\n}\n";
        // No one rule explains the depths of the lines around it.
        "a.yaml": "a:\n  b:\n    x: 1\n    port: 2\n  c: 3\n", "a:\n  # ...\n  port: 2", "a:\n  # ..." => REFUSED;
        // A line that goes beside a placeholder leaves no blank line.
        "a.js": "function load(o) {\n  one();\n  two();\n  three();\n}\n", "  // ...\n  two();", "  // ..." => "function load(o) {\n  one();\n  three();\n}\n";
        // The file has it as a part of a line only, dots are no statement here, or there is one more than before.
        "a.py": "# ... and so on, see the docs\n\ndef load(o):\n    u = build(o)\n    log(u)\n    return u.rows\n", "def load(o):\n  u = build(o)\n  log(u)\n  return u.rows", "def load(o):\n  # ...\n  return u.items" => REFUSED;
        "a.go": "package a\n\nfunc load(o O) R {\n\tu := build(o)\n\tlog(u)\n\tcheck(u)\n\treturn u.Rows\n}\n", "func load(o O) R {\n    u := build(o)\n    log(u)\n    check(u)\n    return u.Rows\n}", "func load(o O) R {\n    ...\n    return u.Items\n}" => REFUSED;
        "a.py": "def f():\n    return db.get()\n", "    return db.get() ", "    # Previous code did not sort.\n    return db.get(sort=True)" => "def f():\n    # Previous code did not sort.\n    return db.get(sort=True)\n";
        "a.lua": "function f(...)\n  local t = { ... }\nend\n", "  local t = { ... } \n", "  local t = {\n    ...\n  }\n" => "function f(...)\n  local t = {\n    ...\n  }\nend\n";
        "a.c": "int f(\n    int a);\n", "int f(\n  int a);", "int f(\n  int a,\n  ...\n);" => "int f(\n    int a,\n    ...\n);\n";
        "a.rs": "fn load(o: O) -> R {\n    let u = build(o);\n    log(&u);\n    u.rows\n}\n", "fn load(o: O) -> R {\n  let u = build(o);\n  log(&u);\n  u.rows\n}", "fn load(o: O) -> R {\n  // keep the rest as is\n  u.items\n}" => REFUSED;
        "a.py": "class A:\n    def get(self):\n        ...\n\n    def put(self, v):\n        check(v)\n        return v\n", "def get(self):\n    ...\n\ndef put(self, v):\n    check(v)\n    return v", "def get(self):\n    ...\n\ndef put(self, v):\n    ...\n    return v + 1" => REFUSED;
    }
}

#[test]
fn what_only_new_str_has_spoiled_is_not_written_beside_a_mistake() {
    calls! {
        // Lines that stay would come out in another form.
        "a.html": "<p>a</p>\n<p>b</p>\n", "<p>a</p> \n<p>b</p>", "&lt;p&gt;a&lt;/p&gt;\n&lt;p&gt;c&lt;/p&gt;" => REFUSED;
        // Code has no entities, and no escapes for marks.
        "a.cpp": "void f() {\n  a();\n  b();\n}\n", "a();\nb();\n", "std::cout &lt;&lt; x;\nc();\n" => REFUSED;
        "a.js": "function f(a) {\n  const x = g(a);\n  h(x);\n  return x;\n}\n", "      const x = g(a);\n      h(x);", "      const y = g(a);\n      if (a \\u0026\\u0026 x) h(y);" => REFUSED;
        "a.js": "function f(a) {\n  const x = g(a);\n  h(x);\n  return x;\n}\n", "const x = g(a);\nh(x);", "const x = g(a);\nh('&lt;');" => "function f(a) {\n  const x = g(a);\n  h('&lt;');\n  return x;\n}\n";
        "A.java": "class A {\n    /**\n     * Makes it.\n     */\n    void f() {}\n}\n", "         * Makes it.", "         * Makes a Map&lt;K, V&gt;." => "class A {\n    /**\n     * Makes a Map&lt;K, V&gt;.\n     */\n    void f() {}\n}\n";
        // Lines may become comments, or a list.
        "a.py": "x = f()\ny = g()\nz = 1\n", "x = f() \ny = g()", "# x = f()\n# y = g()" => "# x = f()\n# y = g()\nz = 1\n";
        "a.lua": "function f()\n  a(1)\n  b(2)\nend\n", "a(1)\nb(2)", "-- a(1)\n-- b(2)" => "function f()\n  -- a(1)\n  -- b(2)\nend\n";
        // What wraps a text, or is around a call.
        "a.js": "function f(a) {\n  const x = g(a);\n  h(x);\n  return x;\n}\n", "2\t  const x = g(a);\n3\t  h(x);", "  const x = g(a);\n  h(x, 1);\n```" => REFUSED;
        "a.js": "function f(a) {\n  const x = g(a);\n  h(x);\n  return x;\n}\n", "const x = g(a);\nh(x);", "const x = g(a);\nh(x, 1);\n</new_str>" => REFUSED;
        "a.js": "function f(a) {\n  const x = g(a);\n  h(x);\n  return x;\n}\n", "const x = g(a);\nh(x);", "const x = g(a);\nh(x, 1);\n>>>>>>> REPLACE" => REFUSED;
        "a.js": "function f(a) {\n  const x = g(a);\n  h(x);\n  return x;\n}\n", "const x = g(a);\nh(x);", "<![CDATA[const x = g(a);\nh(x, 1);]]>" => REFUSED;
        "a.js": "function f(a) {\n  const x = g(a);\n  h(x);\n  return x;\n}\n", "const x = g(a);\nh(x);", "`const x = g(a);\nh(x, 1);`" => REFUSED;
        "a.js": "f(\n  red\n)\n", "\tred", "\t\"red\"" => "f(\n  \"red\"\n)\n";
        "a.js": "function f(a) {\n  const x = g(a);\n  h(x);\n  return x;\n}\n", "const x = g(a);\nh(x);", "const x = g(a);\n+h(x, 1);" => REFUSED;
        "a.js": "function f(a) {\n  const x = g(a);\n  h(x);\n  return x;\n}\n", "const x = g(a);\nh(x);", "const x = g(a);\nh(x, “1”);" => REFUSED;
        "a.js": "function f(a) {\n  const x = g(a);\n  h(x);\n  return x;\n}\n", "const x = g(a);\nh(x);", "const x = g(a);\nh(x, '“1”');" => "function f(a) {\n  const x = g(a);\n  h(x, '“1”');\n  return x;\n}\n";
        "a.js": "function f(a) {\n  const x = g(a);\n  h(x);\n  return x;\n}\n", "const x = g(a);\nh(x);", "const x = g(a);\n(rest unchanged)" => REFUSED;
        "a.rb": "def f(a)\n  x = g(a)\n  x\nend\n", "x = g(a)\nx", "x = g(a)\nx if a \\u003c 1" => REFUSED;
        // Keys may be numbers.
        "a.js": "const m = {\n  a: \"x\",\n  b: \"y\",\n};\n", "2\t  a: \"x\",\n3\t  b: \"y\",", "  1: \"one\",\n  2: \"two\"," => "const m = {\n  1: \"one\",\n  2: \"two\",\n};\n";
        // A line without a number is behind a gutter of blanks only if all such lines are.
        "a.js": "function f(a) {\n  const x = g(a);\n  h(x);\n  return x;\n}\n", "2\t  const x = g(a);\n3\t  h(x);", "2\t  const x = g(a);\n  if (x) {\n    k(x);\n  }\n3\t  h(x);" => "function f(a) {\n  const x = g(a);\n  if (x) {\n    k(x);\n  }\n  h(x);\n  return x;\n}\n";
    }
}

#[test]
fn an_escape_is_undone_where_it_is_one() {
    calls! {
        // A line without a forbidden escape has its escapes where they belong.
        "c.js": "let a = 1;\nlet b = 2;\n", "let a = 1;\n", "log(\\'x\\');\nlog(\"say \\\"hi\\\"\");\n" => "log('x');\nlog(\"say \\\"hi\\\"\");\nlet b = 2;\n";
        // A break of a pattern is written as sent, and told.
        "c.ts": "let a = 1;\nlet b = 2;\n", "let a = 1;\n", "let a = 1;\\nlet r = /\\n+/;\n" => "let a = 1;\\nlet r = /\\n+/;\nlet b = 2;\n";
        // Where old_str has only its last break escaped, new_str has no other, either.
        "a.py": "one(1)\ntwo(2)\nthree(3)\nfour(4)\n", "two(2)\nthree(3)\\n", "two(3)\\n" => "one(1)\ntwo(3)\nfour(4)\n";
        "t.md": "# A\n\none\ntwo\n\nthree\n", "one\ntwo\\n", "one\nC:\\new\\temp\ntwo\\n" => "# A\n\none\nC:\\new\\temp\ntwo\n\nthree\n";
    }
}

/// A stale or made place that `near_line` or line numbers name, if only nearly, is meant, and not a twin.
#[test]
fn a_number_that_is_nearly_right_names_a_place() {
    let made = "def f():\n    limit = 60\n    run(a)\n    close(a)\n\n\ndef g():\n    open(b)\n    log(b)\n    limit = 30\n    run(a)\n";
    let call = |old: &str, new: &str| EditRequest::new(old, new).for_path("a.py");
    let again = call("    limit = 30\n    run(a)", "    limit = 60\n    run(a)");
    for (near, is_written) in [(1, false), (4, false), (10, true), (11, true)] {
        let got = apply(made, &again.clone().near_line(near));
        assert_eq!(got.is_ok(), is_written, "{near}: {got:?}");
    }
    let stale = "def f(r):\n    page = r.page\n    limit = 45\n    all(page, limit)\n\n\ndef g(r):\n    page = r.page\n    limit = 30\n    all(page, limit)\n";
    let numbered = |first: usize, limit: usize| {
        let lines = [
            "    page = r.page".to_owned(),
            format!("    limit = {limit}"),
            "    all(page, limit)".to_owned(),
        ];
        let number = |(line, at): (&String, usize)| format!("{at}\t{line}\n");
        lines.iter().zip(first..).map(number).collect::<String>()
    };
    for (first, is_written) in [(2, false), (3, false), (4, false), (8, true)] {
        let got = apply(stale, &call(&numbered(first, 30), &numbered(first, 60)));
        assert_eq!(got.is_ok(), is_written, "{first}: {got:?}");
    }
    let lenient = call(
        "  page = r.page\n  limit = 30\n  all(page, limit)",
        "  page = r.page\n  limit = 60\n  all(page, limit)",
    );
    assert!(apply(stale, &lenient.clone().near_line(3)).is_err());
    assert!(apply(stale, &lenient.near_line(9)).is_ok());
}

/// What a call adds stands there, in the line endings of the file, or without the last one.
#[test]
fn a_call_that_is_sent_again_adds_nothing_in_other_line_endings() {
    let call = EditRequest::new("open(a)", "open(a)\n\tvalidate(a, \"strict\")").for_path("a.go");
    let once = apply("f {\r\n\topen(a)\r\n\tclose(a)\r\n}\r\n", &call).expect("it is exact").0;
    assert!(apply(&once, &call).is_err(), "{once:?}");
    let call = EditRequest::new("a==2\n", "a==2\nlong-name==1\n").for_path("r.txt");
    assert!(apply("a==2\nlong-name==1", &call).is_err());
}

/// A comment that was quoted with other words says as little of the place without it as of the place with it.
#[test]
fn a_place_without_the_quoted_comment_is_not_the_one() {
    let go = "package x\n\nfunc A() {\n\ta := path(\"unix\")\n\tone(a)\n}\n\n// They are verified before the actual dial.\nfunc B() {\n\ta := path(\"unix\")\n\ttwo(a)\n}\n";
    let ini = "[a]\nhost = localhost\nport = 5432\n\n# Where replicas are to be found.\n[b]\nhost = localhost\nport = 5432\n";
    calls! {
        "a.go": go, "// They are verified before dialing\n\ta := path(\"unix\")", "// They are verified before dialing\n\ta := path(\"tcp\")" => REFUSED;
        "a.ini": ini, "# Where to find replicas.\nhost = localhost\nport = 5432", "# Where to find replicas.\nhost = db2\nport = 5432" => REFUSED;
        "a.go": "package x\n\n// They are verified before the actual dial.\nfunc B() {\n\ta := path(\"unix\")\n\ttwo(a)\n}\n", "\t// Dials.\n\ta := path(\"unix\")\n\ttwo(a)\n}", "\t// Dials.\n\ta := path(\"tcp\")\n\ttwo(a)\n}" => "package x\n\n// They are verified before the actual dial.\nfunc B() {\n\ta := path(\"tcp\")\n\ttwo(a)\n}\n";
    }
}

#[test]
fn what_is_a_guess_at_one_place_is_one_at_all() {
    let file = "fn f() {\n    let a = 1;\n    go(a);\n}\nfn g() {\n    let a = 1;\n    go(a);\n}\n";
    let apply_all = |new: &str| {
        let [old, new] = ["go(a)", new].map(|text| format!("  let a = 1;\n  {text};"));
        apply(file, &EditRequest::new(old, new).expecting(Expected::All).for_path("a.rs"))
    };
    for guess in ["stop(&amp;a)", "stop(“a”)", "stop(a);\n</new_str>"] {
        assert!(apply_all(guess).is_err(), "{guess}");
    }
    assert_eq!(apply_all("stop(a)").expect("clear").0, file.replace("go(a)", "stop(a)"));
}

/// A part of a word that also is a line elsewhere: only the number of a line tells which is meant.
#[test]
fn an_occurrence_inside_a_word_is_not_surer_than_a_whole_one() {
    let file = "def a():\n    if x:\n        n = 1\n\ndef b():\n  if x:\n      n = 10\n";
    let call = || EditRequest::new("  if x:\n      n = 1", "  if x:\n      n = 2").for_path("a.py");
    for call in [call(), call().near_line(2), call().expecting(Expected::All)] {
        assert!(apply(file, &call).is_err(), "{call:?}");
    }
    let (after, _) = apply(file, &call().near_line(7)).expect("it is named");
    assert!(after.ends_with("n = 20\n"), "{after}");
}

#[test]
fn a_break_is_not_undone_inside_a_quotation_of_any_kind() {
    let python = "def f(s):\n    a = g(s)  # a 5\" pipe\n    return a\n";
    calls! {
        "a.py": "def f():\n    go(a)\n", "\tgo(a)", "\tlog(“x\\n y”)" => REFUSED;
        // A quote that nothing closes comes before those of a text.
        "a.py": python, "    a = g(s)  # a 5\" pipe\\n    return a", "    a = g(s)  # a 5\" pipe\\n    log(\"x {}\\n\", a)\\n    return a" => REFUSED;
        "a.js": "function f(s) {\n  const q = s.split(/\"/);\n  return q;\n}\n", "  const q = s.split(/\"/);\\n  return q;", "  const q = s.split(/\"/);\\n  log(\"x {}\\n\", q);\\n  return q;" => REFUSED;
        // A blank ends a line of code as it ends another.
        "a.c": "void f() {\n    x = y &&\n        z;\n}\n", "    x = y &&\n        z;", "    x = y && \\n        w &&\\n        z;" => "void f() {\n    x = y && \n        w &&\n        z;\n}\n";
        // An entity beside it is another matter.
        "a.rs": "fn f() {\n    let a = 1;\n}\n", "    let a = 1;", "    let a = 1;\\n    let b = &amp;a;" => "fn f() {\n    let a = 1;\n    let b = &amp;a;\n}\n";
    }
}

#[test]
fn what_shows_that_backslashes_are_right_is_not_a_guess() {
    calls! {
        // A line that stays.
        "a.c": "int f(int c) {\n  if (c == '\\\\') {\n    go(c);\n  }\n}\n", "  if (c == '\\\\\\\\') {\\n    go(c);\\n  }", "  if (c == '\\\\') {\n    stop(c);\n  }" => "int f(int c) {\n  if (c == '\\\\') {\n    stop(c);\n  }\n}\n";
        // The quotes of both.
        "a.py": "def f():\n    x = re.compile(r\"a\\\\d\")\n    y = \"q\"\n", "    x = re.compile(r\\\"a\\\\\\\\d\\\")\\n    y = \\\"q\\\"", "    x = re.compile(r\\\"b\\\\\\\\d\\\")\n    y = \\\"q\\\"" => "def f():\n    x = re.compile(r\"b\\\\d\")\n    y = \"q\"\n";
        "a.py": "def f():\n    print('x')\n", "def f():\\n    print(\\'x\\')", "def f():\\n    print(\\'a\\\\n\\')" => "def f():\n    print('a\\n')\n";
    }
}

#[test]
fn kept_lines_are_not_moved_from_where_the_call_and_the_file_have_them() {
    let file = "def g():\n    return {\n        \"group\": [\n            include(\"ws\"),\n            (r\"x\", P),\n        ],\n    }\n";
    let yaml = "jobs:\n  build:\n    steps:\n      - a\n      - b\n";
    calls! {
        "a.py": file, "\"group\": [\n    include(\"ws\"),\n    (r\"x\", P),\n", "\"group\": [\n        alpha(7),\n            include(\"ws\"),\n            (r\"x\", P),\n" => REFUSED;
        "a.yaml": yaml, "steps:\n  - a\n  - b\n", "steps:\n      - z\n      - a\n      - b\n" => REFUSED;
        "a.py": file, "\"group\": [\n    include(\"ws\"),\n    (r\"x\", P),\n", "\"group\": [\n    alpha(7),\n    include(\"ws\"),\n    (r\"x\", P),\n" => "def g():\n    return {\n        \"group\": [\n            alpha(7),\n            include(\"ws\"),\n            (r\"x\", P),\n        ],\n    }\n";
    }
}
