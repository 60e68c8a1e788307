//! Broken servers: the original code, in time, and the file untouched.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use restitch::engine::{Allowance, CallOptions, Engine};
use restitch::internals::correct::Limited;
use restitch::store::DiskStore;
use serde_json::json;

use super::server::{Answer, ModelServer, completion};
use super::wire::{Bench, corrector};
use super::*;

/// Seconds for one call in these tests.
const DEADLINE: f64 = 1.5;
/// What a process and a busy machine may take beside.
const GRACE: f64 = 4.0;

/// A gzip stream of zeros: a literal, then runs of 258 bytes at distance 1, by the
/// fixed codes of deflate. Thirteen bits a run.
fn gzip_bomb(runs: usize) -> Vec<u8> {
    let mut bits: Vec<bool> = vec![true, true, false];
    bits.extend([false, false, true, true, false, false, false, false]);
    for _ in 0..runs {
        bits.extend([true, true, false, false, false, true, false, true]);
        bits.extend([false; 5]);
    }
    bits.extend([false; 7]);
    let mut out = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    for byte in bits.chunks(8) {
        out.push(byte.iter().enumerate().fold(0, |b, (n, &bit)| b | (u8::from(bit) << n)));
    }
    out.extend([0; 8]);
    out
}

fn message(message: serde_json::Value) -> Answer {
    Answer::Json(200, json!({"choices": [{"index": 0, "message": message}]}))
}

fn head(length: usize) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n")
        .into_bytes()
}

/// The good answer, for the kinds that break what is around it.
fn right() -> String {
    json!({ "corrected_target_snippet": CORRECTED_OLD }).to_string()
}

fn kinds() -> Vec<(&'static str, Answer)> {
    let status =
        |code, headers, body: &str| Answer::Status(code, headers, body.as_bytes().to_vec());
    let error = |code, error: serde_json::Value| Answer::Json(code, json!({ "error": error }));
    let said = |field: &str, value: serde_json::Value| {
        message(json!({"role": "assistant", "content": right(), field: value}))
    };
    let drip = |head: Vec<u8>| Answer::Drip(head, Duration::from_millis(50));
    let headers = b"x-a: bbbbbbbbbbbbbbbb\r\n".repeat(50_000);
    let twice = r#"{"corrected_target_snippet": "a", "corrected_target_snippet": "b"}"#;
    let tool_call = json!({"role": "assistant", "content": null, "tool_calls": [{"id": "x"}]});
    let away = "location: http://169.254.169.254/latest\r\n";
    let right_body = completion(&right()).to_string();
    let half = right_body.as_bytes()[..right_body.len() / 2].to_vec();
    let chunked = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
    let mut cut = completion(&right());
    cut["choices"][0]["finish_reason"] = "length".into();
    vec![
        ("429 as text", status(429, "", "slow down")),
        ("429 as OpenAI says it", error(429, json!({"message": "slow", "type": "rate_limit"}))),
        ("429 without quota", error(429, json!({"message": "pay", "code": "insufficient_quota"}))),
        ("429, again in a second", status(429, "retry-after: 1\r\n", "")),
        ("429, again tomorrow", status(429, "retry-after: 86400\r\n", "")),
        ("429, again at a date", status(429, "retry-after: Wed, 21 Oct 2026 07:28:00 GMT\r\n", "")),
        ("429, again never", status(429, "retry-after: -1e999\r\n", "")),
        ("500", status(500, "", "oops")),
        ("502 as HTML", status(502, "", "<html><h1>Bad Gateway</h1></html>")),
        ("503", status(503, "", "")),
        ("504", status(504, "", "late")),
        ("501", status(501, "", "")),
        ("400 as HTML", status(400, "", "<html>no</html>")),
        ("401", error(401, json!({"message": "Incorrect API key"}))),
        ("403", status(403, "", "")),
        ("404 with a plain error", error(404, json!("model not found"))),
        ("404 as HTML", status(404, "", "<html>")),
        ("413", status(413, "", "")),
        ("422", Answer::Json(422, json!({"detail": []}))),
        ("a redirect to the metadata service", status(301, away, "")),
        ("a redirect to itself", status(302, "location: /v1/other\r\n", &right_body)),
        ("307", status(307, "location: http://127.0.0.1:1/\r\n", "")),
        ("204", status(204, "", "")),
        ("HTML with 200", status(200, "", "<html><body>welcome</body></html>")),
        ("an empty body", status(200, "", "")),
        ("half a body", Answer::Raw([head(right_body.len()), half.clone()].concat())),
        ("half a body that says it is whole", status(200, "", &String::from_utf8_lossy(&half))),
        ("the end at once", Answer::Raw(Vec::new())),
        ("no HTTP", Answer::Raw(b"SSH-2.0-OpenSSH_9.7\r\n".to_vec())),
        ("a drip in the body", drip(head(1 << 20))),
        ("a drip in the head", drip(b"HTTP/1.1 200 OK\r\nx-a: ".to_vec())),
        ("never", Answer::Stall(Vec::new())),
        ("a head, then nothing", Answer::Stall(head(100))),
        ("half a body, then nothing", Answer::Stall([head(right_body.len()), half].concat())),
        ("a gzip bomb", Answer::Status(200, "content-encoding: gzip\r\n", gzip_bomb(400_000))),
        // One chunk of four gigabytes.
        ("a flood", Answer::Flood([&chunked[..], b"ffffffff\r\n"].concat())),
        ("two megabytes", Answer::Content(" ".repeat(2 << 20))),
        ("a bad chunk", Answer::Raw([chunked, b"zz\r\n{}\r\n0\r\n\r\n".to_vec()].concat())),
        ("no choices", Answer::Json(200, json!({"object": "chat.completion"}))),
        ("empty choices", Answer::Json(200, json!({"choices": []}))),
        ("role missing", message(json!({ "content": right() }))),
        ("content null", said("content", json!(null))),
        ("content a number", said("content", json!(7))),
        ("a tool call", message(tool_call)),
        ("a refusal", said("refusal", json!("I cannot"))),
        ("cut off", Answer::Json(200, cut)),
        ("not UTF-8", Answer::Status(200, "", b"{\"choices\": \"\xff\xfe\"}".to_vec())),
        ("a 10k-deep body", status(200, "", &"[".repeat(10_000))),
        ("a 10k-deep answer", Answer::Content("{\"a\":".repeat(10_000))),
        ("the answer twice", Answer::Content(twice.into())),
        ("another schema", Answer::Content(json!({"search": "x", "replace": "y"}).to_string())),
        ("words", Answer::Content("I could not find it, sorry.".into())),
        ("an event stream", status(200, "", "data: {\"choices\": []}\n\ndata: [DONE]\n")),
        ("a megabyte of headers", Answer::Raw([&b"HTTP/1.1 200 OK\r\n"[..], &headers].concat())),
    ]
}

