//! The HTTP server: one root, one token, metrics that Prometheus reads, and an end that waits for the
//! calls under way. It does not start where its configuration cannot be used.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

const TOKEN: &str = "the-token-of-alpha-0001";

struct Server {
    child: Child,
    address: SocketAddr,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The server of `folder/app`, with this configuration beside it.
fn restitch(folder: &Path, config: &str) -> Command {
    fs::write(folder.join("config.toml"), config).expect("config");
    let mut command = Command::new(env!("CARGO_BIN_EXE_restitch"));
    command
        .env_clear()
        .env("RESTITCH_STATE_DIR", folder.join("state"))
        .args(["mcp", "--http", "127.0.0.1:0", "--config"])
        .arg(folder.join("config.toml"))
        .arg("--token-file")
        .arg(folder.join("token"))
        .arg("--root")
        .arg(folder.join("app"))
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    command
}

impl Server {
    fn start(folder: &Path, config: &str) -> Self {
        Self::start_with(restitch(folder, config))
    }

    fn start_with(mut command: Command) -> Self {
        let mut child = command.spawn().expect("starts");
        let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines();
        let line = lines.next().expect("a line").expect("text");
        let address = line.strip_prefix("listening on http://").expect("an address");
        let address = address.trim_end_matches("/mcp").parse().expect("an address");
        Self { child, address }
    }

    fn send(&self, line: &str, head: &str, body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).expect("connects");
        stream.set_read_timeout(Some(Duration::from_secs(30))).expect("timeout");
        let text = format!(
            "{line} HTTP/1.1\r\nhost: localhost\r\n{head}content-type: application/json\r\naccept: application/json, text/event-stream\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(text.as_bytes()).expect("sends");
        stream
    }

    fn ask(&self, line: &str, head: &str, body: &str) -> (u16, String, String) {
        read(self.send(line, head, body))
    }

    fn get(&self, path: &str, token: Option<&str>) -> (u16, String) {
        let head = token.map_or_else(String::new, bearer);
        let (status, _, body) = self.ask(&format!("GET {path}"), &head, "");
        (status, body)
    }

    /// The head lines of a session that has begun, or the status.
    fn session(&self, token: &str) -> Result<String, u16> {
        let hello = json!({
            "jsonrpc": "2.0", "id": 1, "method": "initialize",
            "params": { "protocolVersion": "2025-06-18", "capabilities": {},
                "clientInfo": { "name": "test", "version": "1" } },
        });
        let (status, head, _) = self.ask("POST /mcp", &bearer(token), &hello.to_string());
        if status != 200 {
            return Err(status);
        }
        let lower = head.to_ascii_lowercase();
        let id =
            lower.lines().find_map(|line| line.strip_prefix("mcp-session-id: ").map(str::to_owned));
        let head = format!(
            "{}mcp-session-id: {}\r\nmcp-protocol-version: 2025-06-18\r\n",
            bearer(token),
            id.expect("a session")
        );
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        self.ask("POST /mcp", &head, &ready.to_string());
        Ok(head)
    }

    fn call(&self, head: &str, name: &str, arguments: Value) -> String {
        self.ask("POST /mcp", head, &call(name, &arguments)).2
    }

    fn edit(&self, head: &str, old: &str, new: &str) -> String {
        self.call(head, "edit_file", json!({ "path": "f", "old_str": old, "new_str": new }))
    }
}

fn bearer(token: &str) -> String {
    format!("authorization: Bearer {token}\r\n")
}

fn call(name: &str, arguments: &Value) -> String {
    let params = json!({ "name": name, "arguments": arguments });
    json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params }).to_string()
}

fn read(mut stream: TcpStream) -> (u16, String, String) {
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("answers");
    let status = answer.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    (status, head.to_owned(), body.to_owned())
}

/// A root with a file `f`, and a token.
fn world() -> (tempfile::TempDir, &'static str) {
    let temp = tempfile::tempdir().expect("folder");
    fs::create_dir(temp.path().join("app")).expect("root");
    fs::write(temp.path().join("app/f"), "this is app\n").expect("file");
    let token = temp.path().join("token");
    fs::write(&token, format!("{TOKEN}\n")).expect("token");
    let mode = <fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o600);
    fs::set_permissions(&token, mode).expect("mode");
    (temp, "[server]\ndrain = 20\n")
}

