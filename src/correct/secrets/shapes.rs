//! Finds secrets by their format alone: the prefixes of vendors' keys, tokens, keys in PEM, URLs with
//! a password.

use super::values::{is_placeholder, is_random};

/// Prefixes of keys, how many key characters must follow, and the kind of key in words.
const PREFIXES: &[(&str, usize, &str)] = &[
    ("AKIA", 16, "an AWS key"),
    ("ASIA", 16, "an AWS key"),
    ("ghp_", 30, "a GitHub token"),
    ("gho_", 30, "a GitHub token"),
    ("ghu_", 30, "a GitHub token"),
    ("ghs_", 30, "a GitHub token"),
    ("ghr_", 30, "a GitHub token"),
    ("github_pat_", 22, "a GitHub token"),
    ("glpat-", 20, "a GitLab token"),
    ("gldt-", 20, "a GitLab token"),
    ("xoxb-", 10, "a Slack token"),
    ("xoxp-", 10, "a Slack token"),
    ("xoxa-", 10, "a Slack token"),
    ("xoxr-", 10, "a Slack token"),
    ("xoxs-", 10, "a Slack token"),
    ("xapp-", 10, "a Slack token"),
    ("sk_live_", 10, "a Stripe key"),
    ("rk_live_", 10, "a Stripe key"),
    ("sk_test_", 10, "a Stripe key"),
    ("whsec_", 20, "a webhook secret"),
    ("sk-ant-", 10, "an API key"),
    ("sk-proj-", 10, "an API key"),
    ("sk-or-", 10, "an API key"),
    ("sk-", 20, "an API key"),
    ("gsk_", 20, "an API key"),
    ("AIza", 30, "a Google key"),
    ("ya29.", 20, "a Google token"),
    ("GOCSPX-", 20, "a Google secret"),
    ("SG.", 20, "a SendGrid key"),
    ("npm_", 30, "an npm token"),
    ("pypi-", 30, "a PyPI token"),
    ("cio", 32, "a crates.io token"),
    ("hf_", 30, "a Hugging Face token"),
    ("dop_v1_", 30, "a DigitalOcean token"),
    ("shpat_", 20, "a Shopify token"),
    ("AGE-SECRET-KEY-1", 20, "an age key"),
    ("hvs.", 20, "a Vault token"),
    ("EAACEdEose0cBA", 10, "a Facebook token"),
    ("PMAK-", 20, "a Postman key"),
    ("dapi", 32, "a Databricks token"),
    ("lin_api_", 20, "a Linear key"),
    ("key-", 32, "an API key"),
    ("sq0atp-", 20, "a Square token"),
    ("sq0csp-", 20, "a Square secret"),
    ("figd_", 20, "a Figma token"),
    ("ABIA", 16, "an AWS key"),
    ("LTAI", 16, "an Alibaba key"),
    ("AKID", 32, "a Tencent key"),
    ("A3-", 26, "a 1Password key"),
    ("ops_eyJ", 60, "a 1Password token"),
    ("sk_org_", 20, "an API key"),
    ("glrt-", 20, "a GitLab token"),
    ("glptt-", 30, "a GitLab token"),
    ("GR1348941", 20, "a GitLab token"),
    ("glcbt-", 20, "a GitLab token"),
    ("glsa_", 30, "a Grafana token"),
    ("glc_eyJ", 30, "a Grafana token"),
    ("ATATT3", 50, "an Atlassian token"),
    ("ATCTT3", 50, "an Atlassian token"),
    ("dckr_pat_", 20, "a Docker token"),
    ("dckr_oat_", 20, "a Docker token"),
    ("dp.pt.", 30, "a Doppler token"),
    ("dp.st.", 30, "a Doppler token"),
    ("dt0c01.", 40, "a Dynatrace token"),
    ("EZAK", 40, "an EasyPost key"),
    ("EZTK", 40, "an EasyPost key"),
    ("FLWSECK", 12, "a Flutterwave key"),
    ("fio-u-", 40, "a Frame.io token"),
    ("hvb.", 40, "a Vault token"),
    ("pul-", 36, "a Pulumi token"),
    ("pscale_pw_", 20, "a PlanetScale password"),
    ("pscale_tkn_", 20, "a PlanetScale token"),
    ("phc_", 30, "a PostHog key"),
    ("phx_", 30, "a PostHog key"),
    ("rdme_", 40, "a ReadMe key"),
    ("rubygems_", 40, "a RubyGems key"),
    ("secret_", 40, "a Notion token"),
    ("ntn_", 40, "a Notion token"),
    ("shpss_", 20, "a Shopify secret"),
    ("shpca_", 20, "a Shopify token"),
    ("shppa_", 20, "a Shopify token"),
    ("shptka_", 20, "a Shopify token"),
    ("sntrys_", 40, "a Sentry token"),
    ("sntryu_", 40, "a Sentry token"),
    ("sq0csp", 20, "a Square secret"),
    ("EAAA", 50, "a Square token"),
    ("rk_test_", 10, "a Stripe key"),
    ("pk_live_", 10, "a Stripe key"),
    ("NRAK-", 20, "a New Relic key"),
    ("NRJS-", 15, "a New Relic key"),
    ("NRII-", 20, "a New Relic key"),
    ("nvapi-", 40, "an NVIDIA key"),
    ("pplx-", 40, "an API key"),
    ("r8_", 30, "a Replicate token"),
    ("xai-", 40, "an API key"),
    ("tgp_v1_", 30, "an API key"),
    ("sgp_", 40, "a Sourcegraph token"),
    ("slk_", 40, "a Sourcegraph token"),
    ("sbp_", 30, "a Supabase token"),
    ("sb_secret_", 20, "a Supabase key"),
    ("tskey-", 20, "a Tailscale key"),
    ("v1.0-", 60, "a Cloudflare key"),
    ("vercel_", 20, "a Vercel token"),
    ("xkeysib-", 40, "a Brevo key"),
    ("xsmtpsib-", 40, "a Brevo key"),
    ("xoxe-", 20, "a Slack token"),
    ("xoxe.xox", 20, "a Slack token"),
    ("xoxd-", 20, "a Slack token"),
    ("y0_AgAAAA", 30, "a Yandex token"),
    ("AQVN", 30, "a Yandex key"),
    ("api_org_", 20, "a Hugging Face token"),
    ("AKCp", 50, "an Artifactory key"),
    ("cmVmd", 50, "an Artifactory token"),
    ("CLOJARS_", 40, "a Clojars token"),
    ("CFPAT-", 30, "a Contentful token"),
    ("doo_v1_", 30, "a DigitalOcean token"),
    ("dor_v1_", 30, "a DigitalOcean token"),
    ("fo1_", 30, "a Fly token"),
    ("FlyV1", 20, "a Fly token"),
    ("hrku-", 30, "a Heroku key"),
    ("HRKU-", 30, "a Heroku key"),
    ("lin_oauth_", 20, "a Linear token"),
    ("pat-na1-", 30, "a HubSpot token"),
    ("pat-eu1-", 30, "a HubSpot token"),
    ("PRMA", 20, "a Prismic token"),
    ("sha256~", 40, "an OpenShift token"),
    ("ops_", 100, "a 1Password token"),
    ("p8e-", 32, "an Adobe secret"),
    ("patAirtable", 14, "an Airtable token"),
    ("waka_", 30, "a WakaTime key"),
    ("whsec-", 20, "a webhook secret"),
    ("apify_api_", 30, "an Apify token"),
    ("atlasv1.", 40, "a Terraform token"),
    ("bkua_", 30, "a Buildkite token"),
    ("ctx7sk-", 20, "an API key"),
    ("fc-", 32, "an API key"),
    ("jina_", 40, "an API key"),
    ("lsv2_pt_", 30, "a LangSmith key"),
    ("lsv2_sk_", 30, "a LangSmith key"),
    ("mk_live_", 10, "a key"),
    ("rnd_", 24, "a Render key"),
    ("railway_", 20, "a Railway token"),
    ("sk-lf-", 30, "a Langfuse key"),
    ("tvly-", 20, "an API key"),
    ("figdr_", 20, "a Figma token"),
    ("figo_", 20, "a Figma token"),
    ("SK", 32, "a Twilio key"),
    ("nfp_", 30, "a Netlify token"),
    ("nfc_", 30, "a Netlify token"),
    ("CCIPAT_", 30, "a CircleCI token"),
    ("CCIPRJ_", 30, "a CircleCI token"),
    ("ATBB", 28, "a Bitbucket password"),
    ("AQ.", 40, "a Google key"),
    ("EAAC", 60, "a Facebook token"),
    ("glsoat-", 20, "a GitLab token"),
    ("glimt-", 20, "a GitLab token"),
    ("glffct-", 20, "a GitLab token"),
    ("gloas-", 30, "a GitLab secret"),
    ("cfat_", 30, "a Cloudflare token"),
    ("FLWPUBK", 12, "a Flutterwave key"),
    ("sl.", 60, "a Dropbox token"),
    ("amzn.mws.", 30, "an Amazon key"),
    ("access_token$production$", 16, "a Braintree token"),
    ("dnkey-", 40, "an API key"),
    ("pat-", 60, "a token"),
    ("hooks.slack.com/services/", 20, "a Slack hook"),
    ("discord.com/api/webhooks/", 20, "a Discord hook"),
    ("discordapp.com/api/webhooks/", 20, "a Discord hook"),
];

