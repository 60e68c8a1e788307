//! `examples/ray_measure.py` on a real Ray of this machine, one of whose workers is killed.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use super::harness::{restitch, text, write};

/// A folder of three packages, each with two versions.
fn corpus(root: &Path) {
    let function = |n: usize, call: &str| {
        format!(
            "func handler{n}(w Writer) error {{\n\tvalue := load{n}(w)\n\tif value == nil {{\n\t\treturn {call}\n\t}}\n\treturn save{n}(value)\n}}\n\n"
        )
    };
    for package in 0..3 {
        let file = |version: &str, call: &dyn Fn(usize) -> String| {
            let numbers = 10 * package..10 * package + 6;
            let body: String = numbers.map(|n| function(n, &call(n))).collect();
            write(&root.join(format!("p{package}/{version}/main.go")), &body);
        };
        file("a", &|n| format!("missing{n}(w)"));
        file("b", &|n| format!("absent{n}(w, {n})"));
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
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/ray/venv/bin/python");
    if std::env::var("RESTITCH_LONG").as_deref() != Ok("1") || !python.exists() {
        let why = "RESTITCH_LONG=1 and Ray: python3 -m venv target/ray/venv && target/ray/venv/bin/pip install ray";
        return crate::disk::skip("Ray", why);
    }
    let root = tempfile::tempdir().expect("folder");
    let packages = root.path().join("corpus");
    corpus(&packages);
    let one = |package: usize| {
        let name = format!("p{package}");
        let alone = root.path().join(format!("only-{name}"));
        std::fs::create_dir(&alone).expect("folder");
        std::os::unix::fs::symlink(packages.join(&name), alone.join(&name)).expect("link");
        restitch(&["measure", "--json", "--corpus", &alone.to_string_lossy(), "--max", "9"])
    };
    let wanted = counts(&[one(0), one(1), one(2)]);
    assert!(wanted.values().map(|way| way["right"]).sum::<u64>() > 200, "{wanted:?}");
    // The first command kills the worker that started it, once.
    let wrapper = root.path().join("restitch");
    let killed = root.path().join("killed");
    let script = format!(
        "#!/bin/sh\nif mkdir {} 2>/dev/null; then kill -9 $PPID; exit 1; fi\nexec {} \"$@\"\n",
        killed.display(),
        env!("CARGO_BIN_EXE_restitch")
    );
    write(&wrapper, &script);
    let mode = <std::fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o755);
    std::fs::set_permissions(&wrapper, mode).expect("mode");
    let run = Command::new(python)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/ray_measure.py"))
        .arg("--corpus")
        .arg(&packages)
        .args(["--tasks", "3", "--restitch"])
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
