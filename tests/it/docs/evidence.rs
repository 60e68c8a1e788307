//! Figures: the pages show what `scripts/evidence` prints from the results that are kept.

use std::process::Command;

use serde_json::Value;

use super::{check_part, repo, text_of};

#[test]
fn figures_are_those_of_the_kept_results() {
    let run = match Command::new("python3").arg(repo("scripts/evidence")).arg("tables").output() {
        Ok(run) => run,
        Err(error) => {
            println!("SKIPPED: 1 test: scripts/evidence needs python3: {error}");
            return;
        }
    };
    let out = String::from_utf8(run.stdout).expect("UTF-8");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let mut parts = 0;
    for part in out.split("=== ").skip(1) {
        let (head, body) = part.split_once('\n').expect("a head");
        let (page, name) = head.split_once(": ").expect("page and part");
        check_part(page, name, body);
        parts += 1;
    }
    assert!(parts >= 5, "{out}");
}

/// The pages say how many kinds of mistake there are.
#[test]
fn the_kinds_of_mistake_are_as_many_as_were_measured() {
    let list: Value =
        serde_json::from_str(&text_of("docs/evidence/list-third.json")).expect("JSON");
    let kinds = format!("{} kinds", list["ways"].as_array().expect("ways").len());
    for page in ["README.md", "docs/evidence/index.md"] {
        assert!(text_of(page).contains(&kinds), "{page} does not say {kinds}");
    }
}
