//! YAML, which is parsed in Rust: the scanner of its tree-sitter grammar ends the process at 254
//! nested entries, and no look at a broken text tells how deep that scanner will take it to be.

use saphyr_parser::Parser;

use super::MAX_BYTES;
use super::errors::error_on_line;
use crate::edit::{SyntaxError, Unchecked};
use crate::language::Language;

/// Whether a file is YAML.
pub(super) fn covers(path: &str) -> bool {
    Language::from_path(path).is_some_and(|language| language.name == "yaml")
}

/// The first error of a text; the parser does not go on after it.
pub(super) fn error(text: &str) -> Result<Option<SyntaxError>, Unchecked> {
    if text.len() > MAX_BYTES {
        return Err(Unchecked::TooLarge);
    }
    let error = Parser::new_from_str(text).find_map(Result::err);
    Ok(error.map(|error| error_on_line(text, error.marker().line(), error.info())))
}
