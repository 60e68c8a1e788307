//! Hooks, stdin to stdout, with recorded inputs of each client. In the files, `$ROOT` is
//! the workspace, a `*` in an expected text stands for any text.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Value, json};

use super::server::{RunOutput, hook, restitch, restitch_at};
use crate::disk::names_below;
use crate::sandbox::{folder_with, put};
use crate::says::says;

const APP: &str = "import math\n\ndef total(items):\n    sum = 0\n    for item in items:\n        sum += item.price\n    return sum\n";

fn workspace() -> tempfile::TempDir {
    folder_with(&[("src/app.py", APP)])
}

/// A recorded input of a client's hook, and the answer to it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Recording {
    client: String,
    event: String,
    #[serde(default)]
    flags: Vec<String>,
    input: Value,
    /// Null where the hook says nothing.
    output: Value,
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
        let case: Recording =
            serde_json::from_str(&text).unwrap_or_else(|why| panic!("{name}: {why}"));
        // The client's process is elsewhere; only `cwd` says where the files are.
        let elsewhere = tempfile::tempdir().expect("folder");
        let flags = case.flags.iter().map(String::as_str);
        let args: Vec<&str> =
            ["hook", &case.client, &case.event].into_iter().chain(flags).collect();
        let ran = restitch(elsewhere.path(), &args, &case.input.to_string()).await;
        let got = match ran.stdout.trim() {
            "" => Value::Null,
            text => serde_json::from_str(text).unwrap_or_else(|e| panic!("{name}: {e}: {text}")),
        };
        if ran.code != 0 || !fits(&case.output, &got) {
            wrong.push(format!(
                "{name} (exit {}):\n want {}\n got  {got}\n {}",
                ran.code, case.output, ran.stderr
            ));
        }
        let after = std::fs::read_to_string(root.join("src/app.py")).expect("file");
        assert_eq!(after, APP, "{name}: a hook wrote a file");
        count += 1;
    }
    println!("{count} recorded hook inputs, {} wrong", wrong.len());
    assert!(wrong.is_empty() && count > 10, "{}", wrong.join("\n"));
}

/// What the client's own tool lands right is left to it: it reads CRLF lines as LF.
#[tokio::test]
async fn lines_that_end_in_crlf_are_no_reason_to_rewrite() {
    let dir = workspace();
    let file = dir.path().join("src/crlf.py");
    std::fs::write(&file, "def f():\r\n    x = 1\r\n    return x\r\n").expect("file");
    let call = json!({
        "file_path": file,
        "old_string": "    x = 1\n    return x",
        "new_string": "    x = 2\n    return x",
    });
    for of in [["claude", "PreToolUse", "Edit"], ["gemini", "BeforeTool", "replace"]] {
        let ran = hook(dir.path(), of, &call, &[]).await;
        assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{of:?}: {}", ran.stderr);
    }
}

