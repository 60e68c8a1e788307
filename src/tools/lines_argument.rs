//! New lines as models send them: a list, or one string.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::line_edit::split_lines;

// Without descriptions, which every declaration would repeat to a model.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum LinesArgument {
    Many(Vec<String>),
    One(String),
}

impl LinesArgument {
    /// The lines of one entry of a list. Even an empty entry is one line, and a newline at the end
    /// of an entry starts no further line.
    fn split_entry(entry: &str) -> Vec<String> {
        if entry.is_empty() { vec![String::new()] } else { split_lines(entry) }
    }

    /// Whether the argument is an empty string or an empty list.
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Many(entries) => entries.is_empty(),
            Self::One(text) => text.is_empty(),
        }
    }

    /// The lines, where an empty string stands for one empty line.
    pub(super) fn into_lines(self) -> Vec<String> {
        match self {
            Self::Many(entries) => {
                entries.iter().flat_map(|entry| Self::split_entry(entry)).collect()
            }
            Self::One(text) => Self::split_entry(&text),
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
