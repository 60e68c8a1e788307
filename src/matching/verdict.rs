//! Decides: by class first, then by price. What is forbidden is gone; a conflict stands as stale; the
//! rest competes by cost. The cheapest result is applied if the next different one, the conflict
//! elsewhere and the reverse of the call are a margin dearer.

use super::costs::{
    COMMENT_EVIDENCE, Difference, LOOSE_EVIDENCE, LOOSE_MARGIN, MARGIN, PLAIN_SHARE, STALE_SHARE,
    THRESHOLD,
};
use super::escapes::{self, EscapeReview};
use super::exact;
use super::explain::{Explanation, Outcome, Strictness, explain};
use super::forbidden::{self, Forbidden};
use super::placeholder;
use super::rank::{Ranking, overlap, rank};
use super::reading::Reading;
use super::source_file::{SourceFile, line_key, split_lines};
use super::{Explained, Verdict, refuse, veto};
use crate::edit::{EditRequest, Expected, OutcomeDiff, Rewrite, Rung, Splice, apply_splices};
use crate::text::{LineEnding, Snapshot};
use std::collections::BTreeMap;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::rc::Rc;

/// Weighs every explanation of a call that is not in the file as it was sent.
pub(super) fn decide(
    request: &EditRequest,
    file: &SourceFile<'_>,
    readings: &[Reading],
) -> Verdict {
    let mut found: Vec<Explanation> = Vec::new();
    let mut made: Vec<(f64, Explanation)> = Vec::new();
    let mut truncated = false;
    let mut forbidden = Vec::new();
    for reading in readings {
        let reading = Rc::new(reading.clone());
        let more = explain(file, &reading, Strictness::Call);
        found.extend(more.list);
        truncated |= more.truncated;
        forbidden.extend(more.forbidden);
    }
    // Where the language forbids the escapes of new_str as it was sent, they are no part of the text.
    let is_clean = |e: &Explanation| {
        e.splice().is_none_or(|splice| {
            let Reading { old, .. } = &*e.reading;
            escapes::review_escapes(file, &splice.range, old, &splice.text) == EscapeReview::Fine
        })
    };
    let is_strict = file.language.is_some_and(escapes::forbids_escapes);
    if is_strict && found.iter().any(|e| e.splice().is_some() && is_clean(e)) {
        found.retain(is_clean);
    }
    // On the lines of a result that needs no other words, a conflict and a result that does are only
    // worse alignments of the same place.
    let plain = Spans::of(found.iter().filter(|e| e.splice().is_some() && !e.is_loose));
    let written = Spans::of(found.iter().filter(|e| e.splice().is_some()));
    found.retain(|e| match e.splice() {
        Some(_) => !e.is_loose || !plain.meet(&e.lines),
        None => e.share >= STALE_SHARE && !written.meet(&e.lines),
    });
    for reading in readings {
        made.extend(explain_reverse(file, reading, readings));
    }
    let trial = Trial { request, file, made: cheapest_made(made), truncated, forbidden };
    trial.judge(found)
}

/// Ranges of lines, joined where they overlap, in order.
struct Spans(Vec<Range<usize>>);

impl Spans {
    fn of<'e>(explanations: impl Iterator<Item = &'e Explanation>) -> Self {
        let mut all: Vec<Range<usize>> = explanations.map(|e| e.lines.clone()).collect();
        all.sort_by_key(|lines| lines.start);
        let mut joined: Vec<Range<usize>> = Vec::new();
        for lines in all {
            match joined.last_mut() {
                Some(last) if lines.start < last.end => last.end = last.end.max(lines.end),
                _ => joined.push(lines),
            }
        }
        Self(joined)
    }

    /// Whether one of them has a line of these.
    fn meet(&self, lines: &Range<usize>) -> bool {
        let at = self.0.partition_point(|span| span.end <= lines.start);
        self.0.get(at).is_some_and(|span| span.start < lines.end)
    }
}

