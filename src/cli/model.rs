//! The settings of flags, environment and configuration file, and the corrector that they describe.
//! Flags take precedence over the environment, and the environment over the configuration file.
//! Nothing is read from the workspace: a repository must not choose where code is sent.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;

use super::args::Common;
use super::exit::Exit;
use crate::adapters::openai::{DEFAULT_BASE_URL, Endpoint, OpenAi, Profiles, WireLimits};
use crate::correct::{Cached, DiskCache, Limited, MAX_AGE, ModelCorrector, PromptBook, Secrets};
use crate::engine::{Allowance, SyntaxMode};
use crate::port::Corrector;
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
    /// The settings of the object storage client, under that client's own names.
    #[serde(default)]
    object_store: BTreeMap<String, String>,
    /// The settings of `restitch mcp --http`.
    #[serde(default)]
    server: ServerSection,
}

/// How long `mcp --http` waits for running calls by default.
const DEFAULT_DRAIN: Duration = Duration::from_secs(3);

/// `[server]` in the configuration.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ServerSection {
    /// Seconds to wait for running calls before the server ends.
    drain: Option<f64>,
}

impl ServerSection {
    /// How long to wait for running calls before the server ends.
    pub(crate) fn drain_time(&self) -> Result<Duration, Exit> {
        self.drain.map_or(Ok(DEFAULT_DRAIN), |time| seconds("server.drain", time))
    }
}

/// `[syntax]` in the configuration.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct SyntaxSection {
    /// `off`, `warn` or `veto`.
    mode: Option<SyntaxMode>,
}

/// `[model]` in the configuration.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelSection {
    /// The model's name; without one, no model is asked.
    name: Option<String>,
    /// The URL of the server, up to `/v1`.
    base_url: Option<String>,
    /// The key. `api_key_env` is safer.
    api_key: Option<String>,
    /// The environment variable that contains the key.
    api_key_env: Option<String>,
    /// `false` switches the model off.
    enabled: Option<bool>,
    /// Seconds for all questions of one call.
    timeout: Option<f64>,
    /// Seconds until the first byte of an answer; `timeout` if not set.
    first_byte_timeout: Option<f64>,
    /// A folder with prompts that replace the built-in ones.
    prompts: Option<PathBuf>,
    /// Keep answers on the disk, in the state folder.
    #[serde(default)]
    disk_cache: bool,
    /// More names of files whose content is never sent.
    #[serde(default)]
    never_send: Vec<String>,
}

