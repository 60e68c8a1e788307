//! The same cases through other tools' own edit functions, for a table that says where
//! this engine ranks, and where it is beaten.
//!
//! A tool is installed into a scratch folder when it is asked for, by its registry's
//! own client; it is never a dependency. Each runs in a driver process that reads cases
//! and writes results, a line each. Cases that not every tool can express (a count, a
//! line hint, an empty string) are left out for all.
//!
//! Limits: a tool whose edit call names lines and not text cannot take these cases at
//! all. oh-my-opencode is one: its `edit` (4.19.4) wants `pos: "11#XJ"` from its own view.

use std::collections::HashMap;
use std::fs;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::case::{Case, Truth};
use super::judge::{CaseVerdict, adds_syntax_errors, judge};
use super::measure::parallel;
use crate::edit::{EditCode, Expected};
use crate::text::ContentHash;

/// Where a tool comes from: a package and its version, which is fixed so that a table can be made
/// again. A newer one is compared by changing the number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PackageSource {
    Npm(&'static str, &'static str),
    Pip(&'static str, &'static str),
    /// A crate with a program of the same name, and features to build it with.
    Cargo(&'static str, &'static str, &'static [&'static str]),
    /// Part of this program.
    BuiltIn,
}

/// A tool that can be compared.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rival {
    /// Its name in tables.
    pub id: &'static str,
    source: PackageSource,
    driver: Driver,
}

#[derive(Debug, Clone, Copy)]
enum Driver {
    Node,
    Python,
    Exact,
    Restitch,
}

/// Every tool, this one first.
pub(crate) const RIVALS: &[Rival] = &[
    Rival { id: "restitch", source: PackageSource::BuiltIn, driver: Driver::Restitch },
    Rival { id: "exact", source: PackageSource::BuiltIn, driver: Driver::Exact },
    Rival {
        id: "gemini-cli",
        source: PackageSource::Npm("@google/gemini-cli-core", "0.61.0"),
        driver: Driver::Node,
    },
    Rival {
        id: "aider",
        source: PackageSource::Pip("aider-chat", "0.86.2"),
        driver: Driver::Python,
    },
    Rival {
        id: "codex",
        source: PackageSource::Npm("@openai/codex", "0.169.0"),
        driver: Driver::Python,
    },
    Rival {
        id: "pi",
        source: PackageSource::Npm("@mariozechner/pi-coding-agent", "0.73.1"),
        driver: Driver::Node,
    },
    Rival {
        id: "mcp-filesystem",
        source: PackageSource::Npm("@modelcontextprotocol/server-filesystem", "2026.8.31"),
        driver: Driver::Node,
    },
    // Its engine is this native module. For later versions the registry lacks the builds for
    // single machines.
    Rival {
        id: "oh-my-pi",
        source: PackageSource::Npm("@oh-my-pi/pi-natives", "18.2.3"),
        driver: Driver::Node,
    },
    // Its other features are parsers, which its build fetches from elsewhere; `edit` has no
    // use for them.
    Rival {
        id: "atomwrite",
        source: PackageSource::Cargo(
            "atomwrite",
            "0.1.37",
            &["--no-default-features", "--features", "core"],
        ),
        driver: Driver::Python,
    },
    Rival {
        id: "patchloom",
        source: PackageSource::Cargo("patchloom", "0.37.6", &[]),
        driver: Driver::Python,
    },
    // The same with the option that lets it write what it only suggests otherwise.
    Rival {
        id: "patchloom-approximate",
        source: PackageSource::Cargo("patchloom", "0.37.6", &[]),
        driver: Driver::Python,
    },
];

/// What a tool made of the cases.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ToolResult {
    /// The tool.
    pub tool: String,
    /// The version that ran.
    pub version: String,
    /// The package.
    pub package: String,
    /// Cases with a right answer, and how many came out right, wrong and refused.
    pub recoverable: ToolCounts,
    /// Cases that must be refused, likewise.
    pub must_refuse: ToolCounts,
    /// The same counts by family.
    pub families: Vec<(String, ToolCounts)>,
}

/// Counts of one kind of case.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ToolCounts {
    /// All.
    pub cases: usize,
    /// The right bytes.
    pub right: usize,
    /// Applied with other bytes.
    pub wrong: usize,
    /// Refused.
    pub refused: usize,
    /// Applied, and parsed before and after.
    #[serde(default)]
    pub parsed: usize,
    /// Of these, with syntax errors that the file did not have.
    #[serde(default)]
    pub breaks: usize,
}

