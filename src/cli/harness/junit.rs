//! The results of a run in the XML format of JUnit, which forges and CI servers show.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use super::CaseRun;
use crate::harness::suite::{CaseSource, RunOutcome};

/// Returns the report, with a suite for each family. Paths below `root` are relative to it.
pub(super) fn report(root: &Path, runs: &[CaseRun]) -> String {
    let all: Vec<&CaseRun> = runs.iter().collect();
    let mut families: BTreeMap<&str, Vec<&CaseRun>> = BTreeMap::new();
    for run in runs {
        families.entry(&run.entry.family).or_default().push(run);
    }
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(out, "<testsuites name=\"restitch\" {}>", counts(&all));
    for (family, runs) in families {
        let family = escape(family);
        let _ = writeln!(out, "  <testsuite name=\"{family}\" {}>", counts(&runs));
        for run in runs {
            let file = match &run.entry.source {
                CaseSource::Folder(fixture) => fixture.dir.join("case.toml"),
                CaseSource::Packed(_, file) => file.clone(),
            };
            let file = file.strip_prefix(root).unwrap_or(&file).to_string_lossy();
            let _ = writeln!(
                out,
                "    <testcase classname=\"{family}\" name=\"{}\" file=\"{}\" time=\"{:.6}\">{}</testcase>",
                escape(&run.entry.id),
                escape(&file.replace('\\', "/")),
                run.judged.took.as_secs_f64(),
                outcome(run)
            );
        }
        out.push_str("  </testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    out
}

/// What a case has in it if it did not pass.
fn outcome(run: &CaseRun) -> String {
    match run.outcome {
        RunOutcome::Expected => String::new(),
        RunOutcome::KnownFailure => "<skipped message=\"a known failure\"/>".into(),
        RunOutcome::Unexpected | RunOutcome::FixedFailure => {
            let why = run.explain();
            let [verdict, first] =
                [run.judged.verdict.as_str(), why.lines().next().unwrap_or_default()].map(escape);
            format!("<failure type=\"{verdict}\" message=\"{first}\">{}</failure>", escape(&why))
        }
    }
}

/// The attributes with the numbers of tests, failures and skipped tests, and the time they took.
fn counts(runs: &[&CaseRun]) -> String {
    let failures = runs.iter().filter(|run| run.is_unexpected()).count();
    let skipped = runs.iter().filter(|run| run.outcome == RunOutcome::KnownFailure).count();
    let time: Duration = runs.iter().map(|run| run.judged.took).sum();
    format!(
        "tests=\"{}\" failures=\"{failures}\" errors=\"0\" skipped=\"{skipped}\" time=\"{:.6}\"",
        runs.len(),
        time.as_secs_f64()
    )
}

/// Escapes a text for XML, which has no way to write most control characters.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() && !matches!(c, '\n' | '\t')
                || matches!(c, '\u{fffe}' | '\u{ffff}') =>
            {
                out.push(char::REPLACEMENT_CHARACTER);
            }
            c => out.push(c),
        }
    }
    out
}
