//! Resolves anchors and line numbers to lines of the current file.
//!
//! With a snapshot id, the anchor must match that version and is mapped from there. Without one, every
//! version that the caller was shown and in which the line has that id is a possible origin; all of
//! them must lead to the same lines, otherwise the anchor is stale. If no version is on record, number
//! and id must match the file. A number without letters must lead to the same lines from every version
//! that the caller may mean, unless the new text says which lines are meant.

use std::sync::Arc;

use crate::text::{LineSpan, Snapshot, tag};

use super::anchors::Anchor;
use super::line_map::LineMap;
use super::numbering::{NumberingBasis, SeenVersion, VersionRef, numbering_basis};
use super::stale::{StaleAnchor, StaleCause, affected_range};

/// A span of lines that the caller named, resolved in the current file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ResolvedSpan {
    /// The lines in the current file.
    pub span: LineSpan,
    /// The lines as the caller named them.
    pub named: LineSpan,
}

/// The version that the caller named by a snapshot id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// The caller named no version.
    Any,
    /// The current file.
    Current,
    /// The version with this index in the record.
    Version(usize),
    /// A version that is not on record.
    Unknown,
}

/// Resolves anchors and line numbers to lines of the current file.
pub(crate) struct Resolver<'a> {
    current: &'a Snapshot,
    versions: &'a [SeenVersion],
    origin: Origin,
    /// For each version, the map to the current file, once it was needed.
    maps: Vec<Option<Arc<LineMap>>>,
    /// Older versions that the caller's anchors may be from; they only help to locate lost lines.
    recorded: &'a [SeenVersion],
}

impl<'a> Resolver<'a> {
    /// A resolver for one call. `versions` are in the order in which they were seen; `snapshot` is the
    /// snapshot id, or a prefix of it, that the caller named.
    pub(crate) fn new(
        current: &'a Snapshot,
        versions: &'a [SeenVersion],
        snapshot: Option<&str>,
    ) -> Self {
        let origin = match snapshot {
            None => Origin::Any,
            Some(id) if current.hash().is_named_by(id) => Origin::Current,
            Some(id) => versions
                .iter()
                .rposition(|version| version.snapshot.hash().is_named_by(id))
                .map_or(Origin::Unknown, Origin::Version),
        };
        Self { current, versions, origin, maps: vec![None; versions.len()], recorded: &[] }
    }

    /// The same resolver, with versions that only help to locate lost lines.
    #[must_use]
    pub(crate) fn with_recorded_versions(self, recorded: &'a [SeenVersion]) -> Self {
        Self { recorded, ..self }
    }

    /// The lines from `first` to `last` in the current file, or the anchors that are stale.
    pub(crate) fn resolve(
        &mut self,
        first: &Anchor,
        last: &Anchor,
    ) -> Result<ResolvedSpan, Vec<StaleAnchor>> {
        let named = LineSpan { start: first.line, end: last.line };
        let resolved = |span| Ok(ResolvedSpan { span, named });
        match self.origin {
            Origin::Unknown => Err(self.stale_both(first, last, StaleCause::UnknownSnapshot)),
            Origin::Current => {
                let stale = mismatches(self.current, first, last);
                if stale.is_empty() { resolved(named) } else { Err(self.relocated(stale)) }
            }
            Origin::Version(at) => {
                let stale = mismatches(&self.versions[at].snapshot, first, last);
                if !stale.is_empty() {
                    let in_current_file = |stale: StaleAnchor| {
                        let near = self.near(at, stale.anchor.line);
                        StaleAnchor::new(stale.anchor, stale.cause, near)
                    };
                    return Err(stale.into_iter().map(in_current_file).collect());
                }
                self.map_forward(at, first, last).and_then(resolved)
            }
            Origin::Any => self.resolve_unpinned(first, last).and_then(resolved),
        }
    }

