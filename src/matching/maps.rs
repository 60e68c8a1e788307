//! Maps of indentation: from what the call has to what the file gets. Each that fits the lines at the
//! place is tried, at a price: a rule for all lines, a table where no rule explains them, and the
//! lines as they were sent. What the call then does to lines that it keeps says which is likelier: it
//! moves as few runs of lines as possible.

use std::cell::OnceCell;
use std::collections::HashSet;

use super::call::{Call, Fate};
use super::costs::{AS_SENT, Difference, IRREGULAR, MOVED, ODD};
use super::diff::LineOp;
use super::fold::is_word_char;
use super::indent::{IndentRule, LevelWidths, TAB_WIDTH, columns, fit};
use super::indent_of;
use super::new_literals::{lines_of_new_literals, unmapped_lines};
use super::places::{LinkKind, Place};
use super::shape::{line_of, odd_by_itself, odd_lines};
use super::source_file::SourceFile;

/// The indentation of every line of `new_str` under one map.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct IndentMap {
    /// How it reads the call, in words; `None` for the usual way.
    pub(super) how: Option<&'static str>,
    pub(super) price: f64,
    pub(super) indents: Vec<String>,
    /// Whether no line of the place shows the indentation of some new line.
    pub(super) is_guess: bool,
    /// Whether it changes nothing.
    pub(super) is_same: bool,
    /// Whether the lines that the call keeps are as deep as in `new_str`, too. It is never taken, since
    /// kept lines stay as they are, but where it fits as well, it is not clear what is meant.
    pub(super) moves_kept: bool,
}

/// The most odd lines that count.
const MAX_ODD: u8 = 2;

/// The lines of a call that are paired with lines of the file, and their indentations.
struct Pairs<'c, 'a, 'f, 't> {
    file: &'f SourceFile<'t>,
    call: &'c Call<'a>,
    /// (line of `old_str`, line of the file), those inside literals of the file left out.
    lines: Vec<(usize, usize)>,
    /// The same, inside literals.
    literal: Vec<(usize, usize)>,
    /// What each line of `new_str` says about whose indentation it has.
    says: Vec<Option<Frame>>,
    /// Whether the first line has lost its indentation.
    first_lost: bool,
    neighbours: OnceCell<Vec<(Option<usize>, Option<usize>)>>,
}

