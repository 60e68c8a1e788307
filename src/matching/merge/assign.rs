//! The blanks around the sign between a name and its value. In code they are a matter of
//! taste, but a shell takes `A = 1` for a command, and YAML `a:1` for a word. Only the first
//! sign of a line is looked at, with nothing but a name in front of it.

use super::super::canon::is_word;

/// What the call and the file have around one sign, where all their lines agree.
#[derive(Debug)]
pub(super) struct Assignments<'a> {
    habits: Vec<Habit<'a>>,
}

/// What the lines show that have one sign.
#[derive(Debug)]
struct Habit<'a> {
    sign: &'static str,
    around: Option<[Around<'a>; 2]>,
    /// Whether one is an item of a list, and whether one is indented.
    items: bool,
    indented: bool,
    /// Whether all end in `;`.
    ended: bool,
}

/// What a new line is with the file's blanks.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Applied {
    Line(String),
    /// Nothing tells what the line is to have there.
    Unclear(&'static str),
}

/// The white space before and behind a sign.
type Around<'a> = (&'a str, &'a str);

const SIGNS: [&str; 4] = [":=", "=>", "=", ":"];

const TASTE: &str = "the file has other blanks around = than old_str; whether the new line shall have them, nothing tells; write both as the file";
const ITEM: &str = "whether a new item is a name with its value, nothing tells; write it with the blanks of the file";

/// What begins a condition, in a shell or elsewhere.
const CONDITIONS: [&str; 10] =
    ["assert", "elif", "elseif", "elsif", "expr", "if", "test", "unless", "until", "while"];

struct Assignment<'a> {
    name: &'a str,
    sign: &'static str,
    around: Around<'a>,
    value: &'a str,
}

impl<'a> Assignment<'a> {
    fn of(line: &'a str) -> Option<Self> {
        let line = line.trim();
        let part = |c: char| is_word(c) || matches!(c, '.' | '-' | '"' | '\'' | '$' | ' ' | '\t');
        let (head, rest) = line.split_at(line.find(|c| !part(c))?);
        let sign = SIGNS.into_iter().find(|sign| rest.starts_with(sign))?;
        let name = head.trim_end();
        // Within a literal, nothing is named.
        if ['"', '\''].iter().any(|quote| name.matches(*quote).count() % 2 == 1) {
            return None;
        }
        let behind = &rest[sign.len()..];
        let value = behind.trim_start();
        // A condition compares.
        if name.split_once(' ').is_some_and(|(word, _)| CONDITIONS.contains(&word)) {
            return None;
        }
        // `-=` and `..=` are signs of their own.
        let named = !name.is_empty() && !name.ends_with(['-', '.']);
        let plain = named && value.starts_with(|c| !matches!(c, '=' | ':' | '~' | '>'));
        plain.then(|| Self {
            name,
            sign,
            around: (&head[name.len()..], &behind[..behind.len() - value.len()]),
            value,
        })
    }
}

impl<'a> Assignments<'a> {
    /// By the lines of the call and those of the file for them.
    /// Where the file has both, nothing is learnt.
    pub(super) fn learn(
        pairs: &[(&'a str, &'a str)],
        file: impl Iterator<Item = &'a str> + Clone,
    ) -> Self {
        let mut habits: Vec<Habit<'a>> = Vec::new();
        for (line, file) in pairs {
            let (Some(old), Some(file)) = (Assignment::of(line), Assignment::of(file)) else {
                continue;
            };
            let begins = |value: &str| value.chars().next();
            let same = old.name == file.name && begins(old.value) == begins(file.value);
            if old.sign != file.sign || !same {
                continue;
            }
            let here = [old.around, file.around];
            // Other blanks are another mistake.
            let plain = |text: &str| text.bytes().all(|b| matches!(b, b' ' | b'\t'));
            if !here.iter().all(|(before, behind)| plain(before) && plain(behind)) {
                continue;
            }
            let (items, indented) = (is_item(line), line.starts_with([' ', '\t']));
            let ended = line.trim_end().ends_with(';');
            match habits.iter_mut().find(|habit| habit.sign == old.sign) {
                Some(habit) => {
                    habit.around = habit.around.filter(|known| *known == here);
                    habit.items |= items;
                    habit.indented |= indented;
                    habit.ended &= ended;
                }
                None => {
                    let (sign, around) = (old.sign, Some(here));
                    habits.push(Habit { sign, around, items, indented, ended });
                }
            }
        }
        for habit in &mut habits {
            let Some([call, own]) = habit.around else { continue };
            let as_call = |line: &str| {
                Assignment::of(line).is_some_and(|a| a.sign == habit.sign && a.around == call)
            };
            if call != own && file.clone().any(as_call) {
                habit.around = None;
            }
        }
        Self { habits }
    }

