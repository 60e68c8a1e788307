//! Decides: by class first, then by price. What is forbidden is gone; a conflict stands as stale; the
//! rest competes by cost. The cheapest result is applied if the next different one, the conflict
//! elsewhere and the reverse of the call are a margin dearer.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;
use std::rc::Rc;

use super::call::{Call, Fate};
use super::costs::{COMMENT_EVIDENCE, Difference, LOOSE_EVIDENCE, MARGIN, STALE_SHARE};
use super::escape_review::{self, EscapeReview};
use super::exact::NEAR;
use super::explain::{Explanation, explain};
use super::fold::is_word_char;
use super::forbidden::{self, Forbidden};
use super::nearest::overlap;
use super::reading::Reading;
use super::source_file::{SourceFile, line_key};
use super::{Explained, Verdict, budget, escapes, exact, made, placeholder, refuse, rivals, veto};
use crate::edit::{
    EditRequest, Expected, OutcomeDiff, Refusal, Rung, Splice, apply_splices, short_diff,
};
use crate::language::TokenKind;
use crate::text::{LineEnding, LineSpan, Snapshot, merge_ranges};

/// Weighs every explanation of a call that is not in the file as it was sent.
pub(super) fn decide(
    request: &EditRequest,
    file: &SourceFile<'_>,
    readings: &[Reading],
) -> Verdict {
    let (mut found, mut forbidden, mut truncated) = (Vec::new(), Vec::new(), false);
    for reading in readings {
        let more = explain(file, &Rc::new(reading.clone()));
        found.extend(more.list);
        forbidden.extend(more.forbidden);
        truncated |= more.truncated;
    }
    // Where the language forbids the escapes of new_str as it was sent, they are no part of the text.
    if file.language.is_some_and(escape_review::forbids_escapes) {
        // The same text is the same at other places of code.
        let mut reviewed = HashMap::new();
        let mut is_clean = |e: &Explanation| {
            let Some(Splice { range, text }) = &e.splice else { return true };
            let is_code = || file.lexed().map(|it| it.kind_across(range.start) == TokenKind::Code);
            let key = escapes::has_escape(text).then(|| (text.clone(), is_code()));
            *reviewed.entry(key).or_insert_with(|| {
                let review = escape_review::review_escapes(file, range, &e.reading.old, text);
                review == EscapeReview::Fine
            })
        };
        let clean: Vec<bool> = found.iter().map(&mut is_clean).collect();
        if found.iter().zip(&clean).any(|(e, is_clean)| e.splice.is_some() && *is_clean) {
            let mut clean = clean.into_iter();
            found.retain(|_| clean.next().unwrap_or(true));
        }
    }
    // On the lines of a result that needs no other words, a conflict and a result that does are only
    // worse alignments of the same place.
    let lines_of = |is_such: fn(&Explanation) -> bool| {
        let such = found.iter().filter(|e| e.splice.is_some() && is_such(e));
        let span = |e: &Explanation| LineSpan { start: e.lines.start + 1, end: e.lines.end };
        merge_ranges(such.map(span).collect())
    };
    let (plain, written) = (lines_of(|e| !e.is_loose), lines_of(|_| true));
    // Where the blank lines at its ends stand, the call means them.
    let strips = |e: &Explanation| e.differences.contains(&Difference::OuterBlankLines);
    let has_ends = lines_of(|e| {
        let blank = [Difference::OuterBlankLines, Difference::BlankLines];
        !e.differences.iter().any(|difference| blank.contains(difference))
    });
    found.retain(|e| !strips(e) || !meets(&has_ends, &e.lines));
    found.retain(|e| match e.splice {
        Some(_) => !e.is_loose || !meets(&plain, &e.lines),
        None => e.share >= STALE_SHARE && !meets(&written, &e.lines),
    });
    // What stands inside a place that the call quotes as a whole is what it leaves of that place.
    let is_left = |made: &Explanation| {
        let is_around = |lines: &Range<usize>| {
            *lines != made.lines && lines.start <= made.lines.start && made.lines.end <= lines.end
        };
        let is_whole = |e: &&Explanation| {
            e.splice.is_some() && !e.is_loose && !e.differences.contains(&Difference::Elision)
        };
        found.iter().filter(is_whole).any(|e| is_around(&e.lines))
    };
    let made = readings.iter().flat_map(|reading| explain_reverse(file, reading, readings));
    let made = made.filter(|(_, made)| !is_left(made));
    let made = made.min_by(|a, b| a.0.total_cmp(&b.0));
    Trial { request, file, made, truncated, forbidden }.judge(found)
}

