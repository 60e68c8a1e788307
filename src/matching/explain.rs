//! Explanations: a reading of the call, at a place, with a map of indentation and the differences line
//! by line. Each has a cost, and what matched is its evidence.

use std::ops::Range;
use std::rc::Rc;

use memchr::memmem;

use super::budget;
use super::call::Call;
use super::characters::CharacterMap;
use super::costs::{Difference, IRREGULAR, KEPT_SHARE, NUMBERS_OFF, PART, STALE_SHARE};
use super::difference::difference;
use super::exact::with_file_endings;
use super::forbidden::{self, Forbidden};
use super::indent_of;
use super::maps::{IndentMap, maps};
use super::places::{Edges, Place, places};
use super::reading::{Reading, is_fence};
use super::source_file::SourceFile;
use super::weigh::{Scales, letters};
use super::write::{Choice, ConflictHunk, Input, write};
use crate::edit::{Kept, Splice};

/// What an explanation leads to.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Outcome {
    /// The call writes this.
    Writes(Splice),
    /// The place is plain, but the file has other text where the call changes it.
    Conflict(Vec<ConflictHunk>),
}

/// One way to understand the call.
#[derive(Debug, Clone)]
pub(super) struct Explanation {
    pub(super) outcome: Outcome,
    /// How surprising it is, in bits.
    pub(super) cost: f64,
    /// How much what matched says about the place, in bits.
    pub(super) evidence: f64,
    /// The share of the text that stands there, by letters.
    pub(super) share: f64,
    /// The same of the lines that stand there character for character.
    pub(super) as_quoted: f64,
    /// Every difference between call and file.
    pub(super) differences: Vec<Difference>,
    /// The lines of the file at the place, from 0.
    pub(super) lines: Range<usize>,
    /// The reading of the call that it explains.
    pub(super) reading: Rc<Reading>,
    /// How it reads the call, in a few words.
    pub(super) how: String,
    /// Lines that the call keeps but quotes with other words.
    pub(super) kept: Vec<Kept>,
    /// Whether it needs a kept line with other words, a line more or a line less.
    pub(super) is_loose: bool,
    /// Whether one of these is no comment.
    pub(super) needs_code: bool,
    /// Whether it needs lines that the call does not show as they are: lines more, or a line that reads as
    /// the call would write it.
    pub(super) needs_unseen: bool,
    /// Whether it is a conflict that only such an explanation has to fear: little stands there as it was
    /// quoted.
    pub(super) is_faint: bool,
    /// Whether nothing at the place shows some of what it writes.
    pub(super) is_guess: bool,
    /// Whether a line that it changes is only a part of the file's.
    pub(super) is_part: bool,
}

impl Explanation {
    /// What it writes; `None` for a conflict.
    pub(super) fn splice(&self) -> Option<&Splice> {
        match &self.outcome {
            Outcome::Writes(splice) => Some(splice),
            Outcome::Conflict(_) => None,
        }
    }
}

/// How strictly a call is explained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Strictness {
    /// As a call that may be applied.
    Call,
    /// As the reverse of a call that may have been applied: what it changes must stand there as it is.
    Reverse,
}

/// What explains one reading.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) list: Vec<Explanation>,
    /// Whether there are more places than were explained.
    pub(super) truncated: bool,
    /// The explanations that are forbidden: why, and the lines of the file.
    pub(super) forbidden: Vec<(Forbidden, Range<usize>)>,
}

