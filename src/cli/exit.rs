//! The results of commands and their exit codes.

use crate::tools::ToolReply;

/// Why a command ends with an exit code other than 0. A command returns `Result<(), Exit>`.
#[derive(Debug)]
pub enum Exit {
    /// 1: a call was refused, or a check found something wrong, as `check` and `harness run` do.
    Refused,
    /// 1, with a message: the failure of a hook, which must not use any other code.
    Failed(String),
    /// 2, with a message: wrong usage.
    Usage(String),
    /// 3, with a message: a fault of disk or network.
    Fault(String),
    /// 128 plus the number of the signal that interrupted the command, with a message.
    Signal(i32, String),
}

impl Exit {
    /// A fault of disk or network.
    pub fn fault(message: impl Into<String>) -> Self {
        Self::Fault(message.into())
    }

    /// Wrong usage.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::Usage(message.into())
    }

    /// The result of a command that printed this reply of a tool.
    pub fn of_reply(reply: &ToolReply) -> Result<(), Self> {
        match reply.code {
            None => Ok(()),
            Some(code) if code.is_fault() => Err(Self::Fault(String::new())),
            Some(_) => Err(Self::Refused),
        }
    }

    /// The result of a command that looked for something: refused if there was any.
    pub fn refused_if(found: bool) -> Result<(), Self> {
        if found { Err(Self::Refused) } else { Ok(()) }
    }

    /// The exit code.
    pub(super) fn code(&self) -> u8 {
        match self {
            Self::Refused | Self::Failed(_) => 1,
            Self::Usage(_) => 2,
            Self::Fault(_) => 3,
            Self::Signal(code, _) => u8::try_from(*code).unwrap_or(1),
        }
    }

    /// The message; empty if there is none.
    pub fn message(&self) -> &str {
        match self {
            Self::Refused => "",
            Self::Failed(message)
            | Self::Usage(message)
            | Self::Fault(message)
            | Self::Signal(_, message) => message,
        }
    }
}
