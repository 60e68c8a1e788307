//! Peers of the HTTP server that mean no good, or nothing at all.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Sandbox;
use super::p06_responsive::{RESPONSE_TIME, large};
use crate::client::hello;
use crate::http::HttpServer;
use crate::model::server::ModelServer;
use crate::model::{FILE, NEW, OLD};

fn server(sandbox: &Sandbox, more: &[&str]) -> HttpServer {
    HttpServer::start(sandbox.restitch(&[&["mcp", "--http", "127.0.0.1:0"], more].concat()))
}

/// Silent peers are closed after ten seconds, so a client waits at most about so long.
#[test]
fn silent_connections_shut_no_client_out() {
    let sandbox = Sandbox::new().with("f", "one\n");
    let server = server(&sandbox, &[]);
    let silent: Vec<TcpStream> =
        (0..600).filter_map(|_| TcpStream::connect(server.address).ok()).collect();
    let mut half: Vec<TcpStream> =
        (0..100).filter_map(|_| TcpStream::connect(server.address).ok()).collect();
    for stream in &mut half {
        let _ = stream.write_all(b"POST /mcp HTTP/1.1\r\nhost: localhost\r\nx");
    }
    println!("{} silent connections, {} halves of requests", silent.len(), half.len());
    let start = Instant::now();
    let head = server.session();
    println!("a client got in after {:?}", start.elapsed());
    assert!(start.elapsed() < Duration::from_secs(40), "{:?}", start.elapsed());
    let edit = json!({
        "jsonrpc": "2.0", "id": 2, "method": "tools/call",
        "params": { "name": "edit_file", "arguments": { "path": "f", "old_str": "one", "new_str": "two" } },
    });
    let (status, _, body) = server.ask(&head, &edit);
    assert_eq!(status, 200, "{body}");
    assert_eq!(sandbox.text("f"), "two\n", "{body}");
    let files = std::fs::read_dir(format!("/proc/{}/fd", server.child.0.id()));
    if let Ok(files) = files {
        let count = files.count();
        println!("{count} files open in the server");
        assert!(count < 600, "{count}");
    }
    drop((silent, half));
}

#[test]
fn calls_that_take_long_do_not_make_it_deaf() {
    let sandbox = Sandbox::new();
    let mut server = server(&sandbox, &[]);
    let head = server.session();
    let call = |id: u64, arguments: Value| {
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": { "name": "edit_file", "arguments": arguments } })
    };
    let waiting: Vec<TcpStream> =
        (0..3).map(|n| server.post(&head, &call(100 + n, large(&sandbox, n)))).collect();
    std::thread::sleep(Duration::from_secs(2));
    for id in 0..5 {
        let start = Instant::now();
        let ping = json!({ "jsonrpc": "2.0", "id": id, "method": "ping" });
        let (status, _, body) = server.ask(&head, &ping);
        assert_eq!(status, 200, "{body}");
        println!("a ping was answered after {:?}", start.elapsed());
        assert!(start.elapsed() < RESPONSE_TIME);
    }
    let process = rustix::process::Pid::from_child(&server.child.0);
    let start = Instant::now();
    rustix::process::kill_process(process, rustix::process::Signal::TERM).expect("signal");
    while server.child.0.try_wait().expect("status").is_none() {
        assert!(start.elapsed() < Duration::from_secs(5), "SIGTERM ends it within 5 s");
        std::thread::sleep(Duration::from_millis(10));
    }
    println!("SIGTERM ended the server after {:?}", start.elapsed());
    drop(waiting);
}

#[test]
fn without_a_setting_the_end_waits_three_seconds_for_calls() {
    let sandbox = Sandbox::new().with("lib.rs", FILE);
    let model = ModelServer::slow(Duration::from_secs(25));
    let config = sandbox.above().join("config.toml");
    let text = format!("[model]\nname = \"m\"\nbase_url = \"{}\"\n", model.base_url());
    std::fs::write(&config, text).expect("configuration");
    let mut server = server(&sandbox, &["--config", config.to_str().expect("path")]);
    let head = server.session();
    let arguments = json!({ "path": "lib.rs", "old_str": OLD, "new_str": NEW });
    let edit = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call",
        "params": { "name": "edit_file", "arguments": arguments } });
    let _waiting = server.post(&head, &edit);
    model.wait_until_asked();
    let start = Instant::now();
    let process = rustix::process::Pid::from_child(&server.child.0);
    rustix::process::kill_process(process, rustix::process::Signal::TERM).expect("signal");
    assert_eq!(server.child.0.wait().expect("ends").code(), Some(3), "a call is still running");
    let took = start.elapsed();
    println!("without `drain` the end waited {took:?}");
    assert!((3..15).contains(&took.as_secs()), "{took:?}");
}

