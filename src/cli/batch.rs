//! `restitch batch`: one request a line, one reply a line, in order.

use std::io::{self, BufRead as _, Write as _};

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
        match lines.read_until(b'\n', &mut line) {
            Ok(0) => return Exit::Done,
            Ok(_) if line.trim_ascii().is_empty() => continue,
            Ok(_) => {}
            Err(error) => return Exit::fault(format!("cannot read stdin: {error}")),
        }
        let (id, reply) = answer(&toolbox, &line, args.dry_run).await;
        let out = json!({
            "id": id, "ok": reply.ok, "code": reply.code, "message": reply.message, "report": reply.report,
        });
        let mut stdout = io::stdout().lock();
        // Flushed at once: a client may wait for this reply before it sends the next request.
        if let Err(error) = writeln!(stdout, "{out}").and_then(|()| stdout.flush()) {
            return Exit::fault(format!("cannot write to stdout: {error}"));
        }
    }
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
    let malformed =
        |message: String| {
            ToolReply::refused(Refusal::new(EditCode::InvalidArguments, message).hint(
                r#"Send one object a line: {"id": 1, "tool": "edit_file", "arguments": {…}}."#,
            ))
        };
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
    };
    let tool = around.tool.as_deref().unwrap_or("edit_file");
    let reply = toolbox.call(tool, arguments, &options).await;
    (id, reply)
}
