//! The disk store of systems that are not Unix, Windows first: a folder behind
//! [`VersionedStore`].
//!
//! A write creates a new file beside the old one and moves it over the old one in one step, under
//! a lock that all restitch processes of the user share. While another program holds the file
//! open, the write is retried for two seconds and then refused. The history is in the state folder;
//! without one, only edits of this process can be undone. Limits: a commit of several files is not
//! rolled back after a crash, and a program that ignores the lock is not kept out: its write is noticed
//! only because the content differs.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::folder::canonical;
use super::options::{DiskOptions, SyncMode};
use super::versioned::VersionedStore;
use super::{protect, replace_file};
use crate::edit::{EditCode, Refusal, WorkPath};
use crate::port::{BoxFuture, LoadedFile, StoreOutcome, VersionedFiles};
use crate::text::ContentHash;

/// A store over a folder.
pub type DiskStore = VersionedStore<FolderFiles>;

impl DiskStore {
    /// Opens a folder.
    pub fn open(root: &Path) -> io::Result<Self> {
        Self::open_with(root, DiskOptions::default())
    }

    /// Opens a folder. The state folder holds the history and the locks; without one, the locks are in
    /// the folder for temporary files.
    pub fn open_with(root: &Path, options: DiskOptions) -> io::Result<Self> {
        let root = canonical(root)?;
        if !root.is_dir() {
            return Err(io::Error::new(io::ErrorKind::NotADirectory, "it is not a folder"));
        }
        let history = options.state.as_ref().map(|state| {
            let key = key_of(&root);
            state.join("history").join(&key[..16])
        });
        let files = VersionedStore::new(FolderFiles { root: root.clone(), options }, root);
        Ok(match history {
            Some(folder) => files.kept_in(folder),
            None => files,
        })
    }
}

/// The files of a folder; a version is the hash of the content.
#[doc(hidden)]
#[derive(Debug)]
pub struct FolderFiles {
    root: PathBuf,
    options: DiskOptions,
}

/// How long to wait for a file that another program holds open.
const HELD_TIMEOUT: Duration = Duration::from_secs(2);

