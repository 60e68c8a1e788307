//! Rewords a tool's message for the command line, where the tool's arguments are flags.
//!
//! Only restitch's own sentences are reworded. What they quote stays as it is: code between
//! backticks, lines of the file, and diffs.

use std::borrow::Cow;

use super::args::Common;
use crate::tools::ToolReply;

/// The names and phrases of a tool's message, each with its replacement. The argument `within` is
/// also an English word, so it is replaced only in phrases.
pub(super) type Words = &'static [(&'static str, &'static str)];

/// The words of `restitch edit`.
pub(super) const EDIT: Words = &[
    ("EDIT_INVALID_ARGUMENTS: `within` ", "EDIT_INVALID_ARGUMENTS: --within "),
    ("Leave `within` out", "Leave --within out"),
    ("leave `within` out", "leave --within out"),
    ("Set `within` to", "Set --within to"),
    ("Leave out within: ", "Leave out --within "),
    ("Name it with `path` or `language`", "Name it with --language"),
    ("old_str", "--old"),
    ("new_str", "--new"),
    ("expected_replacements", "--expect"),
    ("replace_all", "--all"),
    ("near_line", "--near"),
    ("request_id", "--request-id"),
];

/// The words of `restitch apply`, where the old and the new text are in the hunks of a patch.
pub(super) const APPLY: Words = &[
    ("edit it with an empty old_str", "add it with `*** Add File`"),
    ("old_str", "the old text of the hunk"),
    ("new_str", "the new text of the hunk"),
];

/// The words of `restitch read`.
pub(super) const READ: Words = &[
    ("edit it with an empty old_str", "use `restitch edit` with an empty --old"),
    ("offset", "--offset"),
    ("limit", "--limit"),
    ("ranges", "--ranges"),
];

/// The words of `restitch search`.
pub(super) const SEARCH: Words = &[
    ("narrow the search with path", "narrow the search with --path"),
    ("narrow with path or glob", "narrow with --path or --glob"),
    ("Check the path, or leave it out", "Check --path, or leave it out"),
    ("keyword", "the term"),
    ("glob", "--glob"),
    ("context", "--context"),
];

/// The message of an edit, with the revision that `restitch undo` takes in its first line.
pub(super) fn with_revision(reply: &ToolReply, message: Cow<'_, str>) -> String {
    let report = &reply.report;
    let revision = report["revision"].as_u64().or_else(|| report["files"][0]["revision"].as_u64());
    let Some(revision) = revision.filter(|_| reply.ok) else { return message.into_owned() };
    let (first, others) = message.split_at(message.find('\n').unwrap_or(message.len()));
    format!("{first} Revision {revision}.{others}")
}

/// The reply's message in the words of the command. With `--json` or `--dialect`, it is the tool's
/// own message.
pub(super) fn message<'a>(common: &Common, reply: &'a ToolReply, words: Words) -> Cow<'a, str> {
    if common.json {
        return Cow::Borrowed(&reply.message);
    }
    Cow::Owned(in_flags(&reply.message, reply.ok, words))
}

/// The message with its sentences reworded, and its other lines as they are. `ok` is false for a
/// refusal, whose first line is a sentence.
fn in_flags(message: &str, ok: bool, words: Words) -> String {
    let mut out = Vec::new();
    let mut follows_nearest = false;
    for (index, line) in message.split('\n').enumerate() {
        let is_refusal = index == 0 && !ok;
        // The title of a possible result, such as `1. new_str as it was sent:`.
        let is_outcome_title = line.split_once(". ").is_some_and(|(number, title)| {
            number.bytes().all(|byte| byte.is_ascii_digit()) && title.ends_with(':')
        });
        let is_labelled_sentence =
            ["Next: ", "Note: ", "Tried "].iter().any(|start| line.starts_with(start));
        // Below `Nearest:` and `As near:` comes a line of the call with a label, then one of the file.
        if let (true, Some(text)) = (follows_nearest, line.strip_prefix("  old_str: ")) {
            let replacement = words.iter().find(|(argument, _)| *argument == "old_str");
            let flag = replacement.map(|(_, flag)| *flag).filter(|flag| flag.starts_with('-'));
            let label = flag.unwrap_or("call");
            out.push(format!("  {:<8} {text}", format!("{label}:")));
        } else if is_refusal || is_outcome_title || is_labelled_sentence {
            out.push(reword_sentence(line, words));
        } else {
            out.push(line.to_owned());
        }
        follows_nearest = line.starts_with("Nearest: ") || line.starts_with("As near: ");
    }
    out.join("\n")
}

/// A sentence with its phrases and names replaced. The code in it stays as it is, except in phrases.
fn reword_sentence(text: &str, words: Words) -> String {
    let phrases = words.iter().filter(|(phrase, _)| phrase.contains(' '));
    let text = phrases.fold(text.to_owned(), |text, (phrase, new)| text.replace(phrase, new));
    let mut out = String::with_capacity(text.len());
    let mut remaining = text.as_str();
    while let Some(backtick) = remaining.find('`') {
        let (before, from_backtick) = remaining.split_at(backtick);
        out.push_str(&replace_names(before, words));
        let end = end_of_code(from_backtick);
        out.push_str(&from_backtick[..end]);
        remaining = &from_backtick[end..];
    }
    out.push_str(&replace_names(remaining, words));
    out
}

