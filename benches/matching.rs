//! What finding costs, as ratios against a baseline in the same run; times drift with
//! the machine, ratios less so.
//!
//! `cargo bench --bench matching`, or one part: `cargo bench --bench matching -- exact`
//! (`miss`, `growth`, `shapes`, `memory`).
#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark prints, and ends where it cannot go on"
)]

mod shared;

use std::hint::black_box;
use std::time::Duration;

use restitch::edit::{EditCode, EditPlan, EditRequest};
use restitch::engine::{CallOptions, Engine};
use restitch::internals::matching::{LADDER, explain};
use restitch::internals::text::Snapshot;
use restitch::store::{DiskOptions, DiskStore};
use shared::{MUTATIONS, call, file, lines, run_time};

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// The least time of each of two things that take turns, so that both have the machine's moods.
fn fastest(runs: usize, mut one: impl FnMut(), mut other: impl FnMut()) -> [Duration; 2] {
    let mut least = [Duration::MAX; 2];
    for _ in 0..runs {
        for (least, run) in least.iter_mut().zip([&mut one as &mut dyn FnMut(), &mut other]) {
            let start = run_time();
            run();
            *least = (*least).min(run_time() - start);
        }
    }
    least
}

fn time<T>(runs: usize, mut run: impl FnMut() -> T) -> Duration {
    black_box(run());
    median(
        (0..runs)
            .map(|_| {
                let start = run_time();
                black_box(run());
                run_time() - start
            })
            .collect(),
    )
}

/// Compares an exact edit with a plain search by memmem and the same splice.
fn exact(bytes: usize, runs: usize) {
    let text = file(bytes);
    let at = text[bytes * 3 / 4..].find('\n').map_or(0, |n| bytes * 3 / 4 + n + 1);
    let old: String = text[at..].lines().take(4).map(|l| format!("{l}\n")).collect();
    let request = EditRequest::new(old.clone(), "replaced\n");
    let snapshot = Snapshot::from_text(text.clone());
    let bare = || {
        let finder = memchr::memmem::Finder::new(old.as_bytes());
        let all: Vec<usize> = finder.find_iter(text.as_bytes()).collect();
        let mut out = Vec::with_capacity(text.len());
        out.extend_from_slice(&text.as_bytes()[..all[0]]);
        out.extend_from_slice(b"replaced\n");
        out.extend_from_slice(&text.as_bytes()[all[0] + old.len()..]);
        black_box((all.len(), out));
    };
    // The hash of the file is taken once when it is read, and is not a part of finding.
    snapshot.hash();
    let ours = || {
        let explained = explain(&request, &snapshot).expect("exact");
        let plan = EditPlan::new(&snapshot, explained.splices).expect("plan");
        black_box(plan.bytes_after().expect("bytes"));
    };
    let [bare, ours] = fastest(runs, bare, ours);
    println!(
        "exact  {bytes:>10} B   bare {bare:>10.1?}   ours {ours:>10.1?}   ratio {:.2} (target 1.25)",
        ours.as_secs_f64() / bare.as_secs_f64()
    );
}

/// Measures the refusal of a text of 100 lines that is not in the file.
fn miss(bytes: usize, runs: usize, target: &str) -> Duration {
    let text = file(bytes);
    let old: String =
        (0..100).map(|n| format!("    let missing_{n} = other_{n}(value_{n});\n")).collect();
    let request = EditRequest::new(old, "x");
    let took = time(runs, || explain(&request, &Snapshot::from_text(text.clone())).is_err());
    println!("miss   {bytes:>10} B   100 lines   median {took:>10.1?}   (target {target})");
    took
}

/// Measures each rung on a file and on one twice as long.
fn growth() {
    for (name, mutate) in MUTATIONS {
        let calls = [1_000_000, 2_000_000].map(|bytes| {
            let text = file(bytes);
            let (old, new) = call(&text, name, *mutate);
            let request = EditRequest::new(old, new).for_path("a.rs");
            let snapshot = Snapshot::from_text(text);
            let outcome = match explain(&request, &snapshot) {
                Ok(explained) => explained.explanation.rung.as_str(),
                Err(refusal) if refusal.code == EditCode::AlreadyApplied => "already_applied",
                Err(_) => "absent",
            };
            assert_eq!(outcome, *name, "the text is meant for another rung");
            (request, snapshot)
        });
        let [one, two] = &calls;
        let run = |(request, snapshot): &(EditRequest, Snapshot)| {
            black_box(explain(request, snapshot).is_ok());
        };
        let times = fastest(11, || run(one), || run(two));
        println!(
            "growth {name:<27} 1 MB {:>9.1?}   2 MB {:>9.1?}   ratio {:.2} (target 2.2)",
            times[0],
            times[1],
            times[1].as_secs_f64() / times[0].as_secs_f64()
        );
    }
    let known: Vec<&str> = MUTATIONS.iter().map(|(name, _)| *name).collect();
    let missing: Vec<&str> =
        LADDER.iter().map(|rung| rung.as_str()).filter(|id| !known.contains(id)).collect();
    assert!(missing.is_empty(), "no text for {missing:?}");
}

