//! The structural veto: a result must not break brackets or literals that are intact in the file
//! and in the call. It only forbids; it never decides how a text is repaired.

use super::source_file::SourceFile;
use crate::edit::{Splice, apply_splices};
use crate::language::Lexed;

/// Whether splices break brackets or literals that were intact. `false` for a language that is not
/// lexed, for a file that was broken before, and for a call whose `new` opens or closes other brackets
/// or literals than `old`.
pub(super) fn breaks_structure(
    file: &SourceFile<'_>,
    splices: &[Splice],
    old: &str,
    new: &str,
) -> bool {
    let Some(language) = file.language.filter(|_| file.proves_structure()) else { return false };
    if !file.lexed().is_some_and(Lexed::is_well_formed) {
        return false;
    }
    let after = apply_splices(file.text, splices);
    if language.lex(&after).is_well_formed() {
        return false;
    }
    let (old, new) = (language.lex(old), language.lex(new));
    old.closed == new.closed && old.unmatched == new.unmatched
}