/// Every map that fits the lines at a place.
pub(super) fn maps(file: &SourceFile<'_>, call: &Call<'_>, place: &Place) -> Vec<IndentMap> {
    let as_sent: Vec<String> = call.new.iter().map(|line| indent_of(line).to_owned()).collect();
    let mut pairs = Pairs::of(file, call, place);
    let same = IndentMap {
        how: None,
        price: 0.0,
        indents: as_sent.clone(),
        is_guess: call.rescales(),
        is_same: true,
        moves_kept: false,
    };
    let indents = pairs.indents();
    if indents.iter().all(|(from, to)| from == to) {
        return vec![same];
    }
    let levels = LevelWidths::new(file, &call.old, &call.new);
    let levels_after_first = LevelWidths::new(
        file,
        call.old.get(1..).unwrap_or_default(),
        call.new.get(1..).unwrap_or_default(),
    );
    let (rules, first_lost) = fit(&indents, levels, levels_after_first);
    pairs.first_lost = first_lost;
    let first_is_right = indents[0].0 == indents[0].1;
    let begins_in_literal =
        place.lines().start < file.lines().len() && file.begins_in_literal(place.lines().start);
    let unmapped = pairs.without_shown(unmapped_lines(file, &call.new, begins_in_literal));
    let in_new_literal = lines_of_new_literals(file, call);
    let of_call = vec![Frame::Call; call.new.len()];
    let of_file = vec![Frame::File; call.new.len()];
    let mut out: Vec<IndentMap> = Vec::new();
    let mut readings: Vec<Option<&IndentRule>> = rules.iter().map(Some).collect();
    let mut base = Difference::Indentation.cost();
    if readings.is_empty() {
        readings.push(None);
        base = IRREGULAR;
    }
    for rule in readings {
        let mut is_guess = false;
        let unclear = rule.map(|rule| pairs.unlike_shared(&unmapped, rule)).unwrap_or_default();
        let mut indents = Vec::with_capacity(call.new.len());
        for at in 0..call.new.len() {
            let sent = indent_of(call.new[at]);
            let (indent, shown) = match unmapped.contains(&at) {
                true => (sent.to_owned(), true),
                false => pairs.indent(at, rule, &levels),
            };
            let is_blank = call.new[at].trim().is_empty();
            is_guess |= unclear.contains(&at);
            is_guess |= !shown && !is_blank || indent != sent && in_new_literal.contains(&at);
            is_guess |= !is_blank && indent != sent && belongs_at_margin(file, call, at);
            is_guess |= !is_blank && pairs.contradicts_first(at, &indent);
            indents.push(if is_blank { sent.to_owned() } else { indent });
        }
        is_guess |= !pairs.keeps_order(&indents, &unmapped) || pairs.moves_everything();
        // Where one of two lines is right, either may show the depth of new ones.
        is_guess |= first_lost && first_is_right && pairs.lines.len() < 3;
        let price = base + pairs.price(&of_call);
        let how = Some("new lines re-indented like the lines of the old text");
        out.push(IndentMap { how, price, indents, is_guess, is_same: false, moves_kept: false });
    }
    let mapped = out[0].clone();
    let mut mix = |how, frames: Vec<Frame>| {
        let indents = frames.iter().zip(as_sent.iter().zip(&mapped.indents));
        let indent = |(frame, (sent, mapped)): (&Frame, (&String, &String))| match frame {
            Frame::File => sent.clone(),
            Frame::Call => mapped.clone(),
        };
        let price = base + pairs.price(&frames);
        out.push(IndentMap {
            how: Some(how),
            price,
            indents: indents.map(indent).collect(),
            ..mapped
        });
    };
    let mended: Vec<Frame> = pairs.says.iter().map(|said| said.unwrap_or(Frame::Call)).collect();
    if mended.contains(&Frame::File) {
        mix("kept lines as they were sent, new ones like the lines of the old text", mended);
    }
    let frame = |at: usize| match call.partner(at) {
        Some(old) if indent_of(call.old[old]) == indent_of(call.new[at]) => Frame::Call,
        _ => Frame::File,
    };
    mix("new lines indented as they were sent", (0..call.new.len()).map(frame).collect());
    let mut sent = |how, indents, is_guess| {
        let price = base + pairs.price(&of_file);
        let how = Some(how);
        out.push(IndentMap { how, price, indents, is_guess, is_same: false, moves_kept: true });
    };
    if let Some(first) = pairs.lost_first() {
        let mut indents = as_sent.clone();
        indents[first] = indent_of(file.body(pairs.lines[0].1)).to_owned();
        sent("new lines indented as they were sent, but for the first", indents, false);
    }
    let leaves_wrong = pairs.lines.iter().any(|&(old, line)| {
        call.fate(old) == Fate::Kept && indent_of(call.old[old]) != indent_of(file.body(line))
    });
    let is_guess = leaves_wrong
        || pairs.moves_everything()
        || call.rescales() && !pairs.triples().iter().any(|t| t.new == t.file);
    sent("new lines indented as they were sent", as_sent.clone(), is_guess);
    pairs.charge_odd_lines(place, &unmapped, &mut out);
    out
}

/// Whose indentation a line of `new_str` has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Frame {
    /// That of `old_str`: as wrong as it.
    Call,
    /// That of the file: `old_str` alone is wrong.
    File,
}

/// The indentation of a line in `old_str`, in `new_str` and in the file.
#[derive(Debug, Clone, Copy)]
struct Triple<'a> {
    /// The line of `new_str`.
    at: usize,
    old: &'a str,
    new: &'a str,
    file: &'a str,
}

