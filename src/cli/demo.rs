//! `restitch demo`: shows repaired and refused edits of files in a temporary folder.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::Path;

use anstyle::{AnsiColor, Style};
use serde::Deserialize;
use serde_json::{Value, json};

use super::args::Common;
use super::exit::Exit;
use crate::engine::{CallOptions, Engine};
use crate::store::{DiskOptions, DiskStore};
use crate::tools::{ToolReply, Toolbox};

/// A file, and a call of `edit_file` for it.
#[derive(Deserialize)]
struct Scene {
    title: String,
    path: String,
    file: String,
    old: String,
    new: String,
}

/// Ten scenes with repaired edits, then four with refused ones: a line of JSON each.
const SCENES: &str = include_str!("demo.jsonl");

const TITLE: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const REMOVED: Style = AnsiColor::Red.on_default();
const ADDED: Style = AnsiColor::Green.on_default();
const REFUSED: Style = AnsiColor::Yellow.on_default();

/// Runs and prints the demo.
pub(crate) async fn run(common: &Common) -> Result<(), Exit> {
    let text = play_all(common)
        .await
        .map_err(|error| Exit::fault(format!("the demo cannot use a temporary folder: {error}")))?;
    super::out::written(anstream::stdout().lock().write_all(text.as_bytes()))
}

/// Makes the calls of all scenes. Returns the text to print, or with `--json` a line of JSON for each
/// scene.
async fn play_all(common: &Common) -> io::Result<String> {
    let folder = tempfile::tempdir()?;
    let root = folder.path().join("work");
    std::fs::create_dir(&root)?;
    let options =
        DiskOptions { state: Some(folder.path().join("state")), ..DiskOptions::default() };
    let store = DiskStore::open_with(&root, options)?;
    let toolbox = Toolbox::new(Engine::builder(store).build());
    let mut text = String::new();
    let mut json_out = Vec::new();
    let (mut repaired, mut refused) = (0, 0);
    for (number, scene) in SCENES.lines().enumerate() {
        let scene: Scene = serde_json::from_str(scene)?;
        let reply = play(&toolbox, &root, &scene).await?;
        if reply.ok {
            repaired += 1;
        } else {
            refused += 1;
        }
        render(&mut text, number + 1, &scene, &reply);
        json_out.push(json!({ "title": scene.title, "ok": reply.ok, "code": reply.code, "report": reply.report }));
    }
    let _ = writeln!(
        text,
        "{TITLE}{repaired} repaired, {refused} refused.{TITLE:#} Each was a real call of the tool `edit_file` on a file in a temporary folder."
    );
    if common.json {
        return Ok(json_out.iter().map(|scene| format!("{scene}\n")).collect());
    }
    Ok(text)
}

/// Writes the file of a scene and makes its call.
async fn play(toolbox: &Toolbox, root: &Path, scene: &Scene) -> io::Result<ToolReply> {
    std::fs::write(root.join(&scene.path), &scene.file)?;
    let arguments = json!({ "path": scene.path, "old_str": scene.old, "new_str": scene.new });
    Ok(toolbox.call("edit_file", arguments, &CallOptions::default()).await)
}

/// Appends a scene and its reply to the text.
fn render(out: &mut String, number: usize, scene: &Scene, reply: &ToolReply) {
    let _ =
        writeln!(out, "{TITLE}{number:>2}. {}{TITLE:#}  {DIM}{}{DIM:#}", scene.title, scene.path);
    let _ = writeln!(out, "    {DIM}old_str{DIM:#} {}", one_line(&scene.old));
    let _ = writeln!(out, "    {DIM}new_str{DIM:#} {}", one_line(&scene.new));
    if reply.ok {
        let text_of = |name: &str| match &reply.report[name] {
            Value::Array(items) => {
                items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
            }
            other => other.as_str().unwrap_or_default().to_owned(),
        };
        let _ = writeln!(
            out,
            "    {ADDED}repaired{ADDED:#} by `{}` {DIM}({}){DIM:#}",
            text_of("rung"),
            text_of("rewrites")
        );
        let diff = reply.report["diff"].as_str().unwrap_or_default();
        let without_header = diff.lines().skip(2);
        for line in without_header {
            let style = match line.chars().next() {
                Some('+') => ADDED,
                Some('-') => REMOVED,
                Some('@') => DIM,
                _ => Style::new(),
            };
            let _ = writeln!(out, "    {style}{}{style:#}", line.replace('\t', "→   "));
        }
    } else {
        for (index, line) in reply.message.lines().enumerate() {
            let style = if index == 0 { REFUSED } else { Style::new() };
            let _ = writeln!(out, "    {style}{line}{style:#}");
        }
    }
    out.push('\n');
}

/// The text on one line, with visible marks for line breaks and tabs.
fn one_line(text: &str) -> String {
    text.replace('\t', "→").replace('\r', "␍").replace('\n', "⏎")
}
