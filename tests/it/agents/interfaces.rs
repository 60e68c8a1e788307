//! The points of reading and line edits, each a story that is played on every interface: `batch`,
//! MCP over stdio and over HTTP, and the turns of the reference agent; with the calls of a
//! turn sent at once, and with each waiting for the answer to the one before.

use std::net::TcpStream;
use std::path::Path;

use restitch::internals::text::Snapshot;
use serde_json::{Value, json};

use super::mcp::binary;
use super::server::{Server, last_answers, restitch, turn};
use crate::client::{Client, request};
use crate::reading::{anchor, line_edit};
use crate::sandbox::numbered;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Transport {
    Batch,
    Stdio,
    Http,
    Agent,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Pacing {
    Pipelined,
    OneByOne,
}

type Interface = (Transport, Pacing);

fn interfaces() -> impl Iterator<Item = Interface> {
    let transports = [Transport::Batch, Transport::Stdio, Transport::Http, Transport::Agent];
    transports.into_iter().flat_map(|of| [(of, Pacing::Pipelined), (of, Pacing::OneByOne)])
}

type Call = (&'static str, Value);

/// A conversation: the texts of the answers to the calls of a turn.
type Conversation = Box<dyn FnMut(&[Call]) -> Vec<String>>;

fn read(path: &str) -> Call {
    ("read_file", json!({ "path": path, "style": "hashline" }))
}

fn edit(start: usize, end: usize, content: &str) -> Call {
    ("edit_lines", line_edit(start, end, content))
}

fn by_text(old: &str, new: &str) -> Call {
    ("edit_file", json!({ "path": "f", "old_str": old, "new_str": new }))
}

fn exact((tool, mut arguments): Call, text: &str) -> Call {
    arguments["snapshot"] = snapshot(text).into();
    (tool, arguments)
}

fn replace(path: &str, anchor: &str, lines: &[&str]) -> Call {
    let edits = json!([{ "op": "replace", "pos": anchor, "lines": lines }]);
    ("hashline_edit", json!({ "path": path, "edits": edits }))
}

fn snapshot(text: &str) -> String {
    Snapshot::from_text(text).hash().to_string()[..12].to_owned()
}

fn is_ok(answer: &str) -> bool {
    !answer.starts_with("EDIT_")
}

struct Workspace {
    dir: tempfile::TempDir,
}

impl Workspace {
    fn new(files: &[(&str, &str)]) -> Self {
        Self { dir: crate::sandbox::folder_with(files) }
    }

    fn root(&self) -> &Path {
        self.dir.path()
    }

    fn text(&self, path: &str) -> String {
        std::fs::read_to_string(self.root().join(path)).expect("file")
    }

    /// Plays a story on a interface; the text of each answer, in the order of the calls.
    async fn play(&self, (transport, pacing): Interface, story: &[Vec<Call>]) -> Vec<String> {
        let turns: Vec<&[Call]> = match pacing {
            Pacing::OneByOne => story.iter().flat_map(|turn| turn.chunks(1)).collect(),
            Pacing::Pipelined => story.iter().map(Vec::as_slice).collect(),
        };
        if transport == Transport::Agent {
            return self.agent(&turns).await;
        }
        let line: Conversation = match transport {
            Transport::Batch => self.batch(),
            Transport::Stdio => self.stdio(),
            _ => self.http(),
        };
        turns.into_iter().flat_map(line).collect()
    }

    fn batch(&self) -> Conversation {
        let mut command = binary(self.root());
        command.arg("batch");
        let mut session = Client::start(command);
        Box::new(move |calls| {
            let request =
                |(tool, arguments): &Call| json!({ "tool": tool, "arguments": arguments });
            session.send_at_once(&calls.iter().map(request).collect::<Vec<_>>());
            let answer = || {
                let reply = session.receive();
                let text = reply["message"].as_str().expect("message").to_owned();
                assert_eq!(reply["ok"], is_ok(&text), "{reply}");
                text
            };
            calls.iter().map(|_| answer()).collect()
        })
    }

    fn stdio(&self) -> Conversation {
        let mut session = Client::session(binary(self.root()), &["--tools", "all"]);
        let mut next = 100;
        Box::new(move |calls| {
            let first = next;
            let requests = (first..).zip(calls);
            let requests = requests.map(|(id, (tool, call))| request(id, tool, call.clone()));
            session.send_at_once(&requests.collect::<Vec<_>>());
            next += calls.len() as u64;
            let mut answers: Vec<Value> = calls.iter().map(|_| session.receive()).collect();
            answers.sort_by_key(|answer| answer["id"].as_u64());
            assert_eq!(answers[0]["id"], first);
            answers.iter().map(text_of).collect()
        })
    }

    fn http(&self) -> Conversation {
        let server = super::mcp::http(self.root());
        let session = server.session();
        Box::new(move |calls| {
            let post = |(at, (tool, arguments)): (usize, &Call)| {
                let id = u64::try_from(at + 10).expect("small");
                server.post(&session, &request(id, tool, arguments.clone()))
            };
            // All are sent before an answer is read, each on a connection of its own.
            let posted: Vec<TcpStream> = calls.iter().enumerate().map(post).collect();
            let answer = |posted: TcpStream| {
                let (_, _, body) = crate::http::read(posted);
                let data = body.lines().filter_map(|line| line.strip_prefix("data:"));
                let messages = data.filter_map(|line| serde_json::from_str::<Value>(line).ok());
                let answer = messages.into_iter().find(|message| message["result"].is_object());
                text_of(&answer.unwrap_or_else(|| panic!("no answer in {body}")))
            };
            posted.into_iter().map(answer).collect()
        })
    }

    async fn agent(&self, turns: &[&[Call]]) -> Vec<String> {
        // The guard has it explore first.
        let mut script = vec![turn(&[("list_files", json!({}))])];
        script.extend(turns.iter().map(|calls| turn(calls)));
        let played = script.len();
        script.push(turn(&[("task_complete", json!({ "summary": "done" }))]));
        let server = Server::play(script).await;
        let args = ["agent", "Do it", "--json", "--base-url", &server.url, "--model", "scripted"];
        let ran = restitch(self.root(), &args, "").await;
        let requests = server.requests();
        assert!(requests.len() > played, "{}", ran.stderr);
        // What the model was told in answer to each turn, but for the first.
        requests[2..=played].iter().flat_map(last_answers).collect()
    }
}

fn text_of(answer: &Value) -> String {
    let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned();
    assert_ne!(answer["result"]["isError"] == true, is_ok(&text), "{answer}");
    text
}

fn marked(answer: &str) -> Vec<&str> {
    answer.lines().filter(|line| line.starts_with(">>> ")).collect()
}

/// Seed 000's very bug: two lines at the top become three, then line 8 is edited. No client writes to the
/// wrong line, whether it waits for answers or not: the refusal names both versions.
#[tokio::test]
async fn p1_a_number_whose_line_has_moved_is_never_guessed() {
    let text = numbered(20);
    for interface in interfaces() {
        let workspace = Workspace::new(&[("f", &text)]);
        let story = [
            vec![read("f")],
            vec![edit(2, 3, "two\nthree\nmore"), edit(8, 8, "eight")],
            vec![exact(edit(8, 8, "eight"), &text)],
        ];
        let answers = workspace.play(interface, &story).await;
        // Calls that are sent together may run in any order.
        if !is_ok(&answers[2]) {
            let old = snapshot(&text);
            for shown in ["EDIT_STALE_ANCHOR", "|line 7", "|line 8", old.as_str()] {
                assert!(answers[2].contains(shown), "{interface:?}, {shown}: {}", answers[2]);
            }
            assert!(is_ok(&answers[3]), "{interface:?}: {answers:?}");
        } else {
            assert_eq!(interface.1, Pacing::Pipelined, "{}", answers[2]);
        }
        assert!(is_ok(&answers[1]), "{interface:?}: {answers:?}");
        let wanted =
            text.replace("line 2\nline 3\n", "two\nthree\nmore\n").replace("line 8\n", "eight\n");
        assert_eq!(workspace.text("f"), wanted, "{interface:?}");
    }
}

/// With the version named, the numbers are those of that version, however it was sent.
#[tokio::test]
async fn p1_a_snapshot_makes_numbers_exact() {
    let text = numbered(20);
    for interface in interfaces() {
        let workspace = Workspace::new(&[("f", &text)]);
        let story = [
            vec![read("f")],
            vec![
                exact(edit(2, 3, "two\nthree\nmore"), &text),
                exact(edit(8, 8, "eight"), &text),
                exact(replace("f", &anchor(&text, 12), &["twelve"]), &text),
            ],
        ];
        let answers = workspace.play(interface, &story).await;
        assert!(answers.iter().all(|answer| is_ok(answer)), "{interface:?}: {answers:?}");
        let now = workspace.text("f");
        assert!(
            now.contains("line 7\neight\nline 9\n") && now.contains("line 11\ntwelve\nline 13\n"),
            "{interface:?}: {now}"
        );
        // Each answer names the version that is there after it, and the last is the file's.
        for answer in &answers[1..] {
            assert!(answer.contains("\nSnapshot "), "{interface:?}: {answer}");
        }
        if interface.1 == Pacing::OneByOne {
            let named = format!("Snapshot {}.", snapshot(&now));
            assert!(answers[3].contains(&named), "{interface:?}: {}", answers[3]);
        }
    }
}

/// The line that was meant has moved and changed: the session's record tells where it went.
#[tokio::test]
async fn p2_a_line_that_moved_and_changed_is_marked_where_it_is() {
    let text = numbered(12);
    for interface in interfaces() {
        let workspace = Workspace::new(&[("f", &text)]);
        let now = format!("new\n{}", text.replace("line 5\n", "line five\n"));
        let story = [
            vec![read("f")],
            vec![
                by_text("line 5\n", "line five\n"),
                by_text("line 1\nline 2\n", "new\nline 1\nline 2\n"),
            ],
            vec![exact(replace("f", &anchor(&text, 5), &["x"]), &text)],
        ];
        let answers = workspace.play(interface, &story).await;
        let wanted = format!(">>> {}|line five", anchor(&now, 6));
        assert_eq!(marked(&answers[3]), [wanted], "{interface:?}: {}", answers[3]);
        assert_eq!(workspace.text("f"), now, "{interface:?}");
    }
}

#[tokio::test]
#[cfg_attr(windows, ignore = "on Windows what is past is known to one process only")]
async fn p2_another_process_finds_the_line_by_the_history() {
    let text = numbered(60);
    for interface in interfaces() {
        let workspace = Workspace::new(&[("f", &text)]);
        let header = "header\n".repeat(30);
        let before = [vec![read("f")], vec![edit(1, 0, &header)]];
        workspace.play((Transport::Batch, Pacing::OneByOne), &before).await;
        let now = workspace.text("f");
        assert_eq!(now, format!("{header}{text}"));
        let story = [
            vec![replace("f", &anchor(&text, 40), &["x"])],
            vec![exact(edit(20, 20, "twenty"), &text)],
        ];
        let answers = workspace.play(interface, &story).await;
        let wanted = format!(">>> {}|line 40", anchor(&now, 70));
        assert_eq!(marked(&answers[0]), [wanted], "{interface:?}: {}", answers[0]);
        assert_eq!(workspace.text("f"), now.replace("line 20\n", "twenty\n"), "{interface:?}");
    }
}
