//! Measures edits through one `restitch mcp --http` server with 1, 8 and 64 clients, on a folder and
//! on object storage. Prints one JSON object on stdout.
//!
//! `RESTITCH=COMMAND cargo run --release --manifest-path benches/scale/Cargo.toml [-- SECONDS]`, with
//! the command restitch-object-store. Each client has a session, a connection and a file
//! of its own, and sends its next edit when the last one is answered. The object store is moto
//! (object-store/tests/it/install.sh), which answers one request at a time; without it that part is
//! skipped. Server, clients and moto share this machine. `scripts/evidence scale` keeps what this
//! prints.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Barrier;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

const CLIENTS: [usize; 3] = [1, 8, 64];
/// Lines of each file, of 40 bytes each.
const LINES: usize = 600;
/// Edits of each client that are not measured.
const WARMUP_EDITS: usize = 3;

/// A header with a signature, which moto requires but does not check.
const AUTHORIZATION: &str = "Authorization: AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0";

/// A process that is killed when this value is dropped.
struct KillOnDrop(Child);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// An HTTP connection for several requests.
struct Connection {
    stream: BufReader<TcpStream>,
}

impl Connection {
    fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("connects");
        stream.set_nodelay(true).expect("no delay");
        stream.set_read_timeout(Some(Duration::from_secs(120))).expect("timeout");
        Self { stream: BufReader::new(stream) }
    }

    /// Sends one request, and returns the status, the head and the body of the answer.
    fn ask(&mut self, line: &str, head: &str, body: &str) -> (u16, String, String) {
        let length = body.len();
        let text = format!(
            "{line} HTTP/1.1\r\nhost: localhost\r\n{head}content-length: {length}\r\n\r\n{body}"
        );
        self.stream.get_mut().write_all(text.as_bytes()).expect("sends");
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(self.stream.read_line(&mut head).expect("answers"), 0, "{head}");
        }
        let status = head.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
        let head = head.to_ascii_lowercase();
        let field = |name: &str| head.lines().find_map(|line| line.strip_prefix(name));
        let mut bytes = Vec::new();
        if let Some(length) = field("content-length: ") {
            bytes.resize(length.parse().expect("a length"), 0);
            self.stream.read_exact(&mut bytes).expect("a body");
        } else if field("transfer-encoding: chunked").is_some() {
            loop {
                let mut size = String::new();
                self.stream.read_line(&mut size).expect("a chunk");
                let size = usize::from_str_radix(size.trim(), 16).expect("a size");
                let start = bytes.len();
                bytes.resize(start + size, 0);
                self.stream.read_exact(&mut bytes[start..]).expect("a chunk");
                self.stream.read_line(&mut String::new()).expect("the end of a chunk");
                if size == 0 {
                    break;
                }
            }
        } else if field("connection: close").is_some() {
            self.stream.read_to_end(&mut bytes).expect("a body");
        }
        (status, head, String::from_utf8(bytes).expect("text"))
    }
}

