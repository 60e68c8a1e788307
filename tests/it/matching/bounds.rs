//! Searches stop at some number of places. What lies beyond is never passed over in silence:
//! the call is refused, and says so.

use restitch::edit::{EditCode, EditRequest, Expected, Refusal, Rung};
use restitch::matching::explain;
use restitch::text::Snapshot;

fn refused(file: &str, call: &EditRequest) -> Refusal {
    explain(call, &Snapshot::from_text(file)).expect_err("refused")
}

fn tells_of_the_bound(refusal: &Refusal) -> bool {
    refusal.message.contains("can be compared one by one") && refusal.hint.is_some()
}

fn blocks(count: usize) -> String {
    "start()\nalpha = 1\nbeta = 2\ngamma = 3\nfinish()\n\n".repeat(count)
}

#[test]
fn more_places_than_are_aligned() {
    let old = "start()\nalpha = 1\nbeta = 7\ngamma = 3\nfinish()\n";
    let call = EditRequest::new(old, old.replace("finish()", "finish()\nmore()"));
    let one = explain(&call, &Snapshot::from_text(blocks(1))).expect("explained");
    assert_eq!(one.explanation.rung, Rung::Aligned);
    assert!(!tells_of_the_bound(&refused(&blocks(2), &call)), "two are compared");
    let refusal = refused(&blocks(200), &call);
    assert!(tells_of_the_bound(&refusal), "{refusal:?}");
}

#[test]
fn lines_that_stand_everywhere() {
    // All that the call has in common with the file stands in more places than are looked at.
    let old = "start()\nalpha = 1\nbeta = 2\ngamma = 3\nunknown()\n";
    let call = EditRequest::new(old, old.replace("alpha = 1", "alpha = 5"));
    let refusal = refused(&blocks(1_000), &call);
    assert_eq!(refusal.code, EditCode::NoOccurrence);
    assert!(tells_of_the_bound(&refusal), "{refusal:?}");
}

#[test]
fn all_means_all() {
    let file = "let value  =  1;\n".repeat(20_001);
    let call = EditRequest::new("value = 1", "value = 2");
    let all = EditRequest { expected: Expected::All, ..call };
    let refusal = refused(&file, &all);
    assert_eq!(refusal.code, EditCode::OccurrenceMismatch);
    assert!(tells_of_the_bound(&refusal), "{refusal:?}");
    let few = Snapshot::from_text(&file[..file.len() / 20_001 * 500]);
    assert_eq!(explain(&all, &few).map(|explained| explained.splices.len()), Ok(500));
}

#[test]
fn a_statement_of_common_words_is_found_by_a_rarer_one() {
    let file = format!("{}configuration(first, second)\n", "configuration()\n".repeat(2_001));
    let old = "configuration(\n    first,\n    second)";
    let call = EditRequest::new(old, old.replace("second", "third"));
    let explained = explain(&call, &Snapshot::from_text(&file)).expect("explained");
    assert_eq!(explained.explanation.rung, Rung::Reflowed);
    let again = file.replace("configuration()", "configuration(first, second, 1)");
    let refusal = refused(&again, &call);
    assert!(tells_of_the_bound(&refusal), "{refusal:?}");
}
