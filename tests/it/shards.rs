//! Runs of the harness in parts, and their results as rows and as Parquet.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

use super::harness::{last_line, restitch, text, transcripts, write};

/// Two versions of a package, with enough edits for several parts.
pub(super) fn two_versions(root: &Path) -> (String, String) {
    let function = |n: usize, call: &str| {
        format!(
            "func handler{n}(w Writer) error {{\n\tvalue := load{n}(w)\n\tif value == nil {{\n\t\treturn {call}\n\t}}\n\treturn save{n}(value)\n}}\n\n"
        )
    };
    let file = |call: &dyn Fn(usize) -> String| -> String {
        (0..12).map(|n| function(n, &call(n))).collect()
    };
    write(&root.join("a/main.go"), &file(&|n| format!("missing{n}(w)")));
    write(&root.join("b/main.go"), &file(&|n| format!("absent{n}(w, {n})")));
    ["a", "b"].map(|name| root.join(name).to_string_lossy().into_owned()).into()
}

/// The figures of a run, without the times, which are never the same.
fn figures(run: &Output) -> Value {
    let mut said: Value = serde_json::from_slice(&run.stdout).expect("JSON");
    for row in said["rows"].as_array_mut().expect("rows") {
        row.as_object_mut().expect("a row").remove("micros");
    }
    said
}

/// The data of a page without the times.
fn page_data(page: &Path) -> Value {
    let page = std::fs::read_to_string(page).expect("page");
    let (_, data) = page.split_once("const D = ").expect("data");
    let mut values = serde_json::Deserializer::from_str(data).into_iter::<Value>();
    let mut data = values.next().expect("data").expect("JSON");
    for list in ["rows", "cases"] {
        for one in data[list].as_array_mut().expect("list") {
            one.as_object_mut().expect("one").remove("micros");
        }
    }
    data
}

#[test]
fn parts_of_a_measurement_give_the_figures_of_one_run() {
    let root = tempfile::tempdir().expect("folder");
    let (from, to) = two_versions(root.path());
    let material = ["--from", &from, "--to", &to, "--max", "9"];
    let measure = |more: &[&str]| restitch(&[&["measure"], &material[..], more].concat());
    let whole = measure(&["--json"]);
    let wanted = figures(&whole);
    let cases = |said: &Value| -> u64 {
        let rows = said["rows"].as_array().expect("rows").iter();
        rows.map(|row| {
            row["right"].as_u64().expect("count") + row["refused"].as_u64().expect("count")
        })
        .sum()
    };
    assert!(cases(&wanted) > 200, "{wanted}");
    let mut pages = None;
    for of in [1, 2, 4] {
        let files: Vec<String> = (1..=of)
            .map(|number| {
                let part = measure(&["--shard", &format!("{number}/{of}")]);
                assert_eq!(part.status.code(), Some(0), "{}", text(&part.stderr));
                let file = root.path().join(format!("{number}-of-{of}.json"));
                std::fs::write(&file, &part.stdout).expect("file");
                file.to_string_lossy().into_owned()
            })
            .collect();
        // In another order, and one of them twice.
        let mut names: Vec<&str> = files.iter().rev().map(String::as_str).collect();
        names.push(&files[0]);
        let merged = restitch(&[&["merge", "--json"], &names[..]].concat());
        assert_eq!(merged.status.code(), whole.status.code(), "{}", text(&merged.stderr));
        assert_eq!(figures(&merged), wanted, "{of} parts");
        assert_eq!(
            last_line(&restitch(&[&["merge"], &names[..]].concat())),
            last_line(&measure(&[]))
        );
        // The page of the parts is the same page, but for the times.
        let page = root.path().join("page.html").to_string_lossy().into_owned();
        restitch(&[&["merge", "--html", &page], &names[..]].concat());
        let page = page_data(Path::new(&page));
        assert_eq!(
            page["rows"].as_array().expect("rows").len(),
            wanted["rows"].as_array().expect("rows").len()
        );
        assert_eq!(*pages.get_or_insert_with(|| page.clone()), page, "{of} parts");
        if of > 1 {
            let missing = restitch(&["merge", &files[0]]);
            assert_eq!(missing.status.code(), Some(2));
            assert!(
                text(&missing.stderr).contains(&format!("missing: 2/{of}")),
                "{}",
                text(&missing.stderr)
            );
        }
    }
}

