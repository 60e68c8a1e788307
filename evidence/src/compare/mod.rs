//! Runs the same cases through the edit functions of other tools, and compares the results with
//! those of this engine.
//!
//! Tools are never dependencies: each is installed into a scratch folder by the client of its
//! registry when it is needed. It runs in a driver process that reads one case a line and writes
//! one result a line. Cases that not every tool can express (with a count, a line hint or an empty
//! string) are left out for all tools.
//!
//! Limits: a tool whose edit call names lines instead of text cannot run these cases. One is
//! oh-my-opencode, whose `edit` (4.19.4) wants a position such as `pos: "11#XJ"` from its own view.

use std::collections::HashMap;
use std::fs;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use restitch::internals::harness::{
    Case, CaseVerdict, Truth, adds_syntax_errors, judge, parallel, percent,
};
use restitch::{EditCode, Expected};

/// The package of a tool. Its version is fixed, so that the same table can be made again; to compare
/// a newer version, change the number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PackageSource {
    /// A package with its version and the integrity that npm's registry gives for it.
    Npm(&'static str, &'static str, &'static str),
    /// A package with its version and the SHA-256 of its wheel.
    Pip(&'static str, &'static str, &'static str),
    /// A crate with a program of the same name, and the options to build it with. Cargo compares
    /// each crate with the checksum in the index, from which nothing can be taken back.
    Cargo(&'static str, &'static str, &'static [&'static str]),
    /// The tool is part of this program.
    BuiltIn,
}

impl PackageSource {
    /// The version that is wanted.
    fn version(&self) -> &'static str {
        match self {
            Self::Npm(_, version, _) | Self::Pip(_, version, _) | Self::Cargo(_, version, _) => {
                version
            }
            Self::BuiltIn => env!("CARGO_PKG_VERSION"),
        }
    }
}

/// A tool that can be compared.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rival {
    /// The tool's name in tables.
    pub id: &'static str,
    source: PackageSource,
    driver: Driver,
}

/// The program that runs a tool.
#[derive(Debug, Clone, Copy)]
enum Driver {
    /// `node.mjs`.
    Node,
    /// `python.py`.
    Python,
    /// The plain rule that `old_str` must occur once.
    Exact,
    /// This engine.
    Restitch,
}

/// Every tool; this program is first.
pub(crate) const RIVALS: &[Rival] = &[
    Rival { id: "restitch", source: PackageSource::BuiltIn, driver: Driver::Restitch },
    Rival { id: "exact", source: PackageSource::BuiltIn, driver: Driver::Exact },
    Rival {
        id: "gemini-cli",
        source: PackageSource::Npm(
            "@google/gemini-cli-core",
            "0.61.0",
            "sha512-3H09+26TzD+HIuUV0KHeAp4Ag0iK3SiRB8H+NehOpsupbfZcEeprSN/85uzjTMQxcWJkzrNe/AY/y0ovFkSZ0A==",
        ),
        driver: Driver::Node,
    },
    Rival {
        id: "aider",
        source: PackageSource::Pip(
            "aider-chat",
            "0.86.2",
            "64f6a0c66c9f4633ad9f479bca3e64ebcba02b9da03c6b604b74a44736b2416e",
        ),
        driver: Driver::Python,
    },
    Rival {
        id: "codex",
        source: PackageSource::Npm(
            "@openai/codex",
            "0.169.0",
            "sha512-KhzYlkKPxoNssR8CEm45IjqnFWn7UtlF4CiD3tOJPea51xBs7MaHy0UQG9GSbCqk6Lrjn5QdJDV0QD1/FgWlGw==",
        ),
        driver: Driver::Python,
    },
    Rival {
        id: "pi",
        source: PackageSource::Npm(
            "@mariozechner/pi-coding-agent",
            "0.73.1",
            "sha512-gXQh3SaZmWTfVMc4Ao5+LGbVeKvzyO7tolok0nLsZgq9nGjZx/EEU3NM8C+qUnB4Nvs2rswG5qOVgLzQkq0fHQ==",
        ),
        driver: Driver::Node,
    },
    Rival {
        id: "mcp-filesystem",
        source: PackageSource::Npm(
            "@modelcontextprotocol/server-filesystem",
            "2026.8.31",
            "sha512-kKaFkyAh6oipvc9+EAbJ552JafnMnOq5nzmzWkp1jJdBhTAAGpmIpWihUG1+rfNhmEFM98gUZDdCHCDD4v6a7Q==",
        ),
        driver: Driver::Node,
    },
    Rival {
        id: "cline",
        source: PackageSource::Npm(
            "@cline/core",
            "0.0.86",
            "sha512-+9xaL9ojfPXB4ywjpogR5TTG7CrjCBPw5xG68IaCy9y4teo9fvON3z9KvAdvd/FIaG6VyxPt6VCIevbZtG+WTQ==",
        ),
        driver: Driver::Node,
    },
    // The engine of oh-my-pi is this native module. Later versions have no builds for single
    // platforms in the registry.
    Rival {
        id: "oh-my-pi",
        source: PackageSource::Npm(
            "@oh-my-pi/pi-natives",
            "18.2.3",
            "sha512-XLgoIR44VmlkpEm88mqUSoZwOcWGmRZ/DZk3bMhL60j6nTXYjMLSvJu0BXAbCOe33CyM2ZC8wH3FzKOTgXgjlA==",
        ),
        driver: Driver::Node,
    },
    // atomwrite's other features are parsers, which the build downloads and `edit` does not use.
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
    // The same tool with the option to write similar matches, which it only suggests otherwise.
    Rival {
        id: "patchloom-approximate",
        source: PackageSource::Cargo("patchloom", "0.37.6", &[]),
        driver: Driver::Python,
    },
];

