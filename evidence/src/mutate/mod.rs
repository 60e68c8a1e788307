//! The kinds of mistake that the generator adds to real edits, as a table of mutations.
//!
//! A mutation takes an edit whose result is known, and changes the call, the file, or both. It
//! keeps four versions of each line (in the file, in `old_str`, in `new_str` and in the result). So
//! the right result is made together with the mistake and is never computed by the code under test.
//!
//! A recoverable case has only one right result, for these reasons:
//! - The edit's lines are unique in the file, even without everything that a reading may ignore
//!   (see [`edits`](crate::edits)). This is checked again after the mutation.
//! - A mistake in `new_str` is made in the same lines as in `old_str`, or it can be undone without
//!   the file.
//! - Lines that are only in the file are put between two kept lines, never next to a change.
//! - A mutation does not apply (it returns `None`) if its mistake may be intended, as with quotes
//!   beside backslashes.
//! - A case whose mutated `old_str` occurs in the file is dropped, unless the literal replacement
//!   gives the right result.

mod decorate;
mod escapes;
mod indent;
mod lines;
mod refuse;
mod table;
mod unicode;
mod wording;

pub(crate) use table::MUTATIONS;

use crate::edits::{DiffLine, RealEdit, folded};
use crate::rng::Rng;
use restitch::internals::harness::{Case, Truth};
use restitch::{EditCode, Expected};

/// The expected result of a mutated call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expectation {
    /// The call is applied, with the result of the real edit.
    Right,
    /// The call is refused with one of these codes.
    Refused(&'static [EditCode]),
}

/// One step of a mutation.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Step {
    /// Changes single lines, while the role of each is known.
    Lines(fn(&mut EditDraft<'_>, &mut Rng) -> Option<()>),
    /// Changes the whole strings of the call, or the whole file.
    Strings(fn(&mut CallDraft, &mut Rng) -> Option<()>),
}

/// One kind of mistake that a model makes in an edit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mutation {
    /// The name of the mutation, which never changes.
    pub id: &'static str,
    /// The group that the mutation is scored with.
    pub family: &'static str,
    /// The expected result.
    pub expectation: Expectation,
    /// The changes that the mutation makes, in order.
    pub steps: &'static [Step],
}

/// The role of a line in an edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineRole {
    /// The edit keeps the line.
    Context,
    /// The edit removes or rewrites the line.
    Removed,
    /// The edit adds the line.
    Added,
}

/// The four versions of a line, each `None` if the line is not there.
#[derive(Debug, Clone)]
pub(crate) struct DraftLine {
    /// The role of the line in the real edit.
    pub role: LineRole,
    /// The line in the file before.
    pub file: Option<String>,
    /// The line in `old_str`.
    pub old: Option<String>,
    /// The line in `new_str`.
    pub new: Option<String>,
    /// The line in the file afterwards.
    pub after: Option<String>,
    /// The line's break in the file.
    pub ending: &'static str,
    /// Another line, with its line break, that is as right as `after`.
    pub alternative: Option<(String, &'static str)>,
}

/// An edit while its lines are being mutated.
#[derive(Debug, Clone)]
pub(crate) struct EditDraft<'e> {
    /// The real edit.
    pub edit: &'e RealEdit,
    /// The lines of the edit.
    pub lines: Vec<DraftLine>,
    /// The file above the edit, with a line break at its end unless it is empty.
    pub head: String,
    /// The file below the edit, from the line break of the edit's last line on.
    pub tail: String,
}

/// A call while its strings are being mutated.
#[derive(Debug, Clone)]
pub(crate) struct CallDraft {
    /// The file above the edit.
    pub head: String,
    /// The text that the edit replaces.
    pub region: String,
    /// The file below the edit.
    pub tail: String,
    /// The right text in place of the region.
    pub after: String,
    /// Another text that is as right as `after`.
    pub alternative: Option<String>,
    /// `old_str`
    pub old: String,
    /// `new_str`
    pub new: String,
    /// The number of replacements.
    pub expected: Expected,
    /// The line that decides between several matches.
    pub near_line: Option<usize>,
}

impl CallDraft {
    /// Returns the file before the edit.
    pub(crate) fn before(&self) -> String {
        [self.head.as_str(), &self.region, &self.tail].concat()
    }