/// Whether one of these merged spans has one of these lines (from 0).
fn meets(merged: &[LineSpan], lines: &Range<usize>) -> bool {
    let at = merged.partition_point(|span| span.end <= lines.start);
    merged.get(at).is_some_and(|span| span.start <= lines.end)
}

/// The explanations that the call was made already: its reverse would apply.
fn explain_reverse(
    file: &SourceFile<'_>,
    reading: &Reading,
    readings: &[Reading],
) -> Vec<(f64, Explanation)> {
    let old_lines = || readings.iter().flat_map(|reading| reading.old.lines());
    let old: HashSet<&str> = old_lines().map(str::trim).collect();
    let is_own = |line: &&str| !line.trim().is_empty() && !old.contains(line.trim());
    let own: Vec<&str> = reading.new.lines().filter(is_own).collect();
    if reading.new.trim().is_empty() || own.is_empty() && !joins_lines(reading) {
        return Vec::new();
    }
    // If the call changes no word, only a clearly cheaper reverse counts.
    let old_keys: HashSet<u64> = old_lines().map(line_key).collect();
    let has_words =
        |line: &&str| line.contains(is_word_char) && !old_keys.contains(&line_key(line));
    let late = if own.iter().any(has_words) { 0.0 } else { MARGIN };
    let mut list = explain(file, &Rc::new(reading.reversed())).list;
    list.retain(|e| e.splice.is_some() && e.evidence >= e.cost);
    list.into_iter().map(|e| (e.cost + late, e)).collect()
}

/// Whether a call only deletes lines, between others that it keeps: then `new_str` shows where they met.
fn joins_lines(reading: &Reading) -> bool {
    let call = Call::new(&reading.old, &reading.new);
    let words = |at: &usize| call.old[*at].contains(is_word_char);
    let mut kept = (0..call.old.len()).filter(|at| call.keeps(*at) && words(at));
    let (Some(first), Some(last)) = (kept.next(), kept.next_back()) else { return false };
    (first..last).any(|at| call.fate(at) == Fate::Deleted && words(&at))
}

/// A call with its explanations before the judge.
struct Trial<'a, 't> {
    request: &'a EditRequest,
    file: &'a SourceFile<'t>,
    /// The cheapest explanation that the call was made, with its cost.
    made: Option<(f64, Explanation)>,
    /// Whether there are more places than were explained.
    truncated: bool,
    /// What is forbidden, and where.
    forbidden: Vec<(Forbidden, Range<usize>)>,
}

/// The most rivals that are checked for a broken structure; of more, the number alone refuses the call.
const MAX_VETOED: usize = 16;

/// How a result that is a guess reads the call.
const A_GUESS: &str = "a guess that nothing in the call confirms";

/// A place that is not as it was quoted and farther from `near_line` than this is not chosen by it.
const FAR: usize = 50;

/// Whether the evidence for an explanation is strong enough.
fn is_strong(e: &Explanation) -> bool {
    let least = if e.needs_code { LOOSE_EVIDENCE } else { COMMENT_EVIDENCE };
    e.evidence >= e.cost && (!e.is_loose || e.splice.is_none() || e.evidence >= least * e.cost)
}

/// The laxest difference of an explanation.
fn laxest(explanation: &Explanation) -> Difference {
    explanation.differences.iter().copied().max().unwrap_or(Difference::LineEndings)
}

