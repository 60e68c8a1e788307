//! Finds the file before a failed edit in the git repository that the agent worked in. This is done
//! only if the transcript does not have the file.
//!
//! A session of Codex names the commit that it began at. Otherwise, and if the repository does not
//! have that commit, the newest versions are tried that were committed before the call. The agent's
//! earlier edits are applied that are not in the version. A version is dropped if it contradicts
//! anything that the transcript shows of the file. Uncommitted changes of others cannot be seen, so
//! a version that nothing in the transcript confirms is marked as unconfirmed.
//!
//! The folder and the path come from the transcript, so they are passed to git in a way that it
//! cannot take them for options. Git runs nothing that the repository's configuration names: no
//! hooks, filters, external diffs, monitors or signature checks. Nothing is fetched.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::class::FailureClass;
use super::files::{Certainty, FileBefore, Provenance, contains_lines, fits, next_edits};
use super::{FileAction, Transcript};

/// The most bytes of a version; a larger one is not read.
const MAX_BYTES: u64 = 16 << 20;
/// How many versions of a file are tried.
const VERSIONS: usize = 10;

/// Where the folders that transcripts name are on this machine.
#[derive(Debug, Clone, Default)]
pub struct FolderMap {
    /// Each recorded folder, or the name of one, with the repository on this machine.
    entries: Vec<(String, PathBuf)>,
}

impl FolderMap {
    /// Adds a folder of a transcript, or its name alone, and the clone that it stands for.
    pub fn add(&mut self, recorded: &str, clone: PathBuf) {
        self.entries.push((recorded.trim_end_matches(['/', '\\']).replace('\\', "/"), clone));
    }

    /// Returns the repositories that may have a recorded file, each with the file's path in it.
    fn places(&self, folder: Option<&Path>, path: &str) -> Vec<(Repository, String)> {
        let is_absolute = path.starts_with('/') || path.get(1..3) == Some(":/");
        let full = match folder {
            Some(folder) if !is_absolute => {
                format!("{}/{path}", folder.to_string_lossy().replace('\\', "/"))
            }
            _ => path.to_owned(),
        };
        let parts: Vec<&str> = full.split('/').filter(|part| *part != ".").collect();
        let mut places = Vec::new();
        for (recorded, clone) in &self.entries {
            let mut add = |below: &[&str]| {
                if !below.is_empty() && !below.contains(&"..") {
                    places.push((Repository { root: clone.clone() }, below.join("/")));
                }
            };
            if recorded.contains('/') {
                let recorded: Vec<&str> = recorded.split('/').collect();
                if let Some(below) = parts.strip_prefix(recorded.as_slice()) {
                    add(below);
                }
            } else {
                let has_name = |(_, part): &(usize, &&str)| part.eq_ignore_ascii_case(recorded);
                for (index, _) in parts.iter().enumerate().filter(has_name) {
                    add(&parts[index + 1..]);
                }
                // A transcript may name its files from the top of the repository.
                if !is_absolute && folder.is_none() {
                    add(&parts);
                }
            }
        }
        // The transcript may be of this machine, where the file's folder may be gone by now. A relative
        // folder does not say which one it is.
        let full = Path::new(&full);
        let mut above = full.ancestors().skip(1).filter(|_| full.is_absolute());
        if let Some(root) = above.find(|folder| folder.is_dir())
            && let Ok(below) = full.strip_prefix(root)
        {
            let root = root.to_owned();
            places.push((Repository { root }, format!("./{}", below.to_string_lossy())));
        }
        places
    }
}

/// Returns the committed version of the file before the failed edit at step `failure`.
pub fn committed_version(
    transcript: &Transcript,
    failure: usize,
    map: &FolderMap,
) -> Option<FileBefore> {
    let step = transcript.steps.get(failure)?;
    let mut unconfirmed = None;
    for (repository, path) in map.places(transcript.folder.as_deref(), &step.path) {
        // Anything else than an id could be an option of git.
        let is_id = |id: &&String| id.len() >= 7 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        let began_at = transcript.commit.as_ref().filter(is_id);
        let began_at = began_at.and_then(|id| repository.content(&format!("{id}:{path}")));
        let versions = match began_at {
            Some(text) => vec![text],
            None => step.time.map(|time| repository.versions_at(&path, time)).unwrap_or_default(),
        };
        for version in versions {
            match reconcile(transcript, failure, version) {
                Some(file) if file.certainty == Certainty::Likely => return Some(file),
                Some(file) => drop(unconfirmed.get_or_insert(file)),
                None => {}
            }
        }
    }
    unconfirmed
}

/// Applies the agent's earlier edits to a committed version that does not have them yet, and
/// returns the result; `None` if it contradicts the transcript.
fn reconcile(transcript: &Transcript, failure: usize, mut file: String) -> Option<FileBefore> {
    let path = &transcript.steps.get(failure)?.file;
    let mut confirmed = false;
    let mut views: Vec<(usize, &str)> = Vec::new();
    for step in transcript.steps[..failure].iter().filter(|step| step.file == *path) {
        match &step.action {
            FileAction::Viewed { from, text, .. } => views.push((*from, text)),
            FileAction::Written(text) => {
                // Something else has changed the file since, or the transcript would have the file.
                views = vec![(1, text)];
            }
            FileAction::Edited(attempt) if attempt.error.is_none() => {
                let is_committed = attempt
                    .edits
                    .iter()
                    .all(|edit| !edit.new.is_empty() && file.contains(&edit.new));
                if !is_committed {
                    file = attempt.apply(&file)?;
                }
                confirmed = true;
                views.clear();
            }
            FileAction::Edited(_) => {}
            FileAction::ChangedUnseen => return None,
        }
    }
    for (from, text) in views {
        confirmed |= confirmed_by_view(&file, from, text)?;
    }
    if let FileAction::Edited(attempt) = &transcript.steps[failure].action {
        let class = attempt.error.as_deref().map_or(FailureClass::Other, FailureClass::of);
        if !fits(attempt, class, &file) {
            return None;
        }
        confirmed |= attempt.shown.as_ref().is_some_and(|shown| contains_lines(&file, shown));
    }
    let retry = next_edits(transcript, failure).next();
    if let Some(edit) = retry.and_then(|retry| retry.edits.first()) {
        if !file.contains(&edit.old) && !file.replace("\r\n", "\n").contains(&edit.old) {
            return None;
        }
        confirmed = true;
    }
    let certainty = if confirmed { Certainty::Likely } else { Certainty::Unconfirmed };
    Some(FileBefore { text: file, source: Provenance::Committed, certainty })
}

