//! `edit_lines` on the engine, and what it shares with `hashline_edit`.

use std::sync::Arc;

use super::limits::refuse_too_many_edits;
use super::{CallOptions, Engine};
use crate::edit::{
    EditCode, EditPlan, EditReport, Explanation, Rebase, Refusal, Rung, VerifiedEdit, WorkPath,
};
use crate::hashline::anchors::Anchor;
use crate::hashline::line_map::LineMap;
use crate::hashline::numbering::{NumberingBasis, SeenVersion, VersionRef, numbering_basis};
use crate::hashline::resolver::{NumberError, Resolver, nearest};
use crate::hashline::stale::{self, StaleAnchor, StaleCause};
use crate::language::Language;
use crate::line_edit::{self, DecidedEdits, LineChange, LocatedEdit};
use crate::text::{LineSpan, Snapshot, format_ranges, merge_ranges};

/// A refusal shows at most this many unseen lines.
const MAX_REVEALED: usize = 40;

/// The message of a refusal names at most this many ranges of unseen lines.
const MAX_NAMED_RANGES: usize = 8;

/// At most this many warnings about lines that have moved.
const MAX_MOVE_WARNINGS: usize = 4;

/// What may be done to the new lines.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Repairs {
    /// Nothing.
    None,
    /// What is proven to be a mistake is repaired.
    Proven,
}

impl Engine {
    /// Edits lines by number. The numbers are those of the version that the caller was shown, or of
    /// the version with the id `snapshot`.
    pub async fn edit_lines(
        &self,
        path: &WorkPath,
        changes: Vec<LineChange>,
        snapshot: Option<&str>,
        options: &CallOptions,
    ) -> Result<EditReport, Refusal> {
        let edit = self.prepare_lines(path, changes, snapshot, Repairs::Proven).await;
        self.commit_one(edit.map_err(|refusal| refusal.at(path.as_str()))?, options).await
    }

    /// Inserts lines after a line of a file, as they are.
    pub(crate) async fn insert_lines(
        &self,
        path: &WorkPath,
        after: usize,
        lines: Vec<String>,
        options: &CallOptions,
    ) -> Result<EditReport, Refusal> {
        let change = LineChange { span: LineSpan { start: after + 1, end: after }, lines };
        let edit = self.prepare_lines(path, vec![change], None, Repairs::None).await;
        self.commit_one(edit.map_err(|refusal| refusal.at(path.as_str()))?, options).await
    }

    /// The checked edit of a call by line numbers.
    async fn prepare_lines(
        &self,
        path: &WorkPath,
        changes: Vec<LineChange>,
        snapshot: Option<&str>,
        repairs: Repairs,
    ) -> Result<VerifiedEdit, Refusal> {
        refuse_too_many_edits("edits", changes.len())?;
        if changes.is_empty() {
            return Err(Refusal::invalid(
                "edits is empty",
                "Give at least one {start_line, end_line, new_content}.",
            ));
        }
        self.admit(path).await?;
        let current = match self.snapshot(path).await {
            Ok(current) => current,
            Err(refusal) if refusal.code == EditCode::FileNotFound => {
                let top = LineSpan { start: 1, end: 0 };
                return if changes.iter().all(|change| change.span == top) {
                    create(path, changes.into_iter().flat_map(|change| change.lines))
                } else {
                    Err(refusal)
                };
            }
            Err(refusal) => return Err(refusal),
        };
        let versions = self.versions(path, &current, snapshot).await;
        let mut resolver = Resolver::new(&current, &versions, snapshot);
        let mut explanation = Explanation::plain(Rung::Exact);
        let mut located = Vec::with_capacity(changes.len());
        let mut stale_anchors: Vec<StaleAnchor> = Vec::new();
        for (index, change) in changes.into_iter().enumerate() {
            let span = match resolver.resolve_numbers(change.span, &change.lines) {
                Ok(span) => span,
                Err(NumberError::OutOfRange(total)) => {
                    line_edit::check_span(change.span, total)?;
                    continue;
                }
                Err(NumberError::Stale(anchors)) => {
                    stale_anchors.extend(anchors);
                    continue;
                }
            };
            if span != change.span {
                explanation.rung = Rung::Carried;
                explanation.warnings.push(format!(
                    "the file has changed since you were shown it: what was {} is now {span}, where the edit was made",
                    change.span
                ));
            }
            located.push(LocatedEdit { number: index + 1, span, lines: change.lines, order: 0 });
        }
        let was_changed_by_others =
            !versions.is_empty() && versions.last().is_none_or(|last| last.snapshot != current);
        if !stale_anchors.is_empty() {
            let read = read_version(&stale_anchors, &versions, &current);
            let refusal = stale::refusal(&stale_anchors, &current, read.as_deref());
            // A line that another program has changed where it stands is shown by the refusal. One that
            // the session itself has changed may be meant as it was, by calls that are sent already.
            let changed = stale_anchors.iter().filter(|anchor| {
                was_changed_by_others
                    && matches!(anchor.cause, StaleCause::Changed | StaleCause::ChangedInOlder)
                    && anchor.near == anchor.anchor.line
            });
            let changed = changed.map(|anchor| LineSpan { start: anchor.near, end: anchor.near });
            self.ledger.record_read(path, &current, &changed.collect::<Vec<_>>());
            self.record_fresh_anchors(path, &current, &refusal);
            return Err(refusal);
        }
        explanation.warnings.truncate(MAX_MOVE_WARNINGS);
        if snapshot.is_none() && was_changed_by_others && explanation.rung == Rung::Exact {
            explanation.warnings.push(
                "the file has changed since you read it, but not in the lines you edited".into(),
            );
        }
        if repairs == Repairs::None {
            explanation.replacements = located.len();
            return verified_edit(path, &current, line_edit::to_changes(&located), explanation);
        }
        // A caller that names the version has read it.
        let known = if snapshot.is_some() { None } else { Some(&[][..]) };
        self.decide_lines(path, &current, located, explanation, known)
    }

