//! What a line of code shows without a parser: its comment, its brackets, its end. Languages
//! differ; what is here holds for the usual ones.

use super::canon::{self, Fold, is_word};
use super::tokens::literals;

/// Whether a line of code is a statement that a `;` would end.
pub(super) fn ends_statement(code: &str, next: Option<&str>) -> bool {
    let code = code.trim();
    let continued = next.is_some_and(|next| {
        let next = next.trim_start();
        next.starts_with(['.', '?', ':', '&', '|', '+', '*', '=', ')', ']', '>', '~'])
            || without_comment(next).trim() == "{"
            || next.strip_prefix("where").is_some_and(|rest| !rest.starts_with(is_word))
    });
    !code.is_empty()
        && !is_comment(code)
        && !code.starts_with('#')
        && !continued
        && (ends_in_value(code)
            || code
                .ends_with(|c: char| is_word(c) || matches!(c, ')' | ']' | '"' | '\'' | '`' | '>'))
            || code.ends_with(")?")
            || code.ends_with("++")
            || code.ends_with("--")
            || code.ends_with(")!")
            || code.ends_with("]!")
            || ends_in_percents(code))
        && body_of_head(code).is_none_or(|body| ends_statement(body, None))
        && !is_attribute(code)
        && !["do", "try", "function"].iter().any(|word| {
            code == *word
                || code.strip_prefix(word).is_some_and(|rest| rest.starts_with([' ', '(']))
        })
        && behind_label(code).is_none_or(|behind| ends_statement(behind, None))
}

/// What stands behind the label of a case on the same line.
fn behind_label(code: &str) -> Option<&str> {
    let labelled = ["case", "default"].iter().any(|word| {
        code.strip_prefix(word)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '(', ':']))
    });
    let literals = literals(code);
    let mut colons = code.match_indices(':').map(|(at, _)| at);
    labelled.then(|| {
        let end = colons.find(|at| !literals.iter().any(|literal| literal.contains(at)));
        end.map_or("", |at| code[at + 1..].trim())
    })
}

/// Whether a line ends in so many percents, as a value of a style sheet does.
fn ends_in_percents(code: &str) -> bool {
    code.contains(": ")
        && code.strip_suffix('%').is_some_and(|rest| rest.ends_with(|c: char| c.is_ascii_digit()))
}

/// Whether the braces that a line ends with hold a value: an object, which the line assigns or
/// returns.
fn ends_in_value(code: &str) -> bool {
    let mut open = 0;
    let head = code.rfind(|c| {
        open += i32::from(c == '}') - i32::from(c == '{');
        open == 0
    });
    code.ends_with('}')
        && head.is_some_and(|at| {
            let head = code[..at].trim_end();
            let word = head.strip_suffix("return");
            // Without a blank it is an attribute of a tag.
            (head.ends_with(" =") || head.ends_with("\t="))
                || word.is_some_and(|rest| !rest.ends_with(is_word))
        })
}

/// Whether a line is the head of a block or a loop, so that a `;` behind it is its body.
pub(super) fn heads_a_block(line: &str) -> bool {
    body_of_head(line).is_some_and(str::is_empty)
}

/// What stands behind the head of a block or a loop on the same line.
fn body_of_head(line: &str) -> Option<&str> {
    let line = line.trim();
    let behind = line.strip_prefix('}').map(str::trim_start);
    // The end of a loop that begins with its body.
    if behind.is_some_and(|rest| rest.starts_with("while") && rest.ends_with(')')) {
        return None;
    }
    let line = behind.unwrap_or(line);
    let mut rest = line;
    let mut found = false;
    for word in ["else", "if", "for", "while", "switch"] {
        if let Some(behind) = rest.strip_prefix(word)
            && !behind.starts_with(is_word)
        {
            (rest, found) = (behind.trim_start(), true);
        }
    }
    if !found {
        return None;
    }
    let literals = if rest.contains(['"', '\'']) { literals(rest) } else { Vec::new() };
    let mut open = 0;
    let end = rest.char_indices().find(|(at, c)| {
        if !literals.iter().any(|literal| literal.contains(at)) {
            open += i32::from(*c == '(') - i32::from(*c == ')');
        }
        open == 0
    });
    match end {
        Some((at, ')')) => Some(rest[at + 1..].trim()),
        _ => Some(rest),
    }
}

