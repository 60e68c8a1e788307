//! Reference pages that come from tables in the code.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use restitch::edit::{Rewrite, Rung};
use restitch::matching::LADDER;
use restitch::tools::{TOOLS, Visibility};
use serde_json::Value;

use super::{cell, check_part, repo, text_of};

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
    let mut ladder = "| rung | what it forgives |\n| --- | --- |\n".to_owned();
    for rung in LADDER {
        ladder.push_str(&format!("| `{rung}` | {} |\n", cell(rung.about())));
    }
    check_part("docs/reference/rungs.md", "ladder", &ladder);
    let mut others = "| rung | what it stands for |\n| --- | --- |\n".to_owned();
    for rung in Rung::ALL.iter().filter(|rung| !LADDER.contains(rung)) {
        others.push_str(&format!("| `{rung}` | {} |\n", comment(rungs, &format!("{rung:?}"))));
    }
    check_part("docs/reference/rungs.md", "other rungs", &others);
    let mut table = "| rewrite | what was done |\n| --- | --- |\n".to_owned();
    for rewrite in Rewrite::ALL {
        let about = comment(rewrites, &format!("{rewrite:?}"));
        table.push_str(&format!("| `{rewrite}` | {} |\n", cell(&about)));
    }
    check_part("docs/reference/rungs.md", "rewrites", &table);
}

/// A schema's type in words.
fn kind(schema: &Value) -> String {
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        let words = values.iter().filter_map(Value::as_str);
        return words.map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
    }
    if let Some(options) = schema.get("anyOf").and_then(Value::as_array) {
        return options.iter().map(kind).collect::<Vec<_>>().join(" or ");
    }
    match &schema["type"] {
        Value::String(name) if name == "array" => format!("list of {}", kind(&schema["items"])),
        Value::String(name) => name.clone(),
        Value::Array(names) => {
            names.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or ")
        }
        _ => "any".to_owned(),
    }
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

/// What shows that a tool does what its line says.
const TOOL_TESTS: &[(&str, &str)] = &[
    (
        "edit_file",
        "matching::rows::every_row_holds, syntax::within::equal_places_are_told_apart, notebook::an_edit_names_a_cell_and_the_json_around_keeps_its_bytes, notebook::outputs_go_only_if_asked, hostile::p04_encodings::a_character_is_written_in_the_files_encoding_or_not_at_all",
    ),
    (
        "multi_edit",
        "matching::multi::several_edits_refer_to_the_original, matching::multi::one_refusal_leaves_every_file",
    ),
    (
        "edit_lines",
        "reading::seeds::seed_000_2_edit_lines_answers_with_every_field_of_the_verification, reading::seeds::numbers_of_an_older_read_are_carried_with_its_snapshot",
    ),
    (
        "hashline_edit",
        "reading::seeds::seed_003_example_range_replace, reading::anchors::files_are_created_deleted_and_renamed",
    ),
    (
        "move_lines",
        "moves::lines_move_between_files_in_one_commit, moves::a_block_is_put_at_the_depth_of_its_new_place, moves::lines_are_copied_and_become_a_file_of_their_own",
    ),
    (
        "read_file",
        "reading::seeds::seed_002_3_read_file_takes_ranges_and_merges_overlaps, reading::search::long_lines_and_long_files_are_cut_with_the_way_to_go_on, notebook::a_read_shows_cells_with_ids",
    ),
    (
        "search",
        "reading::search::context_encodings_and_globs, reading::seeds::seed_000_1_search_returns_paths_and_line_numbers_with_matches",
    ),
    (
        "wildcard_search",
        "reading::seeds::seed_000_1_wildcard_search_is_ranked_and_numbered_too, unit search::query::tests::terms_are_found_in_one_pass_with_wildcards_in_order",
    ),
    (
        "list_files",
        "reading::search::context_encodings_and_globs, hostile::p08_ignore_files::rules_hold_below_the_root_and_what_is_above_has_no_say, hostile::p16_bounds::what_is_found_is_cut_and_counted",
    ),
    ("check", "syntax::tools::check_prints_errors_and_names_what_it_cannot_check"),
    ("edit", "agents::tools::other_clients_forms_edit_the_same"),
    (
        "apply_patch",
        "agents::tools::a_patch_applies_to_all_files_or_to_none, agents::tools::search_replace_blocks_edit_several_files, commands::a_patch_of_any_form_is_applied_whole_or_not_at_all",
    ),
    ("replace", "agents::tools::other_clients_forms_edit_the_same"),
    (
        "str_replace_based_edit_tool",
        "agents::tools::the_text_editor_tool_views_creates_replaces_and_inserts",
    ),
    (
        "undo",
        "disk::undo::edits_creations_and_deletions_are_undone_from_other_processes, disk::undo::an_undo_that_is_in_the_way_of_a_later_change_names_it",
    ),
    (
        "staging",
        "reading::staging::reads_searches_and_lists_see_what_is_staged_and_the_disk_does_not, reading::staging::a_commit_of_what_changed_meanwhile_is_refused_whole_and_can_be_discarded",
    ),
    (
        "task_complete",
        "unit session::guard::tests::completion_is_tied_to_edits_that_are_in_the_files, agents::turns::a_completion_without_a_change_is_sent_back_once",
    ),
];

