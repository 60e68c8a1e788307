//! Files on the disk below one root. The only module that writes files.
//!
//! Old or new content after any crash, no lost update, nothing outside the root, and
//! every commit can be undone. `confine` finds files, `protect` says which are
//! off limits, `lock` keeps writers apart, `commit` writes, `history` remembers.
//!
//! Limits: Unix only, and proven on Linux only. Advisory locks keep out those who ask for them; a program that
//! does not is noticed after the fact and its version kept. On NFS locks and the
//! exchange of names are best effort.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use rustix::fs::OFlags;
use rustix::io::Errno;
use tokio::sync::broadcast;

use super::change_feed::ChangeFeed;
use super::commit::{CommitContext, CommitEdit};
use super::confine::{FileId, OpenError, Root, RootCheck, Target, Walk};
use super::history::History;
use super::in_place::Journals;
use super::options::DiskOptions;
use super::replace::read_all;
use super::state::StateFolder;
use super::{protect, refusals, temp_files};
use crate::edit::{EditCode, Refusal, VerifiedEdit, WorkPath};
use crate::port::{
    BoxFuture, Change, CommitOptions, Committed, FileStore, RequestId, RequestStatus, Revision,
    UndoMode, Undone,
};

/// Held for reading by every commit under way in this process.
pub(super) static RUNNING_COMMITS: RwLock<()> = RwLock::new(());

/// Waits for running commits and prevents new ones: for a process that ends because of a signal.
pub fn quiesce() {
    std::mem::forget(RUNNING_COMMITS.write().unwrap_or_else(PoisonError::into_inner));
}

/// A store over a folder. Cloning gives another handle to the same store.
#[derive(Debug, Clone)]
pub struct DiskStore(Arc<Disk>);

/// The store itself; everything in it blocks.
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
    /// The last revision this process has seen.
    revision: AtomicU64,
    /// When each folder was last searched for left-over temp files.
    swept: Mutex<HashMap<FileId, Instant>>,
    /// Protected folders that this root names itself.
    extra_folders: RwLock<Vec<String>>,
    /// Whether the root was replaced and no commit has said so yet.
    pub(super) reopened: AtomicBool,
}

impl DiskStore {
    /// Opens a folder without a history.
    pub fn open(root: &Path) -> io::Result<Self> {
        Self::open_with(root, DiskOptions::default())
    }

    /// Opens a folder. A state folder that cannot be used is no error: edits then carry a
    /// warning and cannot be undone.
    pub fn open_with(root: &Path, options: DiskOptions) -> io::Result<Self> {
        Disk::open(root, options, Walk::Kernel).map(|disk| Self(Arc::new(disk)))
    }

    /// Announces every commit in the root from now on; those of other processes by way of
    /// the history, where there is one.
    pub fn subscribe(&self) -> broadcast::Receiver<Change> {
        self.0.subscribe()
    }
}

