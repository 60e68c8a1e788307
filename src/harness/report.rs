//! The report page: a score and its cases as one HTML file that needs no network and no other
//! file.

use serde_json::{Value, json};

use super::case::Truth;
use super::fixture::Tree;
use super::judge::{CaseVerdict, Judgment};
use super::score::Score;
use super::suite::{CaseSource, RunOutcome, SuiteCase};
use crate::edit::EditCode;

const PAGE: &str = include_str!("report.html");

/// Returns the page of these cases, each with its judgment and the files afterwards.
pub(crate) fn render(judged_cases: &[(SuiteCase, Judgment, Tree)]) -> String {
    let mut score = Score::default();
    // What nothing confirms tells only what restitch does, not whether that is right.
    let (unconfirmed, confirmed): (Vec<_>, Vec<_>) =
        judged_cases.iter().partition(|(entry, ..)| is_unconfirmed(entry));
    let applied = unconfirmed.iter().filter(|(_, judged, _)| judged.refusal.is_none()).count();
    for (entry, judged, _) in confirmed {
        // Two families may have a cause of the same name, so the row's name has both.
        score.add(&entry.family, &format!("{}: {}", entry.family, entry.cause), judged);
    }
    let cases: Vec<Value> =
        judged_cases.iter().map(|(entry, judged, files)| case_json(entry, judged, files)).collect();
    let rows: Vec<Value> = score
        .rows()
        .map(|(family, row, tally)| {
            json!({
                "family": family, "row": row, "cases": tally.cases(), "right": tally.right,
                "refused": tally.refused, "wrong": tally.wrong,
                "recoverable": tally.recoverable, "must_refuse": tally.must_refuse,
                "calls": tally.model_calls, "bytes": tally.prompt_bytes,
                "micros": u64::try_from(tally.time.as_micros()).unwrap_or(u64::MAX),
            })
        })
        .collect();
    let data = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "rows": rows,
        "cases": cases,
        "unconfirmed": { "applied": applied, "refused": unconfirmed.len() - applied },
    });
    // The data is in a script element, which only `</` could end early.
    PAGE.replace("/*DATA*/null", &data.to_string().replace("</", "<\\/"))
}

/// Whether nothing confirms the expected result of a case.
fn is_unconfirmed(entry: &SuiteCase) -> bool {
    matches!(&entry.source, CaseSource::Folder(fixture) if fixture.spec.unconfirmed == Some(true))
}

/// Returns the JSON of a case for the page.
fn case_json(entry: &SuiteCase, judged: &Judgment, files: &Tree) -> Value {
    let lossy = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (old, new, before, wanted, got, refuse) = match &entry.source {
        CaseSource::Packed(case, _) => (
            case.old.clone(),
            case.new.clone(),
            lossy(&case.before),
            case.right_result().as_deref().map(lossy),
            judged.got.as_deref().map(lossy),
            match &case.truth {
                Truth::Refused(codes) => codes.iter().map(EditCode::to_string).collect(),
                Truth::Right { .. } => Vec::new(),
            },
        ),
        CaseSource::Folder(fixture) => {
            let text = |bytes: &Option<Vec<u8>>| bytes.as_deref().map(lossy).unwrap_or_default();
            // A tool without `path`, such as `multi_edit`: the page shows the first file.
            let name = fixture.spec.path.as_ref().or_else(|| fixture.before.keys().next());
            let file_in = |tree: &Tree| tree.get(name?).map(|bytes| lossy(bytes));
            let is_applied = judged.refusal.is_none();
            (
                text(&fixture.old),
                text(&fixture.new),
                file_in(&fixture.before).unwrap_or_default(),
                fixture.after.first().and_then(file_in),
                file_in(files).filter(|_| is_applied),
                fixture.spec.expect.refuse.clone(),
            )
        }
    };
    let (line, [before, wanted, got]) = excerpt([Some(&before), wanted.as_ref(), got.as_ref()]);
    json!({
        "id": entry.id, "family": entry.family, "cause": entry.cause, "language": entry.language,
        "verdict": match judged.verdict.is_good() && is_unconfirmed(entry) {
            true => "unconfirmed",
            false => judged.verdict.as_str(),
        },
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

/// Cuts the versions of a file to the lines in which they differ, with three lines around. Returns
/// the number of the first line that is left, and the versions.
fn excerpt(texts: [Option<&String>; 3]) -> (usize, [Option<String>; 3]) {
    let versions = texts.map(|text| text.map(|text| text.split_inclusive('\n').collect()));
    let present: Vec<&Vec<&str>> = versions.iter().flatten().collect();
    let shortest = present.iter().map(|lines| lines.len()).min().unwrap_or(0);
    let is_same = |index: usize, from_end: bool| {
        let at = |lines: &[&str]| if from_end { lines.len() - 1 - index } else { index };
        present.iter().all(|lines| lines[at(lines)] == present[0][at(present[0])])
    };
    let head = (0..shortest).take_while(|index| is_same(*index, false)).count();
    let tail = (0..shortest - head).take_while(|index| is_same(*index, true)).count();
    let (skipped_above, skipped_below) = if head == shortest {
        // All versions are the same, as after a refusal: the beginning is shown.
        (0, shortest.saturating_sub(30))
    } else {
        (head.saturating_sub(3), tail.saturating_sub(3))
    };
    let cut = |lines: Option<Vec<&str>>| {
        let lines = lines?;
        let end = lines.len() - skipped_below.min(lines.len() - skipped_above);
        Some(lines[skipped_above..end].concat())
    };
    (skipped_above + 1, versions.map(cut))
}
