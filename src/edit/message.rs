//! Sentences for callers that name arguments and tools. Each caller knows these by names of its own, so
//! a sentence keeps where it names them, and is written out in the caller's words.

use std::borrow::Cow;
use std::fmt::{self, Write};
use std::ops::Deref;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

/// Defines the arguments and tools that sentences name, with the name that each has here.
macro_rules! names {
    ($($name:ident = $text:literal,)*) => {
        /// What a sentence names.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[allow(
            clippy::upper_case_acronyms,
            non_camel_case_types,
            reason = "they stand in sentences, as `{OLD}`"
        )]
        pub(crate) enum Name {
            $($name,)*
        }

        $(
            #[allow(dead_code, reason = "a build without search or the command line says fewer")]
            pub(crate) const $name: Name = Name::$name;
        )*

        /// The name of each here. It is a static of its own, which no other text shares: a message knows
        /// by the address that a name is written.
        static OWN: &[(Name, &str)] = &[$((Name::$name, {
            static TEXT: [u8; $text.len()] = *$text;
            match std::str::from_utf8(&TEXT) {
                Ok(text) => text,
                Err(_) => panic!("UTF-8"),
            }
        }),)*];
    };
}

names! {
    OLD = b"old_str",
    NEW = b"new_str",
    REPLACE_ALL = b"replace_all",
    EXPECTED = b"expected_replacements",
    NEAR = b"near_line",
    WITHIN = b"`within`",
    LANGUAGE = b"`path` or `language`",
    PATH = b"the path",
    GLOB = b"the glob",
    EMPTY_OLD = b"edit it with an empty old_str",
    FIRST_LINE = b"lines ",
    LAST_LINE = b"-",
    READ_FILE = b"read_file",
    SEARCH = b"search",
    LIST_FILES = b"list_files",
    THEN = b" ",
}

impl Name {
    /// Its name here. [`THEN`] is no name: it stands between two sentences of advice, of which one may
    /// be left out.
    pub(crate) fn as_str(self) -> &'static str {
        OWN[self as usize].1
    }

    /// The argument or tool with this name here.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        OWN.iter().find(|(_, own)| *own == name).map(|(name, _)| *name)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The words of a caller.
#[derive(Debug, Clone, Default)]
pub(crate) struct Words {
    /// What it calls a name, or that it does not have it; another name is as it is here.
    own: Vec<(Name, Option<String>)>,
}

impl Words {
    /// What the caller calls a name; `None` if it does not have it.
    pub(crate) fn word(&self, name: Name) -> Option<&str> {
        let own = self.own.iter().find(|(other, _)| *other == name);
        own.map_or(Some(name.as_str()), |(_, own)| own.as_deref())
    }

    /// Sets what the caller calls a name; `None` if it does not have it.
    pub(crate) fn set(&mut self, name: Name, own: Option<&str>) {
        self.own.retain(|(other, _)| *other != name);
        self.own.push((name, own.map(str::to_owned)));
    }
}

/// A message in restitch's own words, which knows where it names arguments and tools.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Message {
    text: String,
    /// Where the text has which name, from front to back.
    names: Vec<(usize, Name)>,
}

/// A [`Message`] from a format string with [`Name`]s in it.
macro_rules! said {
    ($($sentence:tt)*) => { $crate::edit::Message::of(format_args!($($sentence)*)) };
}
pub(crate) use said;

impl Message {
    /// What a format string says.
    pub(crate) fn of(sentence: fmt::Arguments<'_>) -> Self {
        let mut message = Self::default();
        message.push(sentence);
        message
    }

    /// Adds this at the end.
    pub(crate) fn push(&mut self, more: impl fmt::Display) {
        // A message takes all that is written into it.
        let _ = write!(self, "{more}");
    }

    /// The message in the words of a caller.
    pub(crate) fn in_words(&self, words: &Words) -> Self {
        let word = |name: Name| words.word(name).unwrap_or(name.as_str());
        self.pieces().map(|piece| piece.unwrap_or_else(word)).collect::<String>().into()
    }

    /// The same without the sentences that name what the caller does not have; `None` if none is left.
    pub(crate) fn advice_in_words(&self, words: &Words) -> Option<Self> {
        let mut kept: Vec<String> = Vec::new();
        let mut sentence = Some(String::new());
        for piece in self.pieces().chain([Err(THEN)]) {
            match piece {
                Err(THEN) => {
                    kept.extend(sentence.filter(|sentence| !sentence.is_empty()));
                    sentence = Some(String::new());
                }
                Err(name) => {
                    sentence = sentence.zip(words.word(name)).map(|(text, own)| text + own)
                }
                Ok(text) => sentence = sentence.map(|sentence| sentence + text),
            }
        }
        (!kept.is_empty()).then(|| kept.join(THEN.as_str()).into())
    }

    /// The texts and the names that it is made of.
    fn pieces(&self) -> impl Iterator<Item = Result<&str, Name>> {
        let mut at = 0;
        let named = self.names.iter().flat_map(move |(start, name)| {
            let before = &self.text[at..*start];
            at = start + name.as_str().len();
            [Ok(before), Err(*name)]
        });
        let end = self.names.last().map_or(0, |(start, name)| start + name.as_str().len());
        named.chain([Ok(&self.text[end..])])
    }
}

impl Write for Message {
    /// Takes one piece of what is formatted. A name is written in one piece with an address of its own;
    /// a text that only reads like one, as a line of the file may, has another.
    fn write_str(&mut self, piece: &str) -> fmt::Result {
        if let Some((name, _)) = OWN.iter().find(|(_, own)| std::ptr::eq(*own, piece)) {
            self.names.push((self.text.len(), *name));
        }
        self.text.push_str(piece);
        Ok(())
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pieces().try_for_each(|piece| f.write_str(piece.unwrap_or_else(|name| name.as_str())))
    }
}

impl Deref for Message {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl From<String> for Message {
    fn from(text: String) -> Self {
        Self { text, names: Vec::new() }
    }
}

impl From<&str> for Message {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl Serialize for Message {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl JsonSchema for Message {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Message".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        String::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words() -> Words {
        let mut words = Words::default();
        words.set(OLD, Some("--old"));
        words.set(NEAR, None);
        words
    }

    #[test]
    fn only_what_a_sentence_names_is_reworded() {
        // Text of a file, which may have the letters of a name, and even those of a whole one.
        let quoted = ["old_str", "a old_str b", ""].map(str::to_owned);
        let [name, line, none] = &quoted;
        let inner = said!("{OLD} has `{name}`");
        let message = said!("edit 2: {inner}, not `{line}`{none}, old_str; {OLD}");
        assert_eq!(&*message, "edit 2: old_str has `old_str`, not `a old_str b`, old_str; old_str");
        let shown = "edit 2: --old has `old_str`, not `a old_str b`, old_str; --old";
        assert_eq!(&*message.in_words(&words()), shown);
        assert_eq!(message.in_words(&words()).in_words(&words()), message.in_words(&words()));
    }

    #[test]
    fn advice_that_needs_what_is_not_there_is_left_out() {
        let mut hint = said!("Add lines to {OLD}.{THEN}Or give {NEAR}.");
        hint.push(format_args!("{THEN}Go on."));
        assert_eq!(&*hint, "Add lines to old_str. Or give near_line. Go on.");
        let advice = hint.advice_in_words(&words());
        assert_eq!(advice.as_deref(), Some("Add lines to --old. Go on."));
        assert_eq!(said!("Give {NEAR}.").advice_in_words(&words()), None);
    }
}
