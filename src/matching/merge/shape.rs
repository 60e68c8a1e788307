//! What stands around each line of a new text: brackets and literals that are open there,
//! and the next line of code. Counted once for all lines.

use std::cell::OnceCell;

use super::super::canon::is_word;
use super::super::code;
use super::super::indent;

/// How far up the line is looked for that opens what another one closes.
const MOST_BACK: usize = 100;

/// What begins and ends literals of several lines.
const MARKS: [&str; 3] = ["\"\"\"", "'''", "`"];

/// The new text, line by line.
pub(in crate::matching) struct Shape {
    open: Vec<i32>,
    next: Vec<Option<usize>>,
    goes_on: Vec<bool>,
    /// Where nothing but a sign tells that the next line goes on with this one, and the sign may
    /// as well begin a line.
    perhaps: Vec<bool>,
    continued: Vec<bool>,
    literals: Vec<Literal>,
}

/// Text of several lines that a literal of `new` holds.
struct Literal {
    /// The mark at both ends, if it is the same.
    mark: &'static str,
    opener: usize,
    /// The line where it closes, or the last one.
    end: usize,
    /// The depth of the opening line, and the least one of the text.
    depth: usize,
    least: usize,
    /// Whether the place itself lies outside such literals of the file.
    outside: OnceCell<bool>,
}

impl Shape {
    pub(in crate::matching) fn of(new: &[&str]) -> Self {
        let mut next = vec![None; new.len()];
        for n in (1..new.len()).rev() {
            let code = !new[n].trim().is_empty() && !code::is_comment(new[n]);
            next[n - 1] = if code { Some(n) } else { next[n] };
        }
        // A text may start within brackets; those are open all the way down.
        let open = new.iter().scan(0, |open: &mut i32, line| {
            *open += code::brackets(line);
            if line.trim_start().starts_with([')', ']', '}']) {
                *open = (*open).max(0);
            }
            Some(*open)
        });
        let open: Vec<i32> = open.collect();
        let literals = MARKS.into_iter().flat_map(|mark| literals(new, mark));
        let literals: Vec<Literal> = literals.chain(raw_literals(new)).collect();
        let mut continued: Vec<bool> = (0..new.len())
            .map(|n| next[n].is_some_and(|next| goes_on_with(new[n], new[next])))
            .collect();
        let mut perhaps: Vec<bool> = (0..new.len())
            .map(|n| continued[n] && next[n].is_some_and(|next| may_begin(new[n], new[next])))
            .collect();
        for literal in &literals {
            perhaps[literal.opener..literal.end.min(new.len())].fill(false);
            continued[literal.opener..literal.end.min(new.len())].fill(true);
        }
        // A here-document may go on below the text.
        let open_ended = |n: &usize| {
            // A name in small letters may as well be shifted by.
            let loud = |mark: &str| !mark.contains(char::is_lowercase);
            closing_mark(new[*n]).is_some_and(|(mark, alone)| alone && loud(&mark))
                && !literals.iter().any(|literal| literal.opener == *n)
        };
        if let Some(opener) = (0..new.len()).find(open_ended) {
            continued[opener + 1..].fill(true);
        }
        let mut comment = false;
        for (line, continued) in new.iter().zip(&mut continued) {
            let behind = line[code::without_comment(line).len()..].trim_start();
            let opens = behind.starts_with("/*") && !behind.contains("*/");
            comment = opens || comment && !line.contains("*/");
            *continued |= comment && !line.trim_start().starts_with('*');
        }
        // The names of an import are no statements.
        let mut names = false;
        for (line, continued) in new.iter().zip(&mut continued) {
            let line = line.trim();
            let begins = ["import ", "export "].iter().any(|word| line.starts_with(word));
            names &= !line.starts_with('}');
            *continued |= names;
            names |= begins && line.ends_with('{') && !line.contains(['=', '(']) && {
                let words = line.split_whitespace().nth(1).unwrap_or_default();
                !["class", "interface", "namespace", "default", "enum", "abstract", "declare"]
                    .contains(&words)
            };
        }
        // The end of an attribute is no end of a statement, nor is that of the head of a block.
        for n in 1..new.len() {
            if open[n] >= open[n - 1] {
                continue;
            }
            let opener = (0..n).rev().take(MOST_BACK).find(|&k| {
                open[k] > open[n] && k.checked_sub(1).is_none_or(|k| open[k] <= open[n])
            });
            let closes = new[n].trim_start().starts_with([')', ']', '}']);
            let depth = |line: &str| indent::columns(indent::of(line), 4);
            continued[n] |= opener.is_some_and(|k| {
                let code = || -> Vec<&str> {
                    new[k..=n].iter().map(|line| code::without_comment(line).trim()).collect()
                };
                // A loop by any name has its body below it.
                let holds = next[n].is_some_and(|below| {
                    open[n] == 0 && depth(new[below]) > depth(new[k]) && !closes
                });
                // Nor is that of the value of a key.
                let key = new[k].trim();
                closes && key.starts_with(['#', '@'])
                    || closes && code::behind_key(key).is_some() && !key.starts_with("default:")
                    || holds
                    || code::heads_a_block(&code().join(" "))
            });
        }
        let goes_on = continued.iter().zip(&open).map(|(goes_on, open)| *goes_on || *open != 0);
        let goes_on = goes_on.collect();
        for (perhaps, open) in perhaps.iter_mut().zip(&open) {
            *perhaps &= *open == 0;
        }
        Self { open, next, goes_on, perhaps, continued, literals }
    }

