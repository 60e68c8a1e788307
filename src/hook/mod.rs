//! Hooks of other agents: a call of their own edit tool is first tried here, in memory. If the
//! call would fail or write the wrong thing, and the client lets a hook rewrite it, it is
//! rewritten to one that applies exactly; otherwise the model is told what to send.
//!
//! A hook never writes a file, never blocks a call that it does not understand, and
//! stays silent when the call is fine as it is.

mod exact_edit;
mod notes;
mod patch;

use std::path::Path;

use serde_json::{Map, Value, json};

use crate::edit::{EditCode, EditRequest, Expected, Refusal};
use crate::engine::{CallOptions, Engine};
use crate::store::canonical;
use crate::text::Snapshot;
use crate::tools::ToolReply;
use patch::PatchOutcome;

pub(crate) use notes::Notes;

/// Whose hook it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Client {
    /// Gemini CLI: `BeforeTool`, `AfterTool`.
    Gemini,
    /// Codex: `PreToolUse`, `PostToolUse` on `apply_patch`.
    Codex,
    /// Claude Code: `PreToolUse`, `PostToolUseFailure`, `PostToolBatch`.
    Claude,
    /// VS Code: `PreToolUse`, `PostToolUse`.
    VsCode,
    /// opencode, through its plugin: `tool.execute.before`, `tool.execute.after`.
    Opencode,
}

impl Client {
    /// Every client.
    pub(crate) const ALL: &[Self] =
        &[Self::Gemini, Self::Codex, Self::Claude, Self::VsCode, Self::Opencode];

    /// The name on the command line.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Gemini => "gemini",
            Self::Codex => "codex",
            Self::Claude => "claude",
            Self::VsCode => "vscode",
            Self::Opencode => "opencode",
        }
    }

    /// The client of that name.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        let name = name.strip_suffix("-code").filter(|n| *n == "claude").unwrap_or(&name);
        Self::ALL.iter().copied().find(|client| client.as_str() == name)
    }
}

/// Where in the call's life a hook fires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HookPhase {
    Before,
    After,
    Batch,
}

fn phase_of(event: &str) -> Option<HookPhase> {
    let letters: String = event.chars().filter(char::is_ascii_alphanumeric).collect();
    match letters.to_ascii_lowercase().as_str() {
        "beforetool" | "pretooluse" | "toolexecutebefore" => Some(HookPhase::Before),
        "aftertool" | "posttooluse" | "posttoolusefailure" | "toolexecuteafter" => {
            Some(HookPhase::After)
        }
        "posttoolbatch" => Some(HookPhase::Batch),
        _ => None,
    }
}

/// The folder that the client works in, as its hook says.
pub(crate) fn workspace(input: &Value) -> Option<&str> {
    let roots = input.get("workspace_roots").and_then(|roots| roots.get(0));
    input.get("cwd").or(roots).and_then(Value::as_str)
}

/// What the hook prints; `None` for nothing, which lets the call go on as it is.
pub(crate) async fn respond(
    client: Client,
    event: &str,
    input: &Value,
    engine: &Engine,
    notes: &Notes,
) -> Option<Value> {
    let name = input.get("hook_event_name").or_else(|| input.get("hookEventName"));
    let name = name.and_then(Value::as_str).unwrap_or(event);
    let calls: Vec<&Value> = match phase_of(event)? {
        HookPhase::Batch => input.get("tool_calls")?.as_array()?.iter().collect(),
        _ => vec![input],
    };
    let mut context = Vec::new();
    for call in calls {
        let tool = call.get("tool_name").and_then(Value::as_str)?;
        let given = call.get("tool_input")?;
        if phase_of(event)? == HookPhase::Before {
            let answer = before(client, name, tool, given, engine).await;
            if client == Client::Gemini
                && let Some(answer) = &answer
            {
                notes.save(input, answer);
            }
            return answer;
        }
        let note = if client == Client::Gemini { notes.take(input, given) } else { None };
        if failed(call) {
            context.extend(advice(tool, given, engine).await);
        } else {
            context.extend(note);
        }
    }
    (!context.is_empty()).then(|| add_context(client, name, &context.join("\n\n")))
}

/// Whether the client's own tool failed to make the edit, as far as its answer says.
fn failed(call: &Value) -> bool {
    if call.get("error").is_some_and(|error| !error.is_null()) {
        return true;
    }
    let Some(response) = call.get("tool_response") else { return true };
    if response.get("error").is_some_and(|error| !error.is_null())
        || response.get("is_error").is_some_and(|flag| flag == true)
    {
        return true;
    }
    let text = response.to_string();
    const SIGNS: &[&str] = &[
        "tool_use_error",
        "String to replace not found",
        "verification failed",
        "Failed to edit",
        "Could not find oldString",
        "Found multiple matches",
        "could not find",
        "is_error\":true",
    ];
    SIGNS.iter().any(|sign| text.contains(sign))
}

/// An edit in the terms of the client's own tool.
struct ClientEdit {
    /// The tool, as the client names it.
    tool: &'static str,
    /// The names of the tool's fields for the old and the new text.
    fields: (&'static str, &'static str),
    path: String,
    request: EditRequest,
}

