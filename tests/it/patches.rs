//! Where a hunk of a patch goes.

use restitch::tools::ToolReply;
use serde_json::json;

use crate::in_memory::{call, text, toolbox};

/// The file after the patch, or the refusal.
async fn apply_to(name: &str, file: &str, body: &str) -> Result<String, ToolReply> {
    let tools = toolbox(&[(name, file)]);
    let patch = format!("*** Begin Patch\n*** Update File: {name}\n{body}*** End Patch");
    let reply = call(&tools, "apply_patch", json!({ "patch": patch })).await;
    let after = text(&tools, name).await;
    if reply.ok {
        return Ok(after);
    }
    assert_eq!(after, file, "refused: {body}");
    Err(reply)
}

async fn apply(file: &str, body: &str) -> Result<String, ToolReply> {
    apply_to("a", file, body).await
}

async fn assert_applied(file: &str, body: &str, after: &str) {
    let applied = apply(file, body).await.map_err(|reply| reply.message);
    assert_eq!(applied.as_deref(), Ok(after), "{body}");
}

#[tokio::test]
async fn hunks_apply_on_whole_lines_and_keep_endings() {
    for (file, body, after) in [
        ("a\nb\nc\n", " a\n-b\n+B\n c\n", "a\nB\nc\n"),
        ("a\r\nb\r\nc", "-c\n+C\n+D\n", "a\r\nb\r\nC\r\nD"),
        ("a\nb\nc", "-c\n", "a\nb"),
        ("a\nb", "+c\n", "a\nb\nc"),
        ("a\nb\n", "+c\n", "a\nb\nc\n"),
        ("x\na\nx\na\n", "@@\n-a\n+b\n*** End of File\n", "x\na\nx\nb\n"),
        ("f:\n a\ng:\n a\n", "@@ g:\n- a\n+ b\n", "f:\n a\ng:\n b\n"),
        (
            "A\n f\n  x\nB\n f\n  x\n  x\n",
            "@@ B\n@@  f\n-  x\n+  y\n*** End of File\n",
            "A\n f\n  x\nB\n f\n  x\n  y\n",
        ),
        ("f:\n a\ng:\n a\n", "@@ -4,1 +4,1 @@\n- a\n+ b\n", "f:\n a\ng:\n b\n"),
        ("a\na\n", "-a\n-a\n+b\n", "b\n"),
        ("1\n2\n3\n4\n", "@@\n-1\n+one\n@@\n-4\n+four\n", "one\n2\n3\nfour\n"),
        ("k\n", "@@ k\n+new\n", "k\nnew\n"),
        ("a\nb\n", "@@ -2,0 +3,1 @@\n+c\n", "a\nb\nc\n"),
        // The old last line had no newline; the one above it, now the last, has one.
        ("a\n\nc", " a\n \n-c\n\\ No newline at end of file\n", "a\n\n"),
        ("a\nb", "-b\n\\ No newline at end of file\n", "a\n"),
        ("a\nb", " a\n-b\n\\ No newline at end of file\n", "a\n"),
        ("a\r\nb", "-b\n\\ No newline at end of file\n", "a\r\n"),
        ("a\nb", "-b\n\\ No newline at end of file\n+\n", "a\n\n"),
        ("a", "-a\n\\ No newline at end of file\n", ""),
    ] {
        assert_applied(file, body, after).await;
    }
}

#[tokio::test]
async fn the_name_of_the_file_tells_the_language_of_a_slip() {
    let body = "-    return  1\n+    return 2\n";
    for (name, file) in [("h.py", "def f():\n    return 1\n"), ("q.go", "f() {\n    return 1\n}\n")]
    {
        let applied = apply_to(name, file, body).await;
        assert_eq!(applied.map_err(|reply| reply.message), Ok(file.replace('1', "2")), "{name}");
    }
}

#[tokio::test]
async fn ambiguous_absent_and_partial_hunks_are_refused() {
    let twice = apply("a\nb\na\n", "-a\n+c\n").await.expect_err("two places");
    assert_eq!(twice.report["code"], "EDIT_EXPECTED_OCCURRENCE_MISMATCH");
    assert!(twice.message.contains("2 places (at lines 1, 3)"), "{}", twice.message);
    let absent = apply("a\nb\n", "-zzz\n+c\n").await.expect_err("absent");
    assert_eq!(absent.report["code"], "EDIT_NO_OCCURRENCE_FOUND");
    let inside = apply("    call();\n", "-call();\n+done();\n").await;
    assert!(inside.is_ok_and(|after| after == "    done();\n"));
    assert!(apply("a\n", "@@ nowhere\n+x\n").await.is_err());
    for line in [1, 9] {
        let bare = apply("a\nb\n", &format!("@@ -{line},3 +{line},4 @@\n+x\n")).await;
        assert!(bare.is_err(), "line {line} alone is no place");
    }
}

