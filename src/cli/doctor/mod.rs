//! `restitch doctor`: looks at what a call would meet, tries the model on an example
//! that holds nothing of the user's, and says what to do about what it finds.

mod client;
#[cfg(feature = "redis")]
mod shared;

use std::io::{self, Write as _};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::json;
use tokio::time::timeout;

use super::args::{Common, DoctorArgs};
use super::exit::Exit;
use super::init::unknown_client;
use super::model::{self, ModelSettings};
use super::settings;
use crate::adapters::openai::{AnswerCap, Limitation, OpenAi, WireError};
use crate::correct::{ModelCorrector, PromptBook, Secrets};
use crate::edit::{Attempt, EditReport, EditRequest, Refusal, WorkPath};
use crate::engine::{CallOptions, Engine};
use crate::store::{MemoryStore, state_folder, usable_state_folder};

/// One thing that was looked at.
#[derive(Debug, Serialize)]
struct Finding {
    what: &'static str,
    outcome: Level,
    detail: String,
    next: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Level {
    Good,
    Warning,
    Bad,
}

impl Finding {
    fn ok(what: &'static str, detail: impl Into<String>) -> Self {
        Self { what, outcome: Level::Good, detail: detail.into(), next: None }
    }

    fn problem(
        what: &'static str,
        outcome: Level,
        detail: impl Into<String>,
        next: impl Into<String>,
    ) -> Self {
        Self { what, outcome, detail: detail.into(), next: Some(next.into()) }
    }
}

pub(crate) async fn run(common: &Common, args: &DoctorArgs) -> Exit {
    let findings = match &args.client {
        None => general(common).await,
        Some(name) => match client::findings(common, name).await {
            Some(findings) => findings,
            None => return unknown_client(name),
        },
    };
    let bad = findings.iter().any(|finding| finding.outcome == Level::Bad);
    match print(common, &findings, bad) {
        Ok(()) if bad => Exit::fault("some checks failed; see above"),
        Ok(()) => Exit::Done,
        Err(error) => Exit::fault(format!("cannot write to stdout: {error}")),
    }
}

async fn general(common: &Common) -> Vec<Finding> {
    let mut findings = vec![
        Finding::ok(
            "restitch",
            format!("{} on {}", env!("CARGO_PKG_VERSION"), std::env::consts::OS),
        ),
        root(common),
        state(),
    ];
    // Wrong settings are a wrong usage everywhere else; here they are a finding.
    match model::settings(common) {
        Ok(settings) => {
            findings.push(Finding::ok("syntax", settings.syntax.to_string()));
            for (language, formatter) in &settings.format {
                let command = formatter.command.join(" ");
                findings.push(Finding::ok("format", format!("{} by `{command}`", language.name)));
            }
            endpoint(&settings, &mut findings).await;
            #[cfg(feature = "redis")]
            findings.extend(shared::findings(&settings).await);
            #[cfg(not(feature = "redis"))]
            if let Err(exit) = settings.shared.cache() {
                let next = "Use a build with that feature, or remove the setting.";
                findings.push(Finding::problem("shared", Level::Bad, exit.message(), next));
            }
        }
        Err(exit) => findings.push(Finding::problem(
            "settings",
            Level::Bad,
            exit.message(),
            "Correct this setting in the configuration, the flags or the environment.",
        )),
    }
    findings
}

fn print(common: &Common, findings: &[Finding], bad: bool) -> io::Result<()> {
    let mut out = super::out::messages();
    if common.json {
        return writeln!(out, "{}", json!({ "ok": !bad, "findings": findings }));
    }
    for finding in findings {
        let sign = match finding.outcome {
            Level::Good => "ok  ",
            Level::Warning => "warn",
            Level::Bad => "bad ",
        };
        writeln!(out, "{sign}  {}: {}", finding.what, finding.detail)?;
        if let Some(next) = &finding.next {
            writeln!(out, "      {next}")?;
        }
    }
    Ok(())
}

/// Opens the root as every command does; of a storage that means to try its conditional writes.
fn root(common: &Common) -> Finding {
    let settings = model::settings(common).map(|settings| settings.object_store);
    let opened = settings::store(common, &settings.unwrap_or_default());
    let shown = common.root().display().to_string();
    match (opened, common.root_url()) {
        (Ok(_), None) => Finding::ok("root", shown),
        (Ok(_), Some(_)) => Finding::ok("root", format!("{shown}, which takes conditional writes")),
        (Err(exit), None) => Finding::problem(
            "root",
            Level::Bad,
            exit.message(),
            "Name a folder that exists with --root.",
        ),
        (Err(exit), Some(_)) => Finding::problem(
            "root",
            Level::Bad,
            exit.message(),
            "Check the URL, the credentials in the environment, and [object_store] in the configuration.",
        ),
    }
}

fn state() -> Finding {
    match usable_state_folder() {
        Ok(folder) => Finding::ok("state", folder.display().to_string()),
        Err(why) => Finding::problem(
            "state",
            if state_folder().is_some() { Level::Bad } else { Level::Warning },
            format!("{why}; undo, locks and caches are off"),
            "Set RESTITCH_STATE_DIR to a folder that only you can access, or that does not exist yet.",
        ),
    }
}

async fn endpoint(settings: &ModelSettings, findings: &mut Vec<Finding>) {
    let Some(endpoint) = &settings.endpoint else {
        findings.push(Finding::ok(
            "model",
            "none is configured; calls that no rule explains are refused. Set OPENAI_API_KEY, --base-url or --model to use one",
        ));
        return;
    };
    let from: Vec<String> =
        settings.sources.iter().map(|(what, source)| format!("{what} from {source}")).collect();
    let key = if endpoint.api_key.is_some() { "a key" } else { "no key" };
    findings.push(Finding::ok(
        "model",
        format!("{} at {}, {key} ({})", endpoint.model, endpoint.base_url, from.join(", ")),
    ));
    let (client, prompts) = match (settings.fresh_client(), settings.prompts()) {
        (Ok(Some(client)), Ok(prompts)) => (client, prompts),
        (Err(exit), _) | (_, Err(exit)) => {
            findings.push(Finding::problem(
                "settings",
                Level::Bad,
                exit.message(),
                "Correct this setting in the configuration, the flags or the environment.",
            ));
            return;
        }
        (Ok(None), _) => return,
    };
    let start = Instant::now();
    let tried = example(settings, client.clone(), prompts).await;
    let millis = start.elapsed().as_millis();
    let answers = match &tried {
        Ok(_) => true,
        Err(refusal) => refusal.attempts.last().is_some_and(is_answered),
    };
    findings.push(match tried {
        Ok(report) => endpoint_works(&client, &report, millis),
        Err(refusal) => endpoint_fails(&refusal),
    });
    if answers {
        findings.push(check_context(&client, settings).await);
    }
}

fn endpoint_works(client: &OpenAi, report: &EditReport, millis: u128) -> Finding {
    let used = &report.explanation.model;
    let profile = client.profile();
    let cap = match profile.cap {
        AnswerCap::None => ", does not accept a limit on the length of an answer",
        AnswerCap::MaxTokens | AnswerCap::MaxCompletionTokens => "",
    };
    Finding::ok(
        "endpoint",
        format!(
            "corrects the example in {millis} ms and {} requests, answers as {}{cap}; {} prompt bytes, {} prompt tokens",
            used.calls,
            profile.mode.as_str(),
            used.prompt_bytes,
            used.prompt_tokens
        ),
    )
}

/// Whether the server answered, whatever the model made of the question.
fn is_answered(attempt: &Attempt) -> bool {
    matches!(attempt.outcome, "rejected" | "declined") || attempt.detail.starts_with("the model")
}

fn endpoint_fails(refusal: &Refusal) -> Finding {
    let last = refusal.attempts.last();
    let detail = last.map_or_else(
        || refusal.message.clone(),
        |attempt| format!("{} {}: {}", attempt.ask, attempt.outcome, attempt.detail),
    );
    if last.is_some_and(is_answered) {
        return Finding::problem(
            "endpoint",
            Level::Warning,
            detail,
            "The server answers, but this model did not correct a simple example. Its wrong answers are refused; a larger model will help more.",
        );
    }
    let next = if detail.contains("answered 401") || detail.contains("answered 403") {
        "Check the key in OPENAI_API_KEY."
    } else if detail.contains("answered 404") {
        "Check that the base URL ends in /v1 and that the server has this model."
    } else if detail.contains("no connection") {
        "Check that the server runs and that the base URL is right."
    } else if detail.contains("in time") {
        "The server is too slow for a small question; raise model.timeout in the configuration, or use a smaller model."
    } else if detail.contains("context") {
        RAISE_CONTEXT
    } else {
        "The server rejects even a small question in the form that is sent. Look for the reason in its log."
    };
    Finding::problem("endpoint", Level::Bad, detail, next)
}

const RAISE_CONTEXT: &str = "Longer questions get no answer, and then the call is refused as if there were no model. Give the server a context of 16k tokens or more (llama.cpp: -c 16384; Ollama: OLLAMA_CONTEXT_LENGTH=16384; vLLM: --max-model-len 16384).";

/// About the longest question that is sent for a usual call: the windows of a large file.
const LONG_PROMPT: usize = 36 << 10;

/// How long a question may be, by trying: a part first, then all, and a half where that
/// is too much.
async fn check_context(client: &OpenAi, settings: &ModelSettings) -> Finding {
    let most = settings.allowance.time;
    let bad =
        |detail: String, next: &str| Finding::problem("context", Level::Warning, detail, next);
    let start = Instant::now();
    match probe(client, LONG_PROMPT / 4, most).await {
        ProbeResult::Fits(tokens) if is_truncated(tokens, LONG_PROMPT / 4) => {
            return truncated(tokens, LONG_PROMPT / 4);
        }
        ProbeResult::Fits(_) => {}
        ProbeResult::ContextTooLong(why) | ProbeResult::Failed(why) => {
            return bad(
                format!("a question of {} bytes gets no answer: {why}", LONG_PROMPT / 4),
                RAISE_CONTEXT,
            );
        }
        ProbeResult::TimedOut => return bad(slow(LONG_PROMPT / 4, most), SLOW),
    }
    let expected = start.elapsed() * 4;
    if expected > most {
        let detail = format!(
            "{} bytes take {:.0} s to be read, so that a long question ({LONG_PROMPT} bytes) would take longer than the {} s of model.timeout",
            LONG_PROMPT / 4,
            start.elapsed().as_secs_f64(),
            most.as_secs()
        );
        return bad(detail, SLOW);
    }
    match probe(client, LONG_PROMPT, most).await {
        ProbeResult::Fits(tokens) if is_truncated(tokens, LONG_PROMPT) => {
            truncated(tokens, LONG_PROMPT)
        }
        ProbeResult::Fits(tokens) => Finding::ok(
            "context",
            match tokens {
                0 => format!(
                    "a long question fits ({LONG_PROMPT} bytes; the server counts no tokens)"
                ),
                tokens => format!("a long question fits ({LONG_PROMPT} bytes, {tokens} tokens)"),
            },
        ),
        ProbeResult::ContextTooLong(why) => {
            let half = matches!(probe(client, LONG_PROMPT / 2, most).await, ProbeResult::Fits(_));
            let fits = if half { LONG_PROMPT / 2 } else { LONG_PROMPT / 4 };
            bad(
                format!("questions of {fits} bytes fit, {LONG_PROMPT} bytes do not: {why}"),
                RAISE_CONTEXT,
            )
        }
        ProbeResult::Failed(why) => {
            bad(format!("{LONG_PROMPT} bytes get no answer: {why}"), RAISE_CONTEXT)
        }
        ProbeResult::TimedOut => bad(slow(LONG_PROMPT, most), SLOW),
    }
}

enum ProbeResult {
    /// It fits; the tokens are as the server counts them, 0 when it does not.
    Fits(u64),
    ContextTooLong(String),
    Failed(String),
    TimedOut,
}

async fn probe(client: &OpenAi, bytes: usize, most: Duration) -> ProbeResult {
    match timeout(most, client.probe_prompt(bytes)).await {
        Ok(Ok(tokens)) => ProbeResult::Fits(tokens),
        Ok(Err(error)) if error.limitation() == Some(Limitation::PromptLength) => {
            ProbeResult::ContextTooLong(error.to_string())
        }
        Ok(Err(WireError::Timeout(_))) | Err(_) => ProbeResult::TimedOut,
        Ok(Err(error)) => ProbeResult::Failed(error.to_string()),
    }
}

/// Eight bytes a token are far more than any tokenizer takes of such a text.
fn is_truncated(tokens: u64, bytes: usize) -> bool {
    tokens > 0 && u64::try_from(bytes).is_ok_and(|bytes| tokens * 8 < bytes)
}

fn truncated(tokens: u64, bytes: usize) -> Finding {
    Finding::problem(
        "context",
        Level::Warning,
        format!("the server seems to cut questions: of {bytes} bytes it read {tokens} tokens"),
        RAISE_CONTEXT,
    )
}

fn slow(bytes: usize, most: Duration) -> String {
    format!(
        "a question of {bytes} bytes gets no answer within the {} s of model.timeout",
        most.as_secs()
    )
}

const SLOW: &str = "Only small questions will be answered in time. Raise model.timeout in the configuration, or use a smaller model or a faster machine.";

/// A correction that every useful model can make, in a small file.
async fn example(
    settings: &ModelSettings,
    client: OpenAi,
    prompts: PromptBook,
) -> Result<EditReport, Refusal> {
    let file = "pub fn total_price(items: &[Item], tax: f64) -> f64 {\n    items.iter().map(|item| item.price).sum::<f64>() * tax\n}\n\npub fn count(items: &[Item]) -> usize {\n    items.len()\n}\n";
    let store = MemoryStore::new();
    let path = WorkPath::parse("example.rs", std::path::Path::new("/"))?;
    store.put(path.clone(), file.as_bytes().to_vec());
    let corrector = ModelCorrector::new(client, prompts, Secrets::new());
    let engine = Engine::builder(store)
        .corrector(Arc::new(corrector))
        .policy(settings.policy)
        .allowance(settings.allowance)
        .build();
    let call = EditRequest::new(
        "pub fn total(items: &[Item]) -> f64 {",
        "pub fn total(items: &[Item], discount: f64) -> f64 {",
    );
    engine.edit_file(&path, &call, &CallOptions { dry_run: true, ..CallOptions::default() }).await
}