/// The results of one tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ToolResult {
    /// The tool's name.
    pub tool: String,
    /// The version that ran.
    pub version: String,
    /// The registry and the package.
    pub package: String,
    /// Why the tool was not run, and so has no counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
    /// The counts of the cases that have a right result.
    pub recoverable: ToolCounts,
    /// The counts of the cases that must be refused.
    pub must_refuse: ToolCounts,
    /// The counts of each family.
    pub families: Vec<(String, ToolCounts)>,
}

/// The results of one tool on a group of cases.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ToolCounts {
    /// All cases.
    pub cases: usize,
    /// Cases that were applied with a right result.
    pub right: usize,
    /// Cases that were applied with a wrong result.
    pub wrong: usize,
    /// Cases that were refused.
    pub refused: usize,
    /// Applied cases of which the file was parsed before and after.
    #[serde(default)]
    pub parsed: usize,
    /// Of these, cases with syntax errors that the file did not have.
    #[serde(default)]
    pub breaks: usize,
}

/// Whether every tool can express a case.
pub(crate) fn is_expressible_everywhere(case: &Case) -> bool {
    case.expected == Expected::default()
        && case.near_line.is_none()
        && !case.old.is_empty()
        && case.old != case.new
        && std::str::from_utf8(&case.before).is_ok()
}

impl ToolResult {
    /// The result of a tool that has not run.
    fn new(rival: &Rival) -> Self {
        Self {
            tool: rival.id.to_owned(),
            version: rival.source.version().to_owned(),
            package: match rival.source {
                PackageSource::Npm(package, ..) => format!("npm {package}"),
                PackageSource::Pip(package, ..) => format!("PyPI {package}"),
                PackageSource::Cargo(package, ..) => format!("crates.io {package}"),
                PackageSource::BuiltIn => "this program".into(),
            },
            skipped: None,
            recoverable: ToolCounts::default(),
            must_refuse: ToolCounts::default(),
            families: Vec::new(),
        }
    }

    /// The row of a tool that could not be installed or run.
    pub(crate) fn skipped(rival: &Rival, why: String) -> Self {
        Self { skipped: Some(why), ..Self::new(rival) }
    }
}

/// Installs a tool below `scratch`, unless it is installed already, and runs the cases through it.
pub(crate) fn run_tool(rival: &Rival, cases: &[Case], scratch: &Path) -> io::Result<ToolResult> {
    let results: HashMap<usize, Option<Vec<u8>>> = match rival.driver {
        Driver::Restitch => {
            cases.iter().enumerate().map(|(index, case)| (index, judge(case).got)).collect()
        }
        Driver::Exact => {
            cases.iter().enumerate().map(|(index, case)| (index, replace_exact(case))).collect()
        }
        Driver::Node | Driver::Python => run_driver(rival, cases, scratch)?,
    };
    let mut out = ToolResult { version: version(rival, scratch), ..ToolResult::new(rival) };
    let indexes: Vec<usize> = (0..cases.len()).collect();
    let syntax_errors = parallel(&indexes, |index| {
        let after = results.get(index).and_then(Option::as_ref)?;
        adds_syntax_errors(&cases[*index], after)
    });
    for (index, case) in cases.iter().enumerate() {
        let verdict = match results.get(&index).and_then(Option::as_ref) {
            Some(after) if case.accepts(after) => CaseVerdict::Right,
            Some(_) => CaseVerdict::Wrong,
            // Every refusal counts the same, so the code does not matter.
            None => CaseVerdict::Refused(EditCode::NoOccurrence),
        };
        let counts = match case.truth {
            Truth::Right { .. } => &mut out.recoverable,
            Truth::Refused(_) => &mut out.must_refuse,
        };
        counts.add(&verdict, syntax_errors[index]);
        match out.families.iter_mut().find(|(family, _)| *family == case.family) {
            Some((_, counts)) => counts.add(&verdict, syntax_errors[index]),
            None => {
                let mut counts = ToolCounts::default();
                counts.add(&verdict, syntax_errors[index]);
                out.families.push((case.family.clone(), counts));
            }
        }
    }
    Ok(out)
}