    /// The lines on which all possible origins of the anchors agree, for a call that names no version.
    fn resolve_unpinned(
        &mut self,
        first: &Anchor,
        last: &Anchor,
    ) -> Result<LineSpan, Vec<StaleAnchor>> {
        let named = LineSpan { start: first.line, end: last.line };
        let mismatches_now = mismatches(self.current, first, last);
        let mut places = Vec::new();
        let mut lost = None;
        for (at, version) in self.versions.iter().enumerate() {
            let shown = |line| version.shown.iter().any(|span| span.contains(line));
            if version.snapshot == *self.current
                || !(shown(first.line) && shown(last.line))
                || !mismatches(&version.snapshot, first, last).is_empty()
            {
                continue;
            }
            match self.map_forward(at, first, last) {
                Ok(span) => places.push(span),
                Err(stale) => lost = Some(stale),
            }
        }
        if mismatches_now.is_empty() {
            places.push(named);
        }
        let agree = places.windows(2).all(|pair| pair[0] == pair[1]);
        match (places.first(), lost) {
            (Some(&place), None) if agree => Ok(place),
            (Some(_), Some(lost)) if agree => Err(lost
                .into_iter()
                .map(|stale| StaleAnchor { cause: StaleCause::ChangedInOlder, ..stale })
                .collect()),
            (Some(_), lost) => {
                let mut stale: Vec<StaleAnchor> = Vec::new();
                for span in places {
                    for (anchor, near) in [(first, span.start), (last, span.end)] {
                        stale.push(StaleAnchor::new(anchor.clone(), StaleCause::Ambiguous, near));
                    }
                }
                let lost = lost.into_iter().flatten();
                stale.extend(
                    lost.map(|stale| StaleAnchor { cause: StaleCause::Ambiguous, ..stale }),
                );
                let mut distinct: Vec<StaleAnchor> = Vec::new();
                for anchor in stale {
                    if !distinct.contains(&anchor) {
                        distinct.push(anchor);
                    }
                }
                Err(distinct)
            }
            (None, Some(stale)) => Err(stale),
            (None, None) => Err(self.relocated(mismatches_now)),
        }
    }

    /// The numbers of these lines in the current file, on which all versions that the caller may mean
    /// must agree. Where they do not, `new` may tell: lines of the file that stand at only one of the
    /// places, and that the new text repeats.
    pub(crate) fn resolve_numbers(
        &mut self,
        named: LineSpan,
        new: &[String],
    ) -> Result<LineSpan, NumberError> {
        let unknown = |resolver: &Self| {
            let stale = resolver.stale_numbers(named, &[named], StaleCause::UnknownSnapshot);
            Err(NumberError::Stale(stale))
        };
        let origins = match self.origin {
            Origin::Unknown => return unknown(self),
            Origin::Current => vec![VersionRef::Current],
            Origin::Version(at) => vec![VersionRef::Recorded(at)],
            Origin::Any => match numbering_basis(self.versions, self.current, named) {
                NumberingBasis::Lost => return unknown(self),
                NumberingBasis::Versions(basis) => basis,
            },
        };
        let mut places: Vec<LineSpan> = Vec::new();
        let mut lost: Vec<LineSpan> = Vec::new();
        let mut longest = 0;
        let mut missing = 0;
        for &origin in &origins {
            let version = match origin {
                VersionRef::Current => self.current,
                VersionRef::Recorded(at) => &self.versions[at].snapshot,
            };
            let total = version.lines().total();
            longest = longest.max(total);
            if crate::line_edit::check_span(named, total).is_err() {
                missing += 1;
                continue;
            }
            let place = match origin {
                VersionRef::Current => Some(named),
                VersionRef::Recorded(at) => self.line_map(at).span(named),
            };
            match place {
                Some(place) if !places.contains(&place) => places.push(place),
                Some(_) => {}
                None => {
                    let near = match origin {
                        VersionRef::Recorded(at) => self.near(at, named.start),
                        VersionRef::Current => named.start,
                    };
                    // The session itself has rewritten these lines, and they are where they were.
                    if let VersionRef::Recorded(at) = origin
                        && self.is_rewritten_in_place(at, named)
                    {
                        continue;
                    }
                    lost.push(LineSpan { start: near, end: near });
                }
            }
        }
        match (places.as_slice(), lost.as_slice()) {
            _ if missing == origins.len() => {
                let is_of_now = origins.contains(&VersionRef::Current);
                let total = if is_of_now { self.current.lines().total() } else { longest };
                Err(NumberError::OutOfRange(total))
            }
            ([place], []) if missing == 0 => Ok(*place),
            // The lines with these numbers have changed, and no version leads to other lines.
            ([place], [near]) if *place == named && near.start == named.start => {
                Err(NumberError::Stale(self.stale_numbers(named, &lost, StaleCause::Changed)))
            }
            ([], lost) => {
                Err(NumberError::Stale(self.stale_numbers(named, lost, StaleCause::Changed)))
            }
            _ => {
                if let Some(place) = self.proven(&places, new) {
                    return Ok(place);
                }
                places.extend(lost);
                Err(NumberError::Stale(self.stale_numbers(named, &places, StaleCause::Ambiguous)))
            }
        }
    }

