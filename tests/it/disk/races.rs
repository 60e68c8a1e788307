//! Races: many writers on one file, editors that take no locks, creators of one name, and
//! an attacker who renames folders and links while we write.

use std::fs;
use std::os::unix::fs::{FileExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use restitch::edit::EditCode;
use restitch::engine::CallOptions;
use restitch::port::{CommitOptions, FileStore as _, History as _};
use restitch::store::{DiskOptions, DiskStore, SyncMode};
use restitch::tools::Toolbox;
use serde_json::json;

use super::child::{ALIASES, Writer, counter_line, numbers, spawn};
use super::{Sandbox, block_on, count, edit, names_below, whole_file_edit, work_path};

struct Counted {
    present: usize,
    lost: u64,
    torn: usize,
    reads: usize,
}

/// 64 writers in 8 processes; 4 readers look at every version they can.
fn count_together(writer: Writer, edits: usize) -> Counted {
    const PROCESSES: usize = 8;
    const THREADS: usize = 8;
    let work = Sandbox::in_memory();
    let writers = PROCESSES * THREADS;
    let start: String = (0..writers).map(|id| counter_line(id, 0)).collect();
    fs::write(work.file("counters"), &start).expect("file");
    fs::create_dir(work.file("folder")).expect("folder");
    symlink("counters", work.file(ALIASES[1])).expect("alias");
    symlink(".", work.file("around")).expect("alias");
    let stop = AtomicBool::new(false);
    let (torn, reads) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let lost = std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let text = fs::read_to_string(work.file("counters")).unwrap_or_default();
                    let mut lines = text.lines().enumerate();
                    let whole = text.len() == start.len()
                        && lines
                            .all(|(id, line)| line.starts_with(&format!("writer {id:03} has ")));
                    torn.fetch_add(usize::from(!whole), Ordering::Relaxed);
                    reads.fetch_add(1, Ordering::Relaxed);
                    std::thread::sleep(Duration::from_micros(300));
                }
            });
        }
        let (root, state) = (work.root(), work.state());
        let folders = format!("{}|{}", root.display(), state.display());
        let order = |n| format!("counters|{writer:?}|{folders}|{}|{THREADS}|{edits}", n * THREADS);
        let mut children: Vec<_> = (0..PROCESSES).map(|n| spawn(&order(n))).collect();
        let lost = children
            .iter_mut()
            .map(|child| {
                let lost = numbers(child, "lost ");
                assert!(child.wait().expect("child").success(), "a writer failed");
                assert_eq!(lost.len(), THREADS, "a writer did not finish");
                lost.iter().sum::<u64>()
            })
            .sum();
        stop.store(true, Ordering::Relaxed);
        lost
    });
    let end = fs::read_to_string(work.file("counters")).expect("file");
    let present =
        end.lines().filter_map(|line| line.rsplit(' ').next()?.parse::<usize>().ok()).sum();
    if writer == Writer::Store {
        assert_eq!(work.leftover_files(), Vec::<String>::new());
        assert!(work.file("link").is_symlink(), "the alias is still an alias");
    }
    Counted { present, lost, torn: torn.into_inner(), reads: reads.into_inner() }
}

#[test]
fn no_edit_of_64_writers_is_lost() {
    let edits = count(12, 1_000);
    let began = Instant::now();
    let seen = count_together(Writer::Store, edits);
    let all = edits * 64;
    println!(
        "64 writers x {edits} edits through {} names: {} of {all} present, {} lost, {} of {} reads torn, {:.1} s",
        ALIASES.len(),
        seen.present,
        seen.lost,
        seen.torn,
        seen.reads,
        began.elapsed().as_secs_f64()
    );
    assert_eq!((seen.present, seen.lost, seen.torn), (all, 0, 0));

    let lost_by = |writer, edits| {
        let mut losses = (0..8).map(|_| count_together(writer, edits).lost);
        losses.find(|lost| *lost > 0).unwrap_or(0)
    };
    let lost = lost_by(Writer::HashThenRename, edits);
    println!("broken writer (compare, then rename): {lost} of {all} lost");
    assert!(lost > 0, "the harness does not see lost updates");
    let edits = count(60, 1_000);
    let lost = lost_by(Writer::LockWithoutLookingAgain, edits);
    println!("broken writer (lock, no second look): {lost} of {} lost", edits * 64);
    assert!(lost > 0, "the harness does not see a lock on the wrong inode");
}

