//! Kinds of files and what belongs to a file beside its content.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use restitch::edit::{Durability, EditCode, WriteMethod};
use restitch::port::{CommitOptions, FileStore as _};
use restitch::store::{DiskOptions, DiskStore};
use rustix::fs::XattrFlags;

use crate::says::says;

use super::{Sandbox, block_on, edit, is_root, skip, whole_file_edit, work_path};

pub(crate) fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("chmod");
}

/// Gives a file an attribute; `false` where the file system has none.
pub(crate) fn attribute(path: &Path) -> bool {
    rustix::fs::setxattr(path, "user.restitch-test", b"\x00kept\xff", XattrFlags::empty()).is_ok()
}

const ACCESS_LIST: &str = "system.posix_acl_access";

/// Gives a file an access list with these rights: of its owner, of user 1234, of its group, the mask and
/// others; `false` where the file system has none.
fn access_list(path: &Path, name: &str, rights: [u16; 5]) -> bool {
    let mut list = 2_u32.to_le_bytes().to_vec();
    let entries = [(1_u16, u32::MAX), (2, 1234), (4, u32::MAX), (16, u32::MAX), (32, u32::MAX)];
    for ((tag, id), bits) in entries.into_iter().zip(rights) {
        list.extend(tag.to_le_bytes());
        list.extend(bits.to_le_bytes());
        list.extend(id.to_le_bytes());
    }
    rustix::fs::setxattr(path, name, &list, XattrFlags::empty()).is_ok()
}

/// Everything beside the content that must not change.
fn identity(path: &Path) -> (u32, u32, u32, Vec<(String, Vec<u8>)>) {
    let meta = fs::metadata(path).expect("meta");
    let attributes = ["user.restitch-test", ACCESS_LIST]
        .iter()
        .filter_map(|name| {
            let mut value = vec![0; 256];
            let length = rustix::fs::getxattr(path, *name, value.as_mut_slice()).ok()?;
            value.truncate(length);
            Some(((*name).to_owned(), value))
        })
        .collect();
    (meta.mode(), meta.uid(), meta.gid(), attributes)
}

#[test]
fn mode_owner_access_list_and_attributes_are_kept() {
    let modes = [
        0o644, 0o600, 0o755, 0o700, 0o664, 0o666, 0o777, 0o640, 0o750, 0o2755, 0o4755, 0o6755,
        0o1644, 0o200, 0o620, 0o2664,
    ];
    let owners: &[Option<u32>] = if is_root() { &[None, Some(65_534)] } else { &[None] };
    if owners.len() == 1 {
        skip("files of another owner", "needs root");
    }
    let work = Sandbox::new();
    let engine = work.engine();
    let (mut cases, mut without) = (0, 0);
    for mode in modes {
        for owner in owners {
            for extra in ["nothing", "attribute", "access list"] {
                let path = work.file("f");
                let _ = fs::remove_file(&path);
                fs::write(&path, "old\n").expect("file");
                std::os::unix::fs::chown(&path, *owner, *owner).expect("owner");
                chmod(&path, mode);
                let given = match extra {
                    "attribute" => attribute(&path),
                    "access list" => access_list(&path, ACCESS_LIST, [6, 6, 4, 6, 0]),
                    _ => true,
                };
                without += usize::from(!given);
                let before = identity(&path);
                let inode = fs::metadata(&path).expect("meta").ino();
                let report = edit(&engine, "f", "old", "new").expect("edit");
                let case = format!("{mode:o} {owner:?} {extra}");
                assert_eq!(report.write_method, Some(WriteMethod::Replaced), "{case}");
                assert_ne!(fs::metadata(&path).expect("meta").ino(), inode);
                assert_eq!(identity(&path), before, "{case}");
                assert_eq!(fs::read(&path).expect("file"), b"new\n");
                assert_eq!(report.durability, Durability::Durable);
                cases += 1;
            }
        }
    }
    println!(
        "{cases} combinations of mode, owner, access list and attribute kept ({without} without, where the file system has none)"
    );
    // A broken writer: temp and rename without copying.
    let path = work.file("f");
    chmod(&path, 0o6755);
    let before = identity(&path);
    fs::write(work.file("t"), "new\n").expect("temp");
    fs::rename(work.file("t"), &path).expect("rename");
    assert_ne!(identity(&path), before, "the harness does not see lost metadata");
}

