//! No call stops a server: while calls take long, pings, cancellations and the end of the
//! session are heard.

use std::time::{Duration, Instant};

use restitch::hashline::tag;
use serde_json::{Value, json};

use super::{Talk, World};

/// A deadline that users rely on.
const HEARD: Duration = Duration::from_secs(2);

const CALLS: u64 = 60;

/// Calls that keep every thread busy for a while: as many operations as a call may have, on
/// files with as many lines.
fn busy(world: &World, talk: &mut Talk, calls: u64) {
    let line = |at: usize| format!("line {at} of the file");
    for n in 0..calls {
        let name = format!("big{n}");
        world.write(&name, (1..=3_000).map(|at| line(at) + "\n").collect::<String>());
        let edits: Vec<Value> = (0..1_000)
            .map(|at| at * 3 + 1)
            .map(|at| {
                let id: String = tag::id(at, &line(at)).into_iter().collect();
                json!({ "op": "replace", "pos": format!("{at}#{id}"), "lines": ["x"] })
            })
            .collect();
        let call = json!({ "path": name, "edits": edits });
        talk.start_call(100 + n, "hashline_edit", call);
    }
    std::thread::sleep(Duration::from_millis(300));
}

#[test]
fn a_ping_and_a_cancellation_are_heard_while_calls_take_long() {
    let world = World::new();
    world.write("small", "one\n");
    let mut mcp = world.mcp();
    busy(&world, &mut mcp, CALLS);
    for n in 0..5 {
        let id = format!("ping{n}");
        let start = Instant::now();
        mcp.ping(&id);
        mcp.answer(&Value::from(id), HEARD);
        println!("a ping was answered after {:?}", start.elapsed());
    }
    for n in 0..CALLS {
        mcp.send(&json!({
            "jsonrpc": "2.0", "method": "notifications/cancelled",
            "params": { "requestId": 100 + n },
        }));
    }
    mcp.ping("after");
    mcp.answer(&"after".into(), HEARD);
    let done =
        mcp.call(7, "edit_file", json!({ "path": "small", "old_str": "one", "new_str": "two" }));
    assert_eq!(done["result"]["isError"], false, "{done}");
}

#[test]
fn closing_stdin_and_sigterm_end_a_busy_server() {
    let world = World::new();
    let mut mcp = world.mcp();
    busy(&world, &mut mcp, CALLS);
    mcp.close_stdin();
    // The last answers get two seconds each; what then still runs is left behind.
    let took = mcp.ends_within(Duration::from_secs(60)).expect("the server ends");
    println!("closing stdin ended the server after {took:?}");

    let mut mcp = world.mcp();
    busy(&world, &mut mcp, CALLS);
    let process = rustix::process::Pid::from_child(&mcp.child);
    rustix::process::kill_process(process, rustix::process::Signal::TERM).expect("signal");
    let took = mcp.ends_within(Duration::from_secs(5)).expect("SIGTERM ends it within 5 s");
    println!("SIGTERM ended the server after {took:?}");
}

#[test]
fn more_calls_than_places_are_all_answered_and_a_withdrawn_one_is_not_made() {
    let world = World::new();
    world.write("f", "0\n");
    let mut mcp = world.mcp();
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