#[test]
fn hard_linked_names_share_one_lock() {
    let work = Sandbox::in_memory();
    let writers = 8;
    let edits = count(8, 200);
    let start: String = (0..writers).map(|id| counter_line(id, 0)).collect();
    fs::write(work.file("a"), start).expect("file");
    fs::hard_link(work.file("a"), work.file("b")).expect("link");
    std::thread::scope(|scope| {
        for id in 0..writers {
            let work = &work;
            scope.spawn(move || {
                let engine = work.engine();
                for value in 0..edits {
                    let name = if id % 2 == 0 { "a" } else { "b" };
                    let (old, new) = (counter_line(id, value), counter_line(id, value + 1));
                    let report = edit(&engine, name, &old, &new).expect("edit");
                    assert!(report.explanation.warnings.iter().any(|w| w.contains("hard links")));
                }
            });
        }
    });
    let end = fs::read_to_string(work.file("a")).expect("file");
    assert!(end.lines().all(|line| line.ends_with(&format!("{edits:06}"))), "{end}");
    assert_eq!(fs::read(work.file("b")).expect("b"), end.as_bytes());
    println!("{writers} writers x {edits} edits through two hard links: all present");
}

#[test]
fn one_creator_of_a_name_wins() {
    let rounds = count(40, 1_000);
    let work = Sandbox::in_memory();
    let store = work.store();
    for round in 0..rounds {
        let path = work_path(&format!("new/{}/file{round}", round % 7));
        let winners: Vec<usize> = std::thread::scope(|scope| {
            let creators: Vec<_> = (0..16)
                .map(|id| {
                    let (store, path) = (store.clone(), path.clone());
                    scope.spawn(move || {
                        let edit = whole_file_edit(&path, None, format!("by {id}\n").as_bytes());
                        match block_on(store.commit(vec![edit], CommitOptions::default())) {
                            Ok(_) => Some(id),
                            Err(refusal) => {
                                assert_eq!(refusal.code, EditCode::CreateExisting, "{refusal}");
                                None
                            }
                        }
                    })
                })
                .collect();
            creators.into_iter().filter_map(|creator| creator.join().expect("creator")).collect()
        });
        assert_eq!(winners.len(), 1, "round {round}");
        let content = fs::read_to_string(work.root().join(path.as_path())).expect("file");
        assert_eq!(content, format!("by {}\n", winners[0]));
    }
    println!("{rounds} names x 16 creators: one winner each");
    assert_eq!(work.leftover_files(), Vec::<String>::new());
    // Looking first and writing then, as most tools create, has several winners.
    let tries = 100 * rounds;
    let doubled = (0..tries)
        .filter(|round| {
            let file = work.root().join(format!("looked-{round}"));
            let barrier = std::sync::Barrier::new(16);
            let winners: usize = std::thread::scope(|scope| {
                let creator = || {
                    barrier.wait();
                    let free = !file.exists();
                    usize::from(free && fs::write(&file, "mine").is_ok())
                };
                let creators: Vec<_> = (0..16).map(|_| scope.spawn(creator)).collect();
                creators.into_iter().map(|creator| creator.join().expect("creator")).sum()
            });
            winners > 1
        })
        .take(1)
        .count();
    println!(
        "broken creator (looks, then writes): several winners for {doubled} of at most {tries} names"
    );
    assert!(doubled > 0);
}

/// How a foreign editor saves, which takes no locks.
#[derive(Debug, Clone, Copy)]
enum SaveMethod {
    ByRename,
    InPlace,
}

