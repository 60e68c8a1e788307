//! The forms that `new_str` may have where `old_str` has a mistake: with the same mistake undone, with a
//! part of it, or as it was sent. What both strings show bare and changed by the mistake is a price,
//! and a form that keeps more of `old_str` is likelier.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::matching::costs::{CONTRADICTED, LACKS, MARGIN, NEW_AS_SENT};
use crate::matching::fold::is_word_char;

/// A form of `new_str`, and what it costs to take it like this.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::matching) struct Form {
    pub(in crate::matching) text: String,
    pub(in crate::matching) price: f64,
    /// Whether nothing shows what is meant.
    pub(in crate::matching) is_guess: bool,
}

impl Form {
    /// The form that needs no reason.
    pub(in crate::matching) fn usual(text: String) -> Self {
        Self { text, price: 0.0, is_guess: false }
    }

    /// `new_str` as it was sent, although `old_str` has a mistake.
    pub(in crate::matching) fn as_sent(text: &str) -> Self {
        Self { text: text.to_owned(), price: NEW_AS_SENT, is_guess: false }
    }
}

/// The characters that a text has as they are, and those that it has as a mistake writes them.
#[derive(Default)]
pub(in crate::matching) struct Seen {
    pub(in crate::matching) bare: BTreeSet<char>,
    pub(in crate::matching) written: BTreeSet<char>,
}

/// What is seen in `old_str`, and in the lines of `new_str` that it has not: those that both share say
/// nothing about the others.
pub(in crate::matching) struct Signs {
    pub(in crate::matching) old: Seen,
    pub(in crate::matching) new: Seen,
}

impl Signs {
    pub(in crate::matching) fn of(old: &str, new: &str, see: impl Fn(&str) -> Seen) -> Self {
        let is_full = |line: &&str| !line.trim().is_empty();
        let shared: HashSet<&str> = old.split('\n').filter(is_full).collect();
        let own: Vec<&str> = new.split('\n').filter(|line| !shared.contains(line)).collect();
        Self { old: see(old), new: see(&own.join("\n")) }
    }

    /// The form that undoes the mistake in the characters for which `undoes` is true, and what the signs
    /// say against it.
    pub(in crate::matching) fn form(&self, text: String, undoes: impl Fn(char) -> bool) -> Form {
        let Self { old, new } = self;
        let price = |c: &char| {
            let [in_old, in_new] = [old, new].map(|seen| seen.written.contains(c));
            let [bare_in_old, bare_in_new] = [old, new].map(|seen| seen.bare.contains(c));
            match undoes(*c) {
                true if bare_in_old && !in_old || bare_in_new && !bare_in_old => CONTRADICTED,
                false if in_new && !bare_in_old && in_old => CONTRADICTED,
                // Where line breaks are escaped, too, all of the text was.
                false if in_new && !bare_in_old && old.written.contains(&'\n') => CONTRADICTED,
                false if in_new && !bare_in_old => NEW_AS_SENT,
                _ => 0.0,
            }
        };
        let price = old.written.union(&new.written).map(price).sum();
        let is_guess = self.are_unclear() || self.are_mixed(undoes('\\'));
        Form { text, price, is_guess }
    }

    /// `text` as it was sent, and what that costs: more if it has what is a mistake in `old_str`, and
    /// nothing as it is that is a mistake there.
    pub(in crate::matching) fn as_sent(&self, text: &str) -> Form {
        let Self { old, new } = self;
        let is_right = old.written.iter().any(|c| !old.bare.contains(c) && new.bare.contains(c));
        let shares_mistake = !old.written.is_disjoint(&new.written);
        let left = if shares_mistake && !is_right { CONTRADICTED } else { 0.0 };
        let is_guess = self.are_unclear() || self.are_mixed(false);
        Form { price: NEW_AS_SENT + left, is_guess, text: text.to_owned() }
    }

    /// Whether both strings have backslashes escaped, and only `old_str` its quotes, or its line breaks, so
    /// that nothing shows whether the backslashes of `new_str` are a mistake, too. Where its quotes are right,
    /// its backslashes are, unless other escapes are left.
    fn are_mixed(&self, undoes_backslashes: bool) -> bool {
        let Self { old, new } = self;
        let has_both = |c: char| old.written.contains(&c) && new.written.contains(&c);
        let is_right =
            |c: &char| !old.bare.contains(c) && new.bare.contains(c) && !new.written.contains(c);
        let mut quotes = old.written.iter().filter(|c| **c != '\n' && is_right(c));
        let has_quote = || old.written.iter().any(|c| !"\n\t\\".contains(*c) && has_both(*c));
        let has_break = old.written.contains(&'\n') && is_right(&'\n') && !has_quote();
        has_both('\\')
            && match quotes.next() {
                Some(_) => undoes_backslashes || has_both('\n'),
                None => has_break,
            }
    }

