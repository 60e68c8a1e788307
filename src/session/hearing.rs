//! Which answers a client had received when it sent a call. This is derived from its stream: bytes
//! that had arrived before an answer went out were sent without knowing that answer.

use std::collections::VecDeque;

use super::ledger::{Answers, Heard};

/// How much had come in when an answer went out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Received {
    /// So many bytes.
    #[cfg_attr(not(unix), allow(dead_code, reason = "only Unix can ask how much waits in a pipe"))]
    Bytes(u64),
    /// Unknown: the client is still writing.
    Writing,
    /// This system does not tell what waits in a pipe.
    #[cfg(not(unix))]
    Untold,
}

/// The answers of a session beside the offsets of its client's stream.
#[derive(Debug, Default)]
pub(crate) struct Hearing {
    /// Answers that the client had not received at the last offset asked for, each with the first
    /// offset of the stream at which it may have received it; `None` while that is not known.
    given: VecDeque<(Option<u64>, Answers)>,
    heard: Answers,
    #[cfg(not(unix))]
    untold: bool,
}

impl Hearing {
    /// An answer goes out now.
    pub(crate) fn gave(&mut self, received: Received, answer: Answers) {
        #[cfg(not(unix))]
        if received == Received::Untold {
            self.untold = true;
            return;
        }
        self.given.push_back((None, answer));
        if let Received::Bytes(bytes) = received {
            // What went out while the client was writing is heard no earlier than this.
            for (from, _) in self.given.iter_mut().filter(|(from, _)| from.is_none()) {
                *from = Some(bytes);
            }
        }
    }

    /// The client has stopped writing after this many bytes.
    pub(crate) fn rested(&mut self, bytes: u64) {
        for (from, _) in self.given.iter_mut().filter(|(from, _)| from.is_none()) {
            *from = Some(bytes);
        }
    }

    /// What the client had heard when it began to send what is at `offset`. Offsets rise.
    pub(crate) fn at(&mut self, offset: u64) -> Heard {
        #[cfg(not(unix))]
        if self.untold {
            return Heard::Unknown;
        }
        while let Some((Some(from), answer)) = self.given.front() {
            if *from > offset {
                break;
            }
            self.heard = self.heard.max(*answer);
            self.given.pop_front();
        }
        Heard::UpTo(self.heard)
    }
}

/// A pipe with this many bytes counts as full: its writer may be waiting to write more.
#[cfg(unix)]
pub(crate) const FULL: u64 = 60 << 10;

/// How much has come in on a stream of which `read` bytes were read.
#[cfg(unix)]
pub(crate) fn received(stream: impl std::os::fd::AsFd, read: u64) -> Received {
    match rustix::io::ioctl_fionread(stream) {
        Ok(waiting) if waiting >= FULL => Received::Writing,
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
        let none = ledger.now();
        let answer = || ledger.answered(ledger.begin());
        let (one, two, three) = (answer(), answer(), answer());
        let mut hearing = Hearing::default();
        assert_eq!(hearing.at(0), Heard::UpTo(none));
        hearing.gave(Received::Bytes(100), one);
        assert_eq!(hearing.at(99), Heard::UpTo(none));
        assert_eq!(hearing.at(100), Heard::UpTo(one));
        // A client that writes on does not hear.
        hearing.gave(Received::Writing, two);
        assert_eq!(hearing.at(5_000), Heard::UpTo(one));
        hearing.gave(Received::Bytes(9_000), three);
        assert_eq!(hearing.at(8_999), Heard::UpTo(one));
        assert_eq!(hearing.at(9_000), Heard::UpTo(three));
    }
}
