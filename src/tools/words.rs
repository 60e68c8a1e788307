//! The words of each kind of caller: its own names of the arguments, and which tools it has.

use serde_json::Value;

use super::ToolReply;
use super::arguments::SYNONYMS;
use super::schema::{branches, properties};
use crate::edit::Refusal;
use crate::edit::message::{
    EMPTY_OLD, EXPECTED, FIRST_LINE, LAST_LINE, LIST_FILES, NEAR, NEW, OLD, READ_FILE, REPLACE_ALL,
    SEARCH, Words,
};
#[cfg(feature = "cli")]
use crate::edit::message::{GLOB, LANGUAGE, Name, PATH, WITHIN};

/// The flags of `restitch edit`.
#[cfg(feature = "cli")]
pub(crate) const EDIT_FLAGS: &[(Name, &str)] = &[
    (OLD, "--old"),
    (NEW, "--new"),
    (EMPTY_OLD, "edit it with an empty --old"),
    (REPLACE_ALL, "--all"),
    (EXPECTED, "--expect"),
    (NEAR, "--near"),
    (WITHIN, "--within"),
    (LANGUAGE, "--language"),
];

/// The flags of `restitch search`.
#[cfg(feature = "cli")]
pub(crate) const SEARCH_FLAGS: &[(Name, &str)] = &[(PATH, "--path"), (GLOB, "--glob")];

/// The flags of `restitch read`.
#[cfg(feature = "cli")]
pub(crate) const READ_FLAGS: &[(Name, &str)] =
    &[(EMPTY_OLD, "use `restitch edit` with an empty --old")];

impl Words {
    /// The words of the command line, whose flags replace the arguments and which has no tools.
    #[cfg(feature = "cli")]
    pub(crate) fn of_command(flags: &[(Name, &str)]) -> Self {
        let mut words = Self::default();
        words.set(EMPTY_OLD, None);
        for (name, flag) in flags {
            words.set(*name, Some(*flag));
        }
        words.with_tools(&[])
    }

    /// The words of a client's own edit tool with these arguments, without tools of restitch.
    #[cfg(feature = "cli")]
    pub(crate) fn of_client_tool(arguments: &[&str]) -> Self {
        Self::of_arguments(arguments).with_tools(&[])
    }

    /// The words of a tool, by its schema, for a caller that has the tools `offered`.
    pub(super) fn of_tool(schema: &Value, offered: &[&str]) -> Self {
        let mut arguments: Vec<&str> = Vec::new();
        collect_arguments(schema, &mut arguments);
        Self::of_arguments(&arguments).with_tools(offered)
    }

    fn of_arguments(arguments: &[&str]) -> Self {
        let mut words = Self::default();
        for name in [OLD, NEW, REPLACE_ALL, EXPECTED, NEAR] {
            words.set(name, own_name(name.as_str(), arguments));
        }
        let empty_old = words.word(OLD).map(|old| format!("edit it with an empty {old}"));
        words.set(EMPTY_OLD, empty_old.as_deref());
        if arguments.contains(&"file_text") {
            words.set(EMPTY_OLD, Some("send the command `create`"));
        }
        if arguments.contains(&"start_line") {
            words.set(FIRST_LINE, Some("start_line "));
            words.set(LAST_LINE, Some(" and end_line "));
        }
        if arguments.contains(&"patch") {
            // The old and the new text are in the hunks.
            words.set(OLD, Some("the old text of the hunk"));
            words.set(NEW, Some("the new text of the hunk"));
            words.set(EMPTY_OLD, Some("add it with `*** Add File`"));
        }
        words
    }

    /// The same for a caller that has the tools `offered`.
    pub(super) fn with_tools(mut self, offered: &[&str]) -> Self {
        for tool in [READ_FILE, SEARCH, LIST_FILES] {
            self.set(tool, offered.contains(&tool.as_str()).then(|| tool.as_str()));
        }
        self
    }

    /// The reply to a refused call in these words.
    pub(crate) fn refused(&self, refusal: Refusal) -> ToolReply {
        let refusal = refusal.in_words(self);
        ToolReply::refused_as(&refusal, refusal.text_with(&refusal.to_string(), self.label()))
    }

    /// What the line of the call is labelled with.
    pub(super) fn label(&self) -> &str {
        match self.word(OLD) {
            Some(own) if own.contains(' ') => "call",
            own => own.unwrap_or(OLD.as_str()),
        }
    }
}

/// The caller's name of the argument that `edit_file` calls `argument`.
fn own_name<'a>(argument: &str, arguments: &[&'a str]) -> Option<&'a str> {
    let group = SYNONYMS.iter().find(|group| group[0] == argument)?;
    // The others of a group are English words, too.
    let is_name = |own: &str| own.contains(|c: char| c == '_' || c.is_uppercase());
    let is_synonym = |own: &&&str| group.contains(own) && is_name(own);
    let own = arguments.iter().find(|own| **own == argument);
    own.or_else(|| arguments.iter().find(is_synonym)).copied()
}

/// The names of all arguments of a schema, those in lists included.
fn collect_arguments<'a>(schema: &'a Value, out: &mut Vec<&'a str>) {
    for branch in branches(schema) {
        for (name, property) in properties(branch).into_iter().flatten() {
            out.push(name);
            collect_arguments(property, out);
        }
        if let Some(items) = branch.get("items") {
            collect_arguments(items, out);
        }
    }
}
