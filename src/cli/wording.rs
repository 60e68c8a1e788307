//! The words of a reply for people: a tool's arguments are named as the flags of the command.
//!
//! Only sentences of ours are reworded. Text that they quote stays: code between backticks, lines
//! of the file, diffs.

use std::borrow::Cow;

use super::args::Common;
use crate::tools::ToolReply;

/// What a tool's message says, and what the command says instead: names of arguments, and phrases
/// of several words. `within` is also an English word, so it is a phrase.
pub(super) type Words = &'static [(&'static str, &'static str)];

/// The flags of `restitch edit`.
pub(super) const EDIT: Words = &[
    ("EDIT_INVALID_ARGUMENTS: `within` ", "EDIT_INVALID_ARGUMENTS: --within "),
    ("Leave `within` out", "Leave --within out"),
    ("leave `within` out", "leave --within out"),
    ("Set `within` to", "Set --within to"),
    ("Leave out within: ", "Leave out --within "),
    ("old_str", "--old"),
    ("new_str", "--new"),
    ("expected_replacements", "--expect"),
    ("replace_all", "--all"),
    ("near_line", "--near"),
    ("request_id", "--request-id"),
];

/// A patch has both texts in its hunks.
pub(super) const APPLY: Words = &[
    ("edit it with an empty old_str", "add it with `*** Add File`"),
    ("old_str", "the old text of the hunk"),
    ("new_str", "the new text of the hunk"),
];

/// The flags of `restitch read`.
pub(super) const READ: Words = &[
    ("edit it with an empty old_str", "use `restitch edit` with an empty --old"),
    ("offset", "--offset"),
    ("limit", "--limit"),
    ("ranges", "--ranges"),
];

/// The message for a person, who has flags. A program that asked for JSON, and whoever chose a
/// dialect, gets the tool's own words.
pub(super) fn message<'a>(common: &Common, reply: &'a ToolReply, words: Words) -> Cow<'a, str> {
    if common.json || common.dialect.is_some() {
        return Cow::Borrowed(&reply.message);
    }
    Cow::Owned(in_flags(&reply.message, reply.ok, words))
}

fn in_flags(message: &str, ok: bool, words: Words) -> String {
    let mut out = Vec::new();
    let mut is_nearest = false;
    for (number, line) in message.split('\n').enumerate() {
        let is_first = number == 0 && !ok;
        let is_option = line.split_once(". ").is_some_and(|(count, how)| {
            count.bytes().all(|byte| byte.is_ascii_digit()) && how.ends_with(':')
        });
        let is_ours = ["Next: ", "Note: ", "Tried "].iter().any(|start| line.starts_with(start));
        // The two lines below are one of the call and one of the file, each behind its label.
        if let (true, Some(text)) = (is_nearest, line.strip_prefix("  old_str: ")) {
            let label = words.iter().find(|(argument, _)| *argument == "old_str");
            let label = label.filter(|(_, flag)| flag.starts_with('-')).map_or("call", |l| l.1);
            out.push(format!("  {:<8} {text}", format!("{label}:")));
        } else if is_first || is_option || is_ours {
            out.push(sentence(line, words));
        } else {
            out.push(line.to_owned());
        }
        is_nearest = line.starts_with("Nearest: ");
    }
    out.join("\n")
}

/// A sentence of ours, the code in it unchanged.
fn sentence(text: &str, words: Words) -> String {
    let phrases = words.iter().filter(|(said, _)| said.contains(' '));
    let text = phrases.fold(text.to_owned(), |text, (said, shown)| text.replace(said, shown));
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(open) = rest.find('`') {
        let (before, code) = rest.split_at(open);
        out.push_str(&plain(before, words));
        let end = end_of_code(code);
        out.push_str(&code[..end]);
        rest = &code[end..];
    }
    out.push_str(&plain(rest, words));
    out
}

/// Where the code ends that the text begins with. A backtick inside of it is followed by more
/// of it, the last one by a blank, a punctuation mark or nothing.
fn end_of_code(text: &str) -> usize {
    let is_end = |at: &usize| {
        let next = text[at + 1..].chars().next();
        next.is_none_or(|c| c.is_whitespace() || ",;:.()".contains(c))
    };
    let closing = text.match_indices('`').map(|(at, _)| at).skip(1).find(is_end);
    closing.map_or(text.len(), |at| at + 1)
}

/// Text without code, each argument named as on the command line.
fn plain(text: &str, words: Words) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    loop {
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        let Some(start) = rest.find(is_part) else { break };
        let end = rest[start..].find(|c| !is_part(c)).map_or(rest.len(), |len| start + len);
        let (word, after) = (&rest[start..end], &rest[end..]);
        let flag = words.iter().find(|(argument, _)| *argument == word);
        // A name with more to it is a file's.
        let stands_alone = !rest[..start].ends_with(['.', '/', '-', '\\', '"'])
            && !after.starts_with(['/', '-', '\\'])
            && !(after.starts_with('.') && after[1..].starts_with(is_part));
        out.push_str(&rest[..start]);
        out.push_str(flag.filter(|_| stands_alone).map_or(word, |(_, flag)| flag));
        rest = after;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_name_flags_and_quoted_text_stays() {
        for (said, shown) in [
            (
                "EDIT_NO_OCCURRENCE_FOUND: old_str is not in the file: line 3 has `old_str = 1`, not `new_str`\nNearest: line 3 (91 % similar). First difference at line 3:\n  old_str: old_str\n  file:    old_str = 1\nNext: Copy line 3 of the file exactly into old_str, and send the new text as new_str.",
                "EDIT_NO_OCCURRENCE_FOUND: --old is not in the file: line 3 has `old_str = 1`, not `new_str`\nNearest: line 3 (91 % similar). First difference at line 3:\n  --old:   old_str\n  file:    old_str = 1\nNext: Copy line 3 of the file exactly into --old, and send the new text as --new.",
            ),
            (
                "EDIT_AMBIGUOUS: old_str is at line 2\n1. new_str as it was sent:\n@@ -1 +1 @@\n-old_str. new_str:\n Next to old_str\nNext: set expected_replacements or replace_all, or give near_line.",
                "EDIT_AMBIGUOUS: --old is at line 2\n1. --new as it was sent:\n@@ -1 +1 @@\n-old_str. new_str:\n Next to old_str\nNext: set --expect or --all, or give --near.",
            ),
            (
                "X: line 1 has `a `old_str` b`, and `new_str` (see old_str/new_str.rs): old_str.",
                "X: line 1 has `a `old_str` b`, and `new_str` (see old_str/new_str.rs): --old.",
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
