//! Each client's configuration: its files, their content, and the permissions for edits.

use serde_json::{Value, json};

use super::content::{Content, approving, hook_command};

/// A client program.
pub(crate) struct Client {
    /// Its name on the command line.
    pub(crate) name: &'static str,
    /// The files that `init` always writes.
    pub(crate) files: Vec<ConfigFile>,
    /// What `--allow-edits` adds: it lets restitch's own tools through without a question.
    pub(crate) permission_files: Vec<ConfigFile>,
    /// What the client does if the permission files are missing, as the end of a sentence.
    pub(crate) without_permissions: &'static str,
    /// What only the user can do.
    pub(crate) trust: Option<Trust>,
    /// A note for the user.
    pub(crate) note: &'static str,
}

/// The user's trust in a folder, without which a client ignores configuration in it. It covers every
/// hook and server of the folder, not only restitch's, so `init` never writes it: the user gives it in
/// the client, and `doctor` looks for it.
pub(crate) struct Trust {
    /// The user's file, and what the client writes there when the user trusts a folder.
    pub(crate) file: fn(&str) -> ConfigFile,
    /// What the client does without it, as the end of a sentence.
    pub(crate) without: &'static str,
    /// How the user gives it.
    pub(crate) how: &'static str,
}

/// A file of a client's configuration.
pub(crate) struct ConfigFile {
    pub(crate) owner: Owner,
    /// The path below the folder of the owner.
    pub(crate) path: &'static str,
    pub(crate) content: Content,
}

/// Whose configuration it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The project's.
    Project,
    /// The user's, below the home folder, or in the folder that a variable names.
    Home { folder: &'static str, variable: Option<&'static str> },
}

/// The names of the clients on the command line.
pub(crate) const CLIENTS: &[&str] = &[
    "claude", "codex", "gemini", "copilot", "cursor", "vscode", "opencode", "zed", "qwen", "cline",
];

/// A file of the project.
fn project(path: &'static str, content: Content) -> ConfigFile {
    ConfigFile { owner: Owner::Project, path, content }
}