impl Disk {
    fn open(root: &Path, options: DiskOptions, walk: Walk) -> io::Result<Self> {
        let root = Root::open(root, walk)?;
        let opened = options.state.as_deref().map(|path| {
            let name = |error: io::Error| {
                format!("the state folder {} cannot be used ({error})", path.display())
            };
            let state = StateFolder::open(path).map_err(name)?;
            let history = History::open(&state, root.path(), options.history).map_err(name)?;
            let journals = Journals::open(&state).map_err(name)?;
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
            changes: ChangeFeed::new(),
            revision: AtomicU64::new(0),
            swept: Mutex::default(),
            extra_folders,
            reopened: AtomicBool::new(false),
        };
        disk.recover();
        Ok(disk)
    }

    pub(super) fn next_revision(&self) -> u64 {
        self.revision.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub(super) fn note_revision(&self, revision: u64) {
        self.revision.fetch_max(revision, Ordering::Relaxed);
    }

    /// Repairs what writers that died during a write left behind.
    pub(super) fn recover(&self) {
        if let Some(journals) = self.journals.as_ref().filter(|journals| journals.has_open()) {
            journals.recover(&self.root);
        }
        self.recover_open_commits();
    }

    /// Makes sure that the path of the root still means the folder that is open: work goes
    /// where callers and searches look.
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

    pub(super) fn read(&self, path: &WorkPath) -> Result<Vec<u8>, Refusal> {
        self.check_root()?;
        self.recover();
        // Between looking and opening the file may be replaced; that can happen a few times in a row.
        for _ in 0..16 {
            let target = self
                .root
                .resolve(path.as_path())
                .map_err(|error| refusals::not_reachable(path, &error))?;
            let file = match target.open(OFlags::RDONLY) {
                Ok(file) => file,
                Err(OpenError::Moved) => continue,
                Err(why) => return Err(refusals::not_a_file(path, why)),
            };
            let size = file.metadata().map_or(0, |meta| meta.len());
            return match read_all(&file, self.options.max_bytes) {
                Err(error) if refusals::has_errno(&error, &[Errno::FBIG]) => {
                    Err(refusals::too_large(path, size, self.options.max_bytes))
                }
                other => other.map_err(|error| refusals::not_read(path, &error)),
            };
        }
        Err(refusals::not_a_file(path, OpenError::Moved))
    }

    /// Policy by the path as the caller wrote it.
    pub(super) fn admit_lexical(&self, path: &WorkPath) -> Result<(), Refusal> {
        self.admit_text(path, path.as_str())
    }

    /// Policy by the path without links.
    pub(super) fn admit_real(&self, path: &WorkPath, real: &Path) -> Result<(), Refusal> {
        if let Some(state) = &self.state
            && self.root.path().join(real).starts_with(state.path())
        {
            return Err(Refusal::new(
                EditCode::Blocked,
                format!("`{path}` is restitch's own state"),
            )
            .at(path.as_str())
            .hint("Use restitch undo and restitch log instead."));
        }
        self.admit_text(path, &real.to_string_lossy())
    }

    fn admit_text(&self, path: &WorkPath, text: &str) -> Result<(), Refusal> {
        let is_allowed = |path: &String| {
            let path = path.trim_start_matches("./").trim_end_matches('/');
            text == path || text.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'))
        };
        match protect::protected_reason(
            text,
            &self.extra_folders.read().unwrap_or_else(PoisonError::into_inner),
        ) {
            Some(why) if !self.options.allow_protected.iter().any(is_allowed) => {
                Err(refusals::blocked(path, text, why))
            }
            _ => Ok(()),
        }
    }

    /// Policy by the path as written and by where it really leads, whether it exists or not.
    pub(super) fn admit_resolved(&self, path: &WorkPath) -> Result<(), Refusal> {
        self.check_root()?;
        self.admit_lexical(path)?;
        match self.root.resolve(path.as_path()) {
            Ok(target) => {
                self.admit_real(path, &target.real)?;
                match target.open(OFlags::RDONLY) {
                    Ok(file) => self.admit_identity(path, &target, &file),
                    Err(_) => Ok(()),
                }
            }
            Err(error) if refusals::has_errno(&error, &[Errno::XDEV, Errno::LOOP]) => {
                Err(refusals::not_reachable(path, &error))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // A folder is missing. Ask where it would be made, and make nothing.
                let real = RefCell::new(None);
                let look = |path: &Path| {
                    real.replace(Some(path.to_owned()));
                    false
                };
                let _ = self.root.resolve_creating(path.as_path(), &mut Vec::new(), &look);
                real.into_inner().map_or(Ok(()), |real: PathBuf| self.admit_real(path, &real))
            }
            Err(_) => Ok(()),
        }
    }

    /// A hard link to a protected file has a harmless name; its identity gives it away.
    pub(super) fn admit_identity(
        &self,
        path: &WorkPath,
        target: &Target,
        file: &std::fs::File,
    ) -> Result<(), Refusal> {
        use std::os::unix::fs::MetadataExt as _;
        let names = file.metadata().map_or(1, |meta| meta.nlink());
        let Some(id) = FileId::of(file).ok().filter(|_| names > 1) else { return Ok(()) };
        match self.protected_hard_link(id) {
            Some(twin) if twin != target.real => {
                let twin = twin.to_string_lossy();
                self.admit_text(path, &twin)
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
        while let Some((folder, at)) = pending.pop() {
            for name in folder.names().ok()? {
                let path = at.join(&name);
                // Git objects need no check: git verifies them by their hash.
                let protected =
                    protect::protected_reason(&path.to_string_lossy(), &extra_folders).is_some();
                let outer = at.as_os_str().is_empty() && (name == ".github" || name == ".config");
                if (!protected && !outer) || path == Path::new(".git/objects") {
                    continue;
                }
                visited += 1;
                let Ok(stat) = folder.stat(&name) else { continue };
                if protected && FileId::of_stat(&stat) == id {
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
        let last = swept.insert(target.folder.id(), now);
        drop(swept);
        if last.is_none_or(|last| now.duration_since(last) > Duration::from_secs(60)) {
            temp_files::reclaim_all(&target.folder);
        }
    }
}

/// A longer configuration of git is not read.
const MAX_CONFIG_BYTES: u64 = 1 << 20;

/// The folder that git of this root takes its hooks from, if that is not its own. The
/// configuration came with the root, so it may be anything but a file.
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
            let below = Path::new(value).strip_prefix(root).unwrap_or(Path::new(value));
            (name.trim().eq_ignore_ascii_case("hookspath") && !below.is_absolute())
                .then(|| protect::normalized_folder(&below.to_string_lossy()))
        })
        .filter(|folder| !folder.is_empty())
        .collect()
}

/// Runs what blocks where it may block.
async fn spawn_blocking<T: Send + 'static>(
    path: Option<WorkPath>,
    work: impl FnOnce() -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refusal> {
    let Ok(runtime) = tokio::runtime::Handle::try_current() else { return work() };
    runtime.spawn_blocking(work).await.unwrap_or_else(|error| {
        let refusal = Refusal::new(EditCode::WriteError, format!("the store stopped: {error}"))
            .hint("Read the file to see its state, then send the same call again.");
        Err(match path {
            Some(path) => refusal.at(path.as_str()),
            None => refusal,
        })
    })
}

/// Tells a commit that no caller waits for it any more, so that it does not start to write.
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
        let (disk, path) = (self.0.clone(), path.clone());
        Box::pin(spawn_blocking(Some(path.clone()), move || disk.read(&path)))
    }

    fn admit<'a>(&'a self, path: &'a WorkPath) -> BoxFuture<'a, Result<(), Refusal>> {
        let (disk, path) = (self.0.clone(), path.clone());
        Box::pin(spawn_blocking(Some(path.clone()), move || disk.admit_resolved(&path)))
    }

    fn commit<'a>(
        &'a self,
        batch: Vec<VerifiedEdit>,
        options: CommitOptions,
    ) -> BoxFuture<'a, Result<Vec<Committed>, Refusal>> {
        let disk = self.0.clone();
        Box::pin(async move {
            let abandon = AbandonOnDrop(Arc::default());
            let abandoned = abandon.0.clone();
            let first = batch.first().map(|edit| edit.path().clone());
            spawn_blocking(first, move || {
                let edits: Vec<CommitEdit> = batch.into_iter().map(CommitEdit::from).collect();
                let request = options.request_id.as_ref();
                disk.commit(&edits, &CommitContext { request, undoes: None, abandoned: &abandoned })
            })
            .await
        })
    }

