//! Mistakes that only `new_str` has, where `old_str` stands in the file character for
//! character: who quotes well may still write the new text numbered, escaped, fenced or at
//! another depth. Lines that both strings have show it: as sent they differ, and once the
//! mistake is undone they are the same. A change that is nothing but that is meant.

use std::collections::HashSet;
use std::ops::Range;

use super::Explained;
use super::call::{Call, looks_like_a_diff};
use super::canon::is_word;
use super::code::{is_comment, without_comment};
use super::decode;
use super::exact::{alike, says_the_same};
use super::fit::{self, is_marginal, strain};
use super::indent;
use super::margin::is_a_method;
use super::merge::FOREIGN;
use super::refuse;
use super::steps::{least_depth, shows_depth};
use super::tokens::{self, likeness};
use super::window::split;
use crate::edit::Refusal;

/// Longer texts are taken at their word.
const MOST: usize = 200_000;

/// What a new text is that is written otherwise than the old one.
pub(super) enum Artefact {
    /// The text that was meant, and the name of what was undone.
    Undone(String, &'static str),
    /// Nothing tells for sure.
    Unclear(&'static str),
}

use Artefact::{Unclear, Undone};

/// Looks for the mistake in a new text that is to stand at `place`.
pub(super) fn find(call: &Call<'_>, place: &Range<usize>) -> Option<Artefact> {
    let (old, new) = (call.request.old.as_str(), call.request.new.as_str());
    if new.trim().is_empty() || new.len() > MOST {
        return None;
    }
    written(call, place, old, new)
        .or_else(|| foreign(call, place, old, new))
        .or_else(|| closed_only(call, old, new))
        .or_else(|| added_only(call, old, new))
        .or_else(|| starts_flush(call, place, old, new))
        .or_else(|| stands_astray(call, place, old, new))
        .or_else(|| leaves_the_class(call, place, old, new))
}

/// Signs of another kind of text than the file that an explained call would leave there.
pub(super) fn left(call: &Call<'_>, found: &Explained) -> Option<Refusal> {
    // What is found as it stands was looked at by `find`.
    if found.explanation.rung == "exact" {
        return None;
    }
    found.splices.iter().find_map(|splice| {
        let old = &call.text()[splice.range.clone()];
        match foreign(call, &splice.range, old, &splice.text)? {
            Unclear(why) => {
                let line = call.snapshot.lines().number_at(splice.range.start);
                Some(refuse::written_otherwise(line, why))
            }
            Undone(..) => None,
        }
    })
}

/// New methods at the margin, behind a line of a class whose indentation the call has lost.
fn leaves_the_class(
    call: &Call<'_>,
    place: &Range<usize>,
    old: &str,
    new: &str,
) -> Option<Artefact> {
    let text = call.text();
    let start = text[..place.start].rfind('\n').map_or(0, |at| at + 1);
    let margin = &text[start..place.start];
    let flush = |line: &str| is_a_method(line) && indent::of(line).is_empty();
    if margin.is_empty()
        || !margin.trim().is_empty()
        || old.lines().any(flush)
        || !new.lines().skip(1).any(flush)
    {
        return None;
    }
    const FAR: usize = 5_000;
    let mut above = text[..start].lines().rev().take(FAR).filter(|line| !line.trim().is_empty());
    // Beside a field of the class, they are taken for what they are.
    let nearest = above.clone().find(|line| indent::of(line).len() < margin.len())?;
    if nearest.trim_start().starts_with("class ") {
        return None;
    }
    let holder = above.find(|line| indent::of(line).is_empty() && !line.starts_with(['#', ')']))?;
    holder.starts_with("class ").then_some(Unclear(
        "new_str has methods at the margin, and the class there has them deeper",
    ))
}

/// Lines that say something, each with its indentation.
fn solid(text: &str) -> impl Iterator<Item = &str> {
    let says = |line: &&str| line.chars().filter(|c| is_word(*c)).count() >= 3;
    text.lines().map(str::trim_end).filter(says)
}

/// A mistake of the whole text that brings lines of `old` back once it is undone.
fn written(call: &Call<'_>, place: &Range<usize>, old: &str, new: &str) -> Option<Artefact> {
    // Every exact call comes here, and few have such signs.
    if !new.contains(['\\', '&', '`', '+', '-', '\u{a0}'])
        && !new.contains(|c: char| c.is_ascii_digit())
    {
        return None;
    }
    let known: HashSet<&str> = solid(old).collect();
    let plain: HashSet<&str> = solid(new).filter(|line| known.contains(line)).collect();
    let readings = decode::undone(new, call.text()).filter_map(|(rung, meant)| {
        let lines: HashSet<&str> = solid(&meant).collect();
        let gained = lines.intersection(&known).count() - plain.intersection(&lines).count();
        let lost = plain.iter().any(|line| !lines.contains(line));
        let nothing_else = lines == known;
        (!lost && !nothing_else).then_some((gained, rung, meant))
    });
    let fenced = |meant: &str| {
        new.trim_start().starts_with("```") && alike(old, meant) && !call.text().contains("```")
    };
    let (gained, rung, meant) = readings.max_by_key(|(gained, rung, meant)| {
        gained + usize::from(*rung == "code_fence" && fenced(meant))
    })?;
    match rung {
        "code_fence" if fenced(&meant) => {
            Some(Unclear("new_str is in a code fence, old_str is not, nor has the file any"))
        }
        _ if gained == 0 => None,
        // A list or a table may as well be numbered.
        "line_numbers" if !are_of_a_view(call, place, new, &meant) => None,
        "line_numbers" => Some(Undone(meant, "line_numbers")),
        "unescaped" if breaks_in_literals(new) => None,
        "unescaped" if is_one_line(new) && !is_one_line(old) => Some(Undone(meant, "unescape")),
        // The model may be asked whether one line stands for several.
        "unescaped" if is_one_line(new) => None,
        // Escaped line breaks in literals are common.
        "unescaped" if meant.lines().count() != new.lines().count() => None,
        "unescaped" => Some(Unclear("the lines that new_str has of old_str are escaped in it")),
        // Where one sign is written so and another plainly, both are meant.
        "html_entities" if new.contains(['<', '>']) && meant.contains(['<', '>']) => None,
        "html_entities" => {
            Some(Unclear("the lines that new_str has of old_str have HTML entities in it"))
        }
        "diff_markers" if !new.contains('+') => None,
        "diff_markers" => Some(Unclear("lines of new_str have the marks of a diff")),
        _ => None,
    }
}

/// Whether the numbers of a new text are those of a view: behind a sign that only views have, or
/// about those of its lines in the file, where a list of its own would begin with the first.
fn are_of_a_view(call: &Call<'_>, place: &Range<usize>, new: &str, meant: &str) -> bool {
    const NEAR: usize = 10;
    let top = call.text()[..place.start].matches('\n').count() + 1;
    let mut gutters = new.lines().zip(meant.lines()).filter_map(|(new, meant)| {
        new.strip_suffix(meant).filter(|gutter| !gutter.trim().is_empty())
    });
    gutters.next().is_some_and(|gutter| {
        let number = gutter.trim_matches(|c: char| !c.is_ascii_digit()).parse::<usize>();
        gutter.contains(['|', '│', '→', '#', '>', 'L'])
            || !gutter.contains('.')
                && number.is_ok_and(|number| number > 1 && number.abs_diff(top) <= NEAR)
    })
}

/// Whether a literal has an escaped line break, which is one when the code runs.
fn breaks_in_literals(text: &str) -> bool {
    let text = text.replace("\\\"", "\"");
    tokens::literals(&text).into_iter().any(|literal| {
        let inside = text[literal].replace("\\\\", "");
        inside.contains("\\n")
    })
}

fn is_one_line(text: &str) -> bool {
    !text.trim_end().contains('\n')
}

/// Signs that stand in `new` for the plain ones of `old` or of the file, which has no others.
fn foreign(call: &Call<'_>, place: &Range<usize>, old: &str, new: &str) -> Option<Artefact> {
    if new.is_ascii() && !new.contains(['&', '\\']) {
        return None;
    }
    let text = call.text();
    let words = |text: &str| -> Vec<String> {
        text.split(|c: char| !is_word(c)).filter(|w| !w.is_empty()).map(str::to_owned).collect()
    };
    // Amid a line there may be a literal around the place.
    let whole = begins_line(call, place).is_some()
        && (old.ends_with('\n') || text[place.end..].starts_with(['\r', '\n']));
    let known: HashSet<&str> = solid(old).collect();
    FOREIGN.iter().find_map(|(signs, why)| {
        let any = |text: &str| signs.iter().any(|(sign, _)| text.contains(sign));
        if !any(new) || any(old) || any(text) {
            return None;
        }
        let without = |with: &dyn Fn(char) -> String| {
            signs.iter().fold(new.to_owned(), |text, (sign, c)| text.replace(sign, &with(*c)))
        };
        let (stripped, plain) = (without(&|_| String::new()), without(&|c| c.to_string()));
        let back = solid(&plain).any(|line| known.contains(line) && !solid(new).any(|l| l == line));
        let swapped = signs.iter().any(|(sign, c)| {
            let leads =
                || new.lines().any(|line| line.trim_start_matches([' ', '\t']).starts_with(sign));
            let behind =
                |heads: &[&str]| heads.iter().any(|head| new.contains(&format!("{head}{sign}")));
            let code = match sign.as_bytes()[0] {
                b'\\' => whole && !new.contains("\\n"),
                b'&' => {
                    whole && !text.contains("</") && (text.contains(*c) || is_in_code(new, sign))
                }
                _ => *c == '"' && behind(&["(", "[", "=", "= "]),
            };
            match c {
                ' ' => leads(),
                // Between blanks a dash stands for one that does so, too.
                '-' if new.contains(&format!(" {sign} ")) && !old.contains(" - ") => false,
                c => new.contains(sign) && (code || old.contains(*c)) && !stripped.contains(*c),
            }
        });
        (words(&stripped) != words(old) && (back || swapped)).then_some(Unclear(why))
    })
}

/// Whether a sign stands in a line of code, and in no literal there.
fn is_in_code(text: &str, sign: &str) -> bool {
    text.lines().filter(|line| line.trim_end().ends_with(['{', ';', ')'])).any(|line| {
        let code = without_comment(line);
        let literals = tokens::literals(code);
        let mut places = code.match_indices(sign).map(|(at, _)| at);
        places.any(|at| !literals.iter().any(|literal| literal.contains(&at)))
    })
}

/// What comes around the text of a call, at one end of it: a closing tag or a fence that nothing
/// opens.
fn closed_only(call: &Call<'_>, old: &str, new: &str) -> Option<Artefact> {
    let last = new.trim_end().rsplit('\n').next()?.trim();
    let mark = |line: &str| ["<<<<<<< ", ">>>>>>> "].iter().any(|mark| line.starts_with(mark));
    if new.lines().any(mark) && ![old, call.text()].iter().any(|text| text.lines().any(mark)) {
        return Some(Unclear("new_str has the marks of a conflict"));
    }
    if last == "```" {
        let odd = new.matches("```").count() % 2 == 1;
        let why = "new_str ends with a code fence that nothing opens";
        return (odd && !old.contains("```") && !call.text().contains("```"))
            .then_some(Unclear(why));
    }
    let name = last.strip_suffix('>')?.rsplit("</").next()?;
    let tag =
        last.contains("</") && !is_comment(last) && !name.is_empty() && name.chars().all(is_word);
    // A page may open its tags elsewhere.
    if call.text().contains("</") && !name.contains('_') {
        return None;
    }
    let opens = format!("<{name}");
    let known = [old, new, call.text()].iter().any(|text| text.contains(&opens));
    (tag && !known).then_some(Unclear("new_str ends with a closing tag that nothing opens"))
}

/// Lines that begin with `+`, and others without a mark.
fn added_only(call: &Call<'_>, old: &str, new: &str) -> Option<Artefact> {
    let any = new.starts_with('+') || new.contains("\n+");
    any.then(|| looks_like_a_diff(call.text(), &split(old), &split(new)).map(Unclear))?
}

/// The place, if it begins with a line.
fn begins_line<'a>(call: &Call<'a>, place: &Range<usize>) -> Option<&'a str> {
    let before = &call.text()[..place.start];
    (before.is_empty() || before.ends_with('\n')).then_some(before)
}

