//! The shape of a result: how its lines are nested, with the lines around the place. Of several ways to
//! indent the same text, the one whose steps are those of code is likelier.

use std::cmp::Ordering;
use std::ops::Range;

use super::fold::is_word_char;
use super::indent::{TAB_WIDTH, columns, unit};
use super::indent_of;
use super::places::Place;
use super::source_file::SourceFile;

/// Words at the end of a line below which a block begins.
const BLOCK_WORDS: &[&str] = &["then", "do", "else", "begin", "try", "repeat"];

/// Words at the start of a line below which a block may begin.
const HEADS: &[&str] = &[
    "if", "else", "elif", "elsif", "elseif", "unless", "for", "while", "until", "switch", "case",
    "when", "def", "class", "module", "function", "begin", "rescue", "ensure", "try", "except",
    "finally", "catch", "with", "match", "select",
];

/// Words that go on with a block or end it: as deep as its head.
const SEAMS: &[&str] = &[
    "else", "elif", "elsif", "elseif", "except", "finally", "catch", "rescue", "ensure", "end",
    "fi", "done", "esac",
];

/// Words that leave a block: nothing below them as deep is reached.
const LEAVES: &[&str] = &["return", "break", "continue", "raise", "throw", "goto"];

/// What stands at the margin behind a `#`, whatever is around it.
const PREPROCESSOR: &[&str] =
    &["if", "ifdef", "ifndef", "else", "elif", "endif", "define", "include"];

/// How far above a place the open levels are looked for.
const MAX_ABOVE: usize = 200;

/// A line of the file and its indentation, unless it begins inside a literal.
pub(super) fn line_of<'l>(file: &'l SourceFile<'_>, at: usize) -> (Option<&'l str>, &'l str) {
    let body = file.body(at);
    ((!file.begins_in_literal(at)).then(|| indent_of(body)), body)
}

/// How many lines of a result stand at a depth that nothing explains, with the lines around the place.
pub(super) fn odd_lines<'l>(
    file: &'l SourceFile<'_>,
    place: &Place,
    lines: impl Iterator<Item = (Option<&'l str>, &'l str)>,
) -> u8 {
    let Range { start, end } = place.lines();
    let below = (end..file.lines().len()).find(|&at| !file.is_blank(at));
    Shape::above(file, start).odd(lines.chain(below.map(|at| line_of(file, at))))
}

/// The same of a text by itself, whose levels may be of another width.
pub(super) fn odd_by_itself(file: &SourceFile<'_>, lines: &[&str]) -> u8 {
    let mut shape = Shape::above(file, 0);
    shape.unit = unit(lines.iter().copied()).or(shape.unit);
    shape.odd(lines.iter().map(|line| (Some(indent_of(line)), *line)))
}

/// The levels that are open below a line: the depth of each, and the last line there.
struct Shape<'l> {
    open: Vec<(usize, &'l str)>,
    /// The width of a level in spaces.
    unit: Option<usize>,
    has_tabs: bool,
    is_code: bool,
    is_yaml: bool,
}

impl<'l> Shape<'l> {
    /// The levels above line `start` of the file.
    fn above(file: &'l SourceFile<'_>, start: usize) -> Self {
        let mut open: Vec<(usize, &str)> = Vec::new();
        let mut end_of_literal = None;
        for at in (0..start).rev().filter(|&at| !file.is_blank(at)).take(MAX_ABOVE) {
            let (indent, line) = line_of(file, at);
            let Some(indent) = indent else {
                end_of_literal = end_of_literal.or(Some(line.trim()).filter(|_| open.is_empty()));
                continue;
            };
            let depth = columns(indent, TAB_WIDTH);
            if open.last().is_none_or(|(least, _)| depth < *least) {
                open.push((depth, end_of_literal.take().unwrap_or(line.trim())));
            }
            if depth == 0 {
                break;
            }
        }
        open.reverse();
        let language = file.language;
        Self {
            open,
            unit: file.indent_unit(),
            has_tabs: file.has_tabs(),
            is_code: language.is_none_or(|language| language.is_code()),
            is_yaml: language.is_some_and(|language| language.name == "yaml"),
        }
    }

