//! What stands around a call in `batch` is read or refused, never ignored.

use serde_json::json;

use super::Sandbox;

#[test]
fn whoever_asks_for_a_dry_run_in_any_spelling_gets_no_write() {
    let sandbox = Sandbox::new().with("a", "one\n");
    let call = json!({ "path": "a", "old_str": "one", "new_str": "two" });
    for (field, value, understood) in [
        ("dry_run", json!(true), true),
        ("dry_run", json!("true"), true),
        ("dryRun", json!(true), true),
        ("dry-run", json!("True"), true),
        ("dry_run", json!(1), false),
        ("dry_run", json!("yes"), false),
        ("dry_run", json!({}), false),
        ("dru_run", json!(true), false),
        ("request_id", json!([7, 8]), false),
        ("tool", json!(["edit_file"]), false),
    ] {
        let reply = &sandbox.batch(&[json!({ "id": 1, field: value, "arguments": call })])[0];
        assert_eq!(reply["ok"], understood, "{field}: {value}: {reply}");
        assert_eq!(reply["id"], 1);
        if understood {
            assert_eq!(reply["report"]["revision"], json!(null), "{reply}");
        } else {
            assert_eq!(reply["code"], "EDIT_INVALID_ARGUMENTS", "{reply}");
        }
        assert_eq!(sandbox.text("a"), "one\n", "{field}: {value}");
    }
    let written =
        &sandbox.batch(&[json!({ "dry_run": "false", "tool": null, "arguments": call })])[0];
    assert_eq!(written["ok"], true, "{written}");
    assert_eq!(sandbox.text("a"), "two\n");
}
