//! The worked examples of the design pages: real calls of the real program.

use std::fs;

use serde_json::{Value, json};

use super::{Project, check_part};

/// A call, and the file it is made on.
struct Example {
    /// The generated part that shows it.
    part: &'static str,
    page: &'static str,
    path: &'static str,
    file: &'static str,
    old: &'static str,
    new: &'static str,
    /// The rung or the code that the text around it speaks of.
    by: &'static str,
}

const PRINCIPLES: &str = "docs/design/principles.md";

const EXAMPLES: &[Example] = &[
    Example {
        part: "alignment: a changed line",
        page: PRINCIPLES,
        path: "steps.rs",
        file: "// The first step.\nfn a() {\n    one();\n    two(7);\n}\n",
        old: "// First step\nfn a() {\n    one();\n    two();\n}",
        new: "// First step\nfn a() {\n    one();\n    three();\n}",
        by: "EDIT_NO_OCCURRENCE_FOUND",
    },
    Example {
        part: "made edit",
        page: PRINCIPLES,
        path: "twins.go",
        file: "func a() {\n\topen()\n\tcheck()\n\tclose()\n}\n\nfunc b() {\n\tif x {\n\t\topen()\n\t\tclose()\n\t}\n}\n",
        old: "\topen()\n\tclose()\n",
        new: "\topen()\n\tcheck()\n\tclose()\n",
        by: "EDIT_ALREADY_APPLIED",
    },
];

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
    for example in EXAMPLES {
        let project = Project::new();
        fs::write(project.root().join(example.path), example.file).expect("file");
        let call = json!({ "path": example.path, "old_str": example.old, "new_str": example.new });
        let replies = project.answers(&[("edit_file", call)]);
        let reply = &replies[0];
        let by = reply["code"].as_str().or_else(|| reply["report"]["rung"].as_str());
        assert_eq!(by, Some(example.by), "{}: {reply:#}", example.part);
        check_part(example.page, example.part, &shown(example, reply));
    }
}
