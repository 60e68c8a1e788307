//! `read_file`: lines for a model, with numbers or anchors.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{ToolCall, ToolReply, ToolSpec, parse};
use crate::edit::Refusal;
use crate::text::LineSpan;
use crate::views::{self, FileView, ReadRequest, ReadStyle};

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
                return Err(Refusal::invalid(twice, "Give all of them in `ranges`."));
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
    let text = match &*ranges {
        Value::String(text) => text.clone(),
        Value::Array(items) => match items.iter().map(Value::as_str).collect::<Option<Vec<_>>>() {
            Some(texts) => texts.join(","),
            None => return Ok(()),
        },
        _ => return Ok(()),
    };
    if let Some(parsed) = views::parse_ranges(&text) {
        *ranges = json!(parsed);
    }
    Ok(())
}

impl Arguments {
    /// The request, or the refusal of arguments that contradict each other.
    fn request(&self) -> Result<ReadRequest, Refusal> {
        let ranges = match (&self.ranges, self.offset, self.limit) {
            (Some(ranges), None, None) => ranges.clone(),
            (Some(_), _, _) => {
                return Err(Refusal::invalid(
                    "ranges cannot be combined with offset or limit",
                    "Give either ranges, or offset and limit.",
                ));
            }
            (None, None | Some(1), None) => Vec::new(),
            (None, offset, limit) => {
                let start = offset.unwrap_or(1);
                let end = limit.map_or(usize::MAX, |limit| start.saturating_add(limit) - 1);
                vec![LineSpan { start, end }]
            }
        };
        let (style, column) = (self.style.unwrap_or_default(), self.column.unwrap_or(1));
        Ok(ReadRequest { ranges, style, column, ..ReadRequest::default() })
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
