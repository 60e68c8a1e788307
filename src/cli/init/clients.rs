//! Each client's configuration: its files, their content, and the permissions for edits.

use std::path::Path;

use serde_json::{Value, json};

use super::merge::Content;
use crate::text::ContentHash;

/// A client program.
pub(crate) struct Client {
    /// Its name on the command line.
    pub(crate) name: &'static str,
    /// The files that `init` always writes.
    pub(crate) files: Vec<ConfigFile>,
    /// The files that `--allow-edits` adds, which let edits through without a question.
    pub(crate) permission_files: Vec<ConfigFile>,
    /// What the client does if the permission files are missing, as the end of a sentence.
    pub(crate) without_permissions: &'static str,
    /// A note for the user.
    pub(crate) note: &'static str,
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
    "kimi", "amp", "crush", "goose", "vibe",
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
        "command": format!("restitch hook {client} {event} --root-of {configuration}"),
        "timeout": timeout,
    })
}

/// The client of that name, for a project in `folder`.
pub(crate) fn client(name: &str, folder: &Path) -> Option<Client> {
    let folder = folder.display().to_string();
    Some(match name {
        "claude" | "claude-code" => claude(&folder),
        "codex" => codex(&folder),
        "gemini" => gemini(&folder),
        "copilot" => copilot(&folder),
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
            note: "Zed shows the server under Agent settings, where it can be switched on and its tools allowed.",
        },
        "qwen" | "qwen-code" => qwen(&folder),
        "kimi" => Client {
            name: "kimi",
            files: vec![plain_server(".kimi-code/mcp.json", "mcpServers")],
            permission_files: Vec::new(),
            without_permissions: "",
            note: "Kimi Code asks before each edit; \"Approve for this session\" lets them through. This configuration follows its documentation and has not been tried.",
        },
        "amp" => Client {
            name: "amp",
            files: vec![plain_server(".amp/settings.json", "amp.mcpServers")],
            permission_files: Vec::new(),
            without_permissions: "",
            note: "Amp asks once before it starts a server of the workspace. This configuration follows its documentation and has not been tried.",
        },
        "crush" => Client {
            name: "crush",
            files: vec![json_in(
                "crush.json",
                json!({
                    "$schema": "https://charm.land/crush.json",
                    "mcp": { "restitch": {
                        "type": "stdio",
                        "command": "restitch",
                        "args": start(None, &tools("edit_file"), "crush.json"),
                    }},
                }),
            )],
            permission_files: Vec::new(),
            without_permissions: "",
            note: "Crush asks before each edit. This configuration follows its documentation and has not been tried.",
        },
        "cline" => cline(),
        "goose" => goose(),
        "vibe" => vibe(),
        _ => return None,
    })
}

/// A server in a JSON file of the project, under the client's key for servers.
fn plain_server(path: &'static str, key: &str) -> ConfigFile {
    let args = start(None, &tools("edit_file"), path);
    json_in(path, json!({ key: { "restitch": { "command": "restitch", "args": args } } }))
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
        note: "This file is for Cline's CLI; for the extension, paste its content under MCP Servers, Configure.",
    }
}

/// The configuration of Goose.
fn goose() -> Client {
    let args = json!(start_anywhere());
    let text = format!(
        "extensions:\n  restitch:\n    name: restitch\n    type: stdio\n    cmd: restitch\n    args: {args}\n    enabled: true\n    timeout: 300\n"
    );
    Client {
        name: "goose",
        files: vec![home(".config/goose", None, ("config.yaml", Content::Yaml(text)))],
        permission_files: Vec::new(),
        without_permissions: "",
        note: "Goose edits without asking in its mode `auto`, the default. This configuration follows its documentation and has not been tried.",
    }
}

/// The configuration of Vibe.
fn vibe() -> Client {
    let args = json!(start_anywhere());
    let server = format!(
        "name = \"restitch\"\ntransport = \"stdio\"\ncommand = \"restitch\"\nargs = {args}\n"
    );
    let content = Content::Toml(vec![("[[mcp_servers]]".to_owned(), server)]);
    Client {
        name: "vibe",
        // A configuration in the project would hide all of the user's own.
        files: vec![home(".vibe", None, ("config.toml", content))],
        permission_files: Vec::new(),
        without_permissions: "",
        note: "Vibe asks before each edit. This configuration follows its documentation and has not been tried.",
    }
}

