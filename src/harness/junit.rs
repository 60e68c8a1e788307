//! The results of a run in the XML format of JUnit, which forges and CI servers show.

use std::fmt::Write as _;
use std::time::Duration;

/// One case of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TestCase {
    /// The case's id.
    pub id: String,
    /// The group that the case is scored with.
    pub family: String,
    /// The file that the case is kept in.
    pub file: String,
    /// How long the engine took to decide.
    pub took: Duration,
    /// Whether the verdict is the expected one.
    pub outcome: TestOutcome,
    /// The verdict, in a word.
    pub verdict: &'static str,
}

/// Whether the verdict on a case is the expected one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TestOutcome {
    /// The verdict is the expected one.
    Passed,
    /// The case is known to fail, and it fails.
    KnownFailure,
    /// The verdict is not the expected one; the text explains it.
    Failed(String),
}

/// Returns the report.
pub(crate) fn report(rows: &[TestCase]) -> String {
    let mut families: Vec<&str> = rows.iter().map(|row| row.family.as_str()).collect();
    families.sort_unstable();
    families.dedup();
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(out, "<testsuites name=\"restitch\" {}>", counts(rows.iter()));
    for family in families {
        let family_rows = || rows.iter().filter(|row| row.family == family);
        let _ = writeln!(
            out,
            "  <testsuite name=\"{}\" {}>",
            escape_xml(family),
            counts(family_rows())
        );
        for row in family_rows() {
            let _ = write!(
                out,
                "    <testcase classname=\"{}\" name=\"{}\" file=\"{}\" time=\"{:.6}\"",
                escape_xml(family),
                escape_xml(&row.id),
                escape_xml(&row.file),
                row.took.as_secs_f64()
            );
            let _ = match &row.outcome {
                TestOutcome::Passed => writeln!(out, "/>"),
                TestOutcome::KnownFailure => {
                    writeln!(out, "><skipped message=\"a known failure\"/></testcase>")
                }
                TestOutcome::Failed(why) => writeln!(
                    out,
                    "><failure type=\"{}\" message=\"{}\">{}</failure></testcase>",
                    escape_xml(row.verdict),
                    escape_xml(why.lines().next().unwrap_or_default()),
                    escape_xml(why)
                ),
            };
        }
        out.push_str("  </testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    out
}

/// Returns the XML attributes with the numbers of tests, failures and skipped tests, and the total
/// time.
fn counts<'a>(rows: impl Iterator<Item = &'a TestCase>) -> String {
    let (mut tests, mut failures, mut skipped, mut time) = (0, 0, 0, Duration::ZERO);
    for row in rows {
        tests += 1;
        failures += usize::from(matches!(row.outcome, TestOutcome::Failed(_)));
        skipped += usize::from(row.outcome == TestOutcome::KnownFailure);
        time += row.took;
    }
    format!(
        "tests=\"{tests}\" failures=\"{failures}\" errors=\"0\" skipped=\"{skipped}\" time=\"{:.6}\"",
        time.as_secs_f64()
    )
}

/// Escapes a text for XML. Control characters, which XML does not allow, are replaced.
fn escape_xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("&#10;"),
            '\t' => out.push_str("&#9;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {
                out.push(char::REPLACEMENT_CHARACTER);
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: &str, outcome: TestOutcome) -> TestCase {
        TestCase {
            id: id.into(),
            family: "a & b".into(),
            file: "cases/a,b.pack.jsonl".into(),
            took: Duration::from_micros(1500),
            outcome,
            verdict: "missed",
        }
    }

    #[test]
    fn a_report_counts_and_escapes() {
        let bad = TestOutcome::Failed("wanted <x>\n\u{1b}[31m\"got\"".into());
        let rows =
            [row("one", TestOutcome::Passed), row("two", TestOutcome::KnownFailure), row("3", bad)];
        let xml = report(&rows);
        assert!(
            xml.contains("tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\" time=\"0.004500\"")
        );
        assert!(xml.contains("classname=\"a &amp; b\" name=\"one\""));
        assert!(xml.contains(
            "message=\"wanted &lt;x&gt;\">wanted &lt;x&gt;&#10;\u{fffd}[31m&quot;got&quot;<"
        ));
        assert!(!xml.contains('\u{1b}'));
    }
}
