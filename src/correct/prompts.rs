//! The prompts, which are compiled in and can be replaced by configuration. Slots are checked when a
//! prompt is loaded, and filled in one pass: a `{{` in the text that fills a slot is not a slot.
//!
//! Data is framed by lines with a mark that occurs in none of the data, so no content can imitate the
//! end of its frame. The mark is a hash of the data: the same question has the same prompt, which a
//! gateway with a cache answers without the model.

use std::collections::HashMap;
use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use crate::edit::AskKind;
use crate::port::{Ask, Question, Window};
use crate::text::ContentHash;

/// A prompt as it is compiled in.
#[derive(Debug, Clone, Copy)]
pub struct PromptSpec {
    /// The kind of question that the prompt is for.
    pub ask: AskKind,
    /// The name of the file that may replace the prompt.
    pub file: &'static str,
    /// The slots that the prompt must use, each at least once.
    pub slots: &'static [&'static str],
    /// The text compiled in.
    pub text: &'static str,
}

/// Every prompt.
pub const PROMPTS: &[PromptSpec] = &[
    PromptSpec {
        ask: AskKind::CorrectOld,
        file: "correct_old.md",
        slots: &["mark", "path", "change", "expected", "reason", "windows"],
        text: include_str!("../../prompts/correct_old.md"),
    },
    PromptSpec {
        ask: AskKind::AdjustNew,
        file: "adjust_new.md",
        slots: &["mark", "path", "change", "corrected_old", "reason"],
        text: include_str!("../../prompts/adjust_new.md"),
    },
    PromptSpec {
        ask: AskKind::RepairEscapes,
        file: "repair_escapes.md",
        slots: &["mark", "path", "old", "new"],
        text: include_str!("../../prompts/repair_escapes.md"),
    },
    PromptSpec {
        ask: AskKind::Choose,
        file: "choose.md",
        slots: &["mark", "path", "change", "corrected_old", "outcomes"],
        text: include_str!("../../prompts/choose.md"),
    },
];

/// Why a prompt cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the prompt {file} {why}")]
pub struct PromptError {
    file: String,
    why: String,
}

#[derive(Debug, Clone)]
enum Part {
    Text(String),
    Slot(&'static str),
}

#[derive(Debug, Clone)]
struct Template {
    system: Vec<Part>,
    user: Vec<Part>,
}

/// The prompts in use.
#[derive(Debug, Clone)]
pub struct PromptBook {
    templates: HashMap<AskKind, Template>,
    digest: [u8; 32],
}

/// A prompt with its slots filled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenderedPrompt {
    /// The system message.
    pub system: String,
    /// The user message.
    pub user: String,
}

impl PromptBook {
    /// The prompts that are compiled in.
    pub fn built_in() -> Result<Self, PromptError> {
        Self::with(|_| None)
    }

    /// The prompts with replacements: `replacement` returns the new text for a file name, or `None`
    /// to keep the text that is compiled in.
    pub fn with(mut replacement: impl FnMut(&str) -> Option<String>) -> Result<Self, PromptError> {
        let mut templates = HashMap::new();
        let mut digest = Sha256::new();
        for spec in PROMPTS {
            let replaced = replacement(spec.file);
            let text = replaced.as_deref().unwrap_or(spec.text);
            digest.update(u64::try_from(text.len()).unwrap_or(u64::MAX).to_le_bytes());
            digest.update(text.as_bytes());
            templates.insert(spec.ask, parse_template(spec, text)?);
        }
        let mut out = [0; 32];
        out.copy_from_slice(&digest.finalize());
        Ok(Self { templates, digest: out })
    }

    /// A hash of the prompts in use.
    pub fn digest(&self) -> &[u8; 32] {
        &self.digest
    }

