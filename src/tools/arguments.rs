//! From what models send to what the tools take.
//!
//! Repaired: other tools' names for our arguments, arguments or arrays sent as a
//! JSON string (raw control characters included), numbers and booleans as strings, a
//! single object where a list is wanted, a path beside a list whose items want it.
//! Refused, with the nearest name: anything that would have to be ignored.

use serde_json::{Map, Value, json};

use super::fillers;
use super::schema::{accepts, branches, properties, required};
use crate::edit::{EditCode, Refusal};
use crate::text::{ContentHash, Encoding};

/// Names that mean the same. An unknown name stands for the one name of its group
/// that the tool knows.
pub const SYNONYMS: &[&[&str]] = &[
    &["path", "file_path", "filePath", "filepath", "file", "filename", "target_file", "fileName"],
    &[
        "old_str",
        "old_string",
        "oldString",
        "oldStr",
        "old_text",
        "oldText",
        "old",
        "search",
        "search_string",
        "find",
        "original",
        "target",
    ],
    &[
        "new_str",
        "new_string",
        "newString",
        "newStr",
        "new_text",
        "newText",
        "new",
        "replace",
        "replacement",
        "replace_string",
        "updated",
    ],
    &["new_content", "newContent", "content", "text", "new_lines", "replacement"],
    &["replace_all", "replaceAll", "allow_multiple", "allowMultiple", "all", "global"],
    &[
        "expected_replacements",
        "expectedReplacements",
        "expected_occurrences",
        "occurrences",
        "count",
    ],
    &["near_line", "nearLine", "line_hint", "line_number"],
    &["start_line", "startLine", "line_start", "from_line", "start"],
    &["end_line", "endLine", "line_end", "to_line", "end"],
    &["edits", "changes", "replacements", "operations", "hunks"],
    &["op", "operation", "action", "type"],
    &["lines", "content", "text", "new_content", "newContent", "new_lines"],
    &["pos", "anchor", "position", "at"],
    &["keyword", "query", "pattern", "search", "search_term", "term", "regex", "q", "terms"],
    &["terms", "queries", "keywords", "patterns", "keyword", "query"],
    &["glob", "pattern", "include", "file_pattern"],
    &["path", "dir", "directory", "folder", "dir_path", "root"],
    &["context", "context_lines", "contextLines"],
    &["offset", "start_line", "from"],
    &["limit", "max_lines", "num_lines"],
    &["ranges", "line_ranges", "lineRanges", "view_range"],
    &["summary", "result", "message", "answer"],
    &["patch", "input", "command", "diff", "patch_text", "patchText", "blocks"],
    &["file_text", "fileText", "content", "text"],
    &["insert_text", "new_str", "insertText", "text"],
    &["insert_line", "insertLine", "line"],
    &["view_range", "viewRange", "range"],
    &["snapshot", "snapshot_id", "snapshotId", "hash"],
    &["dry_run", "dryRun", "dry-run", "dryrun"],
    &["request_id", "requestId", "request-id"],
];

/// Descriptions of the intent: accepted from tools that send one, and unused.
const UNUSED: &[&str] = &["instruction", "instructions", "explanation", "description", "reason"];

/// Objects that some clients wrap the arguments in.
const WRAPPERS: &[&str] = &["arguments", "parameters", "params", "input", "args"];

/// The arguments under our names and in our types, or why not.
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

/// What a call asks for, whatever the order of its arguments.
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

/// Takes out `encoding`, which every tool understands and those that write list: it is asked
/// for by the refusal of a file whose encoding is not certain.
pub(super) fn take_encoding(mut arguments: Value) -> Result<(Value, Option<Encoding>), Refusal> {
    let taken = arguments.as_object_mut().and_then(|given| given.remove("encoding"));
    let encoding = match taken {
        None | Some(Value::Null) => None,
        Some(Value::String(name)) if name.trim().is_empty() => None,
        Some(Value::String(name)) => Some(Encoding::from_name(&name).ok_or_else(|| {
            invalid(format!("`{}` is not an encoding that restitch knows", crate::text::quote_name(&name)))
                .hint("Give a name such as windows-1252, ISO-8859-15, macintosh, IBM850, shift_jis or utf-8.")
        })?),
        Some(_) => {
            return Err(invalid("argument `encoding` is not a string".to_owned())
                .hint("Give a name such as windows-1252, or leave it out."));
        }
    };
    Ok((arguments, encoding))
}

fn not_an_object(tool: &str, schema: &Value) -> Refusal {
    invalid(format!("the arguments of `{tool}` are not a JSON object")).hint(example(schema))
}

