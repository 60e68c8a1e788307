//! Forwards the client's lines to rmcp, and rmcp's answers to the client.
//!
//! Invalid messages are answered here, because rmcp drops them silently and the caller would wait
//! for ever. At the limit of running calls, further calls wait in a queue of their own, so that a
//! ping or a cancellation never waits behind them. While a client does not read its answers, no
//! more of its calls are admitted.

use std::collections::{HashMap, HashSet};
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::ErrorData;
use rmcp::model::ErrorCode;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc, watch};

/// How many calls of a client run at once; further ones wait.
pub(super) const MAX_CALLS: u16 = 64;

/// The tools whose calls run alone, since what they do depends on all that was sent before them.
const ALONE: &[&str] = &["staging", "task_complete", "undo"];

/// How many bytes of waiting calls are kept in memory; beyond that nothing more is read.
pub(super) const MAX_WAITING: usize = 64 << 20;

/// How long to wait for the next answer after the client closed its side, counted from the
/// previous answer.
pub(super) const LAST_ANSWER: Duration = Duration::from_secs(2);

/// The UTF-8 byte order mark, which some clients on Windows send before their first message.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The longest `id` in bytes. With it, an answer's id is within the first [`EDGE_BYTES`] of its line,
/// even if each byte of it is escaped.
const MAX_ID: usize = 512;

/// How many bytes at each end of a line that is too long are searched for its id.
const EDGE_BYTES: usize = 4096;

/// The state that the tasks for requests and for answers share.
#[derive(Debug)]
pub(super) struct Traffic {
    /// Permits of the calls that were admitted and are not answered yet, by the calls' ids.
    open_calls: Mutex<HashMap<String, OwnedSemaphorePermit>>,
    /// The ids of calls that were cancelled while they waited.
    cancelled: Mutex<HashSet<String>>,
    /// How many calls wait to be admitted.
    waiting: Mutex<usize>,
    call_permits: Arc<Semaphore>,
    byte_permits: Arc<Semaphore>,
    answered: Notify,
    closed: watch::Sender<bool>,
}

impl Traffic {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            open_calls: Mutex::default(),
            cancelled: Mutex::default(),
            waiting: Mutex::default(),
            call_permits: Arc::new(Semaphore::new(MAX_CALLS.into())),
            byte_permits: Arc::new(Semaphore::new(MAX_WAITING)),
            answered: Notify::new(),
            closed: watch::Sender::new(false),
        })
    }

    /// A value that becomes true when the client no longer waits for any answer.
    pub(super) fn closed(&self) -> watch::Receiver<bool> {
        self.closed.subscribe()
    }

    /// Whether no call is running or waiting.
    fn is_idle(&self) -> bool {
        let open = self.open_calls.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        open.is_empty() && *waiting == 0
    }

    /// Frees the place of a call that is answered or cancelled.
    fn finish_call(&self, id: &str) {
        self.open_calls.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
        self.answered.notify_waiters();
    }

    /// Waits until every call is answered, or until no answer comes for [`LAST_ANSWER`]. Then sets
    /// `closed`.
    async fn drain(&self) {
        loop {
            let mut answered = pin!(self.answered.notified());
            // Register before the check below, so that an answer in between is not missed.
            answered.as_mut().enable();
            if self.is_idle() || tokio::time::timeout(LAST_ANSWER, answered).await.is_err() {
                break;
            }
        }
        self.closed.send_replace(true);
    }
}

/// A call that waits in the queue, with the permit for its bytes.
#[derive(Debug)]
struct WaitingCall {
    line: Vec<u8>,
    id: String,
    runs_alone: bool,
    _bytes_permit: Option<OwnedSemaphorePermit>,
}

