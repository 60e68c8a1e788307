//! Turns the arguments that models send into the arguments that the tools take.
//!
//! Repaired: argument names of other products' tools, arguments or arrays sent as a
//! JSON string (raw control characters included), numbers and booleans as strings, a
//! single object instead of a list, a path beside a list whose items need it.
//! Refused, with the nearest known name: any other argument that the tool does not have.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use super::schema::{accepts, branches, properties, required};
use crate::edit::Refusal;
use crate::text::{ContentHash, Encoding};

/// Groups of argument names that mean the same. A name that a tool does not have stands for the
/// name of its group that the tool has.
pub static SYNONYMS: LazyLock<Vec<Vec<&'static str>>> = LazyLock::new(|| {
    let groups = include_str!("synonyms.txt").lines();
    groups.map(|group| group.split(' ').collect()).collect()
});

/// Arguments in which models describe their intent: they are accepted and ignored.
const IGNORED: &[&str] = &["instruction", "instructions", "explanation", "description", "reason"];

/// Optional arguments whose empty value has a meaning. In any other optional argument it is a
/// placeholder of a client that marks every argument as required.
const MEANINGFUL_EMPTY: &[&str] = &[
    "start_line",
    "end_line",
    "new_content",
    "files_changed",
    "old_str",
    "new_str",
    "file_text",
    "insert_text",
    "insert_line",
];

/// Names under which models wrap all arguments.
const WRAPPERS: &[&str] = &["arguments", "parameters", "params", "input", "args"];

/// The arguments under the tool's own names and with its types.
pub(super) fn normalize(
    tool: &str,
    schema: &Value,
    arguments: Value,
) -> Result<Map<String, Value>, Refusal> {
    let mut given = match arguments {
        Value::Object(given) => given,
        Value::Null => Map::new(),
        Value::String(text) => match parse_lenient(&text) {
            Some(Value::Object(given)) => given,
            _ => return Err(not_an_object(tool, schema)),
        },
        _ => return Err(not_an_object(tool, schema)),
    };
    // Some models wrap all of them in one more object.
    let is_known = |name: &String| properties(schema).is_some_and(|known| known.contains_key(name));
    let is_wrapper = |name: &String| WRAPPERS.contains(&name.as_str()) && !is_known(name);
    if let (1, Some((name, Value::Object(inner)))) = (given.len(), given.iter().next())
        && is_wrapper(name)
    {
        given = inner.clone();
    }
    normalize_object(&ArgumentPath { tool, path: String::new() }, schema, given)
}

/// A hash of a call that does not depend on the order of its arguments.
pub(super) fn digest(
    tool: &str,
    arguments: &Map<String, Value>,
    encoding: Option<Encoding>,
) -> ContentHash {
    let mut sorted = Value::Object(arguments.clone());
    sorted.sort_all_objects();
    let encoding = encoding.map_or("", Encoding::name);
    ContentHash::of(format!("{tool}\n{encoding}\n{sorted}").as_bytes())
}

/// Takes the encoding, which every tool accepts, out of its arguments.
pub(super) fn take_encoding(
    arguments: &mut Map<String, Value>,
) -> Result<Option<Encoding>, Refusal> {
    let given = arguments.remove("encoding");
    let Some(name) = given.as_ref().and_then(Value::as_str) else { return Ok(None) };
    let encoding = Encoding::from_name(name).ok_or_else(|| {
        Refusal::invalid(
            format!("`{}` is not an encoding that restitch knows", crate::text::quote_name(name)),
            "Give a name such as windows-1252, ISO-8859-15, macintosh, shift_jis, utf-8, utf-16le or utf-16be.",
        )
    });
    encoding.map(Some)
}

/// The refusal of arguments that are not a JSON object.
fn not_an_object(tool: &str, schema: &Value) -> Refusal {
    let message = format!("the arguments of `{tool}` are not a JSON object");
    Refusal::invalid(message, example(schema))
}

/// Whether a value is what clients send for an optional argument that the model did not give.
fn is_filler(name: &str, value: &Value) -> bool {
    let is_empty = match value {
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    };
    is_empty && !MEANINGFUL_EMPTY.contains(&name)
}

/// A position within the arguments of a tool, such as `edits[0]`, for messages.
struct ArgumentPath<'a> {
    tool: &'a str,
    path: String,
}

