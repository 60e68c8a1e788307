//! The `,` and `;` at the ends of lines. Where the call and the file end a line in another
//! way, the mark belongs to the place, as the last item of a list or the end of a
//! statement, and not to the line that happens to stand there.

use std::collections::HashMap;

use super::super::canon::is_word;
use super::super::code::{
    self, Slashes, code_of, ends_statement, heads_a_block, is_attribute, is_comment,
};
use super::super::events::Event;
use super::super::indent;
use super::super::source::Source;
use super::super::statements::begins_function;
use super::super::tokens;
use super::super::window::{Piece, Step, Window};

use super::shape::closing_mark;

/// So many lines up what holds a line is looked for.
const FAR: usize = 500;

/// What the marks of one change are told by.
pub(super) struct Marks<'a, 't> {
    pub(super) source: &'a Source<'t>,
    pub(super) window: &'a Window,
    pub(super) old: &'a [&'a str],
    pub(super) new: &'a [&'a str],
    pub(super) slashes: Slashes,
}

impl Marks<'_, '_> {
    /// The marks that lines of `new` shall end in, where it is not their own.
    pub(super) fn wanted(&self, events: &[Event]) -> HashMap<usize, &'static str> {
        let mut wanted = HashMap::new();
        let mut above: Option<(usize, usize)> = None;
        let mut at = 0;
        let kept = |event: &Event| match *event {
            Event::Keep(o, n) if is_code(self.old[o]) => Some((o, n)),
            _ => None,
        };
        while at < events.len() {
            if let Some(pair) = kept(&events[at]) {
                above = Some(pair);
                at += 1;
                continue;
            }
            let end = events[at..].iter().position(|event| kept(event).is_some());
            let end = end.map_or(events.len(), |more| at + more);
            self.parted(above, &events[at..end], &mut wanted);
            self.run(above, &events[at..end], &mut wanted);
            at = end;
        }
        wanted
    }

    /// Where a new line is one of the old text that ends in a mark, and the file's does not, and
    /// no list tells what is right: the file's line that it is.
    pub(super) fn comes_again(
        &self,
        events: &[Event],
        wanted: &HashMap<usize, &'static str>,
    ) -> Option<usize> {
        events.iter().find_map(|event| {
            let Event::Insert(n) = *event else { return None };
            let new = self.new[n].trim();
            if wanted.contains_key(&n) || self.mark(new).is_empty() || !new.contains(is_word) {
                return None;
            }
            let mut same = (0..self.old.len()).filter(|o| self.old[*o].trim() == new);
            let piece = same.find_map(|o| self.piece_of(o))?;
            let bare = self.mark(self.source.body(piece.line)).is_empty();
            (bare && !self.closes_below(piece)).then_some(piece.line)
        })
    }

    /// A line that stays and was the last item of a list, with a new item right below it.
    fn parted(
        &self,
        above: Option<(usize, usize)>,
        run: &[Event],
        wanted: &mut HashMap<usize, &'static str>,
    ) -> Option<()> {
        let (o, n) = above?;
        let next = run.iter().find_map(|event| match *event {
            Event::Insert(next) if is_code(self.new[next]) => Some(next),
            _ => None,
        })?;
        let between = &self.new[n + 1..next];
        let piece = self.piece_of(o)?;
        // The comma that the call leaves out everywhere, it leaves out there, too.
        let lost = self.mark(self.new[n]).is_empty()
            && between.is_empty()
            && self.closes_below(piece)
            && self.loses_all_commas();
        let parted = (self.mark(self.new[n]) == "," || lost)
            && !self.are_bare(n, run)
            && !self.ends_an_arm(piece)
            && self.mark(self.new[next]) != ";"
            && self.mark(self.source.body(piece.line)).is_empty()
            && between.iter().all(|line| !is_code(line))
            && is_sibling(self.new[n], self.new[next])
            && self.was_last_item(piece);
        if parted {
            wanted.insert(n, ",");
            let news = run.iter().filter_map(|event| match *event {
                Event::Insert(at) if lost && is_code(self.new[at]) => Some(at),
                _ => None,
            });
            // An item over several lines ends where its bracket closes.
            let beside = |at: &usize| indent::of(self.new[*at]) == indent::of(self.new[n]);
            let mut beside: Vec<usize> = news.filter(beside).collect();
            beside.pop();
            let file = self.source.body(piece.line);
            let bare = beside.into_iter().filter(|at| {
                let line = self.new[*at];
                self.mark(line).is_empty() && can_end(line, file, ",", self.slashes)
            });
            wanted.extend(bare.map(|at| (at, ",")));
        }
        Some(())
    }

    /// One run of changes below a line that stays: the last line before and after it.
    fn run(
        &self,
        above: Option<(usize, usize)>,
        run: &[Event],
        wanted: &mut HashMap<usize, &'static str>,
    ) -> Option<()> {
        let mut olds = run.iter().filter_map(|event| match *event {
            Event::Delete(o) | Event::Change(o, _) => Some(o),
            _ => None,
        });
        let news = run.iter().filter_map(|event| match *event {
            Event::Insert(n) | Event::Change(_, n) => Some(n),
            _ => None,
        });
        let news: Vec<usize> = news.filter(|n| is_code(self.new[*n])).collect();
        let gone = olds.rfind(|o| is_code(self.old[*o]));
        let old_last = gone.or(above.map(|(o, _)| o))?;
        let new_last = news.last().copied().or(above.map(|(_, n)| n))?;
        let piece = self.piece_of(old_last)?;
        let file = self.source.body(piece.line);
        let slashes = self.slashes;
        let (was, is) = (self.mark(self.old[old_last]), self.mark(file));
        // Where the call has no commas, the line that is the last one now ends as that one did.
        if let Some((o, n)) = above.filter(|_| gone.is_some() && news.is_empty())
            && self.closes_below(piece)
            && self.loses_all_commas()
            && is_sibling(self.old[old_last], self.new[n])
            && self.piece_of(o).is_some_and(|piece| self.mark(self.source.body(piece.line)) == ",")
        {
            wanted.insert(n, is);
            return None;
        }
        if was == is || news.is_empty() && gone.is_none() || self.ends_an_arm(piece) {
            return None;
        }
        let last = self.new[new_last];
        let next = news.first().map(|n| self.new[*n]);
        // A `;` that the line had all along is its own, unless the line goes on now.
        let text =
            above.is_some_and(|(_, n)| closing_mark(self.new[n]).is_some_and(|(_, alone)| alone));
        let goes_on = next.is_some_and(continues) && !text;
        if was.is_empty() && is == ";" && gone.is_none() && !goes_on {
            return None;
        }
        // A `;` that only the call has is no matter of the place.
        let added = was == ";" && is.is_empty();
        // Nor is a comma, behind what is no item.
        let item = gone.is_some() || was != "," || !news.is_empty() && self.was_last_item(piece);
        // A line that ends bare before another item slipped, and says nothing of that one.
        let slipped = is == ","
            && gone.is_none()
            && next.is_some()
            && above.is_some_and(|(_, n)| self.mark(self.new[n]).is_empty())
            && !self.loses_elsewhere(old_last, is);
        if !added
            && item
            && !slipped
            && (is != "," || same_holder((self.old, old_last), (self.new, new_last)))
            && self.mark(last) == was
            && is_sibling(self.old[old_last], last)
            && can_end(last, file, is, slashes)
        {
            let ends = is != "," || !self.is_rest_parameter(new_last);
            wanted.insert(new_last, if ends { is } else { "" });
        }
        // The line that was the last one and is no longer.
        let changed = run.iter().find_map(|event| match *event {
            Event::Change(o, n) if o == old_last => Some(n),
            _ => None,
        });
        let before = changed.or(above.filter(|(o, _)| *o == old_last).map(|(_, n)| n))?;
        let next = *news.iter().find(|n| **n > before)?;
        // Nothing goes on with a name and its value.
        let named = code::behind_key(self.new[before]).is_some_and(|value| value.starts_with(' '));
        let goes_on = continues(self.new[next]) && !named && !text;
        if self.mark(self.new[before]).is_empty() && is == ";" && goes_on {
            // The statement ends where its last line does.
            wanted.insert(before, "");
            let depth = |n: usize| indent::of(self.new[n]).len();
            let goes_on = |n: &usize| continues(self.new[*n]) || depth(*n) > depth(next);
            let rest = news.iter().copied().skip_while(|n| *n < next);
            let end = rest.take_while(goes_on).last().unwrap_or(next);
            wanted.insert(end, ";");
            return Some(());
        }
        if !is_sibling(self.new[before], self.new[next]) {
            return None;
        }
        let own = self.mark(self.new[before]);
        if added {
            let ended = self.sibling_above(piece).is_some_and(|above| self.mark(above) == ";");
            if own == ";" && ended && !closes(file) && self.closes_below(piece) {
                wanted.insert(before, ";");
            }
        } else if own == ","
            && (changed.is_some() || self.was_last_item(piece) && !self.are_bare(before, run))
        {
            wanted.insert(before, ",");
        }
        Some(())
    }

    /// Whether a line of the file closes the block of an arm, as a match of Rust has them: that
    /// needs no comma before the next one.
    fn ends_an_arm(&self, piece: Piece) -> bool {
        let depth = |line: &str| indent::columns(indent::of(line), 4);
        let here = self.source.body(piece.line);
        let mut above = (0..piece.line).rev().take(FAR).map(|at| self.source.body(at));
        let opener = above.find(|line| !line.trim().is_empty() && depth(line) <= depth(here));
        let lines = (0..self.source.lines.len()).map(|at| self.source.body(at));
        here.trim() == "}"
            && opener.is_some_and(|line| line.trim_end().ends_with("=> {"))
            && lines.into_iter().any(begins_function)
    }

    /// Whether another new line than the last one beside a line of `new` ends without a mark: then
    /// none of the lines there needs one.
    fn are_bare(&self, n: usize, run: &[Event]) -> bool {
        let news = run.iter().filter_map(|event| match *event {
            Event::Insert(at) if is_code(self.new[at]) => Some(at),
            _ => None,
        });
        // Only the members of a type can do without.
        let depth = |line: &str| indent::columns(indent::of(line), 4);
        let mut above = self.window.first().map_or(0, |piece| piece.line + 1);
        above = above.min(self.source.lines.len());
        let lines = self.new[..n].iter().rev().copied();
        let lines = lines.chain((0..above).rev().take(FAR).map(|at| self.source.body(at)));
        let mut holders =
            lines.filter(|line| !line.trim().is_empty() && depth(line) < depth(self.new[n]));
        let is_type = |line: &str| {
            let mut words = line.split(|c: char| !is_word(c));
            words.any(|word| matches!(word, "interface" | "type"))
        };
        if !holders.next().is_some_and(is_type) {
            return false;
        }
        let beside: Vec<usize> = news.filter(|at| is_sibling(self.new[n], self.new[*at])).collect();
        beside
            .split_last()
            .is_some_and(|(_, others)| others.iter().any(|at| self.mark(self.new[*at]).is_empty()))
    }

    /// Whether the call has no comma where lines of the file end in one, and those are several.
    pub(super) fn loses_all_commas(&self) -> bool {
        let ended = self.pairs().filter(|(_, file, _)| self.mark(file) == ",");
        let marks: Vec<bool> = ended.map(|(old, ..)| self.mark(old).is_empty()).collect();
        marks.len() > 1 && marks.iter().all(|bare| *bare)
    }

    /// The lines of the call, those of the file, and the numbers of these.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (&str, &str, usize)> {
        self.window.steps.iter().filter_map(|step| match step {
            Step::Pair(o, piece) if piece.to_end => {
                Some((self.old[*o], self.source.body(piece.line), piece.line))
            }
            _ => None,
        })
    }

    /// Whether another line of the call has lost a mark, too.
    fn loses_elsewhere(&self, but: usize, mark: &str) -> bool {
        (0..self.old.len()).filter(|o| *o != but && self.mark(self.old[*o]).is_empty()).any(|o| {
            self.piece_of(o).is_some_and(|piece| self.mark(self.source.body(piece.line)) == mark)
        })
    }

    /// Whether a line of the file without a comma is the last item of a list, or the only one:
    /// nothing shows that the items there have none.
    fn was_last_item(&self, piece: Piece) -> bool {
        let file = self.source.body(piece.line).trim_end();
        let above = self.sibling_above(piece).map(|line| self.mark(line));
        match self.mark(file) {
            ";" => above == Some(","),
            _ if above == Some(",") && code::brackets(file) >= 0 && !closes(file) => {
                // What goes on deeper is no end, and a block amid others needs no mark.
                let amid = self.below(piece).is_some_and(|below| {
                    let depth = |line: &str| indent::columns(indent::of(line), 4);
                    let here = depth(self.source.body(piece.line));
                    depth(below) > here
                        || depth(below) == here && file.ends_with('}') && !closes(below)
                });
                !file.ends_with(['{', '(', '[', '，']) && !amid
            }
            _ => {
                above.map_or_else(|| self.is_item(piece), |above| above == ",")
                    && !file.ends_with(['{', '(', '[', '，'])
                    && self.closes_below(piece)
            }
        }
    }

    /// Whether what ends on a line of the file is an item, by the bracket that holds it and
    /// by what it says: a block holds statements.
    fn is_item(&self, piece: Piece) -> bool {
        let depth = |line: &str| indent::columns(indent::of(line), 4);
        let here = depth(self.source.body(piece.line));
        let above = (0..piece.line).rev().map(|at| self.source.body(at));
        let above = above.filter(|line| !line.trim().is_empty());
        let mut above = above.skip_while(|line| depth(line) > here).peekable();
        let head = match closes(self.source.body(piece.line)) {
            true => above.next().unwrap_or_default(),
            false => self.source.body(piece.line),
        };
        let holder = above.find(|line| depth(line) < here).unwrap_or_default().trim_end();
        let words = head.split(|c: char| c.is_whitespace()).filter(|word| !word.is_empty()).count();
        let entry =
            (head.contains(": ") || head.contains("=>") || words == 1) && !head.contains(" = ");
        // What has methods has no items.
        let has_methods = holder.split(|c: char| !is_word(c)).any(|word| {
            matches!(word, "class" | "impl" | "trait" | "interface" | "extends" | "implements")
        });
        holder.ends_with(['[', '(']) || holder.ends_with('{') && entry && !has_methods
    }

    /// Whether a line is the parameter that takes the rest, behind which no comma can stand.
    fn is_rest_parameter(&self, n: usize) -> bool {
        let below = self.new[n + 1..].iter().find(|line| is_code(line));
        self.new[n].trim_start().starts_with("...")
            && below.is_some_and(|below| {
                let head = below.trim_start().starts_with(')');
                head && (below.trim_end().ends_with('{') || below.contains("=>"))
            })
    }

    /// Whether what holds a line of the file ends right below it.
    fn closes_below(&self, piece: Piece) -> bool {
        self.below(piece).is_some_and(closes)
    }

    /// The next line of the file that is code.
    fn below(&self, piece: Piece) -> Option<&str> {
        let mut below = (piece.line + 1..self.source.lines.len()).map(|at| self.source.body(at));
        below.find(|line| is_code(line))
    }

    /// Where the item above the one that ends on this line ends: the nearest line above
    /// that is as deep, the opening line of the item itself aside. Where this line closes an
    /// item, one that closes another tells more than one that may be a part of its head.
    fn sibling_above(&self, piece: Piece) -> Option<&str> {
        let depth = |line: &str| indent::columns(indent::of(line), 4);
        let here = self.source.body(piece.line);
        let closes = closes(here);
        let lines = (0..piece.line).rev().map(|at| self.source.body(at));
        let mut solid = lines.clone().filter(|line| !line.trim().is_empty());
        let outside = |line: &&str| depth(line) <= depth(here);
        let mut outside = lines.filter(|line| !line.trim().is_empty()).filter(outside);
        let head = if closes { outside.next() } else { None };
        let mut above = outside.take_while(|line| depth(line) == depth(here));
        let nearest = above.next()?;
        if closes && !self::closes(nearest) {
            let part = head.is_some_and(is_selector_head);
            return above.find(|line| self::closes(line)).or((!part).then_some(nearest));
        }
        // An item that leaves a bracket open ends where the lines of that do, or holds this one.
        match code::brackets(nearest) > 0 {
            true => solid.next().filter(|last| *last != nearest),
            false => Some(nearest),
        }
    }

    pub(super) fn mark(&self, line: &str) -> &'static str {
        mark(line, self.slashes)
    }

    fn piece_of(&self, o: usize) -> Option<Piece> {
        self.window.steps.iter().find_map(|step| match step {
            Step::Pair(at, piece) if *at == o && piece.to_end => Some(*piece),
            _ => None,
        })
    }
}

