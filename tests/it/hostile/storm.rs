//! Every parser that takes foreign bytes, under a storm of broken input: real messages with
//! bytes changed, cut out, doubled and put together. A panic fails; what is no message must
//! be answered or refused. `RESTITCH_STORM=1000000` sets how many inputs each parser gets,
//! `RESTITCH_STORM_SEED` where they begin.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};

use restitch::edit::AskKind;
use restitch::engine::CallOptions;
use restitch::internals::Patch;
use restitch::internals::correct::parse_reply;
use restitch::internals::harness::mine;
use restitch::internals::text::{Encoding, Snapshot};
use restitch::port::{History as _, UndoMode};
use restitch::tools::Toolbox;
use serde_json::{Value, json};

use super::Sandbox;
use crate::disk::block_on;
use crate::random::Random;

/// A seed with a few things wrong.
fn broken(random: &mut Random, seeds: &[&[u8]]) -> Vec<u8> {
    let mut bytes = random.pick(seeds).to_vec();
    const ODD: &[u8] =
        b"\0 \xff \xed\xa0\x80 \\ud83d \r\n \n \" { } [ ] -1 18446744073709551616 1e999 null \
        \xf0\x9f\x98\x80 @@ *** \x1b # .. / ";
    let odd: Vec<&[u8]> = ODD.split(|byte| *byte == b' ').collect();
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len() + 1);
        let end = (at + random.below(12)).min(bytes.len());
        match random.below(6) {
            0 if at < bytes.len() => bytes[at] = u8::try_from(random.below(256)).expect("byte"),
            1 => drop(bytes.drain(at..end)),
            2 => {
                let odd = random.pick(&odd);
                bytes.splice(at..at, odd.iter().copied());
            }
            3 => {
                let twice = bytes[at..end].to_vec();
                bytes.splice(at..at, twice);
            }
            4 => bytes.truncate(at),
            _ => {
                let other = *random.pick(seeds);
                let from = random.below(other.len() + 1);
                bytes.truncate(at);
                bytes.extend_from_slice(&other[from..]);
            }
        }
    }
    bytes
}

fn inputs(short: usize) -> usize {
    std::env::var("RESTITCH_STORM").ok().and_then(|text| text.parse().ok()).unwrap_or(short)
}

fn seeded() -> Random {
    let seed = std::env::var("RESTITCH_STORM_SEED").ok().and_then(|text| text.parse().ok());
    Random::new(seed.unwrap_or(23))
}

/// Where each input takes work on the disk, the long run has so many.
const MOST_ON_DISK: usize = 50_000;

/// Runs the parser over broken seeds; a panic is told with its input.
fn storm(name: &str, short: usize, seeds: &[&[u8]], mut parse: impl FnMut(&[u8])) {
    let on_disk = name.contains(" over ");
    let count = if on_disk { inputs(short).min(MOST_ON_DISK) } else { inputs(short) };
    let mut random = seeded();
    let start = std::time::Instant::now();
    for _ in 0..count {
        let input = broken(&mut random, seeds);
        if catch_unwind(AssertUnwindSafe(|| parse(&input))).is_err() {
            panic!("{name} panics at {:?}", String::from_utf8_lossy(&input));
        }
    }
    println!("{name}: {count} inputs, no panic, {:?}", start.elapsed());
}

const CALL: &[u8] = br#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"f","ranges":[{"start":1,"end":2}]}}}"#;
const PING: &[u8] = br#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#;
const CANCEL: &[u8] =
    br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#;
const EDIT: &[u8] = br#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"edit_file","arguments":{"path":"f","old_str":"q","new_str":"r"}}}"#;
const RESOURCE: &[u8] =
    br#"{"jsonrpc":"2.0","id":3,"method":"resources/read","params":{"uri":"file:///f"}}"#;

/// Nothing but protocol comes back, and the server lives.
#[test]
fn mcp_frames() {
    let sandbox = Sandbox::new().with("f", "one\ntwo\nthree\n");
    let mut child = sandbox.restitch(&["mcp"]).env("RESTITCH_LOG", "off").spawn().expect("starts");
    let mut stdin = child.stdin.take().expect("piped");
    let stdout = child.stdout.take().expect("piped");
    let (mut random, count) = (seeded(), inputs(30_000));
    let start = std::time::Instant::now();
    let writer = std::thread::spawn(move || {
        stdin.write_all(crate::client::greeting().as_bytes()).expect("hello");
        for _ in 0..count {
            let mut line = broken(&mut random, &[CALL, PING, CANCEL, EDIT, RESOURCE]);
            line.push(b'\n');
            stdin.write_all(&line).expect("the server reads on");
        }
        let last = json!({ "jsonrpc": "2.0", "id": "the last", "method": "ping" });
        writeln!(stdin, "{last}").expect("last");
        stdin
    });
    let mut answers = 0_usize;
    let mut lines = BufReader::new(stdout).lines();
    let lasts = lines.by_ref().map_while(Result::ok).any(|line| {
        answers += 1;
        let answer: Value =
            serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
        assert_eq!(answer["jsonrpc"], "2.0", "{line}");
        answer["id"] == "the last"
    });
    drop(writer.join().expect("writer"));
    assert!(lasts, "the server ended after {answers} answers");
    println!("MCP frames: {count} inputs, {answers} answers, still there, {:?}", start.elapsed());
    let drained = std::thread::spawn(move || lines.map_while(Result::ok).count());
    child.wait().expect("ends");
    drained.join().expect("drained");
}

