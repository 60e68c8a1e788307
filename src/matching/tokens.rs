//! Merging inside a line: what the call kept of `old` is taken from the file, what it
//! changed is taken from `new`.

use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::canon::{Canonical, Fold, canonical, is_word};
use super::style::{DOUBLE, EditMap, SINGLE};

/// Cuts a text into words, runs of white space and single other characters.
pub(super) fn tokens(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut start = 0;
    let mut last: Option<char> = None;
    for (at, c) in text.char_indices() {
        if let Some(before) = last {
            let joined =
                is_word(before) && is_word(c) || before.is_whitespace() && c.is_whitespace();
            if !joined {
                out.push(&text[start..at]);
                start = at;
            }
        }
        last = Some(c);
    }
    if start < text.len() {
        out.push(&text[start..]);
    }
    out
}

/// The file's line with the change from `old` to `new` made in it. `None` when the
/// lines are not the same under any fold, so that the change cannot be placed.
pub(super) fn merge(old: &str, file: &str, new: &str, map: &EditMap) -> Option<String> {
    if old == file && *map == EditMap::default() {
        return Some(new.to_owned());
    }
    // Both strings in the file's style first, so that a literal is turned as a whole.
    let (old, new) = (&map.apply(old), &map.apply(new));
    let (core_old, core_new) = (old.trim_end(), new.trim_end());
    let (a, b) =
        [Fold::LookAlike, Fold::Spacing, Fold::Punctuation].into_iter().find_map(|fold| {
            let (a, b) = (canonical(core_old, fold), canonical(file.trim_end(), fold));
            (a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| a.c == b.c)).then_some((a, b))
        })?;
    let (old_tokens, new_tokens) = (tokens(core_old), tokens(core_new));
    let starts = offsets(&old_tokens);
    let new_starts = offsets(&new_tokens);
    let aligned = Aligned { old: core_old, file, a: &a, b: &b };
    let mut out = String::new();
    let ops = capture_diff_slices(Algorithm::Myers, &old_tokens, &new_tokens);
    let mut gap_open = true;
    for (at, op) in ops.iter().enumerate() {
        let old_range = starts[op.old_range().start]..starts[op.old_range().end];
        if let DiffOp::Equal { .. } = op {
            let with_head = gap_open || at == 0;
            out.push_str(aligned.kept(old_range, with_head, at + 1 == ops.len()));
            gap_open = true;
        } else {
            let text = &core_new[new_starts[op.new_range().start]..new_starts[op.new_range().end]];
            let gap = aligned.gap_before_change(old_range.clone());
            if gap_open {
                out.push_str(gap);
            }
            out.push_str(text);
            let behind = aligned.gap_after_change(old_range);
            push_without_double(&mut out, behind, text);
            gap_open = false;
        }
    }
    if ops.is_empty() {
        return Some(file.to_owned());
    }
    if aligned.is_torn_by(core_old, core_new) || map.leaves_literals(core_old, core_new) {
        return None;
    }
    // A typographic quote needs no escape; it went with the plain one.
    for quote in DOUBLE.chars().chain(SINGLE.chars()) {
        let escaped = format!("\\{quote}");
        if out.contains(&escaped) && !file.contains(&escaped) && !new.contains(&escaped) {
            out = out.replace(&escaped, &quote.to_string());
        }
    }
    // Blanks that the call has behind both are the call's habit, and not the file's.
    let tail = &new[core_new.len()..];
    let habit = !tail.is_empty() && *tail == old[core_old.len()..];
    out.push_str(if habit { &file[file.trim_end().len()..] } else { tail });
    Some(out)
}

/// A `,` or `;` that the file has behind the change and that the change brings itself.
fn push_without_double(out: &mut String, gap: &str, change: &str) {
    let mark = gap.trim();
    if matches!(mark, "," | ";") && change.trim_end().ends_with(mark) {
        return;
    }
    out.push_str(gap);
}

fn offsets(tokens: &[&str]) -> Vec<usize> {
    let mut at = 0;
    let mut out = vec![0];
    out.extend(tokens.iter().map(|token| {
        at += token.len();
        at
    }));
    out
}

/// Two texts whose canonical characters are equal.
struct Aligned<'a> {
    old: &'a str,
    file: &'a str,
    a: &'a [Canonical],
    b: &'a [Canonical],
}

impl<'a> Aligned<'a> {
    /// Canonical characters of the old side before an offset.
    fn count(&self, offset: usize) -> usize {
        self.a.partition_point(|c| c.end <= offset)
    }

    fn file_end(&self, count: usize) -> usize {
        count.checked_sub(1).map_or(0, |last| self.b[last].end)
    }

    fn file_start(&self, count: usize) -> usize {
        self.b.get(count).map_or(self.file.trim_end().len(), |c| c.start)
    }

