//! A case as a folder that a person can read and write.
//!
//! ```text
//! my-case/
//!   case.toml      tool, arguments, what is expected, where it comes from
//!   before/        the files before, byte for byte
//!   after/         the files afterwards; after-2/ … for other acceptable results
//!   old.txt        old_str, byte for byte: nothing is escaped, no final newline is added
//!   new.txt        new_str, byte for byte
//!   replies.jsonl  recorded answers of the model, replayed in order
//! ```
//!
//! A case runs through the whole tool, with the files in memory and the recorded answers.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::judge::{Aim, CaseVerdict, Judgment};
use super::replies::Replies;
use crate::edit::{EditCode, ModelUse, WorkPath};
use crate::engine::{CallOptions, Engine, SyntaxMode};
use crate::names::is_default;
use crate::store::MemoryStore;
use crate::syntax::TreeSitter;
use crate::tools::{ToolReply, Toolbox};

/// Files by path.
pub(crate) type Tree = BTreeMap<String, Vec<u8>>;

/// The contents of `case.toml`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// The group that the case is scored with.
    pub family: String,
    /// The mistake in the call, in a word or two; names the row of the score.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cause: String,
    /// Where the case comes from.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub origin: String,
    /// The file's language.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub language: String,
    /// The tool that is called.
    #[serde(default = "edit_file")]
    pub tool: String,
    /// The file, for tools that take `path`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Whether the case passes today.
    #[serde(default, skip_serializing_if = "is_default")]
    pub status: Status,
    /// Why the case does not pass.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Whether nothing confirms the expected result of a mined case, which then is restitch's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unconfirmed: Option<bool>,
    /// The expected result.
    pub expect: Expect,
    /// Further arguments of the call, passed on unchanged.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub arguments: Map<String, Value>,
}

/// The default of [`Spec::tool`].
fn edit_file() -> String {
    "edit_file".into()
}

/// Whether a case is expected to pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The case passes.
    #[default]
    Pass,
    /// The case does not pass yet. Once it passes, the run fails until this status is removed.
    KnownFailure,
}

/// The expected result of a case: `ok = true`, or `refuse = ["EDIT_…"]`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// The call must be applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ok: Option<bool>,
    /// The rung that must have applied it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rung: Option<String>,
    /// The call must be refused with one of these codes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refuse: Vec<String>,
    /// How often exactly the model must be asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_calls: Option<u32>,
}

/// A case in a folder.
#[derive(Debug, Clone, Default)]
pub struct Fixture {
    /// The folder.
    pub dir: PathBuf,
    /// The contents of `case.toml`.
    pub spec: Spec,
    /// The files of `before/`.
    pub before: Tree,
    /// The files of `after/`, `after-2/` and so on.
    pub after: Vec<Tree>,
    /// The contents of `old.txt`.
    pub old: Option<Vec<u8>>,
    /// The contents of `new.txt`.
    pub new: Option<Vec<u8>>,
    /// The contents of `replies.jsonl`.
    pub replies: Option<String>,
}

impl Fixture {
    /// Reads a folder that holds a `case.toml`.
    pub fn load(dir: &Path) -> Result<Self, String> {
        let mut files = read_tree(dir).map_err(|error| error.to_string())?;
        let text = |name: &str, bytes: Vec<u8>| {
            String::from_utf8(bytes).map_err(|error| format!("{name}: {error}"))
        };
        let spec = text("case.toml", files.remove("case.toml").unwrap_or_default())?;
        let spec: Spec = toml::from_str(&spec).map_err(|error| format!("case.toml: {error}"))?;
        let (old, new) = (files.remove("old.txt"), files.remove("new.txt"));
        let replies = files.remove("replies.jsonl");
        let replies = replies.map(|bytes| text("replies.jsonl", bytes)).transpose()?;
        let mut trees: BTreeMap<String, Tree> = BTreeMap::new();
        for (path, bytes) in files {
            if let Some((folder, below)) = path.split_once('/') {
                trees.entry(folder.to_owned()).or_default().insert(below.to_owned(), bytes);
            }
        }
        let before = trees.remove("before").unwrap_or_default();
        let after = trees.into_iter().filter(|(name, _)| name.starts_with("after"));
        let after = after.map(|(_, tree)| tree).collect();
        let fixture = Self { dir: dir.to_owned(), spec, before, after, old, new, replies };
        fixture.check()?;
        Ok(fixture)
    }

