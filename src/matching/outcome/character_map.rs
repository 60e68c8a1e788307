//! Characters that the call and the file write differently.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;

use super::super::candidate::{Candidate, Chunk, ChunkKind};
use super::super::fold::{self, Fold};
use super::super::reading::NewText;
use super::super::source_file::{SourceFile, split_lines};

/// What the call writes differently from the file in all lines of a candidate: characters, such as
/// typographic quotes for the file's plain ones, and trailing whitespace. A character for which the
/// file has several forms is not in the map and stays as sent.
pub(super) struct CharacterMap {
    /// Pairs of (text in the call, text in the file).
    map: Vec<(String, String)>,
    /// Trailing whitespace that the call has and the file does not.
    trailing: BTreeSet<String>,
}

impl CharacterMap {
    /// The map that the equal lines of call and file show.
    pub(super) fn learn(
        file: &SourceFile<'_>,
        candidate: &Candidate,
        old: &str,
        new: &NewText,
    ) -> Self {
        let old_lines = split_lines(old);
        let is_line_pair = |chunk: &&Chunk| {
            chunk.kind == ChunkKind::Same && chunk.old.len() == 1 && !chunk.lines.is_empty()
        };
        let line_pairs: Vec<(&str, &str)> = candidate
            .chunks
            .iter()
            .filter(is_line_pair)
            .map(|chunk| (old_lines[chunk.old.start], candidate.text(chunk, file)))
            .collect();
        let ignores_look_alikes = candidate.tolerance.fold().is_some();
        let map = match ignores_look_alikes && !old.is_ascii() {
            true => learn_characters(&line_pairs),
            false => Vec::new(),
        };
        Self { map, trailing: learn_trailing(&line_pairs, &old_lines, new) }
    }

    /// This map and, if it maps dashes, another one without them: a long dash can stand for one hyphen
    /// or for two, and the lines do not show which.
    pub(super) fn readings(self) -> Vec<Self> {
        let is_dash = |(from, _): &(String, String)| from.starts_with(['–', '—']);
        let map: Vec<_> = self.map.iter().filter(|pair| !is_dash(pair)).cloned().collect();
        let maps_dashes = map.len() < self.map.len();
        let without_dashes = maps_dashes.then_some(Self { map, trailing: self.trailing.clone() });
        std::iter::once(self).chain(without_dashes).collect()
    }

    /// The text as the file would write it.
    pub(super) fn apply(&self, text: &str) -> String {
        let text = self.map.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to));
        if self.trailing.is_empty() {
            return text;
        }
        let trimmed = text.split('\n').map(|line| {
            let (body, ending) = line.split_at(line.trim_end_matches('\r').len());
            let tail = tail(body);
            match self.trailing.contains(tail) {
                true => format!("{}{ending}", &body[..body.len() - tail.len()]),
                false => line.to_owned(),
            }
        });
        trimmed.collect::<Vec<_>>().join("\n")
    }
}

/// The pairs of (text in the call, text in the file) in which all pairs of lines agree.
fn learn_characters(line_pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    // `None` where the file has several texts for one of the call.
    let mut seen: Vec<(&str, Option<&str>)> = Vec::new();
    let look_alikes = line_pairs.iter().flat_map(|(call, file)| look_alikes(call, file));
    for (from, to) in look_alikes.filter(|(from, _)| !from.is_ascii()) {
        match seen.iter_mut().find(|(known, _)| *known == from) {
            Some((_, target)) if *target != Some(to) => *target = None,
            Some(_) => {}
            None => seen.push((from, Some(to))),
        }
    }
    let agreed = seen.into_iter().filter_map(|(from, to)| Some((from, to?)));
    let different = agreed.filter(|(from, to)| from != to);
    different.map(|(from, to)| (from.to_owned(), to.to_owned())).collect()
}

/// The trailing whitespace that the call has and the file does not. Empty if a line of the file has
/// trailing whitespace, or if the lines that `old_str` and `new_str` share show that `new_str` does not
/// have it.
fn learn_trailing(
    line_pairs: &[(&str, &str)],
    old_lines: &[&str],
    new: &NewText,
) -> BTreeSet<String> {
    if line_pairs.iter().any(|(_, file)| !tail(file).is_empty()) {
        return BTreeSet::new();
    }
    let mut old_tails: HashMap<&str, HashSet<&str>> = HashMap::new();
    for line in old_lines.iter().filter(|line| !tail(line).is_empty()) {
        old_tails.entry(line.trim()).or_default().insert(tail(line));
    }
    let (mut has_mistake, mut has_correct_line) = (false, false);
    for line in new.texts().flat_map(split_lines) {
        if let Some(tails) = old_tails.get(line.trim()) {
            has_mistake |= tails.contains(tail(line));
            has_correct_line |= tail(line).is_empty();
        }
    }
    if has_correct_line && !has_mistake {
        return BTreeSet::new();
    }
    let call_tails = line_pairs.iter().map(|(call, _)| tail(call));
    call_tails.filter(|tail| !tail.is_empty()).map(str::to_owned).collect()
}

/// The characters of two lines as pairs of (text in the call, text in the file). Empty if the lines
/// differ in length once look-alikes are the same.
pub(super) fn look_alikes<'a>(call: &'a str, file: &'a str) -> Vec<(&'a str, &'a str)> {
    let (call, file) = (call.trim(), file.trim());
    let [call_chars, file_chars] = [call, file].map(|line| fold::canonical(line, Fold::LookAlike));
    if call_chars.len() != file_chars.len() {
        return Vec::new();
    }
    // One character may stand for several, as an ellipsis does for three dots.
    let mut pairs: Vec<(Range<usize>, Range<usize>)> = Vec::new();
    for (in_call, in_file) in call_chars.iter().zip(&file_chars) {
        match pairs.last_mut() {
            Some((last, other)) if *last == in_call.range() => other.end = in_file.end,
            Some((other, last)) if *last == in_file.range() => other.end = in_call.end,
            _ => pairs.push((in_call.range(), in_file.range())),
        }
    }
    pairs.into_iter().map(|(a, b)| (&call[a], &file[b])).collect()
}

/// The whitespace at the end of a line; empty for a blank line.
fn tail(line: &str) -> &str {
    let words = line.trim_end().len();
    if words == 0 { "" } else { &line[words..] }
}
