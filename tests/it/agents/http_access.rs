//! One HTTP server for many: tokens with their own roots, tools and budgets, metrics that
//! Prometheus reads, and an end that waits for the calls under way.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

pub(crate) const ALPHA: &str = "the-token-of-alpha-0001";
const BETA: &str = "the-token-of-beta-00002";

pub(crate) struct Server {
    child: Child,
    address: SocketAddr,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn restitch(folder: &Path, config: &str) -> Command {
    fs::write(folder.join("config.toml"), config).expect("config");
    // A configuration in the folder that the server starts in could come with that folder.
    fs::create_dir_all(folder.join("elsewhere")).expect("folder");
    let mut command = Command::new(env!("CARGO_BIN_EXE_restitch"));
    command
        .env_clear()
        .env("RESTITCH_STATE_DIR", folder.join("state"))
        .env("ALPHA_TOKEN", ALPHA)
        .args(["mcp", "--http", "127.0.0.1:0", "--config"])
        .arg(folder.join("config.toml"))
        .current_dir(folder.join("elsewhere"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    command
}

impl Server {
    pub(crate) fn start(folder: &Path, config: &str) -> Self {
        let mut child = restitch(folder, config).spawn().expect("starts");
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

    pub(crate) fn get(&self, path: &str, token: Option<&str>) -> (u16, String) {
        let head = token.map_or_else(String::new, bearer);
        let (status, _, body) = self.ask(&format!("GET {path}"), &head, "");
        (status, body)
    }

    /// The head lines of a session that has begun, or the status.
    pub(crate) fn session(&self, path: &str, token: &str) -> Result<String, u16> {
        let hello = json!({
            "jsonrpc": "2.0", "id": 1, "method": "initialize",
            "params": { "protocolVersion": "2025-06-18", "capabilities": {},
                "clientInfo": { "name": "test", "version": "1" } },
        });
        let (status, head, _) =
            self.ask(&format!("POST {path}"), &bearer(token), &hello.to_string());
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
        self.ask(&format!("POST {path}"), &head, &ready.to_string());
        Ok(head)
    }

    pub(crate) fn call(&self, path: &str, head: &str, name: &str, arguments: Value) -> String {
        self.ask(&format!("POST {path}"), head, &call(name, &arguments)).2
    }

    fn edit(&self, path: &str, head: &str, old: &str, new: &str) -> String {
        self.call(path, head, "edit_file", json!({ "path": "f", "old_str": old, "new_str": new }))
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

/// Two tokens, three roots, each with a file `f`.
fn world() -> (tempfile::TempDir, String) {
    let temp = tempfile::tempdir().expect("folder");
    let root = |name: &str| {
        let folder = temp.path().join(name);
        fs::create_dir(&folder).expect("root");
        fs::write(folder.join("f"), format!("this is {name}\n")).expect("file");
        folder.display().to_string()
    };
    let (app, lib, web) = (root("app"), root("lib"), root("web"));
    let token = temp.path().join("beta.token");
    fs::write(&token, format!("{BETA}\n")).expect("token");
    let mode = <fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o600);
    fs::set_permissions(&token, mode).expect("mode");
    let config = format!(
        "[server]\ndrain = 20\n\
         [[server.access]]\nname = \"alpha\"\ntoken_env = \"ALPHA_TOKEN\"\nroots = {{ lib = \"{lib}\", app = \"{app}\" }}\n\
         [[server.access]]\nname = \"beta\"\ntoken_file = \"{}\"\nroots = {{ web = \"{web}\" }}\ntools = [\"edit_file\"]\ncalls_per_minute = 3\n",
        token.display()
    );
    (temp, config)
}

#[test]
fn each_token_opens_its_own_roots_with_its_own_tools_and_budget() {
    let (temp, config) = world();
    let server = Server::start(temp.path(), &config);
    let text = |name: &str| fs::read_to_string(temp.path().join(name).join("f")).expect("file");
    let app = server.session("/mcp", ALPHA).expect("the first root");
    let lib = server.session("/mcp/lib", ALPHA).expect("a named root");
    let web = server.session("/mcp/web", BETA).expect("its own root");
    assert_eq!(server.session("/mcp/web", ALPHA), Err(404), "another's root");
    assert_eq!(server.session("/mcp/lib", BETA), Err(404), "another's root");
    assert_eq!(server.session("/mcp", "an-unknown-token"), Err(401));
    for (path, head, name) in
        [("/mcp/app", &app, "app"), ("/mcp/lib", &lib, "lib"), ("/mcp", &web, "web")]
    {
        let answer = server.edit(path, head, &format!("this is {name}"), "edited");
        assert!(answer.contains("\"isError\":false"), "{answer}");
        assert_eq!(text(name), "edited\n");
    }
    // A session is of one root and one token.
    let stolen = format!("{}{}", bearer(BETA), &app[app.find("mcp-session-id").expect("id")..]);
    let (status, _, _) = server.ask("POST /mcp/web", &stolen, &call("edit_file", &json!({})));
    assert_eq!(status, 404, "no session of beta's");
    let (status, _, _) = server.ask("POST /mcp/lib", &app, &call("edit_file", &json!({})));
    assert_eq!(status, 404, "no session of the other root");
    let read = server.call("/mcp", &web, "read_file", json!({ "path": "f" }));
    assert!(read.contains("\"isError\":true") && !read.contains("edited"), "not offered: {read}");
    server.edit("/mcp", &web, "edited", "again");
    let spent = server.edit("/mcp", &web, "again", "once more");
    assert!(spent.contains("limit of calls per minute") && text("web") == "again\n", "{spent}");
    let waits = (1..=60).any(|s| spent.contains(&format!("Send the same call again in {s} s.")));
    assert!(waits, "it names the time: {spent}");
    let free = server.edit("/mcp", &app, "edited", "free");
    assert!(free.contains("\"isError\":false"), "another token has its own budget: {free}");
}

#[test]
fn metrics_and_probes_tell_what_they_should_and_no_more() {
    let (temp, config) = world();
    let server = Server::start(temp.path(), &config);
    let head = server.session("/mcp", ALPHA).expect("session");
    server.edit("/mcp", &head, "this is app", "secret-words");
    server.edit("/mcp", &head, "not there at all", "x");
    server.call("/mcp", &head, "made-up-tool", json!({}));
    assert_eq!(server.get("/healthz", None), (200, "ok\n".into()));
    assert_eq!(server.get("/readyz", None), (200, "ok\n".into()));
    assert_eq!(server.get("/metrics", None).0, 401);
    let (status, text) = server.get("/metrics", Some(BETA));
    assert_eq!(status, 200);
    for part in [
        "restitch_calls_total{access=\"alpha\",tool=\"edit_file\"} 2",
        "restitch_calls_total{access=\"alpha\",tool=\"unknown\"} 1",
        "restitch_refusals_total{access=\"alpha\",tool=\"edit_file\",code=\"EDIT_NO_OCCURRENCE_FOUND\"} 1",
        "restitch_call_seconds_count{tool=\"edit_file\"} 2",
        "restitch_http_shut_out_total{why=\"token\"} 1",
        "restitch_calls_running 0",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let edits: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("restitch_edits_total{access=\"alpha\""))
        .collect();
    assert!(matches!(edits.as_slice(), [one] if one.ends_with(" 1")), "{edits:?}");
    for secret in ["secret-words", "made-up-tool", ALPHA, BETA, "not there at all"] {
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
    let head = server.session("/mcp", ALPHA).expect("session");
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
    let (mut server, head, under_way) = under_way(temp.path(), &config, 2);
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
            true => println!("SKIPPED: signal {number} is ignored here"),
            false => the_end_waits(signal),
        }
    }
}

/// A token's file that is missing is made, for its owner only.
#[test]
fn a_tokens_file_of_the_configuration_is_made() {
    use std::os::unix::fs::PermissionsExt as _;
    let (temp, config) = world();
    let file = temp.path().join("beta.token");
    fs::remove_file(&file).expect("removed");
    let server = Server::start(temp.path(), &config);
    let mode = fs::metadata(&file).expect("a file").permissions().mode() & 0o777;
    let token = fs::read_to_string(&file).expect("a token").trim().to_owned();
    assert_eq!((mode, token.len() >= 32), (0o600, true));
    assert!(server.session("/mcp/web", &token).is_ok());
    assert_eq!(server.session("/mcp/web", BETA), Err(401));
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
    let (mut server, _, _stream) = under_way(temp.path(), &config, 20);
    let start = Instant::now();
    stop(&server);
    kill_process(Pid::from_child(&server.child), Signal::TERM).expect("signal");
    server.child.wait().expect("ends");
    assert!(start.elapsed() < Duration::from_secs(15), "{:?}", start.elapsed());
}

/// Where nobody has said how long: half a minute for a server with tokens of its configuration.
#[test]
fn without_a_setting_the_end_waits_half_a_minute() {
    if !crate::disk::is_long_run() {
        return crate::disk::skip("the end without `drain`", "it takes 30 s: RESTITCH_LONG=1");
    }
    let (temp, config) = world();
    let (mut server, _, _stream) = under_way(temp.path(), &config.replace("drain = 20\n", ""), 55);
    let start = Instant::now();
    stop(&server);
    assert_eq!(server.child.wait().expect("ends").code(), Some(3), "calls are still running");
    let took = start.elapsed();
    println!("without `drain` the end waited {took:?}");
    assert!((30..45).contains(&took.as_secs()), "{took:?}");
}

#[test]
fn what_the_configuration_gets_wrong_is_told_by_name() {
    let (temp, config) = world();
    for (from, to, why) in [
        (
            "token_env = \"ALPHA_TOKEN\"",
            "token_env = \"NOT_SET\"",
            "`alpha`: the environment variable NOT_SET",
        ),
        ("token_env = \"ALPHA_TOKEN\"\n", "", "`alpha`: give either token_file or token_env"),
        ("web = ", "\"w/b\" = ", "`beta`: the root's name `w/b`"),
        ("app = \"/", "app = \"/no-such-place/", "cannot open the root /no-such-place/"),
        ("calls_per_minute = 3", "calls_per_minute = 0", "line 12"),
    ] {
        let wrong = config.replace(from, to);
        assert_ne!(wrong, config, "{from}");
        let output = restitch(temp.path(), &wrong).output().expect("runs");
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(why), "{why}\n{text}");
    }
    let output = restitch(temp.path(), &config).args(["--root", "../app"]).output().expect("runs");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && text.contains("leave out --root"), "{text}");
}
