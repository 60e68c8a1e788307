//! What one hook leaves for a later one of the same call. Gemini CLI tells the model nothing
//! of what a hook says before a call, so the hook after it does.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use crate::text::ContentHash;

/// Notes of calls that are rewritten and not yet done, a file each.
#[derive(Debug, Clone)]
pub(crate) struct Notes {
    folder: Option<PathBuf>,
}

/// A note of an older call is deleted.
const MAX_AGE: Duration = Duration::from_secs(3600);

impl Notes {
    /// Notes in this folder; none are kept without one.
    pub(crate) fn in_folder(folder: Option<PathBuf>) -> Self {
        Self { folder }
    }

    /// Keeps the reason of an answer that rewrites a call.
    pub(super) fn save(&self, input: &Value, answer: &Value) {
        let Some(folder) = &self.folder else { return };
        let rewritten = &answer["hookSpecificOutput"]["tool_input"];
        let (false, Some(reason)) = (rewritten.is_null(), answer["reason"].as_str()) else {
            return;
        };
        self.delete_old();
        // A note that cannot be kept is one line less for the model.
        let _ = fs::create_dir_all(folder)
            .and_then(|()| fs::write(folder.join(file_name(input, rewritten)), reason));
    }

    /// The note for a call that was made, once.
    pub(super) fn take(&self, input: &Value, given: &Value) -> Option<String> {
        let file = self.folder.as_ref()?.join(file_name(input, given));
        let note = fs::read_to_string(&file).ok()?;
        let _ = fs::remove_file(file);
        Some(note)
    }

    fn delete_old(&self) {
        let Some(Ok(entries)) = self.folder.as_ref().map(fs::read_dir) else { return };
        for entry in entries.flatten() {
            let age = entry.metadata().and_then(|m| m.modified()).map(|time| time.elapsed());
            if matches!(age, Ok(Ok(age)) if age > MAX_AGE) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

/// The name of a call's note: a hash of its session and its arguments, in whatever order they come.
fn file_name(input: &Value, given: &Value) -> String {
    let mut fields: Vec<String> = given
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    fields.sort_unstable();
    let call = format!("{}\n{}", input["session_id"], fields.join("\n"));
    ContentHash::of(call.as_bytes()).to_string()
}
