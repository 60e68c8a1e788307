//! Adds settings to the text of a JSON file. The rest of the text stays as it is, with its numbers,
//! order and whitespace.

use serde_json::{Map, Value};

use super::init::without_npx;
use crate::edit::{EditCode, Refusal};

/// A value and its place in the text.
pub(super) struct JsonNode {
    /// Where its key begins; for a value without a key, where it begins itself.
    pub(super) from: usize,
    /// Where the value begins, without its key.
    pub(super) start: usize,
    /// Where the value ends.
    pub(super) end: usize,
    pub(super) kind: ValueKind,
}

pub(super) enum ValueKind {
    /// Keys with their values.
    Object(Vec<(String, JsonNode)>),
    Array(Vec<JsonNode>),
    Other,
}

/// Replacements: byte ranges, which do not overlap, and their new texts.
type Changes = Vec<(std::ops::Range<usize>, String)>;

/// Adds to the text the settings of `ours` that it lacks. A `null` is replaced, and so is an empty list
/// in place of an object, or the reverse. Any other value of the wrong type is the user's choice, so
/// the text is refused.
pub(super) fn add_missing(text: &str, ours: &Value, indent: &str) -> Result<String, Refusal> {
    if text.trim().is_empty() {
        return Ok(super::init::pretty(ours, indent));
    }
    let has_crlf = text.contains("\r\n");
    if let Err(error) = serde_json::from_str::<Value>(text) {
        return Err(Refusal::new(
            EditCode::InvalidArguments,
            format!("it is not plain JSON: {error}"),
        )
        .hint("Merge it by hand, since restitch would lose comments and trailing commas."));
    }
    let Some(node) = (JsonScanner { text, at: 0 }).read_value() else {
        return Err(Refusal::new(EditCode::InvalidArguments, "it cannot be read as JSON")
            .hint("Merge it by hand."));
    };
    let mut changes = Changes::new();
    Merger { text, indent }.add(&node, ours, "", 0, &mut changes)?;
    changes.sort_by_key(|(range, _)| range.start);
    let mut out = String::with_capacity(text.len());
    let mut copied_to = 0;
    for (range, new_text) in changes {
        out.push_str(&text[copied_to..range.start]);
        match has_crlf {
            true => out.push_str(&new_text.replace('\n', "\r\n")),
            false => out.push_str(&new_text),
        }
        copied_to = range.end;
    }
    out.push_str(&text[copied_to..]);
    Ok(out)
}

/// Collects the changes that add our settings to the user's text.
struct Merger<'a> {
    text: &'a str,
    indent: &'a str,
}

