//! Many processes on one object: no edit is lost, and a server that ignores conditions shows
//! that the count would notice.

use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use super::proxy::Fault;
use super::{Bucket, count};

const PROCESSES: usize = 8;

fn line(process: usize, edits: usize) -> String {
    format!("process {process} has {edits}\n")
}

struct Counted {
    present: usize,
    conflicts: usize,
}

/// Each process counts up its own line of one file; a refusal for a conflict is sent again.
fn count_together(bucket: &Bucket, command: impl Fn() -> Command + Sync, edits: usize) -> Counted {
    let start: String = (0..PROCESSES).map(|process| line(process, 0)).collect();
    bucket.put("w/counters", &start);
    let conflicts = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for process in 0..PROCESSES {
            let (command, conflicts) = (&command, &conflicts);
            scope.spawn(move || {
                let mut batch = super::Batch::of(command().arg("batch"));
                for number in 0..edits {
                    loop {
                        let (old, new) = (line(process, number), line(process, number + 1));
                        let reply = batch.edit("counters", &old, &new);
                        match reply["code"].as_str() {
                            None => break,
                            Some("EDIT_CONFLICT") => conflicts.fetch_add(1, Ordering::Relaxed),
                            // On a careless server the line may be gone back.
                            Some("EDIT_NO_OCCURRENCE_FOUND") => return,
                            Some(_) => panic!("{reply}"),
                        };
                    }
                }
            });
        }
    });
    let end = bucket.get("w/counters").expect("the file");
    let numbers = end.lines().filter_map(|line| line.rsplit(' ').next()?.parse::<usize>().ok());
    Counted { present: numbers.sum(), conflicts: conflicts.into_inner() }
}

#[test]
fn eight_processes_lose_no_edit_of_one_object() {
    let Some(bucket) = Bucket::start("eight_processes_lose_no_edit_of_one_object") else { return };
    let edits = count(12, 500);
    bucket.proxy.set(Fault::None);
    let start = Instant::now();
    let counted = count_together(&bucket, || bucket.command("w"), edits);
    let requests = bucket.proxy.seen().len();
    println!(
        "{PROCESSES} processes, {edits} edits each of one object: {} lost, {} refused for a conflict and sent again, {:.1} requests an edit, {:.0} s",
        PROCESSES * edits - counted.present,
        counted.conflicts,
        requests as f64 / (PROCESSES * edits) as f64,
        start.elapsed().as_secs_f64(),
    );
    assert_eq!(counted.present, PROCESSES * edits);
}

/// The same count, where conditions are taken away after restitch has looked for them.
#[test]
fn the_count_notices_a_careless_server() {
    let Some(bucket) = Bucket::start("the_count_notices_a_careless_server") else { return };
    bucket.put("w/a", "one\n");
    assert_eq!(bucket.run("w", &["read", "a"]).0, 0, "the server is known from now on");
    bucket.proxy.set(Fault::ConditionsIgnored);
    let edits = 12;
    let counted = count_together(&bucket, || bucket.command("w"), edits);
    println!("a careless server lost {} edits", PROCESSES * edits - counted.present);
    assert!(counted.present < PROCESSES * edits);
}
