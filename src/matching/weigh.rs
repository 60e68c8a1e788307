//! The weight of a place: what each difference of its lines costs, how much what matches says, and what
//! forbids the place.

use super::call::{Call, Fate};
use super::costs::{
    AGAIN, Difference, EDGE, EXTRA, IRREGULAR, LONG_QUOTE, LOST, MISSING, PART, PLAIN_SHARE, STALE,
    STALE_AGAIN,
};
use super::difference::{
    difference, has_same_characters, is_made, is_unknown_comment, other_quotes_of,
};
use super::explain::Strictness;
use super::fold::is_word_char;
use super::forbidden::{self, Forbidden};
use super::maps::IndentMap;
use super::places::{Link, LinkKind, Place, Words};
use super::source_file::SourceFile;
use super::unseen;
use crate::edit::Kept;

/// What the links of a place weigh together, and what forbids it.
pub(super) struct Scales<'c, 'a, 'f, 't> {
    pub(super) file: &'f SourceFile<'t>,
    pub(super) call: &'c Call<'a>,
    pub(super) place: &'c Place,
    /// For each link, how its lines differ.
    pub(super) differences: Vec<Option<Difference>>,
    strictness: Strictness,
    /// What reading the call in this way costs at this place.
    read_cost: f64,
    /// The first and the last link that pair lines.
    edges: Option<(usize, usize)>,
    pub(super) sum: Sum,
    /// Lines that the call keeps but quotes with other words.
    pub(super) kept: Vec<Kept>,
    /// Quotes that the call has where the file has others.
    other_quotes: Vec<char>,
    /// Whether the file has other text where the call changes it.
    pub(super) conflict: bool,
    pub(super) forbidden: Option<Forbidden>,
}

impl<'c, 'a, 'f, 't> Scales<'c, 'a, 'f, 't> {
    /// Weighs a place, for a reading that costs `read_cost` there.
    pub(super) fn weigh(
        file: &'f SourceFile<'t>,
        call: &'c Call<'a>,
        place: &'c Place,
        read_cost: f64,
        strictness: Strictness,
    ) -> Self {
        let is_paired = |link: &Link| !link.lines.is_empty() && !link.old.is_empty();
        let first = place.links.iter().position(is_paired);
        let (head, tail) = place.partial_edges(file);
        let parts = f64::from(u8::from(head) + u8::from(tail));
        let mut scales = Self {
            file,
            call,
            place,
            differences: place.links.iter().map(|link| difference(file, call, link)).collect(),
            strictness,
            read_cost,
            edges: first.zip(place.links.iter().rposition(is_paired)),
            sum: Sum { plain: read_cost + PART * parts, ..Sum::default() },
            kept: Vec::new(),
            other_quotes: Vec::new(),
            conflict: false,
            forbidden: None,
        };
        for at in 0..place.links.len() {
            scales.add(at);
        }
        scales.forbid();
        scales
    }

    /// The share of the text that stands there, by letters.
    pub(super) fn share(&self) -> f64 {
        self.sum.matched / letters(self.call.old.iter().copied()).max(1.0)
    }

    /// The share of the text that stands there character for character.
    pub(super) fn as_quoted(&self) -> f64 {
        self.sum.as_quoted / letters(self.call.old.iter().copied()).max(1.0)
    }

    /// How much what matches says about the place.
    pub(super) fn evidence(&self) -> f64 {
        match self.sum.needs_code {
            true => self.sum.evidence,
            false => self.sum.evidence.max(2.0 * self.sum.matched),
        }
    }

    /// The cost of the place if a line that the call changes has changed since: what differs there was
    /// someone's edit, and not the model's mistake.
    pub(super) fn stale_cost(&self, maps: &[IndentMap]) -> f64 {
        let sum = &self.sum;
        let map = maps.iter().map(|map| map.price).fold(IRREGULAR, f64::min);
        let runs = sum.runs.iter().map(|(_, unlike)| unlike + STALE_AGAIN);
        let further = runs.sum::<f64>() - STALE_AGAIN;
        // Where all that is left stands as it was quoted, chance does not explain it.
        let plain = sum.plain - sum.blanks;
        if plain + map <= self.read_cost + f64::EPSILON && self.share() >= PLAIN_SHARE {
            return plain + STALE;
        }
        sum.plain + map + STALE + further
    }

    /// Adds the link at this index.
    fn add(&mut self, at: usize) {
        let (file, call, place) = (self.file, self.call, self.place);
        let link = &place.links[at];
        let is_blank = || call.old[link.old.clone()].iter().all(|line| line.trim().is_empty());
        if link.kind == LinkKind::Elided {
            self.sum.charge(Difference::Elision);
            let is_changed = |old| call.fate(old) == Fate::Changed;
            self.conflict |= !link.lines.is_empty() && link.old.clone().any(is_changed);
        } else if link.old.is_empty() || is_blank() {
            self.add_unseen(at);
        } else if link.lines.is_empty() {
            self.add_missing(at);
        } else if !matches!(self.differences[at], Some(Difference::Words | Difference::Comment)) {
            self.add_matching(at);
        } else if self.strictness == Strictness::Call && is_made(file, call, link) {
            // What the call would write stands there already.
            self.sum.charge_loose(at, STALE, 0.0);
            self.sum.other_words += 1;
            self.sum.made += 1;
            self.sum.differences.push(Difference::Comment);
        } else {
            self.add_other_words(at);
        }
    }

