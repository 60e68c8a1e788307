//! `restitch apply`: applies a patch from a file or stdin.

use std::io::{self, Read as _};

use serde_json::json;

use super::args::{ApplyArgs, Common};
use super::exit::Exit;
use super::{edit, out, settings};
use crate::engine::CallOptions;
use crate::tools::Words;

/// Applies the patch and prints the reply.
pub(crate) async fn run(common: &Common, args: ApplyArgs) -> Result<(), Exit> {
    let mut patch = String::new();
    let (name, read) = match args.patch.as_deref() {
        None | Some("-") => ("stdin", io::stdin().read_to_string(&mut patch).map(|_| ())),
        Some(file) => (file, std::fs::read_to_string(file).map(|text| patch = text)),
    };
    read.map_err(|error| Exit::usage(format!("cannot read the patch from {name}: {error}")))?;
    let toolbox = settings::toolbox_in(common, Words::of_client_tool(&["patch"]))?;
    let options = CallOptions { dry_run: args.dry_run, ..CallOptions::default() };
    let reply = toolbox.call("apply_patch", json!({ "patch": patch }), &options).await;
    let reply = edit::with_revision(common, reply);
    out::end(common, &reply)
}
