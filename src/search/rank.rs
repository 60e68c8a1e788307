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

/// Returns the terms that any line of the file has, one bit for each.
fn all_terms(file: &ScannedFile) -> u64 {
    file.lines.iter().fold(0, |terms, (_, mask)| terms | mask)
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
