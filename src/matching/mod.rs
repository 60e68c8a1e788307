//! Finding the mistake: which mechanical reading of a call explains it.
//!
//! [`explain`] walks the [`LADDER`] from the strictest rung to the laxest. The first
//! rung that finds any place decides: a wrong count there is a refusal, never a
//! reason to try something laxer. Every rung but the first rewrites `new_str` by the
//! same mistake it found in `old_str`, and merges it with the file three ways.
//!
//! Pure and bounded: no I/O, no clock, and the work on a miss grows with the size of
//! the file, not with its product with `old_str`.

mod align;
mod artefacts;
mod bounded;
mod call;
mod canon;
mod code;
mod decode;
mod elide;
mod events;
mod exact;
mod fit;
mod frame;
mod indent;
mod known;
mod ladder;
mod margin;
mod merge;
mod near;
mod omission;
mod onto;
mod reflow;
mod refuse;
mod seek;
mod slack;
mod source;
mod statements;
mod steps;
mod style;
mod tokens;
mod window;

use std::ops::Range;

use crate::edit::{EditCode, EditRequest, Explanation, Near, Refusal, Splice};
use crate::text::{Snapshot, counted};

use call::Call;
pub use ladder::{LADDER, Rung};

/// An explained call: where it applies and what is written there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explained {
    /// The replacements, in text offsets of the snapshot.
    pub splices: Vec<Splice>,
    /// How the call was understood.
    pub explanation: Explanation,
}

/// Explains a call against a file, or says why it cannot be.
///
/// ```
/// use restitch::edit::EditRequest;
/// use restitch::matching::explain;
/// use restitch::text::Snapshot;
///
/// let file = Snapshot::from_text("fn main() {\n\tif a {\n\t\tb();\n\t}\n}\n");
/// // Every line has one tab too few.
/// let call = EditRequest::new("if a {\n\tb();\n}", "if a {\n\tc();\n}");
/// let explained = explain(&call, &file)?;
/// assert_eq!(explained.explanation.rung, "indentation");
/// assert_eq!(explained.splices[0].text, "\tif a {\n\t\tc();\n\t}\n");
/// # Ok::<(), restitch::edit::Refusal>(())
/// ```
pub fn explain(request: &EditRequest, snapshot: &Snapshot) -> Result<Explained, Refusal> {
    if request.old.is_empty() {
        return fill(request, snapshot);
    }
    if request.old == request.new {
        return Err(Refusal::new(EditCode::NoChange, "old_str and new_str are the same").hint(
            "Send the text as it shall be in new_str; if the file is right already, go on.",
        ));
    }
    if let Some(old) = request.old.strip_prefix(MARK).filter(|_| !snapshot.text().contains(MARK)) {
        // The mark before the first line is the file's encoding, and not of its text.
        let new = request.new.strip_prefix(MARK).unwrap_or(&request.new);
        let request = EditRequest { old: old.to_owned(), new: new.to_owned(), ..request.clone() };
        return explain(&request, snapshot);
    }
    if let Some(placeholder) = omission::introduced(request, snapshot.text()) {
        return Err(refuse::omission(&placeholder));
    }
    let call = Call::new(request, snapshot);
    for rung in LADDER {
        if let Some(outcome) = rung.explain(&call) {
            let left = outcome.as_ref().ok().and_then(|found| artefacts::left(&call, found));
            return left.map_or(outcome, Err);
        }
    }
    Err(refuse::not_found(&call))
}

/// The byte order mark.
const MARK: char = '\u{feff}';

/// An empty `old_str` fills an empty file and overwrites nothing.
fn fill(request: &EditRequest, snapshot: &Snapshot) -> Result<Explained, Refusal> {
    if !snapshot.text().is_empty() {
        return Err(Refusal::new(
            EditCode::CreateExisting,
            format!("old_str is empty, but the file exists and has {}", counted(snapshot.lines().total(), "line")),
        )
        .hint("To change the file, send the text to replace as old_str. To add to it, quote the line next to the new text."));
    }
    Ok(Explained {
        splices: vec![Splice { range: 0..0, text: request.new.clone() }],
        explanation: Explanation::plain("exact"),
    })
}

/// The regions of a file that are most like a text, best first.
pub fn nearest(snapshot: &Snapshot, old: &str, most: usize) -> Vec<Near> {
    near::nearest(&source::Source::new(snapshot), old, most)
}

/// The text that `new` means when `old` was meant to be `range` of the file: a
/// three-way merge by lines and tokens. `None` when the change runs over something
/// that `old` does not know.
pub fn merge_onto(
    request: &EditRequest,
    snapshot: &Snapshot,
    range: Range<usize>,
) -> Option<String> {
    onto::merge(request, snapshot, range)
}
