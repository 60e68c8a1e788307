//! `search`, `wildcard_search` and `list_files`.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{ToolCall, ToolReply, ToolSpec, parse, shown_path};
use crate::edit::Refusal;
use crate::search::{Case, ListReport, Query, SearchReport};

pub(super) const SEARCH: ToolSpec = ToolSpec::reading::<SearchArguments, SearchReport>(
    "search",
    include_str!("../../prompts/tools/search.md"),
    |call| Box::pin(async move { search(call).await }),
);

pub(super) const WILDCARD_SEARCH: ToolSpec = ToolSpec::reading::<WildcardArguments, SearchReport>(
    "wildcard_search",
    include_str!("../../prompts/tools/wildcard_search.md"),
    |call| Box::pin(async move { wildcard(call).await }),
);

pub(super) const LIST_FILES: ToolSpec = ToolSpec::reading::<ListArguments, ListReport>(
    "list_files",
    include_str!("../../prompts/tools/list_files.md"),
    |call| Box::pin(async move { list(call).await }),
);

#[derive(Debug, Clone, Deserialize, JsonSchema)]
struct SearchArguments {
    /// The literal text.
    keyword: String,
    #[serde(flatten)]
    within: Within,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
struct WildcardArguments {
    /// The terms; * in a term stands for anything within the line.
    terms: Vec<String>,
    #[serde(flatten)]
    within: Within,
}

/// Where a search looks, and what it shows.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
struct Within {
    /// A folder or file to search.
    path: Option<String>,
    /// Lines to show around each hit.
    context: Option<usize>,
    /// Only files whose path matches, such as *.rs.
    glob: Option<String>,
    /// Case matters.
    case_sensitive: Option<bool>,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
struct ListArguments {
    /// A folder; the whole root when left out.
    path: Option<String>,
    /// Only files whose path matches, such as *.rs or src/**/*.ts.
    glob: Option<String>,
}

impl Within {
    /// Finds what `query` is for; by default upper and lower case are the same.
    async fn find(
        &self,
        call: ToolCall<'_>,
        query: impl FnOnce(Case) -> Result<Query, Refusal>,
    ) -> Result<ToolReply, Refusal> {
        let is_sensitive = self.case_sensitive.unwrap_or(false);
        let query = query(if is_sensitive { Case::Sensitive } else { Case::Insensitive })?;
        let (path, glob) = (self.path.as_deref(), self.glob.as_deref());
        let mut report = call.engine.search(query, path, glob, self.context.unwrap_or(0)).await?;
        let found = report.files.iter_mut().map(|file| &mut file.path);
        found
            .chain(&mut report.paths)
            .for_each(|path| *path = shown_path(call.engine, call.folder, path));
        Ok(ToolReply::answered(report.message(), &report))
    }
}

/// Finds lines with a keyword.
async fn search(call: ToolCall<'_>) -> Result<ToolReply, Refusal> {
    let arguments: SearchArguments = parse(SEARCH.name, call.arguments)?;
    arguments.within.find(call, |case| Query::keyword(&arguments.keyword, case)).await
}

/// Finds lines with any of several terms.
async fn wildcard(call: ToolCall<'_>) -> Result<ToolReply, Refusal> {
    let arguments: WildcardArguments = parse(WILDCARD_SEARCH.name, call.arguments)?;
    arguments.within.find(call, |case| Query::terms(&arguments.terms, case)).await
}

/// Lists files.
async fn list(call: ToolCall<'_>) -> Result<ToolReply, Refusal> {
    let arguments: ListArguments = parse(LIST_FILES.name, call.arguments)?;
    let (path, glob) = (arguments.path.as_deref(), arguments.glob.as_deref());
    let mut report = call.engine.list_files(path, glob).await?;
    for file in &mut report.files {
        file.path = shown_path(call.engine, call.folder, &file.path);
    }
    Ok(ToolReply::answered(report.message(), &report))
}