    /// A new line of the call with the file's blanks.
    /// Within brackets, `=` names an argument, which has blanks by another rule.
    /// `indent` is the line's own, which it comes without, and `holder` the line that holds it.
    pub(super) fn apply(
        &self,
        line: String,
        in_brackets: bool,
        indent: &str,
        holder: Option<&str>,
    ) -> Applied {
        let Some(Assignment { name, sign, around, value }) = Assignment::of(&line) else {
            return Applied::Line(line);
        };
        let Some(habit) = self.habits.iter().find(|habit| habit.sign == sign) else {
            return Applied::Line(line);
        };
        let Some([_, (before, behind)]) = habit
            .around
            .filter(|[call, own]| *call == around && call != own && !(in_brackets && sign == "="))
        else {
            return Applied::Line(line);
        };
        // A selector, a command with its variable, the text of a scalar, an attribute.
        let selector = sign == ":" && habit.ended && line.trim_end().ends_with(['{', ',']);
        let command = sign == "=" && indent.starts_with('\t') && !habit.indented;
        let held = holder.is_some_and(|holder| {
            let holder = holder.trim();
            let tag = holder.rfind('<').is_some_and(|at| {
                !holder[at..].contains('>') && holder[at + 1..].starts_with(char::is_alphabetic)
            });
            let scalar = [": |", ": >", ": |-", ": >-", "- |", "- >"];
            tag && sign == "=" || scalar.iter().any(|mark| holder.ends_with(mark))
        });
        if selector || command || held {
            return Applied::Line(line);
        }
        // Where blanks are a matter of taste, a new line may have its own.
        if sign != ":" && (before, behind) != ("", "") {
            return Applied::Unclear(TASTE);
        }
        if is_item(&line) && !habit.items {
            return Applied::Unclear(ITEM);
        }
        let tail = &line[line.trim_end().len()..];
        Applied::Line(format!("{name}{before}{sign}{behind}{value}{tail}"))
    }
}

fn is_item(line: &str) -> bool {
    line.trim_start().starts_with("- ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_lines_have_the_blanks_of_the_file() {
        for (old, file, new, result) in [
            ("A = 1", "A=1", "C = 4", "C=4"),
            ("a:1", "a: 1", "c:3", "c: 3"),
            ("A = 1", "A=1", "C == 4", "C == 4"),
            ("A = 1", "A=1", "f(a = 1)", "f(a = 1)"),
            ("A=1", "A = 1", "'a=(b), c=(d)',", "'a=(b), c=(d)',"),
            ("A=1", "A = 1", "for a in 1..=3 {", "for a in 1..=3 {"),
            ("if test $A=b", "if test $A = b", "C=4", "C=4"),
            ("A=1", "A = 1", "a -=3", "a -=3"),
            ("A = 1", "A = 1", "C=4", "C=4"),
            ("export A = 1", "export A=1", "B = 2 = 3", "B=2 = 3"),
        ] {
            let known = Assignments::learn(&[(old, file)], std::iter::once(file));
            let apply = |known: &Assignments<'_>| known.apply(new.to_owned(), false, "", None);
            assert_eq!(apply(&known), Applied::Line(result.to_owned()), "{old:?} {file:?}");
            let both = Assignments::learn(&[(old, file)], [file, old].into_iter());
            assert_eq!(apply(&both), Applied::Line(new.to_owned()), "{old:?} {file:?}");
        }
    }

    #[test]
    fn the_same_sign_may_be_another_one() {
        for (old, file, new, indent, holder) in [
            ("color:red;", "color: red;", "a:hover {", "", None),
            ("CC=gcc", "CC = gcc", "GOOS=linux go build", "\t", Some("linux:")),
            ("a:1", "a: 1", "echo:x", "  ", Some("run: |")),
            ("a=f(1);", "a = f(1);", "name=\"x\"", "    ", Some("<Foo")),
        ] {
            let known = Assignments::learn(&[(old, file)], std::iter::once(file));
            let line = known.apply(new.to_owned(), false, indent, holder);
            assert_eq!(line, Applied::Line(new.to_owned()));
        }
        let known = Assignments::learn(&[("a:1", "a: 1")], std::iter::once("a: 1"));
        assert_eq!(known.apply("- 80:80".to_owned(), false, "", None), Applied::Unclear(ITEM));
        let known = Assignments::learn(&[("a=1", "a = 1")], std::iter::once("a = 1"));
        assert_eq!(known.apply("b=2".to_owned(), false, "", None), Applied::Unclear(TASTE));
    }
}
