//! Resolves paths below one root to folder handles, so that neither a link nor a race with a rename
//! can lead outside.
//!
//! On Linux the kernel resolves a path that has no symlink in it (`openat2`). Paths with symlinks,
//! and all paths on other systems, take a checked walk: it opens one folder after the other, reads
//! each link itself, and for `..` goes back to the handle of the parent folder. The result is a
//! folder handle and one name in that folder. Everything later is relative to that handle, and no
//! later step follows a link.
//!
//! Limit: a handle follows its folder. So if a folder is moved out of the root during a commit, the
//! commit still writes into it.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

/// Follow at most this many links in one path, as Linux does.
const MAX_LINKS: usize = 40;

/// Identifies a file, whatever its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct FileId {
    dev: u64,
    ino: u64,
}

impl FileId {
    /// The identity of an open file.
    pub(super) fn of(file: &File) -> io::Result<Self> {
        let meta = file.metadata()?;
        Ok(Self { dev: meta.dev(), ino: meta.ino() })
    }

    /// The identity of the file that `stat` describes.
    #[allow(clippy::unnecessary_cast, reason = "the width of these fields differs by system")]
    pub(super) fn of_stat(stat: &Stat) -> Self {
        Self { dev: stat.st_dev as u64, ino: stat.st_ino as u64 }
    }
}

/// An open folder.
#[derive(Debug)]
pub(super) struct Folder {
    handle: OwnedFd,
    id: FileId,
}

impl AsFd for Folder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}

impl Folder {
    /// A folder from its open handle.
    fn from_handle(handle: OwnedFd) -> io::Result<Arc<Self>> {
        let id = FileId::of_stat(&rustix::fs::fstat(&handle)?);
        Ok(Arc::new(Self { handle, id }))
    }

    pub(super) fn id(&self) -> FileId {
        self.id
    }

    /// The status of the file `name`. If it is a link: of the link itself, not of its target.
    pub(super) fn stat(&self, name: &OsStr) -> io::Result<Stat> {
        Ok(rustix::fs::statat(self, name, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// Opens `name`. Never follows a link, and never blocks on a pipe or a terminal.
    pub(super) fn open(&self, name: &OsStr, flags: OFlags) -> io::Result<File> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        Ok(File::from(rustix::fs::openat(self, name, flags, Mode::empty())?))
    }

    /// Creates a file with this mode; an error if the name exists.
    pub(super) fn create(&self, name: &OsStr, mode: u32) -> io::Result<File> {
        let flags = OFlags::CREATE
            | OFlags::EXCL
            | OFlags::RDWR
            | OFlags::NOFOLLOW
            | OFlags::NOCTTY
            | OFlags::CLOEXEC;
        // Modes have 16 bits on macOS and 32 on Linux.
        let mode = Mode::from_raw_mode(mode as rustix::fs::RawMode);
        Ok(File::from(rustix::fs::openat(self, name, flags, mode)?))
    }

    /// Removes the file `name`.
    pub(super) fn unlink(&self, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(self, name, AtFlags::empty())?)
    }

    /// Removes the empty subfolder `name`.
    pub(super) fn remove_folder(&self, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(self, name, AtFlags::REMOVEDIR)?)
    }