impl<'a, 'f, 't> Pairs<'_, 'a, 'f, 't> {
    fn of<'c>(
        file: &'f SourceFile<'t>,
        call: &'c Call<'a>,
        place: &Place,
    ) -> Pairs<'c, 'a, 'f, 't> {
        let (mut lines, mut literal, mut unlike) = (Vec::new(), Vec::new(), Vec::new());
        for link in &place.links {
            let is_paired = (link.is_pair() || link.kind == LinkKind::Reflowed)
                && !call.old[link.old.start].trim().is_empty()
                && link.starts_line(file);
            if !is_paired {
                continue;
            }
            let pair = (link.old.start, link.lines.start);
            let is_equal = link.kind == LinkKind::Reflowed
                || !link.ends_line(file)
                || super::source_file::line_key(call.old[pair.0]) == file.keys()[pair.1];
            if !is_equal {
                unlike.push(pair);
            } else if file.begins_in_literal(pair.1) {
                literal.push(pair);
            } else {
                lines.push(pair);
            }
        }
        if lines.is_empty() {
            lines = std::mem::take(if literal.is_empty() { &mut unlike } else { &mut literal });
        }
        let is_same = |pairs: &[(usize, usize)]| {
            pairs.iter().all(|&(old, line)| indent_of(call.old[old]) == indent_of(file.body(line)))
        };
        if is_same(&lines) && !is_same(&literal) {
            lines.append(&mut literal);
            lines.sort_unstable();
        }
        let mut pairs = Pairs {
            file,
            call,
            lines,
            literal,
            says: Vec::new(),
            first_lost: false,
            neighbours: OnceCell::new(),
        };
        pairs.says = pairs.say();
        pairs
    }

    /// The pairs of (indentation in the call, indentation in the file).
    fn indents(&self) -> Vec<(String, String)> {
        let indent = |&(old, line): &(usize, usize)| {
            (indent_of(self.call.old[old]).to_owned(), indent_of(self.file.body(line)).to_owned())
        };
        self.lines.iter().map(indent).collect()
    }

    /// The line of the file that line `old` of the call is paired with.
    fn line_there(&self, old: usize) -> Option<usize> {
        let find = |pairs: &[(usize, usize)]| {
            pairs.binary_search_by_key(&old, |pair| pair.0).ok().map(|at| pairs[at].1)
        };
        find(&self.lines).or_else(|| find(&self.literal))
    }

    /// Its indentation.
    fn file_indent(&self, old: usize) -> Option<&'t str> {
        self.line_there(old).map(|line| indent_of(self.file.body(line)))
    }

    /// The lines without the runs of which the file has a line, too, and indents it otherwise: that shows
    /// how the others are indented.
    fn without_shown(&self, lines: HashSet<usize>) -> HashSet<usize> {
        let is_shown = |at: &usize| {
            self.call.partner(*at).is_some_and(|old| {
                let there = self.file_indent(old);
                there.is_some_and(|there| there != indent_of(self.call.old[old]))
            })
        };
        let runs = runs(&lines);
        runs.into_iter().filter(|run| !run.iter().any(is_shown)).flatten().collect()
    }

    /// The new lines of runs of which the file has some lines, if a rule would change the new ones, but
    /// none of the others.
    fn unlike_shared(&self, lines: &HashSet<usize>, rule: &IndentRule) -> HashSet<usize> {
        let changes = |at: &usize| {
            let indent = indent_of(self.call.new[*at]);
            rule.apply(indent).as_deref() != Some(indent)
        };
        let is_shared = |at: &usize| self.call.partner(*at).is_some();
        let of_run = |run: Vec<usize>| {
            let (shared, new): (Vec<usize>, Vec<usize>) = run.into_iter().partition(is_shared);
            let says_nothing = !shared.is_empty() && !shared.iter().any(changes);
            new.into_iter().filter(|at| says_nothing && changes(at)).collect::<Vec<_>>()
        };
        runs(lines).into_iter().flat_map(of_run).collect()
    }

    /// The indentation that a rule gives line `at` of `new_str`, and whether the place shows it.
    fn indent(&self, at: usize, rule: Option<&IndentRule>, levels: &LevelWidths) -> (String, bool) {
        let sent = indent_of(self.call.new[at]);
        let partner = self.call.partner(at);
        if let Some(old) = partner
            && let Some(there) = self.file_indent(old)
            && sent == indent_of(self.call.old[old])
        {
            return (there.to_owned(), true);
        }
        if self.first_lost && self.is_first(at) && sent == indent_of(self.call.old[self.lines[0].0])
        {
            return (self.file_indent(self.lines[0].0).unwrap_or(sent).to_owned(), true);
        }
        let (above, below) = self.neighbours()[at];
        if let Some(near) = self.literal_around(above, below) {
            let (call, there) =
                (indent_of(self.call.old[near]), self.file_indent(near).unwrap_or(sent));
            let is_same = |&(old, line): &(usize, usize)| {
                !self.call.old[old].contains(is_word_char)
                    || indent_of(self.call.old[old]) == indent_of(self.file.body(line))
            };
            if call == there && self.literal.iter().all(is_same) {
                return (sent.to_owned(), true);
            }
        }
        if let Some(mapped) = rule.and_then(|rule| rule.apply(sent)) {
            return (mapped, true);
        }
        if rule.is_none() {
            let targets: Vec<(usize, &str)> = self
                .lines
                .iter()
                .skip(usize::from(self.first_lost))
                .filter(|(old, _)| indent_of(self.call.old[*old]) == sent)
                .map(|(old, line)| (*old, indent_of(self.file.body(*line))))
                .collect();
            if let Some((_, first)) = targets.first() {
                if targets.iter().all(|(_, to)| to == first) {
                    return ((*first).to_owned(), true);
                }
                let seen = |old: Option<usize>| {
                    old.filter(|&old| indent_of(self.call.old[old]) == sent)
                        .and_then(|old| self.file_indent(old))
                };
                return match (seen(above), seen(below)) {
                    (Some(above), Some(below)) if above == below => (above.to_owned(), true),
                    (above, below) => (above.or(below).unwrap_or(first).to_owned(), false),
                };
            }
        }
        let beside = |near: usize| {
            let (call, there) =
                (indent_of(self.call.old[near]), self.file_indent(near).unwrap_or(sent));
            if let Some(deeper) = sent.strip_prefix(call) {
                return Some((format!("{there}{}", levels.scale(deeper)), true));
            }
            let step = levels.scale(call.strip_prefix(sent)?);
            let indent = there.get(..there.len().checked_sub(step.len())?)?;
            Some((indent.to_owned(), rule.is_some()))
        };
        match (above.and_then(beside), below.and_then(beside)) {
            (Some((above, shown)), Some((below, _))) => {
                let agree = above == below;
                (above, shown && agree)
            }
            (Some(above), None) => above,
            (None, Some((below, _))) => (below, false),
            (None, None) => (sent.to_owned(), false),
        }
    }

    /// Whether a new line is as deep as the first line of `old_str` in the call and not in the result,
    /// or comes before it, so that it may have lost its indentation instead.
    fn contradicts_first(&self, at: usize, indent: &str) -> bool {
        let (true, None) = (self.first_lost, self.call.partner(at)) else { return false };
        let (first, sent) = (self.lines[0].0, indent_of(self.call.new[at]));
        let before = indent_of(self.call.old[first]);
        let is_shown =
            || self.lines[1..].iter().any(|pair| indent_of(self.call.old[pair.0]) == sent);
        match sent == before {
            true => !is_shown() && self.file_indent(first).is_some_and(|there| there != indent),
            false => self.is_first(at),
        }
    }

    /// Whether line `at` is the first of `new_str` that is not blank.
    fn is_first(&self, at: usize) -> bool {
        self.call.new[..at].iter().all(|line| line.trim().is_empty())
    }

    /// The nearest paired lines of `old_str` above and below each line of `new_str`.
    fn neighbours(&self) -> &[(Option<usize>, Option<usize>)] {
        self.neighbours.get_or_init(|| {
            let sides = |op: &LineOp| {
                let (old, new) = match *op {
                    LineOp::Keep(old, new) | LineOp::Change(old, new) => (Some(old), Some(new)),
                    LineOp::Delete(old) => (Some(old), None),
                    LineOp::Insert(new) => (None, Some(new)),
                };
                (old.filter(|&old| self.line_there(old).is_some()), new)
            };
            let mut out = vec![(None, None); self.call.new.len()];
            let mut above = None;
            for (paired, new) in self.call.ops.iter().map(sides) {
                if let Some(new) = new {
                    out[new].0 = above.or(paired);
                }
                above = paired.or(above);
            }
            let mut below = None;
            for (paired, new) in self.call.ops.iter().rev().map(sides) {
                if let Some(new) = new {
                    out[new].1 = below;
                }
                below = paired.or(below);
            }
            out
        })
    }

    /// The neighbour inside the literal that a new line goes into: the line below it begins inside one.
    fn literal_around(&self, above: Option<usize>, below: Option<usize>) -> Option<usize> {
        let is_literal =
            |old: &usize| self.literal.binary_search_by_key(old, |pair| pair.0).is_ok();
        below.filter(is_literal).and(above.filter(is_literal).or(below))
    }

    /// The indentations of every line that both strings have, of every line that is rewritten, and of
    /// the outermost line of each side.
    fn triples(&self) -> Vec<Triple<'_>> {
        let first = self.lines.first().map(|pair| pair.0).filter(|_| self.first_lost);
        let mut out = Vec::new();
        for (at, line) in self.call.new.iter().enumerate() {
            let old =
                self.call.partner(at).filter(|&old| Some(old) != first && !line.trim().is_empty());
            if let Some(old) = old
                && let Ok(pair) = self.lines.binary_search_by_key(&old, |pair| pair.0)
            {
                let file = indent_of(self.file.body(self.lines[pair].1));
                out.push(Triple {
                    at,
                    old: indent_of(self.call.old[old]),
                    new: indent_of(line),
                    file,
                });
            }
        }
        fn outermost<'i>(indents: impl Iterator<Item = &'i str>) -> Option<&'i str> {
            indents.min_by_key(|indent| columns(indent, TAB_WIDTH))
        }
        let skipped = usize::from(self.first_lost && self.lines.len() > 1);
        let new = (0..self.call.new.len())
            .filter(|&at| {
                !(self.call.new[at].trim().is_empty() || self.first_lost && self.is_first(at))
            })
            .min_by_key(|&at| columns(indent_of(self.call.new[at]), TAB_WIDTH));
        let old = self.lines[skipped..].iter().map(|pair| indent_of(self.call.old[pair.0]));
        let file = self.lines[skipped..].iter().map(|pair| indent_of(self.file.body(pair.1)));
        if let (Some(old), Some(at), Some(file)) = (outermost(old), new, outermost(file)) {
            out.push(Triple { at, old, new: indent_of(self.call.new[at]), file });
        }
        out
    }

    /// What each line of `new_str` says about whose indentation it has: a line that both strings have, and
    /// `old_str` wrongly, or a new one that is as deep as nothing but what is wrong there.
    fn say(&self) -> Vec<Option<Frame>> {
        let (call, file) = (self.call, self.file);
        let (mut wrong, mut right) = (HashSet::new(), HashSet::new());
        for &(old, line) in &self.lines {
            let (sent, there) = (indent_of(call.old[old]), indent_of(file.body(line)));
            if sent == there {
                right.insert(sent)
            } else {
                wrong.insert(sent)
            };
        }
        let partner = |at: usize| {
            let old = call.partner(at)?;
            Some((indent_of(call.old[old]), self.file_indent(old)?))
        };
        let sent = |at: usize| indent_of(call.new[at]);
        let is_right = |at: &usize| partner(*at).is_some_and(|(_, there)| there == sent(*at));
        right.extend((0..call.new.len()).filter(is_right).map(sent));
        let is_full = |at: &usize| !call.new[*at].trim().is_empty();
        let shared = |at: usize| {
            let (old, there) = partner(at).filter(|(old, there)| is_full(&at) && old != there)?;
            match sent(at) {
                sent if sent == old => Some(Frame::Call),
                sent if sent == there => Some(Frame::File),
                _ => None,
            }
        };
        let mut says: Vec<Option<Frame>> = (0..call.new.len()).map(shared).collect();
        // New lines say less than these, unless they are less deep than the place, or have levels of
        // another width, so that others are as deep as in the file by chance.
        let unit = file.indent_unit();
        let is_whole = |indent: &str| unit.is_none_or(|unit| indent.len().is_multiple_of(unit));
        let is_on_grid = (0..call.new.len())
            .filter(is_full)
            .all(|at| sent(at).contains('\t') || is_whole(sent(at)));
        let is_shown =
            is_on_grid && says.contains(&Some(Frame::File)) && !says.contains(&Some(Frame::Call));
        let width = |indent: &str| columns(indent, TAB_WIDTH);
        let there = self.lines.iter().map(|pair| width(indent_of(file.body(pair.1))));
        let outermost = there.min().unwrap_or(0);
        let is_new = |at: &usize| is_full(at) && call.partner(*at).is_none();
        for at in (0..call.new.len()).filter(is_new) {
            let is_wrong = wrong.contains(sent(at)) && !right.contains(sent(at));
            if is_wrong && !(is_shown && width(sent(at)) >= outermost) {
                says[at] = Some(Frame::Call);
            }
        }
        says
    }

    /// What it costs that the lines of `new_str` have the indentation of these, beside the rule.
    fn price(&self, frames: &[Frame]) -> f64 {
        let is_full = |at: &usize| !self.call.new[*at].trim().is_empty();
        let full: Vec<usize> = (0..frames.len()).filter(is_full).collect();
        let has = |frame| full.iter().any(|&at| frames[at] == frame);
        let said = |frame| self.says.contains(&Some(frame));
        let adds_wrong =
            |&at: &usize| self.call.partner(at).is_none() && self.says[at] == Some(Frame::Call);
        let (is_unlike, is_mixed) = match (has(Frame::Call), has(Frame::File)) {
            (true, true) => (false, true),
            (false, _) => {
                let is_said = self.says_as_sent() || self.starts_as_in_file();
                (!is_said || full.iter().any(adds_wrong), false)
            }
            (true, false) => (said(Frame::File) && !said(Frame::Call), false),
        };
        // Where whose indentation it is changes, that is a move, too.
        let mixed = f64::from(u8::from(is_mixed));
        MOVED * (self.moved_runs(frames, is_mixed) + mixed)
            + AS_SENT * (f64::from(u8::from(is_unlike)) + mixed)
    }

    /// How many runs of lines the call moves, if they have the indentation of these; at most three count.
    fn moved_runs(&self, frames: &[Frame], is_mixed: bool) -> f64 {
        let (mut runs, mut before) = (0_u8, 0);
        // The outermost lines say nothing of lines of two kinds.
        let triples = self.triples();
        let count = triples.len().saturating_sub(usize::from(is_mixed));
        for triple in &triples[..count] {
            let from = match frames[triple.at] {
                Frame::Call => triple.old,
                Frame::File => triple.file,
            };
            let width = |indent: &str| columns(indent, TAB_WIDTH).cast_signed();
            let step = if from == triple.new { 0 } else { width(triple.new) - width(from) };
            runs += u8::from(step != 0 && step != before);
            before = step;
        }
        f64::from(runs.min(3))
    }

    /// Whether the call moves all that it has by the same step, and not to where the file has it: then the
    /// two strings only begin at different depths, and nothing shows a move.
    fn moves_everything(&self) -> bool {
        let width = |indent: &str| columns(indent, TAB_WIDTH).cast_signed();
        let triples = self.triples();
        let steps: Vec<isize> = triples.iter().map(|t| width(t.new) - width(t.old)).collect();
        let is_one_step = steps.iter().all(|step| *step != 0 && *step == steps[0]);
        !steps.is_empty() && is_one_step && triples.iter().all(|t| t.new != t.file)
    }

    /// Whether some line is indented in `new_str` as in the file, and none as in `old_str`.
    fn says_as_sent(&self) -> bool {
        let triples = self.triples();
        triples.iter().any(|t| t.new == t.file && t.file != t.old)
            && !triples.iter().any(|t| t.new == t.old && t.old != t.file)
    }

    /// The first line of `new_str`, if it is less deep than the file has the place, others are not, and
    /// none of these has the wrong depth of `old_str`.
    fn lost_first(&self) -> Option<usize> {
        let width = |line: &str| columns(indent_of(line), TAB_WIDTH);
        let there = width(self.file.body(self.lines.first()?.1));
        let mut full = (0..self.call.new.len()).filter(|&at| !self.call.new[at].trim().is_empty());
        let first = full.next()?;
        let others: Vec<usize> = full.collect();
        (width(self.call.new[first]) < there
            && others.iter().any(|&at| width(self.call.new[at]) >= there)
            && !others.iter().any(|&at| self.says[at] == Some(Frame::Call)))
        .then_some(first)
    }

    /// Whether the first line of `new_str` is as deep as the file has the place, and `old_str` is not.
    fn starts_as_in_file(&self) -> bool {
        let Some(&(old, line)) = self.lines.first() else { return false };
        let there = indent_of(self.file.body(line));
        let is_first = self.call.old[..old].iter().all(|line| line.trim().is_empty());
        let first = self.call.new.iter().find(|line| is_first && !line.trim().is_empty());
        first.is_some_and(|first| indent_of(first) == there)
            && indent_of(self.call.old[old]) != there
    }

    /// Charges what leaves more lines at an odd depth than another map of the place. Where each leaves
    /// many, none is right.
    fn charge_odd_lines(&self, place: &Place, unmapped: &HashSet<usize>, maps: &mut [IndentMap]) {
        let (file, call) = (self.file, self.call);
        let there = odd_lines(file, place, place.lines().map(|at| line_of(file, at)));
        // Where the call begins inside a line, that is the line to go on from.
        let begins_inside = place.links.first().is_some_and(|link| !link.starts_line(file));
        // A new line is where the line below it begins.
        let is_literal = |at: usize| {
            let old = call.partner(at).or_else(|| self.neighbours()[at].1);
            let there = old.and_then(|old| self.line_there(old));
            unmapped.contains(&at) || there.is_some_and(|line| file.begins_in_literal(line))
        };
        let more = |map: &IndentMap| {
            let lines = (0..call.new.len()).map(|at| match at {
                0 if begins_inside => line_of(file, place.lines().start),
                _ => ((!is_literal(at)).then_some(map.indents[at].as_str()), call.new[at]),
            });
            odd_lines(file, place, lines).saturating_sub(there)
        };
        let more: Vec<u8> = maps.iter().map(more).collect();
        // A call without any indentation shows no shape.
        let is_flat = call.old.iter().chain(&call.new).all(|line| indent_of(line).is_empty());
        let own = if is_flat { 0 } else { odd_by_itself(file, &call.new) };
        let most = if is_flat { 1 } else { MAX_ODD };
        let least = more.iter().copied().min().unwrap_or(0);
        let cheapest =
            |maps: &[IndentMap]| maps.iter().map(|map| map.price).fold(f64::INFINITY, f64::min);
        let before = cheapest(maps);
        for (map, more) in maps.iter_mut().zip(more) {
            map.price += ODD * f64::from((more - least).min(MAX_ODD));
            map.is_guess |= (least + there).saturating_sub(there.max(own)) >= most;
        }
        // That only says which map it is: the place as such is as likely as before.
        let rise = cheapest(maps) - before;
        maps.iter_mut().for_each(|map| map.price -= rise);
    }

    /// Whether each new line compares to its neighbours in the result as it does in `new_str`: deeper,
    /// less deep, or as deep. If not, the map does not suit these lines.
    fn keeps_order(&self, indents: &[String], unmapped: &HashSet<usize>) -> bool {
        let width = |indent: &str| columns(indent, TAB_WIDTH);
        let (mut above, mut opened): (Option<(usize, usize, bool)>, Option<usize>) = (None, None);
        for (at, indent) in indents.iter().enumerate() {
            if self.call.new[at].trim().is_empty() || unmapped.contains(&at) {
                continue;
            }
            let is_kept = self
                .call
                .partner(at)
                .is_some_and(|old| indent_of(self.call.old[old]) == indent_of(self.call.new[at]));
            let here = (width(indent_of(self.call.new[at])), width(indent), is_kept);
            if let Some((sent, result, above_is_kept)) = above
                && !(is_kept && above_is_kept)
                && sent.cmp(&here.0) != result.cmp(&here.1)
            {
                return false;
            }
            if !is_kept && opened.is_some_and(|result| result >= here.1) {
                return false;
            }
            // A first line that has lost its indentation says nothing about the step to the next, unless
            // it opens a block: then that is inside.
            let is_lost = self.first_lost && self.is_first(at);
            let opens = self.call.new[at].trim_end().ends_with(['{', '(', '[', ':']);
            opened = (is_lost && opens).then_some(here.1);
            above = Some(here).filter(|_| !is_lost);
        }
        true
    }
}

