//! Random edits of every language's sample: no panic, no run beyond its box, no line that is not
//! there. `RESTITCH_LONG=1` makes 100,000 of them.

use std::time::{Duration, Instant};

use restitch::adapters::syntax::TreeSitter;
use restitch::edit::Splice;
use restitch::port::Syntax as _;

use super::languages::samples;
use crate::random::Random;

const PIECES: &[&str] = &[
    "", "", "", "{", "}", "(", ")", "[", "]", "<", ">", "\"", "'", "`", "\\", "/*", "*/", "//",
    "#", "\n", "\r\n", "\t", "    ", ";", ",", ":", "=", "${", "<?php", "?>", "<script>", "</",
    "end", "é", "\u{feff}", "\u{0}", "😀", "\"\"\"", "'''", "<<EOF\n", "%", "|", "&", "-->",
    "<!--", "---\n",
];

#[test]
fn random_edits_stay_within_their_box() {
    let count = crate::long::count(3_000, 100_000);
    let parser = TreeSitter::new();
    let mut random = Random::new(25);
    let (samples, mut told, mut unchecked) = (samples(), 0, 0);
    let (mut slowest, mut apart) = (Duration::ZERO, 0);
    for run in 0..count {
        let sample = random.pick(&samples);
        let file = match random.below(4) {
            0 => sample.file.repeat(1 + random.below(20)),
            _ => sample.file.clone(),
        };
        let boundary =
            |at: usize| (0..=at).rev().find(|at| file.is_char_boundary(*at)).unwrap_or(0);
        let start = boundary(random.below(file.len() + 1));
        let end = boundary((start + random.below(12)).min(file.len())).max(start);
        let text: String = (0..=random.below(3)).map(|_| *random.pick(PIECES)).collect();
        let after = [&file[..start], &text, &file[end..]].concat();
        let splice = Splice { range: start..end, text };
        let begun = Instant::now();
        let said = parser.compare(&sample.path, &file, &after, &[splice]);
        slowest = slowest.max(begun.elapsed());
        told += usize::from(!said.new_errors.is_empty());
        unchecked += usize::from(!said.checked);
        for error in &said.new_errors {
            let line = after.lines().nth(error.line - 1);
            let there =
                line.is_some_and(|line| line.trim().starts_with(error.text.trim_end_matches('…')));
            assert!(
                there || after.trim().is_empty(),
                "{run}: {}: {error:?} in {after:?}",
                sample.path
            );
        }
        // Reading only what changed must not come to another end than reading it all.
        if said.checked {
            let afresh = TreeSitter::new().compare(&sample.path, &file, &after, &[]);
            apart += usize::from(
                afresh.checked && afresh.new_errors.is_empty() != said.new_errors.is_empty(),
            );
        }
    }
    println!(
        "{count} edits: {told} with new errors, {unchecked} not checked, slowest {slowest:?}, {apart} read otherwise afresh"
    );
    assert!(told > count / 5, "{told}");
    // Three parses of half a second each, at most.
    assert!(slowest < Duration::from_secs(3), "{slowest:?}");
    assert!(apart * 500 <= count, "{apart} of {count}");
}
