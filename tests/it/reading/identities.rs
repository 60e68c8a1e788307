//! Whole sessions of `edit_lines` and `hashline_edit` against a model in which every line
//! has an identity: reads, edits, edits of others, calls that wait for their answers and
//! calls that do not. No line but the one that was meant is ever changed, and of the calls
//! that are clear at least 95 % are carried out.
//!
//! The long form, `RESTITCH_LONG=1 cargo test --test it -- reading::identities --nocapture`,
//! printed on 23 November 2026: 50,000 sessions, 501,049 calls, 106,163 of them carried to
//! other lines; 435,545 of 437,622 clear calls (99.5 %) carried out, none on another line.
//!
//! A call is clear when every numbering that its caller can mean leads to the same lines,
//! they are still there and together, and no other program changed the file in a way that could
//! be told in two ways.

use std::ops::Range;
use std::sync::Arc;

use restitch::edit::WorkPath;
use restitch::engine::{CallOptions, Engine};
use restitch::internals::tag;
use restitch::store::MemoryStore;
use restitch::tools::{ToolReply, Toolbox};
use serde_json::{Value, json};

use crate::long::count;
use crate::random::Random;

const OFTEN: [&str; 5] = ["}", "", "    return;", "  }", "end"];

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Line {
    identity: u64,
    pub(super) text: String,
}

/// What the caller was shown: the lines under their numbers.
#[derive(Clone)]
pub(super) struct View {
    pub(super) lines: Vec<Line>,
    pub(super) snapshot: String,
}

impl View {
    pub(super) fn anchor(&self, at: usize) -> String {
        let shown = tag::render(at + 1, &self.lines[at].text);
        shown.split('|').next().expect("anchor").to_owned()
    }

    pub(super) fn identities(&self, lines: Range<usize>) -> Vec<u64> {
        self.lines[lines].iter().map(|line| line.identity).collect()
    }
}

/// Lines that an edit puts in the place of others, or before or behind the first of them.
pub(super) struct Meaning {
    pub(super) ids: Vec<u64>,
    pub(super) keep: Keep,
    pub(super) new: Vec<Line>,
}

pub(super) enum Keep {
    None,
    Before,
    After,
}

/// A file, the choices of the test, and the tools that the calls go to.
pub(super) struct World {
    seed: u64,
    pub(super) random: Random,
    next: u64,
    pub(super) lines: Vec<Line>,
    ending: &'static str,
    closed: bool,
    store: Arc<MemoryStore>,
    tools: Toolbox,
    path: WorkPath,
}

impl World {
    /// The world of a number, with so many lines.
    pub(super) fn new(seed: u64, lines: Range<usize>) -> Self {
        let store = Arc::new(MemoryStore::default());
        let mut world = Self {
            seed,
            random: Random::new(0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(seed)),
            next: 0,
            lines: Vec::new(),
            ending: "\n",
            closed: true,
            tools: Toolbox::new(Engine::builder(store.clone()).build()),
            store,
            path: WorkPath::parse("f", std::path::Path::new("/")).expect("path"),
        };
        world.ending = if world.random.chance(25) { "\r\n" } else { "\n" };
        world.closed = world.random.chance(75);
        let count = lines.start + world.random.below(lines.len());
        world.lines = world.new_lines(count, 35);
        world.settle();
        world.publish();
        world
    }

