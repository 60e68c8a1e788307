//! Decides a call of a line tool once its edits are located: applies the repairs that are proven,
//! and gives one set of changes that all refer to the same version of the file.

use crate::edit::{EditCode, Refusal, Rewrite};
use crate::language::Language;
use crate::text::{LineSpan, Snapshot};

use super::{LineChange, repair};

/// An edit whose lines in the present file are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LocatedEdit {
    /// Its number in the call, from 1.
    pub(crate) number: usize,
    /// In the present file; an empty span for insertions.
    pub(crate) span: LineSpan,
    pub(crate) lines: Vec<String>,
    /// Its order among insertions at the same gap.
    pub(crate) order: u8,
}

impl LocatedEdit {
    fn is_replacement(&self) -> bool {
        self.span.start <= self.span.end
    }
}

/// The changes that a call makes to the present file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DecidedEdits {
    /// The changes, in the numbering of the present file.
    pub(crate) changes: Vec<LineChange>,
    /// Each repair that was made.
    pub(crate) rewrites: Vec<Rewrite>,
    /// What was repaired, and what looks odd but was left.
    pub(crate) warnings: Vec<String>,
}

/// The changes that the edits make.
pub(super) fn to_changes(edits: &[LocatedEdit]) -> Vec<LineChange> {
    let mut sorted: Vec<&LocatedEdit> = edits.iter().collect();
    sorted.sort_by_key(|edit| edit.order);
    let change = |edit: &LocatedEdit| LineChange { span: edit.span, lines: edit.lines.clone() };
    sorted.into_iter().map(change).collect()
}

/// Repairs the edits of a call, and checks them together.
pub(crate) fn decide(
    mut edits: Vec<LocatedEdit>,
    current: &Snapshot,
    language: Option<&'static Language>,
) -> Result<DecidedEdits, Refusal> {
    let mut warnings = Vec::new();
    drop_duplicates(&mut edits, &mut warnings)?;
    let log = repair::repair(&mut edits, current, language);
    warnings.extend(log.warnings);
    check_no_ops(&edits, current, &mut warnings)?;
    Ok(DecidedEdits { changes: to_changes(&edits), rewrites: log.rewrites, warnings })
}

/// Drops a replacement that repeats another; refuses different replacements of the same lines.
/// Equal insertions are all kept.
fn drop_duplicates(
    edits: &mut Vec<LocatedEdit>,
    warnings: &mut Vec<String>,
) -> Result<(), Refusal> {
    let mut kept: Vec<LocatedEdit> = Vec::with_capacity(edits.len());
    let mut seen = std::collections::HashMap::new();
    for edit in edits.drain(..) {
        let duplicate =
            seen.get(&edit.span).filter(|_| edit.is_replacement()).map(|&at: &usize| &kept[at]);
        match duplicate {
            Some(other) if other.lines == edit.lines => warnings.push(format!(
                "edit {} repeats edit {}; it was applied once",
                edit.number, other.number
            )),
            Some(other) => {
                return Err(Refusal::new(
                    EditCode::Overlap,
                    format!(
                        "edits {} and {} both replace {}, with different text",
                        other.number, edit.number, edit.span
                    ),
                )
                .hint("Send one replacement for these lines."));
            }
            None => {
                seen.insert(edit.span, kept.len());
                kept.push(edit);
            }
        }
    }
    *edits = kept;
    Ok(())
}

fn check_no_ops(
    edits: &[LocatedEdit],
    current: &Snapshot,
    warnings: &mut Vec<String>,
) -> Result<(), Refusal> {
    let no_ops: Vec<&LocatedEdit> = edits
        .iter()
        .filter(|edit| {
            edit.is_replacement()
                && edit.span.end + 1 - edit.span.start == edit.lines.len()
                && (edit.span.start..)
                    .zip(&edit.lines)
                    .all(|(number, line)| current.line(number) == Some(line.as_str()))
        })
        .collect();
    if no_ops.len() == edits.len() {
        let places: Vec<String> =
            no_ops.iter().map(|d| format!("{}-{}", d.span.start, d.span.end)).collect();
        return Err(Refusal::new(
            EditCode::NoChange,
            format!("the new lines are the same as lines {} of the file", places.join(", ")),
        )
        .hint("The file is as you want it; go on with the next step."));
    }
    for edit in no_ops {
        warnings.push(format!("edit {} changes nothing", edit.number));
    }
    Ok(())
}
