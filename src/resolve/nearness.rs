//! How near one text is to another, white space counted lightly.

use rapidfuzz::distance::levenshtein;

/// Cells of the alignment table; beyond it, whole texts are compared instead.
const MOST_CELLS: usize = 24_000_000;

/// The characters of a text with each run of white space as one blank.
pub(super) fn folded(text: &str) -> Vec<char> {
    let mut out: Vec<char> = Vec::with_capacity(text.len());
    for c in text.trim().chars() {
        match (c.is_whitespace(), out.last()) {
            (true, Some(' ')) => {}
            (true, _) => out.push(' '),
            (false, _) => out.push(c),
        }
    }
    out
}

/// From 0 (nothing in common) to 1 (the same but for white space).
pub(super) fn alike(a: &[char], b: &[char]) -> f64 {
    levenshtein::normalized_similarity(a.iter(), b.iter())
}

/// What a character of `wanted` costs that the text lacks, and what one costs that
/// only the text has. Files grow between a model's reading and its edit, so that what
/// is missing says more than what was added.
const LACKING: u32 = 4;
const ADDED: u32 = 1;

/// The part of `text` that is nearest to `wanted`: how near, from where, to where.
pub(super) fn best_part(wanted: &[char], text: &[char]) -> (f64, usize, usize) {
    if wanted.is_empty() || text.is_empty() {
        return (0.0, 0, 0);
    }
    if wanted.len().saturating_mul(text.len()) > MOST_CELLS {
        return (alike(wanted, text), 0, text.len());
    }
    // Edit distance of `wanted` to a part of `text` that may begin anywhere; each cell
    // also knows where its part begins.
    let mut above: Vec<(u32, usize)> = (0..=text.len()).map(|start| (0, start)).collect();
    let mut row = above.clone();
    for (i, a) in (1_u32..).zip(wanted) {
        row[0] = (i.saturating_mul(LACKING), 0);
        for (j, b) in text.iter().enumerate() {
            let (cost, start) = above[j];
            let replaced = (cost + if a == b { 0 } else { LACKING }, start);
            let dropped = (above[j + 1].0 + LACKING, above[j + 1].1);
            let added = (row[j].0 + ADDED, row[j].1);
            row[j + 1] = replaced.min(dropped).min(added);
        }
        std::mem::swap(&mut above, &mut row);
    }
    let best = above.iter().enumerate().min_by_key(|(_, (cost, _))| *cost);
    let Some((end, &(cost, start))) = best else { return (0.0, 0, 0) };
    let most = u32::try_from(wanted.len()).unwrap_or(u32::MAX).saturating_mul(LACKING);
    (1.0 - f64::from(cost.min(most)) / f64::from(most), start, end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_part_is_found_inside_a_longer_text() {
        let wanted = folded("const A = 'x';");
        let text = folded("let z = 1;\nconst  A = \"x\"; // note\n");
        let (score, start, end) = best_part(&wanted, &text);
        assert!((0.8..0.9).contains(&score), "{score}");
        assert_eq!(text[start..end].iter().collect::<String>(), "const A = \"x\";");
        assert!(alike(&folded("a  b"), &folded("a\nb")) > 0.999);
    }
}