    /// New lines, of which some stand in the file often.
    pub(super) fn new_lines(&mut self, count: usize, often: usize) -> Vec<Line> {
        let line = |_| {
            self.next += 1;
            let text = if self.random.chance(often) {
                (*self.random.pick(&OFTEN)).to_owned()
            } else {
                format!("    unique words {}", self.next)
            };
            Line { identity: self.next, text }
        };
        (0..count).map(line).collect()
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

    pub(super) fn publish(&self) {
        self.store.put(self.path.clone(), self.bytes());
    }

    /// Replaces up to three lines, as another program would; what both versions of them share at
    /// their ends stays.
    pub(super) fn change(&mut self, new: usize, often: usize) {
        let mut start = self.random.below(self.lines.len() + 1);
        let mut end = (start + self.random.below(4)).min(self.lines.len());
        let mut new = self.new_lines(new, often);
        while start < end && new.first().is_some_and(|new| new.text == self.lines[start].text) {
            new.remove(0);
            start += 1;
        }
        while start < end && new.last().is_some_and(|new| new.text == self.lines[end - 1].text) {
            new.pop();
            end -= 1;
        }
        self.lines.splice(start..end, new);
        self.settle();
    }

    /// An empty file has no lines to go on with. A blank last line is a line only with a newline
    /// behind it, and that one stays. A file without any line break does not tell which kind it had.
    fn settle(&mut self) {
        if self.lines.is_empty() {
            self.lines = self.new_lines(1, 0);
            self.publish();
        }
        self.closed |= self.lines.last().is_some_and(|line| line.text.is_empty());
        if self.lines.len() == 1 && !self.closed {
            self.ending = "\n";
        }
    }

    fn find(&self, identity: u64) -> Option<usize> {
        self.lines.iter().position(|line| line.identity == identity)
    }

    pub(super) async fn read(&self) -> View {
        let call = json!({ "path": "f", "style": "hashline" });
        let report = self.tools.call("read_file", call, &CallOptions::default()).await.report;
        let shown = (1..).zip(&self.lines).map(|(number, line)| tag::render(number, &line.text));
        assert_eq!(report["text"], shown.collect::<Vec<_>>().join("\n"));
        let snapshot = report["snapshot"].as_str().expect("id").to_owned();
        View { lines: self.lines.clone(), snapshot }
    }

    /// The lines after the edits, if every line they name is still there and together.
    pub(super) fn meant(&self, meanings: &[Meaning]) -> Option<Vec<Line>> {
        let mut lines = self.lines.clone();
        for Meaning { ids, keep, new } in meanings {
            let first = self.find(ids[0])?;
            let together = ids.iter().zip(first..).all(|(id, at)| self.find(*id) == Some(at));
            together.then_some(())?;
            let at = lines.iter().position(|line| line.identity == ids[0])?;
            let (at, gone) = match keep {
                Keep::None => (at, ids.len()),
                Keep::Before => (at + 1, 0),
                Keep::After => (at, 0),
            };
            lines.splice(at..at + gone, new.clone());
        }
        Some(lines)
    }

    /// Sends a call: the file is then as is meant, or as it was if the call is refused.
    pub(super) async fn send(
        &mut self,
        tool: &str,
        arguments: &Value,
        meant: Option<Vec<Line>>,
    ) -> ToolReply {
        let before = self.bytes();
        let reply = self.tools.call(tool, arguments.clone(), &CallOptions::default()).await;
        let now = self.tools.engine().snapshot(&self.path).await.expect("there").bytes().to_vec();
        if !reply.ok {
            assert_eq!(before, now, "a refusal writes nothing");
            return reply;
        }
        let is_meant = meant.is_some();
        self.lines = meant.unwrap_or_default();
        let [before, after] = [&before, &now].map(|bytes| String::from_utf8_lossy(bytes));
        assert!(
            is_meant && self.bytes() == now,
            "edited elsewhere, seed {}: {tool} {arguments}\nbefore {before:?}\nafter {after:?}",
            self.seed
        );
        self.settle();
        reply
    }
}

#[derive(Default, Debug)]
struct Tally {
    sessions: usize,
    calls: usize,
    clear: usize,
    clear_done: usize,
    unclear_done: usize,
    carried: usize,
}

struct Session {
    world: World,
    /// What the caller was shown last.
    view: View,
    /// The lines as they were read last.
    read: Vec<Line>,
    /// Whether another program changed the file since.
    foreign: bool,
}

impl Session {
    async fn new(seed: u64) -> Self {
        let world = World::new(seed, 8..38);
        let view = world.read().await;
        Self { world, read: view.lines.clone(), view, foreign: false }
    }

    async fn read(&mut self) {
        self.view = self.world.read().await;
        self.read = self.view.lines.clone();
        self.foreign = false;
    }

    /// A call in the numbers of the view, and what it means.
    fn call(&mut self) -> (&'static str, Value, Meaning) {
        let random = &mut self.world.random;
        let total = self.view.lines.len();
        let start = random.below(total);
        let end = (start + random.below(3)).min(total - 1);
        let inserts = random.chance(30);
        let count = 1 + random.below(3);
        let new = self.world.new_lines(count, 0);
        let texts: Vec<&str> = new.iter().map(|line| line.text.as_str()).collect();
        let (pos, last) = (self.view.anchor(start), self.view.anchor(end));
        let (tool, mut arguments) = if self.world.random.chance(60) {
            let last = if inserts { start } else { end + 1 };
            (
                "edit_lines",
                json!({ "path": "f", "start_line": start + 1, "end_line": last, "new_content": texts }),
            )
        } else {
            let edit = if inserts {
                json!({ "op": "prepend", "pos": pos, "lines": texts })
            } else {
                json!({ "op": "replace", "pos": pos, "end": last, "lines": texts })
            };
            ("hashline_edit", json!({ "path": "f", "edits": [edit] }))
        };
        if self.world.random.chance(30) {
            arguments["snapshot"] = self.view.snapshot.clone().into();
        }
        let (end, keep) = if inserts { (start, Keep::After) } else { (end, Keep::None) };
        (tool, arguments, Meaning { ids: self.view.identities(start..end + 1), keep, new })
    }

