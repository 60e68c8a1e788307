//! Protected paths: files that can run code or give access, such as version control, hooks, editor
//! and agent configuration, keys and dotenv files. Edits of them are refused unless the user allows
//! them.
//!
//! Names are compared as the most lenient file system would compare them: ignoring case, characters
//! that HFS+ ignores, trailing dots and spaces, and NTFS streams; NTFS short names count, and `\`
//! is a separator. A spelling that is harmless on this system is refused too, because the same tree
//! may be checked out on another. A name is protected whether or not the file exists.

use crate::edit::{EditCode, Refusal, WorkPath};
use crate::text::quote_name;

/// Folders in which everything is protected: their names, and why.
const FOLDERS: &[(&str, &str)] = &[
    (".git .hg .svn .jj .bzr", "version control runs what is written there"),
    (".husky .githooks", "hooks run on commit"),
    (".vscode .idea .vs .zed .fleet .devcontainer", "editor configuration can run commands"),
    (
        ".claude .cursor .gemini .codex .windsurf .continue .roo .kiro .opencode .qwen \
         .vibe .amazonq .amp .kimi-code .restitch",
        "agent configuration decides what agents may do",
    ),
    (".ssh .gnupg .aws .kube .docker", "it holds keys"),
];

/// Folders that are protected only inside another one: outer name, inner name, reason.
const FOLDERS_IN: &[(&str, &str, &str)] = &[
    (".github", "workflows", "workflows run with the project's secrets"),
    (".github", "hooks", "hooks run on commit"),
    (".github", "agents", "agent configuration decides what agents may do"),
    (".config", "fish", "shells run it at start"),
];

/// Protected files, by their whole name.
const FILES: &[(&str, &str)] = &[
    (".gitmodules .gitconfig", "version control runs what is written there"),
    (".git-credentials .netrc _netrc .pgpass .npmrc .pypirc", "it holds keys"),
    (".yarnrc .yarnrc.yml", "package managers run what it names"),
    (".envrc", "shells run it on entering the folder"),
    (
        ".mcp.json opencode.json opencode.jsonc crush.json .crush.json .cursorrules \
         .windsurfrules .clinerules .roomodes .aider.conf.yml",
        "agent configuration decides what agents may do",
    ),
    (
        ".bashrc .bash_profile .bash_login .profile .zshrc .zprofile .zshenv .zlogin .kshrc \
         .cshrc .tcshrc .inputrc",
        "shells run it at start",
    ),
    (".bash_logout .zlogout", "shells run it at exit"),
    (".pre-commit-config.yaml lefthook.yml .lefthook.yml", "hooks run on commit"),
    ("id_rsa id_dsa id_ecdsa id_ecdsa_sk id_ed25519 id_ed25519_sk", "it is a key"),
    ("authorized_keys", "it decides who may log in"),
];

/// Protected files, by the end of their name.
const ENDINGS: &[(&str, &str)] = &[
    (".code-workspace", "editor configuration can run commands"),
    (".pem .key .ppk .p12 .pfx .jks .keystore", "it may hold a key"),
    (".kdbx", "it may hold keys"),
];

/// Refuses `path` if `same_file_path`, a path that leads to the same file, is protected and not in
/// `allowed`, where a folder stands for everything in it. For `extra_folders`, see
/// `protected_reason`.
pub fn admit(
    path: &WorkPath,
    same_file_path: &str,
    extra_folders: &[String],
    allowed: &[String],
) -> Result<(), Refusal> {
    let is_covered_by = |allowed: &String| {
        is_in(same_file_path, allowed.trim_start_matches("./").trim_end_matches('/'))
    };
    let Some(why) = protected_reason(same_file_path, extra_folders) else { return Ok(()) };
    if allowed.iter().any(is_covered_by) {
        return Ok(());
    }
    let message = if same_file_path == path.as_str() {
        format!("`{path}` is protected: {why}")
    } else {
        format!("`{path}` (which resolves to `{same_file_path}`) is protected: {why}")
    };
    Err(Refusal::new(EditCode::Blocked, message).at(path.as_str()).hint(format!(
        "Do not work around this. Tell the user; they can allow it with --allow-protected {}",
        quote_name(same_file_path)
    )))
}