/// Copies messages from a client until it closes its side. Answers to invalid messages go to
/// `rejections`.
pub(super) async fn forward_requests(
    from: impl AsyncRead + Unpin,
    to: impl AsyncWrite + Unpin + Send + 'static,
    rejections: mpsc::Sender<Vec<u8>>,
    traffic: Arc<Traffic>,
    limit: usize,
) {
    let to = Arc::new(tokio::sync::Mutex::new(to));
    let (queue, waiting) = mpsc::unbounded_channel();
    let admission = tokio::spawn(admit_waiting_calls(waiting, to.clone(), traffic.clone()));
    let mut lines = BoundedLines::new(from, limit);
    // rmcp ends the connection if a notification comes before the first request, so such
    // notifications are dropped.
    let mut has_begun = false;
    loop {
        let is_first = lines.taken == 0;
        let Some(mut line) = lines.next().await else { break };
        if is_first
            && let Ok(first) = &mut line
            && first.starts_with(BYTE_ORDER_MARK)
        {
            first.drain(..BYTE_ORDER_MARK.len());
        }
        let line = match line {
            Ok(line) if line.trim_ascii().is_empty() => continue,
            Ok(line) => line,
            Err(ends_of_line) => {
                let id = find_id(&String::from_utf8_lossy(&ends_of_line)).map(str::to_owned);
                if !reject(&rejections, id.as_deref(), too_long(limit)).await {
                    break;
                }
                continue;
            }
        };
        let kind = match classify(&line) {
            Ok(kind) => kind,
            Err((id, error)) => {
                if !reject(&rejections, id.as_deref(), error).await {
                    break;
                }
                continue;
            }
        };
        match &kind {
            MessageKind::Call { .. } | MessageKind::Request => has_begun = true,
            MessageKind::BeforeSession => {}
            MessageKind::Cancel(_) | MessageKind::Notification if !has_begun => continue,
            MessageKind::Cancel(_) | MessageKind::Notification => {}
        }
        match kind {
            MessageKind::Call { id, runs_alone } => {
                let bytes = u32::try_from(line.len()).unwrap_or(u32::MAX);
                let bytes_permit =
                    traffic.byte_permits.clone().acquire_many_owned(bytes).await.ok();
                *traffic.waiting.lock().unwrap_or_else(PoisonError::into_inner) += 1;
                let call = WaitingCall { line, id, runs_alone, _bytes_permit: bytes_permit };
                if queue.send(call).is_err() {
                    break;
                }
                continue;
            }
            MessageKind::Cancel(id) => {
                let open_calls = traffic.open_calls.lock().unwrap_or_else(PoisonError::into_inner);
                let is_open = open_calls.contains_key(&id);
                drop(open_calls);
                if is_open {
                    traffic.finish_call(&id);
                } else if !traffic.is_idle() {
                    traffic.cancelled.lock().unwrap_or_else(PoisonError::into_inner).insert(id);
                }
            }
            MessageKind::Request | MessageKind::BeforeSession | MessageKind::Notification => {}
        }
        if to.lock().await.write_all(&line).await.is_err() {
            break;
        }
    }
    drop(queue);
    traffic.drain().await;
    admission.abort();
    let _ = to.lock().await.shutdown().await;
}

/// Passes waiting calls on to rmcp in their order, as earlier ones are answered.
async fn admit_waiting_calls(
    mut waiting: mpsc::UnboundedReceiver<WaitingCall>,
    to: Arc<tokio::sync::Mutex<impl AsyncWrite + Unpin>>,
    traffic: Arc<Traffic>,
) {
    while let Some(WaitingCall { line, id, runs_alone, _bytes_permit }) = waiting.recv().await {
        let places = if runs_alone { MAX_CALLS } else { 1 };
        let permits = traffic.call_permits.clone();
        let Ok(permit) = permits.acquire_many_owned(places.into()).await else { return };
        let cancelled = {
            let mut cancelled = traffic.cancelled.lock().unwrap_or_else(PoisonError::into_inner);
            cancelled.remove(&id)
        };
        if !cancelled {
            traffic.open_calls.lock().unwrap_or_else(PoisonError::into_inner).insert(id, permit);
        }
        *traffic.waiting.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        traffic.answered.notify_waiters();
        if !cancelled && to.lock().await.write_all(&line).await.is_err() {
            return;
        }
    }
}

