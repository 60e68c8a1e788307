//! JSON schemas of the tools: what goes in, what comes out.
//!
//! Input schemas are kept to what every interface takes: one type a value, lists of words as
//! `enum`, a union only as `anyOf` with whole branches and nothing beside it. An optional
//! number is a number that may be left out, not `["integer", "null"]`. Output
//! schemas cover refusals too, so that a refusal conforms as well as a success.

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

use crate::edit::{EditCode, Refusal};

/// The schema of a tool's arguments.
pub fn input<T: JsonSchema>() -> Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    settings.transforms.push(Box::new(RecursiveTransform(plain)));
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    if let Some(object) = schema.as_object_mut() {
        object.remove("description");
        object.entry("type").or_insert_with(|| "object".into());
        object.entry("properties").or_insert_with(|| json!({}));
    }
    schema
}

/// The same for a tool that writes text: `encoding` is asked for by the refusal of a file
/// whose encoding is not certain, and read before the other arguments.
pub(super) fn input_with_encoding<T: JsonSchema>() -> Value {
    let mut schema = input::<T>();
    let about = "The encoding, where a refusal asks for it.";
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.insert("encoding".into(), json!({ "type": "string", "description": about }));
    }
    schema
}

/// The schema of a tool's answer, whose report is a `T`, or a refusal.
pub fn output<T: JsonSchema>() -> Value {
    reply(report::<T>())
}

/// The schema of an answer whose report is described by `report`.
pub(super) fn reply(report_schema: Value) -> Value {
    let mut codes: Vec<Value> = EditCode::ALL.iter().map(|code| code.as_str().into()).collect();
    codes.push(Value::Null);
    json!({
        "type": "object",
        "properties": {
            "ok": { "type": "boolean", "description": "Whether it did what was asked." },
            "code": { "enum": codes, "description": "The code of a refusal." },
            "message": { "type": "string", "description": "The answer in words." },
            "report": { "anyOf": [report_schema, report::<Refusal>()] },
        },
        "required": ["ok", "code", "message", "report"],
        "additionalProperties": false,
    })
}

/// The schema of a report.
pub(super) fn report<T: JsonSchema>() -> Value {
    let mut settings = SchemaSettings::draft2020_12().for_serialize();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    settings.transforms.push(Box::new(RecursiveTransform(simplify)));
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

/// Drops what only other generators read.
fn simplify(schema: &mut Schema) {
    // Not `ensure_object`: that would turn `false` into `{"not": {}}`.
    let Some(object) = schema.as_object_mut() else { return };
    object.remove("title");
    object.remove("format");
    split_types(object);
}

/// Splits a list of types into branches of one type each: not every client reads the short
/// form.
fn split_types(object: &mut Map<String, Value>) {
    let Some(Value::Array(types)) = object.get("type").cloned() else { return };
    let about = object.remove("description");
    let rest = std::mem::take(object);
    let branches = types.into_iter().map(|kind| {
        if kind == "null" {
            return json!({ "type": "null" });
        }
        let mut branch = rest.clone();
        branch.insert("type".into(), kind);
        Value::Object(branch)
    });
    object.extend(about.map(|about| ("description".to_owned(), about)));
    object.insert("anyOf".into(), branches.collect());
}

/// Makes optional values plain ones that may be left out.
fn plain(schema: &mut Schema) {
    let Some(object) = schema.as_object_mut() else { return };
    for noise in ["title", "format", "default", "minimum"] {
        object.remove(noise);
    }
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|kind| kind != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            object.insert("type".into(), only);
        }
    }
    if let Some(Value::Array(options)) = object.get_mut("anyOf") {
        options.retain(|option| option.get("type").is_none_or(|kind| kind != "null"));
        if let [Value::Object(only)] = options.as_slice() {
            let only = only.clone();
            object.remove("anyOf");
            for (key, value) in only {
                object.entry(key).or_insert(value);
            }
        }
    }
    if object.contains_key("properties") {
        object.insert("additionalProperties".into(), false.into());
        // The tool, or the list it is in, says what it is.
        object.remove("description");
    }
    words(object);
    // Some interfaces take nothing beside a union: what it is about is said in its first branch.
    if object.contains_key("anyOf")
        && let Some(about) = object.remove("description")
        && let Some(Value::Array(options)) = object.get_mut("anyOf")
        && let Some(Value::Object(first)) = options.first_mut()
    {
        first.insert("description".into(), about);
    }
}

/// Turns a choice among constants into a plain list of words.
fn words(object: &mut Map<String, Value>) {
    let Some(Value::Array(options)) = object.get("oneOf") else { return };
    let consts: Option<Vec<Value>> = options.iter().map(|one| one.get("const").cloned()).collect();
    let Some(consts) = consts else { return };
    object.remove("oneOf");
    object.insert("type".into(), "string".into());
    object.insert("enum".into(), Value::Array(consts));
}

/// The properties of an object schema.
pub(super) fn properties(schema: &Value) -> Option<&Map<String, Value>> {
    schema.get("properties").and_then(Value::as_object)
}

/// The names that an object schema requires.
pub(super) fn required(schema: &Value) -> impl Iterator<Item = &str> {
    schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

/// The schemas that a value may conform to: the schema itself or its alternatives.
pub(super) fn branches(schema: &Value) -> Vec<&Value> {
    let options = schema.get("anyOf").or_else(|| schema.get("oneOf")).and_then(Value::as_array);
    options.map_or_else(|| vec![schema], |options| options.iter().collect())
}

/// Whether a schema takes a JSON type. A schema without types takes every one.
pub(super) fn accepts(schema: &Value, kind: &str) -> bool {
    match schema.get("type") {
        None => schema.get("enum").is_none() || kind == "string",
        Some(Value::String(only)) => only == kind || only == "number" && kind == "integer",
        Some(Value::Array(types)) => types.iter().any(|t| t == kind),
        Some(_) => false,
    }
}
