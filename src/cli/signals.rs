//! Signals: a commit that is under way is finished before the process ends, so that an
//! interrupted edit leaves no temp file, and writing past the file size limit is an error
//! instead of death.

#[cfg(unix)]
pub(crate) fn heed() {
    use tokio::signal::unix::{SignalKind, signal};

    // Having a handler is all it takes: the write then fails with EFBIG.
    if let Ok(mut file_size) = signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()))
    {
        tokio::spawn(async move { while file_size.recv().await.is_some() {} });
    }
    for kind in [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()] {
        // Whoever started us may want it ignored: nohup, or a job in the background.
        if is_ignored(kind.as_raw_value()) {
            continue;
        }
        let Ok(mut stream) = signal(kind) else { continue };
        tokio::spawn(async move {
            if stream.recv().await.is_some() {
                end(128 + kind.as_raw_value());
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
pub(crate) fn heed() {}

/// Waits for commits that are under way, and lets no other start.
pub(crate) fn finish_commits() {
    #[cfg(unix)]
    crate::store::quiesce();
}

#[cfg(unix)]
#[expect(clippy::exit, reason = "a signal ends the process, as its sender wants")]
fn end(code: i32) {
    finish_commits();
    std::process::exit(code);
}
