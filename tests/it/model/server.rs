//! An OpenAI-compatible server on loopback that answers as a script says, on the raw
//! socket, so that it can also break HTTP.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// A request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    /// `POST /v1/chat/completions HTTP/1.1`
    pub(crate) line: String,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    /// The body.
    pub(crate) body: Value,
    /// Its size.
    pub(crate) bytes: usize,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn format(&self) -> &str {
        self.body["response_format"]["type"].as_str().unwrap_or("none")
    }

    /// Which ask it is, by the field that the prompt demands.
    pub(crate) fn kind(&self) -> &'static str {
        let system = self.body["messages"][0]["content"].as_str().unwrap_or_default();
        if system.contains("the number of the outcome") {
            return "choose";
        }
        [
            ("corrected_target_snippet", "correct_old"),
            ("corrected_new_string", "adjust_new"),
            ("corrected_string_escaping", "repair_escapes"),
        ]
        .iter()
        .find(|(field, _)| system.contains(field))
        .map_or("choose", |(_, kind)| kind)
    }
}

/// What the server does.
#[derive(Debug, Clone)]
pub(crate) enum Answer {
    /// A chat completion with this content.
    Content(String),
    /// A status with a JSON body.
    Json(u16, Value),
    /// A status with further header lines and a body.
    Status(u16, &'static str, Vec<u8>),
    /// These bytes on the socket, then the end.
    Raw(Vec<u8>),
    /// These bytes, then nothing, and the socket stays open.
    Stall(Vec<u8>),
    /// These bytes, then one blank every so often, for ever.
    Drip(Vec<u8>, Duration),
    /// Blanks without end.
    Flood(Vec<u8>),
}

pub(crate) fn completion(content: &str) -> Value {
    json!({
        "id": "x", "object": "chat.completion", "created": 0, "model": "m",
        "choices": [{"index": 0, "finish_reason": "stop",
            "message": {"role": "assistant", "content": content}}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
    })
}

type Script = dyn Fn(&Seen, usize) -> Answer + Send + Sync;

pub(crate) struct ModelServer {
    pub(crate) address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    // Ends the server's thread when dropped.
    _stop: tokio::sync::oneshot::Sender<()>,
}

impl ModelServer {
    /// Starts a server; the script is given the request and its number, from 0.
    pub(crate) fn start(script: impl Fn(&Seen, usize) -> Answer + Send + Sync + 'static) -> Self {
        let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
        let (tell, told) = std::sync::mpsc::channel();
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let (script, noted): (Arc<Script>, _) = (Arc::new(script), Arc::clone(&seen));
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let serve = async move {
                let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback");
                tell.send(listener.local_addr().expect("address")).expect("test waits");
                loop {
                    let (socket, _) = listener.accept().await.expect("accept");
                    tokio::spawn(serve(socket, Arc::clone(&script), Arc::clone(&noted)));
                }
            };
            runtime.expect("runtime").block_on(async {
                tokio::select! { () = serve => {}, _ = stopped => {} }
            });
        });
        Self { address: told.recv().expect("server"), seen, _stop: stop }
    }

    /// Answers each ask with the given fields.
    pub(crate) fn answering(answers: &[(&'static str, Value)]) -> Self {
        let answers = answers.to_vec();
        Self::start(move |seen, _| {
            let answer = answers.iter().find(|(kind, _)| *kind == seen.kind());
            Answer::Content(answer.map_or_else(|| "{}".to_owned(), |(_, json)| json.to_string()))
        })
    }

    /// Answers the call of these tests after so long.
    pub(crate) fn slow(pause: Duration) -> Self {
        Self::start(move |_, _| {
            std::thread::sleep(pause);
            let (old, new) = (super::CORRECTED_OLD, super::ADJUSTED_NEW);
            let answer = json!({"corrected_target_snippet": old, "corrected_new_string": new});
            Answer::Content(answer.to_string())
        })
    }

    /// Waits for the first question.
    pub(crate) fn wait_until_asked(&self) {
        let start = std::time::Instant::now();
        while self.seen().is_empty() {
            assert!(start.elapsed() < Duration::from_secs(30), "the model is never asked");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    pub(crate) fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().expect("log").clone()
    }
}

async fn serve(mut socket: TcpStream, script: Arc<Script>, log: Arc<Mutex<Vec<Seen>>>) {
    let Some(seen) = read(&mut socket).await else { return };
    let number = {
        let mut log = log.lock().expect("log");
        log.push(seen.clone());
        log.len() - 1
    };
    // The peer may be gone by then; that is what some scripts are for.
    let _ = answer(&mut socket, script(&seen, number)).await;
}

async fn read(socket: &mut TcpStream) -> Option<Seen> {
    let mut bytes = Vec::new();
    loop {
        let mut chunk = [0; 8192];
        let n = socket.read(&mut chunk).await.ok().filter(|n| *n > 0)?;
        bytes.extend_from_slice(&chunk[..n]);
        let Some(end) = bytes.windows(4).position(|w| w == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let mut lines = head.lines();
        let line = lines.next()?.to_owned();
        let headers: Vec<(String, String)> = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        let length = headers.iter().find(|(name, _)| name == "content-length");
        let length: usize = length.map_or(0, |(_, value)| value.parse().unwrap_or(0));
        let body = &bytes[end + 4..];
        if body.len() >= length {
            let body = serde_json::from_slice(&body[..length]).unwrap_or(Value::Null);
            return Some(Seen { line, headers, body, bytes: length });
        }
    }
}

fn response(status: u16, headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n{headers}\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

async fn answer(socket: &mut TcpStream, answer: Answer) -> std::io::Result<()> {
    let bytes = match answer {
        Answer::Content(content) => response(200, "", completion(&content).to_string().as_bytes()),
        Answer::Json(status, body) => response(status, "", body.to_string().as_bytes()),
        Answer::Status(status, headers, body) => response(status, headers, &body),
        Answer::Raw(bytes) => bytes,
        Answer::Stall(bytes) => {
            socket.write_all(&bytes).await?;
            std::future::pending().await
        }
        Answer::Drip(bytes, pause) => {
            socket.write_all(&bytes).await?;
            loop {
                tokio::time::sleep(pause).await;
                socket.write_all(b" ").await?;
            }
        }
        Answer::Flood(bytes) => {
            socket.write_all(&bytes).await?;
            loop {
                socket.write_all(&[b' '; 65536]).await?;
            }
        }
    };
    socket.write_all(&bytes).await?;
    socket.shutdown().await
}
