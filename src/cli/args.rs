//! The command line arguments, as clap parses them.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use clap::builder::{
    NonEmptyStringValueParser, PossibleValue, PossibleValuesParser, RangedU64ValueParser,
    StringValueParser, TypedValueParser,
};
use clap::{Arg, ArgMatches, Args, Parser, Subcommand};

use super::OpenUrl;
use super::init::clients::CLIENTS;
use super::root::{Root, root_url};
use crate::engine::SyntaxMode;
use crate::session::GuardPolicy;
use crate::store::{SyncMode, canonical};
use crate::tools::Dialect;
use crate::tools::export::Format;
use crate::views::ReadStyle;

/// Applies the edit a language model meant, or says why it will not.
#[derive(Debug, Parser)]
#[command(version, about, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Flags that several commands take. Each command declares with [`common`] those that it reads.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Common options")]
pub(crate) struct Common {
    /// The folder to work in; nothing outside it is touched. Default: the git top level above the
    /// current folder, else the current folder; `mcp` and `hook` also look for a client's project
    /// (see their help). The command restitch-object-store also takes
    /// s3://BUCKET/PREFIX, az://, abfss://.
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Ask no model, even if one is configured.
    #[arg(long)]
    pub(crate) no_model: bool,
    /// The model to ask about edits that no built-in rule can match [env: RESTITCH_MODEL]; without
    /// one, none is asked.
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) model: Option<String>,
    /// The model's OpenAI-compatible server [env: OPENAI_BASE_URL]; the key is in OPENAI_API_KEY.
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// The configuration file [env: RESTITCH_CONFIG].
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The flags of the command itself, which decide how it edits.
    #[arg(skip)]
    pub(crate) session: SessionArgs,
    /// The current folder, if the root was found above it.
    #[arg(skip)]
    pub(crate) below_root: Option<PathBuf>,
    /// What opens a root that is a URL.
    #[arg(skip)]
    pub(crate) open_url: Option<OpenUrl>,
    /// The words that start this command again, if it is a script.
    #[arg(skip)]
    pub(crate) program: Option<Vec<OsString>>,
}

/// Flags of commands that write files.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct DiskArgs {
    /// How safe a finished edit is: `durable` survives a power cut, `rename` is faster.
    #[arg(long, value_name = "WHICH", default_value_t, value_parser = names(SyncMode::ALL, SyncMode::as_str))]
    pub(crate) durability: SyncMode,
    /// Allow writing a protected path (.git, hooks, keys, dotenv files, editor and agent
    /// configuration); relative to the root; a folder covers everything in it. Repeatable.
    #[arg(long, value_name = "PATH")]
    pub(crate) allow_protected: Vec<String>,
}

/// Flags of commands that edit.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct EditingArgs {
    #[command(flatten)]
    pub(crate) disk: DiskArgs,
    /// What to do when an edit adds a syntax error: `warn` reports it, `veto` also refuses the
    /// edit if a correction by restitch caused it (the default), `off` parses nothing.
    #[arg(long, value_name = "WHICH", value_parser = names(SyntaxMode::ALL, SyntaxMode::as_str))]
    pub(crate) syntax: Option<SyntaxMode>,
}

/// Flags of commands that make many tool calls.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct SessionArgs {
    #[command(flatten)]
    pub(crate) editing: EditingArgs,
    /// Keep edits in memory until the tool `staging` commits them together; `agent`
    /// commits when its task is complete.
    #[arg(long)]
    pub(crate) stage: bool,
    /// Use the tool names and messages of another edit tool.
    #[arg(long, value_name = "NAME", default_value_t, value_parser = names(Dialect::ALL, Dialect::as_str))]
    pub(crate) dialect: Dialect,
}

impl From<EditingArgs> for SessionArgs {
    fn from(editing: EditingArgs) -> Self {
        Self { editing, ..Self::default() }
    }
}

impl Command {
    /// Whether the command works on the project of the current folder. The others ask for a client's
    /// project, or have folders of their own.
    pub(crate) fn works_in_project(&self) -> bool {
        !matches!(
            self,
            Self::Mcp(_)
                | Self::Init(_)
                | Self::Doctor { client: Some(_) }
                | Self::Harness(_)
                | Self::Dev(DevCommand::Hook(_))
                | Self::Further(DevCommand::Hook(_))
        )
    }

