//! Hooks, stdin to stdout, with recorded inputs of each client. In the files, `$ROOT` is
//! the workspace, a `*` in an expected text stands for any text.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::server::{RunOutput, restitch, restitch_at};

const APP: &str = "import math\n\ndef total(items):\n    sum = 0\n    for item in items:\n        sum += item.price\n    return sum\n";

fn workspace() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("folder");
    std::fs::create_dir(dir.path().join("src")).expect("src");
    std::fs::write(dir.path().join("src/app.py"), APP).expect("file");
    dir
}

/// Whether `got` is what `want` describes.
fn fits(want: &Value, got: &Value) -> bool {
    match (want, got) {
        (Value::String(want), Value::String(got))
            if want.contains('*') && !want.starts_with("***") =>
        {
            let mut rest = got.as_str();
            want.split('*').all(|part| match rest.find(part) {
                Some(at) => {
                    rest = &rest[at + part.len()..];
                    true
                }
                None => false,
            })
        }
        (Value::Object(want), Value::Object(got)) => {
            want.len() == got.len()
                && want.iter().all(|(key, want)| got.get(key).is_some_and(|got| fits(want, got)))
        }
        (Value::Array(want), Value::Array(got)) => {
            want.len() == got.len() && want.iter().zip(got).all(|(want, got)| fits(want, got))
        }
        (want, got) => want == got,
    }
}

#[tokio::test]
#[cfg_attr(windows, ignore = "the paths that it expects are those of Unix")]
async fn recorded_inputs_get_their_answers() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/agents/hooks");
    let mut wrong = Vec::new();
    let mut count = 0;
    for entry in std::fs::read_dir(folder).expect("recordings") {
        let path = entry.expect("entry").path();
        let name = path.file_stem().expect("name").to_string_lossy().into_owned();
        let dir = workspace();
        let root = dir.path().canonicalize().expect("root");
        let text = std::fs::read_to_string(&path).expect("recording");
        let text = text.replace("$ROOT", &root.display().to_string());
        let case: Value = serde_json::from_str(&text).expect("JSON");
        let word = |key: &str| case[key].as_str().expect("word");
        // The client's process is elsewhere; only `cwd` says where the files are.
        let elsewhere = tempfile::tempdir().expect("folder");
        let args = ["hook", word("client"), word("event")];
        let ran = restitch(elsewhere.path(), &args, &case["input"].to_string()).await;
        let got = match ran.stdout.trim() {
            "" => Value::Null,
            text => serde_json::from_str(text).unwrap_or_else(|e| panic!("{name}: {e}: {text}")),
        };
        if ran.code != 0 || !fits(&case["output"], &got) {
            wrong.push(format!(
                "{name} (exit {}):\n want {}\n got  {got}\n {}",
                ran.code, case["output"], ran.stderr
            ));
        }
        let after = std::fs::read_to_string(root.join("src/app.py")).expect("file");
        assert_eq!(after, APP, "{name}: a hook wrote a file");
        count += 1;
    }
    println!("{count} recorded hook inputs, {} wrong", wrong.len());
    assert!(wrong.is_empty() && count > 10, "{}", wrong.join("\n"));
}

/// Rewritten calls apply exactly, as the client will apply them.
#[tokio::test]
#[cfg_attr(windows, ignore = "the paths that it expects are those of Unix")]
async fn rewritten_strings_occur_once() {
    let dir = workspace();
    let root = dir.path().canonicalize().expect("root");
    let input = serde_json::json!({
        "cwd": root, "hook_event_name": "BeforeTool", "tool_name": "replace",
        "tool_input": {
            "file_path": root.join("src/app.py"),
            "old_string": "for item in items:\n    sum += item.price\nreturn sum",
            "new_string": "for item in items:\n    sum += item.cost\nreturn sum",
        },
    });
    let ran = restitch(&root, &["hook", "gemini", "BeforeTool"], &input.to_string()).await;
    let answer: Value = serde_json::from_str(&ran.stdout).expect(&ran.stderr);
    let input = &answer["hookSpecificOutput"]["tool_input"];
    let (old, new) =
        (input["old_string"].as_str().expect("old"), input["new_string"].as_str().expect("new"));
    assert_eq!(APP.matches(old).count(), 1, "{old}");
    assert_eq!(APP.replace(old, new), APP.replace("item.price", "item.cost"));
}

