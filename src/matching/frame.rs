//! At which depth a call wrote its new text: as deep as its old one, or as deep as the file.
//! A model that quotes the old text too shallow often writes the new one where it shall stand.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::canon::is_word;
use super::indent::{self, IndentMap};
use super::source::Source;
use super::steps::{NewLine, opens, shows_depth};
use super::window::{Step, Window};

/// So many lines up what holds a line is looked for.
const FAR: usize = 500;

const MIXED: &str =
    "some lines of new_str stand as in the file, others elsewhere; nothing tells which is meant";

pub(super) const OTHERWISE: &str =
    "new_str is indented otherwise than old_str; whether that is meant, nothing tells";

/// What is looked at.
pub(super) struct Texts<'a, 't> {
    pub(super) source: &'a Source<'t>,
    pub(super) window: &'a Window,
    pub(super) old: &'a [&'a str],
    pub(super) new: &'a [&'a str],
}

/// The call in one frame, and the way from there to the file's.
pub(super) struct Frame<'a> {
    pub(super) old: Vec<Cow<'a, str>>,
    pub(super) new: Vec<Cow<'a, str>>,
    pub(super) map: IndentMap,
}

/// The frame of the new text, or why nothing tells which it is.
pub(super) fn of<'a>(texts: &Texts<'a, '_>, map: &IndentMap) -> Result<Frame<'a>, &'static str> {
    let borrowed = |lines: &'a [&'a str]| lines.iter().map(|line| Cow::Borrowed(*line)).collect();
    let mut new: Vec<Cow<'a, str>> = borrowed(texts.new);
    let same = || IndentMap::fit(Vec::new(), None);
    if let Some(margin) = texts.only_line_lost() {
        match texts.stands_by_itself(margin) {
            Some(true) => {
                let first = texts.new.iter().position(|line| !line.trim().is_empty()).unwrap_or(0);
                new[first] = Cow::Owned(format!("{margin}{}", texts.new[first]));
                let old = texts.old.iter().map(|line| match line.trim().is_empty() {
                    true => Cow::Borrowed(*line),
                    false => Cow::Owned(format!("{margin}{line}")),
                });
                return Ok(Frame { old: old.collect(), new, map: same() });
            }
            Some(false) => {}
            None => {
                return Err(
                    "how deep the further lines of new_str are to stand can be read in two ways",
                );
            }
        }
    }
    if let Some((at, margin)) = texts.first_line_stripped() {
        new[at] = Cow::Owned(format!("{margin}{}", texts.new[at]));
    }
    let tabs = |lines: &[&str]| lines.iter().any(|line| indent::of(line).contains('\t'));
    if !map.is_same() && tabs(texts.new) && !tabs(texts.old) && !texts.file_has_tabs() {
        return Err("new_str is indented with tabs, which neither old_str nor the file is");
    }
    match texts.file_depth(map)? {
        Some(quoted) => {
            let lines: Vec<&str> = quoted.iter().map(String::as_str).collect();
            let inner = Texts { old: &lines, ..*texts };
            let lost = inner.first_line_stripped().map(|(at, margin)| (at, margin.to_owned()));
            if let Some((at, margin)) = lost {
                new[at] = Cow::Owned(format!("{margin}{}", texts.new[at]));
            }
            let old = quoted.into_iter().map(Cow::Owned).collect();
            Ok(Frame { old, new, map: same() })
        }
        None if (map.is_shift() || texts.differ()) && starts_elsewhere(texts.old, texts.new) => {
            Err("old_str and new_str start at different depths, and neither is the file's")
        }
        None => Ok(Frame { old: borrowed(texts.old), new, map: map.clone() }),
    }
}

