//! Indentation: from the pairs (what the call has, what the file has) to one map
//! that explains all of them, and that new lines go through.

use std::borrow::Cow;

use super::steps::{NewLine, Odd, Steps, Verdict};

/// The white space at the start of a line.
pub(super) fn of(line: &str) -> &str {
    // Every line of every call comes here, and few have other blanks than these.
    let plain = line.bytes().take_while(|b| matches!(b, b' ' | b'\t')).count();
    if line.as_bytes().get(plain).is_none_or(u8::is_ascii) {
        return &line[..plain];
    }
    &line[..line.len() - line.trim_start_matches([' ', '\t', NBSP, '\u{3000}']).len()]
}

/// A blank that does not break, which some models indent with.
pub(super) const NBSP: char = '\u{a0}';

/// A change of the unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Keep,
    /// n spaces become a tab.
    ToTabs(usize),
    /// A tab becomes n spaces.
    ToSpaces(usize),
    /// a spaces become b.
    Scale(usize, usize),
}

/// A uniform move.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Shift {
    None,
    Deeper(String),
    Shallower(String),
}

/// A unit change and a move that explain all pairs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rule {
    unit: Unit,
    shift: Shift,
    /// The first line follows a rule of its own (its indentation was lost).
    pub(super) first_apart: bool,
    /// A few lines were indented by accident; the rule is that of the others.
    most: bool,
}

impl Rule {
    /// Every line stays where it is.
    pub(super) fn keep() -> Self {
        Self { unit: Unit::Keep, shift: Shift::None, first_apart: false, most: false }
    }

    fn explains(&self, (from, to): &(String, String)) -> bool {
        self.apply(from).as_deref() == Some(to)
    }

    /// Whether a line stands between two of the levels that it says the call has.
    pub(super) fn splits(&self, indent: &str) -> bool {
        matches!(self.unit, Unit::Scale(from, _) if !indent.len().is_multiple_of(from))
    }

    pub(super) fn apply(&self, indent: &str) -> Option<String> {
        let unit = apply_unit(self.unit, indent);
        match &self.shift {
            Shift::None => Some(unit.into_owned()),
            Shift::Deeper(by) => Some(format!("{by}{unit}")),
            Shift::Shallower(by) => unit.strip_prefix(by.as_str()).map(str::to_owned),
        }
    }
}

/// How the call's indentation becomes the file's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct IndentMap {
    rule: Option<Rule>,
    pairs: Vec<(String, String)>,
}

impl IndentMap {
    /// Fits a map to all pairs; if none fits, to all but the first; else it is
    /// irregular and maps only what it has seen.
    pub(super) fn fit(mut pairs: Vec<(String, String)>, unit: Option<usize>) -> Self {
        if pairs.iter().all(|(_, to)| !to.contains(NBSP)) {
            pairs.iter_mut().for_each(|(from, _)| *from = from.replace(NBSP, " "));
        }
        let rule = rules(&pairs, unit.as_slice(), &[]).into_iter().next();
        Self { rule, pairs }
    }

    /// How far the map is from no map at all; a smaller one is the likelier mistake.
    pub(super) fn rank(&self) -> u8 {
        let Some(rule) = self.rule.as_ref().filter(|rule| !rule.most) else { return 8 };
        let rank = match (rule.unit, &rule.shift) {
            (Unit::Keep, Shift::None) => 0,
            // One level alone does not tell a wider level from a shift.
            (Unit::Scale(..), Shift::None) if self.levels() < 2 => 2,
            (_, Shift::None) => 1,
            (Unit::Keep, _) => 2,
            _ => 3,
        };
        rank * 2 + u8::from(rule.first_apart)
    }

