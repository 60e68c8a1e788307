//! `restitch schema`: the declarations of the tools.

use super::args::SchemaArgs;
use super::exit::Exit;
use super::out;
use crate::tools::{Dialect, TOOLS, ToolSet, export};

/// Prints the declarations in the format that `args` names.
pub(crate) fn run(args: &SchemaArgs) -> Result<(), Exit> {
    let dialect = match args.format {
        export::Format::Anthropic => Dialect::Anthropic,
        export::Format::Gemini => Dialect::Gemini,
        _ => Dialect::Restitch,
    };
    let listed = TOOLS.iter().filter(|tool| ToolSet::All.has(tool, dialect));
    out::print(format!("{:#}", export::export(args.format, listed)))
}
