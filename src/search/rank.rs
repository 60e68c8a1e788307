//! The order of the found files: first by how many of the terms a file has, then by how close
//! together these are, then by how many lines match.

use super::scan::ScannedFile;

/// Sorts the files, the best one first.
pub(crate) fn rank(found: &mut [ScannedFile]) {
    found.sort_by_cached_key(|file| {
        // The terms that any line of the file has, one bit for each.
        let terms = file.lines.iter().fold(0, |terms, (_, mask)| terms | mask);
        (
            std::cmp::Reverse(terms.count_ones()),
            proximity(&file.lines, terms),
            std::cmp::Reverse(file.count),
            file.path.clone(),
        )
    });
}

/// Finds the shortest stretch of the file that has all of `terms`, and returns how many lines its
/// last line is below its first line. `lines` are line numbers with the terms on each line.
fn proximity(lines: &[(u64, u64)], terms: u64) -> u64 {
    let bits = |mask: u64| (0..64).filter(move |bit| mask >> bit & 1 == 1);
    let mut last_lines = [0; 64];
    let mut found = 0;
    let mut shortest = u64::MAX;
    for &(line, mask) in lines {
        found |= mask;
        bits(mask).for_each(|bit| last_lines[bit] = line);
        if found == terms {
            let first_line = bits(terms).map(|bit| last_lines[bit]).min().unwrap_or(line);
            shortest = shortest.min(line - first_line);
        }
    }
    shortest
}