/// An editor without locks saves version after version while we edit another line. Every
/// version it saved must be there still: in the file, in the history, or beside the file.
fn foreign_editor(
    saves: SaveMethod,
    ours: impl Fn(&Sandbox, usize) + Sync,
    time: Duration,
) -> (usize, usize, usize) {
    let work = Sandbox::in_memory();
    let version = |n: usize| format!("foreign {n:08}\nours {:08}\n", 0);
    fs::write(work.file("f"), version(0)).expect("file");
    let stop = AtomicBool::new(false);
    let edits = AtomicUsize::new(0);
    let saved = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                ours(&work, edits.fetch_add(1, Ordering::Relaxed));
                std::thread::sleep(Duration::from_micros(100));
            }
        });
        let began = Instant::now();
        let mut n = 0;
        // What the editor replaced unseen: it never looks at what is there.
        while began.elapsed() < time {
            n += 1;
            match saves {
                SaveMethod::ByRename => {
                    let temp = work.outside().join("draft");
                    fs::write(&temp, version(n)).expect("draft");
                    fs::rename(&temp, work.file("f")).expect("save");
                }
                SaveMethod::InPlace => {
                    let file = fs::File::options().write(true).open(work.file("f")).expect("file");
                    file.write_all_at(version(n).as_bytes(), 0).expect("save");
                }
            }
            std::thread::sleep(Duration::from_micros(400));
        }
        stop.store(true, Ordering::Relaxed);
        n
    });
    // Only the last version that the editor saved can be lost by us: it overwrote the
    // others itself. But each version that we displaced must be kept.
    let mut found: Vec<String> = names_below(&work.state())
        .into_iter()
        .chain(names_below(&work.root()))
        .filter_map(|name| fs::read_to_string(name).ok())
        .collect();
    found.push(fs::read_to_string(work.file("f")).expect("file"));
    let last = format!("foreign {saved:08}");
    let lost = usize::from(!found.iter().any(|text| text.contains(&last)));
    (saved, edits.into_inner(), lost)
}

#[test]
fn a_foreign_editors_last_version_is_never_lost() {
    let rounds = count(60, 3_000);
    let time = Duration::from_millis(12);
    for saves in [SaveMethod::ByRename, SaveMethod::InPlace] {
        let (mut saved, mut edits, mut lost) = (0, 0, 0);
        for _ in 0..rounds {
            let engines = std::sync::Mutex::new(None);
            let ours = |work: &Sandbox, n: usize| {
                let mut engine = engines.lock().expect("engine");
                let engine = engine.get_or_insert_with(|| work.engine());
                let text = fs::read_to_string(work.file("f")).unwrap_or_default();
                let Some(old) = text.lines().find(|line| line.starts_with("ours ")) else { return };
                // A refusal is fine: nothing was written then.
                let _ = edit(engine, "f", old, &format!("ours {:08}", n + 1));
            };
            let seen = foreign_editor(saves, ours, time);
            saved += seen.0;
            edits += seen.1;
            lost += seen.2;
        }
        println!(
            "foreign editor {saves:?}: {saved} saves against {edits} edits in {rounds} rounds, {lost} last versions lost"
        );
        assert_eq!(lost, 0);
    }
    // Broken: reads, thinks, writes what it made of it.
    let mut lost = 0;
    for _ in 0..rounds {
        let naive = |work: &Sandbox, n: usize| {
            let text = fs::read_to_string(work.file("f")).unwrap_or_default();
            let Some(old) = text.lines().find(|line| line.starts_with("ours ")) else { return };
            std::thread::sleep(Duration::from_micros(300));
            let temp = work.outside().join("naive");
            fs::write(&temp, text.replace(old, &format!("ours {:08}", n + 1))).expect("temp");
            fs::rename(temp, work.file("f")).expect("rename");
        };
        lost += foreign_editor(SaveMethod::ByRename, naive, time).2;
    }
    println!("broken writer (read, think, rename): {lost} last versions lost in {rounds} rounds");
    assert!(lost > 0, "the harness does not see a lost version");
}

