//! Placeholders for code that was left out: "... existing code ...".

use std::cell::LazyCell;
use std::collections::HashSet;

use super::indent_of;
use super::shape::is_among;
use super::source_file::SourceFile;

/// The marks that a comment begins with.
const MARKS: [&str; 9] = ["//", "#", "/*", "--", "<!--", "{/*", ";", "%", "*"];

/// Whether a line is a comment between dots, whatever it says.
fn is_between_dots(line: &str) -> bool {
    let comment = MARKS.iter().find_map(|mark| line.strip_prefix(mark));
    comment.is_some_and(|text| {
        let text =
            ["*/}", "*/", "-->"].iter().fold(text, |text, end| text.trim_end_matches(end)).trim();
        starts_with_dots(text) && (text.ends_with("...") || text.ends_with('…'))
    })
}

/// Whether a line is a placeholder for code that was left out.
///
/// It must say what it leaves out, or be dots alone, with or without a comment mark.
pub(super) fn is_placeholder(line: &str) -> bool {
    let line = line.trim();
    let comment = MARKS.iter().find_map(|mark| line.strip_prefix(mark));
    let inner = comment.unwrap_or(line);
    let inner = ["*/}", "*/", "-->"].iter().fold(inner, |inner, end| inner.trim_end_matches(end));
    let inner = inner.trim().trim_matches(|c| "()[]<>{}".contains(c)).trim();
    let has_dots = starts_with_dots(inner) || inner.ends_with('…') || inner.ends_with("...");
    let is_aside = || comment.is_some() || line.starts_with('(') && line.ends_with(')');
    if line.len() > 120 || !has_dots && !is_aside() {
        return false;
    }
    let is_filler = |c: char| c == '.' || c == '…' || c.is_whitespace();
    let words = inner.trim_matches(|c| is_filler(c) || c == '-').to_lowercase();
    if words.is_empty() {
        let has_dots = has_dots || inner.matches('.').count() > 2;
        return has_dots && (comment.is_some() || inner.len() <= 4);
    }
    if has_dots && words == "rest" {
        return true;
    }
    let has_phrase = PHRASES.iter().any(|phrase| words.contains(phrase));
    // Without dots, a comment is a placeholder only if it says nothing else.
    let says_nothing_else = || {
        words.len() <= 60
            && (FIRST_WORDS.iter().any(|phrase| words.starts_with(phrase))
                || words.split_whitespace().all(|word| is_among(WORDS, word))
                || words.split_whitespace().count() <= MAX_WORDS
                    && (words.ends_with("unchanged") || words.ends_with("omitted")))
    };
    has_phrase && (has_dots || says_nothing_else())
}

/// The most words of a placeholder such as "rest of the code unchanged"; a sentence has more.
const MAX_WORDS: usize = 6;

/// Phrases of which a placeholder with words has one.
const PHRASES: &[&str] = &[
    "existing ",
    "rest of",
    "remaining",
    "unchanged",
    "other code",
    "other methods",
    "other functions",
    "the same",
    "omitted",
    "previous code",
    "code here",
    "keep the rest",
    "as before",
    "more code",
    "unmodified",
    "not shown",
    "elided",
    "truncated",
    "no changes",
    "stays",
    "remains",
    "snip",
    "left out",
];

/// Words with which a comment without dots begins if it is a placeholder.
const FIRST_WORDS: &[&str] = &[
    "rest of",
    "existing code",
    "remaining code",
    "remaining methods",
    "remaining functions",
    "remaining lines",
    "remaining implementation",
    "remaining imports",
    "remaining fields",
    "remaining tests",
    "same as before",
    "other methods",
];

/// Words that say nothing of the code: with a phrase, a comment of nothing else is a placeholder.
const WORDS: &str = "all and as before body brevity changes code everything existing fields for \
    function functions goes here implementation imports in is keep left lines logic method methods modified more no not of \
    omitted original other out previous remain remaining remains rest same shown snip snipped stay stays tests the this \
    unchanged unmodified your";

/// `... x` or `…x`, but not `...x`, which spreads a value.
fn starts_with_dots(text: &str) -> bool {
    text.starts_with('…')
        || text
            .strip_prefix("...")
            .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '.', '(']))
}

