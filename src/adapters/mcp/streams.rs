//! Standard input and output on the thread of the server. With a thread between, as tokio has one for
//! each, every message waits until that thread runs.
//!
//! Other processes may share the streams, so they stay blocking: only what is ready is read, and no more
//! is written at once than a pipe takes.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, read, retry_on_intr, write};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};

/// What a pipe that is ready takes at once, as POSIX has it and as Linux has it.
const MAX_WRITE: usize = if cfg!(target_os = "linux") { 4096 } else { 512 };

/// A stream that the system tells of when it is ready.
struct Watched<T: AsRawFd>(AsyncFd<T>);

/// Standard input.
pub(super) fn stdin() -> Box<dyn AsyncRead + Send + Unpin> {
    match watch(io::stdin(), Interest::READABLE) {
        Some(stream) => Box::new(stream),
        None => Box::new(tokio::io::stdin()),
    }
}

/// Standard output.
pub(super) fn stdout() -> Box<dyn AsyncWrite + Send + Unpin> {
    match watch(io::stdout(), Interest::WRITABLE) {
        Some(stream) => Box::new(stream),
        None => Box::new(tokio::io::stdout()),
    }
}

/// The stream; `None` if the system does not tell when it is ready. A file, for example, always is.
#[expect(deprecated, reason = "unsound only for a stream that is closed, which these never are")]
fn watch<T: AsRawFd>(stream: T, direction: Interest) -> Option<Watched<T>> {
    AsyncFd::with_interest(stream, direction).ok().map(Watched)
}

impl<T: AsFd + AsRawFd> Watched<T> {
    /// Whether the stream is ready for reading or writing at this moment, or has ended.
    fn is_ready(&self, direction: PollFlags) -> io::Result<bool> {
        let mut streams = [PollFd::new(self.0.get_ref(), direction)];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        Ok(retry_on_intr(|| poll(&mut streams, Some(&at_once)))? > 0)
    }
}

impl<T: AsFd + AsRawFd + Unpin> AsyncRead for Watched<T> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            let mut guard = ready!(self.0.poll_read_ready(context))?;
            if self.is_ready(PollFlags::IN)? {
                match retry_on_intr(|| read(self.0.get_ref(), into.initialize_unfilled())) {
                    // Another process has made the stream nonblocking, and has taken what there was.
                    Err(Errno::AGAIN) => {}
                    count => {
                        into.advance(count?);
                        return Poll::Ready(Ok(()));
                    }
                }
            }
            guard.clear_ready();
        }
    }
}

impl<T: AsFd + AsRawFd + Unpin> AsyncWrite for Watched<T> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let bytes = &bytes[..bytes.len().min(MAX_WRITE)];
        loop {
            let mut guard = ready!(self.0.poll_write_ready(context))?;
            if self.is_ready(PollFlags::OUT)? {
                match retry_on_intr(|| write(self.0.get_ref(), bytes)) {
                    // Here it has taken the room that there was.
                    Err(Errno::AGAIN) => {}
                    count => return Poll::Ready(Ok(count?)),
                }
            }
            guard.clear_ready();
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
