//! The tools: names, arguments, execution. Every interface (command line, MCP, hooks, the agent)
//! calls [`Toolbox::call`] and nothing else.
//!
//! One file a tool; `TOOLS` is the table.

mod apply_patch;
pub(crate) mod arguments;
mod check;
pub(crate) mod dialect;
mod edit;
mod edit_file;
mod edit_lines;
pub mod export;
mod guarded;
mod hashline_edit;
#[cfg(feature = "cli")]
mod inline_text;
mod lines_argument;
mod multi_edit;
#[cfg(feature = "search")]
mod near_paths;
mod read_file;
mod reply;
mod schema;
#[cfg(feature = "search")]
mod search;
mod staging;
mod text_editor;
pub(crate) mod tool_set;
mod undo;
mod words;

use std::path::{Path, PathBuf};
use std::sync::{LazyLock, MutexGuard, OnceLock};

use schemars::JsonSchema;
use serde_json::{Map, Value};
use tracing::Instrument as _;

#[cfg(feature = "mcp")]
use crate::edit::Message;
use crate::edit::Refusal;
use crate::engine::{CallOptions, Engine};
use crate::port::{BoxFuture, RequestId, RequestStatus};
use crate::session::{Guard, GuardPolicy};
use crate::text::{Encoding, quote_name, redact, redact_json};
use crate::traces;
#[cfg(feature = "cli")]
pub(crate) use apply_patch::prepare as prepare_patch;
use guarded::GuardedCalls;
#[cfg(feature = "cli")]
pub(crate) use guarded::paths_of;

pub(crate) use crate::edit::message::Words;
pub(crate) use dialect::Dialect;
#[cfg(feature = "cli")]
pub(crate) use inline_text::{edit_bytes, edit_text_with, has_inline_text, parse_language};
pub use reply::ToolReply;
pub(crate) use tool_set::ToolSet;
#[cfg(feature = "cli")]
pub(crate) use words::{EDIT_FLAGS, READ_FLAGS, SEARCH_FLAGS};

/// The input of a tool.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct ToolCall<'a> {
    /// The engine.
    pub engine: &'a Engine,
    /// The arguments, under the tool's own names.
    pub arguments: &'a Map<String, Value>,
    /// The caller's options.
    pub options: &'a CallOptions,
    /// The folder below the root from which the caller names files.
    folder: Option<&'a Path>,
}

/// A path below the root as a caller names it that works in this folder.
#[cfg(feature = "search")]
fn shown_path(engine: &Engine, folder: Option<&Path>, path: &str) -> String {
    let Some(folder) = folder else { return path.to_owned() };
    let whole = engine.root().join(path);
    whole.strip_prefix(folder).unwrap_or(&whole).display().to_string()
}

/// Where a tool is listed.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Visibility {
    /// Everywhere.
    Always,
    /// In sessions that use that dialect.
    InDialect(Dialect),
    /// In guarded sessions.
    Guarded,
    /// In staged sessions.
    Staged,
}

/// One tool.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct ToolSpec {
    /// The wire name.
    pub name: &'static str,
    /// The description for a model.
    pub about: &'static str,
    /// The schema of the arguments: `schema::input::<Arguments>`. Their names come from it.
    pub input: fn() -> Value,
    /// The schema of the answer: `schema::output::<Report>`.
    pub output: fn() -> Value,
    /// Where it is listed; it can be called everywhere.
    pub visibility: Visibility,
    /// Whether it can change files.
    pub writes: bool,
    /// Runs it.
    pub run: Run,
}

/// Runs a tool.
type Run = for<'a> fn(ToolCall<'a>) -> BoxFuture<'a, Result<ToolReply, Refusal>>;

impl ToolSpec {
    /// A tool that only reads, with the types of its arguments and of its report.
    const fn reading<A: JsonSchema, R: JsonSchema>(
        name: &'static str,
        about: &'static str,
        run: Run,
    ) -> Self {
        let (input, output) = (schema::input::<A>, schema::output::<R>);
        Self { name, about, input, output, visibility: Visibility::Always, writes: false, run }
    }

