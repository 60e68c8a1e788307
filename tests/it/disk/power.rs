//! Power cuts: the image of a mounted ext4 is copied while a writer is stopped, and the copy
//! is mounted as after a reset. Mounted without `auto_da_alloc`, which hides missing syncs.

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::child::{Writer, generation, generation_of, spawn};
use super::{count, is_root, skip};

const SIZE: usize = 24_000;

/// An ext4 in a file, mounted; unmounted with the value.
struct Loop {
    folder: tempfile::TempDir,
    cuts: Cell<usize>,
}

impl Loop {
    fn mount() -> Result<Self, String> {
        if !is_root() {
            return Err("needs root to mount".into());
        }
        let memory = Path::new("/dev/shm");
        let on = if memory.is_dir() { memory } else { Path::new("/tmp") };
        let folder = tempfile::Builder::new()
            .prefix("restitch-cut-")
            .tempdir_in(on)
            .map_err(|e| e.to_string())?;
        let made = Self { folder, cuts: Cell::new(0) };
        fs::File::create(made.image())
            .and_then(|file| file.set_len(16 << 20))
            .map_err(|e| e.to_string())?;
        run("mkfs.ext4", &["-q", "-F", "-J", "size=4", &text(&made.image())])?;
        for name in ["live", "after"] {
            fs::create_dir(made.folder.path().join(name)).map_err(|e| e.to_string())?;
        }
        mount(&made.image(), &made.live(), "loop,noauto_da_alloc,commit=1")?;
        Ok(made)
    }

    fn image(&self) -> PathBuf {
        self.folder.path().join("image")
    }

    fn live(&self) -> PathBuf {
        self.folder.path().join("live")
    }

    /// The disk at one moment. A copy takes a while in which the kernel may write; two
    /// copies that are the same show one moment.
    ///
    /// Each copy is a file of its own: a loop device is let go a moment after the unmount,
    /// and one that is still there would be used again, with the blocks of the last copy.
    fn freeze(&self) -> PathBuf {
        let cut = self.cuts.get();
        let _ = fs::remove_file(self.folder.path().join(format!("copy-{cut}")));
        self.cuts.set(cut + 1);
        let copy = self.folder.path().join(format!("copy-{}", cut + 1));
        let mut last = fs::read(self.image()).expect("image");
        loop {
            let next = fs::read(self.image()).expect("image");
            if next == last {
                fs::write(&copy, next).expect("copy");
                return copy;
            }
            last = next;
        }
    }

    /// What the file is after a cut at this moment.
    fn cut(&self) -> Option<Vec<u8>> {
        let copy = self.freeze();
        let after = self.folder.path().join("after");
        mount(&copy, &after, "loop,noauto_da_alloc").expect("the journal replays");
        let bytes = fs::read(after.join("root/file")).ok();
        unmount(&after);
        bytes
    }
}

impl Loop {
    /// The same after the next start of restitch, which puts an in-place write right. The
    /// copy is mounted over the live one where only this process sees it, because a journal
    /// names its file by the whole path.
    fn cut_and_start(&self) -> Option<Vec<u8>> {
        let copy = self.freeze();
        let (live, copy) = (text(&self.live()), text(&copy));
        let restitch = env!("CARGO_BIN_EXE_restitch");
        let script = format!(
            "mount -o loop,noauto_da_alloc '{copy}' '{live}' && \
             RESTITCH_STATE_DIR='{live}/state' '{restitch}' --no-model --root '{live}/root' log >/dev/null && \
             cat '{live}/root/file'"
        );
        let output =
            Command::new("unshare").args(["-m", "sh", "-c", &script]).output().expect("unshare");
        output.status.success().then_some(output.stdout)
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        unmount(&self.live());
    }
}

