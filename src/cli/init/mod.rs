//! `restitch init CLIENT`: prints the client's configuration, or merges it into the client's files.
//!
//! Merging adds the missing settings and keeps the others, with their comments. A file that cannot be
//! read stays as it is, and its settings are printed. Permissions for restitch's own tools are written
//! only with `--allow-edits`; without it, they are shown. What trusts more than restitch, such as a
//! whole folder, is never written.

mod changes;
pub(super) mod clients;
mod content;
mod jsonc;
mod toml_text;

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::PathBuf;

use serde_json::json;

use super::args::{Common, InitArgs};
use super::exit::Exit;
use super::{out, settings};
use crate::edit::{EditCode, EditPlan, Explanation, Refusal, Rung, VerifiedEdit};
use crate::engine::{CallOptions, Engine};
use crate::store::canonical;
use clients::{CLIENTS, ConfigFile, client};

/// Prints or merges the files of a client.
pub(crate) async fn run(common: &Common, args: &InitArgs) -> Result<(), Exit> {
    let client =
        client(&args.client.to_ascii_lowercase()).ok_or_else(|| unknown_client(&args.client))?;
    if args.write && canonical(common.root()).is_ok_and(|root| root.parent().is_none()) {
        return Err(Exit::usage(
            "the root is the whole disk; name the project's folder with --root",
        ));
    }
    let started = |file: &ConfigFile| if args.npx { file.by_npx() } else { file.clone() };
    let mut text = String::new();
    let mut refused = None;
    let mut files = Vec::new();
    let permission_files: &[ConfigFile] =
        if args.allow_edits { &client.permission_files } else { &[] };
    for file in client.files.iter().chain(permission_files).map(started) {
        let (path, content) = (file.display_path(), file.content.render());
        if !args.write {
            let _ = writeln!(text, "# {path}\n{content}");
            files.push(json!({ "path": path, "content": content, "done": null }));
            continue;
        }
        match write(common, &file).await {
            Ok(done) => {
                let _ = writeln!(text, "{path}: {done}");
                files.push(json!({ "path": path, "content": null, "done": done }));
            }
            // The root cannot be opened, or a flag is wrong.
            Err(exit @ Exit::Usage(_)) => return Err(exit),
            Err(exit) => {
                let why = exit.message();
                let _ = writeln!(text, "{path}: not changed: {why}\nAdd this by hand:\n{content}");
                files.push(json!({ "path": path, "content": content, "done": null, "why": why }));
                refused = Some(match (exit, refused.take()) {
                    (Exit::Fault(_), _) | (_, Some(Exit::Fault(_))) => Exit::fault(""),
                    _ => Exit::Refused,
                });
            }
        }
    }
    let comment_prefix = if args.write { "" } else { "# " };
    if !args.allow_edits && !client.permission_files.is_empty() {
        let files = client.permission_files.iter().map(started);
        text.push_str(&missing_permissions(&client.without_permissions, files, comment_prefix));
    }
    if let Some(trust) = &client.trust {
        let _ = writeln!(
            text,
            "{comment_prefix}In a folder that you have not trusted, {}. {}",
            trust.without, trust.how
        );
    }
    if !client.note.is_empty() {
        let _ = writeln!(text, "{comment_prefix}{}", client.note);
    }
    if args.write {
        let _ = writeln!(text, "Check it with: restitch doctor --client {}", client.name);
    }
    if common.json {
        let answer = json!({
            "ok": refused.is_none(), "client": client.name, "files": files, "note": client.note,
        });
        text = format!("{answer}\n");
    }
    out::written(io::stdout().lock().write_all(text.as_bytes()))?;
    refused.map_or(Ok(()), Err)
}

/// The error for an unknown client.
pub(super) fn unknown_client(name: &str) -> Exit {
    Exit::usage(format!(
        "there is no client `{name}`; use one of: {}. For any other client, configure `restitch mcp` as a stdio server",
        CLIENTS.iter().map(|client| client.name.as_str()).collect::<Vec<_>>().join(", ")
    ))
}

