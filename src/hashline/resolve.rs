//! From anchors to lines of the present file.
//!
//! With a snapshot id the anchor belongs to that version, must match it, and is
//! carried from there. Without one, every version that was shown and whose line has
//! the id is a possible origin: all of them must lead to the same place, else the
//! anchor is stale. With no version on record, number and id must match the file.

use std::sync::Arc;

use crate::text::{LineSpan, Snapshot};

use super::anchors::Anchor;
use super::carry::LineMap;
use super::tag;

/// A version of a file that was shown to the caller or written by us.
#[derive(Debug, Clone)]
pub struct Version {
    /// Its content.
    pub snapshot: Snapshot,
    /// The lines that the caller was shown, or knows because it wrote them.
    pub shown: Vec<LineSpan>,
    /// The way of its lines from the version before it, where that is known exactly.
    pub way: Option<Arc<LineMap>>,
}

/// Why an anchor does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The line has another id.
    Mismatch,
    /// The file has fewer lines.
    OutOfRange,
    /// The line was there and has changed, or stands where it cannot be told from its equals.
    Changed,
    /// Other lines came between the first and the last line of the range.
    Split,
    /// Several versions that were shown have this anchor on different lines.
    Ambiguous,
    /// The named snapshot is on no record.
    UnknownSnapshot,
}

/// An anchor that does not hold, and where to look now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stale {
    /// The anchor.
    pub anchor: Anchor,
    /// Why.
    pub cause: Cause,
    /// The line of the present file that is nearest to where it was.
    pub near: usize,
}

/// Where a place is in the present file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// Its lines now.
    pub span: LineSpan,
    /// Its lines as the caller named them.
    pub named: LineSpan,
}

enum Origin {
    /// The caller named no version.
    Any,
    /// This very version.
    Current,
    /// A version on record.
    Version(usize),
    /// One that nobody knows.
    Unknown,
}

/// Finds the lines that anchors mean.
pub struct Resolver<'a> {
    current: &'a Snapshot,
    versions: &'a [Version],
    origin: Origin,
    ways: Vec<Option<Arc<LineMap>>>,
}

impl std::fmt::Debug for Resolver<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Resolver").field("versions", &self.versions.len()).finish_non_exhaustive()
    }
}

impl<'a> Resolver<'a> {
    /// `versions` are in the order in which they were seen; `snapshot` is the id, or
    /// its first digits, that the caller named.
    pub fn new(current: &'a Snapshot, versions: &'a [Version], snapshot: Option<&str>) -> Self {
        let is = |version: &Snapshot, id: &str| version.hash().to_string().starts_with(id);
        let origin = match snapshot.map(|id| id.trim().to_ascii_lowercase()) {
            None => Origin::Any,
            Some(id) if id.len() < 8 => Origin::Unknown,
            Some(id) if is(current, &id) => Origin::Current,
            Some(id) => versions
                .iter()
                .rposition(|version| is(&version.snapshot, &id))
                .map_or(Origin::Unknown, Origin::Version),
        };
        Self { current, versions, origin, ways: vec![None; versions.len()] }
    }

    /// The lines from `first` to `last`, as they are numbered now.
    pub fn find(&mut self, first: &Anchor, last: &Anchor) -> Result<Found, Vec<Stale>> {
        let named = LineSpan { start: first.line, end: last.line };
        let found = |span| Ok(Found { span, named });
        match self.origin {
            Origin::Unknown => Err(self.both(first, last, Cause::UnknownSnapshot)),
            Origin::Current => {
                let stale = mismatches(self.current, first, last);
                if stale.is_empty() { found(named) } else { Err(stale) }
            }
            Origin::Version(at) => {
                let stale = mismatches(&self.versions[at].snapshot, first, last);
                if !stale.is_empty() {
                    let near = |line| self.near(at, line);
                    return Err(stale
                        .into_iter()
                        .map(|stale| Stale { near: near(stale.anchor.line), ..stale })
                        .collect());
                }
                self.carried(at, first, last).and_then(found)
            }
            Origin::Any => self.agreed(first, last).and_then(found),
        }
    }

