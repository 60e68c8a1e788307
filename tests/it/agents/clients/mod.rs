//! Real client programs, as their registries have them: each configured by `restitch init`
//! alone (the SDKs by a few lines of their own language), run without a person to ask, and
//! driven by a scripted model on loopback that speaks the wire of the client's own model.
//!
//! They run in the long form (`RESTITCH_LONG=1`) where `clients/install-real.sh` has put them,
//! and say loudly when not. What the model saw of restitch is kept in `snapshots/client-*`;
//! `RESTITCH_BLESS=1` writes that and the table in `docs/guide/agents.md`.

mod hosts;
mod seen;
mod start;

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Value, json};

use super::snapshots::check;
use crate::disk::{is_long_run, skip};
use crate::rows::rows;
use crate::sandbox::{Running, put};
use seen::Seen;
use start::Start;

const APP: &str = "import math\n\ndef total(items):\n    sum = 0\n    for item in items:\n        sum += item.price\n    return sum\n";

/// Nothing hangs for ever.
const LIMIT: Duration = Duration::from_secs(240);

/// A client program: a line of `clients.jsonl`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Real {
    name: String,
    /// Where its version stands, below the folder of the programs.
    version: String,
    /// Its name for `restitch init`; an SDK has none.
    init: Option<String>,
    #[serde(default)]
    edit: Form,
    own: Option<OwnTool>,
    #[serde(flatten)]
    start: Start,
    /// The folder of the project that it is started in.
    #[serde(default)]
    folder: String,
}

/// What a client does with its own tool, and what becomes of that.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OwnTool {
    calls: Vec<Value>,
    becomes: Own,
}

impl OwnTool {
    /// The calls, for a project in that folder.
    fn calls(&self, project: &Path) -> Vec<Value> {
        let text = json!(self.calls).to_string();
        let text = text.replace("{project}", &project.display().to_string());
        serde_json::from_str(&text).expect("calls")
    }
}

impl Real {
    fn becomes(&self) -> Option<Own> {
        self.own.as_ref().map(|own| own.becomes)
    }
}

fn clients() -> Vec<Real> {
    rows(include_str!("clients.jsonl"))
}

/// The form in which its model edits.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Form {
    #[default]
    EditFile,
    Edit,
    ApplyPatch,
}

/// What becomes of a call of the client's own tool.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Own {
    /// The hook rewrites it: `sum = 0` becomes `sum = 1`, and the model is told.
    Rescued,
    /// The hook holds it back with restitch's text.
    HeldBack,
    /// The client has no hooks, so it is not sent.
    NotSeen,
}

/// Gives the trust that a user gives in the client once, and `init` never gives.
fn trust(run: &Run, client: &str) {
    let folder = run.project.display().to_string();
    let write = |path: &str, text: String| put(&run.home.join(path), text);
    match client {
        "claude" => {
            let projects = json!({ folder: { "hasTrustDialogAccepted": true } });
            write(".claude.json", json!({ "projects": projects }).to_string());
        }
        "codex" => write(
            ".codex/config.toml",
            format!("[projects.\"{folder}\"]\ntrust_level = \"trusted\"\n"),
        ),
        "gemini" => {
            write(".gemini/trustedFolders.json", json!({ folder: "TRUST_FOLDER" }).to_string());
        }
        "copilot" => {
            write(".copilot/config.json", json!({ "trustedFolders": [folder] }).to_string());
        }
        "qwen" => {
            let mut approve = run.program("qwen");
            let out = approve.args(["mcp", "approve", "restitch"]).output().expect("runs");
            assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        }
        _ => {}
    }
}

/// One run of a client.
struct Run {
    programs: PathBuf,
    project: PathBuf,
    home: PathBuf,
    port: u16,
    /// The piece of `integrations`, if there is one.
    piece: PathBuf,
    folder: String,
    /// The folder on the path that has a `restitch`; none, if there is no restitch.
    restitch: Option<PathBuf>,
}

impl Run {
    fn program(&self, name: &str) -> Command {
        self.at_home(Command::new(self.programs.join("node_modules/.bin").join(name)))
    }

