//! Searches that stop early, so that a miss in an odd file does not take forever.
//!
//! A place that nobody looked at may be the one that is meant. Nothing is written by what
//! such a search found: [`super::refuse::not_all_compared`] says so.

/// What a search found.
#[derive(Debug, Clone)]
pub(super) struct Bounded<T> {
    pub(super) found: Vec<T>,
    /// Whether it came to the end.
    pub(super) complete: bool,
}

impl<T> Bounded<T> {
    /// All there is, if it is not more than that.
    pub(super) fn at_most(most: usize, mut all: impl Iterator<Item = T>) -> Self {
        let found = all.by_ref().take(most).collect();
        Self { found, complete: all.next().is_none() }
    }
}

impl<T> Default for Bounded<T> {
    fn default() -> Self {
        Self { found: Vec::new(), complete: true }
    }
}
