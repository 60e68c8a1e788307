//! Traces as a collector receives them: OTLP over HTTP, in both of its encodings.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::server::{Server as Model, text_turn};

/// What a person takes for the end of a command: the edit itself, and no more than the two seconds
/// of the last sending.
const END: Duration = Duration::from_secs(10);

/// The head and the body of a request.
type Request = (String, Vec<u8>);

/// A collector: keeps the body of every request with its head.
struct Collector {
    url: String,
    got: Arc<Mutex<Vec<Request>>>,
}

impl Collector {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("port");
        let url = format!("http://{}", listener.local_addr().expect("address"));
        let got: Arc<Mutex<Vec<Request>>> = Arc::default();
        let kept = got.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let mut stream = BufReader::new(stream);
                let mut head = String::new();
                while !head.ends_with("\r\n\r\n") {
                    if stream.read_line(&mut head).unwrap_or(0) == 0 {
                        break;
                    }
                }
                let lower = head.to_ascii_lowercase();
                let length = lower.lines().find_map(|line| line.strip_prefix("content-length: "));
                let mut body = vec![0; length.and_then(|n| n.parse().ok()).unwrap_or(0)];
                stream.read_exact(&mut body).expect("body");
                kept.lock().expect("lock").push((lower, body));
                let answer = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
                stream.get_mut().write_all(answer.as_bytes()).expect("answers");
            }
        });
        Self { url, got }
    }

    fn got(&self) -> Vec<Request> {
        self.got.lock().expect("lock").clone()
    }

    /// Every span that came as JSON, by its name.
    fn spans(&self) -> Vec<Span> {
        let of = |(_, body): &Request| -> Vec<Value> {
            let said: Value = serde_json::from_slice(body).expect("JSON");
            let list =
                |value: &Value, name: &str| value[name].as_array().cloned().unwrap_or_default();
            list(&said, "resourceSpans")
                .iter()
                .flat_map(|one| list(one, "scopeSpans"))
                .flat_map(|one| list(&one, "spans"))
                .collect()
        };
        self.got().iter().flat_map(of).map(Span).collect()
    }
}

struct Span(Value);

impl Span {
    fn text(&self, name: &str) -> &str {
        self.0[name].as_str().unwrap_or_default()
    }

    fn attributes(&self) -> BTreeMap<String, String> {
        let word = |value: &Value| match value.as_object().and_then(|one| one.values().next()) {
            Some(Value::String(text)) => text.clone(),
            other => other.map(Value::to_string).unwrap_or_default(),
        };
        let all = self.0["attributes"].as_array().expect("attributes").iter();
        all.map(|one| (one["key"].as_str().expect("key").into(), word(&one["value"]))).collect()
    }
}

fn named<'s>(spans: &'s [Span], name: &str) -> Vec<&'s Span> {
    spans.iter().filter(|span| span.text("name") == name).collect()
}

fn command(folder: &Path, collector: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_restitch"));
    command
        .env_clear()
        .env("RESTITCH_STATE_DIR", folder.join(".state"))
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", collector)
        .current_dir(folder);
    command
}

fn run(command: &mut Command, input: &str) -> Output {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    child.stdin.take().expect("piped").write_all(input.as_bytes()).expect("written");
    child.wait_with_output().expect("ends")
}

/// Messages of protobuf without their schema: each field's number with its bytes or its number.
fn fields(mut bytes: &[u8]) -> Option<Vec<(u64, Vec<u8>)>> {
    fn number(bytes: &mut &[u8]) -> Option<u64> {
        let mut all = 0;
        for shift in (0..64).step_by(7) {
            let (first, rest) = bytes.split_first()?;
            *bytes = rest;
            all |= u64::from(first & 0x7f) << shift;
            if first & 0x80 == 0 {
                return Some(all);
            }
        }
        None
    }
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let tag = number(&mut bytes)?;
        let length = match tag & 7 {
            0 => {
                found.push((tag >> 3, number(&mut bytes)?.to_le_bytes().to_vec()));
                continue;
            }
            1 => 8,
            2 => usize::try_from(number(&mut bytes)?).ok()?,
            5 => 4,
            _ => return None,
        };
        let (field, rest) = bytes.split_at_checked(length)?;
        found.push((tag >> 3, field.to_vec()));
        bytes = rest;
    }
    Some(found)
}

