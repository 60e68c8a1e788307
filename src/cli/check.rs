//! `restitch check`: the syntax errors of files.

use serde_json::json;

use super::args::Common;
use super::exit::Exit;
use super::{out, settings};
use crate::engine::CallOptions;
use crate::tools::Words;

/// Prints the syntax errors. Exits with 1 if there are any, or if a file cannot be read.
pub(crate) async fn run(common: &Common, paths: &[String]) -> Result<(), Exit> {
    let toolbox = settings::toolbox_in(common, Words::of_command(&[]))?;
    let paths = match paths.is_empty() {
        true => vec![".".to_owned()],
        false => paths.iter().map(|path| common.path(path)).collect(),
    };
    let reply = toolbox.call("check", json!({ "paths": paths }), &CallOptions::default()).await;
    let errors = reply.report["errors"].as_u64().unwrap_or(0);
    let files = reply.report["files"].as_array();
    let has_unreadable_file =
        files.is_some_and(|files| files.iter().any(|file| file.get("code").is_some()));
    out::reply(common, &reply)?;
    // Scripts use the exit code to learn whether all files are free of errors.
    Exit::of_reply(&reply)?;
    Exit::refused_if(errors > 0 || has_unreadable_file)
}