/// The fields of each client's edit tool: path, old, new, "all of them".
const TOOLS: &[(&[&str], [&str; 4])] = &[
    (&["replace"], ["file_path", "old_string", "new_string", "allow_multiple"]),
    (&["Edit"], ["file_path", "old_string", "new_string", "replace_all"]),
    // Copilot CLI, which runs the hooks of Claude Code's settings too.
    (&["Edit", "edit"], ["path", "old_str", "new_str", "replace_all"]),
    (
        &["replace_string_in_file", "replaceStringInFile"],
        ["filePath", "oldString", "newString", "replaceAll"],
    ),
    (&["edit"], ["filePath", "oldString", "newString", "replaceAll"]),
];

fn parse_edit(tool: &str, given: &Value) -> Option<ClientEdit> {
    let (names, [path, old, new, all]) = TOOLS
        .iter()
        .find(|(names, [path, ..])| names.contains(&tool) && given.get(path).is_some())?;
    let tool = names.iter().find(|name| **name == tool)?;
    let text = |name: &str| given.get(name).and_then(Value::as_str).map(str::to_owned);
    let mut request = EditRequest::new(text(old)?, text(new)?);
    let count = given.get("expected_replacements").and_then(Value::as_u64).unwrap_or(1);
    if given.get(all).is_some_and(|flag| flag == true) {
        request = request.expecting(Expected::All);
    } else if let Some(count) = usize::try_from(count).ok().and_then(std::num::NonZeroUsize::new) {
        request = request.expecting(Expected::Exactly(count));
    }
    Some(ClientEdit { tool, fields: (old, new), path: text(path)?, request })
}

/// How a call comes out here.
enum TrialOutcome {
    /// The client's own tool does the same.
    Unchanged,
    /// It applies, but only in this form.
    Rewritten { old: String, new: String, how: String },
    /// It does not apply, and why.
    Refused(Box<Refusal>),
}

async fn try_edit(engine: &Engine, edit: &ClientEdit) -> Option<TrialOutcome> {
    let path = engine.path(&path_in_root(engine.root(), &edit.path)).ok()?;
    let before = match engine.snapshot(&path).await {
        Ok(before) => before,
        Err(_) => return None,
    };
    if edit.request.old.is_empty() {
        return None;
    }
    let layer = engine.staged();
    let report = match layer.edit_file(&path, &edit.request, &CallOptions::default()).await {
        Ok(report) => report,
        Err(refusal) => {
            let reply = ToolReply::refused(refusal.clone());
            engine.record_call(edit.tool, Some(refusal.code.as_str()), &reply.report);
            return Some(TrialOutcome::Refused(Box::new(refusal)));
        }
    };
    engine.record_call(edit.tool, None, &ToolReply::edited(&report).report);
    let after = layer.snapshot(&path).await.ok()?;
    if apply_like_client(&before, &edit.request).as_deref() == Some(after.text()) {
        return Some(TrialOutcome::Unchanged);
    }
    let (old, new) = exact_edit::between(&before, &after)?;
    let e = &report.explanation;
    let how = match e.rewrites.is_empty() {
        true => e.rung.to_string(),
        false => format!("{}: {}", e.rung, e.rewrite_list()),
    };
    Some(TrialOutcome::Rewritten { old, new, how })
}

/// What the clients' own tools do: they take the strings as they are, and read and write a
/// file of CRLF lines as if its lines ended in LF.
fn apply_like_client(before: &Snapshot, request: &EditRequest) -> Option<String> {
    let crlf = before.line_ending() == "crlf";
    let read = |text: &str| if crlf { text.replace("\r\n", "\n") } else { text.to_owned() };
    let (text, old, new) = (read(before.text()), read(&request.old), read(&request.new));
    let count = text.matches(&old).count();
    let fits = match request.expected {
        Expected::All => count > 0,
        Expected::Exactly(wanted) => count == wanted.get(),
    };
    let after = fits.then(|| text.replace(&old, &new))?;
    Some(if crlf { after.replace('\n', "\r\n") } else { after })
}

/// Whether the edit itself is refused, and not the path, the type or the protection of the file,
/// which are left to the client.
fn is_about_the_edit(code: EditCode) -> bool {
    !matches!(
        code,
        EditCode::InvalidPath
            | EditCode::FileNotFound
            | EditCode::ReadError
            | EditCode::WriteError
            | EditCode::CreateExisting
            | EditCode::Conflict
            | EditCode::NotText
            | EditCode::TooLarge
            | EditCode::Blocked
            | EditCode::Unencodable
            | EditCode::InvalidArguments
    )
}

/// Whether a call that is refused here must not reach the client's own tool. Some of these
/// tools look for similar text and would write to the wrong place; the others only ever take
/// the text as it is, and need to be held back only from what would spoil the file.
fn is_denied(client: Client, code: EditCode) -> bool {
    match client {
        Client::Gemini | Client::Codex | Client::Opencode => is_about_the_edit(code),
        Client::Claude | Client::VsCode => matches!(code, EditCode::Omission | EditCode::Syntax),
    }
}

