//! Kills: at random moments, and at every system call.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use rustix::process::Signal;

use super::child::{Writer, generation, generation_of, spawn};
use super::{Sandbox, count, has, is_long_run, skip};

const SIZE: usize = 400_000;

struct Kills {
    torn: usize,
    lost: usize,
    after_commit: usize,
}

/// Starts a writer again and again and kills it after a moment that differs each time.
fn kill_randomly(work: &Sandbox, writer: Writer, kills: usize) -> Kills {
    let file = work.file("file");
    let mut seen = Kills { torn: 0, lost: 0, after_commit: 0 };
    let mut acknowledged = 0;
    fs::write(&file, generation(0, SIZE)).expect("file");
    for n in 0..kills {
        let order = format!(
            "generations|{writer:?}|{}|{}|{SIZE}",
            work.root().display(),
            work.state().display()
        );
        let mut child = spawn(&order);
        let mut lines =
            BufReader::new(child.stdout.take().expect("stdout")).lines().map_while(Result::ok);
        let acknowledged_by = |line: String| line.strip_prefix("ack ")?.parse::<u64>().ok();
        // Every fourth is killed anywhere, the others in or after their first commits.
        let first = if n % 4 == 0 {
            std::thread::sleep(Duration::from_millis(5));
            None
        } else {
            lines.by_ref().find_map(acknowledged_by)
        };
        // Steps of a golden ratio reach every part of a commit.
        let spread = (n as f64 * 0.618_034).fract();
        std::thread::sleep(Duration::from_micros((spread * 6_000.0) as u64));
        child.kill().expect("kill");
        let last = lines.filter_map(acknowledged_by).last().or(first);
        child.wait().expect("dead");
        if let Some(last) = last {
            acknowledged = last;
            seen.after_commit += 1;
        }
        match fs::read(&file).ok().and_then(|bytes| generation_of(&bytes, SIZE)) {
            Some(number) => {
                seen.lost += usize::from(number < acknowledged);
                acknowledged = number;
            }
            None => {
                seen.torn += 1;
                acknowledged = 0;
                fs::write(&file, generation(0, SIZE)).expect("file");
            }
        }
    }
    seen
}

#[test]
fn random_kills_leave_the_old_or_the_new_file() {
    let work = Sandbox::new();
    let kills = count(150, 10_000);
    let seen = kill_randomly(&work, Writer::Store, kills);
    println!(
        "{kills} kill -9: {} torn or absent, {} acknowledged edits lost, {} after a commit, {} temps left",
        seen.torn,
        seen.lost,
        seen.after_commit,
        work.leftover_files().len()
    );
    assert_eq!((seen.torn, seen.lost), (0, 0));
    assert!(seen.after_commit * 10 > kills, "the kills come too early to mean anything");
    reclaim(&work);

    let broken = Sandbox::new();
    let kills = count(60, 1_000);
    // On a busy machine the kills may all miss the short time that counts; then again.
    let torn = (0..60).map(|_| kill_randomly(&broken, Writer::InPlace, kills).torn);
    let (tries, torn) = torn.enumerate().find(|(_, torn)| *torn > 0).unwrap_or((60, 0));
    println!("broken writer (in place): {torn} of {kills} torn, at try {}", tries + 1);
    assert!(torn > 0, "the harness does not see torn files");
}