impl FolderFiles {
    /// The path with its links resolved; an error if it leads outside the root. The file and the
    /// last folders of the path may be missing.
    fn resolve(&self, path: &str) -> Result<PathBuf, String> {
        let joined = self.root.join(path.replace('/', std::path::MAIN_SEPARATOR_STR));
        let mut ancestor = joined.as_path();
        let mut missing_parts = Vec::new();
        let real = loop {
            match canonical(ancestor) {
                Ok(real) => break real,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    // A write must not create the missing target of a dangling link.
                    if fs::symlink_metadata(ancestor).is_ok() {
                        return Err("it is a symbolic link to a missing file".into());
                    }
                    missing_parts.extend(ancestor.file_name());
                    ancestor = ancestor.parent().ok_or("it has no parent folder")?;
                }
                Err(error) => return Err(error.to_string()),
            }
        };
        if !real.starts_with(&self.root) {
            return Err("it leads outside the root".into());
        }
        Ok(missing_parts.into_iter().rev().fold(real, |path, part| path.join(part)))
    }

    /// Refuses names that some system cannot store, and names that Windows does not read as a file:
    /// a device, which can hang, and a stream, which is part of another file.
    fn check_name(&self, path: &WorkPath) -> Result<(), Refusal> {
        match protect::unportable_reason(path.as_str()) {
            None => Ok(()),
            Some(reason) => {
                Err(Refusal::new(EditCode::InvalidPath, format!("the name `{path}` {reason}"))
                    .at(path.as_str())
                    .hint(
                        "Give a path below the root, with names that every operating system takes.",
                    ))
            }
        }
    }

    /// The bytes of a file; `None` if there is no such file.
    fn read(&self, real: &Path) -> Result<Option<Vec<u8>>, String> {
        match fs::metadata(real) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(describe(&error)),
            Ok(meta) if !meta.is_file() => return Err("it is not a regular file".into()),
            Ok(meta) if meta.len() > self.options.max_bytes => {
                return Err(format!(
                    "it has {} bytes; at most {} are read",
                    meta.len(),
                    self.options.max_bytes
                ));
            }
            Ok(_) => {}
        }
        retry_while_held(|| fs::read(real)).map(Some).map_err(|error| describe(&error))
    }

    /// Locks a file. The lock is on a separate file, because the target itself gets replaced.
    fn lock(&self, real: &Path) -> io::Result<File> {
        let folder = self.options.state.clone().unwrap_or_else(std::env::temp_dir).join("locks");
        fs::create_dir_all(&folder)?;
        let lock = folder.join(key_of(real));
        let lock = File::options().create(true).truncate(false).write(true).open(lock)?;
        lock_within(&lock, self.options.lock_wait)?;
        Ok(lock)
    }

    /// Writes a file, or removes it if `bytes` is `None`, provided that its content still has the
    /// hash `version`; `None` means that there must be no file yet.
    fn write(
        &self,
        path: &str,
        bytes: Option<Vec<u8>>,
        version: Option<&str>,
    ) -> Result<StoreOutcome, String> {
        let real = self.resolve(path)?;
        let folder = real.parent().ok_or("it has no parent folder")?;
        let _lock = self.lock(&real).map_err(|error| describe(&error))?;
        let current = self.read(&real)?.map(|bytes| ContentHash::of(&bytes).to_string());
        if current.as_deref() != version {
            return Ok(StoreOutcome::VersionMismatch);
        }
        let result = match bytes {
            None => retry_while_held(|| fs::remove_file(&real)),
            Some(bytes) => self.replace(&real, folder, &bytes),
        };
        result.map(|()| StoreOutcome::Written).map_err(|error| describe(&error))
    }

    /// Writes `bytes` to a temporary file in `folder` and moves it to `real`.
    fn replace(&self, real: &Path, folder: &Path, bytes: &[u8]) -> io::Result<()> {
        if fs::metadata(real).is_ok_and(|meta| meta.permissions().readonly()) {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is read-only"));
        }
        fs::create_dir_all(folder)?;
        let mut temp = tempfile::Builder::new().prefix(".restitch-").tempfile_in(folder)?;
        temp.write_all(bytes)?;
        if self.options.sync_mode == SyncMode::Durable {
            temp.as_file().sync_all()?;
        }
        // Closed before the move: some systems cannot move an open file.
        let temp = temp.into_temp_path();
        retry_while_held(|| replace_file::replace(&temp, real))
    }
}

impl VersionedFiles for FolderFiles {
    fn load<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Option<LoadedFile>, String>> {
        let load = || -> Result<Option<LoadedFile>, String> {
            Ok(self.read(&self.resolve(path)?)?.map(LoadedFile::by_hash))
        };
        Box::pin(std::future::ready(load()))
    }

    fn store_if<'a>(
        &'a self,
        path: &'a str,
        bytes: Option<Vec<u8>>,
        version: Option<String>,
    ) -> BoxFuture<'a, Result<StoreOutcome, String>> {
        Box::pin(std::future::ready(self.write(path, bytes, version.as_deref())))
    }

    /// Refuses also a path to write that is protected as written or once its links are resolved.
    fn admit(&self, path: &WorkPath, read_only: bool) -> Result<(), Refusal> {
        self.check_name(path)?;
        if read_only {
            return Ok(());
        }
        let real = self.resolve(path.as_str()).unwrap_or_else(|_| self.root.join(path.as_str()));
        let resolved = real.strip_prefix(&self.root).unwrap_or(&real).to_string_lossy();
        let resolved = resolved.replace('\\', "/");
        for same_file_path in [path.as_str(), &resolved] {
            protect::admit(path, same_file_path, &[], &self.options.allow_protected)?;
        }
        Ok(())
    }

    fn is_folder(&self) -> bool {
        true
    }
}

