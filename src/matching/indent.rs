//! Indentation: from the pairs (what the call has, what the file has) to one map
//! that explains all of them, and that new lines go through.

use std::borrow::Cow;

/// The white space at the start of a line.
pub(super) fn of(line: &str) -> &str {
    &line[..line.len() - line.trim_start_matches([' ', '\t', '\u{a0}', '\u{3000}']).len()]
}

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

/// How the call's indentation becomes the file's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct IndentMap {
    rule: Option<(Unit, Shift)>,
    /// The first line follows a rule of its own (its indentation was lost).
    first_apart: bool,
    pairs: Vec<(String, String)>,
}

impl IndentMap {
    /// Fits a map to all pairs; if none fits, to all but the first; else it is
    /// irregular and maps only what it has seen. `unit` is the width of a level in the
    /// file, in spaces.
    pub(super) fn fit(pairs: Vec<(String, String)>, unit: Option<usize>) -> Self {
        let rule = fit_rule(&pairs, unit);
        let (rule, first_apart) = match rule {
            None if pairs.len() > 1 => (fit_rule(&pairs[1..], unit), true),
            rule => (rule, false),
        };
        let first_apart = first_apart && rule.is_some();
        Self { rule, first_apart, pairs }
    }

    /// How far the map is from no map at all; a smaller one is the likelier mistake.
    pub(super) fn rank(&self) -> u8 {
        let rule = match &self.rule {
            Some((Unit::Keep, Shift::None)) => 0,
            // One level alone does not tell a wider level from a shift.
            Some((Unit::Scale(..), Shift::None)) if self.levels() < 2 => 2,
            Some((_, Shift::None)) => 1,
            Some((Unit::Keep, _)) => 2,
            Some(_) => 3,
            None => 4,
        };
        rule * 2 + u8::from(self.first_apart)
    }

    /// The map, knowing the new lines too. A level of another width, where the pairs alone
    /// do not prove it, does not explain new lines that stand between two such levels, or
    /// that go deeper by the file's own levels; a move may.
    pub(super) fn seeing(&self, new: &[&str]) -> Self {
        let Some((Unit::Scale(from, to), shift)) = &self.rule else { return self.clone() };
        let margin =
            usize::from(*shift != Shift::None && self.pairs.iter().any(|p| p.0.is_empty()));
        let proven = 1 + usize::from(*shift != Shift::None);
        if self.levels() + margin > proven {
            return self.clone();
        }
        let solid = new.iter().filter(|line| !line.trim().is_empty());
        let depths: Vec<usize> =
            solid.skip(usize::from(self.first_apart)).map(|line| of(line).len()).collect();
        let between = depths.iter().any(|depth| !depth.is_multiple_of(*from));
        let mut deeper = depths.windows(2).filter(|two| two[1] > two[0]).peekable();
        let as_file = to > from
            && deeper.peek().is_some()
            && deeper.all(|two| (two[1] - two[0]).is_multiple_of(*to));
        let moved = [false, true].into_iter().filter(|_| between || as_file).find_map(|apart| {
            let shift = fit_shift(self.pairs.get(usize::from(apart)..)?, Unit::Keep)?;
            Some(Self { rule: Some((Unit::Keep, shift)), first_apart: apart, ..self.clone() })
        });
        moved.unwrap_or_else(|| self.clone())
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
        matches!(&self.rule, Some((_, shift)) if *shift != Shift::None)
    }

    /// What the first line has and what it has in the file, if it follows no rule.
    pub(super) fn first_lost(&self) -> Option<(&str, &str)> {
        let (from, to) = self.pairs.first().filter(|_| self.first_apart)?;
        Some((from, to))
    }

    /// Whether it changes nothing.
    pub(super) fn is_same(&self) -> bool {
        matches!(&self.rule, Some((Unit::Keep, Shift::None)))
    }

    /// The file's indentation for a new line's. `near` is the old line next to it,
    /// which an irregular map looks at first. `None` when nothing tells.
    pub(super) fn apply(&self, indent: &str, near: usize) -> Option<String> {
        if let Some((unit, shift)) = &self.rule
            && let Some(mapped) = apply_rule(*unit, shift, indent)
        {
            return Some(mapped);
        }
        let distance = |at: usize| at.abs_diff(near);
        let seen = self.pairs.iter().enumerate().filter(|(_, (from, _))| from == indent);
        seen.min_by_key(|(at, _)| distance(*at)).map(|(_, (_, to))| to.clone())
    }
}

