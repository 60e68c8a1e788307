//! What the product promises on Windows, through the real command and the real store. Runs on
//! Windows, or under wine: `.ci/wine`.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::windows::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::Client;

struct Work(tempfile::TempDir);

impl Work {
    fn new() -> Self {
        let work = Self(tempfile::Builder::new().prefix("Restitch-").tempdir().unwrap());
        fs::create_dir(work.root()).unwrap();
        work
    }

    fn root(&self) -> PathBuf {
        self.0.path().join("Root")
    }

    fn file(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    fn put(&self, name: &str, text: &str) -> PathBuf {
        let file = self.file(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text).unwrap();
        file
    }

    fn restitch(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_restitch"));
        command.arg("--root").arg(self.root()).arg("--no-model");
        command.env("RESTITCH_STATE_DIR", self.0.path().join("state"));
        command
    }

    fn edit(&self, path: &str, old: &str, new: &str) -> Output {
        let edit = ["--json", "edit", path, "--old", old, "--new", new];
        self.restitch().args(edit).output().unwrap()
    }
}

fn reply(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
}

fn code(output: &Output) -> String {
    reply(output)["code"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn every_spelling_of_a_path_is_the_same_file() {
    let work = Work::new();
    let file = work.put("src/Main.rs", "one\r\ntwo\r\n");
    let whole = file.display().to_string();
    assert!(whole.contains(":\\"), "{whole}");
    for path in [
        "src/Main.rs".to_owned(),
        r"src\Main.rs".to_owned(),
        r".\src\..\src/Main.rs".to_owned(),
        whole.clone(),
        whole.replace('\\', "/"),
        // A drive has no case.
        format!("{}{}", whole[..1].to_ascii_lowercase(), &whole[1..]),
    ] {
        fs::write(&file, "one\r\ntwo\r\n").unwrap();
        let done = work.edit(&path, "two", "2");
        assert_eq!(done.status.code(), Some(0), "{path}: {done:?}");
        assert_eq!(fs::read(&file).unwrap(), b"one\r\n2\r\n", "{path}");
        assert_eq!(reply(&done)["report"]["path"], "src/Main.rs", "{path}");
    }
}

#[test]
fn what_is_elsewhere_or_no_file_is_refused() {
    let work = Work::new();
    work.put("a.txt", "one\n");
    let outside = work.0.path().join("b.txt");
    fs::write(&outside, "one\n").unwrap();
    for path in [
        r"..\b.txt",
        r"sub\..\..\b.txt",
        outside.to_str().unwrap(),
        r"\b.txt",
        r"C:b.txt",
        r"Q:\b.txt",
        r"\\host\share\b.txt",
        r"\\?\C:\b.txt",
        r"\\.\C:",
        "a.txt:stream",
        "a.txt::$DATA",
        "NUL",
        "con.txt",
        "sub/aux",
        "COM1.log",
        "a.txt.",
        "a.txt ",
        "sub./a.txt",
    ] {
        let done = work.edit(path, "one", "1");
        assert_eq!(
            (done.status.code(), code(&done)),
            (Some(1), "EDIT_INVALID_PATH".into()),
            "{path}: {done:?}"
        );
    }
    for file in [work.file("a.txt"), outside] {
        assert_eq!(fs::read(file).unwrap(), b"one\n");
    }
}

#[test]
fn protected_names_have_no_case_and_no_alias() {
    let work = Work::new();
    work.put(".git/config", "one\n");
    work.put(".env", "one\n");
    for path in [".git/config", r".GIT\Config", ".Git/config", ".ENV", ".env"] {
        let done = work.edit(path, "one", "1");
        assert_eq!(code(&done), "EDIT_BLOCKED", "{path}: {done:?}");
    }
    for path in [".git./config", ".git /config", ".git::$INDEX_ALLOCATION/config", "GIT~1/config"] {
        let done = work.edit(path, "one", "1");
        assert_eq!(done.status.code(), Some(1), "{path}: {done:?}");
    }
    assert_eq!(fs::read(work.file(".git/config")).unwrap(), b"one\n");
}

#[test]
fn line_endings_stay_and_new_files_have_those_of_the_call() {
    let work = Work::new();
    let file = work.put("a.txt", "one\r\ntwo\r\nthree\r\n");
    assert!(work.edit("a.txt", "two\nthree", "2\nnew\n3").status.success());
    assert_eq!(fs::read(&file).unwrap(), b"one\r\n2\r\nnew\r\n3\r\n");
    for (name, text) in [("lf.txt", "one\ntwo\n"), ("crlf.txt", "one\r\ntwo\r\n")] {
        assert!(work.edit(name, "", text).status.success());
        assert_eq!(fs::read_to_string(work.file(name)).unwrap(), text);
    }
}

#[test]
fn a_file_that_another_program_holds_is_waited_for_and_then_named() {
    let work = Work::new();
    let file = work.put("a.txt", "one\n");
    let hold = || OpenOptions::new().read(true).share_mode(0).open(&file).unwrap();

    let held = hold();
    let released = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(700));
        drop(held);
    });
    let done = work.edit("a.txt", "one", "two");
    released.join().unwrap();
    assert!(done.status.success(), "{done:?}");
    assert_eq!(fs::read(&file).unwrap(), b"two\n");

    let held = hold();
    let start = Instant::now();
    let done = work.edit("a.txt", "two", "three");
    assert!(start.elapsed() >= Duration::from_secs(2));
    drop(held);
    assert!(matches!(done.status.code(), Some(1 | 3)), "{done:?}");
    let said = reply(&done)["message"].as_str().unwrap_or_default().to_owned();
    assert!(said.contains("another program holds it open"), "{said}");
    assert_eq!(fs::read(&file).unwrap(), b"two\n");
    assert!(work.edit("a.txt", "two", "three").status.success());
}

