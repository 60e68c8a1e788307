//! Spelling inside a line: spacing, quotes, punctuation, and context that the model
//! remembers a little wrong. Context keeps the file's spelling; a changed line keeps it
//! where old and new are paired one to one.

use super::super::rng::Rng;
use super::{DraftLine, EditDraft, LineRole};

fn has_string(line: &str) -> bool {
    line.contains(['"', '\'', '`'])
}

fn respace(line: &str) -> String {
    let indent = line.len() - line.trim_start().len();
    let mut body = line[indent..].to_owned();
    for (from, to) in
        [(" = ", "="), (", ", ","), (" + ", "+"), (" == ", "=="), ("if (", "if("), (") {", "){")]
    {
        body = body.replace(from, to);
    }
    format!("{}{body}", &line[..indent])
}

fn widen_spaces(line: &str) -> String {
    let indent = line.len() - line.trim_start().len();
    format!("{}{}", &line[..indent], line[indent..].replacen(' ', "  ", 1))
}

fn spacing(draft: &mut EditDraft<'_>, change: fn(&str) -> String) -> Option<()> {
    draft.edit.language.is_free_form().then_some(())?;
    let comment = |line: &str| draft.edit.language.is_comment(line);
    let places = draft.positions(|draft_line| {
        draft_line.role == LineRole::Context
            && draft_line
                .file
                .as_deref()
                .is_some_and(|l| !has_string(l) && !comment(l) && change(l) != l)
    });
    (!places.is_empty()).then_some(())?;
    for at in places {
        draft.lines[at].change_in_call(change);
    }
    Some(())
}

/// Spaces around operators and after commas left out of context lines.
pub(super) fn spacing_lost(draft: &mut EditDraft<'_>, _: &mut Rng) -> Option<()> {
    spacing(draft, respace)
}

/// A space too many in context lines.
pub(super) fn spacing_doubled(draft: &mut EditDraft<'_>, _: &mut Rng) -> Option<()> {
    spacing(draft, widen_spaces)
}

const EITHER_QUOTE: &[&str] = &["javascript", "typescript", "python", "php", "ruby", "css"];

/// The other kind of quotes throughout; strings in languages where both mean the same.
pub(super) fn quotes_swapped(draft: &mut EditDraft<'_>, _: &mut Rng) -> Option<()> {
    EITHER_QUOTE.contains(&draft.edit.language.name).then_some(())?;
    let texts = || draft.lines.iter().flat_map(|c| [&c.file, &c.after]).flatten();
    let plain = |line: &String| {
        !line.contains(['\\', '`', '$'])
            && !draft.edit.language.is_comment(line)
            && !line.contains("\"\"\"")
            && !line.contains("'''")
    };
    texts().all(plain).then_some(())?;
    let uses = |quote: char| texts().any(|line| line.contains(quote));
    let even = |quote: char| texts().all(|line| line.matches(quote).count() % 2 == 0);
    let (from, to) = match (uses('"'), uses('\'')) {
        (true, false) if even('"') => ("\"", "'"),
        (false, true) if even('\'') => ("'", "\""),
        _ => return None,
    };
    draft.lines.iter().any(|c| c.old.as_ref().is_some_and(|l| l.contains(from))).then_some(())?;
    // Lines that only new_str has are written as sent, and right with either quotes.
    let adds = |c: &DraftLine| {
        c.role == LineRole::Added && c.new.as_ref().is_some_and(|l| l.contains(from))
    };
    (!draft.lines.iter().any(adds)).then_some(())?;
    for draft_line in &mut draft.lines {
        draft_line.change_in_call(|line| line.replace(from, to));
    }
    Some(())
}

/// Statement ends left out everywhere. Every new line replaces one line that ends alike.
pub(super) fn semicolons_lost(draft: &mut EditDraft<'_>, _: &mut Rng) -> Option<()> {
    ["javascript", "typescript"].contains(&draft.edit.language.name).then_some(())?;
    let side = |kind| -> Vec<bool> {
        let of =
            |c: &DraftLine| c.old.as_ref().or(c.new.as_ref()).map(|l| l.trim_end().ends_with(';'));
        draft.lines.iter().filter(|c| c.role == kind).filter_map(of).collect()
    };
    let (drops, adds) = (side(LineRole::Removed), side(LineRole::Added));
    (drops == adds && drops.len() == 1 && drops[0]).then_some(())?;
    for draft_line in &mut draft.lines {
        draft_line.change_in_call(|line| line.strip_suffix(';').unwrap_or(line).to_owned());
    }
    Some(())
}

/// A comma or semicolon left out at the end of one context line.
pub(super) fn end_lost(draft: &mut EditDraft<'_>, rng: &mut Rng) -> Option<()> {
    let ends = |draft_line: &DraftLine| {
        draft_line.is_context_text()
            && draft_line.file.as_ref().is_some_and(|l| l.len() > 3 && l.ends_with([',', ';']))
    };
    let at = *rng.pick(&draft.positions(ends))?;
    draft.lines[at].change_in_call(|line| line[..line.len() - 1].to_owned());
    Some(())
}

