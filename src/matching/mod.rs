//! Matching: finds where in a file a call applies, and what it writes there.
//!
//! ```text
//! Call { old, new, expected, near_line, language }  SourceFile (lines, keys, index, lexed lazily)
//!   → exact(call)                   plain replacement, if it is there as often as expected
//!   → readings(call)                what the text could have been before the mistake
//!   → places(file, reading)         where it may be: joined keys, aligned bands, placeholders
//!   → explanations(place, reading)  each way to indent and join the new text, with its price
//!   → verdict                       One | Ambiguous | Missing | Refused
//! ```
//!
//! No rule decides alone: every explanation at every place is weighed, and the cheapest is taken if
//! its evidence exceeds its cost and no other result comes close. `costs` has the prices, and
//! `forbidden` what no price allows.
//!
//! Pure and bounded: no I/O, no clock, and the work grows with file and `old_str`, not
//! with their product. Where it still could, `budget` limits it.

pub(crate) mod budget;
mod call;
mod characters;
mod costs;
mod diff;
mod difference;
mod escape_review;
mod escapes;
mod exact;
mod explain;
mod fold;
mod forbidden;
mod indent;
mod made;
mod maps;
mod margin;
mod nearest;
mod new_literals;
mod placeholder;
mod places;
mod rank;
pub(crate) mod reading;
mod refuse;
mod rivals;
mod shape;
mod source_file;
mod tokens;
mod unseen;
mod verdict;
mod veto;
mod weigh;
mod write;

use std::num::NonZeroUsize;

use crate::edit::message::{NEW, OLD};
use crate::edit::{
    Corrected, EditCode, EditRequest, Expected, Explanation, Refusal, Rewrite, Rung, Splice, said,
};
use crate::text::{Snapshot, pluralize};

use budget::Budget;
use source_file::SourceFile;

pub(crate) use escape_review::{ESCAPES_WARNING, EscapeReview, review_line_escapes};
pub(crate) use escapes::escape_readings;
pub(crate) use indent::indent_of;
pub(crate) use rank::{nearest, nearest_lines};
pub(crate) use reading::spoiled_readings;
pub(crate) use refuse::describe_conflict;

/// The rungs, strictest first, as the report ranks them.
pub const LADDER: &[Rung] = Rung::ALL.split_at(Rung::Aligned as usize + 1).0;

/// The lines of a call re-indented for the file, once for each rule that explains all `pairs` of
/// (indentation in the call, indentation in the file). `None` if no pair differs, if no rule
/// explains them all, or if a rule does not apply to a line.
pub(crate) fn reindent(
    snapshot: &Snapshot,
    lines: &[String],
    pairs: Vec<(String, String)>,
) -> Option<Vec<Vec<String>>> {
    if pairs.iter().all(|(from, to)| from == to) {
        return None;
    }
    let file = SourceFile::new(snapshot, None);
    let new: Vec<&str> = lines.iter().map(String::as_str).collect();
    let after_first = new.get(1..).unwrap_or_default();
    let [levels, levels_after_first] =
        [&new[..], after_first].map(|new| indent::LevelWidths::new(&file, &[], new));
    let (rules, first_lost) = indent::fit(&pairs, levels, levels_after_first);
    if first_lost {
        return None;
    }
    let mut variants: Vec<Vec<String>> = Vec::new();
    for rule in &rules {
        let reindented = new.iter().map(|line| match indent_of(line) {
            _ if line.trim().is_empty() => Some((*line).to_owned()),
            indent => Some(indent::with_indent(line, &rule.apply(indent)?)),
        });
        let reindented = reindented.collect::<Option<Vec<_>>>()?;
        if !variants.contains(&reindented) {
            variants.push(reindented);
        }
    }
    Some(variants)
}

/// An explained call: where it applies and what it writes there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explained {
    /// The replacements, in text offsets of the snapshot.
    pub splices: Vec<Splice>,
    /// How the call was understood.
    pub explanation: Explanation,
    /// Whether nothing in the call confirms some of what it writes. Then it is only shown, and never
    /// applied, even if vetoes leave no other result.
    pub is_guess: bool,
}