/// What was compared: parts of the same run have the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CompareRun {
    /// The program's version.
    pub restitch: String,
    /// The digest of all cases.
    pub material: ContentHash,
    /// The tools that could be run, in the order in which they are shown.
    pub tools: Vec<String>,
    /// The families in the order in which they come.
    pub families: Vec<String>,
}

/// What a part found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PartComparison {
    /// Cases that every tool can express.
    pub cases: usize,
    /// Of these, cases whose right result has a new syntax error itself.
    pub broken: usize,
    /// What came of them, by tool.
    pub results: Vec<ToolResult>,
}

impl CompareRun {
    /// Of all cases, whatever part is compared.
    pub(crate) fn new(cases: &[Case], results: &[ToolResult]) -> Self {
        let mut families: Vec<String> = Vec::new();
        let mut bytes = Vec::new();
        for case in cases {
            if !families.contains(&case.family) {
                families.push(case.family.clone());
            }
            for text in [case.id.as_bytes(), &case.before, case.old.as_bytes(), case.new.as_bytes()]
            {
                bytes.extend_from_slice(ContentHash::of(text).as_bytes());
            }
        }
        Self {
            restitch: env!("CARGO_PKG_VERSION").to_owned(),
            material: ContentHash::of(&bytes),
            tools: results.iter().map(|result| result.tool.clone()).collect(),
            families,
        }
    }
}

/// All parts of a run together.
pub(crate) fn merge(run: &CompareRun, parts: Vec<PartComparison>) -> PartComparison {
    let mut all = PartComparison::default();
    for part in parts {
        all.cases += part.cases;
        all.broken += part.broken;
        for result in part.results {
            let Some(known) = all.results.iter_mut().find(|known| known.tool == result.tool) else {
                all.results.push(result);
                continue;
            };
            known.recoverable.append(&result.recoverable);
            known.must_refuse.append(&result.must_refuse);
            for (family, counts) in result.families {
                match known.families.iter_mut().find(|(own, _)| *own == family) {
                    Some((_, own)) => own.append(&counts),
                    None => known.families.push((family, counts)),
                }
            }
        }
    }
    let place = |names: &[String], name: &String| names.iter().position(|own| own == name);
    all.results.sort_by_key(|result| place(&run.tools, &result.tool));
    for result in &mut all.results {
        result.families.sort_by_key(|(family, _)| place(&run.families, family));
    }
    all
}

/// Whether every tool can express a case.
pub(crate) fn is_expressible_everywhere(case: &Case) -> bool {
    case.expected == Expected::default()
        && case.near_line.is_none()
        && !case.old.is_empty()
        && case.old != case.new
        && std::str::from_utf8(&case.before).is_ok()
}

/// Installs a tool below `scratch`, if need be, and runs the cases through it.
pub(crate) fn run_tool(rival: &Rival, cases: &[Case], scratch: &Path) -> io::Result<ToolResult> {
    let results: HashMap<usize, Option<Vec<u8>>> = match rival.driver {
        Driver::Restitch => {
            cases.iter().enumerate().map(|(at, case)| (at, judge(case).got)).collect()
        }
        Driver::Exact => cases.iter().enumerate().map(|(at, case)| (at, exact(case))).collect(),
        Driver::Node | Driver::Python => drive(rival, cases, scratch)?,
    };
    let mut out = ToolResult {
        tool: rival.id.to_owned(),
        version: version(rival, scratch),
        package: match rival.source {
            PackageSource::Npm(package, _) => format!("npm {package}"),
            PackageSource::Pip(package, _) => format!("PyPI {package}"),
            PackageSource::Cargo(package, ..) => format!("crates.io {package}"),
            PackageSource::BuiltIn => "this program".into(),
        },
        recoverable: ToolCounts::default(),
        must_refuse: ToolCounts::default(),
        families: Vec::new(),
    };
    let indexes: Vec<usize> = (0..cases.len()).collect();
    let broken = parallel(&indexes, |at| {
        let after = results.get(at).and_then(Option::as_ref)?;
        adds_syntax_errors(&cases[*at], after)
    });
    for (at, case) in cases.iter().enumerate() {
        let verdict = match results.get(&at).cloned().flatten() {
            Some(bytes) if case.accepts(&bytes) => CaseVerdict::Right,
            Some(_) => CaseVerdict::Wrong,
            None => CaseVerdict::Refused(EditCode::NoOccurrence),
        };
        let counts = match case.truth {
            Truth::Right { .. } => &mut out.recoverable,
            Truth::Refused(_) => &mut out.must_refuse,
        };
        counts.add(&verdict, broken[at]);
        match out.families.iter_mut().find(|(family, _)| *family == case.family) {
            Some((_, counts)) => counts.add(&verdict, broken[at]),
            None => {
                let mut counts = ToolCounts::default();
                counts.add(&verdict, broken[at]);
                out.families.push((case.family.clone(), counts));
            }
        }
    }
    Ok(out)
}