    /// The likeliest map, knowing the new lines too, and after it those that are as likely.
    /// All explain the pairs, but new lines may stand at depths that no pair shows. There
    /// the rule of the fewest mistakes holds, unless it has them go deeper by steps that the
    /// file does not take, and another does not.
    pub(super) fn seeing(&self, new: &[NewLine<'_>], steps: &Steps) -> Vec<Self> {
        if self.is_settled() {
            return vec![self.clone()];
        }
        let indents: Vec<&str> = new.iter().map(|line| line.indent).collect();
        let rules = rules(&self.pairs, &steps.levels(), &indents);
        let mut rules: Vec<(Verdict, usize, Rule)> = rules
            .into_iter()
            .map(|rule| (steps.judge(&rule, new), self.mistakes(&rule), rule))
            .collect();
        // What cannot be is out, as long as anything can.
        let kinds = [' ', '\t'].iter().filter(|kind| indents.iter().any(|i| i.contains(**kind)));
        let limit = if kinds.count() < 2 { Odd::Mixed } else { Odd::Impossible };
        let least = rules.iter().map(|(verdict, ..)| verdict.odd).min().unwrap_or_default();
        rules.retain(|(verdict, ..)| verdict.odd < limit || verdict.odd == least);
        rules.sort_by_key(|(verdict, mistakes, _)| (*mistakes, verdict.odd));
        let Some(&(first, fewest, _)) = rules.first() else { return vec![self.clone()] };
        rules.retain(|(verdict, mistakes, _)| match first.odd {
            Odd::Seen if *mistakes == fewest => verdict.odd <= Odd::Rare,
            Odd::Seen => verdict.share > first.share,
            _ => *mistakes == fewest || verdict.odd < first.odd,
        });
        let map = |(_, _, rule)| Self { rule: Some(rule), ..self.clone() };
        let mut maps: Vec<Self> = rules.into_iter().map(map).collect();
        // A line that is so far in, below no bracket, says that the call has levels of some
        // width, and not of which.
        if let Some(rule) = maps.first().and_then(|map| map.rule.clone())
            && rule.unit == Unit::Keep
            && steps.is_far(&rule, new)
        {
            let other = Rule { unit: Unit::Scale(2, 1), ..rule };
            maps.push(Self { rule: Some(other), ..self.clone() });
        }
        // A first line that lost a part of its indentation may be the one that shows that the
        // levels have another width.
        if self.pairs.first().is_some_and(|(from, _)| !from.is_empty())
            && maps.first().and_then(|map| map.rule.as_ref()).is_some_and(|rule| rule.first_apart)
            && let Some((from, to)) = growth(&self.pairs)
            && from != to
            && let unit = Unit::Scale(from, to)
            && let Some(shift) = fit_shift(&self.pairs, unit)
        {
            let other = Rule { unit, shift, first_apart: false, most: false };
            maps.push(Self { rule: Some(other), ..self.clone() });
        }
        maps
    }

    /// Whether new lines tell nothing more: there is no rule, or none of a mistake.
    pub(super) fn is_settled(&self) -> bool {
        self.rule.as_ref().is_none_or(|rule| self.mistakes(rule) == 0)
    }

    /// How many mistakes of a model it takes for a rule.
    fn mistakes(&self, rule: &Rule) -> usize {
        // A first line that lost its indentation lost all of it.
        let lost = self.pairs.first().is_some_and(|(from, _)| from.is_empty());
        usize::from(rule.unit != Unit::Keep)
            + usize::from(rule.shift != Shift::None)
            + usize::from(rule.first_apart) * if lost { 1 } else { 2 }
    }

    /// How many depths the call shows, the margin aside.
    fn levels(&self) -> usize {
        let mut seen: Vec<&str> = self.pairs.iter().map(|(from, _)| from.as_str()).collect();
        seen.sort_unstable();
        seen.dedup();
        seen.iter().filter(|indent| !indent.is_empty()).count()
    }

    /// Whether one rule moves all lines, so that new lines may have been moved or not.
    pub(super) fn is_shift(&self) -> bool {
        self.rule.as_ref().is_some_and(|rule| rule.shift != Shift::None)
    }

    /// Whether the call indents with blanks that do not break, and the file does not.
    pub(super) fn mends_blanks(&self, indent: &str) -> bool {
        indent.contains(NBSP) && self.pairs.iter().all(|(_, to)| !to.contains(NBSP))
    }

    /// Whether a line as deep as this one stands elsewhere than the rule would have it.
    pub(super) fn is_odd(&self, indent: &str) -> bool {
        let away = |(from, to): &(String, String)| from == indent && from != to;
        self.pairs.iter().any(away)
    }

    /// Whether a depth of the call stands for several of the file.
    pub(super) fn is_ambiguous(&self, indent: &str) -> bool {
        let mut seen = self.pairs.iter().filter(|(from, _)| from == indent).map(|(_, to)| to);
        let first = seen.next();
        self.rule.is_none() && seen.any(|to| Some(to) != first)
    }

    /// Whether one rule tells where every line goes, the first included.
    pub(super) fn is_whole(&self) -> bool {
        self.rule.as_ref().is_some_and(|rule| !rule.first_apart)
    }

    /// Whether levels of the call have another width than those of the file.
    pub(super) fn is_scale(&self) -> bool {
        self.rule.as_ref().is_some_and(|rule| rule.unit != Unit::Keep)
    }

    /// Whether one rule explains every line.
    pub(super) fn is_uniform(&self) -> bool {
        self.rule.as_ref().is_some_and(|rule| !rule.first_apart && !rule.most)
    }

    /// Whether the rule puts a line where the file has it, or it only lost its indentation.
    pub(super) fn explains(&self, from: &str, to: &str) -> bool {
        from.is_empty()
            || self.rule.as_ref().is_none_or(|rule| rule.apply(from).as_deref() == Some(to))
    }

    /// What the first line has and what it has in the file, if it follows no rule.
    pub(super) fn first_lost(&self) -> Option<(&str, &str)> {
        let apart = self.rule.as_ref().is_some_and(|rule| rule.first_apart);
        let (from, to) = self.pairs.first().filter(|_| apart)?;
        Some((from, to))
    }

    /// Whether the first line stands as it is, and the others do not.
    pub(super) fn starts_right(&self) -> bool {
        self.first_lost().is_some_and(|(from, to)| from == to && !from.is_empty())
    }

    /// Whether it changes nothing.
    pub(super) fn is_same(&self) -> bool {
        let same = |rule: &Rule| rule.unit == Unit::Keep && rule.shift == Shift::None;
        self.rule.as_ref().is_some_and(same)
    }

    /// The file's indentation for a new line's. `None` when nothing tells: where no rule
    /// holds, one depth of the call may stand for several of the file.
    pub(super) fn apply(&self, indent: &str) -> Option<String> {
        if let Some(rule) = &self.rule {
            // What the call has in tabs already was written as the file has it.
            let tabbed = |(from, _): &(String, String)| from.contains('\t');
            if matches!(rule.unit, Unit::ToTabs(_))
                && rule.shift == Shift::None
                && indent.starts_with('\t')
                && !self.pairs.iter().any(tabbed)
            {
                return Some(indent.to_owned());
            }
            // As deep as a line that was indented by accident: by accident, too?
            // So is what stands within its block.
            let odd = |pair: &(String, String)| {
                let nearer = |other: &(String, String)| {
                    other.0.len() > pair.0.len()
                        && indent.starts_with(&other.0)
                        && rule.explains(other)
                };
                let within = !pair.0.is_empty()
                    && indent.starts_with(&pair.0)
                    && !self.pairs.iter().any(nearer);
                (pair.0 == indent || within) && !rule.explains(pair)
            };
            if rule.most && self.pairs.iter().any(odd) {
                return None;
            }
            let seen = self.pairs.iter().any(|(from, _)| from == indent);
            if let Some(mapped) = rule.apply(indent).filter(|_| seen || !rule.splits(indent)) {
                return Some(mapped);
            }
        }
        let mut seen = self.pairs.iter().filter(|(from, _)| from == indent).map(|(_, to)| to);
        let to = seen.next()?;
        let alone = self.pairs.iter().all(|(from, other)| from == indent || other != to);
        (alone && seen.all(|other| other == to)).then(|| to.clone())
    }
}

fn apply_unit(unit: Unit, indent: &str) -> Cow<'_, str> {
    match unit {
        Unit::Keep => Cow::Borrowed(indent),
        Unit::ToSpaces(n) => Cow::Owned(indent.replace('\t', &" ".repeat(n))),
        Unit::ToTabs(n) => {
            let width = columns(indent, n);
            Cow::Owned("\t".repeat(width / n) + &" ".repeat(width % n))
        }
        Unit::Scale(a, b) => {
            let width = indent.chars().count();
            Cow::Owned(" ".repeat(width / a * b + width % a))
        }
    }
}

