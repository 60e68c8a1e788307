//! Maps of indentation: from what the call has to what the file gets. Each that fits the lines at the
//! place is tried, at a price: a rule for all lines, a table where no rule explains them, and the
//! lines as they were sent. What the call then does to lines that it keeps says which is likelier: it
//! moves as few runs of lines as possible.

use std::collections::HashSet;

use super::call::{Call, Fate};
use super::costs::{AS_SENT, Difference, IRREGULAR, MOVED, ODD};
use super::fold::is_word_char;
use super::indent::{IndentRule, LevelWidths, TAB_WIDTH, depth, fit, indent_of};
use super::margin::belongs_at_margin;
use super::new_literals::{heredoc_lines, literal_lines};
use super::places::{Link, LinkKind, Place};
use super::shape::{line_of, must_hold, odd_by_itself, odd_lines};
use super::source_file::{SourceFile, line_key};

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

/// The most odd lines that count.
const MAX_ODD: u8 = 2;

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

/// A line of `old_str` and the line of the file that it is, with their indentations.
#[derive(Debug, Clone, Copy)]
struct Pair<'p> {
    old: usize,
    line: usize,
    sent: &'p str,
    there: &'p str,
    /// Whether it is inside a literal, and shows nothing of code.
    in_literal: bool,
}

impl Pair<'_> {
    /// Whether the call has its indentation as the file has it.
    fn is_right(&self) -> bool {
        self.sent == self.there
    }
}

/// The lines of a call that are paired with lines of the file, in order: the equal ones, if there are some.
fn pairs<'p>(file: &SourceFile<'p>, call: &Call<'p>, place: &Place) -> Vec<Pair<'p>> {
    let is_paired = |link: &&Link| {
        (link.is_pair() || link.kind == LinkKind::Reflowed)
            && !call.old[link.old.start].trim().is_empty()
            && link.starts_line(file)
    };
    let (mut out, mut unlike) = (Vec::new(), Vec::new());
    for link in place.links.iter().filter(is_paired) {
        let (old, line) = (link.old.start, link.lines.start);
        let is_equal = link.kind == LinkKind::Reflowed
            || !link.ends_line(file)
            || line_key(call.old[old]) == file.keys()[line];
        let in_literal = is_equal && file.begins_in_literal(line);
        let (sent, there) = (indent_of(call.old[old]), indent_of(file.body(line)));
        let pairs = if is_equal { &mut out } else { &mut unlike };
        pairs.push(Pair { old, line, sent, there, in_literal });
    }
    if out.is_empty() {
        return unlike;
    }
    // Where code shows no mistake, literals may.
    if out.iter().all(|pair| pair.in_literal || pair.is_right()) {
        out.iter_mut().for_each(|pair| pair.in_literal = false);
    }
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

/// What is known of the indentation of a line of `new_str`.
struct NewLine<'p> {
    at: usize,
    sent: &'p str,
    is_blank: bool,
    /// The indentation that `old_str` has for it.
    old: Option<&'p str>,
    /// The line of `old_str` and of the file that it is.
    pair: Option<Pair<'p>>,
    /// How many lines of `old_str` are above it.
    old_above: usize,
    /// Whether it stays as it was sent, whatever the map.
    is_unmapped: bool,
    /// Whether it is inside a literal that only `new_str` has. Nothing shows whether its white space is a
    /// part of the text, but for a docstring, where it is not.
    is_new_text: bool,
    /// What it says about whose indentation it has.
    says: Option<Frame>,
}

impl<'p> NewLine<'p> {
    /// Line `at` of `new_str`, which stays or goes as the map says.
    fn new(call: &Call<'p>, at: usize, pair: Option<Pair<'p>>, old_above: usize) -> Self {
        let (sent, is_blank) = (indent_of(call.new[at]), call.new[at].trim().is_empty());
        let says = match pair.filter(|pair| !is_blank && !pair.is_right()) {
            Some(pair) if sent == pair.sent => Some(Frame::Call),
            Some(pair) if sent == pair.there => Some(Frame::File),
            _ => None,
        };
        let old = call.partner(at).map(|old| indent_of(call.old[old]));
        let (is_unmapped, is_new_text) = (false, false);
        Self { at, sent, is_blank, old, pair, old_above, is_unmapped, is_new_text, says }
    }

    /// Whether it is as deep as in `old_str`.
    fn keeps_depth(&self) -> bool {
        self.old == Some(self.sent)
    }
}