#[test]
fn hosts_that_only_begin_like_ours_are_refused_and_sessions_are_counted() {
    let sandbox = Sandbox::new();
    let server = server(&sandbox, &[]);
    let status =
        |more: &str| server.ask(&format!("{}{more}", server.bearer()), &hello("t", json!({}))).0;
    for host in ["127.0.0.1.evil.com", "localhost.evil.com:80", "evil.com"] {
        assert_eq!(status(&format!("host: {host}\r\n")), 403, "{host}");
    }
    assert_eq!(status("origin: https://evil.example\r\n"), 403);
    for head in ["", "authorization: Bearer no\r\n"] {
        assert_eq!(server.ask(head, &hello("t", json!({}))).0, 401, "{head}");
    }
    let (huge, ..) = server.ask(&server.bearer(), &"x".repeat(17 << 20).into());
    assert!(huge == 413 || huge == 0, "{huge}");
    let any = sandbox.run(&["mcp", "--http", "0.0.0.0:0"], b"");
    assert_eq!(any.status.code(), Some(2), "loopback only");
    assert_eq!(status("origin: http://localhost:3000\r\n"), 200);
    let statuses: Vec<u16> = (1..70).map(|_| status("")).collect();
    assert_eq!(statuses[..63], [200; 63]);
    assert_eq!(statuses[63..], [503; 6]);
}

#[test]
fn a_token_that_others_can_read_is_refused() {
    let sandbox = Sandbox::new();
    let file = sandbox.above().join("token");
    std::fs::write(&file, "0123456789abcdef0123456789abcdef\n").expect("token");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).expect("mode");
    let name = file.to_str().expect("path");
    let out = sandbox.run(&["mcp", "--http", "127.0.0.1:0", "--token-file", name], b"");
    assert_eq!(out.status.code(), Some(2));
    let text = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(text.contains("other users can read") && text.contains("chmod 600"), "{text}");
}

#[test]
fn a_token_file_that_is_missing_is_made_for_its_owner_only() {
    let sandbox = Sandbox::new();
    let file = sandbox.above().join("token");
    let name = file.to_str().expect("path");
    let args = ["mcp", "--http", "127.0.0.1:0", "--token-file", name];
    let mut child = sandbox.restitch(&args).spawn().expect("starts");
    // It says where it listens once the token is there.
    let mut line = String::new();
    BufReader::new(child.stderr.take().expect("piped")).read_line(&mut line).expect("a line");
    let _ = child.kill();
    let _ = child.wait();
    let token = std::fs::read_to_string(&file).expect("token").trim().to_owned();
    let server = HttpServer::with_token(sandbox.restitch(&args), &token);
    let mode = std::fs::metadata(&file).expect("token").permissions().mode() & 0o777;
    assert_eq!((mode, server.token.len() >= 32), (0o600, true));
    assert_eq!(server.ask(&server.bearer(), &hello("t", json!({}))).0, 200);
}

/// What comes until the server closes, and when.
fn until_closed(mut stream: TcpStream) -> (String, Duration) {
    let start = Instant::now();
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("timeout");
    let mut answer = Vec::new();
    let mut piece = [0; 1024];
    while let Ok(count @ 1..) = stream.read(&mut piece) {
        answer.extend_from_slice(&piece[..count]);
    }
    (String::from_utf8_lossy(&answer).into_owned(), start.elapsed())
}

#[test]
fn a_request_that_does_not_end_is_closed() {
    let sandbox = Sandbox::new();
    let server = server(&sandbox, &[]);
    let mut half = TcpStream::connect(server.address).expect("connects");
    half.write_all(b"POST /mcp HTTP/1.1\r\nhost: localhost\r\nx").expect("sends");
    let head = std::thread::spawn(move || until_closed(half));
    let body = crate::disk::is_long_run().then(|| {
        let mut stream = TcpStream::connect(server.address).expect("connects");
        let head = format!("host: localhost\r\n{}", server.bearer());
        let text = format!("POST /mcp HTTP/1.1\r\n{head}content-length: 100\r\n\r\n{{\"x\":");
        stream.write_all(text.as_bytes()).expect("sends");
        std::thread::spawn(move || until_closed(stream))
    });
    let (_, took) = head.join().expect("ends");
    println!("half a head was closed after {took:?}");
    assert!((8..25).contains(&took.as_secs()), "{took:?}");
    let Some(body) = body else {
        return crate::disk::skip("half a body", "it takes 30 s: RESTITCH_LONG=1");
    };
    let (answer, took) = body.join().expect("ends");
    println!("half a body was answered after {took:?}");
    assert!(answer.starts_with("HTTP/1.1 408") && took.as_secs() >= 28, "{took:?}: {answer}");
}

#[test]
fn sessions_that_are_idle_for_five_minutes_make_room() {
    if !crate::disk::is_long_run() {
        return crate::disk::skip("idle sessions", "it takes five minutes: RESTITCH_LONG=1");
    }
    let sandbox = Sandbox::new();
    let server = server(&sandbox, &[]);
    let begin = || server.ask(&server.bearer(), &hello("t", json!({}))).0;
    assert!((0..64).all(|_| begin() == 200));
    assert_eq!(begin(), 503);
    std::thread::sleep(Duration::from_secs(290));
    assert_eq!(begin(), 503, "before that they stay");
    std::thread::sleep(Duration::from_secs(15));
    assert_eq!(begin(), 200);
}