    /// Returns the number of the region's first line.
    pub(crate) fn first_line(&self) -> usize {
        self.head.matches('\n').count() + 1
    }
}

impl DraftLine {
    /// Returns a kept line, which is the same in all versions.
    fn context(line: &str) -> Self {
        let line = Some(line.to_owned());
        Self {
            role: LineRole::Context,
            file: line.clone(),
            old: line.clone(),
            new: line.clone(),
            after: line,
            ending: "\n",
            alternative: None,
        }
    }

    fn from_diff(diff_line: &DiffLine) -> Self {
        match diff_line {
            DiffLine::Context(line) => Self::context(line),
            DiffLine::Removed(line) => {
                Self { role: LineRole::Removed, new: None, after: None, ..Self::context(line) }
            }
            DiffLine::Added(line) => {
                Self { role: LineRole::Added, file: None, old: None, ..Self::context(line) }
            }
        }
    }

    /// Whether this is a context line that is not blank.
    pub(crate) fn is_context_text(&self) -> bool {
        self.role == LineRole::Context
            && self.file.as_ref().is_some_and(|line| !line.trim().is_empty())
    }

    /// Whether this is a blank context line.
    pub(crate) fn is_blank_context(&self) -> bool {
        self.role == LineRole::Context
            && self.file.as_ref().is_some_and(|line| line.trim().is_empty())
    }

    /// Changes the line in `old_str` and `new_str`.
    pub(crate) fn change_in_call(&mut self, change: impl Fn(&str) -> String) {
        for line in [&mut self.old, &mut self.new].into_iter().flatten() {
            *line = change(line);
        }
    }

    /// Changes the line in the file, before and after the edit.
    pub(crate) fn change_in_file(&mut self, change: impl Fn(&str) -> String) {
        for line in [&mut self.file, &mut self.after].into_iter().flatten() {
            *line = change(line);
        }
    }
}

impl<'e> EditDraft<'e> {
    fn new(edit: &'e RealEdit) -> Self {
        Self {
            edit,
            lines: edit.lines.iter().map(DraftLine::from_diff).collect(),
            head: edit.head().to_owned(),
            tail: edit.tail().to_owned(),
        }
    }

    /// Adds up to `above` lines of the file above the edit and `below` lines below it as context,
    /// then drops blank lines at both ends.
    pub(crate) fn widen_context(&mut self, above: usize, below: usize) {
        for _ in 0..above {
            let Some(body) = self.head.strip_suffix('\n') else { break };
            let start = body.rfind('\n').map_or(0, |offset| offset + 1);
            self.lines.insert(0, DraftLine::context(&body[start..]));
            self.head.truncate(start);
        }
        for _ in 0..below {
            let Some(rest) = self.tail.strip_prefix('\n').filter(|rest| rest.contains('\n')) else {
                break;
            };
            let end = rest.find('\n').unwrap_or(rest.len());
            self.lines.push(DraftLine::context(&rest[..end]));
            self.tail = rest[end..].to_owned();
        }
        while self.lines.first().is_some_and(DraftLine::is_blank_context) {
            self.lines.remove(0);
            self.head.push('\n');
        }
        while self.lines.last().is_some_and(DraftLine::is_blank_context) {
            self.lines.pop();
            self.tail.insert(0, '\n');
        }
    }

    /// Returns the indexes of the lines that a test accepts.
    pub(crate) fn positions(&self, test: impl Fn(&DraftLine) -> bool) -> Vec<usize> {
        (0..self.lines.len()).filter(|&index| test(&self.lines[index])).collect()
    }

    /// Whether a line has a line above and below it in the edit, and all three are context.
    pub(crate) fn is_inside_context(&self, index: usize) -> bool {
        index > 0
            && index + 1 < self.lines.len()
            && self.lines[index - 1..=index + 1]
                .iter()
                .all(|draft_line| draft_line.role == LineRole::Context)
    }

    /// Returns the lines of the edit as they are in the file before.
    pub(crate) fn file_lines(&self) -> Vec<&str> {
        self.lines.iter().filter_map(|draft_line| draft_line.file.as_deref()).collect()
    }

