//! Workspaces in object storage, against a real S3 server: moto, from PyPI, behind a proxy
//! that counts requests, loses answers and takes conditions away.
//!
//! `RESTITCH_LONG=1` runs the full counts.
#![cfg(unix)]
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "clippy knows tests by their attribute, and helpers of tests have none"
)]

#[path = "../../../tests/it/client.rs"]
#[allow(dead_code, reason = "other tests use the rest of it")]
mod client;
mod everyday;
mod faults;
#[path = "../../../tests/it/long.rs"]
mod long;
mod proxy;
mod races;
mod stores;

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use proxy::Proxy;

use client::Client;
use long::{count, is_long_run, skip};

/// How many tests need the server.
const NEED_SERVER: usize = 21;

fn python() -> Option<PathBuf> {
    let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/s3/venv/bin/python");
    [ours, PathBuf::from("python3")].into_iter().find(|python| {
        let has_moto = Command::new(python)
            .args(["-c", "import moto.server, flask_cors"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        has_moto.is_ok_and(|status| status.success())
    })
}

/// A server with one bucket, and a proxy before it.
struct Bucket {
    server: Child,
    pub(crate) proxy: Proxy,
    state: tempfile::TempDir,
}

impl Drop for Bucket {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

impl Bucket {
    /// `None`, said loudly, where the server cannot be had.
    fn start(test: &str) -> Option<Self> {
        Self::aged(test, 0)
    }

    /// The same with objects that look so many seconds old.
    fn aged(test: &str, seconds: u64) -> Option<Self> {
        let Some(python) = python() else {
            let why = format!(
                "moto is not installed (object-store/tests/it/install.sh), needed by {NEED_SERVER} tests"
            );
            skip(test, &why);
            return None;
        };
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/server.py");
        let mut server = Command::new(python)
            .arg(script)
            .args(["--age", &seconds.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the server starts");
        let mut line = String::new();
        let out = server.stdout.take().expect("stdout");
        BufReader::new(out).read_line(&mut line).expect("a port");
        let port: u16 = line.trim().parse().expect("a port");
        let proxy = Proxy::start(port);
        let bucket = Self { server, proxy, state: tempfile::tempdir().expect("state") };
        assert_eq!(bucket.http("PUT", "/work", b"").0, 200, "the bucket is made");
        Some(bucket)
    }

    /// A request of a program that is not restitch. The server does not look at signatures.
    fn http(&self, method: &str, path: &str, body: &[u8]) -> (u16, Vec<u8>) {
        proxy::request(self.proxy.server, method, path, body)
    }

    fn put(&self, key: &str, text: &str) {
        assert_eq!(self.http("PUT", &format!("/work/{key}"), text.as_bytes()).0, 200);
    }

    fn get(&self, key: &str) -> Option<String> {
        let (status, body) = self.http("GET", &format!("/work/{key}"), b"");
        (status == 200).then(|| String::from_utf8(body).expect("text"))
    }

    /// The keys that begin with this.
    fn keys(&self, prefix: &str) -> Vec<String> {
        let path = format!("/work?list-type=2&max-keys=1000&prefix={prefix}");
        let text = String::from_utf8(self.http("GET", &path, b"").1).expect("text");
        let keys = text.split("<Key>").skip(1);
        keys.map(|rest| rest.split("</Key>").next().expect("key").to_owned()).collect()
    }

    /// restitch with this bucket's server and a prefix of it as the root.
    fn command(&self, prefix: &str) -> Command {
        let mut command = restitch(self.state.path());
        command
            .args(["--no-model", "--root", &format!("s3://work/{prefix}")])
            .env("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{}", self.proxy.port))
            .env("AWS_ALLOW_HTTP", "true")
            .env("AWS_ACCESS_KEY_ID", "test")
            .env("AWS_SECRET_ACCESS_KEY", "a-secret-of-this-test")
            .env("AWS_REGION", "us-east-1");
        command
    }

    /// Runs one command to its end: the exit code, and what it printed.
    fn run(&self, prefix: &str, arguments: &[&str]) -> (i32, String) {
        ended(self.command(prefix).args(arguments))
    }

    fn batch(&self, prefix: &str) -> Batch {
        Batch::of(self.command(prefix).arg("batch"))
    }
}

/// The command, with a state folder of its own and nothing of this environment.
fn restitch(state: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_restitch-object-store"));
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("RESTITCH_STATE_DIR", state.join("state")).env("HOME", state);
    command
}

fn ended(command: &mut Command) -> (i32, String) {
    let output = command.stdin(Stdio::null()).output().expect("restitch runs");
    let text = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&text).into_owned())
}

/// `restitch batch`, one call at a time.
struct Batch {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Drop for Batch {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Batch {
    fn of(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("restitch starts");
        let stdin = child.stdin.take().expect("stdin");
        let stdout = BufReader::new(child.stdout.take().expect("stdout"));
        Self { child, stdin, stdout }
    }

    fn send(&mut self, request: &Value) {
        writeln!(self.stdin, "{request}").expect("restitch reads");
        self.stdin.flush().expect("restitch reads");
    }

    /// The reply; null when the process has ended.
    fn reply(&mut self) -> Value {
        let mut line = String::new();
        match self.stdout.read_line(&mut line) {
            Ok(0) | Err(_) => Value::Null,
            Ok(_) => serde_json::from_str(&line).expect("a reply"),
        }
    }

    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.send(&json!({ "tool": tool, "arguments": arguments }));
        self.reply()
    }

    fn edit(&mut self, path: &str, old: &str, new: &str) -> Value {
        self.call("edit_file", json!({ "path": path, "old_str": old, "new_str": new }))
    }
}