    /// Makes the names in this folder durable.
    pub(super) fn sync(&self) -> io::Result<()> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let readable = rustix::fs::openat(self, ".", flags, Mode::empty())?;
        File::from(readable).sync_all()
    }

    /// The names in this folder.
    pub(super) fn names(&self) -> io::Result<Vec<OsString>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let readable = rustix::fs::openat(self, ".", flags, Mode::empty())?;
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::new(readable)? {
            let name = OsString::from_vec(entry?.file_name().to_bytes().to_vec());
            if name != "." && name != ".." {
                names.push(name);
            }
        }
        Ok(names)
    }

    /// Opens the subfolder `name`; an error if it is a link or not a folder.
    pub(super) fn enter(&self, name: &OsStr) -> io::Result<Arc<Self>> {
        let flags = OPEN_FOLDER | OFlags::NOFOLLOW;
        Self::from_handle(rustix::fs::openat(self, name, flags, Mode::empty())?)
    }

    /// The target of the link `name`; `None` if it is not a link or does not exist.
    fn read_link(&self, name: &OsStr) -> io::Result<Option<OsString>> {
        match rustix::fs::readlinkat(self, name, Vec::new()) {
            Ok(target) => Ok(Some(OsString::from_vec(target.into_bytes()))),
            Err(Errno::INVAL | Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
const OPEN_FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const OPEN_FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// The result of resolving a path: a name in an open folder below the root.
#[derive(Debug, Clone)]
pub(super) struct Target {
    /// The folder.
    pub(super) folder: Arc<Folder>,
    /// The name in it. When the path was resolved, it was not a link.
    pub(super) name: OsString,
    /// The path from the root without links, for policy, history and messages.
    pub(super) real: PathBuf,
}

/// A folder that was created while a path was resolved.
#[derive(Debug)]
pub(super) struct CreatedFolder {
    /// The folder that it is in.
    pub(super) parent: Arc<Folder>,
    /// Its name in the parent.
    pub(super) name: OsString,
    /// Its path from the root.
    pub(super) real: PathBuf,
}

/// What to do if a folder on the path is missing.
enum OnMissing<'a> {
    Fail,
    Create { created: &'a mut Vec<CreatedFolder>, allow: &'a mut dyn FnMut(&Path) -> bool },
}

/// The folder below which all paths are resolved.
#[derive(Debug)]
pub(super) struct Root {
    folder: RwLock<Arc<Folder>>,
    path: PathBuf,
}

/// Opens files below a folder to read them: for a search, which finds them by their paths. What has
/// taken the place of a file since, such as a link to elsewhere or a pipe, is not opened.
#[cfg(feature = "search")]
#[derive(Debug)]
pub(crate) struct Reader(Root);

#[cfg(feature = "search")]
impl Reader {
    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        Root::open(folder).map(Self)
    }

    /// Opens the regular file at `path`, which is relative to the folder.
    pub(crate) fn file(&self, path: &Path) -> io::Result<File> {
        self.0.resolve(path)?.open(OFlags::RDONLY).map_err(|why| match why {
            OpenError::Io(error) => error,
            _ => io::Error::other("it is not a regular file"),
        })
    }
}

/// Which folder the path of the root leads to now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RootCheck {
    /// The folder that is open.
    Same,
    /// Another folder, which has been opened instead.
    Reopened,
}

impl Root {
    /// Opens the root; `path` may lead through links.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let path = path.canonicalize()?;
        let handle = rustix::fs::open(&path, OPEN_FOLDER, Mode::empty())?;
        Ok(Self { folder: RwLock::new(Folder::from_handle(handle)?), path })
    }

    /// Checks that the path of the root still leads to the open folder; if another folder is there,
    /// opens that one. An error if the path no longer exists or now leads through a link.
    pub(super) fn recheck(&self) -> io::Result<RootCheck> {
        let now = rustix::fs::stat(&self.path)?;
        if FileId::of_stat(&now) == self.folder().id() {
            return Ok(RootCheck::Same);
        }
        if self.path.canonicalize()? != self.path {
            return Err(Errno::XDEV.into());
        }
        let folder =
            Folder::from_handle(rustix::fs::open(&self.path, OPEN_FOLDER, Mode::empty())?)?;
        *self.folder.write().unwrap_or_else(PoisonError::into_inner) = folder;
        Ok(RootCheck::Reopened)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn folder(&self) -> Arc<Folder> {
        self.folder.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Resolves `path` to a folder and a name in it. Nothing of that name needs to exist.
    pub(super) fn resolve(&self, path: &Path) -> io::Result<Target> {
        match self.resolve_by_kernel(path)? {
            Some(target) => Ok(target),
            None => self.resolve_by_walk(path, OnMissing::Fail),
        }
    }

    /// Resolves `path` and creates missing folders. Before the first is created, `allow` gets the
    /// path with its links resolved; if it returns `false`, nothing is created.
    pub(super) fn resolve_creating(
        &self,
        path: &Path,
        created: &mut Vec<CreatedFolder>,
        allow: &mut dyn FnMut(&Path) -> bool,
    ) -> io::Result<Target> {
        match self.resolve(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.resolve_by_walk(path, OnMissing::Create { created, allow })
            }
            other => other,
        }
    }

    /// Resolves a path by the kernel; `None` if it has a link in it or the kernel cannot do this,
    /// so that the checked walk is needed.
    fn resolve_by_kernel(&self, path: &Path) -> io::Result<Option<Target>> {
        let (Some(name), parent) = (path.file_name(), path.parent()) else { return Ok(None) };
        let folder = match parent.filter(|parent| !parent.as_os_str().is_empty()) {
            None => self.folder(),
            Some(parent) => match open_beneath(&self.folder(), parent) {
                Ok(handle) => Folder::from_handle(handle)?,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(error),
                Err(_) => return Ok(None),
            },
        };
        match folder.stat(name) {
            Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink => Ok(None),
            _ => Ok(Some(Target { folder, name: name.to_owned(), real: path.to_owned() })),
        }
    }

    /// Resolves a path by the checked walk, folder by folder.
    fn resolve_by_walk(&self, path: &Path, mut on_missing: OnMissing<'_>) -> io::Result<Target> {
        let root = self.folder();
        let mut pending: VecDeque<OsString> = parts(path);
        // The folders from the root down to the current one, with their names.
        let mut entered: Vec<(Arc<Folder>, OsString)> = Vec::new();
        let mut link_count = 0;
        while let Some(part) = pending.pop_front() {
            if part == ".." {
                entered.pop().ok_or(Errno::XDEV)?;
                continue;
            }
            let current = entered.last().map_or(&root, |(folder, _)| folder).clone();
            if let Some(link_text) = current.read_link(&part)? {
                link_count += 1;
                if link_count > MAX_LINKS {
                    return Err(Errno::LOOP.into());
                }
                let link_target = Path::new(&link_text);
                let remaining_path = if link_target.is_absolute() {
                    // The walk goes on from the root. Comparing only the text of the link is safe,
                    // because the walk opens each folder itself.
                    entered.clear();
                    link_target.strip_prefix(&self.path).map_err(|_| Errno::XDEV)?
                } else {
                    link_target
                };
                for link_part in parts(remaining_path).into_iter().rev() {
                    pending.push_front(link_part);
                }
                continue;
            }
            let real_path =
                || entered.iter().map(|(_, name)| name).chain([&part]).collect::<PathBuf>();
            if pending.is_empty() {
                let real = real_path();
                return Ok(Target { folder: current, name: part, real });
            }
            let next = match (current.enter(&part), &mut on_missing) {
                (Ok(folder), _) => folder,
                (Err(error), OnMissing::Create { created, allow })
                    if error.kind() == io::ErrorKind::NotFound =>
                {
                    // A missing folder has no links in it, so the remaining path is as written.
                    let remaining: PathBuf = pending.iter().collect();
                    if !allow(&real_path().join(remaining)) {
                        return Err(Errno::PERM.into());
                    }
                    match rustix::fs::mkdirat(&current, &part, Mode::from_raw_mode(0o777)) {
                        Ok(()) => {
                            created.push(CreatedFolder {
                                parent: current.clone(),
                                name: part.clone(),
                                real: real_path(),
                            });
                        }
                        Err(Errno::EXIST) => {}
                        Err(error) => return Err(error.into()),
                    }
                    current.enter(&part)?
                }
                (Err(error), _) => return Err(error),
            };
            entered.push((next, part));
        }
        Err(Errno::ISDIR.into())
    }
}

