//! What `src/lib.rs` says of the order of its modules.

use std::fs;
use std::path::Path;

use super::{repo, text_of};

/// The files below a folder of the source, or the one file.
fn sources(path: &Path, found: &mut Vec<std::path::PathBuf>) {
    if path.is_file() {
        found.push(path.to_path_buf());
        return;
    }
    for entry in fs::read_dir(path).expect("folder") {
        sources(&entry.expect("entry").path(), found);
    }
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
        sources(&if folder.is_dir() { folder } else { folder.with_extension("rs") }, &mut files);
        for file in files.iter().filter(|file| file.extension().is_some_and(|rs| rs == "rs")) {
            let text = fs::read_to_string(file).expect("source");
            let product = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
            let code = product.lines().filter(|line| !line.trim_start().starts_with("//"));
            for used in code.flat_map(|line| line.split("crate::").skip(1)) {
                let used = used.split(|c: char| !c.is_alphanumeric() && c != '_').next();
                if modules[at + 1..].iter().any(|below| Some(below.as_str()) == used) {
                    upwards.push(format!("{} uses {}", file.display(), used.unwrap_or_default()));
                }
            }
        }
    }
    assert!(upwards.is_empty(), "{upwards:#?}");
}
