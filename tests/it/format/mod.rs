//! The user's formatter inside an edit: real ones, and ones that hang, crash and lie.

use std::path::{Path, PathBuf};
use std::process::Command;
#[cfg(unix)]
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::hostile::Sandbox;

/// A folder, and a configuration above it.
struct Project(Sandbox);

impl Project {
    fn new(files: &[(&str, &str)], config: &str) -> Self {
        let project = Self(Sandbox::new());
        for (path, text) in files {
            project.0.write(path, text);
        }
        project.configure(config);
        project
    }

    fn config(&self) -> PathBuf {
        self.0.above().join("config.toml")
    }

    fn configure(&self, config: &str) {
        std::fs::write(self.config(), config).expect("file");
    }

    fn text(&self, path: &str) -> String {
        self.0.text(path)
    }

    #[cfg(unix)]
    /// A script outside of the root, as a command for the configuration.
    fn script(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.above().join(name);
        std::fs::write(&path, text).expect("script");
        path
    }

    /// Runs a command with a configuration.
    fn run(&self, arguments: &[&str], config: &Path, input: &str) -> std::process::Output {
        let config = config.to_string_lossy();
        self.0.run(&[arguments, &["--config", &config]].concat(), input.as_bytes())
    }

    fn batch(&self, requests: &[Value]) -> Vec<Value> {
        let lines: String = requests.iter().map(|request| format!("{request}\n")).collect();
        let out = self.run(&["batch"], &self.config(), &lines);
        let lines = String::from_utf8(out.stdout).expect("UTF-8");
        let said = String::from_utf8_lossy(&out.stderr);
        assert_eq!(lines.lines().count(), requests.len(), "{said}");
        lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }

    fn edit(&self, path: &str, old: &str, new: &str) -> Value {
        let arguments = json!({ "path": path, "old_str": old, "new_str": new });
        self.batch(&[json!({ "arguments": arguments })]).remove(0)
    }
}

fn message(reply: &Value) -> &str {
    reply["message"].as_str().expect("message")
}

const RUST: &str = "fn a() {\n    b();\n}\n\nfn c() {}\n";
const RUSTFMT: &str =
    "[format.rust]\ncommand = [\"rustfmt\", \"--emit\", \"stdout\", \"--edition\", \"2024\"]\n";

fn has(program: &str) -> bool {
    let there =
        Command::new(program).arg("--version").output().is_ok_and(|out| out.status.success());
    if !there {
        crate::disk::skip("a formatter", &format!("{program} is not installed"));
    }
    there
}

#[test]
fn rustfmt_is_part_of_the_same_commit() {
    if !has("rustfmt") {
        return;
    }
    let project = Project::new(&[("a.rs", RUST)], RUSTFMT);
    let replies = project.batch(&[
        json!({ "dry_run": true, "arguments": { "path": "a.rs", "old_str": "    b();", "new_str": "  b( 1,2 );  d()" } }),
        json!({ "arguments": { "path": "a.rs", "old_str": "    b();", "new_str": "  b( 1,2 );  d()" } }),
        json!({ "arguments": { "path": "new.rs", "old_str": "", "new_str": "fn  e( ){}" } }),
        json!({ "tool": "edit_lines", "arguments": { "path": "new.rs", "start_line": 1, "end_line": 1, "new_content": "fn e(  ) { f() }" } }),
    ]);
    let wanted = "fn a() {\n    b(1, 2);\n    d()\n}\n\nfn c() {}\n";
    assert_eq!(project.text("a.rs"), wanted);
    for reply in &replies[..2] {
        assert_eq!(reply["ok"], true, "{reply}");
        let text = message(reply);
        assert!(text.contains("<<2>>    b(1, 2);") && text.contains("<<3>>    d()"), "{text}");
        assert!(text.contains("Note: formatted by `rustfmt`"), "{text}");
        assert_eq!(reply["report"]["format"], json!({ "by": "rustfmt", "changed": true }));
    }
    assert_eq!(replies[2]["ok"], true, "{}", replies[2]);
    assert_eq!(project.text("new.rs"), "fn e() {\n    f()\n}\n");
    let undone = project.batch(&[
        json!({ "tool": "undo", "arguments": {} }),
        json!({ "tool": "undo", "arguments": {} }),
        json!({ "tool": "undo", "arguments": {} }),
    ]);
    assert_eq!(undone[2]["ok"], true, "one commit each: {}", undone[2]);
    assert_eq!(project.text("a.rs"), RUST);
}