    /// Checks that `case.toml` says what is expected, in codes that exist, and why a case is known
    /// to fail.
    fn check(&self) -> Result<(), String> {
        let expect = &self.spec.expect;
        if expect.ok.is_none() && expect.refuse.is_empty() {
            return Err("case.toml: expect needs `ok = true` or `refuse = [\"EDIT_…\"]`".into());
        }
        if let Some(code) = expect.refuse.iter().find(|code| EditCode::parse(code).is_none()) {
            return Err(format!("case.toml: `{code}` is not an error code of restitch"));
        }
        if self.spec.status == Status::KnownFailure && self.spec.reason.is_empty() {
            return Err("case.toml: a known failure needs a `reason`".into());
        }
        Ok(())
    }

    /// Whether the case must be applied and has no `after/` yet.
    pub fn is_after_missing(&self) -> bool {
        self.aim() == Aim::Right && self.after.is_empty()
    }

    /// Returns whether the call must be applied or refused.
    pub fn aim(&self) -> Aim {
        if self.spec.expect.refuse.is_empty() { Aim::Right } else { Aim::Refusal }
    }

    /// Returns the arguments of the call as JSON.
    pub fn arguments(&self) -> Result<Value, String> {
        let mut arguments = self.spec.arguments.clone();
        if let Some(path) = &self.spec.path {
            arguments.insert("path".into(), path.clone().into());
        }
        for (name, bytes) in [("old_str", &self.old), ("new_str", &self.new)] {
            if let Some(bytes) = bytes {
                let text = String::from_utf8(bytes.clone()).map_err(|e| format!("{name}: {e}"))?;
                arguments.insert(name.into(), text.into());
            }
        }
        Ok(Value::Object(arguments))
    }

    /// Runs the case; returns the verdict and the files afterwards.
    pub fn judge(&self) -> (Judgment, Tree) {
        match self.run() {
            Ok(result) => result,
            Err(why) => (Judgment::broken(self.aim(), why), Tree::new()),
        }
    }

    /// Runs the case; returns the verdict and the files afterwards, or the reason why it could not
    /// be run.
    fn run(&self) -> Result<(Judgment, Tree), String> {
        let store = Arc::new(MemoryStore::default());
        let path =
            |raw: &str| WorkPath::parse(raw, Path::new("/")).map_err(|refusal| refusal.to_string());
        for (name, bytes) in &self.before {
            store.put(path(name)?, bytes.clone());
        }
        let read = |text: &String| Replies::from_jsonl(text).map(Arc::new);
        let replay = self.replies.as_ref().map(read).transpose();
        let replay = replay.map_err(|why| format!("replies.jsonl: {why}"))?;
        let engine =
            Engine::builder(Arc::clone(&store)).syntax(TreeSitter::new(), SyntaxMode::default());
        let engine = match &replay {
            Some(replay) => engine.corrector(Arc::clone(replay)).build(),
            None => engine.build(),
        };
        let toolbox = Toolbox::new(engine);
        let arguments = self.arguments()?;
        let start = Instant::now();
        let reply = call(&toolbox, &self.spec.tool, arguments)?;
        let took = start.elapsed();
        let files: Tree = store.files();
        let model = ModelUse {
            // A recorded answer costs no request, but counts as one.
            calls: replay.map_or(0, |replay| replay.answered()),
            prompt_bytes: reply.report["model"]["prompt_bytes"].as_u64().unwrap_or(0),
            ..ModelUse::default()
        };
        let decided_by = match (reply.code, reply.report["rung"].as_str()) {
            (Some(code), _) => code.as_str().to_owned(),
            (None, Some(rung)) => rung.to_owned(),
            (None, None) => self.spec.tool.clone(),
        };
        let verdict = self.verdict(reply.code, &decided_by, &model, &files);
        let syntax = &reply.report["syntax"];
        let judged = Judgment {
            verdict,
            aim: self.aim(),
            decided_by,
            got: None,
            took,
            model,
            adds_syntax_errors: (syntax["checked"] == true)
                .then(|| syntax["new_errors"] != json!([])),
            refusal: reply.code.map(|_| reply.message),
        };
        Ok((judged, files))
    }

    /// Compares the code, the rung, the files afterwards and the number of questions to the model with
    /// the expected ones.
    fn verdict(
        &self,
        code: Option<EditCode>,
        rung: &str,
        model: &ModelUse,
        files: &Tree,
    ) -> CaseVerdict {
        let expect = &self.spec.expect;
        let verdict = match code {
            Some(_) if *files != self.before => CaseVerdict::Wrong,
            Some(code) if self.aim() == Aim::Right => CaseVerdict::Missed(code),
            Some(code) if expect.refuse.iter().any(|wanted| wanted == code.as_str()) => {
                CaseVerdict::Refused(code)
            }
            Some(code) => CaseVerdict::OtherCode(code),
            None if self.aim() == Aim::Refusal => CaseVerdict::Wrong,
            None if !self.after.contains(files) => CaseVerdict::Wrong,
            None if expect.rung.as_ref().is_some_and(|expected| expected != rung) => {
                CaseVerdict::OtherRung(rung.to_owned())
            }
            None => CaseVerdict::Right,
        };
        match expect.model_calls {
            Some(expected) if verdict.is_good() && expected != model.calls => {
                let asked = model.calls;
                CaseVerdict::Broken(format!(
                    "the model was asked {asked} times instead of {expected}"
                ))
            }
            _ => verdict,
        }
    }

