//! The call log: a line for each call that could change files, in the state folder, and
//! `restitch log --stats`, which counts them. Names and codes only; of bounded size.

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
use super::history;
use crate::engine::{CallRecord, CallRecorder};
use crate::store::state_folder;
use crate::text::pluralize;

/// At this size a file is renamed, and the one renamed before it is dropped.
const MAX_BYTES: u64 = 1 << 20;
/// A client may call itself anything.
const MAX_NAME: usize = 60;

/// One line.
#[derive(Debug, Serialize, Deserialize)]
struct LoggedCall {
    at: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    #[serde(flatten)]
    note: CallRecord,
}

/// The files of lines: the one that grows, and the one before it.
#[derive(Debug, Clone)]
pub(crate) struct CallLog {
    current: PathBuf,
    previous: PathBuf,
}

impl CallLog {
    pub(crate) fn in_folder(state: &Path) -> Self {
        Self { current: state.join("calls.jsonl"), previous: state.join("calls.1.jsonl") }
    }

    /// Logs each call with the model that could be asked. If that fails, the call does not.
    pub(crate) fn recorder(self, model: Option<String>) -> CallRecorder {
        let named = std::env::var("RESTITCH_CLIENT").ok().filter(|name| !name.is_empty());
        Arc::new(move |mut note: CallRecord| {
            let client = named.clone().or(note.client.take());
            note.client = client.map(|name| name.chars().take(MAX_NAME).collect());
            let at = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
            if let Err(error) = self.append(&LoggedCall { at, model: model.clone(), note }) {
                tracing::debug!(%error, "the call could not be counted");
            }
        })
    }

    fn append(&self, entry: &LoggedCall) -> io::Result<()> {
        let mut line = serde_json::to_vec(entry)?;
        line.push(b'\n');
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&self.current)?;
        // One write to the end of the file: lines of several processes do not mix.
        file.write_all(&line)?;
        if file.metadata()?.len() > MAX_BYTES {
            self.rotate(&file)?;
        }
        Ok(())
    }

    /// Renames the full file, unless another process has already done so.
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

/// What is counted of one tool, client and model.
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
    fn add(&mut self, note: CallRecord) {
        self.calls += 1;
        match note.code {
            None => self.applied += 1,
            Some(code) => {
                self.refused += 1;
                *self.refusals.entry(code).or_default() += 1;
            }
        }
        for rung in note.rungs {
            *self.rungs.entry(rung).or_default() += 1;
        }
        for rewrite in note.rewrites {
            *self.rewrites.entry(rewrite).or_default() += 1;
        }
        for (ask, outcome) in note.asks {
            *self.asks.entry(ask).or_default().entry(outcome).or_default() += 1;
        }
        self.requests += note.requests;
        self.cached += note.cached;
        self.tokens += note.tokens;
        self.millis += note.millis;
    }

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
        for (ask, outcomes) in &self.asks {
            let _ = writeln!(out, "  {ask}: {}", format_counts(outcomes));
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

/// Most frequent first.
fn format_counts(counts: &BTreeMap<String, u64>) -> String {
    let mut counts: Vec<_> = counts.iter().collect();
    counts.sort_by_key(|(name, count)| (std::cmp::Reverse(**count), *name));
    let parts: Vec<_> = counts.iter().map(|(name, count)| format!("{name} {count}")).collect();
    parts.join(", ")
}

fn groups(entries: Vec<LoggedCall>) -> Vec<CallGroup> {
    let mut groups: BTreeMap<_, CallGroup> = BTreeMap::new();
    for LoggedCall { model, note, .. } in entries {
        let client = note.client.clone().unwrap_or_else(|| "the command line".to_owned());
        let key = (note.tool.clone(), client.clone(), model.clone());
        let group = groups.entry(key).or_insert_with(|| CallGroup {
            tool: note.tool.clone(),
            client,
            model,
            ..CallGroup::default()
        });
        group.add(note);
    }
    let mut groups: Vec<_> = groups.into_values().collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.calls));
    groups
}

/// `restitch log --stats`
pub(crate) fn print(common: &Common) -> Exit {
    let Some(folder) = state_folder() else {
        return Exit::usage("there is no folder for state; set RESTITCH_STATE_DIR");
    };
    let entries = CallLog::in_folder(&folder).entries();
    let since = entries.iter().map(|entry| entry.at).min();
    let groups = groups(entries);
    let text = match (common.json, since) {
        (true, _) => json!({ "since_unix_seconds": since, "groups": groups }).to_string(),
        (false, None) => "no calls have been counted yet".to_owned(),
        (false, Some(since)) => {
            let parts: String = groups.iter().map(CallGroup::text).collect();
            format!(
                "calls since {}, in all folders\n{}",
                history::format_utc(since * 1000),
                parts.trim_end()
            )
        }
    };
    match writeln!(io::stdout().lock(), "{text}") {
        Ok(()) => Exit::Done,
        Err(error) => Exit::fault(format!("cannot write to stdout: {error}")),
    }
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
        let groups = groups(log.entries());
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
