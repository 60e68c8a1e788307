//! One call on its way down the ladder: what was computed once, and how a set of
//! candidates becomes a decision.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::HashMap;
use std::ops::Range;

use super::Explained;
use super::decode::{self, Reading};
use super::fit;

use super::indent::{self, IndentMap, NewLine};
use super::ladder::{INDENTATION, LOOK_ALIKES, folds};
use super::merge::{Conflict, Merge, Merged, new_lines};
use super::refuse;
use super::slack::Slack;
use super::source::Source;
use super::tokens::EditMap;
use super::window::{self, Piece, Step, Window, split, windows};
use crate::edit::{Corrected, EditRequest, Expected, Explanation, Refusal, Splice};
use crate::text::{Ending, Snapshot};

/// A call and what is known about it.
#[derive(Debug)]
pub struct Call<'a> {
    pub(super) request: &'a EditRequest,
    pub(super) snapshot: &'a Snapshot,
    source: OnceCell<Source<'a>>,
    readings: OnceCell<Vec<Read>>,
}

/// A reading and its windows.
pub(super) struct Read {
    pub(super) reading: Reading,
    windows: OnceCell<Vec<Window>>,
}

impl Read {
    pub(super) fn new(reading: Reading) -> Self {
        Self { reading, windows: OnceCell::new() }
    }
}

impl std::fmt::Debug for Read {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(&self.reading.ids).finish()
    }
}

/// A merged candidate.
pub(super) struct Candidate {
    pub(super) splice: Splice,
}

impl<'a> Call<'a> {
    pub(super) fn new(request: &'a EditRequest, snapshot: &'a Snapshot) -> Self {
        Self { request, snapshot, source: OnceCell::new(), readings: OnceCell::new() }
    }

