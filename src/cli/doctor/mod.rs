//! `restitch doctor`: checks what a call depends on, and says what to do about each problem. The
//! model is tried on an example that contains nothing of the user's.

mod client;

use std::io::{self, Write as _};
use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;
use serde_json::json;

use super::args::Common;
use super::exit::Exit;
use super::init::unknown_client;
use super::model::{self, ModelSettings};
use super::settings;
use crate::adapters::openai::OpenAi;
use crate::correct::{ModelCorrector, PromptBook, Secrets};
use crate::edit::{Attempt, AttemptOutcome, EditReport, EditRequest, Refusal, WorkPath};
use crate::engine::{CallOptions, Engine};
#[cfg(unix)]
use crate::store::DiskStore;
use crate::store::{MemoryStore, state_folder, usable_state_folder};

/// The result of one check.
#[derive(Debug, Serialize)]
struct Finding {
    what: &'static str,
    outcome: Level,
    detail: String,
    next: Option<String>,
    /// The end of what a server that was tried wrote on stderr.
    #[serde(skip_serializing_if = "Option::is_none")]
    stderr: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Level {
    Good,
    Warning,
    Bad,
}

impl Finding {
    /// A check that found no problem.
    fn ok(what: &'static str, detail: impl Into<String>) -> Self {
        Self { what, outcome: Level::Good, detail: detail.into(), next: None, stderr: None }
    }

    /// A check that found what keeps restitch from working, and what to do about it.
    fn bad(what: &'static str, detail: impl Into<String>, next: impl Into<String>) -> Self {
        Self::problem(what, Level::Bad, detail, next)
    }

    /// A setting that ends other commands.
    fn wrong_setting(exit: &Exit) -> Self {
        let next = "Correct this setting in the configuration, the flags or the environment.";
        Self::bad("settings", exit.message(), next)
    }

