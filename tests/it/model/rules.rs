//! The requirements and rules of seed 004, by name, on the pure machine: no server,
//! no clock, no double.

use restitch::edit::{AttemptOutcome, EditCode, EditRequest, Expected, Refusal, Rung};
use restitch::internals::resolve::{Model, Reapply, Resolution, Step};
use restitch::internals::text::Snapshot;
use restitch::port::{CorrectorError, Location, Question, Reply};

use super::*;

fn refusal(step: Step) -> Refusal {
    match step {
        Step::Refused(refusal) => *refusal,
        other => panic!("expected a refusal, got {other:?}"),
    }
}

fn text(text: &str) -> Reply {
    Reply::Text(text.into())
}

#[test]
fn r2_an_old_str_that_is_nowhere_is_corrected_by_the_model() {
    let (step, asked) = play(start(&request(), FILE), good);
    assert_eq!(asked, ["correct_old", "adjust_new"]);
    assert_eq!(result(&step, FILE), Some(after()));
    let Step::Done(resolved) = step else { panic!("done") };
    let explanation = &resolved.explained.explanation;
    assert_eq!(explanation.rung, Rung::Model);
    let corrected = explanation.corrected.as_ref().expect("said");
    assert_eq!(
        (corrected.old_str.as_str(), corrected.new_str.as_str()),
        (CORRECTED_OLD, ADJUSTED_NEW)
    );
    assert_eq!(explanation.attempts.len(), 2);
    assert!(explanation.attempts.iter().all(|a| a.outcome == AttemptOutcome::Accepted));
}

#[test]
fn r2_only_a_missing_text_is_corrected() {
    for (old, file, code) in [
        ("x", "x x", EditCode::OccurrenceMismatch),
        ("", "x", EditCode::CreateExisting),
        ("x", "x", EditCode::NoChange),
    ] {
        let step = start(&EditRequest::new(old, "x"), file);
        // Whatever the ladder says to these, no model is asked.
        assert!(!matches!(step, Step::Ask(_)), "{code}: {step:?}");
    }
}

#[test]
fn r3_the_adjustment_follows_the_correction_and_is_checked() {
    let evil = "pub fn total_price(items: &[Item], tax: f64, evil: f64) -> f64 {";
    for bad in [
        evil,
        CORRECTED_OLD,
        OLD,
        "",
        "discount",
        "pub fn total_price(tax: f64, items: &[Item], discount: f64) -> f64 {",
    ] {
        let (step, asked) = play(start(&request(), FILE), |ask| match &ask.question {
            Question::CorrectOld { .. } => text(CORRECTED_OLD),
            _ => text(bad),
        });
        assert_eq!(asked, ["correct_old", "adjust_new"], "{bad}");
        // The merge may stand in its place; the answer never does.
        if let Some(written) = result(&step, FILE) {
            assert_eq!(written, after(), "{bad}");
        } else {
            let refusal = refusal(step);
            assert_eq!(refusal.code, EditCode::NoOccurrence);
            assert_eq!(
                refusal.attempts.last().map(|a| a.outcome),
                Some(AttemptOutcome::Rejected),
                "{bad}"
            );
        }
    }
}

const ESCAPED: &str = r#"    start();\n    say(\"hi\");"#;

fn escaped_call() -> (EditRequest, &'static str) {
    (EditRequest::new("    start();", ESCAPED), "function f() {\n    start();\n}\n")
}

fn start_js(request: &EditRequest, file: &str) -> Step {
    start_in("a.js", request, file)
}

#[test]
fn r4_surplus_escapes_are_repaired_on_evidence_and_only_mechanically() {
    let (request, file) = escaped_call();
    let fixed = "    start();\n    say(\"hi\");";
    // The file is whole and the lexer knows the language: no model is needed.
    assert_eq!(result(&start_js(&request, file), file), Some(file.replace("    start();", fixed)));
    // In a file that is broken already, nothing is proven.
    let file = &format!("{file}}}}}\n");
    let written = |answer: &str| {
        let (step, asked) = play(start_js(&request, file), |_| text(answer));
        assert_eq!(asked, ["repair_escapes"]);
        result(&step, file).expect("the call itself is valid")
    };
    assert_eq!(written(fixed), file.replace("    start();", fixed));
    // Anything that is not a reading of new_str leaves it as it was given.
    for bad in ["    start();\n    evil();", "", ESCAPED, "    start();"] {
        assert_eq!(written(bad), file.replace("    start();", ESCAPED), "{bad}");
    }
}

