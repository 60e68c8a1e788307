//! A call of hashline edits: anchors to lines, repairs that are proven, and one set
//! of changes that all refer to the same version of the file.

use crate::edit::{EditCode, Refusal, Rewrite};
use crate::line_edit::LineChange;
use crate::text::{LineSpan, Snapshot};

use super::anchors::Anchor;
use super::repair::{self, Draft};
use super::resolve::{Found, Resolver, Stale, Version};
use super::stale;

/// What an edit does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Op {
    /// Puts lines in the place of `pos..end`.
    Replace,
    /// Puts lines after the anchor, or at the end of the file.
    Append,
    /// Puts lines before the anchor, or at the start of the file.
    Prepend,
}

impl Op {
    /// The wire name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Replace => "replace",
            Self::Append => "append",
            Self::Prepend => "prepend",
        }
    }
}

/// One edit of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HashlineEdit {
    /// What it does.
    pub op: Op,
    /// The first anchor.
    pub pos: Option<Anchor>,
    /// The last anchor.
    pub end: Option<Anchor>,
    /// The new lines. None deletes, for `replace`.
    pub lines: Vec<String>,
}

/// What a call comes down to on the present file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decided {
    /// The changes, in the numbering of the present file.
    pub changes: Vec<LineChange>,
    /// Each repair that was made, as a stable word.
    pub rewrites: Vec<Rewrite>,
    /// What was repaired, what looks odd but was left, how lines had moved.
    pub warnings: Vec<String>,
    /// Whether an anchor of an older version was carried to another line.
    pub carried: bool,
}

/// Decides all edits against `current`; nothing of the call happens if one cannot.
pub fn decide(
    edits: &[HashlineEdit],
    current: &Snapshot,
    versions: &[Version],
    snapshot: Option<&str>,
) -> Result<Decided, Refusal> {
    if edits.is_empty() {
        return Err(Refusal::new(EditCode::InvalidArguments, "edits is empty")
            .hint("Give at least one {op, pos, end, lines}, or delete or rename."));
    }
    let mut resolver = Resolver::new(current, versions, snapshot);
    let mut drafts = Vec::with_capacity(edits.len());
    let mut lost = Vec::new();
    let mut moved: Vec<Found> = Vec::new();
    for (k, edit) in edits.iter().enumerate() {
        match place(k + 1, edit, current, &mut resolver)? {
            Ok((draft, found)) => {
                moved.extend(found.filter(|found| found.span != found.named));
                drafts.push(draft);
            }
            Err(stale) => lost.extend(stale),
        }
    }
    if !lost.is_empty() {
        lost.dedup();
        return Err(stale::refusal(&lost, current));
    }
    let mut notes = repair::repair(&mut drafts, current);
    let carried = !moved.is_empty();
    for found in moved.iter().take(4) {
        let (from, to) = (found.named, found.span);
        notes.warnings.push(format!(
            "the file changed since your read: what was {from} is {to} now, and was edited there"
        ));
    }
    drop_repeats(&mut drafts, &mut notes.warnings)?;
    note_no_ops(&drafts, current, &mut notes.warnings)?;
    // At one gap: the top of the file, after the line above, before the line below, the end.
    drafts.sort_by_key(|draft| draft.order);
    let changes = drafts
        .into_iter()
        .map(|draft| LineChange { span: draft.span, lines: draft.lines })
        .collect();
    Ok(Decided { changes, rewrites: notes.rewrites, warnings: notes.warnings, carried })
}

type Placed = Result<(Draft, Option<Found>), Vec<Stale>>;

fn place(
    number: usize,
    edit: &HashlineEdit,
    current: &Snapshot,
    resolver: &mut Resolver<'_>,
) -> Result<Placed, Refusal> {
    let total = current.lines().total();
    let refuse = |message: String, hint: &str| {
        Err(Refusal::new(EditCode::InvalidArguments, format!("edit {number}: {message}"))
            .hint(hint))
    };
    if edit.lines.is_empty() && edit.op != Op::Replace {
        return refuse(
            format!("{} without lines inserts nothing", edit.op.as_str()),
            "Give the new lines; to delete lines use replace with lines: null.",
        );
    }
    let first = edit.pos.as_ref().or(edit.end.as_ref());
    let last = edit.end.as_ref().or(edit.pos.as_ref());
    let draft = |span: LineSpan, order: u8| Draft {
        number,
        op: edit.op,
        span,
        lines: edit.lines.clone(),
        order,
    };
    let gap = |after: usize| LineSpan { start: after + 1, end: after };
    let (Some(first), Some(last)) = (first, last) else {
        return match edit.op {
            Op::Replace => refuse(
                "replace has no pos".into(),
                "Give pos, and end for a range, as LINE#ID; append and prepend work without.",
            ),
            Op::Append => Ok(Ok((draft(gap(total), 3), None))),
            Op::Prepend => Ok(Ok((draft(gap(0), 0), None))),
        };
    };
    if first.line > last.line {
        return refuse(
            format!("the range {first} to {last} is inverted"),
            "Put the smaller line in pos and the larger in end.",
        );
    }
    let found = match resolver.find(first, last) {
        Ok(found) => found,
        Err(stale) => return Ok(Err(stale)),
    };
    let draft = match edit.op {
        Op::Replace => draft(found.span, 1),
        Op::Append => draft(gap(found.span.end), 1),
        Op::Prepend => draft(gap(found.span.start - 1), 2),
    };
    Ok(Ok((draft, Some(found))))
}

/// The same replacement twice is meant once; different ones of the same lines are
/// refused as an overlap later. Equal insertions are all meant.
fn drop_repeats(drafts: &mut Vec<Draft>, warnings: &mut Vec<String>) -> Result<(), Refusal> {
    let mut kept: Vec<Draft> = Vec::with_capacity(drafts.len());
    for draft in drafts.drain(..) {
        let twin = kept.iter().find(|other| {
            draft.op == Op::Replace && other.op == Op::Replace && other.span == draft.span
        });
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
            None => kept.push(draft),
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
            draft.op == Op::Replace
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