#[test]
fn a_default_access_list_of_the_folder_does_not_widen_a_file() {
    let work = Sandbox::new();
    let folder = work.file("d");
    fs::create_dir(&folder).expect("folder");
    fs::write(folder.join("f"), "old\n").expect("file");
    chmod(&folder.join("f"), 0o600);
    if !access_list(&folder, "system.posix_acl_default", [7, 7, 5, 7, 5]) {
        return skip("default access lists", "the file system has none");
    }
    let before = identity(&folder.join("f"));
    edit(&work.engine(), "d/f", "old", "new").expect("edit");
    assert_eq!(identity(&folder.join("f")), before);
}

#[test]
fn symlinks_stay_and_their_target_is_edited() {
    let work = Sandbox::new();
    fs::create_dir_all(work.file("a/b")).expect("folders");
    fs::write(work.file("a/b/f"), "old\n").expect("file");
    fs::write(work.outside().join("f"), "old\n").expect("outside");
    let whole = work.root().canonicalize().expect("root").join("a/b/f");
    let link = |target: &str, name: &str| symlink(target, work.file(name)).expect("link");
    link("a/b/f", "relative");
    link(whole.to_str().expect("path"), "absolute");
    link("../b/f", "a/b/up");
    link("a/b", "folder");
    link("../outside/f", "escape");
    link("a", "to-folder");
    link("circle", "circle");
    link("../outside/new", "dangling-out");
    link("a/new", "dangling-in");
    link("f", "a/b/0");
    for n in 1..39 {
        link(&format!("{}", n - 1), &format!("a/b/{n}"));
    }
    let engine = work.engine();
    let mut text = "old".to_owned();
    for (n, name) in ["relative", "absolute", "a/b/up", "folder/f", "a/b/38"].iter().enumerate() {
        let new = format!("new{n}");
        edit(&engine, name, &text, &new).expect(name);
        text = new;
        assert_eq!(work.text("a/b/f"), format!("{text}\n"), "{name}");
        assert!(*name == "folder/f" || work.file(name).is_symlink(), "{name} is no link any more");
    }
    for name in ["escape", "to-folder", "circle", "dangling-out"] {
        let refused = edit(&engine, name, "old", "new").expect_err(name);
        let codes = [EditCode::InvalidPath, EditCode::FileNotFound];
        assert!(codes.contains(&refused.code), "{name}: {refused}");
        assert!(edit(&engine, name, "", "made\n").is_err(), "{name} creates");
    }
    edit(&engine, "dangling-in", "", "made\n").expect("its target is inside");
    assert!(work.file("dangling-in").is_symlink());
    assert_eq!(fs::read(work.file("a/new")).expect("made"), b"made\n");
    assert_eq!(fs::read_dir(work.outside()).expect("outside").count(), 1);
    assert_eq!(fs::read(work.outside().join("f")).expect("outside"), b"old\n");
}

#[test]
fn what_is_no_file_is_refused_at_once() {
    let work = Sandbox::new();
    fs::create_dir(work.file("folder")).expect("folder");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mkfifoat(rustix::fs::CWD, work.file("pipe"), mode).expect("pipe");
    let _socket = std::os::unix::net::UnixListener::bind(work.file("socket")).expect("socket");
    fs::File::create(work.file("huge")).and_then(|file| file.set_len(300 << 20)).expect("huge");
    let mut names = vec![
        ("folder", EditCode::InvalidPath),
        ("pipe", EditCode::InvalidPath),
        ("socket", EditCode::InvalidPath),
        ("huge", EditCode::TooLarge),
    ];
    let (kind, number) = (rustix::fs::FileType::CharacterDevice, rustix::fs::makedev(1, 5));
    match rustix::fs::mknodat(rustix::fs::CWD, work.file("device"), kind, mode, number) {
        Ok(()) => names.push(("device", EditCode::InvalidPath)),
        Err(_) => skip("devices", "cannot make one here"),
    }
    let engine = work.engine();
    for (name, code) in names {
        for old in ["x", ""] {
            let began = Instant::now();
            let refused = edit(&engine, name, old, "y").expect_err(name);
            assert_eq!(refused.code, code, "{name}: {refused}");
            let took = began.elapsed();
            assert!(took < Duration::from_millis(200), "{name} took {took:?}");
        }
    }
    let proc = DiskStore::open(Path::new("/proc/self")).expect("store");
    let refused = block_on(proc.load(&work_path("comm"))).expect_err("made by the kernel");
    assert_eq!(refused.code, EditCode::InvalidPath, "{refused}");
}