/// Without syncs an edit costs less, and a kill still leaves one of the two files. The process
/// is what dies here, not the machine, so no acknowledged edit is lost either.
#[test]
fn without_syncs_kills_leave_the_old_or_the_new_file() {
    let work = Sandbox::new();
    let kills = count(60, 2_000);
    let seen = kill_randomly(&work, Writer::StoreWithoutSyncs, kills);
    println!("{kills} kill -9 without syncs: {} torn or absent, {} lost", seen.torn, seen.lost);
    assert_eq!((seen.torn, seen.lost), (0, 0));
    assert!(seen.after_commit * 10 > kills, "the kills come too early to mean anything");

    if !has("strace") {
        return skip("syncs of an edit", "strace is not installed");
    }
    let rename = ["--durability", "rename"];
    let text = "one\ntwo\nthree\n";
    let edit = |work: &Sandbox, more: &[&str], trace: &[&str], log: &Path| {
        fs::write(work.file("f"), text).expect("file");
        let mut command = Command::new("strace");
        command.args(["-f", "-qq", "-o"]).arg(log).args(trace);
        command.arg(env!("CARGO_BIN_EXE_restitch")).arg("--root").arg(work.root());
        command.args(["--no-model", "edit", "f", "--old", "two", "--new", "zwei"]).args(more);
        command.env("RESTITCH_STATE_DIR", work.state()).stdin(Stdio::null());
        command.output().expect("strace")
    };
    let calls = |more: &[&str]| {
        let work = Sandbox::new();
        let log = work.outside().join("trace");
        // The first one makes the state folder.
        edit(&work, more, &["-e", "trace=none"], &log);
        let syncs = "trace=fsync,fdatasync,sync,syncfs,sync_file_range,msync,renameat2,ftruncate";
        edit(&work, more, &["-e", syncs], &log);
        assert_eq!(fs::read_to_string(work.file("f")).expect("file"), text.replace("two", "zwei"));
        let log = fs::read_to_string(&log).expect("trace");
        assert!(!log.contains("ftruncate"), "ext4 waits for the disk: {log}");
        (log.matches("sync").count(), log.matches("RENAME_EXCHANGE").count())
    };
    let (durable, faster) = (calls(&[]), calls(&rename));
    println!("syncs and swaps of an edit: {durable:?}, with `--durability rename` {faster:?}");
    assert!(durable.0 >= 2, "the file and its folder: {durable:?}");
    assert_eq!((faster, durable.1), ((0, 1), 1), "none, and the file is swapped in all the same");

    let (mut points, mut seen_new) = (0, 0);
    for syscall in ["openat2", "write", "renameat2", "renameat", "unlinkat", "flock", "close"] {
        for when in 1..=count(6, 60) {
            let work = Sandbox::in_memory();
            let inject = format!("inject={syscall}:signal=KILL:when={when}");
            let out = edit(&work, &rename, &["-e", &inject], Path::new("/dev/null"));
            if out.status.success() {
                break;
            }
            points += 1;
            let now = fs::read_to_string(work.file("f")).expect("file");
            let is_new = now == text.replace("two", "zwei");
            assert!(is_new || now == text, "{syscall} {when}: {now:?}");
            seen_new += usize::from(is_new);
        }
    }
    println!("{points} kills at system calls without syncs: {seen_new} with the new file");
    assert!(points > 10 && seen_new > 0 && seen_new < points, "{points} points, {seen_new} new");
}

