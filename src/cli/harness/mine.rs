//! `restitch harness mine`: finds the failed edits in agents' transcripts, and replays them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use super::super::args::{Common, names};
use super::super::exit::Exit;
use super::progress::parallel_shown;
use crate::cli::out;
use crate::edit::Expected;
use crate::harness::case::{Case, Truth};
use crate::harness::fixture::{Expect, Fixture, Spec, Tree, slug};
use crate::harness::judge::CaseVerdict;
use crate::harness::mine::failures::{Failure, MinedSession, mine};
use crate::harness::mine::files::{FileBefore, Provenance};
use crate::harness::mine::git::{FolderMap, Repository};
use crate::harness::mine::redact::Redactor;
use crate::harness::mine::summary::{FailureRecord, MineSummary, RecoveryCost, without_copies};
use crate::harness::mine::{Client, Replacement, Source, sources};
use crate::harness::pack;
use crate::harness::replay::ReplayOutcome;
use crate::language::Language;
use crate::text::pluralize;

#[derive(Debug, Args)]
pub(crate) struct MineArgs {
    /// A transcript, a client's database, or a folder of them, which may be a repository; by default
    /// the folders in which the clients keep their transcripts.
    path: Option<PathBuf>,
    /// The client that wrote the transcripts. By default it is recognized from their format.
    #[arg(long, value_name = "NAME", value_parser = names(Client::ALL, Client::as_str))]
    client: Option<Client>,
    /// Take files that the transcripts lack from a git repository: OLD is the folder in the
    /// transcripts, or its name alone, and NEW is the clone on this machine.
    #[arg(long = "map", value_name = "OLD=NEW", value_parser = map_entry)]
    maps: Vec<(String, PathBuf)>,
    /// Turn the failures into cases below this folder; secrets and home folders are removed. A name
    /// that ends with .pack.jsonl is one file, with those whose next edit shows the right result:
    /// `restitch-evidence compare` runs them through other tools.
    #[arg(long, value_name = "DIR", num_args = 0..=1, default_missing_value = "fixtures/mined")]
    save: Option<PathBuf>,
    /// Also write a line of JSON for each failed edit, without its texts.
    #[arg(long, value_name = "FILE")]
    rows: Option<PathBuf>,
    /// Print no text, no path and no name of a session, only counts and hashes, to share them.
    #[arg(long)]
    text_free: bool,
}

/// Splits `OLD=NEW`.
fn map_entry(entry: &str) -> Result<(String, PathBuf), String> {
    match entry.rsplit_once('=') {
        Some((old, new)) if !old.is_empty() && Path::new(new).is_dir() => {
            Ok((old.to_owned(), PathBuf::from(new)))
        }
        Some((_, new)) if !Path::new(new).is_dir() => Err(format!("there is no folder {new}")),
        _ => Err("write the folder in the transcripts, =, and the clone on this machine".into()),
    }
}

/// Finds, replays and counts the failed edits, and saves them as cases if the flags ask for it.
pub(crate) fn run(common: &Common, args: &MineArgs) -> Result<(), Exit> {
    let found = find_sources(args)?;
    let map = folder_map(args);
    // Each source is dropped once it is mined, so that the memory holds only the failures.
    let megabytes = ("MB", 1_000_000);
    let size = |(_, source): &(_, Source)| source.bytes();
    let results = parallel_shown(&found.sources, megabytes, size, |(client, source)| {
        let read = source.read(*client);
        let mined: Vec<MinedSession> =
            read.transcripts.iter().map(|transcript| mine(transcript, &map)).collect();
        (mined, read.unread)
    });
    let (mut sessions, mut unread) = (Vec::new(), Vec::new());
    for (mined, not_read) in results {
        sessions.extend(mined);
        unread.extend(not_read);
    }
    if sessions.is_empty() {
        return Err(Exit::usage(match &unread[..] {
            [(path, why), ..] => format!("{} {why}", path.display()),
            [] => format!(
                "there are no transcripts in {}; name a file or folder",
                found.searched.join(", ")
            ),
        }));
    }
    let sessions = without_copies(sessions);
    let failures: Vec<&Failure> = sessions.iter().flat_map(|session| &session.failures).collect();
    let saved = match &args.save {
        None => None,
        Some(dir) => match save_as_named(&failures, &common.root().join(dir)) {
            Ok(saved) => Some((saved, dir)),
            Err(error) => return Err(Exit::fault(format!("cannot write a case: {error}"))),
        },
    };
    let unread = unread.iter().map(|(path, why)| (path.display().to_string(), why.clone()));
    let mut summary = MineSummary::new(&sessions, unread.collect());
    if args.text_free {
        summary = summary.without_texts();
    }
    if let Some(file) = &args.rows {
        write_rows(&summary.failures, &common.root().join(file))
            .map_err(|error| super::write_fault(file, &error))?;
    }
    let text = if common.json {
        as_json(&summary, saved.as_ref().map(|(saved, _)| saved))
    } else {
        let mut text = as_text(&summary);
        if let Some((saved, dir)) = &saved {
            let _ = write!(text, "\n{saved} in {}", dir.display());
        } else if !summary.failures.is_empty() {
            text.push_str("\nto see them in a browser, save them with --save DIR, and run `restitch harness report DIR`");
        }
        text
    };
    out::print(text)
}