    /// What all possible origins agree on.
    fn agreed(&mut self, first: &Anchor, last: &Anchor) -> Result<LineSpan, Vec<Stale>> {
        let named = LineSpan { start: first.line, end: last.line };
        let direct = mismatches(self.current, first, last);
        let mut places = Vec::new();
        let mut lost = None;
        for at in 0..self.versions.len() {
            let version = &self.versions[at];
            let shown = |line| covers(&version.shown, line);
            if version.snapshot == *self.current
                || !shown(first.line)
                || !shown(last.line)
                || !mismatches(&version.snapshot, first, last).is_empty()
            {
                continue;
            }
            match self.carried(at, first, last) {
                Ok(span) => places.push(span),
                Err(stale) => lost = Some(stale),
            }
        }
        if direct.is_empty() {
            places.push(named);
        }
        let agree = places.windows(2).all(|pair| pair[0] == pair[1]);
        match (places.first(), lost) {
            (Some(&place), None) if agree => Ok(place),
            (Some(_), _) => Err(self.both(first, last, Cause::Ambiguous)),
            (None, Some(stale)) => Err(stale),
            (None, None) => Err(direct),
        }
    }

    fn carried(
        &mut self,
        at: usize,
        first: &Anchor,
        last: &Anchor,
    ) -> Result<LineSpan, Vec<Stale>> {
        let way = self.way(at);
        // An inverted range is refused later, with its numbers.
        let (low, high) = (first.line.min(last.line), first.line.max(last.line));
        if let Some(span) = way.span(LineSpan { start: low, end: high }) {
            let moved = |line: usize| span.start + (line - low);
            return Ok(LineSpan { start: moved(first.line), end: moved(last.line) });
        }
        let lost = |anchor: &Anchor| Stale {
            anchor: anchor.clone(),
            cause: Cause::Changed,
            near: self.near(at, anchor.line),
        };
        let mut stale: Vec<Stale> = [first, last]
            .into_iter()
            .filter(|anchor| way.line(anchor.line).is_none())
            .map(lost)
            .collect();
        if stale.is_empty() {
            stale = vec![
                Stale { cause: Cause::Split, ..lost(first) },
                Stale { cause: Cause::Split, ..lost(last) },
            ];
        }
        stale.dedup();
        Err(stale)
    }

    /// The way from a version to the present file, step by step.
    fn way(&mut self, at: usize) -> Arc<LineMap> {
        if let Some(way) = &self.ways[at] {
            return Arc::clone(way);
        }
        let here = &self.versions[at].snapshot;
        let way = match self.versions.get(at + 1) {
            _ if here == self.current => Arc::new(LineMap::identity(here.lines().total())),
            None => Arc::new(LineMap::between(here, self.current)),
            Some(next) => {
                let step = next
                    .way
                    .clone()
                    .unwrap_or_else(|| Arc::new(LineMap::between(here, &next.snapshot)));
                Arc::new(step.then(&self.way(at + 1)))
            }
        };
        self.ways[at] = Some(Arc::clone(&way));
        way
    }

    /// The present line nearest to line `line` of a version.
    fn near(&self, at: usize, line: usize) -> usize {
        let total = self.current.lines().total();
        let Some(way) = &self.ways[at] else {
            return line.clamp(1, total.max(1));
        };
        let above = (1..=line).rev().find_map(|n| way.line(n).map(|now| now + (line - n)));
        above.unwrap_or(line).clamp(1, total.max(1))
    }

    fn both(&self, first: &Anchor, last: &Anchor, cause: Cause) -> Vec<Stale> {
        let total = self.current.lines().total().max(1);
        let mut stale: Vec<Stale> = [first, last]
            .map(|anchor| Stale {
                anchor: anchor.clone(),
                cause,
                near: anchor.line.clamp(1, total),
            })
            .into();
        stale.dedup();
        stale
    }
}