#[test]
fn read_only_files_are_refused_and_untouched() {
    let work = Sandbox::new().with("f", "old\n");
    chmod(&work.file("f"), 0o444);
    let state = || {
        let meta = fs::metadata(work.file("f")).expect("meta");
        (meta.ino(), meta.mtime_nsec(), meta.ctime_nsec())
    };
    let before = state();
    let refused = edit(&work.engine(), "f", "old", "new").expect_err("read-only");
    assert_eq!(refused.code, EditCode::WriteError, "{refused}");
    assert_eq!(state(), before);
    assert_eq!(work.leftover_files(), Vec::<String>::new());
}

#[test]
fn hard_links_stay_together_and_the_report_says_so() {
    let work = Sandbox::new().with("a", "old\n");
    fs::hard_link(work.file("a"), work.file("b")).expect("link");
    let report = edit(&work.engine(), "a", "old", "a longer new").expect("edit");
    assert_eq!(report.write_method, Some(WriteMethod::InPlace));
    says(&report.explanation.warnings.concat(), &["hard links"]);
    assert_eq!(fs::read(work.file("b")).expect("b"), b"a longer new\n");
    assert_eq!(fs::metadata(work.file("a")).expect("meta").nlink(), 2);
    assert_eq!(fs::read_dir(work.state().join("in-place")).expect("journals").count(), 0);
}

#[test]
fn a_file_that_is_a_mount_point_is_written_in_place() {
    if !is_root() {
        return skip("bind mounts", "needs root");
    }
    let work = Sandbox::new();
    fs::write(work.outside().join("source"), "old\n").expect("source");
    fs::write(work.file("f"), "").expect("target");
    let source = work.outside().join("source");
    let mounted = Command::new("mount").arg("--bind").arg(&source).arg(work.file("f")).status();
    if !mounted.is_ok_and(|status| status.success()) {
        return skip("bind mounts", "mount is not allowed here");
    }
    let report = edit(&work.engine(), "f", "old", "new");
    let _ = Command::new("umount").arg(work.file("f")).status();
    assert_eq!(report.expect("edit").write_method, Some(WriteMethod::InPlace));
    assert_eq!(fs::read(source).expect("source"), b"new\n");
    assert_eq!(work.leftover_files(), Vec::<String>::new());
}

/// Runs the binary as another user.
fn as_nobody(work: &Sandbox, arguments: &[&str]) -> serde_json::Value {
    let binary = work.root().parent().expect("parent").join("restitch");
    if !binary.exists() {
        // By another process: a file that this one writes cannot be run while a test forks.
        let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_restitch")).arg(&binary).status();
        assert!(copied.expect("cp").success());
        chmod(&binary, 0o755);
        chmod(work.root().parent().expect("parent"), 0o755);
        let state = work.root().with_file_name("nobody");
        fs::create_dir(&state).expect("state");
        std::os::unix::fs::chown(&state, Some(65_534), Some(65_534)).expect("state");
    }
    let output = Command::new(binary)
        .args(["--no-model", "--json", "--root"])
        .arg(work.root())
        .args(arguments)
        .env("HOME", work.root().with_file_name("nobody"))
        .env("RESTITCH_STATE_DIR", work.root().with_file_name("nobody").join("state"))
        .uid(65_534)
        .gid(65_534)
        .output()
        .expect("restitch");
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
}

#[test]
fn files_of_others_keep_their_owner_or_are_refused() {
    if !is_root() {
        return skip("files of others", "needs root to become another user");
    }
    let work = Sandbox::new();
    chmod(&work.root(), 0o777);
    for (name, mode) in [("shared", 0o666), ("closed", 0o644), ("secret", 0o600)] {
        fs::write(work.file(name), "old\n").expect("file");
        chmod(&work.file(name), mode);
    }
    fs::create_dir(work.file("tight")).expect("folder");
    fs::write(work.file("tight/f"), "old\n").expect("file");
    chmod(&work.file("tight/f"), 0o666);
    let edit = |path: &str| as_nobody(&work, &["edit", path, "--old", "old", "--new", "new"]);
    for path in ["shared", "tight/f"] {
        let reply = edit(path);
        assert_eq!(reply["report"]["write_method"], "in-place", "{path}: {reply}");
        let meta = fs::metadata(work.file(path)).expect("meta");
        assert_eq!((meta.uid(), meta.mode() & 0o7777), (0, 0o666), "{path}");
        assert_eq!(fs::read(work.file(path)).expect("file"), b"new\n");
    }
    for (path, code) in [("closed", "EDIT_FILE_WRITE_ERROR"), ("secret", "EDIT_FILE_READ_ERROR")] {
        let reply = edit(path);
        assert_eq!(reply["code"], code, "{path}: {reply}");
        assert_eq!(fs::read(work.file(path)).expect("file"), b"old\n");
    }
    let reply = as_nobody(&work, &["edit", "tight/new", "--old", "", "--new", "x"]);
    assert_eq!(reply["code"], "EDIT_FILE_WRITE_ERROR", "{reply}");
    assert_eq!(work.leftover_files(), Vec::<String>::new());
}