/// Whether a placeholder is dots without a comment mark, which Python and TypeScript have as code.
pub(super) fn is_bare(line: &str) -> bool {
    matches!(line.trim(), "..." | "…")
}

/// The first placeholder that `new` adds: one that is in neither `old` nor the file, or one more
/// than `old` has. Prose may speak of them, and outside of code one must say what it leaves out.
pub(super) fn introduced<'a>(old: &'a str, new: &'a str, file: &SourceFile<'_>) -> Option<&'a str> {
    let language = file.language.map_or("", |language| language.name);
    if matches!(language, "markdown" | "text") {
        return None;
    }
    let is_code = file.language.is_some_and(|language| language.is_code());
    // Where no line goes, dots stand for none.
    let is_full =
        |line: &&str| !line.trim().is_empty() && !is_bare(line) && !is_between_dots(line.trim());
    let [before, after] = [old, new].map(|text| text.lines().filter(is_full).count());
    let leaves_out = after < before;
    let is_placeholder = |line: &str| {
        is_placeholder(line) && (is_code || line.contains(char::is_alphabetic))
            || leaves_out && is_between_dots(line)
    };
    let lines_there = LazyCell::new(|| lines_like_placeholders(file));
    let is_unknown = |line: &&str| is_placeholder(line) && !lines_there.contains(line);
    let old_lines = || old.lines().map(str::trim);
    let count_bare = |text: &str| text.lines().filter(|line| is_bare(line)).count();
    if language == "python"
        && let Some(dots) = dots_beside_code(new).filter(|_| count_bare(new) > count_bare(old))
    {
        return Some(dots);
    }
    // As code, dots alone are a statement, or a parameter.
    const STATEMENT: &str = "python perl r";
    const PARAMETER: &str = "lua c c++ objective-c go ruby php";
    let is_own = |lines: &[&str], at: usize| {
        // Only in Lua are braces those of a list.
        let (opens, closes): (&[char], &[char]) = match language {
            "lua" => (&[',', '(', '{', '='], &[')', '}']),
            _ => (&[',', '('], &[')']),
        };
        let goes_on = at > 0 && lines[at - 1].ends_with(opens)
            || lines.get(at + 1).is_some_and(|below| below.starts_with(closes));
        let is_parameter = is_among(PARAMETER, language) && goes_on;
        is_bare(lines[at])
            && (!is_code
                || language == "yaml" && !leaves_out
                || lines[at] == "..." && (is_among(STATEMENT, language) || is_parameter))
    };
    let unknown_in = |text: &'a str| -> Vec<&'a str> {
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        let is_own = |at: &usize| is_own(&lines, *at);
        let unknown = (0..lines.len()).filter(|at| is_unknown(&lines[*at]) && !is_own(at));
        unknown.map(|at| lines[at]).collect()
    };
    let unknown = unknown_in(new);
    if unknown.is_empty() {
        return None;
    }
    let is_new = |line: &&&str| !old_lines().any(|other| other == **line || is_unknown(&other));
    // If `new` has more placeholders than `old`, the additional one stands for lines that `old`
    // does not leave out.
    let more = || unknown.get(unknown_in(old).len());
    unknown.iter().find(is_new).or_else(more).copied()
}

/// The lines of the file that look like placeholders: a call that has one quotes it.
pub(super) fn lines_like_placeholders<'t>(file: &SourceFile<'t>) -> HashSet<&'t str> {
    file.text.lines().map(str::trim).filter(|line| is_placeholder(line)).collect()
}

/// Dots on a line of their own beside a statement of the same block: as code they would do nothing.
fn dots_beside_code(text: &str) -> Option<&str> {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let is_filler = |at: &usize| {
        let beside = [at.checked_sub(1), Some(at + 1)].into_iter().flatten();
        let is_sibling = |other: &&str| {
            indent_of(other) == indent_of(lines[*at])
                && !other.trim_start().starts_with('#')
                && !other.trim_end().ends_with(['"', '\'', '.'])
        };
        is_bare(lines[*at]) && beside.filter_map(|other| lines.get(other)).any(is_sibling)
    };
    (0..lines.len()).find(is_filler).map(|at| lines[at].trim())
}
