//! Searches are complete and linear: nothing is passed over, and what stands everywhere
//! costs no more than what stands once.

use restitch::edit::{EditCode, EditRequest, Expected, Rung};
use restitch::internals::matching::explain;
use restitch::internals::text::Snapshot;

use super::code;

fn blocks(count: usize) -> String {
    "start()\nalpha = 1\nbeta = 2\ngamma = 3\nfinish()\n\n".repeat(count)
}

#[test]
fn all_means_all() {
    let file = "let value  =  1;\n".repeat(5_001);
    let call = EditRequest::new("value = 1", "value = 2").for_path("a.rs");
    let all = call.clone().expecting(Expected::All);
    let explained = explain(&all, &Snapshot::from_text(file.as_str())).expect("explained");
    assert_eq!((explained.splices.len(), explained.explanation.rung), (5_001, Rung::Spacing));
    let one = explain(&call, &Snapshot::from_text(file)).expect_err("too many");
    assert_eq!(one.code, EditCode::OccurrenceMismatch);
    assert!(one.occurrences.len() <= 50, "a list that can be read");
}

#[test]
fn lines_that_stand_everywhere_are_counted() {
    let old = "  start()\n  alpha = 1\n  beta = 2\n";
    let call = EditRequest::new(old, old.replace("alpha = 1", "alpha = 5"));
    let refusal = explain(&call, &Snapshot::from_text(blocks(1_000))).expect_err("too many");
    assert_eq!(refusal.code, EditCode::OccurrenceMismatch);
    assert!(refusal.message.contains("1000 places"), "{}", refusal.message);
    assert!(explain(&call, &Snapshot::from_text(blocks(1))).is_ok());
}

/// A line of the middle is stale: the place is known, and the answer says what stands there.
#[test]
fn a_stale_line_in_a_long_call_is_named() {
    let file: String = (0..4_000).map(|n| format!("let value_{n} = compute({n});\n")).collect();
    let old: String = file.lines().skip(900).take(2_000).map(|l| format!("{l}\n")).collect();
    let old = old.replace("compute(1500)", "compute(99999)");
    let new = old.replace("compute(99999)", "other(7)");
    let call = EditRequest::new(old, new).for_path("a.rs");
    let refusal = explain(&call, &Snapshot::from_text(file)).expect_err("stale");
    assert_eq!(refusal.code, EditCode::NoOccurrence);
    assert_eq!(refusal.conflicts.len(), 1);
    assert_eq!(refusal.conflicts[0].start_line, 1501);
    assert_eq!(refusal.conflicts[0].found, "let value_1500 = compute(1500);");
}

#[test]
fn parts_of_a_long_line_are_not_sought_one_by_one() {
    // `b` stands half a million times in the line, and each part would be read from the line's start.
    let file = "alpha beta ".repeat(500_000);
    let call = EditRequest::new("alpha nowhere in this line", "b").for_path("a.txt");
    assert_eq!(code(&file, &call), EditCode::NoOccurrence);
}
