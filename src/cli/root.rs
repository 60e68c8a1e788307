//! The folder that `mcp` and `hook` work in. Clients find a project's configuration above the
//! folder that they were started in, so the current folder is the last guess.

use std::fmt;
use std::path::{Path, PathBuf};

use super::args::root_url;

/// A folder, and who says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Root {
    pub(crate) folder: PathBuf,
    pub(crate) from: From,
}

/// Who names the folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum From {
    /// The client, over its protocol.
    Client,
    /// `--root`
    Flag,
    /// The configuration that started us is in it.
    Configuration(PathBuf),
    /// It is the top level of a git working tree.
    Git,
    /// Not chosen: the current folder.
    Current,
}

impl fmt::Display for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Root: {} (", self.folder.display())?;
        match &self.from {
            From::Client => f.write_str("the client's root")?,
            From::Flag => f.write_str("--root")?,
            From::Configuration(file) => write!(f, "the folder of {}", file.display())?,
            From::Git => f.write_str("the git top level")?,
            From::Current => f.write_str("the current folder")?,
        }
        f.write_str("). Paths are relative to it, or absolute and below it.")
    }
}

impl Root {
    /// The folder without a word from the client: `given`, else the nearest folder from
    /// `current` up that holds `configuration`, else the git top level, else `current`.
    pub(crate) fn find(given: Option<&Path>, configuration: Option<&Path>, current: &Path) -> Self {
        let plain = |folder: &Path| folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf());
        if let Some(url) = given.filter(|root| root_url(root).is_some()) {
            return Self { folder: url.to_path_buf(), from: From::Flag };
        }
        if let Some(folder) = given {
            return Self { folder: plain(folder), from: From::Flag };
        }
        let current = plain(current);
        let above = |file: &Path| {
            current.ancestors().find(|folder| folder.join(file).exists()).map(Path::to_path_buf)
        };
        if let Some(file) = configuration
            && let Some(folder) = above(file)
        {
            return Self { folder, from: From::Configuration(file.to_path_buf()) };
        }
        match above(Path::new(".git")) {
            Some(folder) => Self { folder, from: From::Git },
            None => Self { folder: current, from: From::Current },
        }
    }

    /// The folder that the client names, unless it is outside `--root`. It is also ignored if it
    /// is only the folder in which the client started us, below the folder of its configuration:
    /// then the client has not named a project.
    pub(crate) fn named(self, client: &Path, current: &Path) -> Self {
        let Ok(folder) = client.canonicalize() else { return self };
        let outside = self.from == From::Flag && !folder.starts_with(&self.folder);
        let says_nothing = matches!(self.from, From::Configuration(_))
            && folder.starts_with(&self.folder)
            && current.canonicalize().is_ok_and(|current| current == folder);
        let kept = outside || says_nothing || !folder.is_dir();
        if kept { self } else { Self { folder, from: From::Client } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn current_of(folder: &Path) -> Root {
        Root { folder: folder.to_path_buf(), from: From::Current }
    }

    #[test]
    fn the_nearest_answer_counts() {
        let dir = tempfile::tempdir().expect("folder");
        let top = dir.path().canonicalize().expect("top");
        let deep = top.join("project/src/deep");
        std::fs::create_dir_all(&deep).expect("folders");
        let find = |given: Option<&Path>, file: Option<&str>| {
            Root::find(given, file.map(Path::new), &deep)
        };
        let current = find(None, Some(".mcp.json"));
        assert_eq!((current.folder.as_path(), current.from), (deep.as_path(), From::Current));
        std::fs::create_dir(top.join(".git")).expect("git");
        assert_eq!(find(None, None), Root { folder: top.clone(), from: From::Git });
        std::fs::write(top.join("project/.mcp.json"), "{}").expect("file");
        let configured = find(None, Some(".mcp.json"));
        assert_eq!(configured.folder, top.join("project"));
        let given = find(Some(&deep), Some(".mcp.json"));
        assert_eq!(given, Root { folder: deep.clone(), from: From::Flag });
        let elsewhere = deep.parent().expect("folder");
        assert_eq!(configured.clone().named(&deep, elsewhere).folder, deep);
        assert_eq!(configured.clone().named(&top.join("nowhere"), &deep), configured);
        assert_eq!(given.clone().named(&top, &deep).folder, deep, "--root is never exceeded");
        assert_eq!(configured.clone().named(&deep, &deep), configured, "the folder it runs in");
        assert_eq!(current_of(&deep).named(&deep, &deep).from, From::Client);
    }
}
