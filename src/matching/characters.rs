//! Characters that the call and the file write differently: the same letters, other quotes or dashes.

use std::ops::Range;

use super::call::Call;
use super::costs::Difference;
use super::difference::DAMAGED;
use super::fold;
use super::places::Place;
use super::source_file::SourceFile;

/// What the call writes differently from the file in all lines of a place, such as typographic quotes
/// for the file's plain ones: pairs of (text in the call, text in the file). A character for which the
/// file has several forms is not in the map and stays as sent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct CharacterMap(Vec<(String, String)>);

impl CharacterMap {
    /// The maps that the equal lines of call and file show: one, and if it maps dashes, another one
    /// without them: a long dash can stand for one hyphen or for two, and the lines do not show which.
    pub(super) fn learn(
        file: &SourceFile<'_>,
        call: &Call<'_>,
        place: &Place,
        differences: &[Option<Difference>],
    ) -> Vec<Self> {
        let differs = |d: &Option<Difference>| d.is_some_and(|d| d >= Difference::LookAlikes);
        // A line that both strings have, and `new_str` as the file has it, shows that only old_str is wrong.
        let is_mended = |(at, new): (usize, &&str)| {
            let Some(old) = call.partner(at) else { return false };
            let link = place.link_at(old).filter(|link| link.is_pair());
            link.is_some_and(|link| link.text(file).trim() == new.trim())
                && new.trim() != call.old[old].trim()
        };
        if call.old.iter().all(|line| line.is_ascii())
            || !differences.iter().any(differs)
            || call.new.iter().enumerate().any(is_mended)
        {
            return vec![Self::default()];
        }
        // `None` where the file has several texts for one of the call.
        let mut seen: Vec<(&str, Option<&str>)> = Vec::new();
        let has_other_words =
            |d: &Option<Difference>| matches!(d, Some(Difference::Words | Difference::Comment));
        let links = place.links.iter().zip(differences);
        for (link, _) in links.filter(|(link, d)| link.is_pair() && !has_other_words(d)) {
            let (quoted, there) = (call.old[link.old.start], link.text(file));
            let strays = UNSEEN.iter().filter(|c| quoted.contains(**c) && !there.contains(**c));
            let mut pairs = look_alikes(quoted, there);
            pairs.extend(strays.map(|c| (*c, "")));
            for (from, to) in pairs.into_iter().filter(|(from, _)| !from.is_ascii()) {
                match seen.iter_mut().find(|(known, _)| *known == from) {
                    Some((_, target)) => *target = target.filter(|target| *target == to),
                    None => seen.push((from, Some(to))),
                }
            }
        }
        let agreed = seen.into_iter().filter_map(|(from, to)| Some((from, to?)));
        // A damaged character stands for any other one, so that it is no form of one.
        let map = agreed.filter(|pair| {
            pair.0 != pair.1 && !(pair.0.contains(DAMAGED) || pair.1.contains(DAMAGED))
        });
        let map: Vec<_> = map.map(|(from, to)| (from.to_owned(), to.to_owned())).collect();
        let is_dash = |(from, _): &(String, String)| from.starts_with(['–', '—']);
        let without: Vec<_> = map.iter().filter(|pair| !is_dash(pair)).cloned().collect();
        let mut maps = vec![Self(map), Self(without)];
        maps.dedup();
        maps
    }

    /// Whether it changes nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text as the file would write it.
    pub(super) fn apply(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
    }
}

/// Characters without a width that no text has for a reason.
const UNSEEN: [&str; 3] = ["\u{200b}", "\u{2060}", "\u{feff}"];

/// The characters of two lines as pairs of (text in the call, text in the file). Empty if the lines
/// differ in length once look-alikes are the same.
fn look_alikes<'a>(call: &'a str, file: &'a str) -> Vec<(&'a str, &'a str)> {
    let (call, file) = (call.trim(), file.trim());
    let [call_chars, file_chars] =
        [call, file].map(|line| fold::canonical(line, Difference::LookAlikes));
    if call_chars.len() != file_chars.len() {
        return Vec::new();
    }
    // One character may stand for several, as an ellipsis does for three dots.
    let mut pairs: Vec<(Range<usize>, Range<usize>)> = Vec::new();
    for (in_call, in_file) in call_chars.iter().zip(&file_chars) {
        match pairs.last_mut() {
            Some((last, other)) if *last == in_call.range() => other.end = in_file.end,
            Some((other, last)) if *last == in_file.range() => other.end = in_call.end,
            _ => pairs.push((in_call.range(), in_file.range())),
        }
    }
    pairs.into_iter().map(|(a, b)| (&call[a], &file[b])).collect()
}
