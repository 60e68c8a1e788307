//! What finding costs, as ratios against a baseline in the same run; times drift with
//! the machine, ratios less so.
//!
//! `cargo bench --bench matching`
#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark prints, and ends where it cannot go on"
)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use restitch::edit::{EditPlan, EditRequest};
use restitch::matching::explain;
use restitch::text::Snapshot;

/// A file of about `bytes` bytes with lines that resemble code.
fn file(bytes: usize) -> String {
    let mut out = String::with_capacity(bytes + 100);
    let mut n = 0_u64;
    while out.len() < bytes {
        n += 1;
        let depth = "    ".repeat((n % 4) as usize);
        let word = n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
        out.push_str(&format!("{depth}let value_{word} = compute_{n}(value_{}, {n});\n", n % 97));
        if n.is_multiple_of(9) {
            out.push_str("}\n\n");
        }
    }
    out
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn time<T>(runs: usize, mut run: impl FnMut() -> T) -> Duration {
    black_box(run());
    median(
        (0..runs)
            .map(|_| {
                let start = Instant::now();
                black_box(run());
                start.elapsed()
            })
            .collect(),
    )
}

/// Locate and splice against bare memmem and splice.
fn exact(bytes: usize, runs: usize) {
    let text = file(bytes);
    let at = text[bytes * 3 / 4..].find('\n').map_or(0, |n| bytes * 3 / 4 + n + 1);
    let old: String = text[at..].lines().take(4).map(|l| format!("{l}\n")).collect();
    let request = EditRequest::new(old.clone(), "replaced\n");
    let snapshot = Snapshot::from_text(text.clone());
    let bare = time(runs, || {
        let finder = memchr::memmem::Finder::new(old.as_bytes());
        let all: Vec<usize> = finder.find_iter(text.as_bytes()).collect();
        let mut out = Vec::with_capacity(text.len());
        out.extend_from_slice(&text.as_bytes()[..all[0]]);
        out.extend_from_slice(b"replaced\n");
        out.extend_from_slice(&text.as_bytes()[all[0] + old.len()..]);
        (all.len(), out)
    });
    // The hash of the file is taken once when it is read, and is not a part of finding.
    snapshot.hash();
    let ours = time(runs, || {
        let explained = explain(&request, &snapshot).expect("exact");
        let plan = EditPlan::new(&snapshot, explained.splices).expect("plan");
        plan.bytes_after(&snapshot).expect("bytes")
    });
    println!(
        "exact  {bytes:>10} B   bare {bare:>10.1?}   ours {ours:>10.1?}   ratio {:.2} (target 1.25)",
        ours.as_secs_f64() / bare.as_secs_f64()
    );
}

/// A text of 100 lines that is not there.
fn miss(bytes: usize, runs: usize, target: &str) -> Duration {
    let text = file(bytes);
    let old: String =
        (0..100).map(|n| format!("    let missing_{n} = other_{n}(value_{n});\n")).collect();
    let request = EditRequest::new(old, "x");
    let took = time(runs, || explain(&request, &Snapshot::from_text(text.clone())).is_err());
    println!("miss   {bytes:>10} B   100 lines   median {took:>10.1?}   (target {target})");
    took
}

/// Each rung on a file and on one twice as long.
fn growth() {
    type Spoiler = fn(&str) -> String;
    let spoilers: [(&str, Spoiler); 6] = [
        ("trailing_blanks", |s| s.replace(";\n", "; \n")),
        ("indentation", |s| s.lines().map(|l| format!("  {l}\n")).collect()),
        ("spacing", |s| s.replace(", ", ",")),
        ("punctuation", |s| s.replace(";\n", "\n")),
        ("reflowed", |s| s.replacen(", ", ",\n        ", 1)),
        ("absent", |s| s.replace("compute", "missing")),
    ];
    for (name, spoil) in spoilers {
        let mut times = Vec::new();
        for bytes in [1_000_000, 2_000_000] {
            let text = file(bytes);
            let at = text[bytes / 2..].find('\n').map_or(0, |n| bytes / 2 + n + 1);
            let old: String = text[at..].lines().take(6).map(|l| format!("{l}\n")).collect();
            let old = spoil(&old);
            let new = old.replacen("let", "var", 1);
            let request = EditRequest::new(old, new);
            times.push(time(5, || explain(&request, &Snapshot::from_text(text.clone())).is_ok()));
        }
        println!(
            "growth {name:<16} 1 MB {:>9.1?}   2 MB {:>9.1?}   ratio {:.2} (target 2.3)",
            times[0],
            times[1],
            times[1].as_secs_f64() / times[0].as_secs_f64()
        );
    }
}

fn main() {
    exact(20_000, 201);
    exact(1_000_000, 51);
    exact(100_000_000, 5);
    miss(100_000, 51, "1 ms");
    miss(10_000_000, 5, "250 ms");
    growth();
}
