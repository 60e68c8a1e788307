//! `within`: limits an edit to one definition, such as `class Pool / fn open`.
//!
//! The definitions come from the parser, so the file must parse. If there is no such definition, or
//! several, the call is refused, and the refusal lists the definitions that come closest.

use std::ops::Range;

use super::syntax::SyntaxGate;
use crate::edit::message::{OLD, WITHIN};
use crate::edit::{EditCode, EditRequest, Refusal, Splice, Unchecked, WorkPath, said};
use crate::matching::Explained;
use crate::port::Definition;
use crate::text::Snapshot;

/// A refusal shows at most this many definitions.
const MAX_NAMED: usize = 12;

/// The part of a file that an edit may match.
#[derive(Debug, Clone)]
pub(crate) struct ScopedView {
    /// The file. With `within`, a copy in which everything outside the definition is spaces, so
    /// that lines and offsets stay the same.
    pub(crate) snapshot: Snapshot,
    /// The value of `within`, and the bytes of the lines of that definition.
    bound: Option<(String, Range<usize>)>,
}

/// A path of names, such as `class Pool / fn open`.
#[derive(Debug, Default)]
struct NamePath {
    /// The names, outermost first.
    names: Vec<String>,
    /// The words before the last name, such as `fn`.
    hints: Vec<String>,
}

/// A definition with the names that lead to it.
struct NamedDefinition<'a> {
    definition: &'a Definition,
    /// The kind and the name of each definition around it, outermost first, and last its own. Of a
    /// name with parts such as `Pool::open`, only the last part has a kind.
    chain: Vec<(&'a str, &'a str)>,
}

impl SyntaxGate {
    /// The part of the file in which the request is matched.
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
        let definitions =
            self.syntax.definitions(path.as_str(), text).map_err(|why| cannot_use(path, why))?;
        let range = resolve(within, &definitions, snapshot)?;
        // Extended to whole lines.
        let start = text[..range.start].rfind('\n').map_or(0, |newline| newline + 1);
        let end =
            text[range.end..].find('\n').map_or(text.len(), |newline| range.end + newline + 1);
        let masked = spaces_for(&text[..start]) + &text[start..end] + &spaces_for(&text[end..]);
        Ok(ScopedView {
            snapshot: Snapshot::from_text(masked),
            bound: Some((within.clone(), start..end)),
        })
    }
}

/// The text with spaces in place of all characters but line breaks; it keeps its length in bytes.
fn spaces_for(text: &str) -> String {
    let space = |c: char| match c {
        '\n' | '\r' => c.to_string(),
        c => " ".repeat(c.len_utf8()),
    };
    text.chars().map(space).collect()
}

impl ScopedView {
    /// Refuses an edit that would change something outside the definition.
    pub(crate) fn admit(&self, explained: &Explained) -> Result<(), Refusal> {
        let Some((within, bound)) = &self.bound else { return Ok(()) };
        let is_inside =
            |splice: &Splice| bound.start <= splice.range.start && splice.range.end <= bound.end;
        if explained.splices.iter().all(is_inside) {
            return Ok(());
        }
        Err(Refusal::new(
            EditCode::OccurrenceMismatch,
            said!("{OLD} reaches beyond {within:?} ({})", self.snapshot.lines_of(bound)),
        )
        .hint(said!("Leave {WITHIN} out, or quote only lines in it.")))
    }

    /// Makes a refusal say at which line outside the definition `old` occurs, or that only the
    /// definition was searched.
    pub(crate) fn explain(&self, file: &Snapshot, old: &str, mut refusal: Refusal) -> Refusal {
        let Some((within, bound)) = &self.bound else { return refusal };
        if refusal.code != EditCode::NoOccurrence || old.is_empty() {
            return refusal;
        }
        let elsewhere: Vec<usize> = memchr::memmem::find_iter(file.text().as_bytes(), old)
            .map(|offset| file.lines().number_at(offset))
            .take(50)
            .collect();
        let lines = self.snapshot.lines_of(bound);
        match elsewhere.first() {
            Some(line) => {
                refusal.code = EditCode::OccurrenceMismatch;
                refusal.message = said!("{OLD} is not in {within:?} ({lines}), but at line {line}");
                refusal.hint = Some(said!(
                    "Set {WITHIN} to the definition that contains the place, or leave it out."
                ));
                refusal.occurrences = elsewhere;
            }
            None => refusal.message = said!("{} (in {within:?}, {lines})", refusal.message),
        }
        refusal
    }
}

/// The refusal of `within` for a file without known definitions.
fn cannot_use(path: &WorkPath, why: Unchecked) -> Refusal {
    let reason = match why {
        Unchecked::BrokenBefore => "the file does not parse".to_owned(),
        Unchecked::Off => "this build has no parser".to_owned(),
        other => other.to_string(),
    };
    Refusal::invalid(
        said!("{WITHIN} cannot be used in `{path}`: {reason}"),
        said!("Leave {WITHIN} out, and quote enough lines to be unique."),
    )
}

