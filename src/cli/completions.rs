//! `restitch completions` and `restitch man`

use std::io;

use super::args::{CompletionsArgs, ManArgs};
use super::exit::Exit;
use super::help;

pub(crate) fn run(args: &CompletionsArgs) -> Exit {
    clap_complete::generate(args.shell, &mut help::command(), "restitch", &mut io::stdout().lock());
    Exit::Done
}

/// Writes the page of the program and one for each command.
pub(crate) fn man(args: &ManArgs) -> Exit {
    let written = std::fs::create_dir_all(&args.folder)
        .and_then(|()| clap_mangen::generate_to(help::command(), &args.folder));
    match written {
        Ok(()) => Exit::Done,
        Err(error) => Exit::fault(format!("cannot write to {}: {error}", args.folder.display())),
    }
}
