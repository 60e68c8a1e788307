//! The exact rung. Where `old_str` occurs in the file as often as expected, `new_str`
//! replaces it, byte for byte; anything that looks odd only causes a warning.
//!
//! There are three exceptions, each proven by the bytes: line breaks of `new_str` take the line
//! ending that the file has there; an edit that was already made is not made twice; and escapes are
//! undone where the language allows none.

use std::collections::HashSet;
use std::ops::Range;

use memchr::memmem::{self, Finder};

use super::costs::PLAIN_SHARE;
use super::fold::is_word_char;
use super::indent::{TAB_WIDTH, columns, depth, unindented};
use super::shape::is_among;
use super::source_file::SourceFile;
use super::weigh::letters;
use super::{
    Explained, Verdict, escape_review, escapes, indent_of, made, placeholder, reading, refuse,
};
use crate::edit::{EditRequest, Expected, Explanation, Refusal, Rewrite, Rung, Splice};
use crate::language::Lexed;
use crate::text::LineEnding;

/// The verdict of the exact rung; `None` if `old_str` is not in the file character for character.
pub(super) fn decide(request: &EditRequest, file: &SourceFile<'_>) -> Option<Verdict> {
    let old = request.old.as_str();
    let bytes = file.text.as_bytes();
    // A line break is one thing, also where it is two characters.
    let splits_break = |at: usize| bytes[..at].ends_with(b"\r") && bytes[at..].starts_with(b"\n");
    let finder = Finder::new(old);
    let ranges: Vec<Range<usize>> = finder
        .find_iter(bytes)
        .map(|at| at..at + old.len())
        .filter(|range| !splits_break(range.start) && !splits_break(range.end))
        .collect();
    if ranges.is_empty() {
        return None;
    }
    let all = occurrences_in_any_breaks(file.text, old).filter(|all| *all != ranges);
    let chosen = match all {
        // The text begins again before it ends, with other breaks.
        Some(all) if all.len() == 1 => {
            let number = |range: &Range<usize>| file.snapshot.lines().number_at(range.start);
            let lines: Vec<usize> = all.iter().chain(&ranges).map(number).collect();
            Err(refuse::wrong_count(request, &lines, true))
        }
        Some(all) => choose(request, file, all, None),
        None => choose(request, file, ranges, Some(&finder)),
    };
    Some(match chosen {
        Ok(ranges) => replace(request, file, &ranges),
        Err(refusal) => Verdict::Refused(refusal),
    })
}

/// All occurrences of a text with line breaks, if the file writes these in both ways: the text looks the
/// same in either.
fn occurrences_in_any_breaks(text: &str, old: &str) -> Option<Vec<Range<usize>>> {
    let is_lone = |at: usize| at == 0 || text.as_bytes()[at - 1] != b'\r';
    if !old.contains('\n')
        || old.trim().is_empty()
        || memmem::find(text.as_bytes(), b"\r\n").is_none()
        || !memchr::memchr_iter(b'\n', text.as_bytes()).any(is_lone)
    {
        return None;
    }
    let (folded, old) = (text.replace("\r\n", "\n"), old.replace("\r\n", "\n"));
    let mut returns = memmem::find_iter(text.as_bytes(), b"\r\n").peekable();
    let mut count = 0;
    // Before an offset of the folded text are as many characters less as there are such breaks.
    let mut unfolded = |at: usize| {
        while returns.next_if(|&there| there - count < at).is_some() {
            count += 1;
        }
        at + count
    };
    let starts = memmem::find_iter(folded.as_bytes(), &old);
    Some(starts.map(|start| unfolded(start)..unfolded(start + old.len())).collect())
}

