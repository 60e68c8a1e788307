//! `restitch demo`: a tour on a temporary folder. Broken edits are repaired, others
//! refused, and each shows what a caller would see.

mod scenes;

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::Path;

use anstyle::{AnsiColor, Style};
use serde_json::{Value, json};

use super::args::Common;
use super::exit::Exit;
use crate::engine::{CallOptions, Engine};
use crate::store::{DiskOptions, DiskStore};
use crate::tools::{ToolReply, Toolbox};
use scenes::{SCENES, Scene};

const TITLE: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const REMOVED: Style = AnsiColor::Red.on_default();
const ADDED: Style = AnsiColor::Green.on_default();
const REFUSED: Style = AnsiColor::Yellow.on_default();

pub(crate) async fn run(common: &Common) -> Exit {
    let shown = match show(common).await {
        Ok(shown) => shown,
        Err(error) => {
            return Exit::fault(format!("the demo cannot use a temporary folder: {error}"));
        }
    };
    let mut out = anstream::stdout().lock();
    match out.write_all(shown.as_bytes()) {
        Ok(()) => Exit::Done,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Done,
        Err(error) => Exit::fault(format!("cannot write to stdout: {error}")),
    }
}

async fn show(common: &Common) -> io::Result<String> {
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
    for (number, scene) in SCENES.iter().enumerate() {
        let reply = play(&toolbox, &root, scene).await?;
        if reply.ok {
            repaired += 1;
        } else {
            refused += 1;
        }
        render(&mut text, number + 1, scene, &reply);
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

/// Writes the file and makes the call.
async fn play(toolbox: &Toolbox, root: &Path, scene: &Scene) -> io::Result<ToolReply> {
    std::fs::write(root.join(scene.path), scene.file)?;
    let arguments = json!({ "path": scene.path, "old_str": scene.old, "new_str": scene.new });
    Ok(toolbox.call("edit_file", arguments, &CallOptions::default()).await)
}

fn render(out: &mut String, number: usize, scene: &Scene, reply: &ToolReply) {
    let _ =
        writeln!(out, "{TITLE}{number:>2}. {}{TITLE:#}  {DIM}{}{DIM:#}", scene.title, scene.path);
    let _ = writeln!(out, "    {DIM}old_str{DIM:#} {}", one_line(scene.old));
    let _ = writeln!(out, "    {DIM}new_str{DIM:#} {}", one_line(scene.new));
    if reply.ok {
        let words = |name: &str| match &reply.report[name] {
            Value::Array(all) => {
                all.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
            }
            other => other.as_str().unwrap_or_default().to_owned(),
        };
        let _ = writeln!(
            out,
            "    {ADDED}repaired{ADDED:#} by `{}` {DIM}({}){DIM:#}",
            words("rung"),
            words("rewrites")
        );
        let diff = reply.report["diff"].as_str().unwrap_or_default();
        for line in diff.lines().skip(2) {
            let style = match line.chars().next() {
                Some('+') => ADDED,
                Some('-') => REMOVED,
                Some('@') => DIM,
                _ => Style::new(),
            };
            let _ = writeln!(out, "    {style}{}{style:#}", line.replace('\t', "→   "));
        }
    } else {
        for (at, line) in reply.message.lines().enumerate() {
            let style = if at == 0 { REFUSED } else { Style::new() };
            let _ = writeln!(out, "    {style}{line}{style:#}");
        }
    }
    out.push('\n');
}

/// A text on one line, its breaks and tabs made visible.
fn one_line(text: &str) -> String {
    text.replace('\t', "→").replace('\r', "␍").replace('\n', "⏎")
}
