//! The `;` at the end of statements, where the call leaves it out or adds it throughout: new
//! lines, which the same hand wrote, end as those of the file. The marks of single places
//! are in `merge/marks.rs`.

use std::collections::HashSet;

use super::canon::is_word;
use super::code::{
    brackets, ends_statement, heads_a_block, is_attribute, is_comment, without_comment,
};

/// Where a new line stands.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct At {
    /// It is no end of a statement.
    pub(super) goes_on: bool,
    /// It is the bracket alone that ends a value which a line above assigns.
    pub(super) ends_value: bool,
    /// It is text that a literal of several lines holds.
    pub(super) in_literal: bool,
}

/// So many words in a row are text for people.
const WORDS: usize = 4;

/// What the call did to the `;` at the end of statements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Habit {
    Lost,
    Added,
}

/// The habit that all common lines of the call and the file show.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Semicolons {
    habit: Option<Habit>,
    /// Macros that new lines call: those that the file has without a `;`, and those that it
    /// does not have.
    bare: HashSet<String>,
    unknown: HashSet<String>,
    /// Whether the call leaves them out in a language with blocks in braces.
    in_braces: bool,
    /// Whether the new text has lines that end in `;`.
    in_new: bool,
    /// Whether the last expression of a block has no `;` in the file, as it is its value.
    tails: bool,
    /// Whether it might have none, though the file shows none such.
    may_have_tails: bool,
    /// Whether the file has a blank before each.
    apart: bool,
    /// Whether the end of a call over several lines has lost one, which may be a slip of that line.
    perhaps_lost: bool,
    /// The first words of lines that have lost one: what begins so is a statement.
    heads: HashSet<String>,
}

impl Semicolons {
    /// Learns from pairs of a line of the call and its line of the file.
    pub(super) fn learn(pairs: &[(&str, &str)]) -> Self {
        let ends = ends_in_semicolon;
        let (mut lost, mut added, mut both) = (0, 0, 0);
        // The end of the text alone may have been cut; a habit shows before it.
        let inner = pairs.len().saturating_sub(1);
        for (at, (old, file)) in pairs[..inner].iter().enumerate() {
            let next = pairs.get(at + 1).map(|(_, file)| *file);
            match (ends(old), ends(file)) {
                // Nor does the end of a block that has one for its own sake, or a comment.
                (false, true)
                    if !file.contains(is_word) || is_comment(file) && !is_private(file.trim()) => {}
                (false, true) => lost += 1,
                // Behind what is no statement, it says nothing of those.
                (true, false) if !ends_statement(file.trim(), next) => {}
                (true, false) => added += 1,
                (true, true) => both += 1,
                // A statement that the file does not end so: it has no such habit.
                (false, false) if ends_statement(file.trim(), next) && !is_value(next) => both += 1,
                (false, false) => {}
            }
        }
        let habit = match (lost, added, both) {
            (1.., 0, 0) => Some(Habit::Lost),
            (0, 1.., 0) => Some(Habit::Added),
            _ => None,
        };
        let apart = pairs[..inner]
            .iter()
            .filter(|(_, file)| ends(file))
            .all(|(_, file)| without_comment(file).trim_end().trim_end_matches(';').ends_with(' '));
        let lost = pairs.iter().filter(|(old, file)| !ends(old) && ends(file));
        let heads = lost.filter_map(|(_, file)| head(file)).map(str::to_owned).collect();
        let closes = |line: &str| line.starts_with([')', '}', ']']) && line.contains([')', ']']);
        let perhaps_lost = habit.is_none()
            && both == 0
            && pairs.iter().any(|(old, file)| !ends(old) && ends(file) && closes(file.trim()));
        Self { habit, apart, heads, perhaps_lost, ..Self::default() }
    }

