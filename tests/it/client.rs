//! A child process that is spoken to in lines, and the messages of MCP.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::sandbox::Running;

const MINUTE: Duration = Duration::from_secs(60);

/// The message that begins a session of MCP.
pub(crate) fn hello(name: &str, capabilities: Value) -> Value {
    json!({
        "jsonrpc": "2.0", "id": 0, "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18", "capabilities": capabilities,
            "clientInfo": { "name": name, "version": "1" },
        },
    })
}

/// The message that the client is ready.
pub(crate) fn ready() -> Value {
    json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })
}

/// Both, as the lines of a client that does not wait for an answer.
pub(crate) fn greeting() -> String {
    format!("{}\n{}\n", hello("t", json!({})), ready())
}

/// The request of a call.
pub(crate) fn request(id: u64, tool: &str, arguments: Value) -> Value {
    json!({
        "jsonrpc": "2.0", "id": id, "method": "tools/call",
        "params": { "name": tool, "arguments": arguments },
    })
}

/// A child process, spoken to in lines.
pub(crate) struct Client {
    pub(crate) child: Running,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Client {
    pub(crate) fn start(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("starts");
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().expect("piped");
        let (send, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    return;
                }
            }
        });
        Self { child: Running(child), stdin, lines }
    }

    /// A session of MCP with a command of these flags.
    pub(crate) fn session(command: Command, flags: &[&str]) -> Self {
        Self::session_of("t", json!({}), command, flags)
    }

    /// The same by a client of this name and these capabilities.
    pub(crate) fn session_of(
        name: &str,
        capabilities: Value,
        mut command: Command,
        flags: &[&str],
    ) -> Self {
        command.arg("mcp").args(flags);
        let mut client = Self::start(command);
        client.send(&hello(name, capabilities));
        let answer = client.receive();
        assert_eq!(answer["result"]["serverInfo"]["name"], "restitch", "{answer}");
        client.send(&ready());
        client
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.send_raw(format!("{message}\n").as_bytes());
    }

    /// Messages in one write: the server has received all before it can answer one.
    pub(crate) fn send_at_once(&mut self, messages: &[Value]) {
        let lines: String = messages.iter().map(|message| format!("{message}\n")).collect();
        self.send_raw(lines.as_bytes());
    }

    pub(crate) fn send_raw(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().expect("open");
        stdin.write_all(bytes).and_then(|()| stdin.flush()).expect("takes the line");
    }

    pub(crate) fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// The next line, within a deadline that users rely on.
    pub(crate) fn next(&self, within: Duration) -> Value {
        match self.lines.recv_timeout(within) {
            Ok(line) => serde_json::from_str(&line).expect("JSON"),
            Err(RecvTimeoutError::Timeout) => panic!("no answer within {within:?}"),
            Err(RecvTimeoutError::Disconnected) => panic!("the server closed its side"),
        }
    }

    pub(crate) fn receive(&self) -> Value {
        self.next(MINUTE)
    }

    /// The answer with that id; others are passed over.
    pub(crate) fn answer(&self, id: &Value, within: Duration) -> Value {
        let until = Instant::now() + within;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let line = self.next(left);
            if line["id"] == *id {
                return line;
            }
        }
    }

    /// Calls a tool and waits for its answer.
    pub(crate) fn call(&mut self, id: u64, tool: &str, arguments: Value) -> Value {
        self.start_call(id, tool, arguments);
        self.answer(&id.into(), MINUTE)
    }

    pub(crate) fn start_call(&mut self, id: u64, tool: &str, arguments: Value) {
        self.send(&request(id, tool, arguments));
    }

    /// The text of a call's answer, and whether it is marked as an error.
    pub(crate) fn said(&mut self, tool: &str, arguments: Value) -> (String, bool) {
        let answer = &self.call(1, tool, arguments)["result"];
        let text = answer["content"][0]["text"].as_str().unwrap_or_default();
        (text.to_owned(), answer["isError"] == true)
    }

    pub(crate) fn list_tools(&mut self) -> Value {
        self.send(&json!({ "jsonrpc": "2.0", "id": 9, "method": "tools/list" }));
        self.receive()["result"].take()
    }

    pub(crate) fn ping(&mut self, id: &str) {
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": "ping" }));
    }

    #[cfg(unix)]
    /// How long the process still took to end; `None` when it did not within the time.
    pub(crate) fn ends_within(&mut self, within: Duration) -> Option<Duration> {
        let start = Instant::now();
        while start.elapsed() < within {
            if self.child.0.try_wait().expect("status").is_some() {
                return Some(start.elapsed());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        None
    }
}
