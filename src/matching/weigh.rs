//! The weight of a place: what each difference of its lines costs, how much what matches says, and what
//! forbids the place.

use std::rc::Rc;

use super::call::{Call, Fate};
use super::costs::{
    AGAIN, Difference, EXTRA, IRREGULAR, KEPT_SHARE, LONG_QUOTE, LOST, MISSING, OTHER_COMMENT,
    PART, PLAIN_SHARE, STALE, STALE_AGAIN, STALE_SHARE, loose_cost,
};
use super::difference::{difference, has_grown, is_made, is_unknown_comment};
use super::explain::Explanation;
use super::fold::is_word_char;
use super::forbidden::{self, Forbidden};
use super::indent::LevelWidths;
use super::made::{Made, made};
use super::maps::IndentMap;
use super::places::{Link, LinkKind, Place, Words};
use super::reading::Reading;
use super::source_file::{SourceFile, line_key};
use super::unseen;
use crate::edit::Kept;

/// What the links of a place weigh together, and what forbids it.
pub(super) struct Scales<'c> {
    pub(super) file: &'c SourceFile<'c>,
    pub(super) call: &'c Call<'c>,
    pub(super) place: &'c Place,
    /// For each link, how its lines differ.
    pub(super) differences: Vec<Option<Difference>>,
    /// The parts that are made already.
    pub(super) made: Vec<Made>,
    /// The first and the last link that pair lines.
    edges: (usize, usize),
    /// The explanation without an outcome, `loose` and the price of a map.
    pub(super) explanation: Explanation,
    /// The part of its cost that is for blanks at line ends and blank lines.
    blanks: f64,
    /// The part that is for any other form.
    forms: f64,
    /// What lines with other words, missing lines and lines more cost.
    pub(super) loose: f64,
    /// How unlike each run of them is, and its last link: what stands together was changed together.
    runs: Vec<(usize, f64)>,
    /// Whether the call has lines that the file lacks or has with other words.
    is_misquoted: bool,
    /// The letters of the lines that match.
    matched: f64,
    /// The letters of the lines in which the file has something more.
    grown: f64,
    /// Those of them that stand there as they look in the call.
    as_quoted: f64,
    levels: LevelWidths,
    /// How many lines with words match.
    matched_lines: usize,
    /// Whether the place is plain, but the file has other text there.
    pub(super) conflict: bool,
    forbidden: Option<Forbidden>,
}

impl<'c> Scales<'c> {
    /// Weighs a place; the error says why it is forbidden.
    pub(super) fn weigh(
        file: &'c SourceFile<'c>,
        call: &'c Call<'c>,
        place: &'c Place,
        reading: &Rc<Reading>,
    ) -> Result<Self, Forbidden> {
        if forbidden::edge(file, call, place) {
            return Err(Forbidden::PartOfChangedLine);
        }
        let (links, lines) = (&place.links, place.lines());
        let first_old = links.iter().find(|l| !l.lines.is_empty()).map_or(0, |l| l.old.start);
        let (head, tail) = place.partial_edges(file);
        let forms = PART * f64::from(u8::from(head) + u8::from(tail));
        let cost = reading.cost_at(lines.start.saturating_sub(first_old)) + forms;
        let first = links.iter().position(Link::is_paired);
        let last = links.iter().rposition(Link::is_paired);
        let differences: Vec<_> = links.iter().map(|link| difference(file, call, link)).collect();
        let made = match reading.is_reverse {
            true => Vec::new(),
            false => made(file, call, place, &differences),
        };
        let mut scales = Self {
            file,
            call,
            place,
            differences,
            made,
            edges: (first.unwrap_or(0), last.unwrap_or(usize::MAX)),
            explanation: Explanation { cost, ..Explanation::of(reading, lines) },
            blanks: 0.0,
            forms,
            loose: 0.0,
            runs: Vec::new(),
            is_misquoted: false,
            matched: 0.0,
            grown: 0.0,
            as_quoted: 0.0,
            levels: LevelWidths::new(file, &call.old, &call.new),
            matched_lines: 0,
            conflict: false,
            forbidden: None,
        };
        for at in 0..links.len() {
            scales.add(at);
        }
        scales.forbid();
        let (explanation, matched) = (&mut scales.explanation, scales.matched);
        let all = letters(call.old.iter().copied()).max(1.0);
        // Where all of the text stands, with something put in, that is no less the text that was quoted.
        explanation.share = match explanation.has_other_text {
            true => matched / all,
            false => (matched + scales.grown) / all,
        };
        explanation.as_quoted = scales.as_quoted / all;
        if !explanation.needs_code {
            explanation.evidence = explanation.evidence.max(2.0 * matched);
        }
        // Where what the call keeps has other words, the place may be the one that was meant, too.
        if scales.forbidden == Some(Forbidden::OtherWords) && !scales.conflict {
            scales.conflict = explanation.share >= STALE_SHARE;
            explanation.is_faint = matched / all < KEPT_SHARE;
        }
        match scales.forbidden {
            Some(why) if !scales.conflict => Err(why),
            _ => Ok(scales),
        }
    }

