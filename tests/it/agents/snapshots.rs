//! Plain text snapshots beside the tests. `RESTITCH_BLESS=1` writes them anew; the
//! difference is then for the reader of the commit to judge.

use std::path::PathBuf;

/// Compares `text` with the snapshot of that name.
#[track_caller]
pub(crate) fn check(name: &str, text: &str) {
    let path =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/agents/snapshots").join(name);
    if std::env::var_os("RESTITCH_BLESS").is_some() {
        std::fs::write(&path, text).expect("snapshot can be written");
        return;
    }
    let kept = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("no snapshot {}: {error}", path.display()));
    if kept != text {
        let diff = similar::TextDiff::from_lines(kept.as_str(), text);
        panic!("{name} differs from its snapshot:\n{}", diff.unified_diff().context_radius(2));
    }
}
