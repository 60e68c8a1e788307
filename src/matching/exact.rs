//! Calls that are found character for character: they are taken at their word. What is
//! looked at here is where the new text would stand, and how its lines end.

use std::borrow::Cow;

use super::Explained;
use super::call::{Call, Read, lacks_break};
use super::canon::is_word;
use super::code::is_comment;
use super::decode;
use super::fit;
use super::frame::starts_elsewhere;
use super::indent;
use super::ladder::{INDENTATION, LOOK_ALIKES, folds};
use super::margin::{
    are_members, are_of_a_kind, is_a_field, is_a_key, is_a_method, is_of_a_function,
};
use super::refuse;
use super::seek::Seek;
use super::steps::least_depth;
use super::tokens::likeness;
use super::window::{Window, split};
use crate::edit::{Corrected, Expected, Explanation, Refusal, Splice};
use crate::text::Ending;

/// So many lines up what holds a line is looked for.
const FAR: usize = 500;
const JOINED: &str = "old_str ends with a line break and new_str does not, so the next line is joined to it, as written";
const ELSEWHERE: &str = "new_str stands at another depth than old_str, as written; if the code shall stay where it is, indent new_str as old_str";
const WRITTEN_OTHERWISE: &str = "new_str was taken as written, but looks escaped or numbered as a whole, which old_str is not; if that is not meant, send it plainly";
const SHALLOW: &str = "the further lines of new_str stand less deep than the line that old_str is in, as written; if they belong to its block, indent them";

