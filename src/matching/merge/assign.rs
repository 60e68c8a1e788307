//! The blanks around the sign between a name and its value. In code they are a matter of
//! taste, but a shell takes `A = 1` for a command, and YAML `a:1` for a word. Only the first
//! sign of a line is looked at, with nothing but a name in front of it.

use super::super::canon::is_word;

/// What the call and the file have around one sign, where all their lines agree.
#[derive(Debug)]
pub(super) struct Assignments<'a> {
    habits: Vec<(&'static str, Option<[Around<'a>; 2]>)>,
}

/// The white space before and behind a sign.
type Around<'a> = (&'a str, &'a str);

const SIGNS: [&str; 4] = [":=", "=>", "=", ":"];

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
        let mut habits: Vec<(&'static str, Option<[Around<'a>; 2]>)> = Vec::new();
        for (old, file) in pairs {
            let (Some(old), Some(file)) = (Assignment::of(old), Assignment::of(file)) else {
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
            match habits.iter_mut().find(|(sign, _)| *sign == old.sign) {
                Some((_, known)) => *known = known.filter(|known| *known == here),
                None => habits.push((old.sign, Some(here))),
            }
        }
        for (sign, habit) in &mut habits {
            let Some([call, own]) = *habit else { continue };
            let as_call = |line: &str| {
                Assignment::of(line).is_some_and(|a| a.sign == *sign && a.around == call)
            };
            if call != own && file.clone().any(as_call) {
                *habit = None;
            }
        }
        Self { habits }
    }

    /// A new line of the call with the file's blanks.
    /// Within brackets, `=` names an argument, which has blanks by another rule.
    pub(super) fn apply(&self, line: String, in_brackets: bool) -> String {
        let Some(Assignment { name, sign, around, value }) = Assignment::of(&line) else {
            return line;
        };
        let known = self.habits.iter().find(|(known, _)| *known == sign);
        match known.and_then(|(_, habit)| *habit) {
            Some([old, (before, behind)])
                if old == around && old != (before, behind) && !(in_brackets && sign == "=") =>
            {
                let tail = &line[line.trim_end().len()..];
                format!("{name}{before}{sign}{behind}{value}{tail}")
            }
            _ => line,
        }
    }
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
            assert_eq!(known.apply(new.to_owned(), false), result, "{old:?} {file:?}");
            let both = Assignments::learn(&[(old, file)], [file, old].into_iter());
            assert_eq!(both.apply(new.to_owned(), false), new, "{old:?} {file:?}");
        }
    }
}
