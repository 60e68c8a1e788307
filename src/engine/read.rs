//! `read_file` on the engine: loads a file, renders its lines, and records which were shown.

use super::Engine;
use crate::edit::{Refusal, WorkPath};
use crate::text::Snapshot;
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
        self.ledger.record_read(path, &snapshot, &reading.ranges);
        Ok((reading, snapshot))
    }
}
