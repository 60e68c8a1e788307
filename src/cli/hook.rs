//! `restitch hook CLIENT [EVENT]`: reads an agent's hook input from stdin and prints the answer.
//!
//! It exits with 0 or 1 only, because exit code 2 would block the client's call.

use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use super::args::{Common, HookArgs};
use super::root::Root;
use super::settings;
use crate::hook::{Client, Notes, Permission, respond, workspace};
use crate::store::usable_state_folder;

/// The longest time that a hook takes. It is below the shortest limit of any client.
const LIMIT: Duration = Duration::from_secs(25);
/// The longest time that a hook waits for a model, so that it still answers if there is none.
const MODEL_LIMIT: Duration = Duration::from_secs(20);
/// The most bytes of hook input that are read, far more than any client sends.
const MAX_INPUT: u64 = 32 << 20;

/// Answers one hook call, or returns the reason why it could not.
pub(crate) async fn run(common: &Common, args: HookArgs) -> Result<(), String> {
    let client = Client::of_argument(&args.client)?;
    let mut text = String::new();
    io::stdin()
        .take(MAX_INPUT)
        .read_to_string(&mut text)
        .map_err(|error| format!("cannot read stdin: {error}"))?;
    let input: Value = serde_json::from_str(&text)
        .map_err(|error| format!("the hook's input is not JSON: {error}"))?;
    let event_name = input.get("hook_event_name").or_else(|| input.get("hookEventName"));
    let event = args.event.or_else(|| event_name.and_then(Value::as_str).map(str::to_owned));
    let event = event.ok_or("the hook's input names no event; give it on the command line")?;
    let mut common = common.clone();
    let client_folder = workspace(&input).unwrap_or(".");
    let root = Root::find(
        common.root.as_deref(),
        args.root_search.root_of.as_deref(),
        Path::new(client_folder),
    );
    common.root = Some(root.folder);
    if let Some(url) = common.root_url() {
        return Err(format!(
            "the root {url} is in object storage, but a hook works only with files on this machine"
        ));
    }
    let toolbox = settings::toolbox(&common).map_err(|exit| exit.message().to_owned())?;
    let notes = Notes::in_folder(usable_state_folder().ok().map(|state| state.join("hooks")));
    let engine = toolbox
        .engine()
        .for_client(&format!("hook {}", client.as_str()))
        .with_model_time_at_most(MODEL_LIMIT);
    let permission = if args.approve { Permission::Granted } else { Permission::AsBefore };
    // A separate task: a panic in it becomes an error here and does not change the exit code.
    let work =
        tokio::spawn(
            async move { respond(client, &event, &input, &engine, &notes, permission).await },
        );
    let answer = match tokio::time::timeout(LIMIT, work).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(_)) => return Err("the hook stopped with an internal error".into()),
        Err(_) => return Err(format!("the hook took longer than {} s", LIMIT.as_secs())),
    };
    match answer {
        Some(answer) => writeln!(io::stdout().lock(), "{answer}")
            .map_err(|error| format!("cannot write to stdout: {error}")),
        None => Ok(()),
    }
}
