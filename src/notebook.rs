//! Reads the cells of Jupyter notebooks, and turns edits of a cell into splices of the file. The
//! JSON around a cell and the lines that an edit does not change keep their bytes.

use std::fmt::Write as _;
use std::ops::Range;

use serde::Deserialize;
use serde_json::value::RawValue;
use similar::{Algorithm, DiffOp, capture_diff_slices};

use crate::edit::Splice;
use crate::text::pluralize;

/// Whether a path has the extension of a notebook.
pub(crate) fn is_notebook(path: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(_, ending)| ending.eq_ignore_ascii_case("ipynb"))
}

/// A parsed notebook.
#[derive(Debug)]
pub(crate) struct Notebook<'a> {
    text: &'a str,
    /// The language of its code in lower case; empty if the notebook does not say.
    pub(crate) language: String,
    /// Its cells, in order.
    pub(crate) cells: Vec<Cell<'a>>,
}

/// One cell.
#[derive(Debug)]
pub(crate) struct Cell<'a> {
    /// Its id. A cell without one gets its number, such as `#3` for the third cell.
    pub(crate) id: String,
    /// `code`, `markdown` or `raw`.
    pub(crate) kind: String,
    /// Its text.
    pub(crate) source: String,
    /// The JSON of the source, a slice of the notebook's text.
    raw: &'a str,
    /// The JSON of the outputs.
    outputs: Option<&'a str>,
    /// The JSON of the execution count.
    execution_count: Option<&'a str>,
    /// How many outputs it has.
    pub(crate) output_count: usize,
}

/// A notebook in its JSON.
#[derive(Deserialize)]
struct NotebookFile<'a> {
    #[serde(borrow)]
    cells: Vec<&'a RawValue>,
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Deserialize, Default)]
struct Metadata {
    #[serde(default)]
    language_info: LanguageInfo,
    #[serde(default)]
    kernelspec: KernelSpec,
}

#[derive(Deserialize, Default)]
struct LanguageInfo {
    name: Option<String>,
}

#[derive(Deserialize, Default)]
struct KernelSpec {
    language: Option<String>,
}

/// A cell in the JSON.
#[derive(Deserialize)]
struct RawCell<'a> {
    id: Option<String>,
    cell_type: String,
    #[serde(borrow)]
    source: &'a RawValue,
    #[serde(borrow)]
    outputs: Option<&'a RawValue>,
    #[serde(borrow)]
    execution_count: Option<&'a RawValue>,
}

/// A cell's source in the JSON: one string, or a list of lines.
#[derive(Deserialize)]
#[serde(untagged)]
enum Source {
    Lines(Vec<String>),
    Whole(String),
}

impl<'a> Notebook<'a> {
    /// Parses a notebook. The error says what is wrong with it.
    pub(crate) fn parse(text: &'a str) -> Result<Self, String> {
        let file: NotebookFile<'a> =
            serde_json::from_str(text).map_err(|error| error.to_string())?;
        let Metadata { language_info, kernelspec } = file.metadata;
        let language =
            language_info.name.or(kernelspec.language).unwrap_or_default().to_lowercase();
        let cells = file.cells.iter().enumerate().map(|(index, raw)| {
            let cell: RawCell<'a> = serde_json::from_str(raw.get())
                .map_err(|error| format!("cell {}: {error}", index + 1))?;
            let source: Source = serde_json::from_str(cell.source.get())
                .map_err(|_| format!("cell {}: its source is not text", index + 1))?;
            let outputs = cell.outputs.map(RawValue::get);
            let count_items = |json: &str| {
                serde_json::from_str::<Vec<&RawValue>>(json).map_or(0, |items| items.len())
            };
            Ok(Cell {
                id: cell.id.unwrap_or_else(|| format!("#{}", index + 1)),
                kind: cell.cell_type,
                source: match source {
                    Source::Lines(lines) => lines.concat(),
                    Source::Whole(text) => text,
                },
                raw: cell.source.get(),
                output_count: outputs.map_or(0, count_items),
                outputs,
                execution_count: cell.execution_count.map(RawValue::get),
            })
        });
        Ok(Self { text, language, cells: cells.collect::<Result<_, String>>()? })
    }