/// The first kind of secret that a line contains, in words.
pub(super) fn find(line: &str) -> Option<&'static str> {
    if line.contains("-----BEGIN ") && line.contains("PRIVATE KEY") {
        return Some("a private key");
    }
    for &(prefix, min_length, what) in PREFIXES {
        for (at, _) in line.match_indices(prefix) {
            let before = line[..at].chars().next_back();
            if before.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-') {
                continue;
            }
            let value = leading(&line[at + prefix.len()..], is_key_char);
            if value.len() >= min_length && (is_random(value) || is_mixed(value)) {
                return Some(what);
            }
        }
    }
    if has_jwt(line) {
        return Some("a signed token");
    }
    if has_bot_token(line) {
        return Some("a bot token");
    }
    if has_url_password(line) {
        return Some("a URL with a password");
    }
    if has_authorization(line) {
        return Some("an Authorization header");
    }
    if has_azure_secret(line) {
        return Some("an Azure secret");
    }
    if is_key_body(line) {
        return Some("the body of a key");
    }
    if has_password_hash(line) {
        return Some("the hash of a password");
    }
    if has_random_word(line) {
        return Some("a random key");
    }
    None
}

/// Whether a character may be part of a key.
fn is_key_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '+' | '=')
}

/// The characters at the start of `text` up to the first that `belongs` rejects.
fn leading(text: &str, belongs: impl Fn(char) -> bool) -> &str {
    &text[..text.find(|c| !belongs(c)).unwrap_or(text.len())]
}