/// The message about the permission files, which were not written, and what the client does without
/// them.
fn missing_permissions(
    without: &str,
    files: impl Iterator<Item = ConfigFile>,
    comment_prefix: &str,
) -> String {
    let mut out = format!(
        "{comment_prefix}As set up so far, {without}. If you want to change that, --allow-edits adds:\n"
    );
    for file in files {
        let _ = writeln!(out, "{comment_prefix}  {}", file.display_path());
        for line in file.content.render().lines() {
            let _ = writeln!(out, "{comment_prefix}    {line}");
        }
    }
    out
}

/// Merges the settings into one file, through the same store as any edit. Returns what was done to the
/// file, in a few words.
async fn write(common: &Common, file: &ConfigFile) -> Result<&'static str, Exit> {
    let no_home = || Exit::Failed("there is no home folder; set HOME".to_owned());
    let folder = file.folder(common).ok_or_else(no_home)?;
    if file.home.is_some() {
        std::fs::create_dir_all(&folder)
            .map_err(|error| Exit::fault(format!("cannot create {}: {error}", folder.display())))?;
    }
    let mut common = Common { root: Some(folder), ..common.clone() };
    // These files are protected from edits by models, but here the user asks for the change.
    common.session.editing.disk.allow_protected.push(file.path.clone());
    let toolbox = settings::toolbox(&common)?;
    merge(toolbox.engine(), file).await.map_err(|refusal| match refusal.code.is_fault() {
        true => Exit::Fault(refusal.text()),
        false => Exit::Failed(refusal.text()),
    })
}

/// Adds the missing settings to one file, or creates it. Returns what was done, in a few words.
async fn merge(engine: &Engine, file: &ConfigFile) -> Result<&'static str, Refusal> {
    let path = engine.path(&file.path)?;
    let explanation = Explanation::plain(Rung::Init);
    let (edit, done) = match engine.snapshot(&path).await {
        Err(refusal) if refusal.code == EditCode::FileNotFound => {
            (VerifiedEdit::create(path, &file.content.render(), explanation)?, "created")
        }
        Err(refusal) => return Err(refusal),
        Ok(snapshot) => {
            let after = file.content.merged_into(snapshot.text())?;
            if after == snapshot.text() {
                return Ok(match file.content.is_in(&after) {
                    true => "has it already",
                    false => {
                        "has other values, which stay; if they are not yours, remove them first"
                    }
                });
            }
            let plan = EditPlan::whole_file(&snapshot, &after);
            (VerifiedEdit::new(path, &snapshot, plan, explanation)?, "merged")
        }
    };
    engine.commit(vec![edit], &CallOptions::default()).await?;
    Ok(done)
}

impl ConfigFile {
    /// The folder that contains the file's path; `None` without a home folder.
    pub(super) fn folder(&self, common: &Common) -> Option<PathBuf> {
        let Some(below_home) = &self.home else { return Some(common.root().to_path_buf()) };
        let folder = |name: &str| {
            std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
        };
        let named = self.variable.as_deref().and_then(folder);
        named.or_else(|| Some(folder("HOME")?.join(below_home)))
    }

    /// The path as the user sees it.
    pub(super) fn display_path(&self) -> String {
        match self.home.as_deref() {
            None => self.path.clone(),
            Some("") => format!("~/{}", self.path),
            Some(folder) => format!("~/{folder}/{}", self.path),
        }
    }

    /// The same file, in which npx starts restitch.
    pub(super) fn by_npx(&self) -> Self {
        Self { content: self.content.by_npx(), ..self.clone() }
    }

    /// Whether the file on the disk contains all settings.
    pub(super) fn is_installed(&self, common: &Common) -> bool {
        self.text(common).is_some_and(|text| self.content.is_in(&text))
    }

    /// The settings in the file on the disk, if it can be read.
    pub(super) fn settings(&self, common: &Common) -> Option<serde_json::Value> {
        self.content.read(&self.text(common)?)
    }

    /// The text of the file on the disk, if it can be read.
    pub(super) fn text(&self, common: &Common) -> Option<String> {
        std::fs::read_to_string(self.folder(common)?.join(&self.path)).ok()
    }
}
