//! The score: counts of verdicts, for each mutation or cause and in total.

use std::fmt::Write as _;
use std::time::Duration;

use super::judge::{Aim, CaseVerdict, Judgment};
use crate::text::pluralize;

/// The counts of one row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    /// Cases that have a right result.
    pub recoverable: usize,
    /// Cases that must be refused.
    pub must_refuse: usize,
    /// Cases that were applied with a right result.
    pub right: usize,
    /// Cases that were refused with an expected code.
    pub refused: usize,
    /// Cases that were applied with a wrong result.
    pub wrong: usize,
    /// Cases that were refused as ambiguous, with a right result among the shown ones.
    pub ambiguous: usize,
    /// Cases that were refused although they have a right result.
    pub missed: usize,
    /// Cases that were refused, as they must be, but with another code.
    pub other_code: usize,
    /// Cases that panicked, could not be read, or were applied by another rung.
    pub broken: usize,
    /// Requests to the model.
    pub model_calls: u32,
    /// Bytes of all prompts.
    pub prompt_bytes: u64,
    /// Right edits for which a model was asked.
    pub by_model: usize,
    /// Edits of which the file was parsed before and after.
    pub parsed: usize,
    /// Of these, edits that brought new syntax errors.
    pub breaks: usize,
    /// The time to decide all cases.
    pub time: Duration,
}

impl Tally {
    /// Adds one verdict.
    pub fn add(&mut self, judged: &Judgment) {
        match judged.aim {
            Aim::Right => self.recoverable += 1,
            Aim::Refusal => self.must_refuse += 1,
        }
        match judged.verdict {
            CaseVerdict::Right => self.right += 1,
            CaseVerdict::Refused(_) => self.refused += 1,
            CaseVerdict::Wrong => self.wrong += 1,
            CaseVerdict::Ambiguous => self.ambiguous += 1,
            CaseVerdict::Missed(_) => self.missed += 1,
            CaseVerdict::OtherCode(_) => self.other_code += 1,
            CaseVerdict::OtherRung(_) | CaseVerdict::Broken(_) => self.broken += 1,
        }
        self.model_calls += judged.model.calls;
        self.prompt_bytes += judged.model.prompt_bytes;
        self.by_model +=
            usize::from(judged.verdict == CaseVerdict::Right && judged.model.calls > 0);
        self.parsed += usize::from(judged.adds_syntax_errors.is_some());
        self.breaks += usize::from(judged.adds_syntax_errors == Some(true));
        self.time += judged.took;
    }

    /// Returns the number of all cases.
    pub fn cases(&self) -> usize {
        self.right + self.refused + self.wrong + self.failed()
    }

    /// Returns the number of cases that are neither good nor silently wrong.
    pub fn failed(&self) -> usize {
        self.ambiguous + self.missed + self.other_code + self.broken
    }

    /// Adds the counts of another tally.
    fn merge(&mut self, other: &Self) {
        self.recoverable += other.recoverable;
        self.must_refuse += other.must_refuse;
        self.right += other.right;
        self.refused += other.refused;
        self.wrong += other.wrong;
        self.ambiguous += other.ambiguous;
        self.missed += other.missed;
        self.other_code += other.other_code;
        self.broken += other.broken;
        self.model_calls += other.model_calls;
        self.prompt_bytes += other.prompt_bytes;
        self.by_model += other.by_model;
        self.parsed += other.parsed;
        self.breaks += other.breaks;
        self.time += other.time;
    }
}

/// A tally for each row. The rows of a family are together; otherwise they are in the order in which
/// they were added.
#[derive(Debug, Clone, Default)]
pub struct Score {
    /// The family, the name and the tally of each row.
    rows: Vec<(String, String, Tally)>,
}

impl Score {
    /// Returns the tally of a row of a family.
    fn row(&mut self, family: &str, row: &str) -> &mut Tally {
        let known = self.rows.iter().position(|(_, name, _)| name == row);
        let index = known.unwrap_or_else(|| {
            let last = self.rows.iter().rposition(|(other, ..)| other == family);
            let index = last.map_or(self.rows.len(), |last| last + 1);
            self.rows.insert(index, (family.to_owned(), row.to_owned(), Tally::default()));
            index
        });
        &mut self.rows[index].2
    }

