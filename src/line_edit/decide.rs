//! What a call of a line tool comes down to, once its places are known: repairs that are
//! proven, and one set of changes that all refer to the same version of the file.

use crate::edit::{EditCode, Refusal, Rewrite};
use crate::language::Language;
use crate::text::{LineSpan, Snapshot};

use super::{LineChange, repair};

/// An edit whose place is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Draft {
    /// Its number in the call, from 1.
    pub(crate) number: usize,
    /// In the present file; an empty span for insertions.
    pub(crate) span: LineSpan,
    pub(crate) lines: Vec<String>,
    /// Where it is among insertions at the same gap.
    pub(crate) order: u8,
}

impl Draft {
    fn replaces(&self) -> bool {
        self.span.start <= self.span.end
    }
}

/// What a call comes down to on the present file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Decided {
    /// The changes, in the numbering of the present file.
    pub(crate) changes: Vec<LineChange>,
    /// Each repair that was made.
    pub(crate) rewrites: Vec<Rewrite>,
    /// What was repaired, and what looks odd but was left.
    pub(crate) warnings: Vec<String>,
}

/// The changes of some drafts.
pub(super) fn changes_of(drafts: &[Draft]) -> Vec<LineChange> {
    let mut sorted: Vec<&Draft> = drafts.iter().collect();
    sorted.sort_by_key(|draft| draft.order);
    let change = |draft: &Draft| LineChange { span: draft.span, lines: draft.lines.clone() };
    sorted.into_iter().map(change).collect()
}

/// Repairs the drafts of a call, and checks them together.
pub(crate) fn decide(
    mut drafts: Vec<Draft>,
    current: &Snapshot,
    language: Option<&'static Language>,
) -> Result<Decided, Refusal> {
    let mut warnings = Vec::new();
    drop_repeats(&mut drafts, &mut warnings)?;
    let notes = repair::repair(&mut drafts, current, language);
    warnings.extend(notes.warnings);
    note_no_ops(&drafts, current, &mut warnings)?;
    Ok(Decided { changes: changes_of(&drafts), rewrites: notes.rewrites, warnings })
}

/// The same replacement twice is meant once; different ones of the same lines are
/// refused as an overlap later. Equal insertions are all meant.
fn drop_repeats(drafts: &mut Vec<Draft>, warnings: &mut Vec<String>) -> Result<(), Refusal> {
    let mut kept: Vec<Draft> = Vec::with_capacity(drafts.len());
    let mut seen = std::collections::HashMap::new();
    for draft in drafts.drain(..) {
        let twin = seen.get(&draft.span).filter(|_| draft.replaces()).map(|&at: &usize| &kept[at]);
        match twin {
            Some(other) if other.lines == draft.lines => warnings.push(format!(
                "edit {} repeats edit {}; it was applied once",
                draft.number, other.number
            )),
            Some(other) => {
                return Err(Refusal::new(
                    EditCode::Overlap,
                    format!(
                        "edits {} and {} both replace {} by different text",
                        other.number, draft.number, draft.span
                    ),
                )
                .hint("Send one replacement for these lines."));
            }
            None => {
                seen.insert(draft.span, kept.len());
                kept.push(draft);
            }
        }
    }
    *drafts = kept;
    Ok(())
}

fn note_no_ops(
    drafts: &[Draft],
    current: &Snapshot,
    warnings: &mut Vec<String>,
) -> Result<(), Refusal> {
    let idle: Vec<&Draft> = drafts
        .iter()
        .filter(|draft| {
            draft.replaces()
                && draft.span.end + 1 - draft.span.start == draft.lines.len()
                && (draft.span.start..)
                    .zip(&draft.lines)
                    .all(|(number, line)| current.line(number) == Some(line.as_str()))
        })
        .collect();
    if idle.len() == drafts.len() {
        let places: Vec<String> =
            idle.iter().map(|d| format!("{}-{}", d.span.start, d.span.end)).collect();
        return Err(Refusal::new(
            EditCode::NoChange,
            format!("the new lines are what lines {} already hold", places.join(", ")),
        )
        .hint("The file is as you want it; go on with the next step."));
    }
    for draft in idle {
        warnings.push(format!("edit {} changes nothing", draft.number));
    }
    Ok(())
}