#[test]
fn one_token_opens_one_root() {
    let (temp, config) = world();
    let server = Server::start(temp.path(), config);
    assert_eq!(server.session("an-unknown-token"), Err(401));
    let head = server.session(TOKEN).expect("a session");
    let answer = server.edit(&head, "this is app", "edited");
    assert!(answer.contains("\"isError\":false"), "{answer}");
    assert_eq!(fs::read_to_string(temp.path().join("app/f")).expect("file"), "edited\n");
    assert_eq!(server.get("/mcp/app", Some(TOKEN)).0, 404);
}

/// A service starts in `/`. Its configuration is below that folder, but not below the root.
#[test]
fn a_service_that_starts_in_the_top_folder_keeps_its_configuration() {
    let (temp, _) = world();
    let home = temp.path().join("home/.config/restitch");
    fs::create_dir_all(&home).expect("folder");
    fs::write(home.join("config.toml"), "[server]\ndrain = 0\n").expect("config");
    let command = |root: Option<&str>| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_restitch"));
        command
            .env_clear()
            .env("RESTITCH_STATE_DIR", temp.path().join("state"))
            .env("HOME", temp.path().join("home"))
            .args(["mcp", "--http", "127.0.0.1:0"])
            .current_dir("/")
            .stdin(Stdio::null());
        if let Some(root) = root {
            command.arg("--root").arg(temp.path().join(root));
        }
        let output = command.output().expect("runs");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, text) = command(Some("app"));
    assert!(code == Some(2) && text.contains("server.drain is 0"), "it is read: {text}");
    let (code, text) = command(None);
    assert!(code == Some(2) && text.contains("--root"), "the disk is not served: {text}");
    let (code, text) = command(Some("home"));
    assert!(code == Some(2) && text.contains("inside the root"), "it is not ignored: {text}");
    fs::remove_file(home.join("config.toml")).expect("removed");
    fs::create_dir(home.join("config.toml")).expect("a folder in its place");
    let (code, text) = command(Some("app"));
    assert!(code == Some(2) && text.contains("cannot be read"), "it is not ignored: {text}");
}

/// An argument that happens to be `initialize` is not a session that begins.
#[test]
fn an_argument_named_initialize_is_served_when_sessions_are_full() {
    let (temp, config) = world();
    let server = Server::start(temp.path(), config);
    let head = server.session(TOKEN).expect("a session");
    while server.session(TOKEN).is_ok() {}
    let answer = server.edit(&head, "this is app", "initialize");
    assert!(answer.contains("\"isError\":false"), "{answer}");
}