/// The occurrences that the call means, by its expected count and `near_line`; with `finder`, they are those
/// of the text as it was sent, and may overlap others.
fn choose(
    request: &EditRequest,
    file: &SourceFile<'_>,
    ranges: Vec<Range<usize>>,
    finder: Option<&Finder<'_>>,
) -> Result<Vec<Range<usize>>, Refusal> {
    let number = |range: &Range<usize>| file.snapshot.lines().number_at(range.start);
    if let Some(twin) = whole_twin(request, file, &ranges) {
        let here = number(&ranges[0]);
        let both = [here.min(twin), here.max(twin)];
        let named = nearest_to_line(request, &both).map(|at| both[at]);
        if request.expected != Expected::default() || named != Some(here) {
            return Err(refuse::wrong_count(request, &both, false));
        }
    }
    let Expected::Exactly(count) = request.expected else { return Ok(ranges) };
    let overlaps = |finder: &Finder<'_>| {
        ranges.iter().any(|range| overlapping(file.text, range, finder).next().is_some())
    };
    let is_overlapped = finder.is_some_and(overlaps);
    let is_sure = count.get() == ranges.len() && !is_overlapped;
    if is_sure && request.near_line.is_none() {
        return Ok(ranges);
    }
    let lines: Vec<usize> = ranges.iter().map(number).collect();
    if count.get() == 1
        && let Some(refusal) = named_elsewhere(request, file, &ranges, &lines, is_sure)
    {
        return Err(refusal);
    }
    if is_sure {
        return Ok(ranges);
    }
    match nearest_to_line(request, &lines) {
        Some(at) if count.get() == 1 && !is_overlapped => Ok(vec![ranges[at].clone()]),
        _ => Err(refuse::wrong_count(request, &lines, is_overlapped)),
    }
}

/// The line (from 1) at which all lines of `old` stand whole, at other depths, if the only occurrence ends
/// inside a word: it may be one that has changed since.
fn whole_twin(
    request: &EditRequest,
    file: &SourceFile<'_>,
    ranges: &[Range<usize>],
) -> Option<usize> {
    let [range] = ranges else { return None };
    if !file.splits_name(range.start) && !file.splits_name(range.end) {
        return None;
    }
    // Each line stands behind a break, so that whole lines alone are found.
    let trimmed = |text: &str| {
        let lines = text.lines().flat_map(|line| ["\n", line.trim()]);
        lines.chain(["\n"]).collect::<String>()
    };
    let there = trimmed(file.text);
    let at = memmem::find(there.as_bytes(), trimmed(&request.old).as_bytes())?;
    Some(memchr::memchr_iter(b'\n', &there.as_bytes()[..=at]).count())
}

/// The refusal of a call whose `near_line` is in no occurrence, but where one was made already or, if there
/// are several others, has changed since: the nearest of them is not meant.
fn named_elsewhere(
    request: &EditRequest,
    file: &SourceFile<'_>,
    ranges: &[Range<usize>],
    lines: &[usize],
    is_sure: bool,
) -> Option<Refusal> {
    let (old, new) = (&request.old, &request.new);
    let number = |at| file.snapshot.lines().number_at(at);
    // They are in order, and none reaches into the next one.
    let is_taken = |line: usize| {
        let at = ranges.partition_point(|range| number(range.end - 1) < line);
        ranges.get(at).is_some_and(|range| number(range.start) <= line)
    };
    let near = free_near_line(request, file, is_taken)?;
    let around = |start: usize, end: usize| {
        let below = file.text[end..].split('\n').next().filter(|_| !new.ends_with('\n'));
        (file.text[..start].rsplit('\n').next(), below)
    };
    let is_far = |range: &Range<usize>| {
        near + NEAR < number(range.start) || number(range.end - 1) + NEAR < near
    };
    // Where an occurrence is as near, only what has the named line itself is meant instead.
    let slack = if ranges.iter().all(is_far) { NEAR } else { 0 };
    let is_made = |at: &usize| {
        number(*at) <= near + slack
            && around(*at, at + new.len()) == around(ranges[0].start, ranges[0].end)
    };
    // The first line of an occurrence as long as `old` that ends at the named line, or near it.
    let first = near.saturating_sub(old.lines().count() + slack) + 1;
    let start = file.snapshot.lines().start(first);
    let hits = memmem::find_iter(&file.text.as_bytes()[start..], new).take(MAX_HITS);
    if new.contains(is_word_char)
        && let Some(made) = hits.map(|at| start + at).find(is_made)
    {
        return Some(refuse::already_applied(number(made)));
    }
    let changed = || changed_where_named(request, file, old, lines, is_taken);
    (!is_sure).then(changed)?
}

