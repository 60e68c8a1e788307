//! What an edit costs, as ratios against a baseline in the same run, with the targets and the change
//! since the last release (`benches/ratios.txt`). Times drift with the machine; ratios less so. The
//! targets are for the optimised build, which the first line names.
//!
//! `cargo bench --bench apply`; with `-- bindings` it prints the size of a file of 25 KB, and the
//! medians of an exact and a shallow call in microseconds, which `bindings/bench/run.sh` compares with
//! those of the bindings. `-- keep` writes the ratios to the file. `-- calls` prints 980 calls for
//! `restitch batch`, of every kind of mistake (with `exact`: without one), so that another build can be
//! timed with them, and its answers compared.
#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark prints, and ends where it cannot go on"
)]

mod shared;

use std::hint::black_box;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use restitch::adapters::syntax::TreeSitter;
use restitch::edit::Splice;
use restitch::engine::SyntaxMode;
use restitch::port::Syntax as _;
use restitch::{Applier, EditRequest, apply};
use serde_json::json;
use shared::{MUTATIONS, Mutation, call, file, run_time};

/// The size of the file of most measurements.
const BYTES: usize = 57_000;
/// The ratios of the last release.
const LAST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/ratios.txt");
/// How much worse than in the last release a ratio may be before it is marked.
const MARKED: f64 = 1.25;