/// What the client's own tool lands right is left to it: it reads CRLF lines as LF.
#[tokio::test]
async fn lines_that_end_in_crlf_are_no_reason_to_rewrite() {
    let dir = workspace();
    let file = dir.path().join("src/crlf.py");
    std::fs::write(&file, "def f():\r\n    x = 1\r\n    return x\r\n").expect("file");
    for (client, event, tool) in
        [("claude", "PreToolUse", "Edit"), ("gemini", "BeforeTool", "replace")]
    {
        let input = serde_json::json!({
            "cwd": dir.path(), "hook_event_name": event, "tool_name": tool,
            "tool_input": {
                "file_path": file,
                "old_string": "    x = 1\n    return x",
                "new_string": "    x = 2\n    return x",
            },
        });
        let ran = restitch(dir.path(), &["hook", client, event], &input.to_string()).await;
        assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{client}: {}", ran.stderr);
    }
}

/// Gemini CLI shows a model only what the hook after a call says, so that one tells of the
/// rescue, once.
#[tokio::test]
async fn the_hook_after_a_rescue_tells_of_it() {
    let dir = workspace();
    let call = |event: &str, given: &Value| {
        let mut input = serde_json::json!({
            "session_id": "s", "cwd": dir.path(), "hook_event_name": event,
            "tool_name": "replace", "tool_input": given,
        });
        if event == "AfterTool" {
            input["tool_response"] =
                serde_json::json!({ "llmContent": "Successfully modified file" });
        }
        input.to_string()
    };
    let given = serde_json::json!({
        "file_path": dir.path().join("src/app.py"),
        "old_string": "def total(items):\\n    sum = 0\\n",
        "new_string": "def total(items):\\n    sum = 1\\n",
    });
    let before =
        restitch(dir.path(), &["hook", "gemini", "BeforeTool"], &call("BeforeTool", &given)).await;
    let answer: Value = serde_json::from_str(&before.stdout).expect(&before.stderr);
    let rewritten = &answer["hookSpecificOutput"]["tool_input"];
    let after = async || {
        restitch(dir.path(), &["hook", "gemini", "AfterTool"], &call("AfterTool", rewritten)).await
    };
    let told = after().await.stdout;
    assert!(told.contains("restitch corrected your edit"), "{told}");
    assert_eq!(after().await.stdout, "", "told twice");
}

/// 2 means "block" to the callers: a hook ends with 0 or 1, whatever happens.
#[tokio::test]
async fn hooks_end_with_zero_or_one() {
    let dir = workspace();
    let run =
        async |args: &[&str], stdin: &str| -> RunOutput { restitch(dir.path(), args, stdin).await };
    for (args, stdin, code) in [
        (&["hook"][..], "", 1),
        (&["hook", "no-such-client", "PreToolUse"], "{}", 1),
        (&["hook", "claude", "PreToolUse", "--no-such-flag"], "{}", 1),
        (&["hook", "claude", "PreToolUse"], "not json", 1),
        (&["hook", "claude"], "{}", 1),
        (&["hook", "claude", "PreToolUse"], "{}", 0),
        (&["hook", "claude", "SomethingNew"], "{\"tool_name\":\"Edit\"}", 0),
        (
            &["hook", "claude", "PreToolUse"],
            "{\"cwd\":\"/no/such/folder\",\"tool_name\":\"Edit\"}",
            1,
        ),
        (&["hook", "--root", "/no/such", "codex", "PreToolUse"], "{}", 1),
    ] {
        let ran = run(args, stdin).await;
        assert_eq!(ran.code, code, "{args:?} {stdin}: {}", ran.stderr);
        assert_eq!(ran.stdout, "", "{args:?}");
        assert_eq!(code == 1, !ran.stderr.is_empty(), "{args:?}");
    }
    // A client that drops the arguments; Copilot CLI takes 1 for a denial, too.
    let bare = run(&[], "{}").await;
    assert_eq!((bare.code, bare.stdout.as_str()), (0, ""));
    assert!(bare.stderr.contains("Usage: restitch"), "{}", bare.stderr);
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(run(&["hook", "claude", "PreToolUse"], &deep).await.code, 1);
}

