//! Repairs of the new lines, each only where it is proven, each reported; what only
//! looks like a mistake is written as given, with a warning. Both line tools share them,
//! on the readings, the lexer and the indentation of the core.
//!
//! | repair | proof |
//! | --- | --- |
//! | line prefixes | every line has one, and they number the lines of this place |
//! | diff markers | the old side is the replaced lines, or every line has a mark and one of them, or its indentation, is a replaced line's |
//! | escapes | the language has no place for them, and the text without them lexes clean |
//! | merged lines | literal `\n` that splits into as many lines as were replaced, with their indentation |
//! | lost indentation | lines copied from the range show it; or the structure of the file |
//! | boundary echo | an exact copy of the surviving neighbour; and the structure of the file |
//!
//! The structure proves by veto: the file was whole (brackets, literals, and indentation
//! where that is syntax), with the lines as sent it is not, and only one way to undo the
//! mistake leaves it whole.

use crate::edit::{EditPlan, Rewrite};
use crate::language::{Kind, Language, Lexed};
use crate::matching::reading::{Style, number, one_side};
use crate::matching::{ESCAPES_WARNING, EscapeReview, indent_of, reindented, review_escapes};
use crate::text::{Snapshot, counted};

use super::{Draft, changes_of, splices};
use crate::hashline::tag;

/// How often a call may ask whether the whole file would hold together.
const MOST_TRIALS: usize = 64;

/// What was done and what the caller should look at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Notes {
    pub(super) rewrites: Vec<Rewrite>,
    pub(super) warnings: Vec<String>,
}

impl Notes {
    fn did(&mut self, rewrite: Rewrite, what: String) {
        if !self.rewrites.contains(&rewrite) {
            self.rewrites.push(rewrite);
        }
        self.warnings.push(what);
    }
}

impl Draft {
    fn old<'a>(&self, file: &'a Snapshot) -> Vec<&'a str> {
        (self.span.start..=self.span.end).filter_map(|number| file.line(number)).collect()
    }
}

/// Repairs the drafts of one call.
pub(super) fn repair(
    drafts: &mut [Draft],
    file: &Snapshot,
    language: Option<&'static Language>,
) -> Notes {
    let mut notes = Notes::default();
    for draft in drafts.iter_mut() {
        carriage_returns(draft, &mut notes);
        prefixes(draft, file, &mut notes);
        diff_markers(draft, file, language, &mut notes);
        escapes(draft, file, language, &mut notes);
        merged_lines(draft, file, language, &mut notes);
    }
    let mut structure = Structure::of(file, language, drafts);
    for at in 0..drafts.len() {
        copied_indentation(drafts, at, file, &mut structure, &mut notes);
        enclosed_body(drafts, at, file, &structure, &mut notes);
    }
    by_structure(drafts, file, &mut structure, &mut notes);
    for at in 0..drafts.len() {
        free_indentation(drafts, at, file, &structure, &mut notes);
        point_out(drafts, at, file, &mut notes);
    }
    notes
}

/// A carriage return at the end of a line is half a line ending; the file has its own.
fn carriage_returns(draft: &mut Draft, notes: &mut Notes) {
    let mut dropped = 0;
    for line in draft.lines.iter_mut().filter(|line| line.ends_with('\r')) {
        line.pop();
        dropped += 1;
    }
    if dropped > 0 {
        notes.did(Rewrite::CarriageReturns, format!("edit {}: dropped the carriage return at the end of {dropped} line(s); the file's own line endings are used", draft.number));
    }
}

/// A line number in front of a line, as a view of the file prints it.
struct Prefix<'a> {
    style: Style,
    line: usize,
    rest: &'a str,
}

