//! `restitch harness mine`: finds the failed edits in agents' transcripts, and replays them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use super::super::args::Common;
use super::super::exit::Exit;
use crate::cli::out;
use crate::cli::progress::Progress;
use crate::harness::fixture::{Expect, Fixture, Spec, Status, Tree, slug};
use crate::harness::judge::CaseVerdict;
use crate::harness::mine::failures::{Failure, failures};
use crate::harness::mine::files::Provenance;
use crate::harness::mine::redact::Redactor;
use crate::harness::mine::summary::{ClientCounts, FailureRecord, MineSummary};
use crate::harness::mine::{Client, Findings, Replacement, read};
use crate::harness::score::percent;
use crate::language::Language;

#[derive(Debug, Args)]
pub(crate) struct MineArgs {
    /// A transcript, a database of opencode, or a folder of them; by default the folders in which
    /// the clients keep their transcripts.
    path: Option<PathBuf>,
    /// The client that wrote the transcripts: claude, codex, gemini, opencode or aider. By default
    /// it is recognized from their format.
    #[arg(long, value_parser = client)]
    client: Option<Client>,
    /// Turn the failures into cases below this folder; secrets and home folders are removed.
    #[arg(long, value_name = "DIR", num_args = 0..=1, default_missing_value = "fixtures/mined")]
    save: Option<PathBuf>,
    /// Also ask the configured model about edits that the engine refuses. Without this, nothing
    /// leaves the machine.
    #[arg(long)]
    ask_model: bool,
}

/// The client with this name, or a message that lists the names.
fn client(name: &str) -> Result<Client, String> {
    let mut clients = Client::ALL.iter().copied();
    clients.find(|client| client.as_str() == name).ok_or_else(|| {
        let names: Vec<_> = Client::ALL.iter().map(|client| client.as_str()).collect();
        format!("there is no client `{name}`; use one of: {}", names.join(", "))
    })
}

/// Finds, replays and counts the failed edits, and saves them as cases if the flags ask for it.
pub(crate) async fn run(common: &Common, args: MineArgs) -> Result<(), Exit> {
    let findings = find_transcripts(&args)?;
    let progress = Progress::new("sessions", findings.transcripts.len());
    let failures_in = |transcript| {
        let failures = failures(transcript);
        progress.advance();
        failures
    };
    let failures: Vec<Failure> = findings.transcripts.iter().flat_map(failures_in).collect();
    drop(progress);
    let by_model = if args.ask_model { Some(ask_model(common, &failures).await?) } else { None };
    let saved = match &args.save {
        None => None,
        Some(dir) => match save(&failures, &common.root().join(dir)) {
            Ok(saved) => Some((saved, dir)),
            Err(error) => return Err(Exit::fault(format!("cannot write a case: {error}"))),
        },
    };
    let summary = MineSummary::new(&findings, &failures, by_model);
    let text = if common.json {
        as_json(&summary, saved.as_ref().map(|(saved, _)| saved))
    } else {
        let mut text = as_text(&summary);
        if let Some((saved, dir)) = &saved {
            let _ = write!(text, "\n{saved} in {}", dir.display());
        }
        text
    };
    out::print(text)
}

/// Reads the transcripts that the flags name, or those in the clients' own folders.
fn find_transcripts(args: &MineArgs) -> Result<Findings, Exit> {
    let read_error = |path: &Path, error: io::Error| {
        Exit::usage(format!("cannot read {}: {error}", path.display()))
    };
    let mut all = Findings::default();
    let mut searched = Vec::new();
    if let Some(path) = &args.path {
        all = read(path, args.client).map_err(|error| read_error(path, error))?;
        searched.push(path.display().to_string());
    } else {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let is_selected = |client: &Client| args.client.is_none_or(|only| only == *client);
        for client in Client::ALL.iter().copied().filter(is_selected) {
            for home in client.homes(variable) {
                if home.exists() {
                    let found =
                        read(&home, Some(client)).map_err(|error| read_error(&home, error))?;
                    all.transcripts.extend(found.transcripts);
                    all.unread.extend(found.unread);
                }
                searched.push(home.display().to_string());
            }
        }
    }
    match (&all.transcripts[..], &all.unread[..]) {
        ([], [(path, reason), ..]) => Err(Exit::usage(format!("{} {reason}", path.display()))),
        ([], []) => Err(Exit::usage(format!(
            "there are no transcripts in {}; name a file or folder",
            searched.join(", ")
        ))),
        _ => Ok(all),
    }
}

