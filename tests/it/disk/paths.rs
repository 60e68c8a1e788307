//! Hostile path strings and the spellings of protected names.

use std::fs;
use std::os::unix::fs::symlink;

use restitch::edit::EditCode;
use restitch::engine::Engine;
use restitch::port::{CommitOptions, FileStore as _};
use restitch::store::{DiskOptions, DiskStore, SyncMode};

use crate::random::Random;

use super::{Sandbox, block_on, count, edit, names_below, whole_file_edit};

const SECRET: &str = "canary: must not be seen or changed\n";

/// Parts of paths; in place of `|` one ends.
const PIECES: &str = "..|.||a|folder|out|etc|up|canary|~|%2e%2e|..\\|C:|file:|a b | ..|.. |...|\"..\"|'|/|//|\
    \\\\server\\share|proc/self/root|proc/self/cwd|proc/self/fd/3|root-evil|\u{202e}|..%2f|..;|$HOME|`pwd`|\n|\t|\
    ..\u{2215}|．．|nul|COM1";

fn hostile(random: &mut Random, outside: &str) -> String {
    let long = "x".repeat(4000);
    let pieces: Vec<&str> = PIECES.split('|').chain([long.as_str(), outside]).collect();
    let mut path = String::new();
    if random.below(4) == 0 {
        path.push('/');
    }
    if random.below(12) == 0 {
        path.push_str(outside);
        path.push('/');
    }
    for _ in 0..=random.below(6) {
        path += *random.pick(&pieces);
        path += *random.pick(&["/", "/", "/", "//", "/./", "", "\\"]);
    }
    if random.below(3) > 0 {
        path += *random.pick(&["canary", "f", "new", "canary ", "canary\0"]);
    }
    path
}

/// A root full of ways out, and what lies outside.
fn prepare() -> Sandbox {
    let work = Sandbox::in_memory();
    fs::write(work.outside().join("canary"), SECRET).expect("canary");
    fs::create_dir(work.root().with_file_name("root-evil")).expect("sibling");
    fs::write(work.root().with_file_name("root-evil").join("canary"), SECRET).expect("canary");
    fs::create_dir(work.file("folder")).expect("folder");
    fs::write(work.file("folder/f"), "inside\n").expect("file");
    symlink("../outside", work.file("out")).expect("link");
    symlink(work.outside(), work.file("etc")).expect("link");
    symlink("../outside/canary", work.file("canary")).expect("link");
    symlink("..", work.file("up")).expect("link");
    symlink("/proc", work.file("proc")).expect("link");
    symlink("../outside/new", work.file("new")).expect("dangling link");
    work
}

fn outside(work: &Sandbox) -> Vec<(String, Option<Vec<u8>>)> {
    let mut names = names_below(work.root().parent().expect("parent"));
    let inside = format!("{}/", work.root().display());
    let state = work.state().display().to_string();
    names.retain(|name| !name.starts_with(&inside) && !name.starts_with(&state));
    names.sort();
    names.into_iter().map(|name| (name.clone(), fs::read(name).ok())).collect()
}

#[test]
fn no_path_string_leads_outside() {
    let tries = count(30_000, 1_000_000);
    let work = prepare();
    let before = outside(&work);
    let options = DiskOptions { sync_mode: SyncMode::Rename, ..DiskOptions::default() };
    let store = DiskStore::open_with(&work.root(), options).expect("store");
    let engine = Engine::builder(store.clone()).build();
    let mut random = Random::new(0x9e37_79b9_7f4a_7c15);
    let beside = work.outside().display().to_string();
    let (mut read, mut created) = (0, 0);
    for n in 0..tries {
        let text = hostile(&mut random, &beside);
        let Ok(path) = engine.path(&text) else { continue };
        match block_on(store.load(&path)) {
            Ok(bytes) => {
                assert_ne!(bytes, SECRET.as_bytes(), "{text:?} reads outside");
                read += 1;
            }
            Err(_) => {
                let edit = whole_file_edit(&path, None, b"made\n");
                let made = block_on(store.commit(vec![edit], CommitOptions::default()));
                created += usize::from(made.is_ok());
            }
        }
        if n % 5_000 == 0 {
            assert_eq!(outside(&work), before, "after {text:?}");
        }
    }
    assert_eq!(outside(&work), before);
    println!("{tries} hostile paths: {read} read and {created} created inside, 0 outside");
    assert!(read > 0 && created > 0);

    // Broken: compares letters and opens the path.
    let work = prepare();
    let before = outside(&work);
    let mut leaks = 0;
    for _ in 0..30_000 {
        let text = hostile(&mut random, &work.outside().display().to_string());
        let full = work.root().join(&text);
        if full.starts_with(work.root()) && !text.contains('\0') {
            leaks += usize::from(fs::read(&full).is_ok_and(|bytes| bytes == SECRET.as_bytes()));
        }
    }
    assert_eq!(outside(&work), before);
    println!("broken check (prefix of the string): {leaks} reads outside in 30000");
    assert!(leaks > 0, "the harness does not see escapes");
}