    /// Returns how many lines of the edit are not blank in the file before.
    pub(crate) fn nonblank_lines(&self) -> usize {
        self.file_lines().iter().filter(|line| !line.trim().is_empty()).count()
    }

    /// Whether a removed or added line is the same in the call as a kept line that is different in
    /// the file. The call does not show which of the two is kept, so the right result is uncertain.
    fn has_interchangeable_line(&self) -> bool {
        let same_in_call = |kept: &DraftLine, changed: &DraftLine| {
            let changed_line = changed.old.as_ref().or(changed.new.as_ref());
            match (changed_line, &kept.old) {
                (Some(changed_line), Some(kept_line)) => {
                    changed_line.trim_end() == kept_line.trim_end()
                }
                _ => false,
            }
        };
        let (kept, changed): (Vec<&DraftLine>, Vec<&DraftLine>) =
            self.lines.iter().partition(|draft_line| draft_line.role == LineRole::Context);
        kept.into_iter()
            .filter(|kept| kept.file != kept.old)
            .any(|kept| changed.iter().any(|changed| same_in_call(kept, changed)))
    }

    /// Returns every line of the file outside the edit.
    pub(crate) fn lines_outside(&self) -> impl Iterator<Item = &str> {
        self.head.lines().chain(self.tail.lines())
    }

    /// Returns the largest share of the edit's lines, from 0 to 1, that another place of the file
    /// has in the same order. A case for a reading that ignores much needs a low share, or the edit
    /// fits there as well.
    pub(crate) fn repeated_share(&self) -> f64 {
        let edit_lines: Vec<String> = self.file_lines().iter().map(|line| folded(line)).collect();
        let nonblank = edit_lines.iter().filter(|line| !line.is_empty()).count().max(1);
        let mut most_equal = 0;
        for text in [&self.head, &self.tail] {
            let lines: Vec<String> = text.lines().map(folded).collect();
            for start in 0..lines.len() {
                let end = (start + edit_lines.len()).min(lines.len());
                let pairs = edit_lines.iter().zip(&lines[start..end]);
                let equal = pairs.filter(|(a, b)| a == b && !a.is_empty()).count();
                most_equal = most_equal.max(equal);
            }
        }
        #[expect(clippy::cast_precision_loss, reason = "line counts are small")]
        let share = most_equal as f64 / nonblank as f64;
        share
    }

    /// Makes the strings of the call and the texts of the file by joining the lines.
    fn into_call(self, final_break: FinalBreak) -> CallDraft {
        let join = |version: fn(&DraftLine) -> Option<&str>, line_breaks: LineBreaks| {
            let mut out = String::new();
            // The break of a line is written only before another one.
            let mut last_break = "";
            for draft_line in &self.lines {
                if let Some(line) = version(draft_line) {
                    out.push_str(last_break);
                    out.push_str(line);
                    last_break = match line_breaks {
                        LineBreaks::Lf => "\n",
                        LineBreaks::AsInFile => draft_line.ending,
                    };
                }
            }
            out
        };
        let has_alternative = self.lines.iter().any(|draft_line| draft_line.alternative.is_some());
        let alternative = has_alternative.then(|| {
            let mut draft = self.clone();
            for draft_line in &mut draft.lines {
                if let Some((line, ending)) = draft_line.alternative.take() {
                    (draft_line.after, draft_line.ending) = (Some(line), ending);
                }
            }
            draft.into_call(final_break).after
        });
        let mut call = CallDraft {
            alternative,
            region: join(|draft_line| draft_line.file.as_deref(), LineBreaks::AsInFile),
            after: join(|draft_line| draft_line.after.as_deref(), LineBreaks::AsInFile),
            old: join(|draft_line| draft_line.old.as_deref(), LineBreaks::Lf),
            new: join(|draft_line| draft_line.new.as_deref(), LineBreaks::Lf),
            head: self.head,
            tail: self.tail,
            expected: Expected::default(),
            near_line: None,
        };
        if final_break == FinalBreak::Included && call.tail.starts_with('\n') {
            call.tail.remove(0);
            for text in [&mut call.region, &mut call.after, &mut call.old, &mut call.new] {
                text.push('\n');
            }
        }
        call
    }
}

