//! A limit on the work of one call. The loops of the matcher count their steps. A call that
//! exceeds the limit, or whose caller no longer waits, is aborted: the stack unwinds to where its
//! work began, and the result is discarded. Steps are counted instead of time, so that the same
//! call gets the same result on every machine.
//!
//! Code outside of [`WorkBudget::run`] is never aborted. With `panic = "abort"` there is no unwinding,
//! and so no limit.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::edit::{EditCode, Refusal};

/// The most steps of one call. A step is about the work of comparing a few characters.
pub(crate) const MAX_STEPS: u64 = 1_500_000_000;

/// Steps between two checks that the caller still waits.
const CANCEL_CHECK_INTERVAL: u64 = 1 << 16;

/// Why the work on a call was aborted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Aborted {
    /// The work exceeded the budget.
    BudgetExceeded,
    /// The caller no longer waits.
    Cancelled,
}

impl Aborted {
    /// The refusal for the caller.
    pub(crate) fn refusal(self) -> Refusal {
        match self {
            Self::BudgetExceeded => Refusal::new(
                EditCode::TooLarge,
                format!("old_str is not in the file as sent, and matching it in other forms takes more than {MAX_STEPS} steps, the limit of one call"),
            )
            .hint("Nothing was written. Quote fewer lines, exactly as the file has them, or use edit_lines."),
            Self::Cancelled => {
                Refusal::new(EditCode::Conflict, "the call was cancelled while it was being matched")
                    .hint("Nothing was written.")
            }
        }
    }
}

thread_local! {
    /// The steps left to the call on this thread; `None` while nothing is counted.
    static STEPS_LEFT: Cell<Option<u64>> = const { Cell::new(None) };
    /// The flag that is set when the caller of this thread's work no longer waits.
    static CANCELLED: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// The steps that one call has left.
#[derive(Debug)]
pub(crate) struct WorkBudget(u64);

impl Default for WorkBudget {
    fn default() -> Self {
        Self(MAX_STEPS)
    }
}

impl WorkBudget {
    /// Runs the work within the limit. A nested call counts against the outer limit.
    pub(crate) fn run<T>(&mut self, work: impl FnOnce() -> T) -> Result<T, Aborted> {
        if cfg!(panic = "abort") || STEPS_LEFT.get().is_some() {
            return Ok(work());
        }
        STEPS_LEFT.set(Some(self.0));
        // This is unwind safe: whatever an aborted work has half changed is dropped with it.
        let done = catch_unwind(AssertUnwindSafe(work));
        self.0 = STEPS_LEFT.take().unwrap_or_default();
        done.or_else(|panic| match panic.downcast::<Aborted>() {
            Ok(why) => Err(*why),
            Err(panic) => resume_unwind(panic),
        })
    }
}

/// Counts steps of the call on this thread. Aborts the call if it has none left or is cancelled.
pub(crate) fn spend(steps: usize) {
    let Some(before) = STEPS_LEFT.get() else { return };
    let Some(after) = before.checked_sub(steps as u64) else {
        resume_unwind(Box::new(Aborted::BudgetExceeded))
    };
    STEPS_LEFT.set(Some(after));
    if before / CANCEL_CHECK_INTERVAL != after / CANCEL_CHECK_INTERVAL && is_cancelled() {
        resume_unwind(Box::new(Aborted::Cancelled));
    }
}

/// Whether the caller of this thread's work no longer waits.
fn is_cancelled() -> bool {
    CANCELLED.with_borrow(|flag| flag.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed)))
}

/// Runs the work. Once the flag is set, the next check in [`spend`] aborts it.
#[cfg(feature = "mcp")]
pub(crate) fn run_until_cancelled<T>(cancelled: Arc<AtomicBool>, work: impl FnOnce() -> T) -> T {
    /// Restores the previous flag, also when the work panics.
    struct Restore(Option<Arc<AtomicBool>>);
    impl Drop for Restore {
        fn drop(&mut self) {
            CANCELLED.set(self.0.take());
        }
    }
    let _restore = Restore(CANCELLED.replace(Some(cancelled)));
    work()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_over_the_budget_is_aborted_and_the_rest_is_kept() {
        let mut budget = WorkBudget(100);
        assert_eq!(budget.run(|| spend(60)), Ok(()));
        assert_eq!(
            budget.run(|| WorkBudget::default().run(|| spend(41))),
            Err(Aborted::BudgetExceeded)
        );
        assert_eq!(WorkBudget(1).run(|| 7), Ok(7));
        // Not run by a budget: never aborted.
        spend(usize::MAX);
    }

    #[test]
    fn a_panic_in_the_work_is_passed_on() {
        let panics = || WorkBudget::default().run(|| panic!("in the work"));
        assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
        assert_eq!(STEPS_LEFT.get(), None);
    }

    #[cfg(feature = "mcp")]
    #[test]
    fn cancelled_work_is_aborted() {
        let flag = Arc::new(AtomicBool::new(false));
        let done = run_until_cancelled(flag.clone(), || {
            WorkBudget::default().run(|| {
                flag.store(true, Ordering::Relaxed);
                spend(1 << 20);
            })
        });
        assert_eq!(done, Err(Aborted::Cancelled));
        assert_eq!(WorkBudget::default().run(|| spend(1 << 20)), Ok(()));
    }
}