#[test]
fn what_rustfmt_cannot_parse_is_written_as_it_is_and_told() {
    if !has("rustfmt") {
        return;
    }
    let project = Project::new(&[("a.rs", RUST), ("a.py", "a  =  1\n")], RUSTFMT);
    let reply = project.edit("a.rs", "    b();", "    b(;");
    assert_eq!(project.text("a.rs"), RUST.replace("b();", "b(;"));
    let text = message(&reply);
    assert!(text.contains("`rustfmt` failed"), "{text}");
    assert!(text.contains("new syntax error at line 2"), "{text}");
    let other = project.edit("a.py", "1", "2");
    assert_eq!(project.text("a.py"), "a  =  2\n", "no formatter for this language");
    assert!(other["report"].get("format").is_none(), "{other}");
}

/// black from its registry, when it can be had.
#[test]
fn black_formats_python() {
    let dir = tempfile::tempdir().expect("folder");
    let installed = Command::new("python3")
        .args(["-m", "pip", "install", "-q", "--target"])
        .arg(dir.path())
        .arg("black")
        .output();
    if !installed.is_ok_and(|out| out.status.success()) {
        return crate::disk::skip("black", "it cannot be installed from PyPI");
    }
    let config = format!(
        "[format.py]\ncommand = [\"env\", \"PYTHONPATH={}\", \"python3\", \"-m\", \"black\", \"-q\", \"--stdin-filename\", \"{{path}}\", \"-\"]\ntimeout = 60\n",
        dir.path().display()
    );
    let project = Project::new(&[("a.py", "def f(a, b):\n    return a\n")], &config);
    let reply = project.edit("a.py", "    return a", "    x = {  'a':1 }\n    return x");
    assert_eq!(project.text("a.py"), "def f(a, b):\n    x = {\"a\": 1}\n    return x\n", "{reply}");
    assert!(message(&reply).contains("<<2>>    x = {\"a\": 1}"), "{reply}");
}

/// Whatever a formatter does wrong: the edit is written as it was decided, and the answer says
/// what became of the formatter.
#[cfg(unix)]
#[test]
fn a_formatter_that_fails_changes_nothing() {
    let project = Project::new(&[("a.rs", RUST)], "");
    for (name, script, why) in [
        ("crash", "cat > /dev/null; echo 'no idea' >&2; exit 3", "it exited with code 3: no idea"),
        ("kill", "kill -9 $$", "it was killed"),
        ("bytes", "cat > /dev/null; printf 'fn a() \\377\\376'", "its output is not UTF-8"),
        ("empty", "cat > /dev/null", "its output is empty"),
        ("blank", "cat > /dev/null; printf '\\n\\n  \\n'", "its output is empty"),
        ("nul", "cat > /dev/null; printf 'a\\000b'", "its output contains a NUL character"),
        ("endless", "yes", "its output is larger than"),
        ("deaf", "exit 4", "it exited with code 4"),
    ] {
        let path = project.script(name, script);
        project.configure(&format!(
            "[format.rust]\ncommand = [\"sh\", {:?}]\n",
            path.display().to_string()
        ));
        std::fs::write(project.0.root().join("a.rs"), RUST).expect("file");
        let reply = project.edit("a.rs", "b();", "e();");
        assert_eq!(reply["ok"], true, "{name}: {reply}");
        assert_eq!(project.text("a.rs"), RUST.replace("b();", "e();"), "{name}");
        let told = format!("not formatted, since `sh` failed: {why}");
        assert!(message(&reply).contains(&told), "{name}: {}", message(&reply));
        assert_eq!(reply["report"]["format"]["changed"], false);
    }
    project.configure("[format.rust]\ncommand = [\"/no/such/program\"]\n");
    let reply = project.edit("a.rs", "e();", "b();");
    assert!(message(&reply).contains("it cannot be started"), "{reply}");
}

#[cfg(unix)]
#[test]
fn a_formatter_that_hangs_is_ended_with_all_it_started() {
    let project = Project::new(&[("a.rs", RUST)], "");
    let script = project.script("hang", "sleep 300 &\necho $! > \"$0.pid\"\nwait\n");
    project.configure(&format!(
        "[format.rust]\ncommand = [\"sh\", {:?}]\ntimeout = 1.0\n",
        script.display().to_string()
    ));
    let start = Instant::now();
    let reply = project.edit("a.rs", "b();", "e();");
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
    assert!(message(&reply).contains("it did not end within 1 s"), "{reply}");
    assert_eq!(project.text("a.rs"), RUST.replace("b();", "e();"));
    let pid = std::fs::read_to_string(project.0.above().join("hang.pid")).expect("pid");
    let alive = || {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
        // One that was not waited for is dead as well.
        stat.is_ok_and(|stat| !stat.contains(") Z "))
    };
    if cfg!(target_os = "linux") {
        let ended = (0..100).any(|_| {
            std::thread::sleep(Duration::from_millis(20));
            !alive()
        });
        assert!(ended, "its child {pid} still runs");
    }
}