    /// Adds one verdict to a row of a family.
    pub fn add(&mut self, family: &str, row: &str, judged: &Judgment) {
        self.row(family, row).add(judged);
    }

    /// Adds the rows of another score below these; rows of the same name are merged.
    pub fn append(&mut self, other: Self) {
        for (family, row, tally) in &other.rows {
            self.row(family, row).merge(tally);
        }
    }

    /// Returns the family, the name and the tally of each row.
    pub fn rows(&self) -> impl Iterator<Item = (&str, &str, &Tally)> {
        self.rows.iter().map(|(family, row, tally)| (family.as_str(), row.as_str(), tally))
    }

    /// Returns the sum of all rows.
    pub fn total(&self) -> Tally {
        let mut total = Tally::default();
        self.rows.iter().for_each(|(_, _, tally)| total.merge(tally));
        total
    }

    /// Returns the table for a terminal: one line for each row, and the shares below it.
    pub fn table(&self) -> String {
        let mut out = format!(
            "{:<28}{:>7}{:>8}{:>9}{:>16}{:>11}{:>8}{:>12}{:>10}\n",
            "",
            "cases",
            "right",
            "refused",
            "silently wrong",
            "ambiguous",
            "failed",
            "new errors",
            "µs/case"
        );
        let mut last_family = "";
        for (family, row, tally) in self.rows() {
            if family != last_family {
                let _ = writeln!(out, "{family}");
                last_family = family;
            }
            write_row(&mut out, &format!("  {row}"), tally);
        }
        let total = self.total();
        write_row(&mut out, "all", &total);
        if total.model_calls > 0 {
            let _ = writeln!(
                out,
                "\nmodel: {} calls and {} prompt bytes for {} recovered by it ({:.1} calls, {} bytes each)",
                total.model_calls,
                total.prompt_bytes,
                pluralize(total.by_model, "edit"),
                total.model_calls as f64 / total.by_model.max(1) as f64,
                total.prompt_bytes / u64::try_from(total.by_model.max(1)).unwrap_or(1),
            );
        }
        // A refusal for another reason is still a refusal.
        let all_refused = total.refused + total.other_code;
        let _ = writeln!(
            out,
            "\nrecoverable: {} of {} right ({}), {} ambiguous with the right text shown, {} refused\nmust refuse: {} of {} refused ({}), {} for another reason\nedits that brought new syntax errors: {} of {} that were parsed",
            total.right,
            total.recoverable,
            percent(total.right, total.recoverable),
            total.ambiguous,
            total.missed,
            all_refused,
            total.must_refuse,
            percent(all_refused, total.must_refuse),
            total.other_code,
            total.breaks,
            total.parsed
        );
        out
    }

    /// Returns the line with the totals that every run ends with. `to_promote` is the number of good
    /// verdicts on cases that are known to fail, each of which counts as failed, too.
    pub fn last_line(&self, to_promote: usize) -> String {
        let total = self.total();
        format!(
            "{} right, {} refused, {} silently wrong, {} failed",
            total.right,
            total.refused,
            total.wrong,
            total.failed() + to_promote
        )
    }
}

/// Appends one line of the table.
fn write_row(out: &mut String, name: &str, tally: &Tally) {
    let cases = tally.cases();
    let micros_per_case = tally.time.as_micros() / cases.max(1) as u128;
    // Ambiguous cases have a column of their own.
    let failed_otherwise = tally.failed() - tally.ambiguous;
    let or_dot = |count: usize| if count == 0 { "·".to_owned() } else { count.to_string() };
    let _ = writeln!(
        out,
        "{name:<28}{cases:>7}{:>8}{:>9}{:>16}{:>11}{:>8}{:>12}{micros_per_case:>10}",
        or_dot(tally.right),
        or_dot(tally.refused),
        or_dot(tally.wrong),
        or_dot(tally.ambiguous),
        or_dot(failed_otherwise),
        or_dot(tally.breaks),
    );
}

/// Returns a share in percent, rounded down, so that `100.0 %` means all.
pub fn percent(part: usize, whole: usize) -> String {
    let tenths = (part * 1000).checked_div(whole).unwrap_or(0);
    format!("{}.{} %", tenths / 10, tenths % 10)
}