impl<'a> Prefix<'a> {
    fn of(line: &'a str) -> Option<Self> {
        let text = line.trim_start();
        let text = text.strip_prefix(">>>").map_or(text, str::trim_start);
        let (style, line, rest) = number(text)?;
        if style == Style::Anchor {
            let id = text.split('#').nth(1)?.split(['|', ':']).next()?;
            let known = tag::Width::of_letters(id.len()).is_some()
                && id.bytes().all(|b| tag::ALPHABET.contains(&b));
            known.then_some(())?;
        }
        Some(Self { style, line, rest })
    }

    /// Whether it is of a form that only our own views print.
    fn is_ours(&self) -> bool {
        matches!(self.style, Style::Angles | Style::Anchor)
    }
}

/// Drops line numbers that were copied with the lines.
fn prefixes(draft: &mut Draft, file: &Snapshot, notes: &mut Notes) {
    let span = draft.span;
    let full = draft.lines.iter().filter(|line| !line.trim().is_empty());
    let parsed: Vec<Option<Prefix<'_>>> = full.map(|line| Prefix::of(line)).collect();
    let marked = parsed.iter().flatten().count();
    if marked == 0 {
        return;
    }
    let own = |number: usize| file.line(number).is_some_and(|line| Prefix::of(line).is_some());
    // The file has such text itself.
    if (span.start.saturating_sub(1)..=span.end.max(span.start)).any(own) {
        return;
    }
    let numbers: Vec<usize> = parsed.iter().flatten().map(|prefix| prefix.line).collect();
    let rising = numbers.windows(2).all(|pair| pair[1] == pair[0] + 1);
    let around = span.start.saturating_sub(1)..=span.end.max(span.start) + 1;
    let here = numbers.first().is_some_and(|first| around.contains(first));
    let same_style = parsed
        .iter()
        .flatten()
        .zip(parsed.iter().flatten().skip(1))
        .all(|(a, b)| a.style == b.style);
    let ours = parsed.iter().flatten().all(Prefix::is_ours);
    // With the number, or with one blank behind it too, a line is the file's own.
    let is_real = |prefix: &Prefix<'_>, padding: &str| {
        let rest = prefix.rest.strip_prefix(padding).unwrap_or(prefix.rest);
        file.line(prefix.line)
            .is_some_and(|line| line.trim_end() == rest.trim_end() && !line.trim().is_empty())
    };
    let real = |padding: &str| parsed.iter().flatten().any(|prefix| is_real(prefix, padding));
    let padding = match (real(""), real(" ")) {
        (false, true) => " ",
        _ => "",
    };
    let all = marked == parsed.len() && same_style;
    let placed = here && rising;
    let named = parsed.iter().flatten().all(|prefix| is_real(prefix, padding));
    let proven = all && (placed && (ours || real(padding)) || named);
    if !proven {
        if ours || all && placed {
            notes.warnings.push(format!(
                "edit {}: {marked} of its lines start like a line number prefix; they were written as given",
                draft.number
            ));
        }
        return;
    }
    let strip = |line: &String| {
        Prefix::of(line).map_or_else(
            || line.clone(),
            |prefix| prefix.rest.strip_prefix(padding).unwrap_or(prefix.rest).to_owned(),
        )
    };
    draft.lines = draft.lines.iter().map(strip).collect();
    notes.did(
        Rewrite::LinePrefixes,
        format!("edit {}: dropped the line prefixes of its lines", draft.number),
    );
}

