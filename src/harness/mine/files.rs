//! What a transcript lets us know of each file over time.

use std::collections::HashMap;

use super::{EditAttempt, FileAction, Replacement, Transcript, TranscriptStep};

/// How the file before a failed edit came to be known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provenance {
    /// The transcript has it, whole.
    Recorded,
    /// From what the agent read and wrote before.
    Reconstructed,
    /// The newest committed version of that time.
    Committed {
        /// The transcript shows or changes parts of it that fit.
        confirmed: bool,
    },
    /// Only the lines that the error shows.
    ErrorExcerpt,
}

impl Provenance {
    /// The stable words.
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

/// The file before each failed attempt, by index of the step.
pub fn files_before_failures(transcript: &Transcript) -> HashMap<usize, (String, Provenance)> {
    let mut now: HashMap<&str, String> = HashMap::new();
    let mut found: HashMap<usize, (String, Provenance)> = HashMap::new();
    // Failures since the file was last known for sure: the next record of it tells them too.
    let mut waiting: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, step) in transcript.steps.iter().enumerate() {
        let path = step.path.as_str();
        match &step.action {
            FileAction::Viewed { text, whole: true, .. } => {
                now.insert(path, text.clone());
            }
            FileAction::Viewed { from, text, whole: false } => {
                if let Some(file) = now.get_mut(path) {
                    overlay(file, *from, text);
                }
            }
            FileAction::Written(text) => {
                now.insert(path, text.clone());
                waiting.remove(path);
            }
            FileAction::Edited(attempt) if attempt.error.is_some() => {
                let fits = |file: &&String| {
                    attempt.shown.as_ref().is_none_or(|shown| contains_lines(file, shown))
                };
                if let Some(before) = &attempt.before {
                    found.insert(at, (before.clone(), Provenance::Recorded));
                } else if let Some(file) = now.get(path).filter(fits) {
                    found.insert(at, (file.clone(), Provenance::Reconstructed));
                    waiting.entry(path).or_default().push(at);
                } else {
                    waiting.entry(path).or_default().push(at);
                }
            }
            FileAction::Edited(attempt) => {
                if let Some(before) = &attempt.before {
                    for failure in waiting.remove(path).unwrap_or_default() {
                        found.insert(failure, (before.clone(), Provenance::Recorded));
                    }
                    now.insert(path, before.clone());
                }
                waiting.remove(path);
                match now.get(path).and_then(|file| apply_exact(file, &attempt.edits)) {
                    Some(after) => now.insert(path, after),
                    // The edit went through on a file that is not the one we think it is.
                    None => now.remove(path),
                };
            }
            FileAction::ChangedUnseen => {
                now.remove(path);
                waiting.remove(path);
            }
        }
    }
    found
}

/// Where the agent itself next changed the file of a failed edit: the edit, unless it wrote the
/// whole file or its text is not known. What it sent in the same turn is no answer to the failure.
pub fn find_retry(
    transcript: &Transcript,
    failure: usize,
) -> Option<(usize, Option<&EditAttempt>)> {
    let failed = transcript.steps.get(failure)?;
    let later = transcript.steps.iter().enumerate().skip(failure + 1);
    let answers = |step: &TranscriptStep| step.path == failed.path && step.turn != failed.turn;
    later.filter(|(_, step)| answers(step)).find_map(|(at, step)| match &step.action {
        FileAction::Edited(attempt) => attempt.error.is_none().then_some((at, Some(attempt))),
        FileAction::Written(_) | FileAction::ChangedUnseen => Some((at, None)),
        FileAction::Viewed { .. } => None,
    })
}

/// Whether a file has these lines, one after the other; blanks at their ends do not count.
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

/// Puts a newer view of some lines over what is known. A view that does not fit is
/// ignored: the file has changed in a way that we did not see.
fn overlay(file: &mut String, from: usize, text: &str) {
    let mut lines: Vec<&str> = file.split_inclusive('\n').collect();
    let seen: Vec<&str> = text.split_inclusive('\n').collect();
    let start = from.saturating_sub(1);
    if start + seen.len() <= lines.len() && seen.len() > 1 {
        for (at, line) in seen[..seen.len() - 1].iter().enumerate() {
            lines[start + at] = line;
        }
        *file = lines.concat();
    }
}
