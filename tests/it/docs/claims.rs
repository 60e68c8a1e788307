//! Claims and their tests. A page ends with a comment, which readers of the book do not see:
//!
//! ```text
//! <!-- shown by
//! The history keeps at => disk::undo::the_history_stays_within_its_bounds
//! ## Systems => .ci/wine, windows::batch_edits_reads_and_undoes
//! -->
//! ```
//!
//! Before the arrow are the first words of a claim on that page, or a heading. After it are the
//! names of what shows the claim:
//!
//! | form | what it names |
//! | --- | --- |
//! | `area::file::name` | a test of `tests/it` |
//! | `unit module::tests::name` | a test of `src` |
//! | `fixtures NAME` | a folder or a case below `fixtures` |
//! | `python FILE::name`, `node FILE: name` | a test of the bindings; the name up to its first comma |
//! | `FILE WORDS` | a file of the repository in which the words are |

use std::fs;
use std::path::{Path, PathBuf};

use super::{pages, repo, text_of};

const OPEN: &str = "<!-- shown by\n";

/// Pages of which each section needs a claim with a test. A folder stands for all its pages.
const REQUIRED: &[&str] = &[
    "README.md",
    "SECURITY.md",
    "bindings",
    "docs/bindings.md",
    "docs/contributing",
    "docs/design",
    "docs/evidence",
    "docs/guide",
    "docs/limits.md",
    "docs/reference",
    "docs/threat-model.md",
];

/// Sections that only explain, or that say where to read on.
const WITHOUT_CLAIMS: &[(&str, &str)] =
    &[("README.md", "Documentation"), ("docs/reference/glossary.md", "Glossary")];

/// Files of a folder and of those below it.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    let paths = entries.map(|entry| entry.expect("entry").path());
    let lists =
        paths.map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect::<Vec<_>>();
    lists.concat()
}

