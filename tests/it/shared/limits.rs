//! Limits that processes keep together: no more requests reach the model than the bucket had.

use std::sync::Mutex;

use restitch::port::{SharedValues as _, TokenBucket};

use super::*;

/// The most that may have been let through by then.
fn most(bucket: &TokenBucket, since: Instant, by: Instant) -> f64 {
    f64::from(bucket.capacity) + bucket.refill_per_minute / 60.0 * (by - since).as_secs_f64()
}

fn bucket(most: u32) -> TokenBucket {
    let most = std::num::NonZeroU32::new(most).expect("some");
    TokenBucket::per_minute(most, "restitch:calls:test".into())
}

/// Many connections take as fast as they can.
#[test]
fn a_bucket_never_gives_more_than_it_has() {
    let Some(redis) = Redis::start("a_bucket_never_gives_more_than_it_has") else { return };
    let (own, all) = (bucket(1200), bucket(600));
    let all = TokenBucket { name: "restitch:calls:all".into(), ..all };
    let buckets = [own, all.clone()];
    let (url, time) = (redis.url(), Duration::from_secs(count(2, 20) as u64));
    let start = Instant::now();
    let taken = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                runtime.expect("runtime").block_on(async {
                    let values = restitch::adapters::redis::RedisValues::new(&url).expect("url");
                    while start.elapsed() < time {
                        match values.take(&buckets).await.expect("the server answers") {
                            None => taken.lock().expect("log").push(Instant::now()),
                            Some(wait) => {
                                tokio::time::sleep(wait.min(Duration::from_millis(20))).await
                            }
                        }
                    }
                });
            });
        }
    });
    let mut taken = taken.into_inner().expect("log");
    taken.sort();
    for (at, by) in taken.iter().enumerate() {
        assert!((at + 1) as f64 <= most(&all, start, *by), "{} by {:?}", at + 1, *by - start);
    }
    let bound = most(&all, start, start + time);
    println!(
        "4 connections, a limit of 600 a minute ({} at once): {} taken in {:.1} s, {bound:.1} possible",
        all.capacity,
        taken.len(),
        time.as_secs_f64()
    );
    // What is free is given: the bucket does not only refuse.
    assert!(taken.len() >= all.capacity as usize);
}

/// Another program wrote the value under the bucket's name.
#[test]
fn a_spoiled_bucket_is_a_full_one() {
    let Some(redis) = Redis::start("a_spoiled_bucket_is_a_full_one") else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let bucket = [bucket(10)];
    runtime.expect("runtime").block_on(async {
        let values = restitch::adapters::redis::RedisValues::new(&redis.url()).expect("url");
        assert_eq!(values.take(&bucket).await, Ok(None));
        let wait = values.take(&bucket).await.expect("answers").expect("it had one");
        assert!(wait > Duration::from_secs(1) && wait <= Duration::from_secs(6), "{wait:?}");
        for spoilt in ["", "x", "1e309 5", "0 99999999999999999", "-5 3", "nan nan"] {
            redis.set(&bucket[0].name, spoilt.as_bytes());
            assert_eq!(values.take(&bucket).await, Ok(None), "{spoilt:?}");
        }
        redis::cmd("DEL").arg(&bucket[0].name).exec(&mut redis.other()).expect("removed");
        redis::cmd("RPUSH").arg(&bucket[0].name).arg("x").exec(&mut redis.other()).expect("list");
        assert_eq!(values.take(&bucket).await, Ok(None), "a list");
    });
}

/// The limit is that of one key, or of all.
const OF_A_KEY: &str = "calls_per_minute = 1000\ncalls_per_minute_per_key = 30\n";
const OF_ALL: &str = "calls_per_minute = 30\ncalls_per_minute_per_key = 1000\n";

