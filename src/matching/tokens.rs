//! Merging inside a line: what the call kept of `old` is taken from the file, what it
//! changed is taken from `new`.

use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::canon::{self, Canonical, Fold, canonical, is_word};

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

/// A quote style that the call has and the file does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct QuoteMap(Option<(char, char)>);

impl QuoteMap {
    /// The one exchange that all pairs of lines show, if there is one.
    pub(super) fn learn<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        let mut found: Option<(char, char)> = None;
        for (old, file) in pairs {
            let (a, b) = (canonical(old, Fold::Punctuation), canonical(file, Fold::Punctuation));
            if a.len() != b.len() {
                continue;
            }
            for (a, b) in a.iter().zip(&b).filter(|(a, _)| a.c == '"') {
                let from = old[a.range()].chars().next();
                let to = file[b.range()].chars().next();
                let (Some(from), Some(to)) = (from, to) else { continue };
                if !(is_quote(from) && is_quote(to)) {
                    continue;
                }
                match found {
                    None => found = Some((from, to)),
                    Some(seen) if seen == (from, to) => {}
                    Some(_) => return Self(None),
                }
            }
        }
        Self(found.filter(|(from, to)| from != to))
    }

    /// Gives the literals of a new text the file's quotes, where that is safe.
    pub(super) fn apply(&self, text: &str) -> String {
        let Some((from, to)) = self.0 else { return text.to_owned() };
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(open) = rest.find(from) {
            let inside = &rest[open + from.len_utf8()..];
            let Some(close) = inside.find(from) else { break };
            let literal = &inside[..close];
            out.push_str(&rest[..open]);
            if literal.contains([to, '\\', '\n']) {
                out.push_str(&rest[open..open + from.len_utf8() + close + from.len_utf8()]);
            } else {
                out.push(to);
                out.push_str(literal);
                out.push(to);
            }
            rest = &inside[close + from.len_utf8()..];
        }
        out.push_str(rest);
        out
    }
}

fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\'' | '`')
}

/// The file's line with the change from `old` to `new` made in it. `None` when the
/// lines are not the same under any fold, so that the change cannot be placed.
pub(super) fn merge(old: &str, file: &str, new: &str, quotes: &QuoteMap) -> Option<String> {
    if old == file {
        return Some(new.to_owned());
    }
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
            let change = quotes.apply(text);
            out.push_str(&change);
            let behind = aligned.gap_after_change(old_range);
            push_without_double(&mut out, behind, &change);
            gap_open = false;
        }
    }
    if ops.is_empty() {
        return Some(file.to_owned());
    }
    // Blanks that close the file's line are the file's, unless the call changed its own.
    let end = if old[core_old.len()..] == new[core_new.len()..] {
        &file[file.trim_end().len()..]
    } else {
        &new[core_new.len()..]
    };
    out.push_str(end);
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
        let start = if with_head { self.file_end(from) } else { self.file_start(from) };
        let own_tail = self.old[..old.end].trim_end().len() < old.end;
        let end = if own_tail || is_last { self.file_start(to) } else { self.file_end(to) };
        &self.file[start.min(end)..end.max(start.min(end))]
    }

    /// White space that only the file has, between kept text and a change behind it.
    fn gap_before_change(&self, old: Range<usize>) -> &'a str {
        let at = self.count(old.start);
        let governed = self.old[old.clone()].starts_with(char::is_whitespace)
            || self.old[..old.start].ends_with(char::is_whitespace);
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

/// Whether a line is a comment only, in the usual languages.
pub(super) fn is_comment(line: &str) -> bool {
    let line = line.trim();
    ["//", "#", "--", "/*", "*/", "* ", "<!--", ";", "%", "\"\"\"", "'''"]
        .iter()
        .any(|mark| line.starts_with(mark))
        && !line.starts_with("#include")
        && !line.starts_with("#define")
        && !line.starts_with("#if")
        && !line.starts_with("#e")
        && !line.starts_with("#[")
        && !line.starts_with("#!")
        && !line.starts_with("#undef")
        && !line.starts_with("#pragma")
        || line == "*"
}

/// A line without the comment at its end.
pub(super) fn without_comment(line: &str) -> &str {
    let chars = canon::canonical(line, Fold::LookAlike);
    let mut open: Option<char> = None;
    let mut escaped = false;
    for (at, here) in chars.iter().enumerate() {
        let blank_before = at == 0 || chars[at - 1].c.is_whitespace();
        let next = chars.get(at + 1).map(|c| c.c);
        match (open, here.c) {
            (Some(_), '\\') if !escaped => {
                escaped = true;
                continue;
            }
            (Some(quote), c) if c == quote && !escaped => open = None,
            (None, c @ ('"' | '`')) => open = Some(c),
            (None, '\'') if at == 0 || !is_word(chars[at - 1].c) => open = Some('\''),
            (None, '/')
                if matches!(next, Some('/' | '*')) && (blank_before || next == Some('*')) =>
            {
                return line[..here.start].trim_end();
            }
            (None, '#') if blank_before && at > 0 && next.is_none_or(char::is_whitespace) => {
                return line[..here.start].trim_end();
            }
            _ => {}
        }
        escaped = false;
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(old: &str, file: &str, new: &str) -> Option<String> {
        let quotes = QuoteMap::learn([(old, file)].into_iter());
        merge(old, file, new, &quotes)
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
            ("x = 1", "x = 1  ", "x = 2", "x = 2  "),
            ("a - b", "a – b", "a - c", "a – c"),
            ("wait...", "wait…", "wait... now", "wait… now"),
        ] {
            assert_eq!(merged(old, file, new).as_deref(), Some(result), "{old:?} {file:?} {new:?}");
        }
        assert_eq!(merged("f(a)", "g(a)", "f(b)"), None);
    }

    #[test]
    fn comments_are_told_from_code() {
        assert_eq!(without_comment("x = 1; // why"), "x = 1;");
        assert_eq!(without_comment("x = 'http://a' # why"), "x = 'http://a'");
        assert_eq!(without_comment("url(//x)"), "url(//x)");
        assert!(is_comment("  # why") && !is_comment("#include <x>") && is_comment(" * text"));
    }
}