#[test]
fn the_file_size_limit_is_an_error_and_not_death() {
    let work = Sandbox::new();
    let big = format!("two\n{}", "x".repeat(60_000));
    fs::write(work.file("f"), &big).expect("file");
    for limit in [8, 16] {
        let run = format!(
            "ulimit -f {limit}; exec '{}' --no-model --json --root '{}' edit f --old two --new zwei",
            env!("CARGO_BIN_EXE_restitch"),
            work.root().display()
        );
        let output = Command::new("sh")
            .args(["-c", &run])
            .env("RESTITCH_STATE_DIR", work.state())
            .output()
            .expect("sh");
        let reply: serde_json::Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {:?}", output.status));
        assert_eq!(reply["code"], "EDIT_FILE_WRITE_ERROR", "{reply}");
        assert_eq!(fs::read_to_string(work.file("f")).expect("file"), big);
        assert_eq!(work.leftover_files(), Vec::<String>::new());
    }
}

#[test]
fn a_full_file_system_leaves_the_old_file() {
    if !is_root() {
        return skip("a 64 KiB file system", "needs root to mount");
    }
    let work = Sandbox::new();
    let root = work.root();
    let options = ["-t", "tmpfs", "-o", "size=64k,nr_inodes=64", "tmpfs"];
    if !Command::new("mount").args(options).arg(&root).status().is_ok_and(|status| status.success())
    {
        return skip("a 64 KiB file system", "mount is not allowed here");
    }
    let run = || {
        fs::write(root.join("f"), "two\n".to_owned() + &"x".repeat(20_000)).expect("file");
        fs::write(root.join("filler"), "y".repeat(8_000)).expect("filler");
        let engine = work.engine();
        let (mut refused, mut done) = (0, 0);
        for n in 0..1_000 {
            let before = fs::read(root.join("f")).expect("file");
            let grown = "two".to_owned() + &"z".repeat(n * 37 % 30_000);
            match edit(&engine, "f", "two", &grown) {
                Ok(_) => {
                    done += 1;
                    // Back to where it was, in room that is there.
                    fs::write(root.join("f"), &before).expect("file");
                }
                Err(refusal) => {
                    let codes = [EditCode::WriteError, EditCode::NoChange];
                    assert!(codes.contains(&refusal.code), "{refusal}");
                    assert_eq!(fs::read(root.join("f")).expect("file"), before, "{refusal}");
                    refused += 1;
                }
            }
            assert_eq!(work.leftover_files(), Vec::<String>::new(), "edit {n}");
        }
        println!(
            "64 KiB file system: {done} edits written, {refused} refused, the old file intact each time"
        );
        assert!(refused > 100 && done > 0);
        // Writing over the file, as most tools do, tears it when the room ends.
        let mut torn = 0;
        for n in 0..100 {
            fs::write(root.join("f"), "two\n".to_owned() + &"x".repeat(20_000)).expect("file");
            let grown = "two".to_owned() + &"z".repeat(70_000 + n);
            let failed = fs::write(root.join("f"), &grown).is_err();
            let now = fs::read_to_string(root.join("f")).expect("file");
            torn += usize::from(failed && now != grown && !now.starts_with("two\nx"));
        }
        println!("broken writer (truncate and write) on a full disk: {torn} of 100 torn");
        assert!(torn > 0);
    };
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
    let _ = Command::new("umount").arg(&root).status();
    if let Err(panic) = result {
        std::panic::resume_unwind(panic);
    }
}

