//! What is asked of the Linux kernel and `rustix` has no function for: whether a process has a file open
//! for writing, since its bytes are final only when none has. The only module with unsafe code. Elsewhere
//! the answer is always that no process has the file open.
#![allow(unsafe_code, reason = "reviewed: calls with an open descriptor and plain integers")]

use std::fs::File;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long to wait for a program that is saving into the file.
const WRITER_TIMEOUT: Duration = Duration::from_millis(100);

/// Waits a little until no process has the file open for writing; `false` if one still has.
/// `file` must be open for reading only, under a name that no other process knows.
pub(super) fn wait_for_writers(file: &File) -> bool {
    let deadline = Instant::now() + WRITER_TIMEOUT;
    while has_writer(file) {
        if Instant::now() >= deadline {
            return false;
        }
        sleep(Duration::from_micros(200));
    }
    true
}

/// From `fcntl.h`. The value is the same on every Linux architecture with a Rust standard library.
#[cfg(target_os = "linux")]
const F_SETSIG: libc::c_int = 10;

/// Whether any process has the file open for writing: the system then refuses a read lease.
#[cfg(target_os = "linux")]
fn has_writer(file: &File) -> bool {
    use std::os::fd::AsRawFd as _;

    let fd = file.as_raw_fd();
    // SAFETY: `fd` is open for as long as `file` is borrowed, and all three commands take
    // an integer. The signal of a broken lease is one that is ignored by default, since
    // the usual one would end the process.
    unsafe {
        if libc::fcntl(fd, F_SETSIG, libc::SIGURG) != 0 {
            return false;
        }
        if libc::fcntl(fd, libc::F_SETLEASE, libc::F_RDLCK) == 0 {
            libc::fcntl(fd, libc::F_SETLEASE, libc::F_UNLCK);
            return false;
        }
    }
    // Any other error means that this file system or this user cannot have leases.
    std::io::Error::last_os_error().raw_os_error() == Some(libc::EAGAIN)
}

#[cfg(not(target_os = "linux"))]
fn has_writer(_file: &File) -> bool {
    false
}