    /// The same for one that writes text.
    const fn writing<A: JsonSchema, R: JsonSchema>(
        name: &'static str,
        about: &'static str,
        run: Run,
    ) -> Self {
        let tool = Self::reading::<A, R>(name, about, run);
        Self { input: schema::input_to_write::<A>, writes: true, ..tool }
    }

    /// The schema by which the arguments of one of [`TOOLS`] are read, made once: that takes longer than
    /// reading them. Every tool accepts `encoding`, but only tools that write declare it.
    fn schema(&self) -> &'static Value {
        static SCHEMAS: [OnceLock<Value>; TOOLS.len()] = [const { OnceLock::new() }; TOOLS.len()];
        let at = TOOLS.iter().take_while(|tool| tool.name != self.name).count();
        SCHEMAS[at].get_or_init(|| schema::with_encoding((self.input)()))
    }

    /// Whether the tool has to list the files below the root.
    fn needs_file_list(&self) -> bool {
        matches!(self.name, "search" | "wildcard_search" | "list_files")
    }
}

/// Every tool.
pub(crate) const TOOLS: &[ToolSpec] = &[
    edit_file::TOOL,
    multi_edit::TOOL,
    edit_lines::TOOL,
    hashline_edit::TOOL,
    read_file::TOOL,
    #[cfg(feature = "search")]
    search::SEARCH,
    #[cfg(feature = "search")]
    search::WILDCARD_SEARCH,
    #[cfg(feature = "search")]
    search::LIST_FILES,
    check::TOOL,
    edit::TOOL,
    apply_patch::TOOL,
    text_editor::TOOL,
    undo::TOOL,
    staging::TOOL,
    guarded::TASK_COMPLETE,
];

/// The names of other products' tools, each with the tool here that answers to it.
const TOOL_ALIASES: &[(&str, &str)] = &[
    ("Edit", "edit"),
    ("Edit", "edit_file"),
    ("edit", "edit_file"),
    ("replace", "edit_file"),
    ("replace", "edit"),
    ("edit_file", "edit"),
    ("str_replace", "edit_file"),
    ("search_replace", "edit_file"),
    ("replace_string_in_file", "edit_file"),
    ("MultiEdit", "multi_edit"),
    ("Read", "read_file"),
    ("read", "read_file"),
    ("view_file", "read_file"),
    ("grep", "search"),
    ("Grep", "search"),
    ("grep_search", "search"),
    ("LS", "list_files"),
    ("list_dir", "list_files"),
    ("list_directory", "list_files"),
    ("Glob", "list_files"),
    ("glob", "list_files"),
    ("str_replace_editor", "str_replace_based_edit_tool"),
    ("hashline", "hashline_edit"),
    ("attempt_completion", "task_complete"),
];

/// The tool with this name or alias.
pub(crate) fn find(name: &str) -> Option<&'static ToolSpec> {
    let by_name = |name: &str| TOOLS.iter().find(|tool| tool.name == name);
    by_name(name).or_else(|| {
        let (_, target) = TOOL_ALIASES.iter().find(|(alias, _)| *alias == name)?;
        by_name(target)
    })
}

/// Executes tools by name with JSON arguments.
#[derive(Debug, Clone)]
pub struct Toolbox {
    engine: Engine,
    dialect: Dialect,
    guard: Option<GuardedCalls>,
    tool_set: ToolSet,
    /// The words of a caller that does not call by the tools' schemas.
    words: Option<Words>,
    /// The folder below the root from which the caller names files.
    folder: Option<PathBuf>,
}

impl Toolbox {
    /// The tools, which edit files through `engine`.
    pub fn new(engine: Engine) -> Self {
        Self {
            engine,
            dialect: Dialect::default(),
            guard: None,
            tool_set: ToolSet::default(),
            words: None,
            folder: None,
        }
    }

    /// The same tools, which answer in the words of `dialect`.
    #[must_use]
    pub fn with_dialect(self, dialect: Dialect) -> Self {
        Self { dialect, ..self }
    }

