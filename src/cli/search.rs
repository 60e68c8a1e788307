//! `restitch search`: finds lines and prints them.

use std::io::{self, Write as _};

use serde_json::json;

use super::args::{Common, SearchArgs};
use super::exit::Exit;
use super::settings;
use crate::engine::CallOptions;

/// Searches with the tool that suits the terms, and prints the reply.
pub(crate) async fn run(common: &Common, args: SearchArgs) -> Exit {
    let toolbox = match settings::toolbox(common) {
        Ok(toolbox) => toolbox,
        Err(exit) => return exit,
    };
    let mut arguments = json!({ "context": args.context, "case_sensitive": args.case_sensitive });
    // A single term is taken literally, unless --wildcard is given.
    let tool = match args.terms.as_slice() {
        [keyword] if !args.wildcard => {
            arguments["keyword"] = keyword.as_str().into();
            "search"
        }
        terms => {
            arguments["terms"] = terms.into();
            "wildcard_search"
        }
    };
    for (name, value) in [("path", args.path), ("glob", args.glob)] {
        if let Some(value) = value {
            arguments[name] = value.into();
        }
    }
    let reply = toolbox.call(tool, arguments, &CallOptions::default()).await;
    let mut out = super::out::stdout();
    let written = if common.json {
        serde_json::to_string(&reply)
            .map_err(io::Error::from)
            .and_then(|json| writeln!(out, "{json}"))
    } else {
        writeln!(out, "{}", reply.message)
    };
    match written {
        Ok(()) => Exit::from_reply(&reply),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Done,
        Err(error) => Exit::fault(format!("cannot write to stdout: {error}")),
    }
}
