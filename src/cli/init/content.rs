//! The settings that `init` puts into a file of a client, as text, and as what the file still lacks.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::CstRootNode;
use serde::Serialize as _;
use serde_json::Value;

use super::changes::{Change, missing};
use super::{jsonc, toml_text};
use crate::edit::{EditCode, Refusal};

/// The content that `init` puts into a file.
pub(crate) enum Content {
    Json(Value),
    /// The tables of a TOML file.
    Toml(Value),
    /// A whole file that belongs to restitch.
    Ours(&'static str),
}

/// The command that starts restitch without an installation: npx downloads the package.
const NPX: [&str; 3] = ["npx", "-y", "restitch"];

/// The end of a hook's command. It lets the client go on where restitch is missing or fails. It is the
/// same in the shells of all systems.
const OR_GO_ON: &str = " || exit 0";

/// The flag of a hook that may answer `allow`, because the user chose so.
const APPROVE: &str = " --approve";

/// The same configuration, in which npx starts restitch. The command line may be in the fields
/// `command` and `args`, in one list, or in one string.
fn with_npx(value: Value) -> Value {
    let with_npx_first = |list: Vec<Value>| {
        NPX.iter().map(|word| Value::from(*word)).chain(list.into_iter().skip(1)).collect()
    };
    match value {
        Value::Array(list) if list.first().is_some_and(|first| first == "restitch") => {
            Value::Array(with_npx_first(list))
        }
        Value::Array(list) => Value::Array(list.into_iter().map(with_npx).collect()),
        Value::String(text) => match text.strip_prefix("restitch ") {
            Some(arguments) => Value::String(format!("{} {arguments}", NPX.join(" "))),
            None => Value::String(text),
        },
        Value::Object(mut fields) => {
            if fields.get("command").is_some_and(|command| command == "restitch")
                && let Some(Value::Array(args)) = fields.get_mut("args")
            {
                args.splice(0..0, NPX[1..].iter().map(|word| Value::from(*word)));
                fields.insert("command".to_owned(), NPX[0].into());
            }
            Value::Object(fields.into_iter().map(|(key, value)| (key, with_npx(value))).collect())
        }
        other => other,
    }
}

/// The same configuration, in which the installed command starts restitch instead of npx.
pub(super) fn without_npx(value: Value) -> Value {
    let starts_with = |list: &[Value], words: &[&str]| {
        list.len() >= words.len() && words.iter().zip(list).all(|(word, item)| item == word)
    };
    match value {
        Value::Array(mut list) if starts_with(&list, &NPX) => {
            list.drain(..NPX.len() - 1);
            Value::Array(list)
        }
        Value::Array(list) => Value::Array(list.into_iter().map(without_npx).collect()),
        Value::String(text) => match text.strip_prefix(&format!("{} ", NPX.join(" "))) {
            Some(arguments) => Value::String(format!("restitch {arguments}")),
            None => Value::String(text),
        },
        Value::Object(mut fields) => {
            if fields.get("command").is_some_and(|command| command == NPX[0])
                && let Some(Value::Array(args)) = fields.get_mut("args")
                && starts_with(args, &NPX[1..])
            {
                args.drain(..NPX.len() - 1);
                fields.insert("command".to_owned(), "restitch".into());
            }
            let fields = fields.into_iter().map(|(key, value)| (key, without_npx(value)));
            Value::Object(fields.collect())
        }
        other => other,
    }
}

/// What a hook's command does, without how it starts restitch and how it ends; `None` for a command
/// that is not a hook of restitch.
pub(super) fn hook_of(command: &str) -> Option<String> {
    let installed = without_npx(Value::from(command));
    let hook = installed.as_str()?.strip_prefix("restitch ")?;
    let hook = hook.strip_suffix(OR_GO_ON).unwrap_or(hook);
    hook.starts_with("hook ").then(|| hook.replacen(APPROVE, "", 1))
}

/// Whether a hook's command may answer `allow`.
pub(super) fn approves(command: &str) -> bool {
    command.contains(APPROVE)
}

/// The hook's command for this event of a client.
pub(super) fn hook_command(client: &str, event: &str, configuration: &str) -> String {
    format!("restitch hook {client} {event} --root-of {configuration}{OR_GO_ON}")
}

/// The same command, which may answer `allow`.
pub(super) fn approving(hook_command: &str) -> String {
    match hook_command.strip_suffix(OR_GO_ON) {
        Some(hook) => format!("{hook}{APPROVE}{OR_GO_ON}"),
        None => format!("{hook_command}{APPROVE}"),
    }
}

impl Content {
    /// The same content, in which npx starts restitch.
    pub(crate) fn with_npx(&self) -> Self {
        match self {
            Self::Json(value) => Self::Json(with_npx(value.clone())),
            Self::Toml(tables) => Self::Toml(with_npx(tables.clone())),
            Self::Ours(text) => Self::Ours(text),
        }
    }

