//! Notes from the hook before a call to the hook after it. Gemini CLI does not show the model the
//! reason that a hook gives before a call, so the hook after the call repeats it.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

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
        self.delete_old();
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

    /// Deletes notes that are older than [`MAX_AGE`], because their calls never ran.
    fn delete_old(&self) {
        let Some(Ok(entries)) = self.folder.as_ref().map(fs::read_dir) else { return };
        for entry in entries.flatten() {
            let age = entry
                .metadata()
                .and_then(|metadata| metadata.modified())
                .map(|time| time.elapsed());
            if matches!(age, Ok(Ok(age)) if age > MAX_AGE) {
                let _ = fs::remove_file(entry.path());
            }
        }
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
