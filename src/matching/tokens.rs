//! Merging inside a line: what the call kept of `old` is taken from the file, what it
//! changed is taken from `new`.

use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::budget;
use super::fold::{Fold, canonical, is_word_char};
use crate::language::Language;

/// Longer texts are not merged by tokens.
const MAX_TOKENS: usize = 4_000;

/// A word or a single other character, and the whitespace before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Token<'a> {
    gap: &'a str,
    text: &'a str,
    /// Where `text` begins.
    start: usize,
}

/// Whether the end of the line shows that the statement continues: it opens a bracket, or joins
/// what follows.
fn continues(line: &str) -> bool {
    let line = line.trim_end();
    line.is_empty()
        || line.ends_with("=>")
        || line.ends_with("->")
        || line.ends_with(|c| "([{<,;:=+-*/%|&^.\\".contains(c))
}

/// The words and punctuation of a text, and the whitespace after the last.
fn tokens(text: &str) -> (Vec<Token<'_>>, &str) {
    let mut out = Vec::new();
    let mut at = 0;
    loop {
        let rest = &text[at..];
        let gap = &rest[..rest.len() - rest.trim_start().len()];
        let start = at + gap.len();
        let rest = &text[start..];
        let Some(first) = rest.chars().next() else { return (out, gap) };
        let len = if is_word_char(first) {
            rest.find(|c: char| !is_word_char(c)).unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        out.push(Token { gap, text: &rest[..len], start });
        at = start + len;
    }
}

/// The words of a text.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !is_word_char(c)).filter(|word| !word.is_empty())
}

/// The share of tokens that two lines have in common, from 0 to 1, weighted by length.
pub(super) fn similarity(a: &str, b: &str) -> f64 {
    if a == b {
        return 1.0;
    }
    let (a, b) = (tokens(a).0, tokens(b).0);
    if a.is_empty() || b.is_empty() || a.len() + b.len() > MAX_TOKENS {
        return 0.0;
    }
    let weight = |token: &Token<'_>| {
        if token.text.starts_with(is_word_char) { token.text.len() + 1 } else { 1 }
    };
    budget::spend(2 * (a.len() + b.len()) + a.len() * b.len() / 16);
    let total: usize = a.iter().chain(&b).map(weight).sum();
    let texts = |tokens: &[Token<'_>]| tokens.iter().map(|t| t.text.to_owned()).collect::<Vec<_>>();
    let ops = capture_diff_slices(Algorithm::Myers, &texts(&a), &texts(&b));
    let same: usize = ops
        .iter()
        .filter(|op| matches!(op, DiffOp::Equal { .. }))
        .map(|op| a[op.old_range()].iter().map(weight).sum::<usize>())
        .sum();
    #[expect(clippy::cast_precision_loss, reason = "lengths of lines")]
    let share = 2.0 * same as f64 / total as f64;
    share
}

/// A line of the call merged into the file's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Merged {
    /// One text says what the call means.
    Certain(String),
    /// The file has another kind of quotes and the call adds or removes some, so either kind
    /// may be meant: the merged line, and the line as it was sent.
    Ambiguous(String, String),
}

/// `file` with what `new` changes in `old`, where `old` and `file` are the same under `fold`.
/// `None` where they are not.
pub(super) fn merge(
    old: &str,
    file: &str,
    new: &str,
    fold: Option<Fold>,
    language: Option<&Language>,
) -> Option<Merged> {
    if old == file {
        return Some(Merged::Certain(new.to_owned()));
    }
    let (o, _) = tokens(old);
    let (n, n_tail) = tokens(new);
    if o.len() + n.len() > MAX_TOKENS {
        return None;
    }
    let spans = positions(old, file, &o, fold)?;
    let kept = pairs(&o, &n);
    let mut partner: Vec<Option<usize>> = vec![None; n.len()];
    let mut stands_for: Vec<Option<usize>> = vec![None; n.len()];
    for pair in kept {
        match pair {
            Pair::Same(o, n) => (partner[n], stands_for[n]) = (Some(o), Some(o)),
            Pair::Replaced(o, n) => stands_for[n] = Some(o),
        }
    }
    let mut out = String::with_capacity(file.len() + new.len());
    let mut before: Option<usize> = None;
    for (at, token) in n.iter().enumerate() {
        // The whitespace before a token is the file's where the call did not change it.
        let follows = stands_for[at].filter(|&o| match before {
            Some(before) => o == before + 1,
            None => at == 0 && o == 0,
        });
        match follows {
            // A character that the fold drops is not in the file.
            Some(at)
                if o[at].gap == token.gap
                    && !spans[at].is_empty()
                    && at.checked_sub(1).is_none_or(|b| !spans[b].is_empty()) =>
            {
                let from = at.checked_sub(1).map_or(0, |b| spans[b].end);
                out.push_str(&file[from..spans[at].start]);
            }
            _ => out.push_str(token.gap),
        }
        match partner[at].filter(|&o_at| is_same_run(&o, o_at, &n, at)) {
            Some(o) => out.push_str(&file[spans[o].clone()]),
            None => out.push_str(token.text),
        }
        before = stands_for[at];
    }
    let end = spans.last().map_or(0, |last| last.end);
    let tail = &file[end..];
    let o_tail = &old[o.last().map_or(0, |last| last.start + last.text.len())..];
    // Text that only the file has after the last word of the call is kept, once.
    match o_tail == n_tail {
        true if out.ends_with(tail.trim())
            && !tail.trim().is_empty()
            && partner.last() == Some(&None) => {}
        // A closing mark follows the end of a statement. If the new line opens or joins something,
        // the file's mark may no longer be meant.
        true if !tail.trim().is_empty() && continues(new) => {
            let sent = out.clone() + n_tail;
            return Some(Merged::Ambiguous(out + tail, sent));
        }
        true => out.push_str(tail),
        false => {
            out.push_str(tail.trim_end());
            out.push_str(n_tail);
        }
    }
    let alike = language.is_some_and(Language::has_interchangeable_quotes);
    let open = has_ambiguous_quotes(&o, &n, &spans, &partner, file)
        || changes_quoted_text(&o, &n, &spans, &partner, file, alike);
    Some(if open { Merged::Ambiguous(out, new.to_owned()) } else { Merged::Certain(out) })
}