/// The refusal of a call that was made already, as an explanation shows.
fn already_made(explanation: &Explanation) -> Verdict {
    Verdict::Refused(refuse::already_applied(explanation.lines.start + 1))
}

fn sort_by_cost(found: &mut [Explanation]) {
    found.sort_by(|a, b| a.cost.total_cmp(&b.cost));
}

/// Charges conflicts for the blanks that only the call has, as the cheapest result is charged for them, if
/// more of that stands as it was quoted: such blanks are the call's mistake at any place.
fn charge_own_blanks(found: &mut [Explanation]) {
    let Some(best) = found.iter().find(|e| e.splice.is_some()) else { return };
    let (blanks, as_quoted) = (best.own_blanks, best.as_quoted);
    for e in found.iter_mut().filter(|e| e.splice.is_none() && e.as_quoted < as_quoted) {
        e.cost += blanks;
    }
    sort_by_cost(found);
}

impl Trial<'_, '_> {
    /// The verdict on a call, from all that was found.
    fn judge(self, mut found: Vec<Explanation>) -> Verdict {
        let faint: Vec<Explanation> = found.extract_if(.., |e| e.is_faint).collect();
        sort_by_cost(&mut found);
        let mut found = self.without_equal(found);
        // A result that changes nothing is no reading of the call beside a likelier one that does.
        if let Some(cost) = found.iter().find(|e| self.changes(e)).map(|e| e.cost) {
            found.retain(|e| e.cost <= cost || e.splice.is_none() || self.changes(e));
        }
        charge_own_blanks(&mut found);
        self.charge_distance(&mut found);
        let mut dropped = None;
        let mut best = loop {
            let Some(at) = found.iter().position(is_strong) else {
                return self.nothing_strong(dropped.as_ref());
            };
            if !self.breaks(&found[at]) {
                break found.swap_remove(at);
            }
            dropped = Some(found.remove(at));
        };
        found.extend(faint.into_iter().filter(|faint| rivals::fears(&best, faint)));
        let limit = rivals::limit(&best);
        let is_made = |(cost, made): &&(f64, Explanation)| {
            *cost < limit || rivals::stands_elsewhere(&best, made)
        };
        if let Some((_, made)) = self.made.as_ref().filter(is_made) {
            return already_made(made);
        }
        if best.splice.is_none() {
            return self.stale(&best);
        }
        let is_one = self.request.expected == Expected::default();
        let changed = || self.changed_where_named(&best, &found);
        if is_one && let Some(refusal) = self.named_elsewhere(&best).or_else(changed) {
            return Verdict::Refused(refusal);
        }
        // A placeholder that new_str adds in code would replace lines if it was written as it is.
        let Reading { old, new, .. } = &*best.reading;
        if let Some(placeholder) = placeholder::introduced(old, new, self.file) {
            return Verdict::Refused(refuse::omission(placeholder));
        }
        // A veto forbids, and does not choose.
        best.is_guess |= dropped.is_some_and(|d| d.cost < best.cost - MARGIN);
        sort_by_cost(&mut found);
        if !is_one || self.truncated {
            found.retain(|e| e.cost < limit || e.splice.is_some() && is_strong(e));
            found.insert(0, best);
            return self.choose_all(found);
        }
        found.retain(|e| rivals::is_rival(&best, e));
        if found.len() <= MAX_VETOED {
            found.retain(|e| !self.breaks(e));
        }
        self.choose(best, found)
    }

    /// The refusal of a call whose `near_line` is in a place that must not be taken, far from the best one.
    fn named_elsewhere(&self, best: &Explanation) -> Option<Refusal> {
        let near = self.request.near_line?.checked_sub(1)?;
        let is_far = near.saturating_add(NEAR) < best.lines.start || near >= best.lines.end + NEAR;
        let (_, named) = self.forbidden.iter().find(|(_, lines)| lines.contains(&near))?;
        let [here, there] = [&best.lines, named].map(|lines| lines.start + 1);
        is_far.then(|| refuse::closer_elsewhere(self.request, here, there))
    }

