//! The white space of an answer: between words, at the ends of lines, and as indentation.

use std::collections::{HashMap, HashSet};

use super::Case;
use crate::language::Language;
use crate::resolve::words::Words;

/// Checks that neighbouring words are apart as in one of the three texts that have them side by
/// side. Other neighbours may be apart by anything that is between some words there.
pub(super) fn check_gaps(sides: &[&Words<'_>], answer: &Words<'_>) -> Result<(), String> {
    let mut gaps: HashMap<(&str, &str), HashSet<&str>> = HashMap::new();
    let mut all = HashSet::from(["", " ", "\n", "\n\n"]);
    for side in sides {
        for pair in side.words.windows(2) {
            gaps.entry((pair[0].text, pair[1].text)).or_default().insert(pair[1].gap);
            all.insert(pair[1].gap);
        }
    }
    for pair in answer.words.windows(2) {
        let known = gaps.get(&(pair[0].text, pair[1].text)).unwrap_or(&all);
        if !known.contains(pair[1].gap) {
            let found = match pair[1].gap {
                "" => "nothing",
                "\n" => "a line break",
                "\n\n" => "a blank line",
                _ => "other blanks",
            };
            return Err(format!(
                "the text has {found} between `{}` and `{}`, unlike the file and the edit",
                pair[0].text, pair[1].text
            ));
        }
    }
    Ok(())
}

/// Checks the white space at both ends of the lines of a text, which no word has: it must be as in the
/// file or in the call.
pub(super) fn check_edges(case: &Case<'_>, text: &str) -> Result<(), String> {
    let sources = [case.found, case.definition, case.new, case.old];
    let indent = |line: &str| line[..line.len() - line.trim_start().len()].to_owned();
    let first = |text: &str| text.lines().find(|line| !line.trim().is_empty()).map(indent);
    let mut indents: HashSet<String> =
        sources.iter().flat_map(|text| text.lines()).map(indent).collect();
    // The call's lines as deep as the file's.
    if let (Some(sent), Some(own)) = (first(case.old), first(case.found)) {
        let moved = case.new.lines().map(indent).filter_map(|line| {
            let deeper = line.strip_prefix(sent.as_str());
            deeper.map(|deeper| format!("{own}{deeper}")).or_else(|| Some(format!("{own}{line}")))
        });
        indents.extend(moved.collect::<Vec<_>>());
    }
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        if !indents.contains(&indent(line)) {
            return Err(format!("the line `{}` has an indentation of its own", line.trim()));
        }
        let ends_as_known = || {
            let body = line.trim_end();
            let tail = &line[body.len()..];
            let last = body.rsplit(char::is_whitespace).next().unwrap_or_default();
            sources.iter().flat_map(|text| text.lines()).any(|own| {
                own.strip_suffix(tail)
                    .is_some_and(|own| own.ends_with(last) && !own.ends_with([' ', '\t']))
            })
        };
        if line.ends_with([' ', '\t']) && !ends_as_known() {
            return Err(format!("the line `{}` ends with blanks", line.trim()));
        }
    }
    Ok(())
}

/// Whether indentation is syntax, so that a line that is moved sideways means something else.
fn has_significant_indentation(language: Option<&Language>) -> bool {
    language.is_some_and(|language| matches!(language.name, "python" | "yaml"))
}

/// Checks, where indentation is syntax, that the lines of the answer stand as deep as in the file,
/// or as the lines of the call do by the same shift.
pub(super) fn check_indentation(case: &Case<'_>, text: &str) -> Result<(), String> {
    if !has_significant_indentation(case.language) {
        return Ok(());
    }
    let depth = |line: &str| {
        let blanks = line.chars().take_while(|c| c.is_whitespace());
        blanks.map(|c| if c == '\t' { 8_i64 } else { 1 }).sum::<i64>()
    };
    let depths = |text: &str| {
        let mut depths: HashMap<String, HashSet<i64>> = HashMap::new();
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            depths.entry(line.trim().to_owned()).or_default().insert(depth(line));
        }
        depths
    };
    let (old, new, found) = (depths(case.old), depths(case.new), depths(case.found));
    let shifts: HashSet<i64> = old
        .iter()
        .filter_map(|(line, depths)| Some((depths, found.get(line)?)))
        .flat_map(|(old, found)| old.iter().flat_map(move |a| found.iter().map(move |b| b - a)))
        .collect();
    let shifts = if shifts.is_empty() { HashSet::from([0]) } else { shifts };
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let (key, depth) = (line.trim(), depth(line));
        let by_call = new.get(key);
        let is_as_in_call = |depths: &HashSet<i64>| {
            depths.iter().any(|own| shifts.iter().any(|shift| own + shift == depth))
        };
        let is_right = match (by_call, found.get(key)) {
            (Some(own), _) if is_as_in_call(own) => true,
            (None, Some(depths)) => {
                // A block that the call moves takes the lines along that only the file has.
                depths.contains(&depth) || reindents(case)
            }
            (Some(_), Some(depths)) => depths.contains(&depth) && !reindents(case),
            (Some(_), None) => false,
            (None, None) => true,
        };
        if !is_right {
            return Err(format!("the line `{key}` is indented unlike the file and the edit"));
        }
    }
    Ok(())
}

/// Checks the blank lines where a text meets the lines around its place: there are as many as before,
/// or more if the call has so many beside that line, or fewer if the call removes some.
pub(in crate::resolve) fn check_blank_lines(
    case: &Case<'_>,
    (above, below): (&str, &str),
    text: &str,
) -> Result<(), String> {
    if text.trim().is_empty() || case.found.trim().is_empty() {
        return Ok(());
    }
    let breaks = |blanks: &str| blanks.matches('\n').count();
    let head = |text: &str| breaks(&text[..text.len() - text.trim_start().len()]);
    let tail = |text: &str| breaks(&text[text.trim_end().len()..]);
    let blank_lines = |text: &str| text.lines().filter(|line| line.trim().is_empty()).count();
    let removes = blank_lines(case.new) < blank_lines(case.old);
    // The line breaks before and after each line of the call; one that begins it follows another.
    let call = format!("\n{}", case.new);
    let lines: Vec<(&str, usize, usize)> = call
        .match_indices('\n')
        .map(|(at, _)| {
            let line = call[at + 1..].split('\n').next().unwrap_or_default();
            (line.trim(), tail(&call[..=at]), head(&call[at + 1 + line.len()..]))
        })
        .collect();
    let trimmed = text.trim();
    let first = trimmed.lines().next().unwrap_or_default().trim();
    let last = trimmed.lines().next_back().unwrap_or_default().trim();
    let above = (tail(above) + head(case.found), tail(above) + head(text));
    let below = (tail(case.found) + head(below), tail(text) + head(below));
    let has_above = lines.iter().any(|(line, before, _)| *line == first && *before == above.1);
    let has_below = lines.iter().any(|(line, _, after)| *line == last && *after == below.1);
    for ((before, after), is_in_call) in [(above, has_above), (below, has_below)] {
        if after > before && !is_in_call {
            return Err("the text adds a blank line at its start or end".into());
        }
        if after < before && !removes {
            return Err("the text lacks a blank line at its start or end".into());
        }
    }
    Ok(())
}

/// Whether the call changes the indentation of a line that it keeps.
pub(super) fn reindents(case: &Case<'_>) -> bool {
    let old: HashMap<&str, &str> = case.old.lines().map(|line| (line.trim(), line)).collect();
    case.new.lines().any(|line| {
        !line.trim().is_empty() && old.get(line.trim()).is_some_and(|kept| *kept != line)
    })
}
