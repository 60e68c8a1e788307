//! The checks on an adjusted `new_str`. The model may drop what the file does not
//! have, and put in what the file has in its place. It may not drop or reorder
//! anything else that the caller wrote, bring in anything else, or take the edit back.

use std::collections::{HashMap, HashSet};

use super::tokens::{Token, is_word, tokens};

/// Cells of the explanation table.
const MOST_CELLS: usize = 64_000_000;
/// Tokens at both ends that are searched although they are the same.
const MARGIN: usize = 40;

/// What an answer is checked against.
#[derive(Debug, Clone, Copy)]
pub(super) struct Base<'a> {
    /// The caller's `old_str`.
    pub(super) old: &'a str,
    /// The caller's `new_str`.
    pub(super) new: &'a str,
    /// The file's text that `old_str` was corrected to.
    pub(super) region: &'a str,
    /// What the three-way merge makes of it, where it is clean.
    pub(super) merged: Option<&'a str>,
}

/// An answer that passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    /// It says what the merge says; the merge's bytes are used.
    Merge(String),
    /// It stands on its own.
    Own(String),
}

type Counts<'a> = HashMap<&'a str, usize>;

pub(super) fn check(base: &Base<'_>, answer: &str) -> Result<Answer, String> {
    if answer.contains('\0') {
        return Err("the answer holds a NUL character".into());
    }
    let most = 2 * base.new.len() + base.region.len() + 256;
    if answer.len() > most {
        return Err(format!("the answer is {} bytes long, more than {most}", answer.len()));
    }
    let answer = with_outer_blanks(base, &with_endings_of(base.region, answer));
    let (answered, _) = tokens(&answer);
    if let Some(merged) = base.merged {
        let (by_merge, _) = tokens(merged);
        let (as_given, _) = tokens(base.new);
        if same(&answered, &by_merge) || same(&answered, &as_given) {
            return Ok(Answer::Merge(merged.to_owned()));
        }
    }
    let (old, _) = tokens(base.old);
    let (new, _) = tokens(base.new);
    let (region, _) = tokens(base.region);
    if !same(&new, &old) && (same(&answered, &region) || same(&answered, &old)) {
        return Err("the answer takes the edit back".into());
    }
    let known: HashSet<&str> =
        old.iter().chain(&new).chain(&region).map(|token| token.text).collect();
    if let Some(unknown) = answered.iter().find(|token| !known.contains(token.text)) {
        let shown: String = unknown.text.chars().take(40).collect();
        return Err(format!("`{shown}` is neither in the call nor in the file's text"));
    }
    explained(&old, &new, &region, &answered)?;
    gaps_known(&[base.old, base.new, base.region], &answered)?;
    indents_consistent(base, &answer)?;
    Ok(Answer::Own(answer))
}

fn same(a: &[Token<'_>], b: &[Token<'_>]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.text == b.text)
}

/// The blanks around a text are no model's business: they are the file's where the
/// edit keeps them, and `new_str`'s where it changes them.
fn with_outer_blanks(base: &Base<'_>, answer: &str) -> String {
    fn outer(text: &str) -> (&str, &str) {
        let body = text.trim_end();
        (&body[..body.len() - body.trim_start().len()], &text[body.len()..])
    }
    let (old, new, file) = (outer(base.old), outer(base.new), outer(base.region));
    let head = if old.0 == new.0 { file.0 } else { new.0 };
    let tail = if old.1 == new.1 { file.1 } else { new.1 };
    if answer.trim().is_empty() {
        // Only an edit that deletes everything is answered by nothing.
        return if base.new.trim().is_empty() { base.new.to_owned() } else { String::new() };
    }
    format!("{head}{}{tail}", answer.trim())
}

/// A model writes line feeds; the file may have CRLF.
fn with_endings_of(region: &str, answer: &str) -> String {
    let feeds = region.matches('\n').count();
    if feeds > 0 && feeds == region.matches("\r\n").count() && !answer.contains('\r') {
        answer.replace('\n', "\r\n")
    } else {
        answer.to_owned()
    }
}

fn counts<'a>(tokens: &[Token<'a>]) -> Counts<'a> {
    let mut counts = Counts::new();
    for token in tokens {
        *counts.entry(token.text).or_default() += 1;
    }
    counts
}

