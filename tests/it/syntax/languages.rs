//! Every language: a sound file, an edit that keeps it sound, one that does not; a file that was
//! broken before; templates, other languages within one, large and deep files.

use std::time::{Duration, Instant};

use restitch::adapters::syntax::TreeSitter;
use restitch::edit::{SyntaxCheck, Unchecked};
use restitch::port::Syntax as _;

use super::replaced;

/// A sound file and two edits of it.
pub(crate) struct Sample {
    pub(crate) path: &'static str,
    pub(crate) file: &'static str,
    /// Keeps it sound.
    kept: (&'static str, &'static str),
    /// Breaks it.
    broken: (&'static str, &'static str),
    /// The line that is named, and words of what is said of it.
    line: usize,
    what: &'static str,
}

const fn sample(
    path: &'static str,
    file: &'static str,
    kept: (&'static str, &'static str),
    broken: (&'static str, &'static str),
    line: usize,
    what: &'static str,
) -> Sample {
    Sample { path, file, kept, broken, line, what }
}

pub(crate) const SAMPLES: &[Sample] = &[
    sample(
        "a.rs",
        "/// Adds.\nfn add<'a>(a: &'a str, b: u8) -> String {\n    let c = '{';\n    format!(\"{a} {{ {b} {c}\")\n}\n\nfn main() {\n    add(\"(\", 1);\n}\n",
        ("add(\"(\", 1);", "if true { add(\"(\", 2); }"),
        ("add(\"(\", 1);", "add(\"(\", 1); }"),
        9,
        "`}` without `{`",
    ),
    sample(
        "a.py",
        "import os\n\ndef path(*names: str) -> str:\n    \"\"\"Joins (names.\"\"\"\n    return os.path.join(*[n.strip() for n in names])\n",
        ("return os", "return '(' + os"),
        ("for n in names])", "for n in names)"),
        5,
        "",
    ),
    sample(
        "a.js",
        "const f = async ({ a, b = [1] }) => {\n  return `${a} } ${b.map((x) => x + 1)}`;\n};\nexport default f;\n",
        ("return `", "await a; return `"),
        ("x + 1)}`;", "x + 1}`;"),
        2,
        "",
    ),
    sample(
        "a.jsx",
        "export const A = ({ n }) => (\n  <ul>\n    {n.map((x) => <li key={x}>{x}</li>)}\n  </ul>\n);\n",
        ("<ul>\n", "<ul className=\"a\">\n"),
        ("</ul>", "</ol"),
        4,
        "",
    ),
    sample(
        "a.ts",
        "interface P<T> { readonly a?: T; }\nexport function g<T extends P<number>>(p: T): p is T {\n  return p.a! > 1;\n}\n",
        ("return p.a! > 1", "return (p.a as number) > 1"),
        ("{\n  return p.a! > 1;\n}", "{\n  return p.a! > 1;\n"),
        2,
        "`{` is never closed",
    ),
    sample(
        "a.tsx",
        "type P = { n: number };\nexport const A = ({ n }: P) => <b>{n as number}</b>;\n",
        ("<b>{", "<b id=\"x\">{"),
        ("({ n }: P)", "({ n : P)"),
        2,
        "",
    ),
    sample(
        "a.go",
        "package a\n\nfunc (p *Pool) Open(n int) (err error) {\n\tif n > 0 {\n\t\treturn nil\n\t}\n\treturn err\n}\n",
        ("return nil", "return p.err(`{`)"),
        ("\treturn err\n}", "\treturn err\n"),
        3,
        "`{` is never closed",
    ),
    sample(
        "A.java",
        "class A<T> {\n    private final int n = 1;\n    int get(T t) { return n; }\n}\n",
        ("return n;", "return t == null ? n : -1;"),
        ("int n = 1;", "int n = 1"),
        2,
        "`;` is missing",
    ),
    sample(
        "a.c",
        "#include <stdio.h>\n#define N 2\nstruct s { int a[N]; };\nint main(void) {\n    struct s s = { { 1, 2 } };\n    return printf(\"%d }\", s.a[0]);\n}\n",
        ("return printf", "/* } */ return printf"),
        ("s.a[0]);", "s.a[0);"),
        6,
        "",
    ),
    sample(
        "a.h",
        "#pragma once\nnamespace a {\ntemplate <class T> struct B { T t; };\n}\n",
        ("T t;", "T t; int n = 0;"),
        ("struct B { T t; };", "struct B { T t; ;"),
        2,
        "`{` is never closed",
    ),
    sample(
        "a.cpp",
        "#include <vector>\nclass Pool {\n public:\n  auto open(std::vector<int> v) -> int { return [&] { return v[0]; }(); }\n};\n",
        ("return v[0];", "return v.at(0);"),
        ("}(); }", "}(; }"),
        4,
        "",
    ),
    sample(
        "a.cs",
        "using System;\nnamespace A;\nclass Pool\n{\n    public string Name { get; set; } = $\"{1 + 1}\";\n    int Open(int n) => n;\n}\n",
        ("=> n;", "=> n switch { 1 => 2, _ => 3 };"),
        ("int Open(int n) => n;", "int Open(int n => n;"),
        6,
        "",
    ),
    sample(
        "a.rb",
        "class Pool\n  def open(n = {})\n    puts \"#{n[:a]} }\" if n.any?\n  end\nend\n",
        ("if n.any?", "unless n.empty?"),
        ("if n.any?", "if n.any?("),
        3,
        "",
    ),
    sample(
        "a.php",
        "<h1><?= $title ?></h1>\n<?php\nfunction open(array $n): ?int {\n    return $n['a'] ?? null;\n}\n",
        ("?? null", "?? 1"),
        ("return $n['a'] ?? null;", "return $n['a' ?? null;"),
        4,
        "",
    ),
    sample(
        "a.lua",
        "local M = {}\nfunction M.open(n)\n  if n > 0 then return { n } end\nend\nreturn M\n",
        ("return { n }", "return { n, 2 }"),
        ("return { n } end", "return { n  end"),
        3,
        "",
    ),
    sample(
        "a.sh",
        "#!/bin/sh\ncase \"$1\" in\n  a) echo \"${2:-x}\" ;;\n  *) for f in *.rs; do wc -l \"$f\"; done ;;\nesac\n",
        ("wc -l", "wc -c"),
        ("; done ;;", "; ;;"),
        4,
        "",
    ),
    sample(
        "a.json",
        "{\n  \"a\": [1, 2, {\"b\": null}],\n  \"c\": \"}\"\n}\n",
        ("[1, 2,", "[1, 3,"),
        ("{\"b\": null}],", "{\"b\": null},"),
        2,
        "",
    ),
    sample(
        "a.css",
        ".a > b:hover { color: #fff; }\n@media (max-width: 1px) { .c { margin: 0 auto; } }\n",
        ("#fff", "rgb(1, 2, 3)"),
        ("margin: 0 auto; } }", "margin: 0 auto; }"),
        2,
        "",
    ),
    sample(
        "a.html",
        "<!doctype html>\n<html>\n<body>\n<p class=\"a\">{{ name }} <br> x</p>\n<script>if (a < b) { c(); }</script>\n</body>\n</html>\n",
        ("x</p>", "y</p>"),
        ("class=\"a\">", "class=\"a>"),
        4,
        "",
    ),
    sample(
        "a.toml",
        "[a]\nb = [1, 2]\nc = \"x\"\n\n[[d]]\ne = { f = 1 }\n",
        ("b = [1, 2]", "b = [1, 2, 3]"),
        ("b = [1, 2]", "b = [1, 2"),
        2,
        "",
    ),
    sample(
        "a.yaml",
        "a:\n  - b: 1\n    c: [x, y]\n  - d\ne: \"f: g\"\n",
        ("c: [x, y]", "c: [x, y, z]"),
        ("c: [x, y]", "c: [x, y"),
        5,
        "",
    ),
];