/// Gemini CLI shows a model only what the hook after a call says, so that one tells of the
/// rescue, once.
#[tokio::test]
async fn the_hook_after_a_rescue_tells_of_it() {
    let dir = workspace();
    let session = ("session_id", json!("s"));
    let given = json!({
        "file_path": dir.path().join("src/app.py"),
        "old_string": "def total(items):\\n    sum = 0\\n",
        "new_string": "def total(items):\\n    sum = 1\\n",
    });
    let of = ["gemini", "BeforeTool", "replace"];
    let before = hook(dir.path(), of, &given, std::slice::from_ref(&session)).await;
    let answer: Value = serde_json::from_str(&before.stdout).expect(&before.stderr);
    let rewritten = &answer["hookSpecificOutput"]["tool_input"];
    let response = ("tool_response", json!({ "llmContent": "Successfully modified file" }));
    let more = [session, response];
    let after =
        async || hook(dir.path(), ["gemini", "AfterTool", "replace"], rewritten, &more).await;
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

/// What lets restitch's tools through is written when the user agrees, and named with its reason when
/// not; what trusts a whole folder is never written, and doctor looks for it.
#[tokio::test]
#[cfg_attr(windows, ignore = "the paths that it expects are those of Unix")]
async fn permissions_are_asked_for_and_checked() {
    let dir = workspace();
    let root = dir.path().canonicalize().expect("root");
    let home = root.join("home");
    std::fs::create_dir(&home).expect("home");
    let run = async |args: &[&str]| restitch_at(&root, &home, args).await;
    let folder = root.display().to_string();
    for (client, file, permission, trust, trusted) in [
        (
            "claude",
            ".claude/settings.json",
            "\"mcp__restitch\"",
            ".claude.json",
            format!("{{\"projects\": {{\"{folder}\": {{\"hasTrustDialogAccepted\": true}}}}}}"),
        ),
        (
            "codex",
            ".codex/config.toml",
            "default_tools_approval_mode = \"approve\"",
            ".codex/config.toml",
            format!("[projects.\"{folder}\"]\ntrust_level = \"trusted\"\n"),
        ),
        (
            "gemini",
            ".gemini/settings.json",
            "\"trust\": true",
            ".gemini/trustedFolders.json",
            format!("{{\"{folder}\": \"TRUST_FOLDER\"}}"),
        ),
    ] {
        let written = run(&["init", client, "--write"]).await;
        assert_eq!(written.code, 0, "{}", written.stdout);
        says(&written.stdout, &["As set up so far", permission, "you have not trusted"]);
        let text = std::fs::read_to_string(root.join(file)).expect("file");
        assert!(!text.contains(permission), "{text}");
        let doubts = run(&["doctor", "--client", client]).await;
        assert_eq!(doubts.code, 3, "{}", doubts.stdout);
        for words in ["--allow-edits", "bad   permission", "bad   trust", "ok    edit"] {
            assert!(doubts.stdout.contains(words), "{client}, {words}: {}", doubts.stdout);
        }
        let agreed = run(&["init", client, "--write", "--allow-edits"]).await;
        assert_eq!(agreed.code, 0, "{}", agreed.stdout);
        let text = std::fs::read_to_string(root.join(file)).expect("file");
        assert!(text.contains(permission), "{text}");
        assert!(!home.join(trust).exists(), "{client}: the trust is the user's to give");
        put(&home.join(trust), trusted);
        let well = run(&["doctor", "--client", client]).await;
        for words in ["edited a test file", "ok    trust"] {
            assert!(well.stdout.contains(words), "{client}, {words}: {}", well.stdout);
        }
        assert!(!well.stdout.contains("bad   "), "{}", well.stdout);
    }
    let unknown = run(&["doctor", "--client", "no-such-client"]).await;
    assert_eq!(unknown.code, 2, "{}", unknown.stderr);
}

/// What `doctor` says of a configuration is true of it, and its advice helps.
#[tokio::test]
#[cfg_attr(windows, ignore = "the paths that it expects are those of Unix")]
async fn doctor_tests_what_is_configured() {
    let dir = workspace();
    std::fs::create_dir(dir.path().join(".cursor")).expect("folder");
    std::fs::create_dir(dir.path().join(".codex")).expect("folder");
    let server = |fields: &str| format!("{{\"mcpServers\": {{\"restitch\": {{{fields}}}}}}}");
    let args = "\"args\": [\"mcp\", \"--root-of\", \".cursor/mcp.json\"]";
    let own = env!("CARGO_BIN_EXE_restitch");
    let plain = server(&format!("\"command\": \"{own}\", {args}"));
    for (client, text, code, said) in [
        ("cursor", plain.clone(), 0, "ok    edit"),
        (
            "cursor",
            server(&format!("\"command\": \"/no/restitch\", {args}")),
            3,
            "`/no/restitch`, which is not there",
        ),
        (
            "cursor",
            server(&format!("\"command\": \"restitch\", \"disabled\": true, {args}")),
            3,
            "switched off",
        ),
        (
            "cursor",
            plain.replace("\"--root-of\", \".cursor/mcp.json\"", "\"--guard\""),
            0,
            "ok    edit",
        ),
        ("cursor", plain.replace("}}", "}"), 3, "not valid JSON"),
        ("codex", "[features]\nhooks = false\n".to_owned(), 3, "lacks settings"),
    ] {
        let file = if client == "cursor" { ".cursor/mcp.json" } else { ".codex/config.toml" };
        std::fs::write(dir.path().join(file), &text).expect("file");
        let doctor = restitch(dir.path(), &["doctor", "--client", client], "").await;
        assert_eq!(doctor.code, code, "{text}: {}", doctor.stdout);
        assert!(doctor.stdout.contains(said), "{text}: {}", doctor.stdout);
    }
    // What the server says is in the answer.
    let wrong = plain.replace("--root-of", "--no-such-flag");
    std::fs::write(dir.path().join(".cursor/mcp.json"), wrong).expect("file");
    let doctor = restitch(dir.path(), &["doctor", "--client", "cursor", "--json"], "").await;
    let said: serde_json::Value = serde_json::from_str(&doctor.stdout).expect("JSON");
    let edit = said["findings"].as_array().and_then(|all| all.last()).expect("edit");
    let stderr = edit["stderr"].as_str().unwrap_or_default();
    assert!(stderr.contains("--no-such-flag") && doctor.stderr.len() < 100, "{said}");
    restitch(dir.path(), &["init", "codex", "--write"], "").await;
    let doctor = restitch(dir.path(), &["doctor", "--client", "codex"], "").await;
    assert!(doctor.stdout.contains("has other values than `init` writes"), "{}", doctor.stdout);
}

/// A colleague who has no restitch on the path, or one that crashes, works on: the command of every
/// hook that `init` writes ends with 0 and says nothing.
#[cfg(unix)]
#[tokio::test]
async fn a_missing_or_failing_restitch_stops_no_client() {
    use std::os::unix::fs::PermissionsExt as _;

    fn commands(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(fields) => {
                let text = fields.get("command").and_then(Value::as_str);
                found.extend(text.filter(|text| text.contains(" hook ")).map(str::to_owned));
                fields.values().for_each(|value| commands(value, found));
            }
            Value::Array(items) => items.iter().for_each(|value| commands(value, found)),
            _ => {}
        }
    }
    let mut count = 0;
    for client in ["claude", "codex", "gemini", "copilot", "vscode"] {
        let dir = workspace();
        let home = dir.path().join("home");
        std::fs::create_dir(&home).expect("home");
        restitch_at(dir.path(), &home, &["init", client, "--write", "--allow-edits"]).await;
        let mut found = Vec::new();
        for text in files_below(dir.path()).values() {
            if let Ok(value) = serde_json::from_str(text) {
                commands(&value, &mut found);
            }
        }
        assert!(!found.is_empty(), "{client} has hooks");
        let programs = dir.path().join("programs");
        std::fs::create_dir(&programs).expect("folder");
        for program in [None, Some("exit 2"), Some("echo cut >&2; kill -9 $$")] {
            if let Some(program) = program {
                let file = programs.join("restitch");
                std::fs::write(&file, format!("#!/bin/sh\n{program}\n")).expect("program");
                std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755))
                    .expect("mode");
            }
            for command in &found {
                let ran = std::process::Command::new("/bin/sh")
                    .args(["-c", command])
                    .env_clear()
                    .env("PATH", &programs)
                    .stdin(std::process::Stdio::null())
                    .output()
                    .expect("runs");
                assert!(ran.status.success(), "{client}, {program:?}: {command}");
                assert_eq!(ran.stdout, b"", "{client}, {program:?}: {command}");
                count += 1;
            }
        }
    }
    println!("{count} runs of hooks without a working restitch");
}

