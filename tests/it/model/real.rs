//! Failing edits against real servers with a small real model: llama.cpp's own server,
//! llama-cpp-python's, and LiteLLM in front of the first. The model knows little, which is
//! the point: what it gets wrong must not be written, and what a server does not take must
//! not be sent to it twice. LiteLLM has a cache, and answers without the model what was asked
//! before. `tests/it/model/servers/run.sh` installs and runs all of it.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::wire::{Bench, restitch};
use super::*;
use crate::rows::rows;
use crate::sandbox::{Running, finish};

/// The key of the proxy, which wants one.
const KEY: &str = "sk-for-the-proxy-on-loopback-1f6c";
/// What a call may take at most, in seconds: the machine may be busy with other things.
const BUDGET: u64 = 90;
/// Longer than any answer to these questions needs to be, in tokens.
const MOST_ANSWER: u64 = 1000;

struct Server {
    name: &'static str,
    port: u16,
    child: Running,
}

impl Server {
    /// Starts a server and waits until it answers; the error says why it does not.
    fn start(
        name: &'static str,
        folder: &Path,
        command: &mut Command,
        port: u16,
    ) -> Result<Self, String> {
        let log = folder.join(format!("{name}.log"));
        let out = std::fs::File::create(&log).map_err(|error| error.to_string())?;
        let errors = out.try_clone().map_err(|error| error.to_string())?;
        let child = command.stdin(Stdio::null()).stdout(out).stderr(errors).spawn();
        let child = child.map_err(|error| format!("does not start: {error}"))?;
        let mut server = Self { name, port, child: Running(child) };
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(240) {
            if server.child.0.try_wait().is_ok_and(|end| end.is_some()) {
                return Err(format!("ended at once; see {}", log.display()));
            }
            if server.answers() {
                return Ok(server);
            }
            std::thread::sleep(Duration::from_millis(500));
        }
        Err(format!("is not ready after 240 s; see {}", log.display()))
    }

    fn answers(&self) -> bool {
        let Ok(mut socket) = TcpStream::connect(("127.0.0.1", self.port)) else { return false };
        let _ = socket.set_read_timeout(Some(Duration::from_secs(10)));
        let request = format!(
            "GET /v1/models HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {KEY}\r\nconnection: close\r\n\r\n"
        );
        let mut answer = [0; 12];
        socket.write_all(request.as_bytes()).is_ok()
            && socket.read_exact(&mut answer).is_ok()
            && answer.ends_with(b" 200")
    }

    fn base_url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").expect("port").local_addr().expect("address").port()
}

/// What `install.sh` made.
fn installed() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/servers");
    folder.join("gemma.gguf").is_file().then_some(folder)
}

/// A call that nothing explains: the file, the call, and what the agent wants.
struct Failing {
    path: &'static str,
    file: String,
    old: &'static str,
    new: &'static str,
    /// What may be in the file afterwards; it may also be as before.
    right: Vec<String>,
}

fn failing() -> Vec<Failing> {
    let stale = |path, file: &str, old, new, from: &str, to: &str| Failing {
        path,
        file: file.into(),
        old,
        new,
        right: vec![file.replace(from, to)],
    };
    // Whether the new line has lost a tab too cannot be told.
    let tabs = "const tabs = [\n\t\t{\n\t\t\tcount: errors,\n\t\t},\n];\n";
    let mut long = String::new();
    for n in 0..30 {
        long.push_str(&format!("func step{n}(value int) int {{\n\treturn value*{n} + 1\n}}\n\n"));
    }
    long.push_str("func limit(value int) int {\n\treturn min(value, 4500)\n}\n");
    vec![
        Failing { path: "lib.rs", file: FILE.into(), old: OLD, new: NEW, right: vec![after()] },
        stale(
            "options.js",
            "const options = {\n  retries: 2,\n  timeout: 4500,\n};\n",
            "  timeout: 3000,\n",
            "  timeout: 8000,\n",
            "4500",
            "8000",
        ),
        stale(
            "load.py",
            "def load(path):\n    limit = 20\n    return read(path, limit)\n",
            "    limit = 10  # lines\n",
            "    limit = 50\n",
            "20",
            "50",
        ),
        Failing {
            path: "tabs.js",
            file: tabs.into(),
            old: "\t\tcount: errors,\n\t},\n",
            new: "\t\tcount: errors,\n\t\t\tshort: true,\n\t},\n",
            right: ["\t\t\t", "\t\t\t\t"]
                .map(|depth| tabs.replace("errors,\n", &format!("errors,\n{depth}short: true,\n")))
                .to_vec(),
        },
        stale(
            "limit.go",
            &long,
            "\treturn min(value, 3000)\n",
            "\treturn min(value, 8000)\n",
            "4500",
            "8000",
        ),
        Failing {
            path: "nothing.rs",
            file: FILE.into(),
            old: "impl Display for Basket {\n    fn fmt(&self) {}\n}",
            new: "impl Debug for Basket {\n    fn fmt(&self) {}\n}",
            right: Vec::new(),
        },
    ]
}

