//! Tells which answers a client had received when it sent a call. This is derived from the client's
//! stream: bytes that arrived before an answer went out were sent without knowledge of that answer.

use std::collections::VecDeque;

use super::ledger::{AnswerCount, SeenAnswers};

/// How many bytes had arrived from the client when an answer went out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Received {
    /// This number of bytes.
    #[cfg_attr(not(unix), allow(dead_code, reason = "only Unix can ask how much waits in a pipe"))]
    Bytes(u64),
    /// The number is not known, because the client is still writing.
    StillWriting,
    /// This system does not say how many bytes wait in a pipe.
    #[cfg(not(unix))]
    Unsupported,
}

/// Relates the answers of a session to offsets of the client's stream.
#[derive(Debug, Default)]
pub(crate) struct AnswerTracker {
    /// Answers that the client had not received at the last offset asked for. Each has the first
    /// offset at which the client may have received it; `None` while that is not known.
    pending: VecDeque<(Option<u64>, AnswerCount)>,
    /// The last answer that the client had received.
    seen: AnswerCount,
    #[cfg(not(unix))]
    is_unsupported: bool,
}

impl AnswerTracker {
    /// Records that an answer goes out now.
    pub(crate) fn record_answer_sent(&mut self, received: Received, answer: AnswerCount) {
        #[cfg(not(unix))]
        if received == Received::Unsupported {
            self.is_unsupported = true;
            return;
        }
        self.pending.push_back((None, answer));
        if let Received::Bytes(bytes) = received {
            // Answers that went out while the client was writing count as received from here on.
            for (from, _) in self.pending.iter_mut().filter(|(from, _)| from.is_none()) {
                *from = Some(bytes);
            }
        }
    }

    /// Records that the client has stopped writing after this many bytes.
    pub(crate) fn record_client_pause(&mut self, bytes: u64) {
        for (from, _) in self.pending.iter_mut().filter(|(from, _)| from.is_none()) {
            *from = Some(bytes);
        }
    }

    /// Advances to the message that begins at `offset` of the client's stream, and returns the answers
    /// that the client had received when it began to send it. An offset must not be less than that of
    /// the call before.
    pub(crate) fn advance_to(&mut self, offset: u64) -> SeenAnswers {
        #[cfg(not(unix))]
        if self.is_unsupported {
            return SeenAnswers::Unknown;
        }
        while let Some((Some(from), answer)) = self.pending.front() {
            if *from > offset {
                break;
            }
            self.seen = self.seen.max(*answer);
            self.pending.pop_front();
        }
        SeenAnswers::UpTo(self.seen)
    }
}

/// A pipe with this many bytes counts as full: its writer may be waiting to write more.
#[cfg(unix)]
pub(crate) const FULL_PIPE: u64 = 60 << 10;

/// How many bytes have arrived on a stream of which `read` bytes were read.
#[cfg(unix)]
pub(crate) fn bytes_received(stream: impl std::os::fd::AsFd, read: u64) -> Received {
    match rustix::io::ioctl_fionread(stream) {
        Ok(waiting) if waiting >= FULL_PIPE => Received::StillWriting,
        Ok(waiting) => Received::Bytes(read + waiting),
        Err(_) => Received::Bytes(read),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Ledger;

    #[test]
    fn what_was_there_before_an_answer_does_not_know_it() {
        let ledger = Ledger::default();
        let none = ledger.answer_count();
        let answer = || ledger.record_answer(ledger.begin_call());
        let (one, two, three) = (answer(), answer(), answer());
        let mut answer_tracker = AnswerTracker::default();
        assert_eq!(answer_tracker.advance_to(0), SeenAnswers::UpTo(none));
        answer_tracker.record_answer_sent(Received::Bytes(100), one);
        assert_eq!(answer_tracker.advance_to(99), SeenAnswers::UpTo(none));
        assert_eq!(answer_tracker.advance_to(100), SeenAnswers::UpTo(one));
        // A client that goes on writing has not received it yet.
        answer_tracker.record_answer_sent(Received::StillWriting, two);
        assert_eq!(answer_tracker.advance_to(5_000), SeenAnswers::UpTo(one));
        answer_tracker.record_answer_sent(Received::Bytes(9_000), three);
        assert_eq!(answer_tracker.advance_to(8_999), SeenAnswers::UpTo(one));
        assert_eq!(answer_tracker.advance_to(9_000), SeenAnswers::UpTo(three));
    }
}
