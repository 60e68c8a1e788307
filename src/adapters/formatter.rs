//! Runs the formatters that the user's configuration names: each gets the text on stdin and writes
//! the result to stdout.
//!
//! A result is used only if the formatter exits with 0 in time and its output is text that is not
//! empty.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;

use crate::language::Language;
use crate::port::{BoxFuture, Formatted, Formatter};

/// How long a formatter may take unless the configuration says otherwise.
pub(crate) const DEFAULT_TIME: Duration = Duration::from_secs(10);

/// A result may have this many times the bytes of the text, plus [`MAX_EXTRA_BYTES`].
const MAX_GROWTH: u64 = 4;
const MAX_EXTRA_BYTES: u64 = 1 << 20;
/// How many bytes of a formatter's stderr are read.
const MAX_STDERR_BYTES: u64 = 64 << 10;
/// How many characters of stderr are reported.
const MAX_ERROR_CHARS: usize = 200;

/// The command that formats one language.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FormatCommand {
    /// The program and its arguments; `{path}` in an argument stands for the file's path.
    pub command: Vec<String>,
    /// How long it may take.
    pub time: Duration,
}

/// Formats files with the commands of a configuration, one for each language.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CommandFormatter {
    root: PathBuf,
    by_language: BTreeMap<&'static str, FormatCommand>,
}

impl CommandFormatter {
    /// A formatter whose commands run in `root`, where they find the project's style.
    pub(crate) fn new(
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
            let run = run(self, formatter, path, text);
            let formatted = match tokio::time::timeout(formatter.time, run).await {
                Ok(result) => result,
                Err(_) => Err(format!("it did not end within {} s", formatter.time.as_secs_f64())),
            };
            Some(Formatted { by, text: formatted })
        })
    }

    fn formats(&self, path: &str) -> bool {
        Language::from_path(path)
            .is_some_and(|language| self.by_language.contains_key(language.name))
    }
}

/// Runs one formatter on a text and returns its output, or the reason why it cannot be used.
async fn run(
    config: &CommandFormatter,
    formatter: &FormatCommand,
    path: &str,
    text: &str,
) -> Result<String, String> {
    let Some((program, arguments)) = formatter.command.split_first() else {
        return Err("its command is empty".into());
    };
    // Keep a file name such as `-x.rs` from being read as an option.
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
    // In a group of its own, so that the processes it starts can be killed with it.
    #[cfg(unix)]
    command.process_group(0);
    let mut child = command.spawn().map_err(|error| format!("it cannot be started: {error}"))?;
    let mut group = ProcessGroup::new(child.id());
    let (Some(mut stdin), Some(stdout), Some(stderr)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err("its stdin, stdout or stderr is not connected".into());
    };
    let limit = text.len() as u64 * MAX_GROWTH + MAX_EXTRA_BYTES;
    let (mut out, mut error_output) = (Vec::new(), Vec::new());
    let write_stdin = async {
        // If the formatter exits before it has read everything, its exit code tells why.
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
    let status = child.wait().await.map_err(|error| format!("its exit is not known: {error}"))?;
    group.disarm();
    if !status.success() {
        let stderr_text = String::from_utf8_lossy(&error_output);
        let first_line = stderr_text.lines().map(str::trim).find(|line| !line.is_empty());
        let cause: String = first_line.unwrap_or_default().chars().take(MAX_ERROR_CHARS).collect();
        let exit = match status.code() {
            Some(code) => format!("it exited with code {code}"),
            None => "it was killed".to_owned(),
        };
        return Err(if cause.is_empty() { exit } else { format!("{exit}: {cause}") });
    }
    let out = String::from_utf8(out).map_err(|_| "its output is not UTF-8".to_owned())?;
    if out.contains('\0') {
        return Err("its output contains a NUL character".into());
    }
    if out.trim().is_empty() && !text.trim().is_empty() {
        return Err("its output is empty".into());
    }
    Ok(out)
}

/// The process group of a formatter; dropping this kills the formatter and what it has started.
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
    /// Keeps `drop` from killing the group: the leader has exited, and the system may give its
    /// process id to another process.
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
