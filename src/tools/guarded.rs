//! Calls in guarded sessions: the guard checks each call before it runs, and records its outcome.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value, json};

use super::{ToolCall, ToolReply, ToolSpec, Visibility, Words, parse, schema};
use crate::edit::{EditCode, Message, Refusal};
use crate::engine::Engine;
use crate::patch::Patch;
use crate::session::{CallOutcome, FileHash, Guard, GuardPolicy, GuardVerdict, GuardedCall};

/// `task_complete`, which guarded sessions list and [`GuardedCalls`] answers.
pub(super) const TASK_COMPLETE: ToolSpec = ToolSpec {
    name: "task_complete",
    about: "Ends the task. Refused until the project has been explored, every edit is verified in its file, and what you say is changed is changed.",
    input: schema::input::<TaskCompleteArguments>,
    output: || schema::reply(json!({ "type": "object" })),
    visibility: Visibility::Guarded,
    writes: false,
    run: |_| {
        Box::pin(async {
            Err(Refusal::new(
                EditCode::Blocked,
                "this session has no guard, so there is nothing to complete",
            )
            .hint("Start the server with --guard, or just end your answer."))
        })
    },
};

/// The arguments.
#[derive(Debug, Clone, serde::Deserialize, schemars::JsonSchema)]
struct TaskCompleteArguments {
    /// What was done, in a few sentences.
    summary: String,
    /// The files that you changed; [] if the task needed no change.
    #[expect(dead_code, reason = "the guard reads it, with the paths as the project has them")]
    files_changed: Option<Vec<String>>,
}

/// A session's guard, shared by its calls.
#[derive(Debug, Clone)]
pub(super) struct GuardedCalls {
    guard: Arc<Mutex<Guard>>,
}

impl GuardedCalls {
    /// A new guard with this policy.
    pub(super) fn new(policy: GuardPolicy) -> Self {
        Self { guard: Arc::new(Mutex::new(Guard::new(policy))) }
    }

    /// Locks the guard.
    pub(super) fn guard(&self) -> MutexGuard<'_, Guard> {
        // Each change is one method call, so a panic elsewhere cannot leave the guard half changed.
        self.guard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a call if the guard's rules allow it, and records its outcome in the guard. Returns the
    /// result, and the warnings of rules that only warn. `line_tool` is the tool of the session that
    /// takes anchors.
    pub(super) async fn run(
        &self,
        tool: &ToolSpec,
        call: ToolCall<'_>,
        line_tool: Option<&'static str>,
        words: &Words,
    ) -> (Result<ToolReply, Refusal>, Vec<Message>) {
        let mut paths = paths_of(call.arguments);
        let mut arguments = call.arguments.clone();
        if tool.name == TASK_COMPLETE.name {
            if let Some(claims) = claims(call.engine, call.arguments).await {
                arguments.insert("files_changed".to_owned(), claims.into());
            }
            paths.extend(self.guard().edited().keys().cloned());
        }
        let files = file_states(call.engine, paths).await;
        let guarded_call = GuardedCall {
            tool: tool.name,
            arguments: &arguments,
            writes: tool.writes,
            files: &files,
            line_tool,
        };
        let verdict = self.guard().check(&guarded_call);
        let warnings = match verdict {
            GuardVerdict::Pass(warnings) => warnings,
            GuardVerdict::Refuse { rule, code, error, hint } => {
                let mut guard = self.guard();
                guard.record_refusal(&guarded_call);
                if rule == "unresolved_edit" {
                    guard.record_unresolved_reported();
                }
                return (blocked(tool.name, code, error, hint, words), Vec::new());
            }
        };
        let result = if tool.name == TASK_COMPLETE.name {
            self.complete(call.arguments, &warnings)
        } else {
            (tool.run)(call).await
        };
        if !call.options.dry_run {
            let reply = result.clone().unwrap_or_else(|refusal| words.refused(refusal));
            let outcome = CallOutcome {
                ok: reply.ok,
                code: reply.code,
                message: &reply.message,
                report: &reply.report,
            };
            self.guard().record(&guarded_call, &outcome);
        }
        (result, warnings)
    }

