//! Compares the time of a commit with that of the bare system calls (write, sync, rename, sync of
//! the folder), in the same run on the same disk.
//!
//! `cargo bench --bench disk [-- FOLDER]`; without a folder, below `target`.
#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark prints, and ends where it cannot go on"
)]

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use restitch::edit::{Explanation, Rung, WorkPath};
use restitch::internals::text::Snapshot;
use restitch::port::{CommitOptions, FileStore as _};
use restitch::store::{DiskOptions, DiskStore, SyncMode};

const ROUNDS: usize = 400;

fn system_calls(file: &Path, bytes: &[u8], sync: bool) {
    let temp = file.with_extension("tmp");
    let mut out = File::create(&temp).expect("temp");
    out.write_all(bytes).expect("write");
    if sync {
        out.sync_all().expect("sync");
    }
    drop(out);
    fs::rename(&temp, file).expect("rename");
    if sync {
        let folder = File::open(file.parent().expect("folder")).expect("folder");
        folder.sync_all().expect("sync");
    }
}

/// Whether the commit is called in a runtime. Without one it runs in the calling thread; in tokio
/// it runs in another thread, as all blocking work does there.
#[derive(Debug, Clone, Copy)]
enum Runtime {
    Plain,
    Tokio,
}

/// Returns the value of a future that is ready at once.
fn poll_once<T>(future: impl Future<Output = T>) -> T {
    let mut context = Context::from_waker(Waker::noop());
    match pin!(future).poll(&mut context) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("the commit waits, although nothing else is under way"),
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn main() {
    let folder = std::env::args().skip(1).find(|a| !a.starts_with('-')).map(PathBuf::from);
    let folder = folder.unwrap_or_else(|| Path::new(env!("CARGO_TARGET_TMPDIR")).to_owned());
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("runtime");
    // An edit changes a line of the file; a rewrite changes every one.
    let edited = |n: usize| {
        let line = |at: usize| format!("line {:08}\n", if at == 500 { n } else { 0 });
        (0..1_000).map(line).collect::<String>().into_bytes()
    };
    let rewritten = |n: usize| format!("line {n:08}\n").repeat(1_000).into_bytes();
    for (sync_mode, sync, state, whole, from) in [
        (SyncMode::Durable, true, true, false, Runtime::Plain),
        (SyncMode::Durable, true, true, true, Runtime::Plain),
        (SyncMode::Durable, true, false, false, Runtime::Plain),
        (SyncMode::Durable, true, true, false, Runtime::Tokio),
        (SyncMode::Rename, false, true, false, Runtime::Plain),
        (SyncMode::Rename, false, true, true, Runtime::Plain),
        (SyncMode::Rename, false, false, false, Runtime::Plain),
    ] {
        let version = |n: usize| if whole { rewritten(n) } else { edited(n) };
        let work = tempfile::tempdir_in(&folder).expect("folder");
        let root = work.path().join("root");
        fs::create_dir(&root).expect("root");
        fs::write(root.join("ours"), version(0)).expect("file");
        fs::write(root.join("bare"), version(0)).expect("file");
        let state = state.then(|| work.path().join("state"));
        let what = if whole { "rewrite" } else { "edit" };
        let with = if state.is_some() { "with undo" } else { "without undo" };
        let options = DiskOptions { sync_mode, state, ..DiskOptions::default() };
        let store = DiskStore::open_with(&root, options).expect("store");
        let path = WorkPath::parse("ours", &root).expect("path");
        let (mut ours, mut others) = (Vec::new(), Vec::new());
        // The two take turns, so that both run under the same load of the disk.
        for n in 0..ROUNDS {
            let bytes = version(n + 1);
            let began = Instant::now();
            system_calls(&root.join("bare"), &bytes, sync);
            others.push(began.elapsed());
            let before = Snapshot::decode(version(n)).expect("text");
            let after = Some(bytes.into());
            let edit = restitch::internals::restored(
                path.clone(),
                Some(before),
                after,
                Explanation::plain(Rung::Exact),
            );
            let began = Instant::now();
            let commit = store.commit(vec![edit], CommitOptions::default());
            let done = match from {
                Runtime::Plain => poll_once(commit),
                Runtime::Tokio => runtime.block_on(commit),
            };
            ours.push(began.elapsed());
            done.expect("commit");
        }
        let (ours, others) = (median(ours), median(others));
        println!(
            "{sync_mode:?} {with:<13} {what:<8} {from:?} commit {ours:>9.1?}   bare {others:>9.1?}   ratio {:.2} (14 kB file, median of {ROUNDS})",
            ours.as_secs_f64() / others.as_secs_f64()
        );
    }
}