/// Copies answers to the client: those of rmcp, and those to invalid messages.
pub(super) async fn forward_answers(
    from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut rejections: mpsc::Receiver<Vec<u8>>,
    traffic: Arc<Traffic>,
) {
    let mut from = BufReader::with_capacity(1 << 16, from);
    let mut line = Vec::new();
    let mut may_have_rejections = true;
    loop {
        tokio::select! {
            read = from.read_until(b'\n', &mut line) => match read {
                Ok(count) if count > 0 => {}
                // The rejections that are still queued are sent below.
                _ => break,
            },
            rejection = rejections.recv(), if may_have_rejections => {
                match rejection {
                    Some(rejection) => {
                        if to.write_all(&rejection).await.is_err() || to.flush().await.is_err() {
                            return;
                        }
                    }
                    None => may_have_rejections = false,
                }
                // If an answer was read in part, `line` keeps that part.
                continue;
            }
        }
        // A line with a method is a message of the server, not an answer.
        let head = String::from_utf8_lossy(&line[..line.len().min(EDGE_BYTES)]);
        let id = find_id(&head).filter(|_| !head.contains("\"method\""));
        if to.write_all(&line).await.is_err() || to.flush().await.is_err() {
            return;
        }
        if let Some(id) = id {
            traffic.finish_call(id);
        }
        line.clear();
    }
    while let Ok(rejection) = rejections.try_recv() {
        if to.write_all(&rejection).await.is_err() || to.flush().await.is_err() {
            return;
        }
    }
}

/// Answers an invalid message with an error; returns `false` if the client can no longer be
/// answered.
async fn reject(rejections: &mpsc::Sender<Vec<u8>>, id: Option<&str>, error: ErrorData) -> bool {
    let id: Value = id.and_then(|id| serde_json::from_str(id).ok()).unwrap_or(Value::Null);
    let error = json!({ "code": error.code.0, "message": error.message });
    let line = json!({ "jsonrpc": "2.0", "id": id, "error": error });
    rejections.send(format!("{line}\n").into_bytes()).await.is_ok()
}

/// The error for a line that is longer than `limit` bytes.
fn too_long(limit: usize) -> ErrorData {
    let message = format!(
        "the request is longer than {} MiB and was not read; send less in one call, for example several smaller edits",
        limit >> 20
    );
    ErrorData::new(ErrorCode::INVALID_REQUEST, message, None)
}

/// The methods that rmcp knows: if it passes on one of these as unknown, the parameters are
/// invalid.
const METHODS: &[&str] = &[
    "initialize",
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
];

/// The answer to a request with an unknown method or invalid parameters.
pub(super) fn unknown_method(method: String) -> ErrorData {
    if METHODS.contains(&method.as_str()) {
        let text = format!("the parameters of `{method}` do not match the protocol");
        return ErrorData::new(ErrorCode::INVALID_PARAMS, text, None);
    }
    let text = format!("there is no method `{method}`");
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, text, None)
}

/// The kinds of message that are treated differently here. Ids are kept in their JSON form.
#[derive(Debug, PartialEq, Eq)]
enum MessageKind {
    Call {
        id: String,
        runs_alone: bool,
    },
    Cancel(String),
    Request,
    /// A request that may come before the one that opens the session.
    BeforeSession,
    /// A notification, or the client's answer to the server; neither gets an answer.
    Notification,
}

