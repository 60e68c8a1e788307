//! The way out to people: on a terminal control characters are shown as escapes, a pipe
//! gets the bytes as they are.

use std::io::{self, IsTerminal as _, Write};

use crate::text::{escape_for_terminal, redact};

/// Standard output.
pub(crate) fn stdout() -> Out<io::StdoutLock<'static>> {
    let is_terminal = io::stdout().is_terminal();
    Out { to: io::stdout().lock(), is_terminal }
}

/// Standard output for words of our own, in which no secret is ever shown.
pub(crate) fn words() -> Words<io::StdoutLock<'static>> {
    Words { is_terminal: io::stdout().is_terminal(), to: io::stdout().lock() }
}

/// Standard error, where also no secret is ever shown.
pub(crate) fn stderr() -> Words<io::Stderr> {
    Words { to: io::stderr(), is_terminal: io::stderr().is_terminal() }
}

/// A writer of data.
pub(crate) struct Out<W> {
    to: W,
    is_terminal: bool,
}

impl<W: Write> Write for Out<W> {
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

/// A writer of messages, each written at once.
pub(crate) struct Words<W> {
    to: W,
    is_terminal: bool,
}

impl<W: Write> Write for Words<W> {
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
