//! The prompt shows the bytes of the file, whatever they are.

use restitch::internals::correct::{PROMPTS, PromptBook, RenderedPrompt};
use restitch::internals::text::ContentHash;
use restitch::port::{Ask, Question, Window};

use crate::random::Random;

/// Pieces that break templates, frames and fences.
const PIECES: &[&str] = &[
    "{{old}}",
    "{{windows}}",
    "{{mark}}",
    "{{",
    "}}",
    "$&",
    "$1",
    "$`",
    "$'",
    "\\1",
    "%s",
    "{0}",
    "BEGIN candidate 1 ",
    "END candidate 1 ",
    "END change\n",
    "BEGIN new_str",
    "```",
    "</file_content>",
    "<think>",
    "# user\n",
    "# system\n",
    "\n",
    "\r\n",
    "\r",
    "\t",
    " ",
    "1|",
    "12|x",
    "|",
    "é",
    "日本",
    "😀",
    "\u{202e}",
    "\u{feff}",
    "\u{2028}",
    "(no line break at the end)",
    "\"",
    "\\",
    "\\n",
    "a",
    "fn f() {}",
];

fn text(random: &mut Random) -> String {
    (0..1 + random.below(12)).map(|_| *random.pick(PIECES)).collect()
}

#[test]
fn the_bytes_shown_are_the_bytes_of_the_file() {
    let rounds = crate::long::count(5_000, 1_000_000);
    let mut random = Random::new(7);
    let book = PromptBook::built_in().expect("prompts");
    for round in 0..rounds {
        let windows: Vec<Window> = (0..1 + random.below(3))
            .map(|_| {
                let text = text(&mut random);
                let start_line = 1 + random.below(5_000);
                let end_line = start_line + text.matches('\n').count();
                Window { start_line, end_line, text }
            })
            .collect();
        let (old, new) = (text(&mut random), text(&mut random));
        let ask = Ask {
            path: text(&mut random),
            file: ContentHash::of(b""),
            old: old.clone(),
            new: new.clone(),
            question: Question::CorrectOld {
                expected: Some(1),
                windows: windows.clone(),
                reason: (round % 2 == 0).then(|| text(&mut random)),
            },
        };
        let rendered = book.render(&ask).expect("prompt");
        let shown = parse_excerpts(&rendered).expect("readable frames");
        let wanted: Vec<(usize, String)> =
            windows.iter().map(|w| (w.start_line, w.text.clone())).collect();
        assert_eq!(shown, wanted, "round {round}");
        let mark = rendered.system.split("the mark ").nth(1).expect("mark");
        let mark = mark.split(' ').next().expect("mark");
        let (_, change) = rendered.user.split_once(&format!("BEGIN change {mark}")).expect("frame");
        let (change, _) = change.split_once(&format!("END change {mark}\n")).expect("frame");
        // The diff holds each line of both texts.
        let lines = old.split('\n').chain(new.split('\n'));
        for line in lines.filter(|line| !line.is_empty()) {
            let is_there = change.split('\n').any(|of_diff| of_diff.get(1..) == Some(line));
            assert!(is_there, "round {round}: {line:?} in {change:?}");
        }
    }
    println!("prompts: {rounds} rendered and read back, 0 differences");
}

#[test]
fn the_same_question_has_the_same_mark_and_another_has_its_own() {
    let book = PromptBook::built_in().expect("prompts");
    let ask = |file: &[u8], old: &str| Ask {
        path: "a".into(),
        file: ContentHash::of(file),
        old: old.into(),
        new: "n".into(),
        question: Question::RepairEscapes,
    };
    let rendered = |file: &[u8], old: &str| book.render(&ask(file, old)).expect("prompt");
    // Of the file only what is sent counts: the rest may change.
    assert_eq!(rendered(b"one", "o"), rendered(b"two", "o"));
    let mut seen = std::collections::HashSet::new();
    for n in 0..1_000 {
        assert!(seen.insert(rendered(b"", &n.to_string()).system));
    }
}

#[test]
fn a_replaced_prompt_is_checked_when_it_is_loaded() {
    let replaced = |text: &'static str| {
        PromptBook::with(|name| (name == "repair_escapes.md").then(|| text.to_owned()))
    };
    let good = "# system\nmark {{mark}}\n# user\n{{path}} {{old}} {{ new }}";
    let own = replaced(good).expect("all slots");
    assert_ne!(own.digest(), PromptBook::built_in().expect("prompts").digest());
    for (bad, why) in [
        ("no headings", "# system"),
        ("# system\nx", "# user"),
        ("# system\n{{mark}}\n# user\n{{path}} {{old}}", "new"),
        ("# system\n{{mark}}\n# user\n{{path}} {{old}} {{new}} {{evil}}", "evil"),
        ("# system\n{{mark}}\n# user\n{{path}} {{old}} {{new", "never closed"),
    ] {
        let error = replaced(bad).expect_err(bad).to_string();
        assert!(error.contains(why) && error.contains("repair_escapes.md"), "{error}");
    }
    for spec in PROMPTS {
        assert!(spec.text.contains("never follow them"), "{}", spec.file);
    }
}

/// Reads the excerpts back from a rendered prompt: the first line number and the text of each.
/// `None` if the prompt is not framed as expected.
pub(crate) fn parse_excerpts(rendered: &RenderedPrompt) -> Option<Vec<(usize, String)>> {
    let mark = rendered.system.split("the mark ").nth(1)?.split(' ').next()?;
    let mut out = Vec::new();
    let mut rest = rendered.user.as_str();
    for excerpt_number in 1.. {
        let open = format!("BEGIN candidate {excerpt_number} {mark}");
        let Some((_, after)) = rest.split_once(&open) else { break };
        let (note, after) = after.split_once('\n')?;
        let (body, after) =
            after.split_once(&format!("END candidate {excerpt_number} {mark}\n"))?;
        // The note says that the line break before the END line is not part of the text.
        let body = if note.is_empty() { body } else { body.strip_suffix('\n')? };
        let mut text = String::new();
        let mut first = None;
        for line in body.split_inclusive('\n') {
            let (number, line) = line.split_once('|')?;
            first.get_or_insert(number.parse().ok()?);
            text.push_str(line);
        }
        out.push((first.unwrap_or(0), text));
        rest = after;
    }
    Some(out)
}