/// All explanations of one reading.
pub(super) fn explain(
    file: &SourceFile<'_>,
    reading: &Rc<Reading>,
    strictness: Strictness,
) -> Found {
    let call = Call::new(&reading.old, &reading.new);
    let mut out = Found::default();
    if strictness == Strictness::Call && !reading.mistakes.is_empty() && !reading.whole_lines {
        out.list = as_it_stands(file, reading);
    }
    let plain: Vec<usize> = out.list.iter().map(|e| e.lines.start).collect();
    // The line break after the last line is that of a line of the file.
    let is_line = call.ends_with_newline && call.old.len() == 1;
    let has_text = |line: Option<&&str>| line.is_some_and(|line| !line.trim().is_empty());
    let edges = Edges {
        may_begin_inside: !reading.whole_lines && !is_line && has_text(call.old.first()),
        may_end_inside: !reading.whole_lines
            && !call.ends_with_newline
            && has_text(call.old.last()),
    };
    let found = places(file, &call, edges);
    for mut place in found.list {
        place.prefer_kept_blank_lines(&call.old, &|at| call.keeps(at));
        let place = &place;
        if budget::spend(64 + 64 * place.links.len()).is_err() {
            break;
        }
        if !reading.may_stand_at(file, place) {
            continue;
        }
        if plain.contains(&place.lines().start) {
            continue;
        }
        let weighed = match forbidden::edge(file, &call, place) {
            Some(why) => Err(why),
            None => weigh(file, &call, place, reading, strictness, &mut out.list),
        };
        out.forbidden.extend(weighed.err().map(|why| (why, place.lines())));
    }
    out.truncated = found.truncated;
    let is_guess = reading.is_guess || forbidden::may_be_own(file, &call, &reading.mistakes);
    let is_lost = call.new_lost_indent();
    for explanation in &mut out.list {
        let is_deep = || file.body(explanation.lines.start).starts_with([' ', '\t']);
        explanation.is_guess |= is_guess || is_lost && is_deep();
    }
    out
}

/// Where the text of a reading stands byte for byte, it is a plain replacement.
fn as_it_stands(file: &SourceFile<'_>, reading: &Rc<Reading>) -> Vec<Explanation> {
    let mut out = Vec::new();
    let (old, new) = (&reading.old, &reading.new);
    // Without its last line break, new_str would join two lines.
    if old.ends_with('\n') && !new.is_empty() && !new.ends_with('\n') {
        return out;
    }
    let evidence = plain_evidence(file, old.split('\n'));
    for start in memmem::find_iter(file.text.as_bytes(), old.as_str()).take(MAX_PLAIN) {
        let end = start + old.len();
        if file.splits_name(start) || file.splits_name(end) {
            continue;
        }
        let (first, last) = (file.line_at(start), file.line_at(end.saturating_sub(1).max(start)));
        // Behind its indentation, the first line has lost it. Then new_str stands as it is only if its
        // first line has lost it, too, and the others have all of theirs, as those of old_str.
        let line_start = file.lines()[first].body.start;
        let before = &file.text[line_start..start];
        let is_shallow = |line: &str| !line.trim().is_empty() && !line.starts_with(before);
        if !before.is_empty()
            && before.trim().is_empty()
            && (!indent_of(new).is_empty()
                || !old.contains('\n') && new.lines().skip(1).any(is_shallow))
        {
            continue;
        }
        let mut cost = reading.cost();
        let is_part = !file.text[file.lines()[first].body.start..start].trim().is_empty()
            || !file.text[end..file.lines()[last].body.end.max(end)].trim().is_empty();
        cost += if is_part { PART } else { 0.0 } + numbers_price(reading, first);
        // What goes on behind the last line belongs to it, and not to new lines below.
        let goes_on = !file.text[end..file.lines()[last].body.end.max(end)].trim().is_empty();
        if goes_on && old.contains('\n') && new.lines().count() > old.lines().count() {
            continue;
        }
        let text = with_file_endings(file, start, new);
        out.push(Explanation {
            outcome: Outcome::Writes(Splice { range: start..end, text }),
            cost,
            evidence,
            share: 1.0,
            as_quoted: 1.0,
            differences: reading.mistakes.clone(),
            lines: first..last + 1,
            reading: Rc::clone(reading),
            how: reading.how.unwrap_or_default().to_owned(),
            kept: Vec::new(),
            is_loose: false,
            needs_code: false,
            needs_unseen: false,
            is_faint: false,
            is_guess: false,
            is_part,
        });
    }
    out
}

/// The most places at which a reading stands byte for byte.
const MAX_PLAIN: usize = 1_000;

/// The evidence of text that stands in the file as it is.
fn plain_evidence<'l>(file: &SourceFile<'_>, lines: impl Iterator<Item = &'l str> + Clone) -> f64 {
    let bits: f64 = lines.clone().map(|line| file.bits(line)).sum();
    bits.max(2.0 * letters(lines))
}

