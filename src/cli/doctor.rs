//! `restitch doctor`: looks at what a call would meet, tries the model on an example
//! that holds nothing of the user's, and says what to do about what it finds.

use std::io::{self, Write as _};
use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;
use serde_json::json;

use super::args::Common;
use super::exit::Exit;
use super::model::{self, ModelSettings};
use crate::adapters::openai::OpenAi;
use crate::correct::{ModelCorrector, PromptBook, Secrets};
use crate::edit::{EditReport, EditRequest, Refusal, WorkPath};
use crate::engine::{CallOptions, Engine};
use crate::store::{DiskStore, MemoryStore};

/// One thing that was looked at.
#[derive(Debug, Serialize)]
struct Finding {
    what: &'static str,
    outcome: Outcome,
    detail: String,
    next: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Outcome {
    Good,
    Warning,
    Bad,
}

impl Finding {
    fn good(what: &'static str, detail: impl Into<String>) -> Self {
        Self { what, outcome: Outcome::Good, detail: detail.into(), next: None }
    }

    fn not_good(
        what: &'static str,
        outcome: Outcome,
        detail: impl Into<String>,
        next: impl Into<String>,
    ) -> Self {
        Self { what, outcome, detail: detail.into(), next: Some(next.into()) }
    }
}

pub(crate) async fn run(common: &Common) -> Exit {
    let mut findings = vec![
        Finding::good(
            "restitch",
            format!("{} on {}", env!("CARGO_PKG_VERSION"), std::env::consts::OS),
        ),
        root(common),
        state(),
    ];
    // Wrong settings are a wrong usage everywhere else; here they are a finding.
    match model::settings(common) {
        Ok(settings) => endpoint(&settings, &mut findings).await,
        Err(exit) => findings.push(Finding::not_good(
            "settings",
            Outcome::Bad,
            exit.message(),
            "Correct the setting that is named.",
        )),
    }
    let bad = findings.iter().any(|finding| finding.outcome == Outcome::Bad);
    match print(common, &findings, bad) {
        Ok(()) if bad => Exit::fault("not everything is well; see above"),
        Ok(()) => Exit::Done,
        Err(error) => Exit::fault(format!("cannot write to stdout: {error}")),
    }
}

fn print(common: &Common, findings: &[Finding], bad: bool) -> io::Result<()> {
    let mut out = super::out::words();
    if common.json {
        return writeln!(out, "{}", json!({ "ok": !bad, "findings": findings }));
    }
    for finding in findings {
        let sign = match finding.outcome {
            Outcome::Good => "ok  ",
            Outcome::Warning => "warn",
            Outcome::Bad => "bad ",
        };
        writeln!(out, "{sign}  {}: {}", finding.what, finding.detail)?;
        if let Some(next) = &finding.next {
            writeln!(out, "      {next}")?;
        }
    }
    Ok(())
}

fn root(common: &Common) -> Finding {
    match DiskStore::open(&common.root) {
        Ok(_) => Finding::good("root", common.root.display().to_string()),
        Err(error) => Finding::not_good(
            "root",
            Outcome::Bad,
            format!("{}: {error}", common.root.display()),
            "Name a folder that exists with --root.",
        ),
    }
}

fn state() -> Finding {
    let Some(folder) = model::state_dir() else {
        return Finding::not_good(
            "state",
            Outcome::Warning,
            "there is no folder for undo, locks and caches",
            "Set RESTITCH_STATE_DIR or HOME.",
        );
    };
    let writable = std::fs::create_dir_all(&folder)
        .and_then(|()| tempfile::NamedTempFile::new_in(&folder).map(drop));
    match writable {
        Ok(()) => Finding::good("state", folder.display().to_string()),
        Err(error) => Finding::not_good(
            "state",
            Outcome::Bad,
            format!("{}: {error}", folder.display()),
            "Make it writable, or set RESTITCH_STATE_DIR to a folder that is.",
        ),
    }
}

async fn endpoint(settings: &ModelSettings, findings: &mut Vec<Finding>) {
    let Some(endpoint) = &settings.endpoint else {
        findings.push(Finding::good(
            "model",
            "none is configured; what no rule explains is refused. Set OPENAI_API_KEY, --base-url or --model to use one",
        ));
        return;
    };
    let from: Vec<String> =
        settings.sources.iter().map(|(what, source)| format!("{what} from {source}")).collect();
    let key = if endpoint.api_key.is_some() { "a key" } else { "no key" };
    findings.push(Finding::good(
        "model",
        format!("{} at {}, {key} ({})", endpoint.model, endpoint.base_url, from.join(", ")),
    ));
    let (client, prompts) = match (settings.client(), settings.prompts()) {
        (Ok(Some(client)), Ok(prompts)) => (client, prompts),
        (Err(exit), _) | (_, Err(exit)) => {
            findings.push(Finding::not_good(
                "settings",
                Outcome::Bad,
                exit.message(),
                "Correct the setting that is named.",
            ));
            return;
        }
        (Ok(None), _) => return,
    };
    let start = Instant::now();
    let tried = example(settings, client.clone(), prompts).await;
    let millis = start.elapsed().as_millis();
    findings.push(match tried {
        Ok(report) => answered(&client, &report, millis),
        Err(refusal) => unanswered(&refusal),
    });
}

fn answered(client: &OpenAi, report: &EditReport, millis: u128) -> Finding {
    let used = &report.explanation.model;
    let detail = format!(
        "corrects the example in {millis} ms and {} requests, answers as {}; {} prompt bytes, {} prompt tokens",
        used.calls,
        client.mode().as_str(),
        used.prompt_bytes,
        used.prompt_tokens
    );
    // Six bytes a token is far more than any tokenizer needs for this text.
    if used.prompt_tokens > 0 && used.prompt_tokens * 8 < used.prompt_bytes {
        return Finding::not_good(
            "endpoint",
            Outcome::Warning,
            detail,
            "The server seems to cut long prompts. Give it a context of 16k tokens or more (Ollama: OLLAMA_CONTEXT_LENGTH).",
        );
    }
    Finding::good("endpoint", detail)
}

fn unanswered(refusal: &Refusal) -> Finding {
    let last = refusal.attempts.last();
    let detail = last.map_or_else(
        || refusal.message.clone(),
        |attempt| format!("{} {}: {}", attempt.ask, attempt.outcome, attempt.detail),
    );
    if last.is_some_and(|attempt| matches!(attempt.outcome, "rejected" | "declined")) {
        return Finding::not_good(
            "endpoint",
            Outcome::Warning,
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
        "The server is too slow; raise model.timeout and model.first_byte_timeout in the configuration."
    } else {
        "Read the server's log."
    };
    Finding::not_good("endpoint", Outcome::Bad, detail, next)
}

/// A correction that every useful model can make, in a file long enough to notice a
/// server that cuts prompts at 4k tokens.
async fn example(
    settings: &ModelSettings,
    client: OpenAi,
    prompts: PromptBook,
) -> Result<EditReport, Refusal> {
    let mut file = String::from(
        "pub fn total_price(items: &[Item], tax: f64) -> f64 {\n    items.iter().map(|item| item.price).sum::<f64>() * tax\n}\n",
    );
    for n in 0..200 {
        file.push_str(&format!(
            "\npub fn step_{n}(value: u64) -> u64 {{\n    value.wrapping_mul({n}) + 1\n}}\n"
        ));
    }
    let store = MemoryStore::new();
    let path = WorkPath::parse("example.rs", std::path::Path::new("/"))?;
    store.put(path.clone(), file.into_bytes());
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
    engine.edit_file(&path, &call, &CallOptions { dry_run: true, request_id: None }).await
}
