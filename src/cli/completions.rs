//! `restitch completions` and `restitch man`.

use std::io::Write as _;

use super::args::{CompletionsArgs, ManArgs};
use super::exit::Exit;
use super::{help, out};

/// Prints the completions for a shell.
pub(crate) fn run(args: &CompletionsArgs) -> Exit {
    // First into memory, because the generator panics if it writes to a closed pipe.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut help::command(), "restitch", &mut script);
    let _ = out::stdout().write_all(&script);
    Exit::Done
}

/// Writes a manual page for the program and one for each command.
pub(crate) fn man(args: &ManArgs) -> Exit {
    let written = std::fs::create_dir_all(&args.folder)
        .and_then(|()| clap_mangen::generate_to(help::command(), &args.folder));
    match written {
        Ok(()) => Exit::Done,
        Err(error) => Exit::fault(format!("cannot write to {}: {error}", args.folder.display())),
    }
}
