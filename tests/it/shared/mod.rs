//! Answers and limits that processes share, on a real Redis server that the test starts, and a
//! model server that counts what it is asked.

mod doctor;
mod fifty_processes;
mod limits;
mod outages;
mod single_flight;
mod tampering;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::disk::{count, skip};
use super::model::server::{Answer, ModelServer, Seen};

/// How many tests need the server.
const NEED_SERVER: usize = 28;
const SECRET: &str = "the-secret-of-the-tests-0123456789abcdef";
/// A busy machine may keep a server waiting for longer than a user would.
const LONG_TIMEOUT: &str = "[shared]\ntimeout = 30\n";
const MODEL_KEY: &str = "sk-test-canary-0f1e2d3c4b5a69788796";

/// A server of its own, on a socket in a folder of its own.
struct Redis {
    child: Child,
    folder: tempfile::TempDir,
    program: PathBuf,
    options: Vec<String>,
}

impl Drop for Redis {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Redis {
    /// `None`, said loudly, where there is no such program.
    fn start(test: &str) -> Option<Self> {
        Self::with(test, &[])
    }

    fn with(test: &str, options: &[&str]) -> Option<Self> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
        let named = ["redis-server", "valkey-server"].map(|name| {
            folders.iter().map(|folder| folder.join(name)).find(|program| program.is_file())
        });
        let Some(program) = named.into_iter().flatten().next() else {
            let why = format!(
                "neither redis-server nor valkey-server is installed (apt-get install redis-server), needed by {NEED_SERVER} tests"
            );
            skip(test, &why);
            return None;
        };
        let folder = tempfile::tempdir().expect("folder");
        let options: Vec<String> = options.iter().map(|&option| option.to_owned()).collect();
        let child = Self::spawn(&program, folder.path(), &options);
        let mut redis = Self { child, folder, program, options };
        if !redis.listens() {
            let why = format!("the server ends at once, given {:?}", redis.options);
            skip(test, &why);
            return None;
        }
        Some(redis)
    }

    fn spawn(program: &Path, folder: &Path, options: &[String]) -> Child {
        Command::new(program)
            .args(["--port", "0", "--save", "", "--appendonly", "no", "--unixsocket"])
            .arg(folder.join("socket"))
            .arg("--dir")
            .arg(folder)
            .args(options)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the server starts")
    }

    /// `false`: it ended instead, as one does that was built without an option.
    fn listens(&mut self) -> bool {
        let socket = self.folder.path().join("socket");
        let mut has_ended = false;
        wait_until("the server listens", || {
            has_ended = self.child.try_wait().expect("a child").is_some();
            has_ended || std::os::unix::net::UnixStream::connect(&socket).is_ok()
        });
        !has_ended
    }

    fn url(&self) -> String {
        format!("unix://{}", self.folder.path().join("socket").display())
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("signalled");
    }

    /// It takes connections, and does not answer.
    fn pause(&self) {
        self.signal(Signal::STOP);
    }

    fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Again on the same socket, and empty.
    fn restart(&mut self) {
        self.kill();
        let _ = fs::remove_file(self.folder.path().join("socket"));
        self.child = Self::spawn(&self.program, self.folder.path(), &self.options);
        assert!(self.listens(), "as before");
    }

    /// A connection as another client of the server.
    fn other(&self) -> redis::Connection {
        let client = redis::Client::open(self.url()).expect("address");
        client.get_connection().expect("connected")
    }

    fn keys(&self, kind: &str) -> Vec<String> {
        let mut command = redis::cmd("KEYS");
        let mut keys: Vec<String> =
            command.arg(format!("restitch:{kind}:*")).query(&mut self.other()).expect("keys");
        keys.sort();
        keys
    }

    fn get(&self, key: &str) -> Vec<u8> {
        redis::cmd("GET").arg(key).query(&mut self.other()).expect("value")
    }

    /// How many connections have looked for an answer, and done nothing since.
    fn waiting(&self) -> usize {
        let list: String = redis::cmd("CLIENT").arg("LIST").query(&mut self.other()).expect("list");
        list.lines().filter(|line| line.contains("cmd=getrange")).count()
    }

    fn set(&self, key: &str, value: &[u8]) {
        redis::cmd("SET").arg(key).arg(value).exec(&mut self.other()).expect("set");
    }
}

/// What is summed up in the file that the agents work on.
const WORDS: [&str; 12] = [
    "invoice", "shipment", "refund", "pension", "parcel", "voucher", "tariff", "salary",
    "dividend", "royalty", "mortgage", "bonus",
];

fn signature(word: &str) -> String {
    format!("pub fn {word}_price(entries: &[{word}::Entry], tax: f64) -> f64 {{")
}

fn file() -> String {
    let functions = WORDS.map(|word| {
        format!(
            "{}\n    let {word}s = entries.iter().map(|{word}| {word}.amount);\n    {word}s.sum::<f64>() * tax\n}}\n\n",
            signature(word)
        )
    });
    functions.concat()
}

/// The call that no reading explains, as an agent sends it.
fn call(word: &str) -> (String, String) {
    (
        format!("pub fn {word}(entries: &[{word}::Entry]) -> f64 {{"),
        format!("pub fn {word}(entries: &[{word}::Entry], discount: f64) -> f64 {{"),
    )
}