impl Merger<'_> {
    /// Collects the changes that add the settings of `ours` to the user's value `theirs`, whose keys
    /// from the top are `key_path`, and which is `depth` levels below the top.
    fn add(
        &self,
        theirs: &JsonNode,
        ours: &Value,
        key_path: &str,
        depth: usize,
        changes: &mut Changes,
    ) -> Result<(), Refusal> {
        let their_text = &self.text[theirs.start..theirs.end];
        let their_value = serde_json::from_str::<Value>(their_text).unwrap_or_default();
        if differs_only_in_start(&their_value, ours) {
            changes.push((theirs.start..theirs.end, self.pretty(ours, depth)));
            return Ok(());
        }
        match (&theirs.kind, ours) {
            (ValueKind::Object(fields), Value::Object(ours)) => {
                let mut missing = Map::new();
                let command_of = |value: &Value| {
                    ["command", "cmd"].iter().find_map(|key| value.get(key).cloned())
                };
                let our_command = ["command", "cmd"].iter().find_map(|key| ours.get(*key)).cloned();
                // The user's value starts restitch too, but the installed one where ours uses npx, or
                // the other way round.
                let replaces_start = command_of(&without_npx(their_value.clone()))
                    .is_some_and(|command| command == "restitch")
                    && our_command != command_of(&their_value);
                for (key, value) in ours {
                    let is_part_of_start = matches!(key.as_str(), "command" | "cmd" | "args");
                    match fields.iter().find(|(their_key, _)| their_key == key) {
                        Some((_, field)) if replaces_start && is_part_of_start => {
                            let new_text = self.pretty(value, depth + 1);
                            changes.push((field.start..field.end, new_text));
                        }
                        Some((_, field)) => {
                            let key_path = format!("{key_path}.{key}");
                            self.add(field, value, &key_path, depth + 1, changes)?;
                        }
                        None => {
                            missing.insert(key.clone(), value.clone());
                        }
                    }
                }
                let entries = missing.iter().map(|(key, value)| {
                    format!("{}: {}", Value::from(key.as_str()), self.pretty(value, depth + 1))
                });
                self.append(theirs, fields.last().map(|(_, last)| last), entries, depth, changes);
            }
            // A command line is one setting, so one that is there is the user's choice.
            (ValueKind::Array(items), Value::Array(ours))
                if !items.is_empty() && is_command_line(ours) => {}
            (ValueKind::Array(items), Value::Array(ours)) => {
                let parse = |item: &JsonNode| {
                    serde_json::from_str::<Value>(&self.text[item.start..item.end])
                        .unwrap_or_default()
                };
                let mut missing = Vec::new();
                for value in ours {
                    if items.iter().any(|item| parse(item) == *value) {
                        continue;
                    }
                    match items.iter().find(|item| differs_only_in_start(&parse(item), value)) {
                        Some(item) => {
                            changes.push((item.start..item.end, self.pretty(value, depth + 1)));
                        }
                        None => missing.push(self.pretty(value, depth + 1)),
                    }
                }
                self.append(theirs, items.last(), missing.into_iter(), depth, changes);
            }
            (ValueKind::Other, _) if their_text == "null" => {
                changes.push((theirs.start..theirs.end, self.pretty(ours, depth)));
            }
            (ValueKind::Array(items), Value::Object(_)) if items.is_empty() => {
                changes.push((theirs.start..theirs.end, self.pretty(ours, depth)));
            }
            (ValueKind::Object(fields), Value::Array(_)) if fields.is_empty() => {
                changes.push((theirs.start..theirs.end, self.pretty(ours, depth)));
            }
            (ValueKind::Other, Value::Object(_) | Value::Array(_))
            | (ValueKind::Object(_) | ValueKind::Array(_), _) => {
                let expected = if ours.is_object() { "an object" } else { "a list" };
                let subject = match key_path.trim_start_matches('.') {
                    "" => "its content".to_owned(),
                    keys => format!("`{keys}`"),
                };
                return Err(Refusal::new(
                    EditCode::InvalidArguments,
                    format!("{subject} must be {expected}, but is not"),
                )
                .hint("Correct it, or merge by hand."));
            }
            // An existing setting is the user's choice.
            (ValueKind::Other, _) => {}
        }
        Ok(())
    }

    /// Collects the change that adds `entries`, each on a new line, after the last value of the user's
    /// object or list `theirs`.
    fn append(
        &self,
        theirs: &JsonNode,
        last: Option<&JsonNode>,
        entries: impl Iterator<Item = String>,
        depth: usize,
        changes: &mut Changes,
    ) {
        let line_break = format!("\n{}", self.indent.repeat(depth + 1));
        let entries: Vec<String> = entries.collect();
        if entries.is_empty() {
            return;
        }
        let body = entries.join(&format!(",{line_break}"));
        match last {
            Some(last) => changes.push((last.end..last.end, format!(",{line_break}{body}"))),
            None => {
                let closing_line = format!("\n{}", self.indent.repeat(depth));
                let inside = theirs.start + 1..theirs.end - 1;
                changes.push((inside, format!("{line_break}{body}{closing_line}")));
            }
        }
    }

    /// The value as indented JSON, for a place `depth` levels below the top.
    fn pretty(&self, value: &Value, depth: usize) -> String {
        let text = super::init::pretty(value, self.indent);
        text.trim_end().replace('\n', &format!("\n{}", self.indent.repeat(depth)))
    }
}

/// Whether two values differ only in how they start restitch: installed or by npx.
fn differs_only_in_start(theirs: &Value, ours: &Value) -> bool {
    theirs != ours && without_npx(theirs.clone()) == without_npx(ours.clone())
}

