//! `edit_lines` on the engine, and what it shares with `hashline_edit`.

use std::sync::Arc;

use super::limits::refuse_too_many_edits;
use super::{CallOptions, Engine};
use crate::edit::{
    EditCode, EditPlan, EditReport, Explanation, Rebase, Refusal, Rung, VerifiedEdit, WorkPath,
};
use crate::hashline::line_map::LineMap;
use crate::hashline::resolver::{
    NumberError, ResolvedSpan, Resolver, SeenVersion, StaleAnchor, StaleCause, is_snapshot_id,
    nearest,
};
use crate::hashline::{anchors::Anchor, stale};
use crate::language::Language;
use crate::line_edit::{self, DecidedEdits, LineChange, LocatedEdit};
use crate::session::{NumberingBasis, VersionRef, numbering_basis};
use crate::text::{LineSpan, Snapshot};

/// The most unseen lines that a refusal shows.
const MAX_REVEALED: usize = 40;

impl Engine {
    /// Edits lines by number. All numbers are of the version that the caller was shown, or
    /// of `snapshot`.
    pub async fn edit_lines(
        &self,
        path: &WorkPath,
        changes: Vec<LineChange>,
        snapshot: Option<&str>,
        options: &CallOptions,
    ) -> Result<EditReport, Refusal> {
        let edit = self
            .prepare_lines(path, changes, snapshot)
            .await
            .map_err(|refusal| refusal.at(path.as_str()))?;
        let mut reports = self.commit(vec![edit], options).await?;
        Ok(reports.remove(0))
    }