/// The file after the edits of these.
fn edited(words: &[&str]) -> String {
    words.iter().fold(file(), |text, word| {
        text.replace(
            &signature(word),
            &signature(word).replace("tax: f64)", "tax: f64, discount: f64)"),
        )
    })
}

/// What a good model says to a question about one of the functions.
fn good(seen: &Seen) -> Answer {
    let text = seen.body["messages"][1]["content"].as_str().unwrap_or_default();
    let word = WORDS.iter().find(|word| text.contains(&format!("pub fn {word}(")));
    let Some(word) = word else { return Answer::Content("{}".into()) };
    let answer = match seen.kind() {
        "correct_old" => json!({ "corrected_target_snippet": signature(word) }),
        "adjust_new" => {
            let new = signature(word).replace("tax: f64)", "tax: f64, discount: f64)");
            json!({ "corrected_new_string": new })
        }
        _ => json!({}),
    };
    Answer::Content(answer.to_string())
}

/// The same, but the very first answer only once the flag is set.
fn model_that_waits() -> (ModelServer, Arc<AtomicBool>) {
    let go = Arc::new(AtomicBool::new(false));
    let flag = go.clone();
    let model = ModelServer::start(move |seen, number| match (number, good(seen)) {
        (0, Answer::Content(content)) => Answer::When(flag.clone(), content),
        (_, answer) => answer,
    });
    (model, go)
}

fn good_model() -> ModelServer {
    ModelServer::start(|seen, _| good(seen))
}

/// A sandbox: a root with the file in it, and a state folder.
struct Sandbox {
    folder: tempfile::TempDir,
}

impl Sandbox {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("folder");
        fs::create_dir(folder.path().join("root")).expect("root");
        fs::write(folder.path().join("root/sums.rs"), file()).expect("file");
        Self { folder }
    }

    fn text(&self) -> String {
        fs::read_to_string(self.folder.path().join("root/sums.rs")).expect("file")
    }

    /// The command with that model, and with what the agents of the test share.
    fn command(&self, model: &ModelServer, shared: Option<&str>) -> Command {
        self.with(model, shared, LONG_TIMEOUT)
    }

    /// The command with a configuration of its own too.
    fn configured(&self, model: &ModelServer, shared: &str, config: &str) -> Command {
        self.with(model, Some(shared), config)
    }

    fn with(&self, model: &ModelServer, shared: Option<&str>, config: &str) -> Command {
        let path = self.folder.path().join("config.toml");
        fs::write(&path, config).expect("config");
        let mut command = Command::new(env!("CARGO_BIN_EXE_restitch"));
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.folder.path())
            .env("RESTITCH_STATE_DIR", self.folder.path().join("state"))
            .env("OPENAI_BASE_URL", model.base_url())
            .env("OPENAI_API_KEY", MODEL_KEY)
            .env("RESTITCH_MODEL", "m")
            .stdin(Stdio::null())
            .arg("--root")
            .arg(self.folder.path().join("root"))
            .arg("--config")
            .arg(path);
        if let Some(url) = shared {
            command.env("RESTITCH_REDIS_URL", url).env("RESTITCH_SHARED_SECRET", SECRET);
        }
        command
    }

    fn start(&self, model: &ModelServer, shared: Option<&str>, word: &str) -> Child {
        let mut command = self.command(model, shared);
        edit(&mut command, word).spawn().expect("starts")
    }

    /// One edit; the reply, and what was said on stderr.
    fn edit(&self, model: &ModelServer, shared: Option<&str>, word: &str) -> (Value, String) {
        let child = self.start(model, shared, word);
        wait_for(child)
    }

    /// Edits in one process, one after the other.
    fn batch(&self, mut command: Command, words: &[&str]) -> (Vec<Value>, String) {
        use std::io::Write as _;
        let mut child = command
            .arg("batch")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("starts");
        let mut stdin = child.stdin.take().expect("stdin");
        for word in words {
            let (old, new) = call(word);
            let arguments = json!({ "path": "sums.rs", "old_str": old, "new_str": new });
            writeln!(stdin, "{}", json!({ "tool": "edit_file", "arguments": arguments }))
                .expect("sent");
        }
        drop(stdin);
        let output = child.wait_with_output().expect("ends");
        let text = String::from_utf8(output.stdout).expect("text");
        let replies = text.lines().map(|line| serde_json::from_str(line).expect("a reply"));
        (replies.collect(), String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

fn edit<'a>(command: &'a mut Command, word: &str) -> &'a mut Command {
    let (old, new) = call(word);
    command
        .args(["--json", "edit", "sums.rs", "--old", &old, "--new", &new])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
}

fn wait_for(child: Child) -> (Value, String) {
    let Output { stdout, stderr, .. } = child.wait_with_output().expect("ends");
    let reply = serde_json::from_slice(&stdout).unwrap_or(Value::Null);
    (reply, String::from_utf8_lossy(&stderr).into_owned())
}

/// The lines of a log that warn.
fn warnings(log: &str) -> Vec<&str> {
    log.lines().filter(|line| line.contains("WARN")).collect()
}

/// Waits until something is so, which it is soon unless it never is.
fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(60), "{what}: never");
        std::thread::sleep(Duration::from_millis(5));
    }
}
