//! The content of a file: shared bytes which, if they are UTF-8, are also text without a copy.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use super::{ContentHash, Snapshot};

/// The content of a file. Cloning is cheap, and UTF-8 is stored only once for bytes and text.
#[derive(Clone)]
pub struct Content(Repr);

#[derive(Clone)]
enum Repr {
    Text(Snapshot),
    Bytes(Arc<[u8]>),
}

impl Content {
    /// The content as text; `None` if it is not text.
    pub fn snapshot(&self) -> Option<Snapshot> {
        match &self.0 {
            Repr::Text(snapshot) => Some(snapshot.clone()),
            Repr::Bytes(bytes) => Snapshot::decode(bytes.to_vec()).ok(),
        }
    }

    /// The content as text, if it is kept as text.
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.0 {
            Repr::Text(snapshot) => Some(snapshot.text()),
            Repr::Bytes(_) => None,
        }
    }

    /// The text, without a copy if nothing else holds it; `None` if it is not kept as text.
    pub(crate) fn into_text(self) -> Option<String> {
        match self.0 {
            Repr::Text(snapshot) => Some(snapshot.into_text()),
            Repr::Bytes(_) => None,
        }
    }

    /// The bytes, without a copy if nothing else holds them.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        match self.0 {
            Repr::Text(snapshot) => snapshot.into_bytes(),
            Repr::Bytes(bytes) => bytes.to_vec(),
        }
    }

    /// SHA-256 of the bytes.
    pub fn hash(&self) -> ContentHash {
        match &self.0 {
            Repr::Text(snapshot) => snapshot.hash(),
            Repr::Bytes(bytes) => ContentHash::of(bytes),
        }
    }
}

impl Deref for Content {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Repr::Text(snapshot) => snapshot.bytes(),
            Repr::Bytes(bytes) => bytes,
        }
    }
}

impl From<Vec<u8>> for Content {
    fn from(bytes: Vec<u8>) -> Self {
        // Only bytes that are exactly the bytes of their text are kept as text.
        let may_be_text =
            !bytes.starts_with(b"\xEF\xBB\xBF") && memchr::memchr(0, &bytes).is_none();
        if !may_be_text {
            return Self(Repr::Bytes(bytes.into()));
        }
        match String::from_utf8(bytes) {
            Ok(text) => Self(Repr::Text(Snapshot::from_text(text))),
            Err(error) => Self(Repr::Bytes(error.into_bytes().into())),
        }
    }
}

impl From<&[u8]> for Content {
    fn from(bytes: &[u8]) -> Self {
        bytes.to_vec().into()
    }
}

impl From<Snapshot> for Content {
    fn from(snapshot: Snapshot) -> Self {
        Self(Repr::Text(snapshot))
    }
}

impl PartialEq for Content {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Content {}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes, {}", self.len(), self.hash())
    }
}