#[test]
fn a_reader_that_shares_sees_the_old_text_or_the_new() {
    let work = Work::new();
    let file = work.put("a.txt", &"a".repeat(40_000));
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut seen = 0;
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                // Between two names there may be none for a moment.
                let Ok(text) = fs::read(&file) else { continue };
                assert_eq!(text.len(), 40_000);
                assert!(text.iter().all(|byte| *byte == text[0]), "half of each");
                seen += 1;
            }
            seen
        });
        for (old, new) in [("a", "b"), ("b", "c"), ("c", "d")] {
            let (old, new) = (old.repeat(40_000), new.repeat(40_000));
            fs::write(work.0.path().join("old"), old).unwrap();
            fs::write(work.0.path().join("new"), new).unwrap();
            let path = |name: &str| work.0.path().join(name).display().to_string();
            let edit = ["edit", "a.txt", "--old-file", &path("old"), "--new-file", &path("new")];
            let done = work.restitch().args(edit).output().unwrap();
            assert!(done.status.success(), "{done:?}");
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(reader.join().unwrap() > 0);
    });
}

#[test]
fn processes_that_edit_one_file_lose_nothing() {
    let work = Work::new();
    let lines: String = (0..8).map(|n| format!("line {n}\r\n")).collect();
    let file = work.put("a.txt", &lines);
    let running: Vec<_> = (0..8)
        .map(|n| {
            let (old, new) = (format!("line {n}"), format!("done {n}"));
            let edit = ["--json", "edit", "a.txt", "--old", &old, "--new", &new];
            work.restitch().args(edit).stdout(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    for one in running {
        let done = one.wait_with_output().unwrap();
        assert!(done.status.success(), "{done:?}");
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), lines.replace("line", "done"));
    let left: Vec<_> = fs::read_dir(work.root()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left, ["a.txt"]);
}

#[test]
fn a_file_that_may_only_be_read_says_so() {
    let work = Work::new();
    let file = work.put("a.txt", "one\n");
    let mut rights = fs::metadata(&file).unwrap().permissions();
    rights.set_readonly(true);
    fs::set_permissions(&file, rights.clone()).unwrap();
    let done = work.edit("a.txt", "one", "two");
    let said = reply(&done)["message"].as_str().unwrap_or_default().to_owned();
    #[allow(clippy::permissions_set_readonly_false, reason = "Windows has no others")]
    rights.set_readonly(false);
    fs::set_permissions(&file, rights).unwrap();
    assert!(!done.status.success(), "{done:?}");
    assert!(said.contains("read-only"), "{said}");
    assert_eq!(fs::read(&file).unwrap(), b"one\n");
}

#[test]
fn batch_edits_reads_and_undoes() {
    let work = Work::new();
    let file = work.put(r"src\a.txt", "one\r\ntwo\r\n");
    let mut command = work.restitch();
    command.arg("batch");
    let mut batch = Client::start(command);
    let mut ask = |message: Value| {
        batch.send(&message);
        batch.receive()
    };
    let edit =
        json!({ "id": 1, "arguments": { "path": r"src\a.txt", "old_str": "two", "new_str": "2" } });
    let done = ask(edit);
    assert_eq!(done["ok"], true, "{done}");
    assert_eq!(fs::read(&file).unwrap(), b"one\r\n2\r\n");
    let read = ask(json!({ "id": 2, "tool": "read_file", "arguments": { "path": "src/a.txt" } }));
    assert_eq!(read["report"]["line_ending"], "crlf", "{read}");
    let found = ask(json!({ "id": 3, "tool": "search", "arguments": { "keyword": "one" } }));
    assert_eq!(found["report"]["files"][0]["path"], "src/a.txt", "{found}");
    let undone = ask(json!({ "id": 4, "tool": "undo", "arguments": {} }));
    assert_eq!(undone["ok"], true, "{undone}");
    assert_eq!(fs::read(&file).unwrap(), b"one\r\ntwo\r\n");
}

#[test]
fn the_tour_and_the_doctor_run() {
    let work = Work::new();
    for command in ["demo", "doctor"] {
        let done = work.restitch().arg(command).output().unwrap();
        assert!(done.status.success(), "{command}: {done:?}");
    }
    let mut edit = work.restitch();
    edit.args(["edit", "-", "--old", "b", "--new", "c"]);
    let mut run = edit.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    run.stdin.take().unwrap().write_all(b"a\r\nb\r\n").unwrap();
    assert_eq!(run.wait_with_output().unwrap().stdout, b"a\r\nc\r\n");
}

/// What is not content stays, as `ReplaceFile` promises; wine's keeps none of it.
#[test]
fn streams_and_attributes_stay() {
    use std::os::windows::fs::MetadataExt as _;
    const HIDDEN: u32 = 2;

    if std::env::var_os("WINEPREFIX").is_some() {
        return crate::disk::skip("streams", "wine does not keep them when it replaces a file");
    }
    let work = Work::new();
    let file = work.put("a.txt", "one\n");
    assert!(Command::new("attrib").arg("+h").arg(&file).status().unwrap().success());
    let stream = PathBuf::from(format!("{}:note", file.display()));
    fs::write(&stream, "note").unwrap();
    let done = work.edit("a.txt", "one", "two");
    assert!(done.status.success(), "{done:?}");
    assert_eq!(fs::metadata(&file).unwrap().file_attributes() & HIDDEN, HIDDEN);
    assert_eq!(fs::read(&stream).unwrap(), b"note");
}
