//! The guard: it makes an agent explore before it edits, and keeps it from claiming edits that it has
//! not made and from repeating calls that have failed.
//!
//! Every rule is a row of [`RULES`]; the [`GuardPolicy`] says whether they refuse or only warn. No rule
//! depends on the text of the task. The guard reads no files: the caller passes their hashes.

mod rules;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::edit::message::{LIST_FILES, READ_FILE, THEN};
use crate::edit::{EditCode, Message, said};
use crate::text::{ContentHash, clip};

pub(crate) use rules::GuardPolicy;
use rules::{Moment, RULES, Rule};

/// The hash of a file's current content; `None` if the file does not exist.
pub(crate) type FileHash = Option<ContentHash>;

/// A call that is about to be made.
#[derive(Debug, Clone, Copy)]
pub struct GuardedCall<'a> {
    /// The name of the tool.
    pub tool: &'a str,
    /// The arguments, under their canonical names.
    pub arguments: &'a Map<String, Value>,
    /// Whether the tool can change files.
    pub writes: bool,
    /// The current hashes of the files that the call names or that the session has edited.
    pub files: &'a BTreeMap<String, FileHash>,
    /// The tool of the session that takes lines by anchor or number, if it offers one.
    pub line_tool: Option<&'static str>,
}

/// The answer to a call that was made.
#[derive(Debug, Clone, Copy)]
pub struct CallOutcome<'a> {
    /// Whether the call succeeded.
    pub ok: bool,
    /// The code of a refusal.
    pub code: Option<EditCode>,
    /// The answer's message.
    pub message: &'a str,
    /// The answer's report.
    pub report: &'a Value,
}

/// The guard's decision about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GuardVerdict {
    /// The call is made; the warnings are reported with its answer.
    Pass(Vec<Message>),
    /// The call is not made.
    Refuse {
        /// The name of the broken rule.
        rule: &'static str,
        /// The code to answer with.
        code: EditCode,
        /// What went wrong.
        error: Message,
        /// What to do next.
        hint: Message,
    },
}

/// A file that the session has edited.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Edited {
    /// The revision of the last edit.
    pub revision: Option<u64>,
    /// The hash before the first edit; null if the file did not exist.
    #[serde(skip)]
    before_sha256: Option<ContentHash>,
    /// The hash after the last edit; null if the edit removed the file.
    pub after_sha256: Option<ContentHash>,
}

/// A call that was refused.
#[derive(Debug, Clone)]
struct Failure {
    /// How often the call was refused; a first refusal that shows the lines in question does not count.
    times: u32,
    code: EditCode,
    cause: String,
    /// The lines of the file that are most similar to `old_str`.
    near: Option<(u64, u64)>,
}

/// The refused edit of a file to which nothing has been written since.
#[derive(Debug, Clone)]
struct Unresolved {
    cause: String,
    /// Whether the model was told of this edit when it wanted to complete the task.
    was_reported: bool,
}

/// What one session has done so far, under a policy.
#[derive(Debug, Clone, Default)]
pub struct Guard {
    policy: GuardPolicy,
    /// How many calls were made.
    calls: usize,
    /// How many calls other than `task_complete` succeeded.
    meaningful: usize,
    /// How many calls looked at the project.
    explorations: usize,
    /// How many calls wrote files.
    write_count: usize,
    /// The calls that failed, by their fingerprints.
    failures: BTreeMap<String, Failure>,
    /// The files whose last edit was refused.
    unresolved: BTreeMap<String, Unresolved>,
    edited: BTreeMap<String, Edited>,
}

/// Whether a call explores the project without changing it.
pub(crate) fn is_exploration(tool: &str, arguments: &Map<String, Value>) -> bool {
    matches!(tool, "list_files" | "search" | "wildcard_search" | "read_file")
        || arguments.get("command").is_some_and(|command| command == "view")
}

impl Guard {
    /// The guard of a new session.
    pub fn new(policy: GuardPolicy) -> Self {
        Self { policy, ..Self::default() }
    }

    /// The text with which every session begins; `None` if there is no rule for it.
    pub fn opening_message(&self) -> Option<Message> {
        let opening = RULES.iter().filter(|rule| rule.moment == Moment::Start);
        let said = opening.map(|rule| said!("{}{THEN}{}", (rule.error)(), (rule.hint)()));
        said.reduce(|all, more| said!("{all}{THEN}{more}"))
    }

