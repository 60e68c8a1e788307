//! Protects names and values on a shared server: names are hashed, and values are encrypted and bound
//! to their names. Only a process with the secret can read or make them.

use ring::rand::{SecureRandom as _, SystemRandom};
use ring::{aead, hkdf, hmac};

/// The least length of a secret, so that it cannot be guessed from values on the server.
const MIN_SECRET_LENGTH: usize = 32;
const LABEL: &[u8] = b"restitch shared 1";

/// The error for a secret that is too short.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the secret is shorter than {MIN_SECRET_LENGTH} characters; `openssl rand -hex 32` makes one"
)]
pub struct ShortSecret;

/// Hashes names and encrypts values with keys from one secret.
pub struct Seal {
    names: hmac::Key,
    keys: hkdf::Prk,
    random: SystemRandom,
}

impl std::fmt::Debug for Seal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Seal").finish_non_exhaustive()
    }
}

impl Seal {
    /// Derives the keys from the secret that all machines share.
    pub fn new(secret: &str) -> Result<Self, ShortSecret> {
        let secret = secret.trim().as_bytes();
        if secret.len() < MIN_SECRET_LENGTH {
            return Err(ShortSecret);
        }
        let salt = hkdf::Salt::new(hkdf::HKDF_SHA256, LABEL);
        let keys = salt.extract(secret);
        let mut name_key = [0; 32];
        let filled =
            keys.expand(&[b"names"], hkdf::HKDF_SHA256).and_then(|okm| okm.fill(&mut name_key));
        // This never fails: 32 bytes is the length of the hash itself.
        filled.map_err(|_| ShortSecret)?;
        let names = hmac::Key::new(hmac::HMAC_SHA256, &name_key);
        Ok(Self { names, keys, random: SystemRandom::new() })
    }

    /// The name for a value of this kind with these parts. Nobody without the secret can learn the
    /// parts from the name, not even by guessing them.
    pub fn name(&self, kind: &str, parts: &[&[u8]]) -> String {
        let mut mac = hmac::Context::with_key(&self.names);
        for part in [kind.as_bytes()].iter().chain(parts) {
            mac.update(&u64::try_from(part.len()).unwrap_or(u64::MAX).to_le_bytes());
            mac.update(part);
        }
        let tag = mac.sign();
        let hex: String = tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        format!("restitch:{kind}:{hex}")
    }

    /// The key for the values of one name. Each name has its own key, because random nonces are safe
    /// only for a limited number of values per key.
    fn key(&self, name: &str) -> Option<aead::LessSafeKey> {
        let info = [b"values".as_slice(), name.as_bytes()];
        let key = self.keys.expand(&info, &aead::CHACHA20_POLY1305).ok()?;
        Some(aead::LessSafeKey::new(key.into()))
    }

    /// A random id; `None` if the system gives no random bytes.
    pub fn random_id(&self) -> Option<String> {
        let mut bytes = [0_u8; 16];
        self.random.fill(&mut bytes).ok()?;
        Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// Encrypts a value for that name; `None` if the system gives no random bytes.
    pub fn seal(&self, name: &str, plain: &[u8]) -> Option<Vec<u8>> {
        let mut nonce_bytes = [0; aead::NONCE_LEN];
        self.random.fill(&mut nonce_bytes).ok()?;
        let mut data = plain.to_vec();
        let nonce = aead::Nonce::assume_unique_for_key(nonce_bytes);
        let bound_name = aead::Aad::from(name.as_bytes());
        self.key(name)?.seal_in_place_append_tag(nonce, bound_name, &mut data).ok()?;
        Some([nonce_bytes.as_slice(), &data].concat())
    }

    /// Decrypts a value that was sealed for that name; `None` if it was not.
    pub fn open(&self, name: &str, sealed: &[u8]) -> Option<Vec<u8>> {
        let (nonce, encrypted) = sealed.split_at_checked(aead::NONCE_LEN)?;
        let nonce = aead::Nonce::try_assume_unique_for_key(nonce).ok()?;
        let mut data = encrypted.to_vec();
        let bound_name = aead::Aad::from(name.as_bytes());
        let plain_len = self.key(name)?.open_in_place(nonce, bound_name, &mut data).ok()?.len();
        data.truncate(plain_len);
        Some(data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seal(letter: &str) -> Seal {
        Seal::new(&letter.repeat(32)).expect("long enough")
    }

    #[test]
    fn a_value_opens_under_its_own_name_only_and_unchanged_only() {
        let seal_a = seal("a");
        let name = seal_a.name("answer", &[b"k"]);
        let sealed = seal_a.seal(&name, b"let secret = 1;").expect("sealed");
        assert_eq!(seal_a.open(&name, &sealed).as_deref(), Some(b"let secret = 1;".as_slice()));
        assert!(memchr::memmem::find(&sealed, b"secret").is_none());
        assert_eq!(seal_a.open(&seal_a.name("answer", &[b"l"]), &sealed), None, "moved");
        assert_eq!(seal("b").open(&name, &sealed), None, "another secret");
        for length in 0..sealed.len() {
            assert_eq!(seal_a.open(&name, &sealed[..length]), None, "cut to {length}");
        }
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert_eq!(seal_a.open(&name, &changed), None, "byte {at} changed");
        }
        assert_ne!(seal_a.seal(&name, b"x"), seal_a.seal(&name, b"x"), "a fresh nonce each time");
    }

    #[test]
    fn names_say_nothing_and_run_together_nowhere() {
        let seal_a = seal("a");
        let name = seal_a.name("answer", &[b"src/secret.rs"]);
        assert!(!name.contains("secret"), "{name}");
        assert_eq!(name, seal("a").name("answer", &[b"src/secret.rs"]));
        assert_ne!(name, seal("b").name("answer", &[b"src/secret.rs"]));
        assert_ne!(seal_a.name("k", &[b"ab", b"c"]), seal_a.name("k", &[b"a", b"bc"]));
        assert_eq!(Seal::new(&"x".repeat(31)).err(), Some(ShortSecret));
    }
}
