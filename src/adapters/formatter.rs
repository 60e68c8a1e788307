//! Formatters that the user's configuration names: the text on stdin, the result on stdout.
//!
//! Nothing of what a formatter says is believed without a look: it has to end in time and with
//! 0, and its output has to be a text that is not empty.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;

use crate::language::Language;
use crate::port::{BoxFuture, Formatted, Formatter};

/// A formatter without a time of its own gets this.
pub const DEFAULT_TIME: Duration = Duration::from_secs(10);

/// How many times larger than the text a result may be.
const MAX_GROWTH: u64 = 4;
const MAX_EXTRA_BYTES: u64 = 1 << 20;
/// How many bytes of a formatter's error output are read and reported.
const MAX_STDERR_BYTES: u64 = 64 << 10;
const MAX_ERROR_CHARS: usize = 200;

/// One command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormatCommand {
    /// The program and its arguments; `{path}` in one stands for the file's path.
    pub command: Vec<String>,
    /// How long it may take.
    pub time: Duration,
}

/// The commands of a configuration, by the name of the language.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandFormatter {
    root: PathBuf,
    by_language: BTreeMap<&'static str, FormatCommand>,
}

impl CommandFormatter {
    /// Formatters that run in `root`, where they find the project's style.
    pub fn new(
        root: PathBuf,
        by_language: impl IntoIterator<Item = (&'static Language, FormatCommand)>,
    ) -> Self {
        let by_language =
            by_language.into_iter().map(|(language, formatter)| (language.name, formatter));
        Self { root, by_language: by_language.collect() }
    }
}

impl Formatter for CommandFormatter {
    fn format<'a>(&'a self, path: &'a str, text: &'a str) -> BoxFuture<'a, Option<Formatted>> {
        Box::pin(async move {
            let language = Language::from_path(path)?;
            let formatter = self.by_language.get(language.name)?;
            let by = formatter.command.first().cloned().unwrap_or_default();
            let text = match tokio::time::timeout(formatter.time, run(self, formatter, path, text))
                .await
            {
                Ok(done) => done,
                Err(_) => Err(format!("it did not end within {} s", formatter.time.as_secs_f64())),
            };
            Some(Formatted { by, text })
        })
    }
}

async fn run(
    config: &CommandFormatter,
    formatter: &FormatCommand,
    path: &str,
    text: &str,
) -> Result<String, String> {
    let Some((program, arguments)) = formatter.command.split_first() else {
        return Err("its command is empty".into());
    };
    // A name that looks like an option is none.
    let path = if path.starts_with('-') { format!("./{path}") } else { path.to_owned() };
    let mut command = Command::new(program);
    command
        .args(arguments.iter().map(|argument| argument.replace("{path}", &path)))
        .current_dir(&config.root)
        .env_remove("OPENAI_API_KEY")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    // What it starts goes with it.
    #[cfg(unix)]
    command.process_group(0);
    let mut child = command.spawn().map_err(|error| format!("it cannot be started: {error}"))?;
    let mut group = ProcessGroup::new(child.id());
    let (Some(mut stdin), Some(stdout), Some(stderr)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err("it has no pipes".into());
    };
    let limit = text.len() as u64 * MAX_GROWTH + MAX_EXTRA_BYTES;
    let (mut out, mut error_output) = (Vec::new(), Vec::new());
    let write_stdin = async {
        // One that ends before it has read all says so by its exit.
        let _ = stdin.write_all(text.as_bytes()).await;
        drop(stdin);
        Ok(())
    };
    let (mut stdout, mut stderr) = (stdout.take(limit + 1), stderr.take(MAX_STDERR_BYTES));
    let read_stdout = async {
        let read = stdout.read_to_end(&mut out).await;
        read.map_err(|error| format!("its output cannot be read: {error}"))?;
        match out.len() as u64 > limit {
            true => Err(format!("its output is larger than {limit} bytes")),
            false => Ok(()),
        }
    };
    let read_stderr = async {
        let _ = stderr.read_to_end(&mut error_output).await;
        Ok(())
    };
    tokio::try_join!(write_stdin, read_stdout, read_stderr)?;
    let status = child.wait().await.map_err(|error| format!("it cannot be waited for: {error}"))?;
    group.disarm();
    if !status.success() {
        let stderr_text = String::from_utf8_lossy(&error_output);
        let first = stderr_text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let first: String = first.trim().chars().take(MAX_ERROR_CHARS).collect();
        let ending = match status.code() {
            Some(code) => format!("it ended with {code}"),
            None => "it was killed".to_owned(),
        };
        return Err(if first.is_empty() { ending } else { format!("{ending}: {first}") });
    }
    let out = String::from_utf8(out).map_err(|_| "its output is not UTF-8".to_owned())?;
    if out.contains('\0') {
        return Err("its output holds a NUL character".into());
    }
    if out.trim().is_empty() && !text.trim().is_empty() {
        return Err("its output is empty".into());
    }
    Ok(out)
}

/// The processes of one formatter, which end with it.
struct ProcessGroup {
    #[cfg(unix)]
    leader: Option<rustix::process::Pid>,
}

impl ProcessGroup {
    #[cfg(unix)]
    fn new(id: Option<u32>) -> Self {
        let id = id.and_then(|id| i32::try_from(id).ok());
        Self { leader: id.and_then(rustix::process::Pid::from_raw) }
    }

    #[cfg(not(unix))]
    fn new(_: Option<u32>) -> Self {
        Self {}
    }
}

impl ProcessGroup {
    /// Its leader is gone, and its number may be given to another.
    fn disarm(&mut self) {
        #[cfg(unix)]
        {
            self.leader = None;
        }
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        #[cfg(unix)]
        if let Some(leader) = self.leader {
            let _ = rustix::process::kill_process_group(leader, rustix::process::Signal::KILL);
        }
    }
}
