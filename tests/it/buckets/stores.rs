//! The same store over the memory and over a folder, as a library.

use std::path::Path;
use std::sync::Arc;

use restitch::edit::{EditCode, EditRequest, WorkPath};
use restitch::engine::{CallOptions, Engine};
use restitch::port::{FileStore as _, UndoMode};
use restitch::store::{BucketOptions, BucketStore};
use restitch::tools::Toolbox;
use serde_json::json;

fn path(name: &str) -> WorkPath {
    WorkPath::parse(name, Path::new("/")).expect("path")
}

/// Many tasks count up lines of one file.
async fn nothing_is_lost(store: BucketStore) {
    const TASKS: usize = 8;
    const EDITS: usize = 10;
    let store = Arc::new(store);
    let engine = Engine::builder(store.clone()).build();
    let text: String = (0..TASKS).map(|task| format!("task {task} has 0\n")).collect();
    let options = CallOptions::default();
    engine.edit_file(&path("n"), &EditRequest::new("", text), &options).await.expect("made");
    let mut tasks = tokio::task::JoinSet::new();
    for task in 0..TASKS {
        let engine = engine.session();
        tasks.spawn(async move {
            for number in 0..EDITS {
                let old = format!("task {task} has {number}\n");
                let call = EditRequest::new(old, format!("task {task} has {}\n", number + 1));
                loop {
                    match engine.edit_file(&path("n"), &call, &CallOptions::default()).await {
                        Ok(_) => break,
                        Err(refusal) => assert_eq!(refusal.code, EditCode::Conflict, "{refusal:?}"),
                    }
                }
            }
        });
    }
    tasks.join_all().await;
    let end = String::from_utf8(store.load(&path("n")).await.expect("file")).expect("text");
    let sum: usize = end.lines().filter_map(|l| l.rsplit(' ').next()?.parse::<usize>().ok()).sum();
    assert_eq!(sum, TASKS * EDITS, "{end}");
    let log = store.log().await.expect("log");
    assert_eq!(log.len(), TASKS * EDITS + 1);
    assert!(log.iter().all(|revision| !revision.interrupted), "{log:?}");
    for _ in 0..=TASKS * EDITS {
        store.undo(None, UndoMode::Apply).await.expect("each edit comes out again");
    }
    let gone = store.load(&path("n")).await.expect_err("the file is gone");
    assert_eq!(gone.code, EditCode::FileNotFound);
    let made = EditRequest::new("", "again\n");
    engine.edit_file(&path("n"), &made, &CallOptions::default()).await.expect("made again");
}

