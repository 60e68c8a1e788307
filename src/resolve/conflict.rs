//! Checks how a model resolves conflicts: lines that the caller changes and that differ in the file.
//! Outside of them nothing of the answer is used.

use std::collections::HashMap;
use std::ops::Range;

use crate::matching::ConflictHunk;

/// For each conflict, the part of an answer that resolves it. `skeleton` is the merge
/// with a gap for each conflict; the answer is a whole text that was written for it.
pub(super) fn split_answer(
    skeleton: &[Option<String>],
    answer: &str,
) -> Result<Vec<String>, String> {
    let lines: Vec<&str> = answer.trim_matches('\n').split('\n').collect();
    let key = |line: &str| line.trim().to_owned();
    let fixed: Vec<(usize, String)> = skeleton
        .iter()
        .enumerate()
        .filter_map(|(at, line)| Some((at, key(line.as_ref()?))))
        .filter(|(_, line)| !line.is_empty())
        .collect();
    let fixed_lines: Vec<String> = fixed.iter().map(|(_, line)| line.clone()).collect();
    let answer_lines: Vec<String> = lines.iter().map(|line| key(line)).collect();
    // Where each fixed line is in the answer.
    let mut at: HashMap<usize, usize> = HashMap::new();
    for op in
        similar::capture_diff_slices(similar::Algorithm::Patience, &fixed_lines, &answer_lines)
    {
        if op.tag() == similar::DiffTag::Equal {
            for (a, b) in op.old_range().zip(op.new_range()) {
                at.insert(fixed[a].0, b);
            }
        }
    }
    let gaps: Vec<usize> = (0..skeleton.len()).filter(|&at| skeleton[at].is_none()).collect();
    let mut out = Vec::new();
    for &gap in &gaps {
        let above = (0..gap).rev().find_map(|line| at.get(&line).copied());
        let below = (gap + 1..skeleton.len()).find_map(|line| at.get(&line).copied());
        let from = above.map_or(0, |line| line + 1);
        let to = below.unwrap_or(lines.len());
        let is_ambiguous = gaps.len() > 1
            && gaps.iter().any(|&other| {
                other != gap
                    && above_of(&at, other) == above
                    && below_of(&at, other, skeleton.len()) == below
            });
        if is_ambiguous || from > to {
            return Err("the answer does not tell the conflicts apart".into());
        }
        out.push(lines[from..to].join("\n"));
    }
    Ok(out)
}

fn above_of(at: &HashMap<usize, usize>, gap: usize) -> Option<usize> {
    (0..gap).rev().find_map(|line| at.get(&line).copied())
}

fn below_of(at: &HashMap<usize, usize>, gap: usize, len: usize) -> Option<usize> {
    (gap + 1..len).find_map(|line| at.get(&line).copied())
}

/// Checks that a text may replace a conflict: it must be a merge of the three sides, word by word
/// and in their order.
///
/// What both sides keep stays. What the caller added stays. What only the file has may be dropped
/// only where the caller rewrote that part. Nothing else may be added.
pub(super) fn check_merge(hunk: &ConflictHunk, text: &str) -> Result<(), String> {
    if text.contains('\0') {
        return Err("the answer holds a NUL character".into());
    }
    let sides = Sides::of(hunk);
    let answer = words(text);
    if let Some(stale) = answer.iter().find(|word| sides.stale.contains_key(**word)) {
        return Err(format!("the file says `{}`, not `{stale}`", sides.stale[*stale]));
    }
    let same = |other: &str| answer == words(other);
    if !same(&hunk.wanted) && (same(&hunk.found) || same(&hunk.believed)) {
        return Err("the answer takes the edit back".into());
    }
    match sides.is_merge(&answer) {
        true => Ok(()),
        false => Err("the answer does not read as a merge: it drops, moves or adds words".into()),
    }
}

/// The words of a conflict, and whether an answer must have them.
struct Sides<'a> {
    /// The file's, in order.
    file: Vec<(&'a str, WordStatus)>,
    /// The caller's, in order.
    caller: Vec<(&'a str, WordStatus)>,
    /// Words of the call that the file has replaced, with their replacements.
    stale: HashMap<&'a str, &'a str>,
}

/// Whether an answer must have a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WordStatus {
    /// Both sides keep this word of the base.
    Common(usize),
    /// One side added it, in this run of words.
    Added(usize),
    /// The same, in a part that the other side rewrote: it may be dropped.
    Optional(usize),
    /// The other side removed it.
    Removed,
}

/// Cells of the table that an answer is checked by.
const MAX_CELLS: usize = 32_000_000;

