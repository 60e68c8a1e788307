//! Names and numbers that the pages repeat from the code and from manifests.

use std::collections::BTreeSet;
use std::process::Command;
use std::time::Duration;

use restitch::adapters::syntax::TreeSitter;
use restitch::edit::{SyntaxCheck, Unchecked};
use restitch::engine::Allowance;
use restitch::internals::correct::MAX_AGE;
use restitch::port::Syntax as _;
use restitch::store::DiskOptions;

use super::text_of;

fn init(folder: &std::path::Path, arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_restitch"));
    command.arg("init").args(arguments).current_dir(folder).env("HOME", folder);
    let out = command.output().expect("runs");
    assert!(out.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).expect("UTF-8")
}

/// The clients that `init` knows, as its help lists them.
fn clients(folder: &std::path::Path) -> Vec<String> {
    let help = init(folder, &["--help"]);
    let (_, rest) = help.split_once("Arguments:\n  <CLIENT>").expect("the argument");
    let (list, _) = rest.split_once("\n\n").expect("its end");
    let words = list.split(|c: char| !c.is_ascii_alphanumeric());
    words.filter(|word| !word.is_empty() && *word != "or").map(str::to_owned).collect()
}

#[test]
fn the_tables_of_clients_are_those_that_init_knows() {
    let folder = tempfile::tempdir().expect("folder");
    let clients = clients(folder.path());
    assert!(clients.len() >= 10, "{clients:?}");
    let page = text_of("docs/guide/agents.md");
    let rows: Vec<&str> = page
        .lines()
        .filter(|line| line.starts_with("| ") && line.contains("restitch init "))
        .collect();
    let named: usize = rows.iter().map(|row| row.matches("`restitch init ").count()).sum();
    assert_eq!(named, clients.len(), "{rows:#?}");
    let readme = text_of("README.md");
    for client in &clients {
        let row =
            rows.iter().find(|row| row.contains(&format!("`restitch init {client} --write`")));
        let row = row.unwrap_or_else(|| panic!("the page about agents lacks {client}"));
        let printed = init(folder.path(), &[client]);
        let has_hook = printed.contains("restitch hook ") || printed.contains("[\"hook\", ");
        let seam = row.split('|').nth(2).expect("a seam");
        assert_eq!(seam.contains("hooks"), has_hook, "{client}: {printed}");
        // The README has a row for each of those with hooks, and names the others.
        let name = row.split('|').nth(1).expect("a name").trim();
        for name in name.split(", ") {
            assert!(readme.contains(name), "README.md lacks {name}");
        }
    }
}

#[test]
fn the_versions_are_those_of_the_manifests() {
    let value = |file: &str, name: &str| -> String {
        let text = text_of(file);
        let line = text.lines().find(|line| line.starts_with(&format!("{name} = ")));
        let line = line.unwrap_or_else(|| panic!("{file}: {name}"));
        line.chars().filter(|c| c.is_ascii_digit() || *c == '.').collect()
    };
    let rust = format!("Rust {} or newer", value("Cargo.toml", "rust-version"));
    let python =
        format!("Python {} or newer", value("bindings/python/pyproject.toml", "requires-python"));
    for (page, words) in
        [("README.md", &rust), ("docs/guide/install.md", &rust), ("docs/guide/install.md", &python)]
    {
        assert!(text_of(page).contains(words.as_str()), "{page} does not say {words}");
    }
}

#[test]
fn the_defaults_are_those_of_the_code() {
    assert_eq!(MAX_AGE, Duration::from_secs(3600));
    let Allowance { time, requests, .. } = Allowance::default();
    assert_eq!((time, requests), (Duration::from_secs(40), 4));
    let bytes = DiskOptions::default().history_bytes;
    for (page, words) in [
        (
            "docs/guide/model.md",
            format!("at most {} seconds and {requests} requests", time.as_secs()),
        ),
        ("docs/guide/model.md", "kept for an hour in the process".into()),
        ("docs/guide/disk.md", format!("{} MiB over all roots", bytes >> 20)),
    ] {
        assert!(text_of(page).replace('\n', " ").contains(&words), "{page} does not say: {words}");
    }
}

#[test]
fn the_endings_are_those_of_the_files_that_are_parsed() {
    let is_parsed = |ending: &str| {
        let said = TreeSitter::new().compare(&format!("a.{ending}"), "", "", &[]);
        said != SyntaxCheck::unchecked(Unchecked::UnknownLanguage)
    };
    // Every ending that the code knows is a word in quotes there.
    let table = text_of("src/language/table.rs");
    let words = table.split('"').filter(|word| word.chars().all(|c| c.is_ascii_alphanumeric()));
    let parsed: BTreeSet<&str> = words.filter(|word| !word.is_empty() && is_parsed(word)).collect();
    let page = text_of("docs/guide/syntax.md");
    let listed: BTreeSet<&str> = page
        .lines()
        .filter(|line| line.starts_with("| ") && line.contains("| `."))
        .flat_map(|line| line.split('`').filter_map(|word| word.strip_prefix('.')))
        .collect();
    assert_eq!(listed, parsed);
}
