//! Which model the settings name, and the corrector over it. Flags come before the
//! environment, the environment before the user's own configuration file. Nothing of
//! it is ever read from the workspace: a repository must not choose where code goes.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;

use super::args::Common;
use super::exit::Exit;
use super::shared::SharedSection;
use crate::adapters::formatter::{DEFAULT_TIME, FormatCommand};
use crate::adapters::openai::{
    DEFAULT_BASE_URL, DEFAULT_MODEL, Endpoint, InMemoryProfiles, OpenAi, ProfileStore,
    ServerProfile, WireLimits,
};
use crate::correct::{
    CacheLimits, Cached, DiskCache, Limited, Limits, ModelCorrector, PromptBook, Record, Replay,
    Secrets,
};
use crate::engine::{Allowance, SyntaxMode};
use crate::language::Language;
use crate::port::Corrector;
use crate::resolve::{Adjust, Choice, Policy};
use crate::store::usable_state_folder;
use crate::text::{register_secret, register_url_credentials};

/// The user's configuration file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ConfigFile {
    #[serde(default)]
    model: ModelSection,
    #[serde(default)]
    syntax: SyntaxSection,
    /// Formatters, by language.
    #[serde(default)]
    format: BTreeMap<String, FormatSection>,
    /// Settings of the client of an object storage, by its own names for them.
    #[serde(default)]
    object_store: BTreeMap<String, String>,
    /// `restitch mcp --http` for many.
    #[serde(default)]
    server: ServerSection,
    /// What machines share.
    #[serde(default)]
    shared: SharedSection,
}

/// Its part about the server.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ServerSection {
    /// Seconds that calls under way are waited for at the end.
    drain: Option<f64>,
    /// Who may come in.
    #[serde(default)]
    pub(crate) access: Vec<AccessSection>,
}

/// One token, and what it opens.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AccessSection {
    /// What it is called in the metrics.
    pub(crate) name: String,
    /// The file that has the token; made when missing.
    pub(crate) token_file: Option<PathBuf>,
    /// The environment variable that has it.
    pub(crate) token_env: Option<String>,
    /// The roots, by their names in the path.
    pub(crate) roots: BTreeMap<String, PathBuf>,
    /// The tools, as `--tools` names them.
    #[serde(default)]
    pub(crate) tools: Vec<String>,
    /// Tool calls a minute.
    pub(crate) calls_per_minute: Option<NonZeroU32>,
    /// Questions to the model an hour.
    pub(crate) asks_per_hour: Option<NonZeroU32>,
}

impl ServerSection {
    /// How long calls under way are waited for at the end. By default a server
    /// for many waits for them, and one for its own user ends soon.
    pub(crate) fn drain(&self) -> Result<Duration, Exit> {
        let usual = Duration::from_secs(if self.access.is_empty() { 3 } else { 30 });
        self.drain.map_or(Ok(usual), |time| seconds("server.drain", time))
    }
}

/// Its part about the formatter of one language.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FormatSection {
    /// The program and its arguments.
    command: Vec<String>,
    /// Seconds that it may take.
    timeout: Option<f64>,
}

/// Its part about syntax.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct SyntaxSection {
    /// `off`, `warn` or `veto`.
    mode: Option<SyntaxMode>,
}

/// Its part about the model.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelSection {
    /// The model's name.
    name: Option<String>,
    /// The server, up to `/v1`.
    base_url: Option<String>,
    /// The key. Better: the name of the variable that holds it.
    api_key: Option<String>,
    /// The environment variable that holds the key.
    api_key_env: Option<String>,
    /// `false` switches the model off.
    enabled: Option<bool>,
    /// `model` or `merge`.
    adjust: Option<Adjust>,
    /// `off` or `model`.
    choose: Option<Choice>,
    /// Seconds for all questions of one call.
    timeout: Option<f64>,
    /// Seconds until an answer begins, where that shall be less than `timeout`.
    first_byte_timeout: Option<f64>,
    /// A folder with prompts that replace those compiled in.
    prompts: Option<PathBuf>,
    /// Keep answers on the disk, in the state folder.
    #[serde(default)]
    disk_cache: bool,
    /// Further file names that are never sent.
    #[serde(default)]
    never_send: Vec<String>,
    /// Answer from this recording instead of asking.
    replay: Option<PathBuf>,
    /// Record answers to this file.
    record: Option<PathBuf>,
}