    /// The answer to a model that answers without calling a tool; `None` if the model may do so.
    pub fn on_text_answer(&self) -> Option<String> {
        let broken = self.broken_without_call(Moment::TextAnswer)?;
        let (error, hint) = ((broken.error)(), (broken.hint)());
        Some(format!("{error} {hint} Do NOT respond without using tools."))
    }

    /// The error and the hint for a session that ends without a successful call.
    pub fn final_error(&self) -> Option<(Message, Message)> {
        self.broken_without_call(Moment::End).map(|rule| ((rule.error)(), (rule.hint)()))
    }

    /// The files that the session has edited, by their paths.
    pub fn edited(&self) -> &BTreeMap<String, Edited> {
        &self.edited
    }

    /// The files whose content differs from that before the session's edits.
    fn changed(&self) -> impl Iterator<Item = (&String, &Edited)> {
        self.edited.iter().filter(|(_, edited)| edited.before_sha256 != edited.after_sha256)
    }

    /// How many calls were made, `task_complete` included.
    pub fn calls(&self) -> usize {
        self.calls
    }

    /// Counts a call that is invalid: an unknown tool or malformed arguments.
    pub fn record_invalid_call(&mut self) {
        self.calls += 1;
    }

    /// Checks a call against every rule.
    pub fn check(&self, call: &GuardedCall<'_>) -> GuardVerdict {
        let moments: &[Moment] = match call.tool {
            "task_complete" => &[Moment::Complete],
            _ if call.writes && !is_exploration(call.tool, call.arguments) => {
                &[Moment::Call, Moment::Edit]
            }
            _ => &[Moment::Call],
        };
        let mut warnings = Vec::new();
        for rule in moments.iter().flat_map(|moment| self.broken_rules(*moment, call)) {
            let (code, error, hint) = self.explain(rule, call);
            match self.policy {
                GuardPolicy::Strict => {
                    return GuardVerdict::Refuse { rule: rule.id, code, error, hint };
                }
                GuardPolicy::Soft => warnings.push(said!("{error}{THEN}{hint}")),
            }
        }
        GuardVerdict::Pass(warnings)
    }

