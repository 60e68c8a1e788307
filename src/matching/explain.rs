//! Explanations: a reading of the call, at a place, with a map of indentation and the differences line
//! by line. Each has a cost, and what matched is its evidence.

use std::ops::Range;
use std::rc::Rc;

use memchr::memmem;

use super::budget;
use super::call::Call;
use super::characters::CharacterMap;
use super::costs::{Difference, IRREGULAR, NUMBERS_OFF, PART};
use super::difference::difference;
use super::exact::with_file_endings;
use super::forbidden::{self, Forbidden};
use super::indent::{depth, indent_of};
use super::maps::{IndentMap, maps};
use super::places::{Edges, Place, places};
use super::reading::{Reading, StrayMark, is_fence};
use super::source_file::SourceFile;
use super::weigh::{Scales, letters};
use super::write::{Choice, Input, write};
use crate::edit::{Conflict, Kept, Splice};

/// One way to understand the call.
#[derive(Debug, Clone, Default)]
pub(super) struct Explanation {
    /// What the call writes; `None` for a conflict: the file has other text where the call changes it.
    pub(super) splice: Option<Splice>,
    /// That other text.
    pub(super) hunks: Vec<Conflict>,
    /// How surprising it is, in bits.
    pub(super) cost: f64,
    /// The part of it that is for blanks at line ends and blank lines that only the call has.
    pub(super) own_blanks: f64,
    /// How much what matched says about the place, in bits.
    pub(super) evidence: f64,
    /// The share of the text that stands there, by letters.
    pub(super) share: f64,
    /// The same of the lines that stand there as they look in the call.
    pub(super) as_quoted: f64,
    /// Whether a line of the call is missing, or stands there otherwise than with something put in.
    pub(super) has_other_text: bool,
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
    /// Whether it needs lines that the call does not show: more, or one as the call would write it.
    pub(super) needs_unseen: bool,
    /// Whether it is a conflict where so little is as quoted that only such ones have to fear it.
    pub(super) is_faint: bool,
    /// Whether it changes a part of a line that would have to stand there as it is.
    pub(super) is_part: bool,
    /// Whether nothing at the place shows some of what it writes.
    pub(super) is_guess: bool,
}

