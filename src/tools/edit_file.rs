//! `edit_file`: replace text by text.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{ToolCall, ToolReply, ToolSpec, parse};
use crate::edit::{EditReport, EditRequest, Expected, Refusal, WorkPath};
use crate::engine::HashlineRequest;
use crate::hashline::anchors::Anchor;
use crate::hashline::ops::{HashlineEdit, Op};
use crate::line_edit::{LineChange, split_lines};
use crate::text::LineSpan;

pub(super) const TOOL: ToolSpec = ToolSpec::writing::<Arguments, EditReport>(
    "edit_file",
    include_str!("../../prompts/tools/edit_file.md"),
    |call| Box::pin(async move { run(call).await }),
);

/// An edit and its file.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub(super) struct EditFileArguments {
    /// The file, below the root.
    pub(super) path: String,
    #[serde(flatten)]
    pub(super) edit: TextEdit,
}

/// What to replace, and by what.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub(super) struct TextEdit {
    /// The text to find. Empty to create a file.
    pub(super) old_str: String,
    /// The text to put in its place.
    pub(super) new_str: String,
    /// How often old_str occurs; 1 by default.
    pub(super) expected_replacements: Option<usize>,
    /// Replace every occurrence.
    pub(super) replace_all: Option<bool>,
    /// A line near the text.
    pub(super) near_line: Option<usize>,
    /// The definition that contains the text, which only a single edit names.
    #[serde(skip)]
    pub(super) within: Option<String>,
}

/// The arguments of a single edit.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
struct Arguments {
    #[serde(flatten)]
    file_edit: EditFileArguments,
    /// Lines to replace (old_str empty): 12-14, 12#VK-14#MB.
    lines: Option<String>,
    /// The snapshot of lines.
    snapshot: Option<String>,
    /// The definition that contains the text: class Pool / fn open.
    within: Option<String>,
}

impl TextEdit {
    /// The request, or a refusal if `expected_replacements` is 0.
    pub(super) fn request(&self) -> Result<EditRequest, Refusal> {
        let expected = Expected::of(self.replace_all, self.expected_replacements)?;
        Ok(EditRequest {
            expected,
            near_line: self.near_line,
            within: self.within.clone(),
            ..EditRequest::new(&self.old_str, &self.new_str)
        })
    }

    /// Makes the edit in a file.
    pub(super) async fn make(
        self,
        call: ToolCall<'_>,
        path: &WorkPath,
    ) -> Result<ToolReply, Refusal> {
        let report = call.engine.edit_file(path, &self.request()?, call.options).await?;
        Ok(ToolReply::edited(&report))
    }
}

/// Edits a file.
async fn run(call: ToolCall<'_>) -> Result<ToolReply, Refusal> {
    let Arguments { file_edit, lines, snapshot, within } = parse(TOOL.name, call.arguments)?;
    let EditFileArguments { path, mut edit } = file_edit;
    let path = call.engine.path(&path)?;
    if let Some(lines) = lines {
        let lines = NamedLines::parse(&lines).map_err(|refusal| refusal.at(path.as_str()))?;
        if edit.old_str.is_empty() {
            return replace_lines(call, &path, lines, &edit.new_str, snapshot).await;
        }
        edit.near_line = edit.near_line.or(Some(lines.first.line));
    }
    edit.within = within;
    edit.make(call, &path).await
}

/// The first and the last line that a call names as its place, both with ids or both without.
struct NamedLines {
    first: Anchor,
    last: Anchor,
}

impl NamedLines {
    /// Parses one line or a range.
    fn parse(raw: &str) -> Result<Self, Refusal> {
        let (first, last) = raw.split_once(['-', '–']).unwrap_or((raw, raw));
        let (first, last) = (Anchor::parse(first)?, Anchor::parse(last)?);
        if first.id.is_empty() != last.id.is_empty() {
            return Err(Refusal::invalid(
                "lines has a number at one end and an anchor at the other",
                "Give two numbers, such as 12-14, or two anchors, such as 12#VK-14#MB.",
            ));
        }
        Ok(Self { first, last })
    }
}

/// Replaces the named lines by those of `new`, as the line tools do.
async fn replace_lines(
    call: ToolCall<'_>,
    path: &WorkPath,
    NamedLines { first, last }: NamedLines,
    new: &str,
    snapshot: Option<String>,
) -> Result<ToolReply, Refusal> {
    let lines = split_lines(new);
    if first.id.is_empty() {
        let change = LineChange { span: LineSpan { start: first.line, end: last.line }, lines };
        let changes = vec![change];
        let edited = call.engine.edit_lines(path, changes, snapshot.as_deref(), call.options);
        let report = edited.await?;
        return Ok(ToolReply::answered(report.numbered_text(), &report));
    }
    let edit = HashlineEdit { op: Op::Replace, pos: Some(first), end: Some(last), lines };
    let request = HashlineRequest { edits: vec![edit], snapshot, ..HashlineRequest::default() };
    let report = call.engine.hashline_edit(path, &request, call.options).await?;
    Ok(ToolReply::answered(report.anchored_text(), &report))
}
