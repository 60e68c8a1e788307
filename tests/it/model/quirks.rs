//! Servers that lack something, are slow, small, or think aloud: what is sent to them, and
//! that they are asked for the same thing only once.

use serde_json::{Value, json};

use super::server::{Answer, ModelServer, Seen, completion};
use super::wire::{Bench, restitch};
use super::*;

fn right(seen: &Seen) -> String {
    match seen.kind() {
        "correct_old" => json!({"corrected_target_snippet": CORRECTED_OLD}).to_string(),
        _ => json!({"corrected_new_string": ADJUSTED_NEW}).to_string(),
    }
}

/// Answers right where `error` has nothing against the request.
fn server_rejecting(
    error: impl Fn(&Seen) -> Option<Answer> + Send + Sync + 'static,
) -> ModelServer {
    ModelServer::start(move |seen, _| error(seen).unwrap_or_else(|| Answer::Content(right(seen))))
}

fn rejection(status: u16, message: &str) -> Option<Answer> {
    Some(Answer::Json(status, json!({"error": {"message": message}})))
}

#[test]
fn every_answer_is_capped_and_every_number_bounded() {
    let bench = Bench::with("lib.rs", FILE);
    let server = server_rejecting(|_| None);
    bench.edit(&server);
    for seen in server.seen() {
        let cap = seen.body["max_tokens"].as_u64().expect("a cap");
        assert!((100..1000).contains(&cap), "{cap}");
        assert_eq!(seen.body.get("max_completion_tokens"), None);
    }
    let properties =
        server.seen()[0].body["response_format"]["json_schema"]["schema"]["properties"].clone();
    let lines = FILE.lines().count();
    for (name, least, most) in
        [("candidate", 0, 1), ("start_line", 1, lines), ("end_line", 1, lines)]
    {
        let number = &properties[name]["anyOf"][0];
        assert_eq!(number["minimum"], least, "{properties}");
        assert_eq!(number["maximum"], most, "{properties}");
    }
}

/// Each server lacks one thing; its error names it. The first process finds out with one
/// request more, the next one knows.
#[test]
fn what_a_server_lacks_is_asked_for_once() {
    type Rejection = fn(&Seen) -> Option<Answer>;
    let servers: [(&str, Rejection); 5] = [
        ("max_tokens", |seen| {
            seen.body.get("max_tokens")?;
            rejection(
                400,
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
            )
        }),
        ("temperature", |seen| {
            seen.body.get("temperature")?;
            rejection(
                400,
                "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported.",
            )
        }),
        ("bounds", |seen| {
            let bounded = seen.body["response_format"].to_string().contains("minimum");
            bounded.then(|| {
                rejection(400, "Invalid schema for response_format: 'minimum' is not permitted.")
            })?
        }),
        ("json_schema, with a 500", |seen| {
            let message = "[{'type': 'literal_error', 'loc': ('body', 'response_format', 'type'), 'msg': \"Input should be 'text' or 'json_object'\"}]";
            (seen.format() == "json_schema").then(|| rejection(500, message))?
        }),
        ("json_schema, with a 503", |seen| {
            let message = "response_format type json_object is supported, json_schema is not";
            (seen.format() == "json_schema").then(|| rejection(503, message))?
        }),
    ];
    for (name, lack) in servers {
        let server = server_rejecting(lack);
        let bench = Bench::with("lib.rs", FILE);
        let (reply, _) = bench.edit(&server);
        assert_eq!(bench.read("lib.rs"), after(), "{name}: {reply}");
        assert_eq!(server.seen().len(), 3, "{name}");
        bench.put("lib.rs", FILE);
        bench.edit(&server);
        assert_eq!(server.seen().len(), 5, "{name}: the next process knows");
        let last = server.seen().pop().expect("asked").body;
        let capped = last.get("max_tokens").or(last.get("max_completion_tokens"));
        assert!(capped.is_some(), "{name}: the answer is still capped");
    }
}

/// A server that lacks more than one call may find out: the next one goes on from there.
#[test]
fn what_an_error_names_is_kept_though_the_call_ends_before_an_answer() {
    let server = server_rejecting(|seen| {
        for field in ["temperature", "max_tokens", "max_completion_tokens"] {
            if seen.body.get(field).is_some() {
                return rejection(400, &format!("unknown field `{field}`"));
            }
        }
        (seen.format() == "json_schema").then(|| rejection(400, "use json_object"))?
    });
    let bench = Bench::with("lib.rs", FILE);
    let (reply, _) = bench.edit(&server);
    assert_eq!(reply["report"]["attempts"][0]["outcome"], "failed", "{reply}");
    assert_eq!(server.seen().len(), 4);
    let (reply, _) = bench.edit(&server);
    assert_eq!(bench.read("lib.rs"), after(), "{reply}");
    assert_eq!(server.seen().len(), 6);
}

