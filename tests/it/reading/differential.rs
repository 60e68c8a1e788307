//! Hashline edits and the carrying of anchors against the model of `identities`. Random edits,
//! random changes by others in between; an edit may be refused, but never lands on another line.
//!
//! What others do is told apart by what a reader of the two versions could know: one
//! change at a time may use lines that occur often; several at once use new lines.
//!
//! The long form, `RESTITCH_LONG=1 cargo test --test it reading::differential -- --nocapture`,
//! printed on 23 November 2026: 100,000 sequences, 257,457 edits applied, 80,439 of them on
//! lines that had moved, 92,237 refused as stale, none on another line.

use serde_json::{Value, json};

use super::identities::{Keep, Meaning, View, World};
use crate::long::count;

#[derive(Default, Debug)]
struct Tally {
    sequences: usize,
    applied: usize,
    on_moved_lines: usize,
    refused_stale: usize,
    refused_otherwise: usize,
    refused_though_found: usize,
}

/// Random edits of a view, as a call and as what they mean.
fn edits(world: &mut World, view: &View) -> (Vec<Value>, Vec<Meaning>) {
    let (mut calls, mut meanings) = (Vec::new(), Vec::new());
    let mut next = 0;
    for _ in 0..1 + world.random.below(3) {
        if next >= view.lines.len() {
            break;
        }
        let start = next + world.random.below(view.lines.len() - next);
        let end = (start + world.random.below(3)).min(view.lines.len() - 1);
        next = end + 1;
        let kind = world.random.below(4);
        let count = world.random.below(3) + usize::from(kind > 0);
        let new = world.new_lines(count, 0);
        let (op, keep) = match kind {
            0 | 1 => ("replace", Keep::None),
            2 => ("append", Keep::Before),
            _ => ("prepend", Keep::After),
        };
        let texts: Vec<&str> = new.iter().map(|line| line.text.as_str()).collect();
        let mut call = json!({ "op": op, "pos": view.anchor(start), "lines": texts });
        if op == "replace" {
            call["end"] = view.anchor(end).into();
        }
        calls.push(call);
        let ids = view.identities(start..if op == "replace" { next } else { start + 1 });
        meanings.push(Meaning { ids, keep, new });
    }
    (calls, meanings)
}

async fn step(world: &mut World, views: &mut Vec<View>, tally: &mut Tally) {
    if world.random.chance(60) {
        let (changes, often) =
            if world.random.chance(50) { (1, 50) } else { (1 + world.random.below(3), 0) };
        for _ in 0..changes {
            let count = world.random.below(4);
            world.change(count, often);
        }
        // A version is known by its content: a file that is again as it was shown is
        // the one that was shown.
        let same = |view: &&View| {
            view.lines.iter().map(|l| &l.text).eq(world.lines.iter().map(|l| &l.text))
        };
        if let Some(view) = views.iter().rev().find(same) {
            world.lines = view.lines.clone();
        }
        world.publish();
    }
    let is_last = world.random.chance(60);
    let at = if is_last { views.len() - 1 } else { world.random.below(views.len()) };
    let (calls, meanings) = edits(world, &views[at]);
    let mut arguments = json!({ "path": "f", "edits": calls });
    if world.random.chance(50) {
        arguments["snapshot"] = views[at].snapshot.clone().into();
    }
    let meant = world.meant(&meanings);
    let is_found = meant.is_some();
    let reply = world.send("hashline_edit", &arguments, meant).await;
    tally.applied += usize::from(reply.ok);
    tally.on_moved_lines += usize::from(reply.ok && reply.report["rung"] == "carried");
    let is_stale = reply.code.is_some_and(|code| code.as_str() == "EDIT_STALE_ANCHOR");
    tally.refused_stale += usize::from(is_stale);
    tally.refused_otherwise += usize::from(!reply.ok && !is_stale);
    tally.refused_though_found += usize::from(!reply.ok && is_found);
    // What was changed is read now and then; a change that is on no record stays alone.
    views.push(world.read().await);
}

#[tokio::test]
async fn no_random_edit_lands_on_another_line() {
    let sequences = count(2_000, 100_000);
    let mut tally = Tally { sequences, ..Tally::default() };
    for seed in 1..=sequences as u64 {
        let mut world = World::new(seed, 3..28);
        let mut views = vec![world.read().await];
        for _ in 0..2 + world.random.below(4) {
            step(&mut world, &mut views, &mut tally).await;
        }
    }
    println!("hashline against the model: {tally:?}");
    assert!(tally.applied > tally.sequences && tally.on_moved_lines > 0 && tally.refused_stale > 0);
}
