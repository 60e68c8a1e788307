//! Removes settings from the text of a JSON file, the reverse of adding them. The rest of the text
//! stays as it is.

use std::ops::Range;
use std::path::Path;

use serde_json::{Value, json};

use super::init::without_npx;
use super::json_merge::{JsonNode, JsonScanner, ValueKind};

/// The value at one place of the file before restitch first wrote the file.
#[derive(Debug, Clone, Copy)]
pub(super) enum Before<'a> {
    /// There is no record. Only the server, its hooks and its permission are restitch's for sure.
    Unknown,
    /// There was no value.
    Nothing,
    /// There was this value, which is the user's.
    Value(&'a Value),
}

impl<'a> Before<'a> {
    /// The earlier value of this key in an object.
    fn at(self, key: &str) -> Self {
        match self {
            Self::Unknown => Self::Unknown,
            Self::Nothing => Self::Nothing,
            Self::Value(value) => value.get(key).map_or(Self::Nothing, Self::Value),
        }
    }

    /// Whether there is a record of what was there.
    fn is_known(self) -> bool {
        !matches!(self, Self::Unknown)
    }
}

/// The text without the settings of `ours` that it contains; empty if nothing else is left. `None` if
/// the text is not plain JSON.
pub(super) fn remove(text: &str, ours: &Value, before: Before<'_>) -> Option<String> {
    serde_json::from_str::<Value>(text).ok()?;
    let root = JsonScanner { text, at: 0 }.read_value()?;
    let mut cuts = match (Remover { text }).cuts(&root, ours, before) {
        Cuts::Whole => return Some(String::new()),
        Cuts::Parts(cuts) => cuts,
    };
    cuts.sort_by_key(|cut| cut.start);
    let mut out = String::with_capacity(text.len());
    let mut copied_to = 0;
    for cut in cuts {
        out.push_str(&text[copied_to..cut.start]);
        copied_to = cut.end;
    }
    out.push_str(&text[copied_to..]);
    Some(out)
}

/// What is removed of a value.
enum Cuts {
    /// All of it.
    Whole,
    /// These ranges of the text.
    Parts(Vec<Range<usize>>),
}

/// Finds what to remove from the user's text.
struct Remover<'a> {
    text: &'a str,
}

impl Remover<'_> {
    /// What to remove of the user's value `theirs`, at whose place `ours` has our settings.
    fn cuts(&self, theirs: &JsonNode, ours: &Value, before: Before<'_>) -> Cuts {
        match (&theirs.kind, ours) {
            (ValueKind::Object(fields), Value::Object(our_fields)) => {
                let cuts = fields.iter().map(|(key, field)| match our_fields.get(key) {
                    None => Cuts::Parts(Vec::new()),
                    Some(ours) if key == "restitch" && self.is_restitch_entry(field, ours) => {
                        Cuts::Whole
                    }
                    Some(ours) => self.cuts(field, ours, before.at(key)),
                });
                let nodes: Vec<&JsonNode> = fields.iter().map(|(_, field)| field).collect();
                combine(theirs, &nodes, cuts.collect(), before)
            }
            (ValueKind::Array(items), Value::Array(our_items)) => {
                let cuts = items.iter().map(|item| self.item_cuts(item, our_items, before));
                combine(theirs, &items.iter().collect::<Vec<_>>(), cuts.collect(), before)
            }
            _ if self.parse(theirs) == *ours && matches!(before, Before::Nothing) => Cuts::Whole,
            _ => Cuts::Parts(Vec::new()),
        }
    }

    /// What to remove of an item of a list. `our_items` are the items that restitch adds to this list,
    /// and `before` is the whole list as it was.
    fn item_cuts(&self, item: &JsonNode, our_items: &[Value], before: Before<'_>) -> Cuts {
        let value = without_npx(self.parse(item));
        let is_ours = our_items.iter().any(|ours| without_npx(ours.clone()) == value);
        let was_there =
            matches!(before, Before::Value(Value::Array(list)) if list.contains(&value));
        let is_permission = value == "mcp__restitch";
        if is_restitch_hook(&value) || is_ours && (is_permission || !was_there && before.is_known())
        {
            return Cuts::Whole;
        }
        // The item may be a matcher with a list of hooks, some of which are restitch's.
        match &item.kind {
            ValueKind::Object(_) if value.get("hooks").is_some() => self
                .cuts(item, &json!({ "hooks": [] }), Before::Unknown)
                .or_whole_if_all_hooks_are_ours(&value),
            _ => Cuts::Parts(Vec::new()),
        }
    }

    /// Whether the entry with the key `restitch` is restitch's own. The user may have given that name to
    /// another program.
    fn is_restitch_entry(&self, entry: &JsonNode, ours: &Value) -> bool {
        let entry = without_npx(self.parse(entry));
        let program = ["command", "cmd"].iter().find_map(|key| match entry.get(key)? {
            Value::Array(words) => words.first()?.as_str(),
            other => other.as_str(),
        });
        let name = program.and_then(|program| Path::new(program).file_stem());
        // Qwen Code's approval of the server has the hash of its configuration.
        let is_approval = entry.get("hash").is_some() && ours.get("hash").is_some();
        name.is_some_and(|name| name == "restitch") || entry == *ours || is_approval
    }

    /// The value of a node; `null` if it does not parse.
    fn parse(&self, node: &JsonNode) -> Value {
        serde_json::from_str(&self.text[node.start..node.end]).unwrap_or_default()
    }
}

