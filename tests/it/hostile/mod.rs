//! What a hostile or broken sandbox does to restitch: files, clients, peers and clocks. One
//! module for each kind of trouble; the real binary wherever a process is what is at stake.

mod p01_repeated_requests;
mod p02_envelope;
#[cfg(unix)]
mod p03_moved_root;
mod p04_encodings;
#[cfg(unix)]
mod p05_metadata;
#[cfg(unix)]
mod p06_responsive;
#[cfg(unix)]
mod p07_limits;
#[cfg(unix)]
mod p08_ignore_files;
mod p09_frames;
#[cfg(unix)]
mod p10_http;
mod p11_secrets;
mod p12_key;
mod p13_terminal;
#[cfg(unix)]
mod p14_state;
mod p15_init;
#[cfg(unix)]
mod p16_bounds;
mod p17_abort;
#[cfg(unix)]
mod storm;

use serde_json::Value;

pub(crate) use crate::client::Client;
pub(crate) use crate::sandbox::{Sandbox, finish};

/// The text of an MCP answer.
pub(crate) fn text_of(answer: &Value) -> String {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned()
}
