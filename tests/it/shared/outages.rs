//! The server away, slow, full, or none at all: told once, and every edit is as without it.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;

use super::*;

const EDITS: [&str; 4] = ["invoice", "refund", "voucher", "dividend"];

/// Edits without the server's help: the file, what the model was asked, and what was told.
fn alone(url: &str, told: &str) {
    let (model, sandbox) = (good_model(), Sandbox::new());
    let (replies, log) = sandbox.batch(sandbox.configured(&model, url, ""), &EDITS);
    assert!(replies.iter().all(|reply| reply["ok"] == true), "{replies:?}\n{log}");
    assert_eq!(sandbox.text(), edited(&EDITS), "{log}");
    assert_eq!(model.seen().len(), 2 * EDITS.len(), "each question is asked");
    let warnings = warnings(&log);
    assert_eq!(warnings.len(), 1, "told once: {log}");
    assert!(warnings[0].contains(told), "{told}: {log}");
    assert!(!log.contains(SECRET) && !log.contains("hunter2"), "{log}");
}

#[test]
fn away_slow_or_strange() {
    let test = "away_slow_or_strange";
    let Some(mut redis) = Redis::with(test, &["--requirepass", "right-password"]) else { return };
    let socket = redis.folder.path().join("socket").display().to_string();
    alone(&format!("unix://{socket}"), "NOAUTH");
    alone(&format!("unix://{socket}?pass=hunter2-wrong"), "Password authentication failed");
    redis.pause();
    alone(&redis.url(), "does not answer within 500 ms");
    redis.kill();
    alone(&redis.url(), "cannot be used");
    alone("redis://127.0.0.1:1", "cannot be used");
    alone("redis://no-such-host.invalid", "cannot be used");
}

/// Servers that are no Redis.
#[test]
fn whatever_answers_there() {
    for (garbage, told) in [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n".as_slice(), "cannot be used"),
        (b"\xff\xfe\x00\x01\r\n$-7\r\n*99999999999\r\n", "cannot be used"),
        (b"+OK\r\n+OK\r\n+OK\r\n+OK\r\n+OK\r\n+OK\r\n", ""),
        (b"$9999999999\r\nabc", "does not answer within 500 ms"),
        (b"-ERR no\r\n-ERR no\r\n-ERR no\r\n-ERR no\r\n", "cannot be used"),
        (b"", "does not answer within 500 ms"),
    ] {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("socket");
        let listener = UnixListener::bind(&path).expect("socket");
        std::thread::spawn(move || {
            let mut open = Vec::new();
            while let Ok((mut socket, _)) = listener.accept() {
                let _ = socket.write_all(garbage);
                open.push(socket);
            }
        });
        println!("{:?}", String::from_utf8_lossy(garbage));
        alone(&format!("unix://{}", path.display()), told);
    }
}

/// A real server with TLS: its certificate has to be one that the machine trusts.
#[test]
fn tls_is_spoken_and_certificates_are_checked() {
    let test = "tls_is_spoken_and_certificates_are_checked";
    let folder = tempfile::tempdir().expect("folder");
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"])
        .args([
            "-days",
            "2",
            "-subj",
            "/CN=localhost",
            "-addext",
            "subjectAltName=DNS:localhost",
            "-addext",
            "basicConstraints=critical,CA:FALSE",
        ])
        .args(["-keyout", "key.pem", "-out", "cert.pem"])
        .current_dir(folder.path())
        .stderr(Stdio::null())
        .status();
    if !made.is_ok_and(|status| status.success()) {
        return skip(test, "openssl is not installed, needed by 1 test");
    }
    let port = TcpListener::bind("127.0.0.1:0").expect("loopback").local_addr().expect("port");
    let port = port.port().to_string();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (cert, key) = (path("cert.pem"), path("key.pem"));
    let options = [
        "--tls-port",
        &port,
        "--tls-cert-file",
        &cert,
        "--tls-key-file",
        &key,
        "--tls-auth-clients",
        "no",
        "--requirepass",
        "right-password",
        "--bind",
        "127.0.0.1",
    ];
    let Some(_redis) = Redis::with(test, &options) else { return };
    let (model, url) = (good_model(), format!("rediss://:right-password@localhost:{port}"));
    for asked in [2, 2] {
        let sandbox = Sandbox::new();
        let mut command = sandbox.command(&model, Some(&url));
        command.env("SSL_CERT_FILE", &cert);
        let (reply, log) = wait_for(edit(&mut command, "bonus").spawn().expect("starts"));
        assert_eq!(sandbox.text(), edited(&["bonus"]), "{reply}");
        assert_eq!((model.seen().len(), log.as_str()), (asked, ""));
    }
    // Without the certificate the server is not trusted.
    alone(&url, "cannot be used");
}

