//! On which side of blank lines new lines go, where the call does not know of the blank lines:
//! a row belongs to its table, an import to its group, and a method has room on both sides.

use super::super::canon::is_word;
use super::super::code::is_comment;
use super::super::fit;
use super::super::indent;
use super::super::tokens::tokens;
use super::{Line, Side};

/// Where new lines go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Right below the line above, and the blank lines behind them.
    Above,
    Below,
    /// With blank lines on both sides.
    Between,
}

/// Tells the side of some new lines, and takes those of their own blank lines away that are
/// the file's. `around` is what happens to the lines above and below.
pub(super) fn side(
    lines: &mut Vec<Line>,
    out: &[Line],
    below: Option<&str>,
    around: (Side, Side),
) -> Place {
    let blank = |line: &Line| line.text.trim().is_empty();
    let leading = lines.iter().take_while(|line| blank(line)).count();
    if leading == lines.len() {
        return Place::Below;
    }
    if leading > 0 {
        lines.drain(..leading);
        // What ends as the lines above do has the room below that those have.
        let above = out.iter().rev().find(|line| !blank(line)).map(|line| line.text.trim());
        let alike = lines.last().map(|last| last.text.trim()) == above;
        return if alike { Place::Between } else { Place::Below };
    }
    let trailing = lines.iter().rev().take_while(|line| blank(line)).count();
    if trailing > 0 {
        lines.truncate(lines.len() - trailing);
        return Place::Above;
    }
    let above = out.iter().rev().find(|line| !blank(line)).map(|line| line.text.as_str());
    let (Some(first), Some(last)) = (lines.first(), lines.last()) else { return Place::Below };
    let (Some(above), Some(below)) = (above, below) else { return Place::Below };
    let (first, last) = (first.text.as_str(), last.text.as_str());
    let depth = |line: &str| indent::columns(indent::of(line), 4);
    // A key like the one below.
    let keys = depth(first) == depth(below)
        && [first, below].iter().all(|line| line.trim_end().ends_with(':') && !line.contains(' '));
    if fit::closes(first) && !keys || fit::goes_on(None, first) || depth(first) > depth(below) {
        return Place::Above;
    }
    if depth(first) < depth(below) {
        return Place::Below;
    }
    // A block like the one below, behind another one.
    let ends_block = |line: &str| depth(line) > depth(below) || fit::closes(line);
    // What a comment or an attribute is about comes with it.
    let heads = is_head(first);
    let has_more =
        || lines.iter().any(|line| !is_head(&line.text) && depth(&line.text) == depth(first));
    let is_block = if heads { has_more() } else { !is_comment(below) };
    if ends_block(above) && is_block {
        return match ends_block(last) {
            true => Place::Between,
            false => Place::Below,
        };
    }
    if depth(above) != depth(first) || lines.iter().all(|line| is_head(&line.text)) {
        return Place::Below;
    }
    use Side::{Changed, Gone, Kept};
    match around {
        (Kept, Changed | Gone) => Place::Below,
        (Changed | Gone, Kept) => Place::Above,
        _ if kinship(first, below) > kinship(first, above) => Place::Below,
        _ => Place::Above,
    }
}

/// Whether a line says something of the one below it.
fn is_head(line: &str) -> bool {
    let line = line.trim_start();
    is_comment(line) || line.starts_with('@') || line.starts_with("#[")
}

/// How much one line is of the kind of another, by how they begin.
fn kinship(line: &str, other: &str) -> usize {
    const MOST: usize = 4;
    let solid = |text: &'_ str| -> Vec<String> {
        let tokens = tokens(text).into_iter().filter(|token| !token.trim().is_empty());
        tokens.take(MOST).map(str::to_owned).collect()
    };
    let (a, b) = (solid(line), solid(other));
    let word = |token: &String| token.starts_with(is_word);
    let alike = |(a, b): &(&String, &String)| a == b || word(a) && word(b);
    let shape = a.iter().zip(&b).take_while(alike).count();
    let (Some(a), Some(b)) = (a.first(), b.first()) else { return 0 };
    let stem = |token: &str| token.split_inclusive('_').next().map(str::to_owned);
    let named = word(a) && stem(a) == stem(b) && a.contains('_');
    shape + MOST * (usize::from(a == b) * 2 + usize::from(named))
}

#[cfg(test)]
mod tests {
    use super::super::tests::applied;

    #[test]
    fn new_lines_stand_beside_their_kin() {
        for (file, old, new, result) in [
            ("| a |\n\n## B\n", "| a |\n## B\n", "| a |\n| c |\n## B\n", "| a |\n| c |\n\n## B\n"),
            (
                "import a\n\nb = 1\n",
                "import a\nb = 1\n",
                "import a\nimport c\nb = 1\n",
                "import a\nimport c\n\nb = 1\n",
            ),
            ("a = 1\n\nb(1)\n", "a = 1\nb(1)\n", "a = 1\nb(0)\nb(1)\n", "a = 1\n\nb(0)\nb(1)\n"),
            (
                "def a\n  1\nend\n\ndef b\n  2\nend\n",
                "  1\nend\ndef b\n",
                "  1\nend\ndef c\n  3\nend\ndef b\n",
                "def a\n  1\nend\n\ndef c\n  3\nend\n\ndef b\n  2\nend\n",
            ),
            (
                "aaa = 1\nbbb = 2\n\nccc = 3\n",
                "aaa = 1\nbbb = 2\nccc = 3\n",
                "aaa = 1\nbbb = 5\nddd = 2\n\nccc = 3\n",
                "aaa = 1\nbbb = 5\nddd = 2\n\nccc = 3\n",
            ),
            (
                "aaa = 1\n\nbbb = 2\n\nccc = 3\n",
                "aaa = 1\nbbb = 2\nccc = 3\n",
                "aaa = 1\nccc = 3\n",
                "aaa = 1\n\nccc = 3\n",
            ),
        ] {
            assert_eq!(applied(file, old, new), result, "{old:?}");
        }
    }
}
