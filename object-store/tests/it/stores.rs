//! The store over the memory, as a library.

use std::path::Path;
use std::sync::Arc;

use restitch::edit::{EditCode, EditRequest, WorkPath};
use restitch::engine::{CallOptions, Engine};
use restitch::port::{FileStore as _, History as _, UndoMode};
use restitch_object_store::{BucketOptions, BucketStore};

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
    assert!(log.iter().all(|revision| revision.files[0].lines.is_some()), "{log:?}");
    assert_eq!(store.committed(log[0].revision).await.expect("its files").len(), 1);
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
async fn what_cannot_be_opened_is_told_by_name() {
    for (url, why) in [
        ("s3://", "names no bucket"),
        ("ftp://host/a", "is not a known storage"),
        ("s3://bucket/a/../b", "`..`"),
        ("gs://bucket/a", "is not a known storage"),
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
