//! The points of reading and line edits, each a story that is played on every interface: `batch`,
//! MCP over stdio and over HTTP, and the turns of the reference agent; with the calls of a
//! turn sent at once, and with each waiting for the answer to the one before.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};

use restitch::internals::text::Snapshot;
use serde_json::{Value, json};

use super::mcp::{Http, Session, binary, request};
use super::server::{Server, restitch};

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

const INTERFACES: [Interface; 8] = {
    use Pacing::{OneByOne, Pipelined};
    [
        (Transport::Batch, Pipelined),
        (Transport::Batch, OneByOne),
        (Transport::Stdio, Pipelined),
        (Transport::Stdio, OneByOne),
        (Transport::Http, Pipelined),
        (Transport::Http, OneByOne),
        (Transport::Agent, Pipelined),
        (Transport::Agent, OneByOne),
    ]
};

type Call = (&'static str, Value);

/// A conversation: the texts of the answers to the calls of a turn.
type Conversation = Box<dyn FnMut(&[Call]) -> Vec<String>>;

/// What happens in one turn of a story.
#[derive(Clone)]
enum Turn {
    Calls(Vec<Call>),
    /// Writes a file as another program.
    OtherWriter(&'static str, String),
}

fn calls(calls: impl IntoIterator<Item = Call>) -> Turn {
    Turn::Calls(calls.into_iter().collect())
}

fn read(path: &str) -> Call {
    ("read_file", json!({ "path": path, "style": "hashline" }))
}

fn edit(start: usize, end: usize, content: &str) -> Call {
    let call = json!({ "path": "f", "start_line": start, "end_line": end, "new_content": content });
    ("edit_lines", call)
}

fn exact((tool, mut arguments): Call, text: &str) -> Call {
    arguments["snapshot"] = snapshot(text).into();
    (tool, arguments)
}

fn replace(path: &str, anchor: &str, lines: &[&str]) -> Call {
    let edits = json!([{ "op": "replace", "pos": anchor, "lines": lines }]);
    ("hashline_edit", json!({ "path": path, "edits": edits }))
}

fn numbered(total: usize) -> String {
    (1..=total).map(|n| format!("line {n}\n")).collect()
}

fn snapshot(text: &str) -> String {
    Snapshot::from_text(text).hash().to_string()[..12].to_owned()
}

fn anchor(text: &str, number: usize) -> String {
    let line = text.lines().nth(number - 1).expect("line");
    let shown = restitch::internals::tag::render(number, line);
    shown.split('|').next().expect("anchor").to_owned()
}

fn is_ok(answer: &str) -> bool {
    !answer.starts_with("EDIT_")
}

struct Workspace {
    dir: tempfile::TempDir,
}

impl Workspace {
    fn new(files: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().expect("folder");
        for (path, text) in files {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().expect("parent")).expect("folder");
            std::fs::write(path, text).expect("file");
        }
        Self { dir }
    }

    fn root(&self) -> &Path {
        self.dir.path()
    }

    fn text(&self, path: &str) -> String {
        std::fs::read_to_string(self.root().join(path)).expect("file")
    }

    /// Plays a story on a interface; the text of each answer, in the order of the calls.
    async fn play(&self, (transport, pacing): Interface, story: &[Turn]) -> Vec<String> {
        let mut turns: Vec<Turn> = Vec::new();
        for turn in story {
            match (turn, pacing) {
                (Turn::Calls(all), Pacing::OneByOne) => {
                    turns.extend(all.iter().map(|call| calls([call.clone()])));
                }
                _ => turns.push(turn.clone()),
            }
        }
        if transport == Transport::Agent {
            return self.agent(&turns).await;
        }
        let mut line: Conversation = match transport {
            Transport::Batch => self.batch(),
            Transport::Stdio => self.stdio(),
            _ => self.http(),
        };
        let mut answers = Vec::new();
        for turn in &turns {
            match turn {
                Turn::Calls(calls) => answers.extend(line(calls)),
                Turn::OtherWriter(path, text) => {
                    std::fs::write(self.root().join(path), text).expect("foreign");
                }
            }
        }
        answers
    }

    fn batch(&self) -> Conversation {
        let mut command = binary(self.root());
        command.arg("batch").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = KillOnDrop(command.spawn().expect("starts"));
        let mut to = child.0.stdin.take().expect("piped");
        let mut from = BufReader::new(child.0.stdout.take().expect("piped"));
        Box::new(move |calls| {
            let _running = &child;
            let mut lines = String::new();
            for (tool, arguments) in calls {
                let _ = writeln!(lines, "{}", json!({ "tool": tool, "arguments": arguments }));
            }
            to.write_all(lines.as_bytes()).expect("written");
            let mut answer = || {
                let mut reply = String::new();
                from.read_line(&mut reply).expect("read");
                let reply: Value = serde_json::from_str(&reply).expect("JSON");
                let text = reply["message"].as_str().expect("message").to_owned();
                assert_eq!(reply["ok"], is_ok(&text), "{reply}");
                text
            };
            calls.iter().map(|_| answer()).collect()
        })
    }

    fn stdio(&self) -> Conversation {
        let mut session = Session::with(binary(self.root()), &["--tools", "all"], json!({}));
        let mut next = 100;
        Box::new(move |calls| {
            let first = next;
            let requests: Vec<Value> = calls
                .iter()
                .map(|(tool, arguments)| {
                    next += 1;
                    request(next - 1, tool, arguments.clone())
                })
                .collect();
            session.send_at_once(&requests);
            let mut answers: Vec<Value> = calls.iter().map(|_| session.receive()).collect();
            answers.sort_by_key(|answer| answer["id"].as_u64());
            assert_eq!(answers[0]["id"], first);
            answers.iter().map(text_of).collect()
        })
    }

    fn http(&self) -> Conversation {
        let server = Http::start(self.root());
        let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": { "name": "t", "version": "1" } } });
        let (head, _) = PendingPost::new(&server, "", &hello).answer();
        let lower = head.to_ascii_lowercase();
        let id = lower.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
        let session = format!(
            "Mcp-Session-Id: {}\r\nMcp-Protocol-Version: 2025-06-18\r\n",
            id.expect("session")
        );
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        PendingPost::new(&server, &session, &ready).answer();
        Box::new(move |calls| {
            let post = |(at, (tool, arguments)): (usize, &Call)| {
                let id = u64::try_from(at + 10).expect("small");
                PendingPost::new(&server, &session, &request(id, tool, arguments.clone()))
            };
            // All are sent before an answer is read, each on a connection of its own.
            let posted: Vec<PendingPost> = calls.iter().enumerate().map(post).collect();
            let answer = |posted: PendingPost| {
                let (_, body) = posted.answer();
                let data = body.lines().filter_map(|line| line.strip_prefix("data:"));
                let messages = data.filter_map(|line| serde_json::from_str::<Value>(line).ok());
                let answer = messages.into_iter().find(|message| message["result"].is_object());
                text_of(&answer.unwrap_or_else(|| panic!("no answer in {body}")))
            };
            posted.into_iter().map(answer).collect()
        })
    }

    async fn agent(&self, turns: &[Turn]) -> Vec<String> {
        let turn = |of: &[Call]| {
            let calls: Vec<Value> = of
                .iter()
                .enumerate()
                .map(|(at, (name, arguments))| {
                    json!({ "id": format!("c{at}"), "type": "function",
                        "function": { "name": name, "arguments": arguments.to_string() } })
                })
                .collect();
            json!({ "role": "assistant", "content": null, "tool_calls": calls })
        };
        // The guard has it explore first.
        let mut script = vec![turn(&[("list_files", json!({}))])];
        let mut foreign = None;
        for one in turns {
            match one {
                Turn::Calls(calls) => {
                    let mut said = turn(calls);
                    if let Some(written) = foreign.take() {
                        said["foreign"] = written;
                    }
                    script.push(said);
                }
                Turn::OtherWriter(path, text) => {
                    foreign = Some(json!([self.root().join(path), text]));
                }
            }
        }
        let played = script.len();
        script.push(turn(&[("task_complete", json!({ "summary": "done" }))]));
        let server = Server::play(script).await;
        let args = ["agent", "Do it", "--json", "--base-url", &server.url, "--model", "scripted"];
        let ran = restitch(self.root(), &args, "").await;
        let requests = server.requests();
        assert!(requests.len() > played, "{}", ran.stderr);
        // What the model was told in answer to each turn, but for the first.
        let told = |request: &Value| {
            let messages = request["messages"].as_array().expect("messages");
            let tools = messages.iter().rev().take_while(|message| message["role"] == "tool");
            let said = tools.map(|message| message["content"].as_str().expect("text").to_owned());
            let mut said: Vec<String> = said.collect();
            said.reverse();
            said
        };
        requests[2..=played].iter().flat_map(told).collect()
    }
}

/// A process that ends with the conversation.
struct KillOnDrop(Child);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A request that is on its way, on a connection of its own.
struct PendingPost(TcpStream);

impl PendingPost {
    fn new(server: &Http, head: &str, body: &Value) -> Self {
        let address = server.url.trim_start_matches("http://").trim_end_matches("/mcp");
        let mut stream = TcpStream::connect(address).expect("connects");
        let body = body.to_string();
        let request = format!(
            "POST /mcp HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {}\r\n{head}Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            server.token,
            body.len()
        );
        stream.write_all(request.as_bytes()).expect("sent");
        Self(stream)
    }

    /// The head and the body of the answer; the sizes of chunks are lines of the body.
    fn answer(mut self) -> (String, String) {
        let mut text = String::new();
        self.0.read_to_string(&mut text).expect("answers");
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        (head.to_owned(), body.to_owned())
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
    for interface in INTERFACES {
        let workspace = Workspace::new(&[("f", &text)]);
        let story = [
            calls([read("f")]),
            calls([edit(2, 3, "two\nthree\nmore"), edit(8, 8, "eight")]),
            calls([exact(edit(8, 8, "eight"), &text)]),
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
    for interface in INTERFACES {
        let workspace = Workspace::new(&[("f", &text)]);
        let story = [
            calls([read("f")]),
            calls([
                exact(edit(2, 3, "two\nthree\nmore"), &text),
                exact(edit(8, 8, "eight"), &text),
                exact(replace("f", &anchor(&text, 12), &["twelve"]), &text),
            ]),
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

#[tokio::test]
async fn p1_where_both_numberings_are_possible_both_are_shown() {
    let text = numbered(20);
    for interface in INTERFACES {
        let workspace = Workspace::new(&[("f", &text)]);
        let story = [
            calls([read("f")]),
            Turn::OtherWriter("f", format!("new\n{text}")),
            calls([edit(8, 8, "x")]),
            calls([exact(edit(8, 8, "eight"), &text)]),
        ];
        let answers = workspace.play(interface, &story).await;
        let refused = &answers[1];
        assert!(refused.starts_with("EDIT_STALE_ANCHOR"), "{interface:?}: {refused}");
        for shown in ["|line 7", "|line 8", "can mean line 9 or 8", &snapshot(&text)] {
            assert!(refused.contains(shown), "{interface:?}: {refused}");
        }
        assert_eq!(marked(refused).len(), 2, "{interface:?}: {refused}");
        assert_eq!(workspace.text("f"), format!("new\n{}", text.replace("line 8\n", "eight\n")));
    }
}

#[tokio::test]
async fn p2_the_mark_is_on_the_line_that_was_meant() {
    let text = numbered(12);
    for interface in INTERFACES {
        let now = format!("new\n{text}");
        let workspace = Workspace::new(&[("f", &now)]);
        // Nothing is on record: the letters tell. Then the marked tag is copied.
        let story = [
            calls([replace("f", &anchor(&text, 5), &["x"])]),
            calls([replace("f", &anchor(&now, 6), &["five"])]),
        ];
        let answers = workspace.play(interface, &story).await;
        let wanted = format!(">>> {}|line 5", anchor(&now, 6));
        assert_eq!(marked(&answers[0]), [wanted], "{interface:?}: {}", answers[0]);
        assert_eq!(workspace.text("f"), now.replace("line 5\n", "five\n"), "{interface:?}");
    }
}

/// The line that was meant has moved and changed: the session's record tells where it went.
#[tokio::test]
async fn p2_a_line_that_moved_and_changed_is_marked_where_it_is() {
    let text = numbered(12);
    for interface in INTERFACES {
        let workspace = Workspace::new(&[("f", &text)]);
        let now = format!("new\n{}", text.replace("line 5\n", "line five\n"));
        let story = [
            calls([read("f")]),
            calls([
                (
                    "edit_file",
                    json!({ "path": "f", "old_str": "line 5\n", "new_str": "line five\n" }),
                ),
                (
                    "edit_file",
                    json!({ "path": "f", "old_str": "line 1\nline 2\n", "new_str": "new\nline 1\nline 2\n" }),
                ),
            ]),
            calls([exact(replace("f", &anchor(&text, 5), &["x"]), &text)]),
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
    for interface in INTERFACES {
        let workspace = Workspace::new(&[("f", &text)]);
        let header = "header\n".repeat(30);
        let before = [calls([read("f")]), calls([edit(1, 0, &header)])];
        workspace.play((Transport::Batch, Pacing::OneByOne), &before).await;
        let now = workspace.text("f");
        assert_eq!(now, format!("{header}{text}"));
        let story = [
            calls([replace("f", &anchor(&text, 40), &["x"])]),
            calls([exact(edit(20, 20, "twenty"), &text)]),
        ];
        let answers = workspace.play(interface, &story).await;
        let wanted = format!(">>> {}|line 40", anchor(&now, 70));
        assert_eq!(marked(&answers[0]), [wanted], "{interface:?}: {}", answers[0]);
        assert_eq!(workspace.text("f"), now.replace("line 20\n", "twenty\n"), "{interface:?}");
    }
}

#[tokio::test]
async fn p3_slips_in_the_new_lines_are_repaired_and_said() {
    const PY: &str = "def f():\n    a = 1\n    return a\n";
    const JS: &str = "function f() {\n  a();\n  b();\n}\n";
    let cases: [(&str, &str, usize, usize, &str, &str, &str); 6] = [
        ("1.py", PY, 2, 2, "a = 2", "def f():\n    a = 2\n    return a\n", "indentation"),
        ("2.js", JS, 2, 2, "+  a(1);", "function f() {\n  a(1);\n  b();\n}\n", "diff markers"),
        ("3.py", PY, 2, 2, "2#ZZ|    a = 2", "def f():\n    a = 2\n    return a\n", "prefixes"),
        ("4.py", PY, 2, 2, "<<2>>    a = 2", "def f():\n    a = 2\n    return a\n", "prefixes"),
        (
            "5.py",
            PY,
            2,
            2,
            "def f():\n    a = 2",
            "def f():\n    a = 2\n    return a\n",
            "which repeat",
        ),
        ("6.js", JS, 2, 3, "  a(); b();", "function f() {\n  a(); b();\n}\n", "what were 2 lines"),
    ];
    for interface in INTERFACES {
        let files: Vec<(&str, &str)> = cases.iter().map(|case| (case.0, case.1)).collect();
        let workspace = Workspace::new(&files);
        let story = cases.iter().map(|(path, _, start, end, new, ..)| {
            let call =
                json!({ "path": path, "start_line": start, "end_line": end, "new_content": new });
            ("edit_lines", call)
        });
        let answers = workspace.play(interface, &[calls(story)]).await;
        for ((path, _, _, _, new, after, says), answer) in cases.iter().zip(&answers) {
            assert_eq!(workspace.text(path), *after, "{interface:?} {new:?}: {answer}");
            assert!(
                answer.contains("\nNote: ") && answer.contains(says),
                "{interface:?}: {answer}"
            );
        }
    }
}

#[tokio::test]
async fn p4_the_answer_shows_every_edit_of_the_call() {
    let text = numbered(60).replace("line 5\n", "same\n").replace("line 25\n", "same\n");
    for interface in INTERFACES {
        let workspace = Workspace::new(&[("f", &text)]);
        let edits = json!([
            { "start_line": 10, "end_line": 11, "new_content": "ten\neleven\nmore" },
            { "start_line": 30, "end_line": 29, "new_content": "before thirty" },
            { "start_line": 50, "end_line": 50, "new_content": "" },
        ]);
        let several = json!([
            { "path": "f", "old_str": "line 9\n", "new_str": "nine\n" },
            { "path": "f", "old_str": "line 19\n", "new_str": "nineteen\n" },
        ]);
        let twice = json!({ "path": "f", "old_str": "same", "new_str": "other", "expected_replacements": 2 });
        let story = [
            calls([read("f")]),
            calls([("edit_lines", json!({ "path": "f", "edits": edits }))]),
            calls([("edit_file", twice), ("multi_edit", json!({ "edits": several }))]),
        ];
        let answers = workspace.play(interface, &story).await;
        for (answer, shown) in [
            (1, "was <<10>>line 10"),
            (1, "<<12>>more"),
            (1, "<<31>>before thirty"),
            (1, "was <<50>>line 50"),
            (1, "<<51>>line 49"),
            (2, "<<5>>other"),
            (2, "<<26>>other"),
            (3, "<<9>>nine"),
            (3, "<<20>>nineteen"),
        ] {
            assert!(answers[answer].contains(shown), "{interface:?} {shown}: {}", answers[answer]);
        }
    }
}

#[tokio::test]
async fn p5_the_text_names_the_ranges_to_read_as_read_file_takes_them() {
    for interface in INTERFACES {
        let workspace = Workspace::new(&[("f", &numbered(100))]);
        let stale =
            |line: usize| json!({ "op": "replace", "pos": format!("{line}#QQ"), "lines": ["x"] });
        let call = json!({ "path": "f", "edits": [stale(20), stale(53)] });
        let story = [
            calls([("hashline_edit", call)]),
            calls([("read_file", json!({ "path": "f", "ranges": "12-28, 45-61" }))]),
        ];
        let answers = workspace.play(interface, &story).await;
        assert!(answers[0].contains("read ranges 12-28, 45-61"), "{interface:?}: {}", answers[0]);
        for line in ["line 12\n", "line 28\n", "line 45\n", "line 61\n"] {
            assert!(answers[1].contains(line), "{interface:?}: {}", answers[1]);
        }
        assert!(!answers[1].contains("line 30\n"), "{interface:?}: {}", answers[1]);
    }
}

#[tokio::test]
async fn p6_one_rule_for_the_first_edit_and_the_second() {
    let text = numbered(50);
    for interface in INTERFACES {
        // Never read: neither is blocked.
        let workspace = Workspace::new(&[("f", &text)]);
        let story = [calls([edit(5, 5, "five"), edit(30, 30, "thirty")])];
        let answers = workspace.play(interface, &story).await;
        assert!(answers.iter().all(|answer| is_ok(answer)), "{interface:?}: {answers:?}");
        // Read in part: what was not seen is named, first or second, and then it goes.
        let workspace = Workspace::new(&[("f", &text)]);
        let part = ("read_file", json!({ "path": "f", "offset": 1, "limit": 5 }));
        let story = [
            calls([part]),
            calls([edit(30, 30, "thirty")]),
            calls([edit(30, 30, "thirty")]),
            calls([edit(40, 40, "forty")]),
            // Who names the snapshot has read it.
            calls([exact(edit(45, 45, "forty-five"), &text)]),
        ];
        let answers = workspace.play(interface, &story).await;
        let said: Vec<bool> = answers.iter().map(|answer| is_ok(answer)).collect();
        assert_eq!(said, [true, false, true, false, true], "{interface:?}: {answers:?}");
        for refused in [&answers[1], &answers[3]] {
            assert!(refused.starts_with("EDIT_BLOCKED"), "{interface:?}: {refused}");
        }
        let wanted = text.replace("line 30\n", "thirty\n").replace("line 45\n", "forty-five\n");
        assert_eq!(workspace.text("f"), wanted, "{interface:?}");
    }
}

#[tokio::test]
async fn p8_a_keyword_in_a_path_is_a_result_and_a_hit_can_be_edited() {
    for interface in INTERFACES {
        let workspace =
            Workspace::new(&[("src/widget.rs", "fn main() {}\n"), ("a.txt", "widget\n")]);
        let story = [
            calls([("search", json!({ "keyword": "widget" }))]),
            calls([replace("a.txt", &anchor("widget\n", 1), &["gadget"])]),
        ];
        let answers = workspace.play(interface, &story).await;
        let found = &answers[0];
        assert!(found.contains("Paths that match: src/widget.rs"), "{interface:?}: {found}");
        assert!(found.contains(&anchor("widget\n", 1)), "{interface:?}: {found}");
        assert_eq!(workspace.text("a.txt"), "gadget\n", "{interface:?}");
    }
}
