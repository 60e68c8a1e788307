//! Merges inside a line: the tokens that the call keeps are taken from the file, and those that it
//! changes from `new`.

use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::budget;
use super::costs::Difference;
use super::fold::{canonical, is_word_char};
use crate::language::Language;
pub(super) use crate::text::words;

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

/// Whether a statement can go on after the line: it ends with an opening bracket or an operator, or is
/// empty.
fn statement_continues(line: &str) -> bool {
    let line = line.trim_end();
    line.is_empty()
        || line.ends_with("=>")
        || line.ends_with("->")
        || line.ends_with(|c| "([{<,;:=+-*/%|&^.\\".contains(c))
}

/// The tokens of a text, and the whitespace after the last one.
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

/// A line of the call merged into the file's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Merged {
    /// The merged line, if it is the only one that the call can mean.
    Certain(String),
    /// The merged line, and the line as it was sent. Either may be meant, for example because the file
    /// has another kind of quotes and the call adds or removes some.
    Ambiguous(String, String),
}

/// The tokens of two lines of the call and of the file's line, aligned.
struct Alignment<'a> {
    old: Vec<Token<'a>>,
    new: Vec<Token<'a>>,
    file: &'a str,
    /// For each token of `old`, its bytes in `file`.
    spans: Vec<Range<usize>>,
    /// For each token of `new`, the same token of `old`.
    partner: Vec<Option<usize>>,
    /// For each token of `new`, the token of `old` that is the same or that it replaces.
    stands_for: Vec<Option<usize>>,
}

/// The line `file` with the changes from `old` to `new`. `None` if `old` and `file` are not the same
/// under `fold`, or if they are too long.
pub(super) fn merge(
    old: &str,
    file: &str,
    new: &str,
    fold: Option<Difference>,
    language: Option<&Language>,
) -> Option<Merged> {
    if old == file {
        return Some(Merged::Certain(new.to_owned()));
    }
    let (old_tokens, old_tail) = tokens(old);
    let (new_tokens, new_tail) = tokens(new);
    if old_tokens.len() + new_tokens.len() > MAX_TOKENS {
        return None;
    }
    let spans = positions(old, file, &old_tokens, fold)?;
    let aligned = Alignment::new(old_tokens, new_tokens, file, spans);
    let mut out = aligned.merged();
    let end = aligned.spans.last().map_or(0, |last| last.end);
    let file_tail = &file[end..];
    let has_tail_already = out.ends_with(file_tail.trim())
        && !file_tail.trim().is_empty()
        && aligned.partner.last() == Some(&None);
    // Text that the file has after the last token of the call is kept.
    if old_tail != new_tail {
        out.push_str(file_tail.trim_end());
        out.push_str(new_tail);
    } else if has_tail_already {
        // The call has added the same text.
    } else if !file_tail.trim().is_empty()
        && (statement_continues(new) || language.is_some_and(|l| adds_comment(l, old, new)))
    {
        // A closing mark ends a statement. The new line opens or continues one, or has a comment behind
        // it, so the file's mark may no longer be meant.
        let sent = out.clone() + new_tail;
        return Some(Merged::Ambiguous(out + file_tail, sent));
    } else {
        out.push_str(file_tail);
    }
    let interchangeable = language.is_some_and(Language::has_interchangeable_quotes);
    let has_gaps = fold.is_some_and(|fold| fold >= Difference::Spacing);
    let is_ambiguous = has_gaps && aligned.changes_gaps_as_well()
        || aligned.has_ambiguous_quotes()
        || aligned.changes_quoted_text(interchangeable);
    Some(match is_ambiguous {
        true => Merged::Ambiguous(out, new.to_owned()),
        false => Merged::Certain(out),
    })
}

