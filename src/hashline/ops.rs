//! A call of hashline edits: anchors to places in the present file. What is written there
//! is decided with the other line tool, in [`crate::line_edit`].

use crate::edit::{EditCode, Refusal};
use crate::line_edit::Draft;
use crate::text::{LineSpan, Snapshot};

use super::anchors::Anchor;
use super::resolve::{Found, Resolver, Stale};
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

/// The places that a call names on the present file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Places {
    /// Each edit at its place.
    pub(crate) drafts: Vec<Draft>,
    /// How lines had moved since the caller saw them.
    pub(crate) warnings: Vec<String>,
    /// Whether an anchor of an older version was carried to another line.
    pub(crate) carried: bool,
}

/// Finds the places of all edits; nothing of the call happens if one is not found.
pub(crate) fn locate(
    edits: &[HashlineEdit],
    current: &Snapshot,
    mut resolver: Resolver<'_>,
) -> Result<Places, Refusal> {
    if edits.is_empty() {
        return Err(Refusal::new(EditCode::InvalidArguments, "edits is empty")
            .hint("Give at least one {op, pos, end, lines}, or delete or rename."));
    }
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
    let mut warnings = Vec::new();
    for found in moved.iter().take(4) {
        let (from, to) = (found.named, found.span);
        warnings.push(format!(
            "the file changed since your read: what was {from} is {to} now, and was edited there"
        ));
    }
    Ok(Places { drafts, warnings, carried: !moved.is_empty() })
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
    let draft =
        |span: LineSpan, order: u8| Draft { number, span, lines: edit.lines.clone(), order };
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
