//! Explanations: a reading of the call, at a place, with a map of indentation and the differences line
//! by line. Each has a cost, and what matched is its evidence.

use std::ops::Range;
use std::rc::Rc;

use memchr::memmem;

use super::budget;
use super::call::Call;
use super::characters::CharacterMap;
use super::costs::{
    AGAIN, Difference, EDGE, EXTRA, IRREGULAR, KEPT_SHARE, LONG_QUOTE, LOST, MISSING, NUMBERS_OFF,
    PART, PLAIN_SHARE, STALE, STALE_AGAIN, STALE_SHARE,
};
use super::difference::{
    difference, has_same_characters, is_made, is_unknown_comment, other_quotes_of,
};
use super::exact::with_file_endings;
use super::fold::is_word_char;
use super::forbidden::{self, Forbidden};
use super::indent_of;
use super::maps::{IndentMap, maps};
use super::places::{Edges, LinkKind, Place, Words, places};
use super::reading::{Reading, is_fence};
use super::source_file::SourceFile;
use super::unseen;
use super::write::{Choice, ConflictHunk, Input, Written, write};
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

/// The number of characters that are not white space.
fn letters<'l>(lines: impl Iterator<Item = &'l str>) -> f64 {
    let count: usize = lines.map(|line| line.chars().filter(|c| !c.is_whitespace()).count()).sum();
    #[expect(clippy::cast_precision_loss, reason = "the length of a text")]
    let count = count as f64;
    count
}

/// What copied line numbers say about a place whose first line is `first` (from 0).
fn numbers_price(reading: &Rc<Reading>, first: usize) -> f64 {
    match reading.first_line {
        Some(number) if number != first + 1 => NUMBERS_OFF,
        _ => 0.0,
    }
}

/// The sum of the costs at a place.
#[derive(Debug, Default, Clone)]
struct Sum {
    /// What does not depend on how many lines differ in words.
    plain: f64,
    /// The part of it that is for blanks at line ends and blank lines.
    blanks: f64,
    /// What lines with other words, missing lines and lines more cost.
    loose: f64,
    /// Lines with other words.
    other_words: u32,
    /// Lines that only the call has.
    missing: u32,
    /// Lines that only the file has.
    extra: u32,
    /// Changed lines that read as the call would write them.
    made: u32,
    /// Whether some of these are no comments.
    needs_code: bool,
    /// How unlike the lines of each run of them are: what stands together was changed together.
    runs: Vec<(usize, f64)>,
    evidence: f64,
    /// The letters of the lines that match.
    matched: f64,
    /// How many lines with words match.
    matched_lines: usize,
    differences: Vec<Difference>,
}

impl Sum {
    /// Adds a difference of one line: a further one of its kind is the same habit.
    fn charge(&mut self, difference: Difference) {
        let again = self.differences.contains(&difference);
        let cost = difference.cost() * if again { AGAIN } else { 1.0 };
        self.plain += cost;
        if matches!(difference, Difference::TrailingBlanks | Difference::BlankLines) {
            self.blanks += cost;
        }
        if !again {
            self.differences.push(difference);
        }
    }

    /// Adds what a line that one side lacks, or that has other words, costs.
    /// `at` is its link.
    fn charge_loose(&mut self, at: usize, cost: f64, unlike: f64) {
        self.loose += cost;
        match self.runs.last_mut() {
            Some((last, most)) if *last + 1 == at => (*last, *most) = (at, most.max(unlike)),
            _ => self.runs.push((at, unlike)),
        }
    }

    /// Whether some line has other words, or one side lacks it.
    fn is_loose(&self) -> bool {
        self.other_words + self.missing + self.extra > 0
    }

