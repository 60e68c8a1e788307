//! The syntax check between a decision and the commit: a warning for any edit that adds an error,
//! and a veto if a lenient reading or a model adds one that the call itself would not. It never
//! decides what is written: it can only remove outcomes.

use std::fmt;
use std::sync::Arc;
#[cfg(feature = "syntax")]
use std::sync::LazyLock;

use serde::Deserialize;

use super::Engine;
use crate::edit::{
    After, EditCode, EditPlan, EditRequest, Refusal, Rung, Splice, SyntaxCheck, SyntaxCheckFn,
    SyntaxError, Unchecked, VerifiedEdit, WorkPath,
};
use crate::matching::{Explained, Verdict};
use crate::port::{Definition, NoSyntax, Syntax};
use crate::text::{Snapshot, pluralize};

/// What happens when an edit introduces a syntax error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SyntaxMode {
    /// Nothing is parsed.
    Off,
    /// It is reported.
    Warn,
    /// It is reported, and an edit is refused if only the reading of the call adds the error.
    #[default]
    Veto,
}

impl SyntaxMode {
    /// Each of them.
    pub const ALL: [Self; 3] = [Self::Off, Self::Warn, Self::Veto];

    /// As it is written in a configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Warn => "warn",
            Self::Veto => "veto",
        }
    }

    /// The mode with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.as_str() == name)
    }
}

impl fmt::Display for SyntaxMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Off => "off: nothing is parsed",
            Self::Warn => "warn: new errors are reported",
            Self::Veto => {
                "veto: new errors are reported, and a correction that causes one is refused"
            }
        })
    }
}

/// The parser, and what to do about new errors.
#[derive(Debug, Clone)]
pub(crate) struct SyntaxGate {
    syntax: Arc<dyn Syntax>,
    mode: SyntaxMode,
}

impl Default for SyntaxGate {
    fn default() -> Self {
        Self::new(NoSyntax, SyntaxMode::default())
    }
}

/// Refuses an edit whose lenient reading breaks the file where the call as sent does not.
#[derive(Debug, Clone)]
pub(crate) struct Veto {
    syntax: Option<Arc<dyn Syntax>>,
    path: WorkPath,
    new: Arc<str>,
}

/// For edits without an engine: every built-in grammar, with the last trees cached.
#[cfg(feature = "syntax")]
static BUILT_IN: LazyLock<SyntaxGate> = LazyLock::new(|| {
    SyntaxGate::new(crate::adapters::syntax::TreeSitter::new(), SyntaxMode::default())
});

impl SyntaxGate {
    /// What parses a text that comes without an engine.
    pub(crate) fn built_in() -> Self {
        #[cfg(feature = "syntax")]
        return BUILT_IN.clone();
        #[cfg(not(feature = "syntax"))]
        Self::default()
    }

    pub(crate) fn new(syntax: impl Syntax + 'static, mode: SyntaxMode) -> Self {
        Self { syntax: Arc::new(syntax), mode }
    }

    /// The same parser, put to another use.
    pub(crate) fn in_mode(self, mode: SyntaxMode) -> Self {
        Self { mode, ..self }
    }

