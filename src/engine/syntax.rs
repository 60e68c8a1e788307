//! The syntax check of an edit: a warning for any edit that adds an error, and a veto if a
//! lenient reading or a model adds an error that the call as sent would not. The check never adds
//! an outcome; it can only remove some.

use std::borrow::Cow;
use std::sync::Arc;
#[cfg(feature = "syntax")]
use std::sync::LazyLock;

use serde::Deserialize;

use super::Engine;
use crate::edit::message::{NEW, OLD};
use crate::edit::{
    EditCode, EditPlan, EditRequest, Refusal, Rung, Splice, SyntaxCheck, SyntaxCheckFn,
    SyntaxError, Unchecked, VerifiedEdit, WorkPath, said,
};
use crate::language::Language;
use crate::matching::{Explained, Verdict};
use crate::port::{NoSyntax, Syntax};
use crate::text::{Snapshot, pluralize};

named! {
    /// What happens when an edit introduces a syntax error.
    #[derive(Default, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum SyntaxMode {
        /// Nothing is parsed.
        Off = "off",
        /// The error is reported.
        Warn = "warn",
        /// The error is reported. The edit is refused if `new_str` as sent would not cause the error.
        #[default]
        Veto = "veto",
    }
}

/// A parser, and what happens when an edit introduces a syntax error.
#[derive(Debug, Clone)]
pub(crate) struct SyntaxGate {
    pub(super) syntax: Arc<dyn Syntax>,
    mode: SyntaxMode,
}

impl Default for SyntaxGate {
    fn default() -> Self {
        Self::new(NoSyntax, SyntaxMode::default())
    }
}

/// For edits without an engine: every built-in grammar, with the last trees cached.
#[cfg(feature = "syntax")]
static BUILT_IN: LazyLock<SyntaxGate> =
    LazyLock::new(|| SyntaxGate::new(crate::syntax::TreeSitter::new(), SyntaxMode::default()));

impl SyntaxGate {
    /// The check for edits of text without an engine: every grammar of this build.
    pub(crate) fn built_in() -> Self {
        #[cfg(feature = "syntax")]
        return BUILT_IN.clone();
        #[cfg(not(feature = "syntax"))]
        Self::default()
    }

    /// A gate with this parser and mode.
    pub(crate) fn new(syntax: impl Syntax + 'static, mode: SyntaxMode) -> Self {
        Self { syntax: Arc::new(syntax), mode }
    }

    /// The same parser with another mode.
    pub(crate) fn in_mode(self, mode: SyntaxMode) -> Self {
        Self { mode, ..self }
    }

    /// The edit, with the parser's check of it.
    pub(crate) fn with_syntax_check(&self, edit: VerifiedEdit) -> VerifiedEdit {
        let syntax = match self.mode {
            SyntaxMode::Off => None,
            SyntaxMode::Warn | SyntaxMode::Veto => Some(self.syntax.clone()),
        };
        let check: SyntaxCheckFn = Arc::new(move |edit: &VerifiedEdit| match &syntax {
            Some(syntax) => check_edit(&**syntax, edit),
            None => Some(SyntaxCheck::unchecked(Unchecked::Off)),
        });
        edit.with_syntax(check)
    }

    /// Whether the splices add a syntax error to the file; `None` if no parser can tell.
    pub(super) fn adds_errors(
        &self,
        path: &WorkPath,
        snapshot: &Snapshot,
        splices: &[Splice],
    ) -> Option<bool> {
        if self.mode == SyntaxMode::Off {
            return None;
        }
        let check = splice_check(&*self.syntax, path, snapshot, splices);
        check.checked.then_some(!check.new_errors.is_empty())
    }

    /// Removes from an ambiguous verdict the outcomes with new syntax errors. Keeps all if every
    /// outcome has new errors, if they are guesses, or in other modes than [`SyntaxMode::Veto`].
    pub(crate) fn without_broken_outcomes(
        &self,
        path: &WorkPath,
        snapshot: &Snapshot,
        verdict: Verdict,
    ) -> Verdict {
        let Verdict::Ambiguous { mut outcomes, mut refusal } = verdict else {
            return verdict;
        };
        let ambiguous = |outcomes, refusal| Verdict::Ambiguous { outcomes, refusal };
        // The refusal must show every outcome, so that both lists can be filtered alike.
        if self.mode != SyntaxMode::Veto || outcomes.len() != refusal.outcomes.len() {
            return ambiguous(outcomes, refusal);
        }
        let new_error = |outcome: &Explained| {
            let check = splice_check(&*self.syntax, path, snapshot, &outcome.splices);
            check.new_errors.into_iter().next()
        };
        let errors: Vec<_> = outcomes.iter().map(new_error).collect();
        let rejected = errors.iter().flatten().count();
        let Some(first_error) = errors.iter().flatten().next().filter(|_| rejected < errors.len())
        else {
            return ambiguous(outcomes, refusal);
        };
        let readings = pluralize(rejected, "other reading");
        let warning = format!("{readings} of the call would cause a syntax error at {first_error}");
        // Each of the two lists has one entry for each error, in this order.
        let mut keep = errors.iter().map(Option::is_none).cycle();
        outcomes.retain(|_| keep.next().unwrap_or(true));
        refusal.outcomes.retain(|_| keep.next().unwrap_or(true));
        for outcome in &mut outcomes {
            outcome.explanation.warnings.push(warning.clone());
        }
        if outcomes.len() == 1
            && let Some(only) = outcomes.pop_if(|only| !only.is_guess)
        {
            return Verdict::One(only);
        }
        ambiguous(outcomes, refusal)
    }
}

