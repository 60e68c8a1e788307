//! Stale lines that `new_str` has as the file does: a model read the file again, and only
//! `old_str` remembers an older state of it.
//!
//! Limits: the lines that are right must stand in one place only.

use super::Explained;
use super::call::{Call, Read};
use super::decode::Reading;
use super::events::{Event, events};
use super::ladder::{INDENTATION, folds};
use super::source::{Source, skeleton};
use super::tokens;
use super::window::split;
use crate::edit::Refusal;

/// Where only `old` remembers some lines wrong, and `new` has them as the file does: with these
/// lines in it, `old` is found, and what is written there is `new`.
pub(super) fn mended(call: &Call<'_>, reading: &Reading) -> Option<Result<Explained, Refusal>> {
    let source = call.source();
    let (old, new) = (split(&reading.old), split(&reading.new));
    let file = source.solid();
    let known = |line: &str| {
        let there = |at: &u32| source.body(file.lines[*at as usize]).trim_end() == line.trim_end();
        file.places(skeleton(line)).iter().any(there)
    };
    if !new.iter().any(|line| known(line)) {
        return None;
    }
    let mut mended: Vec<&str> = old.clone();
    let (mut any, mut edits, mut anchored) = (false, false, false);
    let says = |line: &str| line.chars().filter(|c| c.is_alphanumeric()).count() >= 3;
    for event in events(&old, &new) {
        match event {
            Event::Change(o, n)
                if known(new[n])
                    && !known(old[o])
                    && tokens::likeness(old[o].trim(), new[n].trim()) >= 0.5 =>
            {
                (mended[o], any) = (new[n], true);
            }
            Event::Keep(o, _) => anchored |= says(old[o]),
            Event::Change(o, _) | Event::Delete(o) => {
                anchored |= says(old[o]);
                edits |= says(old[o]);
            }
            Event::Insert(n) => edits |= says(new[n]),
        }
    }
    // What the mended lines say is what `new` has: they tell the lines, and not the place.
    let unsure = |at: usize| mended[at] != old[at];
    if !any || !edits || !anchored || !is_one_place(source, &old, unsure) {
        return None;
    }
    let text: String = mended.iter().map(|line| format!("{line}\n")).collect();
    let new: String = new.iter().map(|line| format!("{line}\n")).collect();
    let mut ids = reading.ids.clone();
    ids.push("stale_context");
    let inner = Reading { old: text, new, ids, rung: "aligned", whole_lines: true, unclear: false };
    let read = Read::new(inner);
    (0..INDENTATION).find_map(|at| call.decide_windows(&read, folds(at), "aligned"))
}

/// Whether the lines stand in one place only, whatever stands where the unsure ones are.
fn is_one_place(source: &Source<'_>, old: &[&str], unsure: impl Fn(usize) -> bool) -> bool {
    let file = source.solid();
    let solid: Vec<usize> = (0..old.len()).filter(|at| !old[*at].trim().is_empty()).collect();
    let sure = |at: &usize| !unsure(solid[*at]);
    let places = |at: usize| file.places(skeleton(old[solid[at]]));
    let worded = (0..solid.len()).filter(sure).filter(|at| !places(*at).is_empty());
    let Some(rarest) = worded.min_by_key(|at| places(*at).len()) else { return false };
    let fits = |place: &&u32| {
        (**place as usize).checked_sub(rarest).is_some_and(|start| {
            (0..solid.len()).filter(sure).all(|at| {
                let line = file.lines.get(start + at).map(|line| source.body(*line).trim());
                line == Some(old[solid[at]].trim())
            })
        })
    };
    places(rarest).iter().filter(fits).count() == 1
}