#[test]
fn metrics_and_probes_tell_what_they_should_and_no_more() {
    let (temp, config) = world();
    let server = Server::start(temp.path(), config);
    let head = server.session(TOKEN).expect("session");
    server.edit(&head, "this is app", "secret-words");
    server.edit(&head, "not there at all", "x");
    server.call(&head, "made-up-tool", json!({}));
    assert_eq!(server.get("/healthz", None), (200, "ok\n".into()));
    assert_eq!(server.get("/readyz", None), (200, "ok\n".into()));
    assert_eq!(server.get("/metrics", None).0, 401);
    let (status, text) = server.get("/metrics", Some(TOKEN));
    assert_eq!(status, 200);
    for part in [
        "restitch_calls_total{tool=\"edit_file\"} 2",
        "restitch_calls_total{tool=\"unknown\"} 1",
        "restitch_refusals_total{tool=\"edit_file\",code=\"EDIT_NO_OCCURRENCE_FOUND\"} 1",
        "restitch_call_seconds_count{tool=\"edit_file\"} 2",
        "restitch_http_shut_out_total{why=\"token\"} 1",
        "restitch_calls_running 0",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let edits: Vec<&str> =
        text.lines().filter(|line| line.starts_with("restitch_edits_total{")).collect();
    assert!(matches!(edits.as_slice(), [one] if one.ends_with(" 1")), "{edits:?}");
    for secret in ["secret-words", "made-up-tool", TOKEN, "not there at all"] {
        assert!(!text.contains(secret), "{secret}\n{text}");
    }
    // The form: help and type before the values, and nothing that is not a line of it.
    for line in text.lines().filter(|line| !line.starts_with("# ")) {
        let (name, value) = line.rsplit_once(' ').expect("a value");
        assert!(value.parse::<f64>().is_ok(), "{line}");
        let family = name.split('{').next().expect("a name");
        let family =
            ["_bucket", "_sum", "_count"].iter().fold(family, |f, end| f.trim_end_matches(end));
        assert!(text.contains(&format!("# TYPE {family} ")), "{line}");
    }
}

/// A server with a call under way: its formatter takes so many seconds, and says when it begins.
fn under_way(temp: &Path, config: &str, seconds: u32) -> (Server, String, TcpStream) {
    let begun = temp.join("begun");
    let program = format!("touch {}; cat; sleep {seconds}", begun.display());
    let config = format!(
        "{config}[format.python]\ncommand = [\"/bin/sh\", \"-c\", \"{program}\"]\ntimeout = 60\n"
    );
    fs::write(temp.join("app/a.py"), "x = 1\n").expect("file");
    let server = Server::start(temp, &config);
    let head = server.session(TOKEN).expect("session");
    let stream = server.send("POST /mcp", &head, &call("edit_file", &slow()));
    let start = Instant::now();
    while !begun.exists() {
        assert!(start.elapsed() < Duration::from_secs(30), "the formatter never begins");
        std::thread::sleep(Duration::from_millis(10));
    }
    (server, head, stream)
}

fn slow() -> Value {
    json!({ "path": "a.py", "old_str": "x = 1", "new_str": "x = 2" })
}

/// Sends SIGTERM, and waits until the server says that it stops.
fn stop(server: &Server) {
    stop_by(server, Signal::TERM);
}

fn stop_by(server: &Server, signal: Signal) {
    kill_process(Pid::from_child(&server.child), signal).expect("signal");
    let start = Instant::now();
    while server.get("/readyz", None).0 != 503 {
        assert!(start.elapsed() < Duration::from_secs(10), "it never says that it goes down");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A call that is under way at the signal is answered; new ones are sent away; then the process
/// ends with 0.
fn the_end_waits(signal: Signal) {
    let (temp, config) = world();
    let (mut server, head, under_way) = under_way(temp.path(), config, 2);
    stop_by(&server, signal);
    assert_eq!(server.get("/healthz", None).0, 200, "it is still well");
    let (status, head, _) = server.ask("POST /mcp", &head, &call("edit_file", &slow()));
    assert_eq!(
        (status, head.to_ascii_lowercase().contains("retry-after: 1")),
        (503, true),
        "{head}"
    );
    let (status, _, body) = read(under_way);
    assert_eq!(status, 200);
    assert!(body.contains("\"isError\":false"), "{body}");
    assert_eq!(fs::read_to_string(temp.path().join("app/a.py")).expect("file"), "x = 2\n");
    assert_eq!(server.child.wait().expect("ends").code(), Some(0));
}

#[test]
fn the_end_waits_for_calls_under_way() {
    for (signal, number) in [(Signal::TERM, 15), (Signal::INT, 2), (Signal::HUP, 1)] {
        match crate::is_ignored(number) {
            true => crate::disk::skip(&format!("signal {number}"), "it is ignored here"),
            false => the_end_waits(signal),
        }
    }
}

/// It waits as long as `drain` says, and no longer than until the second signal.
#[test]
fn the_end_waits_no_longer_than_told() {
    let (temp, config) = world();
    let short = config.replace("drain = 20", "drain = 1");
    let (mut server, _, _stream) = under_way(temp.path(), &short, 20);
    let start = Instant::now();
    stop(&server);
    assert_eq!(server.child.wait().expect("ends").code(), Some(3), "calls are still running");
    assert!(start.elapsed() < Duration::from_secs(15), "{:?}", start.elapsed());

    let (temp, config) = world();
    let (mut server, _, _stream) = under_way(temp.path(), config, 20);
    let start = Instant::now();
    stop(&server);
    kill_process(Pid::from_child(&server.child), Signal::TERM).expect("signal");
    server.child.wait().expect("ends");
    assert!(start.elapsed() < Duration::from_secs(15), "{:?}", start.elapsed());
}