    /// The command with nothing of this process's environment but the path.
    fn at_home(&self, mut command: Command) -> Command {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let others =
            std::env::split_paths(&path).filter(|folder| !folder.join("restitch").exists());
        let folders = self.restitch.clone().into_iter().chain(others);
        command
            .env_clear()
            .env("PATH", std::env::join_paths(folders).expect("path"))
            .env("HOME", &self.home)
            .env("RESTITCH_STATE_DIR", self.home.join("restitch"))
            .env("NO_COLOR", "1")
            .current_dir(self.project.join(&self.folder));
        command
    }
}

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
    if let Some(own @ OwnTool { becomes: Own::Rescued | Own::HeldBack, .. }) = &client.own {
        turns.extend(own.calls(root));
    }
    turns.push(json!({ "text": "done" }));
    turns
}

/// The scripted model; it ends with the test.
struct Model {
    _child: Running,
    port: u16,
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
        Self { _child: Running(child), port: line.trim().parse().expect("port") }
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

/// The version of a package, of which `place` says where it is below the folder of the programs.
fn package_version(programs: &Path, place: &str) -> Option<String> {
    if place.starts_with("venv") {
        let (folder, package) = place.split_once('/')?;
        let code = format!("import importlib.metadata as m; print(m.version('{package}'))");
        let python = programs.join(folder).join("bin/python");
        let out = Command::new(python).args(["-c", &code]).output().ok()?;
        return out
            .status
            .success()
            .then(|| String::from_utf8_lossy(&out.stdout).trim().to_owned());
    }
    let text = std::fs::read_to_string(programs.join(place).join("package.json")).ok()?;
    let package: Value = serde_json::from_str(&text).ok()?;
    package["version"].as_str().map(str::to_owned)
}

/// What works, in the order of the table's columns.
struct Works {
    columns: Vec<(&'static str, bool)>,
    seen: Seen,
    log: String,
}

/// Sets a project up for a client, as `init` with these flags does.
fn set_up(
    client: &Real,
    programs: &Path,
    top: &Path,
    flags: &[&str],
    turns: impl Fn(&Path) -> Vec<Value>,
) -> (Run, Model) {
    let (project, home, requests) = (top.join("project"), top.join("home"), top.join("requests"));
    for folder in [&project.join("src"), &home, &requests] {
        std::fs::create_dir_all(folder).expect("folder");
    }
    std::fs::write(project.join("src/app.py"), APP).expect("file");
    let model = Model::play(&turns(&project), &requests);
    let binary = Path::new(env!("CARGO_BIN_EXE_restitch")).parent().expect("folder");
    let run = Run {
        programs: programs.to_owned(),
        project,
        home,
        port: model.port,
        piece: PathBuf::new(),
        folder: client.folder.clone(),
        restitch: Some(binary.to_path_buf()),
    };
    if let Some(name) = &client.init {
        let mut init = run.at_home(Command::new(env!("CARGO_BIN_EXE_restitch")));
        init.current_dir(&run.project).args(["init", name, "--write"]).args(flags);
        let out = init.output().expect("runs");
        assert!(out.status.success(), "{name}: {}", String::from_utf8_lossy(&out.stdout));
        trust(&run, name);
    }
    (run, model)
}

/// Runs the client to its end.
fn run_client(client: &Real, command: Command, run: &Run, log: &Path) {
    finish(command, log);
    if client.name == "Cline" {
        // It leaves a process behind for the next one.
        let _ = run.program("cline").args(["hub", "stop"]).stdin(Stdio::null()).output();
    }
}

fn drive(client: &Real, programs: &Path) -> Works {
    let temp = tempfile::tempdir().expect("folder");
    let top = temp.path().canonicalize().expect("folder");
    let (run, _model) =
        set_up(client, programs, &top, &["--allow-edits"], |root| turns(client, root));
    let log = top.join("log");
    run_client(client, client.start.command(&run), &run, &log);
    let seen = Seen::read(&top.join("requests"), &run.project);
    let file = std::fs::read_to_string(run.project.join("src/app.py")).expect("file");
    let answer = |at: usize| seen.answers.get(at).map(String::as_str).unwrap_or_default();
    let form = match client.edit {
        Form::EditFile => "edit_file",
        Form::Edit => "edit",
        Form::ApplyPatch => "apply_patch",
    };
    let listed = [form, "multi_edit", "read_file", "search", "undo"];
    let own = client.becomes();
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
        Some(Own::NotSeen) | None => None,
    };
    columns.extend(told.map(|told| ("hook", told)));
    columns.push(("bytes", file == after));
    Works { columns, seen, log: std::fs::read_to_string(log).unwrap_or_default() }
}

#[test]
fn real_clients_edit_headless() {
    let clients = clients();
    if !is_long_run() {
        return skip("real clients", "RESTITCH_LONG is not 1");
    }
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/clients");
    let mut rows = Vec::new();
    let mut wrong = String::new();
    for client in &clients {
        let Some(version) = package_version(&programs, &client.version) else {
            skip(&client.name, "not installed; run tests/it/agents/clients/install-real.sh");
            continue;
        };
        let works = drive(client, &programs);
        let cell = |name: &str| {
            let found = works.columns.iter().find(|(column, _)| *column == name);
            match (found, client.becomes()) {
                (Some((_, true)), Some(Own::HeldBack)) if name == "hook" => "held back",
                (Some((_, true)), _) => "yes",
                (Some((_, false)), _) => "no",
                (None, _) => "",
            }
        };
        let name = client.name.to_lowercase().replace(' ', "-");
        let [success, refusal] = tokens_then_and_now(&programs, &name, &works.seen.body);
        let row = format!(
            "| {} | {version} | {} | {} | {} | {success} | {refusal} |",
            client.name,
            cell("hook"),
            works.seen.size,
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
        check(&format!("client-{name}.txt"), &works.seen.text());
        check(&format!("client-{name}-body.json"), &works.seen.body);
    }
    assert!(wrong.is_empty(), "{wrong}");
    let head = "| client | version | hook | last request | declared | success | refusal |\n| --- | --- | --- | ---: | ---: | ---: | ---: |";
    write_table("clients", head, &rows);
}

/// The last commit at which every client got a refusal marked as an error.
const MARKED_AS_ERRORS: &str = "4410c144";

/// The tokens that the model receives for a success and for a refusal, at that commit and now.
fn tokens_then_and_now(programs: &Path, client: &str, body: &str) -> [String; 2] {
    let count = |body: &[u8]| {
        let mut counter = Command::new("node")
            .arg(script("tokens.mjs"))
            .arg(programs)
            .arg("-")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("node runs");
        counter.stdin.take().expect("piped").write_all(body).expect("written");
        let out = counter.wait_with_output().expect("ends");
        assert!(out.status.success(), "{client}: the tokens were not counted");
        String::from_utf8(out.stdout).expect("UTF-8")
    };
    let now = count(body.as_bytes());
    let file = format!("{MARKED_AS_ERRORS}:tests/it/agents/snapshots/client-{client}-body.json");
    let mut git = Command::new("git");
    let out = git.args(["show", &file]).current_dir(env!("CARGO_MANIFEST_DIR")).output();
    // A clone without its history lacks it.
    let then = out.ok().filter(|out| out.status.success()).map(|out| count(&out.stdout));
    let mut then = then.iter().flat_map(|counts| counts.split_whitespace());
    let mut now = now.split_whitespace();
    [(); 2].map(|()| {
        format!("{}→{}", then.next().unwrap_or("?"), now.next().expect("a success and a refusal"))
    })
}

/// A line of the page about agents: the client, its own edit tool, the file and the setting for it, or an
/// argument, that take the tool away.
type Without =
    (&'static str, &'static str, Option<(&'static str, &'static str)>, &'static [&'static str]);

const WITHOUT_OWN_TOOL: &[Without] = &[
    (
        "Claude Code",
        "Edit",
        Some((".claude/settings.json", r#""permissions": {"deny": ["Edit"]}"#)),
        &[],
    ),
    (
        "Gemini CLI",
        "replace",
        Some((".gemini/settings.json", r#""tools": {"exclude": ["replace"]}"#)),
        &[],
    ),
    ("opencode", "edit", Some(("opencode.json", r#""tools": {"edit": false}"#)), &[]),
    ("Copilot CLI", "edit", None, &["--excluded-tools=edit"]),
];

#[test]
fn the_lines_of_the_page_take_a_clients_own_edit_tool_away() {
    let page =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/guide/agents.md"))
            .expect("the page about agents");
    for (name, _, setting, arguments) in WITHOUT_OWN_TOOL {
        let line = setting.map_or(arguments.concat(), |(_, line)| line.to_owned());
        assert!(page.contains(&line), "{name}: {line}");
    }
    if !is_long_run() {
        return skip("a client's own edit tool", "RESTITCH_LONG is not 1");
    }
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/clients");
    let done = |_: &Path| vec![json!({ "text": "done" })];
    for (name, tool, setting, arguments) in WITHOUT_OWN_TOOL {
        let clients = clients();
        let client = clients.iter().find(|client| client.name == *name).expect("client");
        if package_version(&programs, &client.version).is_none() {
            skip(name, "not installed; run tests/it/agents/clients/install-real.sh");
            continue;
        }
        let has_tool = |without: bool| {
            let temp = tempfile::tempdir().expect("folder");
            let top = temp.path().canonicalize().expect("folder");
            let (run, _model) = set_up(client, &programs, &top, &["--allow-edits"], done);
            let mut command = client.start.command(&run);
            if without {
                if let Some((file, line)) = setting {
                    let file = run.project.join(file);
                    let text = std::fs::read_to_string(&file).expect("configuration");
                    let mut value: Value = serde_json::from_str(&text).expect("JSON");
                    let line: Value = serde_json::from_str(&format!("{{{line}}}")).expect("JSON");
                    for (key, added) in line.as_object().expect("object") {
                        if let Some(new) = added.as_object().filter(|_| value[key].is_object()) {
                            value[key].as_object_mut().expect("object").extend(new.clone());
                        } else {
                            value[key] = added.clone();
                        }
                    }
                    std::fs::write(file, value.to_string()).expect("written");
                }
                command.args(*arguments);
            }
            finish(command, &top.join("log"));
            let seen = Seen::read(&top.join("requests"), &run.project);
            assert!(seen.offers("undo"), "{name}: {}", seen.text());
            seen.whole.contains(&format!("\"name\":\"{tool}\""))
        };
        assert!(has_tool(false), "{name} has no tool {tool}");
        assert!(!has_tool(true), "{name} still offers {tool}");
    }
}

/// The calls of a client's own tools, with texts that its own edit tool finds.
#[cfg(unix)]
fn exact(calls: Vec<Value>) -> Vec<Value> {
    let patch = "*** Begin Patch\n*** Update File: src/app.py\n@@\n-    sum = 0\n+    sum = 1\n*** End Patch";
    let mut calls = calls;
    for call in &mut calls {
        if call.get("input").is_some() {
            call["input"] = patch.into();
        }
        for (name, value) in call["arguments"].as_object_mut().into_iter().flatten() {
            match name.to_ascii_lowercase().replace('_', "").as_str() {
                "oldstring" | "oldstr" | "oldtext" => *value = "    sum = 0\n".into(),
                "newstring" | "newstr" | "newtext" => *value = "    sum = 1\n".into(),
                _ => {}
            }
        }
    }
    calls
}

/// A colleague who has the project and no restitch, or one that crashes, edits with the client's own
/// tool as before: with `--allow-edits` and without.
#[cfg(unix)]
#[test]
fn real_clients_go_on_without_restitch_and_with_one_that_crashes() {
    if !is_long_run() {
        return skip("real clients without restitch", "RESTITCH_LONG is not 1");
    }
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/clients");
    let (mut stopped, mut rows) = (Vec::new(), Vec::new());
    for client in &clients() {
        let Some(own) = &client.own else { continue };
        let Some(version) = package_version(&programs, &client.version) else {
            skip(&client.name, "not installed; run tests/it/agents/clients/install-real.sh");
            continue;
        };
        let mut cells = <[String; 3]>::default();
        for flags in [&["--allow-edits"][..], &[]] {
            for (cell, state) in cells.iter_mut().zip(["there", "missing", "crashing"]) {
                let temp = tempfile::tempdir().expect("folder");
                let top = temp.path().canonicalize().expect("folder");
                let turns = |root: &Path| {
                    let mut turns = exact(own.calls(root));
                    turns.push(json!({ "text": "done" }));
                    turns
                };
                let (mut run, _model) = set_up(client, &programs, &top, flags, turns);
                match state {
                    "missing" => run.restitch = None,
                    "crashing" => {
                        let folder = top.join("bin");
                        std::fs::create_dir(&folder).expect("folder");
                        let program = folder.join("restitch");
                        std::fs::write(&program, "#!/bin/sh\nkill -ABRT $$\n").expect("program");
                        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
                        std::fs::set_permissions(&program, mode).expect("mode");
                        run.restitch = Some(folder);
                    }
                    _ => {}
                }
                let mut command = client.start.command(&run);
                // What the user allows the client's own tool is no part of init.
                if client.init.as_deref() == Some("claude") {
                    command.args(["--permission-mode", "acceptEdits"]);
                }
                let log = top.join("log");
                run_client(client, command, &run, &log);
                let file = std::fs::read_to_string(run.project.join("src/app.py")).expect("file");
                let edited = file == APP.replace("sum = 0", "sum = 1");
                cell.push_str(if flags.is_empty() { "/" } else { "" });
                cell.push_str(if edited { "edits" } else { "stopped" });
                if !edited {
                    let log = std::fs::read_to_string(&log).unwrap_or_default();
                    let tail: Vec<&str> = log.lines().rev().take(15).collect();
                    stopped.push(format!("{} {flags:?} {state}: {tail:#?}", client.name));
                }
            }
        }
        rows.push(format!("| {} | {version} | {} |", client.name, cells.join(" | ")));
        println!("{}", rows[rows.len() - 1]);
    }
    assert!(stopped.is_empty(), "{}", stopped.join("\n"));
    let head = "| client | version | with restitch | without | crashing |\n| --- | --- | --- | --- | --- |";
    write_table("going on", head, &rows);
}

/// With `RESTITCH_BLESS=1`, puts the rows between these marks in the page about agents.
fn write_table(mark: &str, head: &str, rows: &[String]) {
    if std::env::var_os("RESTITCH_BLESS").is_none() || rows.is_empty() {
        return;
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/guide/agents.md");
    let text = std::fs::read_to_string(&file).expect("the page about agents");
    let (open, close) = (format!("<!-- {mark} -->\n"), format!("<!-- /{mark} -->"));
    let (Some(from), Some(to)) = (text.find(&open), text.find(&close)) else {
        panic!("docs/guide/agents.md has no marks for the table `{mark}`");
    };
    let date = Command::new("date").args(["-u", "+%F"]).output().expect("date").stdout;
    let date = String::from_utf8_lossy(&date);
    let table = format!(
        "Run on {} with restitch {}:\n\n{head}\n{}\n",
        date.trim(),
        env!("CARGO_PKG_VERSION"),
        rows.join("\n")
    );
    let text = format!("{}{table}{}", &text[..from + open.len()], &text[to..]);
    std::fs::write(file, text).expect("written");
}

/// MCP Inspector finds no fault with the schemas, in whatever form they are offered.
#[test]
fn the_inspector_finds_the_schemas_portable() {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/clients");
    let inspector = programs.join("node_modules/.bin/mcp-inspector");
    if !inspector.exists() {
        return skip("MCP Inspector", "not installed; run tests/it/agents/clients/install-real.sh");
    }
    let temp = tempfile::tempdir().expect("folder");
    for flags in [
        &[][..],
        &["--tools", "all"],
        &["--tools", "all", "--structured"],
        &["--tools", "all", "--structured", "--guard", "--stage"],
    ] {
        let out = Command::new(&inspector)
            .args(["--cli", env!("CARGO_BIN_EXE_restitch"), "mcp", "--root"])
            .arg(temp.path())
            .args(flags)
            .args(["--method", "tools/list", "--strict"])
            .env("HOME", temp.path())
            .env("RESTITCH_STATE_DIR", temp.path().join("state"))
            .stdin(Stdio::null())
            .output()
            .expect("runs");
        let said = String::from_utf8_lossy(&out.stderr);
        assert!(out.status.success(), "{flags:?}: {said}");
        assert!(
            !said.contains("Warning: tool") && !said.contains("Error: tool"),
            "{flags:?}: {said}"
        );
        let listed: Value = serde_json::from_slice(&out.stdout).expect("JSON");
        let tools = listed["tools"].as_array().map_or(0, Vec::len);
        println!("MCP Inspector --strict, {flags:?}: {tools} tools, nothing to say");
        assert!(tools >= 5, "{listed}");
    }
}

/// The providers' own packages take the declarations: Google's types, Anthropic's, OpenAI's
/// with its conversion to strict schemas, and the protocol's.
#[test]
fn the_providers_packages_take_the_declarations() {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/clients");
    let python = programs.join("venv/bin/python");
    if !python.exists() {
        return skip("schemas", "not installed; run tests/it/agents/clients/install-real.sh");
    }
    let out = Command::new(python)
        .arg(script("schemas.py"))
        .arg(env!("CARGO_BIN_EXE_restitch"))
        .output()
        .expect("runs");
    let said = String::from_utf8_lossy(&out.stdout);
    assert!(out.status.success(), "{said}{}", String::from_utf8_lossy(&out.stderr));
    println!("{said}");
    assert_eq!(said.lines().count(), 5, "{said}");
}
