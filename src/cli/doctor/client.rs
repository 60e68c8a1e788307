//! `restitch doctor --client NAME`: checks that this client can make edits with restitch.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

use super::super::args::Common;
use super::super::init::clients::{ConfigFile, Trust, client};
use super::{Finding, Level};
use crate::store::canonical;
use crate::tools::Dialect;

/// The time limit of the test edit; clients do not wait longer for a server either.
const START_TIMEOUT: Duration = Duration::from_secs(20);
/// The most bytes that are shown of what the server wrote on stderr.
const MAX_STDERR: u64 = 2_000;

/// The findings about this client; `None` for an unknown client.
pub(super) async fn findings(common: &Common, name: &str) -> Option<Vec<Finding>> {
    let client = client(&name.to_ascii_lowercase())?;
    let server = client.files.iter().find_map(|file| Server::in_settings(&file.settings(common)?));
    let program = server.as_ref().map_or("restitch", |server| server.program.as_str());
    let uses_npx = program == "npx";
    let started = |file: &ConfigFile| if uses_npx { file.by_npx() } else { file.clone() };
    let mut findings = vec![if uses_npx { check_npx() } else { check_program(common, program) }];
    let npx = if uses_npx { " --npx" } else { "" };
    let install = format!("Run `restitch init {} --write{npx}` here.", client.name);
    for file in client.files.iter().map(started) {
        // A changed configuration may be the user's choice, if it still starts the server.
        let level = if server.is_some() { Level::Warning } else { Level::Bad };
        let problem = |what: &str, next: String| {
            let detail = format!("{} {what}", file.display_path());
            Finding::problem("configuration", level, detail, next)
        };
        let text = file.text(common);
        findings.push(match text.as_deref().map(|text| file.content.merged_into(text)) {
            _ if file.is_installed(common) => Finding::ok("configuration", file.display_path()),
            None => problem("is missing", install.clone()),
            Some(Err(refusal)) => problem(
                &format!("cannot be read: {}", refusal.message),
                refusal.hint.map(|hint| hint.to_string()).unwrap_or_default(),
            ),
            Some(Ok(merged)) if Some(&merged) == text.as_ref() => problem(
                "has other values than `init` writes, and `init` keeps them",
                format!(
                    "If you did not choose them, compare it with `restitch init {}`.",
                    client.name
                ),
            ),
            Some(Ok(_)) => problem("lacks settings that `init` writes", install.clone()),
        });
    }
    for file in client.permission_files.iter().map(started) {
        findings.push(if file.is_installed(common) {
            Finding::ok("permission", file.display_path())
        } else {
            Finding::bad(
                "permission",
                format!("{} does not allow edits: {}", file.display_path(), client.without_permissions),
                format!("If that is not what you want, run `restitch init {} --write --allow-edits{npx}` here.", client.name),
            )
        });
    }
    if let Some(trust) = &client.trust {
        findings.push(check_trust(common, trust));
    }
    findings.push(match server {
        None => Finding::bad("server", "no configuration of this client starts restitch", install),
        Some(server) if server.is_off => Finding::bad(
            "server",
            "the client's configuration has restitch switched off",
            "Switch it on there or in the client.",
        ),
        Some(Server { args, .. }) => {
            // A file, because a pipe that nobody reads would stop the server when it is full.
            let stderr = tempfile::tempfile().ok();
            let edit = test_edit(common, &args, stderr.as_ref());
            let finding = match tokio::time::timeout(START_TIMEOUT, edit).await {
                Ok(Ok(tool)) => Finding::ok(
                    "edit",
                    format!(
                        "`{tool}` edited a test file; the server was started with: {}",
                        args.join(" ")
                    ),
                ),
                Ok(Err(reason)) => Finding::bad(
                    "edit",
                    format!("the server, started with {}, failed: {reason}", args.join(" ")),
                    "Correct the arguments in the client's configuration.",
                ),
                Err(_) => Finding::bad(
                    "edit",
                    format!(
                        "the server, started with {}, gave no answer in {} s",
                        args.join(" "),
                        START_TIMEOUT.as_secs()
                    ),
                    "Read what it said on stderr, or start it by hand.",
                ),
            };
            Finding { stderr: stderr.and_then(end_of), ..finding }
        }
    });
    Some(findings)
}

