//! Correction by a model: the rules of seed 004 on the pure machine, and the real
//! binary against a scriptable OpenAI-compatible server on loopback.

mod adversarial;
mod broken;
mod escapes;
#[cfg(unix)]
mod figures;
mod findings;
mod prompt;
mod quirks;
mod real;
mod recorded;
mod rules;
mod safety;
pub(crate) mod server;
mod settings;
mod visible;
mod wire;

use restitch::edit::EditRequest;
use restitch::internals::resolve::{Model, Resolution, Step};
use restitch::internals::text::Snapshot;
use restitch::port::{Ask, Question, Reply};

/// A file, and a call that no mechanical reading explains: name and parameters have
/// changed since the model saw them.
pub(crate) const FILE: &str = "\
use crate::item::Item;

pub fn total_price(items: &[Item], tax: f64) -> f64 {
    items.iter().map(|item| item.price).sum::<f64>() * tax
}

pub fn count(items: &[Item]) -> usize {
    items.len()
}
";
pub(crate) const OLD: &str = "pub fn total(items: &[Item]) -> f64 {";
pub(crate) const NEW: &str = "pub fn total(items: &[Item], discount: f64) -> f64 {";
const CORRECTED_OLD: &str = "pub fn total_price(items: &[Item], tax: f64) -> f64 {";
const ADJUSTED_NEW: &str = "pub fn total_price(items: &[Item], tax: f64, discount: f64) -> f64 {";

pub(crate) fn after() -> String {
    FILE.replace(CORRECTED_OLD, ADJUSTED_NEW)
}

fn request() -> EditRequest {
    EditRequest::new(OLD, NEW)
}

fn start(request: &EditRequest, file: &str) -> Step {
    start_in("lib.rs", request, file)
}

fn start_in(path: &str, request: &EditRequest, file: &str) -> Step {
    Resolution::start(path, request, &Snapshot::from_text(file), Model::Present)
}

fn asked(step: Step) -> Box<Resolution> {
    match step {
        Step::Ask(resolution) => resolution,
        other => panic!("expected a question, got {other:?}"),
    }
}

/// Feeds a machine with one answer for each ask, and says what was asked.
fn play(mut step: Step, mut answer: impl FnMut(&Ask) -> Reply) -> (Step, Vec<&'static str>) {
    let mut kinds = Vec::new();
    while let Step::Ask(resolution) = step {
        kinds.push(resolution.ask().kind().as_str());
        let reply = answer(resolution.ask());
        step = resolution.reply(Ok(reply)).0;
    }
    (step, kinds)
}

/// The file after a resolved call; `None` when it was refused.
fn result(step: &Step, file: &str) -> Option<String> {
    match step {
        Step::Done(resolved) => {
            let snapshot = Snapshot::from_text(file);
            let plan = restitch::edit::EditPlan::new(&snapshot, resolved.explained.splices.clone());
            Some(plan.expect("disjoint").text_after())
        }
        _ => None,
    }
}

/// What a good model answers to the call above.
fn good(ask: &Ask) -> Reply {
    Reply::Text(match &ask.question {
        Question::CorrectOld { .. } => CORRECTED_OLD.into(),
        Question::AdjustNew { .. } => ADJUSTED_NEW.into(),
        other => panic!("unexpected ask {other:?}"),
    })
}
