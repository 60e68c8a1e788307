//! Figures: the pages show what `scripts/evidence` prints from the results that are kept.

use std::process::Command;

use serde_json::Value;

use super::{check_part, repo, text_of};

#[test]
fn figures_are_those_of_the_kept_results() {
    let run = match Command::new("python3").arg(repo("scripts/evidence")).arg("tables").output() {
        Ok(run) => run,
        Err(error) => {
            return crate::disk::skip("scripts/evidence", &format!("it needs python3: {error}"));
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

/// The page says how many kinds of mistake there are.
#[test]
fn the_kinds_of_mistake_are_as_many_as_were_measured() {
    let list: Value =
        serde_json::from_str(&text_of("docs/evidence/list-third.json")).expect("JSON");
    let kinds = format!("{} kinds", list["ways"].as_array().expect("ways").len());
    assert!(text_of("docs/evidence/index.md").contains(&kinds), "the page does not say {kinds}");
}

/// The sessions of the first table are pinned, of many models, and none of them is measured again as unseen.
#[test]
fn the_sessions_are_pinned_and_those_for_acceptance_are_apart() {
    let listed: toml::Table = text_of("docs/evidence/transcripts.toml").parse().expect("TOML");
    let repositories = listed["repository"].as_array().expect("repositories");
    let mut names: Vec<&str> = Vec::new();
    for repository in repositories {
        names.push(repository["name"].as_str().expect("name"));
        let commit = repository["commit"].as_str().expect("commit");
        assert!(commit.len() == 40 && commit.bytes().all(|b| b.is_ascii_hexdigit()), "{commit}");
        let of = repository.get("use").map(|of| of.as_str().expect("use"));
        assert!(matches!(of, None | Some("acceptance")), "{of:?}");
    }
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), repositories.len(), "a repository is listed twice");
    let kept: Value =
        serde_json::from_str(&text_of("docs/evidence/transcripts.json")).expect("JSON");
    let measured = kept["repositories"].as_array().expect("repositories");
    assert_eq!(measured.len(), repositories.len(), "run scripts/evidence transcripts");
    let models = kept["models"].as_array().expect("models");
    let mut models: Vec<&str> = models.iter().filter_map(|row| row["model"].as_str()).collect();
    models.sort_unstable();
    models.dedup();
    assert!(models.len() >= 15, "{models:?}");
}

/// The runner that compares the matcher of two programs on calls with known answers.
#[test]
fn the_core_table_counts_right_refused_and_wrong() {
    let restitch = env!("CARGO_BIN_EXE_restitch");
    let run = Command::new("python3")
        .arg(repo("scripts/core-table"))
        .args(["attacks", "real", "--restitch", restitch])
        .current_dir(repo("tests/it/data/core_table"))
        .output()
        .expect("python3 runs");
    let out = String::from_utf8_lossy(&run.stdout);
    assert_eq!(run.status.code(), Some(1), "a wrong result ends it with 1: {run:?}");
    for line in [
        "4 cases: 2 right, 1 refused where it must apply, 1 wrong",
        "4 failed edits, 3 with a truth: 3 applied (1 equal to the truth, 0 equal but for blanks, 1 different, 1 nothing to compare), 1 not applied",
        "not applied by code: 1 EDIT_NO_OCCURRENCE_FOUND",
        &format!("| attacks | {restitch} | 4 | 2 |  |  |  |  | 1 | 1 |"),
        &format!("| real | {restitch} | 4 | 1 | 0 | 1 | 1 |  | 1 |  |"),
    ] {
        assert!(out.contains(line), "{line} is not in {out}");
    }
}
