//! `restitch batch`: answers requests from stdin, one on each line, in order.

use std::io::{self, Write as _};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::args::{BatchArgs, Common};
use super::exit::Exit;
use super::settings;
use crate::adapters::mcp::BoundedLines;
use crate::edit::Refusal;
use crate::engine::CallOptions;
use crate::tools::{self, ToolReply, Toolbox};
use crate::traces;

/// Answers each line of stdin until it ends.
pub(crate) async fn run(common: &Common, args: BatchArgs) -> Result<(), Exit> {
    let toolbox = settings::toolbox(common)?;
    let mut lines = BoundedLines::new(tokio::io::stdin(), MAX_LINE);
    while let Some(line) = lines.next().await {
        let (id, reply) = match line {
            Ok(line) if line.trim_ascii().is_empty() => continue,
            Ok(line) => handle_line(&toolbox, &line, args.dry_run).await,
            Err(_) => {
                let reason = format!("the line is longer than {} MiB", MAX_LINE >> 20);
                let next = "Send smaller edits, each as a request of its own.";
                (Value::Null, ToolReply::refused(Refusal::invalid(reason, next)))
            }
        };
        if let Err(error) = print(&id, &reply) {
            // Nobody reads further replies, so no further edit is made.
            let written = super::out::written(Err(error));
            return written.map_err(|exit| super::out::after(&reply, exit));
        }
    }
    Ok(())
}

/// The most bytes of a line, far more than any edit needs; a longer line would fill the memory.
const MAX_LINE: usize = 16 << 20;

/// Prints the reply to the request with this id.
fn print(id: &Value, reply: &ToolReply) -> io::Result<()> {
    let out = json!({
        "id": id, "ok": reply.ok, "code": reply.code, "message": reply.message, "report": reply.report,
    });
    let mut stdout = super::out::stdout();
    // Flushed, because a client may wait for this reply before it sends the next request.
    writeln!(stdout, "{out}").and_then(|()| stdout.flush())
}

/// The refusal of a line that is not a request.
fn invalid_request(message: String) -> ToolReply {
    ToolReply::refused(Refusal::invalid(
        message,
        r#"Send one object a line: {"id": 1, "tool": "edit_file", "arguments": {…}}."#,
    ))
}

/// The fields of a request around its arguments. An unknown field is refused: it may be a misspelt
/// `dry_run`, and ignoring it would write files.
#[derive(Debug, Deserialize, JsonSchema)]
struct Envelope {
    /// The tool; `edit_file` when left out.
    tool: Option<String>,
    /// Decide and report, but write nothing.
    dry_run: Option<bool>,
    /// The same id again answers with the first result.
    request_id: Option<String>,
}

/// The id of the request in a line, and its reply.
async fn handle_line(toolbox: &Toolbox, line: &[u8], dry_run: bool) -> (Value, ToolReply) {
    let mut envelope = match serde_json::from_slice::<Value>(line) {
        Ok(Value::Object(envelope)) => envelope,
        Ok(_) => {
            return (Value::Null, invalid_request("the request is not a JSON object".into()));
        }
        Err(error) => {
            return (Value::Null, invalid_request(format!("the request is not JSON: {error}")));
        }
    };
    let id = envelope.remove("id").unwrap_or(Value::Null);
    let Some(arguments) = envelope.remove("arguments") else {
        return (id, invalid_request("`arguments` is missing".into()));
    };
    let envelope: Envelope = match tools::parse_leniently("batch", Value::Object(envelope)) {
        Ok(envelope) => envelope,
        Err(refusal) => {
            let refusal = refusal.hint(
                r#"Send {"id": 1, "tool": "edit_file", "arguments": {…}} (optional: dry_run, request_id)."#,
            );
            return (id, ToolReply::refused(refusal));
        }
    };
    let options = CallOptions {
        dry_run: envelope.dry_run.unwrap_or(false) || dry_run,
        request_id: envelope.request_id.map(crate::port::RequestId::new),
        ..CallOptions::default()
    };
    let tool = envelope.tool.as_deref().unwrap_or("edit_file");
    // A call of the others with `text` gets a refusal, because they edit only files.
    const EDITING: [&str; 5] =
        ["edit_file", "multi_edit", "edit_lines", "hashline_edit", "apply_patch"];
    if let Some(tool) = EDITING.into_iter().find(|name| *name == tool)
        && tools::has_inline_text(&arguments)
    {
        let span = traces::call(tool);
        let gate = &toolbox.engine().syntax;
        let reply = span.in_scope(|| tools::edit_text_with(tool, arguments, gate));
        reply.record_in(&span);
        return (id, reply);
    }
    (id, toolbox.call(tool, arguments, &options).await)
}