    /// The refusal of a call that could mean places, none of them near `near_line`, where it stands in part.
    fn changed_where_named(&self, best: &Explanation, others: &[Explanation]) -> Option<Refusal> {
        let is_rival = |e: &&Explanation| {
            e.splice.is_some()
                && e.cost < best.cost + 2.0 * MARGIN
                && !overlap(&e.lines, &best.lines)
        };
        let rivals = || others.iter().filter(is_rival).chain([best]);
        let is_taken = |line: usize| rivals().any(|e| e.lines.contains(&(line - 1)));
        let mut lines: Vec<usize> = rivals().map(|e| e.lines.start + 1).collect();
        lines.sort_unstable();
        lines.dedup();
        let near = self.request.near_line?;
        let is_near = near.saturating_add(NEAR) > best.lines.start && near <= best.lines.end + NEAR;
        if lines.len() < 2 && is_near {
            return None;
        }
        exact::changed_where_named(self.request, self.file, &best.reading.old, &lines, is_taken)
    }

    /// Charges what is farther from `near_line` than something else.
    fn charge_distance(&self, found: &mut [Explanation]) {
        let Some(near) = self.request.near_line else { return };
        let distance = |e: &Explanation| {
            (e.lines.start + 1).saturating_sub(near).max(near.saturating_sub(e.lines.end))
        };
        let least = found.iter().map(distance).min().unwrap_or_default();
        for e in found.iter_mut().filter(|e| distance(e) > least + NEAR) {
            e.cost += MARGIN;
        }
        sort_by_cost(found);
    }

    /// The verdict on the cheapest result and its rivals.
    fn choose(&self, best: Explanation, rivals: Vec<Explanation>) -> Verdict {
        let (mut here, elsewhere): (Vec<_>, Vec<_>) =
            rivals.into_iter().partition(|e| overlap(&e.lines, &best.lines));
        here.retain(|e| e.splice.is_some());
        if elsewhere.is_empty() {
            return self.write(best, here);
        }
        let mut all = [vec![best], here, elsewhere].concat();
        all.sort_by_key(|e| e.lines.start);
        let mut lines: Vec<usize> = all.iter().map(|e| e.lines.start + 1).collect();
        lines.dedup();
        let near = self.request.near_line.unwrap_or_default();
        let nearest = exact::nearest_to_line(self.request, &lines).map(|at| lines[at]);
        let (written, stale): (Vec<_>, Vec<_>) = all.into_iter().partition(|e| e.splice.is_some());
        let first = |list: &[Explanation]| list.first().map(|e| e.lines.start + 1);
        let (here, nearer) = (first(&written), first(&stale));
        let nearest = nearest.filter(|line| line.abs_diff(near) <= FAR);
        let mut named = written.into_iter().filter(|e| Some(e.lines.start + 1) == nearest);
        if let Some(best) = named.next() {
            return self.write(best, named.collect());
        }
        if let (Some(here), Some(nearer)) = (here, nearest.or(nearer)) {
            return Verdict::Refused(refuse::closer_elsewhere(self.request, here, nearer));
        }
        Verdict::Refused(refuse::wrong_count(self.request, &lines, false))
    }

