//! The tools as every face offers them: names, arguments, execution. Faces (command
//! line, MCP, hooks, the agent) call [`Toolbox::call`] and nothing else.
//!
//! One file a tool; [`TOOLS`] is the table.

mod edit_file;
mod reply;

use std::fmt;

use serde_json::{Map, Value};

use crate::edit::{EditCode, Refusal};
use crate::engine::{CallOptions, Engine};
use crate::port::BoxFuture;

pub use reply::ToolReply;

/// What a tool gets.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// The engine.
    pub engine: &'a Engine,
    /// The arguments, names already canonical.
    pub arguments: &'a Map<String, Value>,
    /// The caller's options.
    pub options: &'a CallOptions,
}

/// One tool.
#[derive(Clone, Copy)]
pub struct ToolSpec {
    /// The wire name.
    pub name: &'static str,
    /// The description for a model.
    pub about: &'static str,
    /// Canonical argument names.
    pub arguments: &'static [&'static str],
    /// Whether it can change files.
    pub writes: bool,
    /// Runs it.
    pub run: for<'a> fn(Call<'a>) -> BoxFuture<'a, ToolReply>,
}

impl fmt::Debug for ToolSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolSpec").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Every tool.
pub const TOOLS: &[ToolSpec] = &[edit_file::TOOL];

/// Names that models use for our arguments.
const ALIASES: &[(&str, &str)] = &[
    ("file_path", "path"),
    ("filePath", "path"),
    ("filepath", "path"),
    ("file", "path"),
    ("filename", "path"),
    ("target_file", "path"),
    ("old_string", "old_str"),
    ("oldString", "old_str"),
    ("old_text", "old_str"),
    ("oldText", "old_str"),
    ("search", "old_str"),
    ("new_string", "new_str"),
    ("newString", "new_str"),
    ("new_text", "new_str"),
    ("newText", "new_str"),
    ("replace", "new_str"),
    ("replaceAll", "replace_all"),
    ("allow_multiple", "replace_all"),
    ("expectedReplacements", "expected_replacements"),
];

/// Executes tools by name with JSON arguments.
#[derive(Debug, Clone)]
pub struct Toolbox {
    engine: Engine,
}

impl Toolbox {
    /// Tools over an engine.
    pub fn new(engine: Engine) -> Self {
        Self { engine }
    }

    /// The engine.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Runs one tool. Trouble of any kind is a reply, never a panic.
    pub async fn call(&self, name: &str, arguments: Value, options: &CallOptions) -> ToolReply {
        let Some(tool) = TOOLS.iter().find(|tool| tool.name == name) else {
            let known: Vec<_> = TOOLS.iter().map(|tool| tool.name).collect();
            return ToolReply::refused(
                Refusal::new(EditCode::InvalidArguments, format!("there is no tool `{name}`"))
                    .hint(format!("Use one of: {}.", known.join(", "))),
            );
        };
        let arguments = match canonical(tool, arguments) {
            Ok(arguments) => arguments,
            Err(refusal) => return ToolReply::refused(refusal),
        };
        (tool.run)(Call { engine: &self.engine, arguments: &arguments, options }).await
    }
}

/// Turns aliases into our names and refuses names that nobody knows.
fn canonical(tool: &ToolSpec, arguments: Value) -> Result<Map<String, Value>, Refusal> {
    let Value::Object(given) = arguments else {
        return Err(Refusal::new(
            EditCode::InvalidArguments,
            "the arguments are not a JSON object",
        )
        .hint(format!("Send an object with: {}.", tool.arguments.join(", "))));
    };
    let mut out = Map::new();
    for (name, value) in given {
        // A description of the intent; accepted from tools that send one, and unused.
        if name == "instruction" || name == "explanation" {
            continue;
        }
        let known = tool.arguments.iter().find(|known| **known == name).copied().or_else(|| {
            let alias = ALIASES.iter().find(|(alias, _)| *alias == name).map(|(_, known)| *known);
            alias.filter(|known| tool.arguments.contains(known))
        });
        let Some(known) = known else {
            let nearest = nearest_name(&name, tool.arguments);
            return Err(Refusal::new(
                EditCode::InvalidArguments,
                format!("`{}` has no argument `{name}`; the nearest is `{nearest}`", tool.name),
            )
            .hint(format!("Its arguments are: {}.", tool.arguments.join(", "))));
        };
        if value.is_null() {
            continue;
        }
        if out.insert(known.to_owned(), value).is_some() {
            return Err(Refusal::new(
                EditCode::InvalidArguments,
                format!("argument `{known}` is given twice, once as `{name}`"),
            )
            .hint("Give it once."));
        }
    }
    Ok(out)
}

fn nearest_name<'a>(name: &str, known: &[&'a str]) -> &'a str {
    let distance = |k: &&&str| rapidfuzz::distance::levenshtein::distance(name.chars(), k.chars());
    known.iter().min_by_key(distance).copied().unwrap_or("path")
}

/// Reads typed arguments; the error names the field.
pub(crate) fn parse<T: serde::de::DeserializeOwned>(
    tool: &str,
    arguments: &Map<String, Value>,
) -> Result<T, Refusal> {
    serde_json::from_value(Value::Object(arguments.clone())).map_err(|error| {
        Refusal::new(
            EditCode::InvalidArguments,
            format!("the arguments of `{tool}` are malformed: {error}"),
        )
        .hint("Correct the argument and send the call again.")
    })
}
