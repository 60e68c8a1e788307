//! Reference pages that come from tables in the code.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use restitch::edit::{Rewrite, Rung};
use restitch::internals::matching::LADDER;
use restitch::internals::tools::{TOOLS, Visibility};
use serde_json::Value;

use super::{cell, check_part, names_below, repo, text_of};

/// The documentation comment above a variant, from the source.
pub(super) fn comment(source: &str, variant: &str) -> String {
    let lines: Vec<&str> = source.lines().map(str::trim).collect();
    let is_variant = |line: &str| {
        let rest = line.strip_prefix(variant);
        rest.is_some_and(|rest| rest == "," || rest.starts_with(" = "))
    };
    let at = lines.iter().position(|line| is_variant(line));
    let at = at.unwrap_or_else(|| panic!("no variant {variant}"));
    let above = lines[..at].iter().rev().map_while(|line| line.strip_prefix("/// "));
    let mut text: Vec<&str> = above.collect();
    text.reverse();
    assert!(!text.is_empty(), "{variant} has no comment");
    text.join(" ")
}

#[test]
fn the_ladder_and_the_rewrites_are_as_the_code_has_them() {
    let source = text_of("src/edit/rung.rs");
    let (rungs, rewrites) = source.split_once("Rewrite {").expect("both enums");
    let mut ladder = String::new();
    for rung in LADDER {
        ladder.push_str(&format!("- `{rung}`: {}\n", cell(&comment(rungs, &format!("{rung:?}")))));
    }
    check_part("docs/reference/rungs.md", "ladder", &ladder);
    let mut others = String::new();
    for rung in Rung::ALL.iter().filter(|rung| !LADDER.contains(rung)) {
        others.push_str(&format!("- `{rung}`: {}\n", comment(rungs, &format!("{rung:?}"))));
    }
    check_part("docs/reference/rungs.md", "other rungs", &others);
    let mut table = String::new();
    let of_rung = |rewrite: &Rewrite| LADDER.iter().any(|rung| rung.as_str() == rewrite.as_str());
    for rewrite in Rewrite::ALL.iter().filter(|rewrite| !of_rung(rewrite)) {
        let about = comment(rewrites, &format!("{rewrite:?}"));
        table.push_str(&format!("- `{rewrite}`: {}\n", cell(&about)));
    }
    check_part("docs/reference/rungs.md", "rewrites", &table);
}

/// A schema's type in a word: a plural is a list, and a question mark says that it may be null.
fn kind(schema: &Value) -> String {
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        let words = values.iter().filter_map(Value::as_str);
        return words.map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
    }
    let options = schema.get("anyOf").and_then(Value::as_array).into_iter().flatten().map(kind);
    let names = match &schema["type"] {
        Value::String(name) if name == "array" => vec![format!("{}s", kind(&schema["items"]))],
        Value::String(name) => vec![name.clone()],
        Value::Array(names) => names.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        // A word of a list that the schema names elsewhere.
        _ if schema.get("anyOf").is_none() => vec!["string".to_owned()],
        _ => options.collect(),
    };
    let is_null = |name: &String| matches!(name.as_str(), "null" | "?");
    let some: Vec<_> = names.iter().filter(|name| !is_null(name)).cloned().collect();
    some.join(" or ") + if names.iter().any(is_null) { "?" } else { "" }
}

fn about(schema: &Value) -> &str {
    let options = schema.get("anyOf").and_then(Value::as_array).into_iter().flatten();
    let all = std::iter::once(schema).chain(options);
    all.filter_map(|schema| schema["description"].as_str()).next().unwrap_or_default()
}

/// The fields of a schema, with those of objects within it.
fn fields(schema: &Value, before: &str, rows: &mut Vec<(String, String, bool, String)>) {
    let required = |name: &str| {
        schema["required"].as_array().is_some_and(|names| names.iter().any(|n| n == name))
    };
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{before}{name}");
        let text = about(field).split_whitespace().collect::<Vec<_>>().join(" ");
        rows.push((path.clone(), kind(field), required(name), text));
        let options = field.get("anyOf").and_then(Value::as_array).into_iter().flatten();
        for inner in std::iter::once(field).chain(options) {
            fields(inner, &format!("{path}."), rows);
            if inner.get("items").is_some() {
                fields(&inner["items"], &format!("{path}[]."), rows);
            }
        }
    }
}

/// The tools whose arguments the page explains: those that a server offers by default. Of the
/// others it has the names.
const DETAILED: &[&str] = &["edit_file", "multi_edit", "read_file", "search", "undo"];

