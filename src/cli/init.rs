//! `restitch init CLIENT`: the client's configuration, printed or merged.
//!
//! Merging adds what is missing and changes nothing that is there. A file that is not
//! plain JSON (comments, say) is left alone and its part is printed.

use std::io::{self, Write as _};

use serde::Serialize as _;
use serde_json::{Value, json};

use super::args::{Common, InitArgs};
use super::exit::Exit;
use super::{json_merge, settings};
use crate::edit::{EditCode, EditPlan, Explanation, Refusal, VerifiedEdit};
use crate::engine::{CallOptions, Engine};

/// A file of a client's configuration.
struct File {
    path: &'static str,
    content: Content,
}

enum Content {
    Json(Value),
    /// TOML tables, each added when its header is missing.
    Toml(&'static [(&'static str, &'static str)]),
    /// A file of our own.
    Text(&'static str),
}

/// The configuration of each client: names, files, and what to know.
fn client(name: &str) -> Option<(Vec<File>, &'static str)> {
    let server = |args: &[&str]| json!({ "command": "restitch", "args": args, "env": {} });
    let file = |path, content| File { path, content };
    let hook = |command: &str| json!({ "type": "command", "command": command });
    Some(match name {
        "claude" | "claude-code" => (
            vec![
                file(
                    ".mcp.json",
                    Content::Json(json!({ "mcpServers": { "restitch": {
                        "type": "stdio",
                        "command": "restitch",
                        "args": ["mcp", "--dialect", "claude-code"],
                        "env": {},
                        "alwaysLoad": true,
                    }}})),
                ),
                file(
                    ".claude/settings.json",
                    Content::Json(json!({ "hooks": {
                        "PreToolUse": [{ "matcher": "Edit", "hooks": [
                            { "type": "command", "command": "restitch", "args": ["hook", "claude", "PreToolUse"], "timeout": 30 },
                        ]}],
                        "PostToolUseFailure": [{ "matcher": "Edit", "hooks": [
                            { "type": "command", "command": "restitch", "args": ["hook", "claude", "PostToolUseFailure"], "timeout": 30 },
                        ]}],
                        "PostToolBatch": [{ "hooks": [
                            { "type": "command", "command": "restitch", "args": ["hook", "claude", "PostToolBatch"], "timeout": 30 },
                        ]}],
                    }})),
                ),
            ],
            "Claude Code looks for old_string before any hook runs, so only the MCP tool `edit` can rescue a text that is not found. To send every edit there, add \"permissions\": {\"deny\": [\"Edit\"]} to .claude/settings.json.",
        ),
        "codex" => (
            vec![
                file(
                    ".codex/config.toml",
                    Content::Toml(&[
                        (
                            "[mcp_servers.restitch]",
                            "command = \"restitch\"\nargs = [\"mcp\", \"--dialect\", \"codex\"]\n",
                        ),
                        ("[features]", "hooks = true\n"),
                    ]),
                ),
                file(
                    ".codex/hooks.json",
                    Content::Json(json!({ "hooks": {
                        "PreToolUse": [{ "matcher": "apply_patch", "hooks": [hook("restitch hook codex PreToolUse")] }],
                        "PostToolUse": [{ "matcher": "apply_patch", "hooks": [hook("restitch hook codex PostToolUse")] }],
                    }})),
                ),
            ],
            "Codex asks you to trust the hooks once. If config.toml has a [features] table already, set hooks = true in it.",
        ),
        "gemini" => (
            vec![file(
                ".gemini/settings.json",
                Content::Json(json!({
                    "mcpServers": { "restitch": {
                        "command": "restitch", "args": ["mcp", "--dialect", "gemini"], "env": {}, "trust": false,
                    }},
                    "hooks": {
                        "BeforeTool": [{ "matcher": "replace", "hooks": [
                            { "type": "command", "name": "restitch", "command": "restitch hook gemini BeforeTool", "timeout": 30_000 },
                        ]}],
                        "AfterTool": [{ "matcher": "replace", "hooks": [
                            { "type": "command", "name": "restitch", "command": "restitch hook gemini AfterTool", "timeout": 30_000 },
                        ]}],
                    },
                })),
            )],
            "The hook corrects Gemini's own `replace` before it runs; the MCP server is for everything else.",
        ),
        "cursor" => (
            vec![file(
                ".cursor/mcp.json",
                Content::Json(json!({ "mcpServers": { "restitch": server(&["mcp"]) } })),
            )],
            "Cursor's hooks cannot rewrite an edit; the MCP tools do the work.",
        ),
        "vscode" => (
            vec![
                file(
                    ".vscode/mcp.json",
                    Content::Json(json!({
                        "servers": { "restitch": { "type": "stdio", "command": "restitch", "args": ["mcp"] } },
                        "inputs": [],
                    })),
                ),
                file(
                    ".github/hooks/restitch.json",
                    Content::Json(json!({ "hooks": {
                        "PreToolUse": [hook("restitch hook vscode PreToolUse")],
                        "PostToolUse": [hook("restitch hook vscode PostToolUse")],
                    }})),
                ),
            ],
            "Agent hooks are a preview in VS Code; the MCP server works without them.",
        ),
        "opencode" => (
            vec![
                file(
                    "opencode.json",
                    Content::Json(json!({
                        "$schema": "https://opencode.ai/config.json",
                        "mcp": { "restitch": {
                            "type": "local",
                            "command": ["restitch", "mcp", "--dialect", "opencode"],
                            "enabled": true,
                            "environment": {},
                        }},
                    })),
                ),
                file(
                    ".opencode/plugin/restitch.js",
                    Content::Text(include_str!("../hook/opencode.js")),
                ),
            ],
            "The plugin corrects opencode's own `edit` before it runs.",
        ),
        "zed" => (
            vec![file(
                ".zed/settings.json",
                Content::Json(json!({ "context_servers": { "restitch": {
                    "source": "custom", "command": "restitch", "args": ["mcp"], "env": {},
                }}})),
            )],
            "Zed shows the server under Agent settings, where it can be switched on.",
        ),
        _ => return None,
    })
}

const CLIENTS: &str = "claude, codex, gemini, cursor, vscode, opencode, zed";

pub(crate) async fn run(common: &Common, args: &InitArgs) -> Exit {
    let Some((files, note)) = client(&args.client.to_ascii_lowercase()) else {
        return Exit::usage(format!("there is no client `{}`; use one of: {CLIENTS}", args.client));
    };
    if !args.write {
        let text: String = files
            .iter()
            .map(|file| format!("# {}\n{}\n", file.path, file.content.printed(None)))
            .collect();
        return said(writeln!(io::stdout().lock(), "{text}# {note}"));
    }
    // Some stores protect these folders from models; the user names them here.
    let mut common = common.clone();
    common.allow_protected.extend(files.iter().map(|file| file.path.to_owned()));
    let toolbox = match settings::toolbox(&common) {
        Ok(toolbox) => toolbox,
        Err(exit) => return exit,
    };
    let mut refused = false;
    for file in &files {
        let line = match merge(toolbox.engine(), file).await {
            Ok(done) => format!("{}: {done}", file.path),
            Err(refusal) => {
                refused = true;
                format!(
                    "{}: not changed: {}\nAdd this by hand:\n{}",
                    file.path,
                    refusal.text(),
                    file.content.printed(None)
                )
            }
        };
        if let Err(error) = writeln!(io::stdout().lock(), "{line}") {
            return Exit::fault(format!("cannot write to stdout: {error}"));
        }
    }
    match said(writeln!(io::stdout().lock(), "{note}")) {
        Exit::Done if refused => Exit::Refused,
        exit => exit,
    }
}

fn said(written: io::Result<()>) -> Exit {
    match written {
        Ok(()) => Exit::Done,
        Err(error) => Exit::fault(format!("cannot write to stdout: {error}")),
    }
}

/// Adds what is missing to one file, through the same store as any edit.
async fn merge(engine: &Engine, file: &File) -> Result<&'static str, Refusal> {
    let path = engine.path(file.path)?;
    let why = Explanation::plain("init");
    let (edit, done) = match engine.snapshot(&path).await {
        Err(refusal) if refusal.code == EditCode::FileNotFound => {
            (VerifiedEdit::create(path, &file.content.printed(None), why)?, "created")
        }
        Err(refusal) => return Err(refusal),
        Ok(snapshot) => {
            let after = file.content.printed_into(snapshot.text())?;
            if after == snapshot.text() {
                return Ok("has it already");
            }
            let plan = EditPlan::whole_file(&snapshot, &after);
            (VerifiedEdit::new(path, &snapshot, plan, why)?, "merged")
        }
    };
    engine.commit(vec![edit], &CallOptions::default()).await?;
    Ok(done)
}

impl Content {
    fn printed(&self, indent: Option<&str>) -> String {
        match self {
            Self::Json(value) => pretty(value, indent.unwrap_or("  ")),
            Self::Toml(tables) => {
                let tables: Vec<_> =
                    tables.iter().map(|(header, body)| format!("{header}\n{body}")).collect();
                tables.join("\n")
            }
            Self::Text(text) => (*text).to_owned(),
        }
    }

