//! Checks whether a request is admitted by its headers: Host and Origin must be listed exactly,
//! and the token must be valid.

use axum::http::{HeaderMap, header};

use crate::text::ContentHash;

/// What is let in.
#[derive(Debug, Clone)]
pub(super) struct AccessPolicy {
    /// Hosts, with or without a port.
    pub(super) hosts: Vec<String>,
    /// Origins with their scheme; `:*` stands for any port.
    pub(super) origins: Vec<String>,
    /// The digests of the tokens. Digests are compared, so that the time says nothing.
    pub(super) tokens: Vec<ContentHash>,
}

/// Why a request is not let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Denied {
    Host,
    Origin,
    Token,
}

impl AccessPolicy {
    /// Which of the tokens comes in.
    pub(super) fn check(&self, headers: &HeaderMap) -> Result<usize, Denied> {
        let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or_default());
        let host = text(header::HOST).and_then(Authority::parse);
        if !host.is_some_and(|host| self.hosts.iter().any(|listed| host.is_listed(listed))) {
            return Err(Denied::Host);
        }
        if headers.get_all(header::HOST).iter().count() > 1 {
            return Err(Denied::Host);
        }
        let is_known = |origin: &str| {
            self.origins.iter().any(|listed| is_named(origin, listed) || is_origin(origin, listed))
        };
        if !text(header::ORIGIN).is_none_or(is_known) {
            return Err(Denied::Origin);
        }
        let given = text(header::AUTHORIZATION).and_then(|value| value.split_once(' '));
        let token = given.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        let token = token.map(|(_, token)| ContentHash::of(token.trim().as_bytes()));
        self.tokens.iter().position(|known| token == Some(*known)).ok_or(Denied::Token)
    }
}

/// A host and a port, as `Host` has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Authority<'a> {
    host: &'a str,
    port: Option<&'a str>,
}

impl<'a> Authority<'a> {
    /// `None` for everything that is not exactly a host and perhaps a port.
    fn parse(text: &'a str) -> Option<Self> {
        let (host, rest) = match text.strip_prefix('[') {
            Some(inside) => inside.split_once(']')?,
            None => text.split_at(text.find(':').unwrap_or(text.len())),
        };
        let port = match rest {
            "" => None,
            rest => Some(rest.strip_prefix(':')?),
        };
        let is_port = |port: &str| {
            port == "*" || port.parse::<u16>().is_ok() && port.bytes().all(|b| b.is_ascii_digit())
        };
        let is_host = !host.is_empty()
            && host.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._:%".contains(&b));
        (is_host && port.is_none_or(is_port)).then_some(Self { host, port })
    }

    /// Whether the list's entry is this: the same host, and the same port if it names one.
    fn is_listed(&self, listed: &str) -> bool {
        // A bare IPv6 address in the list has no brackets.
        let bare = listed.matches(':').count() > 1 && !listed.starts_with('[');
        let listed = match bare {
            true => Some(Authority { host: listed, port: None }),
            false => Authority::parse(listed),
        };
        listed.is_some_and(|listed| {
            listed.host.eq_ignore_ascii_case(self.host)
                && listed.port.is_none_or(|port| port == "*" || Some(port) == self.port)
        })
    }
}

/// An origin without an address, as `null`.
fn is_named(origin: &str, listed: &str) -> bool {
    !listed.contains('*') && listed.eq_ignore_ascii_case(origin)
}

fn is_origin(origin: &str, listed: &str) -> bool {
    let (Some((scheme, own)), Some((known, listed))) =
        (origin.split_once("://"), listed.split_once("://"))
    else {
        return false;
    };
    scheme.eq_ignore_ascii_case(known)
        && Authority::parse(own).is_some_and(|own| own.port != Some("*") && own.is_listed(listed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_origins_are_compared_letter_by_letter() {
        let policy = AccessPolicy {
            hosts: ["localhost", "127.0.0.1", "::1", "box.lan:8080"].map(str::to_owned).into(),
            origins: ["http://localhost:*", "http://[::1]:*", "https://app.example"]
                .map(str::to_owned)
                .into(),
            tokens: [b"another token of this test".as_slice(), b"the token of this test"]
                .map(ContentHash::of)
                .into(),
        };
        let check = |host: &str, origin: Option<&str>, authorization: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, host.parse().expect("header"));
            if let Some(origin) = origin {
                headers.insert(header::ORIGIN, origin.parse().expect("header"));
            }
            headers.insert(header::AUTHORIZATION, authorization.parse().expect("header"));
            policy.check(&headers)
        };
        let token = "Bearer the token of this test";
        for host in
            ["localhost", "LOCALHOST:1", "127.0.0.1:80", "[::1]", "[::1]:99", "box.lan:8080"]
        {
            assert_eq!(check(host, None, token), Ok(1), "{host}");
        }
        for host in [
            "127.0.0.1:80.evil.com",
            "[::1].evil.com",
            "[::1]:80.evil.com",
            "127.0.0.1.evil.com",
            "evil.com",
            "localhost.evil.com:80",
            "user@localhost",
            "localhost:",
            "localhost:+80",
            "box.lan",
            "box.lan:8081",
            "localhost:80:80",
            "",
        ] {
            assert_eq!(check(host, None, token), Err(Denied::Host), "{host}");
        }
        for origin in ["http://localhost:1234", "http://[::1]", "https://app.example"] {
            assert_eq!(check("localhost", Some(origin), token), Ok(1), "{origin}");
        }
        for origin in [
            "http://localhost:1.evil.com",
            "http://localhost.evil.com",
            "https://localhost",
            "null",
            "http://evil.com",
            "http://localhost:*",
        ] {
            assert_eq!(check("localhost", Some(origin), token), Err(Denied::Origin), "{origin}");
        }
        for token in ["bearer the token of this test", "BEARER the token of this test"] {
            assert_eq!(check("localhost", None, token), Ok(1));
        }
        for token in ["Bearer other", "Basic the token of this test", "the token of this test"] {
            assert_eq!(check("localhost", None, token), Err(Denied::Token));
        }
    }
}
