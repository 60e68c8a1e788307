//! `restitch-evidence generate`: writes cases made of real edits and generated mistakes.

use std::io;
use std::path::PathBuf;

use clap::Args;

use crate::measure::{MeasurePlan, generate, real_edits, sample};
use crate::{CorpusArgs, no_such_ways};
use restitch::internals::command::{self as out, Exit, write_fault};
use restitch::internals::harness::{Case, pack, parallel};

#[derive(Debug, Args)]
pub(crate) struct GenerateArgs {
    #[command(flatten)]
    source: CorpusArgs,
    /// The file for the cases, whose name ends in .pack.jsonl.
    #[arg(long, value_name = "FILE", default_value = "fixtures/generated.pack.jsonl")]
    out: PathBuf,
    /// Only these kinds of mistake, or families of them, by the start of their name.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    ways: Vec<String>,
    /// At most this many cases of each kind.
    #[arg(long, default_value_t = 3, value_name = "N")]
    max: usize,
    /// Use only so many of the real edits, which keeps a pack small.
    #[arg(long, value_name = "N")]
    edits: Option<usize>,
    /// Keep only so many lines of the file above and below the edit; 0 keeps all.
    #[arg(long, default_value_t = 60, value_name = "LINES")]
    around: usize,
}

/// Generates the cases and writes them.
pub(crate) fn run(args: &GenerateArgs) -> Result<(), Exit> {
    let changes = args.source.changes()?;
    let plan = MeasurePlan { seed: args.source.seed, max: args.max, mutations: args.ways.clone() };
    let mutations = plan.selected();
    if mutations.is_empty() {
        return Err(no_such_ways(&args.ways));
    }
    let mut edits = real_edits(&changes, plan.seed);
    if let Some(count) = args.edits {
        edits = sample(edits, count, plan.seed);
    }
    if args.around > 0 {
        edits = parallel(&edits, |edit| edit.excerpt(args.around));
    }
    let cases: Vec<Case> =
        parallel(&mutations, |mutation| generate(mutation, &edits, &plan).collect::<Vec<_>>())
            .into_iter()
            .flatten()
            .collect();
    if cases.is_empty() {
        return Err(Exit::usage(
            "none of the real edits can have a mistake of these kinds; give other --ways, or more files",
        ));
    }
    let file = &args.out;
    write(&cases, file).map_err(|error| write_fault(file, &error))?;
    out::print(format!(
        "{} cases from {} real edits, with {} kinds of mistake, in {}",
        cases.len(),
        edits.len(),
        mutations.len(),
        file.display()
    ))
}

/// Writes the cases into a pack.
fn write(cases: &[Case], out: &std::path::Path) -> io::Result<()> {
    if let Some(parent) = out.parent() {
        std::fs::create_dir_all(parent)?;
    }
    std::fs::write(out, pack::write(cases.iter().map(|case| (case, None)))?)
}
