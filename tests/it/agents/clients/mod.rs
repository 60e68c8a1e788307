//! Real client programs, as their registries have them: each configured by `restitch init`
//! alone (the SDKs by a few lines of their own language), run without anybody to ask, and
//! driven by a scripted model on loopback that speaks the wire of the client's own model.
//!
//! They run in the long form (`RESTITCH_LONG=1`) where `clients/install-real.sh` has put them,
//! and say loudly when not. What the model saw of restitch is kept in `snapshots/client-*`;
//! `RESTITCH_BLESS=1` writes that and the table in `docs/guide/agents.md`.

mod seen;

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::snapshots::check;
use crate::disk::{long, skip};
use seen::Seen;

const APP: &str = "import math\n\ndef total(items):\n    sum = 0\n    for item in items:\n        sum += item.price\n    return sum\n";

/// Nothing hangs for ever.
const LIMIT: Duration = Duration::from_secs(240);

/// A client program.
struct Real {
    name: &'static str,
    /// Where its version stands, below the folder of the programs.
    version: &'static str,
    /// Its name for `restitch init`; an SDK has none.
    init: Option<&'static str>,
    edit: Form,
    /// What it does with its own tool, and what becomes of that.
    own: Option<(OwnCalls, Own)>,
    command: fn(&Run) -> Command,
}

/// Calls of a client's own tools, for a project in that folder.
type OwnCalls = fn(&Path) -> Vec<Value>;

/// The form in which its model edits.
#[derive(Clone, Copy)]
enum Form {
    EditFile,
    Edit,
    ApplyPatch,
}

/// What becomes of a call of the client's own tool.
#[derive(Clone, Copy)]
enum Own {
    /// The hook rewrites it: `sum = 0` becomes `sum = 1`, and the model is told.
    Rescued,
    /// The hook holds it back with restitch's text.
    HeldBack,
}

/// One run of a client.
struct Run {
    programs: PathBuf,
    project: PathBuf,
    home: PathBuf,
    port: u16,
}

impl Run {
    fn program(&self, name: &str) -> Command {
        self.at_home(Command::new(self.programs.join("node_modules/.bin").join(name)))
    }

    /// The command with nothing of this process's environment but the path.
    fn at_home(&self, mut command: Command) -> Command {
        let binary = Path::new(env!("CARGO_BIN_EXE_restitch")).parent().expect("folder");
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = [binary.to_path_buf()].into_iter().chain(std::env::split_paths(&path));
        command
            .env_clear()
            .env("PATH", std::env::join_paths(folders).expect("path"))
            .env("HOME", &self.home)
            .env("RESTITCH_STATE_DIR", self.home.join("restitch"))
            .env("NO_COLOR", "1")
            .current_dir(&self.project);
        command
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }
}

