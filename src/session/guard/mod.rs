//! The guard: an agent explores before it edits, does not claim what it has not done,
//! and does not repeat what has failed.
//!
//! Every rule is a row of [`RULES`]; a [`GuardPolicy`] says for each whether it refuses, only
//! warns, or is off. No rule looks at the words of the task. The guard reads no
//! files: the caller passes the hashes.

mod rules;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::edit::EditCode;
use crate::text::ContentHash;

pub(crate) use rules::GuardPolicy;
use rules::{Level, Moment, RULES, Rule};

/// The hash of a file's current content; `None` when it is not there.
pub(crate) type FileHash = Option<ContentHash>;

/// A call that is about to be made.
#[derive(Debug, Clone, Copy)]
pub struct GuardedCall<'a> {
    /// The tool.
    pub tool: &'a str,
    /// Its arguments, canonical.
    pub arguments: &'a Map<String, Value>,
    /// Whether it can change files.
    pub writes: bool,
    /// The files that the call names, or that the session has edited, as they are now.
    pub files: &'a BTreeMap<String, FileHash>,
}

/// A call that was made.
#[derive(Debug, Clone, Copy)]
pub struct CallOutcome<'a> {
    /// Whether it did what was asked.
    pub ok: bool,
    /// The code of a refusal.
    pub code: Option<EditCode>,
    /// The answer's message.
    pub message: &'a str,
    /// The answer's report.
    pub report: &'a Value,
}

/// What the guard says to a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GuardVerdict {
    /// Go on; the warnings are reported with the answer.
    Pass(Vec<String>),
    /// The call is not made.
    Refuse {
        /// The rule.
        rule: &'static str,
        /// The code to answer with.
        code: EditCode,
        /// What went wrong.
        error: String,
        /// What to do next.
        hint: String,
    },
}

/// A file that the session has edited.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Edited {
    /// Its last revision.
    pub revision: Option<u64>,
    /// What it held before the first edit; null when it was not there.
    #[serde(skip)]
    before_sha256: Option<ContentHash>,
    /// What it held then; null when it was removed.
    pub after_sha256: Option<ContentHash>,
}

#[derive(Debug, Clone)]
struct Failure {
    times: u32,
    code: EditCode,
    cause: String,
    near: Option<(u64, u64)>,
}

#[derive(Debug, Clone)]
struct Unresolved {
    cause: String,
    was_reported: bool,
}

/// What one session has done so far, under a policy.
#[derive(Debug, Clone, Default)]
pub struct Guard {
    policy: GuardPolicy,
    calls: usize,
    meaningful: usize,
    explorations: usize,
    writes: usize,
    failures: BTreeMap<String, Failure>,
    unresolved: BTreeMap<String, Unresolved>,
    edited: BTreeMap<String, Edited>,
    /// Whether a completion without any change was sent back.
    unchanged_was_reported: bool,
}

/// Whether a call looks at the project.
pub(crate) fn is_exploration(tool: &str, arguments: &Map<String, Value>) -> bool {
    matches!(tool, "list_files" | "search" | "wildcard_search" | "read_file")
        || arguments.get("command").is_some_and(|command| command == "view")
}

impl Guard {
    /// A fresh session.
    pub fn new(policy: GuardPolicy) -> Self {
        Self { policy, ..Self::default() }
    }

    /// What a session begins with, whatever the task is.
    pub fn opening_message(&self) -> Option<String> {
        let opening = RULES.iter().filter(|rule| {
            rule.moment == Moment::Start && self.policy.level(rule.id) != Level::Off
        });
        let text: Vec<String> =
            opening.map(|rule| format!("{} {}", rule.error, rule.hint)).collect();
        (!text.is_empty()).then(|| text.join("\n"))
    }

    /// What to say to a model that answers without a tool; `None` when that is fine.
    pub fn on_text_answer(&self) -> Option<String> {
        let nothing = Map::new();
        let files = BTreeMap::new();
        let call = GuardedCall { tool: "", arguments: &nothing, writes: false, files: &files };
        let broken = self.broken_rules(Moment::TextAnswer, &call).next()?;
        Some(format!("{} {} Do NOT respond without using tools.", broken.error, broken.hint))
    }

    /// The error that a session ends with when it did nothing.
    pub fn final_error(&self) -> Option<(&'static str, &'static str)> {
        let nothing = Map::new();
        let files = BTreeMap::new();
        let call = GuardedCall { tool: "", arguments: &nothing, writes: false, files: &files };
        self.broken_rules(Moment::End, &call).next().map(|rule| (rule.error, rule.hint))
    }