impl ToolCounts {
    /// Counts one case. `adds_syntax_errors` is `None` if the file was not parsed.
    fn add(&mut self, verdict: &CaseVerdict, adds_syntax_errors: Option<bool>) {
        self.cases += 1;
        self.parsed += usize::from(adds_syntax_errors.is_some());
        self.breaks += usize::from(adds_syntax_errors == Some(true));
        match verdict {
            CaseVerdict::Right => self.right += 1,
            CaseVerdict::Wrong => self.wrong += 1,
            _ => self.refused += 1,
        }
    }
}

/// Applies a case by the plain rule that most tools document: `old_str` must occur exactly once.
fn replace_exact(case: &Case) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(&case.before).ok()?;
    (text.matches(&case.old).count() == 1)
        .then(|| text.replacen(&case.old, &case.new, 1).into_bytes())
}

/// Returns the folder that a tool is installed in.
fn tool_dir(rival: &Rival, scratch: &Path) -> PathBuf {
    let name = match rival.source {
        // Two rows may use the same crate, which takes minutes to build.
        PackageSource::Cargo(package, ..) => package,
        _ => rival.id,
    };
    scratch.join("tools").join(name)
}

/// Installs a tool, unless this version is installed already.
fn install(rival: &Rival, scratch: &Path) -> io::Result<()> {
    let dir = tool_dir(rival, scratch);
    if rival.source == PackageSource::BuiltIn {
        return Ok(());
    }
    let wanted = rival.source.version();
    if fs::read_to_string(dir.join("installed")).is_ok_and(|version| version == wanted) {
        return Ok(());
    }
    if dir.is_dir() {
        fs::remove_dir_all(&dir)?;
    }
    fs::create_dir_all(&dir)?;
    let mut command = match rival.source {
        PackageSource::BuiltIn => return Ok(()),
        PackageSource::Npm(package, version, _) => {
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
        PackageSource::Pip(package, version, sha256) => {
            let wanted = format!("{package}=={version} --hash=sha256:{sha256}\n");
            fs::write(dir.join("requirements.txt"), wanted)?;
            let mut pip = Command::new("python3");
            pip.args(["-m", "pip", "install", "-q", "--no-deps", "--target", "."]);
            pip.args(["--only-binary", ":all:", "--require-hashes", "-r", "requirements.txt"]);
            pip
        }
        PackageSource::Cargo(package, version, features) => {
            let mut cargo = Command::new("cargo");
            cargo.args(["install", "--quiet", "--root", ".", "--version", version, package]);
            cargo.args(features);
            cargo
        }
    };
    let output = command.current_dir(&dir).stdin(Stdio::null()).output().map_err(|error| {
        let program = command.get_program().to_string_lossy().into_owned();
        io::Error::new(error.kind(), format!("cannot start {program}: {error}"))
    })?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        let last = stderr.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
        return Err(io::Error::other(format!("cannot install {}: {last}", rival.id)));
    }
    if let PackageSource::Npm(package, _, integrity) = rival.source {
        let found = installed_integrity(&dir, package);
        if found.as_deref() != Some(integrity) {
            fs::remove_dir_all(&dir)?;
            return Err(io::Error::other(format!(
                "npm installed {package} with the integrity {}, not {integrity}; it was removed",
                found.as_deref().unwrap_or("unknown")
            )));
        }
    }
    fs::write(dir.join("installed"), wanted)
}

/// Returns the integrity of an installed package, which npm has compared with what it downloaded.
fn installed_integrity(dir: &Path, package: &str) -> Option<String> {
    let text = fs::read_to_string(dir.join("node_modules/.package-lock.json")).ok()?;
    let lock: Value = serde_json::from_str(&text).ok()?;
    let entry = &lock["packages"][format!("node_modules/{package}")];
    entry["integrity"].as_str().map(str::to_owned)
}

