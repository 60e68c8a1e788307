//! Decides by its headers whether a request is admitted: `Host` and `Origin` must be listed
//! exactly, and the token must be valid.

use axum::http::{HeaderMap, header};

use crate::text::ContentHash;

/// The hosts, origins and tokens that are admitted.
#[derive(Debug, Clone)]
pub(super) struct AccessPolicy {
    /// Hosts, with or without a port.
    pub(super) hosts: Vec<String>,
    /// Origins with their scheme; `:*` stands for any port.
    pub(super) origins: Vec<String>,
    /// The digests of the tokens. Digests are compared in place of tokens, so that the time of the
    /// comparison tells nothing about a token.
    pub(super) tokens: Vec<ContentHash>,
}

/// The header that is the reason why a request is denied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Denied {
    Host,
    Origin,
    Token,
}

impl AccessPolicy {
    /// Returns the index of the request's token, or why the request is denied.
    pub(super) fn check(&self, headers: &HeaderMap) -> Result<usize, Denied> {
        let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or_default());
        let host = text(header::HOST).and_then(Authority::parse);
        if !host.is_some_and(|host| self.hosts.iter().any(|listed| host.matches_entry(listed))) {
            return Err(Denied::Host);
        }
        if headers.get_all(header::HOST).iter().count() > 1 {
            return Err(Denied::Host);
        }
        let is_listed = |origin: &str| {
            let mut listed = self.origins.iter();
            listed.any(|listed| is_same_text(origin, listed) || is_same_origin(origin, listed))
        };
        let is_origin_allowed = text(header::ORIGIN).is_none_or(is_listed);
        if !is_origin_allowed {
            return Err(Denied::Origin);
        }
        let credentials = text(header::AUTHORIZATION).and_then(|value| value.split_once(' '));
        let bearer = credentials.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        let digest = bearer.map(|(_, token)| ContentHash::of(token.trim().as_bytes()));
        self.tokens.iter().position(|known| digest == Some(*known)).ok_or(Denied::Token)
    }
}

/// A host and its port, as the `Host` header names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Authority<'a> {
    host: &'a str,
    port: Option<&'a str>,
}

impl<'a> Authority<'a> {
    /// Parses `host` or `host:port`, where `*` stands for any port; `None` if the text is anything
    /// else.
    fn parse(text: &'a str) -> Option<Self> {
        let (host, after_host) = match text.strip_prefix('[') {
            Some(ipv6) => ipv6.split_once(']')?,
            None => text.split_at(text.find(':').unwrap_or(text.len())),
        };
        let port = match after_host {
            "" => None,
            after_host => Some(after_host.strip_prefix(':')?),
        };
        let is_port = |port: &str| {
            port == "*" || port.parse::<u16>().is_ok() && port.bytes().all(|b| b.is_ascii_digit())
        };
        let is_host = !host.is_empty()
            && host.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._:%".contains(&b));
        (is_host && port.is_none_or(is_port)).then_some(Self { host, port })
    }

    /// Whether `listed`, an entry of a list, names this host, and this port if the entry has a port.
    fn matches_entry(&self, listed: &str) -> bool {
        let is_bare_ipv6 = listed.matches(':').count() > 1 && !listed.starts_with('[');
        let entry = match is_bare_ipv6 {
            true => Some(Authority { host: listed, port: None }),
            false => Authority::parse(listed),
        };
        entry.is_some_and(|entry| {
            entry.host.eq_ignore_ascii_case(self.host)
                && entry.port.is_none_or(|port| port == "*" || Some(port) == self.port)
        })
    }
}

/// Whether an origin equals a listed one as text; this admits `null`, which has no host.
fn is_same_text(origin: &str, listed: &str) -> bool {
    !listed.contains('*') && listed.eq_ignore_ascii_case(origin)
}

/// Whether an origin has the scheme, the host and the port of a listed one.
fn is_same_origin(origin: &str, listed: &str) -> bool {
    let (Some((scheme, authority)), Some((listed_scheme, listed_authority))) =
        (origin.split_once("://"), listed.split_once("://"))
    else {
        return false;
    };
    let Some(authority) = Authority::parse(authority) else { return false };
    scheme.eq_ignore_ascii_case(listed_scheme)
        && authority.port != Some("*")
        && authority.matches_entry(listed_authority)
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
