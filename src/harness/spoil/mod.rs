//! The kinds of mistake that the generator adds to real edits ("ways to spoil"), as a table.
//!
//! A way takes an edit whose result is known and changes what the model says, or
//! what the file holds, or both. It keeps four versions of each line side by side
//! (the file's, `old_str`'s, `new_str`'s and the result's), so the truth is made
//! together with the mistake and never computed by the code under test.
//!
//! Why the truth of a recoverable case is the only right answer:
//! - the edit's lines are unique in the file even when everything that a reading
//!   folds is removed (see [`edits`](super::edits)), checked again after spoiling;
//! - a mistake that touches `new_str` touches it where the same line of `old_str` is
//!   touched, or in a way that can be undone without knowing the file;
//! - lines that only the file knows about are placed between two kept lines, never
//!   next to a change;
//! - a way gives up (`None`) where its mistake cannot be told from meaning, for
//!   example quotes beside backslashes; and a case whose spoiled `old_str` occurs
//!   exactly in the file is dropped unless the literal result is the truth.

mod decorate;
mod escapes;
mod indent;
mod lines;
mod refuse;
mod table;
mod unicode;
mod wording;

pub(crate) use table::WAYS;

use super::case::{Case, Truth};
use super::edits::{RealEdit, Row, folded};
use super::rng::Rng;
use crate::edit::{EditCode, Expected};

/// What must come of a way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// The bytes that the edit meant.
    Right,
    /// A refusal with one of these codes.
    Refused(&'static [EditCode]),
}

/// One step of a way.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Spoil {
    /// Changes lines, where their roles are still known.
    Rows(fn(&mut Draft<'_>, &mut Rng) -> Option<()>),
    /// Changes whole strings.
    Text(fn(&mut Call, &mut Rng) -> Option<()>),
}

/// One way to spoil an edit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Way {
    /// Its stable name.
    pub id: &'static str,
    /// The group it is scored with.
    pub family: &'static str,
    /// What must come of it.
    pub wanted: Wanted,
    /// What it does.
    pub steps: &'static [Spoil],
}

/// What an edit does with a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Context.
    Keep,
    /// Removed or rewritten.
    Drop,
    /// Written.
    Add,
}

/// One line in its four versions. `None` where a version does not have it.
#[derive(Debug, Clone)]
pub(crate) struct Cell {
    /// Its role in the real edit.
    pub kind: Kind,
    /// In the file before.
    pub file: Option<String>,
    /// In `old_str`.
    pub old: Option<String>,
    /// In `new_str`.
    pub new: Option<String>,
    /// In the file afterwards.
    pub after: Option<String>,
    /// The line break, in the file.
    pub ending: &'static str,
    /// Another line, with its break, that is as right as `after`.
    pub also: Option<(String, &'static str)>,
}

/// An edit while its lines are being spoiled.
#[derive(Debug, Clone)]
pub(crate) struct Draft<'e> {
    /// The real edit.
    pub edit: &'e RealEdit,
    /// The lines.
    pub cells: Vec<Cell>,
    /// The file above, ending in a line break unless empty.
    pub head: String,
    /// The file below, starting with the line break of the last line.
    pub tail: String,
}

/// A call in the making: strings, no more lines.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    /// The file above the edit.
    pub head: String,
    /// What the edit replaces.
    pub region: String,
    /// The file below.
    pub tail: String,
    /// What is in the region's place afterwards.
    pub after: String,
    /// What may be there as well.
    pub also: Option<String>,
    /// `old_str`
    pub old: String,
    /// `new_str`
    pub new: String,
    /// How often.
    pub expected: Expected,
    /// The tie breaker.
    pub near_line: Option<usize>,
}

impl Call {
    /// The file.
    pub(crate) fn before(&self) -> String {
        [self.head.as_str(), &self.region, &self.tail].concat()
    }

    /// The number of the region's first line.
    pub(crate) fn first_line(&self) -> usize {
        self.head.matches('\n').count() + 1
    }
}

impl Cell {
    fn keep(line: &str) -> Self {
        let line = Some(line.to_owned());
        Self {
            kind: Kind::Keep,
            file: line.clone(),
            old: line.clone(),
            new: line.clone(),
            after: line,
            ending: "\n",
            also: None,
        }
    }

    fn of(row: &Row) -> Self {
        match row {
            Row::Keep(line) => Self::keep(line),
            Row::Drop(line) => {
                Self { kind: Kind::Drop, new: None, after: None, ..Self::keep(line) }
            }
            Row::Add(line) => Self { kind: Kind::Add, file: None, old: None, ..Self::keep(line) },
        }
    }

    /// Whether it is a context line with words in it.
    pub(crate) fn is_kept_text(&self) -> bool {
        self.kind == Kind::Keep && self.file.as_ref().is_some_and(|l| !l.trim().is_empty())
    }

