//! The messages of other edit tools, for models that were trained on them.
//!
//! Only the first line of a message changes. The lines that restitch adds, such as the nearest
//! match and the next step, follow it, and the report is the same in every dialect.

use serde_json::{Map, Value};

use super::{ToolSpec, Words};
use crate::edit::{EditCode, Refusal};
use crate::text::clip;

named! {
    /// The edit tool whose words the answers use.
    #[derive(Default)]
    #[non_exhaustive]
    pub enum Dialect {
        /// restitch's own words.
        #[default]
        Restitch = "restitch",
        /// Anthropic's text editor tool.
        Anthropic = "anthropic",
        /// Claude Code's `Edit`.
        ClaudeCode = "claude-code",
        /// Gemini CLI's `replace`.
        Gemini = "gemini",
        /// opencode's `edit`.
        Opencode = "opencode",
        /// Codex's `apply_patch`.
        Codex = "codex",
    }
}

impl Dialect {
    /// The edit tool to offer to models that know this dialect. Gemini CLI denies every tool called
    /// `replace` to a model that runs unattended, so `edit` stands in for it.
    pub fn edit_tool(self) -> &'static str {
        match self {
            Self::Restitch => "edit_file",
            Self::Anthropic => "str_replace_based_edit_tool",
            Self::ClaudeCode | Self::Opencode | Self::Gemini => "edit",
            Self::Codex => "apply_patch",
        }
    }

    /// The first line of a refusal in this dialect; `None` where restitch's own fits. The refusal is
    /// in `words` already.
    pub(super) fn first_line(
        self,
        tool: &ToolSpec,
        arguments: &Map<String, Value>,
        words: &Words,
        refusal: &Refusal,
    ) -> Option<String> {
        // Codex's phrases name `apply_patch`, so they do not fit another tool.
        if self == Self::Codex && tool.name != self.edit_tool() {
            return None;
        }
        // The phrases for an edit that changes nothing name its old and new text, which not every
        // call has.
        if refusal.code == EditCode::NoChange && !has_old_text(arguments) {
            return None;
        }
        // Of what another tool of the dialect lacks, its own message says nothing.
        let phrase = phrase(self, refusal.code).filter(|phrase| !words.names_absent(phrase))?;
        fill(&words.sentence(phrase), arguments, refusal)
    }
}

