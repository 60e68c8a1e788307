//! The three-way check: whether a text is a merge of what the file and the call made of the base.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::MAX_STEPS;
use super::diff::{Op, SideDiff};
use super::names::{Renames, matches};
use crate::resolve::words::{Word, Words};

/// Whether an answer must have a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Status {
    /// Both sides keep this word of the base.
    Common(usize),
    /// One side added it before this word of the base.
    Added(usize),
    /// One side added it before this word of the base, and the other side rewrote that part, so
    /// that it may be dropped.
    Optional(usize),
    /// The other side removed it.
    Removed,
}

/// The words of both sides, in order, and whether an answer must have them.
pub(super) struct Sides<'a> {
    file: Vec<(Word<'a>, Status)>,
    call: Vec<(Word<'a>, Status)>,
}

/// The side that the last word of an answer came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Last {
    Both,
    File,
    Call,
}

impl<'a> Sides<'a> {
    pub(super) fn of(
        base: &Words<'a>,
        file: &Words<'a>,
        call: &Words<'a>,
        file_diff: &SideDiff,
        call_diff: &SideDiff,
    ) -> Self {
        let len = base.words.len();
        let (kept_by_file, kept_by_call) = (file_diff.kept(len), call_diff.kept(len));
        // Whether the call kept these words of the base; if there are none, those on both sides.
        let is_untouched = |range: &Range<usize>| {
            let beside = [range.start.checked_sub(1), Some(range.end).filter(|at| *at < len)];
            kept_by_call[range.clone()].iter().all(|kept| *kept)
                && (!range.is_empty() || beside.into_iter().flatten().all(|at| kept_by_call[at]))
        };
        let side = |words: &Words<'a>,
                    diff: &SideDiff,
                    kept_by_other: &[bool],
                    is_required: &dyn Fn(&Range<usize>) -> bool| {
            let mut out = Vec::new();
            for op in &diff.ops {
                let required = is_required(&op.base);
                for (offset, at) in op.side.clone().enumerate() {
                    let status = match op.is_equal {
                        true if kept_by_other[op.base.start + offset] => {
                            Status::Common(op.base.start + offset)
                        }
                        true => Status::Removed,
                        false if required => Status::Added(op.base.start),
                        false => Status::Optional(op.base.start),
                    };
                    out.push((words.words[at], status));
                }
            }
            out
        };
        let mut sides = Self {
            file: side(file, file_diff, &kept_by_call, &is_untouched),
            call: side(call, call_diff, &kept_by_file, &|_| true),
        };
        // What both sides made of the same part is there once.
        for of_file in file_diff.ops.iter().filter(|op| !op.is_equal && !op.side.is_empty()) {
            let texts = |words: &Words<'a>, op: &Op| -> Vec<&'a str> {
                words.words[op.side.clone()].iter().map(|word| word.text).collect()
            };
            let same = call_diff.ops.iter().find(|of_call| {
                !of_call.is_equal
                    && of_call.base == of_file.base
                    && texts(call, of_call) == texts(file, of_file)
            });
            let Some(of_call) = same else { continue };
            for (offset, (f, c)) in of_file.side.clone().zip(of_call.side.clone()).enumerate() {
                // Numbers that no word of the base has.
                let common = Status::Common(len + 1 + of_file.side.start + offset);
                (sides.file[f].1, sides.call[c].1) = (common, common);
            }
        }
        sides
    }