fn apply_rule(unit: Unit, shift: &Shift, indent: &str) -> Option<String> {
    let unit = apply_unit(unit, indent);
    match shift {
        Shift::None => Some(unit.into_owned()),
        Shift::Deeper(by) => Some(format!("{by}{unit}")),
        Shift::Shallower(by) => unit.strip_prefix(by.as_str()).map(str::to_owned),
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

fn fit_rule(pairs: &[(String, String)], unit: Option<usize>) -> Option<(Unit, Shift)> {
    let units = units(pairs, unit);
    let plain = units.iter().find(|unit| fits(pairs, **unit, &Shift::None));
    if let Some(unit) = plain {
        return Some((*unit, Shift::None));
    }
    units.into_iter().find_map(|unit| Some((unit, fit_shift(pairs, unit)?)))
}

fn fits(pairs: &[(String, String)], unit: Unit, shift: &Shift) -> bool {
    pairs.iter().all(|(from, to)| apply_rule(unit, shift, from).as_deref() == Some(to))
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

/// The unit changes that the pairs could show, none first.
fn units(pairs: &[(String, String)], file: Option<usize>) -> Vec<Unit> {
    let tabs =
        |side: fn(&(String, String)) -> &String| pairs.iter().any(|p| side(p).contains('\t'));
    let (from_tabs, to_tabs) = (tabs(|p| &p.0), tabs(|p| &p.1));
    let mut out = vec![Unit::Keep];
    match (from_tabs, to_tabs) {
        (false, true) => out.extend([4, 2, 8, 3, 6, 1].map(Unit::ToTabs)),
        (true, false) => out.extend([4, 2, 8, 3, 6, 1].map(Unit::ToSpaces)),
        (true, true) => out.extend([4, 2, 8, 3].map(Unit::ToTabs)),
        (false, false) => {
            let unit = |side: fn(&(String, String)) -> &String| {
                let widths = pairs.iter().map(|p| side(p).len()).filter(|&w| w > 0);
                widths.reduce(gcd)
            };
            if let (Some(a), Some(b)) = (unit(|p| &p.0), unit(|p| &p.1))
                && a != b
                && a > 1
                // Another width of a level, or a shift? The file's own level tells.
                && file.is_none_or(|unit| unit == b)
            {
                out.push(Unit::Scale(a, b));
            }
        }
    }
    out
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
        assert_eq!(map.apply("\t\t", 0).as_deref(), Some("\t\t\t"));
    }

    #[test]
    fn one_level_too_many() {
        let map = fit(&[("        ", "    "), ("            ", "        ")]);
        assert_eq!(map.apply("        ", 0).as_deref(), Some("    "));
        assert_eq!(map.apply("", 0), None);
    }

    #[test]
    fn units_change_before_shifts() {
        let map = fit(&[("    ", "\t"), ("        ", "\t\t")]);
        assert_eq!(map.rank(), 2);
        assert_eq!(map.apply("            ", 0).as_deref(), Some("\t\t\t"));
        let map = fit(&[("\t", "  "), ("\t\t", "    ")]);
        assert_eq!(map.apply("\t\t\t", 0).as_deref(), Some("      "));
        let map = fit(&[("  ", "    "), ("    ", "        ")]);
        assert_eq!(map.apply("      ", 0).as_deref(), Some("            "));
        let map = fit(&[("", "\t"), ("    ", "\t\t")]);
        assert_eq!(map.apply("        ", 0).as_deref(), Some("\t\t\t"));
    }

    #[test]
    fn a_lost_first_indent_does_not_speak_for_the_rest() {
        let map = fit(&[("", "    "), ("        ", "        "), ("    ", "    ")]);
        assert!(map.is_same());
        assert_eq!(map.rank(), 1);
        assert_eq!(map.apply("        ", 1).as_deref(), Some("        "));
    }

    #[test]
    fn irregular_maps_only_what_was_seen() {
        let map = fit(&[("  ", "\t"), ("   ", "\t\t\t"), ("\t ", " ")]);
        assert_eq!(map.apply("   ", 0).as_deref(), Some("\t\t\t"));
        assert_eq!(map.apply("       ", 0), None);
    }
}