#[test]
fn a_version_saved_at_the_very_moment_is_kept_and_reported() {
    // The rebase closure runs under the lock, between the look and the exchange: a program
    // without locks that saves just then is caught by what the exchange displaced.
    use restitch::edit::{EditPlan, Explanation, Rung, Splice, VerifiedEdit};
    use restitch::internals::text::{ContentHash, Snapshot};
    use std::sync::Arc;

    let path = work_path("f");
    fn replace(path: &restitch::edit::WorkPath, snapshot: &Snapshot, whole: bool) -> VerifiedEdit {
        let end = if whole { snapshot.text().len() } else { 0 };
        let splice = Splice { range: 0..end, text: "ours\n".into() };
        let plan = EditPlan::new(snapshot, vec![splice]).expect("plan");
        restitch::internals::verified(path.clone(), snapshot, plan, Explanation::plain(Rung::Exact))
            .expect("edit")
    }
    let snapshot = Snapshot::from_text("what was read\n");
    let theirs = "saved by a foreign program\n";
    // An edit that leaves nothing of the other version, and one of a part of the file.
    for whole in [true, false] {
        let work = Sandbox::in_memory();
        let store = work.store();
        fs::write(work.file("f"), "stale\n").expect("file");
        let (rebased, file) = (path.clone(), work.file("f"));
        let is_saved = AtomicBool::new(false);
        let edit = replace(&path, &snapshot, whole).with_rebase(Arc::new(move |current| {
            if !is_saved.swap(true, Ordering::Relaxed) {
                let temp = file.with_file_name("draft");
                fs::write(&temp, theirs).expect("draft");
                fs::rename(temp, &file).expect("save");
            }
            Ok(replace(&rebased, current, whole))
        }));
        let committed = block_on(store.commit(vec![edit], CommitOptions::default()));
        let committed = committed.expect("commit").remove(0);
        let warnings = committed.warnings.join("\n");
        assert!(warnings.contains("another program saved"), "{warnings}");
        assert!(!warnings.contains("what this edit wrote"), "{warnings}");
        let text = || fs::read_to_string(work.file("f")).expect("file");
        let ours = if whole { "ours\n" } else { "ours\nstale\n" };
        assert_eq!(text(), ours);
        assert_eq!(committed.edit.after().expect("content").to_vec(), ours.as_bytes());
        let entry = block_on(store.log()).expect("log").remove(0);
        assert_eq!(entry.files[0].after_sha256, Some(ContentHash::of(ours.as_bytes())));
        assert!(!entry.interrupted);
        let mut names = names_below(&work.root());
        names.retain(|name| name.contains("restitch-kept"));
        assert!(names.len() == 1 && warnings.contains(names[0].rsplit('/').next().expect("name")));
        assert_eq!(fs::read_to_string(&names[0]).expect("kept"), theirs);
        // The undo leads to the version that the edit was made for.
        block_on(store.undo(committed.revision, restitch::port::UndoMode::Apply)).expect("undo");
        assert_eq!(text(), "stale\n");
    }
}

/// Swaps two names as fast as it can until told to stop.
fn swapper(one: PathBuf, other: PathBuf, stop: &AtomicBool) -> usize {
    let mut swaps = 0;
    while !stop.load(Ordering::Relaxed) {
        swaps += usize::from(exchange(&one, &other));
    }
    swaps
}

/// Swaps two names once; whether both were there.
fn exchange(one: &Path, other: &Path) -> bool {
    let (here, flags) = (rustix::fs::CWD, rustix::fs::RenameFlags::EXCHANGE);
    rustix::fs::renameat_with(here, one, here, other, flags).is_ok()
}

const SECRET: &str = "canary: must not be seen or changed\n";

