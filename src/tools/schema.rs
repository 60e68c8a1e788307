//! JSON schemas of the tools' arguments and answers.
//!
//! Input schemas use only what every model interface accepts: one type for each value, `enum`
//! for a choice of words, and a union only as `anyOf` with no other keyword beside it. An optional
//! number is a number that may be left out, not `["integer", "null"]`. Output schemas cover
//! refusals too.

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

use crate::edit::{EditCode, Refusal};

/// The schema of a tool's arguments.
pub(crate) fn input<T: JsonSchema>() -> Value {
    let mut schema = schema_of::<T>(SchemaSettings::draft2020_12(), simplify_input);
    if let Some(object) = schema.as_object_mut() {
        object.remove("description");
        object.entry("type").or_insert_with(|| "object".into());
        object.entry("properties").or_insert_with(|| json!({}));
    }
    schema
}

/// The schema of the arguments of a tool that writes text, with those that [`Toolbox`] takes for
/// all of them: `encoding`, for which a refusal asks when that of a file is uncertain, and
/// `dry_run`.
///
/// [`Toolbox`]: super::Toolbox
pub(super) fn input_to_write<T: JsonSchema>() -> Value {
    let schema = with_encoding(input::<T>());
    with_argument(schema, "dry_run", "boolean", "Only show the diff.")
}

/// The schema of a tool's arguments with `encoding`, if it lacks it.
pub(super) fn with_encoding(schema: Value) -> Value {
    with_argument(schema, "encoding", "string", "Where a refusal asks for it.")
}

/// The schema of a tool's arguments with this optional one.
fn with_argument(mut schema: Value, name: &str, json_type: &str, description: &str) -> Value {
    schema["properties"][name] = json!({ "type": json_type, "description": description });
    schema
}

/// The schema of a tool's answer, whose report is a `T` or a refusal.
pub(crate) fn output<T: JsonSchema>() -> Value {
    reply(report::<T>())
}

/// The schema of an answer whose report matches `report_schema` or is a refusal.
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
    schema_of::<T>(SchemaSettings::draft2020_12().for_serialize(), simplify_output)
}

/// The schema of a type as a whole, each part of it simplified.
fn schema_of<T: JsonSchema>(mut settings: SchemaSettings, simplify: fn(&mut Schema)) -> Value {
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    settings.transforms.push(Box::new(RecursiveTransform(simplify)));
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

/// Removes keywords that clients do not use, and splits a type with `null` into a union of two.
fn simplify_output(schema: &mut Schema) {
    let Some(object) = schema.as_object_mut() else { return };
    object.remove("title");
    object.remove("format");
    if let Some(Value::Array(types)) = object.get("type")
        && let [only, Value::String(null)] = types.as_slice()
        && null == "null"
    {
        let only = only.clone();
        let description = object.remove("description");
        object.insert("type".into(), only);
        let own = std::mem::take(object);
        object.insert("anyOf".into(), json!([own, { "type": "null" }]));
        object.extend(description.map(|text| ("description".to_owned(), text)));
    }
}

/// Reduces an input schema to what every model interface accepts: without `null` for optional values
/// and without keywords that some interfaces reject; unknown properties are forbidden.
fn simplify_input(schema: &mut Schema) {
    let Some(object) = schema.as_object_mut() else { return };
    for keyword in ["title", "format", "default", "minimum"] {
        object.remove(keyword);
    }
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|json_type| json_type != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            object.insert("type".into(), only);
        }
    }
    if let Some(Value::Array(words)) = object.get_mut("enum") {
        words.retain(|word| !word.is_null());
    }
    if let Some(Value::Array(options)) = object.get_mut("anyOf") {
        options.retain(|option| option.get("type").is_none_or(|json_type| json_type != "null"));
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
        // The tool, or the list that holds the object, describes it already.
        object.remove("description");
    }
    constants_to_enum(object);
    // Some interfaces reject keywords beside a union, so its first branch gets the description.
    if object.contains_key("anyOf")
        && let Some(description) = object.remove("description")
        && let Some(Value::Array(options)) = object.get_mut("anyOf")
        && let Some(Value::Object(first)) = options.first_mut()
    {
        first.insert("description".into(), description);
    }
}

/// Turns a union of constants into an `enum` of strings.
fn constants_to_enum(object: &mut Map<String, Value>) {
    let Some(Value::Array(options)) = object.get("oneOf") else { return };
    let consts: Option<Vec<Value>> =
        options.iter().map(|option| option.get("const").cloned()).collect();
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

/// The alternatives of a union, or the schema itself if it is none.
pub(super) fn branches(schema: &Value) -> Vec<&Value> {
    let options = schema.get("anyOf").or_else(|| schema.get("oneOf")).and_then(Value::as_array);
    options.map_or_else(|| vec![schema], |options| options.iter().collect())
}

/// Whether a schema accepts values of a JSON type. A schema without a type accepts every value,
/// unless it is an `enum`, which accepts strings.
pub(super) fn accepts(schema: &Value, json_type: &str) -> bool {
    match schema.get("type") {
        None => schema.get("enum").is_none() || json_type == "string",
        Some(Value::String(own_type)) => {
            own_type == json_type || own_type == "number" && json_type == "integer"
        }
        Some(Value::Array(types)) => types.iter().any(|own_type| own_type == json_type),
        Some(_) => false,
    }
}
