//! How many of the tools are offered to a model: every further one costs it tokens and a
//! choice.

use std::sync::Arc;

use super::{Dialect, TOOLS, ToolSpec, Visibility};

/// What a session offers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ToolSet {
    /// Every tool that the dialect has.
    #[default]
    All,
    /// What it takes to edit well: the dialect's edit tool, several edits at once, reading,
    /// searching, undoing.
    Usual,
    /// These and no others; the others cannot be called either.
    Chosen(Arc<[&'static str]>),
}

/// Beside the dialect's edit tool.
const USUAL: &[&str] = &["multi_edit", "read_file", "search", "undo"];

impl ToolSet {
    /// The tools named; `default` and `all` stand for those sets. Nothing named is the usual.
    pub fn parse(names: &[String], dialect: Dialect) -> Result<Self, String> {
        let listed = || {
            TOOLS
                .iter()
                .filter(|tool| !matches!(tool.visibility, Visibility::Guarded | Visibility::Staged))
        };
        let set = |tool_set: Self| listed().filter(move |tool| tool_set.has(tool, dialect));
        let mut chosen: Vec<&'static str> = Vec::new();
        for name in names.iter().map(|name| name.trim()).filter(|name| !name.is_empty()) {
            match name {
                "all" => chosen.extend(set(Self::All).map(|tool| tool.name)),
                "default" => chosen.extend(set(Self::Usual).map(|tool| tool.name)),
                _ => match listed().find(|tool| tool.name == name) {
                    Some(tool) => chosen.push(tool.name),
                    None => {
                        let known: Vec<_> = listed().map(|tool| tool.name).collect();
                        return Err(format!(
                            "there is no tool `{}`; use some of: {}, default, all",
                            crate::text::quote_name(name),
                            known.join(", ")
                        ));
                    }
                },
            }
        }
        Ok(if chosen.is_empty() { Self::Usual } else { Self::Chosen(chosen.into()) })
    }

    /// Whether `tool` is among them.
    pub(super) fn has(&self, tool: &ToolSpec, dialect: Dialect) -> bool {
        match self {
            Self::All => match tool.visibility {
                Visibility::Always => true,
                Visibility::InDialect(only) => only == dialect,
                Visibility::Guarded | Visibility::Staged => false,
            },
            Self::Usual => USUAL.contains(&tool.name) || tool.name == dialect.edit_tool(),
            Self::Chosen(names) => names.contains(&tool.name),
        }
    }
}