    /// The checked edit of lines whose current numbers are known. `known` has the lines that the caller
    /// must have seen, as its call shows; `None` stands for every line.
    pub(super) fn decide_lines(
        &self,
        path: &WorkPath,
        current: &Snapshot,
        located: Vec<LocatedEdit>,
        mut explanation: Explanation,
        known: Option<&[usize]>,
    ) -> Result<VerifiedEdit, Refusal> {
        let language = Language::from_path(path.as_str());
        let DecidedEdits { changes, rewrites, warnings } =
            line_edit::decide(located, current, language, &|change| {
                let splices = line_edit::splices(current, vec![change]).ok()?;
                self.syntax.adds_errors(path, current, &splices)
            })?;
        explanation.rewrites = rewrites;
        explanation.warnings.extend(warnings);
        explanation.replacements = changes.len();
        self.refuse_unseen(path, &changes, current, known)?;
        verified_edit(path, current, changes, explanation)
    }

    /// The versions that the numbers or anchors of a call may come from: those that this session
    /// was shown. If `named` is none of them, versions from the history of the store.
    pub(super) async fn versions(
        &self,
        path: &WorkPath,
        current: &Snapshot,
        named: Option<&str>,
    ) -> Vec<SeenVersion> {
        let session_versions = self.ledger.versions(path);
        let Some(id) = named else { return session_versions };
        let is_known = current.hash().is_named_by(id)
            || session_versions.iter().any(|version| version.snapshot.hash().is_named_by(id));
        if is_known { session_versions } else { self.recorded_versions(path, Some(id)).await }
    }

    /// Versions of a file from the history of the store: the last few or, if `from` is given, the
    /// version with that id and those after it.
    pub(super) async fn recorded_versions(
        &self,
        path: &WorkPath,
        from: Option<&str>,
    ) -> Vec<SeenVersion> {
        let Some(history) = self.store.history() else { return Vec::new() };
        let recorded = history.recorded_versions(path, from).await;
        let decoded = recorded.into_iter().filter_map(|bytes| Snapshot::decode(bytes).ok());
        decoded.map(|snapshot| SeenVersion::new(snapshot, Vec::new())).collect()
    }

    /// The current number of a line that the caller names only as a hint; `None` where it is in doubt
    /// which line is meant.
    pub(super) fn current_line_hint(
        &self,
        path: &WorkPath,
        current: &Snapshot,
        line: usize,
    ) -> Option<usize> {
        let versions = self.ledger.versions(path);
        let named = LineSpan { start: line, end: line };
        let NumberingBasis::Versions(basis) = numbering_basis(&versions, current, named) else {
            return None;
        };
        let mut resolver = Resolver::new(current, &versions, None);
        let mut lines = basis.into_iter().map(|version| match version {
            VersionRef::Current => line,
            VersionRef::Recorded(at) => nearest(&resolver.line_map(at), line, current),
        });
        let first = lines.next()?;
        lines.all(|other| other == first).then_some(first)
    }

