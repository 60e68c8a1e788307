//! The pure functions: they take a text and calls, and return the edited text or a refusal. They use
//! no file, no folder, no state and no model. With the feature `syntax`, they refuse a lenient match
//! that would cause a syntax error, as an engine with [`crate::engine::SyntaxMode::Veto`] does.

use std::path::Path;

use crate::edit::message::{LANGUAGE, Words};
use crate::edit::{
    Corrected, EditCode, EditPlan, EditRequest, Explanation, Refusal, Rewrite, Rung, Span, Splice,
    VerifiedEdit, WorkPath, spans_and_diff,
};
use crate::engine::{SyntaxGate, SyntaxMode};
use crate::matching;
use crate::text::{Content, NotText, Snapshot};

/// A text after an edit, and how the call was understood.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Applied<T = String> {
    /// The edited text; everything outside [`Self::spans`] is as it was.
    pub text: T,
    /// The rung of the ladder that matched.
    pub rung: Rung,
    /// Each rewrite that was applied to `old` or `new`.
    pub rewrites: Vec<Rewrite>,
    /// How many places changed.
    pub replacements: usize,
    /// Warnings for the caller.
    pub warnings: Vec<String>,
    /// The strings that were used, if they differ from the caller's.
    pub corrected: Option<Corrected>,
    path: WorkPath,
    plan: EditPlan,
}

/// Applies one call to a text, or refuses it with a reason.
///
/// ```
/// let file = "fn main() {\n\tif a {\n\t\tb();\n\t}\n}\n";
/// // One tab too few in every line.
/// let call = restitch::EditRequest::new("if a {\n\tb();\n}", "if a {\n\tc();\n}");
/// let applied = restitch::apply(file, &call.for_path("main.rs"))?;
/// assert_eq!(applied.text, "fn main() {\n\tif a {\n\t\tc();\n\t}\n}\n");
/// # Ok::<(), restitch::Refusal>(())
/// ```
pub fn apply(text: &str, call: &EditRequest) -> Result<Applied, Refusal> {
    apply_many(text, std::slice::from_ref(call))
}

/// Applies several calls to a text, all or none. Each is matched against the original text.
pub fn apply_many(text: &str, calls: &[EditRequest]) -> Result<Applied, Refusal> {
    Applier::default().text(None, text, calls)
}

/// Applies calls to the bytes of a file, and keeps their encoding.
pub fn apply_bytes(
    path: Option<&str>,
    bytes: &[u8],
    calls: &[EditRequest],
) -> Result<Applied<Vec<u8>>, Refusal> {
    Applier::default().bytes(path, bytes, calls)
}

/// The pure functions with a choice of what a syntax check may do.
///
/// ```
/// use restitch::engine::SyntaxMode;
/// use restitch::{Applier, EditRequest};
///
/// let applier = Applier::default().syntax(SyntaxMode::Off);
/// let applied = applier.text(Some("a.rs"), "fn a() {}\n", &[EditRequest::new("{}", "{")])?;
/// assert!(applied.warnings.is_empty(), "nothing was parsed");
/// # Ok::<(), restitch::Refusal>(())
/// ```
#[derive(Debug, Clone)]
pub struct Applier {
    gate: SyntaxGate,
}

impl Default for Applier {
    fn default() -> Self {
        Self { gate: SyntaxGate::built_in() }
    }
}

impl Applier {
    /// Sets what to do about a new syntax error. Without the feature `syntax` nothing is parsed.
    #[must_use]
    pub fn syntax(self, mode: SyntaxMode) -> Self {
        Self { gate: self.gate.in_mode(mode) }
    }

    /// As [`apply_many`]. `path` is not opened: it gives the language, the parser and the name in the
    /// diff, as that of the calls does.
    pub fn text(
        &self,
        path: Option<&str>,
        text: impl Into<String>,
        calls: &[EditRequest],
    ) -> Result<Applied, Refusal> {
        self.apply(path, Snapshot::from_text(text), calls, |after| {
            after.and_then(Content::into_text).unwrap_or_default()
        })
    }

    /// As [`apply_bytes`].
    pub fn bytes(
        &self,
        path: Option<&str>,
        bytes: impl Into<Vec<u8>>,
        calls: &[EditRequest],
    ) -> Result<Applied<Vec<u8>>, Refusal> {
        let snapshot = Snapshot::decode(bytes.into()).map_err(not_text)?;
        self.apply(path, snapshot, calls, |after| {
            after.map(Content::into_bytes).unwrap_or_default()
        })
    }