impl<'a> Alignment<'a> {
    fn new(
        old: Vec<Token<'a>>,
        new: Vec<Token<'a>>,
        file: &'a str,
        spans: Vec<Range<usize>>,
    ) -> Self {
        let (mut partner, mut stands_for) = (vec![None; new.len()], vec![None; new.len()]);
        for pair in pairs(&old, &new) {
            match pair {
                Pair::Same(old_at, new_at) => {
                    (partner[new_at], stands_for[new_at]) = (Some(old_at), Some(old_at))
                }
                Pair::Replaced(old_at, new_at) => stands_for[new_at] = Some(old_at),
            }
        }
        Self { old, new, file, spans, partner, stands_for }
    }

    /// What the file has for a token of `old`.
    fn there(&self, old_at: usize) -> &'a str {
        &self.file[self.spans[old_at].clone()]
    }

    /// The white space that the file has before a token of `old`.
    fn gap_there(&self, old_at: usize) -> &'a str {
        let from = old_at.checked_sub(1).map_or(0, |before| self.spans[before].end);
        &self.file[from..self.spans[old_at].start]
    }

    /// The tokens of `new`, each as the file has it where the call keeps it.
    fn merged(&self) -> String {
        let Self { old, new, spans, partner, stands_for, .. } = self;
        let mut out = String::with_capacity(self.file.len());
        let mut previous: Option<usize> = None;
        for (at, token) in new.iter().enumerate() {
            // If the call changes neither the token before nor the whitespace, the whitespace is the
            // file's.
            let follows_previous = |old_at: &usize| match previous {
                Some(previous) => *old_at == previous + 1,
                None => at == 0 && *old_at == 0,
            };
            // Before a closing bracket it is the file's, whatever is added there.
            let closes = |_: &usize| partner[at].is_some() && matches!(token.text, ")" | "]" | "}");
            match stands_for[at].filter(|old_at| follows_previous(old_at) || closes(old_at)) {
                Some(old_at) if old[old_at].gap == token.gap && !spans[old_at].is_empty() => {
                    out.push_str(self.gap_there(old_at));
                }
                _ => out.push_str(token.gap),
            }
            // A closing comma that the file lacks is needed once something follows it.
            let next = stands_for.get(at + 1).copied().flatten();
            let next = next.or((at + 1 == new.len()).then_some(old.len()));
            let is_mark = matches!(token.text, "," | ";");
            let closes =
                |old_at: usize| !is_mark || !spans[old_at].is_empty() || next == Some(old_at + 1);
            let same =
                partner[at].filter(|&old_at| closes(old_at) && is_same_run(old, old_at, new, at));
            out.push_str(same.map_or(token.text, |old_at| self.there(old_at)));
            previous = stands_for[at];
        }
        out
    }

    /// Whether the file has other white space between the tokens of `old`, and the call changes some
    /// itself, or puts tokens that it keeps into a literal or takes them out of one: there white space
    /// means something.
    fn changes_gaps_as_well(&self) -> bool {
        let Self { old, new, partner, .. } = self;
        if !(1..old.len()).any(|at| self.gap_there(at) != old[at].gap) {
            return false;
        }
        let (old_quoted, new_quoted) = (quoted(old), quoted(new));
        (0..new.len()).any(|at| {
            let Some(old_at) = partner[at] else { return false };
            let follows = at > 0 && old_at > 0 && partner[at - 1] == Some(old_at - 1);
            follows && old[old_at].gap != new[at].gap || old_quoted[old_at] != new_quoted[at]
        })
    }

    /// Whether the call keeps a quote for which the file has another character, and also adds or
    /// removes quotes, so that a pair of quotes could end up with two different ones.
    fn has_ambiguous_quotes(&self) -> bool {
        let is_quote = |text: &str| {
            text.starts_with(['"', '\'', '`', '“', '”', '‘', '’', '«', '»'])
                && text.chars().count() == 1
        };
        let in_old: Vec<usize> =
            (0..self.old.len()).filter(|&at| is_quote(self.old[at].text)).collect();
        let file_differs = in_old.iter().any(|&at| self.there(at) != self.old[at].text);
        let kept = self.partner.iter().flatten().filter(|at| in_old.contains(at)).count();
        let is_added = |(token, partner): (&Token<'_>, &Option<usize>)| {
            is_quote(token.text) && partner.is_none()
        };
        let adds_quotes = self.new.iter().zip(&self.partner).any(is_added);
        file_differs && (adds_quotes || kept < in_old.len()) && kept > 0
    }

    /// Whether the call changes text between quotes for which the file has another kind of quotes, so
    /// that the text may mean something else there. `interchangeable` says that single and double
    /// quotes mean the same.
    fn changes_quoted_text(&self, interchangeable: bool) -> bool {
        let is_other_quote = |at: &usize| {
            self.partner[*at].is_some_and(|old_at| {
                let (sent, there) = (self.old[old_at].text, self.there(old_at));
                let is_quote = |text: &str| matches!(text, "\"" | "'" | "`");
                let means_same = interchangeable && sent != "`" && there != "`";
                is_quote(sent) && is_quote(there) && sent != there && !means_same
            })
        };
        let quotes: Vec<usize> = (0..self.new.len()).filter(is_other_quote).collect();
        quotes.chunks_exact(2).any(|pair| {
            let (open, close) = (pair[0], pair[1]);
            let (Some(old_open), Some(old_close)) = (self.partner[open], self.partner[close])
            else {
                return true;
            };
            let mut both = (open..close).zip(old_open..old_close);
            close - open != old_close - old_open
                || both.any(|(new_at, old_at)| self.partner[new_at] != Some(old_at))
        })
    }
}

