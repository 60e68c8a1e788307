//! The lists and comparisons as a person makes them, and `examples/ray_measure.py` on a real Ray of
//! this machine, one of whose workers is killed.
#![cfg(unix)]
#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "clippy knows tests by their attribute, and helpers of tests have none"
)]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};

use restitch::internals::harness::load;
use serde_json::Value;

fn evidence(arguments: &[&str]) -> Output {
    let command = env!("CARGO_BIN_EXE_restitch-evidence");
    Command::new(command).args(arguments).output().expect("the binary runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn last_line(output: &Output) -> String {
    text(&output.stdout).lines().last().unwrap_or_default().to_owned()
}

fn write(path: &Path, content: &str) {
    std::fs::create_dir_all(path.parent().expect("parent")).expect("folder");
    std::fs::write(path, content).expect("file");
}

/// A folder of the repository.
fn repository(below: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("repository");
    root.join(below).to_string_lossy().into_owned()
}

/// Some functions in Go, each with this call.
fn functions(numbers: std::ops::Range<usize>, call: &dyn Fn(usize) -> String) -> String {
    let function = |n: usize| {
        let call = call(n);
        format!(
            "func handler{n}(w Writer) error {{\n\tvalue := load{n}(w)\n\tif value == nil {{\n\t\treturn {call}\n\t}}\n\treturn save{n}(value)\n}}\n\n"
        )
    };
    numbers.map(function).collect()
}

#[test]
fn generated_cases_run_as_a_pack() {
    let root = tempfile::tempdir().expect("folder");
    write(&root.path().join("a/main.go"), &functions(0..12, &|n| format!("missing{n}(w)")));
    write(&root.path().join("b/main.go"), &functions(0..12, &|n| format!("absent{n}(w, {n})")));
    let path = |name: &str| root.path().join(name).to_string_lossy().into_owned();
    let (from, to, out) = (path("a"), path("b"), path("packs/some.pack.jsonl"));
    let ways = "exact,tab-few,crlf-in-call,twice,other-name";
    let made = evidence(&["generate", "--from", &from, "--to", &to, "--out", &out, "--ways", ways]);
    assert_eq!(made.status.code(), Some(0), "{}", text(&made.stderr));
    let cases = load(Path::new(&path("packs"))).expect("cases");
    assert!(
        cases.len() > 5 && cases.iter().all(|case| case.judge_with_files().0.verdict.is_good())
    );
    let measured =
        evidence(&["measure", "--from", &from, "--to", &to, "--ways", "exact", "--max", "4"]);
    assert_eq!(last_line(&measured), "4 right, 0 refused, 0 silently wrong, 0 failed");
}

#[test]
fn a_git_history_gives_cases() {
    let root = tempfile::tempdir().expect("folder");
    let git = |arguments: &[&str]| {
        let done = Command::new("git")
            .args(["-c", "user.name=t", "-c", "user.email=t@example.com", "-C"])
            .arg(root.path())
            .args(arguments)
            .output();
        done.is_ok_and(|done| done.status.success())
    };
    if !git(&["init", "-q"]) {
        return println!("SKIPPED: edits of a git history, git is not installed");
    }
    // No blank lines: an edit whose context would start with one is left out.
    let body = "def first(value):\n    return prepare(value)\ndef second(other):\n    return combine(other)\n";
    write(&root.path().join("a.py"), body);
    assert!(git(&["add", "."]) && git(&["commit", "-qm", "one"]));
    write(&root.path().join("a.py"), &body.replace("combine(other)", "merge_all(other, 3)"));
    assert!(git(&["commit", "-qam", "two"]));
    let dir = root.path().to_string_lossy().into_owned();
    let run = evidence(&["measure", "--from", &dir, "--ways", "exact"]);
    assert_eq!(
        last_line(&run),
        "1 right, 0 refused, 0 silently wrong, 0 failed",
        "{}",
        text(&run.stderr)
    );
}

/// The comparison that needs no network: this engine and the plain rule of most tools.
#[test]
fn a_comparison_counts_every_case_and_beats_the_plain_rule() {
    let root = tempfile::tempdir().expect("folder");
    let path = |path: &Path| path.to_string_lossy().into_owned();
    let cases = repository("fixtures/spoiled");
    let out = path(&root.path().join("compare.json"));
    let run =
        evidence(&["compare", &cases, "--tools", "restitch", "--tools", "exact", "--out", &out]);
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
    let table = text(&run.stdout);
    assert!(table.contains("| restitch |") && table.contains("| exact |"), "{table}");
    let results: Value =
        serde_json::from_str(&std::fs::read_to_string(&out).expect("file")).expect("JSON");
    let of = |tool: &str, what: &str| {
        let rows = results.as_array().expect("rows");
        let row = rows.iter().find(|row| row["tool"] == tool).expect("tool");
        ["recoverable", "must_refuse"]
            .map(|side| row[side][what].as_u64().expect("count"))
            .iter()
            .sum::<u64>()
    };
    for tool in ["restitch", "exact"] {
        let all = of(tool, "right") + of(tool, "wrong") + of(tool, "refused");
        assert_eq!(all, of(tool, "cases"), "{tool}");
        assert!(all > 100, "{all}");
    }
    assert!(of("restitch", "right") > 5 * of("exact", "right"), "{results}");
    assert_eq!(of("restitch", "wrong"), 0, "{results}");
    // A tool that cannot be had is told where its figures would be, and the command fails.
    let run = Command::new(env!("CARGO_BIN_EXE_restitch-evidence"))
        .args(["compare", &cases, "--tools", "exact,pi", "--out", &out])
        .env("PATH", root.path())
        .output()
        .expect("the binary runs");
    assert_eq!(run.status.code(), Some(3), "{}", text(&run.stderr));
    let said = text(&run.stdout);
    assert!(said.contains("| pi | 0.73.1 | not run: cannot start npm: "), "{said}");
    let rows = std::fs::read_to_string(&out).expect("file");
    assert!(rows.contains("\"skipped\":\""), "{rows}");
    let unknown = evidence(&["compare", &cases, "--tools", "no-such-tool"]);
    assert_eq!(unknown.status.code(), Some(2));
}

/// The tools that are installed there are run, so nobody else may put any there.
#[cfg(unix)]
#[test]
fn a_comparison_runs_nothing_from_a_folder_that_others_can_write_to() {
    use std::os::unix::fs::PermissionsExt as _;
    let root = tempfile::tempdir().expect("folder");
    let shared = root.path().join("shared");
    std::fs::create_dir(&shared).expect("folder");
    std::fs::set_permissions(&shared, std::fs::Permissions::from_mode(0o777)).expect("rights");
    let cases = repository("fixtures/spoiled");
    let run = |scratch: &Path| {
        let scratch = scratch.to_string_lossy();
        evidence(&["compare", &cases, "--tools", "exact", "--scratch", &scratch])
    };
    let refused = run(&shared);
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused.stdout));
    assert!(
        text(&refused.stderr).contains("other users can write to"),
        "{}",
        text(&refused.stderr)
    );
    let own = root.path().join("own");
    assert_eq!(run(&own).status.code(), Some(0));
    assert_eq!(std::fs::metadata(&own).expect("folder").permissions().mode() & 0o777, 0o700);
}

