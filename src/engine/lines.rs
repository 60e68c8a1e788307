//! `edit_lines` and `hashline_edit` on the engine.

use std::sync::Arc;

use super::limits::admit_edits;
use super::{CallOptions, Engine};
use crate::edit::{
    After, EditCode, EditPlan, EditReport, Explanation, Rebase, Refusal, Rung, VerifiedEdit,
    WorkPath,
};
use crate::hashline::carry::LineMap;
use crate::hashline::ops::{self, HashlineEdit, Op};
use crate::hashline::resolve::{Cause, Stale};
use crate::hashline::{anchors::Anchor, stale};
use crate::line_edit::{self, LineChange};
use crate::session::{Staleness, Unread};
use crate::text::{LineSpan, Snapshot};

/// The most unseen lines that a refusal shows.
const MOST_REVEALED: usize = 40;

/// A call of `hashline_edit`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HashlineRequest {
    /// The edits, all in terms of the file as it was read.
    pub edits: Vec<HashlineEdit>,
    /// Removes the file.
    pub delete: bool,
    /// Where the result goes instead.
    pub rename: Option<WorkPath>,
    /// The version that the anchors come from: its id, or the first digits of it.
    pub snapshot: Option<String>,
}

impl Engine {
    /// Edits lines by number. All numbers are of the file as it is, or of `snapshot`.
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
        mut changes: Vec<LineChange>,
        snapshot: Option<&str>,
    ) -> Result<VerifiedEdit, Refusal> {
        admit_edits("edits", changes.len())?;
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
        let mut explanation = Explanation::plain(Rung::Exact);
        if let Some(id) = snapshot {
            explanation.rung = self.carry_numbers(path, &mut changes, &current, id)?;
        } else {
            let total = current.lines().total();
            for change in &changes {
                line_edit::check_span(change.span, total)?;
            }
            self.check_freshness(path, &changes, &current, &mut explanation.warnings)?;
        }
        for (k, change) in changes.iter_mut().enumerate() {
            let name = format!("edit {}", k + 1);
            let notes = crate::hashline::prefixes(&name, change, &current);
            explanation.rewrites.extend(notes.rewrites);
            explanation.warnings.extend(notes.warnings);
        }
        explanation.rewrites.dedup();
        explanation.replacements = changes.len();
        self.check_seen(path, &changes, &current, &[])?;
        verified(path, &current, changes, explanation)
    }

    /// Carries numbers of an older version to the present file.
    fn carry_numbers(
        &self,
        path: &WorkPath,
        changes: &mut [LineChange],
        current: &Snapshot,
        id: &str,
    ) -> Result<Rung, Refusal> {
        let id = id.trim().to_ascii_lowercase();
        let is = |version: &Snapshot| id.len() >= 8 && version.hash().to_string().starts_with(&id);
        let versions = self.ledger.versions(path);
        let origin = match versions.iter().rfind(|version| is(&version.snapshot)) {
            _ if is(current) => current.clone(),
            Some(version) => version.snapshot.clone(),
            None => {
                let spans = changes.iter().map(|change| change.span);
                return Err(stale_lines(spans, Cause::UnknownSnapshot, current, path, self));
            }
        };
        let way = LineMap::between(&origin, current);
        let mut rung = Rung::Exact;
        for change in changes {
            line_edit::check_span(change.span, origin.lines().total())?;
            let span = if change.span.start == origin.lines().total() + 1 {
                let total = current.lines().total();
                LineSpan { start: total + 1, end: total }
            } else {
                way.span(change.span).ok_or_else(|| {
                    stale_lines([change.span], Cause::Changed, current, path, self)
                })?
            };
            if span != change.span {
                rung = Rung::Carried;
            }
            change.span = span;
        }
        Ok(rung)
    }

    /// Numbers are worth what the caller knows about the lines under them.
    fn check_freshness(
        &self,
        path: &WorkPath,
        changes: &[LineChange],
        current: &Snapshot,
        warnings: &mut Vec<String>,
    ) -> Result<(), Refusal> {
        let states: Vec<Staleness> =
            changes.iter().map(|c| self.ledger.staleness(path, current, c.span)).collect();
        let changed = changes.iter().zip(&states).filter(|(_, s)| **s == Staleness::Changed);
        let changed: Vec<LineSpan> = changed.map(|(change, _)| change.span).collect();
        if !changed.is_empty() {
            return Err(stale_lines(changed, Cause::Changed, current, path, self));
        }
        if states.contains(&Staleness::ElsewhereChanged) {
            warnings.push("the file changed elsewhere since you read it; the lines you edited are as you saw them".into());
        }
        Ok(())
    }

    /// Names lines that the caller would overwrite without ever having seen them.
    fn check_seen(
        &self,
        path: &WorkPath,
        changes: &[LineChange],
        current: &Snapshot,
        anchored: &[usize],
    ) -> Result<(), Refusal> {
        let mut unseen = Vec::new();
        for span in changes.iter().map(|change| change.span).filter(|s| s.start <= s.end) {
            match (self.unread, self.ledger.unseen(path, current, span)) {
                (Unread::Allow, _) | (Unread::Reveal, None) => {}
                (Unread::Refuse, None) => unseen.push(span),
                (_, Some(gaps)) => unseen.extend(gaps),
            }
        }
        // A matching anchor shows that its line is known, wherever the caller has it from.
        unseen.retain(|gap| (gap.start..=gap.end).any(|number| !anchored.contains(&number)));
        if unseen.is_empty() {
            return Ok(());
        }
        let unseen = stale::merge_ranges(unseen);
        let lines = unseen.iter().flat_map(|gap| gap.start..=gap.end);
        let shown: Vec<usize> = lines.take(MOST_REVEALED).collect();
        let named: Vec<String> =
            unseen.iter().take(8).map(|gap| format!("{}-{}", gap.start, gap.end)).collect();
        let mut refusal = Refusal::new(
            EditCode::Blocked,
            format!("the edit overwrites lines you have not seen: {}", named.join(", ")),
        );
        refusal.anchors = shown
            .iter()
            .filter_map(|&number| Some(stale::clipped(number, current.line(number)?)))
            .collect();
        refusal.affected_ranges = unseen.clone();
        let all: usize = unseen.iter().map(|gap| gap.end + 1 - gap.start).sum();
        refusal.hint = Some(if all <= MOST_REVEALED {
            let spans: Vec<LineSpan> =
                shown.iter().map(|&number| LineSpan { start: number, end: number }).collect();
            self.ledger.saw(path, current, &spans);
            "They are shown above; send the same call again if they shall go.".into()
        } else {
            "Read affected_ranges first, then send the call again.".into()
        });
        Err(refusal)
    }

    /// Edits lines by anchor, removes a file, or moves its result elsewhere.
    pub async fn hashline_edit(
        &self,
        path: &WorkPath,
        request: &HashlineRequest,
        options: &CallOptions,
    ) -> Result<EditReport, Refusal> {
        self.hashline(path, request, options).await.map_err(|refusal| refusal.at(path.as_str()))
    }

    async fn hashline(
        &self,
        path: &WorkPath,
        request: &HashlineRequest,
        options: &CallOptions,
    ) -> Result<EditReport, Refusal> {
        self.admit(path).await?;
        if request.delete {
            return self.delete(path, request, options).await;
        }
        let edit = match self.snapshot(path).await {
            Ok(current) => self.prepare_anchored(path, request, &current)?,
            Err(refusal) if refusal.code == EditCode::FileNotFound => {
                Some(created(path, request, refusal)?)
            }
            Err(refusal) => return Err(refusal),
        };
        let Some(to) = &request.rename else {
            let edit = edit.ok_or_else(no_edits)?;
            let mut reports = self.commit(vec![edit], options).await?;
            return Ok(reports.remove(0));
        };
        self.rename(path, to, edit, options).await
    }

    fn prepare_anchored(
        &self,
        path: &WorkPath,
        request: &HashlineRequest,
        current: &Snapshot,
    ) -> Result<Option<VerifiedEdit>, Refusal> {
        if request.edits.is_empty() && request.rename.is_some() {
            return Ok(None);
        }
        let versions = self.ledger.versions(path);
        admit_edits("edits", request.edits.len())?;
        let decided = ops::decide(&request.edits, current, &versions, request.snapshot.as_deref())
            .inspect_err(|refusal| self.saw_fresh_anchors(path, current, refusal))?;
        let mut explanation =
            Explanation::plain(if decided.carried { Rung::Carried } else { Rung::Exact });
        explanation.rewrites = decided.rewrites;
        explanation.warnings = decided.warnings;
        explanation.replacements = decided.changes.len();
        let anchored: Vec<usize> =
            decided.changes.iter().flat_map(|c| [c.span.start, c.span.end]).collect();
        self.check_seen(path, &decided.changes, current, &anchored)?;
        verified(path, current, decided.changes, explanation).map(Some)
    }

    /// The lines of a stale answer count as shown, so that its anchors work next.
    fn saw_fresh_anchors(&self, path: &WorkPath, current: &Snapshot, refusal: &Refusal) {
        let shown: Vec<LineSpan> = refusal
            .anchors
            .iter()
            .filter_map(|raw| Anchor::parse(raw).ok())
            .map(|anchor| LineSpan { start: anchor.line, end: anchor.line })
            .collect();
        if !shown.is_empty() {
            self.ledger.saw(path, current, &shown);
        }
    }

    async fn delete(
        &self,
        path: &WorkPath,
        request: &HashlineRequest,
        options: &CallOptions,
    ) -> Result<EditReport, Refusal> {
        if !request.edits.is_empty() || request.rename.is_some() {
            return Err(Refusal::new(
                EditCode::InvalidArguments,
                "delete removes the whole file and takes neither edits nor rename",
            )
            .hint("Send delete with edits: [], or to delete lines use replace with lines: null."));
        }
        let before = self.snapshot(path).await?;
        let explanation = Explanation::plain(Rung::Delete);
        let edit = VerifiedEdit::restore(path.clone(), Some(before), After::Removed, explanation);
        let mut reports = self.commit(vec![edit], options).await?;
        Ok(reports.remove(0))
    }

    /// Writes the result under the new name and removes the old one, both or neither.
    async fn rename(
        &self,
        from: &WorkPath,
        to: &WorkPath,
        edit: Option<VerifiedEdit>,
        options: &CallOptions,
    ) -> Result<EditReport, Refusal> {
        if from == to {
            return Err(Refusal::new(EditCode::InvalidArguments, "rename is the file's own path")
                .hint("Leave rename out, or give another path."));
        }
        let before = self.snapshot(from).await?;
        let explanation = edit
            .as_ref()
            .map_or_else(|| Explanation::plain(Rung::Rename), |edit| edit.explanation().clone());
        let content = match edit.as_ref().map(VerifiedEdit::after) {
            Some(After::Content(content)) => content.clone(),
            _ => before.clone().into(),
        };
        let make = VerifiedEdit::restore(to.clone(), None, After::Content(content), explanation);
        let remove = VerifiedEdit::restore(
            from.clone(),
            Some(before),
            After::Removed,
            Explanation::plain(Rung::Rename),
        );
        let mut reports = self.commit(vec![make, remove], options).await?;
        let made = reports.remove(0);
        let mut report = match edit {
            None => made,
            // What changed is said in terms of the file that was edited.
            Some(edit) => EditReport {
                path: made.path,
                revision: made.revision,
                durability: made.durability,
                explanation: made.explanation,
                after_sha256: made.after_sha256,
                ..EditReport::new(&edit)
            },
        };
        report.explanation.warnings.push(format!("`{from}` is now `{to}`"));
        Ok(report)
    }
}

