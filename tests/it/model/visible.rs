//! What the model path did can be seen in logs by level.

use serde_json::json;

use super::server::ModelServer;
use super::wire::{Bench, KEY, good_server as server};
use super::*;

#[test]
fn debug_logs_tell_asks_verdicts_and_sizes_and_traces_the_texts() {
    let logs = |level: &str| {
        let bench = Bench::with("lib.rs", FILE);
        let (_, output) = bench.edit_with(&server(), |command| command.env("RESTITCH_LOG", level));
        assert_eq!(bench.read("lib.rs"), after());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let debug = logs("debug");
    for told in ["correct_old", "adjust_new", "prompt_bytes", "answer_tokens", "accepted", "sha256"]
    {
        assert!(debug.contains(told), "{told}: {debug}");
    }
    assert!(!debug.contains("total_price"), "no content below trace: {debug}");
    let trace = logs("trace");
    assert!(trace.contains("total_price") && trace.contains("BEGIN change"), "{trace}");
    assert!(!trace.contains(KEY), "the key is in the logs");
    let info = logs("info");
    assert!(info.contains("INFO") && info.contains("correct_old"), "{info}");
    assert!(!info.contains("DEBUG") && !info.contains("prompt_bytes"), "{info}");
    assert!(logs("warn").lines().all(|line| line.starts_with("restitch: asking test-model at ")));
}

/// An answer is the only text that may hold a secret: what is sent was looked at before.
#[test]
fn a_secret_in_an_answer_is_left_out_of_the_traces() {
    let canary = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    let answer = json!({"corrected_target_snippet": format!("let token = \"{canary}\";")});
    let server = ModelServer::answering(&[("correct_old", answer)]);
    let bench = Bench::with("lib.rs", FILE);
    let (reply, output) = bench.edit_with(&server, |command| command.env("RESTITCH_LOG", "trace"));
    let logs = String::from_utf8_lossy(&output.stderr);
    assert_eq!(reply["report"]["attempts"][0]["outcome"], "rejected", "{reply}");
    assert!(logs.contains("[redacted]"), "{logs}");
    assert!(!logs.contains(canary), "{logs}");
}