/// A model that cannot answer is no reason to ask its server for the same form again.
#[test]
fn what_a_server_lacks_is_remembered_though_no_answer_can_be_read() {
    let server = ModelServer::start(|seen, _| match seen.format() {
        "json_schema" => rejection(500, "Input should be 'text' or 'json_object'").expect("error"),
        _ => Answer::Content("la la la".into()),
    });
    let bench = Bench::with("lib.rs", FILE);
    let schemas = |server: &ModelServer| {
        server.seen().iter().filter(|seen| seen.format() == "json_schema").count()
    };
    for _ in 0..3 {
        let (reply, _) = bench.edit(&server);
        assert_eq!(reply["code"], "EDIT_NO_OCCURRENCE_FOUND");
        assert_eq!(schemas(&server), 1);
    }
}

#[test]
fn a_model_that_thinks_gets_room_to_think() {
    let server = ModelServer::start(|seen, _| {
        if seen.body["max_tokens"].as_u64() < Some(4000) {
            let mut cut = completion("");
            cut["choices"][0]["finish_reason"] = "length".into();
            cut["choices"][0]["message"]["reasoning_content"] = "Well, let me see".into();
            return Answer::Json(200, cut);
        }
        Answer::Content(right(seen))
    });
    let bench = Bench::with("lib.rs", FILE);
    let (reply, _) = bench.edit(&server);
    assert_eq!(bench.read("lib.rs"), after(), "{reply}");
    assert_eq!(server.seen().len(), 3, "only the first answer is cut");
}

#[test]
fn a_prompt_without_room_is_said_in_words() {
    let server = server_rejecting(|_| {
        rejection(
            400,
            "request (9024 tokens) exceeds the available context size (8192 tokens), try increasing it",
        )
    });
    let bench = Bench::with("lib.rs", FILE);
    let call = json!({"arguments": {"path": "lib.rs", "old_str": OLD, "new_str": NEW}});
    let replies = bench.batch(&server, &[call.clone(), call]);
    let detail = |n: usize| replies[n]["report"]["attempts"][0]["detail"].as_str().expect("detail");
    assert!(detail(0).contains("does not fit the server's context"), "{}", detail(0));
    assert!(detail(0).contains("9024 tokens"), "{}", detail(0));
    assert_eq!(server.seen().len(), 2, "once for each call");
    assert_eq!(replies[0]["report"]["model"]["calls"], 1);
    assert_eq!(bench.read("lib.rs"), FILE);
}

/// A server that is done within the budget is waited for, though it sends nothing before.
#[test]
fn an_answer_that_begins_late_has_the_whole_budget() {
    let server = ModelServer::start(|seen, _| {
        std::thread::sleep(std::time::Duration::from_millis(1200));
        Answer::Content(right(seen))
    });
    let bench = Bench::with("lib.rs", FILE);
    bench.configure("[model]\nfirst_byte_timeout = 0.5\n");
    let (reply, _) = bench.edit(&server);
    assert_eq!(bench.read("lib.rs"), FILE, "{reply}");
    bench.configure("");
    let (reply, _) = bench.edit(&server);
    assert_eq!(bench.read("lib.rs"), after(), "{reply}");
}

fn doctor(bench: &Bench, server: &ModelServer) -> Value {
    let mut command = restitch(bench.root.path(), bench.state.path());
    command.args(["--base-url", &server.base_url(), "--model", "test-model", "doctor"]);
    let output = command.output().expect("runs");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn finding(found: &Value, what: &str) -> Value {
    let findings = found["findings"].as_array().expect("findings");
    let finding = findings.iter().find(|finding| finding["what"] == what);
    finding.unwrap_or_else(|| panic!("no finding `{what}`: {found}")).clone()
}

/// A server that has learnt something since is asked for it again by `doctor`.
#[test]
fn doctor_finds_out_anew_what_a_server_lacks() {
    let bench = Bench::with("lib.rs", FILE);
    let server = ModelServer::start(|seen, number| match (number, seen.format()) {
        (0, _) => rejection(500, "response_format: use json_object").expect("error"),
        _ => Answer::Content(right(seen)),
    });
    bench.edit(&server);
    assert_eq!(server.seen().last().expect("asked").format(), "json_object");
    let found = doctor(&bench, &server);
    let endpoint = finding(&found, "endpoint");
    assert!(endpoint["detail"].as_str().expect("detail").contains("strict_schema"), "{endpoint}");
    bench.put("lib.rs", FILE);
    bench.edit(&server);
    assert_eq!(server.seen().last().expect("asked").format(), "json_schema");
}