/// The line breaks of a joined text.
#[derive(Clone, Copy)]
enum LineBreaks {
    Lf,
    AsInFile,
}

/// Whether the strings of the call end with the last line's break.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FinalBreak {
    Omitted,
    Included,
}

impl Mutation {
    /// Makes a case of an edit; `None` if the mutation does not apply to it, or if the right result
    /// would be uncertain.
    pub(crate) fn apply(&self, edit: &RealEdit, seed: u64) -> Option<Case> {
        let mut rng = Rng::new(seed, &format!("{}\n{}", self.id, edit.id));
        let mut draft = EditDraft::new(edit);
        let real_call = draft.clone().into_call(FinalBreak::Omitted);
        for step in self.steps {
            if let Step::Lines(change) = step {
                change(&mut draft, &mut rng)?;
            }
        }
        if draft.has_interchangeable_line() {
            return None;
        }
        let final_break = if rng.chance(30) { FinalBreak::Included } else { FinalBreak::Omitted };
        let mut call = draft.into_call(final_break);
        let before_string_steps = (call.old.clone(), call.new.clone(), call.before());
        for step in self.steps {
            if let Step::Strings(change) = step {
                change(&mut call, &mut rng)?;
            }
        }
        let has_default_options = call.expected == Expected::default() && call.near_line.is_none();
        let steps_did_nothing = !self.steps.is_empty()
            && has_default_options
            && (call.old.trim_end(), call.new.trim_end()) == (&*real_call.old, &*real_call.new)
            && call.before() == *edit.file;
        let string_steps_did_nothing =
            self.steps.iter().any(|step| matches!(step, Step::Strings(_)))
                && has_default_options
                && before_string_steps == (call.old.clone(), call.new.clone(), call.before());
        if steps_did_nothing || string_steps_did_nothing {
            return None;
        }
        self.is_certain(&call).then(|| self.case(edit, call))
    }

    /// Whether the expectation is the only right one for this call.
    fn is_certain(&self, call: &CallDraft) -> bool {
        let before = call.before();
        let occurrences: Vec<usize> =
            before.match_indices(&call.old).map(|(offset, _)| offset).collect();
        match self.expectation {
            // A text that must be absent may be in the file by chance.
            Expectation::Refused(codes) => {
                codes != [EditCode::NoOccurrence] || occurrences.is_empty()
            }
            Expectation::Right
                if call.expected != Expected::default() || call.near_line.is_some() =>
            {
                // The count or the line decides, so the text may occur several times.
                call.region != call.after
            }
            Expectation::Right => {
                let (file, region) = (folded(&before), folded(&call.region));
                let is_unique =
                    memchr::memmem::find_iter(file.as_bytes(), region.as_bytes()).count() == 1;
                let right = [call.head.as_str(), &call.after, &call.tail].concat();
                let literal_is_right = match occurrences[..] {
                    [] => true,
                    [start] => {
                        let end = start + call.old.len();
                        [&before[..start], &call.new, &before[end..]].concat() == right
                    }
                    _ => false,
                };
                is_unique && literal_is_right && call.region != call.after && call.old != call.new
            }
        }
    }

    /// Returns the case of a mutated call.
    fn case(&self, edit: &RealEdit, call: CallDraft) -> Case {
        let range = call.head.len()..call.head.len() + call.region.len();
        Case {
            id: format!("{}@{}", self.id, edit.id),
            cause: self.id.to_owned(),
            family: self.family.to_owned(),
            language: edit.language.name.to_owned(),
            path: edit.path.clone(),
            before: call.before().into_bytes(),
            old: call.old,
            new: call.new,
            expected: call.expected,
            near_line: call.near_line,
            truth: match self.expectation {
                Expectation::Right => Truth::Right {
                    range,
                    texts: [Some(call.after), call.alternative].into_iter().flatten().collect(),
                },
                Expectation::Refused(codes) => Truth::Refused(codes.to_vec()),
            },
        }
    }
}

/// Returns the mutation with this id.
pub(crate) fn by_id(id: &str) -> Option<&'static Mutation> {
    MUTATIONS.iter().find(|mutation| mutation.id == id)
}