    pub(super) fn text(&self) -> &'a str {
        self.snapshot.text()
    }

    pub(super) fn source(&self) -> &Source<'a> {
        self.source.get_or_init(|| Source::new(self.snapshot))
    }

    /// The readings of the call, the plain one first.
    pub(super) fn readings(&self) -> &[Read] {
        self.readings.get_or_init(|| {
            let readings = decode::readings(&self.request.old, &self.request.new, self.text());
            readings.into_iter().map(Read::new).collect()
        })
    }

    pub(super) fn windows<'r>(&self, read: &'r Read) -> &'r [Window] {
        read.windows
            .get_or_init(|| windows(self.source(), &read.reading.old, read.reading.whole_lines))
    }

    /// What stands character for character in the file, but begins amid the indentation
    /// of its line, is a text that is too shallow; so are the further lines of `new`, which
    /// a plain replacement would put at another depth. Then whole lines decide.
    pub(super) fn or_at_its_depth<'r>(
        &self,
        exact: Result<Explained, Refusal>,
        new: &str,
        rung: &'static str,
        read: impl FnOnce() -> &'r Read,
    ) -> Result<Explained, Refusal> {
        let blank = |text: &str| text.chars().all(|c| matches!(c, ' ' | '\t'));
        let cut = |splice: &Splice| {
            let text = self.text();
            let at = splice.range.start;
            let line = memchr::memrchr(b'\n', &text.as_bytes()[..at]).map_or(0, |feed| feed + 1);
            line < at
                && text[at..].starts_with([' ', '\t'])
                && blank(&text[line..at])
                && !text[splice.range.clone()].lines().next().is_none_or(blank)
        };
        let mut exact = exact;
        if let Ok(found) = &mut exact
            && found.splices.iter().all(|splice| self.doubles_indent(splice))
        {
            for splice in &mut found.splices {
                splice.text.drain(..indent::of(&splice.text).len());
            }
            found.explanation.rewrites.push("indentation".to_owned());
            found.explanation.corrected = found.splices.first().map(|splice| Corrected {
                old_str: self.text()[splice.range.clone()].to_owned(),
                new_str: splice.text.clone(),
            });
            return exact;
        }
        if let Ok(found) = &mut exact
            && self.request.old.ends_with('\n')
            && !new.is_empty()
            && !new.ends_with('\n')
            && found.splices.iter().any(|splice| !self.text()[splice.range.end..].is_empty())
        {
            found.explanation.warnings.push(
                "old_str ends with a line break and new_str does not, so the next line is joined to it, as written".into(),
            );
        }
        if let Ok(found) = &mut exact
            && starts_elsewhere(&split(&self.request.old), &split(new))
            && !found.splices.iter().any(cut)
            && found.splices.iter().any(|splice| {
                let old = &self.text()[splice.range.clone()];
                blank(self.margin(splice)) && splice.text.trim() != old.trim()
            })
        {
            found.explanation.warnings.push(
                "new_str stands at another depth than old_str, as written; if the code shall stay where it is, indent new_str as old_str".into(),
            );
            return exact;
        }
        if let Ok(found) = &mut exact
            && is_written_otherwise(&self.request.old, new)
        {
            found.explanation.warnings.push(
                "new_str was taken as written, but looks escaped or numbered as a whole, which old_str is not; if that is not meant, send it plainly".into(),
            );
        }
        let further = new.trim_end_matches('\n').contains('\n');
        let Some(found) = exact.as_mut().ok().filter(|_| further) else { return exact };
        let stands = |splice: &Splice| match cut(splice) {
            true => Stands::Torn,
            false => self.stands(splice, new),
        };
        match found.splices.iter().map(stands).max() {
            Some(Stands::Torn) => {}
            Some(Stands::Shallow) => {
                found.explanation.warnings.push(
                    "the further lines of new_str stand less deep than the line that old_str is in, as written; if they belong to its block, indent them".into(),
                );
                return exact;
            }
            _ => return exact,
        }
        match self.decide_windows(read(), folds(INDENTATION), rung) {
            Some(decided) => decided,
            None => exact,
        }
    }

    /// What stands on the line before a replacement.
    fn margin(&self, splice: &Splice) -> &'a str {
        let text = self.text();
        let at = splice.range.start;
        let line = memchr::memrchr(b'\n', &text.as_bytes()[..at]).map_or(0, |feed| feed + 1);
        &text[line..at]
    }

    /// Whether a text that begins right behind the indentation of its line is replaced by
    /// one that brings the same indentation again, and is not only moved deeper.
    fn doubles_indent(&self, splice: &Splice) -> bool {
        let indent = indent::of(&splice.text);
        let old = &self.text()[splice.range.clone()];
        if indent.is_empty() || old.starts_with([' ', '\t']) || splice.text.trim().is_empty() {
            return false;
        }
        // Further lines that stand deeper than the first is meant to show that it is not,
        // unless `old` shows how deep such lines are.
        let several = old.trim_end_matches('\n').contains('\n');
        let further = splice.text.lines().skip(1).filter(|line| !line.trim().is_empty());
        let least = further.map(|line| indent::of(line).len()).min();
        self.text()[..splice.range.start].ends_with(indent)
            && self.margin(splice) == indent
            && (several || least.is_none_or(|least| least <= indent.len()))
            && splice.text.trim() != old.trim()
    }

    /// Whether the text as it is written stands at another place than the one where its
    /// decoded form does, but for characters that look alike.
    pub(super) fn as_written(&self, found: &Explained) -> Option<Refusal> {
        let elsewhere = |window: &&Window| {
            let range = window.range();
            let apart = |splice: &Splice| {
                splice.range.end <= range.start || range.end <= splice.range.start
            };
            folds(LOOK_ALIKES).contains(window.slack) && found.splices.iter().all(apart)
        };
        let rival = self.windows(self.readings().first()?).iter().find(elsewhere)?;
        let line = |at: usize| self.snapshot.lines().number_at(at);
        let places = found.splices.iter().map(|splice| splice.range.start);
        let mut lines: Vec<usize> = places.chain([rival.range().start]).map(line).collect();
        lines.sort_unstable();
        Some(refuse::too_many(self, &lines, false))
    }

    /// How the further lines of `new` would stand after a plain replacement of a text that
    /// begins right behind the indentation of its line. Where they are less deep than the
    /// line, brackets can prove that they cannot stand there, but could if they were as much
    /// deeper as the first. Nothing but brackets is proof: what else opens a block, no list
    /// of words can tell.
    fn stands(&self, splice: &Splice, new: &str) -> Stands {
        let (text, range) = (self.text(), &splice.range);
        let line = memchr::memrchr(b'\n', &text.as_bytes()[..range.start]).map_or(0, |at| at + 1);
        let margin = &text[line..range.start];
        let blank = !margin.is_empty() && margin.bytes().all(|byte| matches!(byte, b' ' | b'\t'));
        // Lines within a literal stand where it wants them, be it a new one or the file's.
        let marks = ["\"\"\"", "'''", "`"];
        let open = |mark: &&str| text[..range.start].matches(*mark).count() % 2 == 1;
        let literal =
            || marks.iter().any(|mark| new.contains(mark) || open(mark)) || new.contains("<<");
        if !blank || literal() {
            return Stands::Well;
        }
        let unit = self.source().unit().unwrap_or(4);
        let depth = |line: &str| indent::columns(indent::of(line), unit);
        let is_solid = |line: &&str| !line.trim().is_empty();
        // A text of several lines shows itself how deep its further lines are.
        let old = &text[range.clone()];
        let several = old.trim_end_matches('\n').contains('\n');
        if several && old.lines().skip(1).filter(is_solid).any(|line| depth(line) < depth(margin)) {
            return Stands::Well;
        }
        let solid: Vec<&str> = new.lines().filter(is_solid).collect();
        let (Some(first), [second, ..], Some(last)) =
            (solid.first(), solid.get(1..).unwrap_or_default(), solid.last())
        else {
            return Stands::Well;
        };
        let above = text[..line].lines().rev().find(is_solid);
        let shallow = |line: &&&str| depth(line) < depth(margin) && !fit::is_marginal(line);
        if fit::goes_on(above, first) || solid[1..].iter().find(shallow).is_none() {
            return Stands::Well;
        }
        let below = text[range.end..].split_once('\n').map(|(_, below)| below);
        let below = below.and_then(|below| below.lines().find(is_solid));
        let breaks = |more: &str| {
            fit::breaks_brackets(&format!("{margin}{first}"), &format!("{more}{second}"), unit)
                || below.is_some_and(|below| {
                    fit::breaks_brackets(&format!("{more}{last}"), below, unit)
                })
        };
        // The line itself, behind a new one and deeper than that, but not as deep as it was.
        let wrapped = solid[1..].iter().any(|line| {
            line.trim() == old.trim() && depth(line) > depth(first) && depth(line) < depth(margin)
        });
        let opened = fit::needs_a_block(first) && depth(second) <= depth(margin);
        if !several && (breaks("") && !breaks(margin) || wrapped || opened) {
            return Stands::Torn;
        }
        // Amid a block that goes on below them, or with nothing between it and them.
        let goes_on =
            depth(last) < depth(margin) && below.is_some_and(|below| depth(below) >= depth(margin));
        let mut above = *first;
        let joined = new.lines().skip_while(|line| *line != *first).skip(1).any(|line| {
            let blank = std::mem::replace(&mut above, line).trim().is_empty();
            !blank && is_solid(&line) && shallow(&&line)
        });
        if goes_on || joined { Stands::Shallow } else { Stands::Well }
    }

    /// Decides between places where the text stands character for character.
    pub(super) fn decide_exact(
        &self,
        old: &str,
        new: &str,
        explanation: Explanation,
    ) -> Option<Result<Explained, Refusal>> {
        let finder = memchr::memmem::Finder::new(old.as_bytes());
        let text = self.text();
        let first = finder.find(text.as_bytes())?;
        let (new, turned) = self.with_endings(old, new, first);
        let new = new.as_ref();
        let mut explanation = explanation;
        if turned {
            explanation.rewrites.push("line_endings".to_owned());
        }
        let splice = |at: usize| Splice { range: at..at + old.len(), text: new.to_owned() };
        if self.request.expected == Expected::default() {
            let second = finder.find(&text.as_bytes()[first + 1..]).map(|at| first + 1 + at);
            match second {
                None => {
                    return Some(Ok(self.explained(vec![splice(first)], explanation, Some(old))));
                }
                // Overlapping places are one place when the result is the same.
                Some(second)
                    if second < first + old.len()
                        && finder.find(&text.as_bytes()[second + 1..]).is_none()
                        && same_result(text, old, new, first, second) =>
                {
                    return Some(Ok(self.explained(vec![splice(first)], explanation, Some(old))));
                }
                Some(_) => {}
            }
        }
        let all: Vec<usize> = finder.find_iter(text.as_bytes()).collect();
        let overlapping = all.windows(2).any(|p| p[1] < p[0] + old.len()) || {
            let inner = |&at: &usize| {
                let from = at + 1;
                let to = (at + 2 * old.len() - 1).min(text.len());
                finder
                    .find(&text.as_bytes()[from..to])
                    .is_some_and(|next| from + next < at + old.len())
            };
            all.iter().any(inner)
        };
        let lines: Vec<usize> = all.iter().map(|&at| self.snapshot.lines().number_at(at)).collect();
        Some(match self.request.expected {
            Expected::All => {
                Ok(self.explained(all.into_iter().map(splice).collect(), explanation, Some(old)))
            }
            Expected::Exactly(count) if count.get() == all.len() && !(overlapping) => {
                Ok(self.explained(all.into_iter().map(splice).collect(), explanation, Some(old)))
            }
            Expected::Exactly(count) if count.get() == 1 => match self.nearest_line(&lines) {
                Some(at) => Ok(self.explained(vec![splice(all[at])], explanation, Some(old))),
                None => Err(refuse::too_many(self, &lines, overlapping)),
            },
            Expected::Exactly(_) => Err(refuse::too_many(self, &lines, overlapping)),
        })
    }

    /// `new` with the line endings that the file has at `at`, and whether that changed it. A
    /// call that is about endings, or shows the file's own mixture, is taken at its word.
    fn with_endings<'t>(&self, old: &str, new: &'t str, at: usize) -> (Cow<'t, str>, bool) {
        let lone_feeds = |text: &str| text.matches('\n').count() > text.matches("\r\n").count();
        let same = || old.replace("\r\n", "\n") == new.replace("\r\n", "\n");
        if !new.contains('\n') || same() {
            return (Cow::Borrowed(new), false);
        }
        let turned = match self.snapshot.ending_near(at) {
            Ending::CrLf if lone_feeds(new) && !lone_feeds(old) => {
                new.replace("\r\n", "\n").replace('\n', "\r\n")
            }
            Ending::Lf if new.contains("\r\n") && !old.contains("\r\n") => {
                new.replace("\r\n", "\n")
            }
            _ => return (Cow::Borrowed(new), false),
        };
        (Cow::Owned(turned), true)
    }

    /// The one line that is nearer to `near_line` than all others.
    fn nearest_line(&self, lines: &[usize]) -> Option<usize> {
        let near = self.request.near_line?;
        let distance = |at: &usize| lines[*at].abs_diff(near);
        let best = (0..lines.len()).min_by_key(distance)?;
        let tied = (0..lines.len()).filter(|at| distance(at) == distance(&best)).count();
        (tied == 1).then_some(best)
    }

    pub(super) fn explained(
        &self,
        splices: Vec<Splice>,
        mut explanation: Explanation,
        old: Option<&str>,
    ) -> Explained {
        explanation.replacements = splices.len();
        let first = splices.first();
        let differs = first.is_some_and(|first| {
            old != Some(self.request.old.as_str()) || first.text != self.request.new
        });
        if let Some(first) = first.filter(|_| differs) {
            explanation.corrected = Some(Corrected {
                old_str: self.text()[first.range.clone()].to_owned(),
                new_str: first.text.clone(),
            });
        }
        Explained { splices, explanation }
    }

    /// Decides between windows that a fold accepts. `allowed` is the fold.
    pub(super) fn decide_windows(
        &self,
        read: &Read,
        allowed: Slack,
        rung: &'static str,
    ) -> Option<Result<Explained, Refusal>> {
        let all = self.windows(read);
        let found: Vec<&Window> = all.iter().filter(|w| allowed.contains(w.slack)).collect();
        if found.is_empty() {
            return None;
        }
        let old = split(&read.reading.old);
        let unit = self.source().unit();
        let maps: Vec<IndentMap> =
            found.iter().map(|w| IndentMap::fit(w.indents(&old, self.source()), unit)).collect();
        let best = maps.iter().map(IndentMap::rank).min().unwrap_or(0);
        let chosen: Vec<(&Window, &IndentMap)> =
            found.iter().copied().zip(&maps).filter(|(_, map)| map.rank() == best).collect();
        // Another place that is nearer in some other way leaves the choice open.
        let rival = all.iter().find(|w| {
            !allowed.contains(w.slack) && chosen.iter().all(|(c, _)| !w.slack.contains(c.slack))
        });
        let line = |w: &Window| w.first().map_or(1, |piece| piece.line + 1);
        let mut lines: Vec<usize> = chosen.iter().map(|(w, _)| line(w)).collect();
        let picked: Vec<(&Window, &IndentMap)> = match self.request.expected {
            Expected::All => chosen,
            Expected::Exactly(count) if count.get() == chosen.len() && rival.is_none() => chosen,
            Expected::Exactly(count) if count.get() == 1 && chosen.len() > 1 => {
                match self.nearest_line(&lines) {
                    Some(at) => vec![chosen[at]],
                    None => return Some(Err(refuse::too_many(self, &lines, false))),
                }
            }
            Expected::Exactly(_) => {
                lines.extend(rival.map(line));
                lines.sort_unstable();
                return Some(Err(refuse::too_many(self, &lines, false)));
            }
        };
        let mut rewrites: Vec<String> =
            read.reading.ids.iter().map(|id| (*id).to_owned()).collect();
        let slack = picked.iter().fold(Slack::NONE, |all, (w, _)| all | w.slack);
        rewrites.extend(slack.names().map(str::to_owned));
        let mut splices = Vec::new();
        for (window, map) in picked {
            if let Some(refusal) = self.covered_by_new(&window.range()) {
                return Some(Err(refusal));
            }
            match self.merge(&read.reading, window, map) {
                Ok(candidate) => splices.push(candidate.splice),
                Err(conflict) => return Some(Err(refuse::conflict(self, window, &conflict))),
            }
        }
        Some(self.finish(splices, rung, rewrites))
    }

    /// The last checks, common to every rung that merges.
    pub(super) fn finish(
        &self,
        splices: Vec<Splice>,
        rung: &'static str,
        rewrites: Vec<String>,
    ) -> Result<Explained, Refusal> {
        let unchanged = splices.iter().all(|s| self.text()[s.range.clone()] == s.text);
        if unchanged {
            let line =
                splices.first().map_or(1, |s| self.snapshot.lines().number_at(s.range.start));
            return Err(refuse::already_applied(line));
        }
        let mut explanation = Explanation::plain(rung);
        explanation.rewrites = rewrites;
        Ok(self.explained(splices, explanation, None))
    }

    /// `new_str` stands where the candidate is: the edit was made already.
    pub(super) fn covered_by_new(&self, range: &Range<usize>) -> Option<Refusal> {
        let new = self.request.new.trim_matches('\n');
        if new.trim().is_empty() {
            return None;
        }
        let covers = |at: usize| at <= range.start && range.end <= at + new.len();
        let from = range.start.saturating_sub(new.len());
        let to = (range.end + new.len()).min(self.text().len());
        let near = &self.text().as_bytes()[from..to];
        let mut found = memchr::memmem::find_iter(near, new.as_bytes()).map(|at| from + at);
        let at = found.find(|at| covers(*at))?;
        Some(refuse::already_applied(self.snapshot.lines().number_at(at)))
    }

    pub(super) fn merge(
        &self,
        reading: &Reading,
        window: &Window,
        map: &IndentMap,
    ) -> Result<Candidate, Conflict> {
        let old = split(&reading.old);
        let new = new_lines(&reading.old, &reading.new);
        merge_window(self.source(), window, &old, &new, map)
    }
}

