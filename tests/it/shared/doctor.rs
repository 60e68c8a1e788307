//! `restitch doctor` says what it finds, and what to do.

use super::*;

fn findings(command: &mut Command) -> (Vec<Value>, String) {
    let output = command.args(["--json", "doctor"]).output().expect("runs");
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let all = report["findings"].as_array().expect("findings").clone();
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    (all.into_iter().filter(|finding| finding["what"] == "shared").collect(), text)
}

fn texts<'a>(findings: &'a [Value]) -> Vec<(&'a str, &'a str, &'a str)> {
    let field =
        |finding: &'a Value, name: &str| -> &'a str { finding[name].as_str().unwrap_or_default() };
    findings
        .iter()
        .map(|finding| {
            (field(finding, "outcome"), field(finding, "detail"), field(finding, "next"))
        })
        .collect()
}

#[test]
fn what_the_server_is_like() {
    let Some(redis) = Redis::start("what_the_server_is_like") else { return };
    let (model, sandbox) = (good_model(), Sandbox::new());
    let config = "[shared]\ntimeout = 30\nkeep = 7200\ncalls_per_minute = 500\ncalls_per_minute_per_key = 60\n";
    let said = || findings(&mut sandbox.configured(&model, &redis.url(), config)).0;
    let configure = |name: &str, value: &str| {
        redis::cmd("CONFIG").arg(&["SET", name, value]).exec(&mut redis.other()).expect("set");
    };
    let found = said();
    let [("good", detail, "")] = texts(&found)[..] else { panic!("{found:?}") };
    for part in [
        "redis ",
        " at /",
        "ms a request, values sealed, kept for 2 h",
        "at most 500 model calls a minute in all",
        "at most 60 model calls a minute for each key",
        "no memory limit",
        "found something and",
    ] {
        let part = if detail.starts_with("valkey") {
            part.replace("redis ", "valkey ")
        } else {
            part.into()
        };
        assert!(detail.contains(&part), "{part}: {detail}");
    }
    configure("maxmemory", "100mb");
    let found = said();
    let [("good", first, ""), ("warning", second, next)] = texts(&found)[..] else {
        panic!("{found:?}")
    };
    assert!(first.contains("100 MiB, noeviction") && second.contains("noeviction"), "{found:?}");
    assert!(next.contains("allkeys-lru"), "{next}");
    configure("maxmemory-policy", "allkeys-lru");
    assert_eq!(said().len(), 1);
    configure("maxmemory-policy", "noeviction");
    configure("maxmemory", "1");
    let found = said();
    let [("warning", detail, next)] = texts(&found)[..] else { panic!("{found:?}") };
    assert!(detail.contains("OOM") && next.contains("more memory"), "{found:?}");
}

#[test]
fn what_is_wrong_with_it() {
    let test = "what_is_wrong_with_it";
    let Some(mut redis) = Redis::with(test, &["--requirepass", "right-password"]) else { return };
    let (model, sandbox) = (good_model(), Sandbox::new());
    let said = |url: &str| {
        let (found, text) = findings(&mut sandbox.configured(&model, url, ""));
        assert!(!text.contains("hunter2") && !text.contains(SECRET), "{text}");
        let [("warning", detail, next)] = texts(&found)[..] else { panic!("{found:?}") };
        format!("{detail} | {next}")
    };
    let url = redis.url();
    assert!(said(&url).contains("Give user and password in the URL"), "{}", said(&url));
    let wrong = said(&format!("{url}?pass=hunter2-wrong"));
    assert!(wrong.contains("Give user and password in the URL"), "{wrong}");
    redis.pause();
    assert!(said(&url).contains("does not answer in time"), "{}", said(&url));
    redis.kill();
    assert!(said(&url).contains("Check that the server runs"), "{}", said(&url));
    // Without a secret it is not a warning: nothing starts like that.
    let mut command = sandbox.command(&model, Some(&url));
    let (found, _) = findings(command.env_remove("RESTITCH_SHARED_SECRET"));
    let [("bad", detail, _)] = texts(&found)[..] else { panic!("{found:?}") };
    assert!(detail.contains("needs a secret"), "{detail}");
}

/// The rights that the page names suffice, and doctor names them where they are missing.
#[test]
fn the_rights_that_it_needs() {
    let Some(redis) = Redis::start("the_rights_that_it_needs") else { return };
    let page = fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/guide/shared-cache.md"),
    );
    let page = page.expect("page");
    let line = page.lines().find(|line| line.starts_with("ACL SETUSER restitch ")).expect("a line");
    let words = line.replace("PASSWORD", "pass-word");
    let set = |words: &str| {
        let mut command = redis::cmd("ACL");
        words.split_whitespace().skip(1).for_each(|word| _ = command.arg(word));
        command.exec(&mut redis.other()).expect("rights");
    };
    set(&words);
    let (model, url) = (good_model(), format!("{}?user=restitch&pass=pass-word", redis.url()));
    let limits = "[shared]\ntimeout = 30\ncalls_per_minute = 1000\n";
    for asked in [2, 2] {
        let sandbox = Sandbox::new();
        let mut command = sandbox.configured(&model, &url, limits);
        let (reply, log) = wait_for(edit(&mut command, "salary").spawn().expect("starts"));
        assert_eq!(sandbox.text(), edited(&["salary"]), "{reply}\n{log}");
        assert_eq!((model.seen().len(), log.as_str()), (asked, ""));
    }
    let sandbox = Sandbox::new();
    let (found, _) = findings(&mut sandbox.command(&model, Some(&url)));
    assert!(matches!(texts(&found)[..], [("good", ..)]), "{found:?}");
    set("ACL SETUSER restitch -eval");
    let (found, _) = findings(&mut sandbox.command(&model, Some(&url)));
    let [("warning", detail, next)] = texts(&found)[..] else { panic!("{found:?}") };
    assert!(detail.to_lowercase().contains("noperm") && next.contains("+eval"), "{found:?}");
}
