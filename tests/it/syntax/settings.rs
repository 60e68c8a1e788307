//! Where the mode of the check is set.

pub(super) fn run(root: &std::path::Path, arguments: &[&str]) -> (Option<i32>, String) {
    let out = crate::sandbox::binary()
        .args(["--root", &root.display().to_string()])
        .args(arguments)
        .env("RESTITCH_STATE_DIR", root.join(".state"))
        .output()
        .expect("runs");
    (out.status.code(), String::from_utf8_lossy(&out.stdout).into_owned())
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