    /// How many of these lines, which go on below, stand at an odd depth.
    fn odd(mut self, lines: impl Iterator<Item = (Option<&'l str>, &'l str)>) -> u8 {
        let full = lines.filter(|(_, line)| !line.trim().is_empty());
        let odd = full.filter(|(indent, line)| self.add(*indent, line.trim())).count();
        u8::try_from(odd).unwrap_or(u8::MAX)
    }

    /// Goes on with a line; whether its depth is odd.
    fn add(&mut self, indent: Option<&str>, text: &'l str) -> bool {
        if directive(text).is_some() {
            return false;
        }
        let Some(indent) = indent else {
            // What is inside a literal has no depth; its end goes on where it began.
            if let Some(level) = self.open.last_mut() {
                level.1 = text;
            }
            return false;
        };
        let depth = columns(indent, TAB_WIDTH);
        // Indented by tabs in a file of spaces, or by spaces in a file of tabs.
        let is_of_other_kind = match self.unit {
            Some(_) => indent.contains('\t'),
            None => self.has_tabs && indent.len() > 1 && !indent.contains('\t'),
        };
        let is_odd = !self.open.is_empty() && (self.is_odd(depth, text) || is_of_other_kind);
        self.open.retain(|level| level.0 < depth);
        self.open.push((depth, text));
        is_odd
    }

    /// Whether nothing explains the depth of the next line.
    fn is_odd(&self, depth: usize, text: &str) -> bool {
        let Some(&(deepest, last)) = self.open.last() else { return false };
        let beside = self.open.iter().find(|level| level.0 == depth).map(|level| level.1);
        let is_seam = self.is_code && is_seam(text);
        // A block goes on, or ends, as deep as the line that begins it.
        let begins = |head: &str| {
            head.starts_with('}') || is_one_of(HEADS, first_word(head)) || self.opens(head)
        };
        // What closes a bracket is less deep than what is inside.
        if is_seam && !beside.is_some_and(begins)
            || closes(text) && depth >= deepest && !self.opens(last)
        {
            return true;
        }
        // A key of YAML may have no value.
        let holds = must_hold(last);
        let is_outside = holds && !self.is_yaml && !is_seam && text.starts_with(is_word_char);
        let is_in_comment = text.starts_with("* ") || text.starts_with("*/") || text == "*";
        let begins_block = holds
            || is_head(last)
            || self.is_yaml && (last.starts_with("- ") || last.ends_with(['|', '>']));
        match depth.cmp(&deepest) {
            Ordering::Greater if is_in_comment => !last.starts_with("/*"),
            // What goes on inside brackets or below an operator may be aligned.
            Ordering::Greater if self.is_code && begins_block => {
                depth - deepest != self.unit.unwrap_or(TAB_WIDTH)
            }
            Ordering::Greater => {
                let is_value = self.is_yaml
                    && last.contains(": ")
                    && !text.contains(": ")
                    && !text.starts_with("- ");
                let goes_on = self.is_code && goes_on(text) && !last.ends_with(';');
                !(self.opens(last) || goes_on || is_value)
            }
            Ordering::Equal => {
                is_outside
                    || opens_bracket(last) && !closes(text)
                    || self.is_code && leaves(last) && is_statement(text)
            }
            Ordering::Less => beside.is_none_or(|beside| {
                let is_element = beside.starts_with('<') && opens_element(beside);
                // Whether what is deeper than `beside` goes on, or is of another kind.
                let is_open = match closes(text) {
                    true => !self.opens(beside),
                    false => opens_bracket(beside) || is_element,
                };
                is_outside || is_open || text.starts_with("- ") && !beside.starts_with("- ")
            }),
        }
    }

    /// Whether a deeper line may follow a line.
    fn opens(&self, line: &str) -> bool {
        line.ends_with(['{', '(', '[', ':', '=', '+', '|', '&'])
            || line.starts_with('<') && !line.contains('>')
            || opens_element(line)
            || line.ends_with('\\') && !line.ends_with("\\\\")
            || line.starts_with("- ") && (self.is_code || line.contains(": "))
            || line.contains("<<")
            || is_head(line)
            || ends_in_block_word(line)
            || leaves_open(line)
            || line.matches(')').count() > line.matches('(').count()
                && !line.starts_with([')', ']', '}'])
    }
}

/// Whether what follows is inside a bracket.
fn opens_bracket(line: &str) -> bool {
    line.ends_with(['{', '(', '['])
}