/// A measured ratio, and the most that it should be.
struct Ratio {
    name: &'static str,
    value: f64,
    /// What is compared with the last release: a time as passes over the file, since it may have been
    /// measured on another machine.
    compared: f64,
    /// Infinite where only the change since the last release counts.
    target: f64,
    /// What was measured.
    note: String,
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// The medians of two things that take turns, so that both have the machine's moods, by a clock.
fn medians(
    runs: usize,
    now: impl Fn() -> Duration,
    mut one: impl FnMut(),
    mut other: impl FnMut(),
) -> [Duration; 2] {
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..runs {
        for (times, run) in times.iter_mut().zip([&mut one as &mut dyn FnMut(), &mut other]) {
            let start = now();
            run();
            times.push(now() - start);
        }
    }
    times.map(median)
}

fn ratio(name: &'static str, target: f64, what: &str, [ours, bare]: [Duration; 2]) -> Ratio {
    let value = ours.as_secs_f64() / bare.as_secs_f64();
    let note = format!("{ours:.1?} to {bare:.1?}, {what}");
    Ratio { name, value, compared: value, target, note }
}

/// A time in milliseconds, which is compared as passes over the text.
fn time(name: &'static str, target: f64, what: &str, text: &str, ours: Duration) -> Ratio {
    let pass = || {
        let start = run_time();
        black_box(count_words(text));
        run_time() - start
    };
    let least = (0..301).map(|_| pass()).min().unwrap_or_default();
    let compared = ours.as_secs_f64() / least.as_secs_f64();
    let note = format!("ms, {what}; {compared:.1} passes over the file");
    Ratio { name, value: ours.as_secs_f64() * 1e3, compared, target, note }
}

/// The allocations of one of `calls` calls that `run` makes.
fn allocations(name: &'static str, target: f64, calls: usize, run: impl FnMut()) -> Ratio {
    let counted = allocation_counter::measure(run);
    let a_call = |count: u64| count as f64 / calls as f64;
    let note = format!("allocations a call, of {:.0} bytes together", a_call(counted.bytes_total));
    let value = a_call(counted.count_total);
    Ratio { name, value, compared: value, target, note }
}

/// Finds a text by memmem, all places of it, and replaces the first.
fn find_and_splice(text: &str, old: &str, new: &str) -> Vec<u8> {
    let finder = memchr::memmem::Finder::new(old.as_bytes());
    let places: Vec<usize> = finder.find_iter(text.as_bytes()).collect();
    let mut out = Vec::with_capacity(text.len() + new.len());
    out.extend_from_slice(&text.as_bytes()[..places[0]]);
    out.extend_from_slice(new.as_bytes());
    out.extend_from_slice(&text.as_bytes()[places[0] + old.len()..]);
    out
}

/// Four lines of the middle of a file, and the same with a change.
fn middle(text: &str, line: usize) -> (String, String) {
    let at = text[text.len() / 2..].find("}\n\n").expect("an item") + text.len() / 2;
    let old: String =
        text[at..].lines().skip(4 + line).take(4).map(|line| format!("{line}\n")).collect();
    let new = old.replacen("let", "let mut", 1);
    (old, new)
}

fn exact(out: &mut Vec<Ratio>) {
    let text = file(BYTES);
    let (old, new) = middle(&text, 0);
    let call = [EditRequest::new(old.as_str(), new.as_str()).for_path("a.rs")];
    let plain = Applier::default().syntax(SyntaxMode::Off);
    let ours = || {
        black_box(plain.text(None, &text, &call).expect("exact"));
    };
    let bare = || {
        black_box(find_and_splice(&text, &old, &new));
    };
    let times = medians(2_001, run_time, ours, bare);
    out.push(ratio("exact", 4.0, "`apply` without a parser to memmem and splice", times));
    out.push(allocations("exact-allocations", 40.0, 1, ours));
}

/// What the parser adds: with the tree of the file at hand, and without any.
fn parser(out: &mut Vec<Ratio>) {
    let text = file(BYTES);
    let (old, _) = middle(&text, 0);
    let at = text.find(&old).expect("there");
    let versions = 201;
    let edits: Vec<(Splice, String)> = (0..versions)
        .map(|version| {
            let new = old.replacen("compute", &format!("other_{version}"), 1);
            let after = text.replacen(&old, &new, 1);
            (Splice { range: at..at + old.len(), text: new }, after)
        })
        .collect();
    let check = |parser: &TreeSitter, (splice, after): &(Splice, String)| {
        let check = parser.compare("a.rs", &text, after, std::slice::from_ref(splice));
        assert!(check.checked && check.new_errors.is_empty());
    };
    let times = edits.iter().map(|edit| {
        let parser = TreeSitter::new();
        parser.errors("a.rs", &text).expect("sound");
        let start = run_time();
        check(&parser, edit);
        run_time() - start
    });
    let warm = median(times.take(41).collect());
    out.push(time("warm", 0.5, "an exact edit with the tree of the file kept", &text, warm));
    let items = |(_, after): &(Splice, String)| {
        let start = after[..at].rfind("\n\n").map_or(0, |end| end + 2);
        let end = after[at..].find("\n\n").map_or(after.len(), |end| at + end + 2);
        after[start..end].to_owned()
    };
    let stretches: Vec<String> = edits.iter().map(items).collect();
    let (mut edits, mut stretches) = (edits.iter(), stretches.iter());
    let times = medians(
        versions,
        run_time,
        || check(&TreeSitter::new(), edits.next().expect("a version")),
        || {
            let stretch = stretches.next().expect("a version");
            assert!(TreeSitter::new().errors("a.rs", stretch).expect("parsed").is_empty());
        },
    );
    out.push(ratio(
        "cold",
        1.2,
        "checking an exact edit without a tree to parsing its item",
        times,
    ));
}

/// Calls of every kind, from exact ones to those that must be refused.
fn mix(out: &mut Vec<Ratio>) {
    let text = file(BYTES);
    let calls: Vec<[EditRequest; 1]> = MUTATIONS
        .iter()
        .map(|(name, mutate)| {
            let (old, new) = call(&text, name, *mutate);
            [EditRequest::new(old, new).for_path("a.rs")]
        })
        .collect();
    for (name, target, mode) in
        [("mix", 1.0, SyntaxMode::Off), ("mix-with-parser", 3.0, SyntaxMode::Veto)]
    {
        let applier = Applier::default().syntax(mode);
        let mut times = Vec::new();
        for run in 0..21 {
            // Another text each time, or its tree would be at hand.
            let text = format!("{text}\n// {name} {run}\n");
            let start = run_time();
            for call in &calls {
                let _ = black_box(applier.text(None, &text, call));
            }
            times.push((run_time() - start) / u32::try_from(calls.len()).expect("few"));
        }
        let what = format!("a call, {} kinds of mistake", calls.len());
        out.push(time(name, target, &what, &text, median(times)));
    }
    let plain = Applier::default().syntax(SyntaxMode::Off);
    out.push(allocations("mix-allocations", f64::INFINITY, calls.len(), || {
        for call in &calls {
            let _ = black_box(plain.text(None, &text, call));
        }
    }));
}

/// A pass over a text. Not inlined, or its speed would depend on what is around it.
#[inline(never)]
fn count_words(text: &str) -> usize {
    text.split_whitespace().map(str::len).sum()
}

/// A refusal of a text that is not there, in a file and in one twice as long.
fn refusal(out: &mut Vec<Ratio>) {
    let texts = [500_000, 1_000_000].map(file);
    let old: String =
        (0..20).map(|n| format!("    let missing_{n} = other_{n}(value_{n});\n")).collect();
    let call = EditRequest::new(old, "x").for_path("a.rs");
    let refused = |text: &str| assert!(apply(text, &call).is_err());
    let times = medians(11, run_time, || refused(&texts[1]), || refused(&texts[0]));
    out.push(ratio("refusal-growth", 2.2, "a refusal on 1 MB to one on 500 KB", times));
    let pass = || {
        black_box(count_words(&texts[1]));
    };
    let times = medians(11, run_time, || refused(&texts[1]), pass);
    out.push(ratio("refusal-passes", 6.0, "a refusal on 1 MB to counting its words", times));
    out.push(allocations("refusal-allocations", f64::INFINITY, 1, || refused(&texts[1])));
}

/// An edit of a file through MCP, durable, against writing the same bytes. Each edit makes a version that
/// the history does not have yet, as edits do.
///
/// Without a sync of the folder a power cut can undo the rename, so an edit syncs the folder as well
/// before it says that it is durable. The second ratio is to the same steps: file, rename and folder. What
/// is left is the way through MCP, the locks, the history, and reading the file back; the parser works
/// meanwhile. Only on a machine that does nothing else do these two say much: a busy one makes each sync
/// wait for its turn.
fn durable(out: &mut Vec<Ratio>, command: &str) {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("folder");
    let root = folder.path().join("root");
    std::fs::create_dir(&root).expect("root");
    let text = file(BYTES);
    let (old, _) = middle(&text, 0);
    std::fs::write(root.join("a.rs"), &text).expect("file");
    let mut server = Command::new(command)
        .args(["--root", &root.display().to_string(), "--no-model", "mcp"])
        .env("RESTITCH_STATE_DIR", folder.path().join("state"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the command starts");
    let mut stdin = server.stdin.take().expect("piped");
    let mut stdout = BufReader::new(server.stdout.take().expect("piped"));
    let mut ask = |id: usize, method: &str, params: serde_json::Value| {
        let frame = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        writeln!(stdin, "{frame}").expect("sent");
        let mut answer = String::new();
        stdout.read_line(&mut answer).expect("answered");
        assert!(answer.contains("\"result\"") && !answer.contains("\"isError\":true"), "{answer}");
        if method == "initialize" {
            writeln!(
                stdin,
                "{}",
                json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })
            )
            .expect("sent");
        }
    };
    let client = json!({ "name": "bench", "version": "1" });
    let hello =
        json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
    ask(0, "initialize", hello);
    let mut id = 0;
    let mut last = old.clone();
    let mut ours = || {
        id += 1;
        let new = old.replacen("compute", &format!("other_{id}"), 1);
        let arguments = json!({ "path": "a.rs", "old_str": last, "new_str": new });
        ask(id, "tools/call", json!({ "name": "edit_file", "arguments": arguments }));
        last = new;
    };
    let bare = |with_folder: bool| {
        let temp = folder.path().join("temp");
        let mut out = std::fs::File::create(&temp).expect("temp");
        out.write_all(text.as_bytes()).expect("written");
        out.sync_all().expect("synced");
        std::fs::rename(&temp, folder.path().join("bare")).expect("renamed");
        if with_folder {
            std::fs::File::open(folder.path())
                .and_then(|folder| folder.sync_all())
                .expect("synced");
        }
    };
    // Another process and the disk do the work.
    let start = Instant::now();
    for (name, with_folder, what) in [
        ("durable", false, "an edit through MCP to temporary file, fsync and rename"),
        (
            "durable-same-syncs",
            true,
            "the same to temporary file, fsync, rename, fsync of the folder",
        ),
    ] {
        let times = medians(101, || start.elapsed(), &mut ours, || bare(with_folder));
        out.push(ratio(name, 1.5, what, times));
    }
    server.kill().expect("killed");
    server.wait().expect("ended");
}

/// The medians of an exact and a shallow call on a file of 25 KB.
fn bindings() {
    let block = |n: usize| {
        format!(
            "func step{n}(c *Conn) error {{\n\tfor {{\n\t\tif err := c.Next{n}(); err != nil {{\n\t\t\treturn err\n\t\t}}\n\t}}\n}}\n\n"
        )
    };
    let text: String = (0..).map(block).take(250).collect();
    let exact = ("\t\tif err := c.Next125(); err != nil {", "\t\tif err := c.Last(); err != nil {");
    let shallow = (
        "if err := c.Next125(); err != nil {\n\treturn err\n}",
        "if err := c.Last(); err != nil {\n\treturn err\n}",
    );
    println!("{}", text.len());
    for (old, new) in [exact, shallow] {
        let call = EditRequest::new(old, new).for_path("a.go");
        let times = (0..400).map(|_| {
            let start = Instant::now();
            let done = apply(&text, &call).expect("applied");
            let took = start.elapsed();
            assert!(done.text.contains("c.Last()"));
            took
        });
        println!("{:.1}", median(times.collect()).as_secs_f64() * 1e6);
    }
}

/// Prints 980 calls for `restitch batch`, on 49 files of 57 KB.
fn print_calls(kinds: &[(&str, Mutation)]) {
    for at in 0..980 {
        let (name, mutate) = kinds[at % kinds.len()];
        let text = format!("{}// file {}\n", file(BYTES), at / MUTATIONS.len());
        let (old, new) = call(&text, name, mutate);
        let arguments = json!({ "text": text, "path": "a.rs", "old_str": old, "new_str": new });
        println!("{}", json!({ "arguments": arguments }));
    }
}

/// What was kept of the last release: for each kind of build, a line that says what it is, and its
/// ratios. Those of a build that is not optimised are of no use but to be compared with each other.
fn last() -> Vec<(String, Vec<(String, f64)>)> {
    let text = std::fs::read_to_string(LAST).unwrap_or_default();
    let ratio = |line: &str| {
        let (name, value) = line.split_once(' ')?;
        Some((name.to_owned(), value.trim().parse().ok()?))
    };
    let blocks = text.split("\n\n").filter(|block| !block.trim().is_empty());
    blocks
        .map(|block| {
            let (build, ratios) = block.trim().split_once('\n').unwrap_or((block, ""));
            (build.to_owned(), ratios.lines().filter_map(ratio).collect())
        })
        .collect()
}

/// The kind of this build.
const KIND: &str = if cfg!(debug_assertions) { "as the tests" } else { "optimised" };

/// What this build is: version, commit, and how it was built.
fn this_build() -> String {
    let git = Command::new("git")
        .args(["-C", env!("CARGO_MANIFEST_DIR"), "describe", "--always", "--dirty"])
        .output();
    let commit = git.ok().and_then(|out| String::from_utf8(out.stdout).ok()).unwrap_or_default();
    format!("{} {} built {KIND}", env!("CARGO_PKG_VERSION"), commit.trim())
}

fn main() {
    let has = |wanted: &str| std::env::args().any(|argument| argument == wanted);
    if has("bindings") {
        return bindings();
    }
    if has("calls") {
        return print_calls(if has("exact") { &MUTATIONS[..1] } else { MUTATIONS });
    }
    let mut ratios = Vec::new();
    exact(&mut ratios);
    parser(&mut ratios);
    mix(&mut ratios);
    refusal(&mut ratios);
    let command = env!("CARGO_BIN_EXE_restitch");
    if Path::new(command).exists() {
        durable(&mut ratios, command);
    }
    let mut kept = last();
    let at = kept.iter().position(|(build, _)| build.ends_with(KIND));
    let (last_build, last) = at.map_or(("none".to_owned(), Vec::new()), |at| kept.remove(at));
    println!("this build: {}; the last release: {last_build}", this_build());
    for Ratio { name, value, compared, target, note } in &ratios {
        let before = last.iter().find(|(other, _)| other == name).map(|(_, before)| *before);
        let unit = if note.starts_with("ms") { " passes" } else { "" };
        let change = before.map_or("new".to_owned(), |before| format!("{before:.2}{unit} before"));
        let verdict = match (value <= target, before) {
            (_, Some(before)) if compared > &(before * MARKED) => "WORSE by over a quarter",
            (true, _) => "",
            (false, _) => "over the target",
        };
        let target = if target.is_finite() { target.to_string() } else { "none".to_owned() };
        println!("{name:<20}{value:>8.2}  (target {target}; {change})  {verdict}  {note}");
    }
    if has("keep") {
        let now = ratios.iter().map(|ratio| (ratio.name.to_owned(), ratio.compared)).collect();
        kept.push((this_build(), now));
        let rows = |ratios: &[(String, f64)]| -> String {
            ratios.iter().map(|(name, value)| format!("{name} {value:.2}\n")).collect()
        };
        let blocks: Vec<String> =
            kept.iter().map(|(build, ratios)| format!("{build}\n{}", rows(ratios))).collect();
        std::fs::write(LAST, blocks.join("\n")).expect("written");
    }
}
