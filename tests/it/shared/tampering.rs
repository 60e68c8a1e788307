//! Another program writes to the server, and reads what is there.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;

use super::*;

/// A model that gives no answer as long as the flag is set.
fn model_with_a_switch() -> (ModelServer, Arc<AtomicBool>) {
    let stalls = Arc::new(AtomicBool::new(false));
    let flag = stalls.clone();
    let model = ModelServer::start(move |seen, _| match flag.load(Ordering::SeqCst) {
        true => Answer::Stall(Vec::new()),
        false => good(seen),
    });
    (model, stalls)
}

/// How another program changes the values of these names.
type Tampering<'a> = (&'a str, &'a dyn Fn(&[String]));

/// Two answers are there; each way to spoil them is tried, and an edit goes on as if there were
/// none.
#[test]
fn tampered_values_are_misses() {
    let Some(redis) = Redis::start("tampered_values_are_misses") else { return };
    let ((model, stalls), url) = (model_with_a_switch(), redis.url());
    let flush = || redis::cmd("FLUSHALL").exec(&mut redis.other()).expect("empty");
    // What stood under the first name in an earlier life: a lease that was never given back.
    stalls.store(true, Ordering::SeqCst);
    let first = Sandbox::new();
    let mut owner = first.start(&model, Some(&url), "royalty");
    wait_until("the owner asks", || model.seen().len() == 1);
    let leased = redis.keys("answer").remove(0);
    let lease = redis.get(&leased);
    let _ = owner.kill();
    let _ = owner.wait();
    stalls.store(false, Ordering::SeqCst);
    // What a holder of another secret puts there.
    flush();
    let sandbox = Sandbox::new();
    let mut command = sandbox.command(&model, Some(&url));
    command.env("RESTITCH_SHARED_SECRET", "another-secret-of-the-tests-0123456789");
    wait_for(edit(&mut command, "royalty").spawn().expect("starts"));
    let foreign = redis.get(&redis.keys("answer")[0]);

    let all = |keys: &[String], value: &dyn Fn(&str) -> Vec<u8>| {
        keys.iter().for_each(|key| redis.set(key, &value(key)));
    };
    let tamperings: [Tampering; 10] = [
        ("overwritten", &|keys| all(keys, &|_| br#"{"answer":{"text":"x"}}"#.to_vec())),
        ("garbage", &|keys| all(keys, &|_| vec![0xfe; 300])),
        ("cut", &|keys| all(keys, &|key| redis.get(key)[..40].to_vec())),
        ("one bit", &|keys| {
            all(keys, &|key| {
                let mut value = redis.get(key);
                value[20] ^= 1;
                value
            });
        }),
        ("swapped", &|keys| {
            let values = [redis.get(&keys[1]), redis.get(&keys[0])];
            all(keys, &|key| values[usize::from(key == keys[1])].clone());
        }),
        ("empty", &|keys| all(keys, &|_| Vec::new())),
        ("a list", &|keys| {
            for key in keys {
                redis::cmd("DEL").arg(key).exec(&mut redis.other()).expect("removed");
                redis::cmd("RPUSH").arg(key).arg("x").exec(&mut redis.other()).expect("a list");
            }
        }),
        ("very long", &|keys| all(keys, &|_| vec![7; 8 << 20])),
        ("sealed by another secret", &|keys| all(keys, &|_| foreign.clone())),
        ("an old lease, without an end", &|keys| {
            assert!(keys.contains(&leased));
            redis.set(&leased, &lease);
        }),
    ];
    for (name, tamper) in tamperings {
        flush();
        Sandbox::new().edit(&model, Some(&url), "royalty");
        let keys = redis.keys("answer");
        assert_eq!(keys.len(), 2, "{name}");
        tamper(&keys);
        let (before, sandbox) = (model.seen().len(), Sandbox::new());
        let (reply, log) = sandbox.edit(&model, Some(&url), "royalty");
        assert_eq!(sandbox.text(), edited(&["royalty"]), "{name}: {reply}\n{log}");
        let asked = model.seen().len() - before;
        assert!(asked > 0, "{name}: asked as if nothing were there");
        let is_told = warnings(&log).iter().any(|line| line.contains("not sealed with the secret"));
        let is_value = !["empty", "a list", "an old lease, without an end"].contains(&name);
        assert_eq!(is_told, is_value, "{name}: {log}");
        println!("{name}: {asked} requests");
        // And the place is good again.
        let (reply, _) = Sandbox::new().edit(&model, Some(&url), "royalty");
        assert_eq!(reply["report"]["model"]["calls"], 0, "{name}: {reply}");
    }
}

/// A file that looks the same again gets its old answer; nothing else does.
#[test]
fn an_old_answer_under_its_own_name_is_checked_again() {
    let test = "an_old_answer_under_its_own_name_is_checked_again";
    let Some(redis) = Redis::start(test) else { return };
    let (model, url) = (good_model(), redis.url());
    Sandbox::new().edit(&model, Some(&url), "bonus");
    let keys = redis.keys("answer");
    let values: Vec<_> = keys.iter().map(|key| redis.get(key)).collect();
    redis::cmd("FLUSHALL").exec(&mut redis.other()).expect("empty");
    keys.iter().zip(&values).for_each(|(key, value)| redis.set(key, value));
    let sandbox = Sandbox::new();
    sandbox.edit(&model, Some(&url), "bonus");
    assert_eq!((sandbox.text(), model.seen().len()), (edited(&["bonus"]), 2));
}

/// What the server is sent while something is done, as it shows that itself: a line for each
/// command.
fn watched(redis: &Redis, work: impl FnOnce()) -> Vec<u8> {
    let end = "the-end-of-the-test";
    let mut line = UnixStream::connect(redis.folder.path().join("socket")).expect("connected");
    line.write_all(b"MONITOR\r\n").expect("sent");
    let mut begun = [0; 5];
    line.read_exact(&mut begun).expect("it watches");
    let monitor = std::thread::spawn(move || {
        let mut sent = Vec::new();
        let mut part = vec![0; 65536];
        while !sent.windows(end.len()).any(|window| window == end.as_bytes()) {
            let length = line.read(&mut part).expect("watched");
            assert!(length > 0, "it watches to the end");
            sent.extend_from_slice(&part[..length]);
        }
        sent
    });
    work();
    redis.set(end, b"1");
    monitor.join().expect("watched")
}

/// An edit is two questions here.
#[test]
fn a_question_costs_three_requests_and_a_kept_answer_one() {
    let test = "a_question_costs_three_requests_and_a_kept_answer_one";
    let Some(redis) = Redis::start(test) else { return };
    let (model, url) = (good_model(), redis.url());
    for requests in [3, 1] {
        let sent = watched(&redis, || {
            let sandbox = Sandbox::new();
            sandbox.edit(&model, Some(&url), "pension");
            assert_eq!(sandbox.text(), edited(&["pension"]));
        });
        let sent = String::from_utf8_lossy(&sent).into_owned();
        // Not those that a script makes inside the server.
        let own = sent.lines().filter(|line| !line.contains(" lua] "));
        let own = own.filter(|line| line.contains("\"restitch:"));
        assert_eq!(own.count(), 2 * requests, "{sent}");
    }
}

/// Nothing of the code, the paths or the keys is on the server, nor goes over the line.
#[test]
fn nothing_there_can_be_read() {
    let Some(redis) = Redis::start("nothing_there_can_be_read") else { return };
    let (model, url) = (good_model(), redis.url());
    let sandbox = Sandbox::new();
    let limits =
        "[shared]\ntimeout = 30\ncalls_per_minute = 1000\ncalls_per_minute_per_key = 1000\n";
    let mut command = sandbox.configured(&model, &url, limits);
    let sent = watched(&redis, || {
        wait_for(edit(&mut command, "mortgage").spawn().expect("starts"));
    });
    assert_eq!(sandbox.text(), edited(&["mortgage"]));
    let mut there: Vec<u8> = redis.keys("*").concat().into_bytes();
    redis.keys("answer").iter().for_each(|key| there.extend(redis.get(key)));
    assert_eq!(redis.keys("calls").len() + redis.keys("calls-of-key").len(), 2);
    for (what, bytes) in [("kept", &there), ("sent", &sent)] {
        assert!(bytes.len() > 300, "{what}: {} bytes", bytes.len());
        let text = String::from_utf8_lossy(bytes);
        for word in ["mortgage", "discount", "sums", "f64", MODEL_KEY, SECRET, "snippet"] {
            assert!(!text.contains(word), "{what}: {word}");
        }
    }
}
