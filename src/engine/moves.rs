//! `move_lines` on the engine: moves or copies lines within a file or to another one, without the
//! caller quoting them.

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

/// A call of `move_lines`: which lines to move, and where to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MoveRequest {
    /// The file that has the lines.
    pub from: WorkPath,
    /// The first line: an anchor, or a line number, which is an anchor with an empty id.
    pub first: Anchor,
    /// The last line.
    pub last: Anchor,
    /// The id of the version that `first` and `last` come from.
    pub from_snapshot: Option<String>,
    /// The file that gets the lines.
    pub to: WorkPath,
    /// The line beside which the lines are put; 0 is the top of the file.
    pub beside: Anchor,
    /// On which side of that line.
    pub side: Side,
    /// The id of the version that `beside` comes from.
    pub to_snapshot: Option<String>,
    /// Whether the lines are moved or copied.
    pub transfer: Transfer,
    /// What happens to the indentation of the lines.
    pub indentation: MoveIndentation,
}

/// What happens to the indentation of moved lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MoveIndentation {
    /// It is kept.
    #[default]
    Kept,
    /// The lines are re-indented to fit the place where they are put.
    Fitted,
}

/// The result of `move_lines`.
#[derive(Debug, Clone)]
pub struct MoveReport {
    /// The reports of the files; the file that got the lines comes first.
    pub files: Vec<EditReport>,
    /// Where the lines were, numbered as before the move.
    pub from: LineSpan,
    /// Where the lines are now, numbered as after the move.
    pub to: LineSpan,
}

impl Engine {
    /// Moves or copies lines in one commit, which one undo takes back.
    pub async fn move_lines(
        &self,
        request: &MoveRequest,
        options: &CallOptions,
    ) -> Result<MoveReport, Refusal> {
        self.admit(&request.to).await?;
        if request.transfer == Transfer::Move {
            self.admit(&request.from).await?;
        }
        let at_source = |refusal: Refusal| prefixed("from", refusal).at(request.from.as_str());
        let at_target = |refusal: Refusal| prefixed("to", refusal).at(request.to.as_str());
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
        let is_same_file = request.from == request.to;
        let target = match is_same_file {
            true => Ok(source.clone()),
            false => self.snapshot(&request.to).await,
        };
        let target = match target {
            Ok(target) => target,
            Err(refusal) if refusal.code == EditCode::FileNotFound && goes_to_top(request) => {
                return self.move_to_new_file(request, &source, span, explanation, options).await;
            }
            Err(refusal) => return Err(at_target(refusal)),
        };
        let (line_above, target_explanation) =
            self.line_above_target(request, &target).await.map_err(at_target)?;
        explanation.absorb_target(target_explanation);
        let is_inside = span.start <= line_above && line_above < span.end;
        if is_same_file && is_inside {
            return Err(Refusal::new(
                EditCode::InvalidArguments,
                format!("the target is inside {span}, the lines to move"),
            )
            .at(request.to.as_str())
            .hint("Give a target line outside of the lines to move."));
        }
        let is_adjacent = line_above == span.end || line_above + 1 == span.start;
        if is_same_file && request.transfer == Transfer::Move && is_adjacent {
            return Err(Refusal::new(
                EditCode::NoChange,
                format!("the move would leave {span} of `{}` in the same place", request.from),
            )
            .at(request.to.as_str())
            .hint("The lines are where you want them; go on with the next step."));
        }
        let bodies = reindented(request, &source, span, &target, line_above)?;
        let removed = LineChange { span, lines: Vec::new() };
        if request.transfer == Transfer::Move {
            let known =
                KnownLines::of(&request.first, &request.last, request.from_snapshot.as_deref());
            let changes = std::slice::from_ref(&removed);
            self.refuse_unseen(&request.from, changes, &source, &known).map_err(at_source)?;
        }
        let line_count = span.end + 1 - span.start;
        let moves_down =
            is_same_file && request.transfer == Transfer::Move && line_above > span.end;
        // If lines move down, their removal shifts up all lines below their old place.
        let start = if moves_down { line_above + 1 - line_count } else { line_above + 1 };
        let to = LineSpan { start, end: start + line_count - 1 };
        let edit = |path: &WorkPath, snapshot: &Snapshot, splices| {
            let plan = EditPlan::new(snapshot, splices)?;
            VerifiedEdit::new(path.clone(), snapshot, plan, explanation.clone())
        };
        let batch = if is_same_file {
            let splices =
                moves::splices_within_file(&source, span, line_above, &bodies, request.transfer);
            vec![edit(&request.from, &source, splices)?]
        } else {
            let empty_span = LineSpan { start: line_above + 1, end: line_above };
            let inserted = LineChange { span: empty_span, lines: bodies };
            let insertion = edit(&request.to, &target, splices(&target, vec![inserted])?)?;
            match request.transfer {
                Transfer::Copy => vec![insertion],
                Transfer::Move => {
                    let removal = edit(&request.from, &source, splices(&source, vec![removed])?)?;
                    vec![insertion, removal]
                }
            }
        };
        let files = self.commit(batch, options).await?;
        Ok(MoveReport { files, from: span, to })
    }