impl<'a> Texts<'a, '_> {
    /// Whether more is changed than the indentation.
    fn differ(&self) -> bool {
        let solid = |lines: &[&'a str]| -> Vec<&'a str> {
            lines.iter().map(|line| line.trim()).filter(|line| !line.is_empty()).collect()
        };
        solid(self.old) != solid(self.new)
    }

    fn file_has_tabs(&self) -> bool {
        self.window.pieces().any(|piece| indent::of(self.source.body(piece.line)).contains('\t'))
    }

    /// The indentation of the file's line, if `old` is that line alone without it.
    fn only_line_lost(&self) -> Option<&'a str> {
        let mut solid = self.window.steps.iter().filter_map(|step| match *step {
            Step::Pair(at, piece) if !self.old[at].trim().is_empty() => Some((at, piece)),
            _ => None,
        });
        let (at, piece) = solid.next().filter(|(_, piece)| piece.from_start)?;
        let margin = indent::of(self.source.body(piece.line));
        let alone = solid.next().is_none() && indent::of(self.old[at]).is_empty();
        (alone && !margin.is_empty()).then_some(margin)
    }

    /// Whether the further lines of `new` stand at their place in the file already, though the
    /// first one lost its indentation as `old` did. `None` where both can be.
    fn stands_by_itself(&self, margin: &str) -> Option<bool> {
        let mut solid = self.new.iter().filter(|line| !line.trim().is_empty());
        let Some(first) = solid.next().filter(|first| indent::of(first).is_empty()) else {
            return Some(false);
        };
        let further: Vec<&str> = solid.copied().collect();
        let deep = |line: &&str| indent::of(line).starts_with(margin);
        if further.is_empty() || !further.iter().all(deep) {
            return Some(false);
        }
        let below = indent::of(further[0]);
        let closes = super::fit::closes(further[0]);
        // What opens a block is deeper than the block's head.
        if opens(first) && below == margin && !closes {
            return Some(false);
        }
        let lines = |add: &str| -> Vec<String> {
            let further = further.iter().map(|line| format!("{add}{line}"));
            std::iter::once(format!("{margin}{first}")).chain(further).collect()
        };
        let odd = |lines: &[String]| {
            let lines: Vec<NewLine<'_>> =
                lines.iter().map(|line| NewLine::new(line, None)).collect();
            self.source.steps().oddness(&lines)
        };
        let goes_on = opens(first) || super::fit::goes_on(Some(first), further[0]);
        match (odd(&lines("")), odd(&lines(margin))) {
            _ if !goes_on => Some(true),
            (here, deeper) if here < deeper => Some(true),
            (here, deeper) if here > deeper => Some(false),
            _ => None,
        }
    }

    /// The first line of `new` and the indentation of the first line of `old`, if it lost that
    /// and the lines below it did not.
    fn first_line_stripped(&self) -> Option<(usize, &'a str)> {
        let solid = |line: &&str| !line.trim().is_empty();
        let (first, piece) = self.window.steps.iter().find_map(|step| match *step {
            Step::Pair(at, piece) if solid(&self.old[at]) => Some((self.old[at], piece)),
            _ => None,
        })?;
        let margin = indent::of(first);
        // A first line that was too deep itself may stand right now.
        if !piece.from_start || indent::of(self.source.body(piece.line)) != margin {
            return None;
        }
        let at = self.new.iter().position(&solid)?;
        let line = self.new[at];
        let mut below = self.new[at + 1..].iter().filter(|line| solid(line)).peekable();
        let next = below.peek().copied();
        let alone = next.is_none();
        let stripped = !margin.is_empty()
            && !line.starts_with([' ', '\t'])
            && below.all(|line| indent::of(line).starts_with(margin));
        let block = next.is_some_and(|next| opens(line) && indent::of(next) == margin);
        let like = line.trim() == first.trim()
            || super::tokens::likeness(line.trim(), first.trim()) >= 0.5;
        let several = self.old.iter().filter(|line| solid(line)).count() > 1;
        let kept = !alone || !several;
        (stripped && like && kept && !block && !super::fit::is_marginal(line))
            .then_some((at, margin))
    }

    /// The old lines at the file's depth, when `new` was written at that depth and only `old`
    /// was not: every line that both have is indented in `new` as in the file, and the
    /// shallowest line of `new` is as deep as the file's shallowest, not the call's.
    fn file_depth(&self, map: &IndentMap) -> Result<Option<Vec<String>>, &'static str> {
        let Self { source, window, old, new } = *self;
        let depth = |line: &str| indent::columns(indent::of(line), 4);
        let least = |lines: &mut dyn Iterator<Item = &str>| {
            lines.filter(|l| !l.trim().is_empty()).map(depth).min()
        };
        let mut quoted: Vec<String> = old.iter().map(|line| (*line).to_owned()).collect();
        let (mut shared, mut right) = (0, 0);
        // Whether `new` has lines of `old` as deep as `old`, and as deep as the file.
        let (mut as_call, mut as_file) = (false, false);
        // Whether one stands as in the file, and no new line holds it.
        let mut clean = false;
        let mut depths: Vec<usize> = Vec::new();
        let solid = |lines: &[&str]| -> Option<(usize, usize)> {
            let first = lines.iter().position(|l| !l.trim().is_empty())?;
            Some((first, lines.iter().rposition(|l| !l.trim().is_empty())?))
        };
        let (Some((first, last)), Some((new_first, new_last))) = (solid(old), solid(new)) else {
            return Ok(None);
        };
        let bodies: Vec<&str> = new.iter().map(|line| line.trim()).collect();
        let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
        bodies.iter().enumerate().for_each(|(n, body)| places.entry(body).or_default().push(n));
        let whole: HashSet<&str> = new.iter().copied().collect();
        // How often each line of `old` stands there.
        let mut known: HashMap<&str, usize> = HashMap::new();
        old.iter().for_each(|line| *known.entry(line.trim()).or_default() += 1);
        for step in &window.steps {
            let Step::Pair(at, piece) = *step else { continue };
            let (line, file) = (old[at], &source.text[piece.start..piece.end]);
            if line.trim().is_empty() || !piece.from_start {
                continue;
            }
            quoted[at] = format!("{}{}", indent::of(file), &line[indent::of(line).len()..]);
            if indent::of(line) == indent::of(file) {
                right += usize::from(whole.contains(line) && line.contains(is_word));
                continue;
            }
            let twins: Vec<usize> = if line.contains(is_word) {
                places.get(line.trim()).cloned().unwrap_or_default()
            } else {
                // A bracket alone is the same bracket only at the same end of both texts.
                let ends = [(first, new_first), (last, new_last)];
                ends.into_iter()
                    .filter(|(o, n)| *o == at && bodies[*n] == line.trim())
                    .map(|(_, n)| n)
                    .collect()
            };
            let indents: Vec<&str> = twins.iter().map(|&n| indent::of(new[n])).collect();
            let found = twins;
            let (call, there) =
                (indents.contains(&indent::of(line)), indents.contains(&indent::of(file)));
            as_call |= call && (known.get(line.trim()) == Some(&1) || !there);
            as_file |= there && !call;
            // A line that a new one holds was moved deeper by the edit.
            let moved = |n: usize| {
                let mut deep = indent::of(new[n]).len();
                let above = new[..n].iter().rev().take(FAR).filter(|line| !line.trim().is_empty());
                let mut holders = above.filter(|line| {
                    let holds = indent::of(line).len() < deep;
                    deep = deep.min(indent::of(line).len());
                    holds
                });
                holders.any(|holder| !known.contains_key(holder.trim()))
            };
            let stays = |n: &usize| indent::of(new[*n]) == indent::of(file) && !moved(*n);
            let would_move = map.apply(indent::of(file)).as_deref() != Some(indent::of(file));
            clean |= there && !call && would_move && found.iter().any(stays);
            if there && !call && !depths.contains(&depth(file)) {
                depths.push(depth(file));
            }
            shared += usize::from(there);
        }
        let (call, file) =
            (least(&mut old.iter().copied()), least(&mut quoted.iter().map(String::as_str)));
        let fresh = least(&mut new.iter().copied());
        let level = |lines: &mut dyn Iterator<Item = &str>| {
            lines.filter(|l| !l.trim().is_empty()).map(depth).filter(|depth| *depth > 0).min()
        };
        let file_level = level(&mut quoted.iter().map(String::as_str));
        // The first level of the new lines is the file's, and not the call's.
        let tabs = new.iter().any(|line| indent::of(line).contains('\t'));
        let in_levels = level(&mut new.iter().copied()) == file_level
            && (!tabs || self.file_has_tabs())
            && level(&mut old.iter().copied()) != file_level;
        if as_call {
            // The new text comes as far out as the file's, and still a line of it stands where
            // the call had it: was that one moved, or all the others?
            let why =
                "some lines of new_str stand as deep as in old_str, others as deep as in the file";
            let torn = as_file && (fresh == file && fresh != call || in_levels);
            return if torn { Err(why) } else { Ok(None) };
        }
        // A new line is as deep as one of the call that the file has elsewhere.
        let as_deep = || {
            let pairs = old.iter().zip(&quoted);
            let astray = pairs.filter(|(old, file)| indent::of(old) != indent::of(file));
            let astray: HashSet<&str> = astray.map(|(old, _)| indent::of(old)).collect();
            new.iter().any(|line| !line.trim().is_empty() && astray.contains(indent::of(line)))
        };
        if map.is_whole() && !map.is_shift() {
            // Another width of a level, that only `old` has. One depth alone does not tell it
            // from a level more.
            return match in_levels {
                true if depths.len() < 2 && (as_file || shared == 0 && as_deep()) => {
                    Err("new_str can be indented as old_str or as the file; nothing tells which")
                }
                false if clean && !map.is_same() => Err(MIXED),
                in_file => Ok(in_file.then_some(quoted)),
            };
        }
        // Or `new` opens with the same line, which stands as the file has it, and goes further out.
        let opens = old[first].trim() == bodies[new_first]
            && indent::of(new[new_first]) == indent::of(&quoted[first])
            && (indent::of(old[first]) != indent::of(&quoted[first]) || !map.is_whole());
        // Lines of the call are off here and there, and no line of `new` is as they are.
        let mended = !map.is_whole() && shared + right > 0 && {
            let mut own = new.iter().filter(|line| !line.trim().is_empty());
            own.all(|line| !map.is_odd(indent::of(line)))
        };
        let same_frame =
            mended || fresh == file && fresh != call && (shared > 0 || starts_elsewhere(old, new));
        match same_frame || shared > 0 && opens {
            false if clean && !map.is_same() => Err(MIXED),
            in_file => Ok(in_file.then_some(quoted)),
        }
    }
}

