//! Configuration files of clients, as users and other programs leave them.

use serde_json::Value;

use super::{Sandbox, finish};

/// What `init` makes of this file, and whether it was content.
fn merged(text: &str) -> (bool, String, String) {
    merged_for("copilot", ".mcp.json", text)
}

/// The same for a file of another client.
fn merged_for(client: &str, file: &str, text: &str) -> (bool, String, String) {
    let sandbox = Sandbox::new();
    sandbox.write(file, text);
    let mut command = sandbox.restitch(&["init", client, "--write"]);
    command.env("HOME", sandbox.above()).env_remove("COPILOT_HOME");
    let out = finish(command, b"");
    (out.status.success(), sandbox.text(file), String::from_utf8_lossy(&out.stdout).into())
}

fn server(text: &str) -> Value {
    let text = text.trim_start_matches('\u{feff}');
    serde_json::from_str::<Value>(text).expect("JSON")["mcpServers"]["restitch"]["command"].clone()
}

#[test]
fn what_is_nothing_does_not_pass_for_an_entry() {
    for text in [
        "",
        " \n",
        "{}",
        "null",
        "[]",
        r#"{"mcpServers": null}"#,
        r#"{"mcpServers": []}"#,
        r#"{"mcpServers": {"restitch": null}}"#,
        r#"{"mcpServers": {"restitch": []}}"#,
        r#"{"mcpServers": {"restitch": {}}}"#,
        "\u{feff}{}",
    ] {
        let (done, after, said) = merged(text);
        assert!(done, "{text:?}: {said}");
        assert_eq!(server(&after), "restitch", "{text:?}: {after}");
    }
    // What is there is the user's choice, or no configuration at all.
    for text in ["7", "\"x\"", r#"{"mcpServers": 7}"#, r#"{"mcpServers": {"restitch": "no"}}"#, "{"]
    {
        let (done, after, said) = merged(text);
        assert!(!done && said.contains("not changed"), "{text:?}: {said}");
        assert_eq!(after, text);
    }
}

/// The same where the entry is in a list.
#[test]
fn what_is_nothing_does_not_pass_for_a_list() {
    let settings = ".claude/settings.json";
    for text in [
        r#"{"hooks": null}"#,
        r#"{"hooks": []}"#,
        r#"{"hooks": {}}"#,
        r#"{"hooks": {"PreToolUse": null}}"#,
    ] {
        let (done, after, said) = merged_for("claude", settings, text);
        assert!(done, "{text:?}: {said}");
        let hooks = serde_json::from_str::<Value>(&after).expect("JSON")["hooks"].clone();
        assert!(hooks["PreToolUse"].to_string().contains("restitch hook"), "{text:?}: {after}");
    }
    for text in [r#"{"hooks": [1]}"#, r#"{"hooks": "no"}"#, r#"{"hooks": {"PreToolUse": 7}}"#] {
        let (done, after, said) = merged_for("claude", settings, text);
        assert!(!done && said.contains("not changed"), "{text:?}: {said}");
        assert_eq!(after, text);
    }
}

#[test]
fn what_is_there_stays_letter_by_letter() {
    let numbers = "{\n\t\"a\": 1.0,\n\t\"b\": 1e5,\n\t\"c\": 12345678901234567890123,\n\t\"d\": 0.10,\n\t\"e\": -0,\n\t\"f\": 1E+2,\n\t\"g\": \"\\u00e9\\/\"\n}\n";
    for text in [numbers.to_owned(), numbers.replace('\n', "\r\n")] {
        let (done, after, said) = merged(&text);
        assert!(done, "{said}");
        assert_eq!(server(&after), "restitch");
        let kept = text.trim_end().trim_end_matches('}').trim_end();
        assert!(after.starts_with(kept), "{after}");
        let crlf = text.contains('\r');
        assert_eq!(
            after.matches('\n').count(),
            after.matches(if crlf { "\r\n" } else { "\n" }).count()
        );
        // A second time there is nothing to do.
        assert_eq!(merged(&after).1, after);
    }
}
