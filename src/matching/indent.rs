//! Indentation: derives, from pairs of (indentation in the call, indentation in the file), the
//! rules that explain all pairs and that are applied to new lines.

use std::borrow::Cow;
use std::collections::HashMap;

use super::budget;
use super::source_file::SourceFile;

/// The whitespace at the start of a line.
pub(crate) fn indent_of(line: &str) -> &str {
    &line[..line.len() - line.trim_start_matches([' ', '\t', '\u{a0}', '\u{3000}']).len()]
}

/// Width in columns, a tab counting `tab`.
pub(super) fn columns(indent: &str, tab: usize) -> usize {
    indent.chars().map(|c| if c == '\t' { tab } else { 1 }).sum()
}

/// The width of a level in spaces: the most common increase from one line to the next.
pub(super) fn unit<'a>(lines: impl Iterator<Item = &'a str>) -> Option<usize> {
    unit_seen_at_least(lines, 1)
}

/// The same, if it occurs at least `least` times.
pub(super) fn unit_seen_at_least<'a>(
    lines: impl Iterator<Item = &'a str>,
    min_count: usize,
) -> Option<usize> {
    let mut steps: HashMap<usize, usize> = HashMap::new();
    let (mut last, mut tabs) = (usize::MAX, 0);
    for line in lines.filter(|line| !line.trim().is_empty()) {
        let indent = indent_of(line);
        tabs += usize::from(indent.contains('\t'));
        let step = indent.len().saturating_sub(last);
        if (2..=8).contains(&step) {
            *steps.entry(step).or_default() += 1;
        }
        last = indent.len();
    }
    let (unit, count) =
        steps.into_iter().max_by_key(|(unit, count)| (*count, usize::MAX - unit))?;
    (count > tabs && count >= min_count).then_some(unit)
}

/// A change of the unit of indentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UnitChange {
    Keep,
    /// n spaces become a tab.
    ToTabs(usize),
    /// A tab becomes n spaces.
    ToSpaces(usize),
    /// Levels of a spaces become levels of b; what is left over stays.
    Scale(usize, usize),
    /// Every column goes from a to b, as where a formatter aligned the lines.
    Stretch(usize, usize),
}

/// A uniform shift of the indentation.
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
    /// The file's indentation; `None` where the rule does not apply.
    pub(super) fn apply(&self, indent: &str) -> Option<String> {
        let unit = self.unit.apply(indent)?;
        match &self.shift {
            Shift::None => Some(unit.into_owned()),
            Shift::Deeper(by) => Some(format!("{by}{unit}")),
            Shift::Shallower(by) => unit.strip_prefix(by.as_str()).map(str::to_owned),
        }
    }

    pub(super) fn is_same(&self) -> bool {
        self.unit == UnitChange::Keep && self.shift == Shift::None
    }

    /// Whether it maps whole levels to whole levels.
    fn is_on_grid(&self, levels: LevelWidths) -> bool {
        let by = match &self.shift {
            Shift::None => "",
            Shift::Deeper(by) | Shift::Shallower(by) => by.as_str(),
        };
        let widths_differ = self.unit == UnitChange::Keep && levels.widths_differ();
        let whole =
            levels.file.is_none_or(|unit| by.contains('\t') || by.len().is_multiple_of(unit));
        whole && !widths_differ
    }

    /// The size of the mistake; a smaller one is likelier.
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
    /// Whether the width of a level in the call does not divide that in the file. The lines may
    /// continue others, and are then indented by more than a level.
    fn is_uncertain(self) -> bool {
        match self {
            Self::Scale(a, b) | Self::Stretch(a, b) => !b.is_multiple_of(a),
            Self::Keep | Self::ToTabs(_) | Self::ToSpaces(_) => false,
        }
    }

    /// `None` where the result is not a whole column.
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
            Self::Stretch(a, b) => {
                let width = indent.chars().count() * b;
                Cow::Owned(" ".repeat(width.is_multiple_of(a).then_some(width / a)?))
            }
        })
    }
}

