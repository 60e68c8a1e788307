//! A proxy before the server: counts requests, and injects faults.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// What becomes of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Fault {
    #[default]
    None,
    /// The request of this number, from 1, never gets to the server.
    RequestLost(usize),
    /// The server carries it out, and the answer gets lost.
    AnswerLost(usize),
    /// From this one on there is no server.
    Down(usize),
    /// This one and those after it wait for ever, after the server has carried it out.
    Hangs(usize),
    /// Every request takes so many seconds.
    Slow(u64),
    /// Another program writes the file right before it is deleted.
    SavedBeforeDelete,
    /// Conditions are taken away: the server writes whatever comes.
    ConditionsIgnored,
}

#[derive(Debug, Default)]
struct State {
    fault: Fault,
    seen: Vec<String>,
}

#[derive(Debug)]
pub(super) struct Proxy {
    pub(super) port: u16,
    pub(super) server: u16,
    state: Arc<Mutex<State>>,
}

impl Proxy {
    pub(super) fn start(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("port");
        let port = listener.local_addr().expect("address").port();
        let state = Arc::new(Mutex::new(State::default()));
        let shared = state.clone();
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let state = shared.clone();
                thread::spawn(move || serve(client, server, &state));
            }
        });
        Self { port, server, state }
    }

    /// Counts from now on, with this fault.
    pub(super) fn set(&self, fault: Fault) {
        *self.state.lock().expect("lock") = State { fault, seen: Vec::new() };
    }

    /// The requests since, as `METHOD path`.
    pub(super) fn seen(&self) -> Vec<String> {
        self.state.lock().expect("lock").seen.clone()
    }
}

fn serve(mut client: TcpStream, server: u16, state: &Mutex<State>) {
    let Some((head, body)) = read_message(&mut client, Side::Request) else { return };
    let (fault, number) = {
        let mut state = state.lock().expect("lock");
        let line = head.lines().next().unwrap_or_default();
        state.seen.push(line.rsplit_once(' ').map_or(line, |(line, _)| line).to_owned());
        (state.fault, state.seen.len())
    };
    match fault {
        Fault::RequestLost(at) if at == number => return,
        Fault::Down(from) if number >= from => return,
        Fault::Hangs(from) if number > from => wait_for_the_end(&mut client),
        Fault::Slow(seconds) => thread::sleep(Duration::from_secs(seconds)),
        _ => {}
    }
    let is_file = head.starts_with("DELETE ") && !head.contains("/.restitch/");
    let is_deletion = is_file || head.starts_with("POST ") && head.contains("?delete");
    if fault == Fault::SavedBeforeDelete && is_deletion {
        request(server, "PUT", "/work/w/a", b"saved\n");
    }
    let ignores_conditions = fault == Fault::ConditionsIgnored;
    let lines = head.lines().filter(|line| {
        let name = line.split(':').next().unwrap_or_default().to_ascii_lowercase();
        let is_condition = name == "if-match" || name == "if-none-match";
        name != "connection" && !(ignores_conditions && is_condition)
    });
    let head = lines.collect::<Vec<_>>().join("\r\n");
    let Ok(mut upstream) = TcpStream::connect(("127.0.0.1", server)) else { return };
    let request = format!("{}\r\nConnection: close\r\n\r\n", head.trim_end());
    if upstream.write_all(request.as_bytes()).and_then(|()| upstream.write_all(&body)).is_err() {
        return;
    }
    let mut answer = Vec::new();
    let _ = upstream.read_to_end(&mut answer);
    match fault {
        Fault::AnswerLost(at) if at == number => return,
        Fault::Hangs(at) if at == number => wait_for_the_end(&mut client),
        _ => {}
    }
    let _ = client.write_all(&answer);
    let _ = client.shutdown(Shutdown::Write);
}

/// Until the client is gone.
fn wait_for_the_end(client: &mut TcpStream) {
    let _ = client.set_read_timeout(Some(Duration::from_secs(60)));
    let _ = client.read(&mut [0; 1]);
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Request,
    Answer,
}

/// The head without the empty line, and the body.
fn read_message(stream: &mut TcpStream, side: Side) -> Option<(String, Vec<u8>)> {
    let mut bytes = Vec::new();
    let mut chunk = [0; 1 << 14];
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
        match stream.read(&mut chunk) {
            Ok(0) | Err(_) => return None,
            Ok(count) => bytes.extend_from_slice(&chunk[..count]),
        }
    };
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
    });
    let mut body = bytes.split_off(end + 4);
    let length: usize = match (length, side) {
        (Some(length), _) => length,
        (None, Side::Request) => 0,
        (None, Side::Answer) => usize::MAX,
    };
    while body.len() < length {
        match stream.read(&mut chunk) {
            Ok(0) | Err(_) => break,
            Ok(count) => body.extend_from_slice(&chunk[..count]),
        }
    }
    Some((head, body))
}

/// The server does not look at the signature, but at whether there is one.
const SIGNED: &str = "Authorization: AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0";

/// One request, straight to the server.
pub(super) fn request(server: u16, method: &str, path: &str, body: &[u8]) -> (u16, Vec<u8>) {
    let (head, body) = exchange(server, method, path, "", body);
    let status = head.split(' ').nth(1).and_then(|word| word.parse().ok()).expect("a status");
    (status, body)
}

/// The same with head lines of its own, for the head of the answer and its body.
pub(super) fn exchange(
    server: u16,
    method: &str,
    path: &str,
    lines: &str,
    body: &[u8],
) -> (String, Vec<u8>) {
    let mut stream = TcpStream::connect(("127.0.0.1", server)).expect("the server");
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{server}\r\nContent-Length: {}\r\nConnection: close\r\n{lines}{SIGNED}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body)).expect("sends");
    read_message(&mut stream, Side::Answer).expect("an answer")
}