    /// Whether only edits of this session lie between a version and the current file, and have moved
    /// neither these lines nor the lines beside them.
    fn is_rewritten_in_place(&mut self, at: usize, named: LineSpan) -> bool {
        let is_own_work = self.versions[at + 1..].iter().all(|version| version.line_map.is_some())
            && self.versions.last().is_some_and(|last| last.snapshot == *self.current);
        let total = self.versions[at].snapshot.lines().total();
        let is_same_length = total == self.current.lines().total();
        let map = self.line_map(at);
        let stays = |line: usize| map.line(line).map(|moved| moved == line);
        is_own_work
            && (1..named.start).rev().find_map(stays).unwrap_or(true)
            && (named.end + 1..=total).find_map(stays).unwrap_or(is_same_length)
            && (named.start..=named.end).all(|line| stays(line).unwrap_or(true))
    }

    /// The only one of the places at which a line stands that the new text repeats. Such a line counts
    /// only if it is long enough to be no coincidence, and is in the file once.
    fn proven(&self, places: &[LineSpan], new: &[String]) -> Option<LineSpan> {
        let is_telling = |line: &str| line.chars().filter(|c| c.is_alphanumeric()).count() >= 8;
        let repeated = |number: usize| {
            let line = self.current.line(number)?.trim();
            let is_repeated = is_telling(line) && new.iter().any(|new| new.trim() == line);
            let total = self.current.lines().total();
            let is_line =
                |other: &usize| self.current.line(*other).is_some_and(|other| other.trim() == line);
            (is_repeated && (1..=total).filter(is_line).nth(1).is_none()).then_some(())
        };
        let mut proven = places
            .iter()
            .filter(|place| (place.start..=place.end).any(|line| repeated(line).is_some()));
        proven.next().copied().filter(|_| proven.next().is_none())
    }

    /// A line number as a stale anchor for the start and the end of each of these places.
    fn stale_numbers(
        &self,
        named: LineSpan,
        places: &[LineSpan],
        cause: StaleCause,
    ) -> Vec<StaleAnchor> {
        let total = self.current.lines().total().max(1);
        let anchor = Anchor { line: named.start, id: String::new() };
        let mut out: Vec<StaleAnchor> = Vec::new();
        for place in places {
            for near in [place.start, place.end.max(place.start)] {
                let stale = StaleAnchor::new(anchor.clone(), cause, near.clamp(1, total));
                let stale = StaleAnchor { lines: Some((named, *place)), ..stale };
                if !out.contains(&stale) {
                    out.push(stale);
                }
            }
        }
        out
    }

    /// Maps the lines from a version to the current file, or returns the anchors whose lines are lost.
    fn map_forward(
        &mut self,
        at: usize,
        first: &Anchor,
        last: &Anchor,
    ) -> Result<LineSpan, Vec<StaleAnchor>> {
        let map = self.line_map(at);
        // An inverted range is refused later, with its numbers.
        let (low, high) = (first.line.min(last.line), first.line.max(last.line));
        if let Some(span) = map.span(LineSpan { start: low, end: high }) {
            let shift = |line: usize| span.start + (line - low);
            return Ok(LineSpan { start: shift(first.line), end: shift(last.line) });
        }
        let lost = |anchor: &Anchor| {
            StaleAnchor::new(anchor.clone(), StaleCause::Changed, self.near(at, anchor.line))
        };
        let mut stale: Vec<StaleAnchor> = [first, last]
            .into_iter()
            .filter(|anchor| map.line(anchor.line).is_none())
            .map(lost)
            .collect();
        if stale.is_empty() {
            stale = vec![
                StaleAnchor { cause: StaleCause::Split, ..lost(first) },
                StaleAnchor { cause: StaleCause::Split, ..lost(last) },
            ];
        }
        stale.dedup();
        Err(stale)
    }

    /// The map from a version to the current file, joined from the maps of each step.
    pub(crate) fn line_map(&mut self, at: usize) -> Arc<LineMap> {
        if let Some(map) = &self.maps[at] {
            return Arc::clone(map);
        }
        let here = &self.versions[at].snapshot;
        // The same text has the same numbers, whatever came in between.
        let last = self.versions.iter().rposition(|other| other.snapshot == *here).unwrap_or(at);
        let map = match self.versions.get(last + 1) {
            _ if here == self.current => Arc::new(LineMap::identity(here.lines().total())),
            None => Arc::new(LineMap::diff(here, self.current)),
            Some(next) => {
                let step = next
                    .line_map
                    .clone()
                    .unwrap_or_else(|| Arc::new(LineMap::diff(here, &next.snapshot)));
                Arc::new(step.then(&self.line_map(last + 1)))
            }
        };
        self.maps[at] = Some(Arc::clone(&map));
        map
    }

