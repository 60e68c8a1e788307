//! Hooks of other agents: each call of an agent's own edit tool is first tried here, in memory. If
//! it would fail or write the wrong text, the hook rewrites the call to one that applies exactly,
//! or denies it and says what to send.
//!
//! A hook never writes a file of the project, never blocks a call that it does not understand, and
//! prints nothing when the call is fine as sent.

mod exact_edit;
mod notes;
mod patch;

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::edit::{EditCode, EditRequest, Expected, Refusal};
use crate::engine::{CallOptions, Engine};
use crate::store::canonical;
use crate::text::{Snapshot, clip};
use crate::tools::Words;

pub(crate) use notes::Notes;

named! {
    /// The agent that runs the hook.
    pub(crate) enum Client {
        /// Gemini CLI: `BeforeTool`, `AfterTool`.
        Gemini = "gemini",
        /// Codex: `PreToolUse`, `PostToolUse` on `apply_patch`.
        Codex = "codex",
        /// Claude Code: `PreToolUse`, `PostToolUseFailure`, `PostToolBatch`.
        Claude = "claude",
        /// VS Code: `PreToolUse`, `PostToolUse`.
        VsCode = "vscode",
        /// opencode, through its plugin: `tool.execute.before`, `tool.execute.after`.
        Opencode = "opencode",
    }
}

impl Client {
    /// The client that an argument names, in any case; `claude-code` is `claude`.
    pub(crate) fn of_argument(name: &str) -> Result<Self, String> {
        let name = name.to_ascii_lowercase();
        let stem = name.strip_suffix("-code").filter(|stem| *stem == "claude");
        Self::named("client", stem.unwrap_or(&name))
    }
}

/// When a hook runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HookPhase {
    /// Before a call.
    Before,
    /// After a call.
    After,
    /// After several calls.
    Batch,
}

/// The phase of a client's event; `None` for an event that restitch does not handle.
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

/// Whether a hook may grant permission for a call that it corrects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Permission {
    /// The user chose so.
    Granted,
    /// The client asks as it would without the hook.
    AsBefore,
}

/// The folder that the client works in, as named in the hook's input.
pub(crate) fn workspace(input: &Value) -> Option<&str> {
    let roots = input.get("workspace_roots").and_then(|roots| roots.get(0));
    input.get("cwd").or(roots).and_then(Value::as_str)
}

/// The answer that the hook prints. `None` prints nothing, which leaves the call as it is.
pub(crate) async fn respond(
    client: Client,
    event: &str,
    input: &Value,
    engine: &Engine,
    notes: &Notes,
    permission: Permission,
) -> Option<Value> {
    // The answer repeats the event's name as the input gives it.
    let name_in_input = input.get("hook_event_name").or_else(|| input.get("hookEventName"));
    let event_name = name_in_input.and_then(Value::as_str).unwrap_or(event);
    let calls: Vec<&Value> = match phase_of(event)? {
        HookPhase::Batch => input.get("tool_calls")?.as_array()?.iter().collect(),
        _ => vec![input],
    };
    let mut context = Vec::new();
    for call in calls {
        let tool = call.get("tool_name").and_then(Value::as_str)?;
        let arguments = call.get("tool_input")?;
        if phase_of(event)? == HookPhase::Before {
            let answer =
                answer_before(client, event_name, tool, arguments, engine, permission).await;
            if client == Client::Gemini
                && let Some(answer) = &answer
            {
                notes.save(input, answer);
            }
            return answer;
        }
        let note = if client == Client::Gemini { notes.take(input, arguments) } else { None };
        if has_failed(call) {
            context.extend(advice(tool, arguments, engine).await);
        } else {
            context.extend(note);
        }
    }
    (!context.is_empty()).then(|| context_answer(client, event_name, &context.join("\n\n")))
}

/// Whether the answer of the client's own tool says that the edit failed. A call without an answer
/// counts as failed.
fn has_failed(call: &Value) -> bool {
    let is_error = call.get("error").is_some_and(|error| !error.is_null());
    is_error || call.get("tool_response").is_none_or(is_failure)
}

