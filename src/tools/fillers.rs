//! Placeholder values (zeros, empty texts, empty lists) that clients send for optional arguments
//! that the model did not give, because they mark every argument as required.

use serde_json::Value;

/// Optional arguments whose empty value has a meaning, by tool. In any other optional argument
/// an empty value is a filler.
const MEANINGFUL_EMPTY: &[(&str, &[&str])] = &[
    ("edit_lines", &["start_line", "end_line", "new_content"]),
    ("task_complete", &["files_changed"]),
    (
        "str_replace_based_edit_tool",
        &["old_str", "new_str", "file_text", "insert_text", "insert_line"],
    ),
];

/// Whether the value of an optional argument is a filler, so that the argument counts as left
/// out.
pub(super) fn is_filler(tool: &str, name: &str, value: &Value) -> bool {
    let has_meaning = MEANINGFUL_EMPTY
        .iter()
        .any(|(listed_tool, names)| *listed_tool == tool && names.contains(&name));
    let is_empty = match value {
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    };
    is_empty && !has_meaning
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::tools::{self, arguments};

    /// Clients that make every argument required send something for those not meant.
    #[test]
    fn fillers_are_not_given() {
        for (tool, call, read_as) in [
            (
                "edit_file",
                json!({"path": "a", "old_str": "", "new_str": "", "expected_replacements": 0, "replace_all": false, "near_line": "0"}),
                json!({"path": "a", "old_str": "", "new_str": "", "replace_all": false}),
            ),
            (
                "read_file",
                json!({"path": "a", "offset": 3, "limit": 0, "ranges": [], "style": "", "column": 0}),
                json!({"path": "a", "offset": 3}),
            ),
            ("undo", json!({"revision": 0}), json!({})),
            (
                "search",
                json!({"keyword": "x", "path": "", "context": 0, "glob": "", "case_sensitive": null}),
                json!({"keyword": "x"}),
            ),
            (
                "hashline_edit",
                json!({"path": "a", "edits": [{"op": "append", "pos": "", "end": "", "lines": null}], "delete": false, "rename": "", "snapshot": ""}),
                json!({"path": "a", "edits": [{"op": "append", "lines": []}], "delete": false}),
            ),
            (
                "edit_lines",
                json!({"path": "a", "start_line": 1, "end_line": 0, "new_content": "", "edits": []}),
                json!({"path": "a", "start_line": 1, "end_line": 0, "new_content": ""}),
            ),
            (
                "str_replace_based_edit_tool",
                json!({"command": "insert", "path": "a", "insert_line": 0, "insert_text": "x", "view_range": []}),
                json!({"command": "insert", "path": "a", "insert_line": 0, "insert_text": "x"}),
            ),
            (
                "multi_edit",
                json!({"edits": [{"path": "a", "old_str": "x", "new_str": "", "expected_replacements": 0}]}),
                json!({"edits": [{"path": "a", "old_str": "x", "new_str": ""}]}),
            ),
        ] {
            let spec = tools::find(tool).expect("tool");
            let read = arguments::normalize(spec.name, &(spec.input)(), call.clone());
            assert_eq!(read.map(super::Value::Object), Ok(read_as), "{call}");
        }
    }
}
