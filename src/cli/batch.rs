//! `restitch batch`: one request a line, one reply a line, in order.

use std::io::{self, BufRead, Write as _};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::args::{BatchArgs, Common};
use super::exit::Exit;
use super::settings;
use crate::edit::{EditCode, Refusal};
use crate::engine::CallOptions;
use crate::tools::{self, ToolReply, Toolbox};

pub(crate) async fn run(common: &Common, args: BatchArgs) -> Exit {
    let toolbox = match settings::toolbox(common) {
        Ok(toolbox) => toolbox,
        Err(exit) => return exit,
    };
    let mut lines = io::stdin().lock();
    let mut line = Vec::new();
    loop {
        line.clear();
        match read_line(&mut lines, &mut line) {
            Ok(0) => return Exit::Done,
            Ok(length) if length > MOST_LINE => {
                let reply = malformed(format!(
                    "the line has {length} bytes; at most {} MiB are read",
                    MOST_LINE >> 20
                ));
                if let Err(error) = print(&Value::Null, &reply) {
                    return Exit::fault(format!("cannot write to stdout: {error}"));
                }
                continue;
            }
            Ok(_) if line.trim_ascii().is_empty() => continue,
            Ok(_) => {}
            Err(error) => return Exit::fault(format!("cannot read stdin: {error}")),
        }
        let (id, reply) = answer(&toolbox, &line, args.dry_run).await;
        if let Err(error) = print(&id, &reply) {
            return Exit::fault(format!("cannot write to stdout: {error}"));
        }
    }
}

/// A longer line is not kept: no edit is near it, and it would fill the memory.
const MOST_LINE: usize = 16 << 20;

/// Reads a line and answers with its length; of one that is too long nothing is kept.
fn read_line(from: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<usize> {
    let mut length = 0;
    loop {
        let piece = match from.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            other => other?,
        };
        let end = memchr::memchr(b'\n', piece);
        let taken = end.map_or(piece.len(), |at| at + 1);
        length += taken;
        if length <= MOST_LINE {
            line.extend_from_slice(&piece[..taken]);
        } else {
            *line = Vec::new();
        }
        from.consume(taken);
        if taken == 0 || end.is_some() {
            return Ok(length);
        }
    }
}

fn print(id: &Value, reply: &ToolReply) -> io::Result<()> {
    let out = json!({
        "id": id, "ok": reply.ok, "code": reply.code, "message": reply.message, "report": reply.report,
    });
    let mut stdout = super::out::stdout();
    // Flushed at once: a client may wait for this reply before it sends the next request.
    writeln!(stdout, "{out}").and_then(|()| stdout.flush())
}

fn malformed(message: String) -> ToolReply {
    ToolReply::refused(
        Refusal::new(EditCode::InvalidArguments, message)
            .hint(r#"Send one object a line: {"id": 1, "tool": "edit_file", "arguments": {…}}."#),
    )
}

/// What stands around the arguments in a line. What is not known here is refused, since
/// ignoring it could mean to write where nothing was to be written.
#[derive(Debug, Deserialize, JsonSchema)]
struct Around {
    /// The tool; `edit_file` when left out.
    tool: Option<String>,
    /// Decide and report, but write nothing.
    dry_run: Option<bool>,
    /// The same id again answers with the first result.
    request_id: Option<String>,
}

async fn answer(toolbox: &Toolbox, line: &[u8], dry_run: bool) -> (Value, ToolReply) {
    let mut around = match serde_json::from_slice::<Value>(line) {
        Ok(Value::Object(around)) => around,
        Ok(_) => return (Value::Null, malformed("the request is not a JSON object".into())),
        Err(error) => return (Value::Null, malformed(format!("the request is not JSON: {error}"))),
    };
    let id = around.remove("id").unwrap_or(Value::Null);
    let Some(arguments) = around.remove("arguments") else {
        return (id, malformed("`arguments` is missing".into()));
    };
    let around: Around = match tools::read_around("batch", around) {
        Ok(around) => around,
        Err(refusal) => return (id, ToolReply::refused(refusal)),
    };
    let options = CallOptions {
        dry_run: around.dry_run.unwrap_or(false) || dry_run,
        request_id: around.request_id.map(Into::into),
        ..CallOptions::default()
    };
    let tool = around.tool.as_deref().unwrap_or("edit_file");
    if tool == "edit_file" && tools::brings_text(&arguments) {
        return (id, tools::edit_text(arguments));
    }
    let reply = toolbox.call(tool, arguments, &options).await;
    (id, reply)
}