/// What lets edits through is written when the user agrees, and named with its reason when not;
/// doctor tries the edit.
#[tokio::test]
#[cfg_attr(windows, ignore = "the paths that it expects are those of Unix")]
async fn permissions_are_asked_for_and_checked() {
    let dir = workspace();
    let root = dir.path();
    let home = root.join("home");
    std::fs::create_dir(&home).expect("home");
    let run = async |args: &[&str]| restitch_at(root, &home, args).await;
    for (client, file, permission, trust) in [
        ("claude", ".claude/settings.json", "\"mcp__restitch\"", ".claude.json"),
        (
            "codex",
            ".codex/config.toml",
            "default_tools_approval_mode = \"approve\"",
            ".codex/config.toml",
        ),
        ("gemini", ".gemini/settings.json", "\"trust\": true", ".gemini/trustedFolders.json"),
    ] {
        let written = run(&["init", client, "--write"]).await;
        assert_eq!(written.code, 0, "{}", written.stdout);
        assert!(written.stdout.contains("As set up so far"), "{}", written.stdout);
        assert!(written.stdout.contains(permission), "{}", written.stdout);
        let text = std::fs::read_to_string(root.join(file)).expect("file");
        assert!(!text.contains(permission), "{text}");
        let doubts = run(&["doctor", "--client", client]).await;
        assert_eq!(doubts.code, 3, "{}", doubts.stdout);
        for words in ["--allow-edits", "bad   permission", "ok    edit"] {
            assert!(doubts.stdout.contains(words), "{client}, {words}: {}", doubts.stdout);
        }
        let agreed = run(&["init", client, "--write", "--allow-edits"]).await;
        assert_eq!(agreed.code, 0, "{}", agreed.stdout);
        let text = std::fs::read_to_string(root.join(file)).expect("file");
        assert!(text.contains(permission), "{text}");
        let text = std::fs::read_to_string(home.join(trust)).expect("file");
        let project = root.canonicalize().expect("root");
        assert!(text.contains(&project.display().to_string()), "{text}");
        let well = run(&["doctor", "--client", client]).await;
        assert!(well.stdout.contains("edited a test file"), "{}", well.stdout);
        assert!(!well.stdout.contains("bad   permission"), "{}", well.stdout);
    }
    let unknown = run(&["doctor", "--client", "no-such-client"]).await;
    assert_eq!(unknown.code, 2, "{}", unknown.stderr);
}