    /// Forgets what a whole file or a whole new text speaks against: a file that ends
    /// lines in `;` has that habit, and so has a text that does.
    pub(super) fn settle(&mut self, file: &str, new: &[&str]) {
        // Those within the head of a loop end nothing.
        let mut open = 0;
        self.in_new = new.iter().any(|line| {
            open = (open + brackets(line)).max(0);
            open == 0 && ends_in_semicolon(line)
        });
        let contradicted = match self.habit {
            Some(Habit::Added) => file.contains(";\n") || file.contains(";\r\n"),
            Some(Habit::Lost) => self.in_new,
            None => false,
        };
        if contradicted {
            self.habit = None;
        }
        self.perhaps_lost &= !self.in_new;
        let lost = self.habit == Some(Habit::Lost);
        self.tails = lost && has_tails(file);
        self.may_have_tails = lost && !self.tails && file.lines().any(begins_function);
        self.in_braces = lost && file.contains('{');
        // Only C and its kin have macros.
        let mut names: HashSet<&str> = match self.in_braces {
            true => new.iter().filter_map(|line| macro_of(line)).collect(),
            false => HashSet::new(),
        };
        if names.is_empty() {
            return;
        }
        let mut bare: HashSet<&str> = HashSet::new();
        let mut ended: HashSet<&str> = HashSet::new();
        for line in file.lines() {
            if let Some(name) = macro_of(line).filter(|name| names.contains(name)) {
                if ends_in_semicolon(line) {
                    ended.insert(name)
                } else {
                    bare.insert(name)
                };
            }
        }
        names.retain(|name| !bare.contains(name) && !ended.contains(name));
        self.unknown = names.into_iter().map(str::to_owned).collect();
        self.bare = bare.difference(&ended).map(|name| (*name).to_owned()).collect();
    }

    /// Whether the call leaves them out.
    pub(super) fn are_lost(&self) -> bool {
        self.habit == Some(Habit::Lost)
    }

    /// Whether a line would get one if it were not within brackets.
    pub(super) fn would_end(&self, line: &str) -> bool {
        let code = without_comment(line).trim();
        self.are_lost()
            && !code.ends_with(';')
            && is_plain_statement(code)
            && ends_statement(code, None)
    }

    /// Whether a line calls a macro, may be the value of its block, or may be a statement without
    /// a sign of one: nothing tells whether it ends in `;`.
    pub(super) fn is_unsure(&self, line: &str, above: Option<&str>, next: Option<&str>) -> bool {
        let code = without_comment(line).trim();
        let value = self.may_have_tails
            && is_value(next)
            && !code.contains(" = ")
            && !code.ends_with([';', '}', '{', ','])
            && !["return", "break", "continue", "let"].iter().any(|word| code.starts_with(word));
        macro_of(line).is_some_and(|name| self.unknown.contains(name))
            || value
            || self.are_lost() && self.stays_bare(code, above, next)
            || self.perhaps_lost && !code.ends_with(';') && self.are_wanted(code, above, next)
    }

    /// Whether a line gets no mark, though nothing shows that it is no statement.
    fn stays_bare(&self, code: &str, above: Option<&str>, next: Option<&str>) -> bool {
        // What is open, or an operator, goes on below; a tag or a bracket ends for itself.
        let open = ['{', '(', '[', ',', ':', ';', '\\', '=', '?', '|', '&', '.', '<', '>', '}'];
        let held = code.starts_with(['<', '}', ')', ']', '|', '.', '?', '&', '+', ':', '"', '\'']);
        let goes_on = next.is_some_and(|next| {
            let next = next.trim_start();
            without_comment(next).trim() == "{"
                || next.starts_with(['.', '?', '|', '=', ')', ']', '>', '~'])
                || next.starts_with("&&")
                || next.strip_prefix("where").is_some_and(|rest| !rest.starts_with(is_word))
        });
        let operator =
            code.ends_with(['+', '-', '*']) && !code.ends_with("++") && !code.ends_with("--");
        code.contains(is_word)
            && !self.are_wanted(code, above, next)
            && !code.ends_with(open)
            && !held
            && !goes_on
            && !operator
            && !((is_comment(code) || code.starts_with('#')) && !is_private(code))
            && !is_prose(code)
            && !above.is_some_and(is_prose)
            && !is_attribute(code)
            && !heads_a_block(code)
            && !self.holds_no_statements(code, above, next)
    }

    /// Whether the new text ends lines in `;` itself, so that a line without one is meant so.
    pub(super) fn are_in_new(&self) -> bool {
        self.in_new
    }

