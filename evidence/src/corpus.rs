//! The sources of real edits: two folders with two versions of a package, a folder of such pairs,
//! or the history of a git repository.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::edits::FileChange;
use restitch::internals::language::Language;

/// Files of this size and larger are left out.
const MAX_BYTES: u64 = 150_000;
const MAX_FILES: usize = 4_000;
const MAX_COMMITS: &str = "200";

/// Which packages of a corpus to use. The matcher is tuned on one half only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Half {
    /// Every second package, to develop with.
    Development,
    /// The other packages, to measure with.
    HeldOut,
    /// All packages.
    Both,
}

/// Returns the files that are in both versions of a package and differ.
pub(crate) fn changes_between(
    package: &str,
    from: &Path,
    to: &Path,
) -> io::Result<Vec<FileChange>> {
    let old = read_texts(from)?;
    let mut new = read_texts(to)?;
    Ok(old
        .into_iter()
        .filter_map(|(path, before)| {
            let after = new.remove(&path).filter(|after| *after != before)?;
            Some(FileChange { package: package.to_owned(), path, before, after })
        })
        .collect())
}

/// Returns the changed files of all packages in a folder, each of which has one version in `a`
/// and another in `b`.
pub(crate) fn changes_in_packages(dir: &Path, half: Half) -> io::Result<Vec<FileChange>> {
    let mut packages: Vec<PathBuf> =
        std::fs::read_dir(dir)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    packages.retain(|path| path.join("a").is_dir() && path.join("b").is_dir());
    packages.sort();
    let is_in_half = |index: usize| match half {
        Half::Development => index.is_multiple_of(2),
        Half::HeldOut => !index.is_multiple_of(2),
        Half::Both => true,
    };
    let mut changes = Vec::new();
    for (_, package) in packages.iter().enumerate().filter(|(index, _)| is_in_half(*index)) {
        let name =
            package.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        changes.extend(changes_between(&name, &package.join("a"), &package.join("b"))?);
    }
    Ok(changes)
}

/// Returns the files that the last commits of a repository modified, once for each commit.
pub(crate) fn changes_in_history(repository: &Path) -> io::Result<Vec<FileChange>> {
    let git = |args: &[&str]| -> io::Result<Vec<u8>> {
        let output = Command::new("git").arg("-C").arg(repository).args(args).output()?;
        if output.status.success() {
            Ok(output.stdout)
        } else {
            Err(io::Error::other(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
        }
    };
    let name = repository
        .canonicalize()?
        .file_name()
        .map_or_else(|| "repository".to_owned(), |name| name.to_string_lossy().into_owned());
    let log = git(&["log", "--no-merges", "-n", MAX_COMMITS, "--format=%H", "--min-parents=1"])?;
    let mut changes = Vec::new();
    for commit in String::from_utf8_lossy(&log).lines() {
        let files = git(&[
            "diff-tree",
            "-r",
            "--no-commit-id",
            "--name-only",
            "--diff-filter=M",
            "-z",
            commit,
        ])?;
        for path in String::from_utf8_lossy(&files).split('\0').filter(|path| !path.is_empty()) {
            if Language::from_path(path).is_none() || changes.len() >= MAX_FILES {
                continue;
            }
            let show = |version: &str| {
                git(&["show", &format!("{version}:{path}")])
                    .ok()
                    .and_then(|bytes| String::from_utf8(bytes).ok())
            };
            if let (Some(before), Some(after)) = (show(&format!("{commit}^")), show(commit)) {
                let short = commit.get(..8).unwrap_or(commit);
                let package = format!("{name}@{short}");
                changes.push(FileChange { package, path: path.to_owned(), before, after });
            }
        }
    }
    Ok(changes)
}

/// Reads the source files below a folder, by their path without version numbers.
fn read_texts(root: &Path) -> io::Result<BTreeMap<String, String>> {
    let mut texts = BTreeMap::new();
    let mut pending = vec![root.to_owned()];
    while let Some(dir) = pending.pop() {
        for entry in std::fs::read_dir(&dir)? {
            let entry = entry?;
            let (path, file_type) = (entry.path(), entry.file_type()?);
            if file_type.is_dir() {
                pending.push(path);
                continue;
            }
            let Ok(below) = path.strip_prefix(root) else { continue };
            let name = strip_versions(&below.to_string_lossy());
            if file_type.is_file()
                && texts.len() < MAX_FILES
                && Language::from_path(&name).is_some()
                && entry.metadata()?.len() < MAX_BYTES
                && let Ok(text) = String::from_utf8(std::fs::read(&path)?)
            {
                texts.insert(name, text);
            }
        }
    }
    Ok(texts)
}

/// Removes the version from folder names such as `name-1.2` or `name@v1.2`, so that a file has the
/// same path in two versions of a package.
fn strip_versions(path: &str) -> String {
    let strip = |component: &str| match component.split_once(['@', '-']) {
        Some((name, version))
            if version.contains('.')
                && !component.contains(".dist-info")
                && version.starts_with(|c: char| c == 'v' || c.is_ascii_digit())
                && Language::from_path(component).is_none() =>
        {
            name.to_owned()
        }
        _ => component.to_owned(),
    };
    path.split('/').map(strip).collect::<Vec<_>>().join("/")
}
