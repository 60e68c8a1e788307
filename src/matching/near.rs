//! The regions of the file that are most like a text: for refusals, and for what a
//! model is shown. Never a match.

use std::collections::HashMap;
use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::canon::is_word;
use super::source::{NO_WORD, Source, skeleton};
use super::window::split;
use crate::edit::{Difference, Near};

/// A line that stands more often says nothing about the place.
const COMMON: usize = 200;
/// Words of the text that are sought in the file,
const MOST_WORDS: usize = 16;
/// and bytes that are looked through for them, in all.
const MOST_BYTES: usize = 50_000_000;
/// Hits of a word that are looked at, in longer words too.
const MOST_HITS: usize = 1_000;
/// Bytes of a line that are compared.
const LONG: usize = 2_000;
/// Lines of the text that are compared per region.
const MOST_LINES: usize = 60;
/// A region below this likeness teaches nothing.
const FLOOR: f64 = 0.3;

/// A region of the file, and where the lines of the text stand in it.
#[derive(Debug)]
pub(super) struct Region {
    pub(super) near: Near,
    /// For each line of the text what stands for it.
    pub(super) lines: Vec<Stand>,
    /// How much of what is rare in the file it shares with the text, from 0 to 1.
    rare: f64,
}

impl Region {
    /// Whether another region is about as near.
    pub(super) fn is_hardly_better_than(&self, rival: &Self) -> bool {
        rival.rank() > 0.95 * self.rank()
    }

    fn rank(&self) -> f64 {
        self.rare + self.near.score
    }
}

/// What stands for a line of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stand {
    /// This line of the file (from 0), white space at the ends aside.
    Same(usize),
    /// This one, which has words of it.
    Like(usize),
    Nothing,
}

/// Up to `most` regions, best first.
pub(super) fn nearest(source: &Source<'_>, old: &str, most: usize) -> Vec<Near> {
    regions(source, old, most).into_iter().map(|region| region.near).collect()
}

