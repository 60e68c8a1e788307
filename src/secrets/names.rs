//! Names of files that usually hold secrets.

/// Whether a path names a file that usually holds secrets, or matches one of the `patterns`.
pub(super) fn is_secret_file(path: &str, patterns: &[String]) -> bool {
    let path = path.to_lowercase().replace('\\', "/");
    let path = without_copy_suffix(&path);
    let name = path.rsplit('/').next().unwrap_or(path);
    let matches_pattern = patterns.iter().any(|p| matches(p, name) || matches(p, path));
    let is_in = |folder: &str| {
        path.starts_with(&format!("{folder}/")) || path.contains(&format!("/{folder}/"))
    };
    matches_pattern
        || NAMES.split(' ').any(|pattern| matches(pattern, name))
        || FOLDERS.split(' ').any(is_in)
        || PATHS.split(' ').any(|end| path == end || path.ends_with(&format!("/{end}")))
}

/// The path without suffixes of copies, since a copy holds the same secrets: `.env~` gives `.env`.
fn without_copy_suffix(path: &str) -> &str {
    let mut path = path;
    loop {
        let shorter = COPY_SUFFIXES.split(' ').find_map(|suffix| path.strip_suffix(suffix));
        match shorter.filter(|shorter| !shorter.is_empty() && !shorter.ends_with('/')) {
            Some(shorter) => path = shorter,
            None => return path,
        }
    }
}

const COPY_SUFFIXES: &str =
    "~ .bak .backup .old .orig .save .swp .tmp .copy .1 .dist.local .prev .rej";

const NAMES: &str = ".env env env.local env.prod* env.dev* env.stag* .env.* *.env .envrc .netrc _netrc .npmrc \
     .pypirc .pgpass .htpasswd .git-credentials .dockercfg .vault-token .s3cfg .boto .my.cnf \
     id_rsa* id_dsa* id_ecdsa* id_ed25519* *.pem *.key *.p12 *.pfx *.jks *.keystore *.kdbx *.asc \
     *.gpg *.ppk *.ovpn *.tfstate *.tfstate.* *.tfvars credentials credentials.* secret.* \
     secrets.* *.secret *.secrets service-account*.json service_account*.json \
     client_secret*.json kubeconfig wallet.dat master.key shadow terraform.rc .terraformrc \
     *.keytab *.mobileprovision .pgpass.conf pgpass.conf *.p8 *.der *.age .htdigest auth.json \
     rclone.conf vault.yml vault.yaml passwords.* *.dockerconfigjson wp-config.php \
     database.yml.enc local.settings.json";

const FOLDERS: &str = ".ssh .gnupg .aws .azure .gcloud";

const PATHS: &str = ".docker/config.json .kube/config .config/gh/hosts.yml .cargo/credentials.toml";

/// Whether a name matches a pattern in which `*` stands for any characters.
fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let prefix = parts.next().unwrap_or_default();
    let Some(mut unmatched) = name.strip_prefix(prefix) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((suffix, middle)) = parts.split_last() else { return unmatched.is_empty() };
    for part in middle {
        match unmatched.split_once(part) {
            Some((_, after)) => unmatched = after,
            None => return false,
        }
    }
    unmatched.ends_with(suffix)
}