/// What the settings come to.
#[derive(Debug)]
pub(crate) struct ModelSettings {
    /// Where the model is; `None` when there is none.
    pub(crate) endpoint: Option<Endpoint>,
    /// Where each value comes from, for `doctor`.
    pub(crate) sources: Vec<(&'static str, String)>,
    /// What the model may decide.
    pub(crate) policy: Policy,
    /// What one call may spend.
    pub(crate) allowance: Allowance,
    /// What may come of a new syntax error.
    pub(crate) syntax: SyntaxMode,
    /// Formatters, by language.
    pub(crate) format: Vec<(&'static Language, FormatCommand)>,
    /// Settings of the client of an object storage.
    pub(crate) object_store: BTreeMap<String, String>,
    /// Who may use a server, and for what.
    pub(crate) server: ServerSection,
    /// What machines share.
    pub(crate) shared: SharedSection,
    section: ModelSection,
}

/// Reads flags, environment and configuration file.
pub(crate) fn settings(common: &Common) -> Result<ModelSettings, Exit> {
    let var = |name: &str| env::var(name).ok().filter(|value| !value.trim().is_empty());
    let mut sources = Vec::new();
    let (ConfigFile { model: section, syntax, format, object_store, server, shared }, file) =
        config(common)?;
    let config = file.display().to_string();
    let mut pick = |what: &'static str, options: [(Option<String>, &str); 3]| {
        let found = options.into_iter().find_map(|(value, from)| Some((value?, from)));
        if let Some((_, from)) = &found {
            sources.push((what, (*from).to_owned()));
        }
        found.map(|(value, _)| value)
    };
    let base_url = pick(
        "base_url",
        [
            (common.base_url.clone(), "--base-url"),
            (var("OPENAI_BASE_URL"), "OPENAI_BASE_URL"),
            (section.base_url.clone(), &config),
        ],
    );
    let name = pick(
        "model",
        [
            (common.model.clone(), "--model"),
            (var("RESTITCH_MODEL"), "RESTITCH_MODEL"),
            (section.name.clone(), &config),
        ],
    );
    let named_key = section.api_key_env.as_deref().and_then(var);
    let key = pick(
        "api_key",
        [
            (var("OPENAI_API_KEY"), "OPENAI_API_KEY"),
            (named_key, &config),
            (section.api_key.clone(), &config),
        ],
    );
    if let Some(key) = &key {
        register_secret(key);
    }
    if let Some(url) = &base_url {
        register_url_credentials(url);
    }
    let wanted = base_url.is_some() || name.is_some() || key.is_some() || section.replay.is_some();
    let off = common.no_model || section.enabled == Some(false);
    let endpoint = (wanted && !off).then(|| Endpoint {
        base_url: base_url.unwrap_or_else(|| DEFAULT_BASE_URL.to_owned()),
        model: name.unwrap_or_else(|| DEFAULT_MODEL.to_owned()),
        api_key: key.map(|key| key.trim().to_owned()),
    });
    let policy = Policy {
        adjust: section.adjust.unwrap_or_default(),
        choose: section.choose.unwrap_or_default(),
    };
    let mut allowance = Allowance::default();
    if let Some(time) = section.timeout {
        allowance.time = seconds("model.timeout", time)?;
    }
    let syntax = common.syntax.map(SyntaxMode::from).or(syntax.mode).unwrap_or_default();
    let format = format.into_iter().map(|(name, section)| formatter(&name, section));
    let format = format.collect::<Result<_, _>>()?;
    Ok(ModelSettings {
        endpoint,
        sources,
        policy,
        allowance,
        syntax,
        format,
        object_store,
        server,
        shared,
        section,
    })
}

/// The formatter that a section of the configuration names.
fn formatter(
    name: &str,
    section: FormatSection,
) -> Result<(&'static Language, FormatCommand), Exit> {
    let Some(language) = Language::from_name(name) else {
        return Err(Exit::usage(format!(
            "[format.{name}] in the configuration names no language; use a name such as rust, or a file ending such as rs"
        )));
    };
    if section.command.first().is_none_or(|program| program.trim().is_empty()) {
        return Err(Exit::usage(format!(
            "format.{name}.command is empty; give the program and its arguments as a list"
        )));
    }
    let time = match section.timeout {
        None => DEFAULT_TIME,
        Some(time) => seconds(&format!("format.{name}.timeout"), time)?,
    };
    Ok((language, FormatCommand { command: section.command, time }))
}

pub(crate) fn seconds(name: &str, value: f64) -> Result<Duration, Exit> {
    Duration::try_from_secs_f64(value)
        .ok()
        .filter(|time| !time.is_zero() && *time <= Duration::from_secs(600))
        .ok_or_else(|| {
            Exit::usage(format!("{name} is {value}; give seconds above 0 and up to 600"))
        })
}

/// The configuration file, and where it was.
fn config(common: &Common) -> Result<(ConfigFile, PathBuf), Exit> {
    let var = |name: &str| env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let named = common.config.clone().or_else(|| var("RESTITCH_CONFIG"));
    let default = || {
        let home = || var("HOME").map(|home| home.join(".config"));
        let base = var("XDG_CONFIG_HOME").or_else(home)?;
        Some(base.join("restitch/config.toml"))
    };
    let asked_for = named.is_some();
    let Some(path) = named.or_else(default) else { return Ok(Default::default()) };
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && !asked_for => {
            return Ok((ConfigFile::default(), path));
        }
        // The default file is optional: if it cannot be read, there is no model.
        Err(error) if !asked_for => {
            tracing::warn!(file = %path.display(), %error, "the configuration cannot be read and is ignored");
            return Ok((ConfigFile::default(), path));
        }
        Err(error) => {
            return Err(Exit::usage(format!("cannot read {}: {error}", path.display())));
        }
    };
    if !asked_for && is_below(&path, common.root()) {
        tracing::warn!(
            file = %path.display(),
            "the configuration is inside the workspace and is ignored; name another with --config"
        );
        return Ok((ConfigFile::default(), path));
    }
    let file: ConfigFile = toml::from_str(&text).map_err(|error| {
        // Not the whole error: it quotes lines, and a line may hold a key.
        let line = error
            .span()
            .map_or(1, |span| text.get(..span.start).unwrap_or_default().matches('\n').count() + 1);
        Exit::usage(format!("{}, line {line}: {}", path.display(), error.message()))
    })?;
    if is_below(&path, common.root()) {
        return Err(Exit::usage(format!(
            "the configuration {} lies in the workspace {}, which must not choose where code is sent; keep it elsewhere",
            path.display(),
            common.root().display()
        )));
    }
    Ok((file, path))
}

