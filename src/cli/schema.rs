//! `restitch schema`: the declarations of the tools.

use super::exit::Exit;
use super::out;
use crate::tools::{Dialect, TOOLS, ToolSet, export};

/// Prints the declarations in the format that is named.
pub(crate) fn run(format: export::Format) -> Result<(), Exit> {
    let dialect = match format {
        export::Format::Anthropic => Dialect::Anthropic,
        export::Format::Gemini => Dialect::Gemini,
        _ => Dialect::Restitch,
    };
    let listed = TOOLS.iter().filter(|tool| ToolSet::All.has(tool, dialect));
    out::print(format!("{:#}", export::export(format, listed)))
}
