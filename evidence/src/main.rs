//! The command that makes lists of calls with known mistakes, counts their results, and runs the
//! same cases through other tools. The figures of docs/evidence come from it; scripts/evidence calls
//! it.

mod commands;
mod compare;
mod corpus;
mod edits;
mod measure;
mod mutate;
mod rng;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand, ValueEnum};
use restitch::internals::command::{Exit, report};

use corpus::Half;
use edits::FileChange;

/// Makes, measures and compares the lists behind restitch's figures.
#[derive(Debug, Parser)]
#[command(version, about, max_term_width = 100)]
struct Cli {
    /// Print JSON.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Make cases from two versions of a package or from a git history.
    Generate(commands::generate::GenerateArgs),
    /// Generate edits with mistakes, decide them in memory, and count results by kind of mistake.
    Measure(commands::measure::MeasureArgs),
    /// Run the same cases through other tools, installed into a scratch folder.
    Compare(commands::compare::CompareArgs),
    /// Replay failed edits without a model, and with one that answers from the agent's next call.
    Replay(commands::replay::ReplayArgs),
}

fn main() -> ExitCode {
    let Cli { json, command } = Cli::parse();
    let ended = match command {
        Command::Generate(args) => commands::generate::run(&args),
        Command::Measure(args) => commands::measure::run(json, &args),
        Command::Compare(args) => commands::compare::run(json, &args),
        Command::Replay(args) => commands::replay::run(json, &args),
    };
    ExitCode::from(ended.map_or_else(|exit| report(&exit), |()| 0))
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

/// The refusal of `--ways` that select nothing.
fn no_such_ways(ways: &[String]) -> Exit {
    Exit::usage(format!(
        "--ways: no kind of mistake or family has a name that starts with {}",
        ways.join(" or ")
    ))
}
