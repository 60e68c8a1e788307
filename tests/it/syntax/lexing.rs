//! The table of languages, the lexer, and the stretch of items that an edit is in.

use restitch::internals::language::{Language, Token, TokenKind};

#[test]
fn paths_name_their_language() {
    for (path, name) in [
        ("a/b/main.go", Some("go")),
        ("Makefile", Some("make")),
        ("x.TSX", Some("typescript")),
        ("README.md", Some("markdown")),
        ("Dockerfile", Some("dockerfile")),
        ("a.unknown", None),
        ("noext", None),
    ] {
        assert_eq!(Language::from_path(path).map(|l| l.name), name, "{path}");
    }
}

#[test]
fn comments_of_a_line() {
    let of = |name: &str| Language::from_name(name).expect("known");
    assert_eq!(of("rust").strip_trailing_comment("let a = \"// b\"; // c"), "let a = \"// b\";");
    assert_eq!(of("python").strip_trailing_comment("x = '#' # y"), "x = '#'");
    assert_eq!(of("c").strip_trailing_comment("int a; /* b */"), "int a;");
    assert_eq!(of("c").strip_trailing_comment("int a; /* b */ int c;"), "int a; /* b */ int c;");
    assert!(of("rust").is_comment("  // a"));
    assert!(of("java").is_comment("   * a line of a block"));
    assert!(!of("java").is_comment("*p = 1;"));
    assert!(!of("c").is_comment("/* a */ int b;"));
}

fn literals(language: &str, text: &str) -> Vec<String> {
    let lexed = Language::from_name(language).expect("known").lex(text);
    let literal = |token: &&Token| token.kind == TokenKind::Literal;
    lexed.tokens.iter().filter(literal).map(|t| text[t.range.clone()].to_owned()).collect()
}

fn is_well_formed(language: &str, text: &str) -> bool {
    Language::from_name(language).expect("known").lex(text).is_well_formed()
}

#[test]
fn literals_are_distinguished_from_code() {
    assert_eq!(literals("rust", "fn a<'a>(x: &'a str) -> char { '\\'' }"), ["'\\''"]);
    assert_eq!(literals("rust", "let s = r#\"a \"b\" c\"#; 'x'"), ["r#\"a \"b\" c\"#", "'x'"]);
    assert_eq!(
        literals("rust", "(br\"\\\", cr#\"\"#, b\"\\\"\", abr\"c\", br#if)"),
        ["br\"\\\"", "cr#\"\"#", "\"\\\"\"", "\"c\""]
    );
    assert_eq!(literals("go", "a := `x\\` + \"y\" + 'z'"), ["`x\\`", "\"y\"", "'z'"]);
    assert_eq!(literals("javascript", "a = /\\/\"/.test(b) / 2 / \"c\""), ["/\\/\"/", "\"c\""]);
    assert_eq!(literals("typescript", "`a ${f({b: `c`})} d`"), ["`a ${", "`c`", "} d`"]);
    assert_eq!(literals("python", "x = '''a\nb''' + \"c\" # 'd'"), ["'''a\nb'''", "\"c\""]);
    assert_eq!(literals("shell", "cat <<EOF\na 'b\nEOF\nls"), ["a 'b\nEOF\n"]);
    assert_eq!(
        literals("c#", "@\"a\\\"; @$\"\"\"\n\" + \"b\""),
        ["@\"a\\\"", "@$\"\"\"\n\"", "\"b\""]
    );
    assert_eq!(literals("c++", "R\"x(a)\" )x\" 1'000"), ["R\"x(a)\" )x\""]);
}

#[test]
fn well_formed_means_balanced_brackets_and_closed_literals_and_comments() {
    assert!(is_well_formed("rust", "fn a() { b(\"}\") } /* /* } */ */"));
    assert!(!is_well_formed("rust", "fn a() { b(\"}\") "));
    assert!(!is_well_formed("go", "a := \"b\n"));
    assert!(!is_well_formed("c", "/* a"));
    assert!(!is_well_formed("javascript", "f(]"));
    assert!(is_well_formed("javascript", "`${a}` // }"));
}

