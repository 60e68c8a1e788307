//! How the file and the call differ from what the call believed, by lines and then by words.

use std::ops::Range;

use super::MAX_STEPS;
use crate::resolve::words::{Word, Words};

/// A changed block of which the call keeps less than this share counts as rewritten.
const MIN_KEPT_SHARE: f64 = 0.6;

/// A part of a diff.
#[derive(Debug, Clone)]
pub(super) struct Op {
    pub(super) base: Range<usize>,
    pub(super) side: Range<usize>,
    pub(super) is_equal: bool,
    /// The changed block of lines that it is in; `None` for lines that are equal.
    pub(super) block: Option<usize>,
}

/// How one side differs from the base.
#[derive(Debug, Clone)]
pub(super) struct SideDiff {
    pub(super) ops: Vec<Op>,
    /// The words of blocks that have as many lines as before: those lines, one by one.
    pub(super) paired: Vec<(Range<usize>, Range<usize>)>,
}

/// What counts as rewritten by the call, from the strictest reading to the laxest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rewritten {
    /// The words that it changes.
    Changes,
    /// Also kept words between two changes that are no shorter.
    Islands,
    /// Also whole blocks of lines of which it keeps little, and comments that it changes.
    Blocks,
}

impl SideDiff {
    /// Compares the lines of a side with those of the base, and then the words of changed lines.
    pub(super) fn of(base: &Words<'_>, side: &Words<'_>) -> Self {
        let mut ops: Vec<Op> = Vec::new();
        let mut paired = Vec::new();
        let word_range = |words: &Words<'_>, lines: &Range<usize>| -> Range<usize> {
            let start = words.lines.get(lines.start).map_or(words.words.len(), |line| line.start);
            let end = words.lines[..lines.end].last().map_or(0, |line| line.end);
            start..end.max(start)
        };
        let (old_keys, new_keys) = (base.line_keys(), side.line_keys());
        let algorithm = similar::Algorithm::Patience;
        for (block, op) in
            similar::capture_diff_slices(algorithm, &old_keys, &new_keys).into_iter().enumerate()
        {
            let old = word_range(base, &op.old_range());
            let new = word_range(side, &op.new_range());
            if op.tag() == similar::DiffTag::Equal {
                ops.push(Op { base: old, side: new, is_equal: true, block: None });
                continue;
            }
            if op.old_range().len() != op.new_range().len() {
                push_words(&mut ops, (base, old), (side, new), block);
                continue;
            }
            paired.push((old, new));
            let lines = base.lines[op.old_range()].iter().zip(&side.lines[op.new_range()]);
            for (old, new) in lines {
                push_words(&mut ops, (base, old.clone()), (side, new.clone()), block);
            }
        }
        Self { ops: joined(ops), paired }
    }

    /// The same diff with more that counts as rewritten.
    pub(super) fn with(&self, rewritten: Rewritten, base: &Words<'_>, side: &Words<'_>) -> Self {
        let size = |op: &Op| op.base.len().max(op.side.len());
        let is_changed = |at: Option<usize>| {
            at.and_then(|at| self.ops.get(at)).filter(|op| !op.is_equal).map(size)
        };
        let is_comment = |words: &[Word<'_>]| words.iter().any(|word| word.is_comment);
        let changes_comment = |at: Option<usize>| {
            at.and_then(|at| self.ops.get(at)).filter(|op| !op.is_equal).is_some_and(|op| {
                is_comment(&base.words[op.base.clone()]) || is_comment(&side.words[op.side.clone()])
            })
        };
        let kept_share = |block: usize| {
            let of_block = || self.ops.iter().filter(|op| op.block == Some(block));
            let kept: usize = of_block().filter(|op| op.is_equal).map(|op| op.base.len()).sum();
            let all: usize = of_block().map(|op| op.base.len()).sum();
            #[expect(clippy::cast_precision_loss, reason = "counts of words")]
            let share = kept as f64 / all.max(1) as f64;
            share
        };
        let mut ops = self.ops.clone();
        for (at, op) in ops.iter_mut().enumerate().filter(|(_, op)| op.is_equal) {
            let Some(block) = op.block else { continue };
            let around = (is_changed(at.checked_sub(1)), is_changed(Some(at + 1)));
            let is_island = matches!(around, (Some(before), Some(after))
                if size(op) <= before && size(op) <= after);
            // A comment that is changed is as the call has it.
            let is_in_comment = || {
                base.words[op.base.clone()].iter().all(|word| word.is_comment)
                    && (changes_comment(at.checked_sub(1)) || changes_comment(Some(at + 1)))
            };
            op.is_equal = match rewritten {
                Rewritten::Changes => true,
                Rewritten::Islands => !is_island,
                Rewritten::Blocks => {
                    !is_island && !is_in_comment() && kept_share(block) >= MIN_KEPT_SHARE
                }
            };
        }
        Self { ops: joined(ops), paired: self.paired.clone() }
    }

    /// For each word of the base, whether the side keeps it.
    pub(super) fn kept(&self, base_len: usize) -> Vec<bool> {
        let mut kept = vec![false; base_len];
        for op in self.ops.iter().filter(|op| op.is_equal) {
            kept[op.base.clone()].fill(true);
        }
        kept
    }
}

/// Adds the parts of the diff between some words of the base and of a side.
fn push_words(
    ops: &mut Vec<Op>,
    (base, old): (&Words<'_>, Range<usize>),
    (side, new): (&Words<'_>, Range<usize>),
    block: usize,
) {
    let texts = |words: &[Word<'_>]| -> Vec<String> {
        words.iter().map(|word| word.text.to_owned()).collect()
    };
    let (old_words, new_words) = (texts(&base.words[old.clone()]), texts(&side.words[new.clone()]));
    if old_words.len().saturating_mul(new_words.len()) > MAX_STEPS {
        ops.push(Op { base: old, side: new, is_equal: false, block: Some(block) });
        return;
    }
    for op in similar::capture_diff_slices(similar::Algorithm::Myers, &old_words, &new_words) {
        let (from, to) = (op.old_range(), op.new_range());
        ops.push(Op {
            base: old.start + from.start..old.start + from.end,
            side: new.start + to.start..new.start + to.end,
            is_equal: op.tag() == similar::DiffTag::Equal,
            block: Some(block),
        });
    }
}

/// The parts of a diff, with neighbouring changes as one.
fn joined(ops: Vec<Op>) -> Vec<Op> {
    let mut out: Vec<Op> = Vec::new();
    for op in ops {
        match out.last_mut() {
            Some(last) if !last.is_equal && !op.is_equal => {
                last.base.end = op.base.end;
                last.side.end = op.side.end;
            }
            _ => out.push(op),
        }
    }
    out
}