    /// The cell with this id, or with this number (`#3`).
    pub(crate) fn cell(&self, id: &str) -> Option<&Cell<'a>> {
        let by_number = || {
            let number: usize = id.strip_prefix('#')?.parse().ok()?;
            self.cells.get(number.checked_sub(1)?)
        };
        self.cells.iter().find(|cell| cell.id == id).or_else(by_number)
    }

    /// A file name for a cell, with the extension of its language.
    pub(crate) fn file_name(&self, cell: &Cell<'_>) -> String {
        let extension = match (cell.kind.as_str(), self.language.as_str()) {
            ("code", "python" | "ipython" | "") => "py",
            ("code", language) => crate::language::Language::from_name(language)
                .and_then(|language| language.extensions.first().copied())
                .unwrap_or("unknown"),
            ("markdown", _) => "md",
            _ => "txt",
        };
        format!("cell.{extension}")
    }

    /// The text of all cells, or only of the cell `only`, each below a line with its id.
    pub(crate) fn view(&self, only: Option<&Cell<'_>>) -> String {
        let mut view = String::new();
        for cell in &self.cells {
            if only.is_some_and(|only| only.id != cell.id) {
                continue;
            }
            if !view.is_empty() {
                view.push('\n');
            }
            let outputs = match cell.output_count {
                0 => String::new(),
                count => format!(", {}", pluralize(count, "output")),
            };
            let lines = pluralize(cell.source.lines().count(), "line");
            let _ = writeln!(view, "--- cell {} ({}, {lines}{outputs})", cell.id, cell.kind);
            view.push_str(&cell.source);
            if !cell.source.is_empty() && !cell.source.ends_with('\n') {
                view.push('\n');
            }
        }
        view
    }

    /// Where `part`, a slice of the notebook's text, is in that text, in bytes.
    fn range(&self, part: &str) -> Range<usize> {
        range_in(self.text, part)
    }

    /// The splices that replace a cell's source. Only the JSON between the first and the last
    /// difference changes.
    pub(crate) fn source_splices(&self, cell: &Cell<'_>, source: &str) -> Vec<Splice> {
        let new = match cell.raw.starts_with('[') {
            true => self.to_json_lines(cell, source),
            false => self.to_json_string(source),
        };
        let range = self.range(cell.raw);
        let prefix = common_len(cell.raw.chars(), new.chars());
        let suffix = common_len(cell.raw[prefix..].chars().rev(), new[prefix..].chars().rev());
        vec![Splice {
            range: range.start + prefix..range.end - suffix,
            text: new[prefix..new.len() - suffix].to_owned(),
        }]
    }

    /// The splices that remove a cell's outputs and its execution count.
    pub(crate) fn output_removal_splices(&self, cell: &Cell<'_>) -> Vec<Splice> {
        let mut splices = Vec::new();
        for (json, empty) in [(cell.outputs, "[]"), (cell.execution_count, "null")] {
            if let Some(json) = json
                && json != empty
            {
                splices.push(Splice { range: self.range(json), text: empty.to_owned() });
            }
        }
        splices
    }

    /// A text as a JSON string, with the escapes that the notebook uses.
    fn to_json_string(&self, text: &str) -> String {
        let plain = serde_json::to_string(text).unwrap_or_default();
        // Some programs write every character beyond ASCII as an escape.
        if !(self.text.is_ascii() && self.text.contains("\\u")) {
            return plain;
        }
        let mut escaped = String::with_capacity(plain.len());
        for c in plain.chars() {
            match c.is_ascii() {
                true => escaped.push(c),
                false => {
                    let mut units = [0; 2];
                    for unit in c.encode_utf16(&mut units) {
                        let _ = write!(escaped, "\\u{unit:04x}");
                    }
                }
            }
        }
        escaped
    }

    /// The lines of a source as a JSON list, in which unchanged lines keep their bytes.
    fn to_json_lines(&self, cell: &Cell<'_>, source: &str) -> String {
        let old_items: Vec<&RawValue> = serde_json::from_str(cell.raw).unwrap_or_default();
        let old_lines: Vec<String> = old_items
            .iter()
            .map(|item| serde_json::from_str(item.get()).unwrap_or_default())
            .collect();
        let old_lines: Vec<&str> = old_lines.iter().map(String::as_str).collect();
        let new_lines: Vec<&str> = source.split_inclusive('\n').collect();
        let mut items: Vec<String> = Vec::with_capacity(new_lines.len());
        for op in capture_diff_slices(Algorithm::Myers, &old_lines, &new_lines) {
            match op {
                DiffOp::Equal { old_index, len, .. } => {
                    let kept = &old_items[old_index..old_index + len];
                    items.extend(kept.iter().map(|item| item.get().to_owned()));
                }
                op => {
                    let written = &new_lines[op.new_range()];
                    items.extend(written.iter().map(|line| self.to_json_string(line)));
                }
            }
        }
        if items.is_empty() {
            return "[]".to_owned();
        }
        let ListLayout { after_open, after_comma, before_close } =
            self.list_layout(cell, &old_items);
        let items = items.join(&format!(",{after_comma}"));
        format!("[{after_open}{items}{before_close}]")
    }

    /// The whitespace in the JSON list of a cell's source, whose items are given.
    fn list_layout(&self, cell: &Cell<'_>, items: &[&RawValue]) -> ListLayout {
        let range_of = |item: &RawValue| range_in(cell.raw, item.get());
        if let (Some(first), Some(last)) = (items.first(), items.last()) {
            let after_open = cell.raw[1..range_of(first).start].to_owned();
            let before_close = cell.raw[range_of(last).end..cell.raw.len() - 1].to_owned();
            let after_comma = match items.get(1) {
                Some(second) => {
                    let separator = &cell.raw[range_of(first).end..range_of(second).start];
                    separator.trim_start().trim_start_matches(',').to_owned()
                }
                // A list of one item has no comma; other lists of the notebook may show the style.
                None if after_open.is_empty() && !self.text.contains(", \"") => String::new(),
                None if after_open.is_empty() => " ".to_owned(),
                None => after_open.clone(),
            };
            return ListLayout { after_open, after_comma, before_close };
        }
        // An empty list shows no layout, so the layout follows from the indentation of the file.
        let list_start = self.range(cell.raw).start;
        let line_start = self.text[..list_start].rfind('\n').map_or(0, |newline| newline + 1);
        let line = &self.text[line_start..list_start];
        let indent = leading_whitespace(line);
        // The second line of the file is indented by one step.
        let indent_step = leading_whitespace(self.text.lines().nth(1).unwrap_or_default());
        if line.trim_start().starts_with("\"source\"") && !indent_step.is_empty() {
            let before_item = format!("\n{indent}{indent_step}");
            ListLayout {
                after_open: before_item.clone(),
                after_comma: before_item,
                before_close: format!("\n{indent}"),
            }
        } else {
            ListLayout {
                after_open: String::new(),
                after_comma: " ".to_owned(),
                before_close: String::new(),
            }
        }
    }
}

