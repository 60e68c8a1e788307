//! Lines from a stream, without more memory than a line may have.

use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};

/// How many bytes of each end of a line that is too long are kept.
pub(super) const EDGE_BYTES: usize = 4096;

/// A line that is longer than the limit: its two ends, joined.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooLong(pub(super) Vec<u8>);

/// Reads lines of at most `limit` bytes, and of a longer line only its two ends.
pub(crate) struct BoundedLines<R> {
    from: BufReader<R>,
    limit: usize,
    /// What has been read of the next line.
    line: Vec<u8>,
    is_too_long: bool,
}

impl<R: AsyncRead + Unpin> BoundedLines<R> {
    pub(crate) fn new(from: R, limit: usize) -> Self {
        Self {
            from: BufReader::with_capacity(1 << 16, from),
            limit,
            line: Vec::new(),
            is_too_long: false,
        }
    }

    /// The next line; `None` at the end of the stream. If the future is dropped, the next one goes on
    /// where it stopped.
    pub(crate) async fn next(&mut self) -> Option<Result<Vec<u8>, TooLong>> {
        loop {
            let piece = self.from.fill_buf().await.unwrap_or_default();
            let end = memchr::memchr(b'\n', piece);
            let count = end.map_or(piece.len(), |newline| newline + 1);
            self.line.extend_from_slice(&piece[..count]);
            self.from.consume(count);
            if self.line.len() > self.limit {
                self.is_too_long = true;
                self.line.drain(EDGE_BYTES..self.line.len() - EDGE_BYTES);
            }
            // The last line of the input may lack its newline.
            if end.is_some() || count == 0 {
                let line = std::mem::take(&mut self.line);
                return match std::mem::take(&mut self.is_too_long) {
                    true => Some(Err(TooLong(line))),
                    false if line.is_empty() => None,
                    false => Some(Ok(line)),
                };
            }
        }
    }
}
