//! The file, cut into lines once, with a lax key for each that every fold respects.
//!
//! Two lines that are the same under any fold have the same *skeleton*: the hash of
//! their letters and digits. One look-up by skeleton therefore finds every place that
//! any fold could accept, and the strict comparison runs on those few places only.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::OnceLock;

use super::canon::{self, Fold};
use super::code::Slashes;
use super::steps::Steps;
use crate::text::{Ending, Snapshot};

/// A skeleton. 0 is a blank line, 1 a line of punctuation only.
pub(super) type Skeleton = u64;

pub(super) const BLANK: Skeleton = 0;
pub(super) const NO_WORD: Skeleton = 1;

/// One line of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileLine {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) ending: Ending,
}

impl FileLine {
    pub(super) fn body(&self) -> Range<usize> {
        self.start..self.end
    }

    pub(super) fn full_end(&self) -> usize {
        self.end + self.ending.as_str().len()
    }
}

/// The file's lines.
#[derive(Debug)]
pub(super) struct Source<'t> {
    pub(super) snapshot: &'t Snapshot,
    pub(super) text: &'t str,
    pub(super) lines: Vec<FileLine>,
    solid: OnceLock<Solid>,
    steps: OnceLock<Steps>,
    slashes: OnceLock<Option<Slashes>>,
    semicolons: OnceLock<bool>,
}

/// The lines that are not blank.
#[derive(Debug)]
pub(super) struct Solid {
    /// Indices into [`Source::lines`].
    pub(super) lines: Vec<usize>,
    pub(super) skeletons: Vec<Skeleton>,
    places: Places,
}

impl<'t> Source<'t> {
    pub(super) fn new(snapshot: &'t Snapshot) -> Self {
        let text = snapshot.text();
        let lines = crate::text::each_line(text)
            .map(|line| FileLine {
                start: line.body.start,
                end: line.body.end,
                ending: line.ending,
            })
            .collect();
        let (solid, steps) = (OnceLock::new(), OnceLock::new());
        let (slashes, semicolons) = (OnceLock::new(), OnceLock::new());
        Self { snapshot, text, lines, solid, steps, slashes, semicolons }
    }

    /// The content of a line.
    pub(super) fn body(&self, index: usize) -> &'t str {
        &self.text[self.lines[index].body()]
    }

    /// The lines that are not blank, with their skeletons.
    pub(super) fn solid(&self) -> &Solid {
        self.solid.get_or_init(|| {
            let (mut lines, mut skeletons) = (Vec::new(), Vec::new());
            for index in 0..self.lines.len() {
                let skeleton = skeleton(self.body(index));
                if skeleton != BLANK {
                    lines.push(index);
                    skeletons.push(skeleton);
                }
            }
            let places = Places::of(&skeletons);
            Solid { lines, skeletons, places }
        })
    }

    /// The steps of the file's indentation.
    pub(super) fn steps(&self) -> &Steps {
        self.steps.get_or_init(|| Steps::of(self.head()))
    }

    /// The steps around a line, where those are enough to tell: a file may be put together
    /// from several.
    pub(super) fn steps_near(&self, line: usize) -> Cow<'_, Steps> {
        const NEAR: usize = 150;
        let range = line.saturating_sub(NEAR)..(line + NEAR).min(self.lines.len());
        let near = Steps::of(self.lines[range].iter().map(|line| &self.text[line.body()]));
        if near.tell_blocks() { Cow::Owned(near) } else { Cow::Borrowed(self.steps()) }
    }

    /// What two slashes are, if anything tells.
    pub(super) fn slashes(&self) -> Option<Slashes> {
        *self.slashes.get_or_init(|| Slashes::of(self.head()))
    }

    /// Whether any line ends in `;`.
    pub(super) fn has_semicolons(&self) -> bool {
        *self.semicolons.get_or_init(|| self.head().any(|line| line.trim_end().ends_with(';')))
    }

    /// So many lines tell the habits of a file.
    fn head(&self) -> impl Iterator<Item = &str> + Clone {
        const MOST: usize = 4_000;
        self.lines.iter().take(MOST).map(|line| &self.text[line.body()])
    }

    /// The width of a level of indentation in spaces, by the steps between lines.
    /// `None` for a file indented by tabs, or not at all.
    pub(super) fn unit(&self) -> Option<usize> {
        self.steps().unit()
    }

    /// The line of one of the blocks that are open at a line, its own included, that is the
    /// nearest as deep as this or less so.
    pub(super) fn nearest(
        &self,
        line: usize,
        wanted: usize,
        depth: impl Fn(&str) -> usize,
    ) -> Option<&str> {
        // What is further up is not looked at for each of thousands of lines.
        const MOST: usize = 500;
        let above = (0..=line).rev().take(MOST).map(|at| self.body(at));
        let mut solid = above.filter(|line| !line.trim().is_empty());
        solid.find(|line| depth(line) <= wanted)
    }

    /// The line that holds a text offset.
    pub(super) fn line_at(&self, offset: usize) -> usize {
        self.lines.partition_point(|line| line.start <= offset).saturating_sub(1)
    }
}

