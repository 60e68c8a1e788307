//! What is written of a text that passes, and how it differs from what the call believed.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::Case;
use super::blanks::reindents;
use crate::edit::Conflict;
use crate::resolve::words::Words;

/// The text as it is written: with the line endings of the place, and with the file's bytes for each
/// line that is the file's but for white space in code. A call that moves kept lines sideways
/// keeps the answer's.
pub(in crate::resolve) fn as_written(case: &Case<'_>, text: &str, ending: &str) -> String {
    let text = text.replace("\r\n", "\n");
    let (file, answer) = (Words::of(case.found, case.language), Words::of(&text, case.language));
    let old_lines: HashSet<&str> = case.old.lines().collect();
    let added: HashSet<&str> = case.new.lines().filter(|line| !old_lines.contains(line)).collect();
    let file_lines: Vec<&str> = case.found.split('\n').collect();
    // For each line of the text, the line of the file whose bytes it takes.
    let mut kept: HashMap<usize, usize> = HashMap::new();
    let (old_keys, new_keys) = (file.line_keys(), answer.line_keys());
    for op in similar::capture_diff_slices(similar::Algorithm::Patience, &old_keys, &new_keys) {
        if op.tag() == similar::DiffTag::Equal {
            let line_of = |words: &Words<'_>, at: usize| words.words[words.lines[at].start].line;
            let pairs = op.old_range().zip(op.new_range());
            kept.extend(pairs.map(|(old, new)| (line_of(&answer, new), line_of(&file, old))));
        }
    }
    let moves_lines = reindents(case);
    let is_there = |line: &str| file_lines.iter().any(|own| own.trim_end_matches('\r') == line);
    let lines: Vec<&str> = text.split('\n').collect();
    let mut out = String::with_capacity(text.len());
    for (at, line) in lines.iter().enumerate() {
        let own = kept.get(&at).map(|from| (*from, file_lines[*from]));
        let body = match own {
            // A line that is somewhere in the place as it is, is meant as it is.
            Some((_, own)) if !moves_lines && !added.contains(line) && !is_there(line) => {
                own.trim_end_matches('\r')
            }
            _ => line,
        };
        out.push_str(body);
        if at + 1 < lines.len() {
            out.push_str(match own {
                Some((from, own)) if from + 1 < file_lines.len() => match own.ends_with('\r') {
                    true => "\r\n",
                    false => "\n",
                },
                _ => ending,
            });
        }
    }
    out
}

/// The lines of the file that differ from the call, with what the text has in their place. `first`
/// is the number of the first line of the place.
pub(in crate::resolve) fn conflicts(case: &Case<'_>, text: &str, first: usize) -> Vec<Conflict> {
    let cut = |text| Words::of(text, case.language);
    let (base, file, answer) = (cut(case.old), cut(case.found), cut(text));
    let (base_keys, file_keys) = (base.line_keys(), file.line_keys());
    let algorithm = similar::Algorithm::Patience;
    let to_answer = similar::capture_diff_slices(algorithm, &file_keys, &answer.line_keys());
    let lines_of = |words: &Words<'_>, text: &str, lines: Range<usize>| -> String {
        let number = |at: usize| words.words[words.lines[at].start].line;
        let numbers = match lines.is_empty() {
            true => 0..0,
            false => number(lines.start)..number(lines.end - 1) + 1,
        };
        let all: Vec<&str> = text.lines().collect();
        all.get(numbers).unwrap_or_default().join("\n")
    };
    let mut out = Vec::new();
    for op in similar::capture_diff_slices(algorithm, &base_keys, &file_keys) {
        // Lines that only the file has are no conflict.
        if op.tag() == similar::DiffTag::Equal || op.old_range().is_empty() {
            continue;
        }
        let lines = op.new_range();
        let written = to_answer
            .iter()
            .filter(|op| op.old_range().start < lines.end && lines.start < op.old_range().end);
        let written = written.fold(None, |all: Option<Range<usize>>, op| {
            let own = match op.old_range().len() == op.new_range().len() {
                true => {
                    let skip = lines.start.saturating_sub(op.old_range().start);
                    let len =
                        lines.end.min(op.old_range().end) - lines.start.max(op.old_range().start);
                    op.new_range().start + skip..op.new_range().start + skip + len
                }
                false => op.new_range(),
            };
            Some(all.map_or(own.clone(), |all| all.start.min(own.start)..all.end.max(own.end)))
        });
        let number = |at: usize| file.lines.get(at).map_or(0, |line| file.words[line.start].line);
        let start_line = first + number(lines.start);
        let end_line = match lines.is_empty() {
            true => start_line.saturating_sub(1),
            false => first + number(lines.end - 1),
        };
        out.push(Conflict {
            start_line,
            end_line,
            believed: lines_of(&base, case.old, op.old_range()),
            found: lines_of(&file, case.found, lines),
            written: Some(lines_of(&answer, text, written.unwrap_or(0..0))),
        });
    }
    out
}
