//! `restitch-evidence compare`: runs the cases through other tools.

use std::io;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::compare::{
    RIVALS, ToolResult, count_right_with_errors, is_expressible_everywhere, run_tool, table,
};
use restitch::internals::command::{self as out, Exit, load_cases, write_fault};
use restitch::internals::harness::{Case, CaseSource};

#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// The folder with the cases; those in packs are compared.
    #[arg(default_value = "fixtures")]
    dir: PathBuf,
    /// Only these tools.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    tools: Vec<String>,
    /// A folder of your own in which the tools are installed and stay, for the next run; by default
    /// a new temporary folder, which is removed at the end.
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,
    /// Only cases whose path, family, cause or language contains this.
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// Also write the results as JSON, for `restitch harness report --compare`.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Runs the packed cases through the other tools and prints the results.
pub(crate) fn run(json: bool, args: &CompareArgs) -> Result<(), Exit> {
    let known = |name: &String| RIVALS.iter().any(|rival| rival.id == name);
    if let Some(name) = args.tools.iter().find(|name| !known(name)) {
        let ids: Vec<_> = RIVALS.iter().map(|rival| rival.id).collect();
        return Err(Exit::usage(format!(
            "there is no adapter for `{name}`; use one of: {}",
            ids.join(", ")
        )));
    }
    let entries = load_cases(&args.dir, args.filter.as_deref())?;
    let cases: Vec<Case> = entries
        .into_iter()
        .filter_map(|entry| match entry.source {
            CaseSource::Packed(case, _) => Some(*case),
            CaseSource::Folder(_) => None,
        })
        .filter(is_expressible_everywhere)
        .collect();
    if cases.is_empty() {
        return Err(Exit::usage(
            "there is no packed case to compare; make some with `restitch-evidence generate --out NAME.pack.jsonl`",
        ));
    }
    let (scratch, _temporary) = scratch_folder(args.scratch.as_deref())?;
    let mut results: Vec<ToolResult> = Vec::new();
    let is_selected = |id: &str| args.tools.is_empty() || args.tools.iter().any(|name| name == id);
    for rival in RIVALS.iter().filter(|rival| is_selected(rival.id)) {
        match run_tool(rival, &cases, &scratch) {
            Ok(result) => results.push(result),
            Err(error) => results.push(ToolResult::skipped(rival, error.to_string())),
        }
    }
    if let Some(file) = &args.out {
        let written = serde_json::to_string(&results).map_err(io::Error::other);
        written
            .and_then(|text| std::fs::write(file, text))
            .map_err(|error| write_fault(file, &error))?;
    }
    let text = if json {
        serde_json::to_string(&results).unwrap_or_default()
    } else {
        format!(
            "{} cases that every tool can express; in {} of them, the right result itself adds a syntax error\n\n{}",
            cases.len(),
            count_right_with_errors(&cases),
            table(&results)
        )
    };
    out::print(text)?;
    match results.iter().filter(|result| result.skipped.is_some()).count() {
        0 => Ok(()),
        count => Err(Exit::fault(format!("{count} of the tools could not be run"))),
    }
}

/// Returns the folder for the tools, and the temporary one, which is removed when it is dropped.
fn scratch_folder(named: Option<&Path>) -> Result<(PathBuf, Option<tempfile::TempDir>), Exit> {
    let Some(named) = named else {
        let temporary = tempfile::Builder::new().prefix("restitch-compare-").tempdir();
        let temporary = temporary
            .map_err(|error| Exit::fault(format!("cannot create a temporary folder: {error}")))?;
        return Ok((temporary.path().to_owned(), Some(temporary)));
    };
    let fault =
        |error: io::Error| Exit::fault(format!("cannot create {}: {error}", named.display()));
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(named).map_err(fault)?;
    // What lies in it is run, so nobody else may put anything there.
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let meta = std::fs::metadata(named).map_err(fault)?;
        let is_own = meta.uid() == rustix::process::geteuid().as_raw();
        if !is_own || meta.mode() & 0o022 != 0 {
            return Err(Exit::usage(format!(
                "other users can write to {}, and the tools in it are run; name a folder that only you can write to, or leave out --scratch",
                named.display()
            )));
        }
    }
    Ok((named.to_owned(), None))
}