/// The names in a path, `..` included and `.` left out.
fn parts(path: &Path) -> VecDeque<OsString> {
    path.components()
        .filter_map(|part| match part {
            Component::Normal(part) => Some(part.to_owned()),
            Component::ParentDir => Some(OsString::from("..")),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
        })
        .collect()
}

/// Opens a folder below `root` in one system call; an error if the path has a link in it.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn open_beneath(root: &Folder, path: &Path) -> io::Result<OwnedFd> {
    use rustix::fs::ResolveFlags;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_SYMLINKS;
    Ok(rustix::fs::openat2(root, path, OPEN_FOLDER, Mode::empty(), resolve)?)
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn open_beneath(_root: &Folder, _path: &Path) -> io::Result<OwnedFd> {
    Err(Errno::NOSYS.into())
}

/// Why a target cannot be opened as a regular file.
#[derive(Debug)]
pub(super) enum OpenError {
    /// Nothing of that name exists.
    Missing,
    /// It is not a regular file but of this kind.
    Kind(&'static str),
    /// The name led to another file a moment later; resolve the path again.
    Moved,
    /// The system refused.
    Io(io::Error),
}

impl From<io::Error> for OpenError {
    fn from(error: io::Error) -> Self {
        match error.raw_os_error().map(Errno::from_raw_os_error) {
            Some(Errno::NOENT) => Self::Missing,
            Some(Errno::LOOP) => Self::Moved,
            _ => Self::Io(error),
        }
    }
}

impl Target {
    /// Opens the regular file at this target. Checks its kind first, because opening a device or a
    /// pipe can have effects or block.
    pub(super) fn open(&self, flags: OFlags) -> Result<File, OpenError> {
        let seen = self.folder.stat(&self.name)?;
        if let Some(kind) = uneditable_kind(FileType::from_raw_mode(seen.st_mode)) {
            return Err(OpenError::Kind(kind));
        }
        if FileType::from_raw_mode(seen.st_mode) == FileType::Symlink {
            return Err(OpenError::Moved);
        }
        let file = self.folder.open(&self.name, flags)?;
        if FileId::of(&file)? != FileId::of_stat(&seen) {
            return Err(OpenError::Moved);
        }
        if is_pseudo_file(&file)? {
            return Err(OpenError::Kind("a virtual file of the kernel"));
        }
        Ok(file)
    }