/// Whether what follows is inside an element.
fn opens_element(line: &str) -> bool {
    line.ends_with('>')
        && !line.contains("</")
        && !["/>", "%>", "?>", "-->"].iter().any(|end| line.ends_with(end))
}

/// Whether a line closes a bracket or an element.
fn closes(line: &str) -> bool {
    line.starts_with(['}', ')', ']'])
        || line.starts_with("</")
        || line.starts_with("/>")
        || line.starts_with('>') && !line.starts_with("> ")
}

/// Whether a line ends a block.
pub(super) fn ends_block(line: &str) -> bool {
    closes(line) || is_among("end fi done esac", first_word(line))
}

/// Whether a deeper line must follow a line, by its end.
pub(super) fn must_hold(line: &str) -> bool {
    (line.ends_with(['{', ':']) || ends_in_block_word(line))
        && !line.starts_with(['#', '*'])
        && !line.starts_with("//")
        && !line.starts_with("case ")
        && !line.starts_with("default")
}

/// Whether a line leaves its block, whatever holds.
pub(super) fn leaves(line: &str) -> bool {
    is_one_of(LEAVES, first_word(line))
        && !line.ends_with(['{', '(', '[', ',', '\\', '+', '|', '&', '=', '?', ':'])
        && !leaves_open(line)
        && !line.contains(" if ")
        && !line.contains(" unless ")
}

/// Whether a line goes on with a block or ends it, and names no variable or key.
fn is_seam(line: &str) -> bool {
    let word = first_word(line);
    let rest = line[word.len()..].trim_start();
    let is_assigned = rest.trim_start_matches(['+', '-', '*', '/', '|', '&']).starts_with('=');
    is_one_of(SEAMS, word) && !is_assigned && !rest.starts_with(": ")
}

/// Whether a line ends one branch and begins another.
pub(super) fn is_branch(line: &str) -> bool {
    if let Some(word) = directive(line) {
        return !matches!(word, "define" | "include");
    }
    let line = line.trim_start_matches(['}', ' ']);
    let is_label = line.ends_with([':', '>', '{']);
    is_seam(line) || is_label && is_one_of(&["case", "default", "when"], first_word(line))
}

/// Whether a line begins a statement, and is no label.
fn is_statement(line: &str) -> bool {
    line.starts_with(|c| is_word_char(c) || c == '@')
        && !matches!(first_word(line), "case" | "default" | "when")
        && !is_seam(line)
        && line.strip_suffix(':').is_none_or(|label| !label.chars().all(is_word_char))
}

/// Whether a line opens more brackets than it closes.
fn leaves_open(line: &str) -> bool {
    line.matches(['(', '[', '{']).count() > line.matches([')', ']', '}']).count()
}

/// Whether a block begins below a line, by the word at its end; what it takes may follow: `do |item|`.
pub(super) fn ends_in_block_word(line: &str) -> bool {
    let line = match line.strip_suffix('|').and_then(|line| line.rsplit_once('|')) {
        Some((line, _)) => line.trim_end(),
        None => line,
    };
    is_one_of(BLOCK_WORDS, line.rsplit(|c| !is_word_char(c)).next().unwrap_or_default())
}

/// Whether a line is the head of a block without a mark at its end.
fn is_head(line: &str) -> bool {
    is_one_of(HEADS, first_word(line.trim_start_matches(['}', ' '])))
        && !line.ends_with([';', ',', '}'])
}

/// Whether a line goes on with the statement above it.
pub(super) fn goes_on(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with(['.', '?', ':', '|', '&', '+', '*'])
        || line.starts_with("->")
        || is_one_of(&["and", "or"], first_word(line))
}

/// The word of a preprocessor line.
fn directive(line: &str) -> Option<&str> {
    let word = first_word(line.strip_prefix('#')?.trim_start());
    PREPROCESSOR.contains(&word).then_some(word)
}

/// Whether a word is in a list; SQL and BASIC write it in capitals.
fn is_one_of(words: &[&str], word: &str) -> bool {
    words.iter().any(|other| other.eq_ignore_ascii_case(word))
}

/// Whether a word is in a list of words with blanks between.
pub(super) fn is_among(words: &str, word: &str) -> bool {
    words.split(' ').any(|other| other == word)
}

/// The word that a line begins with.
pub(super) fn first_word(line: &str) -> &str {
    line.split(|c| !is_word_char(c)).next().unwrap_or_default()
}
