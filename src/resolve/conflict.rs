//! Checks how a model resolves conflicts: lines that the caller changes and that differ in the file
//! from what the caller assumed. Outside of conflicts, nothing of the model's answer is used.

use std::collections::HashMap;
use std::ops::Range;

use crate::matching::ConflictHunk;

/// Splits an answer into its parts, one for each conflict. `skeleton` holds the lines of the merge, with
/// `None` for each conflict; the answer is the text of the whole merge.
pub(super) fn split_answer(
    skeleton: &[Option<String>],
    answer: &str,
) -> Result<Vec<String>, String> {
    let lines: Vec<&str> = answer.trim_matches('\n').split('\n').collect();
    let fixed: Vec<(usize, String)> = skeleton
        .iter()
        .enumerate()
        .filter_map(|(number, line)| Some((number, line.as_ref()?.trim().to_owned())))
        .filter(|(_, line)| !line.is_empty())
        .collect();
    let fixed_lines: Vec<String> = fixed.iter().map(|(_, line)| line.clone()).collect();
    let answer_lines: Vec<String> = lines.iter().map(|line| line.trim().to_owned()).collect();
    // For each fixed line of the skeleton, the number of the same line in the answer.
    let mut positions: HashMap<usize, usize> = HashMap::new();
    for op in
        similar::capture_diff_slices(similar::Algorithm::Patience, &fixed_lines, &answer_lines)
    {
        if op.tag() == similar::DiffTag::Equal {
            for (fixed_index, answer_index) in op.old_range().zip(op.new_range()) {
                positions.insert(fixed[fixed_index].0, answer_index);
            }
        }
    }
    // The fixed lines next to a gap, above and below, as numbers in the answer.
    let neighbours = |gap: usize| {
        let above = (0..gap).rev().find_map(|line| positions.get(&line).copied());
        let below = (gap + 1..skeleton.len()).find_map(|line| positions.get(&line).copied());
        (above, below)
    };
    let gaps: Vec<usize> = (0..skeleton.len()).filter(|&line| skeleton[line].is_none()).collect();
    let mut parts = Vec::new();
    for &gap in &gaps {
        let (above, below) = neighbours(gap);
        let start = above.map_or(0, |line| line + 1);
        let end = below.unwrap_or(lines.len());
        // Two gaps between the same fixed lines cannot be told apart.
        let is_ambiguous =
            gaps.iter().any(|&other| other != gap && neighbours(other) == (above, below));
        if is_ambiguous || start > end {
            return Err("the answer does not show which part belongs to which conflict".into());
        }
        parts.push(lines[start..end].join("\n"));
    }
    Ok(parts)
}

/// Checks that a text may replace a conflict: it must be a merge, word by word and in order, of the
/// file's text, the text that the caller assumed, and the text that the caller wants.
///
/// Words that both sides keep must stay, and so must words that the caller added. Words that only the
/// file has may be dropped only in a part that the caller rewrote. No other words may be added.
pub(super) fn check_merge(hunk: &ConflictHunk, text: &str) -> Result<(), String> {
    if text.contains('\0') {
        return Err("the answer contains a NUL character".into());
    }
    let sides = Sides::of(hunk);
    let answer = words(text);
    if let Some(stale) = answer.iter().find(|word| sides.stale.contains_key(**word)) {
        return Err(format!("the file has `{}`, not `{stale}`", sides.stale[*stale]));
    }
    let same = |other: &str| answer == words(other);
    if !same(&hunk.wanted) && (same(&hunk.found) || same(&hunk.believed)) {
        return Err("the answer reverts the edit".into());
    }
    match sides.is_merge(&answer) {
        true => Ok(()),
        false => Err("the answer is not a merge: it drops, moves or adds words".into()),
    }
}

/// The words of both sides of a conflict, and whether an answer must have them. The base is the text
/// that the caller assumed.
struct Sides<'a> {
    /// The words of the file, in order.
    file: Vec<(&'a str, WordStatus)>,
    /// The words of the caller's new text, in order.
    caller: Vec<(&'a str, WordStatus)>,
    /// Words of the base that the file has replaced, with their replacements.
    stale: HashMap<&'a str, &'a str>,
}

/// Whether an answer must have a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WordStatus {
    /// Both sides keep this word of the base.
    Common(usize),
    /// One side added it before this word of the base.
    Added(usize),
    /// One side added it before this word of the base, but the other side rewrote that part, so the
    /// word may be dropped.
    Optional(usize),
    /// The other side removed it.
    Removed,
}