    /// Refuses an edit that would overwrite unseen lines of a file that the caller has read in
    /// part. The refusal shows these lines.
    pub(super) fn refuse_unseen(
        &self,
        path: &WorkPath,
        changes: &[LineChange],
        current: &Snapshot,
        known: Option<&[usize]>,
    ) -> Result<(), Refusal> {
        let Some(anchored) = known else { return Ok(()) };
        let mut unseen = Vec::new();
        let overwritten = changes.iter().map(|change| change.span).filter(|span| !span.is_empty());
        for span in overwritten {
            // `None` means that the caller has read nothing of the file; then any line may be overwritten.
            unseen.extend(self.ledger.unseen_lines(path, current, span).unwrap_or_default());
        }
        // A matching anchor proves that the caller knows its line.
        unseen.retain(|span| (span.start..=span.end).any(|number| !anchored.contains(&number)));
        if unseen.is_empty() {
            return Ok(());
        }
        let unseen = merge_ranges(unseen);
        let lines = unseen.iter().flat_map(|span| span.start..=span.end);
        let shown: Vec<usize> = lines.take(MAX_REVEALED).collect();
        let ranges = format_ranges(unseen.iter().take(MAX_NAMED_RANGES));
        let mut refusal = Refusal::new(
            EditCode::Blocked,
            format!("the edit overwrites lines you have not seen: {ranges}"),
        );
        refusal.anchors = shown
            .iter()
            .filter_map(|&number| Some(stale::render_clipped(number, current.line(number)?)))
            .collect();
        refusal.affected_ranges = unseen.clone();
        let unseen_count: usize = unseen.iter().map(|span| span.len()).sum();
        let hint = if unseen_count <= MAX_REVEALED {
            let spans: Vec<LineSpan> =
                shown.iter().map(|&number| LineSpan { start: number, end: number }).collect();
            self.ledger.record_shown(path, current, &spans);
            "They are shown above; send the same call again to replace them.".to_owned()
        } else {
            format!("Read ranges {} first, then send the call again.", format_ranges(&unseen))
        };
        Err(refusal.hint(hint))
    }

    /// Records that a refusal has shown lines with fresh anchors, so that the next call can use
    /// them.
    pub(super) fn record_fresh_anchors(
        &self,
        path: &WorkPath,
        current: &Snapshot,
        refusal: &Refusal,
    ) {
        let shown: Vec<LineSpan> = refusal
            .anchors
            .iter()
            .filter_map(|raw| Anchor::parse(raw).ok())
            .map(|anchor| LineSpan { start: anchor.line, end: anchor.line })
            .collect();
        if !shown.is_empty() {
            self.ledger.record_shown(path, current, &shown);
        }
    }
}

/// The id of the version whose numbers were shown first, if an anchor is ambiguous.
fn read_version(
    stale_anchors: &[StaleAnchor],
    versions: &[SeenVersion],
    current: &Snapshot,
) -> Option<String> {
    let ambiguous = stale_anchors.iter().find(|anchor| anchor.cause == StaleCause::Ambiguous)?;
    let (named, _) = ambiguous.lines?;
    let NumberingBasis::Versions(basis) = numbering_basis(versions, current, named) else {
        return None;
    };
    basis.iter().find_map(|version| match version {
        VersionRef::Recorded(index) if !versions[*index].read.is_empty() => {
            Some(versions[*index].snapshot.hash().short())
        }
        _ => None,
    })
}

/// The checked edit with these line changes. If the file changes before the commit, the edit is
/// made at the new numbers of the lines.
pub(super) fn verified_edit(
    path: &WorkPath,
    current: &Snapshot,
    changes: Vec<LineChange>,
    explanation: Explanation,
) -> Result<VerifiedEdit, Refusal> {
    let plan = EditPlan::new(current, line_edit::splices(current, changes.clone())?)?;
    let edit = VerifiedEdit::new(path.clone(), current, plan, explanation.clone())?;
    let (path, origin) = (path.clone(), current.clone());
    let rebase: Rebase = Arc::new(move |newer: &Snapshot| {
        let map = LineMap::diff(&origin, newer);
        let total = origin.lines().total();
        let mut moved = changes.clone();
        for change in &mut moved {
            let at_end = change.span.start == total + 1;
            let at_top = change.span == LineSpan { start: 1, end: 0 };
            let span = if at_end {
                let newer_total = newer.lines().total();
                Some(LineSpan { start: newer_total + 1, end: newer_total })
            } else if at_top {
                Some(change.span)
            } else {
                map.span(change.span)
            };
            change.span = span.ok_or_else(|| {
                let anchor = Anchor { line: change.span.start, id: String::new() };
                let near = anchor.line.clamp(1, newer.lines().total().max(1));
                stale::refusal(&[StaleAnchor::new(anchor, StaleCause::Changed, near)], newer, None)
                    .at(path.as_str())
            })?;
        }
        let plan = EditPlan::new(newer, line_edit::splices(newer, moved)?)?;
        VerifiedEdit::new(path.clone(), newer, plan, explanation.clone())
    });
    Ok(edit.with_rebase(rebase))
}

/// The checked edit that creates a file with these lines.
pub(super) fn create(
    path: &WorkPath,
    lines: impl Iterator<Item = String>,
) -> Result<VerifiedEdit, Refusal> {
    let content: String = lines.flat_map(|line| [line, "\n".to_owned()]).collect();
    VerifiedEdit::create(path.clone(), &content, Explanation::plain(Rung::Create))
}
