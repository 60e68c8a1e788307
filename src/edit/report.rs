//! Reports on edits, in full for programs and in a few lines for models.

use schemars::JsonSchema;
use serde::Serialize;

use super::diff::unified_diff;
use super::spans::{LineShift, Span, before_and_after, line_delta, line_shifts};
use super::verify::VerifiedEdit;
use super::{Attempt, Conflict, Kept, ModelUse, Rewrite, Rung, SyntaxCheck};
use crate::text::tag;
use crate::text::{
    Content, ContentHash, LineSpan, Snapshot, clip, cut_note, pluralize, quote_name,
};

/// How an edit was understood: which rung matched and what was rewritten.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct Explanation {
    /// The rung of the ladder that matched.
    pub rung: Rung,
    /// Each rewrite that was applied to `old_str` or `new_str`.
    pub rewrites: Vec<Rewrite>,
    /// How many places changed.
    pub replacements: usize,
    /// The strings that were used, if they differ from the caller's.
    pub corrected: Option<Corrected>,
    /// What the model cost, if it was asked.
    pub model: ModelUse,
    /// The attempts to correct the call with a model.
    pub attempts: Vec<Attempt>,
    /// Lines that the call changes but misquotes, and what was written there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<Conflict>,
    /// Lines that the call keeps but quotes with other words; they stay as the file has them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<Kept>,
    /// Warnings about an edit that succeeded.
    pub warnings: Vec<String>,
    /// Whether the edit was checked for syntax errors, and those that are new.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub syntax: Option<SyntaxCheck>,
}

impl Explanation {
    /// An edit by `rung` that needed no rewriting.
    pub fn plain(rung: Rung) -> Self {
        Self {
            rung,
            rewrites: Vec::new(),
            replacements: 1,
            corrected: None,
            model: ModelUse::default(),
            attempts: Vec::new(),
            conflicts: Vec::new(),
            kept: Vec::new(),
            warnings: Vec::new(),
            syntax: None,
        }
    }

    /// The names of the rewrites, separated by commas.
    pub(crate) fn rewrite_list(&self) -> String {
        self.rewrites.iter().map(|rewrite| rewrite.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// The explanation of a call by those of its edits.
    pub(crate) fn of_edits(mut edits: Vec<Self>) -> Self {
        if edits.len() == 1 {
            return edits.remove(0);
        }
        let mut whole = Self { replacements: 0, ..Self::plain(Rung::Exact) };
        edits.iter().for_each(|edit| whole.absorb(edit));
        whole
    }

    /// Adds the explanation of another edit of the same call. The rung of the last edit that is not
    /// `exact` stands for all.
    pub(crate) fn absorb(&mut self, part: &Self) {
        if part.rung != Rung::Exact {
            self.rung = part.rung;
        }
        for rewrite in &part.rewrites {
            if !self.rewrites.contains(rewrite) {
                self.rewrites.push(*rewrite);
            }
        }
        self.replacements += part.replacements;
        self.model.add(&part.model);
        self.attempts.extend_from_slice(&part.attempts);
        self.conflicts.extend_from_slice(&part.conflicts);
        self.kept.extend_from_slice(&part.kept);
        self.warnings.extend_from_slice(&part.warnings);
    }
}

/// The strings that an edit used instead of the caller's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct Corrected {
    /// The file's own text that was replaced.
    pub old_str: String,
    /// The text that replaced it.
    pub new_str: String,
}

/// How safely the result is on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Durability {
    /// File and folder are synced.
    Durable,
    /// Written and renamed, but a later step failed or was not asked for.
    Unknown,
    /// Nothing was written, as asked.
    DryRun,
    /// Kept in memory until staged edits are committed together.
    Staged,
}

/// What changed, with the lines around it, so that the caller can check.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct Verification {
    /// First replaced line, before the edit.
    pub start_line: usize,
    /// Last replaced line, before the edit.
    pub end_line: usize,
    /// The first replaced lines, as `<<N>>text`.
    pub original_lines: Vec<String>,
    /// How many lines were replaced.
    pub lines_replaced: usize,
    /// How many lines replaced them.
    pub lines_inserted: usize,
    /// The change in the number of lines.
    pub line_delta: i64,
    /// The line above, as `<<N>>text`.
    pub before_context: Option<String>,
    /// The first new lines, as `<<N>>text`.
    pub edited_preview: Vec<String>,
    /// The line below, as `<<N>>text`.
    pub after_context: Option<String>,
    /// The number of lines in the file after the edit.
    pub total_lines: usize,
}

