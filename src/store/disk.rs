//! The store of files on the disk below one root.
//!
//! After a crash each file has its old or its new content. No update is lost, nothing outside the
//! root is touched, and every commit can be undone. `confine` finds files, `protect` names the
//! protected ones, `lock` keeps writers apart, `commit` writes, and `history` records.
//!
//! Limits: Unix only, and tested on Linux only. Advisory locks keep out only programs that use
//! them; a write by another program is noticed afterwards, and its version is kept. On NFS, locks
//! and the exchange of names may not work.

use std::collections::HashMap;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Once, PoisonError, RwLock};
use std::time::{Duration, Instant};

use rustix::fs::{FileType, OFlags};
use rustix::io::Errno;
use tokio::sync::broadcast;

use super::change_feed::ChangeFeed;
use super::commit::{CommitContext, CommitEdit};
use super::confine::{FileId, OpenError, Root, RootCheck, Target};
use super::history::History;
use super::in_place::Journals;
use super::options::DiskOptions;
use super::replace::read_all;
use super::state::StateFolder;
use super::undo::Unrecovered;
use super::{protect, refusals, temp_files};
use crate::edit::{EditCode, Refusal, VerifiedEdit, WorkPath};
use crate::matching::budget;
use crate::port::{
    self, BoxFuture, Change, CommitOptions, Committed, FileStore, Lister, RequestId, RequestStatus,
    Revision, UndoMode, Undone,
};

/// Every running commit of this process holds this lock for reading.
pub(super) static RUNNING_COMMITS: RwLock<()> = RwLock::new(());

/// Set when the process is about to end, so that commits that have not begun do not wait for others.
static IS_ENDING: AtomicBool = AtomicBool::new(false);

/// Whether the process is about to end.
pub(super) fn is_ending() -> bool {
    IS_ENDING.load(Ordering::Acquire)
}

/// Waits for running commits and prevents new ones. Called when a signal is about to end the
/// process.
#[cfg(feature = "cli")]
pub(crate) fn quiesce() {
    IS_ENDING.store(true, Ordering::Release);
    std::mem::forget(RUNNING_COMMITS.write().unwrap_or_else(PoisonError::into_inner));
}

/// A store over a folder. Cloning gives another handle to the same store.
#[derive(Debug, Clone)]
pub struct DiskStore(Arc<Disk>);

/// The store itself. Its functions block.
#[derive(Debug)]
pub(super) struct Disk {
    pub(super) root: Root,
    pub(super) options: DiskOptions,
    pub(super) history: Option<History>,
    pub(super) journals: Option<Journals>,
    pub(super) state: Option<StateFolder>,
    /// Why the state folder cannot be used.
    pub(super) state_error: Option<String>,
    pub(super) changes: ChangeFeed,
    /// Starts the thread that looks for commits of other processes.
    pub(super) watcher: Once,
    /// When each folder was last searched for left-over temp files.
    swept: Mutex<HashMap<FileId, Instant>>,
    /// Further protected folders, which the configuration of this root names.
    extra_folders: RwLock<Vec<String>>,
    /// Whether the root was replaced by another folder and no commit has warned of it yet.
    pub(super) reopened: AtomicBool,
    /// The interrupted commits that could not be rolled back.
    pub(super) unrecovered: Mutex<Unrecovered>,
}

impl DiskStore {
    /// Opens a folder without a history.
    pub fn open(root: &Path) -> io::Result<Self> {
        Self::open_with(root, DiskOptions::default())
    }

    /// Opens a folder. If the state folder cannot be used, this is no error: edits then carry a
    /// warning and cannot be undone.
    pub fn open_with(root: &Path, options: DiskOptions) -> io::Result<Self> {
        Disk::open(root, options).map(|disk| Self(Arc::new(disk)))
    }
}

#[cfg(feature = "cli")]
impl DiskStore {
    /// What crashes have left half done and no recovery could put right: what it is, and what to do.
    pub(crate) fn unfinished(&self) -> io::Result<Vec<(String, String)>> {
        self.0.unfinished()
    }
}

