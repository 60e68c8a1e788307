//! HTML entities for characters of the source.

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

    fn undo(&self, old: &str) -> Option<(String, UndoNew)> {
        let used: Vec<_> = ENTITIES.iter().filter(|(entity, ..)| old.contains(entity)).collect();
        if used.is_empty() {
            return None;
        }
        let undo = |new: &str| {
            // What stands bare in new_str was not encoded there.
            let encoded = |(entity, c, _): &&(&str, &str, &'static str)| {
                new.contains(entity) && !bare(new, c)
            };
            let used: Vec<_> = ENTITIES.iter().filter(encoded).collect();
            decode_entities(new, &used)
        };
        Some((decode_entities(old, &used), Box::new(undo)))
    }
}

fn bare(text: &str, c: &str) -> bool {
    match c {
        "&" => text
            .match_indices('&')
            .any(|(at, _)| !ENTITIES.iter().any(|(e, ..)| text[at..].starts_with(e))),
        " " => false,
        c => text.contains(c),
    }
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