/// Asks the configured model about the edits that the engine refuses, and returns how many of them
/// apply with its answers.
async fn ask_model(common: &Common, failures: &[Failure]) -> Result<usize, Exit> {
    use crate::engine::{CallOptions, Engine};
    use crate::store::MemoryStore;
    use std::sync::Arc;
    let settings = super::super::model::settings(common)?;
    let Some(corrector) = settings.corrector()? else {
        return Err(Exit::usage(
            "--ask-model needs a model: name it with RESTITCH_MODEL or --model",
        ));
    };
    let mut count = 0;
    for failure in failures.iter().filter(|failure| failure.code().is_some()) {
        let Some((before, _)) = &failure.before else { continue };
        let store = Arc::new(MemoryStore::new());
        let name = file_name(&failure.path);
        let engine = Engine::builder(Arc::clone(&store)).corrector(Arc::clone(&corrector)).build();
        let Ok(path) = engine.path(name) else { continue };
        store.put(path.clone(), before.clone().into_bytes());
        let mut all_applied = true;
        for edit in &failure.edits {
            let expected = if edit.all {
                crate::edit::Expected::All
            } else {
                crate::edit::Expected::default()
            };
            let request = crate::edit::EditRequest::new(edit.old.as_str(), edit.new.as_str())
                .expecting(expected);
            all_applied &= engine.edit_file(&path, &request, &CallOptions::default()).await.is_ok();
        }
        count += usize::from(all_applied);
    }
    Ok(count)
}

/// The last component of a path with `/` or `\`.
fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// The counts by client, model and cause, for a person.
fn as_text(summary: &MineSummary) -> String {
    let MineSummary { skipped, unread, failures, by_model, .. } = summary;
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{:<10}{:>9}{:>8}{:>8}{:>8}",
        "client", "sessions", "edits", "failed", "share"
    );
    for (client, ClientCounts { sessions, edits }) in summary.clients() {
        let failed = failures.iter().filter(|failure| failure.client == client).count();
        let share = percent(failed, edits);
        let _ = writeln!(out, "{client:<10}{sessions:>9}{edits:>8}{failed:>8}{share:>8}");
    }
    let _ = writeln!(
        out,
        "\n{:<36}{:>8}{:>8}{:>8}{:>8}{:>8}{:>8}{:>9}{:>9}{:>9}",
        "model",
        "edits",
        "failed",
        "share",
        "right",
        "blanks",
        "other",
        "unknown",
        "refused",
        "no file"
    );
    for row in summary.models() {
        let _ = writeln!(
            out,
            "{:<36}{:>8}{:>8}{:>8}{:>8}{:>8}{:>8}{:>9}{:>9}{:>9}",
            row.model,
            row.edits,
            row.failed,
            percent(row.failed, row.edits),
            row.right,
            row.right_but_for_blanks,
            row.other_bytes,
            row.truth_unknown,
            row.refused,
            row.no_file
        );
    }
    let _ = writeln!(
        out,
        "right: the result equals that of the agent's next edit; blanks: it differs only in whitespace; other: it differs; unknown: there is nothing to compare it with"
    );
    let _ = writeln!(out, "\nwhy they failed, and what restitch does with them:");
    let mut groups: BTreeMap<(&str, String), usize> = BTreeMap::new();
    for failure in failures {
        let prefix = if failure.recovered { "recovered by " } else { "" };
        *groups.entry((&failure.why, format!("{prefix}{}", failure.cause))).or_default() += 1;
    }
    for ((why, cause), count) in &groups {
        let _ = writeln!(out, "  {count:>5}  {why:<20} {cause}");
    }
    let count = |matches: &dyn Fn(&FailureRecord) -> bool| {
        failures.iter().filter(|failure| matches(failure)).count()
    };
    let count_from = |provenance: Provenance| {
        let is_from_there = |source: &String| source == provenance.as_str();
        count(&|failure| failure.file_from.as_ref().is_some_and(is_from_there))
    };
    let file_known = count(&|failure| failure.file_known);
    let recovered = count(&|failure| failure.recovered);
    let recorded = count_from(Provenance::Recorded);
    let reconstructed = count_from(Provenance::Reconstructed);
    let from_error = count_from(Provenance::ErrorExcerpt);
    let _ = writeln!(
        out,
        "\n{} failed; the file as it was before the edit is known for {file_known} ({recorded} recorded, {reconstructed} reconstructed, {} from git, {from_error} in part from the error)",
        failures.len(),
        file_known - recorded - reconstructed - from_error
    );
    let _ = writeln!(
        out,
        "{recovered} recovered without a model ({} of the known)",
        percent(recovered, file_known)
    );
    match by_model {
        Some(recovered_by_model) => {
            let recovered_in_all = recovered + recovered_by_model;
            let _ = writeln!(out, "{recovered_in_all} recovered with the model");
        }
        None => {
            let _ = writeln!(out, "with a model: not asked (--ask-model asks the configured one)");
        }
    }
    let cost = summary.cost();
    let _ = write!(
        out,
        "after {} of them the agent changed the file later, which took {} more turns and {}{} output tokens; after {} it did not",
        cost.changed_later,
        cost.turns,
        if cost.tokens_estimated { "about " } else { "" },
        cost.tokens,
        failures.len() - cost.changed_later
    );
    if *skipped > 0 {
        let _ = write!(out, "\n{skipped} lines were not understood and were left out");
    }
    for (path, reason) in unread {
        let _ = write!(out, "\n{path} {reason}");
    }
    out
}

