//! The answers in JSON: strict schemas for the server, and a lenient parser for what it sends back.
//! The parser does not judge an answer; the module `resolve` does.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::edit::AskKind;
use crate::port::{Location, Reply};

/// A place in the file, and its new text.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct CorrectedOld {
    /// Whether there is an edit.
    #[serde(default, deserialize_with = "lenient_status")]
    status: Status,
    /// The number of the candidate, or null. It keeps a model to what is shown; the lines say all.
    #[serde(default, deserialize_with = "lenient_number")]
    candidate: Option<u32>,
    /// The first line to replace, or null.
    #[serde(default, deserialize_with = "lenient_number")]
    start_line: Option<u32>,
    /// The last line to replace, or null.
    #[serde(default, deserialize_with = "lenient_number")]
    end_line: Option<u32>,
    /// An exact, literal, unique match in the file; null if the lines are named.
    #[serde(default)]
    corrected_target_snippet: Option<String>,
    /// The whole new text of the place; empty to delete it.
    #[serde(default)]
    corrected_new_string: Option<String>,
}

// Without comments on the names: they would make the schema more than a list of names.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Status {
    #[default]
    Edit,
    AlreadyDone,
    NotHere,
    Unsure,
}

/// The new text of a known place.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct AdjustedNew {
    /// The whole new text of the place; empty to delete it, null if there is none.
    corrected_new_string: Option<String>,
}

/// The text with surplus escapes undone.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct RepairedEscapes {
    /// The text with surplus escapes undone, or as it is.
    #[serde(deserialize_with = "text_or_null")]
    corrected_string_escaping: String,
}

/// One of several outcomes.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct ChosenPlace {
    /// The number of the outcome, or 0.
    #[serde(deserialize_with = "lenient_number")]
    candidate: Option<u32>,
    /// The new text of the place if no outcome is right, else null.
    #[serde(default)]
    corrected_new_string: Option<String>,
}

/// A string; `null` is read as the empty string.
fn text_or_null<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(Option::<String>::deserialize(deserializer)?.unwrap_or_default())
}

/// A number, also one in a string; anything else is `None`, because the field is only a hint.
fn lenient_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::Number(number) => number.as_u64().and_then(|n| u32::try_from(n).ok()),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    })
}

/// A status; an unknown one is as if none were given.
fn lenient_status<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Status, D::Error> {
    let value = Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(value).unwrap_or_default())
}

/// The name in a request of the schema of the answers to this kind of question.
pub(super) fn schema_name(kind: AskKind) -> &'static str {
    match kind {
        AskKind::CorrectOld => "corrected_old_str",
        AskKind::AdjustNew => "adjusted_new_str",
        AskKind::RepairEscapes => "repaired_escapes",
        AskKind::Choose => "chosen_place",
    }
}

/// That schema, in the subset that strict servers accept.
pub(super) fn schema(kind: AskKind) -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
        settings.transforms.push(Box::new(RecursiveTransform(make_strict)));
    });
    let generator = settings.into_generator();
    let schema = match kind {
        AskKind::CorrectOld => generator.into_root_schema_for::<CorrectedOld>(),
        AskKind::AdjustNew => generator.into_root_schema_for::<AdjustedNew>(),
        AskKind::RepairEscapes => generator.into_root_schema_for::<RepairedEscapes>(),
        AskKind::Choose => generator.into_root_schema_for::<ChosenPlace>(),
    };
    schema.to_value()
}

/// Adapts a schema to strict servers: every property is required, no others are allowed, and no
/// keyword limits numbers.
fn make_strict(schema: &mut schemars::Schema) {
    let Some(object) = schema.as_object_mut() else { return };
    for keyword in ["title", "default", "format", "minimum", "maximum"] {
        object.remove(keyword);
    }
    if let Some(Value::Object(properties)) = object.get("properties") {
        let names: Vec<Value> = properties.keys().cloned().map(Value::String).collect();
        object.insert("required".into(), names.into());
        object.insert("additionalProperties".into(), false.into());
    }
}

/// Parses the first JSON object in `content` that is an answer of this kind. `None` if there is none:
/// no object at all, a field missing, or a field twice.
pub fn parse_reply(kind: AskKind, content: &str) -> Option<Reply> {
    objects(content).find_map(|json| parse_object(kind, json))
}

/// Parses one JSON object as an answer of this kind.
fn parse_object(kind: AskKind, json: &str) -> Option<Reply> {
    Some(match kind {
        AskKind::CorrectOld => {
            let known: serde_json::Map<String, Value> = serde_json::from_str(json).ok()?;
            let places = ["status", "corrected_target_snippet", "start_line"];
            if !places.iter().any(|field| known.contains_key(*field)) {
                return None;
            }
            let answer: CorrectedOld = serde_json::from_str(json).ok()?;
            let number = |n: Option<u32>| n.and_then(|n| usize::try_from(n).ok());
            let place = number(answer.start_line).zip(number(answer.end_line));
            let place = place.map(|(start_line, end_line)| Location { start_line, end_line });
            let text = answer.corrected_target_snippet.unwrap_or_default();
            match (answer.status, place, answer.corrected_new_string) {
                (Status::AlreadyDone, ..) => Reply::AlreadyDone,
                (Status::Unsure, ..) => Reply::Unsure,
                (Status::NotHere, ..) => Reply::Declined,
                (Status::Edit, None, _) if text.is_empty() => Reply::Declined,
                (Status::Edit, place, Some(new)) => Reply::WithNew { text, place, new },
                (Status::Edit, Some(place), None) => Reply::Located { text, place },
                (Status::Edit, None, None) => Reply::Text(text),
            }
        }
        // An empty text is an answer: the edit deletes the place.
        AskKind::AdjustNew => {
            match serde_json::from_str::<AdjustedNew>(json).ok()?.corrected_new_string {
                Some(text) => Reply::Text(text),
                None => Reply::Declined,
            }
        }
        AskKind::RepairEscapes => {
            let text =
                serde_json::from_str::<RepairedEscapes>(json).ok()?.corrected_string_escaping;
            if text.is_empty() { Reply::Declined } else { Reply::Text(text) }
        }
        AskKind::Choose => {
            let answer: ChosenPlace = serde_json::from_str(json).ok()?;
            match (answer.candidate, answer.corrected_new_string) {
                (Some(n), _) if n > 0 => Reply::Outcome(usize::try_from(n).ok()?),
                (_, Some(text)) if !text.is_empty() => Reply::Text(text),
                _ => Reply::Declined,
            }
        }
    })
}