/// Whether a line is a selector of a style sheet, that begins as a call of a method or as an
/// operator does.
pub(super) fn is_selector(line: &str) -> bool {
    let line = line.trim();
    let block = line.ends_with(['{', '}', ',']);
    if let Some(rest) = line.strip_prefix('.') {
        let behind = rest.trim_start_matches(is_word);
        return behind.starts_with(['-', '#'])
            || behind.starts_with([' ', ',', ':', '{', '>']) && block;
    }
    line.strip_prefix('&').is_some_and(|rest| {
        let parent = rest.trim_start_matches('&');
        block
            && (parent.starts_with(['.', ':', '-', '_', '#', '[', '{', ','])
                || parent.starts_with([' ', '>', '+', '~'])
                    && !rest.starts_with('&')
                    && !line.contains(')'))
    })
}

/// Whether a line is an annotation, and nothing else.
pub(super) fn is_attribute(line: &str) -> bool {
    let Some(rest) = line.trim().strip_prefix('@') else { return false };
    let rest = rest.trim_start_matches(|c: char| is_word(c) || c == '.').trim_start();
    let mut open = 0;
    let end = rest.char_indices().find(|(_, c)| {
        open += i32::from(*c == '(') - i32::from(*c == ')');
        open == 0
    });
    match end {
        Some((at, ')')) => rest[at + 1..].trim().is_empty(),
        // An argument list that goes on below, or none.
        _ => rest.is_empty() || rest.starts_with('('),
    }
}

/// By how much a line changes the number of open brackets.
pub(super) fn brackets(line: &str) -> i32 {
    let code = without_comment(line);
    let count = |text: &str| -> i32 {
        let signs = text.chars().map(|c| match c {
            '(' | '[' => 1,
            ')' | ']' => -1,
            _ => 0,
        });
        signs.sum()
    };
    let quoted = code.contains(['"', '\'', '`']) && code.contains(['(', ')', '[', ']']);
    let literals = if quoted { literals(code) } else { Vec::new() };
    count(code) - literals.into_iter().map(|literal| count(&code[literal])).sum::<i32>()
}

/// Whether a line is a comment only, in the usual languages.
pub(super) fn is_comment(line: &str) -> bool {
    let line = line.trim();
    // One count less and no text, or a variable of a style sheet.
    if let Some(name) = line.strip_prefix("--").filter(|name| name.starts_with(is_word))
        && (!name.contains(' ') || behind_key(name).is_some())
    {
        return false;
    }
    // A comment in front of code is a part of the line.
    if line.starts_with("/*") && !without_comment(line).trim().is_empty() {
        return false;
    }
    ["//", "#", "--", "/*", "*/", "* ", "<!--", ";", "%", "\"\"\"", "'''"]
        .iter()
        .any(|mark| line.starts_with(mark))
        && !line.starts_with("#include")
        && !line.starts_with("#define")
        && !line.starts_with("#if")
        && !line.starts_with("#e")
        && !line.starts_with("#[")
        && !line.starts_with("#!")
        && !line.starts_with("#undef")
        && !line.starts_with("#pragma")
        || line == "*"
}

/// What stands behind a key and its colon, where a line begins with one: `name:`, `"name":`.
pub(super) fn behind_key(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let rest = match line.strip_prefix(['"', '\'']) {
        Some(rest) => rest.split_once(['"', '\''])?.1,
        None => line.trim_start_matches(|c: char| is_word(c) || matches!(c, '-' | '.')),
    };
    let value = rest.strip_prefix(':').filter(|_| rest.len() < line.len())?;
    // Two of them part the names of a path.
    (!value.starts_with(':')).then_some(value)
}

/// What two slashes are in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Slashes {
    #[default]
    Comment,
    Division,
}

