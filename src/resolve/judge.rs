//! Judges the text that a model gives for a place: one three-way check, word by word, over the
//! whole place. The base is `old_str`; the sides are `new_str` and the file.
//!
//! A text passes if it has every word that the call adds, and every word that only the file has
//! unless the call rewrote that part, and no other words. The text is then written as it is.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::words::{Word, Words, is_word_char};
use crate::edit::Conflict;
use crate::language::Language;

/// What a text is judged against.
#[derive(Debug, Clone, Copy)]
pub(super) struct Case<'a> {
    /// What the call believed to be at the place.
    pub(super) old: &'a str,
    /// What the call wants there.
    pub(super) new: &'a str,
    /// What is there.
    pub(super) found: &'a str,
    /// The definition around the place, which says whether a name is still in use.
    pub(super) definition: &'a str,
    pub(super) language: Option<&'static Language>,
}

/// The most steps of one check.
const MAX_STEPS: usize = 4_000_000;
/// A changed block of which the call keeps less than this share counts as rewritten.
const MIN_KEPT_SHARE: f64 = 0.6;

/// Checks a text; the error says, to the model, why it is rejected.
pub(super) fn judge(case: &Case<'_>, text: &str) -> Result<(), String> {
    if text.contains('\0') {
        return Err("the text has a NUL character".into());
    }
    // A piece that begins or ends inside a literal does not say which of its words are in one.
    let is_whole = |text: &str| case.language.is_some_and(|language| language.lex(text).closed);
    let are_whole = [case.old, case.new, case.found, text].into_iter().all(is_whole);
    let language = case.language.filter(|_| are_whole);
    let cut = |text| Words::of(text, language);
    let (base, file, call, answer) = (cut(case.old), cut(case.found), cut(case.new), cut(text));
    if same_words(&answer, &file) {
        return Err("the text leaves the lines as they are".into());
    }
    let file_diff = SideDiff::of(&base, &file);
    let call_diff = SideDiff::of(&base, &call);
    check_definition(&base, &file, &file_diff)?;
    let renames = renames(case, &base, &file, &file_diff);
    if let Some(stale) = answer.words.iter().find(|w| w.is_name && renames.contains_key(w.text)) {
        return Err(format!(
            "the file has `{}` in the place of `{}`",
            renames[stale.text], stale.text
        ));
    }
    check_lines(&base, &file, &answer, &file_diff)?;
    check_gaps(&[&base, &file, &call], &answer)?;
    check_edges(case, text)?;
    check_indentation(case, text)?;
    let mut first_error = None;
    for rewritten in [Rewritten::Changes, Rewritten::Islands, Rewritten::Blocks] {
        let sides = Sides::of(&base, &file, &call, &file_diff, &call_diff.with(rewritten));
        match sides.check(&answer, &renames) {
            Ok(()) => return Ok(()),
            Err(why) => {
                first_error.get_or_insert(why);
            }
        }
    }
    Err(first_error.unwrap_or_default())
}

/// Whether two texts have the same words.
fn same_words(a: &Words<'_>, b: &Words<'_>) -> bool {
    a.words.iter().map(|word| word.text).eq(b.words.iter().map(|word| word.text))
}

/// Whether two texts of this language have the same words.
pub(super) fn reads_alike(a: &str, b: &str, language: Option<&Language>) -> bool {
    same_words(&Words::of(a, language), &Words::of(b, language))
}

/// A part of a diff.
#[derive(Debug, Clone)]
struct Op {
    base: Range<usize>,
    side: Range<usize>,
    is_equal: bool,
    /// The changed block of lines that it is in; `None` for lines that are equal.
    block: Option<usize>,
}

/// How one side differs from the base.
#[derive(Debug, Clone)]
struct SideDiff {
    ops: Vec<Op>,
}

/// What counts as rewritten by the call, from the strictest reading to the laxest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rewritten {
    /// The words that it changes.
    Changes,
    /// Also kept words between two changes that are no shorter.
    Islands,
    /// Also whole blocks of lines of which it keeps little.
    Blocks,
}