impl NamePath {
    /// Reads a path as people write it: with parameters, type arguments and modifiers, too.
    fn parse(within: &str) -> Self {
        let mut path = Self::default();
        for part in within.split('/') {
            // Parameters and type arguments are not part of a name.
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
            path.names.extend(components(name).into_iter().map(str::to_owned));
            path.hints = words.into_iter().map(str::to_owned).collect();
        }
        path
    }

    /// How well the hints fit a kind: whether together they are it, and how many are words of it.
    fn score(&self, kind: &str) -> (bool, usize) {
        let words = self.hints.iter().filter(|hint| kind.split(' ').any(|word| word == *hint));
        (self.hints.join(" ") == kind, words.count())
    }
}

/// The parts of a name: `Pool` and `open` for `Pool::open`, and so for `Pool.open` and `Pool:open`.
fn components(name: &str) -> Vec<&str> {
    let plain = name.split(['<', '(', '[']).next().unwrap_or(name);
    plain.split(['.', ':', '\\']).map(str::trim).filter(|part| !part.is_empty()).collect()
}

/// Each definition with the names that lead to it. `definitions` are in the order of the file.
fn name_chains(definitions: &[Definition]) -> Vec<NamedDefinition<'_>> {
    // The definitions around the current one, outermost first.
    let mut enclosing: Vec<&Definition> = Vec::new();
    let mut named = Vec::with_capacity(definitions.len());
    for definition in definitions {
        while enclosing.last().is_some_and(|outer| outer.range.end < definition.range.end) {
            enclosing.pop();
        }
        let mut chain = Vec::new();
        for link in enclosing.iter().copied().chain([definition]) {
            let mut names = components(&link.name);
            let last = names.pop();
            chain.extend(names.into_iter().map(|name| ("", name)));
            chain.extend(last.map(|name| (link.kind.as_str(), name)));
        }
        named.push(NamedDefinition { definition, chain });
        enclosing.push(definition);
    }
    named
}

/// The bytes of the one definition that a path of names means.
fn resolve(
    within: &str,
    definitions: &[Definition],
    snapshot: &Snapshot,
) -> Result<Range<usize>, Refusal> {
    let wanted = NamePath::parse(within);
    let named = name_chains(definitions);
    let Some((target, outer)) = wanted.names.split_last() else {
        return Err(Refusal::invalid(
            said!("{WITHIN} names nothing"),
            "Give a path of names such as \"class Pool / fn open\", or leave it out.",
        ));
    };
    // The outer names must be those of definitions around the target in this order; others may lie
    // between.
    let has_outer_names = |chain: &[(&str, &str)]| {
        let mut links = chain.iter();
        outer.iter().all(|wanted| links.any(|(_, name)| name == wanted))
    };
    let fits = |candidate: &&NamedDefinition<'_>| match candidate.chain.split_last() {
        Some(((_, name), around)) => name == target && has_outer_names(around),
        None => false,
    };
    let mut fitting: Vec<&NamedDefinition<'_>> = named.iter().filter(fits).collect();
    // Of several with that name, the one whose kind the hints name is meant.
    let score = |candidate: &NamedDefinition<'_>| wanted.score(&candidate.definition.kind);
    let best = fitting.iter().map(|candidate| score(candidate)).max();
    fitting.retain(|candidate| Some(score(candidate)) == best);
    match fitting.as_slice() {
        [only] => Ok(only.definition.range.clone()),
        [] => {
            // Those of this name, around which other names are missing, or else all.
            let has_name = |candidate: &&NamedDefinition<'_>| {
                candidate.chain.last().is_some_and(|(_, name)| name == target)
            };
            let mut shown: Vec<_> = named.iter().filter(has_name).collect();
            if shown.is_empty() {
                shown = named.iter().collect();
            }
            let alternatives = match shown.is_empty() {
                true => "the file defines no names".to_owned(),
                false => format!("there is {}", describe(&shown, snapshot)),
            };
            Err(Refusal::invalid(
                said!("{WITHIN} is not found: the file has no {within:?}; {alternatives}"),
                said!("Use one of these names, or leave {WITHIN} out."),
            ))
        }
        several => Err(Refusal::invalid(
            said!(
                "{WITHIN} is not unique: {within:?} occurs {} times: {}",
                several.len(),
                describe(several, snapshot)
            ),
            said!("Name more of the path, or leave {WITHIN} out and quote more lines."),
        )),
    }
}

/// The paths of definitions with their lines, as a list for a message.
fn describe(named: &[&NamedDefinition<'_>], snapshot: &Snapshot) -> String {
    let descriptions = named.iter().take(MAX_NAMED).map(|candidate| {
        let path: Vec<String> = candidate
            .chain
            .iter()
            .map(|(kind, name)| format!("{kind} {name}").trim().to_owned())
            .collect();
        format!("`{}` at {}", path.join(" / "), snapshot.lines_of(&candidate.definition.range))
    });
    let mut text = descriptions.collect::<Vec<_>>().join(", ");
    if named.len() > MAX_NAMED {
        text.push_str(&format!(" and {} more", named.len() - MAX_NAMED));
    }
    text
}
