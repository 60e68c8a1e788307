//! All cases below a folder: found, filtered, sharded, judged, and compared with what
//! they are expected to do.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::case::{Case, Truth};
use super::fixture::{Fixture, Status, Tree};
use super::judge::{Aim, CaseVerdict, Judgment, judge};
use super::pack;
use super::shard::Shard;

/// One case of a suite.
#[derive(Debug, Clone)]
pub struct SuiteCase {
    /// The folder's path below the suite, or the id in a pack.
    pub id: String,
    /// The group it is scored with.
    pub family: String,
    /// Its row of the score.
    pub cause: String,
    /// The file's language.
    pub language: String,
    /// Whether it is expected to pass.
    pub status: Status,
    /// The case itself.
    pub source: CaseSource,
}

/// Where a case is kept.
#[derive(Debug, Clone)]
pub enum CaseSource {
    /// In its own folder.
    Folder(Box<Fixture>),
    /// In a pack.
    Packed(Box<Case>, PathBuf),
    /// In a folder that cannot be read.
    Unreadable(String),
}

/// How a verdict compares with the expectation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunOutcome {
    /// As expected.
    Expected,
    /// Not as expected.
    Unexpected,
    /// Known to fail, and it does.
    KnownFailure,
    /// Known to fail, and it passes: promote it.
    FixedFailure,
}

impl SuiteCase {
    /// Runs the case.
    pub fn judge(&self) -> Judgment {
        self.judge_with_files().0
    }

    /// Runs the case; with the files afterwards, for cases in folders.
    pub fn judge_with_files(&self) -> (Judgment, Tree) {
        match &self.source {
            CaseSource::Folder(fixture) => fixture.judge(),
            CaseSource::Packed(case, _) => (judge(case), Tree::new()),
            CaseSource::Unreadable(why) => (Judgment::broken(Aim::Right, why.clone()), Tree::new()),
        }
    }

    /// How a verdict on this case compares with what is expected of it.
    pub fn outcome(&self, verdict: &CaseVerdict) -> RunOutcome {
        if *verdict == CaseVerdict::Wrong {
            // Wrong bytes are never known and green.
            return RunOutcome::Unexpected;
        }
        match (self.status, verdict.is_good()) {
            (Status::Pass, true) => RunOutcome::Expected,
            (Status::Pass, false) => RunOutcome::Unexpected,
            (Status::KnownFailure, true) => RunOutcome::FixedFailure,
            (Status::KnownFailure, false) => RunOutcome::KnownFailure,
        }
    }

    /// What is wrong, for a person: wanted against got.
    pub fn explain(&self, judged: &Judgment, files: &Tree) -> String {
        let mut out = format!("{}: {}", self.id, judged.verdict.as_str());
        if let CaseVerdict::Broken(why) = &judged.verdict {
            out.push_str(&format!(" ({why})"));
        } else {
            out.push_str(&format!(" by {}", judged.decided_by));
        }
        let diff = |title: &str, a: &[u8], b: &[u8]| {
            let (a, b) = (String::from_utf8_lossy(a), String::from_utf8_lossy(b));
            let diff = similar::TextDiff::from_lines(a.as_ref(), b.as_ref());
            format!("\n{title}\n{}", diff.unified_diff().context_radius(2))
        };
        match &self.source {
            CaseSource::Folder(fixture) if fixture.is_after_missing() => out.push_str(
                "\nafter/ is missing: write the result by hand, or let `harness bless` write it",
            ),
            CaseSource::Folder(fixture) => {
                let wanted = fixture.after.first().unwrap_or(&fixture.before);
                for (name, bytes) in files {
                    let expected = wanted.get(name).map_or(&[][..], Vec::as_slice);
                    if expected != bytes.as_slice()
                        && !matches!(judged.verdict, CaseVerdict::Missed(_))
                    {
                        out.push_str(&diff(&format!("{name}: wanted → got"), expected, bytes));
                    }
                }
            }
            CaseSource::Packed(case, _) => match (&judged.got, &case.truth) {
                (Some(got), Truth::Right { .. }) if !case.accepts(got) => {
                    out.push_str(&diff(
                        "wanted → got",
                        &case.right_result().unwrap_or_default(),
                        got,
                    ));
                }
                (Some(got), Truth::Refused(_)) => {
                    out.push_str(&diff("must be refused; the file → got", &case.before, got));
                }
                _ => {}
            },
            CaseSource::Unreadable(_) => {}
        }
        if let Some(refusal) = &judged.refusal {
            out.push_str(&format!("\n{refusal}"));
        }
        out
    }
}

