//! What clients send that is no message, and clients that do not listen.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Client, Sandbox};
use crate::client::{greeting, hello, ready, request};
use crate::says::says;

const SOON: Duration = Duration::from_secs(10);

fn code(mcp: &Client) -> (Value, i64) {
    let answer = mcp.next(SOON);
    (answer["id"].clone(), answer["error"]["code"].as_i64().unwrap_or_default())
}

#[test]
fn what_is_no_message_is_answered_and_the_session_goes_on() {
    let sandbox = Sandbox::new();
    let mut mcp = sandbox.mcp();
    let call = |id: &str, text: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"edit_file","arguments":{{"path":"f","old_str":"a","new_str":{text}}}}}}}"#
        )
    };
    for (line, wanted) in [
        (call("1", r#""\ud83d""#).into_bytes(), (json!(1), -32700)),
        (call("2", "NaN").into_bytes(), (json!(2), -32700)),
        (call("3", "\"caf\u{e9}\"").replace('é', "\u{1}").into_bytes(), (json!(3), -32700)),
        ([call("4", "\"").as_bytes(), b"\xff\xfe"].concat(), (json!(4), -32700)),
        (call("5", "\"x\"").as_bytes()[..60].to_vec(), (json!(5), -32700)),
        (b"hello".to_vec(), (Value::Null, -32700)),
        (b"[]".to_vec(), (Value::Null, -32600)),
        (br#"{"id":6,"method":"ping"}"#.to_vec(), (json!(6), -32600)),
        (br#"{"jsonrpc":"2.0","id":7.5,"method":"ping"}"#.to_vec(), (json!(7.5), -32600)),
        (br#"{"jsonrpc":"2.0","id":8,"method":"tools/call","params":["x"]}"#.to_vec(), (json!(8), -32602)),
        (br#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":7}}"#.to_vec(), (json!(9), -32602)),
        (br#"{"jsonrpc":"2.0","id":10,"method":"tools/call","params":{"name":"edit_file","arguments":[]}}"#.to_vec(), (json!(10), -32602)),
        (br#"{"jsonrpc":"2.0","id":11,"method":"resources/read","params":{"uri":7}}"#.to_vec(), (json!(11), -32602)),
        (br#"{"jsonrpc":"2.0","id":"s","method":"ping","params":"x"}"#.to_vec(), (json!("s"), -32602)),
    ] {
        mcp.send_raw(&[&line[..], b"\n"].concat());
        assert_eq!(code(&mcp), wanted, "{}", String::from_utf8_lossy(&line));
    }
    // A broken answer of the client gets none.
    mcp.send_raw(b"{\"jsonrpc\":\"2.0\",\"id\":0,\"error\":{\"code\":-32601}}\n");
    mcp.ping("still there");
    assert_eq!(mcp.next(SOON)["id"], "still there");
    // The end of the input cuts the last frame.
    mcp.send_raw(&call("9", "\"x\"").as_bytes()[..70]);
    mcp.close_stdin();
    assert_eq!(code(&mcp), (json!(9), -32700));
}

#[test]
fn a_client_that_does_not_read_is_not_buffered_without_bound() {
    use std::io::{Read as _, Write as _};
    let sandbox = Sandbox::new();
    sandbox.write("f", "a line of some length to be read again and again\n".repeat(1_000));
    let mut child = sandbox.restitch(&["mcp"]).spawn().expect("starts");
    let mut stdin = child.stdin.take().expect("piped");
    let mut stdout = child.stdout.take().expect("piped");
    let id = child.id();
    let writer = std::thread::spawn(move || {
        let _ = stdin.write_all(greeting().as_bytes());
        for id in 1..4_000 {
            let call = request(id, "read_file", json!({ "path": "f" }));
            if writeln!(stdin, "{call}").is_err() {
                return;
            }
        }
    });
    std::thread::sleep(Duration::from_secs(3));
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    if let Some(peak) = peak {
        let kilobytes: u64 = peak.trim().trim_end_matches(" kB").parse().expect("number");
        println!("4,000 reads of 50 kB that no client takes: {kilobytes} kB resident");
        assert!(kilobytes < 150_000, "{kilobytes} kB");
    } else {
        crate::disk::skip("the memory of a server whose client does not read", "no /proc here");
    }
    let mut first = [0; 1];
    stdout.read_exact(&mut first).expect("answers were waiting");
    child.kill().expect("killed");
    child.wait().expect("ends");
    writer.join().expect("writer");
}

#[test]
fn a_line_of_batch_has_a_cap() {
    let sandbox = Sandbox::new().with("f", "one\n");
    let long = json!({ "path": "f", "old_str": "x".repeat(17 << 20) });
    let short = json!({ "path": "f", "old_str": "one", "new_str": "two" });
    let replies = sandbox
        .batch(&[json!({ "id": 1, "arguments": long }), json!({ "id": 2, "arguments": short })]);
    assert_eq!(replies.len(), 2);
    assert_eq!(replies[0]["code"], "EDIT_INVALID_ARGUMENTS", "{}", replies[0]);
    says(&replies[0]["message"].to_string(), &["16 MiB"]);
    assert_eq!((&replies[1]["id"], &replies[1]["ok"]), (&json!(2), &json!(true)));
}

#[test]
fn what_stands_before_the_first_message_does_not_end_the_session() {
    let sandbox = Sandbox::new();
    let hello = hello("t", json!({}));
    let early = ready();
    for before in [
        "\u{feff}".to_owned(),
        format!("{early}\n"),
        format!("\u{feff}{early}\n"),
        // An `initialize` that lacks something is refused, and a right one may follow.
        format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"initialize\",\"params\":{{}}}}\n{early}\n"
        ),
        format!("{early}\n{{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"method\":\"ping\"}}\n{early}\n"),
    ] {
        let mut mcp = sandbox.client(&["mcp"]);
        mcp.send_raw(format!("{before}{hello}\n").as_bytes());
        let answer = mcp.answer(&json!(0), SOON);
        assert!(answer["result"]["serverInfo"].is_object(), "{before:?}: {answer}");
        mcp.send(&early);
        mcp.ping("after");
        mcp.answer(&"after".into(), SOON);
    }
}

/// The place of a call is freed by its id, whatever the id holds.
#[test]
fn calls_with_any_id_are_answered_without_end() {
    let sandbox = Sandbox::new().with("f", "one\n");
    let mut mcp = sandbox.mcp();
    for n in 0..200 {
        let id = json!(format!("a\\b\"c\n{n}"));
        mcp.send(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": { "name": "read_file", "arguments": { "path": "f" } } }));
        mcp.answer(&id, SOON);
    }
    let long = "x".repeat(5_000);
    mcp.ping(&long);
    mcp.answer(&long.into(), SOON);
}

/// Who may not read files by a tool may not read them as resources either.
#[test]
fn the_chosen_tools_bound_resources_too() {
    let sandbox = Sandbox::new().with(".env", "KEY=value-of-the-key\n");
    let uri = format!("file://{}/.env", sandbox.root().display());
    let ask = |mcp: &mut Client, id: &str, method: &str| {
        let params = json!({ "uri": uri });
        mcp.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        mcp.answer(&id.into(), SOON)
    };
    let mut mcp = sandbox.mcp_with(&["--tools", "list_files"]);
    for method in ["resources/read", "resources/list", "resources/subscribe"] {
        let answer = ask(&mut mcp, method, method);
        assert_eq!(answer["error"]["code"], -32601, "{method}: {answer}");
    }
    let mut mcp = sandbox.mcp_with(&["--tools", "read_file"]);
    let answer = ask(&mut mcp, "read", "resources/read");
    assert!(answer["result"]["contents"].is_array(), "{answer}");
}

/// A session's subscriptions are bounded in number and size.
#[test]
fn subscriptions_are_bounded() {
    let sandbox = Sandbox::new();
    let mut mcp = sandbox.mcp();
    let mut subscribe = |uri: String| {
        let id = json!(uri.chars().take(100).collect::<String>());
        mcp.send(&json!({ "jsonrpc": "2.0", "id": id, "method": "resources/subscribe",
            "params": { "uri": uri } }));
        mcp.answer(&id, SOON)["error"]["code"].as_i64()
    };
    assert_eq!(subscribe(format!("file:///{}", "x".repeat(20_000))), Some(-32602));
    let accepted = (0..300).filter(|n| subscribe(format!("file:///{n}")).is_none()).count();
    assert_eq!(accepted, 256);
    assert_eq!(subscribe("file:///0".to_owned()), None, "it is there already");
}