/// How a file was written: links, owners and modes decide which method keeps them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum WriteMethod {
    /// A new file took the old one's place in one step.
    Replaced,
    /// The file was overwritten where it is, under a journal.
    InPlace,
    /// The file is new.
    Created,
    /// The file was removed.
    Removed,
}

/// The outcome of an edit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct EditReport {
    /// The file.
    pub path: String,
    /// How the edit was understood.
    #[serde(flatten)]
    pub explanation: Explanation,
    /// Each changed span.
    pub spans: Vec<Span>,
    /// SHA-256 of the file before; null for a new file.
    pub before_sha256: Option<ContentHash>,
    /// SHA-256 of the file after; null for a removed file.
    pub after_sha256: Option<ContentHash>,
    /// The change, with the lines around it. For several edits: from the first to the last.
    pub verification: Verification,
    /// The same for each edit, in the order of their lines.
    pub verifications: Vec<Verification>,
    /// Unified diff.
    pub diff: String,
    /// Fresh anchors of the changed lines and their neighbours.
    pub anchors: Vec<String>,
    /// How line numbers below each change moved.
    pub line_shifts: Vec<LineShift>,
    /// The revision, if the edit was committed.
    pub revision: Option<u64>,
    /// How safely it is stored: `durable`, `unknown`, `dry_run`, `staged`.
    pub durability: Durability,
    /// How it was written: `replaced`, `in-place`, `created`, `removed`; null if nothing was.
    pub write_method: Option<WriteMethod>,
}

/// The most lines that the call misquotes and keeps that a text names, and how much of each.
const MAX_KEPT_SHOWN: usize = 3;
const MAX_KEPT_TEXT: usize = 80;
/// The most edits of a call that get a verification of their own.
const MAX_VERIFICATIONS: usize = 100;
/// The most replaced lines in a verification.
const MAX_ORIGINAL_LINES: usize = 20;
/// The most characters of a line in a verification.
const MAX_LINE_CHARS: usize = 2_000;
/// Once the text for a model has this many characters, it shows no further edit.
const MAX_EDITS_TEXT: usize = 1_100;
/// The most anchors in the text for a model.
const MAX_ANCHORS_SHOWN: usize = 16;
/// The most anchors in the report.
const MAX_ANCHORS: usize = 40;
/// The most characters of the text for a model.
const MAX_MODEL_TEXT: usize = 1_500;

impl EditReport {
    /// The report on a verified edit. The caller adds the results of the commit (revision, durability,
    /// further warnings).
    pub fn new(edit: &VerifiedEdit) -> Self {
        edit.report(|| Self::of(edit))
    }

    fn of(edit: &VerifiedEdit) -> Self {
        let (before, after, spans) = before_and_after(edit);
        Self {
            path: edit.path().as_str().to_owned(),
            explanation: edit.explanation().clone(),
            before_sha256: edit.base(),
            after_sha256: edit.after().map(Content::hash),
            verification: verification(&before, &after, &spans),
            verifications: spans
                .iter()
                .take(MAX_VERIFICATIONS)
                .map(|span| verification(&before, &after, std::slice::from_ref(span)))
                .collect(),
            diff: unified_diff(edit.path().as_str(), &before, &after, &spans),
            anchors: anchors(&after, &spans),
            line_shifts: line_shifts(&spans),
            spans,
            revision: None,
            durability: Durability::DryRun,
            write_method: None,
        }
    }

    /// The text for a model: short, with numbers to check by.
    pub fn text(&self) -> String {
        self.text_with(Style::Plain, self.verb())
    }

    /// The text for a caller that also gets the edited text, even if nothing was written.
    #[cfg(feature = "cli")]
    pub(crate) fn text_as_edited(&self) -> String {
        self.text_with(Style::Plain, "Edited")
    }

    /// The text for a model that gave line numbers and no old text: the lines that were
    /// replaced are shown, too.
    pub(crate) fn numbered_text(&self) -> String {
        self.text_with(Style::Numbered, self.verb())
    }

    /// The text for a model that works by anchors: what changed, with fresh anchors.
    pub(crate) fn anchored_text(&self) -> String {
        let is_edited = self.before_sha256.is_some() && self.after_sha256.is_some();
        self.text_with(if is_edited { Style::Anchored } else { Style::Plain }, self.verb())
    }