/// The line that `near_line` names, if the file has it and no occurrence takes it.
fn free_near_line(
    request: &EditRequest,
    file: &SourceFile<'_>,
    is_taken: impl Fn(usize) -> bool,
) -> Option<usize> {
    let is_free = |near: &usize| (1..=file.lines().len()).contains(near) && !is_taken(*near);
    request.near_line.filter(is_free)
}

/// The refusal of a call that fits at `lines`, if most of `old`, by letters, stands where `near_line` would
/// be in its place. Only lines with words that are not taken count.
pub(super) fn changed_where_named(
    request: &EditRequest,
    file: &SourceFile<'_>,
    old: &str,
    lines: &[usize],
    is_taken: impl Fn(usize) -> bool,
) -> Option<Refusal> {
    let near = free_near_line(request, file, &is_taken)?;
    let quoted: Vec<&str> = old.lines().map(str::trim).take(MAX_NAMED + 1).collect();
    if quoted.len() > MAX_NAMED {
        return None;
    }
    let stands = |(at, quote): &(usize, &&str)| {
        let last = (near + at).min(file.lines().len());
        let mut lines = (near + at + 1).saturating_sub(quoted.len()).max(1)..=last;
        quote.contains(is_word_char)
            && lines.any(|line| file.body(line - 1).trim() == **quote && !is_taken(line))
    };
    let standing = quoted.iter().enumerate().filter(stands).map(|(_, quote)| *quote);
    let share = letters(standing) / letters(old.lines()).max(1.0);
    (share >= PLAIN_SHARE).then(|| refuse::changed_at_named_line(request, lines, near))
}

/// The most lines of a quote that are looked for at the line that the call names.
const MAX_NAMED: usize = 64;

/// Where the text of an occurrence begins again before the occurrence ends.
fn overlapping<'a>(
    text: &'a str,
    range: &Range<usize>,
    finder: &'a Finder<'_>,
) -> impl Iterator<Item = usize> + 'a {
    let end = (range.end + range.len() - 1).min(text.len());
    let find = move |from| Some(from + finder.find(&text.as_bytes()[from..end])?);
    std::iter::successors(find(range.start + 1), move |at| find(at + 1))
}

/// The index of the line that is nearer to `near_line` than all others; `None` for a tie.
pub(super) fn nearest_to_line(request: &EditRequest, lines: &[usize]) -> Option<usize> {
    let near = request.near_line?;
    let least = lines.iter().map(|line| line.abs_diff(near)).min()?;
    let mut nearest = (0..lines.len()).filter(|at| lines[*at].abs_diff(near) == least);
    nearest.next().filter(|_| nearest.next().is_none())
}

/// How many lines beside a place `near_line` still names it.
pub(super) const NEAR: usize = 3;

/// The most places at which `new_str` may stand that are looked at.
const MAX_HITS: usize = 16;

/// The verdict on replacing these occurrences by `new_str`.
fn replace(request: &EditRequest, file: &SourceFile<'_>, ranges: &[Range<usize>]) -> Verdict {
    let EditRequest { old, new, .. } = request;
    let mut explanation = Explanation::plain(Rung::Exact);
    let mut written = new.clone();
    if let [range] = ranges {
        escape_review::review_escapes(file, range, old, new).settle(&mut written, &mut explanation);
    }
    let there = with_file_endings(file, ranges[0].start, &written);
    let found = find_applied_edit(old, &there, file, ranges);
    if let Some(line) = found.filter(|_| written == *new || made::is_telling(file, old, &written)) {
        return Verdict::Refused(match ranges.len() {
            1 => refuse::already_applied(line),
            count => refuse::partly_applied(line, count),
        });
    }
    // A placeholder that new_str adds in code stands for lines that the edit would delete.
    let deletes_lines = || {
        let kept: HashSet<&str> = new.lines().map(str::trim).collect();
        old.lines().map(str::trim).any(|line| !line.is_empty() && !kept.contains(line))
    };
    let placeholder = placeholder::introduced(old, new, file);
    if let Some(placeholder) = placeholder.filter(|_| deletes_lines()) {
        return Verdict::Refused(refuse::omission(placeholder));
    }
    explanation.warnings.extend(warnings_for(request, file, &ranges[0], &written));
    let splice = |range: &Range<usize>| Splice {
        range: range.clone(),
        text: with_file_endings(file, range.start, &written),
    };
    let splices: Vec<Splice> = ranges.iter().map(splice).collect();
    if splices.iter().any(|splice| splice.text != written) {
        explanation.rewrites.push(Rewrite::LineEndings);
    }
    Verdict::One(Explained::new(request, file, splices, explanation))
}