impl SideDiff {
    /// Compares the lines of a side with those of the base, and then the words of changed lines.
    fn of(base: &Words<'_>, side: &Words<'_>) -> Self {
        let mut ops: Vec<Op> = Vec::new();
        let word_range = |words: &Words<'_>, lines: &Range<usize>| -> Range<usize> {
            let start = words.lines.get(lines.start).map_or(words.words.len(), |line| line.start);
            let end = words.lines[..lines.end].last().map_or(0, |line| line.end);
            start..end.max(start)
        };
        let (old_keys, new_keys) = (base.line_keys(), side.line_keys());
        let algorithm = similar::Algorithm::Patience;
        for (block, op) in
            similar::capture_diff_slices(algorithm, &old_keys, &new_keys).into_iter().enumerate()
        {
            let old = word_range(base, &op.old_range());
            let new = word_range(side, &op.new_range());
            if op.tag() == similar::DiffTag::Equal {
                ops.push(Op { base: old, side: new, is_equal: true, block: None });
                continue;
            }
            let text = |word: &Word<'_>| -> String { word.text.to_owned() };
            let old_words: Vec<String> = base.words[old.clone()].iter().map(text).collect();
            let new_words: Vec<String> = side.words[new.clone()].iter().map(text).collect();
            if old_words.len().saturating_mul(new_words.len()) > MAX_STEPS {
                ops.push(Op { base: old, side: new, is_equal: false, block: Some(block) });
                continue;
            }
            let algorithm = similar::Algorithm::Myers;
            for op in similar::capture_diff_slices(algorithm, &old_words, &new_words) {
                let (from, to) = (op.old_range(), op.new_range());
                ops.push(Op {
                    base: old.start + from.start..old.start + from.end,
                    side: new.start + to.start..new.start + to.end,
                    is_equal: op.tag() == similar::DiffTag::Equal,
                    block: Some(block),
                });
            }
        }
        Self { ops: joined(ops) }
    }

    /// The same diff with more that counts as rewritten.
    fn with(&self, rewritten: Rewritten) -> Self {
        let size = |op: &Op| op.base.len().max(op.side.len());
        let is_changed = |at: Option<usize>| {
            at.and_then(|at| self.ops.get(at)).filter(|op| !op.is_equal).map(size)
        };
        let kept_share = |block: usize| {
            let of_block = || self.ops.iter().filter(|op| op.block == Some(block));
            let kept: usize = of_block().filter(|op| op.is_equal).map(|op| op.base.len()).sum();
            let all: usize = of_block().map(|op| op.base.len()).sum();
            #[expect(clippy::cast_precision_loss, reason = "counts of words")]
            let share = kept as f64 / all.max(1) as f64;
            share
        };
        let mut ops = self.ops.clone();
        for (at, op) in ops.iter_mut().enumerate().filter(|(_, op)| op.is_equal) {
            let Some(block) = op.block else { continue };
            let around = (is_changed(at.checked_sub(1)), is_changed(Some(at + 1)));
            let is_island = matches!(around, (Some(before), Some(after))
                if size(op) <= before && size(op) <= after);
            op.is_equal = match rewritten {
                Rewritten::Changes => true,
                Rewritten::Islands => !is_island,
                Rewritten::Blocks => !is_island && kept_share(block) >= MIN_KEPT_SHARE,
            };
        }
        Self { ops: joined(ops) }
    }

    /// For each word of the base, whether the side keeps it.
    fn kept(&self, base_len: usize) -> Vec<bool> {
        let mut kept = vec![false; base_len];
        for op in self.ops.iter().filter(|op| op.is_equal) {
            kept[op.base.clone()].fill(true);
        }
        kept
    }
}

/// The parts of a diff, with neighbouring changes as one.
fn joined(ops: Vec<Op>) -> Vec<Op> {
    let mut out: Vec<Op> = Vec::new();
    for op in ops {
        match out.last_mut() {
            Some(last) if !last.is_equal && !op.is_equal => {
                last.base.end = op.base.end;
                last.side.end = op.side.end;
            }
            _ => out.push(op),
        }
    }
    out
}

/// The names of the base that the file has replaced and that its definition no longer has, with
/// their replacements.
fn renames<'a>(
    case: &Case<'_>,
    base: &Words<'a>,
    file: &Words<'a>,
    file_diff: &SideDiff,
) -> HashMap<&'a str, &'a str> {
    let in_use: HashSet<&str> =
        case.definition.split(|c: char| !is_word_char(c)).filter(|word| !word.is_empty()).collect();
    let mut renames = HashMap::new();
    for op in file_diff.ops.iter().filter(|op| !op.is_equal && op.base.len() == op.side.len()) {
        for (old_at, new_at) in op.base.clone().zip(op.side.clone()) {
            let (old, new) = (base.words[old_at], file.words[new_at]);
            if old.is_name && new.is_name && old.text != new.text && !in_use.contains(old.text) {
                renames.insert(old.text, new.text);
            }
        }
    }
    renames
}

