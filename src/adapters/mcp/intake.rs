//! Reads stdin on a separate thread and counts the bytes, to know what a client had sent before an
//! answer went out.

use std::sync::Arc;

use tokio::io::AsyncRead;

#[cfg(not(unix))]
use crate::session::Received;

/// How much of stdin has come in.
#[derive(Debug, Default)]
pub(crate) struct Intake {
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

    use super::Intake;
    use crate::session::{FULL, Received, received};

    /// One read.
    const PIECE: usize = 64 << 10;

    /// How often, and how long each time, the rest of a long text is waited for.
    const MOST_LOOKS: usize = 20;
    const LOOK: Duration = Duration::from_millis(2);

    /// What the thread has read.
    pub(crate) struct Pieces {
        from: mpsc::Receiver<Vec<u8>>,
        piece: Vec<u8>,
        taken: usize,
    }

    impl AsyncRead for Pieces {
        fn poll_read(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
            into: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            if self.taken == self.piece.len() {
                match ready!(self.from.poll_recv(context)) {
                    Some(piece) => (self.piece, self.taken) = (piece, 0),
                    None => return Poll::Ready(Ok(())),
                }
            }
            let end = self.piece.len().min(self.taken + into.remaining());
            into.put_slice(&self.piece[self.taken..end]);
            self.taken = end;
            Poll::Ready(Ok(()))
        }
    }

    impl Intake {
        /// How much has come in, read or not. A client that was found writing more than a
        /// pipe holds gets a moment to write the rest.
        pub(crate) fn received(&self) -> Received {
            for _ in 0..MOST_LOOKS {
                if !self.was_full.load(Ordering::Acquire) {
                    break;
                }
                std::thread::sleep(LOOK);
            }
            let read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
            received(io::stdin(), *read)
        }
    }

    pub(super) fn open() -> io::Result<(Pieces, Arc<Intake>)> {
        let mut stdin = File::from(io::stdin().as_fd().try_clone_to_owned()?);
        let intake = Arc::new(Intake::default());
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
                let mut piece = vec![0; PIECE];
                let mut read = counted.read.lock().unwrap_or_else(PoisonError::into_inner);
                let count = match stdin.read(&mut piece) {
                    Ok(0) => return,
                    Ok(count) => count,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(_) => return,
                };
                *read += count as u64;
                counted.was_full.store(count as u64 >= FULL, Ordering::Release);
                drop(read);
                piece.truncate(count);
                if to.blocking_send(piece).is_err() {
                    return;
                }
            }
        })?;
        Ok((Pieces { from, piece: Vec::new(), taken: 0 }, intake))
    }
}

/// Opens stdin.
#[cfg(unix)]
pub(crate) fn open() -> std::io::Result<(impl AsyncRead + Unpin + Send, Arc<Intake>)> {
    unix::open()
}

/// Opens stdin.
#[cfg(not(unix))]
pub(crate) fn open() -> std::io::Result<(impl AsyncRead + Unpin + Send, Arc<Intake>)> {
    Ok((tokio::io::stdin(), Arc::default()))
}

#[cfg(not(unix))]
impl Intake {
    /// Nothing is known of what waits.
    pub(crate) fn received(&self) -> Received {
        Received::Untold
    }
}
