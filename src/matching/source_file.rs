//! A file with what the matcher needs to know about it: its lines, a key for each line at each
//! tolerance, its tokens and its indentation. Everything is computed on first use.

use std::cell::OnceCell;
use std::ops::Range;

use super::fold::{self, Fold};
use super::indent;
use super::indent_of;
use crate::language::{Language, Lexed};
use crate::text::{LineEnding, Snapshot};

/// A difference that two lines may have and still count as the same, strictest first. Each
/// tolerance also ignores what the ones above it ignore; only `Indentation` does not ignore
/// look-alikes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Tolerance {
    /// The line ending.
    LineEndings,
    /// Trailing whitespace.
    TrailingBlanks,
    /// Characters that look alike.
    LookAlikes,
    /// Indentation.
    Indentation,
    /// Characters that look alike, and indentation.
    LookAlikesAndIndentation,
    /// Blank lines that only one side has.
    BlankLines,
    /// Whitespace inside the line, outside of literals.
    Spacing,
    /// The kind of quotes, and one `,` or `;` at the end.
    Punctuation,
}

impl Tolerance {
    pub(super) const ALL: [Self; 8] = [
        Self::LineEndings,
        Self::TrailingBlanks,
        Self::LookAlikes,
        Self::Indentation,
        Self::LookAlikesAndIndentation,
        Self::BlankLines,
        Self::Spacing,
        Self::Punctuation,
    ];

    /// The fold that ignores differences inside a line; `None` if none are ignored.
    pub(super) fn fold(self) -> Option<Fold> {
        match self {
            Self::LineEndings | Self::TrailingBlanks | Self::Indentation => None,
            Self::LookAlikes | Self::LookAlikesAndIndentation | Self::BlankLines => {
                Some(Fold::LookAlike)
            }
            Self::Spacing => Some(Fold::Spacing),
            Self::Punctuation => Some(Fold::Punctuation),
        }
    }

    /// Whether indentation is ignored.
    pub(super) fn ignores_indentation(self) -> bool {
        self >= Self::Indentation
    }

    /// Whether blank lines are left out of the comparison.
    pub(super) fn skips_blank_lines(self) -> bool {
        self >= Self::BlankLines
    }

    /// The key of a line: two lines are the same at this tolerance if and only if their keys are.
    pub(super) fn key(self, line: &str) -> u64 {
        if self == Self::LineEndings {
            return fold::plain_key(line);
        }
        if line.trim().is_empty() {
            return BLANK_LINE_KEY;
        }
        match (self.fold(), self.ignores_indentation()) {
            (None, false) => fold::plain_key(line.trim_end()),
            (None, true) => fold::plain_key(line.trim()),
            (Some(fold), true) => fold::key(line, fold),
            (Some(fold), false) => {
                // The fold ignores whitespace at the ends of the line, so the indentation is added.
                let indent = indent_of(line);
                let not_spaces: String = indent.chars().filter(|c| *c != ' ').collect();
                let indent_key = fold::plain_key(&not_spaces).wrapping_add(indent.len() as u64);
                fold::key(line, fold) ^ indent_key
            }
        }
    }

    /// Whether two lines are the same at this tolerance.
    pub(super) fn matches(self, a: &str, b: &str) -> bool {
        a == b || self.key(a) == self.key(b)
    }
}

/// The key of every blank line, at all tolerances but the first.
pub(super) const BLANK_LINE_KEY: u64 = 0;

/// One line of the file, by byte offsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileLine {
    pub(super) start: usize,
    /// Where the content ends and the ending begins.
    pub(super) end: usize,
    pub(super) ending: LineEnding,
}

impl FileLine {
    /// Where the next line begins.
    pub(super) fn full_end(self) -> usize {
        self.end + self.ending.as_str().len()
    }
}

