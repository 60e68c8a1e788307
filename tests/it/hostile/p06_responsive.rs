//! No call stops a server: while calls take long, pings, cancellations and the end of the
//! session are heard.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Client, Sandbox};

/// A deadline that users rely on.
pub(super) const RESPONSE_TIME: Duration = Duration::from_secs(2);

const CALLS: u64 = 3;

/// A call that keeps its thread busy for a while: a large file of which the caller remembers
/// every line a little wrong.
pub(super) fn large(sandbox: &Sandbox, n: u64) -> Value {
    let line = |at: u64, quote: char| {
        format!("  let it{at} = {quote}don{quote}t {}{n}{quote};\n", at * 7919 % 1000)
    };
    let file: String = (0..60_000).map(|at| line(at, '’')).collect();
    let old: String = (0..60_000).map(|at| line(at, '\'')).collect();
    let new = old.replacen("let it30000 ", "let that ", 1);
    let name = format!("big{n}");
    sandbox.write(&name, &file);
    json!({ "path": name, "old_str": old, "new_str": new })
}

fn busy(sandbox: &Sandbox, client: &mut Client, calls: u64) {
    for n in 0..calls {
        client.start_call(100 + n, "edit_file", large(sandbox, n));
    }
    // Until they are read and under way.
    std::thread::sleep(Duration::from_secs(1));
}

#[test]
fn a_ping_and_a_cancellation_are_heard_while_calls_take_long() {
    let sandbox = Sandbox::new().with("small", "one\n");
    let mut mcp = sandbox.mcp();
    busy(&sandbox, &mut mcp, CALLS);
    for n in 0..5 {
        let id = format!("ping{n}");
        let start = Instant::now();
        mcp.ping(&id);
        mcp.answer(&Value::from(id), RESPONSE_TIME);
        println!("a ping was answered after {:?}", start.elapsed());
    }
    for n in 0..CALLS {
        mcp.send(&json!({
            "jsonrpc": "2.0", "method": "notifications/cancelled",
            "params": { "requestId": 100 + n },
        }));
    }
    mcp.ping("after");
    mcp.answer(&"after".into(), RESPONSE_TIME);
    let done =
        mcp.call(7, "edit_file", json!({ "path": "small", "old_str": "one", "new_str": "two" }));
    assert_eq!(done["result"]["isError"], false, "{done}");
}

#[test]
fn closing_stdin_and_sigterm_end_a_busy_server() {
    let sandbox = Sandbox::new();
    let mut mcp = sandbox.mcp();
    busy(&sandbox, &mut mcp, CALLS);
    mcp.close_stdin();
    // An answer that does not come for two seconds is not waited for.
    let took = mcp.ends_within(Duration::from_secs(8)).expect("the server ends");
    println!("closing stdin ended the server after {took:?}");

    let mut mcp = sandbox.mcp();
    busy(&sandbox, &mut mcp, CALLS);
    let process = rustix::process::Pid::from_child(&mcp.child.0);
    rustix::process::kill_process(process, rustix::process::Signal::TERM).expect("signal");
    let took = mcp.ends_within(Duration::from_secs(5)).expect("SIGTERM ends it within 5 s");
    println!("SIGTERM ended the server after {took:?}");
}

#[test]
fn more_calls_than_places_are_all_answered_and_a_withdrawn_one_is_not_made() {
    let sandbox = Sandbox::new().with("f", "0\n");
    let mut mcp = sandbox.mcp();
    for id in 0..300 {
        mcp.start_call(id, "read_file", json!({ "path": "f" }));
    }
    mcp.close_stdin();
    let mut seen: Vec<u64> =
        (0..300).map(|_| mcp.next(Duration::from_secs(30))["id"].as_u64().expect("id")).collect();
    seen.sort_unstable();
    assert_eq!(seen, (0..300).collect::<Vec<u64>>());
    assert!(mcp.ends_within(Duration::from_secs(10)).is_some());
}