fn canaries(work: &Sandbox) {
    for name in ["f", "deep/f", "deep/er/f"] {
        crate::sandbox::put(&work.outside().join(name), SECRET);
    }
}

/// Names and contents outside that are not as they were.
fn escapes(work: &Sandbox) -> usize {
    let is_kept = |name: &str| {
        name.ends_with("/f") && fs::read_to_string(name).is_ok_and(|text| text == SECRET)
    };
    let names = names_below(&work.outside()).into_iter();
    names.filter(|name| !Path::new(name).is_dir() && !is_kept(name)).count()
}

#[derive(Debug, Clone, Copy)]
enum Component {
    First,
    Middle,
    Name,
}

/// Writes and reads through a path of which one component is swapped with a link outside.
fn race(
    component: Component,
    tries: usize,
    act: impl Fn(&Sandbox, &str, usize) -> bool,
) -> (usize, usize, usize) {
    let work = Sandbox::in_memory();
    canaries(&work);
    fs::create_dir_all(work.file("deep/er")).expect("folders");
    fs::write(work.file("deep/er/f"), "inside\n").expect("file");
    let (victim, link, target) = match component {
        Component::First => ("deep", "link", "../outside/deep"),
        Component::Middle => ("deep/er", "deep/link", "../../outside/deep/er"),
        Component::Name => ("deep/er/f", "deep/er/link", "../../../outside/f"),
    };
    symlink(target, work.file(link)).expect("link");
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let swaps = scope.spawn(|| swapper(work.file(victim), work.file(link), &stop));
        let mut through = 0;
        let mut leaks = 0;
        let began = Instant::now();
        let mut n = 0;
        // A swapper that is put to sleep leaves the link in place: then it takes longer.
        while n < tries || (through < tries / 50 && began.elapsed() < Duration::from_secs(20)) {
            through += usize::from(act(&work, "deep/er/f", n));
            if n % 512 == 0 {
                leaks += escapes(&work);
                if leaks > 0 {
                    break;
                }
            }
            n += 1;
        }
        stop.store(true, Ordering::Relaxed);
        swaps.join().expect("swapper");
        leaks += escapes(&work);
        (through, leaks, n)
    })
}

#[test]
fn renaming_races_never_lead_outside() {
    let tries = count(4_000, 200_000);
    for component in [Component::First, Component::Middle, Component::Name] {
        let store = std::sync::OnceLock::new();
        let (through, leaks, tried) = race(component, tries, |work, path, n| {
            let options = || DiskOptions {
                sync_mode: SyncMode::Rename,
                lock_wait: Duration::from_millis(200),
                ..DiskOptions::default()
            };
            let store =
                store.get_or_init(|| DiskStore::open_with(&work.root(), options()).expect("store"));
            let path = work_path(path);
            let Ok(before) = block_on(store.load(&path)) else { return false };
            assert_ne!(before, SECRET.as_bytes(), "read outside");
            let edit = whole_file_edit(&path, Some(&before), format!("inside {n}\n").as_bytes());
            block_on(store.commit(vec![edit], CommitOptions::default())).is_ok()
        });
        println!(
            "renaming race on {component:?}: {tried} tries, {through} written, {leaks} escapes"
        );
        assert_eq!(leaks, 0);
        assert!(through >= tries / 50, "too few writes went through to mean anything");
    }
    // Broken: resolves the path first, then opens it by its name.
    let (_, leaks, tries) = race(Component::First, count(60_000, 400_000), |work, path, n| {
        let root = work.root();
        let Ok(real) = root.join(path).canonicalize() else { return false };
        if !real.starts_with(&root) {
            return false;
        }
        // As long as a real check of policy takes.
        std::thread::sleep(Duration::from_micros(1));
        let temp = real.with_file_name(format!("naive{n}"));
        fs::write(&temp, format!("inside {n}\n")).is_ok() && fs::rename(temp, real).is_ok()
    });
    println!("broken writer (real path, then open): {leaks} escapes in at most {tries} tries");
    assert!(leaks > 0, "the harness does not see escapes");
}

