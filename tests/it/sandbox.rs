//! A root and a state folder that go away with the test, and the real binary over them.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use restitch::engine::Engine;
use restitch::store::{DiskOptions, DiskStore};
use serde_json::Value;

use crate::client::Client;
use crate::rows::rows;

/// The binary, with nothing of this process's environment that matters to it.
pub(crate) fn binary() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_restitch"));
    for name in [
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        "RESTITCH_CLIENT",
        "RESTITCH_CONFIG",
        "RESTITCH_LOG",
        "RESTITCH_MODEL",
        "http_proxy",
        "HTTP_PROXY",
    ] {
        command.env_remove(name);
    }
    command
}

/// A process that ends with the test.
pub(crate) struct Running(pub(crate) Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Writes a file, and makes the folders above it.
pub(crate) fn put(path: &Path, bytes: impl AsRef<[u8]>) {
    fs::create_dir_all(path.parent().expect("folder")).expect("folder");
    fs::write(path, bytes).expect("file");
}

/// A folder with these files, which goes away with the test.
pub(crate) fn folder_with(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("folder");
    for (name, text) in files {
        put(&folder.path().join(name), text);
    }
    folder
}

/// A root and a state folder that go away with the test.
pub(crate) struct Sandbox {
    temp: tempfile::TempDir,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        Self::on(&std::env::temp_dir())
    }

    /// In memory where there is such a place, for tests of order and not of durability.
    pub(crate) fn in_memory() -> Self {
        let memory = Path::new("/dev/shm");
        Self::on(if memory.is_dir() { memory } else { Path::new("/tmp") })
    }

    pub(crate) fn on(folder: &Path) -> Self {
        let temp =
            tempfile::Builder::new().prefix("restitch-it-").tempdir_in(folder).expect("temp");
        for name in ["root", "outside"] {
            fs::create_dir(temp.path().join(name)).expect("folder");
        }
        Self { temp }
    }

    pub(crate) fn above(&self) -> &Path {
        self.temp.path()
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.above().join("root")
    }

    pub(crate) fn outside(&self) -> PathBuf {
        self.above().join("outside")
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.above().join("state")
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    /// The same with this file in the root.
    pub(crate) fn with(self, name: &str, bytes: impl AsRef<[u8]>) -> Self {
        self.write(name, bytes);
        self
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        put(&self.file(name), bytes);
    }

    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.file(name)).expect("file")
    }

    pub(crate) fn text(&self, name: &str) -> String {
        String::from_utf8(self.bytes(name)).expect("text")
    }

    /// Names in the root that a commit should not leave.
    pub(crate) fn leftover_files(&self) -> Vec<String> {
        let names = crate::disk::names_below(&self.root()).into_iter();
        names.filter(|name| name.contains(".restitch-")).collect()
    }

    pub(crate) fn options(&self) -> DiskOptions {
        DiskOptions { state: Some(self.state()), ..DiskOptions::default() }
    }

    pub(crate) fn store(&self) -> DiskStore {
        DiskStore::open_with(&self.root(), self.options()).expect("store")
    }

    pub(crate) fn engine(&self) -> Engine {
        Engine::builder(self.store()).build()
    }

    /// The binary in this root.
    pub(crate) fn restitch(&self, args: &[&str]) -> Command {
        let mut command = binary();
        command.current_dir(self.root()).args(args).env("RESTITCH_STATE_DIR", self.state());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs one command to its end.
    pub(crate) fn run(&self, args: &[&str], stdin: &[u8]) -> Output {
        finish(self.restitch(args), stdin)
    }

    /// The replies of `batch` to these requests.
    pub(crate) fn batch(&self, requests: &[Value]) -> Vec<Value> {
        batch(self.restitch(&["batch"]), requests)
    }

    /// A line-by-line conversation with a command of the binary.
    pub(crate) fn client(&self, args: &[&str]) -> Client {
        Client::start(self.restitch(args))
    }

    /// An MCP session over stdio, initialised.
    pub(crate) fn mcp(&self) -> Client {
        self.mcp_with(&[])
    }

    /// The same with more flags.
    pub(crate) fn mcp_with(&self, flags: &[&str]) -> Client {
        Client::session(self.restitch(&[]), flags)
    }
}

/// Runs git in a folder; its output.
pub(crate) fn git(folder: &Path, arguments: &[&str]) -> Vec<u8> {
    git_at("", folder, arguments)
}

/// The same as if it were that time.
pub(crate) fn git_at(date: &str, folder: &Path, arguments: &[&str]) -> Vec<u8> {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "core.quotePath=true"]);
    if !date.is_empty() {
        git.env("GIT_COMMITTER_DATE", date);
    }
    let out = git.args(arguments).current_dir(folder).output().expect("git");
    assert!(out.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&out.stderr));
    out.stdout
}

/// A file of this many lines, `line 1` and so on.
pub(crate) fn numbered(total: usize) -> String {
    (1..=total).map(|n| format!("line {n}\n")).collect()
}

/// The replies of a `batch` command to these requests.
pub(crate) fn batch(command: Command, requests: &[Value]) -> Vec<Value> {
    let lines: String = requests.iter().map(|request| format!("{request}\n")).collect();
    let out = finish(command, lines.as_bytes());
    let replies: Vec<Value> = rows(&String::from_utf8(out.stdout).expect("text"));
    let said = String::from_utf8_lossy(&out.stderr);
    assert_eq!(replies.len(), requests.len(), "{:?} {said}", out.status);
    replies
}

/// Runs a command to its end with this on its stdin.
pub(crate) fn finish(mut command: Command, stdin: &[u8]) -> Output {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("starts");
    let mut pipe = child.stdin.take().expect("piped");
    let stdin = stdin.to_vec();
    let writer = std::thread::spawn(move || {
        // A program that ends early does not read everything.
        let _ = pipe.write_all(&stdin);
    });
    let out = child.wait_with_output().expect("ends");
    writer.join().expect("writes");
    out
}
