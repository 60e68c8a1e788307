//! Characters that the call and the file write differently.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;

use super::super::candidate::{Candidate, ChunkKind};
use super::super::fold::{self, Fold};
use super::super::reading::NewText;
use super::super::source_file::{SourceFile, split_lines};

/// Characters that the call and the file write differently, where all lines of the candidate
/// agree: typographic quotes in a file that has plain ones, trailing whitespace. Where the file
/// has both forms, the text stays as sent.
pub(super) struct CharacterMap {
    map: Vec<(String, String)>,
    /// Trailing whitespace that the call has and the file does not.
    trailing: BTreeSet<String>,
}

impl CharacterMap {
    pub(super) fn learn(
        file: &SourceFile<'_>,
        candidate: &Candidate,
        old: &str,
        new: &NewText,
    ) -> Self {
        let mut seen: Vec<(String, Option<String>)> = Vec::new();
        let lines = split_lines(old);
        let mut learn =
            |from: &str, to: &str| match seen.iter_mut().find(|(known, _)| known == from) {
                Some((_, known)) if known.as_deref() != Some(to) => *known = None,
                Some(_) => {}
                None => seen.push((from.to_owned(), Some(to.to_owned()))),
            };
        let fold = candidate.tolerance.fold().filter(|_| !old.is_ascii());
        for chunk in candidate.chunks.iter().filter(|_| fold.is_some()) {
            if chunk.kind != ChunkKind::Same || chunk.old.len() != 1 || chunk.lines.is_empty() {
                continue;
            }
            let pairs = look_alikes(lines[chunk.old.start], candidate.text(chunk, file));
            pairs.into_iter().filter(|(call, _)| !call.is_ascii()).for_each(|(a, b)| learn(a, b));
        }
        let changed = seen.into_iter().filter_map(|(from, to)| Some((from, to?)));
        let map = changed.filter(|(from, to)| from != to).collect();
        let pairs =
            candidate.chunks.iter().filter(|c| c.kind == ChunkKind::Same && c.old.len() == 1);
        let tails: Vec<(&str, &str)> = pairs
            .filter(|chunk| !chunk.lines.is_empty())
            .map(|chunk| (tail(lines[chunk.old.start]), tail(candidate.text(chunk, file))))
            .collect();
        // Lines that are also in new_str show whether it has the same trailing whitespace.
        let (mut mistaken, mut right) = (false, false);
        let mut tailed: HashMap<&str, HashSet<&str>> = HashMap::new();
        for old in lines.iter().filter(|old| !tail(old).is_empty()) {
            tailed.entry(old.trim()).or_default().insert(tail(old));
        }
        for line in new.texts().flat_map(split_lines) {
            if let Some(tails) = tailed.get(line.trim()) {
                mistaken |= tails.contains(tail(line));
                right |= tail(line).is_empty();
            }
        }
        let only_in_call = tails.iter().all(|(_, file)| file.is_empty());
        let tails = tails.into_iter().filter(|_| only_in_call && (mistaken || !right));
        let tails = tails.map(|(call, _)| call.to_owned()).filter(|tail| !tail.is_empty());
        Self { map, trailing: tails.collect() }
    }

    /// A long dash can stand for one hyphen or for two, and the pairs do not show which: one
    /// reading maps dashes, the other does not.
    pub(super) fn readings(self) -> Vec<Self> {
        let is_dash = |(from, _): &(String, String)| from.starts_with(['–', '—']);
        let map: Vec<_> = self.map.iter().filter(|pair| !is_dash(pair)).cloned().collect();
        let other =
            (map.len() < self.map.len()).then_some(Self { map, trailing: self.trailing.clone() });
        std::iter::once(self).chain(other).collect()
    }

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

/// The characters of two lines that look alike, each as the call and as the file has it.
pub(super) fn look_alikes<'a>(call: &'a str, file: &'a str) -> Vec<(&'a str, &'a str)> {
    let (call, file) = (call.trim(), file.trim());
    let [x, y] = [call, file].map(|line| fold::canonical(line, Fold::LookAlike));
    if x.len() != y.len() {
        return Vec::new();
    }
    // One character may stand for several, as an ellipsis does for three dots.
    let mut pairs: Vec<(Range<usize>, Range<usize>)> = Vec::new();
    for (x, y) in x.iter().zip(&y) {
        match pairs.last_mut() {
            Some((a, b)) if *a == x.range() => b.end = y.end,
            Some((a, b)) if *b == y.range() => a.end = x.end,
            _ => pairs.push((x.range(), y.range())),
        }
    }
    pairs.into_iter().map(|(a, b)| (&call[a], &file[b])).collect()
}

/// The whitespace at the end of a line that is not blank.
fn tail(line: &str) -> &str {
    let words = line.trim_end().len();
    if words == 0 { "" } else { &line[words..] }
}