/// A file in the user's home folder, or in the folder that `variable` names.
fn home(
    folder: &'static str,
    variable: Option<&'static str>,
    (path, content): (&'static str, Content),
) -> ConfigFile {
    ConfigFile { owner: Owner::Home { folder, variable }, path, content }
}

/// A JSON file of the project.
fn json_in(path: &'static str, value: Value) -> ConfigFile {
    project(path, Content::Json(value))
}

/// The arguments that start the server: its dialect, its tools, and the configuration file by which it
/// finds the root.
fn start(dialect: Option<&str>, tools: &str, configuration: &str) -> Vec<String> {
    let mut args = vec!["mcp".to_owned()];
    if let Some(dialect) = dialect {
        args.extend(["--dialect".to_owned(), dialect.to_owned()]);
    }
    args.extend(["--tools", tools, "--root-of", configuration].map(str::to_owned));
    args
}

/// The value of `--tools` for a client whose models call their edit tool `edit`.
fn tools(edit: &str) -> String {
    format!("{edit},multi_edit,read_file,search,undo")
}

/// A hook that runs restitch. Its command is one string, because some clients drop separate arguments.
fn hook(client: &str, event: &str, configuration: &str, timeout: u32) -> Value {
    json!({
        "type": "command",
        "command": hook_command(client, event, configuration),
        "timeout": timeout,
    })
}

/// The client of that name.
pub(crate) fn client(name: &str) -> Option<Client> {
    Some(match name {
        "claude" | "claude-code" => claude(),
        "codex" => codex(),
        "gemini" => gemini(),
        "copilot" => copilot(),
        "cursor" => Client {
            name: "cursor",
            files: vec![json_in(
                ".cursor/mcp.json",
                json!({ "mcpServers": { "restitch": {
                    "command": "restitch",
                    "args": start(None, &tools("edit_file"), ".cursor/mcp.json"),
                }}}),
            )],
            permission_files: Vec::new(),
            without_permissions: "",
            trust: None,
            note: "Cursor asks before each MCP tool until auto-run is on for it (Settings, Agents). Its hooks cannot rewrite an edit; the MCP tools do the work.",
        },
        "vscode" => Client {
            name: "vscode",
            files: vec![
                json_in(
                    ".vscode/mcp.json",
                    json!({
                        "servers": { "restitch": {
                            "type": "stdio",
                            "command": "restitch",
                            "args": start(None, &tools("edit_file"), ".vscode/mcp.json"),
                        }},
                        "inputs": [],
                    }),
                ),
                github_hooks(),
            ],
            permission_files: Vec::new(),
            without_permissions: "",
            trust: None,
            note: "VS Code asks before each tool; \"Always allow\" in that question lets restitch go on. Agent hooks are a preview in VS Code; the MCP server works without them.",
        },
        "opencode" => opencode(),
        "zed" => Client {
            name: "zed",
            files: vec![json_in(
                ".zed/settings.json",
                json!({ "context_servers": { "restitch": {
                    "source": "custom",
                    "command": "restitch",
                    "args": start(None, &tools("edit_file"), ".zed/settings.json"),
                    "env": {},
                }}}),
            )],
            permission_files: Vec::new(),
            without_permissions: "",
            trust: None,
            note: "Zed shows the server under Agent settings, where it can be switched on and its tools allowed.",
        },
        "qwen" | "qwen-code" => qwen(),
        "cline" => cline(),
        _ => return None,
    })
}

/// The arguments that start the server from a configuration of the user, which is in no project.
fn start_anywhere() -> [String; 3] {
    ["mcp".to_owned(), "--tools".to_owned(), tools("edit_file")]
}

/// The configuration of Cline.
fn cline() -> Client {
    let file = |server: Value| {
        let content = Content::Json(json!({ "mcpServers": { "restitch": server } }));
        home(".cline/data/settings", None, ("cline_mcp_settings.json", content))
    };
    let tool_names: Vec<String> = tools("edit_file").split(',').map(str::to_owned).collect();
    Client {
        name: "cline",
        files: vec![file(json!({
            "command": "restitch", "args": start_anywhere(), "disabled": false,
        }))],
        permission_files: vec![file(json!({ "autoApprove": tool_names }))],
        without_permissions: "Cline asks before each edit",
        trust: None,
        note: "This file is for Cline's CLI; for the extension, paste its content under MCP Servers, Configure.",
    }
}

/// The configuration of Claude Code.
fn claude() -> Client {
    let settings = ".claude/settings.json";
    let on = |event: &str| hook("claude", event, settings, 30);
    Client {
        name: "claude",
        files: vec![
            json_in(
                ".mcp.json",
                json!({ "mcpServers": { "restitch": {
                    "type": "stdio",
                    "command": "restitch",
                    "args": start(Some("claude-code"), &tools("edit"), ".mcp.json"),
                    "env": {},
                    "alwaysLoad": true,
                }}}),
            ),
            json_in(
                settings,
                json!({ "hooks": {
                    "PreToolUse": [{ "matcher": "Edit", "hooks": [on("PreToolUse")] }],
                    "PostToolUseFailure": [{ "matcher": "Edit", "hooks": [on("PostToolUseFailure")] }],
                    "PostToolBatch": [{ "hooks": [on("PostToolBatch")] }],
                }}),
            ),
        ],
        permission_files: vec![json_in(
            settings,
            json!({ "permissions": { "allow": ["mcp__restitch"] } }),
        )],
        without_permissions: "Claude Code asks before each edit, and when run non-interactively (`claude -p`) it does not edit",
        trust: Some(Trust {
            file: |folder| {
                let projects = json!({ folder: { "hasTrustDialogAccepted": true } });
                let content = Content::Json(json!({ "projects": projects }));
                home("", Some("CLAUDE_CONFIG_DIR"), (".claude.json", content))
            },
            without: "Claude Code ignores the project's permissions, so `claude -p` does not edit",
            how: "Start `claude` in this folder once, and answer that you trust it.",
        }),
        note: "Claude Code looks for old_string before any hook runs, so only the MCP tool `edit` can rescue a text that is not found. To send every edit there, add \"permissions\": {\"deny\": [\"Edit\"]} to .claude/settings.json. Start Claude Code in the project's folder: in a subfolder, it does not read the project's permissions. Claude Code's checkpoints (/rewind) do not cover edits by MCP tools; the tool `undo`, and `restitch undo`, take those back.",
    }
}

/// The configuration of Codex.
fn codex() -> Client {
    let config = ".codex/config.toml";
    let args = start(Some("codex"), &tools("apply_patch"), config);
    let on = |event: &str| hook("codex", event, ".codex/hooks.json", 30);
    let hooks = |command: fn(&str) -> String| {
        let on = |event: &str| {
            let mut hook = on(event);
            let text = hook["command"].as_str().unwrap_or_default().to_owned();
            hook["command"] = command(&text).into();
            json!([{ "matcher": "apply_patch", "hooks": [hook] }])
        };
        json!({ "PreToolUse": on("PreToolUse"), "PostToolUse": on("PostToolUse") })
    };
    Client {
        name: "codex",
        files: vec![
            project(
                config,
                Content::Toml(json!({
                    "mcp_servers": { "restitch": { "command": "restitch", "args": args } },
                    "features": { "hooks": true },
                })),
            ),
            json_in(".codex/hooks.json", json!({ "hooks": hooks(str::to_owned) })),
        ],
        permission_files: vec![
            project(
                config,
                Content::Toml(json!({
                    "mcp_servers": { "restitch": { "default_tools_approval_mode": "approve" } },
                })),
            ),
            json_in(
                ".codex/hooks.json",
                json!({ "hooks": { "PreToolUse": hooks(approving)["PreToolUse"] } }),
            ),
        ],
        without_permissions: "Codex asks before each edit, and when run non-interactively (`codex exec`) it does not edit; a patch that the hook could correct is denied, and the model is told the corrected one",
        trust: Some(Trust {
            file: |folder| {
                let projects = json!({ folder: { "trust_level": "trusted" } });
                let content = Content::Toml(json!({ "projects": projects }));
                home(".codex", Some("CODEX_HOME"), ("config.toml", content))
            },
            without: "Codex ignores the project's configuration: it starts neither the server nor the hooks",
            how: "Start `codex` in this folder once, and answer that you trust it.",
        }),
        note: "Codex runs the hooks only after you have reviewed them: type /hooks in `codex` once, and again after a change. Some of its models find MCP tools by searching for them.",
    }
}

/// The configuration of Gemini CLI.
fn gemini() -> Client {
    let settings = ".gemini/settings.json";
    let on = |event: &str| {
        let mut hook = hook("gemini", event, settings, 30_000);
        hook["name"] = "restitch".into();
        hook
    };
    Client {
        name: "gemini",
        files: vec![json_in(
            settings,
            json!({
                "mcpServers": { "restitch": {
                    "command": "restitch",
                    "args": start(Some("gemini"), &tools("edit"), settings),
                }},
                "hooks": {
                    "BeforeTool": [{ "matcher": "replace", "hooks": [on("BeforeTool")] }],
                    "AfterTool": [{ "matcher": "replace", "hooks": [on("AfterTool")] }],
                },
            }),
        )],
        permission_files: vec![json_in(
            settings,
            json!({ "mcpServers": { "restitch": { "trust": true } } }),
        )],
        without_permissions: "Gemini CLI asks before each edit, and when run non-interactively (`gemini -p`) it does not offer the edit tools",
        trust: Some(Trust {
            file: |folder| {
                let content = Content::Json(json!({ folder: "TRUST_FOLDER" }));
                home(".gemini", None, ("trustedFolders.json", content))
            },
            without: "Gemini CLI ignores the project's settings, and does not run non-interactively",
            how: "Start `gemini` in this folder once, and answer that you trust it.",
        }),
        note: "The hook corrects Gemini's own `replace` before it runs, and denies edits that restitch refuses. To take `replace` away, add \"tools\": {\"exclude\": [\"replace\"]} to .gemini/settings.json.",
    }
}

/// The configuration of Qwen Code.
fn qwen() -> Client {
    let settings = ".qwen/settings.json";
    let server = json!({
        "command": "restitch",
        "args": start(Some("claude-code"), &tools("edit"), settings),
        "alwaysLoadTools": true,
    });
    Client {
        name: "qwen",
        files: vec![json_in(settings, json!({ "mcpServers": { "restitch": server } }))],
        permission_files: vec![json_in(
            settings,
            json!({ "mcpServers": { "restitch": { "trust": true } } }),
        )],
        without_permissions: "Qwen Code asks before each edit, and when run non-interactively (`qwen -p`) it does not edit",
        trust: None,
        note: "Qwen Code does not start a project's server before you approve it, and asks again after a change: qwen mcp approve restitch.",
    }
}

/// Hooks that VS Code and Copilot CLI both run.
fn github_hooks() -> ConfigFile {
    let file = ".github/hooks/restitch.json";
    json_in(
        file,
        json!({ "hooks": {
            "PreToolUse": [hook("vscode", "PreToolUse", file, 30)],
            "PostToolUse": [hook("vscode", "PostToolUse", file, 30)],
        }}),
    )
}

/// The configuration of Copilot CLI.
fn copilot() -> Client {
    Client {
        name: "copilot",
        files: vec![
            json_in(
                ".mcp.json",
                json!({ "mcpServers": { "restitch": {
                    "type": "stdio",
                    "command": "restitch",
                    "args": start(None, &tools("edit_file"), ".mcp.json"),
                    "env": {},
                }}}),
            ),
            github_hooks(),
        ],
        permission_files: Vec::new(),
        without_permissions: "",
        trust: Some(Trust {
            file: |folder| {
                let content = Content::Json(json!({ "trustedFolders": [folder] }));
                home(".copilot", Some("COPILOT_HOME"), ("config.json", content))
            },
            without: "Copilot CLI does not start the server",
            how: "Start `copilot` in this folder once, and answer that you trust it.",
        }),
        note: "Copilot CLI asks before each edit; `copilot --allow-tool=restitch` lets them through, also with -p. `--excluded-tools=edit` takes its own edit tool away.",
    }
}

/// The configuration of opencode.
fn opencode() -> Client {
    let mut command = start(Some("opencode"), &tools("edit"), "opencode.json");
    command.insert(0, "restitch".to_owned());
    Client {
        name: "opencode",
        files: vec![
            json_in(
                "opencode.json",
                json!({
                    "$schema": "https://opencode.ai/config.json",
                    "mcp": { "restitch": { "type": "local", "command": command, "enabled": true } },
                }),
            ),
            project(
                ".opencode/plugin/restitch.js",
                Content::Ours(include_str!("../../hook/opencode.js")),
            ),
        ],
        permission_files: Vec::new(),
        without_permissions: "",
        trust: None,
        note: "The plugin corrects opencode's own `edit` and `apply_patch` before they run. To take its edit tools away, add \"tools\": {\"edit\": false} to opencode.json. opencode allows MCP tools unless its `permission` says otherwise.",
    }
}