    /// Whether it is a blank context line.
    pub(crate) fn is_kept_blank(&self) -> bool {
        self.kind == Kind::Keep && self.file.as_ref().is_some_and(|l| l.trim().is_empty())
    }

    /// Changes what the model says of the line, in both strings.
    pub(crate) fn say(&mut self, change: impl Fn(&str) -> String) {
        for line in [&mut self.old, &mut self.new].into_iter().flatten() {
            *line = change(line);
        }
    }

    /// Changes what the file holds, before and after.
    pub(crate) fn hold(&mut self, change: impl Fn(&str) -> String) {
        for line in [&mut self.file, &mut self.after].into_iter().flatten() {
            *line = change(line);
        }
    }
}

impl<'e> Draft<'e> {
    fn new(edit: &'e RealEdit) -> Self {
        Self {
            edit,
            cells: edit.rows.iter().map(Cell::of).collect(),
            head: edit.head().to_owned(),
            tail: edit.tail().to_owned(),
        }
    }

    /// Shows more of the file above and below as context, up to blank ends.
    pub(crate) fn widen(&mut self, above: usize, below: usize) {
        for _ in 0..above {
            let Some(body) = self.head.strip_suffix('\n') else { break };
            let start = body.rfind('\n').map_or(0, |feed| feed + 1);
            self.cells.insert(0, Cell::keep(&body[start..]));
            self.head.truncate(start);
        }
        for _ in 0..below {
            let Some(rest) = self.tail.strip_prefix('\n').filter(|rest| rest.contains('\n')) else {
                break;
            };
            let end = rest.find('\n').unwrap_or(rest.len());
            self.cells.push(Cell::keep(&rest[..end]));
            self.tail = rest[end..].to_owned();
        }
        while self.cells.first().is_some_and(Cell::is_kept_blank) {
            self.cells.remove(0);
            self.head.push('\n');
        }
        while self.cells.last().is_some_and(Cell::is_kept_blank) {
            self.cells.pop();
            self.tail.insert(0, '\n');
        }
    }

    /// The indexes of cells that a test accepts.
    pub(crate) fn which(&self, test: impl Fn(&Cell) -> bool) -> Vec<usize> {
        (0..self.cells.len()).filter(|&at| test(&self.cells[at])).collect()
    }

    /// Whether a cell and both its neighbours are context, none of them the edge.
    pub(crate) fn is_inside_context(&self, at: usize) -> bool {
        at > 0
            && at + 1 < self.cells.len()
            && self.cells[at - 1..=at + 1].iter().all(|cell| cell.kind == Kind::Keep)
    }

    /// The file's own lines of the edit.
    pub(crate) fn file_lines(&self) -> Vec<&str> {
        self.cells.iter().filter_map(|cell| cell.file.as_deref()).collect()
    }

    /// How many lines of the edit have words.
    pub(crate) fn weight(&self) -> usize {
        self.file_lines().iter().filter(|line| !line.trim().is_empty()).count()
    }

    /// Whether a line that goes or comes has a twin that stays, and the file tells them
    /// apart only by what the call does not know: then either may be the one that stays.
    fn is_open_which_goes(&self) -> bool {
        let is_twin = |kept: &Cell, other: &Cell| {
            let line = other.old.as_ref().or(other.new.as_ref());
            line.zip(kept.old.as_ref()).is_some_and(|(a, b)| a.trim_end() == b.trim_end())
        };
        let (kept, others): (Vec<&Cell>, Vec<&Cell>) =
            self.cells.iter().partition(|cell| cell.kind == Kind::Keep);
        let apart = kept.into_iter().filter(|cell| cell.file != cell.old);
        apart.into_iter().any(|kept| others.iter().any(|other| is_twin(kept, other)))
    }

    /// Every line of the file outside the edit.
    pub(crate) fn elsewhere(&self) -> impl Iterator<Item = &str> {
        self.head.lines().chain(self.tail.lines())
    }

    /// The share of the edit's lines that some other place of the file repeats in
    /// the same order, from 0 to 1. Cases for loose readings want this low.
    pub(crate) fn twin_share(&self) -> f64 {
        let own: Vec<String> = self.file_lines().iter().map(|line| folded(line)).collect();
        let words = own.iter().filter(|line| !line.is_empty()).count().max(1);
        let best = [&self.head, &self.tail]
            .into_iter()
            .map(|text| {
                let other: Vec<String> = text.lines().map(folded).collect();
                (0..other.len())
                    .map(|at| {
                        let end = (at + own.len()).min(other.len());
                        let pairs = own.iter().zip(&other[at..end]);
                        pairs.filter(|(a, b)| a == b && !a.is_empty()).count()
                    })
                    .max()
                    .unwrap_or(0)
            })
            .max()
            .unwrap_or(0);
        #[expect(clippy::cast_precision_loss, reason = "line counts are small")]
        let share = best as f64 / words as f64;
        share
    }

