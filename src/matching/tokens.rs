//! Merges inside a line: the tokens that the call keeps are taken from the file, and those that it
//! changes from `new`.

use std::ops::Range;

use similar::{Algorithm, DiffTag, capture_diff_slices_by_key};

use super::budget;
use super::costs::Difference;
use super::fold::{canonical, is_word_char};
use crate::language::Language;
pub(super) use crate::text::words;

/// Longer texts are not merged by tokens.
const MAX_TOKENS: usize = 4_000;

/// Words before a bracket that is no list of arguments.
const NO_CALLS: &str = "in return yield not and or if elif while assert del await";

/// A word or a single other character, and the whitespace before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Token<'a> {
    gap: &'a str,
    text: &'a str,
    /// Where `text` begins.
    start: usize,
}

impl Token<'_> {
    fn end(&self) -> usize {
        self.start + self.text.len()
    }
}

/// The tokens of a text.
fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut out = Vec::new();
    let mut at = 0;
    loop {
        let rest = text[at..].trim_start();
        let start = text.len() - rest.len();
        let Some(first) = rest.chars().next() else { return out };
        let len = if is_word_char(first) {
            rest.find(|c: char| !is_word_char(c)).unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        out.push(Token { gap: &text[at..start], text: &rest[..len], start });
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
    /// What the file has for each token of `old`, perhaps nothing.
    there: Vec<Token<'a>>,
    language: Option<&'a Language>,
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
    let aligned = Alignment::new([old, file, new], fold, language)?;
    let mut out = aligned.merged();
    // What follows the last token. In the file this may be a mark that the fold ignores.
    let Alignment { old: old_tokens, new: new_tokens, there, partner, .. } = &aligned;
    let [old_tail, new_tail, file_tail] = [(old, old_tokens), (new, new_tokens), (file, there)]
        .map(|(text, tokens)| &text[tokens.last().map_or(0, Token::end)..]);
    let mark = file_tail.trim();
    let has_mark_already = !mark.is_empty() && out.ends_with(mark) && partner.last() == Some(&None);
    let code = language.filter(|_| !mark.is_empty() && !has_mark_already);
    let code = code.and_then(|language| code_before_new_comment(language, old, new, &out));
    if old_tail != new_tail {
        out.push_str(file_tail.trim_end());
        out.push_str(new_tail);
    } else if let Some(code) = code.filter(|&code| !statement_continues(&out[..code])) {
        // Behind a comment it would be a part of it.
        out.insert_str(code, mark);
        out.push_str(new_tail);
    } else if !mark.is_empty() && !has_mark_already && (code.is_some() || statement_continues(new))
    {
        // A closing mark ends a statement. The new line opens or continues one, so the file's mark may no
        // longer be meant.
        let sent = out.clone() + new_tail;
        return Some(Merged::Ambiguous(out + file_tail, sent));
    } else if !has_mark_already {
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
        [old_text, file, new]: [&'a str; 3],
        fold: Option<Difference>,
        language: Option<&'a Language>,
    ) -> Option<Self> {
        let (old, new) = (tokens(old_text), tokens(new));
        if old.len() + new.len() > MAX_TOKENS {
            return None;
        }
        let there = tokens_there(old_text, file, &old, fold)?;
        let (mut partner, mut stands_for) = (vec![None; new.len()], vec![None; new.len()]);
        budget::spend(2 * (old.len() + new.len()) + old.len() * new.len() / 16).ok()?;
        let text = |token: &Token<'a>| token.text;
        for op in capture_diff_slices_by_key(Algorithm::Myers, &old, &new, text) {
            let (x, y) = (op.old_range(), op.new_range());
            // A run that is replaced by one of the same length is so token by token.
            if x.len() == y.len() {
                for (old_at, new_at) in x.zip(y) {
                    stands_for[new_at] = Some(old_at);
                    partner[new_at] = stands_for[new_at].filter(|_| op.tag() == DiffTag::Equal);
                }
            }
        }
        Some(Self { old, new, there, language, partner, stands_for })
    }

    /// The tokens of `new`, each as the file has it where the call keeps it.
    fn merged(&self) -> String {
        let Self { old, new, there, partner, stands_for, .. } = self;
        let mut out = String::new();
        for (at, token) in new.iter().enumerate() {
            // If the call changes neither the token before nor the whitespace, the whitespace is the
            // file's. Before a closing bracket it is, whatever is added there.
            let follows = |old_at: usize| match at {
                0 => old_at == 0,
                _ => stands_for[at - 1].is_some_and(|before| before + 1 == old_at),
            };
            let closes = partner[at].is_some() && is_closing(token);
            let has_gap_there = |&old_at: &usize| {
                (closes || follows(old_at))
                    && old[old_at].gap == token.gap
                    && !there[old_at].text.is_empty()
            };
            let gap = stands_for[at].filter(has_gap_there);
            out.push_str(gap.map_or(token.gap, |old_at| self.gap_before(old_at, at)));
            // A closing comma that the file lacks is needed once something follows it.
            let is_needed = |old_at: usize| {
                let is_last = at + 1 == new.len() && old_at + 1 == old.len();
                let next = stands_for.get(at + 1).copied().flatten();
                matches!(token.text, "," | ";")
                    && there[old_at].text.is_empty()
                    && !(is_last || next == Some(old_at + 1))
            };
            let is_same = |&old_at: &usize| !is_needed(old_at) && is_same_run(old, old_at, new, at);
            let same = partner[at].filter(is_same);
            out.push_str(same.map_or(token.text, |old_at| there[old_at].text));
        }
        out
    }

    /// What the file has before a token of `old`, for the token of `new` that stands for it. A comma before a
    /// closing bracket is the file's only if the bracket ends the same list, behind the same word, and
    /// its last element is one of several, as before, and one that a comma may follow.
    fn gap_before(&self, old_at: usize, new_at: usize) -> &'a str {
        let Self { old, new, partner, stands_for, .. } = self;
        let gap = self.there[old_at].gap;
        if gap.trim().is_empty() {
            return gap;
        }
        let Some((old_open, new_open)) = opening(old, old_at).zip(opening(new, new_at)) else {
            return new[new_at].gap;
        };
        let is_behind_same = match (old_open, new_open) {
            (0, 0) => true,
            (1.., 1..) => stands_for[new_open - 1] == Some(old_open - 1),
            _ => false,
        };
        if partner[new_open] != Some(old_open) || !is_behind_same {
            return new[new_at].gap;
        }
        let [before, after] = [elements(old, old_open, old_at), elements(new, new_open, new_at)];
        let spreads = |elements: &[&[Token<'_>]]| {
            elements.last().is_some_and(|element| matches!(element[0].text, "." | "*"))
        };
        let quoted = quoted(new);
        let is_generator = (new_open..new_at).any(|at| new[at].text == "for" && !quoted[at]);
        let is_call = new_open > 0
            && new[new_open - 1].text.ends_with(is_word_char)
            && !NO_CALLS.split(' ').any(|word| word == new[new_open - 1].text)
            && (new[new_open].gap, new[new_open].text) == ("", "(");
        // Go needs it before a line break.
        match after.is_empty()
            || self.language.is_none_or(|language| language.name != "go")
                && (!spreads(&before) && spreads(&after)
                    || is_generator
                    || after.len() < 2 && before.len() > 1 && !is_call)
        {
            true => gap.trim_start().trim_start_matches(','),
            false => gap,
        }
    }

    /// Whether the file has other white space between the tokens of `old`, and the call changes some
    /// itself, or puts tokens that it keeps into a literal or takes them out of one: there white space
    /// means something.
    fn changes_gaps_as_well(&self) -> bool {
        let Self { old, new, there, partner, .. } = self;
        if (1..old.len()).all(|at| there[at].gap == old[at].gap) {
            return false;
        }
        let (old_quoted, new_quoted) = (quoted(old), quoted(new));
        // What is between quotes is text, and no habit of spacing.
        let is_text = |at: usize, old_at: usize| {
            let ends = is_quote(&old[old_at]) && is_quote(&new[at]);
            let within = |quoted: &[bool], tokens: &[Token<'_>], at: usize| {
                quoted[at - 1] || is_quote(&tokens[at - 1]) && quoted[at]
            };
            (ends || old_quoted[old_at])
                && within(&old_quoted, old, old_at)
                && within(&new_quoted, new, at)
        };
        (0..new.len()).any(|at| {
            let Some(old_at) = partner[at] else { return false };
            let follows = at > 0 && old_at > 0 && partner[at - 1] == Some(old_at - 1);
            follows && old[old_at].gap != new[at].gap && !is_text(at, old_at)
                || old_quoted[old_at] != new_quoted[at]
        })
    }

    /// Whether the call keeps a quote for which the file has another character, and also adds or
    /// removes quotes, so that a pair of quotes could end up with two different ones.
    fn has_ambiguous_quotes(&self) -> bool {
        let Self { old, new, there, partner, .. } = self;
        let is_quote = |token: &Token<'_>| {
            token.text.starts_with(['"', '\'', '`', '“', '”', '‘', '’', '«', '»'])
        };
        let quotes: Vec<usize> = (0..old.len()).filter(|&at| is_quote(&old[at])).collect();
        let kept = partner.iter().flatten().filter(|at| quotes.contains(at)).count();
        let adds_quotes = || (0..new.len()).any(|at| partner[at].is_none() && is_quote(&new[at]));
        kept > 0
            && quotes.iter().any(|&at| there[at].text != old[at].text)
            && (kept < quotes.len() || adds_quotes())
    }

    /// Whether the call changes text between quotes for which the file has another kind of quotes, so
    /// that the text may mean something else there. `interchangeable` says that single and double
    /// quotes mean the same.
    fn changes_quoted_text(&self, interchangeable: bool) -> bool {
        let is_other_quote = |&(_, old_at): &(usize, usize)| {
            let (sent, there) = (&self.old[old_at], &self.there[old_at]);
            let means_same = interchangeable && sent.text != "`" && there.text != "`";
            is_quote(sent) && is_quote(there) && sent.text != there.text && !means_same
        };
        let kept =
            self.partner.iter().enumerate().filter_map(|(at, partner)| Some((at, (*partner)?)));
        let quotes: Vec<(usize, usize)> = kept.filter(is_other_quote).collect();
        quotes.chunks_exact(2).any(|pair| {
            let ((open, old_open), (close, old_close)) = (pair[0], pair[1]);
            !self.partner[open..close].iter().copied().eq((old_open..old_close).map(Some))
        })
    }
}

fn is_closing(token: &Token<'_>) -> bool {
    matches!(token.text, ")" | "]" | "}")
}

fn is_quote(token: &Token<'_>) -> bool {
    matches!(token.text, "\"" | "'" | "`")
}

/// The bracket that the closing one at this index ends.
fn opening(tokens: &[Token<'_>], close: usize) -> Option<usize> {
    let mut depth = 0;
    (0..close).rev().find(|&at| {
        let is_opening = matches!(tokens[at].text, "(" | "[" | "{");
        let found = is_opening && depth == 0;
        depth += usize::from(is_closing(&tokens[at]));
        depth -= usize::from(is_opening && !found);
        found
    })
}

/// The elements between two brackets: what commas part.
fn elements<'t, 'a>(tokens: &'t [Token<'a>], open: usize, close: usize) -> Vec<&'t [Token<'a>]> {
    let mut depth = 0;
    let elements = tokens[open + 1..close].split(|token| {
        depth += i32::from(matches!(token.text, "(" | "[" | "{")) - i32::from(is_closing(token));
        token.text == "," && depth == 0
    });
    elements.filter(|element| !element.is_empty()).collect()
}