/// Only our own dead and old temps go.
fn reclaim(work: &Sandbox) {
    let dead = Command::new("true")
        .spawn()
        .and_then(|mut child| child.wait().map(|_| child.id()))
        .expect("pid");
    fs::write(work.file(&format!(".restitch-{dead}-0123456789abcdef.tmp")), "x").expect("temp");
    let live = format!(".restitch-{}-0123456789abcdef.tmp", std::process::id());
    let young = format!(".restitch-{dead}-00000000000000aa.tmp");
    let linked = format!(".restitch-{dead}-00000000000000bb.tmp");
    let symlink = format!(".restitch-{dead}-00000000000000cc.tmp");
    let mut kept = vec![live, linked.clone(), "linked-twin".to_owned()];
    kept.extend((0..100).map(|n| format!(".restitch-{dead}-{n}.tmp")));
    for name in kept.iter().filter(|name| **name != linked) {
        fs::write(work.file(name), "x").expect("look-alike");
    }
    fs::hard_link(work.file("linked-twin"), work.file(&linked)).expect("link");
    std::os::unix::fs::symlink("file", work.file(&symlink)).expect("symlink");
    let old = SystemTime::now() - Duration::from_secs(61);
    for name in work.leftover_files() {
        if let Ok(file) = fs::File::options().write(true).open(&name) {
            file.set_modified(old).expect("age");
        }
    }
    fs::write(work.file(&young), "x").expect("young");
    kept.extend([young, symlink]);
    let before = work.leftover_files().len();
    let number = generation_of(&fs::read(work.file("file")).expect("file"), SIZE).expect("whole");
    let path = super::work_path("file");
    let edit = super::whole_file_edit(
        &path,
        Some(&generation(number, SIZE)),
        &generation(number + 1, SIZE),
    );
    let store = work.store();
    super::block_on(restitch::port::FileStore::commit(&store, vec![edit], Default::default()))
        .expect("commit");
    let left = work.leftover_files();
    println!(
        "leftover_files: {before} names of our form, {} left, all of them not ours to take",
        left.len()
    );
    for name in &kept {
        assert!(work.file(name).symlink_metadata().is_ok(), "{name} was taken");
    }
    assert_eq!(left.len(), kept.len() - 1, "{left:?}");
}

/// A file before and after, and what else must hold.
struct Scenario {
    name: &'static str,
    old: Vec<u8>,
    prepare: fn(&Sandbox),
    arguments: &'static [&'static str],
    path: &'static str,
}

const SYSCALLS: &str = "openat openat2 write pwrite64 fsync renameat2 renameat rename unlinkat unlink \
    fchmod fchown flock fsetxattr ftruncate fallocate mkdirat mkdir linkat close";

fn scenarios() -> Vec<Scenario> {
    let plain = |_: &Sandbox| {};
    let gone = |work: &Sandbox| fs::remove_file(work.file("f")).expect("gone");
    let hard = |work: &Sandbox| fs::hard_link(work.file("f"), work.file("g")).expect("link");
    let soft = |work: &Sandbox| std::os::unix::fs::symlink("f", work.file("l")).expect("link");
    let read_only = |work: &Sandbox| super::kinds::chmod(&work.file("f"), 0o444);
    let private = |work: &Sandbox| super::kinds::chmod(&work.file("f"), 0o600);
    let attribute = |work: &Sandbox| _ = super::kinds::attribute(&work.file("f"));
    let edit: &[&str] = &["--old", "two", "--new", "zwei"];
    let create: &[&str] = &["--old", "", "--new", "zwei"];
    let text = b"one\ntwo\nthree\n".to_vec();
    let big = [b"two\n".to_vec(), vec![b'x'; 10 << 20], b"\n".to_vec()].concat();
    let scenario = |name, old: &[u8], prepare: fn(&Sandbox), arguments, path| Scenario {
        name,
        old: old.to_vec(),
        prepare,
        arguments,
        path,
    };
    vec![
        scenario("plain", &text, plain, edit, "f"),
        scenario("create", b"", gone, create, "f"),
        scenario("hard link", &text, hard, edit, "f"),
        scenario("symlink", &text, soft, edit, "l"),
        scenario("carriage returns", b"one\r\ntwo\r\n", plain, edit, "f"),
        scenario("one byte", b"2", plain, &["--old", "2", "--new", "3"], "f"),
        scenario("ten megabytes", &big, plain, edit, "f"),
        scenario("read-only", &text, read_only, edit, "f"),
        scenario("private", &text, private, edit, "f"),
        scenario("attribute", &text, attribute, edit, "f"),
        scenario("no match", &text, plain, &["--old", "absent", "--new", "x"], "f"),
        scenario("create below", b"", plain, create, "new/deep/f"),
    ]
}

fn new_bytes(old: &[u8], arguments: &[&str]) -> Vec<u8> {
    let text = String::from_utf8(old.to_vec()).expect("text");
    match arguments[1] {
        "" => arguments[3].into(),
        from => text.replacen(from, arguments[3], 1).into_bytes(),
    }
}

