//! The command line: parse, compose an engine, run, print. One file a subcommand.
//!
//! stdout is data, stderr is for people and logs. Exit codes: 0 done, 1 refused,
//! 2 wrong usage, 3 a fault of disk or network.

mod agent;
mod apply;
mod args;
mod batch;
mod edit;
mod exit;
mod harness;
mod logs;
mod mcp;
mod model;
mod past;
mod read;
mod schema;
mod settings;
mod signals;

use std::process::ExitCode;

use clap::Parser as _;

use args::{Cli, Command};
use exit::Exit;

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    logs::start();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return Exit::fault(format!("cannot start the runtime: {error}")).report(),
    };
    runtime
        .block_on(async {
            signals::heed();
            run(cli).await
        })
        .report()
}

async fn run(cli: Cli) -> Exit {
    let common = cli.common;
    match cli.command {
        Command::Edit(args) => edit::run(&common, args).await,
        Command::Batch(args) => batch::run(&common, args).await,
        Command::Agent(args) => agent::run(&common, args).await,
        Command::Undo(args) => past::undo(&common, &args).await,
        Command::Log => past::log(&common).await,
        Command::Apply(args) => apply::run(&common, args).await,
        Command::Read(args) => read::run(&common, args).await,
        Command::Schema(args) => schema::run(&common, &args),
        Command::Mcp(args) => mcp::run(&common, args).await,
        Command::Harness(args) => harness::run(&common, args),
    }
}