/// `init` prints for every client, and merging keeps what is there.
#[tokio::test]
#[cfg_attr(windows, ignore = "the paths that it expects are those of Unix")]
async fn init_prints_and_merges() {
    for client in [
        "claude", "codex", "gemini", "copilot", "cursor", "vscode", "opencode", "zed", "qwen",
        "cline", "kimi", "amp", "crush", "goose", "vibe",
    ] {
        let dir = workspace();
        let home = dir.path().join("home");
        let run = async |args: &[&str]| restitch_at(dir.path(), &home, args).await;
        let printed = run(&["init", client]).await;
        assert_eq!(printed.code, 0, "{client}: {}", printed.stderr);
        assert!(printed.stdout.contains("restitch"), "{client}");
        let first = run(&["init", client, "--write"]).await;
        assert_eq!(first.code, 0, "{client}: {}{}", first.stdout, first.stderr);
        assert!(first.stdout.contains(": created"), "{client}: {}", first.stdout);
        let again = run(&["init", client, "--write"]).await;
        assert!(
            !again.stdout.contains(": created") && !again.stdout.contains(": merged"),
            "{client}: {}",
            again.stdout
        );
    }
    // Tables of a list stand side by side, and YAML is left to the user.
    let dir = workspace();
    let home = dir.path().join("home");
    for (file, text) in [
        (".vibe/config.toml", "[[mcp_servers]]\nname = \"other\"\n"),
        (".config/goose/config.yaml", "extensions: {}\n"),
    ] {
        let file = home.join(file);
        std::fs::create_dir_all(file.parent().expect("folder")).expect("folder");
        std::fs::write(file, text).expect("file");
    }
    let vibe = restitch_at(dir.path(), &home, &["init", "vibe", "--write"]).await;
    assert_eq!(vibe.code, 0, "{}", vibe.stdout);
    let text = std::fs::read_to_string(home.join(".vibe/config.toml")).expect("file");
    assert!(
        text.starts_with(
            "[[mcp_servers]]\nname = \"other\"\n\n[[mcp_servers]]\nname = \"restitch\"\n"
        ),
        "{text}"
    );
    let goose = restitch_at(dir.path(), &home, &["init", "goose", "--write"]).await;
    assert_eq!(goose.code, 1, "{}", goose.stdout);
    let fresh = dir.path().join("fresh");
    let first = restitch_at(dir.path(), &fresh, &["init", "goose", "--write"]).await;
    assert_eq!(first.code, 0, "{}", first.stdout);
    let well = restitch_at(dir.path(), &fresh, &["doctor", "--client", "goose"]).await;
    assert_eq!(well.code, 0, "{}", well.stdout);
    let text = std::fs::read_to_string(home.join(".config/goose/config.yaml")).expect("file");
    assert_eq!(text, "extensions: {}\n");
    let dir = workspace();
    std::fs::create_dir(dir.path().join(".gemini")).expect("folder");
    let file = dir.path().join(".gemini/settings.json");
    std::fs::write(&file, "{\n    \"theme\": \"Dark\",\n    \"mcpServers\": {\n        \"other\": {\n            \"command\": \"x\"\n        }\n    }\n}\n").expect("file");
    restitch(dir.path(), &["init", "gemini", "--write"], "").await;
    let text = std::fs::read_to_string(&file).expect("file");
    assert!(text.starts_with("{\n    \"theme\": \"Dark\",\n    \"mcpServers\": {\n        \"other\": {\n            \"command\": \"x\"\n        },\n        \"restitch\""), "{text}");
    let commented = "{\n  // mine\n  \"a\": 1\n}\n";
    std::fs::write(&file, commented).expect("file");
    let refused = restitch(dir.path(), &["init", "gemini", "--write"], "").await;
    assert_eq!(refused.code, 1, "{}", refused.stdout);
    assert_eq!(std::fs::read_to_string(&file).expect("file"), commented);
    std::fs::create_dir(dir.path().join(".codex")).expect("folder");
    let toml = dir.path().join(".codex/config.toml");
    std::fs::write(&toml, "# mine\nmodel = \"x\"\n\n[mcp_servers.other]\ncommand = \"y\"\n")
        .expect("file");
    let merged = restitch(dir.path(), &["init", "codex", "--write"], "").await;
    assert_eq!(merged.code, 0, "{}", merged.stdout);
    let text = std::fs::read_to_string(&toml).expect("file");
    assert!(text.starts_with("# mine\nmodel = \"x\"\n\n[mcp_servers.other]\ncommand = \"y\"\n\n[mcp_servers.restitch]\n"), "{text}");
}

/// The files below a folder with their content, restitch's state left out.
fn files_below(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).expect("folder").flatten() {
        let path = entry.path();
        if path.is_dir() && !path.ends_with(".state") {
            found.extend(files_below(&path));
        } else if path.is_file() {
            let text = std::fs::read_to_string(&path).expect("text");
            found.insert(path, text);
        }
    }
    found
}