/// Whether the same line holds both: the nearest above that is less deep.
pub(super) fn same_holder(old: (&[&str], usize), new: (&[&str], usize)) -> bool {
    let depth = |line: &str| indent::columns(indent::of(line), 4);
    let holder = |(lines, at): (&[&str], usize)| -> Option<String> {
        let mut above = lines[..at].iter().rev().filter(|line| !line.trim().is_empty());
        above.find(|line| depth(line) < depth(lines[at])).map(|line| line.trim().to_owned())
    };
    match (holder(old), holder(new)) {
        (None, None) => true,
        (Some(old), Some(new)) => tokens::likeness(&old, &new) >= 0.5,
        _ => false,
    }
}

pub(super) fn is_code(line: &str) -> bool {
    let attribute = line.trim_start().starts_with('#') || is_attribute(line);
    !line.trim().is_empty() && !is_comment(line) && !attribute
}

pub(super) fn closes(line: &str) -> bool {
    line.trim_start().starts_with([']', '}', ')'])
}

fn is_sibling(line: &str, next: &str) -> bool {
    indent::of(line) == indent::of(next) && (closes(line) || !closes(next))
}

/// Whether a line can end in a mark as the file's line does.
fn can_end(line: &str, file: &str, mark: &str, slashes: Slashes) -> bool {
    let body = |line: &str| code_of(line, slashes).trim_end().trim_end_matches([',', ';']).len();
    let (line, file) = (&line[..body(line)], &file[..body(file)]);
    match mark {
        ";" => {
            // What is a statement there is one here, too.
            let word = |line: &str| -> Option<String> {
                let word: String = line.trim_start().chars().take_while(|c| is_word(*c)).collect();
                Some(word).filter(|word| !word.is_empty())
            };
            let alike = || word(line).is_some() && word(line) == word(file);
            line.chars().next_back() == file.chars().next_back()
                || line.trim() == "}" && file.trim_start().starts_with('}')
                || ends_statement(line, None)
                || alike() && !ends_statement(file, None) && line.ends_with(is_word)
        }
        // What takes the rest, and the one argument that is a loop, end without.
        "," => {
            let item = line.trim_start();
            let rest = item.starts_with("..") && !item.starts_with("...");
            let generator =
                item.contains(" for ") && item.contains(" in ") && !file.contains(" for ");
            !line.ends_with(['{', '(', '[']) && !rest && !generator
        }
        _ => true,
    }
}