/// Drops the first column, when the lines are a diff of the replaced ones.
fn diff_markers(
    draft: &mut Draft,
    file: &Snapshot,
    language: Option<&'static Language>,
    notes: &mut Notes,
) {
    let old = draft.old(file);
    let full: Vec<&String> = draft.lines.iter().filter(|line| !line.is_empty()).collect();
    let plus = full.iter().filter(|line| line.starts_with('+')).count();
    if plus == 0 || old.iter().any(|line| line.trim_start().starts_with('+')) {
        return;
    }
    let text = draft.lines.join("\n");
    let side = |own: char, other: char| -> Option<Vec<String>> {
        Some(one_side(&text, own, other)?.split('\n').map(str::to_owned).collect())
    };
    // Context and removed lines, in order, must be the replaced lines, all of them.
    let has_old = full.iter().any(|line| !line.starts_with('+'));
    let hunk = has_old && side('-', '+').is_some_and(|lines| lines == old);
    let rest = |line: &str| line.get(1..).unwrap_or_default().to_owned();
    let all = plus == full.len();
    // Or every line is marked, and one of them is a replaced line but for the mark.
    let echo = |line: &&String| {
        let text = rest(line);
        text.trim().len() >= 4 && old.contains(&text.as_str())
    };
    // Or, in code, the first one has the indentation of the first replaced line behind it.
    let first = old.iter().find(|line| !line.trim().is_empty());
    let deep = language.is_some_and(Language::is_code)
        && first.zip(full.first()).is_some_and(|(old, new)| {
            !indent_of(old).is_empty() && indent_of(&rest(new)) == indent_of(old)
        });
    if hunk || all && !old.is_empty() && (full.iter().any(echo) || deep) {
        draft.lines = match side('+', '-') {
            Some(lines) => lines,
            None => draft.lines.iter().map(|line| rest(line)).collect(),
        };
        notes.did(
            Rewrite::StripDiffMarkers,
            format!("edit {}: dropped the diff markers of its lines", draft.number),
        );
    } else if all {
        notes.warnings.push(format!(
            "edit {}: every line starts with `+`; written as given, since nothing proves it a diff marker",
            draft.number
        ));
    }
}

/// Undoes escapes that the language has no place for.
fn escapes(
    draft: &mut Draft,
    file: &Snapshot,
    language: Option<&'static Language>,
    notes: &mut Notes,
) {
    // Each look costs a pass over the file.
    let is_cheap = draft.number <= MOST_TRIALS;
    if language.is_none() || !is_cheap || !draft.lines.iter().any(|line| line.contains('\\')) {
        return;
    }
    let index = file.lines();
    let place =
        index.start(draft.span.start)..index.start(draft.span.end.max(draft.span.start - 1) + 1);
    let sent = draft.lines.join("\n") + "\n";
    match review_escapes(file, language, &place, &sent) {
        EscapeReview::Fine => {}
        EscapeReview::Suspicious => notes.warnings.push(format!(
            "edit {}: {}",
            draft.number,
            ESCAPES_WARNING.replace("new_str", "it")
        )),
        EscapeReview::Proven(text) => {
            let count = draft.lines.len();
            draft.lines = super::split_lines(&text);
            let what = if draft.lines.len() > count {
                format!("split at literal \\n into {} lines", draft.lines.len())
            } else {
                "undid escapes that stand outside of literals".to_owned()
            };
            let rewrite = if draft.lines.len() > count {
                Rewrite::ExpandMergedLines
            } else {
                Rewrite::UnescapeNew
            };
            notes.did(rewrite, format!("edit {}: {what}", draft.number));
        }
    }
}

/// Splits one line at literal `\n` into as many lines as it replaces.
fn merged_lines(
    draft: &mut Draft,
    file: &Snapshot,
    language: Option<&'static Language>,
    notes: &mut Notes,
) {
    let old = draft.old(file);
    let solid_old = old.iter().filter(|line| !line.trim().is_empty()).count();
    if solid_old < 2 || draft.lines.len() >= old.len() {
        return;
    }
    if let [line] = draft.lines.as_slice() {
        let parts: Vec<&str> = line.split("\\n").collect();
        let same = |k: usize| parts[k].trim_end() == old[k].trim_end();
        let proven = parts.len() == old.len()
            && !old.iter().any(|line| line.contains("\\n"))
            && (0..old.len()).any(|k| same(k) && !old[k].trim().is_empty())
            && (0..old.len()).all(|k| indent_of(parts[k]) == indent_of(old[k]));
        if proven {
            draft.lines = parts.into_iter().map(str::to_owned).collect();
            notes.did(
                Rewrite::ExpandMergedLines,
                format!("edit {}: split at literal \\n into {} lines", draft.number, old.len()),
            );
            return;
        }
    }
    // Whether several statements were meant to share a line is the caller's to say.
    let solid = |text: &str| text.split_whitespace().collect::<String>();
    let pieces: Vec<String> = old.iter().map(|line| solid(line)).collect();
    let holds_two = |line: &String| {
        let joined = solid(line);
        let held = |piece: &&String| piece.len() > 1 && joined.contains(piece.as_str());
        pieces.iter().filter(held).count() > 1
            || language.is_some_and(|language| statements(language, line) > 1)
    };
    if draft.lines.iter().any(holds_two) {
        notes.warnings.push(format!(
            "edit {}: one line now holds what were {} lines; if they should stay apart, send them as separate lines",
            draft.number,
            old.len()
        ));
    }
}

