//! HTML entities for characters of the source.

use super::super::tokens::literals;
use super::{Decoding, UndoNew};

/// HTML entities for characters of the source.
pub(super) struct Entities;

const ENTITIES: &[(&str, &str, &str)] = &[
    ("&lt;", "<", "<"),
    ("&gt;", ">", ">"),
    ("&quot;", "\"", "\""),
    ("&#34;", "\"", "\""),
    ("&#39;", "'", "'"),
    ("&#x27;", "'", "'"),
    ("&apos;", "'", "'"),
    ("&nbsp;", " ", "\u{a0}"),
    ("&amp;", "&", "&"),
];

/// What an encoder never leaves, if it encodes any of them.
const MARKUP: [&str; 3] = ["<", ">", "&"];

impl Decoding for Entities {
    fn id(&self) -> &'static str {
        "html_entities"
    }

    fn rung(&self) -> &'static str {
        "html_entities"
    }

    fn whole_lines(&self) -> bool {
        false
    }

    fn by_line(&self) -> bool {
        true
    }

    fn undo(&self, old: &str) -> Option<(String, UndoNew)> {
        let used: Vec<_> = ENTITIES.iter().filter(|(entity, ..)| old.contains(entity)).collect();
        if used.is_empty() {
            return None;
        }
        let marks = |text: &str| MARKUP.map(|mark| bare(text, mark));
        let before = marks(old);
        let text = decode_entities(old, &used);
        let known: Vec<&str> = used.iter().map(|(entity, ..)| *entity).collect();
        let old_has = move |mark: &str| MARKUP.iter().zip(before).any(|(m, has)| *m == mark && has);
        let undo = move |new: &str| {
            let after = marks(new);
            let has = |c: &str| {
                let entity =
                    ENTITIES.iter().find(|(entity, of, _)| *of == c && new.contains(entity));
                entity.map(|(entity, ..)| *entity)
            };
            let written: Vec<&str> = MARKUP.iter().filter_map(|mark| has(mark)).collect();
            // A sign that stands both ways on a line of code, and that old_str has encoded.
            let torn = new.lines().any(|line| {
                let literals = literals(line);
                let coded = |at: &usize| !literals.iter().any(|literal| literal.contains(at));
                ENTITIES.iter().any(|(entity, of, _)| {
                    known.contains(entity)
                        && MARKUP.contains(of)
                        && !old_has(of)
                        && bare(line, of)
                        && line.match_indices(entity).any(|(at, _)| coded(&at))
                })
            });
            if torn {
                return None;
            }
            let mut markup = true;
            // A sign that old_str has encoded and new_str has not.
            let plain = MARKUP.iter().zip(after).any(|(mark, bare)| {
                bare && ENTITIES.iter().any(|(entity, of, _)| of == mark && known.contains(entity))
            });
            if !written.is_empty() && after.contains(&true) {
                if before.contains(&true) {
                    // Encoded in parts: those that old_str shows too, if that tells.
                    let both =
                        MARKUP.iter().zip(after).any(|(mark, bare)| bare && has(mark).is_some());
                    if both || written.iter().any(|entity| !known.contains(entity)) {
                        return None;
                    }
                } else if plain {
                    // Written plainly, so its entities are meant.
                    markup = false;
                }
            }
            // What stands bare in new_str was not encoded there.
            let encoded = |(entity, c, _): &&(&str, &str, &'static str)| {
                let habit = *c != " " || known.contains(entity);
                new.contains(entity) && habit && !bare(new, c) && (markup || !MARKUP.contains(c))
            };
            let used: Vec<_> = ENTITIES.iter().filter(encoded).collect();
            let text = decode_entities(new, &used);
            // Half of it undone is neither.
            let half = text != new
                && !new.contains("&amp;")
                && known.iter().any(|entity| text.contains(entity));
            (!half).then_some(text)
        };
        Some((text, Box::new(undo)))
    }
}

fn bare(text: &str, c: &str) -> bool {
    match c {
        "&" => text.match_indices('&').any(|(at, _)| !is_entity(&text[at + 1..])),
        " " => false,
        c => text.contains(c),
    }
}

/// Whether what follows an `&` makes it an entity, be it one of ours or not.
fn is_entity(text: &str) -> bool {
    let name = text.split(';').next().filter(|name| name.len() < text.len()).unwrap_or_default();
    let name = name.strip_prefix('#').unwrap_or(name);
    !name.is_empty() && name.len() <= 8 && name.bytes().all(|b| b.is_ascii_alphanumeric())
}

fn decode_entities(text: &str, used: &[&(&str, &str, &'static str)]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        match used.iter().find(|(entity, ..)| rest.starts_with(entity)) {
            Some((entity, _, meant)) => {
                out.push_str(meant);
                rest = &rest[entity.len()..];
            }
            None => {
                out.push('&');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    out
}