/// Checks that a definition with another name is the same one otherwise: if more of its words are
/// others, it may be a sibling of one that is gone.
fn check_definition(
    base: &Words<'_>,
    file: &Words<'_>,
    file_diff: &SideDiff,
) -> Result<(), String> {
    const DEFINING: [&str; 12] = [
        "fn",
        "def",
        "func",
        "function",
        "fun",
        "sub",
        "class",
        "struct",
        "interface",
        "trait",
        "enum",
        "module",
    ];
    let mut renamed = None;
    let mut others = HashSet::new();
    for op in file_diff.ops.iter().filter(|op| !op.is_equal && op.base.len() == op.side.len()) {
        for (old_at, new_at) in op.base.clone().zip(op.side.clone()) {
            let pair = (base.words[old_at].text, file.words[new_at].text);
            let before = old_at.checked_sub(1).map_or("", |at| base.words[at].text);
            if DEFINING.contains(&before) && base.words[old_at].is_name {
                renamed = Some(pair);
            } else if pair.0.contains(is_word_char) && pair.0 != pair.1 {
                others.insert(pair);
            }
        }
    }
    match renamed {
        // A longer or shorter form of the name is a rename.
        Some((old, new)) if new.contains(old) || old.contains(new) => Ok(()),
        Some(pair) if others.iter().any(|other| *other != pair) => Err(format!(
            "`{}` has another name and other words than `{}`, and may not be the same",
            pair.1, pair.0
        )),
        _ => Ok(()),
    }
}

/// Checks that of the lines that only the file has, no more are gone than lines of the base lack a
/// counterpart in the file.
fn check_lines(
    base: &Words<'_>,
    file: &Words<'_>,
    answer: &Words<'_>,
    file_diff: &SideDiff,
) -> Result<(), String> {
    let mut has_counterpart = vec![false; base.words.len()];
    let mut is_shared = vec![false; file.words.len()];
    for op in file_diff.ops.iter().filter(|op| op.is_equal) {
        has_counterpart[op.base.clone()].fill(true);
        is_shared[op.side.clone()].fill(true);
    }
    // A line counts as the other's if most of its words are.
    let is_whole = |line: &Range<usize>, shared: &[bool]| {
        2 * shared[line.clone()].iter().filter(|shared| **shared).count() > line.len()
    };
    let lacking = base.lines.iter().filter(|line| !is_whole(line, &has_counterpart)).count();
    let mut answered: HashMap<Vec<&str>, usize> = HashMap::new();
    for key in answer.line_keys() {
        *answered.entry(key).or_default() += 1;
    }
    let mut gone = Vec::new();
    for line in file.lines.iter().filter(|line| !is_whole(line, &is_shared)) {
        match answered.get_mut(&file.line_key(line)) {
            Some(count) if *count > 0 => *count -= 1,
            _ => gone.push(line),
        }
    }
    match gone.get(lacking) {
        // The line may be there in another form; the check of its words decides that.
        Some(line) if !has_most_words(answer, file, line) => Err(format!(
            "the text drops the line `{}`, which the edit does not know",
            file.line_key(line).join(" ")
        )),
        _ => Ok(()),
    }
}

/// Whether some line of the answer has most of the words of a line of the file, marks aside.
fn has_most_words(answer: &Words<'_>, file: &Words<'_>, line: &Range<usize>) -> bool {
    let mut key = file.line_key(line);
    key.retain(|word| word.starts_with(is_word_char));
    answer.lines.iter().any(|other| {
        let other: HashSet<&str> = answer.line_key(other).into_iter().collect();
        2 * key.iter().filter(|word| other.contains(*word)).count() > key.len()
    })
}