/// How new lines stand after a plain replacement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stands {
    /// As far as anybody can tell.
    Well,
    /// Less deep than the lines around them, which may be meant.
    Shallow,
    /// Where they cannot stand.
    Torn,
}

/// Merges over one window.
pub(super) fn merge_window(
    source: &Source<'_>,
    window: &Window,
    old: &[&str],
    new: &[&str],
    map: &IndentMap,
) -> Result<Candidate, Conflict> {
    let pairs = window.steps.iter().filter_map(|step| match step {
        Step::Pair(at, piece) => {
            Some((old[*at].trim(), source.text[piece.start..piece.end].trim()))
        }
        _ => None,
    });
    let (broken, mended): (Vec<String>, Vec<String>) = (mend(old, map), mend(new, map));
    let old: Vec<&str> = broken.iter().map(String::as_str).collect();
    let new: Vec<&str> = mended.iter().map(String::as_str).collect();
    let (old, new) = (&old[..], &new[..]);
    // A bracket alone that stands at another depth than the lines around it is another one.
    for step in &window.steps {
        if let Step::Pair(at, piece) = step
            && piece.from_start
            && !old[*at].trim().is_empty()
            && !old[*at].contains(super::canon::is_word)
            && !map.explains(indent::of(old[*at]), indent::of(source.body(piece.line)))
        {
            let why = "the bracket there stands at another depth than that of old_str";
            return Err(Conflict { line: piece.line, why });
        }
    }
    let learnt = Slack::PUNCTUATION | Slack::LOOK_ALIKE;
    let style = if window.slack.meets(learnt) {
        let pairs = pairs.collect::<Vec<_>>();
        EditMap::learn(&pairs)
            .unless_contradicted(source.text, new)
            .with_doubts(&pairs, source.text)
    } else {
        EditMap::default()
    };
    let merge = |map: &IndentMap| {
        let quoted = file_depth(source, window, old, new, map);
        let quoted: Option<Vec<&str>> =
            quoted.as_ref().map(|lines| lines.iter().map(String::as_str).collect());
        let same = IndentMap::fit(Vec::new(), None);
        if quoted.is_none() && map.is_shift() && starts_elsewhere(old, new) {
            let why = "old_str and new_str start at different depths, and neither is the file's";
            return Err(Conflict { line: window.first().map_or(0, |piece| piece.line), why });
        }
        let (old, map) = match &quoted {
            Some(quoted) => (&quoted[..], &same),
            None => (old, map),
        };
        Merge { source, window, old, new, map, style: &style }.run()
    };
    let maps = map.seeing(&depths(source, window, old, new), source.steps());
    let (map, rivals) = maps.split_first().unwrap_or((map, &[]));
    let Merged { range, text } = merge(map)?;
    for rival in rivals {
        if merge(rival)?.text != text {
            let why = "how deep the new lines are to be indented can be read in two ways";
            return Err(Conflict { line: window.first().map_or(0, |piece| piece.line), why });
        }
    }
    Ok(Candidate { splice: Splice { range, text } })
}

