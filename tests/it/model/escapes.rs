//! A line break that is sent as `\n`: undone or told in every language, on every path that needs no
//! model. What a model gives is in `findings`.

use serde_json::{Value, json};

use super::wire::{Bench, plain};

use crate::sandbox::batch;

/// A name, a file, a text of it, and the new text with a line break that is escaped.
const FILES: &[(&str, &str, &str, &str)] = &[
    ("a.c", "int a = 1;\n", "int a = 1;", "int a = 1;\\nint c = 3;"),
    ("a.cs", "int a = 1;\nint b = 2;\n", "int a = 1;", "int a = 1;\\nint c = 3;"),
    ("a.css", "a { color: red; }\n", "a { color: red; }", "a { color: red; }\\nb { top: 0; }"),
    ("a.go", "a := 1\n", "a := 1", "a := 1\\nc := 3"),
    ("a.html", "<p>a</p>\n<p>b</p>\n", "<p>a</p>", "<p>a</p>\\n<p>c</p>"),
    ("a.java", "int a = 1;\n", "int a = 1;", "int a = 1;\\nint c = 3;"),
    ("a.json", "{\n  \"a\": 1\n}\n", "  \"a\": 1", "  \"a\": 1,\\n  \"c\": 3"),
    ("a.kt", "val a = 1\n", "val a = 1", "val a = 1\\nval c = 3"),
    ("a.lua", "local a = 1\n", "local a = 1", "local a = 1\\nlocal c = 3"),
    ("a.md", "A line.\nOne more.\n", "A line.", "A line.\\nA new one."),
    ("a.php", "<?php\n$a = 1;\n", "$a = 1;", "$a = 1;\\n$c = 3;"),
    ("a.py", "a = 1\nb = 2\n", "a = 1", "a = 1\\nc = 3"),
    ("a.rb", "a = 1\nb = 2\n", "a = 1", "a = 1\\nc = 3"),
    ("a.rs", "let a = 1;\n", "let a = 1;", "let a = 1;\\nlet c = 3;"),
    ("a.scala", "val a = 1\n", "val a = 1", "val a = 1\\nval c = 3"),
    ("a.sh", "a=1\nb=2\n", "a=1", "a=1\\nc=3"),
    ("a.sql", "SELECT 1;\n", "SELECT 1;", "SELECT 1;\\nSELECT 2;"),
    ("a.swift", "let a = 1\n", "let a = 1", "let a = 1\\nlet c = 3"),
    ("a.toml", "a = 1\nb = 2\n", "a = 1", "a = 1\\nc = 3"),
    ("a.tsx", "let a = 1;\n", "let a = 1;", "let a = 1;\\nlet c = 3;"),
    ("a.txt", "one\ntwo\n", "one", "one\\nthree"),
    ("a.vue", "<template>\n<p>a</p>\n</template>\n", "<p>a</p>", "<p>a</p>\\n<p>c</p>"),
    ("a.yaml", "a: 1\nb: 2\n", "a: 1", "a: 1\\nc: 3"),
    ("notes", "one\ntwo\n", "one", "one\\nthree"),
    ("Makefile", "a:\n\techo 1\n", "\techo 1", "\techo 1\\n\techo 2"),
];

/// Does each call in one process: whether it is done, what the file has then, and what is said.
fn replies(calls: &[(String, Option<&str>, Value)]) -> Vec<(bool, String, String)> {
    let bench = Bench::with("unused", "");
    for (name, file, _) in calls {
        let path = bench.root.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        if let Some(file) = file {
            bench.put(name, file);
        }
    }
    let mut command = plain(bench.root.path(), bench.state.path());
    command.arg("batch");
    let requests: Vec<Value> = calls.iter().map(|(_, _, call)| call.clone()).collect();
    let both = calls.iter().zip(batch(command, &requests));
    both.map(|((name, ..), reply)| {
        let message = reply["message"].as_str().expect("a message").to_owned();
        (reply["ok"] == true, bench.read(name), message)
    })
    .collect()
}

fn replace(path: &str, old: &str, new: &str) -> Value {
    json!({"arguments": {"path": path, "old_str": old, "new_str": new}})
}

#[test]
fn an_escaped_line_break_is_undone_or_told_on_every_path() {
    let mut calls = Vec::new();
    for (name, file, old, new) in FILES {
        let path = |folder: &str| format!("{folder}/{name}");
        let exact = path("exact");
        calls.push((exact.clone(), Some(*file), replace(&exact, old, new)));
        let repaired = path("repaired");
        let call = replace(&repaired, &format!("{old}  "), new);
        calls.push((repaired, Some(*file), call));
        let created = path("created");
        calls.push((created.clone(), None, replace(&created, "", &format!("{new}\n"))));
        let lines = path("lines");
        let first = 1 + file[..file.find(old).expect("there")].matches('\n').count();
        let edit = json!({"start_line": first, "end_line": first, "new_content": new});
        let call = json!({"tool": "edit_lines", "arguments": {"path": lines, "edits": [edit]}});
        calls.push((lines, Some(*file), call));
    }
    for ((name, file, _), (is_done, after, message)) in calls.iter().zip(replies(&calls)) {
        // Where a text that is repaired can be written in two ways, nothing is.
        let is_refused = name.starts_with("repaired/") && *file == Some(after.as_str());
        assert!(is_done || is_refused, "{name}: {message}");
        let is_told = message.contains("escapes (\\n");
        assert!(!after.contains("\\n") || is_told, "{name}: {message}");
    }
}

#[test]
fn an_escape_that_the_file_has_in_such_a_place_or_that_is_no_break_is_not_told() {
    let calls = [
        ("a.sh", "echo one \\n two\n", "echo one", "echo 1 \\n 2; echo one"),
        ("a.txt", "as in a\\nb\nend\n", "end", "the\\nend"),
        ("a.md", "A line.\n", "A line.", "A line, as in `a\\nb`."),
        ("b.md", "A line.\n", "A line.", "In $a\\neq b$ it is."),
        ("c.md", "A line.\n", "A line.", "In C:\\new\\dir and src\\new\\dir it is."),
        ("a.php", "<?php\nf();\n", "f();", "use App\\notes\\Note;"),
        ("a.rb", "a = 1\n", "a = 1", "a = \"1\\n2\""),
    ];
    let calls =
        calls.map(|(name, file, old, new)| (name.to_owned(), Some(file), replace(name, old, new)));
    for ((name, ..), (is_done, after, message)) in calls.iter().zip(replies(&calls)) {
        assert!(
            is_done && after.contains("\\n") && !message.contains("escapes"),
            "{name}: {message}"
        );
    }
}
