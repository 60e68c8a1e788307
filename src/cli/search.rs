//! `restitch search`: finds lines and prints them.

use serde_json::json;

use super::args::{Common, SearchArgs};
use super::exit::Exit;
use super::settings;
use crate::engine::CallOptions;

/// Searches with the tool that suits the terms, and prints the reply.
pub(crate) async fn run(common: &Common, args: SearchArgs) -> Result<(), Exit> {
    let toolbox = settings::toolbox(common)?;
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
    for (name, value) in [("path", path), ("glob", args.glob)] {
        if let Some(value) = value {
            arguments[name] = value.into();
        }
    }
    let reply = toolbox.call(tool, arguments, &CallOptions::default()).await;
    super::out::print(if common.json { json!(reply).to_string() } else { reply.message.clone() })?;
    Exit::of_reply(&reply)
}
