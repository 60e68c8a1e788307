//! The agents whose transcripts can be read, and where they keep them.

use std::path::PathBuf;

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

/// A folder of transcripts: its client, the variable that names the folder above it, that folder's place
/// below the home folder if the variable is not set, and the path from there.
type Home = (Client, Option<&'static str>, &'static str, &'static str);

/// Where the clients keep their transcripts.
const HOMES: &[Home] = &[
    (Client::Claude, Some("CLAUDE_CONFIG_DIR"), ".claude", "projects"),
    (Client::Codex, Some("CODEX_HOME"), ".codex", "sessions"),
    (Client::Gemini, None, ".gemini", "tmp"),
    (Client::Opencode, Some("XDG_DATA_HOME"), ".local/share", "opencode"),
    (Client::Pi, Some("PI_CODING_AGENT_DIR"), ".pi/agent", "sessions"),
    (Client::Pi, None, ".openclaw", "agents"),
    (Client::Cline, Some("XDG_CONFIG_HOME"), ".config", CLINE_TASKS),
    // On macOS, and on Windows.
    (Client::Cline, None, "Library/Application Support", CLINE_TASKS),
    (Client::Cline, Some("APPDATA"), "AppData/Roaming", CLINE_TASKS),
];

/// The folder of Cline's tasks, below that of the programs' settings.
const CLINE_TASKS: &str = "Code/User/globalStorage/saoudrizwan.claude-dev/tasks";

/// The usual name of aider's history file. A file whose name only ends with it is read, too.
pub(super) const AIDER_HISTORY: &str = ".aider.chat.history.md";

/// What some clients keep in the folder that they work in.
const IN_PROJECT: &[(Client, &str)] =
    &[(Client::Opencode, ".opencode"), (Client::Crush, ".crush"), (Client::Aider, AIDER_HISTORY)];

impl Client {
    /// Returns the paths where the client keeps its transcripts. `variable` looks up an environment
    /// variable.
    pub fn homes(self, variable: impl Fn(&str) -> Option<String>) -> Vec<PathBuf> {
        let home = variable("HOME").or_else(|| variable("USERPROFILE")).map(PathBuf::from);
        let of_user = HOMES.iter().filter(|(client, ..)| *client == self);
        let of_user = of_user.filter_map(|(_, name, below_home, folder)| {
            let named = name.and_then(&variable).map(PathBuf::from);
            Some(named.or_else(|| Some(home.as_ref()?.join(below_home)))?.join(folder))
        });
        let of_project = IN_PROJECT.iter().filter(|(client, _)| *client == self);
        of_user.chain(of_project.map(|(_, path)| PathBuf::from(path))).collect()
    }
}
