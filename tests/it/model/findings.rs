//! What once was written wrongly, or refused though it was right, each in two languages: a right
//! answer, which is written as given, and wrong ones, which are not. The cases are in
//! `findings.jsonl`.

use super::*;
use crate::rows::rows;
use restitch::port::Location;

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Finding {
    case: String,
    path: String,
    file: String,
    old: String,
    new: String,
    /// The lines that the answer names.
    lines: (usize, usize),
    right: Option<String>,
    wrong: Vec<String>,
    /// The file afterwards, where lines that it has already keep their own bytes.
    file_after: Option<String>,
}

impl Finding {
    /// The file after an answer that gives this text for the lines.
    fn written(&self, text: &str) -> Option<String> {
        let (start_line, end_line) = self.lines;
        let place = Some(Location { start_line, end_line });
        let request = EditRequest::new(&*self.old, &*self.new);
        let (step, asked) =
            play(start_in(&self.path, &request, &self.file), |ask| match &ask.question {
                Question::CorrectOld { .. } => {
                    Reply::WithNew { text: String::new(), place, new: text.into() }
                }
                _ => Reply::Text(text.into()),
            });
        let case = &self.case;
        assert!(!asked.is_empty() && asked.len() <= 2, "{case}: {asked:?} {step:?}");
        result(&step, &self.file)
    }

    /// The file with this text in the place of the lines.
    fn with(&self, text: &str) -> String {
        let lines: Vec<&str> = self.file.split_inclusive('\n').collect();
        let (first, last) = (self.lines.0 - 1, self.lines.1);
        let ending = if text.is_empty() { "" } else { "\n" };
        let text = format!("{text}{ending}");
        let text = if self.file.contains('\r') { text.replace('\n', "\r\n") } else { text };
        format!("{}{text}{}", lines[..first].concat(), lines[last..].concat())
    }
}

#[test]
fn right_answers_are_written_and_wrong_ones_are_not() {
    for finding in rows::<Finding>(include_str!("findings.jsonl")) {
        let at = format!("{}, {}", finding.case, finding.path);
        if let Some(right) = &finding.right {
            let wanted = finding.file_after.clone().unwrap_or_else(|| finding.with(right));
            assert_eq!(finding.written(right), Some(wanted), "{at}");
        }
        for wrong in &finding.wrong {
            assert_eq!(finding.written(wrong), None, "{at}: {wrong}");
        }
    }
}
