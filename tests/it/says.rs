//! What a text must say.

/// Asserts that the text has each of these pieces.
#[track_caller]
pub(crate) fn says(text: &str, pieces: &[&str]) {
    for piece in pieces {
        assert!(text.contains(piece), "{piece:?} is not in: {text}");
    }
}
