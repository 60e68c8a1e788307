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
pub(crate) use super::sandbox::Sandbox;
use std::future::Future;
use std::path::Path;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use restitch::edit::{EditReport, EditRequest, Explanation, Refusal, Rung, VerifiedEdit, WorkPath};
use restitch::engine::{CallOptions, Engine};
use restitch::internals::text::Snapshot;

/// Finishes a future that never waits: outside a runtime the store works in place.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("the future waits"),
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
    let after = Some(after.into());
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

/// The program under strace with what to inject; its trace goes to `log`.
#[cfg(unix)]
pub(crate) fn strace(
    work: &Sandbox,
    log: &Path,
    injected: &[&str],
    arguments: &[&str],
) -> std::process::Command {
    // A fault in the runtime's own wake-up makes it wait for ever; that is no write of ours.
    let mut command = std::process::Command::new("timeout");
    command.args(["-s", "KILL", "20", "strace", "-f", "-y", "-qq", "-o"]).arg(log);
    for inject in injected {
        command.args(["-e", &format!("inject={inject}")]);
    }
    command.arg(env!("CARGO_BIN_EXE_restitch")).arg("--root").arg(work.root());
    command.args(["--no-model", "--json"]).args(arguments);
    command.env("RESTITCH_STATE_DIR", work.state()).stdin(std::process::Stdio::null());
    command.stderr(std::process::Stdio::piped());
    command
}

#[cfg(unix)]
pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
