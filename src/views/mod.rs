//! Views of a file for a model: the whole file, the lines from an offset on, or ranges of lines;
//! plain, numbered or with anchors. A view never exceeds a size limit, and a view that was cut
//! says where to continue.
//!
//! Limits: of a line over 2,000 characters only a window is shown; its anchor still covers the
//! whole line. `column` moves the window.

mod render;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::edit::Refusal;
use crate::text::{
    ContentHash, LineSpan, Snapshot, format_ranges, gaps, merge_ranges, pluralize, quote_name,
};

named! {
    /// How lines are shown.
    #[derive(Default, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum ReadStyle {
        /// The text as it is.
        #[default]
        Plain = "plain",
        /// `<<12>>text`
        Numbered = "numbered",
        /// `12#VK|text`
        Hashline = "hashline",
    }
}

/// A request to read a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReadRequest {
    /// Ranges of lines, in any order; the whole file if there are none.
    pub ranges: Vec<LineSpan>,
    /// How they are shown.
    pub style: ReadStyle,
    /// Where the window of a long line starts, from 1.
    pub column: usize,
    /// How long a shown line, and the text in all, may be.
    pub limits: ReadLimits,
}

/// The most that one answer may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadLimits {
    /// Characters of one line.
    pub line: usize,
    /// Bytes of the text.
    pub text: usize,
}

impl ReadLimits {
    /// No limit: for output to a pipe.
    pub const NONE: Self = Self { line: usize::MAX, text: usize::MAX };
}

impl Default for ReadLimits {
    /// For a model: 256 KiB, lines of 2,000 characters.
    fn default() -> Self {
        Self { line: 2000, text: 256 << 10 }
    }
}

/// A line of which only a part is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Windowed")]
pub struct LineWindow {
    /// The line.
    pub line: usize,
    /// The first column shown, in characters from 1.
    pub start_column: usize,
    /// The last column shown.
    pub end_column: usize,
    /// How many characters the line has.
    pub columns: usize,
}

/// What was read of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Reading")]
pub struct FileView {
    /// The file.
    pub path: String,
    /// The version's id (SHA-256); hashline_edit takes it, or its first digits.
    pub snapshot: ContentHash,
    /// Lines in the file.
    pub total_lines: usize,
    /// The lines, in the style asked for.
    pub text: String,
    /// The lines shown.
    pub ranges: Vec<LineSpan>,
    /// The file's encoding.
    pub encoding: String,
    /// `lf`, `crlf`, `mixed` or `none`.
    pub line_ending: String,
    /// The lines left out.
    pub omitted: Vec<LineSpan>,
    /// Where to go on, when the cap cut the answer.
    pub next_offset: Option<usize>,
    /// Lines of which only a part is shown.
    pub windowed: Vec<LineWindow>,
}

/// Returns the view of `snapshot` that `request` asks for, or a refusal if it asks for lines that
/// the file does not have. `path` is only reported.
pub fn read(path: &str, snapshot: &Snapshot, request: &ReadRequest) -> Result<FileView, Refusal> {
    let total = snapshot.lines().total();
    let selected = select_lines(&request.ranges, total).map_err(|refusal| refusal.at(path))?;
    let rendered = render::render(snapshot, &selected, request);
    let omitted = gaps(&rendered.ranges, LineSpan { start: 1, end: total });
    Ok(FileView {
        path: path.to_owned(),
        snapshot: snapshot.hash(),
        total_lines: total,
        text: rendered.text,
        ranges: rendered.ranges,
        encoding: snapshot.encoding().name().to_owned(),
        line_ending: snapshot.line_ending().to_owned(),
        omitted,
        next_offset: rendered.next_offset,
        windowed: rendered.windowed,
    })
}

impl FileView {
    /// Returns the text for a model: the lines, then one line in brackets that names the file, the
    /// range and the snapshot, and says where to continue.
    pub fn message(&self, snapshot: &Snapshot) -> String {
        let mut out = self.text.clone();
        if !out.is_empty() && !out.ends_with('\n') {
            out.push('\n');
        }
        let total = self.total_lines;
        let content = if total == 0 {
            "the file is empty".to_owned()
        } else if self.omitted.is_empty() {
            format!("all {}", pluralize(total, "line"))
        } else {
            format!("lines {} of {total}", format_ranges(self.ranges.iter().take(12)))
        };
        out.push_str(&format!(
            "[{}: {content}; snapshot {}",
            quote_name(&self.path),
            snapshot.hash().short()
        ));
        if let Some(next) = self.next_offset {
            out.push_str(&format!("; cut at the size limit, continue with offset {next}"));
        }
        for window in self.windowed.iter().take(4) {
            out.push_str(&format!(
                "; line {} shows columns {}-{} of {}, continue with column {}",
                window.line,
                window.start_column,
                window.end_column,
                window.columns,
                window.end_column + 1
            ));
        }
        out.push(']');
        out
    }
}

/// Returns the selected lines as sorted, merged ranges, or a refusal if they are not lines of a
/// file with `total` lines. A range may reach beyond the end of the file.
fn select_lines(ranges: &[LineSpan], total: usize) -> Result<Vec<LineSpan>, Refusal> {
    for &LineSpan { start, end } in ranges {
        let why = match start {
            0 => "lines count from 1".to_owned(),
            _ if end < start => "it ends before it starts".to_owned(),
            _ if start > total.max(1) => format!("the file has {}", pluralize(total, "line")),
            _ => continue,
        };
        let range = match end {
            usize::MAX => format!("offset {start}"),
            _ => format!("range {start}-{end}"),
        };
        let refused = format!("{range} is not valid: {why}");
        return Err(Refusal::invalid(
            refused,
            match total {
                0 => "The file is empty; read it whole.".to_owned(),
                _ => format!("Lines are 1 to {total}; a range must not end before it starts."),
            },
        ));
    }
    let whole = LineSpan { start: 1, end: total };
    let ranges = if ranges.is_empty() { &[whole] } else { ranges };
    let in_file = |range: &LineSpan| LineSpan { start: range.start, end: range.end.min(total) };
    Ok(merge_ranges(ranges.iter().map(in_file).collect()))
}

/// Reads line ranges such as `12-20, 45`; `None` if the text is anything else.
pub(crate) fn parse_ranges(text: &str) -> Option<Vec<LineSpan>> {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    let ranges = parts.map(|part| {
        let (start, end) = part.split_once(['-', '–']).unwrap_or((part, part));
        Some(LineSpan { start: start.trim().parse().ok()?, end: end.trim().parse().ok()? })
    });
    ranges.collect::<Option<Vec<_>>>().filter(|ranges| !ranges.is_empty())
}