#[tokio::test]
async fn init_takes_out_what_it_wrote() {
    let json = "{\n    \"mcpServers\": { \"other\": { \"command\": \"x\" } },\n    \"hooks\": { \"PreToolUse\": [] },\n    \"n\": 1.0e+3\n}";
    let toml = "# mine\n[features]\nhooks = true\n\n[mcp_servers.other]\ncommand = \"y\"";
    for client in [
        "claude", "codex", "gemini", "copilot", "cursor", "vscode", "opencode", "zed", "qwen",
        "cline", "kimi", "amp", "crush", "goose", "vibe",
    ] {
        for with_files in [false, true] {
            let dir = workspace();
            let home = dir.path().join("home");
            std::fs::create_dir(&home).expect("home");
            let run = async |args: &[&str]| restitch_at(dir.path(), &home, args).await;
            // The names of the files are those that `init` itself makes.
            if with_files && client != "goose" {
                let trial = workspace();
                let own_home = trial.path().join("home");
                std::fs::create_dir(&own_home).expect("home");
                restitch_at(trial.path(), &own_home, &["init", client, "--write", "--allow-edits"])
                    .await;
                let there = files_below(trial.path());
                for path in there.keys() {
                    let path = path.strip_prefix(trial.path()).expect("below");
                    let file = dir.path().join(path);
                    let text = match path.extension().and_then(|ending| ending.to_str()) {
                        Some("json") => json,
                        Some("toml") if client == "codex" => toml,
                        Some("toml") => "model = \"x\"",
                        _ => continue,
                    };
                    std::fs::create_dir_all(file.parent().expect("folder")).expect("folder");
                    std::fs::write(file, text).expect("file");
                }
            }
            let before = files_below(dir.path());
            let written = run(&["init", client, "--write", "--allow-edits"]).await;
            assert_eq!(written.code, 0, "{client}: {}", written.stdout);
            let configured = files_below(dir.path());
            assert_ne!(configured, before, "{client}");
            let doctor = run(&["doctor", "--client", client]).await;
            assert!(doctor.stdout.contains("edited a test file"), "{client}: {}", doctor.stdout);
            let shown = run(&["init", client, "--remove"]).await;
            assert_eq!(shown.code, 0, "{client}: {}", shown.stdout);
            assert!(shown.stdout.contains("would be "), "{client}: {}", shown.stdout);
            assert!(shown.stdout.contains("\n-"), "{client}: {}", shown.stdout);
            assert_eq!(files_below(dir.path()), configured, "{client}: only shown");
            let removed = run(&["init", client, "--remove", "--write"]).await;
            assert_eq!(removed.code, 0, "{client}: {}", removed.stdout);
            assert_eq!(files_below(dir.path()), before, "{client}: {}", removed.stdout);
            let doctor = run(&["doctor", "--client", client]).await;
            assert_eq!(doctor.code, 3, "{client}: {}", doctor.stdout);
            assert!(
                doctor.stdout.contains("no configuration of this client starts restitch"),
                "{client}: {}",
                doctor.stdout
            );
            let again = run(&["init", client, "--remove", "--write"]).await;
            assert_eq!(again.code, 0, "{client}: {}", again.stdout);
            assert_eq!(files_below(dir.path()), before, "{client}: {}", again.stdout);
        }
    }
    // What the user writes after `init` stays, and so does a file that restitch cannot read.
    let dir = workspace();
    let run = async |args: &[&str]| restitch_at(dir.path(), dir.path(), args).await;
    run(&["init", "cursor", "--write"]).await;
    let file = dir.path().join(".cursor/mcp.json");
    let text = std::fs::read_to_string(&file).expect("file");
    let changed = text.replacen("\"restitch\": {", "\"mine\": {},\n    \"restitch\": {", 1);
    std::fs::write(&file, changed).expect("file");
    let removed = run(&["init", "cursor", "--remove", "--write"]).await;
    assert_eq!(removed.code, 0, "{}", removed.stdout);
    let left = std::fs::read_to_string(&file).expect("file");
    assert_eq!(left, "{\n  \"mcpServers\": {\n    \"mine\": {}\n  }\n}\n");
    let commented = format!("// mine\n{text}");
    std::fs::write(&file, &commented).expect("file");
    let refused = run(&["init", "cursor", "--remove", "--write"]).await;
    assert_eq!(refused.code, 1, "{}", refused.stdout);
    assert!(refused.stdout.contains("not changed: ") && refused.stdout.contains("by hand"));
    assert_eq!(std::fs::read_to_string(&file).expect("file"), commented);
    let both = run(&["init", "cursor", "--remove", "--npx"]).await;
    assert_eq!(both.code, 2, "{}", both.stderr);
}