    /// What a text defines.
    pub(super) fn definitions(
        &self,
        path: &WorkPath,
        text: &str,
    ) -> Result<Vec<Definition>, Unchecked> {
        self.syntax.definitions(path.as_str(), text)
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

    /// The check that may refuse the outcome of this request.
    pub(crate) fn veto(&self, path: &WorkPath, request: &EditRequest) -> Veto {
        let syntax = (self.mode == SyntaxMode::Veto).then(|| self.syntax.clone());
        Veto { syntax, path: path.clone(), new: request.new.as_str().into() }
    }

    /// A verdict without the outcomes that introduce syntax errors, as long as any other is left.
    pub(crate) fn without_broken_outcomes(
        &self,
        path: &WorkPath,
        snapshot: &Snapshot,
        matched: Verdict,
    ) -> Verdict {
        let Verdict::Ambiguous { mut outcomes, mut refusal } = matched else { return matched };
        // A text is no outcome unless it is shown as one.
        if self.mode != SyntaxMode::Veto || outcomes.len() != refusal.outcomes.len() {
            return Verdict::Ambiguous { outcomes, refusal };
        }
        let brings = |splices: &[Splice]| {
            splice_check(&*self.syntax, path, snapshot, splices).new_errors.into_iter().next()
        };
        let errors: Vec<_> = outcomes.iter().map(|one| brings(&one.splices)).collect();
        let accepted = errors.iter().filter(|error| error.is_none()).count();
        let Some(first) = errors.iter().flatten().next().filter(|_| accepted > 0) else {
            return Verdict::Ambiguous { outcomes, refusal };
        };
        let rejected = pluralize(errors.len() - accepted, "other reading");
        let why = format!("{rejected} of the call would cause a syntax error at {first}");
        let mut keep = errors.iter().map(Option::is_none);
        outcomes.retain(|_| keep.next().unwrap_or(true));
        let mut keep = errors.iter().map(Option::is_none);
        refusal.outcomes.retain(|_| keep.next().unwrap_or(true));
        for outcome in &mut outcomes {
            outcome.explanation.warnings.push(why.clone());
        }
        match outcomes.pop() {
            Some(only) if outcomes.is_empty() => Verdict::One(only),
            last => {
                outcomes.extend(last);
                Verdict::Ambiguous { outcomes, refusal }
            }
        }
    }
}

impl Veto {
    /// Refuses what brings a syntax error that `new_str` as sent does not bring at its place.
    pub(crate) fn check(&self, snapshot: &Snapshot, explained: &Explained) -> Result<(), Refusal> {
        let Some(syntax) = &self.syntax else { return Ok(()) };
        let as_sent_splices: Vec<Splice> = explained
            .splices
            .iter()
            .map(|splice| Splice { range: splice.range.clone(), text: (*self.new).to_owned() })
            .collect();
        if as_sent_splices == explained.splices {
            return Ok(());
        }
        let introduced = splice_check(&**syntax, &self.path, snapshot, &explained.splices);
        let Some(first) = introduced.new_errors.first() else { return Ok(()) };
        let as_sent = splice_check(&**syntax, &self.path, snapshot, &as_sent_splices);
        if !as_sent.checked || !as_sent.new_errors.is_empty() {
            // The call itself adds one; it is reported, not refused.
            return Ok(());
        }
        let line = |splice: &Splice| snapshot.lines().number_at(splice.range.start);
        let line = explained.splices.first().map_or(1, line);
        let by = match explained.explanation.rung {
            Rung::Exact => "matches".to_owned(),
            Rung::Model => "matches (as corrected by a model)".to_owned(),
            rung => format!("matches (by `{rung}`)"),
        };
        Err(Refusal::new(
            EditCode::Syntax,
            format!("old_str {by} at line {line}, but new_str fitted to it would cause a syntax error at {first}"),
        )
        .hint(format!(
            "Nothing was written. Read around line {line}, and send old_str and new_str with the file's own text and white space."
        )))
    }
}

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
        // Splices that are no plan are refused elsewhere.
        Err(_) => SyntaxCheck::unchecked(Unchecked::Off),
    }
}

/// The parser's check of a verified edit. Only a file that is created or changed where it is gets
/// checked: one that moves or is restored has the errors that it had.
fn check_edit(syntax: &dyn Syntax, edit: &VerifiedEdit) -> Option<SyntaxCheck> {
    let After::Content(content) = edit.after() else { return None };
    let path = edit.path().as_str();
    match (edit.before(), edit.plan()) {
        (Some(before), Some(plan)) => {
            Some(syntax.compare(path, before.text(), &plan.text_after(), plan.splices()))
        }
        (None, None) if edit.explanation().rung == Rung::Create => {
            let after = content.snapshot()?;
            Some(syntax.compare(path, "", after.text(), &[]))
        }
        _ => None,
    }
}

impl Engine {
    /// The parser, and what to do about new errors.
    #[cfg(feature = "cli")]
    pub(crate) fn syntax_gate(&self) -> &SyntaxGate {
        &self.syntax
    }

    /// The syntax errors of a file, or why nothing can be said of it.
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

    /// The files below a folder, and whether there are more; nothing for what is no folder.
    pub(crate) async fn files_below(
        &self,
        raw: &str,
    ) -> Result<Option<(Vec<String>, bool)>, Refusal> {
        #[cfg(feature = "search")]
        if !self.has_folder() && self.can_list() {
            let list = self.list_files(Some(raw), None).await?;
            let is_file = |path: &str| self.path(raw).is_ok_and(|named| named.as_str() == path);
            let files: Vec<String> = list.files.into_iter().map(|file| file.path).collect();
            let is_folder = !files.is_empty() && !matches!(files.as_slice(), [one] if is_file(one));
            return Ok(is_folder.then_some((files, list.truncated)));
        }
        #[cfg(feature = "search")]
        if self.has_folder() {
            let folder = match raw.trim_end_matches('/') {
                "." | "" => self.root().to_path_buf(),
                raw => match self.path(raw) {
                    Ok(path) => self.root().join(path.as_str()),
                    Err(refusal) => return Err(refusal),
                },
            };
            if folder.is_dir() {
                let of = (folder != self.root()).then_some(raw);
                let list = self.list_files(of, None).await?;
                let files = list.files.into_iter().map(|file| file.path).collect();
                return Ok(Some((files, list.truncated)));
            }
        }
        let _ = raw;
        Ok(None)
    }
}
