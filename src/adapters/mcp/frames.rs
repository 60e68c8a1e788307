//! The lines of a client, before the protocol sees them, and the answers on their way out.
//!
//! Invalid messages are answered at once, because the library drops them silently and the caller
//! would wait for ever. Calls wait in a queue of their own until an earlier one is answered, so
//! that a ping or a cancellation never waits behind them. While a client does not read its
//! answers, no more of its calls are admitted.

use std::collections::{HashMap, HashSet};
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::stdin::StdinCounter;
use crate::session::{AnswerTracker, Received, SeenAnswers};
use crate::tools::PendingAnswer;
use rmcp::ErrorData;
use rmcp::model::ErrorCode;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc, watch};

/// How many calls of a client are under way at once; further ones wait.
pub(super) const MAX_CALLS: usize = 64;

/// How many bytes of waiting calls are kept before no more is read.
pub(super) const MAX_WAITING: usize = 64 << 20;

/// How long to wait for the next answer after the client closed its side, counted from the
/// previous answer.
pub(super) const LAST_ANSWER: Duration = Duration::from_secs(2);

/// What some clients on Windows put before their first message.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// How many bytes at each end of a line that is too long are searched for its id.
const EDGE_BYTES: usize = 4096;

/// What the two directions know of each other.
#[derive(Debug)]
pub(super) struct Traffic {
    /// Calls that were let in and not answered, by their ids.
    open_calls: Mutex<HashMap<String, OwnedSemaphorePermit>>,
    /// Calls that were cancelled while they waited.
    cancelled: Mutex<HashSet<String>>,
    waiting: Mutex<usize>,
    call_permits: Arc<Semaphore>,
    byte_permits: Arc<Semaphore>,
    answered: Notify,
    closed: watch::Sender<bool>,
    /// How much of the client's stream has come in; nothing is counted in tests.
    stdin: Option<Arc<StdinCounter>>,
    answer_tracker: Mutex<AnswerTracker>,
    /// What the client had received when it sent a call, by the call's id.
    sent: Mutex<HashMap<String, SeenAnswers>>,
    /// Answers on their way out, by the ids of their calls.
    pending_answers: Mutex<HashMap<String, PendingAnswer>>,
}

impl Traffic {
    pub(super) fn new(stdin: Option<Arc<StdinCounter>>) -> Arc<Self> {
        Arc::new(Self {
            stdin,
            answer_tracker: Mutex::default(),
            sent: Mutex::default(),
            pending_answers: Mutex::default(),
            open_calls: Mutex::default(),
            cancelled: Mutex::default(),
            waiting: Mutex::default(),
            call_permits: Arc::new(Semaphore::new(MAX_CALLS)),
            byte_permits: Arc::new(Semaphore::new(MAX_WAITING)),
            answered: Notify::new(),
            closed: watch::Sender::new(false),
        })
    }

    /// Becomes true when the client waits for no more answers.
    pub(super) fn closed(&self) -> watch::Receiver<bool> {
        self.closed.subscribe()
    }

    /// What the client had received when it sent the call of this id.
    pub(super) fn seen_answers(&self, id: &str) -> SeenAnswers {
        let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        sent.remove(id).unwrap_or_default()
    }

    /// The answer to the call of this id is ready; it counts as delivered when it goes out.
    pub(super) fn answer_ready(&self, id: String, pending: PendingAnswer) {
        self.pending_answers.lock().unwrap_or_else(PoisonError::into_inner).insert(id, pending);
    }

    /// A call begins at this offset of the client's stream.
    fn record_call(&self, id: &str, offset: u64) {
        let mut answer_tracker = self.answer_tracker.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(Received::Bytes(bytes)) = self.stdin.as_ref().map(|stdin| stdin.received()) {
            answer_tracker.client_paused(bytes);
        }
        let seen_answers = answer_tracker.seen_at(offset);
        self.sent
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(id.to_owned(), seen_answers);
    }

    /// The answer to the call of this id goes out now.
    fn record_answer(&self, id: &str) {
        let pending =
            self.pending_answers.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
        let Some(pending) = pending else { return };
        let mut answer_tracker = self.answer_tracker.lock().unwrap_or_else(PoisonError::into_inner);
        let received = self.stdin.as_ref().map_or(Received::StillWriting, |stdin| stdin.received());
        answer_tracker.answer_sent(received, pending.deliver());
    }

    fn is_idle(&self) -> bool {
        let open = self.open_calls.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        open.is_empty() && *waiting == 0
    }

    fn finish_call(&self, id: &str) {
        self.open_calls.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
        self.answered.notify_waiters();
    }

    /// Waits for the last answers, but not for one that does not come.
    async fn drain(&self) {
        loop {
            let mut answered = pin!(self.answered.notified());
            // From here on, so that no answer is missed between the look and the wait.
            answered.as_mut().enable();
            if self.is_idle() || tokio::time::timeout(LAST_ANSWER, answered).await.is_err() {
                break;
            }
        }
        self.closed.send_replace(true);
    }
}

