//! The classes of errors with which an agent's tool refuses an edit.

named! {
    /// Why the agent's tool did not make an edit.
    pub enum FailureClass {
        /// The text to replace is not in the file.
        NotFound = "not found",
        /// The lines of a patch are not in the file.
        PatchContext = "patch context",
        /// The text to replace is in the file more than once.
        SeveralMatches = "several matches",
        /// The call would change nothing.
        NothingToChange = "nothing to change",
        /// The agent had not read the file.
        NotRead = "not read before",
        /// The file had changed since the agent read it.
        ChangedSinceRead = "changed since read",
        /// A person, a rule or a hook did not allow the edit.
        NotAllowed = "not allowed",
        /// There is no such file.
        NoSuchFile = "no such file",
        /// The call lacks an argument, or its patch cannot be parsed.
        Malformed = "malformed call",
        /// The call was interrupted, or the tool itself broke.
        Interrupted = "interrupted",
        /// None of these.
        Other = "other",
    }
}

use FailureClass as Class;

/// The words of clients' messages that show a class. The first match counts. An error quotes texts
/// of the file, so the words that clients use for texts come first.
const WORDS: &[(Class, &[&str])] = &[
    (
        Class::PatchContext,
        &["failed to find expected lines", "failed to find context", "invalid context"],
    ),
    (
        Class::NotFound,
        &[
            "string to replace not found",
            "oldstring not found",
            "old_string not found",
            "could not find the exact text",
            "0 occurrences found",
            "block not found",
            "does not match anything in the file",
        ],
    ),
    (
        Class::Interrupted,
        &[
            "sibling tool call",
            "synthetic error result",
            "interrupted",
            "aborted",
            "cancelled",
            "timed out",
        ],
    ),
    (
        Class::NotAllowed,
        &[
            "doesn't want to proceed",
            "permission",
            "pretooluse",
            "was rejected",
            "denied",
            "not allowed",
            "user rejected",
            "is blocked",
            "outside the project",
        ],
    ),
    (
        Class::NotRead,
        &["not been read", "read it first", "must read the file", "must be read before"],
    ),
    (
        Class::ChangedSinceRead,
        &["modified since", "has been modified", "unexpectedly modified", "changed since"],
    ),
    (
        Class::SeveralMatches,
        &[
            "matches of the string",
            "multiple",
            "more than once",
            "expected 1 occurrence but found",
            "must be unique",
            "several matches",
        ],
    ),
    (
        Class::NothingToChange,
        &["exactly the same", "no changes", "identical", "same as old content"],
    ),
    (
        Class::Malformed,
        &[
            "inputvalidationerror",
            "missing required",
            "required parameter",
            "invalid arguments",
            "invalid patch",
            "invalid hunk",
            "is not a valid",
            "expected update hunk",
            "could not be parsed",
            "unexpected parameter",
        ],
    ),
    (
        Class::NoSuchFile,
        &["not found: ", "no such file", "does not exist", "file not found", "enoent"],
    ),
    (
        Class::NotFound,
        &[
            "not found",
            "0 occurrences",
            "did not appear",
            "could not find",
            "failed to find",
            "verification failed",
            "no match",
        ],
    ),
];

/// The most bytes of an error that are searched: after them it quotes the texts of the call.
const HEAD: usize = 400;

impl FailureClass {
    /// Returns the class of an error message of a client.
    pub fn of(error: &str) -> Self {
        let error = error.to_lowercase();
        let quoted = ["\nstring:", "\nold_string", "\noriginal error"];
        let head = quoted.iter().filter_map(|mark| error.find(mark)).min().unwrap_or(error.len());
        let head = &error[..error.floor_char_boundary(head.min(HEAD))];
        let shown_in = |text: &str| {
            let mut classes = WORDS.iter();
            classes.find(|(_, words)| words.iter().any(|word| text.contains(word)))
        };
        shown_in(head).or_else(|| shown_in(&error)).map_or(Self::Other, |(class, _)| *class)
    }

    /// Whether the agent's tool looked for a text that it did not find. Only such an edit can be
    /// recovered.
    pub fn is_text_missing(self) -> bool {
        matches!(self, Self::NotFound | Self::PatchContext)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_clients_words_have_their_class() {
        for (error, class) in [
            (
                "String to replace not found in file.\nString: multiple, permission denied",
                Class::NotFound,
            ),
            ("old_string not found in file. Make sure it matches exactly", Class::NotFound),
            ("edit 1 failed: old_string not found in content.", Class::NotFound),
            (
                "Could not find the exact text in src/hooks.ts. The old text must match",
                Class::NotFound,
            ),
            ("Failed to edit, 0 occurrences found for old_string in a.py", Class::NotFound),
            (
                "The SEARCH block:\nis blocked\n...does not match anything in the file.",
                Class::NotFound,
            ),
            (
                "apply_patch verification failed: Failed to find expected lines in /a.ts:\nx",
                Class::PatchContext,
            ),
            (
                "failed in sandbox with execution error: sandbox denied exec error\nFailed to find expected lines in a",
                Class::PatchContext,
            ),
            (
                "Invalid patch hunk on line 13: Expected update hunk to start with a @@",
                Class::Malformed,
            ),
            (
                "Found 2 matches of the string to replace, but replace_all is false.",
                Class::SeveralMatches,
            ),
            (
                "Found 3 occurrences of the text in a. The text must be unique.",
                Class::SeveralMatches,
            ),
            ("old_string appears multiple times in the file", Class::SeveralMatches),
            (
                "No changes to make: old_string and new_string are exactly the same.",
                Class::NothingToChange,
            ),
            ("edit 6: old_string and new_string are identical", Class::NothingToChange),
            ("File has not been read yet. Read it first before writing to it.", Class::NotRead),
            ("you must read the file before editing it. Use the View tool first", Class::NotRead),
            (
                "File has been modified since read, either by the user or by a linter.",
                Class::ChangedSinceRead,
            ),
            ("File has been unexpectedly modified. Read it again", Class::ChangedSinceRead),
            ("The user doesn't want to proceed with this tool use.", Class::NotAllowed),
            ("Permission denied", Class::NotAllowed),
            ("PreToolUse:Edit hook error: no", Class::NotAllowed),
            ("File not found: /a/b", Class::NoSuchFile),
            ("Missing required parameter: newText (newText or new_string)", Class::Malformed),
            ("Sibling tool call errored", Class::Interrupted),
            ("", Class::Other),
        ] {
            assert_eq!(FailureClass::of(error), class, "{error}");
        }
    }
}