/// A comma or semicolon too many at the end of one context line.
pub(super) fn end_added(draft: &mut EditDraft<'_>, rng: &mut Rng) -> Option<()> {
    draft.edit.language.is_free_form().then_some(())?;
    let mark = if draft.edit.language.name == "json" { "," } else { *rng.pick(&[",", ";"])? };
    let open = |draft_line: &DraftLine| {
        draft_line.is_context_text()
            && draft_line.file.as_ref().is_some_and(|line| {
                !draft.edit.language.is_comment(line)
                    && line.ends_with(|c: char| c.is_ascii_alphanumeric() || ")]}\"'".contains(c))
            })
    };
    let at = *rng.pick(&draft.positions(open))?;
    draft.lines[at].change_in_call(|line| format!("{line}{mark}"));
    Some(())
}

/// The words of a line: `(start, end)` of runs of letters, digits and underscores.
pub(super) fn words(line: &str) -> Vec<(usize, usize)> {
    let mut out = Vec::new();
    let mut start = None;
    for (at, c) in line.char_indices().chain([(line.len(), ' ')]) {
        let part = c.is_alphanumeric() || c == '_';
        match (part, start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                out.push((from, at));
                start = None;
            }
            _ => {}
        }
    }
    out
}

/// Longer names of a line: letters first, at least `least` long.
pub(super) fn names(line: &str, least: usize) -> Vec<(usize, usize)> {
    words(line)
        .into_iter()
        .filter(|&(from, to)| {
            to - from >= least && line[from..].starts_with(|c: char| c.is_ascii_alphabetic())
        })
        .collect()
}

const COMMENT_WORDS: &[&str] = &["always", "current", "given", "proper", "initial", "result"];

/// One word of a context comment remembered wrong.
pub(super) fn comment_misremembered(draft: &mut EditDraft<'_>, rng: &mut Rng) -> Option<()> {
    draft.widen_context(3, 3);
    let comment = |draft_line: &DraftLine| {
        draft_line.is_context_text()
            && draft_line
                .file
                .as_deref()
                .is_some_and(|l| draft.edit.language.is_comment(l) && names(l, 4).len() > 2)
    };
    let at = *rng.pick(&draft.positions(comment))?;
    (draft.nonblank_lines() >= 6 && draft.repeated_share() < 0.5).then_some(())?;
    let line = draft.lines[at].file.clone()?;
    let (from, to) = *rng.pick(&names(&line, 4))?;
    let word = rng.pick(COMMENT_WORDS)?;
    (line[from..to] != **word).then_some(())?;
    draft.lines[at].change_in_call(|line| format!("{}{word}{}", &line[..from], &line[to..]));
    Some(())
}

/// One name of a context line is an older one, in code: the call has not seen this version,
/// and only comments and blank lines may differ unseen.
pub(super) fn context_stale(draft: &mut EditDraft<'_>, rng: &mut Rng) -> Option<()> {
    draft.widen_context(4, 4);
    (draft.nonblank_lines() >= 8 && draft.repeated_share() < 0.4).then_some(())?;
    let changed: String = draft
        .lines
        .iter()
        .filter(|draft_line| draft_line.role != LineRole::Context)
        .flat_map(|draft_line| [draft_line.old.clone(), draft_line.new.clone()])
        .flatten()
        .collect();
    let quiet: Vec<usize> = draft
        .positions(DraftLine::is_context_text)
        .into_iter()
        .filter(|&at| {
            let line = draft.lines[at].file.as_deref().unwrap_or("");
            let words: Vec<usize> = draft.positions(|c| !c.is_blank_context());
            let place = words.iter().position(|&w| w == at).unwrap_or(0);
            let near =
                |w: Option<&usize>| w.is_some_and(|&w| draft.lines[w].role == LineRole::Context);
            place > 0
                && near(words.get(place - 1))
                && near(words.get(place + 1))
                && names(line, 4).len() > 1
                && !has_string(line)
                && !draft.edit.language.is_comment(line)
        })
        .collect();
    let at = *rng.pick(&quiet)?;
    let line = draft.lines[at].file.clone()?;
    let names = names(draft.edit.language.strip_comments(&line), 4);
    let &(from, to) = rng.pick(&names)?;
    let name = &line[from..to];
    let stale = format!("{}{}", rng.pick(&["old", "my", "the", "orig"])?, capitalised(name));
    (!changed.contains(name) && line.matches(name).count() == 1).then_some(())?;
    draft.lines[at].change_in_call(|line| format!("{}{stale}{}", &line[..from], &line[to..]));
    Some(())
}

fn capitalised(name: &str) -> String {
    let mut chars = name.chars();
    chars.next().map(|c| c.to_uppercase().chain(chars).collect()).unwrap_or_default()
}
