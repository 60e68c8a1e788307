//! "Did you mean …?", where a call names a file that does not exist.

use std::path::Path;

use super::{Toolbox, shown_path};
use crate::edit::message::THEN;
use crate::edit::{EditCode, Refusal, WorkPath, said};

impl Toolbox {
    /// Adds to the hint of a refused path the files that the path may mean, or how to find them;
    /// returns any other refusal unchanged. The files are only suggested: no file is read or written
    /// here.
    pub(super) async fn suggest_paths(&self, refusal: Refusal) -> Refusal {
        let is_missing = refusal.code == EditCode::FileNotFound;
        let (Some(wanted), Some(hint)) = (&refusal.path, &refusal.hint) else { return refusal };
        // A path that can be followed, or is refused for what it is, is not like that of any file.
        let may_lead_out = Path::new(wanted).has_root() || wanted.contains("..");
        let is_outside = may_lead_out && self.engine.path(wanted).is_err();
        let is_invalid = refusal.code == EditCode::InvalidPath && is_outside;
        if !is_missing && !is_invalid {
            return refusal;
        }
        let near = self.engine.near_paths(wanted, is_outside).await;
        let folder = self.folder.as_deref();
        let shown = |path: WorkPath| shown_path(&self.engine, folder, path.as_str());
        let named: Vec<String> =
            near.into_iter().map(|path| format!("`{}`", shown(path))).collect();
        let advice = match named.as_slice() {
            [] if is_missing && self.find("search").is_some() => {
                said!("Check the path: search for a part of it.{THEN}{hint}")
            }
            [] if is_missing => said!("Check the path.{THEN}{hint}"),
            [] => return refusal,
            [only] => said!("Did you mean {only}? Send the call again with that path.{THEN}{hint}"),
            [first @ .., last] => said!(
                "Did you mean {} or {last}? Send the call again with the path of the file you mean.{THEN}{hint}",
                first.join(", ")
            ),
        };
        refusal.hint(advice)
    }
}
