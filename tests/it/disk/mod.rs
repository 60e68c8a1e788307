//! The disk store on real disks: what it promises, with real kills, races, faults and power
//! cuts. Every proof runs a deliberately broken writer through the same harness and has to
//! catch it; a harness that cannot is no proof.
//!
//! The short form runs with every `cargo test`; `RESTITCH_LONG=1` runs the full counts.
#![cfg_attr(not(unix), allow(dead_code, unused_imports, reason = "other areas use some helpers"))]

#[cfg(unix)]
mod child;
#[cfg(unix)]
mod faults;
#[cfg(unix)]
mod kill;
#[cfg(unix)]
mod kinds;
#[cfg(unix)]
mod paths;
#[cfg(unix)]
mod power;
#[cfg(unix)]
mod races;
#[cfg(unix)]
mod undo;

pub(crate) use super::long::{count, is_long_run, skip};
use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use restitch::edit::{
    After, EditReport, EditRequest, Explanation, Refusal, Rung, VerifiedEdit, WorkPath,
};
use restitch::engine::{CallOptions, Engine};
use restitch::internals::text::Snapshot;
use restitch::store::{DiskOptions, DiskStore};

/// Finishes a future that never waits: outside a runtime the store works in place.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("the future waits"),
    }
}

/// A root and a state folder that go away with the test.
pub(crate) struct Sandbox {
    temp: tempfile::TempDir,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        Self::on(&std::env::temp_dir())
    }

    /// In memory where there is such a place, for tests of order and not of durability.
    pub(crate) fn in_memory() -> Self {
        let memory = Path::new("/dev/shm");
        Self::on(if memory.is_dir() { memory } else { Path::new("/tmp") })
    }

    pub(crate) fn on(folder: &Path) -> Self {
        let temp =
            tempfile::Builder::new().prefix("restitch-it-").tempdir_in(folder).expect("temp");
        for name in ["root", "outside"] {
            std::fs::create_dir(temp.path().join(name)).expect("folder");
        }
        Self { temp }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.temp.path().join("root")
    }

    pub(crate) fn outside(&self) -> PathBuf {
        self.temp.path().join("outside")
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.temp.path().join("state")
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    pub(crate) fn options(&self) -> DiskOptions {
        DiskOptions { state: Some(self.state()), ..DiskOptions::default() }
    }

    pub(crate) fn store(&self) -> DiskStore {
        DiskStore::open_with(&self.root(), self.options()).expect("store")
    }

    pub(crate) fn engine(&self) -> Engine {
        Engine::builder(self.store()).build()
    }

    /// The real binary over this root.
    pub(crate) fn restitch(&self) -> std::process::Command {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_restitch"));
        command.arg("--root").arg(self.root()).env("RESTITCH_STATE_DIR", self.state());
        command
    }

    /// Names in the root that a commit should not leave.
    pub(crate) fn leftover_files(&self) -> Vec<String> {
        names_below(&self.root()).into_iter().filter(|name| name.contains(".restitch-")).collect()
    }
}

pub(crate) fn names_below(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        found.push(path.display().to_string());
        if path.is_dir() && !path.is_symlink() {
            found.extend(names_below(&path));
        }
    }
    found
}

pub(crate) fn edit(
    engine: &Engine,
    path: &str,
    old: &str,
    new: &str,
) -> Result<EditReport, Refusal> {
    let request = EditRequest::new(old, new);
    let path = engine.path(path)?;
    block_on(engine.edit_file(&path, &request, &CallOptions::default()))
}

/// The whole file, replaced.
pub(crate) fn whole_file_edit(
    path: &WorkPath,
    before: Option<&[u8]>,
    after: &[u8],
) -> VerifiedEdit {
    let before = before.map(|bytes| Snapshot::decode(bytes.to_vec()).expect("text"));
    let after = After::Content(after.into());
    restitch::internals::restored(path.clone(), before, after, Explanation::plain(Rung::Exact))
}

pub(crate) fn work_path(name: &str) -> WorkPath {
    WorkPath::parse(name, Path::new("/nowhere")).expect("path")
}

/// Whether a program can be run here.
pub(crate) fn has(program: &str) -> bool {
    std::process::Command::new(program)
        .arg("--version")
        .output()
        .is_ok_and(|output| output.status.success())
}

#[cfg(unix)]
pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