    /// Whether the call keeps all lines of a link.
    fn keeps(&self, link: &Link) -> bool {
        link.old.clone().all(|old| self.call.keeps(old))
    }

    /// Adds lines that only the file has.
    fn add_unseen(&mut self, at: usize) {
        let (file, call, place) = (self.file, self.call, self.place);
        let link = &place.links[at];
        if link.lines.clone().all(|line| file.is_blank(line)) {
            if link.old.is_empty() || link.lines.is_empty() {
                self.sum.charge(Difference::BlankLines);
            }
            return;
        }
        let is_comment = link.lines.clone().all(|line| file.is_comment(line));
        let price = if is_comment { Difference::Comment.cost() } else { EXTRA };
        self.sum.needs_code |= !is_comment;
        self.sum.charge_loose(at, price, 0.0);
        self.sum.extra += 1;
        self.sum.differences.push(Difference::Comment);
        if unseen::forbids(file, call, place, at) {
            self.forbidden = Some(Forbidden::OtherWords);
        }
    }

    /// Adds a line that only the call has.
    fn add_missing(&mut self, at: usize) {
        let (file, call, place) = (self.file, self.call, self.place);
        let link = &place.links[at];
        let old = link.old.start;
        let evidence = self.bits(link);
        let is_head = self.edges.is_some_and(|(first, _)| at < first);
        let is_outside = is_head || self.edges.is_some_and(|(_, last)| at > last);
        let is_comment = is_unknown_comment(file, call.old[old]);
        let price = match is_comment {
            true => Difference::Comment.cost() + LOST * evidence,
            false => MISSING + LOST * evidence + if is_outside { EDGE } else { 0.0 },
        };
        if !is_comment && call.changes_beside(old)
            || is_comment && forbidden::cuts_comment(file, call, place, at)
            || is_head && forbidden::other_head(file, call, place, old)
        {
            self.forbidden = Some(Forbidden::OtherWords);
        }
        self.sum.needs_code |= !is_comment;
        self.sum.differences.push(Difference::Comment);
        self.sum.charge_loose(at, price, STALE);
        self.sum.missing += 1;
        self.conflict |= !self.keeps(link);
    }

    /// Adds a line with other words.
    fn add_other_words(&mut self, at: usize) {
        let (file, call, place) = (self.file, self.call, self.place);
        let link = &place.links[at];
        let old = link.old.start;
        let has_other_code = self.differences[at] == Some(Difference::Words);
        let is_edge = self.edges.is_some_and(|(first, last)| at == first || at == last);
        let (believed, found) = (call.old[old], &file.text[link.bytes.clone()]);
        let similarity = Words::of(believed).similarity(&Words::of(found));
        let evidence = self.bits(link);
        let price = match has_other_code {
            true => Difference::Words.cost() + LOST * evidence + if is_edge { EDGE } else { 0.0 },
            false => Difference::Comment.cost() + LOST * evidence * (1.0 - similarity),
        };
        self.sum.needs_code |= has_other_code;
        self.sum.charge_loose(at, price, STALE * (1.0 - similarity));
        self.sum.other_words += 1;
        self.conflict |= !self.keeps(link) || call.fate(old) == Fate::Moved;
        let is_code = has_other_code || !file.is_comment(link.lines.start);
        if is_code && (is_edge || call.changes_beside(old))
            || !is_code && forbidden::cuts_comment(file, call, place, at)
        {
            self.forbidden = Some(Forbidden::OtherWords);
        }
        self.kept.push(Kept {
            line: link.lines.start + 1,
            believed: believed.to_owned(),
            found: (*found).to_owned(),
        });
        if !self.sum.differences.contains(&Difference::Comment) {
            self.sum.differences.push(Difference::Comment);
        }
    }

    /// Adds lines that match, but for what can be explained.
    fn add_matching(&mut self, at: usize) {
        let (file, call, place) = (self.file, self.call, self.place);
        let link = &place.links[at];
        let is_reverse = self.strictness == Strictness::Reverse;
        let keeps = self.keeps(link);
        self.sum.evidence += self.bits(link);
        let matched = letters(call.old[link.old.clone()].iter().copied());
        self.sum.matched += matched;
        if link.is_pair() && call.old[link.old.start] == file.body(link.lines.start) {
            self.sum.as_quoted += matched;
        }
        self.sum.matched_lines +=
            link.old.clone().filter(|&old| call.old[old].contains(is_word_char)).count();
        if let Some(difference) = self.differences[at] {
            self.sum.charge(difference);
            if difference == Difference::Spacing && !has_same_characters(file, call, link) {
                self.sum.differences.push(Difference::LookAlikes);
            }
            if difference == Difference::Punctuation {
                self.other_quotes.extend(other_quotes_of(file, call, link));
            }
            let needs_free_form = matches!(
                difference,
                Difference::Spacing | Difference::Punctuation | Difference::Reflow
            );
            // Rows of a table are padded to be read.
            let is_row = difference == Difference::Spacing
                && file.language.is_some_and(|language| language.name == "markdown")
                && file.body(link.lines.start).trim_start().starts_with('|');
            if needs_free_form && !file.is_free_form() && !is_row {
                self.forbidden = Some(Forbidden::Meaningful(difference));
            }
            self.conflict |= is_reverse
                && !keeps
                && difference != Difference::TrailingBlanks
                && !self.shows(difference);
        }
        if !keeps && !(link.starts_line(file) && link.ends_line(file)) {
            self.sum.is_part = true;
            self.conflict |= is_reverse && call.old.len() > 1;
        }
    }

