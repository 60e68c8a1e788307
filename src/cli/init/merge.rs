//! Merges the settings of a client into its configuration file: adds those that are missing, and
//! changes none of the others but the command that starts restitch.

use serde::Serialize as _;
use serde_json::Value;

use crate::cli::json_merge;
use crate::edit::{EditCode, Refusal};

/// The content that `init` puts into a file.
pub(crate) enum Content {
    Json(Value),
    /// TOML tables: the header, and its lines.
    Toml(Vec<(String, String)>),
    /// YAML, which the user has to merge by hand if the file exists.
    Yaml(String),
    /// A whole file that belongs to restitch.
    Ours(&'static str),
}

/// The command that starts restitch without an installation: npx downloads the package.
const NPX: [&str; 3] = ["npx", "-y", "restitch"];

/// The same configuration, in which npx starts restitch. The command line may be in the fields
/// `command` and `args`, in one list, or in one string.
fn with_npx(value: Value) -> Value {
    let with_npx_first = |list: Vec<Value>| {
        NPX.iter().map(|word| Value::from(*word)).chain(list.into_iter().skip(1)).collect()
    };
    match value {
        Value::Array(list) if list.first().is_some_and(|first| first == "restitch") => {
            Value::Array(with_npx_first(list))
        }
        Value::Array(list) => Value::Array(list.into_iter().map(with_npx).collect()),
        Value::String(text) => match text.strip_prefix("restitch ") {
            Some(arguments) => Value::String(format!("{} {arguments}", NPX.join(" "))),
            None => Value::String(text),
        },
        Value::Object(mut fields) => {
            for name in ["command", "cmd"] {
                if fields.get(name).is_some_and(|command| command == "restitch")
                    && let Some(Value::Array(args)) = fields.get_mut("args")
                {
                    args.splice(0..0, NPX[1..].iter().map(|word| Value::from(*word)));
                    fields.insert(name.to_owned(), NPX[0].into());
                }
            }
            Value::Object(fields.into_iter().map(|(key, value)| (key, with_npx(value))).collect())
        }
        other => other,
    }
}

/// The same configuration, in which the installed command starts restitch instead of npx.
pub(in crate::cli) fn without_npx(value: Value) -> Value {
    let starts_with = |list: &[Value], words: &[&str]| {
        list.len() >= words.len() && words.iter().zip(list).all(|(word, item)| item == word)
    };
    match value {
        Value::Array(mut list) if starts_with(&list, &NPX) => {
            list.drain(..NPX.len() - 1);
            Value::Array(list)
        }
        Value::Array(list) => Value::Array(list.into_iter().map(without_npx).collect()),
        Value::String(text) => match text.strip_prefix(&format!("{} ", NPX.join(" "))) {
            Some(arguments) => Value::String(format!("restitch {arguments}")),
            None => Value::String(text),
        },
        Value::Object(mut fields) => {
            for name in ["command", "cmd"] {
                if fields.get(name).is_some_and(|command| command == NPX[0])
                    && let Some(Value::Array(args)) = fields.get_mut("args")
                    && starts_with(args, &NPX[1..])
                {
                    args.drain(..NPX.len() - 1);
                    fields.insert(name.to_owned(), "restitch".into());
                }
            }
            let fields = fields.into_iter().map(|(key, value)| (key, without_npx(value)));
            Value::Object(fields.collect())
        }
        other => other,
    }
}

impl Content {
    /// The same content, in which npx starts restitch.
    pub(crate) fn with_npx(&self) -> Self {
        let replace_command = |text: &str| {
            text.replace("command = \"restitch\"", "command = \"npx\"")
                .replace("cmd: restitch\n", "cmd: npx\n")
                .replace("args = [", "args = [\"-y\",\"restitch\",")
                .replace("args: [", "args: [\"-y\",\"restitch\",")
        };
        match self {
            Self::Json(value) => Self::Json(with_npx(value.clone())),
            Self::Toml(tables) => Self::Toml(
                tables
                    .iter()
                    .map(|(header, body)| (header.clone(), replace_command(body)))
                    .collect(),
            ),
            Self::Yaml(text) => Self::Yaml(replace_command(text)),
            Self::Ours(text) => Self::Ours(text),
        }
    }

    /// The content as the text of a new file.
    pub(crate) fn render(&self) -> String {
        match self {
            Self::Json(value) => pretty(value, "  "),
            Self::Toml(tables) => {
                let tables: Vec<_> =
                    tables.iter().map(|(header, body)| format!("{header}\n{body}")).collect();
                tables.join("\n")
            }
            Self::Yaml(text) => text.clone(),
            Self::Ours(text) => (*text).to_owned(),
        }
    }