/// Width in columns, a tab counting `tab`.
pub(super) fn columns(indent: &str, tab: usize) -> usize {
    indent.chars().map(|c| if c == '\t' { tab } else { 1 }).sum()
}

/// The rules that explain all pairs, the likelier first; those that take the first line
/// apart come last. `new` are the indents of the new lines, which may show a unit that the
/// pairs do not.
fn rules(pairs: &[(String, String)], levels: &[usize], new: &[&str]) -> Vec<Rule> {
    let mut found: Vec<Rule> = Vec::new();
    for first_apart in [false, true] {
        let (all, pairs) = (pairs, &pairs[usize::from(first_apart).min(pairs.len())..]);
        if first_apart && pairs.is_empty() {
            break;
        }
        // All as deep as the first one, and elsewhere in the file: the depths of the call are lost.
        let flat = |first: &(String, String)| {
            pairs.iter().all(|(from, _)| *from == first.0)
                && pairs.iter().any(|(from, to)| *to != first.1 && from != to)
        };
        if first_apart && all.first().is_some_and(flat) {
            break;
        }
        let units = units(pairs, levels, new);
        let plain = units.iter().filter(|unit| fits(pairs, **unit, &Shift::None));
        let plain = plain.map(|unit| (*unit, Shift::None));
        let moved = units.iter().filter_map(|unit| Some((*unit, fit_shift(pairs, *unit)?)));
        for (unit, shift) in plain.chain(moved) {
            let known = |rule: &&Rule| rule.unit == unit && rule.shift == shift;
            if !found.iter().any(|rule| known(&rule)) {
                found.push(Rule { unit, shift, first_apart, most: false });
            }
        }
    }
    if found.is_empty() {
        found.extend(rule_of_most(pairs, levels, new));
    }
    found
}

