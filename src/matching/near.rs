//! The regions of the file that are most like a text: for refusals, and for what a
//! model is shown. Never a match.

use std::collections::HashMap;

use aho_corasick::AhoCorasick;

use super::canon::is_word;
use super::source::{NO_WORD, Source, skeleton};
use super::tokens::likeness;
use super::window::{differences, split};
use crate::edit::{Difference, Near};

/// A line that stands more often says nothing about the place.
const COMMON: usize = 200;
/// Hits of single words that are looked at.
const MOST_HITS: usize = 4_000;
/// Lines of the text that are compared per region.
const MOST_LINES: usize = 60;
/// A region below this likeness teaches nothing.
const FLOOR: f64 = 0.3;

/// Up to `most` regions, best first.
pub(super) fn nearest(source: &Source<'_>, old: &str, most: usize) -> Vec<Near> {
    let old = split(old);
    let solid: Vec<usize> = (0..old.len()).filter(|&at| !old[at].trim().is_empty()).collect();
    if solid.is_empty() || source.lines.is_empty() {
        return Vec::new();
    }
    let mut starts = votes(source, &old, &solid);
    if starts.len() < 4 {
        starts.extend(word_votes(source, &old, &solid));
    }
    starts.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    starts.truncate(24);
    let mut found: Vec<Near> = starts
        .into_iter()
        .map(|(start, _)| region(source, &old, start))
        .filter(|near| near.score >= FLOOR)
        .collect();
    found.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.start_line.cmp(&b.start_line)));
    let mut out: Vec<Near> = Vec::new();
    for near in found {
        let overlaps =
            |seen: &Near| seen.start_line <= near.end_line && near.start_line <= seen.end_line;
        if !out.iter().any(overlaps) {
            out.push(near);
        }
        if out.len() == most {
            break;
        }
    }
    out
}

/// Starts (0-based lines) by how many lines of the text stand at the right distance.
fn votes(source: &Source<'_>, old: &[&str], solid: &[usize]) -> Vec<(usize, usize)> {
    let file = source.solid();
    let mut votes: HashMap<usize, usize> = HashMap::new();
    for &at in solid {
        let key = skeleton(old[at]);
        let places = file.places(key);
        if key == NO_WORD || places.len() > COMMON {
            continue;
        }
        for &place in places {
            let line = file.lines[place as usize];
            if let Some(start) = line.checked_sub(at) {
                *votes.entry(start).or_default() += 4;
            }
        }
    }
    votes.into_iter().collect()
}

/// The same by single words, for texts of which no line is right.
fn word_votes(source: &Source<'_>, old: &[&str], solid: &[usize]) -> Vec<(usize, usize)> {
    let mut words: Vec<(&str, usize)> = solid
        .iter()
        .flat_map(|&at| old[at].split(|c: char| !is_word(c)).map(move |word| (word, at)))
        .filter(|(word, _)| word.len() >= 3)
        .collect();
    words.sort_by_key(|(word, _)| std::cmp::Reverse(word.len()));
    words.dedup_by_key(|(word, _)| *word);
    words.truncate(16);
    let Ok(finder) = AhoCorasick::new(words.iter().map(|(word, _)| word)) else {
        return Vec::new();
    };
    let mut votes: HashMap<usize, usize> = HashMap::new();
    for hit in finder.find_iter(source.text).take(MOST_HITS) {
        let (_, at) = words[hit.pattern().as_usize()];
        if let Some(start) = source.line_at(hit.start()).checked_sub(at) {
            *votes.entry(start).or_default() += 1;
        }
    }
    votes.into_iter().collect()
}

/// The region that starts at a line, with its score and first difference.
fn region(source: &Source<'_>, old: &[&str], start: usize) -> Near {
    let total = source.lines.len();
    let end = (start + old.len()).min(total).max(start + 1);
    let mut sum = 0.0;
    let mut count = 0.0;
    let mut first_difference = None;
    for (at, line) in old.iter().enumerate().take(MOST_LINES) {
        let file = (start + at < total).then(|| source.body(start + at));
        let score = file.map_or(0.0, |file| score(line, file));
        if line.trim().is_empty() && file.is_some_and(|f| f.trim().is_empty()) {
            continue;
        }
        sum += score;
        count += 1.0;
        if first_difference.is_none() && file != Some(line) {
            first_difference = Some(Difference {
                line: start + at + 1,
                old_line: at + 1,
                expected: visible(line),
                found: file.map_or_else(|| "(end of file)".to_owned(), visible),
            });
        }
    }
    let score = if count > 0.0 { sum / count } else { 0.0 };
    let score = (score * 1000.0_f64).round() / 1000.0;
    Near { start_line: start + 1, end_line: end, score, first_difference }
}

fn score(old: &str, file: &str) -> f64 {
    if old == file {
        return 1.0;
    }
    if file.len() > 4 * old.len() + 400 {
        return 0.0;
    }
    if differences(old, file).is_some() { 0.95 } else { likeness(old, file) * 0.9 }
}

/// A line with its white space made visible at the ends, and cut.
pub(super) fn visible(line: &str) -> String {
    const MOST: usize = 120;
    let core = line.trim();
    let head = &line[..line.len() - line.trim_start().len()];
    let tail = &line[line.trim_end().len().max(head.len())..];
    let show = |blanks: &str| -> String {
        blanks
            .chars()
            .map(|c| match c {
                '\t' => "→".to_owned(),
                ' ' => "·".to_owned(),
                '\r' => "␍".to_owned(),
                c => format!("<U+{:04X}>", u32::from(c)),
            })
            .collect()
    };
    let inner: String = core
        .chars()
        .take(MOST)
        .map(|c| match c {
            '\t' => "→".to_owned(),
            c if c.is_whitespace() && c != ' ' => format!("<U+{:04X}>", u32::from(c)),
            '\u{200b}'..='\u{200d}' | '\u{feff}' | '\u{2060}' => {
                format!("<U+{:04X}>", u32::from(c))
            }
            c => c.to_string(),
        })
        .collect();
    let cut = if core.chars().nth(MOST).is_some() { "…" } else { "" };
    format!("{}{inner}{cut}{}", show(head), show(tail))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Snapshot;

    #[test]
    fn the_nearest_region_names_its_first_difference() {
        let file = Snapshot::from_text("a\nfn one() {\n    let x = 1;\n    go(x);\n}\nb\n");
        let source = Source::new(&file);
        let near = nearest(&source, "fn one() {\n    let x = 2;\n    go(x);\n}", 3);
        assert_eq!((near[0].start_line, near[0].end_line), (2, 5));
        let difference = near[0].first_difference.as_ref().expect("differs");
        assert_eq!((difference.line, difference.old_line), (3, 2));
        assert_eq!(difference.found, "····let x = 1;");
        assert!(nearest(&source, "nothing like that at all", 3).is_empty());
    }

    #[test]
    fn white_space_is_shown() {
        assert_eq!(visible("\t a\u{a0}b "), "→·a<U+00A0>b·");
        assert_eq!(visible("  "), "··");
    }
}
