//! Correction by a language model: prompts, replies, and the layers around them.
//!
//! ```text
//! Cached ─ (Shared) ─ Limited ─ ModelCorrector ─ port::ChatModel (adapters::openai)
//! Record ─ anything · Replay ─ a file of recorded answers
//! ```
//!
//! Nothing here decides: every answer is checked by the resolution.

#[cfg(feature = "llm")]
mod cached;
mod cassette;
#[cfg(feature = "llm")]
mod disk_cache;
mod extent;
mod limited;
mod model;
mod prompts;
mod rate;
mod reply;
mod secrets;
#[cfg(feature = "redis")]
mod shared;

#[cfg(feature = "llm")]
pub use cached::{CacheLimits, Cached};
pub use cassette::{BadCassette, Record, Replay};
#[cfg(feature = "llm")]
pub use disk_cache::DiskCache;
pub use limited::{Limited, Limits};
pub use model::ModelCorrector;
pub use prompts::{BadPrompt, PROMPTS, PromptBook, PromptSpec, Rendered, shown_excerpts};
pub use rate::Rate;
pub use reply::{ReplyKind, parse_reply};
pub use secrets::Secrets;
#[cfg(feature = "redis")]
pub use shared::{Line, LineOptions, Seal, Shared, SharedLimits, ShortSecret};
