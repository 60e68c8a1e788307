//! Jupyter notebooks as cells: the source of a cell, and its edits as splices of the file. The JSON
//! around it keeps its bytes, and so do the lines of a cell that an edit keeps.

use std::fmt::Write as _;
use std::ops::Range;

use serde::Deserialize;
use serde_json::value::RawValue;
use similar::{Algorithm, DiffOp, capture_diff_slices};

use crate::edit::Splice;
use crate::text::pluralize;

/// Whether a path names a notebook.
pub(crate) fn is_notebook(path: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(_, ending)| ending.eq_ignore_ascii_case("ipynb"))
}

/// A parsed notebook.
#[derive(Debug)]
pub(crate) struct Notebook<'a> {
    text: &'a str,
    /// The language of its code, in lower case.
    pub(crate) language: String,
    /// Its cells, in order.
    pub(crate) cells: Vec<Cell<'a>>,
}

/// One cell.
#[derive(Debug)]
pub(crate) struct Cell<'a> {
    /// Its id, or `#3` for the third one of a notebook whose cells have none.
    pub(crate) id: String,
    /// `code`, `markdown` or `raw`.
    pub(crate) kind: String,
    /// Its text.
    pub(crate) source: String,
    raw: &'a str,
    outputs: Option<&'a str>,
    execution_count: Option<&'a str>,
    /// How many outputs it has.
    pub(crate) output_count: usize,
}

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
    /// Reads a notebook; the error says what is wrong with it.
    pub(crate) fn parse(text: &'a str) -> Result<Self, String> {
        let file: NotebookFile<'a> =
            serde_json::from_str(text).map_err(|error| error.to_string())?;
        let Metadata { language_info, kernelspec } = file.metadata;
        let language =
            language_info.name.or(kernelspec.language).unwrap_or_default().to_lowercase();
        let cells = file.cells.iter().enumerate().map(|(at, raw)| {
            let cell: RawCell<'a> = serde_json::from_str(raw.get())
                .map_err(|error| format!("cell {}: {error}", at + 1))?;
            let source: Source = serde_json::from_str(cell.source.get())
                .map_err(|_| format!("cell {}: its source is not text", at + 1))?;
            let outputs = cell.outputs.map(RawValue::get);
            let count =
                |raw: &str| serde_json::from_str::<Vec<&RawValue>>(raw).map_or(0, |o| o.len());
            Ok(Cell {
                id: cell.id.unwrap_or_else(|| format!("#{}", at + 1)),
                kind: cell.cell_type,
                source: match source {
                    Source::Lines(lines) => lines.concat(),
                    Source::Whole(text) => text,
                },
                raw: cell.source.get(),
                output_count: outputs.map_or(0, count),
                outputs,
                execution_count: cell.execution_count.map(RawValue::get),
            })
        });
        Ok(Self { text, language, cells: cells.collect::<Result<_, String>>()? })
    }

    /// The cell of that id, or of that number (`#3`).
    pub(crate) fn cell(&self, id: &str) -> Option<&Cell<'a>> {
        let by_number = || {
            let number: usize = id.strip_prefix('#')?.parse().ok()?;
            self.cells.get(number.checked_sub(1)?)
        };
        self.cells.iter().find(|cell| cell.id == id).or_else(by_number)
    }

    /// A file name whose extension gives the language of a cell.
    pub(crate) fn file_name(&self, cell: &Cell<'_>) -> String {
        let ending = match (cell.kind.as_str(), self.language.as_str()) {
            ("code", "python" | "ipython" | "") => "py",
            ("code", language) => crate::language::Language::from_name(language)
                .and_then(|language| language.extensions.first().copied())
                .unwrap_or("unknown"),
            ("markdown", _) => "md",
            _ => "txt",
        };
        format!("cell.{ending}")
    }

    /// The text of all cells, each under a line with its id.
    pub(crate) fn view(&self, only: Option<&Cell<'_>>) -> String {
        let mut out = String::new();
        for cell in &self.cells {
            if only.is_some_and(|only| only.id != cell.id) {
                continue;
            }
            if !out.is_empty() {
                out.push('\n');
            }
            let outputs = match cell.output_count {
                0 => String::new(),
                count => format!(", {}", pluralize(count, "output")),
            };
            let lines = pluralize(cell.source.lines().count(), "line");
            let _ = writeln!(out, "--- cell {} ({}, {lines}{outputs})", cell.id, cell.kind);
            out.push_str(&cell.source);
            if !cell.source.is_empty() && !cell.source.ends_with('\n') {
                out.push('\n');
            }
        }
        out
    }

    fn range(&self, part: &str) -> Range<usize> {
        // Each part is a slice of the text.
        let start = part.as_ptr().addr() - self.text.as_ptr().addr();
        start..start + part.len()
    }

    /// The splices that replace a cell's source.
    pub(crate) fn replace_source(&self, cell: &Cell<'_>, source: &str) -> Vec<Splice> {
        let new = match cell.raw.starts_with('[') {
            true => self.to_json_lines(cell, source),
            false => self.to_json_string(source),
        };
        let range = self.range(cell.raw);
        let same =
            |a: &mut dyn Iterator<Item = char>, b: &mut dyn Iterator<Item = char>| -> usize {
                a.zip(b).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum()
            };
        let head = same(&mut cell.raw.chars(), &mut new.chars());
        let tail = same(&mut cell.raw[head..].chars().rev(), &mut new[head..].chars().rev());
        vec![Splice {
            range: range.start + head..range.end - tail,
            text: new[head..new.len() - tail].to_owned(),
        }]
    }

    /// The splices that remove a cell's outputs.
    pub(crate) fn clear_outputs(&self, cell: &Cell<'_>) -> Vec<Splice> {
        let empty = [(cell.outputs, "[]"), (cell.execution_count, "null")];
        empty
            .into_iter()
            .filter_map(|(raw, text)| Some((raw.filter(|raw| *raw != text)?, text)))
            .map(|(raw, text)| Splice { range: self.range(raw), text: text.to_owned() })
            .collect()
    }

    /// A text as a JSON string, escaped as the notebook does.
    fn to_json_string(&self, text: &str) -> String {
        let plain = serde_json::to_string(text).unwrap_or_default();
        // Some writers escape all that is not ASCII, and the file has no other character.
        if !(self.text.is_ascii() && self.text.contains("\\u")) {
            return plain;
        }
        let mut out = String::with_capacity(plain.len());
        for c in plain.chars() {
            match c.is_ascii() {
                true => out.push(c),
                false => {
                    let mut units = [0; 2];
                    for unit in c.encode_utf16(&mut units) {
                        let _ = write!(out, "\\u{unit:04x}");
                    }
                }
            }
        }
        out
    }

    /// The lines of a source as a JSON list that keeps the bytes of lines that stay.
    fn to_json_lines(&self, cell: &Cell<'_>, source: &str) -> String {
        let raw: Vec<&RawValue> = serde_json::from_str(cell.raw).unwrap_or_default();
        let old: Vec<String> =
            raw.iter().map(|one| serde_json::from_str(one.get()).unwrap_or_default()).collect();
        let new: Vec<&str> = source.split_inclusive('\n').collect();
        let old_lines: Vec<&str> = old.iter().map(String::as_str).collect();
        let mut items: Vec<String> = Vec::with_capacity(new.len());
        for op in capture_diff_slices(Algorithm::Myers, &old_lines, &new) {
            match op {
                DiffOp::Equal { old_index, len, .. } => {
                    let kept = raw[old_index..old_index + len].iter();
                    items.extend(kept.map(|one| one.get().to_owned()));
                }
                op => {
                    items.extend(new[op.new_range()].iter().map(|line| self.to_json_string(line)))
                }
            }
        }
        let (open, between, close) = self.list_layout(cell, &raw);
        match items.is_empty() {
            true => "[]".to_owned(),
            false => format!("[{open}{}{close}]", items.join(&format!(",{between}"))),
        }
    }

    /// The whitespace of a JSON list: after `[`, after each comma, and before `]`.
    fn list_layout(&self, cell: &Cell<'_>, raw: &[&RawValue]) -> (String, String, String) {
        let at = |one: &RawValue| {
            let start = one.get().as_ptr().addr() - cell.raw.as_ptr().addr();
            start..start + one.get().len()
        };
        if let (Some(first), Some(last)) = (raw.first(), raw.last()) {
            let open = cell.raw[1..at(first).start].to_owned();
            let close = cell.raw[at(last).end..cell.raw.len() - 1].to_owned();
            let between = match raw.get(1) {
                Some(second) => {
                    let between = &cell.raw[at(first).end..at(second).start];
                    between.trim_start().trim_start_matches(',').to_owned()
                }
                None if open.is_empty() && !self.text.contains(", \"") => String::new(),
                None if open.is_empty() => " ".to_owned(),
                None => open.clone(),
            };
            return (open, between, close);
        }
        // An empty list shows no layout; the line that it is on does.
        let start = self.range(cell.raw).start;
        let line = &self.text[self.text[..start].rfind('\n').map_or(0, |feed| feed + 1)..start];
        let indent = &line[..line.len() - line.trim_start().len()];
        let whole = self.text.lines().nth(1).unwrap_or_default();
        let step = &whole[..whole.len() - whole.trim_start().len()];
        match line.trim_start().starts_with("\"source\"") && !step.is_empty() {
            true => {
                let item = format!("\n{indent}{step}");
                (item.clone(), item, format!("\n{indent}"))
            }
            false => (String::new(), " ".to_owned(), String::new()),
        }
    }
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
        let mut splices = notebook.replace_source(cell, source);
        if clear {
            splices.extend(notebook.clear_outputs(cell));
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
