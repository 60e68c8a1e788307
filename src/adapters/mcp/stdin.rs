//! Reads stdin on a separate thread and counts the bytes, so that the server knows what a client
//! had sent before an answer went out.

use std::sync::Arc;

use tokio::io::AsyncRead;

#[cfg(not(unix))]
use crate::session::Received;

/// Counts the bytes that have been read from stdin.
#[derive(Debug, Default)]
pub(crate) struct StdinCounter {
    #[cfg(unix)]
    read: std::sync::Mutex<u64>,
    /// Whether the last read took as much as a full pipe holds, so that more may follow at once.
    #[cfg(unix)]
    was_full: std::sync::atomic::AtomicBool,
}

#[cfg(unix)]
mod unix {
    use std::fs::File;
    use std::io::{self, Read as _};
    use std::os::fd::AsFd as _;
    use std::pin::Pin;
    use std::sync::atomic::Ordering;
    use std::sync::{Arc, PoisonError};
    use std::task::{Context, Poll, ready};
    use std::time::Duration;

    use rustix::event::{PollFd, PollFlags, poll};
    use tokio::io::{AsyncRead, ReadBuf};
    use tokio::sync::mpsc;

    use super::StdinCounter;
    use crate::session::{FULL_PIPE, Received, bytes_received};

    /// The most bytes of one read.
    const CHUNK: usize = 64 << 10;

    /// How often and at which interval `received` checks whether a client still writes.
    const MAX_POLLS: usize = 20;
    const POLL_INTERVAL: Duration = Duration::from_millis(2);

    /// Hands out the chunks that the thread has read.
    pub(crate) struct StdinReader {
        from: mpsc::Receiver<Vec<u8>>,
        chunk: Vec<u8>,
        taken: usize,
    }

    impl AsyncRead for StdinReader {
        fn poll_read(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
            into: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            if self.taken == self.chunk.len() {
                match ready!(self.from.poll_recv(context)) {
                    Some(chunk) => (self.chunk, self.taken) = (chunk, 0),
                    None => return Poll::Ready(Ok(())),
                }
            }
            let end = self.chunk.len().min(self.taken + into.remaining());
            into.put_slice(&self.chunk[self.taken..end]);
            self.taken = end;
            Poll::Ready(Ok(()))
        }
    }

    impl StdinCounter {
        /// How many bytes the client has sent, whether they are read or still in the pipe. If the
        /// client has just filled the pipe, this first gives it a moment to write the rest.
        pub(crate) fn received(&self) -> Received {
            for _ in 0..MAX_POLLS {
                if !self.was_full.load(Ordering::Acquire) {
                    break;
                }
                std::thread::sleep(POLL_INTERVAL);
            }
            let read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
            bytes_received(io::stdin(), *read)
        }
    }

    /// Starts the thread that reads stdin.
    pub(super) fn open() -> io::Result<(StdinReader, Arc<StdinCounter>)> {
        let mut stdin = File::from(io::stdin().as_fd().try_clone_to_owned()?);
        let counter = Arc::new(StdinCounter::default());
        let (to, from) = mpsc::channel(1024);
        let thread_counter = counter.clone();
        std::thread::Builder::new().name("stdin".into()).spawn(move || {
            loop {
                // Wait without the lock. The read itself holds it, so that no byte is both out of
                // the pipe and uncounted.
                if let Err(error) = poll(&mut [PollFd::new(&stdin, PollFlags::IN)], None)
                    && error != rustix::io::Errno::INTR
                {
                    return;
                }
                let mut chunk = vec![0; CHUNK];
                let mut total = thread_counter.read.lock().unwrap_or_else(PoisonError::into_inner);
                let count = match stdin.read(&mut chunk) {
                    Ok(0) => return,
                    Ok(count) => count,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(_) => return,
                };
                *total += count as u64;
                thread_counter.was_full.store(count as u64 >= FULL_PIPE, Ordering::Release);
                drop(total);
                chunk.truncate(count);
                if to.blocking_send(chunk).is_err() {
                    return;
                }
            }
        })?;
        Ok((StdinReader { from, chunk: Vec::new(), taken: 0 }, counter))
    }
}

/// Opens stdin for reading, together with the counter of its bytes.
#[cfg(unix)]
pub(crate) fn open() -> std::io::Result<(impl AsyncRead + Unpin + Send, Arc<StdinCounter>)> {
    unix::open()
}

/// Opens stdin for reading, together with the counter of its bytes.
#[cfg(not(unix))]
pub(crate) fn open() -> std::io::Result<(impl AsyncRead + Unpin + Send, Arc<StdinCounter>)> {
    Ok((tokio::io::stdin(), Arc::default()))
}

#[cfg(not(unix))]
impl StdinCounter {
    /// Always `Unsupported`: this system does not say how many bytes a pipe holds.
    pub(crate) fn received(&self) -> Received {
        Received::Unsupported
    }
}