    async fn prepare_lines(
        &self,
        path: &WorkPath,
        changes: Vec<LineChange>,
        snapshot: Option<&str>,
    ) -> Result<VerifiedEdit, Refusal> {
        refuse_too_many_edits("edits", changes.len())?;
        if changes.is_empty() {
            return Err(Refusal::new(EditCode::InvalidArguments, "edits is empty")
                .hint("Give at least one {start_line, end_line, new_content}."));
        }
        self.admit(path).await?;
        let current = match self.snapshot(path).await {
            Ok(current) => current,
            Err(refusal) if refusal.code == EditCode::FileNotFound => {
                let at_start = changes.iter().all(|c| c.span == LineSpan { start: 1, end: 0 });
                return if at_start {
                    create(path, changes.into_iter().flat_map(|c| c.lines))
                } else {
                    Err(refusal)
                };
            }
            Err(refusal) => return Err(refusal),
        };
        let versions = self.versions(path, &current, snapshot).await;
        let basis = numbering_basis(&versions, &current, self.seen_answers);
        let mut resolver = Resolver::new(&current, &versions, snapshot, basis.clone());
        let mut explanation = Explanation::plain(Rung::Exact);
        let mut located = Vec::with_capacity(changes.len());
        let mut stale: Vec<StaleAnchor> = Vec::new();
        for (k, change) in changes.into_iter().enumerate() {
            let span = match resolver.resolve_numbers(change.span) {
                Ok(span) => span,
                Err(NumberError::OutOfRange(total)) => {
                    line_edit::check_span(change.span, total)?;
                    continue;
                }
                Err(NumberError::Stale(lost)) => {
                    stale.extend(lost);
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
            located.push(LocatedEdit { number: k + 1, span, lines: change.lines, order: 0 });
        }
        if !stale.is_empty() {
            let mut refusal = stale::refusal(&stale, &current);
            self.name_versions(&mut refusal, &stale, &versions, &basis);
            self.record_fresh_anchors(path, &current, &refusal);
            return Err(refusal);
        }
        explanation.warnings.truncate(4);
        if snapshot.is_none() {
            explanation.warnings.extend(renumbering_warning(
                &located,
                &versions,
                &current,
                &mut resolver,
            ));
            if let NumberingBasis::Versions(of) = &basis
                && of.len() > 1
                && explanation.rung == Rung::Exact
            {
                explanation.warnings.push("the file has changed elsewhere since you read it; the lines you edited were as you saw them".into());
            }
        }
        let anchored = match snapshot {
            // A caller that names the version has read it.
            Some(_) => KnownLines::All,
            None => KnownLines::Lines(Vec::new()),
        };
        self.decide_lines(path, &current, located, explanation, &anchored)
    }

    /// What is written at the places of a call.
    pub(super) fn decide_lines(
        &self,
        path: &WorkPath,
        current: &Snapshot,
        located: Vec<LocatedEdit>,
        mut explanation: Explanation,
        known: &KnownLines,
    ) -> Result<VerifiedEdit, Refusal> {
        let language = Language::from_path(path.as_str());
        let DecidedEdits { changes, rewrites, warnings } =
            line_edit::decide(located, current, language)?;
        explanation.rewrites = rewrites;
        explanation.warnings.extend(warnings);
        explanation.replacements = changes.len();
        self.refuse_unseen(path, &changes, current, known)?;
        verified_edit(path, current, changes, explanation)
    }

    /// The versions that a call may speak of. One that is named and that this session does
    /// not have may be on the store's record.
    pub(super) async fn versions(
        &self,
        path: &WorkPath,
        current: &Snapshot,
        named: Option<&str>,
    ) -> Vec<SeenVersion> {
        let own = self.ledger.versions(path);
        let Some(id) = named else { return own };
        let known = is_snapshot_id(id, current)
            || own.iter().any(|version| is_snapshot_id(id, &version.snapshot));
        if known { own } else { self.recorded_versions(path, Some(id)).await }
    }

    /// Versions of a file on the store's record: from the one named on, or the last few.
    pub(super) async fn recorded_versions(
        &self,
        path: &WorkPath,
        from: Option<&str>,
    ) -> Vec<SeenVersion> {
        let recorded = self.store.recorded_versions(path, from).await;
        let read = recorded.into_iter().filter_map(|bytes| Snapshot::decode(bytes).ok());
        read.map(|snapshot| SeenVersion::new(snapshot, Vec::new())).collect()
    }

    /// Where a gap or a line that the caller names is now, for tools that insert behind a line.
    pub(crate) async fn current_line(
        &self,
        path: &WorkPath,
        current: &Snapshot,
        line: usize,
    ) -> Result<usize, Refusal> {
        let versions = self.ledger.versions(path);
        let basis = numbering_basis(&versions, current, self.seen_answers);
        let mut resolver = Resolver::new(current, &versions, None, basis);
        // The line itself, or the top of the file.
        let span = match line {
            0 => LineSpan { start: 1, end: 0 },
            line => LineSpan { start: line, end: line },
        };
        match resolver.resolve_numbers(span) {
            Ok(span) => Ok(span.end),
            Err(NumberError::OutOfRange(_)) => Ok(line),
            Err(NumberError::Stale(stale)) => {
                let refusal = stale::refusal(&stale, current);
                self.record_fresh_anchors(path, current, &refusal);
                Err(refusal)
            }
        }
    }

    /// Where a line is now, or would be, that the caller named as a hint.
    pub(super) fn current_line_hint(
        &self,
        path: &WorkPath,
        current: &Snapshot,
        line: usize,
    ) -> usize {
        let versions = self.ledger.versions(path);
        let NumberingBasis::Versions(of) = numbering_basis(&versions, current, self.seen_answers)
        else {
            return line;
        };
        match of.first() {
            Some(VersionRef::Recorded(at)) => {
                let mut resolver =
                    Resolver::new(current, &versions, None, NumberingBasis::Versions(of.clone()));
                nearest(&resolver.line_map(*at), line, current)
            }
            _ => line,
        }
    }

    /// Adds the ids of the versions between which the caller has to choose.
    fn name_versions(
        &self,
        refusal: &mut Refusal,
        stale: &[StaleAnchor],
        versions: &[SeenVersion],
        basis: &NumberingBasis,
    ) {
        let NumberingBasis::Versions(of) = basis else { return };
        if stale.iter().all(|one| one.cause != StaleCause::Ambiguous) {
            return;
        }
        let ids: Vec<String> = of
            .iter()
            .filter_map(|at| match at {
                VersionRef::Recorded(at) => Some(stale::short_id(&versions[*at].snapshot)),
                VersionRef::Current => None,
            })
            .collect();
        if let (Some(hint), Some(read)) = (&mut refusal.hint, ids.first()) {
            *hint = hint.replace(
                "or give the snapshot you read",
                &format!("or your old numbers with snapshot \"{read}\", which you read"),
            );
        }
    }

    /// Names lines that the caller would overwrite without ever having seen them.
    pub(super) fn refuse_unseen(
        &self,
        path: &WorkPath,
        changes: &[LineChange],
        current: &Snapshot,
        known: &KnownLines,
    ) -> Result<(), Refusal> {
        let KnownLines::Lines(anchored) = known else { return Ok(()) };
        let mut unseen = Vec::new();
        for span in changes.iter().map(|change| change.span).filter(|s| s.start <= s.end) {
            // A file that was never read may be overwritten; in one that was read in part, the
            // unseen lines are named first.
            unseen.extend(self.ledger.unseen_lines(path, current, span).unwrap_or_default());
        }
        // A matching anchor shows that its line is known, wherever the caller has it from.
        unseen.retain(|gap| (gap.start..=gap.end).any(|number| !anchored.contains(&number)));
        if unseen.is_empty() {
            return Ok(());
        }
        let unseen = stale::merge_ranges(unseen);
        let lines = unseen.iter().flat_map(|gap| gap.start..=gap.end);
        let shown: Vec<usize> = lines.take(MAX_REVEALED).collect();
        let named: Vec<String> =
            unseen.iter().take(8).map(|gap| format!("{}-{}", gap.start, gap.end)).collect();
        let mut refusal = Refusal::new(
            EditCode::Blocked,
            format!("the edit overwrites lines you have not seen: {}", named.join(", ")),
        );
        refusal.anchors = shown
            .iter()
            .filter_map(|&number| Some(stale::render_clipped(number, current.line(number)?)))
            .collect();
        refusal.affected_ranges = unseen.clone();
        let all: usize = unseen.iter().map(|gap| gap.end + 1 - gap.start).sum();
        refusal.hint = Some(if all <= MAX_REVEALED {
            let spans: Vec<LineSpan> =
                shown.iter().map(|&number| LineSpan { start: number, end: number }).collect();
            self.ledger.record_shown(path, current, &spans, self.call);
            "They are shown above; send the same call again to replace them.".into()
        } else {
            format!(
                "Read ranges {} first, then send the call again.",
                stale::format_ranges(&unseen)
            )
        });
        Err(refusal)
    }

    /// Records the lines of a stale answer as shown, so that its anchors can be used next.
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
            self.ledger.record_shown(path, current, &shown, self.call);
        }
    }
}