const CLIENTS: &[Real] = &[
    Real {
        name: "Claude Code",
        version: "node_modules/@anthropic-ai/claude-code",
        init: Some("claude"),
        edit: Form::Edit,
        own: Some((
            |root| {
                let file = root.join("src/app.py");
                vec![
                    json!({ "tool": "Read", "arguments": { "file_path": file } }),
                    json!({ "tool": "Edit", "arguments": {
                        "file_path": file,
                        "old_string": "    sum = 0\n    for item in items:\n",
                        "new_string": "    # ... rest of the code unchanged ...\n",
                    }}),
                ]
            },
            Own::HeldBack,
        )),
        command: |run| {
            let mut command = run.program("claude");
            command
                .args(["-p", "edit", "--model", "claude-sonnet-4-5", "--output-format", "json"])
                .env("ANTHROPIC_BASE_URL", run.url(""))
                .env("ANTHROPIC_API_KEY", "none");
            command
        },
    },
    Real {
        name: "Codex",
        version: "node_modules/@openai/codex",
        init: Some("codex"),
        edit: Form::ApplyPatch,
        own: Some((
            |_| {
                let patch = "*** Begin Patch\n*** Update File: src/app.py\n@@\n def total(items):\n-sum = 0\n-for item in items:\n+sum = 1\n+for item in items:\n*** End Patch";
                vec![json!({ "tool": "apply_patch", "input": patch })]
            },
            Own::Rescued,
        )),
        command: |run| {
            let mut command = run.program("codex");
            command
                .args(["exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust"])
                .args(["-c", "model_provider=x", "-c", "model_providers.x.name=x"])
                .args(["-c", "model_providers.x.wire_api=responses"])
                .args(["-c", "model_providers.x.env_key=OPENAI_API_KEY", "-m", "gpt-5.5"])
                .args(["-c", &format!("model_providers.x.base_url={}", run.url("/v1")), "edit"])
                .env("OPENAI_API_KEY", "none");
            command
        },
    },
    Real {
        name: "Gemini CLI",
        version: "node_modules/@google/gemini-cli",
        init: Some("gemini"),
        edit: Form::Edit,
        own: Some((
            |root| {
                vec![json!({ "tool": "replace", "arguments": {
                    "file_path": root.join("src/app.py"),
                    "instruction": "edit",
                    "old_string": "def total(items):\\n    sum = 0\\n",
                    "new_string": "def total(items):\\n    sum = 1\\n",
                }})]
            },
            Own::Rescued,
        )),
        command: |run| {
            // How the user signs in is no part of init.
            let settings = run.home.join(".gemini/settings.json");
            let auth = json!({ "security": { "auth": { "selectedType": "gemini-api-key" } } });
            std::fs::write(settings, auth.to_string()).expect("written");
            let mut command = run.program("gemini");
            command
                .args(["-p", "edit", "-m", "gemini-2.5-pro", "--approval-mode", "auto_edit"])
                .env("GOOGLE_GEMINI_BASE_URL", run.url(""))
                .env("GEMINI_API_KEY", "none");
            command
        },
    },
    Real {
        name: "opencode",
        version: "node_modules/opencode-ai",
        init: Some("opencode"),
        edit: Form::Edit,
        own: Some((
            |root| {
                let file = root.join("src/app.py");
                vec![
                    json!({ "tool": "read", "arguments": { "filePath": file } }),
                    json!({ "tool": "edit", "arguments": {
                        "filePath": file,
                        "oldString": "def total(items):\\n    sum = 0\\n",
                        "newString": "def total(items):\\n    sum = 1\\n",
                    }}),
                ]
            },
            Own::Rescued,
        )),
        command: |run| {
            let provider = json!({ "provider": { "x": {
                "npm": "@ai-sdk/openai-compatible",
                "name": "x",
                "options": { "baseURL": run.url("/v1"), "apiKey": "none" },
                "models": { "scripted": { "name": "scripted", "tool_call": true } },
            }}});
            let mut command = run.program("opencode");
            command
                .args(["run", "-m", "x/scripted", "edit"])
                .env("OPENCODE_CONFIG_CONTENT", provider.to_string());
            command
        },
    },
    Real {
        name: "Copilot CLI",
        version: "node_modules/@github/copilot",
        init: Some("copilot"),
        edit: Form::EditFile,
        own: Some((
            |root| {
                vec![json!({ "tool": "edit", "arguments": {
                    "path": root.join("src/app.py"),
                    "old_str": "def total(items):\\n    sum = 0\\n",
                    "new_str": "def total(items):\\n    sum = 1\\n",
                }})]
            },
            Own::Rescued,
        )),
        command: |run| {
            let mut command = run.program("copilot");
            command
                .args(["-p", "edit", "--allow-tool=restitch", "--allow-tool=write"])
                .env("COPILOT_OFFLINE", "true")
                .env("COPILOT_PROVIDER_BASE_URL", run.url("/v1"))
                .env("COPILOT_PROVIDER_API_KEY", "none")
                .env("COPILOT_MODEL", "gpt-5");
            command
        },
    },
    Real {
        name: "OpenAI Agents SDK",
        version: "venv/lib/openai_agents",
        init: None,
        edit: Form::EditFile,
        own: None,
        command: |run| {
            let mut command = run.at_home(Command::new(run.programs.join("venv/bin/python")));
            command.arg(script("openai_agents.py")).arg(run.port.to_string());
            command.args([env!("CARGO_BIN_EXE_restitch"), "mcp"]);
            command
        },
    },
    Real {
        name: "Vercel AI SDK",
        version: "node_modules/ai",
        init: None,
        edit: Form::EditFile,
        own: None,
        command: |run| {
            let mut command = run.at_home(Command::new("node"));
            command.arg(script("vercel.mjs")).arg(&run.programs).arg(run.port.to_string());
            command.args([env!("CARGO_BIN_EXE_restitch"), "mcp"]);
            command
        },
    },
];

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/agents/clients").join(name)
}

