//! Faults of the core that decided by the first rung that fits, each in two languages: what must be
//! written, and what must not be written.

use restitch::edit::{EditCode, EditRequest, Expected};

use super::apply;

/// A call, and the file after it; `None` if nothing may be written.
struct Call {
    path: &'static str,
    file: &'static str,
    old: &'static str,
    new: &'static str,
    after: Option<&'static str>,
}

const fn call(
    path: &'static str,
    file: &'static str,
    old: &'static str,
    new: &'static str,
    after: Option<&'static str>,
) -> Call {
    Call { path, file, old, new, after }
}

fn request(case: &Call) -> EditRequest {
    EditRequest::new(case.old, case.new).for_path(case.path)
}

fn check(cases: &[Call]) {
    let mut wrong = Vec::new();
    for case in cases {
        let got = apply(case.file, &request(case));
        let after = got.as_ref().ok().map(|(after, _)| after.as_str());
        if after != case.after {
            wrong.push(format!("{} {:?} → {:?}:\n  {got:?}", case.path, case.old, case.new));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

/// A literal of the language keeps its escapes; what the language forbids is undone.
#[test]
fn escapes_stay_where_the_language_has_them() {
    check(&[
        call(
            "a.rs",
            "fn f() {\n    go();\n}\n",
            "    go();",
            "    println!(\"a\\n\");\\n    foo();",
            Some("fn f() {\n    println!(\"a\\n\");\n    foo();\n}\n"),
        ),
        call(
            "a.rs",
            "fn f() {\n    go();\n}\n",
            "    go();",
            "    let p = \"C:\\\\dir\";\\n    foo();",
            Some("fn f() {\n    let p = \"C:\\\\dir\";\n    foo();\n}\n"),
        ),
        call(
            "a.c",
            "void f() {\n    go();\n}\n",
            "    go();",
            "    wchar_t c = L'\\'';",
            Some("void f() {\n    wchar_t c = L'\\'';\n}\n"),
        ),
        call(
            "a.cpp",
            "void f() {\n    go();\n}\n",
            "    go();",
            "    int n = 1'000; char c = u8'\\'';",
            Some("void f() {\n    int n = 1'000; char c = u8'\\'';\n}\n"),
        ),
    ]);
}

/// What is missing is added, though the line after the place is equal to it.
#[test]
fn a_second_closing_line_is_no_edit_that_was_made() {
    check(&[
        call(
            "a.js",
            "function f() {\n  if (x) {\n    foo();\n}\n",
            "    foo();\n",
            "    foo();\n}\n",
            Some("function f() {\n  if (x) {\n    foo();\n}\n}\n"),
        ),
        call(
            "a.html",
            "<div>\n<div>\n<p>a</p>\n</div>\n",
            "<p>a</p>\n",
            "<p>a</p>\n</div>\n",
            Some("<div>\n<div>\n<p>a</p>\n</div>\n</div>\n"),
        ),
        call(
            "a.rb",
            "def f\n  if x\n    y\nend\n",
            "    y\n",
            "    y\nend\n",
            Some("def f\n  if x\n    y\nend\nend\n"),
        ),
        call("a.md", "a – b\n“c”\n", "a – b\n“c”\n", "a - b\n\"c\"\n", Some("a - b\n\"c\"\n")),
    ]);
}

/// A comment about what remains is no placeholder; one that stands for lines is, and lines that
/// nobody quoted do not go.
#[test]
fn unseen_lines_do_not_go() {
    let long = "a();\nb();\nc();\nd();\ne();\n";
    check(&[
        call(
            "a.py",
            "def f():\n    total = 1\n    return total\n",
            "    total = 1\n",
            "    # remaining budget in cents\n    total = 2\n",
            Some("def f():\n    # remaining budget in cents\n    total = 2\n    return total\n"),
        ),
        call("a.js", long, "a();\n// ... existing code ...\ne();", "a();\n// ...\nf();", None),
        call("a.js", long, "a();\n...\ne();", "f();", None),
        call(
            "a.ini",
            "[web]\nhost = a\n[admin]\nport = 80\n",
            "[web]\n; ...\nport = 80",
            "[web]\n; ...\nport = 81",
            None,
        ),
        call(
            "a.toml",
            "[web]\nhost = 1\n[admin]\nport = 80\n",
            "[web]\n# ...\nport = 80",
            "[web]\n# ...\nport = 81",
            None,
        ),
    ]);
}

/// The place was edited since, and a twin that only a lax reading finds is not taken for it.
#[test]
fn a_twin_is_not_taken_for_a_stale_place() {
    check(&[
        call(
            "a.go",
            "func a() {\n\topen(1)\n\tcheck()\n\tclose()\n}\nfunc b() {\n\t\topen()\n\t\tclose()\n}\n",
            "func a() {\n\topen()\n\tcheck()\n\tclose()\n}",
            "func a() {\n\topen(2)\n\tcheck()\n\tclose()\n}",
            None,
        ),
        call(
            "a.py",
            "def a():\n    x = get(1)\n    return x\n\ndef b():\n    x  =  get()\n    return x\n",
            "def a():\n    x = get()\n    return x\n",
            "def a():\n    x = get(2)\n    return x\n",
            None,
        ),
    ]);
}

/// An operator at the start of a line is no comment.
#[test]
fn a_line_of_code_is_no_comment() {
    check(&[
        call(
            "a.rs",
            "let v = width\n    * height;\nlet w = 1;\n",
            "let v = width\n    * depth;\nlet w = 1;\n",
            "let v = width\n    * depth;\nlet w = 2;\n",
            None,
        ),
        call(
            "a.php",
            "<?php\n#[Route('/a')]\nfunction f() {\n    return 1;\n}\n",
            "#[Route('/b')]\nfunction f() {\n    return 1;\n}\n",
            "#[Route('/b')]\nfunction f() {\n    return 2;\n}\n",
            None,
        ),
    ]);
}

/// A kept line of a long quote may differ in words, away from the change; beside it, it may not.
#[test]
fn a_kept_line_of_a_long_quote_stays_the_files() {
    let file: String = (0..14).map(|n| format!("    value_{n} = compute_{n}(input)\n")).collect();
    let quote = file.replace("compute_2(", "fetch_2(");
    let edited = |text: &str, from: &str| text.replace(from, "    result = other(input)\n");
    let change = "    value_11 = compute_11(input)\n";
    let call = EditRequest::new(quote.clone(), edited(&quote, change)).for_path("a.py");
    assert_eq!(apply(&file, &call).expect("applied").0, edited(&file, change));
    let beside = "    value_3 = compute_3(input)\n";
    let call = EditRequest::new(quote.clone(), edited(&quote, beside)).for_path("a.py");
    assert!(apply(&file, &call).is_err());
}

/// What was applied to all places is not applied again by the same explanation.
#[test]
fn a_call_for_all_places_that_is_sent_again_changes_nothing() {
    for (path, file, old, new) in [
        ("a.js", "x = get( );\ny = get( );\n", "get()", "await get()"),
        ("a.py", "x = f(a,b)\ny = f(a,b)\n", "f(a, b)", "g(f(a, b))"),
        ("a.go", "\tx = 1\n\ty = 2\n\tx = 1\n", "    x = 1\n", "    x = 1\n    z = 3\n"),
    ] {
        let call = EditRequest::new(old, new).for_path(path).expecting(Expected::All);
        let Ok((once, _)) = apply(file, &call) else { panic!("{path}: refused") };
        if let Ok((twice, _)) = apply(&once, &call) {
            assert_eq!(twice, once, "{path}");
        }
    }
}

/// Of places that overlap, no number is accepted, only `replace_all`.
#[test]
fn a_number_of_places_is_advised_where_it_is_accepted() {
    let number = |number| Expected::of(None, Some(number)).expect("a number");
    for (file, old, advised) in [
        ("x\nx\nx\nx\n", "x\nx\n", "replace_all"),
        ("x\ny\nx\n", "x\n", "expected_replacements to 2"),
    ] {
        let call = EditRequest::new(old, "z\n").expecting(number(3));
        let hint = apply(file, &call).expect_err("another number").hint.expect("a hint");
        assert!(hint.ends_with(&format!("To change all of them, set {advised}.")), "{hint}");
        let all = if advised == "replace_all" { Expected::All } else { number(2) };
        assert!(apply(file, &call.expecting(all)).is_ok());
    }
}

/// A refusal for places that overlap does not count them as one.
#[test]
fn overlapping_places_in_another_form_are_named() {
    let call = EditRequest::new("  a();\n  b();\n".repeat(500), "c();\n");
    let refusal = apply(&"a();\nb();\n".repeat(5_000), &call).expect_err("more than one");
    assert_eq!(refusal.code, EditCode::OccurrenceMismatch);
    assert_eq!(refusal.occurrences[..3], [1, 3, 5]);
    assert!(refusal.message.contains("overlap"), "{}", refusal.message);
    assert!(!refusal.hint.expect("a hint").contains("near_line"));
}
