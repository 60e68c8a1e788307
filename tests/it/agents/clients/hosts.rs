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

use serde::Deserialize;
use serde_json::{Value, json};

use super::seen::Seen;
use super::start::Start;
use super::{Model, Run, finish, package_version};
use crate::disk::{is_long_run, names_below, skip};
use crate::rows::rows;
use crate::sandbox::put;

/// A host, and how its model edits: a line of `hosts.jsonl`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Host {
    /// As it stands in the table.
    name: String,
    /// The folder in `integrations`.
    piece: String,
    /// Where its version stands, as for a client.
    version: String,
    /// The call of an edit, with `{path}`, `{old}` and `{new}`, or with an `{operation}` of OpenAI's
    /// patch tool.
    edit: Value,
    /// The call that makes a file, where it is another one; null if the host has none.
    #[serde(default = "as_edit")]
    create: Option<Value>,
    undo: Undo,
    /// The stories that land elsewhere, and are refused in this host's words: other quotes are forgiven
    /// where the language is known and the text is not a hunk.
    #[serde(default)]
    refused: Vec<String>,
    /// What the answer to a text that is not there says.
    #[serde(default = "absent")]
    refusal: String,
    /// Where in the user's home the piece is copied to.
    copy: Option<String>,
    #[serde(flatten)]
    start: Start,
}

fn as_edit() -> Option<Value> {
    Some("as edit".into())
}

fn absent() -> String {
    "EDIT_NO_OCCURRENCE_FOUND".to_owned()
}

impl Host {
    /// The call of an edit; `None` if the host has no such call.
    fn call(&self, project: &Path, edit: &Edit<'_>) -> Option<Value> {
        match &self.create {
            create if edit.old.is_empty() && *create != as_edit() => {
                filled_in(create.as_ref()?, project, edit)
            }
            _ => filled_in(&self.edit, project, edit),
        }
    }
}

/// A call with its places filled in; `None` if the edit has no operation.
fn filled_in(call: &Value, project: &Path, edit: &Edit<'_>) -> Option<Value> {
    Some(match call {
        Value::String(text) => match text.as_str() {
            "{old}" => edit.old.into(),
            "{new}" => edit.new.into(),
            "{operation}" => operation(edit)?,
            text => {
                let project = project.display().to_string();
                text.replace("{project}", &project).replace("{path}", edit.path).into()
            }
        },
        Value::Array(items) => items
            .iter()
            .map(|item| filled_in(item, project, edit))
            .collect::<Option<Vec<_>>>()?
            .into(),
        Value::Object(fields) => {
            let fields = fields.iter();
            let fields =
                fields.map(|(name, value)| Some((name.clone(), filled_in(value, project, edit)?)));
            Value::Object(fields.collect::<Option<_>>()?)
        }
        other => other.clone(),
    })
}

/// How an edit is taken back.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Undo {
    /// By `restitch undo`, in the same folder.
    Command,
    /// By a call of the model.
    Tool(Value),
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
    let below = names_below(folder).into_iter().map(PathBuf::from).filter(|path| path.is_file());
    let name = |path: &PathBuf| path.strip_prefix(folder).expect("below").to_owned();
    below.map(|path| (name(&path), std::fs::read(&path).expect("file"))).collect()
}

/// Copies a folder to one that need not exist.
fn copy(from: &Path, to: &Path) {
    for (path, bytes) in files(from) {
        put(&to.join(path), bytes);
    }
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

/// The command line of an MCP bundle, by its manifest.
fn bundle(piece: &Path, project: &Path) -> Vec<String> {
    let manifest = std::fs::read_to_string(piece.join("manifest.json")).expect("manifest");
    let manifest: Value = serde_json::from_str(&manifest).expect("JSON");
    let start = &manifest["server"]["mcp_config"];
    let filled = |text: &Value| {
        let text = text.as_str().expect("text");
        text.replace("${__dirname}/server/restitch", env!("CARGO_BIN_EXE_restitch"))
            .replace("${user_config.root}", &project.display().to_string())
    };
    let arguments = start["args"].as_array().expect("arguments");
    std::iter::once(&start["command"]).chain(arguments).map(filled).collect()
}

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
        skip(&host.name, "the modules are not built; run .ci/bindings");
        return None;
    }
    // TOP/pieces/NAME, with `restitch` and the host's packages where Node looks for them.
    let piece = top.join("pieces").join(&host.piece);
    copy(&repo.join("integrations").join(&host.piece), &piece);
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
        if let Some(turn) = host.call(&project, &story.edit()) {
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
    turns.extend([host.call(&project, &absent)?, host.call(&project, &present)?]);
    if let Undo::Tool(undo) = &host.undo {
        turns.extend(filled_in(undo, &project, &present));
    }
    if host.piece == "smolagents" {
        turns.push(json!({ "tool": "final_answer", "arguments": { "answer": "done" } }));
    }
    turns.push(json!({ "text": "done" }));

    let model = Model::play(&turns, &requests);
    let binary = Path::new(env!("CARGO_BIN_EXE_restitch")).parent().expect("folder");
    let run = Run {
        programs: programs.to_owned(),
        project,
        home,
        port: model.port,
        piece: piece.clone(),
        folder: String::new(),
        restitch: Some(binary.to_path_buf()),
    };
    let log = top.join("log");
    if let Some(folder) = &host.copy {
        copy(&piece, &run.home.join(folder));
    }
    let mut command = host.start.command(&run);
    if host.piece == "mcpb" {
        command.args(bundle(&piece, &run.project));
    }
    command.env("NAPI_RS_NATIVE_LIBRARY_PATH", top.join("restitch.node"));
    finish(command, &log);

    let mut wrong = Vec::new();
    for story in &stories {
        let refused = story.refused || host.refused.contains(&story.name);
        let side = if refused { "before" } else { "after" };
        let wanted = files(&repo.join("fixtures/story").join(&story.name).join(side));
        let found = files(&run.project.join(&story.name));
        if wanted != found {
            wrong.push(format!("{}: {found:?}, not {wanted:?}", story.name));
        }
    }
    let seen = Seen::read(&requests, &run.project);
    let answer = |at: usize| seen.answers.get(at).map(String::as_str).unwrap_or_default();
    if !answer(refused_at).contains(&host.refusal) {
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
    let hosts: Vec<Host> = rows(include_str!("hosts.jsonl"));
    if !is_long_run() {
        return skip("hosts", "RESTITCH_LONG is not 1");
    }
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/clients");
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/guide/agents.md");
    let mut text = std::fs::read_to_string(&page).expect("the page about agents");
    let only = std::env::var("RESTITCH_HOST").ok();
    let mut wrong = String::new();
    for host in &hosts {
        if only.as_ref().is_some_and(|only| host.name != *only) {
            continue;
        }
        let Some(version) = package_version(&programs, &host.version) else {
            skip(&host.name, "not installed; run tests/it/agents/clients/install-real.sh");
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
