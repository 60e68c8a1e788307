//! restitch applies the edit that a language model meant, or refuses with a reason that makes the
//! next call succeed.
//!
//! ```
//! let file = "def area(r):\n    return 3 * r ** 2\n";
//! let call = restitch::EditRequest::new("return 3 * r**2", "return math.pi * r**2").for_path("a.py");
//! let applied = restitch::apply(file, &call)?; // or a refusal that says what to send instead
//! assert_eq!(applied.text, "def area(r):\n    return math.pi * r ** 2\n");
//! # Ok::<(), restitch::Refusal>(())
//! ```
//!
//! [`apply`] and [`apply_many`] work on text. An [`engine::Engine`] edits files below a root or in
//! a custom store, and can ask a model. [`tools::Toolbox`] offers all of this by tool name and
//! JSON, as models call it.
//!
//! Each module uses only those above it in the list.
#![cfg_attr(
    not(feature = "cli"),
    allow(dead_code, unused_imports, reason = "some features use only a part of a module")
)]

#[macro_use]
mod names;

#[allow(unreachable_pub, reason = "`internals` shows a part of it to tests and benchmarks")]
mod text;

#[allow(unreachable_pub, reason = "`internals` shows a part of it to tests and benchmarks")]
mod secrets;

#[allow(unreachable_pub, reason = "`internals` shows a part of it to tests and benchmarks")]
mod language;

#[doc(hidden)]
pub mod edit;

pub mod port;

#[cfg(feature = "syntax")]
mod syntax;

#[allow(unreachable_pub, reason = "`internals` shows a part of it to tests and benchmarks")]
mod matching;

mod line_edit;

mod patch;

mod hashline;

mod views;

pub mod store;

#[cfg(feature = "search")]
mod search;

#[allow(unreachable_pub, reason = "`internals` shows a part of it to tests and benchmarks")]
mod correct;

mod resolve;

mod session;

mod traces;

pub mod engine;

mod apply;

pub mod tools;

#[cfg(feature = "cli")]
mod hook;

pub mod adapters;

#[cfg(feature = "cli")]
mod agent;

#[cfg(feature = "cli")]
mod harness;

#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;

#[doc(hidden)]
pub mod internals;

pub use apply::{Applied, Applier, apply, apply_bytes, apply_many};
pub use edit::{Corrected, EditCode, EditRequest, Expected, Extent, Refusal, Rewrite, Rung, Span};

pub mod model {
    //! A [`Corrector`](crate::port::Corrector) made of a chat model: yours, or
    //! [`OpenAi`](crate::adapters::openai::OpenAi).

    pub use crate::correct::{Limited, ModelCorrector, PromptBook, Secrets};
}

/// The Rust examples of README and the book, run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
#[doc = include_str!("../docs/guide/library.md")]
#[cfg_attr(feature = "syntax", doc = include_str!("../docs/guide/syntax.md"))]
struct Examples;