impl<'a> Sides<'a> {
    fn of(hunk: &'a ConflictHunk) -> Self {
        let (base, ours, theirs) = (words(&hunk.believed), words(&hunk.found), words(&hunk.wanted));
        let (by_file, by_caller) = (SideDiff::of(&base, &ours), SideDiff::of(&base, &theirs));
        let mut stale = HashMap::new();
        for (from, to) in &by_file.replaced {
            let kept = from.clone().all(|at| by_caller.kept[at]);
            if from.len() == to.len() && kept {
                let words = from.clone().zip(to.clone()).map(|(a, b)| (base[a], ours[b]));
                stale.extend(words.filter(|(a, _)| is_word(a) && !ours.contains(a)));
            }
        }
        // Words that the file added stay if the caller did not change the words that they replace,
        // or the neighbouring ones.
        let is_untouched = |before: usize, after: usize| {
            let beside = [before.checked_sub(1), Some(after).filter(|at| *at < base.len())];
            (before..after).all(|at| by_caller.kept[at])
                && (before < after || beside.into_iter().flatten().all(|at| by_caller.kept[at]))
        };
        let file = ours.iter().zip(&by_file.from).map(|(word, from)| {
            let status = match *from {
                WordSource::Base(at) if by_caller.kept[at] => WordStatus::Common(at),
                WordSource::Base(_) => WordStatus::Removed,
                WordSource::Between(before, after) if is_untouched(before, after) => {
                    WordStatus::Added(before)
                }
                WordSource::Between(before, _) => WordStatus::Optional(before),
            };
            (*word, status)
        });
        let caller = theirs.iter().zip(&by_caller.from).map(|(word, from)| {
            let status = match *from {
                WordSource::Base(at) if by_file.kept[at] => WordStatus::Common(at),
                WordSource::Base(_) => WordStatus::Removed,
                WordSource::Between(before, _) => WordStatus::Added(before),
            };
            (*word, status)
        });
        Self { file: file.collect(), caller: caller.collect(), stale }
    }

    /// Whether the answer is a merge of the two sides: common words once, the words of each side in
    /// their order, and no run of one side split by a run of the other.
    fn is_merge(&self, answer: &[&str]) -> bool {
        let (rows, columns) = (self.file.len() + 1, self.caller.len() + 1);
        if rows.saturating_mul(columns).saturating_mul(answer.len() + 1) > MAX_CELLS {
            return false;
        }
        let same_run = |side: &[(&str, WordStatus)], at: usize| match (
            at.checked_sub(1),
            side.get(at),
        ) {
            (Some(before), Some((_, WordStatus::Added(b) | WordStatus::Optional(b)))) => {
                matches!(side[before].1, WordStatus::Added(a) | WordStatus::Optional(a) if a == *b)
            }
            _ => false,
        };
        let mut here = vec![false; rows * columns];
        here[0] = true;
        for k in 0..=answer.len() {
            let mut next = vec![false; rows * columns];
            for i in 0..rows {
                for j in 0..columns {
                    if !here[i * columns + j] {
                        continue;
                    }
                    let (file, caller) = (self.file.get(i), self.caller.get(j));
                    // Words that may be dropped.
                    if matches!(file, Some((_, WordStatus::Removed | WordStatus::Optional(_)))) {
                        here[(i + 1) * columns + j] = true;
                    }
                    if matches!(caller, Some((_, WordStatus::Removed))) {
                        here[i * columns + j + 1] = true;
                    }
                    let Some(word) = answer.get(k) else { continue };
                    if let (Some((own, WordStatus::Common(a))), Some((_, WordStatus::Common(b)))) =
                        (file, caller)
                        && a == b
                        && own == word
                    {
                        next[(i + 1) * columns + j + 1] = true;
                    }
                    if let Some((own, WordStatus::Added(_) | WordStatus::Optional(_))) = file
                        && own == word
                        && !same_run(&self.caller, j)
                    {
                        next[(i + 1) * columns + j] = true;
                    }
                    if let Some((own, WordStatus::Added(_))) = caller
                        && self.stale.get(own).unwrap_or(own) == word
                        && !same_run(&self.file, i)
                    {
                        next[i * columns + j + 1] = true;
                    }
                }
            }
            if k == answer.len() {
                return here[rows * columns - 1];
            }
            here = next;
        }
        false
    }
}

/// Where a word of one side comes from.
enum WordSource {
    /// This word of the base.
    Base(usize),
    /// It replaces these words of the base, or goes between two.
    Between(usize, usize),
}

