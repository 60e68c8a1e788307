//! Files on the disk below one root. The only module that writes files.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crate::edit::{After, Durability, EditCode, Refusal, VerifiedEdit, WorkPath};
use crate::port::{BoxFuture, CommitOptions, Committed, FileStore};
use crate::text::{ContentHash, Snapshot};

/// A store over a folder.
#[derive(Debug)]
pub struct DiskStore {
    root: PathBuf,
    lock: Mutex<u64>,
}

impl DiskStore {
    /// Opens the folder.
    pub fn open(root: &Path) -> io::Result<Self> {
        Ok(Self { root: root.canonicalize()?, lock: Mutex::new(0) })
    }

    fn read(&self, path: &WorkPath) -> Result<Vec<u8>, Refusal> {
        let full = self.root.join(path.as_path());
        let read = || {
            let inside = full.canonicalize()?.starts_with(&self.root);
            if !inside || !fs::metadata(&full)?.is_file() {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidInput,
                    "not a regular file below the root",
                ));
            }
            fs::read(&full)
        };
        read().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                Refusal::new(EditCode::FileNotFound, format!("there is no file `{path}`"))
                    .at(path.as_str())
                    .hint(
                        "Check the path with list_files, or create the file with an empty old_str.",
                    )
            }
            io::ErrorKind::InvalidInput => {
                Refusal::new(EditCode::InvalidPath, format!("`{path}`: {error}")).at(path.as_str())
            }
            _ => Refusal::new(EditCode::ReadError, format!("cannot read `{path}`: {error}"))
                .at(path.as_str()),
        })
    }

    fn write(&self, edit: VerifiedEdit) -> Result<VerifiedEdit, Refusal> {
        let path = edit.path().clone();
        let fault = |error: io::Error| {
            Refusal::new(EditCode::WriteError, format!("cannot write `{path}`: {error}"))
                .at(path.as_str())
        };
        let full = self.root.join(path.as_path());
        let conflict = || Refusal::new(EditCode::Conflict, format!("`{path}` changed meanwhile"));
        let edit = match edit.base() {
            None => {
                if full.exists() {
                    return Err(Refusal::new(
                        EditCode::CreateExisting,
                        format!("`{path}` exists by now"),
                    ));
                }
                edit
            }
            Some(base) => {
                let now = self.read(&path)?;
                if ContentHash::of(&now) == base {
                    edit
                } else {
                    let snapshot = Snapshot::decode(now).map_err(|_| conflict())?;
                    edit.rebase(&snapshot).unwrap_or_else(|| Err(conflict()))?
                }
            }
        };
        let parent = full.parent().unwrap_or(&self.root);
        match edit.after() {
            After::Content(bytes) => {
                fs::create_dir_all(parent).map_err(fault)?;
                let mut temp = tempfile::NamedTempFile::new_in(parent).map_err(fault)?;
                temp.write_all(bytes).map_err(fault)?;
                if let Ok(meta) = fs::metadata(&full) {
                    temp.as_file().set_permissions(meta.permissions()).map_err(fault)?;
                }
                temp.as_file().sync_all().map_err(fault)?;
                temp.persist(&full).map_err(|e| fault(e.error))?;
                fs::File::open(parent).and_then(|dir| dir.sync_all()).map_err(fault)?;
            }
            After::Removed => fs::remove_file(&full).map_err(fault)?,
        }
        Ok(edit)
    }
}

impl FileStore for DiskStore {
    fn root(&self) -> &Path {
        &self.root
    }

    fn load<'a>(&'a self, path: &'a WorkPath) -> BoxFuture<'a, Result<Vec<u8>, Refusal>> {
        Box::pin(async move { self.read(path) })
    }

    fn commit<'a>(
        &'a self,
        batch: Vec<VerifiedEdit>,
        _options: CommitOptions,
    ) -> BoxFuture<'a, Result<Vec<Committed>, Refusal>> {
        Box::pin(async move {
            let mut revision = self.lock.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            batch
                .into_iter()
                .map(|edit| {
                    let edit = self.write(edit)?;
                    *revision += 1;
                    Ok(Committed {
                        edit,
                        revision: *revision,
                        durability: Durability::Durable,
                        warnings: Vec::new(),
                    })
                })
                .collect()
        })
    }
}