    /// The verdict on a result at the one place, and on others there.
    fn write(&self, best: Explanation, others: Vec<Explanation>) -> Verdict {
        let (line, cause) = (best.lines.start + 1, laxest(&best));
        let is_alone = others.is_empty();
        if is_alone && !best.is_guess {
            if !self.changes(&best) {
                return Verdict::Refused(refuse::only_ignored_changes(line, cause));
            }
            let Reading { old, new, .. } = &*best.reading;
            if self.is_made_around(&best) && made::is_telling(self.file, old, new) {
                return already_made(&best);
            }
            let explained = self.explained(&best, best.splice.iter().cloned().collect());
            if !explained.is_guess {
                return Verdict::One(explained);
            }
        }
        let mut refusal =
            refuse::ambiguous(line, cause, if is_alone { 0 } else { others.len() + 1 });
        let mut outcomes = Vec::new();
        for explanation in std::iter::once(&best).chain(&others) {
            let splices: Vec<Splice> = explanation.splice.iter().cloned().collect();
            let how = match explanation.how.as_str() {
                _ if is_alone => A_GUESS,
                "" => "lines as the file writes them",
                how => how,
            };
            let diff = match self.changes(explanation) {
                true => self.short_diff(&splices),
                false => "(the file stays as it is)".to_owned(),
            };
            refusal.outcomes.push(OutcomeDiff { how: how.to_owned(), diff });
            let mut outcome = self.explained(explanation, splices);
            outcome.is_guess |= explanation.is_guess || is_alone;
            outcomes.push(outcome);
        }
        Verdict::Ambiguous { outcomes, refusal }
    }

    /// The verdict on a call that expects another number of places than one, from the cheapest
    /// explanation on: all of its places are edited, or none.
    fn choose_all(&self, found: Vec<Explanation>) -> Verdict {
        // The chosen ones by the bytes that they replace, or the lines of a conflict.
        let mut taken: BTreeMap<usize, (usize, f64)> = BTreeMap::new();
        let mut all: Vec<Explanation> = Vec::new();
        let mut is_clear = !self.truncated;
        // Other places that are as likely and have lines of a chosen one.
        let mut overlapping: Vec<usize> = Vec::new();
        for explanation in found {
            let Range { start, end } = match &explanation.splice {
                Some(splice) => splice.range.clone(),
                None => self.file.byte_range(&explanation.lines),
            };
            let before = taken.range(..end.max(start + 1)).next_back().map(|(_, before)| *before);
            let Some((_, limit)) = before.filter(|(taken_end, _)| *taken_end > start) else {
                taken.insert(start, (end, rivals::limit(&explanation)));
                all.push(explanation);
                continue;
            };
            if explanation.cost < limit {
                is_clear = false;
                if !taken.contains_key(&start) {
                    overlapping.push(explanation.lines.start + 1);
                }
            }
        }
        all.sort_by_key(|e| {
            (e.lines.start, e.splice.as_ref().map_or(0, |splice| splice.range.start))
        });
        let mut lines: Vec<usize> = all.iter().map(|e| e.lines.start + 1).collect();
        let count = lines.len();
        lines.dedup();
        let is_plain = |e: &Explanation| e.splice.is_some() && !e.is_guess && !e.is_loose;
        let splices: Vec<Splice> = all.iter().filter_map(|e| e.splice.clone()).collect();
        let overlap = splices.windows(2).any(|pair| pair[0].range.end > pair[1].range.start);
        let fits = match self.request.expected {
            Expected::All => true,
            Expected::Exactly(expected) => expected.get() == count,
        };
        let breaks = || veto::breaks_structure(self.file, &splices, &all[0].reading);
        if !is_clear || overlap || !fits || !all.iter().all(is_plain) || breaks() {
            let is_overlap = !overlapping.is_empty();
            lines.extend(overlapping);
            lines.sort_unstable();
            return Verdict::Refused(refuse::wrong_count(self.request, &lines, is_overlap));
        }
        if let Some(made) = all.iter().find(|e| self.is_made_around(e)) {
            return match count {
                1 => already_made(made),
                _ => Verdict::Refused(refuse::partly_applied(made.lines.start + 1, count)),
            };
        }
        let differences = all.iter().flat_map(|e| e.differences.iter().copied()).collect();
        let whole = Explanation { differences, ..all[0].clone() };
        let diff = self.short_diff(&splices);
        let explained = self.explained(&whole, splices);
        if !explained.is_guess {
            return Verdict::One(explained);
        }
        let mut refusal = refuse::ambiguous(lines[0], laxest(&whole), 0);
        refusal.outcomes.push(OutcomeDiff { how: A_GUESS.to_owned(), diff });
        Verdict::Ambiguous { outcomes: vec![explained], refusal }
    }

