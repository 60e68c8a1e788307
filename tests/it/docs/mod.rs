//! The README and the book: links that lead somewhere, and reference pages that say what the
//! tables in the code say.
//!
//! A page has generated parts between `<!-- generated: NAME -->` and `<!-- /generated -->`.
//! `RESTITCH_BLESS=1 cargo test --test it docs::` writes them anew.

mod codes;
mod compose;
mod evidence;
mod examples;
#[cfg(unix)]
mod facts;
mod house;
mod limits;
mod links;
#[cfg(unix)]
mod sessions;
mod tables;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::disk::names_below;

/// A path of the repository.
fn repo(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn text_of(path: &str) -> String {
    fs::read_to_string(repo(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Every page of the book, as paths below the repository.
fn pages() -> Vec<String> {
    let below = |path: String| {
        let path = Path::new(&path).strip_prefix(repo("")).expect("below the repository");
        path.to_str().expect("UTF-8").replace('\\', "/")
    };
    let found = names_below(&repo("docs")).into_iter().filter(|path| path.ends_with(".md"));
    let mut pages: Vec<String> = found.map(below).collect();
    pages.sort();
    assert!(pages.len() > 20, "{pages:?}");
    pages
}

/// Compares a generated part of a page with what the code gives, or writes it.
fn check_part(page: &str, name: &str, wanted: &str) {
    let text = text_of(page);
    let (open, close) = (format!("<!-- generated: {name} -->\n"), "<!-- /generated -->");
    let from = text.find(&open).unwrap_or_else(|| panic!("{page} has no part `{name}`"));
    let from = from + open.len();
    let to = from + text[from..].find(close).unwrap_or_else(|| panic!("{page}: {name} is open"));
    let wanted = format!("\n{}\n\n", wanted.trim_end());
    if text[from..to] == wanted {
        return;
    }
    if std::env::var_os("RESTITCH_BLESS").is_some() {
        let new = format!("{}{wanted}{}", &text[..from], &text[to..]);
        fs::write(repo(page), new).expect("written");
        return;
    }
    let first = wanted.lines().zip(text[from..to].lines()).find(|(wanted, found)| wanted != found);
    panic!(
        "{page}: the part `{name}` is not what the code has; first difference (code, page): {first:#?}\n\
         Write it anew with RESTITCH_BLESS=1 cargo test --test it docs::"
    );
}

/// Text of a generated list, with what Markdown would take for markup outside of code.
fn cell(text: &str) -> String {
    let text = text.replace('\n', " ");
    let parts = text.split('`').enumerate();
    let parts = parts.map(|(at, part)| match at % 2 {
        0 => part.replace('<', "&lt;"),
        _ => part.to_owned(),
    });
    parts.collect::<Vec<_>>().join("`")
}

/// A folder that the program works in, gone with the test.
struct Project(tempfile::TempDir);

impl Project {
    fn new() -> Self {
        let temp = tempfile::tempdir().expect("temp");
        fs::create_dir(temp.path().join("project")).expect("root");
        Self(temp)
    }

    fn root(&self) -> PathBuf {
        self.0.path().canonicalize().expect("temp").join("project")
    }

    /// What the program answers to each call, with the folder under a fixed name.
    fn answers(&self, calls: &[(&str, Value)]) -> Vec<Value> {
        let mut child = Command::new(env!("CARGO_BIN_EXE_restitch"))
            .args(["batch", "--no-model", "--root"])
            .arg(self.root())
            .env("RESTITCH_STATE_DIR", self.0.path().join("state"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("batch");
        let mut stdin = child.stdin.take().expect("stdin");
        for (tool, arguments) in calls {
            writeln!(stdin, "{}", json!({ "tool": tool, "arguments": arguments })).expect("sent");
        }
        drop(stdin);
        let out = child.wait_with_output().expect("answers");
        let out = String::from_utf8(out.stdout).expect("UTF-8");
        let out = out.replace(self.root().to_str().expect("UTF-8"), "/home/me/project");
        let replies: Vec<Value> = crate::rows::rows(&out);
        assert_eq!(replies.len(), calls.len());
        replies
    }
}