/// The most places of a call that are checked for an edit that was made already.
const MAX_CHECKED: usize = 10_000;

/// `new` with the line endings that the file has near `at`. CRLF becomes LF only if all line endings
/// of the file are LF.
pub(super) fn with_file_endings(file: &SourceFile<'_>, at: usize, new: &str) -> String {
    let has_only_lf = || file.text.contains('\n') && !file.text.contains('\r');
    match file.snapshot.ending_near(at) {
        LineEnding::Lf if new.contains("\r\n") && has_only_lf() => new.replace("\r\n", "\n"),
        LineEnding::CrLf => new.replace("\r\n", "\n").replace('\n', "\r\n"),
        _ => new.to_owned(),
    }
}

/// The line (from 1) at which the file already has `new` around one of the occurrences, so that the call
/// was probably sent before.
fn find_applied_edit(
    old: &str,
    new: &str,
    file: &SourceFile<'_>,
    ranges: &[Range<usize>],
) -> Option<usize> {
    // Blank lines at its ends that the edit takes away may be there once more.
    let is_break = |c| matches!(c, '\r' | '\n');
    let begins = |text: &str| text.len() - text.trim_start_matches(is_break).len();
    let ends = |text: &str| text.len() - text.trim_end_matches(is_break).len();
    let core = old.trim_matches(is_break);
    let takes_away = (begins(new) < begins(old) || ends(new) < ends(old))
        && !core.is_empty()
        && new.trim_matches(is_break) != core;
    let (shift, quoted) = if takes_away { (begins(old), core) } else { (0, old) };
    let offsets: Vec<usize> = new.match_indices(quoted).take(1_000).map(|(at, _)| at).collect();
    let is_shifted = |range: &Range<usize>| {
        stands_shifted(old, new, file, range) && made::is_telling(file, old, new)
    };
    ranges.iter().take(MAX_CHECKED).find_map(|range| {
        let mut starts =
            offsets.iter().filter_map(|offset| (range.start + shift).checked_sub(*offset));
        // The last line of a file may have no line break.
        let stands = |at: &usize| {
            let there = &file.text.as_bytes()[*at..];
            there.starts_with(new.as_bytes())
                || new.trim_end_matches(is_break).as_bytes() == there && there.len() > old.len()
        };
        let start = starts.find(stands).or_else(|| is_shifted(range).then_some(range.start))?;
        (!mends_structure(old, new, file, range)).then(|| file.snapshot.lines().number_at(start))
    })
}

/// Whether the lines of `new` are around those of `old`, all deeper or less deep by as much: what was wrapped
/// may be as deep now as it was sent.
fn stands_shifted(old: &str, new: &str, file: &SourceFile<'_>, range: &Range<usize>) -> bool {
    let (old, new): (Vec<_>, Vec<_>) = (old.lines().collect(), new.lines().collect());
    let begins_line = range.start == 0 || file.text[..range.start].ends_with('\n');
    if !begins_line || new.len() <= old.len() {
        return false;
    }
    let same = |a: &str, b: &str| unindented(a) == unindented(b);
    let stands = |first: usize| {
        let there = (first..first + new.len()).map(|at| file.body(at));
        let mut pairs = new.iter().zip(there).filter(|(line, _)| !line.trim().is_empty());
        let shift = |(line, there): (&&str, &str)| depth(there) as isize - depth(line) as isize;
        let mut shifts = pairs.clone().map(shift);
        let by = shifts.next();
        by.is_some()
            && pairs.all(|(line, there)| same(line, there))
            && shifts.all(|shift| Some(shift) == by)
    };
    let at = file.snapshot.lines().number_at(range.start) - 1;
    (0..=new.len() - old.len()).take(MAX_HITS).any(|head| {
        let first = at.checked_sub(head);
        old.iter().zip(&new[head..]).all(|(a, b)| same(a, b))
            && first.is_some_and(|at| at + new.len() <= file.lines().len() && stands(at))
    })
}