    /// The first rule of this moment, at which no tool is called, that is broken.
    fn broken_without_call(&self, moment: Moment) -> Option<&'static Rule> {
        let (arguments, files) = (&Map::new(), &BTreeMap::new());
        let call = GuardedCall { tool: "", arguments, writes: false, files, line_tool: None };
        self.broken_rules(moment, &call).next()
    }

    /// The rules of this moment that a call breaks.
    fn broken_rules<'a>(
        &'a self,
        moment: Moment,
        call: &'a GuardedCall<'_>,
    ) -> impl Iterator<Item = &'static Rule> + 'a {
        RULES.iter().filter(move |rule| rule.moment == moment && (rule.broken)(self, call))
    }

    /// The code, the error and the hint for a call that breaks a rule.
    fn explain(&self, rule: &Rule, call: &GuardedCall<'_>) -> (EditCode, Message, Message) {
        let (mut error, mut hint) = ((rule.error)(), (rule.hint)());
        let mut code = EditCode::Blocked;
        match rule.id {
            "repeat_failed" => {
                if let Some(failure) = self.failure(call) {
                    code = failure.code;
                    error.push(format_args!(" Cause: {}", failure.cause));
                    hint.push(said!("{THEN}{}", suggest_alternative(call, failure)));
                }
            }
            "unresolved_edit" => {
                for (path, unresolved) in &self.unresolved {
                    error.push(format_args!(" {path} ({})", unresolved.cause));
                }
            }
            "false_claim" => {
                let claims: Vec<_> = self.false_claims(call).collect();
                error.push(format_args!(" {}", claims.join(", ")));
            }
            "vanished_edit" => {
                error.push(format_args!(" {}", self.vanished_files(call.files).join(", ")));
            }
            _ => {}
        }
        (code, error, hint)
    }

    /// The files that the call says are changed and that the session has not changed.
    fn false_claims<'a>(&'a self, call: &GuardedCall<'a>) -> impl Iterator<Item = &'a str> {
        let is_changed = |claim: &str| {
            self.changed().any(|(path, _)| {
                path.strip_suffix(claim)
                    .is_some_and(|folder| folder.is_empty() || folder.ends_with('/'))
            })
        };
        let claims = claimed_files(call).into_iter().flatten().filter_map(Value::as_str);
        claims.filter(move |claim| !is_changed(claim))
    }

    /// The failure of this call on the same content of its files.
    fn failure(&self, call: &GuardedCall<'_>) -> Option<&Failure> {
        self.failures.get(&fingerprint(call, self.write_count))
    }

    /// The files that no longer have the content that the session wrote.
    fn vanished_files(&self, files: &BTreeMap<String, FileHash>) -> Vec<String> {
        let vanished = self.edited.iter().filter(|(path, edited)| {
            files.get(*path).is_some_and(|current| *current != edited.after_sha256)
        });
        vanished.map(|(path, _)| path.clone()).collect()
    }

    /// Counts a refusal by [`Guard::check`], so that the next refusal of this call suggests something
    /// else.
    pub fn record_refusal(&mut self, call: &GuardedCall<'_>) {
        self.calls += 1;
        if let Some(failure) = self.failures.get_mut(&fingerprint(call, self.write_count)) {
            failure.times += 1;
        }
    }

    /// Records a call that was made and its answer.
    pub fn record(&mut self, call: &GuardedCall<'_>, outcome: &CallOutcome<'_>) {
        self.calls += 1;
        if call.tool == "task_complete" {
            return;
        }
        if outcome.ok {
            self.meaningful += 1;
            if is_exploration(call.tool, call.arguments) {
                self.explorations += 1;
                // A model that reads the file after it was told has decided against the edit.
                self.unresolved.retain(|path, unresolved| {
                    !(unresolved.was_reported && call.files.contains_key(path))
                });
            } else if call.writes {
                self.record_written(outcome.report);
            }
            return;
        }
        let Some(code) = outcome.code else { return };
        if is_retryable(code, outcome.report) {
            return;
        }
        let cause = clip(outcome.message.lines().next().unwrap_or_default(), 120);
        let nearest = outcome.report.get("nearest").and_then(|all| all.get(0));
        let near = nearest.and_then(|lines| {
            Some((lines.get("start_line")?.as_u64()?, lines.get("end_line")?.as_u64()?))
        });
        let key = fingerprint(call, self.write_count);
        // After an answer that shows the lines in question, the same call is allowed once more.
        let times = u32::from(!shows_lines(code, outcome.report));
        self.failures.entry(key).and_modify(|failure| failure.times += 1).or_insert(Failure {
            times,
            code,
            cause: cause.clone(),
            near,
        });
        // An edit that is already made, or that changes nothing, needs no second try.
        let is_settled = matches!(code, EditCode::AlreadyApplied | EditCode::NoChange);
        if call.writes
            && !is_settled
            && let Some(path) = outcome.report.get("path").and_then(Value::as_str)
        {
            let unresolved = Unresolved { cause: code.as_str().to_owned(), was_reported: false };
            self.unresolved.insert(path.to_owned(), unresolved);
        }
    }

    /// Records every file that was written, according to the report of a call.
    fn record_written(&mut self, report: &Value) {
        let mut written = BTreeMap::new();
        collect_edits(report, &mut written);
        for (path, edit) in written {
            self.unresolved.remove(&path);
            let first = self.edited.get(&path).unwrap_or(&edit);
            let before_sha256 = first.before_sha256;
            self.edited.insert(path, Edited { before_sha256, ..edit });
        }
        self.write_count += 1;
    }

    /// Records that the model was told about its unresolved edits. If it reads the file now and then
    /// completes, it has decided that the edit is not needed.
    pub fn record_unresolved_reported(&mut self) {
        for unresolved in self.unresolved.values_mut() {
            unresolved.was_reported = true;
        }
    }

    /// The report of `task_complete`.
    pub fn completion_report(&self, summary: &str, warnings: &[Message]) -> Value {
        let files: Vec<Value> = self
            .changed()
            .map(|(path, edited)| {
                json!({ "path": path, "revision": edited.revision, "after_sha256": edited.after_sha256 })
            })
            .collect();
        // The summary may claim a change all the same.
        let summary = match files.is_empty() {
            true => format!("No file was changed. {summary}"),
            false => summary.to_owned(),
        };
        json!({
            "acknowledged": true,
            "summary": summary,
            "files_changed": files,
            "warnings": warnings,
        })
    }
}