#[test]
fn every_language_tells_a_new_error_and_none_where_there_is_none() {
    for sample in SAMPLES {
        let Sample { path, file, kept, broken, line, what } = sample;
        assert_eq!(TreeSitter::new().errors(path, file), Ok(vec![]), "{path} is sound");
        let same = replaced(path, file, kept.0, kept.1);
        assert_eq!(same, SyntaxCheck::found(vec![]), "{path}: {same:?}");
        let found = replaced(path, file, broken.0, broken.1);
        let errors = &found.new_errors;
        let after = file.replacen(broken.0, broken.1, 1);
        println!("{path}: {}", found.warning().unwrap_or_default());
        assert!(found.checked && !errors.is_empty(), "{path}: {found:?}");
        for error in errors {
            let there = after.lines().nth(error.line - 1).expect("a line of the file");
            assert_eq!(error.text, there.trim(), "{path}: {error:?}");
        }
        assert_eq!(errors[0].line, *line, "{path}: {errors:?}");
        assert!(errors[0].what.contains(what), "{path}: {errors:?}");
        assert!(!TreeSitter::new().errors(path, &after).expect("checked").is_empty(), "{path}");
    }
}

/// A text without errors has no new ones, whatever was before. One with errors says nothing of an
/// edit if it had errors before.
#[test]
fn a_file_that_was_broken_before_is_not_judged() {
    for sample in SAMPLES {
        let Sample { path, file, broken, .. } = sample;
        let before = file.replacen(broken.0, broken.1, 1);
        let mended = TreeSitter::new().compare(path, &before, file, &[]);
        let expected = match *path {
            // Which of its grammars counts, only the text before tells.
            "a.h" => SyntaxCheck::unchecked(Unchecked::BrokenBefore),
            _ => SyntaxCheck::found(vec![]),
        };
        assert_eq!(mended, expected, "{path}");
        let worse = format!("{before}\n}}}}}}\n((((\n");
        let worse = TreeSitter::new().compare(path, &before, &worse, &[]);
        assert_eq!(worse, SyntaxCheck::unchecked(Unchecked::BrokenBefore), "{path}");
        assert_eq!(worse.warning(), None);
    }
}