    /// The answer to `task_complete`, once the rules allow it.
    fn complete(
        &self,
        arguments: &Map<String, Value>,
        warnings: &[Message],
    ) -> Result<ToolReply, Refusal> {
        let given: TaskCompleteArguments = parse(TASK_COMPLETE.name, arguments)?;
        let report = self.guard().completion_report(&given.summary, warnings);
        let changed: Vec<&str> = report["files_changed"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|file| file["path"].as_str())
            .collect();
        // The message lists the changed files themselves; the summary may be wrong about them.
        let message = match changed.as_slice() {
            [] => "Completed; no file was changed.".to_owned(),
            paths => {
                format!("Completed; these files were changed and verified: {}.", paths.join(", "))
            }
        };
        Ok(ToolReply::answered(message, report))
    }
}

/// The refusal of a call that a rule forbids; that of `task_complete` has its own form of report.
fn blocked(
    tool: &str,
    code: EditCode,
    error: Message,
    hint: Message,
    words: &Words,
) -> Result<ToolReply, Refusal> {
    // An error may end with advice, too.
    let error = error.advice_in_words(words).unwrap_or_default();
    if tool != TASK_COMPLETE.name {
        return Err(Refusal::new(code, error).hint(hint));
    }
    let hint = hint.advice_in_words(words);
    let next = hint.as_ref().map(|hint| format!("\nNext: {hint}")).unwrap_or_default();
    let message = format!("{error}{next}");
    let mut report = json!({ "acknowledged": false, "error": error });
    if let Some(hint) = hint {
        report["hint"] = hint.to_string().into();
    }
    Ok(ToolReply { ok: false, code: Some(code), message, report })
}

/// Every path that a call names: in `path`, `file_path` and `rename` at any depth, and in `patch`.
pub(crate) fn paths_of(arguments: &Map<String, Value>) -> BTreeSet<String> {
    /// Adds the paths in `value`, at any depth, to `out`.
    fn collect_paths(value: &Value, out: &mut BTreeSet<String>) {
        match value {
            Value::Object(object) => {
                for (name, value) in object {
                    match value {
                        Value::String(path)
                            if matches!(name.as_str(), "path" | "file_path" | "rename") =>
                        {
                            out.insert(path.clone());
                        }
                        other => collect_paths(other, out),
                    }
                }
            }
            Value::Array(items) => items.iter().for_each(|item| collect_paths(item, out)),
            _ => {}
        }
    }
    let mut out = BTreeSet::new();
    collect_paths(&Value::Object(arguments.clone()), &mut out);
    if let Some(patch) = arguments.get("patch").and_then(Value::as_str)
        && let Ok(patch) = Patch::parse(patch, None)
    {
        out.extend(patch.files.into_iter().map(|file| file.path));
    }
    out
}

/// The files that a `task_complete` says it has changed: those that it lists or, without a list, those
/// of the project that its summary names. `None` if there are none.
async fn claims(engine: &Engine, arguments: &Map<String, Value>) -> Option<Vec<String>> {
    let in_project = |raw: &str| engine.path(raw).ok().map(|path| path.as_str().to_owned());
    if let Some(listed) = arguments.get("files_changed").and_then(Value::as_array) {
        let paths = listed.iter().filter_map(Value::as_str);
        return Some(paths.map(|raw| in_project(raw).unwrap_or_else(|| raw.to_owned())).collect());
    }
    let summary = arguments.get("summary").and_then(Value::as_str)?;
    let is_mark = |c: char| c.is_whitespace() || "`'\"()[]{}<>,;:!?*".contains(c);
    let words = summary.split(is_mark).map(|word| word.trim_end_matches('.'));
    let named = words.filter(|word| word.contains(['.', '/'])).take(MAX_NAMED);
    let files = file_states(engine, named.map(str::to_owned).collect()).await;
    let existing: Vec<String> =
        files.into_iter().filter(|(_, hash)| hash.is_some()).map(|(path, _)| path).collect();
    (!existing.is_empty()).then_some(existing)
}

/// At most so many words of a summary are looked for as files.
const MAX_NAMED: usize = 64;

/// The hash of each file, or `None` if the file cannot be read.
async fn file_states(engine: &Engine, paths: BTreeSet<String>) -> BTreeMap<String, FileHash> {
    let mut out = BTreeMap::new();
    for raw in paths {
        let Ok(path) = engine.path(&raw) else { continue };
        let state = engine.snapshot(&path).await.ok().map(|snapshot| snapshot.hash());
        out.insert(path.as_str().to_owned(), state);
    }
    out
}