    fn into_call(self, closing: Closing) -> Call {
        let join = |pick: fn(&Cell) -> Option<&str>, endings: Endings| {
            let mut out = String::new();
            let mut last = "";
            for cell in &self.cells {
                if let Some(line) = pick(cell) {
                    out.push_str(last);
                    out.push_str(line);
                    last = match endings {
                        Endings::Plain => "\n",
                        Endings::File => cell.ending,
                    };
                }
            }
            out
        };
        let also = self.cells.iter().any(|cell| cell.also.is_some()).then(|| {
            let mut other = self.clone();
            for cell in &mut other.cells {
                if let Some((line, ending)) = cell.also.take() {
                    (cell.after, cell.ending) = (Some(line), ending);
                }
            }
            other.into_call(closing).after
        });
        let mut call = Call {
            also,
            region: join(|cell| cell.file.as_deref(), Endings::File),
            after: join(|cell| cell.after.as_deref(), Endings::File),
            old: join(|cell| cell.old.as_deref(), Endings::Plain),
            new: join(|cell| cell.new.as_deref(), Endings::Plain),
            head: self.head,
            tail: self.tail,
            expected: Expected::default(),
            near_line: None,
        };
        if closing == Closing::Included && call.tail.starts_with('\n') {
            call.tail.remove(0);
            for text in [&mut call.region, &mut call.after, &mut call.old, &mut call.new] {
                text.push('\n');
            }
        }
        call
    }
}

#[derive(Clone, Copy)]
enum Endings {
    Plain,
    File,
}

/// Whether the strings of the call include the last line's break.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Closing {
    Left,
    Included,
}

impl Way {
    /// The case that this way makes of an edit, or `None` where it does not apply
    /// or where the truth would not be certain.
    pub(crate) fn spoil(&self, edit: &RealEdit, seed: u64) -> Option<Case> {
        let mut rng = Rng::new(seed, &format!("{}\n{}", self.id, edit.id));
        let mut draft = Draft::new(edit);
        let real = draft.clone().into_call(Closing::Left);
        for step in self.steps {
            if let Spoil::Rows(change) = step {
                change(&mut draft, &mut rng)?;
            }
        }
        if draft.is_open_which_goes() {
            return None;
        }
        let closing = if rng.chance(30) { Closing::Included } else { Closing::Left };
        let mut call = draft.into_call(closing);
        let plain = (call.old.clone(), call.new.clone(), call.before());
        for step in self.steps {
            if let Spoil::Text(change) = step {
                change(&mut call, &mut rng)?;
            }
        }
        let untouched = !self.steps.is_empty()
            && (call.old.trim_end(), call.new.trim_end()) == (&*real.old, &*real.new)
            && call.before() == *edit.file
            && call.expected == Expected::default()
            && call.near_line.is_none();
        let idle = self.steps.iter().any(|step| matches!(step, Spoil::Text(_)))
            && plain == (call.old.clone(), call.new.clone(), call.before())
            && call.expected == Expected::default()
            && call.near_line.is_none();
        if untouched || idle {
            return None;
        }
        self.is_certain(&call).then(|| self.case(edit, call))
    }

    fn is_certain(&self, call: &Call) -> bool {
        let before = call.before();
        let literal: Vec<usize> = before.match_indices(&call.old).map(|(at, _)| at).collect();
        match self.wanted {
            // A text that is in the file after all is not absent.
            Wanted::Refused(codes) => codes != [EditCode::NoOccurrence] || literal.is_empty(),
            Wanted::Right if call.expected != Expected::default() || call.near_line.is_some() => {
                call.region != call.after
            }
            Wanted::Right => {
                let region = folded(&call.region);
                let unique =
                    memchr::memmem::find_iter(folded(&before).as_bytes(), region.as_bytes())
                        .count()
                        == 1;
                let truth = [call.head.as_str(), &call.after, &call.tail].concat();
                let literally_right = match literal[..] {
                    [] => true,
                    [at] => {
                        [&before[..at], &call.new, &before[at + call.old.len()..]].concat() == truth
                    }
                    _ => false,
                };
                unique && literally_right && call.region != call.after && call.old != call.new
            }
        }
    }

    fn case(&self, edit: &RealEdit, call: Call) -> Case {
        let range = call.head.len()..call.head.len() + call.region.len();
        Case {
            id: format!("{}@{}", self.id, edit.id),
            way: self.id.to_owned(),
            family: self.family.to_owned(),
            language: edit.language.name.to_owned(),
            path: edit.path.clone(),
            before: call.before().into_bytes(),
            old: call.old,
            new: call.new,
            expected: call.expected,
            near_line: call.near_line,
            truth: match self.wanted {
                Wanted::Right => Truth::Right {
                    range,
                    texts: [Some(call.after), call.also].into_iter().flatten().collect(),
                },
                Wanted::Refused(codes) => Truth::Refused(codes.to_vec()),
            },
        }
    }
}

/// The way with this id.
pub(crate) fn way(id: &str) -> Option<&'static Way> {
    WAYS.iter().find(|way| way.id == id)
}
