//! `restitch read`: prints lines of a file.

use std::io::{self, Write as _};

use super::args::{Common, ReadArgs};
use super::exit::Exit;
use super::{out, settings};
use crate::tools::{READ_FLAGS, ToolReply, Words};
use crate::views::{ReadLimits, ReadRequest, parse_ranges};

/// Prints the lines that the arguments select.
pub(crate) async fn run(common: &Common, args: ReadArgs) -> Result<(), Exit> {
    let ranges = match &args.ranges {
        Some(ranges) => parse_ranges(ranges).ok_or_else(|| {
            Exit::usage(format!("--ranges {ranges}: give line ranges such as 10-20,45-50"))
        })?,
        None => Vec::new(),
    };
    let toolbox = settings::toolbox_in(common, Words::of_command(READ_FLAGS))?;
    // The limits are for models; a person or a pipe gets everything.
    let (style, limits) = (args.style, ReadLimits::NONE);
    let request = ReadRequest { ranges, style, limits, ..ReadRequest::default() };
    let engine = toolbox.engine();
    let read = async {
        let path = engine.path(&common.path(&args.path))?;
        engine.read_file(&path, &request).await
    };
    let (reply, text) = match read.await {
        Ok((view, snapshot)) => (ToolReply::answered(view.message(&snapshot), &view), view.text),
        Err(refusal) => (toolbox.refuse("read_file", refusal).await, String::new()),
    };
    match common.json || !reply.ok {
        true => out::reply(common, &reply)?,
        false => out::written(print(&text))?,
    }
    Exit::of_reply(&reply)
}

/// Prints the lines.
fn print(text: &str) -> io::Result<()> {
    let mut out = out::stdout();
    out.write_all(text.as_bytes())?;
    if !text.is_empty() && !text.ends_with('\n') { writeln!(out) } else { Ok(()) }
}