/// Whether a line contains a password hash in the format of crypt or its successors.
fn has_password_hash(line: &str) -> bool {
    const PREFIXES: &[&str] = &[
        "$1$",
        "$2a$",
        "$2b$",
        "$2y$",
        "$5$",
        "$6$",
        "$7$",
        "$y$",
        "$apr1$",
        "$argon2",
        "$scrypt$",
        "$pbkdf2",
        "{SSHA}",
        "{SSHA512}",
    ];
    let is_hash_char = |c: char| c.is_ascii_alphanumeric() || "$./+=,_-".contains(c);
    PREFIXES.iter().any(|prefix| {
        line.match_indices(prefix).any(|(at, _)| {
            let value = leading(&line[at + prefix.len()..], is_hash_char);
            value.len() >= 22 && is_random(value)
        })
    })
}

/// Prefixes of checksums, which look random but are not secret.
const CHECKSUMS: &[&str] = &["sha1-", "sha256-", "sha384-", "sha512-", "sha256:", "sha512:", "h1:"];

/// Whether a line contains a random word, whatever its name: lower case, upper case and digits
/// alternate in it more often than in words and identifiers.
fn has_random_word(line: &str) -> bool {
    let is_word_char =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=' | '_' | '-');
    let mut next_start = 0;
    line.split(|c| !is_word_char(c)).any(|word| {
        let start = next_start;
        let end = start + word.len();
        next_start = end + line[end..].chars().next().map_or(0, char::len_utf8);
        let is_checksum = CHECKSUMS
            .iter()
            .any(|prefix| word.starts_with(prefix) || line[..start].ends_with(prefix));
        // Longer words are data: an image, a source map, a test vector.
        (20..=400).contains(&word.len()) && !is_checksum && looks_random(word)
    })
}

/// Whether a word mixes lower case, upper case and digits like random characters.
fn looks_random(word: &str) -> bool {
    const LOWER: usize = 0;
    const UPPER: usize = 1;
    const DIGIT: usize = 2;
    const OTHER: usize = 3;
    let class = |byte: u8| match byte {
        b'a'..=b'z' => LOWER,
        b'A'..=b'Z' => UPPER,
        b'0'..=b'9' => DIGIT,
        _ => OTHER,
    };
    let mut counts = [0_usize; 4];
    let (mut changes, mut pairs) = (0, 0);
    let mut previous = OTHER;
    for class in word.bytes().map(class) {
        counts[class] += 1;
        if class != OTHER && previous != OTHER {
            pairs += 1;
            changes += usize::from(class != previous);
        }
        previous = class;
    }
    let alphanumeric = counts[LOWER] + counts[UPPER] + counts[DIGIT];
    // In random letters and digits, six of ten neighbours differ in class; require four.
    alphanumeric >= 20
        && counts[LOWER] >= 4
        && counts[UPPER] >= 4
        && counts[DIGIT] >= 2
        && counts[OTHER] * 6 <= alphanumeric
        && changes * 100 >= pairs * 40
}

