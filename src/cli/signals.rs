//! Signal handling. A signal ends the process only after a running commit is finished, so that an
//! interrupted edit leaves no temp file. A write beyond the file size limit fails with an error
//! instead of killing the process.
//!
//! A command that prints a result when it is interrupted handles the first signal itself; the
//! second signal always ends the process.

use std::future::Future;
use std::sync::{Mutex, PoisonError};

use tokio::sync::oneshot;

/// Where the exit code of the first signal is sent, if a command handles that signal.
static FIRST_SIGNAL: Mutex<Option<oneshot::Sender<i32>>> = Mutex::new(None);

/// Prevents the first signal from ending the process. Instead, the future resolves to the exit code of
/// that signal.
pub(crate) fn catch_first_signal() -> impl Future<Output = i32> {
    let (sender, receiver) = oneshot::channel();
    *FIRST_SIGNAL.lock().unwrap_or_else(PoisonError::into_inner) = Some(sender);
    async move {
        match receiver.await {
            Ok(code) => code,
            Err(_) => std::future::pending().await,
        }
    }
}

/// Installs the handlers of all signals that restitch handles.
#[cfg(unix)]
pub(crate) fn install_handlers() {
    use tokio::signal::unix::{SignalKind, signal};

    // With any handler for SIGXFSZ, the write fails with EFBIG.
    if let Ok(mut file_size) = signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()))
    {
        tokio::spawn(async move { while file_size.recv().await.is_some() {} });
    }
    for kind in [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()] {
        // The parent process had it ignored, as `nohup` does; it stays ignored.
        if is_ignored(kind.as_raw_value()) {
            continue;
        }
        let Ok(mut stream) = signal(kind) else { continue };
        tokio::spawn(async move {
            let code = 128 + kind.as_raw_value();
            while stream.recv().await.is_some() {
                let waiting = FIRST_SIGNAL.lock().unwrap_or_else(PoisonError::into_inner).take();
                let is_handled = waiting.is_some_and(|waiting| waiting.send(code).is_ok());
                if !is_handled {
                    exit_by_signal(code);
                }
            }
        });
    }
}

/// Whether the signal is ignored; always false outside Linux, which alone has `/proc`.
#[cfg(unix)]
fn is_ignored(number: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    u32::try_from(number - 1).is_ok_and(|bit| mask.checked_shr(bit).unwrap_or(0) & 1 == 1)
}

#[cfg(not(unix))]
pub(crate) fn install_handlers() {}

/// Waits for running commits, and prevents new ones.
pub(crate) fn finish_commits() {
    #[cfg(unix)]
    crate::store::quiesce();
}

/// Waits for running commits, and ends the process with `code`: 128 plus the number of the signal.
#[cfg(unix)]
#[expect(clippy::exit, reason = "a signal ends the process, as its sender wants")]
fn exit_by_signal(code: i32) {
    use std::io::Write as _;

    finish_commits();
    let signal = code - 128;
    // A closed stderr does not prevent the exit.
    let _ = writeln!(
        std::io::stderr().lock(),
        "restitch: ended by signal {signal}; no edit is half written. `restitch log` lists the finished ones"
    );
    std::process::exit(code);
}
