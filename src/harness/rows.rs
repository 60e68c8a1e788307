//! Results as rows: one line of JSON for each case, with the same fields for every command. The
//! Python package turns them into Parquet (`python -m restitch_edit.parquet`).

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use serde::Serialize;

use super::case::Case;
use super::judge::{Aim, CaseVerdict, Judgment};
use super::mine::failures::{Failure, ReplayResult};
use super::suite::{CaseSource, SuiteCase};

/// One case and its result. docs/reference/rows.md says what each field means.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct ResultRow<'a> {
    command: &'static str,
    restitch: &'static str,
    id: &'a str,
    family: &'a str,
    #[serde(rename = "way")]
    cause: &'a str,
    language: &'a str,
    path: &'a str,
    aim: Option<&'static str>,
    verdict: &'static str,
    rung: Option<&'a str>,
    code: Option<&'a str>,
    new_syntax_errors: Option<bool>,
    micros: Option<u64>,
    model_calls: u64,
    prompt_bytes: u64,
    client: Option<&'static str>,
    agent_error: Option<&'static str>,
    agrees_with_retry: Option<bool>,
    turns: Option<usize>,
    tokens: Option<u64>,
    #[serde(flatten)]
    texts: Texts,
}

/// The texts of a case, which are in a row only on request.
#[derive(Debug, Clone, Default, Serialize)]
struct Texts {
    old_str: Option<String>,
    new_str: Option<String>,
    before: Option<String>,
    wanted: Option<String>,
    got: Option<String>,
    refusal: Option<String>,
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

impl Texts {
    fn from_case(case: &Case, judged: &Judgment) -> Self {
        Self {
            old_str: Some(case.old.clone()),
            new_str: Some(case.new.clone()),
            before: Some(lossy(&case.before)),
            wanted: case.right_result().as_deref().map(lossy),
            got: judged.got.as_deref().map(lossy),
            refusal: judged.refusal.clone(),
        }
    }
}

impl<'a> ResultRow<'a> {
    /// Returns a row with the fields that a judgment has.
    fn from_judgment(command: &'static str, judged: &'a Judgment) -> Self {
        let is_refused = judged.refusal.is_some();
        let is_broken = matches!(judged.verdict, CaseVerdict::Broken(_));
        let decided_by = (!is_broken).then_some(judged.decided_by.as_str());
        Self {
            command,
            restitch: env!("CARGO_PKG_VERSION"),
            aim: Some(match judged.aim {
                Aim::Right => "right",
                Aim::Refusal => "refuse",
            }),
            verdict: judged.verdict.as_str(),
            rung: decided_by.filter(|_| !is_refused),
            code: decided_by.filter(|_| is_refused),
            new_syntax_errors: judged.adds_syntax_errors,
            micros: Some(u64::try_from(judged.took.as_micros()).unwrap_or(u64::MAX)),
            model_calls: judged.model.calls,
            prompt_bytes: judged.model.prompt_bytes,
            ..Self::default()
        }
    }

    /// Returns the row of a generated case.
    pub(crate) fn from_case(case: &'a Case, judged: &'a Judgment, with_texts: bool) -> Self {
        Self {
            id: &case.id,
            family: &case.family,
            cause: &case.cause,
            language: &case.language,
            path: &case.path,
            texts: if with_texts { Texts::from_case(case, judged) } else { Texts::default() },
            ..Self::from_judgment("measure", judged)
        }
    }

    /// Returns the row of a case of a suite.
    pub(crate) fn from_suite_case(
        entry: &'a SuiteCase,
        judged: &'a Judgment,
        with_texts: bool,
    ) -> Self {
        let (path, texts) = match &entry.source {
            CaseSource::Packed(case, _) => (case.path.as_str(), Texts::from_case(case, judged)),
            CaseSource::Folder(fixture) => {
                let text = |bytes: &Option<Vec<u8>>| bytes.as_deref().map(lossy);
                let path = fixture.spec.path.as_deref().unwrap_or_default();
                let texts = Texts {
                    old_str: text(&fixture.old),
                    new_str: text(&fixture.new),
                    before: fixture.before.get(path).map(|bytes| lossy(bytes)),
                    wanted: fixture
                        .after
                        .first()
                        .and_then(|after| after.get(path))
                        .map(|bytes| lossy(bytes)),
                    got: judged.got.as_deref().map(lossy),
                    refusal: judged.refusal.clone(),
                };
                (path, texts)
            }
            CaseSource::Unreadable(_) => ("", Texts::default()),
        };
        Self {
            id: &entry.id,
            family: &entry.family,
            cause: &entry.cause,
            language: &entry.language,
            path,
            texts: if with_texts { texts } else { Texts::default() },
            ..Self::from_judgment("run", judged)
        }
    }

    /// Returns the row of an agent's failed edit, without its texts, which may contain secrets.
    pub(crate) fn from_failure(failure: &'a Failure, language: &'a str) -> Self {
        let (verdict, rung, code) = match &failure.outcome {
            None => ("unknown", None, None),
            Some(ReplayResult::Recovered { rung, .. }) => ("recovered", Some(rung.as_str()), None),
            Some(ReplayResult::Refused(refusal)) => ("refused", None, Some(refusal.code.as_str())),
        };
        Self {
            command: "mine",
            restitch: env!("CARGO_PKG_VERSION"),
            id: &failure.id,
            family: "mined",
            cause: "",
            language,
            path: &failure.path,
            verdict,
            rung,
            code,
            client: Some(failure.client.as_str()),
            agent_error: Some(failure.error_kind),
            agrees_with_retry: failure.agrees_with_retry(),
            turns: Some(failure.turns),
            tokens: Some(failure.tokens),
            ..Self::default()
        }
    }
}

/// A file of rows that several threads write to.
#[derive(Debug)]
pub(crate) struct RowWriter {
    /// The file, or the first error of a write.
    out: Mutex<io::Result<BufWriter<File>>>,
}

impl RowWriter {
    /// Creates the file, or empties it.
    pub(crate) fn create(file: &Path) -> io::Result<Self> {
        Ok(Self { out: Mutex::new(Ok(BufWriter::new(File::create(file)?))) })
    }

    /// Adds a row. [`Self::finish`] reports an error.
    pub(crate) fn add(&self, row: &ResultRow<'_>) {
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        if let Ok(file) = &mut *out {
            let mut line = serde_json::to_vec(row).unwrap_or_default();
            line.push(b'\n');
            if let Err(error) = file.write_all(&line) {
                *out = Err(error);
            }
        }
    }

    /// Writes the rest, and reports the first error.
    pub(crate) fn finish(self) -> io::Result<()> {
        self.out.into_inner().unwrap_or_else(PoisonError::into_inner)?.flush()
    }
}