/// Whether lines of `old` come back in `new` only once a mistake of the whole text is undone.
fn is_written_otherwise(old: &str, new: &str) -> bool {
    const MOST: usize = 20_000;
    let old: Vec<&str> = old.lines().map(str::trim).filter(|line| line.len() > 3).collect();
    let kept = |new: &str| new.lines().any(|line| old.contains(&line.trim()));
    if new.len() > MOST || kept(new) {
        return false;
    }
    let readings = decode::readings(new, "", "");
    let mut read = readings.iter().filter(|read| matches!(read.rung, "unescaped" | "line_numbers"));
    read.any(|read| kept(&read.old))
}

/// The lines with plain blanks in front, where only the call has others.
fn mend(lines: &[&str], map: &IndentMap) -> Vec<String> {
    let mend = |line: &&str| {
        let (indent, body) = line.split_at(indent::of(line).len());
        match map.mends_blanks(indent) {
            true => indent.replace(indent::NBSP, " ") + body,
            false => (*line).to_owned(),
        }
    };
    lines.iter().map(mend).collect()
}

/// Whether `new` as a whole stands deeper or less deep than `old`: as far as its shallowest
/// line does, and every line that both have.
fn starts_elsewhere(old: &[&str], new: &[&str]) -> bool {
    let depth = |line: &str| indent::columns(indent::of(line), 4).cast_signed();
    let solid = |lines: &[&str]| -> Vec<(isize, String)> {
        let lines = lines.iter().filter(|line| indent::shows_depth(line));
        lines.map(|line| (depth(line), line.trim().to_owned())).collect()
    };
    let (old, new) = (solid(old), solid(new));
    let least = |lines: &[(isize, String)]| lines.iter().map(|(depth, _)| *depth).min();
    let (Some(from), Some(to)) = (least(&old), least(&new)) else { return false };
    from != to
        && old.iter().all(|(depth, text)| {
            let mut twins = new.iter().filter(|(_, other)| other == text);
            twins.all(|(other, _)| other - depth == to - from)
        })
}

