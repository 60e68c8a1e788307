//! Records a model's answers and replays them without a network, for the harness, the demo and bug
//! reports. A recording has one JSON object per line:
//!
//! ```text
//! {"ask": "correct_old", "answer": {"status": "edit", "start_line": 7, "end_line": 8, "corrected_new_string": "…"}}
//! {"ask": "adjust_new", "key": "9f…", "answer": {"corrected_new_string": "…"}}
//! {"ask": "adjust_new", "error": "the server was down"}
//! ```
//!
//! A line with a `key` answers exactly the question with that key, as often as it comes. Lines
//! without a `key` answer the questions of their kind in order, each once. A recording holds the
//! content of files and calls, so it is only made if the configuration asks for it.

use std::collections::{HashMap, VecDeque};
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::prompts::PromptBook;
use super::reply::{ReplyKind, parse_reply, to_wire};
use crate::port::{Ask, BoxFuture, Budget, Corrector, CorrectorError, Reply};
use crate::text::ContentHash;

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CassetteLine {
    ask: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    answer: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// Why a recording cannot be replayed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the recording: {why}")]
pub struct CassetteError {
    /// The number of the faulty line.
    pub line: usize,
    /// What is wrong with it.
    pub why: String,
}

type RecordedAnswer = Result<Reply, CorrectorError>;

/// Answers from a recording.
#[derive(Debug)]
pub struct Replay {
    keyed: HashMap<(ReplyKind, String), RecordedAnswer>,
    queued: Mutex<HashMap<ReplyKind, VecDeque<RecordedAnswer>>>,
    /// The prompts, whose size is counted although nothing is sent.
    prompts: Option<PromptBook>,
    answered: AtomicU64,
}

impl Replay {
    /// How many questions the recording has answered so far.
    #[cfg(feature = "cli")]
    pub(crate) fn answered(&self) -> u64 {
        self.answered.load(Ordering::Relaxed)
    }

    /// Reads a recording.
    pub fn from_jsonl(text: &str) -> Result<Self, CassetteError> {
        let mut keyed = HashMap::new();
        let mut queued: HashMap<_, VecDeque<_>> = HashMap::new();
        for (number, line) in (1..).zip(text.lines()) {
            if line.trim().is_empty() {
                continue;
            }
            let bad = |why: String| CassetteError { line: number, why };
            let line: CassetteLine = serde_json::from_str(line).map_err(|e| bad(e.to_string()))?;
            let reply_kind = reply_kind(&line.ask).ok_or_else(|| {
                bad(format!("`ask` is `{}`; it must be one of: correct_old, adjust_new, repair_escapes, choose", line.ask))
            })?;
            let recorded = match (line.answer, line.error) {
                (Some(answer), None) => parse_reply(reply_kind, &answer.to_string())
                    .map(Ok)
                    .ok_or_else(|| bad(format!("this does not answer `{}`", line.ask)))?,
                (None, Some(error)) => Err(CorrectorError::Failed(error)),
                _ => return Err(bad("give either `answer` or `error`".into())),
            };
            match line.key {
                Some(key) => {
                    keyed.insert((reply_kind, key), recorded);
                }
                None => queued.entry(reply_kind).or_default().push_back(recorded),
            }
        }
        let prompts = PromptBook::built_in().ok();
        Ok(Self { keyed, queued: Mutex::new(queued), prompts, answered: AtomicU64::new(0) })
    }
}

/// The kind of reply to a question of this name.
fn reply_kind(ask: &str) -> Option<ReplyKind> {
    Some(match ask {
        "correct_old" => ReplyKind::CorrectedOld,
        "adjust_new" => ReplyKind::AdjustedNew,
        "repair_escapes" => ReplyKind::RepairedEscapes,
        "choose" => ReplyKind::ChosenPlace,
        _ => return None,
    })
}

impl Corrector for Replay {
    fn correct<'a>(
        &'a self,
        ask: &'a Ask,
        budget: &'a Budget,
    ) -> BoxFuture<'a, Result<Reply, CorrectorError>> {
        if let Some(prompt) = self.prompts.as_ref().and_then(|prompts| prompts.render(ask)) {
            let size = u64::try_from(prompt.system.len() + prompt.user.len()).unwrap_or(u64::MAX);
            budget.record(|spent| spent.prompt_bytes += size);
        }
        let reply_kind = ReplyKind::of(ask);
        let keyed = self.keyed.get(&(reply_kind, key_of(ask))).cloned();
        let recorded = keyed.or_else(|| {
            let mut queued = self.queued.lock().unwrap_or_else(PoisonError::into_inner);
            queued.get_mut(&reply_kind)?.pop_front()
        });
        if recorded.is_some() {
            self.answered.fetch_add(1, Ordering::Relaxed);
        }
        let missing = || CorrectorError::Skipped("the recording has no answer to this".into());
        Box::pin(std::future::ready(recorded.unwrap_or_else(|| Err(missing()))))
    }
}