    /// The same tools, which answer in these words.
    #[cfg(feature = "cli")]
    #[must_use]
    pub(crate) fn with_words(self, words: Words) -> Self {
        Self { words: Some(words), ..self }
    }

    /// The same tools, called from this folder below the root: files that they name to the caller are
    /// named from there.
    #[cfg(feature = "cli")]
    #[must_use]
    pub(crate) fn seen_from(self, folder: Option<PathBuf>) -> Self {
        Self { folder, ..self }
    }

    /// The same tools in a guarded session with a new guard.
    #[must_use]
    pub(crate) fn with_guard(self, policy: GuardPolicy) -> Self {
        Self { guard: Some(GuardedCalls::new(policy)), ..self }
    }

    /// The same tools, of which a model is offered only those in `tool_set`.
    #[must_use]
    pub fn with_tool_set(self, tool_set: ToolSet) -> Self {
        Self { tool_set, ..self }
    }

    /// The same tools in a new session, which keeps its own record of what was read, edited and
    /// undone. Both sessions share the guard, if there is one.
    #[must_use]
    pub fn session(&self) -> Self {
        self.over(self.engine.session())
    }

    /// The same tools over another engine.
    #[must_use]
    pub(crate) fn over(&self, engine: Engine) -> Self {
        Self { engine, ..self.clone() }
    }