impl ArgumentPath<'_> {
    /// The position of an argument or item below this one.
    fn child(&self, name: &str) -> Self {
        let dot = if self.path.is_empty() || name.starts_with('[') { "" } else { "." };
        Self { tool: self.tool, path: format!("{}{dot}{name}", self.path) }
    }

    /// The path of an argument below this one, such as `edits[0].path`.
    fn child_path(&self, name: &str) -> String {
        self.child(name).path
    }

    /// Where in the arguments this is, to end a sentence; empty at the top level.
    fn location(&self) -> String {
        if self.path.is_empty() { String::new() } else { format!(" in `{}`", self.path) }
    }
}

/// Normalizes one object of the arguments: the top level, or an item of a list.
fn normalize_object(
    at: &ArgumentPath<'_>,
    schema: &Value,
    given: Map<String, Value>,
) -> Result<Map<String, Value>, Refusal> {
    let empty = Map::new();
    let known = properties(schema).unwrap_or(&empty);
    let mut normalized = Map::new();
    // A value that only the items of a list have may be sent once, beside the list.
    let list = known.iter().find_map(|(list, schema)| Some((list, item_properties(schema)?)));
    let (beside, given): (Vec<_>, Vec<_>) = given.into_iter().partition(|(name, value)| {
        let is_of_items = || list.is_some_and(|(_, items)| resolve(name, items, &empty).is_some());
        !value.is_null() && resolve(name, known, &empty).is_none() && is_of_items()
    });
    // Exact names first, so that a synonym never takes the place of the name itself.
    let (exact, other): (Vec<_>, Vec<_>) =
        given.into_iter().partition(|(name, _)| known.contains_key(name));
    for (name, value) in exact.into_iter().chain(other) {
        if value.is_null() {
            // Null means that the argument is left out; for a required list it means no items.
            let is_required_list = |own_name: &&str| {
                required(schema).any(|required_name| required_name == *own_name)
                    && branches(&known[*own_name]).iter().any(|branch| accepts(branch, "array"))
            };
            if let Some(own_name) = resolve(&name, known, &normalized).filter(is_required_list) {
                normalized.insert(own_name.to_owned(), json!([]));
            }
            continue;
        }
        let Some(own_name) = resolve(&name, known, &normalized) else {
            if IGNORED.contains(&name.as_str()) {
                continue;
            }
            return Err(unknown_argument(at, schema, &name));
        };
        let is_optional = !required(schema).any(|required_name| required_name == own_name);
        let is_filler = |value: &Value| is_optional && is_filler(own_name, value);
        if is_filler(&value) {
            continue;
        }
        let value = match list {
            Some((list, items)) if list == own_name => with_beside(value, items, &beside),
            _ => value,
        };
        let coerced = coerce(&at.child(own_name), &known[own_name], value);
        // Beside the name itself, what does not fit means something else.
        let value = match coerced {
            Err(_) if name != own_name && normalized.contains_key(own_name) => {
                return Err(unknown_argument(at, schema, &name));
            }
            other => other?,
        };
        if is_filler(&value) {
            continue;
        }
        match normalized.get(own_name) {
            Some(earlier) if *earlier != value => {
                return Err(Refusal::invalid(
                    format!(
                        "argument `{}` is given twice with different values, once as `{name}`",
                        at.child_path(own_name)
                    ),
                    "Give it once.",
                ));
            }
            _ => normalized.insert(own_name.to_owned(), value),
        };
    }
    if let (Some((list, _)), [(name, _), ..]) = (list, beside.as_slice())
        && !normalized.contains_key(list)
    {
        let list_path = at.child_path(list);
        return Err(Refusal::invalid(
            format!("`{name}` is given, but `{list_path}` is missing"),
            format!("Send `{list}` as a list of objects."),
        ));
    }
    let missing: Vec<_> = required(schema).filter(|name| !normalized.contains_key(*name)).collect();
    if !missing.is_empty() {
        let (names, location) = (missing.join("`, `"), at.location());
        let message = format!("`{}` needs `{names}`{location}", at.tool);
        return Err(Refusal::invalid(message, example(schema)));
    }
    Ok(normalized)
}

/// The known name that `name` stands for: itself, or a synonym, if possible one without a value.
fn resolve<'a>(
    name: &str,
    known: &'a Map<String, Value>,
    with_value: &Map<String, Value>,
) -> Option<&'a str> {
    if let Some((own_name, _)) = known.get_key_value(name) {
        return Some(own_name);
    }
    let groups = SYNONYMS.iter().filter(|group| group.contains(&name));
    let mut synonyms =
        groups.flat_map(|group| known.keys().filter(|known| group.contains(&known.as_str())));
    let without_value = synonyms.clone().find(|known| !with_value.contains_key(*known));
    without_value.or_else(|| synonyms.next()).map(String::as_str)
}

