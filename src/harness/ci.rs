//! The results of a run for CI: a JUnit report, and annotations that GitHub shows in the files of
//! a pull request.

use std::fmt::Write as _;
use std::time::Duration;

/// One case of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CiCase {
    /// The case's id.
    pub id: String,
    /// The group that the case is scored with.
    pub family: String,
    /// The file that the case is kept in.
    pub file: String,
    /// How long the engine took to decide.
    pub took: Duration,
    /// Whether the verdict is the expected one.
    pub outcome: CiOutcome,
    /// The verdict in the baseline, if it differs from the current one.
    pub previous: Option<String>,
    /// The verdict of this run.
    pub current: String,
}

/// Whether the verdict on a case is the expected one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CiOutcome {
    /// The verdict is the expected one.
    Passed,
    /// The case is known to fail, and it fails.
    KnownFailure,
    /// The verdict is not the expected one; the text explains it.
    Failed(String),
}

/// Returns the report in the XML format of JUnit, which forges and CI servers read.
pub(crate) fn junit(rows: &[CiCase]) -> String {
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
                CiOutcome::Passed => writeln!(out, "/>"),
                CiOutcome::KnownFailure => {
                    writeln!(out, "><skipped message=\"a known failure\"/></testcase>")
                }
                CiOutcome::Failed(why) => writeln!(
                    out,
                    "><failure type=\"{}\" message=\"{}\">{}</failure></testcase>",
                    escape_xml(&row.current),
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
fn counts<'a>(rows: impl Iterator<Item = &'a CiCase>) -> String {
    let (mut tests, mut failures, mut skipped, mut time) = (0, 0, 0, Duration::ZERO);
    for row in rows {
        tests += 1;
        failures += usize::from(matches!(row.outcome, CiOutcome::Failed(_)));
        skipped += usize::from(row.outcome == CiOutcome::KnownFailure);
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

/// The most annotations of one level in a step; GitHub drops further ones without a word.
const MAX_ANNOTATIONS: usize = 10;

/// Returns GitHub's workflow commands: an error for each case that failed, and a notice for each
/// other case whose verdict changed.
pub(crate) fn annotations(rows: &[CiCase]) -> String {
    let line = |level: &str, row: &CiCase, title: &str, text: &str| {
        format!(
            "::{level} file={},title={}::{}\n",
            escape_property(&row.file),
            escape_property(title),
            escape_message(text)
        )
    };
    let errors = rows.iter().filter_map(|row| match &row.outcome {
        CiOutcome::Failed(why) => {
            Some(line("error", row, &format!("restitch: {} is {}", row.id, row.current), why))
        }
        CiOutcome::Passed | CiOutcome::KnownFailure => None,
    });
    let not_failed = rows.iter().filter(|row| !matches!(row.outcome, CiOutcome::Failed(_)));
    let notices = not_failed.filter_map(|row| {
        let previous = row.previous.as_ref()?;
        let title = format!("restitch: the outcome of {} changed", row.id);
        Some(line("notice", row, &title, &format!("it was {previous} and is {}", row.current)))
    });
    let (errors, notices): (Vec<String>, Vec<String>) = (errors.collect(), notices.collect());
    let mut out = String::new();
    for (level, lines) in [("error", errors), ("notice", notices)] {
        out.extend(lines.iter().take(MAX_ANNOTATIONS).map(String::as_str));
        if lines.len() > MAX_ANNOTATIONS {
            let more = lines.len() - MAX_ANNOTATIONS;
            let _ =
                writeln!(out, "::{level} title=restitch::and {more} more: see the JUnit report");
        }
    }
    out
}

/// Escapes the text of a workflow command.
fn escape_message(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes a property of a workflow command, such as its title.
fn escape_property(text: &str) -> String {
    escape_message(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: &str, outcome: CiOutcome, was: Option<&str>) -> CiCase {
        CiCase {
            id: id.into(),
            family: "a & b".into(),
            file: "cases/a,b.pack.jsonl".into(),
            took: Duration::from_micros(1500),
            outcome,
            previous: was.map(str::to_owned),
            current: "missed".into(),
        }
    }

    #[test]
    fn a_report_counts_and_escapes() {
        let bad = CiOutcome::Failed("wanted <x>\n\u{1b}[31m\"got\"".into());
        let rows = [
            row("one", CiOutcome::Passed, None),
            row("two", CiOutcome::KnownFailure, None),
            row("3", bad, None),
        ];
        let xml = junit(&rows);
        assert!(
            xml.contains("tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\" time=\"0.004500\"")
        );
        assert!(xml.contains("classname=\"a &amp; b\" name=\"one\""));
        assert!(xml.contains(
            "message=\"wanted &lt;x&gt;\">wanted &lt;x&gt;&#10;\u{fffd}[31m&quot;got&quot;<"
        ));
        assert!(!xml.contains('\u{1b}'));
    }

    #[test]
    fn annotations_are_one_line_each_and_few() {
        let mut rows =
            vec![row("one", CiOutcome::Passed, Some("right")), row("two", CiOutcome::Passed, None)];
        rows.extend(
            (0..12).map(|n| row(&format!("b{n}"), CiOutcome::Failed("100 %\nno".into()), None)),
        );
        let text = annotations(&rows);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 12);
        assert_eq!(
            lines[0],
            "::error file=cases/a%2Cb.pack.jsonl,title=restitch%3A b0 is missed::100 %25%0Ano"
        );
        assert_eq!(lines[10], "::error title=restitch::and 2 more: see the JUnit report");
        assert!(
            lines[11].starts_with("::notice ") && lines[11].ends_with("it was right and is missed")
        );
    }
}
