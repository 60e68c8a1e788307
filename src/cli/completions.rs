//! `restitch completions` and `restitch man`.

use std::io::Write as _;

use super::args::{CompletionsArgs, ManArgs};
use super::exit::Exit;
use super::{help, out};

/// Prints the completions for a shell.
pub(crate) fn run(args: &CompletionsArgs) -> Result<(), Exit> {
    // First into memory, because the generator panics if it writes to a closed pipe.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut help::command(), "restitch", &mut script);
    out::written(out::stdout().write_all(&script))
}

/// Writes a manual page for the program and one for each command.
pub(crate) fn man(args: &ManArgs) -> Result<(), Exit> {
    let written = std::fs::create_dir_all(&args.folder)
        .and_then(|()| clap_mangen::generate_to(help::command(), &args.folder));
    written
        .map_err(|error| Exit::fault(format!("cannot write to {}: {error}", args.folder.display())))
}