fn repo() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Starts moto, and returns it with its port; `None` if it is not installed.
fn moto() -> Option<(KillOnDrop, u16)> {
    let repo = repo();
    let python = repo.join("target/s3/venv/bin/python");
    let mut child = Command::new(python)
        .arg(repo.join("object-store/tests/it/server.py"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).ok()?;
    let port = line.trim().parse().ok()?;
    Some((KillOnDrop(child), port))
}

fn ask_moto(port: u16, line: &str, body: &str) -> String {
    let mut connection = Connection::open(SocketAddr::from(([127, 0, 0, 1], port)));
    let head = format!("connection: close\r\n{AUTHORIZATION}\r\n");
    let (status, _, body) = connection.ask(line, &head, body);
    assert_eq!(status, 200, "{line}: {body}");
    body
}

/// Returns one line of a client's file after `edits` edits.
fn line(at: usize, edits: usize) -> String {
    let words = match at == LINES / 2 {
        true => format!("    value_of_this_line = {edits}"),
        false => format!("    the line of the number {at}"),
    };
    format!("{words:<38}#\n")
}

fn text(edits: usize) -> String {
    (0..LINES).map(|at| line(at, edits)).collect()
}

/// A root with a file for each client.
enum Store {
    Folder(PathBuf),
    Bucket(u16),
}

impl Store {
    fn fill(&self, clients: usize) {
        for client in 0..clients {
            match self {
                Self::Folder(folder) => {
                    std::fs::write(folder.join(format!("f{client}")), text(0)).expect("file");
                }
                Self::Bucket(port) => {
                    ask_moto(*port, &format!("PUT /work/app/f{client}"), &text(0));
                }
            }
        }
    }

    fn server(&self, folder: &Path) -> (KillOnDrop, SocketAddr, String) {
        let program = std::env::var("RESTITCH").unwrap_or_else(|_| "restitch".into());
        let mut command = Command::new(program);
        command.args(["mcp", "--no-model", "--http", "127.0.0.1:0", "--root"]);
        match self {
            Self::Folder(root) => command.arg(root),
            Self::Bucket(port) => command
                .arg("s3://work/app")
                .env("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{port}"))
                .env("AWS_ALLOW_HTTP", "true")
                .env("AWS_ACCESS_KEY_ID", "test")
                .env("AWS_SECRET_ACCESS_KEY", "test")
                .env("AWS_REGION", "us-east-1"),
        };
        let mut child = command
            .env("RESTITCH_STATE_DIR", folder.join("state"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("restitch starts");
        let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines();
        let mut after = |start: &str| {
            let line = lines.find_map(|line| line.ok()?.strip_prefix(start).map(str::to_owned));
            line.expect("said")
        };
        let address = after("listening on http://").trim_end_matches("/mcp").parse();
        let token = after("token: ");
        (KillOnDrop(child), address.expect("an address"), token)
    }
}

/// A session of one client, with a file of its own.
struct Client {
    connection: Connection,
    head: String,
    file: String,
    edits: usize,
}

impl Client {
    fn open(address: SocketAddr, token: &str, number: usize) -> Self {
        let mut connection = Connection::open(address);
        let head = format!(
            "authorization: Bearer {token}\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\n"
        );
        let hello = json!({
            "jsonrpc": "2.0", "id": 1, "method": "initialize",
            "params": { "protocolVersion": "2025-06-18", "capabilities": {},
                "clientInfo": { "name": "scale", "version": "1" } },
        });
        let (status, headers, body) = connection.ask("POST /mcp", &head, &hello.to_string());
        assert_eq!(status, 200, "{body}");
        let id = headers.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
        let head = format!(
            "{head}mcp-session-id: {}\r\nmcp-protocol-version: 2025-06-18\r\n",
            id.expect("a session")
        );
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        connection.ask("POST /mcp", &head, &ready.to_string());
        Self { connection, head, file: format!("f{number}"), edits: 0 }
    }

    /// Sends one edit, of the changed line with one line above and below it.
    fn edit(&mut self) {
        let three = |edits| -> String {
            (LINES / 2 - 1..LINES / 2 + 2).map(|at| line(at, edits)).collect()
        };
        let (old, new) = (three(self.edits), three(self.edits + 1));
        let arguments = json!({ "path": self.file, "old_str": old, "new_str": new });
        let call = json!({ "jsonrpc": "2.0", "id": self.edits + 2, "method": "tools/call",
            "params": { "name": "edit_file", "arguments": arguments } });
        let (status, _, body) = self.connection.ask("POST /mcp", &self.head, &call.to_string());
        assert!(status == 200 && body.contains("\"isError\":false"), "{status}: {body}");
        self.edits += 1;
    }
}

/// Returns the CPU time of a process on Linux; `None` on other systems.
fn cpu(pid: u32) -> Option<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks: u64 = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
    // Linux always reports 100 ticks a second to programs.
    Some(Duration::from_millis(ticks * 10))
}

fn millis(time: Duration) -> f64 {
    (time.as_secs_f64() * 100_000.0).round() / 100.0
}

/// Lets `clients` clients edit for `length`, and returns the figures as JSON.
fn measure(store: &Store, clients: usize, length: Duration) -> Value {
    let folder = tempfile::tempdir().expect("folder");
    store.fill(clients);
    let (server, address, token) = store.server(folder.path());
    let mut all: Vec<Client> =
        (0..clients).map(|number| Client::open(address, &token, number)).collect();
    // Requests, bytes in and bytes out.
    let counts = || -> Vec<f64> {
        match store {
            Store::Folder(_) => vec![0.0; 3],
            Store::Bucket(port) => {
                let answer = ask_moto(*port, "GET /-/requests", "");
                answer.split(' ').map(|number| number.parse().expect("a number")).collect()
            }
        }
    };
    let barrier = Barrier::new(clients + 1);
    let (mut times, seconds, spent, asked) = std::thread::scope(|scope| {
        let threads: Vec<_> = all
            .iter_mut()
            .map(|client| {
                let barrier = &barrier;
                scope.spawn(move || {
                    (0..WARMUP_EDITS).for_each(|_| client.edit());
                    barrier.wait();
                    barrier.wait();
                    let start = Instant::now();
                    let mut times = Vec::new();
                    while start.elapsed() < length {
                        let sent = Instant::now();
                        client.edit();
                        times.push(sent.elapsed());
                    }
                    times
                })
            })
            .collect();
        barrier.wait();
        let (asked, spent) = (counts(), cpu(server.0.id()));
        let start = Instant::now();
        barrier.wait();
        let join = |thread: std::thread::ScopedJoinHandle<'_, Vec<Duration>>| {
            thread.join().expect("a client")
        };
        let times: Vec<Duration> = threads.into_iter().flat_map(join).collect();
        let seconds = start.elapsed();
        let spent = cpu(server.0.id()).zip(spent).map(|(after, before)| after - before);
        let asked: Vec<f64> =
            counts().iter().zip(asked).map(|(after, before)| after - before).collect();
        (times, seconds, spent, asked)
    });
    for client in &all {
        let wanted = text(client.edits);
        let found = match store {
            Store::Folder(folder) => {
                std::fs::read_to_string(folder.join(&client.file)).expect("file")
            }
            Store::Bucket(port) => ask_moto(*port, &format!("GET /work/app/{}", client.file), ""),
        };
        assert!(found == wanted, "an edit of {} was lost", client.file);
    }
    times.sort_unstable();
    let at = |share: usize| millis(times[(times.len() * share / 100).min(times.len() - 1)]);
    let edits = times.len();
    let per_edit = |number: f64| (number / edits as f64 * 1000.0).round() / 1000.0;
    let of_store = |at: usize| matches!(store, Store::Bucket(_)).then(|| per_edit(asked[at]));
    json!({
        "clients": clients, "edits": edits,
        "edits_a_second": (edits as f64 / seconds.as_secs_f64() * 10.0).round() / 10.0,
        "p50_ms": at(50), "p90_ms": at(90), "p99_ms": at(99),
        "server_cpu_ms_an_edit": spent.map(|spent| per_edit(spent.as_secs_f64() * 1000.0)),
        "requests_an_edit": of_store(0), "bytes_to_store_an_edit": of_store(1),
        "bytes_from_store_an_edit": of_store(2),
    })
}