    /// Whether lines that the call keeps differ in this way, too: they tie the new text to the place, and
    /// show how loosely it may match.
    fn shows(&self, difference: Difference) -> bool {
        let is_shown = |old| self.call.keeps(old) && self.call.old[old].contains(is_word_char);
        self.place
            .links
            .iter()
            .zip(&self.differences)
            .any(|(link, other)| *other == Some(difference) && link.old.clone().all(is_shown))
    }

    /// How much the call's lines of a link say about the place.
    fn bits(&self, link: &Link) -> f64 {
        self.call.old[link.old.clone()].iter().map(|line| self.file.bits(line)).sum()
    }

    /// What the place as a whole forbids. The last reason is the one that is told.
    fn forbid(&mut self) {
        let (file, call, place) = (self.file, self.call, self.place);
        if self.sum.needs_code
            && self.sum.other_words + self.sum.missing > 0
            && self.sum.matched_lines < LONG_QUOTE
        {
            self.forbidden = Some(Forbidden::OtherWords);
        }
        if forbidden::quotes(file, call, &self.other_quotes) {
            self.forbidden = Some(Forbidden::Meaningful(Difference::Punctuation));
        }
        if self.sum.extra > 0 {
            self.forbidden = self.forbidden.or(forbidden::twice(file, call, place));
        }
        if self.strictness == Strictness::Call {
            self.forbidden = self.forbidden.or(forbidden::beside(file, call, place));
        }
        self.forbidden = forbidden::marks(file, call).or(self.forbidden);
        self.forbidden = forbidden::elision(call, place).or(self.forbidden);
        self.conflict |= forbidden::other_bracket(file, call, place);
    }
}

/// The sum of the costs at a place.
#[derive(Debug, Default)]
pub(super) struct Sum {
    /// What does not depend on how many lines differ in words.
    pub(super) plain: f64,
    /// The part of it that is for blanks at line ends and blank lines.
    blanks: f64,
    /// What lines with other words, missing lines and lines more cost.
    pub(super) loose: f64,
    /// Lines with other words.
    other_words: u32,
    /// Lines that only the call has.
    missing: u32,
    /// Lines that only the file has.
    pub(super) extra: u32,
    /// Whether a line that the call changes is only a part of the file's.
    pub(super) is_part: bool,
    /// Changed lines that read as the call would write them.
    pub(super) made: u32,
    /// Whether some of these are no comments.
    pub(super) needs_code: bool,
    /// How unlike the lines of each run of them are: what stands together was changed together.
    runs: Vec<(usize, f64)>,
    evidence: f64,
    /// The letters of the lines that match.
    matched: f64,
    /// Those of them that match character for character.
    as_quoted: f64,
    /// How many lines with words match.
    matched_lines: usize,
    pub(super) differences: Vec<Difference>,
}

impl Sum {
    /// Adds a difference of one line: a further one of its kind is the same habit.
    fn charge(&mut self, difference: Difference) {
        let again = self.differences.contains(&difference);
        let cost = difference.cost() * if again { AGAIN } else { 1.0 };
        self.plain += cost;
        if matches!(difference, Difference::TrailingBlanks | Difference::BlankLines) {
            self.blanks += cost;
        }
        if !again {
            self.differences.push(difference);
        }
    }

    /// Adds what a line that one side lacks, or that has other words, costs.
    /// `at` is its link.
    fn charge_loose(&mut self, at: usize, cost: f64, unlike: f64) {
        self.loose += cost;
        match self.runs.last_mut() {
            Some((last, most)) if *last + 1 == at => (*last, *most) = (at, most.max(unlike)),
            _ => self.runs.push((at, unlike)),
        }
    }

    /// Whether some line has other words, or one side lacks it.
    pub(super) fn is_loose(&self) -> bool {
        self.other_words + self.missing + self.extra > 0
    }
}

/// The number of characters that are not white space.
pub(super) fn letters<'l>(lines: impl Iterator<Item = &'l str>) -> f64 {
    let count: usize = lines.map(|line| line.chars().filter(|c| !c.is_whitespace()).count()).sum();
    #[expect(clippy::cast_precision_loss, reason = "the length of a text")]
    let count = count as f64;
    count
}