/// The fields with this number of every message.
fn below(messages: Vec<Vec<u8>>, field: u64) -> Vec<Vec<u8>> {
    let of = |message: Vec<u8>| fields(&message).expect("a message");
    let own = messages.into_iter().flat_map(of).filter(|(number, _)| *number == field);
    own.map(|(_, bytes)| bytes).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_is_a_span_with_its_question_and_its_commit() {
    let collector = Collector::start();
    let model = Model::play(vec![text_turn("nothing")]).await;
    let folder = tempfile::tempdir().expect("folder");
    fs::write(folder.path().join("secret-name.txt"), "secret-before\n").expect("file");
    let edit = |old: &str, new: &str| {
        let arguments = json!({ "path": "secret-name.txt", "old_str": old, "new_str": new });
        format!("{}\n", json!({ "tool": "edit_file", "arguments": arguments }))
    };
    let input = edit("secret-before", "secret-after") + &edit("secret-elsewhere that is long", "x");
    let mut command = command(folder.path(), &collector.url);
    command
        .args(["batch", "--model", "m", "--base-url", &model.url])
        .env("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json")
        .env("OTEL_SERVICE_NAME", "edits")
        .env("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
        .env("OTEL_EXPORTER_OTLP_HEADERS", "x-api-key=abc");
    let done = tokio::task::spawn_blocking(move || run(&mut command, &input)).await.expect("runs");
    assert_eq!(
        fs::read_to_string(folder.path().join("secret-name.txt")).expect("file"),
        "secret-after\n"
    );
    assert!(!model.corrections().is_empty(), "{}", String::from_utf8_lossy(&done.stdout));
    let spans = collector.spans();
    let [first, second] = named(&spans, "edit_file")[..] else { panic!("{:?}", collector.got()) };
    let said = first.attributes();
    assert_eq!([&said["restitch.outcome"], &said["restitch.rung"]], ["done", "exact"]);
    let refused = second.attributes();
    assert_eq!(refused["restitch.code"], "EDIT_NO_OCCURRENCE_FOUND");
    assert_eq!(refused["restitch.model.requests"], "1", "{refused:?}");
    let [commit] = named(&spans, "commit")[..] else { panic!("one commit") };
    assert_eq!(commit.text("parentSpanId"), first.text("spanId"));
    assert_eq!(commit.text("traceId"), first.text("traceId"));
    assert_eq!(commit.attributes()["restitch.outcome"], "done");
    let asks = named(&spans, "ask model");
    assert!(!asks.is_empty());
    assert!(asks.iter().all(|ask| ask.text("parentSpanId") == second.text("spanId")));
    for span in &spans {
        let time = |name: &str| span.text(name).parse::<u64>().expect("a time");
        assert!(time("startTimeUnixNano") < time("endTimeUnixNano"), "{}", span.0);
    }
    let (head, body) = collector.got().into_iter().next().expect("a request");
    assert!(head.starts_with("post /v1/traces ") && head.contains("x-api-key: abc"), "{head}");
    let body = String::from_utf8(body).expect("JSON");
    for part in ["\"edits\"", "deployment.environment.name", "service.version"] {
        assert!(body.contains(part), "{part}: {body}");
    }
    // No path, no text.
    assert!(!body.contains("secret"), "{body}");
}

#[test]
fn protobuf_is_the_usual_encoding() {
    let collector = Collector::start();
    let folder = tempfile::tempdir().expect("folder");
    fs::write(folder.path().join("a.txt"), "one\n").expect("file");
    let mut command = command(folder.path(), &collector.url);
    let done = run(command.args(["edit", "a.txt", "--old", "one", "--new", "two"]), "");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let got = collector.got();
    let (head, body) = got.first().expect("a request");
    assert!(head.contains("content-type: application/x-protobuf"), "{head}");
    // TracesData.resource_spans.scope_spans.spans.name
    let spans = below(below(below(vec![body.clone()], 1), 2), 2);
    let mut names = below(spans, 5);
    names.sort();
    assert_eq!(names, [b"commit".to_vec(), b"edit_file".to_vec()]);
    let resource = below(below(vec![body.clone()], 1), 1);
    let text = String::from_utf8_lossy(&resource.concat()).into_owned();
    assert!(text.contains("service.name") && text.contains("restitch"), "{text}");
}

struct Served(Child);

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_trace_of_a_request_or_of_a_call_is_continued() {
    let collector = Collector::start();
    let folder = tempfile::tempdir().expect("folder");
    fs::write(folder.path().join("a.txt"), "one\n").expect("file");
    let token = folder.path().join("token");
    let mut server = command(folder.path(), &collector.url)
        .args(["mcp", "--no-model", "--http", "127.0.0.1:0", "--token-file"])
        .arg(&token)
        .env("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/json")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    let mut line = String::new();
    let mut stderr = BufReader::new(server.stderr.take().expect("piped"));
    stderr.read_line(&mut line).expect("a line");
    let mut server = Served(server);
    let address = line.trim().trim_start_matches("listening on http://").trim_end_matches("/mcp");
    let token = fs::read_to_string(&token).expect("token");
    let ask = |head: &str, body: &Value| {
        let body = body.to_string();
        let mut stream = std::net::TcpStream::connect(address).expect("connects");
        let text = format!(
            "POST /mcp HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\n{head}content-type: application/json\r\naccept: application/json, text/event-stream\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
            token.trim(),
            body.len()
        );
        stream.write_all(text.as_bytes()).expect("sends");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("answers");
        answer
    };
    let hello = json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": { "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" } },
    });
    let answer = ask("", &hello).to_ascii_lowercase();
    let session = answer.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
    let session = format!(
        "mcp-session-id: {}\r\nmcp-protocol-version: 2025-06-18\r\n",
        session.expect("a session")
    );
    ask(&session, &json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    let call = |old: &str, new: &str, meta: Value| {
        let arguments = json!({ "path": "a.txt", "old_str": old, "new_str": new });
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call",
            "params": { "name": "edit_file", "arguments": arguments, "_meta": meta } })
    };
    let parent = |digit: &str| format!("00-{}-{}-01", digit.repeat(32), digit.repeat(16));
    let head = format!("{session}traceparent: {}\r\ntracestate: a=b\r\n", parent("1"));
    let answer = ask(&head, &call("one", "two", json!({})));
    assert!(answer.contains("\"isError\":false"), "{answer}");
    // What the call says goes before its request.
    ask(&head, &call("two", "three", json!({ "traceparent": parent("2") })));
    ask(&session, &call("three", "four", json!({ "traceparent": "no trace at all" })));
    let stopped = Command::new("/bin/kill").arg(server.0.id().to_string()).status();
    assert!(
        stopped.or_else(|_| Command::new("kill").arg(server.0.id().to_string()).status()).is_ok()
    );
    assert_eq!(server.0.wait().expect("ends").code(), Some(0));
    let spans = collector.spans();
    let calls = named(&spans, "edit_file");
    let from: Vec<(&str, &str)> =
        calls.iter().map(|span| (span.text("traceId"), span.text("parentSpanId"))).collect();
    assert_eq!(from.len(), 3, "{:?}", collector.got());
    assert_eq!(from[0], (&*"1".repeat(32), &*"1".repeat(16)));
    assert_eq!(calls[0].text("traceState"), "a=b");
    assert_eq!(from[1], (&*"2".repeat(32), &*"2".repeat(16)));
    assert_eq!((from[2].0.len(), from[2].1), (32, ""), "a trace of its own");
}

