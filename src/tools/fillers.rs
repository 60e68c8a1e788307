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
    use serde_json::Value;

    use crate::tools::{self, arguments};

    /// Clients that make every argument required send something for those not meant.
    #[test]
    fn fillers_are_not_given() {
        for row in include_str!("fillers.jsonl").lines() {
            let row: Value = serde_json::from_str(row).expect("a row");
            let spec = tools::find(row["tool"].as_str().expect("its name")).expect("tool");
            let read = arguments::normalize(spec.name, &(spec.input)(), row["call"].clone());
            assert_eq!(read.map(Value::Object), Ok(row["read_as"].clone()), "{row}");
        }
    }
}
