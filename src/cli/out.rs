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

/// Standard output for data, which is not masked.
pub fn stdout() -> DataWriter<io::StdoutLock<'static>> {
    let is_terminal = io::stdout().is_terminal();
    DataWriter { to: io::stdout().lock(), is_terminal }
}

/// Standard output for messages, in which secrets are masked.
pub(crate) fn messages() -> MessageWriter<io::StdoutLock<'static>> {
    MessageWriter { is_terminal: io::stdout().is_terminal(), to: io::stdout().lock() }
}

/// Standard error for messages, in which secrets are masked.
pub(crate) fn stderr() -> MessageWriter<io::Stderr> {
    MessageWriter { to: io::stderr(), is_terminal: io::stderr().is_terminal() }
}

/// A writer of data, which escapes control characters for a terminal.
#[derive(Debug)]
pub struct DataWriter<W> {
    to: W,
    is_terminal: bool,
}

impl<W: Write> Write for DataWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.is_terminal {
            return self.to.write(bytes);
        }
        self.to.write_all(escape_for_terminal(&String::from_utf8_lossy(bytes)).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// A writer of whole messages, which masks secrets and escapes control characters for a terminal.
pub(crate) struct MessageWriter<W> {
    to: W,
    is_terminal: bool,
}

impl<W: Write> Write for MessageWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        let text = redact(&text);
        let text = if self.is_terminal { escape_for_terminal(&text) } else { text };
        self.to.write_all(text.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}
