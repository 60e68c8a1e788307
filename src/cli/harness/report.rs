//! `restitch harness report`: writes the score as a page.

use std::io;
use std::path::PathBuf;

use clap::Args;
use serde_json::Value;

use super::super::args::Common;
use super::super::exit::Exit;
use crate::cli::out;
use crate::cli::progress::Progress;
use crate::harness::parallel;
use crate::harness::report::render;

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// The folder with the cases.
    #[arg(default_value = "fixtures")]
    dir: PathBuf,
    /// Where the page goes.
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "harness.html", default_value = "harness.html")]
    html: PathBuf,
    /// The file with the results of other tools, if they ran the same cases.
    #[arg(long, value_name = "FILE")]
    compare: Option<PathBuf>,
    /// Only cases whose path, family, cause or language contains this.
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
}

/// Judges the cases and writes the page.
pub(crate) fn run(common: &Common, args: &ReportArgs) -> Result<(), Exit> {
    let dir = common.root().join(&args.dir);
    let entries = super::load_cases(&dir, args.filter.as_deref())?;
    let rivals: Vec<Value> = match &args.compare {
        None => Vec::new(),
        Some(file) => {
            let read = std::fs::read_to_string(common.root().join(file));
            read.and_then(|text| serde_json::from_str(&text).map_err(io::Error::other))
                .map_err(|error| Exit::usage(format!("cannot read {}: {error}", file.display())))?
        }
    };
    let progress = Progress::new("cases", entries.len());
    let judged_cases = parallel(&entries, |entry| {
        let (judged, files) = entry.judge_with_files();
        progress.advance();
        (entry.clone(), judged, files)
    });
    drop(progress);
    let page = common.root().join(&args.html);
    std::fs::write(&page, render(&judged_cases, &rivals))
        .map_err(|error| super::write_fault(&page, &error))?;
    out::print(format!("{} cases in {}", judged_cases.len(), page.display()))
}