/// Measures calls that are known to be slow, each at one size and at twice that size.
fn shapes() {
    let stale = |count: usize| {
        let text = file(count * 100);
        let mut old: Vec<&str> = text.lines().skip(20).take(count).collect();
        old[count / 2] = "    let stale = gone();";
        let new = format!("{}\nmore();\n", old.join("\n").replace("gone", "other"));
        (EditRequest::new(old.join("\n") + "\n", new), text)
    };
    let periodic = |count: usize| {
        let text = "a();\nb();\n".repeat(count * 10);
        let old = "  a();\n  b();\n".repeat(count / 2);
        (EditRequest::new(old.clone(), old.replacen('a', "c", 1)), text)
    };
    let equal = |count: usize| {
        let old = "  same();\n".repeat(count);
        (EditRequest::new(old.clone(), format!("{old}  more();\n")), "same();\n".repeat(count * 10))
    };
    let long = |count: usize| {
        let text = format!(
            "{}needle(a, b);{}\n",
            "x = 1; ".repeat(count * 10),
            "y = 2; ".repeat(count * 10)
        );
        (EditRequest::new("needle(a,b)", "pin(a,b)"), text)
    };
    let escaped = |count: usize| {
        let text = file(count * 500);
        let old: String = text.lines().take(count).map(|l| format!("{l}\n")).collect();
        let old = old.replace('\n', "\\n");
        (EditRequest::new(old.clone(), old.replacen("let", "var", 1)), text)
    };
    let blanks = |count: usize| {
        let text = file(count * 100);
        let old = lines(&text, |l| format!("    {l}  "));
        (EditRequest::new(old.clone(), old.replacen("let", "var", 1)), text)
    };
    let cut = |count: usize| {
        let [file, old] = [10, 5].map(|times| "same();\n".repeat(count * times) + "en");
        (EditRequest::new(old, "one();\n"), file + "d();\n")
    };
    type Shape<'a> = (&'a str, &'a dyn Fn(usize) -> (EditRequest, String));
    let all: &[Shape<'_>] = &[
        ("a stale line", &stale),
        ("periodic text", &periodic),
        ("equal lines", &equal),
        ("one long line", &long),
        ("escaped lines", &escaped),
        ("the whole file, blanks and depth off", &blanks),
        ("a part of equal lines, cut in a word", &cut),
    ];
    for (name, make) in all {
        let calls = [1_000, 2_000].map(|count| {
            let (request, text) = make(count);
            (request.for_path("a.rs"), Snapshot::from_text(text))
        });
        let [one, two] = &calls;
        let run = |(request, snapshot): &(EditRequest, Snapshot)| {
            black_box(explain(request, snapshot).is_ok());
        };
        let times = fastest(5, || run(one), || run(two));
        println!(
            "shape  {name:<38} 1000 lines {:>9.1?}   2000 lines {:>9.1?}   ratio {:.2} (target 2.2)",
            times[0],
            times[1],
            times[1].as_secs_f64() / times[0].as_secs_f64()
        );
    }
}

/// Measures the peak of memory of an edit on the disk, in a process of its own.
fn memory(bytes: usize) {
    let myself = std::env::current_exe().expect("myself");
    let output = std::process::Command::new(myself)
        .args(["--edit", &bytes.to_string()])
        .output()
        .expect("child");
    let peak: usize = String::from_utf8_lossy(&output.stdout).trim().parse().expect("a number");
    println!(
        "memory {bytes:>10} B   one exact edit on the disk: peak {:.0} MB   (target {:.0} MB: 3x the file and 32 MB)",
        peak as f64 / 1e6,
        (3 * bytes) as f64 / 1e6 + 32.0
    );
}

/// The process that [`memory`] starts: writes a file, edits it by the engine, and prints
/// the peak of its memory.
fn measure_edit(bytes: usize) {
    let folder = tempfile::tempdir().expect("folder");
    let line = "    the_only_line_like_this();\n";
    let half = file(bytes / 2);
    std::fs::write(folder.path().join("big.rs"), [&half, line, &half].concat()).expect("file");
    drop(half);
    reset_peak();
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("runtime");
    runtime.block_on(async {
        let options =
            DiskOptions { state: Some(folder.path().join("state")), ..Default::default() };
        let disk = DiskStore::open_with(folder.path(), options).expect("root");
        let engine = Engine::builder(disk).build();
        let path = engine.path("big.rs").expect("path");
        let request = EditRequest::new(line, "replaced\n");
        engine.edit_file(&path, &request, &CallOptions::default()).await.expect("edit");
    });
    println!("{}", peak());
}

/// Resets the recorded peak of memory, if the system can.
fn reset_peak() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0");
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap_or(0) * 1024
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(at) = arguments.iter().position(|a| a == "--edit") {
        return measure_edit(arguments[at + 1].parse().expect("bytes"));
    }
    let parts = ["exact", "miss", "growth", "shapes", "memory"];
    let only: Vec<&str> =
        parts.into_iter().filter(|part| arguments.iter().any(|a| a == part)).collect();
    let wanted = |part| only.is_empty() || only.contains(&part);
    if wanted("exact") {
        exact(20_000, 2001);
        exact(1_000_000, 51);
        exact(100_000_000, 5);
    }
    if wanted("miss") {
        miss(100_000, 51, "1 ms");
        miss(10_000_000, 5, "250 ms");
    }
    if wanted("growth") {
        growth();
    }
    if wanted("shapes") {
        shapes();
    }
    if wanted("memory") {
        memory(100_000_000);
    }
}
