//! Tool forms and dialects over the public library.

use std::collections::BTreeMap;

use restitch::internals::tools::Dialect;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::in_memory::{call, text, toolbox};
use crate::rows::rows;

const FILE: &str = "fn main() {\n    greet();\n    greet();\n    part();\n}\n";

/// A refused call, and what its text says and does not say.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Said {
    files: BTreeMap<String, String>,
    tool: String,
    call: Value,
    says: Vec<String>,
    never: Vec<String>,
}

#[tokio::test]
async fn a_refusal_names_the_cause_and_the_argument() {
    for Said { files, tool, call: arguments, says, never } in rows(include_str!("said.jsonl")) {
        let named: Vec<_> = files.iter().map(|(path, text)| (&**path, &**text)).collect();
        let tools = toolbox(&named);
        let reply = call(&tools, &tool, arguments.clone()).await;
        assert!(!reply.ok, "{arguments}");
        for part in says {
            assert!(reply.message.contains(&part), "{arguments}: {part}: {}", reply.message);
        }
        for part in never {
            assert!(!reply.message.contains(&part), "{arguments}: {part}: {}", reply.message);
        }
        for (path, before) in named {
            assert_eq!(text(&tools, path).await, before, "{arguments}");
        }
    }
}

#[tokio::test]
async fn dialects_word_refusals_as_their_tools_do() {
    for (dialect, first) in [
        (Dialect::Restitch, "EDIT_NO_OCCURRENCE_FOUND: "),
        (Dialect::Anthropic, "Error: No match found for replacement."),
        (Dialect::ClaudeCode, "String to replace not found in file.\nString: nowhere({a})"),
        (
            Dialect::Gemini,
            "edit_no_occurrence_found: Failed to edit, 0 occurrences found for old_str",
        ),
        (Dialect::Opencode, "Could not find old_str in the file."),
        (
            Dialect::Codex,
            "apply_patch verification failed: Failed to find expected lines in src/a.rs",
        ),
    ] {
        let tools = toolbox(&[("src/a.rs", FILE)]).with_dialect(dialect);
        let plain = json!({ "path": "src/a.rs", "old_str": "nowhere({a})", "new_str": "x" });
        let mut reply = call(&tools, "edit_file", plain).await;
        assert!(!reply.message.contains("apply_patch"), "{dialect}: {}", reply.message);
        if dialect == Dialect::Codex {
            // Codex's words name its tool, so they are its alone.
            let patch =
                "*** Begin Patch\n*** Update File: src/a.rs\n@@\n-nowhere({a})\n+x\n*** End Patch";
            reply = call(&tools, "apply_patch", json!({ "patch": patch })).await;
        }
        assert!(!reply.ok);
        assert!(reply.message.starts_with(first), "{dialect}: {}", reply.message);
        assert_eq!(reply.report["code"], "EDIT_NO_OCCURRENCE_FOUND", "{dialect}");
        assert_eq!(text(&tools, "src/a.rs").await, FILE);
    }
}

