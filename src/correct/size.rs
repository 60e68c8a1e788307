//! The limits of an answer: the number of tokens, and the line numbers
//! that were shown.

use serde_json::{Map, Value, json};

use crate::port::{Ask, Question, Window};

/// Tokens for the JSON object around an answer, with its fields and numbers.
const OVERHEAD_TOKENS: usize = 160;
/// Bytes per token for code with escapes in JSON, with an inefficient tokenizer.
const BYTES_A_TOKEN: usize = 2;
/// The limit of every answer.
const MAX_TOKENS: usize = 32 << 10;

/// How many tokens an answer can need.
pub(super) fn answer_tokens(ask: &Ask) -> u32 {
    let (old, new) = (&ask.old, &ask.new);
    let bytes = match &ask.question {
        // The place may be longer than `old_str`, but not longer than what is shown. It may come
        // twice, since the new text may repeat a snippet.
        Question::CorrectOld { .. } => {
            let shown = ask.shown().into_iter().map(str::len).sum();
            2 * (2 * old.len() + 1024).min(shown) + new.len()
        }
        Question::AdjustNew { corrected_old, .. } | Question::Choose { corrected_old, .. } => {
            corrected_old.len() + new.len()
        }
        Question::RepairEscapes => new.len(),
    };
    let tokens = (OVERHEAD_TOKENS + bytes / BYTES_A_TOKEN).min(MAX_TOKENS);
    u32::try_from(tokens).unwrap_or(u32::MAX)
}

/// The schema with its numbers limited to the candidates and the lines that the question shows.
pub(super) fn with_bounds(mut schema: Value, ask: &Ask) -> Value {
    let (windows, candidates): (&[Window], _) = match &ask.question {
        Question::CorrectOld { windows, .. } => (windows, windows.len()),
        Question::Choose { outcomes, .. } => (&[], outcomes.len()),
        Question::AdjustNew { .. } | Question::RepairEscapes => (&[], 0),
    };
    let first = windows.iter().map(|window| window.start_line).min().unwrap_or(0);
    let last = windows.iter().map(|window| window.end_line).max().unwrap_or(0);
    let Some(Value::Object(properties)) = schema.get_mut("properties") else { return schema };
    for (name, min, max) in
        [("candidate", 0, candidates), ("start_line", first, last), ("end_line", first, last)]
    {
        let Some(Value::Object(property)) = properties.get_mut(name) else { continue };
        limit_number(property, min, max);
    }
    schema
}

/// Adds the limits to a number in the schema. If the number may be null, the limits go into a branch
/// of `anyOf`: next to a list of types, some servers apply them to null as well.
fn limit_number(property: &mut Map<String, Value>, min: usize, max: usize) {
    let number = json!({ "type": "integer", "minimum": min, "maximum": max });
    match property.remove("type") {
        Some(Value::Array(_)) => {
            property.insert("anyOf".into(), json!([number, { "type": "null" }]));
        }
        _ => property.extend(number.as_object().cloned().unwrap_or_default()),
    }
}