/// The first line lost the indentation that it has in `old`, and the others did not.
fn starts_flush(call: &Call<'_>, place: &Range<usize>, old: &str, new: &str) -> Option<Artefact> {
    let rest = || new.lines().skip(1).filter(|line| shows_depth(line));
    let second = rest().next()?;
    let first =
        new.lines().next().filter(|line| shows_depth(line) && indent::of(line).is_empty())?;
    let head = old.lines().next().filter(|line| shows_depth(line))?;
    let margin = indent::of(head);
    if margin.is_empty() || is_marginal(first) && fit::closes(first) {
        return None;
    }
    let above = begins_line(call, place)?.lines().rev().find(|line| !line.trim().is_empty())?;
    let depth = |line: &str| indent::columns(indent::of(line), 4);
    // What stands before a line that stays is another line, and may hold it, unless it is a
    // whole statement.
    let another = rest().any(|line| line == head);
    if another && !first.trim_end().ends_with([')', ';'])
        || !another && likeness(head.trim(), first.trim()) < 0.5
    {
        return None;
    }
    let known: HashSet<&str> = old.lines().filter(|line| shows_depth(line)).collect();
    let least = known.iter().map(|line| depth(line)).min()?;
    let odd = |first: &str| strain(above, first, 4) + strain(first, second, 4);
    let moved = format!("{margin}{first}");
    (rest().any(|line| known.contains(line))
        && rest().all(|line| depth(line) >= least)
        && odd(first) > odd(&moved))
    .then(|| Undone(format!("{margin}{new}"), "indentation"))
}

