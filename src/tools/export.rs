//! The declarations of the tools, in the format of each model interface.

use serde_json::{Map, Value, json};

use super::ToolSpec;

named! {
    /// The format in which a model interface takes the declarations of tools.
    #[non_exhaustive]
    pub enum Format {
        /// OpenAI chat completions, strict.
        OpenAi = "openai",
        /// OpenAI Responses, strict.
        OpenAiResponses = "openai-responses",
        /// Anthropic messages.
        Anthropic = "anthropic",
        /// Gemini function declarations.
        Gemini = "gemini",
        /// MCP `tools/list`.
        Mcp = "mcp",
    }
}

/// The declarations of `tools`.
pub fn export(format: Format, tools: impl Iterator<Item = &'static ToolSpec>) -> Value {
    let declarations: Vec<Value> = tools.map(|tool| declare(format, tool)).collect();
    match format {
        Format::Gemini => json!([{ "functionDeclarations": declarations }]),
        Format::Mcp => json!({ "tools": declarations }),
        _ => Value::Array(declarations),
    }
}

/// The declaration of one tool.
pub(crate) fn declare(format: Format, tool: &ToolSpec) -> Value {
    let (name, description) = (tool.name, tool.about);
    match format {
        Format::OpenAi => {
            let mut function = declare(Format::OpenAiResponses, tool);
            function.as_object_mut().and_then(|function| function.remove("type"));
            json!({ "type": "function", "function": function })
        }
        Format::OpenAiResponses => json!({
            "type": "function",
            "name": name,
            "description": description,
            "strict": true,
            "parameters": strict((tool.input)()),
        }),
        Format::Anthropic => json!({
            "name": name,
            "description": description,
            "input_schema": (tool.input)(),
        }),
        Format::Gemini => json!({
            "name": name,
            "description": description,
            "parameters": without_closing((tool.input)()),
        }),
        Format::Mcp => json!({
            "name": name,
            "description": description,
            "inputSchema": (tool.input)(),
            "annotations": match tool.writes {
                true => json!({ "readOnlyHint": false, "destructiveHint": true, "openWorldHint": false }),
                false => json!({ "readOnlyHint": true, "openWorldHint": false }),
            },
        }),
    }
}

/// The schema under OpenAI's strict rules: every property is required, optional ones may be null,
/// and no others are allowed. Input schemas have only keywords that strict mode knows.
fn strict(schema: Value) -> Value {
    let Value::Object(mut object) = schema else { return schema };
    if let Some(Value::Array(options)) = object.remove("anyOf") {
        object.insert("anyOf".into(), options.into_iter().map(strict).collect());
    }
    if let Some(items) = object.remove("items") {
        object.insert("items".into(), strict(items));
    }
    if let Some(Value::Object(properties)) = object.remove("properties") {
        let required: Vec<String> =
            super::schema::required(&Value::Object(object.clone())).map(str::to_owned).collect();
        let properties: Map<String, Value> = properties
            .into_iter()
            .map(|(name, property)| {
                let property = strict(property);
                let is_required = required.contains(&name);
                (name, if is_required { property } else { nullable(property) })
            })
            .collect();
        object.insert("required".into(), properties.keys().cloned().collect());
        object.insert("properties".into(), Value::Object(properties));
        object.insert("additionalProperties".into(), false.into());
    }
    Value::Object(object)
}

/// The schema, which also accepts null.
fn nullable(schema: Value) -> Value {
    let Value::Object(mut object) = schema else { return schema };
    if let Some(json_type) = object.get_mut("type") {
        *json_type = json!([json_type.take(), "null"]);
    }
    if let Some(Value::Array(values)) = object.get_mut("enum") {
        values.push(Value::Null);
    }
    if let Some(Value::Array(options)) = object.get_mut("anyOf") {
        options.push(json!({ "type": "null" }));
    }
    Value::Object(object)
}

