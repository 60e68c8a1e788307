//! `restitch edit`

use std::io::{self, Read as _, Write as _};

use serde_json::json;

use super::args::{Common, EditArgs};
use super::exit::Exit;
use super::settings;
use crate::engine::CallOptions;

pub(crate) async fn run(common: &Common, args: EditArgs) -> Exit {
    if args.old == "-" && args.new == "-" {
        return Exit::usage("--old and --new cannot both be read from stdin");
    }
    let (old, new) = match (text(&args.old), text(&args.new)) {
        (Ok(old), Ok(new)) => (old, new),
        (Err(error), _) => return Exit::usage(format!("--old: {error}")),
        (_, Err(error)) => return Exit::usage(format!("--new: {error}")),
    };
    let toolbox = match settings::toolbox(common) {
        Ok(toolbox) => toolbox,
        Err(exit) => return exit,
    };
    let mut arguments = json!({ "path": args.path, "old_str": old, "new_str": new });
    if let Some(count) = args.expect {
        arguments["expected_replacements"] = count.get().into();
    }
    if args.all {
        arguments["replace_all"] = true.into();
    }
    if let Some(line) = args.near {
        arguments["near_line"] = line.into();
    }
    let options = CallOptions {
        dry_run: args.dry_run,
        request_id: args.request_id.map(Into::into),
        ..CallOptions::default()
    };
    let reply = toolbox.call("edit_file", arguments, &options).await;
    let mut out = super::out::stdout();
    let written = if common.json {
        serde_json::to_string(&reply)
            .map_err(io::Error::from)
            .and_then(|json| writeln!(out, "{json}"))
    } else {
        writeln!(out, "{}", reply.message)
    };
    match written {
        Ok(()) => Exit::of(&reply),
        Err(error) => Exit::fault(format!("cannot write to stdout: {error}")),
    }
}

/// The text itself, the content of `@FILE`, or stdin for `-`.
fn text(given: &str) -> io::Result<String> {
    match given.strip_prefix('@') {
        Some(file) => std::fs::read_to_string(file)
            .map_err(|error| io::Error::new(error.kind(), format!("cannot read {file}: {error}"))),
        None if given == "-" => {
            let mut text = String::new();
            io::stdin().read_to_string(&mut text)?;
            Ok(text)
        }
        None => Ok(given.to_owned()),
    }
}
