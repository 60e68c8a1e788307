//! A file or an argument must not end the process. The parsers run in a process of their own,
//! because a scanner that gives up takes the process with it.

use std::process::{Command, Stdio};

use restitch::adapters::syntax::TreeSitter;
use restitch::edit::Splice;
use restitch::port::Syntax as _;
use serde_json::json;

use super::Sandbox;
use crate::long::is_long_run;
use crate::syntax::languages::samples;

const VARIABLE: &str = "RESTITCH_TEST_SCAN";

#[test]
fn a_files_depth_does_not_end_the_process() {
    let deep = |levels: usize, line: &str| -> String {
        (0..levels).map(|level| format!("{}{line}\n", " ".repeat(level))).collect()
    };
    let sandbox = Sandbox::new();
    let files = [
        ("seq.yaml", "- ".repeat(254) + "a"),
        ("map.yml", deep(300, "a:")),
        ("long.rb", format!("x = <<{}\n", "a".repeat(300))),
        // 1,025 bytes of state, one more than there is room for.
        ("many.rb", format!("f({})\n", "<<ABCDEFG, ".repeat(93) + "x")),
        ("deep.py", deep(511, "if a:") + &" ".repeat(511) + "f\"{"),
    ];
    let mut requests = Vec::new();
    for (name, text) in &files {
        sandbox.write(name, text);
        requests.push(json!({ "arguments": { "path": name, "old_str": text, "new_str": "b" } }));
    }
    let replies = sandbox.batch(&requests);
    assert_eq!(replies.len(), requests.len(), "the process ended before it had answered");
    for ((name, _), reply) in files.iter().zip(&replies) {
        assert_eq!(reply["ok"], true, "{name}: {reply}");
    }
}

#[test]
fn a_globs_depth_or_length_does_not_end_the_process() {
    let sandbox = Sandbox::new();
    let nested = |depth: usize| "{".repeat(depth) + "a" + &"}".repeat(depth);
    sandbox.write("a.txt", "a\n");
    sandbox.write(".gitignore", nested(2_000) + "\nb.txt\n");
    sandbox.write("b.txt", "b\n");
    let globs = [nested(9), nested(254), nested(13_000), "*a".repeat(100_000), "?".repeat(100_000)];
    let list = |glob: &str| json!({ "tool": "list_files", "arguments": { "glob": glob } });
    let mut requests: Vec<_> = globs.iter().map(|glob| list(glob)).collect();
    requests.extend([&*"*".repeat(1_000), &*"[!a]".repeat(250), "{a,{b,c}}.txt"].map(list));
    let replies = sandbox.batch(&requests);
    assert_eq!(replies.len(), requests.len(), "the process ended before it had answered");
    let (refused, answered) = replies.split_at(globs.len());
    for reply in refused {
        assert_eq!(reply["code"], "EDIT_TOO_LARGE", "{reply}");
    }
    assert!(answered.iter().all(|reply| reply["ok"] == true), "{answered:?}");
    let files = answered[2]["report"]["files"].as_array().expect("files").iter();
    let names: Vec<&str> = files.filter_map(|file| file["path"].as_str()).collect();
    assert_eq!(names, ["a.txt"], "the other rules of the ignore file hold");
}

/// Texts that bring a scanner's state to its bounds: a token repeated, nested or cut anywhere, in
/// and around a sound file. `RESTITCH_LONG=1` takes more of each.
#[test]
fn no_text_ends_a_parser() {
    let scan = Command::new(std::env::current_exe().expect("exe"))
        .args(["hostile::p17_abort::scan", "--exact", "--nocapture", "--test-threads=1"])
        .env(VARIABLE, "1")
        .stdin(Stdio::null())
        .output()
        .expect("child");
    let out = String::from_utf8_lossy(&scan.stdout);
    let last = out.lines().rev().find(|line| line.starts_with("scanned ")).unwrap_or_default();
    assert!(scan.status.success(), "{:?} after {last}", scan.status);
    assert!(last.ends_with("to the end"), "{out}");
    println!("{last}");
}

/// What languages repeat and nest, besides the words of their samples.
const TOKENS: &str = "\
    ( [ { < (( ${ #{ $( \" ' ` \"\"\" f\"{ f\"\"\"{ $\"{ $$\"\"\"{{ \"#{ %w( %q{ <<A\n \
    <<~A\n <<-'A'\n <<\"\" <<<A\n <a> <div> <script> </a> <!-- ?> /* // # r#\" R\"a( |\n \
    ---\n % [[ [==[ @( ?( \\ \\\n \n \t \u{c} \0 é a= => -> :: @ ;";

/// The same with blanks in them.
const SPACED: &[&str] = &[
    "<<AB, ", "<?php ", "- ", "? ", ": ", "a: ", "&a ", "!a ", "if a:\n ", "do ", "end ", "begin ",
    "case ", "esac ",
];

/// The scan, in the child; does nothing in an ordinary run.
#[test]
fn scan() {
    if std::env::var_os(VARIABLE).is_none() {
        return;
    }
    let parser = TreeSitter::new();
    let long = is_long_run();
    let counts: &[usize] = match long {
        true => &[2, 17, 127, 128, 203, 204, 205, 253, 254, 255, 256, 257, 511, 512, 1_023, 4_000],
        false => &[255],
    };
    let tokens: Vec<&str> = TOKENS.split(' ').chain(SPACED.iter().copied()).collect();
    let mut texts = 0;
    for sample in &samples() {
        let mut parse = |text: &str| {
            texts += 1;
            let _ = parser.errors(&sample.path, text);
        };
        let words = sample.file.split_whitespace().filter(|_| long);
        for token in tokens.iter().copied().chain(words) {
            for &count in counts {
                let repeated = token.repeat(count);
                parse(&repeated);
                let nested = |level: usize| format!("{}{token}\n", " ".repeat(level));
                parse(&(0..count.min(600)).map(nested).collect::<String>());
                if long {
                    parse(&[repeated.as_str(), &sample.file].concat());
                    parse(&[sample.file.as_str(), &repeated].concat());
                }
            }
        }
        // Two tokens in turn: what one opens, the other need not close.
        let pairs = if long { tokens.len() } else { 1 };
        for (at, first) in tokens.iter().enumerate() {
            for second in tokens.iter().cycle().skip(at + 1).take(pairs) {
                parse(&[*first, *second].concat().repeat(300));
            }
        }
        let step = if long { 1 } else { 23 };
        let ends = (0..sample.file.len()).step_by(step);
        for at in ends.filter(|&at| sample.file.is_char_boundary(at)) {
            let (before, after) = sample.file.split_at(at);
            parse(before);
            parse(after);
            parse(&before.repeat(40));
            // Only what changed is read again.
            let splice = Splice { range: at..sample.file.len(), text: String::new() };
            let _ = parser.compare(&sample.path, &sample.file, before, &[splice]);
        }
        println!("scanned {texts} texts up to {}", sample.path);
    }
    println!("scanned {texts} texts to the end");
}
