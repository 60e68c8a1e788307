//! `restitch agent`: runs the reference agent on a task. Progress goes to stderr. The summary and
//! the diff, or with `--json` one object, go to stdout, even if the run is interrupted.

use std::cell::Cell;
use std::io::Write as _;
use std::time::Duration;

use serde_json::json;

use super::args::{AgentArgs, Common};
use super::exit::Exit;
use super::{model, settings, signals};
use crate::adapters::openai::{OpenAi, WireLimits};
use crate::agent::{Agent, AgentEvent};
use crate::port::CommitOptions;
use crate::session::GuardPolicy;
use crate::text::{redact, redact_json};

/// The time limit of one turn, which takes a model longer than a correction.
const TURN_TIMEOUT: Duration = Duration::from_secs(300);

/// Runs the agent on the task and prints the result.
pub(crate) async fn run(common: &Common, args: AgentArgs) -> Result<(), Exit> {
    let (toolbox, settings) = (settings::toolbox(common)?, model::settings(common)?);
    let Some(endpoint) = settings.endpoint else {
        return Err(Exit::usage(
            "the agent needs a model: name it with RESTITCH_MODEL or --model; OPENAI_BASE_URL and OPENAI_API_KEY say how to reach it",
        ));
    };
    let limits = WireLimits { first_byte: Some(TURN_TIMEOUT), body_bytes: 8 << 20 };
    let chat = OpenAi::new(endpoint, limits).map_err(|error| Exit::usage(error.to_string()))?;
    let policy = if args.soft { GuardPolicy::Soft } else { GuardPolicy::Strict };
    let client = format!("restitch agent, {}", chat.endpoint().model);
    let toolbox = toolbox.over(toolbox.engine().for_client(&client)).with_guard(policy);
    let agent = Agent::new(toolbox, chat, args.steps);
    let signal_code = Cell::new(0);
    let signal = signals::catch_first_signal();
    let stop = async { signal_code.set(signal.await) };
    let mut outcome = agent.run_until(&args.task, stop, print_progress).await;
    if let Some(staging) = agent.toolbox().engine().staging()
        && outcome.ok
        && let Err(refusal) = staging.commit_staged(CommitOptions::default()).await
    {
        outcome.ok = false;
        outcome.error = Some("NOT_COMMITTED".to_owned());
        outcome.summary = format!("the staged edits were not committed: {}", refusal.text());
    }
    let mut out = super::out::messages();
    let written = if common.json {
        let mut outcome = json!(outcome);
        redact_json(&mut outcome);
        writeln!(out, "{outcome}")
    } else {
        let status = outcome.error.as_deref().unwrap_or("completed");
        // The list of files comes from the files themselves; the summary may be wrong about them.
        let changed = match outcome.files_changed.as_slice() {
            [] => "none".to_owned(),
            paths => paths.join(", "),
        };
        writeln!(out, "{status}: {}\nfiles changed: {changed}", outcome.summary)
            .and_then(|()| write!(out, "{}", outcome.diff))
    };
    super::out::written(written)?;
    match outcome.error.as_deref() {
        None => Ok(()),
        Some("MODEL_FAILED") => Err(Exit::fault(outcome.summary)),
        Some("INTERRUPTED") => Err(Exit::Signal(signal_code.get(), outcome.summary)),
        Some(_) => Err(Exit::Refused),
    }
}

/// Prints one line about an event.
fn print_progress(event: AgentEvent<'_>) {
    let line = match event {
        AgentEvent::TurnStarted(number, limit) => format!("step {number} of {limit}"),
        AgentEvent::Text(text) => format!("  says: {}", clip(text)),
        AgentEvent::Reminder(text) => format!("  guard: {}", clip(text)),
        AgentEvent::ToolCalled { call, reply } => {
            let outcome = if reply.ok { "ok" } else { "refused" };
            format!(
                "  {} {}: {outcome}: {}",
                call.name,
                clip(&call.arguments),
                clip(&reply.message)
            )
        }
    };
    // A closed stderr does not stop the agent.
    let _ = writeln!(super::out::stderr(), "{line}");
}

/// The beginning of a text on one line. Secrets are masked before the cut, because half a secret
/// would not be recognized.
fn clip(text: &str) -> String {
    let text = redact(text);
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    crate::text::clip(&line, 100)
}
