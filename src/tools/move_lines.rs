//! `move_lines`: moves or copies lines by number or anchor, so that a model need not retype them.

use std::fmt::Write as _;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::{ToolCall, ToolReply, ToolSpec, Visibility, parse, schema};
use crate::edit::{EditCode, EditReport, Refusal};
use crate::engine::{MoveIndentation, MoveRequest, Side, Transfer};
use crate::hashline::anchors::Anchor;
use crate::text::{LineSpan, quote_name};

pub(super) const TOOL: ToolSpec = ToolSpec {
    name: "move_lines",
    about: include_str!("../../prompts/tools/move_lines.md"),
    input: schema::input_to_write::<Arguments>,
    output: schema::output::<MoveReport>,
    visibility: Visibility::Always,
    writes: true,
    run: |call| Box::pin(async move { run(call).await }),
};

#[derive(Debug, Clone, Deserialize, JsonSchema)]
struct Arguments {
    /// The lines.
    from: MoveSource,
    /// Where they go: one of after_line, before_line and anchor.
    to: MoveTarget,
    /// Copies the lines instead of moving them.
    copy: Option<bool>,
    /// Re-indents the block to match its new place.
    reindent: Option<bool>,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
struct MoveSource {
    /// The file that contains the lines.
    path: String,
    /// The first line: its number, or its anchor LINE#ID.
    start_line: LineArgument,
    /// The last line, likewise; the first one when left out.
    end_line: Option<LineArgument>,
    /// The snapshot id of the read that these are from.
    snapshot: Option<String>,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
struct MoveTarget {
    /// The file to put them into; by default the same file.
    path: Option<String>,
    /// Put them below this line, by number or anchor; 0 for the top.
    after_line: Option<LineArgument>,
    /// Put them above this line, by number or anchor.
    before_line: Option<LineArgument>,
    /// The same as after_line, by anchor.
    anchor: Option<LineArgument>,
    /// The snapshot id of the read that the line is from.
    snapshot: Option<String>,
}

/// A line by number or anchor.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
enum LineArgument {
    Number(usize),
    Text(String),
}

impl JsonSchema for LineArgument {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Line".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [{ "type": "integer" }, { "type": "string" }] })
    }
}

impl LineArgument {
    /// The anchor. A bare number gives one without an id.
    fn anchor(&self) -> Result<Anchor, Refusal> {
        match self {
            Self::Number(line) => Ok(Anchor { line: *line, id: String::new() }),
            Self::Text(raw) => Anchor::parse(raw),
        }
    }
}

/// What was done.
#[derive(Debug, Clone, Serialize, JsonSchema)]
struct MoveReport {
    /// Where the lines were, in the numbers before.
    from: MovedRange,
    /// Where they are now.
    to: MovedRange,
    /// A report for each file, the one that got the lines first.
    files: Vec<EditReport>,
    /// The report, when it was one file.
    #[serde(flatten)]
    only: Option<EditReport>,
}

/// Lines of a file.
#[derive(Debug, Clone, Serialize, JsonSchema)]
struct MovedRange {
    path: String,
    start_line: usize,
    end_line: usize,
}

impl MovedRange {
    fn new(path: &str, span: LineSpan) -> Self {
        Self { path: path.to_owned(), start_line: span.start, end_line: span.end }
    }
}

impl Arguments {
    /// The request, or the refusal of arguments that do not name the lines or their new place.
    fn request(self, call: ToolCall<'_>) -> Result<MoveRequest, Refusal> {
        let refuse = |message: &str, hint: &str| {
            Err(Refusal::new(EditCode::InvalidArguments, message).hint(hint))
        };
        let from = call.engine.path(&self.from.path)?;
        let to = match self.to.path.as_deref() {
            Some(path) => call.engine.path(path)?,
            None => from.clone(),
        };
        let (beside, side) = match (&self.to.after_line, &self.to.before_line, &self.to.anchor) {
            (Some(line), None, None) | (None, None, Some(line)) => (line.anchor()?, Side::After),
            (None, Some(line), None) => (line.anchor()?, Side::Before),
            (None, None, None) if from != to => {
                (Anchor { line: 0, id: String::new() }, Side::After)
            }
            _ => {
                return refuse(
                    "`to` does not name exactly one place",
                    "Give one of after_line, before_line and anchor.",
                );
            }
        };
        let first = self.from.start_line.anchor()?;
        let last = self.from.end_line.as_ref().map(LineArgument::anchor).transpose()?;
        let last = last.unwrap_or_else(|| first.clone());
        if first.id.is_empty() != last.id.is_empty() {
            return refuse(
                "one of start_line and end_line is a number, the other an anchor",
                "Give both as numbers or both as anchors LINE#ID.",
            );
        }
        Ok(MoveRequest {
            from,
            first,
            last,
            from_snapshot: self.from.snapshot,
            to,
            beside,
            side,
            to_snapshot: self.to.snapshot,
            transfer: match self.copy.unwrap_or(false) {
                true => Transfer::Copy,
                false => Transfer::Move,
            },
            indentation: match self.reindent.unwrap_or(false) {
                true => MoveIndentation::Fitted,
                false => MoveIndentation::Kept,
            },
        })
    }
}

/// Moves or copies the lines, and answers with where they are now.
async fn run(call: ToolCall<'_>) -> Result<ToolReply, Refusal> {
    let arguments: Arguments = parse(TOOL.name, call.arguments)?;
    let request = arguments.request(call)?;
    let moved = call.engine.move_lines(&request, call.options).await?;
    let verb = match (request.transfer, call.options.dry_run) {
        (Transfer::Move, false) => "Moved",
        (Transfer::Move, true) => "Would move",
        (Transfer::Copy, false) => "Copied",
        (Transfer::Copy, true) => "Would copy",
    };
    let (from, to) = (request.from.as_str(), request.to.as_str());
    let mut message = format!(
        "{verb} {} of {} to {}; now at {}.",
        moved.from,
        quote_name(from),
        quote_name(to),
        moved.to
    );
    for file in &moved.files {
        let _ = write!(message, "\n{}", file.text());
    }
    let only = if let [only] = moved.files.as_slice() { Some(only.clone()) } else { None };
    let report = MoveReport {
        from: MovedRange::new(from, moved.from),
        to: MovedRange::new(to, moved.to),
        files: moved.files,
        only,
    };
    Ok(ToolReply::answered(message, report))
}