    /// The files that the session has edited and what it left in them.
    pub fn edited(&self) -> &BTreeMap<String, Edited> {
        &self.edited
    }

    /// The files that are another than before the session's edits.
    fn changed(&self) -> impl Iterator<Item = (&String, &Edited)> {
        self.edited.iter().filter(|(_, edited)| edited.before_sha256 != edited.after_sha256)
    }

    /// How many calls were made, `task_complete` included.
    pub fn calls(&self) -> usize {
        self.calls
    }

    /// Counts a call that could not even be read: an unknown tool, malformed arguments.
    pub fn record_invalid_call(&mut self) {
        self.calls += 1;
    }

    /// Asks every rule about a call.
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
            match self.policy.level(rule.id) {
                Level::Refuse => return GuardVerdict::Refuse { rule: rule.id, code, error, hint },
                Level::Warn => warnings.push(format!("{error} {hint}")),
                Level::Off => {}
            }
        }
        GuardVerdict::Pass(warnings)
    }

    fn broken_rules<'a>(
        &'a self,
        moment: Moment,
        call: &'a GuardedCall<'_>,
    ) -> impl Iterator<Item = &'static Rule> + 'a {
        RULES.iter().filter(move |rule| {
            rule.moment == moment
                && self.policy.level(rule.id) != Level::Off
                && (rule.broken)(self, call)
        })
    }

    fn explain(&self, rule: &Rule, call: &GuardedCall<'_>) -> (EditCode, String, String) {
        let (mut error, mut hint) = (rule.error.to_owned(), rule.hint.to_owned());
        let mut code = EditCode::Blocked;
        match rule.id {
            "repeat_failed" => {
                if let Some(failure) = self.failures.get(&fingerprint(call, self.writes)) {
                    code = failure.code;
                    let _ = write!(error, " Cause: {}", failure.cause);
                    hint.push(' ');
                    hint.push_str(&suggest_alternative(call.tool, failure));
                }
            }
            "unresolved_edit" => {
                for (path, since) in &self.unresolved {
                    let _ = write!(error, " {path} ({})", since.cause);
                }
            }
            "vanished_edit" => {
                let _ = write!(error, " {}", self.vanished_files(call.files).join(", "));
            }
            _ => {}
        }
        (code, error, hint)
    }

    fn failure_count(&self, call: &GuardedCall<'_>) -> u32 {
        self.failures.get(&fingerprint(call, self.writes)).map_or(0, |failure| failure.times)
    }

    fn vanished_files(&self, files: &BTreeMap<String, FileHash>) -> Vec<String> {
        let gone = self.edited.iter().filter(|(path, edited)| {
            files.get(*path).is_some_and(|now| *now != edited.after_sha256)
        });
        gone.map(|(path, _)| path.clone()).collect()
    }

    /// Counts a refusal by [`Guard::check`], so that the next one goes further.
    pub fn record_refusal(&mut self, call: &GuardedCall<'_>) {
        self.calls += 1;
        let writes = self.writes;
        if let Some(failure) = self.failures.get_mut(&fingerprint(call, writes)) {
            failure.times += 1;
        }
    }

    /// Remembers a call that was made.
    pub fn record(&mut self, call: &GuardedCall<'_>, outcome: &CallOutcome<'_>) {
        self.calls += 1;
        if call.tool == "task_complete" {
            return;
        }
        if outcome.ok {
            self.meaningful += 1;
            if is_exploration(call.tool, call.arguments) {
                self.explorations += 1;
                self.unresolved
                    .retain(|path, since| !(since.was_reported && call.files.contains_key(path)));
            } else if call.writes {
                self.record_written(outcome.report);
            }
            return;
        }
        let Some(code) = outcome.code else { return };
        if is_retryable(code, outcome.report) {
            return;
        }
        let cause = short_cause(outcome.message);
        let near = outcome.report.get("nearest").and_then(|all| all.get(0)).and_then(|near| {
            Some((near.get("start_line")?.as_u64()?, near.get("end_line")?.as_u64()?))
        });
        let key = fingerprint(call, self.writes);
        // An answer that shows the lines in question allows the same call once more.
        let times = u32::from(!shows_lines(code, outcome.report));
        self.failures.entry(key).and_modify(|failure| failure.times += 1).or_insert(Failure {
            times,
            code,
            cause: cause.clone(),
            near,
        });
        // An edit that is already made, or that changes nothing, needs no second try.
        let settled = matches!(code, EditCode::AlreadyApplied | EditCode::NoChange);
        if call.writes
            && !settled
            && let Some(path) = outcome.report.get("path").and_then(Value::as_str)
        {
            let since = Unresolved { cause: code.as_str().to_owned(), was_reported: false };
            self.unresolved.insert(path.to_owned(), since);
        }
    }

    /// Every file that a report says was written.
    fn record_written(&mut self, report: &Value) {
        let mut found = BTreeSet::new();
        collect_edits(report, &mut found);
        for Written { path, before, after, revision } in found {
            self.unresolved.remove(&path);
            let hash = |text: Option<String>| text.as_deref().and_then(ContentHash::parse);
            let first = self.edited.get(&path).map(|edited| edited.before_sha256);
            let before_sha256 = first.unwrap_or_else(|| hash(before));
            let after_sha256 = hash(after);
            self.edited.insert(path, Edited { revision, before_sha256, after_sha256 });
        }
        self.writes += 1;
    }

    /// Records that the model was told about its unresolved edits. If it reads the file now and then
    /// completes, it has decided that the edit is not needed.
    pub fn unresolved_reported(&mut self) {
        for since in self.unresolved.values_mut() {
            since.was_reported = true;
        }
    }

    /// Records that the model was told that nothing changed; if it completes again, it means that.
    pub fn unchanged_reported(&mut self) {
        self.unchanged_was_reported = true;
    }

    /// The answer to `task_complete` in the form that agents know.
    pub fn completion(&self, summary: &str, warnings: &[String]) -> Value {
        let files: Vec<Value> = self
            .changed()
            .map(|(path, edited)| {
                json!({ "path": path, "revision": edited.revision, "after_sha256": edited.after_sha256 })
            })
            .collect();
        json!({
            "acknowledged": true,
            "summary": summary,
            "files_changed": files,
            "warnings": warnings,
        })
    }
}