    /// Checks that an answer has the common words once, the words of each side in their order, and
    /// no run of added words that the other side splits, other than at a comma or semicolon.
    pub(super) fn check(&self, answer: &Words<'a>, renames: &Renames<'_>) -> Result<(), String> {
        let mut states = HashSet::from([(0_usize, 0_usize, Last::Both)]);
        let mut steps = 0;
        for (at, word) in answer.words.iter().enumerate() {
            let splits_list = |word: &str| word == "," || word == ";";
            let may_split = splits_list(word.text)
                || at.checked_sub(1).is_some_and(|at| splits_list(answer.words[at].text));
            self.skip_to(&mut states);
            steps += states.len() * 4;
            if steps > MAX_STEPS {
                return Err("the place is too long to be checked".into());
            }
            let mut next = HashSet::new();
            for &(f, c, last) in &states {
                let (in_file, in_call) = (self.file.get(f), self.call.get(c));
                let of_file = in_file.filter(|(own, _)| own.text == word.text);
                let of_call = in_call.filter(|(own, _)| matches(own, word, renames));
                let is_added = |side: Option<&(Word<'_>, Status)>| {
                    side.is_some_and(|(_, s)| matches!(s, Status::Added(_) | Status::Optional(_)))
                };
                if let (Some((_, Status::Common(a))), Some((_, Status::Common(b)))) =
                    (of_file, of_call)
                    && a == b
                {
                    next.insert((f + 1, c + 1, Last::Both));
                }
                let file_continues = continues_run(&self.file, f) && last == Last::Call;
                if is_added(of_file) && (!file_continues || may_split) {
                    next.insert((f + 1, c, Last::File));
                }
                let call_continues = continues_run(&self.call, c) && last == Last::File;
                if is_added(of_call) && (!call_continues || may_split) {
                    next.insert((f, c + 1, Last::Call));
                }
            }
            if next.is_empty() {
                return Err(self.reason(answer, Some(word)));
            }
            states = next;
        }
        self.skip_to(&mut states);
        let is_complete =
            states.iter().any(|&(f, c, _)| f == self.file.len() && c == self.call.len());
        if is_complete { Ok(()) } else { Err(self.reason(answer, None)) }
    }

    /// Adds the states in which words that an answer need not have are passed over.
    fn skip_to(&self, states: &mut HashSet<(usize, usize, Last)>) {
        let mut open: Vec<_> = states.iter().copied().collect();
        while let Some((f, c, last)) = open.pop() {
            let mut skipped = Vec::new();
            if let Some((_, Status::Optional(_) | Status::Removed)) = self.file.get(f) {
                skipped.push((f + 1, c, last));
            }
            if let Some((_, Status::Removed)) = self.call.get(c) {
                skipped.push((f, c + 1, last));
            }
            open.extend(skipped.into_iter().filter(|state| states.insert(*state)));
        }
    }

    /// Why an answer is no merge, in words for the model.
    fn reason(&self, answer: &Words<'_>, at: Option<&Word<'_>>) -> String {
        let mut counts: HashMap<&str, isize> = HashMap::new();
        for word in &answer.words {
            *counts.entry(word.text).or_default() += 1;
        }
        let required = |side: &[(Word<'a>, Status)]| -> Option<&'a str> {
            let mut left = counts.clone();
            side.iter()
                .filter(|(_, status)| matches!(status, Status::Common(_) | Status::Added(_)))
                .find_map(|(word, _)| {
                    let count = left.entry(word.text).or_default();
                    *count -= 1;
                    (*count < 0).then_some(word.text)
                })
        };
        if let Some(word) = required(&self.call) {
            return format!("the text lacks `{word}` of the edit");
        }
        if let Some(word) = required(&self.file) {
            return format!("the text lacks `{word}`, which the file has and the edit keeps");
        }
        let known = |text: &str| {
            self.file
                .iter()
                .chain(&self.call)
                .any(|(word, status)| word.text == text && !matches!(status, Status::Removed))
        };
        match answer.words.iter().find(|word| !known(word.text)) {
            Some(word) => {
                format!(
                    "line {} of the text has `{}`, which neither the file nor the edit has there",
                    word.line + 1,
                    word.text
                )
            }
            None => match at {
                Some(word) => {
                    format!("`{}` in line {} of the text is out of place", word.text, word.line + 1)
                }
                None => "the text ends too early".into(),
            },
        }
    }
}

/// Whether the word at `at` continues the run of added words that the word before it is in.
fn continues_run(side: &[(Word<'_>, Status)], at: usize) -> bool {
    let run = |at: usize| match side.get(at).map(|(_, status)| status) {
        Some(Status::Added(at) | Status::Optional(at)) => Some(*at),
        _ => None,
    };
    run(at).is_some() && at.checked_sub(1).and_then(run) == run(at)
}