/// What one side did to the base.
struct SideDiff {
    /// For each word of the base whether the side has it.
    kept: Vec<bool>,
    from: Vec<WordSource>,
    /// Words of the base, and words of the side in their place.
    replaced: Vec<(Range<usize>, Range<usize>)>,
}

impl SideDiff {
    fn of(base: &[&str], side: &[&str]) -> Self {
        let mut out =
            Self { kept: vec![false; base.len()], from: Vec::new(), replaced: Vec::new() };
        for op in similar::capture_diff_slices(similar::Algorithm::Myers, base, side) {
            let (old, new) = (op.old_range(), op.new_range());
            if op.tag() == similar::DiffTag::Equal {
                out.kept[old.clone()].fill(true);
                out.from.extend(old.map(WordSource::Base));
            } else {
                out.from.extend(new.clone().map(|_| WordSource::Between(old.start, old.end)));
                out.replaced.push((old, new));
            }
        }
        out
    }
}

/// The words and punctuation of a text, without whitespace.
fn words(text: &str) -> Vec<&str> {
    tokens(text).into_iter().filter(|token| !token.trim().is_empty()).collect()
}

fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphanumeric() || c == '_')
}

/// The answer with its whitespace normalised: between two neighbouring words it is taken from the
/// file, or else from the caller. Only if neither has the two words side by side, that of the
/// answer is used, reduced to one space.
pub(super) fn normalize_whitespace(hunk: &ConflictHunk, text: &str) -> String {
    fn pairs<'a>(text: &'a str, out: &mut HashMap<(&'a str, &'a str), &'a str>) {
        let mut before: Option<&str> = None;
        let mut gap = "";
        for token in tokens(text) {
            if token.trim().is_empty() {
                gap = token;
                continue;
            }
            if let Some(before) = before {
                out.entry((before, token)).or_insert(gap);
            }
            (before, gap) = (Some(token), "");
        }
    }
    let mut known = HashMap::new();
    for side in [&hunk.found, &hunk.wanted, &hunk.believed] {
        pairs(side, &mut known);
    }
    let head = &text[..text.len() - text.trim_start().len()];
    let is_known_head = [&hunk.found, &hunk.wanted, &hunk.believed]
        .into_iter()
        .flat_map(|side| side.lines())
        .any(|line| line[..line.len() - line.trim_start().len()] == *head);
    let own = &hunk.found[..hunk.found.len() - hunk.found.trim_start().len()];
    let mut out = if is_known_head { head.to_owned() } else { own.to_owned() };
    let mut before: Option<&str> = None;
    let mut gap = "";
    for token in tokens(text.trim()) {
        if token.trim().is_empty() {
            gap = token;
            continue;
        }
        if let Some(before) = before {
            let known = known.get(&(before, token)).copied();
            out.push_str(known.unwrap_or(match gap {
                gap if gap.is_empty() || gap.contains('\n') => gap,
                _ => " ",
            }));
        }
        out.push_str(token);
        (before, gap) = (Some(token), "");
    }
    out
}

/// Re-indents an answer that has the indentation that the caller assumed to the indentation of the
/// file.
pub(super) fn reindent(hunk: &ConflictHunk, text: &str) -> String {
    fn indent(text: &str) -> Option<&str> {
        let line = text.lines().find(|line| !line.trim().is_empty())?;
        Some(&line[..line.len() - line.trim_start().len()])
    }
    let (Some(was), Some(is), Some(own)) =
        (indent(&hunk.believed), indent(&hunk.found), indent(text))
    else {
        return text.to_owned();
    };
    if was == is || own != was {
        return text.to_owned();
    }
    let moved = text.split('\n').map(|line| match line.strip_prefix(was) {
        Some(rest) if !line.trim().is_empty() => format!("{is}{rest}"),
        _ => line.to_owned(),
    });
    moved.collect::<Vec<_>>().join("\n")
}

