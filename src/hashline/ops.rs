//! Locates the edits of a `hashline_edit` call in the current file. [`crate::line_edit`] decides what
//! is written there, as for the other line tool.

use serde::Deserialize;

use crate::edit::Refusal;
use crate::line_edit::LocatedEdit;
use crate::text::{LineSpan, Snapshot};

use super::anchors::Anchor;
use super::resolver::{ResolvedSpan, Resolver};
use super::stale::{self, StaleAnchor};

named! {
    /// The operation of an edit.
    #[derive(Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Op {
        /// Replaces the lines from `pos` to `end`.
        Replace = "replace",
        /// Inserts lines after the anchor, or at the end of the file without an anchor.
        Append = "append",
        /// Inserts lines before the anchor, or at the start of the file without an anchor.
        Prepend = "prepend",
    }
}

/// One edit of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HashlineEdit {
    /// The operation.
    pub op: Op,
    /// The first line.
    pub pos: Option<Anchor>,
    /// The last line.
    pub end: Option<Anchor>,
    /// The new lines; with `replace`, an empty list deletes the old ones.
    pub lines: Vec<String>,
}

/// The edits of a call, located in the current file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LocatedEdits {
    /// Each edit with its lines in the current file.
    pub(crate) edits: Vec<LocatedEdit>,
    /// Messages about lines that have moved since the caller saw them.
    pub(crate) warnings: Vec<String>,
    /// Whether an anchor of an older version was mapped to another line.
    pub(crate) has_moved: bool,
}

/// Locates all edits of a call; refuses the call if one of them cannot be located.
pub(crate) fn locate(
    edits: &[HashlineEdit],
    current: &Snapshot,
    mut resolver: Resolver<'_>,
) -> Result<LocatedEdits, Refusal> {
    if edits.is_empty() {
        return Err(Refusal::invalid(
            "edits is empty",
            "Give at least one {op, pos, end, lines}, or delete or rename.",
        ));
    }
    let mut located = Vec::with_capacity(edits.len());
    let mut stale_anchors = Vec::new();
    let mut moved: Vec<ResolvedSpan> = Vec::new();
    for (k, edit) in edits.iter().enumerate() {
        match locate_one(k + 1, edit, current, &mut resolver)? {
            Ok((edit, resolved)) => {
                moved.extend(resolved.filter(|resolved| resolved.span != resolved.named));
                located.push(edit);
            }
            Err(stale) => stale_anchors.extend(stale),
        }
    }
    if !stale_anchors.is_empty() {
        stale_anchors.dedup();
        return Err(stale::refusal(&stale_anchors, current, None));
    }
    let mut warnings = Vec::new();
    for resolved in moved.iter().take(4) {
        let (from, to) = (resolved.named, resolved.span);
        warnings.push(format!(
            "the file changed since your read: the edit was made at {to}, which was {from} before"
        ));
    }
    Ok(LocatedEdits { edits: located, warnings, has_moved: !moved.is_empty() })
}

/// A located edit and the lines that its anchors resolve to, if it has anchors; or the stale anchors.
type LocateResult = Result<(LocatedEdit, Option<ResolvedSpan>), Vec<StaleAnchor>>;

/// Locates one edit; the outer error is the refusal of an invalid edit.
fn locate_one(
    number: usize,
    edit: &HashlineEdit,
    current: &Snapshot,
    resolver: &mut Resolver<'_>,
) -> Result<LocateResult, Refusal> {
    let total = current.lines().total();
    let refuse = |message: String, hint: &str| {
        Err(Refusal::invalid(format!("edit {number}: {message}"), hint))
    };
    if edit.lines.is_empty() && edit.op != Op::Replace {
        return refuse(
            format!("{} without lines inserts nothing", edit.op.as_str()),
            "Give the new lines; to delete lines use replace with lines: [].",
        );
    }
    let first = edit.pos.as_ref().or(edit.end.as_ref());
    let last = edit.end.as_ref().or(edit.pos.as_ref());
    let located =
        |span: LineSpan, order: u8| LocatedEdit { number, span, lines: edit.lines.clone(), order };
    let gap = |after: usize| LineSpan { start: after + 1, end: after };
    // The order (0 to 3) of edits at the same gap: lines at the start of the file, lines after an
    // anchor, lines before an anchor, lines at the end of the file.
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
    let resolved = match resolver.resolve(first, last) {
        Ok(resolved) => resolved,
        Err(stale) => return Ok(Err(stale)),
    };
    let located = match edit.op {
        Op::Replace => located(resolved.span, 1),
        Op::Append => located(gap(resolved.span.end), 1),
        Op::Prepend => located(gap(resolved.span.start - 1), 2),
    };
    Ok(Ok((located, Some(resolved))))
}