/// What copied line numbers say about a place whose first line is `first` (from 0).
fn numbers_price(reading: &Rc<Reading>, first: usize) -> f64 {
    match reading.first_line {
        Some(number) if number != first + 1 => NUMBERS_OFF,
        _ => 0.0,
    }
}

/// Adds the explanations of a reading at one place; the error says why they are forbidden.
fn weigh(
    file: &SourceFile<'_>,
    call: &Call<'_>,
    place: &Place,
    reading: &Rc<Reading>,
    strictness: Strictness,
    out: &mut Vec<Explanation>,
) -> Result<(), Forbidden> {
    let first_old = place.links.iter().find(|l| !l.lines.is_empty()).map_or(0, |l| l.old.start);
    let number_at = place.lines().start.saturating_sub(first_old);
    let read_cost = reading.cost() + numbers_price(reading, number_at);
    let scales = Scales::weigh(file, call, place, read_cost, strictness);
    // Where what the call keeps has other words, the place may be the one that was meant, too.
    let has_other_words = scales.forbidden == Some(Forbidden::OtherWords);
    let conflict = scales.conflict || has_other_words && scales.share() >= STALE_SHARE;
    if let Some(why) = scales.forbidden.filter(|_| !conflict) {
        return Err(why);
    }
    let is_faint = has_other_words && !scales.conflict && scales.share() < KEPT_SHARE;
    let results = Results { scales, reading, is_faint };
    if conflict {
        results.push_conflict(out);
    } else {
        results.push_all(out);
    }
    Ok(())
}

/// What comes of a reading at one place.
struct Results<'b, 'c, 'a, 'f, 't> {
    scales: Scales<'c, 'a, 'f, 't>,
    reading: &'b Rc<Reading>,
    is_faint: bool,
}

impl Results<'_, '_, '_, '_, '_> {
    /// Adds the results of every map of indentation and every other choice, or the conflict.
    fn push_all(&self, out: &mut Vec<Explanation>) {
        let Scales { file, call, place, differences, .. } = &self.scales;
        let (file, call, place) = (*file, *call, *place);
        let mut conflict = None;
        let from = out.len();
        let (old, new) = (self.reading.old.as_str(), self.reading.new.as_str());
        for (number, characters) in
            CharacterMap::learn(file, call, place, differences).iter().enumerate()
        {
            let mapped =
                (!characters.is_empty()).then(|| (characters.apply(old), characters.apply(new)));
            let mapped_call = mapped.as_ref().map(|(old, new)| Call::new(old, new));
            let call = mapped_call.as_ref().unwrap_or(call);
            let mapped_differences: Vec<Option<Difference>>;
            let differences = match mapped_call.is_some() {
                true => {
                    mapped_differences =
                        place.links.iter().map(|link| difference(file, call, link)).collect();
                    &mapped_differences
                }
                false => differences,
            };
            let input =
                Input { file, call, place, differences, is_padded: is_padded(file, call, place) };
            for map in maps(file, call, place) {
                for choice in Choice::ALL {
                    match write(&input, &map, choice) {
                        Err(hunks) => {
                            conflict.get_or_insert(hunks);
                            break;
                        }
                        Ok((_, used))
                            if choice.below_blank && !used.below_blank
                                || choice.marks_as_sent && !used.marks_as_sent => {}
                        Ok((splice, _)) => {
                            let [blank, marks] = choice.how();
                            let dashes = (number > 0).then_some("dashes as they were sent");
                            let how = [self.reading.how, map.how, blank, marks, dashes];
                            let how: Vec<&str> = how.into_iter().flatten().collect();
                            self.push(splice, &map, how.join(", "), out);
                        }
                    }
                }
            }
        }
        if out.len() == from
            && let Some(hunks) = conflict
        {
            out.push(self.conflict(hunks, &maps(file, call, place)));
        }
    }

    /// Adds a result, unless it is there already for less.
    fn push(&self, splice: Splice, map: &IndentMap, how: String, out: &mut Vec<Explanation>) {
        let mut explanation = self.explanation(Outcome::Writes(splice), how);
        explanation.cost += map.price;
        // A line of code with other words needs a place that is plain in all else.
        explanation.is_guess = map.is_guess || map.price >= IRREGULAR && self.scales.sum.needs_code;
        if map.how.is_some() {
            explanation.differences.push(Difference::Indentation);
        }
        out.push(explanation);
    }

    /// An explanation at this place, without the price of a map.
    fn explanation(&self, outcome: Outcome, how: String) -> Explanation {
        let Scales { sum, kept, place, .. } = &self.scales;
        let mut differences = self.reading.mistakes.clone();
        differences.extend(&sum.differences);
        Explanation {
            outcome,
            cost: sum.plain + sum.loose,
            evidence: self.scales.evidence(),
            share: self.scales.share(),
            as_quoted: self.scales.as_quoted(),
            differences,
            lines: place.lines(),
            reading: Rc::clone(self.reading),
            how,
            kept: kept.clone(),
            is_loose: sum.is_loose(),
            needs_code: sum.needs_code,
            needs_unseen: sum.extra + sum.made > 0,
            is_faint: self.is_faint,
            is_guess: false,
            is_part: sum.is_part,
        }
    }

    /// The explanation that the place has changed.
    fn conflict(&self, hunks: Vec<ConflictHunk>, maps: &[IndentMap]) -> Explanation {
        let cost = self.scales.stale_cost(maps);
        Explanation { cost, ..self.explanation(Outcome::Conflict(hunks), String::new()) }
    }

    /// Adds the explanation that the place has changed.
    fn push_conflict(&self, out: &mut Vec<Explanation>) {
        let Scales { file, call, place, differences, .. } = &self.scales;
        let input = Input { file, call, place, differences, is_padded: false };
        let maps = maps(file, call, place);
        let written = maps.first().map(|map| write(&input, map, Choice::default()));
        let hunks = written.and_then(Result::err).unwrap_or_default();
        out.push(self.conflict(hunks, &maps));
    }
}