/// Whether a path is that of the folder or leads below it.
pub(crate) fn is_in(path: &str, folder: &str) -> bool {
    let below = path.strip_prefix(folder);
    below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
}

/// The reason why a path, relative to the root, is protected; `None` if it is not. `extra_folders`
/// are further protected folders of this root, such as the one from which git takes its hooks.
pub(super) fn protected_reason(path: &str, extra_folders: &[String]) -> Option<&'static str> {
    let parts = normalized_parts(path);
    if let Some(reason) = parts.iter().find_map(|part| find_reason(part, FOLDERS)) {
        return Some(reason);
    }
    for pair in parts.windows(2) {
        let is_pair = |(outer, inner, _): &&(&str, &str, &str)| {
            is_name_or_short_name(&pair[0], outer) && is_name_or_short_name(&pair[1], inner)
        };
        if let Some((_, _, reason)) = FOLDERS_IN.iter().find(is_pair) {
            return Some(reason);
        }
    }
    let joined = parts.join("/");
    if extra_folders.iter().any(|folder| is_in(&joined, folder)) {
        return Some("hooks run on commit");
    }
    // For most protected files only the last part of the path counts, because a folder may have
    // the same name.
    let name = parts.last()?;
    if is_dotenv(name) {
        return Some("dotenv files hold keys");
    }
    find_reason(name, FILES).or_else(|| {
        let has_ending =
            |(endings, _): &&(&str, &str)| endings.split(' ').any(|ending| name.ends_with(ending));
        ENDINGS.iter().find(has_ending).map(|(_, why)| *why)
    })
}

/// Whether this is the name of a dotenv file. A template such as `.env.example` holds no keys and
/// does not count.
fn is_dotenv(name: &str) -> bool {
    const TEMPLATE_ENDINGS: [&str; 4] = ["example", "sample", "template", "dist"];
    match name.strip_prefix(".env") {
        Some(suffix) if suffix.starts_with(['.', '-']) => {
            let last_part = suffix.rsplit(['.', '-']).next().unwrap_or_default();
            !TEMPLATE_ENDINGS.contains(&last_part)
        }
        Some(suffix) => suffix.is_empty(),
        // The NTFS short name of `.env`.
        None => name == "env~1",
    }
}

/// A folder in normal form, for the `extra_folders` of [`protected_reason`].
#[cfg(any(unix, test))]
pub(super) fn normalized_folder(path: &str) -> String {
    normalized_parts(path).join("/")
}

/// The parts of a path in normal form.
fn normalized_parts(path: &str) -> Vec<String> {
    let parts = path.split(['/', '\\']).map(normalized);
    parts.filter(|part| !part.is_empty() && part != ".").collect()
}

