//! The score as one page that needs nothing else: no network, no other file.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::case::{Case, Truth};
use super::compare;
use super::fixture::{Status, Tree};
use super::judge::{CaseVerdict, Judgment};
use super::score::Score;
use super::suite::{CaseSource, RunOutcome, SuiteCase};

const PAGE: &str = include_str!("report.html");

/// The page of these cases. `rivals` is what `harness compare` found, if it ran.
pub(crate) fn render(
    seen: &[(SuiteCase, Judgment, Tree)],
    rivals: &[compare::ToolResult],
) -> String {
    let mut score = Score::default();
    for (entry, judged, _) in seen {
        // Families may have causes of the same name.
        score.add(&entry.family, &format!("{}: {}", entry.family, entry.cause), judged);
    }
    let cases: Vec<Value> =
        seen.iter().map(|(entry, judged, files)| case_json(entry, judged, files)).collect();
    render_score(&score, &cases, true, rivals)
}

/// The page of a score, with all of its cases or with some.
pub(crate) fn render_score(
    score: &Score,
    cases: &[Value],
    whole: bool,
    rivals: &[compare::ToolResult],
) -> String {
    let rows: Vec<Value> = score
        .rows()
        .map(|(family, row, t)| {
            json!({
                "family": family, "row": row, "cases": t.cases(), "right": t.right,
                "refused": t.refused, "wrong": t.wrong, "recoverable": t.recoverable,
                "must_refuse": t.must_refuse, "calls": t.model_calls, "bytes": t.prompt_bytes,
                "micros": u64::try_from(t.time.as_micros()).unwrap_or(u64::MAX),
            })
        })
        .collect();
    let data = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "whole": whole,
        "rows": rows,
        "cases": cases,
        "rivals": rivals,
    });
    // In a script element only `</` could end the data early.
    PAGE.replace("/*DATA*/null", &data.to_string().replace("</", "<\\/"))
}

/// A generated case for the page.
pub(crate) fn generated_case_json(mutated: Case, judged: &Judgment) -> Value {
    let entry = SuiteCase {
        id: mutated.id.clone(),
        family: mutated.family.clone(),
        cause: mutated.cause.clone(),
        language: mutated.language.clone(),
        status: Status::Pass,
        source: CaseSource::Packed(Box::new(mutated), PathBuf::new()),
    };
    case_json(&entry, judged, &Tree::new())
}

fn case_json(entry: &SuiteCase, judged: &Judgment, files: &Tree) -> Value {
    let lossy = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (old, new, before, wanted, got) = match &entry.source {
        CaseSource::Packed(case, _) => (
            case.old.clone(),
            case.new.clone(),
            lossy(&case.before),
            case.right_result().map(|b| lossy(&b)),
            judged.got.as_deref().map(lossy),
        ),
        CaseSource::Folder(fixture) => {
            let text = |bytes: &Option<Vec<u8>>| bytes.as_deref().map(lossy).unwrap_or_default();
            let name = fixture
                .spec
                .path
                .clone()
                .or_else(|| fixture.before.keys().next().cloned())
                .unwrap_or_default();
            let of = |tree: &Tree| tree.get(&name).map(|b| lossy(b));
            let applied = judged.refusal.is_none();
            (
                text(&fixture.old),
                text(&fixture.new),
                of(&fixture.before).unwrap_or_default(),
                fixture.after.first().and_then(of),
                of(files).filter(|_| applied),
            )
        }
        CaseSource::Unreadable(why) => {
            (String::new(), String::new(), String::new(), None, Some(why.clone()))
        }
    };
    let refuse = match &entry.source {
        CaseSource::Packed(case, _) => match &case.truth {
            Truth::Refused(codes) => codes.iter().map(|c| c.as_str().to_owned()).collect(),
            Truth::Right { .. } => Vec::new(),
        },
        CaseSource::Folder(fixture) => fixture.spec.expect.refuse.clone(),
        CaseSource::Unreadable(_) => Vec::new(),
    };
    let (line, parts) = excerpt([Some(&before), wanted.as_ref(), got.as_ref()]);
    let [before, wanted, got] = parts;
    json!({
        "id": entry.id, "family": entry.family, "cause": entry.cause, "language": entry.language,
        "verdict": judged.verdict.as_str(),
        "good": judged.verdict.is_good(),
        "known": entry.outcome(&judged.verdict) == RunOutcome::KnownFailure,
        "why": if let CaseVerdict::Broken(why) = &judged.verdict { why.as_str() } else { "" },
        "by": judged.decided_by, "aim": if refuse.is_empty() { "right" } else { "refuse" }, "refuse": refuse,
        "micros": u64::try_from(judged.took.as_micros()).unwrap_or(u64::MAX),
        "calls": judged.model.calls, "bytes": judged.model.prompt_bytes,
        "old": old, "new": new, "line": line, "before": before, "wanted": wanted, "got": got,
        "refusal": judged.refusal,
    })
}

/// The lines in which the versions of a file differ, with three around; and the number
/// of the first of them.
fn excerpt(texts: [Option<&String>; 3]) -> (usize, [Option<String>; 3]) {
    let split = |text: &String| text.split_inclusive('\n').map(str::to_owned).collect::<Vec<_>>();
    let lines = texts.map(|text| text.map(split));
    let present: Vec<&Vec<String>> = lines.iter().flatten().collect();
    let least = present.iter().map(|lines| lines.len()).min().unwrap_or(0);
    let alike = |pick: &dyn Fn(&Vec<String>, usize) -> Option<String>, most: usize| {
        (0..most)
            .take_while(|&at| present.windows(2).all(|pair| pick(pair[0], at) == pick(pair[1], at)))
            .count()
    };
    let head = alike(&|lines, at| lines.get(at).cloned(), least);
    let tail = alike(
        &|lines, at| lines.len().checked_sub(at + 1).and_then(|at| lines.get(at).cloned()),
        least - head,
    );
    // Where all versions are the same (a refusal), the beginning is shown.
    let (from, below) = if head == least {
        (0, least.saturating_sub(30))
    } else {
        (head.saturating_sub(3), tail.saturating_sub(3))
    };
    let cut = |lines: Option<Vec<String>>| {
        lines.map(|lines| lines[from..lines.len() - below.min(lines.len() - from)].concat())
    };
    (from + 1, lines.map(cut))
}