/// A successful edit of code that speaks of failures is no failure.
#[tokio::test]
async fn a_failure_is_known_by_its_form() {
    let dir = workspace();
    let words = "if (!found) throw new Error(`could not find ${name}; verification failed, is_error\":true`)";
    let file = dir.path().join("src/app.py");
    let old = "sum = 0\nfor item in items:";
    let call = json!({ "file_path": file, "old_string": old, "new_string": "x" });
    let run = async |response: &Value| {
        let response = ("tool_response", response.clone());
        hook(dir.path(), ["claude", "PostToolUse", "Edit"], &call, &[response]).await.stdout
    };
    for response in [
        json!({ "filePath": "a", "originalFile": words, "structuredPatch": [{ "lines": [words] }] }),
        json!({ "llmContent": format!("Successfully modified file: {words}") }),
        json!(format!("The file was updated:\n{words}")),
        json!([{ "type": "text", "text": format!("Done. {words}") }]),
    ] {
        assert_eq!(run(&response).await, "", "{response}");
    }
    for response in [
        json!("<tool_use_error>String to replace not found in file.</tool_use_error>"),
        json!({ "error": { "message": "0 occurrences" } }),
        json!({ "is_error": true }),
        json!("{\"output\":\"no\",\"metadata\":{\"exit_code\":1}}"),
        json!([{ "type": "text", "text": "Error: no match" }]),
    ] {
        assert!(run(&response).await.contains("additionalContext"), "{response}");
    }
}

