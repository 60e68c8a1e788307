//! Finds files below one root by folder handles, so that no link and no renaming
//! race can lead outside.
//!
//! On Linux the kernel resolves a path that has no symlink in it (`openat2`). Paths
//! with symlinks, and other systems, take a checked walk: one folder handle after the
//! other, never following a link blindly, `..` by going back to a handle that is held.
//! What comes out is a folder handle and one name in it; everything later happens
//! relative to that handle, and no later step follows a link.
//!
//! Limit: a folder that is moved out of the root while a commit is under way
//! is still that folder; a handle follows the folder, not its name.

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

/// As many links as Linux follows in one path.
const MAX_LINKS: usize = 40;

/// Which file, whatever its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct FileId {
    dev: u64,
    ino: u64,
}

impl FileId {
    pub(super) fn of(file: &File) -> io::Result<Self> {
        let meta = file.metadata()?;
        Ok(Self { dev: meta.dev(), ino: meta.ino() })
    }

    #[allow(clippy::unnecessary_cast, reason = "the width of these fields differs by system")]
    pub(super) fn of_stat(stat: &Stat) -> Self {
        Self { dev: stat.st_dev as u64, ino: stat.st_ino as u64 }
    }
}

/// A folder that is held open.
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
    fn from_handle(handle: OwnedFd) -> io::Result<Arc<Self>> {
        let id = FileId::of_stat(&rustix::fs::fstat(&handle)?);
        Ok(Arc::new(Self { handle, id }))
    }

    pub(super) fn id(&self) -> FileId {
        self.id
    }

    /// What `name` is, links not followed.
    pub(super) fn stat(&self, name: &OsStr) -> io::Result<Stat> {
        Ok(rustix::fs::statat(self, name, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// Opens `name`, never through a link and never waiting for a peer.
    pub(super) fn open(&self, name: &OsStr, flags: OFlags) -> io::Result<File> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        Ok(File::from(rustix::fs::openat(self, name, flags, Mode::empty())?))
    }

    /// A new file that only its owner can open.
    pub(super) fn create(&self, name: &OsStr, mode: u32) -> io::Result<File> {
        let flags = OFlags::CREATE
            | OFlags::EXCL
            | OFlags::RDWR
            | OFlags::NOFOLLOW
            | OFlags::NOCTTY
            | OFlags::CLOEXEC;
        // A Mac's modes have 16 bits.
        let mode = Mode::from_raw_mode(mode as rustix::fs::RawMode);
        Ok(File::from(rustix::fs::openat(self, name, flags, mode)?))
    }

    pub(super) fn unlink(&self, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(self, name, AtFlags::empty())?)
    }

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

    /// The folder `name` in this one, if it is a folder and not a link to one.
    pub(super) fn enter(&self, name: &OsStr) -> io::Result<Arc<Self>> {
        let flags = OPEN_FOLDER | OFlags::NOFOLLOW;
        Self::from_handle(rustix::fs::openat(self, name, flags, Mode::empty())?)
    }

    /// Where the link `name` points; `None` when it is no link.
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

/// A name in a folder that was reached below the root.
#[derive(Debug, Clone)]
pub(super) struct Target {
    /// The folder.
    pub(super) folder: Arc<Folder>,
    /// The name in it. It was no link when it was looked at.
    pub(super) name: OsString,
    /// The path from the root without links, for policy, history and messages.
    pub(super) real: PathBuf,
}

/// A folder that was made on the way.
#[derive(Debug)]
pub(super) struct CreatedFolder {
    /// Where.
    pub(super) parent: Arc<Folder>,
    /// Its name there.
    pub(super) name: OsString,
    /// Its path from the root.
    pub(super) real: PathBuf,
}

/// What to do about folders that are missing.
enum OnMissing<'a> {
    Fail,
    Make { created: &'a mut Vec<CreatedFolder>, allow: &'a dyn Fn(&Path) -> bool },
}

/// How paths are resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Walk {
    /// By the kernel where it can, else by the checked walk.
    Kernel,
    /// Always by the checked walk.
    #[cfg_attr(not(test), expect(dead_code, reason = "what other systems do, tested on this one"))]
    Checked,
}

/// The folder that nothing leads out of.
#[derive(Debug)]
pub(super) struct Root {
    folder: RwLock<Arc<Folder>>,
    path: PathBuf,
    walk: Walk,
}

/// What the path of the root means now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RootCheck {
    /// The folder that was opened.
    Same,
    /// Another one, which is open from now on.
    Reopened,
}

