//! A limit on the work of one call. The loops of the matcher count their steps with
//! [`Budget::spend`], and pass its error on with `?`: `fn explanations(…, budget: &Budget) ->
//! Result<Vec<Explanation>, Exhausted>`. Whoever began the work makes it a refusal with
//! [`Exhausted::refusal`]. Steps are counted instead of time, so that the same call gets the same
//! result on every machine, and by a result instead of unwinding, so that the limit also holds with
//! `panic = "abort"`.
//!
//! One budget serves all the matching of a call, also that of its several edits. It is made where the
//! call begins and passed on by reference.
//!
//! [`Budget::run`] and the function [`spend`] serve code that does not return results yet. They
//! unwind, and count against the same budget.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::edit::{EditCode, Refusal};

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
    /// The steps left to the work that [`Budget::run`] runs on this thread.
    static STEPS_LEFT: Cell<Option<u64>> = const { Cell::new(None) };
    /// The flag that is set when the caller of this thread's work no longer waits.
    static CANCELLED: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// The steps that one call has left.
#[derive(Debug)]
pub(crate) struct Budget {
    steps_left: Cell<u64>,
}

impl Default for Budget {
    fn default() -> Self {
        Self::of(MAX_STEPS)
    }
}

impl Budget {
    /// A budget of some steps.
    fn of(steps: u64) -> Self {
        Self { steps_left: Cell::new(steps) }
    }

    /// Counts steps. Once they are used up, or the caller no longer waits, every call fails.
    #[cfg_attr(not(test), expect(dead_code, reason = "for the matcher that weighs explanations"))]
    pub(crate) fn spend(&self, steps: usize) -> Result<(), Exhausted> {
        let before = self.steps_left.get();
        let after = before.saturating_sub(steps as u64);
        self.steps_left.set(after);
        check(before, after, steps)
    }

    /// Runs work that counts with [`spend`], and stops it by unwinding. Within an outer run, it counts
    /// against the outer budget.
    pub(crate) fn run<T>(&self, work: impl FnOnce() -> T) -> Result<T, Exhausted> {
        if cfg!(panic = "abort") || STEPS_LEFT.get().is_some() {
            return Ok(work());
        }
        STEPS_LEFT.set(Some(self.steps_left.get()));
        // This is unwind safe: whatever an aborted work has half changed is dropped with it.
        let done = catch_unwind(AssertUnwindSafe(work));
        self.steps_left.set(STEPS_LEFT.take().unwrap_or_default());
        done.or_else(|panic| match panic.downcast::<Exhausted>() {
            Ok(why) => Err(*why),
            Err(panic) => resume_unwind(panic),
        })
    }
}

/// The error once steps are used up or the caller no longer waits, when `steps` of `before` are spent.
fn check(before: u64, after: u64, steps: usize) -> Result<(), Exhausted> {
    if before < steps as u64 || before == 0 {
        return Err(Exhausted::Steps);
    }
    if before / CANCEL_CHECK_INTERVAL != after / CANCEL_CHECK_INTERVAL && is_cancelled() {
        return Err(Exhausted::Cancelled);
    }
    Ok(())
}

/// Counts steps of the work that [`Budget::run`] runs on this thread; elsewhere it does nothing.
pub(crate) fn spend(steps: usize) {
    let Some(before) = STEPS_LEFT.get() else { return };
    let after = before.saturating_sub(steps as u64);
    STEPS_LEFT.set(Some(after));
    if let Err(why) = check(before, after, steps) {
        resume_unwind(Box::new(why));
    }
}

/// Whether the caller of this thread's work no longer waits.
fn is_cancelled() -> bool {
    CANCELLED.with_borrow(|flag| flag.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed)))
}

/// Runs the work. Once the flag is set, the next check of a budget ends it.
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
        let budget = Budget::of(100);
        assert_eq!(budget.run(|| spend(60)), Ok(()));
        assert_eq!(budget.run(|| Budget::default().run(|| spend(41))), Err(Exhausted::Steps));
        assert_eq!(Budget::of(1).run(|| 7), Ok(7));
        // Not run by a budget: never aborted.
        spend(usize::MAX);
    }

    #[test]
    fn a_budget_counts_by_result() {
        let budget = Budget::of(100);
        assert_eq!(budget.spend(60), Ok(()));
        assert_eq!(budget.run(|| spend(30)), Ok(()));
        assert_eq!(budget.spend(10), Ok(()));
        assert_eq!(budget.spend(1), Err(Exhausted::Steps));
        // Also after a caller who has not passed the error on.
        let budget = Budget::of(5);
        assert_eq!(budget.spend(usize::MAX), Err(Exhausted::Steps));
        assert_eq!(budget.spend(1), Err(Exhausted::Steps));
    }

    #[test]
    fn a_panic_in_the_work_is_passed_on() {
        let panics = || Budget::default().run(|| panic!("in the work"));
        assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
        assert_eq!(STEPS_LEFT.get(), None);
    }

    #[cfg(feature = "mcp")]
    #[test]
    fn cancelled_work_is_aborted() {
        let flag = Arc::new(AtomicBool::new(false));
        let done = run_until_cancelled(flag.clone(), || {
            Budget::default().run(|| {
                flag.store(true, Ordering::Relaxed);
                spend(1 << 20);
            })
        });
        assert_eq!(done, Err(Exhausted::Cancelled));
        flag.store(true, Ordering::Relaxed);
        let done = run_until_cancelled(flag, || Budget::default().spend(1 << 20));
        assert_eq!(done, Err(Exhausted::Cancelled));
        assert_eq!(Budget::default().run(|| spend(1 << 20)), Ok(()));
    }
}