/// All of `new` stands deeper or less deep than `old`, where the lines around it leave no room
/// for it, and would at the depth of `old`.
fn stands_astray(call: &Call<'_>, place: &Range<usize>, old: &str, new: &str) -> Option<Artefact> {
    let before = begins_line(call, place)?;
    let depth = |line: &str| indent::columns(indent::of(line), 4);
    let (from, to) = (least_depth(old)?, least_depth(new)?);
    let lines = || new.lines().filter(|line| shows_depth(line));
    let stays = |line: &str| old.lines().any(|old| old == line);
    // Another thing in its place may stand elsewhere.
    if from == to
        || !alike(old, new)
        || new.lines().filter(|line| !line.trim().is_empty()).any(stays)
        || lines().all(is_marginal)
        || says_the_same(old, new)
    {
        return None;
    }
    let filled = |line: &&str| !line.trim().is_empty();
    let above = before.lines().rev().find(filled).unwrap_or_default();
    let behind = &call.text()[place.end..];
    let behind = if old.ends_with('\n') { behind } else { behind.split_once('\n')?.1 };
    let below = behind.lines().find(filled).unwrap_or_default();
    let (first, last) = (lines().next()?, lines().next_back()?);
    let moved = |line: &str| {
        let columns = (depth(line) + from).saturating_sub(to);
        " ".repeat(columns) + line.trim_start()
    };
    let odd = |first: &str, last: &str| {
        let below = if below.is_empty() { 0 } else { strain(last, below, 4) };
        strain(above, first, 4) + below
    };
    let (sent, stays) = (odd(first, last), odd(&moved(first), &moved(last)));
    let within = to < from && depth(above) >= to && depth(below) > to;
    (within && sent > 2 * stays || to > from && sent > 2 * stays + 4).then_some(Unclear(
        "new_str stands at another depth than old_str, and the lines around it leave no room for it there",
    ))
}