    /// The content as the text of a new file.
    pub(crate) fn render(&self) -> String {
        match self {
            Self::Json(value) => pretty(value),
            Self::Toml(tables) => toml_text::render(tables),
            Self::Ours(text) => (*text).to_owned(),
        }
    }

    /// The settings in the text of a file of this kind; `None` if it cannot be read.
    pub(crate) fn read(&self, text: &str) -> Option<Value> {
        match self {
            Self::Json(_) => parse_json(text).ok()?.to_serde_value(),
            Self::Toml(_) => serde_json::to_value(toml::from_str::<toml::Table>(text).ok()?).ok(),
            Self::Ours(_) => None,
        }
    }

    /// Whether the text of a file contains all settings, with these values. How restitch is started
    /// does not matter.
    pub(crate) fn is_in(&self, text: &str) -> bool {
        match self {
            Self::Json(ours) | Self::Toml(ours) => {
                self.read(text).is_some_and(|theirs| contains(&without_npx(theirs), ours))
            }
            Self::Ours(ours) => text == *ours,
        }
    }

    /// Whether the text of a file starts restitch by npx.
    pub(crate) fn starts_npx(&self, text: &str) -> bool {
        let npx = self.with_npx();
        let (Self::Json(ours) | Self::Toml(ours)) = &npx else { return false };
        self.read(text)
            .is_some_and(|theirs| theirs != without_npx(theirs.clone()) && contains(&theirs, ours))
    }

    /// The text of an existing file with this content merged into it. Everything else in it stays as it
    /// is, with its comments.
    pub(crate) fn merged_into(&self, text: &str) -> Result<String, Refusal> {
        match self {
            // A file that belongs to restitch is replaced as a whole.
            Self::Ours(ours) => Ok((*ours).to_owned()),
            _ if text.trim().is_empty() => Ok(self.render()),
            Self::Json(ours) => {
                let root = parse_json(text)?;
                let theirs = root.to_serde_value().unwrap_or(Value::Null);
                let changes = self.changes(&theirs, ours)?;
                if changes.is_empty() {
                    return Ok(text.to_owned());
                }
                jsonc::apply(&root, &changes);
                self.checked(root.to_string())
            }
            Self::Toml(ours) => {
                let parsed: toml::Table =
                    toml::from_str(text).map_err(|error| unreadable("TOML", error.message()))?;
                let theirs = serde_json::to_value(parsed)
                    .map_err(|error| unreadable("TOML", &error.to_string()))?;
                let changes = self.changes(&theirs, ours)?;
                if changes.is_empty() {
                    return Ok(text.to_owned());
                }
                let merged =
                    toml_text::apply(text, &changes).map_err(|why| unreadable("TOML", &why))?;
                self.checked(merged)
            }
        }
    }