/// The width of a level, in spaces, where it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct LevelWidths {
    /// In the call, by the steps between its lines.
    pub(super) call: Option<usize>,
    /// Whether `old_str` shows it, and not `new_str` alone.
    pub(super) shown_by_old: bool,
    /// In the call, by a single step, which may be irregular.
    pub(super) tentative: Option<usize>,
    /// How much less than its first line `new_str` is indented at its outermost line.
    pub(super) below_first: Option<usize>,
    /// In the file.
    pub(super) file: Option<usize>,
    /// Whether any line of the call, new ones too, is indented by tabs.
    pub(super) call_has_tabs: bool,
}

impl LevelWidths {
    pub(super) fn new(file: &SourceFile<'_>, old: &[&str], new: &[&str]) -> Self {
        let tentative = unit(new.iter().copied());
        let by_old = unit(old.iter().copied()).map(|width| match tentative {
            Some(half) if divides(half, width) => half,
            _ => width,
        });
        // One step of new_str alone may be an odd line.
        let call = by_old.or_else(|| unit_seen_at_least(new.iter().copied(), 2));
        let call_has_tabs = old.iter().chain(new).any(|line| indent_of(line).contains('\t'));
        let nonblank =
            || new.iter().filter(|line| !line.trim().is_empty()).map(|line| indent_of(line).len());
        let below_first =
            nonblank().next().zip(nonblank().min()).map(|(first, least)| first - least);
        let below_first = below_first.filter(|&width| width > 1 && !call_has_tabs);
        let shown_by_old = by_old.is_some();
        Self { call, shown_by_old, tentative, below_first, file: file.indent_unit(), call_has_tabs }
    }

    fn widths_differ(self) -> bool {
        self.call.zip(self.file).is_some_and(|(call, file)| call != file)
    }
}

/// How the indentation of a place's lines differs from the call's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct IndentMap {
    /// Every rule that explains all pairs, likeliest first; none for a map that is irregular.
    pub(super) rules: Vec<IndentRule>,
    /// The first line's indentation was lost, so it says nothing about the other lines.
    pub(super) first_line_excluded: bool,
    levels: LevelWidths,
    pairs: Vec<(String, String)>,
}

impl IndentMap {
    /// Fits rules to all pairs; if none fits, to all but the first. `rest` are the levels of
    /// the call without its first line: where that has lost its indentation, the step from it
    /// to the next line shows no level.
    pub(super) fn fit(
        pairs: Vec<(String, String)>,
        levels: LevelWidths,
        rest: LevelWidths,
    ) -> Self {
        let mut rules = rules(&pairs, levels);
        // The steps of old_str may be of two levels.
        let common = pairs.iter().map(|(from, _)| from.len()).filter(|&w| w > 0).reduce(gcd);
        let whole = common.filter(|&all| !levels.tentative.is_some_and(|part| divides(part, all)));
        for call in [levels.tentative, whole] {
            if rules.is_empty() && call.is_some() {
                rules = self::rules(&pairs, LevelWidths { call, ..levels });
            }
        }
        // Lost entirely; or in part, if deeper lines show that no level is wider.
        let deeper = pairs.iter().skip(1).any(|(from, _)| !from.is_empty());
        let lost = |(from, to): &(String, String)| {
            from.is_empty() || deeper && columns(from, 4) <= columns(to, 4)
        };
        // A first line that is as deep as in the file, and levels of old_str that explain the others:
        // nothing was lost, and new_str has other levels.
        let scaled = |first: &(String, String)| {
            let levels = LevelWidths { call: common, ..levels };
            first.0 == first.1 && common.is_some() && !self::rules(&pairs, levels).is_empty()
        };
        let first_line_excluded = rules.is_empty()
            && pairs.len() > 1
            && pairs.first().is_some_and(|first| lost(first) && !scaled(first));
        if first_line_excluded {
            let tabs = pairs.iter().any(|(_, to)| to.contains('\t'));
            let call = rest.call.or(levels.call.filter(|_| tabs));
            rules = self::rules(&pairs[1..], LevelWidths { call, ..rest });
        }
        let first_line_excluded = first_line_excluded && !rules.is_empty();
        // A new line less deep than the first shows another width, where nothing else shows one.
        if let (None, None, Some(width)) = (levels.call, levels.tentative, levels.below_first) {
            let more = self::rules(&pairs, LevelWidths { call: Some(width), ..levels });
            let more: Vec<IndentRule> =
                more.into_iter().filter(|rule| !rules.contains(rule)).collect();
            rules.extend(more);
        }
        Self { rules, first_line_excluded, levels, pairs }
    }

