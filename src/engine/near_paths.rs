//! Suggests files that a caller may mean by a path at which there is no file.

use super::Engine;
use super::search::blocking;
use crate::edit::WorkPath;
use crate::search::{self, Scope};

/// At most this many names are compared with the path.
const MAX_NAMES: usize = 20_000;
/// At most this many files are suggested.
const MAX_NAMED: usize = 3;
/// The store is asked about at most this many files, because protected ones are not suggested.
const MAX_ASKED: usize = 20;

impl Engine {
    /// The files that this path may mean, best first; none if files cannot be listed. `is_outside` says
    /// that the path leads out of the root.
    pub(crate) async fn near_paths(&self, wanted: &str, is_outside: bool) -> Vec<WorkPath> {
        let names = self.some_names().await;
        let near = search::near_paths(wanted, is_outside, names.iter().map(WorkPath::as_str));
        let mut found = Vec::new();
        for path in near.into_iter().take(MAX_ASKED) {
            let Ok(path) = self.path(path) else { continue };
            if self.store.admit(&path).await.is_ok() {
                found.push(path);
            }
            if found.len() == MAX_NAMED {
                break;
            }
        }
        found
    }

    /// Files of the root that no ignore rule excludes, up to a limit.
    async fn some_names(&self) -> Vec<WorkPath> {
        if self.has_folder() {
            let overlay = self.overlay();
            let Ok(scope) = Scope::new(self.root(), None, None, &overlay) else {
                return Vec::new();
            };
            let names = blocking(move || search::first_paths(&scope, &overlay, MAX_NAMES)).await;
            return names.unwrap_or_default();
        }
        if !self.can_list() {
            return Vec::new();
        }
        let Ok(scope) = Scope::of_listing(self.root(), None, None) else { return Vec::new() };
        let listed = self.files_in(&scope).await;
        listed.map_or_else(|_| Vec::new(), |listed| listed.files.into_keys().collect())
    }
}
