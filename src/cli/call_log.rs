//! The call log: one line in the state folder for each call that could change files, and
//! `restitch log --stats`, which counts them. The log has names and codes only, no text of a call,
//! and a bounded size.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::args::Common;
use super::exit::Exit;
use super::{out, undo};
use crate::engine::{CallRecord, CallRecorder};
use crate::store::state_folder;
use crate::text::pluralize;

/// A file that has grown to this size becomes the previous file, and the older one is dropped.
const MAX_BYTES: u64 = 1 << 20;
/// The most characters that are kept of a client's name.
const MAX_NAME: usize = 60;

/// One line of the log.
#[derive(Debug, Serialize, Deserialize)]
struct LoggedCall {
    at: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    #[serde(flatten)]
    record: CallRecord,
}

/// The two files of the log: the one that grows, and the previous one.
#[derive(Debug, Clone)]
pub(crate) struct CallLog {
    current: PathBuf,
    previous: PathBuf,
}

impl CallLog {
    /// The log in this state folder.
    pub(crate) fn in_folder(state: &Path) -> Self {
        Self { current: state.join("calls.jsonl"), previous: state.join("calls.1.jsonl") }
    }

    /// Returns a recorder that logs each call with `model`, the model that the call could ask. A
    /// failure to log does not affect the call.
    pub(crate) fn recorder(self, model: Option<String>) -> CallRecorder {
        let client_variable = std::env::var("RESTITCH_CLIENT").ok().filter(|name| !name.is_empty());
        Arc::new(move |mut record: CallRecord| {
            let client = client_variable.clone().or(record.client.take());
            record.client = client.map(|name| name.chars().take(MAX_NAME).collect());
            let at = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
            if let Err(error) = self.append(&LoggedCall { at, model: model.clone(), record }) {
                tracing::debug!(%error, "the call could not be logged");
            }
        })
    }

    /// Adds a line, and starts a new file if this one is full.
    fn append(&self, entry: &LoggedCall) -> io::Result<()> {
        let mut line = serde_json::to_vec(entry)?;
        line.push(b'\n');
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&self.current)?;
        // A single write, so that the lines of several processes do not mix.
        file.write_all(&line)?;
        if file.metadata()?.len() > MAX_BYTES {
            self.rotate(&file)?;
        }
        Ok(())
    }

    /// Makes the full file the previous one, unless another process has already done so.
    fn rotate(&self, full: &File) -> io::Result<()> {
        full.lock()?;
        if fs::metadata(&self.current)?.len() > MAX_BYTES {
            fs::rename(&self.current, &self.previous)?;
        }
        Ok(())
    }

    /// Every line that can be read, oldest first.
    fn entries(&self) -> Vec<LoggedCall> {
        let read = |path: &Path| fs::read(path).unwrap_or_default();
        let lines = [read(&self.previous), read(&self.current)].concat();
        String::from_utf8_lossy(&lines)
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect()
    }
}

/// The counts of the calls of one tool by one client with one model.
#[derive(Debug, Default, Serialize)]
struct CallGroup {
    tool: String,
    client: String,
    model: Option<String>,
    calls: u64,
    applied: u64,
    refused: u64,
    rungs: BTreeMap<String, u64>,
    rewrites: BTreeMap<String, u64>,
    refusals: BTreeMap<String, u64>,
    asks: BTreeMap<String, BTreeMap<String, u64>>,
    requests: u64,
    cached: u64,
    tokens: u64,
    millis: u64,
}

impl CallGroup {
    /// Counts one more call.
    fn add(&mut self, record: CallRecord) {
        self.calls += 1;
        match record.code {
            None => self.applied += 1,
            Some(code) => {
                self.refused += 1;
                *self.refusals.entry(code).or_default() += 1;
            }
        }
        for rung in record.rungs {
            *self.rungs.entry(rung).or_default() += 1;
        }
        for rewrite in record.rewrites {
            *self.rewrites.entry(rewrite).or_default() += 1;
        }
        for (question, outcome) in record.asks {
            *self.asks.entry(question).or_default().entry(outcome).or_default() += 1;
        }
        self.requests += record.requests;
        self.cached += record.cached;
        self.tokens += record.tokens;
        self.millis += record.millis;
    }