/// The explanations that the call was made already: its reverse would apply.
fn explain_reverse(
    file: &SourceFile<'_>,
    reading: &Reading,
    readings: &[Reading],
) -> Vec<(f64, Explanation)> {
    if reading.new.trim().is_empty() {
        return Vec::new();
    }
    let old: HashSet<&str> = readings.iter().flat_map(|r| r.old.lines().map(str::trim)).collect();
    let is_own = |line: &&str| !line.trim().is_empty() && !old.contains(line.trim());
    let own: Vec<&str> = reading.new.lines().filter(is_own).collect();
    if own.is_empty() && !joins_lines(reading) {
        return Vec::new();
    }
    // If the call changes no word, only a clearly cheaper reverse counts.
    let old_keys: HashSet<u64> =
        readings.iter().flat_map(|r| r.old.lines().map(line_key)).collect();
    let has_words = own.iter().any(|line| {
        line.contains(super::fold::is_word_char) && !old_keys.contains(&line_key(line))
    });
    let late = if has_words { 0.0 } else { MARGIN };
    let found = explain(file, &Rc::new(reading.reversed()), Strictness::Reverse);
    found
        .list
        .into_iter()
        .filter(|e| e.splice().is_some() && e.evidence - e.cost >= THRESHOLD)
        .map(|e| (e.cost + late, e))
        .collect()
}

/// Whether a call only deletes lines, between others that it keeps: then `new_str` shows where they met.
fn joins_lines(reading: &Reading) -> bool {
    let has_words = |line: &&str| line.contains(super::fold::is_word_char);
    let call = super::call::Call::new(&reading.old, &reading.new);
    let kept: Vec<usize> =
        (0..call.old.len()).filter(|&at| call.keeps(at) && has_words(&call.old[at])).collect();
    let (Some(first), Some(last)) = (kept.first(), kept.last()) else { return false };
    (*first..*last)
        .any(|at| call.fate(at) == super::call::Fate::Deleted && has_words(&call.old[at]))
}