/// The one rule that explains two thirds of the pairs, though not all.
fn rule_of_most(pairs: &[(String, String)], levels: &[usize], new: &[&str]) -> Option<Rule> {
    let mut rules: Vec<(usize, Rule)> = Vec::new();
    for unit in units(pairs, levels, new) {
        let one = |pair| fit_shift(std::slice::from_ref(pair), unit);
        let moved =
            pairs.iter().filter_map(one).filter(|shift| *shift != Shift::Deeper(String::new()));
        for shift in std::iter::once(Shift::None).chain(moved) {
            let rule = Rule { unit, shift, first_apart: false, most: true };
            // So many different moves are no accident of a few lines.
            if rules.len() < 64 && !rules.iter().any(|(_, known)| *known == rule) {
                let fits = pairs.iter().filter(|pair| rule.explains(pair)).count();
                rules.push((fits, rule));
            }
        }
    }
    let best = rules.iter().map(|(fits, _)| *fits).max()?;
    let mut likeliest = rules.iter().filter(|(fits, _)| *fits == best);
    let (fits, rule) = likeliest.next()?;
    // One depth of the call that stands for several of the file is no accident of a line.
    let torn = pairs
        .iter()
        .filter(|pair| !rule.explains(pair))
        .any(|(from, _)| pairs.iter().any(|other| other.0 == *from && rule.explains(other)));
    let clear = likeliest.next().is_none() && !torn;
    (clear && *fits >= 2 && fits * 3 >= pairs.len() * 2).then(|| rule.clone())
}

fn fits(pairs: &[(String, String)], unit: Unit, shift: &Shift) -> bool {
    let rule = Rule { unit, shift: shift.clone(), first_apart: false, most: false };
    pairs.iter().all(|pair| rule.explains(pair))
}