impl Root {
    pub(super) fn open(path: &Path, walk: Walk) -> io::Result<Self> {
        let path = path.canonicalize()?;
        let handle = rustix::fs::open(&path, OPEN_FOLDER, Mode::empty())?;
        Ok(Self { folder: RwLock::new(Folder::from_handle(handle)?), path, walk })
    }

    /// Looks whether the path of the root still means the folder that is held, and opens
    /// the one that it means now. A path that is gone, or leads elsewhere, is an error.
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

    /// Finds the folder and name that `path` means. The name itself may be missing.
    pub(super) fn resolve(&self, path: &Path) -> io::Result<Target> {
        if self.walk == Walk::Kernel
            && let Some(target) = self.resolve_by_kernel(path)?
        {
            return Ok(target);
        }
        self.walk(path, OnMissing::Fail)
    }

    /// The same, and makes the folders above that are missing. `allow` sees the real path
    /// before the first of them is made.
    pub(super) fn resolve_creating(
        &self,
        path: &Path,
        created: &mut Vec<CreatedFolder>,
        allow: &dyn Fn(&Path) -> bool,
    ) -> io::Result<Target> {
        match self.resolve(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.walk(path, OnMissing::Make { created, allow })
            }
            other => other,
        }
    }

    /// `None` when a link is in the way or the kernel cannot: then the walk decides.
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

    fn walk(&self, path: &Path, mut missing: OnMissing<'_>) -> io::Result<Target> {
        let root = self.folder();
        let mut pending: VecDeque<OsString> = parts(path);
        let mut above: Vec<(Arc<Folder>, OsString)> = Vec::new();
        let mut links = 0;
        while let Some(part) = pending.pop_front() {
            if part == ".." {
                above.pop().ok_or(Errno::XDEV)?;
                continue;
            }
            let here = above.last().map_or(&root, |(folder, _)| folder).clone();
            if let Some(target) = here.read_link(&part)? {
                links += 1;
                if links > MAX_LINKS {
                    return Err(Errno::LOOP.into());
                }
                let target = Path::new(&target);
                let target = if target.is_absolute() {
                    above.clear();
                    // The letters only say where to look; the walk goes there by handles.
                    target.strip_prefix(&self.path).map_err(|_| Errno::XDEV)?
                } else {
                    target
                };
                for part in parts(target).into_iter().rev() {
                    pending.push_front(part);
                }
                continue;
            }
            let real = || above.iter().map(|(_, name)| name).chain([&part]).collect::<PathBuf>();
            if pending.is_empty() {
                let real = real();
                return Ok(Target { folder: here, name: part, real });
            }
            let next = match (here.enter(&part), &mut missing) {
                (Ok(folder), _) => folder,
                (Err(error), OnMissing::Make { created, allow })
                    if error.kind() == io::ErrorKind::NotFound =>
                {
                    // What is missing holds no links, so the rest of the path is its letters.
                    let rest: PathBuf = pending.iter().collect();
                    if !allow(&real().join(rest)) {
                        return Err(Errno::PERM.into());
                    }
                    match rustix::fs::mkdirat(&here, &part, Mode::from_raw_mode(0o777)) {
                        Ok(()) => {
                            created.push(CreatedFolder {
                                parent: here.clone(),
                                name: part.clone(),
                                real: real(),
                            });
                        }
                        Err(Errno::EXIST) => {}
                        Err(error) => return Err(error.into()),
                    }
                    here.enter(&part)?
                }
                (Err(error), _) => return Err(error),
            };
            above.push((next, part));
        }
        Err(Errno::ISDIR.into())
    }
}

fn parts(path: &Path) -> VecDeque<OsString> {
    path.components()
        .filter_map(|part| match part {
            Component::Normal(part) => Some(part.to_owned()),
            Component::ParentDir => Some(OsString::from("..")),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
        })
        .collect()
}

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