    /// Makes the engine's current result the expected one, and saves the case. The caller has
    /// shown the result to a person.
    pub fn bless(&mut self, judged: &Judgment, files: &Tree) -> io::Result<()> {
        self.spec.status = Status::Pass;
        self.spec.reason.clear();
        match &judged.verdict {
            CaseVerdict::Right | CaseVerdict::Refused(_) | CaseVerdict::Ambiguous => {}
            CaseVerdict::Missed(code) | CaseVerdict::OtherCode(code) => {
                self.spec.expect =
                    Expect { refuse: vec![code.as_str().into()], ..Expect::default() };
                self.after.clear();
            }
            CaseVerdict::OtherRung(rung) => self.spec.expect.rung = Some(rung.clone()),
            CaseVerdict::Wrong => {
                // A new case, which has no `after/`, keeps the expectations of its author.
                if !self.is_after_missing() {
                    self.spec.expect = Expect {
                        ok: Some(true),
                        rung: Some(judged.decided_by.clone()),
                        ..Expect::default()
                    };
                }
                self.after = vec![files.clone()];
            }
            CaseVerdict::Broken(_) => return Ok(()),
        }
        self.save()
    }

    /// Writes the case into its folder.
    pub fn save(&self) -> io::Result<()> {
        fs::create_dir_all(&self.dir)?;
        let spec = toml::to_string(&self.spec).map_err(io::Error::other)?;
        fs::write(self.dir.join("case.toml"), spec)?;
        for entry in fs::read_dir(&self.dir)? {
            let entry = entry?;
            if entry.path().is_dir() && entry.file_name().to_string_lossy().starts_with("after") {
                fs::remove_dir_all(entry.path())?;
            }
        }
        write_tree(&self.dir.join("before"), &self.before)?;
        for (number, tree) in (1..).zip(&self.after) {
            let name = if number == 1 { "after".into() } else { format!("after-{number}") };
            write_tree(&self.dir.join(name), tree)?;
        }
        for (name, bytes) in [("old.txt", &self.old), ("new.txt", &self.new)] {
            if let Some(bytes) = bytes {
                fs::write(self.dir.join(name), bytes)?;
            }
        }
        if let Some(replies) = &self.replies {
            fs::write(self.dir.join("replies.jsonl"), replies)?;
        }
        Ok(())
    }
}

/// Calls a tool on a thread of its own, because the caller may already be inside a runtime, and so
/// that a panic of the engine becomes a verdict and does not end the run.
fn call(toolbox: &Toolbox, tool: &str, arguments: Value) -> Result<ToolReply, String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("cannot start the runtime: {error}"))?;
    std::thread::scope(|scope| {
        let options = CallOptions::default();
        let run = move || runtime.block_on(toolbox.call(tool, arguments, &options));
        scope.spawn(run).join().map_err(|_| "the engine panicked".to_owned())
    })
}

/// Returns a folder name for a case's id: one that is valid on every file system, with a hash that
/// keeps similar ids apart.
pub(crate) fn slug(id: &str) -> String {
    let mut name = String::new();
    for c in id.chars() {
        match c {
            'a'..='z' | '0'..='9' | '.' => name.push(c),
            'A'..='Z' => name.push(c.to_ascii_lowercase()),
            _ if name.ends_with('-') => {}
            _ => name.push('-'),
        }
    }
    let short: String = name.trim_matches(['-', '.']).chars().take(80).collect();
    let hash = xxhash_rust::xxh3::xxh3_64(id.as_bytes()) & 0xff_ffff;
    format!("{short}-{hash:06x}")
}

/// Reads all files below a folder.
fn read_tree(root: &Path) -> io::Result<Tree> {
    let mut tree = Tree::new();
    let mut pending = vec![root.to_owned()];
    while let Some(dir) = pending.pop() {
        for entry in fs::read_dir(&dir)? {
            let path = entry?.path();
            if path.is_dir() {
                pending.push(path);
            } else if let Ok(below) = path.strip_prefix(root) {
                let name = below.to_string_lossy().replace('\\', "/");
                tree.insert(name, fs::read(&path)?);
            }
        }
    }
    Ok(tree)
}

/// Replaces a folder by one with these files.
fn write_tree(root: &Path, tree: &Tree) -> io::Result<()> {
    if root.exists() {
        fs::remove_dir_all(root)?;
    }
    for (name, bytes) in tree {
        let path = root.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, bytes)?;
    }
    Ok(())
}
