//! Fields that several clients write alike.

use chrono::DateTime;
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

/// Returns the seconds since 1970 of a time such as `2026-09-01T10:00:00.5Z`, or of a number of
/// milliseconds. A time without a zone is read as UTC.
pub(super) fn unix_seconds(time: &Value) -> Option<i64> {
    let Some(text) = time.as_str() else { return Some(time.as_i64()? / 1000) };
    let text = text.replacen(' ', "T", 1);
    let utc = || DateTime::parse_from_rfc3339(&format!("{text}Z"));
    DateTime::parse_from_rfc3339(&text).or_else(|_| utc()).ok().map(|time| time.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_clients_times_are_seconds() {
        let of = |time: &str| unix_seconds(&Value::from(time));
        assert_eq!(of("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(of("2026-11-21T14:30:55.123Z"), Some(1_795_271_455));
        assert_eq!(of("2024-02-29T23:59:59+01:00"), Some(1_709_247_599));
        assert_eq!(unix_seconds(&Value::from(1_709_247_599_123_i64)), Some(1_709_247_599));
        for broken in ["", "yesterday", "2026-13-01T00:00:00Z", "2026-11-2é"] {
            assert_eq!(of(broken), None, "{broken}");
        }
    }
}
