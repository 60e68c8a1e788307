//! The words of a caller: its own names of the arguments, and no advice that needs an argument or a
//! tool that it does not have. A refusal gets them before its text is made.
//!
//! Only restitch's own sentences are reworded. What they quote stays as it is: code between
//! backticks, lines of the file, and diffs.

use serde_json::Value;

use super::arguments::SYNONYMS;
use super::schema::{branches, properties};
use super::{TOOLS, ToolReply};
use crate::edit::{EditReport, Refusal};
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

/// The flags of `restitch edit`.
#[cfg(feature = "cli")]
pub(crate) const EDIT_FLAGS: &[(&str, &str)] = &[
    ("`within`", "--within"),
    ("Name it with `path` or `language`", "Name it with --language"),
    ("old_str", "--old"),
    ("new_str", "--new"),
    ("expected_replacements", "--expect"),
    ("replace_all", "--all"),
    ("near_line", "--near"),
    ("request_id", "--request-id"),
];

/// The flags of `restitch read`.
#[cfg(feature = "cli")]
pub(crate) const READ_FLAGS: &[(&str, &str)] = &[
    ("edit it with an empty old_str", "use `restitch edit` with an empty --old"),
    ("ranges", "--ranges"),
];

/// The flags of `restitch search`.
#[cfg(feature = "cli")]
pub(crate) const SEARCH_FLAGS: &[(&str, &str)] = &[
    ("narrow the search with path", "narrow the search with --path"),
    ("narrow with path or glob", "narrow with --path or --glob"),
    ("Check the path, or leave it out", "Check --path, or leave it out"),
    ("keyword", "term"),
    ("glob", "--glob"),
    ("context", "--context"),
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
            let names = group.map(Vec::as_slice).unwrap_or_default().iter().filter(is_name);
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

    /// The refusal in these words.
    pub(crate) fn refusal(&self, mut refusal: Refusal) -> Refusal {
        refusal.message = self.sentence(&refusal.message);
        for outcome in &mut refusal.outcomes {
            outcome.how = self.sentence(&outcome.how);
        }
        for attempt in &mut refusal.attempts {
            attempt.detail = self.sentence(&attempt.detail);
        }
        let hint = refusal.hint.take().map(|hint| self.advice(&hint));
        refusal.hint = hint.filter(|hint| !hint.is_empty());
        refusal
    }

    /// The text of a refusal in these words.
    #[cfg(feature = "cli")]
    pub(crate) fn text(&self, refusal: &Refusal) -> String {
        self.refused(refusal.clone()).message
    }

    /// The reply to a refused call in these words.
    #[cfg(feature = "cli")]
    pub(crate) fn refused(&self, refusal: Refusal) -> ToolReply {
        let refusal = self.refusal(refusal);
        ToolReply::refused_as(&refusal, refusal.text_with(&refusal.to_string(), self.label()))
    }

    /// The report of an edit with its notes in these words.
    pub(crate) fn report(&self, mut report: EditReport) -> EditReport {
        for warning in &mut report.explanation.warnings {
            *warning = self.sentence(warning);
        }
        report
    }

    /// The same for several files.
    pub(super) fn reports(&self, reports: Vec<EditReport>) -> Vec<EditReport> {
        reports.into_iter().map(|report| self.report(report)).collect()
    }

    /// What the line of the call is labelled with.
    pub(super) fn label(&self) -> &str {
        let renamed = self.renamed.iter().find(|(name, _)| *name == "old_str");
        renamed.map_or("old_str", |(_, own)| if own.contains(' ') { "call" } else { own })
    }

    /// The sentences of advice that the caller can follow.
    pub(super) fn advice(&self, hint: &str) -> String {
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
        let phrases = self.renamed.iter().filter(|(phrase, _)| phrase.contains([' ', '`']));
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

#[cfg(all(test, feature = "cli"))]
mod tests {
    use super::*;
    use crate::edit::EditCode;

    #[test]
    fn sentences_name_flags_and_quoted_text_stays() {
        let words = Words::of_command(EDIT_FLAGS);
        for (said, shown) in [
            ("line 3 has `old_str = 1`, not `new_str`", "line 3 has `old_str = 1`, not `new_str`"),
            ("old_str is at line 2", "--old is at line 2"),
            (
                "line 1 has `a `old_str` b`, and `new_str` (see old_str/new_str.rs): old_str.",
                "line 1 has `a `old_str` b`, and `new_str` (see old_str/new_str.rs): --old.",
            ),
            ("Name it with `path` or `language`.", "Name it with --language."),
            ("Set expected_replacements or replace_all.", "Set --expect or --all."),
        ] {
            assert_eq!(words.sentence(said), shown);
        }
        let hint =
            "Did you mean `a/old_str.py`? Or use edit_lines. Or edit it with an empty old_str.";
        let refusal = Refusal::new(EditCode::NoOccurrence, "old_str is not there").hint(hint);
        assert_eq!(
            words.text(&refusal),
            "EDIT_NO_OCCURRENCE_FOUND: --old is not there\nNext: Did you mean `a/old_str.py`? Or edit it with an empty --old."
        );
    }
}