/// Writes a line of JSON for each failed edit.
fn write_rows(failures: &[FailureRecord], file: &Path) -> io::Result<()> {
    let mut out = io::BufWriter::new(fs::File::create(file)?);
    for failure in failures {
        writeln!(out, "{}", serde_json::to_string(failure)?)?;
    }
    out.flush()
}

/// The sources to read, each with its client if that is known, and the places that were searched.
struct Found {
    sources: Vec<(Option<Client>, Source)>,
    searched: Vec<String>,
}

/// Finds the transcripts that the flags name, or those in the clients' own folders.
fn find_sources(args: &MineArgs) -> Result<Found, Exit> {
    let mut found = Found { sources: Vec::new(), searched: Vec::new() };
    let mut add = |path: &Path, client: Option<Client>| {
        let all = sources(path)
            .map_err(|error| Exit::usage(format!("cannot read {}: {error}", path.display())))?;
        found.sources.extend(all.into_iter().map(|source| (client, source)));
        Ok(())
    };
    if let Some(path) = &args.path {
        add(path, args.client)?;
        found.searched.push(path.display().to_string());
        return Ok(found);
    }
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let is_selected = |client: &Client| args.client.is_none_or(|only| only == *client);
    let mut searched = Vec::new();
    for client in Client::ALL.iter().copied().filter(is_selected) {
        for home in client.homes(variable) {
            if home.exists() {
                add(&home, Some(client))?;
            }
            searched.push(home.display().to_string());
        }
    }
    found.searched = searched;
    Ok(found)
}

/// Returns the repositories that the flags name. If the transcripts lie in a repository, the folder
/// that has its name in them is that repository.
fn folder_map(args: &MineArgs) -> FolderMap {
    let mut map = FolderMap::default();
    for (recorded, clone) in &args.maps {
        map.add(recorded, clone.clone());
    }
    let path = args.path.as_ref().and_then(|path| std::path::absolute(path).ok());
    for top in path.iter().flat_map(|path| path.ancestors()) {
        if let Some(name) = top.file_name()
            && Repository::at(top).is_some()
        {
            map.add(&name.to_string_lossy(), top.to_owned());
            break;
        }
    }
    map
}

/// The last component of a path with `/` or `\`.
fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// What a person wants to know first: how many failed edits restitch would have applied, and what
/// these cost. All failures are in the second line.
fn headline(summary: &MineSummary) -> String {
    let recovered = summary.total(|row| row.recovered());
    let failed = summary.failures.len();
    let edits = pluralize(summary.total(|row| row.edits), "edit");
    if failed == 0 {
        return format!("None of your agents' {edits} failed.");
    }
    let missing = summary.total(|row| row.text_missing);
    format!(
        "restitch would have applied {recovered} of your agents' {}{}.\n\
         In all, {failed} of {edits} failed, {missing} of them since their text was not found{}.",
        pluralize(failed, "failed edit"),
        price(", which took", &summary.cost(|failure| failure.recovered)),
        price("; that took", &summary.cost(|_| true)),
    )
}

