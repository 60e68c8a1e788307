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
            "edit_no_occurrence_found: Failed to edit, 0 occurrences found for old_str in src/a.rs.",
        ),
        (Dialect::Opencode, "Could not find old_str in the file."),
        (
            Dialect::Codex,
            "apply_patch verification failed: Failed to find expected lines in src/a.rs: ",
        ),
    ] {
        let tools = toolbox(&[("src/a.rs", FILE)]).with_dialect(dialect);
        // Codex's words name its tool, so they are its alone.
        let (tool, arguments) = match dialect {
            Dialect::Codex => (
                "apply_patch",
                json!({ "patch": "*** Begin Patch\n*** Update File: src/a.rs\n@@\n-nowhere({a})\n+x\n*** End Patch" }),
            ),
            _ => (
                "edit_file",
                json!({ "path": "src/a.rs", "old_str": "nowhere({a})", "new_str": "x" }),
            ),
        };
        let plain = json!({ "path": "src/a.rs", "old_str": "nowhere({a})", "new_str": "x" });
        let other = call(&tools, "edit_file", plain).await.message;
        assert!(!other.contains("apply_patch"), "{dialect}: {other}");
        let reply = call(&tools, tool, arguments).await;
        assert!(!reply.ok);
        assert!(reply.message.starts_with(first), "{dialect}: {}", reply.message);
        assert_eq!(reply.report["code"], "EDIT_NO_OCCURRENCE_FOUND", "{dialect}");
        assert_eq!(text(&tools, "src/a.rs").await, FILE);
    }
}

#[tokio::test]
async fn the_text_editor_tool_views_creates_replaces_and_inserts() {
    let tools = toolbox(&[("a.txt", "one\ntwo\nthree")]);
    let tool = "str_replace_based_edit_tool";
    let view =
        call(&tools, tool, json!({"command": "view", "path": "a.txt", "view_range": [2, -1]}))
            .await;
    assert_eq!(view.report["text"], "2: two\n3: three\n");
    for (arguments, after) in [
        (
            json!({"command": "insert", "path": "a.txt", "insert_line": 0, "insert_text": "zero"}),
            "zero\none\ntwo\nthree",
        ),
        (json!({"command": "view", "path": "a.txt"}), "zero\none\ntwo\nthree"),
        (
            json!({"command": "insert", "path": "a.txt", "insert_line": 2, "new_str": "half\n"}),
            "zero\none\nhalf\ntwo\nthree",
        ),
        (json!({"command": "view", "path": "a.txt"}), "zero\none\nhalf\ntwo\nthree"),
        (
            json!({"command": "insert", "path": "a.txt", "insert_line": 5, "insert_text": "end"}),
            "zero\none\nhalf\ntwo\nthree\nend",
        ),
        (
            json!({"command": "str_replace", "path": "a.txt", "old_str": "half\n"}),
            "zero\none\ntwo\nthree\nend",
        ),
        (
            json!({"command": "str_replace", "path": "a.txt", "old_str": "two", "new_str": "2"}),
            "zero\none\n2\nthree\nend",
        ),
        (json!({"command": "view", "path": "a.txt"}), "zero\none\n2\nthree\nend"),
        // A line that repeats the one above it is meant.
        (
            json!({"command": "insert", "path": "a.txt", "insert_line": 2, "insert_text": "one\nmore\n\n"}),
            "zero\none\none\nmore\n\n2\nthree\nend",
        ),
    ] {
        let reply = call(&tools, tool, arguments.clone()).await;
        assert!(reply.ok, "{arguments}: {}", reply.message);
        assert_eq!(text(&tools, "a.txt").await, after, "{arguments}");
    }
    let made =
        call(&tools, tool, json!({"command": "create", "path": "b.txt", "file_text": "new\n"}))
            .await;
    assert!(made.ok, "{}", made.message);
    let again =
        call(&tools, tool, json!({"command": "create", "path": "b.txt", "file_text": "other\n"}))
            .await;
    assert!(!again.ok);
    assert_eq!(text(&tools, "b.txt").await, "new\n");
    let lost = call(
        &tools,
        tool,
        json!({"command": "insert", "path": "a.txt", "insert_line": 99, "insert_text": "x"}),
    )
    .await;
    assert!(lost.message.contains("has 8 lines"), "{}", lost.message);
    let missing =
        call(&tools, tool, json!({"command": "insert", "path": "a.txt", "insert_line": 1})).await;
    assert!(missing.message.contains("needs `insert_text`"), "{}", missing.message);
}

/// The forms of other clients do what `edit_file` does.
#[tokio::test]
async fn other_clients_forms_edit_the_same() {
    for (name, arguments) in [
        ("edit", json!({"file_path": "a.rs", "old_string": "part();", "new_string": "whole();"})),
        (
            "Edit",
            json!({"file_path": "a.rs", "old_string": "part();", "new_string": "whole();", "replace_all": false}),
        ),
        (
            "replace",
            json!({"file_path": "a.rs", "instruction": "rename", "old_string": "part();", "new_string": "whole();"}),
        ),
        (
            "edit_file",
            json!({"filePath": "a.rs", "oldString": "part();", "newString": "whole();", "replaceAll": true}),
        ),
    ] {
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
    assert!(
        reply.message.starts_with(
            "Success. Updated the following files:\nM a.rs\nA b.rs\nD c.rs\nA e.rs\nD d.rs"
        ),
        "{}",
        reply.message
    );
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
