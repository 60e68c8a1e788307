//! The content hash that identifies a version of a file: SHA-256, because it
//! leaves the process (reports, cache keys, journals) and must not collide.

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest, Sha256};

/// SHA-256 of a file's bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContentHash([u8; 32]);

impl ContentHash {
    /// Hashes `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        let mut out = [0; 32];
        out.copy_from_slice(&Sha256::digest(bytes));
        Self(out)
    }

    /// The raw digest.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Reads the 64 hexadecimal digits that [`fmt::Display`] prints.
    pub fn parse(hex: &str) -> Option<Self> {
        let hex = hex.as_bytes();
        if hex.len() != 64 {
            return None;
        }
        let mut out = [0; 32];
        for (byte, pair) in out.iter_mut().zip(hex.chunks(2)) {
            let high = char::from(pair[0]).to_digit(16)?;
            let low = char::from(pair[1]).to_digit(16)?;
            *byte = u8::try_from(high * 16 + low).ok()?;
        }
        Some(Self(out))
    }

    /// Its first digits, for a message: enough to name a version of a file.
    pub(crate) fn short(&self) -> String {
        let mut id = self.to_string();
        id.truncate(12);
        id
    }

    /// Whether a caller that writes `id` means this: the whole, or its first 8 or more digits.
    pub(crate) fn is_named_by(&self, id: &str) -> bool {
        let id = id.trim().to_ascii_lowercase();
        id.len() >= 8 && self.to_string().starts_with(&id)
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let digits = |byte: u8| [byte >> 4, byte & 15].map(|digit| DIGITS[usize::from(digit)]);
        let hex = self.0.map(digits);
        f.write_str(std::str::from_utf8(hex.as_flattened()).unwrap_or_default())
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for ContentHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ContentHash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let hex = String::deserialize(deserializer)?;
        Self::parse(&hex).ok_or_else(|| serde::de::Error::custom("expected 64 hexadecimal digits"))
    }
}

impl JsonSchema for ContentHash {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ContentHash".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^[0-9a-f]{64}$" })
    }
}

#[cfg(test)]
mod tests {
    use super::ContentHash;

    #[test]
    fn prints_and_parses_the_known_digest() {
        let hash = ContentHash::of(b"abc");
        let hex = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hash.to_string(), hex);
        assert_eq!(ContentHash::parse(hex), Some(hash));
        assert_eq!(ContentHash::parse("ba78"), None);
    }
}
