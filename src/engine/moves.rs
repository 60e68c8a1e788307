//! `move_lines` on the engine: lines by reference, within a file or to another.

use super::lines::{KnownLines, find_span};
use super::{CallOptions, Engine};
use crate::edit::{
    EditCode, EditPlan, EditReport, Explanation, Refusal, Rung, VerifiedEdit, WorkPath,
};
use crate::hashline::anchors::Anchor;
use crate::language::Language;
use crate::line_edit::moves::{self, Side, Transfer};
use crate::line_edit::{LineChange, splices};
use crate::text::{LineSpan, Snapshot, quote_name};

/// Lines of a file, and where they go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MoveRequest {
    /// The file that has them.
    pub from: WorkPath,
    /// The first of them: an anchor, or a number, which is one without letters.
    pub first: Anchor,
    /// The last of them.
    pub last: Anchor,
    /// The version that these are of.
    pub from_snapshot: Option<String>,
    /// The file that gets them.
    pub to: WorkPath,
    /// The line beside which they are put; 0 is the top of the file.
    pub beside: Anchor,
    /// On which side of it.
    pub side: Side,
    /// The version that this line is of.
    pub to_snapshot: Option<String>,
    /// Whether they stay where they were.
    pub transfer: Transfer,
    /// What becomes of their indentation.
    pub indentation: MoveIndentation,
}

/// What becomes of the indentation of lines that move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MoveIndentation {
    /// It stays.
    #[default]
    Kept,
    /// The block goes as deep as its new place.
    Fitted,
}

/// What was done.
#[derive(Debug, Clone)]
pub struct MoveReport {
    /// The files: the one that got the lines first.
    pub files: Vec<EditReport>,
    /// The lines where they were, in the numbers before.
    pub from: LineSpan,
    /// The lines where they are, in the numbers after.
    pub to: LineSpan,
}

impl Engine {
    /// Moves or copies lines: one commit, one undo.
    pub async fn move_lines(
        &self,
        request: &MoveRequest,
        options: &CallOptions,
    ) -> Result<MoveReport, Refusal> {
        self.admit(&request.to).await?;
        if request.transfer == Transfer::Move {
            self.admit(&request.from).await?;
        }
        let at_source = |refusal: Refusal| name_end("from", refusal).at(request.from.as_str());
        let at_target = |refusal: Refusal| name_end("to", refusal).at(request.to.as_str());
        let source = self.snapshot(&request.from).await.map_err(at_source)?;
        let (span, mut explanation) = self
            .find_lines(
                &request.from,
                &source,
                &request.first,
                &request.last,
                &request.from_snapshot,
            )
            .await
            .map_err(at_source)?;
        if span.end < span.start {
            return Err(at_source(
                Refusal::new(EditCode::InvalidArguments, "there are no lines to move")
                    .hint("Give an end_line that is not before start_line; both are included."),
            ));
        }
        let same = request.from == request.to;
        let target = match same {
            true => Ok(source.clone()),
            false => self.snapshot(&request.to).await,
        };
        let target = match target {
            Ok(target) => target,
            Err(refusal) if refusal.code == EditCode::FileNotFound && is_top(request) => {
                return self.move_to_new_file(request, &source, span, explanation, options).await;
            }
            Err(refusal) => return Err(at_target(refusal)),
        };
        let (gap, carried) = self.gap(request, &target).await.map_err(at_target)?;
        explanation.absorb_other_end(carried);
        let inside = span.start <= gap && gap < span.end;
        if same && inside {
            return Err(Refusal::new(
                EditCode::InvalidArguments,
                format!("the new place lies inside {span}"),
            )
            .at(request.to.as_str())
            .hint("Give a target line outside of the lines to move."));
        }
        if same && request.transfer == Transfer::Move && (gap == span.end || gap + 1 == span.start)
        {
            return Err(Refusal::new(
                EditCode::NoChange,
                format!("{span} of `{}` are already there", request.from),
            )
            .at(request.to.as_str())
            .hint("The lines are where you want them; go on with the next step."));
        }
        let bodies = reindented(request, &source, span, &target, gap)?;
        let removed = LineChange { span, lines: Vec::new() };
        if request.transfer == Transfer::Move {
            let known =
                KnownLines::of(&request.first, &request.last, request.from_snapshot.as_deref());
            let changes = std::slice::from_ref(&removed);
            self.refuse_unseen(&request.from, changes, &source, &known).map_err(at_source)?;
        }
        let count = span.end + 1 - span.start;
        let start = match same && request.transfer == Transfer::Move && gap > span.end {
            true => gap + 1 - count,
            false => gap + 1,
        };
        let to = LineSpan { start, end: start + count - 1 };
        let edit = |path: &WorkPath, snapshot: &Snapshot, splices| {
            let plan = EditPlan::new(snapshot, splices)?;
            VerifiedEdit::new(path.clone(), snapshot, plan, explanation.clone())
        };
        let batch = if same {
            let splices = moves::splices_within_file(&source, span, gap, &bodies, request.transfer);
            vec![edit(&request.from, &source, splices)?]
        } else {
            let put = LineChange { span: LineSpan { start: gap + 1, end: gap }, lines: bodies };
            let arrival = edit(&request.to, &target, splices(&target, vec![put])?)?;
            match request.transfer {
                Transfer::Copy => vec![arrival],
                Transfer::Move => {
                    vec![arrival, edit(&request.from, &source, splices(&source, vec![removed])?)?]
                }
            }
        };
        let files = self.commit(batch, options).await?;
        Ok(MoveReport { files, from: span, to })
    }