#[test]
fn batch_lines() {
    let sandbox = Sandbox::new().with("f", "one\ntwo\nthree\n");
    let seeds: &[&[u8]] = &[
        br#"{"id":1,"tool":"read_file","arguments":{"path":"f"}}"#,
        br#"{"id":"x","dry_run":true,"arguments":{"path":"f","old_str":"two","new_str":"2"}}"#,
        br#"{"tool":"hashline_edit","dry_run":"true","arguments":{"path":"f","edits":[{"op":"replace","pos":"2#AB","lines":["x"]}]}}"#,
    ];
    let (mut random, count) = (seeded(), inputs(3_000));
    let start = std::time::Instant::now();
    let mut text = Vec::new();
    let mut wanted = 0;
    for _ in 0..count {
        let mut line = broken(&mut random, seeds);
        line.push(b'\n');
        wanted +=
            line.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()).count();
        text.extend(line);
    }
    let out = sandbox.run(&["--no-model", "batch", "--dry-run"], &text);
    assert_eq!(out.status.code(), Some(0));
    let replies = out.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count();
    assert_eq!(replies, wanted, "one reply a line");
    println!("batch lines: {count} inputs, {replies} replies, {:?}", start.elapsed());
}

#[test]
fn patches() {
    let seeds: &[&[u8]] = &[
        b"*** Begin Patch\n*** Update File: f\n@@ fn a\n one\n-two\n+2\n three\n*** End Patch\n",
        b"*** Begin Patch\n*** Add File: new\n+x\n*** Delete File: f\n*** End Patch",
        b"--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n\\ No newline at end of file\n",
        b"f\n<<<<<<< SEARCH\ntwo\n=======\n2\n>>>>>>> REPLACE\n",
    ];
    storm("patches", 3_000, seeds, |input| {
        let text = String::from_utf8_lossy(input);
        let _ = Patch::parse(&text, None);
        let _ = Patch::parse(&text, Some("f"));
    });
}

#[test]
fn hashline_calls() {
    let seeds: &[&[u8]] = &[
        br#"{"path":"f","edits":[{"op":"replace","pos":"2#AB","end":"3#CD","lines":["x","y"]}]}"#,
        br#"{"path":"f","edits":"[{\"op\":\"append\",\"pos\":\"1#QQ|one\",\"lines\":\"x\"}]","snapshot":"0123456789ab"}"#,
        br#"{"path":"f","edits":[{"op":"prepend","lines":null}],"rename":"g","delete":false}"#,
    ];
    let tools = crate::in_memory::toolbox(&[("f", "one\ntwo\nthree\n")]);
    let options = CallOptions { dry_run: true, ..CallOptions::default() };
    storm("hashline calls", 3_000, seeds, |input| {
        let text = String::from_utf8_lossy(input).into_owned();
        let arguments = serde_json::from_str(&text).unwrap_or(Value::String(text));
        block_on(tools.call("hashline_edit", arguments, &options));
    });
}