impl ToolCounts {
    fn append(&mut self, other: &Self) {
        self.cases += other.cases;
        self.right += other.right;
        self.wrong += other.wrong;
        self.refused += other.refused;
        self.parsed += other.parsed;
        self.breaks += other.breaks;
    }

    fn add(&mut self, verdict: &CaseVerdict, breaks: Option<bool>) {
        self.cases += 1;
        self.parsed += usize::from(breaks.is_some());
        self.breaks += usize::from(breaks == Some(true));
        match verdict {
            CaseVerdict::Right => self.right += 1,
            CaseVerdict::Wrong => self.wrong += 1,
            _ => self.refused += 1,
        }
    }
}

/// The plain rule that most tools document: once, or not at all.
fn exact(case: &Case) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(&case.before).ok()?;
    (text.matches(&case.old).count() == 1)
        .then(|| text.replacen(&case.old, &case.new, 1).into_bytes())
}

fn tool_dir(rival: &Rival, scratch: &Path) -> PathBuf {
    let name = match rival.source {
        // A crate takes minutes to build, and serves two rows.
        PackageSource::Cargo(package, ..) => package,
        _ => rival.id,
    };
    scratch.join("tools").join(name)
}

fn install(rival: &Rival, scratch: &Path) -> io::Result<()> {
    let dir = tool_dir(rival, scratch);
    let (PackageSource::Npm(_, wanted)
    | PackageSource::Pip(_, wanted)
    | PackageSource::Cargo(_, wanted, _)) = rival.source
    else {
        return Ok(());
    };
    if fs::read_to_string(dir.join("installed")).is_ok_and(|version| version == wanted) {
        return Ok(());
    }
    if dir.is_dir() {
        fs::remove_dir_all(&dir)?;
    }
    fs::create_dir_all(&dir)?;
    let mut command = match rival.source {
        PackageSource::BuiltIn => return Ok(()),
        PackageSource::Npm(package, version) => {
            let mut npm = Command::new("npm");
            npm.args([
                "install",
                "--prefix",
                ".",
                "--no-audit",
                "--no-fund",
                "--ignore-scripts",
                &format!("{package}@{version}"),
            ]);
            npm
        }
        PackageSource::Pip(package, version) => {
            let mut pip = Command::new("python3");
            pip.args(["-m", "pip", "install", "-q", "--no-deps", "--target", "."]);
            pip.arg(format!("{package}=={version}"));
            pip
        }
        PackageSource::Cargo(package, version, features) => {
            let mut cargo = Command::new("cargo");
            cargo.args(["install", "--quiet", "--root", ".", "--version", version, package]);
            cargo.args(features);
            cargo
        }
    };
    let output = command.current_dir(&dir).stdin(Stdio::null()).output()?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        let last = stderr.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
        return Err(io::Error::other(format!("cannot install {}: {last}", rival.id)));
    }
    fs::write(dir.join("installed"), wanted)
}

fn version(rival: &Rival, scratch: &Path) -> String {
    let dir = tool_dir(rival, scratch);
    let found = match rival.source {
        PackageSource::BuiltIn => Some(env!("CARGO_PKG_VERSION").to_owned()),
        PackageSource::Npm(package, _) => {
            fs::read_to_string(dir.join("node_modules").join(package).join("package.json"))
                .ok()
                .and_then(|text| serde_json::from_str::<Value>(&text).ok())
                .and_then(|package| package["version"].as_str().map(str::to_owned))
        }
        PackageSource::Pip(package, _) => {
            let start = format!("{}-", package.replace('-', "_"));
            fs::read_dir(&dir).ok().into_iter().flatten().flatten().find_map(|entry| {
                let name = entry.file_name().to_string_lossy().into_owned();
                Some(name.strip_prefix(&start)?.strip_suffix(".dist-info")?.to_owned())
            })
        }
        PackageSource::Cargo(package, ..) => fs::read_to_string(dir.join(".crates.toml"))
            .ok()
            .and_then(|text| installed_version(&text, package)),
    };
    found.unwrap_or_else(|| "unknown".into())
}