    /// The lines after a call whose lines the session itself has rewritten where they are: a bare number
    /// means them again.
    fn meant_in_place(&self, arguments: &Value, new: &[Line]) -> Option<Vec<Line>> {
        let (start, end) = (arguments["start_line"].as_u64()?, arguments["end_line"].as_u64()?);
        let (start, end) = (usize::try_from(start).ok()? - 1, usize::try_from(end).ok()?);
        let total = self.view.lines.len();
        let stays = |at: usize| self.world.find(self.view.lines[at].identity).map(|now| now == at);
        let is_in_place = (0..start).rev().find_map(stays).unwrap_or(true)
            && (end..total).find_map(stays).unwrap_or(total == self.world.lines.len())
            && (start..end).all(|at| stays(at).unwrap_or(true));
        if self.foreign || arguments.get("snapshot").is_some() || !is_in_place {
            return None;
        }
        let mut lines = self.world.lines.clone();
        lines.splice(start..end, new.to_vec());
        Some(lines)
    }

    /// Whether the call can be read in one way only.
    fn is_clear(&self, tool: &str, arguments: &Value, ids: &[u64]) -> bool {
        let exact = arguments.get("snapshot").is_some() || tool == "hashline_edit";
        let identities = |lines: &[Line]| lines.iter().map(|l| l.identity).collect::<Vec<_>>();
        if !self.foreign {
            // A bare number is clear while every line is where it was read.
            return exact || identities(&self.read) == identities(&self.world.lines);
        }
        // Of what others did only unique lines tell for sure.
        ids.iter().all(|id| {
            let at = self.view.lines.iter().position(|line| line.identity == *id);
            at.is_some_and(|at| self.view.lines[at].text.contains("unique"))
                && (exact || self.world.find(*id) == at)
        })
    }

    /// Sends a call, and judges what came of it.
    async fn send(&mut self, tally: &mut Tally) {
        let (tool, arguments, meaning) = self.call();
        let meant = self.world.meant(std::slice::from_ref(&meaning));
        let meant = meant.or_else(|| self.meant_in_place(&arguments, &meaning.new));
        let clear = meant.is_some() && self.is_clear(tool, &arguments, &meaning.ids);
        let reply = self.world.send(tool, &arguments, meant).await;
        tally.calls += 1;
        tally.clear += usize::from(clear);
        tally.carried += usize::from(reply.ok && reply.report["rung"] == "carried");
        tally.clear_done += usize::from(reply.ok && clear);
        tally.unclear_done += usize::from(reply.ok && !clear);
    }

    async fn step(&mut self, tally: &mut Tally) {
        if self.world.random.chance(20) {
            let count = 1 + self.world.random.below(3);
            self.world.change(count, 0);
            self.world.publish();
            self.foreign = true;
        }
        if self.world.random.chance(35) {
            self.read().await;
        }
        // Several calls before any of them is answered: all speak of the same view.
        let several = self.world.random.chance(50);
        let calls = if several { 2 + self.world.random.below(3) } else { 1 };
        for _ in 0..calls {
            self.send(tally).await;
        }
        // The answers tell how the lines moved; a caller that is lost reads again.
        if self.foreign || self.world.random.chance(30) {
            self.read().await;
        } else {
            let world = &self.world;
            let snapshot = world.tools.engine().snapshot(&world.path).await.expect("there");
            let snapshot = snapshot.hash().to_string();
            self.view = View { lines: world.lines.clone(), snapshot };
        }
    }
}

#[tokio::test]
async fn no_session_changes_a_line_that_was_not_meant() {
    let sessions = count(1_000, 50_000);
    let mut tally = Tally { sessions, ..Tally::default() };
    for seed in 1..=sessions as u64 {
        let mut session = Session::new(seed).await;
        for _ in 0..3 + session.world.random.below(5) {
            session.step(&mut tally).await;
        }
    }
    let share = 100.0 * tally.clear_done as f64 / tally.clear as f64;
    println!(
        "sessions against the model of identities: {tally:?}; {share:.1} % of the clear calls carried out"
    );
    assert!(tally.carried > tally.sessions / 10 && tally.clear > tally.calls / 2);
    assert!(share >= 95.0, "{share}");
}
