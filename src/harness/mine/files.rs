//! Tracks the contents of files through a transcript, to find the file before each edit.

use std::collections::HashMap;

use super::class::FailureClass;
use super::{EditAttempt, FileAction, Replacement, Transcript, TranscriptStep};

named! {
    /// The source of the file before an edit.
    pub enum Provenance {
        /// The transcript has the whole file with this call or with the next edit.
        Recorded = "recorded",
        /// The file is reconstructed from what the agent read and wrote.
        Reconstructed = "reconstructed",
        /// The client keeps every version of the file.
        Versioned = "stored version",
        /// The file is a version that was committed before the edit, with the agent's later edits.
        Committed = "from git",
        /// Only the lines that the error shows are known.
        ErrorExcerpt = "in part, from the error",
    }
}

named! {
    /// How certain it is that the file was as it is taken to be.
    pub enum Certainty {
        /// The call itself has it, or two sources say the same.
        Sure = "sure",
        /// One source says so. A command between it and the call may have changed the file.
        Likely = "likely",
        /// Nothing in the transcript confirms it, or two sources differ.
        Unconfirmed = "unconfirmed",
        /// Only lines of the file are known.
        Part = "part",
    }
}

/// The file before an edit, and how it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileBefore {
    /// The text.
    pub text: String,
    /// Its source.
    pub source: Provenance,
    /// How certain it is.
    pub certainty: Certainty,
}

/// The files before the edits of a transcript, by the index of their step.
#[derive(Debug, Default)]
pub struct FilesBefore {
    /// The files before failed edits, as far as they are known and do not contradict the error.
    pub failed: HashMap<usize, FileBefore>,
    /// The files before edits that succeeded, and after them. An edit after which the file is not
    /// known is left out.
    pub landed: HashMap<usize, (String, String)>,
}

/// A failed edit whose file may still become known.
struct OpenFailure<'a> {
    index: usize,
    attempt: &'a EditAttempt,
    /// The file as it was reconstructed.
    tracked: Option<String>,
}

impl OpenFailure<'_> {
    /// Decides on the file before the edit. `next` is the file as the agent read it next, or as its
    /// next edit found it, without an edit of the agent's in between.
    fn close(self, next: Option<&str>) -> Option<(usize, FileBefore)> {
        let class = self.attempt.error.as_deref().map(FailureClass::of)?;
        let sources = [
            (next.map(str::to_owned), Provenance::Recorded),
            (self.attempt.stored.clone(), Provenance::Versioned),
            (self.tracked, Provenance::Reconstructed),
        ];
        let known = |(text, source): (Option<String>, _)| {
            Some((text.filter(|text| fits(self.attempt, class, text))?, source))
        };
        let mut known = sources.into_iter().filter_map(known);
        let (text, source) = known.next()?;
        let agreements: Vec<bool> = known.map(|(other, _)| other == text).collect();
        let certainty = if agreements.contains(&true) {
            Certainty::Sure
        } else if agreements.is_empty() {
            Certainty::Likely
        } else {
            Certainty::Unconfirmed
        };
        Some((self.index, FileBefore { text, source, certainty }))
    }
}

/// Whether a file can be the one that a call failed on: a text that the tool did not find is not in
/// it, and one that it found several times is.
pub fn fits(attempt: &EditAttempt, class: FailureClass, file: &str) -> bool {
    if attempt.shown.as_ref().is_some_and(|shown| !contains_lines(file, shown)) {
        return false;
    }
    match class {
        FailureClass::NotFound | FailureClass::PatchContext => attempt.apply(file).is_none(),
        FailureClass::SeveralMatches => {
            let is_repeated =
                |edit: &Replacement| !edit.old.is_empty() && file.matches(&edit.old).count() > 1;
            attempt.edits.iter().any(is_repeated)
        }
        _ => true,
    }
}

