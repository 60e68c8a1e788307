//! Links and the summary, without a tool: mdBook's own check needs mdBook.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use super::{pages, repo, text_of};

/// Pages outside the book.
const OTHERS: &[&str] = &["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"];

/// A page without fenced code and inline code.
fn prose(text: &str) -> String {
    let mut out = String::new();
    let mut fenced = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            let parts = line.split('`').enumerate().filter(|(at, _)| at % 2 == 0);
            out.extend(parts.map(|(_, part)| part));
            out.push('\n');
        }
    }
    out
}

/// What the links of a page name.
fn targets(text: &str) -> Vec<String> {
    let prose = prose(text);
    let ends = prose.match_indices("](").map(|(at, _)| &prose[at + 2..]);
    ends.filter_map(|rest| rest.split_once(')')).map(|(target, _)| target.to_owned()).collect()
}

/// The name that GitHub and mdBook give to a heading.
fn slug(heading: &str) -> String {
    let kept = heading.trim().to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

fn headings(text: &str) -> BTreeSet<String> {
    let mut fenced = false;
    let mut found = BTreeSet::new();
    for line in text.lines() {
        fenced ^= line.trim_start().starts_with("```");
        if !fenced && line.starts_with('#') {
            found.insert(slug(line.trim_start_matches('#')));
        }
    }
    found
}

/// A path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            part => out.push(part),
        }
    }
    out
}

fn broken(page: &str, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (file, heading) = target.split_once('#').unwrap_or((target, ""));
    let folder = Path::new(page).parent().expect("folder");
    let path = match file {
        "" => PathBuf::from(page),
        file => plain(&folder.join(file)),
    };
    if !repo("").join(&path).exists() {
        return Some(format!("{page}: {target} leads to no file"));
    }
    let path = path.to_str().expect("UTF-8");
    let known = heading.is_empty() || headings(&text_of(path)).contains(heading);
    (!known).then(|| format!("{page}: {target} leads to no heading"))
}

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    let mut count = 0;
    let mut wrong = Vec::new();
    for page in pages().into_iter().chain(OTHERS.iter().map(|page| (*page).to_owned())) {
        for target in targets(&text_of(&page)) {
            count += 1;
            wrong.extend(broken(&page, &target));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(count > 50, "only {count} links were seen");
}

#[test]
fn every_page_is_in_the_summary() {
    let summary: BTreeSet<String> = targets(&text_of("docs/SUMMARY.md")).into_iter().collect();
    let missing: Vec<String> = pages()
        .into_iter()
        .filter_map(|page| page.strip_prefix("docs/").map(str::to_owned))
        .filter(|page| page != "SUMMARY.md" && !summary.contains(page))
        .collect();
    assert!(missing.is_empty(), "docs/SUMMARY.md does not list {missing:?}");
}

#[test]
fn readme_and_changelog_stay_short() {
    for (page, most) in [("README.md", 150), ("CHANGELOG.md", 40)] {
        let lines = text_of(page).lines().count();
        assert!(lines <= most, "{page} has {lines} lines; {most} are enough");
    }
}

/// Paths of the repository that the pages for contributors name.
fn paths(text: &str) -> Vec<&str> {
    let inline = text.split('`').enumerate().filter(|(at, _)| at % 2 == 1).map(|(_, part)| part);
    let is_path = |part: &&str| {
        let known = ["src/", "tests/", "scripts/", "prompts/", "fixtures/", ".ci/", "bindings/"];
        known.iter().any(|start| part.starts_with(start))
    };
    inline.flat_map(|part| part.split([' ', ';', ','])).filter(is_path).collect()
}

#[test]
fn every_path_that_contributors_are_told_is_there() {
    let mut count = 0;
    let mut wrong = Vec::new();
    for page in pages().iter().filter(|page| page.starts_with("docs/contributing/")) {
        // Fenced blocks are drawings.
        let text: String = text_of(page).split("```").step_by(2).collect();
        for path in paths(&text) {
            count += 1;
            if !repo(path).exists() {
                wrong.push(format!("{page}: there is no {path}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(count > 20, "only {count} paths were seen");
}