    /// What a file with the settings `theirs` lacks.
    fn changes(&self, theirs: &Value, ours: &Value) -> Result<Vec<Change>, Refusal> {
        missing(theirs, ours).map_err(|why| {
            Refusal::new(EditCode::InvalidArguments, why).hint("Correct it, or merge by hand.")
        })
    }

    /// The merged text, if nothing is missing in it any more.
    fn checked(&self, merged: String) -> Result<String, Refusal> {
        let (Self::Json(ours) | Self::Toml(ours)) = self else { return Ok(merged) };
        let is_whole = self
            .read(&merged)
            .is_some_and(|theirs| missing(&theirs, ours).is_ok_and(|rest| rest.is_empty()));
        is_whole.then_some(merged).ok_or_else(|| {
            Refusal::new(EditCode::InvalidArguments, "it cannot be merged by a program")
                .hint("Merge it by hand.")
        })
    }
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
    Refusal::new(EditCode::InvalidArguments, format!("the file is not valid {format}: {error}"))
        .hint("Correct it, or merge by hand.")
}

/// Whether `theirs` contains all settings in `ours`, with the same values. A hook may have other limits
/// and end in another way.
fn contains(theirs: &Value, ours: &Value) -> bool {
    match (theirs, ours) {
        (Value::Object(theirs), Value::Object(ours)) => {
            let is_hook = ours
                .get("command")
                .and_then(Value::as_str)
                .is_some_and(|command| hook_of(command).is_some());
            ours.iter().all(|(key, value)| {
                let their = theirs.get(key);
                is_hook && key == "timeout" || their.is_some_and(|their| contains(their, value))
            })
        }
        (Value::Array(theirs), Value::Array(ours)) => {
            ours.iter().all(|value| theirs.iter().any(|their| contains(their, value)))
        }
        (Value::String(theirs), Value::String(ours)) if theirs != ours => {
            hook_of(ours).is_some_and(|ours| hook_of(theirs) == Some(ours))
                && (approves(theirs) || !approves(ours))
        }
        (theirs, ours) => theirs == ours,
    }
}

/// The value as indented JSON.
fn pretty(value: &Value) -> String {
    let mut out = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(b"  ");
    let mut serializer = serde_json::Serializer::with_formatter(&mut out, formatter);
    match value.serialize(&mut serializer) {
        Ok(()) => String::from_utf8_lossy(&out).into_owned() + "\n",
        Err(_) => format!("{value}\n"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::clients::{CLIENTS, client};
    use super::*;

    #[test]
    fn the_way_to_start_is_replaced_and_not_added() {
        for name in CLIENTS {
            let client = client(name).expect("known");
            for file in client.files.iter().chain(&client.permission_files) {
                let (plain, npx) = (&file.content, file.content.with_npx());
                if matches!(plain, Content::Ours(_)) {
                    continue;
                }
                for (first, second) in [(plain, &npx), (&npx, plain)] {
                    let merged = second.merged_into(&first.render()).expect("merged");
                    let starts = |text: &str| text.matches("restitch hook").count();
                    assert_eq!(starts(&merged), starts(&second.render()), "{name}: {merged}");
                    assert_eq!(
                        merged.matches("npx").count(),
                        second.render().matches("npx").count(),
                        "{name}: {merged}"
                    );
                    assert!(plain.is_in(&merged), "{name} {}: {merged}", file.path);
                    assert_eq!(second.merged_into(&merged).expect("again"), merged, "{name}");
                }
            }
        }
        // What the user added stays, and so does a list of arguments of the user's own.
        let ours =
            json!({ "restitch": { "command": "restitch", "args": ["mcp", "--tools", "a"] } });
        let theirs = r#"{ "restitch": { "command": "npx", "args": ["-y", "restitch", "mcp"], "env": { "A": "1" } } }"#;
        let merged = Content::Json(ours.clone()).merged_into(theirs).expect("merged");
        let merged: Value = serde_json::from_str(&merged).expect("JSON");
        assert_eq!(merged["restitch"]["args"], ours["restitch"]["args"]);
        assert_eq!(merged["restitch"]["command"], "restitch");
        assert_eq!(merged["restitch"]["env"]["A"], "1");
        let own = r#"{ "restitch": { "command": "restitch", "args": ["mcp", "--guard"] } }"#;
        assert_eq!(Content::Json(ours).merged_into(own).expect("merged"), own);
    }

    #[test]
    fn npx_brings_the_command_for_every_client() {
        for name in CLIENTS {
            let client = client(name).expect("known");
            for file in &client.files {
                if let Content::Json(value) | Content::Toml(value) = &file.content {
                    let npx = with_npx(value.clone());
                    assert_ne!(npx, *value, "{name} {}", file.path);
                    assert_eq!(without_npx(npx.clone()), *value, "{name} {}", file.path);
                }
            }
        }
    }

    /// A hook that the user changed is theirs; only its end and its start are kept right.
    #[test]
    fn a_changed_hook_is_not_doubled() {
        let command = hook_command("claude", "PreToolUse", ".claude/settings.json");
        let group = |matcher: &str, command: &str, timeout: u32| {
            json!({ "hooks": { "PreToolUse": [{ "matcher": matcher, "hooks": [
                { "type": "command", "command": "other" },
                { "type": "command", "command": command, "timeout": timeout },
            ]}]}})
        };
        let ours = json!({ "hooks": { "PreToolUse": [{ "matcher": "Edit", "hooks": [
            { "type": "command", "command": command, "timeout": 30 },
        ]}]}});
        let ours = Content::Json(ours);
        let changed = group("Edit|Write", &command, 60).to_string();
        assert_eq!(ours.merged_into(&changed).expect("merged"), changed);
        let old = command.trim_end_matches(OR_GO_ON);
        let merged = ours.merged_into(&group("Edit|Write", old, 60).to_string()).expect("merged");
        assert_eq!(
            serde_json::from_str::<Value>(&merged).expect("JSON"),
            group("Edit|Write", &command, 60)
        );
        let own = group("Edit", "restitch hook claude PreToolUse --root /x", 60).to_string();
        assert_eq!(ours.merged_into(&own).expect("merged"), own);
    }

    #[test]
    fn comments_and_every_form_of_a_setting_stay() {
        let ours =
            Content::Json(json!({ "servers": { "restitch": { "args": ["mcp"] } }, "on": true }));
        let theirs = "// mine\n{\n    \"big\": 12345678901234567890123,  \"f\": 1.0e+3, /* b */\n    \"servers\": {\"x\": [1.50]}, // last\n}\n";
        let merged = ours.merged_into(theirs).expect("merged");
        for part in [
            "// mine\n{\n    \"big\": 12345678901234567890123,  \"f\": 1.0e+3, /* b */\n",
            "\"x\": [1.50]",
            "// last",
        ] {
            assert!(merged.contains(part), "{part}\n{merged}");
        }
        assert!(ours.is_in(&merged), "{merged}");
        assert_eq!(ours.merged_into(&merged).expect("merged"), merged, "nothing is missing");

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

    #[test]
    fn nothing_is_no_setting_and_something_else_is_refused() {
        let ours = Content::Json(json!({ "hooks": { "Pre": [{ "a": 1 }] } }));
        for nothing in [
            "{}",
            "{\"hooks\": null}",
            "{\"hooks\": []}",
            "{\"hooks\": {\"Pre\": null}}",
            "{\"hooks\": {}}",
        ] {
            assert!(ours.is_in(&ours.merged_into(nothing).expect(nothing)), "{nothing}");
        }
        for wish in ["{\"hooks\": [1]}", "{\"hooks\": \"no\"}", "{\"hooks\": {\"Pre\": 7}}", "[]7"]
        {
            assert!(ours.merged_into(wish).is_err(), "{wish}");
        }
    }
}