/// The version in the list that cargo keeps beside what it installed:
/// `"NAME VERSION (registry+…)" = ["NAME"]`.
fn installed_version(list: &str, package: &str) -> Option<String> {
    let list: toml::Table = toml::from_str(list).ok()?;
    list.get("v1")?.as_table()?.keys().find_map(|key| {
        let mut words = key.split(' ');
        (words.next() == Some(package)).then(|| words.next().map(str::to_owned)).flatten()
    })
}

fn drive(
    rival: &Rival,
    cases: &[Case],
    scratch: &Path,
) -> io::Result<HashMap<usize, Option<Vec<u8>>>> {
    {
        // Parts of a run may share the folder: one installs, and each works in its own.
        let lock = fs::File::create(scratch.join("install.lock"))?;
        lock.lock()?;
        install(rival, scratch)?;
    }
    let dir = tool_dir(rival, scratch);
    fs::create_dir_all(scratch.join("work"))?;
    let work = tempfile::tempdir_in(scratch.join("work"))?;
    let work = work.path();
    let (program, name, source, installed) = match rival.driver {
        Driver::Python => ("python3", "python.py", include_str!("python.py"), dir.clone()),
        _ => ("node", "node.mjs", include_str!("node.mjs"), dir.join("node_modules")),
    };
    let driver = work.join(name);
    fs::write(&driver, source)?;
    // Absolute, because the driver's modules are loaded from where they are installed.
    let absolute = |path: &Path| path.canonicalize();
    let mut child = Command::new(program)
        .arg(absolute(&driver)?)
        .arg(rival.id)
        .arg(absolute(&installed)?)
        .arg(absolute(work)?)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| {
            io::Error::new(error.kind(), format!("cannot start {program}: {error}"))
        })?;
    let input: Vec<String> = cases
        .iter()
        .enumerate()
        .map(|(at, case)| {
            let name = case.path.rsplit('/').next().unwrap_or("file");
            json!({
                "id": at, "name": name, "before": String::from_utf8_lossy(&case.before),
                "old": case.old, "new": case.new,
            })
            .to_string()
        })
        .collect();
    let stdin = child.stdin.take();
    let writer = std::thread::spawn(move || {
        if let Some(mut stdin) = stdin {
            for line in input {
                // A driver that ends early is seen by the missing answers.
                if writeln!(stdin, "{line}").is_err() {
                    return;
                }
            }
        }
    });
    let mut results = HashMap::new();
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).lines() {
            let Ok(reply) = serde_json::from_str::<Value>(&line?) else { continue };
            if let Some(at) = reply["id"].as_u64().and_then(|id| usize::try_from(id).ok()) {
                results.insert(at, reply["after"].as_str().map(|text| text.as_bytes().to_vec()));
            }
        }
    }
    child.wait()?;
    let _ = writer.join();
    if results.len() < cases.len() {
        return Err(io::Error::other(format!(
            "{} answered {} of {} cases; it may have changed since its adapter was written",
            rival.id,
            results.len(),
            cases.len()
        )));
    }
    Ok(results)
}

/// How many of the right results have a syntax error that the file did not have: what the
/// grammar does not know, or what the author broke.
pub(crate) fn count_right_with_errors(cases: &[Case]) -> usize {
    let broken = parallel(cases, |case| {
        case.right_result().and_then(|after| adds_syntax_errors(case, &after))
    });
    broken.into_iter().filter(|broken| *broken == Some(true)).count()
}

/// The comparison as a Markdown table.
pub(crate) fn table(results: &[ToolResult]) -> String {
    let share = super::score::percent;
    let mut out = String::from(
        "| tool | version | recoverable: right | silently wrong | refused | must refuse: refused | silently wrong | edits with new syntax errors |\n|---|---|---:|---:|---:|---:|---:|---:|\n",
    );
    for r in results {
        let (a, b) = (&r.recoverable, &r.must_refuse);
        out.push_str(&format!(
            "| {} | {} | {} | {} | {} | {} | {} | {} of {} |\n",
            r.tool,
            r.version,
            share(a.right, a.cases),
            share(a.wrong, a.cases),
            share(a.refused, a.cases),
            share(b.refused, b.cases),
            share(b.wrong, b.cases),
            a.breaks + b.breaks,
            a.parsed + b.parsed,
        ));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargos_list_says_the_version() {
        let list = "[v1]\n\"other 1.0.0 (registry+https://x)\" = [\"other\"]\n\"patchloom 0.37.6 (registry+https://x)\" = [\"patchloom\"]\n";
        assert_eq!(installed_version(list, "patchloom").as_deref(), Some("0.37.6"));
        assert_eq!(installed_version(list, "atomwrite"), None);
        assert_eq!(installed_version("no list", "patchloom"), None);
    }
}
