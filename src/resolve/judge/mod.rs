//! Judges the text that a model gives for a place: one three-way check, word by word, over the
//! whole place. The base is `old_str`; the sides are `new_str` and the file.
//!
//! A text passes if it has every word that the call adds, and every word that only the file has
//! unless the call rewrote that part, and no other words. The text is then written as it is.

mod blanks;
mod diff;
mod merge;
mod names;
mod written;

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::words::{Words, is_word_char};
use crate::language::Language;

use blanks::{check_edges, check_gaps, check_indentation};
use diff::{Rewritten, SideDiff};
use merge::Sides;
use names::{Renames, check_definition};

pub(super) use blanks::check_blank_lines;
pub(super) use written::{as_written, conflicts};

/// What a text is judged against.
#[derive(Debug, Clone, Copy)]
pub(in crate::resolve) struct Case<'a> {
    /// What the call believed to be at the place.
    pub(in crate::resolve) old: &'a str,
    /// What the call wants there.
    pub(in crate::resolve) new: &'a str,
    /// What is there.
    pub(in crate::resolve) found: &'a str,
    /// The definition around the place, which says whether a name is still in use.
    pub(in crate::resolve) definition: &'a str,
    pub(in crate::resolve) language: Option<&'static Language>,
}

/// The most steps of one check.
const MAX_STEPS: usize = 4_000_000;

/// Checks a text; the error says, to the model, why it is rejected.
pub(in crate::resolve) fn judge(case: &Case<'_>, text: &str) -> Result<(), String> {
    if text.contains('\0') {
        return Err("the text has a NUL character".into());
    }
    // A piece that begins or ends inside a literal does not say which of its words are in one.
    let is_whole = |text: &str| case.language.is_some_and(|language| language.lex(text).closed);
    let are_whole = [case.old, case.new, case.found, text].into_iter().all(is_whole);
    let language = case.language.filter(|_| are_whole);
    let cut = |text| Words::of(text, language);
    let (base, file, call, answer) = (cut(case.old), cut(case.found), cut(case.new), cut(text));
    if same_words(&answer, &file) {
        return Err("the text leaves the lines as they are".into());
    }
    let file_diff = SideDiff::of(&base, &file);
    let call_diff = SideDiff::of(&base, &call);
    check_definition(&base, &file, &file_diff)?;
    let renames = Renames::of(case, &base, &file, &file_diff);
    renames.check(&answer)?;
    check_lines(&base, &file, &answer, &file_diff)?;
    check_gaps(&[&base, &file, &call], &answer)?;
    check_edges(case, text)?;
    check_indentation(case, text)?;
    let mut first_error = None;
    for rewritten in [Rewritten::Changes, Rewritten::Islands, Rewritten::Blocks] {
        let call_diff = call_diff.with(rewritten, &base, &call);
        let sides = Sides::of(&base, &file, &call, &file_diff, &call_diff);
        match sides.check(&answer, &renames) {
            Ok(()) => return Ok(()),
            Err(why) => {
                first_error.get_or_insert(why);
            }
        }
    }
    Err(first_error.unwrap_or_default())
}

/// Whether two texts have the same words.
fn same_words(a: &Words<'_>, b: &Words<'_>) -> bool {
    a.words.iter().map(|word| word.text).eq(b.words.iter().map(|word| word.text))
}

/// Whether two texts of this language have the same words.
pub(in crate::resolve) fn reads_alike(a: &str, b: &str, language: Option<&Language>) -> bool {
    same_words(&Words::of(a, language), &Words::of(b, language))
}

/// Checks that of the lines that only the file has, no more are gone than lines of the base lack a
/// counterpart in the file.
fn check_lines(
    base: &Words<'_>,
    file: &Words<'_>,
    answer: &Words<'_>,
    file_diff: &SideDiff,
) -> Result<(), String> {
    let mut has_counterpart = vec![false; base.words.len()];
    let mut is_shared = vec![false; file.words.len()];
    for op in file_diff.ops.iter().filter(|op| op.is_equal) {
        has_counterpart[op.base.clone()].fill(true);
        is_shared[op.side.clone()].fill(true);
    }
    for (old, new) in &file_diff.paired {
        has_counterpart[old.clone()].fill(true);
        is_shared[new.clone()].fill(true);
    }
    // A line counts as the other's if most of its words are.
    let is_whole = |line: &Range<usize>, shared: &[bool]| {
        2 * shared[line.clone()].iter().filter(|shared| **shared).count() > line.len()
    };
    let lacking = base.lines.iter().filter(|line| !is_whole(line, &has_counterpart)).count();
    let mut answered: HashMap<Vec<&str>, usize> = HashMap::new();
    for key in answer.line_keys() {
        *answered.entry(key).or_default() += 1;
    }
    let mut gone = Vec::new();
    for line in file.lines.iter().filter(|line| !is_whole(line, &is_shared)) {
        match answered.get_mut(&file.line_key(line)) {
            Some(count) if *count > 0 => *count -= 1,
            _ => gone.push(line),
        }
    }
    match gone.get(lacking) {
        // The line may be there in another form; the check of its words decides that.
        Some(line) if !has_most_words(answer, file, line) => Err(format!(
            "the text drops the line `{}`, which the edit does not know",
            file.line_key(line).join(" ")
        )),
        _ => Ok(()),
    }
}

/// Whether some line of the answer has most of the words of a line of the file, marks aside.
fn has_most_words(answer: &Words<'_>, file: &Words<'_>, line: &Range<usize>) -> bool {
    let mut key = file.line_key(line);
    key.retain(|word| word.starts_with(is_word_char));
    answer.lines.iter().any(|other| {
        let other: HashSet<&str> = answer.line_key(other).into_iter().collect();
        2 * key.iter().filter(|word| other.contains(*word)).count() > key.len()
    })
}
