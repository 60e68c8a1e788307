//! Measures the time and memory of calls of size n, 2n and 4n, to show costs that grow with the
//! square of the input. Each call has a process of its own, so that its peak of memory is known.
#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a bench is a program that prints and may stop"
)]

use std::fs;
use std::process::Command;
use std::time::Instant;

use restitch::engine::{CallOptions, Engine};
use restitch::store::DiskStore;
use restitch::tools::Toolbox;
use serde_json::{Value, json};

/// A shape of call: its name, the smallest n, and a function from n to the file, the tool and its
/// arguments.
type Shape = (&'static str, usize, fn(usize) -> (String, &'static str, Value));

const SHAPES: &[Shape] = &[
    ("hashline_edit, n operations", 250, |n| {
        let edits: Vec<Value> = (0..n)
            .map(|at| json!({ "op": "replace", "pos": anchor(at * 3), "lines": ["x"] }))
            .collect();
        (lines(n * 3), "hashline_edit", json!({ "path": "f", "edits": edits }))
    }),
    ("edit_lines, n edits", 250, |n| {
        let edit = |at| json!({ "start_line": at, "end_line": at, "new_content": "x" });
        let edits: Vec<Value> = (1..=n).map(|at| edit(at * 2)).collect();
        (lines(n * 3), "edit_lines", json!({ "path": "f", "edits": edits }))
    }),
    ("multi_edit, n edits", 250, |n| {
        let edit = |at| json!({ "path": "f", "old_str": format!("line {at} of"), "new_str": format!("row {at} of") });
        let edits: Vec<Value> = (0..n).map(edit).collect();
        (lines(n * 3), "multi_edit", json!({ "edits": edits }))
    }),
    ("search, keyword of n bytes", 250, |n| {
        (lines(50_000), "search", json!({ "keyword": "k".repeat(n) }))
    }),
    ("wildcard_search, term of n bytes", 250, |n| {
        (lines(50_000), "wildcard_search", json!({ "terms": ["*x".repeat(n / 2)] }))
    }),
    ("edit_file, replace_all at n places", 25_000, |n| {
        let call = json!({ "path": "f", "old_str": "ab", "new_str": "cd", "replace_all": true });
        ("ab ".repeat(n), "edit_file", call)
    }),
    ("edit_file, a line of n bytes", 4 << 20, |n| {
        let file = format!("start {} end\n", "x".repeat(n));
        (file, "edit_file", json!({ "path": "f", "old_str": "start", "new_str": "begin" }))
    }),
    ("multi_edit, n edits of a file of 2 MB", 250, |n| {
        let edit = |at| json!({ "path": "f", "old_str": format!("line {at} of"), "new_str": format!("row {at} of") });
        let edits: Vec<Value> = (0..n).map(edit).collect();
        (lines(64_000), "multi_edit", json!({ "edits": edits }))
    }),
    ("apply_patch, n hunks", 250, |n| {
        let line = |at: usize| format!("line {at} of the file, {}\n", at * 7919 % 1000);
        let hunk = |at| format!("@@\n-{}+row {at}\n", line(at * 3));
        let hunks: String = (0..n).map(hunk).collect();
        let patch = format!("*** Begin Patch\n*** Update File: f\n{hunks}*** End Patch");
        (lines(n * 3), "apply_patch", json!({ "patch": patch }))
    }),
    ("edit_file, the whole file of n lines with blanks at the ends", 10_000, |n| {
        let old = lines(n).replace('\n', "  \n");
        (lines(n), "edit_file", whole(&old, n))
    }),
    ("edit_file, the whole file of n lines four deeper", 10_000, |n| {
        let old: String = lines(n).lines().map(|line| format!("    {line}\n")).collect();
        (lines(n), "edit_file", whole(&old, n))
    }),
    ("edit_file, the whole file of n lines with numbers", 10_000, |n| {
        let numbered = |(at, line)| format!("{:>6}\t{line}\n", at + 1);
        let old: String = lines(n).lines().enumerate().map(numbered).collect();
        (lines(n), "edit_file", whole(&old, n))
    }),
    ("edit_file, n typographic lines", 10_000, |n| {
        let file = lines(n).replace(" of ", " ’of’ ");
        (file, "edit_file", whole(&lines(n).replace(" of ", " 'of' "), n))
    }),
    ("edit_file, n lines, every third stale", 10_000, |n| {
        let stale = |(at, line): (usize, &str)| match at % 3 {
            0 => format!("{} stale\n", &line[..line.len() / 2]),
            _ => format!("{line}\n"),
        };
        let old: String = lines(n).lines().enumerate().map(stale).collect();
        (lines(n), "edit_file", whole(&old, n))
    }),
    ("edit_file, n lines in another order and depth", 10_000, |n| {
        let old: String =
            (0..n).map(|at| ["a\n", "b\n", "c\n", "}\n"][at * 7919 % 1009 % 4]).collect();
        let new: String =
            (0..n).map(|at| ["a\n", "b\n", "c\n", "}\n"][at * 6007 % 1013 % 4]).collect();
        let file = old.lines().map(|line| format!("  {line}\n")).collect();
        (file, "edit_file", json!({ "path": "f", "old_str": old, "new_str": new }))
    }),
    ("edit_file, n unlike lines in another order", 25_000, |n| {
        let mut order: Vec<usize> = (0..n).collect();
        let mut draw = 1_u64;
        for at in (1..n).rev() {
            draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            order.swap(at, usize::try_from(draw >> 33).expect("small") % (at + 1));
        }
        let line = |at: usize| format!("let value_{at} = compute({at});\n");
        let old: String = order.into_iter().map(line).collect();
        let file = (0..n).map(line).collect();
        (file, "edit_file", json!({ "path": "f", "old_str": old, "new_str": "x\n" }))
    }),
    ("multi_edit, n edits of which none is in the file", 250, |n| {
        let edit = |at| json!({ "path": "f", "old_str": format!("linne {at} off teh file"), "new_str": "x" });
        let edits: Vec<Value> = (0..n).map(edit).collect();
        (lines(n * 3), "multi_edit", json!({ "edits": edits }))
    }),
    ("edit_file, a letter with n marks", 250_000, |n| {
        let file = format!("e{}\n", "\u{301}\u{323}".repeat(n / 2));
        let old = format!("e{}\n", "\u{323}\u{301}".repeat(n / 2));
        (file, "edit_file", json!({ "path": "f", "old_str": old, "new_str": "x\n" }))
    }),
];