    /// Whether the call's indentation is the file's.
    pub(super) fn is_same(&self) -> bool {
        self.pairs.iter().all(|(from, to)| from == to)
    }

    /// Converts additional indentation of the call to the file's width, if it is whole levels.
    pub(super) fn scale(&self, by: &str) -> String {
        match (self.levels.call, self.levels.file) {
            (Some(call), Some(file)) if by.len().is_multiple_of(call) && !by.contains('\t') => {
                " ".repeat(by.len() / call * file)
            }
            _ => by.to_owned(),
        }
    }

    /// Whether only levels that occur in the pairs can be mapped, because no rule fits.
    pub(super) fn is_irregular(&self) -> bool {
        self.rules.is_empty()
    }

    /// The file's indentation for `indent`, an indentation of the call. If the pairs have several
    /// for it, the nearest ones above and below the pair at index `near` must agree.
    pub(super) fn lookup(&self, indent: &str, near: usize) -> ObservedIndent<'_> {
        budget::spend(self.pairs.len());
        let pairs = self.pairs.iter().enumerate().skip(usize::from(self.first_line_excluded));
        let same: Vec<(usize, &str)> = pairs
            .filter(|(_, (from, _))| from == indent)
            .map(|(at, (_, to))| (at, to.as_str()))
            .collect();
        let Some(&(_, first)) = same.first() else { return ObservedIndent::Unseen };
        if same.iter().all(|(_, to)| *to == first) {
            return ObservedIndent::As(first);
        }
        let above = same.iter().rfind(|(at, _)| *at <= near);
        let below = same.iter().find(|(at, _)| *at > near);
        match (above, below) {
            (Some((_, above)), Some((_, below))) if above == below => ObservedIndent::As(above),
            _ => ObservedIndent::Conflicting,
        }
    }
}

/// The file's indentation for one of the call, as the pairs of a map show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ObservedIndent<'a> {
    As(&'a str),
    /// The file has several for it.
    Conflicting,
    Unseen,
}

/// The rules that explain all pairs. A rule that leads off the file's grid counts only
/// where no other explains them.
fn rules(pairs: &[(String, String)], levels: LevelWidths) -> Vec<IndentRule> {
    let mut out: Vec<IndentRule> = Vec::new();
    for unit in unit_changes(pairs, levels) {
        let plain = IndentRule { unit, shift: Shift::None };
        let rule = if explains_all(pairs, &plain) { Some(plain) } else { fit_shift(pairs, unit) };
        out.extend(rule.filter(|rule| !out.contains(rule)));
    }
    // A width that only new_str shows proves little against another rule.
    let shown_by_old = |rule: &IndentRule| levels.shown_by_old || !rule.unit.is_uncertain();
    if out.iter().any(|rule| rule.is_on_grid(levels) && shown_by_old(rule)) {
        out.retain(|rule| rule.is_on_grid(levels));
    }
    let by_steps = |rule: &IndentRule| match rule.unit {
        UnitChange::ToTabs(width) => levels.call == Some(width),
        UnitChange::ToSpaces(width) => levels.file == Some(width),
        UnitChange::Keep | UnitChange::Scale(..) | UnitChange::Stretch(..) => false,
    };
    if out.iter().any(by_steps) {
        out.retain(by_steps);
    }
    out.sort_by_key(IndentRule::cost);
    // If no change is needed, the other rules are dropped.
    if out.first().is_some_and(IndentRule::is_same) {
        out.truncate(1);
    }
    out
}

fn explains_all(pairs: &[(String, String)], rule: &IndentRule) -> bool {
    pairs.iter().all(|(from, to)| rule.apply(from).as_deref() == Some(to))
}

/// The move that explains all pairs once their unit is changed.
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