    /// The flags that decide how the command edits; the defaults if it has none.
    pub(crate) fn session(&self) -> SessionArgs {
        match self {
            Self::Batch(args) => args.session.clone(),
            Self::Mcp(args) => args.session.clone(),
            Self::Edit(args) => args.editing.clone().into(),
            Self::Undo(args) => EditingArgs { disk: args.disk.clone(), syntax: None }.into(),
            Self::Dev(command) | Self::Further(command) => match command {
                DevCommand::Agent(args) => args.session.clone(),
                DevCommand::Apply(args) => args.editing.clone().into(),
                DevCommand::Hook(args) => args.editing.clone().into(),
                _ => SessionArgs::default(),
            },
            _ => SessionArgs::default(),
        }
    }
}

/// The flags of [`Common`] with these names.
pub(super) fn common(names: &[&str]) -> Vec<Arg> {
    let all = Common::augment_args(clap::Command::default());
    all.get_arguments().filter(|flag| names.contains(&flag.get_id().as_str())).cloned().collect()
}

/// The flags of commands that may ask a model. `batch` takes --json, too: JSON is all that it prints.
const MODEL: &[&str] = &["root", "json", "no_model", "model", "base_url", "config"];
/// The flags of commands that work in a project and ask no model.
const PROJECT: &[&str] = &["root", "json", "no_model", "config"];
/// The flags of commands that have no project and ask no model: scripts say so to every command.
pub(super) const OFFLINE: &[&str] = &["root", "json", "no_model"];
/// The flags of commands that speak a protocol.
const PROTOCOL: &[&str] = &["root", "no_model", "model", "base_url", "config"];

impl Common {
    /// The flags that a command was given.
    pub(super) fn of(command: &ArgMatches) -> Self {
        fn given<T: Clone + Send + Sync + 'static>(from: &ArgMatches, flag: &str) -> Option<T> {
            from.try_get_one(flag).ok().flatten().cloned()
        }
        Self {
            root: given(command, "root"),
            json: given(command, "json").unwrap_or_default(),
            no_model: given(command, "no_model").unwrap_or_default(),
            model: given(command, "model"),
            base_url: given(command, "base_url"),
            config: given(command, "config"),
            ..Self::default()
        }
    }

    /// Looks for the project of the current folder, if no root was given: edits from a sub-folder
    /// and from the top then have one history.
    pub(crate) fn find_project(&mut self) {
        let Ok(current) = std::env::current_dir().and_then(|folder| canonical(&folder)) else {
            return;
        };
        if self.root.is_none() {
            let root = Root::find(None, None, &current).folder;
            self.below_root = (root != current).then_some(current);
            self.root = Some(root);
        }
    }

    /// A path from the command line, which is relative to the current folder, as the tools take it.
    pub(crate) fn path(&self, given: &str) -> String {
        match self.below_root.as_ref().map(|current| current.join(given)) {
            Some(joined) => joined.to_str().map_or_else(|| given.to_owned(), str::to_owned),
            None => given.to_owned(),
        }
    }

    /// The folder to work in.
    pub(crate) fn root(&self) -> &Path {
        self.root.as_deref().unwrap_or(Path::new("."))
    }

    /// The root, if it is a URL.
    pub(crate) fn root_url(&self) -> Option<&str> {
        root_url(self.root())
    }
}

/// Reads one of the names of an enum.
pub(super) fn names<T: Copy + Send + Sync + 'static>(
    all: &'static [T],
    name: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    let names = PossibleValuesParser::new(all.iter().map(|value| name(*value)));
    names.try_map(move |given| {
        let value = all.iter().copied().find(|value| name(*value) == given);
        value.ok_or("it has no such value")
    })
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Replace text in a file.
    #[command(args = common(MODEL))]
    Edit(EditArgs),
    /// Run tool calls from stdin, one JSON object a line; one reply a line on stdout.
    #[command(args = common(MODEL))]
    Batch(BatchArgs),
    /// Print a file or some of its lines, with numbers or anchors.
    #[command(args = common(PROJECT))]
    Read(ReadArgs),
    /// Find lines by a keyword, or by several terms, best files first.
    #[command(args = common(PROJECT))]
    Search(SearchArgs),
    /// Take back an edit, byte for byte: the last one, or the one with this revision.
    #[command(args = common(PROJECT))]
    Undo(UndoArgs),
    /// List edits, newest first.
    #[command(args = common(PROJECT))]
    Log(LogArgs),
    /// Serve the tools over MCP, on stdio or with --http on loopback HTTP.
    #[command(args = common(PROTOCOL))]
    Mcp(McpArgs),
    /// Print a client's configuration, or merge it into the project's.
    #[command(args = common(PROJECT))]
    Init(InitArgs),
    /// Check the root, the state folder and the model, and report problems.
    #[command(args = common(MODEL))]
    Doctor {
        /// Check the configuration of this client instead, and make a test edit as it would.
        #[arg(long, value_name = "NAME", value_parser = ClientNames, hide_possible_values = true)]
        client: Option<String>,
    },
    /// Replay and score failed edits, and make test cases of them.
    #[command(subcommand)]
    Harness(super::harness::HarnessCommand),
    /// Further commands, which need no `dev` before them: patches, hooks, the agent and more.
    #[command(subcommand)]
    Dev(DevCommand),
    /// The same commands without `dev`.
    #[command(flatten)]
    Further(DevCommand),
}