#[tokio::test(flavor = "multi_thread")]
async fn in_the_memory() {
    let store = BucketStore::open("memory://", BucketOptions::default()).await.expect("opens");
    nothing_is_lost(store).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn in_a_folder() {
    let temp = tempfile::tempdir().expect("folder");
    let url = format!("file://{}", temp.path().display());
    let store = BucketStore::open(&url, BucketOptions::default()).await.expect("opens");
    nothing_is_lost(store).await;
    let store = BucketStore::open(&url, BucketOptions::default()).await.expect("opens");
    let outside = tempfile::tempdir().expect("folder");
    std::fs::write(outside.path().join("secret"), "s\n").expect("file");
    std::os::unix::fs::symlink(outside.path(), temp.path().join("link")).expect("link");
    let refused = store.load(&path("link/secret")).await.expect_err("a link");
    assert!(refused.message.contains("symbolic link"), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_opened_is_told_by_name() {
    for (url, why) in [
        ("s3://", "names no bucket"),
        ("ftp://host/a", "is not a known storage"),
        ("s3://bucket/a/../b", "`..`"),
        ("file:///nowhere-of-restitch/at/all", "No such file"),
    ] {
        let told = BucketStore::open(url, BucketOptions::default()).await.expect_err("refused");
        assert!(told.contains(why), "{url}: {told}");
    }
    let settings = [("aws_endpiont".to_owned(), "x".to_owned())].into();
    let options = BucketOptions { settings, ..BucketOptions::default() };
    let told = BucketStore::open("s3://bucket/a", options).await.expect_err("refused");
    assert!(told.contains("aws_endpiont"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_over_64_mib_is_refused() {
    let temp = tempfile::tempdir().expect("folder");
    let most = 64_u64 << 20;
    for (name, bytes) in [("fits", most), ("large", most + 1)] {
        let file = std::fs::File::create(temp.path().join(name)).expect("file");
        file.set_len(bytes).expect("size");
    }
    let url = format!("file://{}", temp.path().display());
    let store = BucketStore::open(&url, BucketOptions::default()).await.expect("opens");
    assert!(store.load(&path("fits")).await.is_ok());
    let refused = store.load(&path("large")).await.expect_err("too large");
    assert_eq!(refused.code, EditCode::TooLarge, "{refused:?}");
    assert!(refused.message.contains(&most.to_string()), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_shows_the_last_200_commits() {
    let store = BucketStore::open("memory://", BucketOptions::default()).await.expect("opens");
    let store = Arc::new(store);
    let engine = Engine::builder(store.clone()).build();
    let edit = async |old: String, new: String| {
        let call = EditRequest::new(old, new);
        engine.edit_file(&path("n"), &call, &CallOptions::default()).await.expect("edited")
    };
    edit(String::new(), "0 of it\n".into()).await;
    for number in 0..202 {
        edit(format!("{number} of it"), format!("{} of it", number + 1)).await;
    }
    assert_eq!(store.log().await.expect("log").len(), 200);
}

/// Of a tree that is larger than what is fetched, a search says what it left out.
#[tokio::test(flavor = "multi_thread")]
async fn a_search_fetches_so_much_and_says_what_it_left_out() {
    const FETCHED: usize = 5_000;
    let temp = tempfile::tempdir().expect("folder");
    let url = format!("file://{}", temp.path().display());
    let open = async || {
        let store = BucketStore::open(&url, BucketOptions::default()).await.expect("opens");
        Toolbox::new(Engine::builder(store).build())
    };
    let search = async |tools: &Toolbox| {
        let call = json!({ "keyword": "needle" });
        tools.call("search", call, &CallOptions::default()).await
    };
    let size = |name: &str, bytes: u64| {
        std::fs::File::create(temp.path().join(name))
            .and_then(|file| file.set_len(bytes))
            .expect("file");
    };
    std::fs::write(temp.path().join("a"), "needle\n").expect("file");
    let left_out = async || {
        let reply = search(&open().await).await;
        assert!(reply.ok, "{}", reply.message);
        assert_eq!(reply.report["total_files"], 1, "{}", reply.message);
        let count = reply.report["skipped"]["unfetched"].as_u64().unwrap_or_default();
        assert_eq!(count > 0, reply.message.contains("not fetched"), "{}", reply.message);
        count
    };
    size("b", 4 << 20);
    assert_eq!(left_out().await, 0);
    size("c", (4 << 20) + 1);
    assert_eq!(left_out().await, 1, "a large one");
    // 64 MiB in all: fifteen more of 4 MiB are too many by one.
    for number in 0..15 {
        size(&format!("d{number:02}"), 4 << 20);
    }
    assert_eq!(left_out().await, 2, "one more in all");
    for name in (0..15).map(|number| format!("d{number:02}")).chain(["b".into(), "c".into()]) {
        std::fs::remove_file(temp.path().join(name)).expect("removed");
    }
    for number in 1..=FETCHED {
        std::fs::write(temp.path().join(format!("f{number:05}")), "x\n").expect("file");
    }
    assert_eq!(left_out().await, 1, "one file too many");
    for number in FETCHED + 1..20_100 {
        std::fs::write(temp.path().join(format!("f{number:05}")), "x\n").expect("file");
    }
    let list = open().await.call("list_files", json!({}), &CallOptions::default()).await;
    assert!(list.message.contains("not fetched"), "{}", list.message);
}