/// The indentation of a line in `old_str`, in `new_str` and in the file.
struct Shared<'p> {
    /// The line of `new_str`.
    at: usize,
    old: &'p str,
    new: &'p str,
    there: &'p str,
}

/// The pair of a line of `old_str`.
fn pair_of<'p>(pairs: &[Pair<'p>], old: usize) -> Option<Pair<'p>> {
    let at = pairs.binary_search_by_key(&old, |pair| pair.old).ok()?;
    Some(pairs[at])
}

/// The widths of levels that a call shows, with its first lines and without them. Lines of literals show a
/// level only where those of code show none.
fn level_widths(
    file: &SourceFile<'_>,
    call: &Call<'_>,
    pairs: &[Pair<'_>],
    literals: &[(usize, usize)],
) -> [LevelWidths; 2] {
    let in_literal = |old: usize| pair_of(pairs, old).is_some_and(|pair| pair.in_literal);
    let is_code = |new: &usize| {
        literals.binary_search_by_key(new, |(at, _)| *at).is_err()
            && !call.partner(*new).is_some_and(in_literal)
    };
    let old = (0..call.old.len()).filter(|old| !in_literal(*old)).map(|old| call.old[old]);
    let new = (0..call.new.len()).filter(is_code).map(|new| call.new[new]);
    let (mut old, mut new): (Vec<&str>, Vec<&str>) = (old.collect(), new.collect());
    if !LevelWidths::new(file, &old, &new).are_shown() {
        (old, new) = (call.old.clone(), call.new.clone());
    }
    let after_first = [&old, &new].map(|lines| lines.get(1..).unwrap_or_default());
    [[&old[..], &new[..]], after_first].map(|[old, new]| LevelWidths::new(file, old, new))
}

/// The lines of a call at a place.
struct Lines<'p> {
    file: &'p SourceFile<'p>,
    call: &'p Call<'p>,
    pairs: Vec<Pair<'p>>,
    /// Those that show the indentation of code; at least one.
    code: Vec<Pair<'p>>,
    levels: LevelWidths,
    /// The rules that explain all of them, or all but the first, if that line has lost its indentation.
    rules: Vec<IndentRule>,
    lost: Option<Pair<'p>>,
    new: Vec<NewLine<'p>>,
    /// Every line that both strings have, or that is rewritten, and the outermost line of each side.
    shared: Vec<Shared<'p>>,
}

impl<'p> Lines<'p> {
    fn of(
        file: &'p SourceFile<'p>,
        call: &'p Call<'p>,
        place: &Place,
        pairs: Vec<Pair<'p>>,
    ) -> Self {
        let code: Vec<Pair<'p>> = pairs.iter().filter(|pair| !pair.in_literal).copied().collect();
        let is_inside = place.lines().all(|line| file.begins_in_literal(line));
        let above = if is_inside { "" } else { file.open_above(place.lines().start) };
        let literals = literal_lines(file, above, &call.new);
        let mut levels = level_widths(file, call, &pairs, &literals);
        if is_inside {
            levels = levels.map(LevelWidths::of_text);
        }
        let [levels, after_first] = levels;
        let fit = |pairs: &[Pair<'p>]| {
            let indents: Vec<_> = pairs.iter().map(|pair| (pair.sent, pair.there)).collect();
            fit(&indents, levels, after_first)
        };
        // Lines of a literal that all moved with the code show by how much.
        let moved = || pairs.iter().all(|pair| !pair.in_literal || !pair.is_right());
        let (rules, first_lost) = match Some(&pairs).filter(|_| moved()).map(|all| fit(all)) {
            Some((rules, false)) if !rules.is_empty() => (rules, false),
            _ => fit(&code),
        };
        let lost = first_lost.then_some(code[0]);
        let (mut new, mut old_above): (Vec<NewLine<'p>>, usize) = (Vec::new(), 0);
        for op in &call.ops {
            if let Some(at) = op.new_at() {
                let pair = call.partner(at).and_then(|old| pair_of(&pairs, old));
                new.push(NewLine::new(call, at, pair, old_above));
            }
            old_above = op.old_at().map_or(old_above, |old| old + 1);
        }
        for at in heredoc_lines(file, &call.new) {
            new[at].is_unmapped = true;
        }
        for (at, opener) in literals {
            // The white space of what is less deep than the opening line is a part of the literal.
            new[at].is_unmapped |= !is_inside && depth(new[at].sent) < depth(new[opener].sent);
            let is_new = call.partner(opener).is_none_or(|old| call.fate(old) == Fate::Changed);
            let line = call.new[opener].trim_start();
            let is_docstring = line.starts_with("\"\"\"") || line.starts_with("'''");
            new[at].is_new_text = is_new && !is_docstring && new[at].old.is_none();
        }
        // A line that the file indents otherwise shows how those around it are indented.
        for run in new.chunk_by_mut(|a, b| a.is_unmapped == b.is_unmapped) {
            if run.iter().any(|line| line.pair.is_some_and(|pair| !pair.is_right())) {
                run.iter_mut().for_each(|line| line.is_unmapped = false);
            }
        }
        let mut lines =
            Self { file, call, pairs, code, levels, rules, lost, new, shared: Vec::new() };
        lines.shared = lines.shared();
        lines.note_wrong_lines();
        lines
    }

    /// The lines of `new_str` that are not blank.
    fn full(&self) -> impl Iterator<Item = &NewLine<'p>> + Clone {
        self.new.iter().filter(|line| !line.is_blank)
    }