/// Words with which a line of Ruby, Lua or Elixir begins a block that `end` closes.
const BLOCK_WORDS: &str =
    "def class module if unless while until case begin for function defmodule defp";

/// Whether the edit closes what the file leaves open: then what it adds is not there yet, even if the
/// next line looks like it.
fn mends_structure(old: &str, new: &str, file: &SourceFile<'_>, range: &Range<usize>) -> bool {
    let Some(added) = new.strip_prefix(old).or_else(|| new.strip_suffix(old)) else { return false };
    let Some(language) = file.language else { return false };
    if file.proves_structure() && !added.contains(is_word_char) {
        let after = || [&file.text[..range.start], new, &file.text[range.end..]].concat();
        return !file.lexed().is_some_and(Lexed::is_well_formed)
            && language.lex(&after()).is_well_formed();
    }
    let added = added.trim();
    if let Some(tag) = added.strip_prefix("</").and_then(|tag| tag.strip_suffix('>')) {
        let ends_name = |rest: &str| !rest.starts_with(|c| is_word_char(c) || c == '-');
        let open = format!("<{tag}");
        let opened = file.text.split(&open).skip(1).filter(|rest| ends_name(rest));
        return opened.count() > file.text.matches(added).count();
    }
    let opens = |line: &str| {
        let mut words = line.split(|c: char| !is_word_char(c));
        let first = words.next().unwrap_or_default();
        first != "end"
            && !words.any(|word| word == "end")
            && (BLOCK_WORDS.split(' ').any(|word| word == first)
                || line.ends_with(" do")
                || line.ends_with('|') && line.contains(" do |"))
    };
    let closes = |line: &str| line == "end" || line.starts_with("end)");
    let count = |is_such: &dyn Fn(&str) -> bool| {
        file.text.lines().filter(|line| is_such(line.trim())).count()
    };
    added == "end" && count(&opens) > count(&closes)
}

/// The warnings about an exact replacement.
fn warnings_for(
    request: &EditRequest,
    file: &SourceFile<'_>,
    range: &Range<usize>,
    new: &str,
) -> Vec<String> {
    let old = request.old.as_str();
    let mut out = Vec::new();
    // A part of a word may be meant, of a number hardly.
    let is_odd = |at: usize, [old, new]: [Option<char>; 2]| {
        file.splits_name(at) && (old != new || old.is_some_and(|c| c.is_ascii_digit()))
    };
    if is_odd(range.start, [old, new].map(|text| text.chars().next()))
        || is_odd(range.end, [old, new].map(|text| text.chars().next_back()))
    {
        let line = file.snapshot.lines().number_at(range.start);
        out.push(format!(
            "the old text begins or ends inside a word on line {line}; only that part was replaced"
        ));
    }
    let (above, below) = (&file.text[..range.start], &file.text[range.end..]);
    let joins_below =
        old.ends_with('\n') && !new.is_empty() && !new.ends_with('\n') && !below.is_empty();
    let joins_above = old.starts_with(['\n', '\r'])
        && !new.starts_with(['\n', '\r'])
        && !new.is_empty()
        && above.ends_with(|c| c != '\n');
    let leading = above.rsplit('\n').next().filter(|l| !l.is_empty() && l.trim().is_empty());
    let about_lines = [
        joins_below.then_some("the old text ends with a line break and the new text does not, so the last line of the new text and the next line of the file are now one line"),
        joins_above.then_some("the old text begins with a line break and the new text does not, so the line above and the first line of the new text are now one line"),
        edge_indentation_warning(old, new, leading.is_some(), below),
        added_blank_line_warning(old, new).filter(|_| below.starts_with(['\r', '\n'])),
        leading.and_then(|leading| dedent_warning(leading, old, new)),
    ];
    out.extend(about_lines.into_iter().flatten().map(str::to_owned));
    out.extend(suspicious_text_warnings(file, old, new));
    if let Some(repeated) = repeated_neighbour(file, range, old, new) {
        out.push(format!("the new text repeats line {repeated}, which is next to the edit"));
    }
    out
}