impl Explanation {
    /// An explanation by a reading, at lines that stand there as they were quoted.
    pub(super) fn of(reading: &Rc<Reading>, lines: Range<usize>) -> Self {
        let (differences, reading) = (reading.mistakes.clone(), Rc::clone(reading));
        Self { share: 1.0, as_quoted: 1.0, differences, lines, reading, ..Self::default() }
    }
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
pub(super) fn explain(file: &SourceFile<'_>, reading: &Rc<Reading>) -> Found {
    let call = Call::new(&reading.old, &reading.new);
    let mut out = Found::default();
    if reading.stray_mark.as_ref().is_some_and(|mark| belongs_to(mark, file)) {
        return out;
    }
    if !reading.is_reverse && !reading.mistakes.is_empty() && !reading.whole_lines {
        out.list = as_it_stands(file, reading);
        for plain in &mut out.list {
            // Behind its indentation, the first line shows no depth.
            let is_lost = depth(file.body(plain.lines.start)) > depth(call.old[0]);
            plain.is_guess |= call.moves_out(usize::from(is_lost));
        }
    }
    let plain: Vec<usize> = out.list.iter().map(|e| e.lines.start).collect();
    for made in out.list.extract_if(.., |e| forbidden::beside(file, &call, &e.lines)) {
        out.forbidden.push((Forbidden::AddedTwice, made.lines));
    }
    // The line break after the last line is that of a line of the file.
    let is_line = call.ends_with_newline && call.old.len() == 1;
    let has_text = |line: &str| !line.trim().is_empty();
    let (first, last) = (call.old[0], call.old[call.old.len() - 1]);
    let edges = Edges {
        may_begin_inside: !reading.whole_lines && !is_line && has_text(first),
        may_end_inside: !reading.whole_lines && !call.ends_with_newline && has_text(last),
    };
    let found = places(file, &call, edges);
    out.truncated = found.truncated;
    for place in found.list {
        if budget::spend(64 + 64 * place.links.len() + 16 * reading.new.len()).is_err() {
            break;
        }
        if !reading.may_stand_at(file, &place) || plain.contains(&place.lines().start) {
            continue;
        }
        match Scales::weigh(file, &call, &place, reading) {
            Ok(scales) => push_outcomes(&scales, &mut out.list),
            Err(why) => out.forbidden.push((why, place.lines())),
        }
    }
    let is_guess = reading.is_guess || forbidden::may_be_own(file, &call, &reading.mistakes);
    let language = file.language.map_or("", |language| language.name);
    let is_head = |line: &str| match language {
        "markdown" | "text" => false,
        "make" => line.contains(':'),
        "yaml" if line.starts_with("- ") && line.contains(": ") => true,
        "yaml" if line.trim_end_matches(['-', '+']).ends_with(['|', '>']) => true,
        _ => line.ends_with(':') && !line.starts_with('#'),
    };
    let is_lost = call.new_lost_indent() || call.empties_block(is_head);
    for explanation in &mut out.list {
        let is_deep =
            || explanation.lines.clone().any(|line| file.body(line).starts_with([' ', '\t']));
        explanation.is_guess |= is_guess || is_lost && is_deep();
    }
    out
}

/// The most places at which a reading stands byte for byte.
const MAX_PLAIN: usize = 1_000;

/// Where the text of a reading stands byte for byte, it is a plain replacement.
fn as_it_stands(file: &SourceFile<'_>, reading: &Rc<Reading>) -> Vec<Explanation> {
    let (old, new) = (reading.old.as_str(), reading.new.as_str());
    // Without its last line break, new_str would join two lines.
    if old.ends_with('\n') && !new.is_empty() && !new.ends_with('\n') {
        return Vec::new();
    }
    let bits: f64 = old.split('\n').map(|line| file.bits(line)).sum();
    let evidence = bits.max(2.0 * letters(old.split('\n')));
    let explanation = |start: usize| {
        let end = start + old.len();
        let (first, last) = (file.line_at(start), file.line_at(end.saturating_sub(1).max(start)));
        let before = &file.text[file.lines()[first].body.start..start];
        let after = &file.text[end..file.lines()[last].body.end.max(end)];
        let [begins_inside, goes_on] = [before, after].map(|text| !text.trim().is_empty());
        // Behind its indentation, the first line has lost it. Then new_str stands as it is only if its
        // first line has lost it, too, and the others have all of theirs, as those of old_str.
        let is_shallow = |line: &str| !line.trim().is_empty() && !line.starts_with(before);
        let lost_indent = !before.is_empty()
            && !begins_inside
            && (!indent_of(new).is_empty()
                || !old.contains('\n') && new.lines().skip(1).any(is_shallow));
        // What goes on behind the last line belongs to it, and not to new lines below.
        let adds_below = goes_on && old.contains('\n') && new.lines().count() > old.lines().count();
        if file.splits_name(start) || file.splits_name(end) || lost_indent || adds_below {
            return None;
        }
        let text = with_file_endings(file, start, new);
        Some(Explanation {
            splice: Some(Splice { range: start..end, text }),
            cost: reading.cost_at(first) + if begins_inside || goes_on { PART } else { 0.0 },
            evidence,
            how: reading.how.unwrap_or_default().to_owned(),
            ..Explanation::of(reading, first..last + 1)
        })
    };
    let starts = memmem::find_iter(file.text.as_bytes(), old).take(MAX_PLAIN);
    starts.filter_map(explanation).collect()
}

/// Adds the results of a place under every map and choice, or the conflict if the place has changed.
fn push_outcomes(scales: &Scales<'_>, out: &mut Vec<Explanation>) {
    let &Scales { file, call, place, ref differences, ref made, explanation: ref base, .. } =
        scales;
    let stale = |hunks, maps: &[IndentMap]| {
        let cost = scales.stale_cost(maps);
        Explanation { hunks, cost, ..base.clone() }
    };
    if scales.conflict {
        let maps = maps(file, call, place);
        let input = Input { file, call, place, differences, made, is_padded: false };
        let hunks = write(&input, &maps[0], Choice::default()).err().unwrap_or_default();
        out.push(stale(hunks, &maps));
        return;
    }
    let mut conflict = None;
    let from = out.len();
    let characters = CharacterMap::learn(file, call, place, differences);
    for (number, characters) in characters.iter().enumerate() {
        let [old, new] = [&base.reading.old, &base.reading.new].map(|text| characters.apply(text));
        let mapped = (!characters.is_empty()).then(|| Call::new(&old, &new));
        let call = mapped.as_ref().unwrap_or(call);
        let mapped_differences: Option<Vec<_>> = mapped
            .as_ref()
            .map(|call| place.links.iter().map(|link| difference(file, call, link)).collect());
        let differences = mapped_differences.as_ref().unwrap_or(differences);
        let is_padded = is_padded(file, call, place);
        let input = Input { file, call, place, differences, made, is_padded };
        for map in maps(file, call, place) {
            let mut open = Choice::default();
            for choice in Choice::ALL {
                // A choice that makes no difference leads to no other result.
                if choice.below_blank && !open.below_blank
                    || choice.marks_as_sent && !open.marks_as_sent
                {
                    continue;
                }
                let splice = match write(&input, &map, choice) {
                    Ok((splice, used)) => {
                        open = used;
                        splice
                    }
                    Err(hunks) => {
                        conflict.get_or_insert(hunks);
                        break;
                    }
                };
                let dashes = (number > 0).then_some("dashes as they were sent");
                let [blank, marks] = choice.how();
                let how = [base.reading.how, map.how, blank, marks, dashes];
                let mut explanation = Explanation {
                    splice: Some(splice),
                    how: how.into_iter().flatten().collect::<Vec<_>>().join(", "),
                    cost: base.cost + scales.loose + map.price,
                    // A line of code with other words needs a place that is plain in all else.
                    is_guess: base.is_guess
                        || map.is_guess
                        || map.price >= IRREGULAR && base.needs_code,
                    ..base.clone()
                };
                if map.how.is_some() {
                    explanation.differences.push(Difference::Indentation);
                }
                out.push(explanation);
            }
        }
    }
    if let Some(hunks) = conflict.filter(|_| out.len() == from) {
        out.push(stale(hunks, &maps(file, call, place)));
    }
}

/// Whether the call ends lines in blanks that the file does not have, so that its new lines do, too.
fn is_padded(file: &SourceFile<'_>, call: &Call<'_>, place: &Place) -> bool {
    let has_tail = |line: &str| !line.trim().is_empty() && line.ends_with([' ', '\t']);
    let pairs = place.links.iter().filter(|link| link.is_pair() && link.ends_line(file));
    let mut pairs = pairs.map(|link| (call.old[link.old.start], link.text(file)));
    if pairs.clone().any(|(_, there)| has_tail(there)) || !pairs.any(|(old, _)| has_tail(old)) {
        return false;
    }
    // A shared line without them shows that new_str does not have the mistake.
    let is_shared = |at: &usize| call.partner(*at).is_some_and(|old| has_tail(call.old[old]));
    let shared = (0..call.new.len()).filter(is_shared).map(|at| call.new[at]);
    let mut shared = shared.filter(|line| !line.trim().is_empty()).peekable();
    shared.peek().is_none() || shared.any(has_tail)
}

/// Whether a mark before or behind every line may be a part of the text: it is no code, the language
/// gives the mark a meaning, or lines of the file have it.
fn belongs_to(mark: &StrayMark, file: &SourceFile<'_>) -> bool {
    let Some(language) = file.language.filter(|language| language.is_code()) else { return true };
    let mut lines = 0..file.lines().len();
    mark.is_syntax(language) || lines.any(|at| mark.is_there(file.body(at)))
}

impl Reading {
    /// Whether the text may be meant at a place. A single number may belong to the text; it is a line
    /// number only if the text is at that line. And below a fence of the file, the call quotes that
    /// fence, and it is no mistake.
    fn may_stand_at(&self, file: &SourceFile<'_>, place: &Place) -> bool {
        let first = place.lines().start;
        let is_fence = |at: &usize| is_fence(file.body(*at));
        let is_below_fence = || {
            let above = first.checked_sub(1).filter(is_fence);
            above.is_some() && (0..first).filter(is_fence).count() % 2 == 1
        };
        (!self.numbers_must_agree || self.first_line == Some(first + 1))
            && !(self.mistakes.contains(&Difference::CodeFence) && is_below_fence())
    }

    /// What it costs at a place whose first line is `first` (from 0): copied numbers may contradict it.
    pub(super) fn cost_at(&self, first: usize) -> f64 {
        let mistakes: f64 = self.mistakes.iter().map(|mistake| mistake.cost()).sum();
        let is_off = self.first_line.is_some_and(|number| number != first + 1);
        mistakes + self.surcharge + if is_off { NUMBERS_OFF } else { 0.0 }
    }
}