fn unwrap_arguments(given: &Map<String, Value>, schema: &Value) -> Option<Map<String, Value>> {
    let mut entries = given.iter();
    let (Some((name, value)), None) = (entries.next(), entries.next()) else { return None };
    let known = properties(schema).is_some_and(|known| known.contains_key(name));
    let wrapper = WRAPPERS.contains(&name.as_str()) && !known;
    value.as_object().filter(|_| wrapper).cloned()
}

/// The position within the arguments, for messages.
struct ArgumentPath<'a> {
    tool: &'a str,
    path: String,
}

impl ArgumentPath<'_> {
    fn child(&self, name: &str) -> Self {
        let dot = if self.path.is_empty() || name.starts_with('[') { "" } else { "." };
        Self { tool: self.tool, path: format!("{}{dot}{name}", self.path) }
    }

    fn name(&self, name: &str) -> String {
        self.child(name).path
    }
}

fn normalize_object(
    at: &ArgumentPath<'_>,
    schema: &Value,
    given: Map<String, Value>,
) -> Result<Map<String, Value>, Refusal> {
    let empty = Map::new();
    let known = properties(schema).unwrap_or(&empty);
    let mut out = Map::new();
    let mut shared = Vec::new();
    // Exact names first, so that a synonym never takes the place of the name itself.
    let (exact, other): (Vec<_>, Vec<_>) =
        given.into_iter().partition(|(name, _)| known.contains_key(name));
    for (name, value) in exact.into_iter().chain(other) {
        if value.is_null() {
            // Null means "left out"; a list that cannot be left out has nothing in it.
            let list = |ours: &&str| {
                required(schema).any(|must| must == *ours)
                    && branches(&known[*ours]).iter().any(|branch| accepts(branch, "array"))
            };
            if let Some(ours) = resolve(&name, known, &out).filter(list) {
                out.insert(ours.to_owned(), json!([]));
            }
            continue;
        }
        let Some(ours) = resolve(&name, known, &out) else {
            if UNUSED.contains(&name.as_str()) {
                continue;
            }
            if let Some((list, item)) = known.iter().find_map(|(list, schema)| {
                let items = item_properties(schema)?;
                Some((list.clone(), resolve(&name, items, &empty)?.to_owned()))
            }) {
                shared.push((list, item, value));
                continue;
            }
            return Err(unknown(at, schema, &name));
        };
        let optional = !required(schema).any(|must| must == ours);
        let filler = |value: &Value| optional && fillers::is_filler(at.tool, ours, value);
        if filler(&value) {
            continue;
        }
        let value = coerce(&at.child(ours), &known[ours], value)?;
        if filler(&value) {
            continue;
        }
        match out.get(ours) {
            Some(before) if *before != value => {
                return Err(invalid(format!(
                    "argument `{}` is given twice with different values, once as `{name}`",
                    at.name(ours)
                ))
                .hint("Give it once."));
            }
            _ => out.insert(ours.to_owned(), value),
        };
    }
    for (list, item, value) in shared {
        distribute(at, &mut out, &list, &item, value)?;
    }
    let missing: Vec<_> = required(schema).filter(|name| !out.contains_key(*name)).collect();
    if let Some(first) = missing.first() {
        let names = missing.join("`, `");
        let _ = first;
        let whole = if at.path.is_empty() { String::new() } else { format!(" in `{}`", at.path) };
        return Err(invalid(format!("`{}` needs `{names}`{whole}", at.tool)).hint(example(schema)));
    }
    Ok(out)
}

/// The known name that `name` stands for, unless it is taken already by another.
fn resolve<'a>(
    name: &str,
    known: &'a Map<String, Value>,
    taken: &Map<String, Value>,
) -> Option<&'a str> {
    if let Some((ours, _)) = known.get_key_value(name) {
        return Some(ours);
    }
    let groups = SYNONYMS.iter().filter(|group| group.contains(&name));
    let mut candidates =
        groups.flat_map(|group| known.keys().filter(|ours| group.contains(&ours.as_str())));
    let first = candidates.clone().find(|ours| !taken.contains_key(*ours));
    first.or_else(|| candidates.next()).map(String::as_str)
}

fn item_properties(schema: &Value) -> Option<&Map<String, Value>> {
    branches(schema).into_iter().find_map(|branch| properties(branch.get("items")?))
}