    /// Whether the text of a file contains all settings, with these values.
    pub(crate) fn is_in(&self, text: &str) -> bool {
        match self {
            Self::Json(ours) => {
                serde_json::from_str(text).is_ok_and(|theirs: Value| contains(&theirs, ours))
            }
            Self::Toml(_) => {
                let read = |text: &str| toml::from_str::<toml::Table>(text).ok();
                let (theirs, ours) = (read(text), read(&self.render()));
                let to_json = |table: Option<toml::Table>| {
                    table.and_then(|table| serde_json::to_value(table).ok())
                };
                matches!((to_json(theirs), to_json(ours)), (Some(theirs), Some(ours)) if contains(&theirs, &ours))
            }
            Self::Yaml(ours) => text.contains(ours.as_str()),
            Self::Ours(ours) => text == *ours,
        }
    }

    /// The text of an existing file with this content merged into it.
    pub(crate) fn merged_into(&self, text: &str) -> Result<String, Refusal> {
        match self {
            Self::Json(ours) => json_merge::add_missing(text, ours, indent_of(text)),
            Self::Toml(tables) => {
                let parsed: toml::Table = toml::from_str(text).map_err(|error| not_toml(&error))?;
                let mut out = text.to_owned();
                for (header, body) in tables {
                    let is_there = replace_start_command(&mut out, header, body);
                    if header.starts_with("[[") && !is_there {
                        append_table(&mut out, header, body);
                    } else if !header.starts_with("[[") {
                        add_table(&mut out, &parsed, header, body);
                    }
                }
                toml::from_str::<toml::Table>(&out).map_err(|error| not_toml(&error))?;
                Ok(out)
            }
            Self::Yaml(ours) if text.contains(ours.as_str()) => Ok(text.to_owned()),
            Self::Yaml(_) => Err(Refusal::new(
                EditCode::InvalidArguments,
                "it is a YAML file that is not empty, and restitch does not merge YAML",
            )
            .hint("Merge it by hand.")),
            // A file that belongs to restitch is replaced as a whole.
            Self::Ours(ours) => Ok((*ours).to_owned()),
        }
    }
}

/// The refusal of a file that is not TOML.
fn not_toml(error: &toml::de::Error) -> Refusal {
    Refusal::new(EditCode::InvalidArguments, format!("the file is not valid TOML: {error}"))
        .hint("Correct it, or merge by hand.")
}

/// Adds a table, or adds to an existing table the lines with keys that it lacks.
fn add_table(out: &mut String, parsed: &toml::Table, header: &str, body: &str) {
    let Some(header_index) = out.lines().position(|line| line.trim() == header) else {
        return append_table(out, header, body);
    };
    let table = toml::from_str::<toml::Table>(&format!("{header}\n{body}")).unwrap_or_default();
    let missing = missing_keys(&table, parsed);
    let lines = body.lines().filter(|line| {
        line.split_once('=').is_some_and(|(key, _)| missing.contains(&key.trim().to_owned()))
    });
    let lines: String = lines.map(|line| format!("{line}\n")).collect();
    let body_start: usize = out.split_inclusive('\n').take(header_index + 1).map(str::len).sum();
    let line_break = if out[..body_start].ends_with('\n') || lines.is_empty() { "" } else { "\n" };
    out.insert_str(body_start, &format!("{line_break}{lines}"));
}

/// Replaces the command in an existing table if it starts restitch by npx and `body` does not, or the
/// other way round. Returns whether the table exists, even if nothing was replaced; in a list of
/// tables, it is the one with the name in `body`.
fn replace_start_command(out: &mut String, header: &str, body: &str) -> bool {
    let line_of = |text: &str, key: &str| -> Option<String> {
        text.lines().find(|line| line.starts_with(key)).map(str::to_owned)
    };
    let header_line = format!("{header}\n");
    let mut sections = out.match_indices(&header_line).map(|(header_start, header)| {
        let start = header_start + header.len();
        let end = out[start..].find("\n[").map_or(out.len(), |offset| start + offset + 1);
        start..end
    });
    let name = line_of(body, "name = ");
    let is_ours = |text: &str| !header.starts_with("[[") || line_of(text, "name = ") == name;
    let Some(section) = sections.find(|section| is_ours(&out[section.clone()])) else {
        return false;
    };
    let theirs = out[section.clone()].to_owned();
    let their_and_our_line = |key| Some((line_of(&theirs, key)?, line_of(body, key)?));
    if let (Some((command, our_command)), Some((args, our_args))) =
        (their_and_our_line("command = "), their_and_our_line("args = ["))
        && command != our_command
        && ["command = \"restitch\"", "command = \"npx\""].contains(&command.as_str())
        && args.ends_with(']')
    {
        let updated = theirs.replacen(&command, &our_command, 1).replacen(&args, &our_args, 1);
        out.replace_range(section, &updated);
    }
    true
}

/// Adds a table at the end.
fn append_table(out: &mut String, header: &str, body: &str) {
    let blank_line = if out.is_empty() || out.ends_with("\n\n") { "" } else { "\n" };
    let line_end = if out.is_empty() || out.ends_with('\n') { "" } else { "\n" };
    out.push_str(&format!("{line_end}{blank_line}{header}\n{body}"));
}

/// The keys in `ours`, at any depth, that the same table in `theirs` lacks.
fn missing_keys(ours: &toml::Table, theirs: &toml::Table) -> Vec<String> {
    ours.iter()
        .flat_map(|(key, value)| match (value, theirs.get(key)) {
            (toml::Value::Table(ours), Some(toml::Value::Table(theirs))) => {
                missing_keys(ours, theirs)
            }
            (_, Some(_)) => Vec::new(),
            (toml::Value::Table(ours), None) => missing_keys(ours, &toml::Table::new()),
            (_, None) => vec![key.clone()],
        })
        .collect()
}

/// Whether `theirs` contains all settings in `ours`, with the same values.
fn contains(theirs: &Value, ours: &Value) -> bool {
    match (theirs, ours) {
        (Value::Object(theirs), Value::Object(ours)) => ours
            .iter()
            .all(|(key, value)| theirs.get(key).is_some_and(|their| contains(their, value))),
        (Value::Array(theirs), Value::Array(ours)) => {
            ours.iter().all(|value| theirs.iter().any(|their| contains(their, value)))
        }
        (theirs, ours) => theirs == ours,
    }
}

/// The value as JSON with this indentation.
pub(in crate::cli) fn pretty(value: &Value, indent: &str) -> String {
    let mut out = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(indent.as_bytes());
    let mut serializer = serde_json::Serializer::with_formatter(&mut out, formatter);
    match value.serialize(&mut serializer) {
        Ok(()) => String::from_utf8_lossy(&out).into_owned() + "\n",
        Err(_) => format!("{value}\n"),
    }
}

/// The indentation that a JSON file uses.
fn indent_of(text: &str) -> &str {
    let indented = text.lines().find(|line| line.starts_with([' ', '\t']));
    indented.map_or("  ", |line| &line[..line.len() - line.trim_start().len()])
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::clients::{CLIENTS, client};
    use super::*;

    #[test]
    fn the_way_to_start_is_replaced_and_not_added() {
        for name in CLIENTS {
            let client = client(name, Path::new("/work")).expect("known");
            for file in client.files.iter().chain(&client.permission_files) {
                let (plain, npx) = (&file.content, file.content.with_npx());
                if matches!(plain, Content::Yaml(_) | Content::Ours(_)) {
                    continue;
                }
                for (first, second) in [(plain, &npx), (&npx, plain)] {
                    let merged = second.merged_into(&first.render()).expect("merged");
                    assert!(second.is_in(&merged), "{name} {}: {merged}", file.path);
                    let starts = |text: &str| text.matches("restitch hook").count();
                    assert_eq!(starts(&merged), starts(&second.render()), "{name}: {merged}");
                    assert_eq!(
                        merged.matches("npx").count(),
                        second.render().matches("npx").count(),
                        "{name}: {merged}"
                    );
                    assert_eq!(second.merged_into(&merged).expect("again"), merged, "{name}");
                }
            }
        }
        // What the user added stays, and so does a list of arguments of the user's own.
        let ours = serde_json::json!({ "restitch": { "command": "restitch", "args": ["mcp", "--tools", "a"] } });
        let theirs = r#"{ "restitch": { "command": "npx", "args": ["-y", "restitch", "mcp"], "env": { "A": "1" } } }"#;
        let merged = Content::Json(ours.clone()).merged_into(theirs).expect("merged");
        let merged: Value = serde_json::from_str(&merged).expect("JSON");
        assert_eq!(merged["restitch"]["args"], ours["restitch"]["args"]);
        assert_eq!(merged["restitch"]["command"], "restitch");
        assert_eq!(merged["restitch"]["env"]["A"], "1");
        let own = r#"{ "restitch": { "command": "restitch", "args": ["mcp", "--guard"] } }"#;
        assert_eq!(Content::Json(ours).merged_into(own).expect("merged"), own);
    }

    #[test]
    fn npx_brings_the_command_for_every_client() {
        for name in CLIENTS {
            let client = client(name, Path::new("/work")).expect("known");
            let texts = |npx: bool| -> Vec<String> {
                let content = client.files.iter().map(|file| &file.content);
                content
                    .filter(|content| !matches!(content, Content::Ours(_)))
                    .map(|content| if npx { content.with_npx().render() } else { content.render() })
                    .collect()
            };
            let (plain, npx) = (texts(false).join("\n"), texts(true).join("\n"));
            assert!(plain.contains("mcp") && !plain.contains("npx"), "{name}: {plain}");
            let calls = |text: &str| text.matches("mcp\",").count() + text.matches("hook ").count();
            assert!(npx.matches("npx").count() >= calls(&plain).min(1), "{name}: {npx}");
            for bare in ["\"command\": \"restitch", "command = \"restitch\"", "cmd: restitch"] {
                assert!(!npx.contains(bare), "{name}: {npx}");
            }
            assert!(!npx.contains("[\n  \"restitch\""), "{name}: {npx}");
        }
    }
}