#[test]
fn r4_without_evidence_no_model_is_asked() {
    for (path, new) in [
        ("a.js", r#"say("a\nb");"#),
        ("a.tex", r"\newcommand"),
        ("a.rs", r#"println!("\"{}\"", x);"#),
        ("notes.md", r"a\nb"),
    ] {
        let request = EditRequest::new("start", new);
        let step = start_in(path, &request, "start\n");
        let file = result(&step, "start\n").expect("explained");
        assert_eq!(file, format!("{new}\n"), "{path}");
    }
}

/// Also without a model (R8), and none is asked to adjust what was not corrected (RL4).
#[test]
fn r6_a_failed_correction_returns_the_original_error_with_the_attempt() {
    let original =
        match Resolution::start("lib.rs", &request(), &Snapshot::from_text(FILE), Model::Absent) {
            Step::Refused(refusal) => *refusal,
            other => panic!("{other:?}"),
        };
    assert_eq!((original.code, original.attempts.len()), (EditCode::NoOccurrence, 0));
    let failures = [
        (Err(CorrectorError::Timeout), AttemptOutcome::Failed),
        (Err(CorrectorError::Failed("the server answered 500".into())), AttemptOutcome::Failed),
        (Err(CorrectorError::Sensitive("a key".into())), AttemptOutcome::Skipped),
        (Ok(Reply::Declined), AttemptOutcome::Declined),
        (Ok(text("not in the file at all")), AttemptOutcome::Rejected),
    ];
    for (answer, outcome) in failures {
        let mut step = start(&request(), FILE);
        while let Step::Ask(resolution) = step {
            step = resolution.reply(answer.clone()).0;
        }
        let mut refusal = refusal(step);
        // A wrong place is asked about once more, with the reason.
        assert_eq!(refusal.attempts.len(), if outcome == AttemptOutcome::Rejected { 2 } else { 1 });
        assert!(refusal.attempts.iter().all(|attempt| attempt.outcome == outcome));
        refusal.attempts.clear();
        assert_eq!(refusal, original);
    }
}

#[test]
fn r7_a_corrected_text_that_occurs_too_often_is_a_mismatch() {
    let file = format!("{FILE}{FILE}");
    let (step, _) = play(start(&request(), &file), good);
    let refusal = refusal(step);
    assert_eq!(refusal.code, EditCode::OccurrenceMismatch);
    assert_eq!(refusal.occurrences, [3, 12]);
    assert_eq!(refusal.attempts.len(), 1);
}

#[test]
fn r7_the_expected_count_is_that_of_the_corrected_text() {
    let file = format!("{FILE}{FILE}");
    let two = Expected::Exactly(2.try_into().expect("positive"));
    let (step, _) = play(start(&request().expecting(two), &file), good);
    assert_eq!(result(&step, &file), Some(format!("{0}{0}", after())));
    let (step, _) = play(start(&request().expecting(Expected::All), &file), good);
    assert_eq!(result(&step, &file), Some(format!("{0}{0}", after())));
    let (step, _) = play(start(&request().expecting(two), FILE), good);
    assert_eq!(refusal(step).code, EditCode::NoOccurrence, "fewer is a failed correction");
}

#[test]
fn r8_a_correct_call_asks_no_model() {
    let step = start(&EditRequest::new("items.len()", "items.len() + 1"), FILE);
    assert!(matches!(step, Step::Done(_)));
}

#[test]
fn rl2_no_correction_is_a_tool() {
    for tool in restitch::internals::tools::TOOLS {
        for word in ["correct", "adjust", "escape", "choose"] {
            assert!(!tool.name.contains(word), "{}", tool.name);
        }
    }
}

#[test]
fn rl5_the_prompt_demands_an_exact_literal_unique_match_and_empty_means_none() {
    let resolution = asked(start(&request(), FILE));
    let book = restitch::internals::correct::PromptBook::built_in().expect("prompts");
    let prompt = book.render(resolution.ask()).expect("prompt").system;
    assert!(prompt.contains("exact, literal, unique match"), "{prompt}");
    assert!(prompt.contains("empty `corrected_target_snippet`"), "{prompt}");
    let empty = restitch::internals::correct::parse_reply(
        restitch::edit::AskKind::CorrectOld,
        r#"{"corrected_target_snippet": ""}"#,
    );
    let (step, verdict) = resolution.reply(Ok(empty.expect("readable")));
    assert_eq!(verdict, AttemptOutcome::Declined);
    assert_eq!(refusal(step).code, EditCode::NoOccurrence);
}

#[test]
fn the_lines_may_be_named_instead_of_copied() {
    let place = |start_line, end_line| Location { start_line, end_line };
    let answer = |place| Reply::Located { text: "pub fn total_price(…) {".into(), place };
    let (step, verdict) = asked(start(&request(), FILE)).reply(Ok(answer(place(3, 3))));
    assert_eq!(verdict, AttemptOutcome::Accepted, "{step:?}");
    for bad in [place(7, 7), place(0, 3), place(3, 99), place(4, 3)] {
        let (_, verdict) = asked(start(&request(), FILE)).reply(Ok(answer(bad)));
        assert_eq!(verdict, AttemptOutcome::Rejected, "{bad:?}");
    }
}

#[test]
fn a_place_that_is_no_nearer_than_another_is_not_taken() {
    let file = "let timeout_read = get(\"a\");\nlet timeout_rest = get(\"a\");\n";
    let request =
        EditRequest::new("let timeout_re = fetch(\"a\");", "let timeout_re = fetch(\"b\");");
    for line in file.lines() {
        let (step, _) = play(start(&request, file), |ask| match &ask.question {
            Question::CorrectOld { .. } => text(line),
            other => panic!("{other:?}"),
        });
        assert_eq!(refusal(step).code, EditCode::NoOccurrence, "{line}");
    }
}

/// Every line is one tab too shallow, but for one new line below a comma, that stands as deep as the
/// file's lines or deeper.
fn ambiguous_call() -> (EditRequest, &'static str) {
    let call = EditRequest::new("\ta(),\n\tb(),\n", "\ta(),\n\t\tnew(),\n\tb(),\n");
    (call, "f {\n\t\ta(),\n\t\tb(),\n}\n")
}

#[test]
fn which_outcome_is_meant_is_chosen_by_number() {
    let (request, file) = ambiguous_call();
    let (step, asked) = play(start(&request, file), |_| Reply::Outcome(3));
    assert_eq!(asked, ["choose"]);
    assert_eq!(result(&step, file).as_deref(), Some("f {\n\t\ta(),\n\t\tnew(),\n\t\tb(),\n}\n"));
    for bad in [Reply::Outcome(0), Reply::Outcome(4), Reply::Declined, text("a();")] {
        let (step, _) = play(start(&request, file), |_| bad.clone());
        let refusal = refusal(step);
        assert_eq!(refusal.code, EditCode::Ambiguous, "{bad:?}");
        assert_eq!(refusal.outcomes.len(), 3);
    }
    // Twins are no matter of how the call is read: R7 stands.
    let twins = start(&EditRequest::new("a();", "c();"), "a();\nb();\na();\n");
    assert_eq!(refusal(twins).code, EditCode::OccurrenceMismatch);
}

/// A refusal that is not "no place" stays one, whatever a model would answer.
#[test]
fn a_safe_refusal_is_not_turned_into_an_edit() {
    let file = "const a = 1;\nconst b = 2;\n";
    for new in ["```js\nconst a = 2;\n```", "const a = &lt;2;", "+const a = 2;"] {
        // The old text stands there: no question, and the plain result with a warning at most.
        let step = start(&EditRequest::new("const a = 1;", new), file);
        assert!(matches!(step, Step::Done(_)), "{new}: {step:?}");
    }
    let made = EditRequest::new("const a = 1;", "const a = 1;\nconst b = 2;");
    assert_eq!(refusal(start(&made, file)).code, EditCode::AlreadyApplied);
    let twice = EditRequest::new("const", "let");
    assert_eq!(refusal(start(&twice, file)).code, EditCode::OccurrenceMismatch);
}

/// The changed line is stale: the model points at it, and what the caller asked for is
/// written, and said.
#[test]
fn a_stale_changed_line_is_recovered() {
    for (path, file, old, new, line, number) in [
        (
            "a.js",
            "const o = {\n  name: 'x',\n  timeout: 4500,\n};\n",
            "  timeout: 3000,",
            "  timeout: 8000,",
            "  timeout: 4500,",
            3,
        ),
        ("a.py", "retries = 5\nlimit = 10\n", "limit = 99", "limit = 20", "limit = 10", 2),
    ] {
        let step = start_in(path, &EditRequest::new(old, new), file);
        let (step, asked) = play(step, |ask| match &ask.question {
            Question::CorrectOld { .. } => text(line),
            _ => text(new),
        });
        assert_eq!(asked, ["correct_old", "adjust_new"]);
        assert_eq!(result(&step, file), Some(file.replace(line, new)), "{path}: {step:?}");
        let Step::Done(resolved) = step else { panic!("done") };
        let conflict = &resolved.explained.explanation.conflicts[0];
        assert_eq!((conflict.start_line, conflict.end_line), (number, number));
        assert_eq!((conflict.believed.as_str(), conflict.found.as_str()), (old, line));
        assert_eq!(conflict.written.as_deref(), Some(new));
        assert!(resolved.explained.explanation.warnings[0].contains("it is"), "{path}");
    }
}

/// A line that the call only quotes, but that differs in words, is a reason to ask. What the matcher
/// would write counts only if the model cannot be reached.
#[test]
fn a_quoted_line_that_differs_in_words_is_asked_about() {
    for (path, comment, stale, code) in [
        ("a.rs", "// opens the door", "// opens a door", "    open();\n    wait();\n    close();"),
        ("a.py", "# opens the door", "# opens a door", "    open()\n    wait()\n    close()"),
    ] {
        let file = format!("top:\n    {comment}\n{code}\nbottom\n");
        let quoted = |comment: &str| format!("    {comment}\n{code}");
        let changed = |text: String| text.replace("close(", "close(1");
        let request = EditRequest::new(quoted(stale), changed(quoted(stale)));
        let right = changed(file.clone());
        let place = Some(Location { start_line: 2, end_line: 5 });
        let answer = |new: String| Reply::WithNew { text: String::new(), place, new };
        let (step, asked) =
            play(start_in(path, &request, &file), |_| answer(changed(quoted(comment))));
        assert_eq!(asked, ["correct_old"], "{path}");
        assert_eq!(result(&step, &file).as_ref(), Some(&right), "{path}: {step:?}");
        let (step, _) =
            super::asked(start_in(path, &request, &file)).reply(Err(CorrectorError::Timeout));
        assert_eq!(result(&step, &file).as_ref(), Some(&right), "{path}: {step:?}");
        for bad in [Reply::Declined, answer(changed(quoted(stale))), answer(quoted(comment))] {
            let (step, _) = play(start_in(path, &request, &file), |_| bad.clone());
            assert_eq!(refusal(step).code, EditCode::NoOccurrence, "{path}: {bad:?}");
        }
    }
}

/// Line numbers that were copied with the snippet point at the lines, and are not written.
#[test]
fn a_snippet_with_line_numbers_is_found() {
    let python = "import os\n\ndef read(path, mode):\n    return open(path)\n";
    let call = EditRequest::new("def load(path):", "def load(path, strict=False):");
    let right = "def read(path, mode, strict=False):";
    let all = [
        ("lib.rs", request(), FILE, CORRECTED_OLD, ADJUSTED_NEW),
        ("a.py", call, python, "def read(path, mode):", right),
    ];
    for (path, request, file, old, new) in all {
        for new_text in [new.to_owned(), format!("3|{new}")] {
            let answer =
                Reply::WithNew { text: format!("3|{old}"), place: None, new: new_text.clone() };
            let (step, _) = play(start_in(path, &request, file), |ask| match &ask.question {
                Question::CorrectOld { .. } => answer.clone(),
                _ => text(&new_text),
            });
            let wanted = (new == new_text).then(|| file.replace(old, new));
            assert_eq!(result(&step, file), wanted, "{path}: {new_text}: {step:?}");
        }
    }
}

/// "Made already" becomes that refusal, if the file has the lines.
#[test]
fn what_is_made_already_is_said() {
    for (file, code) in [
        ("a = 1\nb = 22\nc = 3\n", EditCode::AlreadyApplied),
        ("a = 1\nb = 9\nc = 3\n", EditCode::NoOccurrence),
    ] {
        let request = EditRequest::new("a = 0\nb = 2\nd = 4", "a = 1\nb = 22\nc = 3");
        let (step, _) = play(start_in("a.py", &request, file), |_| Reply::AlreadyDone);
        assert_eq!(refusal(step).code, code, "{file}");
    }
}

/// The second question shows more of the file to a model that needs it: all of it, or as much as a
/// question of 8 KiB has room for, however large the file is.
#[test]
fn a_model_that_is_unsure_sees_more_of_the_file() {
    for (fillers, has_whole) in [(100, true), (1_000, false), (10_000, false)] {
        let filler: String =
            (0..fillers).map(|n| format!("fn filler_{n}() {{ work({n}); }}\n")).collect();
        let file = format!("{FILE}{filler}");
        let book = restitch::internals::correct::PromptBook::built_in().expect("prompts");
        let mut sizes = Vec::new();
        let (step, asked) = play(start(&request(), &file), |ask| {
            let prompt = book.render(ask).expect("a prompt");
            let shown = ask.shown().iter().map(|text| text.len()).sum::<usize>();
            sizes.push((shown, prompt.system.len() + prompt.user.len()));
            Reply::Unsure
        });
        assert_eq!(asked, ["correct_old", "correct_old"]);
        assert!(sizes[0].0 * 2 < sizes[1].0 && sizes[1].1 <= 8 << 10, "{sizes:?}");
        assert_eq!(sizes[1].0 == file.len(), has_whole, "{sizes:?}");
        assert_eq!(refusal(step).code, EditCode::NoOccurrence);
    }
}

/// A text may be given where no outcome is right; it is judged like any other.
#[test]
fn none_but_this_is_a_choice() {
    let (request, file) = ambiguous_call();
    let deeper = "\t\ta(),\n\t\tnew(),\n\t\tb(),";
    let (step, asked) = play(start(&request, file), |_| text(deeper));
    assert_eq!(asked, ["choose"]);
    let wanted = "f {\n\t\ta(),\n\t\tnew(),\n\t\tb(),\n}\n";
    assert_eq!(result(&step, file).as_deref(), Some(wanted), "{step:?}");
    let (step, _) = play(start(&request, file), |_| text("\t\ta(),\n\t\tevil(),\n\t\tb(),"));
    assert_eq!(refusal(step).code, EditCode::Ambiguous);
}

#[test]
fn a_decided_correction_holds_on_another_version_only_if_the_text_is_the_same() {
    let (step, _) = play(start(&request(), FILE), good);
    let Step::Done(resolved) = step else { panic!("done") };
    assert!(matches!(resolved.reapply, Reapply::Exact(..)));
    let moved = Snapshot::from_text(format!("// a new first line\n{FILE}"));
    let again = resolved.reapply.decide(&moved).expect("the text is still there");
    assert_eq!(again.explanation.rung, Rung::Model);
    for gone in [FILE.replace("tax: f64", "vat: f64"), format!("{FILE}{FILE}"), String::new()] {
        let refusal = resolved.reapply.decide(&Snapshot::from_text(gone)).expect_err("conflict");
        assert_eq!(refusal.code, EditCode::Conflict);
    }
}

#[test]
fn a_file_with_crlf_is_corrected_by_its_own_line_endings() {
    let file = FILE.replace('\n', "\r\n");
    let request = EditRequest::new(
        format!("{OLD}\n    items.iter().map(|item| item.cost).sum()\n"),
        format!("{NEW}\n    items.iter().map(|item| item.cost).sum()\n"),
    );
    let region = "pub fn total_price(items: &[Item], tax: f64) -> f64 {\n    items.iter().map(|item| item.price).sum::<f64>() * tax\n";
    let adjusted = region.replace(CORRECTED_OLD, ADJUSTED_NEW);
    let (step, _) = play(start(&request, &file), |ask| match &ask.question {
        Question::CorrectOld { .. } => text(region),
        _ => text(&adjusted),
    });
    assert_eq!(result(&step, &file), Some(after().replace('\n', "\r\n")), "{step:?}");
}