impl Solid {
    /// Where among the solid lines a skeleton stands.
    pub(super) fn places(&self, skeleton: Skeleton) -> &[u32] {
        self.places.get(skeleton, &self.skeletons)
    }
}

/// Where each skeleton stands, in two tables that take memory once, however many there are:
/// the places in the order of the skeletons' first bits, and where the ones of each begin.
#[derive(Debug)]
struct Places {
    bits: u32,
    starts: Vec<u32>,
    order: Vec<u32>,
}

impl Places {
    fn of(skeletons: &[Skeleton]) -> Self {
        let worded = || skeletons.iter().filter(|skeleton| **skeleton > NO_WORD);
        let count = worded().count();
        let bits = count.next_power_of_two().trailing_zeros().max(1);
        let mut starts = vec![0_u32; (1 << bits) + 1];
        for skeleton in worded() {
            starts[Self::bucket(*skeleton, bits)] += 1;
        }
        // Now where each bucket ends, and where it begins once all is put in from behind.
        let mut end = 0;
        for start in &mut starts {
            end += *start;
            *start = end;
        }
        let mut order = vec![0; count];
        for (at, skeleton) in skeletons.iter().enumerate().rev() {
            if *skeleton > NO_WORD {
                let start = &mut starts[Self::bucket(*skeleton, bits)];
                *start -= 1;
                order[*start as usize] = u32::try_from(at).unwrap_or(u32::MAX);
            }
        }
        for bucket in starts.windows(2).filter(|bucket| bucket[1] > bucket[0] + 1) {
            // Keeps the places of one skeleton in their order.
            let places = &mut order[bucket[0] as usize..bucket[1] as usize];
            places.sort_by_key(|at| skeletons[*at as usize]);
        }
        Self { bits, starts, order }
    }

    fn bucket(skeleton: Skeleton, bits: u32) -> usize {
        (skeleton >> (u64::BITS - bits)) as usize
    }

    fn get(&self, skeleton: Skeleton, skeletons: &[Skeleton]) -> &[u32] {
        let bucket = Self::bucket(skeleton, self.bits);
        let places = &self.order[self.starts[bucket] as usize..self.starts[bucket + 1] as usize];
        let from = places.partition_point(|at| skeletons[*at as usize] < skeleton);
        let to = places.partition_point(|at| skeletons[*at as usize] <= skeleton);
        &places[from..to]
    }
}

/// The skeleton of a line.
pub(super) fn skeleton(line: &str) -> Skeleton {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut solid = false;
    let mut word = false;
    let mut add =
        |c: u32| hash = (hash.rotate_left(5) ^ u64::from(c)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    if line.is_ascii() {
        for b in line.bytes() {
            if b.is_ascii_alphanumeric() || b == b'_' {
                add(u32::from(b));
                word = true;
            } else if !b.is_ascii_whitespace() {
                solid = true;
            }
        }
    } else {
        for canonical in canon::canonical(line, Fold::LookAlike) {
            if canon::is_word(canonical.c) {
                add(u32::from(canonical.c));
                word = true;
            } else if !canonical.c.is_whitespace() {
                solid = true;
            }
        }
    }
    match (word, solid) {
        (true, _) => hash.max(2),
        (false, true) => NO_WORD,
        (false, false) => BLANK,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_a_skeleton_are_all_of_its_lines_in_their_order() {
        let lines = ["a = 1", "}", "", "b = 2", "a = 1", "  a  = 1", "};", "c"];
        for times in [0, 1, 300] {
            let text = format!("{}\n", lines.join("\n")).repeat(times);
            let snapshot = Snapshot::from_text(text);
            let source = Source::new(&snapshot);
            let solid = source.solid();
            for line in lines {
                let wanted = skeleton(line);
                let all = solid.skeletons.iter().enumerate();
                let all = all.filter(|(_, it)| **it == wanted && wanted > NO_WORD);
                let all: Vec<u32> = all.map(|(at, _)| u32::try_from(at).unwrap()).collect();
                assert_eq!(solid.places(wanted), all, "{line:?} {times} times");
            }
            assert_eq!(solid.places(skeleton("absent")), [0_u32; 0]);
        }
    }
}