#[test]
fn a_line_of_openings_takes_no_time_of_its_square() {
    for (language, part) in [
        ("javascript", "=/["),
        ("javascript", "=/[/]"),
        ("javascript", "\\\""),
        ("python", "\\\""),
        ("rust", "\\\""),
        ("c", "1'"),
        ("c", "\\'"),
        ("shell", "\"\\"),
    ] {
        let text = format!("x = \"{}\ny", part.repeat(100_000));
        let start = std::time::Instant::now();
        let _ = Language::from_name(language).expect("known").lex(&text);
        assert!(start.elapsed().as_secs() < 5, "{language} {part}: {:?}", start.elapsed());
    }
    // What is wasted on one line costs a file no literal elsewhere.
    let text = format!("{}\nx = \"y\";\n", "don't ".repeat(20));
    assert_eq!(literals("javascript", &text).last().map(String::as_str), Some("\"y\""));
}

#[test]
fn tokens_cover_the_text() {
    for (language, text) in
        [("rust", "let é = 'é'; // ü\n'a: loop {}"), ("javascript", "x`a${1}b`/2"), ("shell", "")]
    {
        let lexed = Language::from_name(language).expect("known").lex(text);
        let all: String = lexed.tokens.iter().map(|t| &text[t.range.clone()]).collect();
        assert_eq!(all, text);
    }
}

#[test]
fn the_stretch_is_the_items_that_an_edit_is_in() {
    for (path, text, mark, wanted) in [
        ("a.rs", "fn a() {}\n\nfn b() {\n    x\n}\n\nfn c() {}\n", "x", "fn b() {\n    x\n}\n\n"),
        // A string, brackets, a decorator, and `else` hide what only looks like a boundary.
        ("a.rs", "const S: &str = \"\n\nfn a() {}\n\nfn b() {}\n\";\n", "b()", "*"),
        ("a.go", "var a = []int{\n\nb,\n\nc,\n}\n\nfunc d() {}\n", "c", "*{\n\nb,\n\nc,\n}\n\n"),
        ("a.py", "@a\n\ndef b():\n    c\n\nx = 1\n", "c", "@a\n\ndef b():\n    c\n\n"),
        (
            "a.py",
            "a\n\nif b:\n    c\n\nelse:\n    d\n\ne\n",
            "c",
            "if b:\n    c\n\nelse:\n    d\n\n",
        ),
        // The blank line at the end is not what changes.
        ("a.py", "a\n\nb\n\nc\n\nd\n", "b\n\n", "b\n\nc\n\n"),
        (
            "a.ts",
            "import a from 'a'\n\nclass B {\n  c = 1\n}\n\nd()\n",
            "c =",
            "class B {\n  c = 1\n}\n\n",
        ),
        ("a.ts", "@A()\n\nclass B {}\n", "B", "*"),
        ("a.c", "#include <a>\n\nint b() {\n}\n\nint c;\n", "b", "int b() {\n}\n\n"),
        ("a.c", "int\n\nb() {}\n", "b", "*"),
    ] {
        let language = Language::from_path(path).expect("known");
        let start = text.find(mark).expect("there");
        let found = language.items_around(text, &(start..start + mark.len())).expect("whole");
        let found = &text[found];
        match wanted.strip_prefix('*') {
            Some("") => assert_eq!(found, text),
            Some(end) => assert!(found.ends_with(end), "{found:?}"),
            None => assert_eq!(found, wanted),
        }
    }
}

#[test]
fn what_the_lexer_cannot_tell_has_no_stretch() {
    for (path, text) in [
        ("a.rs", "fn a() { \"\n\n"),
        ("a.rs", "}\n\nfn a() {}\n"),
        ("a.rb", "a\n\nb\n"),
        ("a.json", "{}\n"),
    ] {
        let language = Language::from_path(path).expect("known");
        assert_eq!(language.items_around(text, &(5.min(text.len())..text.len())), None, "{text}");
    }
}