/// The name of what belongs to a path, whose letters have no case.
fn key_of(path: &Path) -> String {
    ContentHash::of(path.to_string_lossy().to_lowercase().as_bytes()).to_string()
}

/// Whether the error means that another program holds the file open: a sharing violation, a
/// lock, or the brief denial of access that a virus scanner causes.
fn is_held(error: &io::Error) -> bool {
    const HELD_CODES: &[i32] = &[5, 32, 33, 1175, 1176, 1177, 1224];
    cfg!(windows) && error.raw_os_error().is_some_and(|code| HELD_CODES.contains(&code))
}

/// Locks a file, and waits for another process at most so long.
pub(super) fn lock_within(file: &File, wait: Duration) -> io::Result<()> {
    let deadline = Instant::now() + wait;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(fs::TryLockError::WouldBlock) if Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(10));
            }
            Err(fs::TryLockError::WouldBlock) => {
                return Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    "another restitch process is writing it",
                ));
            }
            Err(fs::TryLockError::Error(error)) => return Err(error),
        }
    }
}

/// Repeats `work` while another program holds the file open, until [`HELD_TIMEOUT`].
fn retry_while_held<T>(mut work: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let deadline = Instant::now() + HELD_TIMEOUT;
    let mut pause = Duration::from_millis(2);
    loop {
        match work() {
            Err(error) if is_held(&error) && Instant::now() < deadline => {
                std::thread::sleep(pause);
                pause = (pause * 2).min(Duration::from_millis(100));
            }
            result => return result,
        }
    }
}