/// Whether the line that opens a block may be the last of several that are its head: nothing in
/// it tells of a value or a call.
fn is_selector_head(line: &str) -> bool {
    let head = line.trim().trim_end_matches('{').trim_end();
    !head.is_empty()
        && !head.ends_with(':')
        && ![": ", "(", "=", "["].iter().any(|sign| head.contains(sign))
}

/// Whether a line begins as the methods of Objective-C do, `- (Type)name`.
fn declares_a_method(line: &str) -> bool {
    let kind = line.strip_prefix("- (").or_else(|| line.strip_prefix("+ ("));
    let name = kind.and_then(|kind| kind.split_once(')')).map(|(_, name)| name.trim_start());
    name.is_some_and(|name| name.starts_with(is_word))
}

/// Whether a line goes on with the statement above it.
pub(super) fn continues(line: &str) -> bool {
    const CLAUSES: [&str; 14] = [
        "AND",
        "FROM",
        "GROUP",
        "HAVING",
        "JOIN",
        "LEFT",
        "LIMIT",
        "OFFSET",
        "ON",
        "OR",
        "ORDER",
        "RETURNING",
        "UNION",
        "WHERE",
    ];
    let line = line.trim_start();
    let word = line.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    if code::is_selector(line) {
        return false;
    }
    let operator = line.starts_with(['+', '-', '*', '/', '%', '<', '>', '^']);
    // Before a name, it is the address of something.
    let address = line.strip_prefix('&').is_some_and(|rest| !rest.starts_with(['&', ' ', '=']));
    operator && line[1..].starts_with(' ') && !declares_a_method(line)
        || line.starts_with(['.', '|', '&', '?', ':', '=', ')', ']']) && !address
        || CLAUSES.contains(&word)
}

