//! How many bytes and tokens the texts take that a model reads: a file in each style of reading,
//! and the answer to one stale anchor, compared with a read of the whole file.
//!
//! Tokens are estimated as a third of the bytes. OpenAI's `o200k_base` needs 3.0 to 3.6
//! bytes a token for such texts, so the estimate is on the high side.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use serde_json::json;

use crate::edit::{Refusal, WorkPath};
use crate::engine::{CallOptions, Engine};
use crate::hashline::tag;
use crate::reading::{ReadLimits, ReadRequest, ReadStyle, read};
use crate::store::MemoryStore;
use crate::text::Snapshot;
use crate::tools::Toolbox;

const BYTES_A_TOKEN: usize = 3;

fn tokens(bytes: usize) -> usize {
    bytes.div_ceil(BYTES_A_TOKEN)
}

/// The cost of one text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cost {
    /// What it is.
    pub what: String,
    /// Its size.
    pub bytes: usize,
    /// Lines of the file that it shows.
    pub lines: usize,
}

impl Cost {
    /// Tokens in all, by the estimate.
    pub(crate) fn tokens(&self) -> usize {
        tokens(self.bytes)
    }
}

/// Reads of `source` in each style, with nothing left out.
pub(crate) fn reads(source: &str) -> Result<Vec<Cost>, Refusal> {
    let snapshot = Snapshot::from_text(source);
    [ReadStyle::Plain, ReadStyle::Numbered, ReadStyle::Hashline]
        .into_iter()
        .map(|style| {
            let request = ReadRequest { style, limits: ReadLimits::NONE, ..ReadRequest::default() };
            let text = read("f", &snapshot, &request)?.text;
            let what = format!("read, {}", format!("{style:?}").to_lowercase());
            Ok(Cost { what, bytes: text.len(), lines: snapshot.lines().total() })
        })
        .collect()
}

/// Seed 002: a file of 1,000 lines of which one changed since it was read. The read that
/// was needed before, and the answer that serves instead.
pub(crate) async fn stale_anchor() -> Result<[Cost; 2], Refusal> {
    let line = |n: usize| format!("    let value_{n} = compute({n}, \"item\");");
    let text: String = (1..=1000).map(|n| line(n) + "\n").collect();
    let store = Arc::new(MemoryStore::new());
    let path = WorkPath::parse("big.rs", Path::new("/"))?;
    store.put(path, text.replace("value_500 =", "changed_500 =").into_bytes());
    let tools = Toolbox::new(Engine::builder(store).build());
    let options = CallOptions::default();
    let read = json!({ "path": "big.rs", "style": "hashline" });
    let whole = tools.call("read_file", read, &options).await;
    let rendered = tag::render(500, &line(500));
    let edit = json!({ "op": "replace", "pos": rendered, "lines": ["x"] });
    let call = json!({ "path": "big.rs", "edits": [edit] });
    let answer = tools.call("hashline_edit", call, &options).await;
    let cost = |what: &str, text: &str| Cost { what: what.into(), bytes: text.len(), lines: 1000 };
    Ok([
        cost("read again after a stale anchor", &whole.message),
        cost("answer to the stale anchor", &answer.message),
    ])
}

/// The figures as a table for a terminal.
pub(crate) fn table(reads: &[Cost], stale: &[Cost]) -> String {
    let mut out = format!("{:34} {:>8} {:>8} {:>14}\n", "", "bytes", "tokens", "tokens a line");
    for cost in reads.iter().chain(stale) {
        let each = cost.bytes as f64 / BYTES_A_TOKEN as f64 / cost.lines.max(1) as f64;
        let _ =
            writeln!(out, "{:34} {:>8} {:>8} {:>14.1}", cost.what, cost.bytes, cost.tokens(), each);
    }
    out.push_str("\ntokens are bytes / 3, an estimate on the high side\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_stale_anchor_costs_a_hundredth_of_a_read() {
        let [whole, answer] = stale_anchor().await.expect("figures");
        assert!(answer.tokens() <= 120, "{answer:?}");
        assert!(answer.bytes * 100 < whole.bytes, "{whole:?} {answer:?}");
        let costs = reads("fn a() {}\nfn b() {}\n").expect("reads");
        assert_eq!(costs.iter().map(|c| c.bytes).collect::<Vec<_>>(), [20, 29, 29]);
    }
}