    /// How deep the place is where it is least deep.
    fn outermost(&self) -> usize {
        self.code.iter().map(|pair| depth(pair.there)).min().unwrap_or(0)
    }

    /// Whether a line of `new_str` says that it has this indentation.
    fn says(&self, frame: Frame) -> bool {
        self.new.iter().any(|line| line.says == Some(frame))
    }

    /// Whether a line is the first of `new_str`, and that of `old_str` has lost its indentation.
    fn is_lost(&self, line: &NewLine<'_>) -> bool {
        self.lost.is_some() && self.full().next().is_some_and(|first| first.at == line.at)
    }

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

    /// Whether the indentation takes lines that the call keeps from where `new_str` and the file have them,
    /// and only the first line, which may have lost its own, says that this is meant.
    fn takes_from_file(&self, indents: &[String]) -> bool {
        let is_taken = |line: &NewLine<'p>| {
            let pair = line.pair.filter(|pair| self.call.fate(pair.old) != Fate::Changed);
            line.says == Some(Frame::File) && pair.is_some_and(|it| it.there != indents[line.at])
        };
        let mut full = self.full();
        let says = |line: &NewLine<'p>| line.says == Some(Frame::Call);
        full.next().is_some_and(|first| says(first) && first.pair.is_some())
            && full.clone().any(is_taken)
            && !full.any(says)
    }

    /// Whether a rule would change new lines that stay as they were sent, and of those beside them that both
    /// strings have none shows that they stay: there is none, or the rule changes none.
    fn is_torn(&self, rule: &IndentRule) -> bool {
        let changes = |line: &&NewLine<'_>| rule.apply(line.sent).as_deref() != Some(line.sent);
        // A text at the margin has no indentation to lose.
        let loses = |line: &NewLine<'_>| {
            let mapped = rule.apply(line.sent);
            !line.sent.is_empty() && mapped.is_none_or(|it| depth(&it) < depth(line.sent))
        };
        self.new.chunk_by(|a, b| a.is_unmapped == b.is_unmapped).any(|run| {
            let run = run.iter().filter(|line| line.is_unmapped);
            let (new, shared): (Vec<_>, Vec<_>) = run.partition(|line| line.old.is_none());
            if !shared.is_empty() {
                return !shared.iter().any(changes) && new.iter().any(changes);
            }
            !new.iter().all(|line| line.is_blank) && new.iter().all(|line| loses(line))
        })
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

    /// The nearest pairs above and below a line of `new_str`; above the first one, its own.
    fn neighbours(&self, line: &NewLine<'p>) -> (Option<&Pair<'p>>, Option<&Pair<'p>>) {
        let (above, rest) =
            self.pairs.split_at(self.pairs.partition_point(|pair| pair.old < line.old_above));
        let (own, below) = rest.split_at(usize::from(line.pair.is_some()));
        (above.last().or(own.first()), below.first())
    }

    /// Whether a new line goes into a literal, since the line below it begins inside one, and the lines of
    /// literals are as deep as in the file.
    fn is_in_right_literal(&self, above: Option<&Pair<'p>>, below: Option<&Pair<'p>>) -> bool {
        let near = above.filter(|pair| pair.in_literal).or(below);
        below.is_some_and(|pair| pair.in_literal)
            && near.is_some_and(Pair::is_right)
            && self.pairs.iter().all(|pair| !pair.in_literal || pair.is_right())
    }

    /// Whether a new line is as deep as the first line of `old_str` in the call and not in the result,
    /// or comes before it, so that it may have lost its indentation instead.
    fn contradicts_first(&self, line: &NewLine<'p>, indent: &str) -> bool {
        let Some(lost) = self.lost.filter(|_| !line.keeps_depth()) else { return false };
        match line.sent == lost.sent {
            true => indent != lost.there && self.code[1..].iter().all(|it| it.sent != line.sent),
            false => line.old.is_none() && self.is_lost(line),
        }
    }

    fn shared(&self) -> Vec<Shared<'p>> {
        let shared = |line: &NewLine<'p>| {
            let is_lost = |pair: &Pair<'p>| self.lost.is_some_and(|lost| lost.old == pair.old);
            let pair = line.pair.filter(|pair| !pair.in_literal && !is_lost(pair))?;
            Some(Shared { at: line.at, old: pair.sent, new: line.sent, there: pair.there })
        };
        let mut out: Vec<Shared<'p>> = self.full().filter_map(shared).collect();
        let pairs = self.code.iter().skip(usize::from(self.lost.is_some()));
        let old = pairs.clone().map(|pair| pair.sent).min_by_key(|indent| depth(indent));
        let there = pairs.map(|pair| pair.there).min_by_key(|indent| depth(indent));
        let is_code = |line: &&NewLine<'p>| !line.is_unmapped && !self.is_lost(line);
        let new = self.full().filter(is_code).min_by_key(|line| depth(line.sent));
        if let (Some(old), Some(line), Some(there)) = (old, new, there) {
            out.push(Shared { at: line.at, old, new: line.sent, there });
        }
        out
    }

    /// Notes which new lines are as deep as nothing but what `old_str` has wrongly. They say less than
    /// those that both strings have.
    fn note_wrong_lines(&mut self) {
        let of = |is_right: bool| {
            self.code.iter().filter(move |pair| pair.is_right() == is_right).map(|pair| pair.sent)
        };
        let in_new =
            self.new.iter().filter(|line| line.pair.is_some_and(|it| it.there == line.sent));
        let right: HashSet<&str> = of(true).chain(in_new.map(|line| line.sent)).collect();
        let wrong: HashSet<&str> = of(false).filter(|sent| !right.contains(sent)).collect();
        // Where what the call keeps is as the file has it, only what would leave the place is not.
        let is_kept = |line: &NewLine<'_>| line.pair.is_some_and(|pair| self.call.keeps(pair.old));
        let in_file = |line: &NewLine<'_>| line.says == Some(Frame::File) && is_kept(line);
        let is_right = self.new.iter().any(in_file) && !self.says(Frame::Call);
        let outermost = self.outermost();
        for line in self.new.iter_mut().filter(|line| !line.is_blank && line.old.is_none()) {
            if wrong.contains(line.sent) && !(is_right && depth(line.sent) >= outermost) {
                line.says = Some(Frame::Call);
            }
        }
    }

    /// What it costs that the lines of `new_str` have the indentation of these, beside the rule: the runs of
    /// lines that the call then moves, of which three count at most, and a mistake of `old_str` alone.
    fn price(&self, frames: &[Frame]) -> f64 {
        let has = |frame| self.full().any(|line| frames[line.at] == frame);
        let adds_wrong = |line: &NewLine<'_>| line.old.is_none() && line.says == Some(Frame::Call);
        let (by_call, by_file) = (has(Frame::Call), has(Frame::File));
        let is_mixed = by_call && by_file;
        // What is kept or only moved is as deep as in old_str, or not, in any case: changed lines say more.
        let fate = |pair: Pair<'_>| self.call.fate(pair.old);
        let changed_say = |frame| {
            self.new.iter().any(|line| {
                line.says == Some(frame) && line.pair.is_none_or(|pair| fate(pair) == Fate::Changed)
            })
        };
        let unlike = match by_call {
            true if by_file => 1.0,
            true if self.says(Frame::File) && !self.says(Frame::Call) => 1.0,
            true if changed_say(Frame::File) && !changed_say(Frame::Call) => 0.5,
            true => 0.0,
            false => f64::from(!self.is_as_sent() || self.new.iter().any(adds_wrong)),
        };
        let step = |shared: &Shared<'p>| match frames[shared.at] {
            Frame::Call => step(shared.old, shared.new),
            Frame::File => step(shared.there, shared.new),
        };
        // The outermost lines say nothing of lines of two kinds.
        let count = self.shared.len().saturating_sub(usize::from(is_mixed));
        let mut steps: Vec<isize> = self.shared[..count].iter().map(step).collect();
        steps.dedup();
        let runs: f64 = steps.iter().filter(|step| **step != 0).take(3).map(|_| 1.0).sum();
        // Where whose indentation it is changes, that is a move, too.
        MOVED * (runs + f64::from(is_mixed)) + AS_SENT * unlike
    }

    /// Whether the call moves all that it has, or its outermost line and with it the first or the last one,
    /// and not to where the file has it: then the two strings only begin at different depths, and nothing
    /// shows a move.
    fn moves_everything(&self) -> bool {
        // A closing mark that is not at the same end of both strings may be that of another block, as deep
        // by chance.
        let mut full = self.call.ops.iter().filter(|op| !self.call.is_blank(op));
        let ends = [full.next(), full.next_back()].map(|op| op.and_then(|op| op.new_at()));
        let is_mark = |shared: &Shared<'_>| {
            !self.call.new[shared.at].contains(is_word_char) && !ends.contains(&Some(shared.at))
        };
        let is_moved = |shared: &Shared<'_>| shared.old != shared.new && shared.new != shared.there;
        let Some((outermost, lines)) = self.shared.split_last() else { return false };
        let by = step(outermost.old, outermost.new);
        let goes_with = |line: &&Shared<'_>| is_moved(line) && step(line.old, line.new) == by;
        is_moved(outermost)
            && (lines.iter().all(|line| is_moved(line) || is_mark(line))
                || lines.first().filter(goes_with).or(lines.last().filter(goes_with)).is_some())
    }

    /// Whether the call moves a line that alone it has at a wrong depth, and not to where the file has it, or
    /// only as it moves a right line beside it.
    fn moves_wrong(&self) -> bool {
        let Some(right) = self.code.iter().find(|pair| pair.is_right()) else { return false };
        let moved_by = |pair: &Pair<'_>| match self.call.fate(pair.old) {
            Fate::Moved => Some(step(pair.sent, self.new[self.call.successor(pair.old)?].sent)),
            _ => None,
        };
        // A wrap moves all lines by a level, and mends the mistake of one.
        let unit = self.file.indent_unit().unwrap_or(TAB_WIDTH).cast_signed();
        let moves = [moved_by(right), Some(unit)];
        self.code.iter().enumerate().filter(|(_, pair)| !pair.is_right()).any(|(at, pair)| {
            let Some(by) = moved_by(pair) else { return false };
            let mends = step(pair.sent, pair.there);
            if by != mends {
                return !moves.contains(&Some(by - mends));
            }
            let mut beside = self.code.iter().take(at + 2).skip(at.saturating_sub(1));
            by != 0 && beside.any(|near| near.is_right() && moved_by(near) == Some(by))
        })
    }

    /// Whether `new_str` shows that `old_str` alone is wrong: some line is indented as in the file, and none
    /// as in `old_str`, or the first line is as deep as the file has the place, and `old_str` has not.
    fn is_as_sent(&self) -> bool {
        let is = |side: fn(&Shared<'p>) -> &'p str| {
            self.shared.iter().any(|line| line.old != line.there && line.new == side(line))
        };
        let pair = self.code[0];
        is(|line| line.there) && !is(|line| line.old)
            || !pair.is_right()
                && self.full().next().is_some_and(|first| first.sent == pair.there)
                && self.call.old[..pair.old].iter().all(|line| line.trim().is_empty())
    }

    /// The first line of `new_str`, if it is less deep than the file has the place, others are not, and
    /// none of these has the wrong depth of `old_str`.
    fn lost_first(&self) -> Option<usize> {
        let there = depth(self.code[0].there);
        let mut full = self.full();
        let first = full.next()?;
        // It begins as far from the next line as in `old_str`, whose first line has lost nothing.
        let is_even = full.clone().next().is_some_and(|second| {
            let old = first.old.zip(second.old);
            let is_shifted = |pairs: &[Pair<'_>]| {
                step(pairs[0].sent, pairs[1].sent) == step(pairs[0].there, pairs[1].there)
            };
            self.code.len() > 1
                && is_shifted(&self.code)
                && old.is_some_and(|(a, b)| step(a, b) == step(first.sent, second.sent))
        });
        (depth(first.sent) < there
            && !is_even
            && full.clone().any(|line| depth(line.sent) >= there)
            && !full.any(|line| line.says == Some(Frame::Call)))
        .then_some(first.at)
    }

    /// Charges what leaves more lines at an odd depth than another map of the place. Where each leaves
    /// many, none is right.
    fn charge_odd_lines(&self, place: &Place, maps: &mut [IndentMap]) {
        let (file, call) = (self.file, self.call);
        let there = odd_lines(file, place, place.lines().map(|at| line_of(file, at)));
        // Where the call begins inside a line, that is the line to go on from.
        let begins_inside = place.links.first().is_some_and(|link| !link.starts_line(file));
        // A new line is where the line below it begins.
        let is_literal = |line: &NewLine<'p>| {
            let below = || self.neighbours(line).1.filter(|_| line.old.is_none());
            let pair = line.pair.or_else(|| below().copied());
            line.is_unmapped || pair.is_some_and(|pair| file.begins_in_literal(pair.line))
        };
        let is_literal: Vec<bool> = self.new.iter().map(is_literal).collect();
        let more = |map: &IndentMap| {
            let lines = (0..call.new.len()).map(|at| match at {
                0 if begins_inside => line_of(file, place.lines().start),
                _ => ((!is_literal[at]).then_some(map.indents[at].as_str()), call.new[at]),
            });
            odd_lines(file, place, lines).saturating_sub(there)
        };
        let more: Vec<u8> = maps.iter().map(more).collect();
        let least = more.iter().copied().min().unwrap_or(0);
        // A call without any indentation shows no shape.
        let is_flat = call.old.iter().chain(&call.new).all(|line| indent_of(line).is_empty());
        let (own, most) = if is_flat { (0, 1) } else { (odd_by_itself(file, &call.new), MAX_ODD) };
        let is_guess = (least + there).saturating_sub(there.max(own)) >= most
            || is_flat && self.opens_block(&is_literal);
        let cheapest =
            |maps: &[IndentMap]| maps.iter().map(|map| map.price).fold(f64::INFINITY, f64::min);
        let before = cheapest(maps);
        for (map, more) in maps.iter_mut().zip(more) {
            map.price += ODD * f64::from((more - least).min(MAX_ODD));
            map.is_guess |= is_guess;
        }
        // That only says which map it is: the place as such is as likely as before.
        let rise = cheapest(maps) - before;
        maps.iter_mut().for_each(|map| map.price -= rise);
    }

    /// Whether a new line of code opens a block, and lines follow.
    fn opens_block(&self, is_literal: &[bool]) -> bool {
        let opens = |line: &NewLine<'_>| {
            let text = self.call.new[line.at].trim();
            line.old.is_none() && !is_literal[line.at] && (must_hold(text) || text.ends_with("->"))
        };
        let mut full = self.full();
        full.any(opens) && full.next().is_some()
    }

    /// Whether each new line compares to the one above it in the result as it does in `new_str`: deeper, less
    /// deep, or as deep, and what a line opens is deeper by a level, or by as much as in the call. If not,
    /// the map does not suit these lines.
    fn keeps_levels(&self, indents: &[String]) -> bool {
        let unit = self.file.indent_unit().unwrap_or(TAB_WIDTH).cast_signed();
        let full: Vec<&NewLine<'_>> = self.full().filter(|line| !line.is_unmapped).collect();
        full.windows(2).all(|pair| {
            let [above, below] = [pair[0], pair[1]];
            let sent = step(above.sent, below.sent);
            let result = step(&indents[above.at], &indents[below.at]);
            let opens = self.call.new[above.at].trim_end().ends_with(['{', '(', '[', ':']);
            let are_kept = above.keeps_depth() && below.keeps_depth();
            let keeps_order = match self.is_lost(above) {
                // It says nothing about the step to the next line, unless that is inside.
                true => !opens || below.keeps_depth() || result > 0,
                false => are_kept || sent.signum() == result.signum(),
            };
            let is_level = result == unit || self.levels.are_same_step(sent, result);
            keeps_order && (!opens || are_kept || sent <= 0 || sent == result || is_level)
        })
    }
}

/// By how many columns the second indentation is deeper.
fn step(from: &str, to: &str) -> isize {
    depth(to).cast_signed() - depth(from).cast_signed()
}
