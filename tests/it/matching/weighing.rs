//! Faults of the core that decided by the first rung that fits, each in two languages: what must be
//! written, and what must not be written.

use restitch::edit::{EditCode, EditRequest, Expected};

use super::apply;
use super::forbidden::{REFUSED, calls};

/// A literal of the language keeps its escapes; what the language forbids is undone.
#[test]
fn escapes_stay_where_the_language_has_them() {
    calls! {
        "a.rs": "fn f() {\n    go();\n}\n", "    go();", "    println!(\"a\\n\");\\n    foo();" => "fn f() {\n    println!(\"a\\n\");\n    foo();\n}\n";
        "a.rs": "fn f() {\n    go();\n}\n", "    go();", "    let p = \"C:\\\\dir\";\\n    foo();" => "fn f() {\n    let p = \"C:\\\\dir\";\n    foo();\n}\n";
        "a.c": "void f() {\n    go();\n}\n", "    go();", "    wchar_t c = L'\\'';" => "void f() {\n    wchar_t c = L'\\'';\n}\n";
        "a.cpp": "void f() {\n    go();\n}\n", "    go();", "    int n = 1'000; char c = u8'\\'';" => "void f() {\n    int n = 1'000; char c = u8'\\'';\n}\n";
    }
}

/// What is missing is added, though the line after the place is equal to it.
#[test]
fn a_second_closing_line_is_no_edit_that_was_made() {
    calls! {
        "a.js": "function f() {\n  if (x) {\n    foo();\n}\n", "    foo();\n", "    foo();\n}\n" => "function f() {\n  if (x) {\n    foo();\n}\n}\n";
        "a.html": "<div>\n<div>\n<p>a</p>\n</div>\n", "<p>a</p>\n", "<p>a</p>\n</div>\n" => "<div>\n<div>\n<p>a</p>\n</div>\n</div>\n";
        "a.rb": "def f\n  if x\n    y\nend\n", "    y\n", "    y\nend\n" => "def f\n  if x\n    y\nend\nend\n";
        "a.md": "a – b\n“c”\n", "a – b\n“c”\n", "a - b\n\"c\"\n" => "a - b\n\"c\"\n";
    }
}

/// A comment about what remains is no placeholder; one that stands for lines is, and lines that
/// nobody quoted do not go.
#[test]
fn unseen_lines_do_not_go() {
    let long = "a();\nb();\nc();\nd();\ne();\n";
    calls! {
        "a.py": "def f():\n    total = 1\n    return total\n", "    total = 1\n", "    # remaining budget in cents\n    total = 2\n" => "def f():\n    # remaining budget in cents\n    total = 2\n    return total\n";
        "a.js": long, "a();\n// ... existing code ...\ne();", "a();\n// ...\nf();" => REFUSED;
        "a.js": long, "a();\n...\ne();", "f();" => REFUSED;
        "a.ini": "[web]\nhost = a\n[admin]\nport = 80\n", "[web]\n; ...\nport = 80", "[web]\n; ...\nport = 81" => REFUSED;
        "a.toml": "[web]\nhost = 1\n[admin]\nport = 80\n", "[web]\n# ...\nport = 80", "[web]\n# ...\nport = 81" => REFUSED;
    }
}

/// An operator at the start of a line is no comment.
#[test]
fn a_line_of_code_is_no_comment() {
    calls! {
        "a.rs": "let v = width\n    * height;\nlet w = 1;\n", "let v = width\n    * depth;\nlet w = 1;\n", "let v = width\n    * depth;\nlet w = 2;\n" => REFUSED;
        "a.php": "<?php\n#[Route('/a')]\nfunction f() {\n    return 1;\n}\n", "#[Route('/b')]\nfunction f() {\n    return 1;\n}\n", "#[Route('/b')]\nfunction f() {\n    return 2;\n}\n" => REFUSED;
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
