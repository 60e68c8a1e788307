//! The commands, with one file for each.

pub(crate) mod compare;
pub(crate) mod generate;
pub(crate) mod measure;
pub(crate) mod replay;