/// The cases below a folder, by id.
pub fn load(root: &Path) -> io::Result<Vec<SuiteCase>> {
    let mut entries = Vec::new();
    let mut pending = vec![root.to_owned()];
    while let Some(dir) = pending.pop() {
        if dir.join("case.toml").is_file() {
            entries.push(load_folder(root, &dir));
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

fn load_folder(root: &Path, dir: &Path) -> SuiteCase {
    let id = dir.strip_prefix(root).unwrap_or(dir).to_string_lossy().replace('\\', "/");
    let id = if id.is_empty() {
        dir.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default()
    } else {
        id
    };
    match Fixture::load(dir) {
        Ok(fixture) => SuiteCase {
            id,
            family: fixture.spec.family.clone(),
            cause: fixture.spec.cause.clone(),
            language: fixture.spec.language.clone(),
            status: fixture.spec.status,
            source: CaseSource::Folder(Box::new(fixture)),
        },
        Err(why) => SuiteCase {
            id,
            family: "unreadable".into(),
            cause: String::new(),
            language: String::new(),
            status: Status::Pass,
            source: CaseSource::Unreadable(why),
        },
    }
}

fn load_pack(path: &Path) -> io::Result<Vec<SuiteCase>> {
    let text = fs::read_to_string(path)?;
    let cases = pack::read(&text).map_err(|why| {
        io::Error::new(io::ErrorKind::InvalidData, format!("{}: {why}", path.display()))
    })?;
    Ok(cases
        .into_iter()
        .map(|(case, known)| SuiteCase {
            id: case.id.clone(),
            family: case.family.clone(),
            cause: case.cause.clone(),
            language: case.language.clone(),
            status: pack::status(known.as_deref()),
            source: CaseSource::Packed(Box::new(case), path.to_owned()),
        })
        .collect())
}

/// The entries whose id, family, cause or language holds `filter`, and of these the shard.
pub fn select(
    entries: Vec<SuiteCase>,
    filter: Option<&str>,
    shard: Option<Shard>,
) -> Vec<SuiteCase> {
    let matches = |entry: &SuiteCase| {
        filter.is_none_or(|filter| {
            [&entry.id, &entry.family, &entry.cause, &entry.language]
                .iter()
                .any(|name| name.contains(filter))
        })
    };
    entries
        .into_iter()
        .filter(matches)
        .enumerate()
        .filter(|(at, _)| shard.is_none_or(|shard| shard.contains(*at)))
        .map(|(_, entry)| entry)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_counted_from_one_and_part_the_whole() {
        let entry = |n: usize| SuiteCase {
            id: format!("{n}"),
            family: "f".into(),
            cause: "c".into(),
            language: String::new(),
            status: Status::Pass,
            source: CaseSource::Unreadable(String::new()),
        };
        let all: Vec<SuiteCase> = (0..10).map(entry).collect();
        let part = |text: &str| {
            let shard = text.parse().expect("shard");
            select(all.clone(), None, Some(shard)).into_iter().map(|e| e.id).collect::<Vec<_>>()
        };
        let mut ids = [part("1/3"), part("2/3"), part("3/3")].concat();
        ids.sort();
        assert_eq!(ids.len(), 10);
        ids.dedup();
        assert_eq!(ids.len(), 10);
        assert!("0/3".parse::<Shard>().is_err() && "4/3".parse::<Shard>().is_err());
    }
}
