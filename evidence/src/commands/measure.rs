//! `restitch-evidence measure`: decides generated edits in memory and counts the results.

use std::io::{self, Write};

use clap::{Args, ValueEnum};
use restitch::EditCode;
use serde_json::json;
use similar::TextDiff;

use crate::measure::{JudgedCase, MeasurePlan, measure, real_edits};
use crate::{CorpusArgs, no_such_ways};
use restitch::engine::SyntaxMode;
use restitch::internals::command::{self as out, Exit};
use restitch::internals::harness::{Case, CaseVerdict, Judgment, Score, Truth};

#[derive(Debug, Args)]
pub(crate) struct MeasureArgs {
    #[command(flatten)]
    source: CorpusArgs,
    /// Only these kinds of mistake, or families of them, by the start of their name.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    ways: Vec<String>,
    /// At most this many cases of each kind.
    #[arg(long, default_value_t = 100, value_name = "N")]
    max: usize,
    /// Show cases with such a verdict.
    #[arg(long, value_enum)]
    show: Option<Show>,
    /// How many to show.
    #[arg(long, default_value_t = 5, value_name = "N")]
    limit: usize,
    /// What to do when an edit adds a syntax error, as for edits.
    #[arg(long, value_name = "WHICH", value_parser = syntax_mode)]
    syntax: Option<SyntaxMode>,
}

/// Which cases to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Show {
    /// Applied with other bytes.
    Wrong,
    /// Refused though recoverable.
    Refused,
    /// Refused for another reason, or broken.
    Other,
    /// Every unexpected verdict.
    Bad,
    /// Right ones, to check the generator.
    Right,
    /// Applied with new syntax errors.
    Breaks,
}

impl Show {
    /// Whether a case with this judgment is shown.
    fn selects(self, judged: &Judgment) -> bool {
        let verdict = &judged.verdict;
        match self {
            Self::Wrong => *verdict == CaseVerdict::Wrong,
            Self::Refused => matches!(verdict, CaseVerdict::Missed(_) | CaseVerdict::Ambiguous),
            Self::Other => matches!(
                verdict,
                CaseVerdict::OtherCode(_) | CaseVerdict::OtherRung(_) | CaseVerdict::Broken(_)
            ),
            Self::Bad => !verdict.is_good(),
            Self::Right => verdict.is_good(),
            Self::Breaks => judged.adds_syntax_errors == Some(true),
        }
    }
}

/// The mode with this name.
fn syntax_mode(name: &str) -> Result<SyntaxMode, String> {
    SyntaxMode::parse(name).ok_or_else(|| "use `off`, `warn` or `veto`".into())
}

/// Measures and prints the results.
pub(crate) fn run(json: bool, args: &MeasureArgs) -> Result<(), Exit> {
    let changes = args.source.changes()?;
    let plan = MeasurePlan { seed: args.source.seed, max: args.max, mutations: args.ways.clone() };
    if plan.selected().is_empty() {
        return Err(no_such_ways(&args.ways));
    }
    let edits = real_edits(&changes, plan.seed);
    let is_kept: fn(&Judgment) -> bool = match args.show {
        None => |_| false,
        Some(Show::Right) => |judged| judged.verdict.is_good(),
        Some(Show::Breaks) => |judged| judged.adds_syntax_errors == Some(true),
        Some(_) => |judged| !judged.verdict.is_good(),
    };
    let syntax = args.syntax.unwrap_or_default();
    let (score, kept) = measure(&edits, &plan, syntax, is_kept);
    let selected =
        kept.iter().filter(|(_, judged)| args.show.is_some_and(|show| show.selects(judged)));
    let selected: Vec<&JudgedCase> = selected.take(args.limit).collect();
    let mut stdout = out::stdout();
    let written = if json {
        let cases: Vec<_> = selected.iter().map(|(case, judged)| case_json(case, judged)).collect();
        writeln!(stdout, "{}", as_json(edits.len(), &score, &cases))
    } else {
        selected
            .iter()
            .try_for_each(|(case, judged)| print_case(&mut stdout, case, judged))
            .and_then(|()| {
                writeln!(
                    stdout,
                    "{} real edits\n{}{}",
                    edits.len(),
                    score.table(),
                    score.last_line(0)
                )
            })
    };
    out::written(written)?;
    // A wrong or failed case is a result that scripts must see.
    Exit::refused_if(score.total().wrong + score.total().failed() > 0)
}

