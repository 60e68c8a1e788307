//! A suite: all cases below a folder. This module finds them, selects some by filter,
//! runs them, and compares the verdicts with the expected ones.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::case::Case;
use super::fixture::{Fixture, Status, Tree};
use super::judge::{CaseVerdict, Judgment, judge};
use super::pack;

/// One case of a suite.
#[derive(Debug, Clone)]
pub struct SuiteCase {
    /// The path of the case's folder below the suite, or its id in a pack.
    pub id: String,
    /// The group that the case is scored with.
    pub family: String,
    /// The row of the score that counts the case.
    pub cause: String,
    /// The file's language.
    pub language: String,
    /// Whether the case is expected to pass.
    pub status: Status,
    /// The case itself.
    pub source: CaseSource,
}

/// A case, by the place where it is kept.
#[derive(Debug, Clone)]
pub enum CaseSource {
    /// A case in a folder of its own.
    Folder(Box<Fixture>),
    /// A case in the pack at this path.
    Packed(Box<Case>, PathBuf),
}

named! {
    /// How a verdict compares with the expected one.
    pub enum RunOutcome {
        /// The verdict is the expected one.
        Expected = "expected",
        /// The verdict is not the expected one.
        Unexpected = "unexpected",
        /// The case is known to fail, and it fails.
        KnownFailure = "known_failure",
        /// The case is known to fail, but it passes now: `harness bless` must promote it.
        FixedFailure = "promote",
    }
}

impl SuiteCase {
    /// Runs the case and judges the result. For a case in a folder, also returns the files
    /// afterwards; for any other the tree is empty.
    pub fn judge_with_files(&self) -> (Judgment, Tree) {
        match &self.source {
            CaseSource::Folder(fixture) => fixture.judge(),
            CaseSource::Packed(case, _) => (judge(case), Tree::new()),
        }
    }

    /// Whether the id, family, cause or language of the case contains this.
    pub(crate) fn contains(&self, filter: &str) -> bool {
        let names = [&self.id, &self.family, &self.cause, &self.language];
        names.iter().any(|name| name.contains(filter))
    }

    /// Compares a verdict on this case with the expected one.
    pub fn outcome(&self, verdict: &CaseVerdict) -> RunOutcome {
        if *verdict == CaseVerdict::Wrong {
            // A silently wrong result always fails the run, even in a known failure.
            return RunOutcome::Unexpected;
        }
        match (self.status, verdict.is_good()) {
            (Status::Pass, true) => RunOutcome::Expected,
            (Status::Pass, false) => RunOutcome::Unexpected,
            (Status::KnownFailure, true) => RunOutcome::FixedFailure,
            (Status::KnownFailure, false) => RunOutcome::KnownFailure,
        }
    }

    /// Returns the verdict for a person, with a diff of the expected and the actual result.
    pub fn explain(&self, judged: &Judgment, files: &Tree) -> String {
        let mut out = format!("{}: {}", self.id, judged.verdict.as_str());
        if let CaseVerdict::Broken(why) = &judged.verdict {
            out.push_str(&format!(" ({why})"));
        } else {
            out.push_str(&format!(" by {}", judged.decided_by));
        }
        let diff = |title: &str, before: &[u8], after: &[u8]| {
            let (before, after) = (String::from_utf8_lossy(before), String::from_utf8_lossy(after));
            let diff = similar::TextDiff::from_lines(before.as_ref(), after.as_ref());
            format!("\n{title}\n{}", diff.unified_diff().context_radius(2))
        };
        match &self.source {
            CaseSource::Folder(fixture) if fixture.is_after_missing() => out.push_str(
                "\nafter/ is missing: write the result by hand, or let `harness bless` write it",
            ),
            CaseSource::Folder(fixture) => {
                let wanted_files = fixture.after.first().unwrap_or(&fixture.before);
                let is_missed = matches!(judged.verdict, CaseVerdict::Missed(_));
                for (name, got) in files {
                    let wanted = wanted_files.get(name).map_or(&[][..], Vec::as_slice);
                    if !is_missed && wanted != got.as_slice() {
                        out.push_str(&diff(&format!("{name}: wanted → got"), wanted, got));
                    }
                }
            }
            CaseSource::Packed(case, _) => {
                let (title, wanted) = match case.right_result() {
                    Some(wanted) => ("wanted → got", wanted),
                    None => ("must be refused; the file → got", case.before.clone()),
                };
                if let Some(got) = judged.got.as_ref().filter(|got| !case.accepts(got)) {
                    out.push_str(&diff(title, &wanted, got));
                }
            }
        }
        if let Some(refusal) = &judged.refusal {
            out.push_str(&format!("\n{refusal}"));
        }
        out
    }
}

/// Loads all cases below a folder, sorted by id.
pub fn load(root: &Path) -> io::Result<Vec<SuiteCase>> {
    let mut entries = Vec::new();
    let mut pending = vec![root.to_owned()];
    while let Some(dir) = pending.pop() {
        if dir.join("case.toml").is_file() {
            entries.push(load_folder(root, &dir).map_err(|why| unreadable(&dir, &why))?);
            continue;
        }
        for entry in fs::read_dir(&dir)? {
            let path = entry?.path();
            let name =
                path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
            if path.is_dir() && !name.starts_with('.') {
                pending.push(path);
            } else if name.ends_with(pack::SUFFIX) {
                entries.extend(load_pack(&path)?);
            }
        }
    }
    entries.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(entries)
}

/// The error of a case or pack that cannot be read.
fn unreadable(path: &Path, why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{}: {why}", path.display()))
}

/// Loads the case in a folder.
fn load_folder(root: &Path, dir: &Path) -> Result<SuiteCase, String> {
    let id = dir.strip_prefix(root).unwrap_or(dir).to_string_lossy().replace('\\', "/");
    // The suite may be the folder of a single case, which then has the folder's name.
    let id = if id.is_empty() {
        dir.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default()
    } else {
        id
    };
    let fixture = Fixture::load(dir)?;
    Ok(SuiteCase {
        id,
        family: fixture.spec.family.clone(),
        cause: fixture.spec.cause.clone(),
        language: fixture.spec.language.clone(),
        status: fixture.spec.status,
        source: CaseSource::Folder(Box::new(fixture)),
    })
}

/// Loads the cases of a pack.
fn load_pack(path: &Path) -> io::Result<Vec<SuiteCase>> {
    let text = fs::read_to_string(path)?;
    let cases = pack::read(&text).map_err(|why| unreadable(path, &why))?;
    Ok(cases
        .into_iter()
        .map(|(case, known_failure)| SuiteCase {
            id: case.id.clone(),
            family: case.family.clone(),
            cause: case.cause.clone(),
            language: case.language.clone(),
            status: if known_failure.is_some() { Status::KnownFailure } else { Status::Pass },
            source: CaseSource::Packed(Box::new(case), path.to_owned()),
        })
        .collect())
}
