//! Indentation: derives, from pairs of (indentation in the call, indentation in the file), the
//! rules that explain all pairs and that are applied to new lines.

use std::borrow::Cow;
use std::iter;

use super::source_file::SourceFile;

/// The whitespace at the start of a line.
pub(crate) fn indent_of(line: &str) -> &str {
    &line[..line.len() - unindented(line).len()]
}

/// A line without its indentation.
pub(super) fn unindented(line: &str) -> &str {
    line.trim_start_matches([' ', '\t', '\u{a0}', '\u{3000}'])
}

/// A line with another indentation.
pub(super) fn with_indent(line: &str, indent: &str) -> String {
    [indent, unindented(line)].concat()
}

/// The width of a tab when indentation is compared.
pub(super) const TAB_WIDTH: usize = 4;

/// The width of an indentation in columns, where a tab is `tab` columns wide.
pub(super) fn columns(indent: &str, tab: usize) -> usize {
    indent.chars().map(|c| if c == '\t' { tab } else { 1 }).sum()
}

/// The column at which the text of a line begins.
pub(super) fn depth(line: &str) -> usize {
    columns(indent_of(line), TAB_WIDTH)
}

/// The width of a level in spaces: the most common increase from one line to the next. `None` if
/// there is none, or if at least as many lines are indented by tabs.
pub(super) fn unit<'a>(lines: impl Iterator<Item = &'a str>) -> Option<usize> {
    unit_and_count(lines).map(|(unit, _)| unit)
}

/// The width of a level in spaces, as in [`unit`], and how often that increase occurs.
fn unit_and_count<'a>(lines: impl Iterator<Item = &'a str>) -> Option<(usize, usize)> {
    const WIDEST: usize = 8;
    let mut steps = [0; WIDEST + 1];
    let (mut previous, mut tab_lines) = (usize::MAX, 0);
    for indent in lines.filter(|line| !line.trim().is_empty()).map(indent_of) {
        tab_lines += usize::from(indent.contains('\t'));
        let step = indent.len().saturating_sub(previous);
        if (2..=WIDEST).contains(&step) {
            steps[step] += 1;
        }
        previous = indent.len();
    }
    let most = (2..=WIDEST).rev().max_by_key(|unit| steps[*unit])?;
    Some((most, steps[most])).filter(|(_, count)| *count > tab_lines)
}

/// A change of the unit of indentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UnitChange {
    Keep,
    /// n spaces become a tab.
    ToTabs(usize),
    /// A tab becomes n spaces.
    ToSpaces(usize),
    /// `Scale(a, b)`: each level of a spaces becomes one of b; spaces beyond whole levels stay.
    Scale(usize, usize),
}

impl UnitChange {
    /// The indentation in the new unit.
    fn apply(self, indent: &str) -> Cow<'_, str> {
        match self {
            Self::Keep => Cow::Borrowed(indent),
            Self::ToSpaces(n) => Cow::Owned(indent.replace('\t', &" ".repeat(n))),
            Self::ToTabs(n) => {
                let width = columns(indent, n);
                Cow::Owned("\t".repeat(width / n) + &" ".repeat(width % n))
            }
            Self::Scale(a, b) => {
                let width = indent.chars().count();
                Cow::Owned(" ".repeat(width / a * b + width % a))
            }
        }
    }
}

/// A rule that maps the call's indentation to the file's: it changes the unit, and then takes
/// indentation from every line, or adds some.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct IndentRule {
    unit: UnitChange,
    removed: String,
    added: String,
}

/// An indentation in the call, and the one that the file has for it.
type Pair<'p> = (&'p str, &'p str);

impl IndentRule {
    /// The rule that changes the unit in this way, if it explains all pairs. The first one shows the shift.
    fn of(pairs: &[Pair<'_>], unit: UnitChange) -> Option<Self> {
        let (from, to) = pairs.first()?;
        let from = unit.apply(from);
        let (removed, added) = match to.strip_suffix(from.as_ref()) {
            Some(added) => ("", added),
            None => (from.strip_suffix(to)?, ""),
        };
        let rule = Self { unit, removed: removed.to_owned(), added: added.to_owned() };
        pairs.iter().all(|(from, to)| rule.apply(from).as_deref() == Some(to)).then_some(rule)
    }

    /// The file's indentation for one of the call; `None` if the rule does not apply to it.
    pub(super) fn apply(&self, indent: &str) -> Option<String> {
        let unit = self.unit.apply(indent);
        Some(format!("{}{}", self.added, unit.strip_prefix(&self.removed)?))
    }

    /// Whether it maps whole levels to whole levels.
    fn is_on_grid(&self, levels: LevelWidths) -> bool {
        let is_whole = |shift: &str| {
            shift.contains('\t') || levels.file.is_none_or(|unit| shift.len().is_multiple_of(unit))
        };
        let widths_differ = levels.call.zip(levels.file).is_some_and(|(call, file)| call != file);
        let keeps_width = self.unit == UnitChange::Keep && widths_differ;
        is_whole(&self.added) && is_whole(&self.removed) && !keeps_width
    }

    /// The size of the mistake that the rule undoes; a smaller mistake is likelier.
    fn cost(&self) -> (bool, bool) {
        let shifts = !(self.added.is_empty() && self.removed.is_empty());
        (shifts, self.unit != UnitChange::Keep)
    }
}

/// The width of a level of indentation, in spaces, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct LevelWidths {
    /// In the call, by the steps between its lines.
    call: Option<usize>,
    /// Whether `old_str` shows the width `call`, and not only `new_str`.
    shown_by_old: bool,
    /// In `new_str`, even if only a single step shows it, which may be irregular.
    tentative: Option<usize>,
    /// In the file.
    file: Option<usize>,
    /// How many tabs a level of the call has, if any line, new ones too, is indented by tabs.
    tabs: Option<usize>,
}