    /// The verb for what happened to the file.
    fn verb(&self) -> &'static str {
        match self.durability {
            Durability::DryRun => "Would edit",
            Durability::Staged => "Staged",
            Durability::Durable | Durability::Unknown => "Edited",
        }
    }

    /// The text for a model, which begins with `verb` for an edit of an existing file.
    fn text_with(&self, style: Style, verb: &str) -> String {
        let is_dry_run = self.durability == Durability::DryRun;
        let verification = &self.verification;
        let mut out = match (self.before_sha256, self.after_sha256) {
            (None, _) => {
                let verb = if is_dry_run { "Would create" } else { "Created" };
                let lines = pluralize(verification.total_lines, "line");
                format!("{verb} {} ({lines}).", quote_name(&self.path))
            }
            (_, None) => {
                let verb = if is_dry_run { "Would remove" } else { "Removed" };
                format!("{verb} {}.", quote_name(&self.path))
            }
            _ => format!(
                "{verb} {} at {}: {} replaced by {}, file {} {}.",
                quote_name(&self.path),
                LineSpan { start: verification.start_line, end: verification.end_line },
                pluralize(verification.lines_replaced, "line"),
                verification.lines_inserted,
                if verb.starts_with("Would") { "would have" } else { "now has" },
                pluralize(verification.total_lines, "line")
            ),
        };
        let explanation = &self.explanation;
        if explanation.replacements > 1 {
            out.push_str(&format!(" {} places.", explanation.replacements));
        }
        let rung = explanation.rung;
        if !explanation.rewrites.is_empty() {
            let rewrites = explanation.rewrite_list();
            match rewrites == rung.as_str() {
                true => out.push_str(&format!(" Matched by `{rung}`.")),
                false => out.push_str(&format!(" Matched by `{rung}` ({rewrites}).")),
            }
        }
        match style {
            Style::Anchored => self.push_anchors(&mut out),
            Style::Plain | Style::Numbered => self.push_edits(&mut out, style),
        }
        self.push_tail(&mut out);
        match style {
            Style::Plain => clip(&out, MAX_MODEL_TEXT),
            Style::Numbered | Style::Anchored => self.with_version(&out),
        }
    }

    /// Adds the first lines that were replaced, and fresh anchors.
    fn push_anchors(&self, out: &mut String) {
        for edit in &self.verifications {
            if out.len() > MAX_EDITS_TEXT / 2 {
                break;
            }
            push_originals(out, edit);
        }
        push_lines(out, self.anchors.iter().take(MAX_ANCHORS_SHOWN), 100, &mut 0);
        if self.anchors.len() > MAX_ANCHORS_SHOWN {
            out.push_str("\n… more anchors in the report, or read these lines …");
        }
    }

    /// The text, cut to the limit, and the id of the snapshot to which its line numbers refer. The next
    /// call may name that id. After a dry run there is none.
    fn with_version(&self, text: &str) -> String {
        let written = self.after_sha256.filter(|_| self.durability != Durability::DryRun);
        let Some(after) = written else { return clip(text, MAX_MODEL_TEXT) };
        let version = format!("\nSnapshot {}.", after.short());
        clip(text, MAX_MODEL_TEXT - version.len()) + &version
    }

    /// Adds each edit: the replaced lines in a numbered text, the line above, the first new lines, and the line
    /// below.
    fn push_edits(&self, out: &mut String, style: Style) {
        let mut last_number = 0;
        for (at, edit) in self.verifications.iter().enumerate() {
            if at > 0 && out.len() > MAX_EDITS_TEXT {
                return self.push_unshown(out, at);
            }
            if style == Style::Numbered {
                push_originals(out, edit);
            }
            let above = edit.before_context.iter();
            let shown = above.chain(&edit.edited_preview).chain(&edit.after_context);
            push_lines(out, shown, 160, &mut last_number);
        }
        if self.spans.len() > self.verifications.len() {
            self.push_unshown(out, self.verifications.len());
        }
    }

    /// Adds how many edits, from index `from` on, are not shown, and where the first of them are.
    fn push_unshown(&self, out: &mut String, from: usize) {
        let rest = &self.spans[from..];
        let mut ranges: Vec<String> = Vec::new();
        for span in rest {
            let (start, end) = (span.after.start_line, span.after.end_line);
            let range = format!("{}-{}", start.max(1), end.max(start));
            if ranges.last() == Some(&range) {
                continue;
            }
            if ranges.len() == 12 {
                break;
            }
            ranges.push(range);
        }
        out.push_str(&format!(
            "\n… {} not shown; to check them, read ranges {}",
            pluralize(rest.len(), "edit"),
            ranges.join(", ")
        ));
    }

    /// Adds by how much lines below the changes moved, and the warnings.
    fn push_tail(&self, out: &mut String) {
        let verification = &self.verification;
        let total_before = (verification.total_lines + verification.lines_replaced)
            .saturating_sub(verification.lines_inserted);
        let shifts_within_file =
            self.line_shifts.iter().filter(|shift| shift.from_line <= total_before);
        let shifts: Vec<String> = shifts_within_file
            .take(6)
            .map(|shift| format!("{:+} from old line {}", shift.delta, shift.from_line))
            .collect();
        let edited = self.before_sha256.is_some() && self.after_sha256.is_some();
        if edited && !shifts.is_empty() {
            out.push_str(&format!("\nLines moved: {}.", shifts.join(", ")));
        }
        for kept in self.explanation.kept.iter().take(MAX_KEPT_SHOWN) {
            let [found, believed] =
                [&kept.found, &kept.believed].map(|line| clip(line.trim(), MAX_KEPT_TEXT));
            let line = kept.line;
            out.push_str(&format!("\nLine {line} had `{found}`, not `{believed}`; kept."));
        }
        for warning in &self.explanation.warnings {
            out.push_str("\nNote: ");
            out.push_str(warning);
        }
    }
}

