//! The order of files: by how many of the terms they hold, then by how close these
//! are, then by how many lines hit.

use super::scan::ScannedFile;

/// Puts the best file first.
pub(crate) fn rank(found: &mut [ScannedFile]) {
    found.sort_by_cached_key(|file| {
        let union = file.lines.iter().fold(0, |all, (_, mask)| all | mask);
        (
            std::cmp::Reverse(union.count_ones()),
            proximity(&file.lines, union),
            std::cmp::Reverse(file.count),
            file.path.clone(),
        )
    });
}

/// How many terms a file holds.
pub(super) fn count_terms(found: &ScannedFile) -> usize {
    found.lines.iter().fold(0, |all, (_, mask)| all | mask).count_ones() as usize
}

/// The fewest lines between two hits that together hold all of `union`.
fn proximity(lines: &[(u64, u64)], union: u64) -> u64 {
    let mut counts = [0_usize; 64];
    let mut missing = union.count_ones();
    let mut start = 0;
    let mut best = u64::MAX;
    let bits = |mask: u64| (0..64).filter(move |bit| mask >> bit & 1 == 1);
    for &(line, mask) in lines {
        for bit in bits(mask) {
            counts[bit] += 1;
            missing -= u32::from(counts[bit] == 1);
        }
        while missing == 0 {
            let (first, mask) = lines[start];
            best = best.min(line - first);
            for bit in bits(mask) {
                counts[bit] -= 1;
                missing += u32::from(counts[bit] == 0);
            }
            start += 1;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::edit::WorkPath;

    #[test]
    fn more_terms_first_then_closer_then_more_hits() {
        let file = |path: &str, lines: &[(u64, u64)]| ScannedFile {
            path: WorkPath::parse(path, Path::new("/w")).expect("path"),
            count: lines.len(),
            lines: lines.to_vec(),
        };
        let mut found = [
            file("one-term", &[(1, 1), (2, 1), (3, 1), (4, 1)]),
            file("far", &[(1, 1), (90, 2), (91, 2)]),
            file("close", &[(1, 1), (50, 1), (52, 2)]),
            file("same-line", &[(7, 3)]),
            file("more", &[(7, 3), (9, 1)]),
        ];
        rank(&mut found);
        let order: Vec<_> = found.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(order, ["more", "same-line", "close", "far", "one-term"]);
    }
}
