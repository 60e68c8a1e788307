//! `check`: the syntax errors of whole files.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ToolCall, ToolReply, ToolSpec, Visibility, parse, schema};
use crate::edit::{EditCode, Refusal, SyntaxError, Unchecked};
use crate::text::{pluralize, quote_name};

pub(super) const TOOL: ToolSpec = ToolSpec {
    name: "check",
    about: "Parse files and list their syntax errors. A file in an unknown language is named as not checked.",
    input: schema::input::<Arguments>,
    output: schema::output::<CheckReport>,
    visibility: Visibility::Always,
    writes: false,
    run: |call| Box::pin(async move { run(call).await }),
};

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
#[derive(Debug, Clone, Serialize, JsonSchema)]
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
#[derive(Debug, Clone, Serialize, JsonSchema)]
struct CheckedFile {
    path: String,
    /// Why nothing can be said of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    why_not: Option<Unchecked>,
    /// Why it could not be read: the code of a refusal.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<EditCode>,
    /// The refusal in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Its errors, the first few of them.
    errors: Vec<SyntaxError>,
}

impl CheckReport {
    /// Adds a file that cannot be read, and stores the refusal in `first` if it is the first one.
    fn add_unreadable(&mut self, path: String, refusal: Refusal, first: &mut Option<Refusal>) {
        let refusal = refusal.at(path.as_str());
        self.files.push(CheckedFile {
            code: Some(refusal.code),
            reason: Some(refusal.message.clone()),
            ..CheckedFile::new(path)
        });
        first.get_or_insert(refusal);
    }
}

impl CheckedFile {
    /// A file without errors.
    fn new(path: String) -> Self {
        Self { path, why_not: None, code: None, reason: None, errors: Vec::new() }
    }

    /// Whether the file could not be read.
    fn is_refused(&self) -> bool {
        self.code.is_some()
    }
}

/// Checks the files, and refuses the call if none of them can be read.
async fn run(call: ToolCall<'_>) -> Result<ToolReply, Refusal> {
    let arguments: Arguments = parse(TOOL.name, call.arguments)?;
    if arguments.paths.is_empty() {
        return Err(Refusal::new(EditCode::InvalidArguments, "paths is empty")
            .hint("Give at least one file or folder."));
    }
    let mut report = CheckReport { checked: 0, errors: 0, files: Vec::new(), truncated: false };
    let mut first_refusal = None;
    let mut paths = Vec::new();
    for raw in &arguments.paths {
        match call.engine.files_below(raw).await {
            // A file that the call names is reported even if its language is unknown.
            Ok(None) => paths.push((raw.clone(), true)),
            Ok(Some((files, truncated))) => {
                report.truncated |= truncated;
                paths.extend(files.into_iter().map(|file| (file, false)));
            }
            Err(refusal) => report.add_unreadable(raw.clone(), refusal, &mut first_refusal),
        }
    }
    report.truncated |= paths.len() > MAX_FILES;
    for (raw, named_in_call) in paths.into_iter().take(MAX_FILES) {
        // If the caller is gone, the call is cancelled at this point, before more files are read.
        tokio::task::yield_now().await;
        let checked = match call.engine.path(&raw) {
            Ok(path) => call.engine.check(&path).await.map(|outcome| (path, outcome)),
            Err(refusal) => Err(refusal),
        };
        let (path, outcome) = match checked {
            Ok((path, outcome)) => (path.as_str().to_owned(), outcome),
            Err(refusal) if named_in_call => {
                report.add_unreadable(raw, refusal, &mut first_refusal);
                continue;
            }
            Err(_) => continue,
        };
        match outcome {
            Ok(errors) => {
                report.checked += 1;
                report.errors += errors.len();
                if !errors.is_empty() {
                    report.files.push(CheckedFile { errors, ..CheckedFile::new(path) });
                }
            }
            Err(Unchecked::UnknownLanguage) if !named_in_call => {}
            Err(why) => {
                report.files.push(CheckedFile { why_not: Some(why), ..CheckedFile::new(path) });
            }
        }
    }
    let nothing_readable = report.checked == 0 && report.files.iter().all(CheckedFile::is_refused);
    if let Some(refusal) = first_refusal
        && nothing_readable
    {
        return Err(refusal);
    }
    Ok(ToolReply::answered(message(&report), &report))
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
        if let Some(why) = file.why_not {
            let _ = write!(out, "\n{path} was not checked: {why}.");
        }
        if let Some(reason) = &file.reason {
            let _ = write!(out, "\n{path} was not checked: {reason}.");
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
