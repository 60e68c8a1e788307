//! The settings that `init` puts into a file of a client, as text, and as what the file still lacks.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::CstRootNode;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::changes::{Change, is_as_good, is_hook, missing};
use super::{jsonc, toml_text};
use crate::edit::Refusal;

/// The content that `init` puts into a file.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Content {
    Json(Value),
    /// The tables of a TOML file.
    Toml(Value),
    /// The plugin for opencode, a whole file that belongs to restitch.
    Plugin,
}

/// The text of [`Content::Plugin`].
const PLUGIN: &str = include_str!("../../hook/opencode.js");

/// How the settings in `clients.json` start restitch, and how npx does, which downloads the package.
const STARTS: [(&str, &str); 4] = [
    (r#""command":"restitch""#, r#""command":"npx""#),
    (r#""args":["mcp""#, r#""args":["-y","restitch","mcp""#),
    (r#""command":["restitch""#, r#""command":["npx","-y","restitch""#),
    (r#""command":"restitch hook "#, r#""command":"npx -y restitch hook "#),
];

impl Content {
    /// The same settings, in which npx starts restitch. The plugin starts the installed command.
    pub(crate) fn by_npx(&self) -> Self {
        let by_npx = |settings: &Value| {
            let text =
                STARTS.iter().fold(settings.to_string(), |text, (own, npx)| text.replace(own, npx));
            serde_json::from_str(&text).unwrap_or_default()
        };
        match self {
            Self::Json(settings) => Self::Json(by_npx(settings)),
            Self::Toml(tables) => Self::Toml(by_npx(tables)),
            Self::Plugin => Self::Plugin,
        }
    }

    /// The content as the text of a new file.
    pub(crate) fn render(&self) -> String {
        match self {
            Self::Json(value) => format!("{value:#}\n"),
            Self::Toml(tables) => toml_text::render(tables),
            Self::Plugin => PLUGIN.to_owned(),
        }
    }

    /// The settings in the text of a file of this kind; `None` if it cannot be read.
    pub(crate) fn read(&self, text: &str) -> Option<Value> {
        match self {
            Self::Json(_) => parse_json(text).ok()?.to_serde_value(),
            Self::Toml(_) => serde_json::to_value(toml::from_str::<toml::Table>(text).ok()?).ok(),
            Self::Plugin => None,
        }
    }

    /// Whether the text of a file contains all settings, with these values.
    pub(crate) fn is_in(&self, text: &str) -> bool {
        match self {
            Self::Json(ours) | Self::Toml(ours) => {
                self.read(text).is_some_and(|theirs| contains(&theirs, ours))
            }
            Self::Plugin => text == PLUGIN,
        }
    }

    /// The text of an existing file with this content merged into it. Everything else in it stays as it
    /// is, with its comments.
    pub(crate) fn merged_into(&self, text: &str) -> Result<String, Refusal> {
        let merged = match self {
            // A file that belongs to restitch is replaced as a whole.
            Self::Plugin => return Ok(PLUGIN.to_owned()),
            _ if text.trim().is_empty() => return Ok(self.render()),
            Self::Json(ours) => {
                let root = parse_json(text)?;
                let theirs = root.to_serde_value().unwrap_or(Value::Null);
                let changes = changes(&theirs, ours)?;
                if changes.is_empty() {
                    return Ok(text.to_owned());
                }
                jsonc::apply(&root, &changes);
                root.to_string()
            }
            Self::Toml(ours) => {
                let theirs = toml::from_str::<toml::Table>(text)
                    .map_err(|error| unreadable("TOML", error.message()))?;
                let theirs = serde_json::to_value(theirs)
                    .map_err(|error| unreadable("TOML", &error.to_string()))?;
                let changes = changes(&theirs, ours)?;
                if changes.is_empty() {
                    return Ok(text.to_owned());
                }
                toml_text::apply(text, &changes).map_err(|why| unreadable("TOML", &why))?
            }
        };
        let (Self::Json(ours) | Self::Toml(ours)) = self else { return Ok(merged) };
        let is_whole = self
            .read(&merged)
            .is_some_and(|theirs| missing(&theirs, ours).is_ok_and(|rest| rest.is_empty()));
        is_whole.then_some(merged).ok_or_else(|| {
            Refusal::invalid("it cannot be merged by a program", "Merge it by hand.")
        })
    }
}

/// What a file with the settings `theirs` lacks.
fn changes(theirs: &Value, ours: &Value) -> Result<Vec<Change>, Refusal> {
    missing(theirs, ours).map_err(|why| Refusal::invalid(why, "Correct it, or merge by hand."))
}

/// Reads JSON that may have comments and trailing commas, as the clients do.
fn parse_json(text: &str) -> Result<CstRootNode, Refusal> {
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    CstRootNode::parse(text, &options).map_err(|error| unreadable("JSON", &error.to_string()))
}

/// The refusal of a file that is not in its format.
fn unreadable(format: &str, error: &str) -> Refusal {
    let message = format!("the file is not valid {format}: {error}");
    Refusal::invalid(message, "Correct it, or merge by hand.")
}

/// Whether `theirs` contains all settings in `ours`, with the same values. A hook may have other
/// limits.
fn contains(theirs: &Value, ours: &Value) -> bool {
    match (theirs, ours) {
        (Value::Object(theirs), Value::Object(ours)) => {
            let is_hook = ours.get("command").and_then(Value::as_str).is_some_and(is_hook);
            ours.iter().all(|(key, value)| {
                let their = theirs.get(key);
                is_hook && key == "timeout" || their.is_some_and(|their| contains(their, value))
            })
        }
        (Value::Array(theirs), Value::Array(ours)) => {
            ours.iter().all(|value| theirs.iter().any(|their| contains(their, value)))
        }
        (Value::String(theirs), Value::String(ours)) => is_as_good(theirs, ours),
        (theirs, ours) => theirs == ours,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::clients::CLIENTS;
    use super::*;

    #[test]
    fn every_client_can_be_configured_again_and_allowed() {
        assert_eq!(CLIENTS.len(), 10);
        for client in CLIENTS.iter() {
            for file in &client.files {
                let first = file.content.render();
                assert_eq!(file.content.merged_into(&first).expect("again"), first);
                let more = client.permission_files.iter().find(|more| more.path == file.path);
                let Some(more) = more else { continue };
                let merged = more.content.merged_into(&first).expect("merged");
                let hooks = |text: &str| text.matches("restitch hook").count();
                assert_eq!(hooks(&merged), hooks(&first), "{}: {merged}", client.name);
                assert!(file.content.is_in(&merged), "{}: {merged}", client.name);
                assert!(more.content.is_in(&merged), "{}: {merged}", client.name);
            }
        }
    }

    /// What starts restitch is not added a second time in another way, and what starts another program
    /// is the user's.
    #[test]
    fn what_starts_restitch_stays() {
        for client in CLIENTS.iter() {
            for file in &client.files {
                let [installed, npx] = [file.content.clone(), file.content.by_npx()];
                for (first, second) in [(&installed, &npx), (&npx, &installed)] {
                    let text = first.render();
                    assert!(first.is_in(&text), "{text}");
                    assert_eq!(second.merged_into(&text).expect("merged"), text);
                }
                let text = npx.render();
                let count = |words: &str| text.matches(words).count();
                if !matches!(file.content, Content::Plugin) {
                    assert!(text.contains("npx"), "{text}");
                    assert_eq!(count("restitch hook"), count("npx -y restitch hook"), "{text}");
                }
            }
        }
        let ours = Content::Json(json!({ "x": { "command": "restitch", "args": ["mcp", "--a"] } }));
        for own in [
            r#"{ "x": { "command": "restitch", "args": ["mcp", "--guard"] } }"#,
            r#"{ "x": { "command": "/opt/restitch" } }"#,
        ] {
            assert_eq!(ours.merged_into(own).expect("merged"), own);
        }
        let own = r#"{ "x": { "command": "restitch" } }"#;
        assert_eq!(ours.by_npx().merged_into(own).expect("merged"), own);
    }

    /// A hook that the user changed is theirs.
    #[test]
    fn a_changed_hook_is_not_doubled() {
        let command = "restitch hook claude PreToolUse --root-of .claude/settings.json || exit 0";
        let group = |matcher: &str, command: &str| {
            json!({ "hooks": { "PreToolUse": [{ "matcher": matcher, "hooks": [
                { "type": "command", "command": "other" },
                { "type": "command", "command": command, "timeout": 60 },
            ]}]}})
        };
        let ours = Content::Json(json!({ "hooks": { "PreToolUse": [{ "matcher": "Edit", "hooks": [
            { "type": "command", "command": command, "timeout": 30 },
        ]}]}}));
        for own in [command, "restitch hook claude PreToolUse --root /x"] {
            let changed = group("Edit|Write", own).to_string();
            assert_eq!(ours.merged_into(&changed).expect("merged"), changed);
        }
    }

    #[test]
    fn comments_and_every_form_of_a_setting_stay() {
        let ours = Content::Toml(
            json!({ "mcp_servers": { "restitch": { "command": "restitch", "args": ["mcp"] } }, "features": { "hooks": true } }),
        );
        for theirs in [
            "# mine\nmodel = \"x\"\n\n[ mcp_servers.\"restitch\" ] # here\ncommand = \"restitch\"\nargs = ['mcp'] # mine\n\n[features]\nhooks = true\n",
            "features.hooks = true\nmcp_servers = { restitch = { command = \"restitch\", args = [\"mcp\"] } }\n",
        ] {
            assert_eq!(ours.merged_into(theirs).expect("merged"), theirs);
            assert!(ours.is_in(theirs));
        }
        let theirs = "text = '''\n[mcp_servers.restitch]\n[features]\n'''\nfeatures = { a = 1 } # kept\n[mcp_servers.other]\r\ncommand = \"y\"\n";
        let merged = ours.merged_into(theirs).expect("merged");
        assert!(ours.is_in(&merged), "{merged}");
        for part in
            ["'''\n[mcp_servers.restitch]\n[features]\n'''", "# kept", "[mcp_servers.other]"]
        {
            assert!(merged.replace('\r', "").contains(part), "{part}\n{merged}");
        }
        // What the user set otherwise is a choice.
        let merged = ours.merged_into("[features]\nhooks = false\n").expect("merged");
        assert!(
            merged.contains("hooks = false") && merged.contains("[mcp_servers.restitch]"),
            "{merged}"
        );
    }
}