/// Processes that ask different questions, each within its own budget of time.
fn storm(
    shared: &str,
    processes: usize,
    limits: &str,
) -> (Vec<Instant>, Vec<Value>, Instant, String) {
    let arrivals: Arc<Mutex<Vec<Instant>>> = Arc::default();
    let log = arrivals.clone();
    let model = ModelServer::start(move |seen, _| {
        log.lock().expect("log").push(Instant::now());
        good(seen)
    });
    let config = format!("[shared]\ntimeout = 30\n{limits}");
    let sandboxes: Vec<Sandbox> = (0..processes)
        .map(|number| {
            let sandbox = Sandbox::new();
            let path = sandbox.folder.path().join("root/sums.rs");
            fs::write(path, format!("// {number}\n{}", file())).expect("file");
            sandbox
        })
        .collect();
    let start = Instant::now();
    let done = std::thread::scope(|scope| {
        let running: Vec<_> = sandboxes
            .iter()
            .map(|sandbox| {
                let command = sandbox.configured(&model, shared, &config);
                scope.spawn(move || sandbox.batch(command, &WORDS[..count(2, 12)]))
            })
            .collect();
        running.into_iter().map(|one| one.join().expect("ends")).collect::<Vec<_>>()
    });
    let logs = done.iter().map(|(_, log)| log.as_str()).collect();
    let replies = done.into_iter().flat_map(|(replies, _)| replies).collect();
    let mut arrivals = arrivals.lock().expect("log").clone();
    arrivals.sort();
    (arrivals, replies, start, logs)
}

#[test]
fn a_fleet_does_not_run_over_its_limit() {
    for (limits, whose) in [(OF_A_KEY, "of one key"), (OF_ALL, "of all")] {
        let Some(redis) = Redis::start("a_fleet_does_not_run_over_its_limit") else { return };
        is_held_to(&storm(&redis.url(), 4, limits), whose);
    }
}

/// No more requests than 30 a minute, and what was held back went on without the model.
fn is_held_to(storm: &(Vec<Instant>, Vec<Value>, Instant, String), whose: &str) {
    let (arrivals, replies, start, _) = storm;
    let start = *start;
    let bucket = bucket(30);
    for (at, by) in arrivals.iter().enumerate() {
        assert!((at + 1) as f64 <= most(&bucket, start, *by), "{} by {:?}", at + 1, *by - start);
    }
    let (done, held): (Vec<_>, Vec<_>) = replies.iter().partition(|reply| reply["ok"] == true);
    println!(
        "4 processes, 30 requests a minute {whose} ({} at once): {} requests in {:.1} s, {} edits made, {} went on without the model",
        bucket.capacity,
        arrivals.len(),
        start.elapsed().as_secs_f64(),
        done.len(),
        held.len()
    );
    assert!(!done.is_empty() && !held.is_empty(), "{replies:?}");
    for reply in held {
        assert_eq!(reply["code"], "EDIT_NO_OCCURRENCE_FOUND", "as without a model: {reply}");
        let attempts = reply["report"]["attempts"].to_string();
        let words = "the limit of model calls that all machines share is reached for";
        assert!(attempts.contains("skipped") && attempts.contains(words), "{attempts}");
    }
}

/// Two edits of one process with a limit: how many were made, what the last reply says, and when
/// the requests came, from before the process was started.
fn two_edits(limits: &str) -> Option<(usize, String, Vec<Duration>)> {
    let redis = Redis::start("a_request_waits_for_its_turn")?;
    let arrivals: Arc<Mutex<Vec<Instant>>> = Arc::default();
    let log = arrivals.clone();
    let model = ModelServer::start(move |seen, _| {
        log.lock().expect("log").push(Instant::now());
        good(seen)
    });
    let sandbox = Sandbox::new();
    let start = Instant::now();
    let command = sandbox.configured(&model, &redis.url(), limits);
    let (replies, _) = sandbox.batch(command, &WORDS[..2]);
    let made = replies.iter().filter(|reply| reply["ok"] == true).count();
    let arrivals = arrivals.lock().expect("log").iter().map(|at| *at - start).collect();
    Some((made, replies[1]["report"]["attempts"].to_string(), arrivals))
}

