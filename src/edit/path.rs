//! Paths below the root, checked as strings.
//!
//! The check does not look at the disk. The store takes care of links, mounts and races: it resolves
//! the path through folder handles.

use std::fmt;
use std::path::{Component, Path};

use percent_encoding::percent_decode_str;
use serde::Serialize;

use super::{EditCode, Refusal};
use crate::text::{clip, quote_name};

/// How many characters of a path that is no path a refusal shows.
const MAX_SHOWN: usize = 300;

/// A path relative to the root, with `/` between its parts and no `.` or `..`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct WorkPath(String);

impl WorkPath {
    /// Parses a path that a caller gives: as [`Self::parse`], or as a `file:` URI of such a path.
    pub(crate) fn of_caller(raw: &str, root: &Path) -> Result<Self, Refusal> {
        Self::parse(path_of_uri(raw).as_deref().unwrap_or(raw), root)
    }

    /// Parses a path: absolute and below `root`, or relative to it.
    pub fn parse(raw: &str, root: &Path) -> Result<Self, Refusal> {
        let refuse = |why: &str| {
            let shown = clip(&raw.escape_debug().to_string(), MAX_SHOWN);
            Refusal::new(EditCode::InvalidPath, format!("path `{shown}` {why}"))
                .at(raw)
                .hint(format!("Give a path below {}.", root.display()))
        };
        if raw.trim().is_empty() {
            return Err(refuse("is empty"));
        }
        if raw.contains('\0') {
            return Err(refuse("holds a NUL character"));
        }
        if raw.len() > 4096 {
            return Err(refuse("is longer than 4096 bytes"));
        }
        let path = Path::new(raw);
        let path = match path.strip_prefix(root) {
            Ok(below) => below,
            Err(_) if path.is_absolute() => return Err(refuse("is outside the root")),
            Err(_) => path,
        };
        let mut parts: Vec<&str> = Vec::new();
        for component in path.components() {
            match component {
                Component::Normal(part) => {
                    parts.push(part.to_str().ok_or_else(|| refuse("is not UTF-8"))?)
                }
                Component::CurDir => {}
                Component::ParentDir if parts.pop().is_some() => {}
                Component::ParentDir => return Err(refuse("leaves the root")),
                Component::RootDir | Component::Prefix(_) => {
                    return Err(refuse("is outside the root"));
                }
            }
        }
        if parts.is_empty() {
            return Err(refuse("is the root itself, not a file"));
        }
        Ok(Self(parts.join("/")))
    }

    /// The path, relative to the root.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The path for the file system, relative to the root.
    pub fn as_path(&self) -> &Path {
        Path::new(&self.0)
    }
}

/// The path that a `file:` URI names; `None` for any other text, and for the URI of another machine.
pub(crate) fn path_of_uri(uri: &str) -> Option<String> {
    let rest = uri.strip_prefix("file:")?;
    let path = rest.strip_prefix("//").map_or(rest, |rest| {
        rest.strip_prefix("localhost").filter(|path| path.starts_with('/')).unwrap_or(rest)
    });
    let path = percent_decode_str(path.starts_with('/').then_some(path)?);
    Some(path.decode_utf8_lossy().into_owned())
}

/// For display: a name with control characters is quoted.
impl fmt::Display for WorkPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&quote_name(&self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_below_the_root_are_taken() {
        let parse = |raw: &str| WorkPath::parse(raw, Path::new("/w")).map(|p| p.0).ok();
        assert_eq!(parse("a/b.rs").as_deref(), Some("a/b.rs"));
        assert_eq!(parse("./a/../b.rs").as_deref(), Some("b.rs"));
        assert_eq!(parse("/w/a").as_deref(), Some("a"));
        let of_caller = |raw: &str| WorkPath::of_caller(raw, Path::new("/w")).map(|p| p.0).ok();
        for uri in ["file:///w/a%20b", "file://localhost/w/a%20b", "file:/w/a%20b"] {
            assert_eq!(of_caller(uri).as_deref(), Some("a b"), "{uri}");
        }
        // A file may have such a name, and the record of an edit names it so.
        assert_eq!(parse("file:/w/a%20b").as_deref(), Some("file:/w/a%20b"));
        for bad in ["", "  ", ".", "/w", "/etc/passwd", "../x", "a/../../x", "/wevil/x", "a\0b"] {
            assert_eq!(parse(bad), None, "{bad:?}");
        }
        for bad in ["../x", "file:///etc/passwd", "file:///w/%2e%2e/x"] {
            assert_eq!(of_caller(bad), None, "{bad:?}");
        }
    }
}