    fn apply<T>(
        &self,
        path: Option<&str>,
        snapshot: Snapshot,
        calls: &[EditRequest],
        text: impl FnOnce(Option<Content>) -> T,
    ) -> Result<Applied<T>, Refusal> {
        let edit = decide_edits(path, &snapshot, calls, &self.gate).map_err(|refusal| {
            // A call of the library has no language beside the path.
            let mut words = Words::default();
            words.set(LANGUAGE, Some("`path`"));
            refusal.in_words(&words)
        })?;
        let (path, after, plan, explanation) = self.gate.with_syntax_check(edit).into_parts();
        let plan = plan.unwrap_or_else(|| EditPlan::whole_file(&snapshot, snapshot.text()));
        let Explanation { rung, rewrites, replacements, warnings, corrected, .. } = explanation;
        let text = text(after);
        Ok(Applied { text, rung, rewrites, replacements, warnings, corrected, path, plan })
    }
}

/// The refusal of bytes that are not text.
pub(crate) fn not_text(why: NotText) -> Refusal {
    Refusal::new(EditCode::NotText, format!("these bytes are not text: {why}"))
        .hint("restitch reads and edits only text; use another tool for this content.")
}

impl<T> Applied<T> {
    /// The edited text, and everything else.
    pub fn into_text(self) -> (T, Applied<()>) {
        let Self { text, rung, rewrites, replacements, warnings, corrected, path, plan } = self;
        (text, Applied { text: (), rung, rewrites, replacements, warnings, corrected, path, plan })
    }

    /// Each changed span, before and after, in lines and bytes. Made anew by each call.
    pub fn spans(&self) -> Vec<Span> {
        spans_and_diff(&self.path, &self.plan).0
    }

    /// The unified diff. Made anew by each call.
    pub fn diff(&self) -> String {
        spans_and_diff(&self.path, &self.plan).1
    }
}

/// What an edit replaced, without the text that it was in: for a caller that keeps that text itself.
#[derive(Debug)]
pub struct Replaced {
    path: WorkPath,
    splices: Vec<Splice>,
}

impl From<Applied<()>> for Replaced {
    fn from(applied: Applied<()>) -> Self {
        Self { path: applied.path, splices: applied.plan.splices().to_vec() }
    }
}

impl Replaced {
    /// The changed spans and the unified diff. `before` is the text before the edit.
    pub fn spans_and_diff(&self, before: &Snapshot) -> Result<(Vec<Span>, String), Refusal> {
        Ok(spans_and_diff(&self.path, &EditPlan::new(before, self.splices.clone())?))
    }
}

/// The name, in the diff, of a text without a path.
const UNNAMED: &str = "text";

/// Decides each call on the original text, and combines them into one edit, whose syntax is not checked
/// yet.
pub(crate) fn decide_edits(
    path: Option<&str>,
    snapshot: &Snapshot,
    calls: &[EditRequest],
    gate: &SyntaxGate,
) -> Result<VerifiedEdit, Refusal> {
    let path = path.or_else(|| calls.iter().find_map(|call| call.path.as_deref()));
    let name = path.map(|path| path.trim_start_matches('/')).unwrap_or(UNNAMED);
    let path = WorkPath::parse(name, Path::new("/"))?;
    if calls.is_empty() {
        return Err(Refusal::invalid("there are no edits", "Send at least one edit."));
    }
    let mut splices = Vec::new();
    let mut explanations = Vec::with_capacity(calls.len());
    for (index, call) in calls.iter().enumerate() {
        let explained = gate.view(&path, call, snapshot).and_then(|view| {
            let verdict = matching::decide(&call.clone().for_path(name), &view.snapshot);
            let verdict = gate.without_broken_outcomes(&path, snapshot, verdict);
            let explained = verdict
                .into_result()
                .map_err(|refusal| view.explain(snapshot, &call.old, refusal))?;
            view.admit(&explained)?;
            gate.veto(&path, call, snapshot, &explained)?;
            Ok(explained)
        });
        let explained = explained.map_err(|refusal| {
            refusal
                .hint_at_sibling_edit(index, &call.old, snapshot.text(), calls.iter().enumerate())
                .with_edit_number(index, calls.len())
                .hint_at_language()
        })?;
        splices.extend(explained.splices);
        explanations.push(explained.explanation);
    }
    let plan = EditPlan::new(snapshot, splices)?;
    let explanation = Explanation::of_edits(explanations);
    VerifiedEdit::new(path, snapshot, plan, explanation)
}