/// Whether a statement can go on after the line: it ends with an opening bracket or an operator, or is
/// empty.
pub(super) fn statement_continues(line: &str) -> bool {
    let line = line.trim_end();
    line.is_empty()
        || line.ends_with("=>")
        || line.ends_with("->")
        || line.ends_with(|c| "([{<,;:=+-*/%|&^.\\".contains(c))
}

/// Where the code of a merged line ends, if the new line has a comment behind it that the old one does not
/// have.
fn code_before_new_comment(
    language: &Language,
    old: &str,
    new: &str,
    merged: &str,
) -> Option<usize> {
    let code = |line: &str| {
        let code = language.strip_trailing_comment(line).trim_end().len();
        (code > 0 && code < line.trim_end().len()).then_some(code)
    };
    code(new).filter(|_| code(old).is_none()).and(code(merged))
}

/// For each token, whether it is between quotes.
fn quoted<'t>(tokens: &[Token<'t>]) -> Vec<bool> {
    let mut open = None;
    let mut is_escaped = false;
    let is_inside = |token: &Token<'t>| {
        let is_end = is_quote(token) && !is_escaped && open.is_none_or(|quote| quote == token.text);
        is_escaped = token.text == "\\" && !is_escaped;
        if is_end {
            open = open.xor(Some(token.text));
        }
        !is_end && open.is_some()
    };
    tokens.iter().map(is_inside).collect()
}

