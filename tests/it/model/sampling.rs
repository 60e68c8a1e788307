//! The MCP server asks the model of a client that offers it, if the user has named that model.

use serde_json::{Value, json};

use super::*;
use crate::agents::mcp::{binary, workspace};
use crate::client::Client;

/// A session on the file of the other tests, whose settings name this model.
fn session(model: &str, capabilities: Value) -> (tempfile::TempDir, Client) {
    let dir = workspace();
    std::fs::write(dir.path().join("lib.rs"), FILE).expect("file");
    let mut command = binary(dir.path());
    command.env("RESTITCH_MODEL", model).env_remove("OPENAI_API_KEY");
    (dir, Client::session_of("t", capabilities, command, &[]))
}

fn call(session: &mut Client) {
    let arguments = json!({"path": "lib.rs", "old_str": OLD, "new_str": NEW});
    session.start_call(1, "edit_file", arguments);
}

/// Answers the question that the server asks with the text for line 3.
fn answer(session: &mut Client, text: &str) -> Value {
    let asked = session.receive();
    assert_eq!(asked["method"], "sampling/createMessage", "{asked}");
    let answer = json!({
        "status": "edit", "candidate": 1, "start_line": 3, "end_line": 3,
        "corrected_target_snippet": null, "corrected_new_string": text,
    });
    session.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": {
        "role": "assistant", "model": "theirs", "stopReason": "endTurn",
        "content": {"type": "text", "text": answer.to_string()},
    }}));
    asked
}

#[test]
fn the_clients_own_model_is_asked_and_its_answer_is_written() {
    let (dir, mut session) = session("client", json!({"sampling": {}}));
    call(&mut session);
    let asked = answer(&mut session, ADJUSTED_NEW);
    let params = &asked["params"];
    assert!(params["systemPrompt"].as_str().expect("system").contains("code edit"), "{params}");
    let question = params["messages"][0]["content"].to_string();
    assert!(question.contains("3|pub fn total_price"), "{question}");
    assert!(params["maxTokens"].as_u64().is_some_and(|tokens| tokens < 4096), "{params}");
    let reply = session.receive();
    assert_eq!(reply["result"]["isError"], false, "{reply}");
    assert_eq!(std::fs::read_to_string(dir.path().join("lib.rs")).expect("file"), after());
}

#[test]
fn its_answer_is_judged_like_any_other() {
    let (dir, mut session) = session("client", json!({"sampling": {}}));
    call(&mut session);
    answer(&mut session, "pub fn total_price(items: &[Item], tax: f64, evil: f64) -> f64 {");
    // The second question gives the reason.
    let asked = session.receive();
    assert!(asked["params"]["messages"].to_string().contains("lacks `discount`"), "{asked}");
    let error = json!({"code": -1, "message": "the user said no"});
    session.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "error": error}));
    let reply = session.receive();
    assert_eq!(reply["result"]["isError"], true, "{reply}");
    assert_eq!(std::fs::read_to_string(dir.path().join("lib.rs")).expect("file"), FILE);
}

#[test]
fn a_client_is_not_asked_without_its_offer_or_the_users_consent() {
    for (model, capabilities) in [("client", json!({})), ("", json!({"sampling": {}}))] {
        let (dir, mut session) = session(model, capabilities);
        call(&mut session);
        let reply = session.receive();
        assert_eq!(reply["result"]["isError"], true, "{model}: {reply}");
        assert_eq!(std::fs::read_to_string(dir.path().join("lib.rs")).expect("file"), FILE);
    }
}
