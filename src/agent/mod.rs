//! The reference agent: a small loop of model turns and guarded tool calls.
//!
//! It is an example to copy, made of the public API: [`Toolbox`] executes and guards the calls of the
//! model, and declares the tools.

mod turn;

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};

use crate::adapters::openai::OpenAi;
use crate::edit::{EditCode, file_diff};
use crate::engine::CallOptions;
use crate::text::Snapshot;
use crate::tools::{ToolReply, ToolSpec, Toolbox, paths_of};
use turn::{ToolUse, Turn};

const SYSTEM: &str = include_str!("../../prompts/agent.md");
/// The most characters of a tool's answer that the model sees.
const MAX_ANSWER: usize = 30_000;
/// How often a model that answers without a tool call is reminded of the tools.
const MAX_REMINDERS: usize = 3;

/// An event in a run, for an observer.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub(crate) enum AgentEvent<'a> {
    /// A turn begins: its number and the limit.
    TurnStarted(usize, usize),
    /// The model said something.
    Text(&'a str),
    /// The model was reminded to go on with the tools.
    Reminder(&'a str),
    /// A tool was called.
    ToolCalled {
        /// The call.
        call: &'a ToolUse,
        /// Its answer.
        reply: &'a ToolReply,
    },
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct RunResult {
    /// Whether the task was completed under the guard.
    pub ok: bool,
    /// What was done, or the error.
    pub summary: String,
    /// The files whose content the run changed.
    pub files_changed: Vec<String>,
    /// How many tool calls were made.
    pub tool_calls: usize,
    /// `NO_TOOL_CALLS`, `NOT_COMPLETED`, `STEP_LIMIT`, `MODEL_FAILED`, `INTERRUPTED`, or
    /// `NOT_COMMITTED` when staged edits met a file that changed.
    pub error: Option<String>,
    /// The changes as one unified diff.
    #[serde(skip)]
    pub diff: String,
}

/// The reference agent.
#[derive(Debug)]
pub(crate) struct Agent {
    toolbox: Toolbox,
    chat: OpenAi,
    max_steps: usize,
}

impl Agent {
    /// An agent with these guarded tools and this model, which gets at most so many turns.
    pub(crate) fn new(toolbox: Toolbox, chat: OpenAi, max_steps: usize) -> Self {
        Self { toolbox, chat, max_steps }
    }

    /// The tools.
    pub(crate) fn toolbox(&self) -> &Toolbox {
        &self.toolbox
    }

    /// Runs one task until it ends or `stop` is ready, and reports what was done.
    pub(crate) async fn run_until(
        &self,
        task: &str,
        stop: impl Future<Output = ()>,
        mut watch: impl FnMut(AgentEvent<'_>),
    ) -> RunResult {
        let mut stop = pin!(stop);
        let tools: Value = self.toolbox.listed_tools().map(declaration).collect();
        let mut messages = vec![json!({ "role": "system", "content": SYSTEM })];
        let opening = self.toolbox.guard().and_then(|guard| guard.opening_message());
        messages.extend(opening.map(|opening| user_message(opening.to_string())));
        messages.push(user_message(task.to_owned()));
        let mut run = RunState { before: BTreeMap::new(), reminders: 0 };
        for step in 1..=self.max_steps {
            watch(AgentEvent::TurnStarted(step, self.max_steps));
            let turn = tokio::select! {
                biased;
                () = &mut stop => return self.finish_interrupted(run, step).await,
                turn = turn::ask(&self.chat, &messages, &tools) => turn,
            };
            let turn = match turn {
                Ok(turn) => turn,
                Err(error) => return self.finish(run, Err(("MODEL_FAILED", error))).await,
            };
            if !turn.text.is_empty() {
                watch(AgentEvent::Text(&turn.text));
            }
            messages.push(assistant_message(&turn));
            if turn.calls.is_empty() {
                let reminder = self.toolbox.guard().and_then(|guard| guard.on_text_answer());
                let reminder = reminder.unwrap_or_else(|| UNFINISHED.to_owned());
                run.reminders += 1;
                if run.reminders > MAX_REMINDERS {
                    return self.finish(run, Err(("NOT_COMPLETED", turn.text))).await;
                }
                watch(AgentEvent::Reminder(&reminder));
                messages.push(user_message(reminder));
                continue;
            }
            for call in &turn.calls {
                let reply = {
                    let mut work = pin!(self.execute(&mut run, call));
                    tokio::select! {
                        biased;
                        () = &mut stop => {
                            // Enough time to finish a write, but not to wait for a model's answer.
                            let _ = tokio::time::timeout(SHUTDOWN_GRACE, work).await;
                            None
                        }
                        reply = &mut work => Some(reply),
                    }
                };
                let Some(reply) = reply else { return self.finish_interrupted(run, step).await };
                watch(AgentEvent::ToolCalled { call, reply: &reply });
                messages.push(json!({
                    "role": "tool",
                    "tool_call_id": call.id,
                    "content": answer_text(&call.name, &reply),
                }));
                if call.name == "task_complete" && reply.ok {
                    let summary = reply.report["summary"].as_str().unwrap_or_default().to_owned();
                    return self.finish(run, Ok(summary)).await;
                }
            }
        }
        let reason = format!("the task was not completed within {} steps", self.max_steps);
        self.finish(run, Err(("STEP_LIMIT", reason))).await
    }

    /// Ends a run that was stopped from outside, and returns its result.
    async fn finish_interrupted(&self, run: RunState, step: usize) -> RunResult {
        let reason = format!("the run was interrupted in step {step} of {}", self.max_steps);
        self.finish(run, Err(("INTERRUPTED", reason))).await
    }

    /// Executes a tool call. First keeps each file that it names, if no earlier call named it, for the
    /// diff at the end.
    async fn execute(&self, run: &mut RunState, call: &ToolUse) -> ToolReply {
        let as_text = Value::String(call.arguments.clone());
        let arguments = serde_json::from_str(&call.arguments).unwrap_or(as_text);
        if let Value::Object(fields) = &arguments {
            for path in paths_of(fields) {
                let current = self.read(&path).await;
                run.before.entry(path).or_insert(current);
            }
        }
        self.toolbox.call(&call.name, arguments, &CallOptions::default()).await
    }

    /// The file as it is, or `None` if it cannot be read.
    async fn read(&self, path: &str) -> Option<Snapshot> {
        let path = self.toolbox.engine().path(path).ok()?;
        self.toolbox.engine().snapshot(&path).await.ok()
    }

    /// Ends a run and returns its result. `end` is the model's summary, or an error's code and reason.
    async fn finish(&self, run: RunState, end: Result<String, (&str, String)>) -> RunResult {
        let (mut files_changed, mut diff) = (Vec::new(), String::new());
        for (path, before) in run.before {
            let after = self.read(&path).await;
            if before != after {
                diff.push_str(&file_diff(&path, before.as_ref(), after.as_ref()));
                files_changed.push(path);
            }
        }
        let guard = self.toolbox.guard();
        let tool_calls = guard.as_ref().map_or(0, |guard| guard.calls());
        let guard_error = guard.as_ref().and_then(|guard| guard.final_error());
        let (summary, error) = match (end, guard_error) {
            // A failed model or an interruption explains the end better than the guard.
            (Err((code @ ("MODEL_FAILED" | "INTERRUPTED"), reason)), _) => {
                (reason, Some(code.to_owned()))
            }
            (_, Some((code, reason))) => (reason.to_string(), Some(code.to_string())),
            (Err((code, reason)), None) => (reason, Some(code.to_owned())),
            (Ok(summary), None) => (summary, None),
        };
        RunResult { ok: error.is_none(), summary, files_changed, tool_calls, error, diff }
    }
}

const UNFINISHED: &str = "You have not called task_complete. If the task is done, call it with a \
summary; if not, go on with the tools.";

/// How long a running tool call may still take when the run is interrupted.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(1);

/// The state of a run.
struct RunState {
    /// Each file before the first call that names it; `None` for a file that cannot be read.
    before: BTreeMap<String, Option<Snapshot>>,
    reminders: usize,
}

/// A message of the user, in OpenAI's format.
fn user_message(text: String) -> Value {
    json!({ "role": "user", "content": text })
}

/// The model's turn as a message of the conversation, in OpenAI's format.
fn assistant_message(turn: &Turn) -> Value {
    let calls: Vec<Value> = turn
        .calls
        .iter()
        .map(|call| {
            json!({
                "id": call.id,
                "type": "function",
                "function": { "name": call.name, "arguments": call.arguments },
            })
        })
        .collect();
    let mut message = json!({ "role": "assistant", "content": turn.text });
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    message
}

/// The declaration of a tool with its own schema: many servers do not know the strict mode. The tools
/// check their arguments themselves.
fn declaration(tool: &ToolSpec) -> Value {
    json!({ "type": "function", "function": {
        "name": tool.name, "description": tool.about, "parameters": (tool.input)(),
    }})
}

/// What the model sees of a tool's reply: at most [`MAX_ANSWER`] characters of its text.
fn answer_text(tool: &str, reply: &ToolReply) -> String {
    let text = match (tool, reply.code) {
        ("task_complete", Some(EditCode::Blocked)) => reply.report.to_string(),
        _ => reply.message.clone(),
    };
    match text.char_indices().nth(MAX_ANSWER) {
        Some((end, _)) => format!("{}\n… (cut here)", &text[..end]),
        None => text,
    }
}