/// The cheapest explanation that the call was made.
fn cheapest_made(made: Vec<(f64, Explanation)>) -> Option<(f64, Explanation)> {
    made.into_iter().min_by(|a, b| a.0.total_cmp(&b.0))
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

/// A place that is not as it was quoted and farther from `near_line` than this is not chosen by it.
const FAR: usize = 50;

/// How many lines farther from `near_line` is as near.
const NEAR: usize = 3;

/// The most offsets of `old_str` in `new_str` that are compared with the file.
const MAX_OFFSETS: usize = 16;

/// What must lie between an explanation and its rivals.
fn margin(explanation: &Explanation) -> f64 {
    if explanation.is_loose { LOOSE_MARGIN } else { MARGIN }
}

/// How many times its cost the evidence for an explanation must be if it is loose.
fn loose_evidence(explanation: &Explanation) -> f64 {
    if explanation.needs_code { LOOSE_EVIDENCE } else { COMMENT_EVIDENCE }
}

/// Whether the evidence for an explanation is strong enough.
fn is_strong(explanation: &Explanation) -> bool {
    explanation.evidence - explanation.cost >= THRESHOLD
        && (!explanation.is_loose
            || explanation.splice().is_none()
            || explanation.evidence >= loose_evidence(explanation) * explanation.cost)
}

impl Trial<'_, '_> {
    fn judge(self, mut found: Vec<Explanation>) -> Verdict {
        let faint: Vec<Explanation> = found.extract_if(.., |e| e.is_faint).collect();
        found.sort_by(|a, b| a.cost.total_cmp(&b.cost));
        self.drop_equal(&mut found);
        // A result that changes nothing is no reading of the call beside a likelier one that does.
        if let Some(cost) =
            found.iter().find(|e| e.splice().is_some_and(|s| self.changes(s))).map(|e| e.cost)
        {
            found.retain(|e| e.cost < cost || e.splice().is_none_or(|splice| self.changes(splice)));
        }
        self.charge_distance(&mut found);
        let mut dropped = None;
        let best = loop {
            let Some(at) = found.iter().position(is_strong) else {
                return self.nothing_strong(&found, dropped.as_ref());
            };
            if !self.breaks(&found[at]) {
                break at;
            }
            dropped = Some(found.remove(at));
        };
        let best = found.swap_remove(best);
        // What stands somewhere as it was quoted, but for what has changed since, is likelier than a twin
        // that has fewer lines so.
        let best_as_quoted = best.as_quoted;
        let is_closer = |e: &Explanation| e.as_quoted > best_as_quoted;
        let lines = best.lines.clone();
        let stands = |e: &Explanation| {
            is_closer(e) && e.as_quoted >= PLAIN_SHARE && !overlap(&e.lines, &lines)
        };
        found.extend(faint.into_iter().filter(|e| best.needs_unseen || e.cost < best.cost && is_closer(e)));
        let limit = best.cost + margin(&best);
        if let Some((cost, made)) = &self.made
            && (*cost < limit || stands(made))
            && (!made.is_part || best.splice().is_some())
        {
            return Verdict::Refused(refuse::already_applied(made.lines.start + 1));
        }
        if best.splice().is_none() {
            return self.stale(&best);
        }
        if let Some(placeholder) = self.introduced_placeholder(&best) {
            return Verdict::Refused(refuse::omission(&placeholder));
        }
        let chosen_by_veto = dropped.is_some_and(|d| d.cost < best.cost - MARGIN);
        found.sort_by(|a, b| a.cost.total_cmp(&b.cost));
        if self.request.expected != Expected::default() || self.truncated {
            found.retain(|e| e.cost < limit || e.splice().is_some() && is_strong(e));
            found.insert(0, best);
            return self.choose_all(found);
        }
        // Results at the same place differ in what is written there, not in what was quoted.
        let limit_here = best.cost + MARGIN;
        let limit_at =
            |e: &Explanation| if overlap(&e.lines, &lines) { limit_here } else { limit };
        found.retain(|e| e.cost < limit_at(e) || stands(e));
        if found.len() <= MAX_VETOED {
            found.retain(|e| !self.breaks(e));
        }
        self.choose(best, found, chosen_by_veto)
    }

    /// Charges what is farther from `near_line` than something else.
    fn charge_distance(&self, found: &mut [Explanation]) {
        let Some(near) = self.request.near_line else { return };
        let distance = |e: &Explanation| match near.saturating_sub(1) {
            at if at < e.lines.start => e.lines.start - at,
            at => at.saturating_sub(e.lines.end.saturating_sub(1)),
        };
        let least = found.iter().map(distance).min().unwrap_or_default();
        for e in found.iter_mut().filter(|e| distance(e) > least + NEAR) {
            e.cost += MARGIN;
        }
        found.sort_by(|a, b| a.cost.total_cmp(&b.cost));
    }

    /// The verdict on the cheapest result and its rivals.
    fn choose(&self, best: Explanation, rivals: Vec<Explanation>, chosen_by_veto: bool) -> Verdict {
        let (here, elsewhere): (Vec<Explanation>, Vec<Explanation>) = rivals
            .into_iter()
            .partition(|e| e.lines.start < best.lines.end && best.lines.start < e.lines.end);
        let here: Vec<Explanation> = here.into_iter().filter(|e| e.splice().is_some()).collect();
        if !elsewhere.is_empty() {
            let mut all: Vec<Explanation> =
                std::iter::once(best).chain(here).chain(elsewhere).collect();
            all.sort_by_key(|e| e.lines.start);
            let mut lines: Vec<usize> = all.iter().map(|e| e.lines.start + 1).collect();
            lines.dedup();
            let is_near = |line: &usize| {
                self.request.near_line.is_some_and(|near| line.abs_diff(near) <= FAR)
            };
            let nearest = exact::nearest_to_line(self.request, &lines).map(|at| lines[at]);
            let nearest = nearest.filter(is_near);
            if let Some(line) = nearest {
                let mut near: Vec<Explanation> = all
                    .into_iter()
                    .filter(|e| e.lines.start + 1 == line && e.splice().is_some())
                    .collect();
                if !near.is_empty() {
                    let best = near.remove(0);
                    return self.write(best, near, chosen_by_veto);
                }
            } else if let Some(stale) = all.iter().find(|e| e.splice().is_none()) {
                let here =
                    all.iter().find(|e| e.splice().is_some()).map_or(1, |e| e.lines.start + 1);
                return Verdict::Refused(refuse::closer_elsewhere(
                    self.request,
                    here,
                    stale.lines.start + 1,
                ));
            }
            return Verdict::Refused(refuse::wrong_count(self.request, &lines, false));
        }
        self.write(best, here, chosen_by_veto)
    }

    /// The verdict on a result at the one place, and on others there.
    fn write(&self, best: Explanation, others: Vec<Explanation>, chosen_by_veto: bool) -> Verdict {
        let line = best.lines.start + 1;
        let cause = self.laxest(&best);
        let splices = best.splice().cloned().into_iter().collect::<Vec<_>>();
        if others.is_empty() && !best.is_guess && !chosen_by_veto {
            if !splices.iter().any(|splice| self.changes(splice)) {
                let writes_new = splices.iter().any(|s| s.text.trim() == self.request.new.trim());
                return Verdict::Refused(match writes_new {
                    true => refuse::already_applied(line),
                    false => refuse::only_ignored_changes(line, cause),
                });
            }
            if self.is_made_around(&best) && self.is_telling(&best) {
                return Verdict::Refused(refuse::already_applied(line));
            }
            let explained = self.explained(&best, splices);
            if !explained.is_guess {
                return Verdict::One(explained);
            }
        }
        let are_guesses = others.is_empty();
        let mut refusal =
            refuse::ambiguous(line, cause, if are_guesses { 0 } else { others.len() + 1 });
        let all: Vec<Explanation> = std::iter::once(best).chain(others).collect();
        let mut outcomes = Vec::new();
        for explanation in &all {
            let Some(splice) = explanation.splice() else { continue };
            let how = match are_guesses {
                true => "a guess that nothing in the call confirms".to_owned(),
                false if explanation.how.is_empty() => "lines as the file writes them".to_owned(),
                false => explanation.how.clone(),
            };
            refusal
                .outcomes
                .push(OutcomeDiff { how, diff: self.diff(std::slice::from_ref(splice)) });
            let mut outcome = self.explained(explanation, vec![splice.clone()]);
            outcome.is_guess |= explanation.is_guess || are_guesses;
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
            let Range { start, end } = match explanation.splice() {
                Some(splice) => splice.range.clone(),
                None => self.file.byte_range(&explanation.lines),
            };
            let before = taken.range(..end.max(start + 1)).next_back().map(|(_, taken)| *taken);
            match before.filter(|(taken_end, _)| *taken_end > start) {
                Some((_, limit)) if explanation.cost >= limit => {}
                Some(_) => {
                    is_clear = false;
                    let is_taken = taken.contains_key(&start);
                    overlapping.extend((!is_taken).then_some(explanation.lines.start + 1));
                }
                None => {
                    taken.insert(start, (end, explanation.cost + margin(&explanation)));
                    all.push(explanation);
                }
            }
        }
        all.sort_by_key(|e| (e.lines.start, e.splice().map_or(0, |splice| splice.range.start)));
        let mut lines: Vec<usize> = all.iter().map(|e| e.lines.start + 1).collect();
        let count = lines.len();
        lines.dedup();
        let is_plain = |e: &Explanation| e.splice().is_some() && !e.is_guess && !e.is_loose;
        let splices: Vec<Splice> = all.iter().filter_map(|e| e.splice().cloned()).collect();
        let overlap = splices.windows(2).any(|pair| pair[0].range.end > pair[1].range.start);
        let fits = match self.request.expected {
            Expected::All => true,
            Expected::Exactly(expected) => expected.get() == count,
        };
        let breaks = || {
            let Reading { old, new, .. } = &*all[0].reading;
            veto::breaks_structure(self.file, &splices, old, new)
        };
        if !is_clear || overlap || !fits || !all.iter().all(is_plain) || breaks() {
            let is_overlap = !overlapping.is_empty();
            lines.extend(overlapping);
            lines.sort_unstable();
            return Verdict::Refused(refuse::wrong_count(self.request, &lines, is_overlap));
        }
        if let Some(made) = all.iter().find(|e| self.is_made_around(e)) {
            return Verdict::Refused(match count {
                1 => refuse::already_applied(made.lines.start + 1),
                _ => refuse::partly_applied(made.lines.start + 1, count),
            });
        }
        let mut whole = all[0].clone();
        whole.differences = all.iter().flat_map(|e| e.differences.iter().copied()).collect();
        Verdict::One(self.explained(&whole, splices))
    }

    /// Whether what `new_str` puts around `old_str` is around the place already, so that the call was
    /// probably sent before.
    fn is_made_around(&self, explanation: &Explanation) -> bool {
        fn dense(text: &str) -> impl DoubleEndedIterator<Item = char> {
            text.chars().filter(|c| !c.is_whitespace())
        }
        let Some(Splice { range, .. }) = explanation.splice() else { return false };
        let (old, new) = (explanation.reading.old.trim(), explanation.reading.new.trim());
        let (above, below) = (&self.file.text[..range.start], &self.file.text[range.end..]);
        new.match_indices(old).take(MAX_OFFSETS).any(|(at, _)| {
            let (head, tail) = (&new[..at], &new[at + old.len()..]);
            let mut before = dense(above).rev();
            let mut after = dense(below);
            !(head.trim().is_empty() && tail.trim().is_empty())
                && dense(head).rev().all(|c| before.next() == Some(c))
                && dense(tail).all(|c| after.next() == Some(c))
        })
    }

    /// Whether nobody adds the new lines of an explanation a second time.
    fn is_telling(&self, explanation: &Explanation) -> bool {
        let Reading { old, new, .. } = &*explanation.reading;
        let added = new.lines().filter(|line| !old.lines().any(|other| other == *line));
        added.map(|line| self.file.bits(line)).sum::<f64>() >= forbidden::TELLING
    }

    /// The refusal where nothing explains the call well enough.
    fn nothing_strong(&self, found: &[Explanation], dropped: Option<&Explanation>) -> Verdict {
        // A bracket, a short line or a part of one is in many places, and does not show that the call was
        // made.
        if let Some((_, made)) = &self.made
            && made.evidence - made.cost >= forbidden::TELLING
            && !made.is_part
        {
            return Verdict::Refused(refuse::already_applied(made.lines.start + 1));
        }
        if let Some(dropped) = dropped {
            return Verdict::Refused(refuse::leaves_unclosed(
                dropped.lines.start + 1,
                self.laxest(dropped),
            ));
        }
        let unseen = self.forbidden.iter().find(|(why, _)| *why == Forbidden::UnseenLinesGo);
        if let Some((_, lines)) = unseen {
            return Verdict::Refused(refuse::unseen_lines_go(lines));
        }
        if let Some(stale) =
            found.iter().find(|e| e.splice().is_none() && e.evidence > 2.0 * e.cost)
        {
            return self.stale(stale);
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
        let ranking: Ranking =
            rank(self.file, &split_lines(&self.request.old), refuse::MAX_NEAREST);
        let Outcome::Conflict(hunks) = &explanation.outcome else {
            return Verdict::Missing(refuse::not_found(self.request, self.file));
        };
        if hunks.is_empty() {
            return Verdict::Missing(refuse::not_found(self.request, self.file));
        }
        Verdict::Missing(refuse::stale(self.request, self.file, ranking, &explanation.lines, hunks))
    }

    /// Keeps the cheapest of the explanations with the same result, and of the conflicts at one place.
    fn drop_equal(&self, found: &mut Vec<Explanation>) {
        let mut seen: HashMap<(usize, usize, String), usize> = HashMap::new();
        let mut out: Vec<Explanation> = Vec::with_capacity(found.len());
        for explanation in found.drain(..) {
            let key = match &explanation.outcome {
                Outcome::Writes(splice) => {
                    let Splice { range, text } = normalized(self.file.text, splice);
                    (range.start, range.end, text)
                }
                Outcome::Conflict(_) => (usize::MAX, explanation.lines.start, String::new()),
            };
            match seen.get(&key) {
                // What one explanation shows is no guess, if another one comes to the same text.
                Some(&at) if explanation.cost < out[at].cost + MARGIN => {
                    out[at].is_guess &= explanation.is_guess;
                }
                Some(_) => {}
                None => {
                    seen.insert(key, out.len());
                    out.push(explanation);
                }
            }
        }
        *found = out;
    }

    /// Whether a splice changes the file.
    fn changes(&self, splice: &Splice) -> bool {
        self.file.text[splice.range.clone()] != splice.text
    }

    /// Whether an explanation breaks brackets, literals or indentation that file and call had whole.
    fn breaks(&self, explanation: &Explanation) -> bool {
        let Reading { old, new, .. } = &*explanation.reading;
        explanation.splice().is_some_and(|splice| {
            veto::breaks_structure(self.file, std::slice::from_ref(splice), old, new)
        })
    }

    /// The laxest difference of an explanation.
    fn laxest(&self, explanation: &Explanation) -> Difference {
        explanation.differences.iter().copied().max().unwrap_or(Difference::LineEndings)
    }

    /// A short diff of what the splices change.
    fn diff(&self, splices: &[Splice]) -> String {
        let after = apply_splices(self.file.text, splices);
        crate::edit::short_diff(self.file.snapshot, splices, &Snapshot::from_text(after))
    }

    /// A placeholder that `new_str` adds in code: written as it is, it would replace lines.
    fn introduced_placeholder(&self, best: &Explanation) -> Option<String> {
        let Reading { old, new, .. } = &*best.reading;
        placeholder::introduced(old, new, self.file).map(str::to_owned)
    }

    /// The edit of an explanation: rung and rewrites are read off its differences.
    fn explained(&self, explanation: &Explanation, mut splices: Vec<Splice>) -> Explained {
        let mut warning = None;
        let mut is_repaired = false;
        let mut is_guess = false;
        if let [splice] = &mut splices[..] {
            match escapes::review_escapes(
                self.file,
                &splice.range,
                &explanation.reading.old,
                &splice.text,
            ) {
                EscapeReview::Proven(text) => {
                    // Lines that come out of an escape are not indented for the place.
                    let is_mapped = explanation.differences.contains(&Difference::Indentation);
                    is_guess = is_mapped && text.lines().count() > splice.text.lines().count();
                    splice.text = text;
                    is_repaired = true;
                }
                // Only what was sent exactly is written although it looks odd in its language.
                EscapeReview::Suspicious if self.file.language.is_some() => is_guess = true,
                EscapeReview::Suspicious => warning = Some(escapes::ESCAPES_WARNING.to_owned()),
                EscapeReview::Fine => {}
            }
        }
        let mut differences = explanation.differences.clone();
        if self.line_endings_differ(explanation) && !differences.contains(&Difference::LineEndings)
        {
            differences.push(Difference::LineEndings);
        }
        differences.sort_unstable();
        differences.dedup();
        let has = |difference| differences.contains(&difference);
        let laxest = differences.last().copied().unwrap_or(Difference::LineEndings);
        let rung = match laxest {
            Difference::Indentation if has(Difference::LookAlikes) => {
                Rung::LookAlikesAndIndentation
            }
            laxest => laxest.rung(),
        };
        let mut out = crate::edit::Explanation::plain(rung);
        out.rewrites = differences.iter().map(|difference| difference.rewrite()).collect();
        out.rewrites.extend(is_repaired.then_some(Rewrite::UnescapeNew));
        out.rewrites.dedup();
        out.kept = explanation.kept.clone();
        out.warnings.extend(warning);
        let (old, new) = (&self.request.old, &self.request.new);
        out.warnings.extend(exact::suspicious_text_warnings(self.file, old, new));
        out.warnings.extend(exact::added_blank_line_warning(old, new));
        let explained = Explained::new(self.request, self.file, splices, out);
        Explained { is_guess, ..explained }
    }

    /// Whether call and file end their lines differently at the place.
    fn line_endings_differ(&self, explanation: &Explanation) -> bool {
        let lines = &self.file.lines()[explanation.lines.clone()];
        let has = |ending: LineEnding| lines.iter().any(|line| line.ending == ending);
        let old = &self.request.old;
        let differ = match old.contains("\r\n") {
            true => has(LineEnding::Lf),
            false => has(LineEnding::CrLf),
        };
        let lacks_last = old.ends_with('\n')
            && explanation.lines.end == self.file.lines().len()
            && lines.last().is_some_and(|last| last.ending == LineEnding::None);
        differ || lacks_last
    }
}

/// The smallest splice with the same result; of several, the last.
fn normalized(text: &str, splice: &Splice) -> Splice {
    let old = &text[splice.range.clone()];
    let new = splice.text.as_str();
    let shared = |a: &mut dyn Iterator<Item = (char, char)>| -> usize {
        a.take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum()
    };
    let head = shared(&mut old.chars().zip(new.chars()));
    let (old, new) = (&old[head..], &new[head..]);
    let tail = shared(&mut old.chars().rev().zip(new.chars().rev()));
    let (old, new) = (&old[..old.len() - tail], &new[..new.len() - tail]);
    let mut start = splice.range.start + head;
    let mut moved: std::collections::VecDeque<char> =
        if old.is_empty() { new.chars().collect() } else { old.chars().collect() };
    // What is only added or only removed can be moved along text that repeats it.
    if old.is_empty() != new.is_empty() {
        let mut after = text[start + old.len()..].chars();
        while let (Some(first), Some(next)) = (moved.front().copied(), after.next()) {
            if first != next {
                break;
            }
            moved.rotate_left(1);
            start += first.len_utf8();
        }
        let moved: String = moved.into_iter().collect();
        return match old.is_empty() {
            true => Splice { range: start..start, text: moved },
            false => Splice { range: start..start + moved.len(), text: String::new() },
        };
    }
    Splice { range: start..start + old.len(), text: new.to_owned() }
}