/// Checks that neighbouring words are apart as in one of the three texts that have them side by
/// side. Other neighbours may be apart by anything that is between some words there.
fn check_gaps(sides: &[&Words<'_>], answer: &Words<'_>) -> Result<(), String> {
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

/// Checks the white space at both ends of the text and of its lines, which no word has: it must be as
/// in the file or in the call.
fn check_edges(case: &Case<'_>, text: &str) -> Result<(), String> {
    let sources = [case.found, case.definition, case.new, case.old];
    let blank_lines = |text: &str| {
        let is_blank = |line: &&str| line.trim().is_empty();
        (text.lines().take_while(is_blank).count(), text.lines().rev().take_while(is_blank).count())
    };
    let (above, below) = blank_lines(text);
    let known: Vec<(usize, usize)> = [case.found, case.new].map(blank_lines).into();
    let is_blank = text.trim().is_empty();
    if !(is_blank || known.iter().any(|k| k.0 >= above) && known.iter().any(|k| k.1 >= below)) {
        return Err(
            "the text has a blank line at its start or end, unlike the file and the edit".into()
        );
    }
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
fn check_indentation(case: &Case<'_>, text: &str) -> Result<(), String> {
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

/// Whether the call changes the indentation of a line that it keeps.
fn reindents(case: &Case<'_>) -> bool {
    let old: HashMap<&str, &str> = case.old.lines().map(|line| (line.trim(), line)).collect();
    case.new.lines().any(|line| {
        !line.trim().is_empty() && old.get(line.trim()).is_some_and(|kept| *kept != line)
    })
}

/// The text as it is written: with the line endings of the place, and with the file's bytes for each
/// line that is the file's but for white space in code. A call that moves kept lines sideways
/// keeps the answer's.
pub(super) fn as_written(case: &Case<'_>, text: &str, ending: &str) -> String {
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
pub(super) fn conflicts(case: &Case<'_>, text: &str, first: usize) -> Vec<Conflict> {
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
            let own = match op.tag() == similar::DiffTag::Equal {
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

/// Whether an answer must have a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Status {
    /// Both sides keep this word of the base.
    Common(usize),
    /// One side added it before this word of the base.
    Added(usize),
    /// One side added it before this word of the base, and the other side rewrote that part, so
    /// that it may be dropped.
    Optional(usize),
    /// The other side removed it.
    Removed,
}

/// The words of both sides, in order, and whether an answer must have them.
struct Sides<'a> {
    file: Vec<(Word<'a>, Status)>,
    call: Vec<(Word<'a>, Status)>,
}

/// The side that the last word of an answer came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Last {
    Both,
    File,
    Call,
}

impl<'a> Sides<'a> {
    fn of(
        base: &Words<'a>,
        file: &Words<'a>,
        call: &Words<'a>,
        file_diff: &SideDiff,
        call_diff: &SideDiff,
    ) -> Self {
        let len = base.words.len();
        let (kept_by_file, kept_by_call) = (file_diff.kept(len), call_diff.kept(len));
        // Whether the call kept these words of the base; if there are none, those on both sides.
        let is_untouched = |range: &Range<usize>| {
            let beside = [range.start.checked_sub(1), Some(range.end).filter(|at| *at < len)];
            kept_by_call[range.clone()].iter().all(|kept| *kept)
                && (!range.is_empty() || beside.into_iter().flatten().all(|at| kept_by_call[at]))
        };
        let side = |words: &Words<'a>,
                    diff: &SideDiff,
                    kept_by_other: &[bool],
                    is_required: &dyn Fn(&Range<usize>) -> bool| {
            let mut out = Vec::new();
            for op in &diff.ops {
                let required = is_required(&op.base);
                for (offset, at) in op.side.clone().enumerate() {
                    let status = match op.is_equal {
                        true if kept_by_other[op.base.start + offset] => {
                            Status::Common(op.base.start + offset)
                        }
                        true => Status::Removed,
                        false if required => Status::Added(op.base.start),
                        false => Status::Optional(op.base.start),
                    };
                    out.push((words.words[at], status));
                }
            }
            out
        };
        let mut sides = Self {
            file: side(file, file_diff, &kept_by_call, &is_untouched),
            call: side(call, call_diff, &kept_by_file, &|_| true),
        };
        // What both sides made of the same part is there once.
        for of_file in file_diff.ops.iter().filter(|op| !op.is_equal && !op.side.is_empty()) {
            let texts = |words: &Words<'a>, op: &Op| -> Vec<&'a str> {
                words.words[op.side.clone()].iter().map(|word| word.text).collect()
            };
            let same = call_diff.ops.iter().find(|of_call| {
                !of_call.is_equal
                    && of_call.base == of_file.base
                    && texts(call, of_call) == texts(file, of_file)
            });
            let Some(of_call) = same else { continue };
            for (offset, (f, c)) in of_file.side.clone().zip(of_call.side.clone()).enumerate() {
                // Numbers that no word of the base has.
                let common = Status::Common(len + 1 + of_file.side.start + offset);
                (sides.file[f].1, sides.call[c].1) = (common, common);
            }
        }
        sides
    }

    /// Checks that an answer has the common words once, the words of each side in their order, and
    /// no run of added words that the other side splits, other than at a comma or semicolon.
    fn check(&self, answer: &Words<'a>, renames: &HashMap<&str, &str>) -> Result<(), String> {
        let mut states = HashSet::from([(0_usize, 0_usize, Last::Both)]);
        let mut steps = 0;
        for (at, word) in answer.words.iter().enumerate() {
            let splits_list = |word: &str| word == "," || word == ";";
            let may_split = splits_list(word.text)
                || at.checked_sub(1).is_some_and(|at| splits_list(answer.words[at].text));
            self.skip_to(&mut states);
            steps += states.len() * 4;
            if steps > MAX_STEPS {
                return Err("the place is too long to be checked".into());
            }
            let mut next = HashSet::new();
            for &(f, c, last) in &states {
                let (in_file, in_call) = (self.file.get(f), self.call.get(c));
                let of_file = in_file.filter(|(own, _)| own.text == word.text);
                let of_call = in_call.filter(|(own, _)| matches(own, word, renames));
                let is_added = |side: Option<&(Word<'_>, Status)>| {
                    side.is_some_and(|(_, s)| matches!(s, Status::Added(_) | Status::Optional(_)))
                };
                if let (Some((_, Status::Common(a))), Some((_, Status::Common(b)))) =
                    (of_file, of_call)
                    && a == b
                {
                    next.insert((f + 1, c + 1, Last::Both));
                }
                let file_continues = continues_run(&self.file, f) && last == Last::Call;
                if is_added(of_file) && (!file_continues || may_split) {
                    next.insert((f + 1, c, Last::File));
                }
                let call_continues = continues_run(&self.call, c) && last == Last::File;
                if is_added(of_call) && (!call_continues || may_split) {
                    next.insert((f, c + 1, Last::Call));
                }
            }
            if next.is_empty() {
                return Err(self.reason(answer, Some(word)));
            }
            states = next;
        }
        self.skip_to(&mut states);
        let is_complete =
            states.iter().any(|&(f, c, _)| f == self.file.len() && c == self.call.len());
        if is_complete { Ok(()) } else { Err(self.reason(answer, None)) }
    }

    /// Adds the states in which words that an answer need not have are passed over.
    fn skip_to(&self, states: &mut HashSet<(usize, usize, Last)>) {
        let mut open: Vec<_> = states.iter().copied().collect();
        while let Some((f, c, last)) = open.pop() {
            let mut skipped = Vec::new();
            if let Some((_, Status::Optional(_) | Status::Removed)) = self.file.get(f) {
                skipped.push((f + 1, c, last));
            }
            if let Some((_, Status::Removed)) = self.call.get(c) {
                skipped.push((f, c + 1, last));
            }
            open.extend(skipped.into_iter().filter(|state| states.insert(*state)));
        }
    }

    /// Why an answer is no merge, in words for the model.
    fn reason(&self, answer: &Words<'_>, at: Option<&Word<'_>>) -> String {
        let mut counts: HashMap<&str, isize> = HashMap::new();
        for word in &answer.words {
            *counts.entry(word.text).or_default() += 1;
        }
        let required = |side: &[(Word<'a>, Status)]| -> Option<&'a str> {
            let mut left = counts.clone();
            side.iter()
                .filter(|(_, status)| matches!(status, Status::Common(_) | Status::Added(_)))
                .find_map(|(word, _)| {
                    let count = left.entry(word.text).or_default();
                    *count -= 1;
                    (*count < 0).then_some(word.text)
                })
        };
        if let Some(word) = required(&self.call) {
            return format!("the text lacks `{word}` of the edit");
        }
        if let Some(word) = required(&self.file) {
            return format!("the text lacks `{word}`, which the file has and the edit keeps");
        }
        let known = |text: &str| {
            self.file
                .iter()
                .chain(&self.call)
                .any(|(word, status)| word.text == text && !matches!(status, Status::Removed))
        };
        match answer.words.iter().find(|word| !known(word.text)) {
            Some(word) => {
                format!(
                    "line {} of the text has `{}`, which neither the file nor the edit has there",
                    word.line + 1,
                    word.text
                )
            }
            None => match at {
                Some(word) => {
                    format!("`{}` in line {} of the text is out of place", word.text, word.line + 1)
                }
                None => "the text ends too early".into(),
            },
        }
    }
}

/// Whether a word of the answer is that word of the call, perhaps with the file's names.
fn matches(own: &Word<'_>, answered: &Word<'_>, renames: &HashMap<&str, &str>) -> bool {
    if own.text == answered.text {
        return true;
    }
    if renames.is_empty() {
        return false;
    }
    // In a literal, a name is only a part of the word.
    let mut renamed = String::new();
    let mut rest = own.text;
    while let Some(first) = rest.chars().next() {
        let is_word = is_word_char(first);
        let len = rest.find(|c| is_word_char(c) != is_word).unwrap_or(rest.len());
        let part = &rest[..len];
        renamed.push_str(renames.get(part).copied().unwrap_or(part));
        rest = &rest[len..];
    }
    renamed == answered.text
}

/// Whether the word at `at` continues the run of added words that the word before it is in.
fn continues_run(side: &[(Word<'_>, Status)], at: usize) -> bool {
    let run = |at: usize| match side.get(at).map(|(_, status)| status) {
        Some(Status::Added(at) | Status::Optional(at)) => Some(*at),
        _ => None,
    };
    run(at).is_some() && at.checked_sub(1).and_then(run) == run(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A call at a place of a file, in some language.
    #[derive(Clone, Copy)]
    struct Call {
        language: &'static str,
        old: &'static str,
        new: &'static str,
        found: &'static str,
    }

    impl Call {
        fn judge(self, text: &str) -> Result<(), String> {
            let case = Case {
                old: self.old,
                new: self.new,
                found: self.found,
                definition: self.found,
                language: Language::from_name(self.language),
            };
            judge(&case, text)
        }

        fn accepts(self, texts: &[&str]) {
            for text in texts {
                assert_eq!(self.judge(text), Ok(()), "{}: {text}", self.language);
            }
        }

        /// Each text is rejected, and the reason has these words.
        fn rejects(self, texts: &[(&str, &str)]) {
            for (text, why) in texts {
                let error = self.judge(text).expect_err(text);
                assert!(error.contains(why), "{}: {text}: {error}", self.language);
            }
        }
    }

    #[test]
    fn a_text_has_what_both_sides_added() {
        let rust = Call {
            language: "rust",
            old: "pub fn total(items: &[Item]) -> f64 {",
            new: "pub fn total(items: &[Item], cut: f64) -> f64 {",
            found: "pub fn price(items: &[Item], tax: f64) -> f64 {",
        };
        rust.accepts(&["pub fn price(items: &[Item], tax: f64, cut: f64) -> f64 {"]);
        rust.rejects(&[
            ("pub fn price(items: &[Item], cut: f64) -> f64 {", "lacks `tax`"),
            ("pub fn price(items: &[Item], tax: f64, evil: f64) -> f64 {", "lacks `cut`"),
            ("pub fn price(items: &[Item], tax: f64, cut: f64, evil: f64) -> f64 {", "has `evil`"),
            (
                "pub fn total(items: &[Item], tax: f64, cut: f64) -> f64 {",
                "`price` in the place of",
            ),
            ("pub fn price(tax: f64, items: &[Item], cut: f64) -> f64 {", ""),
            ("pub fn price(items: &[Item], tax: f64) -> f64 {", "leaves the lines as they are"),
            ("", ""),
        ]);
        let python = Call {
            language: "python",
            old: "def load(path):",
            new: "def load(path, strict=False):",
            found: "def read(path, encoding=None):",
        };
        python.accepts(&["def read(path, encoding=None, strict=False):"]);
        python.rejects(&[
            ("def load(path, encoding=None, strict=False):", "`read` in the place of"),
            ("def read(path, strict=False):", "lacks"),
            ("def read(path, encoding=None, strict=True):", "lacks `False`"),
        ]);
    }

    #[test]
    fn a_stale_name_is_replaced_in_new_lines_too() {
        let go = Call {
            language: "go",
            old: "sum := add(xs)\nreturn sum",
            new: "sum := add(xs)\nlog.Println(sum)\nreturn sum",
            found: "total := add(xs)\nreturn total",
        };
        go.accepts(&["total := add(xs)\nlog.Println(total)\nreturn total"]);
        go.rejects(&[
            ("total := add(xs)\nlog.Println(sum)\nreturn total", "`total` in the place of `sum`"),
            ("sum := add(xs)\nlog.Println(sum)\nreturn sum", "`total` in the place of `sum`"),
            ("total := add(xs)\nreturn total", "leaves the lines"),
        ]);
        let typescript = Call {
            language: "typescript",
            old: "const usr = get(id);\nshow(`${usr.name}`);",
            new: "const usr = get(id);\ncheck(usr);\nshow(`${usr.name}!`);",
            found: "const user = get(id);\nshow(`${user.name}`);",
        };
        typescript.accepts(&["const user = get(id);\ncheck(user);\nshow(`${user.name}!`);"]);
        typescript.rejects(&[(
            "const user = get(id);\ncheck(usr);\nshow(`${user.name}!`);",
            "`user` in the place of `usr`",
        )]);
        // A name that the definition still has is not stale.
        let case = Case {
            old: "a = f(x)",
            new: "a = f(x)\ng(x)",
            found: "a = f(y)",
            definition: "def h(x, y):\n    a = f(y)\n",
            language: Language::from_name("python"),
        };
        assert_eq!(judge(&case, "a = f(y)\ng(x)"), Ok(()));
    }

    #[test]
    fn values_that_the_call_replaces_are_one_word() {
        let toml = Call {
            language: "toml",
            old: "version = \"1.4.0\"",
            new: "version = \"1.5.0\"",
            found: "version = \"1.4.2\"",
        };
        toml.accepts(&["version = \"1.5.0\""]);
        toml.rejects(&[
            ("version = \"1.5.2\"", "lacks `1.5.0`"),
            ("version = \"1.4.0\"", ""),
            ("version = \"1.4.2\"", "leaves the lines"),
        ]);
        let javascript = Call {
            language: "javascript",
            old: "const released = '2026-01-05';\nconst url = '/api/v1/users';",
            new: "const released = '2026-02-01';\nconst url = '/api/v2/users';",
            found: "const released = '2026-01-09';\nconst url = '/api/v1/people';",
        };
        javascript.accepts(&["const released = '2026-02-01';\nconst url = '/api/v2/users';"]);
        javascript.rejects(&[
            ("const released = '2026-02-09';\nconst url = '/api/v2/users';", "lacks"),
            ("const released = '2026-02-01';\nconst url = '/api/v2/people';", "lacks"),
        ]);
    }

    #[test]
    fn white_space_in_a_literal_is_a_word() {
        let shell_like = Call {
            language: "python",
            old: "run('x -a')\nmatch(r'/a  b/')",
            new: "run('x -a', 1)\nmatch(r'/a  b/')",
            found: "run('y -a')\nmatch(r'/a  b/')",
        };
        shell_like.accepts(&["run('y -a', 1)\nmatch(r'/a  b/')"]);
        shell_like.rejects(&[
            ("run('y - a', 1)\nmatch(r'/a  b/')", ""),
            ("run('y -a', 1)\nmatch(r'/a b/')", ""),
        ]);
        let go = Call {
            language: "go",
            old: "f(\"a  b\", 1)",
            new: "f(\"a  b\", 2)",
            found: "g(\"a  b\", 1)",
        };
        go.accepts(&["g(\"a  b\", 2)"]);
        go.rejects(&[("g(\"a b\", 2)", "")]);
    }

    #[test]
    fn a_sibling_of_what_is_gone_is_not_the_same() {
        let rust = Call {
            language: "rust",
            old: "fn read_limit() -> u32 {\n    get(\"read\")\n}",
            new: "fn read_limit() -> u32 {\n    get(\"read\").min(9)\n}",
            found: "fn write_limit() -> u32 {\n    get(\"write\")\n}",
        };
        let text = "fn write_limit() -> u32 {\n    get(\"write\").min(9)\n}";
        rust.rejects(&[(text, "may not be the same")]);
        let renamed = Call { found: "fn load_limit() -> u32 {\n    get(\"read\")\n}", ..rust };
        renamed.accepts(&["fn load_limit() -> u32 {\n    get(\"read\").min(9)\n}"]);
        let python = Call {
            language: "python",
            old: "def start(self):\n    self.log('begin')\n    self.run()",
            new: "def start(self):\n    self.log('begin')\n    self.run(1)",
            found: "def stop(self):\n    self.log('end')\n    self.run()",
        };
        let text = "def stop(self):\n    self.log('end')\n    self.run(1)";
        python.rejects(&[(text, "may not be the same")]);
    }

    #[test]
    fn a_piece_that_begins_in_a_literal_is_compared_by_words() {
        let call = Call {
            language: "typescript",
            old: "  );\n\n  expect(rows[0].name).toBe('job');\n",
            new: "  );\n\n  expect(rows[0]!.name).toBe('job');\n",
            found: "  `);\n\n  expect(rows[0].name).toBe('job');\n",
        };
        call.accepts(&["  `);\n\n  expect(rows[0]!.name).toBe('job');\n"]);
        call.rejects(&[("  );\n\n  expect(rows[0]!.name).toBe('job');\n", "lacks ``")]);
    }

    #[test]
    fn lines_of_the_file_do_not_go() {
        let go = Call {
            language: "go",
            old: "a := open()\nb := read(a)\nclose(a)",
            new: "a := open()\nb := readAll(a)\nclose(a)",
            found: "a := open()\ndefer unlock()\nb := read(a)\ncheck(b)\nclose(a)",
        };
        go.accepts(&["a := open()\ndefer unlock()\nb := readAll(a)\ncheck(b)\nclose(a)"]);
        go.rejects(&[
            ("a := open()\nb := readAll(a)\ncheck(b)\nclose(a)", "drops the line `defer unlock"),
            ("a := open()\ndefer unlock()\nb := readAll(a)\nclose(a)", "drops the line `check"),
        ]);
        // A deleted function takes no line along that the call has not seen.
        let ruby = Call {
            language: "ruby",
            old: "def old(a)\n  b(a)\nend",
            new: "",
            found: "def old(a)\n  audit(a)\n  b(a)\nend",
        };
        ruby.rejects(&[("", "drops the line `audit"), ("def old(a)\nend", "")]);
        let deleted = Call {
            language: "rust",
            old: "fn gone() {\n    work(1);\n}",
            new: "",
            found: "fn gone() {\n    work(2);\n}",
        };
        deleted.accepts(&[""]);
        deleted.rejects(&[("fn gone() {}", "")]);
    }

    #[test]
    fn what_the_call_says_outside_of_the_conflict_counts() {
        let rust = Call {
            language: "rust",
            old: "let sum = a + b;\nreturn sum;",
            new: "let sum = a + b + c;\nreturn sum;",
            found: "let total = a + b;\nreturn total;",
        };
        rust.accepts(&["let total = a + b + c;\nreturn total;"]);
        rust.rejects(&[
            ("let total = a + b + c;\nreturn sum;", "`total` in the place of `sum`"),
            ("let total = a + b + c;", ""),
        ]);
    }

    #[test]
    fn a_revert_or_another_version_is_rejected() {
        for (language, old, new, found) in [
            ("javascript", "timeout: 3000,", "timeout: 8000,", "timeout: 4500,"),
            ("yaml", "replicas: 3", "replicas: 8", "replicas: 5"),
        ] {
            let call = Call { language, old, new, found };
            call.accepts(&[new]);
            call.rejects(&[(old, ""), (found, "leaves the lines"), ("timeout: 9000, evil: 1", "")]);
        }
    }

    #[test]
    fn words_stay_on_their_lines() {
        let c = Call {
            language: "c",
            old: "int f(int a);",
            new: "int f(int a, int b);",
            found: "long f(int a);",
        };
        c.accepts(&["long f(int a, int b);"]);
        c.rejects(&[
            ("long\nf(int a,\nint b);", "a line break between"),
            ("longf(int a, int b);", ""),
            ("long f(int a, int b) ;", "other blanks between"),
            ("long f(int a,  int b);", "other blanks between"),
            ("\tlong f(int a, int b);", "indentation of its own"),
            ("long f(int a, int b); ", "ends with blanks"),
            ("\nlong f(int a, int b);", "a blank line at its start"),
        ]);
        // A text that copies what is around the place has too many words.
        let twice = "long f(int a, int b);\nlong f(int a, int b);";
        c.rejects(&[(twice, ""), ("12|long f(int a, int b);", "")]);
    }

    #[test]
    fn where_indentation_is_syntax_it_is_kept() {
        let python = Call {
            language: "python",
            old: "if a:\n    f(1)\nreturn b",
            new: "if a:\n    f(1)\n    g()\nreturn b",
            found: "if a:\n    f(2)\nreturn b",
        };
        python.accepts(&["if a:\n    f(2)\n    g()\nreturn b"]);
        python.rejects(&[
            ("if a:\n    f(2)\ng()\nreturn b", "indented"),
            ("if a:\n    f(2)\n    g()\n    return b", "indented"),
        ]);
        let yaml = Call {
            language: "yaml",
            old: "a:\n  b: 1\nc: 2",
            new: "a:\n  b: 1\n  d: 3\nc: 2",
            found: "a:\n  b: 7\nc: 2",
        };
        yaml.accepts(&["a:\n  b: 7\n  d: 3\nc: 2"]);
        yaml.rejects(&[("a:\n  b: 7\nd: 3\nc: 2", "indented")]);
    }

    #[test]
    fn kept_lines_are_written_with_the_bytes_of_the_file() {
        let case = |old, new, found| Case {
            old,
            new,
            found,
            definition: found,
            language: Language::from_name("go"),
        };
        let kept = case("a()\nb()\n", "a()\nc()\nb()\n", "\ta( )\n\tx()\n\tb()\n");
        assert_eq!(
            as_written(&kept, "a( )\n\tx()\n\tc()\n b()\n", "\n"),
            "\ta( )\n\tx()\n\tc()\n\tb()\n"
        );
        // Where the call moves lines sideways, the answer's depth counts.
        let moved = case("a()\n", "if x {\n\ta()\n}\n", "a()\n");
        assert_eq!(as_written(&moved, "if x {\n\ta()\n}\n", "\n"), "if x {\n\ta()\n}\n");
        let crlf = case("a(1)\nb()", "a(2)\nb()", "a(3)\r\nb()");
        assert_eq!(as_written(&crlf, "a(2)\nb()", "\r\n"), "a(2)\r\nb()");
        assert_eq!(as_written(&crlf, "a(2)\r\nnew()\r\nb()", "\r\n"), "a(2)\r\nnew()\r\nb()");
        let mixed = case("a(1)\nb()\nc()", "a(2)\nb()\nc()", "a(3)\r\nb()\nc()");
        assert_eq!(as_written(&mixed, "a(2)\nb()\nc()", "\r\n"), "a(2)\r\nb()\nc()");
    }

    #[test]
    fn differing_lines_are_reported_with_what_is_there_now() {
        let call = Call {
            language: "javascript",
            old: "a();\ntimeout: 3000,\nb();",
            new: "a();\ntimeout: 8000,\nb();",
            found: "a();\ntimeout: 4500,\nb();",
        };
        let case = Case {
            old: call.old,
            new: call.new,
            found: call.found,
            definition: call.found,
            language: Language::from_name("javascript"),
        };
        let conflicts = conflicts(&case, call.new, 40);
        assert_eq!(conflicts.len(), 1);
        let only = &conflicts[0];
        assert_eq!((only.start_line, only.end_line), (41, 41));
        assert_eq!(
            (only.believed.as_str(), only.found.as_str(), only.written.as_deref()),
            ("timeout: 3000,", "timeout: 4500,", Some("timeout: 8000,"))
        );
    }
}
