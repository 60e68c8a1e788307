//! `restitch harness compare` and `report`: the cases through other tools, and the page.

use std::io::{self, Write as _};
use std::path::PathBuf;

use clap::Args;

use super::super::args::Common;
use super::super::exit::Exit;
use crate::cli::progress::Progress;
use crate::harness::case::Case;
use crate::harness::compare::{
    CompareRun, PartComparison, RIVALS, ToolResult, count_right_with_errors,
    is_expressible_everywhere, merge as merge_parts, run_tool, table,
};
use crate::harness::measure::parallel;
use crate::harness::report::render;
use crate::harness::shard::{AnyPart, Part, Shard, gather};
use crate::harness::suite::{CaseSource, load, select};

#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// The folder with the cases; those in packs are compared.
    #[arg(default_value = "fixtures")]
    dir: PathBuf,
    /// Only these tools.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    tools: Vec<String>,
    /// Where the tools are installed and run; nothing else of this machine is touched.
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,
    /// Only cases whose path, family, cause or language contains this.
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// Also write the results as JSON, for the report.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Only this part of the cases, such as 2/4, as JSON for `harness merge`.
    #[arg(long, value_name = "I/N", conflicts_with = "out")]
    shard: Option<Shard>,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// The folder with the cases.
    #[arg(default_value = "fixtures")]
    dir: PathBuf,
    /// Where the page goes.
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "harness.html", default_value = "harness.html")]
    html: PathBuf,
    /// What `harness compare --out` wrote.
    #[arg(long, value_name = "FILE")]
    compare: Option<PathBuf>,
    /// Only cases whose path, family, cause or language contains this.
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
}

pub(crate) fn compare(common: &Common, args: &CompareArgs) -> Exit {
    let known = |name: &String| RIVALS.iter().any(|rival| rival.id == name);
    if let Some(name) = args.tools.iter().find(|name| !known(name)) {
        let ids: Vec<_> = RIVALS.iter().map(|rival| rival.id).collect();
        return Exit::usage(format!(
            "there is no adapter for `{name}`; use one of: {}",
            ids.join(", ")
        ));
    }
    let dir = common.root().join(&args.dir);
    let entries = match load(&dir) {
        Ok(entries) => select(entries, args.filter.as_deref(), None),
        Err(error) => {
            return Exit::usage(format!("cannot read the cases below {}: {error}", dir.display()));
        }
    };
    let cases: Vec<Case> = entries
        .into_iter()
        .filter_map(|entry| match entry.source {
            CaseSource::Packed(case, _) => Some(*case),
            CaseSource::Folder(_) | CaseSource::Unreadable(_) => None,
        })
        .filter(is_expressible_everywhere)
        .collect();
    if cases.is_empty() {
        return Exit::usage("there is no packed case to compare; harness generate makes some");
    }
    let scratch =
        args.scratch.clone().unwrap_or_else(|| std::env::temp_dir().join("restitch-compare"));
    if let Err(error) = std::fs::create_dir_all(&scratch) {
        return Exit::fault(format!("cannot make {}: {error}", scratch.display()));
    }
    let in_shard = |index: usize| args.shard.is_none_or(|shard| shard.contains(index));
    let part: Vec<Case> = cases
        .iter()
        .enumerate()
        .filter(|(index, _)| in_shard(*index))
        .map(|(_, case)| case.clone())
        .collect();
    let mut results: Vec<ToolResult> = Vec::new();
    let mut failed = Vec::new();
    for rival in RIVALS
        .iter()
        .filter(|rival| args.tools.is_empty() || args.tools.iter().any(|name| name == rival.id))
    {
        match run_tool(rival, &part, &scratch) {
            Ok(result) => results.push(result),
            Err(error) => failed.push(format!("{}: {error}", rival.id)),
        }
    }
    if let Some(out) = &args.out {
        let written = serde_json::to_string(&results).map_err(io::Error::other);
        if let Err(error) = written.and_then(|text| std::fs::write(common.root().join(out), text)) {
            return Exit::fault(format!("cannot write {}: {error}", out.display()));
        }
    }
    let run = CompareRun::new(&cases, &results);
    let found =
        PartComparison { cases: part.len(), broken: count_right_with_errors(&part), results };
    let text = match args.shard {
        Some(_) if !failed.is_empty() => {
            // A part without a tool is a part of another run.
            return Exit::fault(format!("not compared: {}", failed.join("; ")));
        }
        Some(shard) => {
            let part = AnyPart::Compare(Part { run, shard, found });
            serde_json::to_string(&part).unwrap_or_default()
        }
        None if common.json => as_json(&found),
        None => {
            let mut text = as_text(&found);
            failed.iter().for_each(|why| text.push_str(&format!("\nnot compared: {why}")));
            text
        }
    };
    match writeln!(io::stdout().lock(), "{text}") {
        Err(error) => Exit::fault(format!("cannot write to stdout: {error}")),
        Ok(()) if !failed.is_empty() => {
            Exit::fault(format!("{} of the tools could not be run", failed.len()))
        }
        Ok(()) => Exit::Done,
    }
}

fn as_json(found: &PartComparison) -> String {
    serde_json::to_string(&found.results).unwrap_or_default()
}

fn as_text(found: &PartComparison) -> String {
    format!(
        "{} cases that every tool can express; the right result of {} of them has a new syntax error itself\n\n{}",
        found.cases,
        found.broken,
        table(&found.results)
    )
}

/// All parts as one run.
pub(super) fn merge(
    common: &Common,
    parts: Vec<Part<CompareRun, PartComparison>>,
) -> Result<Exit, String> {
    let (run, parts) = gather(parts, |one, other| one == other)?;
    let found = merge_parts(&run, parts);
    Ok(super::print(&if common.json { as_json(&found) } else { as_text(&found) }))
}

pub(crate) fn report(common: &Common, args: &ReportArgs) -> Exit {
    let dir = common.root().join(&args.dir);
    let entries = match load(&dir) {
        Ok(entries) => select(entries, args.filter.as_deref(), None),
        Err(error) => {
            return Exit::usage(format!("cannot read the cases below {}: {error}", dir.display()));
        }
    };
    if entries.is_empty() {
        return Exit::usage(format!("there is no case below {}", dir.display()));
    }
    let rivals: Vec<ToolResult> = match &args.compare {
        None => Vec::new(),
        Some(file) => {
            let read = std::fs::read_to_string(common.root().join(file));
            match read.and_then(|text| serde_json::from_str(&text).map_err(io::Error::other)) {
                Ok(rivals) => rivals,
                Err(error) => {
                    return Exit::usage(format!("cannot read {}: {error}", file.display()));
                }
            }
        }
    };
    let progress = Progress::new("cases", entries.len());
    let seen = parallel(&entries, |entry| {
        let (judged, files) = entry.judge_with_files();
        progress.advance();
        (entry.clone(), judged, files)
    });
    drop(progress);
    let out = common.root().join(&args.html);
    let written = std::fs::write(&out, render(&seen, &rivals));
    let printed = written
        .and_then(|()| writeln!(io::stdout().lock(), "{} cases in {}", seen.len(), out.display()));
    match printed {
        Ok(()) => Exit::Done,
        Err(error) => Exit::fault(format!("cannot write {}: {error}", out.display())),
    }
}
