//! What a commit costs beside the bare system calls, in the same run on the same disk.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use restitch::port::{CommitOptions, FileStore as _};
use restitch::store::{DiskOptions, DiskStore, Promise};

use super::{Work, count, long, now, whole, work_path};

/// Write, sync, rename, sync the folder, and nothing else.
fn bare(file: &Path, bytes: &[u8], sync: bool) {
    let temp = file.with_extension("tmp");
    let mut out = File::create(&temp).expect("temp");
    out.write_all(bytes).expect("write");
    if sync {
        out.sync_all().expect("sync");
    }
    drop(out);
    fs::rename(&temp, file).expect("rename");
    if sync {
        File::open(file.parent().expect("folder"))
            .and_then(|folder| folder.sync_all())
            .expect("sync");
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

#[test]
fn a_durable_commit_costs_little_more_than_its_syncs() {
    let rounds = count(60, 600);
    // The test's own disk: memory has no syncs to compare with.
    let work = Work::on(Path::new(env!("CARGO_TARGET_TMPDIR")));
    let version = |n: usize| format!("line {n:08}\n").repeat(1_000).into_bytes();
    for (promise, sync) in [(Promise::Durable, true), (Promise::Rename, false)] {
        fs::write(work.file("ours"), version(0)).expect("file");
        fs::write(work.file("bare"), version(0)).expect("file");
        let store = DiskStore::open_with(&work.root(), DiskOptions { promise, ..work.options() })
            .expect("store");
        let (mut ours, mut others) = (Vec::new(), Vec::new());
        // In turns, so that both see the same disk.
        for n in 0..rounds {
            let began = Instant::now();
            bare(&work.file("bare"), &version(n + 1), sync);
            others.push(began.elapsed());
            let edit = whole(&work_path("ours"), Some(&version(n)), &version(n + 1));
            let began = Instant::now();
            now(store.commit(vec![edit], CommitOptions::default())).expect("commit");
            ours.push(began.elapsed());
        }
        let (ours, others) = (median(ours), median(others));
        let ratio = ours.as_secs_f64() / others.as_secs_f64();
        println!(
            "{promise:?}: commit {ours:?}, bare {others:?}, ratio {ratio:.2} (median of {rounds}, 14 kB file)"
        );
        // A shared machine is no scale; `cargo bench --bench disk` has the figures. This
        // catches a second sync, or a copy that should not be there.
        if sync && long() {
            assert!(ratio < 2.5, "{ratio}");
        }
    }
}
