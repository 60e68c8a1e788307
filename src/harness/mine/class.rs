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

/// The words of clients' messages, each with the class that it shows.
fn words() -> impl Iterator<Item = (&'static str, &'static str)> {
    include_str!("class.tsv").lines().filter_map(|row| row.split_once('\t'))
}

/// The most bytes of an error that are searched: after them it quotes the texts of the call.
const HEAD: usize = 400;

impl FailureClass {
    /// Returns the class of an error message of a client.
    pub fn of(error: &str) -> Self {
        let error = error.to_lowercase();
        let quoted = ["\nstring:", "\nold_string", "\noriginal error"];
        let head = quoted.iter().filter_map(|mark| error.find(mark)).min().unwrap_or(error.len());
        let head = &error[..error.floor_char_boundary(head.min(HEAD))];
        let shown_in = |text: &str| words().find(|(_, words)| text.contains(words));
        let class = shown_in(head).or_else(|| shown_in(&error));
        class.and_then(|(class, _)| Self::parse(class)).unwrap_or(Self::Other)
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
        assert!(words().all(|(class, _)| FailureClass::parse(class).is_some()));
        for row in include_str!("class_errors.tsv").lines() {
            let (class, error) = row.split_once('\t').expect("two cells");
            let error = error.replace("\\n", "\n");
            assert_eq!(FailureClass::of(&error).as_str(), class, "{error}");
        }
    }
}
