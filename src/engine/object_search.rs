//! Lists and searches a root that is not a folder, such as object storage: the store lists its
//! files page by page, and a limited number of them is fetched and searched.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::path::{Path, PathBuf};

use tokio::task::JoinSet;

use super::search::blocking;
use super::{Engine, Stage};
use crate::edit::{Refusal, WorkPath};
use crate::port::ListedObject;
use crate::search::{
    self, IgnoreRules, ListReport, ListedFile, MAX_LISTED, MAX_RULES_BYTES, Query, Scanned, Scope,
};
use crate::store::Overlay;

/// A listing stops after this many names, of which each thousand is a request, and a search fetches at
/// most this many files.
const MAX_NAMES: usize = 5_000;
/// A search skips larger files.
const MAX_FILE_BYTES: u64 = 4 << 20;
/// One search fetches at most this many bytes.
const MAX_TOTAL_BYTES: u64 = 64 << 20;
/// At most this many requests are sent at the same time.
const CONCURRENT_REQUESTS: usize = 16;
/// At most this many ignore files are read.
const MAX_RULE_FILES: usize = 200;

/// The files of a scope.
pub(super) struct ScopeFiles {
    /// The size of each file, by path.
    pub(super) files: BTreeMap<WorkPath, u64>,
    /// Whether there are more files than were listed.
    has_more: bool,
    overlay: Overlay,
}

impl Engine {
    /// Lists the files below `path` that match `glob`.
    pub(super) async fn list_objects(
        &self,
        path: Option<&str>,
        glob: Option<&str>,
    ) -> Result<ListReport, Refusal> {
        let scope = Scope::of_listing(self.root(), path, glob)?;
        let ScopeFiles { files, has_more, .. } = self.files_in(&scope).await?;
        let total = files.len();
        let files: Vec<ListedFile> = files
            .into_iter()
            .take(MAX_LISTED)
            .map(|(path, bytes)| ListedFile { path: path.as_str().to_owned(), bytes })
            .collect();
        // It is not known how many files were not listed; they count as one.
        let skipped = search::Skipped { unfetched: usize::from(has_more), ..Default::default() };
        Ok(ListReport { truncated: has_more || total > files.len(), files, total, skipped })
    }

    /// Fetches the files below `path` that match `glob`, and searches them.
    pub(super) async fn scan_objects(
        &self,
        query: &Query,
        path: Option<&str>,
        glob: Option<&str>,
    ) -> Result<Scanned, Refusal> {
        let scope = Scope::of_listing(self.root(), path, glob)?;
        let ScopeFiles { files, has_more, overlay } = self.files_in(&scope).await?;
        let mut scanned = Scanned::default();
        // It is not known how many files were not listed; they count as one.
        scanned.skipped.unfetched += usize::from(has_more);
        let mut wanted = Vec::new();
        let mut bytes_left = MAX_TOTAL_BYTES;
        for (path, bytes) in files {
            let is_within_limits = bytes <= MAX_FILE_BYTES.min(bytes_left);
            if overlay.contains_key(&path) {
                wanted.push(path);
            } else if is_within_limits {
                bytes_left -= bytes;
                wanted.push(path);
            } else {
                scanned.skipped.unfetched += 1;
            }
        }
        self.report_stage(Stage::Read, &format!("{} files", wanted.len()));
        let (fetched, failed) = self.fetch(&wanted).await;
        scanned.skipped.unreadable += failed;
        let query = query.clone();
        scanned.merge(blocking(move || search::scan(&scope, &query, &fetched)).await?);
        scanned.paths.sort();
        Ok(scanned)
    }

    /// The files of a scope, without those that ignore files exclude. The listing ends with the page
    /// on which it reaches [`MAX_NAMES`].
    pub(super) async fn files_in(&self, scope: &Scope) -> Result<ScopeFiles, Refusal> {
        let start = scope.relative_start().to_str().unwrap_or_default().to_owned();
        let mut listed: Vec<ListedObject> = Vec::new();
        let mut after: Option<String> = None;
        while let Some(lister) = self.store.lister() {
            let page = lister.list(&start, after.as_deref()).await?;
            listed.extend(page.files);
            after = page.next;
            if after.is_none() || listed.len() >= MAX_NAMES {
                break;
            }
            self.report_stage(Stage::Read, &format!("{} names", listed.len()));
        }
        let has_more = after.is_some();
        let overlay = self.overlay();
        let mut files: BTreeMap<WorkPath, u64> =
            listed.into_iter().map(|file| (file.path, file.bytes)).collect();
        // The path of the scope may be a file.
        if files.is_empty()
            && let Ok(path) = WorkPath::parse(&start, self.root())
            && let Ok(bytes) = self.store.load(&path).await
        {
            files.insert(path, bytes.len() as u64);
        }
        for (path, bytes) in &overlay {
            match bytes {
                Some(bytes) => files.insert(path.clone(), bytes.len() as u64),
                None => files.remove(path),
            };
        }
        let rules = self.ignore_rules(&files, scope.relative_start()).await;
        files.retain(|path, _| scope.contains(path) && !scope.is_ignored(&rules, path));
        Ok(ScopeFiles { files, has_more, overlay })
    }

    /// The rules of the ignore files among `files` and in the folders above `start`.
    async fn ignore_rules(&self, files: &BTreeMap<WorkPath, u64>, start: &Path) -> IgnoreRules {
        const NAMES: [&str; 2] = [".ignore", ".gitignore"];
        let is_rule_file = |(path, bytes): &(&WorkPath, &u64)| {
            let name = path.as_path().file_name().and_then(|name| name.to_str());
            name.is_some_and(|name| NAMES.contains(&name)) && **bytes <= MAX_RULES_BYTES
        };
        let mut wanted: Vec<WorkPath> = files
            .iter()
            .filter(is_rule_file)
            .take(MAX_RULE_FILES)
            .map(|(path, _)| path.clone())
            .collect();
        for folder in start.ancestors().skip(1) {
            for name in NAMES {
                let path = folder.join(name);
                wanted
                    .extend(path.to_str().and_then(|path| WorkPath::parse(path, self.root()).ok()));
            }
        }
        let (fetched, _) = self.fetch(&wanted).await;
        let text = |(path, bytes): (WorkPath, Option<Vec<u8>>)| {
            let text = String::from_utf8_lossy(&bytes?).trim_start_matches('\u{feff}').to_owned();
            Some((self.root().join(path.as_path()), text))
        };
        let texts: HashMap<PathBuf, String> = fetched.into_iter().filter_map(text).collect();
        IgnoreRules::from_texts(self.root(), texts)
    }

    /// Fetches files, several at a time. Also returns how many could not be fetched.
    async fn fetch(&self, paths: &[WorkPath]) -> (Overlay, usize) {
        let mut pending: VecDeque<WorkPath> = paths.iter().cloned().collect();
        let mut running = JoinSet::new();
        let mut fetched = Overlay::new();
        let mut failed = 0;
        loop {
            while running.len() < CONCURRENT_REQUESTS
                && let Some(path) = pending.pop_front()
            {
                let store = self.store.clone();
                running.spawn(async move { (store.load(&path).await, path) });
            }
            match running.join_next().await {
                None => return (fetched, failed),
                Some(Ok((Ok(bytes), path))) => {
                    fetched.insert(path, Some(bytes));
                }
                Some(Ok((Err(_), _)) | Err(_)) => failed += 1,
            }
        }
    }
}
