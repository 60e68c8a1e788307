//! Decides a call of a line tool once its edits are located: it applies the repairs that are proven
//! and returns changes that all refer to the same version of the file.

use crate::edit::{EditCode, Refusal, Rewrite};
use crate::language::Language;
use crate::text::{LineSpan, Snapshot, format_ranges};

use super::{LineChange, repair};

/// An edit whose lines in the current file are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LocatedEdit {
    /// The number of the edit in the call, from 1.
    pub(crate) number: usize,
    /// The replaced lines of the current file; an empty span for insertions.
    pub(crate) span: LineSpan,
    /// The new lines.
    pub(crate) lines: Vec<String>,
    /// The order among insertions at the same gap.
    pub(crate) order: u8,
}

/// Tells whether a change adds a syntax error to the file; `None` where no parser knows.
pub(crate) type AddsErrors<'a> = &'a dyn Fn(LineChange) -> Option<bool>;

/// The changes that a call makes to the current file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DecidedEdits {
    /// The changes, in the numbering of the current file.
    pub(crate) changes: Vec<LineChange>,
    /// Each repair that was made.
    pub(crate) rewrites: Vec<Rewrite>,
    /// Messages about what was repaired, and about what looks odd but was written as sent.
    pub(crate) warnings: Vec<String>,
}

/// The changes that the edits make, with insertions at the same gap in their order.
pub(crate) fn to_changes(edits: &[LocatedEdit]) -> Vec<LineChange> {
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
    adds_errors: AddsErrors<'_>,
) -> Result<DecidedEdits, Refusal> {
    let mut warnings = Vec::new();
    drop_duplicates(&mut edits, &mut warnings)?;
    let log = repair::repair(&mut edits, current, language, adds_errors);
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
        let same_span = seen.get(&edit.span).map(|&at: &usize| &kept[at]);
        match same_span.filter(|_| !edit.span.is_empty()) {
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

/// Warns about edits that change nothing; refuses the call if none of them changes anything.
fn check_no_ops(
    edits: &[LocatedEdit],
    current: &Snapshot,
    warnings: &mut Vec<String>,
) -> Result<(), Refusal> {
    let is_no_op = |edit: &&LocatedEdit| {
        !edit.span.is_empty()
            && edit.span.len() == edit.lines.len()
            && (edit.span.start..)
                .zip(&edit.lines)
                .all(|(number, line)| current.line(number) == Some(line.as_str()))
    };
    let no_ops: Vec<&LocatedEdit> = edits.iter().filter(is_no_op).collect();
    if no_ops.len() == edits.len() {
        let places = format_ranges(no_ops.iter().map(|edit| &edit.span));
        return Err(Refusal::new(
            EditCode::NoChange,
            format!("the new lines are the same as lines {places} of the file"),
        )
        .hint("The file already has these lines; go on with the next step."));
    }
    for edit in no_ops {
        warnings.push(format!("edit {} changes nothing", edit.number));
    }
    Ok(())
}
