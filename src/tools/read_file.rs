//! `read_file`: lines for a model, with numbers or anchors.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{ToolCall, ToolReply, ToolSpec, parse};
use crate::edit::{EditCode, Refusal};
use crate::text::LineSpan;
use crate::views::{FileView, LineSelection, ReadLimits, ReadRequest, ReadStyle};

pub(super) const TOOL: ToolSpec = ToolSpec::reading::<Arguments, FileView>(
    "read_file",
    include_str!("../../prompts/tools/read_file.md"),
    |call| Box::pin(async move { run(call).await }),
);

#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub(super) struct Arguments {
    /// The file, below the root.
    path: String,
    /// First line, from 1.
    offset: Option<usize>,
    /// How many lines.
    limit: Option<usize>,
    /// Ranges of lines, both ends included.
    ranges: Option<Vec<LineSpan>>,
    /// How lines are shown; plain by default.
    style: Option<ReadStyle>,
    /// The first column, for very long lines.
    column: Option<usize>,
}

/// Turns other forms of `ranges` into objects with `start` and `end`: text such as `12-20, 45-61`, in
/// one string or a list, two numbers such as `[12, 20]`, and a first and a last line in place of it.
pub(super) fn parse_ranges(value: &mut Value) -> Result<(), Refusal> {
    let Some(fields) = value.as_object_mut() else { return Ok(()) };
    const NAMES: [&str; 3] = ["ranges", "view_range", "line_ranges"];
    for (first, last) in [("start_line", "end_line"), ("startLine", "endLine"), ("start", "end")] {
        if fields.contains_key(first)
            && let Some(end) = fields.remove(last).filter(|end| !end.is_null())
            && let Some(start) = fields.remove(first)
        {
            let given = NAMES.iter().find(|name| {
                let ranges = fields.get(**name).filter(|ranges| !ranges.is_null());
                ranges.is_some_and(|ranges| *ranges != json!([]))
            });
            if let Some(name) = given {
                let twice = format!("the lines are given twice, by `{first}` and by `{name}`");
                return Err(Refusal::new(EditCode::InvalidArguments, twice)
                    .hint("Give all of them in `ranges`."));
            }
            fields.insert("ranges".to_owned(), json!([{ "start": start, "end": end }]));
        }
    }
    let name = NAMES.into_iter().find(|it| fields.contains_key(*it));
    let Some(ranges) = name.and_then(|name| fields.get_mut(name)) else { return Ok(()) };
    if let Some([start, end]) = ranges.as_array().map(Vec::as_slice)
        && start.is_u64()
        && end.is_u64()
    {
        *ranges = json!([{ "start": start, "end": end }]);
        return Ok(());
    }
    let texts: Vec<&str> = match &*ranges {
        Value::String(text) => vec![text],
        Value::Array(items) => match items.iter().map(Value::as_str).collect::<Option<_>>() {
            Some(texts) => texts,
            None => return Ok(()),
        },
        _ => return Ok(()),
    };
    let parse_range = |text: &str| {
        let text = text.trim();
        let (start, end) = text.split_once(['-', '–']).unwrap_or((text, text));
        let (start, end): (usize, usize) = (start.trim().parse().ok()?, end.trim().parse().ok()?);
        Some(json!({ "start": start, "end": end }))
    };
    let parts =
        texts.iter().flat_map(|text| text.split(',')).filter(|part| !part.trim().is_empty());
    let parsed: Option<Vec<_>> = parts.map(parse_range).collect();
    if let Some(parsed) = parsed.filter(|parsed| !parsed.is_empty()) {
        *ranges = Value::Array(parsed);
    }
    Ok(())
}

impl Arguments {
    /// The request, or the refusal of arguments that contradict each other.
    fn request(&self) -> Result<ReadRequest, Refusal> {
        let refuse = |message: &str, hint: &str| {
            Err(Refusal::new(EditCode::InvalidArguments, message).hint(hint))
        };
        let selection = match (&self.ranges, self.offset, self.limit) {
            (Some(ranges), None, None) => LineSelection::Ranges(ranges.clone()),
            (Some(_), _, _) => {
                return refuse(
                    "ranges cannot be combined with offset or limit",
                    "Give either ranges, or offset and limit.",
                );
            }
            (None, None, None) => LineSelection::Whole,
            (None, offset, limit) => LineSelection::From { offset: offset.unwrap_or(1), limit },
        };
        Ok(ReadRequest {
            select: selection,
            style: self.style.unwrap_or_default(),
            column: self.column.unwrap_or(1),
            limits: ReadLimits::MODEL,
        })
    }
}

/// Reads the lines that the call asks for.
async fn run(call: ToolCall<'_>) -> Result<ToolReply, Refusal> {
    let arguments: Arguments = parse(TOOL.name, call.arguments)?;
    let path = call.engine.path(&arguments.path)?;
    let request = arguments.request().map_err(|refusal| refusal.at(path.as_str()))?;
    let (reading, snapshot) = call.engine.read_file(&path, &request).await?;
    Ok(ToolReply::answered(reading.message(&snapshot), &reading))
}
