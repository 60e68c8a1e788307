//! The command line, with one file for each subcommand.
//!
//! stdout is data, stderr is for people and logs. Exit codes: 0 done, 1 refused,
//! 2 wrong usage, 3 a fault of disk or network.

mod agent;
mod apply;
mod args;
mod batch;
mod check;
mod completions;
mod demo;
mod doctor;
mod edit;
pub(crate) mod exit;
pub(crate) mod harness;
mod help;
mod hook;
mod init;
mod logs;
mod mcp;
mod model;
pub(crate) mod out;
mod read;
mod root;
mod schema;
mod search;
mod settings;
mod signals;
mod undo;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::error::ErrorKind;

use args::{Command, Common, DevCommand};
use exit::Exit;

use crate::port::{BoxFuture, FileStore};

/// A root that is a URL, and how to open it.
#[derive(Debug)]
pub struct UrlRoot {
    /// The URL.
    pub url: String,
    /// `[object_store]` of the configuration.
    pub settings: BTreeMap<String, String>,
    /// Protected paths that edits may write nevertheless.
    pub allow_protected: Vec<String>,
    /// The state folder, if it can be used.
    pub state: Option<PathBuf>,
}

/// Opens the store of a root that is a URL.
pub type OpenUrl = fn(UrlRoot) -> BoxFuture<'static, Result<Arc<dyn FileStore>, String>>;

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    ExitCode::from(run_with(&std::env::args_os().collect::<Vec<_>>(), None, None))
}

/// Runs the command line of this process, which also takes a URL as the root.
pub fn main_with(open_url: OpenUrl) -> ExitCode {
    ExitCode::from(run_with(&std::env::args_os().collect::<Vec<_>>(), Some(open_url), None))
}

/// Runs a command line within the process of an interpreter and returns the exit code. The first of
/// the `arguments` names the script; `program` are the words that start it again.
pub fn main_in(program: Vec<OsString>, arguments: &[OsString]) -> u8 {
    let code = run_with(arguments, None, Some(program));
    // Only the end of a Rust program flushes this by itself. A closed stdout changes no exit code.
    let _ = std::io::stdout().flush();
    code
}

fn run_with(
    arguments: &[OsString],
    open_url: Option<OpenUrl>,
    program: Option<Vec<OsString>>,
) -> u8 {
    let (cli, common) = match help::parse(arguments) {
        Ok(parsed) => parsed,
        // For clients, 2, the usual exit code of wrong usage, means "block this call".
        Err(error) if is_hook(arguments) && error.use_stderr() => {
            return out::report(&Exit::Failed(error.to_string()));
        }
        // Without a command, the help goes to stderr and the exit code is 0: a client that drops the
        // arguments of a hook runs this, and would take another code for a denial.
        Err(error) if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = error.print();
            return 0;
        }
        // The message quotes the arguments, so their control characters must be escaped.
        Err(error) if error.use_stderr() && arguments.iter().any(has_control_characters) => {
            return out::report(&Exit::usage(error.render().to_string()));
        }
        Err(error) => {
            let _ = error.print();
            return u8::try_from(error.exit_code()).unwrap_or(2);
        }
    };
    logs::start();
    #[cfg(unix)]
    {
        raise_file_limit();
        if let Err(error) = try_descriptors() {
            let advice = "raise the limit of open files (ulimit -n), or close some";
            return out::report(&Exit::fault(format!("cannot start: {error}; {advice}")));
        }
    }
    // Over stdio, one thread reads and answers, and each call has its own: passing a message between
    // threads takes longer than what is done with it. A store behind a URL is opened by blocking.
    let serves_stdio = matches!(&cli.command, Command::Mcp(args) if args.http.is_none());
    let mut builder = match serves_stdio && open_url.is_none() {
        true => tokio::runtime::Builder::new_current_thread(),
        false => tokio::runtime::Builder::new_multi_thread(),
    };
    let runtime = match builder.enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            return out::report(&Exit::fault(format!("cannot start the runtime: {error}")));
        }
    };
    let ended = runtime.block_on(async {
        signals::install_handlers();
        let session = cli.command.session();
        run(cli.command, Common { session, open_url, program, ..common }).await
    });
    // Work that nobody waits for is dropped, but a running commit is finished.
    signals::finish_commits();
    runtime.shutdown_background();
    ended.map_or_else(|exit| out::report(&exit), |()| 0)
}

/// Raises the limit of open files to what this process may set itself: a commit of 1,000 files has
/// three open for each of them.
#[cfg(unix)]
fn raise_file_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    const ENOUGH: u64 = 4_096;
    let limit = getrlimit(Resource::Nofile);
    let raised = limit.maximum.map_or(ENOUGH, |maximum| maximum.min(ENOUGH));
    if limit.current.is_some_and(|current| current < raised) {
        let raised = Rlimit { current: Some(raised), maximum: limit.maximum };
        if let Err(error) = setrlimit(Resource::Nofile, raised) {
            tracing::debug!(%error, "cannot raise the limit of open files");
        }
    }
}

/// Opens as many descriptors as the runtime and the root need, and closes them again: where the runtime
/// gets only some of them, it panics.
#[cfg(unix)]
fn try_descriptors() -> std::io::Result<()> {
    let _pipes = [std::io::pipe()?, std::io::pipe()?, std::io::pipe()?, std::io::pipe()?];
    Ok(())
}

fn has_control_characters(argument: &OsString) -> bool {
    matches!(crate::text::escape_for_terminal(&argument.to_string_lossy()), Cow::Owned(_))
}

/// Whether the command may have been started as a hook: any argument is `hook`. This also works for
/// arguments that cannot be parsed.
fn is_hook(arguments: &[OsString]) -> bool {
    arguments.iter().skip(1).any(|argument| argument == "hook")
}

/// Runs one command.
async fn run(command: Command, mut common: Common) -> Result<(), Exit> {
    if command.works_in_project() {
        common.find_project();
    }
    if let Some(url) = common.root_url()
        && matches!(command, Command::Init(_) | Command::Harness(_))
    {
        return Err(Exit::usage(format!(
            "this command works only with local files, but the root {url} is in object storage"
        )));
    }
    match command {
        Command::Edit(args) => edit::run(&common, args).await,
        Command::Batch(args) => batch::run(&common, args).await,
        Command::Read(args) => read::run(&common, args).await,
        Command::Search(args) => search::run(&common, args).await,
        Command::Undo(args) => undo::undo(&common, &args).await,
        Command::Log(args) => undo::log(&common, &args).await,
        Command::Mcp(args) => mcp::run(&common, args).await,
        Command::Init(args) => init::run(&common, &args).await,
        Command::Doctor { client } => doctor::run(&common, client.as_deref()).await,
        Command::Harness(command) => harness::run(&common, command),
        Command::Dev(command) | Command::Further(command) => match command {
            DevCommand::Apply(args) => apply::run(&common, args).await,
            DevCommand::Check { paths } => check::run(&common, &paths).await,
            DevCommand::Demo => demo::run(&common).await,
            DevCommand::Agent(args) => agent::run(&common, args).await,
            DevCommand::Hook(args) => hook::run(&common, args).await.map_err(Exit::Failed),
            DevCommand::Schema { format } => schema::run(format),
            DevCommand::Completions { shell } => completions::run(shell),
        },
    }
}