const TWO: &str = "def a():\n    x = 1\n    return x\n\ndef b():\n    x = 2\n    return x\n\ndef c():\n    x = 3\n    return x\n";

/// A hunk goes where its header says, or nowhere.
#[tokio::test]
async fn headers_bound_the_place() {
    let after = TWO.replacen("x = 2\n    return x", "x = 2\n    return 2 * x", 1);
    assert_applied(TWO, "@@ def b():\n-    return x\n+    return 2 * x\n", &after).await;
    for (body, says) in [
        // It fits only above its header, and only below the header's own lines.
        ("@@ def b():\n-    x = 1\n+    x = 9\n", "line 2,"),
        ("@@ def b():\n-    x = 3\n+    x = 9\n", "line 10,"),
        // So does a hunk that is not there as it is.
        ("@@ def b():\n-  x = 1\n-  return x\n+  x = 9\n+  return x\n", "`def b():`"),
        ("@@ def bb():\n-    x = 2\n+    x = 9\n", "`def b():`"),
        ("@@ def b():\n@@ x = 1\n-    return x\n+    return 9\n", "x = "),
    ] {
        let refused = apply(TWO, body).await.expect_err(body);
        assert_eq!(refused.report["code"], "EDIT_NO_OCCURRENCE_FOUND", "{body}");
        assert!(refused.message.contains(says), "{body}: {}", refused.message);
    }
    let after = TWO.replace("x = 2", "x = 9");
    assert_applied(TWO, "@@ def b():\n-  x = 2\n+  x = 9\n", &after).await;
}

/// Of two headers that read the same, the one whose lines the hunk fits.
#[tokio::test]
async fn equal_headers_are_distinguished_by_the_hunk_and_outer_headers() {
    let file = "class A:\n    def run(self):\n        return 1\n\nclass B:\n    def run(self):\n        return 2\n";
    let after = file.replace("return 2", "return 9");
    for body in [
        "@@ def run(self):\n-        return 2\n+        return 9\n",
        "@@ class B:\n@@ def run(self):\n-        return 2\n+        return 9\n",
    ] {
        assert_applied(file, body, &after).await;
    }
    let wrong = "@@ class A:\n@@ def run(self):\n-        return 2\n+        return 9\n";
    assert!(apply(file, wrong).await.is_err());
    let braces = "void a()\n{\n    x();\n}\n\nvoid b()\n{\npublic:\n    x();\n}\n";
    let body = "@@ void b()\n-    x();\n+    y();\n";
    let after = "void a()\n{\n    x();\n}\n\nvoid b()\n{\npublic:\n    y();\n}\n";
    assert_applied(braces, body, after).await;
}

#[tokio::test]
async fn the_three_forms_say_the_same() {
    let v4a = "*** Begin Patch\n*** Update File: a.rs\n@@\n one\n-two\n+2\n three\n*** End Patch";
    let unified = "--- a/a.rs\n+++ b/a.rs\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n";
    let blocks = "a.rs\n```\n<<<<<<< SEARCH\none\ntwo\nthree\n=======\none\n2\nthree\n>>>>>>> REPLACE\n```\n";
    let file = "one\ntwo\nthree\n";
    for patch in [
        v4a.to_owned(),
        format!("apply_patch <<'EOF'\n{v4a}\nEOF"),
        format!("```\n{v4a}\n```\n"),
        unified.into(),
        blocks.into(),
    ] {
        let tools = toolbox(&[("a.rs", file)]);
        let reply = call(&tools, "apply_patch", json!({ "patch": patch })).await;
        assert!(reply.ok, "{patch}\n{}", reply.message);
        assert_eq!(text(&tools, "a.rs").await, "one\n2\nthree\n", "{patch}");
    }
    for patch in [
        "",
        "hello",
        "*** Begin Patch\n*** Update File: a.rs\n-two\n+y",
        "*** Begin Patch\n*** End Patch",
    ] {
        let tools = toolbox(&[("a.rs", file)]);
        assert!(!call(&tools, "apply_patch", json!({ "patch": patch })).await.ok, "{patch}");
        assert_eq!(text(&tools, "a.rs").await, file, "{patch}");
    }
}