/// The settings after flags, environment and configuration file are combined.
#[derive(Debug)]
pub(crate) struct ModelSettings {
    /// The server and the model; `None` if no model is used.
    pub(crate) endpoint: Option<Endpoint>,
    /// The source of each value, for `doctor`.
    pub(crate) sources: Vec<(&'static str, String)>,
    /// The time and requests that one call may spend on the model.
    pub(crate) allowance: Allowance,
    /// What to do when an edit adds a syntax error.
    pub(crate) syntax: SyntaxMode,
    /// The settings of the object storage client.
    pub(crate) object_store: BTreeMap<String, String>,
    section: ModelSection,
}

/// Combines flags, environment and configuration file.
pub(crate) fn settings(common: &Common) -> Result<ModelSettings, Exit> {
    let var = |name: &str| env::var(name).ok();
    let mut sources = Vec::new();
    let (ConfigFile { model: section, syntax, object_store, server }, path, _) = config(common)?;
    server.drain_time()?;
    let config_path = path.display().to_string();
    let mut first_of = |setting: &'static str, candidates: [(Option<String>, &str); 3]| {
        let is_given = |value: &String| !value.trim().is_empty();
        let given = |(value, source): (Option<String>, _)| Some((value.filter(is_given)?, source));
        let (value, source) = candidates.into_iter().find_map(given)?;
        sources.push((setting, source.to_owned()));
        Some(value)
    };
    let base_url = first_of(
        "base_url",
        [
            (common.base_url.clone(), "--base-url"),
            (var("OPENAI_BASE_URL"), "OPENAI_BASE_URL"),
            (section.base_url.clone(), &config_path),
        ],
    );
    let name = first_of(
        "model",
        [
            (common.model.clone(), "--model"),
            (var("RESTITCH_MODEL"), "RESTITCH_MODEL"),
            (section.name.clone(), &config_path),
        ],
    );
    let key_from_named_variable = section.api_key_env.as_deref().and_then(var);
    let key = first_of(
        "api_key",
        [
            (var("OPENAI_API_KEY"), "OPENAI_API_KEY"),
            (key_from_named_variable, &config_path),
            (section.api_key.clone(), &config_path),
        ],
    );
    if let Some(key) = &key {
        register_secret(key);
    }
    if let Some(url) = &base_url {
        register_url_credentials(url);
    }
    // Only a model that is named is asked: a key or a server that is there for other programs is no
    // consent to send code.
    if let (None, Some(name)) = (&key, &section.api_key_env) {
        sources.push(("no api_key", format!("{name}, which is not set")));
    }
    let is_off = common.no_model || section.enabled == Some(false);
    let name = name.filter(|_| !is_off);
    let endpoint = name.map(|model| Endpoint {
        base_url: base_url.unwrap_or_else(|| DEFAULT_BASE_URL.to_owned()),
        model,
        api_key: key.map(|key| key.trim().to_owned()),
    });
    let mut allowance = Allowance::default();
    if let Some(time) = section.timeout {
        allowance.time = seconds("model.timeout", time)?;
    }
    if let Some(time) = section.first_byte_timeout
        && seconds("model.first_byte_timeout", time)? > allowance.time
    {
        let all = allowance.time.as_secs_f64();
        return Err(Exit::usage(format!(
            "model.first_byte_timeout is {time}, more than model.timeout, {all}, which is for the whole call"
        )));
    }
    let syntax = common.session.editing.syntax.or(syntax.mode).unwrap_or_default();
    Ok(ModelSettings { endpoint, sources, allowance, syntax, object_store, section })
}

/// The duration that a setting gives in seconds.
pub(crate) fn seconds(name: &str, value: f64) -> Result<Duration, Exit> {
    Duration::try_from_secs_f64(value)
        .ok()
        .filter(|time| !time.is_zero() && *time <= Duration::from_secs(600))
        .ok_or_else(|| {
            Exit::usage(format!("{name} is {value}; give seconds above 0 and up to 600"))
        })
}

/// The settings of a server. Unlike other commands, a server does not start without a configuration
/// that is there and cannot be used: what it leaves out could be what limits the server.
pub(crate) fn settings_of_server(common: &Common) -> Result<ServerSection, Exit> {
    match config(common)? {
        (_, path, Some(reason)) => Err(Exit::usage(format!(
            "the configuration {} {reason}, and a server does not start without it; correct this, or give another file with --config",
            path.display()
        ))),
        (file, _, None) => Ok(file.server),
    }
}

/// The content of the configuration file, its path, and why the file is ignored if it is. A missing
/// default file is empty.
fn config(common: &Common) -> Result<(ConfigFile, PathBuf, Option<String>), Exit> {
    let var = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let chosen_path = common.config.clone().or_else(|| var("RESTITCH_CONFIG"));
    let default_path = || {
        let home = || var("HOME").map(|home| home.join(".config"));
        let base = var("XDG_CONFIG_HOME").or_else(home)?;
        Some(base.join("restitch/config.toml"))
    };
    let is_chosen = chosen_path.is_some();
    let Some(path) = chosen_path.or_else(default_path) else { return Ok(Default::default()) };
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && !is_chosen => {
            return Ok((ConfigFile::default(), path, None));
        }
        // The default file is optional, so restitch works without it.
        Err(error) if !is_chosen => {
            tracing::warn!(file = %path.display(), %error, "the configuration cannot be read and is ignored");
            return Ok((ConfigFile::default(), path, Some(format!("cannot be read ({error})"))));
        }
        Err(error) => {
            return Err(Exit::usage(format!("cannot read {}: {error}", path.display())));
        }
    };
    if !is_chosen && is_below(&path, common.root()) {
        tracing::warn!(
            file = %path.display(),
            "the configuration is inside the workspace and is ignored; give another with --config"
        );
        let reason = "is inside the root that is served".to_owned();
        return Ok((ConfigFile::default(), path, Some(reason)));
    }
    let file: ConfigFile = toml::from_str(&text).map_err(|error| {
        // Only the error's message: the whole error quotes a line, which may contain a key.
        let line = error
            .span()
            .map_or(1, |span| text.get(..span.start).unwrap_or_default().matches('\n').count() + 1);
        Exit::usage(format!("{}, line {line}: {}", path.display(), error.message()))
    })?;
    if is_below(&path, common.root()) {
        return Err(Exit::usage(format!(
            "the configuration {} is inside the workspace {}, which must not choose where code is sent; move it out of the workspace",
            path.display(),
            common.root().display()
        )));
    }
    Ok((file, path, None))
}

