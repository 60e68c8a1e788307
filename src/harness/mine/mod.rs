//! Mining: finds the failed edits in transcripts of agents and replays them.
//!
//! Each client has a reader that turns its files into a [`Transcript`]: what the agent read,
//! edited and wrote, in order. No client promises its format, so readers skip and count the
//! records that they do not understand. [`files`] tracks the contents of each file, to piece
//! together the file before a failed edit. A transcript that cannot be read is reported and left
//! out. Nothing leaves the machine, and [`redact`] removes secrets from what is saved.

pub mod aider;
pub mod class;
pub mod claude;
mod client;
pub mod cline;
pub mod codex;
#[cfg(feature = "mine")]
pub mod crush;
#[cfg(feature = "mine")]
pub mod database;
pub mod failures;
mod fields;
pub mod files;
pub mod gemini;
pub mod git;
pub mod opencode;
pub mod pi;
pub mod redact;
mod sources;
pub(crate) mod summary;
mod transcript;

pub use client::Client;
pub use sources::{Findings, Source, sources};
pub use transcript::{EditAttempt, FileAction, Replacement, Transcript, TranscriptStep};

use fields::{replacements, string_field, strip_line_numbers, text_of};
