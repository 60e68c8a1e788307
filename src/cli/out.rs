//! Standard output and standard error. A terminal gets control characters as escapes; a pipe gets
//! the bytes unchanged.

use std::io::{self, IsTerminal as _, Write};

use serde_json::json;

use super::args::Common;
use super::exit::Exit;
use crate::text::{escape_for_terminal, redact};
use crate::tools::ToolReply;

/// Prints a text and a newline on standard output.
pub fn print(text: impl std::fmt::Display) -> Result<(), Exit> {
    written(writeln!(stdout(), "{text}"))
}

/// Prints the reply's message, or the whole reply as JSON.
pub(crate) fn reply(common: &Common, reply: &ToolReply) -> Result<(), Exit> {
    let text = if common.json { json!(reply).to_string() } else { reply.message.clone() };
    print(text).map_err(|exit| after(reply, exit))
}

/// Prints the reply and ends the command with it.
pub(crate) fn end(common: &Common, answer: &ToolReply) -> Result<(), Exit> {
    reply(common, answer)?;
    Exit::of_reply(answer)
}

/// The fault of an answer that could not be written, which says what was done all the same.
pub(crate) fn after(reply: &ToolReply, exit: Exit) -> Exit {
    match (exit, reply.revision()) {
        (Exit::Fault(message), Some(revision)) => Exit::Fault(format!(
            "{message}; the edit was made all the same, as revision {revision}"
        )),
        (exit, _) => exit,
    }
}

/// Ends a command whose output could not be written. A reader that has stopped reading, such as
/// `head`, has all it wants, so that is no fault.
pub fn written(result: io::Result<()>) -> Result<(), Exit> {
    match result {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Exit::fault(format!("cannot write to stdout: {error}")))
        }
        _ => Ok(()),
    }
}

/// Prints the message of a command's end, if it has one, on standard error. Returns the exit code.
pub fn report(exit: &Exit) -> u8 {
    let message = exit.message();
    if !message.is_empty() {
        // A closed stderr does not change the exit code.
        let _ = stderr().write_all(format!("restitch: {message}\n").as_bytes());
    }
    exit.code()
}

/// Standard output for data, which is not masked.
pub fn stdout() -> StreamWriter<io::StdoutLock<'static>> {
    let is_terminal = io::stdout().is_terminal();
    StreamWriter { to: io::stdout().lock(), is_terminal, is_data: true }
}

/// Standard output for messages, in which secrets are masked.
pub(crate) fn messages() -> StreamWriter<io::StdoutLock<'static>> {
    StreamWriter { is_data: false, ..stdout() }
}

/// Standard error for messages, in which secrets are masked.
pub(crate) fn stderr() -> StreamWriter<io::Stderr> {
    StreamWriter { to: io::stderr(), is_terminal: io::stderr().is_terminal(), is_data: false }
}

/// A writer of data or of whole messages. It masks secrets in messages, and escapes control characters
/// for a terminal.
#[derive(Debug)]
pub struct StreamWriter<W> {
    to: W,
    is_terminal: bool,
    is_data: bool,
}

impl<W: Write> Write for StreamWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_data && !self.is_terminal {
            return self.to.write(bytes);
        }
        let text = String::from_utf8_lossy(bytes);
        let text = if self.is_data { text } else { redact(&text).into_owned().into() };
        let text = if self.is_terminal { escape_for_terminal(&text) } else { text };
        self.to.write_all(text.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}