/// The schema without `additionalProperties`, which Gemini's declarations do not have.
fn without_closing(mut schema: Value) -> Value {
    match &mut schema {
        Value::Object(object) => {
            object.remove("additionalProperties");
            object.values_mut().for_each(|value| *value = without_closing(value.take()));
        }
        Value::Array(items) => {
            items.iter_mut().for_each(|item| *item = without_closing(item.take()));
        }
        _ => {}
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::TOOLS;

    /// Calls `visit` with a schema and with each one in it, and where it is.
    fn each(schema: &Value, at: &str, visit: &dyn Fn(&Map<String, Value>, &str)) {
        let object = schema.as_object().unwrap_or_else(|| panic!("{at}: not a schema: {schema}"));
        visit(object, at);
        for option in object.get("anyOf").and_then(Value::as_array).into_iter().flatten() {
            each(option, &format!("{at}|"), visit);
        }
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            each(property, &format!("{at}.{name}"), visit);
        }
        if let Some(items) = object.get("items") {
            each(items, &format!("{at}[]"), visit);
        }
    }

    /// What every interface takes: one type a value, words as `enum`, a union only as `anyOf`
    /// with whole branches and nothing beside it. Anthropic's `input_schema` and MCP's `inputSchema`
    /// are this plain form, and at the top an object without a union.
    fn assert_plain(object: &Map<String, Value>, at: &str) {
        if object.contains_key("anyOf") {
            assert_eq!(object.len(), 1, "{at}: a union has nothing beside it");
            assert!(!at.ends_with('|'), "{at}: a union within a union");
            return;
        }
        let kind = object.get("type").and_then(Value::as_str);
        let kind = kind.unwrap_or_else(|| panic!("{at}: one type, not {object:?}"));
        for (keyword, value) in object {
            let fits = match keyword.as_str() {
                "type" | "description" => value.is_string(),
                "properties" | "required" => kind == "object",
                "additionalProperties" => kind == "object" && value == false,
                "items" => kind == "array",
                "enum" => {
                    let all = value.as_array().expect("words");
                    kind == "string" && !all.is_empty() && all.iter().all(Value::is_string)
                }
                _ => false,
            };
            assert!(fits, "{at}: {keyword} in {object:?}");
        }
        assert_eq!(kind == "array", object.contains_key("items"), "{at}");
        for name in super::super::schema::required(&Value::Object(object.clone())) {
            assert!(object["properties"].get(name).is_some(), "{at}: {name} is required");
        }
    }

    /// Strict mode requires every property, and takes a name of 64 letters, digits, `_` and `-` at most.
    /// Google's `Schema` has no `additionalProperties`.
    #[test]
    fn each_interface_gets_what_it_takes() {
        for tool in TOOLS {
            let is_letter = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
            assert!(tool.name.len() <= 64 && tool.name.bytes().all(is_letter), "{}", tool.name);
            let schema = (tool.input)();
            assert_eq!(schema["type"], "object", "{}", tool.name);
            each(&schema, tool.name, &assert_plain);
            let gemini = without_closing(schema.clone());
            assert!(!gemini.to_string().contains("additionalProperties"), "{gemini}");
            each(&strict(schema), tool.name, &|object, at| {
                if let Some(properties) = object.get("properties").and_then(Value::as_object) {
                    assert_eq!(object["additionalProperties"], false, "{at}");
                    let names: Vec<_> = properties.keys().map(String::as_str).collect();
                    assert_eq!(object["required"], json!(names), "{at}");
                }
            });
        }
    }

    #[test]
    fn optional_arguments_become_nullable_and_required() {
        let schema = strict((super::super::find("edit_file").expect("tool").input)());
        assert_eq!(schema["properties"]["path"]["type"], "string");
        assert_eq!(schema["properties"]["near_line"]["type"], json!(["integer", "null"]));
        assert_eq!(schema["required"].as_array().map(Vec::len), Some(11));
    }
}