/// The results as JSON.
fn as_json(edits: usize, score: &Score, cases: &[serde_json::Value]) -> serde_json::Value {
    let rows: Vec<_> = score
        .rows()
        .map(|(family, mutation, tally)| {
            json!({
                "family": family, "way": mutation, "recoverable": tally.recoverable,
                "must_refuse": tally.must_refuse, "right": tally.right, "refused": tally.refused,
                "wrong": tally.wrong, "ambiguous": tally.ambiguous, "missed": tally.missed,
                "other_code": tally.other_code, "broken": tally.broken, "parsed": tally.parsed,
                "new_syntax_errors": tally.breaks,
                "micros": u64::try_from(tally.time.as_micros()).unwrap_or(u64::MAX),
            })
        })
        .collect();
    json!({ "edits": edits, "rows": rows, "cases": cases })
}

/// A case and its judgment as JSON.
fn case_json(case: &Case, judged: &Judgment) -> serde_json::Value {
    let text =
        |bytes: Option<Vec<u8>>| bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    json!({
        "id": case.id, "way": case.cause, "language": case.language, "path": case.path,
        "before": String::from_utf8_lossy(&case.before), "old_str": case.old, "new_str": case.new,
        "wanted": text(case.right_result()), "got": text(judged.got.clone()),
        "verdict": judged.verdict.as_str(), "breaks": judged.adds_syntax_errors, "by": judged.decided_by, "refusal": judged.refusal,
    })
}

/// Prints one case for a person: its strings, and the diff between the wanted and the actual result.
fn print_case(out: &mut impl Write, case: &Case, judged: &Judgment) -> io::Result<()> {
    writeln!(
        out,
        "━━━ {} · {} · {} · by {}",
        case.id,
        case.language,
        judged.verdict.as_str(),
        judged.decided_by
    )?;
    for (name, text) in [("old_str", &case.old), ("new_str", &case.new)] {
        writeln!(out, "── {name}")?;
        for line in text.split_inclusive('\n') {
            writeln!(out, "  {}", visible(line))?;
        }
    }
    let before = String::from_utf8_lossy(&case.before);
    let wanted = case.right_result();
    if let Truth::Refused(codes) = &case.truth {
        writeln!(out, "── wanted: refused with {}", in_words(codes))?;
    }
    if let Some(wanted) = &wanted {
        print_diff(out, "the file → wanted", &before, &String::from_utf8_lossy(wanted))?;
    }
    match (&judged.got, &wanted) {
        (Some(got), Some(wanted)) if !case.accepts(got) => {
            print_diff(
                out,
                "wanted → got",
                &String::from_utf8_lossy(wanted),
                &String::from_utf8_lossy(got),
            )?;
        }
        (Some(got), None) => {
            print_diff(out, "the file → got", &before, &String::from_utf8_lossy(got))?
        }
        _ => {}
    }
    if let Some(refusal) = &judged.refusal {
        writeln!(out, "── refused: {refusal}")?;
    }
    writeln!(out)
}

/// Prints a diff under a title.
fn print_diff(out: &mut impl Write, title: &str, old: &str, new: &str) -> io::Result<()> {
    writeln!(out, "── {title}")?;
    let diff = TextDiff::from_lines(old, new);
    for line in diff.unified_diff().context_radius(2).to_string().split_inclusive('\n') {
        writeln!(out, "  {}", visible(line))?;
    }
    Ok(())
}

/// The line with visible marks for tabs, trailing whitespace and invisible characters.
fn visible(line: &str) -> String {
    let body = line.strip_suffix('\n').unwrap_or(line);
    let trimmed = body.trim_end_matches([' ', '\t', '\r']);
    let trailing = body[trimmed.len()..].replace(' ', "·").replace('\t', "→").replace('\r', "␍");
    let mut with_marks: String = trimmed.replace('\t', "→   ");
    for (character, mark) in [
        ('\u{a0}', "⍽"),
        ('\u{200b}', "<ZWSP>"),
        ('\u{feff}', "<BOM>"),
        ('\u{200d}', "<ZWJ>"),
        ('\u{2060}', "<WJ>"),
        ('\r', "␍"),
    ] {
        with_marks = with_marks.replace(character, mark);
    }
    with_marks + &trailing
}

/// The codes in words, such as `A or B`.
fn in_words(codes: &[EditCode]) -> String {
    codes.iter().map(|code| code.as_str()).collect::<Vec<_>>().join(" or ")
}