impl LevelWidths {
    /// The widths that the lines of the call and of the file show.
    pub(super) fn new(file: &SourceFile<'_>, old: &[&str], new: &[&str]) -> Self {
        let by_new = unit_and_count(new.iter().copied());
        let tentative = by_new.map(|(unit, _)| unit);
        // A single step of old_str is no level where new_str has another one more often.
        let is_contradicted = |(width, count): &(usize, usize)| {
            by_new.is_some_and(|(unit, more)| more > *count && !unit.is_multiple_of(*width))
        };
        let by_old = unit_and_count(old.iter().copied()).filter(|old| !is_contradicted(old));
        let by_old = by_old.map(|(width, _)| {
            tentative.filter(|&narrower| divides(narrower, width)).unwrap_or(width)
        });
        // A single step of new_str may be an irregular line, so two are needed.
        let call = by_old.or(by_new.filter(|(_, count)| *count > 1).map(|(unit, _)| unit));
        let tabs = old.iter().chain(new).map(|line| indent_of(line).matches('\t').count());
        let (shown_by_old, tabs) = (by_old.is_some(), common_divisor(tabs));
        Self { call, shown_by_old, tentative, file: file.indent_unit(), tabs }
    }

    /// The same for a text inside a literal, whose steps are no levels: they stay as wide as they are.
    pub(super) fn of_text(self) -> Self {
        Self { call: self.file, tentative: None, ..self }
    }

    /// Whether a line of the call and one of the file are equally deep, each in its own unit.
    pub(super) fn are_same(self, sent: &str, there: &str) -> bool {
        let (sent, there) = (indent_of(sent), indent_of(there));
        let level = |indent: &str, unit: Option<usize>| match indent.bytes().all(|b| b == b'\t') {
            true => Some(indent.len()),
            false if indent.bytes().any(|b| b != b' ') => None,
            false => unit.filter(|it| indent.len().is_multiple_of(*it)).map(|it| indent.len() / it),
        };
        let level_sent = level(sent, self.call);
        sent == there || level_sent.is_some() && level_sent == level(there, self.file)
    }

    /// A step of indentation in the call, converted to the file's level width if it is whole levels.
    pub(super) fn scale(self, step: &str) -> String {
        match (self.call, self.file) {
            (Some(call), Some(file)) if step.len().is_multiple_of(call) && !step.contains('\t') => {
                " ".repeat(step.len() / call * file)
            }
            _ => step.to_owned(),
        }
    }

    /// Whether the call shows some width.
    pub(super) fn are_shown(self) -> bool {
        self.call.or(self.tentative).is_some()
    }

    /// Whether a step of indentation in the call is whole levels, and what these are in the file.
    pub(super) fn are_known(self, step: &str) -> bool {
        let Some(file) = self.file else { return step.bytes().all(|byte| byte == b'\t') };
        let is_whole = |unit: usize| step.len().is_multiple_of(unit);
        let is_same = self.tentative == Some(file) && is_whole(file);
        !step.contains('\t') && (is_same || self.call.is_some_and(is_whole))
    }

    /// Whether a step of the call is as many levels as one of the file, both in columns.
    pub(super) fn are_same_step(self, sent: isize, there: isize) -> bool {
        let call = match self.tabs {
            Some(_) => Some(TAB_WIDTH),
            None => self.call.filter(|_| self.shown_by_old),
        };
        let (call, file) = (call.map(usize::cast_signed), self.file.unwrap_or(TAB_WIDTH));
        call.is_some_and(|call| sent % call == 0 && there == sent / call * file.cast_signed())
    }

    /// The width of a tab of the call in the file's spaces.
    fn tab(self) -> Option<usize> {
        let (tabs, file) = (self.tabs.unwrap_or(1), self.file?);
        Some(if file.is_multiple_of(tabs) { file / tabs } else { file })
    }
}

