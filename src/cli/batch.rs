//! `restitch batch`: one request a line, one reply a line, in order.

use std::io::{self, BufRead as _, Write as _};

use serde_json::{Value, json};

use super::args::{BatchArgs, Common};
use super::exit::Exit;
use super::settings;
use crate::edit::{EditCode, Refusal};
use crate::engine::CallOptions;
use crate::tools::{ToolReply, Toolbox};

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

async fn answer(toolbox: &Toolbox, line: &[u8], dry_run: bool) -> (Value, ToolReply) {
    let malformed =
        |message: String| {
            ToolReply::refused(Refusal::new(EditCode::InvalidArguments, message).hint(
                r#"Send one object a line: {"id": 1, "tool": "edit_file", "arguments": {…}}."#,
            ))
        };
    let mut request = match serde_json::from_slice::<Value>(line) {
        Ok(Value::Object(request)) => request,
        Ok(_) => return (Value::Null, malformed("the request is not a JSON object".into())),
        Err(error) => return (Value::Null, malformed(format!("the request is not JSON: {error}"))),
    };
    let id = request.get("id").cloned().unwrap_or(Value::Null);
    let tool = match request.get("tool") {
        None | Some(Value::Null) => "edit_file".to_owned(),
        Some(Value::String(tool)) => tool.clone(),
        Some(_) => return (id, malformed("`tool` is not a string".into())),
    };
    let dry = request.get("dry_run").and_then(Value::as_bool).unwrap_or(false);
    let Some(arguments) = request.remove("arguments") else {
        return (id, malformed("`arguments` is missing".into()));
    };
    let request_id = request.get("request_id").and_then(Value::as_str).map(str::to_owned);
    let options = CallOptions { dry_run: dry || dry_run, request_id, ..CallOptions::default() };
    let reply = toolbox.call(&tool, arguments, &options).await;
    (id, reply)
}