/// The counts and the failed edits as JSON.
fn as_json(summary: &MineSummary, saved: Option<&Saved>) -> String {
    let unread: Vec<_> = summary
        .unread
        .iter()
        .map(|(path, reason)| json!({ "path": path, "why": reason }))
        .collect();
    let recovered = summary.failures.iter().filter(|failure| failure.recovered).count();
    json!({
        "sessions": summary.clients().map(|(_, counts)| counts.sessions).sum::<usize>(),
        "sessions_with_edits": summary.sessions_with_edits,
        "edits": summary.clients().map(|(_, counts)| counts.edits).sum::<usize>(),
        "models": summary.models(), "cost": summary.cost(),
        "skipped_lines": summary.skipped, "unread": unread, "recovered": recovered,
        "recovered_with_model": summary.by_model.map(|more| recovered + more),
        "saved": saved, "failures": summary.failures,
    })
    .to_string()
}

/// How many failed edits were saved as cases, and how many were not.
#[derive(Default, serde::Serialize)]
struct Saved {
    new: usize,
    #[serde(rename = "there_already")]
    existing: usize,
    #[serde(rename = "held_back")]
    withheld: usize,
    #[serde(rename = "without_a_file")]
    without_file: usize,
}

impl std::fmt::Display for Saved {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} new cases saved, {} were there already, {} held back because a secret could not be removed, {} without a file",
            self.new, self.existing, self.withheld, self.without_file
        )
    }
}

/// Saves each failed edit with a known file as a case, unless it is there already.
fn save(failures: &[Failure], dir: &Path) -> io::Result<Saved> {
    let mut saved = Saved::default();
    for failure in failures {
        // Lines quoted in an error are not a whole file.
        let is_usable = |(_, provenance): &&(String, Provenance)| {
            *provenance != Provenance::ErrorExcerpt && !failure.edits.is_empty()
        };
        let Some((before, provenance)) = failure.before.as_ref().filter(is_usable) else {
            saved.without_file += 1;
            continue;
        };
        let Some(mut fixture) = fixture(failure, before, *provenance, dir) else {
            saved.withheld += 1;
            continue;
        };
        if fixture.dir.exists() {
            saved.existing += 1;
            continue;
        }
        let (judged, files) = fixture.judge();
        fixture.spec.cause.clone_from(&judged.decided_by);
        match judged.verdict {
            CaseVerdict::Missed(code) => {
                fixture.spec.expect =
                    Expect { refuse: vec![code.as_str().into()], ..Expect::default() };
            }
            CaseVerdict::Broken(reason) => return Err(io::Error::other(reason)),
            _ => fixture.after = vec![files],
        }
        fixture.save()?;
        saved.new += 1;
    }
    Ok(saved)
}