/// The rules that explain all pairs (indentation in the call, indentation in the file), and whether
/// they leave out the first pair, because the first line of the call has lost its indentation.
/// `levels_after_first` has the widths without the first line: if that line has lost its indentation,
/// the step to the next line is no level.
pub(super) fn fit(
    pairs: &[(impl AsRef<str>, impl AsRef<str>)],
    levels: LevelWidths,
    levels_after_first: LevelWidths,
) -> (Vec<IndentRule>, bool) {
    let pairs: Vec<Pair<'_>> = pairs.iter().map(|(a, b)| (a.as_ref(), b.as_ref())).collect();
    // A step of old_str may be several levels, so other widths are tried, too.
    let common = common_divisor(pairs.iter().map(|(from, _)| from.len()))
        .filter(|&all| levels.tentative.is_none_or(|step| all > 1 && !divides(step, all)));
    let others = [levels.tentative, common].into_iter().filter(Option::is_some);
    for call in iter::once(levels.call).chain(others) {
        let rules = fit_rules(&pairs, LevelWidths { call, ..levels });
        if !rules.is_empty() {
            return (rules, false);
        }
    }
    // The first line has lost its indentation, or a part of it, while other lines kept theirs. If
    // no line is indented, all of them have lost it.
    let Some(((from, to), others)) = pairs.split_first() else { return (Vec::new(), false) };
    if depth(from) > depth(to) || others.iter().all(|(from, _)| from.is_empty()) {
        return (Vec::new(), false);
    }
    let file_has_tabs = pairs.iter().any(|(_, to)| to.contains('\t'));
    let call = levels_after_first.call.or(levels.call.filter(|_| file_has_tabs));
    let rules = fit_rules(others, LevelWidths { call, ..levels_after_first });
    let is_lost = !rules.is_empty();
    (rules, is_lost)
}

/// The rules that explain all pairs, likeliest first. A rule that does not map whole levels to whole
/// levels counts only if there is no other.
fn fit_rules(pairs: &[Pair<'_>], levels: LevelWidths) -> Vec<IndentRule> {
    let units = unit_changes(pairs, levels).into_iter();
    let mut out: Vec<IndentRule> = units.filter_map(|unit| IndentRule::of(pairs, unit)).collect();
    // A width that only new_str shows is too uncertain to rule out other rules where it does not divide
    // the one in the file: then the lines may be continuation lines, whose indentation is not a level.
    let is_certain = |rule: &IndentRule| {
        levels.shown_by_old
            || !matches!(rule.unit, UnitChange::Scale(from, to) if !to.is_multiple_of(from))
    };
    if out.iter().any(|rule| rule.is_on_grid(levels) && is_certain(rule)) {
        out.retain(|rule| rule.is_on_grid(levels));
    }
    let uses_known_width = |rule: &IndentRule| match rule.unit {
        UnitChange::ToTabs(width) => levels.call == Some(width),
        UnitChange::ToSpaces(width) => levels.tab() == Some(width),
        UnitChange::Keep | UnitChange::Scale(..) => false,
    };
    if out.iter().any(uses_known_width) {
        out.retain(uses_known_width);
    }
    out.sort_by_key(IndentRule::cost);
    // If no change is needed, the other rules are dropped.
    if out.first().is_some_and(|rule| rule.cost() == (false, false)) {
        out.truncate(1);
    }
    out
}

/// The changes of the unit to try: those that the pairs may show.
fn unit_changes(pairs: &[Pair<'_>], levels: LevelWidths) -> Vec<UnitChange> {
    let (from, to): (Vec<&str>, Vec<&str>) = pairs.iter().copied().unzip();
    let has_tabs = |indents: &[&str]| indents.iter().any(|indent| indent.contains('\t'));
    let is_indented = to.iter().any(|to| !to.is_empty());
    let from_tabs = has_tabs(&from) || levels.tabs.is_some() && is_indented;
    // The known width is the likeliest, but the step that shows it may be two levels.
    let widths = |known: Option<usize>| {
        let others = [4, 2, 8, 3].into_iter().filter(move |width| Some(*width) != known);
        known.into_iter().chain(others)
    };
    let mut out = vec![UnitChange::Keep];
    match (from_tabs, has_tabs(&to)) {
        (false, true) => out.extend(widths(levels.call).map(UnitChange::ToTabs)),
        (true, true) => out.extend(widths(None).map(UnitChange::ToTabs)),
        // Not where the file shows no level of spaces.
        (true, false) if levels.file.is_some() => {
            out.extend(widths(levels.tab()).map(UnitChange::ToSpaces));
        }
        (true, false) => {}
        (false, false) => {
            let common = |indents: &[&str]| common_divisor(indents.iter().map(|i| i.len()));
            let from = levels.call.or(levels.tentative).or_else(|| common(&from));
            let to = levels.file.or_else(|| common(&to));
            if let (Some(from), Some(to)) = (from, to)
                && from != to
                && (from > 1 || pairs.len() > 2)
            {
                out.push(UnitChange::Scale(from, to));
            }
        }
    }
    out
}

/// Whether a step of `width` is two or more levels of `part`.
fn divides(part: usize, width: usize) -> bool {
    part < width && width.is_multiple_of(part)
}

/// The greatest common divisor of those numbers that are not 0.
fn common_divisor(numbers: impl Iterator<Item = usize>) -> Option<usize> {
    fn gcd(a: usize, b: usize) -> usize {
        if b == 0 { a } else { gcd(b, a % b) }
    }
    numbers.filter(|&number| number > 0).reduce(gcd)
}
