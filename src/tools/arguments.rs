//! Turns the arguments that models send into the arguments that the tools take.
//!
//! Repaired: argument names of other products' tools, arguments or arrays sent as a
//! JSON string (raw control characters included), numbers and booleans as strings, a
//! single object instead of a list, a path beside a list whose items need it.
//! Refused, with the nearest known name: any other argument that the tool does not have.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use super::fillers;
use super::schema::{accepts, branches, properties, required};
use crate::edit::{EditCode, Refusal};
use crate::text::{ContentHash, Encoding};

/// Groups of argument names that mean the same. A name that a tool does not have stands for the
/// name of its group that the tool has.
pub static SYNONYMS: LazyLock<Vec<Vec<&'static str>>> = LazyLock::new(|| {
    let groups = include_str!("synonyms.txt").lines();
    groups.map(|group| group.split(' ').collect()).collect()
});

/// Arguments in which models describe their intent: they are accepted and ignored.
const IGNORED: &[&str] = &["instruction", "instructions", "explanation", "description", "reason"];

/// Objects that some clients wrap the arguments in.
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
    if let Some(inner) = unwrap_arguments(&given, schema) {
        given = inner;
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

/// Splits the arguments into `encoding` and all others. Every tool accepts `encoding`, but only
/// tools that write declare it: a refusal asks for it when the encoding of a file is uncertain.
pub(super) fn take_encoding(mut arguments: Value) -> Result<(Value, Option<Encoding>), Refusal> {
    let removed = arguments.as_object_mut().and_then(|given| given.remove("encoding"));
    let encoding = match removed {
        None | Some(Value::Null) => None,
        Some(Value::String(name)) if name.trim().is_empty() => None,
        Some(Value::String(name)) => Some(Encoding::from_name(&name).ok_or_else(|| {
            invalid(format!("`{}` is not an encoding that restitch knows", crate::text::quote_name(&name)))
                .hint("Give a name such as windows-1252, ISO-8859-15, macintosh, IBM850, shift_jis, utf-8, utf-16le or utf-16be.")
        })?),
        Some(_) => {
            return Err(invalid("argument `encoding` is not a string".to_owned())
                .hint("Give a name such as windows-1252, or leave it out."));
        }
    };
    Ok((arguments, encoding))
}

/// The refusal of arguments that are not a JSON object.
fn not_an_object(tool: &str, schema: &Value) -> Refusal {
    invalid(format!("the arguments of `{tool}` are not a JSON object")).hint(example(schema))
}

/// The object inside a wrapper such as `{"arguments": {…}}`.
fn unwrap_arguments(given: &Map<String, Value>, schema: &Value) -> Option<Map<String, Value>> {
    let mut entries = given.iter();
    let (Some((name, value)), None) = (entries.next(), entries.next()) else { return None };
    let is_argument = properties(schema).is_some_and(|known| known.contains_key(name));
    let is_wrapper = WRAPPERS.contains(&name.as_str()) && !is_argument;
    value.as_object().filter(|_| is_wrapper).cloned()
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
    let mut values_for_items = Vec::new();
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
            if let Some((list, item)) = known.iter().find_map(|(list, schema)| {
                let items = item_properties(schema)?;
                Some((list.clone(), resolve(&name, items, &empty)?.to_owned()))
            }) {
                values_for_items.push((list, item, name, value));
                continue;
            }
            return Err(unknown_argument(at, schema, &name));
        };
        let is_optional = !required(schema).any(|required_name| required_name == own_name);
        let is_filler = |value: &Value| is_optional && fillers::is_filler(at.tool, own_name, value);
        if is_filler(&value) {
            continue;
        }
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
                return Err(invalid(format!(
                    "argument `{}` is given twice with different values, once as `{name}`",
                    at.child_path(own_name)
                ))
                .hint("Give it once."));
            }
            _ => normalized.insert(own_name.to_owned(), value),
        };
    }
    for (list, item_name, name, value) in values_for_items {
        distribute(at, &mut normalized, &list, (&item_name, &name), value)?;
    }
    let missing: Vec<_> = required(schema).filter(|name| !normalized.contains_key(*name)).collect();
    if !missing.is_empty() {
        let (names, location) = (missing.join("`, `"), at.location());
        return Err(
            invalid(format!("`{}` needs `{names}`{location}", at.tool)).hint(example(schema))
        );
    }
    // By now a path beside a list is in its items.
    for (list, list_schema) in known {
        let Some(item) = branches(list_schema).into_iter().find_map(|it| it.get("items")) else {
            continue;
        };
        let items = normalized.get(list).and_then(Value::as_array).into_iter().flatten();
        for (index, item_value) in items.enumerate().filter(|(_, value)| value.is_object()) {
            if let Some(name) = required(item).find(|name| item_value.get(name).is_none()) {
                let place = at.child(list).child(&format!("[{index}]")).path;
                let what = format!("`{}` needs `{name}` in `{place}`", at.tool);
                return Err(invalid(what).hint(example(schema)));
            }
        }
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

/// Copies a value that was sent beside a list into each item of the list that lacks it.
fn distribute(
    at: &ArgumentPath<'_>,
    arguments: &mut Map<String, Value>,
    list: &str,
    (item_name, given_name): (&str, &str),
    value: Value,
) -> Result<(), Refusal> {
    let Some(Value::Array(items)) = arguments.get_mut(list) else {
        let list_path = at.child_path(list);
        return Err(invalid(format!("`{given_name}` is given, but `{list_path}` is missing"))
            .hint(format!("Send `{list}` as a list of objects.")));
    };
    for object in items.iter_mut().filter_map(Value::as_object_mut) {
        object.entry(item_name).or_insert_with(|| value.clone());
    }
    Ok(())
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
                    .map(|(index, value)| {
                        coerce_item(&at.child(&format!("[{index}]")), item, value)
                    })
                    .collect::<Result<_, _>>()
                    .map(Value::Array)
            }
            Value::Object(given) if properties(branch).is_some() => {
                normalize_object(at, branch, given).map(Value::Object)
            }
            other => Ok(other),
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
                return Ok(number.into());
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
    Err(invalid(format!(
        "argument `{}` of `{}` is {}, but must be {}",
        at.path,
        at.tool,
        with_article(json_type),
        wanted.into_iter().map(with_article).collect::<Vec<_>>().join(" or ")
    ))
    .hint("Correct the argument and send the call again."))
}