    /// The cost of the place if a line that the call changes has changed since: what differs there was
    /// someone's edit, and not the model's mistake.
    fn stale_cost(&self, reading: f64, share: f64, maps: &[IndentMap]) -> f64 {
        let map = maps.iter().map(|map| map.price).fold(IRREGULAR, f64::min);
        let runs = self.runs.iter().map(|(_, unlike)| unlike + STALE_AGAIN);
        let further = runs.sum::<f64>() - STALE_AGAIN;
        // Where all that is left stands as it was quoted, chance does not explain it.
        let plain = self.plain - self.blanks;
        if plain + map <= reading + f64::EPSILON && share >= PLAIN_SHARE {
            return plain + STALE;
        }
        self.plain + map + STALE + further
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
    let differences: Vec<Option<Difference>> =
        place.links.iter().map(|link| difference(file, call, link)).collect();
    let lines = place.lines();
    let first_old = place.links.iter().find(|l| !l.lines.is_empty()).map_or(0, |l| l.old.start);
    let mut sum = Sum { plain: reading.cost(), ..Sum::default() };
    let number_at = lines.start.saturating_sub(first_old);
    sum.plain += numbers_price(reading, number_at);
    let read_cost = sum.plain;
    let (head, tail) = place.partial_edges(file);
    sum.plain += PART * f64::from(u8::from(head) + u8::from(tail));
    let mut kept = Vec::new();
    let mut conflict = false;
    let mut forbidden = None;
    let mut other_quotes = Vec::new();
    let paired: Vec<usize> = (0..place.links.len())
        .filter(|&at| !place.links[at].lines.is_empty() && !place.links[at].old.is_empty())
        .collect();
    let cuts_comment = |at| forbidden::cuts_comment(file, call, place, at);
    for (at, link) in place.links.iter().enumerate() {
        let is_edge = paired.first() == Some(&at) || paired.last() == Some(&at);
        let keeps = link.old.clone().all(|old| call.keeps(old));
        let blank_old = call.old[link.old.clone()].iter().all(|line| line.trim().is_empty());
        if link.kind == LinkKind::Elided {
            sum.charge(Difference::Elision);
            conflict |= !link.lines.is_empty()
                && link.old.clone().any(|old| call.fate(old) == super::call::Fate::Changed);
            continue;
        }
        if link.old.is_empty() || blank_old {
            if link.lines.is_empty() || link.lines.clone().all(|line| file.is_blank(line)) {
                if link.old.is_empty() || link.lines.is_empty() {
                    sum.charge(Difference::BlankLines);
                }
            } else {
                let is_comment = link.lines.clone().all(|line| file.is_comment(line));
                let price = if is_comment { Difference::Comment.cost() } else { EXTRA };
                sum.needs_code |= !is_comment;
                sum.charge_loose(at, price, 0.0);
                sum.extra += 1;
                sum.differences.push(Difference::Comment);
                if unseen::forbids(file, call, place, at) {
                    forbidden = Some(Forbidden::OtherWords);
                }
            }
            continue;
        }
        let evidence: f64 = call.old[link.old.clone()].iter().map(|line| file.bits(line)).sum();
        if link.lines.is_empty() {
            let is_outside = paired.first().is_some_and(|&first| at < first)
                || paired.last().is_some_and(|&last| at > last);
            let is_comment = is_unknown_comment(file, call.old[link.old.start]);
            let price = match is_comment {
                true => Difference::Comment.cost() + LOST * evidence,
                false => MISSING + LOST * evidence + if is_outside { EDGE } else { 0.0 },
            };
            let is_head = paired.first().is_some_and(|&first| at < first);
            if !is_comment && call.changes_beside(link.old.start)
                || is_comment && cuts_comment(at)
                || is_head && forbidden::other_head(file, call, place, link.old.start)
            {
                forbidden = Some(Forbidden::OtherWords);
            }
            sum.needs_code |= !is_comment;
            sum.differences.push(Difference::Comment);
            sum.charge_loose(at, price, STALE);
            sum.missing += 1;
            conflict |= !keeps;
            continue;
        }
        let difference = differences[at];
        let differs = matches!(difference, Some(Difference::Words | Difference::Comment));
        if strictness == Strictness::Call && differs && is_made(file, call, link) {
            // What the call would write stands there already.
            sum.charge_loose(at, STALE, 0.0);
            sum.other_words += 1;
            sum.made += 1;
            sum.differences.push(Difference::Comment);
            continue;
        }
        if let Some(Difference::Words | Difference::Comment) = difference {
            let (believed, found) = (call.old[link.old.start], &file.text[link.bytes.clone()]);
            let similarity = Words::of(believed).similarity(&Words::of(found));
            let price = if difference == Some(Difference::Comment) {
                Difference::Comment.cost() + LOST * evidence * (1.0 - similarity)
            } else {
                let edge = if is_edge { EDGE } else { 0.0 };
                Difference::Words.cost() + LOST * evidence + edge
            };
            sum.needs_code |= difference == Some(Difference::Words);
            sum.charge_loose(at, price, STALE * (1.0 - similarity));
            sum.other_words += 1;
            conflict |= !keeps || call.fate(link.old.start) == super::call::Fate::Moved;
            let is_code =
                difference == Some(Difference::Words) || !file.is_comment(link.lines.start);
            if is_code && (is_edge || call.changes_beside(link.old.start))
                || !is_code && cuts_comment(at)
            {
                forbidden = Some(Forbidden::OtherWords);
            }
            kept.push(Kept {
                line: link.lines.start + 1,
                believed: believed.to_owned(),
                found: (*found).to_owned(),
            });
            if !sum.differences.contains(&Difference::Comment) {
                sum.differences.push(Difference::Comment);
            }
            continue;
        }
        sum.evidence += evidence;
        sum.matched += letters(call.old[link.old.clone()].iter().copied());
        sum.matched_lines +=
            link.old.clone().filter(|&old| call.old[old].contains(is_word_char)).count();
        if let Some(difference) = difference {
            sum.charge(difference);
            if difference == Difference::Spacing && !has_same_characters(file, call, link) {
                sum.differences.push(Difference::LookAlikes);
            }
            if difference == Difference::Punctuation {
                other_quotes.extend(other_quotes_of(file, call, link));
            }
            let needs_free_form = matches!(
                difference,
                Difference::Spacing | Difference::Punctuation | Difference::Reflow
            );
            // Rows of a table are padded to be read.
            let is_row = difference == Difference::Spacing
                && file.language.is_some_and(|language| language.name == "markdown")
                && file.body(link.lines.start).trim_start().starts_with('|');
            if needs_free_form && !file.is_free_form() && !is_row {
                forbidden = Some(Forbidden::Meaningful(difference));
            }
            // Kept lines that tie the new text to the place show how loosely it may match.
            let is_shown = || {
                place.links.iter().zip(&differences).any(|(link, other)| {
                    *other == Some(difference)
                        && link
                            .old
                            .clone()
                            .all(|old| call.keeps(old) && call.old[old].contains(is_word_char))
                })
            };
            conflict |= strictness == Strictness::Reverse
                && !keeps
                && difference != Difference::TrailingBlanks
                && !is_shown();
        }
        if strictness == Strictness::Reverse && !keeps {
            conflict |= !link.starts_line(file) || !link.ends_line(file);
        }
    }
    if sum.needs_code && sum.other_words + sum.missing > 0 && sum.matched_lines < LONG_QUOTE {
        forbidden = Some(Forbidden::OtherWords);
    }
    if forbidden::quotes(file, call, &other_quotes) {
        forbidden = Some(Forbidden::Meaningful(Difference::Punctuation));
    }
    if sum.extra > 0 {
        forbidden = forbidden.or(forbidden::twice(file, call, place));
    }
    if strictness == Strictness::Call {
        forbidden = forbidden.or(forbidden::beside(file, call, place));
    }
    forbidden = forbidden::marks(file, call).or(forbidden);
    forbidden = forbidden::elision(call, place).or(forbidden);
    conflict |= forbidden::other_bracket(file, call, place);
    // Where what the call keeps has other words, the place may be the one that was meant, too.
    let share = sum.matched / letters(call.old.iter().copied()).max(1.0);
    let has_other_words = forbidden == Some(Forbidden::OtherWords);
    let is_faint = has_other_words && !conflict && share < KEPT_SHARE;
    conflict |= has_other_words && share >= STALE_SHARE;
    if let Some(why) = forbidden.filter(|_| !conflict) {
        return Err(why);
    }
    if !sum.needs_code {
        sum.evidence = sum.evidence.max(2.0 * sum.matched);
    }
    let base = Base {
        file,
        call,
        place,
        reading,
        differences: &differences,
        sum: &sum,
        read_cost,
        is_faint,
        kept: &kept,
    };
    if conflict {
        base.push_conflict(out);
    } else {
        base.push_results(out);
    }
    Ok(())
}

/// What all explanations of a reading at one place share.
struct Base<'b, 'c, 'a, 'f, 't> {
    file: &'f SourceFile<'t>,
    call: &'c Call<'a>,
    place: &'c Place,
    reading: &'b Rc<Reading>,
    differences: &'c [Option<Difference>],
    sum: &'b Sum,
    /// What reading the call in this way costs at this place.
    read_cost: f64,
    is_faint: bool,
    kept: &'b [Kept],
}

