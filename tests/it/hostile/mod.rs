//! What a hostile or broken sandbox does to restitch: files, clients, peers and clocks. One
//! module for each kind of trouble; the real binary wherever a process is what is at stake.

mod client;
mod p01_repeated_requests;
mod p02_envelope;
#[cfg(unix)]
mod p03_moved_root;
mod p04_encodings;
#[cfg(unix)]
mod p05_metadata;
#[cfg(unix)]
mod p06_responsive;
#[cfg(unix)]
mod p07_limits;
#[cfg(unix)]
mod p08_ignore_files;
mod p09_frames;
#[cfg(unix)]
mod p10_http;
mod p11_secrets;
mod p12_key;
mod p13_terminal;
#[cfg(unix)]
mod p14_state;
mod p15_init;
#[cfg(unix)]
mod p16_bounds;
mod p17_abort;
#[cfg(unix)]
mod storm;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

pub(crate) use client::Client;

/// A root and a state folder that go away with the test.
pub(crate) struct Sandbox {
    temp: tempfile::TempDir,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        let temp = tempfile::Builder::new().prefix("restitch-hostile-").tempdir().expect("temp");
        fs::create_dir(temp.path().join("root")).expect("root");
        Self { temp }
    }

    pub(crate) fn above(&self) -> &Path {
        self.temp.path()
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.temp.path().join("root")
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.temp.path().join("state")
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.root().join(name);
        fs::create_dir_all(path.parent().expect("folder")).expect("folder");
        fs::write(path, bytes).expect("file");
    }

    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.root().join(name)).expect("file")
    }

    pub(crate) fn text(&self, name: &str) -> String {
        String::from_utf8(self.bytes(name)).expect("text")
    }

    /// The binary over this root, with nothing of this process's environment that matters.
    pub(crate) fn restitch(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_restitch"));
        command.current_dir(self.root()).args(args).env("RESTITCH_STATE_DIR", self.state());
        for name in [
            "OPENAI_API_KEY",
            "OPENAI_BASE_URL",
            "RESTITCH_MODEL",
            "RESTITCH_CONFIG",
            "RESTITCH_LOG",
            "http_proxy",
            "HTTP_PROXY",
        ] {
            command.env_remove(name);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs one command to its end.
    pub(crate) fn run(&self, args: &[&str], stdin: &[u8]) -> std::process::Output {
        finish(self.restitch(args), stdin)
    }

    /// The replies of `batch` to these requests.
    pub(crate) fn batch(&self, requests: &[Value]) -> Vec<Value> {
        let lines: String = requests.iter().map(|request| format!("{request}\n")).collect();
        let out = self.run(&["batch"], lines.as_bytes());
        String::from_utf8(out.stdout)
            .expect("text")
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect()
    }

    /// A line-by-line conversation with a command of the binary.
    pub(crate) fn client(&self, args: &[&str]) -> Client {
        Client::start(self.restitch(args))
    }

    /// An MCP session over stdio, initialised.
    pub(crate) fn mcp(&self) -> Client {
        self.mcp_with(&[])
    }

    /// The same with more flags.
    pub(crate) fn mcp_with(&self, flags: &[&str]) -> Client {
        let mut client = self.client(&[&["mcp"], flags].concat());
        client.send(&json!({
            "jsonrpc": "2.0", "id": "init", "method": "initialize",
            "params": {
                "protocolVersion": "2025-06-18", "capabilities": {},
                "clientInfo": { "name": "test", "version": "1" },
            },
        }));
        let answer = client.next(Duration::from_secs(20));
        assert_eq!(answer["id"], "init", "{answer}");
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        client
    }
}

/// Runs a command to its end with this on its stdin.
pub(crate) fn finish(mut command: Command, stdin: &[u8]) -> std::process::Output {
    let mut child = command.spawn().expect("starts");
    let mut pipe = child.stdin.take().expect("piped");
    let stdin = stdin.to_vec();
    let writer = std::thread::spawn(move || {
        // A program that ends early does not read everything.
        let _ = pipe.write_all(&stdin);
    });
    let out = child.wait_with_output().expect("ends");
    writer.join().expect("writes");
    out
}

/// The text of an MCP answer.
pub(crate) fn text_of(answer: &Value) -> String {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned()
}