#[test]
fn tools_and_arguments_are_as_the_code_has_them() {
    let mut page = String::new();
    let mut of_edit_file = Vec::new();
    for tool in TOOLS {
        let listed = match tool.visibility {
            Visibility::Always => "",
            Visibility::InDialect(_) => {
                " `--tools all` has it only in its own `--dialect`; it has its own arguments."
            }
            Visibility::Guarded => " Only with `--guard`.",
            Visibility::Staged => " Only with `--stage`.",
        };
        let first = tool.about.lines().next().unwrap_or_default();
        let first = first.split(". ").next().unwrap_or_default().trim_end_matches('.');
        page.push_str(&format!("### {}\n\n{first}.{listed}\n\n", tool.name));
        if matches!(tool.visibility, Visibility::InDialect(_)) {
            continue;
        }
        let mut rows = Vec::new();
        fields(&(tool.input)(), "", &mut rows);
        // Arguments of every tool that edits, which the text above the list has.
        rows.retain(|(name, ..)| !["encoding", "dry_run"].contains(&name.as_str()));
        let shown = |name: &str, required: bool| match required {
            true => format!("**`{name}`**"),
            false => format!("`{name}`"),
        };
        if !DETAILED.contains(&tool.name) {
            let names = rows.iter().map(|(name, _, required, _)| shown(name, *required));
            page.push_str(&format!("{}\n\n", names.collect::<Vec<_>>().join(", ")));
            continue;
        }
        let inner = rows.iter().filter_map(|(name, kind, required, text)| {
            Some((name.strip_prefix("edits[].")?.to_owned(), kind.clone(), *required, text.clone()))
        });
        let inner: Vec<_> = inner.collect();
        let is_known = !inner.is_empty() && inner.iter().all(|row| of_edit_file.contains(row));
        for (name, kind, required, text) in &rows {
            if is_known && name.starts_with("edits[].") {
                continue;
            }
            let fields = match is_known && name == "edits" {
                true => " The fields are those of `edit_file`.",
                false => "",
            };
            let name = shown(name, *required);
            page.push_str(&format!("- {name} ({kind}): {}{fields}\n", cell(text)));
        }
        page.push('\n');
        if tool.name == "edit_file" {
            of_edit_file = rows;
        }
    }
    check_part("docs/reference/tools.md", "tools", &page);
}

#[test]
fn report_fields_are_as_the_code_has_them() {
    let tool = TOOLS.iter().find(|tool| tool.name == "edit_file").expect("edit_file");
    let output = (tool.output)();
    let reports = &output["properties"]["report"]["anyOf"];
    // Fields of an object that is listed already, with the name that it has there.
    let mut listed: Vec<(Vec<String>, String)> = Vec::new();
    for (at, name) in ["edit", "refusal"].into_iter().enumerate() {
        let mut rows = Vec::new();
        fields(&reports[at], "", &mut rows);
        assert!(rows.len() > 10, "{name}: {rows:?}");
        // What is further inside says its name.
        rows.retain(|(name, ..)| name.matches('.').count() < 2);
        let mut list = String::new();
        let mut skipped: Option<String> = None;
        for (at, (name, kind, _, text)) in rows.iter().enumerate() {
            if skipped.as_ref().is_some_and(|within| name.starts_with(within)) {
                continue;
            }
            let kind = match name.as_str() {
                "code" => "a [code](codes.md)",
                "rung" => "a [rung](rungs.md)",
                "rewrites" => "[rewrites](rungs.md#rewrites)",
                _ => kind,
            };
            list.push_str(&format!("- `{name}` ({kind}): {}", cell(text)));
            skipped = None;
            let [object, items] = [format!("{name}."), format!("{name}[].")];
            let within = if kind == "objects" { items } else { object };
            let inner: Vec<String> = rows[at + 1..]
                .iter()
                .filter_map(|(field, ..)| Some(field.strip_prefix(&within)?.to_owned()))
                .collect();
            match listed.iter().find(|(fields, _)| !inner.is_empty() && *fields == inner) {
                Some((_, known)) => {
                    list.push_str(&format!(" The fields are those of `{known}`."));
                    skipped = Some(within);
                }
                None => listed.push((inner, within.trim_end_matches('.').to_owned())),
            }
            list.push('\n');
        }
        check_part("docs/reference/report.md", name, &list);
    }
}

#[test]
fn every_command_has_a_line() {
    let help = |arguments: &[&str]| {
        let command = Command::new(env!("CARGO_BIN_EXE_restitch")).args(arguments).output();
        String::from_utf8(command.expect("help").stdout).expect("UTF-8")
    };
    let help = help(&["--help"]) + &help(&["dev", "--help"]);
    let page = text_of("docs/reference/commands.md");
    let indented = help.lines().filter_map(|line| line.strip_prefix("  "));
    let names = indented.filter(|line| line.starts_with(|c: char| c.is_ascii_lowercase()));
    let names: BTreeSet<&str> = names.filter_map(|line| line.split_whitespace().next()).collect();
    assert!(names.contains("edit") && names.len() > 10, "{names:?}");
    let missing: Vec<_> = names
        .iter()
        .filter(|name| **name != "help" && !page.contains(&format!("- `{name}")))
        .collect();
    assert!(missing.is_empty(), "docs/reference/commands.md has no line for {missing:?}");
}

/// The names of environment variables in the program's source.
fn variables() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for path in names_below(&repo("src")) {
        let text = fs::read_to_string(&path).unwrap_or_default();
        for (at, _) in text.match_indices("\"RESTITCH_") {
            let name = text[at + 1..].split('"').next().unwrap_or_default();
            if name.chars().all(|c| c.is_ascii_uppercase() || c == '_') {
                found.insert(name.to_owned());
            }
        }
    }
    found
}

#[test]
fn every_environment_variable_has_a_line() {
    let names = variables();
    assert!(names.contains("RESTITCH_STATE_DIR") && names.len() > 4, "{names:?}");
    let page = text_of("docs/reference/environment.md");
    let missing: Vec<_> = names.iter().filter(|n| !page.contains(&format!("`{n}`"))).collect();
    assert!(missing.is_empty(), "docs/reference/environment.md has no line for {missing:?}");
}