/// The turns and tokens of a cost, behind these words; nothing if it took none.
fn price(words: &str, cost: &RecoveryCost) -> String {
    if cost.turns == 0 {
        return String::new();
    }
    let mut out = format!("{words} {}", pluralize(cost.turns, "more turn"));
    if cost.tokens > 0 {
        let about = if cost.tokens_estimated { "about " } else { "" };
        let _ = write!(out, " and {about}{} output tokens", cost.tokens);
    }
    out
}

/// The counts by client, model and cause, for a person.
fn as_text(summary: &MineSummary) -> String {
    let MineSummary { skipped, unread, failures, .. } = summary;
    let mut out = headline(summary);
    let _ = writeln!(
        out,
        "\n\n{:<45}{:>8}{:>8}{:>11}{:>9}{:>9}{:>6}{:>7}{:>8}{:>7}{:>9}",
        "edits by model",
        "edits",
        "failed",
        "not found",
        "no file",
        "refused",
        "made",
        "right",
        "blanks",
        "other",
        "unknown"
    );
    for row in &summary.models {
        let _ = writeln!(
            out,
            "{:<45}{:>8}{:>8}{:>11}{:>9}{:>9}{:>6}{:>7}{:>8}{:>7}{:>9}",
            format!("{} {}", row.client, row.model),
            row.edits,
            row.failed,
            row.text_missing,
            row.no_file,
            row.refused,
            row.made_already,
            row.right,
            row.right_but_for_blanks,
            row.other_bytes,
            row.truth_unknown
        );
    }
    out.push_str(
        "not found: edits whose text the agent's tool did not find; the columns after it are what restitch does with them\n\
         no file: the file is not known; made: the edit was made already; right: the result equals that of the agent's next edit of the same place; \
         blanks: it differs only in whitespace; other: it differs; unknown: there is nothing to compare it with\n",
    );
    out.push_str("\nwhy they failed, and what restitch does with them:\n");
    let mut groups: BTreeMap<(&str, String), usize> = BTreeMap::new();
    for failure in failures {
        let prefix = if failure.recovered { "recovered by " } else { "" };
        // What was not a question of finding a text is not decided again.
        let cause = match failure.class.is_text_missing() {
            true => format!("{prefix}{}", failure.cause()),
            false => String::new(),
        };
        *groups.entry((failure.class.as_str(), cause)).or_default() += 1;
    }
    for ((why, cause), count) in &groups {
        let _ = writeln!(out, "{}", format!("  {count:>5}  {why:<20} {cause}").trim_end());
    }
    let landed = summary.total(|row| row.landed);
    let _ = write!(
        out,
        "\nof {landed} edits that landed as they were sent and whose file is known, restitch makes {} otherwise and refuses {}",
        summary.total(|row| row.landed_otherwise),
        summary.total(|row| row.landed_refused)
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
    let recovered = summary.total(|row| row.recovered());
    json!({
        "headline": headline(summary),
        "sessions": summary.sessions,
        "sessions_with_edits": summary.sessions_with_edits,
        "edits": summary.total(|row| row.edits),
        "models": summary.models, "cost": summary.cost(|_| true),
        "skipped_lines": summary.skipped, "unread": unread, "recovered": recovered,
        "saved": saved, "failures": summary.failures,
    })
    .to_string()
}

/// How many failed edits were saved as cases, and how many were not.
#[derive(Default, serde::Serialize)]
struct Saved {
    new: usize,
    existing: usize,
    withheld: usize,
    without_file: usize,
    /// Of a pack: those without a right result.
    without_truth: usize,
}

impl std::fmt::Display for Saved {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} new cases saved, {} were there already, {} held back because a secret could not be removed, {} without a file",
            self.new, self.existing, self.withheld, self.without_file
        )?;
        match self.without_truth {
            0 => Ok(()),
            count => write!(f, ", {count} whose right result is not known"),
        }
    }
}

/// Saves the failed edits as a pack or as folders, as the name wants it.
fn save_as_named(failures: &[&Failure], to: &Path) -> io::Result<Saved> {
    if !to.to_string_lossy().ends_with(pack::SUFFIX) {
        return save(failures, to);
    }
    let mut saved = Saved::default();
    let mut cases: Vec<Case> = Vec::new();
    for failure in failures {
        let ([edit], Some(file)) = (&failure.edits[..], &failure.before) else {
            saved.without_file += 1;
            continue;
        };
        let Some(truth) = failure.truth.as_ref().filter(|_| failure.class.is_text_missing()) else {
            saved.without_truth += 1;
            continue;
        };
        match packed(failure, edit, &file.text, truth) {
            Some(case) if cases.iter().any(|other| other.id == case.id) => saved.existing += 1,
            Some(case) => cases.push(case),
            None => saved.withheld += 1,
        }
    }
    saved.new = cases.len();
    let text = pack::write(cases.iter().map(|case| (case, None))).map_err(io::Error::other)?;
    fs::write(to, text)?;
    Ok(saved)
}