    /// The session's guard, when there is one.
    pub fn guard(&self) -> Option<MutexGuard<'_, Guard>> {
        self.guard.as_ref().map(GuardedCalls::guard)
    }

    /// What the guard, if there is one, wants the model to do first, with the tools that it is offered.
    #[cfg(feature = "mcp")]
    pub(crate) fn opening_message(&self) -> Option<Message> {
        let opening = self.guard()?.opening_message()?;
        opening.advice_in_words(&Words::default().with_tools(&self.offered()))
    }

    /// The engine.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The tools to offer to a model.
    pub fn listed_tools(&self) -> impl Iterator<Item = &'static ToolSpec> {
        let supported = |tool: &&ToolSpec| !tool.needs_file_list() || self.engine.can_list();
        TOOLS.iter().filter(supported).filter(|tool| match tool.visibility {
            Visibility::Guarded => self.guard.is_some(),
            Visibility::Staged => self.engine.staging().is_some(),
            Visibility::Always | Visibility::InDialect(_) => {
                // A guard wants the project explored first, and that starts with `list_files`.
                let guard_needs = self.guard.is_some() && tool.name == "list_files";
                guard_needs || self.tool_set.has(tool, self.dialect)
            }
        })
    }

    /// The names of the tools that a model is offered.
    fn offered(&self) -> Vec<&'static str> {
        self.listed_tools().map(|tool| tool.name).collect()
    }

    /// The tool of this session that takes the line numbers and anchors of a view; `None` if it offers
    /// none.
    fn line_tool(&self) -> Option<&'static str> {
        let names = self.offered();
        ["hashline_edit", "edit_file", "edit_lines"].into_iter().find(|name| names.contains(name))
    }

    /// Whether a caller may read whole files: not where `--tools` left out `read_file`.
    #[cfg(feature = "mcp")]
    pub(crate) fn can_read_files(&self) -> bool {
        self.find(read_file::TOOL.name).is_some()
    }

    /// Runs one tool. Every failure is a reply, never a panic.
    pub async fn call(&self, name: &str, arguments: Value, options: &CallOptions) -> ToolReply {
        let tool = find(name);
        let span = traces::call(tool.map_or("unknown tool", |tool| tool.name));
        let mut options = options.clone();
        let reply = self.execute(name, arguments, &mut options).instrument(span.clone()).await;
        reply.record_in(&span);
        reply
    }

    /// Checks the arguments and runs the tool, or answers a repeated request as before. A call may
    /// itself ask for a dry run, which is then set in `options`.
    async fn execute(&self, name: &str, arguments: Value, options: &mut CallOptions) -> ToolReply {
        let count_invalid_call = || {
            if let Some(guard) = &self.guard {
                guard.guard().record_invalid_call();
            }
        };
        let Some(tool) = self.find(name) else {
            count_invalid_call();
            return ToolReply::refused(self.no_such_tool(name));
        };
        let schema = tool.schema();
        // Most calls have nothing to say in them.
        let words = LazyLock::new(|| self.words_of(schema));
        let (mut arguments, encoding) = match read_arguments(tool, arguments) {
            Ok(read) => read,
            Err(refusal) => {
                count_invalid_call();
                return self.refused(tool, &words, &Map::new(), refusal);
            }
        };
        let asks_for_dry_run = arguments.remove("dry_run") == Some(Value::Bool(true));
        options.dry_run |= asks_for_dry_run;
        let request_id = options.request_id.clone().filter(|_| tool.writes && !options.dry_run);
        let request_id =
            request_id.map(|id| id.with_digest(arguments::digest(tool.name, &arguments, encoding)));
        if let Some(request_id) = &request_id
            && let Some(reply) = self.reply_to_repeated(request_id).await
        {
            return match reply {
                Ok(reply) => reply,
                Err(refusal) => self.refused(tool, &words, &arguments, refusal),
            };
        }
        let options = &CallOptions { request_id: request_id.clone(), ..options.clone() };
        let with_encoding = encoding.map(|encoding| self.engine.with_encoding(encoding));
        let engine = with_encoding.as_ref().unwrap_or(&self.engine);
        let folder = self.folder.as_deref();
        let call = ToolCall { engine, arguments: &arguments, options, folder };
        let (result, notes) = match &self.guard {
            Some(guard) => guard.run(tool, call, self.line_tool(), &words).await,
            None => ((tool.run)(call).await, Vec::new()),
        };
        let mut reply = match result {
            Ok(reply) => self.with_use_of_hits(tool, reply),
            Err(refusal) => {
                // The refusals of a search are about folders.
                #[cfg(feature = "search")]
                let refusal = match tool.needs_file_list() {
                    true => refusal,
                    false => self.suggest_paths(refusal).await,
                };
                self.refused(tool, &words, &arguments, refusal)
            }
        };
        for note in notes.iter().filter_map(|note| note.advice_in_words(&words)) {
            reply.message.push_str(&format!("\nNote: {note}"));
        }
        // Not every caller sees the report.
        let reply = if asks_for_dry_run { reply.with_diff() } else { reply };
        let mut reply = reply.truncated();
        // A model's server may echo an API key, so secrets in messages are masked. The contents of
        // files that a tool reads are left as they are.
        if tool.writes || !reply.ok {
            reply.message = redact(&reply.message).into_owned();
            redact_json(&mut reply.report);
        }
        // A refusal is not remembered: the same request may succeed once its cause is gone.
        if let (Some(request_id), true) = (&request_id, reply.ok)
            && let Ok(answer) = serde_json::to_string(&reply)
        {
            self.engine.remember(request_id, answer).await;
        }
        reply
    }

    /// The reply of a search, with what this session offers to do with its hits; any other as it is.
    fn with_use_of_hits(&self, tool: &ToolSpec, mut reply: ToolReply) -> ToolReply {
        let has_hits = reply.report["total_matches"].as_u64().is_some_and(|count| count > 0);
        let is_search = tool.needs_file_list() && has_hits;
        let Some(line_tool) = self.line_tool().filter(|_| is_search) else { return reply };
        let use_of_hits = match line_tool {
            // The command line has the tool that takes the lines in `batch` only.
            _ if self.words.is_some() => "`restitch batch` takes these lines in hashline_edit.",
            "edit_file" => "You can use these lines as `lines` of edit_file right away.",
            "edit_lines" => "You can use these lines by number in edit_lines right away.",
            _ => "You can use these lines in hashline_edit right away.",
        };
        reply.message.push_str(&format!(
            "\n\n{use_of_hits} Read the lines around a hit first if they matter."
        ));
        reply
    }

    /// The words of a caller: its own, or those of the tool with this schema.
    fn words_of(&self, schema: &Value) -> Words {
        self.words.clone().unwrap_or_else(|| Words::of_tool(schema, &self.offered()))
    }

    /// The reply to a refused call, in the words of its caller and the dialect of the session.
    fn refused(
        &self,
        tool: &ToolSpec,
        words: &Words,
        arguments: &Map<String, Value>,
        refusal: Refusal,
    ) -> ToolReply {
        let refusal = refusal.in_words(words);
        let first_line = self.dialect.first_line(tool, arguments, words, &refusal);
        let first_line = first_line.unwrap_or_else(|| refusal.to_string());
        ToolReply::refused_as(&refusal, refusal.text_with(&first_line, words.label()))
    }

    /// The reply to a call of the tool with this name that was refused outside of it.
    #[cfg(feature = "cli")]
    pub(crate) async fn refuse(&self, tool: &str, refusal: Refusal) -> ToolReply {
        let Some(tool) = find(tool) else { return ToolReply::refused(refusal) };
        let refusal = self.suggest_paths(refusal).await;
        self.refused(tool, &self.words_of(tool.schema()), &Map::new(), refusal)
    }

    /// The reply to a request that was answered or committed before, or the refusal of a request
    /// id that belongs to another request.
    async fn reply_to_repeated(&self, request: &RequestId) -> Option<Result<ToolReply, Refusal>> {
        match self.engine.recall(request).await {
            RequestStatus::Unknown => None,
            RequestStatus::Answered(answer) => ToolReply::from_json(&answer).map(Ok),
            RequestStatus::Committed(committed) => {
                let mut reports = self.engine.reports(committed);
                Some(Ok(match reports.len() {
                    1 => ToolReply::edited(&reports.remove(0)),
                    _ => multi_edit::reply(reports),
                }))
            }
            RequestStatus::OtherRequest => Some(Err(request.reuse_refusal())),
        }
    }

    /// The tool with this name or alias. A tool that is not listed can be called too, unless
    /// `--tools` chose the list.
    fn find(&self, name: &str) -> Option<&'static ToolSpec> {
        if !matches!(self.tool_set, ToolSet::Chosen(_)) {
            return find(name);
        }
        let offered = |name: &str| self.listed_tools().find(|tool| tool.name == name);
        let mut aliases = TOOL_ALIASES.iter().filter(|(alias, _)| *alias == name);
        offered(name).or_else(|| aliases.find_map(|(_, target)| offered(target)))
    }

    /// The refusal of an unknown tool name.
    fn no_such_tool(&self, name: &str) -> Refusal {
        let known = self.offered();
        let nearest = arguments::nearest(name, &known).unwrap_or_default();
        Refusal::invalid(
            format!("there is no tool `{}`; the nearest is `{nearest}`", quote_name(name)),
            format!("Use one of: {}.", known.join(", ")),
        )
    }
}

