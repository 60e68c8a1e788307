//! The order of the found files: first by how many of the terms a file has, then by how close
//! together these are, then by how many lines match.

use super::scan::ScannedFile;

/// Sorts the files, the best one first.
pub(crate) fn rank(found: &mut [ScannedFile]) {
    found.sort_by_cached_key(|file| {
        let terms = all_terms(file);
        (
            std::cmp::Reverse(terms.count_ones()),
            proximity(&file.lines, terms),
            std::cmp::Reverse(file.count),
            file.path.clone(),
        )
    });
}

/// Returns the number of different terms in a file.
pub(super) fn count_terms(file: &ScannedFile) -> usize {
    all_terms(file).count_ones() as usize
}

/// Returns the terms that any line of the file has, one bit for each.
fn all_terms(file: &ScannedFile) -> u64 {
    file.lines.iter().fold(0, |terms, (_, mask)| terms | mask)
}

/// Finds the shortest stretch of the file that has all of `terms`, and returns how many lines its
/// last line is below its first line. `lines` are line numbers with the terms on each line.
fn proximity(lines: &[(u64, u64)], terms: u64) -> u64 {
    // A window moves over the lines: it grows at its end until it has all terms, then it shrinks
    // at its start as long as it still has them.
    let mut counts = [0_usize; 64];
    let mut missing = terms.count_ones();
    let mut window_start = 0;
    let mut shortest = u64::MAX;
    let bits = |mask: u64| (0..64).filter(move |bit| mask >> bit & 1 == 1);
    for &(last_line, mask) in lines {
        for bit in bits(mask) {
            counts[bit] += 1;
            missing -= u32::from(counts[bit] == 1);
        }
        while missing == 0 {
            let (first_line, first_mask) = lines[window_start];
            shortest = shortest.min(last_line - first_line);
            for bit in bits(first_mask) {
                counts[bit] -= 1;
                missing += u32::from(counts[bit] == 0);
            }
            window_start += 1;
        }
    }
    shortest
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