/// A line that was let in.
#[derive(Debug)]
struct WaitingCall {
    line: Vec<u8>,
    id: String,
    _room: Option<OwnedSemaphorePermit>,
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
    // Before the first request that opens a session the protocol's library takes a
    // notification for a broken client, and ends.
    let mut has_begun = false;
    loop {
        let offset = lines.taken;
        let Some(mut line) = lines.next().await else { break };
        if offset == 0
            && let Ok(first) = &mut line
            && first.starts_with(BYTE_ORDER_MARK)
        {
            first.drain(..BYTE_ORDER_MARK.len());
        }
        let line = match line {
            Ok(line) if line.trim_ascii().is_empty() => continue,
            Ok(line) => line,
            Err(ends) => {
                let id = find_id(&String::from_utf8_lossy(&ends)).map(str::to_owned);
                if !answer(&rejections, id.as_deref(), too_long(limit)).await {
                    break;
                }
                continue;
            }
        };
        let kind = match classify(&line) {
            Ok(kind) => kind,
            Err((id, error)) => {
                if !answer(&rejections, id.as_deref(), error).await {
                    break;
                }
                continue;
            }
        };
        match &kind {
            MessageKind::Call(_) | MessageKind::Request => has_begun = true,
            MessageKind::BeforeSession => {}
            MessageKind::Cancel(_) | MessageKind::Notification if !has_begun => continue,
            MessageKind::Cancel(_) | MessageKind::Notification => {}
        }
        match kind {
            MessageKind::Call(id) => {
                let bytes = u32::try_from(line.len()).unwrap_or(u32::MAX);
                traffic.record_call(&id, offset);
                let room = traffic.byte_permits.clone().acquire_many_owned(bytes).await.ok();
                *traffic.waiting.lock().unwrap_or_else(PoisonError::into_inner) += 1;
                if queue.send(WaitingCall { line, id, _room: room }).is_err() {
                    break;
                }
                continue;
            }
            MessageKind::Cancel(id) => {
                let was_open = traffic.open_calls.lock().unwrap_or_else(PoisonError::into_inner);
                let is_open = was_open.contains_key(&id);
                drop(was_open);
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

/// Lets waiting calls in, one after the other, as places become free.
async fn admit_waiting_calls(
    mut waiting: mpsc::UnboundedReceiver<WaitingCall>,
    to: Arc<tokio::sync::Mutex<impl AsyncWrite + Unpin>>,
    traffic: Arc<Traffic>,
) {
    while let Some(WaitingCall { line, id, _room }) = waiting.recv().await {
        let Ok(permit) = traffic.call_permits.clone().acquire_owned().await else { return };
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

/// Copies answers to the client, those of the protocol and those for what was no message.
pub(super) async fn forward_answers(
    from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut rejections: mpsc::Receiver<Vec<u8>>,
    traffic: Arc<Traffic>,
) {
    let mut from = BufReader::with_capacity(1 << 16, from);
    let mut line = Vec::new();
    let mut is_open = true;
    loop {
        tokio::select! {
            read = from.read_until(b'\n', &mut line) => match read {
                Ok(count) if count > 0 => {}
                // What was refused before the end is still to be said.
                _ => break,
            },
            refused = rejections.recv(), if is_open => {
                match refused {
                    Some(refused) => {
                        if to.write_all(&refused).await.is_err() || to.flush().await.is_err() {
                            return;
                        }
                    }
                    None => is_open = false,
                }
                // What was read of the other line is kept in `line`.
                continue;
            }
        }
        let head = String::from_utf8_lossy(&line[..line.len().min(EDGE_BYTES)]);
        let id = find_id(&head).filter(|_| !head.contains("\"method\""));
        if let Some(id) = id {
            traffic.record_answer(id);
        }
        if to.write_all(&line).await.is_err() || to.flush().await.is_err() {
            return;
        }
        if let Some(id) = id {
            traffic.finish_call(id);
        }
        line.clear();
    }
    while let Ok(refused) = rejections.try_recv() {
        if to.write_all(&refused).await.is_err() || to.flush().await.is_err() {
            return;
        }
    }
}

async fn answer(rejections: &mpsc::Sender<Vec<u8>>, id: Option<&str>, error: ErrorData) -> bool {
    let id: Value = id.and_then(|id| serde_json::from_str(id).ok()).unwrap_or(Value::Null);
    let error = json!({ "code": error.code.0, "message": error.message });
    let line = json!({ "jsonrpc": "2.0", "id": id, "error": error });
    rejections.send(format!("{line}\n").into_bytes()).await.is_ok()
}

fn too_long(limit: usize) -> ErrorData {
    let message = format!(
        "the request is longer than {} MiB and was not read; send less in one call, for example several smaller edits",
        limit >> 20
    );
    ErrorData::new(ErrorCode::INVALID_REQUEST, message, None)
}

/// The known methods; if the library does not recognise one of them, its parameters are invalid.
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
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None)
}

/// What a message is, as far as it matters here. Ids are in their JSON form.
#[derive(Debug, PartialEq, Eq)]
enum MessageKind {
    Call(String),
    Cancel(String),
    Request,
    /// A request that may come before the one that opens the session.
    BeforeSession,
    /// A notification, or the client's answer: nothing to answer.
    Notification,
}

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
    if message["jsonrpc"] != "2.0" || method.is_none() && !is_answer {
        let text = "the line is not a JSON-RPC 2.0 message: an object with `jsonrpc`, `method` and, for a request, `id`";
        return Err((id, ErrorData::new(ErrorCode::INVALID_REQUEST, text, None)));
    }
    // What is asked for under an id is answered under it, whatever is wrong with the rest.
    if let (Some(method), Some(_)) = (method, message.get("id"))
        && let Some((code, text)) = malformed(method, &message)
    {
        return Err((id, ErrorData::new(code, text, None)));
    }
    Ok(match (method, id) {
        (Some("tools/call"), Some(id)) => MessageKind::Call(id),
        (Some("notifications/cancelled"), _) => {
            MessageKind::Cancel(message["params"]["requestId"].to_string())
        }
        (Some("ping" | "server/discover"), Some(_)) => MessageKind::BeforeSession,
        (Some(_), Some(_)) => MessageKind::Request,
        _ => MessageKind::Notification,
    })
}

/// What is wrong with a request that is JSON.
fn malformed(method: &str, message: &Value) -> Option<(ErrorCode, &'static str)> {
    let id = &message["id"];
    if !(id.is_string() || id.is_i64() || id.is_u64()) {
        return Some((ErrorCode::INVALID_REQUEST, "`id` is neither a string nor a whole number"));
    }
    let params = message.get("params");
    if params.is_some_and(|params| !params.is_object() && !params.is_null()) {
        return Some((ErrorCode::INVALID_PARAMS, "`params` is not an object"));
    }
    if method != "tools/call" {
        return None;
    }
    let of = |name: &str| params.and_then(|params| params.get(name));
    if !of("name").is_some_and(Value::is_string) {
        return Some((ErrorCode::INVALID_PARAMS, "`params.name` is not the name of a tool"));
    }
    let is_wrong = of("arguments").is_some_and(|given| !given.is_object() && !given.is_null());
    is_wrong.then_some((ErrorCode::INVALID_PARAMS, "`params.arguments` is not an object"))
}

/// Lines of at most `limit` bytes; of a longer one only its ends.
pub(crate) struct BoundedLines<R> {
    from: BufReader<R>,
    limit: usize,
    /// How many bytes of the stream they were.
    pub(crate) taken: u64,
}

impl<R: AsyncRead + Unpin> BoundedLines<R> {
    pub(crate) fn new(from: R, limit: usize) -> Self {
        Self { from: BufReader::with_capacity(1 << 16, from), limit, taken: 0 }
    }

    pub(crate) async fn next(&mut self) -> Option<Result<Vec<u8>, Vec<u8>>> {
        let mut line: Vec<u8> = Vec::new();
        let mut too_long = false;
        loop {
            let piece = self.from.fill_buf().await.unwrap_or_default();
            let end = memchr::memchr(b'\n', piece);
            let taken = end.map_or(piece.len(), |at| at + 1);
            line.extend_from_slice(&piece[..taken]);
            self.from.consume(taken);
            self.taken += taken as u64;
            if line.len() > self.limit {
                too_long = true;
                line.drain(EDGE_BYTES..line.len() - EDGE_BYTES);
            }
            if taken == 0 || end.is_some() {
                if line.is_empty() {
                    return None;
                }
                // A message that the end of the input cut short, or did not end.
                if end.is_none() {
                    line.push(b'\n');
                }
                return Some(if too_long { Err(line) } else { Ok(line) });
            }
        }
    }
}

/// The id of a message as its text has it, at the top level: a number, or a plain
/// string. The text may be broken, or only the ends of a long one.
fn find_id(text: &str) -> Option<&str> {
    let bytes = text.as_bytes();
    let mut depth = 0_usize;
    let mut at = 0;
    let mut nested = None;
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
                    nested = Some(id);
                }
                at = end;
                continue;
            }
        }
        at += 1;
    }
    // Of a line whose middle is gone the depth is not known: the last one is the likeliest.
    nested.filter(|_| text.len() >= 2 * EDGE_BYTES)
}

/// Behind the closing quote of the string that opens at `at`.
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

fn value_of_id(behind: &str) -> Option<&str> {
    let value = behind.trim_start().strip_prefix(':')?.trim_start();
    let len = match value.strip_prefix('"') {
        Some(inside) => inside.find(['"', '\\']).filter(|at| inside.as_bytes()[*at] == b'"')? + 2,
        None => value.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(value.len()),
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
        forward_requests(input.as_bytes(), to, rejections, Traffic::new(None), 50_000).await;
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

    /// While calls wait, no more is read than the bound; once they are let in, the rest is.
    #[tokio::test]
    async fn no_more_is_read_than_the_bytes_that_may_wait() {
        const CALL: usize = 5 << 20;
        const CALLS: usize = 20;
        let (mut client, from) = tokio::io::duplex(1 << 16);
        let (to, mut calls) = tokio::io::duplex(1 << 16);
        let (back, _refused) = mpsc::channel(16);
        let reader = tokio::spawn(forward_requests(from, to, back, Traffic::new(None), CALL * 2));
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
