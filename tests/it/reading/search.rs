//! Search as a way to an edit, and the bounds of what it looks at.

use serde_json::json;

use super::{Session, line_edit, paths};
use crate::says::says;

#[tokio::test]
async fn a_hit_is_edited_by_its_anchor_without_a_read() {
    let huge = format!("{}needle{}", "x".repeat(2_500_000), "y".repeat(2_500_000));
    for before in [
        "a\nneedle\nb\n".to_owned(),
        "a\nb\nneedle".to_owned(),
        "a\r\nneedle\r\nb\r\n".to_owned(),
        "a\r\nneedle".to_owned(),
        "\u{feff}needle\nb\n".to_owned(),
        "needle".to_owned(),
        huge,
    ] {
        let session = Session::new(&[("f", &before)]);
        let report = session.ok("search", json!({ "keyword": "needle" })).await;
        let hit = &report["files"][0]["matches"][0];
        let content = hit["content"].as_str().expect("content");
        assert!(content.chars().count() <= 200);
        // A part of a line cannot be taken for the line.
        assert_eq!(content.ends_with(" of 5000006]"), before.len() > 200, "{content}");
        let snapshot = &report["files"][0]["snapshot"];
        let edits = json!([{ "op": "replace", "pos": hit["anchor"], "lines": ["found"] }]);
        let call = json!({ "path": "f", "edits": edits, "snapshot": snapshot });
        session.ok("hashline_edit", call).await;
        let mut lines = before.trim_start_matches('\u{feff}').lines();
        let line = lines.find(|line| line.contains("needle")).expect("line");
        assert_eq!(session.text("f"), before.replace(line, "found"));
    }
}

#[tokio::test]
async fn a_line_has_one_number_in_search_read_and_edit() {
    for (before, total) in [
        ("a\nb\nneedle\n", 3),
        ("a\nb\nneedle", 3),
        ("\n\nneedle\r\n", 3),
        ("a\u{2028}b\rc\n\nneedle\n", 3),
    ] {
        let session = Session::new(&[("f", before)]);
        let found = session.ok("search", json!({ "keyword": "needle" })).await;
        assert_eq!(found["files"][0]["matches"][0]["line"], 3, "{before:?}");
        assert_eq!(found["files"][0]["total_lines"], total);
        let read = session.read("f", "numbered").await;
        assert_eq!(read["total_lines"], total);
        assert!(read["text"].as_str().expect("text").ends_with("<<3>>needle"));
        let report = session.ok("edit_lines", line_edit(3, 3, "found")).await;
        assert_eq!(report["verification"]["total_lines"], total);
        assert_eq!(session.text("f"), before.replace("needle", "found"));
    }
}

#[tokio::test]
async fn ignored_and_binary_files_and_links_out_of_the_root_are_left_out_and_said() {
    let session = Session::new(&[
        (".gitignore", "ignored/\n*.log\n"),
        ("ignored/a.txt", "needle\n"),
        ("b.log", "needle\n"),
        ("c.bin", "needle\0\n"),
        (".git/config", "needle\n"),
        (".github/ci.yml", "needle\n"),
        ("src/ok.rs", "needle\n"),
    ]);
    let outside = tempfile::tempdir().expect("folder");
    std::fs::write(outside.path().join("secret"), "needle\n").expect("write");
    #[cfg(unix)]
    {
        use std::os::unix::fs::symlink;
        symlink(outside.path(), session.dir.path().join("out")).expect("link");
        symlink(outside.path().join("secret"), session.dir.path().join("s.txt")).expect("link");
    }
    let reply = session.call("search", json!({ "keyword": "needle" })).await;
    let mut found = paths(&reply.report);
    found.sort_unstable();
    assert_eq!(found, [".github/ci.yml", "src/ok.rs"]);
    assert_eq!(reply.report["skipped"]["binary"], 1);
    says(&reply.message, &[".gitignore", "1 binary"]);
    #[cfg(unix)]
    {
        assert_eq!(reply.report["skipped"]["links"], 2);
        for path in ["out", "out/secret", "s.txt", "../x", "/etc"] {
            for (tool, call) in [
                ("search", json!({ "path": path, "keyword": "needle" })),
                ("wildcard_search", json!({ "path": path, "terms": ["needle"] })),
                ("list_files", json!({ "path": path })),
            ] {
                session.refused(tool, call, "EDIT_INVALID_PATH").await;
            }
        }
    }
    // What is named outright is searched, ignored or not.
    let named = session.ok("search", json!({ "keyword": "needle", "path": "ignored/a.txt" })).await;
    assert_eq!(named["total_files"], 1);
}

