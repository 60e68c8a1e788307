//! Questions about failed edits of agents, with recorded answers. The edits are reduced and put in
//! other words. The answers are those of a careful model that saw only the prompt, in these words:
//! also its wrong first answers, which must not be written.

use restitch::edit::EditCode;
use restitch::internals::correct::{PromptBook, parse_reply};
use serde::Deserialize;
use serde_json::Value;

use super::*;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Recorded {
    id: String,
    /// What is wrong with the call.
    #[expect(dead_code, reason = "for readers of the file")]
    what: String,
    path: String,
    file: String,
    old_str: String,
    new_str: String,
    answers: Vec<Value>,
    /// The file as it should be afterwards; null if nothing may be written.
    right: Option<String>,
}

fn recorded() -> Vec<Recorded> {
    crate::rows::rows(include_str!("../../../fixtures/model/real.jsonl"))
}

#[test]
fn recorded_answers_are_written_as_given_or_not_at_all() {
    let book = PromptBook::built_in().expect("prompts");
    let (mut right, mut asked, mut refused, mut sizes) = (0, 0, Vec::new(), Vec::new());
    for case in recorded() {
        let request = EditRequest::new(&case.old_str, &case.new_str);
        let mut answers = case.answers.iter();
        let mut step = start_in(&case.path, &request, &case.file);
        let mut questions = 0;
        while let Step::Ask(resolution) = step {
            questions += 1;
            let prompt = book.render(resolution.ask()).expect("a prompt");
            sizes.push(prompt.system.len() + prompt.user.len());
            let kind = resolution.ask().kind();
            let answer = answers.next().map_or("{}".into(), Value::to_string);
            step = resolution.reply(Ok(parse_reply(kind, &answer).unwrap_or(Reply::Declined))).0;
        }
        asked += usize::from(questions > 0);
        assert!(questions <= 2, "{}", case.id);
        match (result(&step, &case.file), &case.right, step) {
            (Some(written), Some(wanted), _) => {
                assert_eq!(&written, wanted, "{}", case.id);
                right += 1;
            }
            (Some(written), None, _) => panic!("{}: {written}", case.id),
            (None, None, Step::Refused(refusal)) => {
                let is_done = case.answers[0]["status"] == "already_done";
                assert_eq!(refusal.code == EditCode::AlreadyApplied, is_done, "{refusal:?}");
                right += 1;
            }
            (None, _, step) => refused.push(format!("{}: {step:?}", case.id)),
        }
    }
    sizes.sort_unstable();
    let median = sizes[sizes.len() / 2];
    println!(
        "recorded: {asked} asked, {right} right, {} right ones refused, 0 wrong; prompts of {median} bytes in the middle, {} at most",
        refused.len(),
        sizes.last().expect("a prompt")
    );
    assert!(refused.len() * 10 <= right, "{refused:#?}");
    assert!(median <= 3 << 10, "{median}");
    assert!(sizes.last().is_some_and(|size| *size <= 8 << 10), "{sizes:?}");
}
