//! New lines as models send them: a list, one string, or null.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

use crate::line_edit::split_lines;

/// The new lines of an edit.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub(super) enum LinesArgument {
    /// Line by line.
    Many(Vec<String>),
    /// One string, split at newlines.
    One(String),
    /// No lines at all.
    None,
}

impl LinesArgument {
    /// The lines of one entry of a list. Even an empty entry is one line, and a newline at the end
    /// of an entry starts no further line.
    fn split_entry(entry: &str) -> Vec<String> {
        if entry.is_empty() { vec![String::new()] } else { split_lines(entry) }
    }

    /// Whether the argument is null, an empty string or an empty list.
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Many(entries) => entries.is_empty(),
            Self::One(text) => text.is_empty(),
            Self::None => true,
        }
    }

    /// The lines, where an empty string stands for one empty line.
    pub(super) fn into_lines(self) -> Vec<String> {
        match self {
            Self::Many(entries) => {
                entries.iter().flat_map(|entry| Self::split_entry(entry)).collect()
            }
            Self::One(text) => Self::split_entry(&text),
            Self::None => Vec::new(),
        }
    }

    /// The lines, where an empty string stands for no lines.
    pub(super) fn into_content(self) -> Vec<String> {
        match self {
            Self::One(text) if text.is_empty() => Vec::new(),
            other => other.into_lines(),
        }
    }
}

impl JsonSchema for LinesArgument {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Lines".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [
            { "type": "array", "items": { "type": "string" } },
            { "type": "string" },
        ]})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_is_split_and_a_final_newline_opens_no_line() {
        let lines = |json: serde_json::Value| {
            serde_json::from_value::<LinesArgument>(json).expect("lines").into_lines()
        };
        assert_eq!(lines(serde_json::json!(["a", "", "b"])), ["a", "", "b"]);
        assert_eq!(lines("a\nb\n".into()), ["a", "b"]);
        assert_eq!(lines("".into()), [""]);
        assert_eq!(lines(serde_json::json!(["a\nb", "c\n"])), ["a", "b", "c"]);
        assert_eq!(lines(serde_json::json!([])), Vec::<String>::new());
        assert_eq!(lines(serde_json::Value::Null), Vec::<String>::new());
        assert_eq!(LinesArgument::One(String::new()).into_content(), Vec::<String>::new());
        assert_eq!(LinesArgument::One("\n".into()).into_content(), [""]);
    }
}
