//! Finds the exact old and new text that turn one version of a file into another.

use crate::text::Snapshot;

/// Finds an old text that occurs once in `before`, and the new text that replaces it to give `after`.
/// The two texts have LF endings, as clients convert CRLF files. `None` if the file has mixed line
/// endings or bytes that are not valid text, or if there is no such pair.
pub(super) fn between(before: &Snapshot, after: &Snapshot) -> Option<(String, String)> {
    if before.line_ending() == "mixed" || before.has_invalid_bytes() {
        return None;
    }
    let with_lf = |snapshot: &Snapshot| snapshot.text().replace("\r\n", "\n");
    let (before, after) = (with_lf(before), with_lf(after));
    let lines_before: Vec<&str> = before.split_inclusive('\n').collect();
    let lines_after: Vec<&str> = after.split_inclusive('\n').collect();
    let mut kept_above =
        lines_before.iter().zip(&lines_after).take_while(|(old, new)| old == new).count();
    let most_below = lines_before.len().min(lines_after.len()) - kept_above;
    let from_end = lines_before.iter().rev().zip(lines_after.iter().rev());
    let mut kept_below = from_end.take(most_below).take_while(|(old, new)| old == new).count();
    // The old text is first the lines that differ. Until it is unique, it takes in one more line above
    // and below.
    loop {
        let old = lines_before[kept_above..lines_before.len() - kept_below].concat();
        let new = lines_after[kept_above..lines_after.len() - kept_below].concat();
        if !old.is_empty() && count_overlapping(&before, &old) == 1 {
            return (before.replacen(&old, &new, 1) == after).then_some((old, new));
        }
        if kept_above == 0 && kept_below == 0 {
            return None;
        }
        kept_above = kept_above.saturating_sub(1);
        kept_below = kept_below.saturating_sub(1);
    }
}

/// The number of occurrences of `part`, overlapping ones included.
fn count_overlapping(text: &str, part: &str) -> usize {
    let mut search_from = 0;
    let mut count = 0;
    while let Some(offset) = text[search_from..].find(part) {
        count += 1;
        let start = search_from + offset;
        search_from = start + text[start..].chars().next().map_or(1, char::len_utf8);
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pair_is_as_small_as_it_can_be_and_unique() {
        let pair = |a: &str, b: &str| between(&Snapshot::from_text(a), &Snapshot::from_text(b));
        assert_eq!(pair("a\nb\nc\n", "a\nB\nc\n"), Some(("b\n".into(), "B\n".into())));
        assert_eq!(
            pair("a\nb\na\nb\n", "a\nb\na\nX\n"),
            Some(("b\na\nb\n".into(), "b\na\nX\n".into()))
        );
        assert_eq!(pair("a\r\nb\r\n", "a\r\nc\r\n"), Some(("b\n".into(), "c\n".into())));
        assert_eq!(pair("a\nb\n", "a\nnew\nb\n"), Some(("a\nb\n".into(), "a\nnew\nb\n".into())));
        assert_eq!(pair("a\r\nb\n", "a\r\nc\n"), None);
    }
}