    /// The line of the current file that is nearest to line `line` of a version; the same number if
    /// the map to the current file was not needed yet.
    fn near(&self, at: usize, line: usize) -> usize {
        match &self.maps[at] {
            Some(map) => nearest(map, line, self.current),
            None => line.clamp(1, self.current.lines().total().max(1)),
        }
    }

    /// The same stale anchors, which match no version of the session, each with the line where it
    /// probably is now: by a version that another process recorded, or by the only nearby line with
    /// the same id.
    fn relocated(&self, stale: Vec<StaleAnchor>) -> Vec<StaleAnchor> {
        let relocate = |stale: StaleAnchor| {
            if let Some(near) = self.locate_by_record(&stale.anchor) {
                return StaleAnchor { near, around: near, ..stale };
            }
            // Ids may be equal by chance, so `around` stays at the old number.
            let near = self.locate_by_id(&stale.anchor).unwrap_or(stale.near);
            StaleAnchor { near, ..stale }
        };
        stale.into_iter().map(relocate).collect()
    }

    /// The line of an anchor in the current file, if all recorded versions that match it agree.
    fn locate_by_record(&self, anchor: &Anchor) -> Option<usize> {
        let mut places: Vec<usize> = Vec::new();
        for version in self.recorded {
            let text = version.snapshot.line(anchor.line);
            if text.is_some_and(|text| tag::matches(anchor.line, text, &anchor.id)) {
                let map = LineMap::diff(&version.snapshot, self.current);
                let place = map.line(anchor.line)?;
                if !places.contains(&place) {
                    places.push(place);
                }
            }
        }
        if let [only] = places[..] { Some(only) } else { None }
    }

    /// The only line near an anchor's number that has its id.
    fn locate_by_id(&self, anchor: &Anchor) -> Option<usize> {
        let around = affected_range(anchor.line, self.current.lines().total());
        let mut candidates = (around.start..=around.end).filter(|&number| {
            self.current.line(number).is_some_and(|text| tag::matches(number, text, &anchor.id))
        });
        candidates.next().filter(|_| candidates.next().is_none())
    }

    /// Both anchors as stale, for the same cause.
    fn stale_both(&self, first: &Anchor, last: &Anchor, cause: StaleCause) -> Vec<StaleAnchor> {
        let total = self.current.lines().total().max(1);
        let mut stale: Vec<StaleAnchor> = [first, last]
            .map(|anchor| StaleAnchor::new(anchor.clone(), cause, anchor.line.clamp(1, total)))
            .into();
        stale.dedup();
        stale
    }
}

/// Why line numbers cannot be resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NumberError {
    /// No version that the caller may mean has so many lines; the current file, or else the longest of
    /// them, has this many.
    OutOfRange(usize),
    /// The numbers are stale.
    Stale(Vec<StaleAnchor>),
}

/// The line of the current file that is nearest to where `line` was.
pub(crate) fn nearest(map: &LineMap, line: usize, current: &Snapshot) -> usize {
    let total = current.lines().total().max(1);
    if let Some(mapped) = map.line(line) {
        return mapped.clamp(1, total);
    }
    let from_line_above =
        map.last_above(line).map(|(above, mapped)| mapped.saturating_add(line - above));
    from_line_above.unwrap_or(line).clamp(1, total)
}

/// Those of the two anchors that do not match this version.
fn mismatches(version: &Snapshot, first: &Anchor, last: &Anchor) -> Vec<StaleAnchor> {
    let total = version.lines().total();
    let mut stale: Vec<StaleAnchor> = [first, last]
        .into_iter()
        .filter_map(|anchor| {
            let cause = match version.line(anchor.line) {
                None => StaleCause::OutOfRange,
                Some(text) if tag::matches(anchor.line, text, &anchor.id) => return None,
                Some(_) => StaleCause::Mismatch,
            };
            let near = anchor.line.clamp(1, total.max(1));
            Some(StaleAnchor::new(anchor.clone(), cause, near))
        })
        .collect();
    stale.dedup();
    stale
}
