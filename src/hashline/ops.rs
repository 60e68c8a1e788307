//! Hashline edits: locates the anchors of a call in the present file. What is written there is
//! decided as for the other line tool, in [`crate::line_edit`].

use crate::edit::{EditCode, Refusal};
use crate::line_edit::LocatedEdit;
use crate::text::{LineSpan, Snapshot};

use super::anchors::Anchor;
use super::resolver::{ResolvedSpan, Resolver, StaleAnchor};
use super::stale;

/// The operation of an edit.
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

/// The edits of a call, located in the present file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LocatedEdits {
    /// Each edit with its lines in the present file.
    pub(crate) edits: Vec<LocatedEdit>,
    /// How lines moved since the caller saw them.
    pub(crate) warnings: Vec<String>,
    /// Whether an anchor of an older version was mapped to another line.
    pub(crate) has_moved: bool,
}

/// Locates all edits. All or nothing: one that is not found refuses the call.
pub(crate) fn locate(
    edits: &[HashlineEdit],
    current: &Snapshot,
    mut resolver: Resolver<'_>,
) -> Result<LocatedEdits, Refusal> {
    if edits.is_empty() {
        return Err(Refusal::new(EditCode::InvalidArguments, "edits is empty")
            .hint("Give at least one {op, pos, end, lines}, or delete or rename."));
    }
    let mut located = Vec::with_capacity(edits.len());
    let mut lost = Vec::new();
    let mut moved: Vec<ResolvedSpan> = Vec::new();
    for (k, edit) in edits.iter().enumerate() {
        match locate_one(k + 1, edit, current, &mut resolver)? {
            Ok((edit, found)) => {
                moved.extend(found.filter(|found| found.span != found.named));
                located.push(edit);
            }
            Err(stale) => lost.extend(stale),
        }
    }
    if !lost.is_empty() {
        lost.dedup();
        return Err(stale::refusal(&lost, current));
    }
    let mut warnings = Vec::new();
    for found in moved.iter().take(4) {
        let (from, to) = (found.named, found.span);
        warnings.push(format!(
            "the file changed since your read: the edit was made at {to}, which was {from} before"
        ));
    }
    Ok(LocatedEdits { edits: located, warnings, has_moved: !moved.is_empty() })
}

type LocateResult = Result<(LocatedEdit, Option<ResolvedSpan>), Vec<StaleAnchor>>;

fn locate_one(
    number: usize,
    edit: &HashlineEdit,
    current: &Snapshot,
    resolver: &mut Resolver<'_>,
) -> Result<LocateResult, Refusal> {
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
    let located =
        |span: LineSpan, order: u8| LocatedEdit { number, span, lines: edit.lines.clone(), order };
    let gap = |after: usize| LineSpan { start: after + 1, end: after };
    let (Some(first), Some(last)) = (first, last) else {
        return match edit.op {
            Op::Replace => refuse(
                "replace has no pos".into(),
                "Give pos, and end for a range, as LINE#ID; append and prepend work without.",
            ),
            Op::Append => Ok(Ok((located(gap(total), 3), None))),
            Op::Prepend => Ok(Ok((located(gap(0), 0), None))),
        };
    };
    if first.line > last.line {
        return refuse(
            format!("the range {first} to {last} is inverted"),
            "Put the smaller line in pos and the larger in end.",
        );
    }
    let found = match resolver.resolve(first, last) {
        Ok(found) => found,
        Err(stale) => return Ok(Err(stale)),
    };
    let located = match edit.op {
        Op::Replace => located(found.span, 1),
        Op::Append => located(gap(found.span.end), 1),
        Op::Prepend => located(gap(found.span.start - 1), 2),
    };
    Ok(Ok((located, Some(found))))
}