    /// A check that found a problem, and what to do about it.
    fn problem(
        what: &'static str,
        outcome: Level,
        detail: impl Into<String>,
        next: impl Into<String>,
    ) -> Self {
        Self { what, outcome, detail: detail.into(), next: Some(next.into()), stderr: None }
    }
}

/// Prints the findings. The command fails if one of them is bad.
pub(crate) async fn run(common: &Common, client: Option<&str>) -> Result<(), Exit> {
    let findings = match client {
        None => check_all(common).await,
        Some(name) => match client::findings(common, name).await {
            Some(findings) => findings,
            None => return Err(unknown_client(name)),
        },
    };
    let has_bad = findings.iter().any(|finding| finding.outcome == Level::Bad);
    super::out::written(print(common, &findings, has_bad))?;
    if has_bad { Err(Exit::fault("some checks failed; see above")) } else { Ok(()) }
}

/// The findings about the root, the state folder, the settings and the model.
async fn check_all(common: &Common) -> Vec<Finding> {
    let mut findings = vec![
        Finding::ok(
            "restitch",
            format!("{} on {}", env!("CARGO_PKG_VERSION"), std::env::consts::OS),
        ),
        check_root(common),
        check_state(),
    ];
    #[cfg(unix)]
    check_recovery(common, &mut findings);
    findings.extend(unread_variables());
    // Other commands end because of wrong settings; this one reports them as a finding.
    match model::settings(common) {
        Ok(settings) => {
            findings.push(Finding::ok("syntax", settings.syntax.to_string()));
            check_model(&settings, &mut findings).await;
        }
        Err(exit) => findings.push(Finding::wrong_setting(&exit)),
    }
    findings
}

/// Prints the findings.
fn print(common: &Common, findings: &[Finding], has_bad: bool) -> io::Result<()> {
    let mut out = super::out::messages();
    if common.json {
        return writeln!(out, "{}", json!({ "ok": !has_bad, "findings": findings }));
    }
    for finding in findings {
        let label = match finding.outcome {
            Level::Good => "ok  ",
            Level::Warning => "warn",
            Level::Bad => "bad ",
        };
        writeln!(out, "{label}  {}: {}", finding.what, finding.detail)?;
        if let Some(next) = &finding.next {
            writeln!(out, "      {next}")?;
        }
        for line in
            finding.stderr.iter().flat_map(|said| said.lines().filter(|line| !line.is_empty()))
        {
            writeln!(out, "      stderr: {line}")?;
        }
    }
    Ok(())
}

/// A warning for each variable that looks like one of restitch's and that nothing reads.
fn unread_variables() -> Vec<Finding> {
    const READ: &[&str] = &[
        "RESTITCH_CLIENT",
        "RESTITCH_CONFIG",
        "RESTITCH_LOG",
        "RESTITCH_MODEL",
        "RESTITCH_STATE_DIR",
    ];
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let unread = names.filter(|name| name.starts_with("RESTITCH") && !READ.contains(&&**name));
    let warning = |name| {
        Finding::problem(
            "environment",
            Level::Warning,
            format!("{name} is set, and restitch reads no variable of that name"),
            format!("It reads {}.", READ.join(", ")),
        )
    };
    unread.map(warning).collect()
}

/// Opens the root as every command does. For object storage, that tries its conditional writes.
fn check_root(common: &Common) -> Finding {
    let settings = model::settings(common).map(|settings| settings.object_store);
    let opened = settings::store(common, &settings.unwrap_or_default());
    let root = common.root().canonicalize().unwrap_or_else(|_| common.root().to_path_buf());
    let root = root.display().to_string();
    match (opened, common.root_url()) {
        (Ok(_), None) => Finding::ok("root", root),
        (Ok(_), Some(_)) => Finding::ok("root", format!("{root}, which takes conditional writes")),
        (Err(exit), None) => {
            Finding::bad("root", exit.message(), "Name a folder that exists with --root.")
        }
        (Err(exit), Some(_)) => Finding::bad(
            "root",
            exit.message(),
            "Check the URL, the credentials in the environment, and [object_store] in the configuration.",
        ),
    }
}

/// Checks that the state folder can be used, and that there is room in it.
fn check_state() -> Finding {
    let folder = match usable_state_folder() {
        Ok(folder) => folder,
        Err(reason) => {
            return Finding::problem(
                "state",
                if state_folder().is_some() { Level::Bad } else { Level::Warning },
                format!("{reason}; undo, locks and caches are off"),
                "Set RESTITCH_STATE_DIR to a folder that only you can access, or that does not exist yet.",
            );
        }
    };
    let written = tempfile::NamedTempFile::new_in(&folder)
        .and_then(|mut file| file.write_all(&[b'x'; 64 << 10]));
    match written {
        Ok(()) => Finding::ok("state", folder.display().to_string()),
        Err(error) => Finding::bad(
            "state",
            format!(
                "nothing can be written to {} ({error}); edits cannot be undone",
                folder.display()
            ),
            "Free some space there, or set RESTITCH_STATE_DIR to another folder.",
        ),
    }
}

/// Looks for what a crash left half done and no recovery could put right.
#[cfg(unix)]
fn check_recovery(common: &Common, findings: &mut Vec<Finding>) {
    // What keeps the root or the state folder from being opened is told already.
    if common.root_url().is_some() || usable_state_folder().is_err() {
        return;
    }
    let Ok(store) = DiskStore::open_with(common.root(), settings::disk_options(common)) else {
        return;
    };
    match store.unfinished() {
        Ok(unfinished) => findings.extend(
            unfinished.into_iter().map(|(what, next)| Finding::bad("recovery", what, next)),
        ),
        Err(error) => findings.push(Finding::bad(
            "recovery",
            format!("the history cannot be read: {error}"),
            "Check the state folder.",
        )),
    }
}

/// Checks the model, if one is configured: whether it corrects an example.
async fn check_model(settings: &ModelSettings, findings: &mut Vec<Finding>) {
    const SENT: &str = "asked about an edit that no built-in rule can match: the change, and some lines of the file around each similar place, at most 8 KiB in all. Secrets are masked";
    let Some(endpoint) = &settings.endpoint else {
        findings.push(Finding::ok(
            "model",
            format!(
                "none is asked and nothing is sent{}; edits that no built-in rule can match are refused. To use one, name it: RESTITCH_MODEL, --model, or `name` under [model] in the configuration",
                match settings.sources.iter().any(|(setting, _)| *setting != "model") {
                    true => ", though a key or a server is set",
                    false => "",
                }
            ),
        ));
        return;
    };
    let sources: Vec<String> = settings
        .sources
        .iter()
        .map(|(setting, source)| format!("{setting} from {source}"))
        .collect();
    let key = if endpoint.api_key.is_some() { "a key" } else { "no key" };
    findings.push(Finding::ok(
        "model",
        format!(
            "{} at {}, {key} ({}); {SENT}",
            endpoint.model,
            endpoint.base_url,
            sources.join(", ")
        ),
    ));
    let (client, prompts) = match (settings.fresh_client(), settings.prompts()) {
        (Ok(Some(client)), Ok(prompts)) => (client, prompts),
        (Err(exit), _) | (_, Err(exit)) => {
            findings.push(Finding::wrong_setting(&exit));
            return;
        }
        (Ok(None), _) => return,
    };
    let start = Instant::now();
    let corrected = correct_example(settings, client.clone(), prompts).await;
    let millis = start.elapsed().as_millis();
    findings.push(match corrected {
        Ok(report) => working_endpoint(&client, &report, millis),
        Err(refusal) => failing_endpoint(&refusal),
    });
}

/// The finding about a server whose model corrected the example.
fn working_endpoint(client: &OpenAi, report: &EditReport, millis: u128) -> Finding {
    let usage = &report.explanation.model;
    let profile = client.profile();
    Finding::ok(
        "endpoint",
        format!(
            "corrects the example in {millis} ms and {} requests, answers as {}; {} prompt bytes, {} prompt tokens",
            usage.calls,
            profile.mode.as_str(),
            usage.prompt_bytes,
            usage.prompt_tokens
        ),
    )
}

/// Whether the server answered, even if the answer was useless.
fn is_answered(attempt: &Attempt) -> bool {
    matches!(attempt.outcome, AttemptOutcome::Rejected | AttemptOutcome::Declined)
        || attempt.detail.starts_with("the model")
}

/// The finding about a server whose model did not correct the example.
fn failing_endpoint(refusal: &Refusal) -> Finding {
    let last = refusal.attempts.last();
    let detail = last.map_or_else(
        || refusal.message.to_string(),
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
    Finding::bad("endpoint", detail, CHECK_ENDPOINT)
}

const CHECK_ENDPOINT: &str = "Check the key in OPENAI_API_KEY, that the server runs and has this model, and that the base URL ends in /v1. If the answer is too slow, raise model.timeout in the configuration. If the context is too small, give the server 8k tokens or more; until then, edits that need a longer question are refused.";

/// Lets the model make an easy correction in a small example file.
async fn correct_example(
    settings: &ModelSettings,
    client: OpenAi,
    prompts: PromptBook,
) -> Result<EditReport, Refusal> {
    let file = "pub fn total_price(items: &[Item], tax: f64) -> f64 {\n    items.iter().map(|item| item.price).sum::<f64>() * tax\n}\n\npub fn count(items: &[Item]) -> usize {\n    items.len()\n}\n";
    let store = MemoryStore::default();
    let path = WorkPath::parse("example.rs", std::path::Path::new("/"))?;
    store.put(path.clone(), file.as_bytes().to_vec());
    let corrector = ModelCorrector::new(client, prompts, Secrets::new());
    let engine =
        Engine::builder(store).corrector(Arc::new(corrector)).allowance(settings.allowance).build();
    let call = EditRequest::new(
        "pub fn total(items: &[Item]) -> f64 {",
        "pub fn total(items: &[Item], discount: f64) -> f64 {",
    );
    engine.edit_file(&path, &call, &CallOptions { dry_run: true, ..CallOptions::default() }).await
}