/// The case of a failed edit, with its secrets removed; `None` if one cannot be removed. The caller
/// adds the expected result.
fn fixture(failure: &Failure, before: &str, provenance: Provenance, dir: &Path) -> Option<Fixture> {
    let mut redactor = Redactor::new();
    redactor.learn(before);
    for edit in &failure.edits {
        redactor.learn(&edit.old);
        redactor.learn(&edit.new);
    }
    let before = redactor.clean(before)?;
    let clean = |edit: &Replacement| {
        let (old, new) = (redactor.clean(&edit.old)?, redactor.clean(&edit.new)?);
        Some(Replacement { old, new, all: edit.all })
    };
    let edits: Vec<Replacement> = failure.edits.iter().map(clean).collect::<Option<_>>()?;
    let name = redactor.clean(file_name(&failure.path))?;
    // The id is a hash of the content, so that a failure in several transcripts is one case.
    let texts = edits.iter().flat_map(|edit| [edit.old.as_str(), edit.new.as_str()]);
    let content = std::iter::once(before.as_str()).chain(texts).collect::<Vec<_>>().join("\0");
    let mut notes = vec![failure.error_kind];
    if matches!(provenance, Provenance::Committed { .. }) {
        notes.push(provenance.as_str());
    }
    notes.push(if failure.agrees_with_retry() == Some(true) {
        "equal to the agent's own retry"
    } else {
        "not confirmed: read it before you trust it"
    });
    let mut fixture = Fixture {
        dir: dir.join(slug(&format!(
            "{}-{}-{:016x}",
            failure.client.as_str(),
            name,
            xxhash_rust::xxh3::xxh3_64(content.as_bytes())
        ))),
        spec: Spec {
            family: "mined".into(),
            cause: String::new(),
            origin: format!("{} transcript, {}", failure.client.as_str(), notes.join("; ")),
            language: Language::from_path(&name)
                .map(|language| language.name.to_owned())
                .unwrap_or_default(),
            tool: "edit_file".into(),
            path: Some(name.clone()),
            expected_replacements: None,
            replace_all: None,
            near_line: None,
            status: Status::Pass,
            reason: String::new(),
            reconstructed: (provenance != Provenance::Recorded).then_some(true),
            expect: Expect { ok: Some(true), ..Expect::default() },
            arguments: None,
        },
        before: Tree::from([(name.clone(), before.into_bytes())]),
        after: Vec::new(),
        old: None,
        new: None,
        replies: None,
    };
    if let [edit] = &edits[..] {
        fixture.spec.replace_all = edit.all.then_some(true);
        fixture.old = Some(edit.old.clone().into_bytes());
        fixture.new = Some(edit.new.clone().into_bytes());
    } else {
        fixture.spec.tool = "multi_edit".into();
        fixture.spec.path = None;
        fixture.spec.arguments = Some(multi_edit(&name, &edits));
    }
    Some(fixture)
}

/// The arguments of `multi_edit` that make these edits.
fn multi_edit(path: &str, edits: &[Replacement]) -> toml::Table {
    let edit_table = |edit: &Replacement| {
        let mut fields = toml::Table::new();
        for (name, text) in [("path", path), ("old_str", &edit.old), ("new_str", &edit.new)] {
            fields.insert(name.into(), text.into());
        }
        if edit.all {
            fields.insert("replace_all".into(), true.into());
        }
        toml::Value::Table(fields)
    };
    let edits = edits.iter().map(edit_table).collect();
    toml::Table::from_iter([("edits".to_owned(), toml::Value::Array(edits))])
}