    fn undo(
        &self,
        revision: Option<u64>,
        mode: UndoMode,
    ) -> BoxFuture<'_, Result<Undone, Refusal>> {
        let disk = self.0.clone();
        Box::pin(async move {
            let abandon = AbandonOnDrop(Arc::default());
            let abandoned = abandon.0.clone();
            spawn_blocking(None, move || disk.undo(revision, mode, &abandoned)).await
        })
    }

    fn log(&self) -> BoxFuture<'_, Result<Vec<Revision>, Refusal>> {
        let disk = self.0.clone();
        Box::pin(spawn_blocking(None, move || disk.log()))
    }

    fn changes(&self) -> Option<broadcast::Receiver<Change>> {
        Some(self.subscribe())
    }

    fn recorded_versions<'a>(
        &'a self,
        path: &'a WorkPath,
        from: Option<&'a str>,
    ) -> BoxFuture<'a, Vec<Vec<u8>>> {
        let (disk, path, from) = (self.0.clone(), path.clone(), from.map(str::to_owned));
        Box::pin(async move {
            let look = move || Ok(disk.recorded_versions(&path, from.as_deref()));
            spawn_blocking(None, look).await.unwrap_or_default()
        })
    }

    fn recall<'a>(&'a self, request: &'a RequestId) -> BoxFuture<'a, RequestStatus> {
        let (disk, request) = (self.0.clone(), request.clone());
        Box::pin(async move {
            spawn_blocking(None, move || disk.recall(&request))
                .await
                .unwrap_or(RequestStatus::Unknown)
        })
    }

    fn remember<'a>(&'a self, request: &'a RequestId, answer: String) -> BoxFuture<'a, ()> {
        let (disk, request) = (self.0.clone(), request.clone());
        Box::pin(async move {
            let remember = move || {
                if let Some(Err(error)) =
                    disk.history.as_ref().map(|all| all.remember(&request, &answer))
                {
                    tracing::debug!(%error, "cannot remember an answer");
                }
                Ok(())
            };
            let _ = spawn_blocking(None, remember).await;
        })
    }
}
