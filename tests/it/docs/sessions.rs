//! Terminal sessions in the README and the guide: what they show is what happens.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use super::{Project, text_of};

/// A command, and what the page shows below it.
type Shown = (String, String);

/// The sessions of a page: blocks that begin with showing a file. A command goes on over the
/// next line while a quote is open.
fn sessions(page: &str) -> Vec<Vec<Shown>> {
    let text = text_of(page);
    let blocks = text.split("```console\n").skip(1);
    let blocks = blocks.filter_map(|rest| rest.split("```").next());
    blocks.filter(|block| block.starts_with("$ cat ")).map(commands).collect()
}

fn commands(block: &str) -> Vec<Shown> {
    let mut found: Vec<Shown> = Vec::new();
    for line in block.lines() {
        let open = found.last().is_some_and(|(command, _)| command.matches('\'').count() % 2 == 1);
        match (line.strip_prefix("$ "), found.last_mut()) {
            (_, Some((command, _))) if open => {
                command.push('\n');
                command.push_str(line);
            }
            (Some(command), _) => found.push((command.to_owned(), String::new())),
            (None, Some((_, output))) => {
                output.push_str(line);
                output.push('\n');
            }
            (None, None) => panic!("a session begins with a command: {line}"),
        }
    }
    found
}

/// Runs a command in the folder, as a user would.
fn run(project: &Project, command: &str) -> String {
    let folder = Path::new(env!("CARGO_BIN_EXE_restitch")).parent().expect("folder");
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap_or_default());
    let out = Command::new("sh")
        .args(["-c", &format!("exec 2>&1\n{command}")])
        .current_dir(project.root())
        .env("PATH", path)
        .env("RESTITCH_STATE_DIR", project.0.path().join("state"))
        // As a terminal shows it, but for the colours.
        .env("CLICOLOR_FORCE", "1")
        .env_remove("NO_COLOR")
        .env_remove("OPENAI_API_KEY")
        .env_remove("OPENAI_BASE_URL")
        .env_remove("RESTITCH_MODEL")
        .stdin(Stdio::null())
        .output()
        .expect("sh");
    let text = String::from_utf8(out.stdout).expect("UTF-8");
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once('m').map_or("", |(_, rest)| rest))
}

#[test]
fn sessions_show_what_happens() {
    let mut count = 0;
    for page in ["README.md", "docs/guide/install.md"] {
        for session in sessions(page) {
            let project = Project::new();
            for (command, shown) in session {
                if let Some(name) = command.strip_prefix("cat ") {
                    let file = project.root().join(name);
                    if !file.exists() {
                        fs::write(file, &shown).expect("file");
                        continue;
                    }
                }
                assert_eq!(run(&project, &command), shown, "{page}: {command}");
                count += 1;
            }
        }
    }
    assert!(count >= 4, "only {count} commands were run");
}

#[test]
fn the_demo_repairs_ten_edits_and_refuses_four() {
    let shown = run(&Project::new(), "restitch demo");
    assert!(shown.contains("\n10 repaired, 4 refused."), "{shown}");
    for page in ["README.md", "docs/guide/install.md"] {
        let text = text_of(page).replace('\n', " ");
        let words = "demo` shows ten repaired edits and four refused ones";
        assert!(text.contains(words), "{page} does not say {words}");
    }
}

#[test]
fn doctor_shows_root_state_and_model() {
    let project = Project::new();
    let shown = run(&project, "restitch doctor");
    let state = project.0.path().canonicalize().expect("temp").join("state");
    for line in [
        "ok    root: ",
        &format!("ok    state: {}", state.display()),
        "ok    model: none is asked and nothing is sent",
    ] {
        assert!(shown.lines().any(|shown| shown.starts_with(line)), "{line}: {shown}");
    }
    // A problem is marked, and the exit code says so, too.
    fs::write(project.root().join("file"), "").expect("file");
    let shown = run(&project, "RESTITCH_STATE_DIR=$PWD/file restitch doctor; echo ended with $?");
    assert!(shown.contains("\nbad   state: ") && shown.ends_with("ended with 3\n"), "{shown}");
}