/// The reason that a table gives for a name.
fn find_reason(part: &str, table: &[(&str, &'static str)]) -> Option<&'static str> {
    let has_name =
        |(names, _): &&(&str, &str)| names.split(' ').any(|name| is_name_or_short_name(part, name));
    table.iter().find(has_name).map(|(_, why)| *why)
}

/// Whether a normalized part is `name` or its NTFS short name, such as `git~1`.
fn is_name_or_short_name(part: &str, name: &str) -> bool {
    if part == name {
        return true;
    }
    let Some((stem, tail)) = part.split_once('~') else { return false };
    let digits = tail.split('.').next().unwrap_or_default();
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return false;
    }
    // A short name begins with the first six letters of the name, dots left out.
    let letters: String = name.trim_start_matches('.').chars().filter(|c| *c != '.').collect();
    !stem.is_empty() && stem == letters.chars().take(6).collect::<String>()
}

/// A part of a path as the most lenient file system would read it.
fn normalized(part: &str) -> String {
    // In both directions, so that characters with a common upper case become equal.
    let visible = part.chars().filter(|c| !is_ignorable(*c));
    let folded: String =
        visible.flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect();
    // `name:stream` and `name::$DATA` are the file `name` to NTFS.
    let stem = match folded.split_once(':') {
        Some((stem, _)) if !stem.is_empty() => stem,
        _ => &folded,
    };
    if stem == ".." { stem.to_owned() } else { stem.trim_end_matches(['.', ' ']).to_owned() }
}

/// Whether HFS+ ignores the character when it compares names.
fn is_ignorable(c: char) -> bool {
    matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
}

/// The reason why a new file should not have this path: some system cannot store it, or reads it
/// as another name. `None` if every system can.
pub fn unportable_reason(path: &str) -> Option<&'static str> {
    const DEVICES: &[&str] = &["con", "prn", "aux", "nul", "conin$", "conout$"];
    let top = path.split('/').next().unwrap_or_default();
    let is_variable = top.strip_prefix('$').is_some_and(|name| {
        let name = name.trim_matches(['{', '}', '(', ')']);
        !name.is_empty() && name.chars().all(|c| c.is_ascii_uppercase() || c == '_')
    });
    if top == "~" || is_variable {
        return Some("begins with what only a shell expands");
    }
    path.split('/').find_map(|part| {
        let stem = part.split(['.', ':']).next().unwrap_or_default().trim_end().to_lowercase();
        let is_numbered_port = ["com", "lpt"].iter().any(|port| {
            stem.strip_prefix(port).is_some_and(|number| {
                let mut digits = number.chars();
                matches!(digits.next(), Some('0'..='9' | '¹' | '²' | '³'))
                    && digits.next().is_none()
            })
        });
        if part.chars().any(char::is_control) {
            Some("contains a control character")
        } else if part.chars().any(is_ignorable) {
            Some("contains an invisible character")
        } else if part.contains('\\') {
            Some("contains a backslash; separate folders with `/`")
        } else if part.ends_with(['.', ' ']) {
            Some("has a part that ends in a dot or a space, which Windows drops")
        } else if part.contains(['<', '>', ':', '"', '|', '?', '*']) {
            Some("contains one of the characters < > : \" | ? *, which Windows cannot store")
        } else if DEVICES.contains(&stem.as_str()) || is_numbered_port {
            Some("is the name of a device on Windows")
        } else {
            None
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_project_files_are_free() {
        let free = "\
            src/main.rs src/hooks/useThing.ts hooks/use.ts .gitignore .gitattributes \
            .github/ISSUE_TEMPLATE.md README.md environment.ts src/env.rs keys.rs monkey.ts \
            .editorconfig package.json docs/git~notes.md a~1.txt AGENTS.md src/.envoy/x \
            gitlab/x .prettierrc profile git";
        for path in free.split(' ') {
            assert_eq!(protected_reason(path, &[]), None, "{path}");
        }
    }

    #[test]
    fn templates_of_dotenv_files_are_free() {
        for name in [".env.example", "api/.env.sample", ".env.local.template", ".env-dist"] {
            assert_eq!(protected_reason(name, &[]), None, "{name}");
        }
        for name in [".env", ".env.local", ".ENV", ".env-prod", ".env.example.local", "env~1"] {
            assert!(protected_reason(name, &[]).is_some(), "{name}");
        }
    }

    #[test]
    fn further_folders_are_protected() {
        let folders = [normalized_folder("./tools/hooks/")];
        assert!(protected_reason("tools/Hooks/x", &folders).is_some());
        assert!(protected_reason("tools/hooks2/x", &folders).is_none());
    }

    #[test]
    fn names_that_some_system_cannot_store_have_a_reason() {
        let bad = "CON|nul.txt|a/COM1|com¹.log|x.|x |x::$DATA|a\\b|a\u{200c}|a\tb|x:y|\"q.txt\"|\
            https://example.com/x|~/x|$HOME/x|${HOME}/x";
        for bad in bad.split('|') {
            assert!(unportable_reason(bad).is_some(), "{bad:?}");
        }
        let good = "console.rs|a.b.c|nullable.ts|com10.txt|a b.txt|日本.md|icon|a~|src/[id]/$types.ts|$lib/x";
        for good in good.split('|') {
            assert_eq!(unportable_reason(good), None, "{good:?}");
        }
    }
}
