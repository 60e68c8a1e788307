//! Files whose names say that they hold secrets.

/// Whether a path names such a file; `patterns` are further patterns.
pub(super) fn is_secret_file(path: &str, patterns: &[String]) -> bool {
    let path = path.to_lowercase().replace('\\', "/");
    let path = without_copy_mark(&path);
    let name = path.rsplit('/').next().unwrap_or(path);
    let matches_pattern = patterns.iter().any(|p| matches(p, name) || matches(p, path));
    let folder =
        |name: &str| path.starts_with(&format!("{name}/")) || path.contains(&format!("/{name}/"));
    matches_pattern
        || NAMES.iter().any(|pattern| matches(pattern, name))
        || FOLDERS.iter().any(|name| folder(name))
        || PATHS.iter().any(|end| path == *end || path.ends_with(&format!("/{end}")))
}

/// A copy holds what its original does: `.env~`, `prod.env.bak`.
fn without_copy_mark(path: &str) -> &str {
    let mut path = path;
    loop {
        let shorter = COPIES.iter().find_map(|mark| path.strip_suffix(mark));
        match shorter.filter(|shorter| !shorter.is_empty() && !shorter.ends_with('/')) {
            Some(shorter) => path = shorter,
            None => return path,
        }
    }
}

const COPIES: &[&str] = &[
    "~",
    ".bak",
    ".backup",
    ".old",
    ".orig",
    ".save",
    ".swp",
    ".tmp",
    ".copy",
    ".1",
    ".dist.local",
    ".prev",
    ".rej",
];

const NAMES: &[&str] = &[
    ".env",
    "env",
    "env.local",
    "env.prod*",
    "env.dev*",
    "env.stag*",
    ".env.*",
    "*.env",
    ".envrc",
    ".netrc",
    "_netrc",
    ".npmrc",
    ".pypirc",
    ".pgpass",
    ".htpasswd",
    ".git-credentials",
    ".dockercfg",
    ".vault-token",
    ".s3cfg",
    ".boto",
    ".my.cnf",
    "id_rsa*",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    "*.asc",
    "*.gpg",
    "*.ppk",
    "*.ovpn",
    "*.tfstate",
    "*.tfstate.*",
    "*.tfvars",
    "credentials",
    "credentials.*",
    "secret.*",
    "secrets.*",
    "*.secret",
    "*.secrets",
    "service-account*.json",
    "service_account*.json",
    "client_secret*.json",
    "kubeconfig",
    "wallet.dat",
    "master.key",
    "shadow",
    "terraform.rc",
    ".terraformrc",
    "*.keytab",
    "*.mobileprovision",
    ".pgpass.conf",
    "pgpass.conf",
    "*.p8",
    "*.der",
    "*.age",
    ".htdigest",
    "auth.json",
    "rclone.conf",
    "vault.yml",
    "vault.yaml",
    "passwords.*",
    "*.dockerconfigjson",
    "wp-config.php",
    "database.yml.enc",
    "local.settings.json",
];

const FOLDERS: &[&str] = &[".ssh", ".gnupg", ".aws", ".azure", ".gcloud"];

const PATHS: &[&str] =
    &[".docker/config.json", ".kube/config", ".config/gh/hosts.yml", ".cargo/credentials.toml"];

/// Matches a name against a pattern in which `*` stands for anything.
fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = name.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.ends_with(last)
}