/// The move that explains all pairs once their unit is changed.
fn fit_shift(pairs: &[(String, String)], unit: Unit) -> Option<Shift> {
    for (from, to) in pairs {
        let from = apply_unit(unit, from);
        let shift = if let Some(by) = to.strip_suffix(from.as_ref()) {
            Shift::Deeper(by.to_owned())
        } else {
            Shift::Shallower(from.strip_suffix(to.as_str())?.to_owned())
        };
        if fits(pairs, unit, &shift) {
            return Some(shift);
        }
    }
    None
}

/// The unit changes that the pairs and the new lines could show, none first.
fn units(pairs: &[(String, String)], file: &[usize], new: &[&str]) -> Vec<Unit> {
    let call = || pairs.iter().map(|pair| pair.0.as_str()).chain(new.iter().copied());
    let from_tabs = call().any(|indent| indent.contains('\t'));
    let to_tabs = pairs.iter().any(|pair| pair.1.contains('\t'));
    let mut out = vec![Unit::Keep];
    match (from_tabs, to_tabs) {
        (false, true) => out.extend([4, 2, 8, 3, 6, 1].map(Unit::ToTabs)),
        (true, false) => out.extend([4, 2, 8, 3, 6, 1].map(Unit::ToSpaces)),
        (true, true) => out.extend([4, 2, 8, 3].map(Unit::ToTabs)),
        (false, false) => {
            let gcd_of = |side: fn(&(String, String)) -> &String| {
                let widths = pairs.iter().map(|p| side(p).len()).filter(|&w| w > 0);
                widths.reduce(gcd)
            };
            let (from, to) = (gcd_of(|p| &p.0), gcd_of(|p| &p.1));
            let level = new.iter().map(|i| i.len()).filter(|&w| w > 0).reduce(gcd);
            let scale = |unit: usize| match (from, to) {
                // Another width of a level, or a shift? The file's own levels tell.
                (Some(a), Some(b)) => {
                    let fits = b.is_multiple_of(unit) && (a * unit).is_multiple_of(b);
                    fits.then(|| (a * unit / b, unit))
                }
                // Only new lines show a level.
                (None, _) => {
                    level.filter(|level| [2, 3, 4].contains(level)).map(|level| (level, unit))
                }
                _ => None,
            };
            let mut scales: Vec<(usize, usize)> =
                file.iter().filter_map(|&unit| scale(unit)).collect();
            if scales.is_empty() {
                let reduced = |(from, to)| {
                    let part = gcd(from, to).max(1);
                    if from > 8 { (from / part, to / part) } else { (from, to) }
                };
                scales.extend(from.zip(to).map(reduced));
            }
            // Another width and a move at once, where the new lines show the width.
            let fits = |a: usize| call().all(|indent| indent.len().is_multiple_of(a));
            if level.is_some() {
                let widths = [2, 3, 4, 8].into_iter().filter(|a| fits(*a));
                scales.extend(widths.flat_map(|a| file.iter().map(move |b| (a, *b))));
            }
            scales.extend(ratio(pairs));
            // Nobody indents by more than eight blanks.
            let scales =
                scales.into_iter().filter(|(a, b)| a != b && (2..=8).contains(a) && *b <= 8);
            out.extend(scales.map(|(a, b)| Unit::Scale(a, b)));
        }
    }
    out
}

/// How the widths of the call and of the file grow between two depths. Two depths have some
/// ratio always: it takes a third one, or a distance that no slip of a line has.
fn ratio(pairs: &[(String, String)]) -> Option<(usize, usize)> {
    const FAR: usize = 16;
    let mut depths: Vec<usize> = pairs.iter().map(|(from, _)| from.len()).collect();
    depths.sort_unstable();
    depths.dedup();
    if depths.len() < 3 && depths.last()? - depths.first()? < FAR {
        return None;
    }
    growth(pairs)
}

