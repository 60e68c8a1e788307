//! Notes from the hook before a call to the hook after it. Gemini CLI does not show the model the
//! reason that a hook gives before a call, so the hook after the call repeats it.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use crate::store::delete_older;
use crate::text::ContentHash;

/// The notes on rewritten calls that have not run yet, one file for each call.
#[derive(Debug, Clone)]
pub(crate) struct Notes {
    folder: Option<PathBuf>,
}

/// A note older than this is deleted.
const MAX_AGE: Duration = Duration::from_secs(3600);

impl Notes {
    /// Keeps notes in this folder; without a folder, keeps none.
    pub(crate) fn in_folder(folder: Option<PathBuf>) -> Self {
        Self { folder }
    }

    /// Keeps the reason that `answer` gives, if it rewrites the call.
    pub(super) fn save(&self, hook_input: &Value, answer: &Value) {
        let Some(folder) = &self.folder else { return };
        let rewritten = &answer["hookSpecificOutput"]["tool_input"];
        if rewritten.is_null() {
            return;
        }
        let Some(reason) = answer["reason"].as_str() else { return };
        // The calls of older notes never ran.
        delete_older(folder, MAX_AGE);
        // A note that cannot be kept only costs the model an explanation.
        let _ = fs::create_dir_all(folder)
            .and_then(|()| fs::write(folder.join(file_name(hook_input, rewritten)), reason));
    }

    /// Removes and returns the note on the call with these arguments.
    pub(super) fn take(&self, hook_input: &Value, arguments: &Value) -> Option<String> {
        let file = self.folder.as_ref()?.join(file_name(hook_input, arguments));
        let note = fs::read_to_string(&file).ok()?;
        let _ = fs::remove_file(file);
        Some(note)
    }
}

/// The file name of a call's note: a hash of the session and the arguments.
/// The order of the arguments does not matter.
fn file_name(hook_input: &Value, arguments: &Value) -> String {
    let mut fields: Vec<String> = arguments
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    fields.sort_unstable();
    let call = format!("{}\n{}", hook_input["session_id"], fields.join("\n"));
    ContentHash::of(call.as_bytes()).to_string()
}