/// The whitespace in a JSON list.
struct ListLayout {
    after_open: String,
    after_comma: String,
    before_close: String,
}

/// Where `part`, a slice of `text`, is in `text`, in bytes.
fn range_in(text: &str, part: &str) -> Range<usize> {
    let start = part.as_ptr().addr() - text.as_ptr().addr();
    start..start + part.len()
}

/// The length in bytes of the common start of two texts, in whole characters.
fn common_len(left: impl Iterator<Item = char>, right: impl Iterator<Item = char>) -> usize {
    let common = left.zip(right).take_while(|(left, right)| left == right);
    common.map(|(c, _)| c.len_utf8()).sum()
}

/// The whitespace at the start of a line.
fn leading_whitespace(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit::EditPlan;
    use crate::text::Snapshot;

    const PLAIN: &str = "{\n \"cells\": [\n  {\n   \"cell_type\": \"code\",\n   \"execution_count\": 3,\n   \"id\": \"a1\",\n   \"metadata\": {},\n   \"outputs\": [{\"text\": [\"x\"]}],\n   \"source\": [\n    \"import os\\n\",\n    \"print(\\\"caf\\u00e9\\\")\"\n   ]\n  },\n  {\n   \"cell_type\": \"markdown\",\n   \"metadata\": {},\n   \"source\": []\n  }\n ],\n \"metadata\": {\"kernelspec\": {\"name\": \"python3\", \"language\": \"python\"}, \"language_info\": {\"name\": \"python\"}},\n \"nbformat\": 4\n}\n";

    fn written(text: &str, id: &str, source: &str, clear: bool) -> String {
        let notebook = Notebook::parse(text).expect("a notebook");
        let cell = notebook.cell(id).expect("a cell");
        let mut splices = notebook.source_splices(cell, source);
        if clear {
            splices.extend(notebook.output_removal_splices(cell));
        }
        let snapshot = Snapshot::from_text(text);
        EditPlan::new(&snapshot, splices).expect("disjoint").text_after()
    }

    #[test]
    fn a_notebook_is_read_as_cells() {
        let notebook = Notebook::parse(PLAIN).expect("a notebook");
        assert_eq!(notebook.language, "python");
        assert_eq!(
            notebook.view(None),
            "--- cell a1 (code, 2 lines, 1 output)\nimport os\nprint(\"café\")\n\n--- cell #2 (markdown, 0 lines)\n"
        );
        assert_eq!(notebook.cell("#1").map(|cell| cell.id.as_str()), Some("a1"));
        assert!(notebook.cell("none").is_none() && notebook.cell("#9").is_none());
        for broken in ["", "[]", "{}", "{\"cells\": [{}]}", "{\"cells\": 1}"] {
            assert!(Notebook::parse(broken).is_err(), "{broken}");
        }
    }

    #[test]
    fn lines_that_stay_keep_their_bytes() {
        let after = written(PLAIN, "a1", "import os, sys\nprint(\"café\")", false);
        assert_eq!(after, PLAIN.replace("import os", "import os, sys"), "the escape stays");
        let after = written(PLAIN, "a1", "import os\nprint(\"café\")\nprint(\"ö\")", false);
        let wanted = PLAIN.replace(
            "    \"print(\\\"caf\\u00e9\\\")\"\n",
            "    \"print(\\\"caf\\u00e9\\\")\\n\",\n    \"print(\\\"\\u00f6\\\")\"\n",
        );
        assert_eq!(after, wanted);
        let after = written(PLAIN, "#2", "# Title\ntext", false);
        let wanted = PLAIN
            .replace("\"source\": []", "\"source\": [\n    \"# Title\\n\",\n    \"text\"\n   ]");
        assert_eq!(after, wanted);
        let cleared = written(PLAIN, "a1", "import os", true);
        let notebook = Notebook::parse(&cleared).expect("a notebook");
        assert_eq!(
            (notebook.cells[0].output_count, notebook.cells[0].execution_count),
            (0, None),
            "null"
        );
        let whole = "{\"cells\":[{\"cell_type\":\"code\",\"source\":\"a\\nb\",\"outputs\":[]}]}";
        assert_eq!(written(whole, "#1", "a\nc", true), whole.replace("\\nb", "\\nc"));
    }
}
