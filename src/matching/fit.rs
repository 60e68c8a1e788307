//! How well new lines fit where they stand, by what the lines around them open and close.

use super::{code, indent};

/// How badly new lines fit where they stand: 0 is well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Fit {
    /// Beside the lines they take the place of.
    pub(super) place: usize,
    /// Below the line above.
    pub(super) above: usize,
    /// Above the line below.
    pub(super) below: usize,
    /// Whether they stand astray between the lines around them; `None` without these.
    pub(super) broken: Option<bool>,
    /// Whether they go out to a depth that no open block has.
    pub(super) between: bool,
    /// How odd what they take the place of stands below the line above, and whether it shows
    /// that nothing goes deeper there.
    pub(super) known: usize,
    pub(super) is_flat: bool,
}

impl Fit {
    /// The same, if what the file has there itself is the rule and not odd.
    fn as_known(&self) -> Self {
        let above = self.above.saturating_sub(self.known);
        Self { above, broken: self.broken.map(|broken| broken || self.is_flat), ..*self }
    }

    /// Whether the file's depth is rather meant than the call's; `None` where that depends on
    /// whether what the file has there is the rule.
    pub(super) fn is_rather_than(&self, call: &Self) -> Option<bool> {
        let plain = self.is_better_than(call);
        (plain == self.as_known().is_better_than(&call.as_known())).then_some(plain)
    }

    /// Whether all of these fit better than others, wherever they differ.
    pub(super) fn is_better_in_all(&self, other: &Self) -> bool {
        let pairs =
            [(self.place, other.place), (self.above, other.above), (self.below, other.below)];
        pairs.iter().all(|(own, other)| own <= other)
            && pairs.iter().any(|(own, other)| own < other)
    }

    /// The call's own depth is the rule. The file's counts only where the call's makes no
    /// sense, and the file's fits far better and no worse on either side.
    fn is_better_than(&self, call: &Self) -> bool {
        let total = |fit: &Self| fit.place + fit.above + fit.below;
        call.broken != Some(false)
            && self.broken != Some(true)
            && (call.between || !self.between)
            && 2 * total(self) < total(call)
            && self.above <= call.above
            && self.below <= call.below
    }
}

/// Whether a line closes a block.
pub(super) fn closes(line: &str) -> bool {
    const WORDS: [&str; 16] = [
        "end", "else", "elif", "elseif", "elsif", "fi", "done", "endif", "except", "catch",
        "finally", "rescue", "ensure", "when", "case", "default",
    ];
    let line = line.trim_start();
    let word = |word: &str| {
        line.strip_prefix(word).is_some_and(|rest| !rest.starts_with(super::canon::is_word))
    };
    let label = line.trim_end().strip_suffix(':');
    line.starts_with(['}', ')', ']'])
        || WORDS.iter().any(|w| word(w))
        || label.is_some_and(|name| name != "try" && name.chars().all(super::canon::is_word))
}

/// The last of the lines that opens a block which none of the others closes.
pub(super) fn left_open(lines: &[String]) -> Option<&str> {
    let mut open: Vec<&str> = Vec::new();
    for line in lines {
        let code = code::without_comment(line).trim();
        if code.starts_with(['}', ')', ']']) {
            open.pop();
        }
        if code.ends_with(['{', '(', '[']) {
            open.push(line);
        }
    }
    open.pop()
}

/// A line for the preprocessor.
pub(super) fn is_directive(line: &str) -> bool {
    ["if", "else", "elif", "endif", "define", "undef", "include", "pragma", "error"]
        .iter()
        .any(|word| line.trim_start().strip_prefix('#').is_some_and(|rest| rest.starts_with(word)))
}

/// Whether a line may stand less deep than the code around it: for the preprocessor, for
/// make, a label or a comment.
pub(super) fn is_marginal(line: &str) -> bool {
    let line = line.trim();
    let label = line.strip_suffix(':').is_some_and(|name| name.chars().all(super::canon::is_word));
    let make = ["ifdef", "ifndef", "ifeq", "ifneq", "else", "endif", "define", "endef"];
    let word = line.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    is_directive(line) || code::is_comment(line) || label || make.contains(&word)
}

/// Whether a line opens a block that must stand deeper, whatever comes.
pub(super) fn needs_a_block(line: &str) -> bool {
    const WORDS: [&str; 11] =
        ["if", "elif", "for", "while", "with", "try", "except", "finally", "def", "class", "async"];
    let code = code::without_comment(line).trim();
    let word = code.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    code.ends_with(':') && WORDS.contains(&word)
}

/// Whether a line between two that are equally deep is deeper, although nothing opens. A
/// less deep one may well open what goes on below, as a target of a makefile does.
pub(super) fn is_astray(above: &str, line: &str, below: &str, unit: usize) -> bool {
    let step = Step::between(above, line, unit);
    let depth = |line: &str| indent::columns(indent::of(line), unit);
    depth(above) == depth(below) && !step.opens && step.moved > 0
}