/// Resolves a conflict without a question, if the caller and the file changed different words of
/// one line.
pub(super) fn merge_words(hunk: &ConflictHunk) -> Option<String> {
    let single = |text: &str| !text.trim().is_empty() && !text.contains('\n');
    if ![&hunk.believed, &hunk.found, &hunk.wanted].into_iter().all(|text| single(text)) {
        return None;
    }
    let indent = |text: &'_ str| text[..text.len() - text.trim_start().len()].to_owned();
    if indent(&hunk.believed) != indent(&hunk.wanted) {
        return None;
    }
    let cut = |text: &str| -> Vec<String> {
        tokens(text.trim()).into_iter().map(str::to_owned).collect()
    };
    let (base, ours, theirs) = (cut(&hunk.believed), cut(&hunk.found), cut(&hunk.wanted));
    let changes = |to: &[String]| -> Vec<(Range<usize>, Vec<String>)> {
        similar::capture_diff_slices(similar::Algorithm::Myers, &base, to)
            .into_iter()
            .filter(|op| op.tag() != similar::DiffTag::Equal)
            .map(|op| (op.old_range(), to[op.new_range()].to_vec()))
            .collect()
    };
    // A typo is not a conflict; a different name is.
    let is_typo = |range: &Range<usize>, text: &[String]| {
        let (a, b) = (base[range.clone()].concat(), text.concat());
        rapidfuzz::distance::levenshtein::normalized_similarity(a.chars(), b.chars()) >= 0.5
    };
    let mut all = changes(&ours);
    if !all.iter().all(|(range, text)| is_typo(range, text)) {
        return None;
    }
    for change in changes(&theirs) {
        if all.contains(&change) {
            continue;
        }
        // Neighbouring words depend on each other, whatever whitespace is between them.
        let near = |other: &(Range<usize>, Vec<String>)| {
            change.0.start <= other.0.end + 1 && other.0.start <= change.0.end + 1
        };
        if all.iter().any(near) {
            return None;
        }
        all.push(change);
    }
    all.sort_by_key(|(range, _)| range.start);
    let mut out = indent(&hunk.found);
    let mut at = 0;
    for (range, text) in all {
        out.extend(base[at..range.start].iter().map(String::as_str));
        out.extend(text.iter().map(String::as_str));
        at = range.end;
    }
    out.extend(base[at..].iter().map(String::as_str));
    Some(out)
}

/// Words, runs of whitespace and single punctuation characters.
fn tokens(text: &str) -> Vec<&str> {
    let kind = |c: char| match c {
        c if c.is_alphanumeric() || c == '_' => 0,
        c if c.is_whitespace() => 1,
        _ => 2,
    };
    let mut out = Vec::new();
    let mut start = 0;
    let mut last = 3;
    for (at, c) in text.char_indices() {
        if at > 0 && (kind(c) != last || last == 2) {
            out.push(&text[start..at]);
            start = at;
        }
        last = kind(c);
    }
    if start < text.len() {
        out.push(&text[start..]);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hunk(believed: &str, found: &str, wanted: &str) -> ConflictHunk {
        let text = str::to_owned;
        ConflictHunk {
            lines: 0..1,
            believed: text(believed),
            found: text(found),
            wanted: text(wanted),
        }
    }

    #[test]
    fn an_answer_keeps_what_the_caller_added() {
        let stale = hunk("timeout: 3000,", "timeout: 4500,", "timeout: 8000,");
        let ok = |text: &str| check_merge(&stale, text).is_ok();
        assert!(ok("timeout: 8000,"));
        assert!(!ok("timeout: 4500,"));
        assert!(!ok("timeout: 9000,"));
        assert!(!ok("timeout: 8000, evil: 1,"));
    }

    #[test]
    fn words_added_by_the_file_stay_with_those_of_the_caller() {
        let both = hunk("f(items) {", "g(items, tax) {", "f(items, cut) {");
        let ok = |text: &str| check_merge(&both, text).is_ok();
        assert!(ok("g(items, tax, cut) {"));
        assert!(ok("g(items, cut, tax) {"));
        for bad in [
            "f(items, tax, cut) {",
            "g(items, cut) {",
            "g(tax, items, cut) {",
            "cut",
            "g(items, tax) {",
            "g(items, tax, cut, x) {",
        ] {
            assert!(!ok(bad), "{bad}");
        }
        let renamed = hunk("usr = get(id)", "user = get(id)", "usr = get(id)\ncheck(usr)");
        assert!(check_merge(&renamed, "user = get(id)\ncheck(user)").is_ok());
        assert!(check_merge(&renamed, "usr = get(id)\ncheck(usr)").is_err());
    }

    #[test]
    fn changes_of_different_words_merge() {
        let apart = hunk("retrun getUser(id)", "return getUser(id)", "return getUser(id, cache)");
        assert_eq!(merge_words(&apart).as_deref(), Some("return getUser(id, cache)"));
        assert_eq!(merge_words(&hunk("a = 1", "a = 2", "a = 3")), None);
    }

    #[test]
    fn an_answer_is_split_at_the_fixed_lines() {
        let skeleton = [Some("a".into()), None, Some("b".into()), None];
        assert_eq!(split_answer(&skeleton, "a\nx\ny\nb\nz"), Ok(vec!["x\ny".into(), "z".into()]));
        assert!(split_answer(&skeleton, "x\nz").is_err());
        assert_eq!(split_answer(&[None], "  x"), Ok(vec!["  x".into()]));
    }
}