#[test]
fn encodings_endings_and_positions_are_kept_on_the_disk() {
    let work = Sandbox::in_memory();
    let engine = work.engine();
    let encode = |text: &str, encoding: &str| -> Vec<u8> {
        let units = || text.encode_utf16();
        match encoding {
            "utf-8" => text.as_bytes().to_vec(),
            "utf-8 bom" => [b"\xEF\xBB\xBF", text.as_bytes()].concat(),
            "utf-16le bom" => {
                [vec![0xFF, 0xFE], units().flat_map(u16::to_le_bytes).collect()].concat()
            }
            "utf-16be bom" => {
                [vec![0xFE, 0xFF], units().flat_map(u16::to_be_bytes).collect()].concat()
            }
            "latin-1" => text.replace('k', "\u{e9}").chars().map(|c| c as u8).collect(),
            "invalid" => text.bytes().map(|b| if b == b'q' { 0xFF } else { b }).collect(),
            _ => encoding_rs_gbk(text),
        }
    };
    let encodings =
        ["utf-8", "utf-8 bom", "utf-16le bom", "utf-16be bom", "latin-1", "invalid", "gbk"];
    let endings = ["\n", "\r\n", "\r\n|\n", "\n|\r\n", "\r", "\n\n"];
    let positions = ["first", "second", "middle", "late", "last"];
    let (mut cases, mut spoiled) = (0, 0);
    for encoding in encodings {
        for ending in endings {
            for position in positions {
                let line =
                    |place: &str, word: &str| format!("{place} {word} keeps its quirky text");
                let build = |word: &str| {
                    let mut text = String::new();
                    for (n, place) in positions.iter().enumerate() {
                        text.push_str(&line(place, if *place == position { word } else { "calm" }));
                        if n + 1 < positions.len() {
                            let both: Vec<&str> = ending.split('|').collect();
                            text.push_str(both[n % both.len()]);
                        }
                    }
                    encode(&text, encoding)
                };
                fs::write(work.file("f"), build("oldword")).expect("file");
                // What reads the file as UTF-8 and splits it into lines makes of it.
                let bytes = build("oldword");
                let text = String::from_utf8_lossy(&bytes).replace("oldword", "newword");
                let lines: Vec<&str> = text.lines().collect();
                spoiled += usize::from(lines.join("\n").into_bytes() != build("newword"));
                let case = format!("{encoding} {ending:?} {position}");
                edit(&engine, "f", "oldword", "newword").expect(&case);
                assert_eq!(work.bytes("f"), build("newword"), "{case}");
                cases += 1;
            }
        }
    }
    println!("{cases} combinations of encoding, ending and position: every other byte kept");
    println!("broken editor (UTF-8 and lines): other bytes changed in {spoiled} of {cases}");
    assert!(spoiled * 2 > cases);
}

/// The text with two Chinese words in it, as GBK.
fn encoding_rs_gbk(text: &str) -> Vec<u8> {
    let chinese: &[u8] = b"\xd5\xe2\xca\xc7\xd6\xd0\xce\xc4\xce\xc4\xb1\xbe";
    let mut out = Vec::new();
    for part in text.split_inclusive("quirky") {
        out.extend_from_slice(part.as_bytes());
        if part.ends_with("quirky") {
            out.extend_from_slice(chinese);
        }
    }
    out
}

#[test]
fn without_a_state_folder_edits_still_work_and_say_so() {
    let work = Sandbox::new().with("f", "old\n");
    fs::write(work.root().with_file_name("blocked"), "a file, not a folder").expect("file");
    let state = Some(work.root().with_file_name("blocked").join("state"));
    let store = DiskStore::open_with(&work.root(), DiskOptions { state, ..DiskOptions::default() })
        .expect("store");
    let engine = restitch::engine::Engine::builder(store).build();
    let report = edit(&engine, "f", "old", "new").expect("edit");
    says(&report.explanation.warnings.concat(), &["cannot be undone"]);
    assert_eq!(fs::read(work.file("f")).expect("file"), b"new\n");
    let refused = block_on(engine.undo(None, &restitch::engine::CallOptions::default()))
        .expect_err("no history");
    assert!(refused.text().contains("RESTITCH_STATE_DIR"), "{}", refused.text());
}

#[test]
fn a_panic_while_deciding_leaves_the_file_and_the_store_usable() {
    let work = Sandbox::new().with("f", "now\n");
    let store = work.store();
    let path = work_path("f");
    let edit = whole_file_edit(&path, Some(b"before\n"), b"after\n")
        .with_rebase(std::sync::Arc::new(|_| panic!("a bug")));
    let commit = || block_on(store.commit(vec![edit], CommitOptions::default()));
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(commit)).is_err());
    assert_eq!(fs::read(work.file("f")).expect("file"), b"now\n");
    assert_eq!(work.leftover_files(), Vec::<String>::new());
    let edit = whole_file_edit(&path, Some(b"now\n"), b"then\n");
    block_on(store.commit(vec![edit], CommitOptions::default())).expect("the store is not stuck");
}