#[tokio::test]
async fn context_encodings_and_globs() {
    let session = Session::new(&[("a.rs", "1\n2\nneedle\n4\n5\n"), ("b.txt", "needle\n")]);
    let utf16: Vec<u8> =
        "\u{feff}one\nNeedle é\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    std::fs::write(session.dir.path().join("c.rs"), utf16).expect("write");
    std::fs::write(session.dir.path().join("d.rs"), b"caf\xE9 cr\xE8me needle\n").expect("write");
    let report =
        session.ok("search", json!({ "keyword": "needle", "context": 1, "glob": "*.rs" })).await;
    assert_eq!(report["total_files"], 3);
    let files = report["files"].as_array().expect("files");
    let of = |path: &str| files.iter().find(|file| file["path"] == path).expect("file");
    let context = &of("a.rs")["matches"][0]["context"];
    assert_eq!(context["before"].as_array().map(Vec::len), Some(1));
    assert!(context["before"][0].as_str().expect("line").ends_with("|2"));
    assert!(context["after"][0].as_str().expect("line").ends_with("|4"));
    assert_eq!(of("c.rs")["matches"][0]["line"], 2);
    assert_eq!(of("d.rs")["matches"][0]["content"], "café crème needle");
    let list = session.ok("list_files", json!({ "glob": "**/*.rs" })).await;
    assert_eq!(paths(&list), ["a.rs", "c.rs", "d.rs"]);
    assert_eq!(list["total"], 3);
}

#[tokio::test]
async fn long_lines_and_long_files_are_cut_with_the_way_to_go_on() {
    let line = "x".repeat(10_000);
    let session = Session::new(&[
        ("long", &format!("{line}\nshort\n")),
        ("many", &"some words in a line\n".repeat(20_000)),
    ]);
    let call = json!({ "path": "long", "style": "hashline", "column": 4001 });
    let read = session.call("read_file", call).await;
    assert_eq!(
        read.report["windowed"],
        json!([{ "line": 1, "start_column": 4001, "end_column": 6000, "columns": 10000 }])
    );
    assert!(read.message.contains("continue with column 6001"), "the way on");
    assert!(read.report["text"].as_str().expect("text").ends_with("|short"));
    let mut offset = json!(1);
    let mut lines = 0;
    loop {
        let read = session.ok("read_file", json!({ "path": "many", "offset": offset })).await;
        lines += read["text"].as_str().expect("text").lines().count();
        if read["next_offset"].is_null() {
            break;
        }
        offset = read["next_offset"].clone();
    }
    assert_eq!(lines, 20_000);
}

#[tokio::test]
async fn whole_plain_reads_are_the_text_to_the_last_byte() {
    for text in ["", "a", "a\n", "a\r\nb\n\n", "\n"] {
        let session = Session::new(&[("f", text)]);
        let read = session.ok("read_file", json!({ "path": "f" })).await;
        assert_eq!(read["text"], text);
        let keys = read.as_object().expect("object").keys();
        let first =
            ["path", "snapshot", "total_lines", "text", "ranges", "encoding", "line_ending"];
        assert!(keys.take(7).eq(first), "{read}");
    }
}
