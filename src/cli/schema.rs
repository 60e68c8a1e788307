//! `restitch schema`: the declarations of the tools.

use super::args::SchemaArgs;
use super::exit::Exit;
use super::out;
use crate::tools::{Dialect, TOOLS, Visibility, export};

/// Prints the declarations in the format that `args` names.
pub(crate) fn run(args: &SchemaArgs) -> Result<(), Exit> {
    let Some(format) = export::Format::parse(&args.format) else {
        let known: Vec<_> = export::Format::ALL.iter().map(|format| format.as_str()).collect();
        return Err(Exit::usage(format!(
            "there is no format `{}`; use one of: {}",
            args.format,
            known.join(", ")
        )));
    };
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
