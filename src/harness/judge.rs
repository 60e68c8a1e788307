//! What the engine makes of a case, and whether that is what it should make.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

use super::case::{Case, Truth};
use crate::adapters::syntax::TreeSitter;
use crate::edit::{After, EditCode, EditPlan, Refusal, VerifiedEdit, WorkPath};
use crate::engine::{SyntaxGate, SyntaxMode};
use crate::matching::{self, Explained};
use crate::port::Syntax as _;
use crate::text::Snapshot;

/// What came of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CaseVerdict {
    /// The right bytes.
    Right,
    /// Refused, as it must be.
    Refused(EditCode),
    /// Applied, and the bytes are not the right ones.
    Wrong,
    /// Not decided between several texts, and the right one is among those shown.
    Ambiguous,
    /// Refused, though it has a right answer.
    Missed(EditCode),
    /// Refused as it must be, for another reason than the true one.
    OtherCode(EditCode),
    /// The right bytes, by another rung than the case names.
    OtherRung(String),
    /// The engine or the fixture broke.
    Broken(String),
}

/// What a case is there to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aim {
    /// There is a right answer.
    Right,
    /// It must be refused.
    Refusal,
}

/// What a decision cost in model calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ModelCost {
    /// Requests.
    pub calls: u64,
    /// Bytes of all prompts.
    pub prompt_bytes: u64,
}

impl CaseVerdict {
    /// Whether it is what the case wants.
    pub fn is_good(&self) -> bool {
        matches!(self, Self::Right | Self::Refused(_))
    }

    /// The stable word for tables, baselines and reports.
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

/// A verdict with what led to it.
#[derive(Debug, Clone)]
pub struct Judgment {
    /// The verdict.
    pub verdict: CaseVerdict,
    /// What the case is there to show.
    pub aim: Aim,
    /// The rung that matched, or the code of the refusal.
    pub by: String,
    /// The result, when something was applied.
    pub got: Option<Vec<u8>>,
    /// The refusal, when there was one.
    pub refusal: Option<String>,
    /// Time to decide.
    pub took: Duration,
    /// What the model cost.
    pub model: ModelCost,
    /// Whether the result has a syntax error that the file did not have; nothing where that
    /// is not known.
    pub adds_syntax_errors: Option<bool>,
}

impl Judgment {
    /// The verdict on a case that could not be run.
    pub fn broken(aim: Aim, why: impl Into<String>) -> Self {
        Self {
            verdict: CaseVerdict::Broken(why.into()),
            aim,
            by: "broken".into(),
            got: None,
            refusal: None,
            took: Duration::ZERO,
            model: ModelCost::default(),
            adds_syntax_errors: None,
        }
    }
}

/// Decides a case in memory: explain, plan, verify; no disk, no model. The gate has its say as
/// in an engine.
pub(crate) fn decide(case: &Case, gate: &SyntaxGate) -> Result<VerifiedEdit, Refusal> {
    let (path, snapshot) = decode(case)?;
    let request = case.request();
    let matched =
        gate.without_broken_outcomes(&path, &snapshot, matching::decide(&request, &snapshot));
    let explained = matched.into_result()?;
    gate.veto(&path, &request).check(&snapshot, &explained)?;
    verify(path, &snapshot, explained)
}

/// Whether a result of the case has a syntax error that the file did not have.
pub(crate) fn adds_syntax_errors(case: &Case, after: &[u8]) -> Option<bool> {
    let (before, after) = (str::from_utf8(&case.before).ok()?, str::from_utf8(after).ok()?);
    let snapshot = Snapshot::from_text(before);
    let plan = EditPlan::whole_file(&snapshot, after);
    let report = PARSER.with(|parser| parser.compare(&case.path, before, after, plan.splices()));
    report.checked.then_some(!report.new_errors.is_empty())
}

thread_local! {
    /// Parses what every thread judges.
    static PARSER: TreeSitter = TreeSitter::new();
}

fn decode(case: &Case) -> Result<(WorkPath, Snapshot), Refusal> {
    let path = WorkPath::parse(&case.path, Path::new("/"))?;
    let snapshot = Snapshot::decode(case.before.clone())
        .map_err(|why| Refusal::new(EditCode::NotText, format!("`{path}` is not text: {why}")))?;
    Ok((path, snapshot))
}

fn verify(path: WorkPath, snapshot: &Snapshot, edit: Explained) -> Result<VerifiedEdit, Refusal> {
    let plan = EditPlan::new(snapshot, edit.splices)?;
    VerifiedEdit::new(path, snapshot, plan, edit.explanation)
}

fn bytes_after(edit: &VerifiedEdit) -> Vec<u8> {
    match edit.after() {
        After::Content(content) => content.to_vec(),
        After::Removed => Vec::new(),
    }
}

/// Whether an ambiguous case shows the right text.
fn offers_right_text(case: &Case) -> bool {
    let Ok((path, snapshot)) = decode(case) else { return false };
    let matching::Verdict::Ambiguous { outcomes, .. } =
        matching::decide(&case.request(), &snapshot)
    else {
        return false;
    };
    let mut edits = outcomes.into_iter().map(|edit| verify(path.clone(), &snapshot, edit));
    edits.any(|edit| edit.is_ok_and(|edit| case.accepts(&bytes_after(&edit))))
}

/// Decides a case as an engine does by default, and judges what came of it.
pub(crate) fn judge(case: &Case) -> Judgment {
    judge_with(case, &SyntaxGate::new(TreeSitter::new(), SyntaxMode::default()))
}

/// The same, with this gate.
pub(crate) fn judge_with(case: &Case, gate: &SyntaxGate) -> Judgment {
    let start = Instant::now();
    // A case that brings the engine down is a verdict like any other; the run goes on.
    let decided = catch_unwind(AssertUnwindSafe(|| decide(case, gate)));
    let took = start.elapsed();
    let aim = case.truth.aim();
    let judged = Judgment { took, ..Judgment::broken(aim, "the engine panicked") };
    match decided {
        Ok(Ok(edit)) => {
            let got = bytes_after(&edit);
            let verdict = if case.accepts(&got) { CaseVerdict::Right } else { CaseVerdict::Wrong };
            let by = edit.explanation().rung.to_string();
            Judgment {
                verdict,
                by,
                adds_syntax_errors: adds_syntax_errors(case, &got),
                got: Some(got),
                ..judged
            }
        }
        Ok(Err(refusal)) => {
            let verdict = match verdict_of(&case.truth, refusal.code) {
                CaseVerdict::Missed(EditCode::Ambiguous) if offers_right_text(case) => {
                    CaseVerdict::Ambiguous
                }
                verdict => verdict,
            };
            let by = refusal.code.as_str().to_owned();
            Judgment { verdict, by, refusal: Some(refusal.text()), ..judged }
        }
        Err(_) => judged,
    }
}

/// The verdict on a refusal.
pub(crate) fn verdict_of(truth: &Truth, code: EditCode) -> CaseVerdict {
    match truth {
        Truth::Right { .. } => CaseVerdict::Missed(code),
        Truth::Refused(codes) if codes.contains(&code) => CaseVerdict::Refused(code),
        Truth::Refused(_) => CaseVerdict::OtherCode(code),
    }
}