/// Without a model, and with one that answers from the agent's next call.
#[test]
fn failed_edits_are_replayed_without_a_model_and_with_one_that_knows() {
    let file = "use crate::Item;\n\npub fn total_price(items: &[Item], tax: f64) -> f64 {\n    sum(items) * tax\n}\n\npub fn count(items: &[Item]) -> usize {\n    items.len()\n}\n";
    let case = |id: &str, old: &str, new: &str, next: [&str; 2]| {
        let retry = serde_json::json!({ "old_str": next[0], "new_str": next[1] });
        let case = serde_json::json!({ "id": id, "file": "lib.rs", "before": file, "old_str": old, "new_str": new, "retry": retry });
        format!("{case}\n")
    };
    let cases = [
        case(
            "lenient",
            "        items.len()\n",
            "        items.len() + 1\n",
            ["    items.len()", "    items.len() + 1"],
        ),
        case(
            "asked",
            "pub fn total(items: &[Item]) -> f64 {",
            "pub fn total(items: &[Item], discount: f64) -> f64 {",
            [
                "pub fn total_price(items: &[Item], tax: f64) -> f64 {",
                "pub fn total_price(items: &[Item], tax: f64, discount: f64) -> f64 {",
            ],
        ),
    ];
    let root = tempfile::tempdir().expect("folder");
    let list = root.path().join("failed.jsonl");
    write(&list, &cases.concat());
    let run = evidence(&["replay", &list.to_string_lossy(), "--json"]);
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
    let said: Value = serde_json::from_slice(&run.stdout).expect("JSON");
    let [lenient, asked] = &said["cases"].as_array().expect("cases")[..] else { panic!("{said}") };
    assert_eq!(lenient["without_model"]["ending"], "right", "{lenient}");
    assert!(lenient["with_model"].is_null(), "{lenient}");
    assert_eq!(asked["without_model"]["ending"], "refused", "{asked}");
    assert_eq!(asked["with_model"]["ending"], "right", "{asked}");
    assert_eq!(asked["with_model"]["asked"], serde_json::json!(["correct_old"]), "{asked}");
    write(&list, "{}\n");
    assert_eq!(evidence(&["replay", &list.to_string_lossy()]).status.code(), Some(2));
}

