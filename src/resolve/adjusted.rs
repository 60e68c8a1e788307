//! The checks on an adjusted `new_str`. The model may drop what the file does not
//! have, and put in what the file has in its place. It may not drop or reorder
//! anything else that the caller wrote, bring in anything else, or take the edit back.

use std::collections::{HashMap, HashSet};

use super::tokens::{Token, is_word, tokens};

/// Cells of the explanation table.
const MOST_CELLS: usize = 16_000_000;

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

/// The answer must read in two ways: as `new_str`, in which tokens that only `old_str`
/// has were dropped and tokens that only the file has were put in; and as the file's
/// text, from which was dropped what the edit drops (and what the file has beside it),
/// and into which was put what the edit puts in.
fn explained(
    old: &[Token<'_>],
    new: &[Token<'_>],
    region: &[Token<'_>],
    answer: &[Token<'_>],
) -> Result<(), String> {
    let (in_old, in_new, in_region) = (counts(old), counts(new), counts(region));
    let more = |a: &Counts<'_>, b: &Counts<'_>, token: &str| {
        a.get(token).copied().unwrap_or(0) > b.get(token).copied().unwrap_or(0)
    };
    let stale = |token: &str| more(&in_old, &in_region, token);
    let fresh = |token: &str| more(&in_region, &in_old, token);
    if (new.len().max(region.len()) + 1).saturating_mul(answer.len() + 1) > MOST_CELLS {
        return Err("the answer is too long to be checked".into());
    }
    let by_caller =
        Reading { drops: &stale, drops_beside: &|_| false, puts_in: &fresh }.least(new, answer);
    let allowed = region.iter().filter(|token| fresh(token.text)).count()
        + new.iter().filter(|token| stale(token.text)).count();
    match by_caller {
        Some(put_in) if put_in <= allowed => {}
        Some(_) => return Err("the answer repeats the file's text".into()),
        None => return Err("the answer drops, moves or adds words that the edit did not".into()),
    }
    counted(&in_old, &in_new, &in_region, &counts(answer))?;
    let (gone, come) = changes(old, new);
    let removed = |token: &str| more(&in_old, &in_new, token) || gone.contains(token);
    let added = |token: &str| come.contains(token) || fresh(token);
    let by_file = Reading { drops: &removed, drops_beside: &fresh, puts_in: &added };
    match by_file.least(region, answer) {
        Some(_) => Ok(()),
        None => Err("the answer changes text of the file that the edit did not touch".into()),
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

/// The tokens that an edit takes out and puts in, by a line of least difference.
fn changes<'a>(old: &[Token<'a>], new: &[Token<'a>]) -> (HashSet<&'a str>, HashSet<&'a str>) {
    let texts = |tokens: &[Token<'a>]| tokens.iter().map(|t| t.text).collect::<Vec<&str>>();
    let (old, new) = (texts(old), texts(new));
    let (mut gone, mut come) = (HashSet::new(), HashSet::new());
    for op in similar::capture_diff_slices(similar::Algorithm::Myers, &old, &new) {
        if op.tag() != similar::DiffTag::Equal {
            gone.extend(&old[op.old_range()]);
            come.extend(&new[op.new_range()]);
        }
    }
    (gone, come)
}

/// A way to read an answer as another text: what may be dropped, what may be dropped
/// only in one run with such, and what may be put in.
struct Reading<'a> {
    drops: &'a dyn Fn(&str) -> bool,
    drops_beside: &'a dyn Fn(&str) -> bool,
    puts_in: &'a dyn Fn(&str) -> bool,
}

/// Fewest tokens put in, by the state of the run of dropped tokens: there is none, it
/// has no reason yet, it has one.
type Cell = [Option<usize>; 3];

impl Reading<'_> {
    /// The fewest tokens that have to be put in to read `answer` as `text`; `None` when
    /// it cannot be read so.
    fn least(&self, text: &[Token<'_>], answer: &[Token<'_>]) -> Option<usize> {
        let fewer = |a: Option<usize>, b: Option<usize>| a.into_iter().chain(b).min();
        let any = |cell: &Cell| cell.iter().copied().fold(None, fewer);
        let put_in = |cell: Cell, token: &str| -> Cell {
            if (self.puts_in)(token) { cell.map(|n| n.map(|n| n + 1)) } else { Cell::default() }
        };
        let mut row: Vec<Cell> = vec![[Some(0), None, None]];
        for token in answer {
            let last = row.last().copied().unwrap_or_default();
            row.push(put_in(last, token.text));
        }
        for wanted in text {
            let mut next: Vec<Cell> = Vec::with_capacity(row.len());
            for (j, above) in row.iter().enumerate() {
                let mut cell = Cell::default();
                if (self.drops)(wanted.text) {
                    cell[2] = any(above);
                } else if (self.drops_beside)(wanted.text) {
                    cell = [None, fewer(above[0], above[1]), above[2]];
                }
                if let Some(before) = j.checked_sub(1) {
                    let token = answer[before].text;
                    if token == wanted.text {
                        cell[0] = fewer(row[before][0], row[before][2]);
                    }
                    let more = put_in(next[before], token);
                    for (state, more) in cell.iter_mut().zip(more) {
                        *state = fewer(*state, more);
                    }
                }
                next.push(cell);
            }
            row = next;
        }
        row.last().and_then(|cell| fewer(cell[0], cell[2]))
    }
}

/// White space between two tokens must be known from one of the texts. Line breaks
/// count as such; how lines are indented is judged apart.
fn gaps_known(texts: &[&str], answer: &[Token<'_>]) -> Result<(), String> {
    let kind = |gap: &str| {
        if gap.contains('\n') { "\n".repeat(gap.matches('\n').count().min(3)) } else { gap.into() }
    };
    let mut known: HashMap<(&str, &str), HashSet<String>> = HashMap::new();
    for text in texts {
        let (tokens, _) = tokens(text);
        for pair in tokens.windows(2) {
            known.entry((pair[0].text, pair[1].text)).or_default().insert(kind(pair[1].gap));
        }
    }
    for pair in answer.windows(2) {
        let gap = kind(pair[1].gap);
        let fits = match known.get(&(pair[0].text, pair[1].text)) {
            Some(gaps) => gaps.contains(&gap),
            None => gap.is_empty() || gap == " " || gap == "\n",
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