#[test]
fn a_new_file_is_parsed_and_an_unknown_one_is_not() {
    let parser = TreeSitter::new();
    for sample in SAMPLES {
        let whole = parser.compare(sample.path, "", sample.file, &[]);
        assert_eq!(whole, SyntaxCheck::found(vec![]), "{}", sample.path);
    }
    let broken = parser.compare("new.rs", "", "fn a() {\n    b(;\n}\n", &[]);
    assert_eq!(broken.new_errors[0].line, 2, "{broken:?}");
    for path in ["a.zig", "a.vue", "a.md", "a.txt", "a", "a.scss", "a.svelte", "a.json5"] {
        let said = parser.compare(path, "((", "))", &[]);
        assert_eq!(said, SyntaxCheck::unchecked(Unchecked::UnknownLanguage), "{path}");
    }
}

/// Templates and languages within others: what the grammar of the file takes as text is no
/// error of it.
#[test]
fn templates_and_embedded_languages_are_text() {
    let jinja = "<ul>\n{% for a in b %}\n  <li>{{ a.b }}</li>\n{% endfor %}\n</ul>\n";
    let said = replaced("a.html", jinja, "{% endfor %}", "");
    assert_eq!(said, SyntaxCheck::found(vec![]), "a template language is not known");
    let script = "<p>a</p>\n<script>\nlet a = { b: 1 };\n</script>\n";
    let said = replaced("a.html", script, "b: 1 };", "b: 1 ;");
    assert_eq!(said, SyntaxCheck::found(vec![]), "a script is not parsed as such");
    let php = "<div <?= $a ?>>\n<?php if ($a): ?>\n<p>b</p>\n<?php endif; ?>\n</div>\n";
    let said = replaced("a.php", php, "<p>b</p>", "<p>b");
    assert_eq!(said, SyntaxCheck::found(vec![]), "markup around PHP is text");
    let said = replaced("a.php", php, "endif;", "end;");
    assert!(!said.new_errors.is_empty(), "{said:?}");
}

/// 5 MB are over the cap; just below it a parse ends in its time. Neither says anything untrue.
#[test]
fn large_files_are_bounded() {
    let line = "fn f() { let a = [1, 2, 3]; g(a, \"}\"); }\n";
    let large = line.repeat(5_000_000 / line.len());
    let parser = TreeSitter::new();
    let start = Instant::now();
    let said = parser.compare("a.rs", &large, &format!("{large}}}\n"), &[]);
    assert_eq!(said, SyntaxCheck::unchecked(Unchecked::TooLarge));
    assert!(start.elapsed() < Duration::from_secs(1));
    let below = line.repeat((1 << 20) / line.len() - 1);
    let start = Instant::now();
    let said = parser.compare("a.rs", &below, &format!("{below}}}\n"), &[]);
    println!("1 MiB, before and after: {:?}, {:?}", start.elapsed(), said.why_not);
    match said.why_not {
        None => assert!(!said.new_errors.is_empty(), "{said:?}"),
        why => assert_eq!(why, Some(Unchecked::TooMuchWork)),
    }
}

/// Brackets and expressions nested by the ten thousand: no stack runs out.
#[test]
fn deep_nesting_is_safe() {
    let parser = TreeSitter::new();
    let depth = 20_000;
    let nested = |head: &str, open: &str, core: &str, close: &str, tail: &str| {
        format!("{head}{}{core}{}{tail}", open.repeat(depth), close.repeat(depth))
    };
    for (path, text) in [
        ("a.rs", nested("fn a() { let b = ", "(", "1", ")", "; }\n")),
        ("a.js", nested("a = ", "[", "1", "]", ";\n")),
        ("a.py", nested("a = ", "(", "1", ")", "\n")),
        ("a.json", nested("", "[", "1", "]", "\n")),
        ("a.c", nested("int a() { ", "{", ";", "}", " }\n")),
        ("a.html", nested("", "<b>", "x", "</b>", "\n")),
        ("a.css", nested("", "a { ", "", "} ", "\n")),
        ("a.go", nested("package a\nvar b = ", "-", "1", "", "\n")),
        ("a.rb", nested("a = ", "(", "1", ")", "\n")),
        ("a.sh", nested("echo ", "$(echo ", "1", ")", "\n")),
    ] {
        let start = Instant::now();
        let sound = parser.errors(path, &text);
        let half = &text[..text.len() / 2];
        let broken = parser.compare(path, &text, half, &[]);
        println!("{path}: {depth} deep in {:?}: {:?}", start.elapsed(), sound.map(|e| e.len()));
        for error in &broken.new_errors {
            assert!(error.line <= half.lines().count(), "{path}: {error:?}");
        }
        // Three parses of at most half a second, and what is read off the trees.
        assert!(start.elapsed() < Duration::from_secs(10), "{path}: {:?}", start.elapsed());
    }
}
