//! Checks an edit before it may be written: a store commits only a [`VerifiedEdit`], and only this
//! module makes one, after the checks.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, LazyLock, OnceLock};

use super::{
    EditCode, EditPlan, EditReport, Explanation, Refusal, SyntaxCheck, Unchecked, WorkPath,
};
use crate::text::{Content, ContentHash, Snapshot};

/// A function that decides the same edit again on another version of the file, without model or disk.
pub(crate) type Rebase = Arc<dyn Fn(&Snapshot) -> Result<VerifiedEdit, Refusal> + Send + Sync>;

/// A function that checks the syntax before and after an edit; `None` if there is no text to parse.
pub(crate) type SyntaxCheckFn = Arc<dyn Fn(&VerifiedEdit) -> Option<SyntaxCheck> + Send + Sync>;

/// What is found out about an edit when it is first asked for.
struct Findings {
    /// The explanation with the result of the syntax check.
    explanation: LazyLock<Explanation, Box<dyn FnOnce() -> Explanation + Send>>,
    report: OnceLock<EditReport>,
}

/// A checked edit of one file. It can only be made by the functions here, which check it.
#[derive(Clone)]
pub struct VerifiedEdit {
    path: WorkPath,
    before: Option<Snapshot>,
    after: Option<Content>,
    plan: Option<EditPlan>,
    explanation: Explanation,
    /// Their explanation stands for `explanation`.
    findings: Option<Arc<Findings>>,
    rebase: Option<Rebase>,
}

impl VerifiedEdit {
    /// Checks a plan against the version that it was made for: the splices must change something, every
    /// byte outside of them must stay, and the result must decode to the planned text in the file's
    /// encoding.
    pub(crate) fn new(
        path: WorkPath,
        before: &Snapshot,
        plan: EditPlan,
        explanation: Explanation,
    ) -> Result<Self, Refusal> {
        let refuse = |code, message: &str| Refusal::new(code, message).at(path.as_str());
        if !plan.snapshot().is_version(before) {
            return Err(refuse(EditCode::Conflict, "the file changed after the edit was planned")
                .hint("Send the same call again."));
        }
        let written: String = plan.splices().iter().map(|splice| splice.text.as_str()).collect();
        if written.contains('\0') {
            return Err(refuse(EditCode::InvalidArguments, "the new text holds a NUL character")
                .hint("Remove the NUL; text files have none."));
        }
        if let Some((characters, likeliest)) = before.uncertain_characters(&written) {
            return Err(uncertain_encoding(&characters, likeliest).at(path.as_str()));
        }
        let after: Content = match before.is_plain() {
            true => Snapshot::from_text(plan.text_after()).into(),
            false => plan.bytes_after().map_err(|r| r.at(path.as_str()))?.into(),
        };
        if *after == *before.bytes() {
            return Err(refuse(EditCode::NoChange, "the edit would leave the file as it is").hint(
                "The file already has the text that the edit asks for; go on with the next step.",
            ));
        }
        if !is_unchanged_outside(before, &plan, &after) {
            return Err(refuse(
                EditCode::Unencodable,
                "bytes outside the edit would change; convert the file to UTF-8 first",
            ));
        }
        if before.encoding().name() != "utf-8" || before.has_invalid_bytes() {
            let wanted = plan.text_after();
            let back = before.encoding().decode_strict(&after);
            if !before.has_invalid_bytes() && back.as_deref() != Some(&wanted) {
                return Err(refuse(
                    EditCode::Unencodable,
                    "the file's encoding cannot hold the new text; convert the file to UTF-8 first",
                ));
            }
        }
        let edit = Self::restore(path, Some(before.clone()), Some(after), explanation);
        Ok(Self { plan: Some(plan), ..edit })
    }

    /// A new file. The store refuses it if a file exists at the path when it is written.
    pub(crate) fn create(
        path: WorkPath,
        content: &str,
        explanation: Explanation,
    ) -> Result<Self, Refusal> {
        if content.contains('\0') {
            return Err(Refusal::new(
                EditCode::InvalidArguments,
                "the content holds a NUL character",
            )
            .at(path.as_str()));
        }
        Ok(Self::restore(path, None, Some(content.as_bytes().into()), explanation))
    }

    /// An edit that replaces `before` by exactly `after`, or removes the file if
    /// that is `None`.
    pub(crate) fn restore(
        path: WorkPath,
        before: Option<Snapshot>,
        after: Option<Content>,
        explanation: Explanation,
    ) -> Self {
        Self { path, before, after, plan: None, explanation, findings: None, rebase: None }
    }

