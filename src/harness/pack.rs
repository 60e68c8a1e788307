//! Many generated cases in one file, a JSON object a line: the sources once, then the
//! cases that refer to them. A folder for each case is for people to read; a
//! pack is for thousands of cases.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::num::NonZeroUsize;

use serde::{Deserialize, Serialize};

use super::case::{Case, Truth};
use super::fixture::Status;
use crate::edit::{EditCode, Expected};

/// How the name of a pack ends.
pub(crate) const SUFFIX: &str = ".pack.jsonl";

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum PackLine {
    Source(SourceLine),
    Case(Box<CaseLine>),
}

#[derive(Serialize, Deserialize)]
struct SourceLine {
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
    /// Where the file differs from its source: start and end byte, and the text there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    patch: Option<(usize, usize, String)>,
    old: String,
    new: String,
    /// 0 for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expected: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    near_line: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    right: Option<(usize, usize, Vec<String>)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    refuse: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    known_failure: Option<String>,
}

/// A case of a pack, and why it is known to fail, if it is.
pub(crate) type PackedCase = (Case, Option<String>);

/// Writes cases, each with why it is known to fail, if it is; a source that several cases share is
/// written once.
pub(crate) fn write<'c>(
    entries: impl Iterator<Item = (&'c Case, Option<&'c str>)>,
) -> Result<String, serde_json::Error> {
    let mut sources: BTreeMap<String, SourceLine> = BTreeMap::new();
    let mut lines = Vec::new();
    for (case, known) in entries {
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
            known_failure: known.map(str::to_owned),
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

/// Reads a pack.
pub(crate) fn read(text: &str) -> Result<Vec<PackedCase>, String> {
    let mut sources: BTreeMap<String, SourceLine> = BTreeMap::new();
    let mut entries = Vec::new();
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let invalid = |why: String| format!("line {}: {why}", at + 1);
        match serde_json::from_str(line).map_err(|e| invalid(e.to_string()))? {
            PackLine::Source(source) => {
                sources.insert(source.source.clone(), source);
            }
            PackLine::Case(packed) => {
                let source = sources
                    .get(&packed.source_id)
                    .ok_or_else(|| invalid(format!("no source `{}` above it", packed.source_id)))?;
                entries.push(unpack(*packed, source).map_err(invalid)?);
            }
        }
    }
    Ok(entries)
}

fn unpack(packed: CaseLine, source: &SourceLine) -> Result<PackedCase, String> {
    let mut before = source.text.clone();
    if let Some((from, to, text)) = packed.patch {
        if before.get(from..to).is_none() {
            return Err(format!("the patch {from}..{to} is outside the source"));
        }
        before.replace_range(from..to, &text);
    }
    let truth = match packed.right {
        Some((from, to, texts)) => {
            if before.get(from..to).is_none() {
                return Err(format!("the range {from}..{to} is outside the file"));
            }
            Truth::Right { range: from..to, texts }
        }
        None => {
            let code =
                |wire: &String| EditCode::parse(wire).ok_or_else(|| format!("no code `{wire}`"));
            Truth::Refused(packed.refuse.iter().map(code).collect::<Result<_, _>>()?)
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

/// The one replacement that turns `a` into `b`.
fn patch(a: &str, b: &str) -> Option<(usize, usize, String)> {
    if a == b {
        return None;
    }
    let same = |(a, b): &(char, char)| a == b;
    let size = |(a, _): (char, char)| a.len_utf8();
    let head: usize = a.chars().zip(b.chars()).take_while(same).map(size).sum();
    let tail: usize =
        a[head..].chars().rev().zip(b[head..].chars().rev()).take_while(same).map(size).sum();
    Some((head, a.len() - tail, b[head..b.len() - tail].to_owned()))
}

/// The status of a packed case.
pub(crate) fn status(known: Option<&str>) -> Status {
    if known.is_some() { Status::KnownFailure } else { Status::Pass }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(id: &str, before: &str) -> Case {
        Case {
            id: id.into(),
            cause: "exact".into(),
            family: "control".into(),
            language: "go".into(),
            path: "a.go".into(),
            before: before.into(),
            old: "b".into(),
            new: "c".into(),
            expected: Expected::All,
            near_line: Some(3),
            truth: Truth::Right { range: 1..2, texts: vec!["c".into(), "d".into()] },
        }
    }

    #[test]
    fn cases_come_back_as_they_were() {
        let all = [case("exact@p:1", "ab\nü\n"), case("other@p:1", "ab\nö!\n")];
        let text = write(all.iter().map(|case| (case, Some("later")))).expect("json");
        assert_eq!(text.lines().count(), 3);
        let back = read(&text).expect("pack");
        for ((case, known), all) in back.iter().zip(&all) {
            assert_eq!(known.as_deref(), Some("later"));
            assert_eq!(format!("{case:?}"), format!("{all:?}"));
        }
    }

    #[test]
    fn a_broken_line_is_named() {
        assert!(read("{\"id\":1}\n").expect_err("broken").starts_with("line 1"));
    }
}
