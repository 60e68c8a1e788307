//! The steps that a file's indentation takes from a line to a deeper one, and how odd those
//! of new lines would be among them. Counts only: what a language allows is not known here.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::indent::{Rule, columns, of};

/// Whether a line is as deep as its block. The lines of a comment stand one blank deeper for
/// its sake alone.
pub(super) fn shows_depth(line: &str) -> bool {
    line.trim_start().chars().next().is_some_and(|first| first != '*')
}

/// How deep the shallowest line stands that shows it.
pub(super) fn least_depth(text: &str) -> Option<usize> {
    let mut least = None;
    for line in text.lines() {
        let indent = of(line);
        if !shows_depth(&line[indent.len()..]) {
            continue;
        }
        let depth = columns(indent, 4);
        least = Some(least.map_or(depth, |least: usize| least.min(depth)));
        if depth == 0 {
            break;
        }
    }
    least
}

/// What a line is to the one below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// It opens a block: the next goes deeper by a level.
    Block,
    /// It opens a bracket, within which some go deeper by more.
    Bracket,
    /// It is an item of a list, which goes on behind its mark.
    Item,
    /// It is only gone on with, as deep as anybody likes.
    Other,
}

impl Kind {
    fn of(line: &str) -> Self {
        match line {
            _ if line.trim_start().starts_with("- ") => Self::Item,
            _ if line.trim_end().ends_with(['(', '[']) => Self::Bracket,
            _ if opens(line) => Self::Block,
            _ => Self::Other,
        }
    }
}

/// Whether a line opens a block or a bracket, as its last characters tell.
pub(super) fn opens(line: &str) -> bool {
    let line = line.trim_end();
    line.ends_with(['{', '(', '[', ':']) || line.ends_with(" then") || line.ends_with(" do")
}

/// A line of the new text.
#[derive(Debug, Clone, Copy)]
pub(super) struct NewLine<'a> {
    pub(super) indent: &'a str,
    /// The file's indentation, if it is a line of the file.
    pub(super) known: Option<&'a str>,
    kind: Kind,
    /// How far behind its start the last bracket that stays open has its first item.
    within: Option<usize>,
}

impl<'a> NewLine<'a> {
    pub(super) fn new(line: &'a str, known: Option<&'a str>) -> Self {
        Self { indent: of(line), known, kind: Kind::of(line), within: within(line.trim()) }
    }
}

/// The column behind the last bracket that a line leaves open, if something stands there.
pub(super) fn within(line: &str) -> Option<usize> {
    let mut open: Vec<usize> = Vec::new();
    for (at, c) in line.chars().enumerate() {
        match c {
            '(' | '[' | '{' => open.push(at + 1),
            ')' | ']' | '}' => drop(open.pop()),
            _ => {}
        }
    }
    let last = *open.last()?;
    (last < line.chars().count()).then_some(last)
}

/// The steps from the lines of a file to the next deeper ones.
#[derive(Debug, Clone, Default)]
pub(super) struct Steps {
    counts: HashMap<String, usize>,
    /// Those below a line that opens a block or a bracket, and those below an item.
    blocks: HashMap<String, usize>,
    brackets: HashMap<String, usize>,
    items: HashMap<String, usize>,
    /// Those below a line that leaves a bracket open, and does not end in it.
    hanging: HashMap<String, usize>,
    total: usize,
    indents: HashSet<String>,
    has_tabs: bool,
}