/// TLS is looked for where it was asked for: no password goes to a server without.
#[test]
fn a_server_without_tls_gets_no_password() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let port = listener.local_addr().expect("address").port();
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        while let Ok((mut socket, _)) = listener.accept() {
            let mut bytes = vec![0; 4096];
            let length = socket.read(&mut bytes).unwrap_or(0);
            let _ = tell.send(bytes[..length].to_vec());
            let _ = socket.write_all(b"-ERR\r\n");
        }
    });
    alone(&format!("rediss://user:hunter2-secret@127.0.0.1:{port}"), "cannot be used");
    let bytes = told.recv().expect("a client connected");
    assert_eq!(bytes.first(), Some(&0x16), "a TLS handshake");
    assert!(!bytes.windows(7).any(|part| part == b"hunter2"));
}

/// The server goes while one process asks and another waits.
#[test]
fn gone_in_the_middle_of_a_question() {
    let test = "gone_in_the_middle_of_a_question";
    for how in [Signal::KILL, Signal::STOP] {
        let Some(mut redis) = Redis::start(test) else { return };
        let (model, go) = model_that_waits();
        let (url, first, second) = (redis.url(), Sandbox::new(), Sandbox::new());
        let start = |sandbox: &Sandbox| {
            let mut command = sandbox.configured(&model, &url, "");
            edit(&mut command, "pension").spawn().expect("starts")
        };
        let owner = start(&first);
        wait_until("the owner asks", || model.seen().len() == 1);
        let waits = start(&second);
        wait_until("the other one waits", || redis.waiting() > 0);
        redis.signal(how);
        if how == Signal::KILL {
            redis.kill();
        }
        let (reply, log) = wait_for(waits);
        assert_eq!(second.text(), edited(&["pension"]), "{reply}\n{log}");
        assert_eq!(warnings(&log).len(), 1, "{log}");
        go.store(true, Ordering::SeqCst);
        let (reply, log) = wait_for(owner);
        assert_eq!(first.text(), edited(&["pension"]), "{reply}\n{log}");
    }
}

#[test]
fn a_full_server_still_gives_what_it_has() {
    let test = "a_full_server_still_gives_what_it_has";
    let Some(redis) = Redis::start(test) else { return };
    let (model, url) = (good_model(), redis.url());
    Sandbox::new().edit(&model, Some(&url), "refund");
    assert_eq!(model.seen().len(), 2);
    redis::cmd("CONFIG")
        .arg(&["SET", "maxmemory", "1"])
        .exec(&mut redis.other())
        .expect("configured");
    let sandbox = Sandbox::new();
    let words = ["refund", "invoice", "bonus"];
    let (replies, log) = sandbox.batch(sandbox.command(&model, Some(&url)), &words);
    assert!(replies.iter().all(|reply| reply["ok"] == true), "{replies:?}\n{log}");
    assert_eq!(sandbox.text(), edited(&words));
    assert_eq!(replies[0]["report"]["model"]["calls"], 0, "a read needs no memory");
    assert_eq!(model.seen().len(), 6, "the others are asked");
    let warnings = warnings(&log);
    assert!(warnings.len() == 1 && warnings[0].contains("takes nothing new"), "{log}");
}

/// A server that was away is used again.
#[test]
fn what_comes_back_is_used_again() {
    let Some(mut redis) = Redis::start("what_comes_back_is_used_again") else { return };
    let (model, url) = (good_model(), redis.url());
    redis.kill();
    let sandbox = Sandbox::new();
    sandbox.edit(&model, Some(&url), "refund");
    redis.restart();
    for _ in 0..2 {
        let sandbox = Sandbox::new();
        sandbox.edit(&model, Some(&url), "refund");
        assert_eq!(sandbox.text(), edited(&["refund"]));
    }
    assert_eq!(model.seen().len(), 4, "one answer was lost, one is kept");
}

/// A process whose server was away asks it again half a minute later, and not before.
#[test]
fn a_server_that_was_away_is_tried_again_after_half_a_minute() {
    let test = "a_server_that_was_away_is_tried_again_after_half_a_minute";
    let Some(mut redis) = Redis::start(test) else { return };
    const PAUSE: Duration = Duration::from_secs(30);
    let (model, sandbox) = (good_model(), Sandbox::new());
    redis.kill();
    let mut command = sandbox.command(&model, Some(&redis.url()));
    command.arg("batch").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut agent = crate::hostile::Client::start(command);
    let mut edit = |word: &str| {
        let (old, new) = call(word);
        let arguments = json!({ "path": "sums.rs", "old_str": old, "new_str": new });
        agent.send(&json!({ "tool": "edit_file", "arguments": arguments }));
        let reply = agent.next(Duration::from_secs(60));
        assert_eq!(reply["ok"], true, "{reply}");
    };
    let before = Instant::now();
    edit("invoice");
    let after = Instant::now();
    redis.restart();
    edit("refund");
    let kept = redis.keys("answer").len();
    assert!(kept == 0 || before.elapsed() > PAUSE, "asked after {:?}", before.elapsed());
    if !super::super::disk::is_long_run() {
        return skip(test, "the other half takes 30 s: RESTITCH_LONG=1");
    }
    std::thread::sleep(Duration::from_secs(27).saturating_sub(before.elapsed()));
    edit("voucher");
    let kept = redis.keys("answer").len();
    assert!(kept == 0 || before.elapsed() > PAUSE, "asked after {:?}", before.elapsed());
    std::thread::sleep((PAUSE + Duration::from_millis(100)).saturating_sub(after.elapsed()));
    edit("dividend");
    println!("asked again {:?} after the failure", after.elapsed());
    assert_eq!(redis.keys("answer").len(), kept + 2, "both answers are there for others");
}