/// How many statements `;` parts a line into, outside of brackets.
fn statements(language: &Language, line: &str) -> usize {
    if !language.is_lexed() {
        return 1;
    }
    let lexed = language.lex(line);
    let (mut depth, mut count, mut begun) = (0_i32, 0, false);
    for (at, c) in line.char_indices().filter(|(_, c)| !c.is_whitespace()) {
        if lexed.kind_at(at) == Kind::Comment {
            continue;
        }
        let is_code = lexed.kind_at(at) == Kind::Code;
        match c {
            '(' | '[' | '{' if is_code => depth += 1,
            ')' | ']' | '}' if is_code => depth -= 1,
            ';' if is_code && depth == 0 => {
                begun = false;
                continue;
            }
            _ => {}
        }
        if !begun {
            count += 1;
            begun = true;
        }
    }
    count
}

/// The whole file under the call, as its language sees it.
struct Structure<'a> {
    file: &'a Snapshot,
    /// `None` where nothing can be proven: an unknown language, or a file that is broken.
    language: Option<&'static Language>,
    lexed: Option<Lexed>,
    left: usize,
}

impl<'a> Structure<'a> {
    fn of(file: &'a Snapshot, language: Option<&'static Language>, drafts: &[Draft]) -> Self {
        let language = language
            .filter(|_| !drafts.is_empty())
            .filter(|language| language.is_lexed() && language.is_whole(file.text()));
        let lexed = language.map(|language| language.lex(file.text()));
        Self { file, language, lexed, left: MOST_TRIALS }
    }

    /// Whether a line begins within a literal or a comment.
    fn begins_inside(&self, line: usize) -> bool {
        let start = self.file.lines().start(line);
        self.lexed.as_ref().is_some_and(|lexed| {
            let token = lexed.tokens.partition_point(|token| token.range.end <= start);
            lexed
                .tokens
                .get(token)
                .is_some_and(|token| token.kind != Kind::Code && token.range.start < start)
        })
    }

    /// Whether the file holds together after these drafts; `None` where that is not known.
    fn holds(&mut self, drafts: &[Draft]) -> Option<bool> {
        let language = self.language?;
        self.left = self.left.checked_sub(1)?;
        let splices = splices(self.file, changes_of(drafts)).ok()?;
        let plan = EditPlan::new(self.file, splices).ok()?;
        Some(language.is_whole(&plan.text_after()))
    }

    /// The same, with other lines for one draft.
    fn holds_with(&mut self, drafts: &[Draft], at: usize, lines: &[String]) -> Option<bool> {
        let mut tried = drafts.to_vec();
        tried[at].lines = lines.to_vec();
        self.holds(&tried)
    }
}

fn is_blank(line: &str) -> bool {
    line.trim().is_empty()
}

