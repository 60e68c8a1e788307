use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// A child process, spoken to in lines.
pub(crate) struct Client {
    pub(crate) child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Client {
    pub(crate) fn start(mut command: Command) -> Self {
        command.stderr(Stdio::null());
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
        Self { child, stdin, lines }
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.send_raw(format!("{message}\n").as_bytes());
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
        self.answer(&id.into(), Duration::from_secs(60))
    }

    pub(crate) fn start_call(&mut self, id: u64, tool: &str, arguments: Value) {
        self.send(&json!({
            "jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": { "name": tool, "arguments": arguments },
        }));
    }

    pub(crate) fn ping(&mut self, id: &str) {
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": "ping" }));
    }

    #[cfg(unix)]
    /// How long the process still took to end; `None` when it did not within the time.
    pub(crate) fn ends_within(&mut self, within: Duration) -> Option<Duration> {
        let start = Instant::now();
        while start.elapsed() < within {
            if self.child.try_wait().expect("status").is_some() {
                return Some(start.elapsed());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        None
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
