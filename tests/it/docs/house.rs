//! What `src/lib.rs` says of the order of its modules, and what the work budget says of unwinding.

use std::fs;
use std::path::{Path, PathBuf};

use super::{names_below, repo, text_of};

/// A path of the source, and what is below it if it is a folder.
fn sources(path: PathBuf, found: &mut Vec<PathBuf>) {
    found.extend(names_below(&path).into_iter().map(PathBuf::from));
    found.push(path);
}

/// What of a file of the source is compiled into the product, without its comments; nothing of one that
/// is no source.
fn product(file: &Path) -> String {
    if file.extension().is_none_or(|ending| ending != "rs") {
        return String::new();
    }
    let text = fs::read_to_string(file).expect("source");
    let product = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let code = product.lines().filter(|line| !line.trim_start().starts_with("//"));
    code.map(|line| format!("{line}\n")).collect()
}

#[test]
fn each_module_uses_only_those_above_it() {
    let list = text_of("src/lib.rs");
    let name = |line: &str| {
        let rest = line.trim_start_matches("pub ").strip_prefix("mod ")?;
        Some(rest.strip_suffix(';')?.to_owned())
    };
    let modules: Vec<String> = list.lines().filter_map(name).collect();
    assert!(modules.len() > 20, "{modules:?}");
    let mut upwards = Vec::new();
    for (at, module) in modules.iter().enumerate() {
        let mut files = Vec::new();
        let folder = repo("src").join(module);
        sources(if folder.is_dir() { folder } else { folder.with_extension("rs") }, &mut files);
        for file in &files {
            for used in product(file).split("crate::").skip(1) {
                let used = used.split(|c: char| !c.is_alphanumeric() && c != '_').next();
                if modules[at + 1..].iter().any(|below| Some(below.as_str()) == used) {
                    upwards.push(format!("{} uses {}", file.display(), used.unwrap_or_default()));
                }
            }
        }
    }
    assert!(upwards.is_empty(), "{upwards:#?}");
}

/// With `panic = "abort"`, as WebAssembly has it, a limit that unwinds ends the process. A panic is caught
/// only by the judge of the fixtures, to go on with the next case, and where a parser checks an edit that
/// may be written already.
#[test]
fn nothing_unwinds() {
    let mut files = Vec::new();
    for folder in
        ["src", "object-store/src", "bindings/node/src", "bindings/python/src", "bindings/wasm/src"]
    {
        sources(repo(folder), &mut files);
    }
    let unwinds = |file: &&PathBuf| {
        let product = product(file);
        ["catch_unwind", "resume_unwind", "panic_any"].iter().any(|name| product.contains(name))
    };
    let found: Vec<_> = files.iter().filter(unwinds).collect();
    assert_eq!(found, [&repo("src/edit/verify.rs"), &repo("src/harness/judge.rs")]);
}
