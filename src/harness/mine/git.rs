//! Finds the file before a failed edit in the git repository that the agent worked in. This is done
//! only if the transcript does not have the file.
//!
//! The newest version that was committed before the call is taken, and the agent's earlier edits
//! are applied that are not in it. The version is dropped if it contradicts anything that the
//! transcript shows of the file. Uncommitted changes of others cannot be seen, so a version that
//! nothing in the transcript confirms is marked as unconfirmed.
//!
//! The folder and the path come from the transcript, so they are passed to git in a way that it
//! cannot take them for options. Git runs nothing that the repository's configuration names: no
//! hooks, filters, external diffs, monitors or signature checks. Nothing is fetched.

use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};

use super::files::{Provenance, apply_exact, contains_lines, find_retry};
use super::{EditAttempt, FileAction, Transcript};

/// The most bytes of a version; a larger one is not read.
const MAX_BYTES: u64 = 16 << 20;

/// Returns the committed version of the file before the failed edit at step `failure`.
pub fn committed_version(transcript: &Transcript, failure: usize) -> Option<(String, Provenance)> {
    let step = transcript.steps.get(failure)?;
    let (folder, time) = (transcript.folder.as_ref()?, step.time?);
    let repository = Repository::containing(folder)?;
    let path = repository.path_of(folder, &step.path)?;
    let version = repository.version_at(&path, time)?;
    reconcile(transcript, failure, version)
}

/// Applies the agent's earlier edits to a committed version that does not have them yet, and
/// returns the result; `None` if it contradicts the transcript.
fn reconcile(
    transcript: &Transcript,
    failure: usize,
    mut file: String,
) -> Option<(String, Provenance)> {
    let path = &transcript.steps.get(failure)?.path;
    let mut confirmed = false;
    let mut views: Vec<(usize, &str)> = Vec::new();
    for step in transcript.steps[..failure].iter().filter(|step| step.path == *path) {
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
                    file = apply_exact(&file, &attempt.edits)?;
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
    if let FileAction::Edited(EditAttempt { shown: Some(shown), .. }) =
        &transcript.steps[failure].action
    {
        if !contains_lines(&file, shown) {
            return None;
        }
        confirmed = true;
    }
    let retry = find_retry(transcript, failure).and_then(|(_, retry)| retry);
    if let Some(edit) = retry.and_then(|retry| retry.edits.first()) {
        if !file.contains(&edit.old) && !file.replace("\r\n", "\n").contains(&edit.old) {
            return None;
        }
        confirmed = true;
    }
    Some((file, Provenance::Committed { confirmed }))
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

struct Repository {
    root: PathBuf,
}

impl Repository {
    /// Finds the repository that a folder belongs to.
    fn containing(folder: &Path) -> Option<Self> {
        // A relative folder in a transcript does not say which folder of this machine it is.
        if !folder.is_absolute() || !folder.is_dir() {
            return None;
        }
        let at_folder = Self { root: folder.to_owned() };
        let root = at_folder.git(&["rev-parse", "--show-toplevel"])?;
        let root = PathBuf::from(String::from_utf8(root).ok()?.trim_end_matches('\n'));
        Some(Self { root: root.canonicalize().ok()? })
    }

    /// Returns a file's path below the top folder of the repository; `None` if it is outside. A
    /// relative path is one below `folder`.
    fn path_of(&self, folder: &Path, path: &str) -> Option<String> {
        // `self.root` is canonical, so the part of an absolute path that is `folder` must be too.
        let below_folder = Path::new(path).strip_prefix(folder).unwrap_or(Path::new(path));
        let mut full_path = PathBuf::new();
        for component in folder.canonicalize().ok()?.join(below_folder).components() {
            match component {
                Component::ParentDir => {
                    full_path.pop();
                }
                Component::CurDir => {}
                component => full_path.push(component),
            }
        }
        let below_root = full_path.strip_prefix(&self.root).ok()?.to_str()?.replace('\\', "/");
        (!below_root.is_empty()).then_some(below_root)
    }

    /// Returns the newest content of a path that was committed before `time`, which is in seconds
    /// since 1970.
    fn version_at(&self, path: &str, time: i64) -> Option<String> {
        let before = format!("--before=@{time} +0000");
        let commit = self.git(&[
            "log",
            "-1",
            &before,
            "--format=%H",
            "--no-show-signature",
            "--no-ext-diff",
            "--no-textconv",
            "--end-of-options",
            "HEAD",
            "--",
            path,
        ])?;
        let commit = String::from_utf8(commit).ok()?;
        let commit = commit.trim();
        if commit.len() < 40 || !commit.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        // `cat-file` without options returns the object as it is stored and runs no filter.
        let object = format!("{commit}:{path}");
        let size = String::from_utf8(self.git(&["cat-file", "-s", &object])?).ok()?;
        if size.trim().parse::<u64>().ok()? > MAX_BYTES {
            return None;
        }
        String::from_utf8(self.git(&["cat-file", "blob", &object])?).ok()
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

#[cfg(test)]
mod tests {
    use super::super::{Client, Replacement};
    use super::*;

    const FILE: &str = "one\ntwo\nthree\n";

    fn edit(old: &str, new: &str, error: Option<&str>) -> FileAction {
        let edits = vec![Replacement { old: old.into(), new: new.into(), all: false }];
        FileAction::Edited(EditAttempt {
            edits,
            error: error.map(str::to_owned),
            ..EditAttempt::default()
        })
    }

    /// Reconciles the committed file with a transcript that has these actions before and after a
    /// failed edit.
    fn with(before: Vec<FileAction>, after: Vec<FileAction>) -> Option<(String, bool)> {
        let mut transcript = Transcript::new(Client::Claude, "s");
        let failure = before.len();
        let actions = before.into_iter().chain([edit("x", "y", Some("not found"))]).chain(after);
        for (turn, action) in actions.enumerate() {
            transcript.push(turn, "/p/a", action);
        }
        match reconcile(&transcript, failure, FILE.into())? {
            (file, Provenance::Committed { confirmed }) => Some((file, confirmed)),
            other => panic!("{other:?}"),
        }
    }

    fn saw(from: usize, text: &str) -> FileAction {
        FileAction::Viewed { from, text: text.into(), whole: false }
    }

    #[test]
    fn what_the_transcript_shows_decides() {
        assert_eq!(with(vec![], vec![]), Some((FILE.into(), false)));
        assert_eq!(with(vec![saw(2, "two\nth")], vec![]), Some((FILE.into(), true)));
        assert_eq!(with(vec![saw(2, "TWO\nthree\n")], vec![]), None);
        assert_eq!(with(vec![saw(3, "three\nfour\n")], vec![]), None);
        assert_eq!(with(vec![], vec![edit("two", "2", None)]), Some((FILE.into(), true)));
        assert_eq!(with(vec![], vec![edit("zwei", "2", None)]), None);
    }

    #[test]
    fn an_own_edit_is_applied_unless_it_was_committed() {
        let changed = "one\n2\nthree\n".to_owned();
        let own = || edit("two", "2", None);
        assert_eq!(with(vec![own(), saw(2, "2\n")], vec![]), Some((changed, true)));
        assert_eq!(with(vec![edit("2", "two", None)], vec![]), Some((FILE.into(), true)));
        assert_eq!(with(vec![edit("zwei", "drei", None)], vec![]), None);
        // What was seen before the own edit is older than the version.
        let before = vec![saw(2, "zwei\n"), edit("zwei", "two", None)];
        assert_eq!(with(before, vec![]), Some((FILE.into(), true)));
    }
}
