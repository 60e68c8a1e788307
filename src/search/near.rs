//! Finds the files that may be meant by a path that does not exist.

use std::cmp::Reverse;

use rapidfuzz::distance::{levenshtein, osa};
use unicode_normalization::UnicodeNormalization as _;

/// How near a file is to the path; the smallest is the nearest.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Nearness {
    /// The number of parts that both paths end with, but for upper and lower case and how accents are
    /// written.
    shared_parts: Reverse<usize>,
    /// The edit distance of the file names.
    name_distance: usize,
    /// The edit distance of the folders.
    folder_distance: usize,
}

/// The files that `wanted` may mean, best first. If `is_outside`, `wanted` is not below the root; then
/// a file must share more with it than its name.
pub(crate) fn near_paths<'a>(
    wanted: &str,
    is_outside: bool,
    files: impl Iterator<Item = &'a str>,
) -> Vec<&'a str> {
    let wanted: Vec<&str> =
        wanted.split(['/', '\\']).filter(|part| !matches!(*part, "" | "." | "..")).collect();
    let ranked = files.filter_map(|file| Some((nearness(&wanted, is_outside, file)?, file)));
    let mut ranked: Vec<_> = ranked.collect();
    ranked.sort_unstable();
    // A folder in common tells more than a name, which `mod.rs` has in every folder.
    let most_shared = ranked.first().map_or(0, |(nearness, _)| nearness.shared_parts.0);
    ranked.retain(|(nearness, _)| most_shared < 2 || nearness.shared_parts.0 == most_shared);
    ranked.into_iter().map(|(_, file)| file).collect()
}

/// How near a file is to the wanted path; `None` if the path cannot mean the file.
fn nearness(wanted: &[&str], is_outside: bool, file: &str) -> Option<Nearness> {
    let parts: Vec<&str> = file.split('/').collect();
    let ((name, folder), (file_name, file_folder)) = (wanted.split_last()?, parts.split_last()?);
    if wanted == parts {
        return None;
    }
    let is_same = |(a, b): &(&&str, &&str)| folded(a) == folded(b);
    let shared = wanted.iter().rev().zip(parts.iter().rev()).take_while(is_same).count();
    if is_outside && shared < 2 && shared < parts.len() {
        return None;
    }
    let has_similar_name = || is_nearby(folder, file_folder) && is_similar(name, file_name);
    if shared == 0 && !has_similar_name() {
        return None;
    }
    let (folder, file_folder) = (folder.join("/"), file_folder.join("/"));
    Some(Nearness {
        shared_parts: Reverse(shared),
        name_distance: osa::distance(name.chars(), file_name.chars()),
        folder_distance: levenshtein::distance(folder.chars(), file_folder.chars()),
    })
}

/// Whether `other` is the same folder, one beside it, the one above it or one in it.
fn is_nearby(folder: &[&str], other: &[&str]) -> bool {
    let above = |path: &[&str]| path.split_last().map(|(_, above)| above.len());
    let is_in = |inner: &[&str], outer: &[&str]| {
        above(inner) == Some(outer.len()) && inner.starts_with(outer)
    };
    folder == other
        || is_in(folder, other)
        || is_in(other, folder)
        || above(folder) == above(other)
            && above(folder).is_some_and(|len| folder[..len] == other[..len])
}

/// Whether the names differ in a few letters: at most one for every three letters of the stem, and
/// never more than three.
fn is_similar(name: &str, other: &str) -> bool {
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let most = (stem.chars().count() / 3).min(3);
    osa::distance(folded(name).chars(), folded(other).chars()) <= most
}

/// A name in lower case, with each accent in its letter.
fn folded(name: &str) -> String {
    name.nfc().collect::<String>().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_files_come_first() {
        let files = [
            "README.md",
            "src/area.py",
            "src/shapes/circle.py",
            "src/shapes/mod.rs",
            "tests/area.py",
            "tests/shapes/mod.rs",
            "web/src/index.ts",
            "web/Makefile",
            "caf\u{e9}.txt",
        ];
        for (wanted, is_outside, first) in [
            ("area.py", false, &["src/area.py", "tests/area.py"][..]),
            ("scr/area.py", false, &["src/area.py", "tests/area.py"]),
            ("project/src/area.py", false, &["src/area.py"]),
            ("src/aera.py", false, &["src/area.py", "tests/area.py"]),
            ("src/Area.py", false, &["src/area.py"]),
            ("Src/area.py", false, &["src/area.py"]),
            ("shapes/mod.rs", false, &["src/shapes/mod.rs", "tests/shapes/mod.rs"]),
            ("src/mod.rs", false, &["src/shapes/mod.rs", "tests/shapes/mod.rs"]),
            ("src/shape/cirle.py", false, &["src/shapes/circle.py"]),
            ("src\\area.py", false, &["tests/area.py"]),
            ("readme.md", false, &["README.md"]),
            ("web/makefile", false, &["web/Makefile"]),
            ("cafe\u{301}.txt", false, &["caf\u{e9}.txt"]),
            ("src/areas.rs", false, &[]),
            ("lib/circel.py", false, &[]),
            ("a.py", false, &[]),
            ("/home/other/project/src/area.py", true, &["src/area.py"]),
            ("/app/README.md", true, &["README.md"]),
            ("/etc/index.ts", true, &[]),
            ("", false, &[]),
        ] {
            let found = near_paths(wanted, is_outside, files.into_iter());
            assert_eq!(found, first, "{wanted}");
        }
    }
}