/// The changes of the unit that the pairs could show.
fn unit_changes(pairs: &[(String, String)], levels: LevelWidths) -> Vec<UnitChange> {
    let tabs =
        |side: fn(&(String, String)) -> &String| pairs.iter().any(|p| side(p).contains('\t'));
    let indented = pairs.iter().any(|(_, to)| !to.is_empty());
    let from_tabs = tabs(|p| &p.0) || levels.call_has_tabs && indented;
    let to_tabs = tabs(|p| &p.1);
    // The width that the steps show is the likeliest, but a step may be of two levels.
    let widths = |known: Option<usize>| -> Vec<usize> {
        let others = [4, 2, 8, 3].into_iter().filter(|width| Some(*width) != known);
        known.into_iter().chain(others).collect()
    };
    let mut out = vec![UnitChange::Keep];
    match (from_tabs, to_tabs) {
        (false, true) => out.extend(widths(levels.call).into_iter().map(UnitChange::ToTabs)),
        (true, false) => out.extend(widths(levels.file).into_iter().map(UnitChange::ToSpaces)),
        (true, true) => out.extend(widths(None).into_iter().map(UnitChange::ToTabs)),
        (false, false) => {
            let common = |side: fn(&(String, String)) -> &String| {
                pairs.iter().map(|p| side(p).len()).filter(|&w| w > 0).reduce(gcd)
            };
            let from = levels.call.or(levels.tentative).or_else(|| common(|p| &p.0));
            let to = levels.file.or_else(|| common(|p| &p.1));
            if let (Some(from), Some(to)) = (from, to)
                && from != to
                && from > 1
            {
                out.push(UnitChange::Scale(from, to));
                if from.is_multiple_of(to) || to.is_multiple_of(from) {
                    out.push(UnitChange::Stretch(from, to));
                }
            }
        }
    }
    out
}

/// Whether several levels of `part` make one step of `width`.
fn divides(part: usize, width: usize) -> bool {
    part < width && width.is_multiple_of(part)
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fit(pairs: &[(&str, &str)], file: Option<usize>) -> IndentMap {
        let pairs = pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned()));
        let levels = LevelWidths { file, ..LevelWidths::default() };
        IndentMap::fit(pairs.collect(), levels, levels)
    }

    fn apply(map: &IndentMap, indent: &str) -> Vec<Option<String>> {
        map.rules.iter().map(|rule| rule.apply(indent)).collect()
    }

    #[test]
    fn one_tab_too_few_everywhere() {
        let map = fit(&[("", "\t"), ("\t", "\t\t"), ("", "\t")], None);
        assert!(apply(&map, "\t\t").iter().all(|indent| indent.as_deref() == Some("\t\t\t")));
    }

    #[test]
    fn one_level_too_many() {
        let map = fit(&[("        ", "    "), ("            ", "        ")], Some(4));
        assert_eq!(apply(&map, "        "), [Some("    ".into())]);
        assert_eq!(apply(&map, ""), [None]);
    }

    #[test]
    fn a_level_of_another_width() {
        let map = fit(&[("    ", "\t"), ("        ", "\t\t")], None);
        assert_eq!(apply(&map, "            ")[0].as_deref(), Some("\t\t\t"));
        let map = fit(&[("  ", "    "), ("    ", "        ")], Some(4));
        let indents = apply(&map, "      ");
        assert!(
            indents.iter().all(|indent| indent.as_deref() == Some("            ")),
            "{indents:?}"
        );
    }

    #[test]
    fn a_lost_first_indent_is_excluded() {
        let map = fit(&[("", "    "), ("        ", "        "), ("    ", "    ")], Some(4));
        assert!(map.first_line_excluded);
        assert_eq!(apply(&map, "        "), [Some("        ".into())]);
    }

    #[test]
    fn an_irregular_map_answers_from_its_pairs() {
        let map = fit(&[("  ", "\t"), ("   ", "\t\t\t"), ("\t ", " ")], None);
        assert!(map.is_irregular());
        assert_eq!(map.lookup("   ", 0), ObservedIndent::As("\t\t\t"));
        assert_eq!(map.lookup("       ", 0), ObservedIndent::Unseen);
        let flat = fit(&[("", "    "), ("", "        "), ("", "        "), ("", "  ")], None);
        assert_eq!(flat.lookup("", 1), ObservedIndent::As("        "));
        assert_eq!(flat.lookup("", 0), ObservedIndent::Conflicting);
    }
}
