//! Maps of indentation: from what the call has to what the file gets. Each that fits the lines at the
//! place is tried, at a price: a rule for all lines, a table where no rule explains them, and the
//! lines as they were sent. What the call then does to lines that it keeps says which is likelier: it
//! moves as few runs of lines as possible.

use std::collections::HashSet;

use super::call::{Call, Fate};
use super::costs::{AS_SENT, Difference, IRREGULAR, MOVED, ODD};
use super::fold::is_word_char;
use super::indent::{IndentRule, LevelWidths, TAB_WIDTH, depth, fit, indent_of};
use super::new_literals::{heredoc_lines, literal_lines};
use super::places::{Link, LinkKind, Place};
use super::shape::{first_word, is_among, leaves, line_of, odd_by_itself, odd_lines};
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
    let as_sent: Vec<String> = call.new.iter().map(|line| indent_of(line).to_owned()).collect();
    let pairs = pairs(file, call, place);
    if pairs.iter().all(|pair| pair.sent == pair.there) {
        let (indents, is_guess) = (as_sent, call.rescales());
        return vec![IndentMap { how: None, price: 0.0, indents, is_guess, moves_kept: false }];
    }
    let lines = Lines::of(file, call, place, pairs);
    let rules = &lines.rules;
    let base = if rules.is_empty() { IRREGULAR } else { Difference::Indentation.cost() };
    let map = |how, frames: Vec<Frame>, mapped: &[String], is_guess| {
        let (price, moves_kept) = (base + lines.price(&frames), !frames.contains(&Frame::Call));
        let indents = frames.iter().zip(as_sent.iter().zip(mapped));
        let indents = indents.map(|(frame, (sent, mapped))| match frame {
            Frame::Call => mapped,
            Frame::File => sent,
        });
        let indents = indents.cloned().collect();
        IndentMap { how: Some(how), price, indents, is_guess, moves_kept }
    };
    // No rule of a file without them makes blanks behind tabs.
    let is_mixed = |indent: &str| indent.contains('\t') && indent.contains(' ');
    let goes_on = |at: usize| {
        call.new[at].trim_start().starts_with('*')
            || at > 0 && call.new[at - 1].trim_end().ends_with('\\')
    };
    // Where one of two lines is right, either may show the depth of new ones.
    let is_unclear = lines.lost.is_some_and(|lost| lost.sent == lost.there) && lines.code.len() < 3;
    let mut out = Vec::new();
    for rule in rules.iter().map(Some).chain(rules.is_empty().then_some(None)) {
        let mut is_guess = is_unclear || rule.is_some_and(|rule| lines.is_torn(rule));
        let mut indents = as_sent.clone();
        for line in lines.full() {
            let (indent, is_shown) = match line.is_unmapped {
                true => (line.sent.to_owned(), true),
                false => lines.indent(line, rule),
            };
            let may_stay = || line.is_new_text || belongs_at_margin(file, call, line.at);
            is_guess |= !is_shown
                || indent != line.sent
                    && is_mixed(&indent)
                    && !goes_on(line.at)
                    && !file.mixes_indentation()
                || indent != line.sent && may_stay()
                || lines.contradicts_first(line, &indent);
            indents[line.at] = indent;
        }
        is_guess |= !lines.keeps_order(&indents)
            || !lines.opens_by_levels(&indents)
            || lines.moves_everything();
        let how = "new lines re-indented like the lines of the old text";
        out.push(map(how, vec![Frame::Call; indents.len()], &indents, is_guess));
    }
    let IndentMap { indents: mapped, is_guess, .. } = out[0].clone();
    let moves_wrong = lines.moves_wrong();
    let is_guess = is_guess || moves_wrong;
    if lines.says(Frame::File) {
        let how = "kept lines as they were sent, new ones like the lines of the old text";
        let says = lines.new.iter().map(|line| line.says.unwrap_or(Frame::Call));
        out.push(map(how, says.collect(), &mapped, is_guess));
    }
    let how = "new lines indented as they were sent";
    let frame = |line: &NewLine<'_>| if line.keeps_depth() { Frame::Call } else { Frame::File };
    out.push(map(how, lines.new.iter().map(frame).collect(), &mapped, is_guess));
    let of_file = vec![Frame::File; mapped.len()];
    if let Some(first) = lines.lost_first() {
        let how = "new lines indented as they were sent, but for the first";
        let is_guess = lines.code[0].sent == lines.code[0].there;
        let mut but_first = map(how, of_file.clone(), &mapped, is_guess);
        but_first.indents[first] = lines.code[0].there.to_owned();
        out.push(but_first);
    }
    let leaves_wrong =
        |pair: &Pair<'_>| call.fate(pair.old) == Fate::Kept && pair.sent != pair.there;
    let outermost = lines.code.iter().map(|pair| depth(pair.there)).min().unwrap_or(0);
    let leaves_place = |line: &NewLine<'_>| {
        line.old.is_none()
            && !line.is_unmapped
            && depth(line.sent) < outermost
            && !belongs_at_margin(file, call, line.at)
    };
    let is_guess = moves_wrong
        || lines.full().any(leaves_place)
        || lines.code.iter().any(leaves_wrong)
        || lines.moves_everything()
        || call.rescales() && !lines.shared.iter().any(|shared| shared.new == shared.there);
    out.push(map(how, of_file, &mapped, is_guess));
    lines.charge_odd_lines(place, &mut out);
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
    if out.iter().all(|pair| pair.in_literal || pair.sent == pair.there) {
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

impl NewLine<'_> {
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
        let indents: Vec<(&str, &str)> = code.iter().map(|pair| (pair.sent, pair.there)).collect();
        let literals = literal_lines(file, &call.new);
        let mut is_text = vec![false; call.new.len()];
        literals.iter().for_each(|(at, _)| is_text[*at] = true);
        let in_literal = |old: usize| {
            let pair = pairs.binary_search_by_key(&old, |pair| pair.old);
            pair.is_ok_and(|at| pairs[at].in_literal)
        };
        let old = (0..call.old.len()).filter(|old| !in_literal(*old)).map(|old| call.old[old]);
        let is_code = |new: &usize| !is_text[*new] && !call.partner(*new).is_some_and(in_literal);
        let new = (0..call.new.len()).filter(is_code).map(|new| call.new[new]);
        let (mut old, mut new): (Vec<&str>, Vec<&str>) = (old.collect(), new.collect());
        // Lines of literals show a level only where those of code show none.
        if !LevelWidths::new(file, &old, &new).are_shown() {
            (old, new) = (call.old.clone(), call.new.clone());
        }
        let levels = LevelWidths::new(file, &old, &new);
        let [old, new] = [&old, &new].map(|lines| lines.get(1..).unwrap_or_default());
        let (rules, first_lost) = fit(&indents, levels, LevelWidths::new(file, old, new));
        let lost = first_lost.then_some(code[0]);
        let new = call.new.iter().enumerate().map(|(at, line)| {
            let (sent, is_blank, old) = (indent_of(line), line.trim().is_empty(), call.partner(at));
            let pair = old.and_then(|old| pairs.binary_search_by_key(&old, |pair| pair.old).ok());
            let pair = pair.map(|at| pairs[at]);
            let says = match pair.filter(|pair| !is_blank && pair.sent != pair.there) {
                Some(pair) if sent == pair.sent => Some(Frame::Call),
                Some(pair) if sent == pair.there => Some(Frame::File),
                _ => None,
            };
            let old = old.map(|old| indent_of(call.old[old]));
            let (old_above, is_unmapped, is_new_text) = (0, false, false);
            NewLine { at, sent, is_blank, old, pair, old_above, is_unmapped, is_new_text, says }
        });
        let mut new: Vec<NewLine<'p>> = new.collect();
        let mut old_above = 0;
        for op in &call.ops {
            if let Some(at) = op.new_at() {
                new[at].old_above = old_above;
            }
            old_above = op.old_at().map_or(old_above, |old| old + 1);
        }
        for at in heredoc_lines(file, &call.new) {
            new[at].is_unmapped = true;
        }
        let begins_in_literal = file.begins_in_literal(place.lines().start);
        for (at, opener) in literals {
            // The white space of what is less deep than the opening line is a part of the literal.
            let is_outdented = depth(new[at].sent) < depth(new[opener].sent);
            new[at].is_unmapped |= is_outdented && !begins_in_literal;
            let is_new = call.partner(opener).is_none_or(|old| call.fate(old) == Fate::Changed);
            let line = call.new[opener].trim_start();
            let is_docstring = line.starts_with("\"\"\"") || line.starts_with("'''");
            new[at].is_new_text = is_new && !is_docstring && new[at].old.is_none();
        }
        // A line that the file indents otherwise shows how those around it are indented.
        for run in new.chunk_by_mut(|a, b| a.is_unmapped == b.is_unmapped) {
            if run.iter().any(|line| line.pair.is_some_and(|pair| pair.sent != pair.there)) {
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

    /// Whether a line of `new_str` says that it has this indentation.
    fn says(&self, frame: Frame) -> bool {
        self.new.iter().any(|line| line.says == Some(frame))
    }

    /// Whether a line is the first of `new_str`.
    fn is_first(&self, line: &NewLine<'_>) -> bool {
        self.full().next().is_some_and(|first| first.at == line.at)
    }

    /// Whether a line is the first of `new_str`, and that of `old_str` has lost its indentation.
    fn is_lost(&self, line: &NewLine<'_>) -> bool {
        self.lost.is_some() && self.is_first(line)
    }

    /// Whether a rule would change new lines that stay as they were sent, and of those beside them that both
    /// strings have none shows that they stay: there is none, or the rule changes none.
    fn is_torn(&self, rule: &IndentRule) -> bool {
        let changes = |line: &&NewLine<'_>| rule.apply(line.sent).as_deref() != Some(line.sent);
        self.new.chunk_by(|a, b| a.is_unmapped == b.is_unmapped).any(|run| {
            let (new, shared): (Vec<_>, Vec<_>) =
                run.iter().filter(|line| line.is_unmapped).partition(|line| line.old.is_none());
            // A text at the margin has no indentation to lose.
            let loses = |line: &&NewLine<'_>| {
                let mapped = rule.apply(line.sent);
                !line.sent.is_empty() && mapped.is_none_or(|it| depth(&it) < depth(line.sent))
            };
            let mut full = new.iter().copied().filter(|line| !line.is_blank).peekable();
            match shared.is_empty() {
                true => full.peek().is_some() && full.all(|line| loses(&line)),
                false => !shared.iter().any(changes) && new.iter().any(changes),
            }
        })
    }

    /// The indentation that a rule gives a line of `new_str`, and whether the place shows it.
    fn indent(&self, line: &NewLine<'p>, rule: Option<&IndentRule>) -> (String, bool) {
        let sent = line.sent;
        let first = self.lost.filter(|lost| self.is_lost(line) && lost.sent == sent);
        if let Some(pair) = line.pair.filter(|_| line.keeps_depth()).or(first) {
            return (pair.there.to_owned(), true);
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
                let is_right = near.sent == near.there && !near.sent.is_empty();
                let is_shown = rule.is_some()
                    || is_right && line.old.is_none()
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
        let is_right = |pair: &Pair<'p>| pair.sent == pair.there;
        let has_words = |pair: &Pair<'p>| self.call.old[pair.old].contains(is_word_char);
        below.is_some_and(|pair| pair.in_literal)
            && near.is_some_and(is_right)
            && self.pairs.iter().all(|pair| !pair.in_literal || !has_words(pair) || is_right(pair))
    }

    /// Whether a new line is as deep as the first line of `old_str` in the call and not in the result,
    /// or comes before it, so that it may have lost its indentation instead.
    fn contradicts_first(&self, line: &NewLine<'p>, indent: &str) -> bool {
        let is_shown = || self.code[1..].iter().any(|pair| pair.sent == line.sent);
        self.lost.filter(|_| !line.keeps_depth()).is_some_and(|lost| match line.sent == lost.sent {
            true => indent != lost.there && !is_shown(),
            false => line.old.is_none() && self.is_first(line),
        })
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
        let new = self.full().filter(|line| !self.is_lost(line)).min_by_key(|l| depth(l.sent));
        if let (Some(old), Some(line), Some(there)) = (old, new, there) {
            out.push(Shared { at: line.at, old, new: line.sent, there });
        }
        out
    }

    /// Notes which new lines are as deep as nothing but what `old_str` has wrongly. They say less than
    /// those that both strings have, unless they are less deep than the place, or have levels of another
    /// width, so that others are as deep as in the file by chance.
    fn note_wrong_lines(&mut self) {
        let in_code = self.code.iter().map(|pair| (pair.sent, pair.there));
        let in_new = self.new.iter().filter_map(|line| Some((line.sent, line.pair?.there)));
        let right = in_code.clone().chain(in_new).filter(|(sent, there)| sent == there);
        let right: HashSet<&str> = right.map(|(sent, _)| sent).collect();
        let wrong = in_code.filter(|(sent, there)| sent != there);
        let wrong: HashSet<&str> = wrong.map(|(sent, _)| sent).collect();
        let unit = self.file.indent_unit();
        let is_whole = |indent: &str| {
            indent.contains('\t') || unit.is_none_or(|unit| indent.len().is_multiple_of(unit))
        };
        let is_shown = self.full().all(|line| is_whole(line.sent))
            && self.says(Frame::File)
            && !self.says(Frame::Call);
        let outermost = self.code.iter().map(|pair| depth(pair.there)).min().unwrap_or(0);
        for line in self.new.iter_mut().filter(|line| !line.is_blank && line.old.is_none()) {
            let is_wrong = wrong.contains(line.sent) && !right.contains(line.sent);
            if is_wrong && !(is_shown && depth(line.sent) >= outermost) {
                line.says = Some(Frame::Call);
            }
        }
    }

    /// What it costs that the lines of `new_str` have the indentation of these, beside the rule: the runs of
    /// lines that the call then moves, of which three count at most, and a mistake of `old_str` alone.
    fn price(&self, frames: &[Frame]) -> f64 {
        let has = |frame| self.full().any(|line| frames[line.at] == frame);
        let (by_call, by_file) = (has(Frame::Call), has(Frame::File));
        let is_mixed = by_call && by_file;
        let adds_wrong = |line: &NewLine<'_>| line.old.is_none() && line.says == Some(Frame::Call);
        let is_unlike = match by_call {
            true => !by_file && self.says(Frame::File) && !self.says(Frame::Call),
            false => !self.is_as_sent() || self.new.iter().any(adds_wrong),
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
        let mixed = f64::from(is_mixed);
        MOVED * (runs + mixed) + AS_SENT * (f64::from(is_unlike) + mixed)
    }

    /// Whether the call moves all that it has by the same step, and not to where the file has it: then the
    /// two strings only begin at different depths, and nothing shows a move.
    fn moves_everything(&self) -> bool {
        let mut steps = self.shared.iter().map(|shared| step(shared.old, shared.new));
        steps.next().is_some_and(|first| first != 0 && steps.all(|step| step == first))
            && self.shared.iter().all(|shared| shared.new != shared.there)
    }

    /// Whether the call moves a line that alone it has at a wrong depth, and not to where the file has it, or
    /// only as it moves a right line beside it.
    fn moves_wrong(&self) -> bool {
        let moved_by = |pair: &Pair<'_>| {
            let is_moved = self.call.fate(pair.old) == Fate::Moved;
            let new = self.call.successor(pair.old).filter(|_| is_moved)?;
            Some(step(pair.sent, indent_of(self.call.new[new])))
        };
        let moves_right = |at: usize, by: isize| {
            self.code.get(at).is_some_and(|p| p.sent == p.there && moved_by(p) == Some(by))
        };
        let is_right = |pair: &&Pair<'_>| pair.sent == pair.there;
        let Some(right) = self.code.iter().find(is_right) else { return false };
        // A wrap moves all lines by a level, and mends the mistake of one.
        let unit = self.file.indent_unit().unwrap_or(TAB_WIDTH).cast_signed();
        let moves = [moved_by(right), Some(unit)];
        self.code.iter().enumerate().any(|(at, pair)| {
            let by = moved_by(pair).filter(|_| pair.sent != pair.there);
            by.is_some_and(|by| {
                let mends = step(pair.sent, pair.there);
                by != mends && !moves.contains(&Some(by - mends))
                    || by == mends
                        && by != 0
                        && (moves_right(at.wrapping_sub(1), by) || moves_right(at + 1, by))
            })
        })
    }

    /// Whether `new_str` shows that `old_str` alone is wrong: some line is indented as in the file, and none
    /// as in `old_str`, or the first line is as deep as the file has the place, and `old_str` has not.
    fn is_as_sent(&self) -> bool {
        let is = |side: fn(&Shared<'p>) -> &'p str| {
            self.shared.iter().any(|line| line.old != line.there && line.new == side(line))
        };
        let pair = self.code[0];
        let is_first = || self.call.old[..pair.old].iter().all(|line| line.trim().is_empty());
        is(|line| line.there) && !is(|line| line.old)
            || pair.sent != pair.there
                && self.full().next().is_some_and(|first| first.sent == pair.there)
                && is_first()
    }

    /// The first line of `new_str`, if it is less deep than the file has the place, others are not, and
    /// none of these has the wrong depth of `old_str`.
    fn lost_first(&self) -> Option<usize> {
        let there = depth(self.code[0].there);
        let mut full = self.full();
        let first = full.next()?;
        (depth(first.sent) < there
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

    /// Whether what a new line opens is one level deeper in the result, or as much as in the call.
    fn opens_by_levels(&self, indents: &[String]) -> bool {
        let unit = self.file.indent_unit().unwrap_or(TAB_WIDTH);
        let full: Vec<&NewLine<'_>> = self.full().filter(|line| !line.is_unmapped).collect();
        full.windows(2).all(|pair| {
            let [above, below] = [pair[0], pair[1]];
            let sent = step(above.sent, below.sent);
            let result = step(&indents[above.at], &indents[below.at]).cast_unsigned();
            !opens_block(self.call.new[above.at])
                || above.keeps_depth() && below.keeps_depth()
                || sent <= 0
                || result == unit
                || result == sent.cast_unsigned()
                || self.levels.are_same_step(sent.cast_unsigned(), result)
        })
    }

    /// Whether each new line compares to its neighbours in the result as it does in `new_str`: deeper,
    /// less deep, or as deep. If not, the map does not suit these lines.
    fn keeps_order(&self, indents: &[String]) -> bool {
        let mut above: Option<(usize, usize, bool)> = None;
        let mut opened: Option<usize> = None;
        for line in self.full().filter(|line| !line.is_unmapped) {
            let (sent, result) = (depth(line.sent), depth(&indents[line.at]));
            let is_kept = line.keeps_depth();
            let is_out_of_order = above.is_some_and(|(above_sent, above_result, above_is_kept)| {
                !(is_kept && above_is_kept) && above_sent.cmp(&sent) != above_result.cmp(&result)
            });
            if is_out_of_order || !is_kept && opened.is_some_and(|opened| opened >= result) {
                return false;
            }
            // A first line that has lost its indentation says nothing about the step to the next, unless
            // it opens a block: then that is inside.
            let is_lost = self.is_lost(line);
            let opens = opens_block(self.call.new[line.at]);
            opened = (is_lost && opens).then_some(result);
            above = (!is_lost).then_some((sent, result, is_kept));
        }
        true
    }
}

/// Whether the lines below a line are inside what it opens.
fn opens_block(line: &str) -> bool {
    line.trim_end().ends_with(['{', '(', '[', ':'])
}

/// By how many columns the second indentation is deeper.
fn step(from: &str, to: &str) -> isize {
    depth(to).cast_signed() - depth(from).cast_signed()
}

/// Whether a new line without indentation may belong at the margin of the file, whatever stands around
/// it. A line below it that the call keeps shows that it does not.
fn belongs_at_margin(file: &SourceFile<'_>, call: &Call<'_>, at: usize) -> bool {
    let (new, line) = (&call.new, call.new[at]);
    let Some(language) = file.language.filter(|_| call.partner(at).is_none()) else { return false };
    let is_shared = |at: usize| call.partner(at).is_some() && !new[at].trim().is_empty();
    let may_be = || indent_of(line).is_empty() && !(at + 1..new.len()).any(is_shared);
    match language.name {
        "c" | "c++" | "objective-c" | "c#" => line.starts_with('#') || is_label(line),
        // A function with a name is inside no other.
        "go" => is_label(line) || line.starts_with("func "),
        "yaml" if line.starts_with("---") => true,
        "make" if is_among(MAKE_DIRECTIVES, first_word(line.trim_start_matches('-'))) => true,
        "ruby" | "perl" => {
            line.starts_with("__")
                || line.strip_prefix('=').is_some_and(|l| l.starts_with(is_word_char))
        }
        _ if !may_be() => false,
        "python" => {
            let blank_above = new[..at].iter().rev().take_while(|line| line.trim().is_empty());
            let blank_count = blank_above.count();
            // Below what leaves a function, nothing of it follows but a method of the same class.
            let above = new[..at - blank_count].last();
            let is_left = above.is_some_and(|above| {
                let def = new[at..].iter().find(|line| !line.starts_with('@')).unwrap_or(&line);
                let first = ["(self)", "(self,", "(cls)", "(cls,"];
                let is_method = first.iter().any(|first| def.contains(first));
                leaves(above.trim()) && (indent_of(above).is_empty() || !is_method)
            });
            let is_parted = blank_count >= 2 || blank_count == 1 && is_left;
            let begins = is_among("class def async if import from", first_word(line));
            line.starts_with("if __name__") || is_parted && (line.starts_with('@') || begins)
        }
        "yaml" if line.starts_with("- ") => (0..new.len()).any(|other| {
            let is_key = indent_of(new[other]).is_empty() && !new[other].starts_with("- ");
            is_key && call.partner(other).is_some()
        }),
        "yaml" => line.trim_end().ends_with(':'),
        "markdown" => line.starts_with('#'),
        "make" => line.contains(':') || is_assignment(line),
        "haskell" => {
            line.contains(" :: ")
                || is_among("data newtype type class instance import module", first_word(line))
        }
        "ini" | "toml" => line.starts_with('['),
        _ => false,
    }
}

/// What make reads itself, and no recipe.
const MAKE_DIRECTIVES: &str = "ifeq ifneq ifdef ifndef else endif include sinclude define endef export unexport override vpath undefine";

/// Whether a line of make sets a variable.
fn is_assignment(line: &str) -> bool {
    let name = ["+=", "?=", ":=", " = "].iter().find_map(|sign| line.split_once(sign));
    name.is_some_and(|(name, _)| !name.trim().contains(char::is_whitespace))
}

/// Whether a line is a label to jump to.
fn is_label(line: &str) -> bool {
    line.trim_end()
        .strip_suffix(':')
        .is_some_and(|name| !name.is_empty() && name != "default" && name.chars().all(is_word_char))
}