#[tokio::test]
async fn the_text_editor_tool_views_creates_replaces_and_inserts() {
    let tools = toolbox(&[("a.txt", "one\ntwo\nthree")]);
    let run = async |command: &str, path: &str, mut arguments: Value| {
        arguments["command"] = command.into();
        arguments["path"] = path.into();
        call(&tools, "str_replace_based_edit_tool", arguments).await
    };
    let view = run("view", "a.txt", json!({"view_range": [2, -1]})).await;
    assert_eq!(view.report["text"], "2: two\n3: three\n");
    let insert = |line: usize, name: &str, text: &str| json!({"insert_line": line, name: text});
    for (command, arguments, after) in [
        ("insert", insert(0, "insert_text", "zero"), "zero\none\ntwo\nthree"),
        ("view", json!({}), "zero\none\ntwo\nthree"),
        ("insert", insert(2, "new_str", "half\n"), "zero\none\nhalf\ntwo\nthree"),
        ("view", json!({}), "zero\none\nhalf\ntwo\nthree"),
        ("insert", insert(5, "insert_text", "end"), "zero\none\nhalf\ntwo\nthree\nend"),
        ("str_replace", json!({"old_str": "half\n"}), "zero\none\ntwo\nthree\nend"),
        ("str_replace", json!({"old_str": "two", "new_str": "2"}), "zero\none\n2\nthree\nend"),
        ("view", json!({}), "zero\none\n2\nthree\nend"),
        // A line that repeats the one above it is meant.
        (
            "insert",
            insert(2, "insert_text", "one\nmore\n\n"),
            "zero\none\none\nmore\n\n2\nthree\nend",
        ),
    ] {
        let reply = run(command, "a.txt", arguments).await;
        assert!(reply.ok, "{command}, {after:?}: {}", reply.message);
        assert_eq!(text(&tools, "a.txt").await, after, "{command}");
    }
    let made = run("create", "b.txt", json!({"file_text": "new\n"})).await;
    assert!(made.ok, "{}", made.message);
    assert!(!run("create", "b.txt", json!({"file_text": "other\n"})).await.ok);
    assert_eq!(text(&tools, "b.txt").await, "new\n");
    let lost = run("insert", "a.txt", insert(99, "insert_text", "x")).await;
    assert!(lost.message.contains("has 8 lines"), "{}", lost.message);
    let missing = run("insert", "a.txt", json!({"insert_line": 1})).await;
    assert!(missing.message.contains("needs `insert_text`"), "{}", missing.message);
}

/// The forms of other clients do what `edit_file` does.
#[tokio::test]
async fn other_clients_forms_edit_the_same() {
    let names = ["file_path", "old_string", "new_string"];
    for (name, [path, old, new], more) in [
        ("edit", names, json!({})),
        ("Edit", names, json!({"replace_all": false})),
        ("replace", names, json!({"instruction": "rename"})),
        ("edit_file", ["filePath", "oldString", "newString"], json!({"replaceAll": true})),
    ] {
        let mut arguments = more;
        for (name, value) in [(path, "a.rs"), (old, "part();"), (new, "whole();")] {
            arguments[name] = value.into();
        }
        let tools = toolbox(&[("a.rs", FILE)]);
        let reply = call(&tools, name, arguments).await;
        assert!(reply.ok, "{name}: {}", reply.message);
        assert_eq!(text(&tools, "a.rs").await, FILE.replace("part();", "whole();"), "{name}");
    }
}

const V4A: &str = "*** Begin Patch
*** Update File: a.rs
@@ fn main() {
-    part();
+    whole();
*** Add File: b.rs
+fn b() {}
*** Delete File: c.rs
*** Update File: d.rs
*** Move to: e.rs
@@
-old
+new
*** End Patch";

#[tokio::test]
async fn a_patch_applies_to_all_files_or_to_none() {
    let files = [("a.rs", FILE), ("c.rs", "c\n"), ("d.rs", "old\nrest\n")];
    let tools = toolbox(&files);
    let reply = call(&tools, "apply_patch", json!({ "input": V4A })).await;
    assert!(reply.ok, "{}", reply.message);
    let files_of_it = ":\nM a.rs\nA b.rs\nD c.rs\nA e.rs\nD d.rs";
    assert!(reply.message.contains(files_of_it), "{}", reply.message);
    assert_eq!(text(&tools, "a.rs").await, FILE.replace("part", "whole"));
    assert_eq!(text(&tools, "b.rs").await, "fn b() {}\n");
    assert_eq!(text(&tools, "e.rs").await, "new\nrest\n");
    for gone in ["c.rs", "d.rs"] {
        let path = tools.engine().path(gone).expect("path");
        assert!(tools.engine().snapshot(&path).await.is_err(), "{gone}");
    }

    let tools = toolbox(&files);
    let bad = V4A.replace("-old", "-odd one out");
    let reply = call(&tools, "apply_patch", json!({ "patch": bad })).await;
    assert!(!reply.ok);
    assert_eq!(reply.report["path"], "d.rs");
    for (path, before) in files {
        assert_eq!(text(&tools, path).await, before, "{path}");
    }
}
