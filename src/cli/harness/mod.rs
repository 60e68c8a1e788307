//! `restitch harness`: replays and scores failed edits, and makes test cases of them.

mod compare;
mod generate;
mod measure;
mod mine;
mod replay;
mod run;

use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};

use super::args::Common;
use super::exit::Exit;
use crate::edit::EditCode;
use crate::harness::corpus::{self, Half};
use crate::harness::edits::FileChange;
use crate::harness::pack;
use crate::harness::suite::{SuiteCase, load, select};

#[derive(Debug, Args)]
pub(crate) struct HarnessArgs {
    #[command(subcommand)]
    command: HarnessCommand,
}

#[derive(Debug, Subcommand)]
enum HarnessCommand {
    /// Replay the cases below a folder; exit 1 when any verdict is not the expected one.
    Run(run::RunArgs),
    /// Record the current results as the expected ones.
    Bless(run::RunArgs),
    /// Run the same cases through other tools, installed into a scratch folder.
    Compare(compare::CompareArgs),
    /// Write the score as one page for a browser.
    Report(compare::ReportArgs),
    /// Find the failed edits in an agent's transcripts and replay them.
    Mine(mine::MineArgs),
    /// Replay failed edits without a model, and with one that answers from the agent's next call.
    Replay(replay::ReplayArgs),
    /// Make cases from two versions of a package or from a git history.
    Generate(generate::GenerateArgs),
    /// Generate edits with mistakes, decide them in memory, and count results by kind of mistake.
    Measure(measure::MeasureArgs),
}

/// Where real edits come from.
#[derive(Debug, Args)]
struct CorpusArgs {
    /// The older of two versions of a package, or a git repository on its own.
    #[arg(long, value_name = "DIR", required_unless_present = "corpus")]
    from: Option<PathBuf>,
    /// The newer version.
    #[arg(long, value_name = "DIR", requires = "from")]
    to: Option<PathBuf>,
    /// A folder of packages, each with its versions in `a` and `b`.
    #[arg(long, value_name = "DIR", conflicts_with = "from")]
    corpus: Option<PathBuf>,
    /// Which packages of the corpus: every second one is for development, the others are
    /// held out for measuring.
    #[arg(long, value_enum, default_value_t = HalfArg::All)]
    half: HalfArg,
    /// The seed of every random choice.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum HalfArg {
    Dev,
    HeldOut,
    All,
}

impl CorpusArgs {
    /// Reads the files that differ between the versions that the flags name.
    fn changes(&self) -> Result<Vec<FileChange>, Exit> {
        let half = match self.half {
            HalfArg::Dev => Half::Development,
            HalfArg::HeldOut => Half::HeldOut,
            HalfArg::All => Half::Both,
        };
        let read = match (&self.corpus, &self.from, &self.to) {
            (Some(dir), ..) => corpus::changes_in_packages(dir, half),
            (None, Some(from), Some(to)) => {
                let name = to.file_name().map(|name| name.to_string_lossy().into_owned());
                corpus::changes_between(name.as_deref().unwrap_or("package"), from, to)
            }
            (None, Some(from), None) => corpus::changes_in_history(from),
            (None, None, _) => {
                return Err(Exit::usage("give --from A --to B, --from REPOSITORY or --corpus DIR"));
            }
        };
        let changes =
            read.map_err(|error| Exit::fault(format!("cannot read the real edits: {error}")))?;
        if changes.is_empty() {
            return Err(Exit::usage("--from or --corpus contains no text file with two versions"));
        }
        Ok(changes)
    }
}

/// Runs one command of the harness.
pub(crate) async fn run(common: &Common, args: HarnessArgs) -> Result<(), Exit> {
    match args.command {
        HarnessCommand::Run(args) => run::run(common, args),
        HarnessCommand::Bless(args) => run::bless(common, args),
        HarnessCommand::Mine(args) => mine::run(common, args).await,
        HarnessCommand::Replay(args) => replay::run(common, &args),
        HarnessCommand::Compare(args) => compare::compare(common, &args),
        HarnessCommand::Report(args) => compare::report(common, &args),
        HarnessCommand::Generate(args) => generate::run(common, &args),
        HarnessCommand::Measure(args) => measure::run(common, &args),
    }
}

/// The fault of a file that cannot be written.
fn write_fault(file: &Path, error: &io::Error) -> Exit {
    Exit::fault(format!("cannot write {}: {error}", file.display()))
}

/// The cases below a folder that the filter selects; at least one.
fn load_cases(dir: &Path, filter: Option<&str>) -> Result<Vec<SuiteCase>, Exit> {
    let cases = load(dir).map_err(|error| {
        Exit::usage(format!("cannot read the cases below {}: {error}", dir.display()))
    })?;
    if cases.is_empty() {
        return Err(Exit::usage(format!(
            "there is no case below {}: a case is a folder with a case.toml, or a line of a {} file",
            dir.display(),
            pack::SUFFIX
        )));
    }
    let cases = select(cases, filter);
    if cases.is_empty() {
        return Err(Exit::usage("no case matches the filter"));
    }
    Ok(cases)
}

/// The refusal of `--ways` that select nothing.
fn no_such_ways(ways: &[String]) -> Exit {
    Exit::usage(format!(
        "--ways: no kind of mistake or family has a name that starts with {}",
        ways.join(" or ")
    ))
}

/// The codes in words, such as `A or B`.
fn codes(codes: &[EditCode]) -> String {
    codes.iter().map(|code| code.as_str()).collect::<Vec<_>>().join(" or ")
}
