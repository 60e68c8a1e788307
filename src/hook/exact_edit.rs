//! The exact pair of strings that turns one version of a file into another.

use crate::text::Snapshot;

/// `old` occurs once in `before`, and putting `new` in its place gives `after`. Clients
/// read CRLF files with LF, so a file of one kind of ending is given with LF.
pub(super) fn between(before: &Snapshot, after: &Snapshot) -> Option<(String, String)> {
    if before.line_ending() == "mixed" || before.has_invalid_bytes() {
        return None;
    }
    let one = |snapshot: &Snapshot| snapshot.text().replace("\r\n", "\n");
    let (before, after) = (one(before), one(after));
    let old: Vec<&str> = before.split_inclusive('\n').collect();
    let new: Vec<&str> = after.split_inclusive('\n').collect();
    let mut head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let max_tail = old.len().min(new.len()) - head;
    let mut tail =
        old.iter().rev().zip(new.iter().rev()).take(max_tail).take_while(|(a, b)| a == b).count();
    loop {
        let from = old[head..old.len() - tail].concat();
        let to = new[head..new.len() - tail].concat();
        if !from.is_empty() && count(&before, &from) == 1 {
            return (before.replacen(&from, &to, 1) == after).then_some((from, to));
        }
        if head == 0 && tail == 0 {
            return None;
        }
        head = head.saturating_sub(1);
        tail = tail.saturating_sub(1);
    }
}

/// Occurrences, overlapping ones too.
fn count(text: &str, part: &str) -> usize {
    let mut at = 0;
    let mut found = 0;
    while let Some(next) = text[at..].find(part) {
        found += 1;
        at += next + text[at + next..].chars().next().map_or(1, char::len_utf8);
    }
    found
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
            None.or(Some(("b\na\nb\n".into(), "b\na\nX\n".into())))
        );
        assert_eq!(pair("a\r\nb\r\n", "a\r\nc\r\n"), Some(("b\n".into(), "c\n".into())));
        assert_eq!(pair("a\nb\n", "a\nnew\nb\n"), Some(("a\nb\n".into(), "a\nnew\nb\n".into())));
        assert_eq!(pair("a\r\nb\n", "a\r\nc\n"), None);
    }
}