/// The text of a page with its fenced code left empty, so that lines keep their numbers.
fn without_code(text: &str) -> String {
    let mut fenced = false;
    let lines = text.lines().map(|line| {
        let is_fence = line.trim_start().starts_with("```");
        let hidden = fenced || is_fence;
        fenced ^= is_fence;
        if hidden { "" } else { line }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A claim: its first words or its heading, and the names of what shows it.
#[derive(Debug, PartialEq)]
struct Claim {
    words: String,
    names: Vec<String>,
}

/// What a page shows, and the claims in the comment at its end.
fn split(page: &str) -> (&str, Vec<Claim>) {
    let Some((shown, comment)) = page.split_once(OPEN) else { return (page, Vec::new()) };
    let inside = comment.strip_suffix("-->\n").expect("the comment with the claims ends the page");
    let claims = inside.lines().map(|line| {
        let (words, names) = line.split_once(" => ").unwrap_or_else(|| panic!("no arrow: {line}"));
        let names = names.split(", ").map(str::to_owned).collect();
        Claim { words: words.to_owned(), names }
    });
    (shown, claims.collect())
}

/// Whether the source has a function of that name with an attribute that makes it a test.
fn has_test(source: &str, name: &str) -> bool {
    source.match_indices(&format!("fn {name}(")).any(|(at, _)| {
        let start = source[..at].rfind('\n').unwrap_or_default();
        let above = source[..start].lines().rev().map(str::trim);
        let mut attributes =
            above.take_while(|line| !line.is_empty() && !line.ends_with(['}', ';', '{']));
        attributes.any(|line| line.starts_with("#[test]") || line.contains("::test"))
    })
}

/// A test by its path below a folder: modules are folders, files, or `mod` inside a file.
fn is_rust_test(folder: &str, path: &str) -> bool {
    let parts: Vec<&str> = path.split("::").collect();
    let Some((name, modules)) = parts.split_last() else { return false };
    (0..=modules.len()).rev().any(|count| {
        let (outer, inner) = modules.split_at(count);
        let file = outer.join("/");
        let candidates = match outer {
            [] => vec!["lib.rs".to_owned(), "main.rs".to_owned()],
            _ => vec![format!("{file}.rs"), format!("{file}/mod.rs")],
        };
        candidates.iter().any(|file| {
            let source = fs::read_to_string(repo(folder).join(file)).unwrap_or_default();
            let has_modules = inner.iter().all(|name| source.contains(&format!("mod {name} {{")));
            has_modules && has_test(&source, name)
        })
    })
}

/// A folder or case of the fixtures: by its path, by the last part of it, or by a pack's line.
fn is_fixture(name: &str) -> bool {
    if repo("fixtures").join(name).exists() {
        return true;
    }
    let quoted = format!("\"{name}\"");
    files(&repo("fixtures")).iter().any(|path| {
        let is_folder = path.parent().is_some_and(|folder| folder.ends_with(name));
        let is_pack = path.to_string_lossy().ends_with(".pack.jsonl");
        is_folder || is_pack && fs::read_to_string(path).is_ok_and(|text| text.contains(&quoted))
    })
}

/// A test of the bindings, in one of the folders.
fn is_binding_test(folders: &[&str], file: &str, wanted: &[String]) -> bool {
    folders.iter().any(|folder| {
        let source = fs::read_to_string(repo(folder).join(file)).unwrap_or_default();
        wanted.iter().any(|wanted| source.contains(wanted))
    })
}

fn exists(name: &str) -> bool {
    if let Some(path) = name.strip_prefix("unit ") {
        return is_rust_test("src", path);
    }
    if let Some(case) = name.strip_prefix("fixtures ") {
        return is_fixture(case);
    }
    if let Some(test) = name.strip_prefix("python ") {
        let (file, test) = test.split_once("::").unwrap_or_default();
        return is_binding_test(&["bindings/python/tests"], file, &[format!("def {test}(")]);
    }
    if let Some(test) = name.strip_prefix("node ") {
        let (file, test) = test.split_once(": ").unwrap_or_default();
        let folders = ["bindings/node/test", "bindings/wasm/test"];
        let wanted = ["'", "\"", "`"].map(|quote| format!("test({quote}{test}"));
        return !test.is_empty() && is_binding_test(&folders, file, &wanted);
    }
    let (file, words) = name.split_once(' ').unwrap_or((name, ""));
    let is_path = file.contains(['/', '.']);
    match is_path {
        true => fs::read_to_string(repo(file)).is_ok_and(|text| text.contains(words)),
        false => !file.is_empty() && words.is_empty() && is_rust_test("tests/it", file),
    }
}

/// A part of a page: its heading, with the `#`, and the text below it on one line.
struct Section {
    heading: String,
    text: String,
}

fn sections(shown: &str) -> Vec<Section> {
    let mut sections = vec![Section { heading: String::new(), text: String::new() }];
    let shown = without_code(shown);
    for line in shown.lines().filter(|line| !line.starts_with("<!--")) {
        if line.starts_with('#') {
            sections.push(Section { heading: line.to_owned(), text: String::new() });
            continue;
        }
        let section = sections.last_mut().expect("one is always there");
        for word in line.split_whitespace() {
            section.text.push_str(word);
            section.text.push(' ');
        }
    }
    sections
}

/// How often a claim begins in a section.
fn occurrences(claim: &Claim, section: &Section) -> usize {
    match claim.words.starts_with('#') {
        true => usize::from(section.heading == claim.words),
        false => section.text.matches(&claim.words).count(),
    }
}

fn all_pages() -> Vec<String> {
    let bindings = ["node", "python", "wasm"].map(|name| format!("bindings/{name}/README.md"));
    let others = ["README.md", "SECURITY.md"].map(str::to_owned);
    pages().into_iter().chain(others).chain(bindings).collect()
}

fn is_required(page: &str) -> bool {
    REQUIRED.iter().any(|part| page == *part || Path::new(page).starts_with(part))
}

#[test]
fn every_name_behind_a_claim_is_a_test() {
    let mut count = 0;
    let mut wrong = Vec::new();
    for page in all_pages() {
        for claim in split(&text_of(&page)).1 {
            count += claim.names.len();
            let missing = claim.names.iter().filter(|name| !exists(name));
            wrong.extend(missing.map(|name| format!("{page}: there is no `{name}`")));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}\nThe head of {} has the forms of a name.", file!());
    assert!(count > 500, "only {count} names were seen");
}

#[test]
fn every_claim_is_on_its_page_once() {
    let mut wrong = Vec::new();
    for page in all_pages() {
        let text = text_of(&page);
        let (shown, claims) = split(&text);
        let sections = sections(shown);
        for claim in claims {
            let count: usize = sections.iter().map(|section| occurrences(&claim, section)).sum();
            if count != 1 {
                wrong.push(format!("{page} has {count} times `{}`", claim.words));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_section_has_a_claim_with_a_test_or_is_known_to_claim_nothing() {
    let mut wrong = Vec::new();
    let mut bare = Vec::new();
    for page in all_pages() {
        let text = text_of(&page);
        let (shown, claims) = split(&text);
        let is_bare = |section: &Section| {
            !section.text.is_empty() && claims.iter().all(|claim| occurrences(claim, section) == 0)
        };
        for section in sections(shown).into_iter().filter(is_bare) {
            let heading = section.heading.trim_matches(['#', ' ']).to_owned();
            let is_known = WITHOUT_CLAIMS.contains(&(page.as_str(), heading.as_str()));
            if is_required(&page) && !is_known {
                wrong.push(format!("{page}: `{heading}` names no test"));
            }
            bare.push((page.clone(), heading));
        }
    }
    let needless = WITHOUT_CLAIMS.iter().filter(|(page, heading)| {
        !bare.iter().any(|(known, bare)| (known.as_str(), bare.as_str()) == (*page, *heading))
    });
    wrong.extend(needless.map(|(page, heading)| {
        format!("{page}: there is no `{heading}` without tests: take it out of WITHOUT_CLAIMS")
    }));
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The paths of all tests of `tests/it`, and of its other functions.
fn functions() -> Vec<String> {
    let root = repo("tests/it");
    let mut found = Vec::new();
    for file in files(&root).iter().filter(|file| file.extension().is_some_and(|e| e == "rs")) {
        let module = file.strip_prefix(&root).expect("below").with_extension("");
        let module = module.to_string_lossy().replace(['/', '\\'], "::");
        let source = fs::read_to_string(file).expect("source");
        let names = source.split("fn ").skip(1).filter_map(|rest| rest.split('(').next());
        found.extend(names.map(|name| format!("{}::{name}", module.trim_end_matches("::mod"))));
    }
    found
}

#[test]
fn each_command_on_a_page_runs_some_test() {
    let functions = functions();
    let mut count = 0;
    let mut wrong = Vec::new();
    for page in all_pages() {
        let text = text_of(&page);
        for (at, option) in text.match_indices("--test it ") {
            let word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
            let rest = &text[at + option.len()..];
            let filter = &rest[..rest.find(|c| !word(c)).unwrap_or(rest.len())];
            count += 1;
            if !functions.iter().any(|function| function.contains(filter)) {
                wrong.push(format!("{page}: no test is named like `{filter}`"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(count > 5, "only {count} commands were seen");
}

#[test]
fn a_name_of_nothing_is_found() {
    let known = [
        "docs::claims::a_name_of_nothing_is_found",
        "notebook::outputs_go_only_if_asked",
        "unit cli::help::tests::every_command_is_in_one_group_and_has_an_example",
        "fixtures refuse",
        "fixtures one-tab-few",
        "python test_api.py::test_counts",
        "node pure.mjs: a refusal is a result",
        "node runtimes.test.mjs: a Cloudflare worker",
        ".ci/artefacts",
        ".ci/artefacts musl",
    ];
    let unknown = [
        "",
        "docs::claims::exists",
        "docs::claims::no_such_test",
        "docs::no_such_file::a_name_of_nothing_is_found",
        "unit no_such_module::tests::every_command_is_in_one_group_and_has_an_example",
        "fixtures no-such-case",
        "python test_api.py::test_nothing",
        "node pure.mjs: no such test",
        "node pure.mjs: ",
        ".ci/no-such-file",
        ".ci/artefacts no-such-step",
    ];
    for name in known {
        assert!(exists(name), "{name}");
    }
    for name in unknown {
        assert!(!exists(name), "{name}");
    }
    let page = "# A\n\nSays\nso.\n\n## C\n\n### D\n\nSays.\n\n```sh\n# no heading\n```\n";
    let (shown, claims) = split(page);
    assert_eq!((shown, claims), (page, Vec::new()));
    let parts = sections(page);
    let parts: Vec<_> = parts.iter().map(|part| (&*part.heading, &*part.text)).collect();
    assert_eq!(parts, [("", ""), ("# A", "Says so. "), ("## C", ""), ("### D", "Says. ")]);
    let page = "# A\n\nSays so.\n\n<!-- shown by\nSays => b::c, unit d\n# A => .ci/g h\n-->\n";
    let (shown, claims) = split(page);
    assert_eq!(shown, "# A\n\nSays so.\n\n");
    let claim = |words: &str, names: &[&str]| Claim {
        words: words.to_owned(),
        names: names.iter().map(|&name| name.to_owned()).collect(),
    };
    assert_eq!(claims, [claim("Says", &["b::c", "unit d"]), claim("# A", &[".ci/g h"])]);
}