#[test]
fn tools_and_arguments_are_as_the_code_has_them() {
    let mut page = String::new();
    for tool in TOOLS {
        let listed = match tool.visibility {
            Visibility::Always => "",
            Visibility::InDialect(_) => " Offered only with that tool's dialect (`--dialect`).",
            Visibility::Guarded => " Offered in guarded sessions (`--guard`).",
            Visibility::Staged => " Offered in staged sessions (`--stage`).",
        };
        let first = tool.about.lines().next().unwrap_or_default();
        let tests = TOOL_TESTS.iter().find(|(name, _)| *name == tool.name);
        let tests = tests.unwrap_or_else(|| panic!("no test is named for {}", tool.name)).1;
        let heading = format!("### {}\n\n{first}{listed}", tool.name);
        page.push_str(&format!("{heading} <!-- shown by: {tests} -->\n\n"));
        let mut rows = Vec::new();
        fields(&(tool.input)(), "", &mut rows);
        if rows.is_empty() {
            page.push_str("No arguments.\n\n");
            continue;
        }
        page.push_str("| argument | type | required | meaning |\n| --- | --- | --- | --- |\n");
        for (name, kind, required, text) in rows {
            let required = if required { "yes" } else { "" };
            page.push_str(&format!("| `{name}` | {kind} | {required} | {} |\n", cell(&text)));
        }
        page.push('\n');
    }
    check_part("docs/reference/tools.md", "tools", &page);
}

#[test]
fn report_fields_are_as_the_code_has_them() {
    let tool = TOOLS.iter().find(|tool| tool.name == "edit_file").expect("edit_file");
    let output = (tool.output)();
    let reports = &output["properties"]["report"]["anyOf"];
    for (at, name) in ["edit", "refusal"].into_iter().enumerate() {
        let mut rows = Vec::new();
        fields(&reports[at], "", &mut rows);
        assert!(rows.len() > 10, "{name}: {rows:?}");
        let mut table = "| field | type | meaning |\n| --- | --- | --- |\n".to_owned();
        for (name, kind, _, text) in rows {
            let kind = if name == "code" { "a [code](codes.md)".to_owned() } else { kind };
            let kind = if name == "rung" { "a [rung](rungs.md)".to_owned() } else { kind };
            let kind = if name.starts_with("rewrites") {
                "[rewrites](rungs.md#rewrites)".to_owned()
            } else {
                kind
            };
            table.push_str(&format!("| `{name}` | {kind} | {} |\n", cell(&text)));
        }
        check_part("docs/reference/report.md", name, &table);
    }
}

#[test]
fn every_command_has_a_line() {
    let help = Command::new(env!("CARGO_BIN_EXE_restitch")).arg("--help").output().expect("help");
    let help = String::from_utf8(help.stdout).expect("UTF-8");
    let page = text_of("docs/reference/commands.md");
    let indented = help.lines().filter_map(|line| line.strip_prefix("  "));
    let names = indented.filter(|line| line.starts_with(|c: char| c.is_ascii_lowercase()));
    let names: BTreeSet<&str> = names.filter_map(|line| line.split_whitespace().next()).collect();
    assert!(names.contains("edit") && names.len() > 10, "{names:?}");
    let missing: Vec<_> = names
        .iter()
        .filter(|name| **name != "help" && !page.contains(&format!("| `{name}")))
        .collect();
    assert!(missing.is_empty(), "docs/reference/commands.md has no line for {missing:?}");
}

/// The names of environment variables in the program's source.
fn variables(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).expect("folder") {
        let path = entry.expect("entry").path();
        if path.is_dir() {
            variables(&path, found);
            continue;
        }
        let text = fs::read_to_string(&path).unwrap_or_default();
        for (at, _) in text.match_indices("\"RESTITCH_") {
            let name = text[at + 1..].split('"').next().unwrap_or_default();
            if name.chars().all(|c| c.is_ascii_uppercase() || c == '_') {
                found.insert(name.to_owned());
            }
        }
    }
}

#[test]
fn every_environment_variable_has_a_line() {
    let mut names = BTreeSet::new();
    variables(&repo("src"), &mut names);
    assert!(names.contains("RESTITCH_STATE_DIR") && names.len() > 4, "{names:?}");
    let page = text_of("docs/reference/environment.md");
    let missing: Vec<_> = names.iter().filter(|n| !page.contains(&format!("`{n}`"))).collect();
    assert!(missing.is_empty(), "docs/reference/environment.md has no line for {missing:?}");
}