/// The properties of the items of a list.
fn item_properties(schema: &Value) -> Option<&Map<String, Value>> {
    branches(schema).into_iter().find_map(|branch| properties(branch.get("items")?))
}

/// The items of a list, each with the values that were sent beside the list, unless it has its own.
fn with_beside(list: Value, items: &Map<String, Value>, beside: &[(String, Value)]) -> Value {
    let empty = Map::new();
    let parsed = |value: Value| match value {
        Value::String(text) => parse_lenient(&text).unwrap_or(Value::String(text)),
        other => other,
    };
    let mut list = match parsed(list) {
        Value::Array(list) => list,
        one => vec![one],
    };
    for item in &mut list {
        *item = parsed(item.take());
        let Some(object) = item.as_object_mut() else { continue };
        for (name, value) in beside {
            let own_name = resolve(name, items, &empty);
            // What is left empty in an item is not given there.
            object.retain(|key, value| {
                let is_empty = value.is_null() || own_name.is_some_and(|own| is_filler(own, value));
                resolve(key, items, &empty) != own_name || !is_empty
            });
            if object.keys().all(|key| resolve(key, items, &empty) != own_name) {
                object.insert(name.clone(), value.clone());
            }
        }
    }
    Value::Array(list)
}

/// Converts a value to a type that the schema takes, where that loses nothing.
fn coerce(at: &ArgumentPath<'_>, schema: &Value, value: Value) -> Result<Value, Refusal> {
    let options = branches(schema);
    let json_type = json_type_of(&value);
    if let Some(branch) = options.iter().find(|branch| accepts(branch, json_type)) {
        return match value {
            Value::Array(items) => {
                let Some(item) = branch.get("items") else { return Ok(Value::Array(items)) };
                let items = items.into_iter().enumerate();
                items
                    .map(|(index, value)| coerce(&at.child(&format!("[{index}]")), item, value))
                    .collect::<Result<_, _>>()
                    .map(Value::Array)
            }
            Value::Object(given) if properties(branch).is_some() => {
                normalize_object(at, branch, given).map(Value::Object)
            }
            other => check_value(at, branch, other),
        };
    }
    let wants = |json_type: &str| options.iter().any(|branch| accepts(branch, json_type));
    match &value {
        Value::String(text) => {
            if (wants("array") || wants("object"))
                && let Some(parsed @ (Value::Array(_) | Value::Object(_))) = parse_lenient(text)
            {
                return coerce(at, schema, parsed);
            }
            if wants("integer")
                && let Ok(number) = text.trim().parse::<i64>()
            {
                return coerce(at, schema, number.into());
            }
            match text.trim().to_ascii_lowercase().as_str() {
                "true" if wants("boolean") => return Ok(true.into()),
                "false" if wants("boolean") => return Ok(false.into()),
                _ => {}
            }
            if wants("array") {
                return coerce(at, schema, Value::Array(vec![value]));
            }
        }
        Value::Number(number) if wants("string") && !number.is_f64() => {
            return Ok(number.to_string().into());
        }
        Value::Number(number) if wants("integer") => {
            if let Some(whole) = number.as_f64().filter(|n| n.fract() == 0.0 && n.abs() < 1e15) {
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "whole and small, checked above"
                )]
                return Ok((whole as i64).into());
            }
        }
        Value::Object(_) if wants("array") => {
            return coerce(at, schema, Value::Array(vec![value]));
        }
        _ => {}
    }
    let wanted: Vec<_> = ["string", "integer", "number", "boolean", "array", "object"]
        .into_iter()
        .filter(|json_type| wants(json_type))
        .collect();
    Err(wrong_argument(
        at,
        &with_article(json_type),
        &wanted.into_iter().map(with_article).collect::<Vec<_>>().join(" or "),
    ))
}

/// Refuses a word that is none of those to choose from, and a number below 0, which means something in
/// lists only.
fn check_value(at: &ArgumentPath<'_>, schema: &Value, value: Value) -> Result<Value, Refusal> {
    let words = schema.get("enum").and_then(Value::as_array);
    let is_negative = value.as_i64().is_some_and(|number| number < 0);
    let must_be = match words {
        Some(words) if !words.contains(&value) => {
            let words: Vec<_> = words.iter().filter_map(Value::as_str).collect();
            format!("one of: {}", words.join(", "))
        }
        None if is_negative && schema["type"] == "integer" && !at.path.ends_with(']') => {
            "0 or more".to_owned()
        }
        _ => return Ok(value),
    };
    Err(wrong_argument(at, &crate::text::clip(&value.to_string(), 80), &must_be))
}

