//! Indentation: derives, from pairs of (indentation in the call, indentation in the file), the
//! rules that explain all pairs and that are applied to new lines.

use std::borrow::Cow;
use std::collections::HashMap;

use super::source_file::SourceFile;

/// The whitespace at the start of a line.
pub(crate) fn indent_of(line: &str) -> &str {
    &line[..line.len() - line.trim_start_matches([' ', '\t', '\u{a0}', '\u{3000}']).len()]
}

/// The width of a tab when indentation is compared.
pub(super) const TAB_WIDTH: usize = 4;

/// The width of an indentation in columns, where a tab is `tab` columns wide.
pub(super) fn columns(indent: &str, tab: usize) -> usize {
    indent.chars().map(|c| if c == '\t' { tab } else { 1 }).sum()
}

/// The width of a level in spaces: the most common increase from one line to the next. `None` if
/// there is none, or if at least as many lines are indented by tabs.
pub(super) fn unit<'a>(lines: impl Iterator<Item = &'a str>) -> Option<usize> {
    unit_seen_at_least(lines, 1)
}

/// The width of a level in spaces, as in [`unit`], if that increase occurs at least `min_count` times.
pub(super) fn unit_seen_at_least<'a>(
    lines: impl Iterator<Item = &'a str>,
    min_count: usize,
) -> Option<usize> {
    let mut steps: HashMap<usize, usize> = HashMap::new();
    let (mut previous, mut tab_lines) = (usize::MAX, 0);
    for line in lines.filter(|line| !line.trim().is_empty()) {
        let indent = indent_of(line);
        tab_lines += usize::from(indent.contains('\t'));
        let step = indent.len().saturating_sub(previous);
        if (2..=8).contains(&step) {
            *steps.entry(step).or_default() += 1;
        }
        previous = indent.len();
    }
    let (unit, count) =
        steps.into_iter().max_by_key(|(unit, count)| (*count, usize::MAX - unit))?;
    (count > tab_lines && count >= min_count).then_some(unit)
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

/// Indentation that is added to every line, or taken from it.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Shift {
    None,
    Deeper(String),
    Shallower(String),
}

/// A rule that maps the call's indentation to the file's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct IndentRule {
    unit: UnitChange,
    shift: Shift,
}

impl IndentRule {
    /// The file's indentation for one of the call; `None` if the rule does not apply to it.
    pub(super) fn apply(&self, indent: &str) -> Option<String> {
        let unit = self.unit.apply(indent)?;
        match &self.shift {
            Shift::None => Some(unit.into_owned()),
            Shift::Deeper(by) => Some(format!("{by}{unit}")),
            Shift::Shallower(by) => unit.strip_prefix(by.as_str()).map(str::to_owned),
        }
    }

    /// Whether the rule changes nothing.
    pub(super) fn is_same(&self) -> bool {
        self.unit == UnitChange::Keep && self.shift == Shift::None
    }

    /// Whether it maps whole levels to whole levels.
    pub(super) fn is_on_grid(&self, levels: LevelWidths) -> bool {
        let shifted = match &self.shift {
            Shift::None => "",
            Shift::Deeper(by) | Shift::Shallower(by) => by.as_str(),
        };
        let shifts_whole_levels = levels
            .file
            .is_none_or(|unit| shifted.contains('\t') || shifted.len().is_multiple_of(unit));
        let keeps_wrong_width = self.unit == UnitChange::Keep && levels.widths_differ();
        shifts_whole_levels && !keeps_wrong_width
    }

    /// The size of the mistake that the rule undoes; a smaller mistake is likelier.
    fn cost(&self) -> u8 {
        match (self.unit, &self.shift) {
            (UnitChange::Keep, Shift::None) => 0,
            (_, Shift::None) => 1,
            (UnitChange::Keep, _) => 2,
            _ => 3,
        }
    }
}