/// Whether two equal tokens are parts of the same sequence of marks. For example, the `-` of `- 1` is
/// not the one of `->`.
fn is_same_run(old: &[Token<'_>], old_at: usize, new: &[Token<'_>], new_at: usize) -> bool {
    /// Whether a mark can form one operator with the marks next to it.
    fn is_operator(mark: &Token<'_>) -> bool {
        mark.text.starts_with(|c: char| "-–—.…<>=+*/~|&!".contains(c))
    }
    /// The marks around a token that follow each other without whitespace.
    fn run<'t>(tokens: &'t [Token<'_>], at: usize) -> impl Iterator<Item = &'t str> {
        let joins = |pair: &&[Token<'_>]| pair[1].gap.is_empty() && pair.iter().all(is_operator);
        let before = tokens[..=at].windows(2).rev().take_while(joins).count();
        let after = tokens[at..].windows(2).take_while(joins).count();
        tokens[at - before..=at + after].iter().map(|token| token.text)
    }
    !is_operator(&new[new_at]) || run(old, old_at).eq(run(new, new_at))
}

/// What `file` has for each token of `old`. `None` if the two are not the same under `fold`; without
/// one, all tokens must be equal.
fn tokens_there<'a>(
    old: &str,
    file: &'a str,
    old_tokens: &[Token<'_>],
    fold: Option<Difference>,
) -> Option<Vec<Token<'a>>> {
    let Some(fold) = fold else {
        let texts = old_tokens.iter().map(|token| token.text);
        return Some(tokens(file)).filter(|there| there.iter().map(|token| token.text).eq(texts));
    };
    let (old_chars, file_chars) = (canonical(old, fold), canonical(file, fold));
    if !old_chars.iter().map(|c| c.char).eq(file_chars.iter().map(|c| c.char)) {
        return None;
    }
    // The canonical characters correspond one to one.
    let mut chars = old_chars.iter().zip(&file_chars).peekable();
    let mut end = 0;
    let there = old_tokens.iter().map(|token| {
        while chars.next_if(|(old, _)| old.end <= token.start).is_some() {}
        let own = std::iter::from_fn(|| chars.next_if(|(old, _)| old.start < token.end()));
        let own = own.map(|(_, there)| there.range()).reduce(|first, last| first.start..last.end);
        let Range { start, end: stop } = own.unwrap_or_else(|| {
            // The fold has dropped the token: in the file it follows the token before, or is missing.
            let mark = file[end..].trim_start();
            let start = file.len() - mark.len();
            if mark.starts_with(token.text) { start..start + token.text.len() } else { end..end }
        });
        let (start, stop) = (start.max(end), stop.max(end));
        let gap = &file[end..start];
        end = stop;
        Token { gap, text: &file[start..stop], start }
    });
    Some(there.collect())
}