/// How the answer of an edit tool begins if the edit failed. What comes later may be text of the file.
const FAILURE_STARTS: &[&str] = &[
    "<tool_use_error>",
    "apply_patch verification failed",
    "Could not find oldString",
    "ERROR",
    "Error",
    "Failed to edit",
    "Found multiple matches",
    "String to replace not found",
];

/// Whether a tool's response has the form of a failure: a field that says so, or a text that begins as
/// one.
fn is_failure(response: &Value) -> bool {
    match response {
        Value::Object(fields) => {
            let is_set = |name: &str| fields.get(name).is_some_and(|flag| flag == true);
            let exit_code = fields.get("metadata").and_then(|metadata| metadata.get("exit_code"));
            fields.get("error").is_some_and(|error| !error.is_null())
                || is_set("is_error")
                || is_set("isError")
                || fields.get("success").is_some_and(|flag| flag == false)
                || exit_code.is_some_and(|code| code != 0)
        }
        // Content in parts, of which the first begins the answer.
        Value::Array(parts) => {
            parts.first().and_then(|part| part.get("text")).is_some_and(is_failure)
        }
        Value::String(text) => match serde_json::from_str::<Value>(text) {
            Ok(object @ Value::Object(_)) => is_failure(&object),
            _ => FAILURE_STARTS.iter().any(|start| text.trim_start().starts_with(start)),
        },
        _ => false,
    }
}

/// A call of the client's own edit tool.
struct ClientEdit {
    /// The names of the tool's fields for the old and the new text.
    fields: (&'static str, &'static str),
    /// The names of the tool's arguments, for messages.
    words: Words,
    path: String,
    request: EditRequest,
}

/// The names of each client's edit tool, and its fields for the path, the old text, the new text
/// and "replace all".
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

/// Reads a call of a client's edit tool; `None` for any other tool.
fn parse_edit(tool: &str, arguments: &Value) -> Option<ClientEdit> {
    let (_, fields @ [path_field, old_field, new_field, all_field]) =
        TOOLS.iter().find(|(names, [path_field, ..])| {
            names.contains(&tool) && arguments.get(path_field).is_some()
        })?;
    let text = |name: &str| arguments.get(name).and_then(Value::as_str).map(str::to_owned);
    let mut request = EditRequest::new(text(old_field)?, text(new_field)?);
    let count = arguments.get("expected_replacements").and_then(Value::as_u64).unwrap_or(1);
    if arguments.get(all_field).is_some_and(|flag| flag == true) {
        request = request.expecting(Expected::All);
    } else if let Some(count) = usize::try_from(count).ok().and_then(std::num::NonZeroUsize::new) {
        request = request.expecting(Expected::Exactly(count));
    }
    let words = Words::of_client_tool(fields);
    Some(ClientEdit { fields: (old_field, new_field), words, path: text(path_field)?, request })
}