/// What the model does: five calls of restitch's tools, then the client's own.
fn turns(client: &Real, root: &Path) -> Vec<Value> {
    let (old, new) = (
        "for item in items:\n    sum += item.price\nreturn sum",
        "for item in items:\n    sum += item.cost\nreturn sum",
    );
    let edit = |old: &str, new: &str| match client.edit {
        Form::EditFile => json!({ "tool": "restitch:edit_file", "arguments": {
            "path": "src/app.py", "old_str": old, "new_str": new,
        }}),
        Form::Edit => json!({ "tool": "restitch:edit", "arguments": {
            "file_path": "src/app.py", "old_string": old, "new_string": new,
        }}),
        Form::ApplyPatch => {
            let lines = |mark: char, text: &str| -> String {
                text.lines().map(|line| format!("{mark}{line}\n")).collect()
            };
            let patch = format!(
                "*** Begin Patch\n*** Update File: src/app.py\n@@\n{}{}*** End Patch",
                lines('-', old),
                lines('+', new)
            );
            json!({ "tool": "restitch:apply_patch", "arguments": { "patch": patch } })
        }
    };
    // Codex lets the models it knows search for the tools of servers.
    let search = json!({ "search": "restitch edit a file, read it, search, undo" });
    let mut turns = if client.name == "Codex" { vec![search] } else { Vec::new() };
    turns.extend([
        json!({ "tool": "restitch:read_file", "arguments": { "path": "src/app.py" } }),
        edit(old, new),
        edit("nothing like this is here", "x"),
        json!({ "tool": "restitch:multi_edit", "arguments": { "edits": [
            { "path": "src/app.py", "old_str": "import math", "new_str": "import cmath" },
        ]}}),
        json!({ "tool": "restitch:undo", "arguments": {} }),
    ]);
    turns.extend(client.own.iter().flat_map(|(own, _)| own(root)));
    turns.push(json!({ "text": "done" }));
    turns
}

/// The scripted model; it ends with the test.
struct Model {
    child: Child,
    port: u16,
}

