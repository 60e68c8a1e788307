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
    let dir = crate::sandbox::folder_with(&[
        ("config.toml", "[syntax]\nmode = \"off\"\n"),
        ("work/a.rs", "fn a() {\n    b();\n}\n"),
    ]);
    let root = dir.path().join("work");
    let config = dir.path().join("config.toml").display().to_string();
    let edit = ["edit", "a.rs", "--old", "b();", "--new", "b(", "--dry-run"];
    let with = |more: &[&str]| run(&root, &[&edit[..], more].concat()).1;
    assert!(with(&[]).contains("new syntax error at line 2"), "{}", with(&[]));
    assert!(!with(&["--config", &config]).contains("syntax"), "the configuration");
    assert!(with(&["--config", &config, "--syntax", "warn"]).contains("syntax"), "the flag first");
    assert!(!with(&["--syntax", "off"]).contains("syntax"), "the flag");
}