    /// The cost of the place if a line that the call changes has changed since: what differs there was
    /// someone's edit, and not the model's mistake.
    pub(super) fn stale_cost(&self, maps: &[IndentMap]) -> f64 {
        let map = maps.iter().map(|map| map.price).fold(IRREGULAR, f64::min);
        let runs = self.runs.iter().map(|(_, unlike)| unlike + STALE_AGAIN);
        let further = runs.sum::<f64>() - STALE_AGAIN;
        // Where all that is left stands as it was quoted, chance does not explain it.
        if self.forms + map <= f64::EPSILON && self.explanation.share >= PLAIN_SHARE {
            return self.explanation.cost - self.blanks + STALE;
        }
        self.explanation.cost + map + STALE + further
    }

    /// Adds the link at this index.
    fn add(&mut self, at: usize) {
        let (call, link) = (self.call, &self.place.links[at]);
        let is_blank = || call.old[link.old.clone()].iter().all(|line| line.trim().is_empty());
        if let Some(made) = self.made.iter().find(|made| made.links.contains(&at)) {
            if made.links.start == at {
                self.add_made(at);
            }
        } else if link.kind == LinkKind::Elided {
            self.charge(Difference::Elision);
        } else if link.old.is_empty() || is_blank() {
            self.add_unseen(at);
        } else if link.lines.is_empty() {
            self.add_missing(at);
        } else if !matches!(self.differences[at], Some(Difference::Words | Difference::Comment)) {
            self.add_matching(at);
        } else if !self.explanation.reading.is_reverse && is_made(self.file, call, self.place, link)
        {
            self.add_made(at);
        } else {
            self.add_other_words(at);
        }
    }

    /// Adds what the call would write and what stands there already.
    fn add_made(&mut self, at: usize) {
        self.charge_loose(at, STALE, 0.0, false);
        self.is_misquoted = true;
        self.explanation.needs_unseen = true;
    }

    /// Adds a difference of one line, and returns its cost: a further one of its kind is the same habit.
    fn charge(&mut self, difference: Difference) -> f64 {
        let again = self.explanation.differences.contains(&difference);
        let cost = difference.cost() * if again { AGAIN } else { 1.0 };
        self.explanation.cost += cost;
        match difference {
            Difference::TrailingBlanks | Difference::BlankLines => self.blanks += cost,
            _ => self.forms += cost,
        }
        if !again {
            self.explanation.differences.push(difference);
        }
        cost
    }

    /// Adds what the line of a link costs that one side lacks, or that has other words.
    fn charge_loose(&mut self, at: usize, cost: f64, unlike: f64, is_code: bool) {
        self.explanation.is_loose = true;
        self.explanation.needs_code |= is_code;
        self.explanation.differences.push(Difference::Comment);
        self.loose += cost;
        match self.runs.last_mut() {
            Some((last, most)) if *last + 1 == at => (*last, *most) = (at, most.max(unlike)),
            _ => self.runs.push((at, unlike)),
        }
    }

    /// Whether the call keeps all lines of a link.
    fn keeps(&self, link: &Link) -> bool {
        link.old.clone().all(|old| self.call.keeps(old))
    }