    /// How many brackets are open behind a line.
    pub(super) fn open_brackets(&self, n: usize) -> i32 {
        self.open[n]
    }

    /// Whether a line is no end of a statement: it is within brackets, a literal or a
    /// comment, or what comes goes on with it.
    pub(super) fn goes_on(&self, n: usize) -> bool {
        self.goes_on[n]
    }

    /// Whether a line may be the end of a statement all the same.
    pub(super) fn may_end(&self, n: usize) -> bool {
        self.perhaps[n]
    }

    /// Whether the next line goes on with this one, or both are text.
    pub(super) fn is_continued(&self, n: usize) -> bool {
        self.continued[n]
    }

    pub(super) fn has_literals(&self) -> bool {
        !self.literals.is_empty()
    }

    /// Whether a line is text that a literal of several lines holds.
    pub(super) fn in_literal(&self, n: usize) -> bool {
        self.literals.iter().any(|literal| literal.opener < n && n < literal.end)
    }

    /// Whether a line is text of a raw string or a here-document.
    pub(in crate::matching) fn in_raw_literal(&self, n: usize) -> bool {
        let mut raw = self.literals.iter().filter(|literal| literal.mark.is_empty());
        raw.any(|literal| literal.opener < n && n < literal.end)
    }

    /// Whether a line is the bracket alone that ends a value, which the line that opens it
    /// assigns.
    pub(super) fn ends_value(&self, new: &[&str], n: usize) -> bool {
        if new[n].trim() != "}" {
            return false;
        }
        let depth = indent::of(new[n]).len();
        let mut above = new[..n].iter().rev().filter(|line| !line.trim().is_empty());
        let opener = above.find(|line| indent::of(line).len() <= depth);
        opener.is_some_and(|opener| {
            let line = opener.trim();
            let head = ["if", "for", "while", "switch", "else", "}"];
            // Within angles, a name has a type.
            let assigns = line.split_once(" = ").is_some_and(|(name, _)| {
                let name = name.replace("->", "");
                [('<', '>'), ('(', ')'), ('[', ']')]
                    .into_iter()
                    .all(|(open, close)| name.matches(open).count() == name.matches(close).count())
            });
            indent::of(opener).len() == depth
                && line.ends_with('{')
                && assigns
                && !head.iter().any(|word| line.starts_with(word))
        })
    }

    /// Whether a line is the value of a function that says what it returns, as in Rust.
    pub(super) fn is_returned(&self, new: &[&str], n: usize) -> bool {
        let depth = |line: &str| indent::of(line).len();
        let solid = |line: &&&str| !line.trim().is_empty();
        let below = new[n + 1..].iter().find(solid);
        let holder = new[..n].iter().rev().filter(solid).find(|line| depth(line) < depth(new[n]));
        below.is_some_and(|below| below.trim() == "}" && depth(below) < depth(new[n]))
            && holder.is_some_and(|line| line.contains("fn ") && line.contains("-> "))
    }

    /// Whether a line stands in the body of a function that a bracket holds.
    pub(super) fn in_callback(&self, new: &[&str], n: usize) -> bool {
        let depth = indent::of(new[n]).len();
        let mut above = new[..n].iter().rev().take(MOST_BACK);
        let holder = above.find(|line| !line.trim().is_empty() && indent::of(line).len() < depth);
        self.open[n] > 0
            && holder.is_some_and(|line| {
                let line = line.trim_end();
                line.ends_with("> {") || line.ends_with(") {")
            })
    }

    /// The next line below that is neither blank nor a comment.
    pub(super) fn next_code(&self, n: usize) -> Option<usize> {
        self.next[n]
    }

    /// Where a line is text within a literal of several lines that `new` opens, and the text
    /// goes further out than the code: the least depth of the text. `before` is the file
    /// above the place.
    pub(super) fn literal_depth(&self, n: usize, before: &str) -> Option<usize> {
        let holds = |literal: &&Literal| {
            literal.opener < n && n <= literal.end && literal.least < literal.depth
        };
        let outside = |literal: &&Literal| {
            let even = || {
                literal.mark.is_empty() || before.matches(literal.mark).count().is_multiple_of(2)
            };
            *literal.outside.get_or_init(even)
        };
        self.literals.iter().filter(holds).find(outside).map(|literal| literal.least)
    }
}

/// Whether literals that end within the old text do not within the new one, so that nothing
/// tells which of its lines they hold.
pub(super) fn tears_literals(old: &[&str], new: &[&str]) -> bool {
    let odd = |lines: &[&str], mark: &str| {
        lines.iter().map(|line| line.matches(mark).count()).sum::<usize>() % 2 == 1
    };
    MARKS.iter().any(|mark| odd(new, mark) && !odd(old, mark))
}

