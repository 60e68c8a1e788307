//! Packs: many generated cases in one file, with one JSON object on each line. Each source file is
//! in it once, followed by the cases that refer to it. A folder for each case is easier to read; a
//! pack can hold thousands of cases.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::num::NonZeroUsize;

use serde::{Deserialize, Serialize};

use super::case::{Case, Truth};
use crate::edit::{EditCode, Expected};

/// The end of a pack's file name.
pub const SUFFIX: &str = ".pack.jsonl";

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum PackLine {
    Source(SourceLine),
    Case(Box<CaseLine>),
}

#[derive(Serialize, Deserialize)]
struct SourceLine {
    /// The source's id, which the lines of its cases name.
    source: String,
    language: String,
    path: String,
    text: String,
}

#[derive(Serialize, Deserialize)]
struct CaseLine {
    id: String,
    #[serde(rename = "way")]
    cause: String,
    family: String,
    #[serde(rename = "of")]
    source_id: String,
    /// The difference between the file and its source: start and end byte, and the text that
    /// replaces these bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    patch: Option<(usize, usize, String)>,
    old: String,
    new: String,
    /// The number of replacements; 0 for all occurrences, `None` for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expected: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    near_line: Option<usize>,
    /// The bytes that a right edit replaces, and the right texts; `None` if the call must be
    /// refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    right: Option<(usize, usize, Vec<String>)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    refuse: Vec<String>,
    /// The reason why the case is known to fail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    known_failure: Option<String>,
}

/// A case of a pack, with the reason if it is known to fail.
pub(crate) type PackedCase = (Case, Option<String>);

/// Writes cases into the text of a pack. Each comes with the reason if it is known to fail; a
/// source that several cases share is written once.
pub fn write<'c>(
    entries: impl Iterator<Item = (&'c Case, Option<&'c str>)>,
) -> Result<String, serde_json::Error> {
    let mut sources: BTreeMap<String, SourceLine> = BTreeMap::new();
    let mut lines = Vec::new();
    for (case, known_failure) in entries {
        // The id of a generated case is `MUTATION@EDIT`; the cases of an edit share a source.
        let source_id =
            case.id.split_once('@').map_or(case.id.as_str(), |(_, edit)| edit).to_owned();
        let before = String::from_utf8_lossy(&case.before).into_owned();
        let source = sources.entry(source_id.clone()).or_insert_with(|| SourceLine {
            source: source_id.clone(),
            language: case.language.clone(),
            path: case.path.clone(),
            text: before.clone(),
        });
        let (right, refuse) = match &case.truth {
            Truth::Right { range, texts } => {
                (Some((range.start, range.end, texts.clone())), Vec::new())
            }
            Truth::Refused(codes) => {
                (None, codes.iter().map(|code| code.as_str().to_owned()).collect())
            }
        };
        lines.push(CaseLine {
            id: case.id.clone(),
            cause: case.cause.clone(),
            family: case.family.clone(),
            source_id,
            patch: patch(&source.text, &before),
            old: case.old.clone(),
            new: case.new.clone(),
            expected: match case.expected {
                Expected::All => Some(0),
                Expected::Exactly(count) if count.get() == 1 => None,
                Expected::Exactly(count) => Some(count.get()),
            },
            near_line: case.near_line,
            right,
            refuse,
            known_failure: known_failure.map(str::to_owned),
        });
    }
    let mut out = String::new();
    for source in sources.into_values() {
        let _ = writeln!(out, "{}", serde_json::to_string(&PackLine::Source(source))?);
    }
    for line in lines {
        let _ = writeln!(out, "{}", serde_json::to_string(&PackLine::Case(Box::new(line)))?);
    }
    Ok(out)
}

/// Reads the cases from the text of a pack, or returns an error that names the broken line.
pub(crate) fn read(text: &str) -> Result<Vec<PackedCase>, String> {
    let mut sources: BTreeMap<String, SourceLine> = BTreeMap::new();
    let mut entries = Vec::new();
    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
        let invalid = |why: String| format!("line {number}: {why}");
        match serde_json::from_str(line).map_err(|e| invalid(e.to_string()))? {
            PackLine::Source(source) => {
                sources.insert(source.source.clone(), source);
            }
            PackLine::Case(packed) => {
                let source = sources.get(&packed.source_id).ok_or_else(|| {
                    invalid(format!("no line above has the source `{}`", packed.source_id))
                })?;
                entries.push(unpack(*packed, source).map_err(invalid)?);
            }
        }
    }
    Ok(entries)
}

/// Makes the case of a line of a pack.
fn unpack(packed: CaseLine, source: &SourceLine) -> Result<PackedCase, String> {
    let check = |name: &str, text: &str, start: usize, end: usize| match text.get(start..end) {
        Some(_) => Ok(start..end),
        None => Err(format!("`{name}` names the bytes {start}..{end}, which are not there")),
    };
    let mut before = source.text.clone();
    if let Some((start, end, text)) = packed.patch {
        before.replace_range(check("patch", &before, start, end)?, &text);
    }
    let truth = match packed.right {
        Some((start, end, texts)) => {
            Truth::Right { range: check("right", &before, start, end)?, texts }
        }
        None => {
            let parse_code = |code: &String| {
                EditCode::parse(code)
                    .ok_or_else(|| format!("`{code}` is not an error code of restitch"))
            };
            Truth::Refused(packed.refuse.iter().map(parse_code).collect::<Result<_, _>>()?)
        }
    };
    let case = Case {
        id: packed.id,
        cause: packed.cause,
        family: packed.family,
        language: source.language.clone(),
        path: source.path.clone(),
        before: before.into_bytes(),
        old: packed.old,
        new: packed.new,
        expected: match packed.expected {
            None => Expected::default(),
            Some(count) => NonZeroUsize::new(count).map_or(Expected::All, Expected::Exactly),
        },
        near_line: packed.near_line,
        truth,
    };
    Ok((case, packed.known_failure))
}

/// Returns the one replacement that turns `source` into `file`: start and end byte in `source`,
/// and the new text. `None` if the two are equal.
pub(crate) fn patch(source: &str, file: &str) -> Option<(usize, usize, String)> {
    if source == file {
        return None;
    }
    let same = |(a, b): &(char, char)| a == b;
    let bytes = |(a, _): (char, char)| a.len_utf8();
    let head: usize = source.chars().zip(file.chars()).take_while(same).map(bytes).sum();
    let reversed = source[head..].chars().rev().zip(file[head..].chars().rev());
    let tail: usize = reversed.take_while(same).map(bytes).sum();
    Some((head, source.len() - tail, file[head..file.len() - tail].to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_come_back_as_they_were() {
        for name in ["spoiled/spoiled", "by-hand/calls", "by-hand/sessions"] {
            let file = format!("{}/fixtures/{name}{SUFFIX}", env!("CARGO_MANIFEST_DIR"));
            let cases = read(&std::fs::read_to_string(file).expect("pack")).expect("cases");
            let text = write(cases.iter().map(|(case, why)| (case, why.as_deref())));
            let again = read(&text.expect("JSON")).expect("cases");
            assert_eq!(format!("{again:?}"), format!("{cases:?}"), "{name}");
        }
    }

    #[test]
    fn a_broken_line_is_named() {
        assert!(read("{\"id\":1}\n").expect_err("broken").starts_with("line 1"));
    }
}
