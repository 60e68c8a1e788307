//! The `restitch` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    restitch::cli::main()
}