    /// Moves or copies lines to a file that does not exist yet.
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
        let create_explanation = Explanation { rung: Rung::Create, ..explanation.clone() };
        let mut batch =
            vec![VerifiedEdit::create(request.to.clone(), &content, create_explanation)?];
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

    /// The current numbers of the lines that a caller names. If they have moved since the caller was
    /// shown them, the explanation has a warning.
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

    /// The number of the line in the target file directly after which the moved lines are put; 0 for
    /// the top.
    async fn line_above_target(
        &self,
        request: &MoveRequest,
        target: &Snapshot,
    ) -> Result<(usize, Explanation), Refusal> {
        let (beside, snapshot) = (&request.beside, &request.to_snapshot);
        let total = target.lines().total();
        let is_number = beside.id.is_empty();
        let is_top_of_empty_file = total == 0 && goes_to_top(request);
        if is_number && (beside.line == 0 || is_top_of_empty_file) {
            return Ok((0, Explanation::plain(Rung::Exact)));
        }
        let found = self.find_lines(&request.to, target, beside, beside, snapshot).await;
        let (span, explanation) = match found {
            // The number after that of the last line has no line yet, but "before" it is a place: the
            // end of the file.
            Err(refusal)
                if refusal.code == EditCode::InvalidArguments
                    && request.side == Side::Before
                    && is_number
                    && beside.line == total + 1 =>
            {
                return Ok((total, Explanation::plain(Rung::Exact)));
            }
            other => other?,
        };
        Ok(match request.side {
            Side::After => (span.end, explanation),
            Side::Before => (span.start - 1, explanation),
        })
    }
}

impl Explanation {
    /// Takes over the warnings of the target line, and its rung unless that is exact.
    fn absorb_target(&mut self, target: Self) {
        if target.rung != Rung::Exact {
            self.rung = target.rung;
        }
        for warning in target.warnings {
            if !self.warnings.contains(&warning) {
                self.warnings.push(warning);
            }
        }
    }
}

/// Whether the lines go to the top of the target file. Only then may the file be missing: it is
/// created.
fn goes_to_top(request: &MoveRequest) -> bool {
    match request.side {
        Side::After => request.beside.line == 0,
        Side::Before => request.beside.line <= 1 && request.beside.id.is_empty(),
    }
}

/// The refusal with a message that begins with the name of an argument.
fn prefixed(argument: &str, mut refusal: Refusal) -> Refusal {
    refusal.message = format!("{argument}: {}", refusal.message);
    refusal
}

/// The moved lines, without line endings, indented as the request says.
fn reindented(
    request: &MoveRequest,
    source: &Snapshot,
    span: LineSpan,
    target: &Snapshot,
    line_above: usize,
) -> Result<Vec<String>, Refusal> {
    if request.indentation == MoveIndentation::Kept {
        return Ok(moves::bodies(source, span));
    }
    // Lines that leave the file say nothing about the indentation of the target.
    let skip = match request.from == request.to && request.transfer == Transfer::Move {
        true => span,
        false => LineSpan { start: 1, end: 0 },
    };
    let indent = moves::indent_at(target, line_above, request.side, skip);
    let language = Language::from_path(request.from.as_str());
    moves::reindent(source, span, language, target, &indent).ok_or_else(|| {
        Refusal::new(
            EditCode::Ambiguous,
            format!("{span} of `{}` cannot be re-indented: the indentation is irregular, or its style differs from that of the target", request.from),
        )
        .at(request.from.as_str())
        .hint("Nothing was written. Send the call without reindent, and correct the indentation with an edit.")
    })
}
