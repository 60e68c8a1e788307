//! `restitch harness mine`: finds the failed edits in agents' transcripts, and replays them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io;
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
use crate::harness::mine::failures::{Failure, FailureRecord, MinedSession, mine};
use crate::harness::mine::files::{FileBefore, Provenance};
use crate::harness::mine::git::{FolderMap, Repository};
use crate::harness::mine::redact::redacted;
use crate::harness::mine::summary::{MineSummary, ModelCounts, RecoveryCost, without_copies};
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
    let (found, searched) = find_sources(args)?;
    let map = folder_map(args);
    // Each source is dropped once it is mined, so that the memory holds only the failures.
    let megabytes = ("MB", 1_000_000);
    let size = |(_, source): &KnownSource| source.bytes();
    let results = parallel_shown(&found, megabytes, size, |(client, source)| {
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
                searched.join(", ")
            ),
        }));
    }
    let sessions = without_copies(sessions);
    let failures: Vec<&Failure> = sessions.iter().flat_map(|session| &session.failures).collect();
    let save_in = |dir| Ok((save(&failures, &common.root().join(dir))?, dir));
    let saved = args.save.as_ref().map(save_in).transpose();
    let saved =
        saved.map_err(|error: io::Error| Exit::fault(format!("cannot write a case: {error}")))?;
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
    let rows = failures.iter().map(|failure| serde_json::to_string(failure).map(|row| row + "\n"));
    let rows: serde_json::Result<String> = rows.collect();
    fs::write(file, rows?)
}

/// A source, with its client if that is known.
type KnownSource = (Option<Client>, Source);

