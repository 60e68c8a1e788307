//! HTML entities in place of characters of the source.
//!
//! Evidence: issues of Roo Code and Cline, whose tools decode entities for some models.

use super::{Mistake, NewText, UndoNew};
use crate::matching::costs::Difference;

pub(super) struct HtmlEntities;

const ENTITIES: &[(&str, &str)] = &[
    ("&lt;", "<"),
    ("&gt;", ">"),
    ("&quot;", "\""),
    ("&#34;", "\""),
    ("&#39;", "'"),
    ("&#x27;", "'"),
    ("&apos;", "'"),
    ("&nbsp;", "\u{a0}"),
    ("&amp;", "&"),
];

impl Mistake for HtmlEntities {
    fn difference(&self) -> Difference {
        Difference::HtmlEntities
    }

    fn whole_lines(&self) -> bool {
        false
    }

    fn undo(&self, old: &str, _new: &str) -> Option<(String, UndoNew)> {
        let all: Vec<&str> = ENTITIES.iter().map(|(entity, _)| *entity).collect();
        let text = decode(old, &all);
        if text == old {
            return None;
        }
        let bare_in_old: Vec<&str> =
            ENTITIES.iter().filter(|(_, c)| is_bare(old, c)).map(|(_, c)| *c).collect();
        let in_old: Vec<&str> = all.into_iter().filter(|entity| old.contains(entity)).collect();
        // Escaping a text does not produce `&nbsp;`, and HTML files have it as an entity, so it is
        // decoded only if old_str has it, too.
        let decode_nbsp = old.contains("&nbsp;");
        let undo = move |new: &str| {
            let is_decoded = |(entity, _): &&(&str, &str)| *entity != "&nbsp;" || decode_nbsp;
            let is_plain = |(entity, c): &&(&str, &str)| {
                in_old.contains(entity) && !new.contains(entity) && is_bare(new, c)
            };
            if ENTITIES.iter().any(|entity| is_plain(&entity)) {
                return NewText::Known(new.to_owned());
            }
            let used = ENTITIES.iter().filter(is_decoded);
            // A character that only new_str has bare, too, was encoded there or was not.
            let is_both = |(entity, c): &(&str, &str)| {
                new.contains(entity) && is_bare(new, c) && !bare_in_old.contains(c)
            };
            if used.clone().any(is_both) {
                let all: Vec<&str> = used.map(|(entity, _)| *entity).collect();
                return NewText::Unclear(decode(new, &all), new.to_owned());
            }
            // One that is only bare in old_str may be encoded in neither.
            let shown = used
                .clone()
                .filter(|(entity, c)| in_old.contains(entity) || !bare_in_old.contains(c));
            let decoded = |used: Vec<&str>| decode(new, &used);
            let [all, shown] = [
                decoded(used.map(|(entity, _)| *entity).collect()),
                decoded(shown.map(|(entity, _)| *entity).collect()),
            ];
            if all == shown { NewText::Known(all) } else { NewText::Either(all, shown) }
        };
        Some((text, Box::new(undo)))
    }
}

/// Whether a text has the character `c` outside of an entity.
fn is_bare(text: &str, c: &str) -> bool {
    let is_entity = |at: usize| {
        let name = text[at + 1..].split(|c: char| !c.is_alphanumeric() && c != '#').next();
        name.is_some_and(|name| !name.is_empty() && text[at + 1 + name.len()..].starts_with(';'))
    };
    text.match_indices(c).any(|(at, _)| c != "&" || !is_entity(at))
}

/// The text with the entities in `used` decoded.
fn decode(text: &str, used: &[&str]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let known =
            ENTITIES.iter().find(|(entity, _)| rest.starts_with(entity) && used.contains(entity));
        let (character, len) = known.map_or(("&", 1), |(entity, c)| (*c, entity.len()));
        out.push_str(character);
        rest = &rest[len..];
    }
    out.push_str(rest);
    out
}
