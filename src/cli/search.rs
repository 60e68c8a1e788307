//! `restitch search`: finds lines and prints them.

use std::io::{self, Write as _};

use serde_json::{Value, json};

use super::args::{Common, SearchArgs};
use super::exit::Exit;
use super::{out, settings};
use crate::engine::CallOptions;
use crate::tools::{SEARCH_FLAGS, Words};

/// Searches with the tool that suits the terms, and prints the reply.
pub(crate) async fn run(common: &Common, args: SearchArgs) -> Result<(), Exit> {
    let toolbox = settings::toolbox_in(common, Words::of_command(SEARCH_FLAGS))?;
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
    let below = common.below_root.as_ref().map(|_| ".".to_owned());
    let path = args.path.or(below).map(|path| common.path(&path));
    (arguments["path"], arguments["glob"]) = (json!(path), json!(args.glob));
    let reply = toolbox.call(tool, arguments, &CallOptions::default()).await;
    if args.plain && reply.ok {
        out::written(print_plain(&reply.report))?;
    } else {
        out::reply(common, &reply)?;
    }
    Exit::of_reply(&reply)?;
    // As with grep, scripts see from the exit code whether there was anything.
    let count = |name: &str| reply.report[name].as_u64().unwrap_or(0);
    Exit::refused_if(count("total_matches") + count("total_paths") == 0)
}

/// Prints each hit as `path:line:text`, and on stderr how many are not shown.
fn print_plain(report: &Value) -> io::Result<()> {
    let mut stdout = out::stdout();
    let mut shown = 0;
    for file in report["files"].as_array().into_iter().flatten() {
        let path = file["path"].as_str().unwrap_or_default();
        for hit in file["matches"].as_array().into_iter().flatten() {
            let [indent, text] =
                ["indent", "content"].map(|name| hit[name].as_str().unwrap_or_default());
            writeln!(stdout, "{path}:{}:{indent}{text}", hit["line"])?;
            shown += 1;
        }
    }
    let hidden = report["total_matches"].as_u64().unwrap_or(0).saturating_sub(shown);
    if hidden > 0 {
        writeln!(
            out::stderr(),
            "restitch: {hidden} more; narrow the search with --path or --glob"
        )?;
    }
    Ok(())
}
