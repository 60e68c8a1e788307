//! Maps of indentation: from what the call has to what the file gets. Each that fits the lines at the
//! place is tried, at a price: a rule for all lines, a table where no rule explains them, and the
//! lines as they were sent. What the call then does to lines that it keeps says which is likelier: it
//! moves as few runs of lines as possible.

mod judge;
mod lines;

use super::call::{Call, Fate};
use super::costs::{Difference, IRREGULAR};
use super::fold::is_word_char;
use super::indent::{IndentRule, depth, indent_of};
use super::margin::belongs_at_margin;
use super::places::{LinkKind, Place};
use super::source_file::SourceFile;
use lines::{Frame, Lines, NewLine, Pair, pairs};

/// The indentation of every line of `new_str` under one map.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct IndentMap {
    /// How it reads the call, in words; `None` for the usual way, which changes nothing.
    pub(super) how: Option<&'static str>,
    pub(super) price: f64,
    pub(super) indents: Vec<String>,
    /// Whether no line of the place shows the indentation of some new line.
    pub(super) is_guess: bool,
    /// Whether the lines that the call keeps are as deep as in `new_str`, too. It is never taken, since
    /// kept lines stay as they are, but where it fits as well, it is not clear what is meant.
    pub(super) moves_kept: bool,
}

/// Every map that fits the lines at a place.
pub(super) fn maps(file: &SourceFile<'_>, call: &Call<'_>, place: &Place) -> Vec<IndentMap> {
    let pairs = pairs(file, call, place);
    let as_sent = |is_guess| {
        let indents = call.new.iter().map(|line| indent_of(line).to_owned()).collect();
        vec![IndentMap { how: None, price: 0.0, indents, is_guess, moves_kept: false }]
    };
    if pairs.iter().all(Pair::is_right) {
        return as_sent(call.rescales() || !pairs.is_empty() && call.moves_out(0));
    }
    let lines = Lines::of(file, call, place, pairs);
    let rules = &lines.rules;
    // The lines around what was left out belong to one block only if one rule explains them.
    let is_elided = place.links.iter().any(|link| link.kind == LinkKind::Elided);
    let is_torn = is_elided && (rules.is_empty() || lines.lost.is_some_and(|lost| lost.is_right()));
    let base = if rules.is_empty() { IRREGULAR } else { Difference::Indentation.cost() };
    let map = |how, frame_of: &dyn Fn(&NewLine<'_>) -> Frame, mapped: &[String], is_guess| {
        let frames: Vec<Frame> = lines.new.iter().map(frame_of).collect();
        let (price, moves_kept) = (base + lines.price(&frames), !frames.contains(&Frame::Call));
        let indents = lines.new.iter().map(|line| match frames[line.at] {
            Frame::Call => mapped[line.at].clone(),
            Frame::File => line.sent.to_owned(),
        });
        let (indents, is_guess) = (indents.collect(), is_guess || is_torn);
        IndentMap { how: Some(how), price, indents, is_guess, moves_kept }
    };
    let mut out = Vec::new();
    for rule in rules.iter().map(Some).chain(rules.is_empty().then_some(None)) {
        let (indents, is_guess) = lines.mapped(rule);
        let is_guess = is_guess || lines.takes_from_file(&indents);
        let how = "new lines re-indented like the lines of the old text";
        out.push(map(how, &|_| Frame::Call, &indents, is_guess));
    }
    let IndentMap { indents: mapped, is_guess, .. } = out[0].clone();
    let moves_wrong = lines.moves_wrong();
    let is_guess = is_guess || moves_wrong;
    if lines.says(Frame::File) {
        let how = "kept lines as they were sent, new ones like the lines of the old text";
        let says = |line: &NewLine<'_>| line.says.unwrap_or(Frame::Call);
        out.push(map(how, &says, &mapped, is_guess));
    }
    let leaves_place = lines.full().any(|line| {
        line.old.is_none()
            && !line.is_unmapped
            && depth(line.sent) < lines.outermost()
            && !belongs_at_margin(file, call, line.at)
    });
    let how = "new lines indented as they were sent";
    let frame = |line: &NewLine<'_>| if line.keeps_depth() { Frame::Call } else { Frame::File };
    let is_wrong = |line: &NewLine<'_>| line.old.is_none() && line.says == Some(Frame::Call);
    let adds_wrong = lines.says(Frame::Call) && lines.new.iter().any(is_wrong);
    out.push(map(how, &frame, &mapped, is_guess || leaves_place || adds_wrong));
    if let Some(first) = lines.lost_first() {
        let how = "new lines indented as they were sent, but for the first";
        let mut but_first = map(how, &|_| Frame::File, &mapped, lines.code[0].is_right());
        but_first.indents[first] = lines.code[0].there.to_owned();
        out.push(but_first);
    }
    let stays = |new: usize| lines.new[new].keeps_depth();
    let leaves_wrong = |pair: &Pair<'_>| {
        let keeps = call.fate(pair.old) == Fate::Kept || !lines.is_as_sent();
        !pair.is_right() && keeps && call.successor(pair.old).is_some_and(stays)
    };
    let is_guess = moves_wrong
        || leaves_place
        || lines.code.iter().any(leaves_wrong)
        || lines.moves_everything()
        || call.rescales() && !lines.shared.iter().any(|shared| shared.new == shared.there);
    out.push(map(how, &|_| Frame::File, &mapped, is_guess));
    lines.charge_odd_lines(place, &mut out);
    // Nothing shows how wide a tab is where the file has none.
    let is_mixed = |indent: &str| indent.contains(" \t");
    let has_mixed = lines.pairs.iter().any(|pair| is_mixed(pair.sent) || is_mixed(pair.there));
    for map in out.iter_mut().filter(|_| !has_mixed) {
        map.is_guess |= lines.full().any(|line| is_mixed(&map.indents[line.at]));
    }
    out
}