impl Base<'_, '_, '_, '_, '_> {
    /// Adds the results of every map of indentation and every other choice, or the conflict.
    fn push_results(&self, out: &mut Vec<Explanation>) {
        let Self { file, call, place, differences, sum, .. } = *self;
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
                        Written::Conflict(hunks) => {
                            conflict.get_or_insert(hunks);
                            break;
                        }
                        Written::Text { used, .. }
                            if choice.below_blank && !used.below_blank
                                || choice.marks_as_sent && !used.marks_as_sent => {}
                        Written::Text { splice, .. } => {
                            let how = [
                                self.reading.how,
                                map.how,
                                choice.how(),
                                (number > 0).then_some("dashes as they were sent"),
                            ];
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
            let mut explanation = self.explanation(Outcome::Conflict(hunks), String::new());
            let maps = maps(file, call, place);
            explanation.cost = sum.stale_cost(self.read_cost, explanation.share, &maps);
            out.push(explanation);
        }
    }

    /// Adds a result, unless it is there already for less.
    fn push(&self, splice: Splice, map: &IndentMap, how: String, out: &mut Vec<Explanation>) {
        let mut explanation = self.explanation(Outcome::Writes(splice), how);
        explanation.cost = self.sum.plain + self.sum.loose + map.price;
        // A line of code with other words needs a place that is plain in all else.
        explanation.is_guess = map.is_guess || map.price >= IRREGULAR && self.sum.needs_code;
        if !map.is_same {
            explanation.differences.push(Difference::Indentation);
        }
        out.push(explanation);
    }

    /// An explanation at this place, without its cost.
    fn explanation(&self, outcome: Outcome, how: String) -> Explanation {
        let mut differences = self.reading.mistakes.clone();
        differences.extend(&self.sum.differences);
        Explanation {
            outcome,
            cost: self.sum.plain + self.sum.loose,
            evidence: self.sum.evidence,
            share: self.sum.matched / letters(self.call.old.iter().copied()).max(1.0),
            differences,
            lines: self.place.lines(),
            reading: Rc::clone(self.reading),
            how,
            kept: self.kept.to_vec(),
            is_loose: self.sum.is_loose(),
            needs_code: self.sum.needs_code,
            needs_unseen: self.sum.extra + self.sum.made > 0,
            is_faint: self.is_faint,
            is_guess: false,
        }
    }

    /// Adds the explanation that the place has changed.
    fn push_conflict(&self, out: &mut Vec<Explanation>) {
        let Self { file, call, place, sum, .. } = *self;
        let input = Input { file, call, place, differences: self.differences, is_padded: false };
        let maps = maps(file, call, place);
        let hunks = match maps.first().map(|map| write(&input, map, Choice::ALL[0])) {
            Some(Written::Conflict(hunks)) => hunks,
            _ => Vec::new(),
        };
        let mut explanation = self.explanation(Outcome::Conflict(hunks), String::new());
        explanation.cost = sum.stale_cost(self.read_cost, explanation.share, &maps);
        out.push(explanation);
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