/// Names that stand for others, each in the ways a file system might read it.
fn spellings() -> Vec<String> {
    let names = "\
        .git/config .git/hooks/pre-commit .git sub/.git/HEAD .hg/hgrc .svn/entries \
        .husky/pre-push .githooks/x .vscode/settings.json .vscode/tasks.json .idea/workspace.xml \
        .claude/settings.json .cursor/mcp.json .gemini/settings.json .codex/config.toml \
        .github/workflows/ci.yml .github/hooks/x .github/agents/a.md .envrc .npmrc \
        x.code-workspace .env .env.local sub/.env.production id_rsa keys/id_ed25519 server.pem \
        tls/server.key .ssh/config .ssh/authorized_keys .bashrc .zshrc .profile .netrc .pypirc \
        .mcp.json .git-credentials .gitmodules .windsurf/x .devcontainer/devcontainer.json \
        opencode.json a/opencode.jsonc .vibe/config.toml .amazonq/mcp.json";
    let mut all = Vec::new();
    for name in names.split(' ') {
        let hide = |c| [Some(c), (c == 'i' || c == 's').then_some('\u{200c}')];
        let invisible: String = name.chars().flat_map(hide).flatten().collect();
        let raise = |(n, c): (usize, char)| if n % 2 == 0 { c.to_ascii_uppercase() } else { c };
        let mixed: String = name.chars().enumerate().map(raise).collect();
        all.extend([
            name.to_owned(),
            name.to_uppercase(),
            mixed,
            invisible,
            format!("deep/er/{name}"),
            format!("folder/../{name}"),
            format!("./{name}"),
            format!("{name}."),
            format!("{name} "),
            format!("{name}::$DATA"),
            name.replace('/', "\\"),
        ]);
    }
    all.extend(
        [
            "git~1/config",
            "GIT~1/hooks/x",
            ".git./config",
            ".git /config",
            ".git...:x/config",
            ".g\u{200d}it/config",
            ".\u{feff}git/config",
            ".\\.GIT\\foobar",
        ]
        .map(str::to_owned),
    );
    all
}

/// A name that another program's simple list would catch.
fn naive(path: &str) -> bool {
    [".git/", ".vscode/", ".claude/", ".env"].iter().any(|name| path.starts_with(name))
}

#[test]
fn protected_names_are_refused_in_any_spelling() {
    let work = Sandbox::in_memory();
    fs::create_dir_all(work.file("folder")).expect("folder");
    let engine = work.engine();
    let spellings = spellings();
    let (mut refused, mut missed_by_naive) = (0, 0);
    for path in &spellings {
        // Creating it.
        let created = edit(&engine, path, "", "x\n").expect_err(path);
        assert_eq!(created.code, EditCode::Blocked, "{path:?}: {created}");
        // Editing it, where the name can exist; the refusal must not tell of the content.
        let full = work.root().join(path);
        if full.parent().is_some_and(|parent| fs::create_dir_all(parent).is_ok())
            && fs::write(&full, "xyzzy\n").is_ok()
        {
            let edited = edit(&engine, path, "xyzzz", "y").expect_err(path);
            assert_eq!(edited.code, EditCode::Blocked, "{path:?}: {edited}");
            assert!(!edited.text().contains("xyzzy"), "{path:?} tells its content");
            assert_eq!(fs::read(&full).expect("file"), b"xyzzy\n");
            let _ = fs::remove_file(&full);
        }
        refused += 1;
        missed_by_naive += usize::from(!naive(path));
    }
    println!(
        "{refused} spellings of protected names: all refused; a plain list of prefixes misses {missed_by_naive}"
    );
    assert!(refused >= 300 && missed_by_naive > 0);
}

#[test]
fn protected_files_are_refused_through_links_and_allowed_when_asked_for() {
    let work = Sandbox::in_memory();
    fs::create_dir_all(work.file(".git/hooks")).expect("folder");
    fs::write(work.file(".git/config"), "[core]\n\thooksPath = tools/hooks\n").expect("config");
    fs::create_dir_all(work.file("tools/hooks")).expect("folder");
    symlink(".git", work.file("innocent")).expect("link");
    symlink(".git/config", work.file("readme.txt")).expect("link");
    fs::hard_link(work.file(".git/config"), work.file("notes.txt")).expect("link");
    let engine = work.engine();
    for path in ["innocent/config", "readme.txt", "notes.txt"] {
        let refused = edit(&engine, path, "core", "evil").expect_err(path);
        assert_eq!(refused.code, EditCode::Blocked, "{path}: {refused}");
    }
    let new = "innocent/hooks/post-checkout innocent/new/hook tools/hooks/pre-commit tools/HOOKS/x";
    for path in new.split(' ') {
        let refused = edit(&engine, path, "", "evil").expect_err(path);
        assert_eq!(refused.code, EditCode::Blocked, "{path}: {refused}");
        assert!(!work.file(".git/new").exists());
    }
    let allow_protected = vec![".env".to_owned(), ".github/workflows".to_owned()];
    let options = DiskOptions { allow_protected, ..work.options() };
    let store = DiskStore::open_with(&work.root(), options).expect("store");
    let engine = Engine::builder(store).build();
    edit(&engine, ".env", "", "A=1\n").expect("allowed");
    edit(&engine, ".github/workflows/ci.yml", "", "on: push\n").expect("allowed");
    let refused = edit(&engine, ".envrc", "", "x").expect_err("still protected");
    assert_eq!(refused.code, EditCode::Blocked);
    assert!(refused.text().contains("--allow-protected .envrc"), "{}", refused.text());
}

#[test]
fn the_state_folder_is_not_a_place_to_edit() {
    let work = Sandbox::in_memory();
    let options = DiskOptions { state: Some(work.file("state")), ..DiskOptions::default() };
    let store = DiskStore::open_with(&work.root(), options).expect("store");
    let engine = Engine::builder(store).build();
    edit(&engine, "a", "", "x\n").expect("edit");
    for path in ["state/history/x", "state/in-place/x.journal", "state/new"] {
        let refused = edit(&engine, path, "", "x").expect_err("own state");
        assert_eq!(refused.code, EditCode::Blocked, "{path}: {refused}");
    }
}
