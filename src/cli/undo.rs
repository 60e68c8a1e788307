//! `restitch undo` and `restitch log`.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::Path;

use chrono::DateTime;
use serde::Serialize;
use serde_json::json;

use super::args::{Common, LogArgs, UndoArgs};
use super::edit::print_diff;
use super::exit::Exit;
use super::{out, settings};
use crate::edit::Refusal;
use crate::engine::{CallOptions, Engine};
use crate::port::Revision;
use crate::store::protect::is_in;
use crate::text::quote_name;
use crate::tools::ToolReply;

/// Takes back an edit and prints the reply.
pub(crate) async fn undo(common: &Common, args: &UndoArgs) -> Result<(), Exit> {
    let toolbox = settings::toolbox(common)?;
    let options = CallOptions { dry_run: args.dry_run, ..CallOptions::default() };
    let reply = toolbox.call("undo", json!({ "revision": args.revision }), &options).await;
    out::end(common, &reply)
}

/// Prints the list of edits.
pub(crate) async fn log(common: &Common, args: &LogArgs) -> Result<(), Exit> {
    let toolbox = settings::toolbox(common)?;
    match list(common, args, toolbox.engine()).await {
        Ok(revisions) if common.json => {
            out::end(common, &ToolReply::answered(String::new(), json!({ "revisions": revisions })))
        }
        Ok(revisions) => {
            if revisions.is_empty() {
                let of = args.path.as_ref().map_or_else(String::new, |path| format!(" of {path}"));
                // A closed stderr does not change the exit code.
                let _ = writeln!(out::stderr(), "restitch: no edit{of} is recorded");
            }
            out::written(print_list(&revisions))
        }
        Err(refusal) => out::end(common, &ToolReply::refused(refusal)),
    }
}

/// A revision and, if it was asked for, what it changed.
#[derive(Serialize)]
struct Listed {
    #[serde(flatten)]
    revision: Revision,
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
    /// Why there is no diff although it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    no_diff: Option<String>,
}

/// The revisions that the call asks for, newest first.
async fn list(common: &Common, args: &LogArgs, engine: &Engine) -> Result<Vec<Listed>, Refusal> {
    let path = args.path.as_ref().map(|path| common.path(path));
    let is_root = |path: &String| {
        let (path, root) = (Path::new(path).canonicalize(), common.root().canonicalize());
        path.ok().zip(root.ok()).is_some_and(|(path, root)| path == root)
    };
    let below = path.filter(|path| !is_root(path));
    let below = below.map(|path| engine.path(path.trim_end_matches('/'))).transpose()?;
    let concerns = |revision: &Revision| {
        below
            .as_ref()
            .is_none_or(|below| revision.files.iter().any(|file| is_in(&file.path, below.as_str())))
    };
    let all = engine.log().await?.into_iter().filter(concerns);
    let mut listed = Vec::new();
    for revision in all.take(args.max.unwrap_or(usize::MAX)) {
        let (diff, no_diff) = match args.diff {
            true => match engine.committed(revision.revision).await {
                Ok(reports) => {
                    (Some(reports.iter().map(|report| report.diff.as_str()).collect()), None)
                }
                // Of old commits the history may have the names only.
                Err(refusal) => (None, Some(refusal.message.to_string())),
            },
            false => (None, None),
        };
        listed.push(Listed { revision, diff, no_diff });
    }
    Ok(listed)
}

/// Prints a line for each revision, and its diff if there is one.
fn print_list(revisions: &[Listed]) -> io::Result<()> {
    for Listed { revision, diff, no_diff } in revisions {
        writeln!(out::stdout(), "{}", describe(revision))?;
        if let Some(diff) = diff {
            print_diff(&mut anstream::stdout().lock(), diff)?;
        }
        if let Some(why) = no_diff {
            writeln!(out::stdout(), "        (no diff: {why})")?;
        }
    }
    Ok(())
}

/// One line about a revision: its number, its time, its files, and whether it undoes another one or
/// was undone itself.
fn describe(revision: &Revision) -> String {
    let mut line = format!("{:>6}  {}", revision.revision, format_utc(revision.unix_millis));
    for file in &revision.files {
        let verb = match (file.before_sha256, file.after_sha256) {
            (None, _) => "created",
            (_, None) => "removed",
            _ => "edited",
        };
        let _ = write!(line, "  {verb} {}", quote_name(&file.path));
        match file.lines.filter(|_| verb == "edited") {
            Some((first, last)) if last > first => drop(write!(line, " lines {first}-{last}")),
            Some((first, _)) => drop(write!(line, " line {first}")),
            None => {}
        }
    }
    if let Some(client) = &revision.client {
        let _ = write!(line, "  by {}", quote_name(client));
    }
    if let Some(undone_revision) = revision.undoes {
        let _ = write!(line, "  (undoes {undone_revision})");
    }
    if let Some(later_revision) = revision.undone_by {
        let _ = write!(line, "  (undone by {later_revision})");
    }
    if revision.interrupted {
        line.push_str("  (interrupted: it may not have happened)");
    }
    line
}

/// The time as text, such as `2026-11-21 08:40:00Z`.
pub(super) fn format_utc(unix_millis: u64) -> String {
    let time = i64::try_from(unix_millis).ok().and_then(DateTime::from_timestamp_millis);
    time.map_or_else(String::new, |time| time.format("%Y-%m-%d %H:%M:%SZ").to_string())
}