/// A corrector that writes each answer of another corrector to a file.
#[derive(Debug)]
pub struct Record<C> {
    inner: C,
    file: Mutex<File>,
}

impl<C> Record<C> {
    /// Appends the answers of `inner` to the file at `path`. A new file can be read only by this user.
    pub fn to(inner: C, path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.create(true).append(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        Ok(Self { inner, file: Mutex::new(options.open(path)?) })
    }

    /// Appends a line to the recording; a failure is only logged.
    fn write(&self, ask: &Ask, answer: &RecordedAnswer) {
        let reply_kind = ReplyKind::of(ask);
        let (answer, error) = match answer {
            Ok(reply) => (Some(to_wire(reply_kind, reply)), None),
            Err(error) => (None, Some(error.to_string())),
        };
        let line =
            CassetteLine { ask: ask.kind().to_owned(), key: Some(key_of(ask)), answer, error };
        let written = serde_json::to_string(&line).map_err(io::Error::from).and_then(|line| {
            let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
            writeln!(file, "{line}")
        });
        if let Err(error) = written {
            tracing::warn!(%error, "cannot record the answer");
        }
    }
}

impl<C: Corrector> Corrector for Record<C> {
    fn is_available(&self) -> bool {
        self.inner.is_available()
    }

    fn correct<'a>(
        &'a self,
        ask: &'a Ask,
        budget: &'a Budget,
    ) -> BoxFuture<'a, Result<Reply, CorrectorError>> {
        Box::pin(async move {
            let answer = self.inner.correct(ask, budget).await;
            self.write(ask, &answer);
            answer
        })
    }

    fn rejected<'a>(&'a self, ask: &'a Ask) -> BoxFuture<'a, ()> {
        self.inner.rejected(ask)
    }
}

/// The `key` of a question in a recording, which does not depend on the model.
fn key_of(ask: &Ask) -> String {
    ContentHash::of(&ask_digest(ask)).to_string()
}

/// A hash of every part of a question. Its debug form quotes and escapes each text, so that
/// different questions never hash the same bytes.
pub(super) fn ask_digest(ask: &Ask) -> [u8; 32] {
    Sha256::digest(format!("{ask:?}")).into()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn ask(old: &str, new: &str) -> Ask {
        Ask::RepairEscapes {
            path: "a".into(),
            file: ContentHash::of(b""),
            old: old.into(),
            new: new.into(),
        }
    }

    #[test]
    fn parts_do_not_run_together() {
        let text = "abc---def";
        let mut seen = std::collections::HashSet::new();
        for split in 0..=text.len() {
            assert!(seen.insert(ask_digest(&ask(&text[..split], &text[split..]))));
        }
    }

    #[tokio::test]
    async fn what_was_recorded_is_played_again() {
        let dir = tempfile::tempdir().expect("folder");
        let path = dir.path().join("tape.jsonl");
        let budget = Budget::new(Duration::from_secs(1), 4);
        let tape = r#"{"ask":"repair_escapes","answer":{"corrected_string_escaping":"x"}}"#;
        let first = Record::to(Replay::from_jsonl(tape).expect("tape"), &path).expect("file");
        let answer = first.correct(&ask("o", "n"), &budget).await;
        assert_eq!(answer, Ok(Reply::Text("x".into())));
        assert!(first.correct(&ask("o", "m"), &budget).await.is_err(), "played once only");
        let written = std::fs::read_to_string(&path).expect("recording");
        let again = Replay::from_jsonl(&written).expect("recording");
        for _ in 0..2 {
            assert_eq!(again.correct(&ask("o", "n"), &budget).await, answer);
        }
        assert!(Replay::from_jsonl(r#"{"ask":"x","answer":{}}"#).is_err());
        assert!(Replay::from_jsonl("{\"ask\":\"choose\",\"answer\":{\"x\":1}}").is_err());
    }
}