    /// Whether this target still leads to `file`.
    pub(super) fn is_same_file(&self, file: &File) -> io::Result<bool> {
        match self.folder.stat(&self.name) {
            Ok(stat) => Ok(FileId::of_stat(&stat) == FileId::of(file)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Opens a file once for writing if it has several hard links on an overlay file system. The
    /// first such open changes the file's inode, which must happen before the inode is compared.
    pub(super) fn copy_up(&self) {
        let link_count = self.folder.stat(&self.name).map_or(0, |stat| stat.st_nlink);
        if link_count > 1 && is_overlay(&self.folder) {
            let _ = self.open(OFlags::RDWR);
        }
    }
}

/// The kind of a file, if files of this kind cannot be edited; `None` for a regular file and for a
/// link.
fn uneditable_kind(file_type: FileType) -> Option<&'static str> {
    match file_type {
        FileType::RegularFile | FileType::Symlink => None,
        FileType::Directory => Some("a folder"),
        FileType::Fifo => Some("a named pipe"),
        FileType::Socket => Some("a socket"),
        FileType::CharacterDevice | FileType::BlockDevice => Some("a device"),
        FileType::Unknown => Some("not a regular file"),
    }
}

/// Whether the file is on `proc`, `sysfs` or the like, where files have no stored content.
#[cfg(any(target_os = "linux", target_os = "android"))]
#[allow(clippy::unnecessary_cast, reason = "the width of the field differs by system")]
fn is_pseudo_file(file: &File) -> io::Result<bool> {
    // proc, sysfs, cgroup, cgroup2, debugfs, tracefs, securityfs, configfs, bpf, efivarfs
    const PSEUDO_FILE_SYSTEMS: [u32; 10] = [
        0x9fa0,
        0x6265_6572,
        0x27e0eb,
        0x6367_7270,
        0x6462_6720,
        0x7472_6163,
        0x7363_6673,
        0x6265_6570,
        0xcafe_4a11,
        0xde5e_81e4,
    ];
    let file_system = rustix::fs::fstatfs(file)?.f_type as u32;
    Ok(PSEUDO_FILE_SYSTEMS.contains(&file_system))
}

#[cfg(any(target_os = "linux", target_os = "android"))]
#[allow(clippy::unnecessary_cast, reason = "the width of the field differs by system")]
fn is_overlay(folder: &Folder) -> bool {
    const OVERLAYFS_MAGIC: u32 = 0x794c_7630;
    rustix::fs::fstatfs(folder).is_ok_and(|system| system.f_type as u32 == OVERLAYFS_MAGIC)
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn is_overlay(_folder: &Folder) -> bool {
    false
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn is_pseudo_file(_file: &File) -> io::Result<bool> {
    Ok(false)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    #[cfg(any(target_os = "linux", target_os = "android"))]
    fn neither_walk_is_led_outside_by_a_renaming_race() {
        use std::sync::atomic::{AtomicBool, Ordering};

        let temp = tempfile::tempdir().expect("temp");
        let root = temp.path().join("root");
        for folder in ["root/a/b", "outside/b"] {
            std::fs::create_dir_all(temp.path().join(folder)).expect("folder");
        }
        std::fs::write(root.join("a/b/f"), "inside").expect("file");
        std::fs::write(temp.path().join("outside/b/f"), "outside").expect("file");
        symlink("../outside", root.join("link")).expect("link");
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let (folder, link) = (root.join("a"), root.join("link"));
                while !stop.load(Ordering::Relaxed) {
                    let cwd = rustix::fs::CWD;
                    let flags = rustix::fs::RenameFlags::EXCHANGE;
                    let _ = rustix::fs::renameat_with(cwd, &folder, cwd, &link, flags);
                }
            });
            let root = Root::open(&root).expect("root");
            for by_walk in [false, true] {
                let mut seen = 0;
                for _ in 0..20_000 {
                    let target = match by_walk {
                        true => root.resolve_by_walk(Path::new("a/b/f"), OnMissing::Fail),
                        false => root.resolve(Path::new("a/b/f")),
                    };
                    let Ok(target) = target else { continue };
                    let Ok(file) = target.open(OFlags::RDONLY) else { continue };
                    assert_eq!(std::io::read_to_string(file).expect("read"), "inside");
                    seen += 1;
                }
                assert!(seen > 100, "only {seen} opened");
            }
            stop.store(true, Ordering::Relaxed);
        });
    }
}
