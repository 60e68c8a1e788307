//! Measures the size, in bytes and tokens, of texts that a model reads: a file in each style, and
//! the answer to a call with one stale anchor, compared with a read of the whole file.
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

const BYTES_PER_TOKEN: usize = 3;

/// The cost of one text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cost {
    /// The name of the text.
    pub what: String,
    /// The size of the text.
    pub bytes: usize,
    /// The number of lines of the file.
    pub lines: usize,
}

impl Cost {
    /// Returns the estimated number of tokens.
    pub(crate) fn tokens(&self) -> usize {
        self.bytes.div_ceil(BYTES_PER_TOKEN)
    }
}

/// Returns the cost of reading all of `source` in each style.
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

/// Returns two costs for a file of 1,000 lines, one of which has changed since it was read: that of
/// reading the whole file again, and that of the answer to a call with the stale anchor.
pub(crate) async fn stale_anchor() -> Result<[Cost; 2], Refusal> {
    let line = |number: usize| format!("    let value_{number} = compute({number}, \"item\");");
    let text: String = (1..=1000).map(|number| line(number) + "\n").collect();
    let store = Arc::new(MemoryStore::new());
    let path = WorkPath::parse("big.rs", Path::new("/"))?;
    store.put(path, text.replace("value_500 =", "changed_500 =").into_bytes());
    let tools = Toolbox::new(Engine::builder(store).build());
    let options = CallOptions::default();
    let read_call = json!({ "path": "big.rs", "style": "hashline" });
    let whole = tools.call("read_file", read_call, &options).await;
    let anchor = tag::render(500, &line(500));
    let edit = json!({ "op": "replace", "pos": anchor, "lines": ["x"] });
    let edit_call = json!({ "path": "big.rs", "edits": [edit] });
    let answer = tools.call("hashline_edit", edit_call, &options).await;
    let cost = |what: &str, text: &str| Cost { what: what.into(), bytes: text.len(), lines: 1000 };
    Ok([
        cost("read again after a stale anchor", &whole.message),
        cost("answer to the stale anchor", &answer.message),
    ])
}

/// Returns the costs as a table for a terminal.
pub(crate) fn table(reads: &[Cost], stale: &[Cost]) -> String {
    let mut out = format!("{:34} {:>8} {:>8} {:>14}\n", "", "bytes", "tokens", "tokens a line");
    for cost in reads.iter().chain(stale) {
        let per_line = cost.bytes as f64 / BYTES_PER_TOKEN as f64 / cost.lines.max(1) as f64;
        let _ = writeln!(
            out,
            "{:34} {:>8} {:>8} {per_line:>14.1}",
            cost.what,
            cost.bytes,
            cost.tokens()
        );
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