/// A request waits up to five seconds, or a quarter of the time that its call has left.
#[test]
fn a_request_waits_five_seconds_or_a_quarter_of_the_time_for_its_turn() {
    // Two at once, then one every 60/14 s: the second edit waits twice.
    let fourteen = "[shared]\ntimeout = 30\ncalls_per_minute = 15\n";
    let Some((made, attempts, arrivals)) = two_edits(fourteen) else { return };
    println!("15 requests a minute, two at once: they came after {arrivals:?}");
    assert_eq!((made, arrivals.len()), (2, 4), "{attempts}");
    assert!(arrivals[2] >= Duration::from_millis(4_250), "{arrivals:?}");
    assert!(arrivals[3] >= Duration::from_millis(8_500), "{arrivals:?}");
    for (limits, seconds, why) in [
        // A quarter of twelve seconds is less than that.
        (format!("[model]\ntimeout = 12\n{fourteen}"), 5, "a quarter of the time"),
        // Two at once, then one every six seconds.
        ("[shared]\ntimeout = 30\ncalls_per_minute = 11\n".to_owned(), 6, "five seconds"),
    ] {
        // A machine that is too busy in between leaves less to wait for; then again.
        let held = (0..5).find_map(|_| {
            let (made, attempts, arrivals) = two_edits(&limits)?;
            (made < 2).then_some((made, attempts, arrivals))
        });
        let (made, attempts, arrivals) = held.expect("a request that has to wait too long");
        assert_eq!((made, arrivals.len()), (1, 2), "{why}: {attempts}");
        let words: Vec<String> =
            (1..=seconds + 1).map(|wait| format!("is reached for {wait} s")).collect();
        assert!(words.iter().any(|words| attempts.contains(words)), "{why}: {attempts}");
        assert!(attempts.contains("skipped"), "{why}: {attempts}");
    }
}

/// What waited for a limit, and what was not sent because of it, is counted for Prometheus.
#[test]
fn what_a_limit_slows_or_holds_back_is_counted() {
    use super::super::agents::http_access::{ALPHA, Server};
    for (most, what) in [(15, "slowed"), (7, "held_back")] {
        let Some(redis) = Redis::start("what_a_limit_slows_or_holds_back_is_counted") else {
            return;
        };
        let model = good_model();
        let folder = tempfile::tempdir().expect("folder");
        let root = folder.path().join("root");
        fs::create_dir(&root).expect("root");
        fs::write(root.join("sums.rs"), file()).expect("file");
        let config = format!(
            "[model]\nname = \"m\"\nbase_url = \"{}\"\napi_key = \"{MODEL_KEY}\"\n[shared]\nurl = \"{}\"\nsecret = \"{SECRET}\"\ntimeout = 30\ncalls_per_minute = {most}\n[[server.access]]\nname = \"agents\"\ntoken_env = \"ALPHA_TOKEN\"\nroots = {{ root = \"{}\" }}\n",
            model.base_url(),
            redis.url(),
            root.display()
        );
        let server = Server::start(folder.path(), &config);
        let head = server.session("/mcp", ALPHA).expect("session");
        let count = || {
            let text = server.get("/metrics", Some(ALPHA)).1;
            let start = format!("restitch_shared_total{{what=\"{what}\"}} ");
            let line = text.lines().find_map(|line| line.strip_prefix(&start).map(str::to_owned));
            line.unwrap_or_else(|| panic!("{start}: {text}")).parse::<u64>().expect("a number")
        };
        assert_eq!(count(), 0);
        for word in &WORDS[..2] {
            let (old, new) = call(word);
            let arguments = json!({ "path": "sums.rs", "old_str": old, "new_str": new });
            server.call("/mcp", &head, "edit_file", arguments);
        }
        assert!(count() > 0, "{what}");
    }
}

/// While the server is away, each process keeps to the limit by itself.
#[test]
fn without_the_server_each_process_keeps_to_the_limit() {
    let (arrivals, replies, start, log) = storm("redis://127.0.0.1:1", 2, OF_A_KEY);
    let bucket = bucket(30);
    for (at, by) in arrivals.iter().enumerate() {
        let most = 2.0 * most(&bucket, start, *by);
        assert!((at + 1) as f64 <= most, "{} by {:?}", at + 1, *by - start);
    }
    assert!(replies.iter().any(|reply| reply["ok"] == true));
    assert_eq!(warnings(&log).len(), 2, "once a process: {log}");
}