    /// Adds lines that only the file has.
    fn add_unseen(&mut self, at: usize) {
        let (file, link) = (self.file, &self.place.links[at]);
        if link.lines.clone().all(|line| file.is_blank(line)) {
            if !link.is_paired() {
                let is_own = link.lines.is_empty();
                let cost = self.charge(Difference::BlankLines);
                self.explanation.own_blanks += if is_own { cost } else { 0.0 };
            }
            return;
        }
        let is_comment = link.lines.clone().all(|line| file.is_comment(line));
        self.charge_loose(at, loose_cost(is_comment, EXTRA), 0.0, !is_comment);
        self.explanation.needs_unseen = true;
        if unseen::forbids(file, self.call, self.place, at) {
            self.forbidden = Some(Forbidden::OtherWords);
        }
    }

    /// Adds a line that only the call has.
    fn add_missing(&mut self, at: usize) {
        let (file, call, place) = (self.file, self.call, self.place);
        let link = &place.links[at];
        let old = link.old.start;
        let is_comment = is_unknown_comment(file, call.old[old]);
        let (first, last) = self.edges;
        let is_outside = at < first || at > last;
        let price = loose_cost(is_comment, MISSING) + LOST * self.bits(link);
        self.charge_loose(at, price, STALE, !is_comment);
        self.explanation.has_other_text = true;
        let is_cut = match is_comment {
            true => {
                // It says what the line added below it is.
                call.adds_beside(old).1 || forbidden::cuts_comment(file, call, place, at)
            }
            false => call.changes_beside(old),
        };
        // A quote that begins or ends with a line from elsewhere is put together from several places.
        let is_elsewhere = || {
            call.old[old].contains(is_word_char)
                && !file.lines_with_key(line_key(call.old[old])).is_empty()
        };
        self.is_misquoted = true;
        self.conflict |= !self.keeps(link);
        if is_cut || is_outside && is_elsewhere() {
            self.forbidden = Some(Forbidden::OtherWords);
        }
    }

    /// Adds a line with other words.
    fn add_other_words(&mut self, at: usize) {
        let (file, call, place) = (self.file, self.call, self.place);
        let link = &place.links[at];
        let old = link.old.start;
        let has_other_code = self.differences[at] == Some(Difference::Words);
        let is_edge = at == self.edges.0 || at == self.edges.1;
        let (believed, found) = (call.old[old], link.text(file));
        let unlike = 1.0 - Words::of(believed).similarity(&Words::of(found));
        let lost = LOST * self.bits(link);
        match has_grown(believed.trim(), found.trim()) {
            true => self.grown += letters([believed].into_iter()),
            false => self.explanation.has_other_text = true,
        }
        let price = match has_other_code {
            true => Difference::Words.cost() + lost,
            false => Difference::Comment.cost() + lost * unlike,
        };
        self.charge_loose(at, price, STALE * unlike, has_other_code);
        self.is_misquoted = true;
        self.conflict |= !self.keeps(link) || call.fate(old) == Fate::Moved;
        let is_cut = match has_other_code || !file.is_comment(link.lines.start) {
            true => is_edge || call.changes_beside(old),
            // Quite other words are another comment, which says what is added below it.
            false => {
                let [a, b] = [believed, found].map(str::to_lowercase);
                1.0 - Words::of(&a).similarity(&Words::of(&b)) > OTHER_COMMENT
                    && call.cuts_beside(old).1
                    || forbidden::cuts_comment(file, call, place, at)
            }
        };
        if is_cut {
            self.forbidden = Some(Forbidden::OtherWords);
        }
        let [believed, found] = [believed, found].map(str::to_owned);
        self.explanation.kept.push(Kept { line: link.lines.start + 1, believed, found });
    }