/// The error as text; if another program holds the file open, also what to do about it.
fn describe(error: &io::Error) -> String {
    match is_held(error) {
        true => format!(
            "another program holds it open without sharing ({error}; tried for {} s); close it there, or try again",
            HELD_TIMEOUT.as_secs()
        ),
        false => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit::EditRequest;
    use crate::engine::{CallOptions, Engine};

    fn engine(root: &Path, state: &Path) -> Engine {
        let options = DiskOptions { state: Some(state.to_owned()), ..DiskOptions::default() };
        Engine::builder(DiskStore::open_with(root, options).expect("a folder")).build()
    }

    #[tokio::test]
    async fn edits_are_made_kept_apart_and_taken_back() {
        let (root, state) = (tempfile::tempdir().expect("a"), tempfile::tempdir().expect("b"));
        fs::write(root.path().join("a.txt"), "one\r\ntwo\r\n").expect("written");
        let (first, second) =
            (engine(root.path(), state.path()), engine(root.path(), state.path()));
        let options = CallOptions::default();
        let path = first.path("a.txt").expect("a path");
        let one = EditRequest::new("one", "1\n1b");
        let two = EditRequest::new("two", "2");
        let (a, b) = tokio::join!(
            first.edit_file(&path, &one, &options),
            second.edit_file(&path, &two, &options)
        );
        assert!(a.is_ok() && b.is_ok());
        let read = || fs::read_to_string(root.path().join("a.txt")).expect("read");
        assert_eq!(read(), "1\r\n1b\r\n2\r\n");
        let last = EditRequest::new("2\n", "3\n");
        second.edit_file(&path, &last, &options).await.expect("edited");
        assert_eq!(read(), "1\r\n1b\r\n3\r\n");
        second.undo(None, &options).await.expect("undone");
        assert_eq!(read(), "1\r\n1b\r\n2\r\n");
        let made = first.path("new/folder/b.txt").expect("a path");
        first.edit_file(&made, &EditRequest::new("", "x\n"), &options).await.expect("made");
        assert_eq!(fs::read(root.path().join("new/folder/b.txt")).expect("read"), b"x\n");
        let left = fs::read_dir(root.path()).expect("list").count();
        assert_eq!(left, 2, "no temporary file is left");
    }

    #[tokio::test]
    async fn the_next_process_knows_and_undoes_what_was_done() {
        let (root, state) = (tempfile::tempdir().expect("a"), tempfile::tempdir().expect("b"));
        fs::write(root.path().join("a.txt"), "one\ntwo\nthree\n").expect("written");
        let options = CallOptions::default();
        let edit = async |old: &str, new: &str| {
            let engine = engine(root.path(), state.path());
            let path = engine.path("a.txt").expect("a path");
            engine.edit_file(&path, &EditRequest::new(old, new), &options).await.expect("edited")
        };
        assert_eq!(edit("one", "1").await.revision, Some(1));
        assert_eq!(edit("three", "3").await.revision, Some(2));
        let next = engine(root.path(), state.path());
        let log = next.log().await.expect("log");
        assert_eq!(log.iter().map(|entry| entry.revision).collect::<Vec<_>>(), [2, 1]);
        let read = || fs::read_to_string(root.path().join("a.txt")).expect("read");
        assert_eq!(next.undo(Some(1), &options).await.expect("undone").0, 1);
        assert_eq!(read(), "one\ntwo\n3\n");
        let next = engine(root.path(), state.path());
        next.undo(Some(1), &options).await.expect_err("undone already");
        assert_eq!(next.undo(Some(3), &options).await.expect("the undo is undone").0, 3);
        assert_eq!(read(), "1\ntwo\n3\n");
        // A record that is cut off is left out; its number is not used again.
        let folders = fs::read_dir(state.path().join("history")).expect("one root");
        let folder = folders.flatten().next().expect("one root").path();
        fs::write(folder.join("5"), "{").expect("written");
        assert_eq!(edit("two", "2").await.revision, Some(6));
        assert_eq!(engine(root.path(), state.path()).log().await.expect("log").len(), 5);
        let temporary = |entry: fs::DirEntry| entry.file_name().to_string_lossy().contains("tmp");
        assert!(!fs::read_dir(&folder).expect("list").flatten().any(temporary));
        // What cannot be recorded is made, and says that it cannot be undone.
        fs::remove_dir_all(&folder).expect("removed");
        fs::write(&folder, "").expect("in the way");
        let report = edit("2", "II").await;
        assert_eq!(report.revision, None);
        assert!(report.explanation.warnings.iter().any(|what| what.contains("cannot be undone")));
    }

    #[tokio::test]
    async fn nothing_outside_or_protected_is_touched() {
        let (root, state) = (tempfile::tempdir().expect("a"), tempfile::tempdir().expect("b"));
        let engine = engine(root.path(), state.path());
        let options = CallOptions::default();
        let git = engine.path(".git/config").expect("a path");
        let refused = engine.edit_file(&git, &EditRequest::new("", "x"), &options).await;
        assert_eq!(refused.expect_err("protected").code, EditCode::Blocked);
        for name in ["nul", "a/COM1.txt", "x.txt::$DATA", "end."] {
            let path = engine.path(name).expect("a path");
            let refused = engine.edit_file(&path, &EditRequest::new("", "x"), &options).await;
            assert_eq!(refused.expect_err(name).code, EditCode::InvalidPath);
            assert_eq!(engine.snapshot(&path).await.expect_err(name).code, EditCode::InvalidPath);
        }
        #[cfg(unix)]
        for (name, to) in [("out", state.path().to_owned()), ("dangling", root.path().join("no"))] {
            std::os::unix::fs::symlink(to, root.path().join(name)).expect("a link");
            let name = if name == "out" { "out/x.txt" } else { name };
            let path = engine.path(name).expect("a path");
            assert!(engine.edit_file(&path, &EditRequest::new("", "x"), &options).await.is_err());
        }
        assert!(!state.path().join("x.txt").exists() && !root.path().join("no").exists());
    }
}
