//! Git worktrees. Who works in one and names a file of the main checkout nearly always means the
//! worktree's own copy, so such a path is refused, and the refusal names both files.

use std::fs;
use std::path::{Path, PathBuf};

use super::folder::canonical;
use crate::edit::{EditCode, Refusal};

/// The longest `.git` file that is read; it has one line with a path.
const MAX_BYTES: u64 = 8 << 10;

/// A linked worktree, and the checkout that it belongs to.
#[derive(Debug)]
pub(crate) struct Worktree {
    pub(crate) folder: PathBuf,
    main: PathBuf,
}

impl Worktree {
    /// The worktree that `folder` is in; `None` in a main checkout, in a submodule, in a worktree of
    /// a bare repository, and outside of git.
    pub(crate) fn around(folder: &Path) -> Option<Self> {
        let folder = checkout_of(folder)?;
        let link = folder.join(".git");
        if fs::metadata(&link).ok().is_none_or(|meta| !meta.is_file() || meta.len() > MAX_BYTES) {
            return None;
        }
        let text = fs::read_to_string(link).ok()?;
        let git_folder = folder.join(text.strip_prefix("gitdir:")?.trim());
        // MAIN/.git/worktrees/NAME
        let worktrees = git_folder.parent().filter(|parent| parent.ends_with("worktrees"))?;
        let git_folder = worktrees.parent().filter(|parent| parent.ends_with(".git"))?;
        Some(Self { folder: folder.to_owned(), main: canonical(git_folder.parent()?).ok()? })
    }
}

/// The refusal of a path that leads from a root in a worktree to a file of the main checkout.
pub(crate) fn refuse_main_checkout(raw: &str, root: &Path) -> Option<Refusal> {
    let Worktree { folder, main } = Worktree::around(root)?;
    let named = root.join(raw);
    let named = canonical(named.parent()?).ok()?.join(named.file_name()?);
    // Another worktree may be in a folder of the main checkout, too.
    if checkout_of(&named)? != main {
        return None;
    }
    let own = folder.join(named.strip_prefix(&main).ok()?);
    let [named, own, main, folder] = [&named, &own, &main, &folder].map(|path| path.display());
    let message = format!(
        "`{named}` is in the main checkout {main}, but the root is in its worktree {folder}, where that file is `{own}`"
    );
    let hint = format!(
        "Send `{own}` instead. Only if the user wants {main} itself changed: it must be the root (--root)."
    );
    Some(Refusal::new(EditCode::InvalidPath, message).hint(hint))
}

/// The nearest folder from `path` up that is a checkout.
fn checkout_of(path: &Path) -> Option<&Path> {
    path.ancestors().find(|folder| folder.join(".git").exists())
}