/// The warning that a line break at the end of `new` adds a blank line, because `old` has none and
/// the line break after the replaced text stays.
pub(super) fn added_blank_line_warning(old: &str, new: &str) -> Option<&'static str> {
    let adds_blank_line = new.len() > 1 && new.ends_with('\n') && !old.ends_with('\n');
    adds_blank_line.then_some("the new text ends with a line break and the old text does not, so a blank line was added after it")
}

/// The tags around the arguments of a call.
const CALL_TAGS: [&str; 6] =
    ["<new_str", "</new_str", "</old_str", "</parameter", "</invoke", "<![CDATA["];

/// The warning about what wraps a text or a call, and `new_str` has and neither `old_str` nor the file.
pub(super) fn wrapper_warning(file: &SourceFile<'_>, old: &str, new: &str) -> Option<&'static str> {
    let mut full = new.lines().map(str::trim).filter(|line| !line.is_empty());
    let ends: Vec<&str> = [full.next(), full.next_back()].into_iter().flatten().collect();
    let ends_in = |mark: &str| {
        ends.iter().any(|line| line.starts_with(mark))
            && ![old, file.text].iter().any(|text| text.contains(mark))
    };
    let has_fence = ends_in("```") && file.language.is_none_or(|l| l.is_code());
    let has_conflict = |text: &str| {
        text.lines().any(|line| line.starts_with("<<<<<<< ") || line.starts_with(">>>>>>> "))
    };
    // What is in the quotes begins with the line that the call keeps. A line alone may become a text.
    let first = old.trim().lines().next();
    let is_in = |quote: &char| {
        let inside = new.trim().strip_prefix(*quote).and_then(|text| text.strip_suffix(*quote));
        inside.is_some_and(|inside| inside.trim().lines().next() == first)
    };
    let is_quoted = old.trim().contains('\n') && escapes::QUOTES.iter().any(is_in);
    // No line of code begins with a plus at the margin, but for what the language gives a meaning.
    let has_plus = |text: &str| text.lines().any(|line| line.starts_with('+'));
    let is_added = file.language.is_some_and(|l| l.is_code() && !is_among("diff yaml", l.name))
        && has_plus(new)
        && ![old, file.text].into_iter().any(has_plus);
    if has_fence {
        Some("the new text holds a code fence, which was written as it is")
    } else if CALL_TAGS.iter().any(|tag| ends_in(tag)) {
        Some("the new text begins or ends with a tag of the call, which was written as it is")
    } else if is_added {
        Some("lines of the new text begin with + as in a diff, which was written as it is")
    } else if is_quoted {
        Some("the new text as a whole is in quotes, which were written as they are")
    } else if has_conflict(new) && !has_conflict(old) {
        Some(
            "the new text holds the markers of a merge conflict or of a search/replace block, which were written as they are",
        )
    } else {
        None
    }
}

/// The warnings about text in `new_str` that was probably not meant to be written.
pub(super) fn suspicious_text_warnings(file: &SourceFile<'_>, old: &str, new: &str) -> Vec<String> {
    let language = file.language;
    let is_all_marked = |text: &str| {
        let mut lines = text.lines().filter(|line| !line.is_empty()).peekable();
        lines.peek().is_some() && lines.all(|line| line.starts_with(['+', '-']))
    };
    let is_diff = language.is_none_or(|l| !matches!(l.name, "diff" | "markdown" | "yaml"))
        && (is_all_marked(new) && !is_all_marked(old) || reading::is_diff_with_context(" ", new));
    let adds_placeholder = placeholder::introduced(old, new, file).is_some();
    let wrapper = wrapper_warning(file, old, new);
    let found = [
        wrapper,
        adds_placeholder.then_some(
            "the new text holds a placeholder for other text, which was written as it is",
        ),
        (is_diff && wrapper.is_none()).then_some(
            "lines of the new text begin with + or - as in a diff; they were written as they are",
        ),
    ];
    found.into_iter().flatten().map(str::to_owned).collect()
}

/// The warning that the indentation of a line changes, because the two strings begin or end with
/// different parts of it. `begins_inside` says whether the place begins inside the indentation of a
/// line; `below` is the text after the place.
fn edge_indentation_warning(
    old: &str,
    new: &str,
    begins_inside: bool,
    below: &str,
) -> Option<&'static str> {
    let [(old_rest, old_blanks), (new_rest, new_blanks)] =
        [old, new].map(|text| text.split_at(text.trim_end_matches([' ', '\t']).len()));
    let ends_apart = old_rest.ends_with('\n')
        && new_rest.ends_with('\n')
        && old_blanks.len() != new_blanks.len()
        && below.starts_with(|c: char| !c.is_whitespace());
    let has_line_below = below.lines().next().is_some_and(|line| !line.trim().is_empty());
    Some(if ends_apart {
        "the old text and the new text end with different parts of the next line's indentation, so the indentation of that line has changed"
    } else if !begins_inside {
        return None;
    } else if new.is_empty() && old.ends_with('\n') && has_line_below {
        "the old text begins inside the indentation of its first line, and what is left of it is now before the next line: quote the whole indentation"
    } else if !indent_of(old).is_empty() && new.lines().count() > 1 {
        "the old text begins inside the indentation of its first line, and the lines after the first were written with the indentation that was sent"
    } else if indent_of(old).is_empty() && !indent_of(new).is_empty() {
        "the old text begins after the line's indentation and the new text brings its own, so the first line is now indented further"
    } else {
        return None;
    })
}

