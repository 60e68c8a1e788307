//! `restitch harness merge`: merges the parts of a run.

use std::path::PathBuf;

use clap::Args;

use super::super::args::Common;
use super::super::exit::Exit;
use super::{compare, measure, mine};
use crate::harness::shard::AnyPart;

#[derive(Debug, Args)]
pub(crate) struct MergeArgs {
    /// The output of `measure`, `mine` or `compare` with --shard, one file for each part. A part may
    /// be given twice.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Also write a page of a measurement, which shows the cases with unexpected verdicts.
    #[arg(long, value_name = "PAGE")]
    html: Option<PathBuf>,
}

/// Reads the parts, merges them and prints the results.
pub(crate) fn run(common: &Common, args: &MergeArgs) -> Exit {
    let (mut measured, mut mined, mut compared) = (Vec::new(), Vec::new(), Vec::new());
    for file in &args.files {
        let text = match std::fs::read_to_string(file) {
            Ok(text) => text,
            Err(error) => return Exit::usage(format!("cannot read {}: {error}", file.display())),
        };
        match serde_json::from_str::<AnyPart>(&text) {
            Ok(AnyPart::Measure(part)) => measured.push(part),
            Ok(AnyPart::Mine(part)) => mined.push(part),
            Ok(AnyPart::Compare(part)) => compared.push(part),
            Err(error) => {
                return Exit::usage(format!(
                    "{} is not a part that this version printed with --shard: {error}",
                    file.display()
                ));
            }
        }
    }
    let part_counts = [measured.len(), mined.len(), compared.len()];
    if part_counts.into_iter().filter(|count| *count > 0).count() > 1 {
        return Exit::usage("the parts cannot be merged: they come from different commands");
    }
    if args.html.is_some() && measured.is_empty() {
        return Exit::usage(
            "--html is only for parts of `harness measure`; these parts come from another command",
        );
    }
    let result = if !mined.is_empty() {
        mine::merge(common, mined)
    } else if !compared.is_empty() {
        compare::merge(common, compared)
    } else {
        measure::merge(common, measured, args.html.as_deref())
    };
    result.unwrap_or_else(|reason| Exit::usage(format!("the parts cannot be merged: {reason}")))
}