impl Disk {
    /// Opens a folder and repairs what dead processes left in it.
    fn open(root: &Path, options: DiskOptions) -> io::Result<Self> {
        let root = Root::open(root)?;
        let opened = options.state.as_deref().map(|path| {
            let describe = |error: io::Error| {
                format!("the state folder {} cannot be used ({error})", path.display())
            };
            let state = StateFolder::open(path).map_err(describe)?;
            let history =
                History::open(&state, root.path(), options.history_bytes).map_err(describe)?;
            let journals = Journals::open(&state).map_err(describe)?;
            Ok::<_, String>((state, history, journals))
        });
        let (state, history, journals, state_error) = match opened {
            Some(Ok((state, history, journals))) => {
                (Some(state), Some(history), Some(journals), None)
            }
            Some(Err(error)) => (None, None, None, Some(error)),
            None => (None, None, None, options.no_state_reason.clone()),
        };
        if let Some(error) = &state_error {
            tracing::warn!("{error}; edits cannot be undone");
        }
        let extra_folders = RwLock::new(configured_hook_folders(&root));
        let disk = Self {
            root,
            options,
            history,
            journals,
            state,
            state_error,
            changes: ChangeFeed::default(),
            watcher: Once::new(),
            swept: Mutex::default(),
            extra_folders,
            reopened: AtomicBool::new(false),
            unrecovered: Mutex::default(),
        };
        disk.recover();
        Ok(disk)
    }

    /// Repairs the files that a process was writing when it died, and rolls back its unfinished
    /// commits.
    pub(super) fn recover(&self) {
        if let Some(journals) = &self.journals {
            journals.recover(&self.root);
        }
        self.recover_open_commits();
    }

    /// Checks that the path of the root still leads to the open folder. If another folder has taken
    /// its place, opens that one, because callers and searches look there.
    pub(super) fn check_root(&self) -> Result<(), Refusal> {
        match self.root.recheck() {
            Ok(RootCheck::Same) => Ok(()),
            Ok(RootCheck::Reopened) => {
                let root = self.root.path().display();
                tracing::warn!(%root, "the root was replaced by another folder, which is open now");
                *self.extra_folders.write().unwrap_or_else(PoisonError::into_inner) =
                    configured_hook_folders(&self.root);
                self.reopened.store(true, Ordering::Release);
                Ok(())
            }
            Err(error) => Err(refusals::root_lost(self.root.path(), &error)),
        }
    }

    /// The bytes of a file, after what a crash has left half done is put right.
    pub(super) fn read(&self, path: &WorkPath) -> Result<Vec<u8>, Refusal> {
        self.check_root()?;
        self.recover();
        self.read_as_it_is(path)
    }

    /// The bytes of a file.
    pub(super) fn read_as_it_is(&self, path: &WorkPath) -> Result<Vec<u8>, Refusal> {
        // The file may be replaced between `stat` and `open`, even several times in a row.
        for _ in 0..16 {
            let target = self
                .root
                .resolve(path.as_path())
                .map_err(|error| refusals::not_reachable(path, &error))?;
            let file = match target.open(OFlags::RDONLY) {
                Ok(file) => file,
                Err(OpenError::Moved) => continue,
                Err(error) => return Err(refusals::not_a_file(path, error)),
            };
            return read_all(&file, self.options.max_bytes)
                .map_err(|error| refusals::not_read(path, &error));
        }
        Err(refusals::not_a_file(path, OpenError::Moved))
    }

    /// Refuses a path that is protected once its links are resolved; `real` is that path.
    pub(super) fn admit_real(&self, path: &WorkPath, real: &Path) -> Result<(), Refusal> {
        if let Some(state) = &self.state
            && self.root.path().join(real).starts_with(state.path())
        {
            return Err(Refusal::new(
                EditCode::Blocked,
                format!("`{path}` belongs to restitch's own state"),
            )
            .at(path.as_str())
            .hint("Use `restitch undo` and `restitch log` instead."));
        }
        self.refuse_if_protected(path, &real.to_string_lossy())
    }

    /// Refuses `path` if `same_file_path`, a path that leads to the same file, is protected.
    pub(super) fn refuse_if_protected(
        &self,
        path: &WorkPath,
        same_file_path: &str,
    ) -> Result<(), Refusal> {
        let extra_folders = self.extra_folders.read().unwrap_or_else(PoisonError::into_inner);
        protect::admit(path, same_file_path, &extra_folders, &self.options.allow_protected)
    }

    /// Refuses a path that is protected as written or once its links are resolved, whether the file
    /// exists or not.
    pub(super) fn admit_resolved(&self, path: &WorkPath) -> Result<(), Refusal> {
        self.check_root()?;
        self.refuse_if_protected(path, path.as_str())?;
        match self.root.resolve(path.as_path()) {
            Ok(target) => {
                self.admit_real(path, &target.real)?;
                match target.folder.stat(&target.name) {
                    Ok(seen)
                        if FileType::from_raw_mode(seen.st_mode).is_file() && seen.st_nlink > 1 =>
                    {
                        self.admit_hard_link(path, &target, FileId::of_stat(&seen))
                    }
                    _ => Ok(()),
                }
            }
            Err(error) if refusals::has_errno(&error, &[Errno::XDEV, Errno::LOOP]) => {
                Err(refusals::not_reachable(path, &error))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // A folder is missing. Learn the real path, but create nothing.
                let mut admitted = Ok(());
                let mut look_and_deny = |real: &Path| {
                    admitted = self.admit_real(path, real);
                    false
                };
                let created = &mut Vec::new();
                let _ = self.root.resolve_creating(path.as_path(), created, &mut look_and_deny);
                admitted
            }
            Err(_) => Ok(()),
        }
    }