/// The largest number of steps of the check.
const MAX_CELLS: usize = 32_000_000;

impl<'a> Sides<'a> {
    /// Compares both sides of a conflict with the base.
    fn of(hunk: &'a ConflictHunk) -> Self {
        let base = words(&hunk.believed);
        let (file, caller) = (words(&hunk.found), words(&hunk.wanted));
        let file_diff = SideDiff::of(&base, &file);
        let caller_diff = SideDiff::of(&base, &caller);
        let mut stale = HashMap::new();
        for (old, new) in &file_diff.replaced {
            let is_kept_by_caller = old.clone().all(|at| caller_diff.kept[at]);
            if old.len() == new.len() && is_kept_by_caller {
                let pairs = old
                    .clone()
                    .zip(new.clone())
                    .map(|(old_at, new_at)| (base[old_at], file[new_at]));
                stale.extend(pairs.filter(|(word, _)| is_word(word) && !file.contains(word)));
            }
        }
        // Whether the caller kept the words `start..end` of the base; if the range is empty, whether it
        // kept the words on both sides of it.
        let is_untouched = |start: usize, end: usize| {
            let beside = [start.checked_sub(1), Some(end).filter(|at| *at < base.len())];
            (start..end).all(|at| caller_diff.kept[at])
                && (start < end || beside.into_iter().flatten().all(|at| caller_diff.kept[at]))
        };
        let file_words = file.iter().zip(&file_diff.sources).map(|(word, source)| {
            let status = match *source {
                WordSource::Base(at) if caller_diff.kept[at] => WordStatus::Common(at),
                WordSource::Base(_) => WordStatus::Removed,
                WordSource::Replaces { start, end } if is_untouched(start, end) => {
                    WordStatus::Added(start)
                }
                WordSource::Replaces { start, .. } => WordStatus::Optional(start),
            };
            (*word, status)
        });
        let caller_words = caller.iter().zip(&caller_diff.sources).map(|(word, source)| {
            let status = match *source {
                WordSource::Base(at) if file_diff.kept[at] => WordStatus::Common(at),
                WordSource::Base(_) => WordStatus::Removed,
                WordSource::Replaces { start, .. } => WordStatus::Added(start),
            };
            (*word, status)
        });
        Self { file: file_words.collect(), caller: caller_words.collect(), stale }
    }

    /// Whether the answer is a merge of the two sides: common words once, the words of each side in
    /// their order, and no run of added words split by the other side.
    fn is_merge(&self, answer: &[&str]) -> bool {
        let (rows, columns) = (self.file.len() + 1, self.caller.len() + 1);
        if rows.saturating_mul(columns).saturating_mul(answer.len() + 1) > MAX_CELLS {
            return false;
        }
        // Whether the word at `at` continues the run of added words that the word before it is in.
        let continues_run = |side: &[(&str, WordStatus)], at: usize| match (
            at.checked_sub(1),
            side.get(at),
        ) {
            (Some(before), Some((_, WordStatus::Added(b) | WordStatus::Optional(b)))) => {
                matches!(side[before].1, WordStatus::Added(a) | WordStatus::Optional(a) if a == *b)
            }
            _ => false,
        };
        // Each cell says whether the first `file_at` words of the file and the first `caller_at` words
        // of the caller can account for the words of the answer so far; `next` says so with one more
        // word of the answer.
        let mut reachable = vec![false; rows * columns];
        reachable[0] = true;
        for answer_at in 0..=answer.len() {
            let mut next = vec![false; rows * columns];
            for file_at in 0..rows {
                for caller_at in 0..columns {
                    if !reachable[file_at * columns + caller_at] {
                        continue;
                    }
                    let (file, caller) = (self.file.get(file_at), self.caller.get(caller_at));
                    // Skip a word that may be dropped.
                    if matches!(file, Some((_, WordStatus::Removed | WordStatus::Optional(_)))) {
                        reachable[(file_at + 1) * columns + caller_at] = true;
                    }
                    if matches!(caller, Some((_, WordStatus::Removed))) {
                        reachable[file_at * columns + caller_at + 1] = true;
                    }
                    let Some(answered) = answer.get(answer_at) else { continue };
                    if let (Some((word, WordStatus::Common(a))), Some((_, WordStatus::Common(b)))) =
                        (file, caller)
                        && a == b
                        && word == answered
                    {
                        next[(file_at + 1) * columns + caller_at + 1] = true;
                    }
                    if let Some((word, WordStatus::Added(_) | WordStatus::Optional(_))) = file
                        && word == answered
                        && !continues_run(&self.caller, caller_at)
                    {
                        next[(file_at + 1) * columns + caller_at] = true;
                    }
                    if let Some((word, WordStatus::Added(_))) = caller
                        && self.stale.get(word).unwrap_or(word) == answered
                        && !continues_run(&self.file, file_at)
                    {
                        next[file_at * columns + caller_at + 1] = true;
                    }
                }
            }
            if answer_at == answer.len() {
                return reachable[rows * columns - 1];
            }
            reachable = next;
        }
        false
    }
}

