//! Proof by structure: the file was whole, with the lines as sent it is not, and only one
//! way to undo a mistake leaves it whole.

use crate::edit::{EditPlan, Rewrite};
use crate::language::{Language, Lexed, TokenKind};
use crate::line_edit::{changes_of, splices};
use crate::text::Snapshot;

use super::echo::{cut, echo_at_head, echo_at_tail};
use super::indentation::depths;
use super::{Draft, Notes};

/// How often a call may ask whether the whole file would hold together.
pub(super) const MOST_TRIALS: usize = 64;

/// The whole file under the call, as its language sees it.
pub(super) struct Structure<'a> {
    file: &'a Snapshot,
    /// `None` where nothing can be proven: an unknown language, or a file that is broken.
    pub(super) language: Option<&'static Language>,
    lexed: Option<Lexed>,
    left: usize,
}

impl<'a> Structure<'a> {
    pub(super) fn of(
        file: &'a Snapshot,
        language: Option<&'static Language>,
        drafts: &[Draft],
    ) -> Self {
        let language = language
            .filter(|_| !drafts.is_empty())
            .filter(|language| language.is_lexed() && language.is_well_formed(file.text()));
        let lexed = language.map(|language| language.lex(file.text()));
        Self { file, language, lexed, left: MOST_TRIALS }
    }

    /// Whether a line begins within a literal or a comment.
    pub(super) fn begins_inside(&self, line: usize) -> bool {
        let start = self.file.lines().start(line);
        self.lexed.as_ref().is_some_and(|lexed| {
            let token = lexed.tokens.partition_point(|token| token.range.end <= start);
            lexed
                .tokens
                .get(token)
                .is_some_and(|token| token.kind != TokenKind::Code && token.range.start < start)
        })
    }

    /// Whether the file holds together after these drafts; `None` where that is not known.
    fn holds(&mut self, drafts: &[Draft]) -> Option<bool> {
        let language = self.language?;
        self.left = self.left.checked_sub(1)?;
        let splices = splices(self.file, changes_of(drafts)).ok()?;
        let plan = EditPlan::new(self.file, splices).ok()?;
        Some(language.is_well_formed(&plan.text_after()))
    }

    /// The same, with other lines for one draft.
    pub(super) fn holds_with(
        &mut self,
        drafts: &[Draft],
        at: usize,
        lines: &[String],
    ) -> Option<bool> {
        let mut tried = drafts.to_vec();
        tried[at].lines = lines.to_vec();
        self.holds(&tried)
    }
}

/// If the file would not be well formed with the call as sent, undoes one mistake in each edit
/// that is at fault: lost indentation, or a copy of the lines around it.
pub(super) fn by_structure(
    drafts: &mut [Draft],
    file: &Snapshot,
    structure: &mut Structure<'_>,
    notes: &mut Notes,
) {
    if structure.holds(drafts) != Some(false) {
        return;
    }
    let mut mended = drafts.to_vec();
    let mut said = notes.clone();
    for at in 0..drafts.len() {
        if structure.holds(&mended[at..=at]) == Some(false) {
            mend(&mut mended, at, file, structure, &mut said);
        }
    }
    if structure.holds(&mended) == Some(true) {
        drafts.clone_from_slice(&mended);
        *notes = said;
        return;
    }
    notes.warnings.push(
        "the file was well formed before this call and is not now: check brackets, quotes and indentation".to_owned(),
    );
}

/// How many lines were taken off at either end, and the lines that are left.
type Mended = ((usize, usize), Vec<String>);

/// Undoes the mistake of one edit, if there is one way to do so.
fn mend(
    drafts: &mut [Draft],
    at: usize,
    file: &Snapshot,
    structure: &mut Structure<'_>,
    notes: &mut Notes,
) {
    let (head, tail) = (echo_at_head(drafts, at, file), echo_at_tail(drafts, at, file));
    let sent = drafts[at].lines.clone();
    let mut cuts = vec![(head, 0), (0, tail), (head, tail)];
    cuts.dedup();
    cuts.retain(|(head, tail)| head + tail > 0 && head + tail <= sent.len());
    let kept = |(head, tail): (usize, usize)| sent[head..sent.len() - tail].to_vec();
    let moved = |cuts: (usize, usize)| {
        let all = depths(&drafts[at], &kept(cuts), drafts, file, structure.language);
        all.into_iter().map(move |lines| (cuts, lines)).collect::<Vec<_>>()
    };
    // From the strictest to the laxest: an exact copy taken off, lines moved, both.
    let tiers: [Vec<Mended>; 3] = [
        cuts.iter().map(|&cuts| (cuts, kept(cuts))).collect(),
        moved((0, 0)),
        cuts.iter().flat_map(|&cuts| moved(cuts)).collect(),
    ];
    let mut found: Vec<Mended> = Vec::new();
    for tier in tiers {
        for (cuts, lines) in tier {
            let is_new = lines != sent && found.iter().all(|(_, other)| *other != lines);
            let alone = Draft { lines: lines.clone(), ..drafts[at].clone() };
            if is_new && structure.holds(&[alone]) == Some(true) {
                found.push((cuts, lines));
            }
        }
        if !found.is_empty() {
            break;
        }
    }
    let [(cuts, lines)] = found.as_slice() else { return };
    let (cuts, lines) = (*cuts, lines.clone());
    if cuts != (0, 0) {
        cut(drafts, at, cuts, notes);
    }
    if drafts[at].lines != lines {
        drafts[at].lines = lines;
        notes.did(
            Rewrite::RestoreIndent,
            format!("edit {}: gave its lines the indentation of the place; as sent, the file would not be well formed", drafts[at].number),
        );
    }
}