/// Whether a line cannot stand below another, by brackets alone: it is not deeper although
/// one opens above, or a bracket closes above the depth of what it would close.
pub(super) fn breaks_brackets(above: &str, below: &str, unit: usize) -> bool {
    let depth = |line: &str| indent::columns(indent::of(line), unit);
    let (code, start) = (code::without_comment(above).trim(), below.trim_start());
    if code.is_empty() || code::is_comment(below) || is_directive(above) || is_directive(below) {
        return false;
    }
    let (opens, closes) = (code.ends_with(['{', '(', '[']), start.starts_with(['}', ')', ']']));
    match (opens, closes) {
        (true, false) => !self::closes(below) && depth(below) <= depth(above),
        (false, true) => !self::closes(above) && depth(below) >= depth(above),
        _ => false,
    }
}

/// Whether a line only goes on with what began above it, so that its own depth says nothing
/// about the lines below it.
pub(super) fn goes_on(above: Option<&str>, line: &str) -> bool {
    let mut open = 0;
    let mut closes_more = false;
    for c in code::without_comment(line).chars() {
        open += i32::from(matches!(c, '(' | '[' | '{')) - i32::from(matches!(c, ')' | ']' | '}'));
        closes_more |= open < 0;
    }
    let above = above.map(|above| code::without_comment(above).trim_end());
    let begun = [",", "(", "[", "\\", "=", "+", "-", "*", "|", "&", "?", ".", " and", " or", "=>"];
    closes_more || above.is_some_and(|above| begun.iter().any(|end| above.ends_with(end)))
}

/// Whether a line is a tag whose element goes on below.
fn opens_element(code: &str) -> bool {
    const VOID: [&str; 14] = [
        "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param",
        "source", "track", "wbr",
    ];
    let Some(inner) = code.strip_prefix('<').filter(|_| code.ends_with('>')) else { return false };
    let name = inner.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
    !inner.starts_with(['/', '!', '?'])
        && !code.ends_with("/>")
        && !inner.contains("</")
        && !VOID.contains(&name.to_ascii_lowercase().as_str())
}

/// How odd it is that one line stands below another, by their indentation.
pub(super) fn strain(above: &str, below: &str, unit: usize) -> usize {
    let Step { opens, closes, continues, item, moved } = Step::between(above, below, unit);
    let unit = unit.cast_signed();
    let cost = match (opens, closes) {
        _ if item => 0,
        (true, false) => 4 * (moved - unit).abs(),
        (true, true) => 4 * moved.abs(),
        (false, true) => 4 * (moved + unit).abs().min(moved.abs() * 2),
        // What goes on with a statement stands deeper than it, or as deep as what does above.
        (false, false) if begins_amid(below) && !begins_amid(above) => {
            let deeper = (moved - unit).abs();
            // Behind a bracket of its own it may stand as deep as that.
            let bracket = above.trim_start().starts_with([')', ']', '}']);
            if bracket { deeper.min(moved.abs()) } else { deeper }
        }
        (false, false) if moved <= 0 => 2 * -moved,
        (false, false) if continues => moved,
        (false, false) => 4 * moved,
    };
    cost.unsigned_abs()
}

/// Whether a line goes on with the statement above it, by its first sign.
pub(super) fn begins_amid(line: &str) -> bool {
    let line = line.trim();
    // A target of a makefile, too.
    let target = |rest: &str| rest.trim_start_matches(char::is_alphabetic).starts_with(": ");
    line.starts_with(['.', '?', '&', '|'])
        && !line.starts_with("...")
        && !code::is_selector(line)
        && !line.strip_prefix('.').is_some_and(target)
}

/// The way from a line to the one below.
struct Step {
    opens: bool,
    closes: bool,
    /// The line below goes on with what the one above began.
    continues: bool,
    /// An item of a list goes on behind its mark, or ends at the next one.
    item: bool,
    /// How many columns deeper.
    moved: isize,
}

impl Step {
    fn between(above: &str, below: &str, unit: usize) -> Self {
        let depth = |line: &str| indent::columns(indent::of(line), unit).cast_signed();
        let code = code::without_comment(above).trim();
        let comment = above.trim().starts_with("{/*");
        let tag = opens_element(code);
        let block = ["class ", "module ", "def ", "unless ", "until "];
        let opens = !comment && code.ends_with(['{', '(', '[', ':'])
            || tag
            || block.iter().any(|word| code.starts_with(word)) && !code.ends_with([';', '}', ','])
            || ["=>", "then", "do", "else", "begin"].iter().any(|word| code.ends_with(word));
        let start = below.trim_start();
        let closes = closes(below);
        let moved = depth(below) - depth(above);
        let continues = code.ends_with([',', '=', '+', '|', '&', '?', '\\'])
            || start.starts_with(['.', '?', '&', '|', '+', ':']);
        let item = code.starts_with("- ") && moved == 2
            || start.starts_with("- ") && moved == -2 && !code.starts_with("- ");
        Self { opens, closes, continues, item, moved }
    }
}