/// A folder of three packages, each with two versions.
fn corpus(root: &Path) {
    for package in 0..3 {
        let numbers = || 10 * package..10 * package + 6;
        let file = |version: &str| root.join(format!("p{package}/{version}/main.go"));
        write(&file("a"), &functions(numbers(), &|n| format!("missing{n}(w)")));
        write(&file("b"), &functions(numbers(), &|n| format!("absent{n}(w, {n})")));
    }
}

/// The counts of runs added up by kind of mistake, without the times, which are never the same.
fn counts(runs: &[Output]) -> BTreeMap<String, BTreeMap<String, u64>> {
    let mut all: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
    for run in runs {
        let said: Value =
            serde_json::from_slice(&run.stdout).unwrap_or_else(|_| panic!("{}", text(&run.stderr)));
        for row in said["rows"].as_array().expect("rows") {
            let way = all.entry(row["way"].as_str().expect("a name").to_owned()).or_default();
            for (name, value) in row.as_object().expect("a row") {
                if let Some(count) = value.as_u64().filter(|_| name != "micros") {
                    *way.entry(name.clone()).or_default() += count;
                }
            }
        }
    }
    all
}

#[test]
fn ray_adds_up_the_counts_of_all_packages_though_a_worker_dies() {
    let python = repository("target/ray/venv/bin/python");
    if std::env::var("RESTITCH_LONG").as_deref() != Ok("1") || !Path::new(&python).exists() {
        let why = "RESTITCH_LONG=1 and Ray: python3 -m venv target/ray/venv && target/ray/venv/bin/pip install ray";
        return println!("SKIPPED: Ray needs {why}");
    }
    let root = tempfile::tempdir().expect("folder");
    let packages = root.path().join("corpus");
    corpus(&packages);
    let one = |package: usize| {
        let name = format!("p{package}");
        let alone = root.path().join(format!("only-{name}"));
        std::fs::create_dir(&alone).expect("folder");
        std::os::unix::fs::symlink(packages.join(&name), alone.join(&name)).expect("link");
        evidence(&["measure", "--json", "--corpus", &alone.to_string_lossy(), "--max", "9"])
    };
    let wanted = counts(&[one(0), one(1), one(2)]);
    assert!(wanted.values().map(|way| way["right"]).sum::<u64>() > 200, "{wanted:?}");
    // The first command kills the worker that started it, once.
    let wrapper = root.path().join("restitch-evidence");
    let killed = root.path().join("killed");
    let script = format!(
        "#!/bin/sh\nif mkdir {} 2>/dev/null; then kill -9 $PPID; exit 1; fi\nexec {} \"$@\"\n",
        killed.display(),
        env!("CARGO_BIN_EXE_restitch-evidence")
    );
    write(&wrapper, &script);
    let mode = <std::fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o755);
    std::fs::set_permissions(&wrapper, mode).expect("mode");
    let run = Command::new(python)
        .arg(repository("examples/ray_measure.py"))
        .arg("--corpus")
        .arg(&packages)
        .args(["--tasks", "3", "--command"])
        .arg(&wrapper)
        .args(["--", "--max", "9"])
        .output()
        .expect("python runs");
    assert!(killed.exists(), "a worker was killed: {}", text(&run.stderr));
    let said = text(&run.stderr);
    assert!(said.contains("3 of 3 shares"), "{said}");
    assert_eq!(counts(&[run]), wanted, "{said}");
    println!("3 shares on Ray, one worker killed: the same counts");
}