#[cfg(test)]
mod tests {
    use crate::edit::EditRequest;
    use crate::matching::explain;
    use crate::text::Snapshot;

    const FILE: &str =
        "def f(a):\n    if a < 1:\n        log(\"low\")\n    b = a - 1\n    return b\n";
    const OLD: &str = "    if a < 1:\n        log(\"low\")\n    b = a - 1\n";

    /// What stands in the file after an exact call, or the refusal's message.
    fn after(old: &str, new: &str) -> Result<String, String> {
        let explained = explain(&EditRequest::new(old, new), &Snapshot::from_text(FILE));
        let explained = explained.map_err(|refusal| refusal.message)?;
        let mut text = FILE.to_owned();
        for splice in explained.splices.iter().rev() {
            text.replace_range(splice.range.clone(), &splice.text);
        }
        Ok(text)
    }

    #[test]
    fn what_the_kept_lines_prove_is_undone() {
        let meant = OLD.replace("a - 1", "a - 2");
        let numbered: String =
            (2..).zip(meant.lines()).map(|(n, line)| format!("{n}|{line}\n")).collect();
        let escaped = meant.replace('\n', "\\n").replace('"', "\\\"");
        for new in [numbered, escaped, meant.trim_start().to_owned()] {
            assert_eq!(after(OLD, &new), Ok(FILE.replace(OLD, &meant)), "{new}");
        }
    }

    #[test]
    fn what_nothing_proves_is_refused_by_name() {
        let meant = OLD.replace("a - 1", "a - 2");
        let flush: String = meant.lines().map(|line| line.trim_start().to_owned() + "\n").collect();
        for (new, name) in [
            (format!("```\n{meant}```\n"), "code fence"),
            (format!("{meant}```\n"), "code fence"),
            (format!("{meant}</new_str>\n"), "closing tag"),
            (format!("<<<<<<< HEAD\n{meant}"), "conflict"),
            (meant.replace('<', "&lt;"), "entities"),
            (meant.replace('"', "\\\""), "escaped"),
            (meant.replace("(\"", "(“").replace("\")", "”)"), "typographic"),
            (meant.replace("    ", "\u{a0}\u{a0}\u{a0}\u{a0}"), "do not break"),
            (flush, "another depth"),
        ] {
            let message = after(OLD, &new).expect_err(&new);
            assert!(message.contains(name), "{message}");
        }
    }

    #[test]
    fn a_change_that_is_nothing_else_is_meant() {
        for new in [
            OLD.replace('<', "&lt;"),
            OLD.replace('"', "\\\""),
            format!("```\n{OLD}```\n"),
            OLD.lines().map(|line| line[4..].to_owned() + "\n").collect(),
            // And so is one that has such signs of its own.
            OLD.replace("low", "a &lt; b"),
            OLD.replace("\"low\"", "\"\\\"low\\\"\""),
            OLD.replace("low", "1\\n2"),
        ] {
            assert_eq!(after(OLD, &new), Ok(FILE.replace(OLD, &new)), "{new}");
        }
    }
}
