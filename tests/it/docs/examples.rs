//! The worked examples of the design pages: real calls of the real program.

use std::fs;

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Project, check_part};
use crate::rows::rows;

/// A call, and the file it is made on.
#[derive(Deserialize)]
struct Example {
    /// The generated part that shows it.
    part: String,
    page: String,
    path: String,
    file: String,
    old: String,
    new: String,
    /// The rung or the code that the text around it speaks of.
    by: String,
}

/// A call and what came of it, as the page shows them.
fn shown(example: &Example, reply: &Value) -> String {
    let answer = match reply["report"]["diff"].as_str() {
        Some(diff) => {
            let rung = reply["report"]["rung"].as_str().expect("rung");
            let body = diff.lines().skip_while(|line| !line.starts_with("@@")).skip(1);
            let body = body.collect::<Vec<_>>().join("\n");
            format!("Applied by `{rung}`:\n\n```diff\n{body}\n```")
        }
        None => {
            format!("Refused:\n\n```text\n{}\n```", reply["message"].as_str().expect("message"))
        }
    };
    format!(
        "`{}`:\n\n```text\n{}\n```\n\n`old_str`:\n\n```text\n{}\n```\n\n`new_str`:\n\n```text\n{}\n```\n\n{answer}\n",
        example.path,
        example.file.trim_end(),
        example.old.trim_end(),
        example.new.trim_end(),
    )
}

#[test]
fn worked_examples_are_what_the_program_does() {
    let examples: Vec<Example> = rows(include_str!("examples.jsonl"));
    for example in &examples {
        let project = Project::new();
        fs::write(project.root().join(&example.path), &example.file).expect("file");
        let call = json!({ "path": example.path, "old_str": example.old, "new_str": example.new });
        let replies = project.answers(&[("edit_file", call)]);
        let reply = &replies[0];
        let by = reply["code"].as_str().or_else(|| reply["report"]["rung"].as_str());
        assert_eq!(by, Some(example.by.as_str()), "{}: {reply:#}", example.part);
        check_part(&example.page, &example.part, &shown(example, reply));
    }
}
