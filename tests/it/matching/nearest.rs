//! Which regions a refusal shows, and how near it says they are.

use restitch::edit::{EditRequest, Refusal};
use restitch::internals::matching::explain;
use restitch::internals::text::Snapshot;

fn refused(file: &str, old: &str, new: &str) -> Refusal {
    let call = EditRequest::new(old, new).for_path("a.rs");
    explain(&call, &Snapshot::from_text(file)).expect_err("refused")
}

/// How many regions are shown besides the nearest.
fn others(refusal: &Refusal) -> usize {
    refusal.text().matches("As near: lines ").count()
}

#[test]
fn one_wrong_letter_is_nearly_the_same() {
    for (file, old, line, least) in [
        ("let timeout = Duration::x;\nother\n", "let timeout = Duration::y;", 1, 0.9),
        ("fn a() {\n    return 1\n}\n", "retrun 1", 2, 0.7),
        ("x\n  fetchUser(id)\ny\n", "fetchUsr(id)", 2, 0.85),
    ] {
        let nearest = refused(file, old, "gone()").nearest;
        let near = nearest.first().unwrap_or_else(|| panic!("{old}"));
        assert!(near.start_line == line && near.score > least, "{old}: {near:?}");
    }
}

#[test]
fn a_region_has_every_line_of_the_text() {
    let file = "fn a() {\n    call(\n        first,\n        second,\n    );\n    end();\n}\n";
    let old = "    call(first, second,\n    );\n    stop();\n}";
    let near = &refused(file, old, "gone()").nearest[0];
    assert_eq!((near.start_line, near.end_line), (2, 7));
}

#[test]
fn nothing_similar_gives_no_region() {
    assert!(refused("alpha beta\ngamma\n", "zzz qqq 99", "gone()").nearest.is_empty());
}

#[test]
fn a_stale_line_among_right_ones_is_shown() {
    let file = "start()\nfirst = 1\ntimeout: 4500,\nlast = 2\nend()\n";
    let near = &refused(file, "first = 1\ntimeout: 3000,\nlast = 2", "gone()").nearest[0];
    assert_eq!((near.start_line, near.end_line), (2, 4));
    let difference = near.first_difference.as_ref().expect("differs");
    assert_eq!((difference.line, difference.old_line), (3, 2));
    assert_eq!(difference.found, "timeout: 4500,");
}

/// Sixty functions that differ in their name, which only their first line has, and every
/// second one also in a number.
fn handlers() -> String {
    let handler = |n: usize| {
        format!(
            "fn handle_{n}(state: &State, id: u64) -> Reply {{\n    let conn = state.pool.get(id);\n    let row = conn.run(id, {});\n    if row.is_empty() {{\n        return Reply::missing(id);\n    }}\n    log(row.len());\n    Reply::from(row)\n}}\n\n",
            if n.is_multiple_of(2) { 100 } else { 100 + n }
        )
    };
    (0..60).map(handler).collect()
}

fn handler(n: usize) -> String {
    let lines: Vec<String> = handlers().lines().skip(10 * n).take(9).map(str::to_owned).collect();
    lines.join("\n")
}

fn refusal(old: &str) -> Refusal {
    refused(&handlers(), old, &old.replace("log(", "trace("))
}

#[test]
fn the_name_that_one_place_has_wins_over_many_equal_lines() {
    // Without an argument; with another number; with a renamed local.
    for (sent, of_file) in
        [("state: &State, id: u64", "state: &State"), ("id, 100", "id, 7"), ("conn", "link")]
    {
        for n in [4, 30, 58] {
            let refusal = refusal(&handler(n).replace(sent, of_file));
            assert_eq!(refusal.nearest[0].start_line, 10 * n + 1, "{n} {of_file}");
            assert_eq!(others(&refusal), 0, "{}", refusal.text());
        }
    }
}

#[test]
fn places_that_nothing_tells_apart_are_equally_near() {
    // The name, which alone tells them apart, is not quoted.
    let old = handler(4).replace("conn", "link");
    let old = old.split_once('\n').expect("lines").1;
    let refusal = refusal(old);
    assert_eq!(others(&refusal), 2, "{}", refusal.text());
    assert!(
        refusal.message.ends_with(" and others are about equally similar"),
        "{}",
        refusal.message
    );
}

#[test]
fn clues_to_two_places_name_both() {
    // The first line is of one function, and a number of another.
    let old = handler(4).replace("id, 100", "id, 135");
    let refusal = refusal(&old);
    let lines: Vec<usize> = refusal.nearest.iter().map(|near| near.start_line).collect();
    assert_eq!((lines[0], lines[1], others(&refusal)), (41, 351, 1), "{}", refusal.text());
}

#[test]
fn the_same_lines_at_the_same_depth_are_nearer() {
    let file = "if a {\n    one(1);\n    two(2);\n}\n        one(1);\n        two(2);\n";
    let old = "        one(1);\n        two(3);";
    let lines: Vec<_> =
        refused(file, old, "gone();").nearest.iter().map(|near| near.start_line).collect();
    assert_eq!(lines, [5, 2]);
}
