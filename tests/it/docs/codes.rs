//! The page of codes: each with its meaning, a message as the program prints it, and what to
//! do. It is also the one page on which all refusals can be read together.

use std::fs;
use std::path::Path;

use restitch::edit::EditCode;
use serde_json::{Value, json};

use super::tables::comment;
use super::{Project, check_part, text_of};

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
struct Entry {
    code: EditCode,
    /// What the caller does.
    next: &'static str,
    shown: Shown,
}

/// Where the message on the page comes from.
enum Shown {
    /// A call that is refused with it, made by the real program.
    Call(&'static str, fn() -> Value),
    /// A message that no single call brings about, with the file of the source that has it, and
    /// its words there.
    Text(&'static str, &'static str, &'static str),
}

use Shown::{Call, Text};

fn entries() -> Vec<Entry> {
    let entry = |code, next, shown| Entry { code, next, shown };
    vec![
        entry(
            EditCode::NoOccurrence,
            "If `report.conflicts` is set, the place is known: only the lines listed there are out of date.",
            Call(
                "edit_file",
                || json!({ "path": "server.go", "old_str": "\t\tif err := c.Last(); err != nil {", "new_str": "\t\tif err := c.Close(); err != nil {" }),
            ),
        ),
        entry(
            EditCode::OccurrenceMismatch,
            "",
            Call(
                "edit_file",
                || json!({ "path": "ports.ini", "old_str": "port = 80", "new_str": "port = 8080" }),
            ),
        ),
        entry(
            EditCode::NoChange,
            "",
            Call(
                "edit_file",
                || json!({ "path": "ports.ini", "old_str": "[a]", "new_str": "[a]" }),
            ),
        ),
        entry(
            EditCode::AlreadyApplied,
            "",
            Call(
                "edit_file",
                || json!({ "path": "area.py", "old_str": "    return 3 * r ** 2", "new_str": "    return math.pi * r ** 2" }),
            ),
        ),
        entry(
            EditCode::InvalidPath,
            "",
            Call(
                "edit_file",
                || json!({ "path": "../other/area.py", "old_str": "a", "new_str": "b" }),
            ),
        ),
        entry(
            EditCode::FileNotFound,
            "",
            Call("edit_file", || json!({ "path": "aera.py", "old_str": "a", "new_str": "b" })),
        ),
        entry(
            EditCode::ReadError,
            "The cause is not the call. Check the file's permissions and the disk.",
            Text(
                "EDIT_FILE_READ_ERROR: cannot read `PATH`: ERROR",
                "src/store/refusals.rs",
                "cannot read `{path}`: {error}",
            ),
        ),
        entry(
            EditCode::WriteError,
            "",
            Call(
                "edit_file",
                || json!({ "path": "locked.txt", "old_str": "one", "new_str": "two" }),
            ),
        ),
        entry(
            EditCode::CreateExisting,
            "",
            Call("edit_file", || json!({ "path": "area.py", "old_str": "", "new_str": "x = 1\n" })),
        ),
        entry(
            EditCode::Conflict,
            "",
            Text(
                "EDIT_CONFLICT: `PATH` was changed where the edit goes, after it was read (REASON)\nNext: Nothing was written. Send the same call again.",
                "src/store/commit.rs",
                "was changed where the edit goes, after it was read",
            ),
        ),
        entry(
            EditCode::Ambiguous,
            "",
            Call(
                "edit_file",
                || json!({ "path": "say.js", "old_str": "say(`hi`);", "new_str": "say(`hi ${name}`);" }),
            ),
        ),
        entry(
            EditCode::StaleAnchor,
            "",
            Call(
                "hashline_edit",
                || json!({ "path": "area.py", "edits": [{ "op": "replace", "pos": "4#ZZ", "lines": ["    return 0"] }] }),
            ),
        ),
        entry(
            EditCode::NotText,
            "",
            Call("edit_file", || json!({ "path": "logo.png", "old_str": "PNG", "new_str": "GIF" })),
        ),
        entry(
            EditCode::TooLarge,
            "[Limits](../limits.md) lists all size limits.",
            Call("search", || json!({ "keyword": "x".repeat(1001) })),
        ),
        entry(
            EditCode::Overlap,
            "",
            Call("multi_edit", || {
                json!({ "edits": [
                { "path": "area.py", "old_str": "def area(r):\n    return math.pi * r ** 2", "new_str": "def area(r):\n    return 3" },
                { "path": "area.py", "old_str": "    return math.pi * r ** 2\n", "new_str": "    return 4\n" },
            ] })
            }),
        ),
        entry(
            EditCode::Omission,
            "",
            Call(
                "edit_file",
                || json!({ "path": "area.py", "old_str": "def ring(r, s):\n    return area(r) - area(s)", "new_str": "def ring(r, s):\n    # ... existing code ..." }),
            ),
        ),
        entry(
            EditCode::Syntax,
            "",
            Call(
                "edit_file",
                || json!({ "path": "call.js", "old_str": "f(a, b)", "new_str": "f(a, b) // checked" }),
            ),
        ),
        entry(
            EditCode::Blocked,
            "If the guard blocks the call, take the step that the message names.",
            Call("edit_file", || json!({ "path": ".git/config", "old_str": "", "new_str": "x" })),
        ),
        entry(
            EditCode::Unencodable,
            "",
            Call(
                "edit_file",
                || json!({ "path": "latin.txt", "old_str": "café", "new_str": "café ✓" }),
            ),
        ),
        entry(
            EditCode::InvalidArguments,
            "",
            Call("edit_file", || json!({ "path": "area.py", "old_strng": "a", "new_str": "b" })),
        ),
    ]
}

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
    let entries = entries();
    let codes: Vec<EditCode> = entries.iter().map(|entry| entry.code).collect();
    assert_eq!(codes, EditCode::ALL, "every code, in the order of the table in the code");
    let calls: Vec<(&str, Value)> = entries
        .iter()
        .filter_map(|entry| match &entry.shown {
            Call(tool, arguments) => Some((*tool, arguments())),
            Text(..) => None,
        })
        .collect();
    let answers = messages(&calls);
    assert_eq!(answers.len(), calls.len());
    let mut answers = answers.into_iter();
    let source = text_of("src/edit/error.rs");
    let mut page = String::new();
    for entry in &entries {
        let code = entry.code;
        let message = match entry.shown {
            Call(..) => answers.next().expect("an answer"),
            Text(text, file, words) => {
                assert!(text_of(file).contains(words), "{file} has no `{words}`");
                text.to_owned()
            }
        };
        assert!(message.starts_with(&format!("{code}: ")), "{code}: {message}");
        assert!(sentences(&message) <= 4, "{code} takes more than four sentences: {message}");
        let meaning = comment(&source, &format!("{code:?}"));
        let shown = format!("## {code}\n\n{meaning}\n\n```text\n{}\n```", message.trim_end());
        let parts = [shown.as_str(), entry.next];
        let parts = parts.into_iter().filter(|part| !part.is_empty());
        page.extend(parts.flat_map(|part| [part, "\n\n"]));
    }
    check_part("docs/reference/codes.md", "codes", &page);
}
