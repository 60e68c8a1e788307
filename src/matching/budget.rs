//! A limit on the work of one call. The loops of the matcher count their steps with [`spend`], and
//! stop at its error; [`Budget::run`] then gives the error to whoever began the work, who makes it a
//! refusal. Steps are counted instead of time, so that the same call gets the same result on every
//! machine, and nothing unwinds, so that the limit also holds with `panic = "abort"`.
//!
//! One budget serves all the matching of a call, also that of its several edits. It is made where the
//! call begins and passed on by reference.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::edit::message::OLD;
use crate::edit::{EditCode, Refusal, said};

/// The most steps of one call. A step is about the work of comparing a few characters.
pub(crate) const MAX_STEPS: u64 = 1_500_000_000;

/// Steps between two checks that the caller still waits.
const CANCEL_CHECK_INTERVAL: u64 = 1 << 16;

/// Why the work on a call must end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exhausted {
    /// The work exceeded the budget.
    Steps,
    /// The caller no longer waits.
    Cancelled,
}

impl Exhausted {
    /// The refusal for the caller.
    pub(crate) fn refusal(self) -> Refusal {
        match self {
            Self::Steps => Refusal::new(
                EditCode::TooLarge,
                said!("{OLD} is not in the file as sent, and matching it in other forms takes more than {MAX_STEPS} steps, the limit of one call"),
            )
            .hint("Nothing was written. Quote fewer lines, exactly as the file has them."),
            Self::Cancelled => {
                Refusal::new(EditCode::Conflict, "the call was cancelled while it was being matched")
                    .hint("Nothing was written.")
            }
        }
    }
}

/// The steps that work has left, or why it must end.
type Work = Result<u64, Exhausted>;

thread_local! {
    /// The work that [`Budget::run`] runs on this thread.
    static WORK: Cell<Option<Work>> = const { Cell::new(None) };
    /// The flag that is set when the caller of this thread's work no longer waits.
    static CANCELLED: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// The steps that one call has left.
#[derive(Debug)]
pub(crate) struct Budget(Cell<u64>);

impl Default for Budget {
    fn default() -> Self {
        Self::of(MAX_STEPS)
    }
}

impl Budget {
    /// A budget of some steps.
    fn of(steps: u64) -> Self {
        Self(Cell::new(steps))
    }

    /// Runs work that counts with [`spend`]. The error says that it was cut short, so that its result
    /// does not count. Within an outer run, it counts against the outer budget.
    pub(crate) fn run<T>(&self, work: impl FnOnce() -> T) -> Result<T, Exhausted> {
        let is_outer = WORK.get().is_none();
        let _end = is_outer.then(|| {
            WORK.set(Some(Ok(self.0.get())));
            OnEnd(|| WORK.set(None))
        });
        let done = work();
        let after = WORK.get().unwrap_or(Ok(0));
        if is_outer {
            self.0.set(after.unwrap_or(0));
        }
        after.map(|_| done)
    }
}

/// Does this when work ends, also when it panics: the thread may serve other calls.
struct OnEnd<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnEnd<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Counts steps of the work that [`Budget::run`] runs on this thread. At an error the work must stop
/// where it is; every later call fails, too. Elsewhere it does nothing.
pub(crate) fn spend(steps: usize) -> Result<(), Exhausted> {
    let Some(work) = WORK.get() else { return Ok(()) };
    let before = work?;
    let after = match before.checked_sub(steps as u64).filter(|_| before > 0) {
        None => Err(Exhausted::Steps),
        Some(left) => {
            let is_due = before / CANCEL_CHECK_INTERVAL != left / CANCEL_CHECK_INTERVAL;
            let is_set = |flag: &Arc<AtomicBool>| flag.load(Ordering::Relaxed);
            let is_cancelled = || CANCELLED.with_borrow(|flag| flag.as_ref().is_some_and(is_set));
            if is_due && is_cancelled() { Err(Exhausted::Cancelled) } else { Ok(left) }
        }
    };
    WORK.set(Some(after));
    after.map(|_| ())
}

/// The flag that is set when the caller of this thread's work no longer waits. There is one only on a
/// thread that [`run_until_cancelled`] has to itself, and which may therefore block.
#[cfg(unix)]
pub(crate) fn cancel_flag() -> Option<Arc<AtomicBool>> {
    CANCELLED.with_borrow(Clone::clone)
}

/// Runs the work. Once the flag is set, the next check of a budget ends it.
#[cfg(feature = "mcp")]
pub(crate) fn run_until_cancelled<T>(cancelled: Arc<AtomicBool>, work: impl FnOnce() -> T) -> T {
    let mut before = CANCELLED.replace(Some(cancelled));
    let _restore = OnEnd(|| CANCELLED.set(before.take()));
    work()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_over_the_budget_ends_and_the_rest_is_kept() {
        let budget = Budget::of(100);
        assert_eq!(budget.run(|| spend(60)), Ok(Ok(())));
        assert_eq!(
            budget.run(|| Budget::default().run(|| spend(41)).is_err()),
            Err(Exhausted::Steps)
        );
        assert_eq!(budget.run(|| spend(1)), Err(Exhausted::Steps));
        assert_eq!(Budget::of(1).run(|| 7), Ok(7));
        // Not run by a budget: no limit.
        assert_eq!(spend(usize::MAX), Ok(()));
    }

    #[test]
    fn work_that_panics_leaves_no_budget_behind() {
        struct After(std::sync::mpsc::Sender<bool>);
        impl Drop for After {
            fn drop(&mut self) {
                let _ = self.0.send(spend(usize::MAX).is_ok());
            }
        }
        let (send, seen) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(|| {
            let _after = After(send);
            Budget::of(5).run(|| panic!("as a defect would"))
        });
        assert!(thread.join().is_err());
        assert_eq!(seen.recv(), Ok(true));
    }

    #[cfg(feature = "mcp")]
    #[test]
    fn cancelled_work_ends() {
        let flag = Arc::new(AtomicBool::new(false));
        let done = run_until_cancelled(flag.clone(), || {
            Budget::default().run(|| {
                flag.store(true, Ordering::Relaxed);
                spend(1 << 20).is_err()
            })
        });
        assert_eq!(done, Err(Exhausted::Cancelled));
        assert_eq!(Budget::default().run(|| spend(1 << 20)), Ok(Ok(())));
    }
}
