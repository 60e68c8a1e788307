//! The real binary against a server on loopback: bodies, headers, number of calls.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use restitch::adapters::openai::{Endpoint, OpenAi, WireLimits};
use restitch::internals::correct::{ModelCorrector, PromptBook, Secrets};

use serde_json::{Value, json};

use super::server::{Answer, ModelServer};
use super::*;

pub(super) const KEY: &str = "sk-test-canary-9f8e7d6c5b4a39281706";

/// The command, with its answers in JSON.
pub(super) fn restitch(root: &Path, state: &Path) -> Command {
    let mut command = plain(root, state);
    command.arg("--json");
    command
}

/// The command, with nothing of the surroundings that names a model.
pub(super) fn plain(root: &Path, state: &Path) -> Command {
    let mut command = crate::sandbox::binary();
    command.env("RESTITCH_STATE_DIR", state).env("XDG_CONFIG_HOME", state).env("HOME", state);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.arg("--root").arg(root);
    command
}

pub(super) struct Bench {
    pub(super) root: tempfile::TempDir,
    pub(super) state: tempfile::TempDir,
}

impl Bench {
    pub(super) fn with(name: &str, content: impl AsRef<[u8]>) -> Self {
        let bench = Self {
            root: tempfile::tempdir().expect("folder"),
            state: tempfile::tempdir().expect("folder"),
        };
        bench.put(name, content);
        bench
    }

    pub(super) fn put(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.root.path().join(name), content).expect("written");
    }

    pub(super) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.root.path().join(name)).expect("readable")
    }

    /// The call that needs a model.
    pub(super) fn edit(&self, server: &ModelServer) -> (Value, Output) {
        self.edit_with(server, |command| command)
    }

    /// The call that needs a model, with a change of the command.
    pub(super) fn edit_with(
        &self,
        server: &ModelServer,
        change: impl FnOnce(&mut Command) -> &mut Command,
    ) -> (Value, Output) {
        let mut command = self.asking(server);
        command.args(["edit", "lib.rs", "--old", OLD, "--new", NEW]);
        let output = change(&mut command).output().expect("runs");
        (serde_json::from_slice(&output.stdout).unwrap_or(Value::Null), output)
    }

    /// The command that asks a server.
    fn asking(&self, server: &ModelServer) -> Command {
        let mut command = restitch(self.root.path(), self.state.path());
        command.env("OPENAI_BASE_URL", server.base_url()).env("OPENAI_API_KEY", KEY);
        command.env("RESTITCH_MODEL", "test-model").env("RESTITCH_LOG", "debug");
        command
    }

    /// The replies of `batch` to these requests.
    pub(super) fn batch(&self, server: &ModelServer, requests: &[Value]) -> Vec<Value> {
        let mut command = self.asking(server);
        command.arg("batch");
        crate::sandbox::batch(command, requests)
    }

    /// The configuration in its usual place.
    pub(super) fn configure(&self, text: &str) {
        let folder = self.state.path().join("restitch");
        crate::sandbox::put(&folder.join("config.toml"), text);
    }
}

/// The corrector that asks a server.
pub(super) fn corrector(server: &ModelServer) -> ModelCorrector<OpenAi> {
    let endpoint = Endpoint { base_url: server.base_url(), model: "m".into(), api_key: None };
    let chat = OpenAi::new(endpoint, WireLimits::default()).expect("client");
    ModelCorrector::new(chat, PromptBook::built_in().expect("prompts"), Secrets::new())
}

/// Answers the asks of the call that needs a model as a good one does.
pub(super) fn good_server() -> ModelServer {
    ModelServer::answering(&[
        ("correct_old", json!({"corrected_target_snippet": CORRECTED_OLD})),
        ("adjust_new", json!({"corrected_new_string": ADJUSTED_NEW})),
    ])
}

#[test]
fn a_miss_is_recovered_with_two_requests_and_all_is_said() {
    let bench = Bench::with("lib.rs", FILE);
    let server = good_server();
    let (reply, output) = bench.edit(&server);
    assert_eq!(bench.read("lib.rs"), after(), "{reply}");
    assert_eq!(output.status.code(), Some(0));
    let report = &reply["report"];
    assert_eq!(report["rung"], "model");
    assert_eq!(report["corrected"], json!({"old_str": CORRECTED_OLD, "new_str": ADJUSTED_NEW}));
    assert_eq!(report["attempts"].as_array().map(Vec::len), Some(2));
    assert_eq!(report["model"]["calls"], 2);
    assert_eq!(report["model"]["prompt_tokens"], 200);
    let seen = server.seen();
    let sent: usize = seen.iter().map(|s| s.bytes).sum();
    assert_eq!(report["model"]["prompt_bytes"], sent);
    for request in &seen {
        assert_eq!(request.line, "POST /v1/chat/completions HTTP/1.1");
        assert_eq!(request.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
        assert_eq!(request.body["model"], "test-model");
        assert_eq!(request.format(), "json_schema");
        let schema = &request.body["response_format"]["json_schema"];
        assert_eq!(schema["strict"], true);
        assert_eq!(schema["schema"]["additionalProperties"], false);
    }
    assert_eq!(seen[0].kind(), "correct_old");
    assert_eq!(seen[1].kind(), "adjust_new");
    let logs = String::from_utf8_lossy(&output.stderr);
    assert!(logs.contains("correct_old") && logs.contains("sha256"), "{logs}");
    assert!(!logs.contains(KEY), "the key is in the logs");
    assert!(!logs.contains("total_price"), "content is in the logs: {logs}");
}

#[test]
fn a_dry_run_asks_and_writes_nothing() {
    let bench = Bench::with("lib.rs", FILE);
    let server = good_server();
    let (reply, _) = bench.edit_with(&server, |command| command.arg("--dry-run"));
    assert_eq!(reply["report"]["rung"], "model");
    assert_eq!(bench.read("lib.rs"), FILE);
}

/// Servers that know only some forms of structured answers.
fn picky(known: &'static [&'static str]) -> ModelServer {
    ModelServer::start(move |seen, _| {
        let strict = seen.body["response_format"]["json_schema"]["strict"] == true;
        let form = if strict { "strict" } else { seen.format() };
        if !known.contains(&form) {
            let body = json!({"error": "'response_format.type' is not supported"});
            return Answer::Json(400, body);
        }
        let content = match seen.kind() {
            "correct_old" => json!({"corrected_target_snippet": CORRECTED_OLD}),
            _ => json!({"corrected_new_string": ADJUSTED_NEW}),
        };
        Answer::Content(format!("<think>hm {{}}</think>\n```json\n{content}\n```"))
    })
}

