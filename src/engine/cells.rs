//! Reads the cells of notebooks without the JSON around them, and edits a cell by its id.

use serde::Serialize;

use super::{CallOptions, Engine};
use crate::edit::{EditCode, EditPlan, EditReport, EditRequest, Refusal, VerifiedEdit, WorkPath};
use crate::matching::budget::Budget;
use crate::notebook::{Cell, Notebook, is_notebook};
use crate::text::{LineSpan, Snapshot};
use crate::views::{self, FileView, ReadRequest};

/// A view of a notebook is cut after this many bytes.
const MAX_VIEW_BYTES: usize = 256 << 10;
/// A refusal shows at most this many ids.
const MAX_NAMED: usize = 20;

/// What happens to the outputs of an edited cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Outputs {
    /// They are kept, although they may no longer match the code.
    #[default]
    Kept,
    /// They are removed, and so is the execution count.
    Cleared,
}

/// A notebook as it is shown to a caller.
#[derive(Debug, Clone, Serialize)]
pub struct CellsView {
    /// The view of the file, whose `text` has the cells.
    #[serde(flatten)]
    pub reading: FileView,
    /// A summary of each cell.
    pub cells: Vec<CellSummary>,
}

/// A summary of a cell.
#[derive(Debug, Clone, Serialize)]
pub struct CellSummary {
    /// Its id.
    pub id: String,
    /// `code`, `markdown` or `raw`.
    pub kind: String,
    /// How many lines it has.
    pub lines: usize,
    /// How many outputs it has.
    pub outputs: usize,
}

impl CellsView {
    /// The text for a model.
    pub fn message(&self) -> String {
        format!(
            "{}[{}: {} cells; snapshot {}; style \"numbered\" shows the JSON]",
            self.reading.text,
            self.reading.path,
            self.cells.len(),
            &self.reading.snapshot.to_string()[..12],
        )
    }
}

impl Engine {
    /// Reads all cells of a notebook, or only `cell`. If the file is not a notebook, this is
    /// `None`, or a refusal if a cell was asked for.
    pub async fn read_cells(
        &self,
        path: &WorkPath,
        cell: Option<&str>,
    ) -> Result<Option<CellsView>, Refusal> {
        if !is_notebook(path.as_str()) && cell.is_none() {
            return Ok(None);
        }
        let snapshot = self.snapshot(path).await?;
        let notebook = match parse(path, &snapshot) {
            Ok(notebook) => notebook,
            Err(_) if cell.is_none() => return Ok(None),
            Err(refusal) => return Err(refusal),
        };
        let only = cell.map(|id| find_cell(&notebook, path, id)).transpose()?;
        let mut text = notebook.view(only);
        if text.len() > MAX_VIEW_BYTES {
            let mut end = MAX_VIEW_BYTES;
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            text.truncate(end);
            text.push_str("\n… cut, because it is too long; read single cells with `cell`\n");
        }
        let reading = views::read(path.as_str(), &snapshot, &ReadRequest::default())?;
        let all_lines = LineSpan { start: 1, end: snapshot.lines().total() };
        self.record_read(path, &snapshot, &[all_lines]);
        let cells = notebook.cells.iter().map(|cell| CellSummary {
            id: cell.id.clone(),
            kind: cell.kind.clone(),
            lines: cell.source.lines().count(),
            outputs: cell.output_count,
        });
        let cells = cells.collect();
        Ok(Some(CellsView { reading: FileView { text, ..reading }, cells }))
    }

    /// Applies one edit within a cell. Returns the report of the file, and a report of the cell
    /// with line numbers within the cell.
    pub async fn edit_cell(
        &self,
        path: &WorkPath,
        cell: &str,
        request: &EditRequest,
        outputs: Outputs,
        options: &CallOptions,
    ) -> Result<(EditReport, EditReport), Refusal> {
        let with_path = |refusal: Refusal| refusal.at(path.as_str());
        self.admit(path).await?;
        let snapshot = self.snapshot(path).await.map_err(with_path)?;
        let notebook = parse(path, &snapshot).map_err(with_path)?;
        let cell = find_cell(&notebook, path, cell).map_err(with_path)?;
        let source = Snapshot::from_text(cell.source.clone());
        let cell_path = WorkPath::parse(&notebook.file_name(cell), self.store.root())?;
        let (resolved, spent) = self
            .resolve(&cell_path, request, &source, &mut Budget::default())
            .await
            .map_err(with_path)?;
        self.syntax
            .veto(&cell_path, request)
            .check(&source, &resolved.explained)
            .map_err(with_path)?;
        let mut explained = resolved.explained;
        explained.explanation.model = spent;
        let plan = EditPlan::new(&source, explained.splices).map_err(with_path)?;
        let text = plan.text_after();
        let cell_edit = VerifiedEdit::new(cell_path, &source, plan, explained.explanation)
            .map_err(with_path)?;
        let cell_edit = self.syntax.with_syntax_check(cell_edit);
        let mut cell_report = EditReport::new(&cell_edit);
        cell_report.path = format!("{path}, cell {}", cell.id);
        let mut splices = notebook.source_splices(cell, &text);
        if outputs == Outputs::Cleared {
            splices.extend(notebook.output_removal_splices(cell));
        }
        let plan = EditPlan::new(&snapshot, splices).map_err(with_path)?;
        let file_edit =
            VerifiedEdit::new(path.clone(), &snapshot, plan, cell_edit.explanation().clone())?;
        let report = self.commit(vec![file_edit], options).await?.remove(0);
        cell_report.durability = report.durability;
        cell_report.revision = report.revision;
        Ok((report, cell_report))
    }
}

/// Parses a notebook; refuses the call if the file is not one.
fn parse<'a>(path: &WorkPath, snapshot: &'a Snapshot) -> Result<Notebook<'a>, Refusal> {
    Notebook::parse(snapshot.text()).map_err(|why| {
        Refusal::new(EditCode::InvalidArguments, format!("`{path}` is not a notebook: {why}"))
            .hint("Leave `cell` out, and edit the file as text.")
    })
}

/// The cell with this id; the refusal lists the ids that exist.
fn find_cell<'n, 'a>(
    notebook: &'n Notebook<'a>,
    path: &WorkPath,
    id: &str,
) -> Result<&'n Cell<'a>, Refusal> {
    notebook.cell(id).ok_or_else(|| {
        let shown = notebook.cells.iter().take(MAX_NAMED).map(|cell| format!("`{}`", cell.id));
        let mut ids = shown.collect::<Vec<_>>().join(", ");
        if notebook.cells.len() > MAX_NAMED {
            ids.push_str(&format!(" and {} more", notebook.cells.len() - MAX_NAMED));
        }
        Refusal::new(
            EditCode::InvalidArguments,
            match ids.as_str() {
                "" => format!("`{path}` has no cells"),
                ids => format!("`{path}` has no cell `{id}`; its cells are {ids}"),
            },
        )
        .hint("Use one of these ids, or #N for the Nth cell.")
    })
}
