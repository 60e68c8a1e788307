//! A limit on the work of one call. The loops of the matcher count their steps. A call that
//! exceeds the limit, or that no caller waits for any more, is aborted: the stack unwinds to where
//! its work began, and the result is discarded. Steps are counted instead of time, so that the
//! same call gets the same result on every machine.
//!
//! Code outside of [`Effort::run`] is never aborted. With `panic = "abort"` there is no unwinding,
//! and so no limit.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::edit::{EditCode, Refusal};

/// Steps of one call, each about as much as looking at a few characters.
pub(crate) const MOST_STEPS: u64 = 1_500_000_000;

/// Steps between two checks that the caller still waits.
const BETWEEN_LOOKS: u64 = 1 << 16;

/// Why a call was given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GivenUp {
    /// It is over the limit.
    TooMuch,
    /// The caller no longer waits.
    Unheard,
}

impl GivenUp {
    /// What the caller is told.
    pub(crate) fn refusal(self) -> Refusal {
        match self {
            Self::TooMuch => Refusal::new(
                EditCode::TooLarge,
                format!("old_str is not in the file as sent, and matching it in other forms takes more than {MOST_STEPS} steps, the limit of one call"),
            )
            .hint("Nothing was written. Quote fewer lines, exactly as the file has them, or use edit_lines."),
            Self::Unheard => {
                Refusal::new(EditCode::Conflict, "the call was cancelled while it was being matched")
                    .hint("Nothing was written.")
            }
        }
    }
}

thread_local! {
    /// The steps left to the call on this thread; `None` while nothing is counted.
    static LEFT: Cell<Option<u64>> = const { Cell::new(None) };
    /// Set once no caller waits for what this thread works on.
    static WITHDRAWN: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// What one call has left.
#[derive(Debug)]
pub(crate) struct Effort(u64);

impl Default for Effort {
    fn default() -> Self {
        Self(MOST_STEPS)
    }
}

impl Effort {
    /// Runs the work within the limit. A nested call counts against the outer limit.
    pub(crate) fn run<T>(&mut self, work: impl FnOnce() -> T) -> Result<T, GivenUp> {
        if cfg!(panic = "abort") || LEFT.get().is_some() {
            return Ok(work());
        }
        LEFT.set(Some(self.0));
        // Whatever the work held is gone with it.
        let done = catch_unwind(AssertUnwindSafe(work));
        self.0 = LEFT.take().unwrap_or_default();
        done.or_else(|panic| match panic.downcast::<GivenUp>() {
            Ok(why) => Err(*why),
            Err(panic) => resume_unwind(panic),
        })
    }
}

/// Counts so many steps of the call on this thread.
pub(crate) fn spend(steps: usize) {
    let Some(left) = LEFT.get() else { return };
    let steps = steps as u64;
    let Some(rest) = left.checked_sub(steps) else { resume_unwind(Box::new(GivenUp::TooMuch)) };
    LEFT.set(Some(rest));
    if left / BETWEEN_LOOKS != rest / BETWEEN_LOOKS && is_withdrawn() {
        resume_unwind(Box::new(GivenUp::Unheard));
    }
}

fn is_withdrawn() -> bool {
    WITHDRAWN.with_borrow(|flag| flag.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed)))
}

/// Runs the work until the flag is set, which aborts all work that is counted.
#[cfg(feature = "mcp")]
pub(crate) fn until<T>(withdrawn: Arc<AtomicBool>, work: impl FnOnce() -> T) -> T {
    /// Puts back what stood there, also when the work panics.
    struct Before(Option<Arc<AtomicBool>>);
    impl Drop for Before {
        fn drop(&mut self) {
            WITHDRAWN.set(self.0.take());
        }
    }
    let _before = Before(WITHDRAWN.replace(Some(withdrawn)));
    work()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_over_the_limit_is_given_up_and_what_is_left_counts_on() {
        let mut effort = Effort(100);
        assert_eq!(effort.run(|| spend(60)), Ok(()));
        assert_eq!(effort.run(|| Effort::default().run(|| spend(41))), Err(GivenUp::TooMuch));
        assert_eq!(Effort(1).run(|| 7), Ok(7));
        // Not begun by an effort: never given up.
        spend(usize::MAX);
    }

    #[test]
    fn a_panic_of_the_work_stays_one() {
        let panics = || Effort::default().run(|| panic!("in the work"));
        assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
        assert_eq!(LEFT.get(), None);
    }

    #[cfg(feature = "mcp")]
    #[test]
    fn work_whose_caller_left_is_given_up() {
        let flag = Arc::new(AtomicBool::new(false));
        let done = until(flag.clone(), || {
            Effort::default().run(|| {
                flag.store(true, Ordering::Relaxed);
                spend(1 << 20);
            })
        });
        assert_eq!(done, Err(GivenUp::Unheard));
        assert_eq!(Effort::default().run(|| spend(1 << 20)), Ok(()));
    }
}