/// Whether the new line has a comment behind it that the old one does not have.
fn adds_comment(language: &Language, old: &str, new: &str) -> bool {
    let has = |line: &str| {
        let code = language.strip_trailing_comment(line);
        !code.is_empty() && code.len() < line.trim_end().len()
    };
    has(new) && !has(old)
}

/// For each token, whether it is between quotes.
fn quoted<'a>(tokens: &[Token<'a>]) -> Vec<bool> {
    let mut open: Option<&'a str> = None;
    let mut is_escaped = false;
    let is_inside = |token: &Token<'a>| {
        let is_quote = matches!(token.text, "\"" | "'" | "`") && !is_escaped;
        is_escaped = token.text == "\\" && !is_escaped;
        if is_quote && open.is_none_or(|quote| quote == token.text) {
            open = if open.is_none() { Some(token.text) } else { None };
            return false;
        }
        open.is_some()
    };
    tokens.iter().map(is_inside).collect()
}

/// Whether two equal tokens are parts of the same sequence of marks. For example, the `-` of `- 1` is
/// not the one of `->`.
fn is_same_run(
    old_tokens: &[Token<'_>],
    old_at: usize,
    new_tokens: &[Token<'_>],
    new_at: usize,
) -> bool {
    /// The marks around a token that follow each other without whitespace.
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
    !is_operator(new_tokens[new_at].text) || run(old_tokens, old_at).eq(run(new_tokens, new_at))
}

/// Whether a mark can form one operator with the marks next to it.
fn is_operator(mark: &str) -> bool {
    mark.starts_with(|c: char| "-–—.…<>=+*/~|&!".contains(c))
}

/// A token of `old` and a token of `new`, by their indices.
enum Pair {
    /// The tokens are equal.
    Same(usize, usize),
    /// The second one replaces the first, in a run that is replaced by one of the same length.
    Replaced(usize, usize),
}

/// The pairs of tokens in a diff of `old_tokens` and `new_tokens`.
fn pairs(old_tokens: &[Token<'_>], new_tokens: &[Token<'_>]) -> Vec<Pair> {
    let texts = |tokens: &[Token<'_>]| tokens.iter().map(|t| t.text.to_owned()).collect::<Vec<_>>();
    let mut out = Vec::new();
    let (old_len, new_len) = (old_tokens.len(), new_tokens.len());
    if budget::spend(2 * (old_len + new_len) + old_len * new_len / 16).is_err() {
        return out;
    }
    for op in capture_diff_slices(Algorithm::Myers, &texts(old_tokens), &texts(new_tokens)) {
        let (x, y) = (op.old_range(), op.new_range());
        match op {
            DiffOp::Equal { .. } => {
                out.extend(x.zip(y).map(|(old_at, new_at)| Pair::Same(old_at, new_at)))
            }
            DiffOp::Replace { .. } if x.len() == y.len() => {
                out.extend(x.zip(y).map(|(old_at, new_at)| Pair::Replaced(old_at, new_at)));
            }
            _ => {}
        }
    }
    out
}

/// The bytes of `file` for each token of `old`. `None` if the two are not the same under `fold`.
fn positions(
    old: &str,
    file: &str,
    tokens: &[Token<'_>],
    fold: Option<Difference>,
) -> Option<Vec<Range<usize>>> {
    let Some(fold) = fold else {
        // Without a fold, all tokens must be equal.
        let (file_tokens, _) = self::tokens(file);
        let is_same = file_tokens.len() == tokens.len()
            && file_tokens.iter().zip(tokens).all(|(a, b)| a.text == b.text);
        let range = |token: &Token<'_>| token.start..token.start + token.text.len();
        return is_same.then(|| file_tokens.iter().map(range).collect());
    };
    let (old_chars, file_chars) = (canonical(old, fold), canonical(file, fold));
    if old_chars.len() != file_chars.len()
        || old_chars.iter().zip(&file_chars).any(|(a, b)| a.char != b.char)
    {
        return None;
    }
    // Both have the same number of canonical characters, which correspond one to one.
    let count = old_chars.len();
    let mut out = Vec::with_capacity(tokens.len());
    let (mut at, mut end) = (0, 0);
    for token in tokens {
        let stop = token.start + token.text.len();
        while at < count && old_chars[at].end <= token.start {
            at += 1;
        }
        let from = at;
        while at < count && old_chars[at].start < stop {
            at += 1;
        }
        let range = match at > from {
            true => file_chars[from].start.max(end)..file_chars[at - 1].end.max(end),
            // The fold has dropped the token: in the file it follows the token before, or is missing.
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

    fn clear(old: &str, file: &str, new: &str, fold: Difference) -> Option<String> {
        match merge(old, file, new, Some(fold), Language::from_name("js"))? {
            Merged::Certain(text) => Some(text),
            Merged::Ambiguous(..) => None,
        }
    }

    #[test]
    fn what_the_call_keeps_stays_as_the_file_has_it() {
        let rows = [
            ("f(a, b)", "f( a,b )", "f(a, c)", Difference::Spacing, "f( a,c )"),
            ("x = 'a';", "x = \"a\"", "x = 'b';", Difference::Punctuation, "x = \"b\""),
            ("type: 'x'", "type: \"x\",", "type: 'y',", Difference::Punctuation, "type: \"y\","),
            (
                "say \"hi\" - it's",
                "say “hi” – it’s",
                "say \"ho\" - it's",
                Difference::LookAlikes,
                "say “ho” – it’s",
            ),
            ("a b", "a\u{a0}b", "a c", Difference::LookAlikes, "a\u{a0}c"),
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
            Some(Difference::LookAlikes),
            None,
        );
        assert!(matches!(merged, Some(Merged::Ambiguous(..))), "{merged:?}");
    }

    #[test]
    fn a_closing_mark_is_not_put_after_what_opens_a_block() {
        let merged = merge("g(2)", "g(2);", "if (x) {", Some(Difference::Punctuation), None);
        let open = Merged::Ambiguous("if (x) {;".into(), "if (x) {".into());
        assert_eq!(merged, Some(open));
        let kept = clear("g(2)", "g(2);", "g(3)", Difference::Punctuation);
        assert_eq!(kept.as_deref(), Some("g(3);"));
    }

    #[test]
    fn different_words_do_not_merge() {
        assert_eq!(merge("a b", "a c", "a d", Some(Difference::Punctuation), None), None);
    }
}
