//! The compose file: taken by Compose itself, and its server's command taken by restitch.

use std::process::Command;

use super::{repo, text_of};

const FOLDER: &str = "examples/compose";

/// `config` reads and checks the file; it needs no engine.
#[test]
fn compose_takes_the_file() {
    let known = [&["docker-compose"][..], &["docker", "compose"]];
    let asked = known.iter().find_map(|words| {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]);
        let is_there = Command::new(words[0]).args(&words[1..]).arg("version").output();
        is_there.is_ok_and(|done| done.status.success()).then_some(command)
    });
    let Some(mut compose) = asked else {
        return crate::disk::skip(
            "Compose",
            "it is not installed (apt-get install docker-compose)",
        );
    };
    let said = compose
        .args(["-f", "compose.yaml", "config"])
        .current_dir(repo(FOLDER))
        .output()
        .expect("Compose runs");
    let config = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    for part in ["network_mode: service:restitch", "--change-host-header"] {
        assert!(config.contains(part), "{part}: {config}");
    }
}

/// What the container runs, with the same configuration; only the port and the folder are other.
#[cfg(unix)]
#[test]
fn restitch_takes_what_the_container_runs() {
    use std::io::{BufRead as _, BufReader};

    let root = tempfile::tempdir().expect("folder");
    let config = text_of(&format!("{FOLDER}/restitch.toml"));
    let beside = tempfile::tempdir().expect("folder");
    let file = beside.path().join("restitch.toml");
    std::fs::write(&file, config).expect("file");
    let compose = text_of(&format!("{FOLDER}/compose.yaml"));
    let line = compose.lines().find_map(|line| line.trim().strip_prefix("command: mcp "));
    let line = line.expect("the server's command");
    let line = line.replace("8484", "0").replace("/etc/restitch.toml", &file.to_string_lossy());
    let line = line.replace("/var/lib/restitch", &beside.path().to_string_lossy());
    let line = line.replace("/srv/app", &root.path().to_string_lossy());
    let mut child = Command::new(env!("CARGO_BIN_EXE_restitch"))
        .arg("mcp")
        .args(line.split(' '))
        // As in a container, which starts in the top folder.
        .current_dir("/")
        .env("RESTITCH_STATE_DIR", root.path().join("state"))
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("starts");
    let mut said = String::new();
    BufReader::new(child.stderr.take().expect("piped")).read_line(&mut said).expect("a line");
    let _ = child.kill();
    let _ = child.wait();
    assert!(said.starts_with("listening on http://127.0.0.1:"), "{said}");
}
