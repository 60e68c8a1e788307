//! Placeholders for code that was left out: "... existing code ...".

use crate::edit::EditRequest;

/// Whether a line stands for code that is not there.
///
/// A bare `...` is Python; a placeholder says what it leaves out, or is a comment of
/// dots.
pub(super) fn is_placeholder(line: &str) -> bool {
    let line = line.trim();
    if line.len() > 120 {
        return false;
    }
    let comment = ["//", "#", "/*", "--", "<!--", "{/*", ";", "%", "*"]
        .iter()
        .find_map(|m| line.strip_prefix(m));
    let inner = comment.unwrap_or(line);
    let inner = inner
        .trim_end_matches("*/}")
        .trim_end_matches("*/")
        .trim_end_matches("-->")
        .trim()
        .trim_matches(|c| matches!(c, '(' | ')' | '[' | ']' | '<' | '>' | '{' | '}'))
        .trim();
    let dots = starts_with_dots(inner) || ends_with_dots(inner);
    let words =
        inner.trim_matches(|c: char| c == '.' || c == '…' || c.is_whitespace()).to_lowercase();
    if words.is_empty() {
        return dots && (comment.is_some() || inner.len() <= 4);
    }
    let says = [
        "existing ",
        "rest of",
        "remaining",
        "unchanged",
        "other code",
        "other methods",
        "other functions",
        "same as before",
        "omitted",
        "previous code",
        "code here",
        "snip",
        "keep the rest",
        "as before",
        "more code",
        "unmodified",
        "not shown",
        "elided",
        "truncated",
    ];
    let named = says.iter().any(|phrase| words.contains(phrase));
    named && (dots || comment.is_some() && words.len() <= 60 && is_only_that(&words))
}

/// `... x` or `…x`, but not `...x`, which spreads a value.
fn starts_with_dots(text: &str) -> bool {
    text.starts_with('…')
        || text
            .strip_prefix("...")
            .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '.', '(']))
}

fn ends_with_dots(text: &str) -> bool {
    text.ends_with('…') || text.ends_with("...")
}

/// A comment without dots is a placeholder only when it is nothing else.
fn is_only_that(words: &str) -> bool {
    [
        "rest of",
        "existing code",
        "remaining",
        "unchanged",
        "same as before",
        "other methods",
        "code unchanged",
    ]
    .iter()
    .any(|phrase| {
        words.starts_with(phrase) || words.ends_with("unchanged") || words.ends_with("omitted")
    }) && words.split_whitespace().count() <= 6
        && ![" is ", " are ", " was "].iter().any(|verb| words.contains(verb))
}

/// Whether a placeholder is dots alone, which Python and TypeScript also write.
pub(super) fn is_bare(line: &str) -> bool {
    matches!(line.trim(), "..." | "…")
}

/// A placeholder in `new_str` that neither `old_str` nor the file has.
pub(super) fn introduced(request: &EditRequest, file: &str) -> Option<String> {
    let mut lines = request.new.lines().filter(|line| is_placeholder(line) && !is_bare(line));
    let line = lines.find(|line| {
        let line = line.trim();
        !request.old.lines().any(|old| {
            // One that the file has is text, and no pattern for the new one.
            old.trim() == line || is_placeholder(old) && !file.contains(old.trim())
        }) && !file.contains(line)
    })?;
    Some(line.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_told_from_code() {
        for line in [
            "// ... existing code ...",
            "# … rest of the function …",
            "/* ... */",
            "...",
            "    // rest of the code unchanged",
            "<!-- ... existing markup ... -->",
            "{/* ... rest of component ... */}",
            "[... rest of code ...]",
            "# ... (unchanged)",
        ] {
            assert!(is_placeholder(line), "{line}");
        }
        for line in [
            "f(...args)",
            "// wait...",
            "// keep existing users on the old plan",
            "let rest = [...existing];",
            "x = 1",
            "",
            "// remove the existing index before it is built again",
        ] {
            assert!(!is_placeholder(line), "{line}");
        }
    }
}