/// A collector that is not there, or takes everything and never answers.
#[test]
fn a_collector_that_is_away_delays_and_fails_no_edit() {
    let stuck = TcpListener::bind("127.0.0.1:0").expect("port");
    let gone = {
        let listener = TcpListener::bind("127.0.0.1:0").expect("port");
        listener.local_addr().expect("address")
    };
    for address in [stuck.local_addr().expect("address"), gone] {
        let folder = tempfile::tempdir().expect("folder");
        fs::write(folder.path().join("a.txt"), "n = 0\n").expect("file");
        let edit = |n: usize| {
            let (old, new) = (format!("n = {n}"), format!("n = {}", n + 1));
            let arguments = json!({ "path": "a.txt", "old_str": old, "new_str": new });
            format!("{}\n", json!({ "tool": "edit_file", "arguments": arguments }))
        };
        let input: String = (0..50).map(edit).collect();
        let begun = Instant::now();
        let mut command = command(folder.path(), &format!("http://{address}"));
        let done = run(command.args(["batch", "--no-model"]), &input);
        let took = begun.elapsed();
        println!("50 edits, the collector away: {took:?}");
        assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
        assert_eq!(fs::read_to_string(folder.path().join("a.txt")).expect("file"), "n = 50\n");
        assert!(took < END, "{took:?}");
    }
}

#[test]
fn nothing_is_sent_that_was_not_asked_for() {
    let collector = Collector::start();
    let folder = tempfile::tempdir().expect("folder");
    fs::write(folder.path().join("a.txt"), "one\n").expect("file");
    for (name, value, told) in [
        ("OTEL_SDK_DISABLED", "true", ""),
        ("OTEL_TRACES_EXPORTER", "none", ""),
        ("OTEL_TRACES_EXPORTER", "zipkin", "set it to otlp or none"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "set it to http/protobuf or http/json"),
    ] {
        let mut command = command(folder.path(), &collector.url);
        command.env(name, value).args([
            "edit",
            "a.txt",
            "--old",
            "one",
            "--new",
            "two",
            "--dry-run",
        ]);
        let done = run(&mut command, "");
        let stderr = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(done.status.success(), "{stderr}");
        assert_eq!(stderr.contains("no traces are sent"), !told.is_empty(), "{stderr}");
        assert!(stderr.contains(told), "{stderr}");
    }
    assert_eq!(collector.got().len(), 0);
}
