//! The transport over stdin and stdout.
//!
//! rmcp's own drops invalid messages silently, so that their senders would wait for ever, and starts
//! every call at once. This one answers invalid messages. At the limit of running calls, further calls
//! wait in a queue, so that a ping or a cancellation never waits behind them. A call keeps its place
//! until its answer is written: while a client does not read its answers, no more of its calls start.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{ClientNotification, ClientRequest, ErrorCode, JsonRpcMessage, RequestId};
use rmcp::service::{RoleServer, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::task::JoinHandle;

use super::lines::{BoundedLines, EDGE_BYTES, TooLong};

/// How many calls of a client run at once; further ones wait.
const MAX_CALLS: u32 = 64;

/// The tools whose calls run alone, since what they do depends on all that was sent before them.
const ALONE: &[&str] = &["staging", "task_complete", "undo"];

/// How many bytes of waiting calls are kept in memory; beyond that nothing more is read.
const MAX_WAITING: usize = 64 << 20;

/// How long to wait for the next answer after the client closed its side, counted from the
/// previous answer.
pub(super) const LAST_ANSWER: Duration = Duration::from_secs(2);

/// The UTF-8 byte order mark, which some clients on Windows send before their first message.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A line for the client, and the place of the call that it answers.
type OutgoingLine = (Vec<u8>, Option<OwnedSemaphorePermit>);

/// A call that waits for a place, and how long its line was.
#[derive(Debug)]
struct WaitingCall {
    message: RxJsonRpcMessage<RoleServer>,
    id: RequestId,
    runs_alone: bool,
    bytes: usize,
}

/// The messages of a client, and the answers to it.
pub(super) struct StdioTransport<R> {
    lines: BoundedLines<R>,
    limit: usize,
    /// Whether the client has closed its side.
    is_at_end: bool,
    /// Whether a request has opened the session. rmcp would end the connection at a notification
    /// before that.
    has_begun: bool,
    /// The answer to an invalid message, which is sent before more is read.
    rejection: Option<Vec<u8>>,
    waiting: VecDeque<WaitingCall>,
    waiting_bytes: usize,
    places: Arc<Semaphore>,
    /// The places of the calls that are not answered yet.
    open: HashMap<RequestId, OwnedSemaphorePermit>,
    /// `None` once the transport is closed.
    answers: Option<mpsc::Sender<OutgoingLine>>,
    /// Told when the client waits for no more answers.
    left: Option<oneshot::Sender<()>>,
}

impl<R: AsyncRead + Unpin> StdioTransport<R> {
    /// A transport for messages of at most `limit` bytes, the task that writes the answers, and what is
    /// told when the client waits for no more of them.
    pub(super) fn new(
        from: R,
        to: impl AsyncWrite + Unpin + Send + 'static,
        limit: usize,
    ) -> (Self, JoinHandle<()>, oneshot::Receiver<()>) {
        let (answers, outgoing) = mpsc::channel(16);
        let (left, told) = oneshot::channel();
        let transport = Self {
            lines: BoundedLines::new(from, limit),
            limit,
            is_at_end: false,
            has_begun: false,
            rejection: None,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            places: Arc::new(Semaphore::new(MAX_CALLS as usize)),
            open: HashMap::new(),
            answers: Some(answers),
            left: Some(left),
        };
        (transport, tokio::spawn(write_lines(outgoing, to)), told)
    }

    /// The call that has waited longest, if there is a place for it.
    fn start_next_call(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        let places = if self.waiting.front()?.runs_alone { MAX_CALLS } else { 1 };
        let place = self.places.clone().try_acquire_many_owned(places).ok()?;
        let call = self.waiting.pop_front()?;
        self.waiting_bytes -= call.bytes;
        self.open.insert(call.id, place);
        Some(call.message)
    }

    /// Reads a line: the message that is to be passed on now. A call is put into the queue, and what is
    /// no message is answered.
    fn take(&mut self, line: Result<Vec<u8>, TooLong>) -> Option<RxJsonRpcMessage<RoleServer>> {
        let message = line.map_err(|line| too_long(&line, self.limit)).and_then(|line| {
            let text = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&line).trim_ascii();
            if text.is_empty() { Ok(None) } else { Ok(parse(text)?.map(|it| (it, line.len()))) }
        });
        let (message, bytes) = match message {
            Ok(message) => message?,
            Err(rejection) => {
                self.rejection = Some(rejection);
                return None;
            }
        };
        match &message {
            JsonRpcMessage::Request(request) => match &request.request {
                ClientRequest::CallToolRequest(call) => {
                    self.has_begun = true;
                    let runs_alone = ALONE.contains(&&*call.params.name);
                    let id = request.id.clone();
                    self.waiting_bytes += bytes;
                    self.waiting.push_back(WaitingCall { message, id, runs_alone, bytes });
                    return None;
                }
                ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) => {}
                // Such as an `initialize` that lacks something: a right one may follow.
                ClientRequest::CustomRequest(custom) if !self.has_begun => {
                    let id = serde_json::to_value(&request.id).unwrap_or_default();
                    let error = super::unknown_method(&custom.method);
                    self.rejection = Some(rejection(id, error.code, &error.message));
                    return None;
                }
                _ => self.has_begun = true,
            },
            _ if !self.has_begun => return None,
            JsonRpcMessage::Notification(note) => {
                if let ClientNotification::CancelledNotification(cancelled) = &note.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.open.remove(id);
                    self.waiting.retain(|call| call.id != *id);
                    self.waiting_bytes = self.waiting.iter().map(|call| call.bytes).sum();
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
        Some(message)
    }
}

impl<R: AsyncRead + Unpin + Send> Transport<RoleServer> for StdioTransport<R> {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let id = match &message {
            JsonRpcMessage::Response(answer) => Some(&answer.id),
            JsonRpcMessage::Error(answer) => answer.id.as_ref(),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
        };
        let place = id.and_then(|id| self.open.remove(id));
        let answers = self.answers.clone();
        let line = serde_json::to_vec(&message);
        async move {
            let mut line = line?;
            line.push(b'\n');
            let answers = answers.ok_or(io::ErrorKind::NotConnected)?;
            answers.send((line, place)).await.map_err(|_| io::ErrorKind::BrokenPipe.into())
        }
    }

    /// The next message for rmcp, which drops this future whenever it has something else to do.
    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let answers = self.answers.clone()?;
            if self.rejection.is_some() {
                let slot = answers.reserve().await.ok()?;
                slot.send((self.rejection.take()?, None));
            }
            if let Some(call) = self.start_next_call() {
                return Some(call);
            }
            let free = u32::try_from(self.places.available_permits()).unwrap_or(MAX_CALLS);
            let is_idle = free == MAX_CALLS;
            if self.is_at_end && is_idle && self.waiting.is_empty() {
                break;
            }
            let line = tokio::select! {
                line = self.lines.next(), if !self.is_at_end && self.waiting_bytes < MAX_WAITING => line,
                // One more call is answered.
                _ = self.places.acquire_many(free + 1), if !is_idle => continue,
                () = tokio::time::sleep(LAST_ANSWER), if self.is_at_end => break,
                // Nobody reads answers, so nothing more is done.
                () = answers.closed() => break,
            };
            match line.map(|line| self.take(line)) {
                Some(Some(message)) => return Some(message),
                Some(None) => {}
                None => self.is_at_end = true,
            }
        }
        // Without a receiver, the session has not begun.
        let _ = self.left.take().map(|left| left.send(()));
        None
    }

    async fn close(&mut self) -> io::Result<()> {
        self.answers = None;
        Ok(())
    }
}

