//! The text of files: an immutable [`Snapshot`] of a file's bytes, decoded once, with a map from
//! every offset in the text to its byte.
//!
//! Matching and editing work on the decoded text; writing works on the original bytes. Nothing is
//! ever normalised and restored, so a byte that no edit covers cannot change.
//!
//! Limits: a file with NUL bytes is not text, unless it is UTF-16 with a byte order mark or the caller
//! names the encoding. In stateful encodings (ISO-2022-JP, HZ) only ASCII is written, unless the caller
//! names it.

mod content;
mod encoding;
mod escape;
mod hash;
mod lines;
mod redact;
mod snapshot;
pub mod tag;

pub use content::Content;
pub use encoding::{Encoding, NotText, Unencodable};
pub use escape::{escape_for_terminal, quote_name};
pub use hash::ContentHash;
pub use lines::{Line, LineEnding, LineIndex, LineSpan};
pub(crate) use lines::{
    clip, cut_note, format_ranges, gaps, is_word_char, lines as each_line, list_lines,
    merge_ranges, pluralize, words,
};
#[cfg(feature = "llm")]
pub(crate) use redact::without_credentials;
pub use redact::{redact, redact_json, register_secret, register_url_credentials};
pub use snapshot::Snapshot;
