//! Finds secrets that are passed to a program: after an option, after a directive of a configuration
//! file, or as the second argument of a call.

use super::values::is_placeholder;

/// Directives of configuration files whose value is a secret.
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

/// Words of SQL and PowerShell that are followed by a secret in quotes.
const BEFORE_QUOTES: &[&str] = &["identified by ", "identified with ", "convertto-securestring "];

/// Programs, and the option after which they take a secret.
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

/// Calls that take a user name and a password.
const PAIRS: &[&str] = &["credential(", "credentials(", "basicauth(", "basic_auth(", "auth=("];

/// Whether a line passes a secret to a program.
pub(super) fn gives_secret(line: &str, in_settings: bool) -> bool {
    let lower = line.to_ascii_lowercase();
    in_settings && (has_directive(line) || has_option(line, &lower))
        || has_quoted(line, &lower)
        || has_pair(line, &lower)
}

/// Whether a value that a program takes as a secret is a real one, not a placeholder.
fn is_secret(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    value.len() >= 4
        && !is_placeholder(value)
        && !["password", "passwd", "secret", "prompt", "true", "false"].contains(&lower.as_str())
}

/// Whether a line is a directive and its value, such as `requirepass value`, and nothing else but
/// options.
fn has_directive(line: &str) -> bool {
    let mut words = line.split_whitespace().filter(|word| !word.starts_with("--"));
    let name = words.next().unwrap_or_default().to_ascii_lowercase();
    let value = words.next().unwrap_or_default().trim_matches(['"', '\'']);
    let is_alone = words.next().is_none_or(|word| word.starts_with('#'));
    DIRECTIVES.contains(&name.as_str()) && is_alone && is_secret(value) && !value.contains('=')
}

/// Whether a command line contains a secret: `curl -u name:value`, `mysql -pvalue`,
/// `sshpass -p value`, `smbclient -U name%value`, `echo value | sudo -S`, `net user name value`.
fn has_option(line: &str, lower: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    let value = |at: usize| words.get(at).map_or("", |word| word.trim_matches(['"', '\'']));
    let has_word =
        |name: &str| lower.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word == name);
    let has_program = |name: &str| words.iter().any(|word| word.rsplit('/').next() == Some(name));
    let value_after =
        |option: &str| words.iter().position(|word| *word == option).map(|at| value(at + 1));

    let in_curl = has_word("curl")
        && ["-u", "--user", "--proxy-user"]
            .iter()
            .filter_map(|option| value_after(option))
            .any(|user| user.split_once(':').is_some_and(|(_, password)| is_secret(password)));
    let in_mysql = ["mysql", "mysqldump", "mysqladmin", "mariadb"]
        .iter()
        .any(|name| has_word(name))
        && words.iter().any(|word| {
            word.strip_prefix("-p").is_some_and(|value| !value.starts_with('-') && is_secret(value))
        });
    // These three use `-p` for a password only with `login`.
    let needs_login = has_word("docker") || has_word("podman") || has_word("helm");
    let after_option = (!needs_login || has_word("login"))
        && OPTIONS.iter().any(|(program, option)| {
            has_program(program) && value_after(option).is_some_and(is_secret)
        });
    let smb_user = value_after("-U").and_then(|user| user.split_once('%'));
    let in_smbclient =
        has_word("smbclient") && smb_user.is_some_and(|(_, password)| is_secret(password));
    let in_sudo = lower.contains("| sudo -s") && has_word("echo") && is_secret(value(1));
    let in_net_user = lower.trim_start().starts_with("net user ")
        && is_secret(value(3))
        && !value(3).starts_with('/');
    in_curl || in_mysql || after_option || in_smbclient || in_sudo || in_net_user
}

/// Whether a line has a secret in quotes after certain words: `IDENTIFIED BY 'value'`.
fn has_quoted(line: &str, lower: &str) -> bool {
    BEFORE_QUOTES.iter().any(|words| {
        lower.match_indices(words).any(|(at, _)| {
            let after = line[at + words.len()..].trim_start();
            let quoted = after.strip_prefix(['"', '\'']);
            let value = quoted.and_then(|quoted| quoted.split(['"', '\'']).next());
            value.is_some_and(is_secret)
        })
    })
}

/// Whether a line has a call with a user name and a password: `BasicAuth("name", "value")`.
fn has_pair(line: &str, lower: &str) -> bool {
    PAIRS.iter().any(|call| {
        lower.match_indices(call).any(|(at, _)| {
            let arguments = &line[at + call.len()..];
            let Some(quote) = arguments.chars().next().filter(|c| matches!(c, '"' | '\'')) else {
                return false;
            };
            // Split at the quotes: nothing, the name, what is between the two, the password.
            let parts: Vec<&str> = arguments.split(quote).take(4).collect();
            let [_, _, between, password] = parts[..] else { return false };
            [",", ", Some("].contains(&between.trim())
                && is_secret(password)
                && !password.contains(' ')
        })
    })
}
