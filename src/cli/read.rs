//! `restitch read`: lines to stdout, what was left out to stderr.

use std::io::{self, Write as _};

use super::args::{Common, ReadArgs};
use super::exit::Exit;
use super::settings;
use crate::reading::{LineSelection, ReadLimits, ReadRequest, ReadStyle};
use crate::text::LineSpan;
use crate::tools::ToolReply;

pub(crate) async fn run(common: &Common, args: ReadArgs) -> Exit {
    let select = match (&args.ranges, args.offset, args.limit) {
        (Some(ranges), _, _) => match parse(ranges) {
            Some(ranges) => LineSelection::Ranges(ranges),
            None => {
                return Exit::usage(format!(
                    "--ranges {ranges}: give line ranges such as 10-20,45-50"
                ));
            }
        },
        (None, None, None) => LineSelection::Whole,
        (None, offset, limit) => LineSelection::From { offset: offset.unwrap_or(1), limit },
    };
    let style = match args.style.as_str() {
        "numbered" => ReadStyle::Numbered,
        "hashline" => ReadStyle::Hashline,
        _ => ReadStyle::Plain,
    };
    let toolbox = match settings::toolbox(common) {
        Ok(toolbox) => toolbox,
        Err(exit) => return exit,
    };
    // A pipe takes what there is; the caps are for models.
    let request = ReadRequest { select, style, limits: ReadLimits::NONE, ..ReadRequest::default() };
    let engine = toolbox.engine();
    let read = async {
        let path = engine.path(&args.path)?;
        engine.read_file(&path, &request).await
    };
    let (reply, text) = match read.await {
        Ok((reading, snapshot)) => {
            (ToolReply::answered(reading.message(&snapshot), &reading), reading.text)
        }
        Err(refusal) => (ToolReply::refused(refusal), String::new()),
    };
    match print(common, &reply, &text) {
        Ok(()) => Exit::from_reply(&reply),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Done,
        Err(error) => Exit::fault(format!("cannot write to stdout: {error}")),
    }
}

fn print(common: &Common, reply: &ToolReply, text: &str) -> io::Result<()> {
    let mut out = super::out::stdout();
    if common.json {
        serde_json::to_writer(&mut out, reply)?;
        return writeln!(out);
    }
    if !reply.ok {
        return writeln!(out, "{}", reply.message);
    }
    out.write_all(text.as_bytes())?;
    if !text.is_empty() && !text.ends_with('\n') { writeln!(out) } else { Ok(()) }
}

/// `10-20,45-50`, or single lines.
fn parse(ranges: &str) -> Option<Vec<LineSpan>> {
    ranges
        .split(',')
        .map(|range| {
            let (start, end) = range.split_once('-').unwrap_or((range, range));
            Some(LineSpan { start: start.trim().parse().ok()?, end: end.trim().parse().ok()? })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read() {
        let span = |start, end| LineSpan { start, end };
        assert_eq!(parse("10-20,45-50"), Some(vec![span(10, 20), span(45, 50)]));
        assert_eq!(parse("7"), Some(vec![span(7, 7)]));
        assert_eq!(parse("7-"), None);
        assert_eq!(parse("a-b"), None);
    }
}