/// Whether the call keeps a quote for which the file has another character, and also adds or
/// removes quotes, so that a pair of quotes could end up with two different ones.
fn has_ambiguous_quotes(
    o: &[Token<'_>],
    n: &[Token<'_>],
    spans: &[Range<usize>],
    partner: &[Option<usize>],
    file: &str,
) -> bool {
    let is_quote = |text: &str| {
        text.starts_with(['"', '\'', '`', '“', '”', '‘', '’', '«', '»'])
            && text.chars().count() == 1
    };
    let differs =
        (0..o.len()).any(|at| is_quote(o[at].text) && file[spans[at].clone()] != *o[at].text);
    let kept: Vec<usize> =
        partner.iter().flatten().copied().filter(|&at| is_quote(o[at].text)).collect();
    let lost = o.iter().filter(|token| is_quote(token.text)).count() - kept.len();
    let added = (0..n.len()).any(|at| is_quote(n[at].text) && partner[at].is_none());
    differs && (added || lost > 0) && !kept.is_empty()
}

/// Whether the call changes text between quotes that the file writes in another way,
/// and the two may not mean the same. `alike` says that single and double quotes do.
fn changes_quoted_text(
    o: &[Token<'_>],
    n: &[Token<'_>],
    spans: &[Range<usize>],
    partner: &[Option<usize>],
    file: &str,
    alike: bool,
) -> bool {
    let differs = |at: &usize| {
        partner[*at].is_some_and(|o_at| {
            let (call, file) = (o[o_at].text, &file[spans[o_at].clone()]);
            let is_quote = |text: &str| matches!(text, "\"" | "'" | "`");
            let differ = is_quote(call) && is_quote(file) && call != file;
            differ && !(alike && call != "`" && file != "`")
        })
    };
    let quotes: Vec<usize> = (0..n.len()).filter(differs).collect();
    quotes.chunks_exact(2).any(|pair| {
        let (Some(from), Some(to)) = (partner[pair[0]], partner[pair[1]]) else { return true };
        let kept = (pair[0]..pair[1]).zip(from..to).all(|(n, o)| partner[n] == Some(o));
        !kept || pair[1] - pair[0] != to - from
    })
}

/// Whether two equal tokens are parts of the same sequence of marks: `-` is not kept in `->`.
fn is_same_run(o: &[Token<'_>], o_at: usize, n: &[Token<'_>], n_at: usize) -> bool {
    fn run<'t>(tokens: &'t [Token<'_>], at: usize) -> impl Iterator<Item = &'t str> {
        let joins = |at: usize| tokens[at].gap.is_empty() && is_operator(tokens[at].text);
        let mut from = at;
        while from > 0 && joins(from) && is_operator(tokens[from - 1].text) {
            from -= 1;
        }
        let more =
            tokens[from + 1..].iter().take_while(|t| t.gap.is_empty() && is_operator(t.text));
        tokens[from..=from].iter().chain(more).map(|token| token.text)
    }
    !is_operator(n[n_at].text) || run(o, o_at).eq(run(n, n_at))
}

/// Whether punctuation of this kind forms one operator with its neighbours.
fn is_operator(mark: &str) -> bool {
    mark.starts_with(|c: char| "-–—.…<>=+*/~|&!".contains(c))
}

enum Pair {
    Same(usize, usize),
    /// One token of a replaced run for one of its replacement.
    Replaced(usize, usize),
}

fn pairs(o: &[Token<'_>], n: &[Token<'_>]) -> Vec<Pair> {
    let texts = |tokens: &[Token<'_>]| tokens.iter().map(|t| t.text.to_owned()).collect::<Vec<_>>();
    let mut out = Vec::new();
    budget::spend(2 * (o.len() + n.len()) + o.len() * n.len() / 16);
    for op in capture_diff_slices(Algorithm::Myers, &texts(o), &texts(n)) {
        let (x, y) = (op.old_range(), op.new_range());
        match op {
            DiffOp::Equal { .. } => out.extend(x.zip(y).map(|(o, n)| Pair::Same(o, n))),
            DiffOp::Replace { .. } if x.len() == y.len() => {
                out.extend(x.zip(y).map(|(o, n)| Pair::Replaced(o, n)));
            }
            _ => {}
        }
    }
    out
}

/// Where each token of `old` is in `file`.
fn positions(
    old: &str,
    file: &str,
    tokens: &[Token<'_>],
    fold: Option<Fold>,
) -> Option<Vec<Range<usize>>> {
    let Some(fold) = fold else {
        // The same words, without whitespace at the ends.
        let (f, _) = self::tokens(file);
        let same = f.len() == tokens.len() && f.iter().zip(tokens).all(|(a, b)| a.text == b.text);
        return same.then(|| f.iter().map(|t| t.start..t.start + t.text.len()).collect());
    };
    let (a, b) = (canonical(old, fold), canonical(file, fold));
    let shared = a.len().min(b.len());
    // The laxest fold ignores one closing mark more or less at the end.
    if a.len() != b.len() || a.iter().zip(&b).any(|(a, b)| a.c != b.c) {
        return None;
    }
    let mut out = Vec::with_capacity(tokens.len());
    let (mut at, mut end) = (0, 0);
    for token in tokens {
        let stop = token.start + token.text.len();
        while at < shared && a[at].end <= token.start {
            at += 1;
        }
        let from = at;
        while at < shared && a[at].start < stop {
            at += 1;
        }
        let range = match at > from {
            true => b[from].start.max(end)..b[at - 1].end.max(end),
            // The fold dropped it: it follows the token before it, or is missing.
            false => {
                let rest = &file[end..];
                let mark = rest.trim_start();
                let skipped = rest.len() - mark.len();
                match mark.strip_prefix(token.text) {
                    Some(_) => end + skipped..end + skipped + token.text.len(),
                    None => end..end,
                }
            }
        };
        end = range.end;
        out.push(range);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clear(old: &str, file: &str, new: &str, fold: Fold) -> Option<String> {
        match merge(old, file, new, Some(fold), Language::from_name("js"))? {
            Merged::Certain(text) => Some(text),
            Merged::Ambiguous(..) => None,
        }
    }

    #[test]
    fn what_the_call_keeps_stays_as_the_file_has_it() {
        let rows = [
            ("f(a, b)", "f( a,b )", "f(a, c)", Fold::Spacing, "f( a,c )"),
            ("x = 'a';", "x = \"a\"", "x = 'b';", Fold::Punctuation, "x = \"b\""),
            ("type: 'x'", "type: \"x\",", "type: 'y',", Fold::Punctuation, "type: \"y\","),
            (
                "say \"hi\" - it's",
                "say “hi” – it’s",
                "say \"ho\" - it's",
                Fold::LookAlike,
                "say “ho” – it’s",
            ),
            ("a b", "a\u{a0}b", "a c", Fold::LookAlike, "a\u{a0}c"),
        ];
        for (old, file, new, fold, wanted) in rows {
            assert_eq!(clear(old, file, new, fold).as_deref(), Some(wanted), "{old:?} {new:?}");
        }
    }

    #[test]
    fn a_pair_of_quotes_is_never_split() {
        let merged = merge(
            "say \"yes\"",
            "say “yes”",
            "say \"no\" and \"maybe\"",
            Some(Fold::LookAlike),
            None,
        );
        assert!(matches!(merged, Some(Merged::Ambiguous(..))), "{merged:?}");
    }

    #[test]
    fn a_closing_mark_is_not_put_after_what_opens_a_block() {
        let merged = merge("g(2)", "g(2);", "if (x) {", Some(Fold::Punctuation), None);
        let open = Merged::Ambiguous("if (x) {;".into(), "if (x) {".into());
        assert_eq!(merged, Some(open));
        let kept = clear("g(2)", "g(2);", "g(3)", Fold::Punctuation);
        assert_eq!(kept.as_deref(), Some("g(3);"));
    }

    #[test]
    fn different_words_do_not_merge() {
        assert_eq!(merge("a b", "a c", "a d", Some(Fold::Punctuation), None), None);
    }
}