/// The refusal of an argument that is not what it must be.
fn wrong_argument(at: &ArgumentPath<'_>, given: &str, must_be: &str) -> Refusal {
    Refusal::invalid(
        format!("argument `{}` of `{}` is {given}, but must be {must_be}", at.path, at.tool),
        "Correct the argument and send the call again.",
    )
}

/// The type with its article, such as `an array`.
fn with_article(json_type: &str) -> String {
    let article = if matches!(json_type, "integer" | "array" | "object") { "an" } else { "a" };
    format!("{article} {json_type}")
}

/// The name of the value's type in JSON schema.
fn json_type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_i64() || number.is_u64() => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// The refusal of an argument that the tool does not have.
fn unknown_argument(at: &ArgumentPath<'_>, schema: &Value, name: &str) -> Refusal {
    let known: Vec<&str> =
        properties(schema).into_iter().flatten().map(|(name, _)| name.as_str()).collect();
    let nearest = nearest(name, &known).unwrap_or_default();
    let (name, location) = (crate::text::quote_name(name), at.location());
    Refusal::invalid(
        format!("`{}` has no argument `{name}`{location}; the nearest is `{nearest}`", at.tool),
        example(schema),
    )
}

/// The known name that is nearest to `name`.
pub(super) fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let distance = |known_name: &&&str| {
        rapidfuzz::distance::levenshtein::distance(name.chars(), known_name.chars())
    };
    known.iter().min_by_key(distance).copied()
}

/// A hint that shows which arguments to send.
fn example(schema: &Value) -> String {
    match (required(schema).next(), properties(schema)) {
        (None, Some(all)) if !all.is_empty() => {
            let names: Vec<_> = all.keys().map(String::as_str).collect();
            format!("Every argument is optional: {}.", names.join(", "))
        }
        _ => format!("Send the arguments {}.", shape(schema)),
    }
}

/// A call's shape in one line: the required arguments with their types, then the others.
fn shape(schema: &Value) -> String {
    let required_names: Vec<_> = required(schema).collect();
    let empty = Map::new();
    let all = properties(schema).unwrap_or(&empty);
    let required_fields = required_names.iter().map(|name| {
        let value = match all.get(*name).and_then(|s| s.get("type")).and_then(Value::as_str) {
            Some("integer" | "number") => "1".to_owned(),
            Some("boolean") => "true".to_owned(),
            Some("array") => match all[*name].get("items") {
                Some(items) if properties(items).is_some() => format!("[{}]", shape(items)),
                _ => r#"["…"]"#.to_owned(),
            },
            _ => r#""…""#.to_owned(),
        };
        format!(r#""{name}": {value}"#)
    });
    let call = format!("{{{}}}", required_fields.collect::<Vec<_>>().join(", "));
    let optional_names: Vec<_> =
        all.keys().map(String::as_str).filter(|name| !required_names.contains(name)).collect();
    if optional_names.is_empty() {
        call
    } else {
        format!("{call} (optional: {})", optional_names.join(", "))
    }
}

/// Parses JSON, allowing raw control characters inside strings.
fn parse_lenient(text: &str) -> Option<Value> {
    serde_json::from_str(text).or_else(|_| serde_json::from_str(&escape_controls(text))).ok()
}

/// Escapes newlines, carriage returns and tabs inside the strings of a JSON text.
fn escape_controls(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    let (mut in_string, mut escaped) = (false, false);
    for c in text.chars() {
        let escape = match c {
            '\n' => "\\n",
            '\r' => "\\r",
            '\t' => "\\t",
            _ => "",
        };
        if in_string && !escape.is_empty() {
            out.push_str(escape);
            escaped = false;
            continue;
        }
        in_string ^= c == '"' && !escaped;
        escaped = in_string && c == '\\' && !escaped;
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools;

    /// One call a row, with what is read of it or with parts of the refusal.
    #[test]
    fn calls_are_read_as_the_tools_take_them() {
        for row in include_str!("arguments.jsonl").lines() {
            let row: Value = serde_json::from_str(row).expect("a row");
            let spec = tools::find(row["tool"].as_str().expect("its name")).expect("tool");
            let read = tools::read_arguments(spec, row["call"].clone());
            match (read, row["refused"].as_array()) {
                (Ok((read, _)), None) => assert_eq!(Value::Object(read), row["read_as"], "{row}"),
                (Err(refusal), Some(parts)) => {
                    let text = refusal.text();
                    let says = |part: &Value| text.contains(part.as_str().expect("a part"));
                    assert!(parts.iter().all(says), "{row}: {text}");
                }
                (read, _) => panic!("{row}: {read:?}"),
            }
        }
    }
}