/// The example on a real Ray of this machine, one of whose workers is killed.
#[cfg(unix)]
#[test]
fn ray_gives_the_figures_of_one_run() {
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/ray/venv/bin/python");
    if std::env::var("RESTITCH_LONG").as_deref() != Ok("1") || !python.exists() {
        println!(
            "SKIPPED: 1 test needs RESTITCH_LONG=1 and Ray: python3 -m venv target/ray/venv && target/ray/venv/bin/pip install ray"
        );
        return;
    }
    let root = tempfile::tempdir().expect("folder");
    let (from, to) = two_versions(root.path());
    let material = ["--from", &from, "--to", &to, "--max", "9"];
    let wanted = figures(&restitch(&[&["measure", "--json"], &material[..]].concat()));
    // The command of the third shard kills the worker that started it, once.
    let wrapper = root.path().join("restitch");
    let killed = root.path().join("killed");
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in *3/4*) if mkdir {0} 2>/dev/null; then kill -9 $PPID; exit 1; fi;; esac\nexec {1} \"$@\"\n",
        killed.display(),
        env!("CARGO_BIN_EXE_restitch")
    );
    write(&wrapper, &script);
    let mode = <std::fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o755);
    std::fs::set_permissions(&wrapper, mode).expect("mode");
    let run = Command::new(python)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/ray_measure.py"))
        .args(["--shards", "4", "--json", "--out"])
        .arg(root.path().join("parts"))
        .arg("--restitch")
        .arg(&wrapper)
        .arg("--")
        .args(material)
        .output()
        .expect("python runs");
    assert!(killed.exists(), "a worker was killed: {}", text(&run.stderr));
    assert_eq!(figures(&run), wanted, "{}", text(&run.stderr));
    let said = text(&run.stderr);
    assert!(said.contains("4 of 4 parts") && said.contains(" right, "), "progress: {said}");
    println!("4 parts on Ray, one worker killed: the same figures");
}

/// The same run as a whole and in three parts, of which one is there twice.
fn merged(root: &Path, arguments: &[&str]) -> (Output, Output) {
    let whole = restitch(&[&["--json"], arguments].concat());
    let mut files: Vec<String> = (1..=3)
        .map(|number| {
            let shard = format!("{number}/3");
            let part = restitch(&[arguments, &["--shard", &shard]].concat());
            assert_eq!(part.status.code(), Some(0), "{}", text(&part.stderr));
            let file = root.join(format!("{}-{number}.json", arguments[0]));
            std::fs::write(&file, &part.stdout).expect("file");
            file.to_string_lossy().into_owned()
        })
        .collect();
    files.rotate_left(1);
    files.push(files[0].clone());
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    (whole, restitch(&[&["--json", "merge"], &files[..]].concat()))
}

#[test]
fn mining_and_comparing_in_parts_come_to_the_same() {
    let root = tempfile::tempdir().expect("folder");
    let (whole, parts) = merged(root.path(), &["mine", &transcripts("")]);
    let said: Value = serde_json::from_slice(&whole.stdout).expect("JSON");
    assert!(said["failures"].as_array().expect("list").len() > 5, "{said}");
    assert!(said["sessions"].as_u64() > Some(3), "{said}");
    assert_eq!(text(&whole.stdout), text(&parts.stdout), "{}", text(&parts.stderr));

    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/by-hand");
    let cases = cases.to_string_lossy();
    let (whole, parts) = merged(root.path(), &["compare", &cases, "--tools", "restitch,exact"]);
    let said: Value = serde_json::from_slice(&whole.stdout).expect("JSON");
    assert!(said[0]["recoverable"]["cases"].as_u64() > Some(20), "{said}");
    assert_eq!(text(&whole.stdout), text(&parts.stdout), "{}", text(&parts.stderr));

    let file = |name: &str| root.path().join(name).to_string_lossy().into_owned();
    let mixed = restitch(&["merge", &file("mine-1.json"), &file("compare-1.json")]);
    assert_eq!(mixed.status.code(), Some(2));
    assert!(text(&mixed.stderr).contains("different commands"), "{}", text(&mixed.stderr));
}

/// A Python with the readers of Parquet; nothing, said loudly, where there is none.
fn python_of_data() -> Option<std::path::PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/parquet/venv/bin/python");
    let found = [own, "python3".into()].into_iter().find(|python| {
        let mut asked = Command::new(python);
        asked.args(["-c", "import pyarrow, duckdb, polars"]).stderr(std::process::Stdio::null());
        asked.status().is_ok_and(|status| status.success())
    });
    if found.is_none() {
        println!(
            "SKIPPED: 1 test needs pyarrow, duckdb and polars: python3 -m venv target/parquet/venv && target/parquet/venv/bin/pip install pyarrow duckdb polars"
        );
    }
    found
}

