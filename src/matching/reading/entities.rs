//! HTML entities in place of characters of the source.
//!
//! Evidence: issues of Roo Code and Cline, whose tools decode entities for some models.

use super::{Seen, Signs, Undone};

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

/// Decodes entities.
pub(super) fn undo<'a>(sent: &'a str, _new: &str) -> Option<Undone<'a>> {
    let undo_new = move |new: &str| {
        let signs = Signs::of(sent, new, seen);
        // Escaping a text does not produce `&nbsp;`, and HTML files have it as an entity.
        let used = |(name, _): &Entity| *name != "&nbsp;" || sent.contains(name);
        // A character that is only bare in old_str may be encoded in neither.
        let is_shown = |c: char| signs.old.written.contains(&c) || !signs.old.bare.contains(&c);
        let all = decode(new, used);
        let shown = decode(new, |entity| used(entity) && is_shown(entity.1));
        vec![signs.form(all, is_shown), signs.form(shown, is_shown), signs.as_sent(new)]
    };
    let text = decode(sent, |_| true);
    (text != sent).then(|| Undone { text, undo_new: Box::new(undo_new) })
}

/// The characters that a text has as they are and as entities.
fn seen(text: &str) -> Seen {
    let is_entity = |at: usize| {
        let name = text[at + 1..].split(|c: char| !c.is_alphanumeric() && c != '#').next();
        name.is_some_and(|name| !name.is_empty() && text[at + 1 + name.len()..].starts_with(';'))
    };
    let is_bare = |c: char| text.match_indices(c).any(|(at, _)| c != '&' || !is_entity(at));
    Seen {
        bare: ENTITIES.iter().map(|(_, c)| *c).filter(|&c| is_bare(c)).collect(),
        written: ENTITIES.iter().filter(|(name, _)| text.contains(name)).map(|e| e.1).collect(),
    }
}

/// The text with the wanted entities decoded.
fn decode(text: &str, is_wanted: impl Fn(&Entity) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let known = ENTITIES.iter().find(|e| rest.starts_with(e.0) && is_wanted(e));
        let (name, c) = known.unwrap_or(&("&", '&'));
        out.push(*c);
        rest = &rest[name.len()..];
    }
    out + rest
}