/// The file as it is; `None` when absent.
fn look(work: &Sandbox, path: &str) -> Option<Vec<u8>> {
    fs::read(work.file(path)).ok()
}

#[test]
fn a_kill_at_any_system_call_leaves_the_old_or_the_new_file() {
    if !has("strace") {
        return skip("kill at every system call", "strace is not installed");
    }
    let (mut points, mut bad, mut seen_new) = (0, Vec::new(), 0);
    let all = scenarios();
    let chosen = count(3, all.len());
    for scenario in all.into_iter().take(chosen) {
        for syscall in SYSCALLS.split(' ') {
            for when in 1.. {
                let work = Sandbox::in_memory().with("f", &scenario.old);
                (scenario.prepare)(&work);
                let before = look(&work, scenario.path);
                let killed = trace(&work, &scenario, &format!("{syscall}:signal=KILL:when={when}"));
                if !killed {
                    break;
                }
                // The next start puts an in-place write right.
                let recovered = work.restitch(&["log"]).output().expect("log");
                assert!(recovered.status.success());
                points += 1;
                let after = look(&work, scenario.path);
                let new = new_bytes(&scenario.old, scenario.arguments);
                if after.as_deref() == Some(&new) {
                    seen_new += 1;
                } else if after != before {
                    bad.push(format!("{}: {syscall} {when}", scenario.name));
                }
                // Most closes are of the loader and the runtime; a few stand for all.
                if !is_long_run() && ["close", "openat"].contains(&syscall) && when >= 6 {
                    break;
                }
            }
        }
    }
    println!(
        "{points} kills at system calls in {chosen} scenarios: {} torn or absent, {seen_new} with the new file",
        bad.len()
    );
    assert!(bad.is_empty(), "{bad:?}");
    assert!(points > 50 && seen_new > 0, "{points} points, {seen_new} new");
}

#[test]
fn the_kill_harness_sees_a_writer_that_truncates() {
    if !has("strace") {
        return skip("kill at every system call, broken writer", "strace is not installed");
    }
    let work = Sandbox::in_memory();
    let mut torn = 0;
    for when in 1..8 {
        fs::write(work.file("f"), "one\ntwo\nthree\n").expect("file");
        let kill = format!("inject=write:signal=KILL:when={when}");
        Command::new("strace")
            .args(["-f", "-qq", "-o", "/dev/null", "-e", &kill])
            .args(["sh", "-c", "printf 'one\\nzwei\\nthree\\n' > \"$0\""])
            .arg(work.file("f"))
            .output()
            .expect("strace");
        let now = fs::read_to_string(work.file("f")).expect("file");
        torn += usize::from(now != "one\ntwo\nthree\n" && now != "one\nzwei\nthree\n");
    }
    println!("broken writer (truncate and write): {torn} of 7 torn");
    assert!(torn > 0);
}

/// Runs one edit under strace; whether it was killed.
fn trace(work: &Sandbox, scenario: &Scenario, inject: &str) -> bool {
    use std::os::unix::process::ExitStatusExt as _;
    let nowhere = Path::new("/dev/null");
    let status = edit_under_strace(work, scenario, nowhere, inject)
        .stdout(Stdio::null())
        .status()
        .expect("strace");
    status.signal() == Some(9) || status.code() == Some(137)
}

fn edit_under_strace(work: &Sandbox, scenario: &Scenario, log: &Path, inject: &str) -> Command {
    let mut arguments = vec!["edit", scenario.path];
    arguments.extend(scenario.arguments);
    super::strace(work, log, &[inject], &arguments)
}

