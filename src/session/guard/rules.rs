//! The rules of the guard, and how strict a session is about them.

use super::{Guard, GuardedCall, claimed_files};
use crate::edit::message::{LIST_FILES, READ_FILE, SEARCH, THEN};
use crate::edit::{Message, said};

/// The event at which a rule is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    /// The session starts, before the model's first turn.
    Start,
    /// The model answers without calling a tool.
    TextAnswer,
    /// The model calls a tool.
    Call,
    /// The model calls a tool that writes.
    Edit,
    /// The model says that the task is complete.
    Complete,
    /// The session ends.
    End,
}

/// One rule of the guard.
#[derive(Clone, Copy)]
pub(crate) struct Rule {
    /// The stable name.
    pub id: &'static str,
    /// When the rule is checked.
    pub moment: Moment,
    /// What went wrong, for the model.
    pub error: fn() -> Message,
    /// What to do next, for the model.
    pub hint: fn() -> Message,
    /// Whether a call breaks the rule.
    pub(super) broken: fn(&Guard, &GuardedCall<'_>) -> bool,
}

/// How to explore with the tools that there are.
fn explore() -> Message {
    said!(
        "Start with {LIST_FILES} to see what files exist.{THEN}Call {SEARCH} to find the target code.{THEN}Read the file with {READ_FILE}."
    )
}

/// The rules, in the order in which they are checked.
pub(crate) const RULES: &[Rule] = &[
    Rule {
        id: "explore_first",
        moment: Moment::Start,
        error: || {
            said!(
                "MANDATORY FIRST STEP: before making any change, explore the project.{THEN}Call {LIST_FILES} to see its files.{THEN}Call {SEARCH} to find the code that this request is about.{THEN}Call {READ_FILE} on the file that is most likely the right one."
            )
        },
        hint: || "Do not edit and do not complete the task until you have explored.".into(),
        broken: |_, _| true,
    },
    Rule {
        id: "tools_before_words",
        moment: Moment::TextAnswer,
        error: || "You MUST use tools before responding.".into(),
        hint: || {
            said!(
                "Call {LIST_FILES} first, then search to find the relevant code, then {READ_FILE} on the target."
            )
        },
        broken: |guard, _| guard.calls == 0,
    },
    Rule {
        id: "repeat_failed",
        moment: Moment::Call,
        error: || "This same call was refused before and nothing has changed since.".into(),
        hint: || "Do not repeat it.".into(),
        broken: |guard, call| guard.failure(call).is_some_and(|failure| failure.times > 0),
    },
    Rule {
        id: "explore_before_edit",
        moment: Moment::Edit,
        error: || {
            said!(
                "You must explore the codebase first.{THEN}Call {LIST_FILES}, {SEARCH} or {READ_FILE} before editing."
            )
        },
        hint: explore,
        broken: |guard, _| guard.explorations == 0,
    },
    Rule {
        id: "explore_before_complete",
        moment: Moment::Complete,
        error: || {
            said!(
                "BLOCKED: You must explore the codebase first.{THEN}Call {LIST_FILES} or {SEARCH} before completing."
            )
        },
        hint: explore,
        broken: |guard, _| guard.explorations == 0,
    },
    Rule {
        id: "unresolved_edit",
        moment: Moment::Complete,
        error: || {
            "BLOCKED: The last edit of a file was refused, and nothing has been written since:"
                .into()
        },
        hint: || {
            "Correct the edit as its refusal says and send it again. If it is not needed after all, read the file to check that it is right, then complete.".into()
        },
        broken: |guard, _| !guard.unresolved.is_empty(),
    },
    Rule {
        id: "vanished_edit",
        moment: Moment::Complete,
        error: || "BLOCKED: A file no longer holds what your edit wrote:".into(),
        hint: || "Read the file, and edit it again if your change is still needed.".into(),
        broken: |guard, call| !guard.vanished_files(call.files).is_empty(),
    },
    Rule {
        id: "false_claim",
        moment: Moment::Complete,
        error: || "BLOCKED: This session has not changed what you say is changed:".into(),
        hint: || {
            "Make the change with an edit tool, or send files_changed with the files that you did change, [] if the task needs no change.".into()
        },
        broken: |guard, call| guard.false_claims(call).next().is_some(),
    },
    Rule {
        id: "nothing_changed",
        moment: Moment::Complete,
        error: || "BLOCKED: No file was changed.".into(),
        hint: || {
            "Go on and make the change. If the task needs none, say why in the summary and send files_changed: [] with it.".into()
        },
        broken: |guard, call| {
            guard.changed().next().is_none()
                && claimed_files(call).is_none_or(|files| !files.is_empty())
        },
    },
    Rule {
        id: "meaningful_calls",
        moment: Moment::End,
        error: || "NO_TOOL_CALLS".into(),
        hint: || {
            "The agent failed to explore the codebase. Please try again with a more specific request.".into()
        },
        broken: |guard, _| guard.meaningful == 0,
    },
];

named! {
    /// What happens to a call that breaks a rule.
    #[derive(Default)]
    pub enum GuardPolicy {
        /// It is refused.
        #[default]
        Strict = "strict",
        /// It is made, with a warning. A session without any successful call still fails.
        Soft = "soft",
    }
}
