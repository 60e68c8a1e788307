//! `check`, on the command line and as a tool.

use serde_json::Value;

use super::settings::run;
use crate::sandbox::folder_with;

#[test]
fn check_prints_errors_and_names_what_it_cannot_check() {
    let dir = folder_with(&[
        ("src/good.rs", "fn a() {}\n"),
        ("src/bad.py", "def f(:\n    pass\n"),
        ("ignored.py", "def f(:\n"),
        ("notes.txt", "((\n"),
        (".gitignore", "ignored.py\n"),
    ]);
    let root = dir.path();
    let beside = folder_with(&[("config.toml", "[syntax]\nmode = \"off\"\n")]);
    let off = beside.path().join("config.toml").display().to_string();
    for (arguments, exit, words) in [
        (&["check", "src/good.rs"][..], 0, &["0 syntax errors in 1 checked file.\n"][..]),
        (&["check"], 1, &["in 2 checked files.\nsrc/bad.py:1: "]),
        (&["check", "src", "notes.txt"], 1, &["src/bad.py:1: ", "notes.txt was not checked"]),
        (&["check", "ignored.py"], 1, &["ignored.py:1: "]),
        (
            &["check", "src/bad.py", "src/no.rs"],
            1,
            &["src/bad.py:1: ", "src/no.rs was not checked"],
        ),
        // A file that was named is not known to be right.
        (&["check", "src/good.rs", "src/no.rs"], 1, &["src/no.rs was not checked"]),
        (&["check", "src/no.rs"], 1, &["EDIT_FILE_NOT_FOUND"]),
        (&["check", "src/no.rs", "x.py"], 1, &["src/no.rs", "; x.py was not checked", "Next: "]),
        (&["--config", &off, "check", "src/bad.py"], 0, &["syntax is not checked here"]),
    ] {
        let (code, out) = run(root, arguments);
        assert_eq!(code, Some(exit), "{arguments:?}: {out}");
        assert!(words.iter().all(|words| out.contains(words)), "{arguments:?}: {out}");
        assert!(!out.contains("create the file"), "a check creates none: {out}");
    }
    let (_, out) = run(root, &["--json", "check", "."]);
    let reply: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(reply["report"]["checked"], 2, "{out}");
    assert_eq!(reply["report"]["files"][0]["errors"][0]["line"], 1, "{out}");
}