/// Whether `new` as a whole stands deeper or less deep than `old`: as far as its shallowest
/// line does, and every line that both have.
pub(super) fn starts_elsewhere(old: &[&str], new: &[&str]) -> bool {
    fn solid<'l>(lines: &[&'l str]) -> impl Iterator<Item = (isize, &'l str)> + Clone {
        let depth = |line: &str| indent::columns(indent::of(line), 4).cast_signed();
        let lines = lines.iter().copied().filter(|line| shows_depth(line));
        lines.map(move |line| (depth(line), line.trim())).collect::<Vec<_>>().into_iter()
    }
    let (old, new) = (solid(old), solid(new));
    let least = |lines: &mut dyn Iterator<Item = (isize, &str)>| lines.map(|line| line.0).min();
    let (Some(from), Some(to)) = (least(&mut old.clone()), least(&mut new.clone())) else {
        return false;
    };
    if from == to {
        return false;
    }
    // Lines that the edit puts into a block go deeper still.
    let mut twins = old.flat_map(|(depth, text)| {
        let twins = new.clone().filter(move |(_, other)| *other == text);
        twins.map(move |(other, _)| other - depth)
    });
    twins.all(|more| more == to - from || to > from && more > to - from)
}

/// Whether no line that both strings have is as deep in `new` as in `old`, nor is anything
/// that could hold it.
pub(super) fn stands_otherwise(old: &[&str], new: &[&str]) -> bool {
    let solid = |line: &&&str| shows_depth(line);
    let least =
        |lines: &[&str]| lines.iter().filter(solid).map(|line| indent::of(line).len()).min();
    let mut twins = 0;
    let apart = old.iter().filter(solid).all(|line| {
        let mut same = new.iter().filter(|other| other.trim() == line.trim());
        same.all(|other| {
            twins += 1;
            indent::of(other) != indent::of(line)
        })
    });
    // One blank more is a mark, and no depth.
    let far = least(new).zip(least(old)).is_some_and(|(new, old)| new.abs_diff(old) > 1);
    apart && twins >= 2 && far
}
