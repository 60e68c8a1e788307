//! Of what kind lines are that stand at the margin of a call: more of what its first line is,
//! fields, methods. Where such lines follow one that lies deeper in the file, they have lost
//! its depth.

use super::canon::is_word;
use super::code::behind_key;
use super::fit;
use super::indent;
use super::steps::opens;

/// The words of a text that name something.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !is_word(c)).filter(|word| word.len() >= 3)
}

/// Whether the lines below the first one are more of its kind, all of them at the margin, as the
/// first one is in the call: then its indentation is lost.
pub(super) fn are_of_a_kind(new: &str, solid: &[&str]) -> bool {
    let (Some(first), Some(second)) = (solid.first(), solid.get(1)) else { return false };
    let flush = |line: &str| indent::of(line).is_empty();
    // A key or a target begins something of its own.
    let headed = |line: &str| behind_key(line).is_some();
    let blanks = new.trim_start().lines().skip(1).take_while(|line| line.trim().is_empty()).count();
    // What a blank line parts is so only if it begins alike.
    let most = if blanks > 0 { 1 } else { usize::MAX };
    let known: Vec<&str> = names(first).take(most).collect();
    let shared = names(second).take(most).filter(|name| known.contains(name)).count();
    let named = !headed(second) && shared > 0;
    let further = &solid[1..];
    let alike = |line: &&str| flush(line) && framed(line) == framed(first);
    let beside = |line: &&str| flush(line) && !fit::is_marginal(line) && !opens(line);
    // A text about a field, and more fields or texts about them.
    let fields = framed(first).is_some()
        && blanks < 2
        && (further.iter().any(alike) || headed(second) && further.iter().all(beside));
    // Entries of a list that have nothing but their signs in common.
    let signs = |line: &str| -> String {
        line.trim().chars().filter(|c| !is_word(*c) && !c.is_whitespace() && *c != '-').collect()
    };
    let shape = signs(first);
    let entries = blanks == 0
        && shape.len() > 1
        && !shape.contains(['(', ';', '=', '{', '"', '\''])
        && further.iter().all(|line| flush(line) && signs(line) == shape);
    let about = blanks == 0 && headed(first) && second.starts_with("\"\"\"");
    flush(second) && (named || fields || entries || about)
}

/// Whether a line begins with a key, whatever its value.
pub(super) fn is_a_key(line: &str) -> bool {
    let line = line.trim();
    line.ends_with(':') && !line.contains(' ') || is_a_field(line)
}

/// Whether the lines of a new text at the margin are those of a class: fields, or methods.
pub(super) fn are_members(new: &str, solid: &[&str]) -> bool {
    let apart = new.trim_start().contains("\n\n\n");
    let method = |line: &&str| indent::of(line).is_empty() && is_a_method(line);
    solid.iter().all(|line| is_a_field(line)) && !apart || solid.iter().skip(1).any(method)
}

/// Whether a line at the margin is a field with its type, `name: Type`, or a key.
pub(super) fn is_a_field(line: &str) -> bool {
    behind_key(line).is_some_and(|value| value.starts_with(' '))
}

/// Whether a line stands in a function by what it says.
pub(super) fn is_of_a_function(line: &str) -> bool {
    ["return", "yield"].iter().any(|word| {
        line.strip_prefix(word).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', ';']))
    })
}

/// Whether a line begins a method of Python.
pub(super) fn is_a_method(line: &str) -> bool {
    let line = line.strip_prefix("async ").unwrap_or(line);
    let Some((_, parameters)) = line.strip_prefix("def ").and_then(|rest| rest.split_once('('))
    else {
        return false;
    };
    ["self", "cls"].iter().any(|name| {
        parameters.strip_prefix(name).is_some_and(|rest| rest.starts_with([',', ')', ':']))
    })
}

/// The signs around a line, if they are those of a text for people.
fn framed(line: &str) -> Option<(&str, &str)> {
    const LEAST: usize = 5;
    let line = line.trim();
    let (head, tail) = (line.find(is_word)?, line.rfind(is_word)?);
    let (head, tail) = (
        line[..head].trim_end(),
        &line[tail + line[tail..].chars().next().map_or(0, char::len_utf8)..],
    );
    let tail = tail.trim_start_matches(['.', '!', '?', ')']).trim_start();
    let both = head.len() >= 2 && tail.len() >= 2;
    (both && head.len() + tail.len() >= LEAST).then_some((head, tail))
}
