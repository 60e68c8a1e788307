//! The messages of other edit tools, for models that were trained on them.
//!
//! Only the first line of a message changes. The lines that restitch adds, such as the nearest
//! match and the next step, follow it, and the report is the same in every dialect.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde_json::{Map, Value};

use super::{ToolSpec, Words};
use crate::edit::message::Name;
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
    pub(crate) fn edit_tool(self) -> &'static str {
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
        fill(PHRASES.get(&(self, refusal.code))?, arguments, words, refusal)
    }
}

/// The first line of a message by dialect and code. `{path}`, `{old}`, `{count}`, `{lines}`,
/// `{message}` and `{code}` (in lower case) are filled in, and what a message can name, such as
/// `{old_str}`, in the words of the caller.
static PHRASES: LazyLock<HashMap<(Dialect, EditCode), String>> = LazyLock::new(|| {
    let rows = include_str!("dialect.tsv").lines();
    let phrase = |row: &str| {
        let (dialect, rest) = row.split_once('\t')?;
        let (code, phrase) = rest.split_once('\t')?;
        let key = (Dialect::parse(dialect)?, EditCode::parse(code)?);
        Some((key, phrase.replace('⏎', "\n")))
    };
    rows.filter_map(phrase).collect()
});

/// The most characters of the caller's text that an answer quotes.
const MAX_QUOTE: usize = 300;

/// The phrase with its placeholders filled in, or `None` if one of them has no value: of what a tool
/// lacks, its message says nothing.
fn fill(
    phrase: &str,
    arguments: &Map<String, Value>,
    words: &Words,
    refusal: &Refusal,
) -> Option<String> {
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
        "message" => Some(refusal.message.to_string()),
        name => words.word(Name::parse(name)?).map(str::to_owned),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_of_a_dialect_and_a_code() {
        let rows = include_str!("dialect.tsv").lines().filter(|row| !row.starts_with('#'));
        assert_eq!(PHRASES.len(), rows.count());
    }
}
