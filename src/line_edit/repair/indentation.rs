//! Restores indentation that the new lines have lost. The right indentation is known from copied lines
//! or from the lines that are replaced.

use std::collections::HashMap;

use crate::edit::Rewrite;
use crate::language::{Language, TokenKind};
use crate::matching::{indent_of, reindent};

use super::{Direction, Repair, is_blank, texts_of};

impl Repair<'_> {
    /// Restores the indentation of an edit's lines if some of them are copies of replaced lines with a
    /// different indentation.
    pub(super) fn restore_copied_indentation(&mut self, at: usize) {
        let edit = &self.edits[at];
        let old_lines = edit.replaced_lines(self.file);
        let new_lines: Vec<&String> = edit.lines.iter().filter(|line| !is_blank(line)).collect();
        let has_words = |line: &str| line.chars().any(char::is_alphanumeric);
        // For each line that is a copy of exactly one replaced line, both indentations.
        let mut pairs: Vec<(String, String)> = Vec::new();
        // `None` stands for a text that several lines have.
        let mut originals: HashMap<&str, Option<&str>> = HashMap::new();
        for old in &old_lines {
            originals
                .entry(old.trim())
                .and_modify(|original| *original = None)
                .or_insert(Some(old));
        }
        for line in new_lines.iter().filter(|line| has_words(line)) {
            if let Some(Some(original)) = originals.get(line.trim()) {
                pairs.push((indent_of(line).to_owned(), indent_of(original).to_owned()));
            }
        }
        // If all lines are copies, the edit is meant to change their indentation.
        if pairs.is_empty() || pairs.len() == new_lines.len() {
            return;
        }
        let Some(outcomes) = reindent(self.file, &edit.lines, pairs) else { return };
        let [lines] = outcomes.as_slice() else { return };
        let old_indents =
            old_lines.iter().filter(|line| !is_blank(line)).map(|line| indent_of(line));
        let outermost = old_indents.min_by_key(|indent| indent.len());
        let fits = outermost.is_some_and(|indent| self.indent_fits(at, indent));
        if !fits || self.structure.is_well_formed_with(self.edits, at, lines) == Some(false) {
            return;
        }
        let number = edit.number;
        self.edits[at].lines.clone_from(lines);
        self.log.record(
            Rewrite::RestoreIndent,
            format!("edit {number}: re-indented its lines to match the same lines in the file"),
        );
    }

    /// Whether lines with the indentation `indent` fit at an edit: the nearest line above begins with
    /// `indent` or opens a block, and the nearest line below begins with it, closes a block or has a
    /// shorter indentation.
    fn indent_fits(&self, at: usize, indent: &str) -> bool {
        let span = self.edits[at].span;
        let above = self.nearest_surviving_line(span.start, Direction::Up);
        let below = self.nearest_surviving_line(span.end.max(span.start - 1), Direction::Down);
        let opens = |line: &str| line.trim_end().ends_with(['{', '(', '[', ':']);
        let closes = |line: &str| line.trim_start().starts_with(['}', ')', ']']);
        above.is_some_and(|line| indent_of(line).starts_with(indent) || opens(line))
            && below.is_none_or(|line| {
                indent_of(line).starts_with(indent)
                    || closes(line)
                    || indent_of(line).len() < indent.len()
            })
    }

    /// In a language where indentation has no meaning, gives lines that lost all their indentation that
    /// of the lines they replace.
    pub(super) fn restore_free_indentation(&mut self, at: usize) {
        let Some(language) = self
            .structure
            .language
            .filter(|l| l.is_free_form() && !l.has_significant_indentation())
        else {
            return;
        };
        let edit = &self.edits[at];
        let replaced = edit.replaced_lines(self.file);
        let old_lines: Vec<&&str> = replaced.iter().filter(|line| !is_blank(line)).collect();
        let Some(first_old) = old_lines.first() else { return };
        let lost_indent = indent_of(first_old).to_owned();
        let new_lines: Vec<&String> = edit.lines.iter().filter(|line| !is_blank(line)).collect();
        let old_texts = texts_of(&replaced);
        let is_copy = |line: &&String| old_texts.contains(line.trim());
        // Lines that may be at the margin on purpose: a directive, a label, the end of a block that
        // begins elsewhere.
        let is_well_formed = language.lex(&edit.lines.join("\n")).is_well_formed();
        let belongs_at_margin = |line: &&String| {
            let text = line.trim_start();
            text.starts_with(['#', '<'])
                || !is_well_formed && text.starts_with(['}', ')', ']'])
                || text.trim_end().ends_with(':')
        };
        let starts_at_margin = new_lines.first().is_some_and(|line| indent_of(line).is_empty());
        if lost_indent.is_empty()
            || !starts_at_margin
            || new_lines.iter().all(is_copy)
            || new_lines.iter().any(belongs_at_margin)
            || !old_lines.iter().all(|line| indent_of(line).starts_with(&lost_indent))
            || !movable_lines(&edit.lines, Some(language)).iter().all(|is_movable| *is_movable)
            || self.structure.starts_inside_token(edit.span.start)
            || !self.indent_fits(at, &lost_indent)
        {
            return;
        }
        // Often only the first line has lost its indentation.
        let only_first = new_lines.len() > 1
            && new_lines[1..].iter().all(|line| indent_of(line).starts_with(&lost_indent));
        let number = edit.number;
        let lines = &mut self.edits[at].lines;
        let first = lines.iter().position(|line| !is_blank(line));
        for (k, line) in lines.iter_mut().enumerate() {
            if !is_blank(line) && (!only_first || Some(k) == first) {
                line.insert_str(0, &lost_indent);
            }
        }
        self.log.record(
            Rewrite::RestoreIndent,
            format!("edit {number}: gave its lines the indentation of those that they replace"),
        );
    }

    /// The lines as sent, and with each indentation that the surrounding lines suggest: for all lines, and
    /// for the first line alone if the others have it.
    pub(super) fn indent_candidates(&self, at: usize, lines: &[String]) -> Vec<Vec<String>> {
        let edit = &self.edits[at];
        let mut out = vec![lines.to_vec()];
        let Some(first) = lines.iter().position(|line| !is_blank(line)) else { return out };
        let sent_indent = indent_of(&lines[first]);
        let mut levels: Vec<&str> = Vec::new();
        match edit.replaced_lines(self.file).iter().find(|line| !is_blank(line)) {
            Some(old) => levels.push(indent_of(old)),
            None => {
                let above = self.nearest_surviving_line(edit.span.start, Direction::Up);
                let below = self.nearest_surviving_line(edit.span.end, Direction::Down);
                levels.extend(above.into_iter().chain(below).map(indent_of));
            }
        }
        let is_movable = movable_lines(lines, self.structure.language);
        for level in levels.into_iter().filter(|level| *level != sent_indent) {
            let shift = |line: &str| -> Option<String> {
                match (level.strip_suffix(sent_indent), sent_indent.strip_suffix(level)) {
                    (Some(added), _) => Some(format!("{added}{line}")),
                    (None, Some(removed)) => line.strip_prefix(removed).map(str::to_owned),
                    (None, None) => None,
                }
            };
            let all_shifted: Option<Vec<String>> = lines
                .iter()
                .enumerate()
                .map(|(k, line)| match is_blank(line) || !is_movable[k] {
                    true => Some(line.clone()),
                    false => shift(line),
                })
                .collect();
            out.extend(all_shifted);
            // If the other lines lack the indentation too, the first has not lost it alone.
            let mut others = lines[first + 1..].iter().filter(|line| !is_blank(line));
            if others.all(|line| indent_of(line).starts_with(level)) {
                let mut first_shifted = lines.to_vec();
                first_shifted[first] = format!("{level}{}", &lines[first][sent_indent.len()..]);
                out.push(first_shifted);
            }
        }
        out
    }
}

/// For each line, whether it begins outside of a literal or a comment and so may be re-indented.
fn movable_lines(lines: &[String], language: Option<&'static Language>) -> Vec<bool> {
    let text = lines.join("\n");
    let lexed = language.map(|language| language.lex(&text));
    let mut start = 0;
    lines
        .iter()
        .map(|line| {
            let at = start;
            start += line.len() + 1;
            lexed.as_ref().is_none_or(|lexed| lexed.kind_across(at) == TokenKind::Code)
        })
        .collect()
}
