//! Long work on all cores, with its progress on standard error and an estimate of the time left.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::harness::parallel;

/// Progress is shown once the work has taken this long.
const SHOW_AFTER: Duration = Duration::from_secs(1);

/// The shortest time between two updates.
const REDRAW_INTERVAL: Duration = Duration::from_millis(200);

/// What is counted: its name, and how much of the work one is.
pub(crate) type Unit = (&'static str, u64);

/// [`parallel`], with a line of progress if standard error is a terminal. `size` is how much of the
/// work an item is.
pub fn parallel_shown<T: Sync, R: Send>(
    items: &[T],
    unit: Unit,
    size: impl Fn(&T) -> u64 + Sync,
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    if !io::stderr().is_terminal() {
        return parallel(items, work);
    }
    let total = items.iter().map(&size).sum();
    let (done, began) = (AtomicU64::new(0), Instant::now());
    let next_line = Mutex::new(began + SHOW_AFTER);
    let results = parallel(items, |item| {
        let result = work(item);
        let size = size(item);
        let done = done.fetch_add(size, Ordering::Relaxed) + size;
        let now = Instant::now();
        // While another thread writes a line, this one need not.
        if let Ok(mut next_line) = next_line.try_lock()
            && now >= *next_line
        {
            *next_line = now + REDRAW_INTERVAL;
            let line = progress_line(unit, done, total, now - began);
            // A lost line of progress does no harm.
            let _ = write!(io::stderr().lock(), "\r\x1b[K{line}");
        }
        result
    });
    let _ = write!(io::stderr().lock(), "\r\x1b[K");
    results
}

/// The line of progress, such as `10 of 40 cases, about 15 s left`.
fn progress_line((what, unit): Unit, done: u64, total: u64, elapsed: Duration) -> String {
    let remaining = u128::from(total.saturating_sub(done));
    let seconds = (elapsed.as_millis() * remaining).div_ceil(u128::from(done.max(1)) * 1000);
    format!("{} of {} {what}, about {seconds} s left", done / unit, total.div_ceil(unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_estimate_is_by_what_is_done() {
        let line =
            |done, seconds| progress_line(("MB", 5), done, 201, Duration::from_secs(seconds));
        assert_eq!(line(51, 5), "10 of 41 MB, about 15 s left");
        assert_eq!(line(201, 20), "40 of 41 MB, about 0 s left");
    }
}