/// The indents of the new text's lines, with the file's where the call quotes the line.
fn depths<'a>(
    source: &'a Source<'_>,
    window: &Window,
    old: &[&str],
    new: &[&'a str],
) -> Vec<NewLine<'a>> {
    let mut known: HashMap<&str, &str> = HashMap::new();
    for step in &window.steps {
        if let Step::Pair(at, piece) = step
            && piece.from_start
        {
            known.insert(old[*at], indent::of(&source.text[piece.start..piece.end]));
        }
    }
    let lines = new.iter().filter(|line| indent::shows_depth(line));
    lines.map(|line| NewLine::new(line, known.get(line).copied())).collect()
}

/// The old lines at the file's depth, when `new` was written at that depth and only
/// `old` was not: every line that both have is indented in `new` as in the file, and
/// the shallowest line of `new` is as deep as the file's shallowest, not the call's.
fn file_depth(
    source: &Source<'_>,
    window: &Window,
    old: &[&str],
    new: &[&str],
    map: &IndentMap,
) -> Option<Vec<String>> {
    if map.is_whole() && !map.is_shift() {
        return None;
    }
    let depth = |line: &str| indent::columns(indent::of(line), 4);
    let least = |lines: &mut dyn Iterator<Item = &str>| {
        lines.filter(|l| !l.trim().is_empty()).map(depth).min()
    };
    let mut quoted: Vec<String> = old.iter().map(|line| (*line).to_owned()).collect();
    let (mut shared, mut right) = (0, 0);
    let solid = |lines: &[&str]| -> Option<(usize, usize)> {
        let first = lines.iter().position(|l| !l.trim().is_empty())?;
        Some((first, lines.iter().rposition(|l| !l.trim().is_empty())?))
    };
    let ((first, last), (new_first, new_last)) = (solid(old)?, solid(new)?);
    let bodies: Vec<&str> = new.iter().map(|line| line.trim()).collect();
    for step in &window.steps {
        let Step::Pair(at, piece) = *step else { continue };
        let (line, file) = (old[at], &source.text[piece.start..piece.end]);
        if line.trim().is_empty() || !piece.from_start {
            continue;
        }
        quoted[at] = format!("{}{}", indent::of(file), &line[indent::of(line).len()..]);
        if indent::of(line) == indent::of(file) {
            right += usize::from(new.contains(&line) && line.contains(super::canon::is_word));
            continue;
        }
        let twins: Vec<usize> = if line.contains(super::canon::is_word) {
            (0..new.len()).filter(|&n| bodies[n] == line.trim()).collect()
        } else {
            // A bracket alone is the same bracket only at the same end of both texts.
            let ends = [(first, new_first), (last, new_last)];
            ends.into_iter()
                .filter(|(o, n)| *o == at && bodies[*n] == line.trim())
                .map(|(_, n)| n)
                .collect()
        };
        let indents: Vec<&str> = twins.into_iter().map(|n| indent::of(new[n])).collect();
        if indents.contains(&indent::of(line)) {
            return None;
        }
        shared += usize::from(indents.contains(&indent::of(file)));
    }
    let (call, file) =
        (least(&mut old.iter().copied()), least(&mut quoted.iter().map(String::as_str)));
    let fresh = least(&mut new.iter().copied());
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
    (same_frame || shared > 0 && opens).then_some(quoted)
}