impl UnitChange {
    /// Whether the width of a level in the call does not divide the one in the file. Then the lines
    /// may be continuation lines, whose indentation is not a level.
    fn is_uncertain(self) -> bool {
        match self {
            Self::Scale(a, b) => !b.is_multiple_of(a),
            Self::Keep | Self::ToTabs(_) | Self::ToSpaces(_) => false,
        }
    }

    /// The indentation in the new unit; `None` if it is not a whole number of columns.
    fn apply(self, indent: &str) -> Option<Cow<'_, str>> {
        Some(match self {
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
        })
    }
}

/// The width of a level of indentation, in spaces, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct LevelWidths {
    /// In the call, by the steps between its lines.
    pub(super) call: Option<usize>,
    /// Whether `old_str` shows the width `call`, and not only `new_str`.
    pub(super) shown_by_old: bool,
    /// In `new_str`, even if only a single step shows it, which may be irregular.
    pub(super) tentative: Option<usize>,
    /// In the file.
    pub(super) file: Option<usize>,
    /// Whether any line of the call, new ones too, is indented by tabs.
    pub(super) call_has_tabs: bool,
    /// How many tabs a level of the call has, if it has tabs.
    pub(super) tabs: Option<usize>,
}

impl LevelWidths {
    /// The widths that the lines of the call and of the file show.
    pub(super) fn new(file: &SourceFile<'_>, old: &[&str], new: &[&str]) -> Self {
        let tentative = unit(new.iter().copied());
        let by_old = unit(old.iter().copied()).map(|width| match tentative {
            Some(narrower) if divides(narrower, width) => narrower,
            _ => width,
        });
        // A single step of new_str may be an irregular line, so two are needed.
        let call = by_old.or_else(|| unit_seen_at_least(new.iter().copied(), 2));
        let call_has_tabs = old.iter().chain(new).any(|line| indent_of(line).contains('\t'));
        let tabs = old.iter().chain(new).map(|line| indent_of(line).matches('\t').count());
        let tabs = tabs.filter(|&count| count > 0).reduce(gcd);
        let shown_by_old = by_old.is_some();
        Self { call, shown_by_old, tentative, file: file.indent_unit(), call_has_tabs, tabs }
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

    /// The width of a tab of the call in the file's spaces.
    fn tab(self) -> Option<usize> {
        let (tabs, file) = (self.tabs.unwrap_or(1), self.file?);
        Some(if file.is_multiple_of(tabs) { file / tabs } else { file })
    }

    /// Whether both widths are known and differ.
    fn widths_differ(self) -> bool {
        self.call.zip(self.file).is_some_and(|(call, file)| call != file)
    }
}

/// The rules that explain all pairs (indentation in the call, indentation in the file), and whether
/// they leave out the first pair, because the first line of the call has lost its indentation.
/// `levels_after_first` has the widths without the first line: if that line has lost its indentation,
/// the step to the next line is no level.
pub(super) fn fit(
    pairs: &[(String, String)],
    levels: LevelWidths,
    levels_after_first: LevelWidths,
) -> (Vec<IndentRule>, bool) {
    let mut rules = fit_rules(pairs, levels);
    // A step of old_str may be several levels, so other widths are tried, too.
    let common_width = pairs.iter().map(|(from, _)| from.len()).filter(|&w| w > 0).reduce(gcd);
    let common_if_better =
        common_width.filter(|&all| !levels.tentative.is_some_and(|part| divides(part, all)));
    for call in [levels.tentative, common_if_better] {
        if rules.is_empty() && call.is_some() {
            rules = fit_rules(pairs, LevelWidths { call, ..levels });
        }
    }
    // The first line has lost its indentation, or a part of it, while other lines kept theirs. If
    // no line is indented, all of them have lost it.
    let others_are_indented = pairs.iter().skip(1).any(|(from, _)| !from.is_empty());
    let has_lost_indent =
        |(from, to): &(String, String)| others_are_indented && columns(from, 4) <= columns(to, 4);
    let first_line_excluded =
        rules.is_empty() && pairs.len() > 1 && pairs.first().is_some_and(has_lost_indent);
    if first_line_excluded {
        let file_has_tabs = pairs.iter().any(|(_, to)| to.contains('\t'));
        let call = levels_after_first.call.or(levels.call.filter(|_| file_has_tabs));
        rules = fit_rules(&pairs[1..], LevelWidths { call, ..levels_after_first });
    }
    let first_line_excluded = first_line_excluded && !rules.is_empty();
    (rules, first_line_excluded)
}

/// The rules that explain all pairs, likeliest first. A rule that does not map whole levels to whole
/// levels counts only if there is no other.
fn fit_rules(pairs: &[(String, String)], levels: LevelWidths) -> Vec<IndentRule> {
    let mut out: Vec<IndentRule> = Vec::new();
    for unit in unit_changes(pairs, levels) {
        let unshifted = IndentRule { unit, shift: Shift::None };
        let rule =
            if explains_all(pairs, &unshifted) { Some(unshifted) } else { fit_shift(pairs, unit) };
        out.extend(rule.filter(|rule| !out.contains(rule)));
    }
    // A width that only new_str shows is too uncertain to rule out other rules.
    let is_certain = |rule: &IndentRule| levels.shown_by_old || !rule.unit.is_uncertain();
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
    if out.first().is_some_and(IndentRule::is_same) {
        out.truncate(1);
    }
    out
}

/// Whether a rule maps the first indentation of every pair to the second.
fn explains_all(pairs: &[(String, String)], rule: &IndentRule) -> bool {
    pairs.iter().all(|(from, to)| rule.apply(from).as_deref() == Some(to))
}

/// The rule that changes the unit and then shifts all lines equally, if there is one that explains
/// all pairs.
fn fit_shift(pairs: &[(String, String)], unit: UnitChange) -> Option<IndentRule> {
    let (from, to) = pairs.first()?;
    let from = unit.apply(from)?;
    let shift = if let Some(by) = to.strip_suffix(from.as_ref()) {
        Shift::Deeper(by.to_owned())
    } else {
        Shift::Shallower(from.strip_suffix(to.as_str())?.to_owned())
    };
    let rule = IndentRule { unit, shift };
    explains_all(pairs, &rule).then_some(rule)
}

/// The changes of the unit to try: those that the pairs may show.
fn unit_changes(pairs: &[(String, String)], levels: LevelWidths) -> Vec<UnitChange> {
    let has_tabs =
        |side: fn(&(String, String)) -> &String| pairs.iter().any(|p| side(p).contains('\t'));
    let indented = pairs.iter().any(|(_, to)| !to.is_empty());
    let from_tabs = has_tabs(|p| &p.0) || levels.call_has_tabs && indented;
    let to_tabs = has_tabs(|p| &p.1);
    // The known width is the likeliest, but the step that shows it may be two levels.
    let widths = |known: Option<usize>| -> Vec<usize> {
        let others = [4, 2, 8, 3].into_iter().filter(|width| Some(*width) != known);
        known.into_iter().chain(others).collect()
    };
    let mut out = vec![UnitChange::Keep];
    match (from_tabs, to_tabs) {
        (false, true) => out.extend(widths(levels.call).into_iter().map(UnitChange::ToTabs)),
        // Not where the file shows no level of spaces.
        (true, false) => out.extend(
            levels.file.into_iter().flat_map(|_| widths(levels.tab())).map(UnitChange::ToSpaces),
        ),
        (true, true) => out.extend(widths(None).into_iter().map(UnitChange::ToTabs)),
        (false, false) => {
            let common = |side: fn(&(String, String)) -> &String| {
                pairs.iter().map(|p| side(p).len()).filter(|&w| w > 0).reduce(gcd)
            };
            let from = levels.call.or(levels.tentative).or_else(|| common(|p| &p.0));
            let to = levels.file.or_else(|| common(|p| &p.1));
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

/// The greatest common divisor.
fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}
