//! Adding settings to a JSON file without writing the rest of it anew: what is there stays
//! letter by letter, numbers, order and whitespace included.

use serde_json::{Map, Value};

use super::init::without_npx;
use crate::edit::{EditCode, Refusal};

/// A value by its place in the text.
struct JsonNode {
    start: usize,
    end: usize,
    kind: ValueKind,
}

enum ValueKind {
    /// Keys with their values.
    Object(Vec<(String, JsonNode)>),
    Array(Vec<JsonNode>),
    Other,
}

/// What is put where; ranges do not overlap.
type Changes = Vec<(std::ops::Range<usize>, String)>;

/// The text with everything of `ours` that it lacks. `null` and an empty list in the place
/// of an object are nothing; any other value there is refused, since the user chose it.
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
    let Some(node) = (JsonScanner { text, at: 0 }).value() else {
        return Err(Refusal::new(EditCode::InvalidArguments, "it cannot be read as JSON")
            .hint("Merge it by hand."));
    };
    let mut changes = Changes::new();
    Merger { text, indent }.add(&node, ours, "", 0, &mut changes)?;
    changes.sort_by_key(|(range, _)| range.start);
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for (range, new) in changes {
        out.push_str(&text[at..range.start]);
        match has_crlf {
            true => out.push_str(&new.replace('\n', "\r\n")),
            false => out.push_str(&new),
        }
        at = range.end;
    }
    out.push_str(&text[at..]);
    Ok(out)
}

struct Merger<'a> {
    text: &'a str,
    indent: &'a str,
}

impl Merger<'_> {
    fn add(
        &self,
        theirs: &JsonNode,
        ours: &Value,
        name: &str,
        depth: usize,
        changes: &mut Changes,
    ) -> Result<(), Refusal> {
        let written = &self.text[theirs.start..theirs.end];
        let found = serde_json::from_str::<Value>(written).unwrap_or_default();
        if differs_in_start(&found, ours) {
            changes.push((theirs.start..theirs.end, self.pretty(ours, depth)));
            return Ok(());
        }
        match (&theirs.kind, ours) {
            (ValueKind::Object(fields), Value::Object(ours)) => {
                let mut missing = Map::new();
                let program = |value: &Value| {
                    ["command", "cmd"].iter().find_map(|key| value.get(key).cloned())
                };
                let is_restarted = program(&without_npx(found.clone()))
                    .is_some_and(|p| p == "restitch")
                    && ["command", "cmd"].iter().find_map(|key| ours.get(*key)).cloned()
                        != program(&found);
                for (key, value) in ours {
                    let is_start = matches!(key.as_str(), "command" | "cmd" | "args");
                    match fields.iter().find(|(have, _)| have == key) {
                        Some((_, field)) if is_restarted && is_start => {
                            let value = self.pretty(value, depth + 1);
                            changes.push((field.start..field.end, value));
                        }
                        Some((_, field)) => {
                            let name = format!("{name}.{key}");
                            self.add(field, value, &name, depth + 1, changes)?;
                        }
                        None => drop(missing.insert(key.clone(), value.clone())),
                    }
                }
                let lines = missing.iter().map(|(key, value)| {
                    format!("{}: {}", Value::from(key.as_str()), self.pretty(value, depth + 1))
                });
                self.append(theirs, fields.last().map(|(_, last)| last), lines, depth, changes);
            }
            // The words of a command are one setting, and a list that is there is the user's choice.
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
                    match items.iter().find(|item| differs_in_start(&parse(item), value)) {
                        Some(item) => {
                            changes.push((item.start..item.end, self.pretty(value, depth + 1)));
                        }
                        None => missing.push(self.pretty(value, depth + 1)),
                    }
                }
                self.append(theirs, items.last(), missing.into_iter(), depth, changes);
            }
            (ValueKind::Other, _) if written == "null" => {
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
                let wanted = if ours.is_object() { "an object" } else { "a list" };
                let what = match name.trim_start_matches('.') {
                    "" => "its content".to_owned(),
                    name => format!("`{name}`"),
                };
                return Err(Refusal::new(
                    EditCode::InvalidArguments,
                    format!("{what} must be {wanted}, and is not"),
                )
                .hint("Correct it, or merge by hand."));
            }
            // A setting that is there is the user's choice.
            (ValueKind::Other, _) => {}
        }
        Ok(())
    }

    /// Adds lines after the last value of an object or a list.
    fn append(
        &self,
        theirs: &JsonNode,
        last: Option<&JsonNode>,
        lines: impl Iterator<Item = String>,
        depth: usize,
        changes: &mut Changes,
    ) {
        let gap = format!("\n{}", self.indent.repeat(depth + 1));
        let lines: Vec<String> = lines.collect();
        if lines.is_empty() {
            return;
        }
        let body = lines.join(&format!(",{gap}"));
        match last {
            Some(last) => changes.push((last.end..last.end, format!(",{gap}{body}"))),
            None => {
                let end = format!("\n{}", self.indent.repeat(depth));
                changes.push((theirs.start + 1..theirs.end - 1, format!("{gap}{body}{end}")));
            }
        }
    }

    fn pretty(&self, value: &Value, depth: usize) -> String {
        let text = super::init::pretty(value, self.indent);
        text.trim_end().replace('\n', &format!("\n{}", self.indent.repeat(depth)))
    }
}

/// Whether two values differ only in how they start restitch: installed, or by npx.
fn differs_in_start(theirs: &Value, ours: &Value) -> bool {
    theirs != ours && without_npx(theirs.clone()) == without_npx(ours.clone())
}

/// Whether the list is how restitch is started.
fn is_command_line(list: &[Value]) -> bool {
    list.first().and_then(Value::as_str).is_some_and(|first| {
        matches!(first, "restitch" | "npx" | "mcp")
            || first == "-y" && list.get(1).is_some_and(|second| second == "restitch")
    })
}

/// Reads text that is valid JSON.
struct JsonScanner<'a> {
    text: &'a str,
    at: usize,
}

impl JsonScanner<'_> {
    fn value(&mut self) -> Option<JsonNode> {
        self.skip_whitespace();
        let start = self.at;
        let kind = match self.byte()? {
            b'{' => {
                let mut fields = Vec::new();
                self.at += 1;
                while !self.at_end(b'}')? {
                    let key = self.value()?;
                    let key = serde_json::from_str(&self.text[key.start..key.end]).ok()?;
                    self.skip_whitespace();
                    self.at += 1;
                    fields.push((key, self.value()?));
                }
                ValueKind::Object(fields)
            }
            b'[' => {
                let mut items = Vec::new();
                self.at += 1;
                while !self.at_end(b']')? {
                    items.push(self.value()?);
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
        Some(JsonNode { start, end: self.at, kind })
    }

    /// Steps over a comma, or over the closing mark.
    fn at_end(&mut self, mark: u8) -> Option<bool> {
        self.skip_whitespace();
        if self.byte()? == b',' {
            self.at += 1;
            self.skip_whitespace();
        }
        let is_end = self.byte()? == mark;
        self.at += usize::from(is_end);
        Some(is_end)
    }

    fn skip_whitespace(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

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
