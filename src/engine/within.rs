//! `within`: an edit that names what it is in, such as `class Pool / fn open`.
//!
//! The names are those of the grammar, and only a file that parses has them. What is not found,
//! or occurs several times, is refused with what is there.

use std::ops::Range;

use super::syntax::SyntaxGate;
use crate::edit::{EditCode, EditRequest, Refusal, Unchecked, WorkPath};
use crate::matching::Explained;
use crate::port::Definition;
use crate::text::{LineSpan, Snapshot};

/// Names that a refusal shows.
const MAX_NAMED: usize = 12;

/// Words for kinds that are one and the same to a caller.
const GROUPS: &[&[&str]] = &[
    &["fn", "func", "fun", "function", "def", "method", "sub", "constructor", "macro"],
    &["class", "struct", "impl", "interface", "trait", "enum", "union", "record", "type", "object"],
    &["mod", "module", "namespace", "package"],
];

/// The part of a file that an edit may match.
#[derive(Debug, Clone)]
pub(crate) struct ScopedView {
    /// The file, or a copy in which all else is spaces: lines and offsets are the file's.
    pub(crate) snapshot: Snapshot,
    bound: Option<(String, Range<usize>)>,
}

/// One step of a path of names.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Step {
    hints: Vec<String>,
    name: String,
}

/// A definition with the names that lead to it.
struct NamedDefinition<'a> {
    definition: &'a Definition,
    /// From the outermost inwards; the last is its own. A name in front of another
    /// has no kind.
    chain: Vec<(&'a str, &'a str)>,
}

impl SyntaxGate {
    /// The part of the file that the request is about.
    pub(crate) fn view(
        &self,
        path: &WorkPath,
        request: &EditRequest,
        snapshot: &Snapshot,
    ) -> Result<ScopedView, Refusal> {
        let Some(within) = &request.within else {
            return Ok(ScopedView { snapshot: snapshot.clone(), bound: None });
        };
        let text = snapshot.text();
        let found =
            self.definitions(path, text).map_err(|why| cannot_use_within(path, within, why))?;
        let range = resolve(within, &found, snapshot)?;
        let start = text[..range.start].rfind('\n').map_or(0, |newline| newline + 1);
        let end =
            text[range.end..].find('\n').map_or(text.len(), |newline| range.end + newline + 1);
        let blank = |part: &str| -> String {
            let blank = |c: char| match c {
                '\n' | '\r' => c.to_string(),
                c => " ".repeat(c.len_utf8()),
            };
            part.chars().map(blank).collect()
        };
        let masked = [&blank(&text[..start]), &text[start..end], &blank(&text[end..])].concat();
        Ok(ScopedView {
            snapshot: Snapshot::from_text(masked),
            bound: Some((within.clone(), start..end)),
        })
    }
}

impl ScopedView {
    /// Refuses what would write outside of the bound.
    pub(crate) fn admit(&self, explained: &Explained) -> Result<(), Refusal> {
        let Some((within, bound)) = &self.bound else { return Ok(()) };
        let outside = |range: &Range<usize>| range.start < bound.start || range.end > bound.end;
        match explained.splices.iter().any(|splice| outside(&splice.range)) {
            false => Ok(()),
            true => Err(Refusal::new(
                EditCode::OccurrenceMismatch,
                format!("old_str reaches beyond `{within}`, which is {}", self.lines(bound)),
            )
            .hint("Leave `within` out, or quote only lines in it.")),
        }
    }

    /// A refusal in terms of the whole file: what is not in the bound may be elsewhere.
    pub(crate) fn explain(&self, file: &Snapshot, old: &str, mut refusal: Refusal) -> Refusal {
        let Some((within, bound)) = &self.bound else { return refusal };
        if refusal.code != EditCode::NoOccurrence || old.is_empty() {
            return refusal;
        }
        let elsewhere: Vec<usize> = memchr::memmem::find_iter(file.text().as_bytes(), old)
            .map(|at| file.lines().number_at(at))
            .take(50)
            .collect();
        let lines = self.lines(bound);
        match elsewhere.first() {
            Some(line) => {
                refusal.code = EditCode::OccurrenceMismatch;
                refusal.message =
                    format!("old_str is not in `{within}`, which is {lines}; it is at line {line}");
                refusal.hint = Some(
                    "Set `within` to the definition that contains the place, or leave it out."
                        .into(),
                );
                refusal.occurrences = elsewhere;
            }
            None => refusal.message = format!("{} (in `{within}`, {lines})", refusal.message),
        }
        refusal
    }