/// The packed case of a failed edit, with its secrets removed; `None` if one cannot be removed, or if
/// nothing is left of the edit.
fn packed(failure: &Failure, edit: &Replacement, before: &str, truth: &str) -> Option<Case> {
    let mut redactor = Redactor::new();
    let texts = [before, truth, &edit.old, &edit.new];
    texts.iter().for_each(|text| redactor.learn(text));
    let [before, truth, old, new] = texts.map(|text| redactor.clean(text));
    let (before, truth, old, new) = (before?, truth?, old?, new?);
    let path = redactor.clean(file_name(&failure.path))?;
    let (start, end, text) = pack::patch(&before, &truth)?;
    let content = [&before, &old, &new].map(String::as_str).join("\0");
    Some(Case {
        id: format!(
            "mined@{}-{path}-{:016x}",
            failure.client.as_str(),
            xxhash_rust::xxh3::xxh3_64(content.as_bytes())
        ),
        cause: failure.class.as_str().to_owned(),
        family: "mined".into(),
        language: Language::from_path(&path).map(|found| found.name.to_owned()).unwrap_or_default(),
        path,
        before: before.into_bytes(),
        old,
        new,
        expected: if edit.all { Expected::All } else { Expected::default() },
        near_line: None,
        truth: Truth::Right { range: start..end, texts: vec![text] },
    })
}

/// Saves each failed edit with a known file as a case, unless it is there already.
fn save(failures: &[&Failure], dir: &Path) -> io::Result<Saved> {
    let mut saved = Saved::default();
    for failure in failures {
        // Lines quoted in an error are not a whole file.
        let is_usable = |file: &&FileBefore| {
            file.source != Provenance::ErrorExcerpt && !failure.edits.is_empty()
        };
        let Some(before) = failure.before.as_ref().filter(is_usable) else {
            saved.without_file += 1;
            continue;
        };
        let Some(mut fixture) = fixture(failure, before, dir) else {
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
fn fixture(failure: &Failure, file: &FileBefore, dir: &Path) -> Option<Fixture> {
    let mut redactor = Redactor::new();
    redactor.learn(&file.text);
    for edit in &failure.edits {
        redactor.learn(&edit.old);
        redactor.learn(&edit.new);
    }
    let before = redactor.clean(&file.text)?;
    let clean = |edit: &Replacement| {
        let (old, new) = (redactor.clean(&edit.old)?, redactor.clean(&edit.new)?);
        Some(Replacement { old, new, all: edit.all })
    };
    let edits: Vec<Replacement> = failure.edits.iter().map(clean).collect::<Option<_>>()?;
    let name = redactor.clean(file_name(&failure.path))?;
    // The id is a hash of the content, so that a failure in several transcripts is one case.
    let texts = edits.iter().flat_map(|edit| [edit.old.as_str(), edit.new.as_str()]);
    let content = std::iter::once(before.as_str()).chain(texts).collect::<Vec<_>>().join("\0");
    let mut notes = vec![failure.class.as_str(), file.source.as_str(), file.certainty.as_str()];
    let is_confirmed = failure.replay_outcome() == Some(ReplayOutcome::Right);
    notes.push(if is_confirmed {
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
            origin: format!("{} transcript, {}", failure.client.as_str(), notes.join("; ")),
            language: Language::from_path(&name)
                .map(|language| language.name.to_owned())
                .unwrap_or_default(),
            tool: "edit_file".into(),
            path: Some(name.clone()),
            reconstructed: (file.source != Provenance::Recorded).then_some(true),
            unconfirmed: (!is_confirmed).then_some(true),
            expect: Expect { ok: Some(true), ..Expect::default() },
            ..Spec::default()
        },
        before: Tree::from([(name.clone(), before.into_bytes())]),
        ..Fixture::default()
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
