//! The shape of a result: how its lines are nested, with the lines around the place. Of several ways to
//! indent the same text, the one whose steps are those of code is likelier.

use std::cmp::Ordering;

use super::fold::is_word_char;
use super::indent::{TAB_WIDTH, columns};
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

/// What stands at the margin, whatever is around it.
const PREPROCESSOR: &[&str] =
    &["#if", "#ifdef", "#ifndef", "#else", "#elif", "#endif", "#define", "#include"];

/// How far above a place the open levels are looked for.
const MAX_ABOVE: usize = 200;

/// A line of the file and its indentation, unless it begins inside a literal.
pub(super) fn line_of<'l>(file: &'l SourceFile<'_>, at: usize) -> (Option<&'l str>, &'l str) {
    let body = file.body(at);
    ((!file.begins_in_literal(at)).then(|| indent_of(body)), body)
}

/// How many lines of a result stand at a depth that nothing explains: deeper by other than one level, or
/// below a line that opens nothing; as deep as a line that opens a block, or that leaves it; back at a
/// depth that no line above has, or where there is no block to go on with.
pub(super) fn odd_lines<'l>(
    file: &'l SourceFile<'_>,
    place: &Place,
    lines: impl Iterator<Item = (Option<&'l str>, &'l str)>,
) -> u8 {
    let range = place.lines();
    let is_full = |at: &usize| !file.is_blank(*at);
    let mut open: Vec<(usize, &str)> = Vec::new();
    let mut end_of_literal = None;
    for at in (0..range.start).rev().filter(is_full).take(MAX_ABOVE) {
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
    let unit = file.indent_unit();
    let below = (range.end..file.lines().len()).find(is_full).map(|at| line_of(file, at));
    let is_code = file.language.is_none_or(|language| language.is_code());
    // A text of YAML goes on below its key.
    let is_yaml = file.language.is_some_and(|language| language.name == "yaml");
    let mut odd = 0_u8;
    for (indent, line) in lines.chain(below).filter(|line| !line.1.trim().is_empty()) {
        let text = line.trim();
        if text.split(' ').next().is_some_and(|word| PREPROCESSOR.contains(&word)) {
            continue;
        }
        let Some(indent) = indent else {
            // What is inside a literal has no depth; its end goes on where it began.
            if let Some(level) = open.last_mut() {
                level.1 = text;
            }
            continue;
        };
        let depth = columns(indent, TAB_WIDTH);
        if let Some(&(deepest, last)) = open.last() {
            let is_seam = is_code && is_one_of(SEAMS, first_word(text));
            let beside = open.iter().find(|level| level.0 == depth).map(|level| level.1);
            let is_odd = match depth.cmp(&deepest) {
                Ordering::Greater if is_comment(text) => !last.starts_with("/*"),
                Ordering::Greater => {
                    is_code && depth - deepest != unit.unwrap_or(TAB_WIDTH)
                        || !(opens(last, is_code)
                            || is_code && goes_on(text)
                            || is_yaml
                                && last.contains(": ")
                                && !text.contains(": ")
                                && !text.starts_with("- "))
                }
                Ordering::Less => beside.is_none_or(|beside| {
                    text.starts_with("- ") && !beside.starts_with("- ")
                        || must_hold(last) && !is_seam && text.starts_with(is_word_char)
                }),
                Ordering::Equal => {
                    text.starts_with(is_word_char) && !is_seam && must_hold(last)
                        || is_code && leaves(last) && is_statement(text)
                }
            };
            let goes_with = |head: &str| {
                head.starts_with('}') || is_one_of(HEADS, first_word(head)) || opens(head, is_code)
            };
            let has_no_head = is_seam && !beside.is_some_and(goes_with);
            // What closes a bracket is less deep than what is inside.
            let is_inside =
                text.starts_with([')', ']', '}']) && depth >= deepest && !opens(last, is_code);
            odd = odd.saturating_add(u8::from(
                is_odd || has_no_head || is_inside || unit.is_some() && indent.contains('\t'),
            ));
        }
        open.retain(|level| level.0 < depth);
        open.push((depth, text));
    }
    odd
}

/// Whether a line is inside a block comment.
fn is_comment(line: &str) -> bool {
    line.starts_with("* ") || line.starts_with("*/") || line == "*"
}

/// Whether a deeper line must follow a line, by its end.
fn must_hold(line: &str) -> bool {
    (line.ends_with(['{', ':']) || ends_in_block_word(line))
        && !line.starts_with("case ")
        && !line.starts_with("default")
}

/// Whether a line leaves its block, whatever holds.
fn leaves(line: &str) -> bool {
    let goes_on = |c| matches!(c, '{' | '(' | '[' | ',' | '\\' | '+' | '|' | '&' | '=' | '?' | ':');
    is_one_of(LEAVES, first_word(line))
        && !line.ends_with(goes_on)
        && !has_more(line, ['(', '[', '{'], [')', ']', '}'])
        && !line.contains(" if ")
        && !line.contains(" unless ")
}

/// Whether a line begins a statement, and is no label.
fn is_statement(line: &str) -> bool {
    let word = first_word(line);
    line.starts_with(|c| is_word_char(c) || c == '@')
        && !matches!(word, "case" | "default" | "when")
        && !is_one_of(SEAMS, word)
        && line.strip_suffix(':').is_none_or(|label| !label.chars().all(is_word_char))
}

/// Whether a deeper line may follow a line.
fn opens(line: &str, is_code: bool) -> bool {
    line.ends_with(['{', '(', '[', ':', '=', '+', '|', '&'])
        || line.starts_with('<') && !line.contains('>')
        || line.ends_with('>') && !line.contains("</") && !line.ends_with("/>")
        || line.ends_with('\\') && !line.ends_with("\\\\")
        || line.starts_with("- ") && (is_code || line.contains(": "))
        || line.contains("<<")
        || is_head(line)
        || ends_in_block_word(line)
        || has_more(line, ['(', '[', '{'], [')', ']', '}'])
        || line.matches(')').count() > line.matches('(').count()
            && !line.starts_with([')', ']', '}'])
}

/// Whether a line has more of some characters than of others.
fn has_more(line: &str, some: [char; 3], others: [char; 3]) -> bool {
    line.matches(some).count() > line.matches(others).count()
}

/// Whether a block begins below a line, by the word at its end; what it takes may follow: `do |item|`.
fn ends_in_block_word(line: &str) -> bool {
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
    line.trim_start().starts_with(['.', '?', ':', '|', '&', '+', '*'])
}

/// Whether a word is in a list; SQL and BASIC write it in capitals.
fn is_one_of(words: &[&str], word: &str) -> bool {
    words.iter().any(|other| other.eq_ignore_ascii_case(word))
}

/// The word that a line begins with.
fn first_word(line: &str) -> &str {
    line.split(|c| !is_word_char(c)).next().unwrap_or_default()
}