impl Steps {
    pub(super) fn of<'a>(lines: impl Iterator<Item = &'a str>) -> Self {
        let mut steps = Self::default();
        let (mut above, mut last) = ("", "");
        let mut kind = Kind::Other;
        // The lines of a comment stand one blank deeper for its sake alone.
        for line in
            lines.filter(|line| !line.trim().is_empty() && !line.trim_start().starts_with('*'))
        {
            let indent = of(line);
            steps.has_tabs |= indent.contains('\t');
            if let Some(step) = indent.strip_prefix(above).filter(|step| !step.is_empty()) {
                *steps.counts.entry(step.to_owned()).or_default() += 1;
                let apart = match kind {
                    Kind::Block => Some(&mut steps.blocks),
                    Kind::Bracket => Some(&mut steps.brackets),
                    Kind::Item => Some(&mut steps.items),
                    Kind::Other => None,
                };
                if matches!(kind, Kind::Other) && super::code::brackets(last) > 0 {
                    *steps.hanging.entry(step.to_owned()).or_default() += 1;
                }
                if let Some(apart) = apart {
                    *apart.entry(step.to_owned()).or_default() += 1;
                }
                steps.total += 1;
            }
            (kind, last) = (Kind::of(line), line);
            if !steps.indents.contains(indent) {
                steps.indents.insert(indent.to_owned());
            }
            above = indent;
        }
        steps
    }

    /// Whether enough blocks open there to tell how deep blocks are.
    pub(super) fn tell_blocks(&self) -> bool {
        self.blocks.values().sum::<usize>() >= 10
    }

    /// Whether a line goes deeper so.
    pub(super) fn knows(&self, step: &str) -> bool {
        self.counts.contains_key(step)
    }

    /// The blanks of the commonest step; `None` where tabs indent, or nothing does.
    pub(super) fn unit(&self) -> Option<usize> {
        let count = |step: usize| self.counts.get(&" ".repeat(step)).copied().unwrap_or(0);
        let commonest = (1..=8).max_by_key(|&step| (count(step), step == 4));
        commonest.filter(|&step| !self.has_tabs && count(step) > 0)
    }

    /// The steps below a line that ends in an open bracket, and below one that leaves one open,
    /// if one is commoner than all others.
    pub(super) fn steps_in_brackets(&self) -> [Option<usize>; 2] {
        [&self.brackets, &self.hanging].map(|counts| {
            let most = counts.values().max()?;
            let mut widths = counts.iter().filter(|(_, count)| *count == most);
            let (step, _) = widths.next().filter(|_| widths.next().is_none())?;
            (!step.contains('\t')).then_some(step.len())
        })
    }

    /// The widths of the steps of blanks that are not rare, the commonest first.
    pub(super) fn levels(&self) -> Vec<usize> {
        let blank = |step: &&String| !step.contains('\t');
        let mut levels: Vec<(usize, usize)> =
            self.counts.keys().filter(blank).map(|step| (self.counts[step], step.len())).collect();
        levels.retain(|(count, width)| count * 20 >= self.total && (1..=8).contains(width));
        levels.sort_unstable_by_key(|(count, width)| (std::cmp::Reverse(*count), *width));
        levels.into_iter().map(|(_, width)| width).collect()
    }

    /// How odd it would be if lines stood so in the file.
    pub(super) fn oddness(&self, lines: &[NewLine<'_>]) -> Odd {
        let stays = Rule::keep();
        self.judge(&stays, lines).odd
    }

    /// How odd new lines would stand in the file if a rule moved them: by the worst step
    /// to a deeper one.
    pub(super) fn judge(&self, rule: &Rule, new: &[NewLine<'_>]) -> Verdict {
        let mut worst = Verdict::default();
        let mut above: Option<(Cow<'_, str>, &NewLine<'_>)> = None;
        for line @ &NewLine { indent, known, .. } in new.iter().skip(usize::from(rule.first_apart))
        {
            let depth = known.map(Cow::Borrowed).or_else(|| rule.apply(indent).map(Cow::Owned));
            let Some(depth) = depth else { return Verdict { odd: Odd::Impossible, share: 0 } };
            if known.is_none() && rule.splits(indent) {
                worst.odd = worst.odd.max(Odd::Never);
            }
            if let Some((above, one)) = &above
                && (known.is_none() || one.known.is_none())
                && one.within.is_none_or(|more| depth.len() != above.len() + more)
            {
                let step = self.verdict(above, &depth, one.kind);
                worst.odd = worst.odd.max(step.odd);
                worst.share = worst.share.min(step.share);
            }
            above = Some((depth, line));
        }
        worst
    }

    /// Whether a new line would stand many columns deeper than the one above it, as none in the
    /// file does, and not behind a bracket.
    pub(super) fn is_far(&self, rule: &Rule, new: &[NewLine<'_>]) -> bool {
        const FAR: usize = 16;
        new.windows(2).any(|pair| {
            let depth = |line: &NewLine<'_>| {
                line.known.map(str::to_owned).or_else(|| rule.apply(line.indent))
            };
            let (Some(above), Some(below)) = (depth(&pair[0]), depth(&pair[1])) else {
                return false;
            };
            let Some(step) = below.strip_prefix(above.as_str()) else { return false };
            pair[1].known.is_none()
                && step.len() >= FAR
                && !step.contains('\t')
                && !self.counts.contains_key(step)
                && pair[0].within != Some(step.len())
        })
    }

    fn verdict(&self, above: &str, below: &str, kind: Kind) -> Verdict {
        let Some(step) = below.strip_prefix(above) else {
            let odd = match columns(below, 4) > columns(above, 4) {
                false => Odd::Seen,
                true if self.indents.contains(below) => Odd::Rare,
                true => Odd::Mixed,
            };
            return Verdict { odd, ..Verdict::default() };
        };
        let tabs = |step: &str| step.contains('\t');
        let enough =
            |counts: &HashMap<String, usize>, least: usize| counts.values().sum::<usize>() >= least;
        let counts = match kind {
            Kind::Block if enough(&self.blocks, 5) => &self.blocks,
            Kind::Bracket if enough(&self.brackets, 5) => &self.brackets,
            Kind::Item if enough(&self.items, 1) => &self.items,
            _ => &self.counts,
        };
        let total: usize = counts.values().sum();
        let seen = counts.get(step).copied().unwrap_or(0);
        if step.is_empty() || total == 0 {
            return Verdict::default();
        }
        // Behind its mark an item goes on.
        if kind == Kind::Item && step == "  " {
            return Verdict::default();
        }
        let share = seen * 1_000 / total;
        let odd = if share >= 50 {
            Odd::Seen
        } else if !self.counts.keys().any(|known| tabs(known) == tabs(step))
            && !self.indents.contains(below)
        {
            Odd::Mixed
        } else if seen > 0 || kind == Kind::Other && enough(&self.blocks, 5) {
            // What goes on a line stands as deep as anybody likes.
            Odd::Rare
        } else {
            Odd::Never
        };
        Verdict { odd, share }
    }
}

/// What the steps of new lines would be in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) odd: Odd,
    /// How many of a thousand steps of the file are like the oddest of them.
    pub(super) share: usize,
}

impl Default for Verdict {
    fn default() -> Self {
        Self { odd: Odd::Seen, share: 1_000 }
    }
}

/// How odd a step is in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) enum Odd {
    #[default]
    Seen,
    Rare,
    Never,
    /// Of another kind of white space than all others.
    Mixed,
    /// Not to be had by the rule.
    Impossible,
}