/// Gives a block its indentation back, when copied lines show how it was changed.
fn copied_indentation(
    drafts: &mut [Draft],
    at: usize,
    file: &Snapshot,
    structure: &mut Structure<'_>,
    notes: &mut Notes,
) {
    let draft = &drafts[at];
    let old = draft.old(file);
    let full: Vec<&String> = draft.lines.iter().filter(|line| !is_blank(line)).collect();
    let worded = |line: &str| line.chars().any(char::is_alphanumeric);
    let mut pairs: Vec<(String, String)> = Vec::new();
    for line in full.iter().filter(|line| worded(line)) {
        let mut same = old.iter().filter(|old| old.trim() == line.trim());
        if let (Some(old), None) = (same.next(), same.next()) {
            pairs.push((indent_of(line).to_owned(), indent_of(old).to_owned()));
        }
    }
    // If all lines are copies, another indentation is what the edit is about.
    if pairs.is_empty() || pairs.len() == full.len() {
        return;
    }
    let Some(outcomes) = reindented(file, &draft.lines, pairs) else { return };
    let [lines] = outcomes.as_slice() else { return };
    let lost = |line: &&&str| !is_blank(line);
    let lost = old.iter().filter(lost).map(|line| indent_of(line)).min_by_key(|i| i.len());
    let inside = lost.is_some_and(|lost| is_inside(drafts, at, file, lost));
    if !inside || structure.holds_with(drafts, at, lines) == Some(false) {
        return;
    }
    let number = draft.number;
    drafts[at].lines.clone_from(lines);
    notes.did(
        Rewrite::RestoreIndent,
        format!(
            "edit {number}: put its lines at the indentation that the copied ones have in the file"
        ),
    );
}

/// Whether the lines around a draft are at least as deep as `lost`, or open and close it.
fn is_inside(drafts: &[Draft], at: usize, file: &Snapshot, lost: &str) -> bool {
    let span = drafts[at].span;
    let above = survivor(drafts, file, span.start, Way::Up);
    let below = survivor(drafts, file, span.end.max(span.start - 1), Way::Down);
    let opens = |line: &str| line.trim_end().ends_with(['{', '(', '[', ':']);
    let closes = |line: &str| line.trim_start().starts_with(['}', ')', ']']);
    above.is_some_and(|line| indent_of(line).starts_with(lost) || opens(line))
        && below.is_none_or(|line| {
            indent_of(line).starts_with(lost) || closes(line) || indent_of(line).len() < lost.len()
        })
}

/// Drops the block's own first and last line around its new body: exact copies of both
/// neighbours, of which the first opens what the last closes.
fn enclosed_body(
    drafts: &mut [Draft],
    at: usize,
    file: &Snapshot,
    structure: &Structure<'_>,
    notes: &mut Notes,
) {
    let Some(language) = structure.language else { return };
    let (head, tail) = (echo_at_head(drafts, at, file), echo_at_tail(drafts, at, file));
    let draft = &drafts[at];
    let lines = &draft.lines;
    if head == 0 || tail == 0 || head + tail >= lines.len() {
        return;
    }
    let (first, last) = (lines[..head].join("\n"), lines[lines.len() - tail..].join("\n"));
    let opened = language.lex(&first);
    let worded =
        lines[..head].iter().any(|line| line.chars().filter(|c| c.is_alphanumeric()).count() > 3);
    let enclose =
        worded && !opened.open.is_empty() && language.lex(&format!("{first}\n{last}")).is_whole();
    if enclose {
        cut(drafts, at, (head, tail), notes);
    }
}

/// Where the file does not hold together with the call as sent, undoes in each edit that is
/// at fault the one mistake without which it does: indentation that was lost, or a copy of
/// the lines around.
fn by_structure(
    drafts: &mut [Draft],
    file: &Snapshot,
    structure: &mut Structure<'_>,
    notes: &mut Notes,
) {
    if structure.holds(drafts) != Some(false) {
        return;
    }
    let mut mended = drafts.to_vec();
    let mut said = notes.clone();
    for at in 0..drafts.len() {
        if structure.holds(&mended[at..=at]) == Some(false) {
            mend(&mut mended, at, file, structure, &mut said);
        }
    }
    if structure.holds(&mended) == Some(true) {
        drafts.clone_from_slice(&mended);
        *notes = said;
        return;
    }
    notes.warnings.push(
        "the file held together before this call and does not now: look at brackets, quotes and indentation".to_owned(),
    );
}