    /// The file's text for a kept range, with what the file alone has at its ends
    /// when no change touches it there.
    fn kept(&self, old: Range<usize>, with_head: bool, is_last: bool) -> &'a str {
        let (from, to) = (self.count(old.start), self.count(old.end));
        let own_head = self.old[old.clone()].starts_with(char::is_whitespace);
        let start = if with_head || own_head { self.file_end(from) } else { self.file_start(from) };
        let own_tail = self.old[..old.end].trim_end().len() < old.end;
        let end = if own_tail || is_last { self.file_start(to) } else { self.file_end(to) };
        &self.file[start.min(end)..end.max(start.min(end))]
    }

    /// Whether the file has some plain quotes of the call as typographic ones and others as
    /// they are, and the change brings more of them: nothing tells what those are.
    fn is_torn_by(&self, old: &str, new: &str) -> bool {
        ['"', '\''].into_iter().any(|quote| {
            let as_file = |(a, b): (&Canonical, &Canonical)| {
                old[a.range()].starts_with(quote).then(|| self.file[b.range()].starts_with(quote))
            };
            let pairs: Vec<bool> = self.a.iter().zip(self.b).filter_map(as_file).collect();
            pairs.contains(&true)
                && pairs.contains(&false)
                && new.matches(quote).count() > old.matches(quote).count()
        })
    }

    /// White space that only the file has, between kept text and a change behind it.
    fn gap_before_change(&self, old: Range<usize>) -> &'a str {
        let at = self.count(old.start);
        let governed = self.old[old.clone()].starts_with(char::is_whitespace)
            || self.old[..old.start].ends_with(char::is_whitespace)
            || old.is_empty() && self.old[old.end..].starts_with(char::is_whitespace);
        if governed || old.start == 0 {
            return "";
        }
        let (start, end) = (self.file_end(at), self.file_start(at));
        // An insertion at the end of the line goes before the closing mark of the file.
        if at == self.b.len() && old.is_empty() {
            return "";
        }
        &self.file[start..end]
    }

    /// What only the file has between a change and the kept text behind it.
    fn gap_after_change(&self, old: Range<usize>) -> &'a str {
        let from = self.count(old.start);
        let at = self.count(old.end);
        let own = self.old[old.clone()].ends_with(char::is_whitespace)
            || self.old[old.end..].starts_with(char::is_whitespace);
        let insertion_with_gap_before = from == at && at < self.b.len();
        if own && old.end < self.old.len() || insertion_with_gap_before {
            return "";
        }
        &self.file[self.file_end(at)..self.file_start(at)]
    }
}

/// How many words two lines share, from 0 to 1. White space and order aside.
pub(super) fn likeness(a: &str, b: &str) -> f64 {
    let words = |text: &'_ str| {
        let mut words: Vec<String> =
            tokens(text).into_iter().filter(|t| !t.trim().is_empty()).map(str::to_owned).collect();
        words.sort_unstable();
        words
    };
    let (a, b) = (words(a), words(b));
    if a.is_empty() && b.is_empty() {
        return 1.0;
    }
    let (mut i, mut j, mut shared) = (0, 0, 0_usize);
    while i < a.len() && j < b.len() {
        match a[i].cmp(&b[j]) {
            std::cmp::Ordering::Equal => {
                shared += 1;
                i += 1;
                j += 1;
            }
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "token counts of a line are small")]
    let ratio = 2.0 * shared as f64 / (a.len() + b.len()) as f64;
    ratio
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(old: &str, file: &str, new: &str) -> Option<String> {
        merge(old, file, new, &EditMap::learn(&[(old, file)]))
    }

    #[test]
    fn kept_tokens_are_the_files() {
        for (old, file, new, result) in [
            ("f( a, b )", "f(a,b)", "f( a, c )", "f(a,c)"),
            ("f(a,b)", "f(a, b)", "f(a,c)", "f(a, c)"),
            ("f(a,b)", "f(a, b)", "f(c,b)", "f(c, b)"),
            ("say \"hi\"", "say “hi”", "say \"ho\"", "say “ho”"),
            ("x = 'old';", "x = \"old\"", "x = 'new';", "x = \"new\""),
            ("x = 'old'", "x = \"old\";", "x = 'new'", "x = \"new\";"),
            ("f('a')", "f(\"a\")", "f('a', 'b')", "f(\"a\", 'b')".replace('\'', "\"").as_str()),
            ("a: 1", "a: 1,", "a: 1,", "a: 1,"),
            ("a: 1", "a: 1,", "a: 2,", "a: 2,"),
            ("a: 1,", "a: 1", "a: 2,", "a: 2"),
            ("x = 1", "x = 1  ", "x = 2", "x = 2"),
            ("a - b", "a – b", "a - c", "a – c"),
            ("wait...", "wait…", "wait... now", "wait… now"),
        ] {
            assert_eq!(merged(old, file, new).as_deref(), Some(result), "{old:?} {file:?} {new:?}");
        }
        assert_eq!(merged("f(a)", "g(a)", "f(b)"), None);
    }
}