/// The answers to each call as a dry run and then for good, in one process with no answers of its
/// own yet, and its log.
fn ask(server: &Server, calls: &[Failing]) -> (Bench, Vec<Value>, String) {
    let bench = Bench::with(calls[0].path, &calls[0].file);
    let mut input = String::new();
    for call in calls {
        bench.put(call.path, &call.file);
        for dry_run in [true, false] {
            let arguments = json!({"path": call.path, "old_str": call.old, "new_str": call.new});
            input.push_str(&json!({"dry_run": dry_run, "arguments": arguments}).to_string());
            input.push('\n');
        }
    }
    let config = bench.state.path().join("model.toml");
    let section = format!("[model]\ntimeout = {BUDGET}\n");
    std::fs::write(&config, section).expect("written");
    let mut command = restitch(bench.root.path(), bench.state.path());
    command.env("OPENAI_BASE_URL", server.base_url()).env("OPENAI_API_KEY", KEY);
    command.env("RESTITCH_MODEL", "gemma").env("RESTITCH_LOG", "debug");
    command.arg("--config").arg(&config).arg("batch");
    let output = finish(command, input.as_bytes());
    let logs = String::from_utf8_lossy(&output.stderr).into_owned();
    let replies: Vec<Value> = rows(&String::from_utf8_lossy(&output.stdout));
    assert_eq!(replies.len(), 2 * calls.len(), "{logs}");
    (bench, replies, logs)
}

fn run(server: &Server) -> String {
    let calls = failing();
    let (bench, replies, logs) = ask(server, &calls);
    let name = server.name;
    let (mut written, mut requests, mut slowest, mut hits) = (0, 0, 0, 0);
    let mut outcomes = std::collections::BTreeMap::<String, u32>::new();
    for (call, replies) in calls.iter().zip(replies.chunks(2)) {
        let now = bench.read(call.path);
        if now != call.file {
            assert!(call.right.contains(&now), "{name}: wrong bytes: {}", replies[1]);
            written += 1;
        }
        for reply in replies {
            for attempt in reply["report"]["attempts"].as_array().into_iter().flatten() {
                let detail = attempt["detail"].as_str().expect("detail");
                assert!(!detail.contains("the server answered"), "{name}: {reply}");
                let outcome =
                    format!("{}: {detail}", attempt["outcome"].as_str().expect("outcome"));
                *outcomes.entry(outcome).or_default() += 1;
            }
            let model = &reply["report"]["model"];
            let count = |name: &str| model[name].as_u64().unwrap_or(0);
            assert!(count("calls") <= 4, "{name}: {reply}");
            assert!(count("millis") <= BUDGET * 1000 + 1000, "{name}: out of time: {reply}");
            assert!(
                count("completion_tokens") <= count("calls") * MOST_ANSWER,
                "{name}: an answer without end: {reply}"
            );
            requests += count("calls");
            slowest = slowest.max(count("millis"));
        }
        // What passed, and that nothing is like it, is known the second time.
        let kept = |reply: &Value| {
            let attempts = reply["report"]["attempts"].as_array();
            attempts.is_some_and(|attempts| {
                !attempts.is_empty()
                    && attempts.iter().all(|attempt| {
                        attempt["outcome"] == "accepted" || attempt["outcome"] == "declined"
                    })
            })
        };
        if kept(&replies[0]) {
            let model = &replies[1]["report"]["model"];
            assert_eq!(model["calls"], 0, "{name}: asked again: {}", replies[1]);
            assert!(model["cached"].as_u64() > Some(0), "{name}: {}", replies[1]);
            hits += 1;
        }
    }
    // What is asked to choose by number answers with one of the numbers.
    assert!(name != "llama-server" || hits > 0, "{name}: no answer was kept: {outcomes:#?}");
    let lacks = logs.matches("the server lacks this").count();
    assert!(lacks <= 3, "{name}: what it lacks is remembered\n{logs}");
    format!(
        "{name}: {} calls, {requests} requests, {lacks} of them not taken in the first form; \
         {written} written, 0 wrong; {hits} answers kept and found again; slowest {:.1} s; answers: {outcomes:#?}",
        replies.len(),
        f64::from(u32::try_from(slowest).unwrap_or(u32::MAX)) / 1000.0
    )
}