/// `init` prints for every client, and merging keeps what is there.
#[tokio::test]
#[cfg_attr(windows, ignore = "the paths that it expects are those of Unix")]
async fn init_prints_and_merges() {
    // The file from which each client takes its servers: no other place is read.
    for (client, servers) in [
        ("claude", ".mcp.json"),
        ("codex", ".codex/config.toml"),
        ("gemini", ".gemini/settings.json"),
        ("copilot", ".mcp.json"),
        ("cursor", ".cursor/mcp.json"),
        ("vscode", ".vscode/mcp.json"),
        ("opencode", "opencode.json"),
        ("zed", ".zed/settings.json"),
        ("qwen", ".qwen/settings.json"),
        ("cline", "home/.cline/data/settings/cline_mcp_settings.json"),
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
        let text = std::fs::read_to_string(dir.path().join(servers))
            .unwrap_or_else(|why| panic!("{client}: {servers}: {why}"));
        assert!(text.contains("restitch"), "{client}: {text}");
        let again = run(&["init", client, "--write"]).await;
        assert!(
            !again.stdout.contains(": created") && !again.stdout.contains(": merged"),
            "{client}: {}",
            again.stdout
        );
    }
    let dir = workspace();
    std::fs::create_dir(dir.path().join(".gemini")).expect("folder");
    let file = dir.path().join(".gemini/settings.json");
    std::fs::write(&file, "{\n    \"theme\": \"Dark\",\n    \"mcpServers\": {\n        \"other\": {\n            \"command\": \"x\"\n        }\n    }\n}\n").expect("file");
    restitch(dir.path(), &["init", "gemini", "--write"], "").await;
    let text = std::fs::read_to_string(&file).expect("file");
    assert!(text.starts_with("{\n    \"theme\": \"Dark\",\n    \"mcpServers\": {\n        \"other\": {\n            \"command\": \"x\"\n        },\n        \"restitch\""), "{text}");
    let commented = "{\n  // mine\n  \"a\": 1\n}\n";
    std::fs::write(&file, commented).expect("file");
    let merged = restitch(dir.path(), &["init", "gemini", "--write"], "").await;
    assert_eq!(merged.code, 0, "{}", merged.stdout);
    let text = std::fs::read_to_string(&file).expect("file");
    assert!(text.starts_with("{\n  // mine\n  \"a\": 1,\n"), "{text}");
    let doctor = restitch(dir.path(), &["doctor", "--client", "gemini"], "").await;
    assert!(doctor.stdout.contains("ok    configuration"), "{}", doctor.stdout);
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
    let below = names_below(folder).into_iter().map(PathBuf::from).filter(|path| path.is_file());
    let files = below.filter(|path| !path.iter().any(|part| part == ".state"));
    files.map(|path| (path.clone(), std::fs::read_to_string(&path).expect("text"))).collect()
}