/// Why a name cannot be opened as a file to edit.
#[derive(Debug)]
pub(super) enum OpenError {
    /// Nothing is there.
    Missing,
    /// It is something else.
    Kind(&'static str),
    /// It changed under our hands; look again.
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
        if let Some(kind) = describe_kind(FileType::from_raw_mode(seen.st_mode)) {
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

    /// Whether `file` is still what is here.
    pub(super) fn is_same_file(&self, file: &File) -> io::Result<bool> {
        match self.folder.stat(&self.name) {
            Ok(stat) => Ok(FileId::of_stat(&stat) == FileId::of(file)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// A file with several names in the lower layer of an overlay gets another identity when
    /// it is first opened for writing. That happens here, before its identity is read.
    pub(super) fn copy_up(&self) {
        let names = self.folder.stat(&self.name).map_or(0, |stat| stat.st_nlink);
        if names > 1 && is_overlay(&self.folder) {
            let _ = self.open(OFlags::RDWR);
        }
    }
}

fn describe_kind(found: FileType) -> Option<&'static str> {
    match found {
        FileType::RegularFile | FileType::Symlink => None,
        FileType::Directory => Some("a folder"),
        FileType::Fifo => Some("a named pipe"),
        FileType::Socket => Some("a socket"),
        FileType::CharacterDevice | FileType::BlockDevice => Some("a device"),
        FileType::Unknown => Some("not a regular file"),
    }
}

/// Files of proc, sysfs and their like have no content that could be kept.
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
    let system = rustix::fs::fstatfs(file)?.f_type as u32;
    Ok(PSEUDO_FILE_SYSTEMS.contains(&system))
}

#[cfg(any(target_os = "linux", target_os = "android"))]
#[allow(clippy::unnecessary_cast, reason = "the width of the field differs by system")]
fn is_overlay(folder: &Folder) -> bool {
    rustix::fs::fstatfs(folder).is_ok_and(|system| system.f_type as u32 == 0x794c_7630)
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

    fn roots(path: &Path) -> [Root; 2] {
        [Walk::Kernel, Walk::Checked].map(|walk| Root::open(path, walk).expect("root"))
    }

    #[test]
    fn links_inside_are_followed_and_links_outside_are_not() {
        let temp = tempfile::tempdir().expect("temp");
        let root = temp.path().join("root");
        std::fs::create_dir_all(root.join("a/b")).expect("folders");
        std::fs::create_dir_all(temp.path().join("outside")).expect("folders");
        std::fs::write(root.join("a/b/f"), "x").expect("file");
        symlink("a/b", root.join("in")).expect("link");
        symlink("../b/f", root.join("a/b/up")).expect("link");
        symlink(root.join("a/b/f"), root.join("absolute")).expect("link");
        symlink("../outside", root.join("out")).expect("link");
        symlink("/etc", root.join("etc")).expect("link");
        symlink("loop", root.join("loop")).expect("link");
        symlink("missing/x", root.join("dangling")).expect("link");
        for root in roots(&root) {
            for path in ["a/b/f", "in/f", "in/up", "absolute", "a/b/up"] {
                let target = root.resolve(Path::new(path)).expect(path);
                assert_eq!(target.real, Path::new("a/b/f"), "{path}");
                assert!(target.open(OFlags::RDONLY).is_ok(), "{path}");
            }
            for path in ["out/x", "out", "etc/passwd", "loop", "loop/x", "a/b/f/x", "dangling"] {
                assert!(root.resolve(Path::new(path)).is_err(), "{path} is reached");
            }
        }
    }

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
                let (one, other) = (root.join("a"), root.join("link"));
                while !stop.load(Ordering::Relaxed) {
                    let here = rustix::fs::CWD;
                    let flags = rustix::fs::RenameFlags::EXCHANGE;
                    let _ = rustix::fs::renameat_with(here, &one, here, &other, flags);
                }
            });
            for root in roots(&root) {
                let mut seen = 0;
                for _ in 0..20_000 {
                    let Ok(target) = root.resolve(Path::new("a/b/f")) else { continue };
                    let Ok(file) = target.open(OFlags::RDONLY) else { continue };
                    assert_eq!(std::io::read_to_string(file).expect("read"), "inside");
                    seen += 1;
                }
                assert!(seen > 100, "{:?}: only {seen} opened", root.walk);
            }
            stop.store(true, Ordering::Relaxed);
        });
    }

    #[test]
    fn a_chain_of_links_ends() {
        let temp = tempfile::tempdir().expect("temp");
        std::fs::write(temp.path().join("l0"), "x").expect("file");
        for n in 1..=45 {
            symlink(format!("l{}", n - 1), temp.path().join(format!("l{n}"))).expect("link");
        }
        for root in roots(temp.path()) {
            assert_eq!(root.resolve(Path::new("l39")).expect("39 links").real, Path::new("l0"));
            assert!(root.resolve(Path::new("l45")).is_err());
        }
    }

    #[test]
    fn missing_folders_are_made_below_the_root_only() {
        let temp = tempfile::tempdir().expect("temp");
        for (n, root) in roots(temp.path()).into_iter().enumerate() {
            let mut created = Vec::new();
            let path = format!("new{n}/deep/file");
            let target =
                root.resolve_creating(Path::new(&path), &mut created, &|_| true).expect("made");
            assert_eq!((target.real.to_str(), created.len()), (Some(path.as_str()), 2));
            assert!(temp.path().join(format!("new{n}/deep")).is_dir());
        }
    }
}
