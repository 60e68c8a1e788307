//! Fields that several clients write alike.

use serde_json::Value;

use super::Replacement;

/// Returns the text of a tool result: a string, an object with text, or a list of these.
pub(super) fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(text_of).collect::<Vec<_>>().join("\n"),
        Value::Object(map) => ["text", "output", "content", "error", "message"]
            .iter()
            .find_map(|name| map.get(*name))
            .map(text_of)
            .unwrap_or_default(),
        _ => String::new(),
    }
}

/// Returns the first of the named fields that is a string.
pub(super) fn string_field(value: &Value, names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| value.get(name)?.as_str().map(str::to_owned))
}

/// Returns the replacements of an edit call, whatever names the client has for its fields.
pub(super) fn replacements(input: &Value) -> Vec<Replacement> {
    let replacement = |value: &Value| {
        let old = string_field(value, &["old_string", "oldString", "old_str", "oldText"])?;
        let new = string_field(value, &["new_string", "newString", "new_str", "newText"])
            .unwrap_or_default();
        let flag = |name: &str| value.get(name).and_then(Value::as_bool).unwrap_or(false);
        let several = value
            .get("expected_replacements")
            .and_then(Value::as_u64)
            .is_some_and(|count| count > 1);
        let all = flag("replace_all") || flag("replaceAll") || flag("allow_multiple") || several;
        Some(Replacement { old, new, all })
    };
    match input.get("edits").and_then(Value::as_array) {
        Some(edits) => edits.iter().filter_map(replacement).collect(),
        None => replacement(input).into_iter().collect(),
    }
}

/// Removes the line numbers from a view such as `   12→text`, `12\ttext` or `00012| text`. Returns
/// the first number and the text; `None` if no line has a number.
pub(super) fn strip_line_numbers(text: &str) -> Option<(usize, String)> {
    let mut first = None;
    let mut next_number = 0;
    let mut out = String::new();
    for line in text.lines() {
        let body = line.trim_start();
        let digit_count = body.len() - body.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let number: Option<usize> = body[..digit_count].parse().ok();
        let rest = body[digit_count..]
            .strip_prefix('→')
            .or_else(|| body[digit_count..].strip_prefix('\t'))
            .or_else(|| body[digit_count..].strip_prefix("| "))
            .or_else(|| body[digit_count..].strip_prefix('|'));
        match (number, rest) {
            (Some(number), Some(rest)) if first.is_none() || number == next_number => {
                first.get_or_insert(number);
                next_number = number + 1;
                out.push_str(rest);
                out.push('\n');
            }
            _ if first.is_some() => break,
            _ => {}
        }
    }
    first.map(|first| (first, out))
}
