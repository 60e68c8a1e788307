//! The HTTP server: one root, one token, metrics that Prometheus reads, and an end that waits for the
//! calls under way. It does not start where its configuration cannot be used.

use std::fs;
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::client::request;
use crate::http::{HttpServer, read};
use crate::model::server::ModelServer;
use crate::model::{FILE, NEW, OLD, after};
use crate::sandbox::{folder_with, put};
use crate::says::says;

const TOKEN: &str = "the-token-of-alpha-0001";

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
        .current_dir("/");
    command
}

fn start(folder: &Path, config: &str) -> HttpServer {
    HttpServer::with_token(restitch(folder, config), TOKEN)
}

/// The answer to a call of a tool.
fn answer(server: &HttpServer, head: &str, name: &str, arguments: Value) -> String {
    server.ask(head, &request(2, name, arguments)).2
}

fn edit(server: &HttpServer, head: &str, old: &str, new: &str) -> String {
    answer(server, head, "edit_file", json!({ "path": "f", "old_str": old, "new_str": new }))
}

/// A root with a file `f`, and a token.
fn world() -> (tempfile::TempDir, &'static str) {
    let temp = folder_with(&[("app/f", "this is app\n")]);
    let token = temp.path().join("token");
    fs::write(&token, format!("{TOKEN}\n")).expect("token");
    let mode = <fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o600);
    fs::set_permissions(&token, mode).expect("mode");
    (temp, "[server]\ndrain = 20\n")
}

#[test]
fn one_token_opens_one_root() {
    let (temp, config) = world();
    let server = start(temp.path(), config);
    assert_eq!(server.session_with("an-unknown-token"), Err(401));
    let head = server.session();
    let answer = edit(&server, &head, "this is app", "edited");
    assert!(answer.contains("\"isError\":false"), "{answer}");
    assert_eq!(fs::read_to_string(temp.path().join("app/f")).expect("file"), "edited\n");
    assert_eq!(server.get("/mcp/app", &server.bearer()).0, 404);
}

/// A service starts in `/`. Its configuration is below that folder, but not below the root.
#[test]
fn a_service_that_starts_in_the_top_folder_keeps_its_configuration() {
    let (temp, _) = world();
    let home = temp.path().join("home/.config/restitch");
    put(&home.join("config.toml"), "[server]\ndrain = 0\n");
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
    let server = start(temp.path(), config);
    let head = server.session();
    while server.session_with(TOKEN).is_ok() {}
    let answer = edit(&server, &head, "this is app", "initialize");
    assert!(answer.contains("\"isError\":false"), "{answer}");
}

#[test]
fn metrics_and_probes_tell_what_they_should_and_no_more() {
    let (temp, config) = world();
    let server = start(temp.path(), config);
    let head = server.session();
    edit(&server, &head, "this is app", "secret-words");
    edit(&server, &head, "not there at all", "x");
    answer(&server, &head, "made-up-tool", json!({}));
    assert_eq!(server.get("/healthz", ""), (200, "ok\n".into()));
    assert_eq!(server.get("/readyz", ""), (200, "ok\n".into()));
    assert_eq!(server.get("/metrics", "").0, 401);
    let (status, text) = server.get("/metrics", &server.bearer());
    assert_eq!(status, 200);
    says(
        &text,
        &[
            "restitch_calls_total{tool=\"edit_file\"} 2",
            "restitch_calls_total{tool=\"unknown\"} 1",
            "restitch_refusals_total{tool=\"edit_file\",code=\"EDIT_NO_OCCURRENCE_FOUND\"} 1",
            "restitch_call_seconds_count{tool=\"edit_file\"} 2",
            "restitch_http_shut_out_total{why=\"token\"} 1",
            "restitch_calls_running 0",
        ],
    );
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

/// A server with a call under way, which waits so many seconds for the answer of a model.
fn under_way(
    temp: &Path,
    config: &str,
    seconds: u64,
) -> (HttpServer, String, TcpStream, ModelServer) {
    let model = ModelServer::slow(Duration::from_secs(seconds));
    let config = format!("{config}[model]\nname = \"m\"\nbase_url = \"{}\"\n", model.base_url());
    fs::write(temp.join("app/lib.rs"), FILE).expect("file");
    let server = start(temp, &config);
    let head = server.session();
    let stream = server.post(&head, &request(2, "edit_file", slow()));
    model.wait_until_asked();
    (server, head, stream, model)
}

fn slow() -> Value {
    json!({ "path": "lib.rs", "old_str": OLD, "new_str": NEW })
}

/// Sends SIGTERM, and waits until the server says that it stops.
fn stop(server: &HttpServer) {
    stop_by(server, Signal::TERM);
}

fn stop_by(server: &HttpServer, signal: Signal) {
    kill_process(Pid::from_child(&server.child.0), signal).expect("signal");
    let start = Instant::now();
    while server.get("/readyz", "").0 != 503 {
        assert!(start.elapsed() < Duration::from_secs(10), "it never says that it goes down");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A call that is under way at the signal is answered; new ones are sent away; then the process
/// ends with 0.
fn the_end_waits(signal: Signal) {
    let (temp, config) = world();
    let (mut server, head, under_way, _model) = under_way(temp.path(), config, 2);
    stop_by(&server, signal);
    assert_eq!(server.get("/healthz", "").0, 200, "it is still well");
    let (status, head, _) = server.ask(&head, &request(2, "edit_file", slow()));
    assert_eq!(
        (status, head.to_ascii_lowercase().contains("retry-after: 1")),
        (503, true),
        "{head}"
    );
    let (status, _, body) = read(under_way);
    assert_eq!(status, 200);
    assert!(body.contains("\"isError\":false"), "{body}");
    assert_eq!(fs::read_to_string(temp.path().join("app/lib.rs")).expect("file"), after());
    assert_eq!(server.child.0.wait().expect("ends").code(), Some(0));
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
    let (mut server, _, _stream, _model) = under_way(temp.path(), &short, 20);
    let start = Instant::now();
    stop(&server);
    assert_eq!(server.child.0.wait().expect("ends").code(), Some(3), "calls are still running");
    assert!(start.elapsed() < Duration::from_secs(15), "{:?}", start.elapsed());

    let (temp, config) = world();
    let (mut server, _, _stream, _model) = under_way(temp.path(), config, 20);
    let start = Instant::now();
    stop(&server);
    kill_process(Pid::from_child(&server.child.0), Signal::TERM).expect("signal");
    server.child.0.wait().expect("ends");
    assert!(start.elapsed() < Duration::from_secs(15), "{:?}", start.elapsed());
}
