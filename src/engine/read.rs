//! `read_file` on the engine: loads a file, renders its lines, and records which were shown.

use super::Engine;
use crate::edit::{Refusal, WorkPath};
use crate::text::{LineSpan, Snapshot};
use crate::views::{self, FileView, ReadRequest};

impl Engine {
    /// Reads a file for the caller, and records in the session which lines were shown.
    pub async fn read_file(
        &self,
        path: &WorkPath,
        request: &ReadRequest,
    ) -> Result<(FileView, Snapshot), Refusal> {
        let snapshot = self.snapshot(path).await?;
        let reading = views::read(path.as_str(), &snapshot, request)?;
        self.record_read(path, &snapshot, &reading.ranges);
        Ok((reading, snapshot))
    }

    /// Records that a read showed lines to the caller.
    pub(crate) fn record_read(&self, path: &WorkPath, snapshot: &Snapshot, lines: &[LineSpan]) {
        self.ledger.record_read(path, snapshot, lines);
    }
}
