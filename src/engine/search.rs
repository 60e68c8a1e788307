//! `search`, `wildcard_search` and `list_files` on the engine.

use super::Engine;
use crate::edit::message::{READ_FILE, THEN};
use crate::edit::{EditCode, Refusal, said};
use crate::search::{
    self, ListReport, MAX_CONTEXT, MAX_FILES, MAX_SHOWN, Query, Scope, SearchReport,
};

impl Engine {
    /// Refuses the call if the store cannot list its files.
    fn require_listing(&self) -> Result<(), Refusal> {
        if self.can_list() {
            return Ok(());
        }
        Err(Refusal::new(
            EditCode::Blocked,
            "the files are in a custom store, which cannot be searched or listed",
        )
        .hint(said!(
            "Use the program's own search.{THEN}Or read a file by its path with {READ_FILE}."
        )))
    }

    /// Searches the files below `path` that match `glob`, and records in the session which lines
    /// were shown.
    pub async fn search(
        &self,
        query: Query,
        path: Option<&str>,
        glob: Option<&str>,
        context: usize,
    ) -> Result<SearchReport, Refusal> {
        self.require_listing()?;
        let context = context.min(MAX_CONTEXT);
        let mut scanned = match self.has_folder() {
            true => {
                let overlay = self.overlay();
                let scope = Scope::new(self.root(), path, glob, &overlay)?;
                let query = query.clone();
                blocking(move || search::scan(&scope, &query, &overlay)).await?
            }
            false => self.scan_objects(&query, path, glob).await?,
        };
        search::rank(&mut scanned.found);
        let is_partial = scanned.skipped.unfetched > 0;
        let total_files = scanned.found.len();
        let mut total_matches = scanned.found.iter().map(|file| file.count).sum();
        let (mut files, mut matches_left) = (Vec::new(), MAX_SHOWN);
        for found in scanned.found.iter().take(MAX_FILES) {
            if matches_left == 0 {
                break;
            }
            // Loaded through the store, so that its rules for links and paths apply to results too.
            let Ok(snapshot) = self.snapshot(&found.path).await else {
                scanned.skipped.unreadable += 1;
                continue;
            };
            if let Some((hits, shown_lines)) =
                search::hits_in(&query, found, &snapshot, context, matches_left)
            {
                matches_left -= hits.matches.len();
                // The file may have changed since its matches were counted.
                total_matches = total_matches + hits.match_count - found.count;
                self.ledger.record_read(&found.path, &snapshot, &shown_lines);
                files.push(hits);
            }
        }
        let shown_matches: usize = files.iter().map(|file| file.matches.len()).sum();
        let total_paths = scanned.paths.len();
        scanned.paths.truncate(MAX_FILES);
        let truncated = is_partial
            || shown_matches < total_matches
            || files.len() < total_files
            || scanned.paths.len() < total_paths;
        // A file is a result, too, if only its path contains the keyword.
        for path in &scanned.paths {
            if files.len() < MAX_FILES && files.iter().all(|file| file.path != *path) {
                let Ok(path) = self.path(path) else { continue };
                let Ok(snapshot) = self.snapshot(&path).await else { continue };
                files.push(search::path_hit(&path, &snapshot));
            }
        }
        Ok(SearchReport {
            truncated,
            files,
            total_paths,
            total_files,
            total_matches,
            paths: scanned.paths,
            searched: scanned.searched,
            skipped: scanned.skipped,
        })
    }

    /// Lists the files below `path` that match `glob`.
    pub async fn list_files(
        &self,
        path: Option<&str>,
        glob: Option<&str>,
    ) -> Result<ListReport, Refusal> {
        self.require_listing()?;
        if !self.has_folder() {
            return self.list_objects(path, glob).await;
        }
        let overlay = self.overlay();
        let scope = Scope::new(self.root(), path, glob, &overlay)?;
        blocking(move || search::list(&scope, &overlay)).await
    }
}

/// Runs a search or a listing on a thread that may block.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Refusal> {
    tokio::task::spawn_blocking(work).await.map_err(|error| {
        Refusal::new(EditCode::ReadError, format!("the search was interrupted: {error}"))
            .hint("Send the same call again.")
    })
}