#[test]
fn a_single_fault_never_makes_the_answer_contradict_the_disk() {
    if !has("strace") {
        return skip("single faults", "strace is not installed");
    }
    const ERRORS: &str = "EIO ENOSPC EINTR EDQUOT EACCES EROFS EXDEV EBUSY EMFILE ESTALE";
    const CALLS: &str = "fsync renameat2 renameat unlinkat flock openat2 fchmod fcntl \
        linkat pwrite64 ftruncate mkdirat write fallocate newfstatat statx flistxattr fstatfs \
        faccessat2 openat read lseek";
    let errors: Vec<&str> = ERRORS.split(' ').take(count(2, usize::MAX)).collect();
    let calls: Vec<&str> = CALLS.split(' ').take(count(8, usize::MAX)).collect();
    let chosen = count(3, usize::MAX);
    let (mut faults, mut contradictions, mut leftover_files, mut refused) = (0, Vec::new(), 0, 0);
    for scenario in scenarios().into_iter().filter(|s| s.name != "ten megabytes").take(chosen) {
        for call in &calls {
            // The loader and the runtime make many of these; three errors stand for ten.
            let common = ["newfstatat", "statx", "openat", "read", "lseek", "write"].contains(call);
            for error in errors.iter().take(if common { 3 } else { usize::MAX }) {
                for when in 1..=count(4, 60) {
                    let work = Sandbox::in_memory().with("f", &scenario.old);
                    (scenario.prepare)(&work);
                    let before = look(&work, scenario.path);
                    let inject = format!("{call}:error={error}:when={when}");
                    let log = work.outside().join("trace");
                    let mut command = edit_under_strace(&work, &scenario, &log, &inject);
                    let output = command.output().expect("strace");
                    if !fs::read_to_string(&log).expect("trace").contains("INJECTED") {
                        break;
                    }
                    let new = new_bytes(&scenario.old, scenario.arguments);
                    let after = look(&work, scenario.path);
                    faults += 1;
                    let reply: Option<serde_json::Value> =
                        serde_json::from_slice(&output.stdout).ok();
                    let wrong = match reply.as_ref().map(|reply| reply["ok"] == true) {
                        Some(true) => after.as_deref() != Some(&new),
                        // No reply: the fault hit the loader or the output. Then the file is whole.
                        None => after != before && after.as_deref() != Some(&new),
                        Some(false) => {
                            refused += 1;
                            after != before
                        }
                    };
                    if wrong {
                        contradictions
                            .push(format!("{}: {call} {error} {when}: {reply:?}", scenario.name));
                    }
                    let mut left = work.leftover_files();
                    // What was displaced and cannot be read could be another program's; it stays,
                    // and the answer names it.
                    let answer = String::from_utf8_lossy(&output.stdout).into_owned();
                    left.retain(|path| {
                        let name = Path::new(path).file_name().unwrap_or_default();
                        !answer.contains(&*name.to_string_lossy())
                    });
                    // A fault in removing a temp file leaves it; it is reclaimed later.
                    if reply.is_some() && *call != "unlinkat" && !left.is_empty() {
                        leftover_files += 1;
                        println!("left after {}: {call} {error} {when}: {left:?}", scenario.name);
                    }
                    if work.file("l").exists() && !work.file("l").is_symlink() {
                        contradictions.push(format!("{}: the symlink is gone", scenario.name));
                    }
                }
            }
        }
    }
    // A writer that does not look at its results says yes to what did not happen.
    let mut lies = 0;
    for error in &errors[..2] {
        let work = Sandbox::in_memory().with("f", "old\n");
        let script = format!("printf 'new\\n' > {} 2>/dev/null; exit 0", work.file("f").display());
        let inject = format!("inject=write:error={error}:when=1+");
        let output = Command::new("strace")
            .args(["-f", "-qq", "-o", "/dev/null", "-e", &inject, "sh", "-c", &script])
            .output()
            .expect("strace");
        let now = fs::read_to_string(work.file("f")).expect("file");
        lies += usize::from(output.status.success() && now != "new\n");
    }
    println!("broken writer (looks at no result): {lies} of 2 answers contradict the disk");
    assert!(lies > 0);
    println!(
        "{faults} single faults: {refused} refused, {} contradictions, {leftover_files} with temps left",
        contradictions.len()
    );
    assert!(contradictions.is_empty(), "{contradictions:#?}");
    assert_eq!(leftover_files, 0);
    assert!(refused > 0);
}