/// The configuration of Claude Code.
fn claude(folder: &str) -> Client {
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
        permission_files: vec![
            json_in(settings, json!({ "permissions": { "allow": ["mcp__restitch"] } })),
            home(
                "",
                Some("CLAUDE_CONFIG_DIR"),
                (
                    ".claude.json",
                    Content::Json(
                        json!({ "projects": { folder: { "hasTrustDialogAccepted": true } } }),
                    ),
                ),
            ),
        ],
        without_permissions: "Claude Code asks before each edit, and when run non-interactively (`claude -p`) it does not edit; in a folder that is not trusted it ignores the project's permissions",
        note: "Claude Code looks for old_string before any hook runs, so only the MCP tool `edit` can rescue a text that is not found. To send every edit there, add \"permissions\": {\"deny\": [\"Edit\"]} to .claude/settings.json. Start Claude Code in the project's folder: in a subfolder, it does not read the project's permissions.",
    }
}

/// The configuration of Codex.
fn codex(folder: &str) -> Client {
    let config = ".codex/config.toml";
    let args = start(Some("codex"), &tools("apply_patch"), config);
    let on = |event: &str| hook("codex", event, ".codex/hooks.json", 30);
    let server = |line: String| Content::Toml(vec![("[mcp_servers.restitch]".to_owned(), line)]);
    Client {
        name: "codex",
        files: vec![
            project(
                config,
                Content::Toml(vec![
                    (
                        "[mcp_servers.restitch]".to_owned(),
                        format!("command = \"restitch\"\nargs = {}\n", json!(args)),
                    ),
                    ("[features]".to_owned(), "hooks = true\n".to_owned()),
                ]),
            ),
            json_in(
                ".codex/hooks.json",
                json!({ "hooks": {
                    "PreToolUse": [{ "matcher": "apply_patch", "hooks": [on("PreToolUse")] }],
                    "PostToolUse": [{ "matcher": "apply_patch", "hooks": [on("PostToolUse")] }],
                }}),
            ),
        ],
        permission_files: vec![
            project(config, server("default_tools_approval_mode = \"approve\"\n".to_owned())),
            home(
                ".codex",
                Some("CODEX_HOME"),
                (
                    "config.toml",
                    Content::Toml(vec![(
                        format!("[projects.{}]", json!(folder)),
                        "trust_level = \"trusted\"\n".to_owned(),
                    )]),
                ),
            ),
        ],
        without_permissions: "Codex asks before each edit, and when run non-interactively (`codex exec`) it does not edit; in a folder that is not trusted it ignores the project's configuration",
        note: "Codex asks you to trust the hooks once. Some of its models find MCP tools by searching for them.",
    }
}

/// The configuration of Gemini CLI.
fn gemini(folder: &str) -> Client {
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
        permission_files: vec![
            json_in(settings, json!({ "mcpServers": { "restitch": { "trust": true } } })),
            home(
                ".gemini",
                None,
                ("trustedFolders.json", Content::Json(json!({ folder: "TRUST_FOLDER" }))),
            ),
        ],
        without_permissions: "Gemini CLI asks before each edit, and when run non-interactively (`gemini -p`) it does not offer the edit tools; it does not run at all in a folder that is not trusted",
        note: "The hook corrects Gemini's own `replace` before it runs, and denies edits that restitch refuses.",
    }
}

/// The configuration of Qwen Code.
fn qwen(folder: &str) -> Client {
    let settings = ".qwen/settings.json";
    let server = json!({
        "command": "restitch",
        "args": start(Some("claude-code"), &tools("edit"), settings),
        "alwaysLoadTools": true,
    });
    // Qwen Code asks once for each server of a project, and again when the server's configuration
    // changes: it stores a hash of the approved configuration, with its names sorted.
    let mut approved = server.clone();
    approved["trust"] = true.into();
    approved.sort_all_objects();
    let hash = ContentHash::of(approved.to_string().as_bytes()).to_string();
    let approval = json!({ folder: { "restitch": { "hash": hash, "status": "approved" } } });
    Client {
        name: "qwen",
        files: vec![json_in(settings, json!({ "mcpServers": { "restitch": server } }))],
        permission_files: vec![
            json_in(settings, json!({ "mcpServers": { "restitch": { "trust": true } } })),
            home(".qwen", None, ("mcpApprovals.json", Content::Json(approval))),
        ],
        without_permissions: "Qwen Code does not start a project's server before it is approved, and asks before each edit; when run non-interactively (`qwen -p`) it does not edit",
        note: "After a change to the server's configuration, run: qwen mcp approve restitch.",
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
fn copilot(folder: &str) -> Client {
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
        permission_files: vec![home(
            ".copilot",
            Some("COPILOT_HOME"),
            ("config.json", Content::Json(json!({ "trustedFolders": [folder] }))),
        )],
        without_permissions: "Copilot CLI does not start the server in a folder that is not trusted",
        note: "Copilot CLI asks before each edit; `copilot --allow-tool=restitch` lets them through, also with -p.",
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
        note: "The plugin corrects opencode's own `edit` and `apply_patch` before they run. opencode allows MCP tools unless its `permission` says otherwise.",
    }
}
