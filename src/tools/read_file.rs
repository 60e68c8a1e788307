//! `read_file`: lines for a model, with numbers or anchors.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{ToolCall, ToolReply, ToolSpec, Visibility, parse, schema};
use crate::edit::{EditCode, Refusal};
use crate::hashline::tag::Width;
use crate::reading::{FileView, LineSelection, ReadLimits, ReadRequest, ReadStyle};
use crate::text::LineSpan;

pub(super) const TOOL: ToolSpec = ToolSpec {
    name: "read_file",
    about: include_str!("../../prompts/tools/read_file.md"),
    input: schema::input::<Arguments>,
    output: schema::output::<FileView>,
    visibility: Visibility::Always,
    writes: false,
    run: |call| Box::pin(async move { run(call).await.unwrap_or_else(ToolReply::refused) }),
};

#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub(super) struct Arguments {
    /// The file, below the root.
    path: String,
    /// First line, from 1.
    offset: Option<usize>,
    /// How many lines.
    limit: Option<usize>,
    /// Ranges of lines, both ends included.
    ranges: Option<Vec<Range>>,
    /// How lines are shown; plain by default.
    style: Option<ReadStyle>,
    /// The first column of very long lines to show.
    column: Option<usize>,
    /// Letters of a hashline id: 2, 4 or 8.
    id_letters: Option<usize>,
    /// A notebook's cell, by its id.
    cell: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
struct Range {
    /// First line.
    start: usize,
    /// Last line.
    end: usize,
}

/// Ranges in words, as an answer names them: `12-20, 45-61`, one text or several.
pub(super) fn parse_range_strings(value: &mut Value) {
    let Some(given) = value.as_object_mut().and_then(|given| given.get_mut("ranges")) else {
        return;
    };
    let words: Vec<&str> = match &*given {
        Value::String(text) => vec![text],
        Value::Array(items) => match items.iter().map(Value::as_str).collect::<Option<_>>() {
            Some(words) => words,
            None => return,
        },
        _ => return,
    };
    let range = |text: &str| {
        let text = text.trim();
        let (start, end) = text.split_once(['-', '–']).unwrap_or((text, text));
        let (start, end): (usize, usize) = (start.trim().parse().ok()?, end.trim().parse().ok()?);
        Some(json!({ "start": start, "end": end }))
    };
    let parts =
        words.iter().flat_map(|text| text.split(',')).filter(|part| !part.trim().is_empty());
    if let Some(ranges) = parts.map(range).collect::<Option<Vec<_>>>().filter(|all| !all.is_empty())
    {
        *given = Value::Array(ranges);
    }
}

impl Arguments {
    fn request(&self) -> Result<ReadRequest, Refusal> {
        let refuse = |message: &str, hint: &str| {
            Err(Refusal::new(EditCode::InvalidArguments, message).hint(hint))
        };
        let select = match (&self.ranges, self.offset, self.limit) {
            (Some(ranges), None, None) => LineSelection::Ranges(
                ranges.iter().map(|r| LineSpan { start: r.start, end: r.end }).collect(),
            ),
            (Some(_), _, _) => {
                return refuse(
                    "ranges cannot be combined with offset or limit",
                    "Give either ranges, or offset and limit.",
                );
            }
            (None, None, None) => LineSelection::Whole,
            (None, offset, limit) => LineSelection::From { offset: offset.unwrap_or(1), limit },
        };
        let Some(width) = Width::from_letters(self.id_letters.unwrap_or(2)) else {
            return refuse(
                "id_letters is not 2, 4 or 8",
                "Leave it out for the usual two letters.",
            );
        };
        Ok(ReadRequest {
            select,
            style: self.style.unwrap_or_default(),
            width,
            column: self.column.unwrap_or(1),
            limits: ReadLimits::MODEL,
        })
    }
}

async fn run(call: ToolCall<'_>) -> Result<ToolReply, Refusal> {
    let arguments: Arguments = parse(TOOL.name, call.arguments)?;
    let path = call.engine.path(&arguments.path)?;
    let request = arguments.request().map_err(|refusal| refusal.at(path.as_str()))?;
    // A notebook is shown as cells, unless its lines are asked for.
    if arguments.cell.is_some()
        || request.select == LineSelection::Whole && arguments.style.is_none()
    {
        let cells = call.engine.read_cells(&path, arguments.cell.as_deref()).await?;
        if let Some(view) = cells {
            return Ok(ToolReply::answered(view.message(), view));
        }
    }
    let (reading, snapshot) = call.engine.read_file(&path, &request).await?;
    Ok(ToolReply::answered(reading.message(&snapshot), &reading))
}
