//! The agents whose transcripts can be read, and where they keep them.

use std::path::PathBuf;

use super::{aider, cline};

named! {
    /// An agent whose transcripts can be read.
    pub enum Client {
        /// Claude Code.
        Claude = "claude",
        /// Codex.
        Codex = "codex",
        /// Gemini CLI.
        Gemini = "gemini",
        /// opencode.
        Opencode = "opencode",
        /// crush.
        Crush = "crush",
        /// pi, and OpenClaw, which is made of it.
        Pi = "pi",
        /// aider.
        Aider = "aider",
        /// Cline.
        Cline = "cline",
    }
}

impl Client {
    /// Returns the paths where the client keeps its transcripts. Most are folders; opencode may
    /// also have a database elsewhere, and aider and crush keep theirs in the current folder.
    /// `variable` looks up an environment variable.
    pub fn homes(self, variable: impl Fn(&str) -> Option<String>) -> Vec<PathBuf> {
        let home = || variable("HOME").or_else(|| variable("USERPROFILE")).map(PathBuf::from);
        let folder_of = |name: &str, below_home: &str| {
            variable(name).map(PathBuf::from).or_else(|| Some(home()?.join(below_home)))
        };
        let folder = match self {
            Self::Claude => {
                folder_of("CLAUDE_CONFIG_DIR", ".claude").map(|dir| dir.join("projects"))
            }
            Self::Codex => folder_of("CODEX_HOME", ".codex").map(|dir| dir.join("sessions")),
            Self::Gemini => home().map(|dir| dir.join(".gemini/tmp")),
            Self::Opencode => {
                folder_of("XDG_DATA_HOME", ".local/share").map(|dir| dir.join("opencode"))
            }
            Self::Crush => Some(PathBuf::from(".crush")),
            Self::Pi => {
                folder_of("PI_CODING_AGENT_DIR", ".pi/agent").map(|dir| dir.join("sessions"))
            }
            Self::Cline => {
                let config = folder_of("XDG_CONFIG_HOME", ".config");
                config.map(|dir| dir.join("Code").join(cline::TASKS))
            }
            Self::Aider => {
                let named = variable("AIDER_CHAT_HISTORY_FILE").map(PathBuf::from);
                Some(named.unwrap_or_else(|| PathBuf::from(aider::NAME)))
            }
        };
        let mut homes = Vec::from_iter(folder);
        match self {
            Self::Opencode => homes.push(PathBuf::from(".opencode")),
            Self::Pi => homes.extend(home().map(|dir| dir.join(".openclaw/agents"))),
            Self::Cline => {
                // On macOS, and on Windows.
                let mac = home().map(|dir| dir.join("Library/Application Support"));
                let windows = variable("APPDATA").map(PathBuf::from);
                let places = mac.into_iter().chain(windows);
                homes.extend(places.map(|dir| dir.join("Code").join(cline::TASKS)));
            }
            _ => {}
        }
        if self == Self::Opencode
            && let Some(database) = variable("OPENCODE_DB").filter(|path| path != ":memory:")
        {
            // As in opencode, a relative path is below its folder.
            let file =
                homes.first().map_or_else(|| PathBuf::from(&database), |dir| dir.join(&database));
            if homes.iter().all(|dir| !file.starts_with(dir)) {
                homes.push(file);
            }
        }
        homes
    }
}