    /// Fills the slots of the prompt for a question.
    pub fn render(&self, ask: &Ask) -> Option<RenderedPrompt> {
        let template = self.templates.get(&ask.kind())?;
        let mark = unused_mark(ask);
        let framed = |name: &str, text: &str| frame(&mark, name, text);
        let value = |slot: &str| match (slot, &ask.question) {
            ("mark", _) => mark.clone(),
            // Escaped, so that a line break in a path cannot start a new line of the prompt.
            ("path", _) => ask.path.escape_debug().to_string(),
            ("old", _) => framed("old_str", &ask.old),
            ("new", _) => framed("new_str", &ask.new),
            ("change", _) => framed("change", &ask.change()),
            (
                "corrected_old",
                Question::AdjustNew { corrected_old, .. } | Question::Choose { corrected_old, .. },
            ) => framed("lines", corrected_old),
            ("expected", Question::CorrectOld { expected: Some(1), .. }) => "once".into(),
            ("expected", Question::CorrectOld { expected: Some(n), .. }) => format!("{n} times"),
            ("expected", _) => "as often as it is meant".into(),
            (
                "reason",
                Question::CorrectOld { reason: Some(reason), .. }
                | Question::AdjustNew { reason, .. },
            ) => framed("what was wrong with your first answer", reason),
            ("windows", Question::CorrectOld { windows, .. }) => excerpts(&mark, windows),
            ("outcomes", Question::Choose { outcomes, .. }) => {
                let outcome =
                    |(n, text): (usize, &String)| frame(&mark, &format!("outcome {n}"), text);
                (1..).zip(outcomes).map(outcome).collect()
            }
            _ => String::new(),
        };
        let fill = |parts: &[Part]| {
            parts.iter().fold(String::new(), |mut out, part| {
                match part {
                    Part::Text(text) => out.push_str(text),
                    Part::Slot(slot) => out.push_str(&value(slot)),
                }
                out
            })
        };
        Some(RenderedPrompt { system: fill(&template.system), user: fill(&template.user) })
    }
}

/// Parses the text of a prompt and checks its slots.
fn parse_template(spec: &PromptSpec, text: &str) -> Result<Template, PromptError> {
    let bad = |why: String| PromptError { file: spec.file.to_owned(), why };
    let text = text.replace("\r\n", "\n");
    let body = text
        .strip_prefix("# system\n")
        .ok_or_else(|| bad("does not begin with the line `# system`".into()))?;
    let (system, user) =
        body.split_once("\n# user\n").ok_or_else(|| bad("has no line `# user`".into()))?;
    let mut used = Vec::new();
    let mut parts = |text: &str| -> Result<Vec<Part>, PromptError> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("{{") {
            let (name, after) = after
                .split_once("}}")
                .ok_or_else(|| bad("has a `{{` that is never closed".into()))?;
            let slot = spec.slots.iter().find(|slot| **slot == name.trim()).ok_or_else(|| {
                bad(format!(
                    "has an unknown slot `{{{{{name}}}}}`; it may use: {}",
                    spec.slots.join(", ")
                ))
            })?;
            used.push(*slot);
            parts.extend([Part::Text(before.to_owned()), Part::Slot(slot)]);
            rest = after;
        }
        parts.push(Part::Text(rest.to_owned()));
        Ok(parts)
    };
    let template = Template { system: parts(system)?, user: parts(user)? };
    match spec.slots.iter().find(|slot| !used.contains(slot)) {
        Some(missing) => Err(bad(format!("lacks the slot `{{{{{missing}}}}}`"))),
        None => Ok(template),
    }
}

/// A mark that occurs in no text of the question, the same for the same texts.
fn unused_mark(ask: &Ask) -> String {
    // The debug form quotes and escapes each text. The file's hash is not sent, and left out here.
    let texts = format!("{:?}", (&ask.path, &ask.old, &ask.new, &ask.question));
    let mut marks = (0_u64..).map(|n| {
        let mut mark = ContentHash::of(format!("{n} {texts}").as_bytes()).to_string();
        mark.truncate(16);
        mark
    });
    let is_unused = |mark: &String| !texts.contains(mark.as_str());
    marks.find(is_unused).unwrap_or_default()
}

/// The text, unchanged, between a BEGIN line and an END line with the mark. If the text lacks a final
/// line break, the BEGIN line says so.
fn frame(mark: &str, name: &str, text: &str) -> String {
    let is_complete = text.is_empty() || text.ends_with('\n');
    let (note, line_break) =
        if is_complete { ("", "") } else { (" (no line break at the end)", "\n") };
    format!("BEGIN {name} {mark}{note}\n{text}{line_break}END {name} {mark}\n")
}

/// The excerpts of the file, framed and with line numbers.
fn excerpts(mark: &str, windows: &[Window]) -> String {
    let mut out = String::new();
    for (excerpt_number, window) in (1..).zip(windows) {
        let mut numbered = String::with_capacity(window.text.len() * 5 / 4);
        for (line_number, line) in (window.start_line..).zip(window.text.split_inclusive('\n')) {
            let _ = write!(numbered, "{line_number}|{line}");
        }
        out.push_str(&frame(mark, &format!("candidate {excerpt_number}"), &numbered));
    }
    out
}
