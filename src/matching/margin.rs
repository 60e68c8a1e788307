//! Lines that belong at the margin of a file, whatever stands around them.

use super::call::Call;
use super::fold::is_word_char;
use super::indent::indent_of;
use super::shape::{first_word, is_among, leaves};
use super::source_file::SourceFile;

/// Whether a new line without indentation may belong at the margin of the file, whatever stands around
/// it. A line below it that the call keeps shows that it does not.
pub(super) fn belongs_at_margin(file: &SourceFile<'_>, call: &Call<'_>, at: usize) -> bool {
    let (new, line) = (&call.new, call.new[at]);
    let Some(language) = file.language.filter(|_| call.partner(at).is_none()) else { return false };
    let is_shared = |at: usize| call.partner(at).is_some() && !new[at].trim().is_empty();
    match language.name {
        "c" | "c++" | "objective-c" | "c#" => line.starts_with('#') || is_label(line),
        // A function with a name is inside no other.
        "go" => is_label(line) || line.starts_with("func "),
        "yaml" if line.starts_with("---") => true,
        "make" if is_among(MAKE_DIRECTIVES, first_word(line.trim_start_matches('-'))) => true,
        "ruby" | "perl" => {
            line.starts_with("__")
                || line.strip_prefix('=').is_some_and(|l| l.starts_with(is_word_char))
        }
        _ if !indent_of(line).is_empty() || (at + 1..new.len()).any(is_shared) => false,
        "python" => begins_module_level(new, at),
        "yaml" if line.starts_with("- ") => (0..new.len()).any(|other| {
            let is_key = indent_of(new[other]).is_empty() && !new[other].starts_with("- ");
            is_key && call.partner(other).is_some()
        }),
        "yaml" => line.trim_end().ends_with(':'),
        "markdown" => line.starts_with('#'),
        "make" => line.contains(':') || is_assignment(line),
        "haskell" => {
            line.contains(" :: ")
                || is_among("data newtype type class instance import module", first_word(line))
        }
        "ini" | "toml" => line.starts_with('['),
        _ => false,
    }
}

/// Whether a line of Python without indentation begins a part of the module: blank lines are above it, and
/// a single one only below what leaves a function.
fn begins_module_level(new: &[&str], at: usize) -> bool {
    let line = new[at];
    let blank_count = new[..at].iter().rev().take_while(|line| line.trim().is_empty()).count();
    let above = new[..at - blank_count].last();
    let is_left = || {
        // Below it, nothing of the function follows but a method of the same class.
        let def = new[at..].iter().find(|line| !line.starts_with('@')).unwrap_or(&line);
        let mut receivers = ["(self)", "(self,", "(cls)", "(cls,"].iter();
        let is_method = receivers.any(|receiver| def.contains(receiver));
        above.is_some_and(|l| leaves(l.trim()) && (indent_of(l).is_empty() || !is_method))
    };
    let is_parted = blank_count >= 2 || blank_count == 1 && is_left();
    let begins = is_among("class def async if import from", first_word(line));
    line.starts_with("if __name__") || is_parted && (line.starts_with('@') || begins)
}

/// What make reads itself, and no recipe.
const MAKE_DIRECTIVES: &str = "ifeq ifneq ifdef ifndef else endif include sinclude define endef export unexport override vpath undefine";

/// Whether a line of make sets a variable.
fn is_assignment(line: &str) -> bool {
    let name = ["+=", "?=", ":=", " = "].iter().find_map(|sign| line.split_once(sign));
    name.is_some_and(|(name, _)| !name.trim().contains(char::is_whitespace))
}

/// Whether a line is a label to jump to.
fn is_label(line: &str) -> bool {
    line.trim_end()
        .strip_suffix(':')
        .is_some_and(|name| !name.is_empty() && name != "default" && name.chars().all(is_word_char))
}
