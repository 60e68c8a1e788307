//! From anchors and line numbers to lines of the present file.
//!
//! With a snapshot id, the anchor must match that version, and is mapped from there. Without one,
//! every version that the caller was shown and in which the line has the id is a possible origin;
//! all of them must lead to the same place, otherwise the anchor is stale. If no version is on
//! record, number and id must match the file. For a number without letters, every version that the
//! caller may mean must lead to the same place.

use std::sync::Arc;

use crate::text::{LineSpan, Snapshot};

use super::anchors::Anchor;
use super::carry::LineMap;
use super::{stale, tag};
use crate::session::{NumberingBasis, VersionRef};

/// A version of a file that was shown to the caller or written by this session.
#[derive(Debug, Clone)]
pub struct Version {
    /// Its content.
    pub snapshot: Snapshot,
    /// The lines that the caller was shown, or knows because it wrote them.
    pub shown: Vec<LineSpan>,
    /// The way of its lines from the version before it, where that is known exactly.
    pub way: Option<Arc<LineMap>>,
    /// The lines that the caller was shown with the numbers of this version.
    pub(crate) numbered: Vec<LineSpan>,
    /// The number of the answer that showed it to the caller, if any.
    pub(crate) reported_in: Option<u64>,
    /// The running calls whose answers will show it to the caller.
    pub(crate) pending: Vec<u64>,
    /// Whether a version before it was dropped, and the answer that reported that one.
    pub(crate) dropped: Option<Option<u64>>,
}

impl Version {
    /// A version of which these lines are known.
    pub fn new(snapshot: Snapshot, shown: Vec<LineSpan>) -> Self {
        Self {
            snapshot,
            shown,
            way: None,
            numbered: Vec::new(),
            reported_in: None,
            pending: Vec::new(),
            dropped: None,
        }
    }
}

/// Why an anchor or a number does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The line has another id.
    Mismatch,
    /// The file has fewer lines.
    OutOfRange,
    /// The line was there and has changed, or cannot be told from equal lines.
    Changed,
    /// Other lines came between the first and the last line of the range.
    Split,
    /// Several versions that the caller may mean have it on different lines.
    Ambiguous,
    /// The named snapshot is on no record.
    UnknownSnapshot,
}

/// An anchor or a number that does not hold, and where to look now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stale {
    /// The anchor; without letters for a number.
    pub anchor: Anchor,
    /// Why.
    pub cause: Cause,
    /// The line of the present file that is meant, or is nearest to where it was.
    pub near: usize,
    /// Where to look if that is not it.
    pub around: usize,
}

impl Stale {
    /// An anchor that is looked for at and around one line.
    pub(crate) fn new(anchor: Anchor, cause: Cause, near: usize) -> Self {
        Self { anchor, cause, near, around: near }
    }
}

/// Where a place is in the present file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Found {
    /// Its lines now.
    pub span: LineSpan,
    /// Its lines as the caller named them.
    pub named: LineSpan,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// The caller named no version.
    Any,
    /// This very version.
    Current,
    /// A version on record.
    Version(usize),
    /// A version that is not known.
    Unknown,
}

/// Finds the lines that anchors and numbers mean.
pub(crate) struct Resolver<'a> {
    current: &'a Snapshot,
    versions: &'a [Version],
    origin: Origin,
    basis: NumberingBasis,
    ways: Vec<Option<Arc<LineMap>>>,
    /// Older versions that the caller may have its anchors from; they only tell where a
    /// lost line is.
    elsewhere: &'a [Version],
}

impl std::fmt::Debug for Resolver<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Resolver").field("versions", &self.versions.len()).finish_non_exhaustive()
    }
}

/// Whether an id, or the first digits of one, names this version.
pub(crate) fn names(id: &str, version: &Snapshot) -> bool {
    let id = id.trim().to_ascii_lowercase();
    id.len() >= 8 && version.hash().to_string().starts_with(&id)
}

impl<'a> Resolver<'a> {
    /// `versions` are in the order in which they were seen; `snapshot` is the id, or
    /// its first digits, that the caller named; `basis` is what it may speak of otherwise.
    pub(crate) fn new(
        current: &'a Snapshot,
        versions: &'a [Version],
        snapshot: Option<&str>,
        basis: NumberingBasis,
    ) -> Self {
        let origin = match snapshot {
            None => Origin::Any,
            Some(id) if names(id, current) => Origin::Current,
            Some(id) => versions
                .iter()
                .rposition(|version| names(id, &version.snapshot))
                .map_or(Origin::Unknown, Origin::Version),
        };
        Self { current, versions, origin, basis, ways: vec![None; versions.len()], elsewhere: &[] }
    }

    /// The same, with versions that only tell where lost lines went.
    #[must_use]
    pub(crate) fn remembering(self, elsewhere: &'a [Version]) -> Self {
        Self { elsewhere, ..self }
    }

