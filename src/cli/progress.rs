//! The progress of long work on standard error, with an estimate of the time left.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Progress is shown once the work has taken this long.
const SHOW_AFTER: Duration = Duration::from_secs(1);

/// The shortest time between two updates.
const REDRAW_INTERVAL: Duration = Duration::from_millis(200);

/// Counts finished items, and shows the count if standard error is a terminal.
#[derive(Debug)]
pub struct Progress {
    what: &'static str,
    /// How much of the work is one of what is shown.
    unit: usize,
    total: usize,
    done: AtomicUsize,
    began: Instant,
    /// When the last line was written; `None` if standard error is no terminal.
    last_shown: Option<Mutex<Instant>>,
}

impl Progress {
    /// Progress of work on `total` items. The line of progress calls them `what`, such as "cases".
    pub fn new(what: &'static str, total: usize) -> Self {
        Self::in_units(what, 1, total)
    }

    /// Progress of reading this many bytes, shown in megabytes.
    pub fn of_bytes(total: u64) -> Self {
        Self::in_units("MB", 1_000_000, usize::try_from(total).unwrap_or(usize::MAX))
    }

    fn in_units(what: &'static str, unit: usize, total: usize) -> Self {
        let began = Instant::now();
        let last_shown = io::stderr().is_terminal().then(|| Mutex::new(began));
        Self { what, unit, total, done: AtomicUsize::new(0), began, last_shown }
    }

    /// Counts one more finished item.
    pub fn advance(&self) {
        self.advance_by(1);
    }

    /// Counts finished work.
    pub fn advance_by(&self, work: u64) {
        let work = usize::try_from(work).unwrap_or(usize::MAX);
        let done = self.done.fetch_add(work, Ordering::Relaxed).saturating_add(work);
        // While another thread writes a line, this one need not.
        let Some(Ok(mut last_shown)) = self.last_shown.as_ref().map(Mutex::try_lock) else {
            return;
        };
        let now = Instant::now();
        if now - self.began < SHOW_AFTER || now - *last_shown < REDRAW_INTERVAL {
            return;
        }
        *last_shown = now;
        let line = progress_line(self.what, self.unit, done, self.total, now - self.began);
        // A lost line of progress does no harm.
        let _ = write!(io::stderr().lock(), "\r\x1b[K{line}");
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.last_shown.is_some() {
            let _ = write!(io::stderr().lock(), "\r\x1b[K");
        }
    }
}

/// The line of progress, such as `10 of 40 cases, about 15 s left`.
fn progress_line(what: &str, unit: usize, done: usize, total: usize, elapsed: Duration) -> String {
    let remaining = total.saturating_sub(done);
    let [done_128, remaining] = [done.max(1), remaining].map(|n| u128::try_from(n).unwrap_or(1));
    let seconds = (elapsed.as_millis() * remaining).div_ceil(done_128 * 1000);
    format!("{} of {} {what}, about {seconds} s left", done / unit, total.div_ceil(unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_estimate_is_by_what_is_done() {
        let line =
            |done, elapsed| progress_line("cases", 1, done, 40, Duration::from_secs(elapsed));
        assert_eq!(line(10, 5), "10 of 40 cases, about 15 s left");
        assert_eq!(line(40, 20), "40 of 40 cases, about 0 s left");
    }
}