    /// The counts for a person, in a few lines.
    fn text(&self) -> String {
        let mut out = format!(
            "{} by {}: {}, {} applied, {} refused\n",
            self.tool,
            self.client,
            pluralize(usize::try_from(self.calls).unwrap_or(usize::MAX), "call"),
            self.applied,
            self.refused
        );
        for (name, counts) in
            [("rungs", &self.rungs), ("rewrites", &self.rewrites), ("refused", &self.refusals)]
        {
            if !counts.is_empty() {
                let _ = writeln!(out, "  {name}: {}", format_counts(counts));
            }
        }
        for (question, outcomes) in &self.asks {
            let _ = writeln!(out, "  {question}: {}", format_counts(outcomes));
        }
        if let Some(model) = self.model.as_ref().filter(|_| !self.asks.is_empty()) {
            let _ = writeln!(
                out,
                "  {model}: {} requests, {} from the cache, {} tokens, {:.1} s",
                self.requests,
                self.cached,
                self.tokens,
                self.millis as f64 / 1000.0
            );
        }
        out
    }
}

/// The names with their counts, the most frequent first.
fn format_counts(counts: &BTreeMap<String, u64>) -> String {
    let mut counts: Vec<_> = counts.iter().collect();
    counts.sort_by_key(|(name, count)| (std::cmp::Reverse(**count), *name));
    let parts: Vec<_> = counts.iter().map(|(name, count)| format!("{name} {count}")).collect();
    parts.join(", ")
}

/// Counts the calls by tool, client and model. The group with the most calls is first.
fn group_calls(entries: Vec<LoggedCall>) -> Vec<CallGroup> {
    let mut groups: BTreeMap<_, CallGroup> = BTreeMap::new();
    for LoggedCall { model, record, .. } in entries {
        let client = record.client.clone().unwrap_or_else(|| "the command line".to_owned());
        let key = (record.tool.clone(), client.clone(), model.clone());
        let group = groups.entry(key).or_insert_with(|| CallGroup {
            tool: record.tool.clone(),
            client,
            model,
            ..CallGroup::default()
        });
        group.add(record);
    }
    let mut groups: Vec<_> = groups.into_values().collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.calls));
    groups
}

/// `restitch log --stats`: prints the counts.
pub(crate) fn print(common: &Common) -> Result<(), Exit> {
    let Some(folder) = state_folder() else {
        return Err(Exit::usage("there is no state folder; set RESTITCH_STATE_DIR to one"));
    };
    let entries = CallLog::in_folder(&folder).entries();
    let since = entries.iter().map(|entry| entry.at).min();
    let groups = group_calls(entries);
    let text = match (common.json, since) {
        (true, _) => json!({ "since_unix_seconds": since, "groups": groups }).to_string(),
        (false, None) => "no calls have been counted yet".to_owned(),
        (false, Some(since)) => {
            let group_texts: String = groups.iter().map(CallGroup::text).collect();
            format!(
                "calls since {}, in all folders\n{}",
                undo::format_utc(since * 1000),
                group_texts.trim_end()
            )
        }
    };
    out::print(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(tool: &str) -> CallRecord {
        CallRecord { tool: tool.into(), client: Some("c".repeat(500)), ..CallRecord::default() }
    }

    #[test]
    fn the_record_stays_small_and_keeps_what_is_new() {
        let folder = tempfile::tempdir().expect("folder");
        let log = CallLog::in_folder(folder.path());
        let record = log.clone().recorder(Some("m".into()));
        for _ in 0..30_000 {
            record(note("edit_file"));
        }
        record(note("last"));
        let size: u64 = fs::read_dir(folder.path())
            .expect("listing")
            .map(|entry| entry.expect("entry").metadata().expect("size").len())
            .sum();
        assert!(size < 2 * MAX_BYTES + 1000, "{size}");
        let groups = group_calls(log.entries());
        assert!(groups.iter().any(|group| group.tool == "last" && group.calls == 1));
        assert!(groups[0].calls > 5_000, "{}", groups[0].calls);
        assert_eq!(groups[0].client.len(), MAX_NAME);
    }

    #[test]
    fn lines_that_cannot_be_read_count_for_nothing() {
        let folder = tempfile::tempdir().expect("folder");
        let log = CallLog::in_folder(folder.path());
        log.clone().recorder(None)(note("edit_file"));
        let mut text = fs::read(&log.current).expect("lines");
        text.extend_from_slice(b"\xff{\n{\"at\": \"x\"}\n");
        fs::write(&log.current, &text).expect("written");
        log.clone().recorder(None)(note("edit_file"));
        assert_eq!(log.entries().len(), 2);
    }
}