/// The `,` or `;` that a line of code ends in.
pub(super) fn mark(line: &str, slashes: Slashes) -> &'static str {
    match code_of(line, slashes).trim_end().chars().next_back() {
        Some(',' | '，') => ",",
        Some(';' | '；') => ";",
        _ => "",
    }
}

/// Ends a line of code in a mark, or in none.
pub(super) fn set(line: &mut String, mark: &str, slashes: Slashes) {
    let end = code_of(line, slashes).trim_end().len();
    let body = line[..end].trim_end_matches([',', ';']).len();
    line.replace_range(body..end, mark);
}

/// The `,` or `;` at the end of the file's line that neither string has, nor the result.
pub(super) fn lost([old, file, new, result]: [&str; 4], slashes: Slashes) -> Option<&'static str> {
    let mark = |line: &str| mark(line, slashes);
    let code = |line: &str| code_of(line, slashes).trim_end().len();
    let (old, file) = (&old[..code(old)], &file[..code(file)]);
    let (new, result) = (&new[..code(new)], &result[..code(result)]);
    let is = mark(file);
    // What is no statement, such as the end of a block that took the last place, gets no
    // `;`, unless the file has one behind the like.
    let stays = mark(old).is_empty()
        && mark(new).is_empty()
        && mark(result).is_empty()
        && !result.trim().is_empty()
        && can_end(result, file, is, slashes)
        && !heads_a_block(result);
    (stays && !is.is_empty()).then_some(is)
}