/// The arguments under the tool's own names, and the encoding that the call names.
fn read_arguments(
    tool: &ToolSpec,
    mut arguments: Value,
) -> Result<(Map<String, Value>, Option<Encoding>), Refusal> {
    if tool.name == read_file::TOOL.name {
        read_file::parse_ranges(&mut arguments)?;
    }
    let mut arguments = arguments::normalize(tool.name, tool.schema(), arguments)?;
    let encoding = arguments::take_encoding(&mut arguments)?;
    Ok((arguments, encoding))
}

/// Reads what is not among the arguments of a tool as leniently as those: the fields of a request around
/// its tool call, or a call that contains the text to edit. `command` is named in refusals.
#[cfg(feature = "cli")]
pub(crate) fn parse_leniently<T>(command: &str, given: Value) -> Result<T, Refusal>
where
    T: serde::de::DeserializeOwned + JsonSchema,
{
    parse(command, &arguments::normalize(command, &schema::input::<T>(), given)?)
}

/// Reads the arguments into the type that a tool declares.
pub(crate) fn parse<T: serde::de::DeserializeOwned>(
    tool: &str,
    arguments: &Map<String, Value>,
) -> Result<T, Refusal> {
    serde_json::from_value(Value::Object(arguments.clone())).map_err(|error| {
        Refusal::invalid(
            format!("the arguments of `{tool}` are malformed: {error}"),
            "Correct the argument and send the call again.",
        )
    })
}