fn configured() -> Bench {
    let bench = Bench::with("lib.rs", FILE);
    bench.configure(&format!("[model]\ntimeout = {DEADLINE}\nfirst_byte_timeout = 0.7\n"));
    bench
}

#[test]
fn every_broken_server_leaves_the_original_error_and_the_file() {
    let kinds = kinds();
    assert!(kinds.len() >= 40, "{}", kinds.len());
    let check = |(name, answer): &(&'static str, Answer)| {
        let answer = answer.clone();
        let server = ModelServer::start(move |_, _| answer.clone());
        let bench = configured();
        let start = Instant::now();
        let (reply, output) = bench.edit(&server);
        let took = start.elapsed().as_secs_f64();
        assert_eq!(bench.read("lib.rs"), FILE, "{name}");
        assert_eq!(reply["code"], "EDIT_NO_OCCURRENCE_FOUND", "{name}: {reply}");
        assert_eq!(output.status.code(), Some(1), "{name}");
        assert!(took < DEADLINE + GRACE, "{name} took {took} s");
        assert_eq!(reply["report"]["attempts"][0]["outcome"], "failed", "{name}: {reply}");
        let calls = server.seen().len();
        assert!((1..=4).contains(&calls), "{name}: {calls} requests");
        assert_eq!(reply["report"]["model"]["calls"], calls, "{name}: a refusal tells its cost");
        let logs = String::from_utf8_lossy(&output.stderr);
        assert!(!logs.contains(super::wire::KEY), "{name}: the key is in the logs");
        assert!(!logs.contains("total_price"), "{name}: content is in the logs\n{logs}");
        assert!(!logs.contains("panicked"), "{name}: {logs}");
        // Nothing is left behind in the workspace.
        let left = fs::read_dir(bench.root.path()).expect("listing").count();
        assert_eq!(left, 1, "{name}");
        took
    };
    let next = std::sync::atomic::AtomicUsize::new(0);
    let slowest = std::thread::scope(|scope| {
        let work = || {
            let mut slowest = (0.0, "");
            loop {
                let n = next.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                let Some(kind) = kinds.get(n) else { return slowest };
                let took = check(kind);
                if took > slowest.0 {
                    slowest = (took, kind.0);
                }
            }
        };
        let workers: Vec<_> = (0..4).map(|_| scope.spawn(work)).collect();
        let times = workers.into_iter().map(|w| w.join().expect("no kind failed"));
        times.fold((0.0, ""), |a, b| if b.0 > a.0 { b } else { a })
    });
    println!(
        "broken servers: {} kinds, 0 writes, slowest {:.2} s ({}) with a deadline of {DEADLINE} s",
        kinds.len(),
        slowest.0,
        slowest.1
    );
}