/// The first line of a message by dialect and code. `{path}`, `{old}`, `{count}`, `{lines}`,
/// `{message}` and `{code}` (in lower case) are filled in; a row with a placeholder that cannot be
/// filled is not used.
pub const PHRASES: &[(Dialect, EditCode, &str)] = &[
    (
        Dialect::Anthropic,
        EditCode::NoOccurrence,
        "Error: No match found for replacement. Please check your text and try again.",
    ),
    (
        Dialect::Anthropic,
        EditCode::OccurrenceMismatch,
        "Error: Found {count} matches for replacement text. Please provide more context to make a unique match.",
    ),
    (Dialect::Anthropic, EditCode::FileNotFound, "Error: File not found"),
    (Dialect::Anthropic, EditCode::WriteError, "Error: Permission denied. Cannot write to file."),
    (
        Dialect::ClaudeCode,
        EditCode::NoOccurrence,
        "String to replace not found in file.\nString: {old}",
    ),
    (
        Dialect::ClaudeCode,
        EditCode::OccurrenceMismatch,
        "Found {count} matches of the string to replace, but replace_all is false. To replace all occurrences, set replace_all to true. To replace only one occurrence, please provide more context to uniquely identify the instance.\nString: {old}",
    ),
    (
        Dialect::ClaudeCode,
        EditCode::NoChange,
        "No changes to make: old_string and new_string are exactly the same.",
    ),
    (Dialect::ClaudeCode, EditCode::FileNotFound, "File does not exist."),
    (
        Dialect::ClaudeCode,
        EditCode::Conflict,
        "File has been modified since read. Read it again before attempting to write it.",
    ),
    (
        Dialect::Gemini,
        EditCode::NoOccurrence,
        "{code}: Failed to edit, 0 occurrences found for old_string in {path}. Ensure you're not escaping content incorrectly and check whitespace, indentation, and context. Use read_file tool to verify.",
    ),
    (
        Dialect::Gemini,
        EditCode::OccurrenceMismatch,
        "{code}: Failed to edit, Expected 1 occurrence but found {count} for old_string in file: {path}. If you intended to replace multiple occurrences, set 'allow_multiple' to true.",
    ),
    (
        Dialect::Gemini,
        EditCode::NoChange,
        "{code}: No changes to apply. The old_string and new_string are identical in file: {path}",
    ),
    (Dialect::Gemini, EditCode::FileNotFound, "file_not_found: File not found: {path}"),
    (
        Dialect::Gemini,
        EditCode::CreateExisting,
        "{code}: Failed to edit. Attempted to create a file that already exists: {path}",
    ),
    (Dialect::Gemini, EditCode::InvalidPath, "path_not_in_workspace: {path}"),
    (Dialect::Gemini, EditCode::ReadError, "read_content_failure: {path}"),
    (Dialect::Gemini, EditCode::WriteError, "file_write_failure: {path}"),
    (
        Dialect::Opencode,
        EditCode::NoOccurrence,
        "Could not find oldString in the file. It must match exactly, including whitespace, indentation, and line endings.",
    ),
    (
        Dialect::Opencode,
        EditCode::OccurrenceMismatch,
        "Found multiple matches for oldString. Provide more surrounding context to make the match unique.",
    ),
    (
        Dialect::Opencode,
        EditCode::NoChange,
        "No changes to apply: oldString and newString are identical.",
    ),
    (Dialect::Opencode, EditCode::FileNotFound, "File {path} not found"),
    (
        Dialect::Codex,
        EditCode::NoOccurrence,
        "apply_patch verification failed: Failed to find expected lines in {path}: {message}",
    ),
    (
        Dialect::Codex,
        EditCode::OccurrenceMismatch,
        "apply_patch verification failed: the expected lines occur at {count} places in {path} (lines {lines})",
    ),
    (
        Dialect::Codex,
        EditCode::FileNotFound,
        "apply_patch verification failed: Failed to read file to update {path}: No such file or directory",
    ),
    (Dialect::Codex, EditCode::InvalidArguments, "apply_patch verification failed: {message}"),
];

/// Whether the call has one old text at its top level.
fn has_old_text(arguments: &Map<String, Value>) -> bool {
    ["old_str", "old_string"].iter().any(|name| arguments.contains_key(*name))
}

/// The row for a dialect and a code.
fn phrase(dialect: Dialect, code: EditCode) -> Option<&'static str> {
    PHRASES
        .iter()
        .find(|(row_dialect, row_code, _)| *row_dialect == dialect && *row_code == code)
        .map(|(_, _, phrase)| *phrase)
}

/// The most characters of the caller's text that an answer quotes.
const MAX_QUOTE: usize = 300;

/// The phrase with its placeholders filled in, or `None` if one of them has no value.
fn fill(phrase: &str, arguments: &Map<String, Value>, refusal: &Refusal) -> Option<String> {
    let text_argument =
        |names: &[&str]| names.iter().find_map(|name| arguments.get(*name)).and_then(Value::as_str);
    let lines: Vec<String> = refusal.occurrences.iter().map(ToString::to_string).collect();
    let value_of = |name: &str| match name {
        "path" => {
            let path = refusal.path.as_deref();
            path.or_else(|| text_argument(&["path", "file_path"])).map(str::to_owned)
        }
        "old" => text_argument(&["old_str", "old_string"]).map(|text| clip(text, MAX_QUOTE)),
        "count" => (!lines.is_empty()).then(|| lines.len().to_string()),
        "lines" => (!lines.is_empty()).then(|| lines.join(", ")),
        "code" => Some(refusal.code.as_str().to_ascii_lowercase()),
        "message" => Some(refusal.message.clone()),
        _ => None,
    };
    // One pass, so that braces in the caller's text are not taken for placeholders.
    let mut out = String::new();
    let mut remaining = phrase;
    while let Some((before, after_brace)) = remaining.split_once('{') {
        let (name, after) = after_brace.split_once('}')?;
        out.push_str(before);
        out.push_str(&value_of(name)?);
        remaining = after;
    }
    out.push_str(remaining);
    Some(out)
}
