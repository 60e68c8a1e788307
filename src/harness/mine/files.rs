//! Tracks the contents of files through a transcript, to find the file before each failed edit.

use std::collections::HashMap;

use super::{EditAttempt, FileAction, Replacement, Transcript, TranscriptStep};

/// The source of the file before a failed edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provenance {
    /// The transcript has the whole file.
    Recorded,
    /// The file is reconstructed from what the agent read and wrote before.
    Reconstructed,
    /// The file is the newest version that was committed before the edit.
    Committed {
        /// Whether the transcript shows or changes a part of the file that fits this version.
        confirmed: bool,
    },
    /// Only the lines that the error shows are known.
    ErrorExcerpt,
}

impl Provenance {
    /// Returns the words for reports. They never change.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Recorded => "recorded",
            Self::Reconstructed => "reconstructed",
            Self::Committed { confirmed: true } => "from git",
            Self::Committed { confirmed: false } => "from git, unconfirmed",
            Self::ErrorExcerpt => "in part, from the error",
        }
    }
}

/// Returns the file before each failed edit, by the index of its step. Failures whose file is not
/// known are left out.
pub fn files_before_failures(transcript: &Transcript) -> HashMap<usize, (String, Provenance)> {
    let mut current: HashMap<&str, String> = HashMap::new();
    let mut found: HashMap<usize, (String, Provenance)> = HashMap::new();
    // The failures since a file last changed. If the next edit records the file, they get it too.
    let mut failures_since_change: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, step) in transcript.steps.iter().enumerate() {
        let path = step.path.as_str();
        match &step.action {
            FileAction::Viewed { text, whole: true, .. } => {
                current.insert(path, text.clone());
            }
            FileAction::Viewed { from, text, whole: false } => {
                if let Some(file) = current.get_mut(path) {
                    overlay(file, *from, text);
                }
            }
            FileAction::Written(text) => {
                current.insert(path, text.clone());
                failures_since_change.remove(path);
            }
            FileAction::Edited(attempt) if attempt.error.is_some() => {
                let fits = |file: &&String| {
                    attempt.shown.as_ref().is_none_or(|shown| contains_lines(file, shown))
                };
                if let Some(before) = &attempt.before {
                    found.insert(index, (before.clone(), Provenance::Recorded));
                    continue;
                }
                if let Some(file) = current.get(path).filter(fits) {
                    found.insert(index, (file.clone(), Provenance::Reconstructed));
                }
                failures_since_change.entry(path).or_default().push(index);
            }
            FileAction::Edited(attempt) => {
                let failures = failures_since_change.remove(path).unwrap_or_default();
                if let Some(before) = &attempt.before {
                    for failure in failures {
                        found.insert(failure, (before.clone(), Provenance::Recorded));
                    }
                    current.insert(path, before.clone());
                }
                match current.get(path).and_then(|file| apply_exact(file, &attempt.edits)) {
                    Some(after) => current.insert(path, after),
                    // The edit succeeded, so the file is not what we take it to be.
                    None => current.remove(path),
                };
            }
            FileAction::ChangedUnseen => {
                current.remove(path);
                failures_since_change.remove(path);
            }
        }
    }
    found
}

/// Finds the next step in which the agent itself changed the file of a failed edit. Returns its
/// index, and the edit if the step is an edit with a known text. Steps of the same turn are
/// skipped, since the agent sent them before it saw the failure.
pub fn find_retry(
    transcript: &Transcript,
    failure: usize,
) -> Option<(usize, Option<&EditAttempt>)> {
    let failed = transcript.steps.get(failure)?;
    let later = transcript.steps.iter().enumerate().skip(failure + 1);
    let is_reaction = |step: &TranscriptStep| step.path == failed.path && step.turn != failed.turn;
    later.filter(|(_, step)| is_reaction(step)).find_map(|(index, step)| match &step.action {
        FileAction::Edited(attempt) if attempt.error.is_none() => Some((index, Some(attempt))),
        FileAction::Written(_) | FileAction::ChangedUnseen => Some((index, None)),
        FileAction::Edited(_) | FileAction::Viewed { .. } => None,
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