    fn printed_into(&self, text: &str) -> Result<String, Refusal> {
        match self {
            Self::Json(ours) => json_merge::with_missing(text, ours, indent_of(text)),
            Self::Toml(tables) => {
                let mut out = text.to_owned();
                for (header, body) in *tables {
                    if !text.lines().any(|line| line.trim() == *header) {
                        let gap = if out.is_empty() || out.ends_with("\n\n") { "" } else { "\n" };
                        let end = if out.is_empty() || out.ends_with('\n') { "" } else { "\n" };
                        out.push_str(&format!("{end}{gap}{header}\n{body}"));
                    }
                }
                toml::from_str::<toml::Table>(&out).map_err(|error| {
                    Refusal::new(
                        EditCode::InvalidArguments,
                        format!("the merged TOML does not parse: {error}"),
                    )
                })?;
                Ok(out)
            }
            // A file of ours is brought up to date.
            Self::Text(ours) => Ok((*ours).to_owned()),
        }
    }
}

pub(super) fn pretty(value: &Value, indent: &str) -> String {
    let mut out = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(indent.as_bytes());
    let mut serializer = serde_json::Serializer::with_formatter(&mut out, formatter);
    match value.serialize(&mut serializer) {
        Ok(()) => String::from_utf8_lossy(&out).into_owned() + "\n",
        Err(_) => format!("{value}\n"),
    }
}

/// The indentation that a JSON file uses.
fn indent_of(text: &str) -> &str {
    let indented = text.lines().find(|line| line.starts_with([' ', '\t']));
    indented.map_or("  ", |line| &line[..line.len() - line.trim_start().len()])
}