/// The answer must read as a merge: each of its tokens comes from `new_str` and the
/// file together, from `new_str` alone where the edit adds it, or from the file alone
/// where the caller did not know it; and what it leaves out of either is what the file
/// does not have, or what the edit takes away.
fn explained(
    old: &[Token<'_>],
    new: &[Token<'_>],
    region: &[Token<'_>],
    answer: &[Token<'_>],
) -> Result<(), String> {
    let (in_old, in_new, in_region) = (counts(old), counts(new), counts(region));
    counted(&in_old, &in_new, &in_region, &counts(answer))?;
    let (by_edit, by_file) = (Diff::of(old, new), Diff::of(old, region));
    let exchanges = exchanges(old, region);
    // The caller's tokens that the file does not have, and the file's that the edit takes away.
    let gone = |diff: &Diff, other: &Diff| -> Vec<bool> {
        diff.from.iter().map(|from| from.is_some_and(|at| !other.kept[at])).collect()
    };
    let (stale, removed) = (gone(&by_edit, &by_file), gone(&by_file, &by_edit));
    // What all three begin and end with needs no search, but for a margin: the same
    // tokens may stand for others there.
    let same = |k: &usize| {
        let texts = [new.get(*k), region.get(*k), answer.get(*k)].map(|t| t.map(|t| t.text));
        texts[0].is_some() && texts[0] == texts[1] && texts[1] == texts[2]
    };
    let head = (0..).take_while(same).count().saturating_sub(MARGIN);
    let (new, region, answer) = (&new[head..], &region[head..], &answer[head..]);
    let merge = Merge {
        stale: &stale[head..],
        removed: &removed[head..],
        added: &by_edit.from[head..],
        fresh: &by_file.from[head..],
        exchanges: &exchanges,
    };
    let from_end = |tokens: &[Token<'_>], k: usize| {
        tokens.len().checked_sub(k + 1).map(|at| tokens[at].text.to_owned())
    };
    let same = |k: &usize| {
        let texts = [from_end(new, *k), from_end(region, *k), from_end(answer, *k)];
        texts[0].is_some() && texts[0] == texts[1] && texts[1] == texts[2]
    };
    let tail = (0..).take_while(same).count().saturating_sub(MARGIN);
    let cut = |tokens: &'_ [Token<'_>]| tokens.len() - tail;
    let (new, region, answer) = (&new[..cut(new)], &region[..cut(region)], &answer[..cut(answer)]);
    let cells = (new.len() + 1).saturating_mul(region.len() + 1).saturating_mul(answer.len() + 1);
    if cells > MOST_CELLS {
        return Err("the answer is too long to be checked".into());
    }
    if merge.reads(new, region, answer) {
        Ok(())
    } else {
        Err("the answer drops, moves or adds words that the edit did not".into())
    }
}

/// Words of the call and the words that the file has in their place.
fn exchanges<'a>(old: &[Token<'a>], region: &[Token<'a>]) -> HashSet<(&'a str, &'a str)> {
    let texts = |tokens: &[Token<'a>]| tokens.iter().map(|t| t.text).collect::<Vec<&str>>();
    let (old, region) = (texts(old), texts(region));
    let mut out = HashSet::new();
    for op in similar::capture_diff_slices(similar::Algorithm::Myers, &old, &region) {
        if op.tag() == similar::DiffTag::Replace {
            let words = |texts: &[&'a str]| {
                texts.iter().copied().filter(|t| t.starts_with(is_word)).collect::<Vec<_>>()
            };
            out.extend(words(&old[op.old_range()]).into_iter().zip(words(&region[op.new_range()])));
        }
    }
    out
}

/// What may become of a token in a merge.
struct Merge<'a> {
    /// Tokens of `new_str` that the caller kept and the file does not have.
    stale: &'a [bool],
    /// Tokens of the file that the edit takes away.
    removed: &'a [bool],
    /// Where the tokens of `new_str` come from; none for what the edit adds.
    added: &'a [Option<usize>],
    /// Where the tokens of the file come from; none for what the caller did not know.
    fresh: &'a [Option<usize>],
    /// Words of the call and the words that the file has in their place.
    exchanges: &'a HashSet<(&'a str, &'a str)>,
}

/// What became of the tokens of `old_str` in another text.
struct Diff {
    /// For each token of `old_str`: whether the text has it.
    kept: Vec<bool>,
    /// For each token of the text: which token of `old_str` it is.
    from: Vec<Option<usize>>,
}

impl Diff {
    fn of(old: &[Token<'_>], text: &[Token<'_>]) -> Self {
        let texts = |tokens: &[Token<'_>]| -> Vec<String> {
            tokens.iter().map(|token| token.text.to_owned()).collect()
        };
        let (a, b) = (texts(old), texts(text));
        let mut diff = Self { kept: vec![false; a.len()], from: vec![None; b.len()] };
        for op in similar::capture_diff_slices(similar::Algorithm::Myers, &a, &b) {
            if op.tag() == similar::DiffTag::Equal {
                for (old, new) in op.old_range().zip(op.new_range()) {
                    diff.kept[old] = true;
                    diff.from[new] = Some(old);
                }
            }
        }
        diff
    }
}

/// How a point can be reached. The place says what was dropped from the file just
/// before it: nothing, something that has no reason yet, something that has one (what
/// only the file has goes only beside what the edit takes away). The bits say what was
/// put in since the last common token, so that two insertions are never interleaved.
type Cell = [u8; 3];

const NOTHING: u8 = 1;
const FILE: u8 = 2;
const CALLER: u8 = 4;
const FILE_THEN_CALLER: u8 = 8;
const CALLER_THEN_FILE: u8 = 16;

/// The bits after a token of one side, each from two others.
fn after(bits: u8, [from, own, other, both]: [u8; 4]) -> u8 {
    let first = if bits & (from | own) != 0 { own } else { 0 };
    let second = if bits & (other | both) != 0 { both } else { 0 };
    first | second
}

fn after_file(bits: u8) -> u8 {
    after(bits, [NOTHING, FILE, CALLER, CALLER_THEN_FILE])
}

fn after_caller(bits: u8) -> u8 {
    after(bits, [NOTHING, CALLER, FILE, FILE_THEN_CALLER])
}

impl Merge<'_> {
    fn reads(&self, new: &[Token<'_>], region: &[Token<'_>], answer: &[Token<'_>]) -> bool {
        let width = region.len() + 1;
        let size = (new.len() + 1) * width;
        let mut here: Vec<Cell> = vec![Cell::default(); size];
        here[0][0] = NOTHING;
        for k in 0..=answer.len() {
            let mut next: Vec<Cell> = vec![Cell::default(); size];
            for i in 0..=new.len() {
                for j in 0..=region.len() {
                    let cell = here[i * width + j];
                    if cell == Cell::default() {
                        continue;
                    }
                    let wanted = new.get(i).map(|t| t.text);
                    let file = region.get(j).map(|t| t.text);
                    let (stale, added) = (
                        wanted.is_some() && self.stale[i],
                        wanted.is_some() && self.added[i].is_none(),
                    );
                    let (removed, fresh) = (
                        file.is_some() && self.removed[j],
                        file.is_some() && self.fresh[j].is_none(),
                    );
                    // Dropped from new_str, dropped from the file.
                    if stale {
                        join(&mut here[(i + 1) * width + j], cell);
                    }
                    if removed {
                        let any = cell[0] | cell[1] | cell[2];
                        join(&mut here[i * width + j + 1], [0, 0, any]);
                    } else if fresh {
                        join(&mut here[i * width + j + 1], [0, cell[0] | cell[1], cell[2]]);
                    }
                    let Some(token) = answer.get(k).map(|t| t.text) else { continue };
                    let closed = cell[0] | cell[2];
                    let both = wanted == Some(token) && file == Some(token) && !added && !fresh;
                    if both && closed != 0 {
                        join(&mut next[(i + 1) * width + j + 1], [NOTHING, 0, 0]);
                    }
                    if fresh && file == Some(token) {
                        join(&mut next[i * width + j + 1], [after_file(closed), 0, 0]);
                    }
                    let exchanged =
                        wanted.is_some_and(|word| self.exchanges.contains(&(word, token)));
                    if added && (exchanged || wanted == Some(token)) {
                        join(&mut next[(i + 1) * width + j], cell.map(after_caller));
                    }
                }
            }
            if k == answer.len() {
                let end = here[size - 1];
                return (end[0] | end[2]) != 0;
            }
            here = next;
        }
        false
    }
}

fn join(cell: &mut Cell, more: Cell) {
    for (bits, more) in cell.iter_mut().zip(more) {
        *bits |= more;
    }
}

/// Three-way arithmetic: each token stands in the answer as often as in the file, plus
/// what the edit adds, minus what it takes away. Words that the file calls otherwise
/// may be exchanged, and what only the file has may go with what the edit takes away.
fn counted(
    in_old: &Counts<'_>,
    in_new: &Counts<'_>,
    in_file: &Counts<'_>,
    in_answer: &Counts<'_>,
) -> Result<(), String> {
    let of = |counts: &Counts<'_>, token: &str| counts.get(token).copied().unwrap_or(0);
    let takes_away = in_old.iter().any(|(token, count)| of(in_new, token) < *count);
    // Words of the call that were left out, and words of the file in their place.
    let (mut exchanged, mut extra) = (0, 0);
    let tokens: HashSet<&str> =
        in_new.keys().chain(in_file.keys()).chain(in_answer.keys()).copied().collect();
    for token in tokens {
        let (old, new, file) = (of(in_old, token), of(in_new, token), of(in_file, token));
        let answered = of(in_answer, token);
        let merged = (file + new).saturating_sub(old);
        let is_word = token.starts_with(is_word);
        let (mut least, mut most) = (merged, merged);
        if old > file {
            most = new;
            if is_word {
                least = 0;
                exchanged += merged.saturating_sub(answered);
            }
        } else if file > old {
            if takes_away {
                least = new.min(merged);
            }
            if is_word {
                most = usize::MAX;
                extra += answered.saturating_sub(merged);
            }
        }
        if answered < least || answered > most {
            let shown: String = token.chars().take(40).collect();
            return Err(format!("the answer has `{shown}` {answered} times, not {merged}"));
        }
    }
    if exchanged == extra {
        Ok(())
    } else {
        Err(format!("the answer puts {extra} words of the file in the place of {exchanged}"))
    }
}

/// White space between two tokens must be known from one of the texts. Line breaks
/// count as such; how lines are indented is judged apart.
fn gaps_known(texts: &[&str], answer: &[Token<'_>]) -> Result<(), String> {
    let kind = |gap: &str| {
        if gap.contains('\n') { "\n".repeat(gap.matches('\n').count().min(3)) } else { gap.into() }
    };
    let mut known: HashMap<(&str, &str), HashSet<String>> = HashMap::new();
    let (mut behind, mut before): (HashMap<&str, HashSet<String>>, HashMap<_, HashSet<String>>) =
        Default::default();
    for text in texts {
        let (tokens, _) = tokens(text);
        for pair in tokens.windows(2) {
            let gap = kind(pair[1].gap);
            known.entry((pair[0].text, pair[1].text)).or_default().insert(gap.clone());
            behind.entry(pair[0].text).or_default().insert(gap.clone());
            before.entry(pair[1].text).or_default().insert(gap);
        }
    }
    for pair in answer.windows(2) {
        let gap = kind(pair[1].gap);
        // Tokens that are not known side by side stand as each of them stands elsewhere.
        let fits = match known.get(&(pair[0].text, pair[1].text)) {
            Some(gaps) => gaps.contains(&gap),
            None => match (behind.get(pair[0].text), before.get(pair[1].text)) {
                (Some(a), Some(b)) if !a.is_disjoint(b) => a.contains(&gap) && b.contains(&gap),
                (a, b) => a.into_iter().chain(b).any(|gaps| gaps.contains(&gap)),
            },
        };
        if !fits {
            return Err(format!(
                "the answer changes the blanks between `{}` and `{}`",
                pair[0].text, pair[1].text
            ));
        }
    }
    Ok(())
}

/// Lines of the answer that are lines of `new_str` must keep their order of depth: equal
/// depths stay equal, deeper stays deeper. Lines of the file may stand as the file has them.
fn indents_consistent(base: &Base<'_>, answer: &str) -> Result<(), String> {
    let split = |line: &str| {
        let body = line.trim_start();
        (line[..line.len() - body.len()].to_owned(), body.trim_end().to_owned())
    };
    let lines = |text: &str| -> Vec<(String, String)> {
        text.lines().map(split).filter(|(_, body)| !body.is_empty()).collect()
    };
    let (new, file, answered) = (lines(base.new), lines(base.region), lines(answer));
    let in_step = new.len() == answered.len();
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    let mut next = 0;
    // The first line may start in mid-line.
    for (number, line) in answered.iter().enumerate().skip(1) {
        let twin = new[next.min(new.len())..].iter().position(|(_, body)| *body == line.1);
        let Some(at) = (if in_step { Some(number) } else { twin.map(|at| at + next) }) else {
            continue;
        };
        next = at + 1;
        if at > 0 && (in_step || !file.contains(line)) {
            pairs.push((new[at].0.chars().count(), line.0.chars().count()));
        }
    }
    pairs.sort_unstable();
    let consistent = pairs.windows(2).all(|pair| {
        let ((a, x), (b, y)) = (pair[0], pair[1]);
        (a == b && x == y) || (a < b && x < y)
    });
    if consistent { Ok(()) } else { Err("the answer changes the depth of some lines".into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "const API_URL = 'https://old.api/v1';";
    const NEW: &str = "const API_URL = 'https://new.api/v2';";
    const REGION: &str = "const API_URL = \"https://old.api/v1\"";

    fn verdict(answer: &str) -> Result<Answer, String> {
        check(&Base { old: OLD, new: NEW, region: REGION, merged: None }, answer)
    }

    #[test]
    fn the_quotes_of_the_file_may_replace_those_of_the_call() {
        let good = "const API_URL = \"https://new.api/v2\"";
        assert_eq!(verdict(good), Ok(Answer::Own(good.into())));
        assert!(verdict(NEW).is_err(), "the file's quotes were not the edit's to change");
    }

    #[test]
    fn nothing_else_may_change() {
        for bad in [
            "const API_URL = \"https://evil.api/v2\"",
            "const API_URL = \"https://old.api/v1\"",
            "const API_URL = \"https://api.new/v2\"",
            "API_URL const = \"https://new.api/v2\"",
            "const API_URL = \"https://new.api/\"",
            "const API_URL = \"https://new.api/v2\" const API_URL = \"https://new.api/v2\"",
            "constAPI_URL = \"https://new.api/v2\"",
            "const API_URL = \"https://new.api / v2\"",
            "const API_URL = \"\"https://new.api/v2\"",
            "const = API_URL \"https://new.api/v2\"",
            "const API_URL = \"https://new.api/v2\0\"",
            "",
        ] {
            assert!(verdict(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_renamed_word_may_be_used_in_the_new_lines() {
        let base = Base {
            old: "    x = load()\n    use(x)\n",
            new: "    x = load()\n    check(x)\n    use(x)\n",
            region: "    y = load()\n    use(y)\n",
            merged: None,
        };
        let good = "    y = load()\n    check(y)\n    use(y)\n";
        assert!(check(&base, good).is_ok());
        for bad in
            ["    y = load()\n        check(y)\n    use(y)\n", "    y = load()\n    use(y)\n"]
        {
            assert!(check(&base, bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_only_the_file_has_stays() {
        let base = Base {
            old: "fn total(items: &[Item]) -> f64 {",
            new: "fn total(items: &[Item], discount: f64) -> f64 {",
            region: "fn total_price(items: &[Item], tax: f64) -> f64 {",
            merged: None,
        };
        let good = "fn total_price(items: &[Item], tax: f64, discount: f64) -> f64 {";
        assert_eq!(check(&base, good), Ok(Answer::Own(good.into())));
        for bad in [
            "fn total_price(items: &[Item], tax: discount: f64) -> f64 {",
            "fn total_price(items: &[Item], tax:: f64, discount: f64) -> f64 {",
            "fn total_price(items: &[Item], discount: f64) -> f64 {",
            "fn total_price(tax: f64, items: &[Item], discount: f64) -> f64 {",
            "fn total_price(items: &[Item], tax: f64, discount: f64) f64 -> {",
            "fn total_price(items: &[Item], tax: f64, discount: f64) -> f64 f64 {",
            "fn total_price(items: &[Item], tax, discount: f64: f64) -> f64 {",
            "fn total_price(items: &[Item],: f64, discount tax: f64) -> f64 {",
            "fn total_price(items: &[Item], tax: f64\n, discount: f64) -> f64 {",
            "fn total_price(items: &[Item], tax: f64 , discount: f64) -> f64 {",
            "fn total_price(items: &[Item], tax:, discount: f64) -> f64 f64 {",
            "fn f64 total_price(items: &[Item], tax:, discount: f64) -> f64 {",
        ] {
            assert!(check(&base, bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_clean_merge_wins_over_blanks_and_over_no_adjustment() {
        let merged = "const API_URL = \"https://new.api/v2\"";
        let base = Base { old: OLD, new: NEW, region: REGION, merged: Some(merged) };
        for answer in [NEW, "const  API_URL =\n\"https://new.api/v2\""] {
            assert_eq!(check(&base, answer), Ok(Answer::Merge(merged.into())));
        }
    }
}