/// The files that a `task_complete` says were changed; `None` if it does not say.
fn claimed_files<'a>(call: &GuardedCall<'a>) -> Option<&'a Vec<Value>> {
    call.arguments.get("files_changed").and_then(Value::as_array)
}

/// A hash that is the same for calls of the same tool with the same arguments on files with the same
/// content. Calls that name no file have the same fingerprint until the session writes a file.
fn fingerprint(call: &GuardedCall<'_>, write_count: usize) -> String {
    let arguments = Value::Object(call.arguments.clone());
    let mut out = format!("{} {arguments}", call.tool);
    let mut names_file = false;
    for (path, file_hash) in call.files {
        if out.contains(path.as_str()) {
            names_file = true;
            match file_hash {
                Some(hash) => drop(write!(out, " {hash}")),
                None => out.push_str(" -"),
            }
        }
    }
    if !names_file {
        let _ = write!(out, " {write_count}");
    }
    ContentHash::of(out.as_bytes()).to_string()
}

/// Whether the same call may succeed later: the refusal is a conflict, a fault, or a failed request
/// to the model.
fn is_retryable(code: EditCode, report: &Value) -> bool {
    let has_failed =
        |attempt: &Value| attempt.get("outcome").is_some_and(|outcome| outcome == "failed");
    let attempts = report.get("attempts").and_then(Value::as_array);
    code == EditCode::Conflict
        || code.is_fault()
        || attempts.is_some_and(|attempts| attempts.iter().any(has_failed))
}

/// Whether a refusal shows the current lines, so that the caller may confirm the same call.
fn shows_lines(code: EditCode, report: &Value) -> bool {
    matches!(code, EditCode::Blocked | EditCode::StaleAnchor)
        && report.get("anchors").and_then(Value::as_array).is_some_and(|all| !all.is_empty())
}

/// What to do in place of a call that has failed: first to read again, then to use another tool.
fn suggest_alternative(call: &GuardedCall<'_>, failure: &Failure) -> Message {
    let lines = match failure.near {
        Some((start, end)) => format!(" with ranges [{{\"start\": {start}, \"end\": {end}}}]"),
        None => String::new(),
    };
    let other_tool = call.line_tool.filter(|tool| *tool != call.tool);
    match (failure.times, call.line_tool, other_tool) {
        (1, ..) if !call.writes => {
            said!("Check the path with {LIST_FILES}, or search for different words.")
        }
        (1, ..) => said!("Call {READ_FILE}{lines} and copy the text to replace from its answer."),
        (2, _, Some(tool)) => {
            said!("Go another way: call {READ_FILE}{lines} in style hashline, then {tool} with those lines.")
        }
        (2, Some("edit_file"), _) => {
            said!("Go another way: call {READ_FILE}{lines} in style hashline, and send its anchors as `lines`.")
        }
        (2..=3, ..) => said!("Go another way: edit a smaller part, quoted from a fresh {READ_FILE}."),
        (..) => "Give up this edit: go on with another part of the task, or tell the user what blocks you.".into(),
    }
}