/// The warning that the lines of `new` after the first are indented less than the lines around
/// them. `leading` is the indentation before both texts.
fn dedent_warning(leading: &str, old: &str, new: &str) -> Option<&'static str> {
    let is_nonblank = |line: &&str| !line.trim().is_empty();
    let least_after_first = |text: &str| text.lines().skip(1).filter(is_nonblank).map(depth).min();
    let column = columns(leading, TAB_WIDTH);
    let new_width = least_after_first(new)?;
    let first_width = column + depth(new);
    let old_width = least_after_first(old).unwrap_or(first_width);
    let is_dedented = new_width < old_width.min(first_width);
    is_dedented.then_some("the new text was written as sent, and its lines after the first are indented less than the lines around them: indent them if they belong there")
}

/// The number of a line next to the place that `new_str` repeats as its first or last line, if
/// `old_str` does not have that line.
fn repeated_neighbour(
    file: &SourceFile<'_>,
    range: &Range<usize>,
    old: &str,
    new: &str,
) -> Option<usize> {
    if new.lines().count() < 2 {
        return None;
    }
    let is_nonblank = |line: &&str| !line.trim().is_empty();
    let (first, last) = (new.lines().find(is_nonblank)?, new.lines().rfind(is_nonblank)?);
    let (quoted, below) = (&file.text[..range.end], &file.text[range.end..]);
    let start = file.text[..range.start].rfind('\n').map_or(0, |feed| feed + 1);
    // The rest of a line is no line below.
    let rest = usize::from(!quoted.ends_with('\n'));
    let (above, below) = (quoted[..start].lines().next_back(), below.lines().nth(rest));
    let is_repeated = |neighbour: Option<&str>, line: &str| {
        let line = line.trim();
        neighbour.is_some_and(|neighbour| neighbour.trim() == line)
            && line.chars().filter(|c| is_word_char(*c)).count() >= 4
            && !old.lines().any(|old_line| old_line.trim() == line)
    };
    let number_at = |at| file.snapshot.lines().number_at(at);
    if is_repeated(above, first) {
        return Some(number_at(range.start) - 1);
    }
    is_repeated(below, last).then(|| number_at(range.end) + rest)
}