/// The first program on the PATH with one of these names.
fn on_path(names: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .flat_map(|folder| names.iter().map(move |name| folder.join(name)))
        .find(|file| file.is_file())
}

/// Checks that `npx`, which starts restitch, is on the PATH.
fn check_npx() -> Finding {
    match on_path(&["npx", "npx.cmd"]) {
        Some(npx) => Finding::ok(
            "program",
            format!("{}, which fetches restitch; that was not tried", npx.display()),
        ),
        None => Finding::bad(
            "program",
            "`npx` is not on the PATH, so the client cannot start restitch",
            "Install Node, or remove restitch from the client's configuration and run `restitch init` again.",
        ),
    }
}

/// Checks that the program that the client starts, by a path or as one on the PATH, is this one.
fn check_program(common: &Common, configured: &str) -> Finding {
    let path = Path::new(configured);
    let program = match path.components().nth(1) {
        Some(_) => Some(common.root().join(path)).filter(|file| file.is_file()),
        None => on_path(&[configured, &format!("{configured}{}", std::env::consts::EXE_SUFFIX)]),
    };
    let own = own_words(common).pop().and_then(|own| Path::new(&own).canonicalize().ok());
    match program {
        None if configured == "restitch" => Finding::bad(
            "program",
            "`restitch` is not on the PATH, so the client cannot start it",
            "Install restitch (see README), or put its folder on the PATH.",
        ),
        None => Finding::bad(
            "program",
            format!("the client is to start `{configured}`, which is not there"),
            "Correct the command in the client's configuration.",
        ),
        Some(other) if own.is_some() && other.canonicalize().ok() != own => Finding::problem(
            "program",
            Level::Warning,
            format!(
                "the client starts {}, which is not this program and was not tried",
                other.display()
            ),
            "Put this `restitch` first on the PATH, or run `doctor` with the other program.",
        ),
        Some(same) => Finding::ok("program", same.display().to_string()),
    }
}

/// The words that start this program again.
fn own_words(common: &Common) -> Vec<OsString> {
    let own = || std::env::current_exe().map(|own| vec![own.into()]);
    common.program.clone().or_else(|| own().ok()).unwrap_or_default()
}

/// Checks whether the user trusts the project's folder in the client.
fn check_trust(common: &Common, trust: &Trust) -> Finding {
    let project = canonical(common.root()).unwrap_or_else(|_| common.root().to_path_buf());
    // The trust in a folder covers those in it.
    let is_trusted = |folder: &&Path| {
        trust
            .file
            .for_folder(&folder.display().to_string())
            .is_some_and(|file| file.is_installed(common))
    };
    match project.ancestors().find(is_trusted) {
        Some(folder) => Finding::ok("trust", format!("you trust {}", folder.display())),
        None => Finding::bad(
            "trust",
            format!("you have not trusted this folder in the client: {}", trust.without),
            trust.how.clone(),
        ),
    }
}

/// How a client starts the server, by its own files.
struct Server {
    program: String,
    /// The arguments from `mcp` on.
    args: Vec<String>,
    is_off: bool,
}

impl Server {
    /// The first object in `settings` with a list that has `mcp` at the start or after the program.
    fn in_settings(settings: &Value) -> Option<Self> {
        let fields = match settings {
            Value::Object(fields) => fields,
            Value::Array(items) => return items.iter().find_map(Self::in_settings),
            _ => return None,
        };
        let server = |field: &Value| {
            let words = field.as_array()?.iter().map(|word| word.as_str().map(str::to_owned));
            let words: Vec<String> = words.collect::<Option<_>>()?;
            // Before `mcp` come at most the words that start the program, such as `npx -y restitch`.
            let start = words.iter().position(|word| word == "mcp").filter(|&index| index < 4)?;
            let command = fields.get("command").and_then(Value::as_str);
            Some(Self {
                program: command.unwrap_or(&words[0]).to_owned(),
                args: words[start..].to_vec(),
                is_off: fields.get("disabled") == Some(&Value::Bool(true))
                    || fields.get("enabled") == Some(&Value::Bool(false)),
            })
        };
        fields.values().find_map(server).or_else(|| fields.values().find_map(Self::in_settings))
    }
}