impl Explained {
    /// The edit that makes these splices. Adds their number to the explanation, and the corrected
    /// strings if the first splice differs from what was sent.
    fn new(
        request: &EditRequest,
        file: &SourceFile<'_>,
        splices: Vec<Splice>,
        mut explanation: Explanation,
    ) -> Self {
        explanation.replacements = splices.len();
        if let Some(first) = splices.first() {
            let old = &file.text[first.range.clone()];
            if old != request.old || first.text != request.new {
                explanation.corrected =
                    Some(Corrected { old_str: old.to_owned(), new_str: first.text.clone() });
            }
        }
        Self { splices, explanation, is_guess: false }
    }
}

/// What the matcher decides about a call.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Verdict {
    /// The call has one possible result.
    One(Explained),
    /// The place is known, but the call could mean several results there.
    Ambiguous {
        /// The possible results.
        outcomes: Vec<Explained>,
        /// The refusal that shows a diff of each.
        refusal: Refusal,
    },
    /// No reading finds the text. The refusal has the most similar regions, and the conflicts
    /// if the place is known.
    Missing(Refusal),
    /// Refused for another reason, such as a wrong count, or a result that breaks brackets.
    Refused(Refusal),
}

impl Verdict {
    /// The edit if there is exactly one; otherwise the refusal.
    pub fn into_result(self) -> Result<Explained, Refusal> {
        match self {
            Self::One(explained) => Ok(explained),
            Self::Ambiguous { refusal, .. } | Self::Missing(refusal) | Self::Refused(refusal) => {
                Err(refusal)
            }
        }
    }
}

/// The edit that a call makes in a file, or the refusal that says why it makes none.
///
/// ```
/// use restitch::edit::{EditRequest, Rung};
/// use restitch::internals::matching::explain;
/// use restitch::internals::text::Snapshot;
///
/// let file = Snapshot::from_text("fn main() {\n\tif a {\n\t\tb();\n\t}\n}\n");
/// // Every line has one tab too few.
/// let call = EditRequest::new("if a {\n\tb();\n}", "if a {\n\tc();\n}");
/// let explained = explain(&call, &file)?;
/// assert_eq!(explained.explanation.rung, Rung::Indentation);
/// assert_eq!(explained.splices[0].text, "\tif a {\n\t\tc();\n\t}");
/// # Ok::<(), restitch::edit::Refusal>(())
/// ```
pub fn explain(request: &EditRequest, snapshot: &Snapshot) -> Result<Explained, Refusal> {
    decide(request, snapshot).into_result()
}

/// Decides what a call does to a file, within a work budget.
pub fn decide(request: &EditRequest, snapshot: &Snapshot) -> Verdict {
    let decided = Budget::default().run(|| {
        let mut verdict = decide_unbounded(request, snapshot);
        if let Verdict::Refused(refusal) = &mut verdict
            && refusal.code == EditCode::OccurrenceMismatch
            && request.expected != Expected::All
        {
            let one = |expected| {
                let request = EditRequest { expected, ..request.clone() };
                let edit = decide_unbounded(&request, snapshot).into_result().ok()?;
                Some(edit.explanation.replacements)
            };
            if let Some(count) = one(Expected::All) {
                // Where places overlap, no number of them is accepted.
                let count = NonZeroUsize::new(count)
                    .filter(|&count| one(Expected::Exactly(count)) == Some(count.get()));
                refuse::offer_all(request, refusal, count);
            }
        }
        verdict
    });
    decided.unwrap_or_else(|ended| Verdict::Refused(ended.refusal()))
}