/// Compares a view of the lines from `from` on with the file. Returns `None` if they differ (the
/// last line of a view may be cut), and otherwise whether the view confirms the file: one that has
/// only blank lines does not.
fn confirmed_by_view(file: &str, from: usize, view: &str) -> Option<bool> {
    let mut file_lines = file.lines().skip(from.saturating_sub(1));
    let mut view_lines = view.lines().peekable();
    let mut has_text = false;
    while let Some(line) = view_lines.next() {
        let file_line = file_lines.next()?;
        let is_last = view_lines.peek().is_none();
        let is_same = if is_last { file_line.starts_with(line) } else { file_line == line };
        if !is_same {
            return None;
        }
        has_text |= !line.trim().is_empty();
    }
    Some(has_text)
}

/// A git repository, with a work tree or without.
#[derive(Debug)]
pub struct Repository {
    root: PathBuf,
}

impl Repository {
    /// Returns the repository whose top folder, or git directory, a folder is.
    pub fn at(folder: &Path) -> Option<Self> {
        let is_top = folder.join(".git").exists()
            || (folder.join("HEAD").is_file() && folder.join("objects").is_dir());
        is_top.then(|| Self { root: folder.to_owned() })
    }

    /// Returns the newest contents of a path that were committed before `time`, which is in seconds
    /// since 1970.
    fn versions_at(&self, path: &str, time: i64) -> Vec<String> {
        let (count, before) = (format!("-{VERSIONS}"), format!("--before=@{time} +0000"));
        let safe = ["--no-show-signature", "--no-ext-diff", "--no-textconv"];
        let wanted = ["log", "--all", &count, &before, "--format=%H"];
        let commits = self.lines(&[&wanted[..], &safe, &["--", path]].concat());
        let content = |commit: &String| self.content(&format!("{commit}:{path}"));
        let mut versions: Vec<String> = commits.iter().filter_map(content).collect();
        versions.dedup();
        versions
    }

    /// Returns the content of an object, such as `COMMIT:PATH`, if it is a text and not too large.
    pub fn content(&self, object: &str) -> Option<String> {
        // `cat-file` without options returns the object as it is stored and runs no filter.
        let size = String::from_utf8(self.git(&["cat-file", "-s", object])?).ok()?;
        if size.trim().parse::<u64>().ok()? > MAX_BYTES {
            return None;
        }
        String::from_utf8(self.git(&["cat-file", "blob", object])?).ok()
    }

    /// Returns the transcripts that checkpoints keep on branches of their own, each with its path
    /// on the branch, its object and its size.
    pub fn checkpoints(&self) -> Vec<(String, String, u64)> {
        let branches = self.lines(&[
            "for-each-ref",
            "--format=%(objectname)",
            "refs/heads/entire/checkpoints/",
            "refs/remotes/*/entire/checkpoints/",
        ]);
        let mut found: Vec<(String, String, u64)> = Vec::new();
        for branch in branches {
            for line in self.lines(&["ls-tree", "-r", "-l", &branch]) {
                let Some((entry, path)) = line.split_once('\t') else { continue };
                let fields: Vec<&str> = entry.split_whitespace().collect();
                let [_, "blob", object, size] = fields[..] else { continue };
                if path.ends_with(".jsonl") && !found.iter().any(|(_, known, _)| known == object) {
                    found.push((path.to_owned(), object.to_owned(), size.parse().unwrap_or(0)));
                }
            }
        }
        found
    }

    /// Returns the bytes of an object.
    pub fn bytes(&self, object: &str) -> Option<Vec<u8>> {
        self.git(&["cat-file", "blob", object])
    }

    /// Runs git and returns the lines of its output; none if it fails.
    fn lines(&self, arguments: &[&str]) -> Vec<String> {
        let output = self.git(arguments).and_then(|out| String::from_utf8(out).ok());
        output.unwrap_or_default().lines().map(str::to_owned).collect()
    }

    /// Runs git and returns its output; `None` if it fails.
    fn git(&self, arguments: &[&str]) -> Option<Vec<u8>> {
        let mut git = Command::new("git");
        // The caller's variables must not point git at another repository.
        for name in ["GIT_DIR", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_WORK_TREE"] {
            git.env_remove(name);
        }
        git.env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_TERMINAL_PROMPT", "0")
            .args(["--no-pager", "--literal-pathspecs"])
            .args(["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"])
            .args(["-c", "log.showSignature=false", "-c", "protocol.allow=never"])
            .arg("-C")
            .arg(&self.root)
            .args(arguments)
            .stdin(Stdio::null())
            .stderr(Stdio::null());
        let output = git.output().ok()?;
        output.status.success().then_some(output.stdout)
    }
}