fn is_below(path: &Path, root: &Path) -> bool {
    match (path.canonicalize(), root.canonicalize()) {
        (Ok(path), Ok(root)) => path.starts_with(root),
        _ => false,
    }
}

impl ModelSettings {
    /// The client, when there is a model; it knows what the server lacks.
    pub(crate) fn client(&self) -> Result<Option<OpenAi>, Exit> {
        self.client_with(ProfileUse::Stored)
    }

    /// A client that finds out anew what the server takes, and remembers that.
    pub(crate) fn fresh_client(&self) -> Result<Option<OpenAi>, Exit> {
        self.client_with(ProfileUse::Fresh)
    }

    fn client_with(&self, profile_use: ProfileUse) -> Result<Option<OpenAi>, Exit> {
        let Some(endpoint) = self.endpoint.clone() else { return Ok(None) };
        let mut limits = WireLimits::default();
        if let Some(time) = self.section.first_byte_timeout {
            limits.first_byte = Some(seconds("model.first_byte_timeout", time)?);
        }
        let client = OpenAi::new(endpoint, limits)
            .map_err(|error| Exit::usage(format!("the model cannot be used: {error}")))?;
        let profiles = ProfileFile {
            process: InMemoryProfiles::default(),
            file: usable_state_folder().ok().map(|dir| dir.join("servers.json")),
            profile_use,
        };
        Ok(Some(client.with_profile_store(Arc::new(profiles))))
    }

    /// The prompts.
    pub(crate) fn prompts(&self) -> Result<PromptBook, Exit> {
        let mut trouble = None;
        let book = PromptBook::with(|name| {
            let path = self.section.prompts.as_ref()?.join(name);
            match fs::read_to_string(&path) {
                Ok(text) => Some(text),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
                Err(error) => {
                    trouble = Some(format!("cannot read {}: {error}", path.display()));
                    None
                }
            }
        });
        match (book, trouble) {
            (Ok(book), None) => Ok(book),
            (Err(error), _) => Err(Exit::usage(error.to_string())),
            (Ok(_), Some(trouble)) => Err(Exit::usage(trouble)),
        }
    }

