//! Hashline edits and the carrying of anchors against a naive model, in which every
//! line has an identity. Random edits, random changes by others in between; an edit
//! may be refused, but never lands on another line.
//!
//! What others do is told apart by what a reader of the two versions could know: one
//! change at a time may use lines that occur often; several at once use new lines.
//!
//! The long form, `RESTITCH_LONG=1 cargo test --test it reading::differential -- --nocapture`,
//! printed on 23 November 2026: 100,000 sequences, 257,457 edits applied, 80,439 of them on
//! lines that had moved, 92,237 refused as stale, none on another line.

use restitch::edit::WorkPath;
use restitch::engine::{CallOptions, Engine};
use restitch::internals::engine::{ReadRequest, ReadStyle};
use restitch::store::MemoryStore;
use restitch::tools::Toolbox;
use serde_json::{Value, json};

use crate::long::count;
use crate::random::Random;

const OFTEN: [&str; 5] = ["}", "", "    return;", "  }", "end"];

#[derive(Debug, Clone, PartialEq)]
struct Line {
    identity: u64,
    text: String,
}

struct World {
    random: Random,
    next: u64,
    lines: Vec<Line>,
    ending: &'static str,
    closed: bool,
}

impl World {
    fn line(&mut self, often: usize) -> Line {
        self.next += 1;
        let text = if self.random.chance(often) {
            OFTEN[self.random.below(OFTEN.len())].to_owned()
        } else {
            format!("    unique {}", self.next)
        };
        Line { identity: self.next, text }
    }

    fn bytes(&self) -> Vec<u8> {
        let texts: Vec<&str> = self.lines.iter().map(|line| line.text.as_str()).collect();
        let mut out = texts.join(self.ending);
        let blank_last = self.lines.last().is_some_and(|line| line.text.is_empty());
        if !self.lines.is_empty() && (self.closed || blank_last) {
            out.push_str(self.ending);
        }
        out.into_bytes()
    }

    /// Replaces a stretch, as another program would; what both versions of it share at its ends stays.
    fn change(&mut self, often: usize) {
        let start = self.random.below(self.lines.len() + 1);
        let end = (start + self.random.below(4)).min(self.lines.len());
        let count = self.random.below(4);
        let mut new: Vec<Line> = (0..count).map(|_| self.line(often)).collect();
        let mut old: Vec<Line> = self.lines[start..end].to_vec();
        let (mut from, mut to) = (start, end);
        while let (Some(a), Some(b)) = (old.first(), new.first()) {
            if a.text != b.text {
                break;
            }
            old.remove(0);
            new.remove(0);
            from += 1;
        }
        while let (Some(a), Some(b)) = (old.last(), new.last()) {
            if a.text != b.text {
                break;
            }
            old.pop();
            new.pop();
            to -= 1;
        }
        self.lines.splice(from..to, new);
        if self.lines.is_empty() {
            let line = self.line(0);
            self.lines.push(line);
        }
        self.settle();
    }

    /// A blank last line is a line only with a newline behind it, and that one stays.
    /// A file without any line break does not tell which kind it had.
    fn settle(&mut self) {
        self.closed |= self.lines.last().is_some_and(|line| line.text.is_empty());
        if self.lines.len() == 1 && !self.closed {
            self.ending = "\n";
        }
    }

    fn find(&self, identity: u64) -> Option<usize> {
        self.lines.iter().position(|line| line.identity == identity)
    }
}

/// What the caller saw: lines, their anchors and the snapshot.
#[derive(Clone)]
struct View {
    lines: Vec<Line>,
    anchors: Vec<String>,
    snapshot: String,
}

#[derive(Default, Debug)]
struct Tally {
    sequences: usize,
    applied: usize,
    on_moved_lines: usize,
    refused_stale: usize,
    refused_otherwise: usize,
    refused_though_found: usize,
    wrong: usize,
}

struct Run {
    world: World,
    store: std::sync::Arc<MemoryStore>,
    tools: Toolbox,
    path: WorkPath,
}

impl Run {
    fn new(seed: u64) -> Self {
        let mut world = World {
            random: Random::new(seed),
            next: 0,
            lines: Vec::new(),
            ending: "\n",
            closed: true,
        };
        world.ending = if world.random.chance(25) { "\r\n" } else { "\n" };
        world.closed = world.random.chance(75);
        for _ in 0..3 + world.random.below(25) {
            let line = world.line(35);
            world.lines.push(line);
        }
        world.settle();
        let store = std::sync::Arc::new(MemoryStore::default());
        let tools = Toolbox::new(Engine::builder(store.clone()).build());
        let path = WorkPath::parse("f", std::path::Path::new("/")).expect("path");
        let run = Self { world, store, tools, path };
        run.publish();
        run
    }

    fn publish(&self) {
        self.store.put(self.path.clone(), self.world.bytes());
    }

    async fn view(&self) -> View {
        let request = ReadRequest { style: ReadStyle::Hashline, ..ReadRequest::default() };
        let (reading, _) = self.tools.engine().read_file(&self.path, &request).await.expect("read");
        let anchors: Vec<String> = reading
            .text
            .split('\n')
            .map(|line| line.split('|').next().expect("id").to_owned())
            .collect();
        assert_eq!(anchors.len(), self.world.lines.len());
        View { lines: self.world.lines.clone(), anchors, snapshot: reading.snapshot.to_string() }
    }