/// Rows of every command, read back by three programs that know nothing of restitch.
#[test]
fn rows_are_read_as_parquet_by_duckdb_polars_and_arrow() {
    let Some(python) = python_of_data() else { return };
    let root = tempfile::tempdir().expect("folder");
    let (from, to) = two_versions(root.path());
    let file = |name: &str| root.path().join(name).to_string_lossy().into_owned();
    let material = ["--from", &from, "--to", &to, "--max", "3"];
    let whole = restitch(&[&["--json", "measure"], &material[..]].concat());
    for number in ["1", "2"] {
        let shard = format!("{number}/2");
        let rows = file(&format!("part-{number}.jsonl"));
        let more = ["--shard", &shard, "--rows", &rows, "--texts"];
        let part = restitch(&[&["measure"], &material[..], &more[..]].concat());
        assert_eq!(part.status.code(), Some(0), "{}", text(&part.stderr));
    }
    restitch(&["mine", &transcripts(""), "--rows", &file("mined.jsonl")]);
    let mined = restitch(&["--json", "mine", &transcripts("")]);
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/by-hand");
    restitch(&["run", &cases.to_string_lossy(), "--rows", &file("run.jsonl"), "--texts"]);
    let count = |run: &Output, list: &str, test: &dyn Fn(&Value) -> u64| -> u64 {
        let said: Value = serde_json::from_slice(&run.stdout).expect("JSON");
        said[list].as_array().expect("list").iter().map(test).sum()
    };
    let right = count(&whole, "rows", &|row| row["right"].as_u64().expect("count"));
    let failures = count(&mined, "failures", &|_| 1);
    let module = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("bindings/python/python/restitch_edit/parquet.py");
    let write_parquet = |files: &[&str]| {
        let files: Vec<String> = files.iter().map(|name| file(name)).collect();
        let mut command = Command::new(&python);
        command.arg(&module).args(["--out", &file("all.parquet")]).args(files);
        command.output().expect("python runs")
    };
    let made = write_parquet(&["part-1.jsonl", "part-2.jsonl", "mined.jsonl", "run.jsonl"]);
    assert!(made.status.success(), "{}", text(&made.stderr));
    let script = r#"
import json, sys
import duckdb, polars, pyarrow.parquet
file = sys.argv[1]
ask = lambda query: duckdb.sql(query.format(f"read_parquet('{file}')")).fetchall()
measured = polars.read_parquet(file).filter(polars.col("command") == "measure")
table = pyarrow.parquet.read_table(file)
print(json.dumps({
    "duckdb": ask("select count(*) from {} where command = 'measure' and verdict = 'right'")[0][0],
    "polars": measured.filter(polars.col("verdict") == "right").height,
    "mined": ask("select count(*) from {} where command = 'mine' and old_str is null")[0][0],
    "texts": ask("select count(*) from {} where command <> 'mine' and before is null and family <> 'unreadable'")[0][0],
    "same": ask("select count(*) from {} where command = 'measure' and (verdict = 'right') <> (got is not null)")[0][0],
    "codes": ask("select count(*) from {} where command = 'measure' and (code is null) = (rung is null)")[0][0],
    "types": {field.name: str(field.type) for field in table.schema},
    "rows": table.num_rows,
}))
"#;
    let read = Command::new(&python).args(["-c", script, &file("all.parquet")]).output();
    let read = read.expect("python runs");
    let said: Value =
        serde_json::from_slice(&read.stdout).unwrap_or_else(|_| panic!("{}", text(&read.stderr)));
    println!("{said}");
    assert!(right > 100 && failures > 5, "{right} {failures}");
    assert_eq!([&said["duckdb"], &said["polars"]], [&json!(right), &json!(right)]);
    assert_eq!(said["mined"], failures);
    assert_eq!([&said["texts"], &said["same"], &said["codes"]], [&json!(0), &json!(0), &json!(0)]);
    assert_eq!(said["types"]["micros"], "uint64");
    // The page names every field, with its type.
    let page = include_str!("../../docs/reference/rows.md");
    for (name, kind) in said["types"].as_object().expect("types") {
        let line = format!("| `{name}` | {} |", kind.as_str().expect("a type"));
        assert!(page.contains(&line), "docs/reference/rows.md lacks {line}");
    }
    // What is no row is named, and the file of before stays.
    write(&root.path().join("broken.jsonl"), "{\"command\": \"measure\"}\n");
    let refused = write_parquet(&["part-1.jsonl", "broken.jsonl"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("broken.jsonl, line 1"), "{}", text(&refused.stderr));
    assert!(root.path().join("all.parquet").is_file());
    assert_eq!(
        std::fs::read_dir(root.path())
            .expect("folder")
            .filter(|entry| {
                entry
                    .as_ref()
                    .is_ok_and(|entry| entry.file_name().to_string_lossy().starts_with('.'))
            })
            .count(),
        0
    );
}