/// Which of the two does not match this version.
fn mismatches(version: &Snapshot, first: &Anchor, last: &Anchor) -> Vec<Stale> {
    let total = version.lines().total();
    let mut stale: Vec<Stale> = [first, last]
        .into_iter()
        .filter_map(|anchor| {
            let cause = match version.line(anchor.line) {
                None => Cause::OutOfRange,
                Some(text) if tag::matches(anchor.line, text, &anchor.id) => return None,
                Some(_) => Cause::Mismatch,
            };
            let near = anchor.line.clamp(1, total.max(1));
            Some(Stale { anchor: anchor.clone(), cause, near })
        })
        .collect();
    stale.dedup();
    stale
}

fn covers(spans: &[LineSpan], line: usize) -> bool {
    spans.iter().any(|span| (span.start..=span.end).contains(&line))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Version {
        let snapshot = Snapshot::from_text(text);
        let end = snapshot.lines().total();
        Version { snapshot, shown: vec![LineSpan { start: 1, end }], way: None }
    }

    fn find(
        current: &str,
        versions: &[Version],
        raw: &str,
        snapshot: Option<&str>,
    ) -> Result<usize, Cause> {
        let current = Snapshot::from_text(current);
        let anchor = Anchor::parse(raw).expect("anchor");
        Resolver::new(&current, versions, snapshot)
            .find(&anchor, &anchor)
            .map(|found| found.span.start)
            .map_err(|stale| stale[0].cause)
    }

    #[test]
    fn a_snapshot_pins_the_version() {
        let old = shown("a\n}\nb\n}\n");
        let id = old.snapshot.hash().to_string();
        let now = "new\na\n}\nb\n}\n";
        let brace = tag::render(2, "}");
        assert_eq!(find(now, std::slice::from_ref(&old), &brace, Some(&id)), Ok(3));
        assert_eq!(find(now, std::slice::from_ref(&old), &brace, Some(&id[..12])), Ok(3));
        assert_eq!(find(now, &[], &brace, Some(&id)), Err(Cause::UnknownSnapshot));
        assert_eq!(find("a\n}\nb\n}\n", &[], &brace, Some(&id)), Ok(2));
    }

    #[test]
    fn without_a_snapshot_all_origins_must_agree() {
        // Line 2 is a brace before and after, but not the same one.
        let old = shown("x\n}\ny\n}\n");
        let brace = tag::render(2, "}");
        assert_eq!(
            find("}\n}\nx\n}\ny\n}\n", std::slice::from_ref(&old), &brace, None),
            Err(Cause::Ambiguous)
        );
        assert_eq!(find("}\n}\nx\n}\ny\n}\n", &[], &brace, None), Ok(2));
        let word = tag::render(3, "y");
        assert_eq!(find("new\nx\n}\ny\n}\n", std::slice::from_ref(&old), &word, None), Ok(4));
        assert_eq!(
            find("x\n}\nY\n}\n", std::slice::from_ref(&old), &word, None),
            Err(Cause::Changed)
        );
        assert_eq!(find("x\n}\n", &[], &word, None), Err(Cause::OutOfRange));
        assert_eq!(find("x\n}\nz\n", &[], &word, None), Err(Cause::Mismatch));
    }

    #[test]
    fn a_range_must_have_stayed_together() {
        let old = shown("a\nb\nc\nd\n");
        let current = Snapshot::from_text("a\nb\nforeign\nc\nd\n");
        let [b, c] =
            [(2, "b"), (3, "c")].map(|(n, t)| Anchor::parse(&tag::render(n, t)).expect("ok"));
        let versions = [old];
        let mut resolver = Resolver::new(&current, &versions, None);
        let stale = resolver.find(&b, &c).expect_err("split");
        assert_eq!(
            stale.iter().map(|s| (s.cause, s.near)).collect::<Vec<_>>(),
            [(Cause::Split, 2), (Cause::Split, 4)]
        );
    }
}