/// Converts an item of a list. A model may send the path once, beside the list, so an item may lack it
/// here; the tool refuses the call later if the path is in neither place.
fn coerce_item(at: &ArgumentPath<'_>, schema: &Value, value: Value) -> Result<Value, Refusal> {
    let value = match value {
        Value::String(text) if !accepts(schema, "string") => {
            parse_lenient(&text).unwrap_or(Value::String(text))
        }
        other => other,
    };
    let mut lenient = schema.clone();
    if let Some(Value::Array(required)) = lenient.get_mut("required") {
        required.retain(|name| name != "path" && name != "file_path");
    }
    coerce(at, &lenient, value)
}

/// Which of the arguments has a value that its type does not allow, and what it must be; `None` if it
/// is none of them.
pub(super) fn misfit(tool: &str, schema: &Value, arguments: &Map<String, Value>) -> Option<String> {
    misfit_in(&ArgumentPath { tool, path: String::new() }, schema, arguments)
}

fn misfit_in(
    at: &ArgumentPath<'_>,
    schema: &Value,
    arguments: &Map<String, Value>,
) -> Option<String> {
    let known = branches(schema).into_iter().find_map(properties)?;
    let mut values =
        arguments.iter().filter_map(|(name, value)| Some((name, known.get(name)?, value)));
    values.find_map(|(name, schema, value)| {
        let at = at.child(name);
        let is = |must_be: String| {
            let value = crate::text::clip(&value.to_string(), 80);
            Some(format!(
                "argument `{}` of `{}` is {value}, but must be {must_be}",
                at.path, at.tool
            ))
        };
        match value {
            Value::Object(fields) => misfit_in(&at, schema, fields),
            Value::Array(items) => {
                let item = branches(schema).into_iter().find_map(|branch| branch.get("items"))?;
                items.iter().enumerate().find_map(|(index, value)| {
                    misfit_in(&at.child(&format!("[{index}]")), item, value.as_object()?)
                })
            }
            Value::Number(number) if number.as_i64().is_some_and(|number| number < 0) => {
                is("0 or more".to_owned())
            }
            Value::String(_) => {
                let words = branches(schema)
                    .into_iter()
                    .find_map(|branch| branch.get("enum")?.as_array())?;
                let words: Vec<_> = words.iter().filter_map(Value::as_str).collect();
                (!words.contains(&value.as_str()?))
                    .then(|| is(format!("one of: {}", words.join(", "))))?
            }
            _ => None,
        }
    })
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
    let Some(nearest) = nearest(name, &known) else {
        return invalid(format!(
            "`{}` takes no arguments, but `{}` was given",
            at.tool,
            crate::text::quote_name(name)
        ))
        .hint("Send an empty object.");
    };
    invalid(format!(
        "`{}` has no argument `{}`{}; the nearest is `{nearest}`",
        at.tool,
        crate::text::quote_name(name),
        at.location()
    ))
    .hint(example(schema))
}

/// The known name that is nearest to `name`.
pub(super) fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let distance = |known_name: &&&str| {
        rapidfuzz::distance::levenshtein::distance(name.chars(), known_name.chars())
    };
    known.iter().min_by_key(distance).copied()
}

