//! What a call, its place and the file say of the indentation of each line.

use std::collections::HashSet;

use crate::matching::call::{Call, Fate};
use crate::matching::indent::{IndentRule, LevelWidths, depth, fit, indent_of};
use crate::matching::new_literals::{heredoc_lines, literal_lines};
use crate::matching::places::{Link, LinkKind, Place};
use crate::matching::source_file::{SourceFile, line_key};

/// A line of `old_str` and the line of the file that it is, with their indentations.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pair<'p> {
    pub(super) old: usize,
    pub(super) line: usize,
    pub(super) sent: &'p str,
    pub(super) there: &'p str,
    /// Whether it is inside a literal, and shows nothing of code.
    pub(super) in_literal: bool,
}

impl Pair<'_> {
    /// Whether the call has its indentation as the file has it.
    pub(super) fn is_right(&self) -> bool {
        self.sent == self.there
    }
}

/// The lines of a call that are paired with lines of the file, in order: the equal ones, if there are some.
pub(super) fn pairs<'p>(file: &SourceFile<'p>, call: &Call<'p>, place: &Place) -> Vec<Pair<'p>> {
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

/// The pair of a line of `old_str`.
fn pair_of<'p>(pairs: &[Pair<'p>], old: usize) -> Option<Pair<'p>> {
    let at = pairs.binary_search_by_key(&old, |pair| pair.old).ok()?;
    Some(pairs[at])
}

/// Whose indentation a line of `new_str` has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Frame {
    /// That of `old_str`: as wrong as it.
    Call,
    /// That of the file: `old_str` alone is wrong.
    File,
}

/// What is known of the indentation of a line of `new_str`.
pub(super) struct NewLine<'p> {
    pub(super) at: usize,
    pub(super) sent: &'p str,
    pub(super) is_blank: bool,
    /// The indentation that `old_str` has for it.
    pub(super) old: Option<&'p str>,
    /// The line of `old_str` and of the file that it is.
    pub(super) pair: Option<Pair<'p>>,
    /// How many lines of `old_str` are above it.
    pub(super) old_above: usize,
    /// Whether it stays as it was sent, whatever the map.
    pub(super) is_unmapped: bool,
    /// Whether it is inside a literal that only `new_str` has. Nothing shows whether its white space is a
    /// part of the text, but for a docstring, where it is not.
    pub(super) is_new_text: bool,
    /// What it says about whose indentation it has.
    pub(super) says: Option<Frame>,
}

impl<'p> NewLine<'p> {
    /// Line `at` of `new_str`, which stays or goes as the map says.
    pub(super) fn new(
        call: &Call<'p>,
        at: usize,
        pair: Option<Pair<'p>>,
        old_above: usize,
    ) -> Self {
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
    pub(super) fn keeps_depth(&self) -> bool {
        self.old == Some(self.sent)
    }
}

/// The indentation of a line in `old_str`, in `new_str` and in the file.
pub(super) struct Shared<'p> {
    /// The line of `new_str`.
    pub(super) at: usize,
    pub(super) old: &'p str,
    pub(super) new: &'p str,
    pub(super) there: &'p str,
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
pub(super) struct Lines<'p> {
    pub(super) file: &'p SourceFile<'p>,
    pub(super) call: &'p Call<'p>,
    pub(super) pairs: Vec<Pair<'p>>,
    /// Those that show the indentation of code; at least one.
    pub(super) code: Vec<Pair<'p>>,
    pub(super) levels: LevelWidths,
    /// The rules that explain all of them, or all but the first, if that line has lost its indentation.
    pub(super) rules: Vec<IndentRule>,
    pub(super) lost: Option<Pair<'p>>,
    pub(super) new: Vec<NewLine<'p>>,
    /// Every line that both strings have, or that is rewritten, and the outermost line of each side.
    pub(super) shared: Vec<Shared<'p>>,
}

impl<'p> Lines<'p> {
    pub(super) fn of(
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

    /// The lines of `new_str` that are not blank.
    pub(super) fn full(&self) -> impl Iterator<Item = &NewLine<'p>> + Clone {
        self.new.iter().filter(|line| !line.is_blank)
    }

    /// How deep the place is where it is least deep.
    pub(super) fn outermost(&self) -> usize {
        self.code.iter().map(|pair| depth(pair.there)).min().unwrap_or(0)
    }

    /// Whether a line of `new_str` says that it has this indentation.
    pub(super) fn says(&self, frame: Frame) -> bool {
        self.new.iter().any(|line| line.says == Some(frame))
    }

    /// Whether a line is the first of `new_str`, and that of `old_str` has lost its indentation.
    pub(super) fn is_lost(&self, line: &NewLine<'_>) -> bool {
        self.lost.is_some() && self.full().next().is_some_and(|first| first.at == line.at)
    }

    /// The nearest pairs above and below a line of `new_str`; above the first one, its own.
    pub(super) fn neighbours(&self, line: &NewLine<'p>) -> (Option<&Pair<'p>>, Option<&Pair<'p>>) {
        let (above, rest) =
            self.pairs.split_at(self.pairs.partition_point(|pair| pair.old < line.old_above));
        let (own, below) = rest.split_at(usize::from(line.pair.is_some()));
        (above.last().or(own.first()), below.first())
    }
}
