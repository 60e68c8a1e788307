//! The answers of a model that a case has recorded, in `replies.jsonl`: one line for each question,
//! with its kind as `ask`, and `answer` or `error`.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use serde::Deserialize;
use serde_json::Value;

use crate::correct::{PromptBook, parse_reply};
use crate::edit::AskKind;
use crate::port::{Ask, Budget, Corrector, CorrectorError, FutureReply, Reply};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordedLine {
    ask: String,
    #[serde(default)]
    answer: Option<Value>,
    #[serde(default)]
    error: Option<String>,
}

type RecordedAnswer = Result<Reply, CorrectorError>;

/// Recorded answers; those to each kind of question are given in order.
#[derive(Debug)]
pub(crate) struct Replies {
    queued: Mutex<HashMap<AskKind, VecDeque<RecordedAnswer>>>,
    /// The prompts, whose size is counted although nothing is sent.
    prompts: Option<PromptBook>,
    answered: AtomicU32,
}

impl Replies {
    /// How many questions have been answered so far.
    pub(crate) fn answered(&self) -> u32 {
        self.answered.load(Ordering::Relaxed)
    }

    /// Reads the answers; an error names the line.
    pub(crate) fn from_jsonl(text: &str) -> Result<Self, String> {
        let mut queued: HashMap<_, VecDeque<_>> = HashMap::new();
        for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
            let bad = |why: String| format!("line {number}: {why}");
            let line: RecordedLine = serde_json::from_str(line).map_err(|e| bad(e.to_string()))?;
            let kind = AskKind::named("question", &line.ask).map_err(bad)?;
            let answer = match (line.answer, line.error) {
                (Some(answer), None) => parse_reply(kind, &answer.to_string())
                    .map(Ok)
                    .ok_or_else(|| bad(format!("this does not answer `{}`", line.ask)))?,
                (None, Some(error)) => Err(CorrectorError::Failed(error)),
                _ => return Err(bad("give either `answer` or `error`".into())),
            };
            queued.entry(kind).or_default().push_back(answer);
        }
        let prompts = PromptBook::built_in().ok();
        Ok(Self { queued: Mutex::new(queued), prompts, answered: AtomicU32::new(0) })
    }
}

impl Corrector for Replies {
    fn correct<'a>(&'a self, ask: &'a Ask, budget: &'a Budget) -> FutureReply<'a> {
        if let Some(prompt) = self.prompts.as_ref().and_then(|prompts| prompts.render(ask)) {
            let size = u64::try_from(prompt.system.len() + prompt.user.len()).unwrap_or(u64::MAX);
            budget.record(|spent| spent.prompt_bytes += size);
        }
        let mut queued = self.queued.lock().unwrap_or_else(PoisonError::into_inner);
        let recorded = queued.get_mut(&ask.kind()).and_then(VecDeque::pop_front);
        if recorded.is_some() {
            self.answered.fetch_add(1, Ordering::Relaxed);
        }
        let missing = || CorrectorError::Skipped("no answer to this is recorded".into());
        Box::pin(std::future::ready(recorded.unwrap_or_else(|| Err(missing()))))
    }
}