/// Writes the lines until there are no more of them, or the client has closed its side.
async fn write_lines(mut lines: mpsc::Receiver<OutgoingLine>, mut to: impl AsyncWrite + Unpin) {
    while let Some((line, _place)) = lines.recv().await {
        if to.write_all(&line).await.is_err() || to.flush().await.is_err() {
            return;
        }
    }
}

/// The message in a line; `None` for a notification that rmcp does not know, which gets no answer. What
/// is no message is returned as the error to answer with.
fn parse(text: &[u8]) -> Result<Option<RxJsonRpcMessage<RoleServer>>, Vec<u8>> {
    if let Ok(message) = serde_json::from_slice(text) {
        return Ok(Some(message));
    }
    match serde_json::from_slice::<Value>(text) {
        Err(error) => {
            let why = format!(
                "the line is not JSON ({error}); lone surrogates, NaN and bytes that are not UTF-8 are not allowed"
            );
            Err(rejection(id_in(text), ErrorCode::PARSE_ERROR, &why))
        }
        Ok(value)
            if value["jsonrpc"] == "2.0"
                && value["method"].is_string()
                && value.get("id").is_none() =>
        {
            Ok(None)
        }
        // An answer, which is never answered.
        Ok(value)
            if value["jsonrpc"] == "2.0"
                && value.get("method").is_none()
                && (value.get("result").is_some() || value.get("error").is_some()) =>
        {
            Ok(None)
        }
        Ok(value) => {
            let id = Some(&value["id"]).filter(|id| id.is_string() || id.is_number());
            let method = value["method"].as_str().filter(|_| value["jsonrpc"] == "2.0");
            if let (Some(method), Some(id)) = (method, id)
                && !id.is_f64()
            {
                let error = super::unknown_method(method);
                return Err(rejection(id.clone(), error.code, &error.message));
            }
            let why = "the line is not a JSON-RPC 2.0 message: an object with `jsonrpc`, `method` and, for a request, an `id` that is a string or a whole number";
            Err(rejection(id.cloned().unwrap_or_default(), ErrorCode::INVALID_REQUEST, why))
        }
    }
}