impl Slashes {
    /// Division, where blocks are opened by `:` or comments begin with `#`, and nothing is
    /// ended by `;` or begins with slashes. `None` where nothing shows that either.
    pub(super) fn of<'a>(mut lines: impl Iterator<Item = &'a str> + Clone) -> Option<Self> {
        let other = |line: &str| {
            let line = line.trim();
            line.starts_with(['/', '<'])
                || line.ends_with(';')
                || line
                    .strip_suffix('{')
                    .is_some_and(|head| head.trim_end().ends_with(|c: char| is_word(c) || c == ')'))
                || line.find(" //").is_some_and(|at| line[..at].ends_with([',', '{', '(', '[']))
        };
        let block = |line: &str| {
            line.ends_with(':')
                && ["def ", "class ", "if ", "for ", "while ", "with ", "else:", "try:"]
                    .iter()
                    .any(|word| line.trim_start().starts_with(word))
        };
        if lines.clone().any(other) {
            return Some(Self::Comment);
        }
        lines
            .any(|line| block(line) || line.trim_start().starts_with("# "))
            .then_some(Self::Division)
    }
}

/// A line without the comment at its end.
pub(super) fn without_comment(line: &str) -> &str {
    code_of(line, Slashes::Comment)
}

/// Whether a word ends here that is no mark of a literal, as those of raw texts or of bytes are.
fn is_word_before(chars: &[canon::Canonical]) -> bool {
    let word = chars.iter().rev().take(3).take_while(|c| is_word(c.c));
    let mark = |c: &canon::Canonical| matches!(c.c.to_ascii_lowercase(), 'f' | 'r' | 'b' | 'u');
    let count = word.clone().count();
    count > 2 || count > 0 && !word.clone().all(mark)
}

/// A line without the comment at its end, where it is known what slashes are.
pub(super) fn code_of(line: &str, slashes: Slashes) -> &str {
    let chars = canon::canonical(line, Fold::LookAlike);
    let mut open: Option<char> = None;
    let mut escaped = false;
    let mut resume = 0;
    for (at, here) in chars.iter().enumerate() {
        if here.start < resume {
            continue;
        }
        let blank_before = at == 0 || chars[at - 1].c.is_whitespace();
        let next = chars.get(at + 1).map(|c| c.c);
        match (open, here.c) {
            (Some(_), '\\') if !escaped => {
                escaped = true;
                continue;
            }
            (Some(quote), c) if c == quote && !escaped => open = None,
            (None, c @ ('"' | '`')) => open = Some(c),
            (None, '\'') if !is_word_before(&chars[..at]) => open = Some('\''),
            (None, '/')
                if slashes == Slashes::Comment
                    && matches!(next, Some('/' | '*'))
                    && (blank_before || next == Some('*')) =>
            {
                let comment = &line[here.start..];
                // A number alone is what something is divided by.
                let divisor = comment.get(2..).unwrap_or_default().trim();
                let divisor = divisor.trim_end_matches([')', ']', ',', ';']);
                let operand = line[..here.start].trim_end().chars().next_back();
                if next == Some('/')
                    && operand.is_some_and(|c| is_word(c) || matches!(c, ')' | ']'))
                    && !divisor.is_empty()
                    && divisor.bytes().all(|b| b.is_ascii_digit())
                {
                    continue;
                }
                if next == Some('*')
                    && let Some(end) = comment.get(2..).and_then(|rest| rest.find("*/"))
                    && !comment[end + 4..].trim().is_empty()
                {
                    // It ends amid the line, and more code follows.
                    resume = here.start + end + 4;
                    continue;
                }
                return line[..here.start].trim_end();
            }
            (None, '#') if blank_before && at > 0 && next.is_none_or(char::is_whitespace) => {
                return line[..here.start].trim_end();
            }
            _ => {}
        }
        escaped = false;
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_told_from_code() {
        assert_eq!(without_comment("x = 1; // why"), "x = 1;");
        assert_eq!(without_comment("x = 'http://a' # why"), "x = 'http://a'");
        assert_eq!(without_comment("f'a // 2' // why"), "f'a // 2'");
        assert_eq!(without_comment("url(//x)"), "url(//x)");
        assert_eq!(without_comment("w // 2,"), "w // 2,");
        assert_eq!(without_comment("w ／／ 2"), "w");
        assert!(is_comment("  # why") && !is_comment("#include <x>") && is_comment(" * text"));
    }
    #[test]
    fn an_object_ends_a_statement_and_a_block_does_not() {
        for code in ["return { a: 1 }", "const a = { b: { c: 1 } }", "return {}"] {
            assert!(ends_statement(code, None), "{code}");
        }
        for code in ["if (a) { b() }", "f() { return a }", "a => { b }", "}", "a.return_of {}"] {
            assert!(!ends_statement(code, None), "{code}");
        }
    }
}