/// Where a word of one side comes from.
enum WordSource {
    /// It is this word of the base.
    Base(usize),
    /// It replaces these words of the base, or is inserted at `start` if there are none.
    Replaces { start: usize, end: usize },
}

/// How one side differs from the base.
struct SideDiff {
    /// For each word of the base, whether the side keeps it.
    kept: Vec<bool>,
    /// For each word of the side, where it comes from.
    sources: Vec<WordSource>,
    /// Words of the base, and the words of the side that replace them.
    replaced: Vec<(Range<usize>, Range<usize>)>,
}

impl SideDiff {
    /// Compares the words of a side with those of the base.
    fn of(base: &[&str], side: &[&str]) -> Self {
        let mut diff =
            Self { kept: vec![false; base.len()], sources: Vec::new(), replaced: Vec::new() };
        for op in similar::capture_diff_slices(similar::Algorithm::Myers, base, side) {
            let (old, new) = (op.old_range(), op.new_range());
            if op.tag() == similar::DiffTag::Equal {
                diff.kept[old.clone()].fill(true);
                diff.sources.extend(old.map(WordSource::Base));
            } else {
                let (start, end) = (old.start, old.end);
                diff.sources.extend(new.clone().map(|_| WordSource::Replaces { start, end }));
                diff.replaced.push((old, new));
            }
        }
        diff
    }
}

/// The words and punctuation of a text, without whitespace.
fn words(text: &str) -> Vec<&str> {
    tokens(text).into_iter().filter(|token| !token.trim().is_empty()).collect()
}

/// Whether a token is a word and not punctuation.
fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphanumeric() || c == '_')
}

/// The whitespace that a text begins with.
fn leading_whitespace(text: &str) -> &str {
    &text[..text.len() - text.trim_start().len()]
}

/// The answer with normalised whitespace: the whitespace between two neighbouring words is that of
/// the file, or else that of the call. If neither has the two words side by side, the answer's own
/// whitespace is used, reduced to one space unless it contains a line break.
pub(super) fn normalize_whitespace(hunk: &ConflictHunk, text: &str) -> String {
    /// Adds the whitespace between each two neighbouring words of `text`, unless `out` has it already.
    fn collect_whitespace<'a>(text: &'a str, out: &mut HashMap<(&'a str, &'a str), &'a str>) {
        let mut previous: Option<&str> = None;
        let mut whitespace = "";
        for token in tokens(text) {
            if token.trim().is_empty() {
                whitespace = token;
                continue;
            }
            if let Some(previous) = previous {
                out.entry((previous, token)).or_insert(whitespace);
            }
            (previous, whitespace) = (Some(token), "");
        }
    }
    let mut known_whitespace = HashMap::new();
    for side in [&hunk.found, &hunk.wanted, &hunk.believed] {
        collect_whitespace(side, &mut known_whitespace);
    }
    let indent = leading_whitespace(text);
    let is_known_indent = [&hunk.found, &hunk.wanted, &hunk.believed]
        .into_iter()
        .flat_map(|side| side.lines())
        .any(|line| leading_whitespace(line) == indent);
    let indent = if is_known_indent { indent } else { leading_whitespace(&hunk.found) };
    let mut out = indent.to_owned();
    let mut previous: Option<&str> = None;
    let mut whitespace = "";
    for token in tokens(text.trim()) {
        if token.trim().is_empty() {
            whitespace = token;
            continue;
        }
        if let Some(previous) = previous {
            let reduced = match whitespace.is_empty() || whitespace.contains('\n') {
                true => whitespace,
                false => " ",
            };
            out.push_str(known_whitespace.get(&(previous, token)).copied().unwrap_or(reduced));
        }
        out.push_str(token);
        (previous, whitespace) = (Some(token), "");
    }
    out
}

