//! Syntax in the answer: what is told, what is forbidden, and that nothing is claimed that was
//! not looked at.

mod check;
mod fuzz;
pub(crate) mod languages;
mod lexing;
mod settings;
mod veto;
mod within;

use restitch::adapters::syntax::TreeSitter;
use restitch::edit::{Splice, SyntaxCheck};
use restitch::port::Syntax as _;

/// What a parser says of replacing the one place of `old` by `new`.
fn replaced(path: &str, file: &str, old: &str, new: &str) -> SyntaxCheck {
    assert_eq!(file.matches(old).count(), 1, "{path}: {old:?} stands once");
    let start = file.find(old).expect("stands there");
    let splice = Splice { range: start..start + old.len(), text: new.to_owned() };
    let after = file.replacen(old, new, 1);
    TreeSitter::new().compare(path, file, &after, &[splice])
}