#[test]
fn transcripts() {
    let seeds: &[&[u8]] = &[
        br#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t1","name":"Edit","input":{"file_path":"/w/f","old_string":"a","new_string":"b"}}]},"cwd":"/w"}
{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":"String to replace not found in file."}]}}
"#,
        br#"{"type":"response_item","payload":{"type":"custom_tool_call","name":"apply_patch","call_id":"c","input":"*** Begin Patch\n*** Update File: f\n@@\n-a\n+b\n*** End Patch"}}
{"type":"response_item","payload":{"type":"custom_tool_call_output","call_id":"c","output":"failed"}}
"#,
        br#"{"sessionId":"s","messages":[{"type":"gemini","toolCalls":[{"name":"replace","args":{"file_path":"f","old_string":"a","new_string":"b"},"status":"error"}]}]}"#,
        b"# aider chat started at 2024-05-01 09:00:00\n\n#### x  \n\nf\n```\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n```\n\n> Tokens: 1.2k sent, 8 received.  \n> ## SearchReplaceNoExactMatch: This SEARCH block failed to exactly match lines in f  \n> <<<<<<< SEARCH  \n> a  \n> =======  \n> b  \n> >>>>>>> REPLACE  \n",
    ];
    let sandbox = Sandbox::new();
    let file = sandbox.root().join("t.jsonl");
    storm("transcripts", 600, seeds, |input| {
        std::fs::write(&file, input).expect("file");
        for client in mine::Client::ALL {
            for source in mine::sources(&file).expect("file") {
                let _ = source.read(Some(*client));
            }
        }
        for source in mine::sources(&file).expect("file") {
            let _ = source.read(None);
        }
    });
}

#[test]
fn model_replies() {
    let seeds: &[&[u8]] = &[
        br#"{"corrected_target_snippet":"two","start_line":2,"end_line":2}"#,
        b"<think>hm {}</think>\n```json\n{\"corrected_new_string\": \"x\\ny\"}\n```",
        br#"{"corrected_string_escaping":"a\u0041","choice":1}"#,
    ];
    storm("model replies", 5_000, seeds, |input| {
        let text = String::from_utf8_lossy(input);
        for kind in AskKind::ALL {
            let _ = parse_reply(*kind, &text);
        }
    });
}

/// A log and a journal as they are written, broken: with a start, a log and a rehearsed undo for each.
#[test]
fn starts_over_broken_logs_and_journals() {
    let sandbox = Sandbox::new().with("f", "one\n");
    let edit = json!({ "path": "f", "old_str": "one", "new_str": "two" });
    assert_eq!(sandbox.batch(&[json!({ "arguments": edit })])[0]["ok"], true);
    let history = crate::disk::names_below(&sandbox.state());
    let log = history.iter().find(|name| name.ends_with("/log")).expect("log");
    let written = std::fs::read(log).expect("log");
    let journal = sandbox.state().join("in-place/1-0123456789abcdef.journal");
    let target = sandbox.root().join("f");
    let head = json!({ "target": target, "before": 4, "after": 4 });
    let whole = format!("{head}\none\ntwo\n").into_bytes();
    storm("starts over logs and journals", 800, &[&written, &whole], |input| {
        std::fs::write(log, input).expect("log");
        std::fs::write(&journal, input).expect("journal");
        let store = sandbox.store();
        let _ = block_on(store.log());
        let _ = block_on(store.undo(None, UndoMode::DryRun));
    });
    assert!(["one\n", "two\n"].contains(&sandbox.text("f").as_str()), "{}", sandbox.text("f"));
}

/// Mostly one rule each: what takes the time of this storm is to make rules into automata.
const RULES: &str = "/target/ *.log !keep.log a/**/b [a-z]*.rs \\!x #c {a,b} ** */";

#[test]
fn walks_over_broken_ignore_files() {
    // Many folders, each with rules of its own, so that one walk reads many inputs.
    const FOLDERS: usize = 100;
    let sandbox = Sandbox::new();
    for folder in 0..FOLDERS {
        for name in ["a/b/c.rs", "keep.log", "x.log", "target/y"] {
            sandbox.write(&format!("{folder}/{name}"), "x\n");
        }
    }
    let tools = Toolbox::new(sandbox.engine());
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("runtime");
    let mut next = 0;
    let mut rules: Vec<&[u8]> = RULES.split(' ').map(str::as_bytes).collect();
    rules.push(b"*.log\n!keep.log\n  \n");
    storm("walks over ignore files", 2_000, &rules, |input| {
        let folder = next % FOLDERS;
        std::fs::write(sandbox.root().join(format!("{folder}/.gitignore")), input).expect("rules");
        next += 1;
        if next % FOLDERS == 0 {
            let options = CallOptions::default();
            let listed = tools.call("list_files", json!({}), &options);
            assert!(runtime.block_on(listed).ok);
        }
    });
}

#[test]
fn encodings() {
    let mut shift_jis = Vec::new();
    for name in ["shift_jis", "windows-1252", "utf-16le", "iso-2022-jp", "gbk"] {
        let encoding = Encoding::from_name(name).expect("known");
        let text = if name == "windows-1252" { "déjà vu\n" } else { "日本語 text\n" };
        shift_jis.push(encoding.encode(text).expect("fits"));
    }
    let seeds: Vec<&[u8]> = shift_jis.iter().map(Vec::as_slice).collect();
    storm("encodings", 3_000, &seeds, |input| {
        let Ok(file) = Snapshot::decode(input.to_vec()) else { return };
        let mut shown = String::new();
        let _ = write!(shown, "{:?}", file.uncertain_characters("é語ж"));
        let all = file.byte_range(0..file.text().len());
        assert!(all.end == input.len() && all.start <= 3, "{all:?}");
    });
}