    /// Whether `new_str` has a character both as it is and as a mistake in `old_str` writes it. A line
    /// break, a tab and a backslash may be both: inside a literal and outside of it.
    fn are_unclear(&self) -> bool {
        let Self { old, new } = self;
        old.written.iter().any(|c| {
            let is_both = new.written.contains(c) && new.bare.contains(c);
            is_both && !"\n\t\\".contains(*c) && !old.bare.contains(c)
        })
    }
}

/// Whether `new` has a line of `old` with the mistake, and whether one without it.
pub(super) fn shared(old: &str, undone: &str, new: &str) -> [bool; 2] {
    let [old, undone, new] = [old, undone, new].map(|text| -> HashSet<&str> {
        let lines = text.lines().filter(|line| line.contains(char::is_alphanumeric));
        lines.map(str::trim).collect()
    });
    [(&old, &undone), (&undone, &old)]
        .map(|(of, other)| new.iter().any(|line| of.contains(line) && !other.contains(line)))
}

/// `text`, a form of `new`, in which the lines that `old` and `new` share are those of `undone`, which is
/// `old` without the mistake: the call keeps them, whatever they mean.
pub(super) fn keep_shared(old: &str, undone: &str, new: &str, text: &str) -> String {
    let count = |text: &str| text.split('\n').count();
    if count(old) != count(undone) || count(new) != count(text) {
        return text.to_owned();
    }
    let mut known: HashMap<&str, &str> = HashMap::new();
    for (line, undone) in old.split('\n').zip(undone.split('\n')) {
        if !line.trim().is_empty() {
            known.entry(line).or_insert(undone);
        }
    }
    let lines = text.split('\n').zip(new.split('\n'));
    let kept = lines.map(|(line, sent)| known.get(sent).copied().unwrap_or(line));
    kept.collect::<Vec<_>>().join("\n")
}

/// The forms that may be meant, the likeliest first. The less a form changes of `old`, the likelier.
pub(super) fn weigh_forms(old: &str, forms: Vec<Form>) -> Vec<Form> {
    let mut out: Vec<Form> = Vec::new();
    for form in forms {
        match out.iter_mut().find(|known| known.text == form.text) {
            Some(known) if known.price <= form.price => {}
            Some(known) => *known = form,
            None => out.push(form),
        }
    }
    if out.len() > 1 {
        let before = steps(old);
        for form in &mut out {
            form.price += LACKS * lacking(&before, &form.text);
        }
        out.sort_by(|a, b| a.price.total_cmp(&b.price));
    }
    let least = out.first().map_or(0.0, |form| form.price);
    for form in &mut out {
        form.price -= least;
    }
    out.retain(|form| form.price < MARGIN);
    out
}

/// How often a text has each line, and each pair of neighbours among its words and marks.
fn steps(text: &str) -> HashMap<(&str, &str), u32> {
    let mut out = HashMap::new();
    for line in text.lines() {
        *out.entry(("", line)).or_default() += 1;
    }
    let (mut rest, mut last) = (text, "");
    while let Some(c) = rest.chars().next() {
        let word = |text: &str| text.find(|c| !is_word_char(c)).unwrap_or(text.len());
        let len = match c {
            '\\' => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
            '&' if rest[1 + word(&rest[1..])..].starts_with(';') => 2 + word(&rest[1..]),
            c if is_word_char(c) => word(rest),
            c => c.len_utf8(),
        };
        let token = &rest[..len];
        if c == '\n' || !c.is_whitespace() {
            *out.entry((last, token)).or_default() += 1;
            last = token;
        }
        rest = &rest[len..];
    }
    out
}

/// How many of these `text` lacks.
fn lacking(before: &HashMap<(&str, &str), u32>, text: &str) -> f64 {
    let counts = steps(text);
    let lacks = before
        .iter()
        .map(|(step, count)| count.saturating_sub(counts.get(step).copied().unwrap_or(0)));
    f64::from(lacks.sum::<u32>())
}