    /// The difference that splices make in the file.
    fn short_diff(&self, splices: &[Splice]) -> String {
        let after = Snapshot::from_text(apply_splices(self.file.text, splices));
        short_diff(self.file.snapshot, splices, &after)
    }

    fn is_made_around(&self, explanation: &Explanation) -> bool {
        let Reading { old, new, .. } = &*explanation.reading;
        let splice = explanation.splice.as_ref();
        splice.is_some_and(|splice| made::is_around(self.file.text, &splice.range, old, new))
    }

    /// The refusal where nothing explains the call well enough.
    fn nothing_strong(&self, dropped: Option<&Explanation>) -> Verdict {
        // A bracket, a short line or a part of one is in many places, and does not show that the call was
        // made.
        let made = self.made.as_ref().map(|(_, made)| made);
        let is_telling = |e: &&Explanation| e.evidence - e.cost >= forbidden::TELLING;
        if let Some(made) = made.filter(is_telling).filter(|e| !e.is_part) {
            return already_made(made);
        }
        if let Some(dropped) = dropped {
            let line = dropped.lines.start + 1;
            return Verdict::Refused(refuse::leaves_unclosed(line, laxest(dropped)));
        }
        let mut forbidden = self.forbidden.iter();
        if let Some((_, lines)) = forbidden.find(|(why, _)| *why == Forbidden::UnseenLinesGo) {
            return Verdict::Refused(refuse::unseen_lines_go(lines));
        }
        let mut refusal = refuse::not_found(self.request, self.file);
        let meaningful = self.forbidden.iter().find_map(|(why, _)| match why {
            Forbidden::Meaningful(difference) => Some(*difference),
            _ => None,
        });
        if let Some(difference) = meaningful.filter(|_| self.file.language.is_none()) {
            refuse::blame_unknown_language(&mut refusal, difference);
        }
        Verdict::Missing(refusal)
    }

    /// The refusal of a call whose place has changed.
    fn stale(&self, explanation: &Explanation) -> Verdict {
        Verdict::Missing(match &explanation.hunks[..] {
            [] => refuse::not_found(self.request, self.file),
            hunks => refuse::stale(self.request, self.file, &explanation.lines, hunks),
        })
    }

    /// The cheapest of the explanations with the same result, and of the conflicts at one place.
    fn without_equal(&self, found: Vec<Explanation>) -> Vec<Explanation> {
        let mut seen: HashMap<(Range<usize>, String), usize> = HashMap::new();
        let mut out: Vec<Explanation> = Vec::with_capacity(found.len());
        for explanation in found {
            let key = match &explanation.splice {
                Some(splice) => normalized(self.file.text, splice),
                None => (usize::MAX..explanation.lines.start, String::new()),
            };
            match seen.entry(key) {
                Entry::Occupied(first) => {
                    // What one explanation shows is no guess, if another one comes to the same text.
                    let first = &mut out[*first.get()];
                    first.is_guess &=
                        explanation.is_guess || explanation.cost >= first.cost + MARGIN;
                }
                Entry::Vacant(slot) => {
                    slot.insert(out.len());
                    out.push(explanation);
                }
            }
        }
        out
    }

    /// Whether an explanation changes the file.
    fn changes(&self, explanation: &Explanation) -> bool {
        explanation.splice.as_ref().is_some_and(|s| self.file.text[s.range.clone()] != s.text)
    }

    /// Whether an explanation breaks brackets, literals or indentation that file and call had whole.
    fn breaks(&self, explanation: &Explanation) -> bool {
        let splices = explanation.splice.as_slice();
        !splices.is_empty()
            && budget::spend(self.file.text.len() / 2).is_ok()
            && veto::breaks_structure(self.file, splices, &explanation.reading)
    }