/// Without a `timeout` of its own.
#[cfg(unix)]
#[test]
fn a_formatter_has_ten_seconds() {
    if !crate::disk::is_long_run() {
        return crate::disk::skip("a formatter's ten seconds", "it takes 10 s: RESTITCH_LONG=1");
    }
    let project = Project::new(&[("a.rs", RUST)], "");
    let script = project.script("hang", "sleep 300\n");
    let script = script.display().to_string();
    project.configure(&format!("[format.rust]\ncommand = [\"sh\", {script:?}]\n"));
    let start = Instant::now();
    let reply = project.edit("a.rs", "b();", "e();");
    let took = start.elapsed();
    assert!(message(&reply).contains("it did not end within 10 s"), "{reply}");
    assert!((10..25).contains(&took.as_secs()), "{took:?}");
    assert_eq!(project.text("a.rs"), RUST.replace("b();", "e();"));
}

/// The formatters of one call have a limit together; what they did not come to is written as it is.
#[cfg(unix)]
#[test]
fn the_formatters_of_a_call_have_half_a_minute() {
    if !crate::disk::is_long_run() {
        return crate::disk::skip("the formatters of a call", "it takes 40 s: RESTITCH_LONG=1");
    }
    let names = ["a.rs", "b.rs", "c.rs", "d.rs", "e.rs", "f.rs"];
    let files: Vec<(&str, &str)> = names.iter().map(|name| (*name, RUST)).collect();
    let project = Project::new(&files, "");
    let script = project.script("slow", "sleep 8\ncat\n");
    let script = script.display().to_string();
    project.configure(&format!("[format.rust]\ncommand = [\"sh\", {script:?}]\n"));
    let edit = |name: &&str| json!({ "path": name, "old_str": "b();", "new_str": "e();" });
    let edits: Vec<Value> = names.iter().map(edit).collect();
    let start = Instant::now();
    let call = json!({ "tool": "multi_edit", "arguments": { "edits": edits } });
    let reply = &project.batch(&[call])[0];
    let took = start.elapsed().as_secs();
    assert!((30..45).contains(&took), "{took}");
    assert!(message(reply).contains("30 s"), "{reply}");
    for name in names {
        assert_eq!(project.text(name), RUST.replace("b();", "e();"), "{name}");
    }
}

#[cfg(unix)]
#[test]
fn a_formatter_that_undoes_the_edit_leaves_the_file_as_it_is() {
    let project = Project::new(&[("a.rs", RUST)], "[format.rust]\ncommand = [\"cat\", \"a.rs\"]\n");
    let reply = project.edit("a.rs", "b();", "e();");
    assert_eq!(reply["code"], "EDIT_NO_CHANGE", "{reply}");
    assert_eq!(project.text("a.rs"), RUST);
}

/// The workspace chooses no program: its own configuration is not read.
#[test]
fn the_workspace_names_no_formatter() {
    let project = Project::new(&[("a.rs", RUST)], "");
    let program = project.0.root().join("own.toml");
    std::fs::write(&program, "[format.rust]\ncommand = [\"touch\", \"made\"]\n").expect("file");
    for name in [".restitch.toml", "restitch.toml", "config.toml"] {
        std::fs::copy(&program, project.0.root().join(name)).expect("file");
    }
    let reply = project.edit("a.rs", "b();", "e();");
    assert_eq!(reply["ok"], true, "{reply}");
    assert!(!project.0.root().join("made").exists());
    let out = project.run(&["edit", "a.rs", "--old", "e();", "--new", "b();"], &program, "");
    assert_eq!(out.status.code(), Some(2), "a configuration in the workspace is refused");
}

#[test]
fn a_configuration_that_makes_no_sense_is_named() {
    for (config, words) in [
        ("[format.klingon]\ncommand = [\"a\"]\n", "there is no language `klingon`"),
        ("[format.rust]\ncommand = []\n", "format.rust.command is empty"),
        ("[format.rust]\ncommand = [\"a\"]\ntimeout = 0.0\n", "format.rust.timeout is 0"),
        ("[format.rust]\ncommnd = [\"a\"]\n", "commnd"),
    ] {
        let project = Project::new(&[("a.rs", RUST)], config);
        let edit = ["edit", "a.rs", "--old", "b();", "--new", "e();"];
        let out = project.run(&edit, &project.config(), "");
        assert_eq!(out.status.code(), Some(2), "{config}");
        let said = String::from_utf8_lossy(&out.stderr);
        assert!(said.contains(words), "{config}: {said}");
    }
}
