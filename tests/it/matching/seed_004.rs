//! Seed 004, requirement by requirement, as far as it needs no model.

use std::num::NonZeroUsize;

use restitch::edit::{EditCode, EditRequest, Expected};

use super::{apply, code};

fn after(file: &str, old: &str, new: &str) -> String {
    apply(file, &EditRequest::new(old, new)).expect("applies").0
}

#[test]
fn r1_programmatic_unescaping() {
    // Example 1 of the story.
    let file = "print(\"Hello\nWorld\")\n";
    assert_eq!(
        after(file, "print(\"Hello\\nWorld\")", "print(\"Hello New World\")"),
        "print(\"Hello New World\")\n"
    );
    // new_str with an escaped line break, written as a line break.
    assert_eq!(after("a\nb\n", "a\\nb", "a\\nc\\nd"), "a\nc\nd\n");
    assert_eq!(after("say \"x\"\n", "say \\\"x\\\"", "say \\\"y\\\""), "say \"y\"\n");
}

#[test]
fn r5_the_result_is_one_plan_over_one_version() {
    let file = "a\nb\nc\n";
    let request = EditRequest::new("a", "x").expecting(Expected::All);
    assert_eq!(apply(file, &request).expect("applies").0, "x\nb\nc\n");
}

#[test]
fn r6_codes_are_specific() {
    assert_eq!(code("a\n", &EditRequest::new("zzzzz", "x")), EditCode::NoOccurrence);
    assert_eq!(code("a\n", &EditRequest::new("", "x")), EditCode::CreateExisting);
    assert_eq!(code("a\n", &EditRequest::new("a", "a")), EditCode::NoChange);
}

#[test]
fn r7_expected_replacements_hold_for_the_final_reading() {
    let exactly = |n| Expected::Exactly(NonZeroUsize::new(n).expect("positive"));
    let file = "\tx(1);\n\ty();\n\tx(1);\n";
    // Two places once the escapes are undone.
    let request = EditRequest::new("x(\\\"1\\\");", "x(\\\"2\\\");");
    let quoted = file.replace("(1)", "(\"1\")");
    assert_eq!(code(&quoted, &request), EditCode::OccurrenceMismatch);
    let both = request.clone().expecting(exactly(2));
    assert_eq!(apply(&quoted, &both).expect("two").0, quoted.replace("\"1\"", "\"2\""));
    assert_eq!(code(&quoted, &request.clone().expecting(exactly(3))), EditCode::OccurrenceMismatch);
    let all = request.expecting(Expected::All);
    assert_eq!(apply(&quoted, &all).expect("all").0, quoted.replace("\"1\"", "\"2\""));
    // The refusal lists every place.
    let refusal = apply(file, &EditRequest::new("x(1);", "z();")).expect_err("two places");
    assert_eq!(refusal.occurrences, [1, 3]);
}

#[test]
fn r8_what_worked_before_works_unchanged() {
    let cases = [
        ("a b c", "b", "B", "a B c"),
        ("r\"\\d+\\n\"", "\\d+\\n", "\\w+\\n", "r\"\\w+\\n\""),
        ("C:\\new\\table", "C:\\new", "D:\\new", "D:\\new\\table"),
        ("\\textbf{a}\\\\", "\\textbf{a}\\\\", "\\textbf{b}\\\\", "\\textbf{b}\\\\"),
        ("&lt;b&gt;", "&lt;b&gt;", "&lt;i&gt;", "&lt;i&gt;"),
        ("1|a\n2|b\n", "1|a", "1|c", "1|c\n2|b\n"),
    ];
    for (file, old, new, wanted) in cases {
        let (text, rung) = apply(file, &EditRequest::new(old, new)).expect("exact");
        assert_eq!((text.as_str(), rung.as_str()), (wanted, "exact"));
    }
}

#[test]
fn rl1_unescaping_comes_before_everything_laxer() {
    let order: Vec<&str> =
        restitch::internals::matching::LADDER.iter().map(|rung| rung.as_str()).collect();
    let at = |id: &str| order.iter().position(|rung| *rung == id);
    assert!(at("unescaped") < at("trailing_blanks") && at("unescaped").is_some());
    assert_eq!(at("model"), None, "no question before the ladder has ended");
}

#[test]
fn example_2_needs_no_model() {
    let call = EditRequest::new(
        "const API_URL = 'https://old.api/v1';",
        "const API_URL = 'https://new.api/v2';",
    )
    .for_path("config.js");
    let with_comment = "// Existing content in config.js\nconst API_URL = \"https://old.api/v1\"; // Note: double quotes\n";
    assert_eq!(
        apply(with_comment, &call).expect("applies").0,
        "// Existing content in config.js\nconst API_URL = \"https://new.api/v2\"; // Note: double quotes\n"
    );
    assert_eq!(
        apply("const API_URL = \"https://old.api/v1\"\n", &call).expect("applies").0,
        "const API_URL = \"https://new.api/v2\"\n"
    );
}

#[test]
fn testing_considerations_edges() {
    // Multi-line, very long, empty files, a file of one huge line.
    assert_eq!(after("a\nb\nc\nd\n", "b\nc", "x\ny\nz"), "a\nx\ny\nz\nd\n");
    let long: String = (0..100).map(|n| format!("line {n} of the text\n")).collect();
    let changed = long.replace("line 50 of", "LINE 50 of");
    assert_eq!(
        after(&format!("top\n{long}end\n"), &long, &changed),
        format!("top\n{changed}end\n")
    );
    assert_eq!(after("", "", "new file\n"), "new file\n");
    assert_eq!(code("", &EditRequest::new("x", "y")), EditCode::NoOccurrence);
    let huge = format!("{}needle{}", "x".repeat(2_500_000), "y".repeat(2_500_000));
    assert_eq!(after(&huge, "needle", "pin").len(), 5_000_003);
    assert_eq!(code(&huge, &EditRequest::new("neeedle", "pin")), EditCode::NoOccurrence);
}

#[test]
fn a_long_line_is_not_to_be_quoted_whole() {
    let line = |name: &str| format!("{{\"{name}\":1,{}}}\n", "\"k\":[1,2,3],".repeat(400));
    let hint = apply(&line("total"), &EditRequest::new(line("sum"), line("count")));
    let hint = hint.expect_err("stale").hint.expect("hint");
    assert!(hint.contains("line 1"), "{hint}");
}

#[test]
fn near_line_breaks_a_tie_and_makes_no_match() {
    let file = "a\nx\nb\nx\nc\n";
    let near = |line: usize| EditRequest::new("x", "y").near_line(line);
    assert_eq!(apply(file, &near(5)).expect("fourth").0, "a\nx\nb\ny\nc\n");
    assert_eq!(apply(file, &near(1)).expect("second").0, "a\ny\nb\nx\nc\n");
    assert_eq!(code(file, &near(3)), EditCode::OccurrenceMismatch);
    let tied = apply(file, &near(3)).expect_err("as near").hint.expect("hint");
    assert!(tied.starts_with("Several places are equally near"), "{tied}");
    // Sent again, it is the one that is left that would change.
    let again = EditRequest::new("x\n", "y\n").near_line(4_usize);
    assert_eq!(code("a\nx\nb\ny\nc\n", &again), EditCode::AlreadyApplied);
    assert_eq!(apply("a\nx\nb\nx\nc\n", &again).expect("fourth").0, "a\nx\nb\ny\nc\n");
    let absent = EditRequest::new("q", "y").near_line(2_usize);
    assert_eq!(code(file, &absent), EditCode::NoOccurrence);
}