/// Without a `timeout` in the configuration, of a server whose answer never ends.
#[test]
fn without_a_setting_a_correction_ends_after_40_seconds() {
    if !crate::disk::is_long_run() {
        return crate::disk::skip("40 s for a correction", "it takes 40 s: RESTITCH_LONG=1");
    }
    let server = ModelServer::start(|_, _| Answer::Drip(head(100_000), Duration::from_millis(200)));
    let bench = Bench::with("lib.rs", FILE);
    let start = Instant::now();
    let (reply, _) = bench.edit(&server);
    let took = start.elapsed();
    println!("an answer that never ends was waited for {took:?}");
    assert_eq!(reply["code"], "EDIT_NO_OCCURRENCE_FOUND", "{reply}");
    assert_eq!((bench.read("lib.rs").as_str(), server.seen().len()), (FILE, 1));
    assert!((40..55).contains(&took.as_secs()), "{took:?}");
}

#[test]
fn a_dead_port_is_a_failed_correction() {
    let port =
        std::net::TcpListener::bind("127.0.0.1:0").expect("port").local_addr().expect("address");
    let bench = configured();
    let server = ModelServer::start(|_, _| Answer::Raw(Vec::new()));
    let url = format!("http://{port}/v1");
    let (reply, _) = bench.edit_with(&server, |command| command.env("OPENAI_BASE_URL", url));
    assert_eq!(reply["code"], "EDIT_NO_OCCURRENCE_FOUND");
    assert_eq!(reply["report"]["attempts"][0]["outcome"], "failed");
    assert_eq!(bench.read("lib.rs"), FILE);
}

fn retried(first: Answer) -> (ModelServer, Bench, serde_json::Value) {
    let server = ModelServer::start(move |seen, number| match (number, seen.kind()) {
        (0, _) => first.clone(),
        (_, "correct_old") => Answer::Content(right()),
        _ => Answer::Content(json!({ "corrected_new_string": ADJUSTED_NEW }).to_string()),
    });
    let bench = Bench::with("lib.rs", FILE);
    let (reply, _) = bench.edit(&server);
    (server, bench, reply)
}

#[test]
fn what_passes_is_asked_again_once_and_what_does_not_is_not() {
    for (first, wait) in [
        (Answer::Status(429, "retry-after: 1\r\n", Vec::new()), 1.0),
        (Answer::Status(503, "retry-after-ms: 300\r\n", Vec::new()), 0.3),
        (Answer::Raw(Vec::new()), 0.0),
    ] {
        let start = Instant::now();
        let (server, bench, reply) = retried(first);
        assert_eq!(bench.read("lib.rs"), after(), "{reply}");
        assert_eq!(server.seen().len(), 3);
        assert_eq!(reply["report"]["model"]["calls"], 3);
        assert!(start.elapsed().as_secs_f64() >= wait);
    }
    let (server, bench, _) = retried(Answer::Json(401, json!({"error": {"message": "no"}})));
    assert_eq!(server.seen().len(), 1);
    assert_eq!(bench.read("lib.rs"), FILE);
}

fn engine(bench: &Bench, server: &ModelServer) -> Engine {
    let store = DiskStore::open(bench.root.path()).expect("root");
    Engine::builder(store)
        .corrector(Arc::new(Limited::new(corrector(server))))
        .allowance(Allowance { time: Duration::from_secs(5), requests: 4 })
        .build()
}

#[tokio::test]
async fn dropping_the_call_stops_everything_and_writes_nothing() {
    for answer in [Answer::Stall(Vec::new()), Answer::Drip(head(1000), Duration::from_millis(20))] {
        let bench = Bench::with("lib.rs", FILE);
        let server = ModelServer::start(move |_, _| answer.clone());
        let engine = engine(&bench, &server);
        let path = engine.path("lib.rs").expect("path");
        let options = CallOptions::default();
        let call = request();
        let edit = engine.edit_file(&path, &call, &options);
        let asked = async {
            while server.seen().is_empty() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::select! {
            done = edit => panic!("{done:?}"),
            () = asked => {}
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert_eq!(bench.read("lib.rs"), FILE);
        assert_eq!(server.seen().len(), 1);
        assert_eq!(fs::read_dir(bench.root.path()).expect("listing").count(), 1);
    }
}