/// Returns the installed version of a tool.
fn version(rival: &Rival, scratch: &Path) -> String {
    let dir = tool_dir(rival, scratch);
    let found = match rival.source {
        PackageSource::BuiltIn => Some(env!("CARGO_PKG_VERSION").to_owned()),
        PackageSource::Npm(package, ..) => {
            fs::read_to_string(dir.join("node_modules").join(package).join("package.json"))
                .ok()
                .and_then(|text| serde_json::from_str::<Value>(&text).ok())
                .and_then(|package| package["version"].as_str().map(str::to_owned))
        }
        PackageSource::Pip(package, ..) => {
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

/// Returns the version of a package from `.crates.toml`, in which cargo lists what it has installed
/// as `"NAME VERSION (registry+…)" = ["NAME"]`.
fn installed_version(list: &str, package: &str) -> Option<String> {
    let list: toml::Table = toml::from_str(list).ok()?;
    list.get("v1")?.as_table()?.keys().find_map(|key| {
        let (name, rest) = key.split_once(' ')?;
        let version = rest.split(' ').next()?;
        (name == package).then(|| version.to_owned())
    })
}

/// Installs a tool and runs the cases through its driver. Returns the file after each case, by the
/// case's index; `None` if the tool refused.
fn run_driver(
    rival: &Rival,
    cases: &[Case],
    scratch: &Path,
) -> io::Result<HashMap<usize, Option<Vec<u8>>>> {
    install(rival, scratch)?;
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
    // The paths are absolute, because the driver loads modules from the installed folder.
    let mut child = Command::new(program)
        .arg(driver.canonicalize()?)
        .arg(rival.id)
        .arg(installed.canonicalize()?)
        .arg(work.canonicalize()?)
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
        .map(|(index, case)| {
            let name = case.path.rsplit('/').next().unwrap_or("file");
            json!({
                "id": index, "name": name, "before": String::from_utf8_lossy(&case.before),
                "old": case.old, "new": case.new,
            })
            .to_string()
        })
        .collect();
    let stdin = child.stdin.take();
    let writer = std::thread::spawn(move || {
        if let Some(mut stdin) = stdin {
            for line in input {
                // If the driver has ended early, the missing answers are reported below.
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
            if let Some(index) = reply["id"].as_u64().and_then(|id| usize::try_from(id).ok()) {
                let after = reply["after"].as_str().map(|text| text.as_bytes().to_vec());
                results.insert(index, after);
            }
        }
    }
    child.wait()?;
    let _ = writer.join();
    if results.len() < cases.len() {
        return Err(io::Error::other(format!(
            "{} answered only {} of {} cases; its driver may not fit the installed version",
            rival.id,
            results.len(),
            cases.len()
        )));
    }
    Ok(results)
}

/// Counts the cases whose right result has a syntax error that the file did not have, because the
/// grammar does not know the syntax or the author of the edit made a mistake.
pub(crate) fn count_right_with_errors(cases: &[Case]) -> usize {
    let syntax_errors = parallel(cases, |case| {
        case.right_result().and_then(|after| adds_syntax_errors(case, &after))
    });
    syntax_errors.into_iter().filter(|has_errors| *has_errors == Some(true)).count()
}

/// Returns the comparison as a Markdown table.
pub(crate) fn table(results: &[ToolResult]) -> String {
    let mut out = String::from(
        "| tool | version | recoverable: right | silently wrong | refused | must refuse: refused | silently wrong | edits with new syntax errors |\n|---|---|---:|---:|---:|---:|---:|---:|\n",
    );
    for result in results {
        let (recoverable, must_refuse) = (&result.recoverable, &result.must_refuse);
        if let Some(why) = &result.skipped {
            out.push_str(&format!(
                "| {} | {} | not run: {} | | | | | |\n",
                result.tool,
                result.version,
                why.replace('|', "\\|")
            ));
            continue;
        }
        out.push_str(&format!(
            "| {} | {} | {} | {} | {} | {} | {} | {} of {} |\n",
            result.tool,
            result.version,
            percent(recoverable.right, recoverable.cases),
            percent(recoverable.wrong, recoverable.cases),
            percent(recoverable.refused, recoverable.cases),
            percent(must_refuse.refused, must_refuse.cases),
            percent(must_refuse.wrong, must_refuse.cases),
            recoverable.breaks + must_refuse.breaks,
            recoverable.parsed + must_refuse.parsed,
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
