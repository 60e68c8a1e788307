//! A random number generator of our own: the same seed gives the same cases on every machine and
//! in every release, which no library promises.

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// A SplitMix64 generator. Its numbers are not fit for secrets.
#[derive(Debug, Clone)]
pub(crate) struct Rng(u64);

impl Rng {
    /// Returns a generator whose numbers depend on the seed and the label only. Mutations and
    /// packages use different labels, so a new one does not change the cases of the others.
    pub(crate) fn new(seed: u64, label: &str) -> Self {
        Self(xxh3_64_with_seed(label.as_bytes(), seed))
    }

    /// Returns the next number.
    pub(crate) fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Returns a number below `bound`, or 0 if `bound` is 0.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        let bound = bound.max(1) as u64;
        usize::try_from(self.number() % bound).unwrap_or(0)
    }

    /// Returns true with a probability of `percent` percent.
    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// Returns one of the items at random; `None` if there are none.
    pub(crate) fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        items.get(self.below(items.len()))
    }

    /// Puts the items into a random order.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for index in (1..items.len()).rev() {
            items.swap(index, self.below(index + 1));
        }
    }
}
