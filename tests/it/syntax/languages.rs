//! Every language: a sound file, an edit that keeps it sound, one that does not; a file that was
//! broken before; templates, other languages within one, large and deep files.

use std::time::{Duration, Instant};

use restitch::adapters::syntax::TreeSitter;
use restitch::edit::{SyntaxCheck, Unchecked};
use restitch::port::Syntax as _;
use serde::Deserialize;

use super::replaced;
use crate::rows::rows;

/// A sound file and two edits of it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sample {
    pub(crate) path: String,
    pub(crate) file: String,
    /// Keeps it sound.
    kept: (String, String),
    /// Breaks it.
    broken: (String, String),
    /// The line that is named, and words of what is said of it.
    line: usize,
    #[serde(default)]
    what: String,
}

pub(crate) fn samples() -> Vec<Sample> {
    rows(include_str!("samples.jsonl"))
}

#[test]
fn every_language_tells_a_new_error_and_none_where_there_is_none() {
    for sample in &samples() {
        let Sample { path, file, kept, broken, line, what } = sample;
        assert_eq!(TreeSitter::new().errors(path, file), Ok(vec![]), "{path} is sound");
        let same = replaced(path, file, &kept.0, &kept.1);
        assert_eq!(same, SyntaxCheck::found(vec![]), "{path}: {same:?}");
        let found = replaced(path, file, &broken.0, &broken.1);
        let errors = &found.new_errors;
        let after = file.replacen(&broken.0, &broken.1, 1);
        println!("{path}: {}", found.warning().unwrap_or_default());
        assert!(found.checked && !errors.is_empty(), "{path}: {found:?}");
        for error in errors {
            let there = after.lines().nth(error.line - 1).expect("a line of the file");
            assert_eq!(error.text, there.trim(), "{path}: {error:?}");
        }
        assert_eq!(errors[0].line, *line, "{path}: {errors:?}");
        assert!(errors[0].what.contains(what.as_str()), "{path}: {errors:?}");
        assert!(!TreeSitter::new().errors(path, &after).expect("checked").is_empty(), "{path}");
    }
}

/// A text without errors has no new ones, whatever was before. One with errors says nothing of an
/// edit if it had errors before.
#[test]
fn a_file_that_was_broken_before_is_not_judged() {
    for sample in &samples() {
        let Sample { path, file, broken, .. } = sample;
        let before = file.replacen(&broken.0, &broken.1, 1);
        let mended = TreeSitter::new().compare(path, &before, file, &[]);
        let expected = match path.as_str() {
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
    for sample in &samples() {
        let whole = parser.compare(&sample.path, "", &sample.file, &[]);
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
