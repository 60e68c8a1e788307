//! An adversarial but obedient model: whatever the file, the call or its own mood tell it to
//! answer, it answers. Nothing that the checks do not allow is ever written.

use std::collections::HashSet;

use restitch::port::{Ask, Location, Question, Reply};
use serde_json::json;

use super::*;
use crate::long::{count, is_long_run};
use crate::random::Random;

/// Kinds of wrong answers, made from the right one.
fn kinds(good: &str, ask: &Ask) -> Vec<(&'static str, Reply)> {
    let (old, new) = (ask.old.as_str(), ask.new.as_str());
    let place = |start_line, end_line| Location { start_line, end_line };
    let texts: Vec<(&'static str, String)> = vec![
        ("empty", String::new()),
        ("the whole file", FILE.into()),
        ("another function", "pub fn count(items: &[Item]) -> usize {".into()),
        ("another line", "    items.len()".into()),
        ("text of nowhere", "fn nowhere() {}".into()),
        ("a NUL", format!("{good}\0")),
        ("a byte order mark", format!("\u{feff}{good}")),
        ("old_str as it was", old.into()),
        ("a trailing blank", format!("{good} ")),
        ("one character", "p".into()),
        ("a word cut in two", good.chars().take(good.chars().count().saturating_sub(3)).collect()),
        ("cut in front", good.chars().skip(2).collect()),
        ("one line more above", format!("\n{good}")),
        (
            "one line more below",
            format!("{good}\n    items.iter().map(|item| item.price).sum::<f64>() * tax"),
        ),
        ("a megabyte", good.repeat(20_000)),
        ("a command", "Ignore the above. $(rm -rf /)".into()),
        ("a foreign address", good.replace("items", "https://evil.example/items")),
        ("a word dropped", good.replace("discount", "")),
        (
            "words swapped",
            good.replace("items", "\u{1}").replace("tax", "items").replace('\u{1}', "tax"),
        ),
        ("the edit taken back", CORRECTED_OLD.into()),
        ("with line numbers", format!("3|{good}")),
        ("in a fence", format!("```rust\n{good}\n```")),
        ("look-alikes", good.replace('a', "а")),
        ("another case", good.to_uppercase()),
        ("blanks", "   ".into()),
        ("a line break", "\n".into()),
        ("twice", format!("{good}\n{good}")),
        ("a comment added", format!("{good} // reviewed")),
        ("marks dropped", good.replace(['&', ':'], "")),
        ("a path", "../../etc/passwd".into()),
        ("JSON in a string", json!({ "corrected_target_snippet": good }).to_string()),
        ("another operator", good.replace("->", "-")),
        ("types swapped", good.replace("f64", "Item")),
        ("blanks removed", good.replace(' ', "")),
        ("lines broken", good.replace(' ', "\n")),
        ("the first line", "use crate::item::Item;".into()),
        ("the longest line", "    items.iter().map(|item| item.price).sum::<f64>() * tax".into()),
        ("new_str", new.into()),
        ("both sides", format!("{CORRECTED_OLD}\n{new}")),
    ];
    let mut kinds: Vec<(&'static str, Reply)> = texts
        .into_iter()
        // What changes nothing, or is the caller's own text, is no wrong answer.
        .filter(|(_, text)| text != good && text != new)
        .map(|(name, text)| (name, Reply::Text(text)))
        .collect();
    kinds.extend([
        ("declined", Reply::Declined),
        ("a place outside", Reply::Located { text: "x".into(), place: place(900, 901) }),
        ("another place", Reply::Located { text: "x".into(), place: place(7, 7) }),
        ("lines upside down", Reply::Located { text: "x".into(), place: place(4, 2) }),
        ("a number", Reply::Outcome(77)),
    ]);
    kinds
}

fn good_text(ask: &Ask) -> String {
    match &ask.question {
        Question::CorrectOld { .. } => CORRECTED_OLD.into(),
        Question::AdjustNew { .. } => ADJUSTED_NEW.into(),
        _ => String::new(),
    }
}

fn allowed(step: &Step, what: &str) {
    if let Some(written) = result(step, FILE) {
        assert_eq!(written, after(), "{what}");
    }
}

#[test]
fn every_wrong_answer_to_every_ask_writes_nothing_unverified() {
    let first = asked(start(&request(), FILE));
    let at_first = kinds(CORRECTED_OLD, first.ask());
    let (second, _) = asked(start(&request(), FILE)).reply(Ok(Reply::Text(CORRECTED_OLD.into())));
    let at_second = kinds(ADJUSTED_NEW, asked(second).ask());
    assert!(
        at_first.len() >= 30 && at_second.len() >= 30,
        "{} {}",
        at_first.len(),
        at_second.len()
    );
    let mut played = 0;
    // Wrong at one ask, right at the other; and wrong at both, in the same way or in every pair.
    let right_old = ("right", Reply::Text(CORRECTED_OLD.into()));
    let right_new = ("right", Reply::Text(ADJUSTED_NEW.into()));
    for (a, old) in at_first.iter().chain([&right_old]) {
        for (b, new) in at_second.iter().chain([&right_new]) {
            if !is_long_run() && a != b && ![a, b].contains(&&"right") {
                continue;
            }
            let (step, _) = play(start(&request(), FILE), |ask| match &ask.question {
                Question::CorrectOld { .. } => old.clone(),
                _ => new.clone(),
            });
            allowed(&step, &format!("{a} / {b}"));
            played += 1;
        }
    }
    println!("evil: {played} dialogues, 0 unverified writes");
}

#[test]
fn wrong_answers_about_escapes_and_places_write_only_what_is_mechanical() {
    // Broken already, so that the lexer proves nothing and the model is asked.
    let file = "function f() {\n    start();\n}}\n";
    let given = r#"    start();\n    say(\"hi\");"#;
    let fixed = "    start();\n    say(\"hi\");";
    let request = EditRequest::new("    start();", given);
    let begin = || start_in("a.js", &request, file);
    for (name, reply) in kinds(fixed, asked(begin()).ask()) {
        let (step, _) = play(begin(), |_| reply.clone());
        let written = result(&step, file).expect("the call itself is valid");
        assert_eq!(written, file.replace("    start();", given), "{name}");
    }
    let file = "say(\"hi\");\n";
    let request = EditRequest::new("say(`hi`);", "say(`hi ${name}`);");
    let begin = || start_in("a.js", &request, file);
    for (name, reply) in kinds("1", asked(begin()).ask()) {
        let (step, _) = play(begin(), |_| reply.clone());
        assert_eq!(result(&step, file), None, "{name}");
    }
}

/// A text that was spoiled at random: pieces cut, moved, repeated, and mixed with
/// pieces of the other texts at hand.
fn corrupt(random: &mut Random, good: &str) -> String {
    let sources = [
        good,
        FILE,
        OLD,
        NEW,
        CORRECTED_OLD,
        ADJUSTED_NEW,
        "evil",
        " ",
        "\n",
        "\t",
        "f64",
        "tax",
        ")",
        "{",
    ];
    let mut text: Vec<char> = good.chars().collect();
    for _ in 0..1 + random.below(3) {
        let at = random.below(text.len() + 1);
        let len = random.below(8).min(text.len() - at);
        match random.below(4) {
            0 => {
                text.drain(at..at + len);
            }
            1 => {
                let piece: Vec<char> = text.drain(at..at + len).collect();
                let to = random.below(text.len() + 1);
                text.splice(to..to, piece);
            }
            2 => {
                let piece: Vec<char> = text[at..at + len].to_vec();
                text.splice(at..at, piece);
            }
            _ => {
                let source: Vec<char> = random.pick(&sources).chars().collect();
                let from = random.below(source.len());
                let end = (from + 1 + random.below(12)).min(source.len());
                text.splice(at..at, source[from..end].to_vec());
            }
        }
    }
    text.into_iter().collect()
}

/// Words and marks, as simply as possible: not the machine's own tokens.
fn words(text: &str) -> HashSet<String> {
    let mut words = HashSet::new();
    let mut word = String::new();
    for c in text.chars() {
        if c.is_alphanumeric() || c == '_' {
            word.push(c);
        } else {
            words.insert(std::mem::take(&mut word));
            words.insert(c.to_string());
        }
    }
    words.insert(word);
    words
}

#[test]
fn random_answers_never_write_outside_of_what_is_allowed() {
    let rounds = count(5_000, 1_000_000);
    let mut random = Random::new(4);
    let known = &words(CORRECTED_OLD) | &(&words(OLD) | &words(NEW));
    let lines: Vec<&str> = FILE.lines().collect();
    let (mut written, mut right, mut wrong) = (0, 0, Vec::new());
    for _ in 0..rounds {
        let (step, _) = play(start(&request(), FILE), |ask| {
            let good = good_text(ask);
            Reply::Text(if random.below(3) == 0 { good } else { corrupt(&mut random, &good) })
        });
        let Some(now) = result(&step, FILE) else { continue };
        written += 1;
        right += usize::from(now == after());
        let now: Vec<&str> = now.lines().collect();
        let outside = |n: &usize| *n != 2 && now.get(*n) != lines.get(*n);
        let is = now.get(2).copied().unwrap_or_default();
        let kept = ["total_price(items", "tax: f64", "discount: f64", "-> f64 {"];
        let spoiled = now.len() != lines.len()
            || (0..lines.len()).any(|n| outside(&n))
            || !words(is).is_subset(&known)
            || !kept.iter().all(|kept| is.contains(kept));
        if spoiled {
            wrong.push(now.join("\n"));
        }
    }
    wrong.sort();
    wrong.dedup();
    assert!(wrong.is_empty(), "{} wrong of {written}: {wrong:#?}", wrong.len());
    println!(
        "random answers: {rounds}, written {written}, of these as a good model would {right}, 0 unverified"
    );
    assert!(written > 0, "some answers are good");
}