impl Cuts {
    /// All of `matcher` if it has only hooks of restitch; otherwise these cuts.
    fn or_whole_if_all_hooks_are_ours(self, matcher: &Value) -> Self {
        let hooks = matcher.get("hooks").and_then(Value::as_array);
        match hooks.is_some_and(|hooks| !hooks.is_empty() && hooks.iter().all(is_restitch_hook)) {
            true => Self::Whole,
            false => self,
        }
    }
}

/// Whether the value is a hook that runs restitch. It must have passed through [`without_npx`].
fn is_restitch_hook(value: &Value) -> bool {
    let command = value.get("command").and_then(Value::as_str);
    command.is_some_and(|command| command.starts_with("restitch hook "))
}

/// What is removed of the object or list `whole`, whose parts have these cuts, with the commas between
/// them. If every part is removed, so is the whole, unless it was there before.
fn combine(whole: &JsonNode, parts: &[&JsonNode], cuts: Vec<Cuts>, before: Before<'_>) -> Cuts {
    let was_there = matches!(before, Before::Value(_));
    let Some(first_kept) = cuts.iter().position(|cut| !matches!(cut, Cuts::Whole)) else {
        let between_brackets = whole.start + 1..whole.end - 1;
        return match (parts.is_empty(), was_there) {
            (true, _) if !matches!(before, Before::Nothing) => Cuts::Parts(Vec::new()),
            (false, true) => Cuts::Parts(vec![between_brackets]),
            _ => Cuts::Whole,
        };
    };
    let mut out = Vec::new();
    if first_kept > 0 {
        out.push(parts[0].from..parts[first_kept].from);
    }
    for (index, cut) in cuts.into_iter().enumerate() {
        match cut {
            Cuts::Whole if index > first_kept => out.push(parts[index - 1].end..parts[index].end),
            // The cut before the first kept part covers it.
            Cuts::Whole => {}
            Cuts::Parts(inner) => out.extend(inner),
        }
    }
    Cuts::Parts(out)
}

#[cfg(test)]
mod tests {
    use super::super::json_merge::add_missing;
    use super::*;

    #[test]
    fn what_was_added_goes_and_the_rest_stays_letter_by_letter() {
        let ours = json!({
            "$schema": "s",
            "servers": { "restitch": { "command": "restitch", "args": ["mcp"] } },
            "hooks": { "Pre": [{ "matcher": "E", "hooks": [{ "command": "restitch hook c Pre" }] }] },
            "trusted": ["/w"],
        });
        for text in [
            "{\n  \"a\": 1.0e+3\n}\n",
            "{\"servers\": {\"x\": [1.50]},  \"z\": {}}",
            "{\n\t\"hooks\": {\n\t\t\"Pre\": [ {\"matcher\":\"E\"} ],\n\t\t\"Post\": [] },\n\t\"servers\": {}\n}",
            "{ \"$schema\": \"s\", \"trusted\": [\"/w\", \"/v\"] }",
            "{\"trusted\": [\"/v\"]}\r\n",
            "{\"servers\": {}, \"hooks\": {\"Pre\": []}}",
        ] {
            let added = add_missing(text, &ours, "  ").expect("added");
            assert_ne!(added, text);
            let had: Value = serde_json::from_str(text).expect("JSON");
            assert_eq!(remove(&added, &ours, Before::Value(&had)).as_deref(), Some(text));
        }
        // A file of restitch's own.
        let alone = add_missing("", &ours, "  ").expect("added");
        assert_eq!(remove(&alone, &ours, Before::Nothing).as_deref(), Some(""));
        // Without a record, what may be the user's stays.
        let left = remove(&alone, &ours, Before::Unknown).expect("JSON");
        let left: Value = serde_json::from_str(&left).expect("JSON");
        assert_eq!(left, json!({ "$schema": "s", "trusted": ["/w"] }));
    }

    #[test]
    fn what_the_user_made_of_it_stays() {
        let ours = json!({
            "servers": { "restitch": { "command": "restitch", "args": ["mcp"] } },
            "hooks": { "Pre": [{ "matcher": "E", "hooks": [{ "command": "restitch hook c Pre" }] }] },
        });
        let removed = |text: &str| remove(text, &ours, Before::Nothing).expect("JSON");
        // Another program under that name, and hooks of others beside restitch's.
        let other = r#"{"servers": {"restitch": {"command": "/opt/other"}}}"#;
        assert_eq!(removed(other), other);
        let mixed = r#"{"hooks": {"Pre": [{"matcher": "E", "hooks": [{"command": "x"}, {"command": "npx -y restitch hook c Pre", "timeout": 9}]}]}}"#;
        let kept = r#"{"hooks": {"Pre": [{"matcher": "E", "hooks": [{"command": "x"}]}]}}"#;
        assert_eq!(removed(mixed), kept);
        let changed = r#"{"servers": {"restitch": {"command": "/usr/bin/restitch", "args": ["mcp", "--guard"], "env": {}}, "x": 1}}"#;
        assert_eq!(removed(changed), r#"{"servers": {"x": 1}}"#);
        assert_eq!(remove("{ // c\n}", &ours, Before::Nothing), None);
    }
}