/// The answer to a line that is longer than `limit` bytes.
fn too_long(line: &TooLong, limit: usize) -> Vec<u8> {
    let why = format!(
        "the request is longer than {} MiB and was not read; send less in one call, for example several smaller edits",
        limit >> 20
    );
    rejection(id_in(&line.0), ErrorCode::INVALID_REQUEST, &why)
}

/// The answer to what is no message.
fn rejection(id: Value, code: ErrorCode, why: &str) -> Vec<u8> {
    let error = json!({ "code": code.0, "message": why });
    let answer = json!({ "jsonrpc": "2.0", "id": id, "error": error });
    format!("{answer}\n").into_bytes()
}

/// The `id` in a text that is no JSON, or the ends of a long line; null if none is found.
fn id_in(text: &[u8]) -> Value {
    let text = String::from_utf8_lossy(text);
    find_id(&text).and_then(|id| serde_json::from_str(id).ok()).unwrap_or_default()
}

/// The top-level `id` of a message, as a slice of its text: a number or a string.
/// The text may be invalid JSON, or only the two ends of a long message.
fn find_id(text: &str) -> Option<&str> {
    let bytes = text.as_bytes();
    let mut depth = 0_usize;
    let mut at = 0;
    let mut last_nested_id = None;
    while let Some(offset) = memchr::memchr3(b'"', b'{', b'}', &bytes[at..]) {
        at += offset;
        match bytes[at] {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            _ => {
                let end = end_of_string(bytes, at)?;
                if &text[at..end] == "\"id\""
                    && let Some(id) = value_of_id(&text[end..])
                {
                    if depth <= 1 {
                        return Some(id);
                    }
                    last_nested_id = Some(id);
                }
                at = end;
                continue;
            }
        }
        at += 1;
    }
    // Without its middle, a long line does not show how deep an id is nested: the last id is the
    // likeliest to be the message's own.
    last_nested_id.filter(|_| text.len() >= 2 * EDGE_BYTES)
}

/// The offset after the closing quote of the string that opens at `at`; `None` if it is not closed.
fn end_of_string(bytes: &[u8], at: usize) -> Option<usize> {
    let mut end = at + 1;
    loop {
        end += memchr::memchr2(b'"', b'\\', bytes.get(end..)?)?;
        match bytes[end] {
            b'"' => return Some(end + 1),
            _ => end += 2,
        }
    }
}

/// The number or string after `"id"`, as JSON; `None` if the value is something else.
fn value_of_id(after_key: &str) -> Option<&str> {
    let value = after_key.trim_start().strip_prefix(':')?.trim_start();
    let len = match value.starts_with('"') {
        true => end_of_string(value.as_bytes(), 0)?,
        false => value.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(value.len()),
    };
    (len > 0).then(|| &value[..len])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_what_is_no_message_is_found() {
        for id in [json!("a\\b\"c\n"), json!(r"\\"), json!("ü\u{1}"), json!(7), json!(-3)] {
            let answer = json!({ "jsonrpc": "2.0", "id": id, "result": { "id": "other" } });
            assert_eq!(id_in(answer.to_string().as_bytes()), id);
        }
        let nested = r#"{"params":{"id":5,"t":"\ud83d"},"id":6,"method":"x","jsonrpc":"2.0"}"#;
        assert_eq!(id_in(nested.as_bytes()), 6);
        let ends = format!(r#"{{"params":{{"x":"{}"}},"id":"a-b"}}"#, "y".repeat(3 * EDGE_BYTES));
        assert_eq!(id_in(ends.as_bytes()), "a-b");
        assert_eq!(id_in("z".repeat(3 * EDGE_BYTES).as_bytes()), Value::Null);
    }

    /// While no call is answered, no more is read than the bound.
    #[tokio::test]
    async fn no_more_is_read_than_the_bytes_that_may_wait() {
        const CALL: usize = 5 << 20;
        const CALLS: usize = 20;
        let (mut client, from) = tokio::io::duplex(1 << 16);
        let (mut transport, ..) = StdioTransport::new(from, tokio::io::sink(), CALL * 2);
        let (tell, mut taken) = tokio::sync::watch::channel(0);
        tokio::spawn(async move {
            let sizes = std::iter::repeat_n(1, MAX_CALLS as usize);
            for (id, size) in sizes.chain(std::iter::repeat_n(CALL, CALLS)).enumerate() {
                let arguments = json!({ "x": "x".repeat(size) });
                let call = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call",
                    "params": { "name": "t", "arguments": arguments } });
                client.write_all(format!("{call}\n").as_bytes()).await.expect("sent");
                tell.send_replace(id);
            }
        });
        for _ in 0..MAX_CALLS {
            transport.receive().await.expect("a call");
        }
        let rest = tokio::spawn(async move { transport.receive().await.is_some() });
        while tokio::time::timeout(Duration::from_secs(2), taken.changed()).await.is_ok() {}
        let read = *taken.borrow() - MAX_CALLS as usize;
        let most = MAX_WAITING / CALL + 2;
        assert!((most - 3..=most).contains(&read) && !rest.is_finished(), "{read} calls");
    }
}