    /// Refuses a file that is a hard link to a protected file. Its path does not show that, so the
    /// inodes are compared.
    pub(super) fn admit_hard_link(
        &self,
        path: &WorkPath,
        target: &Target,
        id: FileId,
    ) -> Result<(), Refusal> {
        match self.protected_hard_link(id) {
            Some(other) if other != target.real => {
                self.refuse_if_protected(path, &other.to_string_lossy())
            }
            _ => Ok(()),
        }
    }

    /// The path of a protected file with this identity, if there is one. Only protected folders,
    /// `.github` and `.config` are searched.
    fn protected_hard_link(&self, id: FileId) -> Option<PathBuf> {
        const MAX_VISITED: usize = 20_000;
        let mut visited = 0;
        let extra_folders =
            self.extra_folders.read().unwrap_or_else(PoisonError::into_inner).clone();
        let mut pending = vec![(self.root.folder(), PathBuf::new())];
        while let Some((folder, folder_path)) = pending.pop() {
            // A folder that cannot be read must not hide the others.
            for name in folder.names().unwrap_or_default() {
                let path = folder_path.join(&name);
                let is_protected =
                    protect::protected_reason(&path.to_string_lossy(), &extra_folders).is_some();
                // Not protected themselves, but they have protected subfolders.
                let has_protected_folders =
                    path == Path::new(".github") || path == Path::new(".config");
                // These need no check: git verifies them by their hash.
                let is_git_objects = path == Path::new(".git/objects");
                if (!is_protected && !has_protected_folders) || is_git_objects {
                    continue;
                }
                visited += 1;
                let Ok(stat) = folder.stat(&name) else { continue };
                if is_protected && FileId::of_stat(&stat) == id {
                    return Some(path);
                }
                if visited < MAX_VISITED
                    && let Ok(inner) = folder.enter(&name)
                {
                    pending.push((inner, path));
                }
            }
        }
        None
    }

    /// Removes left-over temp files from the folder of a target, at most once a minute.
    pub(super) fn sweep_folder(&self, target: &Target) {
        let now = Instant::now();
        let mut swept = self.swept.lock().unwrap_or_else(PoisonError::into_inner);
        let is_recent = |time: &Instant| now.duration_since(*time) <= Duration::from_secs(60);
        if swept.get(&target.folder.id()).is_some_and(is_recent) {
            return;
        }
        swept.insert(target.folder.id(), now);
        drop(swept);
        temp_files::reclaim_all(&target.folder);
    }
}

/// At most this many bytes of the git configuration are read.
const MAX_CONFIG_BYTES: u64 = 1 << 20;

/// The folders in the root that its git configuration names for hooks. The root is not trusted, so
/// its `.git/config` may be something other than a regular file.
fn configured_hook_folders(root: &Root) -> Vec<String> {
    let target = root.resolve(Path::new(".git/config")).ok();
    let Some(file) = target.and_then(|target| target.open(OFlags::RDONLY).ok()) else {
        return Vec::new();
    };
    let mut config = Vec::new();
    if file.take(MAX_CONFIG_BYTES).read_to_end(&mut config).is_err() {
        return Vec::new();
    }
    let root = root.path();
    String::from_utf8_lossy(&config)
        .lines()
        .filter_map(|line| {
            let (name, value) = line.split_once('=')?;
            let value = value.trim().trim_matches('"');
            let folder = Path::new(value).strip_prefix(root).unwrap_or(Path::new(value));
            (name.trim().eq_ignore_ascii_case("hookspath") && !folder.is_absolute())
                .then(|| protect::normalized_folder(&folder.to_string_lossy()))
        })
        .filter(|folder| !folder.is_empty())
        .collect()
}