#[derive(Debug, Subcommand)]
pub(crate) enum DevCommand {
    /// Apply a patch (V4A, search/replace blocks or a unified diff), all or nothing.
    #[command(args = common(PROJECT))]
    Apply(ApplyArgs),
    /// Parse files and folders, and print their syntax errors.
    #[command(args = common(PROJECT))]
    Check {
        /// The files; a folder stands for all files in it that .gitignore does not exclude. Without
        /// any, the whole project.
        #[arg(value_name = "PATH")]
        paths: Vec<String>,
    },
    /// Show repaired and refused edits in a temporary folder, with diffs.
    #[command(args = common(&["json", "no_model"]))]
    Demo,
    /// Run the reference agent on a task.
    #[command(args = common(MODEL))]
    Agent(AgentArgs),
    /// Answer another agent's hook: stdin to stdout.
    #[command(args = common(PROTOCOL))]
    Hook(HookArgs),
    /// Print the tool declarations for a model API.
    Schema {
        /// The model API.
        #[arg(value_parser = names(Format::ALL, Format::as_str))]
        format: Format,
    },
    /// Print completions for a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
}

#[derive(Debug, Args)]
pub(crate) struct EditArgs {
    /// The file; - reads the text from stdin and prints the result, without touching the disk.
    pub(crate) path: String,
    /// The text to find: the text itself, or - for stdin.
    #[arg(
        long,
        value_name = "TEXT",
        allow_hyphen_values = true,
        required_unless_present = "old_file"
    )]
    pub(crate) old: Option<String>,
    /// The file with the text to find.
    #[arg(long, value_name = "FILE", conflicts_with = "old")]
    pub(crate) old_file: Option<PathBuf>,
    /// The text to put in its place: the text itself, or - for stdin.
    #[arg(
        long,
        value_name = "TEXT",
        allow_hyphen_values = true,
        required_unless_present = "new_file"
    )]
    pub(crate) new: Option<String>,
    /// The file with the text to put in its place.
    #[arg(long, value_name = "FILE", conflicts_with = "new")]
    pub(crate) new_file: Option<PathBuf>,
    /// How many occurrences to replace; any other count is refused.
    #[arg(long, value_name = "N", conflicts_with = "all")]
    pub(crate) expect: Option<std::num::NonZeroUsize>,
    /// Replace every occurrence.
    #[arg(long)]
    pub(crate) all: bool,
    /// A line near the text; breaks a tie.
    #[arg(long, value_name = "LINE")]
    pub(crate) near: Option<usize>,
    /// The definition that contains the text, as a path of names: "class Pool / fn open".
    #[arg(long, value_name = "NAMES")]
    pub(crate) within: Option<String>,
    /// The language of a text from stdin, by name or file extension.
    #[arg(long, value_name = "NAME")]
    pub(crate) language: Option<String>,
    /// An id for this edit; a repeated call with the same id returns the first result.
    #[arg(long, value_name = "ID")]
    pub(crate) request_id: Option<String>,
    /// Decide and report, but write nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print nothing if the edit succeeds.
    #[arg(long, short, conflicts_with = "json")]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) editing: EditingArgs,
}

#[derive(Debug, Args)]
pub(crate) struct BatchArgs {
    /// Decide and report, but write nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) session: SessionArgs,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct McpArgs {
    /// Serve streamable HTTP at this loopback address instead (127.0.0.1:8484, or a port), and
    /// /metrics, /healthz, /readyz: one root, with one token.
    #[arg(long, value_name = "ADDR")]
    pub(crate) http: Option<String>,
    /// The file with the bearer token; created if missing. Without it, a token is printed to
    /// stderr.
    #[arg(long, value_name = "FILE", requires = "http")]
    pub(crate) token_file: Option<PathBuf>,
    /// Guard the session: require exploration before edits and `task_complete` at the end, and
    /// refuse endless repeats.
    #[arg(long, value_name = "POLICY", num_args = 0..=1, default_missing_value = "strict", value_parser = names(GuardPolicy::ALL, GuardPolicy::as_str))]
    pub(crate) guard: Option<GuardPolicy>,
    /// The tools to offer, separated by commas; `default` and `all` stand for sets.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', num_args = 1)]
    pub(crate) tools: Vec<String>,
    /// Also return structured content for programs, and declare output schemas.
    #[arg(long)]
    pub(crate) structured: bool,
    #[command(flatten)]
    pub(crate) session: SessionArgs,
    #[command(flatten)]
    pub(crate) root_search: RootSearchArgs,
}