/// The same between the first line and one at another depth.
fn growth(pairs: &[(String, String)]) -> Option<(usize, usize)> {
    let (first, rest) = pairs.split_first()?;
    let other = rest.iter().find(|(from, _)| from.len() != first.0.len())?;
    let grow = |a: &str, b: &str| a.len().cast_signed() - b.len().cast_signed();
    let (from, to) = (grow(&other.0, &first.0), grow(&other.1, &first.1));
    if from.signum() != to.signum() {
        return None;
    }
    let (from, to) = (from.unsigned_abs(), to.unsigned_abs());
    let part = gcd(from, to).max(1);
    let (from, to) = (from / part, to / part);
    (from <= 8 && to <= 8).then_some((from, to))
}

pub(super) fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fit(pairs: &[(&str, &str)]) -> IndentMap {
        IndentMap::fit(
            pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect(),
            None,
        )
    }

    #[test]
    fn one_tab_too_few_everywhere() {
        let map = fit(&[("", "\t"), ("\t", "\t\t"), ("", "\t")]);
        assert!(map.is_shift());
        assert_eq!(map.apply("\t\t").as_deref(), Some("\t\t\t"));
    }

    #[test]
    fn one_level_too_many() {
        let map = fit(&[("        ", "    "), ("            ", "        ")]);
        assert_eq!(map.apply("        ").as_deref(), Some("    "));
        assert_eq!(map.apply(""), None);
    }

    #[test]
    fn units_change_before_shifts() {
        let map = fit(&[("    ", "\t"), ("        ", "\t\t")]);
        assert_eq!(map.rank(), 2);
        assert_eq!(map.apply("            ").as_deref(), Some("\t\t\t"));
        let map = fit(&[("\t", "  "), ("\t\t", "    ")]);
        assert_eq!(map.apply("\t\t\t").as_deref(), Some("      "));
        let map = fit(&[("  ", "    "), ("    ", "        ")]);
        assert_eq!(map.apply("      ").as_deref(), Some("            "));
        let map = fit(&[("", "\t"), ("    ", "\t\t")]);
        assert_eq!(map.apply("        ").as_deref(), Some("\t\t\t"));
    }

    #[test]
    fn a_lost_first_indent_does_not_speak_for_the_rest() {
        let map = fit(&[("", "    "), ("        ", "        "), ("    ", "    ")]);
        assert!(map.is_same());
        assert_eq!(map.rank(), 1);
        assert_eq!(map.apply("        ").as_deref(), Some("        "));
    }

    #[test]
    fn irregular_maps_only_what_was_seen() {
        let map = fit(&[("  ", "\t"), ("   ", "\t\t\t"), ("\t ", " ")]);
        assert_eq!(map.apply("   ").as_deref(), Some("\t\t\t"));
        assert_eq!(map.apply("       "), None);
    }

    #[test]
    fn new_depths_go_by_the_steps_of_the_file() {
        let new = ["  if a {", "    b();", "  }"].map(|line| NewLine::new(line, None));
        let map = IndentMap::fit(vec![("  ".to_owned(), "    ".to_owned())], Some(4));
        let depths = |file: &str| -> Vec<Option<String>> {
            let maps = map.seeing(&new, &Steps::of(file.lines()));
            maps.iter().map(|map| map.apply("    ")).collect()
        };
        let of = |width: usize| Some(" ".repeat(width));
        // Four blanks a level: the call has two, so it is half as deep.
        assert_eq!(depths("a {\n    b {\n        c\n"), [of(8)]);
        // Two a level: every line is two too shallow.
        assert_eq!(depths("a {\n  b {\n    c\n"), [of(6)]);
        // Both: nothing tells.
        assert_eq!(depths("a {\n  b {\n      c\n").len(), 2);
    }

    #[test]
    fn one_depth_for_several_tells_nothing() {
        let map = fit(&[("", "    "), ("", "        "), ("", "    ")]);
        assert!(map.is_ambiguous(""));
        assert_eq!(map.apply(""), None);
        let map = fit(&[("    ", "    "), ("    ", "    "), ("        ", "    ")]);
        assert_eq!(map.apply("    ").as_deref(), Some("    "));
        assert_eq!(map.apply("        "), None);
    }
}
