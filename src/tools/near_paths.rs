//! "Did you mean …?", where a call names a file that does not exist.

use super::{ToolReply, Toolbox};
use crate::edit::EditCode;

/// The general advice with which hints of the stores begin. A hint that suggests files leaves it out.
const CHECK: [&str; 2] = ["Check the path: search for a part of it. ", "Check the path. "];

impl Toolbox {
    /// Adds to the hint of a refused path the files that the path may mean; returns any other reply
    /// unchanged. The files are only suggested: no file is read or written here.
    pub(crate) async fn suggest_paths(&self, mut reply: ToolReply) -> ToolReply {
        let is_path_refused =
            matches!(reply.code, Some(EditCode::FileNotFound | EditCode::InvalidPath));
        let field = |name: &str| reply.report.get(name)?.as_str().map(str::to_owned);
        let (true, Some(wanted), Some(hint)) = (is_path_refused, field("path"), field("hint"))
        else {
            return reply;
        };
        // A path that can be followed is invalid for another reason.
        if reply.code == Some(EditCode::InvalidPath) && self.engine.path(&wanted).is_ok() {
            return reply;
        }
        let named: Vec<String> = self
            .engine
            .near_paths(&wanted)
            .await
            .into_iter()
            .map(|path| format!("`{path}`"))
            .collect();
        let (list, which) = match named.as_slice() {
            [] => return reply,
            [only] => (only.clone(), "that path"),
            [first @ .., last] => {
                (format!("{} or {last}", first.join(", ")), "the path of the file you mean")
            }
        };
        let rest = CHECK.iter().find_map(|check| hint.strip_prefix(check)).unwrap_or(&hint);
        let advice = format!("Did you mean {list}? Send the call again with {which}. {rest}");
        let (before, after) = (format!("\nNext: {hint}"), format!("\nNext: {advice}"));
        reply.message = reply.message.replacen(&before, &after, 1);
        reply.report["hint"] = advice.into();
        reply
    }
}