/// Whether the list is a command line that starts restitch, or the arguments of one.
fn is_command_line(list: &[Value]) -> bool {
    list.first().and_then(Value::as_str).is_some_and(|first| {
        matches!(first, "restitch" | "npx" | "mcp")
            || first == "-y" && list.get(1).is_some_and(|second| second == "restitch")
    })
}

/// Reads text that is valid JSON.
pub(super) struct JsonScanner<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
}

impl JsonScanner<'_> {
    /// Reads the value that follows, and moves to its end.
    pub(super) fn read_value(&mut self) -> Option<JsonNode> {
        self.skip_whitespace();
        let start = self.at;
        let kind = match self.byte()? {
            b'{' => {
                let mut fields = Vec::new();
                self.at += 1;
                while !self.skip_comma_or_end(b'}')? {
                    let JsonNode { from, start, end, .. } = self.read_value()?;
                    let key = serde_json::from_str(&self.text[start..end]).ok()?;
                    self.skip_whitespace();
                    self.at += 1; // the colon
                    fields.push((key, JsonNode { from, ..self.read_value()? }));
                }
                ValueKind::Object(fields)
            }
            b'[' => {
                let mut items = Vec::new();
                self.at += 1;
                while !self.skip_comma_or_end(b']')? {
                    items.push(self.read_value()?);
                }
                ValueKind::Array(items)
            }
            b'"' => {
                self.at += 1;
                while self.byte()? != b'"' {
                    self.at += if self.byte()? == b'\\' { 2 } else { 1 };
                }
                self.at += 1;
                ValueKind::Other
            }
            _ => {
                let rest = &self.text[self.at..];
                let ends = |c: char| c.is_whitespace() || ",]}".contains(c);
                self.at += rest.find(ends).unwrap_or(rest.len());
                ValueKind::Other
            }
        };
        Some(JsonNode { from: start, start, end: self.at, kind })
    }

    /// Skips whitespace, a comma and the closing bracket, where they are next. Returns whether the
    /// bracket was there.
    fn skip_comma_or_end(&mut self, closing: u8) -> Option<bool> {
        self.skip_whitespace();
        if self.byte()? == b',' {
            self.at += 1;
            self.skip_whitespace();
        }
        let is_end = self.byte()? == closing;
        self.at += usize::from(is_end);
        Some(is_end)
    }

    fn skip_whitespace(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    /// The byte at the current position; `None` at the end of the text.
    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_there_stays_letter_by_letter() {
        let ours = json!({ "servers": { "restitch": { "args": ["mcp"] } }, "on": true });
        let theirs = "{\n    \"big\": 12345678901234567890123,  \"f\": 1.0e+3,\n    \"servers\": {\"x\": [1.50]}\n}\n";
        let merged = add_missing(theirs, &ours, "    ").expect("merged");
        assert!(merged.starts_with("{\n    \"big\": 12345678901234567890123,  \"f\": 1.0e+3,\n    \"servers\": {\"x\": [1.50],"), "{merged}");
        let value: Value = serde_json::from_str(&merged).expect("JSON");
        assert_eq!(value["servers"]["restitch"], ours["servers"]["restitch"]);
        assert_eq!(value["on"], true);
        // A second time nothing is missing.
        assert_eq!(add_missing(&merged, &ours, "    ").expect("merged"), merged);
    }

    #[test]
    fn nothing_is_no_setting_and_something_else_is_refused() {
        let ours = json!({ "hooks": { "Pre": [{ "a": 1 }] } });
        for nothing in [
            "{}",
            "{\"hooks\": null}",
            "{\"hooks\": []}",
            "{\"hooks\": {\"Pre\": null}}",
            "{\"hooks\": {}}",
        ] {
            let merged = add_missing(nothing, &ours, "  ").expect(nothing);
            assert_eq!(serde_json::from_str::<Value>(&merged).expect("JSON"), ours, "{nothing}");
        }
        for wish in ["{\"hooks\": [1]}", "{\"hooks\": \"no\"}", "{\"hooks\": {\"Pre\": 7}}", "[]7"]
        {
            assert!(add_missing(wish, &ours, "  ").is_err(), "{wish}");
        }
    }
}
