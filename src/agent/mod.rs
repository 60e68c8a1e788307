//! The reference agent: a small loop of model turns and tool calls under the guard.
//!
//! It is the example to copy. The model is behind [`Chat`]; everything else is the
//! public API: [`Toolbox`] executes and guards, [`export`] declares the tools.

#[cfg(feature = "llm")]
mod openai;

use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};

use crate::edit::EditCode;
use crate::engine::CallOptions;
use crate::port::BoxFuture;
use crate::session::{GuardPolicy, SeenAnswers};
use crate::text::Snapshot;
use crate::tools::export::{Format, export};
use crate::tools::{ToolReply, Toolbox, paths_of};

const SYSTEM: &str = include_str!("../../prompts/agent.md");
/// A tool's answer is shown to the model up to this many characters.
const MAX_ANSWER: usize = 30_000;
/// How often a model that only talks is sent back to its tools.
const MAX_REMINDERS: usize = 3;

/// One call that the model makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToolUse {
    /// Its id, for the answer.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments as the model wrote them: JSON in a string.
    pub arguments: String,
}

/// One turn of the model.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Turn {
    /// What it said.
    pub text: String,
    /// What it calls.
    pub calls: Vec<ToolUse>,
}

/// A model that takes a conversation and tools, in OpenAI's form.
pub(crate) trait Chat: Send + Sync {
    /// The next turn. The error is for people.
    fn turn<'a>(
        &'a self,
        messages: &'a [Value],
        tools: &'a Value,
    ) -> BoxFuture<'a, Result<Turn, String>>;
}

/// What happens, for an observer.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub(crate) enum AgentEvent<'a> {
    /// A turn begins: its number and the limit.
    TurnStarted(usize, usize),
    /// The model said something.
    Text(&'a str),
    /// The guard sent the model back.
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
    /// What was done, or what went wrong.
    pub summary: String,
    /// Files that are different from before.
    pub files_changed: Vec<String>,
    /// How many tool calls were made.
    pub tool_calls: usize,
    /// `NO_TOOL_CALLS`, `NOT_COMPLETED`, `STEP_LIMIT`, `MODEL_FAILED`, `INTERRUPTED`, or
    /// `NOT_COMMITTED` when staged edits met a file that changed.
    pub error: Option<String>,
    /// What changed, as one unified diff.
    #[serde(skip)]
    pub diff: String,
}

/// The loop.
#[derive(Debug)]
pub(crate) struct Agent<C> {
    toolbox: Toolbox,
    chat: C,
    max_steps: usize,
}

impl<C: Chat> Agent<C> {
    /// An agent over tools and a model, strictly guarded unless the tools are guarded already.
    pub(crate) fn new(toolbox: Toolbox, chat: C) -> Self {
        let toolbox = if toolbox.guard().is_some() {
            toolbox
        } else {
            toolbox.with_guard(GuardPolicy::strict())
        };
        Self { toolbox, chat, max_steps: 40 }
    }

    /// The tools.
    pub(crate) fn toolbox(&self) -> &Toolbox {
        &self.toolbox
    }

    /// The most turns that the model gets.
    #[must_use]
    pub(crate) fn with_max_steps(self, steps: usize) -> Self {
        Self { max_steps: steps, ..self }
    }