impl DiskStore {
    /// Runs work that blocks on a thread that may block.
    fn run<'a, T: Send + 'static>(
        &self,
        work: impl FnOnce(&Disk) -> Result<T, Refusal> + Send + 'static,
    ) -> BoxFuture<'a, Result<T, Refusal>> {
        let disk = self.0.clone();
        Box::pin(async move {
            // Without a runtime, and on a thread that a server has for this call, the caller's own
            // thread may block; another one would cost two switches between threads.
            if budget::cancel_flag().is_some() {
                return work(&disk);
            }
            let Ok(runtime) = tokio::runtime::Handle::try_current() else { return work(&disk) };
            runtime.spawn_blocking(move || work(&disk)).await.unwrap_or_else(|error| {
                Err(Refusal::new(EditCode::WriteError, format!("the store stopped: {error}"))
                    .hint("Read the file to see its state, then send the same call again."))
            })
        })
    }

    /// Runs work that commits. Its flag is set when the caller no longer waits, so that it does not
    /// start to write.
    fn run_commit<'a, T: Send + 'static>(
        &self,
        work: impl FnOnce(&Disk, &AtomicBool) -> Result<T, Refusal> + Send + 'static,
    ) -> BoxFuture<'a, Result<T, Refusal>> {
        // On a thread that a server has for this call, the flag of the call: the future cannot be
        // dropped before the commit ends.
        let own = AbandonOnDrop(Arc::default());
        let abandoned = budget::cancel_flag().unwrap_or_else(|| own.0.clone());
        let done = self.run(move |disk| work(disk, &abandoned));
        Box::pin(async move {
            let _own = own;
            done.await
        })
    }
}

/// Sets its flag when it is dropped.
struct AbandonOnDrop(Arc<AtomicBool>);

impl Drop for AbandonOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

impl FileStore for DiskStore {
    fn root(&self) -> &Path {
        self.0.root.path()
    }

    fn load<'a>(&'a self, path: &'a WorkPath) -> BoxFuture<'a, Result<Vec<u8>, Refusal>> {
        let named = path.clone();
        self.run(move |disk| disk.read(&named))
    }

    fn admit<'a>(&'a self, path: &'a WorkPath) -> BoxFuture<'a, Result<(), Refusal>> {
        let named = path.clone();
        self.run(move |disk| disk.admit_resolved(&named))
    }

    fn commit<'a>(
        &'a self,
        batch: Vec<VerifiedEdit>,
        options: CommitOptions,
    ) -> BoxFuture<'a, Result<Vec<Committed>, Refusal>> {
        self.run_commit(move |disk, abandoned| {
            let edits: Vec<CommitEdit> = batch.into_iter().map(CommitEdit::from).collect();
            let context = CommitContext {
                request: options.request_id.as_ref(),
                client: options.client.as_deref(),
                undoes: None,
                abandoned,
                lock_wait: disk.options.lock_wait,
            };
            disk.commit(&edits, &context)
        })
    }

    fn is_folder(&self) -> bool {
        true
    }

    fn lister(&self) -> Option<&dyn Lister> {
        None
    }

    fn history(&self) -> Option<&dyn port::History> {
        Some(self)
    }
}

impl port::History for DiskStore {
    fn undo(
        &self,
        revision: Option<u64>,
        mode: UndoMode,
    ) -> BoxFuture<'_, Result<Undone, Refusal>> {
        self.run_commit(move |disk, abandoned| disk.undo(revision, mode, abandoned))
    }

    fn log(&self) -> BoxFuture<'_, Result<Vec<Revision>, Refusal>> {
        self.run(Disk::log)
    }

    fn committed(&self, revision: u64) -> BoxFuture<'_, Result<Vec<Committed>, Refusal>> {
        self.run(move |disk| disk.committed(revision))
    }

    fn changes(&self) -> Option<broadcast::Receiver<Change>> {
        Some(self.0.subscribe())
    }

    fn recorded_versions<'a>(
        &'a self,
        path: &'a WorkPath,
        from: Option<&'a str>,
    ) -> BoxFuture<'a, Vec<Vec<u8>>> {
        let (path, from) = (path.clone(), from.map(str::to_owned));
        let read = self.run(move |disk| Ok(disk.recorded_versions(&path, from.as_deref())));
        Box::pin(async { read.await.unwrap_or_default() })
    }

    fn recall<'a>(&'a self, request: &'a RequestId) -> BoxFuture<'a, RequestStatus> {
        let request = request.clone();
        let known = self.run(move |disk| disk.recall(&request));
        Box::pin(async { known.await.unwrap_or(RequestStatus::Unknown) })
    }

    fn remember<'a>(&'a self, request: &'a RequestId, answer: String) -> BoxFuture<'a, ()> {
        let request = request.clone();
        let stored = self.run(move |disk| {
            if let Some(history) = &disk.history
                && let Err(error) = history.remember(&request, &answer)
            {
                tracing::debug!(%error, "cannot remember an answer");
            }
            Ok(())
        });
        Box::pin(async {
            let _ = stored.await;
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_in_the_store_is_refused_with_what_to_do() {
        let folder = tempfile::tempdir().expect("folder");
        let store = DiskStore::open(folder.path()).expect("store");
        let stopped = store.run::<()>(|_| panic!("in the store")).await;
        let refusal = stopped.expect_err("refused");
        assert_eq!(refusal.code, EditCode::WriteError);
        assert!(refusal.text().contains("Read the file"), "{}", refusal.text());
    }
}