/// Finds the transcripts that the flags name, or those in the clients' own folders. Returns the
/// sources to read, and the places that were searched.
fn find_sources(args: &MineArgs) -> Result<(Vec<KnownSource>, Vec<String>), Exit> {
    let mut places: Vec<(Option<Client>, PathBuf)> = Vec::new();
    if let Some(path) = &args.path {
        places.push((args.client, path.clone()));
    } else {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let is_selected = |client: &&Client| args.client.is_none_or(|only| only == **client);
        for client in Client::ALL.iter().filter(is_selected) {
            places.extend(client.homes(variable).into_iter().map(|home| (Some(*client), home)));
        }
    }
    let mut found = Vec::new();
    for (client, path) in &places {
        // A path that was named must be there.
        if args.path.is_none() && !path.exists() {
            continue;
        }
        let all = sources(path)
            .map_err(|error| Exit::usage(format!("cannot read {}: {error}", path.display())))?;
        found.extend(all.into_iter().map(|source| (*client, source)));
    }
    Ok((found, places.iter().map(|(_, path)| path.display().to_string()).collect()))
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

/// A column of the table: its name, and what it counts.
type Column = (&'static str, fn(&ModelCounts) -> usize);

const COLUMNS: &[Column] = &[
    ("edits", |row| row.edits),
    ("failed", |row| row.failed),
    ("not found", |row| row.text_missing),
    ("no file", |row| row.no_file),
    ("refused", |row| row.refused),
    ("made", |row| row.made_already),
    ("right", |row| row.right),
    ("blanks", |row| row.right_but_for_blanks),
    ("other", |row| row.other_bytes),
    ("unknown", |row| row.truth_unknown),
];

/// The counts by client, model and cause, for a person.
fn as_text(summary: &MineSummary) -> String {
    let MineSummary { skipped, unread, failures, .. } = summary;
    let mut out = headline(summary);
    let _ = write!(out, "\n\n{:<45}", "edits by model");
    // Two blanks apart, and wide enough for most counts.
    let width = |name: &str| name.len().max(5) + 2;
    for (name, _) in COLUMNS {
        let _ = write!(out, "{name:>0$}", width(name));
    }
    for row in &summary.models {
        let _ = write!(out, "\n{:<45}", format!("{} {}", row.client, row.model));
        for (name, count) in COLUMNS {
            let _ = write!(out, "{:>1$}", count(row), width(name));
        }
    }
    out.push_str(
        "\nnot found: edits whose text the agent's tool did not find; the columns after it are what restitch does with them\n\
         no file: the file is not known; made: the edit was made already; right: the result equals that of the agent's next edit of the same place; \
         blanks: it differs only in whitespace; other: it differs; unknown: there is nothing to compare it with\n",
    );
    out.push_str("\nwhy they failed, and what restitch does with them:\n");
    let mut groups: BTreeMap<(&str, String), usize> = BTreeMap::new();
    for failure in failures {
        let cause = match (&failure.rung, failure.code) {
            // What was not a question of finding a text is not decided again.
            _ if !failure.class.is_text_missing() => String::new(),
            (Some(rung), _) => format!("recovered by {rung}"),
            (None, Some(code)) => code.to_string(),
            (None, None) => "file unknown".to_owned(),
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

/// Saves the failed edits with a known file as a pack or as folders, as the name wants it. Other tools
/// are compared by the agent's own next edit, so a pack has only those that have one.
fn save(failures: &[&Failure], to: &Path) -> io::Result<Saved> {
    let mut saved = Saved::default();
    let is_pack = to.to_string_lossy().ends_with(pack::SUFFIX);
    let mut cases: Vec<Case> = Vec::new();
    for failure in failures {
        // Lines quoted in an error are not a whole file.
        let is_usable = |file: &&FileBefore| {
            !failure.edits.is_empty() && (is_pack || file.source != Provenance::ErrorExcerpt)
        };
        let Some(file) = failure.before.as_ref().filter(is_usable) else {
            saved.without_file += 1;
            continue;
        };
        let is_known = failure.truth.is_some() && failure.record.class.is_text_missing();
        if is_pack && !(is_known && failure.edits.len() == 1) {
            saved.without_truth += 1;
            continue;
        }
        let Some(clean) = CleanFailure::of(failure, file) else {
            saved.withheld += 1;
            continue;
        };
        if is_pack {
            match clean.into_case(failure) {
                Some(case) if cases.iter().any(|other| other.id == case.id) => saved.existing += 1,
                Some(case) => cases.push(case),
                None => saved.withheld += 1,
            }
            continue;
        }
        let mut fixture = clean.into_fixture(failure, file, to);
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
    if is_pack {
        saved.new = cases.len();
        let text = pack::write(cases.iter().map(|case| (case, None))).map_err(io::Error::other)?;
        fs::write(to, text)?;
    }
    Ok(saved)
}

/// The texts of a failed edit without secrets.
struct CleanFailure {
    name: String,
    language: String,
    before: String,
    truth: String,
    edits: Vec<Replacement>,
    /// A hash of the content, so that a failure in several transcripts is one case.
    hash: String,
}

impl CleanFailure {
    /// Removes the secrets; `None` if one cannot be removed.
    fn of(failure: &Failure, file: &FileBefore) -> Option<Self> {
        let name = failure.record.path.rsplit(['/', '\\']).next().unwrap_or_default();
        let mut texts = vec![name, &file.text, failure.truth.as_deref().unwrap_or_default()];
        for edit in &failure.edits {
            texts.extend([edit.old.as_str(), &edit.new]);
        }
        let clean = redacted(&texts)?;
        let content = [&clean[1..2], &clean[3..]].concat().join("\0");
        let hash = format!("{:016x}", xxhash_rust::xxh3::xxh3_64(content.as_bytes()));
        let mut clean = clean.into_iter();
        let (name, before, truth) = (clean.next()?, clean.next()?, clean.next()?);
        let mut edits = Vec::new();
        for edit in &failure.edits {
            edits.push(Replacement { old: clean.next()?, new: clean.next()?, all: edit.all });
        }
        let language = Language::from_path(&name).map_or("", |language| language.name).to_owned();
        Some(Self { name, language, before, truth, edits, hash })
    }

    /// Returns the case of a pack; `None` if nothing is left of the edit.
    fn into_case(mut self, failure: &Failure) -> Option<Case> {
        let edit = self.edits.pop()?;
        let (start, end, text) = pack::patch(&self.before, &self.truth)?;
        Some(Case {
            id: format!("mined@{}-{}-{}", failure.record.client, self.name, self.hash),
            cause: failure.record.class.to_string(),
            family: "mined".into(),
            language: self.language,
            path: self.name,
            before: self.before.into_bytes(),
            old: edit.old,
            new: edit.new,
            expected: if edit.all { Expected::All } else { Expected::default() },
            near_line: None,
            truth: Truth::Right { range: start..end, texts: vec![text] },
        })
    }

    /// Returns the case of a folder below `dir`. The caller adds the expected result.
    fn into_fixture(self, failure: &Failure, file: &FileBefore, dir: &Path) -> Fixture {
        let FailureRecord { client, class, ending, .. } = &failure.record;
        let is_confirmed = *ending == Some(ReplayOutcome::Right);
        let confirmed = match is_confirmed {
            true => "equal to the agent's own retry",
            false => "not confirmed: read it before you trust it",
        };
        let mut fixture = Fixture {
            dir: dir.join(slug(&format!("{client}-{}-{}", self.name, self.hash))),
            spec: Spec {
                family: "mined".into(),
                origin: format!(
                    "{client} transcript, {class}; {}; {}; {confirmed}",
                    file.source, file.certainty
                ),
                language: self.language,
                tool: "edit_file".into(),
                path: Some(self.name.clone()),
                unconfirmed: (!is_confirmed).then_some(true),
                expect: Expect { ok: Some(true), ..Expect::default() },
                ..Spec::default()
            },
            before: Tree::from([(self.name.clone(), self.before.into_bytes())]),
            ..Fixture::default()
        };
        if let [edit] = &self.edits[..] {
            if edit.all {
                fixture.spec.arguments.insert("replace_all".into(), true.into());
            }
            fixture.old = Some(edit.old.clone().into_bytes());
            fixture.new = Some(edit.new.clone().into_bytes());
        } else {
            let edit = |edit: &Replacement| json!({ "path": self.name, "old_str": edit.old, "new_str": edit.new, "replace_all": edit.all });
            fixture.spec.tool = "multi_edit".into();
            fixture.spec.path = None;
            fixture.spec.arguments.insert("edits".into(), self.edits.iter().map(edit).collect());
        }
        fixture
    }
}