/// A refusal of the arguments.
fn invalid(message: String) -> Refusal {
    Refusal::new(EditCode::InvalidArguments, message)
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
        match c {
            '"' if !escaped => in_string = !in_string,
            '\n' if in_string => {
                out.push_str("\\n");
                escaped = false;
                continue;
            }
            '\r' if in_string => {
                out.push_str("\\r");
                escaped = false;
                continue;
            }
            '\t' if in_string => {
                out.push_str("\\t");
                escaped = false;
                continue;
            }
            _ => {}
        }
        escaped = in_string && c == '\\' && !escaped;
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools;

    fn read(tool: &str, arguments: Value) -> Result<Value, String> {
        let spec = tools::find(tool).expect("tool");
        normalize(spec.name, &(spec.input)(), arguments).map(Value::Object).map_err(|r| r.text())
    }

    #[test]
    fn other_tools_names_are_ours() {
        let clean = json!({"path": "a", "old_str": "x", "new_str": "y"});
        for call in [
            json!({"file_path": "a", "old_string": "x", "new_string": "y"}),
            json!({"filePath": "a", "oldString": "x", "newString": "y", "instruction": "do"}),
            json!({"file": "a", "search": "x", "replace": "y", "near_line": null}),
            json!({"path": "a", "oldText": "x", "newText": "y"}),
            json!({"arguments": {"path": "a", "old_str": "x", "new_str": "y"}}),
            json!("{\"path\": \"a\", \"old_str\": \"x\", \"new_str\": \"y\"}"),
            json!({"path": "a", "file_path": "a", "old_str": "x", "new_str": "y"}),
        ] {
            assert_eq!(read("edit_file", call.clone()), Ok(clean.clone()), "{call}");
        }
    }

    #[test]
    fn types_are_repaired_when_nothing_is_lost() {
        let got = read(
            "edit_file",
            json!({"path": "a", "old_str": "x", "new_str": "y", "replace_all": "true", "near_line": "7"}),
        );
        assert_eq!(
            got,
            Ok(
                json!({"path": "a", "old_str": "x", "new_str": "y", "replace_all": true, "near_line": 7})
            )
        );
        let raw = Value::String("{\"path\":\"a\",\"old_str\":\"x\n\",\"new_str\":\"\ty\"}".into());
        assert_eq!(
            read("edit_file", raw),
            Ok(json!({"path": "a", "old_str": "x\n", "new_str": "\ty"}))
        );
        let line = read("edit_file", json!({"path": "a", "old_str": "", "new_str": 5, "lines": 2}));
        assert_eq!(line, Ok(json!({"path": "a", "old_str": "", "new_str": "5", "lines": "2"})));
        for bad in ["seven", "7.5"] {
            let call = json!({"path": "a", "old_str": "x", "new_str": "y", "near_line": bad});
            assert!(read("edit_file", call).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_would_be_lost_is_refused_by_name() {
        let regex = read("search", json!({"keyword": "two", "regex": true})).expect_err("regex");
        assert!(regex.contains("no argument `regex`"), "{regex}");
        let call = json!({"path": "a", "old_str": "x", "new_strr": "y"});
        let refused = read("edit_file", call).expect_err("typo");
        assert!(refused.contains("no argument `new_strr`; the nearest is `new_str`"), "{refused}");
        assert!(refused.contains(r#"{"path": "…", "old_str": "…", "new_str": "…"}"#), "{refused}");
        let twice = json!({"path": "a", "file": "b", "old_str": "x", "new_str": "y"});
        assert!(read("edit_file", twice).expect_err("twice").contains("given twice"));
        let edit = |path: &str| json!({path: "a", "old_str": "x", "new_str": "y"});
        let of_one = read("multi_edit", json!({"edits": [edit("path"), edit("snapshot_")]}));
        assert!(of_one.expect_err("unknown").contains("`snapshot_`"));
        let of_one = json!({"edits": [edit("path"), {"old_str": "x", "new_str": "y"}]});
        let of_one = read("multi_edit", of_one).expect_err("no path");
        assert!(of_one.contains("needs `path` in `edits[1]`"), "{of_one}");
        let missing = read("edit_file", json!({"path": "a"})).expect_err("missing");
        assert!(missing.contains("needs `old_str`, `new_str`"), "{missing}");
        let list = read("edit_file", json!([1])).expect_err("list");
        assert!(list.contains("not a JSON object"), "{list}");
        let wrong = json!({"path": ["a"], "old_str": "x", "new_str": "y"});
        assert!(
            read("edit_file", wrong)
                .expect_err("type")
                .contains("is an array, but must be a string")
        );
    }
}
