//! Correction by a language model: prompts, replies, and the layers around them.
//!
//! ```text
//! Cached ─ Limited ─ ModelCorrector ─ port::ChatModel (adapters::openai)
//! ```
//!
//! None of these layers decides about an edit: the module `resolve` checks every answer.

#[cfg(feature = "llm")]
mod cached;
#[cfg(feature = "llm")]
mod disk_cache;
mod limited;
mod mask;
mod model;
mod prompts;
mod reply;
mod size;

pub use crate::secrets::Secrets;
#[cfg(feature = "llm")]
pub use cached::{Cached, MAX_AGE};
#[cfg(feature = "llm")]
pub use disk_cache::DiskCache;
pub use limited::Limited;
pub use model::ModelCorrector;
pub use prompts::{PROMPTS, PromptBook, RenderedPrompt};
pub use reply::parse_reply;