/// The outermost JSON objects in a text, in order. Text before `</think>` is skipped.
fn objects(content: &str) -> impl Iterator<Item = &str> {
    // Each attempt may scan the whole text, so their number is limited.
    const MAX_ATTEMPTS: usize = 16;
    let mut unread = content.rsplit_once("</think>").map_or(content, |(_, answer)| answer);
    let attempts = (0..MAX_ATTEMPTS).map_while(move |_| {
        let from = &unread[unread.find('{')?..];
        let object = serde_json::Deserializer::from_str(from).into_iter::<&RawValue>().next();
        let object = object.and_then(Result::ok).map(RawValue::get);
        unread = &from[object.map_or(1, str::len)..];
        Some(object)
    });
    attempts.flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_are_strict() {
        for kind in AskKind::ALL {
            let schema = schema(*kind);
            assert_eq!(schema["type"], "object", "{schema}");
            assert_eq!(schema["additionalProperties"], false);
            let properties = schema["properties"].as_object().expect("properties").len();
            assert_eq!(schema["required"].as_array().map(Vec::len), Some(properties));
            let text = schema.to_string();
            for banned in ["$schema", "format", "minimum", "oneOf", "default"] {
                assert!(!text.contains(&format!("\"{banned}\"")), "{text}");
            }
        }
    }

    #[test]
    fn answers_are_read_leniently() {
        let text = |text: &str| Some(Reply::Text(text.into()));
        let place = Location { start_line: 3, end_line: 4 };
        let deletion = Reply::WithNew { text: "".into(), place: Some(place), new: "".into() };
        for (kind, content, reply) in [
            (AskKind::CorrectOld, r#"{"corrected_target_snippet":"a{\"}"}"#, text("a{\"}")),
            (
                AskKind::CorrectOld,
                "<think>{\"corrected_target_snippet\":\"no\"}</think>```json\n{\"corrected_target_snippet\": \"b\", \"start_line\": null, \"why\": {}}\n```",
                text("b"),
            ),
            (AskKind::CorrectOld, "{} {\"corrected_target_snippet\":\"c\"}", text("c")),
            (AskKind::CorrectOld, r#"{"corrected_target_snippet":""}"#, Some(Reply::Declined)),
            (AskKind::CorrectOld, r#"{"corrected_target_snippet":null}"#, Some(Reply::Declined)),
            (
                AskKind::CorrectOld,
                r#"{"corrected_target_snippet":"d","start_line":"3","end_line":4}"#,
                Some(Reply::Located { text: "d".into(), place }),
            ),
            // The lines alone are a place, and an empty text deletes them.
            (
                AskKind::CorrectOld,
                r#"{"start_line":3,"end_line":4,"corrected_target_snippet":null,"corrected_new_string":""}"#,
                Some(deletion),
            ),
            (AskKind::CorrectOld, r#"{"status":"already_done"}"#, Some(Reply::AlreadyDone)),
            (AskKind::CorrectOld, r#"{"status":"not_here","start_line":3}"#, Some(Reply::Declined)),
            (AskKind::CorrectOld, r#"{"status":"unsure"}"#, Some(Reply::Unsure)),
            (AskKind::AdjustNew, r#"{"corrected_new_string":""}"#, text("")),
            (AskKind::AdjustNew, r#"{"corrected_new_string":null}"#, Some(Reply::Declined)),
            (AskKind::Choose, r#"{"candidate":0,"corrected_new_string":"x"}"#, text("x")),
            (AskKind::Choose, r#"{"candidate":2}"#, Some(Reply::Outcome(2))),
            (AskKind::CorrectOld, "", None),
            (AskKind::CorrectOld, "null", None),
            (AskKind::CorrectOld, "[]", None),
            (AskKind::CorrectOld, "{", None),
            (AskKind::CorrectOld, r#"{"corrected_new_string":"x"}"#, None),
            (AskKind::CorrectOld, r#"{"corrected_target_snippet":1}"#, None),
            (AskKind::CorrectOld, r#"{"why":"status"}"#, None),
            (
                AskKind::CorrectOld,
                r#"{"corrected_target_snippet":"a","corrected_target_snippet":"b"}"#,
                None,
            ),
        ] {
            assert_eq!(parse_reply(kind, content), reply, "{content}");
        }
        assert_eq!(parse_reply(AskKind::CorrectOld, &"{\"a\":".repeat(10_000)), None);
    }
}
