//! One session of an agent, replayed by fifty at once, each in a sandbox of its own: how many
//! questions reach the model, without a shared cache and with one.
//!
//!     cargo test --features mine,redis --test it fifty_agents -- --nocapture
//!
//! The short form has ten agents in two processes; `RESTITCH_LONG=1` has fifty in five.

use super::super::agents::http_access::{ALPHA, Server};
use super::*;

/// How long the model takes for an answer.
const THINKS: Duration = Duration::from_millis(60);

struct Replay {
    agents: usize,
    processes: usize,
    words: &'static [&'static str],
}

/// What came of a replay.
struct Figures {
    requests: usize,
    questions: u64,
    shared: Vec<(String, u64)>,
    seconds: f64,
}

impl Figures {
    fn count(&self, what: &str) -> u64 {
        self.shared.iter().find(|(name, _)| name == what).map_or(0, |(_, count)| *count)
    }
}

/// What the session does beside the calls that need the model: reads, and edits that are found.
fn other_calls(server: &Server, path: &str, head: &str, word: &str) {
    let read = server.call(path, head, "read_file", json!({ "path": "sums.rs" }));
    assert!(read.contains("isError\":false"), "{read}");
    let plural = |letter: &str| format!("{word}{letter}.sum::<f64>() * tax");
    let arguments = json!({ "path": "sums.rs", "old_str": plural("s"), "new_str": plural("z") });
    let reply = server.call(path, head, "edit_file", arguments);
    assert!(reply.contains("isError\":false"), "{reply}");
}

impl Replay {
    fn run(&self, shared: Option<&str>, meanwhile: impl FnOnce(&ModelServer) + Send) -> Figures {
        let model = ModelServer::start(|seen, _| match good(seen) {
            Answer::Content(content) => Answer::Late(THINKS, content),
            other => other,
        });
        let folder = tempfile::tempdir().expect("folder");
        let root = |agent: usize| folder.path().join(format!("root-{agent}"));
        let start = Instant::now();
        let servers: Vec<Server> = (0..self.processes)
            .map(|process| {
                let own = folder.path().join(format!("process-{process}"));
                fs::create_dir(&own).expect("folder");
                let agents = (process..self.agents).step_by(self.processes);
                let roots: Vec<String> = agents
                    .map(|agent| {
                        fs::create_dir(root(agent)).expect("root");
                        fs::write(root(agent).join("sums.rs"), file()).expect("file");
                        format!("a{agent} = \"{}\"", root(agent).display())
                    })
                    .collect();
                let mut config = format!(
                    "[model]\nname = \"m\"\nbase_url = \"{}\"\napi_key = \"{MODEL_KEY}\"\n[[server.access]]\nname = \"agents\"\ntoken_env = \"ALPHA_TOKEN\"\nroots = {{ {} }}\n",
                    model.base_url(),
                    roots.join(", ")
                );
                if let Some(url) = shared {
                    config.push_str(&format!("[shared]\nurl = \"{url}\"\nsecret = \"{SECRET}\"\ntimeout = 30\n"));
                }
                Server::start(&own, &config)
            })
            .collect();
        std::thread::scope(|scope| {
            for agent in 0..self.agents {
                let (server, words) = (&servers[agent % self.processes], self.words);
                scope.spawn(move || {
                    let path = format!("/mcp/a{agent}");
                    let head = server.session(&path, ALPHA).expect("session");
                    for word in words {
                        let (old, new) = call(word);
                        let arguments =
                            json!({ "path": "sums.rs", "old_str": old, "new_str": new });
                        let reply = server.call(&path, &head, "edit_file", arguments);
                        assert!(reply.contains("isError\":false"), "{agent}, {word}: {reply}");
                        other_calls(server, &path, &head, word);
                    }
                });
            }
            scope.spawn(|| meanwhile(&model));
        });
        let seconds = start.elapsed().as_secs_f64();
        // What the calls made of the file does not depend on who gave the answers.
        let expected = self.words.iter().fold(edited(self.words), |text, word| {
            text.replace(&format!("{word}s.sum"), &format!("{word}z.sum"))
        });
        for agent in 0..self.agents {
            let text = fs::read_to_string(root(agent).join("sums.rs")).expect("file");
            assert_eq!(text, expected, "agent {agent}");
        }
        let metrics: String =
            servers.iter().map(|server| server.get("/metrics", Some(ALPHA)).1).collect();
        let sum = |name: &str| -> u64 {
            let values = metrics.lines().filter(|line| line.starts_with(name));
            values.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum()
        };
        let whats = ["hit", "miss", "waited", "strange", "error"];
        Figures {
            requests: model.seen().len(),
            questions: sum("restitch_asks_total{"),
            shared: whats
                .map(|what| {
                    (what.to_owned(), sum(&format!("restitch_shared_total{{what=\"{what}\"}}")))
                })
                .to_vec(),
            seconds,
        }
    }
}

#[test]
fn fifty_agents_replay_one_session() {
    let test = "fifty_agents_replay_one_session";
    let Some(redis) = Redis::start(test) else { return };
    let replay = Replay {
        agents: count(10, 50),
        processes: count(2, 5),
        words: &WORDS[..count(4, WORDS.len())],
    };
    println!(
        "{} agents in {} processes, each in a sandbox of its own; {} calls that need the model of {} in all",
        replay.agents,
        replay.processes,
        replay.words.len() * replay.agents,
        replay.words.len() * replay.agents * 3,
    );
    let alone = replay.run(None, |_| {});
    let together = replay.run(Some(&redis.url()), |_| {});
    let mut mortal = Redis::start(test).expect("as before");
    let url = mortal.url();
    let in_between = replay.words.len();
    let killed = replay.run(Some(&url), |model| {
        wait_until("half the questions are asked", || model.seen().len() >= in_between);
        mortal.kill();
    });
    let kinds = 2 * replay.words.len();
    for (name, figures) in [
        ("without Redis", &alone),
        ("with Redis", &together),
        ("with Redis, killed after half the questions", &killed),
    ] {
        let answered = figures.questions.saturating_sub(figures.requests as u64);
        println!(
            "{name}: {} questions ({kinds} different), {} requests to the model, {answered} saved ({:.1} %); shared {:?}; {:.1} s",
            figures.questions,
            figures.requests,
            100.0 * answered as f64 / figures.questions.max(1) as f64,
            figures.shared,
            figures.seconds,
        );
    }
    let all = replay.agents * kinds;
    assert_eq!((alone.questions, alone.requests), (all as u64, all), "each agent asks by itself");
    assert_eq!(together.questions, all as u64);
    assert_eq!(together.count("hit") + together.count("miss"), all as u64);
    assert_eq!(together.count("miss"), together.requests as u64);
    // One request for each different question; more only if a process got no time for its lease.
    assert!(together.requests >= kinds && together.requests <= 2 * kinds, "{}", together.requests);
    assert!(killed.requests < all && killed.count("error") >= 1, "{}", killed.requests);
}
