//! What is written for one line of `new_str`: one that stays, one that changes, one that is
//! new. Each is refused where nothing tells what the file is to have there.

use std::collections::HashMap;

use super::super::canon::is_word;
use super::super::code::{code_of, is_comment};
use super::super::events::Event;
use super::super::fit::is_directive;
use super::super::statements::{At, ends_in_entity, needs_semicolon};
use super::super::window::{Piece, Step};
use super::super::{indent, tokens};
use super::{Conflict, Line, Merge, assign, marks, shape};

const UNSETTLED: &str = "the dash in the new text can stand for - or for --";

impl<'t> Merge<'_, 't> {
    /// A line that stays as the file has it. Blanks at its end that the call knew and has
    /// changed are changed, unless it only took this line for another one of its own.
    pub(super) fn kept(&self, o: usize, n: usize, piece: Piece) -> Result<String, Conflict> {
        let (old, new, file) = (self.old[o], self.new[n], self.file(piece));
        let tail = |line: &str| line[line.trim_end().len()..].to_owned();
        if tail(new) == tail(old) {
            let own = self.is_clean && new.trim().is_empty() && !new.is_empty() && file.is_empty();
            return Ok(if own { new } else { file }.to_owned());
        }
        if self.is_literal {
            return Ok(format!("{}{}", file.trim_end(), tail(new)));
        }
        let blank = file.trim().is_empty();
        // As many blank lines before as after are the same ones.
        let blanks = |lines: &[&str]| lines.iter().filter(|line| line.trim().is_empty()).count();
        let same = || blank && blanks(self.old) == blanks(self.new);
        let count = |lines: &[&str]| lines.iter().filter(|line| **line == new).count();
        let taken =
            blank && self.old.contains(&new) || (1..=count(self.old)).contains(&count(self.new));
        if taken && !same() {
            if blank && file != new && old != new {
                let why = "whether the blanks of the blank line there are to go, nothing tells";
                return Err(Conflict { line: piece.line, why });
            }
            return Ok(file.to_owned());
        }
        // Both have blanks there, if not as many, and they were taken away.
        let cleaned = !blank && tail(new).is_empty() && !tail(file).is_empty();
        let knew = (tail(old) == tail(file) || cleaned) && !blank || old == file;
        // Blanks that make up the line, or were meant to, and are gone.
        let emptied = blank && new.is_empty();
        if knew || emptied {
            return Ok(format!("{}{}", file.trim_end(), self.style.apply(&tail(new))));
        }
        if blank && !old.is_empty() && new != file {
            let why = "the line is of blanks, as many as neither old_str nor new_str has there";
            return Err(Conflict { line: piece.line, why });
        }
        // A call that changes how many they are says how many there shall be.
        if !blank && !tail(old).is_empty() && !tail(new).is_empty() {
            return Ok(format!("{}{}", file.trim_end(), tail(new)));
        }
        Ok(file.to_owned())
    }

    /// A line that the call changes.
    pub(super) fn changed(
        &self,
        o: usize,
        piece: Piece,
        n: usize,
        own_depth: bool,
    ) -> Result<String, Conflict> {
        let (old, file, new) = (self.old[o], self.file(piece), self.new[n]);
        if new.trim().is_empty() {
            return Ok(new.to_owned());
        }
        let (old_indent, new_indent) = (indent::of(old), indent::of(new));
        let solid = |line: &&str| !line.trim().is_empty();
        let first = self.new[..n].iter().all(|line| !solid(line));
        let lost = self.map.first_lost();
        let apart = lost.is_some_and(|(from, _)| !from.is_empty());
        if apart && !first && self.old[..o].iter().all(|line| !solid(line)) {
            let why = "nothing tells how deep the changed line is to be indented";
            return Err(Conflict { line: piece.line, why });
        }
        let head = if let Some((_, to)) = lost.filter(|(from, _)| first && *from == new_indent) {
            to.to_owned()
        } else if !piece.from_start {
            let more = new_indent.strip_prefix(old_indent).unwrap_or_default();
            self.behind_margin(more).to_owned()
        } else if own_depth {
            new_indent.to_owned()
        } else if new_indent == old_indent {
            let paired = self.old.len() == self.new.len();
            if !paired && self.map.is_ambiguous(old_indent) {
                let why = "nothing tells how deep the changed line is to be indented";
                return Err(Conflict { line: piece.line, why });
            }
            indent::of(file).to_owned()
        } else {
            self.depth(new_indent, piece.line)?
        };
        if let Some(sign) = self.style.unsettled(new)
            && new.matches(sign).count() != old.matches(sign).count()
        {
            return Err(Conflict { line: piece.line, why: UNSETTLED });
        }
        if self.style.names_another(new, old) || self.style.quotes_in_comment(new, old) {
            let why = "a new literal is in other quotes than the file's, and in a comment, or a name in those; quote it as the file does";
            return Err(Conflict { line: piece.line, why });
        }
        let moved = !marks::same_holder((self.old, o), (self.new, n));
        let skip = |line: &str| line.len() - line.trim_start().len();
        let (old, file, new) = (&old[skip(old)..], &file[skip(file)..], &new[skip(new)..]);
        let place =
            tokens::Place { goes_on: self.shape.is_continued(n), moved, slashes: self.slashes };
        let body = tokens::merge(old, file, new, self.style, place);
        let why = "the file's line is not the one that the call changes";
        body.map(|body| head + &body).ok_or(Conflict { line: piece.line, why })
    }

    /// A line that is new.
    pub(super) fn inserted(
        &self,
        n: usize,
        before: &[Line],
        own_depth: bool,
    ) -> Result<Line, Conflict> {
        let new = self.new[n];
        let code = |line: &&&str| !line.trim().is_empty() && !is_comment(line);
        let above = n.checked_sub(1).map(|above| self.new[above]);
        let code_above = self.new[..n].iter().rev().find(code).copied();
        let next = self.shape.next_code(n).map(|next| self.new[next]);
        // The first line may have lost the indentation that the line there has in the file.
        let lost = self.map.first_lost().filter(|(from, _)| {
            self.new[..n].iter().all(|line| line.trim().is_empty()) && indent::of(new) == *from
        });
        let others = self.old.iter().filter(|line| !line.trim().is_empty()).skip(1);
        if self.map.starts_right() && !others.into_iter().any(|line| self.new[..n].contains(line)) {
            let why = "the lines of old_str are indented in two ways; nothing tells which the new ones follow";
            return Err(Conflict { line: self.window.first().map_or(0, |piece| piece.line), why });
        }
        let returned = self.style.loses_marks() && self.shape.is_returned(self.new, n);
        let goes_on = returned
            || self.shape.goes_on(n) && (lost.is_none() || self.shape.open_brackets(n) != 0);
        let body = {
            let ends_value = self.shape.ends_value(self.new, n);
            let place = At { goes_on, ends_value, in_literal: self.shape.in_literal(n) };
            self.style.apply_line(&new[indent::of(new).len()..], place, code_above, next)
        };
        let known = self.as_in_file(n);
        if known.is_none() && self.style.unsettled(new).is_some() {
            let line = self.window.first().map_or(0, |piece| piece.line);
            return Err(Conflict { line, why: UNSETTLED });
        }
        let within = || self.style.would_end(new) && self.shape.in_callback(self.new, n);
        if known.is_none()
            && ((!goes_on || self.shape.may_end(n)) && self.style.is_unsure(new, code_above, next)
                || within())
        {
            let why = "whether a new line needs a ; as the lines around it, nothing tells; quote those with theirs";
            return Err(Conflict { line: self.window.first().map_or(0, |piece| piece.line), why });
        }
        let body = known.unwrap_or(body);
        // Without the `;` that the call has above and the file has not, it would go on there.
        let last = before.iter().rev().find(|line| !line.text.trim().is_empty());
        if body.starts_with(['(', '[', '`'])
            && above.is_some_and(|above| above.trim_end().ends_with(';'))
            && last.is_some_and(|last| !last.text.trim_end().ends_with([';', '{', '}']))
        {
            let why = "the file has no ; above the new line, which would go on with that line";
            return Err(Conflict { line: self.window.first().map_or(0, |piece| piece.line), why });
        }
        if body.trim().is_empty() {
            return Ok(Line { text: self.blank(new).to_owned(), ending: None, new: Some(n) });
        }
        if self.style.tears_a_literal(new) {
            let why = "a new literal holds a typographic quote, and whether the file is to have it, nothing tells";
            return Err(Conflict { line: self.window.first().map_or(0, |piece| piece.line), why });
        }
        if self.style.leaves_foreign(new, &body) {
            let why = "a new literal is in other quotes than the file's, and holds such quotes or values; quote it as the file does";
            return Err(Conflict { line: self.window.first().map_or(0, |piece| piece.line), why });
        }
        let habit = self.added_blanks.contains(&&body[body.trim_end().len()..]);
        let body = if habit { body.trim_end().to_owned() } else { body };
        let code = code_of(&body, self.slashes).len() == body.len()
            && !is_comment(&body)
            && !self.shape.in_literal(n);
        let surplus = code
            && self.has_no_semicolons
            && !goes_on
            && !ends_in_entity(&body)
            && !needs_semicolon(&body, next);
        let body = match body.strip_suffix(';').filter(|_| surplus) {
            Some(code) => code.to_owned(),
            None => body,
        };
        let body = match self.shape.in_literal(n) {
            true => body,
            false => {
                let open = |n: usize| self.shape.open_brackets(n) != 0;
                let in_brackets = open(n) || n.checked_sub(1).is_some_and(open);
                let depth = |line: &str| indent::columns(indent::of(line), 4);
                let mut above =
                    self.new[..n].iter().rev().filter(|line| !line.trim().is_empty()).copied();
                let holder = above.find(|line| depth(line) < depth(new));
                match self.assignments.apply(body, in_brackets, indent::of(new), holder) {
                    assign::Applied::Line(line) => line,
                    assign::Applied::Unclear(why) => {
                        let line = self.window.first().map_or(0, |piece| piece.line);
                        return Err(Conflict { line, why });
                    }
                }
            }
        };
        let first = before.is_empty() && self.window.first().is_some_and(|piece| !piece.from_start);
        let head = if let Some((_, depth)) = lost.filter(|_| !first) {
            depth.to_owned()
        } else if !self.map.is_same()
            && !self.text_moves
            && let Some(least) = self.shape.literal_depth(n, self.text_above())
        {
            if least > 0 || !self.map.is_shift() || shape::tears_literals(self.old, self.new) {
                let why = "whether the text in the new literal is to be indented with the code, nothing tells";
                let line = self.window.first().map_or(0, |piece| piece.line);
                return Err(Conflict { line, why });
            }
            indent::of(new).to_owned()
        } else if self.map.is_scale() && self.shape.in_literal(n) {
            let why = "whether the text in the new literal is to be indented with the code, nothing tells";
            let line = self.window.first().map_or(0, |piece| piece.line);
            return Err(Conflict { line, why });
        } else if first {
            self.behind_margin(indent::of(new)).to_owned()
        } else if own_depth || self.map.is_same() {
            indent::of(new).to_owned()
        } else if !new.starts_with([' ', '\t']) && self.is_marginal(new) {
            // Where code stands at the margin of the call, too, so may a directive of the block.
            let code = |line: &&&str| {
                !line.trim().is_empty() && !line.starts_with([' ', '\t']) && !is_directive(line)
            };
            let known = self.old.iter().any(|line| is_directive(line));
            if !known && self.new.iter().find(code).is_some() {
                let why =
                    "nothing tells whether the directive stands at the margin or in its block";
                let line = self.window.first().map_or(0, |piece| piece.line);
                return Err(Conflict { line, why });
            }
            String::new()
        } else {
            let line = self.window.first().map_or(0, |piece| piece.line);
            self.depth(indent::of(new), line)?
        };
        Ok(Line { text: head + &body, ending: None, new: Some(n) })
    }

    /// A changed line that ended in a `;` that the whole call leaves out ends so still, or it is
    /// told why not.
    pub(super) fn ends_as_before(
        &self,
        out: &[Line],
        events: &[Event],
        wanted: &HashMap<usize, &'static str>,
    ) -> Result<(), Conflict> {
        let ends = |line: &str| marks::mark(line, self.slashes) == ";";
        let lost = events.iter().find_map(|event| {
            let Event::Change(o, n) = *event else { return None };
            let piece = self.piece_of(o).filter(|piece| piece.to_end && ends(self.file(*piece)))?;
            let line = out.iter().find(|line| line.new == Some(n))?;
            let next = self.shape.next_code(n).map(|next| self.new[next]);
            let above = n.checked_sub(1).map(|above| self.new[above]);
            let bare = !ends(self.old[o]) && !ends(&line.text) && !wanted.contains_key(&n);
            let goes_on = self.shape.goes_on(n);
            let unsure = bare && !goes_on && self.style.is_unsure(&line.text, above, next);
            unsure.then_some(piece.line)
        });
        let why = "whether the changed line ends in the ; that the file has there, nothing tells; quote it with its ;";
        lost.map_or(Ok(()), |line| Err(Conflict { line, why }))
    }

    /// The file's line, if a new one is a line of `old` that only moved.
    fn as_in_file(&self, n: usize) -> Option<String> {
        let new = self.new[n].trim();
        let mut same = self.window.steps.iter().filter_map(|step| match step {
            Step::Pair(at, piece) if self.old[*at].trim() == new => Some(*piece),
            _ => None,
        });
        let piece = same.next().filter(|piece| piece.from_start && piece.to_end)?;
        let file = self.file(piece).trim();
        let mark = |line: &str| marks::mark(line, self.slashes);
        let once = self.new.iter().filter(|line| line.trim() == new).count() == 1;
        let alone = once && same.next().is_none() && new.contains(is_word);
        (alone && mark(file) == mark(new)).then(|| file.to_owned())
    }

    /// A new line of blanks only, as the file has such lines of the call.
    fn blank<'b>(&'b self, new: &'b str) -> &'b str {
        // Lines that end in blanks in `old` and no longer in `new`: there they are meant.
        let ends = |line: &str| line.ends_with([' ', '\t']) && !line.trim().is_empty();
        let cleaned = || {
            let mut olds = self.old.iter().filter(|line| ends(line));
            olds.any(|old| self.new.contains(&old.trim_end()))
        };
        let known = self.window.steps.iter().find_map(|step| match step {
            Step::Pair(at, piece) if !new.is_empty() && self.old[*at] == new && !cleaned() => {
                Some(self.file(*piece)).filter(|file| file.is_empty())
            }
            _ => None,
        });
        if self.added_blanks.contains(&new) { "" } else { known.unwrap_or(new) }
    }

    /// The indentation of a first line whose own place is behind the blanks of the file's
    /// line: those are there already.
    fn behind_margin<'b>(&self, indent: &'b str) -> &'b str {
        let Some(piece) = self.window.first() else { return indent };
        let margin =
            &self.source.body(piece.line)[..piece.start - self.source.lines[piece.line].start];
        let blank = !margin.is_empty() && margin.trim().is_empty();
        if blank { indent.strip_prefix(margin).unwrap_or(indent) } else { indent }
    }

    /// Whether a line is for the preprocessor and so stands at the margin, whatever is
    /// around it, as every such line of the file does.
    pub(super) fn is_marginal(&self, line: &str) -> bool {
        is_directive(line)
            && !self.source.lines.iter().any(|line| {
                let line = &self.source.text[line.start..line.end];
                line.starts_with([' ', '\t']) && is_directive(line)
            })
    }

    fn depth(&self, indent: &str, line: usize) -> Result<String, Conflict> {
        let why = "nothing tells how deep the new line is to be indented";
        self.map.apply(indent).ok_or(Conflict { line, why })
    }

    /// The file above the place.
    pub(super) fn text_above(&self) -> &'t str {
        &self.source.text[..self.window.first().map_or(0, |piece| piece.start)]
    }
}
