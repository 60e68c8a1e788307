//! `restitch completions`

use std::io;

use clap::CommandFactory as _;

use super::args::{Cli, CompletionsArgs};
use super::exit::Exit;

pub(crate) fn run(args: &CompletionsArgs) -> Exit {
    clap_complete::generate(args.shell, &mut Cli::command(), "restitch", &mut io::stdout().lock());
    Exit::Done
}
