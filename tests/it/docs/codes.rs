//! The page of codes: each with its meaning, a message as the program prints it, and what to
//! do. It is also the one page on which all refusals can be read together.

use std::fs;
use std::path::Path;

use restitch::edit::EditCode;
use serde::Deserialize;
use serde_json::Value;

use super::tables::comment;
use super::{Project, check_part, text_of};
use crate::rows::rows;

const GO: &str = "func serve(c *Conn) {\n\tfor {\n\t\tif err := c.Next(); err != nil {\n\t\t\treturn\n\t\t}\n\t}\n}\n";
const PYTHON: &str = "import math\n\ndef area(r):\n    return math.pi * r ** 2\n\ndef ring(r, s):\n    return area(r) - area(s)\n";

/// The codes and the rungs are literal types in Python and TypeScript.
#[test]
fn the_types_of_the_bindings_name_every_code_and_rung() {
    let names = EditCode::ALL.iter().map(|code| code.as_str());
    let names = names.chain(restitch::edit::Rung::ALL.iter().map(|rung| rung.as_str()));
    let python = text_of("bindings/python/python/restitch_edit/_types.py");
    let typescript = text_of("bindings/node/results.d.cts");
    for name in names {
        assert!(python.contains(&format!("    \"{name}\",\n")), "_types.py lacks {name}");
        assert!(typescript.contains(&format!("  | '{name}'\n")), "results.d.cts lacks {name}");
    }
}

/// One code on the page.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    code: String,
    #[serde(flatten)]
    shown: Shown,
    /// What the caller does.
    #[serde(default)]
    next: String,
}

/// Where the message on the page comes from.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Shown {
    /// A call that is refused with it, made by the real program.
    Call(String, Value),
    /// A message that no single call brings about, with the file of the source that has it, and
    /// its words there.
    Text(String, String, String),
}

use Shown::{Call, Text};

fn fill(root: &Path) {
    let files: &[(&str, &[u8])] = &[
        ("server.go", GO.as_bytes()),
        ("area.py", PYTHON.as_bytes()),
        ("call.js", b"g(f( a,b ));\n"),
        ("say.js", b"say(\"hi\");\n"),
        ("ports.ini", b"[a]\nport = 80\n[b]\nport = 80\n"),
        ("logo.png", b"\x89PNG\r\n\0\0"),
        ("latin.txt", b"caf\xe9, pr\xeat \xe0 porter\n"),
        ("locked.txt", b"one\n"),
    ];
    for (name, bytes) in files {
        fs::write(root.join(name), bytes).expect("file");
    }
    let locked = root.join("locked.txt");
    let mut rights = fs::metadata(&locked).expect("file").permissions();
    rights.set_readonly(true);
    fs::set_permissions(&locked, rights).expect("read-only");
}

/// What the program answers to each call. All are refused, so the files stay as they are.
fn messages(calls: &[(&str, Value)]) -> Vec<String> {
    let project = Project::new();
    fill(&project.root());
    let replies = project.answers(calls);
    replies.iter().map(|reply| reply["message"].as_str().expect("message").to_owned()).collect()
}

/// Sentences of a message, without the lines of files and diffs that it shows.
fn sentences(message: &str) -> usize {
    let own =
        message.lines().enumerate().filter(|(at, line)| *at == 0 || line.starts_with("Next: "));
    own.map(|(_, line)| 1 + line.matches(". ").count()).sum()
}

#[test]
#[cfg_attr(windows, ignore = "the paths that it expects are those of Unix")]
fn every_code_has_its_meaning_its_message_and_what_to_do() {
    let entries: Vec<Entry> = rows(include_str!("codes.jsonl"));
    let codes: Vec<&str> = entries.iter().map(|entry| entry.code.as_str()).collect();
    let all: Vec<&str> = EditCode::ALL.iter().map(|code| code.as_str()).collect();
    assert_eq!(codes, all, "every code, in the order of the table in the code");
    let calls: Vec<(&str, Value)> = entries
        .iter()
        .filter_map(|entry| match &entry.shown {
            Call(tool, arguments) => Some((tool.as_str(), arguments.clone())),
            Text(..) => None,
        })
        .collect();
    let answers = messages(&calls);
    assert_eq!(answers.len(), calls.len());
    let mut answers = answers.into_iter();
    let source = text_of("src/edit/error.rs");
    let mut page = String::new();
    for (entry, code) in entries.iter().zip(EditCode::ALL) {
        let message = match &entry.shown {
            Call(..) => answers.next().expect("an answer"),
            Text(text, file, words) => {
                assert!(text_of(file).contains(words.as_str()), "{file} has no `{words}`");
                text.clone()
            }
        };
        assert!(message.starts_with(&format!("{code}: ")), "{code}: {message}");
        assert!(sentences(&message) <= 4, "{code} takes more than four sentences: {message}");
        let meaning = comment(&source, &format!("{code:?}"));
        let shown = format!("## {code}\n\n{meaning}\n\n```text\n{}\n```", message.trim_end());
        let parts = [shown.as_str(), &entry.next];
        let parts = parts.into_iter().filter(|part| !part.is_empty());
        page.extend(parts.flat_map(|part| [part, "\n\n"]));
    }
    check_part("docs/reference/codes.md", "codes", &page);
}
