//! Integration tests: the real binary and the public library, one link step.

mod agents;
mod model;
