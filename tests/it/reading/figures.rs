//! Figures: tokens per line of each style, time against plain reads and against `rg`.
//! Printed, with bounds only where a bound was promised.

use std::process::Command;
use std::time::{Duration, Instant};

use restitch::internals::engine::{ReadLimits, ReadRequest, ReadStyle};
use restitch::internals::read;
use restitch::internals::text::Snapshot;
use serde_json::json;

use super::Session;
use crate::long::count;

fn fastest(mut work: impl FnMut()) -> Duration {
    (0..5)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed()
        })
        .min()
        .expect("runs")
}

#[test]
fn tokens_per_line_of_each_style() {
    let source = include_str!("../../../src/text/lines.rs");
    let snapshot = Snapshot::from_text(source);
    let lines = snapshot.lines().total();
    let plain = source.len();
    for style in [ReadStyle::Plain, ReadStyle::Numbered, ReadStyle::Hashline] {
        let request = ReadRequest { style, limits: ReadLimits::NONE, ..ReadRequest::default() };
        let text = read("lines.rs", &snapshot, &request).expect("read").text;
        let (bytes, count) = (text.len() as f64 / lines as f64, lines as f64);
        println!(
            "{style:?}: {:.1} bytes a line, {:.1} tokens a line (bytes / 4), {:+.1} tokens a line over plain",
            bytes,
            bytes / 4.0,
            (text.len() as f64 - plain as f64) / count / 4.0
        );
        if style == ReadStyle::Hashline {
            assert!((text.len() - plain) / lines / 4 <= 6, "more than 6 tokens a line");
        }
    }
}

#[tokio::test]
async fn search_of_a_tree_against_rg() {
    let words = "some ordinary words of source text that fill a line\n";
    let session = Session::new(&[]);
    let (size, runs) = (count(20, 200), count(1, 4));
    for n in 0..2000 {
        let name = format!("d{}/f{n}.txt", n % 40);
        let text = format!("{}let needle_{n} = 1;\n{}", words.repeat(size), words.repeat(size));
        session.put(&name, &text);
    }
    let mut ours = Duration::MAX;
    for _ in 0..runs {
        let start = Instant::now();
        let report = session.ok("search", json!({ "keyword": "NEEDLE_77" })).await;
        ours = ours.min(start.elapsed());
        assert_eq!(report["total_files"], 11);
    }
    println!("search of 2,000 files of {} lines: {ours:?}", 2 * size + 1);
    let terms = ["NEEDLE_77", "needle_1*1;", "Absent"];
    let mut several = Duration::MAX;
    for _ in 0..runs {
        let start = Instant::now();
        let report = session.ok("wildcard_search", json!({ "terms": terms })).await;
        several = several.min(start.elapsed());
        assert_eq!(report["total_files"], 11 + 1111);
    }
    println!("three terms, one with a wildcard: {several:?}");
    let rg = |patterns: &[&str]| {
        Command::new("rg")
            .args(["-i", "-n", "--hidden"])
            .args(patterns.iter().flat_map(|pattern| ["-e", pattern]))
            .arg(session.dir.path())
            .output()
    };
    if rg(&["NEEDLE_77"]).is_err() {
        return crate::long::skip("comparison with rg", "it is not installed");
    }
    for (patterns, ours) in
        [(&["NEEDLE_77"][..], ours), (&["NEEDLE_77", "needle_1.*1;", "Absent"], several)]
    {
        let theirs = fastest(|| assert!(rg(patterns).expect("rg").status.success()));
        let build = if cfg!(debug_assertions) { "a debug build" } else { "a release build" };
        println!("rg: {theirs:?}; {build}: {:.2}x", ours.as_secs_f64() / theirs.as_secs_f64());
    }
}
