//! `restitch schema`: the declarations of the tools.

use super::args::SchemaArgs;
use super::exit::Exit;
use super::out;
use crate::tools::{Dialect, TOOLS, Visibility, export};

/// Prints the declarations in the format that `args` names.
pub(crate) fn run(args: &SchemaArgs) -> Result<(), Exit> {
    let format = export::Format::named("format", &args.format).map_err(Exit::usage)?;
    let dialect = match format {
        export::Format::Anthropic => Dialect::Anthropic,
        export::Format::Gemini => Dialect::Gemini,
        _ => Dialect::Restitch,
    };
    let listed = TOOLS.iter().filter(|tool| match tool.visibility {
        Visibility::Always => true,
        Visibility::InDialect(tool_dialect) => tool_dialect == dialect,
        Visibility::Guarded | Visibility::Staged => false,
    });
    out::print(format!("{:#}", export::export(format, listed)))
}
