//! Other processes: this test binary, started again to write until it is killed. The
//! broken writers live here, and nowhere in the product.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use restitch::engine::Engine;
use restitch::port::{CommitOptions, FileStore as _};
use restitch::store::{DiskOptions, DiskStore, SyncMode};

use super::{block_on, edit, whole_file_edit, work_path};

const VARIABLE: &str = "RESTITCH_TEST_CHILD";

/// How a child writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Writer {
    /// The product.
    Store,
    /// The product, told to skip the syncs.
    StoreWithoutSyncs,
    /// Broken: overwrites the file.
    InPlace,
    /// Broken: temp and rename, nothing synced.
    NoSync,
    /// Broken: temp, sync, rename; the folder is not synced.
    FileSyncOnly,
    /// Broken: compares before it renames, takes no lock.
    HashThenRename,
    /// Broken: locks the file, does not look whether the name still means it.
    LockWithoutLookingAgain,
}

const WRITERS: [Writer; 7] = [
    Writer::Store,
    Writer::StoreWithoutSyncs,
    Writer::InPlace,
    Writer::NoSync,
    Writer::FileSyncOnly,
    Writer::HashThenRename,
    Writer::LockWithoutLookingAgain,
];

/// The entry of a child; does nothing in an ordinary run.
#[test]
fn entry() {
    let Ok(order) = std::env::var(VARIABLE) else { return };
    let words: Vec<&str> = order.split('|').collect();
    match words.as_slice() {
        ["generations", writer, root, state, size] => {
            let size = size.parse().expect("size");
            generations(parse(writer), Path::new(root), Path::new(state), size);
        }
        ["counters", writer, root, state, first, threads, edits] => counters(
            parse(writer),
            Path::new(root),
            Path::new(state),
            first.parse().expect("first"),
            threads.parse().expect("threads"),
            edits.parse().expect("edits"),
        ),
        _ => panic!("an unknown order: {order}"),
    }
}

fn parse(name: &str) -> Writer {
    WRITERS.into_iter().find(|writer| format!("{writer:?}") == name).expect("writer")
}

pub(crate) fn spawn(order: &str) -> Child {
    Command::new(std::env::current_exe().expect("exe"))
        .args(["disk::child::entry", "--exact", "--nocapture", "--test-threads=1"])
        .env(VARIABLE, order)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("child")
}

/// The numbers that a child printed after `word`.
pub(crate) fn numbers(child: &mut Child, word: &str) -> Vec<u64> {
    let out = child.stdout.take().expect("stdout");
    BufReader::new(out)
        .lines()
        .map_while(Result::ok)
        .filter_map(|line| line.strip_prefix(word)?.trim().parse().ok())
        .collect()
}

/// A file that is the same in every line, so that any mixture shows.
pub(crate) fn generation(number: u64, size: usize) -> Vec<u8> {
    format!("generation {number:012}\n").repeat(size / 24).into_bytes()
}

/// The number of a whole generation; `None` when the file is torn.
pub(crate) fn generation_of(bytes: &[u8], size: usize) -> Option<u64> {
    let number = std::str::from_utf8(bytes.get(11..23)?).ok()?.parse().ok()?;
    (generation(number, size) == bytes).then_some(number)
}

/// Writes generation after generation, acknowledging each.
fn generations(writer: Writer, root: &Path, state: &Path, size: usize) {
    let sync_mode = match writer {
        Writer::Store => Some(SyncMode::Durable),
        Writer::StoreWithoutSyncs => Some(SyncMode::Rename),
        _ => None,
    };
    let store = sync_mode.map(|sync_mode| {
        let state = Some(state.into());
        let options =
            DiskOptions { state, history_bytes: 1 << 20, sync_mode, ..DiskOptions::default() };
        DiskStore::open_with(root, options).expect("store")
    });
    let file = root.join("file");
    let path = work_path("file");
    let mut number = generation_of(&fs::read(&file).expect("file"), size).expect("whole");
    println!();
    loop {
        let (before, after) = (generation(number, size), generation(number + 1, size));
        match (&store, writer) {
            (Some(store), _) => {
                let edit = whole_file_edit(&path, Some(&before), &after);
                block_on(store.commit(vec![edit], CommitOptions::default())).expect("commit");
            }
            (None, Writer::InPlace) => {
                let target = OpenOptions::new().write(true).open(&file).expect("file");
                // In small pieces, as programs with a small buffer do.
                for (n, piece) in after.chunks(4096).enumerate() {
                    target.write_all_at(piece, (n * 4096) as u64).expect("write");
                }
            }
            (None, _) => replace(writer, &file, &after),
        }
        number += 1;
        println!("ack {number}");
        std::io::stdout().flush().expect("flush");
    }
}

fn replace(writer: Writer, file: &Path, bytes: &[u8]) {
    let unique = format!("{}-{:?}", std::process::id(), std::thread::current().id());
    let temp = file.with_file_name(format!("naive-{unique}.tmp"));
    let mut out = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&temp)
        .expect("temp");
    out.write_all(bytes).expect("write");
    if writer == Writer::FileSyncOnly {
        out.sync_all().expect("sync");
    }
    fs::rename(&temp, file).expect("rename");
}

/// The names under which the counters are edited: the file and its aliases.
pub(crate) const ALIASES: [&str; 4] = ["counters", "link", "folder/../counters", "around/counters"];

pub(crate) fn counter_line(writer: usize, value: usize) -> String {
    format!("writer {writer:03} has {value:06}\n")
}

/// Many threads, each counting up its own line of one file.
fn counters(writer: Writer, root: &Path, state: &Path, first: usize, threads: usize, edits: usize) {
    println!();
    std::thread::scope(|scope| {
        for id in first..first + threads {
            scope.spawn(move || {
                let lost = match writer {
                    Writer::Store => count_by_store(root, state, id, edits),
                    _ => count_naively(writer, &root.join("counters"), id, edits),
                };
                println!("lost {lost}");
            });
        }
    });
}

fn count_by_store(root: &Path, state: &Path, id: usize, edits: usize) -> usize {
    // Half of the writers keep a history.
    let state = id.is_multiple_of(2).then(|| PathBuf::from(state));
    let options = DiskOptions {
        state,
        lock_wait: std::time::Duration::from_secs(300),
        ..DiskOptions::default()
    };
    let engine = Engine::builder(DiskStore::open_with(root, options).expect("store")).build();
    (0..edits)
        .filter(|value| {
            let (old, new) = (counter_line(id, *value), counter_line(id, value + 1));
            match edit(&engine, ALIASES[id % ALIASES.len()], &old, &new) {
                Ok(_) => false,
                Err(refusal) => {
                    println!("refused: {refusal}");
                    true
                }
            }
        })
        .count()
}

fn count_naively(writer: Writer, file: &Path, id: usize, edits: usize) -> usize {
    let mut lost = 0;
    for value in 0..edits {
        loop {
            let lock = File::open(file).expect("file");
            if writer == Writer::LockWithoutLookingAgain {
                lock.lock().expect("lock");
            }
            let before = fs::read_to_string(file).expect("file");
            let mut lines: Vec<String> = before.split_inclusive('\n').map(str::to_owned).collect();
            lost += usize::from(lines[id] != counter_line(id, value));
            lines[id] = counter_line(id, value + 1);
            if writer == Writer::HashThenRename && fs::read_to_string(file).expect("file") != before
            {
                lost -= usize::from(
                    before.split_inclusive('\n').nth(id) != Some(&counter_line(id, value)),
                );
                continue;
            }
            replace(writer, file, lines.concat().as_bytes());
            break;
        }
    }
    lost
}