#[test]
fn a_link_in_place_of_the_temp_file_leads_nowhere() {
    let tries = count(300, 20_000);
    let work = Sandbox::in_memory();
    canaries(&work);
    let stop = AtomicBool::new(false);
    let store = work.store();
    let path = work_path("f");
    fs::write(work.file("f"), "0\n").expect("file");
    let planted = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                for entry in fs::read_dir(work.root()).into_iter().flatten().flatten() {
                    if entry.file_name().to_string_lossy().starts_with(".restitch-") {
                        let evil = work.root().join("evil");
                        let _ = symlink(work.outside().join("f"), &evil);
                        let is_planted = fs::rename(&evil, entry.path()).is_ok();
                        planted.fetch_add(usize::from(is_planted), Ordering::Relaxed);
                    }
                }
            }
        });
        for n in 0..tries {
            match block_on(store.load(&path)) {
                Ok(before) => {
                    assert_ne!(before, SECRET.as_bytes(), "read outside");
                    let edit = whole_file_edit(&path, Some(&before), format!("{n}\n").as_bytes());
                    let _ = block_on(store.commit(vec![edit], CommitOptions::default()));
                }
                Err(_) => {
                    // The attacker's link took the name; begin again.
                    let _ = fs::remove_file(work.file("f"));
                    let _ = fs::write(work.file("f"), "0\n");
                }
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    println!(
        "{tries} edits, {} links planted over temp files: {} escapes",
        planted.into_inner(),
        escapes(&work)
    );
    assert_eq!(escapes(&work), 0);
}

#[tokio::test]
async fn a_search_reads_nothing_outside_through_a_swapped_name() {
    let work = Sandbox::in_memory();
    fs::write(work.outside().join("secret"), "needle\n".repeat(1_000)).expect("file");
    for name in ["f", "g", "h"] {
        fs::write(work.file(name), "straw\n".repeat(1_000)).expect("file");
    }
    let link = work.outside().join("link");
    symlink(work.outside().join("secret"), &link).expect("link");
    let files = ["f", "g", "h"].map(|name| work.file(name));
    let stop = std::sync::Arc::new(AtomicBool::new(false));
    let is_over = stop.clone();
    let swapper = std::thread::spawn(move || {
        while !is_over.load(Ordering::Relaxed) {
            files.iter().for_each(|file| _ = exchange(file, &link));
        }
    });
    let toolbox = Toolbox::new(work.engine());
    let searches = count(300, 3_000);
    for _ in 0..searches {
        let arguments = json!({ "keyword": "needle" });
        let reply = toolbox.call("search", arguments, &CallOptions::default()).await;
        assert_eq!(reply.report["total_matches"], 0, "{}", reply.message);
    }
    stop.store(true, Ordering::Relaxed);
    swapper.join().expect("swapper");
}

#[tokio::test]
async fn a_search_is_bounded_and_stays_at_its_root() {
    let work = Sandbox::in_memory().with("one-line", "a".repeat(100 << 20)).with("f", "needle\n");
    let toolbox = Toolbox::new(work.engine());
    let options = CallOptions::default();
    let search = || toolbox.call("search", json!({ "keyword": "needle" }), &options);
    let reply = search().await;
    assert_eq!(reply.report["total_matches"], 1, "{}", reply.message);
    assert_eq!(reply.report["skipped"]["unreadable"], 1, "{}", reply.message);
    // A link in place of the root leads to names that are not the root's.
    fs::write(work.outside().join("needle-outside"), "needle\n").expect("file");
    fs::rename(work.root(), work.root().with_extension("moved")).expect("moved");
    symlink(work.outside(), work.root()).expect("link");
    for reply in [search().await, toolbox.call("list_files", json!({}), &options).await] {
        assert!(!reply.ok && !reply.message.contains("needle-outside"), "{}", reply.message);
    }
}
