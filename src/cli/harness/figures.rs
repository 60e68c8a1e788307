//! `restitch harness figures`: counts the bytes and tokens of texts that a model reads.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::super::args::Common;
use super::super::exit::Exit;
use crate::harness::figures::{Cost, reads, stale_anchor, table};

#[derive(Debug, Args)]
pub(crate) struct FiguresArgs {
    /// The file to measure the reading of; default: a source file of restitch.
    file: Option<PathBuf>,
}

/// Prints the cost of each text.
pub(crate) async fn run(common: &Common, args: FiguresArgs) -> Exit {
    let source = match &args.file {
        None => include_str!("figures.rs").to_owned(),
        Some(file) => match std::fs::read_to_string(file) {
            Ok(text) => text,
            Err(error) => return Exit::fault(format!("cannot read {}: {error}", file.display())),
        },
    };
    let (reads, stale) = match (reads(&source), stale_anchor().await) {
        (Ok(reads), Ok(stale)) => (reads, stale),
        (Err(refusal), _) | (_, Err(refusal)) => return Exit::fault(refusal.text()),
    };
    let text = if common.json {
        let row = |cost: &Cost| json!({ "what": cost.what, "bytes": cost.bytes, "tokens": cost.tokens(), "lines": cost.lines });
        let rows: Vec<_> = reads.iter().chain(&stale).map(row).collect();
        format!("{}\n", json!(rows))
    } else {
        table(&reads, &stale)
    };
    match std::io::Write::write_all(&mut crate::cli::out::stdout(), text.as_bytes()) {
        Ok(()) => Exit::Done,
        Err(error) => Exit::fault(format!("cannot write to stdout: {error}")),
    }
}
