//! How a program is started, as a line of `clients.jsonl` or `hosts.jsonl` says it: its command line,
//! its environment, and what stands in the user's home.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

use serde::Deserialize;
use serde_json::{Map, Value};

use super::Run;
use crate::sandbox::put;

/// In each text `{bin}`, `{home}`, `{piece}`, `{port}`, `{programs}`, `{project}`, `{restitch}`,
/// `{scripts}`, `{top}` and `{url}` are filled in. What is no text stands for its JSON.
#[derive(Deserialize)]
pub(super) struct Start {
    /// The program and its arguments.
    run: Vec<String>,
    #[serde(default)]
    env: Map<String, Value>,
    /// Files in the user's home that are no part of what restitch sets up, such as how the user signs
    /// in.
    #[serde(default)]
    home: Map<String, Value>,
    /// What is run before.
    #[serde(default)]
    before: Vec<String>,
}

impl Start {
    /// The command, after what comes before it.
    pub(super) fn command(&self, run: &Run) -> Command {
        for (path, content) in &self.home {
            put(&run.home.join(path), filled_text(content, run));
        }
        if !self.before.is_empty() {
            let _ = command_of(&self.before, run).stdin(Stdio::null()).output();
        }
        let mut command = command_of(&self.run, run);
        command.envs(self.env.iter().map(|(name, value)| (name, filled_text(value, run))));
        command
    }
}

fn command_of(line: &[String], run: &Run) -> Command {
    let mut words = line.iter().map(|word| filled(word, run));
    let mut command = run.at_home(Command::new(words.next().expect("a program")));
    command.args(words);
    command
}

fn filled_text(value: &Value, run: &Run) -> String {
    filled(&value.as_str().map_or_else(|| value.to_string(), str::to_owned), run)
}

/// The text with its places filled in.
pub(super) fn filled(text: &str, run: &Run) -> String {
    let places = BTreeMap::from([
        ("{bin}", run.programs.join("node_modules/.bin").display().to_string()),
        ("{home}", run.home.display().to_string()),
        ("{piece}", run.piece.display().to_string()),
        ("{port}", run.port.to_string()),
        ("{programs}", run.programs.display().to_string()),
        ("{project}", run.project.display().to_string()),
        ("{restitch}", env!("CARGO_BIN_EXE_restitch").to_owned()),
        ("{scripts}", super::script("").display().to_string()),
        ("{top}", run.home.parent().expect("top").display().to_string()),
        ("{url}", format!("http://127.0.0.1:{}", run.port)),
    ]);
    places.iter().fold(text.to_owned(), |text, (place, own)| text.replace(place, own))
}