    /// Ends a new line as the file would. `above` and `next` are the new lines around it.
    pub(super) fn apply(
        &self,
        line: &mut String,
        place: At,
        above: Option<&str>,
        next: Option<&str>,
    ) {
        let code = without_comment(line).trim_end().len();
        match self.habit {
            Some(Habit::Lost)
                if !place.goes_on
                    && (place.ends_value || self.are_wanted(&line[..code], above, next)) =>
            {
                line.insert_str(code, if self.apart { " ;" } else { ";" });
            }
            Some(Habit::Added)
                if !place.in_literal
                    && !place.goes_on
                    && (!is_comment(line) || line.trim_start().starts_with(';'))
                    && !ends_in_entity(&line[..code])
                    && ends_in_semicolon(&line[..code])
                    && !needs_semicolon(&line[..code], next) =>
            {
                line.remove(code - 1);
            }
            _ => {}
        }
    }

    fn are_wanted(&self, code: &str, above: Option<&str>, next: Option<&str>) -> bool {
        !self.holds_no_statements(code, above, next)
            && (is_plain_statement(code)
                || head(code).is_some_and(|head| self.heads.contains(head))
                || above.is_some_and(goes_on_below))
            && ends_statement(code, next)
    }

    /// Whether a line stands where none is a statement, or is a macro that the file has without
    /// a `;`.
    fn holds_no_statements(&self, code: &str, above: Option<&str>, next: Option<&str>) -> bool {
        let above = above.map(|above| without_comment(above).trim_end());
        // Unless the line closes what holds the one above.
        let item = |above: &str| above.ends_with(',') && brackets(code) >= 0;
        // Nor is what a brace holds that opens no block of statements.
        let held = |above: &str| above.ends_with('{') && !opens_statements(above);
        let inside = above.is_some_and(|above| item(above) || held(above));
        let value = self.tails && next.is_some_and(|next| next.trim_start().starts_with('}'));
        let directive = above.is_some_and(|above| above.ends_with('\\'));
        let bare = macro_of(code).is_some_and(|name| self.bare.contains(name));
        inside || value || directive || bare
    }
}

/// Whether the brace that a line ends with opens a block of statements or a rule of a style sheet,
/// not an object, an enumeration or the like.
fn opens_statements(line: &str) -> bool {
    const VALUES: [&str; 9] =
        ["enum", "struct", "union", "match", "default", "return", "type", "yield", "impl"];
    let head = line.trim_end_matches('{').trim();
    // A case of a switch, or a rule of a style sheet within another.
    if head.ends_with(':') && ["case ", "default"].iter().any(|word| head.starts_with(word))
        || head.ends_with('&') && head.starts_with(['.', '#', '&', '>'])
    {
        return true;
    }
    if head.ends_with([')', '>']) {
        return !head.starts_with("match ") && !head.contains(" match ");
    }
    let mut words = head.split(|c: char| !is_word(c));
    !head.contains(" = ")
        && !head.ends_with(['=', ':', ',', '(', '[', '?', '|', '&', '$'])
        && !words.any(|word| VALUES.contains(&word))
}

/// Whether a `;` must stay where lines have none: behind a head that has no other body, or
/// before a line that would go on with this one.
pub(super) fn needs_semicolon(code: &str, next: Option<&str>) -> bool {
    let goes_on =
        next.is_some_and(|next| next.trim_start().starts_with(['(', '[', '`', '+', '-', '/']));
    heads_a_block(code.trim_end_matches(';')) || goes_on
}

/// Whether a line ends in an operator, so that the one below is the rest of the same statement.
fn goes_on_below(line: &str) -> bool {
    let code = without_comment(line).trim_end();
    let operator = ["||", "&&", " =", " +", " -", " *", " /", " ?"];
    is_plain_statement(code) && operator.iter().any(|sign| code.ends_with(sign))
}

/// Whether a line has so many words in a row as no statement has.
fn is_prose(code: &str) -> bool {
    let plain = |word: &&str| word.chars().all(char::is_alphabetic);
    let words: Vec<&str> = code.split_whitespace().collect();
    words.split(|word| !plain(word)).map(<[_]>::len).max().unwrap_or(0) >= WORDS
}