/// Puts a value that is beside a list into each item that lacks it.
fn distribute(
    at: &ArgumentPath<'_>,
    out: &mut Map<String, Value>,
    list: &str,
    item: &str,
    value: Value,
) -> Result<(), Refusal> {
    let Some(Value::Array(items)) = out.get_mut(list) else {
        return Err(invalid(format!("`{}` is missing beside `{item}`", at.name(list)))
            .hint(format!("Send `{list}` as a list of objects.")));
    };
    for object in items.iter_mut().filter_map(Value::as_object_mut) {
        object.entry(item).or_insert_with(|| value.clone());
    }
    Ok(())
}

fn coerce(at: &ArgumentPath<'_>, schema: &Value, value: Value) -> Result<Value, Refusal> {
    let options = branches(schema);
    let kind = kind_of(&value);
    if let Some(branch) = options.iter().find(|branch| accepts(branch, kind)) {
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
    let wants = |kind: &str| options.iter().any(|branch| accepts(branch, kind));
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
        .filter(|kind| wants(kind))
        .collect();
    Err(invalid(format!(
        "argument `{}` of `{}` is {}, but must be {}",
        at.path,
        at.tool,
        article(kind),
        wanted.into_iter().map(article).collect::<Vec<_>>().join(" or ")
    ))
    .hint("Correct the argument and send the call again."))
}

/// A list item may lack what is beside the list, so a missing path is looked
/// for later, when the tool reads its arguments.
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

fn article(kind: &str) -> String {
    let article = if matches!(kind, "integer" | "array" | "object") { "an" } else { "a" };
    format!("{article} {kind}")
}

fn kind_of(value: &Value) -> &'static str {
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

fn unknown(at: &ArgumentPath<'_>, schema: &Value, name: &str) -> Refusal {
    let known: Vec<&str> =
        properties(schema).into_iter().flatten().map(|(name, _)| name.as_str()).collect();
    let whole = if at.path.is_empty() { String::new() } else { format!(" in `{}`", at.path) };
    let Some(nearest) = nearest(name, &known) else {
        return invalid(format!(
            "`{}` takes no arguments, but `{}` was given",
            at.tool,
            crate::text::quote_name(name)
        ))
        .hint("Send an empty object.");
    };
    invalid(format!(
        "`{}` has no argument `{}`{whole}; the nearest is `{nearest}`",
        at.tool,
        crate::text::quote_name(name)
    ))
    .hint(example(schema))
}

/// The known name that is nearest to `name`.
pub(super) fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let distance = |k: &&&str| rapidfuzz::distance::levenshtein::distance(name.chars(), k.chars());
    known.iter().min_by_key(distance).copied()
}

fn invalid(message: String) -> Refusal {
    Refusal::new(EditCode::InvalidArguments, message)
}

/// What to send instead.
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
    let must: Vec<_> = required(schema).collect();
    let empty = Map::new();
    let all = properties(schema).unwrap_or(&empty);
    let shown = must.iter().map(|name| {
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
    let call = format!("{{{}}}", shown.collect::<Vec<_>>().join(", "));
    let more: Vec<_> =
        all.keys().filter(|name| !must.contains(&name.as_str())).map(String::as_str).collect();
    if more.is_empty() { call } else { format!("{call} (optional: {})", more.join(", ")) }
}

/// Parses JSON, allowing raw control characters inside strings.
fn parse_lenient(text: &str) -> Option<Value> {
    serde_json::from_str(text).or_else(|_| serde_json::from_str(&escape_controls(text))).ok()
}

fn escape_controls(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    let (mut inside, mut escaped) = (false, false);
    for c in text.chars() {
        match c {
            '"' if !escaped => inside = !inside,
            '\n' if inside => {
                out.push_str("\\n");
                escaped = false;
                continue;
            }
            '\r' if inside => {
                out.push_str("\\r");
                escaped = false;
                continue;
            }
            '\t' if inside => {
                out.push_str("\\t");
                escaped = false;
                continue;
            }
            _ => {}
        }
        escaped = inside && c == '\\' && !escaped;
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
        for bad in ["seven", "7.5"] {
            let call = json!({"path": "a", "old_str": "x", "new_str": "y", "near_line": bad});
            assert!(read("edit_file", call).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_would_be_lost_is_refused_by_name() {
        let call = json!({"path": "a", "old_str": "x", "new_strr": "y"});
        let refused = read("edit_file", call).expect_err("typo");
        assert!(refused.contains("no argument `new_strr`; the nearest is `new_str`"), "{refused}");
        assert!(refused.contains(r#"{"path": "…", "old_str": "…", "new_str": "…"}"#), "{refused}");
        let twice = json!({"path": "a", "file": "b", "old_str": "x", "new_str": "y"});
        assert!(read("edit_file", twice).expect_err("twice").contains("given twice"));
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