#[test]
fn servers_without_strict_schemas_are_asked_more_simply_and_remembered() {
    for (known, first) in
        [(&["strict"][..], 2), (&["json_schema"][..], 3), (&["json_object"][..], 4)]
    {
        let server = picky(known);
        let bench = Bench::with("lib.rs", FILE);
        let (reply, _) = bench.edit(&server);
        assert_eq!(bench.read("lib.rs"), after(), "{known:?} {reply}");
        assert_eq!(server.seen().len(), first, "{known:?}");
        // Another process knows by now.
        bench.put("lib.rs", FILE);
        bench.edit(&server);
        assert_eq!(bench.read("lib.rs"), after(), "{known:?}");
        assert_eq!(server.seen().len(), first + 2, "{known:?}");
    }
}

#[test]
fn a_server_for_plain_text_only_never_costs_more_than_four_requests() {
    let server = picky(&["none"]);
    let bench = Bench::with("lib.rs", FILE);
    bench.edit(&server);
    assert_eq!(server.seen().len(), 4, "the first call finds out");
    bench.put("lib.rs", FILE);
    let (reply, _) = bench.edit(&server);
    assert_eq!(bench.read("lib.rs"), after(), "{reply}");
    assert_eq!(server.seen().len(), 6);
}

#[test]
fn files_and_lines_that_look_like_secrets_are_never_sent() {
    let canary = "s3cr3tCanary99x";
    let secret_line = format!("{FILE}const PASSWORD: &str = \"{canary}\";\n");
    // A file by its name: nothing is asked.
    let bench = Bench::with("prod.tfvars", FILE);
    let server = good_server();
    let call = json!({"path": "prod.tfvars", "old_str": OLD, "new_str": NEW});
    let reply = &bench.batch(&server, &[json!({"arguments": call})])[0];
    assert_eq!(reply["code"], "EDIT_NO_OCCURRENCE_FOUND");
    let attempt = &reply["report"]["attempts"][0];
    assert_eq!(attempt["outcome"], "skipped");
    assert!(attempt["detail"].to_string().contains("CORRECTION_SKIPPED_SENSITIVE"), "{attempt}");
    assert_eq!(server.seen().len(), 0);
    // A secret in the call itself: a placeholder is sent, and the secret is written.
    let bench = Bench::with("lib.rs", FILE);
    let server = ModelServer::start(|seen, _| {
        let sent = seen.body.to_string();
        let word = sent.split(['\\', '"']).find(|word| word.starts_with("MASKED_"));
        let text =
            format!("{ADJUSTED_NEW}\nconst PASSWORD: &str = \"{}\";", word.unwrap_or_default());
        let answer = json!({"status": "edit", "candidate": 1, "start_line": 3, "end_line": 3,
            "corrected_target_snippet": null, "corrected_new_string": text});
        Answer::Content(answer.to_string())
    });
    let own = format!("const PASSWORD: &str = \"{canary}\";");
    let mut command = bench.asking(&server);
    command.args(["edit", "lib.rs", "--old", OLD, "--new", &format!("{NEW}\n{own}")]);
    let output = command.output().expect("runs");
    let wanted = FILE.replace(CORRECTED_OLD, &format!("{ADJUSTED_NEW}\n{own}"));
    assert_eq!(bench.read("lib.rs"), wanted, "{output:?}");
    assert!(!String::from_utf8_lossy(&output.stderr).contains(canary));
    assert!(!format!("{:?}", server.seen()).contains(canary));
    // A secret beside the place: it is asked without it.
    let bench = Bench::with("lib.rs", &secret_line);
    let server = good_server();
    let (reply, _) = bench.edit(&server);
    assert_eq!(reply["ok"], true, "{reply}");
    assert!(bench.read("lib.rs").contains(canary), "the file keeps it");
    assert!(!server.seen().is_empty());
    for seen in server.seen() {
        assert!(!format!("{seen:?}").contains(canary), "{seen:?}");
    }
}

#[test]
fn a_key_that_is_no_header_is_refused_without_a_panic() {
    let bench = Bench::with("lib.rs", FILE);
    let server = good_server();
    let (_, output) =
        bench.edit_with(&server, |command| command.env("OPENAI_API_KEY", "sk-\u{1}broken"));
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("API key"));
}