/// Returns how many requests a second the store answers without restitch. Eight threads send what
/// an edit sends: a read and two writes.
fn store_only(port: u16, length: Duration) -> f64 {
    let start = Instant::now();
    let content = text(0);
    let one = |number: usize| {
        let mut requests = 0_u32;
        while start.elapsed() < length {
            ask_moto(port, "GET /work/app/f0", "");
            ask_moto(port, &format!("PUT /work/bare/a{number}"), &content);
            ask_moto(port, &format!("PUT /work/bare/b{number}"), &content);
            requests += 3;
        }
        requests
    };
    let requests: u32 = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|number| {
                scope.spawn({
                    let one = &one;
                    move || one(number)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("a client")).sum()
    });
    (f64::from(requests) / start.elapsed().as_secs_f64()).round()
}

fn main() {
    let given = std::env::args().skip(1).find_map(|argument| argument.parse().ok());
    let length = Duration::from_secs(given.unwrap_or(20));
    // The system's folder for temporary files may be in memory; `target` is on a disk.
    let temp = tempfile::tempdir_in(repo().join("target")).expect("folder");
    let folder = Store::Folder(temp.path().join("root"));
    std::fs::create_dir(temp.path().join("root")).expect("folder");
    let rows = |store: &Store| -> Vec<Value> {
        CLIENTS
            .iter()
            .map(|clients| {
                let row = measure(store, *clients, length);
                eprintln!("{row}");
                row
            })
            .collect()
    };
    let mut found = json!({ "file_bytes": text(0).len(), "folder": rows(&folder) });
    match moto() {
        None => eprintln!("SKIPPED: object storage: run object-store/tests/it/install.sh"),
        Some((_moto, port)) => {
            ask_moto(port, "PUT /work", "");
            let bucket = Store::Bucket(port);
            found["object_storage"] = rows(&bucket).into();
            found["store_alone_requests_a_second"] = store_only(port, length).into();
        }
    }
    println!("{found}");
}