/// The kind of a message, or the error to answer with and the id to answer under.
fn classify(line: &[u8]) -> Result<MessageKind, (Option<String>, ErrorData)> {
    let message: Value = serde_json::from_slice(line).map_err(|error| {
        let text = format!(
            "the line is not JSON ({error}); lone surrogates, NaN and bytes that are not UTF-8 are not allowed"
        );
        let id = find_id(&String::from_utf8_lossy(line)).map(str::to_owned);
        (id, ErrorData::new(ErrorCode::PARSE_ERROR, text, None))
    })?;
    let id = message.get("id").filter(|id| id.is_string() || id.is_number());
    let id = id.map(Value::to_string);
    let method = message.get("method").and_then(Value::as_str);
    let is_answer = message.get("result").is_some() || message.get("error").is_some();
    let has_content = method.is_some() || is_answer;
    if message["jsonrpc"] != "2.0" || !has_content {
        let text = "the line is not a JSON-RPC 2.0 message: an object with `jsonrpc`, `method` and, for a request, `id`";
        return Err((id, ErrorData::new(ErrorCode::INVALID_REQUEST, text, None)));
    }
    // A message with an id is a request: if it is invalid, the error goes out under that id.
    if let (Some(method), Some(_)) = (method, message.get("id"))
        && let Some((code, text)) = malformed(method, &message)
    {
        return Err((id, ErrorData::new(code, text, None)));
    }
    Ok(match (method, id) {
        (Some("tools/call"), Some(id)) => {
            let runs_alone = ALONE.iter().any(|tool| message["params"]["name"] == *tool);
            MessageKind::Call { id, runs_alone }
        }
        (Some("notifications/cancelled"), _) => {
            MessageKind::Cancel(message["params"]["requestId"].to_string())
        }
        (Some("ping" | "server/discover"), Some(_)) => MessageKind::BeforeSession,
        (Some(_), Some(_)) => MessageKind::Request,
        _ => MessageKind::Notification,
    })
}

/// What is wrong with a request that is valid JSON; `None` if nothing is.
fn malformed(method: &str, message: &Value) -> Option<(ErrorCode, &'static str)> {
    let id = &message["id"];
    if !(id.is_string() || id.is_i64() || id.is_u64()) {
        return Some((ErrorCode::INVALID_REQUEST, "`id` is neither a string nor a whole number"));
    }
    if id.as_str().is_some_and(|id| id.len() > MAX_ID) {
        return Some((ErrorCode::INVALID_REQUEST, "`id` is longer than 512 bytes"));
    }
    let params = message.get("params");
    if params.is_some_and(|params| !params.is_object() && !params.is_null()) {
        return Some((ErrorCode::INVALID_PARAMS, "`params` is not an object"));
    }
    let param = |name: &str| params.and_then(|params| params.get(name));
    if method == "initialize" && !param("protocolVersion").is_some_and(Value::is_string) {
        return Some((ErrorCode::INVALID_PARAMS, "`params.protocolVersion` is missing"));
    }
    if method != "tools/call" {
        return None;
    }
    if !param("name").is_some_and(Value::is_string) {
        return Some((ErrorCode::INVALID_PARAMS, "`params.name` is not the name of a tool"));
    }
    let is_wrong = param("arguments").is_some_and(|given| !given.is_object() && !given.is_null());
    is_wrong.then_some((ErrorCode::INVALID_PARAMS, "`params.arguments` is not an object"))
}

/// Reads lines of at most `limit` bytes, and of a longer line only its two ends.
pub(crate) struct BoundedLines<R> {
    from: BufReader<R>,
    limit: usize,
    /// How many bytes of the stream have been read so far.
    pub(crate) taken: u64,
}

impl<R: AsyncRead + Unpin> BoundedLines<R> {
    pub(crate) fn new(from: R, limit: usize) -> Self {
        Self { from: BufReader::with_capacity(1 << 16, from), limit, taken: 0 }
    }

    /// The next line, or `Err` with the ends of a line that is too long; `None` at the end of the
    /// stream.
    pub(crate) async fn next(&mut self) -> Option<Result<Vec<u8>, Vec<u8>>> {
        let mut line: Vec<u8> = Vec::new();
        let mut is_too_long = false;
        loop {
            let piece = self.from.fill_buf().await.unwrap_or_default();
            let end = memchr::memchr(b'\n', piece);
            let count = end.map_or(piece.len(), |newline| newline + 1);
            line.extend_from_slice(&piece[..count]);
            self.from.consume(count);
            self.taken += count as u64;
            if line.len() > self.limit {
                is_too_long = true;
                line.drain(EDGE_BYTES..line.len() - EDGE_BYTES);
            }
            if count == 0 || end.is_some() {
                if line.is_empty() {
                    return None;
                }
                // The last line of the input may lack its newline.
                if end.is_none() {
                    line.push(b'\n');
                }
                return Some(if is_too_long { Err(line) } else { Ok(line) });
            }
        }
    }
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

