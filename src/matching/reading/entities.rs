//! HTML entities in place of characters of the source.
//!
//! Evidence: issues of Roo Code and Cline, whose tools decode entities for some models.

use super::{Form, Mistake, Signs, UndoNew, own_lines};
use crate::matching::costs::Difference;

pub(super) struct HtmlEntities;

/// An entity, and the character that it stands for.
type Entity = (&'static str, char);

const ENTITIES: &[Entity] = &[
    ("&lt;", '<'),
    ("&gt;", '>'),
    ("&quot;", '"'),
    ("&#34;", '"'),
    ("&#39;", '\''),
    ("&#x27;", '\''),
    ("&apos;", '\''),
    ("&nbsp;", '\u{a0}'),
    ("&amp;", '&'),
];

impl Mistake for HtmlEntities {
    fn difference(&self) -> Difference {
        Difference::HtmlEntities
    }

    fn whole_lines(&self) -> bool {
        false
    }

    fn undo(&self, old: &str, _new: &str) -> Option<(String, UndoNew)> {
        let text = decode(old, ENTITIES);
        if text == old {
            return None;
        }
        let sent = old.to_owned();
        let undo = move |new: &str| {
            let signs = [signs(&sent), signs(&own_lines(&sent, new))];
            // Escaping a text does not produce `&nbsp;`, and HTML files have it as an entity.
            let used = ENTITIES.iter().filter(|(name, _)| *name != "&nbsp;" || sent.contains(name));
            let all: Vec<Entity> = used.copied().collect();
            // A character that is only bare in old_str may be encoded in neither.
            let is_shown = |c: char| signs[0].written.contains(&c) || !signs[0].bare.contains(&c);
            let shown: Vec<Entity> = all.iter().copied().filter(|(_, c)| is_shown(*c)).collect();
            let price = Signs::against(&signs[0], &signs[1], is_shown);
            let as_sent = Signs::as_sent(&signs[0], &signs[1], new);
            let is_guess = Signs::are_unclear(&signs[0], &signs[1]);
            let form = |way: &[Entity]| Form { text: decode(new, way), price, is_guess };
            vec![form(&all), form(&shown), as_sent]
        };
        Some((text, Box::new(undo)))
    }
}

/// The characters that a text has as they are and as entities.
fn signs(text: &str) -> Signs {
    let is_entity = |at: usize| {
        let name = text[at + 1..].split(|c: char| !c.is_alphanumeric() && c != '#').next();
        name.is_some_and(|name| !name.is_empty() && text[at + 1 + name.len()..].starts_with(';'))
    };
    let is_bare = |c: char| text.match_indices(c).any(|(at, _)| c != '&' || !is_entity(at));
    Signs {
        bare: ENTITIES.iter().map(|entity| entity.1).filter(|&c| is_bare(c)).collect(),
        written: ENTITIES.iter().filter(|(name, _)| text.contains(name)).map(|e| e.1).collect(),
    }
}

/// The text with some entities decoded.
fn decode(text: &str, entities: &[Entity]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let known = entities.iter().find(|(name, _)| rest.starts_with(name));
        let (name, c) = known.copied().unwrap_or(("&", '&'));
        out.push(c);
        rest = &rest[name.len()..];
    }
    out.push_str(rest);
    out
}
