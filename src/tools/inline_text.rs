//! Edits of a text that the caller sends and gets back, without a file, stored state or a model.

use std::slice::from_ref;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::edit_file::TextEdit;
use super::{ToolReply, parse_leniently};
use crate::apply::decide_edits;
use crate::edit::{EditReport, EditRequest, Refusal, VerifiedEdit};
use crate::engine::SyntaxGate;
use crate::language::Language;
use crate::text::Snapshot;

/// The text of a call.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
struct InlineText {
    /// The text to edit.
    text: String,
    /// Where it is from: names the language, and is not looked at.
    path: Option<String>,
    /// The language, where no path tells.
    language: Option<String>,
}

/// The arguments of an `edit_file` call that contains the text to edit.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
struct Arguments {
    #[serde(flatten)]
    inline: InlineText,
    #[serde(flatten)]
    edit: TextEdit,
    /// The definition that contains the text: class Pool / fn open.
    within: Option<String>,
}

/// The arguments of a `multi_edit` call that contains the text to edit.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
struct ManyArguments {
    #[serde(flatten)]
    inline: InlineText,
    /// The edits, each against the text as it is.
    edits: Vec<InlineEdit>,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
struct InlineEdit {
    /// As for the text; every edit is of that one text.
    path: Option<String>,
    #[serde(flatten)]
    edit: TextEdit,
}

/// The report of an edit, and the text afterwards.
#[derive(Debug, Serialize)]
struct Report {
    #[serde(flatten)]
    edit: EditReport,
    text: String,
}

/// Whether the arguments contain the text to edit.
pub(crate) fn has_inline_text(arguments: &Value) -> bool {
    arguments.as_object().is_some_and(|given| given.contains_key("text"))
}

/// Answers a call of `edit_file` or `multi_edit` that contains the text to edit, as `text`. The
/// edited text is in `report.text`.
pub(crate) fn edit_text_with(tool: &str, given: Value, gate: &SyntaxGate) -> ToolReply {
    edit_text(tool, given, gate).unwrap_or_else(ToolReply::refused)
}

fn edit_text(tool: &str, given: Value, gate: &SyntaxGate) -> Result<ToolReply, Refusal> {
    let (InlineText { text, mut path, language }, edits) = match tool {
        "edit_file" => {
            let Arguments { inline, edit, within } = parse_leniently(tool, given)?;
            (inline, vec![InlineEdit { path: None, edit: TextEdit { within, ..edit } }])
        }
        "multi_edit" => {
            let ManyArguments { inline, edits } = parse_leniently(tool, given)?;
            (inline, edits)
        }
        _ => {
            return Err(Refusal::invalid(
                format!("`{tool}` edits files and takes no `text`"),
                "Send `path`, or edit the text with `edit_file` or `multi_edit`.",
            ));
        }
    };
    for other in edits.iter().filter_map(|edit| edit.path.as_ref()) {
        if path.get_or_insert_with(|| other.clone()) != other {
            return Err(Refusal::invalid(
                format!("`text` is one file's content, but an edit names a second path, `{other}`"),
                "Send one call for each text, or leave `text` out to edit files.",
            ));
        }
    }
    let language = language.as_deref().map(parse_language).transpose()?;
    let calls = edits.iter().map(|edit| Ok(EditRequest { language, ..edit.edit.request()? }));
    let calls = calls.collect::<Result<Vec<_>, Refusal>>()?;
    Ok(reply(&decide(path.as_deref(), &Snapshot::from_text(text), &calls, gate)?))
}

/// Applies the calls to a text.
fn decide(
    path: Option<&str>,
    before: &Snapshot,
    calls: &[EditRequest],
    gate: &SyntaxGate,
) -> Result<VerifiedEdit, Refusal> {
    // Without a path, a made-up one with the extension of the language says how to parse the text.
    let language = calls.first().and_then(|call| call.language);
    let extension = language.and_then(|language| language.extensions.first());
    let made_up_path = extension.map(|extension| format!("text.{extension}"));
    let edit = decide_edits(path.or(made_up_path.as_deref()), before, calls, gate)?;
    Ok(gate.with_syntax_check(edit))
}

/// The reply to a call that edited a text, with the edited text in its report.
fn reply(edit: &VerifiedEdit) -> ToolReply {
    let text = edit.plan().map(|plan| plan.text_after()).unwrap_or_default();
    let report = EditReport::new(edit);
    ToolReply::answered(report.text_as_edited(), Report { edit: report, text })
}

/// Applies a call to the bytes of a file; returns the new bytes, and the reply.
pub(crate) fn edit_bytes(
    bytes: Vec<u8>,
    call: &EditRequest,
    gate: &SyntaxGate,
) -> Result<(Vec<u8>, ToolReply), Refusal> {
    let before = Snapshot::decode(bytes).map_err(crate::apply::not_text)?;
    let edit = decide(None, &before, from_ref(call), gate)?;
    let after = edit.after().map(|content| content.to_vec()).unwrap_or_default();
    Ok((after, reply(&edit)))
}

/// The language with the name that a caller gives.
pub(crate) fn parse_language(name: &str) -> Result<&'static Language, Refusal> {
    Language::from_name(name).ok_or_else(|| {
        Refusal::invalid(
            format!("there is no language `{name}`"),
            "Give a file extension such as `rs`, `py` or `go`, or leave it out.",
        )
    })
}