/// Whether replacing at either of two overlapping places gives the same text.
fn same_result(text: &str, old: &str, new: &str, a: usize, b: usize) -> bool {
    let end = b + old.len();
    let at = |place: usize| format!("{}{new}{}", &text[a..place], &text[place + old.len()..end]);
    at(a) == at(b)
}

/// See [`super::merge_onto`].
pub(super) fn merge_onto(
    request: &EditRequest,
    snapshot: &Snapshot,
    range: Range<usize>,
) -> Option<String> {
    let source = Source::new(snapshot);
    let (old, new) = (split(&request.old), new_lines(&request.old, &request.new));
    let window = super::align::onto(&source, &old, range.clone())?;
    let map = IndentMap::fit(window.indents(&old, &source), source.unit());
    let candidate = merge_window(&source, &window, &old, &new, &map).ok()?;
    let Splice { range: covered, text } = candidate.splice;
    // The window may include the last line's ending; the caller replaces `range` alone.
    if covered.start != range.start || covered.end < range.end {
        return None;
    }
    let behind = &snapshot.text()[range.end..covered.end];
    text.strip_suffix(behind).map(str::to_owned).or_else(|| text.is_empty().then(String::new))
}

/// A piece that covers a file line.
pub(super) fn whole_piece(source: &Source<'_>, line: usize) -> Piece {
    window::Piece::whole(line, &source.lines[line])
}

#[cfg(test)]
mod tests {
    use crate::edit::EditRequest;
    use crate::matching::explain;
    use crate::text::Snapshot;

    #[test]
    fn lines_that_may_be_too_shallow_are_named() {
        let warnings = |file: &str, old: &str, new: &str| {
            let snapshot = Snapshot::decode(file.as_bytes().to_vec()).expect("text");
            let explained = explain(&EditRequest::new(old, new), &snapshot).expect("explained");
            assert_eq!(explained.explanation.rung, "exact");
            explained.explanation.warnings.len()
        };
        let file = "def f():\n    x = 1\n    return x\n\n\ndef g():\n    pass\n";
        assert_eq!(warnings(file, "x = 1", "x = 1\ny = 2"), 1);
        assert_eq!(warnings(file, "x = 1", "x = 1\n    y = 2"), 0);
        assert_eq!(warnings(file, "return x", "return x\n\n\ndef h():\n    pass"), 0);
    }
}