    /// Random edits of a view, as a call and as what they mean.
    fn edits(&mut self, view: &View) -> (Vec<Value>, Vec<Meaning>) {
        let (mut calls, mut meanings) = (Vec::new(), Vec::new());
        let mut next = 0;
        for _ in 0..1 + self.world.random.below(3) {
            if next >= view.lines.len() {
                break;
            }
            let start = next + self.world.random.below(view.lines.len() - next);
            let end = (start + self.world.random.below(3)).min(view.lines.len() - 1);
            next = end + 1;
            let kind = self.world.random.below(4);
            let count = self.world.random.below(3) + usize::from(kind > 0);
            let new: Vec<Line> = (0..count).map(|_| self.world.line(0)).collect();
            let texts: Vec<&str> = new.iter().map(|line| line.text.as_str()).collect();
            let ids: Vec<u64> = view.lines[start..=end].iter().map(|line| line.identity).collect();
            let (pos, last) = (&view.anchors[start], &view.anchors[end]);
            match kind {
                0 | 1 => {
                    calls.push(json!({ "op": "replace", "pos": pos, "end": last, "lines": texts }));
                    meanings.push(Meaning { ids, keep: Keep::None, new });
                }
                2 => {
                    calls.push(json!({ "op": "append", "pos": pos, "lines": texts }));
                    meanings.push(Meaning { ids: ids[..1].to_vec(), keep: Keep::Before, new });
                }
                _ => {
                    calls.push(json!({ "op": "prepend", "pos": pos, "lines": texts }));
                    meanings.push(Meaning { ids: ids[..1].to_vec(), keep: Keep::After, new });
                }
            }
        }
        (calls, meanings)
    }

    /// The lines after the edits, if every line they name is still there and together.
    fn meant(&self, meanings: &[Meaning]) -> Option<Vec<Line>> {
        let mut lines = self.world.lines.clone();
        for meaning in meanings {
            let first = self.world.find(meaning.ids[0])?;
            for (k, id) in meaning.ids.iter().enumerate() {
                if self.world.lines.get(first + k)?.identity != *id {
                    return None;
                }
            }
            let at = lines.iter().position(|line| line.identity == meaning.ids[0])?;
            let (at, gone) = match meaning.keep {
                Keep::None => (at, meaning.ids.len()),
                Keep::Before => (at + 1, 0),
                Keep::After => (at, 0),
            };
            lines.splice(at..at + gone, meaning.new.clone());
        }
        Some(lines)
    }

    async fn step(&mut self, views: &mut Vec<View>, tally: &mut Tally) {
        if self.world.random.chance(60) {
            if self.world.random.chance(50) {
                self.world.change(50);
            } else {
                for _ in 0..1 + self.world.random.below(3) {
                    self.world.change(0);
                }
            }
            // A version is known by its content: a file that is again as it was shown is
            // the one that was shown.
            let same = |view: &&View| {
                view.lines.iter().map(|l| &l.text).eq(self.world.lines.iter().map(|l| &l.text))
            };
            if let Some(view) = views.iter().rev().find(same) {
                self.world.lines = view.lines.clone();
            }
            self.publish();
        }
        let view = if self.world.random.chance(60) {
            views.last().expect("view").clone()
        } else {
            views[self.world.random.below(views.len())].clone()
        };
        let (calls, meanings) = self.edits(&view);
        let mut arguments = json!({ "path": "f", "edits": calls });
        if self.world.random.chance(50) {
            arguments["snapshot"] = view.snapshot.clone().into();
        }
        let before = self.world.bytes();
        let reply =
            self.tools.call("hashline_edit", arguments.clone(), &CallOptions::default()).await;
        let snapshot = self.tools.engine().snapshot(&self.path).await.expect("there");
        let now = snapshot.bytes().to_vec();
        let meant = self.meant(&meanings);
        if reply.ok {
            tally.applied += 1;
            if reply.report["rung"] == "carried" {
                tally.on_moved_lines += 1;
            }
            let lines = std::mem::take(&mut self.world.lines);
            if let Some(meant) = meant {
                self.world.lines = meant;
            } else {
                self.world.lines = lines.clone();
                tally.wrong += 1;
            }
            if self.world.bytes() != now {
                tally.wrong += 1;
                println!(
                    "edited elsewhere: {arguments}\nbefore {:?}\nafter {:?}",
                    String::from_utf8_lossy(&before),
                    String::from_utf8_lossy(&now)
                );
            }
            self.world.settle();
            if self.world.lines.is_empty() {
                // An empty file has no lines to go on with.
                let line = self.world.line(0);
                self.world.lines.push(line);
                self.publish();
            }
        } else {
            assert_eq!(before, now, "a refusal writes nothing");
            match reply.code.map(restitch::edit::EditCode::as_str) {
                Some("EDIT_STALE_ANCHOR") => tally.refused_stale += 1,
                _ => tally.refused_otherwise += 1,
            }
            tally.refused_though_found += usize::from(meant.is_some());
        }
        // What was changed is read now and then; a change that is on no record stays alone.
        views.push(self.view().await);
    }
}

struct Meaning {
    ids: Vec<u64>,
    keep: Keep,
    new: Vec<Line>,
}

enum Keep {
    None,
    Before,
    After,
}

#[tokio::test]
async fn no_random_edit_lands_on_another_line() {
    let sequences = count(2_000, 100_000);
    let mut tally = Tally::default();
    for seed in 1..=sequences as u64 {
        let wrong = tally.wrong;
        let mut run = Run::new(0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(seed));
        let mut views = vec![run.view().await];
        for _ in 0..2 + run.world.random.below(4) {
            run.step(&mut views, &mut tally).await;
        }
        tally.sequences += 1;
        assert_eq!(tally.wrong, wrong, "sequence {seed}");
    }
    println!("hashline against the model: {tally:?}");
    assert_eq!(tally.wrong, 0);
    assert!(tally.applied > tally.sequences && tally.on_moved_lines > 0 && tally.refused_stale > 0);
}
