//! The structural veto: a result must not break brackets or literals that are intact in the file
//! and in the call. It only forbids; it never decides how a text is repaired.

use super::costs::Difference;
use super::escapes::QUOTES;
use super::reading::Reading;
use super::source_file::SourceFile;
use crate::edit::{Splice, apply_splices};
use crate::language::{Lexed, Token, TokenKind};

/// Whether splices break brackets or literals that were intact. `false` for a language that is not
/// lexed, for a file that was broken before, and for a reading whose `new` opens or closes other brackets
/// or literals than `old`.
pub(super) fn breaks_structure(
    file: &SourceFile<'_>,
    splices: &[Splice],
    reading: &Reading,
) -> bool {
    let Some(language) = file.language.filter(|_| file.proves_structure()) else { return false };
    if !file.lexed().is_some_and(Lexed::is_well_formed) {
        return false;
    }
    let after = apply_splices(file.text, splices);
    if language.lex(&after).is_well_formed() {
        return false;
    }
    // A literal of one line that is open because an escape was undone is not one that the call opens. Its
    // quotes are code.
    let has_cut = |text: &str, lexed: &Lexed| {
        let is_bare = |at: usize| text[at..].starts_with(QUOTES) && !text[..at].ends_with('\\');
        let code = lexed.tokens.iter().filter(|token| token.kind == TokenKind::Code);
        let offsets = |token: &Token| token.range.clone().filter(|at| text.is_char_boundary(*at));
        !lexed.closed && code.flat_map(offsets).any(is_bare)
    };
    let Reading { old: old_text, new: new_text, mistakes, .. } = reading;
    let (old, new) = (language.lex(old_text), language.lex(new_text));
    let is_cut = || has_cut(new_text, &new) && !has_cut(old_text, &old);
    old.closed == new.closed && old.unmatched == new.unmatched
        || mistakes.contains(&Difference::Unescape) && is_cut()
}