fn no_edits() -> Refusal {
    Refusal::new(EditCode::InvalidArguments, "edits is empty")
        .hint("Give at least one {op, pos, end, lines}, or delete or rename.")
}

/// Fresh anchors for spans of numbers that do not hold any more.
fn stale_lines(
    spans: impl IntoIterator<Item = LineSpan>,
    cause: Cause,
    current: &Snapshot,
    path: &WorkPath,
    engine: &Engine,
) -> Refusal {
    let total = current.lines().total();
    let lines = spans.into_iter().flat_map(|span| [span.start, span.end.max(span.start)]);
    let mut stale: Vec<Stale> = lines
        .map(|line| Stale {
            anchor: Anchor { line, id: String::new() },
            cause,
            near: line.clamp(1, total.max(1)),
        })
        .collect();
    stale.dedup();
    let refusal = stale::refusal(&stale, current);
    engine.saw_fresh_anchors(path, current, &refusal);
    refusal
}

/// A plan from line changes, decided again in the same way on a newer version.
fn verified(
    path: &WorkPath,
    current: &Snapshot,
    changes: Vec<LineChange>,
    explanation: Explanation,
) -> Result<VerifiedEdit, Refusal> {
    let plan = EditPlan::new(current, line_edit::splices(current, changes.clone())?)?;
    let edit = VerifiedEdit::new(path.clone(), current, plan, explanation.clone())?;
    let (path, origin) = (path.clone(), current.clone());
    let again: Rebase = Arc::new(move |newer: &Snapshot| {
        let way = LineMap::between(&origin, newer);
        let total = origin.lines().total();
        let mut moved = changes.clone();
        for change in &mut moved {
            let at_end = change.span.start == total + 1;
            let span = if at_end {
                let now = newer.lines().total();
                Some(LineSpan { start: now + 1, end: now })
            } else {
                way.span(change.span)
            };
            change.span = span.ok_or_else(|| {
                let anchor = Anchor { line: change.span.start, id: String::new() };
                let near = anchor.line.clamp(1, newer.lines().total().max(1));
                stale::refusal(&[Stale { anchor, cause: Cause::Changed, near }], newer)
                    .at(path.as_str())
            })?;
        }
        let plan = EditPlan::new(newer, line_edit::splices(newer, moved)?)?;
        VerifiedEdit::new(path.clone(), newer, plan, explanation.clone())
    });
    Ok(edit.with_rebase(again))
}

fn create(path: &WorkPath, lines: impl Iterator<Item = String>) -> Result<VerifiedEdit, Refusal> {
    let content: String = lines.flat_map(|line| [line, "\n".to_owned()]).collect();
    VerifiedEdit::create(path.clone(), &content, Explanation::plain(Rung::Create))
}

/// A file that is made by appends and prepends without anchors.
fn created(
    path: &WorkPath,
    request: &HashlineRequest,
    missing: Refusal,
) -> Result<VerifiedEdit, Refusal> {
    let loose = |edit: &&HashlineEdit| {
        edit.op != Op::Replace && edit.pos.is_none() && edit.end.is_none() && !edit.lines.is_empty()
    };
    if request.edits.is_empty()
        || request.rename.is_some()
        || !request.edits.iter().all(|edit| loose(&edit))
    {
        return Err(missing.hint(
            "Check the path with list_files. To create the file use append without pos and without rename.",
        ));
    }
    let of = |op: Op| request.edits.iter().filter(move |edit| edit.op == op);
    let lines = of(Op::Prepend).chain(of(Op::Append)).flat_map(|edit| edit.lines.clone());
    create(path, lines)
}