    /// The lines from `first` to `last`, as they are numbered now.
    pub(crate) fn find(&mut self, first: &Anchor, last: &Anchor) -> Result<Found, Vec<Stale>> {
        let named = LineSpan { start: first.line, end: last.line };
        let found = |span| Ok(Found { span, named });
        match self.origin {
            Origin::Unknown => Err(self.both(first, last, Cause::UnknownSnapshot)),
            Origin::Current => {
                let stale = mismatches(self.current, first, last);
                if stale.is_empty() { found(named) } else { Err(self.told_by_content(stale)) }
            }
            Origin::Version(at) => {
                let stale = mismatches(&self.versions[at].snapshot, first, last);
                if !stale.is_empty() {
                    let near = |line| self.near(at, line);
                    return Err(stale
                        .into_iter()
                        .map(|one| {
                            let near = near(one.anchor.line);
                            Stale::new(one.anchor, one.cause, near)
                        })
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
        let NumberingBasis::Versions(basis) = self.basis.clone() else {
            return Err(self.both(first, last, Cause::UnknownSnapshot));
        };
        // Text written by an edit whose answer the caller has not received cannot be the origin of
        // its anchors.
        let has_unreported_edit = !basis.contains(&VersionRef::Current);
        let latest = basis.iter().filter_map(|at| match at {
            VersionRef::Recorded(at) => Some(*at),
            VersionRef::Current => None,
        });
        let latest = latest.max().filter(|_| has_unreported_edit);
        let direct = mismatches(self.current, first, last);
        let mut places = Vec::new();
        let mut lost = None;
        for at in 0..=latest.unwrap_or(self.versions.len().saturating_sub(1)) {
            let Some(version) = self.versions.get(at) else { break };
            let shown = |line| covers(&version.shown, line);
            let is_meant = has_unreported_edit && basis.contains(&VersionRef::Recorded(at));
            if (version.snapshot == *self.current && !has_unreported_edit)
                || !(is_meant || shown(first.line) && shown(last.line))
                || !mismatches(&version.snapshot, first, last).is_empty()
            {
                continue;
            }
            match self.carried(at, first, last) {
                Ok(span) => places.push(span),
                Err(stale) => lost = Some(stale),
            }
        }
        if direct.is_empty() && !has_unreported_edit {
            places.push(named);
        }
        let agree = places.windows(2).all(|pair| pair[0] == pair[1]);
        match (places.first(), lost) {
            (Some(&place), None) if agree => Ok(place),
            (Some(_), lost) => {
                let mut stale: Vec<Stale> = Vec::new();
                for span in places {
                    for (anchor, near) in [(first, span.start), (last, span.end)] {
                        stale.push(Stale::new(anchor.clone(), Cause::Ambiguous, near));
                    }
                }
                let lost = lost.into_iter().flatten();
                stale.extend(lost.map(|stale| Stale { cause: Cause::Ambiguous, ..stale }));
                let mut kept: Vec<Stale> = Vec::new();
                for one in stale {
                    if !kept.contains(&one) {
                        kept.push(one);
                    }
                }
                Err(kept)
            }
            (None, Some(stale)) => Err(stale),
            (None, None) if direct.is_empty() => Err(self.both(first, last, Cause::Changed)),
            (None, None) => Err(self.told_by_content(direct)),
        }
    }

    /// The current numbers of these lines. All versions that the caller may mean have to agree.
    pub(crate) fn numbers(&mut self, named: LineSpan) -> Result<LineSpan, NoNumbers> {
        let at = match (self.origin, self.basis.clone()) {
            (Origin::Unknown, _) | (Origin::Any, NumberingBasis::Lost) => {
                return Err(NoNumbers::Stale(self.numbered(
                    named,
                    &[named],
                    Cause::UnknownSnapshot,
                )));
            }
            (Origin::Current, _) => vec![VersionRef::Current],
            (Origin::Version(at), _) => vec![VersionRef::Recorded(at)],
            (Origin::Any, NumberingBasis::Versions(of)) => of,
        };
        let mut places: Vec<LineSpan> = Vec::new();
        let mut lost: Vec<LineSpan> = Vec::new();
        let mut longest = 0;
        let mut missing = 0;
        for &at in &at {
            let version = match at {
                VersionRef::Current => self.current,
                VersionRef::Recorded(at) => &self.versions[at].snapshot,
            };
            let total = version.lines().total();
            longest = longest.max(total);
            if crate::line_edit::check_span(named, total).is_err() {
                missing += 1;
                continue;
            }
            let place = match at {
                VersionRef::Current => Some(named),
                VersionRef::Recorded(at) => self.way(at).span(named),
            };
            match place {
                Some(place) if !places.contains(&place) => places.push(place),
                Some(_) => {}
                None => {
                    let near = match at {
                        VersionRef::Recorded(at) => self.near(at, named.start),
                        VersionRef::Current => named.start,
                    };
                    lost.push(LineSpan { start: near, end: near });
                }
            }
        }
        match (places.as_slice(), lost.as_slice()) {
            _ if missing == at.len() => Err(NoNumbers::OutOfRange(longest)),
            ([place], []) if missing == 0 => Ok(*place),
            // The lines changed under their numbers, and nothing speaks for another place.
            ([place], [near]) if *place == named && near.start == named.start => {
                Err(NoNumbers::Stale(self.numbered(named, &lost, Cause::Changed)))
            }
            ([], lost) => Err(NoNumbers::Stale(self.numbered(named, lost, Cause::Changed))),
            _ => {
                places.extend(lost);
                Err(NoNumbers::Stale(self.numbered(named, &places, Cause::Ambiguous)))
            }
        }
    }

    fn numbered(&self, named: LineSpan, places: &[LineSpan], cause: Cause) -> Vec<Stale> {
        let total = self.current.lines().total().max(1);
        let anchor = Anchor { line: named.start, id: String::new() };
        let stale = |near: usize| Stale::new(anchor.clone(), cause, near.clamp(1, total));
        let mut out: Vec<Stale> = Vec::new();
        for place in places {
            for one in [stale(place.start), stale(place.end.max(place.start))] {
                if !out.contains(&one) {
                    out.push(one);
                }
            }
        }
        out
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
        let lost = |anchor: &Anchor| {
            Stale::new(anchor.clone(), Cause::Changed, self.near(at, anchor.line))
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
    pub(crate) fn way(&mut self, at: usize) -> Arc<LineMap> {
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
        match &self.ways[at] {
            Some(way) => nearest(way, line, self.current),
            None => line.clamp(1, self.current.lines().total().max(1)),
        }
    }

    /// Where the lines of anchors that match no version of the session are now: found through a
    /// version that another process recorded, or through the only nearby line with the same id.
    fn told_by_content(&self, stale: Vec<Stale>) -> Vec<Stale> {
        stale
            .into_iter()
            .map(|one| {
                if let Some(near) = self.remembered(&one.anchor) {
                    return Stale { near, around: near, ..one };
                }
                // Letters alone may agree by chance.
                let near = self.by_letters(&one.anchor).unwrap_or(one.near);
                Stale { near, ..one }
            })
            .collect()
    }

    fn remembered(&self, anchor: &Anchor) -> Option<usize> {
        let mut places: Vec<usize> = Vec::new();
        for version in self.elsewhere {
            let text = version.snapshot.line(anchor.line);
            if text.is_some_and(|text| tag::matches(anchor.line, text, &anchor.id)) {
                let way = LineMap::between(&version.snapshot, self.current);
                let place = way.line(anchor.line)?;
                if !places.contains(&place) {
                    places.push(place);
                }
            }
        }
        if let [only] = places[..] { Some(only) } else { None }
    }

    fn by_letters(&self, anchor: &Anchor) -> Option<usize> {
        let around = stale::affected_range(anchor.line, self.current.lines().total());
        let mut with = (around.start..=around.end).filter(|&number| {
            self.current.line(number).is_some_and(|text| tag::matches(number, text, &anchor.id))
        });
        with.next().filter(|_| with.next().is_none())
    }

    fn both(&self, first: &Anchor, last: &Anchor, cause: Cause) -> Vec<Stale> {
        let total = self.current.lines().total().max(1);
        let mut stale: Vec<Stale> = [first, last]
            .map(|anchor| Stale::new(anchor.clone(), cause, anchor.line.clamp(1, total)))
            .into();
        stale.dedup();
        stale
    }
}

/// Why a span of numbers has no lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NoNumbers {
    /// No version that may be meant has so many lines; the longest has these.
    OutOfRange(usize),
    /// The numbers do not hold.
    Stale(Vec<Stale>),
}

/// The present line nearest to where `line` was.
pub(crate) fn nearest(way: &LineMap, line: usize, current: &Snapshot) -> usize {
    let total = current.lines().total().max(1);
    if let Some(now) = way.line(line) {
        return now.clamp(1, total);
    }
    let above = (1..line).rev().find_map(|n| way.line(n).map(|now| now + (line - n)));
    above.unwrap_or(line).clamp(1, total)
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
            Some(Stale::new(anchor.clone(), cause, near))
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
        Version::new(snapshot, vec![LineSpan { start: 1, end }])
    }

    fn find(
        current: &str,
        versions: &[Version],
        raw: &str,
        snapshot: Option<&str>,
    ) -> Result<usize, Cause> {
        let current = Snapshot::from_text(current);
        let anchor = Anchor::parse(raw).expect("anchor");
        Resolver::new(
            &current,
            versions,
            snapshot,
            NumberingBasis::Versions(vec![VersionRef::Current]),
        )
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
        let mut resolver = Resolver::new(
            &current,
            &versions,
            None,
            NumberingBasis::Versions(vec![VersionRef::Current]),
        );
        let stale = resolver.find(&b, &c).expect_err("split");
        assert_eq!(
            stale.iter().map(|s| (s.cause, s.near)).collect::<Vec<_>>(),
            [(Cause::Split, 2), (Cause::Split, 4)]
        );
    }
}