#[cfg(test)]
mod tests {
    use super::super::tests::applied;

    #[test]
    fn the_last_item_ends_as_the_last_item_did() {
        for (file, old, new, result) in [
            (
                "{\n  a: 1,\n  b: 2\n}\n",
                "  a: 1,\n  b: 2,\n",
                "  a: 1,\n  b: 2,\n  c: 3,\n",
                "{\n  a: 1,\n  b: 2,\n  c: 3\n}\n",
            ),
            ("{\n  a: 1,\n  b: 2\n}\n", "  a: 1,\n  b: 2,\n", "  a: 1,\n", "{\n  a: 1\n}\n"),
            (
                "enum E {\n  A(1),\n  B(2);\n\n  x\n}\n",
                "  A(1),\n  B(2),\n",
                "  A(1),\n  B(2),\n  C(3),\n",
                "enum E {\n  A(1),\n  B(2),\n  C(3);\n\n  x\n}\n",
            ),
            (
                "f(\n  a,\n  b,\n)\n",
                "  a,\n  b\n)\n",
                "  a,\n  b,\n  c\n)\n",
                "f(\n  a,\n  b,\n  c,\n)\n",
            ),
            (
                "x\n  .a()\n  .b();\n",
                "x\n  .a()\n  .b()\n",
                "x\n  .a()\n  .b()\n  .c()\n",
                "x\n  .a()\n  .b()\n  .c();\n",
            ),
        ] {
            assert_eq!(applied(file, old, new), result, "{old:?}");
        }
    }
}