/// The end of the code in backticks at the start of the text. The closing backtick is the first one
/// followed by whitespace, punctuation or nothing, because the code may contain backticks.
fn end_of_code(text: &str) -> usize {
    let is_closing = |index: &usize| {
        let next = text[index + 1..].chars().next();
        next.is_none_or(|c| c.is_whitespace() || ",;:.?!()".contains(c))
    };
    let closing = text.match_indices('`').map(|(index, _)| index).skip(1).find(is_closing);
    closing.map_or(text.len(), |index| index + 1)
}

/// The text, which contains no code, with each name of an argument replaced.
fn replace_names(text: &str, words: Words) -> String {
    let mut out = String::with_capacity(text.len());
    let mut remaining = text;
    let is_word_part = |c: char| c.is_alphanumeric() || c == '_';
    while let Some(start) = remaining.find(is_word_part) {
        let end = remaining[start..]
            .find(|c| !is_word_part(c))
            .map_or(remaining.len(), |length| start + length);
        let (word, after) = (&remaining[start..end], &remaining[end..]);
        let replacement = words.iter().find(|(argument, _)| *argument == word);
        // A word joined to others by one of these characters is part of a file name.
        let is_joined_before = remaining[..start].ends_with(['.', '/', '-', '\\', '"']);
        let is_joined_after = after.starts_with(['/', '-', '\\'])
            || after.starts_with('.') && after[1..].starts_with(is_word_part);
        let is_whole_name = !is_joined_before && !is_joined_after;
        out.push_str(&remaining[..start]);
        out.push_str(replacement.filter(|_| is_whole_name).map_or(word, |(_, new)| new));
        remaining = after;
    }
    out.push_str(remaining);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_name_flags_and_quoted_text_stays() {
        for (said, shown) in [
            (
                "EDIT_NO_OCCURRENCE_FOUND: old_str is not in the file: line 3 has `old_str = 1`, not `new_str`\nNearest: line 3 (91 % similar). First difference at line 3:\n  old_str: old_str\n  file:    old_str = 1\nAs near: line 9 (91 % similar). First difference at line 9:\n  old_str: old_str\n  file:    old_str = 2\nNext: Copy line 3 of the file exactly into old_str, and send the new text as new_str.",
                "EDIT_NO_OCCURRENCE_FOUND: --old is not in the file: line 3 has `old_str = 1`, not `new_str`\nNearest: line 3 (91 % similar). First difference at line 3:\n  --old:   old_str\n  file:    old_str = 1\nAs near: line 9 (91 % similar). First difference at line 9:\n  --old:   old_str\n  file:    old_str = 2\nNext: Copy line 3 of the file exactly into --old, and send the new text as --new.",
            ),
            (
                "EDIT_AMBIGUOUS: old_str is at line 2\n1. new_str as it was sent:\n@@ -1 +1 @@\n-old_str. new_str:\n Next to old_str\nNext: set expected_replacements or replace_all, or give near_line.",
                "EDIT_AMBIGUOUS: --old is at line 2\n1. --new as it was sent:\n@@ -1 +1 @@\n-old_str. new_str:\n Next to old_str\nNext: set --expect or --all, or give --near.",
            ),
            (
                "X: not found\nNearest: line 3\n  old_str: old_str\nAs near: line 5\n  old_str: old_str\nNext: Name it with `path` or `language`.",
                "X: not found\nNearest: line 3\n  --old:   old_str\nAs near: line 5\n  --old:   old_str\nNext: Name it with --language.",
            ),
            (
                "X: line 1 has `a `old_str` b`, and `new_str` (see old_str/new_str.rs): old_str.",
                "X: line 1 has `a `old_str` b`, and `new_str` (see old_str/new_str.rs): --old.",
            ),
            (
                "X: no file\nNext: Did you mean `a/old_str.py`? Or edit it with an empty old_str.",
                "X: no file\nNext: Did you mean `a/old_str.py`? Or edit it with an empty --old.",
            ),
            (
                "EDIT_INVALID_ARGUMENTS: `within` is not found: the file has no `within`\nNext: Use one of these names, or leave `within` out.",
                "EDIT_INVALID_ARGUMENTS: --within is not found: the file has no `within`\nNext: Use one of these names, or leave --within out.",
            ),
        ] {
            assert_eq!(in_flags(said, false, EDIT), shown);
        }
        let done = "Edited old_str at line 1.\n<<1>>old_str\nNote: new_str holds a code fence.";
        let shown = "Edited old_str at line 1.\n<<1>>old_str\nNote: --new holds a code fence.";
        assert_eq!(in_flags(done, true, EDIT), shown);
    }
}