/// Follows the files through a transcript.
pub fn files_before(transcript: &Transcript) -> FilesBefore {
    let mut current: HashMap<&str, String> = HashMap::new();
    let mut found = FilesBefore::default();
    // The failures since a file last changed.
    let mut open: HashMap<&str, Vec<OpenFailure<'_>>> = HashMap::new();
    let closed = |failures: Option<Vec<OpenFailure<'_>>>, next: Option<&str>| {
        let failures = failures.into_iter().flatten();
        failures.filter_map(|failure| failure.close(next)).collect::<Vec<_>>()
    };
    for (index, step) in transcript.steps.iter().enumerate() {
        let path = step.file.as_str();
        match &step.action {
            FileAction::Viewed { text, whole: true, .. } => {
                found.failed.extend(closed(open.remove(path), Some(text)));
                current.insert(path, text.clone());
            }
            FileAction::Viewed { from, text, whole: false } => {
                if let Some(file) = current.get_mut(path) {
                    overlay(file, *from, text);
                }
            }
            FileAction::Written(text) => {
                found.failed.extend(closed(open.remove(path), None));
                current.insert(path, text.clone());
            }
            FileAction::Edited(attempt) if attempt.error.is_some() => {
                if let Some(before) = &attempt.before {
                    let (text, source) = (before.clone(), Provenance::Recorded);
                    let file = FileBefore { text, source, certainty: Certainty::Sure };
                    found.failed.insert(index, file);
                    current.insert(path, before.clone());
                    continue;
                }
                let failure = OpenFailure { index, attempt, tracked: current.get(path).cloned() };
                open.entry(path).or_default().push(failure);
            }
            FileAction::Edited(attempt) => {
                let before = attempt.before.as_deref();
                found.failed.extend(closed(open.remove(path), before));
                let before = before.map(str::to_owned).or_else(|| current.remove(path));
                let after = before.as_deref().and_then(|file| attempt.apply(file));
                match (before, after) {
                    (Some(before), Some(after)) => {
                        current.insert(path, after.clone());
                        found.landed.insert(index, (before, after));
                    }
                    // The edit succeeded, so the file is not what we take it to be.
                    _ => drop(current.remove(path)),
                }
            }
            FileAction::ChangedUnseen => {
                found.failed.extend(closed(open.remove(path), None));
                current.remove(path);
            }
        }
    }
    found.failed.extend(closed(Some(open.into_values().flatten().collect()), None));
    found
}

/// Finds the next step in which the agent itself changed the file of a failed edit. Steps of the
/// same turn are skipped, since the agent sent them before it saw the failure.
pub fn next_change(transcript: &Transcript, failure: usize) -> Option<usize> {
    let mut later = later_steps(transcript, failure);
    later.find_map(|(index, step)| match &step.action {
        FileAction::Edited(attempt) if attempt.error.is_none() => Some(index),
        FileAction::Written(_) | FileAction::ChangedUnseen => Some(index),
        FileAction::Edited(_) | FileAction::Viewed { .. } => None,
    })
}

/// Returns the agent's next edits of a failed edit's file that succeeded, up to the step in which
/// the file changed in another way.
pub fn next_edits(transcript: &Transcript, failure: usize) -> impl Iterator<Item = &EditAttempt> {
    let is_edit = |step: &&TranscriptStep| {
        matches!(step.action, FileAction::Edited(_) | FileAction::Viewed { .. })
    };
    later_steps(transcript, failure).map(|(_, step)| step).take_while(is_edit).filter_map(|step| {
        match &step.action {
            FileAction::Edited(attempt) if attempt.error.is_none() => Some(attempt),
            _ => None,
        }
    })
}

/// Returns the later steps on the file of a failed edit, without those of its own turn.
fn later_steps(
    transcript: &Transcript,
    failure: usize,
) -> impl Iterator<Item = (usize, &TranscriptStep)> {
    let failed = transcript.steps.get(failure);
    let later = transcript.steps.iter().enumerate().skip(failure + 1);
    later.filter(move |(_, step)| {
        failed.is_some_and(|failed| step.file == failed.file && step.turn != failed.turn)
    })
}

/// Whether a file has these lines, one after the other; whitespace at their ends is ignored.
pub fn contains_lines(file: &str, shown: &str) -> bool {
    let shown: Vec<&str> = shown.lines().map(str::trim_end).collect();
    let lines: Vec<&str> = file.lines().map(str::trim_end).collect();
    shown.is_empty() || lines.windows(shown.len()).any(|window| window == shown)
}

/// Applies exact replacements in order; `None` when one does not apply.
pub fn apply_exact(file: &str, edits: &[Replacement]) -> Option<String> {
    let mut text = file.to_owned();
    for edit in edits {
        let count = text.matches(&edit.old).count();
        if edit.old.is_empty() || count == 0 || (count > 1 && !edit.all) {
            return None;
        }
        text = text.replace(&edit.old, &edit.new);
    }
    Some(text)
}

/// Replaces the lines of a file from line `from` on by a newer view of them, but for the view's last
/// line, which may be cut. A view that reaches beyond the end of the file is ignored.
fn overlay(file: &mut String, from: usize, view: &str) {
    let mut lines: Vec<&str> = file.split_inclusive('\n').collect();
    let seen: Vec<&str> = view.split_inclusive('\n').collect();
    let start = from.saturating_sub(1);
    if start + seen.len() <= lines.len() && seen.len() > 1 {
        let whole_lines = &seen[..seen.len() - 1];
        lines[start..start + whole_lines.len()].copy_from_slice(whole_lines);
        *file = lines.concat();
    }
}
