//! Each client's configuration, as `clients.json` lists it: its files, their content, and the
//! permissions for edits.

use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::Value;

use super::content::Content;

/// A client program.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Client {
    /// Its name on the command line.
    pub(crate) name: String,
    /// Other names that are understood.
    #[serde(default)]
    aliases: Vec<String>,
    /// The files that `init` always writes.
    pub(crate) files: Vec<ConfigFile>,
    /// What `--allow-edits` adds: it lets restitch's own tools through without a question.
    #[serde(default)]
    pub(crate) permission_files: Vec<ConfigFile>,
    /// What the client does if the permission files are missing, as the end of a sentence.
    #[serde(default)]
    pub(crate) without_permissions: String,
    /// What only the user can do.
    pub(crate) trust: Option<Trust>,
    /// A note for the user.
    pub(crate) note: String,
}

/// The user's trust in a folder, without which a client ignores configuration in it. It covers every
/// hook and server of the folder, not only restitch's, so `init` never writes it: the user gives it in
/// the client, and `doctor` looks for it.
#[derive(Debug, Deserialize)]
pub(crate) struct Trust {
    /// The user's file, and what the client writes there when the user trusts `{folder}`.
    pub(crate) file: ConfigFile,
    /// What the client does without it, as the end of a sentence.
    pub(crate) without: String,
    /// How the user gives it.
    pub(crate) how: String,
}

/// A file of a client's configuration: the project's, or the user's.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct ConfigFile {
    /// Of a file of the user: its folder below the home folder.
    pub(crate) home: Option<String>,
    /// The variable that names another folder for it.
    pub(crate) variable: Option<String>,
    /// The path below that folder, or below the project's.
    pub(crate) path: String,
    #[serde(flatten)]
    pub(crate) content: Content,
}

impl ConfigFile {
    /// The same file, in which this folder stands for `{folder}`.
    pub(crate) fn for_folder(&self, folder: &str) -> Option<Self> {
        let as_json = Value::from(folder).to_string();
        let text = serde_json::to_string(&self.content).ok()?;
        let content = text.replace("{folder}", as_json.trim_matches('"'));
        Some(Self { content: serde_json::from_str(&content).ok()?, ..self.clone() })
    }
}

/// The clients, in the order of their popularity.
pub(crate) static CLIENTS: LazyLock<Vec<Client>> =
    LazyLock::new(|| serde_json::from_str(include_str!("clients.json")).unwrap_or_default());

/// The client of that name.
pub(crate) fn client(name: &str) -> Option<&'static Client> {
    CLIENTS.iter().find(|client| client.name == name || client.aliases.iter().any(|a| a == name))
}