    /// Adds lines that match, but for what can be explained.
    fn add_matching(&mut self, at: usize) {
        let (file, call, link) = (self.file, self.call, &self.place.links[at]);
        let old = &call.old[link.old.clone()];
        self.explanation.evidence += self.bits(link);
        let matched = letters(old.iter().copied());
        self.matched += matched;
        // Blanks at the ends that only the call has are its own mistake at any place.
        let has_tail = |line: &str| line.trim_end() != line;
        let is_own = self.differences[at] == Some(Difference::TrailingBlanks)
            && has_tail(old[0])
            && !has_tail(link.text(file));
        if (is_own || matches!(self.differences[at], None | Some(Difference::LookAlikes)))
            && self.levels.are_same(old[0], file.body(link.lines.start))
        {
            self.as_quoted += matched;
        }
        self.matched_lines += old.iter().filter(|line| line.contains(is_word_char)).count();
        // What the reverse changes must stand there as it is.
        let is_strict = self.explanation.reading.is_reverse && !self.keeps(link);
        self.explanation.is_part |= is_strict && !(link.starts_line(file) && link.ends_line(file));
        let Some(difference) = self.differences[at] else { return };
        let cost = self.charge(difference);
        self.explanation.own_blanks += if is_own { cost } else { 0.0 };
        let dense = |text: &str| text.split_whitespace().collect::<String>();
        if difference == Difference::Spacing && dense(old[0]) != dense(link.text(file)) {
            self.explanation.differences.push(Difference::LookAlikes);
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
        self.conflict |=
            is_strict && difference != Difference::TrailingBlanks && !self.shows(difference);
    }

    /// Whether lines that the call keeps differ in this way, too: they tie the new text to the place, and
    /// show how loosely it may match.
    fn shows(&self, difference: Difference) -> bool {
        let is_shown = |old| self.call.keeps(old) && self.call.old[old].contains(is_word_char);
        let mut links = self.place.links.iter().zip(&self.differences);
        links.any(|(link, other)| *other == Some(difference) && link.old.clone().all(is_shown))
    }

    /// How much the call's lines of a link say about the place.
    fn bits(&self, link: &Link) -> f64 {
        self.call.old[link.old.clone()].iter().map(|line| self.file.bits(line)).sum()
    }

    /// What the place as a whole forbids. Of several reasons, the first is told.
    fn forbid(&mut self) {
        let (file, call, place) = (self.file, self.call, self.place);
        let is_short = self.matched_lines < LONG_QUOTE;
        let is_reverse = self.explanation.reading.is_reverse;
        // With a placeholder, no place competes that has changed since: a line that stands elsewhere as it
        // was quoted, and here in another form, may be of such a place.
        let stands_elsewhere = |link: &Link| {
            let quoted = call.old[link.old.start].trim();
            let lines = file.lines_with_key(line_key(quoted)).iter().map(|&line| line as usize);
            lines
                .filter(|line| !link.lines.contains(line))
                .any(|line| file.body(line).trim() == quoted)
        };
        let mut links = place.links.iter().zip(&self.differences);
        self.explanation.is_guess |= self.explanation.differences.contains(&Difference::Elision)
            && links.any(|(link, d)| d.is_some() && link.is_pair() && stands_elsewhere(link));
        if forbidden::elision(call, place) {
            self.forbidden = Some(Forbidden::UnseenLinesGo);
        } else if forbidden::marks(file, call) {
            self.forbidden = Some(Forbidden::Marks);
        } else if forbidden::quotes(file, call, place, &self.differences) {
            self.forbidden = Some(Forbidden::Meaningful(Difference::Punctuation));
        } else if self.explanation.needs_code && self.is_misquoted && is_short
            || forbidden::damage(file, call, place)
        {
            self.forbidden = Some(Forbidden::OtherWords);
        } else if self.forbidden.is_none()
            && (forbidden::twice(file, call, place, &self.made)
                || !is_reverse && forbidden::beside(file, call, &place.lines()))
        {
            self.forbidden = Some(Forbidden::AddedTwice);
        }
        self.conflict |= forbidden::other_bracket(file, call, place)
            || forbidden::other_closer(file, call, place);
    }
}

/// The number of characters that are not white space.
pub(super) fn letters<'l>(lines: impl Iterator<Item = &'l str>) -> f64 {
    float(lines.flat_map(str::chars).filter(|c| !c.is_whitespace()).count())
}

/// A count as a float.
#[expect(clippy::cast_precision_loss, reason = "lengths and counts of lines are far smaller")]
pub(super) const fn float(count: usize) -> f64 {
    count as f64
}