/// Which of the lines named in a call the caller certainly knows.
pub(super) enum KnownLines {
    /// Everything.
    All,
    /// These.
    Lines(Vec<usize>),
}

impl KnownLines {
    /// What the names of a range prove.
    pub(super) fn of(first: &Anchor, last: &Anchor, snapshot: Option<&str>) -> Self {
        match snapshot {
            Some(_) => Self::All,
            None if first.id.is_empty() => Self::Lines(Vec::new()),
            None => Self::Lines(vec![first.line, last.line]),
        }
    }
}

/// The lines that a caller names by anchors, or by numbers, which are anchors without letters.
pub(super) async fn find_span(
    engine: &Engine,
    path: &WorkPath,
    current: &Snapshot,
    first: &Anchor,
    last: &Anchor,
    snapshot: Option<&str>,
) -> Result<ResolvedSpan, Refusal> {
    let versions = engine.versions(path, current, snapshot).await;
    let basis = numbering_basis(&versions, current, engine.seen_answers);
    let mut resolver = Resolver::new(current, &versions, snapshot, basis.clone());
    let named = LineSpan { start: first.line, end: last.line };
    let stale = if first.id.is_empty() {
        match resolver.resolve_numbers(named) {
            Ok(span) => return Ok(ResolvedSpan { span, named }),
            Err(NumberError::OutOfRange(total)) => {
                line_edit::check_span(named, total)?;
                Vec::new()
            }
            Err(NumberError::Stale(stale)) => stale,
        }
    } else {
        match resolver.resolve(first, last) {
            Ok(found) => return Ok(found),
            Err(stale) if snapshot.is_some() => stale,
            Err(_) => {
                // Another process may have moved the lines: its record tells where they are.
                let recorded = engine.recorded_versions(path, None).await;
                let resolver = Resolver::new(current, &versions, snapshot, basis.clone());
                match resolver.with_recorded_versions(&recorded).resolve(first, last) {
                    Ok(found) => return Ok(found),
                    Err(stale) => stale,
                }
            }
        }
    };
    let mut refusal = stale::refusal(&stale, current);
    engine.name_versions(&mut refusal, &stale, &versions, &basis);
    engine.record_fresh_anchors(path, current, &refusal);
    Err(refusal)
}

/// A warning for a caller that has received the answer to its edit, but may still use the numbers
/// of its read: some clients execute several calls of one turn before they show the model any
/// answer.
fn renumbering_warning(
    located: &[LocatedEdit],
    versions: &[SeenVersion],
    current: &Snapshot,
    resolver: &mut Resolver<'_>,
) -> Option<String> {
    let last = versions.last().filter(|last| last.snapshot == *current)?;
    let covers = |spans: &[LineSpan], line: usize| {
        spans.iter().any(|span| (span.start..=span.end).contains(&line))
    };
    located.iter().find_map(|edit| {
        let line = edit.span.start;
        if covers(&last.numbered, line) {
            return None;
        }
        let at = versions.iter().rposition(|version| covers(&version.numbered, line))?;
        let now = resolver.line_map(at).line(line).filter(|now| *now != line)?;
        Some(format!(
            "line numbers are taken to be those after your last edit; what you read as line {line} is now line {now}"
        ))
    })
}

/// The edit that makes these line changes; on a newer version they are made again where the lines
/// are then.
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
                let now = newer.lines().total();
                Some(LineSpan { start: now + 1, end: now })
            } else if at_top {
                Some(change.span)
            } else {
                map.span(change.span)
            };
            change.span = span.ok_or_else(|| {
                let anchor = Anchor { line: change.span.start, id: String::new() };
                let near = anchor.line.clamp(1, newer.lines().total().max(1));
                stale::refusal(&[StaleAnchor::new(anchor, StaleCause::Changed, near)], newer)
                    .at(path.as_str())
            })?;
        }
        let plan = EditPlan::new(newer, line_edit::splices(newer, moved)?)?;
        VerifiedEdit::new(path.clone(), newer, plan, explanation.clone())
    });
    Ok(edit.with_rebase(rebase))
}

pub(super) fn create(
    path: &WorkPath,
    lines: impl Iterator<Item = String>,
) -> Result<VerifiedEdit, Refusal> {
    let content: String = lines.flat_map(|line| [line, "\n".to_owned()]).collect();
    VerifiedEdit::create(path.clone(), &content, Explanation::plain(Rung::Create))
}