/// By what the text for a model names lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    /// By nothing.
    Plain,
    /// By numbers.
    Numbered,
    /// By anchors.
    Anchored,
}

/// Adds the first few lines that an edit replaced.
fn push_originals(out: &mut String, edit: &Verification) {
    const MAX_LINES: usize = 3;
    for line in edit.original_lines.iter().take(MAX_LINES) {
        out.push_str("\nwas ");
        out.push_str(&clip(line, 100));
    }
    if edit.lines_replaced > MAX_LINES {
        out.push_str(&format!("\nwas … {} more", edit.lines_replaced - MAX_LINES));
    }
}

/// Adds those of some numbered lines that come after `last`, the last line that is shown, each on a line
/// of its own, with `…` where lines between them are left out. Sets `last` anew; it is 0 at first.
fn push_lines<'a>(
    out: &mut String,
    lines: impl Iterator<Item = &'a String>,
    max: usize,
    last: &mut usize,
) {
    for line in lines {
        let digits = line.trim_start_matches('<');
        let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        let number: usize = digits[..end].parse().unwrap_or_default();
        if number <= *last {
            continue;
        }
        if *last > 0 && number > *last + 1 {
            out.push_str("\n…");
        }
        *last = number;
        out.push('\n');
        out.push_str(&clip(line, max));
        // An anchor stands for the whole line.
        if line.chars().nth(max).is_some()
            && let Some((anchor, text)) = line.split_once('|').filter(|_| !line.starts_with('<'))
        {
            out.push_str(&cut_note(text, 1, max - anchor.len() - 1));
        }
    }
}

/// What changed from the first to the last of some spans.
fn verification(before: &Snapshot, after: &Snapshot, spans: &[Span]) -> Verification {
    let numbered = |file: &Snapshot, number: usize| {
        file.line(number).map(|text| clip(&format!("<<{number}>>{text}"), MAX_LINE_CHARS))
    };
    let total_lines = after.lines().total();
    let (Some(first), Some(last)) = (spans.first(), spans.last()) else {
        let after_context = numbered(after, 1);
        return Verification { start_line: 1, after_context, total_lines, ..Default::default() };
    };
    let new_lines = first.after.start_line..=first.after.end_line;
    let replaced_lines =
        spans.iter().flat_map(|span| span.before.start_line..=span.before.end_line);
    Verification {
        start_line: first.before.start_line,
        end_line: last.before.end_line,
        original_lines: replaced_lines
            .take(MAX_ORIGINAL_LINES)
            .filter_map(|number| numbered(before, number))
            .collect(),
        lines_replaced: spans.iter().map(|span| span.before.lines().len()).sum(),
        lines_inserted: spans.iter().map(|span| span.after.lines().len()).sum(),
        line_delta: spans.iter().map(line_delta).sum(),
        before_context: numbered(after, first.after.start_line.saturating_sub(1)),
        edited_preview: new_lines.take(3).filter_map(|number| numbered(after, number)).collect(),
        after_context: numbered(after, last.after.end_line + 1),
        total_lines,
    }
}

/// The anchors of the lines in some spans and of the lines next to them.
fn anchors(after: &Snapshot, spans: &[Span]) -> Vec<String> {
    let mut out = Vec::new();
    let mut next = 1;
    for span in spans {
        let from = span.after.start_line.saturating_sub(1).max(next);
        let to = (span.after.end_line + 1).min(after.lines().total());
        for number in from..=to {
            if out.len() == MAX_ANCHORS {
                return out;
            }
            out.extend(after.line(number).map(|text| tag::render(number, text)));
        }
        next = to + 1;
    }
    out
}
