//! `restitch completions`: the completions of a shell.

use std::io::Write as _;

use clap_complete::Shell;

use super::exit::Exit;
use super::{help, out};

/// Prints the completions for a shell.
pub(crate) fn run(shell: Shell) -> Result<(), Exit> {
    // First into memory, because the generator panics if it writes to a closed pipe.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut help::command(), "restitch", &mut script);
    out::written(out::stdout().write_all(&script))
}