/// What restitch makes of a client's call.
enum TrialOutcome {
    /// The client's own tool applies it in the same way.
    Unchanged,
    /// It applies only with these texts in its fields: a patch, or the old and the new text. `how` names
    /// the corrections.
    Rewritten { fields: Vec<(&'static str, String)>, how: String },
    /// It does not apply, for this reason.
    Refused(Box<Refusal>),
}

/// Tries a call in memory. Returns what it edits, the names of its arguments, and the outcome; `None` for
/// a call that restitch does not understand.
async fn try_call(
    tool: &str,
    arguments: &Value,
    engine: &Engine,
) -> Option<(String, Words, TrialOutcome)> {
    if tool == "apply_patch" {
        let outcome = patch::try_patch(arguments, engine).await?;
        return Some(("the patch".to_owned(), Words::of_client_tool(&["patch"]), outcome));
    }
    let edit = parse_edit(tool, arguments)?;
    let outcome = try_edit(engine, &edit).await?;
    Some((edit.path, edit.words, outcome))
}

/// Tries an edit in memory; `None` if the file cannot be read, if the old text is empty, or if no old
/// text that the client's tool would find gives the same result.
async fn try_edit(engine: &Engine, edit: &ClientEdit) -> Option<TrialOutcome> {
    let path = engine.path(&path_in_root(engine.root(), &edit.path)).ok()?;
    let before = engine.snapshot(&path).await.ok()?;
    if edit.request.old.is_empty() {
        return None;
    }
    let trial = engine.staged();
    let report = match trial.edit_file(&path, &edit.request, &CallOptions::default()).await {
        Ok(report) => report,
        Err(refusal) => return Some(TrialOutcome::Refused(Box::new(refusal))),
    };
    let after = trial.snapshot(&path).await.ok()?;
    if apply_like_client(&before, &edit.request).as_deref() == Some(after.text()) {
        return Some(TrialOutcome::Unchanged);
    }
    let (old, new) = exact_edit::between(&before, &after)?;
    let explanation = &report.explanation;
    let how = if explanation.rewrites.is_empty() {
        explanation.rung.to_string()
    } else {
        format!("{}: {}", explanation.rung, explanation.rewrite_list())
    };
    let (old_name, new_name) = edit.fields;
    Some(TrialOutcome::Rewritten { fields: vec![(old_name, old), (new_name, new)], how })
}

/// The file after an edit by a client's own tool, or `None` if that tool refuses the edit. These
/// tools match the text exactly, and treat the lines of a CRLF file as if they ended in LF.
fn apply_like_client(before: &Snapshot, request: &EditRequest) -> Option<String> {
    let has_crlf = before.line_ending() == "crlf";
    let with_lf = |text: &str| if has_crlf { text.replace("\r\n", "\n") } else { text.to_owned() };
    let (text, old) = (with_lf(before.text()), with_lf(&request.old));
    let new = with_lf(&request.new);
    let count = text.matches(&old).count();
    let count_is_expected = match request.expected {
        Expected::All => count > 0,
        Expected::Exactly(expected) => count == expected.get(),
    };
    let after = count_is_expected.then(|| text.replace(&old, &new))?;
    Some(if has_crlf { after.replace('\n', "\r\n") } else { after })
}

/// Whether the refusal is about the edit itself. Refusals about the path, the type or the
/// protection of a file are left to the client.
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

/// Whether to deny a call that restitch refuses with `code`. Some clients' tools look for similar
/// text and might write to the wrong place. The others match exactly, so only edits that would
/// damage the file are denied.
fn is_denied(client: Client, code: EditCode) -> bool {
    match client {
        Client::Gemini | Client::Codex | Client::Opencode => is_about_the_edit(code),
        Client::Claude | Client::VsCode => matches!(code, EditCode::Omission | EditCode::Syntax),
    }
}

/// The path `raw` relative to `root` if it leads to a file below `root`, even through a symbolic link;
/// otherwise `raw` as it is.
fn path_in_root(root: &Path, raw: &str) -> String {
    let resolved = canonical(Path::new(raw)).ok();
    match resolved.as_deref().and_then(|full| full.strip_prefix(root).ok()).and_then(Path::to_str) {
        Some(relative) => relative.to_owned(),
        None => raw.to_owned(),
    }
}

/// The files that a call of a client's edit tool names.
fn paths_in(tool: &str, arguments: &Value) -> BTreeSet<String> {
    if tool == "apply_patch" {
        return patch::paths_in(arguments);
    }
    let names = ["file_path", "path", "filePath"];
    names.iter().filter_map(|name| Some(arguments.get(name)?.as_str()?.to_owned())).collect()
}

/// The answer of a hook that runs before a call.
async fn answer_before(
    client: Client,
    event: &str,
    tool: &str,
    arguments: &Value,
    engine: &Engine,
    permission: Permission,
) -> Option<Value> {
    if let Some(refusal) =
        paths_in(tool, arguments).iter().find_map(|path| engine.refuse_main_checkout(path))
    {
        return Some(denying_answer(client, event, &refusal.text()));
    }
    let (_, words, outcome) = try_call(tool, arguments, engine).await?;
    match outcome {
        TrialOutcome::Unchanged => None,
        // Codex accepts a rewritten call only with `allow`, which would answer the question that the
        // user is asked. So the model sends a corrected patch itself.
        TrialOutcome::Rewritten { fields, .. }
            if client == Client::Codex && permission == Permission::AsBefore =>
        {
            let [(_, patch)] = &fields[..] else { return None };
            (patch.len() <= MAX_RESENT).then(|| {
                denying_answer(client, event, &format!(
                    "This patch does not apply as sent. restitch found where it belongs. Send this patch:\n{patch}"
                ))
            })
        }
        TrialOutcome::Rewritten { fields, how } => {
            let mut input = arguments.as_object()?.clone();
            input.extend(fields.into_iter().map(|(name, text)| (name.to_owned(), text.into())));
            // The rewritten old text occurs once, even if the call replaces several occurrences.
            if input.contains_key("expected_replacements") {
                input.insert("expected_replacements".to_owned(), 1.into());
            }
            for flag in ["allow_multiple", "replace_all", "replaceAll"] {
                if input.contains_key(flag) {
                    input.insert(flag.to_owned(), false.into());
                }
            }
            Some(rewriting_answer(client, event, input, &how))
        }
        // The client's own tool may decide about what is not denied.
        TrialOutcome::Refused(refusal) => is_denied(client, refusal.code)
            .then(|| denying_answer(client, event, &words.refused(*refusal).message)),
    }
}

/// The answer that rewrites a call, in the client's format.
fn rewriting_answer(client: Client, event: &str, input: Map<String, Value>, how: &str) -> Value {
    let reason = format!(
        "restitch corrected your edit before it ran: the old and the new text were adapted to the file ({how})."
    );
    match client {
        Client::Gemini => json!({
            "decision": "allow",
            "reason": reason,
            "hookSpecificOutput": { "hookEventName": event, "tool_input": input },
        }),
        Client::Codex => json!({ "hookSpecificOutput": {
            "hookEventName": event,
            "permissionDecision": "allow",
            "updatedInput": input,
            "additionalContext": reason,
        }}),
        // No decision: the user's permission mode applies to the rewritten call.
        Client::Claude | Client::VsCode => json!({ "hookSpecificOutput": {
            "hookEventName": event,
            "updatedInput": input,
            "additionalContext": reason,
        }}),
        Client::Opencode => json!({ "args": input, "note": reason }),
    }
}

/// The answer that denies a call, in the client's format.
fn denying_answer(client: Client, event: &str, reason: &str) -> Value {
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

/// The answer that adds a text for the model, in the client's format.
fn context_answer(client: Client, event: &str, text: &str) -> Value {
    match client {
        Client::Opencode => json!({ "context": text }),
        _ => json!({ "hookSpecificOutput": { "hookEventName": event, "additionalContext": text } }),
    }
}

/// The longest patch in bytes that a model is told to send instead of its own.
const MAX_RESENT: usize = 16 << 10;

/// The most characters of advice for a model.
const MAX_ADVICE: usize = 4_000;

/// Advice for the model about a call that the client's own tool refused.
async fn advice(tool: &str, arguments: &Value, engine: &Engine) -> Option<String> {
    let (edited, words, outcome) = try_call(tool, arguments, engine).await?;
    let text = match outcome {
        TrialOutcome::Unchanged => return None,
        TrialOutcome::Rewritten { fields, how } => match &fields[..] {
            [(_, patch)] => {
                format!("restitch found where the patch belongs. Send this patch:\n{patch}")
            }
            fields => {
                let texts = fields.iter().map(|(name, text)| format!("\n{name}:\n{text}"));
                format!(
                    "restitch found the text in another form ({how}). Send the edit again with exactly these.{}",
                    texts.collect::<String>()
                )
            }
        },
        TrialOutcome::Refused(refusal) => {
            format!("restitch on {edited}: {}", words.refused(*refusal).message)
        }
    };
    Some(clip(&text, MAX_ADVICE))
}