/// Whether the call ends lines in blanks that the file does not have, so that its new lines do, too.
fn is_padded(file: &SourceFile<'_>, call: &Call<'_>, place: &Place) -> bool {
    let has_tail = |line: &str| !line.trim().is_empty() && line.ends_with([' ', '\t']);
    let mut padded = false;
    for link in place.links.iter().filter(|link| link.is_pair() && link.ends_line(file)) {
        if has_tail(&file.text[link.bytes.clone()]) {
            return false;
        }
        padded |= has_tail(call.old[link.old.start]);
    }
    if !padded {
        return false;
    }
    // A shared line without them shows that new_str does not have the mistake.
    let shared = (0..call.new.len()).filter_map(|at| Some((at, call.partner(at)?)));
    let (mut mistaken, mut right) = (false, false);
    for (new, old) in shared {
        if has_tail(call.old[old]) {
            mistaken |= has_tail(call.new[new]);
            right |= !has_tail(call.new[new]) && !call.new[new].trim().is_empty();
        }
    }
    !right || mistaken
}

impl Reading {
    /// Whether the text may be meant at a place. A single number may belong to the text; it is a line
    /// number only if the text is at that line. And below a fence of the file, the call quotes that
    /// fence, and it is no mistake.
    fn may_stand_at(&self, file: &SourceFile<'_>, place: &Place) -> bool {
        let first = place.lines().start;
        let is_below_fence = || {
            let opens =
                |above: usize| (0..=above).filter(|&at| is_fence(file.body(at))).count() % 2 == 1;
            first.checked_sub(1).is_some_and(|above| is_fence(file.body(above)) && opens(above))
        };
        (!self.numbers_must_agree || self.first_line == Some(first + 1))
            && !(self.mistakes.contains(&Difference::CodeFence) && is_below_fence())
    }

    /// What the mistakes of this reading cost.
    pub(super) fn cost(&self) -> f64 {
        let mistakes: f64 = self.mistakes.iter().map(|mistake| mistake.cost()).sum();
        mistakes + self.surcharge
    }
}