fn lines(n: usize) -> String {
    (0..n).map(|at| format!("line {at} of the file, {}\n", at * 7919 % 1000)).collect()
}

/// Returns the anchor of the line of [`lines`] with this index, from 0.
fn anchor(at: usize) -> String {
    let body = format!("line {at} of the file, {}", at * 7919 % 1000);
    let id: String = restitch::internals::tag::id(at + 1, &body).into_iter().collect();
    format!("{}#{id}", at + 1)
}

/// Returns a call that repeats the whole file and changes one line.
fn whole(old: &str, n: usize) -> Value {
    let middle = format!("line {} ", n / 2);
    let new = old.replacen(&middle, "the line ", 1);
    json!({ "path": "f", "old_str": old, "new_str": new })
}

fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}

fn run(shape: &Shape, n: usize) {
    let (file, tool, call) = shape.2(n);
    let temp = tempfile::tempdir().expect("temp");
    fs::write(temp.path().join("f"), file).expect("file");
    let tools = Toolbox::new(Engine::builder(DiskStore::open(temp.path()).expect("store")).build());
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("runtime");
    let start = Instant::now();
    let reply = runtime.block_on(tools.call(tool, call, &CallOptions::default()));
    let time = start.elapsed();
    let size = serde_json::to_string(&reply).map_or(0, |text| text.len());
    let code = reply.code.map_or("done", |code| code.as_str());
    println!("{n:>9}  {time:>12.1?}  {:>7} kB peak  {size:>9} bytes of reply  {code}", peak());
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, shape, n] = arguments.as_slice()
        && let (Ok(shape), Ok(n)) = (shape.parse::<usize>(), n.parse())
    {
        return run(&SHAPES[shape], n);
    }
    for (at, (name, least, _)) in SHAPES.iter().enumerate() {
        println!("{name}");
        for n in [*least, least * 2, least * 4] {
            let mut child = Command::new(&arguments[0]);
            let status = child.args([at.to_string(), n.to_string()]).status();
            if !status.is_ok_and(|status| status.success()) {
                println!("{n:>9}  failed");
            }
        }
    }
}
