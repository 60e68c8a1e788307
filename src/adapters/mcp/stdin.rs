//! Reads stdin on a separate thread and counts the bytes, to know what a client had sent before an
//! answer went out.

use std::sync::Arc;

use tokio::io::AsyncRead;

#[cfg(not(unix))]
use crate::session::Received;

/// How much of stdin has come in.
#[derive(Debug, Default)]
pub(crate) struct StdinCounter {
    #[cfg(unix)]
    read: std::sync::Mutex<u64>,
    /// Whether the last read took all that a pipe holds, so that more may follow at once.
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

    /// One read.
    const CHUNK: usize = 64 << 10;

    /// How often, and how long each time, the rest of a long text is waited for.
    const MAX_POLLS: usize = 20;
    const POLL_INTERVAL: Duration = Duration::from_millis(2);

    /// What the thread has read.
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
        /// How much has come in, read or not. A client that was found writing more than a
        /// pipe holds gets a moment to write the rest.
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

    pub(super) fn open() -> io::Result<(StdinReader, Arc<StdinCounter>)> {
        let mut stdin = File::from(io::stdin().as_fd().try_clone_to_owned()?);
        let intake = Arc::new(StdinCounter::default());
        let (to, from) = mpsc::channel(1024);
        let counted = intake.clone();
        std::thread::Builder::new().name("stdin".into()).spawn(move || {
            loop {
                // Waits without the lock; what is there is then counted as it is taken.
                if let Err(error) = poll(&mut [PollFd::new(&stdin, PollFlags::IN)], None)
                    && error != rustix::io::Errno::INTR
                {
                    return;
                }
                let mut chunk = vec![0; CHUNK];
                let mut read = counted.read.lock().unwrap_or_else(PoisonError::into_inner);
                let count = match stdin.read(&mut chunk) {
                    Ok(0) => return,
                    Ok(count) => count,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(_) => return,
                };
                *read += count as u64;
                counted.was_full.store(count as u64 >= FULL_PIPE, Ordering::Release);
                drop(read);
                chunk.truncate(count);
                if to.blocking_send(chunk).is_err() {
                    return;
                }
            }
        })?;
        Ok((StdinReader { from, chunk: Vec::new(), taken: 0 }, intake))
    }
}

/// Opens stdin.
#[cfg(unix)]
pub(crate) fn open() -> std::io::Result<(impl AsyncRead + Unpin + Send, Arc<StdinCounter>)> {
    unix::open()
}

/// Opens stdin.
#[cfg(not(unix))]
pub(crate) fn open() -> std::io::Result<(impl AsyncRead + Unpin + Send, Arc<StdinCounter>)> {
    Ok((tokio::io::stdin(), Arc::default()))
}

#[cfg(not(unix))]
impl StdinCounter {
    /// Nothing is known of what waits.
    pub(crate) fn received(&self) -> Received {
        Received::Unsupported
    }
}
