//! Runs a case through the engine in memory, and judges the result.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use super::case::{Case, Truth};
use crate::apply::{decide_edits, not_text};
use crate::edit::{EditCode, EditPlan, ModelUse, Refusal, VerifiedEdit};
use crate::engine::{SyntaxGate, SyntaxMode};
use crate::matching::{self, Verdict};
use crate::port::Syntax as _;
use crate::syntax::TreeSitter;
use crate::text::Snapshot;

/// The verdict on a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CaseVerdict {
    /// The call was applied, with a right result.
    Right,
    /// The call was refused, as it must be.
    Refused(EditCode),
    /// The call was applied, with a wrong result, or a file was changed by a refused call.
    Wrong,
    /// The call was refused as ambiguous, and the refusal shows the right result among others.
    Ambiguous,
    /// The call was refused, though it has a right result.
    Missed(EditCode),
    /// The call was refused, as it must be, but with another code than expected.
    OtherCode(EditCode),
    /// The call was applied with a right result, but by another rung than expected.
    OtherRung(String),
    /// The engine panicked, or the case could not be run.
    Broken(String),
}

/// Whether the call of a case must be applied or refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aim {
    /// The call must be applied, with a right result.
    Right,
    /// The call must be refused.
    Refusal,
}

impl CaseVerdict {
    /// Whether the case ended as it must.
    pub fn is_good(&self) -> bool {
        matches!(self, Self::Right | Self::Refused(_))
    }

    /// Returns the word for tables, baselines and reports. It never changes.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Right => "right",
            Self::Refused(_) => "refused",
            Self::Wrong => "wrong",
            Self::Ambiguous => "ambiguous",
            Self::Missed(_) => "missed",
            Self::OtherCode(_) => "other-code",
            Self::OtherRung(_) => "other-rung",
            Self::Broken(_) => "broken",
        }
    }
}

/// A verdict, with the result it is on and what the decision cost.
#[derive(Debug, Clone)]
pub struct Judgment {
    /// The verdict.
    pub verdict: CaseVerdict,
    /// Whether the call must be applied or refused.
    pub aim: Aim,
    /// The rung that matched, or the code of the refusal.
    pub decided_by: String,
    /// The file afterwards, if the call was applied; always `None` for cases in folders.
    pub got: Option<Vec<u8>>,
    /// The text of the refusal, if the call was refused.
    pub refusal: Option<String>,
    /// How long the engine took to decide.
    pub took: Duration,
    /// The cost of the model's answers.
    pub model: ModelUse,
    /// Whether the result has a syntax error that the file did not have; `None` if that is not
    /// known.
    pub adds_syntax_errors: Option<bool>,
}

impl Judgment {
    /// Returns the judgment on a case that could not be run.
    pub fn broken(aim: Aim, why: impl Into<String>) -> Self {
        Self {
            verdict: CaseVerdict::Broken(why.into()),
            aim,
            decided_by: "broken".into(),
            got: None,
            refusal: None,
            took: Duration::ZERO,
            model: ModelUse::default(),
            adds_syntax_errors: None,
        }
    }
}

/// Decides a case in memory, without a disk and without a model. As in an engine, the gate may
/// drop outcomes with broken syntax or veto the match.
fn decide(case: &Case, gate: &SyntaxGate) -> Result<VerifiedEdit, Refusal> {
    let snapshot = Snapshot::decode(case.before.clone()).map_err(not_text)?;
    decide_edits(Some(&case.path), &snapshot, &[case.request()], gate)
}

/// Whether this result of the case has a syntax error that the file did not have; `None` if that
/// is not known.
pub fn adds_syntax_errors(case: &Case, after: &[u8]) -> Option<bool> {
    let (before, after) = (str::from_utf8(&case.before).ok()?, str::from_utf8(after).ok()?);
    has_new_syntax_errors(&case.path, before, after)
}

/// Whether a file has a syntax error after an edit that it did not have before; `None` if that is
/// not known.
pub(crate) fn has_new_syntax_errors(path: &str, before: &str, after: &str) -> Option<bool> {
    let snapshot = Snapshot::from_text(before);
    let plan = EditPlan::whole_file(&snapshot, after);
    let report = PARSER.with(|parser| parser.compare(path, before, after, plan.splices()));
    report.checked.then_some(!report.new_errors.is_empty())
}

thread_local! {
    /// The parser of each thread, which cannot be shared.
    static PARSER: TreeSitter = TreeSitter::new();
}

/// Whether the case is refused as ambiguous with a right result among the outcomes.
fn offers_right_text(case: &Case) -> bool {
    let Ok(snapshot) = Snapshot::decode(case.before.clone()) else { return false };
    let Verdict::Ambiguous { outcomes, .. } = matching::decide(&case.request(), &snapshot) else {
        return false;
    };
    outcomes.into_iter().any(|outcome| {
        let after = EditPlan::new(&snapshot, outcome.splices).and_then(|plan| plan.bytes_after());
        after.is_ok_and(|after| case.accepts(&after))
    })
}

/// Decides a case as an engine with default settings does, and judges the result.
pub fn judge(case: &Case) -> Judgment {
    judge_in(SyntaxMode::default())(case)
}

/// Judges cases as an engine in this mode does. The parser is the same for all of them.
pub fn judge_in(mode: SyntaxMode) -> impl Fn(&Case) -> Judgment {
    let gate = SyntaxGate::new(TreeSitter::new(), mode);
    move |case| judge_with(case, &gate)
}

fn judge_with(case: &Case, gate: &SyntaxGate) -> Judgment {
    let start = Instant::now();
    // A panic of the engine becomes a verdict and does not end the run.
    let decided = catch_unwind(AssertUnwindSafe(|| decide(case, gate)));
    let took = start.elapsed();
    let aim = match case.truth {
        Truth::Right { .. } => Aim::Right,
        Truth::Refused(_) => Aim::Refusal,
    };
    // The judgment if the engine panicked; otherwise some of the fields are replaced.
    let initial = Judgment { took, ..Judgment::broken(aim, "the engine panicked") };
    match decided {
        Ok(Ok(edit)) => {
            let got = edit.after().map(|content| content.to_vec()).unwrap_or_default();
            let verdict = if case.accepts(&got) { CaseVerdict::Right } else { CaseVerdict::Wrong };
            let decided_by = edit.explanation().rung.to_string();
            Judgment {
                verdict,
                decided_by,
                adds_syntax_errors: adds_syntax_errors(case, &got),
                got: Some(got),
                ..initial
            }
        }
        Ok(Err(refusal)) => {
            let code = refusal.code;
            let verdict = match &case.truth {
                Truth::Refused(codes) if codes.contains(&code) => CaseVerdict::Refused(code),
                Truth::Refused(_) => CaseVerdict::OtherCode(code),
                Truth::Right { .. } if code == EditCode::Ambiguous && offers_right_text(case) => {
                    CaseVerdict::Ambiguous
                }
                Truth::Right { .. } => CaseVerdict::Missed(code),
            };
            let decided_by = code.as_str().to_owned();
            Judgment { verdict, decided_by, refusal: Some(refusal.text()), ..initial }
        }
        Err(_) => initial,
    }
}