/// Whether the next line goes on with what a line says.
fn goes_on_with(line: &str, next: &str) -> bool {
    let depth = |line: &str| indent::columns(indent::of(line), 4);
    let continues = ['.', '?', ':', '&', '|', '+', '*', '=', ')', ']', '{'];
    // Text goes on in a comment whatever stands behind its marks.
    let marked = |line: &str| line.trim_start().starts_with("* ");
    depth(next) > depth(line)
        || next.trim_start().starts_with(continues) && !(marked(line) && marked(next))
}

/// Whether a line that seems to go on with another may begin something of its own: `*p = a`,
/// `++i`, `&:hover {`.
fn may_begin(line: &str, next: &str) -> bool {
    let depth = |line: &str| indent::columns(indent::of(line), 4);
    let next_code = next.trim_start();
    let sign = next_code.starts_with(['*', '&', '+', ':']) && !next_code.starts_with("&&");
    sign && depth(next) <= depth(line) && !code::is_comment(line) && !next_code.starts_with("*/")
}

/// The texts between lines that have an odd number of a mark.
fn literals(new: &[&str], mark: &'static str) -> Vec<Literal> {
    let depth = |line: &str| indent::columns(indent::of(line), 4);
    // A fence around code is no literal.
    let fences = |line: &str| if mark == "`" { 3 * line.matches("```").count() } else { 0 };
    let holds = |line: &str| (line.matches(mark).count() - fences(line)) % 2 == 1;
    let mut found = Vec::new();
    let mut at = 0;
    // Nor do the words of a comment begin one.
    let words = |line: &str| code::is_comment(line) && !line.trim_start().starts_with(mark);
    while let Some(opener) = (at..new.len()).find(|n| holds(new[*n]) && !words(new[*n])) {
        let below = opener + 1..new.len();
        let end = below.clone().find(|n| holds(new[*n])).unwrap_or(new.len());
        let text = below.map(|n| new[n]).take_while(|line| !line.contains(mark));
        let least = text.filter(|line| !line.trim().is_empty()).map(depth).min();
        if let Some(least) = least {
            found.push(Literal {
                mark,
                opener,
                end,
                depth: depth(new[opener]),
                least,
                outside: OnceCell::new(),
            });
        }
        at = end + 1;
    }
    found
}

/// Here-documents and raw strings over several lines, which end with a mark of their own.
fn raw_literals(new: &[&str]) -> Vec<Literal> {
    let depth = |line: &str| indent::columns(indent::of(line), 4);
    let mut found = Vec::new();
    let mut at = 0;
    while at < new.len() {
        let opener = at;
        at += 1;
        let Some((close, alone)) = closing_mark(new[opener]) else { continue };
        let ends = |line: &str| {
            let line = line.trim();
            let rest = line.strip_prefix(&*close);
            if alone {
                rest.is_some_and(|rest| !rest.starts_with(is_word))
            } else {
                line.contains(&*close)
            }
        };
        let Some(end) = (opener + 1..new.len()).find(|n| ends(new[*n])) else { continue };
        // The mark that ends a here-document stands where the shell looks for it.
        let text = new[opener + 1..end + usize::from(alone)].iter();
        let text = text.filter(|line| !line.trim().is_empty());
        if let Some(least) = text.map(|line| depth(line)).min() {
            let depth = depth(new[opener]);
            found.push(Literal { mark: "", opener, end, depth, least, outside: OnceCell::new() });
        }
        at = end + 1;
    }
    found
}

/// What ends the literal that a line opens and does not close, and whether that stands on a
/// line of its own.
pub(super) fn closing_mark(line: &str) -> Option<(String, bool)> {
    if let Some((_, rest)) = line.split_once("<<") {
        let rest = rest.trim_start_matches(['<', '-', '~']);
        let quoted = rest.trim_start_matches(['"', '\'']);
        let word: String = quoted.chars().take_while(|c| is_word(*c)).collect();
        let starts = word.chars().next().is_some_and(|c| c.is_alphabetic() || c == '_');
        return starts.then_some((word, true));
    }
    let open = |close: String, behind: &str| (!behind.contains(&close)).then_some((close, false));
    // Within a literal, the same signs are text.
    let opens = |mark: &str| {
        let (head, rest) = line.split_once(mark)?;
        head.matches('"').count().is_multiple_of(2).then_some(rest)
    };
    if let Some(rest) = opens("R\"")
        && let Some((name, behind)) = rest.split_once('(')
        && name.len() <= 16
    {
        return open(format!("){name}\""), behind);
    }
    if let Some(rest) = opens("r#") {
        let hashes = rest.len() - rest.trim_start_matches('#').len();
        let behind = rest[hashes..].strip_prefix('"')?;
        return open(format!("\"{}", "#".repeat(hashes + 1)), behind);
    }
    if let Some(behind) = opens("@\"") {
        return open("\"".to_owned(), behind);
    }
    let behind = opens("[[")?;
    (line.trim_end().ends_with("[[") || line.contains("= [[")).then_some(())?;
    open("]]".to_owned(), behind)
}
