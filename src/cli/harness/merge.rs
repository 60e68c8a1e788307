//! `restitch harness merge`: the parts of a run as one.

use std::path::PathBuf;

use clap::Args;

use super::super::args::Common;
use super::super::exit::Exit;
use super::{compare, measure, mine};
use crate::harness::shard::AnyPart;

#[derive(Debug, Args)]
pub(crate) struct MergeArgs {
    /// What `measure`, `mine` or `compare` printed with --shard, a file for each part; a part may
    /// be there twice.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Also write the page of a measurement, which shows the cases that were not decided as
    /// wanted.
    #[arg(long, value_name = "PAGE")]
    html: Option<PathBuf>,
}

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
    let kinds = [measured.is_empty(), mined.is_empty(), compared.is_empty()];
    if kinds.iter().filter(|is_empty| !**is_empty).count() > 1 {
        return Exit::usage("the parts cannot be merged: they come from different commands");
    }
    if args.html.is_some() && measured.is_empty() {
        return Exit::usage(
            "--html makes the page of `harness measure`; these parts come from another command",
        );
    }
    let result = if !mined.is_empty() {
        mine::merge(common, mined)
    } else if !compared.is_empty() {
        compare::merge(common, compared)
    } else {
        measure::merge(common, measured, args.html.as_deref())
    };
    result.unwrap_or_else(|why| Exit::usage(format!("the parts cannot be merged: {why}")))
}