    /// The corrector with all its layers; `None` without a model.
    pub(crate) fn corrector(&self) -> Result<Option<Arc<dyn Corrector>>, Exit> {
        if self.endpoint.is_none() {
            return Ok(None);
        }
        if let Some(path) = &self.section.replay {
            let text = fs::read_to_string(path).map_err(|error| {
                Exit::usage(format!("cannot read the recording {}: {error}", path.display()))
            })?;
            let replay = Replay::from_jsonl(&text)
                .map_err(|error| Exit::usage(format!("{}: {error}", path.display())))?;
            return Ok(Some(Arc::new(replay)));
        }
        let Some(client) = self.client()? else { return Ok(None) };
        let mut secrets = Secrets::new();
        if let Some(key) = &client.endpoint().api_key {
            secrets = secrets.with_literal(key);
        }
        for name in &self.section.never_send {
            secrets = secrets.with_name(name);
        }
        let cache = self.shared.cache()?;
        #[cfg(feature = "redis")]
        let client = match cache.as_ref().and_then(|cache| cache.gate(client.endpoint())) {
            Some(gate) => client.with_gate(gate),
            None => client,
        };
        let model = ModelCorrector::new(client, self.prompts()?, secrets);
        let identity = model.identity();
        let limited = Limited::new(model, Limits::default());
        #[cfg(feature = "redis")]
        if let Some(cache) = cache {
            let shared = cache.share(limited, identity.clone());
            return self.with_layers(Cached::new(shared, identity, CacheLimits::default()));
        }
        #[cfg(not(feature = "redis"))]
        let None = cache;
        self.with_layers(Cached::new(limited, identity, CacheLimits::default()))
    }

    /// The cache with its layer on the disk, recorded if so wanted.
    fn with_layers<C: Corrector + 'static>(
        &self,
        mut cached: Cached<C>,
    ) -> Result<Option<Arc<dyn Corrector>>, Exit> {
        if self.section.disk_cache
            && let Ok(state) = usable_state_folder()
        {
            match DiskCache::open(&state.join("corrections")) {
                Ok(disk) => cached = cached.with_disk(disk),
                Err(error) => tracing::warn!(%error, "answers are not kept on the disk"),
            }
        }
        Ok(Some(match &self.section.record {
            None => Arc::new(cached),
            Some(path) => Arc::new(Record::to(cached, path).map_err(|error| {
                Exit::usage(format!("cannot record to {}: {error}", path.display()))
            })?),
        }))
    }
}

/// Where a client takes the profile of its server from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProfileUse {
    Stored,
    Fresh,
}

/// Profiles of servers and models, in a small file of the state folder, so that the next process
/// does not have to find out again. Losing it costs a request.
struct ProfileFile {
    process: InMemoryProfiles,
    file: Option<PathBuf>,
    profile_use: ProfileUse,
}

impl ProfileFile {
    fn read(&self) -> BTreeMap<String, ServerProfile> {
        let text = self.file.as_ref().and_then(|file| fs::read_to_string(file).ok());
        text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
    }
}

impl ProfileStore for ProfileFile {
    fn load(&self, server_and_model: &str) -> Option<ServerProfile> {
        self.process.load(server_and_model).or_else(|| {
            if self.profile_use == ProfileUse::Fresh {
                return None;
            }
            let profile = *self.read().get(server_and_model)?;
            self.process.save(server_and_model, profile);
            Some(profile)
        })
    }

    fn save(&self, server_and_model: &str, profile: ServerProfile) {
        self.process.save(server_and_model, profile);
        let mut known = self.read();
        if known.insert(server_and_model.to_owned(), profile) == Some(profile) {
            return;
        }
        let Some(file) = &self.file else { return };
        let write = || -> std::io::Result<()> {
            let folder = file.parent().unwrap_or(Path::new("."));
            fs::create_dir_all(folder)?;
            let temp = tempfile::NamedTempFile::new_in(folder)?;
            serde_json::to_writer(&temp, &known)?;
            temp.persist(file).map_err(|error| error.error)?;
            Ok(())
        };
        if let Err(error) = write() {
            tracing::info!(%error, "what the server lacks could not be remembered");
        }
    }
}