    /// The edit of an explanation: rung and rewrites are read off its differences.
    fn explained(&self, explanation: &Explanation, mut splices: Vec<Splice>) -> Explained {
        let mut differences = explanation.differences.clone();
        if self.line_endings_differ(explanation) {
            differences.push(Difference::LineEndings);
        }
        differences.sort_unstable();
        differences.dedup();
        let mut out = crate::edit::Explanation::plain(match laxest(explanation) {
            Difference::Indentation if differences.contains(&Difference::LookAlikes) => {
                Rung::LookAlikesAndIndentation
            }
            laxest => laxest.rung(),
        });
        out.kept = explanation.kept.clone();
        out.rewrites = differences.iter().map(|difference| difference.rewrite()).collect();
        out.rewrites.dedup();
        let mut is_guess = false;
        // The same text at other places is the same there.
        let mut reviewed: HashMap<String, String> = HashMap::new();
        for Splice { range, text } in &mut splices {
            if let Some(same) = reviewed.get(text) {
                text.clone_from(same);
                continue;
            }
            let sent = text.clone();
            match escape_review::review_escapes(self.file, range, &explanation.reading.old, text) {
                // Only what was sent exactly is written although it looks odd in its language.
                EscapeReview::Suspicious if self.file.language.is_some() => is_guess = true,
                review => {
                    review.settle(text, &mut out);
                    // Lines that come out of an escape are not indented for the place.
                    is_guess |= differences.contains(&Difference::Indentation)
                        && text.lines().count() > sent.lines().count()
                        || escape_review::has_written_mark(self.file, range, text);
                }
            }
            reviewed.insert(sent, text.clone());
        }
        let Reading { old, new, .. } = &*explanation.reading;
        // Only what was sent exactly is written with what wraps it.
        is_guess |= exact::wrapper_warning(self.file, old, new).is_some();
        out.warnings.extend(exact::suspicious_text_warnings(self.file, old, new));
        let (old, new) = (&self.request.old, &self.request.new);
        out.warnings.extend(exact::added_blank_line_warning(old, new).map(str::to_owned));
        let explained = Explained::new(self.request, self.file, splices, out);
        Explained { is_guess, ..explained }
    }

    /// Whether call and file end their lines differently at the place.
    fn line_endings_differ(&self, explanation: &Explanation) -> bool {
        let old = &self.request.old;
        let lines = &self.file.lines()[explanation.lines.clone()];
        let other = if old.contains("\r\n") { LineEnding::Lf } else { LineEnding::CrLf };
        let lacks_last = lines.last().is_some_and(|last| last.ending == LineEnding::None);
        lines.iter().any(|line| line.ending == other) || old.ends_with('\n') && lacks_last
    }
}

/// The smallest splice with the same result; of several, the last.
fn normalized(text: &str, splice: &Splice) -> (Range<usize>, String) {
    let shared = |a: &mut dyn Iterator<Item = (char, char)>| -> usize {
        a.take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum()
    };
    let (old, new) = (&text[splice.range.clone()], splice.text.as_str());
    let head = shared(&mut old.chars().zip(new.chars()));
    let (old, new) = (&old[head..], &new[head..]);
    let tail = shared(&mut old.chars().rev().zip(new.chars().rev()));
    let (old, new) = (&old[..old.len() - tail], &new[..new.len() - tail]);
    let start = splice.range.start + head;
    let end = start + old.len();
    if old.is_empty() == new.is_empty() {
        return (start..end, new.to_owned());
    }
    // What is only added or only removed can be moved along text that repeats it.
    let moved = if old.is_empty() { new } else { old };
    let by = shared(&mut moved.chars().cycle().zip(text[end..].chars()));
    let (front, back) = moved.split_at(by % moved.len());
    let text = if old.is_empty() { [back, front].concat() } else { String::new() };
    (start + by..end + by, text)
}