/// Decides what a call does to a file, without a limit on the work.
fn decide_unbounded(request: &EditRequest, snapshot: &Snapshot) -> Verdict {
    if request.old.is_empty() {
        return fill_empty_file(request, snapshot);
    }
    if request.old == request.new {
        let refusal = Refusal::new(EditCode::NoChange, said!("{OLD} and {NEW} are the same"))
            .hint(said!("Send the new text as {NEW}; if the file is right already, go on."));
        return Verdict::Refused(refusal);
    }
    if let Some(old) = request.old.strip_prefix(BOM).filter(|_| !snapshot.text().contains(BOM)) {
        // The byte order mark belongs to the file's encoding, not to its text.
        let new = request.new.strip_prefix(BOM).unwrap_or(&request.new);
        let request = EditRequest { old: old.to_owned(), new: new.to_owned(), ..request.clone() };
        return decide_unbounded(&request, snapshot);
    }
    let file = SourceFile::new(snapshot, request.language).for_call(&request.old, &request.new);
    let exact = exact::decide(request, &file).or_else(|| exact_but_line_endings(request, &file));
    if let Some(verdict) = exact {
        return verdict;
    }
    if request.old.trim().is_empty() || file.text.is_empty() {
        return Verdict::Missing(refuse::not_found(request, &file));
    }
    let readings =
        reading::readings(strip_next_indent(&request.old), strip_next_indent(&request.new));
    verdict::decide(request, &file, &readings)
}

/// The verdict of the exact rung on the call with the other kind of line ending.
fn exact_but_line_endings(request: &EditRequest, file: &SourceFile<'_>) -> Option<Verdict> {
    let (sent_old, sent_new) = (&request.old, &request.new);
    // Without its last line break, new_str would join two lines.
    if sent_old.ends_with('\n') && !sent_new.is_empty() && !sent_new.ends_with('\n') {
        return None;
    }
    let [old, new] = [sent_old, sent_new].map(|text| {
        let text = text.replace("\r\n", "\n");
        if sent_old.contains("\r\n") { text } else { text.replace('\n', "\r\n") }
    });
    if old == *sent_old {
        return None;
    }
    let explained = match exact::decide(&EditRequest { old, new, ..request.clone() }, file)? {
        Verdict::One(explained) => explained,
        other => return Some(other),
    };
    // A first line that lacks its indentation is more than another line ending.
    let begins_line = |splice: &Splice| {
        splice.range.start == 0 || file.text[..splice.range.start].ends_with('\n')
    };
    if !explained.splices.iter().all(begins_line) {
        return None;
    }
    let Explained { splices, mut explanation, .. } = explained;
    explanation.rung = Rung::LineEndings;
    if !explanation.rewrites.contains(&Rewrite::LineEndings) {
        explanation.rewrites.insert(0, Rewrite::LineEndings);
    }
    Some(Verdict::One(Explained::new(request, file, splices, explanation)))
}

/// The text without the spaces and tabs after its last line break. They are the indentation of the
/// next line, which is not part of the text.
fn strip_next_indent(text: &str) -> &str {
    let trimmed = text.trim_end_matches([' ', '\t']);
    if trimmed.ends_with('\n') { trimmed } else { text }
}

/// The byte order mark.
const BOM: char = '\u{feff}';

/// Decides a call with an empty `old_str`: it fills an empty file, and is refused for any other.
fn fill_empty_file(request: &EditRequest, snapshot: &Snapshot) -> Verdict {
    if !snapshot.text().is_empty() {
        let lines = pluralize(snapshot.lines().total(), "line");
        let refusal = Refusal::new(
            EditCode::CreateExisting,
            said!("{OLD} is empty, but the file exists and has {lines}"),
        )
        .hint(said!("To change the file, send the text to replace as {OLD}. To add text, send a neighbouring line as {OLD} and repeat it in {NEW}."));
        return Verdict::Refused(refusal);
    }
    let mut explanation = Explanation::plain(Rung::Exact);
    let mut text = request.new.clone();
    escape_review::review_file_escapes(request.language, &request.new)
        .settle(&mut text, &mut explanation);
    let splices = vec![Splice { range: 0..0, text }];
    Verdict::One(Explained { splices, explanation, is_guess: false })
}