/// The same tool with the same arguments on the same bytes. Calls that name no file are
/// the same until something is written.
fn fingerprint(call: &GuardedCall<'_>, writes: usize) -> String {
    let arguments = Value::Object(call.arguments.clone());
    let mut out = format!("{} {arguments}", call.tool);
    let mut names_file = false;
    for (path, state) in call.files {
        if out.contains(path.as_str()) {
            names_file = true;
            match state {
                Some(hash) => drop(write!(out, " {hash}")),
                None => out.push_str(" -"),
            }
        }
    }
    if !names_file {
        let _ = write!(out, " {writes}");
    }
    ContentHash::of(out.as_bytes()).to_string()
}

/// Refusals that say themselves that the same call may be sent again.
fn is_retryable(code: EditCode, report: &Value) -> bool {
    let failed =
        |attempt: &Value| attempt.get("outcome").is_some_and(|outcome| outcome == "failed");
    let attempts = report.get("attempts").and_then(Value::as_array);
    code == EditCode::Conflict
        || code.is_fault()
        || attempts.is_some_and(|attempts| attempts.iter().any(failed))
}

/// Refusals that show the lines as they are, which the caller may mean after all.
fn shows_lines(code: EditCode, report: &Value) -> bool {
    matches!(code, EditCode::Blocked | EditCode::StaleAnchor)
        && report.get("anchors").and_then(Value::as_array).is_some_and(|all| !all.is_empty())
}

/// What to do instead: first the obvious, then another tool.
fn suggest_alternative(tool: &str, failure: &Failure) -> String {
    let lines = match failure.near {
        Some((start, end)) => format!(" with ranges [{{\"start\": {start}, \"end\": {end}}}]"),
        None => String::new(),
    };
    match (failure.times, tool) {
        (1, "read_file" | "search" | "wildcard_search" | "list_files") => {
            "Check the path with list_files, or search for different words.".into()
        }
        (1, _) => format!("Call read_file{lines} and copy the text to replace from its answer."),
        (2, "hashline_edit") => "Go another way: use edit_lines with line numbers from a fresh read_file.".into(),
        (2, _) => format!(
            "Go another way: call read_file{lines} in style hashline, then hashline_edit with those anchors."
        ),
        (3, _) => "Go another way: use edit_lines with line numbers from a fresh read_file.".into(),
        (_, _) => "Give up this edit: go on with another part of the task, or tell the user what blocks you.".into(),
    }
}

fn short_cause(message: &str) -> String {
    let line = message.lines().next().unwrap_or_default();
    match line.char_indices().nth(120) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

/// A file as a report says it was written.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Written {
    path: String,
    before: Option<String>,
    after: Option<String>,
    revision: Option<u64>,
}

