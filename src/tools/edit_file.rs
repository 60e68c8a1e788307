//! `edit_file`: replace text by text.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Call, Listed, ToolSpec, parse, schema};
use crate::edit::{EditReport, EditRequest, Expected, Refusal};

pub(super) const TOOL: ToolSpec = ToolSpec {
    name: "edit_file",
    about: include_str!("../../prompts/tools/edit_file.md"),
    input: schema::writing::<Arguments>,
    output: schema::output::<EditReport>,
    listed: Listed::Always,
    writes: true,
    run: |call| Box::pin(async move { run(call).await.into() }),
};

/// The arguments.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub(super) struct EditFileArguments {
    /// The file, below the root.
    pub(super) path: String,
    /// The text to find. Empty to create a file.
    pub(super) old_str: String,
    /// The text to put in its place.
    pub(super) new_str: String,
    /// How often old_str occurs; 1 by default.
    pub(super) expected_replacements: Option<usize>,
    /// Replace every occurrence.
    pub(super) replace_all: Option<bool>,
    /// A line near which the text stands; breaks a tie.
    pub(super) near_line: Option<usize>,
}

/// The arguments of a single edit.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
struct Arguments {
    #[serde(flatten)]
    edit: EditFileArguments,
    /// Names around the text: class Pool / fn open.
    within: Option<String>,
}

impl EditFileArguments {
    /// The request, once the counts make sense.
    pub(super) fn request(&self) -> Result<EditRequest, Refusal> {
        let expected = Expected::of(self.replace_all, self.expected_replacements)?;
        Ok(EditRequest {
            old: self.old_str.clone(),
            new: self.new_str.clone(),
            expected,
            near_line: self.near_line,
            within: None,
            language: None,
        })
    }
}

async fn run(call: Call<'_>) -> Result<EditReport, Refusal> {
    let Arguments { edit, within } = parse(TOOL.name, call.arguments)?;
    let path = call.engine.path(&edit.path)?;
    let request = EditRequest { within, ..edit.request()? };
    call.engine.edit_file(&path, &request, call.options).await
}