impl SyntaxGate {
    /// Refuses an edit that adds a syntax error, unless the call means the error. Where `old_str` is
    /// exact, it does if `new_str` as sent would add one, too; elsewhere, if the call itself opens or
    /// closes brackets or literals. In other modes than [`SyntaxMode::Veto`] nothing is refused.
    pub(crate) fn veto(
        &self,
        path: &WorkPath,
        request: &EditRequest,
        snapshot: &Snapshot,
        explained: &Explained,
    ) -> Result<(), Refusal> {
        if self.mode != SyntaxMode::Veto {
            return Ok(());
        }
        let check = |splices: &[Splice]| splice_check(&*self.syntax, path, snapshot, splices);
        let as_sent_splices: Vec<Splice> = explained
            .splices
            .iter()
            .map(|splice| Splice { range: splice.range.clone(), text: request.new.clone() })
            .collect();
        if as_sent_splices == explained.splices {
            return Ok(());
        }
        let introduced = check(&explained.splices);
        let Some(first) = introduced.new_errors.first() else { return Ok(()) };
        let is_meant = match explained.explanation.rung {
            Rung::Exact | Rung::LineEndings | Rung::Model => {
                let as_sent = check(&as_sent_splices);
                !as_sent.checked || !as_sent.new_errors.is_empty()
            }
            _ => Language::from_path(path.as_str()).is_some_and(|language| {
                let (old, new) = (language.lex(&request.old), language.lex(&request.new));
                old.closed != new.closed || old.unmatched != new.unmatched
            }),
        };
        if is_meant {
            return Ok(());
        }
        let line_of = |splice: &Splice| snapshot.lines().number_at(splice.range.start);
        let line = explained.splices.first().map_or(1, line_of);
        let matches = match explained.explanation.rung {
            Rung::Exact => "matches".to_owned(),
            Rung::Model => "matches (as corrected by a model)".to_owned(),
            rung => format!("matches (by `{rung}`)"),
        };
        Err(Refusal::new(
            EditCode::Syntax,
            said!("{OLD} {matches} at line {line}, but {NEW}, changed to fit, would cause a syntax error at {first}"),
        )
        .hint(said!(
            "Nothing was written. Read around line {line}, and send {OLD} and {NEW} with the file's own text and whitespace."
        )))
    }
}

/// Compares the syntax errors of a file before and after some splices.
fn splice_check(
    syntax: &dyn Syntax,
    path: &WorkPath,
    snapshot: &Snapshot,
    splices: &[Splice],
) -> SyntaxCheck {
    match EditPlan::new(snapshot, splices.to_vec()) {
        Ok(plan) => {
            let after = plan.text_after();
            syntax.compare(path.as_str(), snapshot.text(), &after, plan.splices())
        }
        // Splices that overlap or change nothing are refused elsewhere.
        Err(_) => SyntaxCheck::unchecked(Unchecked::Off),
    }
}

/// The parser's check of an edit that creates or changes a file. A file that is moved or restored
/// is not checked, because its errors are not new.
fn check_edit(syntax: &dyn Syntax, edit: &VerifiedEdit) -> Option<SyntaxCheck> {
    let content = edit.after()?;
    let path = edit.path().as_str();
    match (edit.before(), edit.plan()) {
        (Some(before), Some(plan)) => {
            let text = content.text().filter(|_| before.is_plain());
            let after = text.map_or_else(|| plan.text_after().into(), Cow::Borrowed);
            Some(syntax.compare(path, before.text(), &after, plan.splices()))
        }
        (None, None) if edit.explanation().rung == Rung::Create => {
            let after = content.snapshot()?;
            Some(syntax.compare(path, "", after.text(), &[]))
        }
        _ => None,
    }
}

impl Engine {
    /// The syntax errors of a file, or why it cannot be checked.
    pub async fn check(
        &self,
        path: &WorkPath,
    ) -> Result<Result<Vec<SyntaxError>, Unchecked>, Refusal> {
        let snapshot = self.snapshot(path).await?;
        Ok(match self.syntax.mode {
            SyntaxMode::Off => Err(Unchecked::Off),
            SyntaxMode::Warn | SyntaxMode::Veto => {
                self.syntax.syntax.errors(path.as_str(), snapshot.text())
            }
        })
    }
}