/// How a server or a hook finds its folder when none is named.
#[derive(Debug, Clone, Args)]
pub(crate) struct RootSearchArgs {
    /// The root is the nearest folder, from the current one up, that contains this file: the
    /// client's configuration, as `init` writes it. `--root` and the folder that the client names
    /// take precedence; the git top level and the current folder are the fallbacks.
    #[arg(long, value_name = "FILE")]
    pub(crate) root_of: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct UndoArgs {
    /// The revision, as restitch log shows it.
    pub(crate) revision: Option<u64>,
    /// Report what would change, but write nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) disk: DiskArgs,
}

#[derive(Debug, Args)]
pub(crate) struct LogArgs {
    /// Only edits of this file, or of files in this folder.
    pub(crate) path: Option<String>,
    /// At most so many edits, the newest.
    #[arg(short = 'n', long = "max", value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    pub(crate) max: Option<usize>,
    /// Show what each edit changed.
    #[arg(long)]
    pub(crate) diff: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ApplyArgs {
    /// The file that holds the patch; stdin when left out or -.
    pub(crate) patch: Option<String>,
    /// Decide and report, but write nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) editing: EditingArgs,
}

#[derive(Debug, Args)]
pub(crate) struct AgentArgs {
    /// What to do.
    pub(crate) task: String,
    /// How many turns the model gets at most.
    #[arg(long, value_name = "N", default_value_t = 40)]
    pub(crate) steps: usize,
    /// Let the guard warn instead of refusing.
    #[arg(long)]
    pub(crate) soft: bool,
    #[command(flatten)]
    pub(crate) session: SessionArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ReadArgs {
    /// The file.
    pub(crate) path: String,
    /// Line ranges, such as 10-20,45-50.
    #[arg(long, value_name = "RANGES")]
    pub(crate) ranges: Option<String>,
    /// `plain`, `numbered` (`<<N>>text`) or `hashline` (`N#ID|text`).
    #[arg(long, default_value_t, value_parser = names(ReadStyle::ALL, ReadStyle::as_str))]
    pub(crate) style: ReadStyle,
}

#[derive(Debug, Args)]
pub(crate) struct HookArgs {
    /// gemini, codex, claude, vscode or opencode.
    pub(crate) client: String,
    /// The event; taken from the input when left out.
    pub(crate) event: Option<String>,
    /// Answer `allow` where the client takes a corrected call only with it (Codex), so that the
    /// call runs without a question.
    #[arg(long)]
    pub(crate) approve: bool,
    #[command(flatten)]
    pub(crate) editing: EditingArgs,
    #[command(flatten)]
    pub(crate) root_search: RootSearchArgs,
}

#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// claude, codex, gemini, copilot, cursor, vscode, opencode, zed, qwen or cline.
    #[arg(value_parser = ClientNames, hide_possible_values = true)]
    pub(crate) client: String,
    /// Merge it into the project's files instead of printing it.
    #[arg(long)]
    pub(crate) write: bool,
    /// Let the client use restitch's tools without asking. It trusts nothing else: neither the
    /// folder nor other servers and hooks in it.
    #[arg(long)]
    pub(crate) allow_edits: bool,
    /// Start restitch with npx, for colleagues who have Node but have not installed restitch.
    #[arg(long)]
    pub(crate) npx: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SearchArgs {
    /// What to look for; several terms rank the files.
    #[arg(required = true, value_name = "TERM")]
    pub(crate) terms: Vec<String>,
    /// Let * in a term stand for anything within the line.
    #[arg(long)]
    pub(crate) wildcard: bool,
    /// Lines to show around each hit.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) context: usize,
    /// A folder or file to search.
    #[arg(long, value_name = "PATH")]
    pub(crate) path: Option<String>,
    /// Only files whose path matches, such as *.rs.
    #[arg(long, value_name = "GLOB")]
    pub(crate) glob: Option<String>,
    /// Tell upper and lower case apart.
    #[arg(long)]
    pub(crate) case_sensitive: bool,
    /// Print each hit as path:line:text, and nothing else.
    #[arg(long, conflicts_with_all = ["json", "context"])]
    pub(crate) plain: bool,
}

/// Completes the names of the clients. Any other name is taken, too: the command says what to do for a
/// client that it does not know.
#[derive(Debug, Clone, Copy)]
struct ClientNames;

impl TypedValueParser for ClientNames {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(CLIENTS.iter().map(|client| PossibleValue::new(client.name.as_str()))))
    }
}