impl Drop for Model {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Model {
    fn play(turns: &[Value], folder: &Path) -> Self {
        let order = folder.join("script.json");
        std::fs::write(&order, json!(turns).to_string()).expect("written");
        let mut child = Command::new("node")
            .arg(script("model.mjs"))
            .args([order.as_path(), folder])
            .stdout(Stdio::piped())
            .spawn()
            .expect("node runs");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("piped");
        BufReader::new(stdout).read_line(&mut line).expect("port");
        Self { child, port: line.trim().parse().expect("port") }
    }
}

/// Runs a command to its end, or to the limit.
fn finish(mut command: Command, log: &Path) {
    let out = std::fs::File::create(log).expect("log");
    let mut child = command
        .stdin(Stdio::null())
        .stdout(out.try_clone().expect("log"))
        .stderr(out)
        .spawn()
        .expect("starts");
    let begun = Instant::now();
    while child.try_wait().expect("waits").is_none() {
        if begun.elapsed() > LIMIT {
            let _ = child.kill();
            let _ = child.wait();
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn version(programs: &Path, client: &Real) -> Option<String> {
    if client.version.starts_with("venv") {
        let code = "import importlib.metadata as m; print(m.version('openai-agents'))";
        let out =
            Command::new(programs.join("venv/bin/python")).args(["-c", code]).output().ok()?;
        return out
            .status
            .success()
            .then(|| String::from_utf8_lossy(&out.stdout).trim().to_owned());
    }
    let text = std::fs::read_to_string(programs.join(client.version).join("package.json")).ok()?;
    let package: Value = serde_json::from_str(&text).ok()?;
    package["version"].as_str().map(str::to_owned)
}

/// What works, in the order of the table's columns.
struct Works {
    columns: Vec<(&'static str, bool)>,
    seen: Seen,
    log: String,
}

fn drive(client: &Real, programs: &Path) -> Works {
    let temp = tempfile::tempdir().expect("folder");
    let top = temp.path().canonicalize().expect("folder");
    let (project, home, requests) = (top.join("project"), top.join("home"), top.join("requests"));
    for folder in [&project.join("src"), &home, &requests] {
        std::fs::create_dir_all(folder).expect("folder");
    }
    std::fs::write(project.join("src/app.py"), APP).expect("file");
    let model = Model::play(&turns(client, &project), &requests);
    let run = Run { programs: programs.to_owned(), project, home, port: model.port };
    if let Some(name) = client.init {
        let mut init = run.at_home(Command::new(env!("CARGO_BIN_EXE_restitch")));
        let out = init.args(["init", name, "--write", "--allow-edits"]).output().expect("runs");
        assert!(out.status.success(), "{name}: {}", String::from_utf8_lossy(&out.stdout));
    }
    let log = top.join("log");
    finish((client.command)(&run), &log);
    let seen = Seen::read(&requests, &run.project);
    let file = std::fs::read_to_string(run.project.join("src/app.py")).expect("file");
    let answer = |at: usize| seen.answers.get(at).map(String::as_str).unwrap_or_default();
    let form = match client.edit {
        Form::EditFile => "edit_file",
        Form::Edit => "edit",
        Form::ApplyPatch => "apply_patch",
    };
    let listed = [form, "multi_edit", "read_file", "search", "undo"];
    let own = client.own.map(|(_, own)| own);
    let first_line = if matches!(own, Some(Own::Rescued)) { "    sum = 1" } else { "    sum = 0" };
    let after = APP.replace("item.price", "item.cost").replace("    sum = 0", first_line);
    let mut columns = vec![
        ("list", listed.iter().all(|tool| seen.offers(tool))),
        ("read", answer(0).contains("import math\n\ndef total(items):")),
        ("repaired", answer(1).contains("Matched by `indentation`")),
        ("refused", answer(2).contains("Next: Read the file again")),
        ("several", answer(3).contains("<<1>>import cmath")),
        ("undo", answer(4).contains("Took back revision")),
    ];
    let told = match own {
        Some(Own::Rescued) => Some(seen.whole.contains("restitch corrected your edit")),
        Some(Own::HeldBack) => Some(seen.whole.contains("EDIT_OMISSION")),
        None => None,
    };
    columns.extend(told.map(|told| ("hook", told)));
    columns.push(("bytes", file == after));
    Works { columns, seen, log: std::fs::read_to_string(log).unwrap_or_default() }
}

#[test]
fn real_clients_edit_headless() {
    if !long() {
        return skip("real clients", "RESTITCH_LONG is not 1");
    }
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/clients");
    let mut rows = Vec::new();
    let mut wrong = String::new();
    for client in CLIENTS {
        let Some(version) = version(&programs, client) else {
            skip(client.name, "not installed; run tests/it/agents/clients/install-real.sh");
            continue;
        };
        let works = drive(client, &programs);
        let cell = |name: &str| {
            let found = works.columns.iter().find(|(column, _)| *column == name);
            match (found, client.own.map(|(_, own)| own)) {
                (Some((_, true)), Some(Own::HeldBack)) if name == "hook" => "held back",
                (Some((_, true)), _) => "yes",
                (Some((_, false)), _) => "no",
                (None, _) => "",
            }
        };
        let names = ["list", "read", "repaired", "refused", "several", "undo", "hook", "bytes"];
        let cells: Vec<&str> = names.iter().map(|name| cell(name)).collect();
        let row = format!(
            "| {} | {version} | {} | {} |",
            client.name,
            cells.join(" | "),
            works.seen.declared
        );
        println!("{row}");
        rows.push(row);
        if works.columns.iter().any(|(_, works)| !works) {
            let tail: String =
                works.log.lines().rev().take(12).map(|l| format!("  {l}\n")).collect();
            wrong.push_str(&format!(
                "{} {version}: {:?}\n{}\nlog, last line first:\n{tail}\n",
                client.name,
                works.columns,
                works.seen.text()
            ));
            continue;
        }
        let name = client.name.to_lowercase().replace(' ', "-");
        check(&format!("client-{name}.txt"), &works.seen.text());
    }
    assert!(wrong.is_empty(), "{wrong}");
    if std::env::var_os("RESTITCH_BLESS").is_some() && !rows.is_empty() {
        write_table(&rows);
    }
}

/// Puts the rows between the marks in the page about agents, where it has them.
fn write_table(rows: &[String]) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/guide/agents.md");
    let text = std::fs::read_to_string(&file).expect("the page about agents");
    let (open, close) = ("<!-- clients -->\n", "<!-- /clients -->");
    let (Some(from), Some(to)) = (text.find(open), text.find(close)) else {
        return skip("the table of clients", "docs/guide/agents.md has no marks for it");
    };
    let date = Command::new("date").args(["-u", "+%F"]).output().expect("date").stdout;
    let date = String::from_utf8_lossy(&date);
    let table = format!(
        "Run on {} with restitch {}:\n\n| client | version | list | read | repaired | refused | several | undo | hook | bytes right | declared |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | ---: |\n{}\n",
        date.trim(),
        env!("CARGO_PKG_VERSION"),
        rows.join("\n")
    );
    let text = format!("{}{table}{}", &text[..from + open.len()], &text[to..]);
    std::fs::write(file, text).expect("written");
}