/// How many lines were taken off at either end, and the lines that are left.
type Mended = ((usize, usize), Vec<String>);

/// Undoes the mistake of one edit, if there is one way to do so.
fn mend(
    drafts: &mut [Draft],
    at: usize,
    file: &Snapshot,
    structure: &mut Structure<'_>,
    notes: &mut Notes,
) {
    let (head, tail) = (echo_at_head(drafts, at, file), echo_at_tail(drafts, at, file));
    let sent = drafts[at].lines.clone();
    let mut cuts = vec![(head, 0), (0, tail), (head, tail)];
    cuts.dedup();
    cuts.retain(|(head, tail)| head + tail > 0 && head + tail <= sent.len());
    let kept = |(head, tail): (usize, usize)| sent[head..sent.len() - tail].to_vec();
    let moved = |cuts: (usize, usize)| {
        let all = depths(&drafts[at], &kept(cuts), drafts, file, structure.language);
        all.into_iter().map(move |lines| (cuts, lines)).collect::<Vec<_>>()
    };
    // From the strictest to the laxest: an exact copy taken off, lines moved, both.
    let tiers: [Vec<Mended>; 3] = [
        cuts.iter().map(|&cuts| (cuts, kept(cuts))).collect(),
        moved((0, 0)),
        cuts.iter().flat_map(|&cuts| moved(cuts)).collect(),
    ];
    let mut found: Vec<Mended> = Vec::new();
    for tier in tiers {
        for (cuts, lines) in tier {
            let is_new = lines != sent && found.iter().all(|(_, other)| *other != lines);
            let alone = Draft { lines: lines.clone(), ..drafts[at].clone() };
            if is_new && structure.holds(&[alone]) == Some(true) {
                found.push((cuts, lines));
            }
        }
        if !found.is_empty() {
            break;
        }
    }
    let [(cuts, lines)] = found.as_slice() else { return };
    let (cuts, lines) = (*cuts, lines.clone());
    if cuts != (0, 0) {
        cut(drafts, at, cuts, notes);
    }
    if drafts[at].lines != lines {
        drafts[at].lines = lines;
        notes.did(
            Rewrite::RestoreIndent,
            format!("edit {}: gave its lines the indentation of the place; as sent the file would not hold together", drafts[at].number),
        );
    }
}

/// The lines as sent, and at each depth that the place suggests: all of them moved, or the
/// first alone.
fn depths(
    draft: &Draft,
    lines: &[String],
    drafts: &[Draft],
    file: &Snapshot,
    language: Option<&'static Language>,
) -> Vec<Vec<String>> {
    let mut out = vec![lines.to_vec()];
    let Some(first) = lines.iter().position(|line| !is_blank(line)) else { return out };
    let own = indent_of(&lines[first]);
    let mut levels: Vec<&str> = Vec::new();
    match draft.old(file).iter().find(|line| !is_blank(line)) {
        Some(old) => levels.push(indent_of(old)),
        None => {
            let above = survivor(drafts, file, draft.span.start, Way::Up);
            let below = survivor(drafts, file, draft.span.end, Way::Down);
            levels.extend(above.into_iter().chain(below).map(indent_of));
        }
    }
    let loose = loose_lines(lines, language);
    for level in levels.into_iter().filter(|level| *level != own) {
        let to = |line: &str| -> Option<String> {
            match (level.strip_suffix(own), own.strip_suffix(level)) {
                (Some(more), _) => Some(format!("{more}{line}")),
                (None, Some(less)) => line.strip_prefix(less).map(str::to_owned),
                (None, None) => None,
            }
        };
        let moved: Option<Vec<String>> = lines
            .iter()
            .enumerate()
            .map(|(k, line)| match is_blank(line) || !loose[k] {
                true => Some(line.clone()),
                false => to(line),
            })
            .collect();
        out.extend(moved);
        let mut only_first = lines.to_vec();
        only_first[first] = format!("{level}{}", &lines[first][own.len()..]);
        out.push(only_first);
    }
    out
}