/// Adds to `out` every file that a report says was written, at any depth of the report.
fn collect_edits(report: &Value, out: &mut BTreeMap<String, Edited>) {
    match report {
        Value::Object(object) => {
            let path = object.get("path").and_then(Value::as_str);
            let is_dry_run = object.get("durability").is_some_and(|value| value == "dry_run");
            if let (Some(path), Some(after)) = (path, object.get("after_sha256"))
                && !is_dry_run
            {
                let hash = |value: &Value| ContentHash::parse(value.as_str()?);
                let edit = Edited {
                    revision: object.get("revision").and_then(Value::as_u64),
                    before_sha256: object.get("before_sha256").and_then(hash),
                    after_sha256: hash(after),
                };
                out.insert(path.to_owned(), edit);
            }
            object.values().for_each(|value| collect_edits(value, out));
        }
        Value::Array(items) => items.iter().for_each(|value| collect_edits(value, out)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(value: Value) -> Map<String, Value> {
        value.as_object().cloned().expect("object")
    }

    fn asked<'a>(
        tool: &'a str,
        arguments: &'a Map<String, Value>,
        files: &'a BTreeMap<String, FileHash>,
    ) -> GuardedCall<'a> {
        GuardedCall {
            tool,
            arguments,
            writes: tool.starts_with("edit"),
            files,
            line_tool: Some("edit_file"),
        }
    }

    const FAILED: CallOutcome<'_> = CallOutcome {
        ok: false,
        code: Some(EditCode::NoOccurrence),
        message: "EDIT_NO_OCCURRENCE_FOUND: old_str is not in the file",
        report: &Value::Null,
    };
    const DONE: CallOutcome<'_> =
        CallOutcome { ok: true, code: None, message: "", report: &Value::Null };

    #[test]
    fn a_refusal_that_shows_the_lines_may_be_answered_by_the_same_call_once() {
        let mut guard = Guard::default();
        let (none, files) = (Map::new(), BTreeMap::new());
        guard.record(&asked("read_file", &none, &files), &DONE);
        let shown = json!({"path": "a", "anchors": ["1#VK|one"]});
        let blocked = CallOutcome { code: Some(EditCode::Blocked), report: &shown, ..FAILED };
        let call = asked("edit_lines", &none, &files);
        guard.record(&call, &blocked);
        assert_eq!(guard.check(&call), GuardVerdict::Pass(Vec::new()));
        guard.record(&call, &blocked);
        assert!(matches!(guard.check(&call), GuardVerdict::Refuse { rule: "repeat_failed", .. }));
    }

    #[test]
    fn a_conflict_may_be_sent_again() {
        let mut guard = Guard::default();
        let (none, files) = (Map::new(), BTreeMap::new());
        guard.record(&asked("read_file", &none, &files), &DONE);
        let conflict = CallOutcome { code: Some(EditCode::Conflict), ..FAILED };
        guard.record(&asked("edit_file", &none, &files), &conflict);
        assert_eq!(guard.check(&asked("edit_file", &none, &files)), GuardVerdict::Pass(Vec::new()));
        // So may a call on a file that has changed since.
        let edit = arguments(json!({ "path": "a" }));
        guard.record(&asked("edit_file", &edit, &files), &FAILED);
        let changed = BTreeMap::from([("a".to_owned(), Some(ContentHash::of(b"2")))]);
        let again = guard.check(&asked("edit_file", &edit, &changed));
        assert_eq!(again, GuardVerdict::Pass(Vec::new()));
    }

    #[test]
    fn completion_is_tied_to_edits_that_are_in_the_files() {
        let mut guard = Guard::default();
        let (none, mut files) = (Map::new(), BTreeMap::new());
        guard.record(&asked("search", &none, &files), &DONE);
        let refused = json!({"path": "a"});
        guard.record(
            &asked("edit_file", &none, &files),
            &CallOutcome { report: &refused, ..FAILED },
        );
        let complete = |guard: &Guard, files: &BTreeMap<String, FileHash>| match guard
            .check(&asked("task_complete", &Map::new(), files))
        {
            GuardVerdict::Pass(_) => "pass",
            GuardVerdict::Refuse { rule, .. } => rule,
        };
        assert_eq!(complete(&guard, &files), "unresolved_edit");
        guard.record_unresolved_reported();
        let here = BTreeMap::from([("a".to_owned(), None)]);
        let mut looked = guard.clone();
        looked.record(&asked("read_file", &none, &here), &DONE);
        assert_eq!(complete(&looked, &files), "nothing_changed");
        let without_change = arguments(json!({"files_changed": []}));
        let verdict = looked.check(&asked("task_complete", &without_change, &files));
        assert_eq!(verdict, GuardVerdict::Pass(Vec::new()));
        let hash = ContentHash::of(b"new");
        let wrote =
            json!({"path": "a", "after_sha256": hash, "revision": 3, "durability": "durable"});
        guard.record(&asked("edit_file", &none, &files), &CallOutcome { report: &wrote, ..DONE });
        files.insert("a".into(), Some(hash));
        assert_eq!(complete(&guard, &files), "pass");
        files.insert("a".into(), Some(ContentHash::of(b"another program")));
        assert_eq!(complete(&guard, &files), "vanished_edit");
        assert_eq!(guard.completion_report("done", &[])["files_changed"][0]["revision"], 3);
    }
}