/// The path as the engine takes it, when the client's root is another name for ours.
fn path_in_root(root: &Path, raw: &str) -> String {
    let resolved = canonical(Path::new(raw)).ok();
    match resolved.as_deref().and_then(|full| full.strip_prefix(root).ok()).and_then(Path::to_str) {
        Some(inside) => inside.to_owned(),
        None => raw.to_owned(),
    }
}

async fn before(
    client: Client,
    event: &str,
    tool: &str,
    given: &Value,
    engine: &Engine,
) -> Option<Value> {
    if tool == "apply_patch" {
        return match patch::try_patch(given, engine).await? {
            PatchOutcome::Unchanged => None,
            PatchOutcome::Rewritten(field, fixed) => {
                let mut input = given.as_object()?.clone();
                input.insert(field.to_owned(), fixed.into());
                Some(rewrite(client, event, input, "its lines are now as in the files"))
            }
            PatchOutcome::Refused(refusal) => denial(client, event, &refusal),
        };
    }
    let edit = parse_edit(tool, given)?;
    match try_edit(engine, &edit).await? {
        TrialOutcome::Unchanged => None,
        TrialOutcome::Rewritten { old, new, how } => {
            let mut input = given.as_object()?.clone();
            input.insert(edit.fields.0.to_owned(), old.into());
            input.insert(edit.fields.1.to_owned(), new.into());
            // The rewritten text is one place, whatever the call counted.
            if input.contains_key("expected_replacements") {
                input.insert("expected_replacements".to_owned(), 1.into());
            }
            for all in ["allow_multiple", "replace_all", "replaceAll"] {
                if input.contains_key(all) {
                    input.insert(all.to_owned(), false.into());
                }
            }
            Some(rewrite(client, event, input, &how))
        }
        TrialOutcome::Refused(refusal) => denial(client, event, &refusal),
    }
}

fn denial(client: Client, event: &str, refusal: &Refusal) -> Option<Value> {
    is_denied(client, refusal.code).then(|| deny(client, event, &refusal.text()))
}

/// The rewritten call in the client's form.
fn rewrite(client: Client, event: &str, input: Map<String, Value>, how: &str) -> Value {
    let reason = correction_note(how);
    match client {
        Client::Gemini => json!({
            "decision": "allow",
            "reason": reason,
            "hookSpecificOutput": { "hookEventName": event, "tool_input": input },
        }),
        // Codex takes a rewrite only with `allow`.
        Client::Codex => json!({ "hookSpecificOutput": {
            "hookEventName": event,
            "permissionDecision": "allow",
            "updatedInput": input,
            "additionalContext": reason,
        }}),
        // Without a decision, the user's own mode decides about the rewritten call.
        Client::Claude | Client::VsCode => json!({ "hookSpecificOutput": {
            "hookEventName": event,
            "updatedInput": input,
            "additionalContext": reason,
        }}),
        Client::Opencode => json!({ "args": input, "note": reason }),
    }
}

/// What the model is told about a call that was rewritten.
fn correction_note(how: &str) -> String {
    format!(
        "restitch corrected your edit before it ran: the old and the new text were adapted to the file ({how})."
    )
}

fn deny(client: Client, event: &str, reason: &str) -> Value {
    match client {
        Client::Gemini => json!({ "decision": "deny", "reason": reason }),
        Client::Codex | Client::Claude | Client::VsCode => json!({ "hookSpecificOutput": {
            "hookEventName": event,
            "permissionDecision": "deny",
            "permissionDecisionReason": reason,
        }}),
        Client::Opencode => json!({ "deny": reason }),
    }
}

fn add_context(client: Client, event: &str, text: &str) -> Value {
    match client {
        Client::Opencode => json!({ "context": text }),
        _ => json!({ "hookSpecificOutput": { "hookEventName": event, "additionalContext": text } }),
    }
}

/// The most that a hook says to a model.
const MAX_ADVICE: usize = 4_000;

/// What to tell the model about a call that its own tool refused.
async fn advice(tool: &str, given: &Value, engine: &Engine) -> Option<String> {
    let text = if tool == "apply_patch" {
        match patch::try_patch(given, engine).await? {
            PatchOutcome::Unchanged => return None,
            PatchOutcome::Rewritten(_, fixed) => {
                format!("restitch found where the patch belongs. Send this patch:\n{fixed}")
            }
            PatchOutcome::Refused(refusal) => format!("restitch on the patch: {}", refusal.text()),
        }
    } else {
        let edit = parse_edit(tool, given)?;
        let (old_name, new_name) = edit.fields;
        match try_edit(engine, &edit).await? {
            TrialOutcome::Unchanged => return None,
            TrialOutcome::Rewritten { old, new, how } => format!(
                "restitch found the text in another form ({how}). Send the edit again with exactly these.\n{old_name}:\n{old}\n{new_name}:\n{new}"
            ),
            TrialOutcome::Refused(refusal) => {
                format!("restitch on {}: {}", edit.path, refusal.text())
            }
        }
    };
    Some(match text.char_indices().nth(MAX_ADVICE) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    })
}
