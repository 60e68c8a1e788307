//! Which tools a session offers to a model. Each one costs the model tokens and is one more to
//! choose from.

use std::sync::Arc;

use super::{Dialect, TOOLS, ToolSpec, Visibility};

/// The tools that a session offers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ToolSet {
    /// Every tool of the dialect.
    #[default]
    All,
    /// The dialect's edit tool, and tools for several edits at once, reading, searching and
    /// undoing.
    Usual,
    /// Only these tools; no other can be called.
    Chosen(Arc<[&'static str]>),
}

/// The usual tools beside the dialect's edit tool.
const USUAL: &[&str] = &["multi_edit", "read_file", "search", "undo"];

impl ToolSet {
    /// The set of the tools with these names, where `default` and `all` stand for whole sets. No
    /// names stand for the usual tools.
    pub fn parse(names: &[String], dialect: Dialect) -> Result<Self, String> {
        let selectable = || {
            TOOLS
                .iter()
                .filter(|tool| !matches!(tool.visibility, Visibility::Guarded | Visibility::Staged))
        };
        let names_in = |tool_set: Self| {
            selectable().filter(move |tool| tool_set.has(tool, dialect)).map(|tool| tool.name)
        };
        let mut chosen: Vec<&'static str> = Vec::new();
        for name in names.iter().map(|name| name.trim()).filter(|name| !name.is_empty()) {
            match name {
                "all" => chosen.extend(names_in(Self::All)),
                "default" => chosen.extend(names_in(Self::Usual)),
                _ => match selectable().find(|tool| tool.name == name) {
                    Some(tool) => chosen.push(tool.name),
                    None => {
                        let known: Vec<_> = selectable().map(|tool| tool.name).collect();
                        return Err(format!(
                            "there is no tool `{}`; use some of: {}, default, all",
                            crate::text::quote_name(name),
                            known.join(", ")
                        ));
                    }
                },
            }
        }
        if chosen.is_empty() && !names.is_empty() {
            return Err("no tool is named; leave --tools out for the usual ones".to_owned());
        }
        Ok(if chosen.is_empty() { Self::Usual } else { Self::Chosen(chosen.into()) })
    }

    /// Whether the set contains `tool`.
    pub(crate) fn has(&self, tool: &ToolSpec, dialect: Dialect) -> bool {
        match self {
            Self::All => match tool.visibility {
                Visibility::Always => true,
                Visibility::InDialect(tool_dialect) => tool_dialect == dialect,
                Visibility::Guarded | Visibility::Staged => false,
            },
            Self::Usual => USUAL.contains(&tool.name) || tool.name == dialect.edit_tool(),
            Self::Chosen(names) => names.contains(&tool.name),
        }
    }
}
