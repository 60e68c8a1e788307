//! Secrets where a program expects them: behind an option, behind the word of a
//! configuration file, as the second argument of a call.

use super::values::is_placeholder;

/// Words of configuration files whose value is a secret.
const DIRECTIVES: &[&str] = &[
    "requirepass",
    "masterauth",
    "bindpw",
    "rootbindpw",
    "rootpw",
    "rocommunity",
    "rwcommunity",
    "password",
    "secret",
    "psk",
    "passwd",
];

/// Words after which SQL and PowerShell have a secret in quotes.
const BEFORE_QUOTES: &[&str] = &["identified by ", "identified with ", "convertto-securestring "];

/// Programs, and the option behind which they take a secret.
const OPTIONS: &[(&str, &str)] = &[
    ("sshpass", "-p"),
    ("docker", "-p"),
    ("podman", "-p"),
    ("helm", "-p"),
    ("redis-cli", "-a"),
    ("ldapsearch", "-w"),
    ("ldapadd", "-w"),
    ("ldapmodify", "-w"),
    ("openssl", "-k"),
    ("openssl", "-K"),
    ("zip", "-P"),
    ("unzip", "-P"),
    ("ipmitool", "-P"),
    ("mongosh", "-p"),
    ("mongo", "-p"),
    ("mongodump", "-p"),
];

/// What takes a name and a password.
const PAIRS: &[&str] = &["credential(", "credentials(", "basicauth(", "basic_auth(", "auth=("];

/// Whether a line hands a secret to a program.
pub(super) fn gives_secret(line: &str, in_settings: bool) -> bool {
    let lower = line.to_ascii_lowercase();
    // A letter that is longer in small would shift what follows.
    let at_home = lower.len() == line.len();
    at_home
        && (in_settings && (has_directive(line) || has_option(line, &lower))
            || has_quoted(line, &lower)
            || has_pair(line, &lower))
}

fn is_secret(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    value.len() >= 4
        && !is_placeholder(value)
        && !["password", "passwd", "secret", "prompt", "true", "false"].contains(&lower.as_str())
}

/// `requirepass value`, alone in its line but for options.
fn has_directive(line: &str) -> bool {
    let mut words = line.split_whitespace().filter(|word| !word.starts_with("--"));
    let name = words.next().unwrap_or_default().to_ascii_lowercase();
    let value = words.next().unwrap_or_default().trim_matches(['"', '\'']);
    let is_alone = words.next().is_none_or(|word| word.starts_with('#'));
    DIRECTIVES.contains(&name.as_str()) && is_alone && is_secret(value) && !value.contains('=')
}

/// `curl -u name:value`, `mysql -pvalue`, `sshpass -p value`, `net user name value`.
fn has_option(line: &str, lower: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    let value = |at: usize| words.get(at).map_or("", |word| word.trim_matches(['"', '\'']));
    let says = |name: &str| lower.split(|c: char| !c.is_ascii_alphanumeric()).any(|w| w == name);
    let after =
        |option: &str| words.iter().position(|word| *word == option).map(|at| value(at + 1));
    let user = ["-u", "--user", "--proxy-user"]
        .iter()
        .filter_map(|option| after(option))
        .any(|user| user.split_once(':').is_some_and(|(_, password)| is_secret(password)));
    let joined = ["mysql", "mysqldump", "mysqladmin", "mariadb"].iter().any(|name| says(name))
        && words.iter().any(|word| {
            word.strip_prefix("-p").is_some_and(|value| !value.starts_with('-') && is_secret(value))
        });
    let begins = |name: &str| words.iter().any(|word| word.rsplit('/').next() == Some(name));
    let login = !(says("docker") || says("podman") || says("helm")) || says("login");
    let behind = OPTIONS
        .iter()
        .any(|(program, option)| login && begins(program) && after(option).is_some_and(is_secret));
    let share = says("smbclient")
        && after("-U").and_then(|user| user.split_once('%')).is_some_and(|(_, pw)| is_secret(pw));
    let piped = lower.contains("| sudo -s") && says("echo") && is_secret(value(1));
    let account = lower.trim_start().starts_with("net user ")
        && is_secret(value(3))
        && !value(3).starts_with('/');
    says("curl") && user || joined || behind || share || piped || account
}

/// `IDENTIFIED BY 'value'`.
fn has_quoted(line: &str, lower: &str) -> bool {
    BEFORE_QUOTES.iter().any(|words| {
        lower.match_indices(words).any(|(at, _)| {
            let rest = line[at + words.len()..].trim_start();
            let mut parts = rest.split(['"', '\'']);
            parts.next() == Some("") && parts.next().is_some_and(is_secret)
        })
    })
}

/// `BasicAuth("name", "value")`.
fn has_pair(line: &str, lower: &str) -> bool {
    PAIRS.iter().any(|call| {
        lower.match_indices(call).any(|(at, _)| {
            let rest = &line[at + call.len()..];
            let Some(quote) = rest.chars().next().filter(|c| matches!(c, '"' | '\'')) else {
                return false;
            };
            let mut parts = rest.split(quote);
            let (_, _, between, value) = (parts.next(), parts.next(), parts.next(), parts.next());
            between.is_some_and(|between| [",", ", Some("].contains(&between.trim()))
                && value.is_some_and(|value| is_secret(value) && !value.contains(' '))
        })
    })
}