/// After the swap the file is read again, and a fault there is told with the edit.
#[test]
fn the_file_is_read_back_after_it_was_written() {
    if !has("strace") {
        return skip("faults in reading back", "strace is not installed");
    }
    let plain = scenarios().into_iter().next().expect("the plain one");
    let new = new_bytes(&plain.old, plain.arguments);
    // strace counts by thread, and which threads of the pool make the edit differs from run to
    // run: the read after the write may be passed over in one round.
    let told = (0..20).any(|_| {
        let by_call =
            ["read", "pread64"].map(|call| faults_told_after_the_write(&plain, call, &new));
        by_call != [0, 0]
    });
    assert!(told, "no read after the write");
}

/// How many answers to a failed `call` say that the file could not be read back.
fn faults_told_after_the_write(plain: &Scenario, call: &str, new: &[u8]) -> usize {
    let mut told = 0;
    for when in 1..300 {
        let work = Sandbox::in_memory().with("f", &plain.old);
        let log = work.outside().join("trace");
        let inject = format!("{call}:error=EIO:when={when}");
        let output = edit_under_strace(&work, plain, &log, &inject).output().expect("strace");
        if !fs::read_to_string(&log).expect("trace").contains("INJECTED") {
            break;
        }
        let answer = String::from_utf8_lossy(&output.stdout).into_owned();
        if answer.contains("could not be read back") {
            told += 1;
            assert_eq!(look(&work, plain.path).as_deref(), Some(new), "{answer}");
        }
    }
    told
}

#[test]
fn a_signal_lets_a_commit_finish_and_leaves_no_temp() {
    let runs = count(10, 200);
    let work = Sandbox::new().with("f", "n 0\n");
    let mut value = 0_u64;
    for n in 0..runs {
        let mut child = work
            .restitch(&["--no-model", "batch"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("batch");
        let mut stdin = child.stdin.take().expect("stdin");
        let from = value;
        std::thread::spawn(move || {
            for n in from..from + 200 {
                let arguments = serde_json::json!({"path": "f", "old_str": format!("n {n}\n"), "new_str": format!("n {}\n", n + 1)});
                let line = serde_json::json!({"id": n, "arguments": arguments});
                if writeln!(stdin, "{line}").is_err() {
                    break;
                }
            }
            std::thread::sleep(Duration::from_millis(500));
        });
        let mut replies = BufReader::new(child.stdout.take().expect("stdout")).lines();
        assert!(replies.next().is_some(), "it started");
        std::thread::sleep(Duration::from_micros(n as u64 * 1_618 % 9_000));
        let pid = rustix::process::Pid::from_child(&child);
        let mut signals = vec![(Signal::TERM, 15), (Signal::INT, 2), (Signal::HUP, 1)];
        signals.retain(|&(_, number)| !crate::is_ignored(number));
        if n == 0 && signals.len() < 3 {
            skip(&format!("{} signals", 3 - signals.len()), "they are ignored here");
        }
        let (signal, number) = signals[n % signals.len()];
        rustix::process::kill_process(pid, signal).expect("signal");
        let acknowledged = 1 + replies.map_while(Result::ok).count() as u64;
        let status = child.wait().expect("end");
        assert_eq!(status.code(), Some(128 + number), "ends by the signal's code");
        let text = fs::read_to_string(work.file("f")).expect("file");
        value = text.trim_start_matches("n ").trim().parse().expect("whole");
        assert!(acknowledged <= value - from, "an acknowledged edit is not there");
        assert_eq!(work.leftover_files(), Vec::<String>::new());
    }
    println!("{runs} signals: no temp left, {value} edits in all");
    assert!(value > 0);
}
