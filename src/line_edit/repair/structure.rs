//! Repairs that the structure of the file proves: the file was well formed, with the lines as sent it
//! is not, and only one way to undo a mistake leaves it well formed.

use crate::edit::{EditPlan, Rewrite};
use crate::language::{Language, Lexed, TokenKind};
use crate::line_edit::{splices, to_changes};
use crate::text::Snapshot;

use super::{LocatedEdit, Repair};

/// How often a call may check whether the whole file would be well formed.
pub(super) const MAX_TRIALS: usize = 64;

/// Checks whether the whole file is well formed with an edit.
pub(super) struct Structure<'a> {
    file: &'a Snapshot,
    /// `None` if nothing can be proven: the language is unknown, or the file is not well formed.
    pub(super) language: Option<&'static Language>,
    lexed: Option<Lexed>,
    trials_left: usize,
}

impl<'a> Structure<'a> {
    /// Reads the structure of the file as it is.
    pub(super) fn of(
        file: &'a Snapshot,
        language: Option<&'static Language>,
        edits: &[LocatedEdit],
    ) -> Self {
        let language = language
            .filter(|_| !edits.is_empty())
            .filter(|language| language.is_lexed() && language.is_well_formed(file.text()));
        let lexed = language.map(|language| language.lex(file.text()));
        Self { file, language, lexed, trials_left: MAX_TRIALS }
    }

    /// Whether a line begins within a literal or a comment.
    pub(super) fn starts_inside_token(&self, line: usize) -> bool {
        let start = self.file.lines().start(line);
        self.lexed.as_ref().is_some_and(|lexed| lexed.kind_across(start) != TokenKind::Code)
    }

    /// Whether the file is well formed after these edits; `None` if that is not known or the call has
    /// no trials left. Each check uses up one trial.
    fn is_well_formed(&mut self, edits: &[LocatedEdit]) -> Option<bool> {
        let language = self.language?;
        self.trials_left = self.trials_left.checked_sub(1)?;
        let splices = splices(self.file, to_changes(edits)).ok()?;
        let plan = EditPlan::new(self.file, splices).ok()?;
        Some(language.is_well_formed(&plan.text_after()))
    }

    /// Whether the file is well formed with the edits as they are, and not with `lines` as the new
    /// lines of edit `at`.
    pub(super) fn is_broken_only_with(
        &mut self,
        edits: &[LocatedEdit],
        at: usize,
        lines: &[String],
    ) -> bool {
        self.is_well_formed_with(edits, at, lines) == Some(false)
            && self.is_well_formed(edits) != Some(false)
    }

    /// Whether the file is well formed after these edits, with `lines` as the new lines of edit `at`.
    pub(super) fn is_well_formed_with(
        &mut self,
        edits: &[LocatedEdit],
        at: usize,
        lines: &[String],
    ) -> Option<bool> {
        let mut tried = edits.to_vec();
        tried[at].lines = lines.to_vec();
        self.is_well_formed(&tried)
    }
}

/// How many lines were removed at the start and at the end, and the lines that are left.
type RepairedLines = ((usize, usize), Vec<String>);

impl Repair<'_> {
    /// If the file would not be well formed with the call as sent, undoes one mistake in each edit
    /// that is at fault: lost indentation, or a copy of the lines around it.
    pub(super) fn repair_by_structure(&mut self) {
        if self.structure.is_well_formed(self.edits) != Some(false) {
            return;
        }
        let (sent, sent_log) = (self.edits.to_vec(), self.log.clone());
        for at in 0..self.edits.len() {
            if self.structure.is_well_formed(&self.edits[at..=at]) == Some(false) {
                self.repair_one(at);
            }
        }
        if self.structure.is_well_formed(self.edits) == Some(true) {
            return;
        }
        self.edits.clone_from_slice(&sent);
        self.log = sent_log;
        self.log.warnings.push(
            "this call broke the structure of the file: check brackets, quotes and indentation"
                .to_owned(),
        );
    }

    /// Undoes the mistake of one edit, if there is exactly one way that leaves the file well formed.
    fn repair_one(&mut self, at: usize) {
        let (head, tail) = (self.echo_at_head(at), self.echo_at_tail(at));
        let sent = self.edits[at].lines.clone();
        let mut cuts = vec![(head, 0), (0, tail), (head, tail)];
        cuts.dedup();
        cuts.retain(|(head, tail)| head + tail > 0 && head + tail <= sent.len());
        let kept = |(head, tail): (usize, usize)| sent[head..sent.len() - tail].to_vec();
        let reindented = |cuts: (usize, usize)| {
            let candidates = self.indent_candidates(at, &kept(cuts));
            candidates.into_iter().map(move |lines| (cuts, lines)).collect::<Vec<_>>()
        };
        // First remove copies, then re-indent the lines, then do both.
        let tiers: [Vec<RepairedLines>; 3] = [
            cuts.iter().map(|&cuts| (cuts, kept(cuts))).collect(),
            reindented((0, 0)),
            cuts.iter().flat_map(|&cuts| reindented(cuts)).collect(),
        ];
        let mut found: Vec<RepairedLines> = Vec::new();
        for tier in tiers {
            for (cuts, lines) in tier {
                let is_new = lines != sent && found.iter().all(|(_, other)| *other != lines);
                let alone = LocatedEdit { lines: lines.clone(), ..self.edits[at].clone() };
                if is_new && self.structure.is_well_formed(&[alone]) == Some(true) {
                    found.push((cuts, lines));
                }
            }
            if !found.is_empty() {
                break;
            }
        }
        let [(cuts, lines)] = found.as_slice() else { return };
        if *cuts != (0, 0) {
            self.drop_echoes(at, *cuts);
        }
        let edit = &mut self.edits[at];
        if edit.lines != *lines {
            edit.lines.clone_from(lines);
            self.log.record(
                Rewrite::RestoreIndent,
                format!("edit {}: gave its lines the indentation of the lines around them; as sent, they would have broken the syntax", edit.number),
            );
        }
    }
}