/// Whether upper case follows lower case more often than in words and identifiers.
fn is_mixed(value: &str) -> bool {
    let changes = value
        .as_bytes()
        .windows(2)
        .filter(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
    value.len() >= 16 && changes.count() * 8 >= value.len()
}

/// Whether a line contains a JSON Web Token, which begins with `eyJ` and has two dots.
fn has_jwt(line: &str) -> bool {
    line.match_indices("eyJ").any(|(at, _)| {
        let value = leading(&line[at..], is_key_char);
        value.len() >= 30 && value.matches('.').count() >= 2
    })
}

/// Whether a line contains the token of a Telegram bot, such as `110201543:AAH…`.
fn has_bot_token(line: &str) -> bool {
    let is_token_char = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    line.match_indices(":AA").any(|(at, _)| {
        let digits = line[..at].bytes().rev().take_while(u8::is_ascii_digit).count();
        let length = leading(&line[at + 1..], is_token_char).len();
        (8..=10).contains(&digits) && (33..=40).contains(&length)
    })
}

/// Whether a line contains a URL or a data source name with a password.
fn has_url_password(line: &str) -> bool {
    let ends_authority = |c: char| c.is_whitespace() || matches!(c, '/' | '"' | '\'' | '`' | '>');
    line.match_indices("://").any(|(at, _)| {
        let authority = leading(&line[at + 3..], |c| !ends_authority(c));
        let Some((credentials, _)) = authority.rsplit_once('@') else { return false };
        let Some((_, password)) = credentials.split_once(':') else { return false };
        password.len() >= 3 && !is_placeholder(password) && password != "password"
    }) || has_dsn_password(line)
}

/// Whether a line contains a data source name such as `user:password@tcp(host)`.
fn has_dsn_password(line: &str) -> bool {
    let ends_credentials = |c: char| c.is_whitespace() || "\"'`=(,".contains(c);
    ["@tcp(", "@unix(", "@udp(", "@//"].iter().any(|mark| {
        line.match_indices(mark).any(|(at, _)| {
            let credentials = line[..at].rsplit(ends_credentials).next().unwrap_or_default();
            let password = credentials.split_once([':', '/']).map(|(_, password)| password);
            password.is_some_and(|password| password.len() >= 3 && !is_placeholder(password))
        })
    })
}

/// Whether a line contains a header with a secret: `Authorization: Scheme value`, or a header such as
/// `X-Api-Key: value`.
fn has_authorization(line: &str) -> bool {
    let lower = line.to_ascii_lowercase();
    let headers = [
        "authorization",
        "x-api-key",
        "x-auth-token",
        "x-access-token",
        "private-token",
        "api-key",
    ];
    headers.iter().any(|header| {
        lower.match_indices(header).any(|(at, _)| {
            let after = line[at + header.len()..].trim_start_matches(['"', '\'', '`', ']', ' ']);
            let Some(value) = after.strip_prefix([':', '=', ',']) else { return false };
            let words = value.split(|c: char| c.is_whitespace() || "\"'`,;)".contains(c));
            words
                .filter(|word| !word.is_empty())
                .take(2)
                .any(|word| word.len() >= 12 && is_random(word) && !is_placeholder(word))
        })
    })
}

/// Whether a line contains a client secret of Azure, which has `Q~` after its first four characters.
fn has_azure_secret(line: &str) -> bool {
    let is_secret_char = |c: char| c.is_ascii_alphanumeric() || "_.~-".contains(c);
    line.match_indices("Q~").any(|(at, mark)| {
        let before = line[..at].chars().rev().take_while(|c| is_secret_char(*c)).count();
        let after = line[at + mark.len()..].chars().take_while(|c| is_secret_char(*c)).count();
        before >= 4 && (31..=40).contains(&after)
    })
}

/// Whether a line is one line of a key in PEM: base64 of the usual length. A line of a certificate or
/// of a signed message looks the same; redacting it does no harm.
fn is_key_body(line: &str) -> bool {
    let body = line.trim().trim_matches(['"', '\'', ',', '+', ' ']);
    let body = body.strip_suffix("\\n").unwrap_or(body);
    let is_base64 = |b: u8| b.is_ascii_alphanumeric() || b == b'+' || b == b'/' || b == b'=';
    let (mut upper, mut lower, mut digits) = (0, 0, 0);
    for byte in body.bytes() {
        upper += usize::from(byte.is_ascii_uppercase());
        lower += usize::from(byte.is_ascii_lowercase());
        digits += usize::from(byte.is_ascii_digit());
    }
    matches!(body.len(), 64 | 70 | 76)
        && body.bytes().all(is_base64)
        && upper >= 8
        && lower >= 8
        && digits >= 3
}