/// Which lines begin outside of a literal or a comment, and may be moved.
fn loose_lines(lines: &[String], language: Option<&'static Language>) -> Vec<bool> {
    let text = lines.join("\n");
    let lexed = language.map(|language| language.lex(&text));
    let mut start = 0;
    lines
        .iter()
        .map(|line| {
            let at = start;
            start += line.len() + 1;
            lexed.as_ref().is_none_or(|lexed| {
                let token = lexed.tokens.partition_point(|token| token.range.end <= at);
                lexed
                    .tokens
                    .get(token)
                    .is_none_or(|token| token.kind == Kind::Code || token.range.start == at)
            })
        })
        .collect()
}

/// Where white space means nothing, lines that lost all of their indentation get back that
/// of the lines they replace.
fn free_indentation(
    drafts: &mut [Draft],
    at: usize,
    file: &Snapshot,
    structure: &Structure<'_>,
    notes: &mut Notes,
) {
    let Some(language) = structure.language.filter(|l| l.is_free_form() && !l.has_layout()) else {
        return;
    };
    let draft = &drafts[at];
    let old = draft.old(file);
    let solid: Vec<&&str> = old.iter().filter(|line| !is_blank(line)).collect();
    let Some(first_old) = solid.first() else { return };
    let lost = indent_of(first_old).to_owned();
    let full: Vec<&String> = draft.lines.iter().filter(|line| !is_blank(line)).collect();
    let copies = |line: &&String| solid.iter().any(|old| old.trim() == line.trim());
    // What stands at the margin on purpose: a directive, a label, the end of a block.
    let margin = |line: &&String| {
        let text = line.trim_start();
        text.starts_with(['#', '}', ')', ']', '<']) || text.trim_end().ends_with(':')
    };
    let at_margin = full.first().is_some_and(|line| indent_of(line).is_empty());
    if lost.is_empty()
        || !at_margin
        || full.iter().all(copies)
        || full.iter().any(margin)
        || !solid.iter().all(|line| indent_of(line).starts_with(&lost))
        || !loose_lines(&draft.lines, Some(language)).iter().all(|loose| *loose)
        || structure.begins_inside(draft.span.start)
        || !is_inside(drafts, at, file, &lost)
    {
        return;
    }
    let rest_kept =
        full.len() > 1 && full[1..].iter().all(|line| indent_of(line).starts_with(&lost));
    let number = draft.number;
    let lines = &mut drafts[at].lines;
    let first = lines.iter().position(|line| !is_blank(line));
    for (k, line) in lines.iter_mut().enumerate() {
        if !is_blank(line) && (!rest_kept || Some(k) == first) {
            line.insert_str(0, &lost);
        }
    }
    notes.did(
        Rewrite::RestoreIndent,
        format!("edit {number}: put back the indentation of the lines it replaces"),
    );
}

/// Says what looks odd and was written as sent.
fn point_out(drafts: &[Draft], at: usize, file: &Snapshot, notes: &mut Notes) {
    let draft = &drafts[at];
    let number = draft.number;
    let old = draft.old(file);
    let full: Vec<&String> = draft.lines.iter().filter(|line| !is_blank(line)).collect();
    let solid = || old.iter().filter(|line| !is_blank(line));
    let lost = solid().map(|line| indent_of(line)).min_by_key(|indent| indent.len());
    let copies = full.iter().all(|line| solid().any(|old| old.trim() == line.trim()));
    let closes = full.iter().all(|line| line.starts_with(['}', ')', ']']));
    if let Some(lost) = lost.filter(|lost| !lost.is_empty())
        && !full.is_empty()
        && full.iter().all(|line| indent_of(line).is_empty())
        && !copies
        && !closes
    {
        notes.warnings.push(format!(
            "edit {number}: its lines start at column 0, and those they replace were indented by {}; written as given",
            counted(lost.chars().count(), "character")
        ));
    }
    let (head, tail) = (echo_at_head(drafts, at, file), echo_at_tail(drafts, at, file));
    let (before, after) = (draft.span.start.saturating_sub(1), draft.span.end + 1);
    let worded = |lines: &[String]| lines.iter().any(|line| !is_blank(line));
    if tail > 0 && worded(&draft.lines[draft.lines.len() - tail..]) {
        notes.warnings.push(format!(
            "edit {number}: its last line equals line {after}, which stays; both are there now"
        ));
    }
    if head > 0 && worded(&draft.lines[..head]) {
        notes.warnings.push(format!(
            "edit {number}: its first line equals line {before}, which stays; both are there now"
        ));
    }
}