/// Whether `path` is `root` or below it. A path that does not exist is not.
fn is_below(path: &Path, root: &Path) -> bool {
    match (path.canonicalize(), root.canonicalize()) {
        (Ok(path), Ok(root)) => path.starts_with(root),
        _ => false,
    }
}

impl ModelSettings {
    /// The client of the model, if there is one, with what is known about servers.
    fn client(&self, profiles: Profiles) -> Result<Option<OpenAi>, Exit> {
        let Some(endpoint) = self.endpoint.clone() else { return Ok(None) };
        let mut limits = WireLimits::default();
        if let Some(time) = self.section.first_byte_timeout {
            limits.first_byte = Some(seconds("model.first_byte_timeout", time)?);
        }
        let client = OpenAi::new(endpoint, limits)
            .map_err(|error| Exit::usage(format!("the model cannot be used: {error}")))?;
        Ok(Some(client.with_profiles(profiles)))
    }

    /// A client that finds out anew which features the server supports.
    pub(crate) fn fresh_client(&self) -> Result<Option<OpenAi>, Exit> {
        self.client(Profiles::new(profiles_file()))
    }

    /// The prompts: those in the configured folder, and the built-in ones for the rest.
    pub(crate) fn prompts(&self) -> Result<PromptBook, Exit> {
        if let Some(folder) = self.section.prompts.as_ref().filter(|folder| !folder.is_dir()) {
            let folder = folder.display();
            return Err(Exit::usage(format!("model.prompts is {folder}, which is not a folder")));
        }
        let mut read_error = None;
        let book = PromptBook::with(|name| {
            let path = self.section.prompts.as_ref()?.join(name);
            match fs::read_to_string(&path) {
                Ok(text) => Some(text),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
                Err(error) => {
                    read_error = Some(format!("cannot read {}: {error}", path.display()));
                    None
                }
            }
        });
        match (book, read_error) {
            (Ok(book), None) => Ok(book),
            (Err(error), _) => Err(Exit::usage(error.to_string())),
            (Ok(_), Some(read_error)) => Err(Exit::usage(read_error)),
        }
    }

    /// The corrector with its limits and caches; `None` without a model.
    pub(crate) fn corrector(&self) -> Result<Option<Arc<dyn Corrector>>, Exit> {
        let profiles = Profiles::stored(profiles_file());
        let Some(client) = self.client(profiles)? else { return Ok(None) };
        let names = self.section.never_send.iter();
        let mut secrets = names.fold(Secrets::new(), |secrets, name| secrets.with_name(name));
        if let Some(key) = &client.endpoint().api_key {
            secrets = secrets.with_literal(key);
        }
        let model = ModelCorrector::new(client, self.prompts()?, secrets);
        let identity = model.identity();
        let mut cached = Cached::new(Limited::new(model), identity, MAX_AGE);
        if self.section.disk_cache
            && let Ok(state) = usable_state_folder()
        {
            match DiskCache::open(&state.join("corrections")) {
                Ok(disk) => cached = cached.with_disk(disk),
                Err(error) => {
                    tracing::warn!(%error, "the model's answers are not cached on the disk")
                }
            }
        }
        Ok(Some(Arc::new(cached)))
    }
}

/// The file that keeps what is known about servers; `None` without a state folder.
fn profiles_file() -> Option<PathBuf> {
    usable_state_folder().ok().map(|state| state.join("servers.json"))
}