/// A file and what is computed from it during one call.
pub(super) struct SourceFile<'t> {
    pub(super) snapshot: &'t Snapshot,
    pub(super) text: &'t str,
    pub(super) language: Option<&'static Language>,
    lines: OnceCell<Vec<FileLine>>,
    keys: [OnceCell<Vec<u64>>; Tolerance::ALL.len()],
    nonblank_lines: OnceCell<Vec<usize>>,
    lexed: OnceCell<Option<Lexed>>,
    indent_unit: OnceCell<Option<usize>>,
    index: OnceCell<super::nearest::Index>,
}

impl<'t> SourceFile<'t> {
    /// The file of a snapshot, with nothing computed yet.
    pub(super) fn new(snapshot: &'t Snapshot, language: Option<&'static Language>) -> Self {
        Self {
            snapshot,
            text: snapshot.text(),
            language,
            lines: OnceCell::new(),
            keys: [const { OnceCell::new() }; Tolerance::ALL.len()],
            nonblank_lines: OnceCell::new(),
            lexed: OnceCell::new(),
            indent_unit: OnceCell::new(),
            index: OnceCell::new(),
        }
    }

    /// The lines of the file.
    pub(super) fn lines(&self) -> &[FileLine] {
        self.lines.get_or_init(|| {
            let line = |line: crate::text::Line| FileLine {
                start: line.body.start,
                end: line.body.end,
                ending: line.ending,
            };
            crate::text::each_line(self.text).map(line).collect()
        })
    }

    /// The content of a line (from 0).
    pub(super) fn body(&self, at: usize) -> &'t str {
        let line = self.lines()[at];
        &self.text[line.start..line.end]
    }

    /// Whether a line (from 0) has nothing but whitespace.
    pub(super) fn is_blank(&self, at: usize) -> bool {
        self.body(at).trim().is_empty()
    }

    /// The key of every line.
    pub(super) fn keys(&self, tolerance: Tolerance) -> &[u64] {
        self.keys[tolerance as usize].get_or_init(|| {
            (0..self.lines().len()).map(|at| tolerance.key(self.body(at))).collect()
        })
    }

    /// The lines that are not blank, from 0.
    pub(super) fn nonblank_lines(&self) -> &[usize] {
        self.nonblank_lines
            .get_or_init(|| (0..self.lines().len()).filter(|&at| !self.is_blank(at)).collect())
    }

    /// The line (from 0) that contains an offset.
    pub(super) fn line_at(&self, offset: usize) -> usize {
        self.lines().partition_point(|line| line.start <= offset).saturating_sub(1)
    }

    /// The tokens and brackets of the file; `None` for a language that is not lexed.
    pub(super) fn lexed(&self) -> Option<&Lexed> {
        let lex = || self.language.filter(|l| l.is_lexed()).map(|l| l.lex(self.text));
        self.lexed.get_or_init(lex).as_ref()
    }

    /// The width of a level of indentation in spaces; `None` for a file that is indented by
    /// tabs, or not at all.
    pub(super) fn indent_unit(&self) -> Option<usize> {
        *self.indent_unit.get_or_init(|| {
            let lines = self.nonblank_lines().iter().take(MAX_SAMPLED_LINES);
            indent::unit(lines.map(|&at| self.body(at)))
        })
    }

    /// The positions of words and lines, for the search for similar regions.
    pub(super) fn index(&self) -> &super::nearest::Index {
        self.index.get_or_init(|| super::nearest::Index::of(self))
    }

    /// The bytes of consecutive whole lines, without the last line's ending.
    pub(super) fn byte_range(&self, lines: &Range<usize>) -> Range<usize> {
        let all = self.lines();
        match lines.is_empty() {
            true => {
                let at = all.get(lines.start).map_or(self.text.len(), |line| line.start);
                at..at
            }
            false => all[lines.start].start..all[lines.end - 1].end,
        }
    }
}

/// The most lines that are sampled for the width of a level.
const MAX_SAMPLED_LINES: usize = 4_000;

/// The lines of `old_str` or `new_str`. A line break at the end of the text opens no further line.
pub(super) fn split_lines(text: &str) -> Vec<&str> {
    let body = text.strip_suffix('\n').unwrap_or(text);
    body.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)).collect()
}
