//! Names that the file has replaced.

use std::collections::{HashMap, HashSet};

use super::Case;
use super::diff::SideDiff;
use crate::resolve::words::{Word, Words, is_word_char};

/// Names of the base that the file has replaced and that its definition no longer has, with their
/// replacements. A variable and a member of the same name are two names.
pub(super) struct Renames<'a>(HashMap<(&'a str, bool), &'a str>);

impl<'a> Renames<'a> {
    pub(super) fn of(
        case: &Case<'_>,
        base: &Words<'a>,
        file: &Words<'a>,
        file_diff: &SideDiff,
    ) -> Self {
        let language = case.language.filter(|language| language.lex(case.definition).closed);
        let definition = Words::of(case.definition, language);
        let names = definition.words.iter().filter(|word| word.is_name);
        let in_use: HashSet<(&str, bool)> = names.map(|word| (word.text, word.is_member)).collect();
        let kept = file_diff.kept(base.words.len());
        // A name is replaced in a line that is the same otherwise.
        let is_same_line = |at: usize| {
            base.lines.iter().find(|line| line.contains(&at)).is_some_and(|line| {
                2 * kept[line.clone()].iter().filter(|kept| **kept).count() >= line.len()
            })
        };
        let mut renames = HashMap::new();
        for op in file_diff.ops.iter().filter(|op| !op.is_equal && op.base.len() == op.side.len()) {
            for (old_at, new_at) in op.base.clone().zip(op.side.clone()) {
                let (old, new) = (base.words[old_at], file.words[new_at]);
                if !(old.is_name && new.is_name && old.text != new.text && is_same_line(old_at))
                    || in_use.contains(&(old.text, old.is_member))
                {
                    continue;
                }
                // A field that has another name is read behind a `.`, too.
                let kinds = [true, false].map(|is_member| (old.text, is_member));
                let gone = kinds.into_iter().filter(|kind| !in_use.contains(kind));
                renames.extend(gone.map(|kind| (kind, new.text)));
            }
        }
        Self(renames)
    }

    fn get(&self, text: &str, is_member: bool) -> Option<&'a str> {
        self.0.get(&(text, is_member)).copied()
    }

    /// Checks that an answer has none of these names.
    pub(super) fn check(&self, answer: &Words<'_>) -> Result<(), String> {
        for word in answer.words.iter().filter(|word| word.is_name) {
            if let Some(new) = self.get(word.text, word.is_member) {
                return Err(format!("the file has `{new}` in the place of `{}`", word.text));
            }
        }
        Ok(())
    }
}

/// Checks that a definition with another name is the same one otherwise: if more of its words are
/// others, it may be a sibling of one that is gone.
pub(super) fn check_definition(
    base: &Words<'_>,
    file: &Words<'_>,
    file_diff: &SideDiff,
) -> Result<(), String> {
    const DEFINING: [&str; 12] = [
        "fn",
        "def",
        "func",
        "function",
        "fun",
        "sub",
        "class",
        "struct",
        "interface",
        "trait",
        "enum",
        "module",
    ];
    let mut renamed = None;
    let mut others = HashSet::new();
    for op in file_diff.ops.iter().filter(|op| !op.is_equal && op.base.len() == op.side.len()) {
        for (old_at, new_at) in op.base.clone().zip(op.side.clone()) {
            let pair = (base.words[old_at].text, file.words[new_at].text);
            let before = old_at.checked_sub(1).map_or("", |at| base.words[at].text);
            if DEFINING.contains(&before) && base.words[old_at].is_name {
                renamed = Some(pair);
            } else if pair.0.contains(is_word_char) && pair.0 != pair.1 {
                others.insert(pair);
            }
        }
    }
    match renamed {
        // A longer or shorter form of the name is a rename.
        Some((old, new)) if new.contains(old) || old.contains(new) => Ok(()),
        Some(pair) if others.iter().any(|other| *other != pair) => Err(format!(
            "`{}` has another name and other words than `{}`, and may not be the same",
            pair.1, pair.0
        )),
        _ => Ok(()),
    }
}

/// Whether a word of the answer is that word of the call, perhaps with the file's names.
pub(super) fn matches(own: &Word<'_>, answered: &Word<'_>, renames: &Renames<'_>) -> bool {
    if own.text == answered.text {
        return true;
    }
    if renames.0.is_empty() {
        return false;
    }
    // In a literal, a name is only a part of the word.
    let mut renamed = String::new();
    let mut rest = own.text;
    while let Some(first) = rest.chars().next() {
        let is_word = is_word_char(first);
        let len = rest.find(|c| is_word_char(c) != is_word).unwrap_or(rest.len());
        let part = &rest[..len];
        renamed.push_str(renames.get(part, own.is_member).unwrap_or(part));
        rest = &rest[len..];
    }
    renamed == answered.text
}
