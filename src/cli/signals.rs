//! Signals: a commit that is under way is finished before the process ends, so that an
//! interrupted edit leaves no temp file, and writing past the file size limit is an error
//! instead of death.
//!
//! A command that has something to say at its end takes the first signal itself; the
//! second one ends the process in any case.

use std::future::Future;
use std::sync::{Mutex, PoisonError};

use tokio::sync::oneshot;

/// The receiver of the first signal, as the exit code that goes with it.
static FIRST_SIGNAL: Mutex<Option<oneshot::Sender<i32>>> = Mutex::new(None);

/// Takes the first signal that would end the process; it resolves to the exit code.
pub(crate) fn first_signal() -> impl Future<Output = i32> {
    let (sender, receiver) = oneshot::channel();
    *FIRST_SIGNAL.lock().unwrap_or_else(PoisonError::into_inner) = Some(sender);
    async move {
        match receiver.await {
            Ok(code) => code,
            Err(_) => std::future::pending().await,
        }
    }
}

#[cfg(unix)]
pub(crate) fn install_handlers() {
    use tokio::signal::unix::{SignalKind, signal};

    // Having a handler is all it takes: the write then fails with EFBIG.
    if let Ok(mut file_size) = signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()))
    {
        tokio::spawn(async move { while file_size.recv().await.is_some() {} });
    }
    for kind in [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()] {
        // The parent process may want it ignored: nohup, or a job in the background.
        if is_ignored(kind.as_raw_value()) {
            continue;
        }
        let Ok(mut stream) = signal(kind) else { continue };
        tokio::spawn(async move {
            let code = 128 + kind.as_raw_value();
            while stream.recv().await.is_some() {
                let waiting = FIRST_SIGNAL.lock().unwrap_or_else(PoisonError::into_inner).take();
                if waiting.is_none_or(|waiting| waiting.send(code).is_err()) {
                    exit_by_signal(code);
                }
            }
        });
    }
}

/// Whether the signal was ignored when we started; only Linux tells.
#[cfg(unix)]
fn is_ignored(number: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    u32::try_from(number - 1).is_ok_and(|bit| mask.checked_shr(bit).unwrap_or(0) & 1 == 1)
}

#[cfg(not(unix))]
pub(crate) fn install_handlers() {}

/// Waits for commits that are under way, and lets no other start.
pub(crate) fn finish_commits() {
    #[cfg(unix)]
    crate::store::quiesce();
}

#[cfg(unix)]
#[expect(clippy::exit, reason = "a signal ends the process, as its sender wants")]
fn exit_by_signal(code: i32) {
    use std::io::Write as _;

    finish_commits();
    let signal = code - 128;
    // A closed stderr must not keep the process alive.
    let _ = writeln!(
        std::io::stderr().lock(),
        "restitch: ended by signal {signal}; no edit is half written, and `restitch log` lists those that were made"
    );
    #[cfg(feature = "otel")]
    super::traces::finish();
    std::process::exit(code);
}