/// Lines in runs of neighbours.
fn runs(lines: &HashSet<usize>) -> Vec<Vec<usize>> {
    let mut sorted: Vec<usize> = lines.iter().copied().collect();
    sorted.sort_unstable();
    sorted.chunk_by(|a, b| a + 1 == *b).map(<[usize]>::to_vec).collect()
}

/// Whether a new line without indentation may belong at the margin of the file, whatever stands around
/// it. A line below it that the call keeps shows that it does not.
fn belongs_at_margin(file: &SourceFile<'_>, call: &Call<'_>, at: usize) -> bool {
    let (new, line) = (&call.new, call.new[at]);
    let Some(language) = file.language else { return false };
    let is_shown = || {
        (at + 1..new.len())
            .any(|below| call.partner(below).is_some() && !new[below].trim().is_empty())
    };
    let is_directive = match language.name {
        "c" | "c++" | "objective-c" | "c#" => line.starts_with('#') || is_label(line),
        // A function with a name is inside no other.
        "go" => is_label(line) || line.starts_with("func "),
        "yaml" => line.starts_with("---"),
        _ => false,
    };
    if is_directive && call.partner(at).is_none() {
        return true;
    }
    if !indent_of(line).is_empty() || call.partner(at).is_some() || is_shown() {
        return false;
    }
    let blank_above = new[..at].iter().rev().take_while(|line| line.trim().is_empty()).count();
    let word = line.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
    match language.name {
        "python" => {
            line.starts_with("if __name__")
                || blank_above >= 2
                    && (line.starts_with('@')
                        || matches!(word, "class" | "def" | "async" | "if" | "import" | "from"))
        }
        "yaml" => {
            let is_item = |line: &str| line.starts_with("- ");
            let beside_keys = || {
                (0..new.len()).any(|other| {
                    call.partner(other).is_some()
                        && indent_of(new[other]).is_empty()
                        && !is_item(new[other])
                })
            };
            match is_item(line) {
                true => beside_keys(),
                false => line.trim_end().ends_with(':'),
            }
        }
        "markdown" => line.starts_with('#'),
        "make" => line.contains(':') && !line.contains(":="),
        "ini" | "toml" => line.starts_with('['),
        _ => false,
    }
}

/// Whether a line is a label to jump to.
fn is_label(line: &str) -> bool {
    line.trim_end()
        .strip_suffix(':')
        .is_some_and(|name| !name.is_empty() && name != "default" && name.chars().all(is_word_char))
}