/// The same, with the lines of each.
pub(super) fn regions(source: &Source<'_>, old: &str, most: usize) -> Vec<Region> {
    let old = split(old);
    let solid: Vec<usize> = (0..old.len()).filter(|&at| !old[at].trim().is_empty()).collect();
    if solid.is_empty() || source.lines.is_empty() {
        return Vec::new();
    }
    let rare = rare_words(source, &old);
    let mut places = votes(source, &old, &solid);
    places.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    places.truncate(8);
    let mut places: Vec<Range<usize>> =
        places.into_iter().map(|(start, _)| start..start + old.len()).collect();
    places.extend(crowds(&rare, old.len()));
    // What stands beside a place may be a twin, or the rest of it.
    let slack = old.len().min(8) / 2 + 2;
    let mut found: Vec<Region> = places
        .into_iter()
        .flat_map(|place| {
            let around = place.start.saturating_sub(slack)..place.end + slack;
            [place, around]
        })
        .filter_map(|place| region(source, &old, place, &rare))
        .filter(|region| region.near.score >= FLOOR)
        .collect();
    found.sort_by(|a, b| {
        b.rank().total_cmp(&a.rank()).then(a.near.start_line.cmp(&b.near.start_line))
    });
    let mut out: Vec<Region> = Vec::new();
    for region in found {
        let overlaps = |seen: &Region| {
            seen.near.start_line <= region.near.end_line
                && region.near.start_line <= seen.near.end_line
        };
        if !out.iter().any(overlaps) {
            out.push(region);
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

/// A word of the text that tells something about the place.
#[derive(Debug)]
struct Rare {
    /// The lines that have it.
    lines: Vec<usize>,
}

impl Rare {
    #[expect(clippy::cast_precision_loss, reason = "at most COMMON lines")]
    fn weight(&self) -> f64 {
        1.0 / self.lines.len() as f64
    }
}

/// The longest words of the text that the file has, but not everywhere.
fn rare_words(source: &Source<'_>, old: &[&str]) -> Vec<Rare> {
    let mut words: Vec<&str> = old.iter().take(MOST_LINES).flat_map(|line| words(line)).collect();
    words.retain(|word| word.len() >= 3);
    words.sort_unstable_by(|a, b| b.len().cmp(&a.len()).then(a.cmp(b)));
    words.dedup();
    let text = source.text;
    words.truncate((MOST_BYTES / text.len().max(1)).clamp(4, MOST_WORDS));
    let find = |word: &str| {
        let whole = |at: &usize| {
            !text[..*at].ends_with(is_word) && !text[at + word.len()..].starts_with(is_word)
        };
        // One that is everywhere is soon given up.
        let hits = memchr::memmem::find_iter(text.as_bytes(), word).take(MOST_HITS).filter(whole);
        let mut lines: Vec<usize> = hits.take(COMMON + 1).map(|at| source.line_at(at)).collect();
        lines.dedup();
        (1..=COMMON).contains(&lines.len()).then_some(Rare { lines })
    };
    words.into_iter().filter_map(find).collect()
}

/// Where most of the rare words stand together, however the lines are broken.
fn crowds(rare: &[Rare], height: usize) -> Vec<Range<usize>> {
    let height = 2 * height + rare.len();
    let mut hits: Vec<(usize, usize)> = Vec::new();
    for (at, word) in rare.iter().enumerate() {
        hits.extend(word.lines.iter().map(|&line| (line, at)));
    }
    hits.sort_unstable();
    let mut inside = vec![0_usize; rare.len()];
    let (mut sum, mut from) = (0.0, 0);
    let mut crowds: Vec<(f64, Range<usize>)> = Vec::new();
    for &(line, word) in &hits {
        while hits[from].0 + height <= line {
            let gone = hits[from].1;
            inside[gone] -= 1;
            if inside[gone] == 0 {
                sum -= rare[gone].weight();
            }
            from += 1;
        }
        inside[word] += 1;
        if inside[word] == 1 {
            sum += rare[word].weight();
        }
        crowds.push((sum, hits[from].0..line + 1));
    }
    let most = |a: &(f64, Range<usize>), b: &(f64, Range<usize>)| {
        b.0.total_cmp(&a.0).then(a.1.len().cmp(&b.1.len())).then(a.1.start.cmp(&b.1.start))
    };
    crowds.sort_by(most);
    let mut out: Vec<Range<usize>> = Vec::new();
    for (_, lines) in crowds {
        if !out.iter().any(|seen| seen.start < lines.end && lines.start < seen.end) {
            out.push(lines);
        }
        if out.len() == 6 {
            break;
        }
    }
    out
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !is_word(c)).filter(|word| !word.is_empty())
}

/// The lines around a place that the text's words are in, with what they lack.
fn region(source: &Source<'_>, old: &[&str], place: Range<usize>, rare: &[Rare]) -> Option<Region> {
    let old = &old[..old.len().min(MOST_LINES)];
    let from = place.start;
    let to = place.end.min(place.start + 3 * MOST_LINES).min(source.lines.len());
    let bodies: Vec<&str> = (from..to.max(from)).map(|at| source.body(at)).map(cut).collect();
    let spread = |lines: &[&'_ str]| -> Vec<usize> {
        lines.iter().enumerate().flat_map(|(at, line)| words(line).map(move |_| at)).collect()
    };
    let flat = |lines: &[&str]| -> Vec<String> {
        lines.iter().flat_map(|line| words(line)).map(str::to_owned).collect()
    };
    let (ours, theirs) = (flat(old), flat(&bodies));
    let (our_lines, their_lines) = (spread(old), spread(&bodies));
    // How many words a line of the text shares with one of the file.
    let mut shared: HashMap<(usize, usize), usize> = HashMap::new();
    let mut held = vec![0_usize; bodies.len()];
    for op in capture_diff_slices(Algorithm::Patience, &ours, &theirs) {
        if let DiffOp::Equal { old_index, new_index, len } = op {
            for at in 0..len {
                *shared
                    .entry((our_lines[old_index + at], their_lines[new_index + at]))
                    .or_default() += 1;
                held[their_lines[new_index + at]] += 1;
            }
        }
    }
    let total = |line: &str| words(line).count();
    let (first, last) = core(&bodies, &held, ours.len())?;
    let same = |o: usize, f: usize| old[o].trim() == bodies[f].trim();
    let mut stands: Vec<Stand> = (0..old.len())
        .map(|o| {
            let partners = shared.iter().filter(|((line, _), _)| *line == o);
            let best = partners.max_by_key(|((_, f), n)| (same(o, *f), **n, usize::MAX - f));
            match best {
                Some(((_, f), _)) if !(first..=last).contains(f) => Stand::Nothing,
                Some(((_, f), _)) if same(o, *f) => Stand::Same(*f),
                Some(((_, f), n)) if 2 * n >= total(old[o]).min(total(bodies[*f])) => {
                    Stand::Like(*f)
                }
                _ => Stand::Nothing,
            }
        })
        .collect();
    let (first, last) = widen(old, &bodies, &mut stands, first, last);
    let kept: usize = held[first..=last].iter().sum();
    let all = ours.len() + bodies[first..=last].iter().map(|line| total(line)).sum::<usize>();
    let likeness = share(2 * kept, all);
    let exact = (0..old.len()).filter(|&o| matches!(stands[o], Stand::Same(_))).count();
    let solid = old.iter().filter(|line| !line.trim().is_empty()).count();
    // Lines that are the same to the last character weigh a little more.
    let score = 0.9 * likeness + 0.09 * share(exact.min(solid), solid);
    let score = (score * 1000.0).round() / 1000.0;
    let weight = |of: &dyn Fn(&Rare) -> bool| -> f64 {
        rare.iter().filter(|word| of(word)).map(Rare::weight).sum()
    };
    let lines = from + first..=from + last;
    let has = |word: &Rare| word.lines.iter().any(|line| lines.contains(line));
    let (held, every) = (weight(&has), weight(&|_| true));
    let first_difference = difference(old, &bodies, &stands, from, first);
    // What stands for a line at the edge of the text is next to the region, if anything is.
    let solid = |f: &usize| !bodies[*f].trim().is_empty();
    let open = |stands: &mut dyn Iterator<Item = &Stand>| {
        stands.take_while(|stand| **stand == Stand::Nothing).take(2).count()
    };
    let above = (0..first).rev().take(open(&mut stands.iter())).take_while(solid).count();
    let below = (last + 1..bodies.len()).take(open(&mut stands.iter().rev()));
    let near = Near {
        start_line: from + first + 1 - above,
        end_line: from + last + 1 + below.take_while(solid).count(),
        score,
        first_difference,
    };
    for stand in &mut stands {
        if let Stand::Same(f) | Stand::Like(f) = stand {
            *f += from;
        }
    }
    Some(Region { near, lines: stands, rare: if every > 0.0 { held / every } else { 0.0 } })
}

/// The part of a very long line that is compared.
fn cut(line: &str) -> &str {
    &line[..line.floor_char_boundary(LONG)]
}

#[expect(clippy::cast_precision_loss, reason = "counts of words in some lines")]
fn share(part: usize, all: usize) -> f64 {
    if all == 0 { 0.0 } else { part as f64 / all as f64 }
}

/// From the first to the last line of which half is in the text, or half of the text in it,
/// without stray ones.
fn core(bodies: &[&str], held: &[usize], all: usize) -> Option<(usize, usize)> {
    let inside: Vec<usize> = (0..bodies.len())
        .filter(|&f| held[f] > 0 && 2 * held[f] >= words(bodies[f]).count().min(all))
        .collect();
    let whole = |f: usize| held[f] >= 2 && held[f] == words(bodies[f]).count();
    let (mut from, mut to) = (0, inside.len());
    while to > from + 1 && inside[from] + 2 < inside[from + 1] && !whole(inside[from]) {
        from += 1;
    }
    while to > from + 1 && inside[to - 2] + 2 < inside[to - 1] && !whole(inside[to - 1]) {
        to -= 1;
    }
    Some((*inside.get(from)?, *inside.get(to.checked_sub(1)?)?))
}

/// Takes in what stands beside the region as the text has it beside its words: brackets, and
/// blank lines before them.
fn widen(
    old: &[&str],
    bodies: &[&str],
    stands: &mut [Stand],
    mut first: usize,
    mut last: usize,
) -> (usize, usize) {
    let stood = |stand: &Stand| *stand != Stand::Nothing;
    let same = |o: usize, f: usize| old[o].trim() == bodies[f].trim();
    if let Some(top) = stands.iter().position(stood) {
        for o in (0..top).rev() {
            if first == 0 || !same(o, first - 1) {
                break;
            }
            first -= 1;
            stands[o] = Stand::Same(first);
        }
    }
    if let Some(bottom) = stands.iter().rposition(stood) {
        for (o, stand) in stands.iter_mut().enumerate().skip(bottom + 1) {
            if last + 1 >= bodies.len() || !same(o, last + 1) {
                break;
            }
            last += 1;
            *stand = Stand::Same(last);
        }
    }
    (first, last)
}

/// The first line of the text that the file has otherwise, or has not.
fn difference(
    old: &[&str],
    bodies: &[&str],
    stands: &[Stand],
    from: usize,
    first: usize,
) -> Option<Difference> {
    let differs = |&o: &usize| match stands[o] {
        Stand::Same(f) => old[o] != bodies[f],
        Stand::Like(_) => true,
        Stand::Nothing => !old[o].trim().is_empty(),
    };
    let mut lines = (0..old.len()).filter(differs);
    // What is written otherwise tells more than what is not there.
    let like = |o: &usize| stands[*o] != Stand::Nothing;
    let o = lines.clone().find(like).or_else(|| lines.next())?;
    let (line, found) = match stands[o] {
        Stand::Same(f) | Stand::Like(f) => (f, visible(bodies[f])),
        Stand::Nothing => (first, "(no such line)".to_owned()),
    };
    Some(Difference { line: from + line + 1, old_line: o + 1, expected: visible(old[o]), found })
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
    fn rare_words_tell_twins_apart_however_lines_break() {
        let file = "h(\n\t\"/users\",\n\tusers,\n\tauth,\n)\nh(\"/orders\", orders, auth)\n";
        let file = Snapshot::from_text(file);
        let near = nearest(&Source::new(&file), "h(\"/users\", users, auth)", 3);
        assert_eq!((near[0].start_line, near[0].end_line), (1, 4));
    }

    #[test]
    fn a_line_that_is_nowhere_is_paired_with_none() {
        let file = Snapshot::from_text("start()\n\nsave(one)\nsave(two, three)\nend()\n");
        let source = Source::new(&file);
        let found = regions(&source, "# callbacks\nsave(one)\nsave(two, 3)\n", 3);
        assert_eq!(found[0].lines, [Stand::Nothing, Stand::Same(2), Stand::Like(3)]);
        assert_eq!((found[0].near.start_line, found[0].near.end_line), (3, 4));
        let difference = found[0].near.first_difference.as_ref().expect("differs");
        assert_eq!((difference.line, difference.old_line), (4, 3));
    }

    #[test]
    fn white_space_is_shown() {
        assert_eq!(visible("\t a\u{a0}b "), "→·a<U+00A0>b·");
        assert_eq!(visible("  "), "··");
    }
}
