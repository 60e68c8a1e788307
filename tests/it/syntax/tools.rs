//! `check`, on the command line and as a tool.

use serde_json::Value;

fn run(root: &std::path::Path, arguments: &[&str]) -> (Option<i32>, String) {
    let out = crate::sandbox::binary()
        .args(["--root", &root.display().to_string()])
        .args(arguments)
        .env("RESTITCH_STATE_DIR", root.join(".state"))
        .output()
        .expect("runs");
    (out.status.code(), String::from_utf8_lossy(&out.stdout).into_owned())
}

#[test]
fn check_prints_errors_and_names_what_it_cannot_check() {
    let dir = tempfile::tempdir().expect("folder");
    let root = dir.path();
    std::fs::create_dir(root.join("src")).expect("folder");
    std::fs::write(root.join("src/good.rs"), "fn a() {}\n").expect("file");
    std::fs::write(root.join("src/bad.py"), "def f(:\n    pass\n").expect("file");
    std::fs::write(root.join("notes.txt"), "((\n").expect("file");
    let (code, out) = run(root, &["check", "src/good.rs"]);
    assert_eq!((code, out.as_str()), (Some(0), "0 syntax errors in 1 checked file.\n"));
    let (code, out) = run(root, &["check", "src", "notes.txt"]);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("src/bad.py:1: "), "{out}");
    assert!(out.contains("notes.txt was not checked"), "{out}");
    let (code, out) = run(root, &["--json", "check", "."]);
    let reply: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(code, Some(1));
    assert_eq!(reply["report"]["checked"], 2, "{out}");
    assert_eq!(reply["report"]["files"][0]["errors"][0]["line"], 1, "{out}");
    let beside = tempfile::tempdir().expect("folder");
    let config = beside.path().join("config.toml").display().to_string();
    std::fs::write(&config, "[syntax]\nmode = \"off\"\n").expect("file");
    let (code, out) = run(root, &["--config", &config, "check", "src/bad.py"]);
    assert_eq!(code, Some(0), "{out}");
    assert!(out.contains("syntax is not checked here"), "{out}");
    let (code, out) = run(root, &["check", "src/bad.py", "src/none.rs"]);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("src/bad.py:1: "), "{out}");
    assert!(out.contains("src/none.rs was not checked"), "{out}");
    let (code, out) = run(root, &["check", "src/good.rs", "src/none.rs"]);
    assert_eq!(code, Some(1), "a file that was named is not known to be right: {out}");
    let (code, out) = run(root, &["check", "src/none.rs"]);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.starts_with("EDIT_FILE_NOT_FOUND"), "{out}");
}

#[test]
fn flag_and_configuration_choose() {
    let dir = tempfile::tempdir().expect("folder");
    let root = dir.path().join("work");
    std::fs::create_dir(&root).expect("folder");
    let config = dir.path().join("config.toml");
    std::fs::write(&config, "[syntax]\nmode = \"off\"\n").expect("file");
    let config = config.display().to_string();
    std::fs::write(root.join("a.rs"), "fn a() {\n    b();\n}\n").expect("file");
    let edit = ["edit", "a.rs", "--old", "b();", "--new", "b(", "--dry-run"];
    let with = |more: &[&str]| run(&root, &[&edit[..], more].concat()).1;
    assert!(with(&[]).contains("new syntax error at line 2"), "{}", with(&[]));
    assert!(!with(&["--config", &config]).contains("syntax"), "the configuration");
    assert!(with(&["--config", &config, "--syntax", "warn"]).contains("syntax"), "the flag first");
    assert!(!with(&["--syntax", "off"]).contains("syntax"), "the flag");
}
