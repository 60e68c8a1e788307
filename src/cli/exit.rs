//! How the process ends.

use std::io::Write as _;
use std::process::ExitCode;

use crate::tools::ToolReply;

/// The end of a command.
#[derive(Debug)]
pub(crate) enum Exit {
    /// 0
    Done,
    /// 1: refused, nothing was written.
    Refused,
    /// 1, with a word about it: hooks, which may end in no other way.
    Failed(String),
    /// 2: wrong usage.
    Usage(String),
    /// 3: disk or network.
    Fault(String),
    /// 128 and the signal's number: interrupted, and said so.
    Signal(i32, String),
}

impl Exit {
    pub(crate) fn fault(message: impl Into<String>) -> Self {
        Self::Fault(message.into())
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::Usage(message.into())
    }

    /// The exit code of a tool's reply.
    pub(crate) fn from_reply(reply: &ToolReply) -> Self {
        match reply.code {
            None => Self::Done,
            Some(code) if code.is_fault() => Self::Fault(String::new()),
            Some(_) => Self::Refused,
        }
    }

    /// What is left to say.
    pub(crate) fn message(&self) -> &str {
        match self {
            Self::Done | Self::Refused => "",
            Self::Failed(message)
            | Self::Usage(message)
            | Self::Fault(message)
            | Self::Signal(_, message) => message,
        }
    }

    /// Says what is left to say and gives the code.
    pub(crate) fn report(self) -> ExitCode {
        let (code, message) = match self {
            Self::Done => (0, String::new()),
            Self::Refused => (1, String::new()),
            Self::Failed(message) => (1, message),
            Self::Usage(message) => (2, message),
            Self::Fault(message) => (3, message),
            Self::Signal(code, message) => (u8::try_from(code).unwrap_or(1), message),
        };
        if !message.is_empty() {
            // A closed stderr does not change the exit code.
            let _ = super::out::stderr().write_all(format!("restitch: {message}\n").as_bytes());
        }
        ExitCode::from(code)
    }
}
