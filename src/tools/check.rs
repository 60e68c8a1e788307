//! `check`: the syntax errors of whole files.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ToolCall, ToolReply, ToolSpec, parse};
use crate::edit::{EditCode, Refusal, SyntaxError, Unchecked};
use crate::engine::Engine;
use crate::text::{pluralize, quote_name};

pub(super) const TOOL: ToolSpec = ToolSpec::reading::<Arguments, CheckReport>(
    "check",
    "Parse files and list their syntax errors. A file in an unknown language is named as not checked.",
    |call| Box::pin(async move { run(call).await }),
);

/// Files in one call.
const MAX_FILES: usize = 1_000;
/// Errors that the text shows.
const MAX_SHOWN: usize = 40;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
struct Arguments {
    /// The files; a folder stands for all files in it that .gitignore does not exclude.
    paths: Vec<String>,
}

/// What was found.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
struct CheckReport {
    /// How many files were parsed.
    checked: usize,
    /// How many errors they have.
    errors: usize,
    /// Each file with errors, and each that was not checked.
    files: Vec<CheckedFile>,
    /// Whether folders hold more files than were looked at.
    truncated: bool,
}

/// One file.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
struct CheckedFile {
    path: String,
    /// Why nothing can be said of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// The code of the refusal, if it could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<EditCode>,
    /// Its errors, the first few of them.
    errors: Vec<SyntaxError>,
}

/// Checks the files.
async fn run(call: ToolCall<'_>) -> Result<ToolReply, Refusal> {
    let arguments: Arguments = parse(TOOL.name, call.arguments)?;
    if arguments.paths.is_empty() {
        return Err(Refusal::invalid("paths is empty", "Give at least one file or folder."));
    }
    let mut report = CheckReport::default();
    let mut paths = Vec::new();
    for raw in arguments.paths {
        match files_below(call.engine, &raw).await {
            Some((files, truncated)) => {
                report.truncated |= truncated;
                paths.extend(files.into_iter().map(|file| (file, false)));
            }
            None => paths.push((raw, true)),
        }
    }
    report.truncated |= paths.len() > MAX_FILES;
    let mut first_refusal = None;
    for (path, is_named) in paths.into_iter().take(MAX_FILES) {
        // If the caller is gone, the call is cancelled at this point, before more files are read.
        tokio::task::yield_now().await;
        let outcome = match call.engine.path(&path) {
            Ok(path) => call.engine.check(&path).await,
            Err(refusal) => Err(refusal),
        };
        let mut file = CheckedFile { path, ..CheckedFile::default() };
        match outcome {
            Ok(Ok(errors)) => {
                report.checked += 1;
                report.errors += errors.len();
                if errors.is_empty() {
                    continue;
                }
                file.errors = errors;
            }
            // Of a folder's files, those that a parser and the store take are meant.
            Ok(Err(Unchecked::UnknownLanguage)) | Err(_) if !is_named => continue,
            Ok(Err(why)) => file.reason = Some(why.to_string()),
            Err(refusal) => {
                (file.code, file.reason) = (Some(refusal.code), Some(refusal.message.to_string()));
                first_refusal.get_or_insert(refusal.at(&file.path));
            }
        }
        report.files.push(file);
    }
    if let Some(mut refusal) = first_refusal
        && report.checked == 0
        && report.files.iter().all(|file| file.code.is_some())
    {
        for CheckedFile { path, reason, .. } in report.files[1..].iter().take(MAX_SHOWN) {
            let why = reason.as_deref().unwrap_or_default();
            refusal.message.push(format_args!("; {} was not checked: {why}", quote_name(path)));
        }
        return Err(refusal);
    }
    Ok(ToolReply::answered(message(&report), &report))
}

/// The files below a folder, and whether there are more; `None` if the path is not a folder with
/// files.
async fn files_below(engine: &Engine, raw: &str) -> Option<(Vec<String>, bool)> {
    #[cfg(feature = "search")]
    if engine.can_list() {
        let list = engine.list_files(Some(raw), None).await.ok()?;
        let files: Vec<String> = list.files.into_iter().map(|file| file.path).collect();
        // The listing of a file has that file; an empty one may be of a file that is not there.
        let path = engine.path(raw);
        let is_file = path.is_ok_and(|path| files.is_empty() || files == [path.as_str()]);
        return (!is_file).then_some((files, list.truncated));
    }
    let _ = (engine, raw);
    None
}

/// The report in words, with the first errors.
fn message(report: &CheckReport) -> String {
    let mut out = format!(
        "{} in {}.",
        pluralize(report.errors, "syntax error"),
        pluralize(report.checked, "checked file")
    );
    let mut error_count = 0;
    for file in &report.files {
        let path = quote_name(&file.path);
        if let Some(why) = &file.reason {
            let _ = write!(out, "\n{path} was not checked: {why}.");
        }
        for error in &file.errors {
            error_count += 1;
            if error_count <= MAX_SHOWN {
                let _ = write!(out, "\n{path}:{}: {}\n  {}", error.line, error.what, error.text);
            }
        }
    }
    if error_count > MAX_SHOWN {
        let _ = write!(out, "\n… {} more", error_count - MAX_SHOWN);
    }
    if report.truncated {
        out.push_str("\nThe folders hold more files than were checked; give a smaller folder.");
    }
    out
}
