//! The flags that stand for the arguments of a tool in its messages.

use std::borrow::Cow;

use super::args::Common;
use crate::tools::{self, ToolReply};

/// The names and phrases of a tool's message, each with its replacement. The argument `within` is
/// also an English word, so it is replaced only in phrases.
pub(super) type Words = &'static [(&'static str, &'static str)];

/// The words of `restitch edit`.
pub(super) const EDIT: Words = &[
    ("EDIT_INVALID_ARGUMENTS: `within` ", "EDIT_INVALID_ARGUMENTS: --within "),
    ("Leave `within` out", "Leave --within out"),
    ("leave `within` out", "leave --within out"),
    ("Set `within` to", "Set --within to"),
    ("Leave out within: ", "Leave out --within "),
    ("Name it with `path` or `language`", "Name it with --language"),
    ("old_str", "--old"),
    ("new_str", "--new"),
    ("expected_replacements", "--expect"),
    ("replace_all", "--all"),
    ("near_line", "--near"),
    ("request_id", "--request-id"),
];

/// The words of `restitch apply`: the tool's own.
pub(super) const APPLY: Words = &[];

/// The words of `restitch read`.
pub(super) const READ: Words = &[
    ("edit it with an empty old_str", "use `restitch edit` with an empty --old"),
    ("offset", "--offset"),
    ("limit", "--limit"),
    ("ranges", "--ranges"),
];

/// The words of `restitch search`.
pub(super) const SEARCH: Words = &[
    ("narrow the search with path", "narrow the search with --path"),
    ("narrow with path or glob", "narrow with --path or --glob"),
    ("Check the path, or leave it out", "Check --path, or leave it out"),
    ("keyword", "term"),
    ("glob", "--glob"),
    ("context", "--context"),
];

/// The message of an edit, with the revision that `restitch undo` takes in its first line.
pub(super) fn with_revision(reply: &ToolReply, message: Cow<'_, str>) -> String {
    let report = &reply.report;
    let revision = report["revision"].as_u64().or_else(|| report["files"][0]["revision"].as_u64());
    let Some(revision) = revision.filter(|_| reply.ok) else { return message.into_owned() };
    let (first, others) = message.split_at(message.find('\n').unwrap_or(message.len()));
    format!("{first} Revision {revision}.{others}")
}

/// The reply's message in the words of the command. With `--json`, it is the tool's own message.
pub(super) fn message<'a>(common: &Common, reply: &'a ToolReply, words: Words) -> Cow<'a, str> {
    if common.json {
        return Cow::Borrowed(&reply.message);
    }
    Cow::Owned(tools::Words::of_command(words).message(&reply.message, reply.ok))
}
