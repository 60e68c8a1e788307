//! The HTTP server of the built command, and requests that are written by hand.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::client::{hello, ready};
use crate::sandbox::Running;

pub(crate) struct HttpServer {
    pub(crate) child: Running,
    pub(crate) address: SocketAddr,
    pub(crate) token: String,
}

impl HttpServer {
    /// Starts a command that serves on a port of its choice, and takes the token that it prints.
    pub(crate) fn start(command: Command) -> Self {
        Self::started(command, None)
    }

    /// Starts a command that has this token from a file.
    pub(crate) fn with_token(command: Command, token: &str) -> Self {
        Self::started(command, Some(token.to_owned()))
    }

    fn started(mut command: Command, mut token: Option<String>) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("starts");
        let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines();
        let mut address = None;
        while address.is_none() || token.is_none() {
            let line = lines.next().expect("address and token").expect("text");
            let url = line.strip_prefix("listening on http://");
            let said = url.and_then(|url| url.trim_end_matches("/mcp").parse().ok());
            address = address.or(said);
            token = token.or(line.strip_prefix("token: ").map(str::to_owned));
        }
        std::thread::spawn(move || lines.for_each(drop));
        Self {
            child: Running(child),
            address: address.expect("address"),
            token: token.expect("token"),
        }
    }

    /// The head line with the token.
    pub(crate) fn bearer(&self) -> String {
        bearer(&self.token)
    }

    /// Sends a request with these head lines, and waits for nothing.
    pub(crate) fn send(&self, line: &str, head: &str, body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).expect("connects");
        stream.set_read_timeout(Some(Duration::from_secs(40))).expect("timeout");
        let host = if head.contains("host: ") { "" } else { "host: localhost\r\n" };
        let length = body.len();
        let text = format!(
            "{line} HTTP/1.1\r\n{host}{head}content-type: application/json\r\naccept: application/json, text/event-stream\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        // A server that refuses early may not read the whole body.
        let _ = stream.write_all(text.as_bytes());
        stream
    }

    pub(crate) fn post(&self, head: &str, body: &Value) -> TcpStream {
        self.send("POST /mcp", head, &body.to_string())
    }

    /// Status, head and body of the answer to a message.
    pub(crate) fn ask(&self, head: &str, body: &Value) -> (u16, String, String) {
        read(self.post(head, body))
    }

    /// Status and body of a page.
    pub(crate) fn get(&self, path: &str, head: &str) -> (u16, String) {
        let (status, _, body) = read(self.send(&format!("GET {path}"), head, ""));
        (status, body)
    }

    /// The head lines of a session that has begun, or the status.
    pub(crate) fn session_with(&self, token: &str) -> Result<String, u16> {
        let (status, head, _) = self.ask(&bearer(token), &hello("t", json!({})));
        if status != 200 {
            return Err(status);
        }
        let lower = head.to_ascii_lowercase();
        let id = lower.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
        let head = format!(
            "{}mcp-session-id: {}\r\nmcp-protocol-version: 2025-06-18\r\n",
            bearer(token),
            id.expect("a session")
        );
        self.ask(&head, &ready());
        Ok(head)
    }

    /// The same with the server's token.
    pub(crate) fn session(&self) -> String {
        self.session_with(&self.token).expect("a session")
    }
}

fn bearer(token: &str) -> String {
    format!("authorization: Bearer {token}\r\n")
}

/// Status, head and body of an answer; the sizes of chunks are lines of the body.
pub(crate) fn read(mut stream: TcpStream) -> (u16, String, String) {
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    let status = answer.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    (status, head.to_owned(), body.to_owned())
}