/// The variable goes before the file, which can name the server as well.
#[test]
fn the_server_of_the_variable_goes_before_that_of_the_file() {
    let test = "the_server_of_the_variable_goes_before_that_of_the_file";
    let (Some(one), Some(other)) = (Redis::start(test), Redis::start(test)) else { return };
    let model = good_model();
    let run = |variable: Option<&Redis>, file: &Redis| {
        let sandbox = Sandbox::new();
        let config = format!("[shared]\ntimeout = 30\nurl = \"{}\"\n", file.url());
        let mut command = sandbox.with(&model, None, &config);
        command.env("RESTITCH_SHARED_SECRET", SECRET);
        if let Some(redis) = variable {
            command.env("RESTITCH_REDIS_URL", redis.url());
        }
        let (reply, log) = wait_for(edit(&mut command, "refund").spawn().expect("starts"));
        assert_eq!((sandbox.text(), log.as_str()), (edited(&["refund"]), ""), "{reply}");
        [&one, &other].map(|redis| redis.keys("answer").len())
    };
    assert_eq!(run(None, &one), [2, 0]);
    redis::cmd("FLUSHALL").exec(&mut one.other()).expect("empty");
    assert_eq!(run(Some(&other), &one), [0, 2]);
}

#[test]
fn wrong_settings_are_told_before_anything_is_sent() {
    let (model, sandbox) = (good_model(), Sandbox::new());
    let said = |url: &str, secret: Option<&str>, config: &str| {
        let mut command = sandbox.configured(&model, url, config);
        command.env_remove("RESTITCH_SHARED_SECRET");
        if let Some(secret) = secret {
            command.env("RESTITCH_SHARED_SECRET", secret);
        }
        let output = edit(&mut command, "refund").output().expect("runs");
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    };
    let url = "redis://127.0.0.1:1";
    for (url, secret, config, words) in [
        (url, None, "", "needs a secret to encrypt them with; set RESTITCH_SHARED_SECRET"),
        (url, Some("short"), "", "shorter than 32 characters"),
        ("http://x:hunter2@y", Some(SECRET), "", "not an address of a Redis server"),
        (url, Some(SECRET), "[shared]\nkeep = 0.1\n", "shared.keep is 0.1"),
        (url, Some(SECRET), "[shared]\nkeep = 2592001\n", "seconds from 1 to 2592000"),
        (url, Some(SECRET), "[shared]\ntimeout = 0\n", "shared.timeout is 0"),
        (url, Some(SECRET), "[shared]\ncalls_per_minute = 0\n", "line 2"),
        (url, Some(SECRET), "[shared]\nwrong = 0\n", "unknown field `wrong`"),
    ] {
        let text = said(url, secret, config);
        assert!(text.contains(words), "{words}: {text}");
        assert!(!text.contains("hunter2"), "{text}");
    }
    assert_eq!((sandbox.text(), model.seen().len()), (file(), 0));
    // The secret may be in the configuration, by the name of its variable or itself.
    let redis_away = |config: &str| {
        let mut command = sandbox.configured(&model, url, config);
        command.env_remove("RESTITCH_SHARED_SECRET").env("MY_SECRET", SECRET);
        wait_for(edit(&mut command, "refund").spawn().expect("starts"));
        assert_eq!(sandbox.text(), edited(&["refund"]));
        fs::write(sandbox.folder.path().join("root/sums.rs"), file()).expect("file");
    };
    redis_away("[shared]\nsecret_env = \"MY_SECRET\"\n");
    redis_away(&format!("[shared]\nsecret = \"{SECRET}\"\n"));
    // Without a model there is nothing to share.
    let mut command = sandbox.configured(&model, url, "");
    command.env_remove("RESTITCH_SHARED_SECRET").arg("--no-model");
    let (reply, _) = wait_for(edit(&mut command, "refund").spawn().expect("starts"));
    assert_eq!(reply["code"], "EDIT_NO_OCCURRENCE_FOUND");
}