impl<'p> Lines<'p> {
    /// The indentation of every line of `new_str` under a rule, and whether the place does not show some.
    fn mapped(&self, rule: Option<&IndentRule>) -> (Vec<String>, bool) {
        let (file, new) = (self.file, &self.call.new);
        // No rule of a file without them makes blanks behind tabs.
        let is_mixed = |line: &NewLine<'_>, indent: &str| {
            let goes_on = line.at > 0 && new[line.at - 1].trim_end().ends_with('\\');
            let is_aligned = goes_on || new[line.at].trim_start().starts_with('*');
            indent.contains('\t')
                && indent.contains(' ')
                && !is_aligned
                && !file.mixes_indentation()
        };
        let may_stay =
            |line: &NewLine<'_>| line.is_new_text || belongs_at_margin(file, self.call, line.at);
        // Where one of two lines is right, either may show the depth of new ones.
        let is_unclear = self.code.len() < 3 && self.lost.is_some_and(|lost| lost.is_right());
        let mut is_guess = is_unclear || rule.is_some_and(|rule| self.is_torn(rule));
        let mut indents: Vec<String> = self.new.iter().map(|line| line.sent.to_owned()).collect();
        for line in self.full() {
            let (indent, is_shown) = match line.is_unmapped {
                true => (line.sent.to_owned(), true),
                false => self.indent(line, rule),
            };
            is_guess |= !is_shown
                || indent != line.sent && (is_mixed(line, &indent) || may_stay(line))
                || self.contradicts_first(line, &indent);
            indents[line.at] = indent;
        }
        is_guess |= !self.keeps_levels(&indents) || self.moves_everything();
        (indents, is_guess)
    }

    /// The indentation that a rule gives a line of `new_str`, and whether the place shows it.
    fn indent(&self, line: &NewLine<'p>, rule: Option<&IndentRule>) -> (String, bool) {
        let sent = line.sent;
        let first = self.lost.filter(|lost| self.is_lost(line) && lost.sent == sent);
        if let Some(pair) = line.pair.filter(|_| line.keeps_depth()).or(first) {
            return (pair.there.to_owned(), first.is_none_or(|first| first.there == pair.there));
        }
        let (above, below) = self.neighbours(line);
        if self.is_in_right_literal(above, below) {
            return (sent.to_owned(), true);
        }
        if let Some(mapped) = rule.and_then(|rule| rule.apply(sent)) {
            return (mapped, true);
        }
        let mut targets = self.code.iter().filter(|pair| pair.sent == sent).map(|pair| pair.there);
        if rule.is_none()
            && let Some(target) = targets.next()
        {
            if targets.all(|other| other == target) {
                return (target.to_owned(), true);
            }
            let [above, below] = [above, below]
                .map(|near| near.filter(|near| near.sent == sent).map(|near| near.there));
            let is_shown = above.is_some() && above == below;
            return (above.or(below).unwrap_or(target).to_owned(), is_shown);
        }
        let beside = |near: &Pair<'p>| {
            if let Some(deeper) = sent.strip_prefix(near.sent) {
                let is_shown = rule.is_some()
                    || line.old.is_none() && near.is_right() && !near.sent.is_empty()
                    || self.levels.are_known(deeper);
                return Some((near.there.to_owned() + &self.levels.scale(deeper), is_shown));
            }
            let step = self.levels.scale(near.sent.strip_prefix(sent)?);
            let indent = near.there.get(..near.there.len().checked_sub(step.len())?)?;
            Some((indent.to_owned(), rule.is_some()))
        };
        let is_moved =
            |pair: &&Pair<'p>| self.call.fate(pair.old) == Fate::Moved && !pair.sent.is_empty();
        if let Some(moved) = line.pair.as_ref().filter(is_moved).and_then(beside) {
            return moved;
        }
        let below = below.and_then(beside).map(|(below, _)| below);
        match above.and_then(beside) {
            Some((above, is_shown)) => {
                let agree = below.is_none_or(|below| below == above);
                (above, is_shown && agree)
            }
            None => (below.unwrap_or_else(|| sent.to_owned()), false),
        }
    }

    /// Whether a new line goes into a literal, since the line below it begins inside one, and the lines of
    /// literals are as deep as in the file.
    fn is_in_right_literal(&self, above: Option<&Pair<'p>>, below: Option<&Pair<'p>>) -> bool {
        let near = above.filter(|pair| pair.in_literal).or(below);
        let has_words = |pair: &Pair<'p>| self.call.old[pair.old].contains(is_word_char);
        below.is_some_and(|pair| pair.in_literal)
            && near.is_some_and(Pair::is_right)
            && self.pairs.iter().all(|pair| !pair.in_literal || !has_words(pair) || pair.is_right())
    }
}