    /// Sets how to decide the edit again if the file has changed when the edit is written.
    #[must_use]
    pub fn with_rebase(mut self, rebase: Rebase) -> Self {
        self.rebase = Some(rebase);
        self
    }

    /// Adds the result of the syntax check to the explanation, at the first use of that. If the edit
    /// is rebased, the check is repeated.
    #[must_use]
    pub(crate) fn with_syntax(mut self, check: SyntaxCheckFn) -> Self {
        // A part of the file that was parsed already is not parsed again with the whole file.
        if self.explanation.syntax.is_some() {
            return self;
        }
        let (edit, check_edit) = (self.clone(), check.clone());
        let explain = move || {
            // The edit may be written already, and must be recorded and reported then.
            let result = catch_unwind(AssertUnwindSafe(|| check_edit(&edit)))
                .unwrap_or_else(|_| Some(SyntaxCheck::unchecked(Unchecked::Failed)));
            let mut explanation = edit.explanation;
            explanation.warnings.extend(result.as_ref().and_then(SyntaxCheck::warning));
            explanation.syntax = result;
            explanation
        };
        let explanation = LazyLock::new(Box::new(explain) as Box<_>);
        self.findings = Some(Arc::new(Findings { explanation, report: OnceLock::new() }));
        self.rebase = self.rebase.map(|rebase| -> Rebase {
            Arc::new(move |current| Ok(rebase(current)?.with_syntax(check.clone())))
        });
        self
    }

    /// The file.
    pub fn path(&self) -> &WorkPath {
        &self.path
    }

    /// The version that the edit was checked against; `None` for a new file.
    pub fn before(&self) -> Option<&Snapshot> {
        self.before.as_ref()
    }

    /// The hash of the version that the edit was checked against; `None` for a new file.
    pub fn base(&self) -> Option<ContentHash> {
        self.before.as_ref().map(Snapshot::hash)
    }

    /// The file's content after the edit; `None` if the edit removes it.
    pub fn after(&self) -> Option<&Content> {
        self.after.as_ref()
    }

    /// The parts of the edit.
    pub(crate) fn into_parts(self) -> (WorkPath, Option<Content>, Option<EditPlan>, Explanation) {
        let explanation = self.explanation().clone();
        (self.path, self.after, self.plan, explanation)
    }

    /// The splices; `None` for an edit that writes the whole file or removes it.
    pub fn plan(&self) -> Option<&EditPlan> {
        self.plan.as_ref()
    }

    /// How the edit was understood.
    pub fn explanation(&self) -> &Explanation {
        self.findings.as_ref().map_or(&self.explanation, |findings| &findings.explanation)
    }

    /// The report on the edit, which `make` makes unless it was made before.
    pub(super) fn report(&self, make: impl FnOnce() -> EditReport) -> EditReport {
        match &self.findings {
            Some(findings) => findings.report.get_or_init(make).clone(),
            None => make(),
        }
    }

    /// Decides the edit again on `current`; `None` if it was made without a way to do so.
    pub fn rebase(&self, current: &Snapshot) -> Option<Result<Self, Refusal>> {
        let rebase = self.rebase.clone()?;
        Some(rebase(current).map(|edit| edit.with_rebase(rebase)))
    }
}

impl fmt::Debug for VerifiedEdit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VerifiedEdit")
            .field("path", &self.path)
            .field("base", &self.base())
            .field("plan", &self.plan)
            .finish_non_exhaustive()
    }
}

/// The refusal of characters that a file does not have, if its encoding is not certain.
fn uncertain_encoding(characters: &str, likeliest: Option<&str>) -> Refusal {
    let shown: String = characters.chars().take(8).collect();
    let (known, such_as) = match likeliest {
        Some(name) => (format!("is probably {name}, but that is not certain"), name),
        None => ("is not known".to_owned(), "windows-1252"),
    };
    Refusal::new(
        EditCode::Unencodable,
        format!("the file's encoding {known}, so `{shown}` was not written"),
    )
    .hint(format!(
        "Nothing was written. Send the call again with `encoding` set to the file's encoding, such as {such_as}, or without characters beyond ASCII that the file does not have."
    ))
}

/// Whether the bytes before the first splice and after the last one are those of the file.
fn is_unchanged_outside(before: &Snapshot, plan: &EditPlan, after: &[u8]) -> bool {
    let bytes = before.bytes();
    let head = plan.splices().first().map_or(0, |s| before.byte_range(s.range.clone()).start);
    let tail =
        plan.splices().last().map_or(0, |s| bytes.len() - before.byte_range(s.range.clone()).end);
    after.len() >= head + tail
        && after[..head] == bytes[..head]
        && after[after.len() - tail..] == bytes[bytes.len() - tail..]
}