    fn lines(&self, bound: &Range<usize>) -> LineSpan {
        lines_of(&self.snapshot, bound)
    }
}

fn lines_of(snapshot: &Snapshot, range: &Range<usize>) -> LineSpan {
    let line = |at: usize| snapshot.lines().number_at(at);
    LineSpan { start: line(range.start), end: line(range.end.saturating_sub(1).max(range.start)) }
}

fn cannot_use_within(path: &WorkPath, within: &str, why: Unchecked) -> Refusal {
    let why = match why {
        Unchecked::BrokenBefore => "the file does not parse".to_owned(),
        Unchecked::Off => "this build has no parser".to_owned(),
        other => other.to_string(),
    };
    Refusal::new(EditCode::InvalidArguments, format!("`within` cannot be used in `{path}`: {why}"))
        .hint(format!("Leave out within: \"{within}\", and quote enough lines to be unique."))
}

/// The steps of `class Pool / fn open`.
fn steps(within: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    for part in within.split('/') {
        // Parameters and type arguments are no part of a name.
        let mut plain = String::new();
        let mut depth = 0_usize;
        for c in part.chars() {
            match c {
                '(' | '<' | '[' => depth += 1,
                ')' | '>' | ']' => depth = depth.saturating_sub(1),
                c if depth == 0 => plain.push(c),
                _ => {}
            }
        }
        let plain = plain.trim().trim_end_matches(['{', ':', ' ']);
        let mut words: Vec<&str> = plain.split_whitespace().collect();
        let Some(name) = words.pop() else { continue };
        let mut names = components(name);
        let Some(last) = names.pop() else { continue };
        let outer = names.into_iter().map(|name| Step { hints: Vec::new(), name: name.into() });
        steps.extend(outer);
        let hints = words.into_iter().map(str::to_owned).collect();
        steps.push(Step { hints, name: last.to_owned() });
    }
    steps
}

/// `Pool::open`, `Pool.open` and `Pool:open` are two names.
fn components(name: &str) -> Vec<&str> {
    let plain = name.split(['<', '(', '[']).next().unwrap_or(name);
    plain.split(['.', ':', '\\']).map(str::trim).filter(|part| !part.is_empty()).collect()
}

fn group_of(word: &str) -> Option<usize> {
    GROUPS.iter().position(|group| group.contains(&word))
}

fn group_of_kind(kind: &str) -> Option<usize> {
    kind.split(' ').find_map(group_of)
}

impl Step {
    /// How many of the hints are words of the kind; `usize::MAX` if together they are the kind.
    fn hint_score(&self, kind: &str) -> usize {
        if !self.hints.is_empty() && self.hints.join(" ") == kind {
            return usize::MAX;
        }
        self.hints.iter().filter(|hint| kind.split(' ').any(|word| word == *hint)).count()
    }

    /// Whether no hint speaks against the kind.
    fn allows(&self, kind: &str) -> bool {
        let wanted = self.hints.iter().find_map(|hint| group_of(hint));
        match (wanted, group_of_kind(kind)) {
            (Some(wanted), Some(target)) => wanted == target,
            _ => true,
        }
    }

    fn matches(&self, (kind, name): (&str, &str)) -> bool {
        self.name == name && self.allows(kind)
    }
}

/// Each definition with the names that lead to it.
fn name_chains(found: &[Definition]) -> Vec<NamedDefinition<'_>> {
    let mut open: Vec<&Definition> = Vec::new();
    let mut named = Vec::with_capacity(found.len());
    for definition in found {
        while open.last().is_some_and(|outer| outer.range.end < definition.range.end) {
            open.pop();
        }
        let mut chain = Vec::new();
        for one in open.iter().copied().chain([definition]) {
            let names = components(&one.name);
            let last = names.len().saturating_sub(1);
            for (at, name) in names.into_iter().enumerate() {
                chain.push((if at == last { one.kind.as_str() } else { "" }, name));
            }
        }
        named.push(NamedDefinition { definition, chain });
        open.push(definition);
    }
    named
}

