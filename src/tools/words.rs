//! Messages in the words of the tool that was called: its own names of the arguments, and no advice
//! that needs an argument or a tool that the caller does not have.
//!
//! Only restitch's own sentences are reworded. What they quote stays as it is: code between
//! backticks, lines of the file, and diffs.

use serde_json::Value;

use super::arguments::SYNONYMS;
use super::schema::{branches, properties};
use super::{TOOLS, ToolReply};
use crate::text::is_word_char;

/// The names in a message, and how a caller knows them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Words {
    /// Names and phrases, each with its replacement.
    renamed: Vec<(&'static str, String)>,
    /// Arguments and tools that the caller does not have. Advice that names one is left out.
    absent: Vec<&'static str>,
}

/// The arguments that messages name, under the names that `edit_file` has for them.
const NAMED_ARGUMENTS: &[&str] =
    &["old_str", "new_str", "replace_all", "expected_replacements", "near_line"];

/// The words of a patch, where the old and the new text are in the hunks.
const PATCH: &[(&str, &str)] = &[
    ("edit it with an empty old_str", "add it with `*** Add File`"),
    ("old_str", "the old text of the hunk"),
    ("new_str", "the new text of the hunk"),
];

impl Words {
    /// The words of the command line, whose flags replace the arguments and which has no tools.
    #[cfg(feature = "cli")]
    pub(crate) fn of_command(flags: &[(&'static str, &str)]) -> Self {
        let renamed = flags.iter().map(|(name, flag)| (*name, (*flag).to_owned())).collect();
        Self { renamed, absent: tools_outside(&[]) }
    }

    /// The words of a patch of a client without tools of restitch.
    #[cfg(feature = "cli")]
    pub(crate) fn of_patch() -> Self {
        Self::of_arguments(&[], &[], PATCH)
    }

    /// The words of a client's own edit tool with these arguments, without tools of restitch.
    #[cfg(feature = "cli")]
    pub(crate) fn of_client_tool(arguments: &[&str]) -> Self {
        Self::of_arguments(arguments, &[], &[])
    }

    /// The words of a tool, by its schema, for a caller that has the tools `offered`.
    pub(super) fn of_tool(schema: &Value, offered: &[&str]) -> Self {
        let mut arguments: Vec<&str> = Vec::new();
        collect_arguments(schema, &mut arguments);
        let phrases = if arguments.contains(&"patch") { PATCH } else { &[] };
        Self::of_arguments(&arguments, offered, phrases)
    }

    fn of_arguments(
        arguments: &[&str],
        offered: &[&str],
        phrases: &[(&'static str, &str)],
    ) -> Self {
        let mut words = Self { absent: tools_outside(offered), ..Self::default() };
        for (phrase, replacement) in phrases {
            words.renamed.push((*phrase, (*replacement).to_owned()));
        }
        for argument in NAMED_ARGUMENTS {
            let group = SYNONYMS.iter().find(|group| group[0] == *argument);
            // The others of a group are English words, too.
            let is_name =
                |name: &&&'static str| name.contains(|c: char| c == '_' || c.is_uppercase());
            let names = group.copied().unwrap_or_default().iter().filter(is_name);
            let own = arguments.iter().find(|own| *own == argument);
            let own =
                own.or_else(|| arguments.iter().find(|own| names.clone().any(|name| name == *own)));
            for name in names.filter(|name| !arguments.contains(name)) {
                match own {
                    Some(own) => words.renamed.push((*name, (*own).to_owned())),
                    None if phrases.iter().any(|(phrase, _)| phrase == name) => {}
                    None => words.absent.push(*name),
                }
            }
        }
        words
    }

    /// The reply, its message and its report, in these words.
    #[must_use]
    pub(crate) fn apply(&self, mut reply: ToolReply) -> ToolReply {
        reply.message = self.message(&reply.message, reply.ok);
        self.apply_to_report(&mut reply.report);
        reply
    }

    /// The sentences of a report in these words.
    fn apply_to_report(&self, report: &mut Value) {
        let Some(fields) = report.as_object_mut() else { return };
        if let Some(Value::String(message)) = fields.get_mut("message") {
            *message = self.sentence(message);
        }
        if let Some(hint) = fields.get_mut("hint").filter(|hint| hint.is_string()) {
            let advice = self.advice(hint.as_str().unwrap_or_default());
            *hint = if advice.is_empty() { Value::Null } else { advice.into() };
        }
        for warning in
            fields.get_mut("warnings").and_then(Value::as_array_mut).into_iter().flatten()
        {
            if let Value::String(warning) = warning {
                *warning = self.sentence(warning);
            }
        }
        for list in ["files", "outcomes"] {
            for item in fields.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
                if let Some(Value::String(how)) = item.get_mut("how") {
                    *how = self.sentence(how);
                }
                self.apply_to_report(item);
            }
        }
    }

    /// The message with its sentences reworded, and its other lines as they are. `ok` is false for a
    /// refusal, whose first line is a sentence.
    pub(crate) fn message(&self, message: &str, ok: bool) -> String {
        let mut out = Vec::new();
        // The label of the call's line below `Nearest:` or `As near:`, and then the width of it.
        let (mut follows_nearest, mut width) = (false, None);
        for (index, line) in message.split('\n').enumerate() {
            let is_refusal = index == 0 && !ok;
            // The title of a possible result, such as `1. new_str as it was sent:`.
            let is_outcome_title = line.split_once(". ").is_some_and(|(number, title)| {
                number.bytes().all(|byte| byte.is_ascii_digit()) && title.ends_with(':')
            });
            let is_labelled_sentence =
                ["Note: ", "Tried "].iter().any(|start| line.starts_with(start));
            let label_width = width.take();
            if let (true, Some(text)) = (follows_nearest, line.strip_prefix("  old_str: ")) {
                let label = format!("{}:", self.label());
                width = Some(label.len().max(8));
                out.push(format!("  {label:<8} {text}"));
            } else if let (Some(width), Some(text)) =
                (label_width, line.strip_prefix("  file:    "))
            {
                out.push(format!("  {:<width$} {text}", "file:"));
            } else if let Some(advice) = line.strip_prefix("Next: ") {
                let advice = self.advice(advice);
                out.extend((!advice.is_empty()).then(|| format!("Next: {advice}")));
            } else if is_refusal || is_outcome_title || is_labelled_sentence {
                out.push(self.sentence(line));
            } else {
                out.push(line.to_owned());
            }
            follows_nearest = line.starts_with("Nearest: ") || line.starts_with("As near: ");
        }
        out.join("\n")
    }

    /// What the line of the call is labelled with.
    fn label(&self) -> &str {
        let renamed = self.renamed.iter().find(|(name, _)| *name == "old_str");
        renamed.map_or("old_str", |(_, own)| if own.contains(' ') { "call" } else { own })
    }

    /// The sentences of advice that the caller can follow.
    fn advice(&self, hint: &str) -> String {
        let possible = sentences(hint).into_iter().filter(|sentence| !self.names_absent(sentence));
        let reworded: Vec<String> = possible.map(|sentence| self.sentence(sentence)).collect();
        reworded.join(" ")
    }

    /// Whether a sentence names what the caller does not have.
    pub(super) fn names_absent(&self, sentence: &str) -> bool {
        let is_phrase = |(phrase, _): &&(&str, String)| phrase.contains(' ');
        let mut phrases = self.renamed.iter().filter(is_phrase);
        if phrases.any(|(phrase, _)| sentence.contains(phrase)) {
            return false;
        }
        let mut found = false;
        for_each_part(sentence, |part, is_code| {
            if !is_code {
                replace_names(part, |word| {
                    found |= self.absent.contains(&word);
                    None
                });
            }
        });
        found
    }

    /// A sentence with its phrases and names replaced. The code in it stays as it is, except in
    /// phrases.
    pub(super) fn sentence(&self, text: &str) -> String {
        let phrases = self.renamed.iter().filter(|(phrase, _)| phrase.contains(' '));
        let text = phrases.fold(text.to_owned(), |text, (phrase, new)| text.replace(phrase, new));
        let mut out = String::with_capacity(text.len());
        let own = |word: &str| {
            let renamed = self.renamed.iter().find(|(name, _)| *name == word);
            renamed.map(|(_, own)| own.as_str())
        };
        for_each_part(&text, |part, is_code| match is_code {
            true => out.push_str(part),
            false => out.push_str(&replace_names(part, own)),
        });
        out
    }
}

/// The names of all arguments of a schema, those in lists included.
fn collect_arguments<'a>(schema: &'a Value, out: &mut Vec<&'a str>) {
    for branch in branches(schema) {
        for (name, property) in properties(branch).into_iter().flatten() {
            out.push(name);
            collect_arguments(property, out);
        }
        if let Some(items) = branch.get("items") {
            collect_arguments(items, out);
        }
    }
}

/// The tools that are not `offered`, except those whose names are English words.
fn tools_outside(offered: &[&str]) -> Vec<&'static str> {
    let names = TOOLS.iter().map(|tool| tool.name).filter(|name| name.contains('_'));
    names.filter(|name| !offered.contains(name)).collect()
}

/// The sentences of a text. Code between backticks ends no sentence.
fn sentences(text: &str) -> Vec<&str> {
    let mut ends = Vec::new();
    let mut at = 0;
    for_each_part(text, |part, is_code| {
        if !is_code {
            ends.extend(part.match_indices(['.', '?', '!']).map(|(index, _)| at + index + 1));
        }
        at += part.len();
    });
    let begins = |end: &usize| {
        let next = text[*end..].strip_prefix(' ').and_then(|rest| rest.chars().next());
        next.is_some_and(|c| c.is_uppercase() || c == '`')
    };
    let mut out = Vec::new();
    let mut start = 0;
    for end in ends.into_iter().filter(begins) {
        out.push(&text[start..end]);
        start = end + 1;
    }
    out.push(&text[start..]);
    out
}

/// Calls `visit` with each part of a text, and whether it is code between backticks.
fn for_each_part<'t>(text: &'t str, mut visit: impl FnMut(&'t str, bool)) {
    let mut remaining = text;
    while let Some(backtick) = remaining.find('`') {
        let (before, from_backtick) = remaining.split_at(backtick);
        visit(before, false);
        let (code, after) = from_backtick.split_at(end_of_code(from_backtick));
        visit(code, true);
        remaining = after;
    }
    visit(remaining, false);
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

/// The text, which contains no code, with each name replaced for which `own` has another.
fn replace_names<'w>(text: &str, mut own: impl FnMut(&str) -> Option<&'w str>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut remaining = text;
    while let Some(start) = remaining.find(is_word_char) {
        let end = remaining[start..]
            .find(|c| !is_word_char(c))
            .map_or(remaining.len(), |length| start + length);
        let (word, after) = (&remaining[start..end], &remaining[end..]);
        // A word joined to others by one of these characters is part of a file name.
        let is_joined_before = remaining[..start].ends_with(['.', '/', '-', '\\', '"']);
        let is_joined_after = after.starts_with(['/', '-', '\\'])
            || after.starts_with('.') && after[1..].starts_with(is_word_char);
        let is_whole_name = !is_joined_before && !is_joined_after;
        let replacement = if is_whole_name { own(word) } else { None };
        out.push_str(&remaining[..start]);
        out.push_str(replacement.unwrap_or(word));
        remaining = after;
    }
    out.push_str(remaining);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(feature = "cli")]
    fn sentences_name_flags_and_quoted_text_stays() {
        let words = Words::of_command(&[
            ("EDIT_INVALID_ARGUMENTS: `within` ", "EDIT_INVALID_ARGUMENTS: --within "),
            ("leave `within` out", "leave --within out"),
            ("Name it with `path` or `language`", "Name it with --language"),
            ("old_str", "--old"),
            ("new_str", "--new"),
            ("expected_replacements", "--expect"),
            ("replace_all", "--all"),
            ("near_line", "--near"),
        ]);
        for (said, shown) in [
            (
                "EDIT_NO_OCCURRENCE_FOUND: old_str is not in the file: line 3 has `old_str = 1`, not `new_str`\nNearest: line 3 (91 % similar). First difference at line 3:\n  old_str: old_str\n  file:    old_str = 1\nAs near: line 9 (91 % similar). First difference at line 9:\n  old_str: old_str\n  file:    old_str = 2\nNext: Copy line 3 of the file exactly into old_str, and the same text with your change into new_str.",
                "EDIT_NO_OCCURRENCE_FOUND: --old is not in the file: line 3 has `old_str = 1`, not `new_str`\nNearest: line 3 (91 % similar). First difference at line 3:\n  --old:   old_str\n  file:    old_str = 1\nAs near: line 9 (91 % similar). First difference at line 9:\n  --old:   old_str\n  file:    old_str = 2\nNext: Copy line 3 of the file exactly into --old, and the same text with your change into --new.",
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
            assert_eq!(words.message(said, false), shown);
        }
        let done = "Edited old_str at line 1.\n<<1>>old_str\nNote: new_str holds a code fence.";
        let shown = "Edited old_str at line 1.\n<<1>>old_str\nNote: --new holds a code fence.";
        assert_eq!(words.message(done, true), shown);
    }
}