    /// Runs one task to its end, or until `stop`; what was done by then is reported.
    pub(crate) async fn run_until(
        &self,
        task: &str,
        stop: impl Future<Output = ()>,
        mut watch: impl FnMut(AgentEvent<'_>),
    ) -> RunResult {
        let mut stop = pin!(stop);
        let tools = export(Format::OpenAi, self.toolbox.listed_tools());
        let tools = without_strict(tools);
        let mut messages = vec![json!({ "role": "system", "content": SYSTEM })];
        let opening = self.toolbox.guard().and_then(|guard| guard.opening_message());
        messages.extend(opening.map(user_message));
        messages.push(user_message(task.to_owned()));
        let mut run = RunState { before: BTreeMap::new(), reminders: 0 };
        for step in 1..=self.max_steps {
            watch(AgentEvent::TurnStarted(step, self.max_steps));
            let turn = match until_stopped(stop.as_mut(), self.chat.turn(&messages, &tools)).await {
                Some(Ok(turn)) => turn,
                Some(Err(error)) => return self.finish(run, Err(("MODEL_FAILED", error))).await,
                None => return self.interrupted(run, step).await,
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
            // All calls of a turn speak of what the model had been told before it.
            let seen_answers = SeenAnswers::UpTo(self.toolbox.engine().ledger().now());
            for call in &turn.calls {
                let reply = {
                    let mut work = pin!(self.call(&mut run, call, seen_answers));
                    let reply = until_stopped(stop.as_mut(), work.as_mut()).await;
                    if reply.is_none() {
                        // A write that has begun is finished; a question is not waited for.
                        let _ = tokio::time::timeout(SHUTDOWN_GRACE, work).await;
                    }
                    reply
                };
                let Some(reply) = reply else { return self.interrupted(run, step).await };
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
        let why = format!("the task was not completed within {} steps", self.max_steps);
        self.finish(run, Err(("STEP_LIMIT", why))).await
    }

    async fn interrupted(&self, run: RunState, step: usize) -> RunResult {
        let why = format!("the run was interrupted in step {step} of {}", self.max_steps);
        self.finish(run, Err(("INTERRUPTED", why))).await
    }

    async fn call(
        &self,
        run: &mut RunState,
        call: &ToolUse,
        seen_answers: SeenAnswers,
    ) -> ToolReply {
        let arguments = Value::String(call.arguments.clone());
        let arguments = serde_json::from_str(&call.arguments).unwrap_or(arguments);
        if let Value::Object(given) = &arguments {
            for path in paths_of(given) {
                let now = self.read(&path).await;
                run.before.entry(path).or_insert(now);
            }
        }
        let options = CallOptions { seen_answers, ..CallOptions::default() };
        self.toolbox.call(&call.name, arguments, &options).await
    }

    async fn read(&self, path: &str) -> Option<Snapshot> {
        let path = self.toolbox.engine().path(path).ok()?;
        self.toolbox.engine().snapshot(&path).await.ok()
    }

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
        let nothing = guard.as_ref().and_then(|guard| guard.final_error());
        let (summary, error) = match (end, nothing) {
            // A model that failed says so; a model that did nothing has no excuse.
            (Err((code @ ("MODEL_FAILED" | "INTERRUPTED"), why)), _) => {
                (why, Some(code.to_owned()))
            }
            (_, Some((code, why))) => (why.to_owned(), Some(code.to_owned())),
            (Err((code, why)), None) => (why, Some(code.to_owned())),
            (Ok(summary), None) => (summary, None),
        };
        RunResult { ok: error.is_none(), summary, files_changed, tool_calls, error, diff }
    }
}

const UNFINISHED: &str = "You have not called task_complete. If the task is done, call it with a \
summary; if not, go on with the tools.";

/// What a tool call that has begun gets when the run is interrupted.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(1);

/// Does the work, unless it is told to stop before it is done.
async fn until_stopped<T>(
    mut stop: Pin<&mut impl Future<Output = ()>>,
    work: impl Future<Output = T>,
) -> Option<T> {
    let mut work = pin!(work);
    poll_fn(|context| {
        if stop.as_mut().poll(context).is_ready() {
            return Poll::Ready(None);
        }
        work.as_mut().poll(context).map(Some)
    })
    .await
}

struct RunState {
    before: BTreeMap<String, Option<Snapshot>>,
    reminders: usize,
}

fn user_message(text: String) -> Value {
    json!({ "role": "user", "content": text })
}

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

/// Many servers know tools but not strict ones; the tools check their arguments anyway.
fn without_strict(mut tools: Value) -> Value {
    for tool in tools.as_array_mut().into_iter().flatten() {
        let name = tool["function"]["name"].as_str().unwrap_or_default().to_owned();
        let Some(spec) = crate::tools::find(&name) else { continue };
        tool["function"]["parameters"] = (spec.input)();
        if let Some(function) = tool["function"].as_object_mut() {
            function.remove("strict");
        }
    }
    tools
}

/// What the model sees of an answer.
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

fn file_diff(path: &str, before: Option<&Snapshot>, after: Option<&Snapshot>) -> String {
    let text = |side: Option<&Snapshot>| side.map_or(String::new(), |s| s.text().to_owned());
    let name = |side: Option<&Snapshot>, letter: char| match side {
        Some(_) => format!("{letter}/{path}"),
        None => "/dev/null".to_owned(),
    };
    let (old, new) = (text(before), text(after));
    let diff = similar::TextDiff::from_lines(old.as_str(), new.as_str());
    diff.unified_diff().header(&name(before, 'a'), &name(after, 'b')).to_string()
}