/// Unmounts; a child that another test is just starting may hold it for a moment.
fn unmount(at: &Path) {
    for _ in 0..200 {
        if run("umount", &[&text(at)]).is_ok() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let _ = run("umount", &["-l", &text(at)]);
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

fn mount(image: &Path, at: &Path, options: &str) -> Result<(), String> {
    run("mount", &["-o", options, &text(image), &text(at)])
}

fn run(program: &str, arguments: &[&str]) -> Result<(), String> {
    let output =
        Command::new(program).args(arguments).output().map_err(|e| format!("{program}: {e}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{program}: {}", String::from_utf8_lossy(&output.stderr).trim()))
}

#[derive(Debug, Default)]
struct Cuts {
    torn: usize,
    lost: usize,
}

/// What is looked at after a cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Look {
    /// The file as the journal of the file system left it.
    AtOnce,
    /// The file, which has two names, after the next start of restitch.
    AfterStart,
}

/// Cuts the power of a writer again and again, and prints what came of it.
fn cut(disk: &Loop, writer: Writer, look: Look, cuts: usize) -> Cuts {
    use std::io::{BufRead as _, BufReader};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    let root = disk.live().join("root");
    fs::create_dir_all(&root).expect("root");
    fs::write(root.join("file"), generation(0, SIZE)).expect("file");
    if look == Look::AfterStart {
        fs::hard_link(root.join("file"), root.join("twin")).expect("link");
    }
    run("sync", &["-f", &text(&root)]).expect("sync");
    let state = disk.live().join("state");
    let mut child =
        spawn(&format!("generations|{writer:?}|{}|{}|{SIZE}", text(&root), text(&state)));
    let acknowledged = Arc::new(AtomicU64::new(0));
    let out = child.stdout.take().expect("stdout");
    let reader = std::thread::spawn({
        let acknowledged = acknowledged.clone();
        move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                if let Some(number) = line.strip_prefix("ack ").and_then(|n| n.parse().ok()) {
                    acknowledged.store(number, Ordering::SeqCst);
                }
            }
        }
    });
    while acknowledged.load(Ordering::SeqCst) == 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
    let pid = rustix::process::Pid::from_child(&child);
    let signal = |signal| rustix::process::kill_process(pid, signal).expect("signal");
    let mut seen = Cuts::default();
    for n in 0..cuts {
        std::thread::sleep(Duration::from_micros(3_000 + (n as u64 * 6_181) % 9_000));
        signal(rustix::process::Signal::STOP);
        std::thread::sleep(Duration::from_micros(500));
        let promised = acknowledged.load(Ordering::SeqCst);
        let found = match look {
            Look::AtOnce => disk.cut(),
            Look::AfterStart => disk.cut_and_start(),
        };
        match found.and_then(|bytes| generation_of(&bytes, SIZE)) {
            Some(number) => seen.lost += usize::from(number < promised),
            None => seen.torn += 1,
        }
        signal(rustix::process::Signal::CONT);
    }
    child.kill().expect("kill");
    child.wait().expect("dead");
    reader.join().expect("reader");
    fs::remove_dir_all(&root).expect("clear");
    let Cuts { torn, lost } = seen;
    println!(
        "{cuts} power cuts of {writer:?}, {look:?}: {torn} torn or absent, {lost} acknowledged edits lost"
    );
    seen
}

#[test]
fn power_cuts_lose_no_acknowledged_edit() {
    let disk = match Loop::mount() {
        Ok(disk) => disk,
        Err(why) => return skip("power cuts", &why),
    };
    let seen = cut(&disk, Writer::Store, Look::AtOnce, count(25, 1_000));
    assert_eq!((seen.torn, seen.lost), (0, 0));

    let no_sync = cut(&disk, Writer::NoSync, Look::AtOnce, count(10, 100));
    assert!(no_sync.torn + no_sync.lost > 0, "the harness does not see a missing sync");
    // Only the last rename is at stake here, so it takes more cuts to see one lost.
    let file_only = cut(&disk, Writer::FileSyncOnly, Look::AtOnce, count(60, 200));
    assert!(file_only.torn + file_only.lost > 0, "the harness does not see a missing folder sync");
}

#[test]
fn power_cuts_of_an_in_place_write_are_put_right_at_the_next_start() {
    let disk = match Loop::mount() {
        Ok(disk) => disk,
        Err(why) => return skip("power cuts of in-place writes", &why),
    };
    if !Command::new("unshare").args(["-m", "true"]).status().is_ok_and(|status| status.success()) {
        return skip("power cuts of in-place writes", "unshare -m is not allowed here");
    }
    let seen = cut(&disk, Writer::Store, Look::AfterStart, count(15, 500));
    assert_eq!((seen.torn, seen.lost), (0, 0));
    let broken = cut(&disk, Writer::InPlace, Look::AfterStart, count(10, 100));
    assert!(broken.torn + broken.lost > 0, "the harness does not see a missing journal");
}