/// Takes copies of the lines around off a draft.
fn cut(drafts: &mut [Draft], at: usize, (head, tail): (usize, usize), notes: &mut Notes) {
    let draft = &mut drafts[at];
    let (number, before, after) = (draft.number, draft.span.start - 1, draft.span.end + 1);
    draft.lines.truncate(draft.lines.len() - tail);
    draft.lines.drain(..head);
    if tail > 0 {
        notes.did(
            Rewrite::BoundaryEcho,
            format!("edit {number}: dropped its last {tail} line(s), a copy of line {after} on, which stays"),
        );
    }
    if head > 0 {
        notes.did(
            Rewrite::BoundaryEcho,
            format!("edit {number}: dropped its first {head} line(s), a copy of the line(s) up to {before}, which stay"),
        );
    }
}

#[derive(Clone, Copy)]
enum Way {
    Up,
    Down,
}

/// The nearest line above or below that no edit of the call replaces and that is not blank.
fn survivor<'a>(drafts: &[Draft], file: &'a Snapshot, from: usize, way: Way) -> Option<&'a str> {
    let solid = |number: usize| file.line(number).filter(|line| !is_blank(line));
    match way {
        Way::Up => (1..from).rev().filter(|n| stays(drafts, *n)).take(50).find_map(solid),
        Way::Down => {
            (from + 1..=file.lines().total()).filter(|n| stays(drafts, *n)).take(50).find_map(solid)
        }
    }
}

fn stays(drafts: &[Draft], number: usize) -> bool {
    !drafts.iter().any(|draft| (draft.span.start..=draft.span.end).contains(&number))
}

/// How many of the last new lines are the surviving lines below.
fn echo_at_tail(drafts: &[Draft], at: usize, file: &Snapshot) -> usize {
    let draft = &drafts[at];
    (1..=most_echoed(draft))
        .rev()
        .find(|&k| {
            let tail = &draft.lines[draft.lines.len() - k..];
            tail.iter().enumerate().all(|(i, line)| {
                let number = draft.span.end + 1 + i;
                stays(drafts, number) && same(file.line(number), line)
            })
        })
        .unwrap_or(0)
}

/// How many of the first new lines are the surviving lines above.
fn echo_at_head(drafts: &[Draft], at: usize, file: &Snapshot) -> usize {
    let draft = &drafts[at];
    (1..=most_echoed(draft).min(draft.span.start - 1))
        .rev()
        .find(|&k| {
            draft.lines[..k].iter().enumerate().all(|(i, line)| {
                let number = draft.span.start - k + i;
                stays(drafts, number) && same(file.line(number), line)
            })
        })
        .unwrap_or(0)
}

/// The longest copy of the lines around that is looked for.
const MOST_ECHOED: usize = 20;

/// An insertion has at least one line of its own.
fn most_echoed(draft: &Draft) -> usize {
    let inserts = draft.span.end < draft.span.start;
    draft.lines.len().saturating_sub(usize::from(inserts)).min(MOST_ECHOED)
}

fn same(old: Option<&str>, new: &str) -> bool {
    old.is_some_and(|old| old.trim_end() == new.trim_end())
}