/// The word that a line begins with, if another one follows.
fn head(line: &str) -> Option<&str> {
    let line = line.trim();
    let rest = line.trim_start_matches(|c: char| is_word(c) || c == '@');
    (rest.len() < line.len() && rest.starts_with(' ')).then(|| &line[..line.len() - rest.len()])
}

/// Whether a line names a private member, as classes of JavaScript have them: no comment, and no
/// directive.
fn is_private(code: &str) -> bool {
    let name = code.strip_prefix('#').unwrap_or_default();
    name.starts_with(|c: char| is_word(c)) && (name.contains(" = ") || name.contains('('))
}

/// The name of the macro of C that a line calls and does nothing else: it may stand for a
/// statement without its `;`, or for anything.
fn macro_of(line: &str) -> Option<&str> {
    if !line.contains('(') || !line.trim_start().starts_with(char::is_uppercase) {
        return None;
    }
    let line = without_comment(line).trim().trim_end_matches(';').trim_end();
    let name = line.split_once('(').filter(|_| line.ends_with(')'))?.0.trim_end();
    let loud = |c: char| c.is_uppercase() || c.is_ascii_digit() || c == '_';
    (name.len() > 1 && name.starts_with(char::is_alphabetic) && name.chars().all(loud))
        .then_some(name)
}

/// Whether a line has a sign of a statement, and is not text for people.
pub(super) fn is_plain_statement(code: &str) -> bool {
    const KEYWORDS: [&str; 16] = [
        "await", "break", "const", "continue", "debugger", "delete", "export", "goto", "import",
        "let", "package", "return", "throw", "use", "var", "yield",
    ];
    let code = code.trim();
    let words: Vec<&str> = code.split(' ').collect();
    let named = words.first().is_some_and(|first| KEYWORDS.contains(first));
    let loud = words.first().is_some_and(|first| first.chars().all(char::is_uppercase));
    // The end of one that began above.
    let goes_on = brackets(code) < 0 || code.starts_with(['|', '&', '.', '?', ':', '+']);
    named
        || goes_on
        || loud && words.len() > 1
        || code.contains(['=', '('])
        || code.ends_with("++")
        || code.ends_with("--")
        || code.contains(": ") && !is_prose(code)
}

/// Whether the `;` at the end of a line is that of an entity, as in `&nbsp;`.
pub(super) fn ends_in_entity(line: &str) -> bool {
    let name = line.trim_end().trim_end_matches(';');
    let head = name.trim_end_matches(|c: char| c.is_ascii_alphanumeric() || c == '#');
    head.ends_with('&') && head.len() < name.len()
}

/// Whether a line ends in a `;` that is no escaped character.
fn ends_in_semicolon(line: &str) -> bool {
    let code = without_comment(line).trim_end();
    code.ends_with(';') && !code.ends_with("\\;")
}

/// Whether a line begins a function of a language where the last expression of a block is its
/// value.
pub(super) fn begins_function(line: &str) -> bool {
    let line = line.trim_start();
    let line = line.strip_prefix("pub ").unwrap_or(line);
    line.starts_with("fn ") && line.contains('(')
}

/// Whether what comes below a statement ends its block, of which it may be the value.
fn is_value(next: Option<&str>) -> bool {
    next.is_some_and(|next| next.trim_start().starts_with('}'))
}

/// Whether a file often leaves out the `;` before a `}`, where others of its lines have
/// one: there the last expression of a block is its value. Items of a literal do not count.
fn has_tails(file: &str) -> bool {
    let lines: Vec<&str> = file.lines().filter(|line| !line.trim().is_empty()).collect();
    let (mut ended, mut bare) = (0, 0);
    for three in lines.windows(3).filter(|three| three[2].trim_start().starts_with('}')) {
        let (above, code) = (without_comment(three[0]).trim_end(), without_comment(three[1]));
        if code.trim_end().ends_with(';') {
            ended += 1;
        } else if ends_statement(code, None)
            && (!code.contains(':') || above.ends_with(';'))
            && !above.ends_with(',')
            && !["return", "throw", "break", "continue"].iter().any(|w| code.trim().starts_with(w))
        {
            bare += 1;
        }
    }
    bare * 20 > ended + bare
}