    #[tokio::test]
    async fn what_is_no_message_is_answered_and_the_rest_goes_on() {
        let long = |id: &str| {
            format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"x\":\"{}\"}}\n", "y".repeat(100_000))
        };
        let input = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}}\nnot json\n{}{}{}\n{}\n{}\n{{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}}",
            long("77"),
            long("\"a-b\""),
            "z".repeat(80_000),
            r#"{"params":{"id":5,"t":"\ud83d"},"id":6,"method":"x","jsonrpc":"2.0"}"#,
            r#"{"id":7,"method":"x"}"#,
        );
        let (to, mut from) = tokio::io::duplex(1 << 20);
        let (rejections, mut refused) = mpsc::channel(16);
        forward_requests(input.as_bytes(), to, rejections, Traffic::new(), 50_000).await;
        let mut out = String::new();
        tokio::io::AsyncReadExt::read_to_string(&mut from, &mut out).await.expect("text");
        let ids: Vec<Value> = out
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).expect("JSON")["id"].take())
            .collect();
        assert_eq!(ids, [1, 2]);
        let mut answers = Vec::new();
        while let Ok(line) = refused.try_recv() {
            let answer: Value = serde_json::from_slice(&line).expect("JSON");
            answers.push((answer["id"].clone(), answer["error"]["code"].as_i64()));
        }
        let wanted = [
            (Value::Null, Some(-32700)),
            (77.into(), Some(-32600)),
            ("a-b".into(), Some(-32600)),
            (Value::Null, Some(-32600)),
            (6.into(), Some(-32700)),
            (7.into(), Some(-32600)),
        ];
        assert_eq!(answers, wanted);
    }

    #[test]
    fn an_id_is_found_as_it_is_written_in_json() {
        for id in [json!("a\\b\"c\n"), json!(r"\\"), json!("ü\u{1}"), json!(7), json!(-3)] {
            let answer = json!({ "jsonrpc": "2.0", "id": id, "result": { "id": "other" } });
            assert_eq!(find_id(&answer.to_string()), Some(id.to_string().as_str()), "{id}");
        }
    }

    /// While calls wait, no more is read than the bound; once they are let in, the rest is.
    #[tokio::test]
    async fn no_more_is_read_than_the_bytes_that_may_wait() {
        const CALL: usize = 5 << 20;
        const CALLS: usize = 20;
        let (mut client, from) = tokio::io::duplex(1 << 16);
        let (to, mut calls) = tokio::io::duplex(1 << 16);
        let (back, _refused) = mpsc::channel(16);
        let reader = tokio::spawn(forward_requests(from, to, back, Traffic::new(), CALL * 2));
        let (tell, mut taken) = watch::channel(0);
        let writer = tokio::spawn(async move {
            for id in 0..CALLS {
                let call = format!(
                    r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"t","arguments":{{"x":"{}"}}}}}}"#,
                    "x".repeat(CALL)
                );
                let line = format!("{call}\n");
                tokio::io::AsyncWriteExt::write_all(&mut client, line.as_bytes())
                    .await
                    .expect("sent");
                tell.send_replace(id + 1);
            }
        });
        // Nothing is taken off the other side: after a while no further call is read.
        while tokio::time::timeout(Duration::from_secs(2), taken.changed()).await.is_ok() {}
        let most = MAX_WAITING / CALL + 2;
        assert!((most - 3..=most).contains(&*taken.borrow()), "{} calls", *taken.borrow());
        let mut bytes = 0;
        let mut piece = vec![0; 1 << 20];
        while bytes < CALL * CALLS {
            let read = tokio::io::AsyncReadExt::read(&mut calls, &mut piece).await.expect("read");
            assert!(read > 0, "closed after {bytes} bytes");
            bytes += read;
        }
        writer.await.expect("all were taken");
        reader.abort();
    }
}