    /// Lines that become a file of their own.
    async fn move_to_new_file(
        &self,
        request: &MoveRequest,
        source: &Snapshot,
        span: LineSpan,
        explanation: Explanation,
        options: &CallOptions,
    ) -> Result<MoveReport, Refusal> {
        let bodies = reindented(request, source, span, &Snapshot::from_text(""), 0)?;
        let ending = match source.ending_near(source.lines().start(span.start)) {
            crate::text::LineEnding::CrLf => "\r\n",
            _ => "\n",
        };
        let content: String = bodies.iter().flat_map(|body| [body.as_str(), ending]).collect();
        let made = Explanation { rung: Rung::Create, ..explanation.clone() };
        let mut batch = vec![VerifiedEdit::create(request.to.clone(), &content, made)?];
        if request.transfer == Transfer::Move {
            let removed = vec![LineChange { span, lines: Vec::new() }];
            let known =
                KnownLines::of(&request.first, &request.last, request.from_snapshot.as_deref());
            self.refuse_unseen(&request.from, &removed, source, &known)?;
            let plan = EditPlan::new(source, splices(source, removed)?)?;
            batch.push(VerifiedEdit::new(request.from.clone(), source, plan, explanation)?);
        }
        let files = self.commit(batch, options).await?;
        let to = LineSpan { start: 1, end: span.end + 1 - span.start };
        Ok(MoveReport { files, from: span, to })
    }

    /// The lines that a caller names, as they are numbered now.
    async fn find_lines(
        &self,
        path: &WorkPath,
        current: &Snapshot,
        first: &Anchor,
        last: &Anchor,
        snapshot: &Option<String>,
    ) -> Result<(LineSpan, Explanation), Refusal> {
        let found = find_span(self, path, current, first, last, snapshot.as_deref()).await?;
        let mut explanation = Explanation::plain(Rung::Exact);
        if found.span != found.named {
            explanation.rung = Rung::Carried;
            explanation.warnings.push(format!(
                "{} has changed since you were shown it: what was {} is now {}",
                quote_name(path.as_str()),
                found.named,
                found.span
            ));
        }
        Ok((found.span, explanation))
    }

    /// The line behind which the lines go.
    async fn gap(
        &self,
        request: &MoveRequest,
        target: &Snapshot,
    ) -> Result<(usize, Explanation), Refusal> {
        let (at, snapshot) = (&request.beside, &request.to_snapshot);
        let total = target.lines().total();
        let is_number = at.id.is_empty();
        if is_number && at.line == 0 || is_number && total == 0 && is_top(request) {
            return Ok((0, Explanation::plain(Rung::Exact)));
        }
        let placed = self.find_lines(&request.to, target, at, at, snapshot).await;
        let (span, explanation) = match placed {
            // One past the last line is not a line, but lines can be put before it.
            Err(refusal)
                if refusal.code == EditCode::InvalidArguments
                    && request.side == Side::Before
                    && is_number
                    && at.line == total + 1 =>
            {
                return Ok((total, Explanation::plain(Rung::Exact)));
            }
            placed => placed?,
        };
        Ok(match request.side {
            Side::After => (span.end, explanation),
            Side::Before => (span.start - 1, explanation),
        })
    }
}

impl Explanation {
    /// What is to be said of a second place of the same call.
    fn absorb_other_end(&mut self, other: Self) {
        if other.rung != Rung::Exact {
            self.rung = other.rung;
        }
        for warning in other.warnings {
            if !self.warnings.contains(&warning) {
                self.warnings.push(warning);
            }
        }
    }
}

/// Whether the lines go to the top of a file, where there may be none yet.
fn is_top(request: &MoveRequest) -> bool {
    match request.side {
        Side::After => request.beside.line == 0,
        Side::Before => request.beside.line <= 1 && request.beside.id.is_empty(),
    }
}

/// Which end of the call a refusal is about.
fn name_end(end: &str, mut refusal: Refusal) -> Refusal {
    refusal.message = format!("{end}: {}", refusal.message);
    refusal
}

/// The bodies of the lines at their new place.
fn reindented(
    request: &MoveRequest,
    source: &Snapshot,
    span: LineSpan,
    target: &Snapshot,
    gap: usize,
) -> Result<Vec<String>, Refusal> {
    if request.indentation == MoveIndentation::Kept {
        return Ok(moves::bodies(source, span));
    }
    let skip = match request.from == request.to && request.transfer == Transfer::Move {
        true => span,
        false => LineSpan { start: 1, end: 0 },
    };
    let depth = moves::indent_at(target, gap, request.side, skip);
    let language = Language::from_path(request.from.as_str());
    moves::reindent(source, span, language, target, &depth).ok_or_else(|| {
        Refusal::new(
            EditCode::Ambiguous,
            format!("{span} of `{}` cannot be re-indented by one rule: their indentation is irregular, or does not match the style of the new place", request.from),
        )
        .at(request.from.as_str())
        .hint("Nothing was written. Send the call without reindent, and correct the indentation with an edit.")
    })
}
