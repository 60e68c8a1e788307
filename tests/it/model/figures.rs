//! What a correction costs. The numbers are measured and printed here.

use std::sync::Arc;
use std::time::Duration;

use restitch::engine::{CallOptions, Engine};
use restitch::internals::correct::{Cached, Limited, MAX_AGE};
use restitch::store::DiskStore;
use serde_json::{Value, json};

use super::server::ModelServer;
use super::wire::{Bench, corrector, good_server as server, restitch};
use super::*;

#[test]
fn r9_the_second_identical_call_costs_no_request() {
    let bench = Bench::with("lib.rs", FILE);
    let server = server();
    let arguments = json!({"path": "lib.rs", "old_str": OLD, "new_str": NEW});
    let call = json!({"dry_run": true, "arguments": arguments});
    let replies = bench.batch(&server, &[call.clone(), call.clone(), call]);
    assert_eq!(replies[0]["report"]["model"]["calls"], 2);
    for reply in &replies[1..] {
        assert_eq!(reply["report"]["model"]["calls"], 0, "{reply}");
        assert_eq!(reply["report"]["model"]["cached"], 2);
        assert_eq!(reply["report"]["after_sha256"], replies[0]["report"]["after_sha256"]);
    }
    assert_eq!(server.seen().len(), 2);
}

#[test]
fn with_answers_on_the_disk_the_next_process_asks_nothing() {
    let bench = Bench::with("lib.rs", FILE);
    let server = server();
    // Not in the state folder, which is not taken when it has the files of others.
    let folder = tempfile::tempdir().expect("folder");
    let config = folder.path().join("my.toml");
    for (section, asked) in [("", [2, 4]), ("[model]\ndisk_cache = true\n", [6, 6])] {
        std::fs::write(&config, section).expect("written");
        for asked in asked {
            bench.put("lib.rs", FILE);
            let config = config.clone();
            bench.edit_with(&server, |command| command.arg("--config").arg(config));
            assert_eq!((bench.read("lib.rs"), server.seen().len()), (after(), asked), "{section}");
        }
    }
}

/// An engine that keeps the server's answers in its memory.
fn cached(bench: &Bench, server: &ModelServer, max_age: Duration) -> Engine {
    let model = corrector(server);
    let identity = model.identity();
    let cached = Cached::new(Limited::new(model), identity, max_age);
    let store = DiskStore::open(bench.root.path()).expect("root");
    Engine::builder(store).corrector(Arc::new(cached)).build()
}

#[tokio::test]
async fn fifty_concurrent_identical_misses_cost_one_request_an_ask() {
    let bench = Bench::with("lib.rs", FILE);
    let server = server();
    let engine = cached(&bench, &server, MAX_AGE);
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..50 {
        let engine = engine.clone();
        calls.spawn(async move {
            let path = engine.path("lib.rs").expect("path");
            let options = CallOptions { dry_run: true, ..CallOptions::default() };
            engine.edit_file(&path, &request(), &options).await
        });
    }
    let mut asked = 0;
    while let Some(report) = calls.join_next().await {
        asked += report.expect("task").expect("recovered").explanation.model.calls;
    }
    assert_eq!(server.seen().len(), 2, "one for each of the two asks");
    assert_eq!(asked, 2);
    println!("50 concurrent identical misses: {} requests, one an ask", server.seen().len());
}

/// An answer in the memory is used until its time is over; then the model is asked again.
#[tokio::test]
async fn an_answer_in_the_memory_is_used_as_long_as_it_is_kept() {
    for (age, asked) in [(Duration::from_millis(100), 4), (MAX_AGE, 2)] {
        let bench = Bench::with("lib.rs", FILE);
        let server = server();
        let engine = cached(&bench, &server, age);
        let path = engine.path("lib.rs").expect("path");
        let options = CallOptions { dry_run: true, ..CallOptions::default() };
        for _ in 0..2 {
            engine.edit_file(&path, &request(), &options).await.expect("recovered");
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
        assert_eq!(server.seen().len(), asked, "kept for {age:?}");
    }
}

#[test]
fn doctor_tries_the_endpoint_and_says_what_it_found() {
    let bench = Bench::with("lib.rs", FILE);
    let run = |base: &str| {
        let mut command = restitch(bench.root.path(), bench.state.path());
        if !base.is_empty() {
            command.args(["--base-url", base, "--model", "m"]);
        }
        let output = command.arg("doctor").output().expect("runs");
        let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        (output.status.code(), found)
    };
    let (code, found) = run("");
    assert_eq!((code, &found["ok"]), (Some(0), &json!(true)), "{found}");
    let server = server();
    let (code, found) = run(&server.base_url());
    assert_eq!(code, Some(0), "{found}");
    let text = found.to_string();
    assert!(text.contains("strict_schema") && text.contains("corrects the example"), "{text}");
    let refusing = ModelServer::start(|_, _| super::server::Answer::Json(401, json!({})));
    let (code, found) = run(&refusing.base_url());
    assert_eq!(code, Some(3), "{found}");
    assert!(found.to_string().contains("Check the key"), "{found}");
}
