//! The cap on a line from the client. A longer one never reaches the protocol: it would
//! fill the memory, and dropped without a word it would leave its caller waiting. What
//! goes on in its place is a small request under the same id, which is answered with the
//! cause.

use rmcp::ErrorData;
use rmcp::model::ErrorCode;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};

/// The method that stands for a line that was too long.
const TOO_LONG: &str = "restitch/frame_too_long";

/// Of a line that is too long, as much of each end is searched for its id.
const END: usize = 4096;

/// Copies lines until the input ends or nobody reads on.
pub(super) async fn cap(
    from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    most: usize,
) {
    let mut from = BufReader::with_capacity(1 << 16, from);
    let mut line: Vec<u8> = Vec::new();
    let mut too_long = false;
    loop {
        let piece = match from.fill_buf().await {
            Ok(piece) if !piece.is_empty() => piece,
            _ => break,
        };
        let end = memchr::memchr(b'\n', piece);
        let taken = end.map_or(piece.len(), |at| at + 1);
        line.extend_from_slice(&piece[..taken]);
        from.consume(taken);
        if line.len() > most {
            too_long = true;
            line.drain(END..line.len() - END);
        }
        if end.is_some() {
            let frame = if too_long { refused(&line) } else { std::mem::take(&mut line) };
            line.clear();
            too_long = false;
            if to.write_all(&frame).await.is_err() {
                return;
            }
        }
    }
    if !too_long {
        let _ = to.write_all(&line).await;
    }
    let _ = to.shutdown().await;
}

/// The small request in the place of a line whose ends these are.
fn refused(ends: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(ends);
    let Some(id) = id(&text) else { return b"\n".to_vec() };
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{TOO_LONG}\"}}\n").into_bytes()
}

/// The id of a request as it stands in its text: a number, or a plain string.
fn id(text: &str) -> Option<&str> {
    text.match_indices("\"id\"").find_map(|(at, key)| {
        let value = text[at + key.len()..].trim_start().strip_prefix(':')?.trim_start();
        let len = match value.strip_prefix('"') {
            Some(inside) => {
                inside.find(['"', '\\']).filter(|at| inside.as_bytes()[*at] == b'"')? + 2
            }
            None => value.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(value.len()),
        };
        (len > 0).then(|| &value[..len])
    })
}

/// The answer to a request with a method that is none of ours.
pub(super) fn unknown_method(method: String, most: usize) -> ErrorData {
    if method == TOO_LONG {
        let message = format!(
            "the request is longer than {} MiB and was not read; send less in one call, for example several smaller edits",
            most >> 20
        );
        return ErrorData::new(ErrorCode::INVALID_REQUEST, message, None);
    }
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn long_lines_become_small_requests_and_others_stay() {
        let long = |id: &str| format!("{{\"id\":{id},\"x\":\"{}\"}}\n", "y".repeat(100_000));
        let input = format!(
            "{{\"id\":1}}\nnot json\n{}{}{}{{\"id\":2}}",
            long("77"),
            long("\"a-b\""),
            "z".repeat(80_000) + "\n",
        );
        let (to, mut from) = tokio::io::duplex(1 << 20);
        cap(input.as_bytes(), to, 50_000).await;
        let mut out = String::new();
        tokio::io::AsyncReadExt::read_to_string(&mut from, &mut out).await.expect("text");
        let lines: Vec<&str> = out.lines().collect();
        assert_eq!(lines[..2], ["{\"id\":1}", "not json"]);
        assert!(lines[2].contains("\"id\":77") && lines[2].contains(TOO_LONG), "{}", lines[2]);
        assert!(lines[3].contains("\"id\":\"a-b\""), "{}", lines[3]);
        assert_eq!(lines[4..], ["", "{\"id\":2}"]);
    }
}
