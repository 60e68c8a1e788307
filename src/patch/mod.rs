//! Parses and locates patches. V4A (`*** Begin Patch`), search/replace blocks and unified diffs are
//! parsed to the same form, files with hunks, and each hunk is located like any other edit.
//!
//! A hunk covers whole lines. If its old lines occur exactly once, it applies there; otherwise the
//! ladder of `matching` explains it, or it is refused. The line numbers of a unified diff only choose
//! among several places.

mod blocks;
mod headers;
mod locate;
mod unified;
#[cfg_attr(
    not(feature = "cli"),
    allow(dead_code, reason = "the hook and the harness use all of it")
)]
mod v4a;

use std::collections::HashMap;

use crate::edit::{EditCode, Refusal};

pub(crate) use locate::locate_hunks;
#[cfg_attr(
    not(feature = "cli"),
    allow(unused_imports, reason = "the hook and the harness use them")
)]
pub(crate) use v4a::{BEGIN, END, apply_like_codex, render};

/// A parsed patch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patch {
    /// The change of each file, in the order of the patch.
    pub files: Vec<FilePatch>,
}

/// A file and its change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePatch {
    /// The file, as the patch names it.
    pub path: String,
    /// The change of the file.
    pub change: Change,
}

/// The change of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// The file is created with this content.
    Add(String),
    /// The file is deleted.
    Delete,
    /// The file is edited, and perhaps moved.
    Update {
        /// The new path, if the file is moved.
        move_to: Option<String>,
        /// The edits.
        hunks: Vec<Hunk>,
    },
}

/// A change at one place of a file: its lines before and after.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hunk {
    /// The lines of the file that the `@@` headers name, outermost first (`@@ class A`).
    pub headers: Vec<String>,
    /// The lines of the hunk in order.
    pub lines: Vec<HunkLine>,
    /// Whether the hunk is at the end of the file.
    pub at_end: bool,
    /// The number of a line near the hunk, as a hint.
    pub near_line: Option<usize>,
    /// Whether the file ends with a newline after the hunk, if the hunk changes that.
    pub final_newline: Option<bool>,
}

/// One line of a hunk, without its ending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HunkLine {
    /// A context line.
    Keep(String),
    /// A removed line.
    Remove(String),
    /// An added line.
    Add(String),
}

impl Hunk {
    /// The context lines and the removed lines.
    pub fn old_lines(&self) -> Vec<&str> {
        self.pick(|line| match line {
            HunkLine::Keep(text) | HunkLine::Remove(text) => Some(text),
            HunkLine::Add(_) => None,
        })
    }

    /// The context lines and the added lines.
    pub fn new_lines(&self) -> Vec<&str> {
        self.pick(|line| match line {
            HunkLine::Keep(text) | HunkLine::Add(text) => Some(text),
            HunkLine::Remove(_) => None,
        })
    }

    /// The texts that `which` selects from the lines of the hunk.
    fn pick(&self, which: impl Fn(&HunkLine) -> Option<&String>) -> Vec<&str> {
        self.lines.iter().filter_map(which).map(String::as_str).collect()
    }
}

impl Patch {
    /// Reads a patch in any of the three forms. `path` names the file for blocks that name none.
    pub fn parse(text: &str, path: Option<&str>) -> Result<Self, Refusal> {
        let text = &strip_wrapping(text);
        let files = if text.lines().any(v4a::is_begin) {
            v4a::parse(text)?
        } else if text.lines().any(blocks::is_search) {
            blocks::parse(text, path)?
        } else if text
            .lines()
            .any(|line| ["--- ", "@@ ", "diff --git "].iter().any(|start| line.starts_with(start)))
        {
            unified::parse(text, path)?
        } else {
            let is_block = text.contains("\n=======") || text.starts_with("=======");
            if is_block {
                return Err(malformed("invalid patch: the search/replace block has no line <<<<<<< SEARCH")
                    .hint("A block is <<<<<<< SEARCH, the old lines, =======, the new lines, >>>>>>> REPLACE."));
            }
            return Err(malformed("invalid patch: The first line of the patch must be '*** Begin Patch'")
                .hint("Send a V4A patch (*** Begin Patch … *** End Patch), search/replace blocks (<<<<<<< SEARCH … ======= … >>>>>>> REPLACE), or a unified diff."));
        };
        if files.is_empty() {
            return Err(malformed("the patch changes no file").hint("Add at least one hunk."));
        }
        Ok(Self { files: merge_updates(files)? })
    }
}

/// Removes a shell here-document or a code fence around the whole text.
fn strip_wrapping(text: &str) -> String {
    let all: Vec<&str> = text.lines().collect();
    let is_text = |line: &&str| !line.trim().is_empty();
    let start = all.iter().position(is_text).unwrap_or(all.len());
    let end = all.iter().rposition(is_text).map_or(start, |last| last + 1);
    let mut lines = &all[start..end];
    if let Some(first) = lines.first()
        && let Some((_, mark)) = first.split_once("<<")
        && !first.starts_with("<<<")
        && lines.len() > 1
        && lines.last().is_some_and(|last| last.trim() == mark.trim().trim_matches(['\'', '"']))
    {
        lines = &lines[1..lines.len() - 1];
    }
    let is_fence = |line: &&str| line.starts_with("```");
    if lines.len() > 2
        && lines.first().is_some_and(is_fence)
        && lines.last().is_some_and(|last| *last == "```")
        && lines.get(1).is_some_and(|line| v4a::is_begin(line) || line.starts_with("--- "))
    {
        lines = &lines[1..lines.len() - 1];
    }
    lines.join("\n")
}

/// Merges several updates of one file; refuses any other file that is named twice.
fn merge_updates(files: Vec<FilePatch>) -> Result<Vec<FilePatch>, Refusal> {
    let mut out: Vec<FilePatch> = Vec::new();
    let mut indices: HashMap<String, usize> = HashMap::new();
    for file in files {
        let Some(before) = indices.get(&file.path).and_then(|&index| out.get_mut(index)) else {
            indices.insert(file.path.clone(), out.len());
            out.push(file);
            continue;
        };
        match (&mut before.change, file.change) {
            (
                Change::Update { move_to: None, hunks },
                Change::Update { move_to: None, hunks: more },
            ) => hunks.extend(more),
            _ => {
                return Err(malformed(format!("the patch names `{}` twice", file.path))
                    .at(file.path)
                    .hint("Put all changes of the file into one section."));
            }
        }
    }
    Ok(out)
}

fn malformed(message: impl Into<crate::edit::Message>) -> Refusal {
    Refusal::new(EditCode::InvalidArguments, message)
}
