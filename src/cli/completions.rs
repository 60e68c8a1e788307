//! `restitch completions`: the completions of a shell.

use std::io::Write as _;

use super::args::CompletionsArgs;
use super::exit::Exit;
use super::{help, out};

/// Prints the completions for a shell.
pub(crate) fn run(args: &CompletionsArgs) -> Result<(), Exit> {
    // First into memory, because the generator panics if it writes to a closed pipe.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut help::command(), "restitch", &mut script);
    out::written(out::stdout().write_all(&script))
}