impl<'a> Call<'a> {
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
        let mut found = exact?;
        if let Some(refusal) = self.is_made_already(&found.splices) {
            return Err(refusal);
        }
        let mends: [Mend<'a>; 8] = [
            Self::without_doubled_indent,
            Self::whole_line_gone,
            Self::one_head,
            Self::once,
            Self::closed_once,
            Self::own_break,
            Self::own_first_break,
            Self::own_comment,
        ];
        for mend in mends {
            if found.splices.iter().any(|splice| mend(self, splice).is_none()) {
                continue;
            }
            for splice in &mut found.splices {
                if let Some((mended, rewrite)) = mend(self, splice) {
                    *splice = mended;
                    if found.explanation.rewrites.last().is_none_or(|last| last != rewrite) {
                        found.explanation.rewrites.push(rewrite.to_owned());
                    }
                }
            }
            found.explanation.corrected = found.splices.first().map(|splice| Corrected {
                old_str: self.text()[splice.range.clone()].to_owned(),
                new_str: splice.text.clone(),
            });
            return Ok(found);
        }
        let mut warn = |warning: &str| found.explanation.warnings.push(warning.to_owned());
        if self.joins_a_line(&found.splices, new) {
            warn(JOINED);
        }
        if let Some(line) = self.any_brings_again(&found.splices) {
            warn(&format!(
                "new_str has lines that the file has beside the place already (line {line}), and old_str has not: they stand there twice now, as written"
            ));
        }
        if let Some(cut) = found.splices.iter().find_map(|splice| self.cut_word(splice)) {
            warn(&format!(
                "old_str is a part of `{cut}` in the file, which was changed as written; if that is not the place, read the file again"
            ));
        }
        let torn = found.splices.iter().any(|splice| self.begins_amid_indent(splice));
        if !torn && self.moves_elsewhere(&found.splices, new) {
            warn(ELSEWHERE);
            return Ok(found);
        }
        if is_written_otherwise(&self.request.old, new) {
            warn(WRITTEN_OTHERWISE);
        }
        if !new.trim_end_matches('\n').contains('\n') {
            return Ok(found);
        }
        let mut literals = Literals::default();
        let stands = |splice: &Splice| match self.begins_amid_indent(splice) {
            true => Stands::Torn,
            false => self.stands(splice, new, &mut literals),
        };
        match found.splices.iter().map(stands).max() {
            Some(Stands::Shallow) => warn(SHALLOW),
            Some(Stands::Torn) => {
                let decided = self.decide_windows(read(), folds(INDENTATION), rung);
                return decided.unwrap_or(Ok(found));
            }
            Some(Stands::Well) | None => {}
        }
        Ok(found)
    }

    /// Whether a text begins amid the indentation of its line.
    fn begins_amid_indent(&self, splice: &Splice) -> bool {
        let text = self.text();
        self.margin(splice).is_some_and(|margin| !margin.is_empty())
            && text[splice.range.start..].starts_with([' ', '\t'])
            && !text[splice.range.clone()].lines().next().is_none_or(is_blank)
    }

    /// Whether the line below comes to stand behind the new text.
    fn joins_a_line(&self, splices: &[Splice], new: &str) -> bool {
        lacks_break(&self.request.old, new)
            && splices.iter().any(|splice| splice.range.end < self.text().len())
    }

    /// Whether all of `new` is deeper or less deep than `old`, and more than the depth changes.
    fn moves_elsewhere(&self, splices: &[Splice], new: &str) -> bool {
        let changed = |splice: &Splice| {
            let old = &self.text()[splice.range.clone()];
            self.margin(splice).is_some() && splice.text.trim() != old.trim()
        };
        least_depth(&self.request.old) != least_depth(new)
            && starts_elsewhere(&split(&self.request.old), &split(new))
            && splices.iter().any(changed)
    }

    /// The blanks on the line before a replacement, if nothing else stands there.
    fn margin(&self, splice: &Splice) -> Option<&'a str> {
        let before = &self.text()[..splice.range.start];
        let line = before.trim_end_matches([' ', '\t']);
        (line.is_empty() || line.ends_with('\n')).then(|| &before[line.len()..])
    }

    /// The one place stands within the new text already, which says more than the old one: the
    /// edit was made before.
    fn is_made_already(&self, splices: &[Splice]) -> Option<Refusal> {
        let [splice] = splices else { return None };
        let old = &self.text()[splice.range.clone()];
        if splice.text.len() <= old.len() {
            return None;
        }
        let (before, behind) = splice.text.split_once(old)?;
        let more = before.contains(is_word) || behind.contains(is_word);
        (more && self.request.expected == Expected::default())
            .then(|| self.covered_by_new(&splice.range))?
    }

    /// The word or number of the file that a text cuts, at an end that the edit changes.
    fn cut_word(&self, splice: &Splice) -> Option<&'a str> {
        let (text, range) = (self.text(), &splice.range);
        let old = &text[range.clone()];
        let (head, tail) = (
            |text: &'a str| &text[..text.find(|c| !is_word(c)).unwrap_or(text.len())],
            |text: &'a str| {
                &text[text.rfind(|c| !is_word(c)).map_or(0, |at| at + next(text, at))..]
            },
        );
        let (before, behind) = (tail(&text[..range.start]), head(&text[range.end..]));
        let starts = !before.is_empty() && old.starts_with(is_word);
        let ends = !behind.is_empty() && old.ends_with(is_word);
        let new: &str = &splice.text;
        let (first, last) = (head(old), tail(old));
        let stays =
            |rest: Option<&str>, goes_on: fn(&str) -> bool| rest.is_some_and(|rest| !goes_on(rest));
        if ends && !stays(new.strip_suffix(last), |rest| rest.ends_with(is_word)) {
            return Some(&text[range.end - last.len()..range.end + behind.len()]);
        }
        (starts && !stays(new.strip_prefix(first), |rest| rest.starts_with(is_word)))
            .then(|| &text[range.start - before.len()..range.start + first.len()])
    }

    /// A line that goes as a whole takes its indentation along, which would else be put in
    /// front of the next line.
    fn whole_line_gone(&self, splice: &Splice) -> Option<(Splice, &'static str)> {
        let old = &self.text()[splice.range.clone()];
        let margin = self.margin(splice).filter(|margin| !margin.is_empty())?;
        let whole = splice.text.is_empty() && old.ends_with('\n') && says_something(old);
        whole.then(|| {
            let range = splice.range.start - margin.len()..splice.range.end;
            (Splice { range, text: String::new() }, "indentation")
        })
    }

    /// What the file has behind the place up to the end of the line, and the new text brings
    /// again: the signs that end the line.
    fn once(&self, splice: &Splice) -> Option<(Splice, &'static str)> {
        const MOST: usize = 3;
        let (text, new) = (self.text(), &splice.text);
        let old = &text[splice.range.clone()];
        let rest = text[splice.range.end..].lines().next().unwrap_or_default();
        let signs = rest.trim();
        let plain = |c: char| !is_word(c) && !c.is_whitespace();
        let few = signs.len() <= MOST && signs.chars().all(plain);
        // Or the file's whole line.
        let last = old.rsplit('\n').next().unwrap_or_default().trim_start();
        let whole = !last.is_empty() && new.ends_with(&format!("{last}{}", rest.trim_end()));
        if signs.is_empty() || !few && !whole || !alike(old, new) {
            return None;
        }
        let kept = repeated_end(old, new, rest)?;
        // Behind a line that stays, the signs are its own.
        let text = match new[..kept].strip_prefix(old) {
            Some(more) if more.starts_with('\n') => format!("{old}{signs}{more}"),
            _ => new[..kept].to_owned(),
        };
        Some((Splice { range: splice.range.clone(), text }, "punctuation"))
    }

    /// The lines below that only close brackets, where the new text brings them again and
    /// closes by them what the old one leaves open.
    fn closed_once(&self, splice: &Splice) -> Option<(Splice, &'static str)> {
        let (text, new) = (self.text(), &splice.text);
        let old = &text[splice.range.clone()];
        let closes = |line: &str| {
            let line = line.trim();
            line.starts_with([')', ']', '}'])
                && line.chars().all(|c| matches!(c, ')' | ']' | '}' | ',' | ';'))
        };
        let last = new.trim_end().rsplit('\n').next().filter(|line| closes(line))?;
        if open(new) >= open(old) || old.trim_end().ends_with(last) || !alike(old, new) {
            return None;
        }
        let behind = match old.ends_with('\n') {
            true => &text[splice.range.end..],
            false => text[splice.range.end..].strip_prefix('\n')?,
        };
        let below: Vec<&str> = behind.lines().take_while(|line| closes(line)).collect();
        let lines: Vec<&str> = new.trim_end().split('\n').collect();
        let again = (1..=below.len().min(lines.len() - 1)).rev().find(|count| {
            let tail = &lines[lines.len() - count..];
            tail.iter().zip(&below).all(|(new, file)| new.trim_end() == file.trim_end())
                && open(new) == open(old) + open(&tail.concat())
        })?;
        let kept = lines[..lines.len() - again].join("\n");
        let ending = if old.ends_with('\n') { "\n" } else { "" };
        Some((Splice { range: splice.range.clone(), text: kept + ending }, "punctuation"))
    }

    /// What the file has in front of the place on its line, and the new text brings again.
    fn one_head(&self, splice: &Splice) -> Option<(Splice, &'static str)> {
        let (text, new) = (self.text(), &splice.text);
        let old = &text[splice.range.clone()];
        let before = &text[..splice.range.start];
        let head = before.rsplit('\n').next().unwrap_or_default().trim_start();
        let again = says_something(head)
            && !head.ends_with(is_word)
            && new.starts_with(head)
            && alike(old, &new[head.len()..])
            && !old.starts_with(head)
            && open(new) == open(old) + open(head);
        again.then(|| {
            let text = new[head.len()..].to_owned();
            (Splice { range: splice.range.clone(), text }, "line_head")
        })
    }

    /// A line break that only the old text ends with, where the new one says something else
    /// and another line comes: it was left out, not meant to go.
    fn own_break(&self, splice: &Splice) -> Option<(Splice, &'static str)> {
        let (text, new) = (self.text(), &splice.text);
        let old = &text[splice.range.clone()];
        let below = text[splice.range.end..].lines().next()?;
        let left_out = lacks_break(old, new)
            && !below.trim().is_empty()
            && !new.ends_with([' ', '\t'])
            && !says_the_same(old, new);
        left_out.then(|| {
            let ending = if old.ends_with("\r\n") { "\r\n" } else { "\n" };
            let text = format!("{new}{ending}");
            (Splice { range: splice.range.clone(), text }, "final_newline")
        })
    }

    /// The same for line breaks that only the old text begins with, behind a line.
    fn own_first_break(&self, splice: &Splice) -> Option<(Splice, &'static str)> {
        let (text, new) = (self.text(), &splice.text);
        let old = &text[splice.range.clone()];
        let line = old.trim_start_matches(['\r', '\n']);
        let above = text[..splice.range.start].rsplit('\n').next().unwrap_or_default();
        let left_out = line.len() < old.len()
            && !above.trim().is_empty()
            && !new.trim().is_empty()
            && !line.trim().is_empty()
            && !new.starts_with(['\r', '\n'])
            && indent::of(line) == indent::of(new)
            && !says_the_same(old, new);
        left_out.then(|| {
            let text = format!("{}{new}", &old[..old.len() - line.len()]);
            (Splice { range: splice.range.clone(), text }, "outer_blank_lines")
        })
    }

    /// The comment that the file has behind the place on its line stays with that line, where
    /// new lines come behind it.
    fn own_comment(&self, splice: &Splice) -> Option<(Splice, &'static str)> {
        let (text, new) = (self.text(), &splice.text);
        let old = &text[splice.range.clone()];
        let rest = text[splice.range.end..].lines().next()?;
        let ends = old.ends_with(|c: char| !c.is_whitespace());
        // Behind code these are operators.
        let operator = rest.trim().starts_with(['*', '%']);
        if !ends || operator || !is_comment(rest.trim()) || new.contains(rest.trim()) {
            return None;
        }
        let below = new.strip_prefix(old).filter(|below| below.starts_with(['\r', '\n']))?;
        let range = splice.range.start..splice.range.end + rest.len();
        let below = below.strip_suffix('\n').unwrap_or(below);
        let below = below.strip_suffix('\r').unwrap_or(below);
        Some((Splice { range, text: format!("{old}{rest}{below}") }, "line_tail"))
    }

    /// Without the indentation that [`Self::doubles_indent`] finds.
    fn without_doubled_indent(&self, splice: &Splice) -> Option<(Splice, &'static str)> {
        self.doubles_indent(splice).then(|| {
            let text = splice.text[indent::of(&splice.text).len()..].to_owned();
            (Splice { range: splice.range.clone(), text }, "indentation")
        })
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
            && self.margin(splice) == Some(indent)
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
        let line = |at: usize| self.snapshot.lines().number_at(at);
        let places = found.splices.iter().map(|splice| splice.range.start);
        let windows = self.windows(self.readings().first()?);
        let Some(rival) = windows.found.iter().find(elsewhere) else {
            let lines: Vec<usize> = places.map(line).collect();
            return (!windows.complete).then(|| refuse::not_all_compared(self, &lines));
        };
        let mut lines: Vec<usize> = places.chain([rival.range().start]).map(line).collect();
        lines.sort_unstable();
        Some(refuse::too_many(self, &lines, false))
    }

    /// How the further lines of `new` would stand after a plain replacement of a text that
    /// begins right behind the indentation of its line. Where they are less deep than the
    /// line, brackets can prove that they cannot stand there, but could if they were as much
    /// deeper as the first. Nothing but brackets is proof: what else opens a block, no list
    /// of words can tell.
    fn stands(&self, splice: &Splice, new: &str, literals: &mut Literals) -> Stands {
        let (text, range) = (self.text(), &splice.range);
        let margin = match self.margin(splice) {
            // Lines within a literal stand where it wants them, be it a new one or the file's.
            Some(margin) if !margin.is_empty() && !literals.are_open(text, range.start, new) => {
                margin
            }
            _ => return Stands::Well,
        };
        let line = range.start - margin.len();
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
        let holder = || {
            let mut above = text[..line].lines().rev().filter(is_solid).take(FAR);
            above.find(|l| depth(l) < depth(margin))
        };
        let in_class = || holder().is_some_and(|holder| holder.trim_start().starts_with("class "));
        let kin = || {
            first.trim() == old.trim()
                && (solid[1..].iter().any(|line| indent::of(line).is_empty() && is_of_a_function(line))
                    || are_of_a_kind(new, &solid) && !solid[1..].iter().any(|line| is_a_method(line))
                    || are_members(new, &solid) && in_class()
                    // A mapping that goes on below has no key at the margin in it.
                    || below.is_some_and(|below| is_a_key(below) && depth(below) == depth(margin))
                        && solid.iter().all(|line| is_a_field(line)))
        };
        if !several && (breaks("") && !breaks(margin) || wrapped || opened || kin()) {
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
        let (seek, text) = (Seek::new(old), self.text());
        let first = seek.find(text.as_bytes(), 0)?;
        let (new, turned) = self.with_endings(old, new, first);
        let new = new.as_ref();
        let mut explanation = explanation;
        if turned {
            explanation.rewrites.push("line_endings".to_owned());
        }
        let splice = |at: usize| Splice { range: at..at + old.len(), text: new.to_owned() };
        if self.request.expected == Expected::default() {
            match seek.find(text.as_bytes(), first + 1) {
                None => {
                    return Some(Ok(self.explained(vec![splice(first)], explanation, Some(old))));
                }
                // Overlapping places are one place when the result is the same.
                Some(second)
                    if second < first + old.len()
                        && seek.find(text.as_bytes(), second + 1).is_none()
                        && same_result(text, old, new, first, second) =>
                {
                    return Some(Ok(self.explained(vec![splice(first)], explanation, Some(old))));
                }
                Some(_) => {}
            }
        }
        let all = seek.all(text.as_bytes());
        let again = |at: &usize| {
            let until = (at + 2 * old.len() - 1).min(text.len());
            seek.find(&text.as_bytes()[..until], at + 1).is_some()
        };
        let overlapping = all.iter().any(again);
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
        if !new.contains('\r') && !old.contains('\r') && self.snapshot.ending_near(at) == Ending::Lf
        {
            return (Cow::Borrowed(new), false);
        }
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
}

/// What a replacement that cannot be meant so is changed to, and the name of that.
type Mend<'a> = fn(&Call<'a>, &Splice) -> Option<(Splice, &'static str)>;

/// The length of the character at a place.
fn next(text: &str, at: usize) -> usize {
    text[at..].chars().next().map_or(0, char::len_utf8)
}

/// Whether a text has a word of some length.
fn says_something(text: &str) -> bool {
    text.split(|c| !is_word(c)).any(|word| word.chars().count() >= 2) || text.contains(['(', '-'])
}

/// Whether two texts differ in nothing but white space.
pub(super) fn says_the_same(old: &str, new: &str) -> bool {
    let signs = |text: &'_ str| -> String { text.chars().filter(|c| !c.is_whitespace()).collect() };
    signs(old) == signs(new)
}

/// Whether one text is a change of the other, and no other text.
pub(super) fn alike(old: &str, new: &str) -> bool {
    old.contains(is_word) && likeness(old.trim(), new.trim()) >= 0.3
}

/// How many brackets a text leaves open.
fn open(text: &str) -> isize {
    let signs = |signs: [char; 3]| text.matches(signs).count().cast_signed();
    signs(['(', '[', '{']) - signs([')', ']', '}'])
}

/// How much of a new text is left without what the file has behind the place already, if the
/// new text brings it again. In brackets of its own it only says more.
pub(super) fn repeated_end(old: &str, new: &str, rest: &str) -> Option<usize> {
    let end = rest.trim();
    let kept = new.strip_suffix(rest.trim_end()).or_else(|| new.strip_suffix(end))?;
    let again = !end.is_empty()
        && !kept.is_empty()
        && !old.ends_with(end)
        && !kept.ends_with('\\')
        && open(new) == open(old) + open(end)
        && angles(new) == angles(old) + angles(end)
        && ['"', '\'', '`'].iter().all(|quote| {
            let odd = |text: &str| quotes(text, *quote) % 2;
            odd(new) == (odd(old) + odd(end)) % 2
        });
    again.then_some(kept.len())
}

/// How many angle brackets a text leaves open, arrows aside.
fn angles(text: &str) -> isize {
    let arrows = text.matches("->").count() + text.matches("=>").count();
    let count = |sign: char| text.matches(sign).count().cast_signed();
    count('<') - count('>') + arrows.cast_signed()
}

/// How many quotes of a kind are not escaped.
fn quotes(text: &str, quote: char) -> usize {
    let plain = text.replace("\\\\", "").replace(&format!("\\{quote}"), "");
    plain.matches(quote).count()
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

fn is_blank(text: &str) -> bool {
    text.chars().all(|c| matches!(c, ' ' | '\t'))
}

/// The literals of several lines that are open at a place of the file, counted on from the
/// place before it.
#[derive(Default)]
struct Literals {
    upto: usize,
    counts: [usize; 3],
}

impl Literals {
    const MARKS: [&'static str; 3] = ["\"\"\"", "'''", "`"];

    /// Whether a place lies within such a literal, or `new` begins or ends one.
    fn are_open(&mut self, text: &str, at: usize, new: &str) -> bool {
        for (count, mark) in self.counts.iter_mut().zip(Self::MARKS) {
            *count += text[self.upto.min(at)..at].matches(mark).count();
        }
        self.upto = at;
        self.counts.iter().any(|count| count % 2 == 1)
            || Self::MARKS.iter().any(|mark| new.contains(mark) && Self::are_begun(new, mark))
            || new.contains("<<")
    }

    /// Whether a line of `new` begins or ends a literal, but for texts that stand on their own,
    /// where no depth matters.
    fn are_begun(new: &str, mark: &str) -> bool {
        let mut lines = new.lines().filter(|line| line.matches(mark).count() % 2 == 1);
        while let Some(opener) = lines.next() {
            let alone = opener.trim_start().trim_start_matches('r').starts_with(mark);
            let text = alone.then(|| lines.next()).flatten();
            if !text.is_some_and(|end| end.trim_end().ends_with(mark)) {
                return true;
            }
        }
        false
    }
}

/// Whether lines of `old` come back in `new` only once a mistake of the whole text is undone.
fn is_written_otherwise(old: &str, new: &str) -> bool {
    const MOST: usize = 20_000;
    if !new.contains('\\') && !new.contains(|c: char| c.is_ascii_digit()) {
        return false;
    }
    let old: Vec<&str> = old.lines().map(str::trim).filter(|line| line.len() > 3).collect();
    let kept = |new: &str| new.lines().any(|line| old.contains(&line.trim()));
    if new.len() > MOST || kept(new) {
        return false;
    }
    let readings = decode::readings(new, "", "");
    let mut read = readings.iter().filter(|read| matches!(read.rung, "unescaped" | "line_numbers"));
    read.any(|read| kept(&read.old))
}

/// Whether replacing at either of two overlapping places gives the same text.
fn same_result(text: &str, old: &str, new: &str, a: usize, b: usize) -> bool {
    let end = b + old.len();
    let at = |place: usize| format!("{}{new}{}", &text[a..place], &text[place + old.len()..end]);
    at(a) == at(b)
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
