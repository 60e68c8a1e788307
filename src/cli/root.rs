//! The folder that `mcp` and `hook` work in. Clients also find a project's configuration in folders
//! above the current one, so the current folder is only the last choice.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::store::{Worktree, canonical};

/// The folder to work in, and how it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Root {
    pub(crate) folder: PathBuf,
    pub(crate) source: RootSource,
}

/// How the folder was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RootSource {
    /// The client named it.
    Client,
    /// `--root` named it.
    Flag,
    /// It contains this configuration file of the client.
    Configuration(PathBuf),
    /// It is the top level of a git working tree.
    Git,
    /// It is the current folder, as there was no other choice.
    CurrentFolder,
}

impl fmt::Display for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Root: {} (", self.folder.display())?;
        match &self.source {
            RootSource::Client => f.write_str("the client's root")?,
            RootSource::Flag => f.write_str("--root")?,
            RootSource::Configuration(file) => write!(f, "the folder of {}", file.display())?,
            RootSource::Git => f.write_str("the git top level")?,
            RootSource::CurrentFolder => f.write_str("the current folder")?,
        }
        f.write_str("). Paths are relative to it, or absolute and below it.")
    }
}

/// The root as text, if it is a URL such as `s3://…`.
pub(crate) fn root_url(root: &Path) -> Option<&str> {
    let text = root.to_str()?;
    let (scheme, _) = text.split_once("://")?;
    let is_scheme = !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_scheme.then_some(text)
}

impl Root {
    /// The folder when the client names none: `given`, else the nearest folder from `current` up
    /// that contains `configuration`, else the git top level, else `current`. A worktree is not left.
    pub(crate) fn find(given: Option<&Path>, configuration: Option<&Path>, current: &Path) -> Self {
        let canonical = |folder: &Path| canonical(folder).unwrap_or_else(|_| folder.to_path_buf());
        if let Some(url) = given.filter(|root| root_url(root).is_some()) {
            return Self { folder: url.to_path_buf(), source: RootSource::Flag };
        }
        if let Some(folder) = given {
            return Self { folder: canonical(folder), source: RootSource::Flag };
        }
        let current = canonical(current);
        // Who works in a worktree does not mean the checkout around it.
        let top = Worktree::around(&current).map(|worktree| worktree.folder);
        let nearest_with = |file: &Path| {
            let mut folders = current
                .ancestors()
                .take_while(|folder| top.as_ref().is_none_or(|top| folder.starts_with(top)));
            folders.find(|folder| folder.join(file).exists()).map(Path::to_path_buf)
        };
        if let Some(file) = configuration
            && let Some(folder) = nearest_with(file)
        {
            return Self { folder, source: RootSource::Configuration(file.to_path_buf()) };
        }
        match nearest_with(Path::new(".git")) {
            Some(folder) => Self { folder, source: RootSource::Git },
            None => Self { folder: current, source: RootSource::CurrentFolder },
        }
    }

    /// Why the folder that the client named is not this root, if the client cannot know it.
    pub(crate) fn why_not(&self, named_folder: &Path) -> Option<String> {
        let why = match canonical(named_folder) {
            Err(error) => error.to_string(),
            Ok(folder) if !folder.is_dir() => "it is not a folder".to_owned(),
            Ok(folder) if self.source == RootSource::Flag && !folder.starts_with(&self.folder) => {
                "it is not below --root".to_owned()
            }
            Ok(_) => return None,
        };
        let named_folder = named_folder.display();
        Some(format!("The client's root {named_folder} is not used: {why}."))
    }

    /// The root after the client has named a folder: that folder, or this root as it is if the named
    /// folder does not count. It does not count if it is outside `--root`. If this root was found by the
    /// client's configuration file, a folder below it that equals `current`, where this process was
    /// started, does not count either: the client then did not choose it as a project.
    pub(crate) fn with_client_root(self, named_folder: &Path, current: &Path) -> Self {
        let Ok(folder) = canonical(named_folder) else { return self };
        let is_outside = self.source == RootSource::Flag && !folder.starts_with(&self.folder);
        let is_start_folder = matches!(self.source, RootSource::Configuration(_))
            && folder.starts_with(&self.folder)
            && canonical(current).is_ok_and(|current| current == folder);
        let is_ignored = is_outside || is_start_folder || !folder.is_dir();
        if is_ignored { self } else { Self { folder, source: RootSource::Client } }
    }
}