/// If an answer has the indentation that the caller assumed, changes it to that of the file.
pub(super) fn reindent(hunk: &ConflictHunk, text: &str) -> String {
    /// The indentation of the first line that is not blank.
    fn indent(text: &str) -> Option<&str> {
        text.lines().find(|line| !line.trim().is_empty()).map(leading_whitespace)
    }
    let (Some(assumed), Some(actual), Some(answered)) =
        (indent(&hunk.believed), indent(&hunk.found), indent(text))
    else {
        return text.to_owned();
    };
    if assumed == actual || answered != assumed {
        return text.to_owned();
    }
    let lines = text.split('\n').map(|line| match line.strip_prefix(assumed) {
        Some(content) if !line.trim().is_empty() => format!("{actual}{content}"),
        _ => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Merges a conflict of one line without asking the model, if the caller and the file changed
/// words that are not next to each other and the file only fixed typos; otherwise `None`.
pub(super) fn merge_words(hunk: &ConflictHunk) -> Option<String> {
    let is_one_line = |text: &String| !text.trim().is_empty() && !text.contains('\n');
    if ![&hunk.believed, &hunk.found, &hunk.wanted].into_iter().all(is_one_line) {
        return None;
    }
    if leading_whitespace(&hunk.believed) != leading_whitespace(&hunk.wanted) {
        return None;
    }
    let owned_tokens = |text: &str| -> Vec<String> {
        tokens(text.trim()).into_iter().map(str::to_owned).collect()
    };
    let base = owned_tokens(&hunk.believed);
    // The ranges of the base that differ in `side`, with the tokens that replace them.
    let changes = |side: &str| -> Vec<(Range<usize>, Vec<String>)> {
        let side = owned_tokens(side);
        similar::capture_diff_slices(similar::Algorithm::Myers, &base, &side)
            .into_iter()
            .filter(|op| op.tag() != similar::DiffTag::Equal)
            .map(|op| (op.old_range(), side[op.new_range()].to_vec()))
            .collect()
    };
    // A similar word is a fixed typo; a different word may be another name.
    let is_typo = |(range, tokens): &(Range<usize>, Vec<String>)| {
        let (old, new) = (base[range.clone()].concat(), tokens.concat());
        rapidfuzz::distance::levenshtein::normalized_similarity(old.chars(), new.chars()) >= 0.5
    };
    let mut merged = changes(&hunk.found);
    if !merged.iter().all(is_typo) {
        return None;
    }
    for change in changes(&hunk.wanted) {
        if merged.contains(&change) {
            continue;
        }
        // Neighbouring words may depend on each other; there may be whitespace between them.
        let (range, _) = &change;
        let is_near = |(other, _): &(Range<usize>, Vec<String>)| {
            range.start <= other.end + 1 && other.start <= range.end + 1
        };
        if merged.iter().any(is_near) {
            return None;
        }
        merged.push(change);
    }
    merged.sort_by_key(|(range, _)| range.start);
    let mut out = leading_whitespace(&hunk.found).to_owned();
    let mut at = 0;
    for (range, tokens) in merged {
        out.extend(base[at..range.start].iter().map(String::as_str));
        out.extend(tokens.iter().map(String::as_str));
        at = range.end;
    }
    out.extend(base[at..].iter().map(String::as_str));
    Some(out)
}

/// Splits a text into words, runs of whitespace, and single punctuation characters.
fn tokens(text: &str) -> Vec<&str> {
    #[derive(Clone, Copy, PartialEq, Eq)]
    enum CharClass {
        Word,
        Whitespace,
        Punctuation,
    }
    let class = |c: char| match c {
        c if c.is_alphanumeric() || c == '_' => CharClass::Word,
        c if c.is_whitespace() => CharClass::Whitespace,
        _ => CharClass::Punctuation,
    };
    let mut out = Vec::new();
    let mut start = 0;
    let mut previous = None;
    for (at, c) in text.char_indices() {
        let class = class(c);
        let starts_token = previous != Some(class) || class == CharClass::Punctuation;
        if at > 0 && starts_token {
            out.push(&text[start..at]);
            start = at;
        }
        previous = Some(class);
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