/// The same calls again from a machine that has asked nothing, when the model is gone: what the
/// gateway keeps answers them.
fn check_cache(gateway: &Server, model: Server) {
    drop(model);
    let (_, replies, logs) = ask(gateway, &failing());
    let answered = replies.iter().filter(|reply| {
        reply["report"]["model"]["completion_tokens"].as_u64().is_some_and(|tokens| tokens > 0)
    });
    let answered = answered.count();
    assert!(answered > 0, "{}: no answer without the model\n{logs}", gateway.name);
    println!("{}: {answered} calls answered without the model", gateway.name);
}

fn doctor(server: &Server) -> String {
    let bench = Bench::with("lib.rs", FILE);
    let mut command = restitch(bench.root.path(), bench.state.path());
    command.env("OPENAI_API_KEY", KEY).args(["--base-url", &server.base_url()]);
    let output = command.args(["--model", "gemma", "doctor"]).output().expect("runs");
    let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let findings = found["findings"].as_array().expect("findings");
    let of_the_model = findings.iter().filter(|finding| finding["what"] == "endpoint");
    of_the_model
        .map(|finding| {
            assert!(finding["detail"].as_str().is_some_and(|text| !text.is_empty()), "{found}");
            format!("\n  {}: {} {}", finding["what"], finding["outcome"], finding["detail"])
        })
        .collect()
}

fn check(server: &Server) {
    println!("{}", run(server));
    println!("  doctor on {}:{}", server.name, doctor(server));
}

#[test]
fn failing_edits_against_real_servers() {
    let skipped = crate::disk::skip;
    let hint = "tests/it/model/servers/run.sh installs and runs it";
    if !crate::long::is_long_run() {
        return skipped("3 real servers", &format!("a long proof; {hint}"));
    }
    let Some(folder) = installed() else {
        return skipped("3 real servers", &format!("none is installed; {hint}"));
    };
    let python = folder.join("venv/bin/python");
    let serve = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/model/servers/serve.py");
    let model = folder.join("gemma.gguf");

    let port = free_port();
    let mut command = Command::new(&python);
    command.arg(&serve).arg("llama").arg(&model).arg(port.to_string());
    match Server::start("llama-server", &folder, &mut command, port) {
        Ok(llama) => {
            check(&llama);
            let (port, config) = (free_port(), folder.join("litellm.yaml"));
            let text = format!(
                "model_list:\n  - model_name: gemma\n    litellm_params:\n      model: openai/gemma\n      api_base: {}\n      api_key: none\ngeneral_settings:\n  master_key: {KEY}\nlitellm_settings:\n  cache: true\n  cache_params:\n    type: local\n",
                llama.base_url()
            );
            std::fs::write(&config, text).expect("written");
            let mut command = Command::new(&python);
            command
                .arg(&serve)
                .arg(folder.join("venv/bin/litellm"))
                .arg("--config")
                .arg(&config)
                .args(["--host", "127.0.0.1", "--port"]);
            command.arg(port.to_string());
            match Server::start("LiteLLM", &folder, &mut command, port) {
                Ok(proxy) => {
                    check(&proxy);
                    check_cache(&proxy, llama);
                }
                Err(why) => skipped("LiteLLM", &why),
            }
        }
        Err(why) => skipped("llama-server and LiteLLM", &why),
    }

    let port = free_port();
    let mut command = Command::new(&python);
    command.arg(&serve).arg(&python);
    command.args(["-m", "llama_cpp.server", "--host", "127.0.0.1", "--n_ctx", "8192", "--model"]);
    command.arg(&model).args(["--port", &port.to_string()]);
    match Server::start("llama-cpp-python", &folder, &mut command, port) {
        Ok(server) => check(&server),
        Err(why) => skipped("llama-cpp-python", &why),
    }
}