/// The end of what was written to a file, if anything was.
fn end_of(mut file: File) -> Option<String> {
    let len = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(len.saturating_sub(MAX_STDERR))).ok()?;
    let mut bytes = Vec::new();
    file.take(MAX_STDERR).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes).trim().to_owned();
    (!text.is_empty()).then_some(text)
}

/// Starts the server as the client does, but in a temporary folder, and edits a file there. Returns
/// the tool that made the edit.
async fn test_edit(
    common: &Common,
    args: &[String],
    stderr: Option<&File>,
) -> Result<String, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let file = folder.path().join("trial.txt");
    std::fs::write(&file, "    one\n    two\n").map_err(|error| error.to_string())?;
    let own = own_words(common);
    let (program, first) = own.split_first().ok_or("this program cannot be found")?;
    let stderr = stderr.and_then(|file| file.try_clone().ok());
    let mut child = tokio::process::Command::new(program)
        .args(first)
        .args(args)
        .arg("--root")
        .arg(folder.path())
        .current_dir(folder.path())
        .env("RESTITCH_STATE_DIR", folder.path().join(".state"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(stderr.map_or_else(Stdio::null, Stdio::from))
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| format!("it does not start: {error}"))?;
    let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        return Err("its stdin and stdout cannot be opened".into());
    };
    let mut lines = BufReader::new(stdout).lines();
    let mut request = async |message: Value| -> Result<Value, String> {
        let line = format!("{message}\n");
        stdin.write_all(line.as_bytes()).await.map_err(|error| error.to_string())?;
        match lines.next_line().await {
            Ok(Some(line)) => serde_json::from_str(&line).map_err(|error| error.to_string()),
            _ => Err("it ended without an answer".into()),
        }
    };
    request(json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "restitch doctor", "version": env!("CARGO_PKG_VERSION")},
    }}))
    .await?;
    let listed = request(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})).await?;
    let listed = listed["result"]["tools"].as_array().cloned().unwrap_or_default();
    let is_offered = |name: &&str| listed.iter().any(|tool| tool["name"] == **name);
    let tool = Dialect::ALL.iter().map(|dialect| dialect.edit_tool()).find(is_offered);
    let tool = tool.ok_or("it offers no edit tool; see --tools")?;
    if is_offered(&"list_files") {
        // A guard wants to see this first.
        request(json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call",
            "params": {"name": "list_files", "arguments": {}}}))
        .await?;
    }
    let call = json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call",
        "params": {"name": tool, "arguments": test_arguments(tool)}});
    let answer = request(call).await?;
    match std::fs::read_to_string(&file) {
        Ok(text) if text == "    one\n    2\n" => Ok(tool.to_owned()),
        _ => Err(answer["result"]["content"][0]["text"].as_str().unwrap_or("no text").to_owned()),
    }
}

/// The arguments of the test edit for this edit tool. The lines in them lack the indentation that the
/// file has, so the server must find them in spite of that.
fn test_arguments(tool: &str) -> Value {
    match tool {
        "apply_patch" => {
            json!({ "patch": "*** Begin Patch\n*** Update File: trial.txt\n@@\n one\n-two\n+2\n*** End Patch" })
        }
        "str_replace_based_edit_tool" => {
            json!({ "command": "str_replace", "path": "trial.txt", "old_str": "one\ntwo", "new_str": "one\n2" })
        }
        "edit_file" => json!({ "path": "trial.txt", "old_str": "one\ntwo", "new_str": "one\n2" }),
        _ => json!({ "file_path": "trial.txt", "old_string": "one\ntwo", "new_string": "one\n2" }),
    }
}