/// The one definition that a path of names means.
fn resolve(
    within: &str,
    found: &[Definition],
    snapshot: &Snapshot,
) -> Result<Range<usize>, Refusal> {
    let steps = steps(within);
    let named = name_chains(found);
    let Some((target, outer)) = steps.split_last() else {
        return Err(Refusal::new(EditCode::InvalidArguments, "`within` names nothing")
            .hint("Give a path of names such as \"class Pool / fn open\", or leave it out."));
    };
    let leads = |chain: &[(&str, &str)]| {
        let mut above = chain.iter();
        outer.iter().all(|step| above.any(|one| step.matches(*one)))
    };
    let fits = |one: &&NamedDefinition<'_>| match one.chain.split_last() {
        Some((last, above)) => target.matches(*last) && leads(above),
        None => false,
    };
    let mut fitting: Vec<&NamedDefinition<'_>> = named.iter().filter(fits).collect();
    // A word that is the kind itself says more than one of the same group.
    let best = fitting.iter().map(|one| target.hint_score(&one.definition.kind)).max().unwrap_or(0);
    fitting.retain(|one| target.hint_score(&one.definition.kind) == best);
    match fitting.as_slice() {
        [only] => Ok(only.definition.range.clone()),
        [] => {
            let same: Vec<&NamedDefinition<'_>> = named
                .iter()
                .filter(|one| one.chain.last().is_some_and(|(_, name)| *name == target.name))
                .collect();
            let shown = if same.is_empty() { nearest(&named, &target.name) } else { same };
            let there = match shown.is_empty() {
                true => "the file defines no names".to_owned(),
                false => format!("there is {}", describe(&shown, snapshot)),
            };
            Err(Refusal::new(
                EditCode::InvalidArguments,
                format!("`within` is not found: the file has no `{within}`; {there}"),
            )
            .hint("Use one of these names, or leave `within` out."))
        }
        several => Err(Refusal::new(
            EditCode::InvalidArguments,
            format!(
                "`within` is not unique: `{within}` occurs {} times: {}",
                several.len(),
                describe(several, snapshot)
            ),
        )
        .hint("Name more of the path, or leave `within` out and quote more lines.")),
    }
}

/// The names that are most like one, or all where there are few.
fn nearest<'a>(named: &'a [NamedDefinition<'a>], name: &str) -> Vec<&'a NamedDefinition<'a>> {
    let mut all: Vec<&NamedDefinition<'_>> = named.iter().collect();
    if all.len() > MAX_NAMED {
        let far = |one: &&NamedDefinition<'_>| {
            let target = one.chain.last().map_or("", |(_, name)| name);
            rapidfuzz::distance::levenshtein::distance(target.chars(), name.chars())
        };
        all.sort_by_cached_key(far);
        all.truncate(MAX_NAMED);
        all.sort_by_key(|one| one.definition.range.start);
    }
    all
}

fn describe(named: &[&NamedDefinition<'_>], snapshot: &Snapshot) -> String {
    let words = named.iter().take(MAX_NAMED).map(|one| {
        let path: Vec<String> = one
            .chain
            .iter()
            .map(|(kind, name)| format!("{kind} {name}").trim().to_owned())
            .collect();
        format!("`{}` at {}", path.join(" / "), lines_of(snapshot, &one.definition.range))
    });
    let mut text = words.collect::<Vec<_>>().join(", ");
    if named.len() > MAX_NAMED {
        text.push_str(&format!(" and {} more", named.len() - MAX_NAMED));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(hints: &[&str], name: &str) -> Step {
        Step { hints: hints.iter().map(|&hint| hint.to_owned()).collect(), name: name.to_owned() }
    }

    #[test]
    fn a_path_is_read_as_people_write_it() {
        for (within, wanted) in [
            ("class Pool / fn open", vec![step(&["class"], "Pool"), step(&["fn"], "open")]),
            ("Pool::open", vec![step(&[], "Pool"), step(&[], "open")]),
            ("pub fn open<T>(a: &[u8], b: T) {", vec![step(&["pub", "fn"], "open")]),
            ("func (p *Pool) Open", vec![step(&["func"], "Open")]),
            ("impl Display for Pool<'a>", vec![step(&["impl", "Display", "for"], "Pool")]),
            (" / ", vec![]),
        ] {
            assert_eq!(steps(within), wanted, "{within}");
        }
    }
}