/// Every `{path, after_sha256, revision}` in a report, at any depth.
fn collect_edits(report: &Value, out: &mut BTreeSet<Written>) {
    match report {
        Value::Object(object) => {
            let path = object.get("path").and_then(Value::as_str);
            let dry = object.get("durability").is_some_and(|d| d == "dry_run");
            if let (Some(path), Some(after)) = (path, object.get("after_sha256"))
                && !dry
            {
                let text = |value: &Value| value.as_str().map(str::to_owned);
                out.insert(Written {
                    path: path.to_owned(),
                    before: object.get("before_sha256").and_then(text),
                    after: text(after),
                    revision: object.get("revision").and_then(Value::as_u64),
                });
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
        GuardedCall { tool, arguments, writes: tool.starts_with("edit"), files }
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
    fn completion_without_exploration_is_blocked_in_the_known_form() {
        let guard = Guard::default();
        let (none, files) = (Map::new(), BTreeMap::new());
        let GuardVerdict::Refuse { rule, code, error, hint } =
            guard.check(&asked("task_complete", &none, &files))
        else {
            panic!("passed")
        };
        assert_eq!((rule, code), ("explore_before_complete", EditCode::Blocked));
        assert!(error.starts_with("BLOCKED: You must explore the codebase first."), "{error}");
        assert!(hint.starts_with("Start with list_files"), "{hint}");
    }

    #[test]
    fn an_identical_failure_is_answered_and_then_turned_elsewhere() {
        let mut guard = Guard::default();
        let call = arguments(json!({"path": "a", "old_str": "x", "new_str": "y"}));
        let mut files = BTreeMap::from([("a".to_owned(), Some(ContentHash::of(b"1")))]);
        guard.record(&asked("read_file", &Map::new(), &files), &DONE);
        guard.record(&asked("edit_file", &call, &files), &FAILED);
        let mut hints = Vec::new();
        for _ in 0..9 {
            let call = asked("edit_file", &call, &files);
            let GuardVerdict::Refuse { rule, code, error, hint } = guard.check(&call) else {
                panic!("passed")
            };
            assert_eq!((rule, code), ("repeat_failed", EditCode::NoOccurrence));
            assert!(error.contains("old_str is not in the file") && hint.contains("Do not repeat"));
            assert!(error.len() + hint.len() <= 300, "{}", error.len() + hint.len());
            hints.push(hint);
            guard.record_refusal(&call);
        }
        assert_ne!(hints[0], hints[1]);
        assert!(hints[1].contains("another way"), "{}", hints[1]);
        // The file changed: the call deserves a new try.
        files.insert("a".into(), Some(ContentHash::of(b"2")));
        assert_eq!(guard.check(&asked("edit_file", &call, &files)), GuardVerdict::Pass(Vec::new()));
    }

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
        guard.unresolved_reported();
        let here = BTreeMap::from([("a".to_owned(), None)]);
        let mut looked = guard.clone();
        looked.record(&asked("read_file", &none, &here), &DONE);
        assert_eq!(complete(&looked, &files), "nothing_changed");
        looked.unchanged_reported();
        assert_eq!(complete(&looked, &files), "pass");
        let hash = ContentHash::of(b"new");
        let wrote =
            json!({"path": "a", "after_sha256": hash, "revision": 3, "durability": "durable"});
        guard.record(&asked("edit_file", &none, &files), &CallOutcome { report: &wrote, ..DONE });
        files.insert("a".into(), Some(hash));
        assert_eq!(complete(&guard, &files), "pass");
        files.insert("a".into(), Some(ContentHash::of(b"another program")));
        assert_eq!(complete(&guard, &files), "vanished_edit");
        assert_eq!(guard.completion("done", &[])["files_changed"][0]["revision"], 3);
    }

    #[test]
    fn a_policy_softens_rule_by_rule() {
        let (none, files) = (Map::new(), BTreeMap::new());
        let soft = Guard::new(GuardPolicy::soft());
        let GuardVerdict::Pass(warnings) = soft.check(&asked("task_complete", &none, &files))
        else {
            panic!("refused")
        };
        assert_eq!(warnings.len(), 2);
        assert!(soft.final_error().is_some(), "a session that did nothing still fails");
        let off = GuardPolicy::strict().with("explore_before_complete", Level::Off).expect("rule");
        let off = off.with("nothing_changed", Level::Off).expect("rule");
        assert_eq!(
            Guard::new(off).check(&asked("task_complete", &none, &files)),
            GuardVerdict::Pass(Vec::new())
        );
        assert!(GuardPolicy::strict().with("no_such_rule", Level::Off).is_none());
    }
}
